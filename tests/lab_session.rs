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
        Learner::on(Document::lesson(&tensorlab::lesson::parse(file, text.as_bytes()).unwrap()))
    }

    fn on(document: Document) -> Learner {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["session", "--stdio", "--devices", "sim:t4x2"]);
        let look = Look { colour: tensorlab::lab::Colour::True, light: false, ascii: false };
        let state = State::new(document, look);
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

/// More events than a front end is sent: 40,400 launches, 84,000 tensors made and freed, 4,400 copies.
const BUSY: &str = "let kept = [];
let seen = telemetry::record(|| {
    for i in 0..20000 {
        let x = ones([256], #{device: \"cuda\"});
        let y = x + 1.0;
        if i % 10 == 0 {
            kept.push(y);
            let back = y.cpu();
            let over = back.to(\"cuda:1\");
        }
        if i % 50 == 0 {
            x.sum().item();
        }
    }
});
print(`figures ${seen.launches} ${seen.syncs + seen.implicit_syncs} ${seen.implicit_syncs} ${seen.d2h.count} ${seen.d2h.bytes} ${seen.h2d.count} ${seen.h2d.bytes} ${kept.len()} ${cuda::memory_allocated()} ${cuda::max_memory_allocated()} .`);";

#[test]
fn what_the_panel_counts_is_what_the_script_recorded_however_much_happens() {
    let mut learner = Learner::on(Document::notebook("busy", [BUSY.to_owned()]));
    learner.until("session ready");
    learner.key(KeyCode::F(5));
    learner.until("figures 4");
    learner.until("✓ ok");
    let screen = learner.screen();
    // What the script says of itself stands over several lines of its cell.
    let cells: String = screen.lines().filter_map(|line| line.split("┃│").next()).collect();
    let said = cells.split("figures ").last().unwrap();
    let said: Vec<u64> =
        said.split('.').next().unwrap().split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [launches, syncs, implicit, d2h, d2h_bytes, h2d, h2d_bytes, live, allocated, peak] = said[..] else {
        panic!("{said:?} in\n{screen}")
    };
    let mib = |bytes: u64| format!("{:.2}", bytes as f64 / f64::from(1 << 20));
    for figure in [
        format!("launches {}, syncs {}, ▲ {} implicit", count(launches), count(syncs), count(implicit)),
        format!("cuda:0→cpu ×{} {} MiB", count(d2h), mib(d2h_bytes)),
        format!("cpu→cuda:1 ×{} {} MiB", count(h2d), mib(h2d_bytes)),
        format!("{} live tensors", count(live)),
        format!("cuda:0  {} tensors, {} MiB", count(live), mib(allocated)),
        format!("allocated   {}", mib(allocated)),
        format!("peak    {} MiB", mib(peak)),
        // The log and the timeline keep some of it, and say where that is seen how much.
        format!(" of {} transfers shown", count(d2h + h2d)),
        format!(" of {} events shown", count(launches + syncs + d2h + h2d)),
    ] {
        assert!(screen.contains(&figure), "{figure} is missing on\n{screen}");
    }
    assert_eq!((launches, live), (40_400, 2000));
}

/// `40,400`.
fn count(n: u64) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}
