//! What ranks in processes of their own say to each other: a line of JSON for each message, and behind it the bytes of
//! its tensors, in the order in which the line names them.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use crate::base::{DType, Device, Error, Kind, Result};
use crate::tensor::Tensor;

use super::collect::Passage;
use super::group::{CollectiveKind, Ticket};

/// Both sides have to speak the same.
pub(super) const VERSION: u32 = 1;

/// No line is longer.
const LONGEST_LINE: u64 = 1 << 20;

/// A tensor's form; its bytes come behind the line, where they are sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct TensorForm {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Whether its bytes are sent.
    pub sent: bool,
}

impl TensorForm {
    pub(super) fn of(x: &Tensor, sent: bool) -> TensorForm {
        TensorForm { dtype: x.dtype(), shape: x.shape().to_vec(), sent }
    }

    fn bytes(&self) -> Option<usize> {
        let elements = self.shape.iter().try_fold(1usize, |all, size| all.checked_mul(*size))?;
        elements.checked_mul(self.dtype.size()).filter(|_| self.sent)
    }
}

/// An error on its way to another process.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl Told {
    pub(super) fn of(error: &Error) -> Told {
        Told { kind: error.kind(), message: error.message(), hint: error.hint() }
    }

    pub(super) fn error(&self) -> Error {
        let error = Error::new(self.kind, self.message.clone());
        match &self.hint {
            Some(hint) => error.with_hint(hint.clone()),
            None => error,
        }
    }
}

/// What a rank says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromRank {
    Hello {
        version: u32,
        rank: usize,
        world: usize,
    },
    /// Its part of an exchange.
    Post {
        ticket: Ticket,
        kind: CollectiveKind,
        line: u32,
        ready: u64,
        device: Device,
        through_host: bool,
        inputs: Vec<TensorForm>,
        outputs: Vec<TensorForm>,
    },
    /// It goes on once that is done.
    Waits {
        ticket: Ticket,
    },
    Ended,
    Failed {
        told: Told,
        line: Option<u32>,
    },
}

/// What a rank is told.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToRank {
    /// All ranks are there.
    Welcome,
    Done {
        ticket: Ticket,
        passage: Passage,
        on_gpu: bool,
        results: Vec<TensorForm>,
    },
    /// Nothing can be exchanged any more.
    Broken {
        told: Told,
    },
}

/// Writes a message with the bytes of its tensors.
pub(super) fn write(out: &mut impl Write, message: &impl Serialize, tensors: &[Vec<u8>]) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    tensors.iter().try_for_each(|bytes| out.write_all(bytes))?;
    out.flush()
}

/// Reads a line; none at the end. The bytes of tensors are read next, by [`tensors`].
pub(super) fn read<T: for<'de> Deserialize<'de>>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if !line.ends_with(b"\n") {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message without an end"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

/// Reads the bytes behind a line. What was announced is taken as it comes, so that a false announcement takes no memory.
pub(super) fn bytes(input: &mut impl Read, forms: &[TensorForm]) -> io::Result<Vec<Option<Vec<u8>>>> {
    let one = |form: &TensorForm| {
        if !form.sent {
            return Ok(None);
        }
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "a tensor of no possible size");
        let wanted = form.bytes().ok_or_else(invalid)?;
        let mut bytes = Vec::new();
        input.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
        if bytes.len() < wanted { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(Some(bytes)) }
    };
    let mut one = one;
    forms.iter().map(&mut one).collect()
}

/// Tensors on this process's CPU of what was read; those that were not sent hold nothing that was said.
pub(super) fn tensors(forms: &[TensorForm], bytes: &[Option<Vec<u8>>]) -> Result<Vec<Tensor>> {
    let machine = crate::device::Machine::current();
    let one = |(form, bytes): (&TensorForm, &Option<Vec<u8>>)| match bytes {
        Some(bytes) => Tensor::from_bytes(bytes, &form.shape, form.dtype),
        None => Tensor::empty(&form.shape, form.dtype, machine.cpu(), "recv"),
    };
    forms.iter().zip(bytes).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_tensors_survive_the_wire_and_torn_ones_are_errors() {
        let forms = vec![
            TensorForm { dtype: DType::Float32, shape: vec![2], sent: true },
            TensorForm { dtype: DType::Int64, shape: vec![3], sent: false },
        ];
        let ticket = Ticket { between: Some((0, 1)), number: 7 };
        let post = FromRank::Post {
            ticket,
            kind: CollectiveKind::Send { dst: 1 },
            line: 3,
            ready: 9,
            device: Device::Cuda(1),
            through_host: true,
            inputs: forms.clone(),
            outputs: Vec::new(),
        };
        let mut wire = Vec::new();
        write(&mut wire, &post, &[vec![1; 8]]).unwrap();
        write(&mut wire, &FromRank::Ended, &[]).unwrap();
        let mut input = wire.as_slice();
        assert_eq!(read::<FromRank>(&mut input).unwrap(), Some(post));
        assert_eq!(bytes(&mut input, &forms).unwrap(), [Some(vec![1; 8]), None]);
        assert_eq!(read::<FromRank>(&mut input).unwrap(), Some(FromRank::Ended));
        assert_eq!(read::<FromRank>(&mut input).unwrap(), None);
        for cut in 1..wire.len() {
            let mut input = wire.get(..cut).unwrap();
            let whole = read::<FromRank>(&mut input).and_then(|_| bytes(&mut input, &forms));
            let rest = whole.is_ok().then(|| read::<FromRank>(&mut input));
            assert!(!matches!(rest, Some(Ok(Some(_)))), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_announced_and_not_sent_takes_no_memory() {
        let form = |shape: &[usize]| TensorForm { dtype: DType::Float64, shape: shape.to_vec(), sent: true };
        let error = bytes(&mut [0u8; 4].as_slice(), &[form(&[1 << 40])]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(bytes(&mut [0u8; 4].as_slice(), &[form(&[usize::MAX, 2])]).is_err());
        let long = vec![b'x'; 2 << 20];
        assert!(read::<FromRank>(&mut long.as_slice()).is_err());
    }
}
