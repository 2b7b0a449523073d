//! The statistics of a pool, under the names of `torch.cuda.memory_stats()`.

use serde::{Deserialize, Serialize};

use super::size::PoolKind;

/// One statistic: a number of blocks or bytes, and its history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub current: i64,
    /// The highest `current` since the last reset of the peaks.
    pub peak: i64,
    /// The sum of all increases since the last reset of the accumulated counts.
    pub allocated: i64,
    /// The sum of all decreases since then.
    pub freed: i64,
}

/// One statistic over both pools and over each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerPool {
    pub all: Stat,
    pub small_pool: Stat,
    pub large_pool: Stat,
}

/// Every statistic of a pool; the fields bear the names of
/// `torch.cuda.memory_stats()` and mean what they mean there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Blocks that are in use or wait for another stream.
    pub active: PerPool,
    pub active_bytes: PerPool,
    pub allocated_bytes: PerPool,
    /// Blocks that a tensor holds.
    pub allocation: PerPool,
    /// Free blocks whose segment is partly in use: they cannot be returned.
    pub inactive_split: PerPool,
    pub inactive_split_bytes: PerPool,
    /// Always -1: blocks of every size are split.
    pub max_split_size: i64,
    pub num_alloc_retries: i64,
    pub num_device_alloc: i64,
    pub num_device_free: i64,
    /// Always 0: no request is refused before it is tried.
    pub num_oom_rejections: i64,
    pub num_ooms: i64,
    pub num_sync_all_streams: i64,
    /// Always 0, as is `oversize_segments`: without a largest split size no block is oversize.
    pub oversize_allocations: Stat,
    pub oversize_segments: Stat,
    /// What was asked for, before rounding, by the blocks that are active.
    pub requested_bytes: PerPool,
    pub reserved_bytes: PerPool,
    pub segment: PerPool,
}

impl Default for Stats {
    fn default() -> Self {
        Self {
            active: PerPool::default(),
            active_bytes: PerPool::default(),
            allocated_bytes: PerPool::default(),
            allocation: PerPool::default(),
            inactive_split: PerPool::default(),
            inactive_split_bytes: PerPool::default(),
            max_split_size: -1,
            num_alloc_retries: 0,
            num_device_alloc: 0,
            num_device_free: 0,
            num_oom_rejections: 0,
            num_ooms: 0,
            num_sync_all_streams: 0,
            oversize_allocations: Stat::default(),
            oversize_segments: Stat::default(),
            requested_bytes: PerPool::default(),
            reserved_bytes: PerPool::default(),
            segment: PerPool::default(),
        }
    }
}

impl Stats {
    /// The value under a key of `torch.cuda.memory_stats()`, such as
    /// `allocated_bytes.all.current` or `num_ooms`; `None` for any other key.
    pub fn get(&self, key: &str) -> Option<i64> {
        let (name, rest) = match key.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (key, None),
        };
        let (_, row) = self.rows().into_iter().find(|(row, _)| *row == name)?;
        match (row, rest) {
            (StatRow::Count(value), None) => Some(value),
            (StatRow::One(stat), Some(metric)) => stat.get(metric),
            (StatRow::Pools(pools), Some(rest)) => {
                let (pool, metric) = rest.split_once('.')?;
                let (_, stat) = pools.rows().into_iter().find(|(name, _)| *name == pool)?;
                stat.get(metric)
            }
            _ => None,
        }
    }

    /// Every key with its value, in the order of `torch.cuda.memory_stats()`.
    pub fn iter(&self) -> impl Iterator<Item = (String, i64)> {
        self.rows().into_iter().flat_map(|(name, row)| match row {
            StatRow::Count(value) => vec![(name.to_owned(), value)],
            StatRow::One(stat) => stat.entries(name).collect(),
            StatRow::Pools(pools) => pools
                .rows()
                .into_iter()
                .flat_map(|(pool, stat)| stat.entries(&format!("{name}.{pool}")).collect::<Vec<_>>())
                .collect(),
        })
    }

    /// Makes every peak the current value.
    pub fn reset_peak(&mut self) {
        self.each(|stat| stat.peak = stat.current);
    }

    /// Has peaks be what they were before something that is over, and as high as what is held now.
    pub(crate) fn keep_peaks(&mut self, before: &mut Stats) {
        let mut peaks = Vec::new();
        before.each(|stat| peaks.push(stat.peak));
        let mut peaks = peaks.into_iter();
        self.each(|stat| stat.peak = peaks.next().unwrap_or(stat.peak).max(stat.current));
    }

    /// Has everything be as it was, where as much is held as then.
    pub(crate) fn go_back(&mut self, before: &Stats) {
        let mut before = before.clone();
        let mut stats = Vec::new();
        before.each(|stat| stats.push(*stat));
        let mut stats = stats.into_iter();
        self.each(|stat| match stats.next() {
            Some(was) if was.current == stat.current => *stat = was,
            Some(was) => stat.peak = was.peak.max(stat.current),
            None => {}
        });
        self.num_alloc_retries = before.num_alloc_retries;
        self.num_device_alloc = before.num_device_alloc;
        self.num_device_free = before.num_device_free;
        self.num_oom_rejections = before.num_oom_rejections;
        self.num_ooms = before.num_ooms;
        self.num_sync_all_streams = before.num_sync_all_streams;
    }

    /// Makes every accumulated count 0: `allocated` and `freed`, and the counters `num_*`.
    pub(crate) fn reset_accumulated(&mut self) {
        self.each(|stat| (stat.allocated, stat.freed) = (0, 0));
        self.num_alloc_retries = 0;
        self.num_device_alloc = 0;
        self.num_device_free = 0;
        self.num_oom_rejections = 0;
        self.num_ooms = 0;
        self.num_sync_all_streams = 0;
    }

    /// Sorted by name, which is the order of the reference.
    fn rows(&self) -> [(&'static str, StatRow<'_>); 18] {
        [
            ("active", StatRow::Pools(&self.active)),
            ("active_bytes", StatRow::Pools(&self.active_bytes)),
            ("allocated_bytes", StatRow::Pools(&self.allocated_bytes)),
            ("allocation", StatRow::Pools(&self.allocation)),
            ("inactive_split", StatRow::Pools(&self.inactive_split)),
            ("inactive_split_bytes", StatRow::Pools(&self.inactive_split_bytes)),
            ("max_split_size", StatRow::Count(self.max_split_size)),
            ("num_alloc_retries", StatRow::Count(self.num_alloc_retries)),
            ("num_device_alloc", StatRow::Count(self.num_device_alloc)),
            ("num_device_free", StatRow::Count(self.num_device_free)),
            ("num_oom_rejections", StatRow::Count(self.num_oom_rejections)),
            ("num_ooms", StatRow::Count(self.num_ooms)),
            ("num_sync_all_streams", StatRow::Count(self.num_sync_all_streams)),
            ("oversize_allocations", StatRow::One(&self.oversize_allocations)),
            ("oversize_segments", StatRow::One(&self.oversize_segments)),
            ("requested_bytes", StatRow::Pools(&self.requested_bytes)),
            ("reserved_bytes", StatRow::Pools(&self.reserved_bytes)),
            ("segment", StatRow::Pools(&self.segment)),
        ]
    }

    fn each(&mut self, mut change: impl FnMut(&mut Stat)) {
        for pools in [
            &mut self.active,
            &mut self.active_bytes,
            &mut self.allocated_bytes,
            &mut self.allocation,
            &mut self.inactive_split,
            &mut self.inactive_split_bytes,
            &mut self.requested_bytes,
            &mut self.reserved_bytes,
            &mut self.segment,
        ] {
            change(&mut pools.all);
            change(&mut pools.small_pool);
            change(&mut pools.large_pool);
        }
        change(&mut self.oversize_allocations);
        change(&mut self.oversize_segments);
    }
}

enum StatRow<'a> {
    Pools(&'a PerPool),
    One(&'a Stat),
    Count(i64),
}

impl PerPool {
    #[inline]
    pub(super) fn rise(&mut self, kind: PoolKind, by: u64) {
        self.all.rise(by);
        self.of(kind).rise(by);
    }

    #[inline]
    pub(super) fn fall(&mut self, kind: PoolKind, by: u64) {
        self.all.fall(by);
        self.of(kind).fall(by);
    }

    /// Rises or falls by the difference, as one step.
    #[inline]
    pub(super) fn change(&mut self, kind: PoolKind, from: u64, to: u64) {
        if to > from {
            self.rise(kind, to - from);
        } else if from > to {
            self.fall(kind, from - to);
        }
    }

    #[inline]
    fn of(&mut self, kind: PoolKind) -> &mut Stat {
        match kind {
            PoolKind::Small => &mut self.small_pool,
            PoolKind::Large => &mut self.large_pool,
        }
    }

    fn rows(&self) -> [(&'static str, &Stat); 3] {
        [("all", &self.all), ("large_pool", &self.large_pool), ("small_pool", &self.small_pool)]
    }
}

impl Stat {
    // Wrapping, which costs less than saturating: the sums of the history overflow only
    // after more bytes than any device sees in its life.
    #[inline]
    fn rise(&mut self, by: u64) {
        self.current = self.current.wrapping_add_unsigned(by);
        self.peak = self.peak.max(self.current);
        self.allocated = self.allocated.wrapping_add_unsigned(by);
    }

    #[inline]
    fn fall(&mut self, by: u64) {
        self.current = self.current.wrapping_sub_unsigned(by);
        self.freed = self.freed.wrapping_add_unsigned(by);
    }

    fn get(&self, metric: &str) -> Option<i64> {
        self.rows().into_iter().find_map(|(name, value)| (name == metric).then_some(value))
    }

    fn entries(&self, prefix: &str) -> impl Iterator<Item = (String, i64)> {
        self.rows().into_iter().map(move |(metric, value)| (format!("{prefix}.{metric}"), value))
    }

    fn rows(&self) -> [(&'static str, i64); 4] {
        [("allocated", self.allocated), ("current", self.current), ("freed", self.freed), ("peak", self.peak)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_the_references_order_and_each_is_found() {
        let mut stats = Stats::default();
        let mut next = 0;
        stats.each(|stat| {
            *stat = Stat { current: next, peak: next + 1, allocated: next + 2, freed: next + 3 };
            next += 4;
        });
        let entries: Vec<_> = stats.iter().collect();
        assert_eq!(entries.len(), 9 * 12 + 2 * 4 + 7);
        assert!(entries.is_sorted(), "the reference sorts its keys");
        for (key, value) in &entries {
            assert_eq!(stats.get(key), Some(*value), "{key}");
        }
        let mut values: Vec<_> = entries.iter().map(|(_, value)| *value).filter(|v| *v > 0).collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 29 * 4 - 1, "no statistic is listed twice or left out");
    }

    #[test]
    fn other_keys_have_no_value() {
        let stats = Stats::default();
        for key in [
            "",
            "num_ooms.all",
            "active",
            "active.all",
            "active.all.now",
            "active.all.peak.x",
            "segments.all.peak",
        ] {
            assert_eq!(stats.get(key), None, "{key}");
        }
        assert_eq!(stats.get("max_split_size"), Some(-1));
    }

    #[test]
    fn resets_leave_the_current_value() {
        let mut stats = Stats { num_ooms: 3, ..Stats::default() };
        stats.segment.rise(PoolKind::Small, 5);
        stats.segment.fall(PoolKind::Small, 3);
        stats.reset_peak();
        assert_eq!(stats.segment.small_pool, Stat { current: 2, peak: 2, allocated: 5, freed: 3 });
        stats.reset_accumulated();
        assert_eq!(stats.segment.all, Stat { current: 2, peak: 2, allocated: 0, freed: 0 });
        assert_eq!((stats.num_ooms, stats.max_split_size), (0, -1));
    }
}
