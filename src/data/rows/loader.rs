//! The loader's row.

use std::time::Duration;

use crate::base::{Error, Result};
use crate::data::{DataLoader, LoaderOptions};
use crate::op::def::DefaultValue;
use crate::op::params::{Maybe, by_name, kind, params};
use crate::op::{Object, OpDef, Value};

use super::given::{BatchSamplerKind, CountOrNone, DatasetKind, FunctionKind, GeneratorKind, SamplerKind};
use crate::data::rows::declare::row;

pub(super) static ROWS: &[OpDef] = &[
    row(
        "DataLoader",
        "Goes through a dataset in batches: `for batch in loader { … }` is one epoch.",
        LoaderParams::LIST,
        by_name!(LoaderParams, loader),
    )
    .details(
        "The dataset is a TensorDataset, a Dataset, a Subset, a tensor with rows, an array, or a map \
         `#{len: 10, get: |i| …}`. `shuffle` draws the order \
         that PyTorch draws after the same `manual_seed`. `num_workers` threads fetch batches ahead, `prefetch_factor` \
         (2) each; they end with the loop, also where it is left early; with `persistent_workers` they \
         live on for the next epoch, and end with the loader. As a process of PyTorch's, each worker has what functions use as \
         it was when the worker started: what it changes of it, neither the script nor another worker sees, and a tensor takes \
         memory of its own once one of them writes to it; page-locked memory and a GPU's are one for all. `pin_memory` gives batches in page-locked memory, \
         which `.to(\"cuda\", #{non_blocking: true})` copies without holding the host; where there is no GPU it does \
         nothing. `sampler` is an order of indices, as an array or a sampler that draws it for each epoch, and `batch_sampler` \
         gives whole batches of them; `generator` draws the order and the workers' seeds. `worker_init_fn` is called in \
         each worker with its number, and a batch of workers that takes more than `timeout` seconds is an error. \
         `collate_fn` makes a batch of an array of samples, and a `batch_size` \
         of () gives samples as they are. `next(iter(loader))` is one batch.",
    )
    .shapes("samples (…) -> batches (batch_size, …), the last smaller unless drop_last; numbers -> (batch_size)")
    .errors(&[
        "ValueError: `batch_size` is not above 0",
        "ValueError: there are both `sampler` and `shuffle`",
        "RuntimeError: the samples of a batch have different shapes; the epoch stops there",
        "TypeError: what is given is no dataset",
    ])
    .example(
        "let l = data::DataLoader(data::TensorDataset(arange(5)), #{batch_size: 2}); let all = []; for b in l { all.push(b[0]) } all",
        "[tensor([0, 1]), tensor([2, 3]), tensor([4])]",
    ),
];

params! {
    LoaderParams {
        dataset: DatasetKind, "what samples are taken from";
        batch_size: Maybe<CountOrNone> => DefaultValue::Int(1), "how many samples a batch has; () gives them one by one";
        shuffle: kind::Bool = false, "whether each epoch goes through the samples in another order";
        sampler: Maybe<SamplerKind>, "an order of indices instead of that of the dataset";
        num_workers: kind::Int = 0, "how many threads fetch batches ahead";
        collate_fn: Maybe<FunctionKind>, "what makes a batch of an array of samples";
        pin_memory: kind::Bool = false, "whether batches lie in page-locked memory, for copies that run aside";
        drop_last: kind::Bool = false, "whether a last batch that is not full is left out";
        prefetch_factor: Maybe<CountOrNone>, "how many batches each worker fetches ahead";
        batch_sampler: Maybe<BatchSamplerKind>, "whole batches of indices, instead of `sampler` and `batch_size`";
        timeout: kind::Float = 0.0, "how many seconds a batch may take before it is an error; 0 is no bound";
        worker_init_fn: Maybe<FunctionKind>, "what each worker calls first, with its number";
        generator: Maybe<GeneratorKind>, "draws the order and the workers' seeds";
        persistent_workers: kind::Bool = false, "whether workers live on for the next epoch";
    }
}

fn loader(a: LoaderParams) -> Result<Value> {
    let options = LoaderOptions {
        batch_size: a.batch_size,
        shuffle: a.shuffle,
        sampler: a.sampler,
        batch_sampler: a.batch_sampler,
        num_workers: workers(a.num_workers)?,
        collate_fn: a.collate_fn,
        pin_memory: a.pin_memory,
        drop_last: a.drop_last,
        prefetch_factor: a.prefetch_factor,
        timeout: timeout(a.timeout)?,
        worker_init_fn: a.worker_init_fn,
        generator: a.generator,
        persistent_workers: a.persistent_workers,
    };
    Ok(Value::Object(Object::new("DataLoader", DataLoader::new(a.dataset, options)?)))
}

/// A bound in seconds; 0 is none.
fn timeout(seconds: f64) -> Result<Option<Duration>> {
    if seconds < 0.0 {
        return Err(Error::value("timeout option should be non-negative"));
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Ok(None),
        Ok(bound) => Ok(Some(bound)),
        Err(_) => Err(Error::value("timeout is a number of seconds")),
    }
}

fn workers(count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| {
        Error::value(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        )
    })
}
