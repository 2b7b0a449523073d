//! Maps: how functions of one, two and three operands are computed, recorded and written in place.

use smallvec::SmallVec;

use crate::base::dims::Dims;
use crate::base::dtype::Category;
use crate::base::shape::{broadcast, same};
use crate::base::{DType, DeviceCause, Error, Kind, Result, Scalar};
use crate::device::{Kernel, Machine, MapOp};
use crate::tensor::autograd::{Node, Rule, Saver, needs_graph};
use crate::tensor::{In, Tensor, launch};

use super::autocast;
use super::autocast::Cast;
use super::convert::{cloned, to_dtype};
use super::launch::{Laid, common_shape, map, operands, tensor};
use super::operand::Operand;
use super::promote::{
    check_cast, check_fits, common_device, is_host_scalar, is_narrowed, only_floats, result_type, to_float,
    wrapped,
};
use super::spec::{Binary, Gives, Keep, MapAttribute, Params, Refusal, Side, Unary};

/// A map of three broadcast operands into new memory of `dtype`; no graph.
pub(crate) fn ternary(
    name: &'static str,
    op: MapOp,
    all: [Operand; 3],
    dtype: DType,
    params: Params,
) -> Result<Tensor> {
    let run = || {
        let device = common_device(&all)?;
        let shape = common_shape(&all)?;
        let tensors = || all.iter().filter_map(|o| tensor(*o));
        let model = tensors().find(|t| t.device() == device).or_else(|| tensors().next());
        let Some(model) = model else { return Err(Error::type_error(format!("{name}() needs a tensor"))) };
        let [a, b, c] = all;
        let (a, b, c) =
            (Laid::new(a, &shape, model)?, Laid::new(b, &shape, model)?, Laid::new(c, &shape, model)?);
        map(name, op, &[a.input(), b.input(), c.input()], &shape, dtype, dtype, params, model)
    };
    run().map_err(|e| e.in_op(name, || operands(&all)))
}

/// [`ternary`] written to `x`, whose shape must be the common one.
pub(crate) fn ternary_into(
    x: &Tensor,
    name: &'static str,
    op: MapOp,
    all: [Operand; 3],
    compute: DType,
    params: Params,
) -> Result<()> {
    let device = common_device(&all)?;
    if device != x.device() {
        return Err(DeviceCause::TwoDevices { first: device, second: x.device() }.into());
    }
    let shape = common_shape(&all)?;
    if shape.as_slice() != x.shape() {
        let text = format!("output with shape {:?} doesn't match the broadcast shape {shape:?}", x.shape());
        return Err(Error::runtime(text));
    }
    let [a, b, c] = all;
    let (a, b, c) = (Laid::new(a, &shape, x)?, Laid::new(b, &shape, x)?, Laid::new(c, &shape, x)?);
    launch(name, &Kernel::Map { op, params, compute }, &[a.input(), b.input(), c.input()], &[x])
}

impl Unary {
    /// `f(x)`. Params reach the kernel and, as the saved attribute, the gradient rule.
    pub fn apply(&self, x: &Tensor, params: Params) -> Result<Tensor> {
        if let Some(casts) = autocast::enter(self.name, &[x])? {
            return self.apply(&casts.cast(x)?, params);
        }
        self.run(x, params).map_err(|e| e.in_op(self.name, || vec![x.operand()]))
    }

    /// `x = f(x)` in place.
    pub fn apply_in_place(&self, x: &Tensor, params: Params) -> Result<Tensor> {
        self.run_in_place(x, params).map_err(|e| e.in_op_in_place(self.name, || vec![x.operand()]))
    }

    fn run(&self, x: &Tensor, params: Params) -> Result<Tensor> {
        let (compute, out) = self.dtypes(x)?;
        let y = map(self.name, self.op, &[In::Tensor(x)], x.shape(), out, compute, params, x)?;
        match self.rule {
            Some(rule) if needs_graph(&[x]) => {
                Ok(y.record(rule, &[x], |s, y| keep(self.keep, s, &[x], y, params)))
            }
            _ => Ok(y),
        }
    }

    fn run_in_place(&self, x: &Tensor, params: Params) -> Result<Tensor> {
        let (compute, out) = self.dtypes(x)?;
        check_cast(out, x.dtype())?;
        let recorded = needs_graph(&[x]);
        x.check_inplace(recorded)?;
        let node = self.rule.filter(|_| recorded).map(|rule| -> Result<_> {
            let before = if self.keep == Keep::Input { cloned(x)? } else { x.clone() };
            Ok(in_place_node(rule, &[x], |s, x| keep(self.keep, s, &[&before], x, params)))
        });
        let node: Option<_> = node.transpose()?;
        let kernel = Kernel::Map { op: self.op, params, compute };
        launch(self.name, &kernel, &[In::Tensor(x)], &[x])?;
        finish(x, node);
        Ok(x.clone())
    }

    fn dtypes(&self, x: &Tensor) -> Result<(DType, DType)> {
        dtypes(self.gives, self.name, self.refusal, x.dtype())
    }
}

impl Binary {
    /// What some functions refuse: negative powers of integers, differences with masks, shares of what is no float.
    #[inline]
    fn check(&self, a: Operand, b: Operand) -> Result<()> {
        match (self.op, b) {
            (MapOp::Pow, Operand::Scalar(Scalar::Int(n))) if n < 0 => no_negative_power(a),
            (MapOp::Pow, Operand::Scalar(n @ Scalar::Int(_))) => check_fits(n, result_type(&[a, b])),
            (MapOp::Sub, _) => no_bool(a, b),
            (MapOp::ShiftLeft | MapOp::ShiftRight, _) => only_whole(self.op, a, b),
            (MapOp::Heaviside, Operand::Tensor(y)) if tensor(a).is_some_and(|x| x.dtype() != y.dtype()) => {
                Err(Error::runtime("heaviside is not yet implemented for tensors with different dtypes.")
                    .with_hint("convert one of them, for example with `.float()`"))
            }
            (MapOp::BitAnd | MapOp::BitOr | MapOp::BitXor, _) => only_bits(self.name, a, b),
            (MapOp::Hypot, _) => only_floats(result_type(&[a, b]), "hypot_cpu"),
            (MapOp::Logaddexp, _) => only_floats(result_type(&[a, b]), "logaddexp_cpu"),
            (MapOp::GammaBelow, _) => only_floats(result_type(&[a, b]), "igamma_cpu"),
            (MapOp::GammaAbove, _) => only_floats(result_type(&[a, b]), "igammac_cpu"),
            _ => Ok(()),
        }
    }

    /// `f(a, b)`, broadcast. `params` reach the kernel and the gradient rule.
    pub fn apply(&self, a: Operand, b: Operand, params: Params) -> Result<Tensor> {
        if let Some(casts) = autocast::enter_operands(self.name, &[a, b])? {
            let (a, b) = (Cast::of(&casts, a)?, Cast::of(&casts, b)?);
            return self.apply(a.operand(), b.operand(), params);
        }
        self.run(a, b, params).map_err(|e| e.in_op(self.name, || operands(&[a, b])))
    }

    /// `a = f(a, b)` in place.
    pub fn apply_in_place(&self, a: &Tensor, b: Operand, params: Params) -> Result<Tensor> {
        self.run_in_place(a, b, params)
            .map_err(|e| e.in_op_in_place(self.name, || operands(&[Operand::Tensor(a), b])))
    }

    fn run(&self, a: Operand, b: Operand, params: Params) -> Result<Tensor> {
        self.check(a, b)?;
        if let (MapOp::Pow, Operand::Tensor(x), Operand::Scalar(Scalar::Bool(power))) = (self.op, a, b)
            && x.dtype() == DType::Bool
        {
            return if power { cloned(x) } else { ones_like(x) };
        }
        if let (Operand::Tensor(x), Operand::Tensor(y)) = (a, b)
            && x.dtype() == y.dtype()
            && x.device() == y.device()
            && same(x.shape(), y.shape())
        {
            let (compute, out) = dtypes(self.gives, self.name, self.refusal, x.dtype())?;
            let z =
                map(self.name, self.op, &[In::Tensor(x), In::Tensor(y)], x.shape(), out, compute, params, x)?;
            return Ok(self.recorded(z, a, b, params));
        }
        let device = common_device(&[a, b])?;
        let (compute, out) = dtypes(self.gives, self.name, self.refusal, result_type(&[a, b]))?;
        let (shape, model) = match (a, b) {
            (Operand::Tensor(x), Operand::Tensor(y)) => {
                (broadcast(x.shape(), y.shape())?, if x.device() == device { x } else { y })
            }
            (Operand::Tensor(x), _) | (_, Operand::Tensor(x)) => (Dims::from_slice(x.shape()), x),
            (Operand::Scalar(x), Operand::Scalar(y)) => {
                let cpu = Machine::current();
                let x = Tensor::full(&[], x, x.default_dtype(), cpu.cpu(), self.name)?;
                return self.run(Operand::Tensor(&x), Operand::Scalar(y), params);
            }
        };
        let left = Laid::within(a, &shape, model, compute)?;
        let right = Laid::within(b, &shape, model, compute)?;
        let z = map(self.name, self.op, &[left.input(), right.input()], &shape, out, compute, params, model)?;
        Ok(self.recorded(z, a, b, params))
    }

    fn recorded(&self, z: Tensor, a: Operand, b: Operand, params: Params) -> Tensor {
        let Some(rule) = self.rule else { return z };
        match (a, b) {
            (Operand::Tensor(x), Operand::Tensor(y)) if needs_graph(&[x, y]) => {
                z.record(rule, &[x, y], |s, z| keep(self.keep, s, &[x, y], z, params))
            }
            (Operand::Tensor(x), Operand::Scalar(number)) if needs_graph(&[x]) => {
                z.record(rule, &[x], |s, z| keep_scalar(self.keep, s, Side::Right(number), x, z, params))
            }
            (Operand::Scalar(number), Operand::Tensor(y)) if needs_graph(&[y]) => {
                z.record(rule, &[y], |s, z| keep_scalar(self.keep, s, Side::Left(number), y, z, params))
            }
            _ => z,
        }
    }

    fn run_in_place(&self, a: &Tensor, b: Operand, params: Params) -> Result<Tensor> {
        let both = [Operand::Tensor(a), b];
        self.check(Operand::Tensor(a), b)?;
        if let Operand::Tensor(t) = b
            && broadcast(a.shape(), t.shape())?.as_slice() != a.shape()
        {
            let text = format!(
                "output with shape {:?} doesn't match the broadcast shape {:?}",
                a.shape(),
                broadcast(a.shape(), t.shape())?
            );
            return Err(Error::runtime(text).with_hint("write the result to a new name instead: `a = a + b`"));
        }
        let inputs: SmallVec<[&Tensor; 2]> = match b {
            Operand::Tensor(t) => [a, t].into_iter().collect(),
            Operand::Scalar(_) => [a].into_iter().collect(),
        };
        let recorded = needs_graph(&inputs);
        a.check_inplace(recorded)?;
        inputs.get(1).map_or(Ok(()), |read| a.check_partial_overlap(read))?;
        let device = common_device(&both)?;
        if a.device() != device {
            return Err(DeviceCause::TwoDevices { first: device, second: a.device() }.into());
        }
        if let (MapOp::Pow, Operand::Scalar(Scalar::Bool(power)), DType::Bool) = (self.op, b, a.dtype()) {
            if !power {
                a.fill(Scalar::Bool(true), "pow_")?;
            }
            finish(a, None);
            return Ok(a.clone());
        }
        let (compute, out) = dtypes(self.gives, self.name, self.refusal, result_type(&both))?;
        check_cast(out, a.dtype())?;
        let node = self.rule.filter(|_| recorded).map(|rule| -> Result<_> {
            let before = if self.keep.reads_left(b) { cloned(a)? } else { a.clone() };
            Ok(in_place_node(rule, &inputs, |s, a| match b {
                Operand::Tensor(t) => keep(self.keep, s, &[&before, t], a, params),
                Operand::Scalar(n) => keep_scalar(self.keep, s, Side::Right(n), &before, a, params),
            }))
        });
        let node: Option<_> = node.transpose()?;
        let right = Laid::within(b, a.shape(), a, compute)?;
        let kernel = Kernel::Map { op: self.op, params, compute };
        launch(self.name, &kernel, &[In::Tensor(a), right.input()], &[a])?;
        finish(a, node);
        Ok(a.clone())
    }
}

impl Keep {
    /// Whether the rule will read the left operand of a map whose right operand is `right`.
    fn reads_left(self, right: Operand) -> bool {
        match self {
            Keep::Nothing | Keep::Output => false,
            Keep::Input | Keep::Both => true,
            Keep::Cross | Keep::Quotient => matches!(right, Operand::Tensor(t) if t.requires_grad()),
        }
    }
}

impl<'a> Laid<'a> {
    /// Expands an operand to `shape`; a zero-dimensional CPU tensor beside an accelerator becomes a number.
    pub fn new(operand: Operand<'a>, shape: &[usize], model: &Tensor) -> Result<Laid<'a>> {
        Ok(match operand {
            Operand::Scalar(s) => Laid::Number(s),
            Operand::Tensor(t) if is_host_scalar(t) && model.device().is_cuda() => {
                Laid::Number(t.host_scalar()?)
            }
            Operand::Tensor(t) if t.shape() == shape => Laid::Plain(t),
            Operand::Tensor(t) => Laid::Wide(t, t.layout().expand(shape)?),
        })
    }

    /// As [`Laid::new`]; a number, and a tensor of one, is first what `dtype` holds of it: integers wrap around.
    fn within(operand: Operand<'a>, shape: &[usize], model: &Tensor, dtype: DType) -> Result<Laid<'a>> {
        Ok(match operand {
            Operand::Scalar(s) => Laid::Number(wrapped(s, dtype)),
            Operand::Tensor(t) if t.rank() == 0 && is_narrowed(t.dtype(), dtype) => {
                let held = to_dtype(t, dtype)?;
                if is_host_scalar(t) && model.device().is_cuda() {
                    return Ok(Laid::Number(held.host_scalar()?));
                }
                let layout = held.layout().expand(shape)?;
                Laid::Held(held, layout)
            }
            _ => Laid::new(operand, shape, model)?,
        })
    }

    pub(crate) fn input(&self) -> In<'_> {
        match self {
            Laid::Held(t, layout) => In::Laid(t, layout),
            Laid::Plain(t) => In::Tensor(t),
            Laid::Wide(t, layout) => In::Laid(t, layout),
            Laid::Number(s) => In::Scalar(*s),
        }
    }
}

/// Compute and result dtype.
fn dtypes(gives: Gives, name: &'static str, refusal: Refusal, common: DType) -> Result<(DType, DType)> {
    Ok(match gives {
        Gives::Same => (common, common),
        Gives::Float => (to_float(common), to_float(common)),
        Gives::Bool => (common, DType::Bool),
        Gives::Number if common.category() == Category::Bool => {
            let text = match refusal {
                Refusal::ByName => format!("\"{name}\" not implemented for 'Bool'"),
                Refusal::Kernel(kernel) => format!("\"{kernel}\" not implemented for 'Bool'"),
                Refusal::Text(text) => text.to_string(),
            };
            return Err(Error::new(Kind::NotImplementedError, text)
                .with_hint("convert it first, for example with `.int()`"));
        }
        Gives::Count if common.category() == Category::Bool => (DType::Int64, DType::Int64),
        Gives::Number | Gives::Count => (common, common),
    })
}

#[cold]
fn ones_like(x: &Tensor) -> Result<Tensor> {
    Tensor::full(x.shape(), Scalar::Bool(true), x.dtype(), &x.context(), "pow")
}

fn no_negative_power(base: Operand) -> Result<()> {
    let float = match base {
        Operand::Tensor(t) => t.dtype().is_float(),
        Operand::Scalar(n) => n.category() == Category::Float,
    };
    if float {
        return Ok(());
    }
    Err(Error::runtime("Integers to negative integer powers are not allowed.")
        .with_hint("convert to floats first: `x.float() ** -1`"))
}

/// Floats have no bits to put together.
fn only_bits(name: &str, a: Operand, b: Operand) -> Result<()> {
    let dtype = result_type(&[a, b]);
    if !dtype.is_float() {
        return Ok(());
    }
    let text = format!("\"{name}_cpu\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert to whole numbers with `.int()`"))
}

/// Bits of numbers alone are moved.
fn only_whole(op: MapOp, a: Operand, b: Operand) -> Result<()> {
    let dtype = result_type(&[a, b]);
    if dtype.category() == Category::Int {
        return Ok(());
    }
    let on_gpu = [a, b].into_iter().filter_map(tensor).any(|t| t.device().is_cuda());
    let (name, place) =
        (if op == MapOp::ShiftLeft { "lshift" } else { "rshift" }, if on_gpu { "cuda" } else { "cpu" });
    let text = format!("\"{name}_{place}\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert to whole numbers with `.int()`"))
}

fn no_bool(a: Operand, b: Operand) -> Result<()> {
    let is_bool = |o: Operand| match o {
        Operand::Tensor(t) => t.dtype() == DType::Bool,
        Operand::Scalar(n) => matches!(n, Scalar::Bool(_)),
    };
    // Two masks are refused where the result's dtype is settled.
    if is_bool(a) == is_bool(b) {
        return Ok(());
    }
    Err(Error::new(
        Kind::NotImplementedError,
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use \
         the `~` or `logical_not()` operator instead.",
    )
    .with_hint("`!mask` inverts a mask here; `mask.int()` makes numbers of it"))
}

/// The node of an in-place op, made before the values change.
fn in_place_node<'t>(
    rule: &'static dyn Rule,
    inputs: &[&'t Tensor],
    save: impl FnOnce(&mut Saver, &'t Tensor),
) -> std::sync::Arc<Node> {
    Node::new(rule, inputs, |s| {
        if let Some(first) = inputs.first() {
            save(s, first);
        }
    })
}

/// Counts the change and hands the node over. A saved output is the new value, so its version is counted in.
fn finish(x: &Tensor, node: Option<std::sync::Arc<Node>>) {
    if let Some(node) = &node {
        node.output_written();
    }
    x.finish_inplace(node);
}

fn keep(what: Keep, saver: &mut Saver, inputs: &[&Tensor], output: &Tensor, params: Params) {
    match what {
        Keep::Nothing => {}
        Keep::Input | Keep::Both => inputs.iter().for_each(|t| saver.input(t)),
        Keep::Output => saver.output(output),
        Keep::Cross | Keep::Quotient => {
            let &[left, right] = inputs else { return };
            keep_where(saver, left, right.requires_grad());
            keep_where(saver, right, what == Keep::Quotient || left.requires_grad());
        }
    }
    saver.attribute(MapAttribute { params, number: None });
}

fn keep_where(saver: &mut Saver, t: &Tensor, wanted: bool) {
    if wanted { saver.input(t) } else { saver.constant(None) }
}

fn keep_scalar(what: Keep, saver: &mut Saver, side: Side, x: &Tensor, output: &Tensor, params: Params) {
    match what {
        Keep::Nothing => {}
        Keep::Input | Keep::Both => saver.input(x),
        Keep::Output => saver.output(output),
        Keep::Cross => {}
        Keep::Quotient => keep_where(saver, x, matches!(side, Side::Left(_))),
    }
    saver.attribute(MapAttribute { params, number: Some(side) });
}
