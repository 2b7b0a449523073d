//! A lesson at the prompt that was begun before.

use super::walks::whole;
use super::*;

#[test]
fn a_walk_goes_on_where_it_was_left_in_the_state_that_is_needed() {
    let lesson = Lesson::new("resumed", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "1 KiB\n\nq\n");
    assert!(said.contains("Exactly right.") && said.contains("Until next time."), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", &format!("{}\nlet y = x.sum().item();\n.\n", lesson.choices().1));
    assert!(!said.contains("How many bytes?") && said.contains("you left off here"), "{said}");
    assert_eq!(said.matches("Some text.").count(), 1, "the section that it goes on with: {said}");
    assert!(said.contains("Passed.") && !said.contains("NameError"), "{said}");
    let (said, code) =
        Lesson::new("lacks", &format!("{SIM}\n[requires]\ngpus = 2"), &whole()).walk("cpu", "");
    assert!(said.contains("the lesson needs 2 GPUs, and this machine has none"), "{said}");
    assert_eq!(code, Some(4));
}

#[test]
fn a_walk_goes_on_behind_what_was_passed_over_last() {
    let lesson = Lesson::new("behind", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "1 KiB\ns\nq\n");
    assert!(said.contains("Which?") && said.contains("Until next time."), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "q\n");
    assert!(said.contains("you left off here") && said.contains("Which?"), "{said}");
    assert!(!said.contains("The next cell, In [1]"), "{said}");
}

#[test]
fn a_file_that_is_there_is_meant_before_a_built_in_lessons() {
    let lesson = Lesson::new("named", SIM, &whole());
    std::fs::rename(lesson.0.join("l.md"), lesson.0.join("03-moving.md")).unwrap();
    let out =
        lesson.program(&["lesson", "verify", "03-moving.md", "--devices", "sim:t4x2"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("ok  l on sim:t4x2"), "{said}");
}

#[test]
fn a_walk_ends_with_how_far_it_came_and_goes_on_at_what_is_open() {
    let lesson = Lesson::new("ended", SIM, &whole());
    let right = lesson.choices().1;
    let (said, _) = lesson.walk("sim:t4x2", &format!("1 KiB\n\n{right}\ns\n"));
    let end = said.split("That was the lesson.").nth(1).unwrap_or_else(|| panic!("{said}"));
    for told in [
        "3 of 4 things done, 0 of 1 point. Of 1 prediction, 1 held.",
        "- step 1, L: an exercise (passed over)",
        "What comes next",
        "tensorlab lesson start",
    ] {
        assert!(end.contains(told), "{told}: {said}");
    }
    let (said, _) = lesson.walk("sim:t4x2", "let y = x.sum().item();\n.\n");
    assert!(said.contains("You have done 3 of them; here is the first that you passed over."), "{said}");
    assert!(!said.contains("How many bytes?") && said.contains("Nothing is open."), "{said}");
    assert!(said.contains("4 of 4 things done, 1 of 1 point."), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "q\n");
    assert!(said.contains("You have done all of them") && said.contains("How many bytes?"), "{said}");
}

#[test]
fn a_number_that_was_said_before_leaving_waits_for_its_cell() {
    let lesson = Lesson::new("said", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "1 KiB\nq\n");
    assert!(!said.contains("Counted"), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "\nq\n");
    assert!(
        said.contains("You said 1,024 bytes (1 KiB). Counted: 1,024 bytes (1 KiB). Exactly right."),
        "{said}"
    );
}

#[test]
fn steps_that_are_done_are_passed_over_in_a_line_until_one_is_open() {
    let body = whole()
        + exercise("let z = 0;", "expect_equal(z, 5);", "let z = 5;", &[])
            .replace("\"e\"", "\"e2\"")
            .as_str();
    let lesson = Lesson::new("over", SIM, &body);
    let right = lesson.choices().1;
    // The question and the exercise behind it are left open.
    lesson.walk("sim:t4x2", "1 KiB\n\ns\nlet y = x.sum().item();\n.\ns\n");
    let (said, _) = lesson.walk("sim:t4x2", &format!("{right}\nq\n"));
    assert!(said.contains("(Done before, and passed over here: 1 exercise.)"), "{said}");
    assert!(!said.contains("let y = 0;") && said.contains("let z = 0;"), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "let z = 5;\n.\n");
    assert!(said.contains("Passed.") && said.contains("5 of 5 things done"), "{said}");
    // Where nothing is open all is shown once more, with what passed.
    let (said, _) = lesson.walk("sim:t4x2", "\ns\nq\n");
    let told = "You have passed it, and that stays; s goes on. Your code was:\n    let y = x.sum().item();";
    assert!(said.contains("You have answered it right; s goes on.") && said.contains(told), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "\ns\ns\ns\n");
    assert!(said.contains("5 of 5 things done") && said.contains("Nothing is open."), "{said}");
}

#[test]
fn hints_count_that_were_given_before() {
    let mut body = exercise("let y = 0;", "expect_equal(y, 2);", "let y = 2;", &[]);
    body += "\n```hint\nThink again.\n```\n";
    let lesson = Lesson::new("hinted", SIM, &body);
    lesson.walk("sim:t4x2", "h\nq\n");
    let (said, _) = lesson.walk("sim:t4x2", "l\nh\nq\n");
    assert!(
        said.contains("there are 2, and you have had 1.") && said.contains("First the hints: h."),
        "{said}"
    );
    assert!(said.contains("Think again.") && !said.contains("Think."), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", "l\nh\nq\n");
    assert!(said.contains("A solution:") && !said.contains("First the hints"), "{said}");
    assert!(said.contains("Think.") && said.contains("Think again."), "they can be read once more: {said}");
}

#[test]
fn a_cell_that_runs_over_its_time_is_told_with_what_was_run() {
    let body =
        format!("{}{}", block("run id=\"first\"", "let x = 1;"), block("run id=\"slow\"", "while true {}"));
    let lesson = Lesson::new("slow-cell", &format!("{SIM}\n[limits]\ntime = \"300 ms\""), &body);
    let output = lesson.program(&["lesson", "verify", "l.md"]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.starts_with("FAILED  l on sim:t4x2: 2 steps, 2 runs, ") && !told.contains(", 0 ms"),
        "{told}"
    );
    assert!(told.contains(&format!(
        "l.md:{} [slow] the cell does not run: it ran over",
        lesson.line_of("while true {}")
    )));
}

#[test]
fn a_tolerance_many_times_the_answer_is_told() {
    let predict = "```toml predict id=\"p\"\nask = \"?\"\nanswer = \"1\"\ntolerance = 1000000\nexplain = \"So.\"\n```\n\n";
    let lesson = Lesson::new("tolerant", SIM, &format!("{predict}{}", block("run", "let x = 1;")));
    let found = lesson.problems("sim:t4x2").join("\n");
    assert!(
        found.contains("the answer is 1, and with a tolerance of 1,000,000 a prediction can't be wrong"),
        "{found}"
    );
}

#[test]
fn a_page_of_a_lesson_that_fails_says_where_and_why() {
    let body = format!(
        "{}{}",
        block("run id=\"first\"", "let x = 1;"),
        block("run id=\"bad\"", "let z = nothing_here;")
    );
    let lesson = Lesson::new("bad-page", SIM, &body);
    let output = lesson.program(&["lesson", "export", "l.md", "--html", "-"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let place = format!("l.md:{} [bad]", lesson.line_of("let z = nothing_here;"));
    assert!(told.contains(&place) && told.contains("nothing_here") && told.contains('^'), "{told}");
}
