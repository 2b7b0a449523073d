//! Texts: quotes, values within them, formats.

use super::book::Idiom;
use super::lex;
use super::parse::PythonReader;
use super::reserved;
use super::tree::{Arg, Expr};
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
            return self.interpolated(&inside);
        }
        if quote == "\"" && marks.is_empty() {
            return Some(raw.to_owned());
        }
        if quote.len() == 3 && inside.contains('\n') {
            self.uses(Idiom::Lines);
            return Some(format!("`{}`", in_back_quotes(&inside)));
        }
        // One character in single quotes is Rhai's as well.
        if inside.chars().count() != 1 || !marks.is_empty() {
            self.uses(Idiom::Quotes);
        }
        let inside =
            if marks.contains('r') { inside.replace('\\', "\\\\") } else { inside.replace("\\'", "'") };
        Some(format!("\"{}\"", escaped_quotes(&inside)))
    }

    /// What stands between an f-string's quotes.
    fn interpolated(&mut self, inside: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = inside;
        while let Some(at) = rest.find(['{', '}']) {
            out += &in_back_quotes(rest.get(..at)?);
            let from = rest.get(at..)?;
            if from.starts_with("{{") || from.starts_with("}}") {
                out += from.get(..1)?;
                rest = from.get(2..)?;
                continue;
            }
            let code = from.strip_prefix('{')?;
            let end = closing(code)?;
            out += &self.field(code.get(..end)?)?;
            rest = code.get(end + 1..)?;
        }
        Some(format!("`{out}{}`", in_back_quotes(rest)))
    }

    /// `{x:.2f}`, `{x!r}` and `{x=}`.
    fn field(&mut self, field: &str) -> Option<String> {
        let (code, spec) = split_spec(field);
        let code = code.strip_suffix("!r").or(code.strip_suffix("!s")).unwrap_or(code);
        let (label, code) = match code.trim_end().strip_suffix('=') {
            Some(code) if !code.ends_with(['=', '!', '<', '>']) => (format!("{}=", code.trim()), code),
            _ => (String::new(), code),
        };
        let value = self.parsed(code)?;
        Some(format!("{label}${{{}}}", self.rounded(&value, spec)?))
    }

    /// A value as a format such as `.2f` shows it.
    fn rounded(&mut self, value: &Expr, spec: &str) -> Option<String> {
        let digits = spec.trim_end_matches(|c: char| c.is_alphabetic() || c == '%').rsplit_once('.');
        match digits.and_then(|(_, digits)| digits.parse::<u32>().ok()) {
            Some(digits) if digits <= 12 && spec.ends_with(['f', '%']) => {
                self.uses(Idiom::Rounded);
                Some(match spec.ends_with('%') {
                    true => format!("round({} * 100.0, {digits})", self.bound(value, 180)?),
                    false => format!("round({}, {digits})", self.expr(value)?),
                })
            }
            _ => self.expr(value),
        }
    }

    fn parsed(&mut self, code: &str) -> Option<Expr> {
        let tokens = reserved::tokens(code)?;
        let mut reader = PythonReader::new(&tokens, code);
        let value = reader.value()?;
        (reader.at == tokens.len()).then_some(value)
    }

    /// `"{} and {}".format(a, b)`
    pub(super) fn formatted(&mut self, raw: &str, arguments: &[Arg]) -> Option<String> {
        let (_, _, inside) = taken_apart(raw)?;
        self.uses(Idiom::Format);
        let mut out = String::new();
        let mut rest = inside.as_str();
        let mut next = 0;
        while let Some((before, from)) = rest.split_once('{') {
            out += &in_back_quotes(before);
            let (field, behind) = from.split_once('}')?;
            let (name, spec) = split_spec(field);
            let of = match name.parse::<usize>() {
                Ok(at) => arguments.get(at)?,
                Err(_) if name.is_empty() => {
                    next += 1;
                    arguments.get(next - 1)?
                }
                Err(_) => arguments.iter().find(|argument| argument.name.as_deref() == Some(name))?,
            };
            out += &format!("${{{}}}", self.rounded(&of.value, spec)?);
            rest = behind;
        }
        Some(format!("`{out}{}`", in_back_quotes(rest)))
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
            ("*", Expr::List(items), count) => {
                let [item] = items.as_slice() else { return None };
                self.uses(Idiom::Repeated);
                let (item, count) = (self.expr(item)?, self.expr(count)?);
                Some(format!("(0..{count}).map(|_i| {item})"))
            }
            ("*", a, count) if self.kind(a) == Holds::Array => {
                self.uses(Idiom::Repeated);
                let (items, count) = (self.bound(a, 150)?, self.bound(count, 150)?);
                Some(format!("(0..{count}).map(|_i| {items}).reduce(|all, x| all + x, [])"))
            }
            _ => None,
        }
    }

    fn percent(&mut self, raw: &str, values: &[Expr]) -> Option<String> {
        let (_, _, inside) = taken_apart(raw)?;
        self.uses(Idiom::Format);
        let mut out = String::new();
        let mut values = values.iter();
        let mut rest = inside.as_str();
        while let Some((before, from)) = rest.split_once('%') {
            out += &in_back_quotes(before);
            if let Some(behind) = from.strip_prefix('%') {
                out.push('%');
                rest = behind;
                continue;
            }
            let end = from.find(|c: char| c.is_alphabetic())? + 1;
            let spec = from.get(..end)?;
            out += &format!("${{{}}}", self.rounded(values.next()?, spec)?);
            rest = from.get(end..)?;
        }
        Some(format!("`{out}{}`", in_back_quotes(rest)))
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

fn in_back_quotes(text: &str) -> String {
    text.replace('`', "\\`").replace("${", "$\\{").replace("\\'", "'").replace("\\\"", "\"")
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

/// Where the brace closes that was open before.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    for (at, c) in code.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// A field's code and its format; colons in brackets belong to the code.
fn split_spec(field: &str) -> (&str, &str) {
    let mut depth = 0usize;
    for (at, c) in field.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                return (field.get(..at).unwrap_or_default(), field.get(at + 1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (field, "")
}
