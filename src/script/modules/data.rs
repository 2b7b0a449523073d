//! `load`, `save`, and `data::`: files, datasets and loaders.

use std::any::TypeId;
use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, FnPtr, INT, Map, Module, NativeCallContext};

use crate::base::{Error, Result, Scalar};
use crate::data::dataset::Computed;
use crate::data::loader::Epoch;
use crate::data::sampler::{Drawn, Generator, Sampler};
use crate::data::{Data, DataLoader};
use crate::device::random::Mt19937;
use crate::device::{Machine, Shared};
use crate::op::{Args, Form, Forward, Object, OpDef, Value};
use crate::script::aside::Aside;
use crate::script::bind::{FnCallArgs, note_line, register_functional, register_global, register_raw};
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::value::{from_dynamic, to_dynamic};

use super::RhaiResult;

pub const NAMES: &[&str] = &["data", "iter", "next", "dataset", "batch_size"];

pub const PAGES: &[Page] = &[
    Page {
        name: "iter",
        call: "let batches = iter(loader)",
        text: "Starts an epoch of a DataLoader whose batches are taken one by one with `next`, or by a loop. Its workers end \
               with the epoch, and where the last name for it goes: `drop(batches)`.",
    },
    Page {
        name: "next",
        call: "let batch = next(batches)",
        text: "The next batch of what `iter(loader)` gave; `next(iter(loader))` is one batch. Where the epoch is over, the \
               error's message is \"StopIteration\".",
    },
];

/// The most tensors that a TensorDataset takes one by one; more go in an array.
const SPREAD: usize = 8;

/// A loader's batches one by one: `next(iter(loader))`. Cloning gives the same run.
#[derive(Clone)]
struct Batches(Arc<Mutex<Epoch>>);

pub fn register(engine: &mut Engine, machine: &Arc<Machine>, aside: &Aside) {
    let mut module = Module::new();
    for def in crate::data::table() {
        match (def.forms, def.name) {
            ([Form::Of(_)], "digits" | "csv") => register_functional(&mut module, def, &machine.shared),
            ([Form::Of(_)], "TensorDataset") => {
                register_functional(&mut module, def, &machine.shared);
                spread(&mut module, def);
            }
            ([Form::Of(_)], _) => with_functions(&mut module, def, &machine.shared, aside),
            _ => register_global(engine, def, &machine.shared),
        }
    }
    engine.register_static_module("data", module.into());
    datasets(engine);
    loaders(engine);
    samplers(engine);
}

fn samplers(engine: &mut Engine) {
    engine.register_type_with_name::<Sampler>("Sampler");
    engine.register_fn("to_string", |s: &mut Sampler| format!("{}({} indices)", s.name(), s.len()));
    engine.register_fn("to_debug", |s: &mut Sampler| format!("{}({} indices)", s.name(), s.len()));
    engine.register_fn("len", |s: &mut Sampler| s.len() as INT);
    engine.register_iterator_result::<Sampler, Dynamic>();
    engine.register_type_with_name::<Generator>("Generator");
    engine.register_fn("to_string", |_: &mut Generator| "Generator()");
    engine.register_fn("to_debug", |_: &mut Generator| "Generator()");
    engine.register_fn("manual_seed", |g: &mut Generator, seed: INT| {
        *g.0.lock() = Mt19937::new(seed as u64);
        g.clone()
    });
    engine.register_fn("initial_seed", |g: &mut Generator| g.0.lock().seed() as INT);
}

/// Registers a row for tensors given one by one.
fn spread(module: &mut Module, def: &'static OpDef) {
    let Forward::Call(run) = def.forward else { return };
    for count in 2..=SPREAD {
        let types = vec![TypeId::of::<Dynamic>(); count];
        register_raw(module, def.name, types, move |_, args: &mut FnCallArgs| {
            let items = args.iter().map(|a| from_dynamic(a)).collect::<Result<Vec<_>>>().map_err(raise)?;
            let all = Args::bind(def, vec![Value::List(items)], Vec::new()).map_err(raise)?;
            run(&all).map(to_dynamic).map_err(raise)
        });
    }
    let types = vec![TypeId::of::<crate::tensor::Tensor>()];
    register_raw(module, def.name, types, move |_, args: &mut FnCallArgs| {
        let items = args.iter().map(|a| from_dynamic(a)).collect::<Result<Vec<_>>>().map_err(raise)?;
        let all = Args::bind(def, vec![Value::List(items)], Vec::new()).map_err(raise)?;
        run(&all).map(to_dynamic).map_err(raise)
    });
}

/// Registers a row whose arguments may be a script's functions. A map in the last place holds options.
fn with_functions(module: &mut Module, def: &'static OpDef, shared: &Arc<Shared>, aside: &Aside) {
    let Forward::Call(run) = def.forward else { return };
    for count in 1..=def.params.len() + 1 {
        let (shared, aside) = (Arc::clone(shared), aside.clone());
        let types = vec![TypeId::of::<Dynamic>(); count];
        register_raw(module, def.name, types, move |ctx, args: &mut FnCallArgs| {
            note_line(&shared, &ctx);
            let call = || {
                let (mut positional, mut named) = (Vec::new(), Vec::new());
                for (i, arg) in args.iter().enumerate() {
                    match arg.read_lock::<Map>().filter(|_| i > 0 && i + 1 == args.len()) {
                        Some(options) => {
                            let option = |(k, v): (&rhai::Identifier, &Dynamic)| {
                                Ok((k.to_string(), value(&ctx, &aside, v)?))
                            };
                            named = options.iter().map(option).collect::<Result<_>>()?;
                        }
                        None => positional.push(value(&ctx, &aside, arg)?),
                    }
                }
                run(&Args::bind(def, positional, named)?)
            };
            call().map(to_dynamic).map_err(|e| {
                let mut raised = raise(e);
                raised.set_position(ctx.call_position());
                raised
            })
        });
    }
}

/// A value in which a function becomes one that any thread can call, and a map of `len` and `get` a dataset.
fn value(context: &NativeCallContext, aside: &Aside, given: &Dynamic) -> Result<Value> {
    if let Some(map) = given.read_lock::<Map>() {
        let get = map.get("get").and_then(|f| f.read_lock::<FnPtr>().map(|f| f.clone()));
        let (Some(get), Some(length)) = (get, map.get("len")) else { return from_dynamic(given) };
        let length = match length.read_lock::<FnPtr>() {
            Some(count) => (aside.function(context, count.clone()).0)(Vec::new())?,
            None => from_dynamic(length)?,
        };
        let length = match length {
            Value::Scalar(Scalar::Int(n)) => usize::try_from(n).ok(),
            _ => None,
        };
        let text = "a dataset's 'len' must be a count, or a function that gives one";
        let length = length.ok_or_else(|| Error::type_error(text))?;
        let get = aside.function(context, get);
        return Ok(Data::new(Computed { length, get }).into_value());
    }
    match given.read_lock::<FnPtr>() {
        Some(function) => {
            let function = aside.function(context, function.clone());
            Ok(Value::Object(Object::new("function", function)))
        }
        None => from_dynamic(given),
    }
}

fn datasets(engine: &mut Engine) {
    let shown = |d: &Data| format!("{}({} samples)", d.0.name(), d.0.len());
    engine.register_type_with_name::<Data>("Dataset");
    engine.register_fn("to_string", move |d: &mut Data| shown(d));
    engine.register_fn("to_debug", move |d: &mut Data| shown(d));
    engine.register_fn("len", |d: &mut Data| d.0.len() as INT);
    engine.register_get("tensors", |d: &mut Data| -> RhaiResult<Array> {
        match d.0.tensors() {
            Some(tensors) => Ok(tensors.iter().cloned().map(Dynamic::from).collect()),
            None => Err(raise(Error::type_error(format!("a {} has no tensors of its own", d.0.name())))),
        }
    });
    engine.register_indexer_get(|d: &mut Data, i: INT| d.get(i).map(to_dynamic).map_err(raise));
    engine.register_iterator_result::<Data, Dynamic>();
}

fn loaders(engine: &mut Engine) {
    let shown = |l: &DataLoader| {
        let size = l.options.batch_size.map_or("None".to_string(), |n| n.to_string());
        format!("DataLoader({}, batch_size={size}, {} batches)", l.dataset.0.name(), l.len())
    };
    engine.register_type_with_name::<DataLoader>("DataLoader");
    engine.register_fn("to_string", move |l: &mut DataLoader| shown(l));
    engine.register_fn("to_debug", move |l: &mut DataLoader| shown(l));
    engine.register_fn("len", |l: &mut DataLoader| l.len() as INT);
    engine.register_get("dataset", |l: &mut DataLoader| l.dataset.clone());
    engine.register_get("batch_size", |l: &mut DataLoader| {
        l.options.batch_size.map_or(Dynamic::UNIT, |n| Dynamic::from(n as INT))
    });
    engine.register_get("num_workers", |l: &mut DataLoader| l.options.num_workers as INT);
    engine.register_get("pin_memory", |l: &mut DataLoader| l.options.pin_memory);
    engine.register_get("persistent_workers", |l: &mut DataLoader| l.options.persistent_workers);
    engine.register_get("drop_last", |l: &mut DataLoader| l.options.drop_last);
    engine.register_iterator_result::<DataLoader, Dynamic>();
    engine.register_type_with_name::<Batches>("DataLoaderIter");
    engine.register_fn("iter", |l: &mut DataLoader| -> RhaiResult<Batches> {
        Ok(Batches(Arc::new(Mutex::new(l.iter().map_err(raise)?))))
    });
    engine.register_fn("len", |b: &mut Batches| b.lock(|epoch| epoch.size_hint().0) as INT);
    engine.register_fn("next", |b: &mut Batches| -> RhaiResult<Dynamic> {
        b.lock(Iterator::next).map_or_else(|| Err(raise(exhausted())), one)
    });
    engine.register_iterator_result::<Batches, Dynamic>();
}

impl Batches {
    fn lock<T>(&self, use_it: impl FnOnce(&mut Epoch) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

fn exhausted() -> Error {
    Error::runtime("StopIteration").with_hint("the epoch is over: `iter(loader)` starts the next one")
}

fn one(batch: Result<Value>) -> RhaiResult<Dynamic> {
    batch.map(to_dynamic).map_err(raise)
}

type Items = Box<dyn Iterator<Item = RhaiResult<Dynamic>>>;

impl IntoIterator for DataLoader {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    fn into_iter(self) -> Items {
        match self.iter() {
            Ok(epoch) => Box::new(epoch.map(one)),
            Err(error) => Box::new(std::iter::once(Err(raise(error)))),
        }
    }
}

impl IntoIterator for Batches {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    /// What is left of the run.
    fn into_iter(self) -> Items {
        Box::new(std::iter::from_fn(move || self.lock(Iterator::next)).map(one))
    }
}

impl IntoIterator for Sampler {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    /// The order of one epoch.
    fn into_iter(self) -> Items {
        match self.draw() {
            Ok(Drawn::Samples(all)) => Box::new(all.into_iter().map(|i| Ok(Dynamic::from(i)))),
            Ok(Drawn::Batches(all)) => Box::new(
                all.into_iter()
                    .map(|b| Ok(Dynamic::from(b.into_iter().map(Dynamic::from).collect::<Array>()))),
            ),
            Err(error) => Box::new(std::iter::once(Err(raise(error)))),
        }
    }
}

impl IntoIterator for Data {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    /// Sample by sample.
    fn into_iter(self) -> Items {
        Box::new((0..self.0.len()).map(move |i| one(self.0.get(i))))
    }
}
