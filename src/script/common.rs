//! Names that are written most often, and what a variable holds that was bound to a call: which names are likely.
//! Nothing is evaluated for either.

use super::help::rows;
use crate::op::{Form, Forward, OpDef, Receiver};

/// Of functions, members and modules alike; what is written most stands first.
const NAMES: &str = "
    print tensor zeros ones rand randn range randint arange linspace full eye
    forward parameters step zero_grad train eval state_dict load_state_dict
    shape device dtype to cuda cpu item sum mean backward grad requires_grad requires_grad_
    reshape view transpose permute unsqueeze squeeze flatten contiguous size numel dim
    matmul mm max min argmax argmin abs exp log sqrt pow softmax relu sigmoid tanh cat stack split chunk where
    clone detach float int std var norm sort topk cumsum allclose equal no_grad is_cuda
    push len map filter keys values
    Linear Sequential ReLU Conv2d Dropout Embedding BatchNorm2d LayerNorm Flatten MaxPool2d
    CrossEntropyLoss MSELoss Parameter cross_entropy mse_loss SGD Adam AdamW StepLR CosineAnnealingLR
    synchronize memory_allocated memory_reserved max_memory_allocated empty_cache memory_summary is_available
    Stream Event nn optim data plot line scatter named_parameters children named_modules type_of drop
    zeros_like ones_like rand_like full_like empty name is_leaf grad_fn T t to_string contains manual_seed";

/// What a chain of calls still gives a tensor for; other results are not known.
const NUMBERS: &[&str] =
    &["item", "tolist", "size", "numel", "dim", "shape", "nbytes", "device", "dtype", "equal"];
/// What gives the module itself.
const SAME: &[&str] = &["to", "cuda", "cpu", "train", "eval"];

/// A name's place among those that are written most; the last one where it is not.
pub(super) fn place(name: &str) -> usize {
    NAMES.split_whitespace().position(|common| common == name).unwrap_or(usize::MAX)
}

/// The type, as `type_of` has it, of a variable that the code binds last by a call, an array, a map or a text.
pub(super) fn bound_type(code: &str, name: &str) -> Option<&'static str> {
    let value = code.match_indices("let ").filter_map(|(at, word)| {
        let rest = code.get(at + word.len()..)?.trim_start().strip_prefix(name)?.trim_start();
        rest.strip_prefix('=').filter(|rest| !rest.starts_with('='))
    });
    of_value(value.last()?.trim_start())
}

fn of_value(value: &str) -> Option<&'static str> {
    match value.chars().next()? {
        '[' => return Some("array"),
        '#' => return Some("map"),
        '"' | '`' => return Some("string"),
        _ => {}
    }
    let end = value.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))?;
    let path = value.get(..end)?;
    let rest = value.get(end..)?.strip_prefix('(')?;
    let receiver = made_by(path)?;
    let chain = methods(rest)?;
    let known = match receiver {
        Receiver::Tensor => chain.last().is_none_or(|last| !NUMBERS.contains(last)),
        Receiver::Module => chain.iter().all(|method| SAME.contains(method)),
        _ => chain.is_empty(),
    };
    known.then(|| receiver.type_name())
}

/// What a function gives.
fn made_by(path: &str) -> Option<Receiver> {
    let (space, name) = path.rsplit_once("::").unwrap_or(("", path));
    let of = |def: &OpDef| {
        def.forms.iter().find_map(|form| match form {
            Form::Of("nn") if space == "nn" => Some(Receiver::Module),
            Form::Of("optim") if space == "optim" => Some(Receiver::Optimizer),
            Form::Of(own @ "optim::lr_scheduler") if *own == space => Some(Receiver::Scheduler),
            Form::Function if space.is_empty() && !matches!(def.forward, Forward::Script) => {
                Some(Receiver::Tensor)
            }
            Form::Functional if space == "F" => Some(Receiver::Tensor),
            _ => None,
        })
    };
    rows().filter(|def| def.name == name).find_map(of)
}

/// The methods that follow a call whose bracket is open, up to the end of the statement; `None` where something else
/// follows, such as an operator.
fn methods(mut rest: &str) -> Option<Vec<&str>> {
    let mut chain = Vec::new();
    loop {
        rest = after_bracket(rest)?.trim_start();
        if rest.is_empty() || rest.starts_with([';', '\n', '}', '/']) {
            return Some(chain);
        }
        rest = rest.strip_prefix('.')?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        chain.push(rest.get(..end)?);
        match rest.get(end..)?.strip_prefix('(') {
            Some(inside) => rest = inside,
            None => return Some(chain),
        }
    }
}

/// What follows the bracket that closes the one open before.
fn after_bracket(text: &str) -> Option<&str> {
    let (mut depth, mut quoted) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted && depth == 0 => return text.get(at + 1..),
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_names() {
        for name in NAMES.split_whitespace() {
            assert!(rows().any(|def| def.name == name), "{name}");
        }
    }

    #[test]
    fn what_a_call_gives_is_known_without_making_it() {
        for (code, wanted) in [
            ("let x = rand([2, 3]);", Some("Tensor")),
            ("let x = rand([2, 3]).cuda();\nx.", Some("Tensor")),
            ("let x = rand([2]).sum().item();", None),
            ("let x = F::relu(y)\n", Some("Tensor")),
            ("let x = nn::Sequential([nn::Linear(3, 2)]).cuda();", Some("Module")),
            ("let x = nn::Linear(3, 2).parameters();", None),
            ("let x = optim::SGD(net.parameters(), #{lr: 0.1});", Some(Receiver::Optimizer.type_name())),
            ("let x = [1, 2];", Some("array")),
            ("let x = \"a\";", Some("string")),
            ("let x = rand(3); let x = nn::ReLU();", Some("Module")),
            ("let xy = rand(3);", None),
            ("let x = rand(3) > 0.5;", None),
            ("let x == rand(3);", None),
            ("let x = rand(3", None),
        ] {
            assert_eq!(bound_type(code, "x"), wanted, "{code}");
        }
    }
}
