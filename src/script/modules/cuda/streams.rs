//! Streams and events.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Dynamic, Engine, INT, Map, Module, NativeCallContext};

use crate::base::{Device, DeviceSpec, Error, Result};
use crate::device::{Context, Machine, Mark};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::syntax::ContextManager;
use crate::script::value::type_name;

use super::super::unknown_option;
use super::{CurrentDevice, RhaiResult, gpu, per_device};

/// A stream of a device.
#[derive(Clone)]
pub(super) struct Stream {
    context: Arc<Context>,
    id: u32,
}

/// A point in a stream's work, once recorded.
#[derive(Clone)]
struct Event {
    /// It keeps its time.
    timing: bool,
    recorded: Arc<Mutex<Option<(Arc<Context>, Mark)>>>,
}

pub(super) fn register(engine: &mut Engine, module: &mut Module, machine: &Arc<Machine>) {
    making(module, machine);
    entering(module, machine);
    streams(engine, machine);
    events(engine, module, machine);
}

fn making(module: &mut Module, machine: &Arc<Machine>) {
    fn fresh(machine: &Machine, device: &Dynamic) -> RhaiResult<Stream> {
        let context = gpu(machine, device).map_err(raise)?;
        let id = context.backend.create_stream().map_err(raise)?;
        Ok(Stream { context, id })
    }
    let m = Arc::clone(machine);
    module.set_native_fn("Stream", move || fresh(&m, &Dynamic::UNIT));
    let m = Arc::clone(machine);
    module.set_native_fn("Stream", move |given: Dynamic| -> RhaiResult<Stream> {
        let Some(options) = given.read_lock::<Map>().map(|map| map.clone()) else { return fresh(&m, &given) };
        let mut device = Dynamic::UNIT;
        for (name, value) in &options {
            match name.as_str() {
                "device" => device = value.clone(),
                // Kernels of the model share the device evenly, whatever their stream's priority.
                "priority" if value.is_int() => {}
                "priority" => {
                    let text = format!("'priority' must be int, not {}", type_name(value));
                    return Err(raise(Error::type_error(text)));
                }
                _ => return Err(raise(unknown_option("Stream", name, &["device", "priority"]))),
            }
        }
        fresh(&m, &device)
    });
    per_device(module, machine, "current_stream", |c| Ok(Stream { context: Arc::clone(c), id: c.stream() }));
    per_device(module, machine, "default_stream", |c| Ok(Stream { context: Arc::clone(c), id: 0 }));
}

fn entering(module: &mut Module, machine: &Arc<Machine>) {
    let m = Arc::clone(machine);
    module.set_native_fn("set_stream", move |s: Stream| -> RhaiResult<()> {
        m.set_current_gpu(s.context.device.index()).map_err(raise)?;
        s.context.set_stream(s.id);
        Ok(())
    });
    let m = Arc::clone(machine);
    module.set_native_fn("stream", move |s: Stream| {
        let m = Arc::clone(&m);
        Ok(ContextManager::new("stream", move || {
            let before = m.set_current_gpu(s.context.device.index())?;
            let device = CurrentDevice { machine: Arc::clone(&m), before };
            let stream = s.context.set_stream(s.id);
            Ok(CurrentStream { context: Arc::clone(&s.context), before: stream, _device: device })
        }))
    });
    module.set_native_fn("stream", |_: ()| Ok(ContextManager::new("stream", || Ok(()))));
}

fn streams(engine: &mut Engine, machine: &Arc<Machine>) {
    engine.register_type_with_name::<Stream>("Stream");
    engine.register_fn("to_string", |s: &mut Stream| s.shown());
    engine.register_fn("to_debug", |s: &mut Stream| s.shown());
    engine.register_fn("==", |a: Stream, b: Stream| a.is(&b));
    engine.register_fn("!=", |a: Stream, b: Stream| !a.is(&b));
    let m = Arc::clone(machine);
    engine.register_fn("synchronize", move |ctx: NativeCallContext, s: &mut Stream| {
        note_line(&m.shared, &ctx);
        s.context.synchronize(Some(s.id), "stream.synchronize", false).map_err(raise)
    });
    engine.register_fn("query", |s: &mut Stream| -> RhaiResult<bool> {
        let mark = s.context.backend.record(s.id).map_err(raise)?;
        s.context.check_not_capturing("asking whether a stream is done").map_err(raise)?;
        s.context.backend.query(mark).map_err(raise)
    });
    engine.register_fn("wait_stream", |s: &mut Stream, other: Stream| -> RhaiResult<()> {
        let mark = other.context.backend.record(other.id).map_err(raise)?;
        s.context.backend.wait(s.id, mark).map_err(raise)
    });
    engine.register_fn("wait_event", |s: &mut Stream, e: Event| e.hold(s).map_err(raise));
    engine.register_fn("record_event", |s: &mut Stream| -> RhaiResult<Event> {
        let event = Event::new(false);
        event.record(s).map_err(raise)?;
        Ok(event)
    });
    engine.register_fn("record_event", |s: &mut Stream, e: Event| -> RhaiResult<Event> {
        e.record(s).map_err(raise)?;
        Ok(e)
    });
    engine.register_get("device", |s: &mut Stream| DeviceSpec::from(s.context.device));
    engine.register_get("id", |s: &mut Stream| INT::from(s.id));
    engine.register_get("stream_id", |s: &mut Stream| INT::from(s.id));
}

fn events(engine: &mut Engine, module: &mut Module, machine: &Arc<Machine>) {
    engine.register_type_with_name::<Event>("Event");
    module.set_native_fn("Event", || Ok(Event::new(false)));
    module.set_native_fn("Event", |enable_timing: bool| Ok(Event::new(enable_timing)));
    module.set_native_fn("Event", |options: Map| event(&options).map_err(raise));
    let m = Arc::clone(machine);
    let current = move || -> Result<Stream> {
        let context = gpu(&m, &Dynamic::UNIT)?;
        Ok(Stream { id: context.stream(), context })
    };
    let here = current.clone();
    engine.register_fn("record", move |e: &mut Event| here().and_then(|s| e.record(&s)).map_err(raise));
    engine.register_fn("record", |e: &mut Event, s: Stream| e.record(&s).map_err(raise));
    engine.register_fn("wait", move |e: &mut Event| current().and_then(|s| e.hold(&s)).map_err(raise));
    engine.register_fn("wait", |e: &mut Event, s: Stream| e.hold(&s).map_err(raise));
    let m = Arc::clone(machine);
    engine.register_fn("synchronize", move |ctx: NativeCallContext, e: &mut Event| -> RhaiResult<()> {
        note_line(&m.shared, &ctx);
        match e.recorded() {
            Some((context, mark)) => context.synchronize_mark(mark, "event.synchronize").map_err(raise),
            None => Ok(()),
        }
    });
    engine.register_fn("query", |e: &mut Event| e.reached().map_err(raise));
    engine.register_fn("elapsed_time", |e: &mut Event, end: Event| elapsed(e, &end).map_err(raise));
    engine.register_fn("to_string", |e: &mut Event| e.shown());
    engine.register_fn("to_debug", |e: &mut Event| e.shown());
    engine.register_get("device", |e: &mut Event| match e.recorded() {
        Some((context, _)) => Dynamic::from(DeviceSpec::from(context.device)),
        None => Dynamic::UNIT,
    });
}

fn event(options: &Map) -> Result<Event> {
    const KNOWN: [&str; 4] = ["enable_timing", "blocking", "interprocess", "external"];
    let mut timing = false;
    for (name, value) in options {
        if !KNOWN.contains(&name.as_str()) {
            return Err(unknown_option("Event", name, &KNOWN));
        }
        let Ok(on) = value.as_bool() else {
            return Err(Error::type_error(format!("'{name}' must be bool, not {}", type_name(value))));
        };
        if name == "enable_timing" {
            timing = on;
        }
    }
    Ok(Event::new(timing))
}

/// Milliseconds from one event to the other; the checks are those of PyTorch's `CUDAEvent`.
fn elapsed(start: &Event, end: &Event) -> Result<f64> {
    if !start.timing || !end.timing {
        return Err(Error::value("Both events must be created with argument 'enable_timing=True'.")
            .with_hint("`cuda::Event(#{enable_timing: true})` keeps its time"));
    }
    let (Some((context, from)), Some((_, to))) = (start.recorded(), end.recorded()) else {
        return Err(Error::value("Both events must be recorded before calculating elapsed time.")
            .with_hint("`event.record()` puts it in the current stream"));
    };
    if !start.reached()? || !end.reached()? {
        return Err(Error::runtime("Both events must be completed before calculating elapsed time.")
            .with_hint("wait for the later one first: `end.synchronize()`"));
    }
    context.backend.elapsed(from, to)
}

impl Stream {
    fn is(&self, other: &Stream) -> bool {
        self.id == other.id && self.context.device == other.context.device
    }

    /// As PyTorch prints it; the handle is the stream's number.
    fn shown(&self) -> String {
        format!("<torch.cuda.Stream device={} cuda_stream={:#x}>", self.context.device, self.id)
    }
}

impl Event {
    fn new(timing: bool) -> Event {
        Event { timing, recorded: Arc::default() }
    }

    fn slot(&self) -> MutexGuard<'_, Option<(Arc<Context>, Mark)>> {
        self.recorded.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn recorded(&self) -> Option<(Arc<Context>, Mark)> {
        self.slot().clone()
    }

    /// # Errors
    /// For a stream of another device than that of an earlier record.
    fn record(&self, stream: &Stream) -> Result<()> {
        let device = stream.context.device;
        if let Some((before, _)) = self.recorded()
            && before.device != device
        {
            let number = |d: Device| d.index();
            return Err(Error::runtime(format!(
                "Event device {} does not match recording stream's device {}.",
                number(before.device),
                number(device)
            ))
            .with_hint("an event belongs to the device it was first recorded on: make another one"));
        }
        let mark = stream.context.backend.record(stream.id)?;
        *self.slot() = Some((Arc::clone(&stream.context), mark));
        Ok(())
    }

    /// Makes a stream wait for this event; one that was never recorded holds nothing.
    fn hold(&self, stream: &Stream) -> Result<()> {
        match self.recorded() {
            Some((_, mark)) => stream.context.backend.wait(stream.id, mark),
            None => Ok(()),
        }
    }

    fn reached(&self) -> Result<bool> {
        let Some((context, mark)) = self.recorded() else { return Ok(true) };
        context.check_not_capturing("asking whether an event is reached")?;
        context.backend.query(mark)
    }

    fn shown(&self) -> String {
        match self.recorded() {
            Some((context, mark)) => {
                format!("<torch.cuda.Event on {} of stream {:#x}>", context.device, mark.stream)
            }
            None => "<torch.cuda.Event uninitialized>".into(),
        }
    }
}

/// Puts the stream before back, and then the device.
struct CurrentStream {
    context: Arc<Context>,
    before: u32,
    _device: CurrentDevice,
}

impl Drop for CurrentStream {
    fn drop(&mut self) {
        self.context.set_stream(self.before);
    }
}
