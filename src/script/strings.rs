//! Functions on strings whose result may be far larger than what they are given: Rhai makes it first and measures it then.
//! Here it is measured first, and what is larger than a script's values may be is never made.

use rhai::{Array, Engine, EvalAltResult, INT, ImmutableString, NativeCallContext, Position};

use crate::base::Error;

use super::fault::{RhaiResult, raise};

/// Registers `replace`, `split`, `split_rev` and `pad` in place of Rhai's.
pub(crate) fn register(engine: &mut Engine) {
    macro_rules! replace {
        ($find:ty, $put:ty) => {
            engine.register_fn(
                "replace",
                |ctx: NativeCallContext, text: &mut ImmutableString, find: $find, put: $put| {
                    replace(&ctx, text, &find.to_string(), &put.to_string())
                },
            );
        };
    }
    replace!(ImmutableString, ImmutableString);
    replace!(ImmutableString, char);
    replace!(char, ImmutableString);
    replace!(char, char);
    engine.register_fn("split", |ctx: NativeCallContext, text: &mut ImmutableString| {
        pieces(&ctx, text, |text| text.split_whitespace())
    });
    macro_rules! split {
        ($mark:ty) => {
            engine.register_fn("split", |ctx: NativeCallContext, text: &mut ImmutableString, mark: $mark| {
                let mark = mark.to_string();
                pieces(&ctx, text, |text| text.split(mark.as_str()))
            });
            engine.register_fn(
                "split_rev",
                |ctx: NativeCallContext, text: &mut ImmutableString, mark: $mark| {
                    let mark = mark.to_string();
                    pieces(&ctx, text, |text| text.rsplit(mark.as_str()))
                },
            );
        };
    }
    split!(ImmutableString);
    split!(char);
    engine.register_fn(
        "pad",
        |ctx: NativeCallContext, text: &mut ImmutableString, len: INT, fill: ImmutableString| {
            pad(&ctx, text, len, &fill)
        },
    );
}

/// Rhai's own goes on for ever where the text that fills is empty.
fn pad(ctx: &NativeCallContext, text: &mut ImmutableString, len: INT, fill: &str) -> RhaiResult<()> {
    let missing = usize::try_from(len).unwrap_or(0).saturating_sub(text.chars().count());
    if missing == 0 {
        return Ok(());
    }
    if fill.is_empty() {
        return Err(raise(Error::value("pad(): the text that fills is empty")));
    }
    let times = missing.div_ceil(fill.chars().count());
    let grown = fill.len().checked_mul(times).and_then(|more| more.checked_add(text.len()));
    let most = ctx.engine().max_string_size();
    if grown.is_none_or(|length| length > most) {
        return Err(EvalAltResult::ErrorDataTooLarge("Length of string".into(), Position::NONE).into());
    }
    let more: String = fill.chars().cycle().take(missing).collect();
    *text = format!("{text}{more}").into();
    Ok(())
}

fn replace(ctx: &NativeCallContext, text: &mut ImmutableString, find: &str, put: &str) -> RhaiResult<()> {
    if text.is_empty() {
        return Ok(());
    }
    let count = text.match_indices(find).count();
    let grown = put.len().checked_mul(count).and_then(|put| put.checked_add(text.len() - find.len() * count));
    let most = ctx.engine().max_string_size();
    if grown.is_none_or(|length| length > most) {
        return Err(EvalAltResult::ErrorDataTooLarge("Length of string".into(), Position::NONE).into());
    }
    *text = text.replace(find, put).into();
    Ok(())
}

fn pieces<'t, I: Iterator<Item = &'t str>>(
    ctx: &NativeCallContext,
    text: &'t ImmutableString,
    split: impl Fn(&'t str) -> I,
) -> RhaiResult<Array> {
    if text.is_empty() {
        return Ok(vec![text.clone().into()]);
    }
    let most = ctx.engine().max_array_size();
    if split(text).take(most.saturating_add(1)).count() > most {
        return Err(EvalAltResult::ErrorDataTooLarge("Size of array/BLOB".into(), Position::NONE).into());
    }
    Ok(split(text).map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use rhai::Engine;

    use super::*;

    #[test]
    fn results_are_those_of_rhai() {
        let (theirs, mut ours) = (Engine::new(), Engine::new());
        register(&mut ours);
        ours.set_max_string_size(1 << 20);
        ours.set_max_array_size(1 << 20);
        for text in ["", "a", "abcabc", "  a b\tc ", "äöäö", "aaa"] {
            for call in [
                "replace(\"a\", \"xy\")",
                "replace(\"\", \"-\")",
                "replace(\"aa\", 'z')",
                "replace('ä', \"\")",
                "replace('b', 'c')",
                "split()",
                "split(\"\")",
                "split(\"a\")",
                "split(\"zz\")",
                "split('b')",
                "split_rev(\"a\")",
                "split_rev('ö')",
                "split(\"a\", 2)",
            ] {
                let code = format!("let s = {text:?}; let r = s.{call}; [s, r].to_string()");
                let want = theirs.eval::<String>(&code).map_err(|e| e.to_string());
                assert_eq!(ours.eval::<String>(&code).map_err(|e| e.to_string()), want, "{code}");
            }
        }
    }

    #[test]
    fn what_would_be_too_large_is_not_made() {
        let mut engine = Engine::new();
        register(&mut engine);
        engine.set_max_string_size(1 << 16);
        engine.set_max_array_size(1 << 10);
        let grow = "let s = \"x\"; for i in 0..15 { s += s; }";
        for call in [
            "s.replace(\"x\", s)",
            "s.replace('x', s)",
            "s.split(\"x\")",
            "s.split('x')",
            "s.split_rev(\"\")",
        ] {
            let error = engine.eval::<rhai::Dynamic>(&format!("{grow} {call}")).unwrap_err();
            assert!(matches!(*error, EvalAltResult::ErrorDataTooLarge(..)), "{call}: {error}");
        }
        engine.run(&format!("{grow} s.replace(\"x\", \"yy\")")).unwrap();
    }
}
