//! A later version of a pack, for learners who have passed exercises of the one before.

use std::io::Write;
use std::process::Stdio;

use super::*;

const HEAD: &str = "+++\nid = \"first\"\ntitle = \"F\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
                    devices = [\"cpu\"]\n+++\n\n# F\n\n";

/// A lesson in which `b` goes on from what `a` asks for.
fn lesson(check: &str, area: &str, b: &str) -> String {
    let one = |id: &str, starter: &str, check: &str, solution: &str| {
        format!(
            "```rhai exercise id=\"{id}\" points=1\n{starter}\n```\n\n```rhai check\n{check}\n```\n\n```rhai solution\n\
             {solution}\n```\n\n```rhai wrong because=\"define\"\nlet other = 0;\n```\n\n```hint\nThink.\n```\n\n"
        )
    };
    let (a, b) =
        (one("a", "let none = 0;", check, area), one("b", "let none = 1;", "expect_equal(y, 24);", b));
    format!("{HEAD}{a}{b}")
}

fn walk(folder: &Folder, typed: &str) -> String {
    let mut command = folder.program();
    command.args(["lesson", "start", "p/first", "--plain"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("{}{}", out(&output), err(&output))
}

/// The version of the pack with this lesson, installed.
fn installed(folder: &Folder, version: &str, lesson: &str) {
    let manifest = folder.at("p/pack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("version") => format!("version = \"{version}\"\n"),
        line => format!("{line}\n"),
    });
    std::fs::write(&manifest, lines.collect::<String>()).unwrap();
    std::fs::write(folder.at("p/lessons/01-first.md"), lesson).unwrap();
    folder.says(&["pack", "install", "p"]);
}

const TWO: &str = "fn area(w, h) { w * h }";
const CHECK_TWO: &str = "expect_equal(call(\"area\", [2, 3]), 6);";

#[test]
fn an_answer_that_no_longer_passes_makes_room_for_the_solution_and_one_that_does_stays() {
    let folder = Folder::new("versions");
    folder.pack("p");
    installed(&folder, "0.1.0", &lesson(CHECK_TWO, TWO, "let y = area(2, 3) * 4;"));
    let said = walk(&folder, "fn area(w, h) { let mine = 4; w * h }\n.\n");
    assert!(said.contains("Passed."), "{said}");
    // Another text of the check, which the answer passes: what it makes is there.
    let again = format!("{CHECK_TWO} expect_equal(call(\"area\", [1, 3]), 3);");
    installed(&folder, "0.1.1", &lesson(&again, TWO, "let y = area(2, 3) * 4;"));
    let said = walk(&folder, "let y = area(2, 3) * 4; let y = 0;\n.\n");
    assert!(!said.contains("earlier version") && said.contains("Not yet"), "{said}");
    let of_box = "fn area(box) { box.w * box.h }";
    let check = "expect_equal(call(\"area\", [#{w: 2, h: 3}]), 6);";
    installed(&folder, "0.2.0", &lesson(check, of_box, "let y = area(#{w: 2, h: 3}) * 4;"));
    let said = walk(&folder, "let y = area(#{w: 2, h: 3}) * 4;\n.\n");
    let told = "your answer to `a` is of an earlier version of the lesson and does not pass this one's check";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    assert!(said.contains("Passed.") && !said.contains("Not yet"), "{said}");
}
