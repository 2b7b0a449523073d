//! Lists: comprehensions, and functions of what they hold.

use super::book::Idiom;
use super::kinds::place;
use super::lex;
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
                    format!("{}.{method}({})", self.items(&one.items)?, self.turn(one, &asked(test))?),
                )
            }
            ("any" | "all", [of]) if self.kind(of) != Holds::Tensor && !matches!(of, Expr::Compare(..)) => {
                let method = if name == "any" { "some" } else { "all" };
                (Idiom::AnyAll, format!("{}.{method}({})", self.items(of)?, self.asks_items(of)?))
            }
            ("dict", [of]) if self.kind(of) == Holds::Map => (Idiom::Copy, self.expr(of)?),
            ("dict", [of]) => {
                let each = "reduce(|all, pair| { all[`${pair[0]}`] = pair[1]; all }, #{})";
                (Idiom::Dict, format!("list({}).{each}", self.expr(of)?))
            }
            // Beyond these a character takes two of what `\u` says.
            ("chr", [Expr::Number(number)]) if number.parse::<u32>().is_ok_and(|code| code > 0xffff) => {
                return None;
            }
            ("hasattr" | "getattr" | "ord" | "chr", _) => {
                let (text, idiom) = self.by_template(&format!("builtins.{name}"), plain)?;
                (idiom, text)
            }
            ("map", [Expr::Name(function), of]) if self.holds(function).is_none() => {
                let item = Arg { name: None, spread: false, value: Expr::Name("x".into()) };
                let call = Expr::Call(Expr::Name(function.clone()).into(), vec![item]);
                let item = ("x".to_owned(), self.kind_of_item(of));
                (Idiom::MapOf, format!("{}.map({})", self.items(of)?, self.function_of(&[item], &call)?))
            }
            ("map", [function, of]) => {
                (Idiom::MapOf, format!("{}.map({})", self.items(of)?, self.passed(function)?))
            }
            ("set", []) => (Idiom::Set, "[]".into()),
            ("set", [of]) => {
                let each = "reduce(|all, x| if x in all { all } else { all + [x] }, [])";
                // A text has none of an array's methods.
                let unknown = self.kind(of) == Holds::Other && matches!(of, Expr::Name(_) | Expr::Attr(..));
                let items = if unknown { format!("list({})", self.expr(of)?) } else { self.items(of)? };
                (Idiom::Set, format!("{items}.{each}"))
            }
            ("divmod", [Expr::Number(a), Expr::Number(b)])
                if let (Ok(a), Ok(b)) = (a.parse::<u64>(), b.parse::<u64>())
                    && b > 0 =>
            {
                (Idiom::Tuple, format!("[{}, {}]", a / b, a % b))
            }
            ("divmod", [a, b]) => {
                let whole = Expr::Binary("//", (*a).clone().into(), (*b).clone().into());
                let rest = Expr::Binary("%", (*a).clone().into(), (*b).clone().into());
                (Idiom::Floor, format!("[{}]", self.each(&[whole, rest])?))
            }
            ("filter", [Expr::Name(none), of]) if none == "None" => {
                (Idiom::MapOf, format!("{}.filter({})", self.items(of)?, self.asks_items(of)?))
            }
            ("filter", [function, of]) => {
                (Idiom::MapOf, format!("{}.filter({})", self.items(of)?, self.passed(function)?))
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
            value if self.kind(value) == Holds::Text => {
                self.uses(Idiom::Characters);
                Some(format!("list({}).map(|c| c.to_string())", self.expr(value)?))
            }
            value if self.kind(value) == Holds::Map => {
                self.uses(Idiom::Keys);
                self.keys(value)
            }
            value if self.has_modules(value) => Some(format!("{}.children()", self.on(value)?)),
            value => self.on(value),
        }
    }

    /// `zip(*rows)`: an array of the first parts, one of the second, and so on.
    pub(super) fn transposed(&mut self, rows: &Expr) -> Option<String> {
        self.uses(Idiom::Zip);
        let rows = self.expr(rows)?;
        // It is written twice.
        is_path(&rows).then_some(())?;
        let (at, row) = (self.free_name("at"), self.free_name("row"));
        Some(format!("(0..{rows}[0].len()).map(|{at}| {rows}.map(|{row}| {row}[{at}]))"))
    }

    fn function(&mut self, names: &[String], value: &Expr) -> Option<String> {
        let names: Vec<(String, Holds)> = names.iter().map(|name| (name.clone(), Holds::Other)).collect();
        self.function_of(&names, value)
    }

    fn function_of(&mut self, params: &[(String, Holds)], value: &Expr) -> Option<String> {
        // A parameter has to have a name.
        let named = |(name, _): &(String, Holds)| if name == "_" { "_i".to_owned() } else { name.clone() };
        let names: Vec<String> = params.iter().map(named).collect();
        self.scopes.push(names.iter().cloned().zip(params.iter().map(|(_, holds)| *holds)).collect());
        let value = self.expr(value);
        self.scopes.pop();
        let value = self.captured(value?);
        Some(format!("|{}| {value}", names.join(", ")))
    }

    /// `[f(x) for x in xs if c]`
    pub(super) fn comprehension(
        &mut self,
        item: &Expr,
        key: Option<&Expr>,
        loops: &[Loop],
    ) -> Option<(String, u8)> {
        self.uses(Idiom::Comprehension);
        let [one, rest @ ..] = loops else { return None };
        if !rest.is_empty() {
            key.is_none().then_some(())?;
            let inner = Expr::Comprehension(item.clone().into(), None, rest.to_vec());
            let outer = self.comprehension(&inner, None, std::slice::from_ref(one))?.0;
            return Some((format!("{outer}.reduce(|all, part| all + part, [])"), ATOM));
        }
        if let Some(key) = key {
            return self.map_by((key, item), one);
        }
        let text = match &one.items {
            Expr::Call(callee, arguments) => {
                match (callee.as_ref(), arguments.as_slice(), one.names.as_slice()) {
                    (Expr::Name(name), _, [_, _, ..])
                        if matches!(name.as_str(), "zip" | "enumerate")
                            && (one.places != ["[0]", "[1]"]
                                || !one.conditions.is_empty()
                                // An array's own `zip` takes no tensor.
                                || arguments.iter().any(|of| self.kind(&of.value) == Holds::Tensor)) =>
                    {
                        format!("list({})", self.expr(&one.items)?)
                    }
                    (Expr::Name(name), [a, b], [x, y]) if name == "zip" => {
                        let (a, b) = (self.items(&a.value)?, self.items(&b.value)?);
                        let function = self.function(&[x.clone(), y.clone()], item)?;
                        return Some((format!("{a}.zip({b}, {function})"), ATOM));
                    }
                    (Expr::Name(name), [of], [i, x]) if name == "enumerate" => {
                        let function = self.function(&[x.clone(), i.clone()], item)?;
                        let items = self.items(&of.value)?;
                        return Some((format!("{items}.map({function})"), ATOM));
                    }
                    _ => self.items(&one.items)?,
                }
            }
            // A data set or a loader has no methods of an array's.
            items if self.python && one.whole().is_none() && self.kind(items) == Holds::Other => {
                format!("list({})", self.expr(items)?)
            }
            items => self.items(items)?,
        };
        let mut turns = String::new();
        for condition in &one.conditions {
            turns += &format!(".filter({})", self.turn(one, &asked(condition))?);
        }
        let same = matches!((item, one.whole()), (Expr::Name(item), Some(name)) if item == name);
        if !same {
            turns += &format!(".map({})", self.turn(one, item)?);
        }
        Some((format!("{}{turns}", of_keys(text, one, &turns)), ATOM))
    }

    /// `{k: f(k) for k in xs}`: names of a map are texts.
    fn map_by(&mut self, (key, value): (&Expr, &Expr), one: &Loop) -> Option<(String, u8)> {
        let mut text = self.items(&one.items)?;
        if one.whole().is_none() {
            text = format!("list({text})");
        }
        let mut turns = String::new();
        for condition in &one.conditions {
            turns += &format!(".filter({})", self.turn(one, &asked(condition))?);
        }
        let (item, lets) = taken_apart(one);
        let bound = self.bound_of_items(&one.names, &one.items);
        self.scopes.push(bound.into_iter().collect());
        let (is_text, key, value) = (self.kind(key) == Holds::Text, self.expr(key), self.expr(value));
        self.scopes.pop();
        let (key, value) = (self.captured(key?), self.captured(value?));
        let key = if is_text { key } else { format!("`${{{key}}}`") };
        turns += &format!(".reduce(|all, {item}| {{ {lets}all[{key}] = {value}; all }}, #{{}})");
        Some((format!("{}{turns}", of_keys(text, one, &turns)), ATOM))
    }

    /// The names of a loop, with what each of them has.
    pub(super) fn bound_of_items(&self, names: &[String], items: &Expr) -> Vec<(String, Holds)> {
        let parts = match items {
            Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                (Expr::Attr(on, name), []) if name == "items" => [self.keys_of_items(on), Holds::Other],
                (Expr::Name(name), [of, ..]) if name == "enumerate" => {
                    [Holds::Int, self.kind_of_item(&of.value)]
                }
                (Expr::Name(name), [a, b]) if name == "zip" => {
                    [self.kind_of_item(&a.value), self.kind_of_item(&b.value)]
                }
                _ => [Holds::Other; 2],
            },
            _ => [Holds::Other; 2],
        };
        match names {
            [name] => vec![(name.clone(), self.kind_of_item(items))],
            [a, b] => [a, b].into_iter().cloned().zip(parts).collect(),
            names => names.iter().map(|name| (name.clone(), Holds::Other)).collect(),
        }
    }

    /// A function of an item, whose parts may have names.
    fn turn(&mut self, one: &Loop, value: &Expr) -> Option<String> {
        let holds = self.kind_of_item(&one.items);
        if let Some(name) = one.whole() {
            return self.function_of(&[(name.clone(), holds)], value);
        }
        let (item, lets) = taken_apart(one);
        let bound = self.bound_of_items(&one.names, &one.items);
        self.scopes.push(bound.into_iter().collect());
        let value = self.expr(value);
        self.scopes.pop();
        Some(format!("|{item}| {{ {lets}{} }}", self.captured(value?)))
    }

    /// A function that tells whether Python takes an item of a list as true.
    fn asks_items(&mut self, of: &Expr) -> Option<String> {
        let is_truth = |item: &Expr| match item {
            Expr::Name(name) => matches!(name.as_str(), "True" | "False"),
            item => matches!(item, Expr::Compare(..) | Expr::Unary("!", _)),
        };
        let item = Expr::Name("x".into());
        match of {
            Expr::List(all) | Expr::Tuple(all) if all.iter().all(is_truth) => Some("|x| x".into()),
            of => self.function_of(&[("x".into(), self.kind_of_item(of))], &asked(&item)),
        }
    }

    /// What each item of a value is, as far as its form tells.
    pub(super) fn kind_of_item(&self, items: &Expr) -> Holds {
        match items {
            items if self.has_tuples(items) => Holds::Tuple,
            Expr::Name(_) | Expr::Attr(..) if self.known_items(items) == Holds::Text => Holds::Text,
            items if self.reads_keys(items) => self.known_items(items),
            Expr::Call(callee, arguments) => match callee.as_ref() {
                Expr::Name(name) if name == "range" => Holds::Int,
                Expr::Attr(_, name) if matches!(name.as_str(), "splitlines" | "keys") => Holds::Text,
                // A tensor is split as well, by sizes and into tensors.
                Expr::Attr(on, name) if name == "split" && self.kind(on) != Holds::Tensor => {
                    let by = arguments.first().map_or(Holds::Text, |by| self.kind(&by.value));
                    if by == Holds::Text { Holds::Text } else { Holds::Other }
                }
                _ => Holds::Other,
            },
            Expr::List(all) | Expr::Tuple(all) => {
                let mut kinds = all.iter().map(|item| self.kind(item));
                let first = kinds.next().unwrap_or(Holds::Other);
                if kinds.all(|kind| kind == first) { first } else { Holds::Other }
            }
            items if self.kind(items) == Holds::Tensor => Holds::Tensor,
            items if matches!(self.kind(items), Holds::Text | Holds::Map) => Holds::Text,
            items if self.has_modules(items) => Holds::Module,
            items if place(items).is_some_and(|items| self.callable.contains(&items)) => Holds::Closure,
            _ => Holds::Other,
        }
    }

    /// Whether a value is known to be a module, whose parts are modules.
    pub(super) fn has_modules(&self, value: &Expr) -> bool {
        let field = match value {
            Expr::Attr(_, name) => self.guessed.contains(&format!("self.{name}")),
            _ => false,
        };
        self.kind(value) == Holds::Module && !field
    }
}

/// The items that turns are made of: the keys of a map where the turns ask it for them, and apart from the variable that
/// has them where the turns read it, which can't be read while a method of its own runs.
fn of_keys(items: String, one: &Loop, turns: &str) -> String {
    let is_map = one.whole().is_some_and(|name| turns.contains(&format!(" {items}[{name}]")));
    let items = if is_map && is_path(&items) { format!("{items}.keys()") } else { items };
    let root = items.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    let read = !root.is_empty() && root != "list" && lex::has_word(turns, root);
    if read { format!("list({items})") } else { items }
}

/// Whether some code is names with points between them alone.
fn is_path(code: &str) -> bool {
    code.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}

/// Whether Python takes a value as true.
fn asked(value: &Expr) -> Expr {
    Expr::Unary("?", value.clone().into())
}

/// The name of an item, and what gives its parts their own.
fn taken_apart(one: &Loop) -> (String, String) {
    if let Some(name) = one.whole() {
        return (name.clone(), String::new());
    }
    let parts = one.names.iter().zip(&one.places).filter(|(name, _)| *name != "_");
    let pair = if one.names.iter().any(|name| name == "pair") { "both" } else { "pair" };
    (pair.into(), parts.map(|(name, place)| format!("let {name} = {pair}{place}; ")).collect())
}
