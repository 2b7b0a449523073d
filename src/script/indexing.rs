//! `x[…]`, `x.at([…])` and assignment to each.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, INT, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::Shared;
use crate::op::Operand;
use crate::op::Value;
use crate::op::index::{Index, index, index_put_};
use crate::tensor::Tensor;

use super::bind::note_line;
use super::fault::raise;
use super::value::from_dynamic;

type RhaiResult<T> = std::result::Result<T, Box<rhai::EvalAltResult>>;

/// Registers indexers for tensors by number, range, index or mask tensor, and `at` for several dimensions.
pub fn register(engine: &mut Engine, shared: &Arc<Shared>) {
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
    let here = Arc::clone(shared);
    engine.register_fn("at", move |ctx: NativeCallContext, x: &mut Tensor, at: Array| {
        note_line(&here, &ctx);
        get(x, &at)
    });
    let here = Arc::clone(shared);
    engine.register_fn("put", move |ctx: NativeCallContext, x: &mut Tensor, at: Array, value: Dynamic| {
        note_line(&here, &ctx);
        put(x, &at, &value)
    });
}

fn get(x: &Tensor, at: &[Dynamic]) -> RhaiResult<Tensor> {
    let run = || index(x, &indices(at)?);
    run().map_err(|e| raise(e.in_op("index", || vec![x.operand()])))
}

fn put(x: &Tensor, at: &[Dynamic], value: &Dynamic) -> RhaiResult<()> {
    let run = || {
        let value = from_dynamic(value)?;
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

/// `[0, 1..3, ()]` as indices: a number, a range, everything, an index or mask tensor.
fn indices(at: &[Dynamic]) -> Result<Vec<Index>> {
    at.iter().map(|item| Index::of(&from_dynamic(item)?)).collect()
}
