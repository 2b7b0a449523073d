//! What a script calls: files, datasets and loaders, as rows.

use std::path::Path;
use std::time::Duration;

use crate::base::near::nearest;
use crate::base::{DType, Error, Result, Scalar};
use crate::device::Machine;
use crate::device::random::{DEFAULT_SEED, Shared};
use crate::op::def::{DefaultValue, FUNCTION};
use crate::op::{Args, Family, Form, Gradient, Object, OpDef, Param, ParamKind, Value, map_value};
use crate::tensor::Tensor;

use super::dataset::{Computed, Concat, Data, Function, Subset, TensorDataset, random_split};
use super::files::{self, LoadTarget, Saving};
use super::sampler::{Generator, Sampler};
use super::tree::entries;
use super::{DataLoader, LoaderOptions, csv, digits};

const OF: &[Form] = &[Form::Of("data")];
const PATH: Param = Param::required("path", ParamKind::Str);
const GENERATOR: Param = Param::optional("generator", ParamKind::Object, DefaultValue::None);
const DATASET: Param = Param::required("dataset", ParamKind::Any);

/// The most indices that a range stands for.
const LONGEST_RANGE: i64 = 1 << 28;

/// Every row of files and data.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    ROWS.iter()
}

const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Data, summary, params, run)
        .forms(OF)
        .gradient(Gradient::NoGrad("it makes values, and computes none from others"))
}

static ROWS: &[OpDef] = &[
    row(
        "load",
        "Reads tensors from a `.safetensors`, `.npy` or `.npz` file.",
        &[
            PATH,
            Param::optional("map_location", ParamKind::Device, DefaultValue::None),
            Param::optional("device", ParamKind::Device, DefaultValue::None),
            Param::optional("dtype", ParamKind::DType, DefaultValue::None),
        ],
        load,
    )
    .forms(FUNCTION)
    .details(
        "A `.npy` file gives a tensor, an `.npz` file a map of tensors, and a `.safetensors` file what was saved, which is \
         a map of tensors where another program wrote it. Tensors come on the CPU unless `map_location` or `device`, \
         which mean the same, names another place: the copy there shows as a transfer. `dtype` converts tensors of \
         floating point. A file that is damaged, or claims more than it holds, is an error that names it.",
    )
    .example(
        "save(#{w: ones(2), epoch: 3}, \"run.safetensors\"); load(\"run.safetensors\").w",
        "tensor([1., 1.])",
    ),
    row(
        "save",
        "Writes a value to a `.safetensors`, `.npy` or `.npz` file.",
        &[
            Param::required("value", ParamKind::Any),
            PATH,
            Param::optional("compress", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("metadata", ParamKind::Any, DefaultValue::None),
        ],
        save,
    )
    .forms(FUNCTION)
    .details(
        "A `.safetensors` file takes tensors, numbers, strings, and maps and arrays of them, such as \
         `#{model: net.state_dict(), optimizer: opt.state_dict(), epoch: 3}`; a map of tensors alone is read by every \
         program that knows the format. `.npy` takes one tensor, `.npz` a map or an array of tensors, which `compress` \
         deflates. `metadata` is a map of strings for a `.safetensors` file. Tensors on a GPU are copied to the host. The \
         file is there whole or not at all: until everything is written, an old file stays.",
    )
    .example(
        "save(arange(3), \"steps.npy\"); load(\"steps.npy\")",
        "tensor([0, 1, 2])",
    ),
    row(
        "load_metadata",
        "Reads the strings that stand beside the tensors of a `.safetensors` file.",
        &[PATH],
        load_metadata,
    )
    .forms(FUNCTION)
    .example(
        "save(#{w: ones(2)}, \"w.safetensors\", #{metadata: #{author: \"Ada\"}}); load_metadata(\"w.safetensors\").author",
        "\"Ada\"",
    ),
    row("digits", "Handwritten digits: 1,797 images of 8x8 pixels with their labels.", &[], |_| digits())
        .details(
            "A map of `x_train` `[1437, 64]` and `x_test` `[360, 64]`, float32 in 0..1, and `y_train` and `y_test`, int64 in \
             0..10. They are part of the program.",
        )
        .example("data::digits().x_train.shape", "[1437, 64]"),
    row(
        "csv",
        "Reads numbers from comma-separated text as a tensor of rows and columns.",
        &[
            PATH,
            Param::optional("delimiter", ParamKind::Str, DefaultValue::Str(",")),
            Param::optional("skiprows", ParamKind::Int, DefaultValue::Int(0)),
            Param::optional("dtype", ParamKind::DType, DefaultValue::None),
        ],
        read_csv,
    )
    .details(
        "A first line that is no numbers is a header. `dtype` is float32, float64 or int64. An error names the line and \
         the column.",
    ),
    row(
        "TensorDataset",
        "A dataset whose sample `i` is row `i` of each tensor.",
        &[Param::required("tensors", ParamKind::Tensors)],
        |a| {
            let tensors = a.tensors(0)?.into_iter().cloned().collect();
            Ok(Data::new(TensorDataset::new(tensors)?).into_value())
        },
    )
    .details("Tensors may be given one by one or as an array.")
    .example(
        "let d = data::TensorDataset(arange(3), arange(3) * 10); d[2]",
        "[tensor(2), tensor(20)]",
    ),
    row(
        "Dataset",
        "A dataset of `length` samples that a function makes of their index.",
        &[Param::required("length", ParamKind::Int), Param::required("get", ParamKind::Any)],
        computed,
    )
    .details(
        "A sample is a tensor, a number, a string, or an array or a map of them. In a loader with workers the function \
         runs on several threads, each with a random generator of its own.",
    )
    .example("data::Dataset(4, |i| [i, i * i])[-1]", "[3, 9]"),
    row(
        "Subset",
        "The samples of a dataset at some indices.",
        &[DATASET, Param::required("indices", ParamKind::Any)],
        |a| {
            let indices = indices(a.get(1)).ok_or_else(|| a.wrong(1, a.get(1)))?;
            Ok(Data::new(Subset::new(Data::of(a.get(0))?, &indices)?).into_value())
        },
    )
    .example("data::Subset(arange(10), [7, 3])[0]", "tensor(7)"),
    row(
        "ConcatDataset",
        "Datasets one after the other.",
        &[Param::required("datasets", ParamKind::Any)],
        |a| {
            let Value::List(items) = a.get(0) else { return Err(a.wrong(0, a.get(0))) };
            let parts = items.iter().map(Data::of).collect::<Result<_>>()?;
            Ok(Data::new(Concat::new(parts)?).into_value())
        },
    )
    .example("let d = data::ConcatDataset([arange(3), arange(10)]); [d.len(), d[4]]", "[13, tensor(1)]"),
    row(
        "random_split",
        "Splits a dataset at random into parts of given lengths, or of fractions that sum up to 1.",
        &[DATASET, Param::required("lengths", ParamKind::Any), GENERATOR],
        split,
    )
    .details("`generator` draws the order, where it shall not depend on what else is drawn.")
    .example(
        "let parts = data::random_split(arange(10), [0.7, 0.3]); [parts[0].len(), parts[1].len()]",
        "[7, 3]",
    ),
    row("Generator", "A generator of its own, for the draws that take one: `rand`, `randn`, samplers, splits, loaders, …", &[], |_| {
        let generator = Generator(Shared::new(DEFAULT_SEED));
        Ok(Value::Object(Object::new("Generator", generator)))
    })
    .forms(FUNCTION)
    .details("`Generator().manual_seed(0)` seeds it and gives it; `initial_seed()` tells its seed.")
    .example(
        "let g = Generator().manual_seed(1); let parts = data::random_split(arange(4), [2, 2], #{generator: g}); parts[0][0]",
        "tensor(1)",
    ),
    row("SequentialSampler", "The indices of a dataset in turn.", &[DATASET], |a| {
        Ok(Sampler::sequential(Data::of(a.get(0))?.0.len()).into_value())
    })
    .example("let all = []; for i in data::SequentialSampler(ones(3)) { all.push(i) } all", "[0, 1, 2]"),
    row(
        "RandomSampler",
        "The indices of a dataset in a random order.",
        &[
            DATASET,
            Param::optional("replacement", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("num_samples", ParamKind::Int, DefaultValue::None),
            GENERATOR,
        ],
        |a| {
            let size = Data::of(a.get(0))?.0.len();
            Ok(Sampler::random(size, a.bool(1)?, a.optional_int(2), drawing(a, 3)?)?.into_value())
        },
    )
    .details("Each index once, or with `replacement` drawn anew each time; `num_samples` are drawn, or all.")
    .example("data::RandomSampler(ones(3), #{num_samples: 7}).len()", "7"),
    row(
        "SubsetRandomSampler",
        "Some indices in a random order.",
        &[Param::required("indices", ParamKind::Any), GENERATOR],
        |a| {
            let indices = indices(a.get(0)).ok_or_else(|| a.wrong(0, a.get(0)))?;
            Ok(Sampler::subset(indices, drawing(a, 1)?).into_value())
        },
    )
    .example("data::SubsetRandomSampler([4, 8, 15]).len()", "3"),
    row(
        "WeightedRandomSampler",
        "Indices drawn in proportion to weights, one weight for each sample.",
        &[
            Param::required("weights", ParamKind::Any),
            Param::required("num_samples", ParamKind::Int),
            Param::optional("replacement", ParamKind::Bool, DefaultValue::Bool(true)),
            GENERATOR,
        ],
        weighted,
    )
    .details("With weights of one over the count of a sample's class, all classes come equally often.")
    .example(
        "let all = []; for i in data::WeightedRandomSampler([0.0, 1.0], 3) { all.push(i) } all",
        "[1, 1, 1]",
    ),
    row(
        "BatchSampler",
        "Batches of another sampler's indices, as arrays.",
        &[
            Param::required("sampler", ParamKind::Any),
            Param::required("batch_size", ParamKind::Int),
            Param::required("drop_last", ParamKind::Bool),
        ],
        |a| {
            let of = sampler(a, 0)?.ok_or_else(|| a.wrong(0, a.get(0)))?;
            Ok(Sampler::batches(of, a.int(1)?, a.bool(2)?)?.into_value())
        },
    )
    .example(
        "let all = []; for b in data::BatchSampler([4, 5, 6], 2, false) { all.push(b) } all",
        "[[4, 5], [6]]",
    ),
    row(
        "DataLoader",
        "Goes through a dataset in batches: `for batch in loader { … }` is one epoch.",
        &[
            DATASET,
            Param::optional("batch_size", ParamKind::Any, DefaultValue::Int(1)),
            Param::optional("shuffle", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("sampler", ParamKind::Any, DefaultValue::None),
            Param::optional("num_workers", ParamKind::Int, DefaultValue::Int(0)),
            Param::optional("collate_fn", ParamKind::Any, DefaultValue::None),
            Param::optional("pin_memory", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("drop_last", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("prefetch_factor", ParamKind::Any, DefaultValue::None),
            Param::optional("batch_sampler", ParamKind::Any, DefaultValue::None),
            Param::optional("timeout", ParamKind::Float, DefaultValue::Float(0.0)),
            Param::optional("worker_init_fn", ParamKind::Any, DefaultValue::None),
            GENERATOR,
            Param::optional("persistent_workers", ParamKind::Bool, DefaultValue::Bool(false)),
        ],
        loader,
    )
    .details(
        "The dataset is a TensorDataset, a Dataset, a Subset, a tensor with rows, an array, or a map \
         `#{len: 10, get: |i| …}`. `shuffle` draws the order \
         that PyTorch draws after the same `manual_seed`. `num_workers` threads fetch batches ahead, `prefetch_factor` \
         (2) each; they end with the loop, also where it is left early; with `persistent_workers` they \
         live on for the next epoch, and end with the loader. `pin_memory` gives batches in page-locked memory, \
         which `.to(\"cuda\", #{non_blocking: true})` copies without holding the host; where there is no GPU it does \
         nothing. `sampler` is an order of indices, as an array or a sampler that draws it for each epoch, and `batch_sampler` \
         gives whole batches of them; `generator` draws the order and the workers' seeds. `worker_init_fn` is called in \
         each worker with its number, and a batch of workers that takes more than `timeout` seconds is an error. \
         `collate_fn` makes a batch of an array of samples, and a `batch_size` \
         of () gives samples as they are. `next(iter(loader))` is one batch.",
    )
    .example(
        "let l = data::DataLoader(data::TensorDataset(arange(5)), #{batch_size: 2}); let all = []; for b in l { all.push(b[0]) } all",
        "[tensor([0, 1]), tensor([2, 3]), tensor([4])]",
    ),
];

fn load(a: &Args) -> Result<Value> {
    let spec = match (a.device(1), a.device(2)) {
        (Some(_), Some(_)) => {
            return Err(Error::type_error("load(): map_location and device mean the same: give one of them"));
        }
        (one, other) => one.or(other),
    };
    let device = spec.map(|s| Machine::current().resolve(s));
    if let Some(dtype) = a.dtype(3).filter(|d| !d.is_float()) {
        let text = format!("load(): dtype converts tensors of floating point, and {dtype} is none");
        return Err(Error::type_error(text).with_hint("`.to(dtype)` converts a tensor to any dtype"));
    }
    files::load(Path::new(a.str(0)?), LoadTarget { device, dtype: a.dtype(3) })
}

fn save(a: &Args) -> Result<Value> {
    let mut metadata = Vec::new();
    if !a.is_none(3) {
        let map = entries(a.get(3)).ok_or_else(|| a.wrong(3, a.get(3)))?;
        for (key, value) in map {
            match value {
                Value::Str(text) => metadata.push((key.to_string(), text.clone())),
                other => {
                    let text =
                        format!("save(): '{key}' of metadata must be a string, not a {}", other.describe());
                    return Err(Error::type_error(text));
                }
            }
        }
    }
    let how = Saving { metadata, compress: a.bool(2)? };
    files::save(a.get(0), Path::new(a.str(1)?), &how).map(|()| Value::None)
}

fn load_metadata(a: &Args) -> Result<Value> {
    let all = files::load_metadata(Path::new(a.str(0)?))?;
    Ok(map_value(all.into_iter().map(|(k, v)| (k, Value::Str(v))).collect()))
}

fn digits() -> Result<Value> {
    let d = digits::load()?;
    Ok(Value::Map(vec![
        ("x_train", d.x_train.into()),
        ("y_train", d.y_train.into()),
        ("x_test", d.x_test.into()),
        ("y_test", d.y_test.into()),
    ]))
}

fn read_csv(a: &Args) -> Result<Value> {
    let mut delimiter = a.str(1)?.chars();
    let (Some(delimiter), None) = (delimiter.next(), delimiter.next()) else {
        return Err(Error::value(format!("csv(): delimiter must be one character, not {:?}", a.str(1)?)));
    };
    let how = csv::Reading {
        delimiter,
        skiprows: count(a, 2)?,
        dtype: a.dtype(3).unwrap_or(csv::Reading::default().dtype),
    };
    csv::read(Path::new(a.str(0)?), how).map(Value::Tensor)
}

fn computed(a: &Args) -> Result<Value> {
    let get = function(a.get(1)).ok_or_else(|| {
        let text =
            format!("Dataset(): argument 'get' must be a function of an index, not {}", a.get(1).describe());
        Error::type_error(text).with_hint("`data::Dataset(100, |i| [x[i], y[i]])`")
    })?;
    Ok(Data::new(Computed { length: count(a, 0)?, get }).into_value())
}

fn split(a: &Args) -> Result<Value> {
    let number = |v: &Value| match v {
        Value::Scalar(s) => Some(s.as_f64()),
        _ => None,
    };
    let lengths: Option<Vec<f64>> = match a.get(1) {
        Value::List(items) => items.iter().map(number).collect(),
        _ => None,
    };
    let lengths = lengths.ok_or_else(|| {
        Error::type_error("random_split(): argument 'lengths' must be an array of numbers such as [0.8, 0.2]")
    })?;
    let parts = random_split(&Data::of(a.get(0))?, &lengths, drawing(a, 2)?)?;
    Ok(Value::List(parts.into_iter().map(Data::into_value).collect()))
}

fn loader(a: &Args) -> Result<Value> {
    let batch_size = if a.is_none(1) { None } else { Some(count(a, 1)?) };
    let given = |i: usize, name: &str| match a.get(i) {
        Value::None => Ok(None),
        other => function(other).map(Some).ok_or_else(|| {
            let text = format!("DataLoader(): '{name}' must be a function, not {}", other.describe());
            Error::type_error(text)
        }),
    };
    let (collate_fn, worker_init_fn) = (given(5, "collate_fn")?, given(11, "worker_init_fn")?);
    let options = LoaderOptions {
        batch_size,
        shuffle: a.bool(2)?,
        sampler: sampler(a, 3)?,
        batch_sampler: batch_sampler(a, 9)?,
        num_workers: workers(a)?,
        collate_fn,
        pin_memory: a.bool(6)?,
        drop_last: a.bool(7)?,
        prefetch_factor: if a.is_none(8) { None } else { Some(count(a, 8)?) },
        timeout: timeout(a.float(10)?)?,
        worker_init_fn,
        generator: drawing(a, 12)?,
        persistent_workers: a.bool(13)?,
    };
    let loader = DataLoader::new(Data::of(a.get(0))?, options)?;
    Ok(Value::Object(Object::new("DataLoader", loader)))
}

/// A sampler, or indices that are given.
fn sampler(a: &Args, i: usize) -> Result<Option<Sampler>> {
    if a.is_none(i) {
        return Ok(None);
    }
    if let Value::Object(object) = a.get(i)
        && let Some(sampler) = object.get::<Sampler>()
    {
        if sampler.gives_batches() {
            let text =
                format!("{}(): 'sampler' must give indices, and a BatchSampler gives batches", a.def.name);
            return Err(Error::type_error(text).with_hint("it goes in as `batch_sampler`"));
        }
        return Ok(Some(sampler.clone()));
    }
    let all = indices(a.get(i)).ok_or_else(|| a.wrong(i, a.get(i)))?;
    if all.iter().any(|i| *i < 0) {
        return Err(Error::value(format!("{}(): the sampler has a negative index", a.def.name)));
    }
    Ok(Some(Sampler::listed(all)))
}

/// A sampler of batches, or batches that are given.
fn batch_sampler(a: &Args, i: usize) -> Result<Option<Sampler>> {
    match a.get(i) {
        Value::None => Ok(None),
        Value::Object(object) => match object.get::<Sampler>().filter(|s| s.gives_batches()) {
            Some(sampler) => Ok(Some(sampler.clone())),
            None => Err(a.wrong(i, a.get(i))),
        },
        Value::List(items) => {
            let batches = items.iter().map(indices).collect::<Option<Vec<_>>>();
            batches.map(|all| Some(Sampler::listed_batches(all))).ok_or_else(|| a.wrong(i, a.get(i)))
        }
        other => Err(a.wrong(i, other)),
    }
}

fn weighted(a: &Args) -> Result<Value> {
    let weights = match a.get(0) {
        Value::Tensor(t) => t.clone(),
        Value::List(items) => {
            let number = |v: &Value| if let Value::Scalar(s) = v { Some(*s) } else { None };
            let all: Option<Vec<Scalar>> = items.iter().map(number).collect();
            let all = all.ok_or_else(|| a.wrong(0, a.get(0)))?;
            Tensor::from_numbers(&all, &[all.len()], DType::Float64)?
        }
        other => return Err(a.wrong(0, other)),
    };
    Ok(Sampler::weighted(&weights, a.int(1)?, a.bool(2)?, drawing(a, 3)?)?.into_value())
}

/// The generator that an option names.
fn drawing(a: &Args, i: usize) -> Result<Option<Shared>> {
    match a.get(i) {
        Value::None => Ok(None),
        Value::Object(object) => match object.get::<Generator>() {
            Some(generator) => Ok(Some(generator.0.clone())),
            None => Err(a.wrong(i, a.get(i))),
        },
        other => Err(a.wrong(i, other)),
    }
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

fn workers(a: &Args) -> Result<usize> {
    usize::try_from(a.int(4)?).map_err(|_| {
        Error::value(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        )
    })
}

/// A number of things.
fn count(a: &Args, i: usize) -> Result<usize> {
    let name = a.def.params.get(i).map_or("", |p| p.name);
    match a.get(i) {
        Value::Scalar(Scalar::Int(n)) => usize::try_from(*n).map_err(|_| {
            Error::value(format!("{}(): '{name}' must not be negative, but is {n}", a.def.name))
        }),
        other => {
            let text = format!("{}(): '{name}' must be a count, not {}", a.def.name, other.describe());
            let near = entries(other).and_then(|map| {
                let names = || a.def.params.iter().map(|p| p.name);
                map.into_iter().find_map(|(key, _)| nearest(key, names()))
            });
            let error = Error::type_error(text);
            Err(match near {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error,
            })
        }
    }
}

fn function(value: &Value) -> Option<Function> {
    match value {
        Value::Object(object) => object.get::<Function>().cloned(),
        _ => None,
    }
}

/// Indices from an array or a tensor of integers.
fn indices(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::Tensor(t) if !t.dtype().is_float() && t.rank() == 1 => t.to_i64s("indices").ok(),
        Value::List(items) => items
            .iter()
            .map(|v| match v {
                Value::Scalar(Scalar::Int(i)) => Some(*i),
                _ => None,
            })
            .collect(),
        Value::Range(Some(start), Some(end)) if end.saturating_sub(*start) <= LONGEST_RANGE => {
            Some((*start..*end).collect())
        }
        _ => None,
    }
}
