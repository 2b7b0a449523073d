//! Which line runs.
//!
//! Functions of ours note their line when they are called. What is no such call is wrapped here: a call of a script's
//! function, whose caller's line must be known before its own lines run; what a loop goes through; and conditions,
//! where a tensor is asked whether it is true.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use rhai::{AST, ASTNode, BinaryExpr, Dynamic, Engine, EvalContext, Expr, Expression, INT, Position, Stmt};

use crate::device::Shared;
use crate::op::{InPlace, OpDef, Receiver};

use super::custom::{NOTED_LINE, custom, start_of};
use super::{direct, help, language};

/// The key of a condition.
const CONDITION: &str = "\u{8}";

/// What never runs a function of the script's, or notes its line before it does.
static NOTED: LazyLock<HashSet<Cow<'static, str>>> = LazyLock::new(|| {
    let runs = |def: &OpDef| {
        def.receiver == Receiver::Closure || def.params.iter().any(|param| param.what.contains("a function"))
    };
    let own: HashSet<&str> = language::rows().filter(|def| runs(def)).map(|def| def.name).collect();
    let in_place = help::rows().filter(|def| !matches!(def.in_place, InPlace::None));
    let in_place = in_place.map(|def| Cow::Owned(format!("{}_", def.name)));
    let plain = help::rows().map(|def| def.name).filter(|name| !own.contains(name));
    plain.map(Cow::Borrowed).chain(in_place).collect()
});

/// Teaches the engine to evaluate what this module makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        NOTED_LINE,
        |_, _, _| Ok(None),
        false,
        move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
            let [whole] = inputs else { return Ok(Dynamic::UNIT) };
            let line = state.as_int().unwrap_or(0) as u32;
            here.set_line(line);
            let before = here.calling();
            let value = context.eval_expression_tree(whole);
            here.called(before);
            here.set_line(line);
            value
        },
    );
    let here = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        CONDITION,
        |_, _, _| Ok(None),
        false,
        move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
            let [whole] = inputs else { return Ok(Dynamic::UNIT) };
            here.set_line(state.as_int().unwrap_or(0) as u32);
            let value = context.eval_expression_tree(whole)?;
            direct::truth(&here, value, whole.position())
        },
    );
}

/// Wraps a call of what may be a script's function.
pub(super) fn wrap(expr: &mut Expr, functions: &HashSet<String>) {
    if let Expr::FnCall(call, at) = &*expr
        && call.op_token.is_none()
        && may_run(&call.name, functions)
    {
        let at = *at;
        noted(NOTED_LINE, expr, at);
    }
}

/// Wraps a chain in which a script's function may be called.
pub(super) fn wrap_chain(expr: &mut Expr, functions: &HashSet<String>) {
    if let Some(at) = caller(expr, functions) {
        noted(NOTED_LINE, expr, at);
    }
}

/// Wraps what a loop at a place goes through.
pub(super) fn wrap_items(expr: &mut Expr, at: Position) {
    noted(NOTED_LINE, expr, at);
}

/// Wraps a plain value that takes the place of another in a variable: what the variable held goes in this line. Variables
/// that begin as `plain` values are taken to hold no tensor, so that loops over numbers pay nothing.
pub(super) fn wrap_replaced(statement: &mut Stmt, plain: &HashSet<String>) {
    let Stmt::Assignment(x) = statement else { return };
    let (operation, BinaryExpr { lhs, rhs }) = &mut **x;
    let Expr::Variable(name, ..) = lhs else { return };
    let notes_nothing = rhs.is_constant() || matches!(rhs, Expr::Variable(..));
    if !operation.is_op_assignment() && notes_nothing && !plain.contains(name.1.as_str()) {
        let at = lhs.position();
        noted(NOTED_LINE, rhs, at);
    }
}

/// The names that a program gives a number, a truth or a text at first.
pub(super) fn plain(ast: &AST) -> HashSet<String> {
    let mut names = HashSet::new();
    ast.walk(&mut |path: &[ASTNode]| {
        if let Some(ASTNode::Stmt(Stmt::Var(x, ..))) = path.last()
            && x.1.is_constant()
            && !matches!(x.1, Expr::Unit(..) | Expr::DynamicConstant(..))
        {
            names.insert(x.0.name.to_string());
        }
        true
    });
    names
}

/// Wraps what has to be true or false, where a tensor may come of it.
pub(super) fn wrap_condition(expr: &mut Expr) {
    if let Expr::Custom(x, _) = expr
        && direct::asks_truth(x)
    {
        return;
    }
    match expr {
        // A side of these is a condition itself.
        Expr::And(..) | Expr::Or(..) => {}
        // Elsewhere `!` is what `~` is in Python; here it is `not`.
        Expr::FnCall(call, _) if call.name == "!" && call.op_token.is_some() => {
            call.args.iter_mut().filter(|operand| !operand.is_constant()).for_each(wrap_condition);
        }
        _ => {
            let at = start_of(expr);
            noted(CONDITION, expr, at);
        }
    }
}

fn noted(key: &'static str, expr: &mut Expr, at: Position) {
    let line = INT::try_from(at.line().unwrap_or(0)).unwrap_or(0);
    let place = expr.position();
    let whole = std::mem::take(expr);
    *expr = Expr::Custom(Box::new(custom(key, [whole], line.into())), place);
}

/// Where a chain calls what may be a script's function.
fn caller(expr: &Expr, functions: &HashSet<String>) -> Option<Position> {
    match expr {
        Expr::Dot(x, ..) | Expr::Index(x, ..) => {
            caller(&x.lhs, functions).or_else(|| caller(&x.rhs, functions))
        }
        Expr::MethodCall(call, at) if may_run(&call.name, functions) => Some(*at),
        _ => None,
    }
}

/// Whether what has this name may run one of the script's `functions` without a line being noted before.
fn may_run(name: &str, functions: &HashSet<String>) -> bool {
    !NOTED.contains(name) || functions.contains(name)
}
