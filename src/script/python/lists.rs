//! Methods of arrays and of what they have in common with ranges, which are functions, slices and comprehensions in
//! Python.

use super::stmt::needs_lines;
use super::tree::{Expr, only_value};
use super::writer::{PythonWriter, Type};

const ATOM: u8 = 14;
const COMPARE: u8 = 4;
const TERNARY: u8 = 0;
/// What stands behind the `if` of a comprehension.
const CONDITION: u8 = 1;

/// A value and how tightly it binds.
pub(super) type WrittenCall = (String, u8);

impl PythonWriter {
    /// A method of an array, or of what may be one.
    pub(super) fn list_method(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let of = self.type_of(on);
        let function = given.first().filter(|value| self.is_function(name, value));
        match (name, given) {
            _ if of == Type::Tensor => None,
            ("map" | "filter", [_]) if function.is_some() => self.comprehension(on, name, given.first()?),
            (_, [array, function]) if name == "zip" && !matches!(on, Expr::Path(path) if path.len() > 1) => {
                let (items, others) = (self.items(on), self.items(array));
                let (names, value) = self.applied(function, (self.item_of(on), &["item", "other"]), TERNARY);
                atom(format!("[{value} for {} in zip({items}, {others})]", names.join(", ")))
            }
            (_, [_]) if function.is_some() => self.picked(on, name, given.first()?),
            _ if matches!(of, Type::Text | Type::Map) => None,
            _ => self.ordered(on, name, given).or_else(|| self.part(on, name, given)),
        }
    }

    /// Methods that ask a function about each item.
    fn picked(&mut self, on: &Expr, name: &str, function: &Expr) -> Option<WrittenCall> {
        if matches!(name, "for_each" | "dedup") {
            self.note_lost(format!("Python's lists have no `{name}`"));
            return None;
        }
        if !matches!(name, "all" | "some" | "find" | "find_map" | "index_of" | "drain" | "retain") {
            return self
                .ordered(on, name, std::slice::from_ref(function))
                .or_else(|| self.folded(on, name, function, None));
        }
        if matches!(name, "drain" | "retain") {
            return self.sifted(on, name, function);
        }
        let items = self.items(on);
        let least = if matches!(name, "find" | "index_of") { CONDITION } else { TERNARY };
        let (names, value) = self.applied(function, (self.item_of(on), &["item"]), least);
        let item = names.first().cloned().unwrap_or_else(|| "item".into());
        atom(match name {
            "all" => format!("all({value} for {item} in {items})"),
            "some" => format!("any({value} for {item} in {items})"),
            "find" => format!("next(({item} for {item} in {items} if {value}), None)"),
            "index_of" => format!("next((place for place, {item} in enumerate({items}) if {value}), -1)"),
            _ => format!(
                "next((found for found in ({value} for {item} in {items}) if found is not None), None)"
            ),
        })
    }

    /// `reduce` and `reduce_rev`; what there is at first is the empty value where nothing is given.
    fn folded(
        &mut self,
        on: &Expr,
        name: &str,
        function: &Expr,
        first: Option<&Expr>,
    ) -> Option<WrittenCall> {
        let reverse = match name {
            "reduce" => false,
            "reduce_rev" => true,
            _ => return None,
        };
        if matches!(function, Expr::Closure(params, _) if params.len() != 2) {
            self.note_lost(format!("Python's `reduce` gives no places, as this `{name}` takes them"));
        }
        self.imports.insert("import functools");
        let items = self.items(on);
        let items = if reverse { format!("reversed({items})") } else { items };
        let function = self.expr(function);
        let first = first.map_or_else(|| "None".into(), |first| self.expr(first));
        atom(format!("functools.reduce({function}, {items}, {first})"))
    }

    /// What puts items in order.
    fn ordered(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let how = match (name, given) {
            ("order_desc" | "sort_desc", []) => "reverse=True".to_owned(),
            ("order", []) => String::new(),
            ("order" | "order_by" | "sort" | "sort_by", [function]) if self.is_function(name, function) => {
                self.imports.insert("import functools");
                format!("key=functools.cmp_to_key({})", self.expr(function))
            }
            _ => return None,
        };
        let on = self.bound(on, if name.starts_with("sort") { ATOM } else { 1 });
        if name.starts_with("sort") {
            return atom(format!("{on}.sort({how})"));
        }
        let comma = if how.is_empty() { "" } else { ", " };
        atom(format!("sorted({on}{comma}{how})"))
    }

    fn part(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let is_array = self.type_of(on) == Type::Array;
        match (name, given) {
            ("reduce" | "reduce_rev", [function, first]) => self.folded(on, name, function, Some(first)),
            ("extract", [_] | [_, _]) => {
                let part = self.slice(given);
                atom(format!("{}[{part}", self.bound(on, ATOM)))
            }
            ("index_of", [value]) if is_array && is_simple(on) && is_simple(value) => {
                let (on, value) = (self.bound(on, ATOM), self.bound(value, COMPARE + 1));
                Some((format!("{on}.index({value}) if {value} in {on} else -1"), TERNARY))
            }
            ("index_of", [value]) => {
                let items = self.items(on);
                let value = self.bound(value, COMPARE + 1);
                let found =
                    format!("next((place for place, item in enumerate({items}) if item == {value}), -1)");
                // A text of one letter is an item of a text as well.
                if is_array || value.chars().count() <= 3 && value.starts_with('"') {
                    return atom(found);
                }
                Some((format!("{items}.find({value}) if isinstance({items}, str) else {found}"), TERNARY))
            }
            ("get", [place]) if is_array => {
                let (on, place) = (self.bound(on, ATOM), self.expr(place));
                Some((format!("{on}[{place}] if -len({on}) <= {place} < len({on}) else None"), TERNARY))
            }
            ("pop" | "shift", []) if is_simple(on) => {
                let on = self.bound(on, ATOM);
                let place = if name == "shift" { "0" } else { "" };
                if std::mem::take(&mut self.unused) {
                    return atom(format!("{on}.pop({place})"));
                }
                Some((format!("{on}.pop({place}) if {on} else None"), TERNARY))
            }
            // Here an array gives its items, and a row of modules takes one.
            ("append", [Expr::Call(callee, _)]) if matches!(callee.as_ref(), Expr::Path(path) if path.len() > 1) =>
            {
                let on = self.bound(on, ATOM);
                atom(format!("{on}.append({})", self.arguments(given, false)))
            }
            ("shift", []) => atom(format!("{}.pop(0)", self.bound(on, ATOM))),
            ("split", [place]) if is_array => {
                let (on, place) = (self.bound(on, ATOM), self.expr(place));
                self.taken(&on, &format!("{place}:"))
            }
            _ => self.changed(on, name, given),
        }
    }

    /// Methods that change an array and, but for a part that is taken out, give nothing.
    fn changed(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let line = match (name, given) {
            ("truncate", [count]) => format!("del {}[{}:]", self.bound(on, ATOM), self.expr(count)),
            ("chop", [count]) => {
                let (on, count) = (self.bound(on, ATOM), self.bound(count, 10));
                format!("del {on}[:max(len({on}) - {count}, 0)]")
            }
            ("pad", [count, item]) => {
                let (on, count, item) = (self.bound(on, ATOM), self.bound(count, 9), self.expr(item));
                format!("{on} += [{item}] * ({count} - len({on}))")
            }
            ("splice", [at @ .., array]) if !at.is_empty() => {
                let part = self.place(at);
                format!("{}[{part}] = {}", self.bound(on, ATOM), self.expr(array))
            }
            ("dedup", []) => {
                let on = self.bound(on, ATOM);
                format!(
                    "{on}[:] = [item for place, item in enumerate({on}) if place == 0 or item != {on}[place - 1]]"
                )
            }
            ("drain", [Expr::Range(..)] | [_, _]) => {
                let part = self.place(given);
                let on = self.bound(on, ATOM);
                return self.taken(&on, &part);
            }
            ("retain", [Expr::Range(..)] | [_, _]) => {
                let part = self.place(given);
                let on = self.bound(on, ATOM);
                if !std::mem::take(&mut self.unused) {
                    self.note_lost("Python's lists have no `retain` that gives the rest");
                }
                format!("{on}[:] = {on}[{part}]")
            }
            _ => return None,
        };
        self.line(&line);
        atom("None".into())
    }

    /// Takes a part out of a list, and gives it.
    fn taken(&mut self, on: &str, part: &str) -> Option<WrittenCall> {
        let unused = std::mem::take(&mut self.unused);
        let name = if unused { "None".into() } else { self.made_up("taken") };
        if !unused {
            self.line(&format!("{name} = {on}[{part}]"));
        }
        self.line(&format!("del {on}[{part}]"));
        atom(name)
    }

    /// `drain` and `retain` by a function: what goes is the value, and what stays is what it is called on.
    fn sifted(&mut self, on: &Expr, name: &str, function: &Expr) -> Option<WrittenCall> {
        let is_map = self.type_of(on) == Type::Map;
        let unused = std::mem::take(&mut self.unused);
        let of = self.item_of(on);
        let on = self.bound(on, ATOM);
        let wanted: &[&str] = if is_map { &["name", "value"] } else { &["item"] };
        let (names, value) = self.applied(function, (of, wanted), CONDITION);
        let first = names.first().cloned().unwrap_or_else(|| "item".into());
        let second = names.get(1).cloned().unwrap_or_else(|| "value".into());
        let (yes, no) = match name {
            "drain" => (format!("not ({value})"), value),
            _ => (value.clone(), format!("not ({value})")),
        };
        let built = |condition: &str| match is_map {
            true => format!("{{{first}: {second} for {first}, {second} in {on}.items() if {condition}}}"),
            false => format!("[{first} for {first} in {on} if {condition}]"),
        };
        let (stays, goes) = (built(&yes), built(&no));
        let taken = if unused { "None".into() } else { self.made_up("taken") };
        if !unused {
            self.line(&format!("{taken} = {goes}"));
        }
        let place = if is_map { on } else { format!("{on}[:]") };
        self.line(&format!("{place} = {stays}"));
        atom(taken)
    }

    /// A part by where it begins and how long it is, or by a range, with the bracket that ends it.
    pub(super) fn slice(&mut self, given: &[Expr]) -> String {
        match given {
            [start, count] if !is_count(start) => {
                // Behind the last item there is none, wherever a negative place begins.
                let (start, count) = (self.expr(start), self.expr(count));
                format!("{start}:][:{count}]")
            }
            given => format!("{}]", self.place(given)),
        }
    }

    /// What stands between the brackets of such a part.
    fn place(&mut self, given: &[Expr]) -> String {
        match given {
            [range @ Expr::Range(..)] => self.index(range),
            [start, count] => {
                let end = match (start, count) {
                    (Expr::Number(a), Expr::Number(b)) => match (a.parse::<i64>(), b.parse::<i64>()) {
                        (Ok(a), Ok(b)) => Some(a.saturating_add(b).to_string()),
                        _ => None,
                    },
                    _ => None,
                };
                let (first, count) = (self.bound(start, 9), self.bound(count, 10));
                let end = end.unwrap_or_else(|| format!("{first} + {count}"));
                let first = if first == "0" { String::new() } else { first };
                format!("{first}:{end}")
            }
            [start] => format!("{}:", self.expr(start)),
            _ => ":".into(),
        }
    }

    /// `a.map(|x| f(x))` as a list, or a dict, is built in Python.
    fn comprehension(&mut self, on: &Expr, name: &str, function: &Expr) -> Option<WrittenCall> {
        let is_map = self.type_of(on) == Type::Map;
        let wanted: &[&str] = if is_map { &["name", "value"] } else { &["item", "place"] };
        let items = match on {
            Expr::Range(..) => self.items(on),
            on => self.bound(on, 1),
        };
        let least = if name == "filter" { CONDITION } else { TERNARY };
        let (names, value) = self.applied(function, (self.item_of(on), wanted), least);
        let item = names.first().cloned().unwrap_or_else(|| "_".into());
        if is_map {
            let (items, second) = (self.bound(on, ATOM), names.get(1).cloned());
            let second = second.unwrap_or_else(|| "value".into());
            let condition = if name == "filter" { format!(" if {value}") } else { String::new() };
            let value = if name == "filter" { &second } else { &value };
            return atom(format!("{{{item}: {value} for {item}, {second} in {items}.items(){condition}}}"));
        }
        let through = match names.get(1) {
            Some(place) => format!("{place}, {item} in enumerate({items})"),
            None => format!("{item} in {items}"),
        };
        atom(if name == "map" {
            format!("[{value} for {through}]")
        } else {
            format!("[{item} for {through} if {value}]")
        })
    }

    /// What a function gives of names: its own, and its body where that is one value, else those that are wanted, and a
    /// call.
    fn applied(
        &mut self,
        function: &Expr,
        (of, wanted): (Type, &[&str]),
        least: u8,
    ) -> (Vec<String>, String) {
        let mut count = 1;
        if let Expr::Closure(params, body) = function {
            count = params.len();
            let value = only_value(body).filter(|value| !needs_lines(value) || self.is_ternary(value));
            if let Some(value) = value.filter(|_| (1..=wanted.len()).contains(&count)) {
                let before = self.lines.len();
                let types = std::iter::once(of).chain(std::iter::repeat(Type::Other));
                self.scopes.push(params.iter().cloned().zip(types).collect());
                let text = self.bound(value, least);
                self.scopes.pop();
                if self.lines.len() == before {
                    return (params.iter().map(|param| PythonWriter::variable(param)).collect(), text);
                }
                // Its lines would stand before the loop.
                self.lines.truncate(before);
            }
        }
        let function = self.bound(function, ATOM);
        let names: Vec<String> = wanted.iter().take(count.max(1)).map(|name| (*name).to_owned()).collect();
        let given = names.iter().take(count).cloned().collect::<Vec<_>>().join(", ");
        (names, format!("{function}({given})"))
    }

    /// Whether what a method is given is a function, as far as is known.
    fn is_function(&self, method: &str, value: &Expr) -> bool {
        match value {
            Expr::Closure(..) => true,
            Expr::Path(_)
                if matches!(
                    method,
                    "map" | "filter" | "reduce" | "order" | "sort" | "order_by" | "sort_by"
                ) =>
            {
                true
            }
            Expr::Path(path) => path.last().is_some_and(|name| self.functions.contains(name)),
            _ => false,
        }
    }
}

pub(super) fn atom(text: String) -> Option<WrittenCall> {
    Some((text, ATOM))
}

/// A value that may be written twice.
pub(super) fn is_simple(value: &Expr) -> bool {
    match value {
        Expr::Path(_) | Expr::Number(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Unit => true,
        Expr::Field(on, _) => is_simple(on),
        Expr::Index(on, at) => is_simple(on) && is_simple(at),
        _ => false,
    }
}

/// A place that is counted from the first item.
fn is_count(value: &Expr) -> bool {
    matches!(value, Expr::Number(text) if !text.starts_with('-'))
}
