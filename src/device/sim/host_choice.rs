//! Which host stands around simulated GPUs: `--host NAME | FILE | measured`, or `@HOST` behind the devices.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::base::near::nearest;

use super::error::{ProfileError, did_you_mean, quoted};
use super::host::{DEFAULT_HOST, Host, HostProfile, host_ids};

/// Stands between devices and their host.
const AT: char = '@';

const MEASURED: &str = "measured";

/// A wish for a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostChoice {
    /// One of [`host_ids`].
    Builtin(&'static str),
    /// A TOML file; it has not been opened yet.
    File(PathBuf),
    /// This computer, with measured times.
    Measured,
}

impl HostChoice {
    /// The host that is meant. Reads the file.
    pub fn load(&self) -> Result<Host, ProfileError> {
        let profile = match self {
            HostChoice::Builtin(id) => HostProfile::builtin(id)?,
            HostChoice::File(path) => HostProfile::load(path)?,
            HostChoice::Measured => HostProfile::builtin(DEFAULT_HOST)?,
        };
        Ok(Host { profile, measured: *self == HostChoice::Measured })
    }
}

impl Default for HostChoice {
    fn default() -> HostChoice {
        HostChoice::Builtin(DEFAULT_HOST)
    }
}

/// Why a text names no host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownHost {
    text: String,
    nearest: Option<&'static str>,
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no host profile `{}`; {}the hosts are {}, {MEASURED} (this computer, with measured times), or \
             name a .toml file",
            self.text,
            did_you_mean(self.nearest),
            host_ids().collect::<Vec<_>>().join(", ")
        )
    }
}

impl std::error::Error for UnknownHost {}

impl FromStr for HostChoice {
    type Err = UnknownHost;

    /// Reads a built-in host's id or `measured`, in any case, or a path that ends in `.toml`.
    fn from_str(text: &str) -> Result<HostChoice, UnknownHost> {
        let name = text.trim();
        if name.eq_ignore_ascii_case(MEASURED) {
            return Ok(HostChoice::Measured);
        }
        if name.strip_suffix(".toml").is_some_and(|stem| !stem.is_empty()) {
            return Ok(HostChoice::File(PathBuf::from(name)));
        }
        let known = host_ids().find(|id| id.eq_ignore_ascii_case(name)).map(HostChoice::Builtin);
        known.ok_or_else(|| UnknownHost {
            text: quoted(name),
            nearest: nearest(name, host_ids().chain([MEASURED])),
        })
    }
}

impl fmt::Display for HostChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostChoice::Builtin(id) => f.write_str(id),
            HostChoice::File(path) => write!(f, "{}", path.display()),
            HostChoice::Measured => f.write_str(MEASURED),
        }
    }
}

/// Devices and the host behind them, as written.
pub(crate) fn split_host(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(AT) {
        Some((devices, host)) => (devices.trim(), Some(host.trim())),
        None => (text, None),
    }
}

/// Devices with a host behind them, in place of one that stands there.
pub(crate) fn with_host(devices: &str, host: Option<&str>) -> String {
    match host {
        Some(host) => format!("{}{AT}{host}", split_host(devices).0),
        None => devices.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_a_file_or_this_computer() {
        let read = |text: &str| text.parse::<HostChoice>();
        assert_eq!(read(" Notebook "), Ok(HostChoice::Builtin("notebook")));
        assert_eq!(read("measured"), Ok(HostChoice::Measured));
        assert_eq!(read("./mine.toml"), Ok(HostChoice::File(PathBuf::from("./mine.toml"))));
        let error = read("workstatoin").unwrap_err().to_string();
        assert!(error.contains("did you mean `workstation`?") && error.contains("notebook"), "{error}");
    }

    #[test]
    fn a_host_stands_behind_devices() {
        assert_eq!(split_host("sim:t4x2"), ("sim:t4x2", None));
        assert_eq!(split_host("sim:t4,h100@workstation"), ("sim:t4,h100", Some("workstation")));
        assert_eq!(with_host("sim:t4@notebook", Some("measured")), "sim:t4@measured");
        assert_eq!(with_host("sim:t4@notebook", None), "sim:t4@notebook");
    }
}
