//! What asks for a value's class.

use super::tree::Expr;
use super::writer::{Holds, Writer};

impl Writer<'_> {
    /// `isinstance(x, class)`: every layer and every network is a module, whatever it is called.
    pub(super) fn is_instance(&mut self, of: &Expr, class: &Expr) -> Option<String> {
        let is_module = |class: &Expr| match class {
            Expr::Attr(on, name) => name == "Module" && matches!(on.as_ref(), Expr::Name(_) | Expr::Attr(..)),
            Expr::Name(name) => self.imports.get(name).is_some_and(|full| full == "torch.nn.Module"),
            _ => false,
        };
        let asks = match class {
            Expr::Tuple(all) => all.iter().any(is_module),
            class => is_module(class),
        };
        let text = self.expr(of)?;
        if asks {
            if !matches!(class, Expr::Tuple(_)) || self.kind(of) == Holds::Module {
                return Some(format!("isinstance({text}, \"Module\")"));
            }
            return None;
        }
        let classes: Vec<&Expr> = match class {
            Expr::Tuple(all) => all.iter().collect(),
            class => vec![class],
        };
        let own = |class: &&Expr| matches!(class, Expr::Name(name) if self.kin.contains_key(name));
        if classes.iter().all(own) {
            let named =
                |name: &String| classes.iter().any(|class| matches!(class, Expr::Name(own) if own == name));
            let all: Vec<&String> =
                self.kin.keys().filter(|name| self.line_of(name).iter().any(named)).collect();
            return Some(format!("(type_of({text}) == \"map\" && {text}.__class__ in {all:?})"));
        }
        let (sign, class) = self.classes(class)?;
        Some(format!("type_of({text}) {} {class}", if sign == "in" { "in" } else { "==" }))
    }

    /// What says of which class a value is: an object of the program's own has its class's name.
    pub(super) fn type_of(&mut self, of: &Expr) -> Option<String> {
        let text = self.expr(of)?;
        let is_own = matches!(of, Expr::Name(name) if name == "self" && self.objects.contains("self"));
        if is_own || self.class_of_value(of).is_some() {
            return Some(format!("{text}.__class__"));
        }
        let may_be = !self.kin.is_empty() && matches!(of, Expr::Name(_)) && self.kind(of) == Holds::Other;
        Some(match may_be {
            true => {
                format!("(if type_of({text}) == \"map\" {{ {text}.__class__ }} else {{ type_of({text}) }})")
            }
            false => format!("type_of({text})"),
        })
    }

    /// `issubclass(Dog, Animal)` of the program's own classes.
    pub(super) fn is_derived(&self, class: &Expr, base: &Expr) -> Option<String> {
        let (Expr::Name(class), Expr::Name(base)) = (class, base) else { return None };
        self.kin.contains_key(class).then(|| self.line_of(class).contains(base).to_string())
    }

    /// A class and those that it is derived from.
    fn line_of(&self, class: &str) -> Vec<String> {
        let base = |class: &String| self.kin.get(class).and_then(|kin| kin.base.clone());
        std::iter::successors(Some(class.to_owned()), base).take(self.kin.len()).collect()
    }

    /// What `type_of` says of a class, or of several, and whether it is one of them.
    pub(super) fn classes(&mut self, class: &Expr) -> Option<(&'static str, String)> {
        match class {
            Expr::Tuple(all) | Expr::List(all) => {
                let all: Option<Vec<String>> = all.iter().map(|class| self.class(class)).collect();
                Some(("in", format!("[{}]", all?.join(", "))))
            }
            class => Some(("==", self.class(class)?)),
        }
    }

    /// What `type_of` says of a class.
    fn class(&mut self, class: &Expr) -> Option<String> {
        let text = match class {
            Expr::Name(name) => match name.as_str() {
                "int" => "i64",
                "float" => "f64",
                "str" => "string",
                "list" | "tuple" => "array",
                "dict" => "map",
                "bool" => "bool",
                "Tensor" => "Tensor",
                // A network has its class's name.
                name if self.holds(&format!("{name}()")) == Some(Holds::Module) => name,
                name if self.kin.contains_key(name) => name,
                name if self.imports.get(name).is_some_and(|full| full.starts_with("torch.nn.")) => name,
                _ => return None,
            },
            Expr::Attr(_, name) if name == "Tensor" => "Tensor",
            Expr::Attr(_, name) => return Some(format!("\"{name}\"")),
            _ => return None,
        };
        Some(format!("\"{text}\""))
    }
}
