//! Names of files that Python saves tensors in: here they end otherwise.

use super::book::Idiom;
use super::statements::Statements;
use super::tree::{Arg, Expr};

const ENDS: [&str; 5] = [".pt", ".pth", ".bin", ".ckpt", ".pkl"];

/// A file's name as it has to end.
pub(super) fn renamed(value: &Expr) -> Option<Expr> {
    match value {
        Expr::Text(raw) => {
            let (inside, quote) = raw.split_at_checked(raw.len().checked_sub(1)?)?;
            let stem = ENDS.iter().find_map(|end| inside.strip_suffix(end))?;
            Some(Expr::Text(format!("{stem}.safetensors{quote}")))
        }
        Expr::Binary("+", before, last) => Some(Expr::Binary("+", before.clone(), renamed(last)?.into())),
        // `os.path.join("runs", "model.pt")`
        Expr::Call(callee, parts) if matches!(callee.as_ref(), Expr::Attr(_, name) if name == "join") => {
            let (last, before) = parts.split_last()?;
            let last = Arg { value: renamed(&last.value)?, ..last.clone() };
            Some(Expr::Call(callee.clone(), before.iter().cloned().chain([last]).collect()))
        }
        _ => None,
    }
}

impl Statements<'_, '_, '_> {
    /// `PATH = "model.pt"`, where the variable is what the program saves or loads by.
    pub(super) fn file_of(&mut self, targets: &[Expr], value: &Expr) -> Option<Expr> {
        let [Expr::Name(name)] = targets else { return None };
        let other = renamed(value)?;
        self.is_file(name).then_some(())?;
        self.writer.uses(Idiom::FileName);
        Some(other)
    }

    /// Whether a variable stands among what `torch.save` or `torch.load` is given.
    fn is_file(&self, name: &str) -> bool {
        let tokens = self.reader.tokens;
        tokens.windows(4).enumerate().any(|(at, four)| {
            let [of, point, call, open] = four else { return false };
            let is = of.text == "torch" && point.text == "." && open.text == "(";
            if !is || !matches!(call.text, "save" | "load") {
                return false;
            }
            stands_in(tokens.iter().skip(at + 4).map(|token| token.text), name)
        })
    }
}

/// Whether a name stands before the bracket that is open closes, in no other.
fn stands_in<'t>(inside: impl Iterator<Item = &'t str>, name: &str) -> bool {
    let mut depth = 1usize;
    for text in inside {
        match text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 1 => return false,
            ")" | "]" | "}" => depth -= 1,
            text if text == name && depth == 1 => return true,
            _ => {}
        }
    }
    false
}
