//! L-BFGS (Nocedal, 1980): steps along the gradient turned by what the last ones tell of the curvature.

mod remembered;

use std::sync::{MutexGuard, PoisonError};

use crate::base::{Error, Result, memory};
use crate::op::core::convert::cloned;
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::def::DefaultValue as D;
use crate::op::elementwise::arithmetic::{scale, specs, sub};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::abs;
use crate::op::params::{Maybe, kind, param_list};
use crate::op::reduce::sums::{max_all, sum};
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::op::shape::view::reshape_to;
use crate::op::{OpDef, Operand, Value};
use crate::tensor::Tensor;

use super::state::{Moments, StateDict};
use super::{MAXIMIZE, Optimizer, Options, PARAMS, Rate, Rule, constructor};

pub use remembered::Memory;
use remembered::Pair;

/// Computes the loss and its gradients again, for the parameters as they are.
pub type Evaluate<'a> = dyn FnMut() -> Result<f64> + 'a;

struct Lbfgs;

impl Rule for Lbfgs {
    fn name(&self) -> &'static str {
        "LBFGS"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")
    }

    fn searches(&self) -> bool {
        true
    }

    fn step(&self, _: &Options, _: &Tensor, _: &Tensor, _: &mut Moments) -> Result<()> {
        Err(without_closure())
    }
}

/// The error of a step that cannot evaluate the loss again.
pub(super) fn without_closure() -> Error {
    Error::type_error("LBFGS.step() missing 1 required positional argument: 'closure'")
        .with_hint("`opt.step(|| { opt.zero_grad(); let loss = …; loss.backward(); loss })`")
}

/// The parameters as one vector.
struct Problem {
    parameters: Vec<Tensor>,
    maximize: bool,
}

impl Problem {
    fn loss(&self, evaluate: &mut Evaluate) -> Result<f64> {
        let loss = evaluate()?;
        Ok(if self.maximize { -loss } else { loss })
    }

    fn gradient(&self) -> Result<Tensor> {
        let parts = self.parameters.iter().map(|p| match p.grad() {
            Some(grad) => reshape_to(&grad.detach(), &[p.numel()]),
            None => Tensor::full(&[p.numel()], 0i64.into(), p.dtype(), &p.context(), "optimizer_state"),
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let flat = cat(&parts.iter().collect::<Vec<_>>(), 0)?;
        if self.maximize { neg(&flat) } else { Ok(flat) }
    }

    /// Moves every parameter by its part of `length * direction`.
    fn advance(&self, length: f64, direction: &Tensor) -> Result<()> {
        let mut start = 0;
        for p in &self.parameters {
            let part = reshape_to(&narrow(direction, 0, start, p.numel() as i64)?, p.shape())?;
            specs::Add.apply_in_place(p, Operand::Tensor(&part), [length, 0.0])?;
            start += p.numel() as i64;
        }
        Ok(())
    }

    fn values(&self) -> Result<Vec<Tensor>> {
        self.parameters.iter().map(|p| cloned(&p.detach())).collect()
    }

    fn restore(&self, values: &[Tensor]) -> Result<()> {
        for (p, value) in self.parameters.iter().zip(values) {
            p.copy_values(value, false)?;
            p.bump_version();
        }
        Ok(())
    }
}

fn dot(a: &Tensor, b: &Tensor) -> Result<f64> {
    Ok(crate::op::linalg::matmul::dot(a, b)?.item()?.as_f64())
}

fn largest(x: &Tensor) -> Result<f64> {
    Ok(max_all(&abs(x)?)?.item()?.as_f64())
}

impl Memory {
    /// The direction of the next step.
    fn turned(&mut self, gradient: &Tensor, most: usize) -> Result<Tensor> {
        let (Some(before), Some(direction)) = (&self.gradient, &self.direction) else {
            (self.pairs, self.spread) = (Vec::new(), 1.0);
            return neg(gradient);
        };
        let (change, step) = (sub(gradient, before)?, scale(direction, self.length)?);
        let curvature = dot(&change, &step)?;
        if curvature > 1e-10 {
            if self.pairs.len() >= most && !self.pairs.is_empty() {
                self.pairs.remove(0);
            }
            self.spread = curvature / dot(&change, &change)?;
            self.pairs.push(Pair { change, step, inverse: 1.0 / curvature });
        }
        let mut out = neg(gradient)?;
        let mut shares = memory::with_capacity(self.pairs.len())?;
        for pair in self.pairs.iter().rev() {
            let share = dot(&pair.step, &out)? * pair.inverse;
            out = sub(&out, &scale(&pair.change, share)?)?;
            shares.push(share);
        }
        out = scale(&out, self.spread)?;
        for (pair, share) in self.pairs.iter().zip(shares.into_iter().rev()) {
            let back = dot(&pair.change, &out)? * pair.inverse;
            specs::Add.apply_in_place(&out, Operand::Tensor(&pair.step), [share - back, 0.0])?;
        }
        Ok(out)
    }

    /// Some iterations, as `torch.optim.LBFGS.step`.
    fn run(&mut self, options: &Options, problem: &Problem, evaluate: &mut Evaluate) -> Result<()> {
        let (lr, most) = (options.float("lr"), options.float("max_iter") as i64);
        let evaluations = match options.get("max_eval") {
            Some(Value::Scalar(n)) => n.as_i64(),
            _ => most.saturating_mul(5) / 4,
        };
        let (flat, still) = (options.float("tolerance_grad"), options.float("tolerance_change"));
        let history = options.float("history_size").max(0.0) as usize;
        let searches = match options.get("line_search_fn") {
            Some(Value::Str(name)) if name == "strong_wolfe" => true,
            Some(Value::Str(_)) => return Err(Error::runtime("only 'strong_wolfe' is supported")),
            _ => false,
        };
        let mut loss = problem.loss(evaluate)?;
        self.evaluations = self.evaluations.saturating_add(1);
        let mut gradient = problem.gradient()?;
        if gradient.numel() == 0 || largest(&gradient)? <= flat {
            return Ok(());
        }
        let mut used = 1;
        for n in 1..=most {
            self.iterations = self.iterations.saturating_add(1);
            let direction = self.turned(&gradient, history)?;
            let before = loss;
            (self.loss, self.length) = (loss, lr);
            if self.iterations == 1 {
                self.length *= (1.0 / sum(&abs(&gradient)?, None, false)?.item()?.as_f64()).min(1.0);
            }
            let slope = dot(&gradient, &direction)?;
            (self.gradient, self.direction) = (Some(gradient.clone()), Some(direction.clone()));
            if slope > -still {
                break;
            }
            if searches {
                let start = Point { at: 0.0, loss, gradient: gradient.clone(), slope };
                let search =
                    Search { problem, direction: &direction, values: problem.values()?, tolerance: still };
                let (found, count) = search.run(start, self.length, evaluations - used, evaluate)?;
                (self.length, loss, gradient) = (found.at, found.loss, found.gradient);
                used += count;
                self.evaluations = self.evaluations.saturating_add(count);
                problem.advance(self.length, &direction)?;
            } else {
                problem.advance(self.length, &direction)?;
                // After the last step nothing would be done with them.
                if n != most {
                    (loss, gradient) = (problem.loss(evaluate)?, problem.gradient()?);
                    used += 1;
                    self.evaluations = self.evaluations.saturating_add(1);
                }
            }
            let moved = largest(&direction)? * self.length.abs();
            if used >= evaluations
                || largest(&gradient)? <= flat
                || moved <= still
                || (loss - before).abs() < still
            {
                break;
            }
        }
        Ok(())
    }
}

/// A place on the line of a search.
#[derive(Clone)]
struct Point {
    at: f64,
    loss: f64,
    gradient: Tensor,
    /// Of the loss along the line.
    slope: f64,
}

/// The search for a step that lowers the loss enough and leaves little slope: the strong Wolfe conditions.
struct Search<'a> {
    problem: &'a Problem,
    direction: &'a Tensor,
    values: Vec<Tensor>,
    tolerance: f64,
}

/// The share of the slope's promise that the loss must keep, and that of the slope that may be left.
const LOWER: f64 = 1e-4;
const FLATTER: f64 = 0.9;

impl Search<'_> {
    fn at(&self, at: f64, evaluate: &mut Evaluate) -> Result<Point> {
        self.problem.advance(at, self.direction)?;
        let loss = self.problem.loss(evaluate)?;
        let gradient = self.problem.gradient()?;
        self.problem.restore(&self.values)?;
        let slope = dot(&gradient, self.direction)?;
        Ok(Point { at, loss, gradient, slope })
    }

    /// The best place found and how often the loss was evaluated; `most` bounds the steps after the first.
    fn run(&self, start: Point, first: f64, most: i64, evaluate: &mut Evaluate) -> Result<(Point, i64)> {
        let too_high = |p: &Point| p.loss > start.loss + LOWER * p.at * start.slope;
        let flat_enough = |p: &Point| p.slope.abs() <= -FLATTER * start.slope;
        let (mut before, mut point) = (start.clone(), self.at(first, evaluate)?);
        let mut steps = 0;
        loop {
            if steps >= most {
                before = start.clone();
                break;
            }
            if too_high(&point) || (steps > 1 && point.loss >= before.loss) {
                break;
            }
            if flat_enough(&point) {
                return Ok((point, steps + 1));
            }
            if point.slope >= 0.0 {
                break;
            }
            let bounds = (point.at + 0.01 * (point.at - before.at), 10.0 * point.at);
            let next = lowest(&before, &point, bounds);
            before = std::mem::replace(&mut point, self.at(next, evaluate)?);
            steps += 1;
        }
        let (mut low, mut high) = if before.loss <= point.loss { (before, point) } else { (point, before) };
        let (size, mut slow) = (largest(self.direction)?, false);
        while steps < most && (high.at - low.at).abs() * size >= self.tolerance {
            let ends = (low.at.min(high.at), low.at.max(high.at));
            let next = inside(lowest(&low, &high, ends), ends, &mut slow);
            let point = self.at(next, evaluate)?;
            steps += 1;
            if too_high(&point) || point.loss >= low.loss {
                high = point;
                if high.loss < low.loss {
                    std::mem::swap(&mut low, &mut high);
                }
                continue;
            }
            let done = flat_enough(&point);
            if !done && point.slope * (high.at - low.at) >= 0.0 {
                high = low;
            }
            low = point;
            if done {
                break;
            }
        }
        Ok((low, steps + 1))
    }
}

/// The lowest place of the cubic through two points with their slopes, within bounds.
fn lowest(a: &Point, b: &Point, (from, to): (f64, f64)) -> f64 {
    let (a, b) = if a.at <= b.at { (a, b) } else { (b, a) };
    let bend = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.at - b.at);
    let square = bend * bend - a.slope * b.slope;
    if square >= 0.0 {
        let root = square.sqrt();
        let share = (b.slope + root - bend) / (b.slope - a.slope + 2.0 * root);
        (b.at - (b.at - a.at) * share).max(from).min(to)
    } else {
        (from + to) / 2.0
    }
}

/// A place away from the ends: where the search was at one twice, a tenth of the way inside.
fn inside(at: f64, (from, to): (f64, f64), slow: &mut bool) -> f64 {
    let edge = 0.1 * (to - from);
    if (to - at).min(at - from) >= edge {
        *slow = false;
        return at;
    }
    if !*slow && at < to && at > from {
        *slow = true;
        return at;
    }
    *slow = false;
    if (at - to).abs() < (at - from).abs() { to - edge } else { from + edge }
}

impl Optimizer {
    /// Whether a step evaluates the loss more than once.
    pub(crate) fn searches(&self) -> bool {
        self.0.rule.searches()
    }

    /// A step of an optimiser that [`Optimizer::searches`]. `evaluate` computes loss and gradients; it may use the
    /// optimiser.
    pub(crate) fn minimise(&self, evaluate: &mut Evaluate) -> Result<()> {
        let _quiet = no_grad();
        let (parameters, options) = match self.groups().as_slice() {
            [only] => (only.parameters.clone(), only.options.clone()),
            _ => return Err(one_group()),
        };
        self.note_step();
        let problem = Problem { parameters, maximize: options.bool("maximize") };
        let mut memory = std::mem::take(&mut *self.memory());
        let result = memory.run(&options, &problem, evaluate);
        *self.memory() = memory;
        result
    }
}

impl Optimizer {
    /// What an optimiser that searches goes on from, which stands under the first of its parameters.
    pub(super) fn searched(state: &StateDict, parameters: &[Tensor]) -> Result<Memory> {
        let first = state.groups.first().and_then(|(_, numbers)| numbers.first());
        let found = state.moments.iter().find(|(number, _, _)| Some(number) == first);
        Memory::of(found.map_or(&[], |(_, _, entries)| entries), parameters)
    }

    /// What an optimiser that searches remembers.
    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn one_group() -> Error {
    Error::value("LBFGS doesn't support per-parameter options (parameter groups)")
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "LBFGS",
    "Steps along the gradient turned by the curvature that the last steps tell of; for whole batches.",
    param_list! {
        ..PARAMS;
        lr: Rate => D::Int(1), "how long a step is; with a line search where the search begins";
        max_iter: kind::Int = 20, "how many directions one step follows at most";
        max_eval: Maybe<kind::Int>, "how often one step evaluates the loss at most; without it 5/4 of `max_iter`";
        tolerance_grad: kind::Scalar => D::Float(1e-7), "a gradient below it ends the step";
        tolerance_change: kind::Scalar => D::Float(1e-9), "a change of parameters or loss below it ends the step";
        history_size: kind::Int = 100, "how many steps the curvature is remembered from";
        line_search_fn: Maybe<kind::Str>, "\"strong_wolfe\" to search each line for a good length of the step";
        ..MAXIMIZE;
    },
    |a| {
        let optimizer = Optimizer::new(&Lbfgs, a)?;
        if optimizer.group_count() != 1 {
            return Err(one_group());
        }
        let given = Options::of(a)?;
        if let (None, Some(iterations)) = (given.int("max_eval"), given.int("max_iter")) {
            let evaluations = iterations.saturating_mul(5) / 4;
            optimizer.note(0, "max_eval", Value::Scalar(evaluations.into()));
        }
        Ok(optimizer.into_value())
    },
)
.details(
    "`opt.step(|| { opt.zero_grad(); let loss = …; loss.backward(); loss })` evaluates the loss up to `max_eval` times \
     and gives the first. `line_search_fn` is \"strong_wolfe\" or (). What it remembers of the curvature stands in its \
     `state_dict()` under the first parameter, as in PyTorch.",
)
.shapes(shapes::STEPS)
.errors(&["ValueError: there are no parameters, or several groups of them", "ValueError: a parameter is no leaf"])
.example(
    "let w = tensor([3.0]).requires_grad_(true); let opt = optim::LBFGS([w]); opt.step(|| { opt.zero_grad(); let loss = \
     ((w - 1) ** 2).sum(); loss.backward(); loss }); w.allclose(tensor([1.0]))",
    "true",
)];

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, loss: f64, slope: f64) -> Point {
        Point { at, loss, gradient: Tensor::from_f32(&[0.0], &[1]).unwrap(), slope }
    }

    #[test]
    fn the_cubic_through_two_points_of_a_parabola_has_its_lowest_place() {
        let of = |x: f64| point(x, (x - 2.0).powi(2), 2.0 * (x - 2.0));
        assert!((lowest(&of(0.0), &of(3.0), (0.0, 9.0)) - 2.0).abs() < 1e-12);
        assert!((lowest(&of(3.0), &of(0.0), (0.0, 9.0)) - 2.0).abs() < 1e-12);
        assert_eq!(lowest(&of(0.0), &of(1.0), (1.01, 1.5)), 1.5);
    }

    #[test]
    fn a_search_that_stays_at_an_end_is_led_inside() {
        let mut slow = false;
        assert_eq!(inside(0.5, (0.0, 1.0), &mut slow), 0.5);
        assert_eq!(inside(0.01, (0.0, 1.0), &mut slow), 0.01);
        assert!(slow);
        assert_eq!(inside(0.01, (0.0, 1.0), &mut slow), 0.1);
        assert_eq!(inside(1.0, (0.0, 1.0), &mut slow), 0.9);
    }
}
