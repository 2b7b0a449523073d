//! Streams and events.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Dynamic, Engine, INT};

use crate::base::event::Clock;
use crate::base::{Device, DeviceSpec, Error, Result};
use crate::device::Context;
use crate::device::context::Recorded;
use crate::op::def::PROPERTY;
use crate::op::params::kind::{self, Bool, Int};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::kind::{Given, Typed};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::carry;
use crate::script::modules::cuda::device::{CAPTURED, CurrentDevice, WORKED_ERRORS, asked, gpu, worked_on};
use crate::script::modules::hook::context;
use crate::script::value::type_name;
use crate::tensor::Tensor;

params! {
    StreamParams {
        device: Maybe<kind::Device>, "the GPU, as 0, \"cuda:0\" or a device; the current one where it is not given";
        priority: Int = 0, "is taken as PyTorch takes it, and changes nothing here: work of all streams is served alike";
    }
}

params! {
    OnStreamParams {
        stream: Given, "where the work goes; () leaves everything as it is";
    }
}

params! {
    ToStreamParams {
        stream: Stream, "where the work goes";
    }
}

params! {
    WaitStreamParams {
        stream: Stream, "what was given to it so far is waited for";
    }
}

params! {
    WaitEventParams {
        event: Event, "what is waited for; one that was never recorded holds nothing";
    }
}

params! {
    RecordEventParams {
        event: Maybe<Event>, "the event that is put there; a new one where it is not given";
    }
}

params! {
    RecordStreamParams {
        s: Stream, "uses the tensor; on its device";
    }
}

params! {
    EventParams {
        enable_timing: Bool = false, "keeps the time, for elapsed_time()";
        blocking: Bool = false, "is taken for PyTorch's sake: the host sleeps while it waits anyway";
        interprocess: Bool = false, "is taken for PyTorch's sake, and does nothing";
        external: Bool = false, "is taken for PyTorch's sake, and does nothing";
    }
}

params! {
    AtStreamParams {
        stream: Maybe<Stream>, "the stream; the current one where it is not given";
    }
}

params! {
    ElapsedTimeParams {
        end_event: Event, "the later of the two";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("Stream", Family::Cuda, "A stream of its own: a queue of work that runs beside those of other streams.", StreamParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(WORKED_ERRORS)
        .details("There are 32, which come round again. Memory made on one stream and used on another needs wait_stream() before, and record_stream() where it may be freed early.")
        .example("cuda::Stream() == cuda::current_stream()", "false"),
        run: |call| {
            let given = StreamParams::of(&call.args)?;
            let _ = given.priority;
            let context = gpu(call.machine(), given.device)?;
            let id = context.backend.create_stream()?;
            Ok(Dynamic::from(Stream { context, id }))
        },
        set: None,
    },
    ScriptRow {
        def: asked("current_stream", "The stream that work goes to now.")
        .example("cuda::current_stream().id", "0"),
        run: |call| {
            let context = worked_on(call)?;
            Ok(Dynamic::from(Stream { id: context.stream(), context }))
        },
        set: None,
    },
    ScriptRow {
        def: asked("default_stream", "The stream that work goes to at first.")
        .example("cuda::default_stream() == cuda::current_stream()", "true"),
        run: |call| Ok(Dynamic::from(Stream { context: worked_on(call)?, id: 0 })),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_stream", Family::Cuda, "Work goes to the stream from now on; `with cuda::stream(s)` ends by itself.", ToStreamParams::LIST)
        .forms(&[Form::Of("cuda")])
        .example("let s = cuda::Stream(); cuda::set_stream(s); let same = cuda::current_stream() == s; cuda::set_stream(cuda::default_stream()); same", "true"),
        run: |call| {
            let stream = ToStreamParams::of(&call.args)?.stream;
            call.machine().set_current_gpu(stream.context.device.index())?;
            stream.context.set_stream(stream.id);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("stream", Family::Cuda, "Work inside the block goes to the stream, on its device.", OnStreamParams::LIST)
        .forms(&[Form::Of("cuda"), Form::With("cuda")])
        .details("Memory made on one stream and used on another needs wait_stream() before, and record_stream() where it may be freed early.")
        .example("let s = cuda::Stream(); with cuda::stream(s) { cuda::current_stream() == s }", "true"),
        run: enter,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("synchronize", Family::Cuda, "The host waits for everything that was given to the stream.", &[])
        .on(Receiver::Stream)
        .torch("torch.cuda.Stream.synchronize")
        .errors(&[CAPTURED])
        .example("let s = cuda::Stream(); s.synchronize(); s.query()", "true"),
        run: |call| {
            let stream = call.on::<Stream>()?;
            stream.context.synchronize(Some(stream.id), "stream.synchronize", false)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("query", Family::Cuda, "Whether everything that was given to the stream is done.", &[])
        .on(Receiver::Stream)
        .torch("torch.cuda.Stream.query")
        .errors(&[CAPTURED])
        .example("cuda::Stream().query()", "true"),
        run: |call| {
            let stream = call.on::<Stream>()?;
            let end = stream.context.record(stream.id)?;
            stream.context.check_not_capturing("asking whether a stream is done")?;
            Ok(stream.context.reached(&end)?.into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("wait_stream", Family::Cuda, "What is given to this stream from now on waits for what another was given so far; the host does not.", WaitStreamParams::LIST)
        .on(Receiver::Stream)
        .torch("torch.cuda.Stream.wait_stream")
        .example("let s = cuda::Stream(); s.wait_stream(cuda::current_stream()); with cuda::stream(s) { ones(2, #{device: \"cuda\"}).sum().item() }", "2.0"),
        run: |call| {
            let (stream, other) = (call.on::<Stream>()?, WaitStreamParams::of(&call.args)?.stream);
            stream.context.wait_for(stream.id, &other.context, other.id)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("wait_event", Family::Cuda, "What is given to this stream from now on waits for the event; the host does not.", WaitEventParams::LIST)
        .on(Receiver::Stream)
        .torch("torch.cuda.Stream.wait_event")
        .example("let s = cuda::Stream(); let e = cuda::current_stream().record_event(); s.wait_event(e); s.query()", "true"),
        run: |call| {
            WaitEventParams::of(&call.args)?.event.hold(&call.on()?)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("record_event", Family::Cuda, "Puts an event behind everything that was given to the stream, and gives it.", RecordEventParams::LIST)
        .on(Receiver::Stream)
        .torch("torch.cuda.Stream.record_event")
        .errors(&["RuntimeError: the event belongs to another device"])
        .example("let e = cuda::current_stream().record_event(); e.synchronize(); e.query()", "true"),
        run: |call| {
            let event = RecordEventParams::of(&call.args)?.event.unwrap_or_else(|| Event::new(false));
            event.record(&call.on()?)?;
            Ok(Dynamic::from(event))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("record_stream", Family::Cuda, "Has the tensor's memory, once it is freed, serve nobody else before the stream has done what it was given until then.", RecordStreamParams::LIST)
        .on(Receiver::Tensor)
        .torch("torch.Tensor.record_stream")
        .shapes("any")
        .details("For a tensor that another stream uses than the one it was made on, and that may go before that stream is done: the allocator knows of its own stream only, and would give the memory out at once. Or have that stream wait before the tensor goes: `wait_stream()`.")
        .errors(&["RuntimeError: the tensor is on the CPU, or the stream is another device's"])
        .example("let s = cuda::Stream(); let x = ones(2, #{device: \"cuda\"}); s.wait_stream(cuda::current_stream()); let y = with cuda::stream(s) { x + 1 }; x.record_stream(s); drop(x); s.synchronize(); y.cpu()", "tensor([2., 2.])"),
        run: |call| {
            let stream = RecordStreamParams::of(&call.args)?.s;
            record_stream(&call.on()?, &stream)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("device", Family::Cuda, "The device that the stream is on.", &[])
        .on(Receiver::Stream)
        .forms(PROPERTY)
        .torch("torch.cuda.Stream.device")
        .example("cuda::Stream().device", "device(type='cuda', index=0)"),
        run: |call| Ok(Dynamic::from(DeviceSpec::from(call.on::<Stream>()?.context.device))),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("id", Family::Cuda, "The stream's number; 0 is the default stream.", &[])
        .on(Receiver::Stream)
        .forms(PROPERTY)
        .own()
        .example("cuda::default_stream().id", "0"),
        run: |call| Ok(INT::from(call.on::<Stream>()?.id).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("stream_id", Family::Cuda, "The stream's number; 0 is the default stream.", &[])
        .on(Receiver::Stream)
        .forms(PROPERTY)
        .torch("torch.cuda.Stream.stream_id")
        .example("cuda::default_stream().stream_id", "0"),
        run: |call| Ok(INT::from(call.on::<Stream>()?.id).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("Event", Family::Cuda, "A point in a stream's work, once it is recorded.", EventParams::LIST)
        .forms(&[Form::Of("cuda")])
        .details("With enable_timing two of them measure: `start.record()`, the work, `end.record()`, `end.synchronize()`, `start.elapsed_time(end)`.")
        .example("let e = cuda::Event(); e.query()", "true"),
        run: |call| {
            let given = EventParams::of(&call.args)?;
            let _ = (given.blocking, given.interprocess, given.external);
            Ok(Dynamic::from(Event::new(given.enable_timing)))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("record", Family::Cuda, "Puts the event behind everything that was given to a stream.", AtStreamParams::LIST)
        .on(Receiver::Event)
        .torch("torch.cuda.Event.record")
        .errors(&["RuntimeError: it was recorded on another device before"])
        .example("let e = cuda::Event(); e.record(); e.synchronize(); e.query()", "true"),
        run: |call| {
            call.on::<Event>()?.record(&stream_of(call)?)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("wait", Family::Cuda, "What is given to a stream from now on waits for the event; the host does not.", AtStreamParams::LIST)
        .on(Receiver::Event)
        .torch("torch.cuda.Event.wait")
        .example("let e = cuda::Event(); e.record(); e.wait(cuda::Stream()); e.synchronize(); e.query()", "true"),
        run: |call| {
            call.on::<Event>()?.hold(&stream_of(call)?)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("synchronize", Family::Cuda, "The host waits for the event.", &[])
        .on(Receiver::Event)
        .torch("torch.cuda.Event.synchronize")
        .errors(&[CAPTURED])
        .example("let e = cuda::Event(); e.record(); e.synchronize(); e.query()", "true"),
        run: |call| {
            if let Some((context, point)) = call.on::<Event>()?.recorded() {
                context.synchronize_mark(point, "event.synchronize")?;
            }
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("query", Family::Cuda, "Whether the event is reached; one that was never recorded is.", &[])
        .on(Receiver::Event)
        .torch("torch.cuda.Event.query")
        .errors(&[CAPTURED])
        .example("cuda::Event().query()", "true"),
        run: |call| Ok(call.on::<Event>()?.reached()?.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("elapsed_time", Family::Cuda, "Milliseconds from this event to a later one, modelled on a simulated GPU.", ElapsedTimeParams::LIST)
        .on(Receiver::Event)
        .torch("torch.cuda.Event.elapsed_time")
        .errors(&[
            "ValueError: one of them keeps no time, or was not recorded",
            "RuntimeError: one of them is not reached yet",
        ])
        .example("let a = cuda::Event(#{enable_timing: true}); let b = cuda::Event(#{enable_timing: true}); a.record(); b.record(); b.synchronize(); a.elapsed_time(b) >= 0.0", "true"),
        run: |call| {
            let end = ElapsedTimeParams::of(&call.args)?.end_event;
            let (ms, clock) = elapsed(&call.on()?, &end)?;
            let shared = &call.machine().shared;
            shared.note_bare_time(clock);
            Ok(carry::time(shared, ms, clock))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("device", Family::Cuda, "The device that the event was recorded on, or ().", &[])
        .on(Receiver::Event)
        .forms(PROPERTY)
        .torch("torch.cuda.Event.device")
        .example("cuda::current_stream().record_event().device", "device(type='cuda', index=0)"),
        run: |call| {
            Ok(match call.on::<Event>()?.recorded() {
                Some((context, _)) => Dynamic::from(DeviceSpec::from(context.device)),
                None => Dynamic::UNIT,
            })
        },
        set: None,
    },
];

/// A stream of a device.
#[derive(Clone)]
pub struct Stream {
    context: Arc<Context>,
    id: u32,
}

/// A point in a stream's work, once recorded.
#[derive(Clone)]
pub struct Event {
    /// It keeps its time.
    timing: bool,
    recorded: Arc<Mutex<Option<(Arc<Context>, Recorded)>>>,
}

impl Event {
    /// A number that tells events apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.recorded).addr()
    }

    /// Another event that was recorded where this one was.
    pub(crate) fn copied(&self) -> Event {
        let recorded = self.recorded.lock().unwrap_or_else(|e| e.into_inner()).clone();
        Event { timing: self.timing, recorded: Arc::new(Mutex::new(recorded)) }
    }
}

impl Typed for Stream {
    const RECEIVER: Receiver = Receiver::Stream;
}

impl Typed for Event {
    const RECEIVER: Receiver = Receiver::Event;
}

/// The types with their printed forms and comparisons.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Stream>("Stream");
    engine.register_fn("to_string", |s: &mut Stream| s.shown());
    engine.register_fn("to_debug", |s: &mut Stream| s.shown());
    engine.register_fn("==", |a: Stream, b: Stream| a.is(&b));
    engine.register_fn("!=", |a: Stream, b: Stream| !a.is(&b));
    engine.register_type_with_name::<Event>("Event");
    engine.register_fn("to_string", |e: &mut Event| e.shown());
    engine.register_fn("to_debug", |e: &mut Event| e.shown());
}

fn enter(call: &mut Call) -> Outcome {
    let given = OnStreamParams::of(&call.args)?.stream;
    if given.is_unit() {
        return context("stream", || Ok(()));
    }
    let stream = given.read_lock::<Stream>().map(|s| s.clone()).ok_or_else(|| {
        let text = format!("stream(): argument 'stream' must be a Stream or (), not {}", type_name(&given));
        Error::type_error(text).with_hint("`cuda::Stream()` makes one")
    })?;
    let machine = Arc::clone(call.machine());
    context("stream", move || {
        let before = machine.set_current_gpu(stream.context.device.index())?;
        let device = CurrentDevice { machine: Arc::clone(&machine), before };
        let before = stream.context.set_stream(stream.id);
        Ok(CurrentStream { context: Arc::clone(&stream.context), before, _device: device })
    })
}

/// # Errors
/// Of a tensor on the CPU, as PyTorch's dispatcher puts it, and of a stream of another device, on which PyTorch's
/// allocator would record nothing that is waited for.
fn record_stream(tensor: &Tensor, stream: &Stream) -> Result<()> {
    if !tensor.device().is_cuda() {
        let text = "Could not run 'aten::record_stream' with arguments from the 'CPU' backend.";
        return Err(Error::runtime(text)
            .with_hint("memory of the host is no stream's: only a tensor on a GPU is recorded"));
    }
    if tensor.device() != stream.context.device {
        let text = format!(
            "record_stream(): the tensor is on {}, but the stream on {}",
            tensor.device(),
            stream.context.device
        );
        return Err(Error::runtime(text).with_hint("a stream uses the memory of its own device"));
    }
    tensor.record_stream(stream.id);
    Ok(())
}

/// The stream that is given, or the current one.
fn stream_of(call: &Call) -> Result<Stream> {
    match AtStreamParams::of(&call.args)?.stream {
        Some(stream) => Ok(stream),
        None => {
            let context = gpu(call.machine(), None)?;
            Ok(Stream { id: context.stream(), context })
        }
    }
}

/// Milliseconds from one event to the other, and on which clock; the checks are those of PyTorch's `CUDAEvent`.
fn elapsed(start: &Event, end: &Event) -> Result<(f64, Clock)> {
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
    let ms = context.backend.elapsed(from.mark, to.mark)?;
    Ok((ms, context.backend.properties().clock))
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

    fn slot(&self) -> MutexGuard<'_, Option<(Arc<Context>, Recorded)>> {
        self.recorded.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn recorded(&self) -> Option<(Arc<Context>, Recorded)> {
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
        let point = stream.context.record(stream.id)?;
        *self.slot() = Some((Arc::clone(&stream.context), point));
        Ok(())
    }

    /// Makes a stream wait for this event; one that was never recorded holds nothing.
    fn hold(&self, stream: &Stream) -> Result<()> {
        match self.recorded() {
            Some((_, point)) => stream.context.wait(stream.id, &point),
            None => Ok(()),
        }
    }

    fn reached(&self) -> Result<bool> {
        let Some((context, point)) = self.recorded() else { return Ok(true) };
        context.check_not_capturing("asking whether an event is reached")?;
        context.reached(&point)
    }

    fn shown(&self) -> String {
        match self.recorded() {
            Some((context, point)) => {
                format!("<torch.cuda.Event on {} of stream {:#x}>", context.device, point.mark.stream)
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
