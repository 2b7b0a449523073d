//! Lessons that are run: their limits hold, every attempt begins in the same state, and answers that nobody wrote are
//! judged right.

mod going_on;
mod walks;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tensorlab::lesson::order;

/// A lesson's file in a folder of its own, removed at the end.
struct Lesson(PathBuf);

impl Lesson {
    fn new(name: &str, front: &str, body: &str) -> Lesson {
        let folder = std::env::temp_dir().join(format!("tensorlab-lessons-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let head = "id = \"l\"\ntitle = \"L\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n";
        let text = format!("+++\n{head}{front}\n+++\n\n# L\n\n{body}");
        std::fs::write(folder.join("l.md"), text).unwrap();
        Lesson(folder)
    }

    /// The problems that running all of it shows.
    fn problems(&self, devices: &str) -> Vec<String> {
        let told = |problem: &Value| {
            let answer = problem["answer"].as_str().map_or(String::new(), |code| format!("\n{code}"));
            format!("{}{answer}", problem["message"].as_str().unwrap())
        };
        self.found(devices).iter().map(told).collect()
    }

    fn found(&self, devices: &str) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["lesson", "verify", "l.md", "--json", "--devices", devices]).current_dir(&self.0);
        let output = command.env_remove("TENSORLAB_DEVICES").output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
        told["reports"][0]["problems"].as_array().unwrap().clone()
    }

    /// The line of the file that says this and nothing else.
    fn line_of(&self, text: &str) -> usize {
        let lesson = std::fs::read_to_string(self.0.join("l.md")).unwrap();
        lesson.lines().position(|line| line == text).unwrap() + 1
    }
}

impl Lesson {
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(arguments).current_dir(&self.0).env_remove("TENSORLAB_DEVICES").env("NO_COLOR", "1");
        command.env("HOME", &self.0).env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME");
        command
    }

    /// The numbers under which the wrong and the right choice of the quiz are shown to this learner.
    fn choices(&self) -> (usize, usize) {
        let seed = order::seed(&self.0.join(".local/share/tensorlab").to_string_lossy());
        let shown = order::order(2, "q", seed);
        (
            shown.iter().position(|&place| place == 0).unwrap() + 1,
            shown.iter().position(|&place| place == 1).unwrap() + 1,
        )
    }

    /// A walk through it at the prompt, with these lines typed; what was said on standard output and on standard error,
    /// and the exit status.
    fn walk_apart(&self, devices: &str, typed: &str) -> ([String; 2], Option<i32>) {
        let mut command = self.program(&["lesson", "start", "l.md", "--plain", "--devices", devices]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
        (said, output.status.code())
    }

    /// The same with both in one.
    fn walk(&self, devices: &str, typed: &str) -> (String, Option<i32>) {
        let (said, code) = self.walk_apart(devices, typed);
        (said.concat(), code)
    }
}

impl Drop for Lesson {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn block(kind: &str, code: &str) -> String {
    format!("```rhai {kind}\n{code}\n```\n\n")
}

fn exercise(starter: &str, check: &str, solution: &str, wrong: &[(&str, &str)]) -> String {
    let mut body = block("exercise id=\"e\" points=1", starter);
    body += &block("check", check);
    body += &block("solution", solution);
    for (because, code) in wrong {
        body += &block(&format!("wrong because=\"{because}\""), code);
    }
    body + "```hint\nThink.\n```\n"
}

#[test]
fn the_lesson_of_the_authors_page_is_a_good_one() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lessons.md")).unwrap();
    let text = page.split("````markdown\n").nth(1).and_then(|rest| rest.split("````").next()).unwrap();
    let lesson = Lesson::new("page", "", "");
    std::fs::write(lesson.0.join("l.md"), text).unwrap();
    assert_eq!(lesson.problems("sim:t4"), [""; 0]);
}

const SIM: &str = "devices = [\"sim:t4x2\"]";

#[test]
fn each_limit_of_a_lesson_ends_what_goes_past_it() {
    let front = format!(
        "{SIM}\n[limits]\ntime = \"1 s\"\nhost_memory = \"8 MiB\"\ndevice_memory = \"16 MiB\"\noutput = \"1 KiB\"\nfigures = 1"
    );
    let check = "expect_equal(y, 3);";
    let wrong = [
        ("longer than the 1 s", "while true {}"),
        ("more than the 1.0 KiB of text", "for i in 0..1000 { print(\"so much text\"); }\nlet y = 3;"),
        ("more than the 1 figure", "for i in 0..2 { plot::line([1.0, 2.0]); plot::show(); }\nlet y = 3;"),
        (
            "8.00 MiB are allowed",
            "let all = [];\nfor i in 0..3 { all.push(ones([1024, 1024])); }\nlet y = 3;",
        ),
        ("allowed", "let x = zeros([8388608], #{device: \"cuda\"});\nlet y = 3;"),
        (
            "16.00 MiB allowed",
            "cuda::set_per_process_memory_fraction(1.0);\nlet x = zeros([8388608], #{device: \"cuda\"});\nlet y = 3;",
        ),
    ];
    let body = exercise("let y = 0;", check, "let y = 1 + 2;", &wrong);
    assert_eq!(Lesson::new("limits", &front, &body).problems("sim:t4x2"), Vec::<String>::new());
}

#[test]
fn text_that_is_shown_counts_as_text_that_is_printed_and_so_does_the_last_value() {
    let front = "devices = [\"cpu\"]\n[limits]\noutput = \"1 KiB\"";
    for (name, code) in [
        ("shown", "let t = \"\"; t.pad(200, 'x');\nfor i in 0..10 { display(t) }\nlet y = 3;"),
        ("value", "let y = 3;\nlet t = \"\"; t.pad(2000, 'x');\nt"),
    ] {
        let wrong = [("more than the 1.0 KiB of text", code)];
        let body = exercise("let y = 0;", "expect_equal(y, 3);", "let y = 1 + 2;", &wrong);
        assert_eq!(Lesson::new(name, front, &body).problems("cpu"), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn memory_that_is_given_back_counts_no_more() {
    let front = "devices = [\"cpu\"]\n[limits]\nhost_memory = \"8 MiB\"";
    let solution = "let y = 0;\nfor i in 0..20 { let x = ones([1024, 1024]); y += 1; }";
    let body = exercise("let y = 0;", "expect_equal(y, 20);", solution, &[("expected 20", "let y = 1;")]);
    assert_eq!(Lesson::new("given-back", front, &body).problems("cpu"), Vec::<String>::new());
}

#[test]
fn a_check_that_takes_too_long_is_the_lessons_fault_and_a_called_answer_the_learners() {
    let front = "devices = [\"cpu\"]\n[limits]\ntime = \"1 s\"";
    let body = exercise(
        "let y = 0;",
        "while y == 3 {}\nexpect_equal(y, 4);",
        "let y = 4;",
        &[("expected 4", "let y = 3;")],
    );
    let problems = Lesson::new("slow-check", front, &body).problems("cpu");
    assert!(
        problems.iter().any(|p| p.contains("expected 4") && p.contains("the check ran longer than 1 s")),
        "{problems:?}"
    );
    let check = "expect_equal(call(\"f\", [2]), 4);";
    let wrong = [("longer than the 1 s", "fn f(x) { while true {} }"), ("expected 4", "fn f(x) { x }")];
    let body = exercise("fn f(x) { 0 }", check, "fn f(x) { 2 * x }", &wrong);
    assert_eq!(Lesson::new("slow-answer", front, &body).problems("cpu"), Vec::<String>::new());
}

#[test]
fn an_exercise_that_asks_for_an_error_can_be_followed_by_others() {
    let task = |id: &str, starter: &str, check: &str, solution: &str, because: &str, wrong: &str| {
        exercise(starter, check, solution, &[(because, wrong)]).replace("id=\"e\"", &format!("id=\"{id}\""))
    };
    let check = "expect_error(\"RuntimeError\");";
    let body = task(
        "mixed",
        "let x = 1;",
        check,
        "let kept = 2;\nones([2]) + ones([2]).cuda();",
        "expected",
        "let kept = 2;",
    ) + task(
        "after",
        "let y = 0;",
        "expect_equal(y, 3);",
        "let y = kept + 1;",
        "expected 3",
        "let y = 1;",
    )
    .as_str();
    assert_eq!(Lesson::new("error", SIM, &body).problems("sim:t4x2"), Vec::<String>::new());
}

#[test]
fn what_a_machine_lacks_is_said() {
    let front = format!("{SIM}\n[requires]\ngpus = 2\ndevice_memory = \"1 GiB\"");
    let lesson = Lesson::new("lacking", &front, &block("run", "let x = 1;"));
    assert_eq!(lesson.problems("sim:t4x2"), Vec::<String>::new());
    let said = |devices| lesson.problems(devices).join("; ");
    assert_eq!(said("cpu"), "the lesson needs 2 GPUs with 1,024 MiB of memory, and this machine has none");
    assert_eq!(said("sim:t4"), "the lesson needs 2 GPUs with 1,024 MiB of memory, and this machine has 1");
    assert_eq!(
        said("sim:tinyx2"),
        "the lesson needs 2 GPUs with 1,024 MiB of memory, and none of its 2 has as much"
    );
}

#[test]
fn nothing_of_an_earlier_attempt_is_left_for_the_next() {
    // Each line is something that an attempt leaves behind, and that the check would see.
    let leaves = "let whole = zeros([4194304], #{device: \"cuda\"});\nx.add_(1.0);\nlet drawn = rand([3]);\n\
        set_grad_enabled(false);\ncuda::set_device(1);\nmanual_seed(7);\nfn helper() { 1 }\n\
        cuda::matmul_allow_tf32(true);\nlet held = [];\nfor i in 0..4 { held.push(ones([1024], #{device: \"cuda\"})); }\nlet ok = false;";
    let leaves = leaves.replace("cuda::matmul_allow_tf32(true);\n", "");
    let solution = "let now = #{x: x.sum().item(), drawn: rand([1]).item(), grad: is_grad_enabled(),\n\
        dtype: `${ones([1]).dtype}`, device: cuda::current_device(), held: cuda::memory_allocated(),\n\
        reserved: cuda::memory_reserved(), peak: cuda::max_memory_allocated()};\nlet ok = now == seen;";
    let before = "let x = ones([4]);\nlet seen = #{x: x.sum().item(), drawn: (|| { let d = rand([1]).item(); d }).call(), grad: true,\n\
        dtype: \"torch.float32\", device: 0, held: 0, reserved: 0, peak: 0};\nmanual_seed(0);\nseen.drawn = rand([1]).item();\nmanual_seed(0);";
    let check = "expect(ok, `something was left: ${now} is not ${seen}`);";
    let wrong =
        [("something was left", "let now = 1;\nlet ok = false;"), ("does not define", leaves.as_str())];
    let body =
        block("run", before) + exercise("let ok = false; let now = 0;", check, solution, &wrong).as_str();
    let problems = Lesson::new("left", SIM, &body).problems("sim:t4x2");
    let problems: Vec<&String> = problems.iter().filter(|p| !p.contains("NaN of the right shape")).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_weak_check_is_shown_the_answer_that_slips_through() {
    let front = "devices = [\"sim:t4\"]";
    // Whatever the values are.
    let body = exercise(
        "let y = 0;",
        "expect_device(y, \"cuda:0\");\nexpect_equal(y.shape, [2]);",
        "let y = ones([2], #{device: \"cuda\"}) * 3.0;",
        &[("shape", "let y = ones([3], #{device: \"cuda\"});")],
    );
    let problems = Lesson::new("nan", front, &body.replace("because=\"shape\"", "because=\"expected\""))
        .problems("sim:t4");
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].starts_with("NaN of the right shape in place of the answer must fail, but passes\n"));
    assert!(problems[0].contains("y = spoilt_value(y);"), "{problems:#?}");
    // Whatever lies in a map, or comes of a function or a closure.
    let near =
        |got: &str, is: &str| format!("expect(!(({got} - {is}).abs().sum().item() > 0.001), \"far\");");
    for (check, solution, wrong, spoilt) in [
        (
            near("m.a", "3.0"),
            "let m = #{a: ones([2]) * 3.0, n: 1};",
            "let m = #{a: ones([2])};",
            "m = spoilt_value(m);",
        ),
        (
            near("call(\"twice\", [ones([2])])", "2.0"),
            "fn twice(x) { x * 2.0 }",
            "fn twice(x) { x }",
            "fn twice(x) { spoilt_result(twice_as_it_is(x)) }",
        ),
        (
            near("call(halved, [ones([2])])", "0.5"),
            "let halved = |x| x / 2.0;",
            "let halved = |x| x;",
            "let halved = |x| spoilt_result((|x| x / 2.0).call(x));",
        ),
    ] {
        let body = exercise("let y = 0;", &check, solution, &[("far", wrong)]);
        let problems = Lesson::new("spoilt", front, &body).problems("sim:t4");
        assert_eq!(problems.len(), 1, "{check}: {problems:#?}");
        assert!(problems[0].starts_with("NaN of the right shape in place of"), "{problems:#?}");
        assert!(
            problems[0].contains("must fail, but passes\n") && problems[0].contains(spoilt),
            "{problems:#?}"
        );
        // A check that NaN does not slip through is fine.
        let strict = check.replace("!((", "((").replace("> 0.001", "< 0.001");
        let body = exercise("let y = 0;", &strict, solution, &[("far", wrong)]);
        assert_eq!(Lesson::new("strict-nan", front, &body).problems("sim:t4"), [""; 0], "{strict}");
    }
    let body = exercise(
        "let y = 0;",
        "expect_equal(call(\"count\", [[1, 2]]), 2);",
        "fn count(all) { all.len() }",
        &[("expected 2", "fn count(all) { 3 }")],
    );
    assert_eq!(Lesson::new("whole", front, &body).problems("sim:t4"), [""; 0], "what has no NaN is let be");
    // Whatever the code does not do.
    let check = "expect(events.h2d.count <= 1, \"too many copies\");";
    let twice = "let a = ones([2]).cuda();\nlet b = ones([2]).cuda();";
    let body = exercise(
        twice,
        check,
        "let a = ones([2]).cuda();",
        &[("too many copies", "for i in 0..3 { ones([2]).cuda(); }")],
    );
    let problems = Lesson::new("empty", front, &body).problems("sim:t4");
    let of = |what: &str| problems.iter().any(|p| p.starts_with(what) && p.contains("must fail, but passes"));
    assert!(of("the empty cell") && of("the solution behind `exit()`"), "{problems:#?}");
    // What is more than the task.
    let check = "expect_equal(y, 3);\nexpect(events.launches == 0, \"launches\");\nexpect(type_of(y_of_mine) == \"()\", \"\");";
    let body = exercise("let y = 0;", check, "let y = 3;", &[("expected 3", "let y = 2;")]);
    let problems = Lesson::new("strict", front, &body).problems("sim:t4");
    assert!(problems.iter().any(|p| p.contains("the solution does not pass")), "{problems:#?}");
}

#[test]
fn an_author_is_told_which_names_an_exercise_changes() {
    let front = "devices = [\"cpu\"]";
    let setup = "```rhai hidden\nlet x = ones(2);\nlet net = nn::Linear(2, 1);\nlet opt = optim::SGD(net.parameters(), 0.1);\nlet m = #{n: 1};\n```\n\n";
    let train = exercise(
        "let l = -200.0;",
        "expect(l > net.forward(x).sum().item(), \"not trained\");\nexpect_equal(opt.param_groups.len(), 1);\nexpect_equal(m.n, 1);",
        "let s = net.forward(x).sum();\nlet l = s.item();\ns.backward();\nopt.step();",
        &[("not trained", "let l = -100.0;")],
    );
    let of = |id: &str, body: &str| Lesson::new(id, front, &format!("{setup}{body}")).problems("cpu");
    let with = |body: &str, names: &str| body.replace("points=1", &format!("points=1 changes = {names}"));
    let problems = of("changes", &train);
    let advised = |p: &String, names: &str| p.contains(&format!("write `exercise changes = {names}`"));
    assert!(problems.iter().any(|p| advised(p, "[\"net\", \"opt\"]")), "{problems:#?}");
    assert_eq!(of("advised", &with(&train, "[\"net\", \"opt\"]")), [""; 0]);
    let problems = of("needless", &with(&train, "[\"net\", \"opt\", \"m\"]"));
    assert!(
        problems.len() == 1
            && problems[0].starts_with("`changes` names `m`, which the solution leaves as it is"),
        "{problems:#?}"
    );
    let field = exercise("let y = 0;", "expect_equal(m.n, 5);", "m.n = 5;", &[("expected 5", "m.n = 4;")]);
    let problems = of("field", &field);
    assert!(problems.iter().any(|p| advised(p, "[\"m\"]")), "{problems:#?}");
    assert_eq!(of("named", &with(&field, "[\"m\"]")), [""; 0]);
    let plain = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[("expected 2", "let y = 3;")]);
    assert_eq!(of("nothing", &with(&plain, "[]")), [""; 0]);
}

#[test]
fn answers_that_are_nan_and_names_that_are_asked_for_alarm_nobody() {
    let front = "devices = [\"cpu\"]";
    for (check, solution) in [
        ("expect(y.isnan().all().item(), \"numbers\");", "let y = tensor([0.0]) / 0.0;"),
        ("expect(y.is_nan(), \"numbers\");", "let y = 0.0 / 0.0;"),
        ("expect_equal(y, 1);", "let q = 1;\nlet y = if is_def_var(\"q\") { 1 } else { 2 };"),
    ] {
        let because = if check.contains("numbers") { "numbers" } else { "expected 1" };
        let wrong = if check.contains("all()") { "let y = ones(1);" } else { "let y = 2.0;" };
        let body = exercise("let y = 0;", check, solution, &[(because, wrong)]);
        let problems = Lesson::new("nan-answer", front, &body).problems("cpu");
        let problems: Vec<_> = problems.iter().filter(|p| !p.contains("starter")).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

#[test]
fn nan_stands_in_wherever_an_answer_has_numbers() {
    let front = "devices = [\"sim:t4\"]";
    let weak = |got: &str| format!("if ({got} - 2.0).abs() > 0.001 {{ expect(false, \"off\"); }}");
    for (got, solution, wrong) in [
        ("C", "const C = 2.0;", "const C = 3.0;"),
        ("call(f, [1.0])", "const f = |x| x * 2.0;", "const f = |x| x;"),
        ("call(fs[0], [1.0])", "let fs = [|x| x * 2.0];", "let fs = [|x| x];"),
        ("call(fs.d, [1.0])", "let fs = #{d: |x| x * 2.0};", "let fs = #{d: |x| x};"),
        ("call(call(\"make\", []), [1.0])", "fn make() { |x| x * 2.0 }", "fn make() { |x| x }"),
        ("call(f, [1.0])", "fn dbl(x) { x * 2.0 } let f = dbl;", "let f = |x| x;"),
        ("call(f, [1.0])", "let f = (); f = |x| x * 2.0;", "let f = |x| x;"),
        (
            "call(net, [ones(1)]).item()",
            "let net = nn::module(#{}, |m, x| x * 2.0);",
            "let net = nn::module(#{}, |m, x| x);",
        ),
        ("ds[0]", "let ds = data::Dataset(2, |i| i + 2.0);", "let ds = data::Dataset(2, |i| i + 1.0);"),
    ] {
        let body = exercise("let y = 0;", &weak(got), solution, &[("off", wrong)]);
        let problems = Lesson::new("weak-nan", front, &body).problems("sim:t4");
        let slips =
            |p: &String| p.starts_with("NaN of the right shape") && p.contains("must fail, but passes");
        assert!(!problems.is_empty() && problems.iter().all(slips), "{solution}: {problems:#?}");
        let strict = format!("expect_close({got}, 2.0);");
        let body = exercise("let y = 0;", &strict, solution, &[("largest difference", wrong)]);
        assert_eq!(Lesson::new("strict-nan", front, &body).problems("sim:t4"), [""; 0], "{solution}");
    }
    let net = "let net = nn::Linear(1, 1); net.forward(ones([1, 1])).sum().backward();";
    let check = "expect_close(net.weight.grad, ones([1, 1]));";
    let wrong =
        [("largest difference", "let net = nn::Linear(1, 1); net.forward(zeros([1, 1])).sum().backward();")];
    let body = exercise("let y = 0;", check, net, &wrong);
    assert_eq!(Lesson::new("grads", front, &body).problems("sim:t4"), [""; 0]);
}

#[test]
fn every_solution_of_an_open_task_passes() {
    let front = "devices = [\"cpu\"]";
    let body = exercise(
        "let y = 0;",
        "expect(y % 2 == 0 && y > 0, \"even\");",
        "let y = 2;",
        &[("even", "let y = 3;")],
    );
    let with = |other: &str| {
        body.replacen("```rhai wrong", &format!("```rhai solution\n{other}\n```\n\n```rhai wrong"), 1)
    };
    assert_eq!(Lesson::new("open", front, &with("let y = 4;")).problems("cpu"), [""; 0]);
    let problems = Lesson::new("shut", front, &with("let y = 5;")).problems("cpu");
    assert!(problems.iter().any(|p| p.starts_with("another solution does not pass: ")), "{problems:#?}");
}

#[test]
fn a_name_that_nothing_defines_is_a_slip_of_the_check() {
    let front = "devices = [\"cpu\"]";
    let check = "let wanted = 4; if y == 3 { throw wantd; } expect_equal(y, wanted);";
    let wrong = [("expected 4", "let y = 5;"), ("wantd", "let y = 3;")];
    let body = exercise("let y = 0;", check, "let y = 4;", &wrong);
    let problems = Lesson::new("slip", front, &body).problems("cpu");
    assert!(problems.iter().any(|p| p.contains("nothing in the lesson defines `wantd`")), "{problems:#?}");
    let blamed = |p: &String| p.contains("should fail because") && p.contains("'wantd' is not defined");
    assert!(problems.iter().any(blamed), "{problems:#?}");
    assert!(!problems.iter().any(|p| p.contains("the exercise asks for `wantd`")), "{problems:#?}");
}

#[test]
fn a_step_before_is_run_again_unseen_and_its_failure_is_not_the_learners() {
    let body = block("run", "let x = ones([2]);\nif cuda::is_available() { throw \"not here\"; }")
        + exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[("expected 2", "let y = 1;")])
            .as_str();
    let lesson = Lesson::new("before", "devices = [\"cpu\"]", &body);
    assert_eq!(lesson.problems("cpu"), Vec::<String>::new());
    let problems = lesson.problems("sim:t4");
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let told = ["the cell does not run", "not here", "no later step was tried"];
    assert!(told.iter().all(|part| problems[0].contains(part)), "{problems:#?}");
    let (said, _) = lesson.walk("sim:t4", "\ns\nlet y = 2;\n.\n");
    assert!(said.contains("before it failed when it was run again"), "{said}");
    assert!(
        said.contains("Before your code began, something of the lesson's failed")
            && !said.contains("The check of"),
        "{said}"
    );
}

#[test]
fn what_breaks_a_set_up_is_told_once_where_it_stands() {
    let task = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[("expected 2", "let y = 1;")]);
    let body = [block("hidden", "let x = onse([2]);"), block("run", "x.sum()"), task].concat();
    let lesson = Lesson::new("set-up", "devices = [\"cpu\"]", &body);
    let found = lesson.found("cpu");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["line"], lesson.line_of("let x = onse([2]);"), "{found:#?}");
    assert!(found[0]["message"].as_str().unwrap().starts_with("the set-up failed: "), "{found:#?}");
}

#[test]
fn a_refusal_names_the_line_of_the_check_it_comes_from() {
    let check = "expect_equal(x, 1);\nexpect_equal(y, 2);\nexpect_equal(y, 3);";
    let body = exercise(
        "let x = 1; let y = 0;",
        check,
        "let x = 1; let y = 2;",
        &[("expected 2", "let x = 1; let y = 1;")],
    );
    let lesson = Lesson::new("which", "devices = [\"cpu\"]", &body);
    let line = lesson.line_of("expect_equal(y, 3);");
    let problems = lesson.problems("cpu");
    let told = format!("(line {line}, in the check)");
    assert!(
        problems.iter().any(|p| p.contains("the solution does not pass") && p.contains(&told)),
        "{problems:#?}"
    );
}

/// A function runs only when the check calls it: what is wrong within is told as if the cell had stopped.
#[test]
fn what_a_called_function_stops_with_or_is_warned_of_is_told() {
    let check = "let a = 9 / 2;\nprint(a);\nexpect_equal(call(\"half\", [7]), 3.5);";
    let body = exercise("fn half(n) { n }", check, "fn half(n) { n / 2.0 }", &[]);
    let lesson = Lesson::new("called", SIM, &body);
    let typed = |code: &str| lesson.walk("sim:t4x2", &format!("{code}\n.\nq\n")).0;
    let said = typed("fn half(n) {\n    let a = ones(2);\n    a + ones(2, #{device: \"cuda\"})\n}");
    let told =
        ["3 |     a + ones(2, #{device: \"cuda\"})\n  |       ^", "hint: move one of them", "(line 3)"];
    assert!(told.iter().all(|part| said.contains(part)), "{said}");
    assert!(!said.contains("called from"), "the check's lines are not the learner's: {said}");
    // A misspelt name and a habit of Python's are answered as they are in a cell.
    for (line, hint) in [
        ("let t = tensr(n);", "hint: did you mean `tensor`?"),
        ("let f = |x| x + 1; f(n)", "hint: a closure is called by `call`: `let f = |x| x + 1; f.call(n)`"),
    ] {
        let said = typed(&format!("fn half(n) {{\n    {line}\n}}"));
        assert!(said.contains(hint) && said.contains("(line 2)"), "{said}");
    }
    let said = typed("fn half(n) {\n    n / 2\n}");
    assert!(said.contains("`7 / 2` of integers is 3 in line 2, and 3.5 in Python"), "{said}");
    assert_eq!(said.matches("warning").count(), 1, "{said}");
}

#[test]
fn a_lesson_that_asks_for_it_has_a_folder_to_write_to_with_a_limit() {
    let front = "devices = [\"cpu\"]\n[limits]\nscratch = \"64 KiB\"";
    let save = |n: usize| {
        format!(
            "save(#{{x: ones([{n}])}}, SCRATCH + \"/x.safetensors\");\nlet x = load(SCRATCH + \"/x.safetensors\").x;"
        )
    };
    let left = "let before = false;\ntry { load(SCRATCH + \"/x.safetensors\"); before = true; } catch {}\nlet x = if before { zeros(2) } else { ones(2) };";
    let wrong = [
        (
            "64.0 KiB of files",
            "for i in 0..5 { save(#{x: ones([4096])}, SCRATCH + `/${i}.safetensors`); }\nlet x = ones([4]);",
        ),
        ("made more than the 64.0 KiB", &save(1 << 20)),
        ("expected 4", left),
    ];
    let body = exercise("let x = zeros([2]);", "expect_equal(x.sum().item(), 4.0);", &save(4), &wrong);
    assert_eq!(Lesson::new("scratch", front, &body).problems("cpu"), Vec::<String>::new());
}

#[test]
fn a_check_finds_what_was_written() {
    let front = "devices = [\"cpu\"]\n[limits]\nscratch = \"64 KiB\"";
    let save = |n: usize| format!("save(#{{x: ones([{n}])}}, SCRATCH + \"/x.safetensors\");");
    let wrong = [("3.0", save(3).as_str()), ("No such file", "let SCRATCH = \"/tmp\";")]
        .map(|(because, code)| (because, code.to_owned()));
    let wrong: Vec<_> = wrong.iter().map(|(because, code)| (*because, code.as_str())).collect();
    let check = "expect_equal(load(SCRATCH + \"/x.safetensors\").x.sum().item(), 4.0);";
    let body = exercise("let x = zeros([2]);", check, &save(4), &wrong);
    assert_eq!(Lesson::new("written", front, &body).problems("cpu"), Vec::<String>::new());
}

#[test]
fn a_check_does_not_ask_for_a_constant_of_the_language() {
    let body = exercise(
        "let float32 = 0;",
        "expect_equal(float32, 3);",
        "let float32 = 3;",
        &[("expected", "let float32 = 1;")],
    );
    let problems = Lesson::new("constant", "devices = [\"cpu\"]", &body).problems("cpu");
    assert!(
        problems.iter().any(|p| p.contains("asks for `float32`, which is a constant of the language")),
        "{problems:?}"
    );
}

/// An exercise with a check for each set of devices, and one that is for the CPU alone.
#[test]
fn what_names_devices_is_asked_there_alone() {
    let part = |role: &str, code: &str| format!("```rhai {role}\n{code}\n```\n\n");
    let hint = "```hint\nThink.\n```\n\n";
    let body = [
        part("exercise id=\"one\"", "let y = 0;"),
        part("check devices = [\"cpu\"]", "expect_equal(y, 1);"),
        part("check", "expect_equal(events.launches, 1);"),
        part(
            "solution",
            "let y = 1; ones(2, #{device: if cuda::is_available() { \"cuda\" } else { \"cpu\" }});",
        ),
        part("wrong because=\"expected\"", "let y = 2;"),
        // It passes on a GPU, where it is none.
        part(
            "wrong because=\"3\" devices = [\"cpu\"]",
            "let y = 3; ones(2, #{device: if cuda::is_available() { \"cuda\" } else { \"cpu\" }});",
        ),
        hint.to_owned(),
        part("exercise id=\"two\" devices = [\"cpu\"]", "let z = 0;"),
        part("check", "expect_equal(z, 1);"),
        part("solution", "let z = 1;"),
        part("wrong because=\"expected\"", "let z = 2;"),
        hint.to_owned(),
    ]
    .concat();
    let lesson = Lesson::new("placed", "devices = [\"cpu\", \"sim:t4\"]", &body);
    assert_eq!(lesson.problems("cpu"), [""; 0]);
    assert_eq!(lesson.problems("sim:t4"), [""; 0]);
    let steps = |devices: &str| {
        let output = lesson.program(&["lesson", "verify", "l.md", "--devices", devices]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(steps("cpu").contains("2 steps"), "{}", steps("cpu"));
    // At the prompt the second exercise is not asked for on a GPU.
    let (said, _) = lesson.walk("sim:t4", "q\n");
    assert!(!said.contains("let z = 0"), "{said}");
}
