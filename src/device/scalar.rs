//! The scalar functions that a map kernel applies, one row each: what a CPU computes and what a GPU does.
//!
//! Values, gradients at kinks, NaN and signed zeros follow PyTorch 2.15.

use super::cpu::math::{Real, bessel, quantile, special};

/// How many inputs a function takes and what it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// The compute type, rounded to the output's dtype.
    Same,
    /// bool, whatever the inputs are.
    Bool,
}

/// A scalar function in Rust.
pub(crate) trait ScalarFunction: Send + Sync + 'static {
    const OP: MapOp;
    const ARITY: usize;
    /// It is defined for floats.
    const FLOAT: bool;
    /// It is defined for integers.
    const WHOLE: bool;
    fn float<T: Real>(a: T, b: T, c: T, p: T, q: T) -> T;
    /// Integers wrap; a zero divisor gives 0, and is an error found elsewhere.
    fn whole(a: i64, b: i64, c: i64, p: i64, q: i64) -> i64;
}

/// Something to do with a function as a type.
pub(crate) trait Visitor {
    type Output;
    fn visit<F: ScalarFunction>(self) -> Self::Output;
}

/// The text of `kernels/` with the device functions that the CUDA expressions use, to be put before them.
pub(crate) const CUDA_HELPERS: &str = "scalar";

macro_rules! map_ops {
    (($a:ident $b:ident $c:ident $p:ident $q:ident)
     $($name:ident $arity:literal $writes:ident $kernel:literal {$($float:tt)*} {$($whole:tt)*} $cuda:literal;)*) => {
        /// A scalar function of one to three inputs `a b c` and two parameters `p q`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum MapOp { $($name,)* }

        impl MapOp {
            /// Every map.
            pub const ALL: &'static [MapOp] = &[$(MapOp::$name,)*];

            pub(crate) fn arity(self) -> usize {
                match self { $(MapOp::$name => $arity,)* }
            }

            pub fn writes(self) -> Writes {
                match self { $(MapOp::$name => Writes::$writes,)* }
            }

            pub(crate) fn kernel_name(self) -> &'static str {
                match self { $(MapOp::$name => $kernel,)* }
            }

            /// A CUDA C++ expression of `a b c p q`, all of the compute type `T`: float, double or long long.
            pub fn cuda(self) -> &'static str {
                match self { $(MapOp::$name => $cuda,)* }
            }

            pub(crate) fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self { $(MapOp::$name => visitor.visit::<functions::$name>(),)* }
            }
        }

        /// Each function as a type.
        pub mod functions {
            use super::*;
            $(
                pub struct $name;

                #[allow(unused_variables, reason = "most functions take fewer")]
                impl ScalarFunction for $name {
                    const OP: MapOp = MapOp::$name;
                    const ARITY: usize = $arity;
                    const FLOAT: bool = defined!($($float)*);
                    const WHOLE: bool = defined!($($whole)*);

                    #[inline(always)]
                    fn float<T: Real>($a: T, $b: T, $c: T, $p: T, $q: T) -> T {
                        or_else!($a; $($float)*)
                    }

                    #[inline(always)]
                    fn whole($a: i64, $b: i64, $c: i64, $p: i64, $q: i64) -> i64 {
                        or_else!($a; $($whole)*)
                    }
                }
            )*
        }
    };
}

macro_rules! defined {
    () => {
        false
    };
    ($($body:tt)+) => {
        true
    };
}

macro_rules! or_else {
    ($other:expr;) => {
        $other
    };
    ($other:expr; $($body:tt)+) => {{
        $($body)+
    }};
}

// Name, inputs, output, kernel, {for floats} {for integers} CUDA C++; {} where it is not defined.
#[rustfmt::skip]
map_ops! { (a b c p q)
    // y = a, with a cast
    Identity 1 Same "copy" {a} {a} "a";
    Neg 1 Same "map_neg" {-a} {a.wrapping_neg()} "-a";
    Abs 1 Same "map_abs" {a.abs()} {a.wrapping_abs()} "absolute(a)";
    Sign 1 Same "map_sign" {a.sign()} {a.signum()} "sign_of(a)";
    Square 1 Same "map_square" {a * a} {a.wrapping_mul(a)} "a * a";
    Cube 1 Same "map_cube" {a * a * a} {} "a * a * a";
    SquareReciprocal 1 Same "map_square_reciprocal" {T::one() / (a * a)} {} "T(1) / (a * a)";
    Exp 1 Same "map_exp" {a.exp()} {} "exp(a)";
    Expm1 1 Same "map_expm1" {a.expm1()} {} "expm1(a)";
    Log 1 Same "map_log" {a.ln()} {} "log(a)";
    Log1p 1 Same "map_log1p" {a.ln_1p()} {} "log1p(a)";
    Log2 1 Same "map_log2" {a.log2()} {} "log2(a)";
    Log10 1 Same "map_log10" {a.log10()} {} "log10(a)";
    Sqrt 1 Same "map_sqrt" {a.sqrt()} {} "sqrt(a)";
    Rsqrt 1 Same "map_rsqrt" {T::one() / a.sqrt()} {} "T(1) / sqrt(a)";
    Reciprocal 1 Same "map_reciprocal" {T::one() / a} {} "T(1) / a";
    Sin 1 Same "map_sin" {a.sin()} {} "sin(a)";
    Cos 1 Same "map_cos" {a.cos()} {} "cos(a)";
    Tan 1 Same "map_tan" {a.tan()} {} "tan(a)";
    Asin 1 Same "map_asin" {a.asin()} {} "asin(a)";
    Acos 1 Same "map_acos" {a.acos()} {} "acos(a)";
    Atan 1 Same "map_atan" {a.atan()} {} "atan(a)";
    Sinh 1 Same "map_sinh" {a.sinh()} {} "sinh(a)";
    Cosh 1 Same "map_cosh" {a.cosh()} {} "cosh(a)";
    Tanh 1 Same "map_tanh" {a.tanh()} {} "tanh(a)";
    Sigmoid 1 Same "map_sigmoid" {a.sigmoid()} {} "sigmoid(a)";
    Erf 1 Same "map_erf" {a.erf()} {} "erf(a)";
    Erfc 1 Same "map_erfc" {a.erfc()} {} "erfc(a)";
    Erfinv 1 Same "map_erfinv" {a.erfinv()} {} "erfinv(a)";
    Lgamma 1 Same "map_lgamma" {a.lgamma()} {} "lgamma(a)";
    Digamma 1 Same "map_digamma" {a.digamma()} {} "digamma(a)";
    // p = order
    Polygamma 1 Same "map_polygamma" {a.polygamma(p)} {} "polygamma(a, p)";
    BesselI0 1 Same "map_i0" {a.by_double(bessel::i0)} {} "T(i0_of(double(a)))";
    BesselI0e 1 Same "map_i0e" {a.by_double(bessel::i0e)} {} "T(i0e_of(double(a)))";
    BesselI1 1 Same "map_i1" {a.by_double(bessel::i1)} {} "T(i1_of(double(a)))";
    BesselI1e 1 Same "map_i1e" {a.by_double(bessel::i1e)} {} "T(i1e_of(double(a)))";
    Entr 1 Same "map_entr" {
        if a > T::zero() {
            -a * a.ln()
        } else if a == T::zero() {
            T::zero()
        } else if a.is_nan() {
            a
        } else {
            T::of(f64::NEG_INFINITY)
        }
    } {} "a > T(0) ? -a * log(a) : a == T(0) ? T(0) : a != a ? a : T(-INFINITY)";
    LogNdtr 1 Same "map_log_ndtr" {a.by_double(bessel::log_ndtr)} {} "T(log_ndtr_of(double(a)))";
    Xlog1py 2 Same "map_xlog1py" {
        let product = a * b.ln_1p();
        if b.is_nan() { b } else if a == T::zero() { a.abs() } else { product }
    } {} "b != b ? b : a == T(0) ? T(0) : a * log1p(b)";
    Erfcx 1 Same "map_erfcx" {a.by_double(bessel::erfcx)} {} "T(erfcx_of(double(a)))";
    GammaBelow 2 Same "map_igamma" {a.by_doubles(b, bessel::gamma_below)} {} "T(gamma_below_of(double(a), double(b)))";
    GammaAbove 2 Same "map_igammac" {a.by_doubles(b, bessel::gamma_above)} {} "T(gamma_above_of(double(a), double(b)))";
    Zeta 2 Same "map_zeta" {a.by_doubles(b, special::hurwitz)} {} "T(zeta_of(double(a), double(b)))";
    Ndtri 1 Same "map_ndtri" {a.by_double(quantile::ndtri)} {} "T(ndtri_of(double(a)))";
    Mantissa 1 Same "map_mantissa" {a.by_double(quantile::mantissa)} {} "T(mantissa_of(double(a)))";
    Exponent 1 Same "map_exponent" {a.by_double(quantile::exponent)} {} "T(exponent_of(double(a)))";
    Exp2 1 Same "map_exp2" {T::of(2.0).pow(a)} {} "exp2(a)";
    Asinh 1 Same "map_asinh" {a.asinh()} {} "asinh(a)";
    Acosh 1 Same "map_acosh" {a.acosh()} {} "acosh(a)";
    Atanh 1 Same "map_atanh" {a.atanh()} {} "atanh(a)";
    Sinc 1 Same "map_sinc" {a.sinc()} {} "sinc(a)";
    Floor 1 Same "map_floor" {a.floor()} {a} "floor(a)";
    Ceil 1 Same "map_ceil" {a.ceil()} {a} "ceil(a)";
    // half to even
    Round 1 Same "map_round" {a.round()} {a} "rint(a)";
    Trunc 1 Same "map_trunc" {a.trunc()} {a} "trunc(a)";
    // Relu, Relu6, Hardtanh and Clamp keep NaN.
    Relu 1 Same "map_relu" {if a < T::zero() { T::zero() } else { a }} {a.max(0)} "a < T(0) ? T(0) : a";
    Relu6 1 Same "map_relu6" {clamp(a, T::zero(), T::of(6.0))} {a.clamp(0, 6)} "bounded(a, T(0), T(6))";
    Gelu 1 Same "map_gelu" {a * bell_below(a)} {} "a * bell_below(a)";
    GeluTanh 1 Same "map_gelu_tanh" {T::of(0.5) * a * (T::one() + gelu_inner(a).tanh())} {}
        "T(0.5) * a * (T(1) + tanh(gelu_inner(a)))";
    Silu 1 Same "map_silu" {a * a.sigmoid()} {} "a * sigmoid(a)";
    Mish 1 Same "map_mish" {a * tanh_softplus(a)} {} "a * tanh_softplus(a)";
    // p = beta, q = threshold
    Softplus 1 Same "map_softplus" {
        let (x, y) = (a * p, (a * p).exp().ln_1p() / p);
        if x > q { a } else { y }
    } {} "a * p > q ? a : log1p(exp(a * p)) / p";
    // p = alpha
    Elu 1 Same "map_elu" { let low = p * a.expm1(); if a < T::zero() { low } else { a } } {}
        "a < T(0) ? p * expm1(a) : a";
    // p = slope
    LeakyRelu 1 Same "map_leaky_relu" {if a > T::zero() { a } else { a * p }} {} "a > T(0) ? a : a * p";
    // p = low, q = high
    Hardtanh 1 Same "map_hardtanh" {clamp(a, p, q)} {a.max(p).min(q)} "bounded(a, p, q)";
    Clamp 1 Same "map_clamp" {clamp(a, p, q)} {a.max(p).min(q)} "bounded(a, p, q)";
    LogicalNot 1 Bool "map_not" {T::flag(a == T::zero())} {i64::from(a == 0)} "T(a == T(0))";
    IsNan 1 Bool "map_isnan" {T::flag(a.is_nan())} {0} "T(a != a)";
    IsInf 1 Bool "map_isinf" {T::flag(a.abs() == T::of(f64::INFINITY))} {0} "T(isinf(double(a)))";
    IsFinite 1 Bool "map_isfinite" {T::flag(a.abs() < T::of(f64::INFINITY))} {1} "T(isfinite(double(a)))";
    SignBit 1 Bool "map_signbit" {T::flag(T::one().copysign(a) < T::zero())} {i64::from(a < 0)} "T(signbit(double(a)))";
    BitNot 1 Same "map_bitnot" {} {!a} "~a";
    // a + p * b, a - p * b
    Add 2 Same "map_add" {p.fma(b, a)} {a.wrapping_add(p.wrapping_mul(b))} "a + p * b";
    Sub 2 Same "map_sub" {(-p).fma(b, a)} {a.wrapping_sub(p.wrapping_mul(b))} "a - p * b";
    Mul 2 Same "map_mul" {a * b} {a.wrapping_mul(b)} "a * b";
    Div 2 Same "map_div" {a / b} {} "a / b";
    FloorDiv 2 Same "map_floor_divide" {a.floor_divide(b)} {whole_floor_divide(a, b)} "floor_divide(a, b)";
    TruncDiv 2 Same "map_trunc_divide" {(a / b).trunc()} {if b == 0 { 0 } else { a.wrapping_div(b) }} "trunc_divide(a, b)";
    // Remainder has the divisor's sign (Python), Fmod the dividend's (C).
    Remainder 2 Same "map_remainder" {a.remainder(b)} {whole_remainder(a, b)} "remainder_of(a, b)";
    Fmod 2 Same "map_fmod" {a.fmod(b)} {if b == 0 { 0 } else { a.wrapping_rem(b) }} "fmod_of(a, b)";
    Pow 2 Same "map_pow" {a.pow(b)} {whole_pow(a, b)} "power(a, b)";
    Atan2 2 Same "map_atan2" {a.atan2(b)} {} "atan2(a, b)";
    // Maximum, Minimum propagate NaN.
    Maximum 2 Same "map_maximum" {a.maximum(b)} {a.max(b)} "larger(a, b)";
    Minimum 2 Same "map_minimum" {a.minimum(b)} {a.min(b)} "smaller(a, b)";
    Eq 2 Bool "map_eq" {T::flag(a == b)} {i64::from(a == b)} "T(a == b)";
    Ne 2 Bool "map_ne" {T::flag(a != b)} {i64::from(a != b)} "T(a != b)";
    Lt 2 Bool "map_lt" {T::flag(a < b)} {i64::from(a < b)} "T(a < b)";
    Le 2 Bool "map_le" {T::flag(a <= b)} {i64::from(a <= b)} "T(a <= b)";
    Gt 2 Bool "map_gt" {T::flag(a > b)} {i64::from(a > b)} "T(a > b)";
    Ge 2 Bool "map_ge" {T::flag(a >= b)} {i64::from(a >= b)} "T(a >= b)";
    LogicalAnd 2 Bool "map_and" {T::flag(truth(a) & truth(b))} {i64::from((a != 0) & (b != 0))} "T(a != T(0) && b != T(0))";
    LogicalOr 2 Bool "map_or" {T::flag(truth(a) | truth(b))} {i64::from((a != 0) | (b != 0))} "T(a != T(0) || b != T(0))";
    LogicalXor 2 Bool "map_xor" {T::flag(truth(a) ^ truth(b))} {i64::from((a != 0) ^ (b != 0))} "T((a != T(0)) != (b != T(0)))";
    BitAnd 2 Same "map_bitand" {} {a & b} "a & b";
    BitOr 2 Same "map_bitor" {} {a | b} "a | b";
    BitXor 2 Same "map_bitxor" {} {a ^ b} "a ^ b";
    // Bits beyond the width of the compute type are lost.
    ShiftLeft 2 Same "map_shift_left" {} {shift_left(a, b)} "shift_left(a, b)";
    ShiftRight 2 Same "map_shift_right" {} {shift_right(a, b)} "a >> (b < 0 || b > 63 ? 63 : b)";
    Copysign 2 Same "map_copysign" {a.abs().copysign(b)} {} "copysign(a, b)";
    Hypot 2 Same "map_hypot" {a.hypot(b)} {} "hypot(a, b)";
    // p tells the type: 1 is float16, 2 bfloat16, 0 the compute type itself.
    NextAfter 2 Same "map_nextafter" {
        if p == T::zero() { a.next_after(b) } else if p == T::one() { a.next_half(b) } else { a.next_bfloat16(b) }
    } {} "neighbour(a, b, p)";
    Gcd 2 Same "map_gcd" {} {common_divisor(a, b)} "common_divisor(a, b)";
    Lcm 2 Same "map_lcm" {} {common_multiple(a, b)} "common_multiple(a, b)";
    // b is the value at 0
    Heaviside 2 Same "map_heaviside" {if a == T::zero() { b } else { T::flag(a > T::zero()) }}
        {if a == 0 { b } else { i64::from(a > 0) }} "a == T(0) ? b : T(a > T(0))";
    Xlogy 2 Same "map_xlogy" {a.xlogy(b)} {} "xlogy(a, b)";
    Logaddexp 2 Same "map_logaddexp" {a.logaddexp(b)} {} "logaddexp(a, b)";
    // b stands for NaN, p for infinity, q for its negative.
    NanToNum 2 Same "map_nan_to_num" {
        let high = if a == T::of(f64::INFINITY) { p } else { a };
        let low = if a == T::of(f64::NEG_INFINITY) { q } else { high };
        if a.is_nan() { b } else { low }
    } {a} "a != a ? b : a == T(INFINITY) ? p : a == T(-INFINITY) ? q : a";
    // Gradients: a = upstream gradient, b = the saved input.
    AbsGrad 2 Same "grad_abs" {a * b.sign()} {} "a * sign_of(b)";
    SinGrad 2 Same "grad_sin" {a * b.cos()} {} "a * cos(b)";
    CosGrad 2 Same "grad_cos" {a * -b.sin()} {} "a * -sin(b)";
    LogGrad 2 Same "grad_log" {a / b} {} "a / b";
    // Here b = the saved output.
    TanhGrad 2 Same "grad_tanh" {a * (T::one() - b * b)} {} "a * (T(1) - b * b)";
    SigmoidGrad 2 Same "grad_sigmoid" {a * ((T::one() - b) * b)} {} "a * ((T(1) - b) * b)";
    SqrtGrad 2 Same "grad_sqrt" {a / (b + b)} {} "a / (b + b)";
    ReluGrad 2 Same "grad_relu" {if b <= T::zero() { T::zero() } else { a }} {} "b <= T(0) ? T(0) : a";
    RsqrtGrad 2 Same "grad_rsqrt" {T::of(-0.5) * a * (b * b * b)} {} "T(-0.5) * a * (b * b * b)";
    ReciprocalGrad 2 Same "grad_reciprocal" {-a * (b * b)} {} "-a * (b * b)";
    // b = the saved input again; parameters as in the forward function.
    GeluGrad 2 Same "grad_gelu" {a * b.fma(bell(b), bell_below(b))} {} "a * (bell_below(b) + b * bell(b))";
    GeluTanhGrad 2 Same "grad_gelu_tanh" {a * gelu_tanh_grad(b)} {} "a * gelu_tanh_grad(b)";
    SiluGrad 2 Same "grad_silu" { let s = b.sigmoid(); a * (s * b.fma(T::one() - s, T::one())) } {}
        "a * (sigmoid(b) * (T(1) + b * (T(1) - sigmoid(b))))";
    MishGrad 2 Same "grad_mish" {
        let t = tanh_softplus(b);
        a * (b * b.sigmoid()).fma(T::one() - t * t, t)
    } {} "a * mish_grad(b)";
    SoftplusGrad 2 Same "grad_softplus" { let s = (b * p).sigmoid(); if b * p > q { a } else { a * s } } {}
        "b * p > q ? a : a * sigmoid(b * p)";
    EluGrad 2 Same "grad_elu" { let low = a * p * b.exp(); if b <= T::zero() { low } else { a } } {}
        "b <= T(0) ? a * p * exp(b) : a";
    LeakyReluGrad 2 Same "grad_leaky_relu" {if b > T::zero() { a } else { a * p }} {} "b > T(0) ? a : a * p";
    // At their bounds Hardtanh and Clamp have no slope; NaN has one in the first alone.
    HardtanhGrad 2 Same "grad_hardtanh" {if (b <= p) | (b >= q) { T::zero() } else { a }} {} "b <= p || b >= q ? T(0) : a";
    // A bound that is infinite is open.
    ClampGrad 2 Same "grad_clamp" {
        let above = (b > p) | (p == T::of(f64::NEG_INFINITY));
        let below = (b < q) | (q == T::of(f64::INFINITY));
        if above & below { a } else { T::zero() }
    } {} "(b > p || (isinf(double(p)) && p < T(0))) && (b < q || (isinf(double(q)) && q > T(0))) ? a : T(0)";
    // p = exponent
    PowScalarGrad 2 Same "grad_pow" {
        let slope = a * (p * b.pow(p - T::one()));
        if p == T::zero() { T::zero() } else { slope }
    } {} "p == T(0) ? T(0) : a * (p * power(b, p - T(1)))";
    ErfGrad 2 Same "grad_erf" {a * T::of(std::f64::consts::FRAC_2_SQRT_PI) * (-(b * b)).exp()} {}
        "a * T(1.1283791670955126) * exp(-b * b)";
    // Losses, element by element: a = input, b = target.
    SquaredDiff 2 Same "map_squared_diff" {(a - b) * (a - b)} {square(a.wrapping_sub(b))} "(a - b) * (a - b)";
    AbsDiff 2 Same "map_abs_diff" {(a - b).abs()} {a.wrapping_sub(b).wrapping_abs()} "absolute(a - b)";
    // p = beta
    SmoothL1 2 Same "map_smooth_l1" {
        let z = (a - b).abs();
        if z < p { T::of(0.5) * z * z / p } else { z - T::of(0.5) * p }
    } {} "absolute(a - b) < p ? T(0.5) * (a - b) * (a - b) / p : absolute(a - b) - T(0.5) * p";
    // p = delta
    Huber 2 Same "map_huber" {
        let z = (a - b).abs();
        if z <= p { T::of(0.5) * z * z } else { p * (z - T::of(0.5) * p) }
    } {} "absolute(a - b) <= p ? T(0.5) * (a - b) * (a - b) : p * (absolute(a - b) - T(0.5) * p)";
    Bce 2 Same "map_bce" {(b - T::one()) * log_floor((-a).ln_1p()) - b * log_floor(a.ln())} {}
        "(b - T(1)) * log1p_floor(-a) - b * log_floor(a)";
    BceLogits 2 Same "map_bce_logits" {
        (T::one() - b) * a - (a.minimum(T::zero()) - (-a.abs()).exp().ln_1p())
    } {} "(T(1) - b) * a - (smaller(a, T(0)) - log1p(exp(-absolute(a))))";
    // a is the condition
    Where 3 Same "map_where" {if truth(a) { b } else { c }} {if a != 0 { b } else { c }} "a != T(0) ? b : c";
    // a + c * (b - a)
    Lerp 3 Same "map_lerp" {
        let near = c.abs() < T::of(0.5);
        if near { c.fma(b - a, a) } else { b - (b - a) * (T::one() - c) }
    } {} "absolute(c) < T(0.5) ? a + c * (b - a) : b - (b - a) * (T(1) - c)";
    // a + p * b * c, a + p * b / c
    Addcmul 3 Same "map_addcmul" {a + p * b * c} {a.wrapping_add(p.wrapping_mul(b).wrapping_mul(c))} "a + p * b * c";
    Addcdiv 3 Same "map_addcdiv" {a + p * b / c} {} "a + p * b / c";
    // b and c are the bounds
    Between 3 Same "map_between" {a.maximum(b).minimum(c)} {a.max(b).min(c)} "smaller(larger(a, b), c)";
    // Gradients of losses: a = upstream, b = input, c = target, p as in the forward function.
    SmoothL1Grad 3 Same "grad_smooth_l1" {
        let x = b - c;
        let inner = a * x / p;
        if x <= -p { -a } else if x >= p { a } else { inner }
    } {} "b - c <= -p ? -a : b - c >= p ? a : a * (b - c) / p";
    HuberGrad 3 Same "grad_huber" {
        let x = b - c;
        if x <= -p { -a * p } else if x >= p { a * p } else { a * x }
    } {} "b - c <= -p ? -a * p : b - c >= p ? a * p : a * (b - c)";
    BceGrad 3 Same "grad_bce" {a * (b - c) / ((T::one() - b) * b).maximum(T::of(1e-12))} {}
        "a * (b - c) / larger((T(1) - b) * b, T(1e-12))";
}

#[inline(always)]
fn truth<T: Real>(a: T) -> bool {
    a != T::zero()
}

#[inline(always)]
fn clamp<T: Real>(a: T, low: T, high: T) -> T {
    let a = if (a < low) | low.is_nan() { low } else { a };
    if (a > high) | high.is_nan() { high } else { a }
}

/// The normal density.
#[inline(always)]
fn bell<T: Real>(a: T) -> T {
    T::of(0.398_942_280_401_432_7) * (T::of(-0.5) * a * a).exp()
}

/// The normal distribution function.
#[inline(always)]
fn bell_below<T: Real>(a: T) -> T {
    let erf = (a * T::of(std::f64::consts::FRAC_1_SQRT_2)).erf();
    T::of(0.5) * (T::one() + erf)
}

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
const GELU_CUBIC: f64 = 0.044_715;

#[inline(always)]
fn gelu_inner<T: Real>(a: T) -> T {
    T::of(SQRT_2_OVER_PI) * (T::of(GELU_CUBIC) * a * a).fma(a, a)
}

#[inline(always)]
fn gelu_tanh_grad<T: Real>(a: T) -> T {
    let t = gelu_inner(a).tanh();
    let slope = T::of(SQRT_2_OVER_PI) * (T::of(3.0 * GELU_CUBIC) * a).fma(a, T::one());
    T::of(0.5) * (T::one() + t) + T::of(0.5) * a * (T::one() - t * t) * slope
}

/// `tanh(ln(1 + exp(a)))`
#[inline(always)]
fn tanh_softplus<T: Real>(a: T) -> T {
    let e = a.exp();
    let n = e * (e + T::of(2.0));
    let value = n / (n + T::of(2.0));
    if a > T::of(20.0) { T::one() } else { value }
}

/// PyTorch keeps logarithms in the cross entropy above -100.
#[inline(always)]
fn log_floor<T: Real>(log: T) -> T {
    log.maximum(T::of(-100.0))
}

#[inline(always)]
fn square(a: i64) -> i64 {
    a.wrapping_mul(a)
}

#[inline(always)]
fn shift_left(a: i64, b: i64) -> i64 {
    if (0..64).contains(&b) { a << b } else { 0 }
}

/// A count that is no place of a bit shifts everything out, also a negative one.
#[inline(always)]
fn shift_right(a: i64, b: i64) -> i64 {
    a >> if (0..64).contains(&b) { b } else { 63 }
}

#[inline(always)]
fn whole_remainder(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (b < 0) != (rest < 0) { rest + b } else { rest }
}

#[inline(always)]
fn whole_floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let uneven = a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
    a.wrapping_div(b) - i64::from(uneven)
}

/// The greatest common divisor by Euclid's algorithm; 0 for two zeros.
#[inline(always)]
fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.wrapping_abs(), b.wrapping_abs());
    while a != 0 {
        (a, b) = (b.wrapping_rem(a), a);
    }
    b
}

/// The least common multiple, wrapped where it is too large; 0 beside a zero.
#[inline(always)]
fn common_multiple(a: i64, b: i64) -> i64 {
    match common_divisor(a, b) {
        0 => 0,
        divisor => a.wrapping_div(divisor).wrapping_mul(b).wrapping_abs(),
    }
}

/// A negative exponent gives 0 but for the bases 1 and -1.
#[inline(always)]
fn whole_pow(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut value, mut square, mut left) = (1i64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            value = value.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    value
}
