//! Errors that a script throws itself: `throw ValueError("…")`.

use rhai::Dynamic;

use crate::base::{Error, Kind};
use crate::op::params::kind::Str;
use crate::op::params::params;
use crate::op::{Family, OpDef};
use crate::script::call::ScriptRow;

params! {
    RaisedParams {
        message: Str = "", "what the error says";
    }
}

macro_rules! kinds {
    ($($name:ident $summary:literal;)*) => {
        pub(super) static ROWS: &[ScriptRow] = &[$(ScriptRow::of(
            OpDef::script(stringify!($name), Family::Language, $summary, RaisedParams::LIST)
                .torch(stringify!($name))
                .example(
                    concat!("let told = (); try { throw ", stringify!($name), "(\"no\") } catch (e) { told = e.kind + \": \" + e.message; } told"),
                    concat!("\"", stringify!($name), ": no\""),
                ),
            |call| Ok(Dynamic::from(Error::new(Kind::$name, RaisedParams::of(&call.args)?.message))),
        ),)*];
    };
}

kinds! {
    RuntimeError "An error for `throw`: something went wrong.";
    ValueError "An error for `throw`: a value does not fit.";
    TypeError "An error for `throw`: a value is of the wrong type.";
    IndexError "An error for `throw`: there is no such place.";
    NotImplementedError "An error for `throw`: something is left to be written.";
}
