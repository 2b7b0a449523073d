//! What is drawn, from arrays and tensors.

use rhai::{Array, Dynamic, INT};

use crate::base::{Error, Result, memory};
use crate::plot::{Bins, ColorMap, Series};
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::options::{BarParams, HeatmapParams, HistParams, SpansParams, unfit};

/// x and y of points; what stands alone is y.
pub(super) fn pair(x: &Dynamic, y: &Dynamic) -> Result<(Vec<f64>, Vec<f64>)> {
    if y.is_unit() { Ok((Vec::new(), numbers(x)?)) } else { Ok((numbers(x)?, numbers(y)?)) }
}

pub(super) fn bar(given: &BarParams) -> Result<Series> {
    let labels = names("bar", "labels", &given.labels)?;
    Ok(Series::Bar { labels, values: numbers(&given.values)?, label: given.label.into() })
}

pub(super) fn spans(given: &SpansParams) -> Result<Series> {
    let rows = match given.rows.clone().into_string() {
        Ok(name) => vec![name],
        Err(_) => names("spans", "rows", &given.rows)?,
    };
    let texts = names("spans", "texts", &given.texts)?;
    let (starts, lengths) = (numbers(&given.starts)?, numbers(&given.lengths)?);
    Ok(Series::Spans { rows, starts, lengths, texts, label: given.label.into() })
}

pub(super) fn hist(given: &HistParams) -> Result<Series> {
    let bins = match given.bins.as_int() {
        _ if given.bins.is_unit() => Bins::Count(10),
        Ok(count) => Bins::Count(count),
        Err(_) => {
            let want = "a number of bins or an array of edges";
            Bins::Edges(numbers(&given.bins).map_err(|_| unfit("hist", "bins", want, &given.bins))?)
        }
    };
    let weights = if given.weights.is_unit() { Vec::new() } else { numbers(&given.weights)? };
    Ok(Series::Hist { values: numbers(&given.values)?, weights, bins, label: given.label.into() })
}

/// A tensor `[h, w]`, `[h, w, c]` or `[c, h, w]`, of 1 or 3 channels.
pub(super) fn image(v: &Dynamic, colors: Option<&str>, shown: &Dynamic) -> Result<Series> {
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
    let color_map = color_map("image", colors, ColorMap::Gray)?;
    Ok(Series::Image { height, width, channels, data: floats(&t)?, color_map, range: range("image", shown)? })
}

/// A tensor `[rows, columns]`.
pub(super) fn heatmap(given: &HeatmapParams) -> Result<Series> {
    let rows = names("heatmap", "row_labels", &given.row_labels)?;
    let columns = names("heatmap", "column_labels", &given.column_labels)?;
    matrix(&given.matrix, given.color_map, &given.range, [rows, columns])
}

/// A tensor `[rows, columns]` with names for both.
pub(super) fn matrix(
    v: &Dynamic,
    colors: Option<&str>,
    shown: &Dynamic,
    labels: [Vec<String>; 2],
) -> Result<Series> {
    let t = tensor(v)?;
    let &[rows, columns] = t.shape() else {
        return Err(Error::value(format!(
            "plot::heatmap takes a tensor [rows, columns], not {:?}",
            t.shape()
        )));
    };
    let [row_labels, column_labels] = labels;
    Ok(Series::Heatmap {
        rows,
        columns,
        data: floats(&t)?,
        row_labels,
        column_labels,
        color_map: color_map("heatmap", colors, ColorMap::Viridis)?,
        range: range("heatmap", shown)?,
    })
}

/// A tensor's elements, or an array of numbers and one-element tensors.
pub(super) fn numbers(v: &Dynamic) -> Result<Vec<f64>> {
    if let Some(t) = v.read_lock::<Tensor>() {
        return t.to_f64s("plot");
    }
    let Some(items) = v.read_lock::<Array>() else {
        return Err(Error::type_error(format!("numbers are drawn here, not {}", type_name(v))));
    };
    memory::try_collected(items.iter().map(|item| {
        if let Some(t) = item.read_lock::<Tensor>() {
            return t.item().map(|s| s.as_f64());
        }
        item.as_float()
            .or_else(|_| item.as_int().map(|i: INT| i as f64))
            .map_err(|_| Error::type_error(format!("numbers are drawn here, not {}", type_name(item))))
    }))
}

/// An array of names, or none.
fn names(function: &str, name: &str, value: &Dynamic) -> Result<Vec<String>> {
    match value.read_lock::<Array>() {
        Some(all) => Ok(all.iter().map(ToString::to_string).collect()),
        None if value.is_unit() => Ok(Vec::new()),
        None => Err(unfit(function, name, "an array of names", value)),
    }
}

fn color_map(function: &str, name: Option<&str>, usual: ColorMap) -> Result<ColorMap> {
    match name {
        None => Ok(usual),
        Some("gray" | "grey") => Ok(ColorMap::Gray),
        Some("viridis") => Ok(ColorMap::Viridis),
        Some(other) => Err(unfit(function, "color_map", "\"gray\" or \"viridis\"", &other)),
    }
}

/// The lowest and highest value of the colours.
fn range(function: &str, value: &Dynamic) -> Result<Option<(f64, f64)>> {
    if value.is_unit() {
        return Ok(None);
    }
    match numbers(value).as_deref() {
        Ok([low, high]) => Ok(Some((*low, *high))),
        _ => Err(unfit(function, "range", "an array of the lowest and the highest value", value)),
    }
}

fn tensor(v: &Dynamic) -> Result<Tensor> {
    v.read_lock::<Tensor>()
        .map(|t| t.clone())
        .ok_or_else(|| Error::type_error(format!("a Tensor is drawn here, not {}", type_name(v))))
}

fn floats(t: &Tensor) -> Result<Vec<f32>> {
    memory::collected(t.to_f64s("plot")?.into_iter().map(|v| v as f32))
}
