//! What single words of a statement tell of it.

use super::book::Idiom;
use super::lex::{Tok, TokenKind};
use super::writer::Writer;
use super::{names, reserved};

/// Words and signs that mean the same wherever they stand.
pub(super) fn words(tokens: &[Tok], writer: &mut Writer) {
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.text);
        let after = tokens.get(at + 1).map_or("", |token| token.text);
        let told = ["__version__", "environ", "profiler"];
        let member = matches!(before, "." | "::") && !told.contains(&token.text);
        if token.text == "profiler" && before == "." {
            writer.uses(Idiom::Profiler);
        }
        let of = at.checked_sub(2).and_then(|at| tokens.get(at)).map_or("", |token| token.text);
        if names::is_absent(token.text) || matches!((of, token.text), ("sys", "version") | ("path", "exists"))
        {
            writer.uses(Idiom::Absent);
        }
        if token.text == "functional_call" && names::lacks(token.text) {
            writer.uses(Idiom::Stateless);
        }
        if token.kind == TokenKind::Comment || member {
            continue;
        }
        match token.text {
            "and" => writer.uses(Idiom::And),
            "or" => writer.uses(Idiom::Or),
            "not" if after == "in" => writer.uses(Idiom::NotIn),
            "not" if before != "is" => writer.uses(Idiom::Not),
            "~" => writer.uses(Idiom::Invert),
            "lambda" => writer.uses(Idiom::Lambda),
            "__version__" => writer.uses(Idiom::Version),
            "environ" if !writer.used.contains(&Idiom::LocalRank) => writer.uses(Idiom::Environ),
            "open" if after == "(" && writer.is_free("open") => writer.uses(Idiom::Open),
            "input" if after == "(" && writer.is_free("input") => writer.uses(Idiom::Input),
            "yield" => writer.uses(Idiom::Generator),
            name if matches!(after, "." | "(") && writer.is_free(name) => {
                names::foreign(name).into_iter().for_each(|idiom| writer.uses(idiom));
            }
            _ if reserved::is_renamed(token) => writer.uses(Idiom::Reserved),
            _ => {}
        }
    }
}
