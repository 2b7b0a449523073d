//! What the language adds to Rhai: `with … { … }`, `@`, `**`, `is`.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhai::{
    Dynamic, Engine, EvalAltResult, EvalContext, Expression, FLOAT, INT, ImmutableString, LexError, Position,
    Token,
};

use crate::base::{DType, DeviceSpec, Error, Result};
use crate::device::Machine;
use crate::tensor::Tensor;

use super::assigned;
use super::fault::raise;

use super::value::type_name;

/// What stands between `with` and its block: entering gives a guard that is dropped when the block is left,
/// on an error too.
#[derive(Clone)]
pub(crate) struct ContextManager {
    name: &'static str,
    enter: Arc<dyn Fn() -> Result<Box<dyn Any>> + Send + Sync>,
    once: Arc<ContextUse>,
}

/// Whether a context was entered. One that never was has done nothing, which is said when it is gone: in PyTorch
/// `set_grad_enabled(False)` acts as a line of its own.
struct ContextUse {
    name: &'static str,
    entered: AtomicBool,
}

impl Drop for ContextUse {
    fn drop(&mut self) {
        if !*self.entered.get_mut() {
            let name = self.name;
            Machine::current()
                .shared
                .warn(&format!("{name}() acts on a block alone: `with {name}(…) {{ … }}`"));
        }
    }
}

impl ContextManager {
    pub(crate) fn new<G: Any>(
        name: &'static str,
        enter: impl Fn() -> Result<G> + Send + Sync + 'static,
    ) -> ContextManager {
        let once = Arc::new(ContextUse { name, entered: AtomicBool::new(false) });
        ContextManager { name, enter: Arc::new(move || Ok(Box::new(enter()?))), once }
    }
}

/// Registers the syntax and the operators that are no rows of the op table.
pub(crate) fn register(engine: &mut Engine) {
    free_names(engine, None);
    engine.register_type_with_name::<ContextManager>("context");
    engine.register_fn("to_string", |m: &mut ContextManager| format!("{}()", m.name));
    // As tight as `*`, and `is` as `==`.
    let operators = [
        engine.register_custom_operator("@", 180).map(|_| ()),
        engine.register_custom_operator("is", 90).map(|_| ()),
    ];
    debug_assert!(operators.iter().all(std::result::Result::is_ok));
    engine.register_fn("is", |a: &mut Tensor, b: Tensor| a.is(&b));
    engine.register_fn("is", |a: Dynamic, b: Dynamic| are_one(&a, &b));
    assigned::register_signs(engine);
    let with = engine.register_custom_syntax(["with", "$expr$", "$block$"], true, run_with);
    debug_assert!(with.is_ok());
}

/// Whether two values that can't be changed are one: there is one of each dtype, number, truth and text, and of a device
/// no more than its name. Arrays and maps are copied where they go, and never one.
fn are_one(a: &Dynamic, b: &Dynamic) -> bool {
    fn same<T: Any + Clone + PartialEq>(a: &Dynamic, b: &Dynamic) -> bool {
        a.read_lock::<T>().zip(b.read_lock::<T>()).is_some_and(|(a, b)| *a == *b)
    }
    a.is_unit() && b.is_unit()
        || same::<DType>(a, b)
        || same::<DeviceSpec>(a, b)
        || same::<bool>(a, b)
        || same::<INT>(a, b)
        || same::<FLOAT>(a, b)
        || same::<ImmutableString>(a, b)
}

/// What `net.eval()` calls: the parser takes no method of the word itself.
pub(crate) const EVAL: &str = "eval_mode";

/// What `type_of(x)` calls: a layer, an optimiser or a schedule says which one it is.
pub(crate) const TYPE_OF: &str = "type_of_value";

thread_local! {
    /// Whether the last token was a dot. Of each thread: some parsers are shared, and threads parse at once.
    static AFTER_DOT: Cell<bool> = const { Cell::new(false) };
}

/// Rhai keeps `module`, `var`, `spawn` and `eval` for itself; `nn::module(…)`, `x.var()` and `net.eval()` are PyTorch's
/// names. `eval(…)` as a function stays disabled, and `call(…)` calls closures unless it is told as another name.
#[allow(deprecated, reason = "the mapper is marked so only because its form may change between versions")]
fn free_names(engine: &mut Engine, call: Option<&'static str>) {
    engine.on_parse_token(move |token, _, _| {
        let dotted = AFTER_DOT.replace(token == Token::Period);
        match token {
            Token::Reserved(name) if matches!(name.as_str(), "module" | "var" | "spawn") => {
                Token::Identifier(name)
            }
            Token::Reserved(name) if name.as_str() == LAST => Token::Identifier(Box::new("_".into())),
            Token::Reserved(name) | Token::Identifier(name) if name.as_str() == "type_of" => {
                Token::Identifier(Box::new(TYPE_OF.into()))
            }
            Token::Reserved(name) if name.as_str() == "call" => match call {
                Some(_) if dotted => Token::Identifier(Box::new(CALL_METHOD.into())),
                Some(told) => Token::Identifier(Box::new(told.into())),
                None => Token::Reserved(name),
            },
            Token::LexError(error) => match *error {
                LexError::ImproperSymbol(ref name, _) if name == "eval" && dotted => {
                    Token::Identifier(Box::new(EVAL.into()))
                }
                LexError::UnexpectedInput(ref text) if assigned::is_sign(text) => {
                    Token::Custom(Box::new(text.as_str().into()))
                }
                _ => Token::LexError(error),
            },
            other => other,
        }
    });
}

/// What `call` is to the check's engine: Rhai keeps the word for itself.
pub(super) const CALL: &str = "call_learner";

/// What `f.call(x)` is to the check's engine, where `f` may be the learner's.
pub(super) const CALL_METHOD: &str = "call_this";

/// Has `call(…)` be a function of this name, and `f.call(…)` a method.
pub(crate) fn free_call(engine: &mut Engine, name: &'static str) {
    free_names(engine, Some(name));
}

/// A device as a context: what is made there without another device lies on it.
fn on_device(value: &Dynamic) -> Option<ContextManager> {
    let device = *value.read_lock::<DeviceSpec>()?;
    let machine = Machine::current();
    Some(ContextManager::new("device", move || Ok(machine.with_default_device(device))))
}

fn run_with(
    context: &mut EvalContext,
    inputs: &[Expression],
) -> std::result::Result<Dynamic, Box<EvalAltResult>> {
    let [subject, block] = inputs else {
        return Err(raise(Error::runtime("`with` takes an expression and a block")));
    };
    let value = context.eval_expression_tree(subject)?;
    let manager = value.read_lock::<ContextManager>().map(|m| m.clone()).or_else(|| on_device(&value));
    let Some(manager) = manager else {
        let text = format!("`with` takes a context such as no_grad(), not {}", type_name(&value));
        let error = Error::type_error(text).with_hint(
            "contexts are no_grad(), enable_grad(), detect_anomaly(), autocast(…), cuda::device(i), cuda::stream(s), device(\"cuda\")",
        );
        return Err(placed(raise(error), subject.position()));
    };
    manager.once.entered.store(true, Ordering::Relaxed);
    let guard = (manager.enter)().map_err(|e| placed(raise(e), subject.position()))?;
    let result = context.eval_expression_tree(block);
    drop(guard);
    result
}

fn placed(mut error: Box<EvalAltResult>, position: Position) -> Box<EvalAltResult> {
    error.set_position(position);
    error
}

/// What Rhai's parser is told in place of `_`, which it keeps for itself.
pub(crate) const LAST: &str = "$";
