use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::lab::model::document::{Cell, Item, Step, Stored};
use crate::lab::model::screens::home::{Found, Listing};
use crate::lab::model::theme::Colour;
use crate::lab::shell::export::render_to_string;
use crate::lab::shell::lesson_work::open_lesson_work;
use crate::lab::shell::library::{Library, Opened};
use crate::notebook::{self, Kind};
use crate::plot::Figure;
use crate::session::protocol::{Display, Message, Outcome, VERSION};

/// A session that answers every evaluation with the code's length, and dies of `die`.
struct Echo {
    said: VecDeque<FromSession>,
    sent: Arc<Mutex<Vec<Request>>>,
    wake: Wake,
}

impl Echo {
    fn say(&mut self, said: FromSession) {
        self.said.push_back(said);
        (self.wake)();
    }
}

impl SessionLink for Echo {
    fn send(&mut self, request: Request) -> io::Result<()> {
        self.sent.lock().unwrap().push(request.clone());
        if let Request::Evaluate { id, cell, code, .. } = request {
            if code == "die" {
                let reason = Death { how: How::Signal(9), log: vec![] };
                self.say(FromSession::Died { reason });
                return Err(io::Error::other("broken pipe"));
            }
            if code == "figure" {
                let figure = Figure { title: "a drawn title".into(), ..Figure::default() };
                let content = Display::Figure { figure: Box::new(figure) };
                self.say(FromSession::Message(Message::Display { id, content, display_id: None }));
            }
            let outcome = Outcome::Ok { value: Some(code.len().to_string()) };
            let finished = Message::Finished { id, cell, outcome, usage: Box::default() };
            self.say(FromSession::Message(finished));
        }
        Ok(())
    }

    fn receive(&mut self) -> Option<FromSession> {
        self.said.pop_front()
    }
}

fn key(code: KeyCode) -> Input {
    Input::Msg(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// Runs the loop over a script: each entry waits until the screen shows its text, then sends its inputs.
fn play(document: Document, script: Vec<(&'static str, Vec<Input>)>) -> (State, End, Vec<Request>, u32) {
    let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&sent);
    let connect = move |wake: Wake| {
        let mut echo = Echo { said: VecDeque::new(), sent: Arc::clone(&requests), wake };
        let (devices, protections) = (vec![], vec![]);
        echo.say(FromSession::Message(Message::Ready { version: VERSION, pid: 1, devices, protections }));
        Ok(Box::new(echo) as Box<dyn SessionLink>)
    };
    let look = Look { colour: Colour::None, light: false, ascii: false };
    let mut state = State::new(document, look);
    update(&mut state, Msg::Resize(100, 30));
    let mut around = Surroundings::new(connect, inbox.clone());
    let mut script = script.into_iter().peekable();
    let mut frames = 0;
    let end = drive(&mut state, &inputs, &mut around, &mut |state| {
        frames += 1;
        let shown = render_to_string(state, 100, 30);
        while script.peek().is_some_and(|(text, _)| shown.contains(text)) {
            for input in script.next().unwrap().1 {
                inbox.send(input).unwrap();
            }
        }
        assert!(frames < 1000, "never came: {:?} in\n{shown}", script.peek().map(|s| s.0));
        Ok(())
    });
    around.part();
    let sent = sent.lock().unwrap().clone();
    (state, end, sent, frames)
}

#[test]
fn a_cell_runs_in_the_session_and_the_lab_quits() {
    let document = Document::notebook("n", ["1 + 1".to_owned()]);
    let script = vec![("ready", vec![key(KeyCode::F(5))]), ("= 5", vec![key(KeyCode::Char('q'))])];
    let (_, end, sent, _) = play(document, script);
    assert_eq!(end, End::Quit);
    assert!(matches!(sent.first(), Some(Request::Evaluate { cell: 1, code, .. }) if code == "1 + 1"));
}

#[test]
fn a_figure_is_drawn_on_a_thread_of_its_own_and_comes_back() {
    let document = Document::notebook("n", ["figure".to_owned()]);
    let script = vec![("ready", vec![key(KeyCode::F(5))]), ("a drawn title", vec![key(KeyCode::Char('q'))])];
    assert_eq!(play(document, script).1, End::Quit);
}

/// A library from which nothing can be opened.
struct Nothing;
impl Library for Nothing {
    fn list(&mut self) -> Listing {
        Listing::default()
    }
    fn open(&mut self, _: &Target) -> Result<Opened, String> {
        Err("there is nothing".into())
    }
    fn use_devices(&mut self, devices: &str, _: bool) -> Result<Option<Target>, String> {
        Err(format!("there is no device {devices}"))
    }
    fn was_saved(&mut self, _: &std::path::Path) {}

    fn devices(&self) -> Box<dyn FnOnce() -> Vec<Found> + Send> {
        Box::new(Vec::new)
    }
}

#[test]
fn a_notebook_that_cannot_be_opened_leaves_the_open_one_as_it_is() {
    let folder = std::env::temp_dir().join(format!("tensorlab-run-open-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("n.rhai");
    std::fs::write(&path, "// %%\nlet x = 1;\n").unwrap();
    let (book, _) = Book::open(&path).unwrap();
    let mut state = State::new(book.document(), Look::from_env(false, false));
    state.keep(Keeping::OnSave);
    let (inbox, _inputs) = mpsc::sync_channel(BACKLOG);
    let connect = |_: Wake| Err(io::Error::other("no session"));
    let mut around = Surroundings::new(connect, inbox);
    around.library = Some(Box::new(Nothing));
    around.book = Some(book);
    let other = Target::Notebook(folder.join("damaged.rhai"));
    assert!(around.open(&mut state, &other).is_err());
    for code in [KeyCode::Enter, KeyCode::Char('a')] {
        take(&mut state, key(code), &mut around);
    }
    let save = KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL);
    take(&mut state, Input::Msg(Msg::Key(save)), &mut around);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "// %%\nalet x = 1;\n");
    // Nobody claims to have saved what has no file any more.
    around.book = None;
    take(&mut state, key(KeyCode::Char('b')), &mut around);
    take(&mut state, Input::Msg(Msg::Key(save)), &mut around);
    assert_eq!(state.unsaved(), 1);
    assert!(render_to_string(&state, 120, 30).contains("not saved"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// A library of one lesson, whose work is in a file.
struct OneLesson {
    work: PathBuf,
    fails: bool,
}
impl Library for OneLesson {
    fn list(&mut self) -> Listing {
        Listing::default()
    }
    fn open(&mut self, _: &Target) -> Result<Opened, String> {
        if self.fails {
            return Err("the lesson is damaged".into());
        }
        let head = "+++\nid = \"l\"\ntitle = \"L\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\ndevices = [\"cpu\"]\n+++\n\n# L\n\n";
        let text = format!("{head}```rhai run id=\"a\"\nlet a = 1;\n```\n");
        let lesson = crate::lesson::parse("l.md", text.as_bytes()).unwrap();
        let (book, document, notes) = open_lesson_work(&self.work, Document::lesson(&lesson))?;
        Ok(Opened { document, book: Some(book), keep: None, at: None, notes })
    }
    fn use_devices(&mut self, devices: &str, _: bool) -> Result<Option<Target>, String> {
        Err(format!("there is no device {devices}"))
    }
    fn was_saved(&mut self, _: &std::path::Path) {}

    fn devices(&self) -> Box<dyn FnOnce() -> Vec<Found> + Send> {
        Box::new(Vec::new)
    }
}

#[test]
fn the_open_lesson_opened_again_has_what_was_written_and_goes_on_keeping_it() {
    let folder = std::env::temp_dir().join(format!("tensorlab-run-again-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let work = folder.join("l.ipynb");
    let mut state = State::at_home(Look::from_env(false, false));
    update(&mut state, Msg::Resize(120, 40));
    let (inbox, _inputs) = mpsc::sync_channel(BACKLOG);
    let mut around = Surroundings::new(|_: Wake| Err(io::Error::other("no session")), inbox);
    let lesson = Target::Lesson { pack: "p".into(), id: "l".into() };
    let types = |state: &mut State, around: &mut Surroundings<_>, text: &str| {
        for code in [KeyCode::F(2), KeyCode::Enter] {
            take(state, key(code), around);
        }
        for c in text.chars() {
            take(state, key(KeyCode::Char(c)), around);
        }
        take(state, key(KeyCode::Esc), around);
    };
    for (fails, typed) in [(false, "1"), (false, "2"), (true, "3"), (false, "4")] {
        around.library = Some(Box::new(OneLesson { work: work.clone(), fails }));
        assert_eq!(around.open(&mut state, &lesson).is_err(), fails);
        assert_eq!(state.keeping, Keeping::Always, "{typed}");
        types(&mut state, &mut around, typed);
    }
    around.library = Some(Box::new(OneLesson { work, fails: false }));
    around.open(&mut state, &lesson).unwrap();
    let shown = render_to_string(&state, 120, 40);
    assert!(shown.contains("4231let a"), "{shown}");
    assert!(!shown.contains("read-only"), "{shown}");
    drop(around);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_written_on_some_devices_waits_for_them_while_a_lesson_is_on_others() {
    let folder = std::env::temp_dir().join(format!("tensorlab-run-elsewhere-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let text = "+++\nid = \"l\"\ntitle = \"L\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
        devices = [\"sim:t4\", \"cpu\"]\n+++\n\n# L\n\n```rhai run id=\"a\"\nlet a = 1;\n```\n\n\
        ```rhai exercise id=\"b\" points=1 devices=[\"sim:t4\"]\nlet b = 1;\n```\n\n```rhai check\nexpect(b == 2, \"no\");\n```\n\n\
        ```rhai solution\nlet b = 2;\n```\n\n```rhai wrong because=\"no\"\nlet b = 3;\n```\n\n```hint\nTwo.\n```\n";
    let lesson = crate::lesson::parse("l.md", text.as_bytes()).unwrap();
    let open = |devices: &str| {
        open_lesson_work(&folder.join("l.ipynb"), Document::lesson(&lesson.on(devices))).unwrap()
    };
    let (mut book, ..) = open("sim:t4");
    book.clear("b", "let b = 22;");
    book.save(true).unwrap();
    drop(book);
    for (devices, codes) in [("cpu", vec!["let a = 1;"]), ("sim:t4", vec!["let a = 1;", "let b = 22;"])] {
        let (book, document, notes) = open(devices);
        assert_eq!(notes, Vec::<String>::new(), "{devices}");
        let items = document.steps.iter().flat_map(|step| &step.items);
        let cell = |item: &'_ Item| if let Item::Cell(cell) = item { Some(cell.code.clone()) } else { None };
        let shown: Vec<String> = items.filter_map(cell).collect();
        assert_eq!(shown, codes, "{devices}");
        drop(book);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_figure_of_the_file_is_drawn_though_nothing_ran() {
    let figure = Figure { title: "a drawn title".into(), ..Figure::default() };
    let outputs = vec![notebook::Output::display(&Display::Figure { figure: Box::new(figure) })];
    let stored =
        Some(Box::new(Stored { outputs, ran: Some(Kind::Code.hash("f")), count: Some(1), usage: None }));
    let cell = Cell { id: "a".into(), code: "f".into(), stored, ..Cell::default() };
    let step = Step { items: vec![Item::Cell(Box::new(cell))], ..Step::default() };
    let mut state = State::new(
        Document { title: "n".into(), steps: vec![step], ..Document::default() },
        Look::from_env(false, false),
    );
    let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
    let connect = |_: Wake| Err(io::Error::other("no session"));
    let mut around = Surroundings::new(connect, inbox.clone());
    around.library = Some(Box::new(Nothing));
    around.list(&mut state);
    say(&mut state, Msg::Resize(80, 24), &mut around);
    let mut ended = false;
    let end = drive(&mut state, &inputs, &mut around, &mut |state| {
        if !ended && render_to_string(state, 80, 24).contains("a drawn title") {
            ended = true;
            inbox.send(Input::Signal(15)).unwrap();
        }
        Ok(())
    });
    assert_eq!(end, End::Signal(15));
}

#[test]
fn a_death_keeps_the_text_and_a_restart_brings_a_new_session() {
    let document = Document::notebook("n", ["die".to_owned(), "ok".to_owned()]);
    let script = vec![
        ("ready", vec![key(KeyCode::F(5))]),
        ("was killed", vec![key(KeyCode::Char('r'))]),
        ("session ready", vec![key(KeyCode::Down), key(KeyCode::F(5))]),
        ("= 2", vec![Input::Signal(15)]),
    ];
    let (state, end, _, _) = play(document, script);
    assert_eq!(end, End::Signal(15));
    let items = state.document().steps.remove(0).items;
    let code = |item| match item {
        Item::Cell(cell) => (cell.code, cell.stored.is_some_and(|stored| stored.outputs[0].is_error())),
        other => panic!("{other:?}"),
    };
    let kept: Vec<(String, bool)> = items.into_iter().map(code).collect();
    assert_eq!(kept, [("die".into(), true), ("ok".into(), false)]);
}

#[test]
fn a_session_that_cannot_start_is_told() {
    let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
    let mut around = Surroundings::new(|_| Err(io::Error::other("no such program")), inbox.clone());
    let look = Look { colour: Colour::None, light: false, ascii: false };
    let mut state = State::new(Document::notebook("n", []), look);
    let end = drive(&mut state, &inputs, &mut around, &mut |state| {
        if render_to_string(state, 120, 30).contains("no such program") {
            inbox.send(key(KeyCode::Char('q'))).unwrap();
        }
        Ok(())
    });
    assert_eq!(end, End::Quit);
}

#[test]
fn nothing_is_drawn_while_nothing_changes_and_a_flood_is_batched() {
    let document = Document::notebook("n", ["x".to_owned()]);
    let mut flood: Vec<Input> = (0..200).map(|_| key(KeyCode::F(2))).collect();
    flood.push(key(KeyCode::Char('q')));
    let (_, _, _, frames) = play(document, vec![("ready", flood)]);
    assert!(frames < 20, "{frames} frames for one flood");
}

#[test]
fn progress_of_a_second_lab_is_kept_with_its_text_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("tensorlab-run-second-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut lesson = OneLesson { work: folder.join("l.ipynb"), fails: false };
    let target = Target::Lesson { pack: "p".into(), id: "l".into() };
    let kept = Arc::new(Mutex::new(Vec::new()));
    let open = |state: &mut State, around: &mut Surroundings<_>, lesson: &mut OneLesson| {
        let Opened { document, book, .. } = lesson.open(&target).unwrap();
        let log = Arc::clone(&kept);
        around.keep = Some(Box::new(move |step: &str, entry: &Entry| {
            log.lock().unwrap().push((step.to_owned(), entry.clone()));
            Ok(())
        }));
        around.book = book;
        let keeping = around.keeping();
        say(state, Msg::Opened { document, at: None, keeping }, around);
        around.tell_file(state);
    };
    let first = lesson.open(&target).unwrap().book;
    let mut state = State::at_home(Look::from_env(false, false));
    update(&mut state, Msg::Resize(120, 40));
    let (inbox, _inputs) = mpsc::sync_channel(BACKLOG);
    let mut around = Surroundings::new(|_: Wake| Err(io::Error::other("no session")), inbox);
    open(&mut state, &mut around, &mut lesson);
    assert_eq!(state.keeping, Keeping::Nothing);
    around.record("a".into(), Entry::Ran { ok: true }).unwrap();
    around.tell_file(&mut state);
    assert!(kept.lock().unwrap().is_empty(), "its text is not kept either");
    drop(first);
    around.watched = Instant::now().checked_sub(HEARTBEAT * 2).unwrap();
    around.watch(&mut state);
    assert_eq!(state.keeping, Keeping::Always);
    around.record("a".into(), Entry::Skipped).unwrap();
    let all = kept.lock().unwrap().clone();
    assert_eq!(all, [("a".to_owned(), Entry::Ran { ok: true }), ("a".to_owned(), Entry::Skipped)]);
    std::fs::remove_dir_all(folder).unwrap();
}
