//! What a script calls: files, datasets and loaders, as rows.

pub(crate) mod declare;
mod files;
mod given;
mod loader;

use crate::base::{DType, Error, Result, Scalar};
use crate::data::rows::declare::row;
use crate::device::random::{DEFAULT_SEED, Shared};
use crate::op::def::{FUNCTION, documented};
use crate::op::params::{Maybe, by_name, kind, kinds, params};
use crate::op::{Args, Object, OpDef, Value};
use crate::tensor::Tensor;

use super::dataset::{Computed, Concat, Data, Subset, TensorDataset, random_split};
use super::sampler::{Generator, Sampler};

use given::{Count, DatasetKind, GeneratorKind, Indices, SamplerKind, function};

/// Every row of files and data.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    ALL.into_iter().flatten()
}

static ALL: [&[OpDef]; 3] = documented([files::ROWS, ROWS, loader::ROWS]);

static ROWS: &[OpDef] = &[
    row(
        "TensorDataset",
        "A dataset whose sample `i` is row `i` of each tensor.",
        TensorDatasetParams::LIST,
        by_name!(TensorDatasetParams, |a| {
            let tensors = a.tensors.into_iter().cloned().collect();
            Ok(Data::new(TensorDataset::new(tensors)?).into_value())
        }),
    )
    .details("Tensors may be given one by one or as an array.")
    .shapes("tensors (n, …) -> n samples of (…)")
    .errors(&["AssertionError: the first sizes differ", "ValueError: a tensor has no dimension"])
    .across()
    .example(
        "let d = data::TensorDataset(arange(3), arange(3) * 10); d[2]",
        "[tensor(2), tensor(20)]",
    ),
    row(
        "Dataset",
        "A dataset of `length` samples that a function makes of their index.",
        DatasetParams::LIST,
        by_name!(DatasetParams, computed),
    )
    .details(
        "A sample is a tensor, a number, a string, or an array or a map of them. In a loader with workers the function \
         runs on several threads, each with a random generator of its own.",
    )
    .errors(&["ValueError: the length is negative"])
    .example("data::Dataset(4, |i| [i, i * i])[-1]", "[3, 9]"),
    row(
        "Subset",
        "The samples of a dataset at some indices.",
        SubsetParams::LIST,
        by_name!(SubsetParams, |a| {
            Ok(Data::new(Subset::new(a.dataset, &a.indices)?).into_value())
        }),
    )
    .errors(&["IndexError: an index lies outside of the dataset", "TypeError: what is given is no dataset"])
    .example("data::Subset(arange(10), [7, 3])[0]", "tensor(7)"),
    row(
        "ConcatDataset",
        "Datasets one after the other.",
        ConcatParams::LIST,
        by_name!(ConcatParams, |a| {
            let parts = a.datasets.iter().map(Data::of).collect::<Result<_>>()?;
            Ok(Data::new(Concat::new(parts)?).into_value())
        }),
    )
    .errors(&["AssertionError: there are no datasets", "TypeError: what is given is no dataset"])
    .example("let d = data::ConcatDataset([arange(3), arange(10)]); [d.len(), d[4]]", "[13, tensor(1)]"),
    row(
        "random_split",
        "Splits a dataset at random into parts of given lengths, or of fractions that sum up to 1.",
        SplitParams::LIST,
        by_name!(SplitParams, split),
    )
    .details("`generator` draws the order, where it shall not depend on what else is drawn.")
    .errors(&[
        "ValueError: the lengths do not sum up to that of the dataset",
        "TypeError: what is given is no dataset",
    ])
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
    row(
        "SequentialSampler",
        "The indices of a dataset in turn.",
        SequentialParams::LIST,
        by_name!(SequentialParams, |a| Ok(Sampler::sequential(a.dataset.0.len()).into_value())),
    )
    .errors(&["TypeError: what is given is no dataset"])
    .example("let all = []; for i in data::SequentialSampler(ones(3)) { all.push(i) } all", "[0, 1, 2]"),
    row(
        "RandomSampler",
        "The indices of a dataset in a random order.",
        RandomSamplerParams::LIST,
        by_name!(RandomSamplerParams, |a| {
            let size = a.dataset.0.len();
            Ok(Sampler::random(size, a.replacement, a.num_samples, a.generator)?.into_value())
        }),
    )
    .details("Each index once, or with `replacement` drawn anew each time; `num_samples` are drawn, or all.")
    .errors(&["ValueError: there is nothing to draw", "TypeError: what is given is no dataset"])
    .example("data::RandomSampler(ones(3), #{num_samples: 7}).len()", "7"),
    row(
        "SubsetRandomSampler",
        "Some indices in a random order.",
        SubsetRandomParams::LIST,
        by_name!(SubsetRandomParams, |a| {
            Ok(Sampler::subset(a.indices, a.generator).into_value())
        }),
    )
    .example("data::SubsetRandomSampler([4, 8, 15]).len()", "3"),
    row(
        "WeightedRandomSampler",
        "Indices drawn in proportion to weights, one weight for each sample.",
        WeightedParams::LIST,
        by_name!(WeightedParams, weighted),
    )
    .details("With weights of one over the count of a sample's class, all classes come equally often.")
    .shapes("weights (n) -> num_samples indices")
    .errors(&[
        "ValueError: the weights are no vector, or `num_samples` is not above 0",
        "RuntimeError: a weight is negative or not finite",
    ])
    .example(
        "let all = []; for i in data::WeightedRandomSampler([0.0, 1.0], 3) { all.push(i) } all",
        "[1, 1, 1]",
    ),
    row(
        "BatchSampler",
        "Batches of another sampler's indices, as arrays.",
        BatchSamplerParams::LIST,
        by_name!(BatchSamplerParams, |a| {
            Ok(Sampler::batches(a.sampler, a.batch_size, a.drop_last)?.into_value())
        }),
    )
    .errors(&["ValueError: `batch_size` is not above 0"])
    .example(
        "let all = []; for b in data::BatchSampler([4, 5, 6], 2, false) { all.push(b) } all",
        "[[4, 5], [6]]",
    ),
];

params! {
    TensorDatasetParams {
        tensors: kind::Tensors, "the tensors, all of as many rows";
    }
}

params! {
    DatasetParams {
        length: Count, "how many samples there are";
        get: kind::Any, "a function that makes the sample of an index";
    }
}

params! {
    SubsetParams {
        dataset: DatasetKind, "what the samples are taken from";
        indices: Indices, "which samples are taken, in this order";
    }
}

kinds! {
    Datasets(Any) => &'a [Value], |args: &'a Args, at| match args.get(at) {
        Value::List(items) => Ok(items.as_slice()),
        other => Err(args.wrong(at, other)),
    };
    /// Numbers in an array.
    Lengths(Any) => Vec<f64>, |args: &Args, at| {
        let number = |v: &Value| match v {
            Value::Scalar(s) => Some(s.as_f64()),
            _ => None,
        };
        let lengths = match args.get(at) {
            Value::List(items) => items.iter().map(number).collect(),
            _ => None,
        };
        lengths.ok_or_else(|| {
            let text = "random_split(): argument 'lengths' must be an array of numbers such as [0.8, 0.2]";
            Error::type_error(text)
        })
    };
    /// Numbers in an array or a tensor.
    SampleWeights(Any) => Tensor, |args: &Args, at| match args.get(at) {
        Value::Tensor(t) => Ok(t.clone()),
        Value::List(items) => {
            let number = |v: &Value| if let Value::Scalar(s) = v { Some(*s) } else { None };
            let all: Option<Vec<Scalar>> = items.iter().map(number).collect();
            let all = all.ok_or_else(|| args.wrong(at, args.get(at)))?;
            Tensor::from_numbers(&all, &[all.len()], DType::Float64)
        }
        other => Err(args.wrong(at, other)),
    };
}

params! {
    ConcatParams {
        datasets: Datasets, "what stands one after the other, in an array";
    }
}

params! {
    SplitParams {
        dataset: DatasetKind, "what is split";
        lengths: Lengths, "how many samples each part has, or which share of them";
        generator: Maybe<GeneratorKind>, "draws the order, instead of the usual generator";
    }
}

params! {
    SequentialParams {
        dataset: DatasetKind, "what the indices are for";
    }
}

params! {
    RandomSamplerParams {
        dataset: DatasetKind, "what the indices are for";
        replacement: kind::Bool = false, "whether an index may come more than once";
        num_samples: Maybe<kind::Int>, "how many indices are drawn; without it as many as there are samples";
        generator: Maybe<GeneratorKind>, "draws the order, instead of the usual generator";
    }
}

params! {
    SubsetRandomParams {
        indices: Indices, "which indices are put in order";
        generator: Maybe<GeneratorKind>, "draws the order, instead of the usual generator";
    }
}

params! {
    WeightedParams {
        weights: SampleWeights, "how often each index comes, compared with the others";
        num_samples: kind::Int, "how many indices are drawn";
        replacement: kind::Bool = true, "whether an index may come more than once";
        generator: Maybe<GeneratorKind>, "draws the indices, instead of the usual generator";
    }
}

params! {
    BatchSamplerParams {
        sampler: SamplerKind, "what gives the indices, one by one";
        batch_size: kind::Int, "how many indices a batch has";
        drop_last: kind::Bool, "whether a last batch that is not full is left out";
    }
}

fn computed(a: DatasetParams) -> Result<Value> {
    let get = function(a.get).ok_or_else(|| {
        let got = a.get.describe();
        let text = format!("Dataset(): argument 'get' must be a function of an index, not {got}");
        Error::type_error(text).with_hint("`data::Dataset(100, |i| [x[i], y[i]])`")
    })?;
    Ok(Data::new(Computed { length: a.length, get }).into_value())
}

fn split(a: SplitParams) -> Result<Value> {
    let parts = random_split(&a.dataset, &a.lengths, a.generator)?;
    Ok(Value::List(parts.into_iter().map(Data::into_value).collect()))
}

fn weighted(a: WeightedParams) -> Result<Value> {
    Ok(Sampler::weighted(&a.weights, a.num_samples, a.replacement, a.generator)?.into_value())
}
