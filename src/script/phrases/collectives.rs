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
        let mut targets = Vec::new();
        for at in places {
            let target = &arguments.get(at).filter(|argument| argument.name.is_none())?.value;
            matches!(target, Expr::Name(_) | Expr::Attr(..) | Expr::Index(..)).then_some(())?;
            targets.push(self.writer.expr(target)?);
        }
        self.writer.uses(Idiom::Copied);
        let call = self.writer.expr(value)?;
        if let [target] = targets.as_slice() {
            return Some(vec![format!("{target} = {call};")]);
        }
        let given = self.writer.free_name("given");
        self.writer.bind(&given, Holds::Array);
        let back = targets.iter().enumerate().map(|(at, target)| format!("{target} = {given}[{at}];"));
        Some(std::iter::once(format!("let {given} = {call};")).chain(back).collect())
    }
}
