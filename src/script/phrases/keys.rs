//! Dictionaries, whose keys are texts here: numbers and tuples are written as one, and read from it.

use super::book::Idiom;
use super::kinds::place;
use super::reserved;
use super::standing::field_of;
use super::tree::{self, Arg, Expr, IndexPlace, is_os, is_sizes};
use super::writer::{ATOM, Holds, Writer};

impl Writer<'_> {
    pub(super) fn dictionary(&mut self, pairs: &[(Expr, Expr)]) -> Option<(String, u8)> {
        self.uses(Idiom::Dict);
        for (key, value) in pairs {
            if let Expr::Text(raw) = key {
                self.note(format!("[{raw}]"), self.kept(value));
            }
        }
        if self.python && pairs.iter().any(|(key, _)| self.is_computed(key)) {
            return self.dictionary_of_pairs(pairs);
        }
        let mut all = Vec::new();
        for (key, value) in pairs {
            let key = match key {
                Expr::Text(_) => self.expr(key)?,
                // Names of a map are texts.
                Expr::Number(number) => format!("\"{number}\""),
                Expr::Tuple(items) if items.iter().all(is_plain) => {
                    let shown: Option<Vec<String>> = items.iter().map(|item| self.expr(item)).collect();
                    quoted(&format!("[{}]", shown?.join(", ")))
                }
                // `{a: 1}` without the sign of a map.
                Expr::Name(name) if self.holds(name).is_none() => name.clone(),
                _ => return None,
            };
            let inside = key.trim_matches('"');
            let word = inside.chars().all(|c| c.is_alphanumeric() || c == '_')
                && inside.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !reserved::is_kept(inside);
            all.push(format!("{}: {}", if word { inside } else { &key }, self.expr(value)?));
        }
        Some((format!("#{{{}}}", all.join(", ")), ATOM))
    }

    /// Whether a key is no text that stands there.
    fn is_computed(&self, key: &Expr) -> bool {
        match key {
            Expr::Name(name) => self.holds(name).is_some(),
            Expr::Tuple(items) => !items.iter().all(is_plain),
            Expr::Attr(..) | Expr::Index(..) | Expr::Call(..) | Expr::Binary(..) => true,
            _ => false,
        }
    }

    /// `{start: 0}`, whose keys are what variables have.
    fn dictionary_of_pairs(&mut self, pairs: &[(Expr, Expr)]) -> Option<(String, u8)> {
        let both = |(key, value): &(Expr, Expr)| Expr::List(vec![key.clone(), value.clone()]);
        let all: Vec<Expr> = pairs.iter().map(both).collect();
        let each = "reduce(|all, pair| { all[`${pair[0]}`] = pair[1]; all }, #{})";
        Some((format!("[{}].{each}", self.each(&all)?), ATOM))
    }

    pub(super) fn index(&mut self, on: &Expr, places: &[IndexPlace]) -> Option<(String, u8)> {
        let on = self.without_numpy(on);
        if let [IndexPlace::One(at)] = places
            && let Some(found) = self.dunder(on, "__getitem__", &[at])
        {
            return Some((found, ATOM));
        }
        let holds = if is_sizes(on) { Holds::Array } else { self.kind(on) };
        let part = match places {
            [IndexPlace::One(Expr::Number(part))] if part == "0" => "values",
            [IndexPlace::One(Expr::Number(part))] if part == "1" => "indices",
            _ => "",
        };
        if !part.is_empty() && tree::gives_places(on) {
            self.uses(Idiom::Parts);
            return Some((format!("{}.{part}", self.bound(on, ATOM)?), ATOM));
        }
        if let ([IndexPlace::One(name)], true) = (places, is_os(on)) {
            return self.of_launcher(name).map(|text| (text, ATOM));
        }
        let of = on;
        let on = self.bound(on, ATOM)?;
        if let ([IndexPlace::One(key)], Holds::Map) = (places, holds) {
            let key = self.key_of(&on, key)?;
            return Some(self.at_key(of, &on, &key));
        }
        if let ([IndexPlace::One(at)], Holds::Tensor | Holds::Other) = (places, holds)
            && !matches!(at, Expr::Tuple(_))
            && self.is_tuple(at)
        {
            self.uses(Idiom::Places);
            return Some((format!("{on}.at({})", self.expr(at)?), ATOM));
        }
        if let ([IndexPlace::One(at)], Holds::Array) = (places, holds)
            && self.may_be_tensor(at)
        {
            self.uses(Idiom::Number);
            return Some((format!("{on}[int({})]", self.expr(at)?), ATOM));
        }
        Some((self.indexed(&on, holds, places)?, ATOM))
    }

    /// Whether the key of a map is a number, or may be one in a map of numbers.
    pub(super) fn is_number_of(&self, map: &str, key: &Expr) -> bool {
        match self.kind(key) {
            Holds::Int | Holds::Array | Holds::Float => true,
            Holds::Text => false,
            _ if matches!(key, Expr::Rhai(_)) => false,
            // A character is no text.
            _ if matches!(key, Expr::Index(on, _) if self.kind(on) == Holds::Text) => true,
            _ if self.keys_at(map) == Holds::Text => false,
            _ => self.python || self.numbered.contains(map),
        }
    }

    /// `d[a, b]` as what it is: one key, which is a tuple.
    pub(super) fn with_one_key(&self, value: &Expr) -> Option<Expr> {
        let Expr::Index(on, places) = value else { return None };
        (self.python && places.len() > 1 && self.kind(on) == Holds::Map).then_some(())?;
        let part = |place: &IndexPlace| match place {
            IndexPlace::One(part) => Some(part.clone()),
            _ => None,
        };
        let key = Expr::Tuple(places.iter().map(part).collect::<Option<Vec<Expr>>>()?);
        Some(Expr::Index(on.clone(), vec![IndexPlace::One(key)]))
    }

    /// What the keys of a dictionary that is made here are.
    pub(super) fn keys_of_value(&self, value: &Expr) -> Holds {
        match value {
            Expr::Dict(pairs) => {
                let mut kinds = pairs.iter().map(|(key, _)| self.kept(key));
                let first = kinds.next().unwrap_or(Holds::Other);
                if kinds.all(|kind| kind == first) { first } else { Holds::Other }
            }
            Expr::Comprehension(_, Some(key), loops) => match (key.as_ref(), loops.as_slice()) {
                (Expr::Tuple(_), _) => Holds::Tuple,
                (Expr::Name(key), [one]) => {
                    let bound = self.bound_of_items(&one.names, &one.items);
                    bound.into_iter().find(|(name, _)| name == key).map_or(Holds::Other, |(_, holds)| holds)
                }
                _ => Holds::Other,
            },
            Expr::Call(callee, _) => self.known_of_call(callee, "{}"),
            value => place(value).map_or(Holds::Other, |own| self.keys_at(&own)),
        }
    }

    /// A key as the text that a map has in its place.
    pub(super) fn key_of(&mut self, map: &str, key: &Expr) -> Option<String> {
        let kind = match self.kept(key) {
            Holds::Negative => Holds::Int,
            kind => kind,
        };
        let own = field_of(map);
        if matches!(kind, Holds::Int | Holds::Tuple | Holds::Text) {
            self.note(format!("{own}{{}}"), kind);
        }
        if self.is_number_of(map, key) { self.key(key) } else { self.expr(key) }
    }

    /// Whether the keys of a dictionary are read from the texts that a map has for them.
    pub(super) fn reads_keys(&self, map: &Expr) -> bool {
        let known = |own: String| matches!(self.keys_at(&own), Holds::Int | Holds::Tuple);
        self.python && self.kind(map) == Holds::Map && place(map).is_some_and(known)
    }

    /// What the keys are that pairs of a dictionary have.
    pub(super) fn keys_of_items(&self, map: &Expr) -> Holds {
        match self.kind(map) {
            Holds::Map if self.reads_keys(map) => self.known_items(map),
            Holds::Map => Holds::Text,
            _ => Holds::Other,
        }
    }

    /// Arguments of a method of a dictionary, the first of which is a key.
    pub(super) fn keyed(
        &mut self,
        (on, text): (&Expr, &str),
        name: &str,
        arguments: &[Arg],
    ) -> Option<Vec<Arg>> {
        let takes = matches!(name, "pop" | "setdefault" | "has_key" | "get");
        let (true, Holds::Map, [key, rest @ ..]) = (takes && self.python, self.kind(on), arguments) else {
            return None;
        };
        (self.kind(&key.value) != Holds::Text).then_some(())?;
        let value = Expr::Rhai(self.key_of(text, &key.value)?);
        Some([Arg { value, ..key.clone() }].into_iter().chain(rest.iter().cloned()).collect())
    }

    /// What goes through the keys of a dictionary that are read from texts.
    pub(super) fn of_keys(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<Option<String>> {
        (arguments.is_empty() && self.reads_keys(on)).then_some(())?;
        match name {
            "keys" => Some(self.keys(on)),
            "items" => Some(
                self.on(on)
                    .map(|on| format!("list({on}.items()).map(|pair| [parse_json(pair[0]), pair[1]])")),
            ),
            _ => None,
        }
    }

    /// The keys of a dictionary.
    pub(super) fn keys(&mut self, map: &Expr) -> Option<String> {
        let keys = format!("{}.keys()", self.on(map)?);
        Some(if self.reads_keys(map) { format!("{keys}.map(|k| parse_json(k))") } else { keys })
    }

    /// A number as the text that a map has in its place.
    pub(super) fn key(&mut self, key: &Expr) -> Option<String> {
        self.uses(Idiom::MapKey);
        Some(match key {
            Expr::Number(number) => format!("\"{number}\""),
            key => format!("`${{{}}}`", self.expr(key)?),
        })
    }
}

fn is_plain(key: &Expr) -> bool {
    match key {
        Expr::Number(_) | Expr::Text(_) => true,
        Expr::Unary("-", of) => matches!(of.as_ref(), Expr::Number(_)),
        _ => false,
    }
}

/// Code as a text.
fn quoted(code: &str) -> String {
    format!("\"{}\"", code.replace('\\', "\\\\").replace('"', "\\\""))
}
