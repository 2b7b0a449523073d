//! Where ranks of several processes meet, in the process of rank 0: each says what it hands in, and is told what came of
//! it. Values are put together here, on the CPU, in the order of the ranks.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::{Error, Result, sorted};
use crate::device::Machine;
use crate::device::cpu::threads;
use crate::tensor::Tensor;

use super::collect::{Posted, put_together};
use super::group::{CollectiveKind, RankPart, Ticket};
use super::wire::{self, Door, FromRank, Link, TensorForm, ToRank, Told};
use super::words;

/// How long a rank has to tell which line it runs.
const ANSWER: Duration = Duration::from_millis(500);

/// How often is looked whether a rank waits too long, or a caller was interrupted.
pub(super) const LOOK: Duration = Duration::from_millis(50);

const STACK: usize = 8 << 20;

/// See the module.
pub(super) struct Hub {
    world: usize,
    timeout: Duration,
    meeting: Mutex<Meeting>,
    changed: Condvar,
    drawer: Arc<Drawer>,
}

/// Where rank 0, in whose process this is, puts the tensors that it hands in, and finds those that it is given: copies of
/// its own, on a machine of the hub's.
pub(super) struct Drawer {
    machine: Arc<Machine>,
    given: Mutex<Tensors>,
    results: Mutex<Tensors>,
}

type Tensors = BTreeMap<Ticket, Vec<Tensor>>;

impl Drawer {
    /// Hands tensors in, which are contiguous and on the CPU, ahead of the message that speaks of them.
    ///
    /// # Errors
    /// The host has no memory for them.
    pub(super) fn hand_in(&self, ticket: Ticket, tensors: &[Tensor]) -> Result<()> {
        let _here = self.machine.enter();
        let copied = |from: &Tensor| {
            let to = Tensor::empty(from.shape(), from.dtype(), self.machine.cpu(), "send")?;
            copy_values(from, &to);
            Ok(to)
        };
        let tensors = tensors.iter().map(copied).collect::<Result<Vec<_>>>()?;
        locked(&self.given).insert(ticket, tensors);
        Ok(())
    }

    /// What came of an exchange, of which rank 0 was told.
    pub(super) fn take(&self, ticket: Ticket) -> Vec<Tensor> {
        locked(&self.results).remove(&ticket).unwrap_or_default()
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Meeting {
    ranks: Vec<Member>,
    slots: BTreeMap<Ticket, Vec<(usize, Posted)>>,
    /// Why nothing can be exchanged any more.
    broken: Option<Error>,
    /// Each has said hello.
    complete: bool,
    drawer: Arc<Drawer>,
}

struct Member {
    out: Option<Link>,
    doing: Doing,
}

enum Doing {
    /// It has not come yet.
    Absent,
    /// The line that it ran when it was asked; 0 before.
    Runs(u32),
    /// For what, in words, and since when.
    Waits(Ticket, String, Instant),
    Ended,
    Failed(Error),
}

impl Hub {
    /// Takes ranks in that come to one of the doors, until all have come and gone.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(super) fn open(doors: Vec<Door>, world: usize, timeout: Duration) -> io::Result<Arc<Hub>> {
        let absent = || Member { out: None, doing: Doing::Absent };
        let (given, results) = (Mutex::default(), Mutex::default());
        let drawer = Arc::new(Drawer { machine: Machine::cpu_only(), given, results });
        let meeting = Meeting {
            ranks: (0..world).map(|_| absent()).collect(),
            slots: BTreeMap::new(),
            broken: None,
            complete: false,
            drawer: Arc::clone(&drawer),
        };
        let meeting = Mutex::new(meeting);
        let hub = Arc::new(Hub { world, timeout, meeting, changed: Condvar::new(), drawer });
        for door in doors {
            let taking = Arc::clone(&hub);
            threads::start("ranks-come".into(), STACK, move || taking.take_in(&door))?;
        }
        let watching = Arc::clone(&hub);
        threads::start("ranks-wait".into(), STACK, move || watching.watch())?;
        Ok(hub)
    }

    pub(super) fn drawer(&self) -> &Drawer {
        &self.drawer
    }

    /// The ranks that have not come.
    pub(super) fn missing(&self) -> Vec<usize> {
        let meeting = self.lock();
        let gone = meeting.ranks.iter().enumerate().filter(|(_, rank)| rank.out.is_none());
        gone.map(|(number, _)| number).collect()
    }

    /// Waits until all ranks have ended, or until `stop` says so.
    pub(super) fn see_off(&self, stop: impl Fn() -> bool) {
        let mut meeting = self.lock();
        while !meeting.is_over() && meeting.complete && !stop() {
            meeting = self.changed.wait_timeout(meeting, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells all ranks that rank 0 has failed, in whose process they meet.
    pub(super) fn give_up(&self, error: &Error, line: Option<u32>) {
        let mut meeting = self.lock();
        meeting.failed(0, error, line);
        if let Some(Member { doing: Doing::Failed(error), .. }) = meeting.ranks.first() {
            let error = error.clone();
            meeting.end(error);
        }
        drop(meeting);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Meeting> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_in(self: &Arc<Self>, door: &Door) {
        loop {
            let Ok(stream) = door.accept() else { continue };
            let hub = Arc::clone(self);
            // Who is no rank is hung up on; where there is no thread to be had, too.
            let _ = threads::start("rank-says".into(), STACK, move || hub.hear(stream));
            if self.lock().complete {
                return;
            }
        }
    }

    /// Ends what waits too long.
    fn watch(&self) {
        let mut asked: Option<Instant> = None;
        loop {
            std::thread::sleep(LOOK);
            let mut meeting = self.lock();
            if meeting.is_over() {
                return;
            }
            let late = |rank: &Member| matches!(&rank.doing, Doing::Waits(_, _, since) if since.elapsed() > self.timeout);
            if meeting.broken.is_some() || !meeting.ranks.iter().any(late) {
                asked = None;
                continue;
            }
            let since = *asked.get_or_insert_with(|| {
                meeting.ask_lines();
                Instant::now()
            });
            let silent = |rank: &Member| matches!(rank.doing, Doing::Runs(0));
            if since.elapsed() > ANSWER || !meeting.ranks.iter().any(silent) {
                let error = words::late(self.timeout, &meeting.told(), "init_process_group");
                meeting.end(error);
            }
        }
    }

    /// Takes what one rank says, to its end.
    fn hear(self: &Arc<Self>, stream: Link) {
        // Its values are this process's affair, and no work of its script.
        let _here = self.drawer.machine.enter();
        let Ok(out) = stream.try_clone() else { return };
        let mut input = BufReader::new(stream);
        let Ok(Some(FromRank::Hello { version, rank, world })) = wire::read(&mut input) else { return };
        let welcome = self.lock().greet((version, rank, world), self.world, out);
        self.changed.notify_all();
        if !welcome {
            return;
        }
        loop {
            let said = wire::read::<FromRank>(&mut input).and_then(|said| {
                let said = said.ok_or(io::ErrorKind::UnexpectedEof)?;
                let FromRank::Post { inputs, .. } = &said else { return Ok((said, Vec::new())) };
                let tensors = wire::tensors(&mut input, inputs)?;
                Ok((said, tensors))
            });
            let mut meeting = self.lock();
            let last = match said {
                Ok((said, tensors)) => {
                    let last = matches!(said, FromRank::Ended | FromRank::Failed { .. });
                    meeting.take(rank, said, tensors);
                    last
                }
                Err(_) => {
                    let gone =
                        Error::runtime(format!("rank {rank} is gone: its process has ended or was killed"));
                    meeting.fail(rank, gone);
                    true
                }
            };
            meeting.look_whether_stuck();
            drop(meeting);
            self.changed.notify_all();
            if last {
                return;
            }
        }
    }
}

/// The values of a contiguous tensor on the CPU in another one of the same form.
pub(super) fn copy_values(from: &Tensor, to: &Tensor) {
    let (from_place, to_place) = (from.storage().place(), to.storage().place());
    if let (Some(block), Some(other)) = (&from_place.buffer().host, &to_place.buffer().host) {
        let start = |x: &Tensor| x.layout().offset() * x.dtype().size();
        block.copy_to(start(from), other, start(to), from.nbytes());
    }
}

impl Meeting {
    /// Whether a rank that says hello is one of these.
    fn greet(&mut self, (version, rank, world): (u32, usize, usize), wanted: usize, mut out: Link) -> bool {
        let refusal = match self.ranks.get(rank) {
            _ if version != wire::VERSION => "this rank is of another version of the program".to_owned(),
            _ if world != wanted => {
                format!("this rank's WORLD_SIZE is {world}, and that of rank 0 is {wanted}")
            }
            None => format!("there is no rank {rank} of {wanted}"),
            Some(member) if member.out.is_some() => format!("there is a rank {rank} already"),
            Some(_) => String::new(),
        };
        if !refusal.is_empty() {
            let told = Told::of(&Error::value(refusal));
            let _ = wire::write(&mut out, &ToRank::Broken { told }, &[]);
            return false;
        }
        if let Some(member) = self.ranks.get_mut(rank) {
            *member = Member { out: Some(out), doing: Doing::Runs(0) };
        }
        if self.ranks.iter().all(|member| member.out.is_some()) {
            self.complete = true;
            (0..self.ranks.len()).for_each(|rank| self.tell(rank, &ToRank::Welcome, &[]));
        }
        true
    }

    fn is_over(&self) -> bool {
        self.ranks.iter().all(|rank| matches!(rank.doing, Doing::Ended | Doing::Failed(_)))
    }

    /// Who does not hear it any more has said so, or is gone.
    fn tell(&mut self, rank: usize, message: &ToRank, tensors: &[Tensor]) {
        if let Some(out) = self.ranks.get_mut(rank).and_then(|rank| rank.out.as_mut()) {
            let _ = wire::write(out, message, tensors);
        }
    }

    fn take(&mut self, rank: usize, said: FromRank, inputs: Vec<Tensor>) {
        match said {
            FromRank::Post { ticket, kind, line, ready, device, through_host, outputs, .. } => {
                let given = if rank == 0 { locked(&self.drawer.given).remove(&ticket) } else { None };
                let inputs = given.unwrap_or(inputs);
                let outputs = wire::tensors(&mut std::io::empty(), &outputs);
                let outputs = outputs.map_err(|error| Error::runtime(error.to_string()));
                let posted = outputs
                    .map(|outputs| RankPart { kind, inputs, outputs, through_host })
                    .map(|part| Posted::of_other(part, line, ready, device))
                    .and_then(|posted| self.post(rank, ticket, posted));
                if let Err(error) = posted {
                    self.end(error);
                }
            }
            FromRank::Waits { ticket } => {
                // What is done has been told already, and its parts are gone.
                let own = self.slots.get(&ticket).and_then(|parts| parts.iter().find(|(r, _)| *r == rank));
                if let Some((_, posted)) = own {
                    let what = format!("{} (line {})", posted.wants(), posted.line);
                    self.does(rank, Doing::Waits(ticket, what, Instant::now()));
                }
            }
            FromRank::Ended => self.does(rank, Doing::Ended),
            FromRank::At { line } => {
                if let Some(Member { doing: Doing::Runs(own), .. }) = self.ranks.get_mut(rank) {
                    *own = line;
                }
            }
            FromRank::Failed { told, line } => self.failed(rank, &told.error(), line),
            FromRank::Hello { .. } => {}
        }
    }

    fn does(&mut self, rank: usize, doing: Doing) {
        if let Some(member) = self.ranks.get_mut(rank) {
            member.doing = doing;
        }
    }

    fn failed(&mut self, rank: usize, error: &Error, line: Option<u32>) {
        let error = match error.is_interrupt() {
            true => Error::runtime(format!("rank {rank} was interrupted")),
            false => words::told(rank, error, line),
        };
        self.fail(rank, error);
    }

    /// Asks each rank that runs which line it is in.
    fn ask_lines(&mut self) {
        for rank in 0..self.ranks.len() {
            if let Some(Member { doing: Doing::Runs(line), .. }) = self.ranks.get_mut(rank) {
                *line = 0;
                self.tell(rank, &ToRank::Where, &[]);
            }
        }
    }

    fn fail(&mut self, rank: usize, error: Error) {
        // Who failed because nothing could be exchanged any more is not to blame.
        let told = self.broken.clone().unwrap_or(error);
        self.does(rank, Doing::Failed(told));
    }

    fn post(&mut self, rank: usize, ticket: Ticket, posted: Posted) -> Result<()> {
        let needed = if ticket.between.is_some() { 2 } else { self.ranks.len() };
        let parts = self.slots.entry(ticket).or_default();
        if let Some((other, theirs)) = parts.iter().find(|(_, theirs)| !theirs.goes_with(&posted)) {
            return Err(words::disagreement((*other, theirs), (rank, &posted)));
        }
        parts.push((rank, posted));
        sorted::sort_by_key(parts, |(rank, _)| *rank);
        if parts.len() < needed {
            return Ok(());
        }
        let parts = self.slots.remove(&ticket).unwrap_or_default();
        self.finish(ticket, &parts)
    }

    fn finish(&mut self, ticket: Ticket, parts: &[(usize, Posted)]) -> Result<()> {
        let (results, passage) = put_together(parts, false)?;
        let source =
            |src: usize| parts.iter().find(|(rank, _)| *rank == src).map(|(_, posted)| posted.device);
        for ((rank, tensors), (_, posted)) in results.into_iter().zip(parts) {
            let kind = posted.part.kind;
            let on_gpu = match kind {
                CollectiveKind::Scatter { src } => source(src).is_some_and(|device| device.is_cuda()),
                _ => posted.device.is_cuda(),
            };
            let given = if is_given(kind, rank) { tensors } else { Vec::new() };
            let results = given.iter().map(|x| TensorForm::of(x, rank != 0)).collect();
            let done = ToRank::Done { ticket, passage: passage.clone(), on_gpu, results };
            if rank == 0 {
                locked(&self.drawer.results).insert(ticket, given);
                self.tell(rank, &done, &[]);
            } else {
                self.tell(rank, &done, &given);
            }
            if matches!(self.ranks.get(rank), Some(Member { doing: Doing::Waits(waits, ..), .. }) if *waits == ticket)
            {
                self.does(rank, Doing::Runs(0));
            }
        }
        Ok(())
    }

    /// Nothing can be exchanged any more.
    fn end(&mut self, error: Error) {
        if self.broken.is_some() {
            return;
        }
        let told = Told::of(&error);
        self.broken = Some(error);
        (0..self.ranks.len()).for_each(|rank| self.tell(rank, &ToRank::Broken { told: told.clone() }, &[]));
    }

    /// Ends it where somebody waits for a rank that has failed, or where nobody can go on.
    fn look_whether_stuck(&mut self) {
        if self.broken.is_some() || !self.complete {
            return;
        }
        let waiting = || {
            self.ranks.iter().filter_map(|rank| match &rank.doing {
                Doing::Waits(ticket, ..) => Some(ticket),
                _ => None,
            })
        };
        let needs = |ticket: &Ticket, rank: usize| {
            let takes_part = ticket.between.is_none_or(|(from, to)| rank == from || rank == to);
            let has = self.slots.get(ticket).is_some_and(|parts| parts.iter().any(|(r, _)| *r == rank));
            takes_part && !has
        };
        let failed = self.ranks.iter().enumerate().find_map(|(rank, member)| match &member.doing {
            Doing::Failed(error) if waiting().any(|ticket| needs(ticket, rank)) => Some(error.clone()),
            _ => None,
        });
        let runs = |member: &Member| matches!(member.doing, Doing::Runs(_) | Doing::Absent);
        if let Some(error) = failed {
            self.end(error);
        } else if waiting().next().is_some() && !self.ranks.iter().any(runs) {
            self.end(words::stuck(&self.told()));
        }
    }

    fn told(&self) -> String {
        let one = |(rank, member): (usize, &Member)| match &member.doing {
            Doing::Absent => format!("rank {rank} has not come"),
            Doing::Runs(0) => format!("rank {rank} runs"),
            Doing::Runs(line) => format!("rank {rank} runs line {line}"),
            Doing::Waits(_, what, _) => format!("rank {rank} waits in {what}"),
            Doing::Ended => format!("rank {rank} has ended"),
            Doing::Failed(_) => format!("rank {rank} has failed"),
        };
        self.ranks.iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// Whether a rank's tensors become others by an exchange.
fn is_given(kind: CollectiveKind, rank: usize) -> bool {
    match kind {
        CollectiveKind::Broadcast { src } => rank != src,
        CollectiveKind::Reduce { dst, .. } | CollectiveKind::Gather { dst } => rank == dst,
        CollectiveKind::Send { .. } | CollectiveKind::Barrier => false,
        _ => true,
    }
}
