//! Ranks as threads of this process, of which one runs at a time: a rank hands its turn on where it has to wait for
//! others, or ends, always to the lowest one that can go on. So a run repeats, what threads share needs no other order,
//! and that nobody can go on is known at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::{Error, Result, sorted};
use crate::device::Machine;
use crate::device::cpu::threads;
use crate::device::host_time::HostThread;
use crate::device::random::DEFAULT_SEED;
use crate::device::settings::Settings;
use crate::device::shared::{RunningLine, Shared};
use crate::op::Value;
use crate::tensor::Tensor;

use super::collect::{Exchanged, GivenUp, Posted, complete};
use super::group::{CollectiveKind, Group, RankPart, Ticket, become_member, in_ranks, leave};
use super::words;

/// Bytes of a rank's stack: a script's functions call each other as deeply there as on the session's thread.
const STACK: usize = 64 << 20;

/// How often is looked whether a rank waits too long.
const LOOK: Duration = Duration::from_millis(50);

/// The most ranks of a process.
pub(crate) const MOST: usize = 64;

/// Why a rank's function failed, and in which line of the script where that is known.
pub(crate) type Failed = (Error, Option<u32>);

/// What a rank runs.
pub(crate) type RankFunction = Box<dyn FnOnce() -> std::result::Result<Value, Failed> + Send>;

/// Runs functions as ranks, by their numbers, and gives what they give. Each has generators of its own, seeded as a
/// process's are, a current GPU, the first one to begin with, and switches.
///
/// # Errors
/// That of the first rank that failed, with its number and line; a rank that waited longer than `timeout` for others,
/// with what each one did; ranks within ranks; no rank at all.
pub(crate) fn spawn(
    machine: &Machine,
    functions: Vec<RankFunction>,
    timeout: Duration,
) -> Result<Vec<Value>> {
    let world = functions.len();
    if in_ranks() {
        return Err(Error::runtime("a rank can't start ranks of its own"));
    }
    let ranks = Arc::new(Ranks::new(&machine.shared, world));
    let host = machine.shared.host_time();
    let crowd = i32::try_from(world.saturating_sub(1)).unwrap_or(i32::MAX);
    host.into_iter().for_each(|time| time.crowd(crowd));
    let kept = Kept::of(&machine.shared);
    let mut handles = Vec::new();
    for (rank, run) in functions.into_iter().enumerate() {
        let own = machine.seeded(DEFAULT_SEED);
        if !own.gpus().is_empty() {
            own.set_current_gpu(0)?;
        }
        let thread = host.map(|time| time.begin_thread());
        let seat = Arc::new(Seat { ranks: Arc::clone(&ranks), rank, thread });
        let begun = kept.again();
        let work = {
            let seat = Arc::clone(&seat);
            move || seat.run(&own, &begun, run)
        };
        match threads::start(format!("rank-{rank}"), STACK, work) {
            Ok(handle) => handles.push((handle, thread)),
            Err(e) => {
                host.into_iter().zip(thread).for_each(|(time, thread)| time.end_thread(thread));
                ranks.lock().fail(rank, &Error::runtime(format!("it cannot start: {e}")), None);
            }
        }
    }
    let late = ranks.run_all(timeout);
    machine.bus().go_on_as(None);
    kept.restore(&machine.shared);
    host.into_iter().for_each(|time| time.run_thread(HostThread::MAIN));
    for (handle, thread) in handles {
        // A rank that panicked has said so on standard error.
        let _ = handle.join();
        host.into_iter().zip(thread).for_each(|(time, thread)| time.end_thread(thread));
    }
    host.into_iter().for_each(|time| time.crowd(-crowd));
    if let Some(late) = late {
        // That ended the ranks, and not the script.
        machine.shared.cancel.clear();
        return Err(late);
    }
    machine.shared.cancel.check()?;
    let mut turns = ranks.lock();
    match turns.first.take() {
        Some(error) => Err(error),
        None => Ok(turns.results.iter_mut().map(|value| value.take().unwrap_or(Value::None)).collect()),
    }
}

struct Ranks {
    shared: Arc<Shared>,
    turns: Mutex<Turns>,
    turn: Condvar,
}

struct Turns {
    /// Whose turn it is: a rank's, or the script's, which has the number behind them.
    running: usize,
    /// Since when.
    turn: Instant,
    states: Vec<State>,
    slots: BTreeMap<Ticket, Slot>,
    /// How many exchanges a rank has taken part in, among all and with each other one.
    numbers: BTreeMap<(usize, Option<(usize, usize)>), u64>,
    /// Why nothing can be exchanged any more.
    broken: Option<Error>,
    /// What the first rank failed with.
    first: Option<Error>,
    results: Vec<Option<Value>>,
}

enum State {
    Ready,
    /// For what, in words, and since when.
    Waits(Ticket, String, Since),
    Ended,
    Failed(Error),
}

/// A moment on this computer's clock, and on the modelled one.
#[derive(Clone, Copy)]
struct Since(Instant, u64);

impl Since {
    fn now(shared: &Shared) -> Since {
        Since(Instant::now(), shared.host_time().map_or(0, |host| host.now()))
    }

    /// The moment for who looks on while a rank runs, whose steps are its own to count.
    fn seen(shared: &Shared) -> Since {
        Since(Instant::now(), shared.host_time().map_or(0, |host| host.seen()))
    }

    /// How long ago that was, on the clock that has gone further.
    fn until(self, now: Since) -> Duration {
        now.0.saturating_duration_since(self.0).max(Duration::from_nanos(now.1.saturating_sub(self.1)))
    }
}

/// An exchange.
struct Slot {
    parts: Vec<(usize, Posted)>,
    done: Option<Arc<Exchanged>>,
    /// Ranks that have what came of it.
    taken: usize,
}

/// What threads share and each rank has its own of.
struct Kept {
    line: RunningLine,
    settings: Settings,
}

impl Kept {
    fn of(shared: &Shared) -> Kept {
        Kept { line: shared.running(), settings: shared.settings.kept() }
    }

    fn again(&self) -> Kept {
        Kept { line: self.line, settings: self.settings.kept() }
    }

    fn restore(&self, shared: &Shared) {
        shared.go_on_at(self.line);
        shared.settings.set_all(&self.settings);
    }
}

impl Ranks {
    fn new(shared: &Arc<Shared>, world: usize) -> Ranks {
        let turns = Turns {
            running: world,
            turn: Instant::now(),
            states: (0..world).map(|_| State::Ready).collect(),
            slots: BTreeMap::new(),
            numbers: BTreeMap::new(),
            broken: None,
            first: None,
            results: (0..world).map(|_| None).collect(),
        };
        Ranks { shared: Arc::clone(shared), turns: Mutex::new(turns), turn: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script's thread: lets the ranks run, and waits for them. Gives why, where it ended them for the sake of one
    /// that waited too long.
    fn run_all(&self, timeout: Duration) -> Option<Error> {
        let mut turns = self.lock();
        let script = turns.states.len();
        self.hand_on(&mut turns);
        let mut late = None;
        while turns.running != script {
            turns = self.turn.wait_timeout(turns, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            let is_over = turns.running == script || turns.broken.is_some() || self.shared.cancel.is_set();
            if !is_over && turns.waits_longer(timeout, Since::seen(&self.shared)) {
                let states = turns.told_states(&self.shared);
                let error = words::late(timeout, &states, "spawn");
                turns.broken = Some(error.clone());
                late = Some(error);
                self.shared.cancel.interrupt();
            }
        }
        late
    }

    fn hand_on(&self, turns: &mut Turns) {
        turns.running = turns.next();
        turns.turn = Instant::now();
        self.turn.notify_all();
    }

    fn wait_for<'t>(&self, mut turns: MutexGuard<'t, Turns>, who: usize) -> MutexGuard<'t, Turns> {
        while turns.running != who {
            turns = self.turn.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns
    }
}

impl Turns {
    fn world(&self) -> usize {
        self.states.len()
    }

    fn is_done(&self, ticket: &Ticket) -> bool {
        self.slots.get(ticket).is_some_and(|slot| slot.done.is_some())
    }

    /// Who goes on.
    fn next(&mut self) -> usize {
        loop {
            let can = |state: &State| match state {
                State::Ready => true,
                State::Waits(ticket, ..) => self.broken.is_some() || self.is_done(ticket),
                State::Ended | State::Failed(_) => false,
            };
            if let Some(rank) = self.states.iter().position(can) {
                return rank;
            }
            if !self.states.iter().any(|state| matches!(state, State::Waits(..))) {
                return self.world();
            }
            self.broken = Some(self.stuck());
        }
    }

    /// Why those that wait will never go on.
    fn stuck(&self) -> Error {
        let failed = self.states.iter().find_map(|s| if let State::Failed(e) = s { Some(e) } else { None });
        if let Some(error) = failed {
            return error.clone();
        }
        words::stuck(&self.told_ranks(""))
    }

    /// What each rank does, `ready` of those that could go on.
    fn told_ranks(&self, ready: &str) -> String {
        let one = |(rank, state): (usize, &State)| match state {
            State::Waits(_, what, _) => format!("rank {rank} waits in {what}"),
            State::Ready if rank == self.running => format!("rank {rank} {ready}"),
            State::Ready => format!("rank {rank} waits for its turn"),
            State::Ended => format!("rank {rank} has ended"),
            State::Failed(_) => format!("rank {rank} has failed"),
        };
        self.states.iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
    }

    /// The same while they run.
    fn told_states(&self, shared: &Shared) -> String {
        match shared.source().line {
            0 => self.told_ranks("runs"),
            line => self.told_ranks(&format!("runs line {line}")),
        }
    }

    /// Whether one waits longer than that for the others, or for a turn as long as all together may take.
    fn waits_longer(&self, timeout: Duration, now: Since) -> bool {
        let waits = |(rank, state): (usize, &State)| rank != self.running && matches!(state, State::Ready);
        let all = timeout.saturating_mul(u32::try_from(self.world()).unwrap_or(u32::MAX));
        if self.turn.elapsed() > all && self.states.iter().enumerate().any(waits) {
            return true;
        }
        // What is done waits for a turn alone.
        let late = |state: &State| match state {
            State::Waits(ticket, _, since) => !self.is_done(ticket) && since.until(now) > timeout,
            _ => false,
        };
        self.states.iter().any(late)
    }

    fn fail(&mut self, rank: usize, error: &Error, line: Option<u32>) {
        // Who failed because nothing could be exchanged any more is not to blame.
        let broken = self.broken.as_ref().filter(|broken| broken.message() == error.message());
        let told = broken.cloned().unwrap_or_else(|| words::told(rank, error, line));
        self.first.get_or_insert_with(|| told.clone());
        if let Some(state) = self.states.get_mut(rank) {
            *state = State::Failed(told);
        }
    }

    fn post(&mut self, rank: usize, posted: Posted, shared: &Shared) -> Result<Ticket> {
        if self.running != rank {
            return Err(over());
        }
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let between = match posted.part.kind {
            CollectiveKind::Send { dst } => Some((rank, dst)),
            CollectiveKind::Recv { src } => Some((src, rank)),
            _ => None,
        };
        let number = self.numbers.entry((rank, between)).or_default();
        let ticket = Ticket { between, number: *number };
        *number += 1;
        let needed = if between.is_some() { 2 } else { self.states.len() };
        let slot = self.slots.entry(ticket).or_insert(Slot { parts: Vec::new(), done: None, taken: 0 });
        if let Some((other, theirs)) = slot.parts.iter().find(|(_, theirs)| !theirs.goes_with(&posted)) {
            let error = words::disagreement((*other, theirs), (rank, &posted));
            self.broken = Some(error.clone());
            return Err(error);
        }
        slot.parts.push((rank, posted));
        sorted::sort_by_key(&mut slot.parts, |(rank, _)| *rank);
        if slot.parts.len() == needed {
            match complete(&slot.parts, shared) {
                Ok(done) => {
                    slot.done = Some(Arc::new(done));
                    slot.parts.clear();
                }
                Err(error) => {
                    self.broken = Some(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(ticket)
    }

    fn take(&mut self, ticket: Ticket) -> Result<Arc<Exchanged>> {
        let needed = if ticket.between.is_some() { 2 } else { self.states.len() };
        let slot = self.slots.get_mut(&ticket);
        if let Some((slot, done)) = slot.and_then(|slot| slot.done.clone().map(|done| (slot, done))) {
            slot.taken += 1;
            if slot.taken >= needed {
                self.slots.remove(&ticket);
            }
            return Ok(done);
        }
        Err(self.broken.clone().unwrap_or_else(|| Error::runtime("this exchange has ended")))
    }
}

/// The error of what a rank left behind and the script goes on with.
fn over() -> Error {
    Error::runtime("the ranks of this group have ended")
        .with_hint("what ranks exchange, they exchange while they run")
}

/// One rank's place among the ranks.
struct Seat {
    ranks: Arc<Ranks>,
    rank: usize,
    thread: Option<HostThread>,
}

/// Ends a rank's turn for good, on a panic too.
struct LastTurn<'s>(&'s Seat);

impl Drop for LastTurn<'_> {
    fn drop(&mut self) {
        leave();
        let mut turns = self.0.ranks.lock();
        if matches!(turns.states.get(self.0.rank), Some(State::Ready)) {
            turns.fail(self.0.rank, &Error::runtime("it ended unexpectedly"), None);
        }
        self.0.ranks.hand_on(&mut turns);
    }
}

impl Seat {
    fn run(self: &Arc<Self>, machine: &Arc<Machine>, begun: &Kept, run: RankFunction) {
        let _here = machine.enter();
        let turns = self.ranks.wait_for(self.ranks.lock(), self.rank);
        drop(turns);
        let _last = LastTurn(self);
        self.go_on(begun);
        become_member(Arc::clone(self) as Arc<dyn Group>);
        let result = run();
        let mut turns = self.ranks.lock();
        match result {
            Ok(value) => {
                turns.results.get_mut(self.rank).into_iter().for_each(|slot| *slot = Some(value.clone()));
                turns.states.get_mut(self.rank).into_iter().for_each(|state| *state = State::Ended);
            }
            Err((error, line)) => {
                if error.is_interrupt() && turns.first.is_none() && turns.broken.is_none() {
                    let states = turns.told_ranks("was at work");
                    self.ranks.shared.warn(&format!("the ranks were stopped: {states}"));
                }
                turns.fail(self.rank, &error, line);
            }
        }
    }

    /// The turn is this rank's again.
    fn go_on(&self, kept: &Kept) {
        let shared = &self.ranks.shared;
        shared.host_time().into_iter().zip(self.thread).for_each(|(time, thread)| time.run_thread(thread));
        kept.restore(shared);
        shared.bus.go_on_as(u32::try_from(self.rank).ok());
    }
}

impl Group for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world(&self) -> usize {
        self.ranks.lock().world()
    }

    fn is_of_threads(&self) -> bool {
        true
    }

    fn post(&self, part: RankPart) -> Result<Ticket> {
        let posted = Posted::new(self.rank, part)?;
        let given_up = posted.given_up();
        self.ranks.lock().post(self.rank, posted, &self.ranks.shared).inspect_err(|_| given_up.settle())
    }

    fn wait(&self, ticket: Ticket) -> Result<Vec<Tensor>> {
        let shared = &self.ranks.shared;
        let mut turns = self.ranks.lock();
        let own = turns.slots.get(&ticket).and_then(|s| s.parts.iter().find(|(r, _)| *r == self.rank));
        let given_up = own.map(|(_, posted)| posted.given_up());
        if !turns.is_done(&ticket) && turns.running != self.rank {
            return Err(over());
        }
        if !turns.is_done(&ticket) && turns.broken.is_none() {
            let own = turns.slots.get(&ticket).and_then(|s| s.parts.iter().find(|(r, _)| *r == self.rank));
            let what = own.map(|(_, posted)| format!("{} (line {})", posted.wants(), posted.line));
            let kept = Kept::of(shared);
            if let Some(state) = turns.states.get_mut(self.rank) {
                *state =
                    State::Waits(ticket, what.unwrap_or_else(|| "an exchange".into()), Since::now(shared));
            }
            self.ranks.hand_on(&mut turns);
            turns = self.ranks.wait_for(turns, self.rank);
            turns.states.get_mut(self.rank).into_iter().for_each(|state| *state = State::Ready);
            self.go_on(&kept);
        }
        let done = turns.take(ticket);
        drop(turns);
        let done = done.and_then(|done| shared.cancel.check().map(|()| done));
        match done {
            Ok(done) => done.of(self.rank, shared),
            Err(error) => {
                given_up.iter().for_each(GivenUp::settle);
                Err(error)
            }
        }
    }

    fn is_done(&self, ticket: Ticket) -> bool {
        self.ranks.lock().is_done(&ticket)
    }
}
