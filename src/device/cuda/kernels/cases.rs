//! What a form is compiled for.

use crate::base::DType;

use super::compute::{Compute, SLOTS, Slot, Types};

/// What a form is compiled for.
#[derive(Default)]
pub(super) struct Cases(Vec<Case>);

#[derive(Clone, Copy)]
struct Case {
    /// The dtype whose compute type it has.
    dtype: DType,
    slots: [Slot; SLOTS],
    wide: bool,
}

/// Every dtype, with operands that are memory of the dtypes that `operands` makes of it.
pub(super) fn all<T: AsRef<[DType]>>(operands: impl Fn(DType) -> T) -> Cases {
    let case = |dtype: DType| {
        let mut slots = [Slot::Empty; SLOTS];
        for (slot, operand) in slots.iter_mut().zip(operands(dtype).as_ref()) {
            *slot = Slot::Of(*operand);
        }
        Case { dtype, slots, wide: false }
    };
    Cases(DType::ALL.into_iter().map(case).collect())
}

/// The same of floats.
pub(super) fn floats<T: AsRef<[DType]>>(operands: impl Fn(DType) -> T) -> Cases {
    all(operands).only(DType::is_float)
}

pub(super) fn is_float32(dtype: DType) -> bool {
    dtype == DType::Float32
}

/// Elements are computed in the type that they lie in memory as.
pub(super) fn is_its_compute(dtype: DType) -> bool {
    dtype == Compute::of(dtype).dtype()
}

impl Cases {
    pub(super) fn only(mut self, has: impl Fn(DType) -> bool) -> Cases {
        self.0.retain(|case| has(case.dtype));
        self
    }

    pub(super) fn and(mut self, more: Cases) -> Cases {
        self.0.extend(more.0);
        self
    }

    /// Computed as elements of one dtype are, whatever the operands are.
    pub(super) fn of(mut self, dtype: DType) -> Cases {
        self.0.iter_mut().for_each(|case| case.dtype = dtype);
        self
    }

    /// With a number for an operand.
    pub(super) fn number(mut self, operand: usize) -> Cases {
        for case in &mut self.0 {
            if let Some(slot) = case.slots.get_mut(operand) {
                *slot = Slot::Number;
            }
        }
        self
    }

    /// Of many elements for the dtypes that `is` names.
    pub(super) fn wide(mut self, is: impl Fn(DType) -> bool) -> Cases {
        for case in &mut self.0 {
            case.wide = is(case.dtype);
        }
        self
    }

    /// Of many elements as well for the dtypes that `is` names.
    pub(super) fn and_wide(self, is: impl Fn(DType) -> bool) -> Cases {
        let more = Cases(self.0.clone()).only(is).wide(|_| true);
        self.and(more)
    }

    pub(super) fn types(self) -> impl Iterator<Item = Types> {
        let types = |Case { dtype, slots, wide }| Types { compute: Compute::of(dtype), slots, wide };
        self.0.into_iter().map(types)
    }
}
