//! Methods: of modules, texts, lists, dictionaries and tensors.

use crate::base::name_map::NameMap;

use super::book::Idiom;
use super::kinds::place;
use super::marks::is_place;
use super::names;
use super::tree::{Arg, Expr, is_os};
use super::writer::{ATOM, Holds, LOOSE, Writer};

/// Methods that have another name here, and how many arguments they take.
const RENAMED: [(&str, usize, &str); 11] = [
    ("rev", 0, "reversed"),
    ("pop", 1, "remove"),
    ("upper", 0, "to_upper"),
    ("lower", 0, "to_lower"),
    ("startswith", 1, "starts_with"),
    ("endswith", 1, "ends_with"),
    ("find", 1, "index_of"),
    ("index", 1, "index_of"),
    ("extend", 1, "append"),
    ("update", 1, "mixin"),
    ("has_key", 1, "contains"),
];

impl Writer<'_> {
    /// A layer of a module that is called, and a method that a class of modules has.
    fn of_module(
        &mut self,
        (is_self, name): (bool, &str),
        holds: Holds,
        text: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        if is_self && self.holds(&format!("self.{name}")) == Some(Holds::Module) {
            self.uses(Idiom::Forward);
            let arguments = self.forwarded(&format!("{text}.{name}"), arguments)?;
            return Some(Some((format!("{text}.{name}.forward({arguments})"), ATOM)));
        }
        if is_self && self.holds(&format!("self.{name}")) == Some(Holds::Closure) {
            self.uses(Idiom::CallOfVariable);
            let arguments = self.arguments(arguments)?;
            return Some(Some((format!("{text}.{name}.call({arguments})"), ATOM)));
        }
        // A field of which nothing is known: a network that an object was made with, or a function.
        if is_self
            && self.objects.contains("self")
            && self.holds(&format!("self.{name}")) == Some(Holds::Other)
            && !self.forwards.contains_key(&format!(".{name}"))
            && !names::is_method(name)
        {
            let (idiom, method) = self.of_unknown(name, arguments);
            self.uses(idiom);
            let arguments = self.arguments(arguments)?;
            return Some(Some((format!("{text}.{name}.{method}({arguments})"), ATOM)));
        }
        if name == "forward" && self.forwards.contains_key(text) {
            let given = self.forwarded(text, arguments)?;
            return Some(Some((format!("{text}.forward({given})"), ATOM)));
        }
        if let Some(text) = self.of_field(text, name, holds, arguments) {
            return text.map(|text| Some((text, ATOM)));
        }
        let known = is_self || holds == Holds::Module || holds == Holds::Other && !names::is_method(name);
        let Some(closure) = self.methods.get(name).filter(|_| known).cloned() else { return Some(None) };
        let given = match self.functions.contains_key(&closure) {
            true => self.in_order(&closure, true, arguments)?,
            false => self.arguments(arguments)?,
        };
        let given = if given.is_empty() { text.to_owned() } else { format!("{text}, {given}") };
        Some(Some((format!("{closure}.call({given})"), ATOM)))
    }

    /// A call of a field that is a module, by the class that has it; of what is not known, by any that has.
    fn of_field(&mut self, on: &str, name: &str, holds: Holds, arguments: &[Arg]) -> Option<Option<String>> {
        let class = match self.class_at(on).cloned() {
            Some(class) => {
                let (_, own) = self.fields.get(&class)?.get(name).filter(|(of, _)| *of == Holds::Module)?;
                own.clone()
            }
            None => {
                let may_be = matches!(holds, Holds::Module | Holds::Other)
                    && !names::is_method(name)
                    && !self.methods.contains_key(name)
                    && !self.forwards.contains_key(&format!(".{name}"));
                let is = |all: &NameMap<(Holds, Option<String>)>| {
                    all.get(name).is_some_and(|(of, _)| *of == Holds::Module)
                };
                (may_be && self.fields.values().any(is)).then_some(())?;
                None
            }
        };
        self.uses(Idiom::Forward);
        let given = match class {
            Some(class) => self.forwarded(&class, arguments),
            None => self.arguments(arguments),
        };
        Some(given.map(|given| format!("{on}.{name}.forward({given})")))
    }

    /// Python's own type where a dtype is asked for, which is the wide one: `x.to(int)`.
    fn wide(&self, method: &str, arguments: &[Arg]) -> Option<Arg> {
        let [Arg { name: None, spread: false, value: Expr::Name(name) }] = arguments else { return None };
        let dtype = match (method, name.as_str()) {
            ("to" | "type", "int") => "int64",
            ("to" | "type", "float") => "float64",
            _ => return None,
        };
        let value = Expr::Rhai(dtype.into());
        (self.python && self.holds(name).is_none()).then_some(Arg { name: None, spread: false, value })
    }

    /// What changes a value's type, and what changes a list in place.
    fn converted(
        &mut self,
        (text, holds): (&str, Holds),
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        let made = |text: String| Some(Some((text, ATOM)));
        let plain = arguments.iter().all(|argument| argument.name.is_none());
        let may_be_text = matches!(holds, Holds::Text | Holds::Other);
        match (name, arguments) {
            // `append` of what stands in brackets is told of as Python's.
            ("extend", [one])
                if matches!(one.value, Expr::List(_))
                    && (holds == Holds::Array || self.is_refused("extend")) =>
            {
                self.uses(Idiom::Method);
                Some(Some((format!("{text} += {}", self.expr(&one.value)?), LOOSE)))
            }
            ("type", []) if !matches!(holds, Holds::Map | Holds::Module) => {
                self.uses(Idiom::Property);
                made(format!("{text}.dtype"))
            }
            ("type", [dtype]) if plain => {
                self.uses(Idiom::Method);
                made(format!("{text}.to({})", self.expr(&dtype.value)?))
            }
            ("sort", [_, ..]) if holds == Holds::Array && !plain => {
                self.uses(Idiom::Sorted);
                Some(Some((format!("{text} = sorted({text}, {})", self.arguments(arguments)?), LOOSE)))
            }
            ("to_int" | "to_float", [])
                if may_be_text && self.said.refused.as_ref().is_some_and(|(_, of)| of == "string") =>
            {
                self.uses(Idiom::Number);
                made(format!("parse_{}({text})", name.trim_start_matches("to_")))
            }
            ("to_int" | "to_float", [])
                if self.said.refused.as_ref().is_some_and(|(_, of)| of == "Tensor") =>
            {
                self.uses(Idiom::Number);
                made(format!("{text}.item().{name}()"))
            }
            ("extend", [one]) if self.python && plain => self.extended((text, holds), &one.value),
            // `d.update(a=1)`
            ("update", [_, ..])
                if holds == Holds::Map && arguments.iter().all(|argument| argument.name.is_some()) =>
            {
                self.uses(Idiom::Method);
                made(format!("{text}.mixin({})", self.map_of(arguments)?))
            }
            ("copy", []) if matches!(holds, Holds::Array | Holds::Map) => {
                self.uses(Idiom::Copy);
                made(text.to_owned())
            }
            _ => Some(None),
        }
    }

    /// `xs.extend(items)` of what gives items and is no list, or may be none.
    fn extended(&mut self, (text, holds): (&str, Holds), items: &Expr) -> Option<Option<(String, u8)>> {
        let given = match (self.kind(items), holds) {
            (_, Holds::Module | Holds::Tensor) => return Some(None),
            (Holds::Tensor, _) => format!("{}.tolist()", self.on(self.without_numpy(items))?),
            (Holds::Array, Holds::Array) => return Some(None),
            _ if self.forwards.contains_key(".extend") => return Some(None),
            (Holds::Other, _) => format!("list({})", self.expr(items)?),
            _ => self.items(items)?,
        };
        self.uses(Idiom::Method);
        Some(Some((format!("{text}.append({given})"), ATOM)))
    }

    /// `xs.append(x)`
    fn pushed(&mut self, list: &str, item: &Expr) -> Option<String> {
        self.uses(Idiom::Append);
        if self.copies.contains(list) {
            self.uses(Idiom::Copied);
        }
        self.note_object(item);
        self.hand_lists(item);
        Some(format!("{list}.push({})", self.expr(item)?))
    }

    /// `xs.remove(x)`, which takes a place here: what is not known may only be a list, or what the program has such a
    /// method for.
    fn removed(&mut self, (on, text): (&Expr, &str), holds: Holds, item: &Expr) -> Option<String> {
        let item = self.expr(item)?;
        if holds == Holds::Other && self.forwards.contains_key(".remove") {
            self.mark(&format!("`{text}` may be a list, and `remove` takes a place there"));
            return Some(format!("{text}.remove({item})"));
        }
        self.uses(Idiom::Remove);
        if self.tried && is_place(on) {
            let fails = "throw ValueError(\"list.remove(x): x not in list\");";
            self.prelude.push(format!("if {item} !in {text} {{ {fails} }}"));
        }
        if !is_place(on) {
            self.mark(&format!("`{text}` is a copy: nothing is removed from what it is of"));
        }
        Some(format!("{text}.remove({text}.index_of({item}))"))
    }

    /// `groups.setdefault(key, []).append(x)`: what is changed is what the map has, and no copy of it.
    fn set_default(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<Option<(String, u8)>> {
        let Expr::Call(callee, given) = on else { return None };
        let (Expr::Attr(map, set), [key, default]) = (callee.as_ref(), given.as_slice()) else { return None };
        (set == "setdefault" && self.python).then_some(())?;
        let mut place = || {
            let (map_text, default) = (self.on(map)?, self.expr(&default.value)?);
            let key = self.key_of(&map_text, &key.value)?;
            let place = format!("{map_text}[{key}]");
            self.prelude.push(format!("if !{map_text}.contains({key}) {{ {place} = {default}; }}"));
            self.uses(Idiom::Method);
            match (name, arguments) {
                ("append", [one]) => self.pushed(&place, &one.value).map(|text| (text, ATOM)),
                _ => None,
            }
        };
        Some(place())
    }

    /// `", ".join(items)`
    pub(super) fn joined(&mut self, between: &Expr, items: &Expr) -> Option<String> {
        self.uses(Idiom::Join);
        self.mark_shown(items);
        let (between, items) = (self.expr(between)?, self.items(items)?);
        Some(match between.as_str() {
            "\"\"" => format!("{items}.reduce(|all, x| all + x, \"\")"),
            // It begins with nothing.
            _ => format!("{items}.reduce(|all, x| if all == () {{ x }} else {{ all + {between} + x }})"),
        })
    }

    /// A method of the program's own classes, so far as they are known.
    fn of_own_class(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<Option<(String, u8)>> {
        let of_itself = self.of_base(on, name, arguments);
        if let Some(found) = of_itself.or_else(|| self.of_class_itself(on, name, arguments)) {
            return Some(found.map(|text| (text, ATOM)));
        }
        let class = self.class_of_value(on).filter(|class| self.has_method(class, name))?;
        self.note_change((on, ""), name);
        Some(self.of_class(&class, on, name, arguments))
    }

    /// A method of a dictionary whose keys or values are its own matter, or of a set.
    fn of_collection(
        &mut self,
        (on, text): (&Expr, &str),
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        if let Some(found) = self.of_keys(on, name, arguments) {
            return Some(found.map(|text| (text, LOOSE)));
        }
        if let Some(found) = self.of_counter(on, name, arguments) {
            return Some(found);
        }
        if !self.is_set(on) {
            return None;
        }
        self.of_set(text, name, arguments).map(|text| Some((text, LOOSE)))
    }

    pub(super) fn method(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        let on = self.without_numpy(on);
        let wide = self.wide(name, arguments);
        let arguments = wide.as_ref().map_or(arguments, std::slice::from_ref);
        if names::is_absent(name) || is_os(on) || name == "exists" && is_path(on) {
            return self.of_environment(name, arguments).filter(|_| is_os(on)).map(|text| (text, ATOM));
        }
        let holds = self.kind(on);
        match (on, name, arguments) {
            (Expr::Text(raw), "format", _) => return atom(self.formatted(raw, arguments)?),
            (Expr::Text(_), "join", [items]) => return atom(self.joined(on, &items.value)?),
            _ => {}
        }
        self.note_arguments(name, arguments);
        if let Some(found) = self.set_default(on, name, arguments) {
            return found;
        }
        if let Some(found) = self.of_own_class(on, name, arguments) {
            return found;
        }
        let text = self.changed_on(on, name)?;
        let keyed = self.keyed((on, &text), name, arguments);
        let arguments = keyed.as_deref().unwrap_or(arguments);
        if let Some(found) = self.of_collection((on, &text), name, arguments) {
            return found;
        }
        let is_self = text == "self" || text.starts_with("self.");
        let plain = arguments.iter().all(|argument| argument.name.is_none());
        self.note_change((on, &text), name);
        if let Some(found) = self.of_object(&text, name, arguments) {
            return atom(found);
        }
        if let Some(found) = self.of_module((is_self, name), holds, &text, arguments)? {
            return Some(found);
        }
        let arguments = self.gathered(name, arguments)?;
        let arguments = arguments.as_slice();
        let is_known = matches!(holds, Holds::Array | Holds::Map | Holds::Text);
        if plain
            && (!is_self || is_known)
            && let Some(found) = self.method_by_template((&text, holds), name, arguments)
        {
            self.uses(Idiom::Method);
            return Some((found, LOOSE));
        }
        if let Some(found) = self.converted((&text, holds), name, arguments)? {
            return Some(found);
        }
        if let Some(found) = self.of_list((on, &text), holds, name, arguments) {
            return found;
        }
        let is_named = matches!(name, "numel" | "item" | "tolist");
        if arguments.is_empty() && !is_named && self.is_value(name, holds) {
            self.uses(Idiom::Property);
            return atom(format!("{text}.{name}"));
        }
        let here = self.renamed((name, holds), arguments);
        let arguments = self.arguments(arguments)?;
        atom(format!("{text}.{}({arguments})", here.unwrap_or(name)))
    }

    /// Methods of lists, texts and dictionaries that are written in a way of their own.
    fn of_list(
        &mut self,
        (on, text): (&Expr, &str),
        holds: Holds,
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        let plain = arguments.iter().all(|argument| argument.name.is_none());
        match (name, arguments) {
            ("append", [one])
                if !matches!(holds, Holds::Text | Holds::Module)
                    && plain
                    && (self.python || !self.is_array_of_rhai(one)) =>
            {
                self.note_item(on, &one.value);
                Some(self.pushed(text, &one.value).map(|text| (text, ATOM)))
            }
            ("replace", [_, _]) | ("strip" | "trim", [])
                if plain && !matches!(holds, Holds::Array | Holds::Map | Holds::Module | Holds::Tensor) =>
            {
                Some(self.changed_text(text, name, arguments))
            }
            ("remove", [one])
                if matches!(holds, Holds::Array | Holds::Other)
                    && (self.python || holds == Holds::Array && self.is_refused("remove")) =>
            {
                Some(self.removed((on, text), holds, &one.value).map(|text| (text, ATOM)))
            }
            // What fails there gives a value here.
            ("index", [one]) if self.tried && is_place(on) && matches!(holds, Holds::Array | Holds::Text) => {
                let item = self.expr(&one.value)?;
                let fails = "throw ValueError(\"it is not in there\");";
                self.prelude.push(format!("if {item} !in {text} {{ {fails} }}"));
                None
            }
            ("pop", []) if self.tried && is_place(on) && holds == Holds::Array => {
                let fails = "throw IndexError(\"pop from empty list\");";
                self.prelude.push(format!("if {text}.is_empty() {{ {fails} }}"));
                None
            }
            ("get", [key, rest @ ..])
                if plain
                    && (!rest.is_empty() || holds == Holds::Map && self.is_number_of(text, &key.value)) =>
            {
                Some(self.gotten((text, holds), &key.value, rest))
            }
            _ => None,
        }
    }

    /// Whether what is called is a value here: where a class of the program's has such a method, it may be that.
    fn is_value(&self, name: &str, holds: Holds) -> bool {
        let is_own = holds != Holds::Tensor && self.forwards.contains_key(&format!(".{name}"));
        names::is_property(name) && holds != Holds::Map && !is_own
    }

    /// What a method of a text, a list or a dictionary is called here, where it has another name.
    fn renamed(&mut self, (name, holds): (&str, Holds), arguments: &[Arg]) -> Option<&'static str> {
        let (_, _, here) =
            RENAMED.iter().find(|(own, count, _)| *own == name && *count == arguments.len())?;
        let plain = arguments.iter().all(|argument| argument.name.is_none());
        let known = matches!(holds, Holds::Text | Holds::Array | Holds::Map);
        let gives = |kind: Holds| arguments.iter().any(|argument| self.kind(&argument.value) == kind);
        // A dictionary is what a dictionary of Python's updates.
        let of_rhai = arguments.iter().any(|argument| matches!(argument.value, Expr::Map(_)));
        let updates = name == "update" && gives(Holds::Map) && !of_rhai;
        let ambiguous = gives(Holds::Closure) || (!known && !updates && names::is_method(name));
        let is = plain && holds != Holds::Tensor && !ambiguous && (name != "pop" || holds == Holds::Array);
        is.then_some(())?;
        self.uses(Idiom::Method);
        Some(here)
    }

    /// `s.replace("a", "b")` and `s.strip()`, which give a text and leave the old one.
    fn changed_text(&mut self, text: &str, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        self.uses(Idiom::InPlace);
        let name = if name == "strip" { "trim" } else { name };
        let (own, arguments) = (self.free_name("text"), self.arguments(arguments)?);
        Some((format!("{{ let {own} = {text}; {own}.{name}({arguments}); {own} }}"), LOOSE))
    }

    /// `d.get(key)` and `d.get(key, default)`
    fn gotten(&mut self, (text, holds): (&str, Holds), key: &Expr, rest: &[Arg]) -> Option<(String, u8)> {
        self.uses(Idiom::GetDefault);
        let key = if holds == Holds::Map { self.key_of(text, key)? } else { self.expr(key)? };
        match rest {
            [] => Some((format!("{text}.get({key})"), ATOM)),
            [default] => Some((format!("{text}.get({key}) ?? {}", self.bound(&default.value, 136)?), 135)),
            _ => None,
        }
    }

    /// Notes that a method changes a copy of an object: one with a second name, or what another method gave back of it.
    fn note_change(&mut self, (on, text): (&Expr, &str), name: &str) {
        if matches!(name, "update" | "setdefault") {
            self.ordered.remove(text);
        }
        let changes = |name: &str| self.changing.contains_key(name);
        let given_back = || match on {
            Expr::Call(callee, _) => matches!(callee.as_ref(), Expr::Attr(_, before) if changes(before)),
            _ => false,
        };
        let text = place(on).unwrap_or_else(|| text.to_owned());
        if changes(name) && (self.copies.contains(&text) || given_back()) {
            self.uses(Idiom::Shared);
        }
    }

    /// Rhai's `append` takes an array: only another value is Python's.
    fn is_array_of_rhai(&self, argument: &Arg) -> bool {
        let tuple = matches!(argument.value, Expr::Tuple(_));
        // What is not known may be one.
        !tuple
            && !self.is_refused("append")
            && matches!(self.kind(&argument.value), Holds::Array | Holds::Other)
    }

    fn is_refused(&self, name: &str) -> bool {
        self.said.refused.as_ref().is_some_and(|(refused, _)| refused == name)
    }
}

/// `os.path`
fn is_path(value: &Expr) -> bool {
    matches!(value, Expr::Attr(on, name) if name == "path" && is_os(on))
}
