//! When a row's call fails: what it says of itself, and what follows from what it takes.

use crate::device::MapOp;

use super::def::{Family, Forward, InPlace, OpDef, Overlap, Param, ParamKind};
use super::spec::Gives;

impl OpDef {
    /// When a call fails, each with the kind of the error first; beside those of wrong arguments.
    pub fn failures(&self) -> Vec<String> {
        let own = self.errors.iter().map(ToString::to_string);
        own.chain(self.no_dimension())
            .chain(self.no_number())
            .chain(self.no_bits())
            .chain(self.leaf())
            .chain(self.overlapping())
            .chain(self.apart())
            .chain(self.of_params())
            .chain(self.no_room())
            .chain(self.no_device())
            .collect()
    }

    fn params_of<'a>(&'a self, kinds: &'a [ParamKind]) -> impl Iterator<Item = &'a Param> {
        self.params.iter().filter(|param| kinds.contains(&param.kind))
    }

    fn no_dimension(&self) -> Option<String> {
        let names: Vec<String> = self
            .params_of(&[ParamKind::Dim, ParamKind::Dims])
            .map(|param| format!("`{}`", param.name))
            .collect();
        let told = format!("IndexError: the tensor has no such dimension as {}", names.join(" or "));
        (!names.is_empty()).then_some(told)
    }

    /// Functions of numbers refuse bools; those whose result is no integer can't write it into integers.
    fn no_number(&self) -> Option<String> {
        let gives = match self.forward {
            Forward::Unary(unary) => unary.gives,
            Forward::Binary(binary, _) => binary.gives,
            Forward::Call(_) | Forward::Script => return None,
        };
        match (gives, self.in_place) {
            (Gives::Number, _) => Some("NotImplementedError: the tensor holds bools".into()),
            (Gives::Float, InPlace::Map) => {
                Some("RuntimeError: in place, the tensor holds integers or bools".into())
            }
            _ => None,
        }
    }

    fn no_bits(&self) -> Option<String> {
        let Forward::Binary(binary, _) = self.forward else { return None };
        let bitwise = matches!(
            binary.op,
            MapOp::BitAnd | MapOp::BitOr | MapOp::BitXor | MapOp::ShiftLeft | MapOp::ShiftRight
        );
        bitwise.then(|| "NotImplementedError: an operand holds floats".into())
    }

    /// What is written to can't be where gradients are gathered; `nn::init` gathers none, and flags are no values.
    fn leaf(&self) -> Option<String> {
        let tensor = self.params.first().is_some_and(|param| param.kind == ParamKind::Tensor);
        let writes = matches!(self.forward, Forward::Call(_)) && self.name.ends_with('_');
        let apart = matches!(self.family, Family::Initialise | Family::Autograd);
        match self.in_place {
            InPlace::None if tensor && writes && !apart => {
                Some("RuntimeError: the tensor is a leaf that requires gradients".into())
            }
            InPlace::None => None,
            _ => Some("RuntimeError: in place, the tensor is a leaf that requires gradients".into()),
        }
    }

    /// What is read may not change while it is written.
    fn overlapping(&self) -> Option<String> {
        let tensors = self.params_of(&[ParamKind::Tensor, ParamKind::Operand]).count();
        let told = match self.overlap {
            _ if tensors < 2 || matches!(self.in_place, InPlace::None) => return None,
            Overlap::Any => return None,
            Overlap::None => "RuntimeError: in place, another argument shares memory with the tensor",
            Overlap::Whole => "RuntimeError: in place, another argument shares a part of the tensor's memory",
        };
        Some(told.into())
    }

    fn apart(&self) -> Option<String> {
        let kinds = [ParamKind::Tensor, ParamKind::Operand, ParamKind::Tensors, ParamKind::TensorRun];
        let most: usize = self
            .params_of(&kinds)
            .map(|p| if matches!(p.kind, ParamKind::Tensors | ParamKind::TensorRun) { 2 } else { 1 })
            .sum();
        (most > 1 && !self.across).then(|| "RuntimeError: its tensors lie on different devices".into())
    }

    /// What the kinds of its parameters bring, each once.
    fn of_params(&self) -> impl Iterator<Item = String> {
        let mut all: Vec<&str> =
            self.params.iter().map(|param| param.fails).filter(|f| !f.is_empty()).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(str::to_string)
    }

    /// Of what makes tensors of any size.
    fn no_room(&self) -> Option<String> {
        let made = matches!(self.family, Family::Create | Family::Random);
        let sized = made && self.params_of(&[ParamKind::Device]).next().is_some();
        sized.then(|| "OutOfMemoryError: the device has no room".into())
    }

    /// Functions of the CUDA module tell a GPU that is not there in ways of their own.
    fn no_device(&self) -> Option<String> {
        if self.family == Family::Cuda {
            return None;
        }
        let param = self.params_of(&[ParamKind::Device]).next()?;
        Some(format!("DeviceError: the machine has no such device as `{}`", param.name))
    }
}
