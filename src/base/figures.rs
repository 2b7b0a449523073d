//! Bytes, times, rates and counts as they are shown.

use super::Device;
use super::event::{Clock, Span};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes in B, KiB or MiB; MiB is the largest unit, so that figures of one device compare at a glance.
pub fn bytes(n: u64) -> String {
    if n < KIB {
        format!("{n} B")
    } else if n < MIB {
        format!("{:.1} KiB", n as f64 / KIB as f64)
    } else {
        format!("{} MiB", mebibytes(n))
    }
}

/// A device's memory without what is no whole MiB of it: `nvidia-smi` and PyTorch leave that out, and a card that has 15,109
/// there has as many everywhere.
pub(crate) fn capacity(n: u64) -> u64 {
    if n < 1000 * MIB { n } else { n - n % MIB }
}

/// Bytes as a number of MiB, with three digits or more.
pub(crate) fn mebibytes(n: u64) -> String {
    let mib = n as f64 / MIB as f64;
    if n > 0 && mib < 0.005 {
        "<0.01".into()
    } else if mib < 99.995 {
        format!("{mib:.2}")
    } else if mib < 999.95 {
        format!("{mib:.1}")
    } else {
        count(mib.round() as u64)
    }
}

/// A change in bytes, with its sign.
pub fn change(n: i64) -> String {
    let sign = if n < 0 { '−' } else { '+' };
    format!("{sign}{}", bytes(n.unsigned_abs()))
}

/// A duration with about three digits.
pub fn nanos(n: u64) -> String {
    let n = n as f64;
    let (value, unit) = match n {
        n if n < 999.5 => return format!("{n:.0} ns"),
        n if n < 999_500.0 => (n / 1e3, "µs"),
        n if n < 999_500_000.0 => (n / 1e6, "ms"),
        n if n < 119.95e9 => (n / 1e9, "s"),
        n => return format!("{} min {:02.0} s", count((n / 60e9) as u64), (n / 1e9) % 60.0),
    };
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

/// A duration on its clock; a modelled one says so, as it always must.
pub fn timed(n: u64, clock: Clock) -> String {
    format!("{} {}", nanos(n), clock.name())
}

/// The rate of `bytes` in a span, in GB/s (10⁹ bytes); `–` for a span of no length.
pub fn rate(bytes: u64, span: Span) -> String {
    if span.nanos == 0 {
        return "–".into();
    }
    let rate = bytes as f64 / span.nanos as f64;
    // What is there is not nothing.
    if bytes > 0 && rate < 0.005 {
        return "<0.01".into();
    }
    if rate < 9.995 { format!("{rate:.2}") } else { format!("{rate:.1}") }
}

/// The way of a copy: `h2d cpu→cuda:0`.
pub fn way(from: Device, to: Device) -> String {
    format!("{} {from}→{to}", from.direction_to(to))
}

/// A whole number of nanoseconds with no more digits than it needs: `50 µs`, `1.5 ms`.
pub(crate) fn round_nanos(n: u64) -> String {
    let (unit, name) = match n {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{} {name}", n as f64 / unit as f64)
}

/// A whole number with thousands apart.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A whole number in at most five columns.
pub fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{}k", n / 1000),
        1_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

/// `one` for 1, else `many`, after the number.
pub(crate) fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), word(n, one, many))
}

/// `one` for 1, else `many`.
pub(crate) fn word<'w>(n: u64, one: &'w str, many: &'w str) -> &'w str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_the_digits_would_not_fit() {
        let cases = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (4 << 20, "4.00 MiB")];
        for (n, text) in cases {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(bytes(capacity(15_843_721_216)), "15,109 MiB", "as nvidia-smi has it");
        assert_eq!(capacity((3 << 20) + 5), (3 << 20) + 5);
        assert_eq!(bytes(15_360 << 20), "15,360 MiB");
        assert_eq!((mebibytes(0).as_str(), mebibytes(512).as_str()), ("0.00", "<0.01"));
        assert_eq!(change(-(512 << 20)), "−512.0 MiB");
        assert_eq!(nanos(999), "999 ns");
        assert_eq!(nanos(999_600), "1.00 ms");
        assert_eq!(nanos(345_600), "346 µs");
        assert_eq!(nanos(125_000_000_000), "2 min 05 s");
        assert_eq!(
            [0, 50_000, 1_500_000, 20_000_000_000].map(round_nanos),
            ["0 ns", "50 µs", "1.5 ms", "20 s"]
        );
        assert_eq!(way(Device::Cpu, Device::Cuda(1)), "h2d cpu→cuda:1");
    }

    #[test]
    fn rates_and_counts() {
        let span = Span { start: 0, nanos: 1000, clock: Clock::Measured };
        assert_eq!(rate(12_000, span), "12.0");
        assert_eq!(rate(12_000, Span { nanos: 0, ..span }), "–");
        assert_eq!(rate(4, span), "<0.01");
        assert_eq!(rate(0, span), "0.00");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([9_999, 54_321, 7_000_000].map(short), ["9999", "54k", "7M"]);
    }
}
