//! `tensorlab plan`: whether a script fits, and what it takes, on one set of simulated devices after the other.

use std::path::PathBuf;

use rhai::{Array, Dynamic};
use serde_json::{Value, json};

use crate::base::Cause;
use crate::base::figures::{bytes, capacity, nanos};
use crate::base::file::WritesAside;
use crate::base::sorted;
use crate::base::stderr::{self, tell};
use crate::base::table::aligned;
use crate::base::text::strip_control;
use crate::device::Machine;
use crate::device::sim::{Profile, Selection, SimulatedDevices, builtin_ids};
use crate::script::plan::{Ended, Planned, Shares, plan};
use crate::script::{Fault, Origin};

use super::output::say;
use super::run::{Watch, asked, leave_out_values, load, on_large_stack};
use super::{Script, exit};

/// What is planned for where nothing is named.
const USUAL: &str = "t4,rtx4090,a100,h100";

/// Memory that no script fills: what one needs is seen on it.
const BOUNDLESS: u64 = 1 << 46;

#[derive(clap::Args)]
pub(super) struct PlanOptions {
    /// The script; `-` reads standard input
    file: PathBuf,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// End each run after so many seconds
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,
    /// Arguments for the script, as ARGS
    #[arg(last = true)]
    args: Vec<String>,
}

pub(super) fn help() -> String {
    format!(
        "--devices names sets of devices, each of which is tried: `--devices t4,rtx4090,h100x8` [default: {USUAL}].\n\
         Nothing is computed: what the script prints is not shown, and what it writes is not kept. Times are modelled.\n\n{}",
        exit::help()
    )
}

/// Runs the script on each set and gives the exit status.
pub(super) fn run(options: &PlanOptions, devices: &str) -> u8 {
    let script = match load(&options.file, options.timeout) {
        Ok(script) => script,
        Err(text) => return refused(&text),
    };
    match sets(devices) {
        Ok(sets) => on_large_stack(|| tried(&script, options, &sets)),
        Err(text) => refused(&text),
    }
}

fn refused(text: &str) -> u8 {
    tell!("error: {text}");
    exit::USAGE
}

/// A set of devices under the name that it was given.
struct Set {
    name: String,
    devices: SimulatedDevices,
    profiles: Vec<Profile>,
}

impl Set {
    /// The profile of a device.
    fn profile(&self, index: u16) -> Option<&Profile> {
        self.profiles.get(usize::from(index))
    }
}

/// The sets that a list names, with a host behind all of them. `sim:` need not be written.
fn sets(devices: &str) -> Result<Vec<Set>, String> {
    let (list, host) = devices.split_once('@').map_or((devices, None), |(list, host)| (list, Some(host)));
    let list = if list == "auto" { USUAL } else { list };
    let set = |item: &str| {
        let name = item.trim().strip_prefix("sim:").unwrap_or(item.trim());
        if matches!(name, "cpu" | "cuda" | "auto") {
            return Err(format!("a plan is for simulated devices, not `{name}`: name some, such as {USUAL}"));
        }
        let host = host.map(|host| format!("@{host}")).unwrap_or_default();
        let selection: Selection = format!("sim:{name}{host}").parse().map_err(|error| format!("{error}"))?;
        let Selection::Sim(devices) = selection else {
            return Err(format!("`{item}` is no set of simulated devices"));
        };
        let profiles = devices.profiles().map_err(|error| error.to_string())?;
        Ok(Set { name: name.to_owned(), devices, profiles })
    };
    list.split(',').map(set).collect()
}

/// What came of one set.
struct Tried<'s> {
    set: &'s Set,
    planned: Planned,
    /// The same where memory has no end, for what does not fit.
    needs: Option<Planned>,
}

impl Tried<'_> {
    fn fits(&self) -> bool {
        matches!(self.planned.end, Ended::Ran)
    }

    /// Bytes that tensors hold at the most, where that is known.
    fn peak(&self) -> Option<(u16, u64)> {
        self.complete().map(|planned| (planned.fullest, planned.peak))
    }

    /// The memory of a device on which it runs as it did to its end.
    fn room(&self) -> Option<u64> {
        let Planned { fullest, reserved, .. } = self.complete()?;
        let context = self.set.profile(*fullest).map_or(0, |profile| profile.device.context);
        Some(reserved.saturating_add(context))
    }

    /// The run to the script's end, where there is one.
    fn complete(&self) -> Option<&Planned> {
        let mut all = [Some(&self.planned), self.needs.as_ref()].into_iter().flatten();
        all.find(|planned| matches!(planned.end, Ended::Ran))
    }

    /// The memory of the device that holds most.
    fn memory(&self) -> u64 {
        let fullest = self.peak().map_or(self.planned.fullest, |(fullest, _)| fullest);
        self.set.profile(fullest).map_or(0, |profile| profile.device.memory)
    }
}

fn tried(script: &Script, options: &PlanOptions, sets: &[Set]) -> u8 {
    let mut all = Vec::new();
    for set in sets {
        let on = |profiles: Vec<Profile>| on_machine(script, options, set, profiles);
        let planned = match on(set.profiles.clone()) {
            Ok(planned) => planned,
            Err(text) => return refused(&text),
        };
        let is_full = planned.refusals > 0 && !matches!(planned.end, Ended::Cancelled(_));
        let needs = is_full.then(|| on(set.profiles.iter().map(boundless).collect()).ok()).flatten();
        // Either run may have been ended.
        for end in [Some(&planned), needs.as_ref()].into_iter().flatten().map(|planned| &planned.end) {
            let Ended::Cancelled(error) = end else { continue };
            tell!("{}", error.message());
            let is_late = matches!(error.cause(), Cause::Timeout { .. });
            return if is_late { exit::TIMEOUT } else { asked() };
        }
        all.push(Tried { set, planned, needs });
    }
    match options.json {
        true => say!("{}", Value::from(all.iter().map(document).collect::<Vec<_>>())),
        false => show(&all, &script.name),
    }
    let failed = all.iter().any(|tried| matches!(tried.planned.end, Ended::Stopped(_)));
    if failed { exit::SCRIPT } else { exit::FINE }
}

fn boundless(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.device.memory = BOUNDLESS;
    profile.faults = Default::default();
    profile
}

fn on_machine(
    script: &Script,
    options: &PlanOptions,
    set: &Set,
    profiles: Vec<Profile>,
) -> Result<Planned, String> {
    let host = set.devices.host().map_err(|error| error.to_string())?;
    let machine = Machine::simulated(profiles, &host);
    if !leave_out_values(&machine) {
        return Err("a plan has modelled times alone: `--host measured` has none".into());
    }
    let _aside = WritesAside::begin().map_err(|error| format!("cannot make a folder aside: {error}"))?;
    let _watch = Watch::start(&machine, options.timeout);
    let origin = Origin { name: &script.name, code: &script.code, first_line: 1 };
    let arguments: Array = options.args.iter().map(|a| Dynamic::from(a.clone())).collect();
    Ok(plan(&machine, &origin, arguments.into()))
}

fn show(all: &[Tried], script: &str) {
    let header = ["devices", "memory", "peak", "fits", "time", "what takes it"].map(String::from);
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    say!("plan of {script}: nothing was computed, times are modelled");
    for line in aligned(&header, &rows, 60).lines {
        say!("{line}");
    }
    for tried in all {
        if let Ended::Full(fault) = &tried.planned.end {
            say!("");
            full(tried, fault, all);
        }
    }
    stopped(all);
}

/// Says where the script stops, once for all devices on which it does so in the same way.
fn stopped(all: &[Tried]) {
    let faults = all.iter().filter_map(|tried| match &tried.planned.end {
        Ended::Stopped(fault) => Some((tried.set.name.as_str(), fault)),
        _ => None,
    });
    let mut ways: Vec<(Vec<&str>, &Fault)> = Vec::new();
    for (name, fault) in faults {
        match ways.iter_mut().find(|(_, known)| known.report == fault.report) {
            Some((names, _)) => names.push(name),
            None => ways.push((vec![name], fault)),
        }
    }
    for (names, fault) in ways {
        let line = fault.line.map(|line| format!(" in line {line}")).unwrap_or_default();
        let message = strip_control(fault.message.lines().next().unwrap_or_default()).into_owned();
        say!("");
        say!("On {} the script stops{line}: {}: {message}", names.join(", "), fault.kind);
        stderr::put(format_args!("{}", strip_control(&fault.report)));
    }
}

fn row(tried: &Tried) -> Vec<String> {
    let planned = &tried.planned;
    let peak = match tried.peak() {
        Some((_, peak)) => bytes(peak),
        None => format!("over {}", bytes(planned.peak)),
    };
    let (fits, takes) = match &planned.end {
        Ended::Ran if planned.refusals > 0 => (format!("after {} refused", planned.refusals), true),
        Ended::Ran => ("yes".into(), true),
        Ended::Full(_) => ("no".into(), false),
        Ended::Stopped(_) | Ended::Cancelled(_) => ("stops".into(), false),
    };
    let time = if takes { nanos(planned.nanos) } else { "–".into() };
    let what = if takes { told(&planned.shares) } else { String::new() };
    vec![tried.set.name.clone(), bytes(capacity(tried.memory())), peak, fits, time, what]
}

/// `kernels 81 % (linear 44 %), copies 12 %`: what takes a twentieth and more, the longest first.
fn told(shares: &Shares) -> String {
    let of = |part: f64| format!("{:.0} %", part * 100.0);
    let kernels = match shares.longest {
        Some((op, part)) => format!("kernels {} ({op} {} of that)", of(shares.kernels), of(part)),
        None => format!("kernels {}", of(shares.kernels)),
    };
    let mut parts = vec![
        (shares.kernels, kernels),
        (shares.copies, format!("copies {}", of(shares.copies))),
        (shares.others, format!("other GPUs {}", of(shares.others))),
        (shares.host, format!("host {}", of(shares.host))),
    ];
    parts.retain(|(part, _)| *part >= 0.05);
    sorted::sort_by(&mut parts, |(a, _), (b, _)| b.total_cmp(a));
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// What would make it fit.
fn full(tried: &Tried, fault: &Fault, all: &[Tried]) {
    let name = &tried.set.name;
    let line = fault.line.map(|line| format!(" in line {line}")).unwrap_or_default();
    let needs = match tried.peak() {
        Some((_, peak)) => format!("its tensors need {}", bytes(peak)),
        None => "how much it needs is not known: with more memory it stops for another reason".into(),
    };
    say!("{name} is full{line}; {needs}.");
    for advice in advice(fault) {
        say!("  {}", whole_need(tried, advice));
    }
    if let Some(larger) = larger(tried, all) {
        say!("  {larger}");
    }
}

/// The lines of an error's hint that say what would have worked.
fn advice(fault: &Fault) -> Vec<&str> {
    let lines = fault.hint.as_deref().unwrap_or_default().lines();
    let lines = lines.skip_while(|line| !line.trim_start().starts_with("Would have"));
    lines.map(str::trim_end).filter(|line| !line.is_empty()).collect()
}

/// Of a larger device: what the script needs as a whole, where that is known, in the place of what one request does.
fn whole_need(tried: &Tried, advice: &str) -> String {
    let known = advice.split_once(LARGER).zip(tried.room());
    let Some(((before, _), room)) = known else { return advice.to_owned() };
    let room = bytes(room);
    format!(
        "{before}use a device with {room} of memory, where the whole script fits, or split the work over several"
    )
}

/// How the advice to take a larger device begins.
const LARGER: &str = "use a device with at least ";

/// The ways, each by itself.
fn ways(tried: &Tried, fault: &Fault) -> Vec<String> {
    let ways = advice(fault).into_iter().map(|way| whole_need(tried, way.trim_start()));
    ways.map(|way| way.split_once(':').map_or(way.as_str(), |(_, way)| way.trim_start()).to_owned()).collect()
}

/// Devices on which it fits: of those that were tried, or the smallest that there is.
fn larger(tried: &Tried, all: &[Tried]) -> Option<String> {
    let fitting: Vec<&str> = all.iter().filter(|one| one.fits()).map(|one| one.set.name.as_str()).collect();
    if !fitting.is_empty() {
        return Some(format!("It fits on {}.", fitting.join(", ")));
    }
    let (_, peak) = tried.peak()?;
    let profiles = builtin_ids().filter_map(|id| Profile::builtin(id).ok());
    // One that was full holds it as little when it is named again: tensors are not all that takes room.
    let full = all.iter().flat_map(|one| &one.set.profiles).map(|profile| profile.device.memory).max();
    let holding = profiles.filter(|profile| {
        let memory = profile.device.memory;
        full.is_none_or(|full| memory > full) && memory.saturating_sub(profile.device.context) >= peak
    });
    let smallest = holding.min_by_key(|profile| profile.device.memory);
    Some(match smallest {
        Some(profile) => format!(
            "The smallest of the devices at hand that could hold it is {}, with {}: try `--devices {}`.",
            profile.id,
            bytes(capacity(profile.device.memory)),
            profile.id
        ),
        None => "No single device at hand holds that much: put parts on several, keep less (`checkpoint`), or halve \
                 what is kept (`half()`, `autocast`)."
            .into(),
    })
}

fn document(tried: &Tried) -> Value {
    let planned = &tried.planned;
    let error = |fault: &Fault| json!({"kind": fault.kind, "message": fault.message, "line": fault.line});
    let (end, fault) = match &planned.end {
        Ended::Ran => ("ran", None),
        Ended::Full(fault) => ("full", Some(fault)),
        Ended::Stopped(fault) => ("stopped", Some(fault)),
        Ended::Cancelled(_) => ("cancelled", None),
    };
    json!({
        "devices": tried.set.name,
        "memory_bytes": tried.memory(),
        "peak_bytes": tried.peak().map(|(_, peak)| peak),
        "fits": tried.fits(),
        "refusals": planned.refusals,
        "end": end,
        "time_ms": tried.fits().then(|| planned.nanos as f64 / 1e6),
        "clock": "modelled",
        "kernels": planned.shares.kernels,
        "copies": planned.shares.copies,
        "other_gpus": planned.shares.others,
        "host": planned.shares.host,
        "longest_op": planned.shares.longest.map(|(op, part)| json!({"op": op.as_str(), "share": part})),
        "error": fault.map(|fault| error(fault)),
        "advice": fault.map(|fault| ways(tried, fault)).unwrap_or_default(),
    })
}
