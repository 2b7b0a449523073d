//! A lesson, and a session that says what a script makes it say.

use std::borrow::Cow;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tensorlab::base::event::{Body, Clock, Event, Source, Span};
use tensorlab::base::{DType, Device};
use tensorlab::lab::document::{
    Block, Cell, Choice, Document, Exercise, Inline, Item, Kind, Predict, Quiz, Role, Step,
};
use tensorlab::lab::{Colour, Effect, FromSession, Look, Msg, State, update};
use tensorlab::session::protocol::{
    DeviceInfo, Fault, Message, Outcome, Request, Stream, TensorInfo, Usage, VERSION, Variable,
};

pub const MIB: u64 = 1 << 20;
pub const GPU: Device = Device::Cuda(0);
pub const OTHER_GPU: Device = Device::Cuda(1);

pub fn look(colour: Colour) -> Look {
    Look { colour, light: false, ascii: false }
}

fn strong(text: &str) -> Inline {
    Inline { text: text.into(), kind: Kind::Strong }
}

/// Two steps: text, cells, a prediction, a quiz and an exercise.
pub fn lesson() -> Document {
    let intro = vec![
        Block::Paragraph(vec![
            Inline::plain("A tensor lives on one device. "),
            Inline::code("x.to(\"cuda:0\")"),
            Inline::plain(" does not move it: it makes "),
            strong("a copy"),
            Inline::plain(" there, and the original stays where it was."),
        ]),
        Block::List {
            start: None,
            items: vec![
                vec![Block::Paragraph(vec![
                    Inline::code("x.cuda(i)"),
                    Inline::plain(" names a GPU by number"),
                ])],
                vec![Block::Paragraph(vec![Inline::code("x.cpu()"), Inline::plain(" brings a copy back")])],
            ],
        },
    ];
    let more = vec![
        Block::Heading { level: 2, text: vec![Inline::plain("What it costs")] },
        Block::Table {
            header: vec![vec![Inline::plain("call")], vec![Inline::plain("copies")]],
            rows: vec![
                vec![vec![Inline::code("x.to(\"cuda:0\")")], vec![Inline::plain("1, unless it is there")]],
                vec![vec![Inline::code("x.cpu()")], vec![Inline::plain("1, and the host waits")]],
            ],
        },
        Block::Quote(vec![Block::paragraph("Copies are slow: move once, compute often.")]),
    ];
    Document {
        title: "3 Moving tensors".into(),
        steps: vec![
            Step {
                id: "copy".into(),
                title: "A move is a copy".into(),
                items: vec![
                    Item::Text(intro),
                    cell("set-up", "manual_seed(0);", Role::Hidden),
                    cell(
                        "make",
                        "let x = rand([1024, 1024]);\nlet y = x.to(\"cuda:0\"); // a copy\nx.device",
                        Role::Run,
                    ),
                    Item::Text(more),
                    Item::Predict(Predict {
                        id: "bytes".into(),
                        ask: "How many bytes does the next cell copy to the second GPU?".into(),
                        unit: "bytes".into(),
                        answer: "events.d2d.bytes".into(),
                        tolerance: 0.01,
                        explain: "1024 x 1024 elements of four bytes each.".into(),
                    }),
                    cell("second", "let z = y.cuda(1);\nz is y", Role::Run),
                ],
            },
            Step {
                id: "exercise".into(),
                title: "Move once".into(),
                items: vec![
                    Item::Text(vec![Block::paragraph("Move the batch only once, before the loop.")]),
                    Item::Quiz(Quiz {
                        id: "is".into(),
                        ask: "When does x.cuda(0) give x itself?".into(),
                        choices: vec![
                            Choice {
                                text: "never".into(),
                                right: false,
                                explain: "It would copy for nothing.".into(),
                            },
                            Choice {
                                text: "when x is there already".into(),
                                right: true,
                                explain: "Then there is nothing to do.".into(),
                            },
                        ],
                    }),
                    cell(
                        "once",
                        "for i in 0..3 {\n    let b = batch.to(\"cuda:0\");\n    total += b.sum();\n}",
                        Role::Exercise(Exercise {
                            points: 2,
                            check: "expect(events.h2d.count <= 1, \"at most one copy\")".into(),
                            check_line: 40,
                            hints: vec!["Where is the copy made?".into(), "Put it before the loop.".into()],
                        }),
                    ),
                ],
            },
        ],
    }
}

fn cell(id: &str, code: &str, role: Role) -> Item {
    Item::Cell(Cell { id: id.into(), code: code.into(), role })
}

/// The lab with a scripted session: requests are collected, answers are given by hand.
pub struct Lab {
    pub state: State,
    pub sent: Vec<Request>,
    pub effects: Vec<Effect>,
    pub now: Duration,
    seq: u64,
}

impl Lab {
    pub fn new(document: Document, look: Look, columns: u16, rows: u16) -> Lab {
        let mut lab = Lab {
            state: State::new(document, look),
            sent: Vec::new(),
            effects: Vec::new(),
            now: Duration::ZERO,
            seq: 0,
        };
        lab.tell(Msg::Resize(columns, rows));
        lab
    }

    /// The lesson, with a session of two simulated GPUs that is ready.
    pub fn ready(columns: u16, rows: u16) -> Lab {
        let mut lab = Lab::new(lesson(), look(Colour::True), columns, rows);
        lab.says(ready());
        lab
    }

    /// A notebook without text.
    pub fn notebook(cells: &[&str]) -> Lab {
        let document = Document::notebook("scratch", cells.iter().map(|c| (*c).to_owned()));
        let mut lab = Lab::new(document, look(Colour::True), 120, 40);
        lab.says(ready());
        lab
    }

    pub fn tell(&mut self, msg: Msg) {
        for effect in update(&mut self.state, msg) {
            if let Effect::Send(request) = &effect {
                self.sent.push(request.clone());
            }
            self.effects.push(effect);
        }
    }

    pub fn says(&mut self, message: Message) {
        self.tell(Msg::Session(FromSession::Message(message)));
    }

    pub fn dies(&mut self, reason: &str) {
        self.tell(Msg::Session(FromSession::Died { reason: reason.into() }));
    }

    pub fn key(&mut self, code: KeyCode) {
        self.chord(code, KeyModifiers::NONE);
    }

    pub fn chord(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.tell(Msg::Key(KeyEvent::new(code, modifiers)));
    }

    pub fn ctrl(&mut self, letter: char) {
        self.chord(KeyCode::Char(letter), KeyModifiers::CONTROL);
    }

    /// Types text, Enter for a line feed.
    pub fn types(&mut self, text: &str) {
        for c in text.chars() {
            self.key(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
        self.tell(Msg::Tick(self.now));
    }

    /// The evaluation asked for last: id, cell number and code.
    pub fn evaluation(&self) -> (u64, u32, String) {
        let found = self.sent.iter().rev().find_map(|request| match request {
            Request::Evaluate { id, cell, code, .. } => Some((*id, *cell, code.clone())),
            _ => None,
        });
        found.expect("an evaluation was asked for")
    }

    pub fn starts(&mut self) {
        let (id, cell, _) = self.evaluation();
        self.says(Message::Started { id, cell });
    }

    pub fn prints(&mut self, text: &str) {
        let (id, ..) = self.evaluation();
        self.says(Message::Output { id, stream: Stream::Stdout, text: text.into() });
    }

    pub fn finishes(&mut self, outcome: Outcome, usage: Usage) {
        let (id, cell, _) = self.evaluation();
        self.says(Message::Finished { id, cell, outcome, usage });
    }

    pub fn succeeds(&mut self, value: Option<&str>) {
        self.finishes(Outcome::Ok { value: value.map(str::to_owned) }, usage());
    }

    pub fn happens(&mut self, cell: u32, line: u32, bodies: impl IntoIterator<Item = Body>) {
        let events = bodies
            .into_iter()
            .map(|body| {
                self.seq += 1;
                Event { seq: self.seq, source: Source { cell, line }, body }
            })
            .collect();
        self.says(Message::Telemetry { events, dropped: 0 });
    }

    /// What the lesson's first cell does: a matrix is made, and copied to the first GPU.
    pub fn first_cell_runs(&mut self) {
        self.key(KeyCode::F(2));
        self.key(KeyCode::F(5));
        self.starts(); // the hidden set-up
        self.succeeds(None);
        self.starts();
        self.happens(2, 1, [alloc(Device::Cpu, 0x1000, 4 * MIB, 4 * MIB, 0, "rand", &[1024, 1024])]);
        self.happens(
            2,
            2,
            [
                alloc(GPU, 0x7000, 4 * MIB, 4 * MIB, 20 * MIB, "to", &[1024, 1024]),
                copy(Device::Cpu, GPU, 4 * MIB, 361_000, false),
            ],
        );
        self.succeeds(Some("device(type='cpu')"));
        self.says_variables(&[("x", Device::Cpu, 0x1000), ("y", GPU, 0x7000)]);
    }

    /// Answers the last question for the variables.
    pub fn says_variables(&mut self, tensors: &[(&str, Device, u64)]) {
        let id = self.sent.iter().rev().find_map(|request| match request {
            Request::Inspect { id } => Some(*id),
            _ => None,
        });
        let variables = tensors.iter().map(|(name, device, address)| Variable {
            name: (*name).into(),
            type_name: "Tensor".into(),
            summary: String::new(),
            tensor: Some(TensorInfo {
                shape: vec![1024, 1024],
                dtype: DType::Float32,
                device: *device,
                bytes: 4 * MIB,
                address: *address,
                requires_grad: false,
                is_view: false,
            }),
        });
        let variables = variables.collect();
        self.says(Message::State { id: id.expect("variables were asked for"), variables, devices: vec![] });
    }

    pub fn shows(&self) -> String {
        tensorlab::lab::render_to_string(&self.state, 120, 40)
    }
}

pub fn ready() -> Message {
    Message::Ready {
        version: VERSION,
        pid: 4711,
        devices: vec![cpu(), t4(GPU), t4(OTHER_GPU)],
        protections: vec![],
    }
}

fn cpu() -> DeviceInfo {
    DeviceInfo {
        device: Device::Cpu,
        name: "cpu".into(),
        simulated: false,
        clock: Clock::Measured,
        total: 0,
        allocated: 0,
        reserved: 0,
        peak: 0,
        segments: vec![],
    }
}

fn t4(device: Device) -> DeviceInfo {
    DeviceInfo {
        device,
        name: "Tesla T4 (simulated)".into(),
        simulated: true,
        clock: Clock::Modelled,
        total: 15_109 * MIB,
        ..cpu()
    }
}

pub fn alloc(
    device: Device,
    address: u64,
    bytes: u64,
    allocated: u64,
    reserved: u64,
    op: &'static str,
    shape: &[usize],
) -> Body {
    Body::Alloc {
        device,
        address,
        bytes,
        requested: bytes,
        dtype: DType::Float32,
        shape: shape.to_vec(),
        op: Cow::Borrowed(op),
        allocated,
        reserved,
    }
}

pub fn copy(from: Device, to: Device, bytes: u64, nanos: u64, pinned: bool) -> Body {
    Body::Copy {
        from,
        to,
        bytes,
        pinned,
        blocking: !pinned,
        stream: 0,
        span: Span { start: 0, nanos, clock: Clock::Modelled },
    }
}

pub fn launch(device: Device) -> Body {
    Body::Launch {
        device,
        stream: 0,
        op: Cow::Borrowed("add"),
        kernel: Cow::Borrowed("binary"),
        dtype: DType::Float32,
        bytes: 4 * MIB,
        flops: MIB,
        span: Span { start: 0, nanos: 9_000, clock: Clock::Modelled },
    }
}

pub fn implicit_sync(device: Device) -> Body {
    Body::Sync {
        device,
        implicit: true,
        cause: Cow::Borrowed("item"),
        span: Span { start: 0, nanos: 9_000, clock: Clock::Modelled },
    }
}

pub fn usage() -> Usage {
    Usage {
        host_nanos: 2_310_000,
        modelled_nanos: Some(361_000),
        allocated: vec![(Device::Cpu, 4 * MIB as i64), (GPU, 4 * MIB as i64)],
        copies: vec![(Device::Cpu, GPU, 1, 4 * MIB)],
    }
}

pub fn mixed_devices() -> Fault {
    let report = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, \
                  cuda:0 and cpu!\n  --> cell 1, line 2\n   |\n 2 | let z = x + y;\n   |           ^\n   \
                  x: float32 [1024, 1024] on cpu\n   y: float32 [1024, 1024] on cuda:0\nhint: move one of them: \
                  x.to(\"cuda:0\") + y";
    Fault {
        kind: "RuntimeError".into(),
        message: "Expected all tensors to be on the same device".into(),
        hint: None,
        line: Some(2),
        column: Some(11),
        source_line: None,
        operands: vec![],
        report: report.into(),
    }
}
