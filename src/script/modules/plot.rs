//! `plot::`: figures from arrays and tensors.

mod display;

use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, INT, ImmutableString, Map, Module};

use crate::base::near::nearest;
use crate::base::{Error, Result, memory};
use crate::device::{Machine, Shared};
use crate::plot::stop::{self, Ask};
use crate::plot::{Bins, ColorMap, Figure, PlotError, Scale, Series, save};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] =
    &["plot", "line", "scatter", "bar", "hist", "image", "heatmap", "figure", "save", "show", "display"];

/// What any figure can be told.
const FIGURE: [&str; 7] = ["title", "x_label", "y_label", "x_scale", "y_scale", "width", "height"];

/// What the series of a function can be told beside.
fn own_options(function: &str) -> &'static [&'static str] {
    match function {
        "line" | "scatter" => &["label"],
        "bar" => &["label", "labels"],
        "hist" => &["label", "bins", "weights"],
        "image" => &["color_map", "range"],
        "heatmap" => &["color_map", "range", "row_labels", "column_labels"],
        _ => &[],
    }
}

const EVERY: &str = "Every function takes options of the figure as well: title, x_label, y_label, x_scale and y_scale \
                     (\"linear\" or \"log\"), width and height in pixels. Calls add to the same figure until \
                     plot::figure() begins another.";

const fn page(name: &'static str, call: &'static str, text: &'static str) -> Page {
    Page { name, call, text }
}

pub const PAGES: &[Page] = &[
    page("plot", "plot::… (line scatter bar hist image heatmap figure save show)", EVERY),
    page(
        "plot::figure",
        "plot::figure(#{title, x_label, y_label, x_scale, y_scale, width, height})",
        "Begins a new figure; the calls that follow draw on it. Scales are \"linear\" or \"log\", sizes in pixels.",
    ),
    page(
        "plot::line",
        "plot::line(y), plot::line(x, y, #{label})",
        "Joins points in order. x and y are arrays or tensors; without x the points stand at 0, 1, 2, ….",
    ),
    page("plot::scatter", "plot::scatter(y), plot::scatter(x, y, #{label})", "Points, not joined."),
    page(
        "plot::bar",
        "plot::bar(values, #{labels, label})",
        "One bar for each value; labels names them. A second call draws its bars beside those of the first.",
    ),
    page(
        "plot::hist",
        "plot::hist(values, #{bins, weights, label})",
        "How many values fall into each bin; bins is a number (10) or an array of edges.",
    ),
    page(
        "plot::image",
        "plot::image(t, #{color_map, range})",
        "A picture from a tensor [h, w], [h, w, 1 or 3] or [1 or 3, h, w]. color_map is \"gray\" or \"viridis\"; \
         range is [lowest, highest], by default those of the values. A picture stands in a figure of its own.",
    ),
    page(
        "plot::heatmap",
        "plot::heatmap(t, #{row_labels, column_labels, color_map, range})",
        "A matrix as coloured cells, with their values where these fit.",
    ),
    page(
        "display",
        "display(value, #{id, kind})",
        "Shows a value: a figure as a picture, a tensor [3, h, w] or [h, w, 3] as an image, a matrix as a heat map, any \
         other value as text. kind chooses for a tensor: \"text\", \"image\", \"heatmap\", \"hist\" or \"line\". What was \
         shown under the same id before makes room.",
    ),
    page(
        "plot::save",
        "plot::save(path)",
        "Writes the current figure to a .png or .svg file. A figure itself has it too: plot::line(y).save(path).",
    ),
    page(
        "plot::show",
        "plot::show(#{id})",
        "Shows the current figure, and the next call begins a new one. A figure itself has it too. What was shown under \
         the same id before makes room: curves of a training are drawn anew in their place.",
    ),
];

/// The figure that calls add to, until it is shown or begun anew.
type Current = Arc<Mutex<Arc<Figure>>>;

/// A figure as it was when it was drawn on.
#[derive(Clone)]
struct Drawn(Arc<Figure>);

pub fn register(engine: &mut Engine, machine: &Machine, host: &Arc<dyn Host>) {
    let current = Current::default();
    let screen = Screen::new(machine, host);
    let mut module = Module::new();
    pairs(&mut module, &current);
    values(&mut module, &current);
    let c = Arc::clone(&current);
    module.set_native_fn("figure", move || begin(&c, &Map::new()));
    let c = Arc::clone(&current);
    module.set_native_fn("figure", move |options: Map| begin(&c, &options));
    let c = Arc::clone(&current);
    let s = screen.clone();
    module.set_native_fn("save", move |path: &str| s.save(&lock(&c), path));
    let (c, s) = (Arc::clone(&current), screen.clone());
    module.set_native_fn("show", move || s.show(&taken(&c), None));
    let (c, s) = (Arc::clone(&current), screen.clone());
    module.set_native_fn("show", move |options: Map| -> RhaiResult<()> {
        let id = id_of("plot::show", &options, &[]).map_err(raise)?;
        s.show(&taken(&c), id.as_deref())
    });
    engine.register_type_with_name::<Drawn>("figure");
    let s = screen.clone();
    engine.register_fn("save", move |d: &mut Drawn, path: &str| s.save(&d.0, path));
    let s = screen.clone();
    engine.register_fn("show", move |d: &mut Drawn| s.show(&d.0, None));
    let s = screen.clone();
    engine.register_fn("show", move |d: &mut Drawn, options: Map| -> RhaiResult<()> {
        let id = id_of("show", &options, &[]).map_err(raise)?;
        s.show(&d.0, id.as_deref())
    });
    display::register(engine, &screen);
    engine.register_fn("to_string", |d: &mut Drawn| format!("figure of {} series", d.0.series.len()));
    engine.register_static_module("plot", module.into());
}

/// Where figures go, and what ends their drawing early.
#[derive(Clone)]
struct Screen {
    host: Arc<dyn Host>,
    shared: Arc<Shared>,
    ask: Ask,
}

impl Screen {
    fn new(machine: &Machine, host: &Arc<dyn Host>) -> Screen {
        let shared = Arc::clone(&machine.shared);
        let ask = move || shared.cancel.is_set();
        Screen { host: Arc::clone(host), shared: Arc::clone(&machine.shared), ask: Arc::new(ask) }
    }

    /// Writes a PNG or SVG file, by the path's extension.
    fn save(&self, figure: &Figure, path: &str) -> RhaiResult<()> {
        stop::unless(&self.ask, || save(figure, path.as_ref())).map_err(|e| self.raised(&e))
    }

    fn show(&self, figure: &Figure, id: Option<&str>) -> RhaiResult<()> {
        let figure = stop::unless(&self.ask, || figure.copied()?.compact()).map_err(|e| self.raised(&e))?;
        self.host.figure(&figure, id);
        Ok(())
    }

    fn raised(&self, error: &PlotError) -> Box<rhai::EvalAltResult> {
        match error {
            PlotError::Stopped => raise(self.shared.cancel.error()),
            other => raise(other.clone().into()),
        }
    }
}

/// The figure that a value is, as it is sent to be shown.
pub fn figure_of(value: &Dynamic) -> Option<Figure> {
    let drawn = value.read_lock::<Drawn>()?;
    drawn.0.copied().and_then(Figure::compact).ok()
}

/// The option `id` of a call that shows something; any other but those of `more` is a mistake.
fn id_of(function: &str, options: &Map, more: &[&str]) -> Result<Option<String>> {
    let known: Vec<&str> = more.iter().copied().chain(["id"]).collect();
    if let Some(wrong) = options.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(super::unknown_option(function, wrong, &known));
    }
    let Some(id) = options.get("id") else { return Ok(None) };
    match id.read_lock::<ImmutableString>() {
        Some(id) => Ok(Some(id.to_string())),
        None => Err(Error::type_error(format!("{function}(): 'id' must be a string, not {id}"))),
    }
}

fn lock(current: &Current) -> std::sync::MutexGuard<'_, Arc<Figure>> {
    current.lock().unwrap_or_else(|e| e.into_inner())
}

/// The current figure; the next call begins a new one.
fn taken(current: &Current) -> Arc<Figure> {
    std::mem::take(&mut *lock(current))
}

/// `line` and `scatter`: y, or x and y, each with options.
fn pairs(module: &mut Module, current: &Current) {
    type Make = fn(Vec<f64>, Vec<f64>, String) -> Series;
    let kinds: [(&'static str, Make); 2] = [
        ("line", |x, y, label| Series::Line { x, y, label }),
        ("scatter", |x, y, label| Series::Scatter { x, y, label }),
    ];
    for (name, make) in kinds {
        let c = Arc::clone(current);
        module.set_native_fn(name, move |y: Dynamic| {
            add(&c, name, &Map::new(), |label| Ok(make(Vec::new(), numbers(&y)?, label)))
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |a: Dynamic, b: Dynamic| match b.read_lock::<Map>() {
            Some(options) => add(&c, name, &options, |label| Ok(make(Vec::new(), numbers(&a)?, label))),
            None => add(&c, name, &Map::new(), |label| Ok(make(numbers(&a)?, numbers(&b)?, label))),
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |x: Dynamic, y: Dynamic, options: Map| {
            add(&c, name, &options, |label| Ok(make(numbers(&x)?, numbers(&y)?, label)))
        });
    }
}

/// `bar`, `hist`, `image` and `heatmap`: one argument and options.
fn values(module: &mut Module, current: &Current) {
    type Make = fn(&Dynamic, &Map, String) -> Result<Series>;
    let kinds: [(&'static str, Make); 4] =
        [("bar", bar), ("hist", hist), ("image", image), ("heatmap", heatmap)];
    for (name, make) in kinds {
        let c = Arc::clone(current);
        module.set_native_fn(name, move |v: Dynamic| {
            add(&c, name, &Map::new(), |label| make(&v, &Map::new(), label))
        });
        let c = Arc::clone(current);
        module.set_native_fn(name, move |v: Dynamic, options: Map| {
            add(&c, name, &options, |label| make(&v, &options, label))
        });
    }
}

fn begin(current: &Current, options: &Map) -> RhaiResult<Drawn> {
    let mut figure = Figure::default();
    apply(&mut figure, "figure", options).map_err(raise)?;
    let figure = Arc::new(figure);
    *lock(current) = Arc::clone(&figure);
    Ok(Drawn(figure))
}

fn add(
    current: &Current,
    function: &str,
    options: &Map,
    make: impl FnOnce(String) -> Result<Series>,
) -> RhaiResult<Drawn> {
    let mut figure = lock(current);
    let mut next = figure.copied().map_err(|e| raise(e.into()))?;
    let label = apply(&mut next, function, options).and_then(|label| {
        next.series.push(make(label)?);
        next.check().map_err(wrong)
    });
    label.map_err(raise)?;
    *figure = Arc::new(next);
    Ok(Drawn(Arc::clone(&figure)))
}

fn wrong(error: PlotError) -> Error {
    let hint = matches!(error, PlotError::Mixed { .. });
    let error = Error::from(error);
    if hint { error.with_hint("`plot::figure()` begins a new figure") } else { error }
}

/// Applies options to a figure; gives the series' label.
fn apply(figure: &mut Figure, function: &str, options: &Map) -> Result<String> {
    let mut label = String::new();
    for (name, value) in options {
        let text = || value.read_lock::<ImmutableString>().map(|s| s.to_string());
        let unfit = |want: &str| unfit(function, name, want, value);
        let side = || {
            value.as_int().ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| unfit("a size in pixels"))
        };
        let scale = || match text().as_deref() {
            Some("linear") => Ok(Scale::Linear),
            Some("log") => Ok(Scale::Log),
            _ => Err(unfit("\"linear\" or \"log\"")),
        };
        match name.as_str() {
            "title" => figure.title = text().ok_or_else(|| unfit("a string"))?,
            "x_label" => figure.x_label = text().ok_or_else(|| unfit("a string"))?,
            "y_label" => figure.y_label = text().ok_or_else(|| unfit("a string"))?,
            "x_scale" => figure.x_scale = scale()?,
            "y_scale" => figure.y_scale = scale()?,
            "width" => figure.width = side()?,
            "height" => figure.height = side()?,
            own if !own_options(function).contains(&own) => return Err(unknown(function, own)),
            "label" => label = text().ok_or_else(|| unfit("a string"))?,
            _ => {}
        }
    }
    Ok(label)
}

fn unfit(function: &str, name: &str, want: &str, value: &Dynamic) -> Error {
    Error::type_error(format!("plot::{function}(): '{name}' must be {want}, not {value}"))
}

fn unknown(function: &str, name: &str) -> Error {
    let known = || own_options(function).iter().copied().chain(FIGURE);
    let error = Error::type_error(format!("plot::{function}() got an unknown option '{name}'"));
    match nearest(name, known()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("options are {}", known().collect::<Vec<_>>().join(", "))),
    }
}

/// An array of names, or none.
fn names(function: &str, options: &Map, name: &str) -> Result<Vec<String>> {
    let Some(value) = options.get(name) else { return Ok(Vec::new()) };
    match value.read_lock::<Array>() {
        Some(all) => Ok(all.iter().map(ToString::to_string).collect()),
        None => Err(unfit(function, name, "an array of names", value)),
    }
}

fn color_map(function: &str, options: &Map, usual: ColorMap) -> Result<ColorMap> {
    let Some(value) = options.get("color_map") else { return Ok(usual) };
    match value.read_lock::<ImmutableString>().as_deref().map(|s| s.as_str()) {
        Some("gray" | "grey") => Ok(ColorMap::Gray),
        Some("viridis") => Ok(ColorMap::Viridis),
        _ => Err(unfit(function, "color_map", "\"gray\" or \"viridis\"", value)),
    }
}

/// The lowest and highest value of the colours.
fn range(function: &str, options: &Map) -> Result<Option<(f64, f64)>> {
    let Some(value) = options.get("range") else { return Ok(None) };
    match numbers(value).as_deref() {
        Ok([low, high]) => Ok(Some((*low, *high))),
        _ => Err(unfit(function, "range", "an array of the lowest and the highest value", value)),
    }
}

fn bar(v: &Dynamic, options: &Map, label: String) -> Result<Series> {
    Ok(Series::Bar { labels: names("bar", options, "labels")?, values: numbers(v)?, label })
}

fn hist(v: &Dynamic, options: &Map, label: String) -> Result<Series> {
    let bins = match options.get("bins") {
        None => Bins::Count(10),
        Some(given) => match given.as_int() {
            Ok(count) => Bins::Count(count),
            Err(_) => {
                let want = "a number of bins or an array of edges";
                Bins::Edges(numbers(given).map_err(|_| unfit("hist", "bins", want, given))?)
            }
        },
    };
    let weights = options.get("weights").map_or(Ok(Vec::new()), numbers)?;
    Ok(Series::Hist { values: numbers(v)?, weights, bins, label })
}

/// A tensor `[h, w]`, `[h, w, c]` or `[c, h, w]`, of 1 or 3 channels.
fn image(v: &Dynamic, options: &Map, _: String) -> Result<Series> {
    let mut t = tensor(v)?;
    if let &[1 | 3, _, w] = t.shape()
        && !matches!(w, 1 | 3)
    {
        t = t.with_layout(t.layout().permute(&[1, 2, 0])?);
    }
    let (height, width, channels) = match *t.shape() {
        [h, w] => (h, w, 1),
        [h, w, c @ (1 | 3)] => (h, w, c),
        _ => {
            let text =
                format!("plot::image takes a tensor [h, w], [h, w, 3] or [3, h, w], not {:?}", t.shape());
            return Err(Error::value(text).with_hint("`batch[0]` is the first picture of a batch"));
        }
    };
    let color_map = color_map("image", options, ColorMap::Gray)?;
    Ok(Series::Image {
        height,
        width,
        channels,
        data: floats(&t)?,
        color_map,
        range: range("image", options)?,
    })
}

/// A tensor `[rows, columns]`.
fn heatmap(v: &Dynamic, options: &Map, _: String) -> Result<Series> {
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
        row_labels: names("heatmap", options, "row_labels")?,
        column_labels: names("heatmap", options, "column_labels")?,
        color_map: color_map("heatmap", options, ColorMap::Viridis)?,
        range: range("heatmap", options)?,
    })
}

fn tensor(v: &Dynamic) -> Result<Tensor> {
    v.read_lock::<Tensor>()
        .map(|t| t.clone())
        .ok_or_else(|| Error::type_error(format!("a Tensor is drawn here, not a {}", type_name(v))))
}

fn floats(t: &Tensor) -> Result<Vec<f32>> {
    memory::collected(t.to_f64s("plot")?.into_iter().map(|v| v as f32))
}

/// A tensor's elements, or an array of numbers and one-element tensors.
fn numbers(v: &Dynamic) -> Result<Vec<f64>> {
    if let Some(t) = v.read_lock::<Tensor>() {
        return t.to_f64s("plot");
    }
    let Some(items) = v.read_lock::<Array>() else {
        return Err(Error::type_error(format!("numbers are drawn here, not a {}", type_name(v))));
    };
    memory::try_collected(items.iter().map(|item| {
        if let Some(t) = item.read_lock::<Tensor>() {
            return t.item().map(|s| s.as_f64());
        }
        item.as_float()
            .or_else(|_| item.as_int().map(|i: INT| i as f64))
            .map_err(|_| Error::type_error(format!("numbers are drawn here, not a {}", type_name(item))))
    }))
}
