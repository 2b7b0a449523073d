//! The events themselves, for the files that are made of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::event::Event;

/// Events kept, the newest.
const KEPT: usize = 200_000;

/// Events in the batches they came in.
#[derive(Debug, Default)]
pub(crate) struct Log {
    batches: VecDeque<Arc<Vec<Event>>>,
    count: usize,
    /// Events that are not kept: earlier ones, and those that the session could not send.
    pub dropped: u64,
}

impl Log {
    /// Counts events that are known by their sums alone.
    pub(super) fn miss(&mut self, events: u64) {
        self.dropped = self.dropped.saturating_add(events);
    }

    pub(crate) fn take(&mut self, events: Vec<Event>) {
        self.count += events.len();
        self.batches.push_back(Arc::new(events));
        while self.count > KEPT
            && let Some(first) = self.batches.pop_front()
        {
            self.count -= first.len();
            self.dropped = self.dropped.saturating_add(first.len() as u64);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What is kept, shared: nothing is copied on the thread that asks.
    pub(crate) fn batches(&self) -> Vec<Arc<Vec<Event>>> {
        self.batches.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::event::{Body, Source};

    #[test]
    fn the_newest_are_kept_and_the_others_counted() {
        let mut log = Log::default();
        let event =
            |seq| Event { seq, source: Source::default(), body: Body::CellStart { cell: 1, at: seq } };
        for batch in 0..30u64 {
            log.miss(u64::from(batch == 3));
            log.take((batch * 10_000..(batch + 1) * 10_000).map(event).collect());
        }
        let kept: Vec<u64> = log.batches().iter().flat_map(|b| b.iter().map(|e| e.seq)).collect();
        assert_eq!(kept, (100_000..300_000).collect::<Vec<_>>());
        assert_eq!(log.dropped, 100_001);
    }
}
