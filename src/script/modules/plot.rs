//! `plot::`: figures from arrays and tensors.

use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, INT, ImmutableString, Map, Module};

use crate::base::{Error, Result};
use crate::op::args::nearest;
use crate::plot::{Bins, ColorMap, Figure, Scale, Series, save};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] =
    &["plot", "line", "scatter", "bar", "hist", "image", "heatmap", "figure", "save", "show"];

/// What a series or a figure can be told.
const OPTIONS: [&str; 10] =
    ["title", "x_label", "y_label", "label", "bins", "x_scale", "y_scale", "width", "height", "labels"];

/// The figure that calls add to, until it is shown or begun anew.
type Current = Arc<Mutex<Figure>>;

/// A figure as it was when it was drawn on.
#[derive(Clone)]
struct Drawn(Figure);

pub fn register(engine: &mut Engine, host: &Arc<dyn Host>) {
    let current = Current::default();
    let mut module = Module::new();
    pairs(&mut module, &current);
    values(&mut module, &current);
    let c = Arc::clone(&current);
    module.set_native_fn("figure", move || begin(&c, &Map::new()));
    let c = Arc::clone(&current);
    module.set_native_fn("figure", move |options: Map| begin(&c, &options));
    let c = Arc::clone(&current);
    module.set_native_fn("save", move |path: &str| keep(&lock(&c), path));
    let (c, h) = (Arc::clone(&current), Arc::clone(host));
    module.set_native_fn("show", move || show(&*h, std::mem::take(&mut *lock(&c))));
    engine.register_type_with_name::<Drawn>("figure");
    engine.register_fn("save", |d: &mut Drawn, path: &str| keep(&d.0, path));
    let h = Arc::clone(host);
    engine.register_fn("show", move |d: &mut Drawn| show(&*h, d.0.clone()));
    engine.register_fn("to_string", |d: &mut Drawn| format!("figure of {} series", d.0.series.len()));
    engine.register_static_module("plot", module.into());
}

/// Writes a PNG or SVG file, by the path's extension.
fn keep(figure: &Figure, path: &str) -> RhaiResult<()> {
    save(figure, path.as_ref()).map_err(|e| raise(Error::value(e.to_string())))
}

fn show(host: &dyn Host, figure: Figure) -> RhaiResult<()> {
    host.figure(&figure.compact().map_err(|e| raise(Error::value(e.to_string())))?);
    Ok(())
}

fn lock(current: &Current) -> std::sync::MutexGuard<'_, Figure> {
    current.lock().unwrap_or_else(|e| e.into_inner())
}

/// `line` and `scatter`: y, or x and y, each with options.
fn pairs(module: &mut Module, current: &Current) {
    type Make = fn(Vec<f64>, Vec<f64>, String) -> Series;
    let kinds: [(&str, Make); 2] = [
        ("line", |x, y, label| Series::Line { x, y, label }),
        ("scatter", |x, y, label| Series::Scatter { x, y, label }),
    ];
    for (name, make) in kinds {
        let c = Arc::clone(current);
        module.set_native_fn(name, move |y: Dynamic| {
            add(&c, &Map::new(), |label| Ok(make(Vec::new(), numbers(&y)?, label)))
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |a: Dynamic, b: Dynamic| match b.read_lock::<Map>() {
            Some(options) => add(&c, &options, |label| Ok(make(Vec::new(), numbers(&a)?, label))),
            None => add(&c, &Map::new(), |label| Ok(make(numbers(&a)?, numbers(&b)?, label))),
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |x: Dynamic, y: Dynamic, options: Map| {
            add(&c, &options, |label| Ok(make(numbers(&x)?, numbers(&y)?, label)))
        });
    }
}

/// `bar`, `hist`, `image` and `heatmap`: one argument and options.
fn values(module: &mut Module, current: &Current) {
    type Make = fn(&Dynamic, &Map, String) -> Result<Series>;
    let kinds: [(&str, Make); 4] = [("bar", bar), ("hist", hist), ("image", image), ("heatmap", heatmap)];
    for (name, make) in kinds {
        let c = Arc::clone(current);
        module.set_native_fn(name, move |v: Dynamic| {
            add(&c, &Map::new(), |label| make(&v, &Map::new(), label))
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |v: Dynamic, options: Map| {
            add(&c, &options, |label| make(&v, &options, label))
        });
    }
}

fn begin(current: &Current, options: &Map) -> RhaiResult<Drawn> {
    let mut figure = Figure::default();
    apply(&mut figure, options).map_err(raise)?;
    *lock(current) = figure.clone();
    Ok(Drawn(figure))
}

fn add(current: &Current, options: &Map, make: impl FnOnce(String) -> Result<Series>) -> RhaiResult<Drawn> {
    let mut figure = lock(current);
    let mut next = figure.clone();
    let label = apply(&mut next, options).and_then(|label| {
        next.series.push(make(label)?);
        next.check().map_err(|e| Error::value(e.to_string()))
    });
    label.map_err(raise)?;
    *figure = next.clone();
    Ok(Drawn(next))
}

/// Applies options to a figure; gives the series' label.
fn apply(figure: &mut Figure, options: &Map) -> Result<String> {
    let mut label = String::new();
    for (name, value) in options {
        let text = || value.read_lock::<ImmutableString>().map(|s| s.to_string());
        let wrong = |want: &str| Error::type_error(format!("plot: '{name}' must be {want}, not {value}"));
        let side = || {
            value.as_int().ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| wrong("a size in pixels"))
        };
        let scale = || match text().as_deref() {
            Some("linear") => Ok(Scale::Linear),
            Some("log") => Ok(Scale::Log),
            _ => Err(wrong("\"linear\" or \"log\"")),
        };
        match name.as_str() {
            "title" => figure.title = text().ok_or_else(|| wrong("a string"))?,
            "x_label" => figure.x_label = text().ok_or_else(|| wrong("a string"))?,
            "y_label" => figure.y_label = text().ok_or_else(|| wrong("a string"))?,
            "label" => label = text().ok_or_else(|| wrong("a string"))?,
            "x_scale" => figure.x_scale = scale()?,
            "y_scale" => figure.y_scale = scale()?,
            "width" => figure.width = side()?,
            "height" => figure.height = side()?,
            "bins" | "labels" => {}
            other => {
                let error = Error::type_error(format!("plot has no option '{other}'"));
                return Err(match nearest(other, OPTIONS) {
                    Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                    None => error.with_hint(format!("options are {}", OPTIONS.join(", "))),
                });
            }
        }
    }
    Ok(label)
}

fn bar(v: &Dynamic, options: &Map, label: String) -> Result<Series> {
    let labels = match options.get("labels").and_then(|l| l.read_lock::<Array>().map(|a| a.clone())) {
        Some(names) => names.iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    Ok(Series::Bar { labels, values: numbers(v)?, label })
}

fn hist(v: &Dynamic, options: &Map, label: String) -> Result<Series> {
    let bins = match options.get("bins").and_then(|b| b.as_int().ok()) {
        Some(count) => Bins::Count(count),
        None => Bins::Count(10),
    };
    Ok(Series::Hist { values: numbers(v)?, weights: Vec::new(), bins, label })
}

/// A tensor `[h, w]`, `[h, w, 1]` or `[h, w, 3]`.
fn image(v: &Dynamic, _: &Map, _: String) -> Result<Series> {
    let t = tensor(v)?;
    let (height, width, channels) = match *t.shape() {
        [h, w] => (h, w, 1),
        [h, w, c] => (h, w, c),
        _ => {
            return Err(Error::value(format!(
                "plot::image takes a tensor [h, w] or [h, w, 3], not {:?}",
                t.shape()
            )));
        }
    };
    Ok(Series::Image { height, width, channels, data: floats(&t)?, color_map: ColorMap::Gray, range: None })
}

/// A tensor `[rows, columns]`.
fn heatmap(v: &Dynamic, _: &Map, _: String) -> Result<Series> {
    let t = tensor(v)?;
    let &[rows, columns] = t.shape() else {
        return Err(Error::value(format!(
            "plot::heatmap takes a tensor [rows, columns], not {:?}",
            t.shape()
        )));
    };
    Ok(Series::Heatmap {
        rows,
        columns,
        data: floats(&t)?,
        row_labels: Vec::new(),
        column_labels: Vec::new(),
        color_map: ColorMap::Viridis,
        range: None,
    })
}

fn tensor(v: &Dynamic) -> Result<Tensor> {
    v.read_lock::<Tensor>()
        .map(|t| t.clone())
        .ok_or_else(|| Error::type_error(format!("a Tensor is drawn here, not a {}", type_name(v))))
}

fn floats(t: &Tensor) -> Result<Vec<f32>> {
    Ok(t.to_f64s("plot")?.into_iter().map(|v| v as f32).collect())
}

/// A tensor's elements, or an array of numbers and one-element tensors.
fn numbers(v: &Dynamic) -> Result<Vec<f64>> {
    if let Some(t) = v.read_lock::<Tensor>() {
        return t.to_f64s("plot");
    }
    let Some(items) = v.read_lock::<Array>() else {
        return Err(Error::type_error(format!("numbers are drawn here, not a {}", type_name(v))));
    };
    items
        .iter()
        .map(|item| {
            if let Some(t) = item.read_lock::<Tensor>() {
                return t.item().map(|s| s.as_f64());
            }
            item.as_float()
                .or_else(|_| item.as_int().map(|i: INT| i as f64))
                .map_err(|_| Error::type_error(format!("numbers are drawn here, not a {}", type_name(item))))
        })
        .collect()
}
