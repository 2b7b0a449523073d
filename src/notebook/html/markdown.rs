//! Markdown as HTML. HTML in it is shown as text; images are shown where the notebook itself holds them.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::base::text::anchor;

use super::code;
use super::escape::{attachment, escaped};
use super::math;

/// The body of a Markdown cell.
pub(super) fn render(source: &str, attachments: Option<&Value>) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    let mut page = Page { attachments, ..Page::default() };
    for event in Parser::new_ext(source, options) {
        page.event(event);
    }
    page.out
}

#[derive(Default)]
struct Page<'v> {
    out: String,
    attachments: Option<&'v Value>,
    /// What closes the open elements.
    open: Vec<&'static str>,
    in_head: bool,
    /// An open heading: where its name goes, and its words.
    heading: Option<(usize, String)>,
    /// A block of code: whether it is Rhai, and its text.
    code: Option<(bool, String)>,
    /// Open images: their targets, and the text of the outermost one.
    images: Vec<String>,
    alt: String,
}

impl Page<'_> {
    fn event(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(end) => {
                if matches!(end, TagEnd::Heading(_))
                    && let Some((at, words)) = self.heading.take()
                {
                    self.out.insert_str(at, &format!(" id=\"{}\"", anchor(&words)));
                }
                self.end();
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) if self.images.is_empty() => self.out += &math::render(&text),
            Event::DisplayMath(text) if self.images.is_empty() => {
                self.out += &format!("<span class=\"formula\">{}</span>", math::render(&text));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::Code(text) if self.images.is_empty() => {
                self.name(&text);
                self.out += &format!("<code>{}</code>", escaped(&text))
            }
            Event::Code(text) => self.text(&text),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "\u{2611} " } else { "\u{2610} " }),
            Event::FootnoteReference(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.name(text);
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None if !self.images.is_empty() => self.alt.push_str(text),
            None => self.out += &escaped(text),
        }
    }

    /// Words of a heading, by which links find it.
    fn name(&mut self, text: &str) {
        if let Some((_, words)) = &mut self.heading {
            words.push_str(text);
        }
    }

    fn element(&mut self, open: &str, close: &'static str) {
        self.out.push_str(open);
        self.open.push(close);
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::Paragraph => self.element("<p>", "</p>\n"),
            Tag::Heading { level, .. } => {
                let level = *level as usize;
                let closes = ["</h1>\n", "</h2>\n", "</h3>\n", "</h4>\n", "</h5>\n", "</h6>\n"];
                let close = closes.get(level - 1).copied().unwrap_or("</h6>\n");
                self.element(&format!("<h{level}"), close);
                self.heading = Some((self.out.len(), String::new()));
                self.out.push('>');
            }
            Tag::BlockQuote(_) => self.element("<blockquote>\n", "</blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let is_rhai = matches!(kind, CodeBlockKind::Fenced(info) if info.starts_with("rhai"));
                self.code = Some((is_rhai, String::new()));
                self.element("<pre><code>", "</code></pre>\n");
            }
            Tag::List(Some(first)) => self.element(&format!("<ol start=\"{first}\">\n"), "</ol>\n"),
            Tag::List(None) => self.element("<ul>\n", "</ul>\n"),
            Tag::Item => self.element("<li>", "</li>\n"),
            Tag::Table(_) => self.element("<table>\n", "</tbody></table>\n"),
            Tag::TableHead => {
                self.in_head = true;
                self.element("<thead><tr>", "</tr></thead><tbody>\n");
            }
            Tag::TableRow => {
                self.in_head = false;
                self.element("<tr>", "</tr>\n");
            }
            Tag::TableCell if self.in_head => self.element("<th>", "</th>"),
            Tag::TableCell => self.element("<td>", "</td>"),
            Tag::Emphasis if self.images.is_empty() => self.element("<em>", "</em>"),
            Tag::Strong if self.images.is_empty() => self.element("<strong>", "</strong>"),
            Tag::Strikethrough if self.images.is_empty() => self.element("<del>", "</del>"),
            Tag::Link { dest_url, .. } if self.images.is_empty() && is_safe(dest_url) => {
                self.element(
                    &format!("<a href=\"{}\" rel=\"noopener noreferrer\">", escaped(dest_url)),
                    "</a>",
                );
            }
            Tag::Image { dest_url, .. } => {
                self.images.push(dest_url.to_string());
                self.open.push(IMAGE);
            }
            _ => self.open.push(""),
        }
    }

    fn end(&mut self) {
        if let Some((is_rhai, text)) = self.code.take() {
            self.out += &if is_rhai { code::highlighted(&text) } else { escaped(&text) };
        }
        match self.open.pop() {
            Some(IMAGE) => {
                let target = self.images.pop().unwrap_or_default();
                if self.images.is_empty() {
                    let alt = escaped(&std::mem::take(&mut self.alt));
                    let shown = target
                        .strip_prefix("attachment:")
                        .and_then(|name| attachment(self.attachments, name, &alt));
                    // What lies elsewhere is named and not fetched.
                    self.out += &shown.unwrap_or_else(|| format!("<em>[image: {alt}]</em>"));
                }
            }
            Some(close) => self.out.push_str(close),
            None => {}
        }
    }
}

/// Marks an image among the open elements.
const IMAGE: &str = "image";

/// Whether a link may be followed: pages, mail, places in this page and files beside it; nothing that runs.
fn is_safe(target: &str) -> bool {
    let target = target.trim().to_ascii_lowercase();
    let scheme = target.split(['/', '?', '#']).next().unwrap_or_default();
    match scheme.split_once(':') {
        Some((scheme, _)) => matches!(scheme, "http" | "https" | "mailto"),
        None => true,
    }
}
