//! The table of `torch.cuda.memory_summary()`.

use super::stats::{PerPool, Stat, Stats};

const RULE: &str = "---------------------------------------------------------------------------";
const DOUBLE_RULE: &str = "===========================================================================";

impl Stats {
    /// The statistics as `torch.cuda.memory_summary()` prints them for device
    /// `device`, line by line; `abbreviated` leaves out the lines of each pool.
    pub fn summary(&self, device: u32, abbreviated: bool) -> String {
        let mut lines = vec![
            DOUBLE_RULE.to_owned(),
            format!(" {:16} PyTorch CUDA memory summary, device ID {device:<17} ", ""),
            RULE.to_owned(),
            format!(
                "  {:9} CUDA OOMs: {:<12} | {:6} cudaMalloc retries: {:<8}  ",
                "", self.num_ooms, "", self.num_alloc_retries
            ),
            DOUBLE_RULE.to_owned(),
            "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ".to_owned(),
        ];
        let metrics: [(&PerPool, &str, Format); 9] = [
            (&self.allocated_bytes, "Allocated memory", bytes),
            (&self.active_bytes, "Active memory", bytes),
            (&self.requested_bytes, "Requested memory", bytes),
            (&self.reserved_bytes, "GPU reserved memory", bytes),
            (&self.inactive_split_bytes, "Non-releasable memory", bytes),
            (&self.allocation, "Allocations", count),
            (&self.active, "Active allocs", count),
            (&self.segment, "GPU reserved segments", count),
            (&self.inactive_split, "Non-releasable allocs", count),
        ];
        for (pools, name, format) in metrics {
            lines.push(RULE.to_owned());
            lines.push(line(name, &pools.all, &pools.all, format));
            if !abbreviated {
                lines.push(line("      from large pool", &pools.large_pool, &pools.all, format));
                lines.push(line("      from small pool", &pools.small_pool, &pools.all, format));
            }
        }
        for (stat, name) in [
            (&self.oversize_allocations, "Oversize allocations"),
            (&self.oversize_segments, "Oversize GPU segments"),
        ] {
            lines.push(RULE.to_owned());
            lines.push(line(name, stat, stat, count));
        }
        lines.push(DOUBLE_RULE.to_owned());
        format!("|{}|\n", lines.join("|\n|"))
    }
}

/// Writes a value in the unit that suits another, the sum over the pools.
type Format = fn(i64, i64) -> String;

fn line(name: &str, stat: &Stat, unit: &Stat, format: Format) -> String {
    format!(
        " {name:<21} | {} | {} | {} | {} ",
        format(stat.current, unit.current),
        format(stat.peak, unit.peak),
        format(stat.allocated, unit.allocated),
        format(stat.freed, unit.freed),
    )
}

fn bytes(value: i64, unit: i64) -> String {
    let (value, unit) = scale(value, unit, 1024, 768.0 * 1024.0, &["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"]);
    format!("{value:6} {unit}")
}

fn count(value: i64, unit: i64) -> String {
    let (value, unit) = scale(value, unit, 1000, 750.0 * 1000.0, &[" ", "K", "M"]);
    format!("{value:7} {unit} ")
}

/// Takes the next unit for as long as `chosen_by` is at least `most` in this one.
fn scale(
    mut value: i64,
    chosen_by: i64,
    step: i64,
    most: f64,
    units: &[&'static str],
) -> (i64, &'static str) {
    let mut chosen_by = chosen_by as f64;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if chosen_by < most {
            break;
        }
        unit = larger;
        value = value.div_euclid(step);
        chosen_by /= step as f64;
    }
    (value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_in_the_unit_of_the_sum() {
        assert_eq!(bytes(786_431, 786_431), "786431 B  ");
        assert_eq!(bytes(786_432, 786_432), "   768 KiB");
        assert_eq!(bytes(512, 1 << 30), "     0 MiB");
        assert_eq!(bytes(i64::MAX, i64::MAX), "  8191 PiB");
        assert_eq!(count(749_999, 749_999), " 749999   ");
        assert_eq!(count(750_000, 750_000), "    750 K ");
        assert_eq!(count(7, 1_000_000_000), "      0 M ");
    }

    #[test]
    fn every_line_has_one_width() {
        let stats = Stats::default();
        for abbreviated in [false, true] {
            let summary = stats.summary(3, abbreviated);
            assert!(summary.lines().all(|line| line.len() == 77), "{summary}");
            assert_eq!(summary.lines().count(), if abbreviated { 29 } else { 47 });
            assert!(summary.ends_with("|\n"));
        }
    }
}
