//! Methods that are values: `max(d, key=d.get)`, `map(str.upper, xs)`.

use super::tree::{Arg, Expr};
use super::writer::{ATOM, Holds, Writer};

/// Methods of lists, texts and dictionaries that take one value and change nothing.
const OF_ONE: [&str; 6] = ["get", "index", "count", "find", "startswith", "endswith"];
/// Those of texts that take none.
const OF_TEXTS: [&str; 10] =
    ["lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "split", "isdigit", "isalpha"];

impl Writer<'_> {
    /// A method without a call, as the function that it is; none where it may be a field.
    pub(super) fn bound_method(&mut self, on: &Expr, name: &str) -> Option<String> {
        let of_type = matches!(on, Expr::Name(of) if of == "str" && self.holds(of).is_none());
        if of_type && OF_TEXTS.contains(&name) {
            return self.method_as_function("s", Holds::Text, |own| (own, name, Vec::new()));
        }
        self.is_bound_method(on, name).then_some(())?;
        let item = |own| (on.clone(), name, vec![Arg { name: None, spread: false, value: own }]);
        self.method_as_function("k", Holds::Other, item)
    }

    /// Whether a method of one argument is a value.
    pub(super) fn is_bound_method(&self, on: &Expr, name: &str) -> bool {
        let known = matches!(self.kind(on), Holds::Map | Holds::Array | Holds::Text);
        self.python && OF_ONE.contains(&name) && (known || self.passed)
    }

    /// `cube = Cube.apply`: the variable has the function, which is applied where it is called.
    pub(super) fn applied_by(&mut self, targets: &[Expr], value: &Expr) -> Option<String> {
        let class = match value {
            Expr::Attr(on, name) if name == "apply" => match on.as_ref() {
                Expr::Name(class) => Some(class).filter(|class| self.applied.contains(&format!("{class}()"))),
                _ => None,
            },
            _ => None,
        };
        for target in targets {
            let Expr::Name(name) = target else { continue };
            match class {
                Some(_) => self.applied.insert(name.clone()),
                None => self.applied.remove(name),
            };
        }
        class.cloned()
    }

    /// A call of a variable that has what applies a function.
    pub(super) fn of_applied(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        Some((format!("{name}.apply({})", self.arguments(arguments)?), ATOM))
    }

    fn method_as_function<'n>(
        &mut self,
        param: &str,
        holds: Holds,
        call: impl FnOnce(Expr) -> (Expr, &'n str, Vec<Arg>),
    ) -> Option<String> {
        let own = self.free_name(param);
        let (on, method, given) = call(Expr::Name(own.clone()));
        self.scopes.push([(own.clone(), holds)].into_iter().collect());
        let text = self.method(&on, method, &given);
        self.scopes.pop();
        let text = self.kept_function(text?.0);
        Some(format!("|{own}| {text}"))
    }
}
