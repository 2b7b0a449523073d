//! What is made of closures here and of a class in Python: modules, data sets, functions with a gradient of their own.

use crate::base::text::capitalised;

use super::tree::{Expr, Stmt};
use super::writer::PythonWriter;

impl PythonWriter {
    /// `nn::module(#{…}, |self, x| …)` as a class, of which this makes one.
    pub(super) fn module(&mut self, arguments: &[Expr]) -> String {
        let (name, parts) = match arguments {
            [Expr::Text(name), parts @ ..] => (name.clone(), parts),
            parts => (self.class_name("Module"), parts),
        };
        let (pairs, forward) = match parts {
            [Expr::Map(pairs)] => (pairs.as_slice(), None),
            [Expr::Map(pairs), Expr::Closure(params, body)] => (pairs.as_slice(), Some((params, body))),
            _ => {
                self.note("this module has no simple form as a class");
                return "None".into();
            }
        };
        self.imports.insert("from torch import nn");
        let target = self.target.take();
        self.line(&format!("class {name}(nn.Module):"));
        self.indent += 1;
        self.line("def __init__(self):");
        self.indent += 1;
        self.line("super().__init__()");
        for (key, value) in pairs {
            let value = self.expr(value);
            self.line(&format!("self.{key} = {value}"));
        }
        self.indent -= 1;
        if let Some((params, body)) = forward {
            self.line("");
            self.scopes.push(std::collections::HashMap::new());
            self.function("forward", params, body);
            self.scopes.pop();
        }
        self.indent -= 1;
        self.line("");
        self.target = target;
        format!("{name}()")
    }

    /// `data::Dataset(length, |i| …)` as a class, of which this makes one.
    pub(super) fn dataset(&mut self, length: &Expr, get: &Expr) -> String {
        let name = self.class_name("Module");
        self.imports.insert("import torch.utils.data");
        let target = self.target.take();
        let length = self.expr(length);
        let (params, body) = match get {
            Expr::Closure(params, body) => (params.clone(), (**body).clone()),
            get => {
                let called = Expr::Call(Box::new(get.clone()), vec![Expr::Path(vec!["i".into()])]);
                (vec!["i".into()], vec![Stmt::Expr(called, false)])
            }
        };
        self.line(&format!("class {name}(torch.utils.data.Dataset):"));
        self.indent += 1;
        self.line("def __len__(self):");
        self.line(&format!("    return {length}"));
        self.line("");
        let params: Vec<String> = std::iter::once("self".to_owned()).chain(params).collect();
        self.function("__getitem__", &params, &body);
        self.indent -= 1;
        self.line("");
        self.target = target;
        format!("{name}()")
    }

    /// `autograd::Function(|ctx, x| …, |ctx, g| …)` as a class.
    pub(super) fn own_function(&mut self, arguments: &[Expr]) -> String {
        let own_name = self.class_name("Function");
        let (forward, backward, name) = match arguments {
            [Expr::Map(pairs)] => {
                let find = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value);
                (find("forward"), find("backward"), find("name"))
            }
            [forward, backward, Expr::Map(pairs)] => {
                (Some(forward), Some(backward), pairs.first().map(|(_, value)| value))
            }
            [forward, backward, rest @ ..] => (Some(forward), Some(backward), rest.first()),
            _ => (None, None, None),
        };
        let (Some(Expr::Closure(params, body)), Some(Expr::Closure(grads, gradient))) = (forward, backward)
        else {
            self.note("this function has no simple form as a class");
            return "None".into();
        };
        let name = if let Some(Expr::Text(name)) = name { name.clone() } else { own_name };
        self.imports.insert("import torch");
        let target = self.target.take();
        self.line(&format!("class {name}(torch.autograd.Function):"));
        self.indent += 1;
        self.line("@staticmethod");
        self.function("forward", params, body);
        self.line("");
        self.line("@staticmethod");
        self.returns_tuple = true;
        self.function("backward", grads, gradient);
        self.returns_tuple = false;
        self.indent -= 1;
        self.line("");
        self.target = target;
        name
    }

    /// A class's name from that of the variable: `net` makes `Net`.
    fn class_name(&mut self, otherwise: &str) -> String {
        let Some(target) = self.target.clone() else { return self.made_up(otherwise) };
        target.split('_').map(capitalised).collect()
    }
}
