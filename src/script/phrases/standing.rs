//! `defaultdict` and `Counter`: a map, which is asked for a key with what stands for one that it does not have.

use super::book::Idiom;
use super::kinds::place;
use super::names;
use super::tree::{Arg, Expr, IndexPlace};
use super::writer::{ATOM, Holds, LOOSE, Writer};

/// Methods that change what is at a key.
const CHANGES: [&str; 11] = [
    "append",
    "extend",
    "insert",
    "remove",
    "add",
    "discard",
    "update",
    "pop",
    "sort",
    "setdefault",
    "clear",
];

impl Writer<'_> {
    /// What makes such a dictionary, by its name in `collections`.
    pub(super) fn makes_standing<'v>(&self, value: &'v Expr) -> Option<(&'static str, &'v [Arg])> {
        let Expr::Call(callee, given) = value else { return None };
        let path = self.path(callee)?;
        let full = names::full(&path, &self.imports).unwrap_or_else(|| path.join("."));
        let name = full.strip_prefix("collections.").unwrap_or(&full);
        let name = ["defaultdict", "Counter"].into_iter().find(|own| *own == name)?;
        let is_own = self.functions.contains_key(name) || !self.python && self.holds(name).is_some();
        (!is_own).then_some(())?;
        Some((name, given))
    }

    /// `defaultdict(int)` and `Counter(words)`.
    pub(super) fn standing_map(&mut self, value: &Expr) -> Option<Option<(String, u8)>> {
        let (name, given) = self.makes_standing(value)?;
        self.uses(Idiom::Dict);
        Some(match (name, given) {
            ("Counter", [items]) => self.counted(&items.value),
            ("Counter", _) => given.is_empty().then(|| ("#{}".to_owned(), ATOM)),
            _ if given.len() > 1 => None,
            _ => self.default_of(value).map(|_| ("#{}".to_owned(), ATOM)),
        })
    }

    fn counted(&mut self, items: &Expr) -> Option<(String, u8)> {
        let items = match self.kind(items) {
            Holds::Other => format!("list({})", self.expr(items)?),
            _ => self.items(items)?,
        };
        let each = "reduce(|all, x| { all[`${x}`] = (all.get(`${x}`) ?? 0) + 1; all }, #{})";
        Some((format!("{items}.{each}"), ATOM))
    }

    /// What stands for a key that such a dictionary does not have.
    fn default_of(&mut self, value: &Expr) -> Option<String> {
        match self.makes_standing(value)? {
            ("Counter", _) => Some("0".into()),
            (_, [Arg { name: None, spread: false, value: factory }]) => match factory {
                Expr::Name(name) if self.holds(name).is_none() => Some(match name.as_str() {
                    "int" => "0".into(),
                    "float" => "0.0".into(),
                    "str" => "\"\"".into(),
                    "list" | "set" => "[]".into(),
                    "dict" | "Counter" => "#{}".into(),
                    "bool" => "false".into(),
                    _ => return None,
                }),
                Expr::Lambda(names, value) if names.is_empty() => match self.makes_standing(value) {
                    Some(_) => Some("#{}".into()),
                    None => self.expr(value),
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Notes what stands for the keys that a variable or a field does not have.
    pub(super) fn note_standing(&mut self, own: &str, value: &Expr) {
        self.standing.retain(|known, _| known != own && !known.starts_with(&format!("{own}[")));
        let Some(default) = self.default_of(value) else { return };
        let Some((name, given)) = self.makes_standing(value) else { return };
        match given.first().map(|factory| &factory.value) {
            Some(Expr::Name(set)) if set == "set" => self.note(format!("{own}[]="), Holds::Set),
            Some(Expr::Lambda(_, inner)) if let Some(inner) = self.default_of(inner) => {
                self.standing.insert(format!("{own}[]"), inner);
            }
            Some(Expr::Name(counter)) if counter == "Counter" => {
                self.standing.insert(format!("{own}[]"), "0".into());
            }
            Some(items) if name == "Counter" => {
                let keys = self.kind_of_item(items);
                self.note(format!("{}{{}}", field_of(own)), keys);
            }
            _ => {}
        }
        if default.starts_with('[') {
            self.arrays.insert(format!("{own}[]"));
        }
        self.standing.insert(own.to_owned(), default);
    }

    /// What stands for a key that a dictionary does not have.
    pub(super) fn standing_of(&self, map: &Expr) -> Option<String> {
        let own = match map {
            Expr::Index(on, places) if matches!(places.as_slice(), [IndexPlace::One(_)]) => {
                format!("{}[]", place(on)?)
            }
            map => place(map)?,
        };
        self.standing.get(&own).cloned()
    }

    /// What is at a key of a dictionary: what is changed there is put there before.
    pub(super) fn at_key(&mut self, of: &Expr, map: &str, key: &str) -> (String, u8) {
        match self.standing_of(of) {
            Some(default) if self.placing => {
                self.prelude.push(format!("if {key} !in {map} {{ {map}[{key}] = {default}; }}"));
                (format!("{map}[{key}]"), ATOM)
            }
            Some(default) => (format!("({map}.get({key}) ?? {default})"), ATOM),
            None => (format!("{map}[{key}]"), ATOM),
        }
    }

    /// A value that is written into.
    pub(super) fn placed(&mut self, value: &Expr) -> Option<String> {
        let around = std::mem::replace(&mut self.placing, true);
        let text = self.on(value);
        self.placing = around;
        text
    }

    /// What a method is called on: a value that it changes is the dictionary's own.
    pub(super) fn changed_on(&mut self, on: &Expr, method: &str) -> Option<String> {
        let is_there = matches!(on, Expr::Index(map, _) if self.standing_of(map).is_some());
        if is_there && CHANGES.contains(&method) { self.placed(on) } else { self.on(on) }
    }

    /// `counts.most_common(3)` and `counts.update(words)`.
    pub(super) fn of_counter(
        &mut self,
        on: &Expr,
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        let standing = self.standing_of(on)?;
        let plain: Vec<&Expr> = arguments.iter().map(|argument| &argument.value).collect();
        match (name, plain.as_slice()) {
            ("most_common", given) => Some(self.most_common(on, given)),
            ("update", [items]) if standing == "0" && self.kind(items) != Holds::Map => {
                let mut lines = || {
                    let (text, items, x) = (self.on(on)?, self.items(items)?, self.free_name("x"));
                    let key = format!("`${{{x}}}`");
                    let one = format!("{text}[{key}] = ({text}.get({key}) ?? 0) + 1;");
                    Some((format!("for {x} in {items} {{ {one} }}"), LOOSE))
                };
                Some(lines())
            }
            _ => None,
        }
    }

    fn most_common(&mut self, on: &Expr, given: &[&Expr]) -> Option<(String, u8)> {
        self.mark("of names that are counted equally often, the first by the alphabet comes first");
        let text = self.on(on)?;
        let pairs = match self.reads_keys(on) {
            true => format!("list({text}.items()).map(|pair| [parse_json(pair[0]), pair[1]])"),
            false => format!("list({text}.items())"),
        };
        let sorted = format!("sorted({pairs}, #{{key: |pair| -pair[1]}})");
        Some(match given {
            [] => (sorted, ATOM),
            [most] => (format!("{sorted}.extract(0..{})", self.bound(most, 150)?), ATOM),
            _ => return None,
        })
    }
}

/// A variable's name, or a field's with its point: `.q` of `self.q`.
pub(super) fn field_of(own: &str) -> &str {
    own.rfind('.').and_then(|at| own.get(at..)).unwrap_or(own)
}
