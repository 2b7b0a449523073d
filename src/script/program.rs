//! What becomes of a parsed program before it runs: changes of its syntax tree, in its functions as well.
//!
//! A power binds before a sign ([`powers`]), integers that divide are told of ([`differs`]), operators between variables and
//! numbers and methods of variables run where the values lie ([`direct`], [`methods`]), values end with the statement that
//! made them ([`ends`]), closures capture variables and nothing else ([`captures`]), nesting has a limit
//! ([`nesting`]), every line that runs is known as it does ([`blame`]), an error of a full device is
//! told the variables that it passes ([`frames`]), what is caught of Rhai's errors reads as what is not
//! ([`caught`]), what stands in a text fails where it can't be shown
//! ([`printing`]), what a call gives is assigned to ([`assigned`]), a method's receiver comes before its arguments ([`receivers_first`]), arrays have parts ([`slices`]), and loops take
//! pairs apart ([`unpack`]). Errors are placed by the tree that was parsed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rhai::{
    AST, Dynamic, Engine, Expr, Expression, ImmutableString, LexError, Module, Position, Scope,
    ScriptFuncDef, Stmt, StmtBlock, Token,
};

use crate::device::Shared;
use crate::device::shared::CodePlace;

use super::fault::Vocabulary;
use super::tree::{Visitor, visit};
use super::{
    assigned, blame, captures, caught, classes, constants, differs, direct, ends, frames, hollow, lists,
    methods, nesting, numbers, powers, printing, receivers_first, slices, unpack,
};

/// The key of a function's body that was changed.
const BODY: &str = "__body__";

/// Teaches the engine to evaluate what [`prepared`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>, words: Vocabulary) {
    direct::register(engine, shared);
    methods::register(engine, shared);
    lists::register(engine, shared);
    differs::register(engine, shared);
    numbers::register(engine, shared);
    ends::register(engine);
    captures::register(engine);
    receivers_first::register(engine);
    slices::register(engine);
    constants::register(engine);
    nesting::register(engine, shared);
    blame::register(engine, shared);
    frames::register(engine);
    caught::register(engine, words);
    printing::register_shown(engine, shared);
    assigned::register(engine);
    unpack::register(engine, shared);
    let shared = Arc::clone(shared);
    let take = |_: &[rhai::ImmutableString], _: &str, state: &mut Dynamic| match PENDING.take() {
        Some(body) => {
            *state = Dynamic::from(body);
            Ok(None)
        }
        None => Err(LexError::UnexpectedInput(BODY.into()).into_err(Position::NONE)),
    };
    engine.register_custom_syntax_with_state_raw(BODY, take, true, move |context, _, state| {
        let Some(body) = state.read_lock::<Body>() else { return Ok(Dynamic::UNIT) };
        let _called = shared.call(body.place);
        let before = context.scope().len().saturating_sub(body.parameters);
        let value = frames::evaluate(context, &Expression::from(&*body.code))?;
        // What its variables hold goes in the function's last line, not in its caller's.
        context.scope_mut().rewind(before);
        Ok(value)
    });
}

/// What is there before a program.
pub(super) struct Before<'a> {
    /// Variables, which it may hide for good.
    pub scope: &'a Scope<'a>,
    /// Functions that it may call.
    pub library: &'a AST,
    /// Where it was written.
    pub place: CodePlace,
    /// As it was written.
    pub code: &'a str,
    /// Whether simulated devices compute no values.
    pub hollow: bool,
}

/// The program as it is run.
pub(super) fn prepared(engine: &Engine, ast: &AST, before: &Before<'_>) -> AST {
    let Before { scope, library, place, code, hollow } = *before;
    let bound: Vec<&str> = scope.iter_raw().map(|(name, ..)| name).collect();
    let own = |ast: &AST| ast.iter_functions().map(|function| function.name.to_owned()).collect::<Vec<_>>();
    let mut changes = Changes {
        functions: own(ast).into_iter().chain(own(library)).collect(),
        powers: powers::tokens(engine, code),
        plain: blame::plain(ast),
        hollow,
    };
    methods::leave(changes.functions.iter());
    lists::leave(changes.functions.iter());
    let statements = visit(ast.statements().to_vec(), &bound, &mut changes);
    let statements: Vec<Stmt> = constants::known(scope).into_iter().chain(statements).collect();
    let mut functions = Module::clone(ast.shared_lib());
    let mut known: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    for function in ast.iter_functions() {
        *known.entry((function.name, function.params.len())).or_default() += 1;
    }
    for ((name, parameters), count) in known {
        let all = (0..count)
            .filter_map(|nth| with_changed_body(engine, ast, (name, parameters, nth), (&mut changes, place)));
        all.for_each(|changed| {
            functions.set_script_fn(changed);
        });
    }
    AST::new(statements, functions)
}

/// Makes all changes at once.
struct Changes {
    /// The names of the script's functions.
    functions: HashSet<String>,
    /// The code's tokens, where a sign may stand before a power.
    powers: Vec<(Token, Position)>,
    /// Variables that begin as plain values.
    plain: HashSet<String>,
    /// Whether numbers may never have been computed.
    hollow: bool,
}

impl Visitor for Changes {
    fn enter(&mut self, expr: &mut Expr) {
        assigned::wrap(expr);
        classes::wrap(expr);
    }

    fn pairs(&mut self, names: [&ImmutableString; 2], items: &Expr, body: &mut StmtBlock) {
        unpack::wrap(names, items, body, &|name| self.functions.contains(name));
    }

    fn expr(&mut self, expr: &mut Expr) {
        powers::bind(expr, &self.powers, &mut direct::wrap);
        printing::wrap(expr);
        direct::wrap(expr);
        numbers::wrap(expr, &self.functions);
        differs::wrap(expr);
        nesting::wrap(expr);
        blame::wrap(expr, &self.functions);
        lists::wrap_call(expr);
    }

    fn chain(&mut self, expr: &mut Expr) {
        if let Some(slices::ChainPart { mut base, link, mut rest }) = slices::cut(expr) {
            for part in std::iter::once(&mut base).chain(&mut rest) {
                if matches!(part, Expr::Dot(..) | Expr::Index(..)) {
                    self.chain(part);
                }
            }
            let (part, at) = (slices::sliced(base, link), expr.position());
            *expr = match rest {
                Some(rest) => receivers_first::joined(part, rest, at),
                None => part,
            };
            return;
        }
        if let Some((mut first, mut rest)) = receivers_first::cut(expr) {
            for part in [&mut first, &mut rest] {
                if matches!(part, Expr::Dot(..) | Expr::Index(..)) {
                    self.chain(part);
                }
            }
            *expr = receivers_first::joined(first, rest, expr.position());
            return;
        }
        blame::wrap_chain(expr, &self.functions);
        methods::wrap(expr);
        lists::wrap(expr);
    }

    fn condition(&mut self, expr: &mut Expr) {
        blame::wrap_condition(expr);
    }

    fn subject(&mut self, expr: &mut Expr) {
        if self.hollow {
            hollow::wrap(expr);
        }
    }

    fn items(&mut self, expr: &mut Expr, at: Position) {
        blame::wrap_items(expr, at);
    }

    fn framed(&mut self, statements: Vec<Stmt>, always: bool) -> Vec<Stmt> {
        frames::framed(statements, always)
    }

    fn tried(&mut self, statements: Vec<Stmt>) -> Vec<Stmt> {
        caught::tried(statements)
    }

    fn block(&mut self, mut statements: Vec<Stmt>, hidden: &[&str]) -> Vec<Stmt> {
        for statement in &mut statements {
            nesting::wrap_assigned(statement);
            differs::wrap_assigned(statement);
            blame::wrap_replaced(statement, &self.plain);
        }
        ends::told(captures::told(statements), hidden)
    }
}

/// A function's body, and where it was written.
#[derive(Clone)]
struct Body {
    code: Arc<Expr>,
    parameters: usize,
    place: CodePlace,
}

thread_local! {
    /// The body that the parser meets next: a function is made by the parser alone, and so is one with another body.
    static PENDING: RefCell<Option<Body>> = const { RefCell::new(None) };
}

/// The function with its body changed. Methods of several types may share a name and a number of parameters; the last
/// number says which of them it is.
fn with_changed_body(
    engine: &Engine,
    ast: &AST,
    (name, parameters, nth): (&str, usize, usize),
    (changes, place): (&mut Changes, CodePlace),
) -> Option<ScriptFuncDef> {
    let met = Cell::new(0);
    let mut alone = ast.clone_functions_only();
    alone.retain_functions(|_, _, other, count| {
        let same = other == name && count == parameters;
        same && met.replace(met.get() + 1) == nth
    });
    let function = alone.shared_lib().get_script_fn(name, parameters)?;
    let mut statements = Vec::new();
    alone.walk(&mut |path: &[rhai::ASTNode]| {
        if let [rhai::ASTNode::Stmt(statement)] = path {
            statements.push((*statement).clone());
        }
        true
    });
    let hidden: Vec<&str> = function.params.iter().map(|name| name.as_str()).collect();
    let statements = visit(statements, &hidden, changes);
    let block = StmtBlock::new(statements, function.body.start_position(), function.body.end_position());
    let code = Arc::new(Expr::Stmt(Box::new(block)));
    PENDING.set(Some(Body { code, parameters, place }));
    let stub = engine.compile(format!("fn stub() {{ {BODY} }}"));
    PENDING.set(None);
    let stub = stub.ok()?;
    let stub = stub.shared_lib().get_script_fn("stub", 0)?;
    let mut changed = ScriptFuncDef::clone(function);
    changed.body = stub.body.clone();
    Some(changed)
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn nobody_writes_the_key_of_a_body() {
        assert!(shown(&["__body__"]).contains("__body__"));
        assert_eq!(shown(&["fn f(a) { a + 1 } f(1)"]), "2");
    }

    #[test]
    fn methods_of_several_types_that_share_a_name_stay_apart() {
        let code = "fn int.half() { 1 + 1; this / 2 }
             fn string.half() { 1 + 1; this.sub_string(0, this.len / 2) }
             fn half(x) { 1 + 1; x * 0.5 }
             let a = 6; let b = \"abcd\"; [a.half(), b.half(), half(3.0)]";
        assert_eq!(shown(&[code]), "[3, \"ab\", 1.5]");
    }
}
