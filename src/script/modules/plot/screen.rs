//! Where figures are shown.

use std::sync::{Arc, MutexGuard};

use rhai::{Dynamic, ImmutableString};

use crate::base::figures::{plural, word};
use crate::base::{Error, Result};
use crate::device::Shared;
use crate::plot::stop::{self, Ask};
use crate::plot::{Figure, PlotError, save};
use crate::script::call::{Current, Here, Outcome, Sheet};
use crate::script::host::Host;

/// A figure as it was when it was drawn on.
#[derive(Clone)]
pub struct Drawn(pub(super) Arc<Figure>);

/// Where figures go, and what ends their drawing early.
pub(crate) struct Screen<'h> {
    pub(super) host: &'h Arc<dyn Host>,
    pub(super) shared: &'h Arc<Shared>,
    pub(super) ask: Ask,
    current: &'h Current,
}

impl Screen<'_> {
    pub(super) fn of(here: &Here) -> Screen<'_> {
        let shared = Arc::clone(&here.machine.shared);
        let ask = move || shared.cancel.is_set();
        Screen { host: &here.host, shared: &here.machine.shared, ask: Arc::new(ask), current: &here.figure }
    }

    /// Writes a PNG or SVG file, by the path's extension.
    pub(super) fn save(&self, figure: &Figure, path: &str) -> Outcome {
        stop::unless(&self.ask, || save(figure, path.as_ref())).map_err(|e| self.raised(&e))?;
        self.seen(figure);
        // A drawing names its font, and who shows it has others.
        let lacking = if path.to_ascii_lowercase().ends_with(".png") { figure.lacking() } else { 0 };
        if lacking > 0 {
            let characters = plural(lacking as u64, "character", "characters");
            self.shared.warn(&format!(
                "{characters} of the figure {} not in the font of pictures, and stand in {path} as boxes; an .svg has them",
                word(lacking as u64, "is", "are")
            ));
        }
        Ok(Dynamic::UNIT)
    }

    /// The current figure need not be shown when its cell ends.
    fn seen(&self, figure: &Figure) {
        let mut sheet = lock(self.current);
        if std::ptr::eq(Arc::as_ptr(&sheet.figure), figure) {
            sheet.unseen = false;
        }
    }

    pub(super) fn show(&self, figure: &Figure, id: Option<&str>) -> Outcome {
        self.seen(figure);
        let figure = stop::unless(&self.ask, || figure.copied()?.compact()).map_err(|e| self.raised(&e))?;
        self.host.figure(&figure, id);
        Ok(Dynamic::UNIT)
    }

    pub(super) fn raised(&self, error: &PlotError) -> Error {
        match error {
            PlotError::Stopped => self.shared.cancel.error(),
            other => other.clone().into(),
        }
    }
}

/// What a figure or a value is shown under.
pub(crate) fn id_of(function: &str, id: &Dynamic) -> Result<Option<String>> {
    match id.read_lock::<ImmutableString>() {
        Some(id) => Ok(Some(id.to_string())),
        None if id.is_unit() => Ok(None),
        None => Err(Error::type_error(format!("{function}(): 'id' must be a string, not {id}"))),
    }
}

pub(super) fn lock(current: &Current) -> MutexGuard<'_, Sheet> {
    current.lock().unwrap_or_else(|e| e.into_inner())
}

/// Ends the current figure: what is drawn next begins another one. Gives it where nobody has seen it; a value that is
/// this figure shows it.
pub(crate) fn close(current: &Current, value: Option<&Dynamic>) -> Option<Figure> {
    let sheet = std::mem::take(&mut *lock(current));
    let is_value =
        value.and_then(|value| value.read_lock::<Drawn>()).is_some_and(|d| Arc::ptr_eq(&d.0, &sheet.figure));
    let unseen = sheet.unseen && !is_value && !sheet.figure.series.is_empty();
    unseen.then(|| sheet.figure.copied().and_then(Figure::compact).ok()).flatten()
}
