//! `tensorlab notebook` as a user meets it: files, runs, comparisons, pages.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-notebook-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    fn notebook(&self, arguments: &[&str]) -> Output {
        program().arg("notebook").args(arguments).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    command.env_remove("TENSORLAB_DEVICES").env("NO_COLOR", "1");
    command
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

#[track_caller]
fn ends(o: &Output, code: i32, pieces: &[&str]) {
    let text = format!("{}{}", out(o), err(o));
    assert_eq!(o.status.code(), Some(code), "{text}");
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

const SMALL: &str = "// %% [markdown]\n// # Small\n\n// %% Numbers\nlet x = tensor([1.0, 2.0]);\nprint(\"hello\");\n\n\
    // %%\nx * 2\n\n// %%\nplot::line([1.0, 3.0, 2.0]); plot::show();\n";

#[test]
fn a_notebook_is_made_and_runs_as_a_script_too() {
    let folder = Folder::new("made");
    ends(&folder.notebook(&["new", "first"]), 0, &["made first.rhai"]);
    assert_eq!(folder.read("first.rhai"), "// %% [markdown]\n// # first\n\n// %%\n");
    ends(&folder.notebook(&["new", "first.rhai"]), 2, &["exists already"]);
    ends(&folder.notebook(&["new", "second.ipynb"]), 0, &[]);
    assert_eq!(folder.json("second.ipynb")["nbformat_minor"], 5);
    ends(&folder.notebook(&["run", "first"]), 2, &["cannot read first"]);
    folder.write("small.rhai", SMALL);
    let o = program().args(["run", "small.rhai"]).current_dir(&folder.0).output().unwrap();
    ends(&o, 0, &["hello"]);
}

#[test]
fn a_notebooks_file_is_named_as_one() {
    let folder = Folder::new("named");
    for name in ["x.py", "x.txt"] {
        ends(&folder.notebook(&["new", name]), 2, &[name, ".rhai or .ipynb"]);
        folder.write(name, SMALL);
        ends(&folder.notebook(&["run", name]), 2, &[name, ".rhai or .ipynb"]);
    }
    folder.write("n.rhai", SMALL);
    ends(&folder.notebook(&["run", "n.rhai", "--output", "xx.txt"]), 2, &["xx.txt", ".rhai or .ipynb"]);
    assert_eq!(folder.names(), ["n.rhai", "x.py", "x.txt"]);
}

#[test]
fn runs_and_comparisons_take_arguments() {
    let folder = Folder::new("args");
    folder.write("n.rhai", "// %%\nprint(ARGS.len()); ARGS\n");
    ends(&folder.notebook(&["run", "n.rhai", "--", "a", "b"]), 0, &["ran 1 cell"]);
    assert!(folder.read("n.rhai.outputs.json").contains("[\\\"a\\\", \\\"b\\\"]"));
    ends(&folder.notebook(&["verify", "n.rhai", "--", "a", "b"]), 0, &["the same outputs"]);
    ends(&folder.notebook(&["verify", "n.rhai"]), 1, &["- 2", "+ 0"]);
}

#[test]
fn the_same_outputs_are_the_same_file() {
    let folder = Folder::new("same");
    folder.write("n.rhai", SMALL);
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &[]);
    let first = folder.read("n.rhai.outputs.json");
    assert!(first.contains("host_nanos"));
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &[]);
    assert_eq!(folder.read("n.rhai.outputs.json"), first);
}

#[test]
fn what_can_not_be_written_is_named() {
    let folder = Folder::new("unwritten");
    let long = format!("{}\nprint(\"{}\");\n", "// a line\n".repeat(200), "o".repeat(3000));
    folder.write("n.rhai", &long);
    let line = format!("ulimit -f 1; exec {} notebook run n.rhai", env!("CARGO_BIN_EXE_tensorlab"));
    let o = Command::new("bash").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
    ends(&o, 1, &["the notebook is saved, its outputs are not: cannot write", "n.rhai.outputs.json"]);
    assert_eq!(folder.read("n.rhai"), long);
}

#[test]
fn a_notebook_that_is_open_elsewhere_is_not_written_over() {
    let folder = Folder::new("open-elsewhere");
    folder.write("n.rhai", SMALL);
    folder.write("open.rhai", "// %%\n1\n");
    let holder = serde_json::json!({"pid": 7, "host": "elsewhere"}).to_string();
    folder.write(".open.rhai.lock", &holder);
    ends(&folder.notebook(&["convert", "--force", "n.rhai", "open.rhai"]), 1, &["is open in process 7"]);
    ends(&folder.notebook(&["run", "n.rhai", "--output", "open.rhai"]), 1, &["is open in process 7"]);
    assert_eq!(folder.read("open.rhai"), "// %%\n1\n");
}

#[test]
fn outputs_are_kept_beside_the_script_and_verified() {
    let folder = Folder::new("run");
    folder.write("n.rhai", SMALL);
    ends(&folder.notebook(&["verify", "n.rhai"]), 1, &["no outputs to compare with", "notebook run"]);
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &["ran 3 cells", "n.rhai.outputs.json"]);
    assert_eq!(folder.names(), ["n.rhai", "n.rhai.outputs.json"]);
    assert_eq!(folder.read("n.rhai"), SMALL, "the script is as it was typed");
    let outputs = folder.json("n.rhai.outputs.json");
    assert_eq!(outputs["cells"][1]["outputs"][0]["text"], "hello\n");
    assert_eq!(outputs["cells"][2]["outputs"][0]["data"]["text/plain"], "tensor([2., 4.])");
    ends(&folder.notebook(&["verify", "n.rhai"]), 0, &["3 cells give the same outputs"]);
    // A changed cell has no outputs any more; the others have.
    folder.write("n.rhai", &SMALL.replace("x * 2", "x * 3"));
    let o = folder.notebook(&["verify", "n.rhai"]);
    ends(&o, 1, &["cell 3", "+ tensor([3., 6.])", "1 of 3 cells"]);
    assert!(!out(&o).contains("cell 2"), "{}", out(&o));
    folder.write("n.rhai.outputs.json", "{\"format\":\"tensorlab-outputs\",\"ver");
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &["note: the outputs in", "damaged"]);
    ends(&folder.notebook(&["verify", "n.rhai"]), 0, &["same outputs"]);
}

#[test]
fn verify_tells_a_number_that_differs_from_a_time_that_does() {
    let folder = Folder::new("verify");
    folder.write("n.rhai", "// %%\nprint(\"took 12.5 ms\");\nprint(\"loss 0.5\");\n");
    ends(&folder.notebook(&["run", "n.rhai", "--output", "o.ipynb"]), 0, &["outputs are in o.ipynb"]);
    assert_eq!(folder.names(), ["n.rhai", "o.ipynb"]);
    let stored = folder.read("o.ipynb");
    folder.write("o.ipynb", &stored.replacen("\"took 12.5 ms\\n\"", "\"took 99 ms\\n\"", 1));
    ends(&folder.notebook(&["verify", "o.ipynb"]), 0, &["1 cell gives the same"]);
    folder.write("o.ipynb", &stored.replacen("\"loss 0.5\\n\"", "\"loss 0.25\\n\"", 1));
    ends(&folder.notebook(&["verify", "o.ipynb"]), 1, &["- loss 0.25", "+ loss 0.5", "took 12.5 ms"]);
    folder.write("o.ipynb", &stored.replacen("loss 0.5\\\");\"", "loss 0.75\\\");\"", 1));
    ends(&folder.notebook(&["verify", "o.ipynb"]), 1, &["cell 1, edited since it ran", "+ loss 0.75"]);
}

#[test]
fn an_error_ends_a_run_unless_it_is_allowed() {
    let folder = Folder::new("errors");
    folder.write("n.rhai", "// %%\nlet a = ones([2, 3]) @ ones([2, 3]);\n// %%\nprint(\"after\")\n");
    let o = folder.notebook(&["run", "n.rhai"]);
    ends(&o, 1, &["RuntimeError", "In [1]", "ran 1 cell, 1 failed"]);
    let stored = folder.json("n.rhai.outputs.json");
    assert_eq!(stored["cells"][0]["outputs"][0]["ename"], "RuntimeError");
    assert!(stored["cells"][1].get("outputs").is_none());
    ends(&folder.notebook(&["run", "n.rhai", "--allow-errors"]), 0, &["ran 2 cells, 1 failed"]);
    let stored = folder.json("n.rhai.outputs.json");
    assert_eq!(stored["cells"][1]["outputs"][0]["text"], "after\n");
    ends(&folder.notebook(&["verify", "n.rhai"]), 0, &["2 cells give the same"]);
    folder.write("m.rhai", "let x = zeros([1024, 1024, 1024], #{device: \"cuda\"});");
    ends(&folder.notebook(&["run", "m.rhai", "--devices", "sim:tiny"]), 3, &["CUDA out of memory"]);
    ends(&folder.notebook(&["run", "m.rhai", "--devices", "sim:t5"]), 2, &["t5"]);
}

#[test]
fn a_run_ends_on_time_and_keeps_what_it_has() {
    let folder = Folder::new("time");
    folder.write("n.rhai", "// %%\nprint(\"first\");\n// %%\nprint(\"begun\"); loop { }\n// %%\n1\n");
    let start = Instant::now();
    let o = folder.notebook(&["run", "n.rhai", "--timeout", "1.5"]);
    ends(&o, 124, &["TimeoutError", "ran 2 cells"]);
    assert!(start.elapsed() < Duration::from_secs(30));
    let stored = folder.json("n.rhai.outputs.json");
    assert_eq!(stored["cells"][0]["outputs"][0]["text"], "first\n");
    assert_eq!(stored["cells"][1]["outputs"][0]["text"], "begun\n");
    ends(&folder.notebook(&["run", "n.rhai", "--timeout=-1"]), 2, &["above 0"]);
    folder.write("d.rhai", "// %%\nfn f(x) { f(x + 1) + 1 }\nf(0)\n");
    ends(&folder.notebook(&["run", "d.rhai"]), 1, &["RecursionError"]);
}

#[test]
fn notebooks_go_to_jupyters_format_and_back() {
    let folder = Folder::new("convert");
    folder.write("n.rhai", SMALL);
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &[]);
    ends(&folder.notebook(&["convert", "n.rhai", "n.ipynb"]), 0, &["wrote n.ipynb (4 cells)"]);
    ends(&folder.notebook(&["convert", "n.rhai", "n.ipynb"]), 2, &["exists already", "--force"]);
    ends(&folder.notebook(&["convert", "n.rhai", "n.txt"]), 2, &[".rhai or .ipynb"]);
    ends(&folder.notebook(&["convert", "--force", "n.rhai", "n.rhai"]), 2, &["over itself"]);
    let ipynb = folder.json("n.ipynb");
    assert_eq!(ipynb["metadata"]["kernelspec"]["language"], "rhai");
    assert_eq!(ipynb["cells"][1]["metadata"]["title"], "Numbers");
    ends(&folder.notebook(&["convert", "n.ipynb", "back.rhai"]), 0, &[]);
    assert_eq!(folder.read("back.rhai"), SMALL);
    ends(&folder.notebook(&["convert", "back.rhai", "again.ipynb"]), 0, &[]);
    assert_eq!(folder.json("again.ipynb"), ipynb, "ids and metadata came back from beside the script");
    ends(&folder.notebook(&["verify", "again.ipynb"]), 0, &["same outputs"]);
}

#[test]
fn a_python_notebook_is_kept_and_not_run() {
    let folder = Folder::new("python");
    let cell = "{\"cell_type\": \"code\", \"metadata\": {}, \"source\": [\"import torch\\n\", \"torch.ones(2)\"], \
        \"outputs\": [], \"execution_count\": null}";
    let meta =
        "{\"kernelspec\": {\"name\": \"python3\", \"display_name\": \"Python 3\", \"language\": \"python\"}}";
    let text =
        format!("{{\"nbformat\": 4, \"nbformat_minor\": 2, \"metadata\": {meta}, \"cells\": [{cell}]}}");
    folder.write("p.ipynb", &text);
    ends(&folder.notebook(&["convert", "p.ipynb", "p.rhai"]), 0, &["note: its code is python"]);
    assert_eq!(folder.read("p.rhai"), "// %%\nimport torch\ntorch.ones(2)\n");
    ends(&folder.notebook(&["run", "p.ipynb"]), 2, &["is python, and tensorlab runs Rhai"]);
    ends(&folder.notebook(&["convert", "p.rhai", "q.ipynb"]), 0, &[]);
    assert_eq!(folder.json("q.ipynb")["metadata"]["kernelspec"]["language"], "python");
}

#[test]
fn what_is_no_notebook_is_a_usage_error() {
    let folder = Folder::new("wrong");
    folder.write("a.ipynb", "{\"cells\": [");
    folder.write("b.ipynb", "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"code\"}]}");
    fs::write(folder.0.join("c.rhai"), b"let x = 1;\n\xff\xfe").unwrap();
    fs::create_dir(folder.0.join("d.rhai")).unwrap();
    for (name, piece) in [
        ("a.ipynb", "no JSON"),
        ("b.ipynb", "cell 1: it has no `source`"),
        ("c.rhai", "line 2"),
        ("d.rhai", "a folder"),
        ("e.rhai", "No such file"),
    ] {
        for action in ["run", "verify"] {
            ends(&folder.notebook(&[action, name]), 2, &[name, piece]);
        }
        ends(&folder.notebook(&["export", name, "--html"]), 2, &[piece]);
        ends(&folder.notebook(&["convert", name, "out.ipynb"]), 2, &[piece]);
    }
    ends(&folder.notebook(&["run"]), 2, &["Usage"]);
    ends(&folder.notebook(&["run", "--help"]), 0, &["FILE.outputs.json"]);
}

#[test]
fn a_page_stands_alone() {
    let folder = Folder::new("page");
    folder.write(
        "n.rhai",
        &SMALL.replace("hello", "<script>alert(1)</script>").replace("# Small", "# <b onclick=x>"),
    );
    ends(&folder.notebook(&["run", "n.rhai"]), 0, &[]);
    ends(&folder.notebook(&["export", "n.rhai", "--html"]), 0, &["wrote n.html"]);
    let page = folder.read("n.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("default-src 'none'"));
    assert!(!page.contains("<script") && !page.contains("<b ") && page.contains("&lt;script&gt;alert(1)"));
    assert!(
        page.contains("tensor([2., 4.])")
            && page.contains("<img alt=\"figure: line of 3 values from 1 to 3, beginning at 1 and ending at 2\" src=\"data:image/svg+xml;base64,")
    );
    for outside in ["src=\"http", "url(", "@import", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    ends(&folder.notebook(&["export", "n.rhai", "--html", "p.htm"]), 0, &["wrote p.htm"]);
    assert_eq!(folder.read("p.htm"), page);
    ends(&folder.notebook(&["export", "n.rhai"]), 2, &["--html"]);
    ends(&folder.notebook(&["export", "n.rhai", "--html", "no/such/p.html"]), 1, &["cannot write"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_leaves_the_old_ones() {
    let folder = Folder::new("limit");
    folder.write("n.rhai", "// %%\nfor i in 0..2000 { print(`line ${i}`); }\n");
    folder.write("n.rhai.outputs.json", "{\"format\":\"tensorlab-outputs\",\"version\":1,\"cells\":[]}");
    let program = env!("CARGO_BIN_EXE_tensorlab");
    let line = format!("trap '' XFSZ; ulimit -f 8; exec {program} notebook run n.rhai");
    let o = Command::new("bash").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
    ends(&o, 1, &["the notebook is saved, its outputs are not", "n.rhai.outputs.json"]);
    assert_eq!(folder.names(), ["n.rhai", "n.rhai.outputs.json"], "nothing half written is left");
    assert!(folder.read("n.rhai.outputs.json").ends_with("\"cells\":[]}"));
}

/// Python's own words on what is written; skipped where its packages are missing.
#[test]
fn pythons_nbformat_and_nbconvert_take_what_is_written() {
    let python = std::env::var("TENSORLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", "import nbformat, nbconvert"]).output();
    if !has.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: {python} has no nbformat and nbconvert (TENSORLAB_PYTHON names another python)");
        return;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/check_notebooks.py");
    let program = env!("CARGO_BIN_EXE_tensorlab");
    let o = Command::new(python).arg(script).args(["--program", program]).output().unwrap();
    ends(&o, 0, &["notebooks agree"]);
}

mod bytes {
    //! Foreign bytes end in an error or a notebook, never in a panic, and soon.

    use proptest::prelude::*;
    use tensorlab::notebook::store::journal;
    use tensorlab::notebook::{Cell, Notebook, Output, html, ipynb, names, percent, sidecar};
    use tensorlab::session::protocol::Stream;

    fn sample() -> Notebook {
        let mut notebook =
            percent::parse("// %% T [md] a={\"b\":[1]}\n// # x\n// %%\nlet x = `a ${1}`;\n// %%\nx\n");
        let cell = &mut notebook.cells[1];
        cell.ran = Some(cell.hash());
        cell.outputs =
            vec![Output::stream(Stream::Stdout, "a\n"), Output::result("1", 1), Output::stopped("E", "m")];
        notebook
    }

    /// Everything that reads a file, on these bytes; what was read is written again.
    fn read_all(bytes: &[u8]) {
        if let Ok((notebook, _)) = ipynb::read(bytes) {
            let written = ipynb::write(&notebook);
            let (again, _) = ipynb::read(&written).unwrap();
            assert_eq!(ipynb::write(&again), written);
            html::export(&notebook, "t");
        }
        let mut notebook = sample();
        let _ = sidecar::read(&mut notebook, bytes);
        let _ = journal::replay(bytes);
        let text = String::from_utf8_lossy(bytes);
        let notebook = percent::parse(&text);
        assert_eq!(percent::write(&notebook), text);
        html::export(&notebook, "t");
        names::names(&text);
    }

    fn files() -> Vec<Vec<u8>> {
        let notebook = sample();
        let old = b"{\"nbformat\":3,\"worksheets\":[{\"cells\":[{\"cell_type\":\"code\",\"input\":[\"a\"],\"outputs\":[\
            {\"output_type\":\"pyout\",\"text\":[\"x\"]}]},{\"cell_type\":\"heading\",\"level\":9,\"source\":\"h\"}]}]}";
        vec![
            ipynb::write(&notebook),
            sidecar::write(&notebook).unwrap(),
            percent::write(&notebook).into_bytes(),
            old.to_vec(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read_all(&bytes);
        }

        #[test]
        fn changed_files(which in 0usize..4, cut in 0usize..3000, changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4)) {
            let mut bytes = files().swap_remove(which);
            bytes.truncate(cut);
            for (at, to) in changes {
                let length = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at % length) {
                    *byte = to;
                }
            }
            read_all(&bytes);
        }
    }

    #[test]
    fn a_large_notebook_is_read_and_written_at_once() {
        let mut notebook = Notebook::new(
            (0..500).map(|i| Cell::code(format!("let x{i} = x{} + 1;\nprint(x{i});", i.max(1) - 1))),
        );
        let text: String = (0..200).map(|i| format!("line {i} of the output\n")).collect();
        for cell in &mut notebook.cells {
            cell.ran = Some(cell.hash());
            cell.outputs = vec![Output::stream(Stream::Stdout, text.as_str())];
        }
        let start = std::time::Instant::now();
        let mut back = percent::parse(&percent::write(&notebook));
        assert_eq!(sidecar::read(&mut back, &sidecar::write(&notebook).unwrap()), Ok(0));
        assert_eq!(back.cells[499].outputs, notebook.cells[499].outputs);
        let (from_ipynb, _) = ipynb::read(&ipynb::write(&notebook)).unwrap();
        assert_eq!(from_ipynb.cells.len(), 500);
        // Without optimisation, and on a busy machine.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
