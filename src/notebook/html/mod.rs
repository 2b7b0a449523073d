//! A notebook as one page of HTML that needs nothing else: no network, no script, figures inside.
//!
//! Whatever comes from the notebook is text and is escaped: sources, outputs, HTML in Markdown. Pictures are `data:`
//! images, in which nothing runs. The page's own policy forbids scripts and requests besides.

mod code;
mod escape;
mod markdown;
mod math;

pub(super) use escape::escaped;
use escape::{coded_picture, image};
use serde_json::Value;

use super::cell::{Cell, Kind};
use super::document::Notebook;
use super::output::Output;
use super::usage::parts;
use crate::base::base64;
use crate::base::text::written_over;
use crate::session::protocol::Stream;

/// What a cell's metadata say of one that a page shows on demand: its title there.
pub(crate) const FOLDED: &str = "folded";

const STYLE: &str = include_str!("style.css");

/// The page. `title` is the file's name, where the notebook has no title of its own.
pub fn export(notebook: &Notebook, title: &str) -> String {
    let title = notebook.metadata.get("title").and_then(Value::as_str).unwrap_or(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escaped(title)
    );
    let is_rhai = notebook.language() == "rhai";
    for cell in &notebook.cells {
        match cell.metadata.get(FOLDED).and_then(Value::as_str) {
            Some(title) => {
                out += &format!("<details>\n<summary>{}</summary>\n", escaped(title));
                put_cell(&mut out, cell, is_rhai);
                out.push_str("</details>\n");
            }
            None => put_cell(&mut out, cell, is_rhai),
        }
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A table of texts.
pub(crate) fn table_html(header: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: String = cells.iter().map(|c| format!("<{tag}>{}</{tag}>", escaped(c))).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<table><thead>{}</thead><tbody>{body}</tbody></table>", row(header, "th"))
}

fn put_cell(out: &mut String, cell: &Cell, is_rhai: bool) {
    if cell.source.trim().is_empty() && cell.outputs.is_empty() {
        return;
    }
    match cell.kind {
        Kind::Markdown => {
            let body = markdown::render(&cell.source, cell.extra.get("attachments"));
            *out += &format!("<section class=\"markdown\">\n{body}</section>\n");
        }
        Kind::Raw => {
            *out += &format!("<section class=\"raw\"><pre>{}</pre></section>\n", escaped(&cell.source))
        }
        Kind::Code => {
            let count = cell.execution_count.map_or(" ".into(), |n| n.to_string());
            let source = if is_rhai { code::highlighted(&cell.source) } else { escaped(&cell.source) };
            out.push_str("<section class=\"code\">\n");
            if let Some(title) = cell.title() {
                *out += &format!("<div class=\"title\">{}</div>\n", escaped(title));
            }
            *out += &format!(
                "<div class=\"in\"><span class=\"count\">In [{count}]</span><pre><code>{source}</code></pre></div>\n"
            );
            if cell.is_edited() {
                out.push_str(
                    "<div class=\"usage\">edited since it ran: what follows is of an earlier text</div>\n",
                );
            }
            for output in &cell.outputs {
                put_output(out, output);
            }
            if let Some(usage) = &cell.usage {
                let parts: Vec<String> = parts(usage).iter().map(|part| escaped(&part.text())).collect();
                *out += &format!("<div class=\"usage\">{}</div>\n", parts.join(" · "));
            }
            out.push_str("</section>\n");
        }
    }
}

fn put_output(out: &mut String, output: &Output) {
    let (class, body) = match output {
        Output::Stream { stream: Stream::Stderr, text, .. } => ("stderr", pre(&written_over(text))),
        Output::Stream { text, .. } => ("stdout", pre(&written_over(text))),
        Output::Error { .. } => ("error", pre(&output.text())),
        Output::Data { data, is_result, .. } => {
            let body = picture(output, data).unwrap_or_else(|| match output.table() {
                Some((header, rows)) => table_html(&header, &rows),
                None => pre(&output.told()),
            });
            (if *is_result { "result" } else { "display" }, body)
        }
        Output::Other(_) => return,
    };
    *out += &format!("<div class=\"out {class}\">{body}</div>\n");
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>", escaped(text.trim_end_matches('\n')))
}

/// The output as an image, where it has one: a figure is drawn, other pictures are taken as they are.
fn picture(output: &Output, data: &super::output::Bundle) -> Option<String> {
    if let Some(figure) = output.figure()
        && let Ok(svg) = figure.to_svg()
    {
        return Some(image("image/svg+xml", &base64::encode(svg.as_bytes()), &escaped(&figure.told())));
    }
    let alt = escaped(output.text().trim());
    if let Some(svg) = data.get("image/svg+xml").and_then(Value::as_str) {
        return Some(image("image/svg+xml", &base64::encode(svg.as_bytes()), &alt));
    }
    coded_picture(data.iter(), &alt)
}

#[cfg(test)]
mod tests;
