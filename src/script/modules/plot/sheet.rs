//! The figure that calls draw on.

use std::sync::Arc;

use rhai::Dynamic;

use crate::base::Error;
use crate::plot::{Figure, PlotError, Series};
use crate::script::call::{Call, Outcome, Sheet};

use super::options::FigureOptions;
use super::screen::{Drawn, lock};

/// Makes a figure the current one.
pub(super) fn place(call: &Call, function: &str, told: &FigureOptions, mut figure: Figure) -> Outcome {
    told.apply(&mut figure, function)?;
    let figure = Arc::new(figure.compact().map_err(wrong)?);
    *lock(&call.here.figure) = Sheet { figure: Arc::clone(&figure), unseen: true };
    Ok(Dynamic::from(Drawn(figure)))
}

/// Tells the current figure something.
pub(super) fn set(call: &Call, function: &str, told: &FigureOptions) -> Outcome {
    let mut sheet = lock(&call.here.figure);
    let mut next = sheet.figure.copied().map_err(Error::from)?;
    told.apply(&mut next, function)?;
    sheet.figure = Arc::new(next);
    Ok(Dynamic::from(Drawn(Arc::clone(&sheet.figure))))
}

/// Draws one more series on the current figure.
pub(super) fn add(call: &Call, function: &str, told: &FigureOptions, mut series: Series) -> Outcome {
    let mut sheet = lock(&call.here.figure);
    let mut next = sheet.figure.copied().map_err(Error::from)?;
    told.apply(&mut next, function)?;
    stand_beside(&mut series, &next.series);
    next.series.push(series);
    next.check().map_err(wrong)?;
    *sheet = Sheet { figure: Arc::new(next), unseen: true };
    Ok(Dynamic::from(Drawn(Arc::clone(&sheet.figure))))
}

/// Gives bars without names the places of those before them that are as many.
fn stand_beside(series: &mut Series, before: &[Series]) {
    let Series::Bar { labels, values, .. } = series else { return };
    let named = before.iter().find_map(|before| match before {
        Series::Bar { labels, .. } if labels.len() == values.len() => Some(labels),
        _ => None,
    });
    if let (true, Some(named)) = (labels.is_empty(), named) {
        labels.clone_from(named);
    }
}

fn wrong(error: PlotError) -> Error {
    let hint = matches!(error, PlotError::Mixed { .. });
    let error = Error::from(error);
    if hint { error.with_hint("`plot::figure()` begins a new figure") } else { error }
}
