//! `display`: a value as what shows it best.

use rhai::{Dynamic, ImmutableString, NativeCallContext};

use crate::base::{Error, Result};
use crate::op::params::params;
use crate::op::{Family, OpDef};
use crate::plot::{Bins, Figure, Series};
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::carry;
use crate::script::modules::plot::screen::{Drawn, Screen, id_of};
use crate::tensor::Tensor;

use super::series;

const KINDS: [&str; 5] = ["text", "image", "heatmap", "hist", "line"];
/// A matrix with fewer rows or columns reads better as numbers.
const SMALLEST: usize = 2;

params! {
    DisplayParams {
        value: Given, "what is shown";
        kind: Given = (), "how a tensor is shown: \"text\", \"image\", \"heatmap\", \"hist\" or \"line\"; by its shape otherwise";
        id: Given = (), "a string; what was shown under the same one before makes room";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[ScriptRow::of(
    OpDef::script("display", Family::Figure, "Shows a value as what suits it.", DisplayParams::LIST)
        .own()
        .details(
            "A figure is shown as a picture, a tensor [3, h, w] or [h, w, 3] as an image, a matrix as a heat map, any \
             other value as text.",
        )
        .errors(&["ValueError: there is no such kind", "TypeError: what is no Tensor is shown as text only"])
        .example("display(rand([4, 4]), #{kind: \"heatmap\"}); 1", "1"),
    display,
)];

fn display(call: &mut Call) -> Outcome {
    let given = DisplayParams::of(&call.args)?;
    let screen = Screen::of(call.here);
    let id = id_of("display", &given.id)?;
    let id = id.as_deref();
    if let Some(drawn) = given.value.read_lock::<Drawn>() {
        return screen.show(&drawn.0, id);
    }
    let tensor = given.value.read_lock::<Tensor>().map(|t| t.clone());
    let kind = kind(&given.kind, tensor.as_ref())?;
    match tensor.filter(|_| kind != "text") {
        Some(tensor) => screen.show(&picture(&tensor, kind)?, id),
        None => {
            let note = carry::note(&given.value);
            screen.host.text(&format!("{}{note}", text(call.context, &given.value)?), id);
            Ok(Dynamic::UNIT)
        }
    }
}

/// What is asked for, or what suits a tensor.
fn kind(given: &Dynamic, tensor: Option<&Tensor>) -> Result<&'static str> {
    if given.is_unit() {
        return Ok(match tensor.map(Tensor::shape) {
            Some(&[3, h, w] | &[h, w, 3]) if h.min(w) >= SMALLEST => "image",
            Some(&[rows, columns]) if rows.min(columns) >= SMALLEST => "heatmap",
            _ => "text",
        });
    }
    let name = given.read_lock::<ImmutableString>().map(|s| s.to_string()).unwrap_or_default();
    let Some(known) = KINDS.iter().find(|kind| **kind == name) else {
        let error =
            Error::value(format!("display(): 'kind' must be one of {}, not {given}", KINDS.join(", ")));
        return Err(error.with_near(&name, KINDS));
    };
    if tensor.is_none() && *known != "text" {
        return Err(Error::type_error(format!("display(): only a Tensor is shown as '{known}'")));
    }
    Ok(*known)
}

/// A tensor as a figure that says what it shows.
fn picture(tensor: &Tensor, kind: &str) -> Result<Figure> {
    let value = Dynamic::from(tensor.clone());
    let label = String::new();
    let series = match kind {
        "image" => series::image(&value, None, &Dynamic::UNIT)?,
        "hist" => {
            let values = series::numbers(&value)?;
            Series::Hist { values, weights: Vec::new(), bins: Bins::Count(10), label }
        }
        "line" => Series::Line { x: Vec::new(), y: series::numbers(&value)?, label },
        _ => series::matrix(&value, None, &Dynamic::UNIT, Default::default())?,
    };
    let title =
        format!("{} {} on {}", tensor.dtype(), crate::base::dims::show(tensor.shape()), tensor.device());
    Ok(Figure { title, ..series.into() })
}

fn text(context: &NativeCallContext, value: &Dynamic) -> Result<String> {
    if let Some(tensor) = value.read_lock::<Tensor>() {
        return crate::tensor::display::display(&tensor);
    }
    let shown = context.call_native_fn::<String>("to_string", (value.clone(),));
    Ok(shown.unwrap_or_else(|_| value.to_string()))
}
