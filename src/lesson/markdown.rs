//! Markdown as a small tree that a terminal can draw.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::text;

/// Deepest nesting of lists, quotations and emphasis that is kept apart; what is deeper joins its parent.
const MAX_DEPTH: usize = 24;

/// A block of text.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// `level` is 1 to 6.
    Heading {
        level: u8,
        text: Vec<Inline>,
    },
    Paragraph(Vec<Inline>),
    /// Code to be shown, not run. `language` is the first word after the fence, or empty.
    Code {
        language: String,
        text: String,
    },
    /// `start` is the first number of an ordered list.
    List {
        start: Option<u64>,
        items: Vec<Vec<Block>>,
    },
    Quote(Vec<Block>),
    Table {
        align: Vec<Align>,
        head: Vec<Vec<Inline>>,
        rows: Vec<Vec<Vec<Inline>>>,
    },
    Rule,
}

/// A run of text within a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Inline {
    Text(String),
    Code(String),
    Emphasis(Vec<Inline>),
    Strong(Vec<Inline>),
    Strike(Vec<Inline>),
    Link { text: Vec<Inline>, target: String },
    Image { alt: String, target: String },
    Break,
}

/// How a table's column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Center,
    Right,
}

/// Parses Markdown (CommonMark with tables and strike-through). Comments are dropped, other HTML is shown
/// as it stands, control characters are stripped, also those written as entities. Never fails.
pub fn parse(markdown: &str) -> Vec<Block> {
    let placed = read(markdown).blocks;
    placed.into_iter().map(|placed| placed.block).collect()
}

/// The text of the blocks without any form, blocks and lines separated by one space.
pub fn plain(blocks: &[Block]) -> String {
    let mut out = String::new();
    blocks.iter().for_each(|block| plain_block(block, &mut out));
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a run of text.
pub fn words(inlines: &[Inline]) -> String {
    let mut out = String::new();
    plain_inlines(inlines, &mut out);
    out
}

/// The words of a run of text where nothing is coloured or clicked: code between back quotes, which alone tell it from
/// prose, and the addresses of links behind their words.
pub fn marked(inlines: &[Inline]) -> String {
    let mut out = String::new();
    write_inlines(inlines, true, &mut out);
    out
}

/// A whole text, with the places that a lesson's parser asks about.
pub(super) struct Document {
    pub blocks: Vec<Placed>,
    pub links: Vec<LinkTarget>,
    /// Fenced code inside a list or a quotation: its offset and what stands after the fence.
    pub inner_fences: Vec<(usize, String)>,
    /// Where HTML other than a comment begins.
    pub html: Vec<usize>,
    /// Where the nesting is deeper than what is kept apart.
    pub too_deep: Option<usize>,
}

/// A block at the top level and the bytes it was read from.
pub(super) struct Placed {
    pub block: Block,
    pub range: Range<usize>,
    pub fenced: bool,
}

/// The target of a link or an image, and where it stands.
pub(super) struct LinkTarget {
    pub target: String,
    pub offset: usize,
    pub is_image: bool,
}

pub(super) fn read(markdown: &str) -> Document {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut reader = MarkdownReader::default();
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        reader.event(event, range);
    }
    reader.finish()
}

/// A list; but `512. The allocator …` on its own is a sentence that begins with a number.
fn listed(start: Option<u64>, mut items: Vec<Vec<Block>>) -> Block {
    if let (Some(number), [item]) = (start, items.as_mut_slice())
        && let [Block::Paragraph(text)] = item.as_mut_slice()
    {
        match text.first_mut() {
            Some(Inline::Text(first)) => *first = format!("{number}. {first}"),
            _ => text.insert(0, Inline::Text(format!("{number}. "))),
        }
        return Block::Paragraph(std::mem::take(text));
    }
    Block::List { start, items }
}

/// What is open at a point of the text. Which of the lists is filled depends on the tag.
#[derive(Default)]
struct Frame {
    start: usize,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
    items: Vec<Vec<Block>>,
    cells: Vec<Vec<Inline>>,
    head: Vec<Vec<Inline>>,
    rows: Vec<Vec<Vec<Inline>>>,
    align: Vec<Align>,
    /// Code, HTML, or the target of a link.
    raw: String,
    language: String,
    number: Option<u64>,
    level: u8,
    is_code: bool,
    fenced: bool,
}

#[derive(Default)]
struct MarkdownReader {
    /// Open frames; what is done at the top level goes to `document`.
    stack: Vec<Frame>,
    /// Open tags that are deeper than `MAX_DEPTH`.
    beyond: usize,
    placed: Vec<Placed>,
    links: Vec<LinkTarget>,
    inner_fences: Vec<(usize, String)>,
    html: Vec<usize>,
    too_deep: Option<usize>,
}

impl MarkdownReader {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) if self.beyond > 0 || self.stack.len() >= MAX_DEPTH => {
                self.too_deep.get_or_insert(range.start);
                self.beyond += 1;
                drop(tag);
            }
            Event::Start(tag) => self.open(&tag, range.start),
            Event::End(_) if self.beyond > 0 => self.beyond -= 1,
            Event::End(tag) => self.close(tag, range),
            Event::Text(value) => self.text(&value),
            Event::Code(value) => self.inline(Inline::Code(clean(&value).replace('\n', " "))),
            Event::InlineMath(value) | Event::DisplayMath(value) => self.text(&value),
            Event::Html(value) => self.raw(&value),
            Event::InlineHtml(value) => {
                if !is_comment(&value) {
                    self.html.push(range.start);
                    self.text(&value);
                }
            }
            Event::SoftBreak => self.inline(Inline::Text(" ".to_owned())),
            Event::HardBreak => self.inline(Inline::Break),
            Event::Rule => self.block(Block::Rule, range, false),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, start: usize) {
        let mut frame = Frame { start, ..Frame::default() };
        match tag {
            Tag::Heading { level, .. } => frame.level = *level as u8,
            Tag::List(number) => frame.number = *number,
            Tag::Table(align) => frame.align = align.iter().map(|&a| alignment(a)).collect(),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                (frame.is_code, frame.fenced) = (true, true);
                if !self.stack.is_empty() {
                    self.inner_fences.push((start, clean(info)));
                }
                let language = info.split([' ', '\t', ',', '{']).next();
                frame.language = clean(language.unwrap_or_default());
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => frame.is_code = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                frame.raw = clean(dest_url);
                self.links.push(LinkTarget {
                    target: frame.raw.clone(),
                    offset: start,
                    is_image: matches!(tag, Tag::Image { .. }),
                });
            }
            _ => {}
        }
        self.stack.push(frame);
    }

    fn close(&mut self, tag: TagEnd, range: Range<usize>) {
        let Some(mut frame) = self.stack.pop() else {
            return;
        };
        let inlines = std::mem::take(&mut frame.inlines);
        match tag {
            TagEnd::Emphasis => self.inline(Inline::Emphasis(inlines)),
            TagEnd::Strong => self.inline(Inline::Strong(inlines)),
            TagEnd::Strikethrough => self.inline(Inline::Strike(inlines)),
            TagEnd::Link => self.inline(Inline::Link { text: inlines, target: frame.raw }),
            TagEnd::Image => {
                let mut alt = String::new();
                plain_inlines(&inlines, &mut alt);
                self.inline(Inline::Image { alt, target: frame.raw });
            }
            TagEnd::Item => {
                settle(&mut frame.blocks, inlines);
                if let Some(list) = self.stack.last_mut() {
                    list.items.push(frame.blocks);
                }
            }
            TagEnd::TableCell => self.with_parent(|parent| parent.cells.push(inlines)),
            TagEnd::TableHead => self.with_parent(|parent| parent.head = frame.cells),
            TagEnd::TableRow => self.with_parent(|parent| parent.rows.push(frame.cells)),
            _ => self.close_block(tag, frame, inlines, range),
        }
    }

    fn close_block(&mut self, tag: TagEnd, mut frame: Frame, inlines: Vec<Inline>, range: Range<usize>) {
        let block = match tag {
            TagEnd::Heading(_) => Block::Heading { level: frame.level, text: inlines },
            TagEnd::CodeBlock => Block::Code { language: frame.language, text: frame.raw },
            TagEnd::List(_) => listed(frame.number, frame.items),
            TagEnd::BlockQuote(_) => {
                settle(&mut frame.blocks, inlines);
                Block::Quote(frame.blocks)
            }
            TagEnd::Table => Block::Table { align: frame.align, head: frame.head, rows: frame.rows },
            TagEnd::HtmlBlock => {
                let shown = without_comments(&frame.raw);
                if shown.is_empty() {
                    return;
                }
                self.html.push(frame.start);
                Block::Paragraph(vec![Inline::Text(shown)])
            }
            _ if inlines.is_empty() => return,
            _ => Block::Paragraph(inlines),
        };
        self.block(block, range, frame.fenced);
    }

    fn block(&mut self, block: Block, range: Range<usize>, fenced: bool) {
        match self.stack.last_mut() {
            Some(parent) => {
                let loose = std::mem::take(&mut parent.inlines);
                settle(&mut parent.blocks, loose);
                parent.blocks.push(block);
            }
            None => self.placed.push(Placed { block, range, fenced }),
        }
    }

    /// Adds to the open frame's inlines, joining neighbouring texts.
    fn inline(&mut self, inline: Inline) {
        self.with_parent(|parent| match (parent.inlines.last_mut(), inline) {
            (Some(Inline::Text(before)), Inline::Text(more)) => before.push_str(&more),
            (_, inline) => parent.inlines.push(inline),
        });
    }

    fn text(&mut self, value: &str) {
        if self.stack.last().is_some_and(|frame| frame.is_code) {
            self.raw(value);
            return;
        }
        self.inline(Inline::Text(clean(value).replace('\n', " ")));
    }

    fn raw(&mut self, value: &str) {
        self.with_parent(|parent| parent.raw.push_str(&clean(value)));
    }

    fn with_parent(&mut self, act: impl FnOnce(&mut Frame)) {
        if let Some(parent) = self.stack.last_mut() {
            act(parent);
        }
    }

    fn finish(self) -> Document {
        Document {
            blocks: self.placed,
            links: self.links,
            inner_fences: self.inner_fences,
            html: self.html,
            too_deep: self.too_deep,
        }
    }
}

fn clean(value: &str) -> String {
    text::strip(value)
}

fn alignment(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Left,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::Right,
    }
}

/// Text that stands in a list item or quotation without a paragraph of its own becomes one.
fn settle(blocks: &mut Vec<Block>, loose: Vec<Inline>) {
    if !loose.is_empty() {
        blocks.push(Block::Paragraph(loose));
    }
}

fn is_comment(html: &str) -> bool {
    html.trim_start().starts_with("<!--")
}

fn without_comments(html: &str) -> String {
    let mut shown = String::new();
    let mut rest = html;
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain_block(block: &Block, out: &mut String) {
    match block {
        Block::Heading { text, .. } | Block::Paragraph(text) => plain_inlines(text, out),
        Block::Code { text, .. } => out.push_str(text),
        Block::List { items, .. } => items.iter().flatten().for_each(|block| plain_block(block, out)),
        Block::Quote(blocks) => blocks.iter().for_each(|block| plain_block(block, out)),
        Block::Table { head, rows, .. } => {
            for cell in head.iter().chain(rows.iter().flatten()) {
                plain_inlines(cell, out);
                out.push(' ');
            }
        }
        Block::Rule => {}
    }
    out.push(' ');
}

fn plain_inlines(inlines: &[Inline], out: &mut String) {
    write_inlines(inlines, false, out);
}

fn write_inlines(inlines: &[Inline], marked: bool, out: &mut String) {
    for inline in inlines {
        match inline {
            Inline::Code(value) if marked => {
                // Code that has a back quote of its own stands between two, as it was written.
                let (marks, gap) = if value.contains('`') { ("``", " ") } else { ("`", "") };
                for part in [marks, gap, value, gap, marks] {
                    out.push_str(part);
                }
            }
            Inline::Text(value) | Inline::Code(value) => out.push_str(value),
            Inline::Emphasis(inner) | Inline::Strong(inner) | Inline::Strike(inner) => {
                write_inlines(inner, marked, out);
            }
            Inline::Link { text, target } => {
                write_inlines(text, marked, out);
                let is_address = target.starts_with("https://") || target.starts_with("http://");
                if marked && is_address && words(text) != *target {
                    out.push_str(&format!(" ({target})"));
                }
            }
            Inline::Image { alt, .. } => out.push_str(alt),
            Inline::Break => out.push(' '),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn t(text: &str) -> Inline {
        Inline::Text(text.to_owned())
    }

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(vec![t(text)])
    }

    #[test]
    fn inline_forms_nest() {
        assert_eq!(
            parse("a *b **c** d* `x < y` ~~no~~\nnext  \nline"),
            [Block::Paragraph(vec![
                t("a "),
                Inline::Emphasis(vec![t("b "), Inline::Strong(vec![t("c")]), t(" d")]),
                t(" "),
                Inline::Code("x < y".to_owned()),
                t(" "),
                Inline::Strike(vec![t("no")]),
                t(" next"),
                Inline::Break,
                t("line"),
            ])]
        );
    }

    #[test]
    fn lists_nest_and_keep_their_numbers() {
        let blocks = parse("3. one\n4. two\n   - deep\n\n     more\n");
        let Block::List { start, items } = &blocks[0] else { panic!("{blocks:?}") };
        assert_eq!(*start, Some(3));
        assert_eq!(items[0], [paragraph("one")]);
        assert_eq!(items[1][0], paragraph("two"));
        assert_eq!(
            items[1][1],
            Block::List { start: None, items: vec![vec![paragraph("deep"), paragraph("more")]] }
        );
    }

    #[test]
    fn tables_have_a_head_rows_and_alignment() {
        let blocks = parse("| a | b |\n|--:|:-:|\n| 1 | `2` |\n| 3 |\n");
        let cell = |text: &str| vec![t(text)];
        assert_eq!(
            blocks,
            [Block::Table {
                align: vec![Align::Right, Align::Center],
                head: vec![cell("a"), cell("b")],
                rows: vec![vec![cell("1"), vec![Inline::Code("2".to_owned())]], vec![cell("3"), vec![]],],
            }]
        );
    }

    #[test]
    fn code_keeps_its_lines_and_its_language() {
        let code =
            |language: &str, text: &str| Block::Code { language: language.to_owned(), text: text.to_owned() };
        assert_eq!(
            parse("```python hi\n x = 1\n\n\ty\n```\n\n    z\n"),
            [code("python", " x = 1\n\n\ty\n"), code("", "z\n")]
        );
    }

    #[test]
    fn quotations_rules_links_and_images_are_kept() {
        assert_eq!(
            parse("> quoted\n\n---\n\n[here](https://a.b/ \"t\") ![alt *x*](assets/p.png)"),
            [
                Block::Quote(vec![paragraph("quoted")]),
                Block::Rule,
                Block::Paragraph(vec![
                    Inline::Link { text: vec![t("here")], target: "https://a.b/".to_owned() },
                    t(" "),
                    Inline::Image { alt: "alt x".to_owned(), target: "assets/p.png".to_owned() },
                ])
            ]
        );
    }

    #[test]
    fn comments_vanish_and_other_html_is_shown_as_text() {
        assert_eq!(parse("<!-- for\n\nauthors -->\n\na <!-- x -->b"), [paragraph("a b")]);
        assert_eq!(parse("<div>x</div>\n\na<br>b"), [paragraph("<div>x</div>"), paragraph("a<br>b")]);
        assert_eq!(read("<div>x</div>\n\na<br>b").html, [0, 15]);
    }

    #[test]
    fn control_characters_written_as_entities_are_stripped_too() {
        let blocks = parse("a&#27;[2Jb &#x9b;c `&#27;` [l](x&#27;y)\n\n```\n\u{1b}[1m\n```");
        let all = format!("{blocks:?}");
        assert!(!all.contains("u{1b}") && !all.contains("u{9b}"), "{all}");
        assert!(all.contains("a[2Jb c"));
    }

    #[test]
    fn bottomless_nesting_is_cut_and_said() {
        for text in [
            format!("{} x", ">".repeat(50_000)),
            "- ".repeat(20_000),
            format!("{}x{}", "*a **b ".repeat(2_000), "** *".repeat(2_000)),
            "[".repeat(50_000),
        ] {
            parse(&text);
        }
        assert!(read(&format!("{} x", ">".repeat(500))).too_deep.is_some());
        assert!(plain(&parse(&format!("{} deep", ">".repeat(500)))).contains("deep"));
        assert!(read("> - > x").too_deep.is_none());
    }

    #[test]
    fn plain_text_has_every_word() {
        assert_eq!(
            plain(&parse("# A *b*\n\n- c `d`\n- e\n\n| f | g |\n|---|---|\n| h | i |")),
            "A b c d e f g h i"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in "[-*_>#`~\\[\\]()|<!a&;:\n \t0-9.+=]{0,200}") {
            parse(&text);
        }

        #[test]
        fn no_control_character_survives(text in "(\\PC|[\u{0}-\u{1f}]|&#27;){0,100}") {
            let shown = plain(&parse(&text));
            prop_assert_eq!(text::strip(&shown), shown);
        }
    }
}
