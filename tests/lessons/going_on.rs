//! A lesson at the prompt that was begun before.

use super::walks::whole;
use super::*;

#[test]
fn a_walk_goes_on_where_it_was_left_in_the_state_that_is_needed() {
    let lesson = Lesson::new("resumed", SIM, &whole());
    let (said, _) = lesson.walk("sim:t4x2", "1 KiB\n\nq\n");
    assert!(said.contains("Exactly right.") && said.contains("Until next time."), "{said}");
    let (said, _) = lesson.walk("sim:t4x2", &format!("{}\nlet y = x.sum().item();\n.\n", lesson.choices().1));
    assert!(!said.contains("How many bytes?") && said.contains("here you left off"), "{said}");
    assert!(said.contains("Passed.") && !said.contains("NameError"), "{said}");
    let (said, code) =
        Lesson::new("lacks", &format!("{SIM}\n[requires]\ngpus = 2"), &whole()).walk("cpu", "");
    assert!(said.contains("the lesson needs 2 GPUs, and this machine has none"), "{said}");
    assert_eq!(code, Some(4));
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
