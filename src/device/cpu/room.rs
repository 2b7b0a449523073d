//! What main memory has left. Linux promises more than there is, and ends the program that asks for its promise.

/// From this size on it is looked at, in bytes: to fill a block with pages takes far longer than that.
const LOOKED_AT: usize = 16 << 20;

/// What others are left, in bytes.
const RESERVE: u64 = 128 << 20;

/// Whether there is room for so many bytes more. Small blocks, and machines that do not tell, have some.
pub(super) fn has_room(bytes: usize) -> bool {
    bytes < LOOKED_AT || available().is_none_or(|left| bytes as u64 + RESERVE <= left)
}

/// Bytes that could be filled: of main memory and swap, and of what a control group is allowed.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let told = read("/proc/meminfo")?;
    let free = number(&told, "MemAvailable:")?.checked_add(number(&told, "SwapFree:").unwrap_or(0))?;
    let left = free.checked_mul(1024)?;
    let of_group = GROUPS.iter().find_map(|[most, now, stat, files]| {
        let most: u64 = read(most)?.trim().parse().ok()?;
        let now: u64 = read(now)?.trim().parse().ok()?;
        // What was read from files, and is not in use, goes where it is needed elsewhere.
        let files = read(stat).and_then(|stat| number(&stat, files)).unwrap_or(0);
        Some(most.saturating_sub(now.saturating_sub(files)))
    });
    Some(of_group.map_or(left, |of_group| left.min(of_group)))
}

/// Where control groups of both versions tell what they may have, what they have, and what of it is of files.
const GROUPS: [[&str; 4]; 2] = [
    [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory.current",
        "/sys/fs/cgroup/memory.stat",
        "inactive_file ",
    ],
    [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "total_inactive_file ",
    ],
];

/// The number behind a name that begins a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_looked_up_and_small_blocks_have_room() {
        let told = "MemTotal:       8000000 kB\nMemAvailable:    3000 kB\nSwapFree:             72 kB\n";
        assert_eq!(number(told, "MemAvailable:"), Some(3000));
        assert_eq!(number("file_mapped 7\nfile 9\n", "file "), Some(9));
        assert_eq!(number(told, "MemFree:"), None);
        assert!(has_room(0) && has_room(LOOKED_AT - 1) && has_room(LOOKED_AT));
        if available().is_some() {
            assert!(!has_room(1 << 60));
        }
    }
}
