//! What functions that draw can be told.

use crate::base::{Error, Result};
use crate::op::params::kind::{self, Int, Str};
use crate::op::params::{Maybe, params};
use crate::plot::{Figure, Scale};
use crate::script::call::kind::{Function, Given};

/// Declares the parameters of a function that draws: its own, and what any figure can be told.
macro_rules! drawing {
    ($name:ident { $($own:tt)* }) => {
        params! {
            pub(super) $name {
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
            pub(super) fn told(&self) -> FigureOptions<'a> {
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

drawing! {
    SpansParams {
        rows: Given, "the name of each span's row: an array, or a string for all";
        starts: Given, "where the spans begin: an array or a tensor";
        lengths: Given, "how long they are";
        texts: Given = (), "an array of what stands within them, where there is room";
        label: Str = "", "names these spans in the legend; spans of one label look alike";
    }
}

drawing! {
    TimelineParams {
        body: Function, "what runs meanwhile";
    }
}

drawing! {
    MemoryParams {
        device: Maybe<kind::Device>, "the GPU; the current one where it is not given";
    }
}

/// What a call told the figure.
pub(super) struct FigureOptions<'a> {
    texts: [Option<&'a str>; 3],
    scales: [Option<&'a str>; 2],
    sides: [Option<i64>; 2],
}

impl FigureOptions<'_> {
    pub(super) fn apply(&self, figure: &mut Figure, function: &str) -> Result<()> {
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

pub(super) fn unfit(function: &str, name: &str, want: &str, value: &dyn std::fmt::Display) -> Error {
    Error::type_error(format!("plot::{function}(): '{name}' must be {want}, not {value}"))
}
