//! `optim::`: optimisers as a script holds them.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Engine, INT, Map, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::{Machine, Shared};
use crate::op::args::nearest;
use crate::optim::{Method, Optimizer, Settings};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] = &["optim", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "step", "zero_grad"];

/// An optimiser; every handle is the same one.
#[derive(Clone)]
struct Held(Arc<Mutex<Optimizer>>);

/// One group of an optimiser, as `param_groups[i]`.
#[derive(Clone)]
struct GroupOf {
    optimizer: Held,
    number: usize,
}

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let mut module = Module::new();
    for method in [Method::Sgd, Method::Adam, Method::AdamW, Method::RmsProp, Method::Adagrad] {
        module
            .set_native_fn(method.name(), move |parameters: Dynamic| make(method, &parameters, &Map::new()));
        module.set_native_fn(method.name(), move |parameters: Dynamic, options: Map| {
            make(method, &parameters, &options)
        });
    }
    engine.register_static_module("optim", module.into());
    engine.register_type_with_name::<Held>("Optimizer");
    methods(engine, &machine.shared);
    groups(engine);
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Optimizer> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn methods(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("step", move |ctx: NativeCallContext, o: &mut Held| {
        note_line(&here, &ctx);
        o.lock().step().map_err(raise)
    });
    engine.register_fn("zero_grad", |o: &mut Held| o.lock().zero_grad(true).map_err(raise));
    engine.register_fn("zero_grad", |o: &mut Held, options: Map| -> RhaiResult<()> {
        let mut to_none = true;
        for (name, value) in &options {
            match (name.as_str(), value.as_bool()) {
                ("set_to_none", Ok(flag)) => to_none = flag,
                _ => {
                    let error = Error::type_error(format!("zero_grad() cannot use option '{name}'"));
                    return Err(raise(error.with_hint("the option is set_to_none, true or false")));
                }
            }
        }
        o.lock().zero_grad(to_none).map_err(raise)
    });
    engine.register_fn("to_string", |o: &mut Held| {
        let optimizer = o.lock();
        let mut text = format!("{} (", optimizer.method.name());
        for (i, group) in optimizer.groups.iter().enumerate() {
            text += &format!("\nParameter Group {i}");
            for name in optimizer.method.options() {
                text += &format!("\n    {name}: {}", read(&group.settings, name));
            }
        }
        text + "\n)"
    });
    engine.register_fn("state_dict", |o: &mut Held| state_dict(&o.lock()));
}

fn groups(engine: &mut Engine) {
    engine.register_type_with_name::<GroupOf>("param_group");
    engine.register_get("param_groups", |o: &mut Held| -> Array {
        let count = o.lock().groups.len();
        (0..count).map(|number| Dynamic::from(GroupOf { optimizer: o.clone(), number })).collect()
    });
    // Groups are handles: writing to one reaches the optimiser, so the array need not be put back.
    engine.register_set("param_groups", |_: &mut Held, _: Array| {});
    engine.register_get("params", |g: &mut GroupOf| -> Array {
        let optimizer = g.optimizer.lock();
        let group = optimizer.groups.get(g.number);
        group.map(|g| g.parameters.iter().cloned().map(Dynamic::from).collect()).unwrap_or_default()
    });
    for name in [
        "lr",
        "momentum",
        "dampening",
        "weight_decay",
        "eps",
        "alpha",
        "lr_decay",
        "nesterov",
        "maximize",
        "betas",
    ] {
        engine.register_get(name, move |g: &mut GroupOf| {
            let optimizer = g.optimizer.lock();
            optimizer.groups.get(g.number).map_or(Dynamic::UNIT, |group| read(&group.settings, name))
        });
        engine.register_set(name, move |g: &mut GroupOf, value: Dynamic| -> RhaiResult<()> {
            let mut optimizer = g.optimizer.lock();
            let method = optimizer.method;
            match optimizer.groups.get_mut(g.number) {
                Some(group) => {
                    let mut changed = group.settings;
                    write(&mut changed, method, name, &value)
                        .and_then(|()| changed.check(method))
                        .map_err(raise)?;
                    group.settings = changed;
                    Ok(())
                }
                None => Err(raise(Error::value("the optimiser has no such group"))),
            }
        });
    }
}

fn make(method: Method, parameters: &Dynamic, options: &Map) -> RhaiResult<Held> {
    let run = || {
        let all = parameters.read_lock::<Array>().ok_or_else(|| {
            Error::type_error(format!(
                "{}() takes an array of tensors, not a {}",
                method.name(),
                type_name(parameters)
            ))
            .with_hint("for a network `net`, that is `net.parameters()`")
        })?;
        let tensors = all
            .iter()
            .map(|p| {
                p.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| {
                    Error::type_error(format!(
                        "optimizer can only optimize Tensors, but one of the params is {}",
                        type_name(p)
                    ))
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut settings = Settings::of(method);
        for (name, value) in options {
            write(&mut settings, method, name, value)?;
        }
        Optimizer::new(method, tensors, settings)
    };
    run().map(|o| Held(Arc::new(Mutex::new(o)))).map_err(raise)
}

fn read(s: &Settings, name: &str) -> Dynamic {
    match name {
        "lr" => s.lr.into(),
        "momentum" => s.momentum.into(),
        "dampening" => s.dampening.into(),
        "weight_decay" => s.weight_decay.into(),
        "eps" => s.eps.into(),
        "alpha" => s.alpha.into(),
        "lr_decay" => s.lr_decay.into(),
        "nesterov" => s.nesterov.into(),
        "maximize" => s.maximize.into(),
        "betas" => Dynamic::from_array(vec![s.betas.0.into(), s.betas.1.into()]),
        _ => Dynamic::UNIT,
    }
}

fn write(s: &mut Settings, method: Method, name: &str, value: &Dynamic) -> Result<()> {
    if !method.options().contains(&name) {
        let error = Error::type_error(format!("{}() got an unknown option '{name}'", method.name()));
        return Err(match nearest(name, method.options().iter().copied()) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error.with_hint(format!("options are {}", method.options().join(", "))),
        });
    }
    let wrong =
        |want: &str| Error::type_error(format!("{}(): '{name}' must be {want}, not {value}", method.name()));
    let number = |v: &Dynamic| v.as_float().or_else(|_| v.as_int().map(|i: INT| i as f64)).ok();
    match name {
        "nesterov" => s.nesterov = value.as_bool().map_err(|_| wrong("true or false"))?,
        "maximize" => s.maximize = value.as_bool().map_err(|_| wrong("true or false"))?,
        "betas" => {
            let pair: Option<Vec<f64>> =
                value.read_lock::<Array>().and_then(|a| a.iter().map(number).collect());
            match pair.as_deref() {
                Some(&[first, second]) => s.betas = (first, second),
                _ => return Err(wrong("an array of two numbers")),
            }
        }
        _ => {
            let n = number(value).ok_or_else(|| wrong("a number"))?;
            match name {
                "lr" => s.lr = n,
                "momentum" => s.momentum = n,
                "dampening" => s.dampening = n,
                "weight_decay" => s.weight_decay = n,
                "eps" => s.eps = n,
                "alpha" => s.alpha = n,
                _ => s.lr_decay = n,
            }
        }
    }
    Ok(())
}

/// `#{state: #{"0": #{step, …}}, param_groups: [#{lr, …, params}]}`
fn state_dict(optimizer: &Optimizer) -> Map {
    let mut state = Map::new();
    let mut described = Array::new();
    let mut number = 0;
    for group in &optimizer.groups {
        let first = number;
        for _ in &group.parameters {
            if let Some(kept) = optimizer.state(number) {
                let mut entry = Map::new();
                entry.insert("step".into(), (kept.step as INT).into());
                for (name, tensor) in &kept.buffers {
                    entry.insert((*name).into(), Dynamic::from(tensor.clone()));
                }
                state.insert(number.to_string().into(), entry.into());
            }
            number += 1;
        }
        let mut settings = Map::new();
        for name in optimizer.method.options() {
            settings.insert((*name).into(), read(&group.settings, name));
        }
        let numbers: Array = (first..number).map(|n| Dynamic::from(n as INT)).collect();
        settings.insert("params".into(), numbers.into());
        described.push(settings.into());
    }
    let mut out = Map::new();
    out.insert("state".into(), state.into());
    out.insert("param_groups".into(), described.into());
    out
}
