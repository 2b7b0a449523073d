//! Code from a pipe: results on standard output, mistakes on standard error, a status at the end.

use std::io::Write;
use std::process::{Output, Stdio};

use super::*;
use crate::feed;

fn pipe(folder: &Folder, arguments: &[&str], text: &str) -> Output {
    feed::run(program(folder).arg("repl").args(arguments), text)
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

#[test]
fn results_are_all_there_is_on_standard_output() {
    let folder = Folder::new("results");
    let o = pipe(&folder, &[], "print(1+1)\nlet x = 20\nx + 1\n_ * 2\nx;\n");
    assert_eq!((out(&o).as_str(), err(&o).as_str(), o.status.code()), ("2\n21\n42\n20\n", "", Some(0)));
    let empty = pipe(&folder, &[], "");
    assert_eq!((out(&empty).as_str(), err(&empty).as_str(), empty.status.code()), ("", "", Some(0)));
}

#[test]
fn code_over_several_lines_is_one_cell() {
    let folder = Folder::new("lines");
    let text = "fn f(a) {\n    if a > 1 {\n        \"more\"\n    }\n    else {\n        \"less\"\n    }\n}\nf(1)\n\
                if f(2) == \"more\" {\n    print(\"yes\");\n}\nelse {\n    print(\"no\");\n}\nlet y = 1 \\\n    + 2\ny\n\
                tensor([1.0, -1.0])\n    .relu()\n    .sum()\n";
    let o = pipe(&folder, &[], text);
    assert_eq!((out(&o).as_str(), err(&o).as_str()), ("\"less\"\nyes\n3\ntensor(1.)\n", ""));
}

#[test]
fn mistakes_go_to_standard_error_with_a_caret_and_the_rest_still_runs() {
    let folder = Folder::new("mistakes");
    let o = pipe(&folder, &[], "let a = 1\nones([2]) + ones([3])\na\nlet = 3\n(1 +");
    assert_eq!((out(&o).as_str(), o.status.code()), ("1\n", Some(1)));
    let told = err(&o);
    for piece in ["The size of tensor a (2)", "In [2]:1:", "          ^", "hint:", "SyntaxError", "In [5]"] {
        assert!(told.contains(piece), "{piece:?} is missing in:\n{told}");
    }
    assert!(!told.contains('\x1b') && !told.contains("panicked"), "{told}");
    let o = pipe(&folder, &["--devices", "sim:t5"], "1");
    assert_eq!((o.status.code(), out(&o).as_str()), (Some(2), ""));
    assert!(err(&o).contains("t5"));
}

#[test]
fn output_in_a_pipe_is_neither_cut_nor_changed() {
    let folder = Folder::new("whole");
    let o = pipe(&folder, &[], "for i in 0..3000 { print(i); }\nprint(\"\\x1b[31mred\")\n");
    assert_eq!(out(&o).lines().count(), 3001);
    assert_eq!(out(&o).lines().last(), Some("\x1b[31mred"));
}

#[test]
fn commands_answer() {
    let folder = Folder::new("commands");
    let text = "let big = ones([256, 256]).cuda()\n:vars\n:devices\n:mem\n:time big @ big;\n:timeit ones([2, 2]).sum();\n\
                :complete big.matm\n:help matmul\nsoftmax?\n:reset\n:vars\n";
    let o = pipe(&folder, &["--devices", "sim:t4x2"], text);
    let said = out(&o);
    for piece in [
        "big   Tensor  [256, 256] float32 cuda:0",
        "cuda:1  ",
        "(simulated)",
        "cuda:0: 256.0 KiB allocated",
        "measured on this computer",
        "modelled on the simulated machine",
        "modelled; it is the same each time, and was taken once",
        "matmul(input, other)",
        "> ",
        "softmax(input",
        "every variable is forgotten",
        "there are no variables",
    ] {
        assert!(said.contains(piece), "{piece:?} is missing in:\n{said}{}", err(&o));
    }
    assert_eq!((err(&o).as_str(), o.status.code()), ("", Some(0)));
}

#[test]
fn commands_of_other_prompts_are_told_of_those_here() {
    let folder = Folder::new("elsewhere");
    for (line, own) in [("%time 1 + 1", "`:time CODE`"), ("%who", "`:vars`"), ("quit()", "`:quit`")] {
        let o = pipe(&folder, &[], &format!("{line}\n"));
        assert!(err(&o).contains(own) && o.status.code() != Some(0), "{line}: {}", err(&o));
    }
}

/// Variables are told by what they are, not by the names of types within the program, and nothing waits for that.
#[test]
fn variables_are_told_by_what_they_are() {
    let folder = Folder::new("variables");
    let text = "let net = nn::Sequential(nn::Linear(2, 1), nn::ReLU());\nlet all = #{net: nn::ReLU(), x: ones(2).cuda(), k: [1.0, ()]};\n\
                let f = |x| x;\nlet words = \"two  blanks\";\nlet xs = list(0..100);\nlet o = optim::SGD(net.parameters(), 0.1);\n:vars\n";
    let o = pipe(&folder, &["--devices", "sim:t4"], text);
    let said = out(&o);
    for piece in [
        "Sequential( (0): Linear(in_features=2, out_features=1, bias…",
        "#{k: [1.0, ()], net: ReLU(), x: [2] float32 cuda:0}",
        "a closure",
        "\"two  blanks\"",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …]",
        "SGD ( Parameter Group 0 dampening: 0 foreach: None fused: N…",
    ] {
        assert!(said.contains(piece), "{piece:?} is missing in:\n{said}{}", err(&o));
    }
    assert!(!said.contains("tensorlab::"), "{said}");
}

#[test]
fn what_a_variable_has_under_a_name_is_described() {
    let folder = Folder::new("parts");
    let text = "let net = nn::Linear(2, 1); let m = #{a: #{b: 3}};\nnet.weight?\n?m.a.b\nm.a.zz?\nnone.weight?\nnet.forward?\n";
    let o = pipe(&folder, &[], text);
    let said = out(&o);
    for piece in [
        "net.weight: a part of a variable of the session\n\ntype           Tensor\nshape          [1, 2]",
        "m.a.b: a part of a variable of the session\n\ntype           int\nvalue          3",
        "there is no help on 'm.a.zz'",
        "there is no help on 'none.weight'",
        "net.forward(inputs…)",
    ] {
        assert!(said.contains(piece), "{piece:?} is missing in:\n{said}{}", err(&o));
    }
}

#[test]
fn a_session_begins_anew_on_other_devices_and_stays_on_them() {
    let folder = Folder::new("elsewhere");
    let o = pipe(
        &folder,
        &[],
        "let x = 1\n:restart sim:t4x2\ncuda::device_count()\n:restart\ncuda::device_count()\n:restart cpu\n\
         cuda::device_count()\n:restart nothing\ncuda::device_count()\nx\n",
    );
    let counts: Vec<&str> =
        std::str::from_utf8(&o.stdout).unwrap().lines().filter(|l| l.len() == 1).collect();
    assert_eq!(counts, ["2", "2", "0", "0"]);
    assert!(err(&o).contains("`nothing`") && err(&o).contains("name 'x' is not defined"), "{}", err(&o));
}

#[test]
fn bad_commands_say_what_was_meant() {
    let folder = Folder::new("bad");
    let o = pipe(
        &folder,
        &[],
        ":vrs\n:load\n:load no/such.rhai\n:help matmull\n:restart sim:t9\n:timeit nothing\n1\n",
    );
    let told = err(&o);
    for piece in [
        "there is no command `:vrs`; did you mean `:vars`?",
        "`:load` needs more: `:load FILE`",
        "cannot read no/such.rhai",
        "did you mean matmul?",
        "there is no device profile `t9`; did you mean `t4`?",
        "name 'nothing' is not defined",
        "--> In [1]:1:1",
    ] {
        assert!(told.contains(piece), "{piece:?} is missing in:\n{told}");
    }
    assert!(!told.contains("line 0") && !told.contains(":0\n"), "{told}");
    assert_eq!((out(&o).as_str(), o.status.code()), ("1\n", Some(1)));
}

#[test]
fn what_is_saved_can_be_loaded_and_names_its_lines() {
    let folder = Folder::new("files");
    let o = pipe(
        &folder,
        &[],
        "let a = 2\nlet wrong = b\nfn f(x) {\n    x * 3\n}\n:save kept.rhai\n:save kept.rhai\n",
    );
    assert!(out(&o).contains("kept.rhai: 2 cells; 1 that failed left out"), "{}{}", out(&o), err(&o));
    let text = std::fs::read_to_string(folder.file("kept.rhai")).unwrap();
    assert_eq!(text, "// %%\nlet a = 2\n\n// %%\nfn f(x) {\n    x * 3\n}\n");
    let o = pipe(&folder, &[], ":load kept.rhai\nf(a)\n:save kept.rhai\n:save! kept.rhai\n");
    assert!(out(&o).starts_with("6\n"), "{}{}", out(&o), err(&o));
    assert!(err(&o).contains("`:save! kept.rhai` replaces it"), "{}", err(&o));
    std::fs::write(folder.file("wrong.rhai"), "let a = 1;\n// %%\n\nlet b = 2;\nlet c = d;\n").unwrap();
    let o = pipe(&folder, &[], ":load wrong.rhai\nprint(b)\n");
    assert!(err(&o).contains(":5:9") && err(&o).contains("let c = d;"), "{}", err(&o));
    assert_eq!(out(&o), "2\n", "what ran before the mistake stays");
}

#[test]
fn traces_and_snapshots_are_written() {
    let folder = Folder::new("traces");
    let text = "let x = ones([64, 64]).cuda(); (x @ x).sum().item()\n:trace t.json\n:lines t.jsonl\n:memsnap m.pickle\n:trace no/such/folder.json\n";
    let o = pipe(&folder, &["--devices", "sim:t4"], text);
    let trace = std::fs::read(folder.file("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|e| e["cat"] == "memcpy" && e["args"]["clock"] == "modelled"), "{events:?}");
    let lines = std::fs::read_to_string(folder.file("t.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    crate::telemetry::check_lines(&lines);
    assert!(lines.iter().any(|e| e["event"] == "cell_end" && e["cell"] == 1 && e["ok"] == true), "{lines:?}");
    assert!(std::fs::read(folder.file("m.pickle")).unwrap().starts_with(&[0x80]));
    let again = pipe(&folder, &[], "1\n:trace t.json\n:memsnap m.pickle\n:lines .\n:help :trace\n");
    for told in ["`:trace! t.json` replaces it", "`:memsnap! m.pickle` replaces it", ". is a folder"] {
        assert!(err(&again).contains(told), "{}", err(&again));
    }
    assert!(out(&again).contains(":trace FILE  write what happened"), "{}", out(&again));
    let over = pipe(&folder, &[], "1\n:trace! t.json\n:trace t.json\n");
    assert_eq!(out(&over).matches("t.json: ").count(), 2, "{}{}", out(&over), err(&over));
    assert!(
        out(&o).contains("t.json: ") && err(&o).contains("cannot write no/such/folder.json"),
        "{}",
        err(&o)
    );
    assert_eq!(o.status.code(), Some(1));
}

#[test]
fn figures_are_text_and_progress_is_a_line() {
    let folder = Folder::new("figures");
    let text = "plot::line([1.0, 4.0, 9.0], #{title: \"squares\"});\nplot::show()\nfor i in progress(0..4, \"steps\") { }\n";
    let o = pipe(&folder, &[], text);
    assert!(out(&o).contains("squares") && out(&o).lines().count() > 10, "{}", out(&o));
    assert!(err(&o).starts_with("steps: 4 done in "), "{}", err(&o));
    assert!(!out(&o).contains('\x1b'));
}

/// A front end in another program writes a line, reads its answer, and only then writes the next.
#[test]
fn each_line_is_answered_before_the_next_is_read() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new("answers");
    let mut command = program(&folder);
    let mut child = command.arg("repl").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (line, answer) in
        [("1 + 1", "2"), ("if _ == 2 { \"two\" }", "\"two\""), ("let x = [1,", ""), ("2]; x", "[1, 2]")]
    {
        writeln!(input, "{line}").unwrap();
        if !answer.is_empty() {
            assert_eq!(answers.next().unwrap().unwrap(), answer);
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_pipe_and_a_reader_that_goes_ends_it_quietly() {
    let folder = Folder::new("signals");
    let mut command = program(&folder);
    command.arg("repl").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"print(\"runs\")\nloop { }\n").unwrap();
    let mut first = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let o = child.wait_with_output().unwrap();
    assert_eq!(o.status.code(), Some(130), "{}", err(&o));
    assert!(err(&o).contains("interrupted"), "{}", err(&o));
    drop(input);

    let line = format!("yes 'print(1)' | head -2000 | {} repl | head -1", env!("CARGO_BIN_EXE_tensorlab"));
    let o = Command::new("bash").args(["-c", &format!("set -o pipefail; {line}")]).output().unwrap();
    assert_eq!(out(&o), "1\n");
    assert!(!err(&o).contains("panicked") && !err(&o).contains("error"), "{}", err(&o));
}

#[test]
fn display_shows_a_value_as_what_suits_it() {
    let folder = Folder::new("display");
    let text = "display(3)\ndisplay([1, 2])\ndisplay(tensor([1.0, 2.0]))\ndisplay(ones([4, 5]))\n\
                display(rand([3, 8, 8]))\ndisplay(ones([4, 5]), #{kind: \"text\"})\n\
                display(randn([100]), #{kind: \"hist\"})\nplot::line([1.0, 2.0], #{title: \"the value\"})\n";
    let o = pipe(&folder, &[], text);
    let shown = out(&o);
    for piece in [
        "3\n[1, 2]\ntensor([1., 2.])\n",
        "float32 [4, 5] on cpu",
        "float32 [3, 8, 8] on cpu",
        "tensor([[1., 1., 1., 1., 1.],",
        "float32 [100] on cpu",
        "the value",
    ] {
        assert!(shown.contains(piece), "{piece:?} is missing in:\n{shown}{}", err(&o));
    }
    assert_eq!((err(&o).as_str(), o.status.code()), ("", Some(0)));
    let text = "display(ones([2, 2]), #{kind: \"imgae\"})\ndisplay(1, #{ide: \"x\"})\ndisplay(1, #{kind: \"image\"})\n\
                display(1, #{id: 2})\nplot::line([1.0]); plot::show(#{kind: \"text\"})\n";
    let told = err(&pipe(&folder, &[], text));
    for piece in [
        "did you mean `image`?",
        "did you mean `id`?",
        "only a Tensor is shown as 'image'",
        "'id' must be a string, not 2",
        "plot::show() got an unknown option 'kind'",
    ] {
        assert!(told.contains(piece), "{piece:?} is missing in:\n{told}");
    }
}

#[test]
fn what_is_redrawn_on_a_screen_is_shown_once_in_a_pipe() {
    let folder = Folder::new("live");
    let text = "let losses = [];\nfor i in 0..50 {\n    losses.push(1.0 / (i + 1));\n    \
                plot::line(losses, #{title: `epoch ${i}`});\n    plot::show(#{id: \"loss\"});\n    \
                display(`at ${i}`, #{id: \"status\"});\n}\n";
    let o = pipe(&folder, &[], text);
    let shown = out(&o);
    assert!(shown.contains("epoch 49") && shown.ends_with("at 49\n"), "{shown}{}", err(&o));
    assert!(!shown.contains("epoch 48") && !shown.contains("at 48"), "{shown}");
    let script = folder.file("live.rhai");
    std::fs::write(&script, text).unwrap();
    let o = program(&folder).args(["run", &script]).stdin(Stdio::null()).output().unwrap();
    assert!(out(&o).contains("epoch 49") && !out(&o).contains("epoch 48"), "{}{}", out(&o), err(&o));
}
