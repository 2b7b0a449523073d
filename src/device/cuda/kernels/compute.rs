//! What a kernel computes in, and the types of what it reads and writes.

use crate::base::DType;

/// The type that a kernel computes in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compute {
    F32,
    F64,
    I64,
}

impl Compute {
    /// float for the half types, `long long` for integers and bool.
    pub fn of(dtype: DType) -> Compute {
        match dtype {
            DType::Float64 => Compute::F64,
            DType::Float32 | DType::Float16 | DType::BFloat16 => Compute::F32,
            _ => Compute::I64,
        }
    }

    pub(super) fn c(self) -> &'static str {
        match self {
            Compute::F32 => "float",
            Compute::F64 => "double",
            Compute::I64 => "long long",
        }
    }

    /// The dtype whose elements are numbers of this type.
    pub fn dtype(self) -> DType {
        match self {
            Compute::F32 => DType::Float32,
            Compute::F64 => DType::Float64,
            Compute::I64 => DType::Int64,
        }
    }
}

/// What stands in a kernel's place for an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Empty,
    /// A number of the compute type, given with the launch.
    Number,
    /// Memory.
    Of(DType),
}

/// How many operands a kernel can have.
pub(crate) const SLOTS: usize = 6;

/// What a form is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Types {
    pub compute: Compute,
    pub slots: [Slot; SLOTS],
    /// Indices and steps are 64 bits wide.
    pub wide: bool,
}

impl Types {
    /// What it computes is stored in 16 bits.
    pub(super) fn is_half(&self) -> bool {
        matches!(self.slots.first(), Some(Slot::Of(DType::Float16 | DType::BFloat16)))
    }

    /// The type of an operand's elements.
    pub(super) fn typed(&self, slot: usize) -> &'static str {
        match self.slots.get(slot) {
            Some(Slot::Of(dtype)) => c_type(*dtype),
            _ => "T",
        }
    }
}

pub(super) fn slot_name(slot: Slot) -> &'static str {
    match slot {
        Slot::Of(dtype) => dtype.short_name(),
        Slot::Number => "number",
        Slot::Empty => "none",
    }
}

pub(super) fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "double",
        DType::Float32 => "float",
        DType::Float16 => "float16",
        DType::BFloat16 => "bfloat16",
        DType::Int64 => "long long",
        DType::Int32 => "int",
        DType::Int16 => "short",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Bool => "boolean",
    }
}
