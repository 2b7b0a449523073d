//! Arrays that a property gives: copies, in which nothing would be kept that is written to them.

use rhai::{Array, Dynamic, Engine};

use crate::base::Error;
use crate::data::Data;
use crate::script::fault::{RhaiResult, raise};
use crate::script::value::type_name;
use crate::tensor::Tensor;

/// `x.shape[0] = 5` sets the changed array where there is a way to, and is lost in silence where there is none.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_set("shape", |x: &mut Tensor, now: Dynamic| {
        let sizes = x.shape().iter().map(|&size| Dynamic::from(size as i64));
        let hint = "a tensor keeps its sizes: `x.reshape([…])` gives its elements others, and a copy of the array can be changed, \
                    `let sizes = x.shape; sizes[0] = 5;`";
        refused(("shape", "Tensor"), sizes, &now, hint)
    });
    engine.register_set("indices", |data: &mut Data, now: Dynamic| {
        let all = data.0.part_of().map(|(_, indices)| indices).unwrap_or_default();
        let hint = "`data::Subset(d.dataset, indices)` has others";
        refused(("indices", "Dataset"), all.iter().map(|&at| Dynamic::from(at as i64)), &now, hint)
    });
    engine.register_set("tensors", |data: &mut Data, now: Dynamic| {
        let all = data.0.tensors().unwrap_or_default();
        let hint = "`data::TensorDataset(…)` takes others; what is written into one of them in place stays";
        refused(("tensors", "Dataset"), all.iter().cloned().map(Dynamic::from), &now, hint)
    });
}

/// An array may come back from a call of a method as it was.
fn refused(
    (property, of): (&str, &str),
    was: impl ExactSizeIterator<Item = Dynamic>,
    now: &Dynamic,
    hint: &str,
) -> RhaiResult<()> {
    let same = |a: &Dynamic, b: &Dynamic| match (a.as_int(), b.as_int()) {
        (Ok(a), Ok(b)) => a == b,
        _ => match (a.read_lock::<Tensor>(), b.read_lock::<Tensor>()) {
            (Some(a), Some(b)) => a.is(&b),
            _ => false,
        },
    };
    let Some(now) = now.read_lock::<Array>() else {
        let text = format!("'{property}' of a '{of}' object can't be set to {}", type_name(now));
        return Err(raise(Error::type_error(text).with_hint(hint)));
    };
    if now.len() == was.len() && was.zip(now.iter()).all(|(was, now)| same(&was, now)) {
        return Ok(());
    }
    Err(raise(Error::type_error(format!("'{property}' of a '{of}' object can't be changed")).with_hint(hint)))
}
