//! Which kernel: its form, the type that it computes in, and the types of what it reads and writes.

use std::fmt::Write;

use crate::base::DType;

use super::compute::{Compute, Slot, Types, c_type, slot_name};
use super::form::Form;
use super::recipe;

/// Which compiled kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub(super) form: Form,
    pub(super) types: Types,
}

impl Key {
    /// The name of its function, such as `map_add_f32`.
    pub fn entry(&self) -> String {
        let mut name = self.form.recipe(&self.types).name;
        let used = self.types.slots.iter().filter(|s| **s != Slot::Empty);
        let mut types: Vec<&str> = used.map(|s| slot_name(*s)).collect();
        let plain =
            |d: &DType| Compute::of(*d) == self.types.compute && types.iter().all(|t| *t == d.short_name());
        if let Some(dtype) = DType::ALL.iter().find(|d| plain(d)) {
            types = vec![dtype.short_name()];
        } else {
            types.insert(0, self.types.compute.dtype().short_name());
        }
        for part in types {
            let _ = write!(name, "_{part}");
        }
        if self.types.wide {
            name.push_str("_wide");
        }
        name
    }

    /// The whole text for the compiler.
    pub fn source(&self) -> String {
        let mut text = String::new();
        text.push_str(recipe::text("types"));
        let recipe = self.form.recipe(&self.types);
        text.push_str(recipe::text(recipe.prelude));
        let mut line = |args: std::fmt::Arguments| {
            let _ = text.write_fmt(args);
            text.push('\n');
        };
        line(format_args!("\n// This kernel."));
        line(format_args!("#define ENTRY {}", self.entry()));
        line(format_args!("typedef {} T;", self.types.compute.c()));
        line(format_args!("struct Number {{\n    T value;\n}};"));
        let (index, step) =
            if self.types.wide { ("unsigned long long", "long long") } else { ("unsigned", "int") };
        line(format_args!("typedef {index} Index;\ntypedef {step} Step;"));
        for (i, slot) in self.types.slots.iter().enumerate() {
            match slot {
                Slot::Of(dtype) => {
                    line(format_args!("typedef {0} S{i};\ntypedef const {0}* In{i};", c_type(*dtype)))
                }
                _ => line(format_args!("typedef T S{i};\ntypedef Number In{i};")),
            }
        }
        line(format_args!("#define OPERANDS {}", recipe.operands));
        for (name, value) in &recipe.defines {
            line(format_args!("#define {name} {value}"));
        }
        for part in recipe.parts {
            text.push('\n');
            text.push_str(recipe::text(part));
        }
        text
    }
}
