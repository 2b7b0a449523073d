//! What names are called in Python.

use crate::op::{Family, Form, OpDef, Receiver, Torch};
use crate::script::help;
use crate::script::language;
use crate::script::python::writer::{PythonWriter, Type};

/// Modules of PyTorch under the names that people import them by, and those that `import torch` does not bring.
const IMPORTS: [(&str, &str, &str); 5] = [
    ("torch.nn.functional", "F", "import torch.nn.functional as F"),
    ("torch.nn", "nn", "from torch import nn"),
    ("torch.utils.data", "torch.utils.data", "import torch.utils.data"),
    ("torch.utils.checkpoint", "torch.utils.checkpoint", "import torch.utils.checkpoint"),
    ("torch", "torch", "import torch"),
];

/// Words that are names in Rhai and none in Python.
const RESERVED: [&str; 25] = [
    "and", "or", "not", "def", "class", "del", "lambda", "pass", "from", "import", "global", "nonlocal",
    "assert", "except", "finally", "raise", "yield", "async", "await", "None", "elif", "True", "False", "is",
    "with",
];

/// What is called or imported without the script saying so.
const TAKEN: [&str; 20] = [
    "torch",
    "nn",
    "F",
    "math",
    "functools",
    "json",
    "range",
    "print",
    "type",
    "isinstance",
    "enumerate",
    "super",
    "tuple",
    "repr",
    "str",
    "int",
    "float",
    "list",
    "len",
    "sorted",
];

/// Whether Python's own of a name is needed, so that no variable may have it.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// Whether a function of the lab's or the language's has a name.
pub(super) fn is_function(name: &str) -> bool {
    help::rows().any(|def| def.name == name && def.forms.contains(&Form::Function))
}

/// Whether something that is documented has a field or a method of a name.
pub(super) fn is_member(name: &str) -> bool {
    help::rows().any(|def| {
        def.name == name && def.forms.iter().any(|form| matches!(form, Form::Method | Form::Property))
    })
}

impl PythonWriter {
    /// A variable's name; one that a closure keeps is two of them.
    pub(super) fn variable(name: &str) -> String {
        if let Some((kept, _)) = name.split_once('=') {
            let kept = PythonWriter::variable(kept);
            return format!("{kept}={kept}");
        }
        if name == "this" {
            return "self".into();
        }
        if RESERVED.contains(&name) { format!("{name}_") } else { name.to_owned() }
    }

    pub(super) fn torch(&mut self, name: &str) -> String {
        self.imports.insert("import torch");
        format!("torch.{name}")
    }

    /// A path that stands alone or is called.
    pub(super) fn path(&mut self, path: &[String], called: bool) -> String {
        match path {
            [name] => self.simple(name, called),
            [space @ .., name] => {
                let space = space.join("::");
                match torch_of(&space, name) {
                    Some(full) => self.imported(&full),
                    None => {
                        self.note_lost(format!(
                            "{space}::{name} is this lab's own; PyTorch has no such call"
                        ));
                        format!("{}.{name}", space.replace("::", "."))
                    }
                }
            }
            [] => String::new(),
        }
    }

    /// A name of PyTorch in full, as it is called after the import that it needs.
    fn imported(&mut self, full: &str) -> String {
        for (module, short, import) in IMPORTS {
            if let Some(rest) = full.strip_prefix(module).filter(|rest| rest.starts_with('.')) {
                self.imports.insert(import);
                return format!("{short}{rest}");
            }
        }
        full.to_owned()
    }

    fn simple(&mut self, name: &str, called: bool) -> String {
        if let Some(known) = self.known(name) {
            if known == Type::Absent {
                self.note_use(name);
            }
            return PythonWriter::variable(name);
        }
        let Some(def) = row_of(name, called) else { return PythonWriter::variable(name) };
        match help::torch_path(def) {
            Some(full) if full.starts_with("torch.") && name.ends_with('_') && !def.name.ends_with('_') => {
                self.imported(&format!("{full}_"))
            }
            Some(full) if full.starts_with("torch.") => self.imported(&full),
            _ if def.torch == Torch::Own => {
                self.note_lost(format!("{name}() is this lab's own; PyTorch has no such call"));
                name.to_owned()
            }
            _ => PythonWriter::variable(name),
        }
    }
}

/// What PyTorch calls a name of a module; none where the name or the module is the lab's own.
fn torch_of(space: &str, name: &str) -> Option<String> {
    let stands = |form: &Form| match form {
        Form::Of(s) | Form::ValueOf(s) => *s == space,
        Form::Functional => space == "F",
        _ => false,
    };
    let around = help::torch_space(space)?;
    match help::rows().find(|def| def.name == name && def.forms.iter().any(stands)).map(|def| def.torch) {
        Some(Torch::Own) => None,
        Some(Torch::Named(full)) if full.starts_with("torch.") => Some(full.to_owned()),
        _ => Some(format!("{around}.{name}")),
    }
}

/// The row of a name that stands alone: a function where it is called, a constant otherwise.
fn row_of(name: &str, called: bool) -> Option<&'static OpDef> {
    let bare = name.strip_suffix('_').unwrap_or(name);
    let wanted = if called { Form::Function } else { Form::Constant };
    let fits = |def: &&OpDef| {
        def.forms.contains(&wanted) && def.receiver == Receiver::None && def.family != Family::Language
    };
    let named = |wanted: &str| help::rows().filter(fits).find(|def| def.name == wanted);
    named(name).or_else(|| named(bare))
}

/// What Python calls a method of the language's own values, such as `append` for `push`.
pub(super) fn method_name(name: &str) -> &str {
    let rows = language::rows().filter(|def| def.name == name && def.forms == [Form::Method]);
    let methods = rows.filter_map(|def| match def.torch {
        Torch::Named(path) => path.split_once('.').map(|(_, method)| method),
        Torch::Same | Torch::Own => None,
    });
    methods.into_iter().next().unwrap_or(name)
}

/// Whether methods of this name give a tensor, whatever they are called on.
pub(super) fn of_tensor(name: &str) -> bool {
    let families = [
        Family::Elementwise,
        Family::Binary,
        Family::Compare,
        Family::Reduce,
        Family::Matmul,
        Family::Movement,
        Family::Activation,
        Family::Move,
    ];
    let is_method = |def: &&OpDef| def.name == name && def.forms.contains(&Form::Method);
    help::rows().filter(is_method).any(|def| families.contains(&def.family))
        && !help::rows().filter(is_method).any(|def| def.family == Family::Language)
}

/// Whether a function of this path gives a tensor.
pub(crate) fn gives_tensor(path: &[&str]) -> bool {
    let form = match path {
        [_] => Form::Function,
        ["F", _] => Form::Functional,
        _ => return false,
    };
    let families = [
        Family::Create,
        Family::Elementwise,
        Family::Binary,
        Family::Compare,
        Family::Activation,
        Family::Random,
    ];
    help::rows().any(|def| {
        path.last() == Some(&def.name) && def.forms.contains(&form) && families.contains(&def.family)
    })
}
