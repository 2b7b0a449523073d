//! The steps themselves.

use crate::base::{Error, Result};
use crate::device::Kernel;
use crate::op::{binary, select, unary};
use crate::tensor::{In, Tensor, launch};

use super::State;

/// Which rule updates the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Sgd,
    Adam,
    AdamW,
    RmsProp,
    Adagrad,
}

/// The settings of a group; those that a method does not know keep their defaults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub lr: f64,
    pub momentum: f64,
    pub dampening: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
    pub maximize: bool,
    pub betas: (f64, f64),
    pub eps: f64,
    /// RMSprop's smoothing.
    pub alpha: f64,
    pub lr_decay: f64,
}

impl Method {
    /// PyTorch's class name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sgd => "SGD",
            Method::Adam => "Adam",
            Method::AdamW => "AdamW",
            Method::RmsProp => "RMSprop",
            Method::Adagrad => "Adagrad",
        }
    }

    /// The settings that a learner may give.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Method::Sgd => &["lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"],
            Method::Adam | Method::AdamW => &["lr", "betas", "eps", "weight_decay", "maximize"],
            Method::RmsProp => &["lr", "alpha", "eps", "weight_decay", "momentum", "maximize"],
            Method::Adagrad => &["lr", "lr_decay", "weight_decay", "eps", "maximize"],
        }
    }
}

impl Settings {
    /// PyTorch's defaults.
    pub fn of(method: Method) -> Settings {
        let plain = Settings {
            lr: 1e-3,
            momentum: 0.0,
            dampening: 0.0,
            weight_decay: 0.0,
            nesterov: false,
            maximize: false,
            betas: (0.9, 0.999),
            eps: 1e-8,
            alpha: 0.99,
            lr_decay: 0.0,
        };
        match method {
            Method::Sgd | Method::Adam => plain,
            Method::AdamW => Settings { weight_decay: 1e-2, ..plain },
            Method::RmsProp => Settings { lr: 1e-2, ..plain },
            Method::Adagrad => Settings { lr: 1e-2, eps: 1e-10, ..plain },
        }
    }

    /// Refuses what PyTorch refuses, in its words.
    pub fn check(&self, method: Method) -> Result<()> {
        let non_negative = [
            ("learning rate", self.lr),
            ("momentum value", self.momentum),
            ("weight_decay value", self.weight_decay),
            ("epsilon value", self.eps),
            ("alpha value", self.alpha),
            ("lr_decay value", self.lr_decay),
        ];
        for (name, value) in non_negative {
            if value < 0.0 || value.is_nan() {
                return Err(Error::value(format!("Invalid {name}: {value}")));
            }
        }
        for (i, beta) in [self.betas.0, self.betas.1].into_iter().enumerate() {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::value(format!("Invalid beta parameter at index {i}: {beta}")));
            }
        }
        if method == Method::Sgd && self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            return Err(Error::value("Nesterov momentum requires a momentum and zero dampening"));
        }
        Ok(())
    }
}

/// Updates one parameter in place.
pub fn step(
    method: Method,
    s: &Settings,
    parameter: &Tensor,
    grad: &Tensor,
    state: &mut State,
) -> Result<()> {
    let first = state.step == 0;
    state.step += 1;
    match method {
        Method::Sgd => sgd(s, parameter, grad, state, first)?,
        Method::Adam | Method::AdamW => adam(s, method == Method::AdamW, parameter, grad, state)?,
        Method::RmsProp => rmsprop(s, parameter, grad, state)?,
        Method::Adagrad => adagrad(s, parameter, grad, state)?,
    }
    parameter.bump_version();
    Ok(())
}

fn sgd(s: &Settings, parameter: &Tensor, grad: &Tensor, state: &mut State, first: bool) -> Result<()> {
    let kernel = Kernel::Sgd {
        lr: s.lr,
        momentum: s.momentum,
        dampening: s.dampening,
        weight_decay: s.weight_decay,
        nesterov: s.nesterov,
        maximize: s.maximize,
        first,
    };
    if s.momentum == 0.0 {
        return launch("sgd", &kernel, &[In::Tensor(grad)], &[parameter]);
    }
    let buffer = state.buffer("momentum_buffer", parameter)?;
    launch("sgd", &kernel, &[In::Tensor(grad)], &[parameter, &buffer])
}

fn adam(s: &Settings, decoupled: bool, parameter: &Tensor, grad: &Tensor, state: &mut State) -> Result<()> {
    let kernel = Kernel::Adam {
        lr: s.lr,
        beta1: s.betas.0,
        beta2: s.betas.1,
        eps: s.eps,
        weight_decay: s.weight_decay,
        decoupled,
        maximize: s.maximize,
        step: state.step,
    };
    let average = state.buffer("exp_avg", parameter)?;
    let square = state.buffer("exp_avg_sq", parameter)?;
    launch("adam", &kernel, &[In::Tensor(grad)], &[parameter, &average, &square])
}

fn rmsprop(s: &Settings, parameter: &Tensor, grad: &Tensor, state: &mut State) -> Result<()> {
    let grad = decayed(s, parameter, grad)?;
    let square = state.buffer("square_avg", parameter)?;
    binary::specs::Mul.apply_in_place(&square, s.alpha.into(), [0.0; 2])?;
    square.assign(&select::addcmul(&square, &grad, &grad, 1.0 - s.alpha)?, "rmsprop")?;
    let scale = unary::shift(&unary::sqrt(&square)?, s.eps)?;
    if s.momentum > 0.0 {
        let buffer = state.buffer("momentum_buffer", parameter)?;
        binary::specs::Mul.apply_in_place(&buffer, s.momentum.into(), [0.0; 2])?;
        buffer.assign(&select::addcdiv(&buffer, &grad, &scale, 1.0)?, "rmsprop")?;
        return binary::specs::Sub.apply_in_place(parameter, (&buffer).into(), [s.lr, 0.0]).map(|_| ());
    }
    parameter.assign(&select::addcdiv(parameter, &grad, &scale, -s.lr)?, "rmsprop")
}

fn adagrad(s: &Settings, parameter: &Tensor, grad: &Tensor, state: &mut State) -> Result<()> {
    let grad = decayed(s, parameter, grad)?;
    let rate = s.lr / (1.0 + (state.step - 1) as f64 * s.lr_decay);
    let sum = state.buffer("sum", parameter)?;
    sum.assign(&select::addcmul(&sum, &grad, &grad, 1.0)?, "adagrad")?;
    let scale = unary::shift(&unary::sqrt(&sum)?, s.eps)?;
    parameter.assign(&select::addcdiv(parameter, &grad, &scale, -rate)?, "adagrad")
}

/// The gradient with its sign and weight decay.
fn decayed(s: &Settings, parameter: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let grad = if s.maximize { unary::neg(grad)? } else { grad.clone() };
    match s.weight_decay {
        0.0 => Ok(grad),
        decay => binary::specs::Add.apply((&grad).into(), parameter.into(), [decay, 0.0]),
    }
}

impl State {
    /// The buffer of that name, made of zeros like the parameter, on its device and in its dtype.
    fn buffer(&mut self, name: &'static str, like: &Tensor) -> Result<Tensor> {
        if let Some((_, kept)) = self.buffers.iter().find(|(n, _)| *n == name) {
            if kept.device() != like.device() || kept.dtype() != like.dtype() {
                kept.convert_in_place(&like.context(), like.dtype())?;
            }
            return Ok(kept.clone());
        }
        let zeros = Tensor::full(like.shape(), 0i64.into(), like.dtype(), &like.context(), "zeros_like")?;
        self.buffers.push((name, zeros.clone()));
        Ok(zeros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Optimizer;

    fn leaf(values: &[f32]) -> Tensor {
        let t = Tensor::from_f32(values, &[values.len()]).unwrap();
        t.set_requires_grad(true).unwrap();
        t
    }

    /// Parameters after three steps with the gradient 1, 2, 3 each time, from PyTorch 2.15.
    fn after_three(method: Method, settings: Settings) -> Vec<f64> {
        let p = leaf(&[1.0, 2.0, 3.0]);
        let mut optimizer = Optimizer::new(method, vec![p.clone()], settings).unwrap();
        for _ in 0..3 {
            p.set_grad(Some(Tensor::from_f32(&[1.0, 2.0, 3.0], &[3]).unwrap()));
            optimizer.step().unwrap();
        }
        p.to_f64s("test").unwrap()
    }

    fn close(got: &[f64], want: &[f64]) {
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 2e-6), "{got:?} against {want:?}");
    }

    #[test]
    fn sgd_follows_its_definition() {
        let plain = Settings { lr: 0.1, ..Settings::of(Method::Sgd) };
        close(&after_three(Method::Sgd, plain), &[0.7, 1.4, 2.1]);
        // Velocities 1, 1.9, 2.71 times the gradient.
        let momentum = Settings { momentum: 0.9, ..plain };
        close(&after_three(Method::Sgd, momentum), &[0.439, 0.878, 1.317]);
    }

    #[test]
    fn adam_moves_by_the_learning_rate_under_a_constant_gradient() {
        let s = Settings { lr: 0.1, ..Settings::of(Method::Adam) };
        close(&after_three(Method::Adam, s), &[0.7, 1.7, 2.7]);
        let s = Settings { lr: 0.1, weight_decay: 0.1, ..Settings::of(Method::AdamW) };
        let decayed = |x: f64| (0..3).fold(x, |x, _| x * 0.99 - 0.1);
        close(&after_three(Method::AdamW, s), &[decayed(1.0), decayed(2.0), decayed(3.0)]);
    }

    #[test]
    fn bad_settings_are_refused_in_pytorchs_words() {
        let bad = Settings { lr: -1.0, ..Settings::of(Method::Sgd) };
        assert_eq!(bad.check(Method::Sgd).unwrap_err().message(), "Invalid learning rate: -1");
        let bad = Settings { nesterov: true, ..Settings::of(Method::Sgd) };
        assert!(bad.check(Method::Sgd).is_err());
    }
}
