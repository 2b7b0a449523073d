//! Parameter groups and their options.

use crate::base::{Error, Result, Scalar, python};
use crate::op::{Args, Copies, MapValue, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::state::Moments;

/// Parameters that share options.
#[derive(Clone)]
pub struct Group {
    pub parameters: Vec<Tensor>,
    /// They came with their names.
    pub(super) named: bool,
    pub options: Options,
    pub(super) states: Vec<Moments>,
}

impl Group {
    pub(super) fn new(parameters: Vec<Tensor>, named: bool, options: Options) -> Group {
        let states = parameters.iter().map(|_| Moments::default()).collect();
        Group { parameters, named, options, states }
    }

    pub(super) fn settings(&self) -> String {
        let parameters: Vec<usize> = self.parameters.iter().map(Tensor::id).collect();
        let steps: Vec<u64> = self.states.iter().map(|state| state.step).collect();
        format!("{parameters:?} {steps:?} {:?}", self.options)
    }

    pub(super) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Group> {
        let parameters = self.parameters.iter().map(|t| copies.tensor(t)).collect::<Result<_>>()?;
        let states = self.states.iter().map(|state| state.copied_with(copies)).collect::<Result<_>>()?;
        Ok(Group { parameters, named: self.named, options: self.options.clone(), states })
    }
}

/// What schedulers keep in a group beside its options; a loaded state may bring it along.
const NOTES: [&str; 5] = ["initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum"];

/// What programs put in a group for themselves. PyTorch keeps any word, misspelt options among them.
const OWN: [&str; 6] = ["name", "group_name", "lr_scale", "lr_mult", "decay_mult", "layer"];

/// Options by name, in the order of the optimiser's row.
#[derive(Clone, Debug)]
pub struct Options(Vec<(&'static str, Value)>);

impl Options {
    /// All arguments of a call.
    pub(super) fn of(a: &Args) -> Result<Options> {
        let one = |param: &'static Param, value: &Value| match param.kind {
            ParamKind::Operand => Ok((param.name, Value::Scalar(number(value)?))),
            _ => Ok((param.name, value.clone())),
        };
        a.each().map(|(param, value)| one(param, value)).collect::<Result<_>>().map(Options)
    }

    /// The value of an option.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// Every option with its value, in PyTorch's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(n, v)| (*n, v))
    }

    /// The names of the options, in PyTorch's order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(n, _)| *n)
    }

    /// A number; 0 for an option that the optimiser does not have.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Scalar(s)) => s.as_f64(),
            _ => 0.0,
        }
    }

    /// A whole number, where the option has one.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Value::Scalar(s)) => Some(s.as_i64()),
            _ => None,
        }
    }

    /// The whole numbers of an option.
    pub fn ints(&self, name: &str) -> Vec<i64> {
        let int = |v: &Value| match v {
            Value::Scalar(s) => Some(s.as_i64()),
            _ => None,
        };
        match self.get(name) {
            Some(Value::List(items)) => items.iter().filter_map(int).collect(),
            one => one.and_then(int).into_iter().collect(),
        }
    }

    /// A word; empty for an option that has none.
    pub fn str(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Str(s)) => s,
            _ => "",
        }
    }

    /// Whether an option is set and true.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Scalar(Scalar::Bool(true))))
    }

    /// Whether an option is set and false.
    pub(super) fn is_off(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Scalar(Scalar::Bool(false))))
    }

    /// Whether a step changes the gradients first, which it does to copies of them.
    pub(super) fn copies_gradients(&self) -> bool {
        let decays = self.float("weight_decay") != 0.0 && !self.bool("decoupled_weight_decay");
        self.bool("maximize") || decays
    }

    /// Keeps a value that is no option of the constructor's, such as a group's `initial_lr`.
    pub(super) fn note(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((name, value)),
        }
    }

    /// Takes out what is no option, such as the parameters.
    pub(super) fn take(&mut self, name: &str) -> Value {
        let at = self.0.iter().position(|(n, _)| *n == name);
        at.map_or(Value::None, |at| self.0.remove(at).1)
    }

    /// The two numbers of an option such as `betas`.
    pub fn pair(&self, name: &str) -> Option<[f64; 2]> {
        self.get(name)?.floats()?.try_into().ok()
    }

    /// These options with some changed. A name that is none of them, or a value of another kind, is an error.
    pub fn with(&self, changes: Vec<(String, Value)>, owner: &str) -> Result<Options> {
        let mut next = self.clone();
        for (name, value) in changes {
            let Some((_, slot)) = next.0.iter_mut().find(|(n, _)| *n == name) else {
                match NOTES.into_iter().chain(OWN).find(|n| *n == name) {
                    Some(note) => next.note(note, value),
                    None => return Err(unknown(owner, &name, self.names())),
                }
                continue;
            };
            let value = match (&*slot, value) {
                (Value::Scalar(_), given @ Value::Tensor(_)) if name == "lr" => {
                    Value::Scalar(number(&given)?)
                }
                (_, given) => given,
            };
            // A state brings the choice of the optimiser that it is of, which may be none.
            let chooses_none = ["foreach", "fused"].contains(&name.as_str()) && matches!(value, Value::None);
            if !chooses_none && !same_kind(slot, &value) {
                let (want, got) = (slot.describe(), value.describe());
                let article = if want.starts_with(['a', 'i']) { "an" } else { "a" };
                let text = format!("{owner}: '{name}' must be {article} {want}, not {got}");
                return Err(Error::type_error(text));
            }
            *slot = value;
        }
        Ok(next)
    }

    /// Fails where a number is below 0, in PyTorch's words: `Invalid {said}: -1`.
    pub(crate) fn not_negative(&self, name: &str, said: &str) -> Result<()> {
        match self.get(name) {
            // A NaN is no valid value either.
            Some(Value::Scalar(s)) if s.as_f64().is_nan() || s.as_f64() < 0.0 => {
                Err(Error::value(format!("Invalid {said}: {}", python::scalar(*s)))
                    .with_hint(format!("`{name}` is 0 or more")))
            }
            _ => Ok(()),
        }
    }
}

/// The number of a learning rate, which may be a tensor's only element.
pub(super) fn number(value: &Value) -> Result<Scalar> {
    match value {
        Value::Tensor(t) if t.numel() == 1 => t.item(),
        Value::Tensor(_) => Err(Error::value("Tensor lr must be 1-element")),
        Value::Scalar(s) => Ok(*s),
        other => Err(Error::type_error(format!("lr must be a number or a Tensor, not {}", other.describe()))),
    }
}

fn same_kind(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::None, Value::None) | (Value::Str(_), Value::Str(_)) => true,
        // Options that may be left out are words or pairs, which the optimiser checks.
        (Value::None, Value::Str(_) | Value::List(_) | Value::Scalar(Scalar::Bool(_))) => true,
        (Value::Scalar(Scalar::Bool(_)), Value::Scalar(s)) => matches!(s, Scalar::Bool(_)),
        (Value::Scalar(_), Value::Scalar(s)) => !matches!(s, Scalar::Bool(_)),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_kind(a, b))
        }
        _ => false,
    }
}

fn unknown(owner: &str, name: &str, names: impl Iterator<Item = &'static str>) -> Error {
    let names: Vec<&str> = names.collect();
    let error = Error::type_error(format!("{owner} has no option '{name}'"));
    error.with_near(name, names.iter().copied()).with_hint(format!("options are {}", names.join(", ")))
}

/// Parameters that a group is made of, whether they have names, and options of their own.
pub struct Parsed {
    pub(super) parameters: Vec<Tensor>,
    pub(super) named: bool,
    pub(super) options: Vec<(String, Value)>,
}

/// Parameters as they are given: an array of tensors, or an array of `#{params, …}`.
pub(super) fn split(given: &Value) -> Result<Vec<Parsed>> {
    let items = match given {
        Value::List(items) => items.as_slice(),
        other => {
            let text = format!(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {}",
                match other {
                    Value::Tensor(t) => format!("torch.{}Tensor", t.dtype().type_name()),
                    other => other.describe().to_string(),
                }
            );
            return Err(
                Error::type_error(text).with_hint("`net.parameters()` gives the parameters of a module")
            );
        }
    };
    if items.is_empty() {
        return Err(Error::value("optimizer got an empty parameter list").with_hint(
            "`net.parameters()` gives those of a module; where they are filtered, one at least must have `requires_grad`",
        ));
    }
    if items.iter().any(|v| as_map(v).is_some()) {
        return items.iter().map(parsed).collect();
    }
    let (parameters, named) = tensors(items)?;
    Ok(vec![Parsed { parameters, named, options: Vec::new() }])
}

/// One group written as a map.
pub fn parsed(value: &Value) -> Result<Parsed> {
    let Some(map) = as_map(value) else {
        let text =
            format!("a parameter group is a map such as #{{params: …, lr: 0.1}}, not {}", value.describe());
        return Err(Error::type_error(text));
    };
    let (parameters, named) = match map.iter().find(|(name, _)| name == "params") {
        Some((_, Value::List(items))) => tensors(items)?,
        Some((_, Value::Tensor(t))) => (vec![t.clone()], false),
        Some((_, other)) => {
            let text = format!("'params' of a group must be an array of tensors, not {}", other.describe());
            return Err(Error::type_error(text));
        }
        None => return Err(Error::value("a parameter group needs 'params'")),
    };
    let options = map.iter().filter(|(name, _)| name != "params").cloned().collect();
    Ok(Parsed { parameters, named, options })
}

fn as_map(value: &Value) -> Option<&MapValue> {
    match value {
        Value::Object(o) => o.get(),
        _ => None,
    }
}

/// The tensors, and whether they have names.
fn tensors(items: &[Value]) -> Result<(Vec<Tensor>, bool)> {
    let mut names = 0;
    let one = |v: &Value| match v {
        Value::Tensor(t) => Ok(t.clone()),
        // As `net.named_parameters()` gives them.
        Value::List(pair) if let [Value::Str(_), Value::Tensor(t)] = pair.as_slice() => {
            names += 1;
            Ok(t.clone())
        }
        other => Err(Error::type_error(format!(
            "optimizer can only optimize Tensors, but one of the params is {}",
            other.describe()
        ))),
    };
    let all = items.iter().map(one).collect::<Result<Vec<_>>>()?;
    if names > 0 && names < all.len() {
        return Err(Error::value(
            "all optimizer params should be with/without names. Some param names are missing",
        ));
    }
    Ok((all, names > 0))
}
