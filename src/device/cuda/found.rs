//! What was found of CUDA on this computer, and why the rest was not.

use serde::{Deserialize, Serialize};

/// A driver that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driver {
    /// Where its library was found.
    pub library: String,
    /// The newest CUDA it supports.
    pub cuda: (u32, u32),
    /// What the kernel module says of itself, where it does.
    pub module: Option<String>,
}

/// A device of the driver. Memory is in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundDevice {
    pub ordinal: u32,
    pub name: String,
    pub memory: u64,
    pub capability: (u32, u32),
    pub multiprocessors: u32,
    /// Its place on the PCI bus, such as `0000:65:00.0`.
    pub pci: String,
}

/// A library, and where it is or why it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    pub name: String,
    /// What it is needed for.
    pub purpose: String,
    pub found: Result<Located, Missing>,
}

/// A library that loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    pub path: String,
    /// As it says itself.
    pub version: Option<String>,
}

/// Why something is not there, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub reason: String,
    pub remedy: String,
}
