//! `argparse`: a parser's options are a map of what holds where nothing is given.

use super::book::Idiom;
use super::names;
use super::statements::Statements;
use super::texts::taken_apart;
use super::tree::{Arg, Expr};
use super::writer::Holds;

impl Statements<'_, '_, '_> {
    /// `parser = argparse.ArgumentParser()`, and `args = parser.parse_args()`.
    pub(super) fn of_parser(&mut self, target: &Expr, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, _) = value else { return None };
        if let Expr::Attr(on, name) = callee.as_ref()
            && let (Expr::Name(parser), "parse_args") = (on.as_ref(), name.as_str())
        {
            let options = self.writer.parsers.get(parser)?.join(", ");
            self.writer.uses(Idiom::Arguments);
            return Some(vec![self.one(target, &format!("#{{{options}}}"), Holds::Map)?]);
        }
        let full = names::full(&self.writer.path(callee)?, &self.writer.imports)?;
        let Expr::Name(parser) = target else { return None };
        (full == "argparse.ArgumentParser").then_some(())?;
        self.writer.uses(Idiom::Arguments);
        self.writer.parsers.insert(parser.clone(), Vec::new());
        Some(Vec::new())
    }

    /// `parser.add_argument("--lr", type=float, default=0.1)`, and what is told to a bar of progress.
    pub(super) fn option(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, arguments) = value else { return None };
        let Expr::Attr(on, name) = callee.as_ref() else { return None };
        // A class of the program's may have a method of that name.
        let own = matches!(on.as_ref(), Expr::Name(on) if self.writer.objects.contains(on));
        if !own && matches!(name.as_str(), "set_postfix" | "set_postfix_str" | "set_description") {
            self.writer.uses(Idiom::FallsAway);
            return Some(Vec::new());
        }
        let (Expr::Name(parser), "add_argument") = (on.as_ref(), name.as_str()) else { return None };
        self.writer.parsers.contains_key(parser).then_some(())?;
        let named = |name: &str| arguments.iter().find(|argument| argument.name.as_deref() == Some(name));
        let text = |argument: &Arg| match &argument.value {
            Expr::Text(raw) => taken_apart(raw).map(|(_, _, inside)| inside),
            _ => None,
        };
        let own = arguments.iter().filter(|argument| argument.name.is_none()).filter_map(text);
        let name = named("dest").and_then(text).or_else(|| own.max_by_key(String::len))?;
        let name = name.trim_start_matches('-').replace('-', "_");
        let default = match (named("default"), named("action").and_then(text).as_deref()) {
            (Some(default), _) => self.writer.expr(&default.value)?,
            (None, Some("store_true")) => "false".into(),
            (None, Some("store_false")) => "true".into(),
            _ => "()".into(),
        };
        self.writer.uses(Idiom::Arguments);
        self.writer.parsers.get_mut(parser)?.push(format!("{name}: {default}"));
        Some(Vec::new())
    }
}
