//! The names that the operands of a failed call have in the source: read off the syntax tree, only when a call
//! has failed, so that a call that works pays nothing for it.

use rhai::{AST, ASTNode, Dynamic, Expr, Position, Scope, Stmt};

use crate::base::error::Operand;
use crate::base::sorted;
use crate::nn::{Module, Role};
use crate::op::{Forward, Param, ParamKind};
use crate::tensor::Tensor;

use super::help::rows;

/// Names the operands of the call of `op` at `position`. What the scope knows of a variable must agree with the operand;
/// what has no variable is called as its parameter.
pub fn name(operands: &mut [Operand], op: Option<&str>, ast: &AST, position: Position, scope: &Scope) {
    if operands.is_empty() || position.is_none() {
        return;
    }
    let row = op.and_then(|op| rows().find(|row| row.name == op));
    let is_param = |name: &str| row.is_some_and(|row| row.params.iter().any(|param| param.name == name));
    by_variables(operands, &is_param, ast, position, scope);
    if let ([operand], Some("index")) = (&mut *operands, op) {
        operand.name.get_or_insert_with(|| "input".into());
    }
    let Some(row) = row else { return };
    // The sentences on two operands that are combined call them a and b.
    if !matches!(row.forward, Forward::Call(_)) {
        return;
    }
    let takes_tensor = |param: &&Param| matches!(param.kind, ParamKind::Tensor | ParamKind::Operand);
    let is_each = row.params.iter().filter(takes_tensor).count() == operands.len();
    // What may be a number, a list or left out says nothing of those behind it, unless each has its operand.
    let is_sure = |param: &&Param| match param.kind {
        ParamKind::Tensor => is_each || param.default.is_none(),
        ParamKind::Operand => is_each,
        kind => !matches!(
            kind,
            ParamKind::Any | ParamKind::Tensors | ParamKind::TensorRun | ParamKind::Object | ParamKind::Rest
        ),
    };
    let sure = row.params.iter().take_while(is_sure).filter(takes_tensor);
    for (operand, param) in operands.iter_mut().zip(sure) {
        operand.name.get_or_insert_with(|| param.name.into());
    }
}

fn by_variables(
    operands: &mut [Operand],
    is_param: &dyn Fn(&str) -> bool,
    ast: &AST,
    position: Position,
    scope: &Scope,
) {
    let written = arguments(ast, position);
    let mut held: Vec<(String, Option<Operand>)> = Vec::new();
    for name in written {
        match name.as_deref().and_then(|n| value_of(n, scope)) {
            Some(value) => held.extend(tensors(name.unwrap_or_default(), &value)),
            None => held.push((name.unwrap_or_default(), None)),
        }
    }
    if held.len() == operands.len() {
        for (operand, (name, known)) in operands.iter_mut().zip(&held) {
            if !name.is_empty() && known.as_ref().is_none_or(|k| alike(k, operand)) {
                operand.name = Some(name.clone());
            }
        }
        return;
    }
    // An op inside a module, or numbers among the arguments: each known tensor names the operand that it is.
    for (name, known) in held.iter().filter(|(name, _)| !name.is_empty()) {
        let is_free = |o: &Operand| o.name.as_deref().is_none_or(is_param);
        let same = |o: &&mut Operand| is_free(o) && known.as_ref().is_some_and(|k| alike(k, o));
        if let Some(operand) = operands.iter_mut().find(same) {
            operand.name = Some(name.clone());
        }
    }
}

/// The tensors that variables hold, those of arrays and maps by their places, such as `xs[2]`, and those of modules,
/// such as `net.0.weight`. Each comes with its name, those that were given first before later ones.
pub fn held(scope: &Scope) -> Vec<(String, Tensor)> {
    let mut found = Vec::new();
    // The scope gives the newest first. Of several names of a tensor the first that was given is the one to say; the
    // last value's is nobody's.
    let mut all: Vec<_> = scope.iter_raw().collect();
    all.reverse();
    sorted::sort_by_key(&mut all, |(name, ..)| *name == "_");
    for (name, _, value) in all {
        collect(name, value, 0, &mut found);
    }
    found
}

/// Arrays within arrays are followed this far.
const DEPTH: usize = 4;

/// Of a longer array only the beginning is gone through.
const LONG: usize = 4096;

fn collect(name: &str, value: &Dynamic, depth: usize, found: &mut Vec<(String, Tensor)>) {
    if let Some(t) = value.read_lock::<Tensor>() {
        found.push((name.to_string(), t.clone()));
        found.extend(t.grad().map(|g| (format!("{name}.grad"), g)));
    } else if depth == DEPTH {
    } else if let Some(items) = value.read_lock::<rhai::Array>() {
        for (i, item) in items.iter().take(LONG).enumerate() {
            collect(&format!("{name}[{i}]"), item, depth + 1, found);
        }
    } else if let Some(map) = value.read_lock::<rhai::Map>() {
        for (key, item) in map.iter() {
            collect(&format!("{name}.{key}"), item, depth + 1, found);
        }
    } else if let Some(module) = value.read_lock::<Module>() {
        for (path, t) in [Role::Parameter, Role::Buffer].into_iter().flat_map(|role| module.named(role)) {
            found.extend(t.grad().map(|g| (format!("{name}.{path}.grad"), g)));
            found.push((format!("{name}.{path}"), t));
        }
    }
}

fn tensors(name: String, value: &Dynamic) -> Vec<(String, Option<Operand>)> {
    let mut found = Vec::new();
    if value.is::<Module>() {
        return Vec::new();
    }
    collect(&name, value, DEPTH - 1, &mut found);
    found.into_iter().filter(|(n, _)| !n.ends_with(".grad")).map(|(n, t)| (n, Some(t.operand()))).collect()
}

fn alike(a: &Operand, b: &Operand) -> bool {
    a.shape == b.shape && a.dtype == b.dtype && a.device == b.device
}

/// The value of a plain variable, or of a variable's `.grad`.
fn value_of(name: &str, scope: &Scope) -> Option<Dynamic> {
    match name.strip_suffix(".grad") {
        Some(of) => {
            let value = scope.get_value::<Tensor>(of)?;
            value.grad().map(Dynamic::from)
        }
        None => scope.get_value::<Dynamic>(name),
    }
}

/// The names of what the call at `position` is given, the object of a method first; `None` for what has no name.
/// Literals are left out.
fn arguments(ast: &AST, position: Position) -> Vec<Option<String>> {
    let mut found = Vec::new();
    ast.walk(&mut |path: &[ASTNode]| {
        let Some(args) = call_at(path, position) else { return true };
        found = args;
        false
    });
    found
}

fn call_at(path: &[ASTNode], position: Position) -> Option<Vec<Option<String>>> {
    let (last, parents) = path.split_last()?;
    match last {
        ASTNode::Expr(Expr::FnCall(call, at)) | ASTNode::Stmt(Stmt::FnCall(call, at)) if *at == position => {
            Some(named(call.args.iter()))
        }
        ASTNode::Expr(Expr::MethodCall(call, at)) if *at == position => {
            Some(named(receiver(parents, last).into_iter().chain(call.args.iter())))
        }
        ASTNode::Expr(node @ Expr::Index(_, _, at)) if *at == position => Some(vec![indexed(parents, node)]),
        ASTNode::Stmt(Stmt::Assignment(x)) if x.0.position() == position => {
            Some(named([&x.1.lhs, &x.1.rhs].into_iter()))
        }
        _ => None,
    }
}

/// What stands before the dot of a method call.
fn receiver<'a>(parents: &[ASTNode<'a>], call: &ASTNode<'a>) -> Option<&'a Expr> {
    let ASTNode::Expr(call) = call else { return None };
    parents.iter().rev().find_map(|node| match node {
        ASTNode::Expr(Expr::Dot(x, ..)) if std::ptr::eq(&x.rhs, *call) => Some(&x.lhs),
        ASTNode::Expr(Expr::Dot(x, ..)) => match &x.rhs {
            Expr::Dot(inner, ..) if std::ptr::eq(&inner.lhs, *call) => Some(&x.lhs),
            _ => None,
        },
        _ => None,
    })
}

/// What stands before the brackets, from the beginning of its chain on.
fn indexed(parents: &[ASTNode], node: &Expr) -> Option<String> {
    let (Expr::Dot(x, ..) | Expr::Index(x, ..)) = node else { return None };
    let around = parents.iter().enumerate().rev().find_map(|(i, parent)| match parent {
        ASTNode::Expr(around @ (Expr::Dot(y, ..) | Expr::Index(y, ..))) if std::ptr::eq(&y.rhs, node) => {
            Some((*around, parents.get(..i)?))
        }
        _ => None,
    });
    let Some((around, parents)) = around else { return text(&x.lhs) };
    let before = indexed(parents, around)?;
    match (around, &x.lhs) {
        (Expr::Dot(..), name) => Some(format!("{before}.{}", text(name)?)),
        (_, Expr::IntegerConstant(i, _)) => Some(format!("{before}[{i}]")),
        (_, place) => Some(format!("{before}[{}]", text(place)?)),
    }
}

fn named<'a>(args: impl Iterator<Item = &'a Expr>) -> Vec<Option<String>> {
    let mut names = Vec::new();
    for arg in args {
        match arg {
            Expr::Array(items, _) => names.extend(named(items.iter())),
            literal if literal.is_constant() || matches!(literal, Expr::Map(..)) => {}
            other => names.push(text(other)),
        }
    }
    names
}

/// `x`, `m.w`, `xs[2]`: what reads as a name.
fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Variable(x, ..) => Some(x.1.to_string()),
        Expr::Property(x, _) => Some(x.2.to_string()),
        Expr::ThisPtr(_) => Some("this".into()),
        Expr::Dot(x, ..) => Some(format!("{}.{}", text(&x.lhs)?, text(&x.rhs)?)),
        Expr::Index(x, ..) => match &x.rhs {
            Expr::IntegerConstant(i, _) => Some(format!("{}[{i}]", text(&x.lhs)?)),
            _ => None,
        },
        _ => None,
    }
}
