//! How deep arrays, maps and closures may lie in each other, and how many of them one value may hold.
//!
//! Rhai copies, measures, prints and drops values by recursion, so that a value nested deeply enough ends the process,
//! and none of this asks whether the script was interrupted. Values grow where they are put into each other: in
//! literals, captures, methods such as `push` and assignments to an element. There the new value is looked through.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use rhai::{Array, BinaryExpr, Dynamic, Engine, EvalAltResult, Expr, Expression, FnPtr, Map, Position, Stmt};

use crate::device::Shared;
use crate::op::OpDef;
use crate::op::Receiver;
use crate::script::custom::custom;
use crate::script::fault::{DEEPEST, MOST, TOO_DEEP, TOO_MANY};
use crate::script::language;

use super::fault::raise;

/// The key of an expression whose value is looked through: no text of a script is read as this token.
const GROWN: &str = "\u{5}";

/// Methods of the language that may put their arguments into what they are called on or give.
static PUTTING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let putting = |def: &&OpDef| def.receiver == Receiver::Closure || def.changes && !def.params.is_empty();
    language::rows().filter(putting).map(|def| def.name).collect()
});

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        GROWN,
        |_, _, _| Ok(None),
        false,
        move |context, inputs: &[Expression], _| {
            let [whole] = inputs else { return Ok(Dynamic::UNIT) };
            let value = context.eval_expression_tree(whole)?;
            match measured(&value, &shared) {
                Ok(()) => Ok(value),
                Err(mut error) => {
                    error.set_position(whole.position());
                    Err(error)
                }
            }
        },
    );
}

/// Wraps what makes a value of others.
pub(super) fn wrap(expr: &mut Expr) {
    match expr {
        Expr::Array(items, _) if items.iter().all(is_flat) => {}
        Expr::Map(x, _) if x.0.iter().all(|(_, value)| is_flat(value)) => {}
        Expr::Array(..) | Expr::Map(..) => grown(expr),
        Expr::FnCall(call, _) if !call.is_qualified() && call.name == "curry" => grown(expr),
        Expr::FnCall(call, _) | Expr::MethodCall(call, _) if PUTTING.contains(call.name.as_str()) => {
            call.args.iter_mut().filter(|argument| !is_flat(argument)).for_each(grown);
        }
        _ => {}
    }
}

/// Wraps what an assignment puts into an element or a property.
pub(crate) fn wrap_assigned(statement: &mut Stmt) {
    let Stmt::Assignment(x) = statement else { return };
    let BinaryExpr { lhs, rhs } = &mut x.1;
    if matches!(lhs, Expr::Index(..) | Expr::Dot(..)) && !is_flat(rhs) {
        grown(rhs);
    }
}

fn grown(expr: &mut Expr) {
    if matches!(expr, Expr::Custom(x, _) if x.tokens.first().is_some_and(|key| key == GROWN)) {
        return;
    }
    let at = expr.position();
    let whole = std::mem::take(expr);
    *expr = Expr::Custom(Box::new(custom(GROWN, [whole], Dynamic::UNIT)), at);
}

/// Whether an expression is known to give no array, map or closure.
fn is_flat(expr: &Expr) -> bool {
    matches!(expr, Expr::InterpolatedString(..)) || expr.is_constant()
}

/// Looks through a value.
pub(super) fn measured(value: &Dynamic, shared: &Shared) -> Result<(), Box<EvalAltResult>> {
    if !holds_others(value) {
        return Ok(());
    }
    let mut walk = NestingWalk { count: 0, cells: HashMap::new(), shared };
    walk.depth(value, 0, true).map(|_| ()).map_err(|stop| match stop {
        Stop::Deep => EvalAltResult::ErrorDataTooLarge(TOO_DEEP.into(), Position::NONE).into(),
        Stop::Many => EvalAltResult::ErrorDataTooLarge(TOO_MANY.into(), Position::NONE).into(),
        Stop::Cancelled => raise(shared.cancel.error()),
    })
}

enum Stop {
    Deep,
    Many,
    Cancelled,
}

struct NestingWalk<'a> {
    /// Arrays and maps so far.
    count: usize,
    /// How deep is what the captured variables hold, by their addresses: one may be met on many ways. One that holds
    /// itself is met while it is looked through, and is never dropped.
    cells: HashMap<*const Dynamic, usize>,
    shared: &'a Shared,
}

impl NestingWalk<'_> {
    /// The levels below a value that lies at `level`. What is captured is `owned` by more than this value, and not
    /// copied with it.
    fn depth(&mut self, value: &Dynamic, level: usize, owned: bool) -> Result<usize, Stop> {
        if level > DEEPEST {
            return Err(Stop::Deep);
        }
        if value.is_shared() {
            return self.captured(value, level);
        }
        let mut deepest = 0;
        if let Some(items) = value.read_lock::<Array>() {
            self.met(owned)?;
            for item in items.iter().filter(|item| holds_others(item)) {
                deepest = deepest.max(1 + self.depth(item, level + 1, owned)?);
            }
        } else if let Some(items) = value.read_lock::<Map>() {
            self.met(owned)?;
            for item in items.values().filter(|item| holds_others(item)) {
                deepest = deepest.max(1 + self.depth(item, level + 1, owned)?);
            }
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            for item in function.curry().iter().filter(|item| holds_others(item)) {
                deepest = deepest.max(1 + self.depth(item, level + 1, owned)?);
            }
        }
        Ok(deepest)
    }

    fn captured(&mut self, value: &Dynamic, level: usize) -> Result<usize, Stop> {
        // What is being changed just now is measured when that is done.
        if value.is_locked() {
            return Ok(0);
        }
        let Some(inner) = value.read_lock::<Dynamic>() else { return Ok(0) };
        let cell: *const Dynamic = &raw const *inner;
        if let Some(known) = self.cells.get(&cell) {
            return if level + known > DEEPEST { Err(Stop::Deep) } else { Ok(*known) };
        }
        self.cells.insert(cell, 0);
        let depth = self.depth(&inner, level, false)?;
        self.cells.insert(cell, depth);
        Ok(depth)
    }

    fn met(&mut self, owned: bool) -> Result<(), Stop> {
        self.count += usize::from(owned);
        if self.count > MOST {
            return Err(Stop::Many);
        }
        if self.count.is_multiple_of(4096) && self.shared.cancel.is_set() {
            Err(Stop::Cancelled)
        } else {
            Ok(())
        }
    }
}

fn holds_others(value: &Dynamic) -> bool {
    value.is_shared() || value.is_array() || value.is_map() || value.is_fnptr()
}
