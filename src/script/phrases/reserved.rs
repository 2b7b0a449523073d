//! Words that Rhai keeps for itself and Python does not: a variable of such a name gets another one.

use super::lex::{self, Tok, TokenKind};

/// What is called so instead. No code may have these as names.
const KEPT: [&str; 19] = [
    "call_",
    "case_",
    "default_",
    "go_",
    "goto_",
    "match_",
    "new_",
    "nil_",
    "null_",
    "package_",
    "private_",
    "protected_",
    "public_",
    "shared_",
    "static_",
    "sync_",
    "thread_",
    "use_",
    "void_",
];
/// Those that begin something of Rhai's, and are names only where that cannot be.
const BEGINNING: [&str; 9] =
    ["catch_", "const_", "do_", "export_", "fn_", "let_", "loop_", "switch_", "until_"];
/// What stands behind a name, and behind no such word.
const BEHIND_A_NAME: [&str; 21] = [
    "=", ")", ",", "]", "+", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "+=", "-=", "*=", "/=", ";",
    "@", "**",
];

/// The tokens of some code, in which every such variable has its other name; none where a text does not end.
pub(super) fn tokens(code: &str) -> Option<Vec<Tok<'_>>> {
    let mut tokens = lex::tokens(code)?;
    rename(&mut tokens);
    Some(tokens)
}

fn rename(tokens: &mut [Tok<'_>]) {
    let (mut depth, mut head) = (0usize, false);
    let gets_value = |pair: &[Tok]| matches!(pair, [name, next] if matches!(name.text, "null" | "nil") && next.text == "=");
    let nothing: Vec<&str> = tokens
        .windows(2)
        .filter(|pair| gets_value(pair))
        .flat_map(<[Tok]>::first)
        .map(|token| token.text)
        .collect();
    // Methods and fields of the program's have their other name wherever they are read.
    let own: Vec<&str> = tokens
        .windows(4)
        .filter_map(|four| match four {
            [def, name, ..] if def.text == "def" => Some(name.text),
            [of, point, name, next] if of.text == "self" && point.text == "." && next.text == "=" => {
                Some(name.text)
            }
            _ => None,
        })
        .collect();
    for at in 0..tokens.len() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.text);
        let behind = tokens.get(at + 1).map(|token| (token.kind, token.text));
        let Some(token) = tokens.get(at) else { return };
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "def" | "lambda" => head = true,
            _ => {}
        }
        // Parameters are names, and so are options of a call.
        head &= depth > 0 || token.text != ":" && token.kind != TokenKind::Line;
        let option = depth > 0 && !head && matches!(behind, Some((_, "=")));
        if before == "." && own.contains(&token.text) {
            let mut all = KEPT.iter().chain(&BEGINNING);
            let other = all.find(|other| other.strip_suffix('_') == Some(token.text)).copied();
            if let (Some(other), Some(token)) = (other, tokens.get_mut(at)) {
                token.text = other;
            }
            continue;
        }
        if token.kind != TokenKind::Name || matches!(before, "." | "::" | "'") || option {
            continue;
        }
        // Not a variable, but what other languages call nothing.
        if matches!(token.text, "null" | "nil") && !nothing.contains(&token.text) {
            if let Some(token) = tokens.get_mut(at) {
                token.text = "None";
            }
            continue;
        }
        let is = |other: &&&str| other.strip_suffix('_') == Some(token.text);
        let asked = matches!(before, "if" | "elif" | "while" | "not" | "and" | "or");
        let kept = KEPT.iter().find(is).filter(|_| ends_a_name(behind) || asked);
        let begins = || {
            BEGINNING.iter().find(is).filter(|other| {
                // No function is without a name.
                let called = **other == "fn_" && matches!(behind, Some((_, "(" | "." | "[" | "in")));
                // `fn: Callable`
                let param = head && depth > 0 && matches!(behind, Some((_, ":")));
                // `self.fn = fn`, `return fn`
                let given = matches!(before, "=" | "return")
                    && behind.is_none_or(|(kind, _)| matches!(kind, TokenKind::Line | TokenKind::Comment));
                called
                    || param
                    || given
                    || behind
                        .is_some_and(|(kind, text)| kind == TokenKind::Sign && BEHIND_A_NAME.contains(&text))
            })
        };
        if let (Some(other), Some(token)) = (kept.or_else(begins).copied(), tokens.get_mut(at)) {
            token.text = other;
        }
    }
}

/// `match x:` is a statement of Python's, and `default: 1` in a map has a name that is no variable.
fn ends_a_name(behind: Option<(TokenKind, &str)>) -> bool {
    match behind {
        Some((TokenKind::Name, text)) => {
            matches!(text, "in" | "and" | "or" | "is" | "not" | "if" | "else" | "for")
        }
        Some((TokenKind::Number | TokenKind::Text, _)) => false,
        Some((_, text)) => text != ":",
        None => true,
    }
}

/// Whether Rhai keeps a word for itself: it stands in quotes where a map has it as a name.
pub(super) fn is_kept(word: &str) -> bool {
    const WORDS: [&str; 36] = [
        "true",
        "false",
        "if",
        "else",
        "while",
        "for",
        "in",
        "continue",
        "break",
        "return",
        "throw",
        "try",
        "import",
        "as",
        "global",
        "this",
        "is",
        "eval",
        "print",
        "debug",
        "type_of",
        "call",
        "curry",
        "Fn",
        "is_def_var",
        "is_def_fn",
        "is_shared",
        "with",
        "spawn",
        "use",
        "var",
        "module",
        "async",
        "await",
        "yield",
        "exit",
    ];
    let is = |kept: &&str| kept.strip_suffix('_') == Some(word);
    WORDS.contains(&word) || KEPT.iter().chain(&BEGINNING).any(is)
}

/// Whether a token has been given another name.
pub(super) fn is_renamed(token: &Tok<'_>) -> bool {
    token.text.len() > token.range.len()
}
