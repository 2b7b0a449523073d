//! Einstein summation: pairs of operands contracted from left to right as batched matrix products.

use crate::base::{Dims, Error, Result, memory};
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, Family, Form, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::elementwise::arithmetic::mul;
use crate::op::reduce::sums::sum;
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;

use super::matmul::{bmm, mm};

/// A dimension's name: a letter of the equation, or a place inside `...`, counted from the right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Label {
    Letter(char),
    Dots(usize),
}

/// A tensor whose dimensions have names, each name once.
struct Term {
    tensor: Tensor,
    labels: Vec<Label>,
}

/// Sums products of elements as `equation` says, such as `bij,bjk->bik`. Without `->` the result has the
/// letters that appear once, in alphabetical order; `...` stands for broadcast dimensions.
pub fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("einsum", operands)? {
        let cast = casts.cast_all(operands)?;
        return einsum(equation, &cast.iter().collect::<Vec<_>>());
    }
    let (inputs, output) = parse(equation, operands)?;
    let mut terms: Vec<Term> = memory::with_capacity(operands.len())?;
    for (i, (&tensor, labels)) in operands.iter().zip(inputs).enumerate() {
        terms.push(distinct(tensor, labels, i)?);
    }
    check_sizes(&terms)?;
    let mut rest = terms.into_iter();
    let Some(mut left) = rest.next() else {
        return Err(fault("must provide at least one operand"));
    };
    let mut later: Vec<Term> = rest.collect();
    while !later.is_empty() {
        let right = later.remove(0);
        let needed = |l: &Label| output.contains(l) || later.iter().any(|t| t.labels.contains(l));
        left = contract(left, right, &needed)?;
    }
    let done = sum_out(left, |l| output.contains(l))?;
    arrange(&done, &output)
}

fn fault(text: impl std::fmt::Display) -> Error {
    Error::runtime(format!("einsum(): {text}"))
        .with_hint("an equation names every dimension of every operand: `\"bij,bjk->bik\"`")
}

/// The labels of each operand and of the result.
fn parse(equation: &str, operands: &[&Tensor]) -> Result<(Vec<Vec<Label>>, Vec<Label>)> {
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some((right, left.len() + 2))),
        None => (equation, None),
    };
    let texts: Vec<&str> = left.split(',').collect();
    if texts.len() != operands.len() {
        let word = if texts.len() > operands.len() { "fewer" } else { "more" };
        return Err(fault(format!("{word} operands were provided than specified in the equation")));
    }
    let (mut inputs, mut at, mut dots) = (Vec::new(), 0, 0);
    for (i, (text, x)) in texts.iter().zip(operands).enumerate() {
        let (before, after) = letters(text, at)?;
        let named = before.len() + after.as_ref().map_or(0, Vec::len);
        let extra = x.rank().checked_sub(named).filter(|n| after.is_some() || *n == 0).ok_or_else(|| {
            let note = if after.is_some() { "" } else { " and no ellipsis was given" };
            fault(format!(
                "the number of subscripts in the equation ({named}) does not match the number of dimensions ({}) for \
                 operand {i}{note}",
                x.rank()
            ))
        })?;
        dots = dots.max(extra);
        inputs.push(spell(before, after, extra));
        at += text.len() + 1;
    }
    let output = match right {
        Some((text, at)) => {
            let (before, after) = letters(text, at)?;
            let labels = spell(before, after, dots);
            check_output(&labels, &inputs)?;
            labels
        }
        None => implied(&inputs, dots),
    };
    Ok((inputs, output))
}

/// The letters before and, where there is one, after the ellipsis.
fn letters(text: &str, start: usize) -> Result<(Vec<char>, Option<Vec<char>>)> {
    let (mut before, mut after) = (Vec::new(), None::<Vec<char>>);
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            ' ' => {}
            'a'..='z' | 'A'..='Z' => after.as_mut().unwrap_or(&mut before).push(c),
            '.' if text.get(i..i + 3) == Some("...") && after.is_none() => {
                chars.next();
                chars.next();
                after = Some(Vec::new());
            }
            '.' => {
                return Err(fault(format!(
                    "found '.' that is not part of a single ellipsis at index {} in the equation string",
                    start + i
                )));
            }
            _ => {
                return Err(fault(format!(
                    "invalid subscript given at index {} in the equation string, subscripts must be in [a-zA-Z]",
                    start + i
                )));
            }
        }
    }
    Ok((before, after))
}

fn spell(before: Vec<char>, after: Option<Vec<char>>, dots: usize) -> Vec<Label> {
    let dots = if after.is_some() { dots } else { 0 };
    let middle = (0..dots).rev().map(Label::Dots);
    before
        .into_iter()
        .map(Label::Letter)
        .chain(middle)
        .chain(after.into_iter().flatten().map(Label::Letter))
        .collect()
}

fn check_output(labels: &[Label], inputs: &[Vec<Label>]) -> Result<()> {
    for (i, label) in labels.iter().enumerate() {
        let Label::Letter(c) = label else { continue };
        if labels.iter().take(i).any(|l| l == label) {
            return Err(fault(format!("output subscript {c} appears more than once in the output")));
        }
        if !inputs.iter().flatten().any(|l| l == label) {
            return Err(fault(format!(
                "output subscript {c} does not appear in the equation for any input operand"
            )));
        }
    }
    Ok(())
}

/// The result of an equation without an arrow.
fn implied(inputs: &[Vec<Label>], dots: usize) -> Vec<Label> {
    let mut once: Vec<char> = Vec::new();
    for label in inputs.iter().flatten() {
        if let Label::Letter(c) = label
            && inputs.iter().flatten().filter(|l| *l == label).count() == 1
        {
            once.push(*c);
        }
    }
    once.sort_unstable();
    (0..dots).rev().map(Label::Dots).chain(once.into_iter().map(Label::Letter)).collect()
}

/// Takes diagonals until each name appears once.
fn distinct(x: &Tensor, mut labels: Vec<Label>, operand: usize) -> Result<Term> {
    let mut tensor = x.clone();
    while let Some((i, j)) = twice(&labels) {
        let size = |d: usize| tensor.shape().get(d).copied().unwrap_or(1);
        if size(i) != size(j) {
            let name = match labels.get(i) {
                Some(Label::Letter(c)) => *c,
                _ => '.',
            };
            return Err(fault(format!(
                "subscript {name} is repeated for operand {operand} but the sizes don't match, {} != {}",
                size(j),
                size(i)
            )));
        }
        tensor = diagonal(&tensor, 0, i as i64, j as i64)?;
        let label = labels.remove(j);
        labels.remove(i);
        labels.push(label);
    }
    Ok(Term { tensor, labels })
}

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    labels.iter().enumerate().find_map(|(j, l)| labels.iter().take(j).position(|k| k == l).map(|i| (i, j)))
}

/// Sizes of one name are equal, or 1.
fn check_sizes(terms: &[Term]) -> Result<()> {
    let mut seen: Vec<(Label, usize)> = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        for (&label, &size) in term.labels.iter().zip(term.tensor.shape()) {
            match seen.iter_mut().find(|(l, _)| *l == label) {
                None => seen.push((label, size)),
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if size != *known && size != 1 => {
                    let name = match label {
                        Label::Letter(c) => c.to_string(),
                        Label::Dots(_) => "...".into(),
                    };
                    return Err(fault(format!(
                        "subscript {name} has size {size} for operand {i} which does not broadcast with previously \
                         seen size {known}"
                    )));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

impl Term {
    fn size(&self, label: Label) -> usize {
        let at = self.labels.iter().position(|l| *l == label);
        at.and_then(|i| self.tensor.shape().get(i).copied()).unwrap_or(1)
    }
}

/// Sums the dimensions that `keep` does not want.
fn sum_out(term: Term, keep: impl Fn(&Label) -> bool) -> Result<Term> {
    let gone: Vec<i64> =
        term.labels.iter().enumerate().filter(|(_, l)| !keep(l)).map(|(i, _)| i as i64).collect();
    if gone.is_empty() {
        return Ok(term);
    }
    let labels = term.labels.iter().copied().filter(|l| keep(l)).collect();
    Ok(Term { tensor: sum(&term.tensor, Some(&gone), false)?, labels })
}

/// One product of matrices: names in both that are needed later are the batch, other shared names are summed.
fn contract(a: Term, b: Term, needed: &impl Fn(&Label) -> bool) -> Result<Term> {
    let a = sum_out(a, |l| needed(l) || b.labels.contains(l))?;
    let b = sum_out(b, |l| needed(l) || a.labels.contains(l))?;
    let shared = |l: &&Label| b.labels.contains(l);
    let batch: Vec<Label> = a.labels.iter().filter(shared).filter(|l| needed(l)).copied().collect();
    let summed: Vec<Label> = a.labels.iter().filter(shared).filter(|l| !needed(l)).copied().collect();
    let only = |x: &Term, other: &Term| -> Vec<Label> {
        x.labels.iter().filter(|l| !other.labels.contains(l)).copied().collect()
    };
    let (left, right) = (only(&a, &b), only(&b, &a));
    let size = |l: &Label| {
        a.size(*l).max(b.size(*l)).min(if a.size(*l) == 0 || b.size(*l) == 0 { 0 } else { usize::MAX })
    };
    let sizes = |labels: &[Label]| -> Dims { labels.iter().map(size).collect() };
    let (nb, ns, nl, nr) = (sizes(&batch), sizes(&summed), sizes(&left), sizes(&right));
    let count = |d: &Dims| d.iter().product::<usize>();
    let lay = |x: &Term, order: [&[Label]; 3], widths: [&Dims; 3]| -> Result<Tensor> {
        let labels: Vec<Label> = order.concat();
        let full: Dims = widths.iter().flat_map(|w| w.iter().copied()).collect();
        let wide = expand(&arrange(x, &labels)?, &full)?;
        let [first, second, third] = widths.map(count);
        if batch.is_empty() {
            reshape_to(&wide, &[second, third])
        } else {
            reshape_to(&wide, &[first, second, third])
        }
    };
    let x = lay(&a, [&batch, &left, &summed], [&nb, &nl, &ns])?;
    let y = lay(&b, [&batch, &summed, &right], [&nb, &ns, &nr])?;
    let flat = if summed.is_empty() && !x.dtype().is_float() {
        // Nothing is added up: truth values have such a product too.
        mul(&x, &y)?
    } else if batch.is_empty() {
        mm(&x, &y)?
    } else {
        bmm(&x, &y)?
    };
    let shape: Dims = nb.iter().chain(&nl).chain(&nr).copied().collect();
    let labels = [batch, left, right].concat();
    Ok(Term { tensor: reshape_to(&flat, &shape)?, labels })
}

/// Orders dimensions by `labels`; a name the tensor lacks becomes a dimension of size 1.
fn arrange(term: &Term, labels: &[Label]) -> Result<Tensor> {
    let order: Vec<i64> = labels
        .iter()
        .filter_map(|l| term.labels.iter().position(|have| have == l))
        .map(|i| i as i64)
        .collect();
    let mut out = if order.iter().enumerate().all(|(i, &d)| i as i64 == d) {
        term.tensor.clone()
    } else {
        permute(&term.tensor, &order)?
    };
    for (i, label) in labels.iter().enumerate() {
        if !term.labels.contains(label) {
            out = unsqueeze(&out, i as i64)?;
        }
    }
    Ok(out)
}

const BATCH: &[Draw] = &[Draw::of("a", &[2, 3, 4], Domain::Any), Draw::of("b", &[2, 4, 2], Domain::Any)];

params! {
    EinsumParams {
        equation: kind::Str, "the labels of all dimensions, such as `ij,jk->ik`";
        operands: kind::TensorRun, "as many tensors as the equation names, one after the other or in an array";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "einsum",
    Family::Matmul,
    "A sum of products, by Einstein's notation.",
    EinsumParams::LIST,
    by_name!(EinsumParams, |a| to_value(einsum(a.equation, &a.operands))),
)
.forms(&[Form::Function])
.shapes("as the equation says: `bij,bjk->bik` takes (b, i, j), (b, j, k) and gives (b, i, k)")
.errors(&[
    "RuntimeError: sizes of one letter differ",
    "RuntimeError: an operand has not as many dimensions as letters",
])
.example("einsum(\"ij->ji\", [tensor([[1, 2]])])", "tensor([[1],\n        [2]])")
.samples(&[Sample::of("einsum(\"bij,bjk->bik\", [a, b])", BATCH)])];
