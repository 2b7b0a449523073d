//! Moments of a script: `timestamp()`, `t.elapsed`, `b - a`. Rhai's own know this computer's clock alone.

use std::sync::Arc;

use rhai::{Dynamic, Engine};

use crate::base::event::Clock;
use crate::device::Shared;

use super::carry;

/// A moment on the clock that the host goes by.
#[derive(Clone)]
pub(crate) struct Timestamp {
    /// Nanoseconds since the machine was made; before that where a script counts back.
    nanos: i128,
    clock: Clock,
    shared: Arc<Shared>,
}

impl Timestamp {
    /// The clock that it was read from.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    fn now(shared: &Arc<Shared>) -> Timestamp {
        let (nanos, clock) = shared.time();
        shared.note_read(clock);
        Timestamp { nanos: i128::from(nanos), clock, shared: Arc::clone(shared) }
    }

    /// Seconds from `earlier` to this moment.
    fn since(&self, earlier: &Timestamp) -> f64 {
        self.nanos.saturating_sub(earlier.nanos) as f64 / 1e9
    }

    fn elapsed(&self) -> Dynamic {
        Timestamp::now(&self.shared).span_since(self)
    }

    /// The same as a script gets it.
    fn span_since(&self, earlier: &Timestamp) -> Dynamic {
        self.shared.note_bare_time(self.clock);
        carry::time(&self.shared, self.since(earlier), self.clock)
    }

    fn moved(&self, seconds: f64) -> Timestamp {
        // The cast saturates, and NaN moves nothing.
        let nanos = self.nanos.saturating_add((seconds * 1e9) as i128);
        Timestamp { nanos, ..self.clone() }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.6} s ({})", self.nanos as f64 / 1e9, self.clock.name())
    }
}

/// Puts them in the place of Rhai's.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    engine.register_type_with_name::<Timestamp>("timestamp");
    engine.register_fn("timestamp", move || Timestamp::now(&shared));
    engine.register_get("elapsed", |t: &mut Timestamp| t.elapsed());
    engine.register_fn("elapsed", |t: &mut Timestamp| t.elapsed());
    engine.register_fn("to_string", |t: &mut Timestamp| t.to_string());
    engine.register_fn("to_debug", |t: &mut Timestamp| t.to_string());
    engine.register_fn("-", |a: Timestamp, b: Timestamp| a.span_since(&b));
    engine.register_fn("+", |t: Timestamp, seconds: f64| t.moved(seconds));
    engine.register_fn("-", |t: Timestamp, seconds: f64| t.moved(-seconds));
    engine.register_fn("+", |t: Timestamp, seconds: i64| t.moved(seconds as f64));
    engine.register_fn("-", |t: Timestamp, seconds: i64| t.moved(-(seconds as f64)));
    engine.register_fn("==", |a: Timestamp, b: Timestamp| a.nanos == b.nanos);
    engine.register_fn("!=", |a: Timestamp, b: Timestamp| a.nanos != b.nanos);
    engine.register_fn("<", |a: Timestamp, b: Timestamp| a.nanos < b.nanos);
    engine.register_fn("<=", |a: Timestamp, b: Timestamp| a.nanos <= b.nanos);
    engine.register_fn(">", |a: Timestamp, b: Timestamp| a.nanos > b.nanos);
    engine.register_fn(">=", |a: Timestamp, b: Timestamp| a.nanos >= b.nanos);
}
