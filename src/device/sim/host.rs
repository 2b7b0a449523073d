//! Host profiles: what the computer around simulated GPUs is made of, read from TOML as the devices' are.
//!
//! A host says what a kernel costs on its cores, what a step of a script, a launch and a call of the driver cost, and
//! what memory that is not page-locked goes to a device at. Links are the devices'; the host's own slot may be slower.
//! All devices stand beside one host, so that they compare. The files in `hosts/` show all figures; the kinds of
//! figures and the strictness are those of [`profile`](super::profile).

use std::path::Path;

use crate::base::packed::Pack;
use crate::device::kernel::KernelClass;
use crate::device::sim::rate::Rate;

use super::error::ProfileError;
use super::figures::{
    self, BANDWIDTH, CACHE, Document, FLOPS, FRACTION, Figure, INTEGER_OPS, Section, check_id, count,
    read_file,
};
use super::profile::embedded;

/// The host of whoever names none: that of a learner's free cloud notebook.
pub(crate) const DEFAULT_HOST: &str = "notebook";

/// The computer around simulated GPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct HostProfile {
    pub id: String,
    pub name: String,
    /// One line for lists of profiles.
    pub summary: String,
    pub cpu: CpuFigures,
    /// Nanoseconds of one step of a script's interpreter.
    pub step: f64,
    pub driver: Driver,
    /// Bytes per second at which host memory is page-locked and filled.
    pub pin: f64,
    pub link: HostSide,
    /// Every figure above with its source, in the order of the file's sections.
    pub figures: Vec<Figure>,
}

/// The host of a machine with simulated GPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    pub profile: HostProfile,
    /// The CPU's own work is not modelled: it is this computer's, and its times are measured. Launches and calls of the
    /// driver still cost what the profile says.
    pub measured: bool,
}

/// What kernels cost on the host's cores.
#[derive(Clone, PartialEq, Debug)]
pub struct CpuFigures {
    pub cores: u32,
    /// Nanoseconds of an operation besides its arithmetic and its traffic.
    pub dispatch: u64,
    /// Where operations of a class take longer to get going than `dispatch`.
    pub dispatch_by_class: Vec<(KernelClass, u64)>,
    /// Nanoseconds until other cores take part in a kernel.
    pub spread: u64,
    /// Bytes per second that one core reads and writes in main memory, and that all of them do.
    pub bandwidth_core: f64,
    pub bandwidth: f64,
    /// Bytes of the cache, and the bytes per second of one core within it.
    pub cache: u64,
    pub cache_bandwidth: f64,
    /// Peak operations per second of one core.
    pub peak: CorePeak,
    /// The part of its peaks that each kernel class reaches, from 0 to 1.
    pub efficiency: Vec<(KernelClass, f64)>,
    /// Where the arithmetic of a class reaches another part of the peak, as draws of random numbers do, whose operations
    /// are counted by element.
    pub arithmetic: Vec<(KernelClass, f64)>,
}

/// Peak operations per second of one core, per dtype class.
#[derive(Clone, PartialEq, Debug)]
pub struct CorePeak {
    pub fp64: f64,
    pub fp32: f64,
    /// float16 and bfloat16 in products.
    pub half: f64,
    pub int: f64,
}

/// What calls of the driver cost the host, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Driver {
    /// Enqueueing one kernel or copy.
    pub launch: u64,
    /// An event record, a wait, a query, or entering a synchronisation.
    pub call: u64,
    /// Taking a segment from the device (`cudaMalloc`).
    pub allocate: u64,
    /// Giving one back (`cudaFree`), after the wait for the device.
    pub free: u64,
}

/// The host's side of the link to a device, in bytes per second where nothing else is said.
#[derive(Clone, PartialEq, Debug)]
pub struct HostSide {
    /// The most that the host's slot carries each way, whatever the device's link could.
    pub most_h2d: f64,
    pub most_d2h: f64,
    /// What the driver fills and empties its own page-locked buffers at. A pageable copy does that and goes over the
    /// link, one after the other.
    pub staging_h2d: f64,
    pub staging_d2h: f64,
    /// Pageable memory of at most so many bytes lies in the host's cache and is staged to the device at this rate.
    pub cached_h2d: Option<(u64, f64)>,
    /// The longest pageable `non_blocking` copy to the device, in bytes, that the driver takes into its buffers without
    /// waiting for the stream; 0 where every copy waits.
    pub staged: u64,
    /// Nanoseconds that a pageable copy takes besides its bytes, where they differ from the link's.
    pub pageable_latency: Option<u64>,
}

impl CpuFigures {
    /// Nanoseconds of an operation of this class besides its arithmetic and traffic.
    pub(crate) fn dispatch_of(&self, class: KernelClass) -> u64 {
        finest(&self.dispatch_by_class, class).unwrap_or(self.dispatch)
    }

    /// The part of the peak that kernels of the class reach, from 0 to 1.
    pub(crate) fn efficiency_of(&self, class: KernelClass) -> f64 {
        finest(&self.efficiency, class).unwrap_or(1.0)
    }

    /// The part of the peak that the arithmetic of the class reaches.
    pub(crate) fn arithmetic_of(&self, class: KernelClass) -> f64 {
        finest(&self.arithmetic, class).unwrap_or_else(|| self.efficiency_of(class))
    }
}

/// The figure of a class, or of the one that it is part of.
fn finest<T: Copy>(figures: &[(KernelClass, T)], class: KernelClass) -> Option<T> {
    let of = |class| figures.iter().find(|(of, _)| *of == class).map(|(_, figure)| *figure);
    of(class).or_else(|| class.part_of().and_then(of))
}

impl CorePeak {
    /// The peak of a rate, in operations a second.
    pub(crate) fn of(&self, rate: Rate) -> f64 {
        match rate {
            Rate::Fp64 => self.fp64,
            Rate::Fp32 | Rate::Tf32 => self.fp32,
            Rate::Fp16 | Rate::Bf16 => self.half,
            Rate::Int => self.int,
        }
    }
}

const BUILTIN: [&str; 3] = ["notebook", "workstation", "h100-server"];

static TEXTS: Pack = Pack::new(include_bytes!(concat!(env!("OUT_DIR"), "/hosts.gz")));

/// The ids of the host profiles in the binary.
pub fn host_ids() -> impl Iterator<Item = &'static str> {
    BUILTIN.into_iter()
}

impl HostProfile {
    /// The profile `id` from the binary. The error for a misspelt id has the nearest one.
    pub fn builtin(id: &str) -> Result<HostProfile, ProfileError> {
        HostProfile::parse(embedded(&BUILTIN, &TEXTS, id)?, id)
    }

    /// Reads a profile from a regular file of at most [`LONGEST_FILE`](super::profile::LONGEST_FILE) bytes.
    pub fn load(path: &Path) -> Result<HostProfile, ProfileError> {
        let (text, origin) = read_file(path)?;
        HostProfile::parse(&text, &origin)
    }

    /// Reads a profile from TOML text; `origin` names the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<HostProfile, ProfileError> {
        let document = Document::parse(text, origin)?;
        let profile = read(&document)?;
        Ok(HostProfile { figures: document.into_figures(), ..profile })
    }
}

fn read(document: &Document<'_>) -> Result<HostProfile, ProfileError> {
    let keys = [
        "id",
        "name",
        "summary",
        "cpu",
        "peak",
        "efficiency",
        "arithmetic",
        "dispatch",
        "script",
        "driver",
        "memory",
        "link",
    ];
    let root = document.root(&keys)?;
    let id = root.text("id", 32, r#"id = "my-host""#)?;
    check_id(&root, id)?;
    Ok(HostProfile {
        id: id.to_owned(),
        name: root.text("name", 60, r#"name = "My computer""#)?.to_owned(),
        summary: root.text("summary", 80, r#"summary = "one line about it""#)?.to_owned(),
        cpu: read_cpu(&root)?,
        step: root.section("script", &["step"])?.number("step", &figures::TIME)?,
        driver: read_driver(&root)?,
        pin: root.section("memory", &["pin"])?.number("pin", &BANDWIDTH)?,
        link: read_link(&root)?,
        figures: Vec::new(),
    })
}

fn read_cpu(root: &Section<'_, '_>) -> Result<CpuFigures, ProfileError> {
    const CORES: figures::Quantity = count(1024, "a whole number from 1 to 1024");
    let keys = ["cores", "dispatch", "spread", "bandwidth_core", "bandwidth", "cache", "cache_bandwidth"];
    let cpu = root.section("cpu", &keys)?;
    let (bandwidth_core, bandwidth) =
        (cpu.number("bandwidth_core", &BANDWIDTH)?, cpu.number("bandwidth", &BANDWIDTH)?);
    if bandwidth_core > bandwidth {
        return Err(cpu.bad_text("bandwidth_core", "at most `cpu.bandwidth`, which all cores share"));
    }
    Ok(CpuFigures {
        cores: cpu.number("cores", &CORES)? as u32,
        dispatch: cpu.nanos("dispatch")?,
        spread: cpu.nanos("spread")?,
        bandwidth_core,
        bandwidth,
        cache: cpu.number("cache", &CACHE)? as u64,
        cache_bandwidth: cpu.number("cache_bandwidth", &BANDWIDTH)?,
        peak: read_peak(root)?,
        efficiency: read_efficiency(root)?,
        arithmetic: read_arithmetic(root)?,
        dispatch_by_class: read_dispatch(root)?,
    })
}

fn read_peak(root: &Section<'_, '_>) -> Result<CorePeak, ProfileError> {
    let peak = root.section("peak", &["fp64", "fp32", "half", "int"])?;
    Ok(CorePeak {
        fp64: peak.number("fp64", &FLOPS)?,
        fp32: peak.number("fp32", &FLOPS)?,
        half: peak.number("half", &FLOPS)?,
        int: peak.number("int", &INTEGER_OPS)?,
    })
}

fn read_efficiency(root: &Section<'_, '_>) -> Result<Vec<(KernelClass, f64)>, ProfileError> {
    let part = root.section("efficiency", &KernelClass::ALL.map(KernelClass::key))?;
    // A finer class may have the figure of the one that it is part of.
    let named =
        KernelClass::ALL.into_iter().filter(|class| class.part_of().is_none() || part.has(class.key()));
    named.map(|class| Ok((class, part.number(class.key(), &FRACTION)?))).collect()
}

fn read_arithmetic(root: &Section<'_, '_>) -> Result<Vec<(KernelClass, f64)>, ProfileError> {
    let keys = KernelClass::ALL.map(KernelClass::key);
    let Some(part) = root.optional_section("arithmetic", &keys)? else { return Ok(Vec::new()) };
    let named = KernelClass::ALL.into_iter().filter(|class| part.has(class.key()));
    named.map(|class| Ok((class, part.number(class.key(), &FRACTION)?))).collect()
}

fn read_dispatch(root: &Section<'_, '_>) -> Result<Vec<(KernelClass, u64)>, ProfileError> {
    let keys = KernelClass::ALL.map(KernelClass::key);
    let Some(part) = root.optional_section("dispatch", &keys)? else { return Ok(Vec::new()) };
    let named = KernelClass::ALL.into_iter().filter(|class| part.has(class.key()));
    named.map(|class| Ok((class, part.nanos(class.key())?))).collect()
}

fn read_driver(root: &Section<'_, '_>) -> Result<Driver, ProfileError> {
    let driver = root.section("driver", &["launch", "call", "allocate", "free"])?;
    Ok(Driver {
        launch: driver.nanos("launch")?,
        call: driver.nanos("call")?,
        allocate: driver.nanos("allocate")?,
        free: driver.nanos("free")?,
    })
}

fn read_link(root: &Section<'_, '_>) -> Result<HostSide, ProfileError> {
    let keys = [
        "most_h2d",
        "most_d2h",
        "staging_h2d",
        "staging_d2h",
        "cached",
        "cached_h2d",
        "staged",
        "pageable_latency",
    ];
    let link = root.section("link", &keys)?;
    Ok(HostSide {
        most_h2d: link.number("most_h2d", &BANDWIDTH)?,
        most_d2h: link.number("most_d2h", &BANDWIDTH)?,
        staging_h2d: link.number("staging_h2d", &BANDWIDTH)?,
        staging_d2h: link.number("staging_d2h", &BANDWIDTH)?,
        cached_h2d: match link.has("cached") || link.has("cached_h2d") {
            true => Some((link.number("cached", &CACHE)? as u64, link.number("cached_h2d", &BANDWIDTH)?)),
            false => None,
        },
        staged: link.optional("staged", &CACHE)?.unwrap_or(0.0) as u64,
        pageable_latency: link.has("pageable_latency").then(|| link.nanos("pageable_latency")).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> &'static str {
        include_str!("hosts/notebook.toml")
    }

    fn refused(from: &str, to: &str) -> String {
        assert_eq!(text().matches(from).count(), 1, "{from}");
        HostProfile::parse(&text().replace(from, to), "my.toml").unwrap_err().to_string()
    }

    #[test]
    fn every_builtin_host_is_whole_and_every_figure_has_a_source() {
        for id in host_ids() {
            let host = HostProfile::builtin(id).unwrap();
            assert_eq!(host.id, id);
            assert!(host.figures.len() >= 30, "{id}: {}", host.figures.len());
            for figure in &host.figures {
                assert!(figure.source.len() > 3 && !figure.value.is_empty(), "{id}: {figure:?}");
                // Why somebody assumes a figure stands beside it.
                assert_ne!(figure.source, "assumed", "{id}: {}", figure.key);
            }
        }
        assert_eq!(HostProfile::builtin("notebook").unwrap().cpu.cores, 2);
        assert_eq!(HostProfile::builtin("workstation").unwrap().cpu.cores, 8);
    }

    #[test]
    fn what_cannot_be_a_host_is_refused_with_its_line() {
        let error = refused("cores = { value = 2,", "cores = { value = -2,");
        assert!(error.starts_with("my.toml:7: `cpu.cores` is -2, and must be"), "{error}");
        let error = refused("[script]", "[skript]");
        assert!(error.contains("unknown key `skript`; did you mean `script`?"), "{error}");
        let error = refused("[memory]\npin", "[memory]\npins");
        assert!(error.contains("unknown key `memory.pins`; did you mean `pin`?"), "{error}");
        let error = refused("spread = { value = 6,", "spread = { value = 1e300,");
        assert!(error.contains("`cpu.spread` is 1e300, and must be above zero and at most"), "{error}");
        let error = refused("bandwidth_core = { value = 11,", "bandwidth_core = { value = 1100,");
        assert!(error.contains("`cpu.bandwidth_core` must be at most `cpu.bandwidth`"), "{error}");
        let whole = "x".repeat(100_000);
        let error = HostProfile::parse(&whole, "my.toml").unwrap_err().to_string();
        assert!(error.contains("longer than the 65536 bytes"), "{error}");
        let error = HostProfile::builtin("notebok").unwrap_err().to_string();
        assert!(error.contains("did you mean `notebook`?"), "{error}");
    }

    #[test]
    fn half_of_a_pair_is_refused() {
        let cached = "[link]\ncached = { value = 1, unit = \"MiB\", source = \"assumed: so\" }\n";
        let error = refused("[link]\n", cached);
        assert!(error.contains("`link.cached_h2d` is missing"), "{error}");
    }
}
