//! Parameters by name: a declaration that is a row's list of parameters and the struct that its function reads.

use crate::base::{DeviceSpec, Result, Scalar, ShapeCause};
use crate::tensor::Tensor;

use super::def::{Args, DefaultValue, Param, ParamKind};
use super::operand::Operand;
use super::value::Value;

/// What a declared parameter accepts, and what the function gets of it.
pub trait Accept {
    type Given<'a>;
    const KIND: ParamKind;
    /// The default of those that need none written.
    const DEFAULT: Option<DefaultValue> = None;
    /// When a call fails that has such a parameter, with the kind of the error first; or nothing.
    const FAILS: &'static str = "";

    /// The argument at a place.
    ///
    /// # Errors
    /// It is of another kind.
    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>>;
}

/// Structs of [`params`]: read from the arguments at a place and those behind it.
pub trait Read<'a>: Sized {
    /// # Errors
    /// An argument is of another kind.
    fn read(args: &'a Args, at: &mut usize) -> Result<Self>;
}

/// The argument at a place, which moves on.
///
/// # Errors
/// It is of another kind.
pub fn next<'a, K: Accept>(args: &'a Args, at: &mut usize) -> Result<K::Given<'a>> {
    *at += 1;
    K::take(args, *at - 1)
}

/// Absent unless it is given; `()` stands for absent.
pub struct Maybe<K>(std::marker::PhantomData<K>);

impl<K: Accept> Accept for Maybe<K> {
    type Given<'a> = Option<K::Given<'a>>;
    const KIND: ParamKind = K::KIND;
    const DEFAULT: Option<DefaultValue> = Some(DefaultValue::None);
    const FAILS: &'static str = K::FAILS;

    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>> {
        if args.is_none(at) { Ok(None) } else { K::take(args, at).map(Some) }
    }
}

/// Also as it was written: an integer where a number is taken stays one there.
pub(crate) struct Written<K>(std::marker::PhantomData<K>);

impl<K: Accept> Accept for Written<K> {
    type Given<'a> = (K::Given<'a>, &'a Value);
    const KIND: ParamKind = K::KIND;
    const DEFAULT: Option<DefaultValue> = K::DEFAULT;
    const FAILS: &'static str = K::FAILS;

    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>> {
        Ok((K::take(args, at)?, args.get(at)))
    }
}

/// An option of a module that has weights of its own.
pub struct OfWeights<K>(std::marker::PhantomData<K>);

impl<K: Accept> Accept for OfWeights<K> {
    type Given<'a> = K::Given<'a>;
    const KIND: ParamKind = K::KIND;
    const DEFAULT: Option<DefaultValue> = K::DEFAULT;
    const FAILS: &'static str = "RuntimeError: the input lies on another device than the weights";

    fn take<'a>(args: &'a Args, at: usize) -> Result<Self::Given<'a>> {
        K::take(args, at)
    }
}

impl OfWeights<kind::Bool> {
    pub const fn or(value: bool) -> DefaultValue {
        DefaultValue::Bool(value)
    }
}

impl OfWeights<kind::Size> {
    pub const fn or(value: i64) -> DefaultValue {
        DefaultValue::Int(value)
    }
}

/// Declares kinds: `Name(Kind of the row) => what is given, how it is taken`, such as
/// `Lengths(Any) => Vec<i64>, |args: &Args, at| …`, and perhaps when a call with it fails. What is given may borrow from
/// the arguments for `'a`.
macro_rules! kinds {
    ($($(#[$doc:meta])* $vis:vis $name:ident($kind:ident) => $given:ty, $take:expr $(, $fails:literal)?;)*) => {$(
        $(#[$doc])*
        $vis struct $name;

        impl $crate::op::core::params::Accept for $name {
            type Given<'a> = $given;
            const KIND: $crate::op::core::def::ParamKind = $crate::op::core::def::ParamKind::$kind;
            $(const FAILS: &'static str = $fails;)?

            #[allow(clippy::needless_lifetimes, reason = "some of what is given is borrowed")]
            fn take<'a>(args: &'a $crate::op::core::def::Args, at: usize) -> $crate::base::Result<$given> {
                #[allow(clippy::redundant_closure_call, reason = "what takes it is written as a closure")]
                ($take)(args, at)
            }
        }
    )*};
}

/// Kinds under the names that the reference has for them.
pub mod kind {
    use super::*;

    kinds! {
        pub Tensor(Tensor) => &'a super::Tensor, Args::tensor;
        /// A tensor or a number.
        pub Operand(Operand) => super::Operand<'a>, Args::operand;
        pub Scalar(Scalar) => super::Scalar, Args::scalar;
        pub Int(Int) => i64, Args::int;
        pub Dim(Dim) => i64, Args::int;
        /// A length: an integer that is not negative.
        pub Size(Int) => usize, |args: &Args, at| {
            let n = args.int(at)?;
            usize::try_from(n).map_err(|_| ShapeCause::NegativeSize { size: n, shape: vec![n] }.into())
        };
        pub Float(Float) => f64, Args::float;
        pub Bool(Bool) => bool, Args::bool;
        pub Str(Str) => &'a str, Args::str;
        pub Ints(Ints) => Vec<i64>, Args::ints;
        pub Dims(Dims) => Vec<i64>, Args::ints;
        /// As `Ints`; several integers in a row are one array.
        pub Sizes(Sizes) => Vec<i64>, Args::ints;
        pub Tensors(Tensors) => Vec<&'a super::Tensor>, Args::tensors;
        /// As `Tensors`; several tensors in a row are one array.
        pub TensorRun(TensorRun) => Vec<&'a super::Tensor>, Args::tensors;
        pub DType(DType) => crate::base::DType, |args: &Args, at| {
            args.dtype(at).ok_or_else(|| args.wrong(at, args.get(at)))
        };
        pub Device(Device) => DeviceSpec, |args: &Args, at| {
            args.device(at).ok_or_else(|| args.wrong(at, args.get(at)))
        };
        /// Anything.
        pub Any(Any) => &'a Value, |args: &'a Args, at| Ok(args.get(at));
        /// Anything but a map.
        pub Object(Object) => &'a Value, |args: &'a Args, at| Ok(args.get(at));
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

    impl Dim {
        pub const fn or(value: i64) -> DefaultValue {
            DefaultValue::Int(value)
        }
    }

    impl Int {
        pub const fn or(value: i64) -> DefaultValue {
            DefaultValue::Int(value)
        }
    }

    impl Size {
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

/// How many parameters several lists have.
pub const fn total(lists: &[&[Param]]) -> usize {
    let (mut count, mut lists) = (0, lists);
    while let [list, more @ ..] = lists {
        count += list.len();
        lists = more;
    }
    count
}

/// Several lists of parameters as one.
pub const fn joined<const N: usize>(lists: &[&[Param]]) -> [Param; N] {
    let mut all = [Param { name: "", kind: ParamKind::Any, default: None, what: "", fails: "" }; N];
    let mut room: &mut [Param] = &mut all;
    let mut lists = lists;
    while let [list, more @ ..] = lists {
        let (here, rest) = room.split_at_mut(list.len());
        here.copy_from_slice(list);
        room = rest;
        lists = more;
    }
    all
}

/// A row's list of parameters: `name: Kind, "what it is for"`, or with a default `name: Kind = value, "what it is for"`;
/// `name: Kind => DefaultValue::Ints(&[-2, -1]), "…"` where the default is written otherwise than values of the kind
/// are. `..LIST;` stands for another list. For rows whose arguments are kept under their names; of others, [`params`]
/// makes a struct.
macro_rules! param_list {
    (
        $($field:ident: $kind:ty $(= $default:expr)? $(=> $written:expr)?, $what:literal;)*
        $(
            ..$list:expr;
            $($next:ident: $type:ty $(= $preset:expr)? $(=> $said:expr)?, $why:literal;)*
        )*
    ) => {{
        use $crate::op::core::params::{joined, total};
        const LISTS: &[&[$crate::op::core::def::Param]] = &[
            &[$($crate::op::core::params::param_list!(@one $field: $kind $(= $default)? $(=> $written)?, $what)),*],
            $($list, &[$($crate::op::core::params::param_list!(@one $next: $type $(= $preset)? $(=> $said)?, $why)),*],)*
        ];
        const ALL: [$crate::op::core::def::Param; total(LISTS)] = joined(LISTS);
        &ALL
    }};
    (@one $field:ident: $kind:ty $(= $default:expr)? $(=> $written:expr)?, $what:literal) => {
        $crate::op::core::def::Param {
            name: stringify!($field),
            kind: <$kind as $crate::op::core::params::Accept>::KIND,
            default: $crate::op::core::params::param_list!(@default $kind $(= $default)? $(=> $written)?),
            what: $what,
            fails: <$kind as $crate::op::core::params::Accept>::FAILS,
        }
    };
    (@default $kind:ty) => { <$kind as $crate::op::core::params::Accept>::DEFAULT };
    (@default $kind:ty = $default:expr) => { Some(<$kind>::or($default)) };
    (@default $kind:ty => $written:expr) => { Some($written) };
}

/// Declares a struct whose fields are the parameters of a row, written as in [`param_list`]. `NAME::LIST` is the row's
/// list; `NAME::of(&args)` reads a call. `..place: Place;` stands for the parameters of another such struct, which the
/// field `place` holds; one that is never a row's alone is declared as `group Place { … }`.
macro_rules! params {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($body:tt)* }) => {
        $crate::op::core::params::params! { $(#[$doc])* $vis group $name { $($body)* } }

        impl<'a> $name<'a> {
            /// The arguments of a call of the row.
            $vis fn of(args: &'a $crate::op::core::def::Args) -> $crate::base::Result<Self> {
                <Self as $crate::op::core::params::Read>::read(args, &mut 0)
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis group $name:ident {
        $($field:ident: $kind:ty $(= $default:expr)? $(=> $written:expr)?, $what:literal;)*
        $(
            ..$group:ident: $set:ident;
            $($next:ident: $type:ty $(= $preset:expr)? $(=> $said:expr)?, $why:literal;)*
        )*
    }) => {
        $(#[$doc])*
        #[allow(non_snake_case, reason = "some of PyTorch's parameters are capitals")]
        $vis struct $name<'a> {
            $($vis $field: <$kind as $crate::op::core::params::Accept>::Given<'a>,)*
            $($vis $group: $set<'a>, $($vis $next: <$type as $crate::op::core::params::Accept>::Given<'a>,)*)*
            call: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> $name<'a> {
            /// The row's parameters, in this order.
            $vis const LIST: &'static [$crate::op::core::def::Param] = $crate::op::core::params::param_list! {
                $($field: $kind $(= $default)? $(=> $written)?, $what;)*
                $(..<$set>::LIST; $($next: $type $(= $preset)? $(=> $said)?, $why;)*)*
            };
        }

        impl<'a> $crate::op::core::params::Read<'a> for $name<'a> {
            #[allow(unused_variables, reason = "of none")]
            fn read(args: &'a $crate::op::core::def::Args, at: &mut usize) -> $crate::base::Result<Self> {
                Ok($name {
                    $($field: $crate::op::core::params::next::<$kind>(args, at)?,)*
                    $(
                        $group: <$set as $crate::op::core::params::Read>::read(args, at)?,
                        $($next: $crate::op::core::params::next::<$type>(args, at)?,)*
                    )*
                    call: std::marker::PhantomData,
                })
            }
        }
    };
}

/// A row's function from its arguments by name: `by_name!(NormParams, |a| one(norm(a.input, a.p)))`.
/// A function's name stands for a call with all of them: `by_name!(NormParams, norm_row)`.
/// A second name is that of the call itself, for what keeps arguments as they were given.
macro_rules! by_name {
    ($params:ident, |$a:pat_param| $body:expr) => {
        |args: &$crate::op::core::def::Args| {
            let $a = $params::of(args)?;
            $body
        }
    };
    ($params:ident, $run:path) => {
        |args: &$crate::op::core::def::Args| $run($params::of(args)?)
    };
    ($params:ident, |$a:pat_param, $args:ident| $body:expr) => {
        |$args: &$crate::op::core::def::Args| {
            let $a = $params::of($args)?;
            $body
        }
    };
}

pub(crate) use by_name;
pub(crate) use kinds;
pub(crate) use param_list;
pub(crate) use params;

params! {
    /// The tensor alone.
    pub InputParams {
        input: kind::Tensor, "the tensor it is computed of";
    }
}

params! {
    /// The tensor, and whether it is written to.
    pub ActivationParams {
        input: kind::Tensor, "the tensor it is computed of";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}
