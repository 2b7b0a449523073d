//! `x.relu()`, `x.add_(y)` and `x.sum(0)` of a variable, evaluated where the values lie.
//!
//! Rhai evaluates the arguments into boxes of their own, hashes their types and looks the function up; for a small
//! tensor that costs more than the work. Where receiver and arguments are plain variables or constants, the call in the
//! syntax tree is wrapped, as [`direct`](super::direct) wraps operators: where the variable holds a tensor, the row of
//! the op table runs on it. Anything else is left to the call as it was written, and so is every call of a name that a
//! program, even a later one, has for a function of its own.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use rhai::{Dynamic, Engine, EvalContext, Expr, Expression, INT, Position};

use crate::base::{Result, Scalar};
use crate::device::Shared;
use crate::op::core::spec::{Binary, Unary, Writes};
use crate::op::{Args, Form, Forward, InPlace, OpDef, ParamKind, Value};
use crate::tensor::Tensor;

use super::bind::failed;
use super::custom::lying;
use super::custom::{METHOD, custom};
use super::direct::{LockedOperand, held};
use super::fault::{RhaiResult, raise};
use super::value::{from_dynamic, to_dynamic};

/// What a method runs.
#[derive(Clone, Copy)]
enum Method {
    Unary(&'static Unary, Writes),
    Binary(&'static Binary, Writes),
    Call(&'static OpDef, fn(&Args) -> Result<Value>, Writes),
}

/// The methods that have no other meaning for a tensor, and the place of each among them.
static METHODS: LazyLock<(Vec<(Method, AtomicBool)>, HashMap<String, usize>)> = LazyLock::new(|| {
    let methods = |def: &&'static OpDef| !matches!(methods_of(def), (None, None));
    let homonyms: HashSet<&str> = crate::op::homonyms().filter(methods).map(|def| def.name).collect();
    let (mut methods, mut places) = (Vec::new(), HashMap::new());
    let mut add = |name: String, method: Method| {
        places.insert(name, methods.len());
        methods.push((method, AtomicBool::new(false)));
    };
    for def in crate::op::table().filter(|def| !homonyms.contains(def.name)) {
        let (new, in_place) = methods_of(def);
        if let Some(method) = new {
            add(def.name.to_owned(), method);
        }
        if let Some(method) = in_place {
            add(format!("{}_", def.name), method);
        }
    }
    (methods, places)
});

/// A row as a method, and as one in place.
fn methods_of(def: &'static OpDef) -> (Option<Method>, Option<Method>) {
    let of_a_tensor =
        def.params.first().is_some_and(|first| first.kind == ParamKind::Tensor && first.default.is_none());
    let is_method = def.forms.iter().any(|form| matches!(form, Form::Method | Form::Function));
    let new = match def.forward {
        Forward::Unary(row) => Some(Method::Unary(row, Writes::New)),
        Forward::Binary(row, _) => Some(Method::Binary(row, Writes::New)),
        Forward::Call(run) if of_a_tensor => Some(Method::Call(def, run, Writes::New)),
        _ => None,
    };
    let in_place = match (def.in_place, def.forward) {
        (InPlace::Map, Forward::Unary(row)) => Some(Method::Unary(row, Writes::First)),
        (InPlace::Map, Forward::Binary(row, _)) => Some(Method::Binary(row, Writes::First)),
        (InPlace::Call(_), _) if of_a_tensor => {
            Some(Method::Call(def, |args| args.run_in_place(), Writes::First))
        }
        _ => None,
    };
    (new.filter(|_| is_method), in_place)
}

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    // Where results have the clocks of their operands, the functions that Rhai has carry them.
    let plain = !shared.has_both_clocks();
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [receiver, arguments @ .., whole] = inputs else { return Ok(Dynamic::UNIT) };
        let method = METHODS.0.get(state.as_int().unwrap_or(INT::MAX) as usize);
        let free = method.filter(|(_, taken)| plain && !taken.load(Ordering::Relaxed));
        let done = free.and_then(|(method, _)| {
            let at = place_of(whole)?;
            if let Some(line) = at.line() {
                shared.set_line(line as u32);
            }
            method.run(context, receiver, arguments, at)
        });
        done.unwrap_or_else(|| context.eval_expression_tree(whole))
    };
    engine.register_custom_syntax_with_state_raw(METHOD, |_, _, _| Ok(None), false, evaluate);
}

/// Leaves calls of these names, which are functions of a program's own, to Rhai from now on.
pub(super) fn leave<'a>(functions: impl Iterator<Item = &'a String>) {
    for place in functions.filter_map(|name| METHODS.1.get(name)) {
        if let Some((_, taken)) = METHODS.0.get(*place) {
            taken.store(true, Ordering::Relaxed);
        }
    }
}

/// Wraps the first call of a chain where it is one of a variable's.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::Dot(chain, flags, at) = &mut *expr else { return };
    if let Expr::MethodCall(..) = &chain.rhs {
        if let Some(wrapped) = wrapped(expr) {
            *expr = wrapped;
        }
        return;
    }
    // Rhai evaluates the arguments of a whole chain first. Where all of them are plain that shows only before the error of
    // a name that there is not, where the call in front of it has been made, as in Python.
    let Expr::Dot(rest, rest_flags, rest_at) = &mut chain.rhs else { return };
    if !rest_flags.is_empty() || !is_plain_link(&rest.rhs) {
        return;
    }
    let first = rhai::BinaryExpr { lhs: chain.lhs.clone(), rhs: rest.lhs.clone() };
    let first = Expr::Dot(Box::new(first), *flags, *at);
    if let Some(wrapped) = wrapped(&first) {
        *at = *rest_at;
        chain.lhs = wrapped;
        chain.rhs = std::mem::take(&mut rest.rhs);
    }
}

/// Whether what follows in a chain evaluates nothing but variables and constants beside it.
fn is_plain_link(link: &Expr) -> bool {
    match link {
        Expr::Property(..) => true,
        Expr::MethodCall(call, _) => {
            call.args.iter().all(|argument| is_plain(argument) || argument.is_constant())
        }
        Expr::Dot(x, ..) => is_plain_link(&x.lhs) && is_plain_link(&x.rhs),
        _ => false,
    }
}

fn is_plain(argument: &Expr) -> bool {
    match argument {
        Expr::Variable(v, ..) => v.2.is_empty(),
        Expr::IntegerConstant(..) | Expr::FloatConstant(..) | Expr::BoolConstant(..) => true,
        _ => false,
    }
}

fn wrapped(call: &Expr) -> Option<Expr> {
    let Expr::Dot(chain, flags, at) = call else { return None };
    let (Expr::Variable(variable, ..), Expr::MethodCall(method, _)) = (&chain.lhs, &chain.rhs) else {
        return None;
    };
    let place = *METHODS.1.get(method.name.as_str())?;
    let most = match METHODS.0.get(place)?.0 {
        Method::Unary(..) => 0,
        Method::Binary(..) => 1,
        Method::Call(def, ..) => def.params.len().saturating_sub(1),
    };
    let fits = variable.2.is_empty() && flags.is_empty() && method.args.len() <= most;
    if !fits || !method.args.iter().all(is_plain) {
        return None;
    }
    let parts = std::iter::once(&chain.lhs).chain(&method.args).chain([call]).cloned();
    Some(Expr::Custom(Box::new(custom(METHOD, parts, (place as INT).into())), *at))
}

/// Where the method of a call is named.
fn place_of(call: &Expr) -> Option<Position> {
    match call {
        Expr::Dot(chain, ..) => match &chain.rhs {
            Expr::MethodCall(_, at) => Some(*at),
            _ => None,
        },
        _ => None,
    }
}

impl Method {
    /// The result, or `None` for what Rhai is to evaluate as it was written.
    #[inline]
    fn run(
        self,
        context: &EvalContext,
        receiver: &Expr,
        arguments: &[Expression],
        at: Position,
    ) -> Option<RhaiResult<Dynamic>> {
        // Rhai's functions that take what they may change refuse constants.
        if lying(context, receiver)?.is_read_only() {
            return None;
        }
        let LockedOperand::Tensor(x) = held(context, receiver)? else { return None };
        let done = match (self, arguments) {
            (Method::Unary(row, Writes::New), []) => row.apply(&x, [0.0; 2]),
            (Method::Unary(row, Writes::First), []) => row.apply_in_place(&x, [0.0; 2]),
            (Method::Binary(row, writes), [other]) => {
                let other = held(context, other)?;
                match writes {
                    Writes::New => row.apply((&*x).into(), other.operand(), row.params),
                    Writes::First => row.apply_in_place(&x, other.operand(), row.params),
                }
            }
            (Method::Call(def, run, writes), arguments) => {
                return called((def, writes), run, (context, at), &x, arguments);
            }
            _ => return None,
        };
        Some(done.map(Dynamic::from).map_err(|error| {
            let mut raised = raise(error);
            raised.set_position(at);
            raised
        }))
    }
}

/// Runs the function of a row, unless an argument is one that Rhai has to find.
fn called(
    (def, writes): (&'static OpDef, Writes),
    run: fn(&Args) -> Result<Value>,
    (context, at): (&EvalContext, Position),
    x: &Tensor,
    arguments: &[Expression],
) -> Option<RhaiResult<Dynamic>> {
    let mut values = Vec::new();
    values.push(Value::Tensor(x.clone()));
    for argument in arguments {
        values.push(match &**argument {
            Expr::IntegerConstant(number, _) => Value::Scalar(Scalar::Int(*number)),
            Expr::FloatConstant(number, _) => Value::Scalar(Scalar::Float(**number)),
            Expr::BoolConstant(value, _) => Value::Scalar(Scalar::Bool(*value)),
            variable => {
                let value = lying(context, variable)?;
                // A map has options, and what is locked an error of Rhai's.
                if value.is_map() || (value.is_shared() && value.is_locked()) {
                    return None;
                }
                from_dynamic(value).ok()?
            }
        });
    }
    let done = Args::bind(def, values, Vec::new()).and_then(|args| run(&args)).map(to_dynamic);
    Some(done.map_err(|error| {
        let given = |i: usize, argument: &Expression| lying(context, argument).map(|value| (i + 1, value));
        let others = arguments.iter().enumerate().filter_map(|(i, argument)| given(i, argument));
        let others = others.filter_map(|(i, value)| value.read_lock::<Tensor>().map(|t| (i, t.operand())));
        failed((def, writes), error, std::iter::once((0, x.operand())).chain(others), at)
    }))
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn a_call_does_what_it_says_once_whatever_the_variable_holds() {
        for (code, want) in [
            (
                "let x = zeros(2); let y = ones(2); x.add_(y); x.add_(2); x.add_(0.5); x",
                "tensor([3.5000, 3.5000])",
            ),
            ("let x = ones(2); x.add_(true); x", "tensor([2., 2.])"),
            ("let x = zeros(2); x.add_(1).mul_(3).neg_(); x", "tensor([-3., -3.])"),
            ("let x = ones(2, 3); let dim = 1; [x.sum(dim).shape, x.sum(0, true).shape]", "[[2], [1, 3]]"),
            ("let x = ones(2, 3); let s = [3, 2]; x.reshape(s).shape", "[3, 2]"),
            ("let x = ones(2, 3); let o = #{keepdim: true}; x.sum(1, o).shape", "[2, 1]"),
            ("let x = [3, 1]; let y = \"a b\"; [x.max(), y.split(\" \"), x.len()]", "[3, [\"a\", \"b\"], 2]"),
            ("let all = []; for x in [[3, 1], tensor([3, 1])] { all.push(x.max()); } all", "[3, tensor(3)]"),
            (
                "let x = tensor([4.0]); let f = || x.sqrt(); let y = f.call(); x.zero_(); [x, y]",
                "[tensor([0.]), tensor([2.])]",
            ),
            ("const K = tensor([1, 2]); [K.sum().item(), K.add(1)]", "[3, tensor([2, 3])]"),
            ("let x = tensor([1]); { let x = [5]; x.max() }", "5"),
            ("fn relu() { \"mine\" } let x = tensor([-1.0]); x.relu()", "\"mine\""),
            ("let n = 1; let x = zeros(1); x.add_(n).mul_({ n = 10; 2 }); x", "tensor([2.])"),
            ("let x = tensor([2.0]); x?.exp2()?.sum().item()", "4.0"),
            ("fn f(x) { x.abs().neg() } f(tensor([-2]))", "tensor([-2])"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn a_function_of_a_later_cell_is_the_one_that_is_called() {
        let cells = [
            "fn f(x) { x.logit() } let g = |x| x.logit();",
            "fn logit() { \"mine\" } let x = tensor([0.5]); [f(x), g.call(x)]",
        ];
        assert_eq!(shown(&cells), "[\"mine\", \"mine\"]");
    }

    #[test]
    fn errors_are_those_of_the_call_as_it_was_written() {
        for (code, wants) in [
            ("let x = ones(3); let y = ones(4);\nlet z = 1 + x.add(y);", [":2:15", "x: float32 [3]"]),
            ("let x = ones(2);\nx.sum(5);", [":2:3", "Dimension out of range"]),
            ("let x = ones(3); let y = ones(4);\nx.mul_(y);", [":2:3", "in `mul_`"]),
            ("let x = ones(2);\nx.add_(missing);", [":2:8", "missing"]),
            ("let x = ones(2, 2); let m = ones(2, 2);\nx.masked_fill(m, 1);", [":2:3", "m: float32 [2, 2]"]),
            ("let x = 3;\nx.relu_();", [":2:3", "relu_"]),
            (
                "let x = ones(2);\nx.add_([1, 2]);",
                [":2:3", "add_(): argument 'other' must be a Tensor or a number, not array"],
            ),
            ("let x = ones(2);\nx.mul(\"3\");", [":2:3", "must be a Tensor or a number, not string"]),
        ] {
            let text = shown(&[code]);
            assert!(wants.iter().all(|want| text.contains(want)), "{code}: {text}");
        }
    }
}
