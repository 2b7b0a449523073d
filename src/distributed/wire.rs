//! What ranks in processes of their own say to each other: a line of JSON for each message, and behind it the bytes of
//! its tensors, in the order in which the line names them.

use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{DType, Device, Error, Kind};
use crate::tensor::Tensor;

use super::collect::Passage;
use super::group::{CollectiveKind, Ticket};

/// Both sides have to speak the same.
pub(super) const VERSION: u32 = 2;

/// No line is longer.
const LONGEST_LINE: u64 = 1 << 20;

/// A connection between two ranks' processes: a socket of the system's own where it has such names, which carries twice
/// as much as one of the network.
pub(super) enum Link {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Link {
    /// Connects to who listens for `address`.
    ///
    /// # Errors
    /// Nobody does.
    pub(super) fn to(address: &SocketAddr, timeout: Duration) -> io::Result<Link> {
        #[cfg(target_os = "linux")]
        if let Ok(stream) = name(address).and_then(|name| UnixStream::connect_addr(&name)) {
            return Ok(Link::Unix(stream));
        }
        TcpStream::connect_timeout(address, timeout).map(Link::of)
    }

    fn of(stream: TcpStream) -> Link {
        let _ = stream.set_nodelay(true);
        Link::Tcp(stream)
    }

    pub(super) fn try_clone(&self) -> io::Result<Link> {
        match self {
            Link::Tcp(stream) => stream.try_clone().map(Link::Tcp),
            #[cfg(unix)]
            Link::Unix(stream) => stream.try_clone().map(Link::Unix),
        }
    }
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(stream) => stream.read(into),
            #[cfg(unix)]
            Link::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Link::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where ranks come to.
pub(super) enum Door {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Door {
    /// Listens for those that come to `address`: at the address itself, and where the system has names of its own, there.
    ///
    /// # Errors
    /// The address is taken.
    pub(super) fn open(address: &SocketAddr) -> io::Result<Vec<Door>> {
        #[cfg(target_os = "linux")]
        let own = name(address).and_then(|name| UnixListener::bind_addr(&name)).map(Door::Unix).ok();
        #[cfg(not(target_os = "linux"))]
        let own = None;
        let door = Door::Tcp(TcpListener::bind(address)?);
        Ok(own.into_iter().chain([door]).collect())
    }

    pub(super) fn accept(&self) -> io::Result<Link> {
        match self {
            Door::Tcp(listener) => listener.accept().map(|(stream, _)| Link::of(stream)),
            #[cfg(unix)]
            Door::Unix(listener) => listener.accept().map(|(stream, _)| Link::Unix(stream)),
        }
    }
}

/// What stands for an address among the names that belong to no file.
#[cfg(target_os = "linux")]
fn name(address: &SocketAddr) -> io::Result<std::os::unix::net::SocketAddr> {
    std::os::unix::net::SocketAddr::from_abstract_name(format!("tensorlab-ranks-{address}"))
}

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
        elements.checked_mul(self.dtype.size())
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
    /// The line that it runs, which it was asked for; 0 where it is not known.
    At {
        line: u32,
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
    /// It is asked which line it runs.
    Where,
    /// Nothing can be exchanged any more.
    Broken {
        told: Told,
    },
}

/// Writes a message with the bytes of its tensors, contiguous ones on the CPU.
pub(super) fn write(out: &mut impl Write, message: &impl Serialize, tensors: &[Tensor]) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    tensors.iter().try_for_each(|x| x.with_bytes(|bytes| out.write_all(bytes)))?;
    out.flush()
}

/// Reads a line; none at the end. The bytes of tensors are read next, by [`tensors`] or [`bytes`].
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

/// Reads the bytes behind a line, into memory of earlier ones where there is some. What was announced is taken as it
/// comes, so that a false announcement takes no memory.
pub(super) fn bytes(
    input: &mut impl Read,
    forms: &[TensorForm],
    mut spare: impl FnMut() -> Vec<u8>,
) -> io::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for form in forms.iter().filter(|form| form.sent) {
        let wanted = form.bytes().ok_or_else(impossible)?;
        let mut bytes = spare();
        bytes.clear();
        input.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
        if bytes.len() < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        all.push(bytes);
    }
    Ok(all)
}

/// Reads the bytes behind a line into tensors on this process's CPU; those that are not sent hold nothing that was said.
/// Memory that nobody writes to is none that the system gives.
pub(super) fn tensors(input: &mut impl Read, forms: &[TensorForm]) -> io::Result<Vec<Tensor>> {
    let machine = crate::device::Machine::current();
    let mut all = Vec::new();
    for form in forms {
        let refused = |error: Error| io::Error::new(io::ErrorKind::OutOfMemory, error.message());
        form.bytes().ok_or_else(impossible)?;
        let x = Tensor::empty(&form.shape, form.dtype, machine.cpu(), "recv").map_err(refused)?;
        if form.sent {
            x.fill_pieces(|bytes| input.read_exact(bytes))?;
        }
        all.push(x);
    }
    Ok(all)
}

fn impossible() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a tensor of no possible size")
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
        let values = Tensor::from_f32(&[1.5, -2.0], &[2]).unwrap();
        let sent = values.host_bytes("recv").unwrap();
        write(&mut wire, &post, &[values]).unwrap();
        write(&mut wire, &FromRank::Ended, &[]).unwrap();
        let mut input = wire.as_slice();
        assert_eq!(read::<FromRank>(&mut input).unwrap(), Some(post));
        let mut again = input;
        assert_eq!(bytes(&mut input, &forms, Vec::new).unwrap(), std::slice::from_ref(&sent));
        let tensors = tensors(&mut again, &forms).unwrap();
        assert_eq!((tensors[0].host_bytes("recv").unwrap(), tensors[1].shape()), (sent, &[3][..]));
        assert_eq!(read::<FromRank>(&mut input).unwrap(), Some(FromRank::Ended));
        assert_eq!(read::<FromRank>(&mut input).unwrap(), None);
        for cut in 1..wire.len() {
            let mut input = wire.get(..cut).unwrap();
            let whole = read::<FromRank>(&mut input).and_then(|_| bytes(&mut input, &forms, Vec::new));
            let rest = whole.is_ok().then(|| read::<FromRank>(&mut input));
            assert!(!matches!(rest, Some(Ok(Some(_)))), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_announced_and_not_sent_takes_no_memory() {
        let form = |shape: &[usize]| TensorForm { dtype: DType::Float64, shape: shape.to_vec(), sent: true };
        let little = || [0u8; 4].as_slice();
        let error = bytes(&mut little(), &[form(&[1 << 40])], Vec::new).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(tensors(&mut little(), &[form(&[1 << 40])]).is_err());
        for impossible in [[usize::MAX, 2], [usize::MAX, 1]] {
            assert!(bytes(&mut little(), &[form(&impossible)], Vec::new).is_err());
            assert!(tensors(&mut little(), &[form(&impossible)]).is_err());
        }
        let long = vec![b'x'; 2 << 20];
        assert!(read::<FromRank>(&mut long.as_slice()).is_err());
    }
}
