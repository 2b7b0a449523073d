//! What was measured, as it is printed: rounded, in the order in which it is read, one thing to a line where there is
//! much of it. The names are those of the fields, which keep all their digits.

use rhai::{Array, Dynamic, Identifier, ImmutableString, Map};

use crate::base::{DType, DeviceSpec};

/// A float's digits that are shown.
const DIGITS: i32 = 4;

/// Fields of a run's record, in the order in which they are read.
const RUN: [&str; 26] = [
    "h2d",
    "d2h",
    "d2d",
    "launches",
    "by_op",
    "by_dtype",
    "work",
    "syncs",
    "implicit_syncs",
    "implicit_sync_lines",
    "waited_ms",
    "waits",
    "batches",
    "busy_ms",
    "idle_ms",
    "clock",
    "collectives",
    "allocations",
    "peak",
    "leaked",
    "reserved",
    "alloc_retries",
    "oom",
    "races",
    "value",
    "error",
];
/// Those of them that are times.
const TIMES: [&str; 3] = ["waited_ms", "busy_ms", "idle_ms"];
/// Those of a timing.
const TIMING: [&str; 6] = ["median_ms", "iqr_ms", "min_ms", "max_ms", "runs", "clock"];
/// Those of copies in one direction, of a wait and of a collective.
const PART: [&str; 14] = [
    "op", "ops", "count", "bytes", "flops", "ranks", "workers", "cause", "ms", "blocking", "pinned", "line",
    "lines", "clock",
];

/// Those of a live tensor.
const LIVE: [&str; 9] = ["device", "address", "bytes", "requested", "dtype", "shape", "op", "cell", "line"];

/// Live tensors as a table, one to a line; none of other values.
pub(super) fn tensors(items: &Array) -> Option<String> {
    let maps = items.iter().map(|item| item.read_lock::<Map>().filter(|map| is_live(map)));
    let maps: Vec<_> = maps.collect::<Option<Vec<_>>>().filter(|maps| !maps.is_empty())?;
    let names: Vec<&str> =
        LIVE.into_iter().filter(|name| maps.iter().any(|map| map.contains_key(*name))).collect();
    let mut rows = vec![names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    rows.extend(maps.iter().map(|map| names.iter().map(|name| live(map, name)).collect::<Vec<_>>()));
    let widths: Vec<usize> = (0..names.len())
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(String::len).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&names).zip(&widths).map(|((cell, name), &width)| match *name {
            "bytes" | "requested" | "cell" | "line" => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    Some(rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn is_live(map: &Map) -> bool {
    ["address", "requested", "dtype", "shape", "op"].iter().all(|name| map.contains_key(*name))
}

fn live(map: &Map, name: &str) -> String {
    let Some(value) = map.get(name) else { return String::new() };
    if let Some(dtype) = value.read_lock::<DType>() {
        return dtype.to_string();
    }
    if let Some(device) = value.read_lock::<DeviceSpec>() {
        return device.to_string();
    }
    match (name, value.as_int()) {
        ("address", Ok(address)) => format!("{address:#x}"),
        ("shape", _) => value.to_string(),
        _ => value_of(value),
    }
}

/// The printed form of a map that tells of a run, a timing, copies, a wait or a device; none of any other map.
pub(super) fn of(map: &Map) -> Option<String> {
    if map.contains_key("driver") && map.contains_key("libraries") && map.values().all(is_plain) {
        return Some(computer(map));
    }
    if is_live(map) {
        let fields = LIVE.iter().filter(|name| map.contains_key(**name));
        let fields = fields.map(|name| format!("{name}: {}", live(map, name)));
        return Some(format!("#{{{}}}", fields.collect::<Vec<_>>().join(", ")));
    }
    let has_clock = map.get("clock").is_some_and(Dynamic::is_string);
    let is_known = has_clock || map.contains_key("waits") || map.contains_key("total_memory");
    if !is_known || !map.values().all(is_plain) {
        return None;
    }
    if map.contains_key("h2d") && map.contains_key("waits") {
        return Some(lines(map));
    }
    if map.contains_key("multi_processor_count") && map.contains_key("total_memory") {
        return Some(device(map));
    }
    let order: &[&str] = match () {
        () if !has_clock => return None,
        () if map.contains_key("median_ms") => &TIMING,
        () if map.contains_key("ms") => &PART,
        () => return None,
    };
    Some(inline(map, order))
}

/// Whether a value is numbers and texts, in arrays and maps too.
pub(crate) fn is_plain(value: &Dynamic) -> bool {
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().all(is_plain);
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.values().all(is_plain);
    }
    value.is_int() || value.is_float() || value.is_string() || value.is_bool() || value.is_unit()
}

fn lines(map: &Map) -> String {
    let known = RUN.iter().filter_map(|name| map.get_key_value(*name));
    let others = map.iter().filter(|(name, _)| !RUN.contains(&name.as_str()));
    // A time is told with its clock, as those within the parts are.
    let clock = map.get("clock").and_then(|clock| clock.read_lock::<ImmutableString>());
    let told = |(name, value): (&Identifier, &Dynamic)| match &clock {
        Some(clock) if TIMES.contains(&name.as_str()) => format!("{} {}", value_of(value), **clock),
        _ => value_of(value),
    };
    let rows: Vec<(&str, String)> =
        known.chain(others).map(|(name, value)| (name.as_str(), told((name, value)))).collect();
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let rows = rows.iter().map(|(name, value)| format!("{name:<widest$}  {value}"));
    rows.collect::<Vec<_>>().join("\n")
}

/// What a computer has of CUDA, one thing to a line; what is missing with what helps.
fn computer(map: &Map) -> String {
    let of_result = |value: &Dynamic| match value.read_lock::<Map>() {
        Some(result) => match (result.get("Ok"), result.get("Err").and_then(Dynamic::read_lock::<Map>)) {
            (Some(found), _) => value_of(found),
            (_, Some(missing)) => missing.values().map(Dynamic::to_string).collect::<Vec<_>>().join(": "),
            _ => value_of(value),
        },
        None => value_of(value),
    };
    let plain = ["processor", "driver", "cards", "devices"].into_iter();
    let mut rows: Vec<(String, String)> =
        plain.filter_map(|name| Some((name.to_owned(), of_result(map.get(name)?)))).collect();
    for library in
        map.get("libraries").and_then(Dynamic::read_lock::<Array>).iter().flat_map(|all| all.iter())
    {
        let Some(library) = library.read_lock::<Map>() else { continue };
        let field = |name: &str| library.get(name).map(&of_result).unwrap_or_default();
        rows.push((field("name"), field("found")));
    }
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let rows = rows.iter().map(|(name, value)| format!("{name:<widest$}  {value}"));
    rows.collect::<Vec<_>>().join("\n")
}

/// As PyTorch prints `get_device_properties`.
fn device(map: &Map) -> String {
    let mebibytes = |name: &str| map.get(name).and_then(|v| v.as_int().ok()).map(|bytes| bytes >> 20);
    let field = |name: &str| match (name, map.get(name)) {
        ("total_memory" | "L2_cache_size", _) => mebibytes(name).map(|n| format!("{name}={n}MB")),
        (_, Some(value)) if value.is_string() => Some(format!("{name}='{value}'")),
        (_, value) => value.map(|value| format!("{name}={value}")),
    };
    let names = ["name", "major", "minor", "total_memory", "multi_processor_count", "L2_cache_size"];
    let fields: Vec<String> = names.into_iter().filter_map(field).collect();
    format!("_CudaDeviceProperties({})", fields.join(", "))
}

fn inline(map: &Map, order: &[&str]) -> String {
    let is_nothing = ["count", "ops"].iter().any(|name| map.get(*name).is_some_and(|n| n.as_int() == Ok(0)));
    if is_nothing {
        return "none".into();
    }
    let known = order.iter().filter_map(|name| map.get_key_value(*name));
    let others = map.iter().filter(|(name, _)| !order.contains(&name.as_str()));
    let fields = known.chain(others).map(|(name, value)| format!("{name}: {}", value_of(value)));
    format!("#{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

fn value_of(value: &Dynamic) -> String {
    if let Ok(number) = value.as_float() {
        return rounded(number);
    }
    if let Some(items) = value.read_lock::<Array>() {
        return match items.len() {
            0 => "none".into(),
            _ => format!("[{}]", items.iter().map(value_of).collect::<Vec<_>>().join(", ")),
        };
    }
    if let Some(map) = value.read_lock::<Map>() {
        return if map.is_empty() { "none".into() } else { of(&map).unwrap_or_else(|| inline(&map, &PART)) };
    }
    value.to_string()
}

/// A number to so many digits that count, without zeros that say nothing.
fn rounded(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number:?}");
    }
    let magnitude = number.abs().log10().floor() as i32;
    let decimals = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(0);
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_count() {
        for (number, text) in [
            (0.0, "0.0"),
            (0.004283111, "0.004283"),
            (1234.56, "1235"),
            (12.0, "12"),
            (1.5, "1.5"),
            (-0.1 - 0.2, "-0.3"),
            (f64::NAN, "NaN"),
            (1e-9, "0.000000001"),
        ] {
            assert_eq!(rounded(number), text);
        }
    }
}
