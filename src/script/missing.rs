//! What is said of values that there are not.

use super::absent::LEAVES;
use crate::base::near::did_you_mean;

/// Where `()` comes from that something is to be done with.
pub(crate) const NOTHING: &str = "`()` is no value: a map gives it for a name that it does not have, and a function whose last line has none";

/// The name that a variable's was to be. Of two or three letters many are near that have nothing to do with it, as `neg`
/// is to `net`: there letters have to have changed places.
pub(super) fn near_variable(name: &str, names: &[&str]) -> Option<String> {
    match name {
        "_" => {
            return Some(
                "`_` is the last value at the prompt and in notebooks; a script names what it goes on with: `let x = …`, and \
                 `tensorlab notebook run` runs the cells of a file"
                    .into(),
            );
        }
        // What people type at other prompts.
        "exit" => return Some(LEAVES.into()),
        "clear" => {
            return Some("Ctrl-L clears the screen of the prompt, and `:reset` forgets its variables".into());
        }
        "In" | "Out" => {
            return Some(
                "`_` is the last value at the prompt and in notebooks; what is to stay has a name: `let x = …`"
                    .into(),
            );
        }
        "pi" | "PI" => return Some("the number is `PI()`".into()),
        "E" => return Some("Euler's number is `E()`".into()),
        _ => {}
    }
    let sorted = |of: &str| {
        let mut letters: Vec<char> = of.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_long = name.chars().count() > 3;
    did_you_mean(name, names.iter().copied().filter(|other| is_long || sorted(other) == sorted(name)))
}

/// What is told of a name of the vocabulary where a value belongs: of a class that stands in a module, and of a function
/// that is a layer too.
pub(super) fn of_layer(name: &str, names: &[&str], written: fn(&str) -> Vec<String>) -> Option<String> {
    let of_module = |name: &str| written(name).into_iter().find(|way| way.starts_with("nn::"));
    if name.starts_with(char::is_uppercase) {
        let way = of_module(name).or_else(|| {
            written(name).into_iter().find(|way| way.contains("::") && !way.starts_with("F::"))
        })?;
        return Some(format!("it is `{way}`, called to make one: `{way}(…)`"));
    }
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let is_layer = |other: &&&str| other.starts_with(char::is_uppercase) && plain(other) == plain(name);
    let layer = of_module(names.iter().find(is_layer)?)?;
    let ways = written(name);
    let way = ways.iter().find(|way| *way == name || **way == format!("F::{name}"))?;
    Some(format!(
        "`{way}` is a function, no value: `{layer}()` is the layer, and `|x| {way}(x)` hands the function on"
    ))
}

/// What is told of an array where a tensor belongs: what is asked of it, or what stands beside it. Several results are one,
/// as an LSTM's.
pub(super) fn of_array(name: &str, of: &[String], tensors: &[&str]) -> Option<String> {
    let is_sign = !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_beside = || is_sign && of.len() == 2 && of.iter().any(|of| of == "Tensor");
    let has_array = of.iter().any(|of| of == "array");
    (has_array && (is_beside() || of.len() == 1 && tensors.contains(&name))).then(|| {
        "an array holds values one after the other, and `[0]` is the first of them; `tensor(numbers)` and `stack(tensors)` make \
         a tensor of all"
            .to_owned()
    })
}

/// What is told of an index of what can't be indexed, by how Rhai calls it with its key.
pub(super) fn of_index(what: &str) -> Option<String> {
    what.starts_with("() ").then(|| NOTHING.to_owned())
}

/// What helps where a closure calls itself by the name that it is about to be given.
pub(super) fn of_own_name(message: &str, code: &str) -> Option<String> {
    let name = message.strip_prefix("name '")?.strip_suffix("' is not defined")?;
    let is_closure = |head: &str| {
        head.trim_start().strip_prefix('=').is_some_and(|value| value.trim_start().starts_with('|'))
    };
    let told = code.split(&format!("let {name} ")).skip(1).any(is_closure);
    told.then(|| {
        format!("a closure does not see its own name: `fn {name}(…) {{ … }}` calls itself by `{name}(…)`")
    })
}

/// What is said of a closure that uses a variable while a method of that runs.
pub(super) const IN_USE: &str = "a closure uses the variable whose method calls it";

/// What helps where a closure calls itself by the variable that holds it, given the line and the column of the call.
pub(super) fn of_own_call(message: &str, (line, column): (&str, u32), code: &str) -> Option<String> {
    let at = line.char_indices().nth(column.checked_sub(1)? as usize)?.0;
    let (before, behind) = line.split_at(at);
    if message != IN_USE || !behind.trim_start_matches('.').starts_with("call") {
        return None;
    }
    let name = before.trim_end_matches('.').rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    code.contains(&format!("{name} = |")).then(|| {
        format!("a closure can't call itself, for it is in use while it runs: `fn {name}(…) {{ … }}` can, by `{name}(…)`")
    })
}

/// What is told of a range with a step, `0..10..2`.
pub(super) fn of_step(sign: &str, of: &[String]) -> Option<String> {
    let is_step = matches!(sign, ".." | "..=") && of.first().is_some_and(|of| of.starts_with("range"));
    is_step.then(|| {
        "a range has no step: `x[arange(0, 10, 2)]` takes every second place of a tensor, `range(0, 10, 2)` counts so".into()
    })
}

/// What helps where a line does something with a gradient that there is not, given what the error says and the column of
/// the operator, call or bracket that it is about, from 1.
pub(super) fn of_gradient(message: &str, line: &str, column: u32) -> Option<String> {
    let at = line.char_indices().nth(column.checked_sub(1)? as usize)?.0;
    let (before, behind) = line.split_at(at);
    let left = || name_before(before.trim_end().trim_end_matches('.'));
    let name = match message {
        // Operands of an operator: `()` is what one of them is.
        said if said.contains("for ((), ") || said.contains("of '()' and") => left(),
        said if said.contains(", ())") || said.contains("and '()'") => {
            let operand = behind.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '"');
            let end = operand.find(|c: char| !is_in_name(c)).unwrap_or(operand.len());
            name_before(operand.get(..end)?)
        }
        said if said.contains("index ()") || said.starts_with("'()' object") => left(),
        // A method's own, or an argument.
        said if said.contains("(())") || said.contains("((), ") || said.contains("not ()") => {
            left().or_else(|| {
                let within = inside(behind.split_once('(')?.1);
                within.split([',', '[', ']', '(']).find_map(|argument| name_before(argument.trim()))
            })
        }
        _ => None,
    }?;
    Some(format!(
        "`{name}.grad` is (): no `backward()` has come to `{name}` yet, or `{name}` is no leaf, as what `{name} = {name} - …` \
         makes is not (`{name} -= …` under `no_grad()` stays one); `{name}.retain_grad()` asks for the gradient of what lies \
         between"
    ))
}

/// What stands before the bracket that closes.
fn inside(text: &str) -> &str {
    let mut open = 1;
    let end = text.find(|c: char| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

/// The name of what a text that ends with `.grad` asks for its gradient.
fn name_before(text: &str) -> Option<&str> {
    let before = text.strip_suffix(".grad")?;
    let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let name = before.get(start..)?;
    Some(if name.starts_with(char::is_alphabetic) { name } else { "x" })
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::failed;

    #[test]
    fn a_gradient_that_is_missing_is_told_of_as_one() {
        let cells = |last| ["let w = ones(2, #{requires_grad: true}); let p = #{w: w};", last];
        for last in [
            "w - 0.1 * w.grad",
            "w.grad.zero_()",
            "w.grad.sum()",
            "w.grad.max()",
            "w.grad[0]",
            "w.grad > 0",
            "F::relu(w.grad)",
            "p.w.grad + 1",
        ] {
            let hint = failed(&cells(last), &Limits::default()).hint.unwrap_or_default();
            assert!(
                hint.starts_with("`w.grad` is (): no `backward()` has come to `w` yet"),
                "{last}: {hint}"
            );
        }
        // What the line says of a tensor that has one is not of what is missing beside it.
        let has = "let w = ones(2, #{requires_grad: true}); w.sum().backward(); let cfg = #{}; let v = (); let best = ();";
        for last in [
            "w - cfg.lr * w.grad",
            "0.9 * v + w.grad",
            "cfg.v * 0.9 + w.grad",
            "w.grad.norm().item() < best",
            "v.mul_(0.9).add_(w.grad)",
        ] {
            let hint = failed(&[has, last], &Limits::default()).hint.unwrap_or_default();
            assert!(!hint.contains("backward"), "{last}: {hint}");
        }
        let cells = |last| ["let w = ones(2, #{requires_grad: true}); let p = #{w: w};", last];
        let hint = failed(&cells("let v = #{grad_norm: ()}; v.grad_norm + 1"), &Limits::default())
            .hint
            .unwrap_or_default();
        assert!(!hint.contains("backward"), "{hint}");
    }
}
