//! Arrays and maps that are changed where they are a copy: Python has the same one there.

use super::book::Idiom;
use super::kinds::place;
use super::lex::has_word;
use super::statements::Statements;
use super::tree::Expr;
use super::writer::{Holds, Writer};

/// Methods that change an array or a map.
const METHODS: [&str; 7] = ["push", "append", "insert", "remove", "pop", "clear", "mixin"];
/// The same, where nothing takes what they give: of a tensor they give another.
const ORDERS: [&str; 2] = ["sort", "reverse"];

/// Whether lines change the array or the map that a variable has.
pub(super) fn changes(lines: &[String], name: &str) -> bool {
    grows(lines, name) || writes(lines, name)
}

/// Whether lines call what changes how much there is in an array or a map.
pub(super) fn grows(lines: &[String], name: &str) -> bool {
    lines.iter().any(|line| {
        behind(line, name).any(|(before, behind)| {
            let rest = inside(behind);
            let call = rest.strip_prefix('.').and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
            let orders = |call| begins(before) && rest.ends_with(");") && ORDERS.contains(&call);
            call.is_some_and(|call| METHODS.contains(&call) || orders(call))
                || begins(before) && rest.starts_with(" += [")
        })
    })
}

/// What stands behind the places and the fields that a variable is followed by: `.push(1)` of `["a"].b.push(1)`.
fn inside(behind: &str) -> &str {
    let mut rest = behind;
    loop {
        let next = match rest.chars().next() {
            Some('[') => {
                let mut depth = 0;
                let end = rest.char_indices().find(|(_, c)| {
                    depth += i32::from(*c == '[') - i32::from(*c == ']');
                    depth == 0
                });
                end.and_then(|(at, _)| rest.get(at + 1..))
            }
            Some('.') => {
                let name = |c: char| c.is_alphanumeric() || c == '_';
                let behind = rest.trim_start_matches('.').trim_start_matches(name);
                Some(behind).filter(|behind| behind.starts_with(['.', '[']))
            }
            _ => None,
        };
        let Some(next) = next else { return rest };
        rest = next;
    }
}

/// Whether a statement begins behind what stands before.
fn begins(before: &str) -> bool {
    before.trim_end().is_empty() || before.trim_end().ends_with(['{', ';'])
}

/// The lines of a function that are none of a closure's in it.
fn own_lines(body: &[String]) -> Vec<&str> {
    let (mut own, mut closure): (Vec<&str>, Option<usize>) = (Vec::new(), None);
    for line in body {
        let column = line.len() - line.trim_start().len();
        match closure {
            Some(outer) if column > outer => continue,
            _ => closure = None,
        }
        if line.ends_with("| {") {
            closure = Some(column);
        }
        own.push(line);
    }
    own
}

/// What stands before and behind a name that is no part of another.
fn behind<'l>(line: &'l str, name: &str) -> impl Iterator<Item = (&'l str, &'l str)> {
    let length = name.len();
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let parts = line.match_indices(name).map(|(at, _)| at).collect::<Vec<_>>().into_iter();
    parts.filter_map(move |at| {
        let (before, from) = line.split_at_checked(at)?;
        let behind = from.get(length..).unwrap_or_default();
        (!before.ends_with(belongs)).then_some((before, behind))
    })
}

/// Whether lines give a place in an array or a map another value.
fn writes(lines: &[String], name: &str) -> bool {
    written(lines, name, &["= ", "+= ", "-= ", "*= "])
}

/// Whether lines change the number at a place in an array or a map.
pub(super) fn adds(lines: &[String], name: &str) -> bool {
    written(lines, name, &["+= ", "-= ", "*= "])
}

fn written(lines: &[String], name: &str, signs: &[&str]) -> bool {
    let written = |behind: &str| {
        behind.starts_with('[')
            && behind
                .split_once("] ")
                .is_some_and(|(_, rest)| signs.iter().any(|sign| rest.starts_with(sign)))
    };
    lines.iter().any(|line| behind(line, name).any(|(before, behind)| begins(before) && written(behind)))
}

impl Statements<'_, '_, '_> {
    /// Has a function give back the parameters that it changes, where it gives nothing else.
    pub(super) fn gives_back(
        &mut self,
        name_of: &str,
        params: &[(String, Option<String>)],
        body: &mut Vec<String>,
    ) {
        self.writer.gives_back.remove(name_of);
        self.writer.gives_itself.remove(name_of);
        let params: Vec<&str> = params.iter().map(|(param, _)| param.as_str()).collect();
        let all: Vec<usize> = self.changed_of(&params, body);
        let names: Vec<&str> = all.iter().filter_map(|at| params.get(*at)).copied().collect();
        if names.is_empty() {
            return;
        }
        let anew = names.iter().any(|name| self.named_anew(name, body).is_some());
        self.writer.uses(Idiom::Copied);
        let back = match names.as_slice() {
            [name] => (*name).to_owned(),
            names => format!("[{}]", names.join(", ")),
        };
        let own = own_lines(body);
        let given: Vec<&str> = own.iter().copied().filter(|line| has_word(line, "return")).collect();
        let all_are = |wanted: &str| {
            given.iter().all(|line| line.matches("return").count() == line.matches(wanted).count())
        };
        let nothing = all_are("return;");
        let itself = names.len() == 1 && all_are(&format!("return {back};"));
        if anew || !(nothing || itself) {
            return self.lost_here(&names, body);
        }
        if given.is_empty() || nothing {
            let (inside, outside) = (format!("return {back};"), own.len() == body.len());
            if !given.is_empty() && !outside {
                return self.lost_here(&names, body);
            }
            body.iter_mut().for_each(|line| *line = line.replace("return;", &inside));
            body.push(back);
        } else {
            self.writer.gives_itself.insert(name_of.to_owned());
        }
        self.writer.gives_back.insert(name_of.to_owned(), all);
    }

    /// Says of the parameters of a function or a method that what changes in them is lost.
    pub(super) fn lost_of(&mut self, params: &[String], body: &mut Vec<String>) {
        let params: Vec<&str> = params.iter().map(String::as_str).collect();
        let all = self.changed_of(&params, body);
        let names: Vec<&str> = all.iter().filter_map(|at| params.get(*at)).copied().collect();
        if !names.is_empty() && self.writer.python {
            self.lost_here(&names, body);
        }
    }

    fn lost_here(&mut self, names: &[&str], body: &mut Vec<String>) {
        self.writer.uses(Idiom::Unknown);
        let names = names.join("`, `");
        body.insert(0, format!("// ? `{names}` is a copy: what changes in it here is lost"));
    }

    /// The line that gives a parameter another value of the function's own, which is nobody else's.
    fn named_anew(&self, param: &str, body: &[String]) -> Option<usize> {
        let names = |line: &String| {
            behind(line, param).any(|(before, rest)| {
                let line = format!("{param}{}", rest.split_once(';').map_or(rest, |(line, _)| line));
                let got_back = self.writer.got_back.iter().any(|(_, own)| *own == line);
                begins(before) && rest.starts_with(" = ") && !got_back
            })
        };
        body.iter().position(names)
    }

    /// Which of the parameters a body changes, while they are still what was given.
    fn changed_of(&self, params: &[&str], body: &[String]) -> Vec<usize> {
        let changed = |param: &str| {
            let before = body.get(..self.named_anew(param, body).unwrap_or(body.len())).unwrap_or_default();
            changes(before, param)
                || self.writer.changes_object(before, param)
                || self.gets_back(before, param)
        };
        params.iter().enumerate().filter(|(_, param)| changed(param)).map(|(at, _)| at).collect()
    }

    /// Whether lines give a variable what a function has changed of it.
    pub(super) fn gets_back(&self, lines: &[String], name: &str) -> bool {
        let own = self.writer.got_back.iter().filter(|(root, _)| root == name);
        own.into_iter().any(|(_, own)| lines.iter().any(|line| line.contains(own)))
    }

    /// Notes what is known of a variable or a field by the class that has made it.
    pub(super) fn note_class(&mut self, own: &str, value: &Expr) {
        let writer = &mut self.writer;
        let numbered = match value {
            Expr::Comprehension(_, Some(key), _) => writer.kind(key) != Holds::Text,
            Expr::Dict(pairs) => pairs.iter().any(|(key, _)| writer.kind(key) == Holds::Int),
            // `dict(enumerate(names))`
            Expr::Call(callee, given) => {
                let is_dict = matches!(callee.as_ref(), Expr::Name(name) if name == "dict");
                is_dict && given.iter().any(|argument| argument.name.is_none())
            }
            Expr::Name(other) => writer.numbered.contains(other),
            _ => false,
        };
        match numbered {
            true => writer.numbered.insert(own.to_owned()),
            false => writer.numbered.remove(own),
        };
        let of_call = || writer.class_of(value).map(str::to_owned);
        let class = writer.class_of_value(value).or_else(of_call);
        let class = class.filter(|class| writer.is_class(class));
        writer.objects.remove(own);
        let Some(class) = class else {
            writer.made.remove(own);
            return;
        };
        // What a method gives is not what it is of.
        if writer.kin.contains_key(&class) && writer.class_of_value(value).is_none() {
            writer.made.remove(own);
            return;
        }
        let direct = writer.class_of_value(value).is_some()
            || matches!(value, Expr::Call(callee, _) if matches!(callee.as_ref(), Expr::Name(_)));
        if direct && writer.objects.contains(&format!("{class}()")) {
            writer.objects.insert(own.to_owned());
        }
        if let Some(takes) = writer.forwards.get(&class).cloned() {
            writer.forwards.insert(own.to_owned(), takes);
        }
        writer.made.insert(own.to_owned(), class);
    }

    /// Notes whether a variable is a copy of an array or a map, or of what lies in one.
    pub(super) fn note_copy(&mut self, target: &Expr, value: &Expr) {
        let handed = self.writer.handed.len();
        self.writer.note_object(value);
        // A second name is another matter.
        self.writer.handed.truncate(handed);
        let Expr::Name(name) = target else { return };
        let of = match value {
            Expr::Index(on, _) => on,
            value => value,
        };
        let is_copy = matches!(value, Expr::Name(_) | Expr::Index(..))
            && matches!(self.writer.kind(of), Holds::Array | Holds::Map);
        // Either of both names may be the one that is changed.
        if let (true, Expr::Name(other)) = (is_copy, value) {
            self.writer.copies.insert(other.clone());
        }
        // What lies in an array may be an object.
        let may_be = matches!(value, Expr::Index(..)) && !self.writer.changing.is_empty();
        match is_copy || may_be {
            true => self.writer.copies.insert(name.clone()),
            false => self.writer.copies.remove(name),
        };
    }
}

impl Writer<'_> {
    /// Notes that an object that methods change is copied where Python has the same one.
    pub(super) fn note_object(&mut self, value: &Expr) {
        let Some(text) = place(value).filter(|text| self.objects.contains(text)) else { return };
        let class = self.class_at(&text);
        if self.changing.values().any(|own| class == Some(own)) {
            self.uses(Idiom::Shared);
        }
        self.handed.push(text);
    }

    /// Whether lines change an object that has a name there: by a method, or a field of its own.
    pub(super) fn changes_object(&self, lines: &[String], name: &str) -> bool {
        const SIGNS: [&str; 5] = [" = ", " += ", " -= ", " *= ", " /= "];
        lines.iter().any(|line| {
            behind(line, name).any(|(before, rest)| {
                let rest = inside(rest).strip_prefix('.').unwrap_or_default();
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (last, behind) = rest.split_at_checked(end).unwrap_or_default();
                let sets = || begins(before) && SIGNS.iter().any(|sign| behind.starts_with(sign));
                behind.starts_with('(') && self.changing.contains_key(last)
                    || self.own_fields.contains(last) && sets()
            })
        })
    }

    /// Whether a class of the program's has this name.
    fn is_class(&self, name: &str) -> bool {
        self.fields.contains_key(name) || self.objects.contains(&format!("{name}()"))
    }
}
