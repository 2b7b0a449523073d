//! `x[…]`, `x.at([…])` and assignment to each.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use rhai::{Array, Dynamic, Engine, INT, NativeCallContext};

use crate::base::{Error, Layout, Result};
use crate::device::{Shared, Storage};
use crate::op::index::brackets::{index, index_put_};
use crate::op::index::indices::Index;
use crate::op::params::params;
use crate::op::shape::view::squeeze;
use crate::op::{Family, OpDef, Operand, Receiver, Value};
use crate::tensor::Tensor;

use super::bind::note_line;
use super::call::ScriptRow;
use super::call::kind::Given;
use super::fault::{RhaiResult, raise};
use super::value::{from_dynamic, type_name};

params! {
    AtParams {
        at: Given, "an array with a number, a range, an index or mask tensor, or () for all, per dimension";
    }
}

params! {
    PutParams {
        at: Given, "an array with a number, a range, an index or mask tensor, or () for all, per dimension";
        value: Given, "what stands there from now on: a number, or a tensor that broadcasts to the part";
    }
}

/// The rows of brackets on tensors.
pub static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "at",
            Family::Index,
            "A part of a tensor: `x.at([(), 1])` is Python's x[:, 1].",
            AtParams::LIST,
        )
        .on(Receiver::Tensor)
        .torch("torch.Tensor.__getitem__")
        .shapes("a number leaves its dimension out, `()` and a range keep it, an index tensor puts its shape there")
        .errors(&["IndexError: there is no such place, or there are more places than dimensions"])
        .example("arange(6).reshape([2, 3]).at([(), 1])", "tensor([1, 4])"),
        |call| {
            let places = places(&AtParams::of(&call.args)?.at)?;
            Ok(Dynamic::from(get(&call.on()?, &places)?))
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "put",
            Family::Index,
            "Writes to a part: `x.put([(), 1], 0)` is Python's x[:, 1] = 0.",
            PutParams::LIST,
        )
        .on(Receiver::Tensor)
        .torch("torch.Tensor.__setitem__")
        .shapes("the value broadcasts to the part, which has the shape that `at` gives")
        .errors(&[
            "IndexError: there is no such place, or there are more places than dimensions",
            "RuntimeError: the value does not broadcast to the part",
        ])
        .example("let x = zeros(2, 2); x.put([(), 1], 5); x", "tensor([[0., 5.],\n        [0., 5.]])"),
        |call| {
            let given = PutParams::of(&call.args)?;
            put(&call.on()?, &places(&given.at)?, &given.value)?;
            Ok(Dynamic::UNIT)
        },
    ),
];

/// Registers indexers for tensors by number, range, index or mask tensor.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    macro_rules! indexer {
        ($($t:ty),*) => {$({
            let here = Arc::clone(shared);
            engine.register_indexer_get(move |ctx: NativeCallContext, x: &mut Tensor, at: $t| {
                note_line(&here, &ctx);
                get(x, &[Dynamic::from(at)])
            });
            let here = Arc::clone(shared);
            engine.register_indexer_set(move |ctx: NativeCallContext, x: &mut Tensor, at: $t, value: Dynamic| {
                note_line(&here, &ctx);
                put(x, &[Dynamic::from(at)], &value)
            });
        })*};
    }
    indexer!(INT, std::ops::Range<INT>, std::ops::RangeInclusive<INT>, Tensor, Array);
}

/// The places of an index, one for each dimension.
fn places(at: &Dynamic) -> Result<Array> {
    let all = at.read_lock::<Array>().map(|all| all.clone());
    let text = || format!("at() and put() take an array of places, not {}", type_name(at));
    all.ok_or_else(|| Error::type_error(text()).with_hint("`x.at([(), 1])` is the second column"))
}

/// A copy that an index read, where from, and with which index. Rhai hands it to the setter after `x[i].f()`, because
/// `f` might have changed it.
#[derive(PartialEq)]
struct Read {
    from: Seen,
    item: Seen,
    at: Vec<IndexKey>,
}

/// A tensor as it was.
#[derive(Clone)]
struct Seen {
    storage: Weak<Storage>,
    version: u32,
    layout: Layout,
}

/// An index as it was.
#[derive(PartialEq)]
enum IndexKey {
    Number(INT),
    Range(std::ops::Range<INT>),
    Closed(std::ops::RangeInclusive<INT>),
    All,
    List(Vec<IndexKey>),
    Tensor(Seen),
}

thread_local! {
    static LAST: RefCell<Option<Read>> = const { RefCell::new(None) };
}

impl Read {
    /// None where an index is of a kind that is not compared.
    fn of(x: &Tensor, item: &Tensor, at: &[Dynamic]) -> Option<Read> {
        Some(Read { from: Seen::of(x), item: Seen::of(item), at: IndexKey::all(at)? })
    }

    fn note(x: &Tensor, item: &Tensor, at: &[Dynamic]) {
        let read = Read::of(x, item, at);
        LAST.with(|last| *last.borrow_mut() = read);
    }

    /// Whether `value` is what was last read from `x` at the same place, all as they were then: writing it would
    /// change nothing.
    fn is_unchanged(x: &Tensor, value: &Tensor, at: &[Dynamic]) -> bool {
        LAST.with(|last| last.borrow().is_some() && *last.borrow() == Read::of(x, value, at))
    }
}

impl Seen {
    fn of(t: &Tensor) -> Seen {
        Seen { storage: Arc::downgrade(t.storage()), version: t.version(), layout: t.layout().clone() }
    }
}

impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        Weak::ptr_eq(&self.storage, &other.storage)
            && self.version == other.version
            && self.layout == other.layout
    }
}

impl IndexKey {
    fn all(at: &[Dynamic]) -> Option<Vec<IndexKey>> {
        at.iter().map(IndexKey::of).collect()
    }

    fn of(at: &Dynamic) -> Option<IndexKey> {
        if at.is_unit() {
            return Some(IndexKey::All);
        }
        if let Ok(number) = at.as_int() {
            return Some(IndexKey::Number(number));
        }
        if let Some(list) = at.read_lock::<Array>() {
            return IndexKey::all(&list).map(IndexKey::List);
        }
        if let Some(range) = at.read_lock::<std::ops::Range<INT>>() {
            return Some(IndexKey::Range(range.clone()));
        }
        if let Some(range) = at.read_lock::<std::ops::RangeInclusive<INT>>() {
            return Some(IndexKey::Closed(range.clone()));
        }
        at.read_lock::<Tensor>().map(|t| IndexKey::Tensor(Seen::of(&t)))
    }
}

fn get(x: &Tensor, at: &[Dynamic]) -> RhaiResult<Tensor> {
    let run = || {
        let item = index(x, &indices(at)?)?;
        if !item.shares_storage(x) {
            Read::note(x, &item, at);
        }
        Ok(item)
    };
    run().map_err(|e: Error| raise(e.in_op("index", || vec![x.operand()])))
}

fn put(x: &Tensor, at: &[Dynamic], value: &Dynamic) -> RhaiResult<()> {
    let run = || {
        let value = from_dynamic(value)?;
        if let Value::Tensor(t) = &value {
            // A part of `x` itself is there already: `x[0].f()` and `x[0] += 1` work on a view, which `x[0].t_()` turns.
            let is_own = || {
                let part = index(x, &indices(at)?)?;
                Ok::<_, Error>(part.shares_storage(x) && part.layout() == t.first_layout())
            };
            if (t.shares_storage(x) && is_own()?) || Read::is_unchanged(x, t, at) {
                return Ok(());
            }
        }
        let value = match value {
            Value::Tensor(t) if t.rank() + at.len() > x.rank() => Value::Tensor(without_ones(&t)?),
            other => other,
        };
        let operand = match &value {
            Value::Tensor(t) => Operand::Tensor(t),
            Value::Scalar(s) => Operand::Scalar(*s),
            other => {
                return Err(Error::type_error(format!(
                    "a tensor or a number is assigned, not {}",
                    other.describe()
                )));
            }
        };
        index_put_(x, &indices(at)?, operand, false).map(|_| ())
    };
    run().map_err(|e| raise(e.in_op("index_put_", || vec![x.operand()])))
}

/// A value without leading dimensions of size 1, which PyTorch leaves out where it assigns.
fn without_ones(value: &Tensor) -> Result<Tensor> {
    let ones = value.shape().iter().take_while(|&&d| d == 1).count();
    if ones == 0 {
        return Ok(value.clone());
    }
    squeeze(value, Some(&(0..ones as i64).collect::<Vec<_>>()))
}

/// `[0, 1..3, ()]` as indices: a number, a range, everything, an index or mask tensor.
fn indices(at: &[Dynamic]) -> Result<Vec<Index>> {
    at.iter().map(|item| Index::of(&from_dynamic(item)?)?.alone()).collect()
}
