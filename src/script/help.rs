//! Help on a name, from the op table.

use std::fmt::Write;
use std::sync::LazyLock;

use crate::base::near::nearest;
use crate::base::sorted;
use crate::op::args::signature;
use crate::op::{Family, Form, Forward, Gradient, InPlace, OpDef, ParamKind, Receiver, Torch};
use crate::script::phrases::page as differences;

/// The name of the page "Where Rhai differs".
const PYTHON: &str = "python";

/// The help page of a name: how it is called, what it does, an example with its result. Of a name that several things
/// have, such as `step`, the pages of all of them, unless one is named: `scaler.step`, `linalg::norm`.
pub fn page(name: &str) -> Option<String> {
    let full = name.trim().trim_matches('?').trim();
    if full.eq_ignore_ascii_case(PYTHON) {
        return Some(differences::page());
    }
    let bare = bare(full);
    let before = full.strip_suffix(bare).unwrap_or("");
    let space = before.strip_suffix("::").unwrap_or("");
    let variable = before.strip_suffix('.').unwrap_or("");
    let mut named: Vec<&OpDef> = rows().filter(|def| def.name == bare).collect();
    if named.is_empty() {
        // `add_` is told of on the page of `add`.
        let base = bare.strip_suffix('_').unwrap_or(bare);
        named =
            rows().filter(|def| def.name == base && (has_in_place(def) || def.writes_by_name())).collect();
    }
    // Who asks for `matmul` means the function, though a module is called so too.
    if named.iter().any(|def| def.family != Family::Space) {
        named.retain(|def| def.family != Family::Space);
    }
    let inside = |def: &&&OpDef| match (space, variable) {
        ("", "") => true,
        ("", variable) => def.receiver != Receiver::None && def.receiver.variable() == variable,
        (space, _) => def.forms.iter().any(|form| stands_in(form, space)),
    };
    // By the name that PyTorch has for it there is one meaning.
    let torch = of_torch(full);
    let same = |def: &&&OpDef| torch.is_some() && torch_path(def) == torch;
    let mut chosen: Vec<&OpDef> = named.iter().filter(same).copied().collect();
    if chosen.is_empty() {
        chosen = named.iter().filter(inside).copied().collect();
    }
    if chosen.is_empty() {
        chosen = named;
    }
    if chosen.is_empty() {
        return page_of_members(bare);
    }
    let pages: Vec<String> = chosen.into_iter().map(describe).collect();
    Some(pages.join("\n"))
}

/// Whether something has this name, which is more than that pages call a value by it.
pub(crate) fn is_documented(name: &str) -> bool {
    let base = name.strip_suffix('_').unwrap_or(name);
    name.eq_ignore_ascii_case(PYTHON) || rows().any(|def| def.name == name || def.name == base)
}

/// PyTorch's whole name of what is written as programs write it: `nn.Linear`, `F.relu`, `torch.cuda.is_available`.
fn of_torch(name: &str) -> Option<String> {
    let (first, rest) = name.split_once('.')?;
    match first {
        "torch" => Some(name.to_owned()),
        "F" => Some(format!("torch.nn.functional.{rest}")),
        "nn" | "optim" | "cuda" | "linalg" | "autograd" | "distributed" => Some(format!("torch.{name}")),
        "dist" => Some(format!("torch.distributed.{rest}")),
        _ => None,
    }
}

/// What stands for a page of `events`, and of what else is known by what it has alone.
fn page_of_members(variable: &str) -> Option<String> {
    let of = |def: &&OpDef| def.receiver != Receiver::None && def.receiver.variable() == variable;
    let mut names: Vec<&str> = rows().filter(of).map(|def| def.name).collect();
    names.sort_unstable();
    names.dedup();
    let first = names.first()?;
    let all = names.join(", ");
    Some(format!("{variable}\n\nHas a page for each of these: `{variable}.{first}` and so on.\n{all}\n"))
}

/// Whether a form is a call of a module, such as `linalg` or `F`.
fn stands_in(form: &Form, space: &str) -> bool {
    match form {
        Form::Of(s) | Form::ValueOf(s) | Form::Space(s) => *s == space,
        Form::Functional => space == "F",
        _ => false,
    }
}

/// Names near a misspelt one.
pub(crate) fn suggestions(name: &str) -> Vec<&'static str> {
    nearest(bare(name), rows().map(|d| d.name)).into_iter().collect()
}

/// Every row: operations, modules, optimisers, data and files, what sees the script, what the language brings, and the
/// modules that all of it stands in.
pub fn rows() -> impl Iterator<Item = &'static OpDef> {
    ALL.iter().copied()
}

/// Gathered once: a chain of all tables would be compiled anew for everyone who goes through it.
static ALL: LazyLock<Vec<&OpDef>> = LazyLock::new(|| {
    let modules = crate::nn::table().chain(crate::optim::table()).chain(crate::data::table());
    let script = super::modules::rows().map(|row| &row.def);
    let all = crate::op::table().chain(crate::op::homonyms()).chain(modules);
    all.chain(crate::parallel::table())
        .chain(script)
        .chain(super::language::rows())
        .chain(super::spaces::ROWS)
        .collect()
});

/// Properties and methods of a type, properties first.
pub(crate) fn members(type_name: &str) -> Vec<&'static str> {
    let of = |def: &OpDef| match def.receiver {
        Receiver::None => type_name == "Tensor",
        receiver => receiver.type_name() == type_name,
    };
    let member = |def: &OpDef| def.forms.iter().any(|form| matches!(form, Form::Method | Form::Property));
    let mut all: Vec<&OpDef> = rows().filter(|def| of(def) && member(def)).collect();
    sorted::sort_by_key(&mut all, |def| !def.forms.contains(&Form::Property));
    all.into_iter().map(|def| def.name).collect()
}

/// Names of functions, modules and constants, for "did you mean".
pub fn all_names() -> Vec<&'static str> {
    rows().filter(|def| def.forms != [Form::Word]).map(|def| def.name).collect()
}

/// The names under which the engine knows a row, with the modules that they stand in.
pub fn names(def: &'static OpDef) -> Vec<String> {
    let own = def.forms.iter().map(|form| match form {
        Form::Of(space) | Form::ValueOf(space) => format!("{space}::{}", def.name),
        Form::Functional => format!("F::{}", def.name),
        Form::Space(around) if !around.is_empty() => format!("{around}::{}", def.name),
        _ => super::call::told_as(def.name).to_string(),
    });
    let in_place = match def.in_place {
        InPlace::None if def.writes_by_name() => Some(format!("F::{}_", def.name)),
        InPlace::None => None,
        _ => Some(format!("{}_", def.name)),
    };
    own.chain(in_place).collect()
}

fn has_in_place(def: &OpDef) -> bool {
    !matches!(def.in_place, InPlace::None)
}

/// The page of one row.
pub(crate) fn describe(def: &OpDef) -> String {
    let mut out = format!("{}\n\n", signature(def));
    let forms: Vec<String> = def.forms.iter().map(|f| form(def, f)).collect();
    let _ = writeln!(out, "called as  {}", forms.join("   "));
    if has_in_place(def) {
        let arguments = if def.params.len() > 1 { "…" } else { "" };
        let _ = writeln!(out, "in place   x.{}_({arguments}) writes the result into x and gives x", def.name);
    }
    if def.writes_by_name() {
        let _ = writeln!(
            out,
            "in place   F::{}_(…) writes the result into its input, as `inplace` does",
            def.name
        );
    }
    let _ = match def.torch {
        Torch::Named(name) if def.family == Family::Language => writeln!(out, "Python     {name}"),
        _ => writeln!(out, "PyTorch    {}", torch_name(def)),
    };
    let _ = writeln!(out, "\n{}", def.summary);
    if !def.details.is_empty() {
        let _ = writeln!(out, "{}", def.details);
    }
    let script = matches!(def.forward, Forward::Script);
    let width = def.params.iter().map(|param| param.name.len()).max().unwrap_or(0).max(14);
    for param in def.params {
        let _ = writeln!(
            out,
            "{}",
            format!("  {:<width$} {:<22} {}", param.name, kind(param.kind), param.what).trim_end()
        );
    }
    if !def.shapes.is_empty() {
        let _ = writeln!(out, "shapes     {}", def.shapes);
    }
    for error in def.failures() {
        let _ = writeln!(out, "error      {error}");
    }
    let gradient = match def.gradient {
        Gradient::Vjp(name) => format!("yes; the result's grad_fn is {name}"),
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

/// What a page says of a row's name in PyTorch.
fn torch_name(def: &OpDef) -> String {
    match def.torch {
        _ if def.family == Family::Language => "none: it is of the language".to_string(),
        _ => torch_path(def).unwrap_or_else(|| "has nothing like it".to_string()),
    }
}

/// Where a row is in PyTorch, as a function where it is one; none of what is the lab's own or the language's.
pub fn torch_path(def: &OpDef) -> Option<String> {
    let below = |path: &str| Some(format!("{path}.{}", def.name));
    let has = |wanted: Form| def.forms.contains(&wanted);
    match def.torch {
        Torch::Own => None,
        _ if def.family == Family::Language => None,
        Torch::Named(name) => Some(name.to_string()),
        Torch::Same => match def.forms.first() {
            Some(Form::Of(space) | Form::ValueOf(space)) => below(torch_space(space)?),
            Some(Form::Method | Form::Property) if !has(Form::Function) => below("torch.Tensor"),
            _ if has(Form::Functional) && !has(Form::Function) => below("torch.nn.functional"),
            _ => below("torch"),
        },
    }
}

/// Where a module of the lab's is in PyTorch.
pub(crate) fn torch_space(path: &str) -> Option<&'static str> {
    let (around, name) = path.rsplit_once("::").unwrap_or(("", path));
    let is = |def: &&OpDef| def.name == name && matches!(def.forms, [Form::Space(own)] if *own == around);
    match super::spaces::ROWS.iter().find(is)?.torch {
        Torch::Named(name) => Some(name),
        Torch::Same | Torch::Own => None,
    }
}

/// How what has a name is written, each way once, without arguments.
pub(crate) fn written(name: &str) -> Vec<String> {
    let mut ways = Vec::new();
    for (def, form) in
        rows().filter(|def| def.name == name).flat_map(|def| def.forms.iter().map(move |f| (def, f)))
    {
        let way = match form {
            Form::Method | Form::Property => format!("{}.{name}", def.receiver.variable()),
            Form::Function | Form::Constant | Form::Word | Form::With("") => name.to_owned(),
            Form::Functional => format!("F::{name}"),
            Form::Of(space) | Form::ValueOf(space) | Form::With(space) => format!("{space}::{name}"),
            Form::Operator(_) | Form::Space(_) => continue,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

fn form(def: &OpDef, form: &Form) -> String {
    let variable = def.receiver.variable();
    let arguments = if def.params.is_empty() && matches!(def.forward, Forward::Script) { "" } else { "…" };
    match form {
        Form::Method => format!("{variable}.{}({arguments})", def.name),
        Form::Function if def.receiver != Receiver::None => {
            format!("{}({variable}{})", def.name, if def.params.is_empty() { "" } else { ", …" })
        }
        Form::Function => format!("{}({arguments})", def.name),
        Form::Functional => format!("F::{}(…)", def.name),
        Form::Operator(symbol) => format!("a {symbol} b"),
        Form::Property => format!("{variable}.{}", def.name),
        Form::Of(space) => format!("{space}::{}({arguments})", def.name),
        Form::ValueOf(space) => format!("{space}::{}", def.name),
        Form::With("") => format!("with {}({arguments}) {{ … }}", def.name),
        Form::With(space) => format!("with {space}::{}({arguments}) {{ … }}", def.name),
        Form::Constant | Form::Word => def.name.to_string(),
        Form::Space("") => format!("{}::…", def.name),
        Form::Space(around) => format!("{around}::{}::…", def.name),
    }
}

fn kind(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Tensor => "Tensor",
        ParamKind::Operand => "Tensor or number",
        ParamKind::Scalar | ParamKind::Float => "number",
        ParamKind::Int | ParamKind::Dim => "int",
        ParamKind::Bool => "bool",
        ParamKind::Str => "string",
        ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes => "int or array of ints",
        ParamKind::Tensors | ParamKind::TensorRun => "array of tensors",
        ParamKind::DType => "dtype",
        ParamKind::Device => "device",
        ParamKind::Any => "any value",
        ParamKind::Object => "object",
        ParamKind::Function => "function",
        ParamKind::Map => "map",
        ParamKind::Rest => "any values",
        ParamKind::Instance(wanted) => wanted.type_name(),
    }
}

/// `F::relu` and `x.relu` name `relu`.
fn bare(name: &str) -> &str {
    let name = name.trim().trim_matches('?').trim();
    name.rsplit(['.', ':']).next().unwrap_or(name)
}
