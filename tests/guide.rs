//! `CONTRIBUTING.md` and `docs/architecture.md` keep to the code: the paths they name are there, the lists of what an
//! addition touches are whole, the lesson that is shown is one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::pack::{Folder, edit, files};

const GUIDE: &str = "CONTRIBUTING.md";
const PAGES: [&str; 2] = [GUIDE, "docs/architecture.md"];

/// Folders of which a list names every file that it touches.
const SEARCHED: [&str; 4] = ["src", "kernels", "lessons", "tests"];
/// What is read there.
const READ: [&str; 5] = [".rs", ".cuh", ".h", ".toml", ".md"];
/// What is recorded and not written, what other builds leave, and this file.
const PASSED_OVER: [&str; 3] = ["tests/golden/", "tests/fuzz/target/", "tests/guide.rs"];

/// Endings that make a path of a name without a folder.
const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".cuh", ".py", ".rhai", ".sh"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut out = String::new();
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => out += &format!("{line}\n"),
        }
    }
    assert_eq!(fence, None, "a block of code has no end");
    out
}

/// The first block of code in a language.
fn block<'t>(text: &'t str, language: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("````{language}\n")).unwrap();
    rest.split_once("````\n").unwrap().0
}

/// What stands in backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a span names a file or folder: no words, no placeholder such as `ID`.
fn is_path(span: &str) -> bool {
    let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
    let ending = ENDINGS.iter().any(|ending| span.strip_suffix(ending).is_some_and(|stem| !stem.is_empty()));
    let placeholder = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase());
    plain && (span.contains('/') || ending) && !span.split('/').any(placeholder)
}

/// The path from the root of one that is written from there or from `src`, where it leads somewhere.
fn found(path: &str) -> Option<String> {
    let places = [path.to_string(), format!("src/{path}")];
    places.into_iter().find(|place| root().join(place).exists())
}

/// Paths of a page that lead nowhere.
fn astray(text: &str) -> Vec<String> {
    let lines = prose(text);
    // Headings name examples, such as the name of a file wherever it lies.
    let paragraphs = lines.split("\n\n").filter(|part| !part.starts_with('#'));
    let mut out = Vec::new();
    for paragraph in paragraphs {
        if paragraph.matches('`').count() % 2 == 1 {
            out.push(format!("a backtick stands alone in {paragraph:?}"));
        }
        let lost = spans(paragraph).filter(|span| is_path(span) && found(span).is_none());
        out.extend(lost.map(|span| format!("there is no `{span}`")));
    }
    out
}

/// What is to be done for an addition.
struct Recipe {
    title: String,
    /// The names of the example.
    words: Vec<String>,
    /// The files of its list that lie in the folders that are searched.
    files: BTreeSet<String>,
}

/// The lists of the guide, each under its heading.
fn recipes(text: &str) -> Vec<Recipe> {
    let lines = prose(text);
    let (_, how) = lines.split_once("\n## How to add\n").unwrap();
    let how = how.split("\n## ").next().unwrap();
    let each = how.split("\n### ").skip(1).map(|part| {
        let (title, body) = part.split_once('\n').unwrap();
        let numbered =
            |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("   ");
        let list: Vec<&str> = body.lines().filter(numbered).collect();
        let list = list.join("\n");
        let named = spans(&list).filter(|span| is_path(span)).filter_map(found);
        let inside = |path: &String| SEARCHED.iter().any(|folder| path.starts_with(&format!("{folder}/")));
        Recipe {
            title: title.to_string(),
            words: spans(title).map(str::to_string).collect(),
            files: named.filter(inside).filter(|path| root().join(path).is_file()).collect(),
        }
    });
    each.collect()
}

/// Whether a text has a word that is no part of a longer one.
fn mentions(text: &str, word: &str) -> bool {
    let of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(of_a_name) && !text[at + word.len()..].starts_with(of_a_name))
}

/// Every file that is searched, with its text.
fn sources() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for folder in SEARCHED {
        for file in files(&root().join(folder)) {
            let path = format!("{folder}/{file}");
            let passed = PASSED_OVER.iter().any(|place| path.starts_with(place));
            if !passed && READ.iter().any(|ending| path.ends_with(ending)) {
                let text = std::fs::read(root().join(&path)).unwrap();
                out.push((path, String::from_utf8_lossy(&text).into_owned()));
            }
        }
    }
    out
}

/// Files that name the example and are not on the list, and the other way round. A file of the example's name names it.
fn gaps(recipe: &Recipe, sources: &[(String, String)]) -> Vec<String> {
    let names = |(path, text): &&(String, String)| {
        let of_it = |word: &String| path.ends_with(&format!("/{}", word.trim_matches('"')));
        // A lesson says much of what it does not touch.
        let is_prose = path.starts_with("lessons/course/lessons/");
        recipe.words.iter().any(|word| of_it(word) || !is_prose && mentions(text, word))
    };
    let touched: BTreeSet<String> = sources.iter().filter(names).map(|(path, _)| path.clone()).collect();
    let title = &recipe.title;
    let more = touched.difference(&recipe.files).map(|path| format!("{title}: {path} is not on the list"));
    let less =
        recipe.files.difference(&touched).map(|path| format!("{title}: {path} does not name the example"));
    let empty = recipe.files.is_empty().then(|| format!("{title}: the list names no file"));
    more.chain(less).chain(empty).collect()
}

#[test]
fn every_path_leads_somewhere() {
    let mut out = Vec::new();
    for name in PAGES {
        let text = page(name);
        out.extend(astray(&text).into_iter().map(|fault| format!("{name}: {fault}")));
        let paths = spans(&prose(&text)).filter(|span| is_path(span)).count();
        assert!(paths > 40, "{name} names {paths} paths");
    }
    assert!(out.is_empty(), "{}", out.join("\n"));
}

#[test]
fn each_list_names_the_files_that_its_example_touches() {
    let (recipes, sources) = (recipes(&page(GUIDE)), sources());
    assert!(recipes.len() >= 11, "{}", recipes.len());
    let out: Vec<String> = recipes.iter().flat_map(|recipe| gaps(recipe, &sources)).collect();
    assert!(out.is_empty(), "{}", out.join("\n"));
}

#[test]
fn the_lesson_that_is_shown_is_taken_as_it_stands() {
    let guide = page(GUIDE);
    let text = prose(&guide);
    let line = spans(&text).find(|span| span.ends_with(".md\",")).unwrap();
    let course = root().join("lessons/course");
    let file = line.trim_matches([',', '"']);
    assert!(!course.join("lessons").join(file).exists(), "{file} is there already");

    let folder = Folder::new("guide");
    for path in files(&course) {
        let to = folder.at("course").join(&path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(course.join(&path), to).unwrap();
    }
    let at = folder.at("course/lessons").join(file);
    let manifest = folder.at("course/pack.toml");
    std::fs::write(&at, block(&guide, "markdown")).unwrap();
    let check = ["pack", "check", "course"];
    let only_files = ["pack", "check", "course", "--no-run"];
    assert!(folder.fails(&only_files, 1).contains("the manifest does not list this lesson"));
    let listed = page("lessons/course/pack.toml");
    let last = listed.lines().rfind(|line| line.ends_with(".md\",")).unwrap();
    edit(&manifest, last, &format!("{last}\n    {line}"));
    assert!(folder.says(&only_files).contains("the files are fine"));

    // What the others do is checked elsewhere.
    let lessons: Vec<_> = listed.split('"').filter(|part| part.ends_with(".md")).collect();
    lessons.iter().for_each(|file| std::fs::remove_file(folder.at("course/lessons").join(file)).unwrap());
    lessons.iter().for_each(|file| edit(&manifest, &format!("    \"{file}\",\n"), ""));
    assert!(folder.says(&check).contains("fine, 1 lesson run through"));

    for (from, to, why) in [
        ("minutes = ", "minute = ", "unknown key `minute`"),
        ("events.h2d.bytes", "events.h2d.none", "none"),
        (".to(\"cuda\")", ".too(\"cuda\")", "the cell does not run"),
    ] {
        edit(&at, from, to);
        let text = folder.run(&check);
        let text = [text.stdout, text.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(text.contains(why) && !text.contains("ok  "), "{to}: {text}");
        edit(&at, to, from);
    }
    folder.says(&check);
}

mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> (String, String) {
        (path.into(), text.into())
    }

    const LIST: &str = "# A\n\n## How to add\n\n### A key, such as `Ctrl` (`ctrl.rs`)\n\n\
        1. `src/main.rs`: says\n   more, and `lib.rs`.\n\nBeside it, `src/op/mod.rs`.\n\n## Commits\n\n1. `src/cli/mod.rs`\n";

    #[test]
    fn paths_are_told_from_other_code() {
        for path in ["src/main.rs", "README.md", ".ci/run", "cli/run.rs", "device/cpu"] {
            assert!(is_path(path), "{path}");
        }
        for other in ["op::table()", "packs/ID/current", "cuda:0", ".ipynb", "a / b", "x.name", ".md"] {
            assert!(!is_path(other), "{other}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let none: [&str; 0] = [];
        assert_eq!(astray("`src/main.rs`, `op/mod.rs`\n\n```\n`gone.rs`\n```\n"), none);
        assert_eq!(
            astray("See `src/gone.rs`.\n\n`op/gone`"),
            ["there is no `src/gone.rs`", "there is no `op/gone`"]
        );
        assert!(astray("`src/main.rs")[0].contains("stands alone"));
    }

    #[test]
    fn a_list_that_lacks_a_file_or_names_one_too_many_is_found() {
        let all = recipes(LIST);
        let [recipe] = all.as_slice() else { panic!("{}", all.len()) };
        assert_eq!(recipe.words, ["Ctrl", "ctrl.rs"]);
        assert_eq!(recipe.files.iter().collect::<Vec<_>>(), ["src/lib.rs", "src/main.rs"]);
        let both = [source("src/main.rs", "(Ctrl)"), source("src/lib.rs", "use Ctrl;")];
        assert!(gaps(recipe, &both).is_empty());
        let none = "A key, such as `Ctrl` (`ctrl.rs`): src/lib.rs does not name the example";
        assert_eq!(
            gaps(recipe, &[source("src/main.rs", "Ctrl"), source("src/lib.rs", "Ctrls OfCtrl")]),
            [none]
        );
        for more in [source("src/keys.rs", "Ctrl::C"), source("src/ctrl.rs", "")] {
            let found = gaps(recipe, &[&both[..], &[more]].concat());
            assert!(found.len() == 1 && found[0].ends_with("is not on the list"), "{found:?}");
        }
    }
}
