//! Optimisers: parameter groups with their options, state per parameter, one step per call.

pub mod adam;
pub mod adaptive;
pub mod group;
pub mod lbfgs;
pub mod lists;
pub mod lr_scheduler;
pub mod matrices;
pub mod sgd;
pub mod state;
pub mod variants;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Cause, DeviceCause, Error, Result, memory, python, sorted};
use crate::device::beside::beside;
use crate::device::examine::Maker;
use crate::op::core::record::no_grad;
use crate::op::def::documented;
use crate::op::params::{Maybe, kind, kinds, param_list};
use crate::op::{Args, Copies, Family, Form, Gradient, Object, OpDef, Param, Value};
use crate::tensor::Tensor;

pub use group::{Group, Options};
pub use lists::{Operations, StepWay};
pub use lr_scheduler::Scheduler;
pub use state::{Moments, StateDict};

/// How one kind of optimiser changes a parameter.
pub trait Rule: Send + Sync {
    /// PyTorch's class name.
    fn name(&self) -> &'static str;

    /// Fails on options outside their range, in PyTorch's words.
    fn check(&self, options: &Options) -> Result<()>;

    /// Fails on a parameter that it can't take.
    fn check_parameter(&self, _parameter: &Tensor) -> Result<()> {
        Ok(())
    }

    /// Changes `parameter` in place by its gradient. Runs outside the graph.
    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()>;

    /// How often PyTorch has the parameters at once beside all that stays, where it takes a step for all of them together
    /// (`foreach`): what `torch.optim` allocates in one, counted by a dispatch mode.
    fn copies_at_once(&self, _options: &Options) -> usize {
        0
    }

    /// What PyTorch launches on a GPU for one step, the `step`-th; nothing where it is not known.
    fn operations(&self, _options: &Options, _way: StepWay, _step: u64) -> Operations {
        Operations::new()
    }

    /// A step evaluates the loss more than once, and needs a closure.
    fn searches(&self) -> bool {
        false
    }

    /// An option whose value follows from the class, as `AdamW` decouples its decay.
    fn fixed(&self) -> Option<(&'static str, bool)> {
        None
    }
}

/// An optimiser. Cloning gives the same one.
#[derive(Clone)]
pub struct Optimizer(Arc<OptimizerInner>);

struct OptimizerInner {
    maker: Maker,
    rule: &'static dyn Rule,
    /// The options that it was made with: those of a group which names none. A state does not hold them.
    defaults: Options,
    groups: Mutex<Vec<Group>>,
    /// A schedule looks on.
    watched: AtomicBool,
    /// A step was taken since.
    stepped: AtomicBool,
    /// Of an optimiser that searches.
    memory: Mutex<lbfgs::Memory>,
}

impl Optimizer {
    /// An optimiser from `params`, which are parameters or groups of them, and from the options of `rule`.
    pub fn new(rule: &'static dyn Rule, a: &Args) -> Result<Optimizer> {
        let mut defaults = Options::of(a)?;
        let parameters = defaults.take("params");
        rule.check(&defaults)?;
        if defaults.bool("foreach") && defaults.bool("fused") {
            return Err(Error::runtime("`fused` and `foreach` cannot be `True` together."));
        }
        let optimizer = Optimizer(Arc::new(OptimizerInner {
            maker: Maker::of_now(),
            rule,
            defaults: defaults.clone(),
            groups: Mutex::default(),
            watched: AtomicBool::default(),
            stepped: AtomicBool::default(),
            memory: Mutex::default(),
        }));
        for given in group::split(&parameters)? {
            let options = defaults.with(given.options, rule.name())?;
            optimizer.add_group(given.parameters, given.named, options)?;
        }
        Ok(optimizer)
    }

    /// A copy that trains copies of the parameters, with copies of what it remembers.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Optimizer> {
        // A parameter may lead on to this optimiser: nothing is locked meanwhile.
        let groups: Vec<Group> = self.groups().clone();
        let groups = groups.iter().map(|group| group.copied_with(copies)).collect::<Result<_>>()?;
        let memory = self.memory().copied_with(copies)?;
        Ok(Optimizer(Arc::new(OptimizerInner {
            maker: Maker::of_now(),
            rule: self.0.rule,
            defaults: self.0.defaults.clone(),
            groups: Mutex::new(groups),
            watched: AtomicBool::new(self.0.watched.load(Ordering::Relaxed)),
            stepped: AtomicBool::new(self.has_stepped()),
            memory: Mutex::new(memory),
        })))
    }

    /// Fails where a check runs that has not made it.
    pub(super) fn check_own(&self) -> Result<()> {
        self.0.maker.check_own()
    }

    /// All that it is set to, and how far it has come, but for the values of tensors.
    pub(crate) fn settings(&self) -> String {
        let groups = self.groups();
        groups.iter().map(Group::settings).collect::<Vec<_>>().join("\n")
    }

    /// A number that tells optimisers apart while they live.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("Optimizer", self))
    }

    /// PyTorch's name of the class, such as `SGD`.
    pub fn name(&self) -> &'static str {
        self.0.rule.name()
    }

    /// Whether two handles are the same optimiser.
    pub fn is(&self, other: &Optimizer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Adds a group. Its tensors must be leaves that no other group has.
    pub(crate) fn add_group(&self, parameters: Vec<Tensor>, named: bool, options: Options) -> Result<()> {
        self.check_own()?;
        self.0.rule.check(&options)?;
        let mut groups = self.groups();
        if parameters.iter().any(|t| !t.is_leaf()) {
            return Err(Error::value("can't optimize a non-leaf Tensor").with_hint(
                "optimise what the tensor was computed from, or `t.detach().requires_grad_(true)`",
            ));
        }
        parameters.iter().try_for_each(|parameter| self.0.rule.check_parameter(parameter))?;
        let known = |t: &Tensor| groups.iter().any(|g| g.parameters.iter().any(|p| p.is(t)));
        if parameters.iter().any(known) {
            return Err(Error::value("some parameters appear in more than one parameter group"));
        }
        if groups.first().is_some_and(|first| first.named != named) {
            let with = if named { "with names" } else { "with no names" };
            return Err(Error::value(format!(
                "all optimizer param groups should be with/without names. cannot add param group {with} to the optimizer"
            )));
        }
        groups.push(Group::new(parameters, named, options));
        Ok(())
    }

    /// Adds a group whose missing options are those that the optimiser was made with.
    pub(crate) fn add_group_with(&self, given: group::Parsed) -> Result<()> {
        let options = self.0.defaults.with(given.options, self.name())?;
        self.add_group(given.parameters, given.named, options)
    }

    /// One step of every parameter that has a gradient.
    pub fn step(&self) -> Result<()> {
        if self.searches() {
            return Err(lbfgs::without_closure());
        }
        self.check_own()?;
        let _quiet = no_grad();
        self.note_step();
        for group in self.groups().iter_mut() {
            let copies = self.copies_at_once(&group.options);
            // What stays comes first, as in PyTorch: here it is made on the way through the parameters.
            let is_first = group.states.iter().all(|state| state.tensors().next().is_none());
            if !is_first {
                take_beside(group, copies)?;
            }
            let told = self.told(group);
            for (parameter, state) in group.parameters.iter().zip(&mut group.states) {
                if let Some(grad) = parameter.grad() {
                    let mut step = || self.0.rule.step(&group.options, parameter, &grad, state);
                    let stepped = if told.is_some() { beside(step).0 } else { step() };
                    stepped.map_err(|error| left_behind(&error, parameter, state).unwrap_or(error))?;
                    parameter.bump_version();
                }
            }
            if is_first {
                take_beside(group, copies)?;
            }
            if let Some((way, operations)) = told {
                lists::tell(group, way, &operations)?;
            }
        }
        Ok(())
    }

    /// The launches that a simulated GPU shows of a step, in place of those that compute it.
    fn told(&self, group: &Group) -> Option<(StepWay, Operations)> {
        let way = lists::shown(group)?;
        let step = group.states.iter().map(|state| state.step).max().unwrap_or(0) + 1;
        let operations = self.0.rule.operations(&group.options, way, step);
        (!operations.is_empty()).then_some((way, operations))
    }

    /// [`Rule::copies_at_once`], unless a step is taken for one parameter after the other or by one kernel.
    fn copies_at_once(&self, options: &Options) -> usize {
        if options.way() == StepWay::Lists { self.0.rule.copies_at_once(options) } else { 0 }
    }

    /// Drops the gradients, or fills them with zeros where `set_to_none` is off.
    pub fn zero_grad(&self, set_to_none: bool) -> Result<()> {
        for parameter in self.groups().iter().flat_map(|g| &g.parameters) {
            parameter.reset_grad(set_to_none)?;
        }
        Ok(())
    }

    pub(crate) fn group_count(&self) -> usize {
        self.groups().len()
    }

    /// The tensors of a group.
    pub fn parameters(&self, group: usize) -> Vec<Tensor> {
        self.groups().get(group).map_or_else(Vec::new, |g| g.parameters.clone())
    }

    /// A handle of each tensor for each that this has, where it has no other owner: what would be gone with it.
    pub(crate) fn gone_with_it(&self) -> Option<Vec<Tensor>> {
        let parameters = || (0..self.group_count()).flat_map(|group| self.parameters(group));
        (Arc::strong_count(&self.0) == 1).then(|| parameters().chain(self.state()).collect())
    }

    /// An option of a group, such as `lr`.
    pub fn option(&self, group: usize, name: &str) -> Option<Value> {
        self.groups().get(group)?.options.get(name).cloned()
    }

    /// The names of a group's options.
    pub(crate) fn option_names(&self, group: usize) -> Vec<&'static str> {
        self.groups().get(group).map_or_else(Vec::new, |g| g.options.names().collect())
    }

    /// Changes an option of a group; later steps use it.
    pub(crate) fn set_option(&self, group: usize, name: &str, value: Value) -> Result<()> {
        self.check_own()?;
        let mut groups = self.groups();
        let group = groups.get_mut(group).ok_or_else(|| Error::value("there is no such parameter group"))?;
        let next = group.options.with(vec![(name.to_string(), value)], self.name())?;
        self.0.rule.check(&next)?;
        group.options = next;
        Ok(())
    }

    /// Sets what a scheduler computed in a group: PyTorch checks options where an optimizer is made, and not here.
    fn note(&self, group: usize, name: &'static str, value: Value) {
        if let Some(group) = self.groups().get_mut(group) {
            group.options.note(name, value);
        }
    }

    /// Tells a schedule that looks on.
    fn note_step(&self) {
        if self.0.watched.load(Ordering::Relaxed) {
            self.0.stepped.store(true, Ordering::Relaxed);
        }
    }

    /// Counts steps from now on: what a schedule does where it is made.
    fn watch(&self) {
        self.0.watched.store(true, Ordering::Relaxed);
    }

    /// Whether a step was taken since a schedule looks on.
    fn has_stepped(&self) -> bool {
        self.0.stepped.load(Ordering::Relaxed)
    }

    fn groups(&self) -> MutexGuard<'_, Vec<Group>> {
        self.0.groups.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl std::fmt::Display for Optimizer {
    /// PyTorch's form, with this optimiser's options.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (", self.name())?;
        for (i, group) in self.groups().iter().enumerate() {
            write!(f, "\nParameter Group {i}\n")?;
            let mut lines: Vec<String> =
                group.options.iter().map(|(name, value)| format!("    {name}: {}\n", shown(value))).collect();
            lines.extend(self.0.rule.fixed().map(|(name, on)| format!("    {name}: {}\n", python::bool(on))));
            sorted::sort(&mut lines);
            f.write_str(&lines.concat())?;
        }
        f.write_str(")")
    }
}

/// Takes memory for so many tensors like each parameter with a gradient, and gives it back, on a simulated GPU: the real
/// one's kernels here need none.
fn take_beside(group: &Group, copies: usize) -> Result<()> {
    let mut all = Vec::new();
    for parameter in group.parameters.iter().filter(|p| copies > 0 && p.grad().is_some()) {
        let context = parameter.context();
        if context.device.is_cuda() && context.backend.properties().simulated {
            for _ in 0..copies {
                let made = Tensor::empty(parameter.shape(), parameter.dtype(), &context, "optimizer_step")?;
                memory::push(&mut all, made)?;
            }
        }
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Str(s) => s.clone(),
        Value::Scalar(s) => python::scalar(*s),
        Value::List(items) => python::tuple(&items.iter().map(shown).collect::<Vec<_>>()),
        other => other.describe(),
    }
}

/// The error where the parameter was moved since its state was made.
fn left_behind(error: &Error, parameter: &Tensor, state: &Moments) -> Option<Error> {
    let Cause::Device(DeviceCause::TwoDevices { .. }) = error.cause() else { return None };
    let place = state.tensors().map(Tensor::device).find(|&place| place != parameter.device())?;
    let hint = format!(
        "what the optimiser keeps of a parameter is on {place}, from before the network was moved to {}: move the network \
         first, then make its optimiser",
        parameter.device()
    );
    let error = Error::from(DeviceCause::TwoDevices { first: parameter.device(), second: place });
    // Its own words would be on tensors that the program has no names for.
    Some(Error::new(error.kind(), error.message()).with_hint(hint))
}

kinds! {
    /// A learning rate: a number, or a tensor of one element, whose number is taken.
    Rate(Operand) => f64, |args: &Args, at| group::number(args.get(at)).map(|v| v.as_f64());
}

/// What every optimiser takes first.
const PARAMS: &[Param] = param_list! {
    params: kind::Any, "the tensors that are trained, or groups of them such as `#{params, lr}`";
};
/// What every optimiser takes last.
const MAXIMIZE: &[Param] = param_list! {
    maximize: kind::Bool = false, "whether steps go uphill, for something that is to become large";
};
/// How PyTorch's steps go through the parameters of a GPU.
const FOREACH: &[Param] = param_list! {
    foreach: Maybe<kind::Bool>, "whether a step is taken for all parameters at once, as on a GPU where it is not said; a simulated one then has the memory that this takes in PyTorch";
};
/// The same, of what has one kernel.
const FUSED: &[Param] = param_list! {
    ..FOREACH;
    fused: Maybe<kind::Bool>, "whether a step is one kernel, which needs no memory of its own";
};
/// An option of most optimisers.
const DECAY: &[Param] = param_list! {
    weight_decay: kind::Scalar = 0, "how much of a parameter is added to its gradient, which draws it to 0";
};

/// An optimiser's row.
pub const fn constructor(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Optimise, summary, params, run)
        .forms(&[Form::Of("optim")])
        .gradient(Gradient::NoGrad("it makes an optimiser"))
}

/// Every optimiser.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    ROWS.into_iter().flatten()
}

static ROWS: [&[OpDef]; 7] = documented([
    sgd::ROWS,
    adam::ROWS,
    adaptive::ROWS,
    variants::ROWS,
    matrices::ROWS,
    lbfgs::ROWS,
    lr_scheduler::ROWS,
]);
