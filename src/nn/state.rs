//! A network's state: moving and casting it, taking it out, putting it back.

use std::fmt;
use std::sync::Arc;

use crate::base::{DType, Device, DeviceSpec, Error, Result};
use crate::device::live::{OF_A_MODULE, meant};
use crate::device::{Context, Machine};
use crate::op::core::format::MemoryFormat;
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;

use super::module::{Module, Role, joined};

/// What did not fit between a network and a state that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatch {
    pub missing: Vec<String>,
    pub unexpected: Vec<String>,
}

impl fmt::Display for Mismatch {
    /// PyTorch's form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.missing.is_empty() && self.unexpected.is_empty() {
            return f.write_str("<All keys matched successfully>");
        }
        let list = |names: &[String]| names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
        let (missing, unexpected) = (list(&self.missing), list(&self.unexpected));
        write!(f, "_IncompatibleKeys(missing_keys=[{missing}], unexpected_keys=[{unexpected}])")
    }
}

impl Module {
    /// Moves every tensor here and below to a device, a floating-point dtype, or both, in place: handles,
    /// optimisers and views see the move, and gradients move along. Integer buffers keep their dtype. A format lays
    /// parameters and buffers of four and five dimensions out anew, but those that a view looks at.
    ///
    /// # Errors
    /// The dtype is no floating-point one, there is no such device or no room on it, or the format is for another number
    /// of dimensions.
    pub fn to(
        &self,
        device: Option<Device>,
        dtype: Option<DType>,
        format: Option<MemoryFormat>,
    ) -> Result<()> {
        if let Some(dtype) = dtype.filter(|d| !d.is_float()) {
            let text = format!(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.{dtype}"
            );
            return Err(Error::type_error(text));
        }
        let machine = Machine::current();
        let target = device.map(|d| machine.context(d)).transpose()?;
        for (_, t) in self.named(Role::Parameter).into_iter().chain(self.named(Role::Buffer)) {
            let parts = [Some(t.clone()), t.grad()];
            meant(OF_A_MODULE, || {
                parts.iter().flatten().try_for_each(|t| {
                    convert(t, target, dtype)?;
                    let format = format.filter(|_| matches!(t.rank(), 4 | 5));
                    format.map_or(Ok(()), |format| format.lay_in_place(t))
                })
            })?;
        }
        Ok(())
    }

    /// This module moved to where a constructor's `device` option wants it.
    pub fn placed(self, device: Option<DeviceSpec>) -> Result<Module> {
        if let Some(spec) = device {
            self.to(Some(Machine::current().resolve(spec)), None, None)?;
        }
        Ok(self)
    }

    /// Every parameter and buffer by its dotted name, outside the graph, sharing memory.
    pub fn state_dict(&self) -> Vec<(String, Tensor)> {
        self.state_slots().into_iter().map(|(name, t)| (name, t.detach())).collect()
    }

    /// Copies a state's values into this network's tensors.
    ///
    /// Shapes that do not fit are errors; so are missing and unexpected names when `strict`. Nothing is copied
    /// on an error.
    pub fn load_state_dict(&self, state: &[(String, Tensor)], strict: bool) -> Result<Mismatch> {
        let own = self.state_slots();
        let find = |all: &[(String, Tensor)], name: &str| {
            all.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone())
        };
        let absent = |from: &[(String, Tensor)], names: &[(String, Tensor)]| -> Vec<String> {
            names.iter().filter(|(n, _)| find(from, n).is_none()).map(|(n, _)| n.clone()).collect()
        };
        let mut missing = absent(state, &own);
        // States of PyTorch before 0.4.1 had no such count; it goes on from where it is.
        missing.retain(|name| name.rsplit('.').next() != Some("num_batches_tracked"));
        let mismatch = Mismatch { missing, unexpected: absent(&own, state) };
        let mut problems = Vec::new();
        let mut sizes_differ = false;
        if strict {
            problems.extend(listed("Missing", &mismatch.missing));
            problems.extend(listed("Unexpected", &mismatch.unexpected));
        }
        let pairs: Vec<(Tensor, Tensor)> = own
            .iter()
            .filter_map(|(name, t)| {
                let value = find(state, name)?;
                if value.shape() != t.shape() {
                    sizes_differ = true;
                    problems.push(format!(
                        "size mismatch for {name}: copying a param with shape torch.Size({:?}) from checkpoint, the \
                         shape in current model is torch.Size({:?}).",
                        value.shape(),
                        t.shape()
                    ));
                }
                Some((t.clone(), value))
            })
            .collect();
        if !problems.is_empty() {
            let text =
                format!("Error(s) in loading state_dict for {}:\n\t{}", self.name(), problems.join("\n\t"));
            return Err(Error::runtime(text).with_hint(remedy(&mismatch, sizes_differ)));
        }
        let _quiet = set_grad_mode(false);
        for (target, value) in pairs {
            target.copy_values(&value, false)?;
            target.bump_version();
        }
        Ok(mismatch)
    }

    /// Parameters before buffers in each module, as PyTorch orders a state. A shared tensor has every name.
    fn state_slots(&self) -> Vec<(String, Tensor)> {
        fn walk(module: &Module, path: &str, all: &mut Vec<(String, Tensor)>) {
            for role in [Role::Parameter, Role::Buffer] {
                for slot in module.slots().iter().filter(|s| s.role == role && s.persistent) {
                    all.extend(slot.tensor.iter().map(|t| (joined(path, &slot.name), t.clone())));
                }
            }
            for (name, child) in module.children().iter() {
                walk(child, &joined(path, name), all);
            }
        }
        let mut all = Vec::new();
        walk(self, "", &mut all);
        all
    }
}

fn convert(t: &Tensor, target: Option<&Arc<Context>>, dtype: Option<DType>) -> Result<()> {
    let here = t.context();
    let dtype = dtype.filter(|_| t.dtype().is_float()).unwrap_or(t.dtype());
    t.convert_in_place(target.unwrap_or(&here), dtype)
}

/// What helps where a state does not fit: its names may differ by what wraps a network.
fn remedy(mismatch: &Mismatch, sizes_differ: bool) -> &'static str {
    const WRAPPED: &str = "module.";
    let are_wrapped =
        |names: &[String]| !names.is_empty() && names.iter().all(|name| name.starts_with(WRAPPED));
    if sizes_differ {
        return "it was saved from a network with other sizes: make this one as that was";
    }
    if are_wrapped(&mismatch.unexpected) {
        return "it may be the state of a network that is wrapped for several GPUs: save `wrapped.module.state_dict()`";
    }
    if are_wrapped(&mismatch.missing) {
        return "where the network is wrapped for several GPUs and the state is not: `wrapped.module.load_state_dict(state)`";
    }
    "`#{strict: false}` takes what has a name here, and gives the names of the rest"
}

fn listed(which: &str, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let quoted: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
    Some(format!("{which} key(s) in state_dict: {}. ", quoted.join(", ")))
}
