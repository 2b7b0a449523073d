//! Text and pictures as HTML.

use serde_json::Value;

use crate::base::text::strip_control;
use crate::notebook::output::Fields;

/// Text for an element or a quoted attribute, without control characters.
pub(in crate::notebook) fn escaped(text: &str) -> String {
    let text = strip_control(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The picture that a Markdown cell carries under a name.
pub(super) fn attachment(attachments: Option<&Value>, name: &str, alt: &str) -> Option<String> {
    let bundle: &Fields = attachments?.get(name)?.as_object()?;
    coded_picture(bundle.iter(), alt)
}

/// The first picture of a bundle that stands as base 64.
pub(super) fn coded_picture<'v>(
    data: impl Iterator<Item = (&'v String, &'v Value)>,
    alt: &str,
) -> Option<String> {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"];
    data.filter(|(mimetype, _)| known.contains(&mimetype.as_str())).find_map(|(mimetype, value)| {
        let coded: String = value.as_str()?.split_ascii_whitespace().collect();
        let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        coded.bytes().all(is_base64).then(|| image(mimetype, &coded, alt))
    })
}

/// An image element; `alt` is escaped already.
pub(super) fn image(mimetype: &str, base64: &str, alt: &str) -> String {
    format!("<img alt=\"{alt}\" src=\"data:{mimetype};base64,{base64}\">")
}
