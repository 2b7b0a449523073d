//! The names in code that may be variables of the session.

use crate::script::tokens::{Token, tokens};

/// A word or a sign of the code, on its line.
struct Piece {
    line: usize,
    what: What,
}

#[derive(PartialEq)]
enum What {
    Word(String, Token),
    Sign(char),
}

/// Names that mean something else for a while.
struct Hidden {
    names: Vec<String>,
    until: Until,
}

#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// The end of the block that begins next.
    NextBlock,
    /// The bracket that closes this depth.
    Closing(usize),
    /// The end of an expression at this depth.
    Expression(usize),
}

/// A name that a block binds for itself, at its depth, from the end of that statement on.
struct Bound {
    name: String,
    depth: usize,
}

/// The names in each line, each once: no keywords, calls, modules or properties, and none that stands for a parameter,
/// for what a loop goes through, or for what a block binds. A function with a name sees no variable of the session at all.
pub(super) fn names(lines: &[String]) -> Vec<Vec<String>> {
    let pieces = pieces(lines);
    let mut found: Vec<Vec<String>> = vec![Vec::new(); lines.len()];
    let mut hidden: Vec<Hidden> = Vec::new();
    let mut bound: Vec<Bound> = Vec::new();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(piece) = pieces.get(at) {
        at += 1;
        match &piece.what {
            What::Word(word, Token::Keyword) if word == "fn" => at = after_function(&pieces, at),
            What::Word(word, Token::Keyword) if word == "for" => {
                let (names, next) = until_word(&pieces, at, "in");
                hidden.push(Hidden { names, until: Until::NextBlock });
                at = next;
            }
            What::Word(word, Token::Keyword) if word == "let" && depth > 0 => {
                if let Some(What::Word(name, _)) = pieces.get(at).map(|piece| &piece.what) {
                    bound.push(Bound { name: name.clone(), depth });
                    at += 1;
                }
            }
            What::Sign('|') if begins_closure(&pieces, at) => {
                let (names, next) = parameters(&pieces, at);
                let block = pieces.get(next).is_some_and(|next| next.what == What::Sign('{'));
                let until = if block { Until::NextBlock } else { Until::Expression(depth) };
                hidden.push(Hidden { names, until });
                at = next;
            }
            What::Sign(sign) => {
                // What is bound is seen behind its statement.
                for done in bound.extract_if(.., |b| *sign == ';' && b.depth == depth) {
                    hidden.push(Hidden { names: vec![done.name], until: Until::Closing(depth - 1) });
                }
                depth = bracket(*sign, depth, &mut hidden);
                bound.retain(|b| b.depth <= depth);
            }
            What::Word(word, Token::Plain) if !hidden.iter().any(|h| h.names.contains(word)) => {
                if let Some(line) = found.get_mut(piece.line).filter(|line| !line.contains(word)) {
                    line.push(word.clone());
                }
            }
            What::Word(..) => {}
        }
    }
    found
}

/// The depth after a sign; names come back that were hidden until it.
fn bracket(sign: char, depth: usize, hidden: &mut Vec<Hidden>) -> usize {
    match sign {
        '(' | '[' | '{' => {
            if sign == '{'
                && let Some(last) = hidden.iter_mut().rev().find(|h| h.until == Until::NextBlock)
            {
                last.until = Until::Closing(depth);
            }
            depth + 1
        }
        ')' | ']' | '}' => {
            let depth = depth.saturating_sub(1);
            hidden.retain(|h| match h.until {
                Until::NextBlock => true,
                Until::Closing(at) => depth > at,
                Until::Expression(at) => depth >= at,
            });
            depth
        }
        ',' | ';' => {
            hidden.retain(|h| !matches!(h.until, Until::Expression(at) if depth <= at));
            depth
        }
        _ => depth,
    }
}

fn pieces(lines: &[String]) -> Vec<Piece> {
    let mut out = Vec::new();
    for (line, of_line) in tokens(lines.iter().map(String::as_str)).into_iter().enumerate() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut at = 0;
        let mut dots = 0;
        while let Some(&(c, token)) = of_line.get(at) {
            let length = of_line.iter().skip(at).take_while(|(c, _)| is_word(*c)).count();
            let code = !matches!(token, Token::Text | Token::Comment);
            if code && length > 0 {
                let word = of_line.iter().skip(at).take(length).map(|(c, _)| *c).collect();
                // `0..n` is a range, and `a.n` a property, which is no variable.
                let property = dots == 1 && token == Token::Plain;
                let token = if property { Token::Function } else { token };
                out.push(Piece { line, what: What::Word(word, token) });
            } else if code && !c.is_whitespace() {
                out.push(Piece { line, what: What::Sign(c) });
            }
            dots = if c == '.' { dots + 1 } else { 0 };
            at += length.max(1);
        }
    }
    out
}

/// Where the code goes on after a function, from its name on.
fn after_function(pieces: &[Piece], from: usize) -> usize {
    let mut depth = 0usize;
    for (at, piece) in pieces.iter().enumerate().skip(from) {
        match piece.what {
            What::Sign('{') => depth += 1,
            What::Sign('}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    pieces.len()
}

/// The words before a keyword, and the place after it.
fn until_word(pieces: &[Piece], from: usize, end: &str) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    for (at, piece) in pieces.iter().enumerate().skip(from) {
        match &piece.what {
            What::Word(word, Token::Keyword) if word == end => return (names, at + 1),
            What::Word(word, _) => names.push(word.clone()),
            What::Sign('(' | ')' | ',') => {}
            What::Sign(_) => break,
        }
    }
    (Vec::new(), from)
}

/// True where the `|` before a place begins a closure, and is not the operator.
fn begins_closure(pieces: &[Piece], at: usize) -> bool {
    let before = at.checked_sub(2).and_then(|before| pieces.get(before)).map(|piece| &piece.what);
    match before {
        None | Some(What::Word(_, Token::Keyword)) => true,
        Some(What::Sign(sign)) => !matches!(sign, ')' | ']' | '}' | '|'),
        Some(What::Word(..)) => false,
    }
}

/// The parameters of a closure, and the place after them.
fn parameters(pieces: &[Piece], from: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    for (at, piece) in pieces.iter().enumerate().skip(from) {
        match &piece.what {
            What::Word(word, _) => names.push(word.clone()),
            What::Sign(',') => {}
            What::Sign('|') => return (names, at + 1),
            What::Sign(_) => break,
        }
    }
    (Vec::new(), from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Vec<String> {
        let lines: Vec<String> = code.lines().map(str::to_owned).collect();
        names(&lines).into_iter().map(|line| line.join(" ")).collect()
    }

    #[test]
    fn names_are_what_may_be_a_variable() {
        let code = "let y = x.to(device) + a[i].b; // z\n`${x}` nn::f(y, y); print(0..n)";
        assert_eq!(of(code), ["y x device a i", "x y n"]);
    }

    #[test]
    fn what_a_block_binds_is_not_the_sessions() {
        let code = "for b in loader {\n    let x = x.to(device) + b[0];\n    x + z\n}\nx";
        assert_eq!(of(code), ["loader", "x device", "z", "", "x"]);
        assert_eq!(of("if a { let x = 1; x + y } x"), ["a y x"]);
        assert_eq!(of("f(|| { let x = y; x }, x)"), ["y x"]);
        assert_eq!(of("if a { let x = if y { x } else { z }; x }\nx"), ["a y x z", "x"]);
        assert_eq!(of("let x = y;\nx"), ["x y", "x"]);
        assert_eq!(of("if a { let x = 1 }\nx; x"), ["a", "x"]);
    }

    #[test]
    fn a_parameter_is_not_the_variable_of_its_name() {
        assert_eq!(of("fn rounded(x, digits) {\n    x * digits + z\n}\nx"), ["", "", "", "x"]);
        assert_eq!(of("let f = |x, y| x + y + z;\nx"), ["f z", "x"]);
        assert_eq!(of("rows.map(|x| { x + z }); x"), ["rows z x"]);
        assert_eq!(of("map(rows, |x| x + z, x)"), ["rows z x"]);
        assert_eq!(of("record(|| x + 1)"), ["x"]);
        assert_eq!(of("let c = a | x | b;"), ["c a x b"]);
        assert_eq!(of("for x in y {\n    x + z\n}\nx"), ["y", "z", "", "x"]);
        assert_eq!(of("for (x, i) in y { x } x"), ["y x"]);
        // What is being typed is read as well.
        for open in [
            "{ let",
            "{ let x",
            "{ let x }",
            "fn",
            "fn f(",
            "for x",
            "for (",
            "let f = |x",
            "|",
            "}}) |x| }",
            "`${x",
        ] {
            of(open);
        }
    }
}
