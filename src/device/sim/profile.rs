//! Device profiles: what a simulated GPU is made of, read from TOML.
//!
//! Every figure is written with its source, or says that it is assumed.
//! The files in `profiles/` show them all:
//!
//! ```toml
//! [device]
//! memory_bandwidth = { value = 320, unit = "GB/s", source = "NVIDIA T4 datasheet" }
//! sm_count = { value = 40, source = "NVIDIA Turing whitepaper" }
//!
//! [launch]
//! latency = { value = 3.5, unit = "us", source = "assumed: why" }
//! ```
//!
//! `[efficiency]` is the part of its peaks that a class of kernels reaches: of the memory's bandwidth, and of the rate
//! for matmul, convolution and random (whose bytes move as elementwise ones do). `split_reduction`, `arg_reduction`,
//! `gather_elements`, `scatter_add` and `transpose` may be left out, there and in `[latency]`: then those of
//! `reduction`, `gather_scatter` and `copy` hold, of which they are parts.
//!
//! Reading is strict: an unknown or missing key, a wrong unit, or a number that is not finite and above zero is
//! an error with its line. Once read, sizes are bytes, bandwidths bytes per second, rates operations per second
//! (dense), times nanoseconds.

use std::path::Path;

use crate::base::near::nearest;
use crate::base::packed::Pack;
use crate::device::kernel::KernelClass;
use crate::device::sim::rate::Rate;

use super::algorithms::AlgorithmFigures;
use super::error::{ProfileError, ProfileFault, quoted};
use super::figures::{
    self, BANDWIDTH, CACHE, Document, FLOPS, FRACTION, INTEGER_OPS, MEMORY, Section, check_id, count,
    read_file,
};

pub use super::figures::{Figure, LONGEST_FILE};

/// A simulated GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    pub id: String,
    /// As `get_device_name` gives it, always ending in ` (simulated)`.
    pub name: String,
    /// One line for lists of profiles.
    pub summary: String,
    pub device: DeviceFigures,
    pub peak: Peak,
    pub efficiency: Efficiency,
    /// What a search for a better algorithm finds; without it there is one for each convolution.
    pub algorithms: Option<AlgorithmFigures>,
    pub launch: Launch,
    pub link: HostLink,
    pub peer: Peer,
    /// What it draws, where that is known.
    pub power: Option<Power>,
    pub faults: Faults,
    /// Every figure above (faults are wishes, not figures) with its source, in the order of the file's
    /// sections.
    pub figures: Vec<Figure>,
}

/// What `get_device_properties` reports, and what the memory and the copy engines do.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceFigures {
    pub compute_capability: (u32, u32),
    /// Bytes, as the driver reports them (`total_memory`).
    pub memory: u64,
    /// Bytes that a process holds besides its segments (its context); 0 where nobody has looked.
    pub context: u64,
    pub memory_bandwidth: f64,
    pub sm_count: u32,
    /// Resident threads per SM; with the SM count it sets the grid of PyTorch's random kernels.
    pub threads_per_sm: u32,
    pub l2_cache: u64,
    /// Bytes per second of what fits into the cache, where it is known.
    pub l2_bandwidth: Option<f64>,
    /// One: both directions share it. Two: one per direction. Three or more: copies to peers have one too.
    pub copy_engines: u32,
}

/// Peak operations per second per dtype class.
#[derive(Clone, PartialEq, Debug)]
pub struct Peak {
    pub fp64: f64,
    pub fp32: f64,
    pub tf32: f64,
    pub fp16: f64,
    pub bf16: f64,
    pub int: f64,
}

impl Peak {
    /// The peak of a rate, in operations a second.
    pub fn of(&self, rate: Rate) -> f64 {
        match rate {
            Rate::Fp64 => self.fp64,
            Rate::Fp32 => self.fp32,
            Rate::Tf32 => self.tf32,
            Rate::Fp16 => self.fp16,
            Rate::Bf16 => self.bf16,
            Rate::Int => self.int,
        }
    }
}

/// The part of its peaks that each kernel class reaches, from 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Efficiency {
    pub matmul: f64,
    pub convolution: f64,
    pub elementwise: f64,
    pub reduction: f64,
    pub normalise: f64,
    pub gather_scatter: f64,
    pub random: f64,
    pub copy: f64,
    /// Finer classes that have a figure of their own; the others have that of the class that they are part of.
    pub finer: Vec<(KernelClass, f64)>,
    /// Where a matmul of one dtype class differs from `matmul`.
    pub matmul_by_rate: Vec<(Rate, f64)>,
    /// Where a convolution of one dtype class differs from `convolution`.
    pub convolution_by_rate: Vec<(Rate, f64)>,
}

impl Efficiency {
    /// The part of the peak that kernels of the class reach, from 0 to 1.
    pub fn of(&self, class: KernelClass, rate: Rate) -> f64 {
        let own = |by_rate: &[(Rate, f64)]| by_rate.iter().find(|(of, _)| *of == rate).map(|(_, part)| *part);
        match class {
            KernelClass::Matmul => own(&self.matmul_by_rate).unwrap_or(self.matmul),
            KernelClass::Convolution => own(&self.convolution_by_rate).unwrap_or(self.convolution),
            KernelClass::Elementwise => self.elementwise,
            KernelClass::Reduction => self.reduction,
            KernelClass::Normalise => self.normalise,
            KernelClass::GatherScatter => self.gather_scatter,
            KernelClass::Random => self.random,
            KernelClass::Copy => self.copy,
            KernelClass::SplitReduction | KernelClass::ArgReduction => {
                self.finer(class).unwrap_or(self.reduction)
            }
            KernelClass::GatherElements | KernelClass::ScatterAdd => {
                self.finer(class).unwrap_or(self.gather_scatter)
            }
            KernelClass::Transpose => self.finer(class).unwrap_or(self.copy),
        }
    }

    fn finer(&self, class: KernelClass) -> Option<f64> {
        self.finer.iter().find(|(of, _)| *of == class).map(|(_, part)| *part)
    }
}

/// What a launch costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Nanoseconds from a kernel's start until it works.
    pub latency: u64,
    /// Where kernels of a class take longer to get going than `latency`, as those in several steps do.
    pub latency_by_class: Vec<(KernelClass, u64)>,
    /// Operations a stream holds before the host must wait for the oldest.
    pub queue_depth: u32,
}

impl Launch {
    /// Nanoseconds from the start of a kernel of this class until it works.
    pub(crate) fn latency_of(&self, class: KernelClass) -> u64 {
        let own = |class| self.latency_by_class.iter().find(|(of, _)| *of == class).map(|(_, nanos)| *nanos);
        own(class).or_else(|| class.part_of().and_then(own)).unwrap_or(self.latency)
    }
}

/// The link between host and device: what page-locked memory goes over it at.
#[derive(Clone, PartialEq, Debug)]
pub struct HostLink {
    pub pinned_h2d: f64,
    pub pinned_d2h: f64,
    /// Nanoseconds that any copy takes besides its bytes.
    pub latency: u64,
}

/// The link to another device of the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Peer {
    /// Whether devices reach each other's memory (`can_device_access_peer`); without it copies pass through
    /// the host.
    pub access: bool,
    pub bandwidth: f64,
    pub latency: u64,
}

/// Electrical power, in watts.
#[derive(Clone, PartialEq, Debug)]
pub struct Power {
    /// With a context and no work.
    pub idle: f64,
    /// The most that the module is let draw.
    pub limit: f64,
}

/// Misfortunes on request; a profile has none unless it asks for them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Faults {
    /// The part of the memory that may be reserved, above 0 and at most 1.
    pub memory_fraction: Option<f64>,
    /// The launch, counted from 1, at which the device fails, and stays failed.
    pub fail_at_launch: Option<u64>,
    /// How many times slower the links are, at least 1.
    pub slow_link: Option<f64>,
}

const BUILTIN: [&str; 8] = ["t4", "rtx3060", "rtx4090", "a100-40gb", "a100-80gb", "h100", "h200", "tiny"];

static TEXTS: Pack = Pack::new(include_bytes!(concat!(env!("OUT_DIR"), "/profiles.gz")));

/// The ids of the profiles in the binary.
pub fn builtin_ids() -> impl Iterator<Item = &'static str> {
    BUILTIN.into_iter()
}

impl Profile {
    /// The profile `id` from the binary. The error for a misspelt id has the nearest one.
    pub fn builtin(id: &str) -> Result<Profile, ProfileError> {
        Profile::parse(embedded(&BUILTIN, &TEXTS, id)?, id)
    }

    /// Reads a profile from a regular file of at most [`LONGEST_FILE`] bytes.
    pub fn load(path: &Path) -> Result<Profile, ProfileError> {
        let (text, origin) = read_file(path)?;
        Profile::parse(&text, &origin)
    }

    /// Reads a profile from TOML text; `origin` names the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let document = Document::parse(text, origin)?;
        let profile = read(&document)?;
        Ok(Profile { figures: document.into_figures(), ..profile })
    }
}

/// The text of the profile `id` among those of the binary, `known` in the order in which they are named. The error for a
/// misspelt id has the nearest one.
pub(super) fn embedded(
    known: &[&'static str],
    texts: &'static Pack,
    id: &str,
) -> Result<&'static str, ProfileError> {
    texts.text(id, ".toml").ok_or_else(|| {
        let nearest = nearest(id, known.iter().copied()).map(str::to_owned);
        let fault = ProfileFault::UnknownProfile { nearest, known: known.to_vec() };
        ProfileError { origin: quoted(id), line: None, fault }
    })
}

fn read(document: &Document<'_>) -> Result<Profile, ProfileError> {
    refuse_host_figures(&document.unchecked())?;
    let root = document.root(&[
        "id",
        "name",
        "summary",
        "device",
        "peak",
        "efficiency",
        "matmul_efficiency",
        "convolution_efficiency",
        "convolution_algorithms",
        "launch",
        "latency",
        "link",
        "peer",
        "power",
        "faults",
    ])?;
    let id = root.text("id", 32, r#"id = "my-gpu""#)?;
    check_id(&root, id)?;
    let name = root.text("name", 60, r#"name = "My GPU""#)?;
    let summary = root.text("summary", 80, r#"summary = "one line about it""#)?;
    Ok(Profile {
        id: id.to_owned(),
        name: format!("{name} (simulated)"),
        summary: summary.to_owned(),
        device: read_device(&root)?,
        peak: read_peak(&root)?,
        efficiency: read_efficiency(&root)?,
        algorithms: AlgorithmFigures::read(&root)?,
        launch: read_launch(&root)?,
        link: read_link(&root)?,
        peer: read_peer(&root)?,
        power: read_power(&root)?,
        faults: read_faults(&root)?,
        figures: Vec::new(),
    })
}

fn read_device(root: &Section<'_, '_>) -> Result<DeviceFigures, ProfileError> {
    const SMS: figures::Quantity = count(1024, "a whole number from 1 to 1024");
    const THREADS: figures::Quantity = count(4096, "a whole number from 1 to 4096");
    const ENGINES: figures::Quantity = count(16, "a whole number from 1 to 16");
    let keys = [
        "compute_capability",
        "memory",
        "context",
        "memory_bandwidth",
        "sm_count",
        "threads_per_sm",
        "l2_cache",
        "l2_bandwidth",
        "copy_engines",
    ];
    let device = root.section("device", &keys)?;
    let compute_capability = device.version("compute_capability")?;
    let memory = device.number("memory", &MEMORY)?;
    let context = device.optional("context", &CACHE)?.unwrap_or(0.0);
    if context + MEMORY.low > memory {
        return Err(device.bad_text("context", "less than `memory` by 2 MiB or more"));
    }
    Ok(DeviceFigures {
        compute_capability,
        memory: memory as u64,
        context: context as u64,
        memory_bandwidth: device.number("memory_bandwidth", &BANDWIDTH)?,
        sm_count: device.number("sm_count", &SMS)? as u32,
        threads_per_sm: device.number("threads_per_sm", &THREADS)? as u32,
        l2_cache: device.number("l2_cache", &CACHE)? as u64,
        l2_bandwidth: device.optional("l2_bandwidth", &BANDWIDTH)?,
        copy_engines: device.number("copy_engines", &ENGINES)? as u32,
    })
}

fn read_peak(root: &Section<'_, '_>) -> Result<Peak, ProfileError> {
    let peak = root.section("peak", &Rate::ALL.map(Rate::key))?;
    Ok(Peak {
        fp64: peak.number("fp64", &FLOPS)?,
        fp32: peak.number("fp32", &FLOPS)?,
        tf32: peak.number("tf32", &FLOPS)?,
        fp16: peak.number("fp16", &FLOPS)?,
        bf16: peak.number("bf16", &FLOPS)?,
        int: peak.number("int", &INTEGER_OPS)?,
    })
}

fn read_efficiency(root: &Section<'_, '_>) -> Result<Efficiency, ProfileError> {
    let part = root.section("efficiency", &KernelClass::ALL.map(KernelClass::key))?;
    Ok(Efficiency {
        matmul: part.number("matmul", &FRACTION)?,
        convolution: part.number("convolution", &FRACTION)?,
        elementwise: part.number("elementwise", &FRACTION)?,
        reduction: part.number("reduction", &FRACTION)?,
        normalise: part.number("normalise", &FRACTION)?,
        gather_scatter: part.number("gather_scatter", &FRACTION)?,
        random: part.number("random", &FRACTION)?,
        copy: part.number("copy", &FRACTION)?,
        finer: read_finer(&part)?,
        matmul_by_rate: read_by_rate(root, "matmul_efficiency")?,
        convolution_by_rate: read_by_rate(root, "convolution_efficiency")?,
    })
}

/// The efficiencies of classes that are part of others, which a profile may leave out.
fn read_finer(part: &Section<'_, '_>) -> Result<Vec<(KernelClass, f64)>, ProfileError> {
    let named =
        KernelClass::ALL.into_iter().filter(|class| class.part_of().is_some() && part.has(class.key()));
    named.map(|class| Ok((class, part.number(class.key(), &FRACTION)?))).collect()
}

fn read_by_rate(root: &Section<'_, '_>, key: &'static str) -> Result<Vec<(Rate, f64)>, ProfileError> {
    let Some(part) = root.optional_section(key, &Rate::ALL.map(Rate::key))? else { return Ok(Vec::new()) };
    let named = Rate::ALL.into_iter().filter(|rate| part.has(rate.key()));
    named.map(|rate| Ok((rate, part.number(rate.key(), &FRACTION)?))).collect()
}

fn read_latencies(root: &Section<'_, '_>) -> Result<Vec<(KernelClass, u64)>, ProfileError> {
    let keys = KernelClass::ALL.map(KernelClass::key);
    let Some(part) = root.optional_section("latency", &keys)? else { return Ok(Vec::new()) };
    let named = KernelClass::ALL.into_iter().filter(|class| part.has(class.key()));
    named.map(|class| Ok((class, part.nanos(class.key())?))).collect()
}

fn read_launch(root: &Section<'_, '_>) -> Result<Launch, ProfileError> {
    const DEPTH: figures::Quantity = count(65536, "a whole number from 1 to 65536");
    let launch = root.section("launch", &["latency", "queue_depth"])?;
    Ok(Launch {
        latency: launch.nanos("latency")?,
        latency_by_class: read_latencies(root)?,
        queue_depth: launch.number("queue_depth", &DEPTH)? as u32,
    })
}

fn read_link(root: &Section<'_, '_>) -> Result<HostLink, ProfileError> {
    let link = root.section("link", &["pinned_h2d", "pinned_d2h", "latency"])?;
    Ok(HostLink {
        pinned_h2d: link.number("pinned_h2d", &BANDWIDTH)?,
        pinned_d2h: link.number("pinned_d2h", &BANDWIDTH)?,
        latency: link.nanos("latency")?,
    })
}

/// What an older form of profiles had of the host is refused by name, before anything else is missed.
fn refuse_host_figures(root: &Section<'_, '_>) -> Result<(), ProfileError> {
    const OF_THE_LINK: [&str; 6] =
        ["pageable_h2d", "pageable_d2h", "cached", "cached_h2d", "staged", "pageable_latency"];
    let sections: [(&'static str, &[&'static str]); 2] = [("launch", &["host"]), ("link", &OF_THE_LINK)];
    let of_a_section = |(name, keys): (&'static str, &[&'static str])| {
        let section = root.unchecked(name)?;
        keys.iter().find_map(|key| section.belongs_to_host(key))
    };
    const SECTIONS: [&str; 6] = ["host", "driver", "script", "cpu", "dispatch", "memory"];
    let whole = SECTIONS.iter().find_map(|key| root.belongs_to_host(key));
    let found = whole.or_else(|| sections.into_iter().find_map(of_a_section));
    found.map_or(Ok(()), Err)
}

fn read_peer(root: &Section<'_, '_>) -> Result<Peer, ProfileError> {
    let peer = root.section("peer", &["access", "bandwidth", "latency"])?;
    Ok(Peer {
        access: peer.flag("access")?,
        bandwidth: peer.number("bandwidth", &BANDWIDTH)?,
        latency: peer.nanos("latency")?,
    })
}

fn read_power(root: &Section<'_, '_>) -> Result<Option<Power>, ProfileError> {
    const WATTS: figures::Quantity = figures::Quantity {
        units: &[("W", 1.0), ("kW", 1e3)],
        low: f64::MIN_POSITIVE,
        high: 1e6,
        whole: false,
        rule: "above 0 and at most a million watts",
        example: r#"{ value = 70, unit = "W", source = "assumed: why" }"#,
    };
    let Some(power) = root.optional_section("power", &["idle", "limit"])? else { return Ok(None) };
    let (idle, limit) = (power.number("idle", &WATTS)?, power.number("limit", &WATTS)?);
    if idle > limit {
        return Err(power.bad_text("idle", "no more than `power.limit`"));
    }
    Ok(Some(Power { idle, limit }))
}

fn read_faults(root: &Section<'_, '_>) -> Result<Faults, ProfileError> {
    let keys = ["memory_fraction", "fail_at_launch", "slow_link"];
    let Some(faults) = root.optional_section("faults", &keys)? else {
        return Ok(Faults::default());
    };
    let whole = |n: f64| (1.0..=1e15).contains(&n) && n.fract() == 0.0;
    Ok(Faults {
        memory_fraction: faults.bare("memory_fraction", FRACTION.rule, |f| f > 0.0 && f <= 1.0)?,
        fail_at_launch: faults
            .bare("fail_at_launch", "a whole number from 1 to 10^15", whole)?
            .map(|n| n as u64),
        slow_link: faults
            .bare("slow_link", "from 1 (as fast as ever) to a million", |f| (1.0..=1e6).contains(&f))?,
    })
}

#[cfg(test)]
mod tests;
