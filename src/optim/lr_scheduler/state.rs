//! A scheduler's state as a value.

use crate::base::{Error, Result, Scalar};
use crate::op::Value;

use super::scheduler::{Scheduler, SchedulerKind};

type Entries = Vec<(String, Value)>;

impl Scheduler {
    /// Options and counters under PyTorch's names; parts of a combined scheduler under `_schedulers`.
    pub fn state_dict(&self) -> (Entries, Option<Vec<Scheduler>>) {
        let state = self.state();
        let floats = |all: &[f64]| Value::List(all.iter().map(|&v| Value::Scalar(v.into())).collect());
        let mut entries: Entries =
            state.options.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        entries.retain(|(name, _)| name != "last_epoch");
        entries.push(("last_epoch".into(), Value::Scalar(state.last_epoch.into())));
        entries.push(("_last_lr".into(), floats(&state.last)));
        let parts = match &self.0.kind {
            SchedulerKind::Sequential { parts, .. } | SchedulerKind::Chained(parts) => Some(parts.clone()),
            SchedulerKind::Plateau => None,
            SchedulerKind::Formula(_) | SchedulerKind::Lambda { .. } => {
                entries.push(("base_lrs".into(), floats(&state.base)));
                entries.push(("_step_count".into(), Value::Scalar((state.step_count as i64).into())));
                None
            }
        };
        (entries, parts)
    }

    /// The parts of a combined scheduler.
    pub fn parts(&self) -> &[Scheduler] {
        match &self.0.kind {
            SchedulerKind::Sequential { parts, .. } | SchedulerKind::Chained(parts) => parts,
            _ => &[],
        }
    }

    /// Takes over what [`Scheduler::state_dict`] gave, without its parts. The optimizer's rates stay as they are:
    /// they are in its own state.
    pub fn load_state_dict(&self, entries: Entries) -> Result<()> {
        let mut options = Vec::new();
        let (mut epoch, mut last, mut base, mut count) = (None, None, None, None);
        for (name, value) in entries {
            match (name.as_str(), &value) {
                ("last_epoch", Value::Scalar(Scalar::Int(n))) => epoch = Some(*n),
                ("_step_count", Value::Scalar(Scalar::Int(n))) => count = u64::try_from(*n).ok(),
                ("_last_lr", Value::List(items)) => last = Some(numbers(&name, items)?),
                ("base_lrs", Value::List(items)) => base = Some(numbers(&name, items)?),
                ("last_epoch" | "_step_count" | "_last_lr" | "base_lrs", _) => {
                    let text = format!("load_state_dict(): '{name}' cannot be {}", value.describe());
                    return Err(Error::type_error(text));
                }
                _ => options.push((name, value)),
            }
        }
        let mut state = self.state();
        state.options = state.options.with(options, self.name())?;
        state.last_epoch = epoch.unwrap_or(state.last_epoch);
        state.step_count = count.unwrap_or(state.step_count);
        if let Some(last) = last {
            state.last = last;
        }
        if let Some(base) = base {
            state.base = base;
        }
        Ok(())
    }
}

fn numbers(name: &str, items: &[Value]) -> Result<Vec<f64>> {
    let one = |v: &Value| match v {
        Value::Scalar(s) => Ok(s.as_f64()),
        other => Err(Error::type_error(format!(
            "load_state_dict(): '{name}' holds {}, no number",
            other.describe()
        ))),
    };
    items.iter().map(one).collect()
}
