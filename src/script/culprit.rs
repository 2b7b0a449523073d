//! Whose fault it is that a check stopped: that of what the learner's code gave, or the check's own.
//!
//! It is the learner's only where the statement that stopped reads what the learner has, or a variable of the check that
//! was made of it, and where what went wrong may be the value: what doesn't parse, what is thrown, names that nobody
//! knows, arguments that an expectation doesn't take and changes of what the learner has are wrong whatever the learner
//! wrote.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rhai::{Engine, Position, Token};

use crate::device::examine::{NO_CHANGE, NO_STEPS};

use super::engine::ENDS_EARLY;
use super::fault::Fault;
use super::lexer;
use super::modules::checks;
use super::reads::{Callee, Parameter, Reading, readings};
use super::value::{NOT_BY_ITSELF, NOT_LENT};

/// Why a check can't call a word of the language.
pub(super) const NO_CALL: &str = "call() takes a function, its name or a module, not the dtype";

/// Whether a fault of a check may come of what the learner's code gave. `learners` says whether a name that the check
/// does not define stands for that, `first_line` is the line of the check's first line in its file.
pub(super) fn is_learners(
    fault: &Fault,
    engine: &Engine,
    code: &str,
    first_line: u32,
    learners: &dyn Fn(&str) -> bool,
) -> bool {
    if fault.kind == "SyntaxError"
        || [NO_CHANGE, NO_STEPS, ENDS_EARLY, NOT_LENT].contains(&fault.message.as_str())
        || [NO_CALL, NOT_BY_ITSELF].iter().any(|start| fault.message.starts_with(start))
    {
        return false;
    }
    let tokens = lexer::tokens(engine, code);
    let told = readings(&tokens);
    let reads = Reads { all: &told.all, learners };
    let statements = statements(&tokens);
    let made = reads.made_of(&statements, &told.parameters);
    let own_line = |line: u32| line.checked_sub(first_line.saturating_sub(1)).map(|line| line as usize);
    let place = fault.line.and_then(own_line).map(|line| (line, fault.column.unwrap_or(1) as usize));
    let stopped = place.and_then(|place| statements.iter().rfind(|one| one.begins() <= place));
    let Some((place, stopped)) = place.zip(stopped) else {
        return statements.iter().any(|one| reads.any(one, &made));
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
    // What a function of the check's own stopped at is what this call of it handed over.
    let handed = |line: usize| {
        let mut calls = statements.iter().filter(|one| one.lines().contains(&line)).peekable();
        calls.peek().is_none() || calls.any(|one| reads.any(one, &made))
    };
    reads.any(stopped, &made) && fault.caller.and_then(own_line).is_none_or(handed)
}

/// Whether an expectation takes values of any type where those of the learner's stand.
fn is_strict(name: &str) -> bool {
    name != "expect" && checks::expectations().any(|known| known == name)
}

/// What stands between two ends of statements, or of blocks.
struct Statement<'a> {
    tokens: &'a [(Token, Position)],
    /// Where its first token stands among all.
    from: usize,
}

impl Statement<'_> {
    fn begins(&self) -> (usize, usize) {
        self.tokens.first().map_or((0, 0), |(_, at)| of(*at))
    }

    fn lines(&self) -> RangeInclusive<usize> {
        let last = self.tokens.last().map_or((0, 0), |(_, at)| of(*at));
        self.begins().0..=last.0
    }
}

/// What the tokens of a check read.
struct Reads<'a> {
    all: &'a [Reading],
    learners: &'a dyn Fn(&str) -> bool,
}

impl Reads<'_> {
    /// Whether a statement reads what the learner has, or one of the check's variables that are made of it.
    fn any(&self, one: &Statement<'_>, made: &BTreeSet<usize>) -> bool {
        let read = self.all.get(one.from..).unwrap_or_default();
        one.tokens.iter().zip(read).enumerate().any(|(at, ((token, _), reading))| match (token, reading) {
            (_, Reading::Own(number)) => made.contains(number),
            (Token::Identifier(name) | Token::Reserved(name), Reading::Free) => (self.learners)(name),
            (Token::Identifier(name) | Token::Reserved(name), Reading::Nothing) => {
                let before = at.checked_sub(1).and_then(|before| one.tokens.get(before));
                // A closure's own `call` is named by the closure.
                let is_method = matches!(before, Some((Token::Period, _)));
                CALLS.contains(&name.as_str()) && !is_method
            }
            _ => false,
        })
    }

    /// The variables that a statement makes or changes.
    fn bound<'a>(&'a self, one: &'a Statement<'_>) -> impl Iterator<Item = usize> + 'a {
        let makes = matches!(one.tokens.first(), Some((Token::Let | Token::Const | Token::For, _)));
        // What begins with a call changes nothing by that name.
        let calls = matches!(one.tokens.get(1), Some((Token::LeftParen | Token::DoubleColon, _)));
        let named = one.tokens.iter().take(if makes { usize::MAX } else { 1 });
        let named = named.take_while(move |(token, _)| {
            !(makes && matches!(token, Token::Equals | Token::In)) && (makes || !calls)
        });
        let read = self.all.get(one.from..).unwrap_or_default();
        named.zip(read).filter_map(|(_, reading)| match reading {
            Reading::Own(number) => Some(*number),
            _ => None,
        })
    }

    /// Whether a statement names a function of the check's own, or has it within.
    fn calls(&self, one: &Statement<'_>, callee: &Callee) -> bool {
        let read = self.all.get(one.from..).unwrap_or_default();
        let mut words = one.tokens.iter().zip(read);
        match callee {
            Callee::Function(name) => words.any(|((token, _), _)| match token {
                Token::Identifier(word) => **word == **name,
                Token::StringConstant(text) => text.as_str() == name,
                _ => false,
            }),
            Callee::Variable(number) => words.any(|(_, reading)| *reading == Reading::Own(*number)),
            Callee::Here(at) => (one.from..one.from + one.tokens.len()).contains(at),
        }
    }

    /// Variables of the check that are made of what the learner has, and parameters that are called with such.
    fn made_of(&self, statements: &[Statement<'_>], parameters: &[Parameter]) -> BTreeSet<usize> {
        let mut made = BTreeSet::new();
        loop {
            let before = made.len();
            for one in statements {
                if self.any(one, &made) {
                    made.extend(self.bound(one));
                    let called = parameters.iter().filter(|parameter| self.calls(one, &parameter.callee));
                    made.extend(called.map(|parameter| parameter.number));
                }
            }
            if made.len() == before {
                return made;
            }
        }
    }
}

/// The ways to what the learner wrote.
const CALLS: [&str; 2] = ["call", super::syntax::CALL];

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
            all.extend(tokens.get(from..at).map(|tokens| Statement { tokens, from }));
            from = at + 1;
        }
    }
    all.extend(tokens.get(from..).map(|tokens| Statement { tokens, from }));
    all.retain(|one| !one.tokens.is_empty());
    all
}
