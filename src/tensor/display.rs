//! Printed forms, to the character as PyTorch 2.15 has them (`torch/_tensor_str.py`): 4 digits, 80 columns,
//! three edge items beyond 1,000 elements.

use crate::base::{DType, Device, Result, Scalar};

use super::Tensor;

const PRECISION: usize = 4;
const LINE_WIDTH: usize = 80;
const EDGE_ITEMS: usize = 3;
const THRESHOLD: usize = 1000;
const PREFIX: &str = "tensor(";

/// The printed form. On an accelerator the host waits for the values.
pub fn display(t: &Tensor) -> Result<String> {
    let indent = PREFIX.len();
    let mut suffixes = Vec::new();
    if t.device() != Device::Cpu {
        suffixes.push(format!("device='{}'", t.device()));
    }
    let body = if t.numel() == 0 {
        if t.rank() != 1 {
            suffixes.push(format!("size={}", tuple(t.shape())));
        }
        if t.dtype() != DType::Float32 {
            suffixes.push(format!("dtype=torch.{}", t.dtype()));
        }
        "[]".to_string()
    } else {
        if !matches!(t.dtype(), DType::Float32 | DType::Int64 | DType::Bool) {
            suffixes.push(format!("dtype=torch.{}", t.dtype()));
        }
        let summarise = t.numel() > THRESHOLD;
        let values = shown(t, summarise)?;
        let format = Format::of(&values);
        Printer { format, values: &values, shape: t.shape(), summarise }.print(0, 0, indent).0
    };
    match t.node() {
        Some(node) => suffixes.push(format!("grad_fn=<{}>", node.rule.name())),
        None if t.requires_grad() => suffixes.push("requires_grad=True".into()),
        None => {}
    }
    Ok(with_suffixes(&format!("{PREFIX}{body}"), &suffixes, indent))
}

/// `(2, 0)`, as Python prints a tuple of sizes.
fn tuple(shape: &[usize]) -> String {
    let inner: Vec<String> = shape.iter().map(ToString::to_string).collect();
    match inner.as_slice() {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}

/// The values that are shown, in order: all of them, or those within the edges of every dimension. The edges
/// are put together on the tensor's device, so that one copy brings them to the host.
fn shown(t: &Tensor, summarise: bool) -> Result<Vec<Scalar>> {
    if !summarise {
        return t.to_scalars("print");
    }
    let small: Vec<usize> = t.shape().iter().map(|&d| d.min(2 * EDGE_ITEMS)).collect();
    let whole = Tensor::empty(&small, t.dtype(), &t.context(), "print")?;
    let mut parts = vec![(t.layout().clone(), whole.layout().clone())];
    for (dim, &size) in t.shape().iter().enumerate().filter(|(_, d)| **d > 2 * EDGE_ITEMS) {
        let mut halves = Vec::with_capacity(2 * parts.len());
        for (from, to) in &parts {
            for (start, at) in [(0, 0), (size - EDGE_ITEMS, EDGE_ITEMS)] {
                halves.push((from.slice(dim, start, EDGE_ITEMS, 1)?, to.slice(dim, at, EDGE_ITEMS, 1)?));
            }
        }
        parts = halves;
    }
    for (from, to) in parts {
        whole.with_layout(to).assign(&t.with_layout(from), "print")?;
    }
    whole.to_scalars("print")
}

/// How numbers of one tensor are written: PyTorch's `_Formatter`.
struct Format {
    style: Style,
    width: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Integer,
    /// Floats that are all whole: `1.`
    Whole,
    Fixed,
    Scientific,
}

impl Format {
    fn of(values: &[Scalar]) -> Format {
        if !matches!(values.first(), Some(Scalar::Float(_))) {
            let width = values.iter().map(|v| plain(*v).len()).max().unwrap_or(1);
            return Format { style: Style::Integer, width: width.max(1) };
        }
        let counted: Vec<f64> =
            values.iter().map(|v| v.as_f64()).filter(|v| v.is_finite() && *v != 0.0).collect();
        if counted.is_empty() {
            return Format { style: Style::Whole, width: 1 };
        }
        let (least, most) =
            counted.iter().map(|v| v.abs()).fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
        let whole = counted.iter().all(|v| *v == v.ceil());
        let wide = most / least > 1000.0 || most > 1e8;
        let style = match (whole, wide || (!whole && least < 1e-4)) {
            (_, true) => Style::Scientific,
            (true, false) => Style::Whole,
            (false, false) => Style::Fixed,
        };
        let width = counted.iter().map(|v| style.write(*v).chars().count()).max().unwrap_or(1);
        Format { style, width: width.max(1) }
    }

    fn write(&self, value: Scalar) -> String {
        let text = match (self.style, value) {
            (Style::Integer, v) => plain(v),
            (style, v) => style.write(v.as_f64()),
        };
        format!("{text:>width$}", width = self.width)
    }
}

impl Style {
    fn write(self, v: f64) -> String {
        if v.is_nan() {
            return "nan".into();
        }
        if v.is_infinite() {
            return if v > 0.0 { "inf".into() } else { "-inf".into() };
        }
        match self {
            Style::Integer | Style::Whole => format!("{v:.0}."),
            Style::Fixed => format!("{v:.PRECISION$}"),
            Style::Scientific => scientific(v),
        }
    }
}

/// `1.0000e+09`, as Python's `.4e`.
fn scientific(v: f64) -> String {
    let text = format!("{v:.PRECISION$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{size:0>2}")
        }
        None => text,
    }
}

fn plain(value: Scalar) -> String {
    match value {
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        Scalar::Int(i) => i.to_string(),
        Scalar::Float(f) => f.to_string(),
    }
}

struct Printer<'a> {
    format: Format,
    /// Of the shown elements only.
    values: &'a [Scalar],
    shape: &'a [usize],
    summarise: bool,
}

impl Printer<'_> {
    /// The text of the sub-tensor at `dim` whose first shown value is `at`, and where the next one starts.
    fn print(&self, dim: usize, at: usize, indent: usize) -> (String, usize) {
        let Some(&size) = self.shape.get(dim) else {
            let value = self.values.get(at).copied().unwrap_or(Scalar::Int(0));
            return (self.format.write(value), at + 1);
        };
        let cut = self.summarise && size > 2 * EDGE_ITEMS;
        let shown = if cut { 2 * EDGE_ITEMS } else { size };
        let last = dim + 1 == self.shape.len();
        let mut parts = Vec::with_capacity(shown + 1);
        let mut next = at;
        for i in 0..shown {
            if cut && i == EDGE_ITEMS {
                parts.push(if last { " ...".to_string() } else { "...".to_string() });
            }
            let (text, after) = self.print(dim + 1, next, indent + 1);
            parts.push(text);
            next = after;
        }
        let pad = " ".repeat(indent + 1);
        let body = if last {
            let per_line = (LINE_WIDTH.saturating_sub(indent) / (self.format.width + 2)).max(1);
            let lines: Vec<String> = parts.chunks(per_line).map(|line| line.join(", ")).collect();
            lines.join(&format!(",\n{pad}"))
        } else {
            parts.join(&format!(",{}{pad}", "\n".repeat(self.shape.len() - dim - 1)))
        };
        (format!("[{body}]"), next)
    }
}

fn with_suffixes(text: &str, suffixes: &[String], indent: usize) -> String {
    let mut out = text.to_string();
    let mut last = match text.rfind('\n') {
        Some(at) => text.len() - at + 1,
        None => text.len() + 2,
    };
    for suffix in suffixes {
        if last + suffix.len() + 2 > LINE_WIDTH {
            out += &format!(",\n{}{suffix}", " ".repeat(indent));
            last = indent + suffix.len();
        } else {
            out += &format!(", {suffix}");
            last += suffix.len() + 2;
        }
    }
    out.push(')');
    out
}
