//! Calls that change what they are given: here they give it, and the variable gets it.

use super::names;
use super::statements::Statements;
use super::tree::{Arg, Expr};

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
}
