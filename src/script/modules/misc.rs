//! What stands in no module: `drop`, `sleep`, `time`, `progress`, `testing::`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhai::{Dynamic, Engine, FnPtr, INT, Map};

use crate::base::event::Clock;
use crate::base::{Error, Result, sorted};
use crate::device::streams::has_used;
use crate::device::{Cancel, Machine};
use crate::distributed::in_ranks;
use crate::op::def::FUNCTION;
use crate::op::inspect::compare::{Closeness, assert_close};
use crate::op::params::kind::{Bool, Float, Int, Str, Tensor};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::kind::{Function, Given};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::carry;
use crate::script::fault::raise;
use crate::script::json;
use crate::script::value::type_name;

use super::iterables::Progress;

params! {
    SleepParams {
        seconds: Float, "how long to wait";
    }
}

params! {
    TimeParams {
        body: Function, "is run once";
    }
}

params! {
    TimeitParams {
        body: Function, "is run again and again";
        warmup: Maybe<Int>, "runs before those that count, for caches and for what is made on first use; 3 where it is not given";
        repeat: Maybe<Int>, "runs that count, at least one; 10 where it is not given";
    }
}

params! {
    ProgressParams {
        items: Given, "what to go through: a range, an array or a DataLoader";
        label: Str = "", "stands before the bar";
    }
}

params! {
    AssertCloseParams {
        actual: Tensor, "what was computed";
        expected: Tensor, "what it should be";
        rtol: Maybe<Float>, "how far off relative to what is expected; by dtype where it is not given: 1.3e-6 for float32";
        atol: Maybe<Float>, "how far off beside that; by dtype where it is not given: 1e-5 for float32";
        equal_nan: Bool = false, "whether NaN is as another NaN";
        check_device: Bool = true, "whether both have to be on the same device";
        check_dtype: Bool = true, "whether both have to have the same dtype";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("drop", Family::Session, "Leaves () in a variable, as Python's `del x` takes it away.", &[])
            .on(Receiver::Variable)
            .forms(FUNCTION)
            .torch("del")
            .details(
                "Memory that nothing else holds is free at once. A closure that captured the variable sees () as well.",
            )
            .example("let x = ones(2); drop(x); x == ()", "true"),
        run: |call| {
            if let Some(variable) = call.place() {
                *variable = Dynamic::UNIT;
            }
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "sleep",
            Family::Session,
            "Waits. An interrupt and `--timeout` end the wait.",
            SleepParams::LIST,
        )
        .torch("time.sleep")
        .details("Beside simulated GPUs it takes as long on the modelled host's clock.")
        .errors(&["ValueError: the number is negative or NaN"])
        .example("sleep(0.01); 1", "1"),
        run: |call| {
            let seconds = SleepParams::of(&call.args)?.seconds;
            let shared = Arc::clone(&call.machine().shared);
            sleep(&shared.cancel, seconds)?;
            shared.slept((seconds * 1e9) as u64);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "time",
            Family::Session,
            "How long a closure takes, between two synchronisations of all GPUs, or of a rank's own.",
            TimeParams::LIST,
        )
        .own()
        .details(
            "Gives a map: median_ms, min_ms, max_ms, iqr_ms, runs and clock. Beside simulated GPUs the time is the modelled \
             one, the host's work in it, and clock says so. With `--host measured` it is the devices' modelled time where \
             they did something, and what the host did meanwhile is left out.",
        )
        .errors(&["Error: whatever the function fails with"])
        .example("time(|| 1 + 1).runs", "1"),
        run: |call| {
            let body = TimeParams::of(&call.args)?.body;
            let (ms, clock) = once(call, &body)?;
            Ok(timing_map(call, &mut [ms], clock).into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "timeit",
            Family::Session,
            "How long a closure takes, as the median of many runs after some that do not count.",
            TimeitParams::LIST,
        )
        .torch("torch.utils.benchmark.Timer")
        .errors(&["ValueError: a count is below 0 or above 1000000"])
        .details(
            "Each run lies between two synchronisations of all GPUs, or of a rank's own. Gives the map that `time()` gives. Where the host's \
             time is modelled as well, a run takes what the one before took once nothing is made for the first time: with \
             neither option, that ends the runs, and the last one counts.",
        )
        .example("timeit(|| ones(10).sum(), #{warmup: 1, repeat: 5}).runs", "5"),
        run: timeit,
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "progress",
            Family::Session,
            "Goes through a range, an array or a DataLoader and shows how far it is.",
            ProgressParams::LIST,
        )
        .torch("tqdm.tqdm")
        .errors(&["TypeError: the items are neither a range nor an array nor a DataLoader"])
        .details("A bar on a terminal and in the lab, one line at the end elsewhere.")
        .example("let sum = 0; for i in progress(0..4, \"adding\") { sum += i; } sum", "6"),
        run: progress,
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "assert_close",
            Family::Testing,
            "An error where two tensors differ by more than rounding, in values, shape, dtype or device.",
            AssertCloseParams::LIST,
        )
        .forms(&[Form::Of("testing")])
        .shapes("both have the same")
        .errors(&["AssertionError: they differ; the text counts the elements and names the worst"])
        .across()
        .example("testing::assert_close(tensor([1.0]), tensor([1.0 + 1e-7])); 1", "1"),
        run: |call| {
            let given = AssertCloseParams::of(&call.args)?;
            let AssertCloseParams { rtol, atol, equal_nan, check_device, check_dtype, .. } = given;
            let how = Closeness { rtol, atol, equal_nan, check_device, check_dtype };
            assert_close(given.actual, given.expected, how)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow::of(
        OpDef::script("len", Family::Session, "How many items a progress bar goes through.", &[])
            .on(Receiver::Progress)
            .torch("len")
            .example("progress(0..5).len()", "5"),
        |call| Ok((call.on::<Progress>()?.total as INT).into()),
    ),
];

/// What goes through the items is a type of its own.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Progress>("progress");
    engine.register_iterator_result::<Progress, Dynamic>();
    // As Python's `math` takes them.
    const OF_NUMBERS: [(&str, fn(f64) -> f64); 8] = [
        ("sqrt", f64::sqrt),
        ("exp", f64::exp),
        ("ln", f64::ln),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("tanh", f64::tanh),
        ("atan", f64::atan),
    ];
    for (name, function) in OF_NUMBERS {
        engine.register_fn(name, move |number: INT| function(number as f64));
    }
    // Rhai's own raises what no `catch` catches, and takes objects alone.
    engine.register_fn("parse_json", |text: &str| json::parse(text).map_err(raise));
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

fn timeit(call: &mut Call) -> Outcome {
    let given = TimeitParams::of(&call.args)?;
    let (warmup, repeat) = (given.warmup.unwrap_or(3), given.repeat.unwrap_or(10));
    for (name, count) in [("warmup", warmup), ("repeat", repeat)] {
        if !(0..=1_000_000).contains(&count) {
            let text = format!("timeit(): '{name}' must be a count from 0 to 1000000");
            return Err(Error::value(text).into());
        }
    }
    let repeat = repeat.max(1);
    // Ranks run a closure as many times as each other: what they exchange in it has to meet.
    let settles = call.machine().shared.host_time().is_some() && !in_ranks();
    if settles && given.warmup.is_none() && given.repeat.is_none() {
        return until_settled(call, &given.body, (warmup + repeat) as usize);
    }
    for _ in 0..warmup {
        let _ = call.run(&given.body, ())?;
    }
    let mut clock = Clock::Measured;
    let mut all = Vec::new();
    for _ in 0..repeat {
        let (ms, used) = once(call, &given.body)?;
        all.push(ms);
        clock = used;
    }
    Ok(timing_map(call, &mut all, clock).into())
}

/// Runs on a modelled clock until one takes what the one before took, which then is what it takes; the last ones of so
/// many where none does.
fn until_settled(call: &Call, body: &FnPtr, most: usize) -> Outcome {
    let mut all: Vec<f64> = Vec::new();
    while all.len() < most {
        let (ms, clock) = once(call, body)?;
        if all.last() == Some(&ms) {
            return Ok(timing_map(call, &mut [ms], clock).into());
        }
        all.push(ms);
    }
    let counted = all.len().saturating_sub(all.len() / 4);
    let skipped = all.len().saturating_sub(counted);
    Ok(timing_map(call, all.get_mut(skipped..).unwrap_or_default(), Clock::Modelled).into())
}

/// A run, timed, with what is noted of that.
fn once(call: &Call, body: &FnPtr) -> Outcome<(f64, Clock)> {
    let (ms, clock) = timed(call, body)?;
    call.machine().shared.note_read(clock);
    Ok((ms, clock))
}

/// Milliseconds of one run between two synchronisations: on the virtual clock where the host goes by it or simulated
/// devices did some of the work, measured otherwise.
fn timed(call: &Call, body: &FnPtr) -> Outcome<(f64, Clock)> {
    let machine: &Machine = call.machine();
    // A rank does not wait for what the others do.
    let is_own = |gpu: usize| !in_ranks() || has_used(gpu);
    let gpus =
        || machine.gpus().iter().enumerate().filter(|(gpu, _)| is_own(*gpu)).map(|(_, context)| context);
    let sync = || gpus().try_for_each(|c| c.synchronize(None, "time", false));
    sync()?;
    if machine.shared.host_time().is_some() {
        let (from, clock) = machine.shared.time();
        let _ = call.run(body, ())?;
        sync()?;
        return Ok((machine.shared.time().0.saturating_sub(from) as f64 / 1e6, clock));
    }
    let modelled = machine.gpus().iter().find(|c| c.backend.properties().clock == Clock::Modelled);
    let from = modelled.map_or(0, |c| c.backend.now());
    let start = Instant::now();
    let _ = call.run(body, ())?;
    let busy = modelled.filter(|c| c.backend.now() != from);
    sync()?;
    Ok(match busy {
        Some(c) => (c.backend.now().saturating_sub(from) as f64 / 1e6, Clock::Modelled),
        None => (start.elapsed().as_secs_f64() * 1e3, Clock::Measured),
    })
}

fn timing_map(call: &Call, all: &mut [f64], clock: Clock) -> Map {
    sorted::sort_by(all, f64::total_cmp);
    let last = all.len().saturating_sub(1) as f64;
    let at = |q: f64| all.get((last * q).round() as usize).copied().unwrap_or(0.0);
    let mut map = Map::new();
    let mut put = |name: &str, ms| map.insert(name.into(), carry::time(&call.machine().shared, ms, clock));
    put("median_ms", at(0.5));
    put("min_ms", at(0.0));
    put("max_ms", at(1.0));
    put("iqr_ms", at(0.75) - at(0.25));
    map.insert("runs".into(), (all.len() as INT).into());
    map.insert("clock".into(), clock.name().into());
    map
}

fn progress(call: &mut Call) -> Outcome {
    let given = ProgressParams::of(&call.args)?;
    let (host, shared) = (Arc::clone(&call.here.host), Arc::clone(&call.machine().shared));
    let wrong = || {
        Error::type_error(format!(
            "progress() goes through a range, an array or a DataLoader, not {}",
            type_name(&given.items)
        ))
    };
    Ok(Dynamic::from(Progress::over(&given.items, given.label, host, shared).ok_or_else(wrong)?))
}
