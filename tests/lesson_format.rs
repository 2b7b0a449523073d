//! Lesson files: what is read from a good one, what is said of a broken one, and where.

mod slips;

use proptest::prelude::*;
use tensorlab::lesson::{Code, Element, Lesson, LessonError, Unit, built_in, lint, load, markdown, parse};

const FRONT: &str = r#"+++
id = "moving"
title = "Moving"
summary = "Copies."
concepts = ["to"]
minutes = 5
devices = ["sim:t4x2"]
+++
"#;

/// The line after `FRONT`.
const BODY: usize = 9;

const EXERCISE: &str = r#"```rhai exercise id="one" points=2
let y = x;
```

```rhai check
expect_device(y, "cuda:0");
```

```rhai solution
let y = x.to("cuda");
```

```rhai wrong because="on cpu"
let y = x.cpu();
```

```hint
Use *to*.
```
"#;

fn good(body: &str) -> Lesson {
    let text = format!("{FRONT}{body}");
    parse("a.md", text.as_bytes()).unwrap_or_else(|errors| panic!("{}", rendered(&errors)))
}

fn bad(body: &str) -> Vec<LessonError> {
    bad_file(&format!("{FRONT}{body}"))
}

fn bad_file(text: &str) -> Vec<LessonError> {
    match parse("a.md", text.as_bytes()) {
        Ok(lesson) => panic!("parsed: {lesson:?}"),
        Err(errors) => errors,
    }
}

fn rendered(errors: &[LessonError]) -> String {
    let all: Vec<_> = errors.iter().map(LessonError::render).collect();
    all.join("\n")
}

/// Asserts that there is one error only: at this line of the body (from 1) and with these words.
fn only(errors: &[LessonError], body_line: usize, column: usize, words: &str) {
    assert_eq!(errors.len(), 1, "{}", rendered(errors));
    let error = &errors[0];
    let place = (error.line, error.column);
    assert_eq!(place, (BODY - 1 + body_line, column), "{}", error.render());
    assert!(error.message.contains(words), "{}", error.render());
}

fn codes(lesson: &Lesson) -> Vec<&Code> {
    let mut codes = Vec::new();
    for step in &lesson.steps {
        codes.extend(&step.setup);
        match &step.element {
            Some(Element::Run(code)) => codes.push(code),
            Some(Element::Predict(predict)) => codes.push(&predict.answer),
            Some(Element::Exercise(e)) => {
                codes.extend([&e.starter, &e.check, &e.solution]);
                codes.extend(e.wrong.iter().map(|wrong| &wrong.code));
            }
            Some(Element::Quiz(_)) | None => {}
        }
    }
    codes
}

mod reading {
    use super::*;

    #[test]
    fn a_lesson_is_steps_of_text_and_what_is_done_after_it() {
        let body = format!(
            "# Title\n\nText.\n\n```rhai run\nlet x = 1;\nx\n```\n\nMore.\n\n\
             ```rhai hidden\nlet h = 2;\n```\n\n{EXERCISE}\nThe end.\n"
        );
        let lesson = good(&body);
        assert_eq!(lesson.steps.len(), 3);
        let [run, exercise, end] = lesson.steps.as_slice() else { panic!() };
        assert_eq!(markdown::plain(&run.text), "Title Text.");
        let Some(Element::Run(code)) = &run.element else { panic!("{run:?}") };
        assert_eq!((code.text.as_str(), code.line), ("let x = 1;\nx\n", BODY + 5));
        assert_eq!(exercise.id, "one");
        assert_eq!(exercise.setup[0].text, "let h = 2;\n");
        assert_eq!(exercise.setup[0].line, BODY + 12);
        let Some(Element::Exercise(e)) = &exercise.element else { panic!("{exercise:?}") };
        assert_eq!((e.points, e.starter.line), (2, BODY + 16));
        assert_eq!(e.check.line, BODY + 20);
        assert_eq!(e.wrong[0].because, "on cpu");
        assert_eq!(markdown::plain(&e.hints[0].text), "Use to.");
        assert_eq!((markdown::plain(&end.text).as_str(), &end.element), ("The end.", &None));
        assert_eq!(lesson.points(), 2);
    }

    #[test]
    fn predictions_are_answered_by_the_next_run_cell() {
        let lesson = good(
            "```toml predict id=\"p\"\nask = \"How *many*?\"\nunit = \"MiB\"\nanswer = \"x.nbytes\"\n\
             tolerance = \"10%\"\nexplain = \"So.\"\n```\n\
             ```toml quiz id=\"q\"\nask = \"Which?\"\n[[choice]]\ntext = \"a\"\ncorrect = true\n\
             explain = \"yes\"\n[[choice]]\ntext = \"b\"\nexplain = \"no\"\n```\n\
             ```rhai run id=\"cell\"\nx\n```\n",
        );
        let Some(Element::Predict(predict)) = &lesson.step("p").unwrap().element else { panic!() };
        assert_eq!(predict.cell, "cell");
        assert_eq!(predict.unit, Unit::MiB);
        assert_eq!(predict.answer.line, BODY + 3);
        assert!(predict.tolerance.allows(1.1, 1.0) && !predict.tolerance.allows(1.2, 1.0));
        let Some(Element::Quiz(quiz)) = &lesson.step("q").unwrap().element else { panic!() };
        assert!(quiz.is_right(&[0]) && !quiz.is_right(&[1]));
        assert_eq!(quiz.choices[1].line, BODY + 13);
    }

    #[test]
    fn a_cells_id_depends_on_its_code_alone() {
        let cell = "```rhai run\nlet x = 1;\n```\n";
        let first = good(cell).steps[0].id.clone();
        let moved = good(&format!("Text.\n\n```rhai run\nlet y = 2;\n```\n\n{cell}"));
        assert_eq!(moved.steps[1].id, first);
        let twice = good(&format!("{cell}\n{cell}"));
        assert_eq!(twice.steps[0].id, first);
        assert_eq!(twice.steps[1].id, format!("{first}-2"));
    }

    #[test]
    fn line_breaks_and_a_byte_order_mark_change_nothing_but_the_bytes() {
        let text = format!("{FRONT}Text.\n\n```rhai run\nlet x = 1;\n```\n\n{EXERCISE}");
        let plain = parse("a.md", text.as_bytes()).unwrap();
        for other in [text.replace('\n', "\r\n"), text.replace('\n', "\r"), format!("\u{feff}{text}")] {
            assert_eq!(parse("a.md", other.as_bytes()).unwrap(), plain);
        }
    }

    #[test]
    fn other_code_blocks_and_longer_fences_are_text() {
        let lesson =
            good("````markdown\n```rhai run\nx\n```\n````\n\n```python\ny = x\n```\n\n~~~rhai run\nx\n~~~\n");
        assert_eq!(lesson.steps.len(), 1);
        let Some(Element::Run(code)) = &lesson.steps[0].element else { panic!() };
        assert_eq!(code.line, BODY + 11);
        assert_eq!(lesson.steps[0].text.len(), 2);
        let commented = good("<!--\n```rhai exercise id=\"x\"\n```\n-->\n\nText.\n");
        assert_eq!(markdown::plain(&commented.steps[0].text), "Text.");
    }

    #[test]
    fn control_characters_are_stripped_everywhere() {
        let lesson = good(
            "Te\u{1b}[31mxt &#27;[0m.\n\n```rhai run\nlet x\u{9b} = 1;\u{7}\n```\n\n\
             ```toml quiz id=\"q\"\nask = \"A\\u001b\u{202e}?\"\n[[choice]]\ntext = \"a\"\n\
             correct = true\nexplain = \"\\u0007y\"\n```\n",
        );
        let shown = format!("{:?}", lesson.steps);
        for hidden in ["u{1b}", "u{9b}", "u{7}", "u{202e}"] {
            assert!(!shown.contains(hidden), "{hidden} in {shown}");
        }
        let errors = match parse("\u{1b}[2Ja.md", b"+++\nt\x1b[1m = 1\n+++\n") {
            Ok(_) => panic!(),
            Err(errors) => rendered(&errors),
        };
        assert!(!errors.contains('\u{1b}'), "{errors:?}");
    }

    #[test]
    fn limits_and_requirements_are_read_in_their_units() {
        let front = FRONT.replace(
            "devices = [\"sim:t4x2\"]\n",
            "devices = [\"sim:t4x2\"]\n[requires]\ngpus = 2\ndevice_memory = \"1 GiB\"\n\
             [limits]\ntime = \"1.5 s\"\noutput = \"64 KiB\"\nfigures = 0\n",
        );
        let lesson = parse("a.md", format!("{front}Text.\n").as_bytes()).unwrap();
        assert_eq!(lesson.front.requires.gpus, 2);
        assert_eq!(lesson.front.requires.device_memory, Some(1 << 30));
        assert_eq!(lesson.front.limits.time_ms, Some(1500));
        assert_eq!(lesson.front.limits.output, Some(65_536));
        assert_eq!(lesson.front.limits.host_memory, None);
    }
}

mod broken_files {
    use super::*;

    #[test]
    fn front_matter_is_missing_or_open() {
        let errors = bad_file("# A lesson\n\nText.\n");
        assert_eq!((errors.len(), errors[0].line), (1, 1), "{}", rendered(&errors));
        assert!(errors[0].message.contains("no front matter"));
        let yaml = bad_file("---\nid: a\n---\n");
        assert!(yaml[0].hint.as_deref().unwrap().contains("YAML"));

        let open = FRONT.trim_end().trim_end_matches("+++");
        let errors = bad_file(&format!("{open}\n# Title\n\nText.\n"));
        assert_eq!((errors.len(), errors[0].line), (1, 1), "{}", rendered(&errors));
        assert!(errors[0].message.contains("not closed"));

        let errors = bad_file(&format!("\n\n{FRONT}Text.\n"));
        assert_eq!((errors.len(), errors[0].line), (1, 3));
    }

    #[test]
    fn front_matter_is_strict() {
        let text = FRONT
            .replace("title", "titel")
            .replace("minutes = 5", "minutes = 0")
            .replace("\"moving\"", "\"Moving It\"");
        let errors = bad_file(&format!("{text}Text.\n"));
        let seen: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
        assert_eq!(seen, [(1, 1), (2, 6), (3, 1), (6, 11)], "{}", rendered(&errors));
        assert!(errors[0].message.contains("no `title`"));
        assert_eq!(errors[2].hint.as_deref(), Some("did you mean `title`?"));
        let limits = FRONT.replace("minutes = 5", "minutes = 5\nlimits = {time = \"20\"}");
        let errors = bad_file(&format!("{limits}Text.\n"));
        assert!(errors[0].message.contains("`20` is not a time: it has no unit"), "{}", rendered(&errors));
    }

    #[test]
    fn a_fence_is_not_closed() {
        only(&bad("Text.\n\n```rhai run\nx\n"), 3, 1, "not closed");
        only(&bad("```python\nx\n\nText.\n"), 1, 1, "not closed");
        // The next block is found nevertheless, and its own fault too.
        let errors = bad("```rhai run\nx\n\nText.\n\n```rhai exercise id=\"e\"\ny\n```\n");
        let lines: Vec<_> = errors.iter().map(|e| e.line - BODY + 1).collect();
        assert_eq!(lines, [1, 6, 6], "{}", rendered(&errors));
        assert!(errors[0].message.contains("before the next one in line 14"));
    }

    #[test]
    fn fences_are_nested_with_the_same_marks() {
        let errors = bad("```markdown\n```rhai run\nx\n```\n```\n");
        assert_eq!(errors[0].line, BODY);
        assert!(errors[0].hint.as_deref().unwrap().contains("more than 3 marks"));
    }

    #[test]
    fn blocks_with_a_role_stand_at_the_margin() {
        only(&bad("> ```rhai run\n> x\n> ```\n"), 1, 3, "inside a list or a quotation");
        only(&bad("- a\n\n  ```rhai run\n  x\n  ```\n"), 3, 3, "inside a list");
        only(&bad("  ```rhai run\n  x\n  ```\n"), 1, 3, "indented");
    }

    #[test]
    fn a_role_is_misspelt_or_of_another_language() {
        let errors = bad("```rhai runn\nx\n```\n");
        only(&errors, 1, 9, "`runn` is not a role");
        assert_eq!(errors[0].hint.as_deref(), Some("did you mean `run`?"));
        only(&bad("```rhai quiz id=\"a\"\n```\n"), 1, 4, "written in toml");
        only(&bad("```rhai run id=\"A b\"\nx\n```\n"), 1, 13, "can't be an id");
        only(&bad("```rhai run points=2\nx\n```\n"), 1, 13, "unknown attribute `points`");
        let ticks = EXERCISE.replace("on cpu", "on `cpu`");
        only(&bad(&ticks), 13, 27, "backtick");
    }

    #[test]
    fn a_prediction_is_incomplete() {
        let cell = "```rhai run\nx\n```\n";
        let errors = bad(&format!(
            "```toml predict id=\"p\"\nask = \"?\"\nunit = \"MiBs\"\nexplian = \"x\"\n```\n{cell}"
        ));
        let seen: Vec<_> = errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(
            seen,
            [
                "the prediction has no `answer`",
                "the prediction has no `explain`",
                "`MiBs` is not a unit",
                "unknown key `explian` in the prediction"
            ]
        );
        assert_eq!(errors[2].hint.as_deref(), Some("did you mean `MiB`?"));
        let predict = "```toml predict id=\"p\"\nask = \"?\"\nanswer = \"1\"\nexplain = \"x\"\n```\n";
        only(&bad(predict), 1, 1, "no run cell answers");
        only(&bad(&format!("{predict}{EXERCISE}{cell}")), 1, 1, "no run cell answers");
        let tolerance = predict.replace("explain", "tolerance = \"few\"\nexplain");
        only(&bad(&format!("{tolerance}{cell}")), 4, 13, "`few` is not a number");
        let date = predict.replace("\"1\"", "1979-05-27");
        only(&bad(&format!("{date}{cell}")), 3, 10, "`answer` is a date");
        let blank = predict.replace("\"1\"", "\" \"");
        only(&bad(&format!("{blank}{cell}")), 3, 10, "is empty");
    }

    #[test]
    fn a_quiz_has_no_correct_choice() {
        let choice = "[[choice]]\ntext = \"a\"\nexplain = \"b\"\n";
        let quiz = |inner: &str| format!("```toml quiz id=\"q\"\nask = \"?\"\n{inner}```\n");
        only(&bad(&quiz(choice)), 1, 1, "no correct choice");
        only(&bad(&quiz("")), 1, 1, "has no `choice`");
        only(&bad(&quiz("choice = [1]\n")), 3, 11, "every `choice` is a table");
        let errors = bad(&quiz("[[choice]]\ntext = 1\ncorect = true\n"));
        let lines: Vec<_> = errors.iter().map(|e| e.line - BODY + 1).collect();
        assert_eq!(lines, [3, 4, 5], "{}", rendered(&errors));
        assert_eq!(errors[2].hint.as_deref(), Some("did you mean `correct`?"));
        only(&bad("```toml quiz id=\"q\"\nask = \n```\n"), 2, 7, "not TOML");
        only(&bad("```toml quiz id=\"q\"\nask = \"\"\"\nmore\n```\n"), 3, 5, "not TOML");
    }

    #[test]
    fn ids_are_taken_twice_or_missing() {
        let cell = "```rhai run id=\"a\"\nx\n```\n";
        let errors = bad(&format!("{cell}{cell}"));
        only(&errors, 4, 1, "taken already, in line 9");
        only(&bad(&EXERCISE.replace(" id=\"one\"", "")), 1, 1, "has no id");
    }

    #[test]
    fn an_exercise_is_incomplete() {
        let without = |from: &str, to: &str| {
            let start = EXERCISE.find(from).unwrap();
            let end = start + EXERCISE[start..].find(to).unwrap();
            format!("{}{}", &EXERCISE[..start], &EXERCISE[end..])
        };
        only(&bad(&without("```rhai check", "```rhai solution")), 1, 1, "has no check");
        only(&bad(&without("```rhai solution", "```rhai wrong")), 1, 1, "has no solution");
        only(&bad(&without("```rhai exercise", "```rhai check")[..45]), 1, 1, "without an exercise");
        let reasonless = EXERCISE.replace(" because=\"on cpu\"", "");
        only(&bad(&reasonless), 13, 1, "does not say because of what");
        let empty = EXERCISE.replace("let y = x.to(\"cuda\");\n", "\n");
        only(&bad(&empty), 9, 1, "the `solution` block is empty");
        let twice = format!("{EXERCISE}```rhai check\nexpect(true);\n```\n");
        only(&bad(&twice), 20, 1, "a second `check`");
        let text_between = EXERCISE.replace("```rhai check", "Text.\n\n```rhai check");
        only(&bad(&text_between), 5, 1, "text stands between");
        let points = EXERCISE.replace("points=2", "points=many");
        only(&bad(&points), 1, 27, "`many` can't be an exercise's points");
        // Its parts still belong to it.
        only(
            &bad(&EXERCISE.replace("points=2", "point=2")),
            1,
            27,
            "unknown attribute `point` of `exercise`",
        );
    }

    #[test]
    fn parts_of_an_exercise_stand_alone() {
        for part in ["rhai check", "rhai solution", "rhai wrong because=\"x\"", "hint"] {
            only(&bad(&format!("Text.\n\n```{part}\nx\n```\n")), 3, 1, "without an exercise");
        }
    }

    #[test]
    fn all_faults_of_a_file_are_listed_in_order() {
        let errors = bad_file(
            "+++\nid = \"a\"\ncolour = 1\n+++\n```rhai run\n```\n\n```hint\nx\n```\n\n```toml quiz id=\"q\"\n\
             ask = 1\n```\n\n```rhai run\nx\n",
        );
        let lines: Vec<_> = errors.iter().map(|e| e.line).collect();
        // Five keys missing and one unknown; empty cell; lone hint; no choice; ask; open fence.
        assert_eq!(lines, [1, 1, 1, 1, 1, 3, 5, 8, 12, 13, 16], "{}", rendered(&errors));
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        let binary = [FRONT.as_bytes(), b"Text \x00\x01\x02\n"].concat();
        let errors = parse("a.md", &binary).unwrap_err();
        only(&errors, 1, 6, "binary");
        let latin1 = [FRONT.as_bytes(), b"caf\xe9\n\n```rhai check\nx\n```\n"].concat();
        let errors = parse("a.md", &latin1).unwrap_err();
        assert_eq!(errors.len(), 2, "{}", rendered(&errors));
        assert_eq!((errors[0].line, errors[0].column), (BODY, 4));
        assert_eq!(errors[1].line, BODY + 2);
    }

    #[test]
    fn empty_files_and_files_without_text_say_so() {
        for empty in ["", "\n\n", "\u{feff}"] {
            let errors = bad_file(empty);
            assert_eq!((errors.len(), errors[0].line), (1, 1));
            assert!(errors[0].message.contains("empty"));
        }
        only(&bad("\n\n"), 1, 1, "has no text");
    }

    #[test]
    fn a_line_of_ten_megabytes_is_refused_quickly() {
        let line = "x".repeat(10_000_000);
        let start = std::time::Instant::now();
        only(&bad(&format!("Text.\n\n{line}\n")), 3, 1, "10000000 bytes");
        let errors = bad_file(&format!("+++\ntitle = \"{line}\"\n"));
        assert_eq!(errors[0].line, 1);
        assert!(rendered(&errors).len() < 2000);
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn thousands_of_faults_are_cut_with_their_count() {
        // And one for the number of blocks.
        let errors = bad(&"```rhai check\nx\n```\n".repeat(5000));
        assert_eq!(errors.len(), 101);
        assert!(errors[100].message.contains("4901 further errors"));
        let start = std::time::Instant::now();
        bad(&"```rhai run\nx\n".repeat(20_000));
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let errors = load(std::path::Path::new("no/such/lesson.md")).unwrap_err();
        assert!(errors[0].render().contains("no/such/lesson.md"));
        assert!(errors[0].message.contains("can't be read"));
        assert!(load(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).is_err());
    }

    #[test]
    fn the_rendering_shows_the_line_with_a_caret() {
        let errors = bad("Text.\n\n```rhai run points=2\nx\n```\n");
        assert_eq!(
            errors[0].render(),
            "error: unknown attribute `points` of `run`\n  --> a.md:11:13\n   |\n\
             11 | ```rhai run points=2\n   |             ^\n   = the attributes here: id"
        );
    }
}

mod linting {
    use super::*;

    fn faults(body: &str) -> Vec<(usize, usize, String)> {
        let errors = lint(&good(body));
        errors.into_iter().map(|e| (e.line + 1 - BODY, e.column, e.message)).collect()
    }

    /// Asserts one fault at this line and column of the body with these words.
    fn only(body: &str, line: usize, column: usize, words: &str) {
        let faults = faults(body);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!((faults[0].0, faults[0].1), (line, column), "{faults:?}");
        assert!(faults[0].2.contains(words), "{faults:?}");
    }

    #[test]
    fn a_whole_exercise_has_no_fault() {
        assert_eq!(faults(EXERCISE), []);
    }

    #[test]
    fn an_exercise_may_have_several_solutions_each_of_them_once() {
        let with = |other: &str| {
            EXERCISE.replace("```rhai wrong", &format!("```rhai solution\n{other}\n```\n\n```rhai wrong"))
        };
        assert_eq!(faults(&with("let y = x.cuda();")), []);
        let lesson = good(&with("let y = x.cuda();"));
        let Some(Element::Exercise(exercise)) = &lesson.steps[0].element else { panic!() };
        assert_eq!(exercise.solution.text.trim(), "let y = x.to(\"cuda\");");
        assert_eq!(exercise.others.len(), 1);
        only(&with("let y = x.to(\"cuda\");"), 14, 1, "stands there twice");
    }

    #[test]
    fn an_exercise_needs_hints_and_wrong_answers_of_its_own() {
        let cut = |from: &str| EXERCISE.split(from).next().unwrap().to_owned();
        only(&cut("```hint"), 1, 1, "no hint");
        let no_wrong = format!("{}```hint\nx\n```\n", cut("```rhai wrong"));
        only(&no_wrong, 1, 1, "no wrong answer");
        let started = EXERCISE.replace("let y = x;\n", "let y = x.to(\"cuda\");  \n\n");
        only(&started, 11, 1, "starter of `one` is its solution");
        let same = EXERCISE.replace("x.cpu()", "x.to(\"cuda\")");
        only(&same, 14, 1, "is the solution");
        let twice = format!("{EXERCISE}```rhai wrong because=\"On CPU\"\nlet y = 1;\n```\n");
        only(&twice, 21, 1, "fails because of `On CPU` too");
    }

    #[test]
    fn a_check_must_be_able_to_fail() {
        for check in ["let z = y;", "// expect(y)", "let s = \"expect(\";", "let expect = 1;"] {
            let body = EXERCISE.replace("expect_device(y, \"cuda:0\");", check);
            only(&body, 6, 1, "can't fail");
        }
    }

    #[test]
    fn checks_and_answers_are_code() {
        let with = |check: &str| EXERCISE.replace("expect_device(y, \"cuda:0\");", check);
        only(&with("let z = 1;\nexpect(y == 1"), 7, 14, "does not parse: Expecting ')'");
        only(&with("expect(y is ones(2) && call(\"y\", [1]) == 1, `${y}`);\n}"), 7, 1, "does not parse");
        let good = "with no_grad() { expect(type_of(call(\"y\", [y @ y])) == \"Tensor\", \"n\"); }";
        assert_eq!(faults(&with(good)), []);
        let predict = "```toml predict id=\"p\"\nask = \"?\"\nanswer = \"1 +\"\n\
                       explain = \"x\"\n```\n```rhai run\nx\n```\n";
        only(predict, 3, 14, "does not parse");
    }

    #[test]
    fn checks_ask_events_only_for_what_they_have() {
        let with = |check: &str| EXERCISE.replace("expect_device(y, \"cuda:0\");", check);
        assert_eq!(
            faults(&with(
                "expect(events.h2d.count == 1 && events . d2d . pinned == 0, `${events.d2h.bytes}`);\n\
                 expect(events.peak_bytes(\"cuda:0\") < 1 && events.overlap(1, 2) && y.events == 1);\n\
                 expect(\"events.nothing\" != `events.nothing`);"
            )),
            []
        );
        only(&with("let e = 1;\nexpect(events.lunches == 1);"), 7, 15, "no `lunches`");
        only(&with("expect(events.h2d.size == 1);"), 6, 19, "no `size`");
        let predict = "```toml predict id=\"p\"\nask = \"?\"\nanswer = \"1 + events.h3d\"\n\
                       explain = \"x\"\n```\n```rhai run\nx\n```\n";
        only(predict, 3, 22, "no `h3d`");
    }

    #[test]
    fn a_quiz_has_something_to_get_wrong() {
        let quiz = |second: &str| {
            format!(
                "```toml quiz id=\"q\"\nask = \"?\"\n[[choice]]\ntext = \"a\"\ncorrect = true\n\
                 explain = \"b\"\n{second}```\n"
            )
        };
        only(&quiz(""), 1, 1, "no choice");
        only(&quiz("[[choice]]\ntext = \"*a*\"\nexplain = \"c\"\n"), 7, 1, "twice");
    }

    #[test]
    fn links_stay_in_the_pack_or_go_to_https() {
        for fine in ["https://a.b/c", "assets/a.csv", "04-same-device.md#top", "#the-card-2"] {
            assert_eq!(faults(&format!("## The `card` 2\n\nSee [x]({fine}).\n")), [], "{fine}");
        }
        only("## A card\n\nSee [x](#a-cart).\n", 3, 5, "no heading `#a-cart`");
        assert_eq!(faults("![x](assets/p.png)\n"), []);
        for poor in [
            "[x](http://a.b)",
            "[x](file:///etc/passwd)",
            "[x](/etc/passwd)",
            "[x](assets/../../y)",
            "[x](other/a.csv)",
            "[x](javascript:alert)",
            "[x](assets/%2e%2e/y)",
            "[x]()",
            "![x](https://a.b/p.png)",
            "![x](p.png)",
        ] {
            only(&format!("One.\n\nSee {poor}.\n"), 3, 5, "leads nowhere");
        }
    }

    #[test]
    fn the_front_names_devices_and_prerequisites_in_their_form() {
        let front = FRONT.replace(
            "devices = [\"sim:t4x2\"]",
            "prerequisites = [\"moving\", \"Not It\", \"a/b\", \"c\", \"c\"]\n\
             devices = [\"cpu\", \"sim:t4x2,sim:a100\", \"gpu\", \"sim:\", \"cpu\", \"sim:t44\"]",
        );
        let lesson = parse("a.md", format!("{front}Text.\n").as_bytes()).unwrap();
        let faults: Vec<_> = lint(&lesson)
            .iter()
            .map(|e| (e.line, e.message.split(": ").next().unwrap().to_owned()))
            .collect();
        let expected = [
            (7, "`Not It` can't be a prerequisite"),
            (7, "`moving` can't be a prerequisite"),
            (7, "the prerequisite `c` is named twice"),
            (8, "`gpu` is not a set of devices"),
            (8, "`sim:` is not a set of devices"),
            (8, "`sim:t44` is not a set of devices"),
            (8, "the devices `cpu` are named twice"),
        ];
        assert_eq!(faults, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn html_and_a_hidden_block_at_the_end_are_named() {
        only("Text.\n\na<br>b\n", 3, 1, "HTML");
        assert_eq!(faults("Text <!-- note -->.\n"), []);
        only("Text.\n\n```rhai hidden\nx\n```\n", 4, 1, "nothing follows");
    }
}

fn moving() -> &'static str {
    include_str!("golden/moving.md")
}

mod built_in {
    use super::*;

    #[test]
    fn the_lessons_parse_and_keep_every_rule() {
        for (file, text) in built_in() {
            let lesson = parse(file, text.as_bytes()).unwrap_or_else(|e| panic!("{}", rendered(&e)));
            let faults = lint(&lesson);
            assert!(faults.is_empty(), "{}", rendered(&faults));
        }
    }

    #[test]
    fn every_line_of_code_stands_where_it_says() {
        for (file, text) in built_in() {
            let lesson = parse(file, text.as_bytes()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            let codes = codes(&lesson);
            assert!(codes.len() > 20);
            for code in codes {
                for (index, line) in code.text.lines().enumerate() {
                    let in_file = lines[code.file_line(index + 1) - 1];
                    // In a basic string of TOML quotes are escaped.
                    let in_file = in_file.replace("\\\"", "\"");
                    assert!(in_file.contains(line), "{file}: {line:?} is not {in_file:?}");
                }
            }
        }
    }

    #[test]
    fn moving_has_what_a_lesson_of_twenty_minutes_needs() {
        let lesson = parse("03-moving.md", moving().as_bytes()).unwrap();
        let count = |is: fn(&Element) -> bool| {
            let elements = lesson.steps.iter().filter_map(|step| step.element.as_ref());
            elements.filter(|e| is(e)).count()
        };
        assert!(count(|e| matches!(e, Element::Predict(_))) >= 3);
        assert!(count(|e| matches!(e, Element::Quiz(_))) >= 1);
        assert!(count(|e| matches!(e, Element::Exercise(_))) >= 3);
        let card = lesson.steps.last().unwrap();
        assert!(card.element.is_none());
        assert!(markdown::plain(&card.text).contains("Card: the PyTorch line and what it costs"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Err(errors) = parse("a.md", &bytes) {
            prop_assert!(!errors.is_empty());
        }
    }

    /// Pieces of lessons in any order: every error stands in the file, and shows the file's own line.
    #[test]
    fn any_mixture_of_pieces_is_parsed_and_errors_point_into_the_file(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "+++\n", "```rhai run\n", "```rhai exercise id=\"a\"\n", "```rhai check\n", "```hint\n",
            "````rhai wrong because=\"é\"\n", "```toml predict id=\"p\"\n", "```toml quiz id=\"q\"\n",
            "```\n", "````\n", "~~~\n", "~~~rhai solution\n", "> ", "- ", "    ", "\n", "\r\n", "text\n", "# Head\n",
            "ask = \"x\"\n", "answer = \"1\"\n", "[[choice]]\n", "correct = true\n", "unit = \"日\"\n", "<!--\n",
            "-->\n", "[l](x)\n", "<b>\n", "| a |\n|---|\n", "\u{1b}", "é", "id = \"a\"\n", "```rhai runn `x`\n",
        ]), 0..40),
        with_front in any::<bool>(),
    ) {
        let text = format!("{}{}", if with_front { FRONT } else { "" }, pieces.concat());
        let lines: Vec<String> = text
            .replace("\r\n", "\n")
            .replace('\u{1b}', "")
            .lines()
            .map(str::to_owned)
            .collect();
        match parse("a.md", text.as_bytes()) {
            Ok(lesson) => { lint(&lesson); }
            Err(errors) => for error in errors {
                let in_file = lines.get(error.line - 1).cloned().unwrap_or_default();
                prop_assert_eq!(&error.source_line, &in_file);
                prop_assert!(error.line <= lines.len() + 1);
                prop_assert!(error.column <= in_file.chars().count() + 1, "{}", error.render());
                prop_assert!(error.render().contains(&error.message));
            },
        }
    }

    /// The code of a cell is read from the line it stands in, however much text is before it.
    #[test]
    fn a_cell_knows_its_line(before in prop::collection::vec("[a-z .*_é]{0,12}", 0..30), crlf in any::<bool>()) {
        let text = format!("{FRONT}{}\n\n```rhai run\nlet marker = 1;\n```\n", before.join("\n"));
        let at = text.lines().position(|line| line == "let marker = 1;").unwrap() + 1;
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let lesson = parse("a.md", text.as_bytes()).unwrap();
        let Some(Element::Run(code)) = &lesson.steps[0].element else { panic!() };
        prop_assert_eq!(code.line, at);
        prop_assert_eq!(code.text.as_str(), "let marker = 1;\n");
    }

    /// A real lesson with a stretch cut out, or cut off in the middle of a character: read, or refused with
    /// places inside what is left.
    #[test]
    fn a_lesson_with_a_hole_is_parsed_or_refused(
        from in 0usize..18_000, length in prop_oneof![1usize..40, 1usize..18_000],
    ) {
        let bytes = moving().as_bytes();
        let from = from.min(bytes.len());
        let to = (from + length).min(bytes.len());
        let holed = [&bytes[..from], &bytes[to..]].concat();
        let lines = holed.iter().filter(|&&b| b == b'\n').count() + 1;
        match parse("a.md", &holed) {
            Ok(lesson) => { lint(&lesson); }
            Err(errors) => prop_assert!(errors.iter().all(|e| e.line <= lines)),
        }
    }
}

const PLACED: &str = r#"```toml predict id="guess"
ask = "How many?"
answer = "events.launches"
explain = "One."
devices = ["sim:t4x2"]
```

```rhai run
let x = ones(2);
```

```rhai exercise id="one" points=2 devices = ["sim:t4x2", "cpu"]
let y = x;
```

```rhai check devices = ["sim:t4x2"]
expect_device(y, "cuda:0");
```

```rhai check
expect(y.numel() == 2);
```

```rhai solution
let y = x.clone();
```

```rhai wrong because="not as expected"
let y = ones(3);
```

```rhai wrong because="on the CPU" devices = ["sim:t4x2"]
let y = x * 2.0;
```

```hint
Use *clone*.
```
"#;

fn on_three(body: &str) -> String {
    let devices = r#"devices = ["sim:t4x2", "cpu", "sim:tiny"]"#;
    format!("{}{body}", FRONT.replace(r#"devices = ["sim:t4x2"]"#, devices))
}

#[test]
fn parts_apply_on_the_devices_that_they_name() {
    let lesson = parse("a.md", on_three(PLACED).as_bytes()).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    assert!(lint(&lesson).is_empty(), "{}", rendered(&lint(&lesson)));
    let shown = |devices: &str| {
        let here = lesson.on(devices);
        let of = |id: &str| here.step(id).unwrap().element.clone();
        let (check, wrong) = match of("one") {
            Some(Element::Exercise(exercise)) => {
                (exercise.check.text.trim().to_owned(), exercise.wrong.len())
            }
            _ => (String::new(), 0),
        };
        (of("guess").is_some(), check, wrong, here.points(), here.steps.len())
    };
    let device = "expect_device(y, \"cuda:0\");".to_owned();
    assert_eq!(shown("sim:t4x2"), (true, device, 2, 2, 3));
    assert_eq!(shown("cpu"), (false, "expect(y.numel() == 2);".to_owned(), 1, 2, 3));
    assert_eq!(shown("sim:tiny"), (false, String::new(), 0, 0, 3));
    let said = |devices: &str| format!("{:?}", lesson.on(devices).step("one").unwrap().text);
    assert!(
        said("sim:tiny").contains("is left out. It is for \"), Text(\"\"), Code(\"sim:t4x2\")"),
        "{}",
        said("sim:tiny")
    );
    assert!(!said("cpu").contains("left out"));
}

#[test]
fn devices_of_parts_that_cannot_be_are_told_with_their_line() {
    let errors = |from: &str, to: &str| {
        let text = on_three(&PLACED.replace(from, to));
        match parse("a.md", text.as_bytes()) {
            Ok(lesson) => lint(&lesson),
            Err(errors) => errors,
        }
    };
    let exercise = "points=2 devices = [\"sim:t4x2\", \"cpu\"]";
    for (from, to, line, words) in [
        (exercise, "points=2 devices = [\"gpu\"]", 12, "`gpu` is not a set of devices"),
        (exercise, "points=2 devices = [\"sim:t5\"]", 12, "`sim:t5` is not a set of devices"),
        (exercise, "points=2 devices = []", 12, "a list of sets of devices"),
        (exercise, "points=2 devices = [3]", 12, "a list of sets of devices"),
        (exercise, "points=2 devices = [\"cpu\"", 12, "no closing bracket"),
        (exercise, "points=2 devices = [\"sim:h100\"]", 12, "not made for `sim:h100`"),
        (
            "check devices = [\"sim:t4x2\"]",
            "check devices = [\"cuda:0\"]",
            16,
            "`cuda:0` is not a set of devices",
        ),
        (
            "devices = [\"sim:t4x2\"]\n```\n\n```rhai run",
            "devices = [\"sim:t9\"]\n```\n\n```rhai run",
            5,
            "`sim:t9` is not a set",
        ),
        ("```rhai check\n", "```rhai check devices=\"sim:t4x2\"\n", 20, "has a second `check`"),
        ("```rhai check\n", "```rhai check devices = [\"sim:tiny\"]\n", 12, "has no check on `cpu`"),
        (
            "\" devices = [\"sim:t4x2\"]\nlet y = x * 2.0",
            "\" devices = [\"sim:h100\"]\nlet y = 2",
            32,
            "not made for `sim:h100`",
        ),
        ("rhai solution", "rhai solution devices = [\"cpu\"]", 24, "unknown attribute `devices`"),
    ] {
        let found = errors(from, to);
        let told = found.iter().any(|e| e.line == BODY - 1 + line && e.message.contains(words));
        assert!(told, "{to}: {}", rendered(&found));
    }
}
