//! Which kernel: its form, the type that it computes in, and the types of what it reads and writes.

use std::fmt::Write;

use crate::base::DType;
use crate::device::scalar::CUDA_HELPERS;

use super::form::Form;

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

    fn c(self) -> &'static str {
        match self {
            Compute::F32 => "float",
            Compute::F64 => "double",
            Compute::I64 => "long long",
        }
    }

    fn short(self) -> &'static str {
        match self {
            Compute::F32 => "f32",
            Compute::F64 => "f64",
            Compute::I64 => "i64",
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

/// Which compiled kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub(super) form: Form,
    pub(super) compute: Compute,
    pub(super) slots: [Slot; SLOTS],
    /// Indices and steps are 64 bits wide.
    pub(super) wide: bool,
}

impl Key {
    /// The name of its function, such as `map_add_f32`.
    pub fn entry(&self) -> String {
        let mut name = self.form.recipe(self).name;
        let used = self.slots.iter().filter(|s| **s != Slot::Empty);
        let mut types: Vec<&str> = used.map(|s| slot_name(*s)).collect();
        let plain = |d: &DType| Compute::of(*d) == self.compute && types.iter().all(|t| *t == short(*d));
        if let Some(dtype) = DType::ALL.iter().find(|d| plain(d)) {
            types = vec![short(*dtype)];
        } else {
            types.insert(0, self.compute.short());
        }
        for part in types {
            let _ = write!(name, "_{part}");
        }
        if self.wide {
            name.push_str("_wide");
        }
        name
    }

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

    /// The whole text for the compiler.
    pub fn source(&self) -> String {
        let mut text = String::new();
        text.push_str(TYPES);
        if matches!(self.form, Form::Map(_)) {
            text.push_str(CUDA_HELPERS);
        }
        let mut line = |args: std::fmt::Arguments| {
            let _ = text.write_fmt(args);
            text.push('\n');
        };
        line(format_args!("\n// This kernel."));
        line(format_args!("#define ENTRY {}", self.entry()));
        line(format_args!("typedef {} T;", self.compute.c()));
        line(format_args!("struct Number {{\n    T value;\n}};"));
        let (index, step) = if self.wide { ("unsigned long long", "long long") } else { ("unsigned", "int") };
        line(format_args!("typedef {index} Index;\ntypedef {step} Step;"));
        for (i, slot) in self.slots.iter().enumerate() {
            match slot {
                Slot::Of(dtype) => {
                    line(format_args!("typedef {0} S{i};\ntypedef const {0}* In{i};", c_type(*dtype)))
                }
                _ => line(format_args!("typedef T S{i};\ntypedef Number In{i};")),
            }
        }
        let recipe = self.form.recipe(self);
        line(format_args!("#define OPERANDS {}", recipe.operands));
        for (name, value) in &recipe.defines {
            line(format_args!("#define {name} {value}"));
        }
        for part in recipe.parts {
            text.push('\n');
            text.push_str(part);
        }
        text
    }
}

const TYPES: &str = include_str!("../../../../kernels/types.cuh");

fn slot_name(slot: Slot) -> &'static str {
    match slot {
        Slot::Of(dtype) => short(dtype),
        Slot::Number => "number",
        Slot::Empty => "none",
    }
}

fn short(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "f64",
        DType::Float32 => "f32",
        DType::Float16 => "f16",
        DType::BFloat16 => "bf16",
        DType::Int64 => "i64",
        DType::Int32 => "i32",
        DType::Int16 => "i16",
        DType::Int8 => "i8",
        DType::UInt8 => "u8",
        DType::Bool => "bool",
    }
}

fn c_type(dtype: DType) -> &'static str {
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
