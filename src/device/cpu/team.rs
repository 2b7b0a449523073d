//! Threads that help with one piece of work at a time and stay awake for a moment after it: operations follow each
//! other within microseconds, and to wake a sleeping thread takes longer than most of them.

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::threads;

/// How long a helper looks for more work before it sleeps.
const AWAKE: Duration = Duration::from_micros(50);
/// Looks between two readings of the clock, after which other threads may run.
const LOOKS: u32 = 64;

/// Runs `work` on the calling thread and, at the same time, on up to `helpers` others, which may come late or not at
/// all: each call takes what is left to do. Returns once all calls have. False, with nothing done, where the helpers
/// work for another thread or there are none.
///
/// # Panics
/// Where `work` panics on any thread.
pub(super) fn run(helpers: usize, work: &(dyn Fn() + Sync)) -> bool {
    static TEAM: OnceLock<&'static Team> = OnceLock::new();
    TEAM.get_or_init(|| Team::new(helpers)).run(work)
}

/// The state of the job: helpers inside it in the low bits, whether more may enter, and the job's number.
const INSIDE: u64 = 0xffff;
const OPEN: u64 = 1 << 16;
const NEXT: u64 = 1 << 17;

struct Team {
    /// A thread leads a job.
    taken: AtomicBool,
    state: AtomicU64,
    job: TeamJob,
    helpers: Vec<Helper>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Ends the job when it goes, also where the leader's own part panics.
struct JobEnd<'a>(&'a Team);

impl JobEnd<'_> {
    /// What a helper panicked with.
    fn finish(self) -> Option<Box<dyn Any + Send>> {
        self.0.close();
        self.0.panic.lock().unwrap_or_else(|e| e.into_inner()).take()
    }
}

impl Drop for JobEnd<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.0.panic.lock().unwrap_or_else(|e| e.into_inner()).take();
        self.0.taken.store(false, Ordering::Release);
    }
}

/// What helpers run; its lifetime is that of the job, which ends when the job is closed and nobody is inside.
struct TeamJob(UnsafeCell<Option<*const (dyn Fn() + Sync)>>);

// SAFETY: written by the one leader while nobody is inside, read by those inside; what it points to is `Sync`.
unsafe impl Sync for TeamJob {}
// SAFETY: as above.
unsafe impl Send for TeamJob {}

#[derive(Default)]
struct Helper {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Team {
    /// A team for as long as the process runs.
    fn new(helpers: usize) -> &'static Team {
        let team: &'static Team = Box::leak(Box::new(Team {
            taken: AtomicBool::new(false),
            state: AtomicU64::new(0),
            job: TeamJob(UnsafeCell::new(None)),
            helpers: (0..helpers).map(|_| Helper::default()).collect(),
            panic: Mutex::new(None),
        }));
        for (i, helper) in team.helpers.iter().enumerate() {
            // A thread that the system refuses is one helper fewer.
            let started = threads::start(format!("kernels-{i}"), threads::STACK, || team.help(helper));
            if let Ok(handle) = started {
                let _ = helper.thread.set(handle.thread().clone());
            }
        }
        team
    }

    fn run(&self, work: &(dyn Fn() + Sync)) -> bool {
        let free = !self.helpers.is_empty() && !self.taken.swap(true, Ordering::Acquire);
        if free {
            self.lead(work);
        }
        free
    }

    fn lead(&self, work: &(dyn Fn() + Sync)) {
        // SAFETY: nobody is inside, and the job is over before `work` is: only its lifetime is forgotten.
        unsafe {
            let forgotten =
                std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(work);
            *self.job.0.get() = Some(forgotten);
        }
        let number = self.state.load(Ordering::Relaxed) & !(OPEN | INSIDE);
        self.state.store((number + NEXT) | OPEN, Ordering::SeqCst);
        let end = JobEnd(self);
        for helper in &self.helpers {
            if helper.asleep.load(Ordering::SeqCst)
                && helper.asleep.swap(false, Ordering::SeqCst)
                && let Some(thread) = helper.thread.get()
            {
                thread.unpark();
            }
        }
        work();
        if let Some(panic) = end.finish() {
            resume_unwind(panic);
        }
    }

    /// Lets nobody enter any more, and waits for those inside.
    fn close(&self) {
        self.state.fetch_and(!OPEN, Ordering::SeqCst);
        let mut looks = 0u32;
        while self.state.load(Ordering::Acquire) & INSIDE > 0 {
            looks += 1;
            if looks.is_multiple_of(LOOKS) { thread::yield_now() } else { spin_loop() }
        }
    }

    fn help(&self, helper: &Helper) -> ! {
        let mut done = 0;
        loop {
            done = self.wait(helper, done);
            if !self.enter(done) {
                continue;
            }
            // SAFETY: the job lives while a helper is inside.
            let work = unsafe { (*self.job.0.get()).map(|work| &*work) };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.map(|work| work()))) {
                *self.panic.lock().unwrap_or_else(|e| e.into_inner()) = Some(panic);
            }
            self.state.fetch_sub(1, Ordering::Release);
        }
    }

    /// The number of an open job other than `done`, as soon as there is one.
    fn wait(&self, helper: &Helper, done: u64) -> u64 {
        let mut began: Option<Instant> = None;
        loop {
            for _ in 0..LOOKS {
                if let Some(number) = self.open(done) {
                    return number;
                }
                spin_loop();
            }
            if began.get_or_insert_with(Instant::now).elapsed() < AWAKE {
                thread::yield_now();
                continue;
            }
            helper.asleep.store(true, Ordering::SeqCst);
            // Who opened a job before it could see this has been seen here.
            while self.open(done).is_none() && helper.asleep.load(Ordering::SeqCst) {
                thread::park();
            }
            helper.asleep.store(false, Ordering::SeqCst);
            began = None;
        }
    }

    fn open(&self, done: u64) -> Option<u64> {
        let state = self.state.load(Ordering::SeqCst);
        let number = state & !(OPEN | INSIDE);
        (state & OPEN > 0 && number != done).then_some(number)
    }

    /// Goes inside the job of that number, unless it has been closed.
    fn enter(&self, number: u64) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & OPEN > 0 && state & !(OPEN | INSIDE) == number {
            match self.state.compare_exchange_weak(state, state + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn everything_is_done_once_however_often_helpers_sleep() {
        let team = Team::new(2);
        for round in 0..20_000usize {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let pieces = 1 + round % 7;
            let work = || {
                while next.fetch_add(1, Ordering::Relaxed) < pieces {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            };
            assert!(team.run(&work));
            assert_eq!(done.into_inner(), pieces);
            if round % 1000 == 0 {
                thread::sleep(4 * AWAKE);
            }
        }
    }

    #[test]
    fn several_leaders_at_a_time_get_their_own_work_done() {
        let team = Team::new(2);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
                        let work = || {
                            loop {
                                let piece = next.fetch_add(1, Ordering::Relaxed);
                                if piece >= 50 {
                                    return;
                                }
                                sum.fetch_add(piece, Ordering::Relaxed);
                            }
                        };
                        if !team.run(&work) {
                            work();
                        }
                        assert_eq!(sum.into_inner(), 1225);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_comes_out_where_the_work_was_given_and_leaves_the_team_usable() {
        let team = Team::new(2);
        for leader in [true, false] {
            let me = thread::current().id();
            let begun = Instant::now();
            let stopped = AtomicBool::new(false);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                team.run(&|| {
                    if (thread::current().id() == me) == leader {
                        stopped.store(true, Ordering::SeqCst);
                        panic!("as told");
                    }
                    while !stopped.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(20) {
                        thread::yield_now();
                    }
                })
            }));
            assert!(caught.is_err(), "the leader's own: {leader}");
            let count = AtomicUsize::new(0);
            assert!(team.run(&|| {
                count.fetch_add(1, Ordering::Relaxed);
            }));
            assert!(count.into_inner() >= 1);
        }
    }

    #[test]
    fn work_inside_work_is_told_to_find_another_way() {
        let (team, inner) = (Team::new(2), Mutex::new(Vec::new()));
        assert!(team.run(&|| inner.lock().unwrap().push(team.run(&|| {}))));
        assert!(inner.into_inner().unwrap().iter().all(|done| !done));
    }
}
