//! What names are called in Python.

use super::PythonWriter;
use crate::op::Form;
use crate::script::help;

/// Where a module of the lab is in PyTorch; `None` where it is the lab's own.
fn module(space: &str) -> Option<(&'static str, &'static str)> {
    Some(match space {
        "F" => ("F", "import torch.nn.functional as F"),
        "nn" => ("nn", "from torch import nn"),
        "nn::utils" => ("nn.utils", "from torch import nn"),
        "nn::init" => ("nn.init", "from torch import nn"),
        "optim" => ("torch.optim", "import torch"),
        "optim::lr_scheduler" => ("torch.optim.lr_scheduler", "import torch"),
        "cuda" => ("torch.cuda", "import torch"),
        "linalg" => ("torch.linalg", "import torch"),
        "autograd" => ("torch.autograd", "import torch"),
        "amp" => ("torch.amp", "import torch"),
        "testing" => ("torch.testing", "import torch"),
        "special" => ("torch.special", "import torch"),
        "fft" => ("torch.fft", "import torch"),
        "data" => ("torch.utils.data", "import torch.utils.data"),
        "cudnn" => ("torch.backends.cudnn", "import torch"),
        "parallel" => ("torch.nn.parallel", "import torch"),
        "random" => ("torch.random", "import torch"),
        _ => return None,
    })
}

/// Words that are names in Rhai and none in Python.
const RESERVED: [&str; 21] = [
    "and", "or", "not", "def", "class", "del", "lambda", "pass", "from", "import", "global", "nonlocal",
    "assert", "except", "finally", "raise", "yield", "async", "await", "None", "elif",
];

/// What the lab has in `data` and PyTorch has not.
const OWN_DATA: [&str; 3] = ["digits", "csv", "files"];

impl PythonWriter {
    /// A variable's name.
    pub(super) fn variable(name: &str) -> String {
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
                let own = space == "data" && OWN_DATA.contains(&name.as_str());
                match module(&space).filter(|_| !own) {
                    Some((python, import)) => {
                        self.imports.insert(import);
                        if space == "amp" && name == "autocast" {
                            return self.torch("autocast");
                        }
                        format!("{python}.{name}")
                    }
                    None => {
                        self.note(format!("{space}::{name} is this lab's own; PyTorch has no such call"));
                        format!("{}.{name}", space.replace("::", "."))
                    }
                }
            }
            [] => String::new(),
        }
    }

    fn simple(&mut self, name: &str, called: bool) -> String {
        if self.known(name).is_some() {
            return PythonWriter::variable(name);
        }
        match name {
            "float64" | "float32" | "float16" | "bfloat16" | "int64" | "int32" | "int16" | "int8"
            | "uint8" | "half" | "float" | "double" | "long" | "int" | "bool" | "short"
                if !called =>
            {
                self.torch(name)
            }
            "detect_anomaly" => self.torch("autograd.detect_anomaly"),
            "checkpoint" | "checkpoint_sequential" if called => {
                self.imports.insert("import torch.utils.checkpoint");
                format!("torch.utils.checkpoint.{name}")
            }
            "no_grad"
            | "enable_grad"
            | "set_grad_enabled"
            | "is_grad_enabled"
            | "autocast"
            | "device"
            | "Generator"
            | "manual_seed"
            | "load"
            | "save"
            | "use_deterministic_algorithms"
                if called =>
            {
                self.torch(name)
            }
            _ if called && is_function(name) => self.torch(name),
            "smi" | "time" | "timeit" | "display" if called => {
                self.note(format!("{name}() is this lab's own; PyTorch has no such call"));
                name.to_owned()
            }
            _ => PythonWriter::variable(name),
        }
    }
}

/// A function of PyTorch that is called with no module before it.
fn is_function(name: &str) -> bool {
    let bare = name.strip_suffix('_').unwrap_or(name);
    help::rows().any(|def| (def.name == name || def.name == bare) && def.forms.contains(&Form::Function))
}
