//! Where segments come from: a device's memory, real or made up.

use std::collections::BTreeMap;

/// A device's memory, from which a pool takes whole segments.
///
/// The last three methods tell the pool how far a stream has come; a memory whose
/// work is done when it is asked for may leave them as they are.
pub trait Memory: Send {
    /// Takes `bytes` bytes: the address of the segment, at least 512-byte aligned and
    /// never 0; `None` when the device has no room for it.
    fn allocate(&mut self, bytes: u64) -> Option<u64>;

    /// Returns a segment that `allocate` gave.
    fn free(&mut self, address: u64, bytes: u64);

    /// The bytes of the device, whoever holds them.
    fn total(&self) -> u64;

    /// The bytes of the device that no one holds.
    fn available(&self) -> u64;

    /// The bytes that the pool's process holds besides segments, as a context of CUDA does.
    fn context(&self) -> u64 {
        0
    }

    /// A mark behind all the work `stream` has been given so far. Asked for when a
    /// block is freed that the stream has recorded; the marks of one stream are
    /// reached in the order in which they were made.
    fn mark(&mut self, _stream: u32) -> u64 {
        0
    }

    /// Whether `stream` has reached `mark`. By default it is never known to have:
    /// blocks then wait for `Pool::process`, `Pool::complete` or `wait`.
    fn reached(&self, _stream: u32, _mark: u64) -> bool {
        false
    }

    /// Blocks until `stream` has reached `mark`: the pool is about to return memory
    /// to the device, and everything pending counts.
    fn wait(&mut self, _stream: u32, _mark: u64) {}
}

impl<M: Memory + ?Sized> Memory for Box<M> {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        (**self).allocate(bytes)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        (**self).free(address, bytes);
    }

    fn total(&self) -> u64 {
        (**self).total()
    }

    fn available(&self) -> u64 {
        (**self).available()
    }

    fn context(&self) -> u64 {
        (**self).context()
    }

    fn mark(&mut self, stream: u32) -> u64 {
        (**self).mark(stream)
    }

    fn reached(&self, stream: u32, mark: u64) -> bool {
        (**self).reached(stream, mark)
    }

    fn wait(&mut self, stream: u32, mark: u64) {
        (**self).wait(stream, mark);
    }
}

/// A made-up memory with a capacity: addresses without anything behind them.
///
/// Addresses are 2 MiB aligned, never 0, and depend only on the calls made: a
/// segment lies in the lowest gap that holds it. As on a device with virtual
/// addresses, only the sum of the bytes is limited, never their arrangement.
#[derive(Clone, Debug)]
pub struct Simulated {
    total: u64,
    others: u64,
    context: u64,
    used: u64,
    end: u64,
    gaps: BTreeMap<u64, u64>,
}

impl Simulated {
    /// Where the addresses of device 0 begin.
    const BASE: u64 = 0x7f00_0000_0000;
    const ALIGNMENT: u64 = 2 << 20;

    /// A device of `total` bytes, `others` of which other processes hold.
    pub fn new(total: u64, others: u64) -> Self {
        Self { total, others, context: 0, used: 0, end: Self::BASE, gaps: BTreeMap::new() }
    }

    /// The same memory with addresses from `base` on (rounded up to 2 MiB, not 0), so
    /// that several devices can be told apart by their addresses.
    #[must_use]
    pub(crate) fn with_base(mut self, base: u64) -> Self {
        self.end = base.max(1).checked_next_multiple_of(Self::ALIGNMENT).unwrap_or(Self::BASE);
        self
    }

    /// The same memory, of which the process holds `bytes` besides segments.
    #[must_use]
    pub fn with_context(mut self, bytes: u64) -> Self {
        self.context = bytes;
        self
    }

    /// Sets how many bytes other processes hold.
    pub fn set_others(&mut self, bytes: u64) {
        self.others = bytes;
    }

    fn take_gap(&mut self, span: u64) -> Option<u64> {
        let (&start, &width) = self.gaps.iter().find(|&(_, &width)| width >= span)?;
        self.gaps.remove(&start);
        if width > span {
            self.gaps.insert(start.saturating_add(span), width - span);
        }
        Some(start)
    }

    fn put_gap(&mut self, mut start: u64, mut span: u64) {
        if let Some((&before, &width)) = self.gaps.range(..start).next_back()
            && before.saturating_add(width) == start
        {
            self.gaps.remove(&before);
            start = before;
            span = span.saturating_add(width);
        }
        let end = start.saturating_add(span);
        if let Some(width) = self.gaps.remove(&end) {
            span = span.saturating_add(width);
        }
        if start.saturating_add(span) == self.end {
            self.end = start;
        } else {
            self.gaps.insert(start, span);
        }
    }
}

impl Memory for Simulated {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let span = bytes.max(1).checked_next_multiple_of(Self::ALIGNMENT)?;
        if bytes > self.available() {
            return None;
        }
        let address = match self.take_gap(span) {
            Some(address) => address,
            None => {
                let address = self.end;
                self.end = address.checked_add(span)?;
                address
            }
        };
        self.used = self.used.saturating_add(bytes);
        Some(address)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        let span = bytes.max(1).checked_next_multiple_of(Self::ALIGNMENT).unwrap_or(bytes);
        self.used = self.used.saturating_sub(bytes);
        self.put_gap(address, span);
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn available(&self) -> u64 {
        self.total.saturating_sub(self.others).saturating_sub(self.context).saturating_sub(self.used)
    }

    fn context(&self) -> u64 {
        self.context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn segments_lie_apart_aligned_and_in_the_lowest_gap() {
        let mut memory = Simulated::new(100 * MIB, 0).with_base(1);
        let first = memory.allocate(20 * MIB).unwrap();
        let second = memory.allocate(2 * MIB).unwrap();
        let third = memory.allocate(2 * MIB).unwrap();
        assert_eq!((first, second, third), (2 * MIB, 22 * MIB, 24 * MIB));
        memory.free(first, 20 * MIB);
        memory.free(second, 2 * MIB);
        assert_eq!(memory.allocate(22 * MIB), Some(first), "neighbouring gaps are one gap");
        memory.free(third, 2 * MIB);
        memory.free(first, 22 * MIB);
        assert_eq!(memory.allocate(100 * MIB), Some(first), "an empty device starts anew");
    }

    #[test]
    fn what_others_hold_is_not_available() {
        let mut memory = Simulated::new(10 * MIB, 6 * MIB);
        assert_eq!(memory.allocate(5 * MIB), None);
        assert!(memory.allocate(4 * MIB).is_some());
        assert_eq!((memory.total(), memory.available()), (10 * MIB, 0));
        memory.set_others(0);
        assert_eq!(memory.available(), 6 * MIB);
        memory.set_others(u64::MAX);
        assert_eq!(memory.available(), 0);
    }

    #[test]
    fn a_context_takes_its_part() {
        let mut memory = Simulated::new(10 * MIB, 2 * MIB).with_context(5 * MIB);
        assert_eq!((memory.available(), memory.context()), (3 * MIB, 5 * MIB));
        assert!(memory.allocate(4 * MIB).is_none() && memory.allocate(2 * MIB).is_some());
    }

    #[test]
    fn sizes_without_end_are_refused() {
        let mut memory = Simulated::new(u64::MAX, 0);
        assert_eq!(memory.allocate(u64::MAX), None);
    }
}
