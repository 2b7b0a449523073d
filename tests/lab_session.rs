//! The lab on a real session: lesson 3 in a child process, as a learner goes through it.

use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tensorlab::lab::{Document, Effect, Look, Msg, State, render_to_string, render_to_svg, update};
use tensorlab::session::client::Client;

const SIZE: (u16, u16) = (150, 42);

struct Learner {
    size: (u16, u16),
    state: State,
    session: Client,
}

impl Learner {
    fn new() -> Learner {
        // A lesson of its own: that of the course may be told otherwise at any time.
        let (file, text) = ("moving.md", include_str!("golden/moving.md"));
        Learner::on(Document::lesson(&tensorlab::lesson::parse(file, text.as_bytes()).unwrap()))
    }

    fn on(document: Document) -> Learner {
        Learner::with(document, "sim:t4x2")
    }

    fn with(document: Document, devices: &str) -> Learner {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["session", "--stdio", "--devices", devices]);
        let look = Look { colour: tensorlab::lab::Colour::True, light: false, ascii: false };
        let state = State::new(document, look);
        let mut learner = Learner { size: SIZE, state, session: Client::spawn(command).unwrap() };
        learner.resize(SIZE);
        learner
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.tell(Msg::Resize(size.0, size.1));
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
        render_to_string(&self.state, self.size.0, self.size.1)
    }

    /// Takes what the session says until the screen shows `text`.
    fn until(&mut self, text: &str) {
        self.until_times(text, 1);
    }

    /// Until it shows the text so often.
    fn until_times(&mut self, text: &str, times: usize) {
        let start = Instant::now();
        while self.screen().matches(text).count() < times {
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

/// More events than a front end is sent: 40,400 launches, 84,000 tensors made and freed, 6,000 copies in all three
/// directions, 400 waits that nobody asked for.
const BUSY: &str = "let kept = [];
let seen = telemetry::record(|| {
    for i in 0..20000 {
        let x = ones([256], #{device: \"cuda\"});
        let y = x + 1.0;
        if i % 10 == 0 {
            kept.push(y);
            let back = y.cpu();
            let over = back.to(\"cuda:1\");
            let home = over.to(\"cuda:0\");
        }
        if i % 50 == 0 {
            x.sum().item();
        }
        if i % 1000 == 0 {
            cuda::synchronize();
        }
    }
});
let launches = seen.launches;
let syncs = seen.syncs;
let implicit = seen.implicit_syncs;
let copies = [seen.h2d.count, seen.h2d.bytes, seen.d2h.count, seen.d2h.bytes, seen.d2d.count, seen.d2d.bytes];
";

/// Less than is sent, after the flood: what the first cell left must still be right.
const AFTER: &str = "let seen = telemetry::record(|| {
    for i in 0..3 {
        let z = kept[i] * 2.0;
        kept.push(z);
        z.cpu();
        z.to(\"cuda:1\").cpu();
    }
    kept.remove(0);
});
launches += seen.launches;
syncs += seen.syncs;
implicit += seen.implicit_syncs;
let more = [seen.h2d.count, seen.h2d.bytes, seen.d2h.count, seen.d2h.bytes, seen.d2d.count, seen.d2d.bytes];
for i in 0..6 { copies[i] += more[i]; }
";

/// The script's own record of all that it did so far.
const TOLD: &str = "
let held = [cuda::memory_allocated(0), cuda::memory_reserved(0), cuda::max_memory_allocated(0),
    cuda::memory_allocated(1), cuda::memory_reserved(1), cuda::max_memory_allocated(1)];
print(`figures ${launches} ${syncs} ${implicit} ${copies} ${kept.len()} ${held} .`);";

/// What a script says of itself behind `figures`; it may stand over several lines of its cell.
fn said(screen: &str) -> Vec<u64> {
    let cells: String = screen.lines().filter_map(|line| line.split(['│', '┃']).nth(1)).collect();
    let from = cells.match_indices("figures ").map(|(at, word)| at + word.len());
    let said = from.filter(|at| cells[*at..].starts_with(|c: char| c.is_ascii_digit())).last();
    let said = said.map_or("", |at| cells[at..].split('.').next().unwrap());
    said.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// Compares every figure of the panel with the script's record.
fn compare(learner: &Learner) -> Vec<u64> {
    let screen = learner.screen();
    let all = said(&screen);
    let [launches, asked, implicit, h2d, h2d_bytes, d2h, d2h_bytes, d2d, d2d_bytes, live, held @ ..] =
        &all[..]
    else {
        panic!("{all:?} in\n{screen}")
    };
    let [a0, r0, p0, a1, r1, p1] = held[..] else { panic!("{all:?} in\n{screen}") };
    let syncs = asked + implicit;
    let mib = |bytes: u64| match bytes {
        1..5_000 => "<0.01".to_owned(),
        bytes => format!("{:.2}", bytes as f64 / f64::from(1 << 20)),
    };
    let mut wanted = vec![
        format!("{} live tensors", count(*live)),
        format!("cuda:0  {} tensors, {} MiB", count(*live), mib(*live * 1024)),
        // The log and the timeline keep some of it, and say where that is seen how much.
        format!(" of {} transfers shown", count(d2h + h2d + d2d)),
        // Each copy to a GPU holds the host, which is an event as well.
        format!(" of {} events shown", count(launches + syncs + d2h + 2 * h2d + d2d)),
    ];
    for (allocated, reserved, peak) in [(a0, r0, p0), (a1, r1, p1)] {
        let cached = mib(reserved - allocated);
        wanted.push(format!("allocated {:>6}  ▒ cached {cached:>5}", mib(allocated)));
        wanted.push(format!("peak {:>7} MiB", mib(peak)));
    }
    for figure in wanted {
        assert!(screen.contains(&figure), "{figure} is missing on\n{screen}");
    }
    // The panel tells these by device and direction, the script all together.
    let counters: Vec<Vec<u64>> =
        screen.lines().filter_map(|line| line.split("│ launches ").nth(1)).map(numbers).collect();
    let sum =
        |which: usize| counters.iter().map(|device| device.get(which).copied().unwrap_or(0)).sum::<u64>();
    assert_eq!([sum(0), sum(1), sum(2)], [*launches, *asked, *implicit], "{counters:?} on\n{screen}");
    for (way, count, bytes) in [("h2d ", h2d, h2d_bytes), ("d2h ", d2h, d2h_bytes), ("d2d ", d2d, d2d_bytes)]
    {
        let counted = screen
            .split(way)
            .skip(1)
            .filter(|part| part.split(' ').nth(1).is_some_and(|n| n.starts_with('×')));
        let counts = counted
            .clone()
            .map(|part| part.split('×').nth(1).unwrap().split(' ').next().unwrap().replace(',', ""));
        assert_eq!(counts.map(|n| n.parse::<u64>().unwrap()).sum::<u64>(), *count, "{way} on\n{screen}");
        let sizes = counted.map(|part| {
            part.split('×').nth(1).unwrap().split_whitespace().skip(1).take(2).collect::<Vec<_>>()
        });
        let shown: f64 = sizes
            .map(|size| size[0].parse::<f64>().unwrap() * if size[1] == "MiB" { 1048576.0 } else { 1024.0 })
            .sum();
        // Figures have two digits behind the point.
        assert!((shown - *bytes as f64).abs() < 11_000.0, "{way} {shown} of {bytes} on\n{screen}");
    }
    all
}

#[test]
fn what_the_panel_counts_is_what_the_script_recorded_however_much_happens() {
    let cells = [format!("{BUSY}{TOLD}"), format!("{AFTER}{TOLD}")];
    let mut learner = Learner::on(Document::notebook("busy", cells));
    learner.resize((200, 100));
    learner.until("session ready");
    learner.key(KeyCode::F(5));
    learner.until_times("✓ ok", 1);
    let first = compare(&learner);
    assert_eq!((first[0], first[9]), (40_400, 2000), "{first:?}");
    learner.key(KeyCode::Down);
    learner.key(KeyCode::F(5));
    learner.until_times("✓ ok", 2);
    let second = compare(&learner);
    assert_eq!((second[0], second[9]), (40_403, 2002), "{second:?}");
    // Also where the panel fills the terminal.
    learner.key(KeyCode::F(6));
    learner.resize((120, 40));
    let screen = learner.screen();
    for figure in ["launches 40,403", "2,002 live tensors", " transfers shown", " events shown"] {
        assert!(screen.contains(figure), "{figure} is missing on\n{screen}");
    }
}

/// The whole numbers of a text in their order: `40,400` is one.
fn numbers(text: &str) -> Vec<u64> {
    let words = text.split_whitespace().map(|word| word.replace(',', ""));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// `40,400`.
fn count(n: u64) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}

/// A request of 4 MiB takes a segment of 20, which PyTorch's message names, and the panel with it: the report has both
/// figures by their names, and the report says which cell made what is in the way, by the name that was given first.
#[test]
fn each_figure_of_a_refusal_is_named_for_what_it_is() {
    let cells = [
        "let z = zeros([240, 1024, 256], #{device: \"cuda\"});\nlet also = z;",
        "let small = ones([1024], #{device: \"cuda\"});",
        "let x = ones([1024, 1024], #{device: \"cuda\"});",
    ];
    let mut learner = Learner::with(Document::notebook("full", cells.map(str::to_owned)), "sim:tiny");
    learner.resize((200, 60));
    learner.until("session ready");
    learner.key(KeyCode::Char('R'));
    learner.until("✗ error");
    let screen = learner.screen();
    for told in [
        "Tried to allocate 20.00 MiB",
        "Requested of cuda:0: 4.00 MiB, for which the allocator tried a new segment of 20.00 MiB.",
        "240.00 MiB  z, also  float32 [240, 1024, 256], made by zeros, In [1], line 1",
        "request at most 1.00 MiB at once, 25% of the 4.00 MiB requested",
        "▲ out of memory: 20.00 MiB tried",
    ] {
        assert!(screen.contains(told), "{told:?} is not in\n{screen}");
    }
}

#[test]
fn a_page_of_help_has_no_figures_of_the_cell_before() {
    let cells = ["rand([2]).cuda()", "softmax?"].map(str::to_owned);
    let mut learner = Learner::on(Document::notebook("help", cells));
    learner.resize((150, 60));
    learner.until("session ready");
    learner.key(KeyCode::F(5));
    learner.until_times("✓ ok", 1);
    learner.key(KeyCode::Down);
    learner.key(KeyCode::F(5));
    learner.until_times("✓ ok", 2);
    let screen = learner.screen();
    let footers = |word: &str| {
        screen.lines().filter_map(|line| line.split('│').next()).filter(|l| l.contains(word)).count()
    };
    assert_eq!((footers("1 copy"), footers("µs modelled"), footers(" measured")), (1, 1, 2), "{screen}");
}

/// The check of the exercise copies all three results home: none of it is the learner's.
#[test]
fn a_check_is_not_the_learners_work_and_is_shown_apart() {
    let mut learner = Learner::new();
    learner.resize((200, 60));
    learner.until("session ready");
    let mut steps = 0;
    while !learner.screen().contains("Copy once  ") && steps < 20 {
        learner.key(KeyCode::Char('n'));
        learner.until("");
        steps += 1;
    }
    learner.key(KeyCode::F(2));
    learner.key(KeyCode::Enter);
    learner.tell(Msg::Key(KeyEvent::new(KeyCode::Char('a'), KeyModifiers::ALT)));
    let solution = "let g = batch.to(\"cuda\");\nlet doubled = g * 2.0;\nlet shifted = g + 1.0;\nlet squared = g.pow(2);";
    learner.tell(Msg::Paste(solution.into()));
    learner.key(KeyCode::F(5));
    learner.until("✓ passed");
    learner.key(KeyCode::Esc);
    learner.key(KeyCode::F(3));
    let own = learner.screen();
    for told in [
        "  1 transfer, modelled",
        "h2d cpu→cuda:0 ×1 1.00 MiB",
        "of the lesson's own",
        "launches 3, syncs 0",
        "peak   16.00 MiB",
    ] {
        assert!(own.contains(told), "{told:?} is not in\n{own}");
    }
    assert!(!own.contains("d2h"), "{own}");
    learner.key(KeyCode::Char('l'));
    let apart = learner.screen();
    // Those of the steps before, which are run again unseen, and of the check.
    for told in ["transfers of the lesson's own", "d2h cuda:0→cpu", "check of In [1]:12", "implicit"] {
        assert!(apart.contains(told), "{told:?} is not in\n{apart}");
    }
}
