//! What stands before a method: `@property`, `@torch.no_grad()`.

use super::blocks::written;
use super::names;
use super::statements::Statements;
use super::writer::{Holds, Writer};

/// What is said of a method before it.
#[derive(Default)]
pub(super) struct Marks {
    /// Whether it is given no object.
    pub is_static: bool,
    /// Whether it is given the class.
    pub is_of_class: bool,
    /// What the method runs within: `no_grad()`.
    pub mode: Option<String>,
}

impl Marks {
    /// A method's lines within what it runs in.
    pub(super) fn around(&self, body: Vec<String>) -> Vec<String> {
        match &self.mode {
            Some(mode) => written(&[(format!("with {mode}"), body)]),
            None => body,
        }
    }
}

impl Statements<'_, '_, '_> {
    /// The marks before a method; none where one is not known.
    pub(super) fn marks(&mut self) -> Option<Marks> {
        const MODES: [&str; 4] = ["no_grad(", "inference_mode(", "enable_grad(", "autocast("];
        let mut marks = Marks::default();
        while self.reader.eat("@") {
            if self.reader.eat("property") {
                // It is known already.
            } else if self.reader.eat("staticmethod") {
                marks.is_static = true;
            } else if self.reader.eat("classmethod") {
                marks.is_of_class = true;
            } else if self.reader.eat("abstractmethod") {
                // What is derived has it.
            } else {
                let value = self.reader.value()?;
                let mode = self.writer.expr(&value)?;
                MODES.iter().any(|known| mode.starts_with(known)).then_some(())?;
                marks.mode.replace(mode).is_none().then_some(())?;
            }
            self.skip_lines();
        }
        Some(marks)
    }

    /// Notes which of the methods of a class that begins here are properties: they are read before their lines are.
    pub(super) fn announce_properties(&mut self, column: usize, class: &str) {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let inside: Vec<_> = rest
            .iter()
            .take_while(|token| token.column > column || token.kind == super::lex::TokenKind::Line)
            .filter(|token| token.kind != super::lex::TokenKind::Line)
            .collect();
        let named = |four: &[&super::lex::Tok]| match four {
            [at, mark, def, name] if at.text == "@" && mark.text == "property" && def.text == "def" => {
                Some(name.text.to_owned())
            }
            _ => None,
        };
        let own = inside.windows(4).filter_map(named).collect();
        self.writer.properties.insert(class.to_owned(), own);
        self.writer.made.retain(|name, _| name != "self" && !name.starts_with("self."));
        self.writer.made.insert("self".into(), class.to_owned());
    }
}

impl Writer<'_> {
    /// The class of what stands at a place such as `model.encoder`, so far as it is known.
    pub(super) fn class_at(&self, place: &str) -> Option<&String> {
        if let Some(class) = self.made.get(place) {
            return Some(class);
        }
        let (on, field) = place.rsplit_once('.')?;
        self.fields.get(self.class_at(on)?)?.get(field)?.1.as_ref()
    }

    /// Whether a name of what stands at a place is a property of its class, or of any where that is not known.
    pub(super) fn is_property_at(&self, place: &str, name: &str) -> bool {
        match self.class_at(place) {
            Some(class) => self.properties.get(class).is_some_and(|own| own.contains(name)),
            None if place.starts_with("self.") => false,
            // What tensors have as well is more likely theirs.
            None if names::has_property(name) && self.holds(place) != Some(Holds::Module) => false,
            None => self.properties.values().any(|own| own.contains(name)),
        }
    }
}
