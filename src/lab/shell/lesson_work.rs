//! What a learner writes in a lesson: a notebook of its cells, kept as it is written.
//!
//! Its cells are those of the lesson, under the ids of their steps, and the learner's own between them. Each of the
//! lesson's says which text it began with, so that a later version of the lesson can tell what the learner has written.

use std::path::Path;

use serde_json::Value;

use crate::base::figures::plural;
use crate::lab::model::document::{self, Document, Item};
use crate::lab::model::document::{Beside, Page, Stand};
use crate::lab::shell::book::{Book, shown, stand_of};
use crate::lesson::{Element, Lesson};
use crate::notebook::hash::Hash;
use crate::notebook::{Cell, Kind};
use crate::session::verdict::Verdict;

/// Where a cell says which text of the lesson it began with.
const BEGAN_WITH: &str = "lesson_text";

/// Opens what a learner has written in a lesson, and gives the lesson's document with it, and what there is to say.
///
/// # Errors
/// The file can't be read, or is no notebook.
pub fn open_lesson_work(
    path: &Path,
    mut document: Document,
) -> Result<(Book, Document, Vec<String>), String> {
    let Some(lesson) = document.lesson.clone() else { return Err("it is no lesson".into()) };
    let (mut book, mut notes) = Book::open_own(path, cells(&lesson).map(|(cell, _)| cell).collect())?;
    notes.extend(follow_lesson(&mut book, &lesson));
    take_over(&mut document, &book, &elsewhere(&lesson).collect::<Vec<_>>());
    Ok((book, document, notes))
}

/// Gives a step's cell the lesson's text again; how many lines were there, where they were others.
pub fn begin_step_anew(book: &mut Book, lesson: &Lesson, step: &str) -> Option<String> {
    let (first, _) = cells(lesson).find(|(cell, _)| cell.id == step)?;
    let was = book.cell(step).map(|cell| cell.source.clone())?;
    book.clear(step, &first.source);
    (was.trim() != first.source.trim()).then(|| plural(was.lines().count() as u64, "line", "lines"))
}

/// The cells of a lesson as they begin, and whether they are to be run as they stand.
fn cells(lesson: &Lesson) -> impl Iterator<Item = (Cell, bool)> {
    lesson.steps.iter().filter_map(|step| {
        let (code, as_it_stands) = match step.element.as_ref()? {
            Element::Run(code) => (code, true),
            Element::Exercise(exercise) => (&exercise.starter, false),
            Element::Predict(_) | Element::Quiz(_) => return None,
        };
        let mut cell = Cell::code(code.text.trim_end());
        cell.id.clone_from(&step.id);
        cell.metadata.insert(BEGAN_WITH.into(), Value::String(hash(&cell.source)));
        Some((cell, as_it_stands))
    })
}

fn hash(text: &str) -> String {
    Hash::of(text.trim().as_bytes()).to_string()
}

/// Brings what was written up to the lesson as it is now; says what it drops.
fn follow_lesson(book: &mut Book, lesson: &Lesson) -> Vec<String> {
    let mut notes = Vec::new();
    let mut above = None;
    for (new, as_it_stands) in cells(lesson) {
        let id = new.id.clone();
        match book.cell(&id) {
            Some(old) => {
                let (began, begins) = (old.metadata.get(BEGAN_WITH), new.metadata.get(BEGAN_WITH));
                if began != begins {
                    let untouched = began.and_then(Value::as_str) == Some(hash(&old.source).as_str());
                    notes.extend(replace(book, &id, &new, untouched, as_it_stands));
                }
            }
            None => book.insert_after(above.as_deref(), new),
        }
        above = Some(id);
    }
    let steps: Vec<String> = cells(lesson).map(|(cell, _)| cell.id).chain(elsewhere(lesson)).collect();
    let gone: Vec<Cell> = book.cells().iter().filter(|cell| is_gone(cell, &steps)).cloned().collect();
    for mut cell in gone.iter().cloned() {
        cell.metadata.remove(BEGAN_WITH);
        book.change_metadata(&cell.id, cell.metadata);
    }
    if !gone.is_empty() {
        let cells =
            plural(gone.len() as u64, "cell of a step that is gone is", "cells of steps that are gone are");
        notes.push(format!("the lesson has changed: {cells} kept as your own"));
    }
    notes
}

/// Steps whose cells are kept for the devices on which they ask something.
fn elsewhere(lesson: &Lesson) -> impl Iterator<Item = String> {
    lesson.steps.iter().filter(|step| step.is_elsewhere()).map(|step| step.id.clone())
}

fn is_gone(cell: &Cell, steps: &[String]) -> bool {
    cell.metadata.contains_key(BEGAN_WITH) && !steps.contains(&cell.id)
}

/// The lesson has another text for a cell than when it was begun.
fn replace(book: &mut Book, id: &str, new: &Cell, untouched: bool, as_it_stands: bool) -> Option<String> {
    book.change_metadata(id, new.metadata.clone());
    if untouched || as_it_stands {
        book.clear(id, &new.source);
    }
    match (untouched, as_it_stands) {
        (true, _) => None,
        (false, true) => {
            Some(format!("the lesson has changed: what you had in `{id}` is dropped for its new text"))
        }
        (false, false) => {
            Some(format!("the exercise `{id}` has changed since you wrote your answer, which is kept"))
        }
    }
}

/// Puts the learner's texts, outputs and own cells into the lesson's document.
/// Those of steps that are `elsewhere` stay in the file alone.
fn take_over(document: &mut Document, book: &Book, elsewhere: &[String]) {
    let passed = document.passed.clone();
    let mut above: Option<String> = None;
    let is_here = |cell: &&Cell| cell.kind != Kind::Raw && !elsewhere.contains(&cell.id);
    for kept in book.cells().iter().filter(is_here) {
        let mut taken = false;
        for item in document.steps.iter_mut().flat_map(|step| &mut step.items) {
            if let Item::Cell(cell) = item
                && cell.id == kept.id
            {
                let document::Cell { mut code, stored, .. } = shown(kept);
                let passed = passed.get(&cell.id).map(|passed| &passed.text);
                // It passed at the prompt: what passed is the learner's answer.
                if let Some(answer) = passed.filter(|_| is_untouched(kept)) {
                    code.clone_from(answer);
                }
                cell.verdict = cell.verdict.take().filter(|verdict| is_of(verdict, kept, passed));
                (cell.code, cell.stored, taken) = (code, stored, true);
            }
        }
        if !taken {
            let own = Item::Cell(Box::new(document::Cell { own: true, ..shown(kept) }));
            if let Err(own) = put(document, stand_of(kept), own) {
                // Of an item that is gone; or it was not said.
                put_after(document, above.as_deref(), own);
            }
        }
        above = Some(kept.id.clone());
    }
}

/// Nothing was written in the cell or run.
fn is_untouched(kept: &Cell) -> bool {
    let began = kept.metadata.get(BEGAN_WITH).and_then(Value::as_str);
    kept.ran.is_none() && began == Some(hash(&kept.source).as_str())
}

/// Whether a verdict is on what the cell shows. The prompt tells its verdicts to the same log.
fn is_of(verdict: &Verdict, kept: &Cell, passed: Option<&String>) -> bool {
    match (verdict, kept.ran) {
        (_, None) => false,
        (Verdict::Pass, Some(ran)) => passed.is_none_or(|code| Kind::Code.hash(code) == ran),
        _ => true,
    }
}

/// Where a cell of the learner's own stood; given back where that is nowhere.
fn put(document: &mut Document, stand: Option<Stand>, own: Item) -> Result<(), Item> {
    let Some(Stand { page, beside }) = stand else { return Err(own) };
    let (id, below) = match &beside {
        Some(Beside::Below(id)) => (Some(id.as_str()), 1),
        Some(Beside::Above(id)) => (Some(id.as_str()), 0),
        None => (None, 0),
    };
    let pages = || document.steps.iter().map(|step| &step.items).chain([&document.last]);
    let is_beside = |item: &Item| id.is_some() && item.id() == id;
    let found = pages().enumerate().find_map(|(page, items)| Some((page, items.iter().position(is_beside)?)));
    let last = document.steps.len();
    let found = found.map(|(page, at)| (page, Some(at + below)));
    let found = found.or_else(|| match page {
        Page::Last => Some((last, None)),
        Page::At(number) => (id.is_none() && number < last).then_some((number, None)),
    });
    let Some((page, at)) = found else { return Err(own) };
    let items = document.steps.get_mut(page).map_or(&mut document.last, |step| &mut step.items);
    items.insert(at.unwrap_or(items.len()), own);
    Ok(())
}

/// Below the cell of that id; without one, below the first text.
fn put_after(document: &mut Document, above: Option<&str>, item: Item) {
    let is_above = |item: &Item| matches!(item, Item::Cell(cell) if Some(cell.id.as_str()) == above);
    let mut pages = document.steps.iter_mut().map(|step| &mut step.items).chain([&mut document.last]);
    let found = pages.find_map(|items| items.iter().position(is_above).map(|at| (items, at + 1)));
    drop(pages);
    if let Some((items, at)) = found {
        items.insert(at, item);
        return;
    }
    if let Some(first) = document.steps.first_mut() {
        first.items.insert(first.items.len().min(1), item);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::lab::model::book_change::BookChange;

    const ONE: &str = "```rhai run id=\"a\"\nlet a = 1;\n```\n\n";

    fn lesson(body: &str) -> Document {
        let head = "+++\nid = \"l\"\ntitle = \"L\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\ndevices = [\"cpu\"]\n+++\n\n# L\n\n";
        Document::lesson(&crate::lesson::parse("l.md", format!("{head}{body}").as_bytes()).unwrap())
    }

    fn exercise(starter: &str) -> String {
        format!(
            "```rhai exercise id=\"e\" points=1\n{starter}\n```\n\n```rhai check\nexpect(x == 1, \"x\");\n```\n\n\
             ```rhai solution\nlet x = 1;\n```\n\n```rhai wrong because=\"x\"\nlet x = 2;\n```\n\n```hint\nOne.\n```\n"
        )
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tensorlab-work-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("l.ipynb")
    }

    fn texts(document: &Document) -> Vec<(String, bool)> {
        let items = document.steps.iter().flat_map(|step| &step.items);
        let cells = items.filter_map(|item| match item {
            Item::Cell(cell) => Some((cell.code.clone(), cell.own)),
            _ => None,
        });
        cells.collect()
    }

    fn text(id: &str, text: &str) -> BookChange {
        BookChange::Text { id: id.into(), text: text.into() }
    }

    #[test]
    fn what_is_written_is_there_when_the_lesson_is_opened_again_saved_or_not() {
        let path = folder("again");
        let open = || open_lesson_work(&path, lesson(&format!("{ONE}{}", exercise("let x = 0;")))).unwrap();
        let (mut book, document, notes) = open();
        assert_eq!(notes, Vec::<String>::new());
        assert_eq!(texts(&document), [("let a = 1;".to_owned(), false), ("let x = 0;".to_owned(), false)]);
        let own = document::Cell { id: "own".into(), code: "a + 1".into(), ..document::Cell::default() };
        book.change(BookChange::Insert { after: Some("a".into()), cell: Box::new(own) }).unwrap();
        book.change(text("e", "let x = 1;")).unwrap();
        drop(book);
        let wanted =
            [("let a = 1;".to_owned(), false), ("a + 1".to_owned(), true), ("let x = 1;".to_owned(), false)];
        let (mut book, document, notes) = open();
        assert_eq!((texts(&document).as_slice(), notes), (wanted.as_slice(), Vec::new()), "from the journal");
        book.save(false).unwrap();
        drop(book);
        assert_eq!(texts(&open().1), wanted, "from the file");
    }

    #[test]
    fn a_verdict_is_shown_with_what_it_was_given_on_and_with_nothing_else() {
        use crate::lab::model::document::Stored;
        use crate::lesson::{Entry, Key, LessonMemory, Record};
        let path = folder("verdict");
        let attempt = |code: &str| Record {
            key: Key { pack: "p".into(), lesson: "l".into(), step: "e".into() },
            version: "1".into(),
            at_ms: 0,
            entry: Entry::Attempt { verdict: Verdict::Pass, trace: None, code: Some(code.into()) },
        };
        let open = |passed: &str| {
            let memory = LessonMemory::of(&[attempt(passed)], "p", "l");
            let (book, document, _) =
                open_lesson_work(&path, lesson(&exercise("let x = 0;")).recalling(&memory)).unwrap();
            let mut items = document.steps.into_iter().flat_map(|step| step.items);
            let cell = items.find_map(|item| if let Item::Cell(cell) = item { Some(*cell) } else { None });
            (book, cell.unwrap())
        };
        let (mut book, cell) = open("let x = 1;");
        assert!(cell.verdict.is_none() && cell.done, "it passed in the prompt, and nothing ran here");
        assert_eq!(cell.code, "let x = 1;", "what passed there is the answer");
        book.change(text("e", "let x = 1;")).unwrap();
        let ran = Some(Kind::Code.hash("let x = 1;"));
        let stored = Box::new(Stored { outputs: vec![], ran, count: Some(1), usage: None });
        book.change(BookChange::Ran { id: "e".into(), stored }).unwrap();
        book.change(text("e", "let x = 77;")).unwrap();
        book.save(false).unwrap();
        drop(book);
        let (book, cell) = open("let x = 1;");
        assert_eq!((cell.verdict, cell.code.as_str()), (Some(Verdict::Pass), "let x = 77;"));
        assert_eq!(cell.stored.unwrap().ran, ran, "and the cell knows that its text is another");
        drop(book);
        assert!(open("let x = 2 - 1;").1.verdict.is_none(), "it passed in the prompt with other code");
    }

    #[test]
    fn own_cells_come_back_where_they_stood() {
        let path = folder("places");
        let predict = |id: &str, of: &str| {
            format!(
                "```toml predict id=\"{id}\"\nask = \"How much?\"\nunit = \"count\"\nanswer = \"1\"\ntolerance = 0\n\
                 explain = \"So.\"\n```\n\n```rhai run id=\"{of}\"\nlet {of} = 1;\n```\n\n"
            )
        };
        let body = format!("{ONE}## Two\n\nText.\n\n{}## Three\n\nNothing to do.\n", predict("p", "b"));
        let open = || open_lesson_work(&path, lesson(&body)).unwrap();
        let own = |id: &str| {
            Box::new(document::Cell { id: id.into(), code: id.into(), ..document::Cell::default() })
        };
        let (mut book, ..) = open();
        // In the notebook they stand below one another; each says where it stands in the lesson.
        let stands = [
            ("first", Page::At(1), Some(Beside::Above("p".into()))),
            ("second", Page::At(1), Some(Beside::Below("p".into()))),
            ("third", Page::At(1), Some(Beside::Below("second".into()))),
            ("alone", Page::At(2), None),
            ("last", Page::Last, None),
            ("gone", Page::At(1), Some(Beside::Below("no-more".into()))),
        ];
        let mut after = "a".to_owned();
        for (id, page, beside) in stands {
            book.change(BookChange::Insert { after: Some(after), cell: own(id) }).unwrap();
            book.change(BookChange::Stands { id: id.into(), stand: Stand { page, beside } }).unwrap();
            after = id.into();
        }
        for saved in [false, true] {
            if saved {
                book.save(false).unwrap();
            }
            drop(book);
            let (opened, document, notes) = open();
            book = opened;
            assert_eq!(notes, Vec::<String>::new());
            let ids =
                |items: &[Item]| items.iter().filter_map(Item::id).map(str::to_owned).collect::<Vec<_>>();
            let pages: Vec<Vec<String>> = document.steps.iter().map(|step| ids(&step.items)).collect();
            assert_eq!(pages[0], ["a"]);
            assert_eq!(pages[1], ["first", "p", "second", "third", "b"]);
            assert_eq!(pages[2], ["alone"]);
            assert_eq!(ids(&document.last), ["last", "gone"], "beside what stood above it in the notebook");
        }
    }

    #[test]
    fn a_changed_lesson_brings_its_new_texts_and_keeps_answers() {
        let path = folder("changed");
        let (mut book, ..) =
            open_lesson_work(&path, lesson(&format!("{ONE}{}", exercise("let x = 0;")))).unwrap();
        book.change(text("e", "let x = 1; // mine")).unwrap();
        book.save(false).unwrap();
        drop(book);
        let two = "```rhai run id=\"a\"\nlet a = 2;\n```\n\n```rhai run id=\"b\"\nlet b = 2;\n```\n\n";
        let (book, document, notes) =
            open_lesson_work(&path, lesson(&format!("{two}{}", exercise("let x = 7;")))).unwrap();
        let texts_now: Vec<String> = texts(&document).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts_now, ["let a = 2;", "let b = 2;", "let x = 1; // mine"]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("`e` has changed") && notes[0].contains("kept"), "{notes:?}");
        drop(book);
        let (_, document, notes) = open_lesson_work(&path, lesson(ONE)).unwrap();
        assert_eq!(texts(&document).last(), Some(&("let x = 1; // mine".to_owned(), true)));
        assert!(notes.iter().any(|note| note.contains("kept as your own")), "{notes:?}");
    }
}
