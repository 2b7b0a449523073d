//! A rank that is a process of its own, as torchrun starts them: `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` say
//! which it is, and where it meets the others.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::{Error, Result, sorted};
use crate::device::cpu::threads;
use crate::device::shared::Shared;
use crate::device::{Context, Machine};
use crate::tensor::Tensor;

use super::collect::{Passage, Posted, copy};
use super::group::{CollectiveKind, Group, RankPart, Ticket};
use super::hub::{Hub, LOOK, copy_values};
use super::ranks::MOST;
use super::wire::{self, Door, FromRank, Link, TensorForm, ToRank, Told};
use super::words;

const STACK: usize = 8 << 20;

/// The rank that this process is, from the moment it has joined.
static JOINED: Mutex<Option<Arc<ProcessRank>>> = Mutex::new(None);

/// What is asked for in place of what the environment says.
#[derive(Clone, Copy, Default)]
pub struct Wish {
    pub rank: Option<i64>,
    pub world: Option<i64>,
    /// Seconds.
    pub timeout: Option<f64>,
}

/// Where and as whom a process joins.
struct MeetingPlace {
    rank: usize,
    world: usize,
    address: SocketAddr,
    timeout: Duration,
}

/// See the module.
pub(super) struct ProcessRank {
    rank: usize,
    world: usize,
    shared: Arc<Shared>,
    out: Arc<Mutex<Link>>,
    inbox: Arc<Inbox>,
    under_way: Mutex<UnderWay>,
    /// In the process of rank 0.
    hub: Option<Arc<Hub>>,
}

#[derive(Default)]
struct UnderWay {
    /// How many exchanges it has taken part in, among all and with each other rank.
    numbers: BTreeMap<Option<(usize, usize)>, u64>,
    posted: BTreeMap<Ticket, (Posted, u64)>,
}

/// What was said to this rank.
#[derive(Default)]
struct Inbox {
    letters: Mutex<Letters>,
    arrived: Condvar,
    /// Memory for what comes next.
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Blocks of memory that are kept: as many as exchanges are under way at once in a backward pass.
const SPARE: usize = 4;

#[derive(Default)]
struct Letters {
    welcome: bool,
    done: BTreeMap<Ticket, Letter>,
    broken: Option<Error>,
}

struct Letter {
    passage: Passage,
    on_gpu: bool,
    forms: Vec<TensorForm>,
    bytes: Vec<Vec<u8>>,
}

/// The local rank that the environment names, as torchrun does.
pub fn local_rank() -> Option<usize> {
    std::env::var("LOCAL_RANK").ok()?.trim().parse().ok()
}

/// Joins the ranks that the environment or the caller names; the same ones again where it has joined.
///
/// # Errors
/// `ValueError` where a variable is missing or says nothing sensible; the others can't be reached, or did not come.
pub(super) fn join(wish: Wish) -> Result<Arc<dyn Group>> {
    let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = joined.as_ref() {
        return Ok(Arc::clone(known) as Arc<dyn Group>);
    }
    let rank = Arc::new(ProcessRank::meet(&place(wish)?)?);
    *joined = Some(Arc::clone(&rank));
    Ok(rank)
}

/// The process ends: the other ranks are told, with why where it failed. Rank 0 waits for them unless it failed.
pub(crate) fn end(failure: Option<(Error, Option<u32>)>) {
    let joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(rank) = joined else { return };
    match (failure, &rank.hub) {
        (Some((error, line)), Some(hub)) => hub.give_up(&error, line),
        (Some((error, line)), None) => {
            let _ = rank.say(&FromRank::Failed { told: Told::of(&error), line }, &[]);
        }
        (None, hub) => {
            let _ = rank.say(&FromRank::Ended, &[]);
            hub.iter().for_each(|hub| hub.see_off(|| rank.shared.cancel.is_set()));
        }
    }
}

fn place(wish: Wish) -> Result<MeetingPlace> {
    let rank = wish.rank.map_or_else(|| number("RANK"), Ok)?;
    let world = wish.world.map_or_else(|| number("WORLD_SIZE"), Ok)?;
    let most = i64::try_from(MOST).unwrap_or(i64::MAX);
    if !(1..=most).contains(&world) || !(0..world).contains(&rank) {
        let text = format!("there is no rank {rank} of {world}");
        return Err(
            Error::value(text).with_hint(format!("WORLD_SIZE is from 1 to {most}, and RANK from 0 up to it"))
        );
    }
    let (host, port) = (variable("MASTER_ADDR")?, number("MASTER_PORT")?);
    let unknown = |why: String| {
        Error::value(format!("MASTER_ADDR is {host} and MASTER_PORT {port}: {why}"))
            .with_hint("ranks in processes meet on this computer, such as at 127.0.0.1 and port 29500")
    };
    let port = u16::try_from(port).map_err(|_| unknown("that is no port".into()))?;
    let found = (host.as_str(), port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found = found.collect::<Vec<_>>();
    sorted::sort_by_key(&mut found, SocketAddr::is_ipv6);
    let local = found.into_iter().find(|address| address.ip().is_loopback());
    let address = local.ok_or_else(|| unknown("that is no address of this computer alone".into()))?;
    let seconds = wish.timeout.unwrap_or(1800.0);
    let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
    let timeout = timeout
        .ok_or_else(|| Error::value(format!("timeout is a number of seconds above 0, and got {seconds}")))?;
    let (rank, world) = (usize::try_from(rank).unwrap_or(0), usize::try_from(world).unwrap_or(1));
    Ok(MeetingPlace { rank, world, address, timeout })
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| {
        let text = format!(
            "Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
        );
        Error::value(text).with_hint(
            "`distributed::spawn(|rank, world| …)` starts ranks here; as processes, each is started with RANK, WORLD_SIZE, \
             MASTER_ADDR and MASTER_PORT, as torchrun does",
        )
    })
}

fn number(name: &str) -> Result<i64> {
    let text = variable(name)?;
    text.trim()
        .parse()
        .map_err(|_| Error::value(format!("the environment variable {name} is no number: {text}")))
}

impl ProcessRank {
    fn meet(place: &MeetingPlace) -> Result<ProcessRank> {
        let shared = Arc::clone(&Machine::current().shared);
        let failed = |what: &str, error: std::io::Error| {
            Error::runtime(format!("rank {} cannot {what} at {}: {error}", place.rank, place.address))
        };
        let hub = match place.rank {
            0 => {
                let doors = Door::open(&place.address).map_err(|e| match e.kind() {
                    std::io::ErrorKind::AddrInUse => failed("meet the others", e).with_hint(format!(
                        "another run meets at port {}: another MASTER_PORT will do, the same for all ranks",
                        place.address.port()
                    )),
                    _ => failed("meet the others", e),
                })?;
                let open = Hub::open(doors, place.world, place.timeout);
                Some(open.map_err(|e| failed("meet the others", e))?)
            }
            _ => None,
        };
        let since = Instant::now();
        let mut out = loop {
            match Link::to(&place.address, place.timeout) {
                Ok(stream) => break stream,
                Err(error) if since.elapsed() > place.timeout => return Err(failed("reach rank 0", error)),
                Err(_) => std::thread::sleep(LOOK),
            }
            shared.cancel.check()?;
        };
        let hello = FromRank::Hello { version: wire::VERSION, rank: place.rank, world: place.world };
        wire::write(&mut out, &hello, &[]).map_err(|e| failed("reach rank 0", e))?;
        let inbox: Arc<Inbox> = Arc::default();
        let (input, hears) = (out.try_clone().map_err(|e| failed("reach rank 0", e))?, Arc::clone(&inbox));
        let out = Arc::new(Mutex::new(out));
        let (answers, runs) = (Arc::clone(&out), Arc::clone(&shared));
        let answer = move || {
            let mut out = answers.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = wire::write(&mut *out, &FromRank::At { line: runs.source().line }, &[]);
        };
        threads::start("rank-hears".into(), STACK, move || hears.fill(input, answer))
            .map_err(|e| failed("listen", e))?;
        let rank = ProcessRank {
            rank: place.rank,
            world: place.world,
            shared,
            out,
            inbox,
            under_way: Mutex::default(),
            hub,
        };
        rank.wait_for_others(place.timeout)?;
        Ok(rank)
    }

    fn wait_for_others(&self, timeout: Duration) -> Result<()> {
        let since = Instant::now();
        let mut letters = self.inbox.lock();
        while !letters.welcome {
            if let Some(broken) = &letters.broken {
                return Err(broken.clone());
            }
            if since.elapsed() > timeout {
                let came = self.hub.as_ref().map(|hub| words::absent(&hub.missing(), self.world));
                let came = came.unwrap_or_else(|| "not all ranks came".into());
                let text = format!("{came} within {} s", timeout.as_secs_f64());
                return Err(Error::runtime(text)
                    .with_hint("each rank is started with its RANK and the same WORLD_SIZE"));
            }
            letters = self.inbox.wait(letters);
            self.shared.cancel.check()?;
        }
        Ok(())
    }

    fn say(&self, message: &FromRank, tensors: &[Tensor]) -> Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        wire::write(&mut *out, message, tensors).map_err(|error| match &self.inbox.lock().broken {
            Some(broken) => broken.clone(),
            None => Error::runtime(format!("rank 0 cannot be reached any more: {error}")),
        })
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of an exchange, once it is there.
    fn letter(&self, ticket: Ticket) -> Result<Letter> {
        let mut told = false;
        let mut letters = self.inbox.lock();
        loop {
            if let Some(letter) = letters.done.remove(&ticket) {
                return Ok(letter);
            }
            if let Some(broken) = &letters.broken {
                return Err(broken.clone());
            }
            if !told {
                drop(letters);
                self.say(&FromRank::Waits { ticket }, &[])?;
                (told, letters) = (true, self.inbox.lock());
                continue;
            }
            letters = self.inbox.wait(letters);
            self.shared.cancel.check()?;
        }
    }
}

impl Group for ProcessRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world(&self) -> usize {
        self.world
    }

    fn is_of_threads(&self) -> bool {
        false
    }

    fn post(&self, part: RankPart) -> Result<Ticket> {
        if let Some(broken) = &self.inbox.lock().broken {
            return Err(broken.clone());
        }
        let posted = Posted::new(self.rank, part)?;
        let began = self.shared.nanos();
        let part = &posted.part;
        let between = match part.kind {
            CollectiveKind::Send { dst } => Some((self.rank, dst)),
            CollectiveKind::Recv { src } => Some((src, self.rank)),
            _ => None,
        };
        let sent = !matches!(part.kind, CollectiveKind::Broadcast { src } if src != self.rank);
        let inputs = part.inputs.iter().filter(|_| sent).map(|x| here(x, part.kind.name()));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let mut under_way = self.under_way();
        let next = under_way.numbers.entry(between).or_default();
        let ticket = Ticket { between, number: *next };
        *next += 1;
        let drawer = self.hub.as_ref().map(|hub| hub.drawer());
        let sent = sent && drawer.is_none();
        let message = FromRank::Post {
            ticket,
            kind: part.kind,
            line: posted.line,
            ready: posted.ready,
            device: posted.device,
            through_host: part.through_host,
            inputs: part.inputs.iter().map(|x| TensorForm::of(x, sent)).collect(),
            outputs: part.outputs.iter().map(|x| TensorForm::of(x, false)).collect(),
        };
        under_way.posted.insert(ticket, (posted, began));
        drop(under_way);
        match drawer {
            Some(drawer) if !inputs.is_empty() => {
                drawer.hand_in(ticket, &inputs)?;
                self.say(&message, &[])?;
            }
            _ => self.say(&message, &inputs)?,
        }
        Ok(ticket)
    }

    fn wait(&self, ticket: Ticket) -> Result<Vec<Tensor>> {
        let Letter { passage, on_gpu, forms, bytes } = self.letter(ticket)?;
        let own = self.under_way().posted.remove(&ticket);
        let (posted, began) = own.ok_or_else(|| Error::runtime("this exchange has ended"))?;
        let given = match &self.hub {
            Some(hub) => hub.drawer().take(ticket).into_iter().map(Given::Tensor).collect(),
            None => bytes.into_iter().map(Given::Bytes).collect::<Vec<_>>(),
        };
        let part = &posted.part;
        let context: Arc<Context> = posted.place(on_gpu);
        let results = if let CollectiveKind::Scatter { .. } = part.kind {
            let made = |form: &TensorForm| Tensor::empty(&form.shape, form.dtype, &context, "scatter");
            forms.iter().map(made).collect::<Result<Vec<_>>>()?
        } else {
            if part.outputs.is_empty() { &part.inputs } else { &part.outputs }.clone()
        };
        given.iter().zip(&results).try_for_each(|(values, to)| values.put_into(to))?;
        self.inbox.keep(given);
        passage.arrived(self.rank, results, (began, context, posted.end.clone()), &self.shared)
    }

    fn is_done(&self, ticket: Ticket) -> bool {
        self.inbox.lock().done.contains_key(&ticket)
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'l>(&self, letters: MutexGuard<'l, Letters>) -> MutexGuard<'l, Letters> {
        self.arrived.wait_timeout(letters, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Memory of what was taken serves what comes next.
    fn keep(&self, given: Vec<Given>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        for values in given {
            if let Given::Bytes(bytes) = values
                && spare.len() < SPARE
            {
                spare.push(bytes);
            }
        }
    }

    fn spare(&self) -> Vec<u8> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Takes what is said, to the end of it, and tells which line runs where that is asked.
    fn fill(&self, input: Link, tell_line: impl Fn()) {
        let mut input = BufReader::new(input);
        loop {
            let said = wire::read::<ToRank>(&mut input).ok().flatten();
            let mut letter = None;
            if let Some(ToRank::Done { ticket, passage, on_gpu, results }) = &said {
                let Ok(bytes) = wire::bytes(&mut input, results, || self.spare()) else { return self.lose() };
                let (passage, forms) = (passage.clone(), results.clone());
                letter = Some((*ticket, Letter { passage, on_gpu: *on_gpu, forms, bytes }));
            }
            let mut letters = self.lock();
            match said {
                Some(ToRank::Welcome) => letters.welcome = true,
                Some(ToRank::Where) => {
                    drop(letters);
                    tell_line();
                    continue;
                }
                Some(ToRank::Broken { told }) => letters.broken = Some(told.error()),
                Some(ToRank::Done { .. }) => letters.done.extend(letter),
                None => {
                    drop(letters);
                    return self.lose();
                }
            }
            drop(letters);
            self.arrived.notify_all();
        }
    }

    /// Nobody speaks any more.
    fn lose(&self) {
        let gone =
            || Error::runtime("rank 0 is gone, in whose process the ranks meet: it has ended or was killed");
        self.lock().broken.get_or_insert_with(gone);
        self.arrived.notify_all();
    }
}

/// What a rank is given.
enum Given {
    Bytes(Vec<u8>),
    /// On the CPU of the hub's machine.
    Tensor(Tensor),
}

impl Given {
    fn put_into(&self, to: &Tensor) -> Result<()> {
        if to.device().is_cuda() || !to.is_contiguous() {
            let bytes = match self {
                Given::Bytes(bytes) => bytes,
                Given::Tensor(x) => &x.host_bytes("recv")?,
            };
            return copy(&Tensor::from_bytes(bytes, to.shape(), to.dtype())?, to);
        }
        to.storage().own()?;
        match self {
            Given::Tensor(x) => copy_values(x, to),
            Given::Bytes(bytes) => {
                if let Some(block) = &to.storage().place().buffer().host {
                    block.write(to.layout().offset() * to.dtype().size(), bytes);
                }
            }
        }
        Ok(())
    }
}

/// A contiguous tensor on the CPU of the values as they are on their device, without a trace in what happens there.
fn here(x: &Tensor, op: &'static str) -> Result<Tensor> {
    let x = match x.device().is_cuda() {
        false => x.contiguous_detached()?,
        true => {
            let here = Tensor::empty(x.shape(), x.dtype(), Machine::current().cpu(), op)?;
            copy(x, &here)?;
            here
        }
    };
    x.may_be_read(op)?;
    x.host_reads(op);
    Ok(x)
}
