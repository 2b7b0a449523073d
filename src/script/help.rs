//! Help on a name, from the op table.

use std::fmt::Write;

use crate::base::near::nearest;
use crate::op::args::signature;
use crate::op::{Form, Forward, Gradient, OpDef, ParamKind, Receiver, Torch};

/// Help on a function that is no row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// As one asks for it; with its module where a row has the same name.
    pub name: &'static str,
    pub call: &'static str,
    pub text: &'static str,
}

impl Page {
    fn describe(&self) -> String {
        format!("{}\n\n{}\n", self.call, self.text)
    }
}

/// The help page of a name: how it is called, what it does, an example with its result. Of a name that several things
/// have, such as `step`, the pages of all of them, unless one is named: `scaler.step`, `linalg::norm`.
pub fn page(name: &str) -> Option<String> {
    let full = name.trim().trim_matches('?').trim();
    let bare = bare(full);
    let before = full.strip_suffix(bare).unwrap_or("");
    let space = before.strip_suffix("::").unwrap_or("");
    let variable = before.strip_suffix('.').unwrap_or("");
    let called = format!("{full}(");
    let exact = pages().find(|page| page.name == full);
    if let Some(page) = exact.or_else(|| pages().find(|page| page.call.starts_with(&called))) {
        let of_rows = rows().filter(|def| def.name == full).map(describe);
        return Some(joined(std::iter::once(page.describe()).chain(of_rows)));
    }
    let named: Vec<&OpDef> = rows().filter(|def| def.name == bare).collect();
    let inside = |def: &&&OpDef| match (space, variable) {
        ("", "") => true,
        ("", variable) => def.receiver != Receiver::None && def.receiver.variable() == variable,
        (space, _) => def.forms.iter().any(|form| stands_in(form, space)),
    };
    let mut chosen: Vec<&OpDef> = named.iter().filter(inside).copied().collect();
    if chosen.is_empty() {
        chosen = named;
    }
    if chosen.is_empty() {
        return pages().find(|page| page.name == bare).map(|page| page.describe());
    }
    Some(joined(chosen.into_iter().map(describe)))
}

fn joined(pages: impl Iterator<Item = String>) -> String {
    pages.collect::<Vec<_>>().join("\n")
}

/// Whether a form is a call of a module, such as `linalg` or `F`.
fn stands_in(form: &Form, space: &str) -> bool {
    match form {
        Form::Of(s) => *s == space,
        Form::Functional => space == "F",
        _ => false,
    }
}

/// Pages of what is no row.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    super::modules::pages()
}

/// Names near a misspelt one.
pub fn suggestions(name: &str) -> Vec<&'static str> {
    nearest(bare(name), rows().map(|d| d.name)).into_iter().collect()
}

/// Every row: operations, modules, optimisers, data and files, mixed precision, checkpoints, several devices.
pub fn rows() -> impl Iterator<Item = &'static OpDef> {
    let modules = crate::nn::table().chain(crate::optim::table()).chain(crate::data::table());
    let more = crate::checkpoint::ROWS.iter().chain(crate::parallel::table());
    let script = super::modules::rows().map(|row| &row.def);
    crate::op::table().chain(crate::op::homonyms()).chain(modules).chain(more).chain(script)
}

/// The page of one row.
pub fn describe(def: &OpDef) -> String {
    let mut out = format!("{}\n\n", signature(def));
    let forms: Vec<String> = def.forms.iter().map(|f| form(def, f)).collect();
    let _ = writeln!(out, "called as  {}", forms.join("   "));
    if let Some(name) = torch_name(def) {
        let _ = writeln!(out, "PyTorch    {name}");
    }
    let _ = writeln!(out, "\n{}", def.summary);
    if !def.details.is_empty() {
        let _ = writeln!(out, "{}", def.details);
    }
    let script = matches!(def.forward, Forward::Script);
    let own = usize::from(!script && !matches!(def.forms, [Form::Of(_)]));
    for param in def.params.iter().skip(own) {
        let _ = writeln!(
            out,
            "{}",
            format!("  {:<14} {:<22} {}", param.name, kind(param.kind), param.what).trim_end()
        );
    }
    if !def.shapes.is_empty() {
        let _ = writeln!(out, "shapes     {}", def.shapes);
    }
    for error in def.errors {
        let _ = writeln!(out, "error      {error}");
    }
    let gradient = match def.gradient {
        Gradient::Vjp(name) => format!("yes ({name})"),
        Gradient::Composite => "yes, through the operations it is made of".into(),
        Gradient::NoGrad(why) => format!("none: {why}"),
    };
    if !script {
        let _ = writeln!(out, "gradient   {gradient}");
    }
    if !def.example.0.is_empty() {
        let _ = writeln!(out, "\n> {}\n{}", def.example.0, def.example.1);
    }
    out
}

/// What PyTorch calls a row, where that is said or follows from how it is called.
pub fn torch_name(def: &OpDef) -> Option<String> {
    let space = |space: &str| match space {
        "data" => "torch.utils.data".to_string(),
        "cudnn" => "torch.backends.cudnn".to_string(),
        "parallel" => "torch.nn.parallel".to_string(),
        other => format!("torch.{}", other.replace("::", ".")),
    };
    match (def.torch, def.forward) {
        (Torch::Named(name), _) => Some(name.to_string()),
        (Torch::Own, _) => Some("has nothing like it".to_string()),
        (Torch::Same, Forward::Script) => Some(match def.forms.first() {
            Some(Form::Of(s)) => format!("{}.{}", space(s), def.name),
            _ => format!("torch.{}", def.name),
        }),
        (Torch::Same, _) => None,
    }
}

fn form(def: &OpDef, form: &Form) -> String {
    let variable = def.receiver.variable();
    let arguments = if def.params.is_empty() && matches!(def.forward, Forward::Script) { "" } else { "…" };
    match form {
        Form::Method => format!("{variable}.{}({arguments})", def.name),
        Form::Function if def.receiver == Receiver::Variable => format!("{}({variable})", def.name),
        Form::Function => format!("{}({arguments})", def.name),
        Form::Functional => format!("F::{}(…)", def.name),
        Form::Operator(symbol) => format!("a {symbol} b"),
        Form::Property => format!("{variable}.{}", def.name),
        Form::Of(space) => format!("{space}::{}({arguments})", def.name),
        Form::With("") => format!("with {}({arguments}) {{ … }}", def.name),
        Form::With(space) => format!("with {space}::{}({arguments}) {{ … }}", def.name),
        Form::Constant => def.name.to_string(),
    }
}

fn kind(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Tensor => "Tensor",
        ParamKind::Operand => "Tensor or number",
        ParamKind::Scalar | ParamKind::Float => "number",
        ParamKind::Int => "int",
        ParamKind::Bool => "bool",
        ParamKind::Str => "string",
        ParamKind::Ints | ParamKind::Sizes => "int or array of ints",
        ParamKind::Tensors => "array of tensors",
        ParamKind::DType => "dtype",
        ParamKind::Device => "device",
        ParamKind::Any => "any value",
        ParamKind::Object => "object",
        ParamKind::Function => "function",
        ParamKind::Map => "map",
        ParamKind::Instance(wanted) => wanted.type_name(),
    }
}

/// `F::relu` and `x.relu` name `relu`.
fn bare(name: &str) -> &str {
    let name = name.trim().trim_matches('?').trim();
    name.rsplit(['.', ':']).next().unwrap_or(name)
}
