//! Arrays and maps as text, as Rhai writes them: with an eye on the interrupt, which Rhai's own functions do not have.

use std::fmt::Write;
use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, Map, NativeCallContext};

use crate::device::{Cancel, Shared};

use super::fault::{RhaiResult, raise};

/// Registers what `print`, `debug`, interpolation and `+` with a string call.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    for name in ["print", "to_string", "debug", "to_debug"] {
        let here = Arc::clone(shared);
        engine.register_fn(name, move |ctx: NativeCallContext, items: &mut Array| {
            let mut text = Text { ctx: &ctx, cancel: &here.cancel, out: String::new() };
            text.array(items)?;
            Ok::<_, Box<EvalAltResult>>(ImmutableString::from(text.out))
        });
        let here = Arc::clone(shared);
        engine.register_fn(name, move |ctx: NativeCallContext, items: &mut Map| {
            let mut text = Text { ctx: &ctx, cancel: &here.cancel, out: String::new() };
            text.map(items)?;
            Ok::<_, Box<EvalAltResult>>(ImmutableString::from(text.out))
        });
    }
}

struct Text<'a, 'c> {
    ctx: &'a NativeCallContext<'c>,
    cancel: &'a Cancel,
    out: String,
}

impl Text<'_, '_> {
    fn array(&mut self, items: &Array) -> RhaiResult<()> {
        self.out.push('[');
        for (i, item) in items.iter().enumerate() {
            self.separated(i);
            self.value(item)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn map(&mut self, items: &Map) -> RhaiResult<()> {
        self.out.push_str("#{");
        for (i, (name, item)) in items.iter().enumerate() {
            self.separated(i);
            let _ = write!(self.out, "{name:?}: ");
            self.value(item)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn separated(&mut self, i: usize) {
        if i > 0 {
            self.out.push_str(", ");
        }
    }

    fn value(&mut self, value: &Dynamic) -> RhaiResult<()> {
        self.cancel.check().map_err(raise)?;
        if let Some(items) = value.read_lock::<Array>() {
            self.array(&items)
        } else if let Some(items) = value.read_lock::<Map>() {
            self.map(&items)
        } else if is_plain(value) {
            let _ = write!(self.out, "{value:?}");
            Ok(())
        } else {
            self.other(value)
        }
    }

    /// As its type's own function writes it, where it has one.
    fn other(&mut self, value: &Dynamic) -> RhaiResult<()> {
        let mut copy = value.clone();
        let written = self.ctx.call_native_fn_raw("to_debug", true, &mut [&mut copy]);
        match written.map(Dynamic::into_immutable_string) {
            Ok(Ok(text)) => self.out.push_str(&text),
            Ok(Err(_)) => self.out.push_str(self.ctx.engine().map_type_name(value.type_name())),
            // What its device can't give now, such as a copy to the host, has a short form.
            Err(_) => {
                self.cancel.check().map_err(raise)?;
                let _ = write!(self.out, "{value}");
            }
        }
        Ok(())
    }
}

/// Whether a value is written as it is for debugging.
fn is_plain(value: &Dynamic) -> bool {
    value.is_int() || value.is_float() || value.is_string() || value.is_bool() || value.is_unit()
}

#[cfg(test)]
mod tests {
    use rhai::Engine;

    use super::*;
    use crate::device::Machine;

    #[test]
    fn texts_are_those_that_rhai_writes() {
        let (theirs, mut ours) = (Engine::new(), Engine::new());
        register(&mut ours, &Machine::cpu_only().shared);
        for code in [
            "[]",
            "[1, -2.5, 1e300, 3.0, 0.1, \"a\\\"b\\n\", 'c', true, (), [[]], #{}]",
            "#{}",
            "#{b: 1, a: [1, #{c: \"d\"}], \"e f\": ()}",
            "[|x| x, 1..3, 1..=3, Fn(\"f\")]",
            "let x = 1; let f = || x; [x, f]",
            "blob(3)",
        ] {
            for form in
                ["{}.to_string()", "{}.to_debug()", "`${ {} }`", "\"\" + {}", "let s = \"\"; s += {}; s"]
            {
                let (setup, value) = code.rsplit_once("; ").unwrap_or(("", code));
                let code = format!("{setup};{}", form.replace("{}", &format!("({value})")));
                let want = theirs.eval::<String>(&code).map_err(|e| e.to_string());
                assert_eq!(ours.eval::<String>(&code).map_err(|e| e.to_string()), want, "{code}");
            }
        }
    }
}
