//! When a row's call fails: what it says of itself, and what follows from what it takes.

use super::def::{Forward, InPlace, OpDef, Param, ParamKind};
use super::spec::Gives;

impl OpDef {
    /// When a call fails, each with the kind of the error first; beside those of wrong arguments.
    pub fn failures(&self) -> Vec<String> {
        let own = self.errors.iter().map(ToString::to_string);
        own.chain(self.no_dimension())
            .chain(self.no_number())
            .chain(self.apart())
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

    fn apart(&self) -> Option<String> {
        let kinds = [ParamKind::Tensor, ParamKind::Operand, ParamKind::Tensors];
        let most: usize =
            self.params_of(&kinds).map(|p| if p.kind == ParamKind::Tensors { 2 } else { 1 }).sum();
        (most > 1 && !self.across).then(|| "RuntimeError: its tensors lie on different devices".into())
    }

    fn no_device(&self) -> Option<String> {
        let param = self.params_of(&[ParamKind::Device]).next()?;
        Some(format!("DeviceError: the machine has no such device as `{}`", param.name))
    }
}
