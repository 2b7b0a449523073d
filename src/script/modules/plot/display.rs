//! `display`: a value as what shows it best.

use rhai::{Dynamic, Engine, ImmutableString, Map, NativeCallContext};

use crate::base::near::nearest;
use crate::base::{Error, Result, shape};
use crate::plot::{Figure, Series};
use crate::script::fault::raise;
use crate::tensor::Tensor;

use super::super::RhaiResult;
use super::{Drawn, Screen, heatmap, hist, id_of, image, numbers};

const KINDS: [&str; 5] = ["text", "image", "heatmap", "hist", "line"];
/// A matrix with fewer rows or columns reads better as numbers.
const SMALLEST: usize = 2;

pub fn register(engine: &mut Engine, screen: &Screen) {
    let s = screen.clone();
    engine.register_fn("display", move |context: NativeCallContext, value: Dynamic| {
        display(&s, &context, &value, &Map::new())
    });
    let s = screen.clone();
    engine.register_fn("display", move |context: NativeCallContext, value: Dynamic, options: Map| {
        display(&s, &context, &value, &options)
    });
}

fn display(screen: &Screen, context: &NativeCallContext, value: &Dynamic, options: &Map) -> RhaiResult<()> {
    let id = id_of("display", options, &["kind"]).map_err(raise)?;
    let id = id.as_deref();
    if let Some(drawn) = value.read_lock::<Drawn>() {
        return screen.show(&drawn.0, id);
    }
    let tensor = value.read_lock::<Tensor>().map(|t| t.clone());
    let kind = kind(options, tensor.as_ref()).map_err(raise)?;
    match tensor.filter(|_| kind != "text") {
        Some(tensor) => screen.show(&picture(&tensor, kind).map_err(raise)?, id),
        None => {
            screen.host.text(&text(context, value)?, id);
            Ok(())
        }
    }
}

/// What is asked for, or what suits a tensor.
fn kind(options: &Map, tensor: Option<&Tensor>) -> Result<&'static str> {
    let Some(given) = options.get("kind") else {
        return Ok(match tensor.map(Tensor::shape) {
            Some(&[3, h, w] | &[h, w, 3]) if h.min(w) >= SMALLEST => "image",
            Some(&[rows, columns]) if rows.min(columns) >= SMALLEST => "heatmap",
            _ => "text",
        });
    };
    let name = given.read_lock::<ImmutableString>().map(|s| s.to_string()).unwrap_or_default();
    let Some(known) = KINDS.iter().find(|kind| **kind == name) else {
        let error =
            Error::value(format!("display(): 'kind' must be one of {}, not {given}", KINDS.join(", ")));
        return Err(match nearest(&name, KINDS) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error,
        });
    };
    if tensor.is_none() && *known != "text" {
        return Err(Error::type_error(format!("display(): only a Tensor is shown as '{known}'")));
    }
    Ok(*known)
}

/// A tensor as a figure that says what it shows.
fn picture(tensor: &Tensor, kind: &str) -> Result<Figure> {
    let value = Dynamic::from(tensor.clone());
    let (none, label) = (Map::new(), String::new());
    let series = match kind {
        "image" => image(&value, &none, label)?,
        "hist" => hist(&value, &none, label)?,
        "line" => Series::Line { x: Vec::new(), y: numbers(&value)?, label },
        _ => heatmap(&value, &none, label)?,
    };
    let title = format!("{} {} on {}", tensor.dtype(), shape::show(tensor.shape()), tensor.device());
    Ok(Figure { title, ..series.into() })
}

fn text(context: &NativeCallContext, value: &Dynamic) -> RhaiResult<String> {
    if let Some(tensor) = value.read_lock::<Tensor>() {
        return crate::tensor::display::display(&tensor).map_err(raise);
    }
    let shown = context.call_native_fn::<String>("to_string", (value.clone(),));
    Ok(shown.unwrap_or_else(|_| value.to_string()))
}
