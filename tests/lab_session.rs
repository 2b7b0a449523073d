//! The lab on a real session: lesson 3 in a child process, as a learner goes through it.

use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tensorlab::lab::{Document, Effect, Look, Msg, State, render_to_string, render_to_svg, update};
use tensorlab::session::client::Client;

const SIZE: (u16, u16) = (150, 42);

struct Learner {
    state: State,
    session: Client,
}

impl Learner {
    fn new() -> Learner {
        let (file, text) = tensorlab::lesson::BUILT_IN[0];
        let lesson = tensorlab::lesson::parse(file, text.as_bytes()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["session", "--stdio", "--devices", "sim:t4x2"]);
        let look = Look { colour: tensorlab::lab::Colour::True, light: false, ascii: false };
        let state = State::new(Document::lesson(&lesson), look);
        let mut learner = Learner { state, session: Client::spawn(command).unwrap() };
        learner.tell(Msg::Resize(SIZE.0, SIZE.1));
        learner
    }

    fn tell(&mut self, msg: Msg) {
        for effect in update(&mut self.state, msg) {
            if let Effect::Send(request) = effect {
                self.session.send(request).unwrap();
            }
        }
    }

    fn key(&mut self, code: KeyCode) {
        self.tell(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn screen(&self) -> String {
        render_to_string(&self.state, SIZE.0, SIZE.1)
    }

    /// Takes what the session says until the screen shows `text`.
    fn until(&mut self, text: &str) {
        let start = Instant::now();
        while !self.screen().contains(text) {
            assert!(start.elapsed() < Duration::from_secs(30), "no {text:?} on\n{}", self.screen());
            if let Ok(said) = self.session.events().recv_timeout(Duration::from_millis(50)) {
                self.tell(Msg::Session(said));
            }
            self.tell(Msg::Tick(start.elapsed()));
        }
    }
}

#[test]
fn a_copy_that_a_cell_makes_shows_on_the_machine_with_its_bytes_and_its_badge() {
    let mut learner = Learner::new();
    learner.until("session ready");
    learner.key(KeyCode::F(5));
    learner.until("ok");
    learner.key(KeyCode::Char('n'));
    learner.until("How many bytes");
    // The prediction is committed before its cell runs.
    learner.key(KeyCode::Tab);
    learner.key(KeyCode::Enter);
    for digit in "4194304".chars() {
        learner.key(KeyCode::Char(digit));
    }
    learner.key(KeyCode::Enter);
    learner.key(KeyCode::F(5));
    learner.until("1 transfer");
    learner.until("Exactly right.");
    learner.until("y        [1024");
    let screen = learner.screen();
    for piece in ["cuda:0", "SIM", "4.00", "modelled"] {
        assert!(screen.contains(piece), "{piece} is missing on\n{screen}");
    }
    if let Some(file) = std::env::var_os("TENSORLAB_PICTURE") {
        std::fs::write(file, render_to_svg(&learner.state, SIZE.0, SIZE.1)).unwrap();
    }
}
