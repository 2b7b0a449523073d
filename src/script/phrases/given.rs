//! Calls of functions that give back what they have changed: the variable gets it.

use super::book::Idiom;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{Holds, LOOSE, Writer};

/// Where what a function has changed goes; nowhere where it was made for the call.
type Targets = Vec<Option<String>>;

impl Statements<'_, '_, '_> {
    /// `add(xs, 1)`, where the function changes its array and gives it back.
    pub(super) fn given_back(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, arguments) = value else { return None };
        let Expr::Name(name) = callee.as_ref() else { return None };
        let targets = self.writer.targets(name, arguments)?;
        self.writer.uses(Idiom::Copied);
        let call = self.writer.plain_call(value)?;
        if is_twice(&targets) {
            self.writer.uses(Idiom::Unknown);
            return Some(vec![format!("// ? {call}")]);
        }
        match targets.as_slice() {
            [None] => Some(vec![format!("{call};")]),
            targets => Some(self.writer.got_back(targets, &call)),
        }
    }
}

impl Writer<'_> {
    /// The variables that a function gives back what it has changed to; none where it changes nothing.
    fn targets(&mut self, name: &str, arguments: &[Arg]) -> Option<Targets> {
        let places = self.gives_back.get(name)?.clone();
        let params = self.functions.get(name).cloned().unwrap_or_default();
        let mut targets = Vec::new();
        for at in places {
            let named = |argument: &&Arg| argument.name.is_some() && argument.name.as_ref() == params.get(at);
            let positional = arguments.get(at).filter(|argument| argument.name.is_none());
            let target = arguments.iter().find(named).or(positional).map(|argument| &argument.value);
            targets.push(match target {
                Some(target) => self.target(target)?,
                None => None,
            });
        }
        Some(targets)
    }

    /// The variable that a value is of; none where it is made for the call, and nobody else's.
    fn target(&mut self, value: &Expr) -> Option<Option<String>> {
        match value {
            Expr::Name(_) | Expr::Attr(..) | Expr::Index(..) => self.expr(value).map(Some),
            // `add(add(xs, 1), 2)`
            Expr::Call(callee, arguments) => match callee.as_ref() {
                Expr::Name(name) if self.gives_itself.contains(name) => {
                    let targets = self.targets(name, arguments)?;
                    Some(targets.into_iter().next().flatten())
                }
                _ => Some(None),
            },
            _ => Some(None),
        }
    }

    /// A call as it stands.
    fn plain_call(&mut self, value: &Expr) -> Option<String> {
        self.plain = true;
        let call = self.expr(value);
        self.plain = false;
        call
    }

    /// Such a call where its value is used: what it gives is one of those that it has changed, or nothing.
    pub(super) fn used_and_given_back(
        &mut self,
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<(String, u8)>> {
        let itself = self.gives_itself.contains(name);
        let targets = self.targets(name, arguments)?;
        let value = Expr::Call(Expr::Name(name.to_owned()).into(), arguments.to_vec());
        if itself && matches!(targets.as_slice(), [None]) {
            return None;
        }
        Some(self.plain_call(&value).map(|call| {
            self.uses(Idiom::Copied);
            if is_twice(&targets) {
                self.mark(&format!("`{name}` changes one value by two names, and has a copy of it for each"));
                return (call, LOOSE);
            }
            let lines = self.got_back(&targets, &call).join(" ");
            let given = if itself { targets.iter().flatten().next().cloned() } else { None };
            (format!("{{ {lines} {} }}", given.unwrap_or_else(|| "()".into())), LOOSE)
        }))
    }

    /// Writes back what a function has given, and notes that the variables are changed.
    fn got_back(&mut self, targets: &[Option<String>], call: &str) -> Vec<String> {
        match targets {
            [Some(target)] => vec![self.put_back(target, call)],
            [None] => vec![format!("{call};")],
            targets => {
                let given = self.free_name("given");
                self.bind(&given, Holds::Array);
                let mut lines = vec![format!("let {given} = {call};")];
                for (at, target) in targets.iter().enumerate() {
                    lines.extend(target.as_ref().map(|own| self.put_back(own, &format!("{given}[{at}]"))));
                }
                lines
            }
        }
    }

    fn put_back(&mut self, target: &str, value: &str) -> String {
        let line = format!("{target} = {value}");
        let root = target.split(['.', '[']).next().unwrap_or_default().to_owned();
        self.got_back.push((root, line.clone()));
        line + ";"
    }
}

/// Whether one variable would get back two values.
fn is_twice(targets: &[Option<String>]) -> bool {
    let known: Vec<&String> = targets.iter().flatten().collect();
    known.iter().enumerate().any(|(at, target)| known.iter().skip(at + 1).any(|other| other == target))
}
