//! Files beside a notebook that its text shows: pictures go into the cell, and of others it is said where they lie.

use pulldown_cmark::{Event, Parser, Tag};
use serde_json::json;

use crate::base::base64;

use super::cell::{Cell, Kind};

/// Puts the pictures that a Markdown cell shows into it, as attachments, and writes behind the words of a link to another
/// file which one is meant: a page leads nowhere beside itself. `folder` is what the paths of such files begin with, and
/// `read` gives what is in one, where it can be had.
pub(crate) fn carry(cell: &mut Cell, folder: &str, read: impl Fn(&str) -> Option<Vec<u8>>) {
    if cell.kind != Kind::Markdown {
        return;
    }
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let mut attachments = serde_json::Map::new();
    for (event, range) in Parser::new(&cell.source).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = &event else {
            continue;
        };
        let tail = format!("](<{dest_url}>)");
        let (begins, whole) = (dest_url.starts_with(folder), cell.source.get(range.clone()));
        if !begins || !whole.is_some_and(|whole| whole.ends_with(&tail)) {
            continue;
        }
        let at = range.end - tail.len();
        if matches!(event, Event::Start(Tag::Link { .. })) {
            edits.push((range.start, range.start + 1, String::new()));
            edits.push((at, range.end, format!(" (the file `{dest_url}` of the lesson)")));
        } else if let Some(picture) = mimetype(dest_url).zip(read(dest_url)) {
            let (mimetype, bytes) = picture;
            // Two paths never have one name.
            let name = dest_url.replace('-', "--").replace('/', "-");
            edits.push((at, range.end, format!("](<attachment:{name}>)")));
            attachments.insert(name, json!({mimetype: base64::encode(&bytes)}));
        }
    }
    edits.sort_by_key(|(from, ..)| std::cmp::Reverse(*from));
    edits.iter().for_each(|(from, to, text)| cell.source.replace_range(*from..*to, text));
    if !attachments.is_empty() {
        cell.extra.insert("attachments".into(), attachments.into());
    }
}

fn mimetype(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_carried_and_other_files_named() {
        let text = "See ![A \\[pic\\]](<assets/a/pic.png>), ![gone](<assets/gone.png>), [the *data*](<assets/p.csv>), \
                    [x](<https://a.b>) and `[c](<assets/p.csv>)`.\n\n[![i](<assets/a/pic.png>)](<assets/p.csv>)";
        let mut cell = Cell::markdown(text);
        carry(&mut cell, "assets/", |path| (path == "assets/a/pic.png").then(|| b"foo".to_vec()));
        let named = "(the file `assets/p.csv` of the lesson)";
        let want = format!(
            "See ![A \\[pic\\]](<attachment:assets-a-pic.png>), ![gone](<assets/gone.png>), the *data* {named}, \
             [x](<https://a.b>) and `[c](<assets/p.csv>)`.\n\n![i](<attachment:assets-a-pic.png>) {named}"
        );
        assert_eq!(cell.source, want);
        assert_eq!(cell.extra["attachments"], json!({"assets-a-pic.png": {"image/png": "Zm9v"}}));
    }
}
