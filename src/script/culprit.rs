//! Whose fault it is that a check stopped: that of what the learner's code gave, or the check's own.
//!
//! It is the learner's only where the statement that stopped reads what the learner has, or a variable of the check that
//! was made of it, and where what went wrong may be the value: what doesn't parse, what is thrown, names that nobody
//! knows and arguments that an expectation doesn't take are wrong whatever the learner wrote.

use std::collections::BTreeSet;

use rhai::{Engine, Position, Token};

use super::fault::Fault;
use super::lexer;
use super::modules::checks;

/// Whether a fault of a check may come of what the learner's code gave. `learners` says whether a name stands for that,
/// `first_line` is the line of the check's first line in its file.
pub(super) fn is_learners(
    fault: &Fault,
    engine: &Engine,
    code: &str,
    first_line: u32,
    learners: &dyn Fn(&str) -> bool,
) -> bool {
    if fault.kind == "SyntaxError" {
        return false;
    }
    let tokens = lexer::tokens(engine, code);
    let statements = statements(&tokens);
    let line = fault.line.and_then(|line| line.checked_sub(first_line.saturating_sub(1)));
    let place = line.map(|line| (line as usize, fault.column.unwrap_or(1) as usize));
    let stopped = place.and_then(|place| statements.iter().rfind(|one| one.begins() <= place));
    let Some((place, stopped)) = place.zip(stopped) else {
        return statements.iter().any(|one| one.reads(learners));
    };
    match stopped.tokens.iter().rfind(|(_, at)| of(*at) <= place) {
        Some((Token::Throw, at)) if of(*at) == place => return false,
        // A condition may be no condition for the value's sake; all else that it is given stands in the check.
        Some((Token::Identifier(name), at))
            if of(*at) == place && (is_strict(name) || fault.kind == "NameError") =>
        {
            return false;
        }
        _ => {}
    }
    let made = made_of(&statements, learners);
    // Parameters of the check's own functions are whatever these are called with.
    let unknown = |name: &str| is_parameter(&tokens, name);
    let any = statements.iter().any(|one| one.reads(learners));
    stopped.reads(&|name| learners(name) || made.contains(name) || any && unknown(name))
}

/// Whether an expectation takes values of any type where those of the learner's stand.
fn is_strict(name: &str) -> bool {
    name != "expect" && checks::expectations().any(|known| known == name)
}

/// What stands between two ends of statements, or of blocks.
struct Statement<'a> {
    tokens: &'a [(Token, Position)],
}

impl Statement<'_> {
    fn begins(&self) -> (usize, usize) {
        self.tokens.first().map_or((0, 0), |(_, at)| of(*at))
    }

    /// Whether a name stands in it for which `is` holds, and that is no field.
    fn reads(&self, is: &dyn Fn(&str) -> bool) -> bool {
        let before = std::iter::once(None).chain(self.tokens.iter().map(|(token, _)| Some(token)));
        let mut named = self.tokens.iter().zip(before);
        named.any(|((token, _), before)| match token {
            Token::Identifier(name) | Token::Reserved(name) => {
                is(name) && !matches!(before, Some(Token::Period | Token::Elvis))
            }
            _ => false,
        })
    }

    /// The variable that it makes or changes.
    fn binds(&self) -> Option<&str> {
        let named = |at: usize| match self.tokens.get(at) {
            Some((Token::Identifier(name), _)) => Some(name.as_str()),
            _ => None,
        };
        match self.tokens.first()?.0 {
            Token::Let | Token::Const | Token::For => named(1),
            // What begins with a call changes nothing by that name.
            _ if matches!(self.tokens.get(1), Some((Token::LeftParen | Token::DoubleColon, _))) => None,
            _ => named(0),
        }
    }
}

fn of(at: Position) -> (usize, usize) {
    (at.line().unwrap_or(0), at.position().unwrap_or(0))
}

fn statements(tokens: &[(Token, Position)]) -> Vec<Statement<'_>> {
    let (mut all, mut from, mut maps) = (Vec::new(), 0, Vec::new());
    for (at, (token, _)) in tokens.iter().enumerate() {
        let ends = match token {
            Token::SemiColon => true,
            Token::MapStart => {
                maps.push(true);
                false
            }
            // Code within a text is of the statement that the text is of.
            Token::LeftBrace => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let is_text = matches!(before, Some((Token::InterpolatedString(_), _)));
                maps.push(is_text);
                !is_text
            }
            Token::RightBrace => maps.pop() == Some(false),
            _ => false,
        };
        if ends {
            all.extend(tokens.get(from..at).map(|tokens| Statement { tokens }));
            from = at + 1;
        }
    }
    all.extend(tokens.get(from..).map(|tokens| Statement { tokens }));
    all.retain(|one| !one.tokens.is_empty());
    all
}

/// Variables of the check that are made of what the learner has.
fn made_of<'a>(statements: &'a [Statement<'_>], learners: &dyn Fn(&str) -> bool) -> BTreeSet<&'a str> {
    let mut made = BTreeSet::new();
    loop {
        let before = made.len();
        for one in statements {
            if one.reads(&|name| learners(name) || made.contains(name)) {
                made.extend(one.binds());
            }
        }
        if made.len() == before {
            return made;
        }
    }
}

/// Whether a name stands among the parameters of a function or a closure.
fn is_parameter(tokens: &[(Token, Position)], name: &str) -> bool {
    let (mut in_closure, mut in_function) = (false, false);
    let mut last = None;
    for (token, _) in tokens {
        match token {
            Token::Pipe => in_closure = !in_closure,
            Token::Fn => in_function = true,
            Token::RightParen => in_function = false,
            Token::Identifier(own) if own.as_str() == name => {
                let is_name = matches!(last, Some(&Token::Fn));
                if (in_closure || in_function) && !is_name {
                    return true;
                }
            }
            _ => {}
        }
        last = Some(token);
    }
    false
}
