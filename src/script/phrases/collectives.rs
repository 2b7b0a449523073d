//! Calls that change what they are given: here they give it, and the variable gets it.

use super::book::Idiom;
use super::names;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::Holds;

/// Functions of ranks that write into an argument of PyTorch's: which one, and its name.
const WRITES: [(&str, usize, &str); 5] = [
    ("torch.distributed.recv", 0, "tensor"),
    ("torch.distributed.scatter", 0, "tensor"),
    ("torch.distributed.all_gather", 0, "tensor_list"),
    ("torch.distributed.gather", 1, "gather_list"),
    ("torch.distributed.reduce_scatter", 0, "output"),
];

impl Statements<'_, '_, '_> {
    /// `dist.recv(t, src=0)`: what comes is the call's value.
    pub(super) fn collective(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, arguments) = value else { return None };
        let full = names::full(&self.writer.path(callee)?, &self.writer.imports)?;
        let (_, place, option) = WRITES.iter().find(|(name, ..)| *name == full)?;
        let named = arguments.iter().position(|argument| argument.name.as_deref() == Some(option));
        let positional = arguments.get(*place).filter(|argument| argument.name.is_none()).map(|_| *place);
        let at = named.or(positional)?;
        let target = arguments.get(at).map(|argument| &argument.value)?;
        // A tensor that is received says what comes.
        let stays = full.ends_with(".recv");
        let kept: Vec<Arg> = arguments
            .iter()
            .enumerate()
            .filter(|(i, _)| stays || *i != at)
            .map(|(_, one)| one.clone())
            .collect();
        let call = self.writer.expr(&Expr::Call(callee.clone(), kept))?;
        match target {
            Expr::Name(none) if none == "None" => Some(vec![format!("{call};")]),
            Expr::Name(_) | Expr::Attr(..) | Expr::Index(..) => {
                Some(vec![format!("{} = {call};", self.writer.expr(target)?)])
            }
            _ => None,
        }
    }

    /// `add(xs, 1)`, where the function changes its array and gives it back.
    pub(super) fn given_back(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, arguments) = value else { return None };
        let Expr::Name(name) = callee.as_ref() else { return None };
        let places = self.writer.gives_back.get(name)?.clone();
        let params = self.writer.functions.get(name).cloned().unwrap_or_default();
        let mut targets = Vec::new();
        for at in places {
            let named = |argument: &&Arg| argument.name.is_some() && argument.name.as_ref() == params.get(at);
            let positional = arguments.get(at).filter(|argument| argument.name.is_none());
            let target = &arguments.iter().find(named).or(positional)?.value;
            // A list that is made for the call is nobody else's.
            if !matches!(target, Expr::Name(_) | Expr::Attr(..) | Expr::Index(..)) {
                targets.push(None);
                continue;
            }
            targets.push(Some(self.writer.expr(target)?));
        }
        self.writer.uses(Idiom::Copied);
        let call = self.writer.expr(value)?;
        let known: Vec<&String> = targets.iter().flatten().collect();
        if known.iter().enumerate().any(|(at, target)| known.iter().skip(at + 1).any(|other| other == target))
        {
            self.writer.uses(Idiom::Unknown);
            return Some(vec![format!("// ? {call}")]);
        }
        if let [target] = targets.as_slice() {
            return Some(vec![self.got_back(target.as_ref()?, &call)]);
        }
        let given = self.writer.free_name("given");
        self.writer.bind(&given, Holds::Array);
        let mut lines = vec![format!("let {given} = {call};")];
        for (at, target) in targets.iter().enumerate() {
            lines.extend(target.as_ref().map(|target| self.got_back(target, &format!("{given}[{at}]"))));
        }
        Some(lines)
    }

    /// Writes back what a function has given, and notes that the variable is changed.
    fn got_back(&mut self, target: &str, value: &str) -> String {
        let line = format!("{target} = {value}");
        let root = target.split(['.', '[']).next().unwrap_or_default().to_owned();
        self.writer.got_back.push((root, line.clone()));
        line + ";"
    }
}
