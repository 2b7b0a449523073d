//! `autograd::Function(…)`: functions of a script's whose gradient it computes itself.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhai::{Array, Dynamic, Engine, FnPtr, ImmutableString, Map, NativeCallContext};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::op::params::kind::Str;
use crate::op::params::params;
use crate::op::{Copies, Family, Form, OpDef, Receiver};
use crate::script::call::ScriptRow;
use crate::script::call::kind::{Function, Rest};
use crate::script::fault::{RhaiResult, raise};
use crate::script::value::{Callback, type_name};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, set_grad_mode};
use crate::tensor::own_gradient::{OwnGradient, OwnSaved};

params! {
    FunctionParams {
        forward: Function, "is called with a context and the inputs, and gives the output, a tensor; nothing in it is recorded";
        backward: Function, "is called with the context and the output's gradient, and gives the gradient of the input, or an \
                             array of one for each input, () where there is none";
        name: Str = "Function", "what `grad_fn` and errors call it";
    }
}

params! {
    ApplyParams {
        inputs: Rest, "what `forward` is called with behind the context";
    }
}

params! {
    TensorsParams {
        tensors: Rest, "tensors; () stands for none";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "Function",
            Family::Autograd,
            "A function of your own with a gradient of your own: the place of a subclass of `torch.autograd.Function`.",
            FunctionParams::LIST,
        )
        .forms(&[Form::Of("autograd")])
        .torch("torch.autograd.Function")
        .details(
            "For what has no useful gradient by itself, such as rounding, or a better one than that of its parts. What the \
             gradient needs is kept with `ctx.save_for_backward(…)`, numbers and other values as `ctx.name = value`. \
             Operations in `backward` are recorded where a pass has `create_graph`. There is one output.",
        )
        .example(
            "let round = autograd::Function(|ctx, x| x.round(), |ctx, g| g); \
             let x = tensor([1.2, 2.7], #{requires_grad: true}); round.apply(x).sum().backward(); x.grad",
            "tensor([1., 1.])",
        ),
        |call| {
            let given = FunctionParams::of(&call.args)?;
            Ok(Dynamic::from(OwnFunction::new(given.forward, given.backward, given.name)))
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "apply",
            Family::Autograd,
            "Calls a function of your own, and has its output take part in the graph.",
            ApplyParams::LIST,
        )
        // As a module's, which notebooks take for a change: its closures may change what they have captured.
        .changing()
        .on(Receiver::OwnFunction)
        .torch("torch.autograd.Function.apply")
        .errors(&[
            "TypeError: `forward` gives something else than a Tensor",
            "RuntimeError, in the backward pass: `backward` gives another number of gradients, or one of another shape",
            "Error: whatever `forward` fails with",
        ])
        .details("Tensors inside of arrays and maps are handed on, and have no gradient.")
        .example(
            "let scale = autograd::Function(|ctx, x, k| { ctx.k = k; x * k }, |ctx, g| [g * ctx.k, ()]); \
             let x = ones(2, #{requires_grad: true}); scale.apply(x, 3).sum().backward(); x.grad",
            "tensor([3., 3.])",
        ),
        |call| {
            let inputs = ApplyParams::of(&call.args)?.inputs;
            Ok(call.on::<OwnFunction>()?.applied(call.context, inputs)?)
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "save_for_backward",
            Family::Autograd,
            "Keeps tensors for the gradient of a function of your own: inputs, the output, or what lies between.",
            TensorsParams::LIST,
        )
        .on(Receiver::FunctionContext)
        .torch("torch.autograd.Function.save_for_backward")
        .errors(&[
            "TypeError: a value is no Tensor",
            "RuntimeError: it is called in `backward`",
        ])
        .details("A second call replaces what the first kept. A backward pass complains where one was changed in place since.")
        .example(
            "let square = autograd::Function(|ctx, x| { ctx.save_for_backward(x); x * x }, |ctx, g| 2 * ctx.saved_tensors[0] * g); \
             let x = tensor(3.0, #{requires_grad: true}); square.apply(x).backward(); x.grad",
            "tensor(6.)",
        ),
        |call| {
            let tensors = TensorsParams::of(&call.args)?.tensors;
            let tensors = tensors.iter().map(|value| kept(value, call.args.def.name)).collect::<Result<Vec<_>>>()?;
            call.on::<FunctionContext>()?.keep(tensors)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "saved_tensors",
            Family::Autograd,
            "What `save_for_backward` kept, in its order.",
            &[],
        )
        .on(Receiver::FunctionContext)
        .forms(&[Form::Property])
        .torch("torch.autograd.Function.saved_tensors")
        .errors(&["RuntimeError: neither `forward` nor `backward` is running"])
        .example(
            "let inverse = autograd::Function(|ctx, x| { let y = 1 / x; ctx.save_for_backward(y); y }, \
             |ctx, g| -g * ctx.saved_tensors[0].square()); \
             let x = tensor(2.0, #{requires_grad: true}); inverse.apply(x).backward(); x.grad",
            "tensor(-0.2500)",
        ),
        |call| Ok(call.on::<FunctionContext>()?.kept()?.into()),
    ),
    ScriptRow::of(
        OpDef::script(
            "needs_input_grad",
            Family::Autograd,
            "For each input whether its gradient is asked for.",
            &[],
        )
        .on(Receiver::FunctionContext)
        .forms(&[Form::Property])
        .torch("torch.autograd.Function.needs_input_grad")
        .example(
            "let seen = []; let double = autograd::Function(|ctx, x, k| { seen.push(ctx.needs_input_grad); x * k }, |ctx, g| [g, ()]); \
             double.apply(ones(2, #{requires_grad: true}), 2); seen[0]",
            "[true, false]",
        ),
        |call| Ok(call.on::<FunctionContext>()?.needed().into()),
    ),
    ScriptRow::of(
        OpDef::script(
            "mark_non_differentiable",
            Family::Autograd,
            "Says in `forward` that the output has no gradient.",
            TensorsParams::LIST,
        )
        .on(Receiver::FunctionContext)
        .torch("torch.autograd.Function.mark_non_differentiable")
        .errors(&["TypeError: a value is no Tensor"])
        .details("Integers and bools have none without it.")
        .example(
            "let sign = autograd::Function(|ctx, x| { let y = x.sign(); ctx.mark_non_differentiable(y); y }, |ctx, g| ()); \
             sign.apply(ones(1, #{requires_grad: true})).requires_grad",
            "false",
        ),
        |call| {
            let tensors = TensorsParams::of(&call.args)?.tensors;
            let tensors = tensors.iter().map(|value| kept(value, call.args.def.name)).collect::<Result<Vec<_>>>()?;
            call.on::<FunctionContext>()?.state().constant = tensors.into_iter().flatten().collect();
            Ok(Dynamic::UNIT)
        },
    ),
];

/// What no row has: types, and the values that a context is given by name.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<OwnFunction>("Function");
    engine.register_type_with_name::<FunctionContext>("FunctionCtx");
    engine.register_fn("to_string", |f: &mut OwnFunction| f.shown());
    engine.register_fn("to_debug", |f: &mut OwnFunction| f.shown());
    engine.register_fn("to_string", |_: &mut FunctionContext| "FunctionCtx()");
    engine.register_fn("to_debug", |_: &mut FunctionContext| "FunctionCtx()");
    engine.register_indexer_get(|ctx: &mut FunctionContext, name: ImmutableString| {
        ctx.value(&name).map_err(raise)
    });
    engine.register_indexer_set(|ctx: &mut FunctionContext, name: ImmutableString, value: Dynamic| {
        ctx.set_value(name, value).map_err(raise)
    });
}

/// A function of a script's with the gradient that the script gives.
#[derive(Clone)]
pub(crate) struct OwnFunction(Arc<Parts>);

struct Parts {
    name: ImmutableString,
    forward: Callback,
    backward: Callback,
}

impl OwnFunction {
    fn new(forward: FnPtr, backward: FnPtr, name: &str) -> OwnFunction {
        let (forward, backward) = (Callback::new(forward), Callback::new(backward));
        OwnFunction(Arc::new(Parts { name: name.into(), forward, backward }))
    }

    /// What is the same for all handles of one function.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// With copies of what its closures have captured.
    ///
    /// # Errors
    /// It is a check's.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<OwnFunction> {
        let (forward, backward) = (self.0.forward.copied_with(copies)?, self.0.backward.copied_with(copies)?);
        Ok(OwnFunction(Arc::new(Parts { name: self.0.name.clone(), forward, backward })))
    }

    fn shown(&self) -> String {
        format!("autograd::Function({})", self.0.name)
    }

    fn applied(&self, context: &NativeCallContext, inputs: Array) -> RhaiResult<Dynamic> {
        let places: Vec<usize> =
            (0..).zip(&inputs).filter(|(_, v)| v.is::<Tensor>()).map(|(i, _)| i).collect();
        let tensors: Vec<Tensor> = inputs.iter().filter_map(tensor).collect();
        let ctx = FunctionContext::new(&inputs);
        let args: Vec<Dynamic> = std::iter::once(Dynamic::from(ctx.clone())).chain(inputs.clone()).collect();
        let (output, given) = {
            let _off = set_grad_mode(false);
            let value = self.0.forward.call_in_graph(context, args)?;
            ctx.state().ran = true;
            let output = tensor(&value).ok_or_else(|| raise(self.no_tensor(&value)))?;
            // What lies on an input is a view of it, and what stands in the graph already keeps its own place.
            let on = tensors.iter().find(|t| t.shares_storage(&output)).cloned();
            let on = on.or_else(|| output.requires_grad().then(|| output.clone()));
            let given = output.clone();
            (on.map_or(output, |on| given.with_layout(given.layout().clone()).view_of(&on)), given)
        };
        let (kept, constant) = ctx.taken();
        if output.dtype().is_float() && !constant.iter().any(|t| t.is(&given)) {
            let rule = OwnGradient::named(&format!("{}Backward", self.0.name));
            let gradient = Gradient { function: self.clone(), ctx, places, inputs: inputs.len() };
            let saved = OwnSaved { kept: &kept, shared: (!output.is(&given)).then_some(&output) };
            rule.join(&tensors.iter().collect::<Vec<_>>(), &output, saved, Arc::new(gradient));
        }
        Ok(Dynamic::from(output))
    }

    fn no_tensor(&self, value: &Dynamic) -> Error {
        let text = format!("forward of {} must give a Tensor, not {}", self.0.name, type_name(value));
        Error::type_error(text).with_hint(match value.is_array() {
            true => "there is one output: give one tensor, or write a function for each",
            false => "the last line of `forward` is what it gives",
        })
    }
}

/// What computes the gradient of one call.
struct Gradient {
    function: OwnFunction,
    ctx: FunctionContext,
    /// Which of the inputs are tensors.
    places: Vec<usize>,
    inputs: usize,
}

/// Has a script compute the gradient of a function of its own.
pub(super) fn gradient(
    context: &NativeCallContext,
    function: &dyn Any,
    kept: &[Option<Tensor>],
    grad: &Tensor,
) -> RhaiResult<Grads> {
    let Some(call) = function.downcast_ref::<Gradient>() else {
        return Err(raise(Error::runtime("a function was applied by another script")));
    };
    let args = [Dynamic::from(call.ctx.with_kept(kept)), Dynamic::from(grad.clone())];
    let value = call.function.0.backward.call_in_graph(context, args.to_vec())?;
    call.sorted(value).map_err(raise)
}

impl Gradient {
    /// The gradients of the inputs that are tensors.
    fn sorted(&self, value: Dynamic) -> Result<Grads> {
        let given: Array = match value.read_lock::<Array>() {
            Some(all) => all.clone(),
            None => vec![value.clone()],
        };
        let more = given.iter().skip(self.inputs).any(|grad| !grad.is_unit());
        if given.len() < self.inputs || more {
            return Err(Error::runtime(format!(
                "function {}Backward returned an incorrect number of gradients (expected {}, got {})",
                self.function.0.name,
                self.inputs,
                given.len()
            ))
            .with_hint(
                "`backward` gives one for each input of `forward` behind the context, () where there is none",
            ));
        }
        let stray =
            (1..).zip(given.iter()).find(|(at, grad)| !grad.is_unit() && !self.places.contains(&(at - 1)));
        if let Some((at, _)) = stray {
            return Err(Error::runtime(format!(
                "function {}Backward returned a gradient different from None at position {at}, but the corresponding \
                 forward input was not a Variable",
                self.function.0.name
            ))
            .with_hint("() stands for the gradient of what is no tensor"));
        }
        self.places.iter().map(|&at| given.get(at).map_or(Ok(None), |grad| self.one(grad))).collect()
    }

    fn one(&self, grad: &Dynamic) -> Result<Option<Tensor>> {
        match tensor(grad) {
            None if grad.is_unit() => Ok(None),
            None => {
                let text = format!("expected Variable or None (got {})", type_name(grad));
                Err(Error::type_error(text)
                    .with_hint("`backward` gives tensors, and () where there is no gradient"))
            }
            some => Ok(some),
        }
    }
}

/// What `forward` leaves for `backward`.
#[derive(Clone)]
pub(crate) struct FunctionContext {
    state: Arc<Mutex<State>>,
    /// What was kept, where `backward` runs.
    saved: Option<Arc<[Option<Tensor>]>>,
}

#[derive(Default)]
struct State {
    /// Whether `forward` has ended.
    ran: bool,
    kept: Vec<Option<Tensor>>,
    /// Tensors without a gradient.
    constant: Vec<Tensor>,
    needs: Vec<bool>,
    values: Link<Map>,
}

impl FunctionContext {
    fn new(inputs: &[Dynamic]) -> FunctionContext {
        let needs = inputs.iter().map(|v| tensor(v).is_some_and(|t| t.requires_grad())).collect();
        let state = State { needs, ..State::default() };
        FunctionContext { state: Arc::new(Mutex::new(state)), saved: None }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_kept(&self, kept: &[Option<Tensor>]) -> FunctionContext {
        FunctionContext { state: Arc::clone(&self.state), saved: Some(kept.into()) }
    }

    /// What was kept and what has no gradient, which the context itself holds no longer: the graph does.
    fn taken(&self) -> (Vec<Option<Tensor>>, Vec<Tensor>) {
        let mut state = self.state();
        (std::mem::take(&mut state.kept), std::mem::take(&mut state.constant))
    }

    fn keep(&self, tensors: Vec<Option<Tensor>>) -> Result<()> {
        let mut state = self.state();
        if state.ran {
            return Err(Error::runtime("save_for_backward() can only be called in forward"));
        }
        let before = std::mem::replace(&mut state.kept, tensors);
        // What it leads on to is dropped without the lock.
        drop(state);
        drop(before);
        Ok(())
    }

    fn kept(&self) -> Result<Array> {
        let shown = |t: &Option<Tensor>| t.clone().map_or(Dynamic::UNIT, Dynamic::from);
        if let Some(saved) = &self.saved {
            return Ok(saved.iter().map(shown).collect());
        }
        let state = self.state();
        if state.ran {
            return Err(Error::runtime("saved tensors are there in forward and backward alone"));
        }
        Ok(state.kept.iter().map(shown).collect())
    }

    /// What a context has by itself under that name.
    fn fixed(&self, name: &str) -> Option<Result<Array>> {
        match name {
            "saved_tensors" => Some(self.kept()),
            "needs_input_grad" => Some(Ok(self.needed())),
            _ => None,
        }
    }

    /// For each input whether its gradient is asked for.
    fn needed(&self) -> Array {
        self.state().needs.iter().copied().map(Dynamic::from).collect()
    }

    fn value(&self, name: &str) -> Result<Dynamic> {
        let value = self.state().values.get(name).cloned();
        value.ok_or_else(|| {
            Error::type_error(format!("'FunctionCtx' object has no attribute '{name}'"))
                .with_hint(format!("`ctx.{name} = …` in `forward` keeps a value for `backward`"))
        })
    }

    fn set_value(&self, name: ImmutableString, value: Dynamic) -> Result<()> {
        if let Some(held) = self.fixed(&name) {
            // A method called on one of them hands it back.
            return match same(&held?, &value) {
                true => Ok(()),
                false => Err(not_writable(&name)),
            };
        }
        let before = self.state().values.insert(name.as_str().into(), value);
        drop(before);
        Ok(())
    }
}

/// Whether an array holds what a context does: the same tensors, the same answers.
fn same(held: &Array, given: &Dynamic) -> bool {
    let alike = |(a, b): (&Dynamic, &Dynamic)| match (tensor(a), tensor(b)) {
        (Some(a), Some(b)) => a.is(&b),
        (None, None) => a.as_bool() == b.as_bool(),
        _ => false,
    };
    let Some(given) = given.read_lock::<Array>() else { return false };
    given.len() == held.len() && held.iter().zip(given.iter()).all(alike)
}

fn not_writable(name: &str) -> Error {
    let text = format!("attribute '{name}' of 'FunctionCtx' objects is not writable");
    Error::type_error(text).with_hint(match name {
        "saved_tensors" => "`ctx.save_for_backward(…)` keeps tensors for `backward`",
        _ => "which gradients are asked for is the graph's to say",
    })
}

fn tensor(value: &Dynamic) -> Option<Tensor> {
    value.read_lock::<Tensor>().map(|t| t.clone())
}

/// A tensor, or none.
fn kept(value: &Dynamic, method: &str) -> Result<Option<Tensor>> {
    match tensor(value) {
        None if value.is_unit() => Ok(None),
        None => {
            let text =
                format!("{method} can only save variables, but argument is of type {}", type_name(value));
            Err(Error::type_error(text).with_hint("`ctx.name = value` keeps a number or anything else"))
        }
        some => Ok(some),
    }
}
