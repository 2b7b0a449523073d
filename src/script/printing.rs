//! Arrays and maps as text, as Rhai writes them: with an eye on the interrupt, which Rhai's own functions do not have.

use std::any::TypeId;
use std::fmt::Write;
use std::sync::Arc;

use rhai::{
    Array, Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, ImmutableString, Map,
    NativeCallContext,
};

use unicode_width::UnicodeWidthStr;

use crate::base::python;
use crate::device::Shared;
use crate::script::custom::custom;
use crate::tensor::Tensor;
use crate::tensor::display::display;

use super::bind::{FnCallArgs, note_line};
use super::fault::{RhaiResult, raise};
use super::misfit::MOST_PRINTED;
use super::{carry, line_ends, report};

/// Before the entries of a map that have lines of their own.
const INDENT: &str = "    ";

/// The most blanks before a row.
const WIDEST: usize = 60;

/// The key of what stands in a text: no text of a script is read as this token.
const SHOWN: &str = "\u{10}";

/// Registers what `print`, `debug`, interpolation and `+` with a string call.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    for name in ["print", "to_string", "debug", "to_debug"] {
        let here = Arc::clone(shared);
        engine.register_fn(name, move |ctx: NativeCallContext, items: &mut Array| {
            let mut text = Text { ctx: &ctx, shared: &here, out: String::new() };
            text.array(items)?;
            if name == "print" {
                text.noted(items.iter());
            }
            Ok::<_, Box<EvalAltResult>>(ImmutableString::from(text.out))
        });
        let here = Arc::clone(shared);
        engine.register_fn(name, move |ctx: NativeCallContext, items: &mut Map| {
            let mut text = Text { ctx: &ctx, shared: &here, out: String::new() };
            text.map(items)?;
            if name == "print" {
                text.noted(items.values());
            }
            Ok::<_, Box<EvalAltResult>>(ImmutableString::from(text.out))
        });
    }
    // Rhai's own writes nothing, as if nothing had been printed.
    engine.register_fn("print", |(): ()| ImmutableString::from("()"));
    // A number has one form, alone and among others.
    for name in ["print", "to_string", "debug", "to_debug"] {
        engine.register_fn(name, |number: f64| ImmutableString::from(python::float(number)));
    }
    let here = Arc::clone(shared);
    engine.register_fn(
        "repr",
        move |ctx: NativeCallContext, value: Dynamic| -> RhaiResult<ImmutableString> {
            let mut text = Text { ctx: &ctx, shared: &here, out: String::new() };
            text.code(&value.flatten())?;
            Ok(text.out.into())
        },
    );
    appended::<Array>(engine, shared);
    appended::<Map>(engine, shared);
    for count in 2..=MOST_PRINTED {
        let here = Arc::clone(shared);
        engine.register_raw_fn(
            "print",
            vec![TypeId::of::<Dynamic>(); count],
            move |ctx: NativeCallContext, args: &mut FnCallArgs| -> RhaiResult<ImmutableString> {
                note_line(&here, &ctx);
                let mut text = Text { ctx: &ctx, shared: &here, out: String::new() };
                let end = text.joined(args)?;
                text.noted(args.iter().map(|arg| &**arg));
                line_ends::set(end);
                Ok(text.out.into())
            },
        );
    }
}

/// Adds text whose lines but the first begin at a column, if there is anything on them.
fn below(out: &mut String, text: &str, column: usize) {
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', if line.is_empty() { 0 } else { column }));
        }
        out.push_str(line);
    }
}

/// Text with an array or a map behind it.
fn appended<T: Clone + Send + Sync + 'static>(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("+", move |ctx: NativeCallContext, text: ImmutableString, items: T| {
        behind(&ctx, &here, &text, items)
    });
    for name in ["+=", "append"] {
        let here = Arc::clone(shared);
        engine.register_fn(
            name,
            move |ctx: NativeCallContext, text: &mut ImmutableString, items: T| -> RhaiResult<()> {
                *text = behind(&ctx, &here, text, items)?;
                Ok(())
            },
        );
    }
}

fn behind<T: Clone + Send + Sync + 'static>(
    ctx: &NativeCallContext,
    shared: &Shared,
    text: &str,
    items: T,
) -> RhaiResult<ImmutableString> {
    let mut text = Text { ctx, shared, out: text.into() };
    text.value(&Dynamic::from(items))?;
    Ok(text.out.into())
}

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(super) fn register_shown(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        SHOWN,
        |_, _, _| Ok(None),
        false,
        move |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
            let [whole] = inputs else { return Ok(Dynamic::UNIT) };
            let (value, at) = (context.eval_expression_tree(whole)?.flatten(), whole.position());
            let is_mixed = value.tag() != 0 && carry::is_mixed(&value);
            if !(is_mixed || value.is::<Tensor>() || value.is_array() || value.is_map()) {
                return Ok(value);
            }
            let ctx: NativeCallContext =
                (context.engine(), "to_string", None, context.global_runtime_state(), at).into();
            let mut text = Text { ctx: &ctx, shared: &here, out: String::new() };
            text.value(&value).map_err(|mut error| {
                error.set_position(at);
                error
            })?;
            text.noted([&value]);
            Ok(text.out.into())
        },
    );
}

/// Wraps what stands in a text: Rhai puts the name of a value's type in place of what can't be shown.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::InterpolatedString(items, _) = expr else { return };
    for item in items.iter_mut().filter(|item| !item.is_constant()) {
        let at = item.position();
        let whole = std::mem::take(item);
        *item = Expr::Custom(Box::new(custom(SHOWN, [whole], Dynamic::UNIT)), at);
    }
}

/// What `print` writes of a value.
pub(super) fn spoken(ctx: &NativeCallContext, shared: &Shared, value: &Dynamic) -> RhaiResult<String> {
    let mut text = Text { ctx, shared, out: String::new() };
    text.spoken(value)?;
    text.noted([value]);
    Ok(text.out)
}

struct Text<'a, 'c> {
    ctx: &'a NativeCallContext<'c>,
    shared: &'a Shared,
    out: String,
}

impl Text<'_, '_> {
    /// What of the values mixes measured with modelled time is marked behind them, as a number alone is.
    fn noted<'v>(&mut self, values: impl IntoIterator<Item = &'v Dynamic>) {
        if self.shared.has_both_clocks() && values.into_iter().any(carry::is_mixed) {
            self.out.push(' ');
            self.out.push_str(carry::NOTE);
        }
    }

    fn array(&mut self, items: &Array) -> RhaiResult<()> {
        if let Some(table) = report::tensors(items) {
            self.out.push_str(&table);
            return Ok(());
        }
        self.out.push('[');
        for (i, item) in items.iter().enumerate() {
            self.separated(i);
            self.value(item)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// As `print` writes several values; a map behind them may say what stands between, and what ends the line, which is
    /// given.
    fn joined(&mut self, args: &FnCallArgs) -> RhaiResult<Option<String>> {
        let (options, values) = line_ends::options(args);
        let between = line_ends::text(options.as_ref(), "sep").unwrap_or(" ".into());
        for (i, value) in args.iter().take(values).enumerate() {
            if i > 0 {
                self.out.push_str(&between);
            }
            self.spoken(value)?;
        }
        Ok(line_ends::text(options.as_ref(), "end"))
    }

    /// As `print` writes one value.
    fn spoken(&mut self, value: &Dynamic) -> RhaiResult<()> {
        if value.is_string() || value.is_char() {
            let _ = write!(self.out, "{value}");
            return Ok(());
        }
        let shown = value.is::<Tensor>() || value.is_array() || value.is_map() || is_plain(value);
        if shown { self.value(value) } else { self.other("to_string", value) }
    }

    fn map(&mut self, items: &Map) -> RhaiResult<()> {
        if let Some(told) = report::of(items) {
            self.out.push_str(&told);
            return Ok(());
        }
        let mut entries = Vec::new();
        for (name, item) in items {
            let mut text = Text { ctx: self.ctx, shared: self.shared, out: String::new() };
            text.value(item)?;
            entries.push((format!("{name:?}: "), text.out));
        }
        // Rows of a matrix behind another's would stand anywhere.
        let apart = entries.iter().any(|(_, text)| text.contains('\n'));
        self.out.push_str("#{");
        for (i, (name, text)) in entries.into_iter().enumerate() {
            if apart {
                self.out.push('\n');
                self.out.push_str(INDENT);
                self.out.push_str(&name);
                // What a list begins with stands before its first row as well.
                let opened = text.chars().take_while(|c| *c == '[').count();
                let column = INDENT.len() + if text.starts_with("#{") { 0 } else { name.width() + opened };
                below(&mut self.out, &text, column.min(WIDEST));
                self.out.push(',');
            } else {
                self.separated(i);
                self.out.push_str(&name);
                self.out.push_str(&text);
            }
        }
        self.out.push_str(if apart { "\n}" } else { "}" });
        Ok(())
    }

    fn separated(&mut self, i: usize) {
        if i > 0 {
            self.out.push_str(", ");
        }
    }

    fn value(&mut self, value: &Dynamic) -> RhaiResult<()> {
        self.shared.cancel.check().map_err(raise)?;
        if let Some(tensor) = value.read_lock::<Tensor>() {
            note_line(self.shared, self.ctx);
            self.out.push_str(&display(&tensor).map_err(raise)?);
            Ok(())
        } else if let Some(items) = value.read_lock::<Array>() {
            self.array(&items)
        } else if let Some(items) = value.read_lock::<Map>() {
            self.map(&items)
        } else if let Ok(number) = value.as_float() {
            self.out.push_str(&python::float(number));
            Ok(())
        } else if is_plain(value) {
            let _ = write!(self.out, "{value:?}");
            Ok(())
        } else {
            self.other("to_debug", value)
        }
    }

    /// As Python writes it for debugging: `['a', None, True]`.
    fn code(&mut self, value: &Dynamic) -> RhaiResult<()> {
        self.shared.cancel.check().map_err(raise)?;
        if let Some(items) = value.read_lock::<Array>() {
            self.out.push('[');
            for (i, item) in items.iter().enumerate() {
                self.separated(i);
                self.code(item)?;
            }
            self.out.push(']');
        } else if let Some(items) = value.read_lock::<Map>().filter(|items| report::of(items).is_none()) {
            self.out.push('{');
            for (i, (name, item)) in items.iter().enumerate() {
                self.separated(i);
                self.out.push_str(&python::quoted(name));
                self.out.push_str(": ");
                self.code(item)?;
            }
            self.out.push('}');
        } else if value.is_string() || value.is_char() {
            self.out.push_str(&python::quoted(&value.to_string()));
        } else if let Ok(truth) = value.as_bool() {
            self.out.push_str(python::bool(truth));
        } else if value.is_unit() {
            self.out.push_str("None");
        } else {
            self.value(value)?;
        }
        Ok(())
    }

    /// As its type's own function writes it, where it has one.
    fn other(&mut self, form: &str, value: &Dynamic) -> RhaiResult<()> {
        let mut copy = value.clone();
        let written = self.ctx.call_native_fn_raw(form, true, &mut [&mut copy]);
        match written.map(Dynamic::into_immutable_string) {
            Ok(Ok(text)) => self.out.push_str(&text),
            Ok(Err(_)) => self.out.push_str(self.ctx.engine().map_type_name(value.type_name())),
            // What can't be shown has a short form.
            Err(_) => {
                self.shared.cancel.check().map_err(raise)?;
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
            "[1, -2.5, 1e15, 3.0, 0.1, \"a\\\"b\\n\", 'c', true, (), [[]], #{}]",
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

    #[test]
    fn repr_writes_what_python_does() {
        use crate::script::testing::shown;
        for (code, want) in [
            (r#"["a", (), true, 1.0, 1e-5]"#, "['a', None, True, 1.0, 1e-05]"),
            (r#"#{a: "x", b: [false]}"#, "{'a': 'x', 'b': [False]}"),
            (r#""it's""#, "\"it's\""),
            (r#""it's \"so\"""#, "'it\\'s \"so\"'"),
            (r#""a\n\\""#, "'a\\n\\\\'"),
            ("tensor([1])", "tensor([1])"),
        ] {
            assert_eq!(
                shown(&[&format!("print(repr({code})); repr({code}) == {}", serde_json::json!(want))]),
                "true",
                "{code}"
            );
        }
    }

    /// Alone, among others and in a text a number is written as Python writes it.
    #[test]
    fn numbers_are_pythons() {
        use crate::script::testing::shown;
        let code = "let m = #{a: 1e-5}; let x = 0.0 / 0.0; let y = 1e16; [`${x} ${y} ${m.a} ${0.0001}`, [x, y], m, -1.0 / 0.0]";
        assert_eq!((shown(&["1e-5"]), shown(&["0.0 / 0.0"])), ("1e-05".into(), "nan".into()));
        assert_eq!(shown(&[code]), "[\"nan 1e+16 1e-05 0.0001\", [nan, 1e+16], #{\"a\": 1e-05}, -inf]");
    }
}
