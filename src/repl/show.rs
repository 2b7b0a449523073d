//! Tables and sentences about what a session holds.

use crate::base::event::Clock;
use crate::base::figures::{bytes, capacity, plural, timed};
use crate::base::{Device, sorted, table};
use crate::notebook::usage::{Of, Part, parts};
use crate::session::protocol::{DeviceInfo, Usage, Variable};

/// Columns of a table's widest column.
const WIDEST: usize = 60;

/// Rows under a header, in columns.
pub(super) fn table(header: &[String], rows: &[Vec<String>]) -> String {
    table::aligned(header, rows, WIDEST).lines.into_iter().map(|line| line + "\n").collect()
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

pub(super) fn devices(all: &[DeviceInfo]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|d| {
            let memory = |n: u64| if d.device == Device::Cpu { "–".into() } else { bytes(n) };
            let times = d.clock.name().to_string();
            vec![
                d.device.to_string(),
                d.name.clone(),
                times,
                memory(d.allocated),
                memory(d.reserved),
                memory(d.peak),
                memory(capacity(d.total)),
            ]
        })
        .collect();
    table(&header(&["device", "name", "times", "allocated", "reserved", "peak", "total"]), &rows)
}

/// Variables with their types, values and memory.
pub(super) fn variables(all: &[Variable]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|v| {
            let size = v.tensor.as_ref().map(|t| bytes(t.bytes)).unwrap_or_default();
            vec![v.name.clone(), v.type_name.clone(), v.summary.clone(), size]
        })
        .collect();
    match rows.is_empty() {
        true => "there are no variables\n".into(),
        false => table(&header(&["name", "type", "value", "memory"]), &rows),
    }
}

/// The devices' memory, and the variables that hold it, the largest first.
pub(super) fn memory(devices: &[DeviceInfo], variables: &[Variable]) -> String {
    let mut out = String::new();
    for d in devices.iter().filter(|d| d.device != Device::Cpu) {
        out += &format!(
            "{}: {} allocated, {} reserved, {} at the peak, of {}\n",
            d.device,
            bytes(d.allocated),
            bytes(d.reserved),
            bytes(d.peak),
            bytes(capacity(d.total))
        );
    }
    let mut holders: Vec<_> = variables.iter().filter_map(|v| Some((v, v.tensor.as_ref()?))).collect();
    sorted::sort_by_key(&mut holders, |(_, t)| std::cmp::Reverse(t.bytes));
    let row = |(v, t): &(&Variable, &crate::session::protocol::TensorInfo)| {
        let name = if t.is_view { format!("{} (a view)", v.name) } else { v.name.clone() };
        vec![name, t.device.to_string(), bytes(t.bytes), v.summary.clone()]
    };
    let rows: Vec<Vec<String>> = holders.iter().take(20).map(row).collect();
    if rows.is_empty() {
        return out + "no variable is a tensor\n";
    }
    out += &table(&header(&["variable", "device", "memory", "what"]), &rows);
    match holders.len().saturating_sub(20) {
        0 => out,
        more => format!("{out}and {}\n", plural(more as u64, "smaller one", "smaller ones")),
    }
}

/// How long a cell took.
pub(super) fn usage(usage: &Usage) -> String {
    let host = timed(usage.host_nanos, Clock::Measured);
    match usage.modelled_nanos.filter(|n| *n > 0) {
        Some(nanos) => {
            format!(
                "time: {host} on this computer, {} on the simulated machine\n",
                timed(nanos, Clock::Modelled)
            )
        }
        None => format!("time: {host}\n"),
    }
}

/// What a cell took of the devices' memory, and what it copied; a line each.
pub(super) fn taken(usage: &Usage) -> String {
    let line = |part: &Part| match part.of {
        Of::Time => None,
        Of::Memory => Some(format!("memory: {}\n", part.text())),
        Of::Copies => Some(format!("copies: {}\n", part.text())),
    };
    parts(usage).iter().filter_map(line).collect()
}

/// What `timeit` gave, from the value's printed form.
pub(crate) fn timing(value: &str) -> Option<String> {
    let fields = value.strip_prefix("#{")?.strip_suffix('}')?.split(", ");
    let fields: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once(": ")).collect();
    let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let ms = |name: &str| field(name)?.parse::<f64>().ok().map(|ms| (ms * 1e6).round() as u64);
    let clock = if field("clock")? == Clock::Modelled.name() { Clock::Modelled } else { Clock::Measured };
    let show = crate::base::figures::nanos;
    let (median, runs) = (timed(ms("median_ms")?, clock), field("runs")?.parse().ok()?);
    if (clock, runs) == (Clock::Modelled, 1) {
        return Some(format!("time: {median}; it is the same each time, and was taken once\n"));
    }
    Some(format!(
        "time: {median} as the median of {}; {} to {}, half of them within {}\n",
        plural(runs, "run", "runs"),
        show(ms("min_ms")?),
        show(ms("max_ms")?),
        show(ms("iqr_ms")?)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_and_numbers_stand_at_the_right() {
        let rows = [vec!["x".to_owned(), "1 B".into()], vec!["long\nname".into(), "1000 B".into()]];
        let text = table(&header(&["name", "bytes"]), &rows);
        assert_eq!(text, "name        bytes\nx             1 B\nlong name  1000 B\n");
    }

    #[test]
    fn times_say_their_clock() {
        let map = "#{median_ms: 0.2, iqr_ms: 0.001, min_ms: 0.1, max_ms: 0.3, runs: 10, clock: modelled}";
        let text = timing(map).unwrap();
        assert_eq!(
            text,
            "time: 200 µs modelled as the median of 10 runs; 100 µs to 300 µs, half of them within 1.00 µs\n"
        );
        let map = "#{median_ms: 0.2, iqr_ms: 0.0, min_ms: 0.2, max_ms: 0.2, runs: 1, clock: modelled}";
        let once = "time: 200 µs modelled; it is the same each time, and was taken once\n";
        assert_eq!(timing(map).as_deref(), Some(once));
        assert_eq!(timing("5"), None);
        let both = Usage { host_nanos: 1_500_000, modelled_nanos: Some(2_000), ..Usage::default() };
        assert_eq!(
            usage(&both),
            "time: 1.50 ms measured on this computer, 2.00 µs modelled on the simulated machine\n"
        );
    }
}
