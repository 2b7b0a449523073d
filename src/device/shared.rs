//! What all devices of a machine share.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::event::{Bus, Clock, HIDDEN_CELLS, Source, Span};
use crate::base::{Device, Error, Result};
use crate::device::cancel::Cancel;
use crate::device::chance::Chance;
use crate::device::cpu::clock::HostClock;
use crate::device::cpu::memory::HostPool;
use crate::device::host_addresses::HostAddresses;
use crate::device::host_time::{HostTime, Steps, begin_ledger, note_sleep, note_step};
use crate::device::races::Races;
use crate::device::settings::{Determinism, Settings};
use crate::device::warnings::{Warner, Warnings};

/// What all devices of a machine share.
pub struct Shared {
    pub bus: Arc<Bus>,
    pub cancel: Cancel,
    /// Page-locked host memory, kept for reuse as PyTorch's caching host allocator keeps it.
    pub pinned: HostPool,
    pub settings: Settings,
    /// What hardware leaves to chance.
    pub(crate) chance: Chance,
    /// Who used memory of simulated devices, in which order.
    pub(crate) races: Races,
    /// Numbers of host memory, where its addresses are made up.
    pub(crate) host_addresses: HostAddresses,
    source: AtomicU64,
    caller: AtomicU32,
    /// Lines of the file before the code that runs.
    before: AtomicU32,
    clock: HostClock,
    host_time: OnceLock<Arc<dyn HostTime>>,
    steps: Arc<Steps>,
    /// `CUDA_VISIBLE_DEVICES` hides all GPUs.
    hidden: AtomicBool,
    /// Simulated devices compute nothing.
    hollow: AtomicBool,
    /// Some of the machine's times are measured, others modelled.
    both_clocks: AtomicBool,
    /// Which clocks times were read from, a bit each, since that was forgotten last.
    read: AtomicU8,
    /// A modelled time was handed out as a number, which does not say so itself.
    bare_time: AtomicBool,
    warnings: Warnings,
    /// A bit for each thing that is told of once in a session.
    told: AtomicU16,
}

impl Shared {
    /// Of a new session, with nothing recorded.
    pub fn new() -> Shared {
        Shared {
            bus: Arc::default(),
            cancel: Cancel::default(),
            pinned: HostPool::of_prepared(),
            settings: Settings::default(),
            chance: Chance::default(),
            races: Races::default(),
            host_addresses: HostAddresses::default(),
            source: AtomicU64::new(0),
            caller: AtomicU32::new(0),
            before: AtomicU32::new(0),
            clock: HostClock::default(),
            host_time: OnceLock::new(),
            steps: Arc::default(),
            hidden: AtomicBool::new(false),
            hollow: AtomicBool::new(false),
            both_clocks: AtomicBool::new(false),
            read: AtomicU8::new(0),
            bare_time: AtomicBool::new(false),
            warnings: Warnings::default(),
            told: AtomicU16::new(0),
        }
    }

    /// From now on simulated devices compute no values, and take no memory for them.
    pub fn leave_out_values(&self) {
        self.hollow.store(true, Ordering::Relaxed);
    }

    /// Whether simulated devices compute values.
    pub fn has_values(&self) -> bool {
        !self.hollow.load(Ordering::Relaxed)
    }

    /// Says where warnings go.
    pub(crate) fn set_warner(&self, warner: Option<Arc<Warner>>) {
        self.warnings.set_warner(warner);
    }

    /// Warns of what is allowed but seldom meant. A line says the same thing once.
    pub fn warn(&self, text: &str) {
        self.warnings.say(self.source(), text);
    }

    /// Warns of what PyTorch warns of in a line of its own, and so once, whichever line of the learner's led there.
    pub fn warn_once(&self, text: &str) {
        self.warnings.say_of_library(self.source(), text);
    }

    /// Notes the code that runs as that of a cell.
    pub(crate) fn note_text(&self, cell: u32, code: &str) {
        let mut hash = DefaultHasher::new();
        code.hash(&mut hash);
        self.warnings.begin(cell, hash.finish());
    }

    /// Forgets what was warned of.
    pub(super) fn forget_warnings(&self) {
        self.warnings.forget();
    }

    /// Whether something that is told of once, by its number, has not been asked for before.
    pub(crate) fn is_first(&self, number: u8) -> bool {
        let bit = 1u16.checked_shl(number.into()).unwrap_or(0);
        self.told.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Whether the line that runs divides integers, or asks what that leaves, for the first time, and is to be told.
    pub(crate) fn is_first_division(&self, divides: bool) -> bool {
        self.warnings.is_first_division(self.source(), divides)
    }

    /// Whether a value was reported that was never computed.
    pub(crate) fn has_told_of_no_values(&self) -> bool {
        self.told.load(Ordering::Relaxed) & (1 << NO_VALUES) != 0
    }

    /// PyTorch's error or warning for `name`, a function without a deterministic implementation on CUDA, where
    /// determinism is required. The CPU's implementations are deterministic.
    pub(crate) fn check_deterministic(&self, device: Device, name: &str) -> Result<()> {
        if !device.is_cuda() {
            return Ok(());
        }
        let hint =
            "on a GPU its parts are added in any order; use_deterministic_algorithms(false) allows that";
        self.check_deterministic_anywhere(name, hint)
    }

    /// The same of what PyTorch has no deterministic implementation of on any device.
    pub(crate) fn check_deterministic_anywhere(&self, name: &str, hint: &str) -> Result<()> {
        let wanted = self.settings.determinism();
        if wanted == Determinism::Any {
            return Ok(());
        }
        let (how, rest) = match wanted {
            Determinism::Warn => (", warn_only=True", "You can file an issue"),
            _ => (
                "",
                "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if \
                 that's acceptable for your application. You can also file an issue",
            ),
        };
        let text = format!(
            "{name} does not have a deterministic implementation, but you set \
             'torch.use_deterministic_algorithms(True{how})'. {rest} at https://github.com/pytorch/pytorch/issues to \
             help us prioritize adding deterministic support for this operation."
        );
        if wanted == Determinism::Warn {
            self.warn(&text);
            return Ok(());
        }
        Err(Error::runtime(text).with_hint(hint))
    }

    /// Notes whether there are GPUs which the program is not to see.
    pub(super) fn note_hidden(&self, hidden: bool) {
        self.hidden.store(hidden, Ordering::Relaxed);
    }

    /// Whether there are GPUs which the program is not to see.
    pub(super) fn hides_gpus(&self) -> bool {
        self.hidden.load(Ordering::Relaxed)
    }

    /// The script line that is running: the thread's own, where it [works aside](work_aside).
    pub fn source(&self) -> Source {
        if ASIDE.get() > 0 {
            return OWN.get().source;
        }
        let packed = self.source.load(Ordering::Relaxed);
        let caller = self.caller.load(Ordering::Relaxed);
        Source { cell: (packed >> 32) as u32, line: packed as u32, caller }
    }

    fn set_source(&self, source: Source) {
        if ASIDE.get() > 0 {
            return OWN.set(RunningLine { source, ..OWN.get() });
        }
        let packed = (u64::from(source.cell) << 32) | u64::from(source.line);
        self.source.store(packed, Ordering::Relaxed);
        self.caller.store(source.caller, Ordering::Relaxed);
    }

    /// Notes the line that runs, counted from the code's first.
    #[inline]
    pub fn set_line(&self, line: u32) {
        if ASIDE.get() > 0 {
            return set_own_line(line);
        }
        let (packed, before) = (self.source.load(Ordering::Relaxed), self.before.load(Ordering::Relaxed));
        if before == ELSEWHERE {
            return;
        }
        let line = line.wrapping_add(before);
        self.source.store((packed & !0xffff_ffff) | u64::from(line), Ordering::Relaxed);
    }

    /// The host's clock, where it is a modelled one.
    #[inline]
    pub fn host_time(&self) -> Option<&dyn HostTime> {
        self.host_time.get().map(|time| &**time)
    }

    /// Has the host's work take modelled time, from the machine's beginning on.
    pub(crate) fn set_host_time(&self, time: Arc<dyn HostTime>) {
        let _ = self.host_time.set(time);
    }

    /// Steps of the script that are not on the host's clock yet.
    pub(crate) fn steps(&self) -> &Arc<Steps> {
        &self.steps
    }

    /// A script has come a step further.
    #[inline]
    pub(crate) fn step(&self) {
        if self.host_time.get().is_some() {
            if ASIDE.get() == 0 { self.steps.count() } else { note_step() }
        }
    }

    /// From now on what this thread does is put on a modelled host's clock by who takes its work.
    pub(crate) fn begin_work(&self) {
        if self.host_time.get().is_some() {
            begin_ledger();
        }
    }

    /// This thread did nothing for so long.
    pub(crate) fn slept(&self, nanos: u64) {
        if let Some(time) = self.host_time().filter(|_| !note_sleep(nanos)) {
            time.sleep(nanos);
        }
    }

    /// Whether some of the machine's times are measured and others modelled.
    pub(crate) fn has_both_clocks(&self) -> bool {
        self.both_clocks.load(Ordering::Relaxed)
    }

    /// Says so; to be called before a script runs.
    pub(super) fn set_both_clocks(&self, both: bool) {
        self.both_clocks.store(both, Ordering::Relaxed);
    }

    /// A script has read a time.
    pub(crate) fn note_read(&self, clock: Clock) {
        self.read.fetch_or(1 << (clock as u8), Ordering::Relaxed);
    }

    /// A script gets a time of this clock as a number alone.
    pub(crate) fn note_bare_time(&self, clock: Clock) {
        if clock == Clock::Modelled {
            self.bare_time.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a script has got a modelled time as a number alone.
    pub(crate) fn has_bare_modelled_time(&self) -> bool {
        self.bare_time.load(Ordering::Relaxed)
    }

    /// Whether a script has read times of this clock since [`forget_read`](Shared::forget_read).
    pub(crate) fn has_read(&self, clock: Clock) -> bool {
        self.read.load(Ordering::Relaxed) & (1 << (clock as u8)) != 0
    }

    pub(crate) fn forget_read(&self) {
        self.read.store(0, Ordering::Relaxed);
    }

    /// Nanoseconds on the clock that the host goes by, and which that is.
    pub fn time(&self) -> (u64, Clock) {
        match self.host_time() {
            Some(time) => (time.now(), Clock::Modelled),
            None => (self.nanos(), Clock::Measured),
        }
    }

    /// Some code begins at its first line.
    pub(crate) fn begin(&self, code: CodePlace) {
        self.go_on_at(RunningLine { source: Source::at(code.cell, code.before + 1), before: code.before });
    }

    /// A function of some code is called from the line that runs, and has lines of its own until what is given is
    /// dropped. What a lesson runs stays the lesson's; what its functions do for a learner's cell is done by the line that
    /// calls them.
    pub(crate) fn call(&self, code: CodePlace) -> Called<'_> {
        let (back, calling) = (self.running(), CALLING.replace(0));
        let Source { cell, line, .. } = back.source;
        let caller = if calling > 0 { calling } else { line };
        if cell < HIDDEN_CELLS && code.cell >= HIDDEN_CELLS {
            let source = Source { line: caller, ..back.source };
            self.go_on_at(RunningLine { source, before: ELSEWHERE });
            return Called { shared: self, back, calling };
        }
        let cell = if cell >= HIDDEN_CELLS { cell } else { code.cell };
        self.go_on_at(RunningLine { source: Source { cell, line: caller, caller }, before: code.before });
        Called { shared: self, back, calling }
    }

    /// The line that runs is that of a call whose arguments, which may have lines of their own, come next. Gives the one
    /// before, for [`called`](Shared::called) behind the call.
    pub(crate) fn calling(&self) -> u32 {
        CALLING.replace(self.running().source.line)
    }

    /// A call is over: the line of the one around it.
    pub(crate) fn called(&self, before: u32) {
        CALLING.set(before);
    }

    /// What a lesson asks about a cell runs, in lines of its own, until what is given is dropped.
    pub(crate) fn beside(&self, cell: u32) -> Called<'_> {
        let (back, calling) = (self.running(), CALLING.replace(0));
        self.go_on_at(RunningLine { source: Source::at(cell, 0), before: 0 });
        Called { shared: self, back, calling }
    }

    /// Where the calling thread's code is.
    pub(crate) fn running(&self) -> RunningLine {
        if ASIDE.get() > 0 {
            return OWN.get();
        }
        RunningLine { source: self.source(), before: self.before.load(Ordering::Relaxed) }
    }

    /// A line of the code that runs, counted from its first, in its file.
    pub(crate) fn in_file(&self, line: u32) -> u32 {
        match self.before.load(Ordering::Relaxed) {
            ELSEWHERE => self.source().line,
            before => line.saturating_add(before),
        }
    }

    /// The calling thread's code goes on there.
    pub(crate) fn go_on_at(&self, line: RunningLine) {
        if ASIDE.get() > 0 {
            return OWN.set(line);
        }
        self.before.store(line.before, Ordering::Relaxed);
        self.set_source(line.source);
    }

    /// Items that come at the line that runs now, whatever runs in between.
    pub(crate) fn at_one_line<I: Iterator>(
        self: &Arc<Self>,
        items: I,
    ) -> impl Iterator<Item = I::Item> + use<I> {
        let (shared, source, mut items) = (Arc::clone(self), self.source(), items);
        std::iter::from_fn(move || {
            shared.set_source(source);
            items.next()
        })
    }

    /// Runs what may call the script's functions, and goes back to the line that runs now.
    pub(crate) fn staying<T>(&self, run: impl FnOnce() -> T) -> T {
        let source = self.source();
        let result = run();
        self.set_source(source);
        result
    }

    /// Nanoseconds since the machine was made, measured.
    #[inline]
    pub fn nanos(&self) -> u64 {
        self.clock.nanos()
    }

    /// The measured span from `start` until now.
    pub(crate) fn span_since(&self, start: u64) -> Span {
        Span { start, nanos: self.nanos().saturating_sub(start), clock: Clock::Measured }
    }
}

/// The cell that code was written in, and how many lines of its file stand before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CodePlace {
    pub cell: u32,
    pub before: u32,
}

/// In place of the lines before some code: its own lines are nothing to the learner, whose line stays the one that runs.
const ELSEWHERE: u32 = u32::MAX;

/// The line that runs, and how many lines of its file stand before the code that it is in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunningLine {
    source: Source,
    before: u32,
}

/// The caller's line runs again once it is dropped.
#[must_use = "the function's lines end once it is dropped"]
pub(crate) struct Called<'s> {
    shared: &'s Shared,
    back: RunningLine,
    calling: u32,
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.shared.go_on_at(self.back);
        CALLING.set(self.calling);
    }
}

/// Among what is told of once, that a run has no values; lower numbers are the script's.
pub(crate) const NO_VALUES: u8 = 15;

thread_local! {
    /// 0 on the script's own thread.
    pub(crate) static ASIDE: Cell<u32> = const { Cell::new(0) };
    /// The line of the call whose arguments are computed.
    static CALLING: Cell<u32> = const { Cell::new(0) };
    /// Where the code of a thread is that works aside.
    static OWN: Cell<RunningLine> =
        const { Cell::new(RunningLine { source: Source::at(0, 0), before: 0 }) };
}

/// From now on this thread has lines of its own: it does not go where the script goes meanwhile. What it computes on the
/// CPU is told apart by `number`, from 1.
pub(crate) fn work_aside(number: u32) {
    ASIDE.set(number.max(1));
}

#[cold]
fn set_own_line(line: u32) {
    let RunningLine { source, before } = OWN.get();
    if before == ELSEWHERE {
        return;
    }
    OWN.set(RunningLine { source: Source { line: line.wrapping_add(before), ..source }, before });
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}
