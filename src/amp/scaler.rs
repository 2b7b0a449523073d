//! `GradScaler`: multiplies losses so that small float16 gradients do not vanish, divides the gradients again
//! before a step, and skips steps whose gradients overflowed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{DType, Device, Error, Kind, Result};
use crate::device::{Context, Kernel, Machine};
use crate::op::Copies;
use crate::op::core::convert::{to_device, to_dtype};
use crate::op::core::record::no_grad;
use crate::op::elementwise::arithmetic::{add, mul};
use crate::op::elementwise::unary::reciprocal;
use crate::tensor::{In, Tensor, launch};

/// An optimiser as a scaler sees it.
pub trait Steps {
    /// Tells optimisers apart while they live.
    fn id(&self) -> usize;

    /// The tensors that a step changes.
    fn parameters(&self) -> Vec<Tensor>;

    fn step(&self) -> Result<()>;
}

/// What a scaler is made with; PyTorch's names and defaults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScalerOptions {
    pub init_scale: f64,
    pub growth_factor: f64,
    pub backoff_factor: f64,
    /// Steps without overflow after which the scale grows.
    pub growth_interval: i64,
    pub enabled: bool,
}

impl Default for ScalerOptions {
    fn default() -> ScalerOptions {
        ScalerOptions {
            init_scale: 65536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2000,
            enabled: true,
        }
    }
}

/// A scaler. Cloning gives the same one.
#[derive(Clone)]
pub struct GradScaler(Arc<Mutex<ScalerState>>);

struct ScalerState {
    options: ScalerOptions,
    /// The growth tracker's first value.
    tracked: i64,
    /// Scale (float32) and growth tracker (int32), on the device of the first loss.
    live: Option<(Tensor, Tensor)>,
    optimizers: HashMap<usize, OptimizerProgress>,
}

/// Where an optimiser is between two updates.
#[derive(Default)]
struct OptimizerProgress {
    stage: Stage,
    /// Per device 1 where a gradient overflowed.
    found_inf: Vec<Tensor>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Ready,
    Unscaled,
    Stepped,
}

/// A scaler's state as `state_dict` gives it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Snapshot {
    pub scale: f64,
    pub growth_factor: f64,
    pub backoff_factor: f64,
    pub growth_interval: i64,
    pub growth_tracker: i64,
}

impl GradScaler {
    /// A scaler for losses on `device_type`. The second value is a warning: the scaler is then disabled.
    ///
    /// Errors where a factor would not do what it is for.
    pub fn new(device_type: &str, options: ScalerOptions) -> Result<(GradScaler, Option<&'static str>)> {
        let mut options = options;
        let mut warning = None;
        if device_type == "cuda" && options.enabled && Machine::current().gpus().is_empty() {
            warning = Some("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.");
            options.enabled = false;
        }
        if options.enabled {
            // A NaN is neither.
            if options.growth_factor.is_nan() || options.growth_factor <= 1.0 {
                return Err(Error::new(Kind::AssertionError, "The growth factor must be > 1.0."));
            }
            if options.backoff_factor.is_nan() || options.backoff_factor >= 1.0 {
                return Err(Error::new(Kind::AssertionError, "The backoff factor must be < 1.0."));
            }
        }
        let state = ScalerState { options, tracked: 0, live: None, optimizers: HashMap::new() };
        Ok((GradScaler(Arc::new(Mutex::new(state))), warning))
    }

    /// A scaler that goes on from a copy of the scale, with no optimiser between two updates.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<GradScaler> {
        let state = self.state();
        let live = match &state.live {
            Some((scale, tracker)) => Some((copies.tensor(scale)?, copies.tensor(tracker)?)),
            None => None,
        };
        let (options, tracked) = (state.options, state.tracked);
        let copy = ScalerState { options, tracked, live, optimizers: HashMap::new() };
        Ok(GradScaler(Arc::new(Mutex::new(copy))))
    }

    /// A number that tells scalers apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// `output` times the scale; itself where the scaler is disabled.
    pub fn scale(&self, output: &Tensor) -> Result<Tensor> {
        let mut state = self.state();
        if !state.options.enabled {
            return Ok(output.clone());
        }
        let scale = state.live(&output.context())?;
        drop(state);
        mul(output, &to_device(&scale, output.device(), true)?)
    }

    /// Divides the gradients of an optimiser's parameters by the scale, in place, and looks for overflow.
    ///
    /// Errors where this was done since the last update, or nothing was scaled yet.
    pub fn unscale_(&self, optimizer: &dyn Steps) -> Result<()> {
        let mut state = self.state();
        if state.options.enabled { state.unscale(optimizer) } else { Ok(()) }
    }

    /// Steps the optimiser unless a gradient overflowed; unscales first where that is still to do.
    pub fn step(&self, optimizer: &dyn Steps) -> Result<()> {
        let mut state = self.state();
        if !state.options.enabled {
            drop(state);
            return optimizer.step();
        }
        state.check("step")?;
        if state.stage(optimizer) == Stage::Stepped {
            return Err(Error::runtime("step() has already been called since the last update().")
                .with_hint("call `scaler.update()` at the end of each iteration"));
        }
        if state.stage(optimizer) == Stage::Ready {
            state.unscale(optimizer)?;
        }
        let found: Vec<Tensor> = state.progress(optimizer).found_inf.clone();
        if found.is_empty() {
            return Err(Error::new(Kind::AssertionError, "No inf checks were recorded for this optimizer.")
                .with_hint("no parameter has a gradient: call `scaler.scale(loss).backward()` first"));
        }
        let mut overflowed = false;
        for flag in &found {
            // Where there are no values, none is too large.
            overflowed |= flag.item()?.as_f64() > 0.0;
        }
        state.progress(optimizer).stage = Stage::Stepped;
        drop(state);
        if overflowed { Ok(()) } else { optimizer.step() }
    }

    /// Backs the scale off where a gradient overflowed since the last update, lets it grow otherwise. A
    /// `new_scale` replaces it.
    pub fn update(&self, new_scale: Option<f64>) -> Result<()> {
        let mut state = self.state();
        if !state.options.enabled {
            return Ok(());
        }
        let (scale, tracker) = state.check("update")?;
        match new_scale {
            Some(value) => {
                scale.fill(value.into(), "fill_")?;
                scale.bump_version();
            }
            None => state.follow(&scale, &tracker)?,
        }
        state.optimizers.clear();
        Ok(())
    }

    /// The scale; 1 where the scaler is disabled. Waits for the device.
    pub fn get_scale(&self) -> Result<f64> {
        let state = self.state();
        match &state.live {
            _ if !state.options.enabled => Ok(1.0),
            Some((scale, _)) => Ok(scale.item()?.as_f64()),
            None => Ok(state.options.init_scale),
        }
    }

    /// The numbers it was made with.
    pub fn options(&self) -> ScalerOptions {
        self.state().options
    }

    /// Changes factors or the interval.
    pub fn set(&self, change: impl FnOnce(&mut ScalerOptions)) {
        change(&mut self.state().options);
    }

    /// The state; nothing where the scaler is disabled.
    pub fn state_dict(&self) -> Result<Option<Snapshot>> {
        let scale = self.get_scale()?;
        let state = self.state();
        let o = state.options;
        if !o.enabled {
            return Ok(None);
        }
        let growth_tracker = match &state.live {
            Some((_, tracker)) => tracker.item()?.as_i64(),
            None => state.tracked,
        };
        Ok(Some(Snapshot {
            scale,
            growth_factor: o.growth_factor,
            backoff_factor: o.backoff_factor,
            growth_interval: o.growth_interval,
            growth_tracker,
        }))
    }

    /// Takes over a state.
    pub fn load_state_dict(&self, from: Option<&Snapshot>) -> Result<()> {
        let mut state = self.state();
        if !state.options.enabled {
            return Ok(());
        }
        let Some(from) = from else {
            return Err(Error::runtime(
                "The source state dict is empty, possibly because it was saved from a disabled instance of \
                 GradScaler.",
            ));
        };
        state.options = ScalerOptions {
            init_scale: from.scale,
            growth_factor: from.growth_factor,
            backoff_factor: from.backoff_factor,
            growth_interval: from.growth_interval,
            enabled: true,
        };
        state.tracked = from.growth_tracker;
        if let Some((scale, tracker)) = &state.live {
            scale.fill(from.scale.into(), "fill_")?;
            tracker.fill(from.growth_tracker.into(), "fill_")?;
            // A graph that has saved the old scale must not go on with the new one.
            scale.bump_version();
            tracker.bump_version();
        }
        Ok(())
    }

    /// Whether two handles are the same scaler.
    pub fn is(&self, other: &GradScaler) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn state(&self) -> MutexGuard<'_, ScalerState> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl ScalerState {
    /// The scale, made on the first loss's device.
    fn live(&mut self, context: &Arc<Context>) -> Result<Tensor> {
        if let Some((scale, _)) = &self.live {
            return Ok(scale.clone());
        }
        let scale =
            Tensor::full(&[], self.options.init_scale.into(), DType::Float32, context, "grad_scaler")?;
        let tracker = Tensor::full(&[], self.tracked.into(), DType::Int32, context, "grad_scaler")?;
        self.live = Some((scale.clone(), tracker));
        Ok(scale)
    }

    fn check(&self, function: &str) -> Result<(Tensor, Tensor)> {
        self.live.clone().ok_or_else(|| {
            Error::new(
                Kind::AssertionError,
                format!(
                    "Attempted {function} but _scale is None.  This may indicate your script did not use \
                     scaler.scale(loss or outputs) earlier in the iteration."
                ),
            )
            .with_hint("`scaler.scale(loss).backward()` comes before `scaler.step(opt)`")
        })
    }

    fn progress(&mut self, optimizer: &dyn Steps) -> &mut OptimizerProgress {
        self.optimizers.entry(optimizer.id()).or_default()
    }

    fn stage(&mut self, optimizer: &dyn Steps) -> Stage {
        self.progress(optimizer).stage
    }

    fn unscale(&mut self, optimizer: &dyn Steps) -> Result<()> {
        let (scale, _) = self.check("unscale_")?;
        match self.stage(optimizer) {
            Stage::Ready => {}
            Stage::Unscaled => {
                let text = "unscale_() has already been called on this optimizer since the last update().";
                return Err(Error::runtime(text).with_hint("call it once per iteration"));
            }
            Stage::Stepped => {
                return Err(Error::runtime("unscale_() is being called after step().")
                    .with_hint("unscale before the step, for example to clip gradients"));
            }
        }
        let found = unscaled(optimizer, &scale)?;
        let progress = self.progress(optimizer);
        progress.found_inf = found;
        progress.stage = Stage::Unscaled;
        Ok(())
    }

    fn follow(&self, scale: &Tensor, tracker: &Tensor) -> Result<()> {
        let _quiet = no_grad();
        let mut found = self.optimizers.values().flat_map(|p| &p.found_inf);
        let Some(first) = found.next() else {
            return Err(Error::new(Kind::AssertionError, "No inf checks were recorded prior to update.")
                .with_hint("`scaler.step(opt)` comes before `scaler.update()`"));
        };
        let mut combined = to_device(first, scale.device(), true)?;
        for flag in found {
            combined = add(&combined, &to_device(flag, scale.device(), true)?)?;
        }
        let o = self.options;
        let kernel = Kernel::UpdateScale {
            growth: o.growth_factor,
            backoff: o.backoff_factor,
            interval: o.growth_interval,
        };
        launch("amp_update_scale", &kernel, &[In::Tensor(&combined)], &[scale, tracker])?;
        scale.bump_version();
        tracker.bump_version();
        Ok(())
    }
}

/// Divides all gradients by the scale; gives per device whether any was infinite or NaN.
fn unscaled(optimizer: &dyn Steps, scale: &Tensor) -> Result<Vec<Tensor>> {
    let _quiet = no_grad();
    let grads: Vec<Tensor> = optimizer.parameters().iter().filter_map(Tensor::grad).collect();
    if grads.iter().any(|g| g.dtype() == DType::Float16) {
        return Err(Error::value("Attempting to unscale FP16 gradients.").with_hint(
            "keep the parameters in float32 and let autocast cast them: drop the `.half()` of the model",
        ));
    }
    // In float64, so that the inverse of a large scale keeps its digits.
    let inverse = to_dtype(&reciprocal(&to_dtype(scale, DType::Float64)?)?, DType::Float32)?;
    let mut places: Vec<(Device, Tensor, Tensor)> = Vec::new();
    for grad in &grads {
        let known = places.iter().position(|(device, _, _)| *device == grad.device());
        let at = match known {
            Some(at) => at,
            None => {
                let found = Tensor::full(&[], 0i64.into(), DType::Float32, &grad.context(), "grad_scaler")?;
                places.push((grad.device(), to_device(&inverse, grad.device(), true)?, found));
                places.len() - 1
            }
        };
        let Some((_, inverse, found)) = places.get(at) else { continue };
        launch("amp_unscale", &Kernel::Unscale, &[In::Tensor(inverse)], &[grad, found])?;
        grad.bump_version();
    }
    Ok(places.into_iter().map(|(_, _, found)| found).collect())
}
