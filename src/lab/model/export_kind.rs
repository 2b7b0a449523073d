//! The files that can be written of what a session did.

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Opens in Perfetto.
    Trace,
    /// Every event with all its fields.
    Lines,
    /// Opens in PyTorch's memory viewer.
    Snapshot,
}

impl What {
    pub fn ending(self) -> &'static str {
        match self {
            What::Trace => "trace.json",
            What::Lines => "telemetry.jsonl",
            What::Snapshot => "memory.pickle",
        }
    }
}
