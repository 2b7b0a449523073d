//! A lesson line by line at the prompt, from a pipe.

use super::*;

/// Text, a question, the cell that answers it, a quiz and an exercise.
pub(super) fn whole() -> String {
    let predict = "```toml predict id=\"p\"\nask = \"How many bytes?\"\nunit = \"bytes\"\nanswer = \"events.h2d.bytes\"\ntolerance = 0\nexplain = \"Four each.\"\n```\n\n";
    let quiz = "```toml quiz id=\"q\"\nask = \"Which?\"\n[[choice]]\ntext = \"one\"\nexplain = \"No.\"\n[[choice]]\ntext = \"two\"\ncorrect = true\nexplain = \"Yes.\"\n```\n\n";
    let cell = block("run", "let x = ones([256]).to(\"cuda\");\nx.device");
    let task = exercise(
        "let y = 0;",
        "expect_equal(y, x.sum().item());",
        "let y = x.sum().item();",
        &[("expected 256", "let y = 1;")],
    );
    format!("Some *text*.\n\n{predict}{cell}{quiz}{task}")
}

#[test]
fn a_lesson_can_be_walked_through_at_the_prompt() {
    let lesson = Lesson::new("walk", SIM, &whole());
    let (wrong, right) = lesson.choices();
    let typed = format!(
        "1 KiB\n\n{wrong}\n{right}\nlet z = 1;\n.\nlet y = 1;\n.\nh\nl\nlet y = x\n    .sum().item();\n.\n"
    );
    let (said, code) = lesson.walk("sim:t4x2", &typed);
    let wanted = [
        "L: 4 things to do, about 1 minute.",
        "Some text.",
        "How many bytes?",
        "    let x = ones([256]).to(\"cuda\");",
        "= device(type='cuda', index=0)",
        "copies: h2d cpu→cuda:0 1 copy, 1.0 KiB",
        "Exactly right.",
        "Four each.",
        ": one",
        "Not that.",
        "Right.",
        "Not yet: the exercise asks for `y`; your code does not define it",
        "Not yet: expected 256",
        "Think.",
        "A solution:",
        "    let y = x.sum().item();",
        "Passed.",
        "That was the lesson.",
    ];
    let mut rest = said.as_str();
    for text in wanted {
        let at = rest.find(text).unwrap_or_else(|| panic!("{text:?} is not in the rest of\n{said}"));
        rest = &rest[at + text.len()..];
    }
    assert_eq!(code, Some(0));
}

#[test]
fn a_cell_that_fails_in_a_walk_is_passed_by_only_where_that_is_asked_for() {
    let lesson =
        Lesson::new("failing", SIM, &(block("run", "throw \"no luck\";") + block("run", "1 + 41").as_str()));
    let (said, _) = lesson.walk("sim:t4x2", "\n\n");
    assert_eq!(said.matches("RuntimeError: no luck").count(), 2, "both runs say it:\n{said}");
    assert!(!said.contains("1 + 41"), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "\ns\ns\n");
    assert!(said.contains("1 + 41") && said.contains("That was the lesson."), "{said}");
}

#[test]
fn a_cell_of_a_walk_runs_on_an_empty_line_alone() {
    let lesson = Lesson::new("typed", SIM, &block("run", "print(1 + 41);"));
    let (said, _) = lesson.walk("sim:t4x2", "abc\nh\n\n");
    assert_eq!(said.matches("It runs as it stands, on an empty line").count(), 2, "{said}");
    assert_eq!(said.matches("\n42\n").count(), 1, "{said}");
}

#[test]
fn steps_are_counted_where_there_is_something_to_do() {
    let text = "Words alone.\n\n## Two\n\nMore words.\n\n";
    let lesson = Lesson::new("counted", SIM, &format!("{text}{}", block("run", "1 + 41")));
    let output = lesson.program(&["lesson", "verify", "l.md", "--devices", "sim:t4x2"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("ok  l on sim:t4x2: 1 step, 1 run, ") || said.contains(": 1 step, "), "{said}");
}

#[test]
fn a_walk_keeps_the_answer_of_a_question_that_was_passed_over() {
    let lesson = Lesson::new("told", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "s\n\nq\n");
    assert!(said.contains("Counted: 1,024 bytes (1 KiB)."), "{said}");
    let output = lesson.program(&["progress", "export", "--json"]).output().unwrap();
    let kept = String::from_utf8(output.stdout).unwrap();
    assert!(kept.contains("\"what\":\"told\"") && kept.contains("Counted: 1,024 bytes"), "{kept}");
}

#[test]
fn who_asks_for_a_hint_where_there_is_none_is_told_and_skips_nothing() {
    let lesson = Lesson::new("unhinted", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "h\nl\n1 KiB\n\nh\nq\n");
    assert_eq!(said.matches("say what you expect, or s goes on without").count(), 2, "{said}");
    assert!(said.contains("Exactly right."), "{said}");
    assert!(said.contains("Each choice says why, once it is taken"), "{said}");
}

#[test]
fn a_pipe_has_the_questions_and_the_learners_errors_in_their_places() {
    let lesson = Lesson::new(
        "one-stream",
        SIM,
        &(block("run", "print(9 / 2);\nthrow \"no luck\";") + block("run", "1").as_str()),
    );
    let ([out, err], _) = lesson.walk_apart("sim:t4x2", "\ns\n");
    let mut rest = out.as_str();
    for text in [
        "\nEnter runs it:\n",
        "`9 / 2` of integers is 4",
        "RuntimeError: no luck",
        "--> In [1]:2:",
        "\nEnter runs it again, s goes on without it:\n",
        "The next cell, In [2]:",
    ] {
        let at = rest.find(text).unwrap_or_else(|| panic!("{text:?} is not in the rest of\n{out}"));
        rest = &rest[at + text.len()..];
    }
    assert_eq!(err, "");
}

#[test]
fn code_in_whose_middle_the_input_ends_is_dropped_and_that_is_said() {
    let body = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[]);
    let lesson = Lesson::new("half-typed", SIM, &body);
    for typed in ["let y = 2;\n", "> f(1,\n"] {
        let (said, code) = lesson.walk("sim:t4x2", typed);
        assert!(said.contains("The input ended in the middle of your code, which was not run."), "{said}");
        assert!(said.ends_with("Until next time.\n\n") && code == Some(0), "{said}");
    }
    let output = lesson.program(&["progress", "export", "--json"]).output().unwrap();
    let kept = String::from_utf8(output.stdout).unwrap();
    assert!(!kept.contains("attempt"), "{kept}");
}

#[test]
fn code_of_ones_own_runs_beside_the_lesson_and_leaves_nothing_for_it() {
    let body = block("run", "let x = ones([256]).to(\"cuda\");")
        + block("run", "x = x + 1.0;\nx.sum().item()").as_str();
    let lesson = Lesson::new("own", SIM, &body);
    let typed = "> let q = 3;\n> q + 38\n> plot::timeline(|| {\nlet c = ones([256]).to(\"cuda\");\n})\n\n> x = zeros(3)\n>\n\n";
    let (said, _) = lesson.walk("sim:t4x2", typed);
    assert!(said.contains("= 41"), "what one line leaves, the next finds: {said}");
    assert!(
        said.contains("figure: 1 span of kernel in cpu") && said.contains("1 span of copy in cpu to cuda:0"),
        "{said}"
    );
    assert!(said.contains("> takes code of your own"), "{said}");
    assert!(said.contains("= 512") && said.contains("That was the lesson."), "{said}");
}

#[test]
fn a_starter_is_run_as_it_stands_or_written_to_a_file_and_read_again() {
    let body = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[]);
    let lesson = Lesson::new("starter", SIM, &body);
    let (said, _) = lesson.walk("sim:t4x2", "r\nw my code.rhai\nw my code.rhai\nf 'my code.rhai'\n");
    assert_eq!(said.matches("Not yet: expected 2").count(), 2, "{said}");
    assert!(said.contains("It is in my code.rhai now"), "{said}");
    assert!(said.contains("There is a file my code.rhai already; w! my code.rhai replaces it."), "{said}");
    let file = lesson.0.join("my code.rhai");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "let y = 0;\n");
    std::fs::write(&file, "let y = 2;\n").unwrap();
    // It is the home folder as well.
    let (said, _) = lesson.walk("sim:t4x2", "f \"~/my code.rhai\"\n");
    assert!(said.contains("Passed."), "{said}");
}

#[test]
fn words_that_mean_no_code_begin_none() {
    let body = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[]);
    let lesson = Lesson::new("words", SIM, &body);
    for (typed, told) in [
        ("\nh\nq\n", "Think."),
        (".\nq\n", "There is no code yet"),
        ("f \nq\n", "f needs a file's name: f FILE."),
        ("f = 3\nq\n", "There is no file = 3."),
        ("help\n:q\n", "w FILE writes what it begins with"),
        ("?\nexit\n", "> CODE runs code of your own"),
        (":help\nquit\n", "s goes on without it"),
    ] {
        let (said, _) = lesson.walk("sim:t4x2", typed);
        assert!(said.contains(told), "{typed:?}: {said}");
        assert!(said.ends_with("Until next time.\n\n") && !said.contains("Error"), "{typed:?}: {said}");
    }
}

#[test]
fn what_replaces_a_key_of_the_lab_is_said_behind_the_section_that_names_it() {
    let text = "Press F5.\n\n## Two\n\nMore words.\n\n";
    let (said, _) = Lesson::new("keys", SIM, &format!("{text}{}", block("run", "1"))).walk("sim:t4x2", "q\n");
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(
        at("Press F5.") < at("(At this prompt: F5 is Enter") && at("(At this prompt") < at("\nTwo\n"),
        "{said}"
    );
}

/// An answer may use any name but one that a later step reads as the lesson gave it: the rest of the lesson would stop at
/// a cell that nobody can mend.
#[test]
fn a_name_that_later_steps_read_is_not_an_answers_to_take() {
    let task = exercise(
        "let y = 0;",
        "expect_equal(y, 256.0);",
        "let y = x.sum().item();",
        &[("expected 256", "let y = 1;")],
    );
    // What is dropped or bound is not read, and what a check binds is the check's.
    let second = exercise(
        "let z = 0;",
        "let x = 1; expect_equal(z, x);",
        "let z = 1;",
        &[("expected 1", "let z = 2;")],
    );
    let second = second.replace("id=\"e\"", "id=\"f\"");
    let body = [
        "Text.\n\n",
        &block("run", "let x = ones([256]); let spare = 1; let again = 2;"),
        &task,
        &block("run", "drop(spare); let again = 3;"),
        &second,
        &block("run", "print(`${x.shape} ${again}`);"),
    ]
    .concat();
    let lesson = Lesson::new("taken", SIM, &body);
    let taken = "let x = x.sum();\nlet y = x.item();\n.\n";
    let inner = "for x in [x] { print(x.shape); }\nlet y = x.sum().item();\n.\n";
    let free = "let spare = x.sum();\nlet again = 1;\nlet y = spare.item();\n.\n";
    let (said, _) = lesson.walk("sim:t4x2", &format!("\n{taken}{inner}\nlet z = 1;\n.\n\nq\n"));
    let reason = "later steps read `x` as the lesson gave it: give yours another name";
    assert!(said.contains(reason) && said.contains("Passed.") && said.contains("[256] 3"), "{said}");
    let lesson = Lesson::new("free", SIM, &body);
    let (said, _) = lesson.walk("sim:t4x2", &format!("\n{free}\nlet z = 1;\n.\n\nq\n"));
    assert!(!said.contains("give yours another name"), "{said}");
    assert!(said.contains("Passed.") && said.contains("[256] 3"), "{said}");
}

/// The functions that a lesson gives are called by later steps as well.
#[test]
fn a_function_that_later_steps_call_is_not_an_answers_to_take() {
    let task =
        exercise("let y = 0;", "expect_equal(y, 4);", "let y = twice(2);", &[("expected 4", "let y = 1;")]);
    let body = [
        "Text.\n\n",
        &block("run", "fn twice(x) { x * 2 } fn spare(x) { x }"),
        &task,
        &block("run", "print(`twice: ${twice(21)}`);"),
    ]
    .concat();
    let lesson = Lesson::new("functions", SIM, &body);
    let taken = "fn twice(x) { x + 2 }\nlet y = twice(2);\n.\n";
    // A variable hides no function, and one with other parameters is another.
    let free = "fn spare(x) { x + 2 }\nfn twice(x, y) { x }\nlet twice = 2;\nlet y = spare(twice);\n.\n";
    let (said, _) = lesson.walk("sim:t4x2", &format!("\n{taken}{free}\nq\n"));
    let reason = "later steps read `twice` as the lesson gave it: give yours another name";
    assert!(said.contains(reason) && said.contains("Passed.") && said.contains("twice: 42"), "{said}");
}

/// What an answer leaves set for the whole process is gone when the next step begins.
#[test]
fn later_steps_begin_with_the_switches_that_they_had() {
    let code = "let a = ones(2); cuda::set_device(1); set_default_device(\"cuda\"); cudnn::benchmark(true); \
                cuda::set_stream(cuda::Stream()); matmul::allow_tf32(true); let y = ones(2).device.to_string();";
    let check = "expect_equal(y, \"cuda:1\");";
    let task = exercise("let y = 0;", check, code, &[("expected", "let y = 1;")]);
    let told = "print(`${ones(2).device} ${cuda::current_device()} ${cudnn::benchmark()} ${matmul::allow_tf32()}`); \
                print(cuda::current_stream() == cuda::default_stream());";
    let body = ["Text.\n\n", &task, &block("run", told)].concat();
    let lesson = Lesson::new("switches", SIM, &body);
    let (said, _) = lesson.walk("sim:t4x2", &format!("{code}\n.\n\nq\n"));
    assert!(said.contains("Passed."), "{said}");
    assert!(said.contains("cpu 0 false false\ntrue"), "{said}");
    assert_eq!(lesson.problems("sim:t4x2"), [""; 0]);
}

/// What a `let` within braces makes is told of as such.
#[test]
fn a_name_that_ends_with_its_block_is_told_of() {
    let task = exercise("let y = 0;", "expect_equal(y, 4);", "let y = 4;", &[("expected 4", "let y = 1;")]);
    let lesson = Lesson::new("in-block", SIM, &["Text.\n\n", &task].concat());
    let (said, _) = lesson.walk("sim:t4x2", "with no_grad() { let y = 4; }\n.\nlet z = 4;\n.\nq\n");
    assert!(said.contains("the exercise asks for `y`, and a `let` within braces ends with them"), "{said}");
    assert!(said.contains("the exercise asks for `y`; your code does not define it"), "{said}");
}
