//! Values in texts, and how they are shown: `f"{x:.2f}"`, `"{:.2f}".format(x)`, `"%.2f" % x`.

use super::book::Idiom;
use super::kinds::place;
use super::parse::PythonReader;
use super::reserved;
use super::texts::{in_back_quotes, taken_apart};
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

impl Writer<'_> {
    /// What stands between an f-string's quotes.
    pub(super) fn interpolated(&mut self, inside: &str, raw: bool) -> Option<String> {
        self.filled_in(inside, raw, |own, field| own.field(field))
    }

    /// A text with a value for each of its fields in braces.
    fn filled_in(
        &mut self,
        inside: &str,
        raw: bool,
        mut value: impl FnMut(&mut Self, &str) -> Option<String>,
    ) -> Option<String> {
        let mut out = String::new();
        let mut rest = inside;
        while let Some(at) = rest.find(['{', '}']) {
            out += &in_back_quotes(rest.get(..at)?, raw);
            let from = rest.get(at..)?;
            if from.starts_with("{{") || from.starts_with("}}") {
                // `${` would begin a value.
                if out.ends_with('$') && from.starts_with('{') {
                    out.truncate(out.len() - 1);
                    out += "${\"$\"}";
                }
                out += from.get(..1)?;
                rest = from.get(2..)?;
                continue;
            }
            let code = from.strip_prefix('{')?;
            let end = closing(code)?;
            out += &value(self, code.get(..end)?)?;
            rest = code.get(end + 1..)?;
        }
        Some(format!("`{out}{}`", in_back_quotes(rest, raw)))
    }

    /// `{x:.2f}`, `{x!r}` and `{x=}`.
    fn field(&mut self, field: &str) -> Option<String> {
        let (code, spec) = split_spec(field);
        let quoted = code.strip_suffix("!r");
        let is_str = code.ends_with("!s");
        let code = quoted.or(code.strip_suffix("!s")).unwrap_or(code);
        let (label, code) = match code.trim_end().strip_suffix('=') {
            Some(code) if !code.ends_with(['=', '!', '<', '>']) => (format!("{}=", code.trim()), code),
            _ => (String::new(), code),
        };
        let value = self.parsed(code)?;
        let spec = self.spec(spec)?;
        // A label shows a value as code too, where no format says otherwise.
        let as_code = quoted.is_some() || !label.is_empty() && spec.is_empty() && !is_str;
        let value = if as_code { Expr::Rhai(self.repr_of(&value)?) } else { value };
        Some(format!("{label}${{{}}}", self.shown(&value, &spec)?))
    }

    /// A format as a text of Rhai's, in which values may stand; empty where there is none.
    fn spec(&mut self, spec: &str) -> Option<String> {
        let (mut parts, mut rest) = (Vec::new(), spec);
        while let Some((before, from)) = rest.split_once('{') {
            parts.extend((!before.is_empty() || parts.is_empty()).then(|| quoted(before)));
            let end = closing(from)?;
            let value = self.parsed(from.get(..end)?)?;
            parts.push(self.bound(&value, 151)?);
            rest = from.get(end + 1..)?;
        }
        parts.extend((!rest.is_empty()).then(|| quoted(rest)));
        Some(parts.join(" + "))
    }

    /// A value as a format such as `.2f` shows it.
    fn shown(&mut self, value: &Expr, spec: &str) -> Option<String> {
        self.mark_shown(value);
        let shown = self.as_text(value).map(Expr::Rhai);
        let value = shown.as_ref().unwrap_or(value);
        if !spec.is_empty() {
            self.uses(Idiom::Rounded);
            return Some(format!("format({}, {spec})", self.expr(value)?));
        }
        if let Some(message) = self.message(value) {
            return Some(message);
        }
        // PyTorch shows a tensor without dimensions as its number here, and so does `format`.
        let may_be_tensor = match value {
            Expr::Name(name) if name.contains("loss") => {
                matches!(self.kind(value), Holds::Tensor | Holds::Other)
            }
            value => self.kind(value) == Holds::Tensor,
        };
        if self.shows_none(value) {
            return Some(format!("{} ?? \"None\"", self.bound(value, 136)?));
        }
        let text = self.expr(value)?;
        Some(if may_be_tensor { format!("format({text})") } else { text })
    }

    /// Whether a value may be None, which a text of Rhai's shows as nothing.
    fn shows_none(&self, value: &Expr) -> bool {
        match value {
            Expr::Name(name) if name == "None" => true,
            Expr::Call(callee, given) => {
                given.len() == 1
                    && matches!(callee.as_ref(), Expr::Attr(on, name) if name == "get" && self.kind(on) == Holds::Map)
            }
            value => {
                self.may_be_none(value)
                    || place(value).is_some_and(|own| self.python && self.nones.contains(&own))
            }
        }
    }

    /// A value as Python writes it in code.
    fn repr_of(&mut self, value: &Expr) -> Option<String> {
        if let Some(text) = self.dunder(value, "__repr__", &[]) {
            return Some(text);
        }
        Some(match self.kind(value) {
            Holds::Int | Holds::Float => self.expr(value)?,
            _ if matches!(value, Expr::Name(name) if name == "None") => "\"None\"".into(),
            _ => format!("repr({})", self.expr(value)?),
        })
    }

    fn parsed(&mut self, code: &str) -> Option<Expr> {
        let tokens = reserved::tokens(code)?;
        let mut reader = PythonReader::new(&tokens, code);
        let value = reader.value()?;
        (reader.at == tokens.len()).then_some(value)
    }

    /// `"{} and {}".format(a, b)`
    pub(super) fn formatted(&mut self, raw: &str, arguments: &[Arg]) -> Option<String> {
        let (marks, _, inside) = taken_apart(raw)?;
        self.uses(Idiom::Format);
        let mut next = 0;
        self.filled_in(&inside, marks.to_lowercase().contains('r'), |own, field| {
            let (name, spec) = split_spec(field);
            let as_code = name.strip_suffix("!r");
            let name = as_code.or(name.strip_suffix("!s")).unwrap_or(name);
            let of = match name.parse::<usize>() {
                Ok(at) => arguments.get(at)?,
                Err(_) if name.is_empty() => {
                    next += 1;
                    arguments.get(next - 1)?
                }
                Err(_) => arguments.iter().find(|argument| argument.name.as_deref() == Some(name))?,
            };
            // A value within a format is not told of.
            let spec = if spec.is_empty() { String::new() } else { quoted(spec) };
            (!spec.contains('{')).then_some(())?;
            if as_code.is_some() {
                let written = Expr::Rhai(own.repr_of(&of.value)?);
                return Some(format!("${{{}}}", own.shown(&written, &spec)?));
            }
            Some(format!("${{{}}}", own.shown(&of.value, &spec)?))
        })
    }

    /// `"%d of %s" % (a, b)`
    pub(super) fn percent(&mut self, raw: &str, values: &[Expr]) -> Option<String> {
        let (marks, _, inside) = taken_apart(raw)?;
        let raw = marks.to_lowercase().contains('r');
        self.uses(Idiom::Format);
        let mut out = String::new();
        let mut values = values.iter();
        let mut rest = inside.as_str();
        while let Some((before, from)) = rest.split_once('%') {
            out += &in_back_quotes(before, raw);
            if let Some(behind) = from.strip_prefix('%') {
                out.push('%');
                rest = behind;
                continue;
            }
            let end = from.find(|c: char| c.is_alphabetic())? + 1;
            out += &format!("${{{}}}", self.by_percent(values.next()?, from.get(..end)?)?);
            rest = from.get(end..)?;
        }
        Some(format!("`{out}{}`", in_back_quotes(rest, raw)))
    }

    /// A value as `%5.2f` shows it.
    fn by_percent(&mut self, value: &Expr, spec: &str) -> Option<String> {
        let at = spec.find(|c: char| !matches!(c, '-' | '+' | ' ' | '#' | '0'))?;
        let (flags, rest) = spec.split_at_checked(at)?;
        let (width, kind) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
        let left = if flags.contains('-') { "<" } else { "" };
        let sign = ['+', ' '].into_iter().find(|sign| flags.contains(*sign)).map(String::from);
        let sign = sign.unwrap_or_default();
        let zero = if flags.contains('0') && left.is_empty() { "0" } else { "" };
        match kind {
            "d" | "i" | "u" => {
                let whole = match self.kind(value) {
                    Holds::Int => self.expr(value)?,
                    _ => self.numeric("int", value)?,
                };
                let plain = flags.is_empty() && width.is_empty();
                if !plain {
                    self.uses(Idiom::Rounded);
                }
                Some(if plain { whole } else { format!("format({whole}, \"{left}{sign}{zero}{width}d\")") })
            }
            "r" => {
                let right = if left.is_empty() { ">" } else { left };
                let text = self.repr_of(value)?;
                let plain = width.is_empty();
                Some(if plain { text } else { format!("format({text}, \"{right}{width}\")") })
            }
            "s" if width.is_empty() => match self.message(value) {
                Some(message) => Some(message),
                None => self.shown(value, ""),
            },
            "s" => {
                let right = if left.is_empty() { ">" } else { left };
                let text = match self.kind(value) {
                    Holds::Text => self.expr(value)?,
                    _ => format!("`${{{}}}`", self.expr(value)?),
                };
                self.uses(Idiom::Rounded);
                Some(format!("format({text}, \"{right}{width}\")"))
            }
            _ => self.shown(value, &format!("\"{left}{sign}{zero}{width}{kind}\"")),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
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
