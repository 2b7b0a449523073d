//! `plot::`: figures from arrays and tensors.

mod display;
mod series;

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Dynamic, Engine, ImmutableString};

use crate::base::{Error, Result};
use crate::device::Shared;
use crate::op::params::kind::{Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Param, Receiver};
use crate::plot::stop::{self, Ask};
use crate::plot::{Figure, PlotError, Scale, Series, save};
use crate::script::call::kind::Given;
use crate::script::call::{self, Call, Here, Outcome, ScriptRow};
use crate::script::engine::Host;

/// Declares the parameters of a function that draws: its own, and what any figure can be told.
macro_rules! drawing {
    ($name:ident { $($own:tt)* }) => {
        params! {
            $name {
                $($own)*
                title: Maybe<Str>, "stands above the figure";
                x_label: Maybe<Str>, "stands below the axis from left to right";
                y_label: Maybe<Str>, "stands beside the axis from bottom to top";
                x_scale: Maybe<Str>, "how values lie from left to right: \"linear\" or \"log\"";
                y_scale: Maybe<Str>, "how values lie from bottom to top: \"linear\" or \"log\"";
                width: Maybe<Int>, "of the picture, in pixels";
                height: Maybe<Int>, "of the picture, in pixels";
            }
        }

        impl<'a> $name<'a> {
            fn told(&self) -> FigureOptions<'a> {
                FigureOptions {
                    texts: [self.title, self.x_label, self.y_label],
                    scales: [self.x_scale, self.y_scale],
                    sides: [self.width, self.height],
                }
            }
        }
    };
}

drawing! {
    FigureParams {}
}

drawing! {
    LineParams {
        x: Given, "where the points stand from left to right: an array or a tensor; alone it is y, at 0, 1, 2, …";
        y: Given = (), "how high they stand";
        label: Str = "", "names the series in the legend";
    }
}

drawing! {
    BarParams {
        values: Given, "how high the bars are: an array or a tensor";
        labels: Given = (), "an array of names that stand below the bars";
        label: Str = "", "names the series in the legend";
    }
}

drawing! {
    HistParams {
        values: Given, "what is counted: an array or a tensor";
        bins: Given = (), "how many bins there are (10), or an array of their edges";
        weights: Given = (), "what each value counts for; 1 where they are not given";
        label: Str = "", "names the series in the legend";
    }
}

drawing! {
    ImageParams {
        image: Given, "a tensor [h, w], [h, w, 1 or 3] or [1 or 3, h, w]";
        color_map: Maybe<Str>, "colours of a picture with one channel: \"gray\" or \"viridis\" (gray)";
        range: Given = (), "[lowest, highest] of what is shown; those of the values where it is not given";
    }
}

drawing! {
    HeatmapParams {
        matrix: Given, "a tensor [rows, columns]";
        row_labels: Given = (), "an array of names that stand beside the rows";
        column_labels: Given = (), "an array of names that stand below the columns";
        color_map: Maybe<Str>, "colours of the cells: \"gray\" or \"viridis\" (viridis)";
        range: Given = (), "[lowest, highest] of what is shown; those of the values where it is not given";
    }
}

params! {
    SaveParams {
        path: Str, "where the picture goes, ending in .png or .svg";
    }
}

params! {
    ShowParams {
        id: Given = (), "a string; what was shown under the same one before makes room";
    }
}

/// A function of the module.
const fn function(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Figure, summary, params).forms(&[Form::Of("plot")]).own()
}

/// What draws on the current figure.
const fn series(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    function(name, summary, params).details(
        "Calls add to the same figure until plot::figure() begins another. Every function takes the options of the \
         figure as well.",
    )
}

static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        function("figure", "Begins a new figure; the calls that follow draw on it.", FigureParams::LIST)
            .errors(&["TypeError: a scale is neither \"linear\" nor \"log\""])
            .example("plot::figure(#{title: \"loss\", y_scale: \"log\"})", "figure"),
        |call| {
            let mut figure = Figure::default();
            FigureParams::of(&call.args)?.told().apply(&mut figure, "figure")?;
            let figure = Arc::new(figure);
            *lock(&call.here.figure) = Arc::clone(&figure);
            Ok(Dynamic::from(Drawn(figure)))
        },
    ),
    ScriptRow::of(
        series("line", "Joins points in order.", LineParams::LIST)
            .errors(&[
                "ValueError: x and y have different numbers of values",
                "TypeError: what is drawn is no numbers",
            ])
            .example("plot::figure(); plot::line([1, 2, 3], [2.0, 1.5, 1.2], #{label: \"loss\"})", "figure"),
        |call| {
            let given = LineParams::of(&call.args)?;
            let (x, y) = series::pair(&given.x, &given.y)?;
            add(call, "line", &given.told(), Series::Line { x, y, label: given.label.into() })
        },
    ),
    ScriptRow::of(
        series("scatter", "Points, not joined.", LineParams::LIST)
            .errors(&[
                "ValueError: x and y have different numbers of values",
                "TypeError: what is drawn is no numbers",
            ])
            .example("plot::figure(); plot::scatter(arange(3), ones(3))", "figure"),
        |call| {
            let given = LineParams::of(&call.args)?;
            let (x, y) = series::pair(&given.x, &given.y)?;
            add(call, "scatter", &given.told(), Series::Scatter { x, y, label: given.label.into() })
        },
    ),
    ScriptRow::of(
        series(
            "bar",
            "One bar for each value; a second call draws its bars beside those of the first.",
            BarParams::LIST,
        )
        .example("plot::figure(); plot::bar([3, 5], #{labels: [\"cats\", \"dogs\"]})", "figure"),
        |call| {
            let given = BarParams::of(&call.args)?;
            let made = series::bar(&given)?;
            add(call, "bar", &given.told(), made)
        },
    ),
    ScriptRow::of(
        series("hist", "How many values fall into each bin.", HistParams::LIST)
            .errors(&["ValueError: there are no bins, or their edges do not rise"])
            .example("plot::figure(); plot::hist(arange(100), #{bins: 5})", "figure"),
        |call| {
            let given = HistParams::of(&call.args)?;
            let made = series::hist(&given)?;
            add(call, "hist", &given.told(), made)
        },
    ),
    ScriptRow::of(
        series("image", "A picture from a tensor; it stands in a figure of its own.", ImageParams::LIST)
            .shapes("[h, w], [h, w, 1 or 3] or [1 or 3, h, w]")
            .errors(&["ValueError: the tensor has another shape, or the figure has series already"])
            .example("plot::figure(); plot::image(rand([3, 8, 8]))", "figure"),
        |call| {
            let given = ImageParams::of(&call.args)?;
            let made = series::image(&given.image, given.color_map, &given.range)?;
            add(call, "image", &given.told(), made)
        },
    ),
    ScriptRow::of(
        series(
            "heatmap",
            "A matrix as coloured cells, with their values where these fit.",
            HeatmapParams::LIST,
        )
        .shapes("[rows, columns]")
        .errors(&["ValueError: the tensor has another shape, or the figure has series already"])
        .example("plot::figure(); plot::heatmap(eye(3), #{row_labels: [\"a\", \"b\", \"c\"]})", "figure"),
        |call| {
            let given = HeatmapParams::of(&call.args)?;
            let made = series::heatmap(&given)?;
            add(call, "heatmap", &given.told(), made)
        },
    ),
    ScriptRow::of(
        function("save", "Writes the current figure to a .png or .svg file.", SaveParams::LIST)
            .errors(&["ValueError: the path ends in something else", "OSError: the file can't be written"])
            .example("plot::figure(); plot::line([1, 2]); plot::save(\"run.svg\"); 1", "1"),
        |call| {
            let figure = Arc::clone(&lock(&call.here.figure));
            Screen::of(call.here).save(&figure, SaveParams::of(&call.args)?.path)
        },
    ),
    ScriptRow::of(
        function("show", "Shows the current figure, and the next call begins a new one.", ShowParams::LIST)
            .details("With an id the curves of a training are drawn anew in their place.")
            .example(
                "plot::figure(); plot::line([1, 2]); plot::show(#{id: \"curve\"}); plot::line([3])",
                "figure",
            ),
        |call| {
            let id = id_of("plot::show", &ShowParams::of(&call.args)?.id)?;
            let figure = std::mem::take(&mut *lock(&call.here.figure));
            Screen::of(call.here).show(&figure, id.as_deref())
        },
    ),
    ScriptRow::of(
        OpDef::script("save", Family::Figure, "Writes the figure to a .png or .svg file.", SaveParams::LIST)
            .on(Receiver::Figure)
            .own()
            .errors(&["ValueError: the path ends in something else", "OSError: the file can't be written"])
            .example("plot::figure(); plot::line([1, 2]).save(\"run.png\"); 1", "1"),
        |call| Screen::of(call.here).save(&call.on::<Drawn>()?.0, SaveParams::of(&call.args)?.path),
    ),
    ScriptRow::of(
        OpDef::script("show", Family::Figure, "Shows the figure as it is now.", ShowParams::LIST)
            .on(Receiver::Figure)
            .own()
            .example("plot::figure(); plot::line([1, 2]).show(); 1", "1"),
        |call| {
            let id = id_of("show", &ShowParams::of(&call.args)?.id)?;
            Screen::of(call.here).show(&call.on::<Drawn>()?.0, id.as_deref())
        },
    ),
];

/// Every row, file by file.
pub(super) static FILES: [&[ScriptRow]; 2] = call::documented([ROWS, display::ROWS]);

/// The figure that calls add to, until it is shown or begun anew.
pub(crate) type Current = Arc<Mutex<Arc<Figure>>>;

/// A figure as it was when it was drawn on.
#[derive(Clone)]
pub struct Drawn(Arc<Figure>);

pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Drawn>("figure");
    engine.register_fn("to_string", |d: &mut Drawn| format!("figure of {} series", d.0.series.len()));
}

/// The figure that a value is, as it is sent to be shown.
pub(crate) fn figure_of(value: &Dynamic) -> Option<Figure> {
    let drawn = value.read_lock::<Drawn>()?;
    drawn.0.copied().and_then(Figure::compact).ok()
}

/// Where figures go, and what ends their drawing early.
struct Screen<'h> {
    host: &'h Arc<dyn Host>,
    shared: &'h Arc<Shared>,
    ask: Ask,
}

impl Screen<'_> {
    fn of(here: &Here) -> Screen<'_> {
        let shared = Arc::clone(&here.machine.shared);
        let ask = move || shared.cancel.is_set();
        Screen { host: &here.host, shared: &here.machine.shared, ask: Arc::new(ask) }
    }

    /// Writes a PNG or SVG file, by the path's extension.
    fn save(&self, figure: &Figure, path: &str) -> Outcome {
        stop::unless(&self.ask, || save(figure, path.as_ref())).map_err(|e| self.raised(&e))?;
        Ok(Dynamic::UNIT)
    }

    fn show(&self, figure: &Figure, id: Option<&str>) -> Outcome {
        let figure = stop::unless(&self.ask, || figure.copied()?.compact()).map_err(|e| self.raised(&e))?;
        self.host.figure(&figure, id);
        Ok(Dynamic::UNIT)
    }

    fn raised(&self, error: &PlotError) -> Error {
        match error {
            PlotError::Stopped => self.shared.cancel.error(),
            other => other.clone().into(),
        }
    }
}

/// What a figure or a value is shown under.
fn id_of(function: &str, id: &Dynamic) -> Result<Option<String>> {
    match id.read_lock::<ImmutableString>() {
        Some(id) => Ok(Some(id.to_string())),
        None if id.is_unit() => Ok(None),
        None => Err(Error::type_error(format!("{function}(): 'id' must be a string, not {id}"))),
    }
}

fn lock(current: &Current) -> MutexGuard<'_, Arc<Figure>> {
    current.lock().unwrap_or_else(|e| e.into_inner())
}

fn add(call: &Call, function: &str, told: &FigureOptions, series: Series) -> Outcome {
    let mut figure = lock(&call.here.figure);
    let mut next = figure.copied().map_err(Error::from)?;
    told.apply(&mut next, function)?;
    next.series.push(series);
    next.check().map_err(wrong)?;
    *figure = Arc::new(next);
    Ok(Dynamic::from(Drawn(Arc::clone(&figure))))
}

fn wrong(error: PlotError) -> Error {
    let hint = matches!(error, PlotError::Mixed { .. });
    let error = Error::from(error);
    if hint { error.with_hint("`plot::figure()` begins a new figure") } else { error }
}

/// What a call told the figure.
struct FigureOptions<'a> {
    texts: [Option<&'a str>; 3],
    scales: [Option<&'a str>; 2],
    sides: [Option<i64>; 2],
}

impl FigureOptions<'_> {
    fn apply(&self, figure: &mut Figure, function: &str) -> Result<()> {
        let places = [&mut figure.title, &mut figure.x_label, &mut figure.y_label];
        for (place, text) in places.into_iter().zip(self.texts) {
            text.into_iter().for_each(|text| *place = text.into());
        }
        let places = [("x_scale", &mut figure.x_scale), ("y_scale", &mut figure.y_scale)];
        for ((name, place), scale) in places.into_iter().zip(self.scales) {
            *place = match scale {
                None => continue,
                Some("linear") => Scale::Linear,
                Some("log") => Scale::Log,
                Some(other) => return Err(unfit(function, name, "\"linear\" or \"log\"", &other)),
            };
        }
        let places = [("width", &mut figure.width), ("height", &mut figure.height)];
        for ((name, place), side) in places.into_iter().zip(self.sides) {
            if let Some(side) = side {
                *place = u32::try_from(side).map_err(|_| unfit(function, name, "a size in pixels", &side))?;
            }
        }
        Ok(())
    }
}

fn unfit(function: &str, name: &str, want: &str, value: &dyn std::fmt::Display) -> Error {
    Error::type_error(format!("plot::{function}(): '{name}' must be {want}, not {value}"))
}
