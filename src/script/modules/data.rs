//! `data::`: datasets and loaders.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, INT, Map, Module};

use crate::base::{Error, Result};
use crate::data::{DataLoader, Dataset, Options, TensorDataset, csv, digits};
use crate::op::args::nearest;
use crate::script::fault::raise;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] = &["data", "digits", "csv", "TensorDataset", "DataLoader"];

const OPTIONS: [&str; 6] =
    ["batch_size", "shuffle", "num_workers", "pin_memory", "drop_last", "prefetch_factor"];

/// A dataset as a script holds it.
#[derive(Clone)]
struct Held(Arc<TensorDataset>);

pub fn register(engine: &mut Engine) {
    let mut module = Module::new();
    module.set_native_fn("digits", || -> RhaiResult<Map> {
        let d = digits::load().map_err(raise)?;
        let parts =
            [("x_train", d.x_train), ("y_train", d.y_train), ("x_test", d.x_test), ("y_test", d.y_test)];
        Ok(parts.into_iter().map(|(name, t)| (name.into(), Dynamic::from(t))).collect())
    });
    module.set_native_fn("csv", |path: &str| csv::read(path.as_ref()).map_err(raise));
    module.set_native_fn("TensorDataset", |tensors: Array| dataset(&tensors).map_err(raise));
    module.set_native_fn("TensorDataset", |a: Tensor| dataset(&[a.into_dynamic()]).map_err(raise));
    module.set_native_fn("TensorDataset", |a: Tensor, b: Tensor| {
        dataset(&[a.into_dynamic(), b.into_dynamic()]).map_err(raise)
    });
    module.set_native_fn("DataLoader", |d: Held| loader(&d, &Map::new()).map_err(raise));
    module.set_native_fn("DataLoader", |d: Held, options: Map| loader(&d, &options).map_err(raise));
    engine.register_static_module("data", module.into());
    engine.register_type_with_name::<Held>("TensorDataset");
    engine.register_fn("len", |d: &mut Held| d.0.len() as INT);
    engine.register_get("tensors", |d: &mut Held| -> Array {
        d.0.tensors().iter().map(|t| Dynamic::from(t.clone())).collect()
    });
    engine.register_indexer_get(|d: &mut Held, i: INT| -> RhaiResult<Array> {
        Ok(d.0.get(i).map_err(raise)?.into_iter().map(Dynamic::from).collect())
    });
    engine.register_type_with_name::<DataLoader>("DataLoader");
    engine.register_fn("len", |l: &mut DataLoader| l.len() as INT);
    engine.register_get("batch_size", |l: &mut DataLoader| l.options.batch_size as INT);
    engine.register_iterator_result::<DataLoader, Dynamic>();
}

trait IntoDynamic {
    fn into_dynamic(self) -> Dynamic;
}

impl IntoDynamic for Tensor {
    fn into_dynamic(self) -> Dynamic {
        Dynamic::from(self)
    }
}

impl IntoIterator for DataLoader {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Box<dyn Iterator<Item = RhaiResult<Dynamic>>>;

    /// Each batch is an array of tensors.
    fn into_iter(self) -> Self::IntoIter {
        match self.iter() {
            Ok(epoch) => Box::new(epoch.map(|batch| {
                let batch = batch.map_err(raise)?;
                Ok(Dynamic::from_array(batch.into_iter().map(Dynamic::from).collect()))
            })),
            Err(error) => Box::new(std::iter::once(Err(raise(error)))),
        }
    }
}

fn dataset(tensors: &[Dynamic]) -> Result<Held> {
    let all = tensors
        .iter()
        .map(|t| {
            t.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| {
                Error::type_error(format!("a TensorDataset holds tensors, not a {}", type_name(t)))
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Held(Arc::new(TensorDataset::new(all)?)))
}

fn loader(dataset: &Held, options: &Map) -> Result<DataLoader> {
    let mut out = Options::default();
    for (name, value) in options {
        let count =
            || {
                value.as_int().ok().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                    Error::value(format!("DataLoader(): '{name}' must be a count, not {value}"))
                })
            };
        let flag = || {
            value.as_bool().map_err(|_| {
                Error::type_error(format!("DataLoader(): '{name}' must be true or false, not {value}"))
            })
        };
        match name.as_str() {
            "batch_size" => out.batch_size = count()?,
            "num_workers" => out.num_workers = count()?,
            "prefetch_factor" => out.prefetch_factor = count()?,
            "shuffle" => out.shuffle = flag()?,
            "pin_memory" => out.pin_memory = flag()?,
            "drop_last" => out.drop_last = flag()?,
            _ => return Err(unknown(name)),
        }
    }
    DataLoader::new(Arc::clone(&dataset.0) as _, out)
}

fn unknown(name: &str) -> Error {
    let error = Error::type_error(format!("DataLoader() got an unknown option '{name}'"));
    match nearest(name, OPTIONS) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("options are {}", OPTIONS.join(", "))),
    }
}
