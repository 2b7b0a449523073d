//! Optimisers: fused steps over parameters, with PyTorch's defaults and order of operations.

pub mod clip;
mod step;

use std::collections::HashMap;

use crate::base::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;

pub use step::{Method, Settings};

/// Parameters that share settings.
pub struct Group {
    pub parameters: Vec<Tensor>,
    pub settings: Settings,
}

/// What an optimiser keeps for one parameter.
#[derive(Default)]
pub struct State {
    pub step: u64,
    /// By name: `momentum_buffer`, `exp_avg`, `exp_avg_sq`, `square_avg`, `sum`.
    pub buffers: Vec<(&'static str, Tensor)>,
}

/// An optimiser over groups of parameters.
pub struct Optimizer {
    pub method: Method,
    pub groups: Vec<Group>,
    state: HashMap<usize, State>,
}

impl Optimizer {
    /// An optimiser with one group. Settings are checked as PyTorch checks them.
    pub fn new(method: Method, parameters: Vec<Tensor>, settings: Settings) -> Result<Optimizer> {
        if parameters.is_empty() {
            return Err(Error::value("optimizer got an empty parameter list"));
        }
        settings.check(method)?;
        if let Some(p) = parameters.iter().find(|p| !p.is_leaf()) {
            let text = format!("can't optimize a non-leaf Tensor (of shape {:?})", p.shape());
            return Err(Error::value(text));
        }
        Ok(Optimizer { method, groups: vec![Group { parameters, settings }], state: HashMap::new() })
    }

    /// Updates every parameter that has a gradient.
    pub fn step(&mut self) -> Result<()> {
        let _quiet = set_grad_mode(false);
        let mut number = 0;
        for group in &self.groups {
            for parameter in &group.parameters {
                if let Some(grad) = parameter.grad() {
                    let state = self.state.entry(number).or_default();
                    step::step(self.method, &group.settings, parameter, &grad, state)?;
                }
                number += 1;
            }
        }
        Ok(())
    }

    /// Drops every gradient, or fills it with zeros where `set_to_none` is false.
    pub fn zero_grad(&self, set_to_none: bool) -> Result<()> {
        for parameter in self.groups.iter().flat_map(|g| &g.parameters) {
            match (set_to_none, parameter.grad()) {
                (true, _) => parameter.set_grad(None),
                (false, Some(grad)) => {
                    grad.fill(0i64.into(), "zero_")?;
                    grad.bump_version();
                }
                (false, None) => {}
            }
        }
        Ok(())
    }

    /// What is kept for the parameter of that number, counted over all groups.
    pub fn state(&self, number: usize) -> Option<&State> {
        self.state.get(&number)
    }

    /// Replaces what is kept for a parameter.
    pub fn set_state(&mut self, number: usize, state: State) {
        self.state.insert(number, state);
    }
}
