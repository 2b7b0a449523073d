//! Datasets: samples by index.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::chain::Link;
use crate::base::{Cause, Error, Kind, Result, ShapeCause, memory};
use crate::device::random::Shared;
use crate::device::{Machine, poll};
use crate::op::args::FUNCTION;
use crate::op::gather::select::index_select;
use crate::op::shape::join::stack;
use crate::op::shape::part::{select, slice};
use crate::op::{Copies, Object, Value};
use crate::tensor::Tensor;

use super::collate::collate;

/// Samples by index. Called from worker threads.
pub trait Dataset: Send + Sync {
    /// What it is in PyTorch's words, such as `TensorDataset`.
    fn name(&self) -> &'static str;

    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensors whose rows the samples are, where it has such.
    fn tensors(&self) -> Option<&[Tensor]> {
        None
    }

    /// The dataset whose samples it has some of, and their indices there.
    fn part_of(&self) -> Option<(&Data, &[usize])> {
        None
    }

    /// The sample at an index below the length.
    fn get(&self, index: usize) -> Result<Value>;

    /// The samples at `indices` as one batch. Ends early once `stop` is set: nobody waits for the batch any more.
    ///
    /// # Errors
    /// Names the sample that failed.
    fn fetch(&self, indices: &[usize], stop: &AtomicBool) -> Result<Value> {
        let samples = samples(self, indices, stop)?;
        collate(&samples)
            .map_err(|e| noted(e, &format!("while putting the samples {} together", few(indices))))
    }

    /// A function of a higher layer that makes its samples.
    fn function(&self) -> Option<&Function> {
        None
    }

    /// A copy of copies of what it holds.
    ///
    /// # Errors
    /// It holds what can't be copied.
    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        let _ = copies;
        Err(Error::type_error(format!("there is no copy of a {}", self.name())))
    }
}

/// The samples at `indices`, one by one.
///
/// # Errors
/// Names the sample that failed.
pub fn samples(
    dataset: &(impl Dataset + ?Sized),
    indices: &[usize],
    stop: &AtomicBool,
) -> Result<Vec<Value>> {
    let one = |&index: &usize| {
        if stop.load(Ordering::Relaxed) {
            return Err(Cause::Interrupted.into());
        }
        dataset.get(index).map_err(|e| noted(e, &format!("while loading sample {index}")))
    };
    memory::try_collected(indices.iter().map(one))
}

/// Errors of more bytes get no more lines.
const LONGEST_TEXT: usize = 2000;

/// An error with one more line; an interrupt stays as it is.
pub fn noted(error: Error, line: &str) -> Error {
    if error.is_interrupt() || error.kind() == Kind::OutOfMemoryError {
        return error;
    }
    let text = error.message();
    if text.len() > LONGEST_TEXT {
        // Loaders inside loaders: the first lines say what happened.
        return error;
    }
    error.reworded(format!("{}\n{line}", text.trim_end()))
}

/// A dataset that a script holds. Cloning gives the same one.
#[derive(Clone)]
pub struct Data(pub Link<Arc<dyn Dataset>>);

impl Data {
    /// Shares a dataset, so that loaders and subsets may hold it too.
    pub fn new(dataset: impl Dataset + 'static) -> Data {
        Data(Link::new(Arc::new(dataset)))
    }

    /// The sample at an index, which counts from the end where it is negative.
    pub fn get(&self, index: i64) -> Result<Value> {
        let size = self.0.len();
        let at = if index < 0 { index.saturating_add(size as i64) } else { index };
        match usize::try_from(at).ok().filter(|&at| at < size) {
            Some(at) => self.0.get(at),
            None => Err(ShapeCause::IndexOutOfBounds { index, dim: 0, size }.into()),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("Dataset", self))
    }

    /// The copy of a dataset that another holds.
    pub(super) fn copy(&self, copies: &mut dyn Copies) -> Result<Data> {
        Data::of(&copies.value(&self.clone().into_value())?)
    }

    /// What stands for a dataset: one itself, a tensor's rows, or an array's items.
    pub fn of(value: &Value) -> Result<Data> {
        match value {
            Value::Object(object) if object.get::<Data>().is_some() => {
                object.get::<Data>().cloned().ok_or_else(|| Error::runtime("no dataset"))
            }
            Value::Tensor(t) if t.rank() > 0 => Ok(Data::new(TensorRows(t.clone()))),
            Value::List(items) => Ok(Data::new(Items(items.clone()))),
            Value::Range(from, Some(to)) => {
                let numbers = (from.unwrap_or(0)..*to).map(|number| Value::Scalar(number.into()));
                Ok(Data::new(Items(memory::collected(numbers)?)))
            }
            other => {
                let text = format!("a dataset is expected, but got {}", other.describe());
                let hint = "`data::TensorDataset(x, y)`, `data::Dataset(length, |i| …)`, a tensor with rows, or an array";
                Err(Error::type_error(text).with_hint(hint))
            }
        }
    }
}

/// A function of a higher layer. Called from worker threads.
#[derive(Clone)]
pub struct Function(pub Link<Arc<dyn Run>>);

/// What a function of a higher layer does.
pub trait Run: Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it fails with.
    fn run(&self, args: Vec<Value>) -> Result<Value>;

    /// What makes copies of it, and of all that goes with it, for a worker.
    fn copies(&self) -> Option<Box<dyn Copies>> {
        None
    }

    /// For the layer that made it.
    fn as_any(&self) -> &dyn Any;
}

impl Function {
    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new(FUNCTION, self))
    }

    /// The function's copy.
    pub(super) fn copy(&self, copies: &mut dyn Copies) -> Result<Function> {
        Ok(match copies.value(&self.clone().into_value())? {
            Value::Object(copy) => copy.get::<Function>().unwrap_or(self).clone(),
            _ => self.clone(),
        })
    }
}

/// Tensors of one first size; sample `i` is row `i` of each.
pub struct TensorDataset {
    tensors: Vec<Tensor>,
    rows: usize,
}

impl TensorDataset {
    pub fn new(tensors: Vec<Tensor>) -> Result<TensorDataset> {
        let first = tensors.first().ok_or_else(|| Error::value("a TensorDataset needs a tensor"))?;
        let Some(&rows) = first.shape().first() else {
            return Err(Error::value("a TensorDataset needs tensors with a first dimension"));
        };
        match tensors.iter().find(|t| t.shape().first() != Some(&rows)) {
            Some(other) => {
                let (one, two) = (first.shape(), other.shape());
                let text = format!("Size mismatch between tensors: {one:?} and {two:?}");
                Err(Error::new(Kind::AssertionError, text)
                    .with_hint("all tensors of a TensorDataset have one first size: the number of samples"))
            }
            None => Ok(TensorDataset { tensors, rows }),
        }
    }
}

impl Dataset for TensorDataset {
    fn name(&self) -> &'static str {
        "TensorDataset"
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn tensors(&self) -> Option<&[Tensor]> {
        Some(&self.tensors)
    }

    fn get(&self, index: usize) -> Result<Value> {
        self.tensors.iter().map(|t| row(t, index)).collect::<Result<_>>().map(Value::List)
    }

    /// One gather per tensor instead of a view per sample.
    fn fetch(&self, indices: &[usize], _: &AtomicBool) -> Result<Value> {
        self.tensors.iter().map(|t| rows(t, indices)).collect::<Result<_>>().map(Value::List)
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        let tensors = self.tensors.iter().map(|t| copies.tensor(t)).collect::<Result<_>>()?;
        Ok(Data::new(TensorDataset { tensors, rows: self.rows }))
    }
}

/// The rows of one tensor, bare.
struct TensorRows(Tensor);

impl Dataset for TensorRows {
    fn name(&self) -> &'static str {
        "Tensor"
    }

    fn len(&self) -> usize {
        self.0.shape().first().copied().unwrap_or(0)
    }

    fn get(&self, index: usize) -> Result<Value> {
        row(&self.0, index)
    }

    fn fetch(&self, indices: &[usize], _: &AtomicBool) -> Result<Value> {
        rows(&self.0, indices)
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        Ok(Data::new(TensorRows(copies.tensor(&self.0)?)))
    }
}

/// The items of an array.
struct Items(Vec<Value>);

impl Dataset for Items {
    fn name(&self) -> &'static str {
        "array"
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> Result<Value> {
        self.0.get(index).cloned().ok_or_else(|| Error::value("an index past the array's end"))
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        Ok(Data::new(Items(self.0.iter().map(|item| copies.value(item)).collect::<Result<_>>()?)))
    }
}

/// Samples that a function makes of their index.
pub(crate) struct Computed {
    pub length: usize,
    pub get: Function,
}

impl Dataset for Computed {
    fn name(&self) -> &'static str {
        "Dataset"
    }

    fn len(&self) -> usize {
        self.length
    }

    fn get(&self, index: usize) -> Result<Value> {
        self.get.0.run(vec![Value::Scalar((index as i64).into())])
    }

    fn function(&self) -> Option<&Function> {
        Some(&self.get)
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        Ok(Data::new(Computed { length: self.length, get: self.get.copy(copies)? }))
    }
}

/// Some samples of another dataset.
pub struct Subset {
    of: Data,
    indices: Vec<usize>,
}

impl Subset {
    /// # Errors
    /// An index outside the dataset.
    pub fn new(of: Data, indices: &[i64]) -> Result<Subset> {
        let size = of.0.len();
        let at = |&index: &i64| {
            let at = if index < 0 { index.saturating_add(size as i64) } else { index };
            let inside = usize::try_from(at).ok().filter(|&at| at < size);
            inside.ok_or_else(|| ShapeCause::IndexOutOfBounds { index, dim: 0, size }.into())
        };
        let indices = memory::try_collected(indices.iter().map(at))?;
        Ok(Subset { of, indices })
    }

    fn inner(&self, index: usize) -> Result<usize> {
        self.indices.get(index).copied().ok_or_else(|| Error::value("an index past the subset's end"))
    }
}

impl Dataset for Subset {
    fn name(&self) -> &'static str {
        "Subset"
    }

    fn part_of(&self) -> Option<(&Data, &[usize])> {
        Some((&self.of, &self.indices))
    }

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, index: usize) -> Result<Value> {
        self.of.0.get(self.inner(index)?)
    }

    fn fetch(&self, indices: &[usize], stop: &AtomicBool) -> Result<Value> {
        let inner = memory::try_collected(indices.iter().map(|&i| self.inner(i)))?;
        self.of.0.fetch(&inner, stop)
    }

    fn function(&self) -> Option<&Function> {
        self.of.0.function()
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        Ok(Data::new(Subset { of: self.of.copy(copies)?, indices: self.indices.clone() }))
    }
}

/// Datasets one after the other.
pub(crate) struct Concat {
    parts: Vec<Data>,
    /// Where each part ends.
    ends: Vec<usize>,
}

impl Concat {
    /// # Errors
    /// `AssertionError` without a dataset.
    pub(crate) fn new(parts: Vec<Data>) -> Result<Concat> {
        if parts.is_empty() {
            return Err(Error::new(Kind::AssertionError, "datasets should not be an empty iterable"));
        }
        let mut end = 0usize;
        let ends = parts.iter().map(|d| {
            end = end.saturating_add(d.0.len());
            end
        });
        let ends = ends.collect();
        Ok(Concat { parts, ends })
    }
}

impl Dataset for Concat {
    fn name(&self) -> &'static str {
        "ConcatDataset"
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn get(&self, index: usize) -> Result<Value> {
        let at = self.ends.partition_point(|end| *end <= index);
        let start = at.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        let part = self.parts.get(at).ok_or_else(|| Error::value("an index past the datasets' end"))?;
        part.0.get(index - start)
    }

    fn function(&self) -> Option<&Function> {
        self.parts.iter().find_map(|part| part.0.function())
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Data> {
        let parts = self.parts.iter().map(|part| part.copy(copies)).collect::<Result<_>>()?;
        Ok(Data::new(Concat { parts, ends: self.ends.clone() }))
    }
}

/// Splits a dataset at random, as `torch.utils.data.random_split`: `lengths` are numbers of samples, or fractions
/// that sum up to 1. The order is drawn from `generator`, or the thread's CPU generator.
///
/// # Errors
/// Lengths that do not sum up to the dataset's.
pub fn random_split(dataset: &Data, lengths: &[f64], generator: Option<Shared>) -> Result<Vec<Data>> {
    let total = dataset.0.len();
    let sum: f64 = lengths.iter().sum();
    let counts = if (sum - 1.0).abs() <= 1e-9 * sum.abs().max(1.0) && sum <= 1.0 {
        shares(lengths, total)?
    } else {
        let whole = |&n: &f64| Some(n as usize).filter(|&c| c as f64 == n);
        lengths.iter().map(whole).collect::<Option<Vec<_>>>().unwrap_or_default()
    };
    if counts.len() != lengths.len()
        || counts.iter().try_fold(0usize, |s, &n| s.checked_add(n)) != Some(total)
    {
        let text = "Sum of input lengths does not equal the length of the input dataset!";
        let hint = format!("the dataset has {total} samples; fractions such as [0.8, 0.2] sum up to 1");
        return Err(Error::value(text).with_hint(hint));
    }
    let order =
        super::draws::permutation(total, generator.unwrap_or_else(|| Machine::current().generator.clone()))?;
    let mut rest = order.as_slice();
    let mut parts = Vec::new();
    for count in counts {
        let (part, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = later;
        parts.push(Data::new(Subset::new(dataset.clone(), part)?));
    }
    Ok(parts)
}

/// Fractions of `total`, rounded down; what is left goes to the first ones, one each.
fn shares(fractions: &[f64], total: usize) -> Result<Vec<usize>> {
    if let Some(at) = fractions.iter().position(|f| !(0.0..=1.0).contains(f)) {
        return Err(Error::value(format!("Fraction at index {at} is not between 0 and 1")));
    }
    let mut counts: Vec<usize> = fractions.iter().map(|f| (total as f64 * f).floor() as usize).collect();
    let left = total.saturating_sub(counts.iter().fold(0, |all: usize, &n| all.saturating_add(n)));
    let parts = counts.len().max(1);
    // Rounding leaves fewer than there are parts, but for totals that a float does not hold.
    for i in 0..left.min(parts) {
        if let Some(count) = counts.get_mut(i % parts) {
            *count += 1;
        }
    }
    Ok(counts)
}

fn row(t: &Tensor, index: usize) -> Result<Value> {
    select(t, 0, index as i64).map(Value::Tensor)
}

fn rows(t: &Tensor, indices: &[usize]) -> Result<Value> {
    if indices.is_empty() {
        return slice(t, 0, 0, 0, 1).map(Value::Tensor);
    }
    if t.device().is_cuda() {
        // As PyTorch, which stacks them: no index travels.
        let rows = poll::collected(indices.iter().map(|&i| select(t, 0, i as i64)))?;
        return stack(&memory::collected(&rows)?, 0).map(Value::Tensor);
    }
    let indices = memory::collected(indices.iter().map(|&i| i as i64))?;
    let at = Tensor::from_i64(&indices, &[indices.len()])?;
    index_select(t, 0, &at).map(Value::Tensor)
}

/// The first few of some indices, for an error.
fn few(indices: &[usize]) -> String {
    let shown: Vec<String> = indices.iter().take(8).map(ToString::to_string).collect();
    let more = if indices.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
