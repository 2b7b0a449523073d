use std::fs;
use std::path::PathBuf;

use super::*;
use crate::notebook::Output;

/// A folder of its own with a notebook of this text.
fn folder(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tensorlab-book-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("n.rhai");
    fs::write(&path, text).unwrap();
    path
}

fn ids(book: &Book) -> Vec<String> {
    book.notebook.cells.iter().map(|cell| cell.id.clone()).collect()
}

fn text(id: &str, text: &str) -> BookChange {
    BookChange::Text { id: id.into(), text: text.into() }
}

fn new_cell(id: &str, code: &str) -> Box<document::Cell> {
    Box::new(document::Cell { id: id.into(), code: code.into(), ..document::Cell::default() })
}

#[test]
fn raw_text_is_shown_and_stays_what_it_is() {
    let source =
        "// %% [markdown]\n// # T\n\n// %%  One\nlet x = 1;\n\n\n// %% [raw]\n// between\n// %%\nx\n";
    let path = folder("raw", source);
    let (mut book, notes) = Book::open(&path).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    let document = book.document();
    let raw = document.steps[0].items.iter().filter(|item| matches!(item, Item::Cell(cell) if cell.raw));
    assert_eq!((document.steps[0].items.len(), raw.count()), (4, 1));
    book.save(false).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), source);
    let [_, one, raw, last] = ids(&book).try_into().unwrap();
    book.change(text(&one, "let x = 2;")).unwrap();
    book.change(BookChange::Insert { after: Some(raw.clone()), cell: new_cell("new", "new") }).unwrap();
    book.change(text(&raw, "between")).unwrap();
    book.save(false).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(written, source.replace("= 1", "= 2").replace("// %%\nx", "\n// %%\nnew\n// %%\nx"));
    book.change(BookChange::Remove { id: one }).unwrap();
    book.change(BookChange::Markdown { id: last, markdown: true }).unwrap();
    let kinds: Vec<_> = book.notebook.cells.iter().map(|c| (c.kind, c.source.as_str())).collect();
    use Kind::*;
    assert_eq!(kinds, [(Markdown, "# T"), (Raw, "between"), (Code, "new"), (Markdown, "x")]);
}

#[test]
fn what_was_not_saved_comes_back_with_its_outputs() {
    let path = folder("crash", "// %%\nlet x = 1;\n// %%\nx\n");
    let (mut book, _) = Book::open(&path).unwrap();
    let [a, b] = ids(&book).try_into().unwrap();
    book.change(text(&a, "let x = 5;")).unwrap();
    let outputs = vec![Output::result("5", 2)];
    let stored = Stored { outputs, ran: Some(Kind::Code.hash("x")), count: Some(2), usage: None };
    book.change(BookChange::Ran { id: b, stored: Box::new(stored.clone()) }).unwrap();
    drop(book);
    let (mut book, notes) = Book::open(&path).unwrap();
    assert_eq!((notes, book.facts().recovered), (Vec::new(), 2));
    let document = book.document();
    let [Item::Cell(first), Item::Cell(second)] = document.steps[0].items.as_slice() else { panic!() };
    assert_eq!(first.code, "let x = 5;");
    assert_eq!(second.stored.as_deref(), Some(&stored));
    book.save(false).unwrap();
    drop(book);
    let (book, notes) = Book::open(&path).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    assert!(book.document() == document, "the outputs are beside the file");
}

#[test]
fn what_the_journal_could_not_be_told_waits_for_it_in_order() {
    let path = folder("unjournaled", "// %%\nlet x = 1;\n");
    let (mut book, _) = Book::open(&path).unwrap();
    let [a] = ids(&book).try_into().unwrap();
    // No name is free to set aside what has the journal's.
    let journal = path.with_file_name(".n.rhai.journal");
    fs::write(&journal, "").unwrap();
    for n in 0..100 {
        let name =
            if n == 0 { ".n.rhai.journal.unread".into() } else { format!(".n.rhai.journal.unread-{n}") };
        fs::write(path.with_file_name(name), "").unwrap();
    }
    let inserted = BookChange::Insert { after: Some(a.clone()), cell: new_cell("new", "x") };
    assert!(book.change(inserted).is_err() && book.facts().unjournaled);
    assert!(book.change(text("new", "x + 1")).is_err());
    assert_eq!(book.notebook.cells[1].source, "x + 1", "saving would keep it");
    book.sync();
    assert!(book.facts().unjournaled);
    fs::remove_file(&journal).unwrap();
    book.sync();
    assert!(!book.facts().unjournaled);
    drop(book);
    let (book, notes) = Book::open(&path).unwrap();
    assert_eq!((notes, book.facts().recovered), (Vec::new(), 2));
    assert_eq!(book.notebook.cells[1].source, "x + 1");
}

#[test]
fn a_new_notebook_has_a_cell_that_comes_back_too() {
    let path = folder("new", "");
    fs::remove_file(&path).unwrap();
    let (mut book, _) = Book::open(&path).unwrap();
    let [only] = ids(&book).try_into().unwrap();
    book.change(text(&only, "1 + 1")).unwrap();
    drop(book);
    let (book, notes) = Book::open(&path).unwrap();
    assert!(notes.is_empty() && book.facts().recovered > 0, "{notes:?}");
    assert_eq!(book.notebook.cells[0].source, "1 + 1");
    assert!(!path.exists());
}

#[test]
fn changes_to_a_file_that_is_another_one_now_are_kept_beside_it() {
    let path = folder("aside", "// %%\nlet x = 1;\n");
    let (mut book, _) = Book::open(&path).unwrap();
    let [a] = ids(&book).try_into().unwrap();
    book.change(text(&a, "mine")).unwrap();
    drop(book);
    fs::write(&path, "// %%\ntheirs\n").unwrap();
    let (mut book, notes) = Book::open(&path).unwrap();
    assert!(notes[0].contains("n.recovered-1.rhai") && notes[0].contains("another program"), "{notes:?}");
    assert_eq!(book.notebook.cells[0].source, "theirs");
    let aside = path.with_file_name("n.recovered-1.rhai");
    assert!(fs::read_to_string(aside).unwrap().contains("mine"));
    let [a] = ids(&book).try_into().unwrap();
    book.change(text(&a, "theirs and mine")).unwrap();
    drop(book);
    let (book, _) = Book::open(&path).unwrap();
    assert_eq!(book.notebook.cells[0].source, "theirs and mine", "the journal goes on");
}

#[test]
fn a_file_that_changed_meanwhile_is_written_over_only_when_told_so() {
    let path = folder("conflict", "// %%\nlet x = 1;\n");
    let (mut book, _) = Book::open(&path).unwrap();
    let is_changed = |book: &mut Book| {
        book.look_outside();
        book.facts().changed_outside
    };
    assert!(!is_changed(&mut book));
    fs::write(&path, "// %%\nsomething else\n").unwrap();
    assert!(is_changed(&mut book) && is_changed(&mut book), "as long as it lasts");
    let [a] = ids(&book).try_into().unwrap();
    book.change(text(&a, "mine")).unwrap();
    assert!(matches!(book.save(false), Err(NotSaved::Conflict(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "// %%\nsomething else\n");
    book.save(true).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("mine"));
    assert!(!is_changed(&mut book));
}

#[test]
fn a_moved_cell_keeps_its_title() {
    let source = "// %%  One\nlet x = 1;\n\n// %% [raw]\n// between\n\n// %%  Two\nx\n";
    let path = folder("move", source);
    let (mut book, _) = Book::open(&path).unwrap();
    let [one, raw, two] = ids(&book).try_into().unwrap();
    book.change(BookChange::Move { id: one.clone(), after: Some(two.clone()) }).unwrap();
    assert_eq!(ids(&book).last(), Some(&one));
    book.change(BookChange::Move { id: one, after: None }).unwrap();
    book.change(BookChange::Move { id: two, after: None }).unwrap();
    book.change(BookChange::Move { id: raw, after: None }).unwrap();
    book.save(false).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    let order: Vec<usize> = ["// between", "// %%  Two\nx", "// %%  One\nlet"]
        .map(|text| written.find(text).unwrap_or(usize::MAX))
        .to_vec();
    assert!(order.is_sorted() && order.last() != Some(&usize::MAX), "{written}");
}

#[test]
fn saving_elsewhere_asks_before_it_replaces_and_leaves_the_first_file_alone() {
    let path = folder("save-as", "// %%\nlet x = 1;\n");
    let (mut book, _) = Book::open(&path).unwrap();
    let [a] = ids(&book).try_into().unwrap();
    book.change(text(&a, "mine")).unwrap();
    let other = path.with_file_name("other.rhai");
    fs::write(&other, "// %%\ntheirs\n").unwrap();
    assert_eq!(book.save_as(Path::new("other.rhai"), false), Err(NotSaved::Exists(other.clone())));
    assert!(matches!(book.save_as(Path::new("no/folder.rhai"), false), Err(NotSaved::As { .. })));
    assert_eq!(fs::read_to_string(&other).unwrap(), "// %%\ntheirs\n");
    book.save_as(&other, true).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "// %%\nmine\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "// %%\nlet x = 1;\n");
    assert!(book.is_of(&other) && !path.with_file_name(".n.rhai.journal").exists());
    book.change(text(&a, "mine again")).unwrap();
    let (first, notes) = Book::open(&path).unwrap();
    assert!(notes.is_empty() && first.facts().read_only.is_none(), "it is free: {notes:?}");
    let (second, _) = Book::open(&other).unwrap();
    assert!(second.facts().read_only.is_some(), "this one is taken");
    drop((book, second));
    assert_eq!(Book::open(&other).unwrap().0.notebook.cells[0].source, "mine again");
}

#[test]
fn a_new_notebook_of_a_relative_path_is_whole_and_saved_elsewhere_by_its_shown_name() {
    let path = folder("relative", "");
    let there = path.with_file_name("work");
    fs::create_dir_all(&there).unwrap();
    // From the folder in which the tests run, up to the root and down again.
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(there.join("first.rhai").strip_prefix("/").unwrap());
    let (mut book, _) = Book::open(&relative).unwrap();
    assert!(book.path().is_absolute() && book.is_of(&relative));
    let shown = book.document().title;
    book.save_as(Path::new(&shown.replace("first", "second")), false).unwrap();
    assert!(there.join("second.rhai").exists(), "{}", book.path().display());
    book.save_as(Path::new("third.rhai"), false).unwrap();
    assert!(there.join("third.rhai").exists(), "{}", book.path().display());
}

#[test]
fn what_is_kept_by_itself_is_nothing_to_speak_of_after_a_crash() {
    let path = folder("one-change", "// %%\nlet x = 1;\n");
    let (mut book, _) = Book::open_own(&path, Vec::new()).unwrap();
    let [a] = ids(&book).try_into().unwrap();
    book.change(text(&a, "let x = 2;")).unwrap();
    drop(book);
    let (book, notes) = Book::open_own(&path, Vec::new()).unwrap();
    assert_eq!((notes, book.facts()), (Vec::new(), FileFacts::default()));
    assert_eq!(book.notebook.cells[0].source, "let x = 2;");
}

#[test]
fn the_second_lab_of_a_lesson_goes_on_from_what_the_first_has_left() {
    for crashes in [false, true] {
        let path = folder("lesson-relock", "// %%\na\n\n// %%\nb\n");
        let (mut first, _) = Book::open_own(&path, Vec::new()).unwrap();
        let (mut second, _) = Book::open_own(&path, Vec::new()).unwrap();
        assert_eq!((first.keeping(), second.keeping()), (Keeping::Always, Keeping::Nothing));
        let [a, b] = ids(&second).try_into().unwrap();
        first.change(text(&a, "a of the first")).unwrap();
        assert_eq!(second.ask_for_lock(), None);
        if !crashes {
            first.save(false).unwrap();
        }
        drop(first);
        let told = second.ask_for_lock().unwrap();
        assert!(told.contains("let go of this lesson") && !told.contains("recovered"), "{told}");
        assert_eq!(second.keeping(), Keeping::Always);
        // The lab tells now what was typed meanwhile.
        second.change(text(&b, "b of the second")).unwrap();
        second.save(false).unwrap();
        drop(second);
        let (third, notes) = Book::open_own(&path, Vec::new()).unwrap();
        let texts: Vec<_> = third.notebook.cells.iter().map(|cell| cell.source.as_str()).collect();
        assert_eq!((texts, notes), (vec!["a of the first", "b of the second"], Vec::new()), "{crashes}");
        assert!(
            !path.with_file_name("n.recovered-1.rhai").exists(),
            "nothing took the place of another thing"
        );
    }
}

#[test]
fn what_both_labs_wrote_in_one_cell_of_a_lesson_is_kept() {
    for (crashes, waits) in [(false, false), (true, false), (true, true)] {
        let path = folder("lesson-both", "").with_file_name("l.ipynb");
        let (mut first, _) = Book::open_own(&path, vec![Cell::code("a"), Cell::code("b")]).unwrap();
        let [a, b] = ids(&first).try_into().unwrap();
        first.change(text(&b, "b of both")).unwrap();
        first.save(false).unwrap();
        let (mut second, _) = Book::open_own(&path, Vec::new()).unwrap();
        first.change(text(&a, "a of the first")).unwrap();
        if !crashes {
            first.save(false).unwrap();
        }
        drop(first);
        second.ask_for_lock().unwrap();
        // What the second lab shows is not what the first has left, so that it can be written over later as well.
        if waits {
            assert_eq!(second.change(text(&b, "b of the second")).unwrap(), None);
            second.save(false).unwrap();
        }
        let told = second.change(text(&a, "a of the second")).unwrap().unwrap();
        let aside = path.with_file_name("l.recovered-1.ipynb");
        assert!(told.contains(&aside.display().to_string()), "{told}");
        assert!(fs::read_to_string(&aside).unwrap().contains("a of the first"), "{crashes}");
        assert_eq!(second.change(text(&a, "a of the second, more")).unwrap(), None, "it is told once");
        second.save(false).unwrap();
        drop(second);
        let (third, _) = Book::open_own(&path, Vec::new()).unwrap();
        assert_eq!(third.notebook.cells[0].source, "a of the second, more");
    }
}

#[test]
fn what_the_first_lab_left_and_what_the_second_typed_are_both_kept() {
    let path = folder("relock", "// %%\nlet x = 1;\n");
    let (mut first, _) = Book::open(&path).unwrap();
    let (mut second, notes) = Book::open(&path).unwrap();
    assert!(notes[0].contains("read-only") && second.facts().read_only.is_some());
    let [a] = ids(&second).try_into().unwrap();
    second.change(text(&a, "second")).unwrap();
    assert_eq!(second.ask_for_lock(), None);
    first.change(text(&a, "first")).unwrap();
    drop(first);
    let told = second.ask_for_lock().unwrap();
    assert!(told.contains("can be saved here now") && told.contains("n.recovered-1.rhai"), "{told}");
    let aside = path.with_file_name("n.recovered-1.rhai");
    assert!(fs::read_to_string(aside).unwrap().contains("first"));
    assert_eq!(second.facts(), FileFacts::default());
    drop(second);
    let (mut third, notes) = Book::open(&path).unwrap();
    assert!(notes.is_empty() && third.facts().recovered > 0, "{notes:?}");
    assert_eq!(third.notebook.cells[0].source, "second");
    // Reloading drops it, after the differences were shown.
    assert_eq!(third.differences().unwrap(), ["  // %%", "- second", "+ let x = 1;"]);
    third.reload().unwrap();
    assert_eq!(third.differences().unwrap(), Vec::<String>::new());
    drop(third);
    assert!(Book::open(&path).unwrap().1.is_empty());
}
