//! The scalar functions that a map kernel applies, one row each.

/// How many inputs a function takes and what it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// The compute type, rounded to the output's dtype.
    Same,
    /// bool, whatever the inputs are.
    Bool,
}

macro_rules! map_ops {
    ($($name:ident $arity:literal $writes:ident $kernel:literal;)*) => {
        /// A scalar function of one to three inputs `a b c` and two parameters `p q`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum MapOp { $($name,)* }

        impl MapOp {
            pub const ALL: &'static [MapOp] = &[$(MapOp::$name,)*];

            pub fn arity(self) -> usize {
                match self { $(MapOp::$name => $arity,)* }
            }

            pub fn writes(self) -> Writes {
                match self { $(MapOp::$name => Writes::$writes,)* }
            }

            pub fn kernel_name(self) -> &'static str {
                match self { $(MapOp::$name => $kernel,)* }
            }
        }
    };
}

map_ops! {
    // y = a, with a cast
    Identity 1 Same "copy";
    Neg 1 Same "map_neg"; Abs 1 Same "map_abs"; Sign 1 Same "map_sign"; Square 1 Same "map_square";
    Exp 1 Same "map_exp"; Expm1 1 Same "map_expm1"; Log 1 Same "map_log"; Log1p 1 Same "map_log1p";
    Log2 1 Same "map_log2"; Log10 1 Same "map_log10"; Sqrt 1 Same "map_sqrt"; Rsqrt 1 Same "map_rsqrt";
    Reciprocal 1 Same "map_reciprocal"; Sin 1 Same "map_sin"; Cos 1 Same "map_cos"; Tan 1 Same "map_tan";
    Asin 1 Same "map_asin"; Acos 1 Same "map_acos"; Atan 1 Same "map_atan"; Sinh 1 Same "map_sinh";
    Cosh 1 Same "map_cosh"; Tanh 1 Same "map_tanh"; Sigmoid 1 Same "map_sigmoid"; Erf 1 Same "map_erf";
    // Round: half to even.
    Floor 1 Same "map_floor"; Ceil 1 Same "map_ceil"; Round 1 Same "map_round"; Trunc 1 Same "map_trunc";
    // Relu, Relu6, Hardtanh and Clamp keep NaN.
    Relu 1 Same "map_relu"; Relu6 1 Same "map_relu6";
    Gelu 1 Same "map_gelu"; GeluTanh 1 Same "map_gelu_tanh"; Silu 1 Same "map_silu"; Mish 1 Same "map_mish";
    // Softplus: p = beta, q = threshold.  Elu: p = alpha.  LeakyRelu: p = slope.  Hardtanh/Clamp: p = low, q = high.
    Softplus 1 Same "map_softplus"; Elu 1 Same "map_elu"; LeakyRelu 1 Same "map_leaky_relu";
    Hardtanh 1 Same "map_hardtanh"; Clamp 1 Same "map_clamp";
    LogicalNot 1 Bool "map_not"; IsNan 1 Bool "map_isnan"; IsInf 1 Bool "map_isinf"; IsFinite 1 Bool "map_isfinite";
    // a + p*b (p is alpha), a - p*b
    Add 2 Same "map_add"; Sub 2 Same "map_sub"; Mul 2 Same "map_mul"; Div 2 Same "map_div";
    FloorDiv 2 Same "map_floor_divide"; TruncDiv 2 Same "map_trunc_divide";
    // Remainder has the divisor's sign (Python), Fmod the dividend's (C).
    Remainder 2 Same "map_remainder"; Fmod 2 Same "map_fmod"; Pow 2 Same "map_pow"; Atan2 2 Same "map_atan2";
    // Maximum, Minimum propagate NaN.
    Maximum 2 Same "map_maximum"; Minimum 2 Same "map_minimum";
    Eq 2 Bool "map_eq"; Ne 2 Bool "map_ne"; Lt 2 Bool "map_lt"; Le 2 Bool "map_le"; Gt 2 Bool "map_gt"; Ge 2 Bool "map_ge";
    LogicalAnd 2 Bool "map_and"; LogicalOr 2 Bool "map_or"; LogicalXor 2 Bool "map_xor";
    BitAnd 2 Same "map_bitand"; BitOr 2 Same "map_bitor"; BitXor 2 Same "map_bitxor";
    // Gradients: a = upstream gradient, b = the saved input (or output, where noted).
    AbsGrad 2 Same "grad_abs"; SinGrad 2 Same "grad_sin"; CosGrad 2 Same "grad_cos"; LogGrad 2 Same "grad_log";
    // b = output
    TanhGrad 2 Same "grad_tanh"; SigmoidGrad 2 Same "grad_sigmoid"; SqrtGrad 2 Same "grad_sqrt"; ReluGrad 2 Same "grad_relu";
    RsqrtGrad 2 Same "grad_rsqrt"; ReciprocalGrad 2 Same "grad_reciprocal";
    // b = input again; parameters as in the forward function
    GeluGrad 2 Same "grad_gelu"; GeluTanhGrad 2 Same "grad_gelu_tanh"; SiluGrad 2 Same "grad_silu";
    MishGrad 2 Same "grad_mish"; SoftplusGrad 2 Same "grad_softplus"; EluGrad 2 Same "grad_elu";
    LeakyReluGrad 2 Same "grad_leaky_relu"; HardtanhGrad 2 Same "grad_hardtanh"; ClampGrad 2 Same "grad_clamp";
    // p = exponent
    PowScalarGrad 2 Same "grad_pow";
    ErfGrad 2 Same "grad_erf";
    // Losses, element by element: a = input, b = target. SmoothL1 and Huber: p = beta/delta.
    SquaredDiff 2 Same "map_squared_diff"; AbsDiff 2 Same "map_abs_diff"; SmoothL1 2 Same "map_smooth_l1";
    Huber 2 Same "map_huber"; Bce 2 Same "map_bce"; BceLogits 2 Same "map_bce_logits";
    // Where: a is the condition.  Lerp: a + c*(b - a).  Addcmul: a + p*b*c.  Addcdiv: a + p*b/c.
    Where 3 Same "map_where"; Lerp 3 Same "map_lerp"; Addcmul 3 Same "map_addcmul"; Addcdiv 3 Same "map_addcdiv";
    // Gradients of losses: a = upstream, b = input, c = target, p as in the forward function.
    SmoothL1Grad 3 Same "grad_smooth_l1"; HuberGrad 3 Same "grad_huber"; BceGrad 3 Same "grad_bce";
}
