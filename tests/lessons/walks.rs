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
        "\nEnter runs it again, s goes on without it:\n",
    ] {
        let at = rest.find(text).unwrap_or_else(|| panic!("{text:?} is not in the rest of\n{out}"));
        rest = &rest[at + text.len()..];
    }
    assert_eq!(err, "");
}
