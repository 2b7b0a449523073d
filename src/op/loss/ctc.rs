//! The loss of connectionist temporal classification (Graves et al., 2006): sequences of labels without places.

use crate::base::{DType, Error, Kind, Result, Scalar, memory};
use crate::device::class::KernelClass;
use crate::device::kernel::Reduction;
use crate::device::poll;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, kinds, params};
use crate::op::core::record::{check_deterministic, no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::core::whole::{Keeps, Whole, first};
use crate::op::elementwise::arithmetic::{add, div, mul, sub};
use crate::op::elementwise::binary::maximum;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{eq, logical_and, lt, ne};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{exp, log};
use crate::op::gather::along_dim::{gather, out_of_range};
use crate::op::gather::select::index_select;
use crate::op::reduce::sums::{mean, sum};
use crate::op::shape::join::{cat, stack};
use crate::op::shape::part::{narrow, select};
use crate::op::shape::view::{expand_to, reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::elements::{Reduced, reduced};

/// The options of [`ctc_loss`].
#[derive(Clone, Copy, Debug)]
pub struct Ctc {
    /// The label that stands for nothing.
    pub blank: i64,
    pub reduction: Reduction,
    /// Losses of targets that are too long for their input count as 0.
    pub zero_infinity: bool,
}

/// Minus the log-probability of each target under all its alignments with the input, as
/// `torch.nn.functional.ctc_loss`.
///
/// `log_probs` is `[time, n, classes]` (or without `n`); `targets` `[n, length]`, or all of them one after the other.
/// The host knows the lengths. The mean divides each loss by its target's length first.
pub fn ctc_loss(
    log_probs: &Tensor,
    targets: &Tensor,
    inputs: &[i64],
    lengths: &[i64],
    ctc: &Ctc,
) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("ctc_loss", &[log_probs])? {
        return ctc_loss(&casts.cast(log_probs)?, targets, inputs, lengths, ctc);
    }
    if !matches!(log_probs.dtype(), DType::Float32 | DType::Float64) {
        let text = format!("\"ctc_loss_cpu\" not implemented for '{}'", log_probs.dtype().type_name());
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("the loss takes float32 or float64")
        );
    }
    let _paused = crate::tensor::autocast::pause();
    let single = log_probs.rank() == 2;
    let wide = if single { unsqueeze(log_probs, 1)? } else { log_probs.clone() };
    check(&wide, targets, inputs, lengths, ctc.blank)?;
    static KERNEL: Whole = Whole::new("_ctc_loss", "_ctc_loss_backward", "CtcLossBackward0")
        .class(KernelClass::Reduction)
        .keeps(Keeps::InputsAndOutput);
    let longest = lengths.iter().copied().max().unwrap_or(0).max(0);
    let (times, counts, by) = (inputs.to_vec(), lengths.to_vec(), *ctc);
    let run = move |all: &[Tensor]| match all {
        [wide, targets] => losses(wide, targets, &times, (&counts, longest), by),
        _ => first(all).cloned(),
    };
    let ways = [wide.size(1)?, wide.size(0)?, 2 * longest as usize + 1];
    let each = KERNEL.run(&[&wide, targets], &[(&ways, wide.dtype())], Box::new(run))?;
    let each = match ctc.zero_infinity {
        true => where_(&eq(&each, f64::INFINITY)?, number(0.0), Operand::Tensor(&each))?,
        false => each,
    };
    match ctc.reduction {
        Reduction::Mean => {
            let lengths: Vec<i64> = lengths.iter().map(|l| (*l).max(1)).collect();
            mean(&div(&each, &to_dtype(&row(&lengths, &wide)?, each.dtype())?)?, None, false)
        }
        Reduction::None if single => select(&each, 0, 0),
        how => reduced(&each, how),
    }
}

/// The loss of each target.
fn losses(
    wide: &Tensor,
    targets: &Tensor,
    inputs: &[i64],
    (lengths, longest): (&[i64], i64),
    ctc: Ctc,
) -> Result<Tensor> {
    let probabilities = with_softmax_gradient(wide)?;
    let states = states(targets, lengths, longest, ctc.blank, wide)?;
    let each = Alignments { probabilities, states, blank: ctc.blank }.losses(inputs, lengths)?;
    if ctc.zero_infinity { Ok(each) } else { with_nan_gradient(wide, &each, inputs) }
}

/// The log-probabilities; their gradient has that of a softmax taken out of it, as PyTorch's has. Before `log_softmax`
/// the two are the same.
fn with_softmax_gradient(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "CtcLossBackward0",
        run: |s, g| {
            check_deterministic(g, "ctc_loss_backward_gpu")?;
            one(sub(g, &mul(&exp(&s.tensor(0)?)?, &sum(g, Some(&[-1]), true)?)?)?)
        },
    };
    Ok(recorded(x.detach(), &RULE, &[x], |s, _| s.input(x)))
}

/// The losses; what is infinite of them gives the log-probabilities of its sequence NaN for a gradient, as PyTorch does.
fn with_nan_gradient(x: &Tensor, each: &Tensor, inputs: &[i64]) -> Result<Tensor> {
    let (none, within) = {
        let _off = no_grad();
        let steps: Vec<i64> = (0..x.size(0)? as i64).collect();
        let (steps, ends) = (unsqueeze(&row(&steps, x)?, 1)?, unsqueeze(&row(inputs, x)?, 0)?);
        (eq(each, f64::INFINITY)?, unsqueeze(&lt(&steps, &ends)?, 2)?)
    };
    let all = sum(&where_(&within, Operand::Tensor(&exp(x)?), number(0.0))?, Some(&[0, 2]), false)?;
    // The logarithm of 0 has no slope; of the other sequences 1 is taken.
    let nothing = where_(&none, Operand::Tensor(&mul(&all, 0.0)?), number(1.0))?;
    where_(&none, Operand::Tensor(&neg(&log(&nothing)?)?), Operand::Tensor(each))
}

/// Whole numbers of the host, on the device of `beside`.
fn row(numbers: &[i64], beside: &Tensor) -> Result<Tensor> {
    let host = Tensor::from_i64(numbers, &[numbers.len()])?;
    if beside.device().is_cuda() { host.moved(&beside.context(), true, "ctc_loss") } else { Ok(host) }
}

fn number<'a>(v: f64) -> Operand<'a> {
    Operand::Scalar(Scalar::Float(v))
}

/// The labels of each target with a blank before, between and behind them: `[n, 2 * longest + 1]`. What a shorter
/// target does not have is blank.
fn states(targets: &Tensor, lengths: &[i64], longest: i64, blank: i64, beside: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let n = lengths.len();
    let blanks = |width: i64| {
        Tensor::full(&[n, width as usize], blank.into(), DType::Int64, &beside.context(), "ctc_loss")
    };
    if longest == 0 {
        return blanks(1);
    }
    let labels = if targets.rank() == 2 {
        narrow(targets, 1, 0, longest)?
    } else {
        let mut places = memory::with_capacity(memory::count::<i64>(&[n, longest as usize])?)?;
        let mut start = 0;
        for (step, &length) in lengths.iter().enumerate() {
            poll::at(step)?;
            places.extend((0..longest).map(|s| if s < length { start + s } else { 0 }));
            start += length;
        }
        reshape_to(&index_select(targets, 0, &row(&places, targets)?)?, &[n, longest as usize])?
    };
    let labels = to_dtype(&labels, DType::Int64)?;
    let labels = if labels.device() == beside.device() {
        labels
    } else {
        labels.moved(&beside.context(), false, "to")?
    };
    let there = poll::listed(lengths.iter().flat_map(|l| (0..longest).map(move |s| i64::from(s < *l))))?;
    let there = ne(&reshape_to(&row(&there, beside)?, &[n, longest as usize])?, 0i64)?;
    let empty = blanks(longest)?;
    let labels = where_(&there, Operand::Tensor(&labels), Operand::Tensor(&empty))?;
    let between = reshape_to(&stack(&[&empty, &labels], -1)?, &[n, 2 * longest as usize])?;
    cat(&[&between, &blanks(1)?], 1)
}

struct Alignments {
    /// `[time, n, classes]`
    probabilities: Tensor,
    /// `[n, states]`
    states: Tensor,
    blank: i64,
}

impl Alignments {
    /// The loss of each target: the forward recursion over time, in logarithms.
    fn losses(&self, inputs: &[i64], lengths: &[i64]) -> Result<Tensor> {
        let (&[n, states], time) = (self.states.shape(), self.probabilities.size(0)?) else {
            return Err(Error::runtime("ctc_loss: states are a matrix"));
        };
        let places = expand_to(&unsqueeze(&self.states, 0)?, &[time as i64, n as i64, states as i64])?;
        let emitted = gather(&self.probabilities, 2, &places).map_err(|e| {
            out_of_range(e, |_, _, classes| {
                Error::new(
                    Kind::IndexError,
                    format!("ctc_loss: a target is no label from 0 to {}", classes.max(1) - 1),
                )
            })
        })?;
        let skips = self.skips(states)?;
        let first: Vec<i64> = (0..states as i64).collect();
        let first = row(&first, &self.states)?;
        let never = number(f64::NEG_INFINITY);
        let zeros = Tensor::full(&[n, states], 0i64.into(), emitted.dtype(), &emitted.context(), "ctc_loss")?;
        // An empty input has one alignment, with an empty target.
        let mut alpha = where_(&eq(&first, 0i64)?, Operand::Tensor(&zeros), never)?;
        for t in 0..time as i64 {
            let here = select(&emitted, 0, t)?;
            let next = match t {
                0 => where_(
                    &crate::op::elementwise::comparison::lt(&first, 2i64)?,
                    Operand::Tensor(&here),
                    never,
                )?,
                _ => add(&self.reached(&alpha, &skips)?, &here)?,
            };
            alpha = if inputs.iter().all(|i| *i > t) {
                next
            } else {
                let on: Vec<i64> = inputs.iter().map(|i| i64::from(*i > t)).collect();
                let on = unsqueeze(&ne(&row(&on, &alpha)?, 0i64)?, 1)?;
                where_(&on, Operand::Tensor(&next), Operand::Tensor(&alpha))?
            };
        }
        let last: Vec<i64> = lengths.iter().flat_map(|l| [2 * l, (2 * l - 1).max(0)]).collect();
        let ends = gather(&alpha, 1, &reshape_to(&row(&last, &alpha)?, &[n, 2])?)?;
        let (end, label) = (select(&ends, 1, 0)?, select(&ends, 1, 1)?);
        let some = ne(&row(lengths, &alpha)?, 0i64)?;
        neg(&log_sum(&[end, where_(&some, Operand::Tensor(&label), never)?])?)
    }

    /// Where a path may come from two states before: over a blank between two different labels.
    fn skips(&self, states: usize) -> Result<Tensor> {
        let _off = no_grad();
        let width = states as i64 - 2;
        if width < 1 {
            return ne(&self.states, &self.states);
        }
        let (later, earlier) = (narrow(&self.states, 1, 2, width)?, narrow(&self.states, 1, 0, width)?);
        let skips = logical_and(&ne(&later, self.blank)?, &ne(&later, &earlier)?)?;
        let start = narrow(&self.states, 1, 0, 2)?;
        cat(&[&ne(&start, &start)?, &skips], 1)
    }

    /// The log-probabilities of the ways to each state from the states before.
    fn reached(&self, alpha: &Tensor, skips: &Tensor) -> Result<Tensor> {
        let (n, states) = (alpha.size(0)?, alpha.size(1)? as i64);
        let before = |by: i64| -> Result<Tensor> {
            let by = by.min(states);
            let none = Tensor::full(
                &[n, by as usize],
                f64::NEG_INFINITY.into(),
                alpha.dtype(),
                &alpha.context(),
                "ctc_loss",
            )?;
            cat(&[&none, &narrow(alpha, 1, 0, states - by)?], 1)
        };
        let far = where_(skips, Operand::Tensor(&before(2)?), number(f64::NEG_INFINITY))?;
        log_sum(&[alpha.clone(), before(1)?, far])
    }
}

/// `log(sum(exp(x)))` over some tensors, also where all are minus infinity, whose gradient is then 0.
fn log_sum(all: &[Tensor]) -> Result<Tensor> {
    let most = {
        let _off = no_grad();
        let mut most: Option<Tensor> = None;
        for t in all {
            most = Some(match most {
                Some(before) => maximum(&before, t)?,
                None => t.detach(),
            });
        }
        let most = most.ok_or_else(|| Error::runtime("ctc_loss: a sum of nothing"))?;
        where_(&eq(&most, f64::NEG_INFINITY)?, number(0.0), Operand::Tensor(&most))?
    };
    let mut total: Option<Tensor> = None;
    for t in all {
        let part = exp(&sub(t, &most)?)?;
        total = Some(match total {
            Some(before) => add(&before, &part)?,
            None => part,
        });
    }
    let total = total.ok_or_else(|| Error::runtime("ctc_loss: a sum of nothing"))?;
    let none = eq(&total, 0.0)?;
    let safe = where_(&none, number(1.0), Operand::Tensor(&total))?;
    where_(&none, number(f64::NEG_INFINITY), Operand::Tensor(&add(&log(&safe)?, &most)?))
}

fn check(x: &Tensor, targets: &Tensor, inputs: &[i64], lengths: &[i64], blank: i64) -> Result<()> {
    let &[time, n, classes] = x.shape() else {
        let text =
            format!("Expected 2- or 3-dimensional log_probs for ctc_loss, but got shape {:?}", x.shape());
        return Err(Error::runtime(text).with_hint("log_probs are `[time, batch, classes]`"));
    };
    let checked = |text: String| {
        Err(Error::runtime(format!("{text} (while checking arguments for ctc_loss_allocate_outputs)")))
    };
    if !(0..classes as i64).contains(&blank) {
        return Err(Error::runtime("blank must be in label range"));
    }
    for (name, all) in [("input_lengths", inputs), ("target_lengths", lengths)] {
        if all.len() != n {
            return Err(Error::runtime(format!("{name} must be of size batch_size"))
                .with_hint(format!("there are {n} sequences and {} lengths", all.len())));
        }
        if let Some(low) = all.iter().find(|l| **l < 0) {
            return checked(format!("Expected {name} to have value at least 0, but got value {low}"));
        }
    }
    if let Some(high) = inputs.iter().find(|l| **l > time as i64) {
        return checked(format!("Expected input_lengths to have value at most {time}, but got value {high}"));
    }
    let wanted = match targets.rank() {
        1 => lengths.iter().fold(0i64, |sum, l| sum.saturating_add(*l)),
        _ => lengths.iter().copied().max().unwrap_or(0),
    };
    match targets.shape() {
        &[all] if all as i64 != wanted => checked(format!(
            "Expected tensor to have size {wanted} at dimension 0, but got size {all} for argument #2 'targets'"
        )),
        &[_] => Ok(()),
        &[rows, _] if rows != n => checked(format!(
            "Expected tensor to have size {n} at dimension 0, but got size {rows} for argument #2 'targets'"
        )),
        &[_, columns] if (columns as i64) < wanted => checked(format!(
            "Expected tensor to have size at least {wanted} at dimension 1, but got size {columns} for argument #2 \
             'targets'"
        )),
        &[_, _] => Ok(()),
        shape => checked(format!("Expected 1 to 2 dimensions, but got {shape:?} for argument #2 'targets'")),
    }
}

/// Lengths as a script gives them: an array, a number, or a tensor, which the host reads.
pub fn lengths(a: &Args, at: usize) -> Result<Vec<i64>> {
    match a.get(at) {
        Value::Tensor(t) if t.dtype().is_float() => {
            let name = a.def.params.get(at).map_or("", |p| p.name);
            Err(Error::runtime(format!("{name} must be integral")))
        }
        Value::Tensor(t) => Ok(t.to_scalars("ctc_loss")?.iter().map(|n| n.as_i64()).collect()),
        _ => a.ints(at),
    }
}

const PROBS: &[Draw] = &[Draw::of("x", &[4, 2, 3], Domain::Any)];

kinds! {
    /// Lengths as an array, a number or a tensor.
    Lengths(Any) => Vec<i64>, lengths;
}

params! {
    CtcParams {
        log_probs: kind::Tensor, "the logarithm of each class's probability at each step";
        targets: kind::Tensor, "the labels that should be found, in their order";
        input_lengths: Lengths, "how many steps of each example count";
        target_lengths: Lengths, "how many labels each example has";
        blank: kind::Int = 0, "the class that stands for no label";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
        zero_infinity: kind::Bool = false, "whether targets that are too long for their input count for nothing";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
OpDef::call(
    "ctc_loss",
    Family::Loss,
    "Minus the log-probability of label sequences whose places in the input are not known.",
    CtcParams::LIST, by_name!(CtcParams, |a| {
        let CtcParams { blank, reduction, zero_infinity, .. } = a;
        let how = Ctc { blank, reduction, zero_infinity };
        ctc_loss(a.log_probs, a.targets, &a.input_lengths, &a.target_lengths, &how).map(Value::from)
    }),
)
.forms(FUNCTIONAL)
.details(
    "`log_probs` are `[time, batch, classes]` from `log_softmax`, or without the batch; `targets` `[batch, length]`, or \
     all labels in one vector. Lengths are arrays, or tensors that the host reads. The mean divides each loss by the \
     length of its target first. `zero_infinity` leaves out targets that are too long for their input.",
)
.shapes(
    "(T, N, C), targets (N, S) or all in one vector, lengths (N) -> (), or (N) where reduction is \"none\"; N may \
     be left out",
)
.errors(&[
    "RuntimeError: a length is more than there is in the input or the targets",
    "RuntimeError: there are not as many lengths as examples",
])
.across()
.example(
    "F::ctc_loss(zeros([4, 1, 3]).log_softmax(2), tensor([[1, 2]]), [4], [2])",
    "tensor(0.8432)",
)
.samples(&[
    Sample::of("F::ctc_loss(x.log_softmax(2), tensor([[1, 2], [2, 0]]), [4, 3], [2, 1])", PROBS),
    Sample::of("F::ctc_loss(x.log_softmax(2), tensor([1, 1]), [4, 4], [2, 0], #{blank: 2, reduction: \"sum\"})", PROBS),
]),
];
