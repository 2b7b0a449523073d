use super::*;
use crate::notebook::percent;
use crate::plot::Figure;
use crate::session::protocol::{Display, Stream, Usage};

fn json_of(notebook: &Notebook) -> Value {
    serde_json::from_slice(&write(notebook)).unwrap()
}

fn read_json(value: &Value) -> Result<(Notebook, Vec<String>), IpynbError> {
    read(value.to_string().as_bytes())
}

#[test]
fn a_notebook_comes_back_with_the_fields_that_are_not_known() {
    let file = json!({
        "nbformat": 4, "nbformat_minor": 5, "custom": {"deep": [1, null]},
        "metadata": {"kernelspec": {"name": "x", "display_name": "X", "language": "rhai"}, "widgets": {"a": 1}},
        "cells": [
            {"cell_type": "code", "id": "a", "metadata": {"tags": ["t"], "trusted": true}, "source": ["let x = 1;\n", "x"],
             "execution_count": 3, "future": 1, "outputs": [
                {"output_type": "execute_result", "execution_count": 3, "metadata": {"m": 1},
                 "data": {"text/plain": ["1"], "application/vnd.other+json": {"k": [1.5]}}},
                {"output_type": "stream", "name": "stderr", "text": ["w\n", "v"]},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["l1", "l2"]}]},
            {"cell_type": "markdown", "id": "b", "metadata": {}, "source": [],
             "attachments": {"p.png": {"image/png": "iVBO"}}},
            {"cell_type": "raw", "id": "c", "metadata": {"format": "text/html"}, "source": ["<b>"]},
            {"cell_type": "code", "id": "d", "metadata": {}, "source": [], "execution_count": null, "outputs": []},
        ],
    });
    let (notebook, notes) = read_json(&file).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(json_of(&notebook), file);
    // By way of a script and its outputs, nothing is lost either.
    let mut back = percent::parse(&percent::write(&notebook));
    crate::notebook::sidecar::read(&mut back, &crate::notebook::sidecar::write(&notebook).unwrap()).unwrap();
    assert_eq!(json_of(&back), file);
}

#[test]
fn outputs_of_an_earlier_text_are_told_from_those_of_the_present_one() {
    let mut notebook = Notebook::new([Cell::code("1 + 2"), Cell::code("40 + 2"), Cell::code("7")]);
    for cell in &mut notebook.cells {
        (cell.ran, cell.outputs) = (Some(cell.hash()), vec![Output::result("3", 1)]);
    }
    // Ran here; ran elsewhere and edited here; ran elsewhere.
    notebook.cells[0].usage = Some(Usage::default());
    notebook.cells[1].source = "40 + 3".into();
    let value = json_of(&notebook);
    let own = |at: usize| &value["cells"][at]["metadata"]["tensorlab"];
    assert!(own(0)["ran"].is_string() && own(1)["ran"].is_string() && own(2).is_null(), "{value}");
    let (back, _) = read_json(&value).unwrap();
    assert_eq!(back.cells.iter().map(Cell::is_edited).collect::<Vec<_>>(), [false, true, false]);
    assert!(back.cells.iter().all(|cell| cell.metadata.is_empty()));
    // Another program changes a text that ran here.
    let mut changed = value.clone();
    changed["cells"][0]["source"] = json!(["1 + 3"]);
    assert!(read_json(&changed).unwrap().0.cells[0].is_edited());
    // Outputs that another program took away are of no text.
    (changed["cells"][0]["outputs"], changed["cells"][0]["execution_count"]) = (json!([]), Value::Null);
    assert_eq!(read_json(&changed).unwrap().0.cells[0].ran, None);
    let page = crate::notebook::html::export(&back, "n");
    assert_eq!(page.matches("edited since it ran").count(), 1, "{page}");
}

#[test]
fn what_the_program_makes_is_shown_by_others() {
    let mut notebook = Notebook::new([Cell::code("f"), Cell::markdown("# T")]);
    let figure = Figure { title: "t".into(), ..Figure::default() };
    let table = Display::Table { header: vec!["<h>".into()], rows: vec![vec!["&".into()]] };
    let cell = &mut notebook.cells[0];
    cell.outputs = vec![
        Output::stream(Stream::Stdout, "a\nb"),
        Output::display(&Display::Figure { figure: Box::new(figure.clone()) }),
        Output::display(&table),
    ];
    cell.ran = Some(cell.hash());
    cell.usage = Some(Usage { host_nanos: 5, ..Usage::default() });
    let value = json_of(&notebook);
    assert_eq!(value["metadata"]["kernelspec"]["language"], "rhai");
    assert_eq!(value["nbformat_minor"], 5);
    let outputs = &value["cells"][0]["outputs"];
    assert_eq!(outputs[0]["text"], json!(["a\n", "b"]));
    let data = &outputs[1]["data"];
    assert!(data["image/png"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(data["image/svg+xml"][0].as_str().unwrap().starts_with("<svg"));
    assert_eq!(outputs[2]["data"]["text/html"][0].as_str().unwrap().matches("&lt;h&gt;").count(), 1);
    let (back, _) = read(&write(&notebook)).unwrap();
    assert_eq!(back.cells[0].outputs[1].figure(), Some(figure));
    assert_eq!(back.cells[0].usage, notebook.cells[0].usage);
    assert!(back.cells[0].is_current() && !back.cells[0].metadata.contains_key("tensorlab"));
    assert_eq!(write(&back), write(&notebook));
}

#[test]
fn older_minor_versions_have_ids_afterwards() {
    for minor in 0..=4 {
        let file = json!({"nbformat": 4, "nbformat_minor": minor, "metadata": {"language_info": {"name": "rhai"}}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": "a"},
            {"cell_type": "markdown", "metadata": {}, "source": "a"}]});
        let (notebook, notes) = read_json(&file).unwrap();
        assert!(notes.is_empty() && notebook.cells[0].id != notebook.cells[1].id);
        assert_eq!(json_of(&notebook)["nbformat_minor"], 5);
    }
    let newer = json!({"nbformat": 4, "nbformat_minor": 9, "metadata": {}, "cells": []});
    assert!(read_json(&newer).unwrap().1[0].contains("4.9"));
}

#[test]
fn version_3_is_converted() {
    let file = json!({"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": "n"}, "worksheets": [{"cells": [
        {"cell_type": "heading", "level": 2, "source": ["Head"], "metadata": {}},
        {"cell_type": "html", "source": "<i>"},
        {"cell_type": "code", "input": ["a\n", "b"], "language": "python", "collapsed": false, "prompt_number": 4,
         "outputs": [
            {"output_type": "stream", "stream": "stdout", "text": "s"},
            {"output_type": "pyout", "prompt_number": 4, "text": ["x"], "png": "iVBO", "json": "{\"a\": 1}", "metadata": {}},
            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": []}]}]}]});
    let (notebook, notes) = read_json(&file).unwrap();
    assert!(notes[0].contains("nbformat 3") && notes[1].contains("python"), "{notes:?}");
    let sources: Vec<_> = notebook.cells.iter().map(|c| (c.kind, c.source.as_str())).collect();
    assert_eq!(sources, [(Kind::Markdown, "## Head"), (Kind::Markdown, "<i>"), (Kind::Code, "a\nb")]);
    let code = &notebook.cells[2];
    assert_eq!((code.execution_count, code.outputs.len()), (Some(4), 3));
    let Output::Data { data, is_result: true, .. } = &code.outputs[1] else { panic!() };
    assert_eq!(data["application/json"], json!({"a": 1}));
    assert_eq!(data["image/png"], "iVBO");
    assert!(code.outputs[2].is_error());
}

#[test]
fn python_is_kept_as_it_is_with_a_note() {
    let file = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "python", "name": "python3",
        "display_name": "P"}}, "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": "import torch",
        "outputs": [], "execution_count": null}]});
    let (notebook, notes) = read_json(&file).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("python"), "{notes:?}");
    assert_eq!(notebook.cells[0].source, "import torch");
    assert_eq!(json_of(&notebook)["metadata"], file["metadata"]);
}

#[test]
fn what_is_no_notebook_says_why() {
    let cell = |cell: Value| json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]});
    for (file, want) in [
        (json!([]), "no JSON object"),
        (json!({"cells": []}), "`nbformat`"),
        (json!({"nbformat": 2}), "nbformat 1 and 2"),
        (json!({"nbformat": 5}), "nbformat 5"),
        (json!({"nbformat": 4}), "`cells`"),
        (json!({"nbformat": 4, "cells": [], "metadata": []}), "`metadata`"),
        (json!({"nbformat": 3, "worksheets": 1}), "`worksheets`"),
        (cell(json!(1)), "cell 1: it is no object"),
        (cell(json!({"source": ""})), "cell 1: it has no `cell_type`"),
        (cell(json!({"cell_type": "x", "source": ""})), "'x'"),
        (cell(json!({"cell_type": "code"})), "`source`"),
        (cell(json!({"cell_type": "code", "source": 1})), "`source`"),
        (cell(json!({"cell_type": "code", "source": "", "outputs": [1]})), "output"),
        (cell(json!({"cell_type": "code", "source": "", "id": 1})), "`id`"),
    ] {
        let error = read_json(&file).unwrap_err().to_string();
        assert!(error.contains(want), "{file}: {error}");
    }
    assert!(read(b"{").unwrap_err().to_string().contains("no JSON"));
    assert!(read(&[b'['; 100_000]).unwrap_err().to_string().contains("recursion"));
}

/// Jupyter folds them by tags and metadata of its own, which are no part of the text.
#[test]
fn folded_cells_are_folded_in_the_file_and_come_back_as_they_were() {
    let folded = |mut cell: Cell| {
        cell.metadata.insert("folded".into(), "Hints & more".into());
        cell
    };
    let cells = [folded(Cell::markdown("a\n\n- b")), folded(Cell::code("1")), Cell::markdown("c")];
    let value = json_of(&Notebook::new(cells.clone()));
    let text =
        value["cells"][0]["source"].as_array().unwrap().iter().filter_map(|l| l.as_str()).collect::<String>();
    assert_eq!(text, "<details><summary>Hints &amp; more</summary>\n\na\n\n- b\n\n</details>");
    assert_eq!(value["cells"][1]["metadata"]["jupyter"]["source_hidden"], true);
    let (back, _) = read_json(&value).unwrap();
    assert_eq!(back.cells.iter().map(|c| &c.source).collect::<Vec<_>>(), ["a\n\n- b", "1", "c"]);
    assert_eq!(json_of(&back), value);
    // Whoever unfolds a cell there finds it unfolded.
    let mut open = value;
    open["cells"][1]["metadata"]["jupyter"]["source_hidden"] = false.into();
    assert_eq!(json_of(&read_json(&open).unwrap().0), open);
}
