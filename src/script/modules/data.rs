//! `load`, `save`, and `data::`: files, datasets and loaders.

use std::any::TypeId;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, FnPtr, INT, Map, Module, NativeCallContext};

use crate::base::{Error, Kind, Result, Scalar};
use crate::data::collate::collate;
use crate::data::dataset::Computed;
use crate::data::loader::Epoch;
use crate::data::sampler::{Drawn, Generator, Sampler};
use crate::data::{Data, DataLoader};
use crate::device::random::Mt19937;
use crate::device::{Machine, Shared};
use crate::op::def::{FUNCTION, PROPERTY};
use crate::op::params::kind::Int;
use crate::op::params::params;
use crate::op::shape::part::slice;
use crate::op::{Args, Family, Form, Forward, Object, OpDef, Param, ParamKind, Receiver, Value};
use crate::script::aside::Aside;
use crate::script::bind::{FnCallArgs, note_line, register_functional, register_global, register_raw};
use crate::script::call::kind::Given;
use crate::script::call::{Here, ScriptRow, Spaces};
use crate::script::fault::{RhaiResult, raise};
use crate::script::value::{from_dynamic, to_dynamic, type_name};
use crate::tensor::Tensor;

params! {
    SeedParams {
        seed: Int, "where the generator's numbers begin";
    }
}

params! {
    CollateParams {
        batch: Given, "an array of samples, alike";
    }
}

/// A row on values of one of the types.
const fn on(receiver: Receiver, name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Data, summary, &[]).on(receiver)
}

/// An option of a loader, as it was made.
const fn option(name: &'static str, summary: &'static str) -> OpDef {
    on(Receiver::DataLoader, name, summary).forms(PROPERTY)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        on(Receiver::DataLoader, "iter", "Starts an epoch whose batches are taken one by one with `next`, or by a loop.")
            .forms(FUNCTION)
            .torch("iter")
            .details("The workers end with the epoch, and where the last name for it goes: `drop(batches)`.")
            .example("let batches = iter(data::DataLoader(arange(4), #{batch_size: 2})); next(batches)", "tensor([0, 1])"),
        |call| Ok(Dynamic::from(Batches(Arc::new(Mutex::new(call.on::<DataLoader>()?.iter()?))))),
    ),
    ScriptRow::of(
        on(Receiver::Batches, "next", "The next batch of what `iter(loader)` gave.")
            .forms(FUNCTION)
            .torch("next")
            .details("`next(iter(loader))` is one batch.")
            .errors(&["StopIteration: the epoch is over"])
            .example("next(iter(data::DataLoader(arange(4), #{batch_size: 3})))", "tensor([0, 1, 2])"),
        |call| {
            let batch = call.on::<Batches>()?.lock(Iterator::next).unwrap_or_else(|| Err(exhausted()))?;
            Ok(to_dynamic(batch))
        },
    ),
    ScriptRow::of(
        on(Receiver::Batches, "len", "How many batches of the epoch are left.")
            .torch("len")
            .example("let batches = iter(data::DataLoader(arange(4))); next(batches); batches.len()", "3"),
        |call| Ok((call.on::<Batches>()?.lock(|epoch| epoch.size_hint().0) as INT).into()),
    ),
    ScriptRow::of(
        on(Receiver::Dataset, "len", "How many samples a dataset has.")
            .torch("len")
            .example("data::TensorDataset(ones(5)).len()", "5"),
        |call| Ok((call.on::<Data>()?.0.len() as INT).into()),
    ),
    ScriptRow::of(
        on(Receiver::Dataset, "tensors", "The tensors of a data::TensorDataset.")
            .forms(PROPERTY)
            .torch("torch.utils.data.TensorDataset.tensors")
            .errors(&["TypeError: a dataset of another kind has none of its own"])
            .example("data::TensorDataset(ones(2), zeros(2)).tensors[1]", "tensor([0., 0.])"),
        |call| {
            let data = call.on::<Data>()?;
            let none = || Error::type_error(format!("a {} has no tensors of its own", data.0.name()));
            let tensors = data.0.tensors().ok_or_else(none)?;
            Ok(tensors.iter().cloned().map(Dynamic::from).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        on(Receiver::Dataset, "indices", "Which samples of another dataset a data::Subset has.")
            .forms(PROPERTY)
            .torch("torch.utils.data.Subset")
            .errors(&["TypeError: a dataset of another kind has no indices"])
            .example("data::Subset(arange(5), [4, 1]).indices", "[4, 1]"),
        |call| {
            let data = call.on::<Data>()?;
            let (_, indices) = data.0.part_of().ok_or_else(|| no_part(&data, "indices"))?;
            Ok(indices.iter().map(|&at| Dynamic::from(at as INT)).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        on(Receiver::Dataset, "dataset", "The dataset that a data::Subset has samples of.")
            .forms(PROPERTY)
            .torch("torch.utils.data.Subset")
            .errors(&["TypeError: a dataset of another kind is part of none"])
            .example("data::Subset(arange(5), [4, 1]).dataset.len()", "5"),
        |call| {
            let data = call.on::<Data>()?;
            let (whole, _) = data.0.part_of().ok_or_else(|| no_part(&data, "dataset"))?;
            Ok(Dynamic::from(whole.clone()))
        },
    ),
    ScriptRow::of(
        OpDef::script("default_collate", Family::Data, "Puts samples together as a loader does, for a `collate_fn` of one's own.", CollateParams::LIST)
            .forms(&[Form::Of("data")])
            .shapes("tensors of shape S, n of them -> (n, S…); numbers -> (n); arrays and maps hold such")
            .errors(&["TypeError: `batch` is no array, or samples are of different forms", "RuntimeError: tensors have different shapes"])
            .example("data::default_collate([[ones(2), 3], [zeros(2), 4]])[1]", "tensor([3, 4])"),
        |call| {
            let given = CollateParams::of(&call.args)?.batch;
            let Value::List(samples) = from_dynamic(&given)? else {
                let text = format!("default_collate(): argument 'batch' must be an array, not {}", type_name(&given));
                return Err(Error::type_error(text).with_hint("it holds samples, such as `[d[0], d[1]]`").into());
            };
            Ok(to_dynamic(collate(&samples)?))
        },
    ),
    ScriptRow::of(
        on(Receiver::DataLoader, "len", "How many batches an epoch has.")
            .torch("len")
            .example("data::DataLoader(arange(5), #{batch_size: 2}).len()", "3"),
        |call| Ok((call.on::<DataLoader>()?.len() as INT).into()),
    ),
    ScriptRow::of(
        option("dataset", "What a loader's samples come from.")
            .torch("torch.utils.data.DataLoader.dataset")
            .example("data::DataLoader(arange(5)).dataset.len()", "5"),
        |call| Ok(Dynamic::from(call.on::<DataLoader>()?.dataset.clone())),
    ),
    ScriptRow::of(
        option("batch_size", "How many samples a batch has, or () where samples come alone or a batch_sampler chooses.")
            .torch("torch.utils.data.DataLoader.batch_size")
            .example("data::DataLoader(arange(5), #{batch_size: 2}).batch_size", "2"),
        |call| {
            let size = call.on::<DataLoader>()?.options.batch_size;
            Ok(size.map_or(Dynamic::UNIT, |n| Dynamic::from(n as INT)))
        },
    ),
    ScriptRow::of(
        option("num_workers", "How many threads load batches ahead; with 0 the script's own does.")
            .torch("torch.utils.data.DataLoader.num_workers")
            .example("data::DataLoader(arange(5), #{num_workers: 1}).num_workers", "1"),
        |call| Ok((call.on::<DataLoader>()?.options.num_workers as INT).into()),
    ),
    ScriptRow::of(
        option("pin_memory", "Whether batches lie in page-locked memory.")
            .torch("torch.utils.data.DataLoader.pin_memory")
            .example("data::DataLoader(arange(5)).pin_memory", "false"),
        |call| Ok(call.on::<DataLoader>()?.options.pin_memory.into()),
    ),
    ScriptRow::of(
        option("persistent_workers", "Whether workers stay from epoch to epoch.")
            .torch("torch.utils.data.DataLoader.persistent_workers")
            .example("data::DataLoader(arange(5)).persistent_workers", "false"),
        |call| Ok(call.on::<DataLoader>()?.options.persistent_workers.into()),
    ),
    ScriptRow::of(
        option("drop_last", "Whether a last batch that is not full is left out.")
            .torch("torch.utils.data.DataLoader.drop_last")
            .example("data::DataLoader(arange(5), #{batch_size: 2, drop_last: true}).drop_last", "true"),
        |call| Ok(call.on::<DataLoader>()?.options.drop_last.into()),
    ),
    ScriptRow::of(
        on(Receiver::Sampler, "len", "How many indices, or batches of them, an epoch has.")
            .torch("len")
            .example("data::SequentialSampler(arange(5)).len()", "5"),
        |call| Ok((call.on::<Sampler>()?.len() as INT).into()),
    ),
    ScriptRow::of(
        OpDef::script("manual_seed", Family::Random, "Begins a generator's numbers anew, and gives it back.", SeedParams::LIST).changing()
            .on(Receiver::Generator)
            .torch("torch.Generator.manual_seed")
            .example("let g = Generator().manual_seed(7); let a = rand(2, #{generator: g}); g.manual_seed(7); a.equal(rand(2, #{generator: g}))", "true"),
        |call| {
            let generator = call.on::<Generator>()?;
            *generator.0.lock() = Mt19937::new(SeedParams::of(&call.args)?.seed as u64);
            Ok(Dynamic::from(generator))
        },
    ),
    ScriptRow::of(
        OpDef::script("initial_seed", Family::Random, "Where a generator's numbers began.", &[])
            .on(Receiver::Generator)
            .torch("torch.Generator.initial_seed")
            .example("Generator().manual_seed(7).initial_seed()", "7"),
        |call| Ok((call.on::<Generator>()?.0.lock().seed() as INT).into()),
    ),
];

fn no_part(data: &Data, name: &str) -> Error {
    Error::type_error(format!("a {} has no {name}", data.0.name()))
        .with_hint("a `data::Subset` has, as `data::random_split` gives them")
}

/// The most tensors that a TensorDataset takes one by one; more go in an array.
const SPREAD: usize = 8;

/// A loader's batches one by one: `next(iter(loader))`. Cloning gives the same run.
#[derive(Clone)]
pub struct Batches(Arc<Mutex<Epoch>>);

pub(crate) fn register(engine: &mut Engine, here: &Here, spaces: &mut Spaces) {
    let shared = &here.machine.shared;
    for def in crate::data::table() {
        let [Form::Of(space)] = def.forms else {
            register_global(engine, def, shared);
            continue;
        };
        let space = spaces.of(space);
        // A dataset may be a script's own, and what it does functions.
        let of_scripts = |param: &Param| {
            matches!(
                param.kind,
                ParamKind::Any | ParamKind::Object | ParamKind::Function | ParamKind::Instance(_)
            )
        };
        if def.params.iter().any(of_scripts) {
            with_functions(space, def, shared, &here.aside);
            continue;
        }
        register_functional(space, def, shared);
        if def.params.first().is_some_and(|param| param.kind == ParamKind::Tensors) {
            spread(space, def);
        }
    }
    types(engine, shared);
}

/// The types, as they are printed, indexed and gone through.
fn types(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    engine.register_type_with_name::<Sampler>("Sampler");
    engine.register_fn("to_string", |s: &mut Sampler| format!("{}({} indices)", s.name(), s.len()));
    engine.register_fn("to_debug", |s: &mut Sampler| format!("{}({} indices)", s.name(), s.len()));
    engine.register_iterator_result::<Sampler, Dynamic>();
    engine.register_type_with_name::<Generator>("Generator");
    engine.register_fn("to_string", |_: &mut Generator| "Generator()");
    engine.register_fn("to_debug", |_: &mut Generator| "Generator()");
    let shown = |d: &Data| format!("{}({} samples)", d.0.name(), d.0.len());
    engine.register_type_with_name::<Data>("Dataset");
    engine.register_fn("to_string", move |d: &mut Data| shown(d));
    engine.register_fn("to_debug", move |d: &mut Data| shown(d));
    engine.register_indexer_get(move |context: NativeCallContext, d: &mut Data, i: INT| {
        note_line(&shared, &context);
        d.get(i).map(to_dynamic).map_err(raise)
    });
    engine.register_indexer_get(|d: &mut Data, r: Range<INT>| part(d, r.start, r.end).map_err(raise));
    engine.register_indexer_get(|d: &mut Data, r: RangeInclusive<INT>| {
        part(d, *r.start(), r.end().saturating_add(1)).map_err(raise)
    });
    engine.register_iterator_result::<Data, Dynamic>();
    let shown = |l: &DataLoader| {
        let size = l.options.batch_size.map_or("None".to_string(), |n| n.to_string());
        format!("DataLoader({}, batch_size={size}, {} batches)", l.dataset.0.name(), l.len())
    };
    engine.register_type_with_name::<DataLoader>("DataLoader");
    engine.register_fn("to_string", move |l: &mut DataLoader| shown(l));
    engine.register_fn("to_debug", move |l: &mut DataLoader| shown(l));
    engine.register_iterator_result::<DataLoader, Dynamic>();
    engine.register_type_with_name::<Batches>("DataLoaderIter");
    engine.register_iterator_result::<Batches, Dynamic>();
}

/// Samples from `start` up to `end`, which count from the end where they are negative: rows of each tensor.
fn part(data: &Data, start: INT, end: INT) -> Result<Array> {
    let tensors = data.0.tensors().ok_or_else(|| {
        Error::type_error(format!("of a {} samples are taken one by one", data.0.name()))
            .with_hint("`data::Subset(samples, list(0..3))` is a dataset of some of them")
    })?;
    let rows = data.0.len() as INT;
    let at = |place: INT| if place < 0 { place.saturating_add(rows) } else { place }.clamp(0, rows) as usize;
    let (start, end) = (at(start), at(end));
    let cut = |t: &Tensor| slice(t, 0, start, end.saturating_sub(start), 1).map(Dynamic::from);
    tensors.iter().map(cut).collect()
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
    let types = vec![TypeId::of::<Tensor>()];
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
            Some(count) => aside.function(context, count.clone()).0.run(Vec::new())?,
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

impl Batches {
    fn lock<T>(&self, use_it: impl FnOnce(&mut Epoch) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

fn exhausted() -> Error {
    Error::new(Kind::StopIteration, "the epoch is over").with_hint("`iter(loader)` starts the next one")
}

fn one(batch: Result<Value>) -> RhaiResult<Dynamic> {
    batch.map(to_dynamic).map_err(raise)
}

fn here() -> Arc<Shared> {
    Arc::clone(&Machine::current().shared)
}

type Items = Box<dyn Iterator<Item = RhaiResult<Dynamic>>>;

impl IntoIterator for DataLoader {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    fn into_iter(self) -> Items {
        match self.iter() {
            Ok(epoch) => Box::new(here().at_one_line(epoch.map(one))),
            Err(error) => Box::new(std::iter::once(Err(raise(error)))),
        }
    }
}

impl IntoIterator for Batches {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    /// What is left of the run.
    fn into_iter(self) -> Items {
        Box::new(here().at_one_line(std::iter::from_fn(move || self.lock(Iterator::next)).map(one)))
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
        Box::new(here().at_one_line((0..self.0.len()).map(move |i| one(self.0.get(i)))))
    }
}
