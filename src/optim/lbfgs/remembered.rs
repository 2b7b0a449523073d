//! What L-BFGS remembers from step to step, and the same as a state that is saved.

use crate::base::{Error, Result, Scalar};
use crate::op::{Copies, Value};
use crate::tensor::Tensor;

/// What is remembered from step to step.
#[derive(Default)]
pub struct Memory {
    pub(super) iterations: u64,
    pub(super) evaluations: i64,
    pub(super) direction: Option<Tensor>,
    pub(super) length: f64,
    pub(super) gradient: Option<Tensor>,
    pub(super) pairs: Vec<Pair>,
    /// The curvature that the last pair tells, inverted.
    pub(super) spread: f64,
    /// The loss before the last iteration.
    pub(super) loss: f64,
}

/// How the gradient changed over a step.
pub(super) struct Pair {
    pub(super) change: Tensor,
    pub(super) step: Tensor,
    /// 1 over the product of the two.
    pub(super) inverse: f64,
}

impl Memory {
    /// The same with copies of the tensors.
    pub(in crate::optim) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Memory> {
        let mut copy = |t: &Tensor| copies.tensor(t);
        let pair = |pair: &Pair, copy: &mut dyn FnMut(&Tensor) -> Result<Tensor>| {
            Ok(Pair { change: copy(&pair.change)?, step: copy(&pair.step)?, inverse: pair.inverse })
        };
        Ok(Memory {
            direction: self.direction.as_ref().map(&mut copy).transpose()?,
            gradient: self.gradient.as_ref().map(&mut copy).transpose()?,
            pairs: self.pairs.iter().map(|one| pair(one, &mut copy)).collect::<Result<_>>()?,
            ..*self
        })
    }

    /// By the names that `torch.optim.LBFGS` gives them, without what it computes anew in each step (`al`); nothing before
    /// the first. Numbers are numbers where PyTorch has tensors of one element, which would round them.
    pub(in crate::optim) fn entries(&self) -> Vec<(String, Value)> {
        let (Some(direction), Some(gradient)) = (&self.direction, &self.gradient) else { return Vec::new() };
        let tensor = |t: &Tensor| Value::Tensor(t.clone());
        let number = |x: f64| Value::Scalar(x.into());
        let pairs = |of: &dyn Fn(&Pair) -> Value| Value::List(self.pairs.iter().map(of).collect());
        let entries = [
            ("func_evals", Value::Scalar(self.evaluations.into())),
            ("n_iter", Value::Scalar(i64::try_from(self.iterations).unwrap_or(i64::MAX).into())),
            ("d", tensor(direction)),
            ("t", number(self.length)),
            ("old_dirs", pairs(&|pair| tensor(&pair.change))),
            ("old_stps", pairs(&|pair| tensor(&pair.step))),
            ("ro", pairs(&|pair| number(pair.inverse))),
            ("H_diag", number(self.spread)),
            ("prev_flat_grad", tensor(gradient)),
            ("prev_loss", number(self.loss)),
        ];
        entries.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// What [`Memory::entries`] told, or PyTorch's state. Tensors are copied to where `parameters` are.
    pub(in crate::optim) fn of(entries: &[(String, Value)], parameters: &[Tensor]) -> Result<Memory> {
        let Some(like) = parameters.first().filter(|_| !entries.is_empty()) else {
            return Ok(Memory::default());
        };
        let given = Remembered { entries, like, numel: parameters.iter().map(Tensor::numel).sum() };
        // PyTorch's after a step that had nowhere to go.
        let iterations = number("n_iter", given.get("n_iter")?)?.as_i64();
        let evaluations = number("func_evals", given.get("func_evals")?)?.as_i64();
        if iterations == 0 {
            return Ok(Memory { evaluations, ..Memory::default() });
        }
        let (changes, steps, inverses) =
            (given.list("old_dirs")?, given.list("old_stps")?, given.list("ro")?);
        if changes.len() != steps.len() || steps.len() != inverses.len() {
            return Err(Error::value(
                "'old_dirs', 'old_stps' and 'ro' of an LBFGS state have different lengths",
            ));
        }
        let pairs = changes.iter().zip(steps).zip(inverses).map(|((change, step), inverse)| {
            let (change, step) = (given.own("old_dirs", change)?, given.own("old_stps", step)?);
            Ok(Pair { change, step, inverse: number("ro", inverse)?.as_f64() })
        });
        Ok(Memory {
            iterations: iterations.max(0).unsigned_abs(),
            evaluations,
            direction: Some(given.own("d", given.get("d")?)?),
            length: number("t", given.get("t")?)?.as_f64(),
            gradient: Some(given.own("prev_flat_grad", given.get("prev_flat_grad")?)?),
            pairs: pairs.collect::<Result<_>>()?,
            spread: number("H_diag", given.get("H_diag")?)?.as_f64(),
            loss: number("prev_loss", given.get("prev_loss")?)?.as_f64(),
        })
    }
}

/// Entries of a state for parameters of so many elements, the first of which is `like`.
struct Remembered<'a> {
    entries: &'a [(String, Value)],
    like: &'a Tensor,
    numel: usize,
}

impl Remembered<'_> {
    fn get(&self, name: &str) -> Result<&Value> {
        let found = self.entries.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value).ok_or_else(|| {
            Error::value(format!("an LBFGS state without '{name}'"))
                .with_hint("it goes on from what `state_dict()` of an LBFGS gave")
        })
    }

    fn list(&self, name: &str) -> Result<&[Value]> {
        match self.get(name)? {
            Value::List(items) => Ok(items),
            other => Err(wrong(name, "a list", other)),
        }
    }

    /// A copy beside the parameters of a vector with an element for each of theirs.
    fn own(&self, name: &str, value: &Value) -> Result<Tensor> {
        let Value::Tensor(tensor) = value else { return Err(wrong(name, "a Tensor", value)) };
        if tensor.shape() != [self.numel] {
            let text = format!(
                "'{name}' of an LBFGS state has shape {:?}, the parameters have {} elements in all",
                tensor.shape(),
                self.numel
            );
            return Err(Error::value(text));
        }
        let own = Tensor::empty(tensor.shape(), self.like.dtype(), &self.like.context(), "optimizer_state")?;
        own.copy_values(tensor, false)?;
        Ok(own)
    }
}

fn number(name: &str, value: &Value) -> Result<Scalar> {
    match value {
        Value::Scalar(number) => Ok(*number),
        Value::Tensor(tensor) => tensor.item(),
        other => Err(wrong(name, "a number", other)),
    }
}

fn wrong(name: &str, wanted: &str, value: &Value) -> Error {
    Error::type_error(format!("'{name}' of an LBFGS state must be {wanted}, not {}", value.describe()))
}
