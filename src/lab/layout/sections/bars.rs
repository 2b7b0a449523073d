//! A device's name, bar, figures and counters, line by line.

use ratatui::text::{Line, Span};

use crate::base::event::Source;
use crate::base::figures;
use crate::base::sorted;
use crate::lab::layout::sections::marks::{joined, place};
use crate::lab::model::history::records::DeviceTally;
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// A bar shows the part in use alone where that is a smaller share than one in this many.
const ZOOM: u64 = 8;
/// The smallest part that a bar shows, in bytes.
const MIN_SCALE: u64 = 4 << 20;
const MIN_BAR: usize = 8;
/// Requests that no device can serve are told in the unit of PyTorch's message.
const GIB: u64 = 1 << 30;
/// Places shown where the host waited unasked.
pub(super) const WAITS: usize = 3;

/// Wide enough for longer names.
pub(super) const WIDE: usize = 76;

/// The device in one row, for when there are many.
pub(super) fn row(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let name = text::left(&device.device.to_string(), 8);
    let used = figures::mebibytes(device.allocated);
    if device.total == 0 {
        let held = figures::mebibytes(device.tensor_bytes);
        return Line::from(vec![
            Span::styled(name, theme.strong),
            Span::styled(format!("held by tensors {held} MiB"), theme.dim),
        ]);
    }
    let label = format!(" {} of {} MiB", used, figures::mebibytes(figures::capacity(device.total)));
    let columns = width.saturating_sub(8 + text::width(&label)).max(MIN_BAR);
    let mut spans = vec![Span::styled(name, theme.strong)];
    spans.extend(bar(device, device.total, columns, theme));
    spans.push(Span::styled(label, theme.dim));
    Line::from(spans)
}

pub(super) fn has_counters(device: &DeviceTally) -> bool {
    device.total > 0 && device.launches + device.syncs + device.implicit_syncs > 0
}

pub(super) fn name(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let badge = if device.simulated { "SIM" } else { "" };
    let id = device.device.to_string();
    let room = width.saturating_sub(id.len() + badge.len() + 3);
    let mut spans = vec![
        Span::styled(format!("{id}  "), theme.strong),
        Span::styled(text::left(&device.name, room), theme.text),
        Span::raw(" "),
    ];
    if device.simulated {
        spans.push(Span::styled(badge, theme.badge));
    }
    Line::from(spans)
}

pub(super) fn bar_row(device: &DeviceTally, width: usize, whole: bool, theme: &Theme) -> Line<'static> {
    let scale = if whole { device.total } else { scale(device) };
    let total = figures::mebibytes(figures::capacity(device.total));
    let label = if scale < device.total {
        format!(" ⋯ scale {} of {total} MiB", figures::mebibytes(scale))
    } else {
        format!(" {total} MiB")
    };
    let columns = width.saturating_sub(text::width(&label)).max(MIN_BAR);
    let mut spans = bar(device, scale, columns, theme);
    spans.push(Span::styled(label, theme.dim));
    Line::from(spans)
}

/// How many bytes the bar spans: all of them, or a power of two with room above what was used.
fn scale(device: &DeviceTally) -> u64 {
    let other = device.other().unwrap_or(0);
    let used = device.reserved.saturating_add(other).max(device.peak).max(MIN_SCALE);
    if used.saturating_mul(ZOOM) >= device.total {
        return device.total;
    }
    used.saturating_add(used / 4).checked_next_power_of_two().unwrap_or(device.total).min(device.total)
}

/// The bar: what is held is never drawn as nothing.
fn bar(device: &DeviceTally, scale: u64, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let at = |bytes: u64| {
        let exact = bytes as f64 / scale.max(1) as f64 * columns as f64;
        (exact.round() as usize).clamp(usize::from(bytes > 0), columns)
    };
    let held = at(device.allocated);
    let cached_bytes = device.reserved.saturating_sub(device.allocated);
    let reserved = if cached_bytes == 0 { held } else { at(device.reserved).max(held + 1).min(columns) };
    let other_bytes = device.other().unwrap_or(0);
    let taken = if other_bytes == 0 {
        reserved
    } else {
        at(device.reserved.saturating_add(other_bytes)).max(reserved + 1).min(columns)
    };
    let peak = if device.peak > device.allocated { Some(at(device.peak).max(held + 1) - 1) } else { None };
    let cells = (0..columns).map(|i| {
        if peak == Some(i) {
            ("┆", theme.peak)
        } else if i < held {
            ("█", theme.allocated)
        } else if i < reserved {
            ("▒", theme.cached)
        } else if i < taken {
            ("▚", theme.dim)
        } else {
            ("░", theme.free)
        }
    });
    joined(&cells.collect::<Vec<_>>()).spans
}

/// The figures with their glyphs, each a part that is not broken.
pub(super) fn figure_parts(device: &DeviceTally, all: bool, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let cached = device.reserved.saturating_sub(device.allocated);
    let entry = |glyph: &'static str, style, label: &'static str, shown: String, columns: usize| {
        vec![
            Span::styled(glyph, style),
            Span::styled(format!(" {label}"), theme.dim),
            Span::styled(text::right(&shown, columns), theme.text),
        ]
    };
    let mib = figures::mebibytes;
    let mut parts = vec![
        entry("█", theme.allocated, "allocated", mib(device.allocated), 7),
        entry("▒", theme.cached, "cached", mib(cached), 6),
    ];
    match device.other() {
        Some(other) if other > 0 || all => {
            parts.push(entry("▚", theme.dim, "other", mib(other), 6));
        }
        None if all => parts.push(entry("▚", theme.dim, "other", "n/a".into(), 6)),
        _ => {}
    }
    parts.push(entry("░", theme.free, "free", mib(device.free()), 12));
    let mut peak = entry("┆", theme.peak, "peak", mib(device.peak.max(device.allocated)), 8);
    peak.push(Span::styled(" MiB", theme.dim));
    parts.push(peak);
    parts
}

/// Parts in lines, two columns between them.
pub(super) fn pack(parts: Vec<Vec<Span<'static>>>, width: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    for part in parts {
        let taken: usize = part.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if line.width() + 2 + taken <= width => {
                line.spans.push(Span::raw("  "));
                line.spans.extend(part);
            }
            _ => lines.push(Line::from(part)),
        }
    }
    lines
}

/// Where the host waited unasked, most often first.
pub(super) fn waits(device: &DeviceTally, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut all: Vec<_> = device.waits.iter().collect();
    sorted::sort_by_key(&mut all, |(_, times)| u64::MAX - **times);
    let shown = all.iter().take(WAITS);
    let told: u64 = shown.clone().map(|(_, times)| **times).fold(0, u64::saturating_add);
    let elsewhere = match device.implicit_syncs.saturating_sub(told) {
        0 => String::new(),
        n => format!(", {} elsewhere", figures::count(n)),
    };
    let last = shown.len().saturating_sub(1);
    let line = |(i, ((cell, line, cause), times)): (usize, &(&(u32, u32, _), &u64))| {
        let place = place(" at ", Source::at(*cell, *line));
        let elsewhere = if i == last { elsewhere.as_str() } else { "" };
        let text = format!("  ▲ {} implicit: {cause}{place}", figures::count(**times));
        let room = width.saturating_sub(text::width(elsewhere));
        Line::styled(text::clip(&text, room) + elsewhere, theme.warn)
    };
    shown.enumerate().map(line).collect()
}

/// What only a driver can tell.
pub(super) fn sensors(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let text = match device.simulated {
        true => "n/a: temperature, PCIe; smi() has utilisation, power",
        false => "n/a: utilisation, power, temperature, PCIe",
    };
    Line::styled(text::clip(text, width), theme.dim)
}

/// `launches 12, syncs 3, ▲ 2 implicit, last item at In [3]:4`.
pub(super) fn counters(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let told = |number: fn(u64) -> String, parted: &str, word: &str| {
        let [launches, syncs, implicit] = [device.launches, device.syncs, device.implicit_syncs].map(number);
        (format!("launches {launches}{parted} syncs {syncs}"), format!("{parted} ▲ {implicit}{word}"))
    };
    let exact = [
        told(figures::count, ",", " implicit"),
        told(|n| n.to_string(), "", " implicit"),
        told(figures::count, ",", ""),
        told(|n| n.to_string(), "", ""),
    ];
    // Rounded figures are for where nothing else fits.
    let fits = exact.into_iter().find(|(asked, unasked)| text::width(asked) + text::width(unasked) <= width);
    let (asked, unasked) = fits.unwrap_or_else(|| told(figures::short, "", ""));
    let mut used = text::width(&asked);
    let mut spans = vec![Span::styled(asked, theme.dim)];
    if device.implicit_syncs > 0 {
        used += text::width(&unasked);
        spans.push(Span::styled(unasked, theme.warn));
        if let Some((cause, source)) = &device.last_implicit {
            let text = format!(", last {cause}{}", place(" at ", *source));
            if used + text::width(&text) <= width {
                spans.push(Span::styled(text, theme.dim));
            }
        }
    }
    Line::from(spans)
}

/// What a lesson did by itself: `the lesson's own: launches 3, syncs 3, ▲ 3 implicit`.
pub(super) fn lesson_counters(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let [launches, syncs, implicit] =
        [device.launches, device.syncs, device.implicit_syncs].map(figures::count);
    let text = format!("the lesson's own: launches {launches}, syncs {syncs}, ▲ {implicit} implicit");
    Line::styled(text::clip(&text, width), theme.dim)
}

/// Accesses of its memory that nothing ordered: `▲ 2 races, last at In [3]:5 with In [3]:4`.
pub(super) fn races(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let lines = device.last_race.map_or(String::new(), |(earlier, later)| {
        format!(", last{}{}", place(" at ", later), place(" with ", earlier))
    });
    let count = figures::plural(device.races, "race", "races");
    Line::styled(text::clip(&format!("▲ {count} on memory{lines}"), width), theme.error)
}

/// What the device could not give.
pub(super) fn refusals(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let asked = match device.last_refused {
        bytes @ GIB.. => format!("{:.2} GiB", bytes as f64 / GIB as f64),
        bytes => figures::bytes(bytes),
    };
    let text = match device.out_of_memory {
        1 => format!("▲ out of memory: {asked} tried"),
        n => format!("▲ out of memory {} times, last {asked} tried", figures::count(n)),
    };
    Line::styled(text::clip(&text, width), theme.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Device;
    use crate::lab::model::theme::{Colour, Look};

    fn device(allocated: u64, reserved: u64, peak: u64) -> DeviceTally {
        let tally = DeviceTally::of(Device::Cuda(0));
        DeviceTally {
            name: "Tesla T4 (simulated)".into(),
            simulated: true,
            total: 1 << 30,
            allocated,
            reserved,
            peak,
            ..tally
        }
    }

    fn drawn(device: &DeviceTally, scale: u64, columns: usize) -> String {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        bar(device, scale, columns, &theme).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_bar_is_to_scale_and_shows_whatever_is_held() {
        let half = device(512 << 20, 768 << 20, 1 << 30);
        assert_eq!(drawn(&half, 1 << 30, 8), "████▒▒░┆");
        assert_eq!(drawn(&device(512, 2 << 20, 512), 1 << 30, 8), "█▒░░░░░░");
        assert_eq!(drawn(&device(0, 0, 0), 1 << 30, 4), "░░░░");
        let mut shared = device(256 << 20, 256 << 20, 0);
        shared.told_free = Some((512 << 20, 256 << 20));
        assert_eq!(drawn(&shared, 1 << 30, 8), "██▚▚░░░░");
        assert_eq!((shared.other(), shared.free()), (Some(256 << 20), 512 << 20));
        assert_eq!(drawn(&device(1 << 30, 1 << 30, 1 << 30), 1 << 30, 4), "████");
    }

    #[test]
    fn waits_that_are_not_listed_are_counted() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let mut tally = device(0, 0, 0);
        for line in 1..=5u32 {
            let cause = crate::base::event::Name::new("item");
            (0..line).for_each(|_| tally.wait(true, cause, Source::at(2, line)));
        }
        let lines: Vec<String> = waits(&tally, 60, &theme).iter().map(ToString::to_string).collect();
        assert_eq!(lines[0], "  ▲ 5 implicit: item at In [2]:5");
        assert_eq!(lines[2], "  ▲ 3 implicit: item at In [2]:3, 3 elsewhere");
    }

    #[test]
    fn races_name_the_lines_of_the_last() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let mut tally = device(0, 0, 0);
        tally.races = 1;
        assert_eq!(races(&tally, 60, &theme).to_string(), "▲ 1 race on memory");
        let source = |line| Source::at(3, line);
        (tally.races, tally.last_race) = (2, Some((source(4), source(5))));
        let shown = races(&tally, 60, &theme).to_string();
        assert_eq!(shown, "▲ 2 races on memory, last at In [3]:5 with In [3]:4");
    }

    #[test]
    fn counters_are_exact_as_long_as_they_fit() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let mut tally = device(0, 0, 0);
        (tally.launches, tally.syncs, tally.implicit_syncs) = (20_002, 2_000, 1_999);
        let shown = |width| counters(&tally, width, &theme).to_string();
        assert_eq!(shown(60), "launches 20,002, syncs 2,000, ▲ 1,999 implicit");
        assert_eq!(shown(40), "launches 20,002, syncs 2,000, ▲ 1,999");
        assert_eq!(shown(36), "launches 20002 syncs 2000 ▲ 1999");
        assert_eq!(shown(31), "launches 20k syncs 2000 ▲ 1999");
    }

    #[test]
    fn the_scale_follows_what_is_used() {
        assert_eq!(scale(&device(512, 2 << 20, 512)), 8 << 20);
        assert_eq!(scale(&device(0, 200 << 20, 0)), 1 << 30);
    }
}
