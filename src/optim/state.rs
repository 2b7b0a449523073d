//! What an optimiser remembers of each parameter, and its state as a value.

use crate::base::{Error, Result, memory};
use crate::device::beside::on_the_clock;
use crate::op::{Copies, Value};
use crate::tensor::Tensor;

use super::Optimizer;

/// What is remembered of one parameter: how many steps were taken, and running tensors by name.
#[derive(Clone, Default)]
pub struct Moments {
    pub step: u64,
    tensors: Vec<(&'static str, Tensor)>,
}

impl Moments {
    pub(super) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Moments> {
        let tensors = self.tensors.iter().map(|(name, t)| Ok((*name, copies.tensor(t)?)));
        Ok(Moments { step: self.step, tensors: tensors.collect::<Result<_>>()? })
    }

    pub fn get(&self, name: &str) -> Option<Tensor> {
        self.tensors.iter().find(|(n, _)| *n == name).map(|(_, t)| t.clone())
    }

    /// The tensor of a name, made on first use.
    pub fn or_insert(&mut self, name: &'static str, make: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
        if let Some(t) = self.get(name) {
            return Ok(t);
        }
        let t = on_the_clock(make)?;
        self.tensors.push((name, t.clone()));
        Ok(t)
    }

    /// A number of a name, kept as PyTorch does: a float32 tensor without dimensions, on the host.
    pub fn number(&mut self, name: &'static str, first: f64) -> Result<f64> {
        self.number_or(name, || first)
    }

    /// [`Moments::number`] of what is computed on first use.
    pub(crate) fn number_or(&mut self, name: &'static str, first: impl FnOnce() -> f64) -> Result<f64> {
        let held = self.or_insert(name, || Tensor::from_f32(&[first() as f32], &[]))?;
        Ok(held.item()?.as_f64())
    }

    /// Changes a number that [`Moments::number`] made.
    pub(crate) fn set_number(&mut self, name: &'static str, value: f64) -> Result<()> {
        let held = Tensor::from_f32(&[value as f32], &[])?;
        match self.tensors.iter_mut().find(|(n, _)| *n == name) {
            Some((_, t)) => *t = held,
            None => self.tensors.push((name, held)),
        }
        Ok(())
    }

    /// The tensors that lie where the parameter does: [`Moments::number`] makes others.
    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.iter().filter(|(name, _)| !NUMBERS.contains(name)).map(|(_, t)| t)
    }

    /// Zeros like `parameter`, made on first use.
    pub fn zeros(&mut self, name: &'static str, parameter: &Tensor) -> Result<Tensor> {
        self.or_insert(name, || filled(parameter, 0.0))
    }
}

/// A tensor of one value in a parameter's shape, dtype and place.
pub(super) fn filled(like: &Tensor, value: f64) -> Result<Tensor> {
    Tensor::full(like.shape(), value.into(), like.dtype(), &like.context(), "optimizer_state")
}

/// An optimiser's state: options per group with the numbers of their parameters, and what is remembered of each.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    pub groups: Vec<(Vec<(String, Value)>, Vec<usize>)>,
    /// By parameter number: steps taken and running tensors; of one that searches, all it remembers at the first.
    pub moments: Vec<(usize, u64, Vec<(String, Value)>)>,
}

impl Optimizer {
    /// Options and memory, with parameters numbered from 0 across the groups. Tensors are shared, not copied.
    pub fn state_dict(&self) -> StateDict {
        let mut state = StateDict::default();
        let mut number = 0;
        for group in self.groups().iter() {
            let options =
                group.options.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
            let first = number;
            for moments in &group.states {
                if moments.step > 0 {
                    let tensors = moments.tensors.iter();
                    let tensors =
                        tensors.map(|(n, t)| ((*n).to_string(), Value::Tensor(t.clone()))).collect();
                    state.moments.push((number, moments.step, tensors));
                }
                number += 1;
            }
            state.groups.push((options, (first..number).collect()));
        }
        let remembered = self.memory().entries();
        if !remembered.is_empty() {
            state.moments.push((0, 0, remembered));
        }
        state
    }

    /// What is remembered of all parameters, handles that share it.
    pub(crate) fn state(&self) -> Vec<Tensor> {
        let groups = self.groups();
        let of = groups.iter().flat_map(|group| &group.states).flat_map(|moments| &moments.tensors);
        of.map(|(_, tensor)| tensor.clone()).collect()
    }

    /// Takes over options and memory. Running tensors are copied to the parameters' devices and dtypes.
    pub fn load_state_dict(&self, state: &StateDict) -> Result<()> {
        self.check_own()?;
        let mut groups = self.groups();
        if state.groups.len() != groups.len() {
            return Err(Error::value("loaded state dict has a different number of parameter groups"));
        }
        let sizes = groups.iter().map(|g| g.parameters.len());
        if sizes.zip(&state.groups).any(|(own, (_, numbers))| own != numbers.len()) {
            return Err(Error::value(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
            ));
        }
        let mut loaded = memory::with_capacity(groups.len())?;
        let parameters = groups.first().map_or(&[][..], |group| &group.parameters);
        let searches = self.searches().then(|| Optimizer::searched(state, parameters)).transpose()?;
        for (group, (options, numbers)) in groups.iter().zip(&state.groups) {
            let options = group.options.with(options.clone(), self.name())?;
            self.0.rule.check(&options)?;
            let states = group
                .parameters
                .iter()
                .zip(numbers)
                .map(|(parameter, number)| match searches {
                    Some(_) => Ok(Moments::default()),
                    None => remembered(state, *number, parameter),
                })
                .collect::<Result<Vec<_>>>()?;
            loaded.push((options, states));
        }
        for (group, (options, states)) in groups.iter_mut().zip(loaded) {
            group.options = options;
            group.states = states;
        }
        if let Some(searches) = searches {
            *self.memory() = searches;
        }
        Ok(())
    }
}

/// Names of running tensors that any optimiser keeps.
const NAMES: [&str; 18] = [
    "momentum_buffer",
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "square_avg",
    "grad_avg",
    "sum",
    "acc_delta",
    "exp_inf",
    "prev",
    "step_size",
    "ax",
    "eta",
    "mu",
    "mu_product",
    "row_var",
    "col_var",
    "variance",
];

/// Those that are smaller than the parameter: means along one of its dimensions.
const MEANS: [&str; 2] = ["row_var", "col_var"];

/// Those that are one number, whatever the parameter's shape.
const NUMBERS: [&str; 3] = ["eta", "mu", "mu_product"];

fn remembered(state: &StateDict, number: usize, parameter: &Tensor) -> Result<Moments> {
    let Some((_, step, tensors)) = state.moments.iter().find(|(n, _, _)| *n == number) else {
        return Ok(Moments::default());
    };
    let mut moments = Moments { step: *step, tensors: Vec::new() };
    for (name, value) in tensors {
        let Value::Tensor(tensor) = value else {
            let text = format!("load_state_dict(): '{name}' must be a Tensor, not {}", value.describe());
            return Err(
                Error::type_error(text).with_hint("it takes what state_dict() gave: #{state, param_groups}")
            );
        };
        let Some(known) = NAMES.into_iter().find(|n| n == name) else {
            return Err(Error::value(format!("an optimizer's state has no '{name}'"))
                .with_hint(format!("it holds step, {}", NAMES.join(", "))));
        };
        if NUMBERS.contains(&known) {
            let value = tensor.item()?.as_f64();
            moments.set_number(known, value)?;
            continue;
        }
        let fits = |(own, of): (&usize, &usize)| own == of || (*own == 1 && MEANS.contains(&known));
        if tensor.shape().len() != parameter.shape().len()
            || !tensor.shape().iter().zip(parameter.shape()).all(fits)
        {
            return Err(Error::value(format!(
                "'{name}' of parameter {number} has shape {:?}, the parameter {:?}",
                tensor.shape(),
                parameter.shape()
            )));
        }
        let own = Tensor::empty(tensor.shape(), parameter.dtype(), &parameter.context(), "optimizer_state")?;
        own.copy_values(tensor, false)?;
        moments.tensors.push((known, own));
    }
    Ok(moments)
}
