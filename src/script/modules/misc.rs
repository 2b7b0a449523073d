//! What stands in no module: `drop`, `time`, `progress`, `testing::`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhai::{Array, Dynamic, Engine, FnPtr, INT, Map, Module, NativeCallContext};

use crate::base::chain::Link;
use crate::base::event::Clock;
use crate::base::{Error, Result};
use crate::data::DataLoader;
use crate::device::{Cancel, Machine};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] = &["drop", "sleep", "time", "timeit", "progress", "testing", "assert_close"];

pub const PAGES: &[Page] = &[
    Page {
        name: "progress",
        call: "for x in progress(items, label) { … }",
        text: "Goes through a range, an array or a DataLoader and shows how far it is: a bar on a terminal and in the \
               lab, one line at the end elsewhere.",
    },
    Page {
        name: "sleep",
        call: "sleep(seconds)",
        text: "Waits for so many seconds, a whole number or a float. An interrupt and `--timeout` end the wait.",
    },
    Page {
        name: "drop",
        call: "drop(x)",
        text: "Leaves () in a variable, as Python's `del x` takes it away: memory that nothing else holds is free at \
               once. A closure that captured the variable sees () as well.",
    },
];

pub fn register(engine: &mut Engine, machine: &Arc<Machine>, host: &Arc<dyn Host>) {
    engine.register_fn("drop", |value: &mut Dynamic| *value = Dynamic::UNIT);
    sleeping(engine, machine);
    timing(engine, machine);
    progress(engine, host);
    testing(engine);
}

/// `sleep(seconds)` in place of Rhai's, which nothing interrupts.
fn sleeping(engine: &mut Engine, machine: &Arc<Machine>) {
    let shared = Arc::clone(&machine.shared);
    engine.register_fn("sleep", move |seconds: f64| sleep(&shared.cancel, seconds).map_err(raise));
    let shared = Arc::clone(&machine.shared);
    engine.register_fn("sleep", move |seconds: INT| sleep(&shared.cancel, seconds as f64).map_err(raise));
}

/// How long a sleep takes to see that it was interrupted.
const NAP: Duration = Duration::from_millis(10);

fn sleep(cancel: &Cancel, seconds: f64) -> Result<()> {
    if seconds.is_nan() {
        return Err(Error::value("Invalid value NaN (not a number)"));
    }
    if seconds < 0.0 {
        return Err(Error::value("sleep length must be non-negative"));
    }
    let start = Instant::now();
    // Longer than a `Duration` can tell is for ever.
    let length = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    loop {
        cancel.check()?;
        match length.checked_sub(start.elapsed()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(NAP)),
            _ => return Ok(()),
        }
    }
}

fn timing(engine: &mut Engine, machine: &Arc<Machine>) {
    let m = Arc::clone(machine);
    engine.register_fn("time", move |ctx: NativeCallContext, body: FnPtr| -> RhaiResult<Map> {
        let (ms, clock) = once(&m, || body.call_within_context::<Dynamic>(&ctx, ()).map(|_| ()))?;
        Ok(timing_map(&mut [ms], clock))
    });
    let m = Arc::clone(machine);
    engine.register_fn("timeit", move |ctx: NativeCallContext, body: FnPtr| {
        timeit(&m, &ctx, &body, &Map::new())
    });
    let m = Arc::clone(machine);
    engine.register_fn("timeit", move |ctx: NativeCallContext, body: FnPtr, options: Map| {
        timeit(&m, &ctx, &body, &options)
    });
}

fn timeit(machine: &Machine, ctx: &NativeCallContext, body: &FnPtr, options: &Map) -> RhaiResult<Map> {
    let (mut warmup, mut repeat) = (3, 10);
    for (name, value) in options {
        let slot = match name.as_str() {
            "warmup" => &mut warmup,
            "repeat" => &mut repeat,
            _ => {
                let error = Error::type_error(format!("timeit() got an unknown option '{name}'"));
                return Err(raise(error.with_hint("options are warmup and repeat")));
            }
        };
        *slot = value.as_int().ok().filter(|n| (0..=1_000_000).contains(n)).ok_or_else(|| {
            raise(Error::value(format!("timeit(): '{name}' must be a count from 0 to 1000000")))
        })?;
    }
    let run = || body.call_within_context::<Dynamic>(ctx, ()).map(|_| ());
    for _ in 0..warmup {
        run()?;
    }
    let mut clock = Clock::Measured;
    let mut all = Vec::new();
    for _ in 0..repeat.max(1) {
        let (ms, used) = once(machine, run)?;
        all.push(ms);
        clock = used;
    }
    Ok(timing_map(&mut all, clock))
}

/// Milliseconds of one run between two synchronisations: on the virtual clock where simulated devices did some
/// of the work, measured otherwise.
fn once(machine: &Machine, run: impl FnOnce() -> RhaiResult<()>) -> RhaiResult<(f64, Clock)> {
    let modelled = machine.gpus().iter().find(|c| c.backend.properties().clock == Clock::Modelled);
    let sync = || machine.gpus().iter().try_for_each(|c| c.synchronize(None, "time", false)).map_err(raise);
    sync()?;
    let from = modelled.map_or(0, |c| c.backend.now());
    let start = Instant::now();
    run()?;
    let busy = modelled.filter(|c| c.backend.now() != from);
    sync()?;
    Ok(match busy {
        Some(c) => (c.backend.now().saturating_sub(from) as f64 / 1e6, Clock::Modelled),
        None => (start.elapsed().as_secs_f64() * 1e3, Clock::Measured),
    })
}

fn timing_map(all: &mut [f64], clock: Clock) -> Map {
    all.sort_by(f64::total_cmp);
    let last = all.len().saturating_sub(1) as f64;
    let at = |q: f64| all.get((last * q).round() as usize).copied().unwrap_or(0.0);
    let mut map = Map::new();
    map.insert("median_ms".into(), at(0.5).into());
    map.insert("min_ms".into(), at(0.0).into());
    map.insert("max_ms".into(), at(1.0).into());
    map.insert("iqr_ms".into(), (at(0.75) - at(0.25)).into());
    map.insert("runs".into(), (all.len() as INT).into());
    map.insert("clock".into(), clock.name().into());
    map
}

type Items = Box<dyn Iterator<Item = RhaiResult<Dynamic>>>;

/// Goes through a range, an array or a loader and shows how far it is.
#[derive(Clone)]
struct Progress {
    items: Link<Arc<dyn Fn() -> Items + Send + Sync>>,
    total: u64,
    label: String,
    host: Arc<dyn Host>,
}

fn progress(engine: &mut Engine, host: &Arc<dyn Host>) {
    type Range = std::ops::Range<INT>;
    type Closed = std::ops::RangeInclusive<INT>;
    engine.register_type_with_name::<Progress>("progress");
    macro_rules! over {
        ($type:ty, |$given:ident| $total:expr, $items:expr) => {{
            let h = Arc::clone(host);
            let make = move |$given: $type, label: &str| {
                let total = $total;
                let items = Arc::new(move || Box::new($items) as Items);
                Progress { items: Link::new(items), total, label: label.into(), host: Arc::clone(&h) }
            };
            let labelled = make.clone();
            engine.register_fn("progress", labelled);
            engine.register_fn("progress", move |given: $type| make(given, ""));
        }};
    }
    over!(Range, |r| r.end.saturating_sub(r.start).max(0) as u64, r.clone().map(|i| Ok(Dynamic::from(i))));
    over!(
        Closed,
        |r| r.end().saturating_sub(*r.start()).saturating_add(1).max(0) as u64,
        r.clone().map(|i| Ok(Dynamic::from(i)))
    );
    over!(Array, |list| list.len() as u64, list.clone().into_iter().map(Ok));
    over!(DataLoader, |loader| loader.len() as u64, loader.clone().into_iter());
    engine.register_iterator_result::<Progress, Dynamic>();
    engine.register_fn("len", |p: &mut Progress| p.total as INT);
}

/// A running [`Progress`].
struct ProgressIter {
    inner: Items,
    done: u64,
    of: Progress,
}

impl Iterator for ProgressIter {
    type Item = RhaiResult<Dynamic>;

    fn next(&mut self) -> Option<RhaiResult<Dynamic>> {
        let next = self.inner.next();
        self.of.host.progress(&self.of.label, self.done.min(self.of.total), Some(self.of.total), "");
        self.done += 1;
        next
    }
}

impl IntoIterator for Progress {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = ProgressIter;

    fn into_iter(self) -> ProgressIter {
        ProgressIter { inner: (self.items)(), done: 0, of: self }
    }
}

fn testing(engine: &mut Engine) {
    let mut module = Module::new();
    module.set_native_fn("assert_close", |a: Tensor, b: Tensor| assert_close(&a, &b, &Map::new()));
    module.set_native_fn("assert_close", |a: Tensor, b: Tensor, options: Map| assert_close(&a, &b, &options));
    engine.register_static_module("testing", module.into());
}

fn assert_close(a: &Tensor, b: &Tensor, options: &Map) -> RhaiResult<()> {
    let (mut rtol, mut atol) = (None, None);
    for (name, value) in options {
        let number = value.as_float().or_else(|_| value.as_int().map(|i| i as f64));
        match (name.as_str(), number) {
            ("rtol", Ok(n)) => rtol = Some(n),
            ("atol", Ok(n)) => atol = Some(n),
            _ => {
                let error = Error::type_error(format!("assert_close() cannot use option '{name}'"));
                return Err(raise(error.with_hint("options are rtol and atol, both numbers")));
            }
        }
    }
    crate::op::compare::assert_close(a, b, rtol, atol).map_err(raise)
}
