//! Packed sequences as a script sees them.

use rhai::{Dynamic, Engine, EvalAltResult};

use crate::base::Result;
use crate::nn::packed::Packed;
use crate::script::fault::raise;
use crate::tensor::Tensor;

use super::RhaiResult;

pub fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Packed>("PackedSequence");
    let shown =
        |p: &mut Packed| -> std::result::Result<String, Box<EvalAltResult>> { p.show().map_err(raise) };
    engine.register_fn("to_string", shown);
    engine.register_fn("to_debug", shown);
    engine.register_get("data", |p: &mut Packed| p.data.clone());
    engine.register_get("batch_sizes", |p: &mut Packed| tensor(p.batch_sizes()));
    engine.register_get("sorted_indices", |p: &mut Packed| places(p.sorted.clone()));
    engine.register_get("unsorted_indices", |p: &mut Packed| places(p.unsorted()));
    engine.register_get("is_cuda", |p: &mut Packed| p.data.device().is_cuda());
}

fn tensor(made: Result<Tensor>) -> RhaiResult<Dynamic> {
    made.map(Dynamic::from).map_err(raise)
}

fn places(all: Option<Vec<i64>>) -> RhaiResult<Dynamic> {
    match all {
        None => Ok(Dynamic::UNIT),
        Some(all) => tensor(Tensor::from_i64(&all, &[all.len()])),
    }
}
