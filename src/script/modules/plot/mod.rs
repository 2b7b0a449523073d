//! `plot::`: figures from arrays and tensors.

mod display;
mod machine;
mod options;
pub(crate) mod screen;
mod series;
mod sheet;

use std::sync::Arc;

use rhai::{Dynamic, Engine};

use crate::op::params::kind::Str;
use crate::op::params::params;
use crate::op::{Family, Form, OpDef, Param, Receiver};
use crate::plot::{Figure, Series};
use crate::script::call::kind::Given;
use crate::script::call::{self, ScriptRow, Sheet};
use crate::script::modules::plot::screen::{Drawn, Screen, id_of, lock};

use options::{
    BarParams, FigureParams, HeatmapParams, HistParams, ImageParams, LineParams, MemoryParams, SpansParams,
    TimelineParams,
};
use sheet::add;

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
        "Calls add to the same figure until plot::figure() begins another or the cell ends. Every function takes the \
         options of the figure as well.",
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
            *lock(&call.here.figure) = Sheet { figure: Arc::clone(&figure), unseen: false };
            Ok(Dynamic::from(Drawn(figure)))
        },
    ),
    ScriptRow::of(
        function("set", "Sets title, labels, scales and size of the current figure.", FigureParams::LIST)
            .errors(&["TypeError: a scale is neither \"linear\" nor \"log\""])
            .example(
                "plot::figure(); plot::line([1, 2]); plot::set(#{title: \"loss\", x_label: \"step\"})",
                "figure",
            ),
        |call| sheet::set(call, "set", &FigureParams::of(&call.args)?.told()),
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
            "One bar for each value; a second call draws its bars beside those of the first, whose labels it has where it \
             has none of its own and as many bars.",
            BarParams::LIST,
        )
        .errors(&["ValueError: labels and values are not as many", "TypeError: a value is no number"])
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
        series(
            "spans",
            "Spans in named rows, such as what ran when; an axis of numbers lies below.",
            SpansParams::LIST,
        )
        .errors(&[
            "ValueError: rows, starts, lengths and texts are not as many",
            "ValueError: the figure has series of another kind already",
        ])
        .example(
            "plot::figure(); plot::spans([\"cpu\", \"gpu\"], [0, 1], [1, 3], #{texts: [\"load\", \"train\"]})",
            "figure",
        ),
        |call| {
            let given = SpansParams::of(&call.args)?;
            let made = series::spans(&given)?;
            add(call, "spans", &given.told(), made)
        },
    ),
    ScriptRow::of(
        function(
            "timeline",
            "Draws what the devices do while a closure runs: kernels, copies, exchanges of ranks, and waits of the host.",
            TimelineParams::LIST,
        )
        .details(
            "A row for the host (one for each rank, where ranks run), for each direction of the bus and for each stream; \
             within a rank, of its own work alone. Time begins with the first of them; the axis says whether it is modelled or measured. The figure is a new \
             one.",
        )
        .errors(&["Error: whatever the function fails with"])
        .example("plot::timeline(|| ones(3).sum())", "figure"),
        machine::timeline,
    ),
    ScriptRow::of(
        function(
            "memory",
            "Draws the segments of a GPU's caching allocator, and the blocks in them.",
            MemoryParams::LIST,
        )
        .details(
            "A row for each segment. Blocks that tensors hold have their shapes, free ones their size. The figure is a new one.",
        )
        .errors(&["RuntimeError: the text names no device", "ValueError: the device is the CPU", "DeviceError: there is no such GPU"])
        .example("let x = ones([512, 512], #{device: \"cuda\"}); plot::memory(\"cuda:0\")", "figure"),
        machine::memory,
    ),
    ScriptRow::of(
        function("save", "Writes the current figure to a .png or .svg file.", SaveParams::LIST)
            .errors(&["ValueError: the path ends in something else", "ValueError: the file can't be written"])
            .example("plot::figure(); plot::line([1, 2]); plot::save(\"run.svg\"); 1", "1"),
        |call| {
            let figure = Arc::clone(&lock(&call.here.figure).figure);
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
            let Sheet { figure, .. } = std::mem::take(&mut *lock(&call.here.figure));
            Screen::of(call.here).show(&figure, id.as_deref())
        },
    ),
    ScriptRow::of(
        OpDef::script("save", Family::Figure, "Writes the figure to a .png or .svg file.", SaveParams::LIST)
            .on(Receiver::Figure)
            .own()
            .errors(&["ValueError: the path ends in something else", "ValueError: the file can't be written"])
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

pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Drawn>("figure");
    engine.register_fn("to_string", |d: &mut Drawn| format!("figure of {} series", d.0.series.len()));
}

/// The figure that a value is, as it is sent to be shown.
pub(crate) fn figure_of(value: &Dynamic) -> Option<Figure> {
    let drawn = value.read_lock::<Drawn>()?;
    drawn.0.copied().and_then(Figure::compact).ok()
}
