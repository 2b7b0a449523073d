//! Element types, scalars, and PyTorch's promotion lattice.

use std::fmt;

use half::{bf16, f16};

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum DType {
    Float64,
    Float32,
    Float16,
    BFloat16,
    Int64,
    Int32,
    Int16,
    Int8,
    UInt8,
    Bool,
}

/// Promotion categories, lowest first: a higher category wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Category {
    Bool,
    Int,
    Float,
}

impl DType {
    /// The float nearest to `x` that a dtype of floats holds.
    pub(crate) fn nearest(self, x: f64) -> f64 {
        match self {
            DType::Float32 => f64::from(x as f32),
            DType::Float16 => half::f16::from_f64(x).to_f64(),
            DType::BFloat16 => half::bf16::from_f64(x).to_f64(),
            _ => x,
        }
    }

    /// Every dtype: floats, integers and bool, each the widest first.
    pub const ALL: [DType; 10] = [
        DType::Float64,
        DType::Float32,
        DType::Float16,
        DType::BFloat16,
        DType::Int64,
        DType::Int32,
        DType::Int16,
        DType::Int8,
        DType::UInt8,
        DType::Bool,
    ];

    /// The distance from 1 to the next larger number, of a float type; that of float32 for others.
    pub fn epsilon(self) -> f64 {
        match self {
            DType::Float64 => f64::EPSILON,
            DType::Float16 => 0.000_976_562_5,
            DType::BFloat16 => 0.007_812_5,
            _ => f64::from(f32::EPSILON),
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            DType::Float64 | DType::Int64 => 8,
            DType::Float32 | DType::Int32 => 4,
            DType::Float16 | DType::BFloat16 | DType::Int16 => 2,
            DType::Int8 | DType::UInt8 | DType::Bool => 1,
        }
    }

    /// The name a script uses, such as `float32`.
    pub fn name(self) -> &'static str {
        match self {
            DType::Float64 => "float64",
            DType::Float32 => "float32",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Int64 => "int64",
            DType::Int32 => "int32",
            DType::Int16 => "int16",
            DType::Int8 => "int8",
            DType::UInt8 => "uint8",
            DType::Bool => "bool",
        }
    }

    /// A name of four letters or fewer, such as `bf16`, for tables and for the names of kernels.
    pub fn short_name(self) -> &'static str {
        match self {
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

    /// The name PyTorch's C++ errors use, such as `float` or `c10::BFloat16`.
    pub(crate) fn c_name(self) -> &'static str {
        match self {
            DType::Float64 => "double",
            DType::Float32 => "float",
            DType::Float16 => "c10::Half",
            DType::BFloat16 => "c10::BFloat16",
            DType::Int64 => "long int",
            DType::Int32 => "int",
            DType::Int16 => "short int",
            DType::Int8 => "signed char",
            DType::UInt8 => "unsigned char",
            DType::Bool => "bool",
        }
    }

    /// PyTorch's scalar type name, such as `Float` or `Long`, as in `torch.FloatTensor`.
    pub fn type_name(self) -> &'static str {
        match self {
            DType::Float64 => "Double",
            DType::Float32 => "Float",
            DType::Float16 => "Half",
            DType::BFloat16 => "BFloat16",
            DType::Int64 => "Long",
            DType::Int32 => "Int",
            DType::Int16 => "Short",
            DType::Int8 => "Char",
            DType::UInt8 => "Byte",
            DType::Bool => "Bool",
        }
    }

    /// Parses a name or alias (`half float double long int short char byte`).
    pub fn parse(name: &str) -> Option<DType> {
        Some(match name {
            "float64" | "double" => DType::Float64,
            "float32" | "float" => DType::Float32,
            "float16" | "half" => DType::Float16,
            "bfloat16" => DType::BFloat16,
            "int64" | "long" => DType::Int64,
            "int32" | "int" => DType::Int32,
            "int16" | "short" => DType::Int16,
            "int8" | "char" => DType::Int8,
            "uint8" | "byte" => DType::UInt8,
            "bool" => DType::Bool,
            _ => return None,
        })
    }

    pub(crate) fn category(self) -> Category {
        match self {
            DType::Float64 | DType::Float32 | DType::Float16 | DType::BFloat16 => Category::Float,
            DType::Bool => Category::Bool,
            _ => Category::Int,
        }
    }

    /// The least and the largest whole number of the type; none of floats.
    pub(crate) fn whole_range(self) -> Option<(i64, i64)> {
        match self.category() {
            Category::Float => None,
            Category::Bool => Some((0, 1)),
            Category::Int if self == DType::UInt8 => Some((0, 255)),
            Category::Int => {
                let most = i64::MAX >> (64 - 8 * self.size());
                Some((-most - 1, most))
            }
        }
    }

    pub(crate) fn is_float(self) -> bool {
        self.category() == Category::Float
    }

    pub(crate) fn from_code(code: u8) -> DType {
        DType::ALL.get(usize::from(code)).copied().unwrap_or(DType::Float32)
    }

    /// The common dtype of two tensors of non-zero dimension (`torch.promote_types`).
    pub(crate) fn promote(self, other: DType) -> DType {
        use DType::*;
        if self == other {
            return self;
        }
        match (self.category(), other.category()) {
            (Category::Float, Category::Float) => match (self, other) {
                (Float64, _) | (_, Float64) => Float64,
                _ => Float32,
            },
            (Category::Int, Category::Int) => promote_ints(self, other),
            (a, b) if a > b => self,
            _ => other,
        }
    }
}

fn promote_ints(a: DType, b: DType) -> DType {
    let unsigned = |d| d == DType::UInt8;
    if unsigned(a) != unsigned(b) {
        let signed = if unsigned(a) { b } else { a };
        return if signed == DType::Int8 { DType::Int16 } else { signed };
    }
    if a.size() >= b.size() { a } else { b }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number without a tensor around it.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Scalar {
    /// The number as a float; true is 1.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
        }
    }

    /// Truncates a float towards zero; NaN gives 0.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Float(f) => f as i64,
        }
    }

    pub(crate) fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) => Category::Int,
            Scalar::Float(_) => Category::Float,
        }
    }

    /// The dtype a tensor made of this scalar alone gets.
    pub(crate) fn default_dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::Int64,
            Scalar::Float(_) => DType::Float32,
        }
    }
}

impl From<f64> for Scalar {
    fn from(v: f64) -> Self {
        Scalar::Float(v)
    }
}

impl From<i64> for Scalar {
    fn from(v: i64) -> Self {
        Scalar::Int(v)
    }
}

impl From<bool> for Scalar {
    fn from(v: bool) -> Self {
        Scalar::Bool(v)
    }
}

/// A Rust type that stores one element of a dtype.
///
/// Conversions follow C casts as PyTorch has them on the CPU: floats truncate towards zero, integers wrap.
pub trait Element: Copy + Send + Sync + 'static {
    const DTYPE: DType;
    fn to_f64(self) -> f64;
    fn to_f32(self) -> f32;
    fn to_i64(self) -> i64;
    fn from_f64(v: f64) -> Self;
    fn from_f32(v: f32) -> Self;
    fn from_i64(v: i64) -> Self;
}

macro_rules! element {
    ($t:ty, $d:ident, int) => {
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as i64 as $t
            }
            #[inline(always)]
            fn from_f32(v: f32) -> Self {
                v as i64 as $t
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                v as $t
            }
        }
    };
    ($t:ty, $d:ident, float) => {
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn from_f32(v: f32) -> Self {
                v as $t
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                v as $t
            }
        }
    };
    ($t:ty, $d:ident, half) => {
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(<$t>::to_f32(self))
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                <$t>::to_f32(self)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                <$t>::to_f32(self) as i64
            }
            // PyTorch converts double to half through float.
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                <$t>::from_f32(v as f32)
            }
            #[inline(always)]
            fn from_f32(v: f32) -> Self {
                <$t>::from_f32(v)
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                <$t>::from_f32(v as f32)
            }
        }
    };
}

element!(f64, Float64, float);
element!(f32, Float32, float);
element!(f16, Float16, half);
element!(bf16, BFloat16, half);
element!(i64, Int64, int);
element!(i32, Int32, int);
element!(i16, Int16, int);
element!(i8, Int8, int);
element!(u8, UInt8, int);

/// A bool element; its own type because a stored bool is exactly 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl Element for Bool {
    const DTYPE: DType = DType::Bool;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(self.0)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self.0)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        Bool(u8::from(v != 0.0))
    }
    #[inline(always)]
    fn from_f32(v: f32) -> Self {
        Bool(u8::from(v != 0.0))
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        Bool(u8::from(v != 0))
    }
}

/// Runs a block with `$t` bound to the element type of a dtype.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::base::DType::Float64 => {
                type $t = f64;
                $body
            }
            $crate::base::DType::Float32 => {
                type $t = f32;
                $body
            }
            $crate::base::DType::Float16 => {
                type $t = half::f16;
                $body
            }
            $crate::base::DType::BFloat16 => {
                type $t = half::bf16;
                $body
            }
            $crate::base::DType::Int64 => {
                type $t = i64;
                $body
            }
            $crate::base::DType::Int32 => {
                type $t = i32;
                $body
            }
            $crate::base::DType::Int16 => {
                type $t = i16;
                $body
            }
            $crate::base::DType::Int8 => {
                type $t = i8;
                $body
            }
            $crate::base::DType::UInt8 => {
                type $t = u8;
                $body
            }
            $crate::base::DType::Bool => {
                type $t = $crate::base::dtype::Bool;
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_follows_torch_promote_types() {
        use DType::*;
        for (a, b, want) in [
            (Float16, BFloat16, Float32),
            (Int64, Float16, Float16),
            (UInt8, Int8, Int16),
            (UInt8, Int64, Int64),
            (Bool, UInt8, UInt8),
            (Float32, Float64, Float64),
            (Int32, Int16, Int32),
        ] {
            assert_eq!(a.promote(b), want);
            assert_eq!(b.promote(a), want);
        }
    }

    #[test]
    fn casts_truncate_and_wrap() {
        assert_eq!(i8::from_f64(300.7), 44);
        assert_eq!(u8::from_i64(-1), 255);
        assert_eq!(i64::from_f32(-2.9), -2);
        assert_eq!(Bool::from_f32(f32::NAN).0, 1);
    }
}
