//! Files of very many small things: read in time that grows as they do, and refused by count.

use std::time::{Duration, Instant};

use tensorlab::lesson::pack::Manifest;
use tensorlab::lesson::{LessonError, parse};
use tensorlab::notebook::percent;

use super::Folder;

/// What each of these takes is far below; where it grows as the square of the count, far above.
const SOON: Duration = Duration::from_secs(10);

const FRONT: &str = "+++\nid = \"a\"\ntitle = \"T\"\nsummary = \"S\"\nconcepts = [\"c\"]\nminutes = 5\n\
                     devices = [\"cpu\"]\n";

fn soon<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = act();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    done
}

/// Asserts that the first fault of a file says this.
fn refused<T>(what: &str, read: impl FnOnce() -> Result<T, Vec<LessonError>>, words: &str) {
    let Err(faults) = soon(what, read) else { panic!("{what} is read") };
    assert!(faults[0].message.contains(words), "{what}: {}", faults[0].render());
    assert!(faults.len() <= 101, "{what}: {} faults", faults.len());
}

#[test]
fn a_lesson_of_very_many_blocks_is_refused_by_their_count() {
    let lesson = |body: String| move || parse("a.md", format!("{FRONT}+++\n{body}").as_bytes());
    let limit = "a lesson has at most 1000 blocks with a role";
    refused("equal cells", lesson("```rhai run\n1\n```\n".repeat(20_000)), limit);
    let other: String = (0..20_000).map(|n| format!("```rhai run\n{n}\n```\n")).collect();
    refused("cells", lesson(other), limit);
    let hints = format!("```rhai exercise id=\"x\"\n1\n```\n{}", "```hint\nh\n```\n".repeat(20_000));
    refused("hints", lesson(hints), "has no check");
    refused("open fences", lesson("```rhai run\n1\n".repeat(20_000)), "is not closed");
    refused("nothing but fences", lesson("```rhai check\n```\n".repeat(1000)), "without an exercise");
    let most = soon("1000 equal cells", lesson("```rhai run\n1\n```\n".repeat(1000))).unwrap();
    let (first, last) = (&most.steps[0].id, &most.steps[999].id);
    assert_eq!(*last, format!("{first}-1000"));
    for text in ["# h\n\n", "- h\n", "[a](x.md)\n", "<b>\n\n", "```\n1\n```\n", "|a|\n|-|\n", "> h\n\n"] {
        soon(text, lesson(text.repeat(60_000))).unwrap();
    }
}

#[test]
fn very_many_keys_entries_and_faults_are_refused_by_their_count() {
    let keys = |count: usize| (0..count).map(|n| format!("key{n} = 1\n")).collect::<String>();
    let entries = |count: usize| (0..count).map(|n| format!("\"a{n}.md\",\n")).collect::<String>();
    let manifest = |text: String| move || Manifest::parse("pack.toml", text.as_bytes());
    refused("keys", manifest(keys(60_000)), "the manifest has 60000 keys, and may have 1000");
    let first = "the manifest has no `authors`";
    refused("fewer keys", manifest(keys(1000)), first);
    refused("lessons", manifest(format!("lessons = [{}]", entries(60_000))), first);
    let long = Manifest::parse("pack.toml", format!("lessons = [{}]", entries(1001)).as_bytes()).unwrap_err();
    assert!(long.iter().any(|e| e.message == "`lessons` has 1001 entries, and may have 1000"), "{long:?}");
    let data = "[[datasets]]\nfile = \"assets/x\"\nsha256 = \"x\"\nlicense = \"x\"\n".repeat(15_000);
    refused("datasets", manifest(data), "`datasets` has 15000 entries");
    refused("no TOML", manifest("= \n".repeat(100_000)), "this is not TOML");
    // All keys in few long lines: the line is not kept with each fault.
    let inline: String = (0..1000).map(|n| format!("k{n}=1,")).collect();
    let tables = format!("datasets = [{}]", format!("{{{inline}}},\n").repeat(100));
    refused("inline keys", manifest(tables), first);
    let front = format!("{FRONT}{}+++\nText\n", keys(60_000));
    refused("front matter", move || parse("a.md", front.as_bytes()), "the front matter has 60006 keys");
    refused("bytes", || parse("a.md", &b"\xff\n".repeat(500_000)), "not UTF-8");
    refused("lines", || parse("a.md", &b"a\n".repeat(4_000_000)), "the file has 8000000 bytes");
}

#[test]
fn a_notebook_of_very_many_equal_cells_is_read_in_time() {
    let read = |text: &str| soon(text, || percent::parse(&text.repeat(20_000)));
    for text in ["// %%\nlet x = 1;\n", "// %% [md]\n// a\n", "// %%\n", "// %% [md]\n// a\nlet x = 1;\n"] {
        let notebook = read(text);
        let ids: std::collections::BTreeSet<_> = notebook.cells.iter().map(|cell| &cell.id).collect();
        assert_eq!(ids.len(), notebook.cells.len());
    }
}

#[test]
fn a_link_that_leads_nowhere_is_looked_up_in_time_however_often_it_is_there() {
    let folder = Folder::new("links");
    let pack = folder.pack("p");
    let line = format!("{}\n", "[a](assets/point.csv) ".repeat(700));
    let lesson = std::fs::read_to_string(pack.join("lessons/01-first.md")).unwrap();
    std::fs::write(pack.join("lessons/01-first.md"), format!("{lesson}{}", line.repeat(60))).unwrap();
    for n in 0..900 {
        std::fs::write(pack.join(format!("assets/point{n}.csv")), "").unwrap();
    }
    let said = soon("links", || folder.fails(&["pack", "check", "--no-run", "p"], 1));
    assert!(
        said.contains("there is no file assets/point.csv") && said.contains("further faults"),
        "{said:.2000}"
    );
}
