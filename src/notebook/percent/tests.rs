use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::notebook::output::Fields;

fn seen(text: &str) -> Vec<(Kind, String)> {
    parse(text).cells.into_iter().map(|cell| (cell.kind, cell.source)).collect()
}

fn code(source: &str) -> (Kind, String) {
    (Kind::Code, source.into())
}

fn markdown(source: &str) -> (Kind, String) {
    (Kind::Markdown, source.into())
}

#[test]
fn cells_are_read_with_titles_kinds_and_metadata() {
    let text = "let a = 1;\n\n// %% The first\n\nlet b = 2;\n\n\n// %% [markdown]\n// # Head\n//\n// text\n\n\
        // %% Notes [md] tags=[\"x\", \"y z\"] n=1.5\n// m\n// %%[raw]\n// r\n//%%\n//%%%\nx\n";
    let notebook = parse(text);
    let cells: Vec<_> = notebook.cells.iter().map(|c| (c.kind, c.source.as_str(), c.title())).collect();
    assert_eq!(
        cells,
        [
            (Kind::Code, "let a = 1;", None),
            (Kind::Code, "let b = 2;", Some("The first")),
            (Kind::Markdown, "# Head\n\ntext", None),
            (Kind::Markdown, "m", Some("Notes")),
            (Kind::Raw, "r", None),
            (Kind::Code, "", None),
            (Kind::Code, "x", None),
        ]
    );
    let metadata = serde_json::Value::Object(notebook.cells[3].metadata.clone());
    assert_eq!(metadata, json!({"title": "Notes", "tags": ["x", "y z"], "n": 1.5}));
    assert_eq!(write(&notebook), text);
}

#[test]
fn lines_that_are_near_a_marker_are_none() {
    for text in ["// %%time\nx", " // %%\nx", "// % %\nx", "let s = \"// %%\";", "/// %%\nx", "// a // %%\n"]
    {
        assert_eq!(seen(text), [code(text.trim_end())], "{text}");
    }
    assert!(seen("").is_empty());
    assert_eq!(seen("\n \n"), [code("")]);
}

#[test]
fn code_behind_the_comments_of_a_markdown_cell_is_a_cell() {
    let text = "// %% [markdown]\n// a\n\n// b\n\nlet x = 1;\n// c\n// %%\ny";
    assert_eq!(seen(text), [markdown("a\n\nb"), code("let x = 1;\n// c"), code("y")]);
    let mut notebook = parse(text);
    notebook.cells[1].source = "// now a comment first\nlet x = 2;".into();
    let written = write(&notebook);
    assert_eq!(
        written,
        "// %% [markdown]\n// a\n\n// b\n\n// %%\n// now a comment first\nlet x = 2;\n// %%\ny"
    );
    notebook.cells.remove(0);
    assert!(write(&notebook).starts_with("// now a comment"), "the first cell needs no marker");
}

#[test]
fn a_changed_cell_leaves_the_others_and_its_own_surroundings_as_they_are() {
    let text = "\u{feff}\r\n//%%   Spaced   \r\n\r\nlet a = 1 ;\t\r\n\r\n\r\n// %% [markdown]\r\n//no space\r\n//\tx\r\n//   %%% \r\nlast";
    let mut notebook = parse(text);
    assert_eq!(write(&notebook), text);
    notebook.cells[0].source = "let a = 2;\nlet b = 3;".into();
    let want = text.replace("let a = 1 ;\t\r\n", "let a = 2;\r\nlet b = 3;\r\n");
    assert_eq!(write(&notebook), want);
    notebook.cells[2].source = "end".into();
    assert_eq!(write(&notebook), want.replace("last", "end"), "a last line without an end stays one");
    notebook.insert(9, Cell::code("new"));
    assert_eq!(write(&notebook), want.replace("last", "end\r\n\r\n// %%\r\nnew\r\n"));
    notebook.cells[0].metadata.insert("title".into(), "T".into());
    assert!(write(&notebook).contains("// %% T\r\nlet a = 2;"));
}

#[test]
fn a_source_that_holds_markers_stays_one_cell() {
    let sources = ["// %%\nx", "//%% [markdown]\n// \\%% a\n//\\\\%%", "let s = `\n// %%\n`;"];
    let notebook = Notebook::new(sources.map(Cell::code));
    assert_eq!(seen(&write(&notebook)), sources.map(code));
    let texts = ["%% a comment of a diagram\n%%\n  %% x\n\\%% y", "// %%\n%%%", "a\n\n"];
    let notebook = Notebook::new(texts.map(Cell::markdown));
    assert_eq!(seen(&write(&notebook)), texts.map(markdown));
    assert_eq!(write(&Notebook::new([Cell::markdown("%% a")])), "// %% [markdown]\n// \\%% a\n");
}

#[test]
fn titles_that_read_as_something_else_become_metadata() {
    for title in ["[markdown]", "a [raw]", "lr=0.1", " spaced ", "two\nlines", "", "[md] x", "\u{a0}"] {
        let mut cell = Cell::code("x");
        cell.metadata.insert("title".into(), title.into());
        let text = write(&Notebook::new([cell]));
        let back = &parse(&text).cells;
        assert_eq!((back.len(), back[0].kind, back[0].title()), (1, Kind::Code, Some(title)), "{text}");
    }
}

#[test]
fn empty_cells_and_plain_scripts_stay() {
    for text in [
        "// %%",
        "// %%\n// %%\n",
        "x",
        "\n\n// a\nx\n\n",
        "// %%\n\n\n\n",
        "// %% [md]\n\n",
        "\n",
        "// %% [raw]\nx",
    ] {
        assert_eq!(write(&parse(text)), text);
    }
    let mut notebook = parse("// %%");
    notebook.cells[0].source = "x".into();
    assert_eq!(write(&notebook), "// %%\nx");
    let mut notebook = parse("x\n// %%\ny\n");
    notebook.cells[0].source.clear();
    assert_eq!(seen(&write(&notebook)), [code(""), code("y")]);
    notebook.cells.swap(0, 1);
    assert_eq!(seen(&write(&notebook)), [code("y"), code("")]);
}

/// Lines that files are made of, more or less.
fn any_line() -> impl Strategy<Value = String> {
    let marks = [
        "// %%",
        "//%%",
        "// %% [markdown]",
        "// %% a=1",
        "// %% T [raw] a=\"b\" c={\"d\":[]}",
        "//",
        "// ",
        "",
    ];
    let others = [
        "// \\%%",
        "%% x",
        "// x",
        "let x = 1;",
        "   ",
        "\t// %%",
        "`",
        "/*",
        "// %%%[md]",
        "ä = \"€\"",
        "a=1",
    ];
    prop_oneof![
        3 => proptest::sample::select(marks.to_vec()).prop_map(String::from),
        2 => proptest::sample::select(others.to_vec()).prop_map(String::from),
        1 => "[ -~\u{e4}\u{2028}\t\r]{0,12}",
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    let line = (any_line(), proptest::sample::select(vec!["\n", "\r\n"]));
    let lines = proptest::collection::vec(line, 0..12);
    (lines, any::<bool>(), any::<bool>()).prop_map(|(lines, bom, end)| {
        let mut text: String = lines.into_iter().map(|(line, end)| line + end).collect();
        if !end {
            text = text.trim_end_matches(['\r', '\n']).into();
        }
        if bom { format!("\u{feff}{text}") } else { text }
    })
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let kind = proptest::sample::select(vec![Kind::Code, Kind::Markdown, Kind::Raw]);
    let source = proptest::collection::vec(any_line(), 0..5).prop_map(|l| l.join("\n").replace('\r', ""));
    let title = proptest::option::of(any_line());
    let value = proptest::sample::select(vec![json!(1), json!("a b=2"), json!(["x"]), json!(null)]);
    let more = proptest::option::of(("[a-z_.-]{1,4}", value));
    (kind, source, title, more).prop_map(|(kind, source, title, more)| {
        let mut metadata = Fields::new();
        metadata.extend(title.map(|t| ("title".to_string(), t.into())));
        metadata.extend(more.filter(|(key, _)| is_shown(key)));
        Cell { kind, source, metadata, ..Cell::default() }
    })
}

/// What is to be read back of a cell: blank lines at the ends of code are not.
fn read_back(cell: &Cell) -> (Kind, String, Fields) {
    let mut source = cell.source.clone();
    if cell.kind == Kind::Code {
        let lines: Vec<&str> = source.split('\n').collect();
        let first = lines.iter().position(|l| !is_blank(l)).unwrap_or(lines.len());
        let last = lines.iter().rposition(|l| !is_blank(l)).map_or(first, |last| last + 1);
        source = lines[first..last].join("\n");
    }
    (cell.kind, source, cell.metadata.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_file_is_written_as_it_was_read(text in any_text()) {
        prop_assert_eq!(write(&parse(&text)), text);
    }

    #[test]
    fn every_notebook_is_read_as_it_was_written(cells in proptest::collection::vec(any_cell(), 0..5)) {
        let text = write(&Notebook::new(cells.clone()));
        let back = parse(&text);
        let got: Vec<_> = back.cells.iter().map(read_back).collect();
        let want: Vec<_> = cells.iter().map(read_back).collect();
        prop_assert_eq!(got, want, "{}", text);
        prop_assert_eq!(write(&back), text);
    }

    #[test]
    fn a_file_in_which_a_cell_changed_keeps_the_text_of_all_others(
        text in any_text(), at in 0usize..12, new in any_cell(), remove in any::<bool>(),
    ) {
        check_change(&text, at, new, remove);
    }
}

#[test]
fn a_cell_of_nothing_but_a_mark_leaves_its_neighbours() {
    check_change("// %%\n// %%\n// %%\n   ", 2, Cell::code("// %%"), false);
}

#[test]
fn an_only_cell_that_is_emptied_is_still_a_cell() {
    check_change("// \\%%", 0, Cell::code(""), false);
    check_change("1 + 1\n", 0, Cell::code(""), false);
}

#[test]
fn a_first_cell_of_blanks_is_still_a_cell() {
    check_change("// \\%%\n// %%", 0, Cell::code("   "), false);
    check_change("1 + 1\n// %%\n2", 0, Cell::code(" \n "), false);
}

#[test]
fn code_that_begins_with_a_comment_below_a_blank_line_is_not_text_of_the_cell_before() {
    check_change("// %%\n// %%%[md]\n%% x", 2, Cell::code("\n// %%"), false);
    check_change("// %% [md]\n// text\n1", 1, Cell::code("\n\n// a comment\n2"), false);
}

/// Changes or removes a cell of a file: what is written and read again has it so, and the others' text as it was.
fn check_change(text: &str, at: usize, new: Cell, remove: bool) {
    let mut notebook = parse(text);
    if at < notebook.cells.len() {
        if remove {
            notebook.cells.remove(at);
        } else {
            let cell = &mut notebook.cells[at];
            (cell.source, cell.kind, cell.metadata) = (new.source, new.kind, new.metadata);
        }
    }
    let written = write(&notebook);
    let back = parse(&written);
    let got: Vec<_> = back.cells.iter().map(read_back).collect();
    let want: Vec<_> = notebook.cells.iter().map(read_back).collect();
    assert_eq!(got, want, "{written}");
    for (i, cell) in notebook.cells.iter().enumerate().filter(|(i, _)| remove || *i != at) {
        let body = &cell.layout.as_ref().unwrap().body;
        assert_eq!(&back.cells[i].layout.as_ref().unwrap().body, body);
    }
}

#[test]
fn code_cells_know_their_lines() {
    let text =
        "let a = 1;\n\n// %% [markdown]\n// Text\n\n// %% next\n\nlet b = 2;\nb\n// %%\n\n// %%\r\nc\n";
    let found: Vec<(u32, String)> =
        placed(text).into_iter().map(|(line, cell)| (line, cell.source)).collect();
    let want = [(1, "let a = 1;"), (8, "let b = 2;\nb"), (13, "c")];
    assert_eq!(found, want.map(|(line, code)| (line, code.to_string())));
    for (line, cell) in placed(text) {
        let first = text.lines().nth(line as usize - 1).unwrap();
        assert_eq!(Some(first), cell.source.lines().next());
    }
    assert!(placed("").is_empty());
}
