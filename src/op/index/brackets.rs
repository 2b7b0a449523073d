//! Indexing as `x[…]` has it, read and written.

use crate::base::shape::broadcast;
use crate::base::{DType, DeviceCause, Dims, Error, Kind, Layout, Result, Scalar, ShapeCause};
use crate::device::Kernel;
use crate::device::kernel::ScatterMode;
use crate::op::core::args::to_value;
use crate::op::core::def::{Family, Gradient, METHOD, OpDef};
use crate::op::core::fill::{copy_, fill_};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::{cast, fitting};
use crate::op::core::record::{in_place, no_grad, recorded, two, wanted};
use crate::op::elementwise::arithmetic::{add, mul, specs};
use crate::op::elementwise::choose::{masked_fill_, masked_fill_with_, where_};
use crate::op::elementwise::comparison::{ge, logical_or, lt};
use crate::op::gather::along_dim::out_of_range;
use crate::op::shape::part::{at_index, slice};
use crate::op::shape::permute::permute;
use crate::op::shape::view::{expand_to, reshape_to, unsqueeze};
use crate::tensor::accumulate::{expand, sum_to};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::indices::Index;
use super::masks::positions;

/// `x[at]`: a view for numbers and ranges, a copy where tensors choose.
pub fn index(x: &Tensor, at: &[Index]) -> Result<Tensor> {
    let run = || {
        let plan = IndexPlan::of(x, at)?;
        let Some(choice) = plan.choice(false)? else { return Ok(plan.view) };
        let merged = choice.merged(&plan.view)?;
        choice.read(&merged)
    };
    run().map_err(|e| e.in_op("index", || operands(x, at)))
}

/// `x[at] = value` (or `+=` with `accumulate`), in place. A tensor is broadcast to what it is written to.
pub fn index_put_(x: &Tensor, at: &[Index], value: Operand, accumulate: bool) -> Result<Tensor> {
    let run = || {
        if let (&[Index::Tensor(ref mask)], Some(number), false) = (at, single(value)?, accumulate)
            && mask.dtype() == DType::Bool
            && mask.device() == x.device()
            && x.shape().starts_with(mask.shape())
        {
            let mut wide: Dims = mask.shape().into();
            wide.resize(x.rank(), 1);
            return masked_fill_(x, &reshape_to(mask, &wide)?, number);
        }
        if let (&[Index::Tensor(ref mask)], Operand::Tensor(t), false) = (at, value, accumulate)
            && (t.rank(), mask.dtype(), t.device()) == (0, DType::Bool, x.device())
            && mask.shape() == x.shape()
        {
            return masked_fill_with_(x, mask, t);
        }
        let plan = IndexPlan::of(x, at)?;
        match plan.choice(true)? {
            None => drop(assign_(&plan.view, value, accumulate)?),
            Some(choice) => {
                let indices = at.iter().filter_map(|i| if let Index::Tensor(t) = i { Some(t) } else { None });
                indices.into_iter().try_for_each(|t| plan.view.check_overlap(t))?;
                choice.write(&plan.view, value, accumulate)?
            }
        }
        Ok(x.clone())
    };
    run().map_err(|e| e.in_op("index_put_", || operands(x, at)))
}

fn operands(x: &Tensor, at: &[Index]) -> Vec<crate::base::error::Operand> {
    let tensors = at.iter().filter_map(|i| match i {
        Index::Tensor(t) => Some(t.operand()),
        _ => None,
    });
    std::iter::once(x.operand()).chain(tensors).collect()
}

/// The number that a value is, where it is one.
fn single(value: Operand) -> Result<Option<Scalar>> {
    match value {
        Operand::Scalar(s) => Ok(Some(s)),
        Operand::Tensor(t) if t.rank() == 0 && !t.requires_grad() && !t.device().is_cuda() => {
            t.host_scalar().map(Some)
        }
        Operand::Tensor(_) => Ok(None),
    }
}

/// What numbers and ranges leave of a tensor, and which of its dimensions tensors choose from.
struct IndexPlan {
    view: Tensor,
    chosen: Vec<Chosen>,
}

/// A tensor of an index: it chooses from `span` dimensions of the view from `dim` on, which are one for places and
/// as many as it has for a mask.
struct Chosen {
    dim: usize,
    span: usize,
    index: Tensor,
    /// The places came from a mask: none is negative or out of range.
    sure: bool,
}

impl IndexPlan {
    fn of(x: &Tensor, at: &[Index]) -> Result<IndexPlan> {
        let takes = |i: &Index| match i {
            Index::New | Index::Ellipsis => 0,
            Index::Tensor(t) if is_mask(t) => t.rank(),
            _ => 1,
        };
        let named: usize = at.iter().map(takes).sum();
        if x.rank() == 0 && at.iter().any(|i| matches!(i, Index::At(_))) {
            return Err(Error::new(
                Kind::IndexError,
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to \
                 convert a 0-dim tensor to a number",
            ));
        }
        let missing = x.rank().checked_sub(named).ok_or_else(|| {
            let text = format!("too many indices for tensor of dimension {}", x.rank());
            Error::new(Kind::IndexError, text)
        })?;
        let mut plan = IndexPlan { view: x.clone(), chosen: Vec::new() };
        let (mut dim, mut original) = (0, 0);
        for (place, one) in at.iter().enumerate() {
            let span = if matches!(one, Index::Ellipsis) { missing } else { takes(one) };
            plan.apply(one, place, dim, original, span)?;
            original += span;
            dim += match one {
                Index::At(_) => 0,
                Index::New => 1,
                _ => span,
            };
        }
        if plan.view.is(x) && plan.chosen.is_empty() {
            plan.view = reshape_to(x, x.shape())?;
        }
        Ok(plan)
    }

    fn apply(&mut self, one: &Index, place: usize, dim: usize, original: usize, span: usize) -> Result<()> {
        match one {
            Index::All | Index::Ellipsis => {}
            Index::At(i) => self.view = at_index(&self.view, dim, *i, original)?,
            Index::New => self.view = unsqueeze(&self.view, dim as i64)?,
            Index::Range(start, end) => {
                let size = self.view.shape().get(dim).copied().unwrap_or(0);
                let (from, to) = (bound(*start, 0, size), bound(*end, size, size));
                self.view = slice(&self.view, dim, from, to.saturating_sub(from), 1)?;
            }
            Index::Tensor(t) => {
                let t = self.local(t)?;
                let sure = is_mask(&t);
                let index = if sure { self.mask(&t, place, dim, span)? } else { t };
                self.chosen.push(Chosen { dim, span, index, sure });
            }
        }
        Ok(())
    }

    /// An index tensor on the view's device: one on the CPU may choose from any device.
    fn local(&self, t: &Tensor) -> Result<Tensor> {
        if matches!(t.dtype(), DType::Int64 | DType::Int32 | DType::UInt8 | DType::Bool) {
            return match (t.device(), self.view.device()) {
                (a, b) if a == b => Ok(t.clone()),
                (a, _) if !a.is_cuda() => t.moved(&self.view.context(), false, "index"),
                (_, indexed) => Err(DeviceCause::IndexDevice { indexed }.into()),
            };
        }
        let text = "tensors used as indices must be long, int, byte or bool tensors";
        Err(Error::new(Kind::IndexError, text)
            .with_hint("convert it with `.long()` or compare to get a mask"))
    }

    /// The places that a mask chooses among its dimensions, flattened.
    fn mask(&self, mask: &Tensor, place: usize, dim: usize, span: usize) -> Result<Tensor> {
        let covered = self.view.shape().get(dim..dim + span);
        if covered != Some(mask.shape()) {
            return Err(Error::new(
                Kind::IndexError,
                format!(
                    "The shape of the mask {:?} at index {place} does not match the shape of the indexed tensor {:?} \
                     at index {dim}",
                    mask.shape(),
                    self.view.shape()
                ),
            ));
        }
        positions(mask)
    }

    /// What the tensors choose together, or nothing where there are none. For a write no place may be negative.
    fn choice(&self, write: bool) -> Result<Option<IndexChoice>> {
        let Some((first, last)) = self.chosen.first().zip(self.chosen.last()) else { return Ok(None) };
        let _off = no_grad();
        let mut shape = Dims::new();
        for c in &self.chosen {
            shape = broadcast(&shape, c.index.shape()).map_err(|_| self.mismatch())?;
        }
        let covered: usize = self.chosen.iter().map(|c| c.span).sum();
        let adjacent = last.dim + last.span - first.dim == covered;
        let picked: Vec<usize> = self.chosen.iter().flat_map(|c| c.dim..c.dim + c.span).collect();
        let others = |range: std::ops::Range<usize>| range.filter(|d| !picked.contains(d));
        let (before, order) = match adjacent {
            true => (first.dim, (0..self.view.rank()).collect::<Vec<_>>()),
            false => (0, picked.iter().copied().chain(others(0..self.view.rank())).collect()),
        };
        let size = |d: &usize| self.view.shape().get(*d).copied().unwrap_or(1);
        let sizes: Dims = order.iter().map(size).collect();
        let (head, rest) = sizes.split_at_checked(before).unwrap_or((&sizes, &[]));
        let (middle, tail) = rest.split_at_checked(covered).unwrap_or((rest, &[]));
        let total: usize = middle.iter().product();
        let linear = self.linear(&shape, total, write)?;
        Ok(Some(IndexChoice {
            order: (!adjacent).then(|| order.iter().map(|&d| d as i64).collect()),
            merged: head.iter().copied().chain([total]).chain(tail.iter().copied()).collect(),
            dim: before,
            result: head.iter().chain(&shape).chain(tail).copied().collect(),
            places: self.chosen.iter().map(|c| (c.index.clone(), self.extent(c), c.dim)).collect(),
            linear,
        }))
    }

    fn extent(&self, c: &Chosen) -> usize {
        self.view.shape().iter().skip(c.dim).take(c.span).product()
    }

    fn mismatch(&self) -> Error {
        let shapes: Vec<String> = self.chosen.iter().map(|c| format!("{:?}", c.index.shape())).collect();
        let text = format!(
            "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
            shapes.join(", ")
        );
        Error::new(Kind::IndexError, text)
    }

    /// One index vector into the merged dimensions. What is out of range points past the end, so that the kernel
    /// refuses it. Places of a single tensor that is read may be negative.
    fn linear(&self, shape: &[usize], total: usize, write: bool) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        let mut bad: Option<Tensor> = None;
        let mut step = total;
        let several = self.chosen.len() > 1;
        for c in &self.chosen {
            let size = self.extent(c);
            step = step.checked_div(size).unwrap_or(0);
            let wrapped =
                if c.sure || !(several || write) { c.index.clone() } else { from_start(&c.index, size)? };
            if several && !c.sure {
                let out = logical_or(&lt(&wrapped, 0i64)?, &ge(&wrapped, size as i64)?)?;
                bad = Some(match bad {
                    Some(before) => logical_or(&before, &out)?,
                    None => out,
                });
            }
            let part = if step == 1 { wrapped } else { mul(&wrapped, step as i64)? };
            sum = Some(match sum {
                Some(before) => add(&before, &part)?,
                None => part,
            });
        }
        let Some(sum) = sum else { return Err(Error::runtime("an index without tensors")) };
        let linear = match bad {
            Some(bad) => where_(&bad, (total as i64).into(), (&sum).into())?,
            None => sum,
        };
        let wide = expand(&linear, shape)?;
        reshape_to(&wide, &[shape.iter().product()])
    }
}

/// What index tensors choose: places in one merged dimension.
struct IndexChoice {
    /// The order of dimensions that brings the chosen ones together, where they are apart.
    order: Option<Vec<i64>>,
    /// The shape with the chosen dimensions merged into `dim`.
    merged: Dims,
    dim: usize,
    result: Dims,
    /// The index tensors, the sizes they index and the dimensions, for errors.
    places: Vec<(Tensor, usize, usize)>,
    linear: Tensor,
}

/// What a rule needs to read and write at the chosen places.
#[derive(Clone)]
struct Spot {
    merged: Dims,
    dim: usize,
}

impl IndexChoice {
    fn merged(&self, view: &Tensor) -> Result<Tensor> {
        let ordered = match &self.order {
            Some(order) => permute(view, order)?,
            None => view.clone(),
        };
        if ordered.shape() == self.merged.as_slice() {
            Ok(ordered)
        } else {
            reshape_to(&ordered, &self.merged)
        }
    }

    fn read(&self, merged: &Tensor) -> Result<Tensor> {
        static RULE: Vjp = Vjp { name: "IndexBackward0", run: read_grad };
        let out = Tensor::empty(&self.result, merged.dtype(), &merged.context(), "index")?;
        let mut flat = self.merged.clone();
        if let Some(size) = flat.get_mut(self.dim) {
            *size = self.linear.numel();
        }
        let to = out.with_layout(Layout::contiguous(&flat)?);
        let kernel = Kernel::IndexSelect { dim: self.dim, from_end: true };
        launch("index", &kernel, &[merged.into(), (&self.linear).into()], &[&to])
            .map_err(|e| self.explain(e))?;
        Ok(recorded(out, &RULE, &[merged], |s, _| {
            s.constant(Some(&self.linear));
            s.attribute(Spot { merged: self.merged.clone(), dim: self.dim });
        }))
    }

    fn write(&self, view: &Tensor, value: Operand, accumulate: bool) -> Result<()> {
        if let Operand::Tensor(t) = value {
            view.check_overlap(t)?;
        }
        let value = self.value(view, value)?;
        let held = |v: &HeldValue| match v {
            HeldValue::Tensor(t) => Some(t.clone()),
            HeldValue::Number(_) => None,
        };
        let source = held(&value);
        let others: Vec<&Tensor> = source.iter().collect();
        let spot = PutSpot {
            spot: Spot { merged: self.merged.clone(), dim: self.dim },
            order: self.order.clone(),
            result: self.result.clone(),
            accumulate,
        };
        static RULE: Vjp = Vjp { name: "IndexPutBackward0", run: put_grad };
        in_place(
            view,
            &others,
            &RULE,
            |s| {
                s.constant(Some(&self.linear));
                s.attribute(spot.clone());
            },
            || {
                let _off = no_grad();
                spot.put(view, &self.linear, &value).map_err(|e| self.explain(e))
            },
        )?;
        Ok(())
    }

    /// The value as it will be written: numbers as they are, tensors of the right dtype and device.
    fn value(&self, view: &Tensor, value: Operand) -> Result<HeldValue> {
        let Operand::Tensor(t) = value else {
            let Operand::Scalar(n) = value else { return Err(Error::runtime("no value")) };
            return Ok(HeldValue::Number(fitting(n, view.dtype())?));
        };
        if t.dtype() != view.dtype() {
            return Err(Error::runtime(format!(
                "Index put requires the source and destination dtypes match, got {} for the destination and {} for \
                 the source.",
                view.dtype().type_name(),
                t.dtype().type_name()
            ))
            .with_hint(format!("convert it: `value.to({})`", view.dtype())));
        }
        if let (Some(number), true) = (single(value)?, t.rank() == 0) {
            return Ok(HeldValue::Number(cast(number, view.dtype())));
        }
        if t.device() != view.device() {
            return Err(DeviceCause::TwoDevices { first: view.device(), second: t.device() }.into());
        }
        if broadcast(t.shape(), &self.result).ok().as_deref() != Some(&self.result) {
            return Err(Error::runtime(format!(
                "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result of shape {:?}",
                t.shape(),
                self.result
            )));
        }
        Ok(HeldValue::Tensor(t.clone()))
    }

    /// Finds the index that a kernel refused, and says it as PyTorch does.
    fn explain(&self, error: Error) -> Error {
        out_of_range(error, |index, dim, size| {
            for (t, extent, d) in &self.places {
                let Ok(all) = t.to_i64s("index") else { continue };
                let limit = *extent as i64;
                if let Some(&bad) = all.iter().find(|&&i| i < -limit || i >= limit) {
                    // PyTorch names the dimension among those that are chosen from.
                    let dim = d.saturating_sub(self.first());
                    return ShapeCause::IndexOutOfBounds { index: bad, dim, size: *extent }.into();
                }
            }
            ShapeCause::IndexOutOfBounds { index, dim, size }.into()
        })
    }

    fn first(&self) -> usize {
        self.places.iter().map(|(.., d)| *d).min().unwrap_or(0)
    }
}

enum HeldValue {
    Tensor(Tensor),
    Number(Scalar),
}

/// What the rule of a write needs.
#[derive(Clone)]
struct PutSpot {
    spot: Spot,
    order: Option<Vec<i64>>,
    result: Dims,
    accumulate: bool,
}

impl PutSpot {
    /// Writes at the chosen places of `view`, straight to its memory where its dimensions merge.
    fn put(&self, view: &Tensor, linear: &Tensor, value: &HeldValue) -> Result<()> {
        let layout = match &self.order {
            Some(order) => view.layout().permute(&order.iter().map(|&d| d as usize).collect::<Vec<_>>())?,
            None => view.layout().clone(),
        };
        if let Some(merged) = layout.view(&self.spot.merged) {
            return self.put_merged(&view.with_layout(merged), linear, value);
        }
        let ordered = view.with_layout(layout);
        let packed = ordered.copied(view.dtype(), "index_put_")?;
        self.put_merged(&packed.with_layout(Layout::contiguous(&self.spot.merged)?), linear, value)?;
        ordered.assign(&packed, "index_put_")
    }

    fn put_merged(&self, target: &Tensor, linear: &Tensor, value: &HeldValue) -> Result<()> {
        let dim = self.spot.dim;
        // No kernel runs where there is nothing to write.
        if linear.numel() > 0 && self.spot.merged.get(dim) == Some(&0) {
            return Err(Error::new(Kind::IndexError, "index is out of bounds for dimension with size 0"));
        }
        let mut flat = self.spot.merged.clone();
        if let Some(size) = flat.get_mut(dim) {
            *size = linear.numel();
        }
        let source = match value {
            HeldValue::Number(n) if !self.accumulate => {
                let index = stretched(linear, dim, &flat)?;
                let kernel = Kernel::Scatter { dim, mode: ScatterMode::Assign };
                return launch("index_put_", &kernel, &[In::Laid(linear, &index), In::Scalar(*n)], &[target]);
            }
            HeldValue::Number(n) => Tensor::full(&flat, *n, target.dtype(), &target.context(), "index_put_")?,
            HeldValue::Tensor(t) => {
                let t = if t.dtype() == target.dtype() {
                    t.clone()
                } else {
                    t.copied(target.dtype(), "index_put_")?
                };
                reshape_to(&expand(&t, &self.result)?, &flat)?
            }
        };
        if self.accumulate {
            return launch(
                "index_put_",
                &Kernel::IndexAdd { dim },
                &[linear.into(), (&source).into()],
                &[target],
            );
        }
        let index = stretched(linear, dim, &flat)?;
        let kernel = Kernel::Scatter { dim, mode: ScatterMode::Assign };
        launch("index_put_", &kernel, &[In::Laid(linear, &index), (&source).into()], &[target])
    }
}

/// Places counted from the start of a dimension, in int64.
fn from_start(index: &Tensor, size: usize) -> Result<Tensor> {
    let wide =
        if index.dtype() == DType::Int64 { index.clone() } else { index.copied(DType::Int64, "index")? };
    where_(&lt(&wide, 0i64)?, (&add(&wide, size as i64)?).into(), (&wide).into())
}

/// An index vector along `dim`, the same for all other places.
fn stretched(linear: &Tensor, dim: usize, shape: &[usize]) -> Result<Layout> {
    let mut narrow: Dims = std::iter::repeat_n(1, shape.len()).collect();
    if let Some(size) = narrow.get_mut(dim) {
        *size = linear.numel();
    }
    let layout = linear.layout().view(&narrow).ok_or(ShapeCause::ViewNotContiguous)?;
    layout.expand(shape)
}

/// The gradient of what was read goes back to where it was read, and adds up.
fn read_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let linear = s.tensor(0)?;
    let spot: &Spot = s.attribute()?;
    let mut flat = spot.merged.clone();
    if let Some(size) = flat.get_mut(spot.dim) {
        *size = linear.numel();
    }
    let zeros = Tensor::full(&spot.merged, 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    let back =
        crate::op::gather::select::index_add(&zeros, spot.dim as i64, &linear, &reshape_to(g, &flat)?, 1.0)?;
    Ok([Some(back)].into_iter().collect())
}

/// What was overwritten gets no gradient; what was written gets that of its places.
fn put_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let linear = s.tensor(0)?;
    let put: &PutSpot = s.attribute()?;
    let own = wanted(s, 0, || {
        if put.accumulate {
            return Ok(g.clone());
        }
        let kept = crate::op::core::convert::cloned(g)?;
        static RULE: Vjp = Vjp { name: "IndexPutBackward0", run: put_grad };
        in_place(
            &kept,
            &[],
            &RULE,
            |saver| {
                saver.constant(Some(&linear));
                saver.attribute(put.clone());
            },
            || put.put(&kept, &linear, &HeldValue::Number(cast(Scalar::Int(0), g.dtype()))),
        )
    })?;
    let value = wanted(s, 1, || {
        let ordered = match &put.order {
            Some(order) => permute(g, order)?,
            None => g.clone(),
        };
        let merged = reshape_to(&ordered, &put.spot.merged)?;
        let part = crate::op::gather::select::index_select(&merged, put.spot.dim as i64, &linear)?;
        sum_to(&reshape_to(&part, &put.result)?, s.shape(1))
    })?;
    two(own, value)
}

/// A bound of a range inside a dimension.
fn bound(at: Option<i64>, open: usize, size: usize) -> usize {
    let Some(at) = at else { return open };
    let n = size as i64;
    let from_start = if at < 0 { at.saturating_add(n) } else { at };
    from_start.clamp(0, n) as usize
}

fn is_mask(t: &Tensor) -> bool {
    matches!(t.dtype(), DType::Bool | DType::UInt8)
}

/// `x[…] = value` for a view: a number fills it, a tensor is copied; `accumulate` adds.
pub(crate) fn assign_(view: &Tensor, value: Operand, accumulate: bool) -> Result<Tensor> {
    match value {
        value if accumulate => specs::Add.apply_in_place(view, value, [1.0, 0.0]),
        // What is repeated is no part of what is written, as in PyTorch.
        Operand::Tensor(t) if t.shape() != view.shape() => {
            let shape: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            copy_(view, &expand_to(t, &shape)?, false)
        }
        Operand::Tensor(t) => copy_(view, t, false),
        number => fill_(view, number),
    }
}

params! {
    IndexPutParams {
        input: kind::Tensor, "the tensor that is written to";
        indices: kind::Any, "index tensors, one for each dimension";
        values: kind::Operand, "what is written there; it broadcasts";
        accumulate: kind::Bool = false, "adds to what is there, where otherwise it is replaced";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("index_put_", Family::Index, "Values written where indices say, in place.", IndexPutParams::LIST, by_name!(IndexPutParams, |a| to_value(index_put_(a.input, &Index::list(a.indices)?, a.values, a.accumulate))))
    .forms(METHOD)
    .details(
        "With `accumulate` values are added, those of equal places as well. `x[i] = v` is `x.index_put_([i], v)`.",
    )
    .shapes("any -> the same; values are broadcast to what indices name")
    .errors(&[
        "IndexError: an index lies outside of its dimension",
        "RuntimeError: the values do not broadcast to that part",
    ])
    .example("zeros([3]).index_put_([tensor([0, 2])], 5)", "tensor([5., 0., 5.])")
    .gradient(Gradient::Vjp("IndexPutBackward0")),
];
