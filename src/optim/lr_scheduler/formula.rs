//! Schedules whose rate follows from a group's present rate, its first, and the number of the epoch.
//!
//! Each is computed as PyTorch computes it, from the present rate where PyTorch does, so that a rate changed by
//! hand stays changed.

use std::f64::consts::PI;

use crate::base::{Error, Result};
use crate::op::Value;
use crate::optim::{Optimizer, Options};

/// A schedule by a formula.
pub(crate) struct Formula {
    pub name: &'static str,
    pub rate: fn(&Now) -> Result<f64>,
    /// The rate from the first rate alone, where PyTorch has such a form.
    pub closed: Option<fn(&Now) -> Result<f64>>,
    /// Counts on before each step; the flag says that it is the first.
    pub before: Option<fn(&mut Options, bool)>,
    /// Counts as at an epoch that is named, which may lie within one.
    pub at: Option<fn(&mut Options, f64)>,
}

/// What a formula may look at.
pub(crate) struct Now<'a> {
    pub options: &'a Options,
    pub optimizer: &'a Optimizer,
    pub group: usize,
    /// The group's present rate and its first.
    pub lr: f64,
    pub base: f64,
    pub epoch: i64,
    /// The step of a constructor.
    pub initial: bool,
    /// The first step that was counted.
    pub first: bool,
}

impl Now<'_> {
    fn float(&self, name: &str) -> f64 {
        self.options.float(name)
    }

    fn int(&self, name: &str) -> i64 {
        self.options.int(name).unwrap_or(0)
    }

    /// How many of the milestones an epoch matches.
    fn milestones(&self, matches: impl Fn(i64) -> bool) -> f64 {
        self.options.ints("milestones").into_iter().filter(|n| matches(*n)).count() as f64
    }

    fn noted(&self, name: &str) -> f64 {
        float(self.optimizer.option(self.group, name))
    }
}

pub(super) static STEP: Formula = Formula {
    name: "StepLR",
    rate: |now| {
        let still = now.epoch == 0 || now.epoch % now.int("step_size").max(1) != 0;
        Ok(if still { now.lr } else { now.lr * now.float("gamma") })
    },
    closed: Some(|now| {
        Ok(now.base * now.float("gamma").powf(now.epoch.div_euclid(now.int("step_size").max(1)) as f64))
    }),
    before: None,
    at: None,
};

pub(crate) static MULTI_STEP: Formula = Formula {
    name: "MultiStepLR",
    rate: |now| {
        let count = now.milestones(|m| m == now.epoch);
        Ok(if count == 0.0 { now.lr } else { now.lr * now.float("gamma").powf(count) })
    },
    closed: Some(|now| Ok(now.base * now.float("gamma").powf(now.milestones(|m| m <= now.epoch)))),
    before: None,
    at: None,
};

pub(crate) static EXPONENTIAL: Formula = Formula {
    name: "ExponentialLR",
    rate: |now| Ok(if now.initial { now.lr } else { now.lr * now.float("gamma") }),
    closed: Some(|now| Ok(now.base * now.float("gamma").powf(now.epoch as f64))),
    before: None,
    at: None,
};

pub(crate) static CONSTANT: Formula = Formula {
    name: "ConstantLR",
    rate: |now| {
        let factor = now.float("factor");
        Ok(match now.epoch {
            0 => now.lr * factor,
            epoch if epoch == now.int("total_iters") => now.lr * (1.0 / factor),
            _ => now.lr,
        })
    },
    closed: Some(|now| {
        let factor = now.float("factor");
        let after = if now.epoch >= now.int("total_iters") { 1.0 } else { 0.0 };
        Ok(now.base * (factor + after * (1.0 - factor)))
    }),
    before: None,
    at: None,
};

pub(crate) static LINEAR: Formula = Formula {
    name: "LinearLR",
    rate: |now| {
        let (start, end) = (now.float("start_factor"), now.float("end_factor"));
        let total = now.float("total_iters");
        if now.epoch == 0 {
            return Ok(now.lr * start);
        }
        if now.initial || now.epoch as f64 > total {
            return Ok(now.lr);
        }
        let before = total * start + (now.epoch - 1) as f64 * (end - start);
        Ok(now.lr * (1.0 + (end - start) / before))
    },
    closed: Some(|now| {
        let (start, end) = (now.float("start_factor"), now.float("end_factor"));
        let total = now.float("total_iters");
        Ok(now.base * (start + (end - start) * total.min(now.epoch as f64) / total))
    }),
    before: None,
    at: None,
};

pub(crate) static POLYNOMIAL: Formula = Formula {
    name: "PolynomialLR",
    rate: |now| {
        let (total, epoch) = (now.float("total_iters"), now.epoch as f64);
        if now.initial || epoch > total {
            return Ok(now.lr);
        }
        let factor = (1.0 - epoch / total) / (1.0 - (epoch - 1.0) / total);
        Ok(now.lr * factor.powf(now.float("power")))
    },
    closed: Some(|now| {
        let total = now.float("total_iters");
        Ok(now.base * (1.0 - total.min(now.epoch as f64) / total).powf(now.float("power")))
    }),
    before: None,
    at: None,
};

pub(crate) static COSINE: Formula = Formula {
    name: "CosineAnnealingLR",
    rate: |now| {
        let (period, low, epoch) = (now.int("T_max"), now.float("eta_min"), now.epoch);
        let span = period as f64;
        if now.initial {
            return Ok(now.lr);
        }
        if now.first && epoch > 0 {
            return cosine(now, epoch as f64 / span);
        }
        // Where the old rate is the lowest, nothing can be multiplied up from it.
        let beyond = (epoch - 1).checked_sub(period);
        let cycle = period.checked_mul(2);
        if beyond.zip(cycle).and_then(|(beyond, cycle)| beyond.checked_rem(cycle)) == Some(0) {
            return Ok(now.lr + (now.base - low) * (1.0 - (PI / span).cos()) / 2.0);
        }
        let height = |epoch: i64| 1.0 + (PI * epoch as f64 / span).cos();
        Ok(height(epoch) / height(epoch - 1) * (now.lr - low) + low)
    },
    closed: Some(|now| cosine(now, now.epoch as f64 / now.float("T_max"))),
    before: None,
    at: None,
};

pub(crate) static WARM_RESTARTS: Formula = Formula {
    name: "CosineAnnealingWarmRestarts",
    rate: |now| cosine(now, now.float("T_cur") / now.float("T_i")),
    closed: None,
    before: Some(|options, initial| {
        let (current, period) = (options.float("T_cur") + 1.0, options.float("T_i").max(1.0));
        let (current, period) = match (initial, current >= period) {
            (true, _) => (0.0, period),
            (false, true) => (current % period, period * options.float("T_mult")),
            (false, false) => (current, period),
        };
        count(options, current, period);
    }),
    at: Some(|options, epoch| {
        let (first, growth) = (options.float("T_0").max(1.0), options.float("T_mult"));
        let (current, period) = if epoch < first {
            (epoch, first)
        } else if growth == 1.0 {
            (epoch % first, options.float("T_i"))
        } else {
            let n = ((epoch / first * (growth - 1.0) + 1.0).ln() / growth.ln()).trunc();
            (epoch - first * (growth.powf(n) - 1.0) / (growth - 1.0), first * growth.powf(n))
        };
        count(options, current, period);
    }),
};

/// Keeps the epochs since the last restart, and those until the next.
fn count(options: &mut Options, current: f64, period: f64) {
    let number = |n: f64| if n.fract() == 0.0 { (n as i64).into() } else { n.into() };
    options.note("T_cur", Value::Scalar(number(current)));
    options.note("T_i", Value::Scalar(number(period)));
}

/// Half a cosine from the first rate down to `eta_min` as `part` goes from 0 to 1.
fn cosine(now: &Now, part: f64) -> Result<f64> {
    let low = now.float("eta_min");
    Ok(low + (now.base - low) * (1.0 + (PI * part).cos()) / 2.0)
}

pub(crate) static ONE_CYCLE: Formula =
    Formula { name: "OneCycleLR", rate: one_cycle, closed: None, before: None, at: None };

pub(crate) static CYCLIC: Formula =
    Formula { name: "CyclicLR", rate: cyclic, closed: None, before: None, at: None };

/// Up from the lowest rate to the highest and down again, with the momentum the other way; the height of a cycle may
/// shrink.
fn cyclic(now: &Now) -> Result<f64> {
    let (total, share) = (now.float("total_size"), now.float("step_ratio"));
    let epoch = now.epoch as f64;
    let cycle = (1.0 + epoch / total).floor();
    let part = 1.0 + epoch / total - cycle;
    let height = if part <= share { part / share } else { (part - 1.0) / (share - 1.0) };
    let shrunk = match now.options.get("mode") {
        Some(Value::Str(mode)) if mode == "triangular2" => 1.0 / 2f64.powf(cycle - 1.0),
        Some(Value::Str(mode)) if mode == "exp_range" => now.float("gamma").powf(epoch),
        _ => 1.0,
    };
    if now.options.bool("cycle_momentum") {
        let (low, high) = (now.noted("base_momentum"), now.noted("max_momentum"));
        set_momentum(now.optimizer, now.group, high - (high - low) * height * shrunk);
    }
    Ok(now.base + (now.noted("max_lr") - now.base) * height * shrunk)
}

/// The bounds between which a phase goes: names of what the group keeps for the rate, and for the momentum.
type Phase = ([&'static str; 2], [&'static str; 2]);

const UP: Phase = (["initial_lr", "max_lr"], ["max_momentum", "base_momentum"]);
const DOWN: Phase = (["max_lr", "min_lr"], ["base_momentum", "max_momentum"]);
const BACK: Phase = (["max_lr", "initial_lr"], ["base_momentum", "max_momentum"]);
const OUT: Phase = (["initial_lr", "min_lr"], ["max_momentum", "max_momentum"]);

fn one_cycle(now: &Now) -> Result<f64> {
    let (total, share) = (now.int("total_steps"), now.float("pct_start"));
    if now.epoch > total {
        let text =
            format!("Tried to step {} times. The specified number of total steps is {total}", now.epoch);
        return Err(Error::value(text).with_hint("step the scheduler once per batch, total_steps times"));
    }
    let steps = total as f64;
    let last = steps - 1.0;
    let phases: &[(f64, Phase)] = if now.options.bool("three_phase") {
        &[(share * steps - 1.0, UP), (2.0 * share * steps - 2.0, BACK), (last, OUT)]
    } else {
        &[(share * steps - 1.0, UP), (last, DOWN)]
    };
    let (mut start, mut chosen) = (0.0, (last, DOWN));
    for (i, &(end, phase)) in phases.iter().enumerate() {
        chosen = (end, phase);
        if now.epoch as f64 <= end || i + 1 == phases.len() {
            break;
        }
        start = end;
    }
    let (end, (rates, momenta)) = chosen;
    let part = (now.epoch as f64 - start) / (end - start);
    let between = |[from, to]: [&'static str; 2]| {
        let (from, to) = (now.noted(from), now.noted(to));
        match now.options.get("anneal_strategy") {
            Some(Value::Str(s)) if s == "linear" => (to - from) * part + from,
            _ => to + (from - to) / 2.0 * ((PI * part).cos() + 1.0),
        }
    };
    if now.options.bool("cycle_momentum") {
        set_momentum(now.optimizer, now.group, between(momenta));
    }
    Ok(between(rates))
}

/// Sets the momentum of a group, which in Adam's family is the first of the `betas`.
pub(crate) fn set_momentum(optimizer: &Optimizer, group: usize, value: f64) {
    let first = Value::Scalar(value.into());
    match optimizer.option(group, "betas") {
        Some(Value::List(mut items)) => {
            if let Some(slot) = items.first_mut() {
                *slot = first;
            }
            optimizer.note(group, "betas", Value::List(items));
        }
        _ => optimizer.note(group, "momentum", first),
    }
}

/// A number, or 0 for what is none.
pub(super) fn float(value: Option<Value>) -> f64 {
    match value {
        Some(Value::Scalar(s)) => s.as_f64(),
        _ => 0.0,
    }
}
