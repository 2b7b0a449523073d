//! Ending the drawing of a figure before it is done.
//!
//! Whoever draws says how to ask whether to stop; what goes through data asks now and then, ends early, and the drawing
//! is an error.

use std::cell::RefCell;
use std::sync::Arc;

use super::PlotError;

/// Answers whether to stop.
pub(crate) type Ask = Arc<dyn Fn() -> bool + Send + Sync>;

/// Values, points or pixels between two questions.
const BETWEEN: usize = 1 << 14;

thread_local! {
    static ASK: RefCell<Option<Ask>> = const { RefCell::new(None) };
}

/// Does some work on figures, which ends early once `ask` says so.
///
/// # Errors
/// Those of the work, and [`PlotError::Stopped`].
pub fn unless<T>(ask: &Ask, work: impl FnOnce() -> Result<T, PlotError>) -> Result<T, PlotError> {
    let before = ASK.replace(Some(Arc::clone(ask)));
    let done = work();
    ASK.set(before);
    if ask() { Err(PlotError::Stopped) } else { done }
}

/// The error to end with, where the work is to stop. What was made until then may be incomplete.
///
/// # Errors
/// The work is to stop.
pub(super) fn check() -> Result<(), PlotError> {
    if asked() { Err(PlotError::Stopped) } else { Ok(()) }
}

/// Whether to stop.
pub(super) fn asked() -> bool {
    ASK.with_borrow(|ask| ask.as_ref().is_some_and(|ask| ask()))
}

/// The items until the work is to stop; whoever makes something of them asks with [`check`] afterwards.
pub(super) fn until<I: Iterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut passed = 0usize;
    items.take_while(move |_| {
        passed = passed.wrapping_add(1);
        !passed.is_multiple_of(BETWEEN) || !asked()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::figure::{Figure, Series};
    use crate::plot::{Bins, ColorMap};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn wherever_a_figure_is_stopped_it_is_an_error() {
        let (x, label) = (Vec::new(), String::new());
        let values: Vec<f64> = (0..1 << 16).map(|i| f64::from(i * 7919 % 10007)).collect();
        let data: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        let (color_map, range) = (ColorMap::Gray, None);
        let figures = [
            Series::Line { x: x.clone(), y: values.clone(), label: label.clone() },
            Series::Scatter { x, y: values.clone(), label: label.clone() },
            Series::Hist { values, weights: Vec::new(), bins: Bins::default(), label },
            Series::Image { height: 256, width: 256, channels: 1, data, color_map, range },
        ]
        .map(Figure::from);
        for figure in figures {
            // Drawn in all ways, stopped at each of the first questions and at some of the later ones.
            for last in (0..8).chain((8..1200).step_by(173)) {
                let asked = Arc::new(AtomicUsize::new(0));
                let counter = Arc::clone(&asked);
                let ask: Ask = Arc::new(move || counter.fetch_add(1, Ordering::Relaxed) >= last);
                let drawn = unless(&ask, || {
                    figure.to_png()?;
                    figure.to_svg()?;
                    figure.copied()?.compact()?;
                    Ok(figure.to_text(78, 20, false))
                });
                let questions = asked.load(Ordering::Relaxed);
                assert!(questions <= last || matches!(drawn, Err(PlotError::Stopped)), "{drawn:?}");
            }
            assert!(!super::asked(), "nobody is asked afterwards");
        }
    }

    #[test]
    fn a_figure_that_is_stopped_is_an_error_and_soon_over() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let ask: Ask = Arc::new(move || counter.fetch_add(1, Ordering::Relaxed) >= 2);
        let (x, label) = (Vec::new(), String::new());
        let figure = Figure::from(Series::Line { x, y: vec![1.0; 1 << 20], label });
        let drawn = unless(&ask, || Ok(figure.to_text(78, 20, false)));
        assert!(matches!(drawn, Err(PlotError::Stopped)));
        assert!(asked.load(Ordering::Relaxed) < 20, "each walk ends at its next question");
        assert!(!super::asked(), "nobody is asked afterwards");
    }
}
