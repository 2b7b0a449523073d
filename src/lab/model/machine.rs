//! How the machine is looked at: which part scrolls, what is picked, which stretch of time is shown.

use crate::base::event::{Clock, Source};
use crate::lab::model::history::History;
use crate::lab::model::history::order::TensorKey;
use crate::lab::model::history::timeline::LaneId;

/// A part of the machine that has a list of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Section {
    Memory,
    #[default]
    Tensors,
    Transfers,
    Timeline,
}

impl Section {
    pub const ALL: [Section; 4] = [Section::Memory, Section::Tensors, Section::Transfers, Section::Timeline];

    /// The next or previous one, around.
    pub fn turned(self, forward: bool) -> Section {
        let count = Section::ALL.len();
        let at = Section::ALL.iter().position(|section| *section == self).unwrap_or(0);
        let to = if forward { at + 1 } else { at + count - 1 };
        Section::ALL.get(to % count).copied().unwrap_or_default()
    }

    /// Where an event is listed.
    pub(crate) fn of_event(history: &History, seq: u64) -> Section {
        if history.transfer(seq).is_some() { Section::Transfers } else { Section::Timeline }
    }

    pub fn name(self) -> &'static str {
        match self {
            Section::Memory => "memory",
            Section::Tensors => "tensors",
            Section::Transfers => "transfers",
            Section::Timeline => "timeline",
        }
    }
}

/// What is picked on the machine: its line in the code is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pick {
    Tensor(TensorKey),
    /// A copy, a launch or a wait by its number in the stream of events.
    Event(u64),
}

/// A stretch of a clock, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub start: u64,
    pub length: u64,
}

impl Window {
    pub(crate) fn end(self) -> u64 {
        self.start.saturating_add(self.length)
    }
}

/// The shortest stretch that is shown.
const SHORTEST: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MachineView {
    /// Bars show a whole device, not only the part in use.
    pub whole: bool,
    pub section: Section,
    pub pick: Option<Pick>,
    /// The lane that events are picked from.
    pub lane: Option<LaneId>,
    /// The stretches shown of the modelled and of the measured clock; a run's where none is chosen.
    windows: [Option<Window>; 2],
}

impl MachineView {
    /// The session is gone, and with it what could be picked.
    pub(crate) fn forget(&mut self) {
        (self.pick, self.lane, self.windows) = (None, None, [None; 2]);
    }

    /// The stretch of a clock that is shown: what was chosen, else what the run that is looked at did, or the last one.
    pub(crate) fn window(&self, history: &History, clock: Clock) -> Option<Window> {
        let chosen = self.windows.get(usize::from(clock == Clock::Measured)).copied().flatten();
        chosen.or_else(|| {
            let extent = history.timeline().extent(clock)?;
            Some(fitted(extent.start, extent.end))
        })
    }

    /// Shows a run's stretch again, or with `all` everything that is kept.
    pub(crate) fn fit(&mut self, history: &History, all: bool) {
        self.windows = [None; 2];
        if all {
            for clock in [Clock::Modelled, Clock::Measured] {
                let whole = history.timeline().whole(clock);
                self.choose(clock, whole.map(|(start, end)| fitted(start, end)));
            }
        }
    }

    /// Shows twice as much or half of a clock, around a moment or the middle.
    pub(crate) fn zoom(&mut self, history: &History, clock: Clock, closer: bool, around: Option<u64>) {
        let Some(shown) = self.window(history, clock) else { return };
        let around = around.unwrap_or(shown.start.saturating_add(shown.length / 2));
        let around = around.clamp(shown.start, shown.end());
        let length = if closer {
            (shown.length / 2).max(SHORTEST)
        } else {
            shown.length.saturating_mul(2).max(SHORTEST)
        };
        // The moment keeps its place on the screen.
        let before = u128::from(around - shown.start) * u128::from(length) / u128::from(shown.length.max(1));
        let start = around.saturating_sub(u64::try_from(before).unwrap_or(u64::MAX));
        self.choose(clock, Some(Window { start, length }));
    }

    /// Moves a clock's stretch by a quarter of itself.
    pub(crate) fn pan(&mut self, history: &History, clock: Clock, forward: bool) {
        let Some(shown) = self.window(history, clock) else { return };
        let by = (shown.length / 4).max(1);
        let start = if forward { shown.start.saturating_add(by) } else { shown.start.saturating_sub(by) };
        self.choose(clock, Some(Window { start, ..shown }));
    }

    /// Moves a clock's stretch so that it holds a span, or its beginning.
    pub(crate) fn reveal(&mut self, history: &History, clock: Clock, start: u64, end: u64) {
        let Some(shown) = self.window(history, clock) else { return };
        if start < shown.start || end > shown.end() {
            let room = shown.length.saturating_sub(end.saturating_sub(start));
            self.choose(clock, Some(Window { start: start.saturating_sub(room / 2), ..shown }));
        }
    }

    fn choose(&mut self, clock: Clock, window: Option<Window>) {
        if let Some(place) = self.windows.get_mut(usize::from(clock == Clock::Measured)) {
            *place = window;
        }
    }

    /// The cell and line that what is picked comes from.
    pub(crate) fn source(&self, history: &History) -> Option<Source> {
        let source = match self.pick? {
            Pick::Tensor(key) => history.tensor(key)?.source,
            Pick::Event(seq) => match history.transfer(seq) {
                Some(transfer) => transfer.source,
                None => history.timeline().find(seq)?.1.source,
            },
        };
        (source != Source::default()).then_some(source)
    }
}

fn fitted(start: u64, end: u64) -> Window {
    Window { start, length: end.saturating_sub(start).max(SHORTEST) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Device;
    use crate::base::event::{Body, Event, Name, Span};

    fn history() -> History {
        let mut history = History::default();
        for (seq, start) in [(0, 1000), (1, 3000)] {
            let span = Span { start, nanos: 1000, clock: Clock::Modelled };
            let (device, cause) = (Device::Cuda(0), Name::new("item"));
            let body = Body::Sync { device, implicit: true, cause, span };
            history.fold(Event { seq, source: Source::at(1, 2), body });
        }
        history
    }

    #[test]
    fn the_last_cell_is_shown_until_a_stretch_is_chosen() {
        let history = history();
        let mut view = MachineView::default();
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 1000, length: 3000 }));
        assert_eq!(view.window(&history, Clock::Measured), None);
        view.zoom(&history, Clock::Modelled, true, Some(1000));
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 1000, length: 1500 }));
        view.pan(&history, Clock::Modelled, true);
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 1375, length: 1500 }));
        view.reveal(&history, Clock::Modelled, 3000, 4000);
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 2750, length: 1500 }));
        view.fit(&history, false);
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 1000, length: 3000 }));
    }

    #[test]
    fn a_run_is_shown_whole_whatever_cells_its_functions_are_of() {
        let mut history = History::default();
        let wait = |history: &mut History, cell: u32, start: u64| {
            let span = Span { start, nanos: 1000, clock: Clock::Modelled };
            let (device, cause) = (Device::Cuda(0), Name::new("item"));
            let body = Body::Sync { device, implicit: true, cause, span };
            history.fold(Event { seq: start, source: Source::at(cell, 1), body });
        };
        history.begin(1);
        wait(&mut history, 1, 1000);
        history.begin(2);
        [(2, 5000), (1, 7000), (2, 9000)]
            .into_iter()
            .for_each(|(cell, start)| wait(&mut history, cell, start));
        let view = MachineView::default();
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 5000, length: 5000 }));
        assert!(history.look_at(Some(1)) && !history.look_at(Some(1)));
        assert_eq!(view.window(&history, Clock::Modelled), Some(Window { start: 1000, length: 1000 }));
        history.look_at(Some(7));
        assert_eq!(
            view.window(&history, Clock::Modelled),
            Some(Window { start: 5000, length: 5000 }),
            "the last"
        );
    }

    #[test]
    fn zooming_has_an_end_at_either_side() {
        let history = history();
        let mut view = MachineView::default();
        for _ in 0..200 {
            view.zoom(&history, Clock::Modelled, false, None);
        }
        assert_eq!(view.window(&history, Clock::Modelled).map(|w| w.length), Some(u64::MAX));
        for _ in 0..200 {
            view.zoom(&history, Clock::Modelled, true, None);
        }
        assert_eq!(view.window(&history, Clock::Modelled).map(|w| w.length), Some(SHORTEST));
    }

    #[test]
    fn what_is_picked_knows_its_line() {
        let history = history();
        let view = MachineView { pick: Some(Pick::Event(1)), ..MachineView::default() };
        assert_eq!(view.source(&history), Some(Source::at(1, 2)));
        let view = MachineView { pick: Some(Pick::Event(9)), ..MachineView::default() };
        assert_eq!(view.source(&history), None);
    }
}
