//! What the machine's figures mean, in PyTorch's words.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::{centred, inner};
use crate::lab::model::machine::Section;
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;

const WIDTH: u16 = 84;

/// A figure or a word of the machine, and what it means.
struct Term {
    section: Section,
    name: &'static str,
    means: &'static str,
}

const fn term(section: Section, name: &'static str, means: &'static str) -> Term {
    Term { section, name, means }
}

use Section::{Memory, Tensors, Timeline, Transfers};

const TERMS: &[Term] = &[
    term(
        Memory,
        "allocated",
        "Bytes that live tensors hold, rounded up to 512: torch.cuda.memory_allocated().",
    ),
    term(
        Memory,
        "reserved",
        "All bytes that the caching allocator has taken from the device, in use or not: \
         torch.cuda.memory_reserved(). It is allocated + cached.",
    ),
    term(
        Memory,
        "cached",
        "Reserved, but held by no tensor: kept for the next request, because taking memory from the device is slow. \
         torch.cuda.empty_cache() gives whole free segments back; no tensor is freed by it.",
    ),
    term(
        Memory,
        "other",
        "Taken from the device, but not by this allocator: the CUDA context and other programs. nvidia-smi counts it \
         in, memory_allocated() does not. n/a where the device does not say.",
    ),
    term(
        Memory,
        "free",
        "What can still be taken from the device: the first number of torch.cuda.mem_get_info().",
    ),
    term(
        Memory,
        "peak",
        "The most that was allocated at one time: torch.cuda.max_memory_allocated(). \
         reset_peak_memory_stats() starts it anew. The bar has a mark there.",
    ),
    term(
        Memory,
        "segment",
        "A stretch of memory taken from the device in one piece (cudaMalloc): 2 MiB for small tensors, 20 MiB or more \
         for large ones. It can go back only when all of it is free.",
    ),
    term(
        Memory,
        "block",
        "A part of a segment: one tensor's storage, or free. A free block is split for a smaller request, and joined \
         with its free neighbours when it comes back. Free blocks next to held ones are inactive_split in \
         memory_stats().",
    ),
    term(
        Memory,
        "fragmentation",
        "How much of the cached memory a single request can't use, since it lies in several pieces: 1 - largest free \
         block / all cached. At 0 % one block has it all; near 100 % there is memory, but no room.",
    ),
    term(
        Memory,
        "out of memory",
        "A request that neither a cached block nor the device could serve, after the cache was given back. The \
         figure is what was asked for.",
    ),
    term(
        Memory,
        "launches",
        "Kernels that the host has put on a stream. Each costs the host some microseconds, however little it computes.",
    ),
    term(
        Memory,
        "syncs",
        "How often the host waited for a device: torch.cuda.synchronize(), a stream's or an event's, and all the \
         implicit ones.",
    ),
    term(
        Memory,
        "implicit sync",
        "A wait that nobody asked for: .item(), .cpu(), printing a tensor, or a condition on one need its values, so \
         the host stops until the device has computed them. In a loop it leaves the GPU idle.",
    ),
    term(
        Memory,
        "utilisation, power, temperature, PCIe",
        "What NVML tells of a real GPU, as nvidia-smi shows it. n/a where no driver gives it; a simulated device has \
         none.",
    ),
    term(
        Memory,
        "SIM, modelled, measured",
        "A simulated device computes real values and counts real bytes; its times come from a model and are called \
         modelled. Measured times are this computer's own. The two are never added.",
    ),
    term(
        Tensors,
        "live tensor",
        "A storage that something still refers to: a variable, a view, the graph for the backward pass. It goes with \
         the last of them, not before.",
    ),
    term(
        Tensors,
        "name",
        "The variables that hold it, also within arrays, maps and modules. Without a name (–) it lives in the graph, \
         in an optimiser's state, or in a function that runs.",
    ),
    term(
        Tensors,
        "dtype",
        "The type of its elements: f32 is torch.float32, bf16 torch.bfloat16, i64 torch.int64.",
    ),
    term(
        Tensors,
        "grad",
        "'grad: none' requires a gradient (requires_grad) and has none yet; 'has .grad' takes as much memory again, \
         until zero_grad() sets it to none.",
    ),
    term(Tensors, "bytes", "Elements x bytes of one element. The allocator rounds it up."),
    term(
        Transfers,
        "direction",
        "cpu→cuda:0 is host to device (h2d), cuda:0→cpu device to host (d2h), cuda:0→cuda:1 device to device (d2d).",
    ),
    term(
        Transfers,
        "GB/s",
        "10^9 bytes a second of this copy. Small copies are slow: their start costs the most.",
    ),
    term(
        Transfers,
        "pageable",
        "Ordinary main memory, which the system may move. The driver copies it through a buffer of its own, and the \
         host waits, non_blocking or not.",
    ),
    term(
        Transfers,
        "pinned",
        "Page-locked main memory: pin_memory(). The device reads it by itself, faster, and with non_blocking = true \
         the host goes on meanwhile.",
    ),
    term(
        Transfers,
        "waits, async",
        "Whether the host was held until the copy had ended (blocking), or went on (non_blocking from pinned memory).",
    ),
    term(
        Timeline,
        "lane",
        "What one thread of the host, or one stream of a device, did in its order. A loader's workers are threads \
         of their own. Things on different lanes can run at the same time.",
    ),
    term(
        Timeline,
        "stream",
        "A queue of a device: what is put on it runs in order. Work on different streams may overlap; \
         torch.cuda.Stream() makes one, events order them.",
    ),
    term(
        Timeline,
        "synchronise",
        "To let the host wait until a device has done its work. Kernels are only queued when a line has run: a timing \
         without synchronising measures the queueing.",
    ),
    term(
        Timeline,
        "height of a column",
        "How much of that time the stream was busy: a full column had no gap, a low one was mostly idle.",
    ),
];

/// Columns for the text.
pub fn columns(area: Rect) -> usize {
    usize::from(inner(area).width).saturating_sub(2)
}

pub fn place(area: Rect) -> Rect {
    centred(area, WIDTH, area.height.saturating_sub(2))
}

pub fn lines(columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let mut section = None;
    for term in TERMS {
        if section != Some(term.section) {
            if section.is_some() {
                out.push(Line::default());
            }
            section = Some(term.section);
            out.push(Line::styled(term.section.name(), theme.accent));
        }
        let spans =
            [Span::styled(format!("{}: ", term.name), theme.strong), Span::styled(term.means, theme.text)];
        out.extend(text::wrap(&spans, columns, Break::Words));
    }
    out
}

/// Rows of the glossary, and how many of them are seen at once on a screen of this size.
pub fn extent(area: Rect, theme: &Theme) -> (usize, usize) {
    let place = place(area);
    (lines(columns(place), theme).len(), usize::from(inner(place).height))
}

/// The row at which the words of a section begin.
pub fn row_of(section: Section, area: Rect, theme: &Theme) -> usize {
    let heading = Line::styled(section.name(), theme.accent);
    lines(columns(place(area)), theme).iter().position(|line| *line == heading).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_words_and_they_stand_together() {
        let sections: Vec<Section> = TERMS.iter().map(|term| term.section).collect();
        let mut runs: Vec<Section> = sections.clone();
        runs.dedup();
        assert_eq!(runs, Section::ALL);
        for word in [
            "allocated",
            "reserved",
            "cached",
            "peak",
            "fragmentation",
            "segment",
            "block",
            "pageable",
            "pinned",
            "stream",
            "synchronise",
            "implicit sync",
        ] {
            assert!(TERMS.iter().any(|term| term.name == word), "{word}");
        }
    }
}
