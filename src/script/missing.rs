//! What is said of values that there are not.

/// Where `()` comes from that something is to be done with.
pub(super) const NOTHING: &str = "`()` is no value: a map gives it for a name that it does not have, and a function whose last line has none";

/// What helps where a line does something with a gradient that there is not, given what the error says.
pub(super) fn of_gradient(message: &str, line: &str) -> Option<String> {
    // Of two operands the other one may be what has a gradient.
    let of_nothing = ["(())", "((), ", ", ())", "index ()", "'()'", "not ()"];
    let line = line.split("//").next()?;
    let told = of_nothing.iter().find(|said| message.contains(**said))?;
    let is_operand = matches!(*told, "((), " | ", ())" | "'()'") && message.contains("Tensor");
    if is_operand && line.matches('.').count() > line.matches(".grad").count() + numbers_with_points(line) {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = line.match_indices(".grad").filter(|(at, found)| {
        line.get(at + found.len()..)
            .is_some_and(|rest| !rest.starts_with(is_name) && !rest.starts_with("_fn"))
    });
    let (at, _) = names.next()?;
    let before = line.get(..at)?;
    let start = before.rfind(|c: char| !is_name(c) && c != '.').map_or(0, |at| at + 1);
    let name = before.get(start..).filter(|name| name.starts_with(char::is_alphabetic)).unwrap_or("x");
    let name = if names.next().is_some() { "x" } else { name.rsplit('.').next().unwrap_or(name) };
    Some(format!(
        "`{name}.grad` is (): no `backward()` has come to `{name}` yet, or `{name}` is no leaf, as what `{name} = {name} - …` \
         makes is not (`{name} -= …` under `no_grad()` stays one); `{name}.retain_grad()` asks for the gradient of what lies \
         between"
    ))
}

/// How many points of a line stand in numbers.
fn numbers_with_points(line: &str) -> usize {
    let bytes = line.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    line.match_indices('.').filter(|(at, _)| digit(at.checked_sub(1)) && digit(Some(at + 1))).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::device::Machine;
    use crate::script::engine::Stopped;
    use crate::script::{Interpreter, Limits, Origin, Silent};

    /// What is said of the last of some cells.
    fn said(cells: &[&str]) -> (String, String) {
        let mut script = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
        let mut faults = cells.iter().zip(1..).filter_map(|(code, number)| {
            match script.evaluate(number, &Origin { name: "test", code, first_line: 1 }) {
                Err(Stopped::Fault(fault)) => Some((fault.message, fault.hint.unwrap_or_default())),
                _ => None,
            }
        });
        faults.next().unwrap_or_else(|| panic!("{cells:?}"))
    }

    #[test]
    fn a_gradient_that_is_missing_is_told_of_as_one() {
        let cells = |last| ["let w = ones(2, #{requires_grad: true}); let p = #{w: w};", last];
        for last in [
            "w - 0.1 * w.grad",
            "w.grad.zero_()",
            "w.grad[0]",
            "w.grad > 0",
            "F::relu(w.grad)",
            "p.w.grad + 1",
        ] {
            let hint = said(&cells(last)).1;
            assert!(
                hint.starts_with("`w.grad` is (): no `backward()` has come to `w` yet"),
                "{last}: {hint}"
            );
        }
        // What the line says of the tensor that has one is not of the number that is missing.
        let cells = [
            "let w = ones(2, #{requires_grad: true}); w.sum().backward(); let cfg = #{};",
            "w - cfg.lr * w.grad",
        ];
        let hint = said(&cells).1;
        assert!(!hint.contains("backward"), "{hint}");
        let cells = |last| ["let w = ones(2, #{requires_grad: true}); let p = #{w: w};", last];
        let hint = said(&cells("let v = #{grad_norm: ()}; v.grad_norm + 1")).1;
        assert!(!hint.contains("backward"), "{hint}");
    }
}
