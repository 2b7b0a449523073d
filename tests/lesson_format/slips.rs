//! Slips of authors that show without running anything: told at their place, where a step would be lost or a question
//! could not be answered.

use super::*;

/// What the file says of itself in the front matter of these tests, with more behind it.
fn front(more: &str) -> String {
    FRONT.replace("minutes = 5\n", &format!("minutes = 5\n{more}"))
}

/// What the rules say of a lesson that parses: line, column and text of each fault.
fn lints(text: &str) -> Vec<(usize, usize, String)> {
    let lesson = parse("a.md", text.as_bytes()).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    lint(&lesson).into_iter().map(|error| (error.line, error.column, error.render())).collect()
}

fn predict(unit: &str, answer: &str, tolerance: &str) -> String {
    format!(
        "```toml predict id=\"p\"\nask = \"How much?\"\nunit = \"{unit}\"\nanswer = \"{answer}\"\ntolerance = {tolerance}\n\
         explain = \"So.\"\n```\n\n```rhai run\nlet x = 1;\n```\n"
    )
}

#[test]
fn a_step_in_a_misspelt_language_is_not_lost() {
    only(&bad("```rahi run id=\"go\"\nlet x = 1;\n```\n"), 1, 4, "`rahi` is not the language");
    only(&bad("Text.\n\n```python check\nexpect(true);\n```\n"), 3, 4, "`python` is not the language");
    only(&bad("```rhai,run\nlet x = 1;\n```\n"), 1, 4, "one word");
    good("Text.\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n");
}

#[test]
fn bytes_are_not_taken_for_mebibytes() {
    for (unit, answer) in
        [("MiB", "events.h2d.bytes"), ("KiB", "cuda::memory_allocated()"), ("GB", "x.nbytes")]
    {
        let found = lints(&format!("{FRONT}{}", predict(unit, answer, "0")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, BODY + 3);
        assert!(found[0].2.contains(&format!("the question asks for {unit}")), "{}", found[0].2);
        assert!(found[0].2.contains("divide the answer by 1"), "{}", found[0].2);
    }
    for (unit, answer) in [
        ("bytes", "events.h2d.bytes"),
        ("MiB", "events.h2d.bytes / 1048576.0"),
        ("MiB", "held"),
        ("ms", "events.waited_ms"),
    ] {
        assert_eq!(lints(&format!("{FRONT}{}", predict(unit, answer, "0"))), [], "{unit} {answer}");
    }
}

#[test]
fn a_tolerance_of_the_whole_answer_is_none() {
    for share in ["\"100%\"", "\"1000 %\""] {
        only(&bad(&predict("ms", "events.time", share)), 5, 13, "a prediction can't be wrong");
    }
    good(&predict("ms", "events.time", "\"60%\""));
}

#[test]
fn devices_that_lack_what_a_lesson_needs_are_told_at_the_key() {
    let found = |requires: &str| {
        lints(&format!("{}Text.\n", FRONT.replace("x2\"]\n", &format!("x2\"]\n[requires]\n{requires}\n"))))
    };
    assert_eq!(found("gpus = 2"), []);
    assert_eq!(found("gpus = 2\ndevice_memory = \"8 GiB\""), []);
    for (requires, line, words) in [
        ("gpus = 4", 9, "needs 4 GPUs, and `sim:t4x2` has 2"),
        ("gpus = 1\ndevice_memory = \"64 GiB\"", 10, "needs 65,536 MiB of memory on each GPU"),
        ("device_memory = \"64 GiB\"", 9, "and those of `sim:t4x2` have"),
    ] {
        let found = found(requires);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0, found[0].1), (line, 1), "{}", found[0].2);
        assert!(found[0].2.contains(words), "{}", found[0].2);
    }
}

#[test]
fn an_expectation_or_a_kind_of_error_that_is_not_there_is_told() {
    let check = "expect_device(y, \"cuda:0\");";
    let found =
        |code: &str| lints(&format!("{FRONT}{}", EXERCISE.replace(check, &format!("{check}\n{code}"))));
    for (code, column, words) in [
        ("  expect_devise(y, \"cuda\");", 3, "did you mean `expect_device`?"),
        ("expect_cheap(y);", 1, "there is no expectation `expect_cheap`"),
        ("expect_error(\"RuntimeErorr\");", 14, "did you mean `RuntimeError`?"),
        ("expect_error(\"CudaError\");", 14, "the kinds are"),
    ] {
        let found = found(code);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0, found[0].1), (BODY + 6, column), "{}", found[0].2);
        assert!(found[0].2.contains(words), "{}", found[0].2);
    }
    assert_eq!(found("expect_error(\"OutOfMemoryError\");"), []);
    assert_eq!(found("fn expect_cheap(y) { expect(true, \"x\"); }\nexpect_cheap(1);"), []);
}

#[test]
fn limits_are_times_and_sizes_in_their_bounds() {
    for (limit, words) in [
        ("time = \"20 MiB\"", "`20 MiB` is not a time"),
        ("time = \"5 min\"", "is a time in ms or s"),
        ("time = \"0 s\"", "too little"),
        ("time = \"1e30 s\"", "from 1 ms to 86,400 s"),
        ("scratch = \"1e9 GiB\"", "from 1 byte to 1,024 GiB"),
        ("output = \"3 s\"", "`3 s` is not an amount of memory"),
        ("output = \"64\"", "it has no unit"),
    ] {
        let errors = bad_file(&format!("{}Text.\n", front(&format!("limits = {{{limit}}}\n"))));
        assert_eq!(errors.len(), 1, "{}", rendered(&errors));
        assert_eq!(errors[0].line, 7);
        assert!(rendered(&errors).contains(words), "{}", rendered(&errors));
    }
}

#[test]
fn what_is_shown_in_one_line_has_none_within() {
    let text = format!("{}Text.\n", FRONT.replace("\"Moving\"", "\"two\\nlines\""));
    let errors = bad_file(&text);
    assert_eq!((errors[0].line, errors[0].column), (3, 9), "{}", rendered(&errors));
    assert!(errors[0].message.contains("`title` has a line break"));
}

#[test]
fn an_id_that_is_none_says_by_which_rule() {
    for (id, words) in [("a".repeat(65), "at most 64 characters"), ("数据".into(), "letters a to z")] {
        let errors = bad(&format!("```rhai run id=\"{id}\"\nlet x = 1;\n```\n"));
        assert!(rendered(&errors).contains(words), "{}", rendered(&errors));
        let errors = bad_file(&format!("{}Text.\n", FRONT.replace("\"moving\"", &format!("\"{id}\""))));
        assert!(rendered(&errors).contains(words), "{}", rendered(&errors));
    }
}

#[test]
fn a_file_that_is_too_large_has_the_size_that_it_has() {
    let path = std::env::temp_dir().join(format!("tensorlab-large-{}.md", std::process::id()));
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(101_000_000).unwrap();
    let errors = load(&path).unwrap_err();
    std::fs::remove_file(path).unwrap();
    assert!(errors[0].message.contains("the file has 101000000 bytes"), "{}", rendered(&errors));
}
