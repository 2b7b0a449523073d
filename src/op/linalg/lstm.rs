//! A whole sequence through one layer of an LSTM, a product and a kernel to a step, where the device has the kernel.

use std::sync::atomic::Ordering;

use crate::base::{DType, Dims, Error, Kind, Layout, Result, memory};
use crate::device::Kernel;
use crate::op::core::record::{no_grad, recorded};
use crate::op::elementwise::arithmetic::{add, mul};
use crate::op::elementwise::unary::{sigmoid, tanh};
use crate::op::linalg::linear::linear;
use crate::op::reduce::sums::sum;
use crate::op::shape::join::stack;
use crate::op::shape::part::{narrow, select};
use crate::op::shape::split::chunk;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled, needs_graph};
use crate::tensor::backward::Pass;
use crate::tensor::{In, Tensor, launch};

const NAME: &str = "lstm";
const PRODUCT: Kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };

/// For so many steps a weight is worth turning.
const TURNED: usize = 4;

/// The sizes of a sequence, and its direction.
#[derive(Clone, Copy)]
struct Sequence {
    length: usize,
    n: usize,
    hidden: usize,
    reverse: bool,
}

/// `all [t, n, 4h]` is what inputs give the gates; states `h, c [n, h]`, weights `hh [4h, h]` and `bias [4h]`. Gives the
/// outputs `[t, n, h]` and the last memory; `None` where it goes step by step.
pub fn lstm_sequence(
    all: &Tensor,
    [h, c]: [&Tensor; 2],
    hh: &Tensor,
    bias: Option<&Tensor>,
    reverse: bool,
) -> Result<Option<(Tensor, Tensor)>> {
    static CUDNN: Vjp = Vjp { name: "CudnnRnnBackward0", run: cudnn_grad };
    static MKLDNN: Vjp = Vjp { name: "MkldnnRnnLayerBackward0", run: mkldnn_grad };
    let (context, on_gpu) = (all.context(), all.device().is_cuda());
    // Elsewhere PyTorch's library has float32 alone.
    let enabled = if on_gpu {
        context.shared.settings.cudnn_enabled.load(Ordering::Relaxed)
    } else {
        all.dtype() == DType::Float32
    };
    let (&[length, n, _], &[_, hidden]) = (all.shape(), hh.shape()) else { return Ok(None) };
    let alike = |t: &&Tensor| t.dtype() == all.dtype() && t.device() == all.device();
    let others = [h, c, hh].into_iter().chain(bias);
    if !enabled || !context.backend.has_lstm_cell() || all.numel() == 0 || !others.clone().all(|t| alike(&t))
    {
        return Ok(None);
    }
    let of = Sequence { length, n, hidden, reverse };
    let [x, h0, c0] = [all.contiguous_detached()?, h.contiguous_detached()?, c.contiguous_detached()?];
    let bias_row = bias.map(Tensor::contiguous_detached).transpose()?;
    let empty = |shape: &[usize]| Tensor::empty(shape, all.dtype(), &context, NAME);
    // The last memory lies behind the outputs, so that both are of one tensor.
    let out = empty(&[length + 1, n, hidden])?;
    let inputs: Vec<&Tensor> = [all, h, c, hh].into_iter().chain(bias).collect();
    // What only a gradient asks for is not kept without one.
    let kept = if needs_graph(&inputs) { [length, length] } else { [2, 1] };
    let (memories, gates) = (empty(&[kept[0], n, hidden])?, empty(&[kept[1], n, 4 * hidden])?);
    let from = empty(&[n, 4 * hidden])?;
    let turned = hh.with_layout(hh.layout().transpose(0, 1)?);
    // A library of a GPU reads it so; a processor would turn it anew in each step.
    let weight = if on_gpu || length < TURNED { turned } else { turned.copied(hh.dtype(), NAME)? };
    let (mut last_h, mut last_c) = (h0.clone(), c0.clone());
    for step in of.steps() {
        launch(NAME, &PRODUCT, &[In::Tensor(&last_h), In::Tensor(&weight)], &[&from])?;
        let own = row(&x, step, [n, 4 * hidden])?;
        let (to_h, to_c) = (row(&out, step, [n, hidden])?, of.memory(&out, &memories, step)?);
        let to_gates = row(&gates, step % kept[1], [n, 4 * hidden])?;
        let mut given = vec![In::Tensor(&own), In::Tensor(&from), In::Tensor(&last_c)];
        given.extend(bias_row.as_ref().map(In::Tensor));
        launch(NAME, &Kernel::LstmCell, &given, &[&to_h, &to_c, &to_gates])?;
        (last_h, last_c) = (to_h, to_c);
    }
    let out = recorded(out, if on_gpu { &CUDNN } else { &MKLDNN }, &inputs, |s, y| {
        s.input(h);
        s.input(c);
        s.input(hh);
        s.output(y);
        s.constant(Some(&memories));
        s.constant(Some(&gates));
        if !on_gpu {
            s.input(all);
            if let Some(bias) = bias {
                s.input(bias);
            }
        }
        s.attribute(of);
    });
    let length = length as i64;
    Ok(Some((narrow(&out, 0, 0, length)?, select(&out, 0, length)?)))
}

impl Sequence {
    /// Steps in the order in which they are taken.
    fn steps(self) -> impl DoubleEndedIterator<Item = usize> {
        let Sequence { length, reverse, .. } = self;
        (0..length).map(move |i| if reverse { length - 1 - i } else { i })
    }

    /// Where the memory after a step lies; where fewer are kept than there are steps, in turns.
    fn memory(self, out: &Tensor, memories: &Tensor, step: usize) -> Result<Tensor> {
        let size = [self.n, self.hidden];
        if Some(step) == self.steps().next_back() {
            row(out, self.length, size)
        } else {
            row(memories, step % memories.size(0)?, size)
        }
    }

    /// The step before, if there is one.
    fn before(self, step: usize) -> Option<usize> {
        if self.reverse { Some(step + 1).filter(|&s| s < self.length) } else { step.checked_sub(1) }
    }
}

/// Matrix number `i` of a row-major tensor of such.
fn row(x: &Tensor, i: usize, [rows, width]: [usize; 2]) -> Result<Tensor> {
    block(x, i, [rows, width], 1)
}

/// Matrices from number `i` on, one below the other.
fn block(x: &Tensor, i: usize, [rows, width]: [usize; 2], count: usize) -> Result<Tensor> {
    let plain = Layout::contiguous(&[rows * count, width])?;
    let start = x.layout().offset() + i * rows * width;
    Ok(x.with_layout(Layout::new(plain.shape().into(), plain.strides().into(), start)?))
}

/// Gradients that are recorded where the pass is, to say that theirs are not known.
fn cudnn_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    static RULE: Vjp = Vjp { name: "CudnnRnnBackwardBackward0", run: second_grad };
    let grads = {
        let _off = no_grad();
        first_grads(s, g)?
    };
    if !grad_enabled() {
        return Ok(grads);
    }
    let (h, c, hh) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?);
    let known =
        grads.into_iter().map(|grad| grad.map(|grad| recorded(grad, &RULE, &[g, &h, &c, &hh], |_, _| {})));
    Ok(known.collect())
}

/// Gradients by the kernels, or step by step where the pass is recorded.
fn mkldnn_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    if !grad_enabled() {
        return first_grads(s, g);
    }
    let (h, c, hh, all) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?, s.tensor(6)?);
    let bias = s.optional(7)?;
    let out = by_steps(*s.attribute()?, &all, [&h, &c], &hh, bias.as_ref())?;
    let inputs: Vec<&Tensor> = [&all, &h, &c, &hh].into_iter().chain(&bias).collect();
    let wanted: Vec<&Tensor> =
        inputs.iter().enumerate().filter_map(|(i, t)| s.needs(i).then_some(*t)).collect();
    let pass = Pass { retain_graph: true, create_graph: true };
    let mut found = Tensor::grads_of(&[&out], &wanted, &[Some(g)], pass)?.into_iter();
    Ok((0..inputs.len()).map(|i| if s.needs(i) { found.next().flatten() } else { None }).collect())
}

/// The same outputs and last memory, `[t + 1, n, h]`, made of functions that are recorded.
fn by_steps(
    of: Sequence,
    all: &Tensor,
    [h, c]: [&Tensor; 2],
    hh: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (mut h, mut c) = (h.clone(), c.clone());
    let mut outputs = memory::with_capacity(of.length + 1)?;
    for step in of.steps() {
        let gates = add(&select(all, 0, step as i64)?, &linear(&h, hh, bias)?)?;
        let parts = chunk(&gates, 4, -1)?;
        let [input, forget, new, output] =
            <[Tensor; 4]>::try_from(parts).map_err(|_| Error::runtime("an LSTM has four gates"))?;
        c = add(&mul(&sigmoid(&forget)?, &c)?, &mul(&sigmoid(&input)?, &tanh(&new)?)?)?;
        h = mul(&sigmoid(&output)?, &tanh(&c)?)?;
        outputs.push(h.clone());
    }
    if of.reverse {
        outputs.reverse();
    }
    outputs.push(c);
    stack(&outputs.iter().collect::<Vec<_>>(), 0)
}

fn second_grad(_: &Saved, _: &Tensor) -> Result<Grads> {
    let text = "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for \
                CuDNN RNNs due to limitations in the CuDNN API.";
    Err(Error::new(Kind::NotImplementedError, text)
        .with_hint("with `cudnn::enabled(false)` before the forward pass it goes step by step"))
}

fn first_grads(s: &Saved, g: &Tensor) -> Result<Grads> {
    let [h, c, hh, out, memories, gates] = [0, 1, 2, 3, 4, 5].map(|i| s.tensor(i));
    let (h, c, hh, out, memories, gates) = (h?, c?, hh?, out?, memories?, gates?);
    let &of: &Sequence = s.attribute()?;
    let Sequence { length, n, hidden, .. } = of;
    let (g, context) = (g.contiguous_detached()?, out.context());
    let empty = |shape: &[usize]| Tensor::empty(shape, out.dtype(), &context, BACKWARD);
    let dgates = empty(&[length, n, 4 * hidden])?;
    let zeros = Tensor::full(&[n, hidden], 0i64.into(), out.dtype(), &context, BACKWARD)?;
    let (h0, c0) = (h.contiguous_detached()?, c.contiguous_detached()?);
    let (mut more, mut dc) = (zeros, row(&g, length, [n, hidden])?);
    for step in of.steps().rev() {
        let before = match of.before(step) {
            Some(before) => row(&memories, before, [n, hidden])?,
            None => c0.clone(),
        };
        let own = [row(&g, step, [n, hidden])?, more, dc, row(&gates, step, [n, 4 * hidden])?, before];
        let memory = of.memory(&out, &memories, step)?;
        let inputs: Vec<In> = own.iter().chain([&memory]).map(In::Tensor).collect();
        let (by_gates, by_before) = (row(&dgates, step, [n, 4 * hidden])?, empty(&[n, hidden])?);
        launch(BACKWARD, &Kernel::LstmCellGrad, &inputs, &[&by_gates, &by_before])?;
        let next = empty(&[n, hidden])?;
        launch(BACKWARD, &PRODUCT, &[In::Tensor(&by_gates), In::Tensor(&hh)], &[&next])?;
        (more, dc) = (next, by_before);
    }
    let mut grads: Grads = [Some(dgates.clone()), Some(more), Some(dc)].into_iter().collect();
    grads.push(if s.needs(3) { Some(by_weight(of, &dgates, &out, &h0)?) } else { None });
    let shape: Dims = Dims::from_slice(&[length * n, 4 * hidden]);
    if s.needs(4) {
        grads.push(Some(sum(&dgates.with_layout(Layout::contiguous(&shape)?), Some(&[0]), false)?));
    }
    Ok(grads)
}

const BACKWARD: &str = "lstm_backward";

/// The gradient of the state's weight: products of all steps at once, and of the first with the state before.
fn by_weight(of: Sequence, dgates: &Tensor, out: &Tensor, h0: &Tensor) -> Result<Tensor> {
    let Sequence { length, n, hidden, reverse } = of;
    let empty = || Tensor::empty(&[4 * hidden, hidden], out.dtype(), &out.context(), BACKWARD);
    let first = if reverse { length - 1 } else { 0 };
    let product = |left: Tensor, right: &Tensor, added: Option<&Tensor>, to: &Tensor| {
        let turned = left.layout().transpose(0, 1)?;
        let mut inputs = vec![In::Laid(&left, &turned), In::Tensor(right)];
        inputs.extend(added.map(In::Tensor));
        let beta = if added.is_some() { 1.0 } else { 0.0 };
        launch(BACKWARD, &Kernel::Matmul { alpha: 1.0, beta }, &inputs, &[to])
    };
    let to = empty()?;
    product(row(dgates, first, [n, 4 * hidden])?, h0, None, &to)?;
    if length == 1 {
        return Ok(to);
    }
    let (later, earlier) = if reverse { (0, 1) } else { (1, 0) };
    let (rows, whole) = (length - 1, empty()?);
    product(
        block(dgates, later, [n, 4 * hidden], rows)?,
        &block(out, earlier, [n, hidden], rows)?,
        Some(&to),
        &whole,
    )?;
    Ok(whole)
}
