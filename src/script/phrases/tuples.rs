//! Tuples and sets, which are arrays here: what tells of a value that it is one. As a tensor's index a tuple is one place,
//! and an array is rows.

use super::kinds::place;
use super::standing::field_of;
use super::tree::{Arg, Expr, IndexPlace};
use super::writer::{Holds, Writer};

/// What gives the items of what it is given, or one of them.
const ITEMS: [&str; 8] = ["list", "sorted", "set", "reversed", "tuple", "iter", "deque", "tqdm"];
const ONE: [&str; 3] = ["max", "min", "next"];

impl Writer<'_> {
    /// Notes what something of the program's is given. What is unknown says nothing, and what differs is unknown.
    pub(super) fn note(&mut self, key: String, holds: Holds) {
        if !self.python || holds == Holds::Other {
            return;
        }
        let holds = match self.met.get(&key) {
            Some(before) if *before != holds => Holds::Other,
            _ => holds,
        };
        self.met.insert(key, holds);
    }

    /// What was noted, by this reading or the one before it.
    pub(super) fn known(&self, key: &str) -> Holds {
        self.met.get(key).or_else(|| self.seen.get(key)).copied().unwrap_or(Holds::Other)
    }

    /// Notes what an argument of a function of the program's is.
    pub(super) fn note_argument(&mut self, function: &str, at: usize, value: &Expr) {
        let (holds, items) = (self.kept(value), self.kind_of_item(value));
        if matches!(holds, Holds::Tuple | Holds::Set | Holds::Map) {
            self.note(format!("{function}({at})"), holds);
        }
        match holds {
            Holds::Tensor | Holds::Text => self.note(format!("{function}({at})"), holds),
            // It may be anything else.
            Holds::Other => self.note(format!("{function}({at})?"), Holds::Int),
            _ => {}
        }
        self.note(format!("{function}({at})[]"), items);
        if holds == Holds::Map {
            self.note(format!("{function}({at}){{}}"), self.keys_of_value(value));
        }
    }

    /// Notes what the arguments are of a method that a class of the program's has.
    pub(super) fn note_arguments(&mut self, method: &str, arguments: &[Arg]) {
        let own = format!(".{method}");
        if !self.forwards.contains_key(&own) {
            return;
        }
        for (at, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.name.is_none()) {
            self.note_argument(&own, at, &argument.value);
        }
    }

    /// What a parameter of the function that is read is given everywhere.
    pub(super) fn given(&mut self, at: usize, name: &str) -> Holds {
        let key = format!("{}({at})", self.within);
        let items = self.known(&format!("{key}[]"));
        self.met.remove(&format!("{name}[]"));
        self.note(format!("{name}[]"), items);
        self.note(format!("{name}{{}}"), self.known(&format!("{key}{{}}")));
        let default = self.defaults.get(&self.within).and_then(|all| all.get(at).cloned().flatten());
        match default {
            Some(default) if default.starts_with("#{") => Holds::Map,
            _ => match self.known(&key) {
                Holds::Tensor | Holds::Text if default.is_some() || self.is_handed_on() => Holds::Other,
                Holds::Tensor | Holds::Text if self.known(&format!("{key}?")) != Holds::Other => Holds::Other,
                Holds::Tensor => {
                    self.met.insert(format!("{}:{name}//", self.within), Holds::Tensor);
                    Holds::Other
                }
                holds => holds,
            },
        }
    }

    /// Whether a value is a parameter that is given tensors wherever its function is called.
    pub(super) fn is_given_tensors(&self, value: &Expr) -> bool {
        let is = |name: &String| {
            self.met.get(&format!("{}:{name}//", self.within)) == Some(&Holds::Tensor)
                && self.holds(name) == Some(Holds::Other)
        };
        matches!(value, Expr::Name(name) if is(name))
    }

    /// Whether the function that is read stands somewhere as a value: nobody knows what it is given then.
    fn is_handed_on(&self) -> bool {
        self.known(&format!("{}=", self.within)) != Holds::Other
    }

    /// Notes what the function that is read gives.
    pub(super) fn note_given(&mut self, value: &Expr) {
        let own = format!("{}()", self.within);
        if let Expr::Tuple(parts) = value {
            for (at, part) in parts.iter().enumerate() {
                let holds = self.kept(part);
                self.note(format!("{own}[{at}]"), holds);
            }
        }
        let holds = self.kept(value);
        if matches!(holds, Holds::Tuple | Holds::Set | Holds::Map) {
            self.note(own.clone(), holds);
        }
        if holds == Holds::Map {
            self.note(format!("{own}{{}}"), self.keys_of_value(value));
        }
        let items = self.kind_of_item(value);
        self.note(own + "[]", items);
    }

    /// Notes what is kept by a name, and what each item of it is.
    pub(super) fn note_items(&mut self, target: &Expr, value: &Expr) {
        let Some(own) = place(target) else { return };
        let items = self.kind_of_item(value);
        if self.kind(value) == Holds::Map {
            self.note(format!("{}{{}}", field_of(&own)), self.keys_of_value(value));
        }
        if let Expr::Attr(_, name) = target {
            let holds = self.kept(value);
            self.note(format!(".{name}"), holds);
            self.note(format!(".{name}[]"), items);
        } else {
            // It is another list from here on.
            self.met.remove(&format!("{own}[]"));
            self.note(format!("{own}[]"), items);
        }
    }

    /// Notes what is put into a list.
    pub(super) fn note_item(&mut self, list: &Expr, item: &Expr) {
        let holds = self.kept(item);
        match list {
            Expr::Name(name) => self.note(format!("{name}[]"), holds),
            Expr::Attr(_, name) => self.note(format!(".{name}[]"), holds),
            _ => {}
        }
    }

    /// What a part of what a call gives is: `nxt` of `nxt, reward = env.step(a)`.
    pub(super) fn kind_of_part(&self, value: &Expr, at: usize) -> Holds {
        let of_call = |callee: &Expr| match callee {
            Expr::Name(name) => Some(name.clone()),
            Expr::Attr(_, name) => Some(format!(".{name}")),
            _ => None,
        };
        match value {
            Expr::Call(callee, _) => match of_call(callee).map(|own| self.known(&format!("{own}()[{at}]"))) {
                Some(holds @ (Holds::Tuple | Holds::Set | Holds::Map)) => holds,
                _ => Holds::Other,
            },
            Expr::Tuple(parts) => match parts.get(at).map(|part| self.kept(part)) {
                Some(holds @ (Holds::Tuple | Holds::Set)) => holds,
                _ => Holds::Other,
            },
            _ => Holds::Other,
        }
    }

    /// Whether a value is a tuple, so far as is known.
    pub(super) fn is_tuple(&self, value: &Expr) -> bool {
        self.python
            && match value {
                Expr::Tuple(items) => !items.is_empty(),
                Expr::Name(name) => self.noted(name) == Some(Holds::Tuple),
                Expr::Attr(_, name) => self.noted_field(value, name) == Holds::Tuple,
                Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                    (Expr::Name(name), [_]) if name == "tuple" => true,
                    (Expr::Name(name), [of]) if ONE.contains(&name.as_str()) => self.has_tuples(&of.value),
                    (Expr::Name(name), [of, Arg { name: Some(_), .. }]) if ONE.contains(&name.as_str()) => {
                        self.has_tuples(&of.value)
                    }
                    (Expr::Attr(on, name), [of, ..])
                        if name == "choice" && matches!(on.as_ref(), Expr::Name(on) if on == "random") =>
                    {
                        self.has_tuples(&of.value)
                    }
                    (Expr::Attr(on, name), _) if matches!(name.as_str(), "pop" | "popleft") => {
                        self.has_tuples(on)
                    }
                    _ => self.known_of_call(callee, "") == Holds::Tuple,
                },
                Expr::Index(on, places) => match places.as_slice() {
                    [IndexPlace::One(Expr::Text(raw))] => self.known(&format!("[{raw}]")) == Holds::Tuple,
                    [IndexPlace::One(_)] => self.has_tuples(on),
                    [IndexPlace::Slice(..)] => self.is_tuple(on),
                    _ => false,
                },
                Expr::Binary("+", a, b) => self.is_tuple(a) || self.is_tuple(b),
                Expr::Ternary(a, _, b) => self.is_tuple(a) && self.is_tuple(b),
                _ => false,
            }
    }

    /// Whether a value is a set, so far as is known.
    pub(super) fn is_set(&self, value: &Expr) -> bool {
        self.python
            && match value {
                Expr::Set(_) => true,
                Expr::Name(name) => self.noted(name) == Some(Holds::Set),
                Expr::Attr(_, name) => self.noted_field(value, name) == Holds::Set,
                Expr::Call(callee, _) => match callee.as_ref() {
                    Expr::Name(name) if matches!(name.as_str(), "set" | "frozenset") => {
                        !self.functions.contains_key(name)
                    }
                    Expr::Attr(on, name)
                        if matches!(
                            name.as_str(),
                            "union" | "intersection" | "difference" | "symmetric_difference" | "copy"
                        ) =>
                    {
                        self.is_set(on)
                    }
                    callee => self.known_of_call(callee, "") == Holds::Set,
                },
                Expr::Index(map, places) if matches!(places.as_slice(), [IndexPlace::One(_)]) => {
                    place(map).is_some_and(|own| self.known(&format!("{own}[]=")) == Holds::Set)
                }
                Expr::Binary("|" | "&" | "-" | "^", a, _) => self.is_set(a),
                _ => false,
            }
    }

    /// Whether each item of a value is a tuple.
    pub(super) fn has_tuples(&self, items: &Expr) -> bool {
        self.python
            && match items {
                Expr::List(all) | Expr::Tuple(all) | Expr::Set(all) => {
                    !all.is_empty() && all.iter().all(|item| self.is_tuple(item))
                }
                Expr::Comprehension(item, None, _) => self.is_tuple(item),
                Expr::Name(_) | Expr::Attr(..) => self.known_items(items) == Holds::Tuple,
                Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                    (Expr::Name(name), [of, ..]) if ITEMS.contains(&name.as_str()) => {
                        self.has_tuples(&of.value)
                    }
                    (Expr::Name(name), _) if matches!(name.as_str(), "zip" | "enumerate") => true,
                    (Expr::Attr(_, name), []) if name == "items" => true,
                    (Expr::Attr(on, name), []) if name == "keys" => self.has_tuples(on),
                    _ => self.known_of_call(callee, "[]") == Holds::Tuple,
                },
                Expr::Index(on, places) if matches!(places.as_slice(), [IndexPlace::Slice(..)]) => {
                    self.has_tuples(on)
                }
                Expr::Binary("+" | "*" | "|" | "&" | "-", a, _) => self.has_tuples(a),
                _ => false,
            }
    }

    /// What is known of each item of a variable or a field: of a dictionary, of its keys.
    pub(super) fn known_items(&self, items: &Expr) -> Holds {
        let Some(own) = place(items) else { return Holds::Other };
        if self.kind(items) == Holds::Map {
            return self.keys_at(&own);
        }
        match items {
            Expr::Attr(_, name) => self.known(&format!(".{name}[]")),
            _ => self.known(&format!("{own}[]")),
        }
    }

    /// What the keys of a dictionary are, so far as they are known.
    pub(super) fn keys_at(&self, map: &str) -> Holds {
        self.known(&format!("{}{{}}", field_of(map)))
    }

    fn noted_field(&self, value: &Expr, name: &str) -> Holds {
        let own = place(value).and_then(|own| self.noted(&own)).filter(|holds| *holds != Holds::Other);
        own.unwrap_or_else(|| self.known(&format!(".{name}")))
    }

    pub(super) fn known_of_call(&self, callee: &Expr, part: &str) -> Holds {
        match callee {
            Expr::Name(name) => self.known(&format!("{name}(){part}")),
            Expr::Attr(_, name) => self.known(&format!(".{name}(){part}")),
            _ => Holds::Other,
        }
    }
}
