//! Whatever comes in whatever order, at whatever size: the lab draws, and never panics.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use tensorlab::base::event::{Body, Clock, Event, Name, Source, Span};
use tensorlab::base::{DType, Device};
use tensorlab::lab::{
    BINDINGS, Colour, Document, Effect, Found, HomeLesson, HomePack, Keeping, Listing, Look, Msg, Recent,
    State, Target, render, update,
};
use tensorlab::plot::{Figure, Series};
use tensorlab::session::client::FromSession;
use tensorlab::session::death::{Death, How};
use tensorlab::session::digest::{Deeds, DeviceDigest, Digest, Gap};
use tensorlab::session::protocol::{
    Display, Message, Outcome, ProbeValue, Stream, TensorInfo, Usage, Verdict,
};

use super::fixture::{lesson, lesson as lesson_document, mixed_devices, ready, usage};

fn key() -> impl Strategy<Value = Msg> {
    let bound: Vec<(KeyCode, KeyModifiers)> =
        BINDINGS.iter().flat_map(|binding| binding.keys).map(|chord| (chord.0, chord.1)).collect();
    let typed = any::<char>().prop_map(|c| (KeyCode::Char(c), KeyModifiers::NONE));
    let code = proptest::string::string_regex("[a-z(){}\"`/*0-9 .é日]").unwrap();
    let code = code.prop_map(|text| (KeyCode::Char(text.chars().next().unwrap_or('x')), KeyModifiers::NONE));
    prop_oneof![6 => prop::sample::select(bound), 3 => code, 1 => typed]
        .prop_map(|(code, modifiers)| Msg::Key(KeyEvent::new(code, modifiers)))
}

fn mouse() -> impl Strategy<Value = Msg> {
    let kinds = vec![
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Up(MouseButton::Left),
        MouseEventKind::Drag(MouseButton::Left),
        MouseEventKind::ScrollUp,
        MouseEventKind::ScrollDown,
        MouseEventKind::Moved,
    ];
    (prop::sample::select(kinds), 0..300u16, 0..100u16).prop_map(|(kind, column, row)| {
        Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
    })
}

fn resize() -> impl Strategy<Value = Msg> {
    let usual =
        prop::sample::select(vec![(80, 24), (120, 40), (200, 60), (1, 1), (0, 0), (60, 20), (65535, 65535)]);
    prop_oneof![usual, (0..300u16, 0..100u16)].prop_map(|(columns, rows)| Msg::Resize(columns, rows))
}

fn device() -> impl Strategy<Value = Device> {
    prop_oneof![Just(Device::Cpu), (0..12u16).prop_map(Device::Cuda)]
}

/// Sums of events that a session could not send, consistent or not.
fn digest() -> impl Strategy<Value = Digest> {
    let event = body().prop_map(|body| Event { seq: 1, source: Source::at(3, 1), body });
    let big = || prop_oneof![Just(0), Just(u64::MAX), 0..100u64];
    let device = (device(), big(), big(), big(), any::<bool>()).prop_map(|(device, a, b, c, peak_reset)| {
        DeviceDigest {
            device,
            launches: a,
            syncs: b,
            implicit_syncs: c,
            last_implicit: Some(("\u{1b}[2Jitem".into(), Source::default())),
            waits: vec![(Source::default(), "\u{1b}[2Jitem".into(), a)],
            out_of_memory: b,
            last_refused: c,
            allocated: Some(a),
            reserved: Some(b),
            peak: c,
            peak_reset,
            reset_at: None,
        }
    });
    let gap = (self::device(), 0..70u32, big(), big()).prop_map(|(device, stream, start, nanos)| Gap {
        device,
        stream,
        span: Span { start, nanos, clock: Clock::Modelled },
        events: nanos,
    });
    let parts = (
        prop::collection::vec(device, 0..3),
        prop::collection::vec(event, 0..5),
        prop::collection::vec(gap, 0..3),
    );
    (parts, big(), self::device(), self::device()).prop_map(|((devices, lasting, gaps), events, from, to)| {
        Digest {
            events,
            lesson: Deeds { copies: vec![(to, from, events, 1)], gaps: gaps.clone(), ..Deeds::default() },
            deeds: Deeds { devices, copies: vec![(from, to, events, events)], gaps },
            freed: vec![(from, 3)],
            newest_copies: lasting.clone(),
            lasting,
            untracked: events,
        }
    })
}

fn body() -> impl Strategy<Value = Body> {
    let clock = prop_oneof![Just(Clock::Modelled), Just(Clock::Measured)];
    let big = || prop_oneof![Just(0), Just(u64::MAX), 0..10_000_000u64];
    let span = (big(), clock).prop_map(|(nanos, clock)| Span { start: 0, nanos, clock });
    let shape = prop::collection::vec(prop_oneof![0..2000usize, Just(usize::MAX)], 0..9);
    let alloc = (device(), 0..20u64, big(), big(), big(), shape).prop_map(
        |(device, address, bytes, allocated, reserved, shape)| Body::Alloc {
            device,
            address,
            bytes,
            requested: bytes,
            dtype: DType::BFloat16,
            shape: shape.into(),
            op: Name::new("\u{1b}[2Jop"),
            allocated,
            reserved,
        },
    );
    let free = (device(), 0..20u64, big(), big(), big()).prop_map(
        |(device, address, bytes, allocated, reserved)| Body::Free {
            device,
            address,
            bytes,
            allocated,
            reserved,
        },
    );
    let copy =
        (device(), device(), big(), any::<bool>(), span).prop_map(|(from, to, bytes, pinned, span)| {
            Body::Copy { from, to, bytes, pinned, blocking: !pinned, stream: 0, span }
        });
    let refused = (device(), big()).prop_map(|(device, requested)| Body::OutOfMemory {
        device,
        requested,
        message: "no".into(),
    });
    let times = (big(), big(), prop_oneof![Just(Clock::Modelled), Just(Clock::Measured)]);
    let times = times.prop_map(|(start, nanos, clock)| Span { start, nanos, clock });
    let launch = (device(), 0..70u32, times.clone()).prop_map(|(device, stream, span)| Body::Launch {
        device,
        stream,
        op: Name::new("\u{1b}[2Jop"),
        kernel: Name::new("map"),
        dtype: DType::Bool,
        bytes: 1,
        flops: u64::MAX,
        span,
    });
    let sync = (device(), any::<bool>(), times).prop_map(|(device, implicit, span)| Body::Sync {
        device,
        implicit,
        cause: Name::new("\u{1b}item"),
        span,
    });
    let segment = (device(), 0..20u64, big(), any::<bool>(), big()).prop_map(
        |(device, address, bytes, mapped, reserved)| Body::Segment {
            device,
            address,
            bytes,
            mapped,
            reserved,
        },
    );
    prop_oneof![4 => launch, 2 => sync, 3 => segment, 4 => alloc, 3 => free, 4 => copy, 1 => refused, 1 => device().prop_map(|device| Body::PeakReset { device })]
}

fn tensor() -> impl Strategy<Value = TensorInfo> {
    (device(), 0..20u64, any::<u64>(), any::<Option<u64>>()).prop_map(|(device, address, bytes, grad)| {
        TensorInfo {
            shape: vec![usize::MAX, 3],
            dtype: DType::Int8,
            device,
            bytes,
            address,
            requires_grad: grad.is_some(),
            grad,
            is_view: false,
        }
    })
}

/// What the home screen is told.
fn home() -> impl Strategy<Value = Msg> {
    let lesson = any::<(String, String, usize, usize)>().prop_map(|(title, summary, done, steps)| {
        HomeLesson { id: "l".into(), title, summary, minutes: u32::MAX, done, steps, missing: vec![] }
    });
    let listed =
        (prop::collection::vec(lesson, 0..9), any::<Option<String>>()).prop_map(|(lessons, path)| {
            let pack = HomePack { id: "p".into(), title: "\u{1b}[2Jp".into(), lessons };
            let recent = path.iter().map(|path| Recent { path: path.into(), when: "now".into() });
            let resume = path.as_ref().map(|path| (Target::Notebook(path.into()), path.clone()));
            let notebooks = recent.collect();
            Msg::Listed(Box::new(Listing { packs: vec![pack], notebooks, resume, notes: vec![] }))
        });
    let opened = (any::<bool>(), 0..3usize).prop_map(|(guided, keeping)| {
        let document = if guided { lesson_document() } else { Document::default() };
        Msg::Opened {
            document,
            at: Some("once".into()),
            keeping: [Keeping::Nothing, Keeping::OnSave, Keeping::Always][keeping],
        }
    });
    let found = any::<String>().prop_map(|name| {
        Msg::Found(vec![Found { device: "cuda:0".into(), name, memory: u64::MAX, simulated: true }])
    });
    prop_oneof![3 => listed, 1 => opened, 1 => found]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        any::<Option<String>>().prop_map(|value| Outcome::Ok { value }),
        any::<Option<u32>>().prop_map(|line| {
            let mut fault = mixed_devices();
            fault.line = line;
            Outcome::Error { fault }
        }),
        Just(Outcome::Interrupted),
        any::<f64>().prop_map(|seconds| Outcome::Timeout { seconds }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let id = || 0..20u64;
    let verdict = prop_oneof![
        Just(Verdict::Pass),
        any::<(String, Option<u32>)>().prop_map(|(reason, line)| Verdict::Fail { reason, line }),
        Just(Verdict::CheckerFault { message: "\u{1b}[2Jx".into(), line: Some(3) }),
        Just(Verdict::Timeout { limit_ms: 5 }),
    ];
    let figure = prop::collection::vec(any::<f64>(), 0..50).prop_map(|y| {
        let line = Series::Line { x: vec![], y, label: "\u{1b}[2Jloss".into() };
        Display::Figure { figure: Box::new(Figure::from(line)) }
    });
    let table =
        any::<(Vec<String>, Vec<Vec<String>>)>().prop_map(|(header, rows)| Display::Table { header, rows });
    prop_oneof![
        1 => Just(ready()),
        2 => id().prop_map(|id| Message::Started { id, cell: 1 }),
        3 => (id(), any::<String>()).prop_map(|(id, text)| Message::Output { id, stream: Stream::Stderr, text }),
        1 => (id(), figure).prop_map(|(id, content)| Message::Display { id, content, display_id: None }),
        1 => (id(), table).prop_map(|(id, content)| Message::Display { id, content, display_id: None }),
        1 => (id(), any::<(String, u64, Option<u64>)>()).prop_map(|(id, (label, done, total))| {
            Message::Progress { id, note: label.clone(), label, done, total }
        }),
        3 => prop::collection::vec(body(), 0..20).prop_map(|bodies| Message::Telemetry {
            events: bodies
                .into_iter()
                .map(|body| Event { seq: 0, source: Source::at(u32::MAX, 7), body })
                .collect(),
        }),
        1 => digest().prop_map(|digest| Message::Missed { digest: Box::new(digest) }),
        4 => (id(), outcome(), any::<bool>()).prop_map(|(id, outcome, used)| {
            let usage = if used { usage() } else { Usage::default() };
            Message::Finished { id, cell: 1, outcome, usage: Box::new(usage) }
        }),
        1 => (id(), verdict).prop_map(|(id, verdict)| Message::CheckResult { id, verdict, check_line: None }),
        1 => (id(), any::<f64>()).prop_map(|(id, x)| Message::Probed { id, value: Ok(ProbeValue::Number(x)), clock: None }),
        1 => (id(), prop::collection::vec((any::<String>(), tensor()), 0..6)).prop_map(|(id, held)| {
            Message::State { id, variables: vec![], devices: vec![], held }
        }),
        1 => (any::<Option<u64>>(), any::<String>()).prop_map(|(id, reason)| Message::Refused { id, reason }),
    ]
}

fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        8 => key(),
        2 => mouse(),
        1 => resize(),
        1 => home(),
        1 => any::<String>().prop_map(Msg::Paste),
        5 => message().prop_map(|message| Msg::Session(FromSession::Message(message))),
        1 => any::<String>().prop_map(|how| {
            let reason = Death { how: How::Unknown(how), log: Vec::new() };
            Msg::Session(FromSession::Died { reason })
        }),
        1 => (0..100_000u64).prop_map(|ms| Msg::Tick(Duration::from_millis(ms))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_the_lab_panic(
        msgs in prop::collection::vec(msg(), 1..120),
        guided in any::<bool>(),
        ascii in any::<bool>(),
        sizes in prop::collection::vec((0..220u16, 0..70u16), 4),
    ) {
        let document = if guided { lesson() } else { Document::notebook("n", ["a".to_owned(), "b".into()]) };
        let mut state = State::new(document, Look { colour: Colour::Indexed, light: true, ascii });
        update(&mut state, Msg::Session(FromSession::Message(ready())));
        for (i, msg) in msgs.into_iter().enumerate() {
            for effect in update(&mut state, msg) {
                if let Effect::Draw(job) = effect {
                    update(&mut state, Msg::drawn(&job));
                }
            }
            let (columns, rows) = sizes[i % sizes.len()];
            let buffer = render(&state, columns, rows);
            prop_assert_eq!(buffer.area.width, columns);
            if ascii {
                prop_assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
            }
        }
        for (columns, rows) in [(0, 0), (1, 1), (60, 20), (80, 24), (200, 60)] {
            render(&state, columns, rows);
        }
    }
}
