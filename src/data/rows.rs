//! What a script calls: files, datasets and loaders, as rows.

use std::path::Path;

use crate::base::{Error, Result, Scalar};
use crate::device::Machine;
use crate::op::args::nearest;
use crate::op::def::{Default, FUNCTION};
use crate::op::{Args, Family, Form, Gradient, Object, OpDef, Param, ParamKind, Value, map_value};

use super::dataset::{Computed, Data, Function, Subset, TensorDataset, random_split};
use super::files::{self, Saving, Target};
use super::tree::entries;
use super::{DataLoader, Options, csv, digits};

const OF: &[Form] = &[Form::Of("data")];
const PATH: Param = Param::required("path", ParamKind::Str);
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
            Param::optional("map_location", ParamKind::Device, Default::None),
            Param::optional("device", ParamKind::Device, Default::None),
            Param::optional("dtype", ParamKind::DType, Default::None),
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
            Param::optional("compress", ParamKind::Bool, Default::Bool(false)),
            Param::optional("metadata", ParamKind::Any, Default::None),
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
            Param::optional("delimiter", ParamKind::Str, Default::Str(",")),
            Param::optional("skiprows", ParamKind::Int, Default::Int(0)),
            Param::optional("dtype", ParamKind::DType, Default::None),
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
        "random_split",
        "Splits a dataset at random into parts of given lengths, or of fractions that sum up to 1.",
        &[DATASET, Param::required("lengths", ParamKind::Any)],
        split,
    )
    .example(
        "let parts = data::random_split(arange(10), [0.7, 0.3]); [parts[0].len(), parts[1].len()]",
        "[7, 3]",
    ),
    row(
        "DataLoader",
        "Goes through a dataset in batches: `for batch in loader { … }` is one epoch.",
        &[
            DATASET,
            Param::optional("batch_size", ParamKind::Any, Default::Int(1)),
            Param::optional("shuffle", ParamKind::Bool, Default::Bool(false)),
            Param::optional("sampler", ParamKind::Any, Default::None),
            Param::optional("num_workers", ParamKind::Int, Default::Int(0)),
            Param::optional("collate_fn", ParamKind::Any, Default::None),
            Param::optional("pin_memory", ParamKind::Bool, Default::Bool(false)),
            Param::optional("drop_last", ParamKind::Bool, Default::Bool(false)),
            Param::optional("prefetch_factor", ParamKind::Any, Default::None),
        ],
        loader,
    )
    .details(
        "The dataset is a TensorDataset, a Dataset, a Subset, a tensor with rows, an array, or a map \
         `#{len: 10, get: |i| …}`. `shuffle` draws the order \
         that PyTorch draws after the same `manual_seed`. `num_workers` threads fetch batches ahead, `prefetch_factor` \
         (2) each; they end with the loop, also where it is left early. `pin_memory` gives batches in page-locked memory, \
         which `.to(\"cuda\", #{non_blocking: true})` copies without holding the host; where there is no GPU it does \
         nothing. `sampler` is an order of indices, `collate_fn` makes a batch of an array of samples, and a `batch_size` \
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
    files::load(Path::new(a.str(0)?), Target { device, dtype: a.dtype(3) })
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
    let parts = random_split(&Data::of(a.get(0))?, &lengths)?;
    Ok(Value::List(parts.into_iter().map(Data::into_value).collect()))
}

fn loader(a: &Args) -> Result<Value> {
    let batch_size = if a.is_none(1) { None } else { Some(count(a, 1)?) };
    let sampler = match a.get(3) {
        Value::None => None,
        other => {
            let order = indices(other).ok_or_else(|| a.wrong(3, other))?;
            let whole = order.into_iter().map(|i| usize::try_from(i).ok()).collect::<Option<Vec<_>>>();
            Some(whole.ok_or_else(|| Error::value("DataLoader(): the sampler has a negative index"))?)
        }
    };
    let collate_fn = match a.get(5) {
        Value::None => None,
        other => Some(function(other).ok_or_else(|| {
            let text = format!("DataLoader(): 'collate_fn' must be a function, not {}", other.describe());
            Error::type_error(text)
        })?),
    };
    let options = Options {
        batch_size,
        shuffle: a.bool(2)?,
        sampler,
        num_workers: workers(a)?,
        collate_fn,
        pin_memory: a.bool(6)?,
        drop_last: a.bool(7)?,
        prefetch_factor: if a.is_none(8) { None } else { Some(count(a, 8)?) },
    };
    let loader = DataLoader::new(Data::of(a.get(0))?, options)?;
    Ok(Value::Object(Object::new("DataLoader", loader)))
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
