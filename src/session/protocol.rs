//! The messages between a front end and a session, version 6.
//!
//! A message is a little-endian `u32` byte count and that many bytes of JSON. The front end writes
//! [`Request`]s to the session's standard input; the session writes [`Message`]s to its standard output.
//! `tensorlab session --stdio` speaks it, so graders and other front ends can too; `docs/session-protocol.md` is for them.
//!
//! The first request is `hello`, answered by `ready`. Every request with an id is answered once: an evaluation
//! by `finished`, the others by their own answer, in order, and any of them by `refused`, which may come early. An interrupt stops what
//! runs and answers the evaluations that wait as interrupted, or refuses them. What an evaluation prints, shows
//! and causes on the devices comes between its `started` and its answer. The session ends after `shutdown`, after
//! a message it can't read (once it has said so), and when its standard input closes: a front end keeps that open
//! until it has its answers.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::base::event::{Clock, Event};
use crate::base::{DType, Device};
use crate::plot::Figure;

use super::digest::Digest;
pub use super::verdict::Verdict;
pub use crate::script::Fault;

/// Raised when a message changes its meaning; the session refuses a front end of another version.
pub const VERSION: u32 = 6;

/// No message is longer; a longer announcement means the stream is not this protocol.
pub const MAX_MESSAGE: usize = 64 << 20;

/// The variable that holds the last value.
pub const LAST: &str = "_";

/// What a front end asks for. `id` comes back in every message that answers it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// First message of a connection.
    Hello {
        version: u32,
    },
    /// Evaluates code in the session's scope. `first_line` is the line of its first line in its file.
    Evaluate {
        id: u64,
        cell: u32,
        code: String,
        #[serde(default = "one")]
        first_line: u32,
        /// Names that a check of this cell reads, and that are not the learner's to change.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        given: Vec<GivenName>,
        /// The code answers an exercise: what it leaves set for the whole process, such as the default device, is put back
        /// before the next code runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
    },
    /// Evaluates a check: it sees the variables and the events of cell `of`, and changes neither.
    Check {
        id: u64,
        of: u32,
        code: String,
        #[serde(default = "one")]
        first_line: u32,
    },
    /// Evaluates one expression as a check does and gives its value, as a prediction's answer needs.
    Probe {
        id: u64,
        of: u32,
        expression: String,
    },
    /// Stops the running evaluation and clears the queue; variables stay. Never queued.
    Interrupt,
    /// Completions at a byte offset of `code`, without evaluating anything.
    Complete {
        id: u64,
        code: String,
        cursor: usize,
    },
    /// Help on a name, from the op table.
    Help {
        id: u64,
        name: String,
    },
    /// The variables and the devices as they are now.
    Inspect {
        id: u64,
    },
    /// Frees every variable and starts again with a fresh scope and fresh device statistics.
    Reset {
        id: u64,
    },
    Shutdown,
}

/// A name of what a lesson gave before a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GivenName {
    pub name: String,
    /// What it holds is not to be written to either.
    pub fixed: bool,
}

impl Request {
    /// The id its answer carries; none where it has no answer of its own.
    pub fn id(&self) -> Option<u64> {
        match self {
            Request::Evaluate { id, .. }
            | Request::Check { id, .. }
            | Request::Probe { id, .. }
            | Request::Complete { id, .. }
            | Request::Help { id, .. }
            | Request::Inspect { id }
            | Request::Reset { id } => Some(*id),
            Request::Hello { .. } | Request::Interrupt | Request::Shutdown => None,
        }
    }
}

fn one() -> u32 {
    1
}

/// What a session says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Message {
    Ready {
        version: u32,
        pid: u32,
        devices: Vec<DeviceInfo>,
        protections: Vec<String>,
    },
    /// The request has begun; others queue behind it.
    Started {
        id: u64,
        cell: u32,
    },
    Output {
        id: u64,
        stream: Stream,
        text: String,
    },
    /// With a `display_id`, it takes the place of what the same evaluation has shown under that name, if there is
    /// such; of several in a row only the newest may be sent.
    Display {
        id: u64,
        content: Display,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_id: Option<String>,
    },
    Progress {
        id: u64,
        label: String,
        done: u64,
        total: Option<u64>,
        note: String,
    },
    /// What happened on the devices, in batches.
    Telemetry {
        events: Vec<Event>,
    },
    /// Events before the next ones that were more than can be sent, summed up.
    Missed {
        digest: Box<Digest>,
    },
    Finished {
        id: u64,
        cell: u32,
        outcome: Outcome,
        usage: Box<Usage>,
    },
    State {
        id: u64,
        variables: Vec<Variable>,
        devices: Vec<DeviceInfo>,
        /// Tensors within the variables by their paths: elements of arrays and maps, parameters and buffers of
        /// modules, gradients.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<(String, TensorInfo)>,
    },
    Completions {
        id: u64,
        start: usize,
        items: Vec<Completion>,
    },
    HelpText {
        id: u64,
        name: String,
        text: Option<String>,
        suggestions: Vec<String>,
    },
    CheckResult {
        id: u64,
        verdict: Verdict,
        /// The line of the check that refused, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check_line: Option<u32>,
    },
    Probed {
        id: u64,
        value: Result<ProbeValue, Fault>,
        /// The clock of the times that it was made of, where it was made of such.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock: Option<Clock>,
    },
    /// The request could not be understood or is out of order.
    Refused {
        id: Option<u64>,
        reason: String,
    },
}

impl Message {
    /// The id of the request that this answers for good.
    pub fn answers(&self) -> Option<u64> {
        match self {
            Message::Finished { id, .. }
            | Message::State { id, .. }
            | Message::Completions { id, .. }
            | Message::HelpText { id, .. }
            | Message::CheckResult { id, .. }
            | Message::Probed { id, .. } => Some(*id),
            Message::Refused { id, .. } => *id,
            _ => None,
        }
    }

    /// The id of the request that this is about, its answer or what comes before it.
    pub fn request(&self) -> Option<u64> {
        match self {
            Message::Started { id, .. }
            | Message::Output { id, .. }
            | Message::Display { id, .. }
            | Message::Progress { id, .. } => Some(*id),
            _ => self.answers(),
        }
    }
}

/// Where text was printed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Something richer than text that a cell shows. Never holds a tensor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Display {
    Text {
        text: String,
    },
    Table {
        header: Vec<String>,
        rows: Vec<Vec<String>>,
    },
    Figure {
        #[serde(deserialize_with = "figure")]
        figure: Box<Figure>,
    },
}

/// By way of JSON, as where a notebook keeps one: a reader of its own for what a message holds would be as large again.
fn figure<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Box<Figure>, D::Error> {
    let json = serde_json::Value::deserialize(from)?;
    Figure::deserialize(&json).map(Box::new).map_err(serde::de::Error::custom)
}

/// How an evaluation ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// `value` is the printed form of the last expression, if it had a value.
    Ok {
        value: Option<String>,
    },
    Error {
        fault: Fault,
    },
    Interrupted,
    Timeout {
        seconds: f64,
    },
    /// It printed or showed more than `limit`, such as `64.0 KiB of text`.
    TooMuchOutput {
        limit: String,
    },
}

/// What an evaluation took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Wall-clock nanoseconds of the host, measured.
    pub host_nanos: u64,
    /// Nanoseconds on the devices' virtual clock, where there is a simulated device.
    pub modelled_nanos: Option<u64>,
    /// Change in allocated bytes per device.
    pub allocated: Vec<(Device, i64)>,
    /// The most bytes allocated at once, of each device that took any.
    #[serde(default)]
    pub peaks: Vec<(Device, u64)>,
    /// Copies by direction: from, to, count, bytes.
    pub copies: Vec<(Device, Device, u64, u64)>,
}

/// A device as it is now.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceInfo {
    pub device: Device,
    pub name: String,
    pub simulated: bool,
    pub clock: Clock,
    /// Memory of the device in bytes; 0 for the CPU.
    pub total: u64,
    pub allocated: u64,
    pub reserved: u64,
    pub peak: u64,
    /// Bytes that the device says nobody has taken; `None` where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
    /// Segments with their blocks, to scale.
    pub segments: Vec<SegmentInfo>,
}

/// A segment of the caching allocator, as a panel draws it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentInfo {
    pub address: u64,
    pub bytes: u64,
    /// Offset, bytes and whether a tensor holds it.
    pub blocks: Vec<(u64, u64, bool)>,
}

/// A variable of the session's scope.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    /// `Tensor`, `int`, `float`, `string`, `Module`, …
    pub type_name: String,
    /// One line about its value.
    pub summary: String,
    pub tensor: Option<TensorInfo>,
}

/// A tensor that a variable holds, as a panel lists it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TensorInfo {
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub device: Device,
    pub bytes: u64,
    /// The storage's address, by which the event stream knows it.
    pub address: u64,
    pub requires_grad: bool,
    /// Bytes of its gradient, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad: Option<u64>,
    pub is_view: bool,
}

/// A name that what is typed may become.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Completion {
    pub text: String,
    pub signature: String,
    pub summary: String,
}

/// A prediction's answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ProbeValue {
    Number(f64),
    Bool(bool),
    Text(String),
}

/// Writes one message.
pub fn write<T: Serialize>(out: &mut impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|&n| n as usize <= MAX_MESSAGE)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "message too long"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&body)?;
    out.flush()
}

/// Reads one message; `None` at a clean end of the stream.
pub fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let body = read_body(input)?;
    Ok(body.map(|body| serde_json::from_slice(&body)).transpose()?)
}

/// As [`read`], several times faster for telemetry as a session writes it.
pub(crate) fn read_message(input: &mut impl Read) -> io::Result<Option<Message>> {
    #[derive(Deserialize)]
    struct Telemetry {
        events: Vec<Event>,
    }
    let Some(body) = read_body(input)? else { return Ok(None) };
    // Behind a tag, values are stored in between before they get their type.
    if body.starts_with(br#"{"message":"telemetry","#) {
        let Telemetry { events } = serde_json::from_slice(&body)?;
        return Ok(Some(Message::Telemetry { events }));
    }
    Ok(Some(serde_json::from_slice(&body)?))
}

fn read_body(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0u8; 4];
    let mut filled = 0;
    while let Some(rest) = head.get_mut(filled..).filter(|r| !r.is_empty()) {
        match input.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let length = u32::from_le_bytes(head) as usize;
    if length > MAX_MESSAGE {
        let text = format!("a message of {length} bytes is announced, {MAX_MESSAGE} is the limit");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut body = Vec::new();
    if input.take(length as u64).read_to_end(&mut body)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire_and_torn_ones_are_errors() {
        let request = Request::Evaluate {
            id: 1,
            cell: 2,
            code: "1 + 1".into(),
            first_line: 1,
            given: Vec::new(),
            answer: false,
        };
        let mut wire = Vec::new();
        write(&mut wire, &request).unwrap();
        assert_eq!(read::<Request>(&mut wire.as_slice()).unwrap(), Some(request));
        for cut in 1..wire.len() {
            assert!(read::<Request>(&mut &wire[..cut]).is_err(), "cut at {cut}");
        }
        assert_eq!(read::<Request>(&mut &[][..]).unwrap(), None);
        assert!(read::<Request>(&mut &[255u8; 8][..]).is_err());
    }
}
