//! Texts: their quotes, and what repeats them.

use super::book::Idiom;
use super::lex;
use super::tree::Expr;
use super::writer::{Holds, Writer};

/// The longest text that is written out where Python multiplies one.
const REPEATED: usize = 80;

impl Writer<'_> {
    /// A text in its quotes, with the values in it.
    pub(super) fn text(&mut self, raw: &str) -> Option<String> {
        let (marks, quote, inside) = taken_apart(raw)?;
        if quote == "`" {
            return Some(raw.to_owned());
        }
        let marks = marks.to_lowercase();
        if marks.contains('b') {
            return None;
        }
        if marks.contains('f') {
            self.uses(Idiom::Interpolated);
            return self.interpolated(&inside, marks.contains('r'));
        }
        if quote == "\"" && marks.is_empty() {
            return Some(raw.to_owned());
        }
        if quote.len() == 3 && inside.contains('\n') {
            self.uses(Idiom::Lines);
            return Some(format!("`{}`", in_back_quotes(&inside, marks.contains('r'))));
        }
        // One character in single quotes is Rhai's as well.
        if inside.chars().count() != 1 || !marks.is_empty() {
            self.uses(Idiom::Quotes);
        }
        let inside =
            if marks.contains('r') { inside.replace('\\', "\\\\") } else { inside.replace("\\'", "'") };
        Some(format!("\"{}\"", escaped_quotes(&inside)))
    }

    /// `"%d of %s" % (a, b)`, `"-" * 20` and `[0] * 3`.
    pub(super) fn of_texts(&mut self, sign: &str, a: &Expr, b: &Expr) -> Option<String> {
        match (sign, a, b) {
            ("%", Expr::Text(raw), values) => {
                let values = match values {
                    Expr::Tuple(values) => values.as_slice(),
                    value => std::slice::from_ref(value),
                };
                self.percent(raw, values)
            }
            ("*", Expr::Text(raw), Expr::Number(count)) => {
                let (_, _, inside) = taken_apart(raw)?;
                let times = count.parse::<usize>().ok()?;
                self.uses(Idiom::Repeated);
                if inside.len().saturating_mul(times) > REPEATED {
                    let text = self.expr(a)?;
                    return Some(format!("(0..{count}).map(|_i| {text}).reduce(|all, x| all + x, \"\")"));
                }
                Some(format!("\"{}\"", escaped_quotes(&inside.repeat(times))))
            }
            ("*", a, count) if self.kind(a) == Holds::Text => {
                self.uses(Idiom::Repeated);
                let (text, count) = (self.expr(a)?, self.bound(count, 150)?);
                Some(format!("(0..{count}).map(|_i| {text}).reduce(|all, x| all + x, \"\")"))
            }
            ("*", Expr::List(items), count) if let [item] = items.as_slice() => {
                self.uses(Idiom::Repeated);
                let (item, count) = (self.expr(item)?, self.expr(count)?);
                Some(format!("(0..{count}).map(|_i| {item})"))
            }
            ("*", a, count) if self.kind(a) == Holds::Array => {
                self.uses(Idiom::Repeated);
                let (items, count) = (self.bound(a, 150)?, self.bound(count, 150)?);
                Some(format!("(0..{count}).map(|_i| {items}).reduce(|all, x| all + x, [])"))
            }
            ("*", count, Expr::List(_) | Expr::Text(_)) if self.kind(count) == Holds::Int => {
                self.of_texts(sign, b, count)
            }
            _ => None,
        }
    }
}

/// What stands before the quotes, a quote, and what stands between them.
pub(super) fn taken_apart(raw: &str) -> Option<(&str, &str, String)> {
    let from = raw.find(['"', '\'', '`'])?;
    let (marks, rest) = raw.split_at_checked(from)?;
    let one = rest.get(..1)?;
    let three = rest.get(..3).filter(|three| *three == one.repeat(3) && rest.len() >= 6);
    let quote = three.unwrap_or(one);
    let inside = rest.strip_prefix(quote)?.strip_suffix(quote)?;
    Some((marks, quote, inside.to_owned()))
}

/// Whether a text shows a variable's value.
pub(super) fn reads(raw: &str, name: &str) -> bool {
    let marks = raw.split(['"', '\'']).next().unwrap_or_default();
    let shows = raw.starts_with('`') || marks.len() <= 2 && marks.contains(['f', 'F']);
    let fields = raw.split('{').skip(1).map(|field| field.split('}').next().unwrap_or_default());
    shows && fields.into_iter().any(|field| lex::has_word(field, name))
}

/// A text of Python's between back quotes: what has a backslash there, and what would end the text, is a value in it.
pub(super) fn in_back_quotes(text: &str, raw: bool) -> String {
    let (mut out, mut special) = (String::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut plain = None;
        match (c, chars.peek()) {
            ('`', _) => special.push('`'),
            ('$', Some('{')) => special.push('$'),
            ('\\', _) if raw => special += "\\\\",
            ('\\', Some(quote @ ('\'' | '"'))) => plain = Some(*quote),
            ('\\', Some('`')) => special.push('`'),
            ('\\', Some('\n') | None) => {}
            ('\\', Some(digit)) if digit.is_digit(8) => {
                let code = digit.to_digit(8).unwrap_or(0);
                special += &format!("\\x{:02x}", octal(&mut chars, code) & 0xff);
                continue;
            }
            ('\\', Some(next)) => special.extend(['\\', *next]),
            (c, _) => plain = Some(c),
        }
        if c == '\\' && !raw {
            chars.next();
        }
        // Digits of a character's number stand behind it.
        if special.ends_with("\\x") || special.ends_with("\\u") || special.ends_with("\\U") {
            let count = match special.chars().last() {
                Some('x') => 2,
                Some('u') => 4,
                _ => 8,
            };
            special.extend(chars.by_ref().take(count));
        }
        if let Some(plain) = plain {
            shown(&mut out, &mut special);
            out.push(plain);
        }
    }
    shown(&mut out, &mut special);
    out
}

/// Puts what can't stand between back quotes there as a value.
fn shown(out: &mut String, special: &mut String) {
    if !special.is_empty() {
        *out += &format!("${{\"{special}\"}}");
        special.clear();
    }
}

/// The number of which a first digit is known, with up to two more.
fn octal(chars: &mut std::iter::Peekable<std::str::Chars>, first: u32) -> u32 {
    chars.next();
    let mut code = first;
    for _ in 0..2 {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
        code = code * 8 + digit;
        chars.next();
    }
    code
}

/// With a backslash before each double quote that has none.
fn escaped_quotes(text: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '"' if !escaped => out += "\\\"",
            c => out.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    out
}
