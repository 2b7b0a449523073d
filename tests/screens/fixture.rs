//! A lesson, and a session that says what a script makes it say.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tensorlab::base::event::{Body, Clock, Event, Name, Source, Span};
use tensorlab::base::{DType, Device};
use tensorlab::lab::{Colour, Document, Effect, Look, Msg, State, update};
use tensorlab::lesson::Entry;
use tensorlab::session::client::FromSession;
use tensorlab::session::death::{Death, How};
use tensorlab::session::protocol::{
    DeviceInfo, Fault, Message, Outcome, ProbeValue, Request, Stream, TensorInfo, Usage, VERSION, Variable,
};

pub const MIB: u64 = 1 << 20;
pub const GPU: Device = Device::Cuda(0);
pub const OTHER_GPU: Device = Device::Cuda(1);

pub fn look(colour: Colour) -> Look {
    Look { colour, light: false, ascii: false }
}

/// Two sections: text, cells, a prediction, a quiz, and an exercise with a set-up.
const LESSON: &str = r#"+++
id = "moving-little"
title = "3 Moving tensors"
summary = "A copy, and what it costs."
concepts = ["to(device)"]
minutes = 5
devices = ["sim:t4x2"]
+++

# A move is a copy

A tensor lives on one device. `x.to("cuda:0")` does not move it: it makes **a copy** there, and the original stays
where it was.

- `x.cuda(i)` names a GPU by number
- `x.cpu()` brings a copy back

```rhai run
let x = rand([1024, 1024]);
let y = x.to("cuda:0"); // a copy
x.device
```

### What it costs

| call | copies |
|---|---|
| `x.to("cuda:0")` | 1, unless it is there |
| `x.cpu()` | 1, and the host waits |

> Copies are slow: move once, compute often.

```toml predict id="bytes-across"
ask = "How many bytes does the next cell copy to the second GPU?"
unit = "bytes"
answer = "events.d2d.bytes"
tolerance = 0
explain = "1024 x 1024 elements of **four** bytes each."
```

```rhai run
let z = y.cuda(1);
z is y
```

## Move once

Move the batch only once, before the loop.

```toml quiz id="when-itself"
ask = "When does `x.cuda(0)` give `x` itself?"

[[choice]]
text = "never"
explain = "It would copy for nothing."

[[choice]]
text = "when `x` is there already"
correct = true
explain = "Then there is nothing to do."
```

```rhai hidden
let batch = rand([256, 1024]);
let total = 0.0;
```

```rhai exercise id="once" points=2
for i in 0..3 {
    let b = batch.to("cuda:0");
    total += b.sum();
}
```

```rhai check
expect(events.h2d.count <= 1, "at most one copy");
```

```rhai solution
let b = batch.to("cuda:0");
```

```rhai wrong because="at most one copy"
let c = batch.to("cuda:0");
let d = batch.to("cuda:0");
```

```hint
Where is the copy made?
```

```hint
Put it **before** the loop.
```
"#;

pub fn lesson() -> Document {
    match tensorlab::lesson::parse("moving.md", LESSON.as_bytes()) {
        Ok(lesson) => Document::lesson(&lesson),
        Err(errors) => panic!("{errors:#?}"),
    }
}

/// The lab with a scripted session: requests are collected, answers are given by hand.
pub struct Lab {
    pub state: State,
    pub sent: Vec<Request>,
    pub effects: Vec<Effect>,
    pub now: Duration,
    /// Figures are drawn as soon as that is asked for.
    pub draws: bool,
    seq: u64,
}

impl Lab {
    pub fn new(document: Document, look: Look, columns: u16, rows: u16) -> Lab {
        let mut lab = Lab {
            state: State::new(document, look),
            sent: Vec::new(),
            effects: Vec::new(),
            now: Duration::ZERO,
            draws: true,
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
            match &effect {
                Effect::Send(request) => self.sent.push(request.clone()),
                Effect::Draw(job) if self.draws => self.tell(Msg::drawn(job)),
                _ => {}
            }
            self.effects.push(effect);
        }
    }

    pub fn says(&mut self, message: Message) {
        self.tell(Msg::Session(FromSession::Message(message)));
    }

    /// The session dies, for a reason that the system gives.
    pub fn dies(&mut self, reason: &str) {
        self.dies_of(How::Unknown(reason.into()));
    }

    pub fn dies_of(&mut self, how: How) {
        let reason = Death { how, log: Vec::new() };
        self.tell(Msg::Session(FromSession::Died { reason }));
    }

    pub fn key(&mut self, code: KeyCode) {
        self.chord(code, KeyModifiers::NONE);
    }

    pub fn chord(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.tell(Msg::Key(KeyEvent::new(code, modifiers)));
    }

    pub fn alt(&mut self, letter: char) {
        self.tell(Msg::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::ALT)));
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

    /// What was to be kept of the learner's progress: step and entry.
    pub fn kept(&self) -> Vec<(&str, &Entry)> {
        let kept = self.effects.iter().filter_map(|effect| match effect {
            Effect::Record { step, entry } => Some((step.as_str(), entry)),
            _ => None,
        });
        kept.collect()
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
        self.says(Message::Finished { id, cell, outcome, usage: Box::new(usage) });
    }

    pub fn succeeds(&mut self, value: Option<&str>) {
        self.finishes(Outcome::Ok { value: value.map(str::to_owned) }, usage());
    }

    /// Answers the last question for a prediction.
    pub fn measures(&mut self, value: f64) {
        let id = self.sent.iter().rev().find_map(|request| match request {
            Request::Probe { id, .. } => Some(*id),
            _ => None,
        });
        let id = id.expect("a prediction's answer was asked for");
        self.says(Message::Probed { id, value: Ok(ProbeValue::Number(value)), clock: None });
    }

    pub fn happens(&mut self, cell: u32, line: u32, bodies: impl IntoIterator<Item = Body>) {
        let events = bodies
            .into_iter()
            .map(|body| {
                self.seq += 1;
                Event { seq: self.seq, source: Source::at(cell, line), body }
            })
            .collect();
        self.says(Message::Telemetry { events });
    }

    /// What the lesson's first cell does: a matrix is made, and copied to the first GPU.
    pub fn first_cell_runs(&mut self) {
        self.key(KeyCode::F(2));
        self.key(KeyCode::F(5));
        self.starts();
        self.happens(1, 1, [alloc(Device::Cpu, 0x1000, 4 * MIB, 4 * MIB, 0, "rand", &[1024, 1024])]);
        self.happens(
            1,
            2,
            [
                segment(GPU, 0x7000, 20 * MIB, 20 * MIB),
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
                grad: None,
                is_view: false,
            }),
        });
        let variables = variables.collect();
        let id = id.expect("variables were asked for");
        self.says(Message::State { id, variables, devices: vec![], held: vec![] });
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
        simulated: true,
        clock: Clock::Modelled,
        total: 0,
        allocated: 0,
        reserved: 0,
        peak: 0,
        free: None,
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
        shape: shape.into(),
        op: Name::new(op),
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
        op: Name::new("add"),
        kernel: Name::new("binary"),
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
        cause: Name::new("item"),
        span: Span { start: 0, nanos: 9_000, clock: Clock::Modelled },
    }
}

pub fn usage() -> Usage {
    Usage {
        host_nanos: 2_310_000,
        modelled_nanos: Some(361_000),
        allocated: vec![(Device::Cpu, 4 * MIB as i64), (GPU, 4 * MIB as i64)],
        peaks: vec![(GPU, 5 * MIB)],
        copies: vec![(Device::Cpu, GPU, 1, 4 * MIB)],
    }
}

pub fn mixed_devices() -> Fault {
    let report = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, \
                  cuda:0 and cpu!\n  --> cell 1, line 2\n   |\n 2 | let z = x + y;\n   |           ^\n   \
                  x: float32 [1024, 1024] on cpu\n   y: float32 [1024, 1024] on cuda:0\nhint: move one of them: \
                  x.to(\"cuda:0\") + y";
    Fault {
        caller: None,
        missing: None,
        elsewhere: None,
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

/// A segment that the allocator takes from the device.
pub fn segment(device: Device, address: u64, bytes: u64, reserved: u64) -> Body {
    Body::Segment { device, address, bytes, mapped: true, reserved }
}

pub fn free(device: Device, address: u64, bytes: u64, allocated: u64, reserved: u64) -> Body {
    Body::Free { device, address, bytes, allocated, reserved }
}

/// The event at another time, and on another stream.
pub fn at(mut body: Body, start: u64, on: u32) -> Body {
    match &mut body {
        Body::Launch { span, stream, .. } | Body::Copy { span, stream, .. } => {
            (span.start, *stream) = (start, on);
        }
        Body::Sync { span, .. } => span.start = start,
        _ => {}
    }
    body
}

/// The event on the clock of this computer.
pub fn measured(mut body: Body) -> Body {
    if let Body::Launch { span, .. } | Body::Copy { span, .. } | Body::Sync { span, .. } = &mut body {
        span.clock = Clock::Measured;
    }
    body
}
