//! The closure that makes the objects of a class, behind what the class has itself and before what makes it in other ways.

use super::blocks::written;
use super::book::Idiom;
use super::classes::{closed, replaced};
use super::functions::Parameter;
use super::objects::Object;
use super::statements::Statements;
use super::writer::Holds;

impl Object {
    /// The lines of the class; none where it is made only under a condition.
    pub(super) fn lines(self) -> Option<Vec<String>> {
        let (mut lines, rest) = self.begun()?;
        if let Some(base) = &self.base {
            lines.extend(self.supers.iter().map(|name| format!("made.{base}_{name} = made.{name};")));
        }
        if self.is_asked {
            lines.push(format!("made.__class__ = \"{}\";", self.name));
        }
        lines.extend(self.fields);
        let shows = |name: &str| self.methods.iter().any(|(method, ..)| method == name);
        let is_alike = shows("__repr__") && !shows("__str__");
        for (method, params, body) in self.methods {
            lines.extend(closed(written(&[(format!("made.{method} = |{}|", params.join(", ")), body)]), ";"));
        }
        lines.extend(is_alike.then(|| "made.__str__ = made.__repr__;".to_owned()));
        lines.extend(rest);
        lines.push("made".into());
        let params: Vec<&str> = self.params.iter().map(|(param, _)| param.as_str()).collect();
        let mut all = self.before;
        // A closure sees what is there before it.
        all.extend(self.makes_itself.then(|| format!("let {} = ();", self.name)));
        let word = if self.makes_itself { "" } else { "let " };
        let head = format!("{word}{} = |{}|", self.name, params.join(", "));
        all.extend(closed(written(&[(head, lines)]), ";"));
        all.extend(self.behind);
        Some(all)
    }

    /// What makes the map, and what is done with it once it has its methods; none where what it is derived from is made
    /// under a condition, or without what that takes.
    fn begun(&self) -> Option<(Vec<String>, Vec<String>)> {
        let empty = "let made = #{};".to_owned();
        let Some(base) = &self.base else { return Some((vec![empty], self.made.clone())) };
        let calls = [format!("made = {base}.call("), format!("made = call({base}")];
        let is_call = |line: &String| calls.iter().any(|call| line.starts_with(call));
        if let Some(at) = self.made.iter().position(is_call) {
            let (before, rest) = self.made.split_at_checked(at)?;
            let (made, rest) = rest.split_first()?;
            let value = made.strip_prefix("made = ")?.strip_suffix(';')?;
            let has_fields = before.iter().any(|line| line.contains("made."));
            let mut first: Vec<String> = has_fields.then_some(empty).into_iter().collect();
            first.extend(before.iter().cloned());
            first.push(match has_fields {
                true => format!("made.mixin({value});"),
                false => format!("let {made}"),
            });
            return Some((first, rest.to_vec()));
        }
        let has_call = |line: &String| calls.iter().any(|call| line.contains(call));
        (!self.made.iter().any(has_call)).then_some(())?;
        let given = match self.has_own_init {
            true if self.base_params > 0 => return None,
            true => String::new(),
            false => self.params.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let value = match (self.base_makes_itself, given.as_str()) {
            (true, "") => format!("call({base})"),
            (true, given) => format!("call({base}, {given})"),
            (false, given) => format!("{base}.call({given})"),
        };
        Some((vec![format!("let made = {value};")], self.made.clone()))
    }
}

impl Statements<'_, '_, '_> {
    /// Notes what a class has of the one that it is derived from.
    pub(super) fn inherit(&mut self, class: &str, base: Option<&str>) {
        let Some(base) = base else { return };
        let mut properties = self.writer.properties.get(base).cloned().unwrap_or_default();
        properties.extend(self.writer.properties.remove(class).unwrap_or_default());
        self.writer.properties.insert(class.to_owned(), properties);
        let of_base = self.writer.of_classes.clone();
        for (own, variable) in of_base {
            let field = own.strip_prefix(base).and_then(|rest| rest.strip_prefix('.'));
            if let Some(field) = field.filter(|_| !self.writer.functions.contains_key(&variable)) {
                self.writer.of_classes.insert(format!("{class}.{field}"), variable);
            }
        }
    }

    /// Notes which methods are called while an object is made, and marks those that a class derived from it has anew.
    pub(super) fn made_early(&mut self, object: &mut Object) {
        let own = |name: &String| object.methods.iter().any(|(method, ..)| method == name);
        let Some(kin) = self.writer.kin.get_mut(&object.name) else { return };
        let early: Vec<String> = kin.calls.iter().filter(|name| own(name)).cloned().collect();
        let called = |name: &&String| object.made.iter().any(|line| line.contains(&format!("made.{name}(")));
        let calls: Vec<String> = kin.methods.keys().filter(called).cloned().collect();
        kin.calls.extend(calls);
        for name in early {
            self.writer.uses(Idiom::Unknown);
            object.before.push(format!(
                "// ? `{name}` is called before the object has its own: it is that of its base"
            ));
        }
    }

    /// A method of the class itself, `@classmethod` or `@staticmethod`: a closure beside it.
    pub(super) fn of_class_alone(
        &mut self,
        object: &mut Object,
        (column, name): (usize, &str),
        given: &[Parameter],
        makes: bool,
    ) -> Option<()> {
        let own = format!("{}_{name}", object.name);
        let params: Vec<String> = given.iter().map(|(param, _)| param.clone()).collect();
        self.writer.functions.insert(own.clone(), params.clone());
        self.default(&own, given);
        self.writer.of_classes.insert(format!("{}.{name}", object.name), own.clone());
        let kin = self.writer.kin.get(&object.name)?.clone();
        self.writer
            .functions
            .insert("cls".into(), kin.params.iter().map(|(param, _)| param.clone()).collect());
        self.default("cls", &kin.params);
        self.writer.kin.insert("cls".into(), kin);
        self.writer.objects.insert("cls()".into());
        if object.makes_itself {
            self.writer.self_made.insert("cls".into());
        }
        self.writer.callable.insert("cls".into());
        let known: Vec<String> = params.iter().cloned().chain(["cls".to_owned()]).collect();
        let body = self.body(column, &known);
        self.writer.kin.remove("cls");
        self.writer.objects.remove("cls()");
        self.writer.self_made.remove("cls");
        self.writer.functions.remove("cls");
        let body: Vec<String> = body?.iter().map(|line| replaced(line, "cls", &object.name)).collect();
        let lines = closed(written(&[(format!("let {own} = |{}|", params.join(", ")), body)]), ";");
        self.writer.bind(&own, Holds::Closure);
        match makes {
            true => object.behind.extend(lines),
            false => {
                object.before.extend(lines);
                object.fields.push(format!("made.{name} = {own};"));
            }
        }
        Some(())
    }
}
