//! Help on a name, from the op table.

use std::fmt::Write;

use crate::base::near::nearest;
use crate::op::args::signature;
use crate::op::{Form, Gradient, OpDef, ParamKind};

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

/// The help page of a name: how it is called, what it does, an example with its result.
pub fn page(name: &str) -> Option<String> {
    let full = name.trim().trim_matches('?').trim();
    let called = format!("{full}(");
    let exact = pages().find(|page| page.name == full);
    if let Some(page) = exact.or_else(|| pages().find(|page| page.call.starts_with(&called))) {
        return Some(page.describe());
    }
    let name = bare(name);
    let space = full.strip_suffix(name).and_then(|before| before.strip_suffix("::")).unwrap_or("");
    let inside = |def: &&OpDef| def.name == name && def.forms.iter().any(|f| stands_in(f, space));
    rows()
        .find(inside)
        .or_else(|| rows().find(|def| def.name == name))
        .map(describe)
        .or_else(|| pages().find(|page| page.name == name).map(|page| page.describe()))
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
    let more = crate::amp::ROWS.iter().chain(crate::checkpoint::ROWS).chain(crate::parallel::table());
    crate::op::table().chain(crate::op::homonyms()).chain(modules).chain(more)
}

/// The page of one row.
pub fn describe(def: &OpDef) -> String {
    let mut out = format!("{}\n\n", signature(def));
    let forms: Vec<String> = def.forms.iter().map(|f| form(def, f)).collect();
    let _ = writeln!(out, "called as  {}", forms.join("   "));
    let _ = writeln!(out, "\n{}", def.summary);
    if !def.details.is_empty() {
        let _ = writeln!(out, "{}", def.details);
    }
    let own = usize::from(!matches!(def.forms, [Form::Of(_)]));
    for param in def.params.iter().skip(own) {
        let _ = writeln!(out, "  {:<14} {}", param.name, kind(param.kind));
    }
    let gradient = match def.gradient {
        Gradient::Vjp(name) => format!("yes ({name})"),
        Gradient::Composite => "yes, through the operations it is made of".into(),
        Gradient::NoGrad(why) => format!("none: {why}"),
    };
    let _ = writeln!(out, "gradient   {gradient}");
    if !def.example.0.is_empty() {
        let _ = writeln!(out, "\n> {}\n{}", def.example.0, def.example.1);
    }
    out
}

fn form(def: &OpDef, form: &Form) -> String {
    match form {
        Form::Method => format!("x.{}(…)", def.name),
        Form::Function => format!("{}(…)", def.name),
        Form::Functional => format!("F::{}(…)", def.name),
        Form::Operator(symbol) => format!("a {symbol} b"),
        Form::Property => format!("x.{}", def.name),
        Form::Of(space) => format!("{space}::{}(…)", def.name),
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
    }
}

/// `F::relu` and `x.relu` name `relu`.
fn bare(name: &str) -> &str {
    let name = name.trim().trim_matches('?').trim();
    name.rsplit(['.', ':']).next().unwrap_or(name)
}
