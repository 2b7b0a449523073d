//! What Rhai brings: functions of arrays, texts, maps and numbers. They are called as Rhai has them; these rows are their
//! pages, for help, completion and the reference.

mod arrays;
mod functions;
mod maps;
mod numbers;
mod texts;

use crate::op::def::{DefaultValue, documented};
use crate::op::{Family, Form, OpDef, Param, ParamKind, Receiver};

/// Declares pages: `name(needed: "what for"; optional: "what for") "What it does." "code" => "what it prints";` below the
/// type that the method is of, or below `None` for functions.
macro_rules! language {
    ($($receiver:ident {
        $($name:ident($($needed:ident: $for:literal),* $(; $($more:ident: $to:literal),*)?)
            $summary:literal $code:literal => $shown:literal;)*
    })*) => {
        pub(crate) static ROWS: &[crate::op::OpDef] = &[$($(
            $crate::script::language::row(
                crate::op::Receiver::$receiver,
                stringify!($name),
                &[
                    $($crate::script::language::needed(stringify!($needed), $for),)*
                    $($($crate::script::language::optional(stringify!($more), $to),)*)?
                ],
            )
            .summary($summary)
            .example($code, $shown),
        )*)*];
    };
}

use language;

static ROWS: [&[OpDef]; 5] =
    documented([arrays::ROWS, functions::ROWS, maps::ROWS, numbers::ROWS, texts::ROWS]);

/// Every page.
pub fn rows() -> impl Iterator<Item = &'static OpDef> {
    ROWS.into_iter().flatten()
}

const fn row(receiver: Receiver, name: &'static str, params: &'static [Param]) -> OpDef {
    let def = OpDef::script(name, Family::Language, "", params);
    match receiver {
        Receiver::None => def,
        _ => def.on(receiver).forms(&[Form::Method]),
    }
}

const fn needed(name: &'static str, what: &'static str) -> Param {
    Param { name, kind: ParamKind::Any, default: None, what }
}

const fn optional(name: &'static str, what: &'static str) -> Param {
    Param { name, kind: ParamKind::Any, default: Some(DefaultValue::None), what }
}
