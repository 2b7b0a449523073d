//! `ReduceLROnPlateau`: lowers the rate where a measured value no longer gets better.

use crate::base::{Error, Result};
use crate::op::Value;
use crate::optim::Options;

use super::formula::float;
use super::scheduler::Scheduler;

/// Fails on options out of range, in PyTorch's words, and puts in what the schedule counts.
pub(crate) fn prepare(options: &mut Options, groups: usize) -> Result<()> {
    // A NaN is no factor either.
    if options.float("factor").is_nan() || options.float("factor") >= 1.0 {
        return Err(
            Error::value("Factor should be < 1.0.").with_hint("each reduction multiplies the rate by it")
        );
    }
    let (mode, threshold) = (options.str("mode"), options.str("threshold_mode"));
    if !matches!(mode, "min" | "max") {
        return Err(
            Error::value(format!("mode {mode} is unknown!")).with_hint("modes are \"min\" and \"max\"")
        );
    }
    if !matches!(threshold, "rel" | "abs") {
        let text = format!("threshold mode {threshold} is unknown!");
        return Err(Error::value(text).with_hint("threshold modes are \"rel\" and \"abs\""));
    }
    if let Some(Value::List(items)) = options.get("min_lr")
        && items.len() != groups
    {
        return Err(Error::value(format!("expected {groups} min_lrs, got {}", items.len())));
    }
    let worst = if mode == "min" { f64::INFINITY } else { f64::NEG_INFINITY };
    options.note("best", Value::Scalar(worst.into()));
    options.note("num_bad_epochs", Value::Scalar(0i64.into()));
    options.note("cooldown_counter", Value::Scalar(0i64.into()));
    Ok(())
}

fn better(options: &Options, value: f64) -> bool {
    let (best, threshold) = (options.float("best"), options.float("threshold"));
    match (options.str("mode") == "min", options.str("threshold_mode") == "rel") {
        (true, true) => value < best * (1.0 - threshold),
        (true, false) => value < best - threshold,
        (false, true) => value > best * (threshold + 1.0),
        (false, false) => value > best + threshold,
    }
}

impl Scheduler {
    /// Looks at the value of one more epoch, and lowers the rates after too many bad ones.
    pub(super) fn watch(&self, value: f64) {
        let reduces = {
            let mut state = self.state();
            state.last_epoch = state.last_epoch.saturating_add(1);
            let options = &mut state.options;
            let mut bad = options.float("num_bad_epochs") as i64 + 1;
            let mut cooling = options.float("cooldown_counter") as i64;
            if better(options, value) {
                options.note("best", Value::Scalar(value.into()));
                bad = 0;
            }
            if cooling > 0 {
                cooling -= 1;
                bad = 0;
            }
            let reduces = bad as f64 > options.float("patience");
            if reduces {
                cooling = options.float("cooldown") as i64;
                bad = 0;
            }
            options.note("num_bad_epochs", Value::Scalar(bad.into()));
            options.note("cooldown_counter", Value::Scalar(cooling.into()));
            reduces
        };
        if reduces {
            self.lower();
        }
        self.note_rates();
    }

    fn lower(&self) {
        let options = self.state().options.clone();
        for group in 0..self.optimizer().group_count() {
            let least = match options.get("min_lr") {
                Some(Value::List(items)) => float(items.get(group).cloned()),
                other => float(other.cloned()),
            };
            let old = self.rate(group);
            let new = (old * options.float("factor")).max(least);
            if old - new > options.float("eps") {
                self.optimizer().note(group, "lr", Value::Scalar(new.into()));
            }
        }
    }
}
