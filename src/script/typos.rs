//! What is said of characters that look like code's and are none, and of signs of other languages in a line that does not
//! parse.

use rhai::Position;

use super::lexer;
use super::sources::Origin;

/// Characters of a line that are looked at: for each, the code before it is read.
const MOST: usize = 64;

/// What is told of code that does not parse.
pub(super) struct Typo {
    /// What stands there, where the parser says something else.
    pub message: Option<String>,
    pub hint: String,
    pub position: Position,
}

/// What a line has that Rhai's parser says `said` of at a place.
pub(super) fn found(said: &str, position: Position, origin: &Origin) -> Option<Typo> {
    let row = position.line()?.checked_sub(1)?;
    let line = origin.code.lines().nth(row)?;
    if let Some((column, c)) = stray(origin.code, row, line) {
        let (message, hint) = of_character(c);
        return Some(Typo { message: Some(message), hint, position: at(row, column) });
    }
    let column = position.position().unwrap_or(1).saturating_sub(1);
    let split = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let (before, behind) = line.split_at_checked(split)?;
    Some(Typo { message: None, hint: of_sign(said, before.trim_end(), behind)?, position })
}

fn at(row: usize, column: usize) -> Position {
    Position::new(u16::try_from(row + 1).unwrap_or(u16::MAX), u16::try_from(column).unwrap_or(u16::MAX))
}

/// The column, from 1, of the first character of a line's code that is not ASCII.
fn stray(code: &str, row: usize, line: &str) -> Option<(usize, char)> {
    let start: usize = code.split_inclusive('\n').take(row).map(str::len).sum();
    let others = line.char_indices().enumerate().filter(|(_, (_, c))| !c.is_ascii());
    let is_code = |byte: usize| {
        let end = lexer::open(code.get(..start + byte).unwrap_or_default());
        !end.comment && !end.line_comment && (!end.string || end.code)
    };
    let found = others.take(MOST).find(|(_, (byte, _))| is_code(*byte));
    found.map(|(column, (_, c))| (column + 1, c))
}

/// What is said of a character that no code has.
fn of_character(c: char) -> (String, String) {
    let number = u32::from(c);
    let ascii = match c {
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => "\"",
        '‘' | '’' | '‚' | '′' => "\"` around a text, and `'` around a single character: `'a'",
        '×' | '∙' | '·' | '⋅' | '∗' => "*",
        '÷' | '∕' | '⁄' => "/",
        '−' | '–' | '—' | '‐' | '‑' => "-",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '≈' => "isclose(a, b)",
        '⇒' => "=>",
        '…' => "..",
        '²' => "** 2",
        '³' => "** 3",
        '√' => "sqrt(x)",
        '∞' => "inf",
        '，' => ",",
        '；' => ";",
        '：' => ":",
        '（' => "(",
        '）' => ")",
        '＝' => "=",
        _ if c.is_whitespace() => {
            let text =
                format!("Unexpected space U+{number:04X}, which is not the one that the space bar gives");
            return (text, "delete it and type a plain space: such ones come along with copied text".into());
        }
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {
            let text = format!("Unexpected character U+{number:04X}, which can't be seen");
            return (text, "delete it: such ones come along with copied text".into());
        }
        _ if c.is_alphanumeric() => {
            let hint = "names are made of the letters a to z and A to Z, digits and `_`; other letters stand in texts and \
                        comments";
            return (format!("Unexpected '{c}'"), hint.into());
        }
        _ => {
            let hint = "code is written in ASCII signs; others stand in texts and comments";
            return (format!("Unexpected '{c}'"), hint.into());
        }
    };
    (format!("Unexpected '{c}'"), format!("`{c}` is U+{number:04X}; code has `{ascii}`"))
}

/// What is told of a sign that stands in another language, by what is before it and from it on.
fn of_sign(said: &str, before: &str, behind: &str) -> Option<String> {
    let word = |text: &str| -> String {
        let name: String = text.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        name.chars().rev().collect()
    };
    let starts = |sign: &str| behind.starts_with(sign) && !behind.starts_with("==");
    Some(match said {
        _ if said.contains("to follow the property") && starts("=") => {
            format!("in a map `:` stands behind a name: `#{{{}: …}}`", word(before))
        }
        _ if said.contains("to separate the parameters of") && starts("=") => {
            let name = word(before);
            format!(
                "a parameter has no value of its own here: `let {name} = {name} ?? …;` within gives it one where it is \
                 called with `()`"
            )
        }
        _ if said.contains("terminate this statement") && behind.starts_with("=>") => {
            let name = word(before.trim_end_matches(')'));
            let body = behind.trim_start_matches("=>").trim().trim_end_matches(';');
            format!("the parameters of a closure stand between bars: `|{name}| {body}`")
        }
        _ if said.contains("close the parameters list") && behind.starts_with('_') => {
            "a parameter that is not used has a name as well: `|_x| …`".into()
        }
        _ if said.contains("Expecting '{'") && word(before) == "catch" => {
            let name: String = behind.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            format!("what was caught stands in brackets: `catch ({name}) {{ … }}`")
        }
        _ if said.contains("Expecting '{'") && !before.contains('{') && begins_with(before, "with") => {
            format!("what `with` does stands in braces: `{} {{ … }}`", before.trim_start())
        }
        "Expression exceeds maximum complexity" => {
            "so many operations are too deep in each other: parts get names of their own, or stand in an array, \
             `[a, b, c].reduce(|all, x| all + x, 0)`"
                .into()
        }
        "Unexpected 'fn'" => {
            "a function without a name is a closure: `|x| { … }`, which `f.call(x)` calls".into()
        }
        "Unexpected '.'" if behind.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) => {
            let digits: String = behind.chars().skip(1).take_while(char::is_ascii_digit).collect();
            format!("a digit stands before the point: `0.{digits}`")
        }
        _ => return None,
    })
}

/// A list on the line behind a block, which is read as an index of what the block gives.
pub(super) fn index_of_block(position: Position, origin: &Origin) -> Option<String> {
    let row = position.line()?.checked_sub(1)?;
    let before = origin.code.lines().take(row).filter(|line| !line.trim().is_empty());
    let opens = origin.code.lines().nth(row)?.trim_start().starts_with('[');
    (opens && before.last()?.trim_end().ends_with('}')).then(|| {
        "behind a block, `[` on the next line is read as an index of the block: end the block with `};`, or write \
         `return [...];`"
            .into()
    })
}

fn begins_with(line: &str, word: &str) -> bool {
    line.trim_start().strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace))
}
