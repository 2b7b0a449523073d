//! Which devices to use: `--devices auto | cpu | cuda | sim:PROFILE[xN][,…]`, and a host behind `@` where the GPUs are
//! simulated.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::{ProfileError, did_you_mean, quoted};
use super::host::Host;
use super::host_choice::{HostChoice, UnknownHost, split_host};
use super::profile::{Profile, builtin_ids};
use crate::base::near::nearest;

/// The most simulated devices of one machine.
pub(crate) const MOST_DEVICES: usize = 16;

/// What people type for a built-in profile. The A100 of 40 GB is what a plain "A100" is in most clouds.
const ALIASES: [(&str, &str); 3] = [("3060", "rtx3060"), ("4090", "rtx4090"), ("a100", "a100-40gb")];

/// The built-in profiles with their other names: `t4, rtx3060 (or 3060), …`.
pub fn profile_names() -> String {
    let named = |id: &str| match ALIASES.iter().find(|(_, meant)| *meant == id) {
        Some((alias, _)) => format!("{id} (or {alias})"),
        None => id.to_owned(),
    };
    builtin_ids().map(named).collect::<Vec<_>>().join(", ")
}

/// A wish for devices; who reads it finds out what there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// Real GPUs where there are any, else what suits the caller, with the host that was named.
    Auto(Option<HostChoice>),
    Cpu,
    /// The real GPUs.
    Cuda,
    Sim(SimulatedDevices),
}

/// Simulated devices in the order of their ordinals: at least one, at most [`MOST_DEVICES`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulatedDevices {
    items: Vec<(ProfileName, usize)>,
    /// The host that was named.
    host: Option<HostChoice>,
}

/// Where a profile is to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileName {
    /// One of [`builtin_ids`].
    Builtin(&'static str),
    /// A TOML file; it has not been opened yet.
    File(PathBuf),
}

impl Selection {
    /// Whether a text means devices, with the files of their profiles read; whether they are there is not asked.
    ///
    /// # Errors
    /// It means none, or a file can't be read.
    pub fn check(devices: &str) -> Result<(), String> {
        let selection = devices.parse().map_err(|error: SelectionError| error.to_string())?;
        let read = match &selection {
            Selection::Sim(devices) => devices.host().and_then(|_| devices.profiles()).map(drop),
            Selection::Auto(Some(host)) => host.load().map(drop),
            Selection::Auto(None) | Selection::Cpu | Selection::Cuda => Ok(()),
        };
        read.map_err(|error| error.to_string())
    }

    /// The selection with the full paths of its profiles' files, which hold whatever folder becomes the current one,
    /// and these paths.
    pub(crate) fn anchored(mut self) -> (Selection, Vec<PathBuf>) {
        let mut files = Vec::new();
        let mut anchor = |path: &mut PathBuf| {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
            files.push(path.clone());
        };
        if let Selection::Sim(devices) = &mut self {
            for (name, _) in &mut devices.items {
                if let ProfileName::File(path) = name {
                    anchor(path);
                }
            }
        }
        if let Selection::Auto(host) | Selection::Sim(SimulatedDevices { host, .. }) = &mut self
            && let Some(HostChoice::File(path)) = host
        {
            anchor(path);
        }
        (self, files)
    }
}

impl SimulatedDevices {
    /// The profiles asked for, each with how many devices are to have it.
    pub fn items(&self) -> impl Iterator<Item = (&ProfileName, usize)> {
        self.items.iter().map(|(name, count)| (name, *count))
    }

    /// The same devices beside another host.
    pub(crate) fn beside(self, host: Option<HostChoice>) -> SimulatedDevices {
        SimulatedDevices { host, ..self }
    }

    /// The host that is meant. Reads its file.
    pub fn host(&self) -> Result<Host, ProfileError> {
        self.host.clone().unwrap_or_default().load()
    }

    /// How many GPUs are selected.
    pub fn count(&self) -> usize {
        self.items.iter().map(|(_, count)| count).sum()
    }

    /// One profile per device. Reads the files.
    pub fn profiles(&self) -> Result<Vec<Profile>, ProfileError> {
        let mut profiles = Vec::new();
        for (name, count) in &self.items {
            let profile = match name {
                ProfileName::Builtin(id) => Profile::builtin(id)?,
                ProfileName::File(path) => Profile::load(path)?,
            };
            profiles.extend(std::iter::repeat_n(profile, *count));
        }
        Ok(profiles)
    }
}

/// Why a text names no devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectionError {
    /// Nothing, or nothing between two commas.
    Empty,
    Unknown {
        text: String,
        nearest: Option<String>,
    },
    UnknownProfile {
        text: String,
        nearest: Option<&'static str>,
    },
    /// A path that isn't a TOML file's.
    NotToml {
        text: String,
    },
    NoDevices {
        text: String,
    },
    TooMany,
    /// `auto`, `cpu` and `cuda` stand alone.
    Mixed {
        text: String,
    },
    UnknownHost(UnknownHost),
    /// A host stands between devices.
    HostBetween {
        host: String,
    },
    /// A host is modelled beside simulated GPUs alone.
    HostAlone {
        devices: &'static str,
    },
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectionError::Empty => write!(
                f,
                "a device is missing; write auto, cpu, cuda, or sim:PROFILE as in sim:t4x2 or sim:t4,h100"
            ),
            SelectionError::Unknown { text, nearest } => write!(
                f,
                "there are no devices `{text}`; {}write auto, cpu, cuda, or sim:PROFILE as in sim:t4x2",
                did_you_mean(nearest.as_deref())
            ),
            SelectionError::UnknownProfile { text, nearest } => write!(
                f,
                "there is no device profile `{text}`; {}the profiles are {}, or name a .toml file",
                did_you_mean(*nearest),
                profile_names()
            ),
            SelectionError::NotToml { text } => {
                write!(f, "`{text}` is not the name of a device profile; a profile's file ends in .toml")
            }
            SelectionError::NoDevices { text } => {
                write!(f, "`{text}` asks for no devices; the number after x starts at 1")
            }
            SelectionError::TooMany => {
                write!(f, "a machine has at most {MOST_DEVICES} simulated devices")
            }
            SelectionError::UnknownHost(unknown) => write!(f, "{unknown}"),
            SelectionError::HostBetween { host } => write!(
                f,
                "one host stands around all devices, and behind the last of them: sim:t4,h100@{host}"
            ),
            SelectionError::HostAlone { devices } => write!(
                f,
                "a host's profile stands beside simulated GPUs, as in `--devices sim:t4x2 --host workstation`; with \
                 `{devices}` times are this computer's own"
            ),
            SelectionError::Mixed { text } => write!(
                f,
                "`{text}` can't be combined with other devices; only simulated ones can, as in sim:t4,h100"
            ),
        }
    }
}

impl std::error::Error for SelectionError {}

impl FromStr for Selection {
    type Err = SelectionError;

    /// Reads `auto`, `cpu`, `cuda` or `sim:ITEM,…` where an item is a built-in profile's id, what people type for it (`a100`), or a path that
    /// ends in `.toml`, with `xN` behind it, or behind a space, for N devices. Ids and keywords may be in capitals. `sim:` may be
    /// repeated. `@HOST` behind them names their host.
    fn from_str(text: &str) -> Result<Selection, SelectionError> {
        let (text, host) = split_host(text.trim());
        if let (_, Some(between)) = split_host(text) {
            let host = between.split(',').next().unwrap_or_default();
            return Err(SelectionError::HostBetween { host: quoted(host.trim()) });
        }
        let host = host.map(read_host).transpose()?;
        match (read_devices(text)?, host) {
            (Selection::Sim(devices), host) => Ok(Selection::Sim(devices.beside(host))),
            (Selection::Auto(_), host) => Ok(Selection::Auto(host)),
            (Selection::Cpu, Some(_)) => Err(SelectionError::HostAlone { devices: "cpu" }),
            (Selection::Cuda, Some(_)) => Err(SelectionError::HostAlone { devices: "cuda" }),
            (alone, None) => Ok(alone),
        }
    }
}

fn read_host(text: &str) -> Result<HostChoice, SelectionError> {
    let read = |text: &str| text.parse::<HostChoice>().map_err(SelectionError::UnknownHost);
    match text.split_once(',') {
        Some((host, _)) if read(text).is_err() => {
            read(host)?;
            Err(SelectionError::HostBetween { host: quoted(host.trim()) })
        }
        _ => read(text),
    }
}

fn read_devices(text: &str) -> Result<Selection, SelectionError> {
    if let Some(alone) = keyword(text) {
        return Ok(alone);
    }
    let first = text.split(',').next().unwrap_or_default();
    match without_prefix(first.trim()) {
        Some(_) => read_items(text).map(Selection::Sim),
        None => Err(not_simulated(text, first.trim())),
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Auto(None) => f.write_str("auto"),
            Selection::Auto(Some(host)) => write!(f, "auto@{host}"),
            Selection::Cpu => f.write_str("cpu"),
            Selection::Cuda => f.write_str("cuda"),
            Selection::Sim(devices) => write!(f, "{devices}"),
        }
    }
}

impl fmt::Display for SimulatedDevices {
    /// As it is read: `sim:t4x2,h100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sim:")?;
        for (place, (name, count)) in self.items.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            match name {
                ProfileName::Builtin(id) => f.write_str(id)?,
                ProfileName::File(path) => write!(f, "{}", path.display())?,
            }
            if *count > 1 {
                write!(f, "x{count}")?;
            }
        }
        if let Some(host) = &self.host {
            write!(f, "@{host}")?;
        }
        Ok(())
    }
}

fn keyword(text: &str) -> Option<Selection> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Some(Selection::Auto(None)),
        "cpu" => Some(Selection::Cpu),
        "cuda" => Some(Selection::Cuda),
        _ => None,
    }
}

/// What is wrong with a text that is no keyword and does not start with `sim:`.
fn not_simulated(text: &str, first: &str) -> SelectionError {
    if first.is_empty() {
        return SelectionError::Empty;
    }
    if keyword(first).is_some() {
        return SelectionError::Mixed { text: quoted(first) };
    }
    let nearest = match first.to_ascii_lowercase().as_str() {
        "gpu" => Some("cuda".to_owned()),
        "sim" => Some("sim:t4".to_owned()),
        _ if read_items(text).is_ok() => Some(format!("sim:{}", quoted(text))),
        word => nearest(word, ["auto", "cpu", "cuda"]).map(str::to_owned),
    };
    SelectionError::Unknown { text: quoted(text), nearest }
}

fn without_prefix(item: &str) -> Option<&str> {
    let (prefix, rest) = item.split_once(':')?;
    prefix.eq_ignore_ascii_case("sim").then_some(rest.trim())
}

fn read_items(text: &str) -> Result<SimulatedDevices, SelectionError> {
    let mut devices = SimulatedDevices { items: Vec::new(), host: None };
    for item in text.split(',').map(str::trim) {
        let item = without_prefix(item).unwrap_or(item);
        if item.is_empty() {
            return Err(SelectionError::Empty);
        }
        if keyword(item).is_some() {
            return Err(SelectionError::Mixed { text: quoted(item) });
        }
        devices.items.push(read_item(item)?);
        if devices.count() > MOST_DEVICES {
            return Err(SelectionError::TooMany);
        }
    }
    Ok(devices)
}

/// `PROFILE` or `PROFILExN`. A profile's own name comes first: `rtx3060` is not 3060 devices `rt`.
fn read_item(item: &str) -> Result<(ProfileName, usize), SelectionError> {
    if let Some(name) = profile_name(item) {
        return Ok((name, 1));
    }
    let counted = split_count(item);
    if let Some((base, count)) = counted
        && let Some(name) = profile_name(base)
    {
        return match count {
            Some(0) => Err(SelectionError::NoDevices { text: quoted(item) }),
            Some(count) if count <= MOST_DEVICES => Ok((name, count)),
            _ => Err(SelectionError::TooMany),
        };
    }
    if item.contains(['/', '\\']) {
        return Err(SelectionError::NotToml { text: quoted(item) });
    }
    // A misspelt name may have had a count behind it, or may only look so.
    let known = || builtin_ids().chain(ALIASES.iter().map(|(alias, _)| *alias));
    let nearest = nearest(item, known()).or_else(|| counted.and_then(|(base, _)| nearest(base, known())));
    Err(SelectionError::UnknownProfile { text: quoted(item), nearest })
}

fn profile_name(name: &str) -> Option<ProfileName> {
    let file = name.strip_suffix(".toml").is_some_and(|stem| !stem.is_empty());
    if file {
        return Some(ProfileName::File(PathBuf::from(name)));
    }
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    let name = alias.map_or(name, |(_, id)| id);
    builtin_ids().find(|id| id.eq_ignore_ascii_case(name)).map(ProfileName::Builtin)
}

/// Splits `xN` off; the number is `None` where it is too large to be one.
fn split_count(item: &str) -> Option<(&str, Option<usize>)> {
    let (base, digits) = item.rsplit_once(['x', 'X'])?;
    let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    number.then(|| (base.trim_end(), digits.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sim(items: &[(&'static str, usize)]) -> Selection {
        let items = items.iter().map(|(id, n)| (ProfileName::Builtin(id), *n)).collect();
        Selection::Sim(SimulatedDevices { items, host: None })
    }

    fn read(text: &str) -> Result<Selection, SelectionError> {
        text.parse()
    }

    #[test]
    fn reads_what_the_help_promises() {
        assert_eq!(read("auto"), Ok(Selection::Auto(None)));
        assert_eq!(read(" CPU "), Ok(Selection::Cpu));
        assert_eq!(read("cuda"), Ok(Selection::Cuda));
        assert_eq!(read("sim:t4"), Ok(sim(&[("t4", 1)])));
        assert_eq!(read("sim:t4x2"), Ok(sim(&[("t4", 2)])));
        assert_eq!(read("sim:t4x2,h100"), Ok(sim(&[("t4", 2), ("h100", 1)])));
        assert_eq!(read("sim:T4X2, sim:a100-40gb"), Ok(sim(&[("t4", 2), ("a100-40gb", 1)])));
    }

    #[test]
    fn a_host_stands_behind_simulated_devices_alone() {
        let beside = |items, host| match sim(items) {
            Selection::Sim(devices) => Selection::Sim(devices.beside(Some(host))),
            other => other,
        };
        let workstation = HostChoice::Builtin("workstation");
        assert_eq!(read("sim:t4x2@workstation"), Ok(beside(&[("t4", 2)], workstation.clone())));
        assert_eq!(read("sim:t4 @ measured"), Ok(beside(&[("t4", 1)], HostChoice::Measured)));
        assert_eq!(read("auto@workstation"), Ok(Selection::Auto(Some(workstation))));
        assert_eq!(read("cuda@workstation"), Err(SelectionError::HostAlone { devices: "cuda" }));
        let between = read("sim:t4@workstation,sim:h100").unwrap_err().to_string();
        assert!(
            between.contains("one host stands around all devices") && between.contains("@workstation"),
            "{between}"
        );
        let both = read("sim:t4@workstation,tiny@notebook").unwrap_err().to_string();
        assert!(
            both.contains("one host stands around all devices") && both.contains("@workstation"),
            "{both}"
        );
        assert!(matches!(read("sim:t4@laptop,sim:h100"), Err(SelectionError::UnknownHost(_))));
        assert!(matches!(read("sim:t4@laptop"), Err(SelectionError::UnknownHost(_))));
        for text in ["sim:t4x2@workstation", "sim:t4@./h.toml", "auto@measured"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_x_in_a_name_is_not_a_count() {
        assert_eq!(read("sim:rtx3060"), Ok(sim(&[("rtx3060", 1)])));
        assert_eq!(read("sim:rtx4090x2"), Ok(sim(&[("rtx4090", 2)])));
    }

    #[test]
    fn what_people_type_names_a_profile() {
        assert_eq!(read("sim:a100"), Ok(sim(&[("a100-40gb", 1)])));
        assert_eq!(
            read("sim:4090x2,A100x3,3060"),
            Ok(sim(&[("rtx4090", 2), ("a100-40gb", 3), ("rtx3060", 1)]))
        );
        assert_eq!(read("sim:t4,sim:a100 x2"), Ok(sim(&[("t4", 1), ("a100-40gb", 2)])));
        assert_eq!(read("sim:a100").unwrap().to_string(), "sim:a100-40gb");
        let nearest = |text: &str| match read(text) {
            Err(SelectionError::UnknownProfile { nearest, .. }) => nearest,
            other => panic!("{other:?}"),
        };
        assert_eq!(nearest("sim:409"), Some("4090"));
        assert_eq!(nearest("sim:a10x2"), Some("a100"));
        assert!(ALIASES.iter().all(|(alias, id)| {
            builtin_ids().any(|known| known == *id) && builtin_ids().all(|known| known != *alias)
        }));
    }

    #[test]
    fn a_path_is_kept_as_written() {
        for (text, path, count) in [
            ("sim:mine.toml", "mine.toml", 1),
            ("sim:./My GPUs/fax2.toml", "./My GPUs/fax2.toml", 1),
            ("sim:/tmp/m.tomlx3", "/tmp/m.toml", 3),
        ] {
            let Ok(Selection::Sim(devices)) = read(text) else { panic!("{text}") };
            let expected = ProfileName::File(PathBuf::from(path));
            assert_eq!(devices.items().collect::<Vec<_>>(), [(&expected, count)]);
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let unknown = |text: &str, nearest: Option<&str>| SelectionError::Unknown {
            text: text.to_owned(),
            nearest: nearest.map(str::to_owned),
        };
        let no_profile =
            |text: &str, nearest| SelectionError::UnknownProfile { text: text.to_owned(), nearest };
        let mixed = |text: &str| SelectionError::Mixed { text: text.to_owned() };
        for (text, error) in [
            ("", SelectionError::Empty),
            ("sim:", SelectionError::Empty),
            ("sim:t4,", SelectionError::Empty),
            ("sim:,t4", SelectionError::Empty),
            (",", SelectionError::Empty),
            ("gpu", unknown("gpu", Some("cuda"))),
            ("cude", unknown("cude", Some("cuda"))),
            ("sim", unknown("sim", Some("sim:t4"))),
            ("t4x2,h100", unknown("t4x2,h100", Some("sim:t4x2,h100"))),
            ("quantum", unknown("quantum", None)),
            ("sim:t5", no_profile("t5", Some("t4"))),
            ("sim:h10x2", no_profile("h10x2", Some("h100"))),
            ("sim:rtx306", no_profile("rtx306", Some("rtx3060"))),
            ("sim:x3", no_profile("x3", None)),
            ("sim:a/b", SelectionError::NotToml { text: "a/b".to_owned() }),
            ("sim:.toml", no_profile(".toml", None)),
            ("sim:t4x0", SelectionError::NoDevices { text: "t4x0".to_owned() }),
            ("sim:t4x17", SelectionError::TooMany),
            ("sim:t4x16,t4", SelectionError::TooMany),
            ("sim:t4x99999999999999999999999", SelectionError::TooMany),
            ("cpu,cuda", mixed("cpu")),
            ("sim:t4,cuda", mixed("cuda")),
            ("sim:cpu", mixed("cpu")),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
        assert!(read("sim:t4x16").is_ok());
    }

    #[test]
    fn errors_say_what_to_write() {
        let shown = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            shown("sim:h10"),
            "there is no device profile `h10`; did you mean `h100`? the profiles are t4, rtx3060 (or 3060), \
             rtx4090 (or 4090), a100-40gb (or a100), a100-80gb, h100, h200, tiny, or name a .toml file"
        );
        assert_eq!(shown("sim:t4x17"), "a machine has at most 16 simulated devices");
        assert!(shown("\u{1b}[31m").contains("\\u{1b}"));
        assert!(shown(&"q".repeat(100_000)).len() < 300);
    }

    #[test]
    fn profiles_come_in_the_order_of_the_ordinals() {
        let Ok(Selection::Sim(devices)) = read("sim:t4x2,tiny") else { panic!() };
        let profiles = devices.profiles().unwrap();
        let ids: Vec<&str> = profiles.iter().map(|p| p.id.as_str()).collect();
        assert_eq!((devices.count(), ids.as_slice()), (3, ["t4", "t4", "tiny"].as_slice()));
        let Ok(Selection::Sim(absent)) = read("sim:/nowhere/at/all.toml") else { panic!() };
        let error = absent.profiles().unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/at/all.toml: the profile can't be read: "), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(sim:)?[a-zA-Z0-9,:x./ -]{0,24}|\\PC{0,40}") {
            if let Ok(selection) = read(&text) {
                prop_assert_eq!(read(&selection.to_string()), Ok(selection));
            }
        }

        #[test]
        fn what_is_written_is_read_back(picks in prop::collection::vec((0..8_usize, 1..=4_usize), 1..=4)) {
            let ids: Vec<&'static str> = builtin_ids().collect();
            let items: Vec<(&'static str, usize)> = picks.iter().map(|(i, n)| (ids[*i], *n)).collect();
            let selection = sim(&items);
            prop_assert_eq!(read(&selection.to_string()), Ok(selection));
        }
    }
}
