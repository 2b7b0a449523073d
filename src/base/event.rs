//! The one stream of events: whatever happens on a device is one [`Event`], emitted at one place.
//!
//! Panels, lesson checks, traces, the profiler and tests only read it; no one keeps a second count.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use super::Device;
use super::dtype::DType;

/// A name that is static where it is made and owned where it is read back.
pub type Name = Cow<'static, str>;

/// Which clock a time was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    Measured,
    Modelled,
}

impl Clock {
    pub fn name(self) -> &'static str {
        match self {
            Clock::Measured => "measured",
            Clock::Modelled => "modelled",
        }
    }
}

/// A time span in nanoseconds on a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Span {
    pub start: u64,
    pub nanos: u64,
    pub clock: Clock,
}

impl Span {
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.nanos)
    }
}

/// The script line and cell that caused an event; 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Source {
    pub cell: u32,
    pub line: u32,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "super::event_fields::Fields")]
pub struct Event {
    /// Position in the stream, from 0, without gaps.
    pub seq: u64,
    pub source: Source,
    #[serde(flatten)]
    pub body: Body,
}

/// What happened. Bytes are bytes, times are [`Span`]s.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    /// A tensor's memory was taken. `bytes` is what the allocator reserved for `requested`.
    Alloc {
        device: Device,
        address: u64,
        bytes: u64,
        requested: u64,
        dtype: DType,
        shape: Vec<usize>,
        op: Name,
        /// Allocated and reserved bytes of the device afterwards.
        allocated: u64,
        reserved: u64,
    },
    Free {
        device: Device,
        address: u64,
        bytes: u64,
        allocated: u64,
        reserved: u64,
    },
    /// The allocator took a segment from the device, or gave one back.
    Segment {
        device: Device,
        address: u64,
        bytes: u64,
        mapped: bool,
        reserved: u64,
    },
    /// Bytes moved between memories.
    Copy {
        from: Device,
        to: Device,
        bytes: u64,
        pinned: bool,
        /// The host waited for it.
        blocking: bool,
        stream: u32,
        span: Span,
    },
    /// A kernel was launched for `op`.
    Launch {
        device: Device,
        stream: u32,
        op: Name,
        kernel: Name,
        dtype: DType,
        bytes: u64,
        flops: u64,
        span: Span,
    },
    /// The host waited for a device; implicit when the script did not ask for it.
    Sync {
        device: Device,
        implicit: bool,
        cause: Name,
        span: Span,
    },
    OutOfMemory {
        device: Device,
        requested: u64,
        message: String,
    },
    /// Allocator state was changed by request: peaks reset, cache emptied.
    PeakReset {
        device: Device,
    },
    CellStart {
        cell: u32,
        at: u64,
    },
    CellEnd {
        cell: u32,
        ok: bool,
        at: u64,
    },
}

/// Receives events as they happen, on the thread that caused them. Must be quick.
pub trait Listener: Send + Sync {
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn on_event(&self, event: &Event) {
        self(event)
    }
}

/// Carries events to listeners. With nobody listening, an event is not even built.
#[derive(Default)]
pub struct Bus {
    listening: AtomicBool,
    next: AtomicU64,
    listeners: RwLock<Vec<(u64, Arc<dyn Listener>)>>,
}

impl Bus {
    /// True when an event would be heard.
    #[inline]
    pub fn listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed)
    }

    /// Emits the event that `body` builds, if anyone listens.
    #[inline]
    pub fn emit(&self, source: Source, body: impl FnOnce() -> Body) {
        if self.listening() {
            self.deliver(source, body());
        }
    }

    /// Adds a listener until the returned subscription is dropped.
    pub fn subscribe(self: &Arc<Self>, listener: Arc<dyn Listener>) -> Subscription {
        let mut all = self.listeners.write().unwrap_or_else(|e| e.into_inner());
        let id = all.last().map_or(0, |(id, _)| id + 1);
        all.push((id, listener));
        self.listening.store(true, Ordering::Relaxed);
        Subscription { bus: Arc::clone(self), id }
    }

    #[cold]
    fn deliver(&self, source: Source, body: Body) {
        let seq = self.next.fetch_add(1, Ordering::Relaxed);
        let event = Event { seq, source, body };
        let all = self.listeners.read().unwrap_or_else(|e| e.into_inner());
        for (_, listener) in all.iter() {
            listener.on_event(&event);
        }
    }
}

/// Keeps a listener on a [`Bus`]; dropping it ends the subscription.
pub struct Subscription {
    bus: Arc<Bus>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut all = self.bus.listeners.write().unwrap_or_else(|e| e.into_inner());
        all.retain(|(id, _)| *id != self.id);
        self.bus.listening.store(!all.is_empty(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn nobody_listening_builds_nothing() {
        let bus = Arc::new(Bus::default());
        bus.emit(Source::default(), || panic!("built"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let subscription = bus.subscribe(Arc::new(move |e: &Event| sink.lock().unwrap().push(e.seq)));
        bus.emit(Source::default(), || Body::CellStart { cell: 1, at: 0 });
        bus.emit(Source::default(), || Body::CellEnd { cell: 1, ok: true, at: 1 });
        assert_eq!(*seen.lock().unwrap(), [0, 1]);
        drop(subscription);
        assert!(!bus.listening());
    }

    #[test]
    fn an_event_survives_json() {
        let event = Event {
            seq: 7,
            source: Source { cell: 1, line: 3 },
            body: Body::Copy {
                from: Device::Cpu,
                to: Device::Cuda(1),
                bytes: 4096,
                pinned: false,
                blocking: true,
                stream: 0,
                span: Span { start: 5, nanos: 9, clock: Clock::Modelled },
            },
        };
        let text = serde_json::to_string(&event).unwrap();
        assert!(text.contains(r#""event":"copy""#) && text.contains(r#""to":"cuda:1""#), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
