//! The op table in Rhai: every row becomes its methods, functions, operators and in-place variants.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, INT, Map, Module, NativeCallContext, Position};

use crate::base::error::Operand as Described;
use crate::base::{Error, Kind, Result, Scalar};
use crate::device::Shared;
use crate::nn::made::construct;
use crate::op::args::place_of;
use crate::op::core::spec::{Binary, Unary, Writes};
use crate::op::params::InputParams;
use crate::op::{Args, Family, Form, Forward, InPlace, OpDef, Operand, ParamKind, Value};
use crate::tensor::Tensor;

use super::carry;
use super::fault::{RhaiResult, raise};
use super::value::{from_dynamic, options, to_dynamic};

/// What Python has as well: it computes a number from numbers.
pub(crate) const OF_NUMBERS: [&str; 3] = ["max", "min", "sum"];

/// Arguments of a raw function.
pub(crate) type FnCallArgs<'a> = [&'a mut Dynamic];
/// Registers every row. `functional` receives the `F::` forms.
pub(crate) fn register_ops(engine: &mut Engine, functional: &mut Module, shared: &Arc<Shared>) {
    let mut spaces: BTreeMap<&'static str, Module> = BTreeMap::new();
    for def in crate::op::table().chain(crate::op::homonyms()) {
        for form in def.forms {
            match form {
                Form::Method
                | Form::Function
                | Form::With(_)
                | Form::Constant
                | Form::ValueOf(_)
                | Form::Word
                | Form::Space(_) => {}
                Form::Of(space) => register_functional(spaces.entry(space).or_default(), def, shared),
                Form::Functional => register_functional(functional, def, shared),
                Form::Operator(symbol) => register_operator(engine, symbol, def, shared),
                Form::Property => register_property(engine, def, shared),
            }
        }
        if def.forms.iter().any(|f| matches!(f, Form::Method | Form::Function)) {
            register_global(engine, def, shared);
        }
        register_in_place(engine, def, shared);
    }
    for (space, module) in spaces {
        engine.register_static_module(space, module.into());
    }
}

/// Registers a row as a method and a function.
pub(crate) fn register_global(engine: &mut Engine, def: &'static OpDef, shared: &Arc<Shared>) {
    match def.forward {
        Forward::Unary(spec) => {
            let here = Arc::clone(shared);
            engine.register_fn(def.name, move |ctx: NativeCallContext, x: &mut Tensor| {
                unary(&here, &ctx, spec, x)
            });
            register_longer(engine, def.name, def, (runner(def), Writes::New), 1, shared);
        }
        Forward::Binary(spec, _) => {
            register_binary(engine, def.name, spec, shared);
            // Options, and what is no operand: an error says what is.
            for operands in [1, 2] {
                register_longer(engine, def.name, def, (runner(def), Writes::New), operands, shared);
            }
            register_number_first(engine, def, shared);
        }
        Forward::Call(run) => {
            for types in signatures(def) {
                if shared.has_both_clocks() {
                    engine.register_raw_fn(
                        def.name,
                        types,
                        carry::through(def.name, caller(def, run, shared)),
                    );
                } else {
                    engine.register_raw_fn(def.name, types, caller(def, run, shared));
                }
            }
        }
        Forward::Script => {}
    }
    // Those that are Python's as well look at maps themselves.
    if def.forms.contains(&Form::Function)
        && !OF_NUMBERS.contains(&def.name)
        && let Some(run) = by_name(def, shared)
    {
        if shared.has_both_clocks() && matches!(def.forward, Forward::Call(_)) {
            engine.register_raw_fn(def.name, [TypeId::of::<Map>()], carry::through(def.name, run));
        } else {
            engine.register_raw_fn(def.name, [TypeId::of::<Map>()], run);
        }
    }
}

/// Registers a row as a function of a module, such as `F::` or `nn::`.
pub(crate) fn register_functional(module: &mut Module, def: &'static OpDef, shared: &Arc<Shared>) {
    for types in signatures(def) {
        let run = runner(def);
        register_raw(module, def.name, types, caller(def, run, shared));
    }
    if let Some(run) = by_name(def, shared) {
        register_raw(module, def.name, vec![TypeId::of::<Map>()], run);
    }
    if def.writes_by_name() {
        let name = format!("{}_", def.name);
        for types in signatures(def) {
            register_raw(module, &name, types, in_place_by_name(def, shared));
        }
    }
    if let Forward::Binary(..) = def.forward {
        for first in NUMBERS {
            let types = [first(), TypeId::of::<Tensor>(), TypeId::of::<Map>()];
            for count in [2, 3] {
                let types = types.iter().take(count).copied().collect();
                register_raw(module, def.name, types, number_first(def, shared));
            }
        }
    }
}

/// A function of an activation with its option `inplace` set.
fn in_place_by_name(
    def: &'static OpDef,
    shared: &Arc<Shared>,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    let run = caller(def, runner(def), shared);
    move |ctx: NativeCallContext, args: &mut FnCallArgs| {
        let mut options = args.last().and_then(|last| last.read_lock::<Map>().map(|map| map.clone()));
        let given = args.len() - usize::from(options.is_some());
        let mut all: Vec<Dynamic> = args.iter().take(given).map(|arg| (**arg).clone()).collect();
        let mut with = options.take().unwrap_or_default();
        with.insert("inplace".into(), true.into());
        all.push(with.into());
        run(ctx, &mut all.iter_mut().collect::<Vec<_>>())
    }
}

/// A map of two operands, with the options of its row.
fn combined(args: &Args, how: Writes) -> Result<Value> {
    match args.def.forward {
        Forward::Binary(_, run) => run(args, how).map(Value::from),
        _ => Err(Error::runtime("not a binary row")),
    }
}

/// The row's function from matched arguments.
fn runner(def: &'static OpDef) -> fn(&Args) -> Result<Value> {
    match def.forward {
        Forward::Call(_) if def.family == Family::Module => |args| match args.def.forward {
            Forward::Call(run) => construct(args, run),
            _ => Err(Error::runtime("not a row of calls")),
        },
        Forward::Call(run) => run,
        Forward::Script => |args| Err(Error::runtime(format!("{} is of the script", args.def.name))),
        Forward::Unary(_) => |args| match args.def.forward {
            Forward::Unary(spec) => spec.apply(InputParams::of(args)?.input, [0.0; 2]).map(Value::from),
            _ => Err(Error::runtime("not a unary row")),
        },
        Forward::Binary(..) => |args| combined(args, Writes::New),
    }
}

/// Calls of a row with all its arguments by their names, in a map, where the first must be a tensor or a number.
fn by_name(
    def: &'static OpDef,
    shared: &Arc<Shared>,
) -> Option<impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static> {
    let first = def.params.first().filter(|param| param.default.is_none())?;
    matches!(first.kind, ParamKind::Tensor | ParamKind::Operand).then_some(())?;
    let run = caller(def, runner(def), shared);
    Some(move |ctx: NativeCallContext, args: &mut FnCallArgs| {
        let is_named = args.iter().any(|arg| {
            arg.read_lock::<Map>().is_some_and(|map| map.keys().any(|key| place_of(def, key).is_some()))
        });
        if is_named {
            return run(ctx, args);
        }
        // A map that is a value is nothing to it.
        Err(EvalAltResult::ErrorFunctionNotFound(format!("{} (map)", def.name), ctx.call_position()).into())
    })
}

/// A function of Python's that tensors have as well, called with all arguments by their names.
pub(crate) fn called_by_name(name: &str, given: &Map) -> Option<Result<Dynamic>> {
    let def = crate::op::table().find(|def| def.name == name)?;
    let is_named = given.iter().any(|(key, value)| place_of(def, key) == Some(0) && value.is::<Tensor>());
    is_named.then(|| runner(def)(&Args::bind(def, Vec::new(), options(given)?)?).map(to_dynamic))
}

/// Calls of a map with more than its `operands`: options, or an error that says what it takes.
fn register_longer(
    engine: &mut Engine,
    name: &str,
    def: &'static OpDef,
    run: (fn(&Args) -> Result<Value>, Writes),
    operands: usize,
    shared: &Arc<Shared>,
) {
    let mut types = vec![TypeId::of::<Dynamic>(); operands + 1];
    if let Some(first) = types.first_mut() {
        *first = TypeId::of::<Tensor>();
    }
    engine.register_raw_fn(name, types, caller_of(def, run, shared));
}

/// The types that a number in the place of a tensor may have.
const NUMBERS: [fn() -> TypeId; 3] = [TypeId::of::<INT>, TypeId::of::<f64>, TypeId::of::<bool>];

/// Calls of a map of two operands whose first is a number, with options.
fn register_number_first(engine: &mut Engine, def: &'static OpDef, shared: &Arc<Shared>) {
    for first in NUMBERS {
        let types = vec![first(), TypeId::of::<Tensor>(), TypeId::of::<Map>()];
        engine.register_raw_fn(def.name, types, number_first(def, shared));
    }
}

/// A call of a map whose first operand is a number.
fn number_first(
    def: &'static OpDef,
    shared: &Arc<Shared>,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    let run = caller(def, |args| combined(args, Writes::New), shared);
    move |ctx: NativeCallContext, args: &mut FnCallArgs| {
        let [number, other, ..] = &mut *args else {
            return Err(raise(Error::runtime("a number and a tensor are expected")));
        };
        **number = Dynamic::from(beside(number, other).map_err(raise)?);
        run(ctx, args)
    }
}

/// A number as a tensor of no dimensions, in the dtype that a number takes beside another tensor.
fn beside(number: &Dynamic, other: &Dynamic) -> Result<Tensor> {
    let (Value::Scalar(n), Value::Tensor(other)) = (from_dynamic(number)?, from_dynamic(other)?) else {
        return Err(Error::type_error("a number and a tensor are expected"));
    };
    let dtype = crate::op::core::promote::result_type(&[n.into(), Operand::Tensor(&other)]);
    Tensor::full(&[], n, dtype, &other.context(), "full")
}

/// Registers a raw function in a module.
pub(crate) fn register_raw(
    module: &mut Module,
    name: &str,
    types: Vec<TypeId>,
    call: impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static,
) {
    rhai::FuncRegistration::new(name).in_internal_namespace().set_into_module_raw(
        module,
        types,
        rhai::RhaiFunc::Pure {
            func: Arc::new(move |ctx: Option<NativeCallContext>, args: &mut FnCallArgs| match ctx {
                Some(ctx) => call(ctx, args),
                None => Err(raise(Error::runtime("called without a context"))),
            }),
            has_context: true,
            is_pure: true,
            is_volatile: true,
        },
    );
}

fn register_operator(engine: &mut Engine, symbol: &'static str, def: &'static OpDef, shared: &Arc<Shared>) {
    match def.forward {
        Forward::Unary(spec) => {
            let shared = Arc::clone(shared);
            engine.register_fn(symbol, move |ctx: NativeCallContext, x: &mut Tensor| {
                unary(&shared, &ctx, spec, x)
            });
        }
        Forward::Call(run) => {
            let types = vec![TypeId::of::<Tensor>(); def.params.len()];
            engine.register_raw_fn(symbol, types, caller(def, run, shared));
        }
        Forward::Binary(..) | Forward::Script => {}
    }
    if let Forward::Binary(spec, _) = def.forward {
        register_binary(engine, symbol, spec, shared);
        let in_place = match symbol {
            "+" => "+=",
            "-" => "-=",
            "*" => "*=",
            "/" => "/=",
            "%" => "%=",
            "**" => "**=",
            "&" => "&=",
            "|" => "|=",
            "^" => "^=",
            "<<" => "<<=",
            ">>" => ">>=",
            _ => return,
        };
        register_assigning(engine, in_place, spec, shared);
    }
}

fn register_property(engine: &mut Engine, def: &'static OpDef, shared: &Arc<Shared>) {
    let Forward::Call(run) = def.forward else { return };
    let shared = Arc::clone(shared);
    engine.register_get(def.name, move |ctx: NativeCallContext, x: &mut Tensor| -> RhaiResult<Dynamic> {
        note_line(&shared, &ctx);
        let args = Args::bind(def, vec![Value::Tensor(x.clone())], Vec::new()).map_err(raise)?;
        run(&args).map(to_dynamic).map_err(raise)
    });
}

fn register_in_place(engine: &mut Engine, def: &'static OpDef, shared: &Arc<Shared>) {
    let name = format!("{}_", def.name);
    match (def.in_place, def.forward) {
        (InPlace::Map, Forward::Unary(spec)) => {
            let here = Arc::clone(shared);
            engine.register_fn(&name, move |ctx: NativeCallContext, x: &mut Tensor| -> RhaiResult<Tensor> {
                note_line(&here, &ctx);
                spec.apply_in_place(x, [0.0; 2]).map_err(raise)
            });
            register_longer(engine, &name, def, (runner(def), Writes::First), 1, shared);
        }
        (InPlace::Map, Forward::Binary(spec, _)) => {
            register_assigning_method(engine, &name, spec, shared);
            for operands in [1, 2] {
                let run = |args: &Args| combined(args, Writes::First);
                register_longer(engine, &name, def, (run, Writes::First), operands, shared);
            }
        }
        (InPlace::Call(_), _) => {
            for types in signatures(def) {
                let run = |args: &Args| args.run_in_place();
                engine.register_raw_fn(&name, types, caller_of(def, (run, Writes::First), shared));
            }
        }
        _ => {}
    }
}

fn register_binary(engine: &mut Engine, name: &'static str, spec: &'static Binary, shared: &Arc<Shared>) {
    macro_rules! pair {
        ($left:ty, $right:ty, |$a:ident, $b:ident| ($x:expr, $y:expr)) => {{
            let shared = Arc::clone(shared);
            engine.register_fn(
                name,
                move |ctx: NativeCallContext, $a: $left, $b: $right| -> RhaiResult<Tensor> {
                    note_line(&shared, &ctx);
                    spec.apply($x, $y, spec.params).map_err(raise)
                },
            );
        }};
    }
    pair!(&mut Tensor, Tensor, |a, b| (Operand::Tensor(a), Operand::Tensor(&b)));
    pair!(&mut Tensor, INT, |a, b| (Operand::Tensor(a), b.into()));
    pair!(&mut Tensor, f64, |a, b| (Operand::Tensor(a), b.into()));
    pair!(&mut Tensor, bool, |a, b| (Operand::Tensor(a), Scalar::Bool(b).into()));
    pair!(INT, Tensor, |a, b| (a.into(), Operand::Tensor(&b)));
    pair!(f64, Tensor, |a, b| (a.into(), Operand::Tensor(&b)));
    pair!(bool, Tensor, |a, b| (Scalar::Bool(a).into(), Operand::Tensor(&b)));
}

fn register_assigning(engine: &mut Engine, name: &'static str, spec: &'static Binary, shared: &Arc<Shared>) {
    macro_rules! pair {
        ($right:ty, |$b:ident| $y:expr) => {{
            let shared = Arc::clone(shared);
            engine.register_fn(
                name,
                move |ctx: NativeCallContext, a: &mut Tensor, $b: $right| -> RhaiResult<()> {
                    note_line(&shared, &ctx);
                    spec.apply_in_place(a, $y, spec.params).map(|_| ()).map_err(raise)
                },
            );
        }};
    }
    pair!(Tensor, |b| Operand::Tensor(&b));
    pair!(INT, |b| b.into());
    pair!(f64, |b| b.into());
}

fn register_assigning_method(engine: &mut Engine, name: &str, spec: &'static Binary, shared: &Arc<Shared>) {
    macro_rules! pair {
        ($right:ty, |$b:ident| $y:expr) => {{
            let shared = Arc::clone(shared);
            engine.register_fn(
                name,
                move |ctx: NativeCallContext, a: &mut Tensor, $b: $right| -> RhaiResult<Tensor> {
                    note_line(&shared, &ctx);
                    spec.apply_in_place(a, $y, spec.params).map_err(raise)
                },
            );
        }};
    }
    pair!(Tensor, |b| Operand::Tensor(&b));
    pair!(INT, |b| b.into());
    pair!(f64, |b| b.into());
    pair!(bool, |b| Scalar::Bool(b).into());
}

fn unary(shared: &Shared, ctx: &NativeCallContext, spec: &Unary, x: &Tensor) -> RhaiResult<Tensor> {
    note_line(shared, ctx);
    spec.apply(x, [0.0; 2]).map_err(raise)
}

/// Remembers the script's line, so that events and nodes can name it.
#[inline]
pub(crate) fn note_line(shared: &Shared, ctx: &NativeCallContext) {
    if let Some(line) = ctx.call_position().line() {
        shared.set_line(line as u32);
    }
}

/// A raw function that matches arguments and options to the row and runs it.
fn caller(
    def: &'static OpDef,
    run: fn(&Args) -> Result<Value>,
    shared: &Arc<Shared>,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    caller_of(def, (run, Writes::New), shared)
}

/// The same of a row in place, whose name then ends with a `_`.
fn caller_of(
    def: &'static OpDef,
    (run, writes): (fn(&Args) -> Result<Value>, Writes),
    shared: &Arc<Shared>,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    let shared = Arc::clone(shared);
    move |ctx, args| {
        note_line(&shared, &ctx);
        call(def, run, args).map(to_dynamic).map_err(|e| {
            let tensor = |(i, arg): (usize, &&mut Dynamic)| Some((i, arg.read_lock::<Tensor>()?.operand()));
            failed((def, writes), e, args.iter().enumerate().filter_map(tensor), ctx.call_position())
        })
    }
}

/// The error of a row's function, which knows its tensors, each by the place of its parameter.
#[cold]
pub(super) fn failed(
    (def, writes): (&OpDef, Writes),
    error: Error,
    tensors: impl Iterator<Item = (usize, Described)>,
    at: Position,
) -> Box<EvalAltResult> {
    let named = |(i, mut operand): (usize, Described)| {
        operand.name = def.params.get(i).map(|param| param.name.into());
        operand
    };
    let tensors = || tensors.map(named).collect();
    // What is said of the arguments before anything runs; later texts are PyTorch's.
    let unmatched = error.op().is_none() && error.kind() == Kind::TypeError;
    let text = error.message();
    let rest = text.strip_prefix(def.name).filter(|rest| unmatched && rest.starts_with("()"));
    let error = match (writes, rest) {
        (Writes::New, _) => error.in_op(def.name, tensors),
        (Writes::First, Some(rest)) => {
            let text = Error::type_error(format!("{}_{rest}", def.name));
            let called = |hint: String| hint.replace(&format!("`{}(", def.name), &format!("`{}_(", def.name));
            error
                .hint()
                .map(called)
                .into_iter()
                .fold(text, Error::with_hint)
                .in_op_in_place(def.name, tensors)
        }
        (Writes::First, None) => error.in_op_in_place(def.name, tensors),
    };
    let mut raised = raise(error);
    // Rhai fills in the place for plain calls, but not for those of a module.
    raised.set_position(at);
    raised
}

fn call(def: &'static OpDef, run: fn(&Args) -> Result<Value>, args: &FnCallArgs) -> Result<Value> {
    run(&arguments(def, args)?)
}

/// The arguments of a call, matched to the row's parameters; a map at the end holds options.
pub fn arguments<'d>(def: &'d OpDef, args: &FnCallArgs) -> Result<Args<'d>> {
    // A map at the end holds options, unless the parameter in its place takes anything and a key names none.
    let holds_options = |i: usize, map: &Map| {
        let named = |key: &str| place_of(def, key).is_some();
        def.params.get(i).is_none_or(|p| p.kind != ParamKind::Any) || map.keys().all(|key| named(key))
    };
    #[expect(clippy::disallowed_methods, reason = "as many as a call has arguments")]
    let (mut positional, mut named) = (Vec::with_capacity(args.len()), Vec::new());
    for (i, arg) in args.iter().enumerate() {
        let last = i + 1 == args.len();
        match arg.read_lock::<Map>() {
            Some(map) if last && holds_options(i, &map) => named = options(&map)?,
            _ => positional.push(from_dynamic(arg)?),
        }
    }
    Args::bind(def, positional, named)
}

/// The argument lists a row is registered for: every count that the defaults allow, and one more for options.
/// A first parameter that is a tensor is typed, so that methods of other types stay apart.
pub(crate) fn signatures(def: &OpDef) -> Vec<Vec<TypeId>> {
    let most = def.most_arguments() + 1;
    let required = def.params.first().filter(|p| p.default.is_none());
    let first = match required.map(|p| p.kind) {
        Some(ParamKind::Tensor) => Some(TypeId::of::<Tensor>()),
        _ => None,
    };
    let fewest = usize::from(first.is_some());
    (fewest..=most)
        .map(|n| {
            let mut types = vec![TypeId::of::<Dynamic>(); n];
            if let (Some(slot), Some(tensor)) = (types.first_mut(), first) {
                *slot = tensor;
            }
            types
        })
        .collect()
}
