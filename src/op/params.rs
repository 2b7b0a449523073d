//! Parameters by name: a declaration that is a row's list of parameters and the struct that its function reads.

use crate::base::{DeviceSpec, Result, Scalar};
use crate::tensor::Tensor;

use super::args::{Args, Value};
use super::def::{DefaultValue, Operand, ParamKind};

/// What a declared parameter accepts, and what the function gets of it.
pub trait Accept {
    type Given<'a>;
    const KIND: ParamKind;
    /// The default of those that need none written.
    const DEFAULT: Option<DefaultValue> = None;

    /// The argument at a place.
    ///
    /// # Errors
    /// It is of another kind.
    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>>;
}

/// Absent unless it is given; `()` stands for absent.
pub struct Maybe<K>(std::marker::PhantomData<K>);

impl<K: Accept> Accept for Maybe<K> {
    type Given<'a> = Option<K::Given<'a>>;
    const KIND: ParamKind = K::KIND;
    const DEFAULT: Option<DefaultValue> = Some(DefaultValue::None);

    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>> {
        if args.is_none(at) { Ok(None) } else { K::take(args, at).map(Some) }
    }
}

/// Kinds under the names that the reference has for them.
pub mod kind {
    use super::*;

    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident => $given:ty, $take:expr;)*) => {$(
            $(#[$doc])*
            pub struct $name;

            impl Accept for $name {
                type Given<'a> = $given;
                const KIND: ParamKind = ParamKind::$name;

                #[allow(clippy::needless_lifetimes, reason = "some of what is given is borrowed")]
                fn take<'a>(args: &'a Args, at: usize) -> Result<$given> {
                    #[allow(clippy::redundant_closure_call, reason = "what takes it is written as a closure")]
                    ($take)(args, at)
                }
            }
        )*};
    }

    kinds! {
        Tensor => &'a super::Tensor, Args::tensor;
        /// A tensor or a number.
        Operand => super::Operand<'a>, Args::operand;
        Scalar => super::Scalar, Args::scalar;
        Int => i64, Args::int;
        Float => f64, Args::float;
        Bool => bool, Args::bool;
        Str => &'a str, Args::str;
        Ints => Vec<i64>, Args::ints;
        /// As `Ints`; several integers in a row are one array.
        Sizes => Vec<i64>, Args::ints;
        Tensors => Vec<&'a super::Tensor>, Args::tensors;
        DType => crate::base::DType, |args: &Args, at| args.dtype(at).ok_or_else(|| args.wrong(at, args.get(at)));
        Device => DeviceSpec, |args: &Args, at| args.device(at).ok_or_else(|| args.wrong(at, args.get(at)));
        /// Anything.
        Any => &'a Value, |args: &'a Args, at| Ok(args.get(at));
        /// Anything but a map.
        Object => &'a Value, |args: &'a Args, at| Ok(args.get(at));
    }

    impl Scalar {
        pub const fn or(value: i64) -> DefaultValue {
            DefaultValue::Int(value)
        }
    }

    impl Ints {
        pub const fn or(value: i64) -> DefaultValue {
            DefaultValue::Int(value)
        }
    }

    impl Int {
        pub const fn or(value: i64) -> DefaultValue {
            DefaultValue::Int(value)
        }
    }

    impl Float {
        pub const fn or(value: f64) -> DefaultValue {
            DefaultValue::Float(value)
        }
    }

    impl Bool {
        pub const fn or(value: bool) -> DefaultValue {
            DefaultValue::Bool(value)
        }
    }

    impl Str {
        pub const fn or(value: &'static str) -> DefaultValue {
            DefaultValue::Str(value)
        }
    }
}

/// Declares a struct whose fields are the parameters of a row: `name: Kind, "what it is for"`, or with a default
/// `name: Kind = value, "what it is for"`; `name: Kind => DefaultValue::Ints(&[-2, -1]), "…"` where the default is
/// written otherwise than values of the kind are. `NAME::LIST` is the row's list; `NAME::of(&args)` reads a call.
macro_rules! params {
    ($(#[$doc:meta])* $vis:vis $name:ident {
        $($field:ident: $kind:ty $(= $default:expr)? $(=> $written:expr)?, $what:literal;)*
    }) => {
        $(#[$doc])*
        $vis struct $name<'a> {
            $($vis $field: <$kind as $crate::op::params::Accept>::Given<'a>,)*
            call: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> $name<'a> {
            /// The row's parameters, in this order.
            $vis const LIST: &'static [$crate::op::Param] = &[$(
                $crate::op::Param {
                    name: stringify!($field),
                    kind: <$kind as $crate::op::params::Accept>::KIND,
                    default: params!(@default $kind $(= $default)? $(=> $written)?),
                    what: $what,
                },
            )*];

            /// The arguments of a call of the row.
            #[allow(unused_assignments, unused_mut, unused_variables, reason = "for the last, and for none")]
            $vis fn of(args: &'a $crate::op::Args) -> $crate::base::Result<Self> {
                let mut at = 0;
                $(
                    let $field = <$kind as $crate::op::params::Accept>::take(args, at)?;
                    at += 1;
                )*
                Ok($name { $($field,)* call: std::marker::PhantomData })
            }
        }
    };
    (@default $kind:ty) => { <$kind as $crate::op::params::Accept>::DEFAULT };
    (@default $kind:ty = $default:expr) => { Some(<$kind>::or($default)) };
    (@default $kind:ty => $written:expr) => { Some($written) };
}

/// A row's function from its arguments by name: `by_name!(NormParams, |a| one(norm(a.input, a.p)))`.
macro_rules! by_name {
    ($params:ident, |$a:pat_param| $body:expr) => {
        |args: &$crate::op::Args| {
            let $a = $params::of(args)?;
            $body
        }
    };
}

pub(crate) use by_name;
pub(crate) use params;
