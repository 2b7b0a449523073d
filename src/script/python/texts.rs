//! Methods of texts and maps; Python's texts can't be changed, so that a name is bound to another one.

use super::lists::{WrittenCall, atom};
use super::tree::Expr;
use super::writer::{PythonWriter, Type};

const ATOM: u8 = 14;

impl PythonWriter {
    /// A method of a text, or of what may be one.
    pub(super) fn text_method(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let is_text = self.type_of(on) == Type::Text;
        let is_int = |writer: &Self, value: &Expr| writer.type_of(value) == Type::Int;
        let is_word = |writer: &Self, value: &Expr| writer.type_of(value) == Type::Text;
        match (name, given) {
            _ if !matches!(self.type_of(on), Type::Text | Type::Other) => None,
            ("sub_string", [_] | [_, _]) => {
                let part = self.slice(given);
                atom(format!("{}[{part}", self.bound(on, ATOM)))
            }
            ("index_of", [find]) if is_text => {
                atom(format!("{}.find({})", self.bound(on, ATOM), self.expr(find)))
            }
            ("index_of", [find, start]) if is_text => {
                atom(format!("{}.find({}, {})", self.bound(on, ATOM), self.expr(find), self.expr(start)))
            }
            ("split", [place]) if is_text && is_int(self, place) => {
                let (on, place) = (self.bound(on, ATOM), self.expr(place));
                atom(format!("[{on}[:{place}], {on}[{place}:]]"))
            }
            ("split", [by, Expr::Number(count)]) if is_word(self, by) => {
                let cuts = count.parse::<i64>().map_or(0, |count| count.saturating_sub(1).max(0));
                atom(format!("{}.split({}, {cuts})", self.bound(on, ATOM), self.expr(by)))
            }
            ("split_rev", [by]) => atom(format!("{}.split({})[::-1]", self.bound(on, ATOM), self.expr(by))),
            ("split_rev", [by, Expr::Number(count)]) => {
                let cuts = count.parse::<i64>().map_or(0, |count| count.saturating_sub(1).max(0));
                atom(format!("{}.rsplit({}, {cuts})[::-1]", self.bound(on, ATOM), self.expr(by)))
            }
            ("to_chars", []) => atom(format!("list({})", self.expr(on))),
            ("chars", []) => atom(self.bound(on, ATOM)),
            ("bytes", []) => atom(format!("len({}.encode())", self.bound(on, ATOM))),
            ("parse_json", []) => {
                self.imports.insert("import json");
                atom(format!("json.loads({})", self.expr(on)))
            }
            ("get", [place]) if is_text => {
                let (on, place) = (self.bound(on, ATOM), self.expr(place));
                Some((format!("{on}[{place}] if -len({on}) <= {place} < len({on}) else None"), 0))
            }
            ("to_blob", _) => {
                self.note_lost(format!("Python's texts have no `{name}`"));
                None
            }
            _ => self.text_changed(on, name, given, is_text),
        }
    }

    /// A text that is changed in place here.
    fn text_changed(&mut self, on: &Expr, name: &str, given: &[Expr], is_text: bool) -> Option<WrittenCall> {
        let is_place = super::lists::is_simple(on) && !matches!(on, Expr::Text(_) | Expr::Number(_));
        let changes = matches!(name, "trim" | "make_upper" | "make_lower" | "crop")
            || name == "replace" && given.len() == 2
            || is_text
                && matches!(
                    name,
                    "truncate" | "pad" | "remove" | "clear" | "append" | "push" | "pop" | "set"
                );
        if !changes {
            return None;
        }
        if !is_place {
            self.note_lost(format!("Python's texts can't be changed, as `{name}` does"));
            return None;
        }
        let s = self.bound(on, ATOM);
        let text = match (name, given) {
            ("trim", []) => format!("{s}.strip()"),
            ("make_upper", []) => format!("{s}.upper()"),
            ("make_lower", []) => format!("{s}.lower()"),
            ("replace", [find, other]) => {
                format!("{s}.replace({}, {})", self.text(find, 0), self.text(other, 0))
            }
            ("crop", given) => format!("{s}[{}", self.slice(given)),
            ("truncate", [count]) => format!("{s}[:{}]", self.expr(count)),
            ("pad", [count, Expr::Text(fill)]) if fill.chars().count() == 1 => {
                format!("{s}.ljust({}, {})", self.expr(count), super::expr::quoted(fill))
            }
            ("remove", [find]) => format!("{s}.replace({}, \"\")", self.text(find, 0)),
            ("clear", []) => "\"\"".into(),
            ("append" | "push", [more]) => format!("{s} + {}", self.text(more, 10)),
            ("pop", []) => {
                let taken = self.made_up("taken");
                self.line(&format!("{taken} = {s}[-1:]"));
                self.line(&format!("{s} = {s}[:-1]"));
                return atom(taken);
            }
            ("set", [Expr::Number(place), letter]) if !place.starts_with('-') => {
                format!("{s}[:{place}] + {} + {s}[{place} + 1:]", self.text(letter, 10))
            }
            _ => {
                self.note_lost(format!("Python's texts have no `{name}`"));
                return None;
            }
        };
        self.line(&format!("{s} = {text}"));
        atom("None".into())
    }

    /// A method of a map.
    pub(super) fn map_method(&mut self, on: &Expr, name: &str, given: &[Expr]) -> Option<WrittenCall> {
        let of = self.type_of(on);
        let is_map = of == Type::Map;
        let by_name = |writer: &Self, key: &Expr| writer.type_of(key) == Type::Text;
        match (name, given) {
            // Names come in the order of the alphabet here.
            ("keys", []) if is_map => atom(format!("sorted({})", self.expr(on))),
            ("items", []) if is_map => atom(format!("sorted({}.items())", self.bound(on, ATOM))),
            ("values", []) if is_map => {
                let on = self.bound(on, ATOM);
                atom(format!("[{on}[name] for name in sorted({on})]"))
            }
            ("remove", [key]) if is_map || of == Type::Other && by_name(self, key) => {
                atom(format!("{}.pop({}, None)", self.bound(on, ATOM), self.expr(key)))
            }
            ("set", [key, value])
                if is_map || of == Type::Array || of == Type::Other && by_name(self, key) =>
            {
                let (on, key, value) = (self.bound(on, ATOM), self.expr(key), self.expr(value));
                self.line(&format!("{on}[{key}] = {value}"));
                atom("None".into())
            }
            ("fill_with", [other]) => {
                let (on, other) = (self.bound(on, ATOM), self.bound(other, 5));
                atom(format!("{on}.update({{**{other}, **{on}}})"))
            }
            ("to_json", []) => {
                self.imports.insert("import json");
                atom(format!("json.dumps({}, sort_keys=True, separators=(\",\", \":\"))", self.expr(on)))
            }
            _ => None,
        }
    }
}
