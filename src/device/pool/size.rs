//! The sizes the allocator works with, and how a size is written.

/// The smallest block, and the step of every block's size: 512 bytes.
pub(crate) const MIN_BLOCK: u64 = 512;
/// The largest request (rounded) that the small pool serves: 1 MiB.
pub(crate) const SMALL_REQUEST: u64 = 1 << 20;
/// The bytes of a segment of the small pool: 2 MiB.
pub(crate) const SMALL_SEGMENT: u64 = 2 << 20;
/// The bytes of a segment of the large pool that serves a request under 10 MiB: 20 MiB.
pub(crate) const LARGE_SEGMENT: u64 = 20 << 20;

/// From this request on, a segment is made to measure.
pub(super) const MEASURED_REQUEST: u64 = 10 << 20;
/// The step of a segment that is made to measure.
const SEGMENT_STEP: u64 = 2 << 20;

/// One of the two pools that a request is served from; they never share a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolKind {
    Small,
    Large,
}

impl PoolKind {
    /// The pool that serves a block of `size` bytes (rounded).
    #[inline]
    pub(super) fn of(size: u64) -> Self {
        if size <= SMALL_REQUEST { Self::Small } else { Self::Large }
    }

    pub(super) fn is_small(self) -> bool {
        self == Self::Small
    }

    /// Whether a block is cut when `rest` bytes of it would stay free.
    #[inline]
    pub(super) fn splits(self, rest: u64) -> bool {
        match self {
            Self::Small => rest >= MIN_BLOCK,
            Self::Large => rest > SMALL_REQUEST,
        }
    }
}

/// The bytes of the block that holds `bytes` bytes: the next multiple of 512, at
/// least 512. A size too near `u64::MAX` to be rounded up is rounded down.
#[inline]
pub fn rounded(bytes: u64) -> u64 {
    round_up(bytes.max(1), MIN_BLOCK)
}

/// The bytes taken from the device for a request of `bytes` bytes that no cached
/// block serves.
pub(crate) fn segment_size(bytes: u64) -> u64 {
    let size = rounded(bytes);
    if size <= SMALL_REQUEST {
        SMALL_SEGMENT
    } else if size < MEASURED_REQUEST {
        LARGE_SEGMENT
    } else {
        round_up(size, SEGMENT_STEP)
    }
}

/// The largest request that a new segment of at most `room` bytes serves; 0 for none.
pub(super) fn largest_in_new_segment(room: u64) -> u64 {
    if room >= MEASURED_REQUEST {
        room - room % SEGMENT_STEP
    } else if room >= SMALL_SEGMENT {
        SMALL_REQUEST
    } else {
        0
    }
}

/// A number of bytes as PyTorch's out-of-memory error writes it: `512 bytes`,
/// `28.00 MiB`, `80.00 GiB`.
pub(crate) fn format_size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (unit, name) = if bytes <= KIB {
        return format!("{bytes} bytes");
    } else if bytes <= MIB {
        (KIB, "KiB")
    } else if bytes <= GIB {
        (MIB, "MiB")
    } else {
        (GIB, "GiB")
    };
    format!("{:.2} {name}", bytes as f64 / unit as f64)
}

#[inline]
fn round_up(bytes: u64, step: u64) -> u64 {
    bytes.checked_next_multiple_of(step).unwrap_or(u64::MAX - u64::MAX % step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_rounded_to_its_block_and_its_segment() {
        const MIB: u64 = 1 << 20;
        for (bytes, block, segment) in [
            (1, 512, 2 * MIB),
            (512, 512, 2 * MIB),
            (513, 1024, 2 * MIB),
            (MIB, MIB, 2 * MIB),
            (MIB + 1, MIB + 512, 20 * MIB),
            (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
            (10 * MIB - 511, 10 * MIB, 10 * MIB),
            (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),
            (u64::MAX, u64::MAX - 511, u64::MAX - (2 * MIB - 1)),
        ] {
            assert_eq!((rounded(bytes), segment_size(bytes)), (block, segment), "{bytes} bytes");
        }
    }

    #[test]
    fn the_largest_request_of_a_new_segment_takes_no_more_than_the_room() {
        const MIB: u64 = 1 << 20;
        for room in [0, MIB, 2 * MIB - 1, 2 * MIB, 5 * MIB, 10 * MIB, 11 * MIB, 33 * MIB + 5] {
            let largest = largest_in_new_segment(room);
            assert!(largest == 0 || segment_size(largest) <= room, "{room} bytes of room");
            assert!(segment_size(largest + 1) > room, "{room} bytes of room serve more than {largest}");
        }
    }

    #[test]
    fn a_size_changes_its_unit_just_above_the_next_one() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1024, "1024 bytes"),
            (1025, "1.00 KiB"),
            (1 << 20, "1024.00 KiB"),
            ((1 << 20) + 1, "1.00 MiB"),
            (1 << 30, "1024.00 MiB"),
            (85_899_345_920, "80.00 GiB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }
}
