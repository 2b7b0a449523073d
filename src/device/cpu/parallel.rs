//! Work over all cores, in pieces whose bounds depend on the sizes alone, so that results never depend on
//! the number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use smallvec::SmallVec;

use crate::base::{Error, Result, memory};
use crate::device::cancel::Cancel;

use super::{team, threads};

/// Elements of cheap work (a load, a few operations, a store) worth a piece of their own.
pub(crate) const GRAIN: usize = 1 << 15;

/// How many items of `cost` elements of cheap work each make a piece.
pub(crate) fn grain(cost: usize) -> usize {
    (GRAIN / cost.max(1)).max(1)
}

/// How many threads compute: those of the pool that this thread belongs to, else the process's. One where the system
/// starts no others.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads();
    }
    *THREADS.get_or_init(|| {
        let start = |thread: rayon::ThreadBuilder| {
            let name = format!("pool-{}", thread.index());
            threads::start(name, threads::STACK, || thread.run()).map(drop)
        };
        match rayon::ThreadPoolBuilder::new().spawn_handler(start).build_global() {
            // What has a source is the system's refusal; the other error is that there is a pool.
            Err(error) if std::error::Error::source(&error).is_some() => 1,
            _ => rayon::current_num_threads(),
        }
    })
}

/// Runs `work` on the pieces `0..grain`, `grain..2 * grain`, … of `0..n`, each once, in any order, on the
/// calling thread and the pool's. One piece or none stays on the calling thread.
///
/// Each piece first looks at `cancel`: an error means that some pieces were not done.
pub(crate) fn for_ranges(
    n: usize,
    grain: usize,
    cancel: &Cancel,
    work: impl Fn(Range<usize>) + Sync,
) -> Result<()> {
    let grain = grain.max(1);
    if n <= grain {
        cancel.check()?;
        if n > 0 {
            work(0..n);
        }
        return Ok(());
    }
    let pieces = n.div_ceil(grain);
    let stretches = Stretches::new(pieces, threads());
    let stopped = AtomicBool::new(false);
    let take_pieces = || {
        stretches.take(|piece| {
            if cancel.is_set() {
                stopped.store(true, Ordering::Relaxed);
                return false;
            }
            let start = piece * grain;
            work(start..n.min(start.saturating_add(grain)));
            true
        });
    };
    let helpers = stretches.next.len() - 1;
    if helpers == 0 {
        take_pieces();
    } else if !help_from_team(&take_pieces) {
        rayon::in_place_scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(|_| take_pieces());
            }
            take_pieces();
        });
    }
    if stopped.into_inner() { Err(cancel.error()) } else { Ok(()) }
}

/// Pieces in a stretch for each thread, which goes through its own in order and then helps with the others: memory is
/// read in order, and work that follows on the same memory finds it in the same core's cache.
struct Stretches {
    pieces: usize,
    next: SmallVec<[Next; 4]>,
    leader: usize,
    helpers: AtomicUsize,
}

/// The next piece of a stretch, counted from its start, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Next(AtomicUsize);

impl Stretches {
    /// `pieces` must not be 0. The calling thread has the first stretch.
    fn new(pieces: usize, threads: usize) -> Stretches {
        let next = (0..threads.clamp(1, pieces)).map(|_| Next::default()).collect();
        Stretches { pieces, next, leader: this_thread(), helpers: AtomicUsize::new(0) }
    }

    /// Calls `work` with pieces that nobody has taken, until there are none or it says no.
    fn take(&self, mut work: impl FnMut(usize) -> bool) {
        let count = self.next.len();
        let helper = || 1 + self.helpers.fetch_add(1, Ordering::Relaxed);
        let own = if this_thread() == self.leader { 0 } else { helper() };
        for stretch in (0..count).map(|i| (own + i) % count) {
            let (start, end) = (stretch * self.pieces / count, (stretch + 1) * self.pieces / count);
            let Some(Next(next)) = self.next.get(stretch) else { return };
            loop {
                let piece = start + next.fetch_add(1, Ordering::Relaxed);
                if piece >= end {
                    break;
                }
                if !work(piece) {
                    return;
                }
            }
        }
    }
}

/// A number that no other thread has at the same time.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// Runs `work` with the team's help; false where it has none to give, or this is a pool's thread: that pool bounds how
/// many threads there are, and which.
fn help_from_team(work: &(dyn Fn() + Sync)) -> bool {
    rayon::current_thread_index().is_none() && team::run(threads() - 1, work)
}

/// [`for_ranges`] for work that can fail; gives the first error in the order of the pieces.
pub(crate) fn try_for_ranges(
    n: usize,
    grain: usize,
    cancel: &Cancel,
    work: impl Fn(Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    for_ranges(n, grain, cancel, |range| {
        let at = range.start;
        if let Err(error) = work(range) {
            let mut first = first.lock().unwrap_or_else(|e| e.into_inner());
            if first.as_ref().is_none_or(|(before, _)| at < *before) {
                *first = Some((at, error));
            }
        }
    })?;
    first.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), |(_, error)| Err(error))
}

/// What `work` gives for each piece, in the order of the pieces.
pub(crate) fn map_ranges<T: Send + Sync>(
    n: usize,
    grain: usize,
    cancel: &Cancel,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<T>> {
    let grain = grain.max(1);
    let slots = memory::collected((0..n.div_ceil(grain)).map(|_| OnceLock::new()))?;
    for_ranges(n, grain, cancel, |range| {
        if let Some(slot) = slots.get(range.start / grain) {
            let _ = slot.set(work(range));
        }
    })?;
    memory::collected(slots.into_iter().filter_map(OnceLock::into_inner))
}

/// Runs `work(index, chunk)` on the chunks of `size` elements of a slice, several to a piece where `size` is
/// below `grain`.
pub(crate) fn for_chunks<T: Send>(
    slice: &mut [T],
    size: usize,
    grain: usize,
    cancel: &Cancel,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let size = size.max(1);
    let count = slice.len().div_ceil(size);
    let all = SharedMut::new(slice);
    for_ranges(count, (grain / size).max(1), cancel, |chunks| {
        for index in chunks {
            // SAFETY: each chunk is handed out once, and chunks do not overlap.
            work(index, unsafe { all.slice(index * size..all.len().min((index + 1) * size)) });
        }
    })
}

/// Memory that the pieces of parallel work write at disjoint places.
#[derive(Clone, Copy)]
pub(crate) struct SharedMut<'a, T> {
    pointer: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: threads reach the elements through `slice` alone, whose callers keep their ranges apart.
unsafe impl<T: Send> Send for SharedMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedMut<'_, T> {}

impl<'a, T> SharedMut<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> SharedMut<'a, T> {
        SharedMut { pointer: slice.as_mut_ptr(), len: slice.len(), memory: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// One element, if it is there.
    ///
    /// # Safety
    /// As [`SharedMut::slice`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub(crate) unsafe fn place(&self, at: usize) -> Option<&'a mut T> {
        // SAFETY: the element lies inside the slice this was made from, and is the caller's alone.
        (at < self.len).then(|| unsafe { &mut *self.pointer.add(at) })
    }

    /// The elements of `range`, cut off at the end of the memory.
    ///
    /// # Safety
    /// No other slice that holds one of them may be alive.
    #[allow(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        let end = range.end.min(self.len);
        let start = range.start.min(end);
        // SAFETY: the range lies inside the slice this was made from, and is the caller's alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.add(start), end - start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn every_index_is_visited_once() {
        for (n, grain) in [(0, 4), (1, 4), (4, 4), (1000, 7), (5, 0)] {
            let mut seen = vec![0u8; n];
            let all = SharedMut::new(&mut seen);
            for_ranges(n, grain, &Cancel::default(), |range| {
                // SAFETY: pieces are disjoint.
                unsafe { all.slice(range) }.iter_mut().for_each(|s| *s += 1);
            })
            .unwrap();
            assert!(seen.iter().all(|&s| s == 1), "{n} {grain}");
        }
    }

    #[test]
    fn partial_results_come_in_order() {
        let starts = map_ranges(100, 8, &Cancel::default(), |r| r.start).unwrap();
        assert_eq!(starts, (0..100).step_by(8).collect::<Vec<_>>());
    }

    #[test]
    fn chunks_cover_the_slice_with_a_short_last_one() {
        let mut values = [0usize; 10];
        for_chunks(&mut values, 4, 1, &Cancel::default(), |i, chunk| chunk.fill(i + chunk.len())).unwrap();
        assert_eq!(values, [4, 4, 4, 4, 5, 5, 5, 5, 4, 4]);
    }

    #[test]
    fn an_interrupt_stops_at_the_next_piece() {
        let cancel = Cancel::default();
        let start = Instant::now();
        let result = for_ranges(1000, 1, &cancel, |range| {
            if range.start == 3 {
                cancel.interrupt();
            }
            std::thread::sleep(Duration::from_millis(1));
        });
        assert_eq!(result.unwrap_err().message(), "interrupted");
        assert!(start.elapsed() < Duration::from_millis(500));
    }
}
