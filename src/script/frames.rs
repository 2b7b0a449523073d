//! Who held what when memory ran out.
//!
//! An error of a full device passes through the scopes of the functions and blocks that it leaves. At each it is told
//! the variables there, so that it names them where it is caught, and what deleting some of them would have freed.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;

use rhai::{
    ASTNode, Array, Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, Map, Position, Scope,
    Stmt, StmtBlock,
};

use crate::base::Error;
use crate::base::error::kind::Variables;
use crate::device::live::OF_A_MODULE;
use crate::nn::{Module, Role};
use crate::optim::Optimizer;
use crate::script::custom::custom;
use crate::tensor::Tensor;
use crate::tensor::trial::{Handles, ended, kept_by_graph};

use super::fault::RhaiResult;
use super::operands;

/// The key of a block whose variables an error is told: no text of a script is read as this token.
const FRAME: &str = "\u{e}";

/// Teaches the engine to evaluate what [`framed`] makes.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        FRAME,
        |_, _, _| Ok(None),
        true,
        |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| match inputs {
            [block] => evaluate(context, block),
            _ => Ok(Dynamic::UNIT),
        },
    );
}

/// Evaluates a block; an error is told its variables. They end with the block or function around it.
#[allow(deprecated, reason = "marked so only because its form may change between versions, which are pinned")]
pub(super) fn evaluate(context: &mut EvalContext, block: &Expression) -> RhaiResult<Dynamic> {
    let before = context.scope().len();
    context.eval_expression_tree_raw(block, false).map_err(|mut error| {
        if let Expr::Stmt(block) = &**block {
            let within_a_call = context.call_level() > 0;
            meet(&mut error, context.scope(), (before, within_a_call), block.statements());
        }
        error
    })
}

/// The statements of a block with a frame around them, where there is one to speak of: where something may fail behind
/// a variable, or in any case.
pub(super) fn framed(statements: Vec<Stmt>, always: bool) -> Vec<Stmt> {
    let variable = statements.iter().position(|statement| matches!(statement, Stmt::Var(..)));
    let behind = variable.and_then(|at| statements.get(at + 1..)).unwrap_or_default();
    let Some(first) = statements.first().filter(|_| always || behind.iter().any(may_fail)) else {
        return statements;
    };
    let (from, to) = (first.position(), statements.last().map_or(Position::NONE, Stmt::position));
    let block = Expr::Stmt(Box::new(StmtBlock::new(statements, from, to)));
    vec![Stmt::Expr(Box::new(Expr::Custom(Box::new(custom(FRAME, [block], Dynamic::UNIT)), from)))]
}

/// Tells an error of a full device the variables of a scope that it leaves: those from the place `from` on end there.
/// Within a call there are the caller's besides. `code` has the line that failed.
pub(super) fn meet(
    error: &mut EvalAltResult,
    scope: &Scope,
    (from, within_a_call): (usize, bool),
    code: &[Stmt],
) {
    let at = error.position();
    let Some(value) = thrown(error) else { return };
    let Some(mut told) = value.write_lock::<Error>() else { return };
    let Some(id) = told.teller() else { return };
    let lost = LOST.take();
    let lost = if lost.0 == id { lost.1 } else { Handles::new() };
    let seen = Seen { within_a_call, ..Seen::of(scope, needed(code, at).as_ref(), lost) };
    told.retell(&seen);
    let moves = || told.hint().is_some_and(|hint| hint.contains(OF_A_MODULE));
    if goes_on(code, at) || moves() {
        told.note(|| "what the rest of the line asks for may need more".into());
    }
    LOST.set((id, seen.lost_behind(from)));
}

thread_local! {
    /// Handles that scopes held which an error has left, and which error.
    static LOST: RefCell<(u64, Handles)> = RefCell::default();
}

fn may_fail(statement: &Stmt) -> bool {
    let mut found = false;
    statement.walk(&mut Vec::new(), &mut |path: &[ASTNode]| {
        let calls = matches!(
            path.last(),
            Some(ASTNode::Expr(Expr::FnCall(..) | Expr::MethodCall(..) | Expr::Custom(..)))
        );
        found |= calls || matches!(path.last(), Some(ASTNode::Stmt(Stmt::FnCall(..))));
        !found
    });
    found
}

/// What was thrown, inside the calls that it came through.
fn thrown(error: &mut EvalAltResult) -> Option<&mut Dynamic> {
    match error {
        EvalAltResult::ErrorRuntime(value, _) => Some(value),
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) => {
            thrown(inner)
        }
        _ => None,
    }
}

/// The variables that the statement at a place names, and others of its line; `None` where it is not found.
fn needed(code: &[Stmt], at: Position) -> Option<HashSet<String>> {
    let is_there = |node: &ASTNode| !at.is_none() && node.position() == at;
    let of_line = named_where(code, |node| node.position().line() == at.line());
    match named_where(code, is_there) {
        Some(names) => Some(names.into_iter().chain(of_line.into_iter().flatten()).collect()),
        None => of_line,
    }
}

/// Whether the line in which the call at a place failed asks for more once that is served: other calls come after it, or
/// take what it gives.
fn goes_on(code: &[Stmt], at: Position) -> bool {
    let mut found = false;
    for statement in code {
        let place = statement.position();
        found |= !at.is_none() && place.line() == at.line() && place > at && may_fail(statement);
        statement.walk(&mut Vec::new(), &mut |path: &[ASTNode]| {
            let is_there =
                !at.is_none() && path.last().is_some_and(|node| is_call(node) && node.position() == at);
            if is_there {
                let root = root(path);
                let within =
                    path.iter().rposition(|node| root.first().is_some_and(|root| std::ptr::eq(root, node)));
                let around = path.get(within.unwrap_or(0)..path.len() - 1).unwrap_or_default();
                let itself = path.last().is_some_and(asks_more);
                found |= itself || around.iter().any(is_call) || has_call_after(root, at);
            }
            !found
        });
    }
    found
}

/// Whether a call may ask for memory more than once: one of a function or module, or that makes a module.
fn asks_more(call: &ASTNode) -> bool {
    let call = match call {
        ASTNode::Expr(Expr::FnCall(call, _) | Expr::MethodCall(call, _))
        | ASTNode::Stmt(Stmt::FnCall(call, _)) => call,
        _ => return false,
    };
    // A module that is made somewhere asks for each of its tensors.
    let makes_module = !call.namespace.is_empty() && call.namespace.root() == "nn";
    makes_module
        || ["forward", "call", "step", "checkpoint", "checkpoint_sequential"].contains(&call.name.as_str())
}

fn is_call(node: &ASTNode) -> bool {
    match node {
        ASTNode::Expr(Expr::FnCall(..) | Expr::MethodCall(..)) | ASTNode::Stmt(Stmt::FnCall(..)) => true,
        ASTNode::Stmt(Stmt::Assignment(assigned)) => assigned.0.is_op_assignment(),
        _ => false,
    }
}

fn has_call_after(root: &[ASTNode], at: Position) -> bool {
    let mut found = false;
    let mut look = |path: &[ASTNode]| {
        // What the call itself takes was computed before it.
        let within = path.iter().rev().skip(1).any(|node| is_call(node) && node.position() == at);
        found |= !within && path.last().is_some_and(|node| is_call(node) && node.position() > at);
        !found
    };
    match root {
        [ASTNode::Stmt(statement)] => statement.walk(&mut Vec::new(), &mut look),
        [ASTNode::Expr(expr)] => expr.walk(&mut Vec::new(), &mut look),
        _ => true,
    };
    found
}

fn named_where(code: &[Stmt], is_there: impl Fn(&ASTNode) -> bool) -> Option<HashSet<String>> {
    let mut names = None;
    for statement in code {
        statement.walk(&mut Vec::new(), &mut |path: &[ASTNode]| {
            if path.last().is_some_and(&is_there) {
                let names: &mut HashSet<String> = names.get_or_insert_default();
                named(root(path), names);
            }
            true
        });
    }
    names
}

/// The innermost statement of a path; of one that holds others the part that leads on.
fn root<'p, 'a>(path: &'p [ASTNode<'a>]) -> &'p [ASTNode<'a>] {
    let statement = path.iter().rposition(|node| matches!(node, ASTNode::Stmt(_))).unwrap_or(0);
    let simple = matches!(
        path.get(statement),
        Some(ASTNode::Stmt(
            Stmt::Expr(_)
                | Stmt::FnCall(..)
                | Stmt::Var(..)
                | Stmt::Assignment(_)
                | Stmt::Return(..)
                | Stmt::BreakLoop(..)
        ))
    );
    let at = if simple { statement } else { (statement + 1).min(path.len().saturating_sub(1)) };
    path.get(at..=at).unwrap_or_default()
}

fn named(root: &[ASTNode], names: &mut HashSet<String>) {
    let mut note = |path: &[ASTNode]| {
        match path.last() {
            Some(ASTNode::Expr(Expr::Variable(x, ..))) => names.insert(x.1.to_string()),
            Some(ASTNode::Expr(Expr::ThisPtr(_))) => names.insert("this".into()),
            _ => false,
        };
        true
    };
    match root {
        [ASTNode::Stmt(statement)] => statement.walk(&mut Vec::new(), &mut note),
        [ASTNode::Expr(expr)] => expr.walk(&mut Vec::new(), &mut note),
        _ => true,
    };
}

/// The variables of a scope.
struct Seen {
    names: Vec<(u64, String)>,
    graphs: Vec<(u64, String)>,
    needed: Vec<u64>,
    /// Names that may be deleted, each with the places of its handles.
    deletable: Vec<(String, Range<usize>)>,
    /// A handle of each tensor that a variable, an array, a map or a module of a variable's own holds one of.
    handles: Vec<Tensor>,
    /// The place of each handle's variable, and whether a closure holds the variable as well.
    of: Vec<(usize, bool)>,
    lost: Handles,
    within_a_call: bool,
}

impl Seen {
    fn of(scope: &Scope, needed: Option<&HashSet<String>>, lost: Handles) -> Seen {
        // What is cloned here is dropped again before handles are counted.
        let (names, graphs) = held(scope);
        let mut seen = Seen {
            names,
            graphs,
            needed: Vec::new(),
            deletable: Vec::new(),
            handles: Vec::new(),
            of: Vec::new(),
            lost,
            within_a_call: false,
        };
        let (mut newest, mut cells) = (HashSet::new(), HashSet::new());
        for (i, (name, constant, value)) in scope.iter_raw().enumerate() {
            let is_needed = needed.is_none_or(|needed| needed.contains(name));
            let hidden = !newest.insert(name);
            if is_needed {
                uses(value, 0, &mut seen.needed);
            }
            let mut parts = Vec::new();
            collect(name, value, 0, &mut cells, &mut parts);
            for (part, mut tensors) in parts {
                tensors.retain(|tensor| tensor.device().is_cuda());
                let (first, count) = (seen.handles.len(), tensors.len());
                if count > 0 && !is_needed && !hidden && !constant && name != "_" {
                    seen.deletable.push((part, first..first + count));
                }
                seen.handles.extend(tensors);
                seen.of.extend(std::iter::repeat_n((scope.len() - 1 - i, value.is_shared()), count));
            }
        }
        // As they were written.
        seen.deletable.reverse();
        seen
    }

    /// The handles that are gone once the variables from a place on are, those that were gone before among them.
    fn lost_behind(&self, from: usize) -> Handles {
        let gone =
            |at: &usize| self.of.get(*at).is_some_and(|(variable, shared)| *variable >= from && !shared);
        let dropped: Vec<usize> = (0..self.handles.len()).filter(gone).collect();
        let mut lost = self.lost.clone();
        for (at, count) in ended(&self.handles, &dropped, &self.lost).left {
            *lost.entry(at).or_default() += count;
        }
        lost
    }
}

impl Variables for Seen {
    fn names(&self) -> Vec<(u64, String)> {
        self.names.clone()
    }

    fn deletable(&self) -> Vec<String> {
        self.deletable.iter().map(|(name, _)| name.clone()).collect()
    }

    fn freed(&self, chosen: &[usize]) -> Vec<u64> {
        let chosen = chosen.iter().filter_map(|&at| self.deletable.get(at));
        let dropped: Vec<usize> = chosen.flat_map(|(_, handles)| handles.clone()).collect();
        ended(&self.handles, &dropped, &self.lost).memory
    }

    fn needed(&self) -> Vec<u64> {
        self.needed.clone()
    }

    fn graphs(&self) -> Vec<(u64, String)> {
        self.graphs.clone()
    }

    fn are_within_a_call(&self) -> bool {
        self.within_a_call
    }
}

/// Addresses with names.
type Named = Vec<(u64, String)>;

/// The names of what variables hold on accelerators, and whose graphs keep what.
fn held(scope: &Scope) -> (Named, Named) {
    let all = operands::held(scope);
    let on_device =
        |(name, t): &(String, Tensor)| t.device().is_cuda().then(|| (t.storage().address(), name.clone()));
    let names = all.iter().filter_map(on_device).collect();
    let (mut graphs, mut met) = (Vec::new(), HashSet::new());
    // What was made last is what its graph is for.
    for (name, tensor) in all.iter().rev() {
        let Some(node) = tensor.node() else { continue };
        let line = if node.line > 0 { format!(", made on line {},", node.line) } else { String::new() };
        let kept = kept_by_graph(tensor, &mut met).into_iter();
        graphs.extend(kept.map(|address| (address, format!("the graph of {name}{line}"))));
    }
    (names, graphs)
}

/// Arrays within arrays are followed this far.
const DEPTH: usize = 4;

/// Of a longer array only the beginning is gone through.
const LONG: usize = 4096;

/// A handle of each tensor in a value, with its place; those of a module together. `cells` are captured variables that
/// were met.
fn collect(
    name: &str,
    value: &Dynamic,
    depth: usize,
    cells: &mut HashSet<*const Dynamic>,
    found: &mut Vec<(String, Vec<Tensor>)>,
) {
    if value.is_shared() {
        if value.is_locked() || depth == DEPTH {
            return;
        }
        let Some(inner) = value.read_lock::<Dynamic>() else { return };
        if cells.insert(&raw const *inner) {
            collect(name, &inner, depth + 1, cells, found);
        }
    } else if let Some(tensor) = value.read_lock::<Tensor>() {
        found.push((name.to_owned(), vec![tensor.clone()]));
    } else if let Some(module) = value.read_lock::<Module>() {
        found.extend(module.gone_with_it().map(|tensors| (name.to_owned(), tensors)));
    } else if let Some(optimizer) = value.read_lock::<Optimizer>() {
        found.extend(optimizer.gone_with_it().map(|tensors| (name.to_owned(), tensors)));
    } else if depth == DEPTH {
    } else if let Some(items) = value.read_lock::<Array>() {
        for (i, item) in items.iter().take(LONG).enumerate().rev() {
            collect(&format!("{name}[{i}]"), item, depth + 1, cells, found);
        }
    } else if let Some(map) = value.read_lock::<Map>() {
        for (key, item) in map.iter().rev() {
            collect(&format!("{name}.{key}"), item, depth + 1, cells, found);
        }
    }
}

/// The addresses of all that a statement uses which names a value: of a module its parameters and buffers, of an
/// optimiser its state as well, each with its gradient.
fn uses(value: &Dynamic, depth: usize, found: &mut Vec<u64>) {
    let mut add = |tensor: Tensor| {
        found.extend(tensor.grad().map(|grad| grad.storage().address()));
        found.push(tensor.storage().address());
    };
    if let Some(tensor) = value.read_lock::<Tensor>() {
        add(tensor.clone());
    } else if let Some(module) = value.read_lock::<Module>() {
        let of = |role| module.named(role).into_iter().map(|(_, tensor)| tensor);
        [Role::Parameter, Role::Buffer].into_iter().flat_map(of).for_each(add);
    } else if let Some(optimizer) = value.read_lock::<Optimizer>() {
        (0..optimizer.group_count()).flat_map(|group| optimizer.parameters(group)).for_each(&mut add);
        optimizer.state().into_iter().for_each(add);
    } else if depth == DEPTH {
    } else if let Some(items) = value.read_lock::<Array>() {
        items.iter().take(LONG).for_each(|item| uses(item, depth + 1, found));
    } else if let Some(map) = value.read_lock::<Map>() {
        map.values().for_each(|item| uses(item, depth + 1, found));
    }
}
