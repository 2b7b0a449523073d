//! Packed sequences as a script sees them.

use rhai::{Dynamic, Engine, EvalAltResult};

use crate::nn::packed::Packed;
use crate::op::def::PROPERTY;
use crate::op::{Family, OpDef, Receiver};
use crate::script::call::{Outcome, ScriptRow};
use crate::script::fault::raise;
use crate::tensor::Tensor;

/// A property of packed sequences.
const fn property(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Module, summary, &[]).on(Receiver::Packed).forms(PROPERTY)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        property("data", "The steps of all sequences that are not over, one after the other.")
            .torch("torch.nn.utils.rnn.PackedSequence.data")
            .shapes("[steps of all sequences, …]")
            .example(
                "let p = nn::utils::rnn::pack_sequence([tensor([1.0, 2.0]), tensor([3.0])]); p.data",
                "tensor([1., 3., 2.])",
            ),
        |call| Ok(Dynamic::from(call.on::<Packed>()?.data.clone())),
    ),
    ScriptRow::of(
        property("batch_sizes", "How many sequences are not over yet, step by step.")
            .torch("torch.nn.utils.rnn.PackedSequence.batch_sizes")
            .shapes("[steps of the longest sequence]")
            .example(
                "let p = nn::utils::rnn::pack_sequence([tensor([1.0, 2.0]), tensor([3.0])]); p.batch_sizes",
                "tensor([2, 1])",
            ),
        |call| Ok(Dynamic::from(call.on::<Packed>()?.batch_sizes()?)),
    ),
    ScriptRow::of(
        property("sorted_indices", "Where the sequences stood before they were sorted by length, or ().")
            .torch("torch.nn.utils.rnn.PackedSequence.sorted_indices")
            .example(
                "let p = nn::utils::rnn::pack_sequence([tensor([1.0]), tensor([2.0, 3.0])], #{enforce_sorted: false}); \
                 p.sorted_indices",
                "tensor([1, 0])",
            ),
        |call| places(call.on::<Packed>()?.sorted.clone()),
    ),
    ScriptRow::of(
        property("unsorted_indices", "Where each sequence stands among those sorted by length, or ().")
            .torch("torch.nn.utils.rnn.PackedSequence.unsorted_indices")
            .example(
                "let p = nn::utils::rnn::pack_sequence([tensor([1.0]), tensor([2.0, 3.0])], #{enforce_sorted: false}); \
                 p.unsorted_indices",
                "tensor([1, 0])",
            ),
        |call| places(call.on::<Packed>()?.unsorted()),
    ),
    ScriptRow::of(
        property("is_cuda", "Whether the sequences are on a GPU.")
            .torch("torch.nn.utils.rnn.PackedSequence.is_cuda")
            .example("nn::utils::rnn::pack_sequence([ones(2)]).is_cuda", "false"),
        |call| Ok(call.on::<Packed>()?.data.device().is_cuda().into()),
    ),
];

pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Packed>("PackedSequence");
    let shown =
        |p: &mut Packed| -> std::result::Result<String, Box<EvalAltResult>> { p.show().map_err(raise) };
    engine.register_fn("to_string", shown);
    engine.register_fn("to_debug", shown);
}

fn places(all: Option<Vec<i64>>) -> Outcome {
    Ok(match all {
        None => Dynamic::UNIT,
        Some(all) => Dynamic::from(Tensor::from_i64(&all, &[all.len()])?),
    })
}
