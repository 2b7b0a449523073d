//! Printed forms, to the character as PyTorch has them (`torch/_tensor_str.py`, 2.15).

use std::fmt::Write;

use crate::base::{DType, Layout, Result, Scalar};
use crate::device::Cancel;

use super::Tensor;

/// More elements than this are summarised.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of a summarised dimension.
const EDGE: usize = 3;
const LINE: usize = 80;
const PRECISION: usize = 4;
const PREFIX: &str = "tensor(";

/// `tensor([1., 2.], device='cuda:0', grad_fn=<MulBackward0>)`. Only what is shown is read from the device.
pub fn display(x: &Tensor) -> Result<String> {
    let mut out = String::from(PREFIX);
    if x.numel() == 0 {
        out.push_str("[]");
    } else {
        out.push_str(&values(x)?);
    }
    add_suffixes(&mut out, &suffixes(x));
    Ok(out)
}

fn suffixes(x: &Tensor) -> Vec<String> {
    let mut all = Vec::new();
    if x.device().is_cuda() {
        all.push(format!("device='{}'", x.device()));
    }
    if x.numel() == 0 && x.rank() != 1 {
        let sizes: Vec<String> = x.shape().iter().map(usize::to_string).collect();
        all.push(format!("size=({})", sizes.join(", ")));
    }
    let evident = match x.dtype() {
        DType::Float32 => true,
        DType::Int64 | DType::Bool => x.numel() > 0,
        _ => false,
    };
    if !evident {
        all.push(format!("dtype=torch.{}", x.dtype()));
    }
    match x.node() {
        Some(node) => all.push(format!("grad_fn=<{}>", node.rule.name())),
        None if x.requires_grad() => all.push("requires_grad=True".into()),
        None => {}
    }
    all
}

/// Appends suffixes, each on the last line where it fits.
fn add_suffixes(out: &mut String, suffixes: &[String]) {
    let mut line = out.len() - out.rfind('\n').map_or(0, |i| i + 1) + 2;
    for suffix in suffixes {
        if line + suffix.len() + 2 > LINE {
            out.push_str(",\n");
            out.extend(std::iter::repeat_n(' ', PREFIX.len()));
            line = PREFIX.len() + suffix.len();
        } else {
            out.push_str(", ");
            line += suffix.len() + 2;
        }
        out.push_str(suffix);
    }
    out.push(')');
}

fn values(x: &Tensor) -> Result<String> {
    let shown = if x.numel() > THRESHOLD { edges(x)? } else { x.clone() };
    let numbers = shown.to_scalars("print")?;
    let context = x.context();
    let cancel = &context.shared.cancel;
    let style = Style::of(&numbers, cancel)?;
    let mut block = NumberBlock { full: x.shape(), shown: shown.shape(), style, cancel, out: String::new() };
    block.write(&numbers, 0, PREFIX.len())?;
    Ok(block.out)
}

/// The elements at the ends of each long dimension, packed.
fn edges(x: &Tensor) -> Result<Tensor> {
    let shape: Vec<usize> = x.shape().iter().map(|&d| if d > 2 * EDGE { 2 * EDGE } else { d }).collect();
    let out = Tensor::empty(&shape, x.dtype(), &x.context(), "print")?;
    let mut parts = vec![(x.layout().clone(), out.layout().clone())];
    for (dim, &size) in x.shape().iter().enumerate().filter(|(_, d)| **d > 2 * EDGE) {
        let ends = [(0, 0), (size - EDGE, EDGE)];
        let cut = |layout: &Layout, start: usize| layout.slice(dim, start, EDGE, 1);
        parts = parts
            .iter()
            .flat_map(|(from, to)| ends.map(|(a, b)| Ok((cut(from, a)?, cut(to, b)?))))
            .collect::<Result<_>>()?;
    }
    for (from, to) in parts {
        out.with_layout(to).assign(&x.with_layout(from), "print")?;
    }
    Ok(out)
}

/// How the numbers of one tensor are written.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Plain,
    /// All finite numbers are whole: `1.`
    Whole,
    Fixed,
    Scientific,
}

#[derive(Clone, Copy, Debug)]
struct Style {
    form: Form,
    width: usize,
}

impl Style {
    fn of(numbers: &[Scalar], cancel: &Cancel) -> Result<Style> {
        let float = numbers.iter().any(|n| matches!(n, Scalar::Float(_)));
        if !float {
            let width = widest(numbers.iter().map(|n| text(*n, Form::Plain)), cancel)?;
            return Ok(Style { form: Form::Plain, width });
        }
        let usual: Vec<f64> =
            numbers.iter().map(|n| n.as_f64()).filter(|v| v.is_finite() && *v != 0.0).collect();
        let largest = usual.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let smallest = usual.iter().fold(f64::INFINITY, |m: f64, v| m.min(v.abs()));
        let whole = usual.iter().all(|v| *v == v.ceil());
        let wide = largest / smallest > 1000.0 || largest > 1.0e8 || smallest < 1.0e-4;
        let form = match (usual.is_empty(), wide, whole) {
            (true, ..) => return Ok(Style { form: Form::Whole, width: 1 }),
            (_, true, _) => Form::Scientific,
            (_, _, true) => Form::Whole,
            _ => Form::Fixed,
        };
        let width = widest(usual.iter().map(|v| text(Scalar::Float(*v), form)), cancel)?;
        Ok(Style { form, width })
    }

    fn write(self, out: &mut String, n: Scalar) {
        let text = text(n, self.form);
        out.extend(std::iter::repeat_n(' ', self.width.saturating_sub(text.len())));
        out.push_str(&text);
    }
}

/// The length of the longest text, 1 where there is none.
fn widest(mut texts: impl Iterator<Item = String>, cancel: &Cancel) -> Result<usize> {
    texts.try_fold(1, |widest: usize, text| cancel.check().map(|()| widest.max(text.len())))
}

fn text(n: Scalar, form: Form) -> String {
    match (n, form) {
        (Scalar::Bool(b), _) => if b { "True" } else { "False" }.into(),
        (Scalar::Int(i), _) => i.to_string(),
        (Scalar::Float(v), _) if v.is_nan() => "nan".into(),
        (Scalar::Float(v), _) if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.into(),
        (Scalar::Float(v), Form::Scientific) => scientific(v),
        (Scalar::Float(v), Form::Fixed) => format!("{v:.PRECISION$}"),
        (Scalar::Float(v), _) => format!("{v:.0}."),
    }
}

/// `1.0000e-08`: the exponent has a sign and at least two digits.
fn scientific(v: f64) -> String {
    let short = format!("{v:.PRECISION$e}");
    let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Nested brackets around rows of numbers.
struct NumberBlock<'a> {
    full: &'a [usize],
    shown: &'a [usize],
    style: Style,
    cancel: &'a Cancel,
    out: String,
}

impl NumberBlock<'_> {
    /// Writes dimension `dim` of the numbers below it, indented by `indent`.
    fn write(&mut self, numbers: &[Scalar], dim: usize, indent: usize) -> Result<()> {
        self.cancel.check()?;
        let rest = self.shown.len() - dim;
        let Some(&count) = self.shown.get(dim) else {
            if let Some(&n) = numbers.first() {
                self.style.write(&mut self.out, n);
            }
            return Ok(());
        };
        let elided = self.full.get(dim).is_some_and(|&d| d != count);
        if rest == 1 {
            self.row(numbers, elided, indent);
            return Ok(());
        }
        self.out.push('[');
        let inner = (numbers.len() / count.max(1)).max(1);
        for (i, part) in numbers.chunks(inner).enumerate() {
            if i > 0 {
                self.line(rest - 1, indent);
            }
            if elided && i == EDGE {
                self.out.push_str("...");
                self.line(rest - 1, indent);
            }
            self.write(part, dim + 1, indent + 1)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn row(&mut self, numbers: &[Scalar], elided: bool, indent: usize) {
        let per_line = (LINE.saturating_sub(indent) / (self.style.width + 2)).max(1);
        self.out.push('[');
        let mut place = 0;
        for (i, &n) in numbers.iter().enumerate() {
            if elided && i == EDGE {
                self.between(place, per_line, indent);
                self.out.push_str(" ...");
                place += 1;
            }
            self.between(place, per_line, indent);
            self.style.write(&mut self.out, n);
            place += 1;
        }
        self.out.push(']');
    }

    fn between(&mut self, place: usize, per_line: usize, indent: usize) {
        if place == 0 {
        } else if place.is_multiple_of(per_line) {
            self.line(1, indent);
        } else {
            self.out.push_str(", ");
        }
    }

    /// A comma, line ends, and the indent of what follows the bracket.
    fn line(&mut self, ends: usize, indent: usize) {
        let _ = write!(self.out, ",{}{}", "\n".repeat(ends), " ".repeat(indent + 1));
    }
}
