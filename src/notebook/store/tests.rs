use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::notebook::{Cell, Output};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(fs::canonicalize(path).unwrap())
    }

    fn with(name: &str, text: &str) -> (Folder, PathBuf) {
        let folder = Folder::new(name);
        let path = folder.0.join("n.rhai");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Changes a cell's source, in the notebook and the journal.
fn edit(opened: &mut Opened, cell: usize, source: &str) {
    let change = Change::source(&opened.notebook.cells[cell], source).unwrap();
    assert!(opened.notebook.apply(&change));
    opened.file.record(&change).unwrap();
}

const TEXT: &str = "// %%\nlet x = 1;\n\n// %%\nx + 1\n";

#[test]
fn an_edit_is_in_the_journal_until_it_is_saved() {
    let (folder, path) = Folder::with("journal", TEXT);
    let mut opened = NotebookFile::open(&path).unwrap();
    assert!(opened.notes.is_empty() && opened.recovered.is_none());
    assert_eq!(folder.names(), [".n.rhai.lock", "n.rhai"]);
    edit(&mut opened, 0, "let x = 2;");
    opened.file.sync().unwrap();
    assert_eq!(folder.names(), [".n.rhai.journal", ".n.rhai.lock", "n.rhai"]);
    let cell = &mut opened.notebook.cells[1];
    (cell.ran, cell.outputs) = (Some(cell.hash()), vec![Output::result("3", 1)]);
    assert!(opened.file.save(&opened.notebook).unwrap().is_empty());
    assert_eq!(folder.names(), [".n.rhai.lock", "n.rhai", "n.rhai.outputs.json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT.replace("= 1", "= 2"));
    let notebook = opened.notebook.clone();
    drop(opened);
    assert_eq!(folder.names(), ["n.rhai", "n.rhai.outputs.json"]);
    assert_eq!(load(&path).unwrap().notebook.cells[1].outputs, notebook.cells[1].outputs);
}

#[test]
fn unsaved_changes_are_offered_and_accepted_or_discarded() {
    let (folder, path) = Folder::with("recover", TEXT);
    let mut opened = NotebookFile::open(&path).unwrap();
    edit(&mut opened, 0, "let x = 2;");
    edit(&mut opened, 1, "x + 2");
    drop(opened);
    let torn = folder.0.join(".n.rhai.journal");
    let mut bytes = fs::read(&torn).unwrap();
    bytes.extend(b"0badf00d {\"rec");
    fs::write(&torn, &bytes).unwrap();

    let mut again = NotebookFile::open(&path).unwrap();
    let found = again.recovered.clone().unwrap();
    assert_eq!((found.changes, found.torn_bytes, found.file_changed), (2, 14, false));
    assert_eq!(percent::write(&found.notebook), TEXT.replace("= 1", "= 2").replace("x + 1", "x + 2"));
    assert_eq!(again.notebook.cells[0].source, "let x = 1;", "nothing is taken without asking");
    let change = Change::ClearOutputs { id: again.notebook.cells[0].id.clone() };
    assert!(again.file.record(&change).is_err());
    drop(again);

    let mut again = NotebookFile::open(&path).unwrap();
    again.file.accept().unwrap();
    again.notebook = again.recovered.take().unwrap().notebook;
    edit(&mut again, 1, "x + 3");
    drop(again);
    let mut again = NotebookFile::open(&path).unwrap();
    let found = again.recovered.take().unwrap();
    assert_eq!((found.changes, found.torn_bytes), (3, 0));
    assert_eq!(found.notebook.cells[1].source, "x + 3");
    again.file.accept().unwrap();
    again.file.save(&found.notebook).unwrap();
    drop(again);
    assert!(NotebookFile::open(&path).unwrap().recovered.is_none());

    let mut opened = NotebookFile::open(&path).unwrap();
    edit(&mut opened, 0, "let x = 9;");
    drop(opened);
    let mut again = NotebookFile::open(&path).unwrap();
    assert!(again.recovered.is_some());
    again.file.discard().unwrap();
    drop(again);
    assert!(NotebookFile::open(&path).unwrap().recovered.is_none());
    assert_eq!(folder.names(), ["n.rhai"]);
}

#[test]
fn a_journal_without_a_beginning_is_reported_and_no_obstacle() {
    let (folder, path) = Folder::with("garbage", TEXT);
    fs::write(folder.0.join(".n.rhai.journal"), "\u{1}garbage").unwrap();
    let mut opened = NotebookFile::open(&path).unwrap();
    assert!(opened.recovered.is_none() && opened.notes[0].contains("was set aside"));
    edit(&mut opened, 0, "let x = 5;");
    drop(opened);
    assert_eq!(NotebookFile::open(&path).unwrap().recovered.unwrap().changes, 1);
}

#[test]
fn a_change_from_outside_is_a_conflict_and_never_overwritten() {
    let (_folder, path) = Folder::with("conflict", TEXT);
    let mut opened = NotebookFile::open(&path).unwrap();
    edit(&mut opened, 0, "let x = 2;");
    assert_eq!(opened.file.foreign_change(true), None);
    // Of the same length, and perhaps within the same tick of the clock.
    fs::write(&path, TEXT.replace("= 1", "= 7")).unwrap();
    assert_eq!(opened.file.foreign_change(true), Some(ForeignChange::Changed));
    let error = opened.file.save(&opened.notebook).unwrap_err();
    assert!(matches!(error, SaveError::Conflict { change: ForeignChange::Changed, .. }));
    assert!(error.to_string().contains("changed by another program"), "{error}");
    assert!(fs::read_to_string(&path).unwrap().contains("= 7"));
    // The same text again is no change, whatever the time says.
    fs::write(&path, TEXT).unwrap();
    assert_eq!(opened.file.foreign_change(false), None);
    fs::remove_file(&path).unwrap();
    let error = opened.file.save(&opened.notebook).unwrap_err();
    assert!(matches!(error, SaveError::Conflict { change: ForeignChange::Removed, .. }));
    opened.file.save_over(&opened.notebook).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("= 2"));
    opened.file.save(&opened.notebook).unwrap();
}

#[test]
fn the_file_a_journal_was_made_for_may_have_changed() {
    let (_folder, path) = Folder::with("changed", TEXT);
    let mut opened = NotebookFile::open(&path).unwrap();
    edit(&mut opened, 0, "let x = 2;");
    drop(opened);
    fs::write(&path, "// %%\nsomething else\n").unwrap();
    let found = NotebookFile::open(&path).unwrap().recovered.unwrap();
    assert!(found.file_changed && found.notebook.cells[0].source == "let x = 2;");
    // What was saved right before a crash is nothing to recover.
    fs::write(&path, TEXT.replace("= 1", "= 2")).unwrap();
    assert!(NotebookFile::open(&path).unwrap().recovered.is_none());
}

#[test]
fn a_journal_that_cant_be_read_is_set_aside_and_said() {
    let (folder, path) = Folder::with("unread", TEXT);
    let journal = folder.0.join(".n.rhai.journal");
    for (turn, aside) in [".n.rhai.journal.unread", ".n.rhai.journal.unread-1"].iter().enumerate() {
        fs::write(&journal, format!("{turn} of a later version\n")).unwrap();
        let mut opened = NotebookFile::open(&path).unwrap();
        assert!(
            opened.notes[0].contains("can't be read") && opened.notes[0].contains(aside),
            "{:?}",
            opened.notes
        );
        assert!(opened.recovered.is_none() && !journal.exists());
        edit(&mut opened, 0, &format!("let x = 2{turn};"));
        opened.file.sync().unwrap();
        assert!(journal.exists());
        opened.file.save(&opened.notebook).unwrap();
        let kept = fs::read_to_string(folder.0.join(aside)).unwrap();
        assert_eq!(kept, format!("{turn} of a later version\n"));
    }
    // Nothing was written to it yet.
    fs::write(&journal, "").unwrap();
    let mut opened = NotebookFile::open(&path).unwrap();
    assert!(opened.notes.is_empty() && !journal.exists());
    // One that appears later is not overwritten either.
    fs::write(&journal, "somebody's").unwrap();
    edit(&mut opened, 0, "let x = 3;");
    assert_eq!(fs::read_to_string(folder.0.join(".n.rhai.journal.unread-2")).unwrap(), "somebody's");
}

#[test]
fn a_second_lab_reads_only() {
    let (_folder, path) = Folder::with("second", TEXT);
    let mut first = NotebookFile::open(&path).unwrap();
    edit(&mut first, 0, "let x = 2;");
    let mut second = NotebookFile::open(&path).unwrap();
    let why = second.file.read_only().unwrap().to_string();
    assert!(why.contains(&format!("process {}", std::process::id())) && why.contains("read-only"), "{why}");
    assert!(second.recovered.is_none(), "the journal is the first one's");
    edit(&mut second, 0, "let x = 3;");
    assert!(matches!(second.file.save(&second.notebook), Err(SaveError::ReadOnly(_))));
    drop(second);
    first.file.save(&first.notebook).unwrap();
    drop(first);
    assert!(NotebookFile::open(&path).unwrap().file.read_only().is_none());
}

#[test]
fn a_new_file_is_made_by_saving() {
    let folder = Folder::new("new");
    let path = folder.0.join("new.ipynb");
    let mut opened = NotebookFile::open(&path).unwrap();
    opened.notebook.insert(0, Cell::code("1"));
    fs::write(&path, "{}").unwrap();
    let error = opened.file.save(&opened.notebook).unwrap_err();
    assert!(matches!(error, SaveError::Conflict { change: ForeignChange::Appeared, .. }));
    fs::remove_file(&path).unwrap();
    opened.file.save(&opened.notebook).unwrap();
    assert_eq!(load(&path).unwrap().notebook.cells[0].source, "1");
    assert!(NotebookFile::open(&folder.0).is_err());
    fs::write(&path, "no json").unwrap();
    drop(opened);
    let error = NotebookFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("is no notebook") && error.contains("JSON"), "{error}");
}

#[test]
fn outputs_that_are_not_ours_are_left_alone() {
    let (_folder, path) = Folder::with("foreign", TEXT);
    let beside = sidecar::path_of(&path);
    fs::write(&beside, "[1, 2]").unwrap();
    let mut opened = NotebookFile::open(&path).unwrap();
    assert!(opened.notes[0].contains("is not used"), "{:?}", opened.notes);
    let cell = &mut opened.notebook.cells[1];
    (cell.ran, cell.outputs) = (Some(cell.hash()), vec![Output::result("3", 1)]);
    let notes = opened.file.save(&opened.notebook).unwrap();
    assert!(notes[0].contains("another program's"), "{notes:?}");
    assert_eq!(fs::read_to_string(&beside).unwrap(), "[1, 2]");
    fs::write(&beside, "{\"format\":\"tensorlab-outputs\",\"ver").unwrap();
    assert!(load(&path).unwrap().notes[0].contains("damaged"));
    opened.file.save(&opened.notebook).unwrap();
    assert!(load(&path).unwrap().notes.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let (folder, path) = Folder::with("full", TEXT);
    let mut opened = NotebookFile::open(&path).unwrap();
    edit(&mut opened, 0, "let x = 2;");
    let full = |out: &mut BufWriter<fs::File>, bytes: &[u8]| {
        out.write_all(bytes)?;
        fs::OpenOptions::new().write(true).open("/dev/full")?.write_all(bytes)
    };
    let error = opened.file.save_through(&opened.notebook, full).unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
    assert_eq!(folder.names(), [".n.rhai.journal", ".n.rhai.lock", "n.rhai"]);
    opened.file.save(&opened.notebook).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT.replace("= 1", "= 2"));
}

/// Run again in a child process that the test below kills.
const CHILD: &str = "TENSORLAB_TEST_STORE_CHILD";

#[cfg(unix)]
#[test]
fn a_process_that_is_killed_while_it_saves_loses_nothing() {
    if let Some(path) = std::env::var_os(CHILD) {
        let mut opened = NotebookFile::open(Path::new(&path)).unwrap();
        edit(&mut opened, 0, "let x = 2;");
        let stuck = |out: &mut BufWriter<fs::File>, bytes: &[u8]| {
            out.write_all(bytes)?;
            out.flush()?;
            println!("\nwritten, not renamed");
            std::thread::sleep(std::time::Duration::from_secs(60));
            Ok(())
        };
        let _ = opened.file.save_through(&opened.notebook, stuck);
        return;
    }
    let (folder, path) = Folder::with("killed", TEXT);
    let name = "notebook::store::tests::a_process_that_is_killed_while_it_saves_loses_nothing";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.contains("written, not renamed")));
    assert!(NotebookFile::open(&path).unwrap().file.read_only().unwrap().contains(&child.id().to_string()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
    assert!(folder.names().contains(&".n.rhai.lock".to_string()), "a lock is left behind …");
    let half = |name: &String| name.starts_with(".tensorlab-") && name.ends_with(".tmp");
    let part = folder.names().into_iter().find(half).expect("what was half written is left behind as well …");
    let part = fs::OpenOptions::new().write(true).open(folder.0.join(part)).unwrap();
    part.set_modified(SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    let opened = NotebookFile::open(&path).unwrap();
    assert!(!folder.names().iter().any(half), "… and swept away");
    assert!(opened.file.read_only().is_none(), "… and taken over");
    let found = opened.recovered.unwrap();
    assert_eq!((found.notebook.cells[0].source.as_str(), found.file_changed), ("let x = 2;", false));
}
