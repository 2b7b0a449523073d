//! The rates that arithmetic has.

/// The peak rate a kernel's arithmetic draws on: a dtype class, not a dtype.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rate {
    Fp64,
    Fp32,
    /// float32 matmuls and convolutions where TF32 is allowed.
    Tf32,
    Fp16,
    Bf16,
    /// Integers and bool.
    Int,
}

impl Rate {
    /// Every rate.
    pub const ALL: [Rate; 6] = [Rate::Fp64, Rate::Fp32, Rate::Tf32, Rate::Fp16, Rate::Bf16, Rate::Int];

    /// The key in a profile.
    pub fn key(self) -> &'static str {
        match self {
            Rate::Fp64 => "fp64",
            Rate::Fp32 => "fp32",
            Rate::Tf32 => "tf32",
            Rate::Fp16 => "fp16",
            Rate::Bf16 => "bf16",
            Rate::Int => "int",
        }
    }
}
