//! What declares pages of the language.

use crate::op::def::DefaultValue;
use crate::op::{Family, Form, OpDef, Param, ParamKind, Receiver};

/// Declares pages: `name(needed: "what for"; optional: "what for") "What it does." "code" => "what it prints";` below the
/// type that the method is of, or below `None` for functions. What it prints is followed by when it fails, if it does.
/// `#[changing]` stands before methods that change what they are called on, `#[torch("list.append")]` before what Python
/// has under a name of its own.
macro_rules! language {
    ($($receiver:ident {
        $($(#[$mark:ident $(($given:literal))?])* $name:ident($($needed:ident: $for:literal),* $(; $($more:ident: $to:literal),*)?)
            $summary:literal $code:literal => $shown:literal $(, $error:literal)*;)*
    })*) => {
        pub(crate) static ROWS: &[crate::op::OpDef] = &[$($(
            $crate::script::language::declare::row(
                crate::op::Receiver::$receiver,
                stringify!($name),
                &[
                    $($crate::script::language::declare::needed(stringify!($needed), $for),)*
                    $($($crate::script::language::declare::optional(stringify!($more), $to),)*)?
                ],
            )
            .summary($summary)
            .errors(&[$($error),*])
            .example($code, $shown)
            $(.$mark($($given)?))*,
        )*)*];
    };
}

/// Declares pages of words: `word "What it does." "code" => "what it prints";`.
macro_rules! words {
    ($($word:ident $summary:literal $code:literal => $shown:literal;)*) => {
        pub(crate) static ROWS: &[crate::op::OpDef] = &[$(
            $crate::script::language::declare::word(stringify!($word)).summary($summary).example($code, $shown),
        )*];
    };
}

pub(super) const fn word(word: &'static str) -> OpDef {
    OpDef::script(word, Family::Language, "", &[]).forms(&[Form::Word])
}

pub(super) const fn row(receiver: Receiver, name: &'static str, params: &'static [Param]) -> OpDef {
    let def = OpDef::script(name, Family::Language, "", params);
    match receiver {
        Receiver::None => def,
        _ => def.on(receiver).forms(&[Form::Method]),
    }
}

pub(super) const fn needed(name: &'static str, what: &'static str) -> Param {
    Param { name, kind: ParamKind::Any, default: None, what, fails: "" }
}

pub(super) const fn optional(name: &'static str, what: &'static str) -> Param {
    Param { name, kind: ParamKind::Any, default: Some(DefaultValue::None), what, fails: "" }
}

pub(super) use {language, words};
