//! Lists: comprehensions, and functions of what they hold.

use super::book::Idiom;
use super::tree::{Arg, Expr, Loop};
use super::writer::{ATOM, Holds, Writer};

impl Writer<'_> {
    /// Functions of lists.
    pub(super) fn of_items(&mut self, name: &str, plain: &[&Expr]) -> Option<(Idiom, String)> {
        Some(match (name, plain) {
            ("any" | "all", [Expr::Comprehension(test, None, loops)]) => {
                let [one] = loops.as_slice() else { return None };
                let method = if name == "any" { "some" } else { "all" };
                (
                    Idiom::AnyAll,
                    format!("{}.{method}({})", self.items(&one.items)?, self.turn(&one.names, test)?),
                )
            }
            ("map", [Expr::Name(function), of]) if self.holds(function).is_none() => {
                let item = Arg { name: None, spread: false, value: Expr::Name("x".into()) };
                let call = Expr::Call(Expr::Name(function.clone()).into(), vec![item]);
                (Idiom::MapOf, format!("{}.map({})", self.items(of)?, self.function(&["x".into()], &call)?))
            }
            ("map", [function, of]) => {
                (Idiom::MapOf, format!("{}.map({})", self.items(of)?, self.expr(function)?))
            }
            ("set", []) => (Idiom::Set, "[]".into()),
            ("set", [of]) => {
                let each = "reduce(|all, x| if x in all { all } else { all + [x] }, [])";
                (Idiom::Set, format!("{}.{each}", self.items(of)?))
            }
            ("divmod", [a, b]) => {
                let whole = Expr::Binary("//", (*a).clone().into(), (*b).clone().into());
                let rest = Expr::Binary("%", (*a).clone().into(), (*b).clone().into());
                (Idiom::Floor, format!("[{}]", self.each(&[whole, rest])?))
            }
            ("filter", [function, of]) => {
                (Idiom::MapOf, format!("{}.filter({})", self.items(of)?, self.expr(function)?))
            }
            _ => return None,
        })
    }

    /// Values as an array.
    pub(super) fn items(&mut self, value: &Expr) -> Option<String> {
        match value {
            Expr::Call(callee, arguments) if matches!(callee.as_ref(), Expr::Name(name) if name == "range") =>
            {
                let plain: Vec<&Expr> = arguments.iter().map(|argument| &argument.value).collect();
                Some(match plain.as_slice() {
                    [to] => format!("(0..{})", self.bound(to, 150)?),
                    [from, to] => format!("({}..{})", self.bound(from, 150)?, self.bound(to, 150)?),
                    _ => format!("range({})", self.arguments(arguments)?),
                })
            }
            Expr::Range(from, Some(to), false) => {
                Some(format!("({}..{})", self.bound(from, 150)?, self.bound(to, 150)?))
            }
            value if self.kind(value) == Holds::Tensor => Some(format!("{}.tolist()", self.on(value)?)),
            value if self.kind(value) == Holds::Map => {
                self.uses(Idiom::Keys);
                Some(format!("{}.keys()", self.on(value)?))
            }
            value => self.on(value),
        }
    }

    fn function(&mut self, names: &[String], value: &Expr) -> Option<String> {
        // A parameter has to have a name.
        let named = |name: &String| if name == "_" { "_i".to_owned() } else { name.clone() };
        let names: Vec<String> = names.iter().map(named).collect();
        self.scopes.push(names.iter().map(|name| (name.clone(), Holds::Other)).collect());
        let value = self.expr(value);
        self.scopes.pop();
        Some(format!("|{}| {}", names.join(", "), value?))
    }

    /// `[f(x) for x in xs if c]`
    pub(super) fn comprehension(
        &mut self,
        item: &Expr,
        key: Option<&Expr>,
        loops: &[Loop],
    ) -> Option<(String, u8)> {
        let [one] = loops else { return None };
        self.uses(Idiom::Comprehension);
        if let Some(key) = key {
            return self.map_by((key, item), one);
        }
        let mut text = match &one.items {
            Expr::Call(callee, arguments) => {
                match (callee.as_ref(), arguments.as_slice(), one.names.as_slice()) {
                    (Expr::Name(name), [a, b], [x, y]) if name == "zip" => {
                        let (a, b) = (self.items(&a.value)?, self.items(&b.value)?);
                        let function = self.function(&[x.clone(), y.clone()], item)?;
                        return one
                            .conditions
                            .is_empty()
                            .then(|| (format!("{a}.zip({b}, {function})"), ATOM));
                    }
                    (Expr::Name(name), [of], [i, x]) if name == "enumerate" => {
                        let function = self.function(&[x.clone(), i.clone()], item)?;
                        let items = self.items(&of.value)?;
                        return one.conditions.is_empty().then(|| (format!("{items}.map({function})"), ATOM));
                    }
                    _ => self.items(&one.items)?,
                }
            }
            items => self.items(items)?,
        };
        for condition in &one.conditions {
            text += &format!(".filter({})", self.turn(&one.names, condition)?);
        }
        let same = matches!((item, one.names.as_slice()), (Expr::Name(item), [name]) if item == name);
        if !same {
            text += &format!(".map({})", self.turn(&one.names, item)?);
        }
        Some((text, ATOM))
    }

    /// `{k: f(k) for k in xs}`: names of a map are texts.
    fn map_by(&mut self, (key, value): (&Expr, &Expr), one: &Loop) -> Option<(String, u8)> {
        let mut text = self.items(&one.items)?;
        if one.names.len() > 1 {
            text = format!("list({text})");
        }
        for condition in &one.conditions {
            text += &format!(".filter({})", self.turn(&one.names, condition)?);
        }
        let (item, lets) = taken_apart(&one.names);
        self.scopes.push(one.names.iter().map(|name| (name.clone(), Holds::Other)).collect());
        let (is_text, key, value) = (self.kind(key) == Holds::Text, self.expr(key), self.expr(value));
        self.scopes.pop();
        let key = if is_text { key? } else { format!("`${{{}}}`", key?) };
        Some((format!("{text}.reduce(|all, {item}| {{ {lets}all[{key}] = {}; all }}, #{{}})", value?), ATOM))
    }

    /// A function of an item, whose parts may have names.
    fn turn(&mut self, names: &[String], value: &Expr) -> Option<String> {
        if let [_] = names {
            return self.function(names, value);
        }
        let (item, lets) = taken_apart(names);
        self.scopes.push(names.iter().map(|name| (name.clone(), Holds::Other)).collect());
        let value = self.expr(value);
        self.scopes.pop();
        Some(format!("|{item}| {{ {lets}{} }}", value?))
    }
}

/// The name of an item, and what gives its parts their own.
fn taken_apart(names: &[String]) -> (String, String) {
    match names {
        [name] => (name.clone(), String::new()),
        names => {
            let lets = names.iter().enumerate().map(|(at, name)| format!("let {name} = pair[{at}]; "));
            ("pair".into(), lets.collect())
        }
    }
}
