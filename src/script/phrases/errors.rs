//! The kinds of errors: which of those here a class of Python's takes, and how those that are none here are told apart.

use crate::base::name_map::NameMap;

use super::blocks::{Lines, written};
use super::book::Idiom;
use super::lex::TokenKind;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// What an `except` takes, by what name, and what it does.
pub(super) type Handler = (Option<Named>, String, Vec<String>);

/// What an `except` takes.
#[derive(Clone)]
pub(super) struct Named {
    /// What the errors are called here; of none in particular where all are taken.
    kinds: Vec<String>,
    /// What their messages say, where another kind has them here.
    says: Vec<&'static str>,
    all: bool,
}

impl Named {
    pub(super) fn takes(&self, kind: &str) -> bool {
        self.kinds.iter().any(|own| own == kind)
    }

    /// What asks whether an error is one of these.
    fn test(&self, caught: &str) -> String {
        let kind = match self.kinds.as_slice() {
            [kind] => format!("{caught}.kind == \"{kind}\""),
            kinds => format!("{caught}.kind in {kinds:?}"),
        };
        let says = self.says.iter().map(|says| format!("\"{says}\" in {caught}.message"));
        [kind].into_iter().chain(says).collect::<Vec<_>>().join(" || ")
    }
}

/// What there is a function for that makes an error.
const MADE: [&str; 5] = ["RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError"];

/// Classes of Python's and those that are derived from them, or that are called so here: what a type does not take is a
/// function that is missing.
const DERIVED: [(&str, &[&str]); 9] = [
    ("RuntimeError", &["OutOfMemoryError", "DeviceError", "NotImplementedError", "RecursionError"]),
    ("LookupError", &["IndexError", "KeyError"]),
    ("ArithmeticError", &["ZeroDivisionError", "OverflowError"]),
    ("OSError", &["FileNotFoundError", "PermissionError", "ConnectionError", "TimeoutError"]),
    ("IOError", &["OSError", "FileNotFoundError", "PermissionError"]),
    ("EnvironmentError", &["OSError", "FileNotFoundError", "PermissionError"]),
    ("ImportError", &["ModuleNotFoundError"]),
    ("TypeError", &["NameError"]),
    ("AttributeError", &["TypeError", "NameError"]),
];

impl Statements<'_, '_, '_> {
    /// Each `except` takes what it names; what none of them takes goes on, behind what is done at last.
    pub(super) fn handled(&self, caught: &str, mut handlers: Vec<Handler>, failed: Vec<String>) -> Lines {
        if let [(named, _, body)] = handlers.as_mut_slice()
            && named.as_ref().is_none_or(|named| named.all)
        {
            return Some(std::mem::take(body));
        }
        let (mut parts, mut all) = (Vec::new(), handlers.is_empty());
        for (named, own, mut body) in handlers {
            if own != caught && body.iter().any(|line| line.contains(&own)) {
                body.insert(0, format!("let {own} = {caught};"));
            }
            let word = if parts.is_empty() { "if" } else { "else if" };
            let Some(named) = named.filter(|named| !named.all) else {
                all = true;
                parts.push(("else".to_owned(), body));
                break;
            };
            parts.push((format!("{word} {}", named.test(caught)), body));
        }
        match parts.as_slice() {
            [(head, body)] if head == "else" => return Some(body.clone()),
            _ if !all => {
                let goes_on = failed.into_iter().chain([format!("throw {caught};")]).collect();
                parts.push(("else".into(), goes_on));
            }
            _ => {}
        }
        Some(written(&parts))
    }

    /// Whether anything in the program waits for errors: what they are called matters there alone.
    fn is_caught(&self) -> bool {
        self.reader.tokens.iter().any(|token| token.text == "except" && token.kind == TokenKind::Name)
    }

    /// The error that a `raise` makes.
    pub(super) fn error_of(&mut self, value: Expr) -> Option<String> {
        let (class, arguments) = match value {
            Expr::Call(class, arguments) => (*class, Some(arguments)),
            class => (class, None),
        };
        if let (Expr::Name(name), None) = (&class, &arguments)
            && self.writer.holds(name).is_some()
        {
            return Some(name.clone());
        }
        let given = arguments.as_deref().unwrap_or_default();
        let name = match &class {
            Expr::Name(name) | Expr::Attr(_, name) => name.clone(),
            _ => return None,
        };
        if MADE.contains(&name.as_str()) {
            return Some(format!("{name}({})", self.writer.arguments(given)?));
        }
        if self.is_caught() {
            let message = self.message_of(&name, given)?;
            return Some(format!("#{{kind: \"{name}\", message: {message}}}"));
        }
        // A class of another name is an error all the same, with a message.
        match given {
            [] => Some(format!("\"{}\"", self.writer.expr(&class)?)),
            [first, ..] => Some(format!("RuntimeError({})", self.writer.expr(&first.value)?)),
        }
    }

    /// What an error says of what it is made of.
    fn message_of(&mut self, name: &str, given: &[Arg]) -> Option<String> {
        match given {
            [] => Some("\"\"".into()),
            // It shows the key as it is written.
            [one] if name == "KeyError" => match &one.value {
                Expr::Text(raw) if raw.starts_with(['"', '\'']) => {
                    let inside = raw.get(1..raw.len().checked_sub(1)?)?;
                    Some(format!("\"'{inside}'\""))
                }
                value if self.writer.kind(value) == Holds::Int => {
                    Some(format!("{}.to_string()", self.writer.on(value)?))
                }
                value => Some(format!("repr({})", self.writer.expr(value)?)),
            },
            [one] => self.writer.expr(&one.value),
            all => {
                let all: Vec<Expr> = all.iter().map(|argument| argument.value.clone()).collect();
                Some(format!("`${{{}}}`", self.writer.expr(&Expr::Tuple(all))?))
            }
        }
    }

    /// `class MyError(Exception): pass`, which has nothing but its name; none where it has more.
    pub(super) fn error_class(&mut self, column: usize, name: &str, base: &Expr) -> Lines {
        let (Expr::Name(of) | Expr::Attr(_, of)) = base else { return None };
        let is_error = self.writer.errors.contains_key(of)
            || of.ends_with("Error")
            || matches!(of.as_str(), "Exception" | "BaseException" | "Warning" | "LookupError");
        is_error.then_some(())?;
        self.reader.expect(")")?;
        let of = of.clone();
        let body = self.block(column, &[])?;
        body.iter().all(|line| line.starts_with("//")).then_some(())?;
        self.writer.errors.insert(name.to_owned(), of);
        self.writer.used.retain(|idiom| *idiom != Idiom::Class);
        self.writer.uses(Idiom::Raise);
        Some(body.into_iter().filter(|line| line.starts_with("// ?")).collect())
    }
}

impl Writer<'_> {
    /// The errors that a class takes, or several do.
    pub(super) fn named_errors(&self, class: &Expr) -> Named {
        let mut named = Named { kinds: Vec::new(), says: Vec::new(), all: false };
        named.add(class, &self.errors);
        named
    }

    /// What asks whether an error that was caught is of a class.
    pub(super) fn is_error_of(&self, error: &Expr, class: &Expr) -> Option<String> {
        let Expr::Name(caught) = error else { return None };
        self.caught.contains(caught).then_some(())?;
        let named = self.named_errors(class);
        let test = named.test(caught);
        Some(match named.says.as_slice() {
            _ if named.all => "true".into(),
            [] => test,
            _ => format!("({test})"),
        })
    }
}

impl Named {
    fn add(&mut self, class: &Expr, own: &NameMap<String>) {
        match class {
            Expr::Name(name) | Expr::Attr(_, name) => self.add_kind(name, own),
            Expr::Tuple(all) | Expr::List(all) => all.iter().for_each(|class| self.add(class, own)),
            // What it is, is not known before it runs.
            _ => self.all = true,
        }
    }

    fn add_kind(&mut self, name: &str, own: &NameMap<String>) {
        if self.takes(name) {
            return;
        }
        self.all |= matches!(name, "Exception" | "BaseException");
        self.kinds.push(name.to_owned());
        let says = match name {
            "ZeroDivisionError" => Some("ivision by zero"),
            "OSError" | "FileNotFoundError" => Some("No such file"),
            _ => None,
        };
        self.says.extend(says.filter(|says| !self.says.contains(says)));
        let derived = DERIVED.iter().find(|(class, _)| *class == name).map_or([].as_slice(), |(_, all)| all);
        derived.iter().for_each(|kind| self.add_kind(kind, own));
        own.iter().filter(|(_, of)| *of == name).for_each(|(kind, _)| self.add_kind(kind, own));
    }
}
