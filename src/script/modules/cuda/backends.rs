//! `cudnn::`, `matmul::` and determinism: what PyTorch has under `torch.backends` and beside it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::Error;
use crate::device::settings::{Determinism, Settings};
use crate::op::params::kind::{Bool, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::{Call, Outcome, ScriptRow};

params! {
    SwitchParams {
        on: Maybe<Bool>, "the new state; without it the function only asks";
    }
}

params! {
    PrecisionParams {
        precision: Str, "\"highest\", \"high\" or \"medium\"";
    }
}

params! {
    DeterminismParams {
        mode: Bool, "true refuses what has no deterministic implementation";
        warn_only: Bool = false, "lets it run all the same";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("enabled", Family::Cuda, "Whether convolutions go to cuDNN.", SwitchParams::LIST)
        .forms(&[Form::Of("cudnn")])
        .torch("torch.backends.cudnn.enabled")
        .details("Without cuDNN matmul::allow_tf32 decides whether they use TF32.")
        .example("cudnn::enabled()", "true"),
        run: |call| switched(call, |s| &s.cudnn_enabled),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("benchmark", Family::Cuda, "Lets cuDNN try its convolution algorithms and keep the fastest.", SwitchParams::LIST)
        .forms(&[Form::Of("cudnn")])
        .torch("torch.backends.cudnn.benchmark")
        .details(
            "The first convolution of its shapes, dtype and direction then tries every algorithm that serves it, each in \
             memory of its own, while the host waits (`cudnn.benchmark` among `waits`); it and all later ones run by the \
             fastest that there is memory for. Without it cuDNN's heuristic chooses at once. What is cached goes back to \
             the device after a search. On a simulated GPU the algorithms' times are those of its profile, in times of \
             the heuristic's choice: 3 x 3 filters without tensor cores gain most, tiny convolutions nothing. \
             Convolutions of many shapes pay for as many searches.",
        )
        .example("cudnn::benchmark(true)", "true"),
        run: |call| switched(call, |s| &s.cudnn_benchmark),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("deterministic", Family::Cuda, "Lets cuDNN use deterministic algorithms alone.", SwitchParams::LIST)
        .forms(&[Form::Of("cudnn")])
        .torch("torch.backends.cudnn.deterministic")
        .details(
            "Without it the gradient by the weight may add by atomics on a GPU, in an order that chance decides: \
             its last bits differ between two calls. With it that takes longer, by the figure `without_atomics` of the \
             device's profile. use_deterministic_algorithms does the same, and more.",
        )
        .example("cudnn::deterministic()", "false"),
        run: |call| switched(call, |s| &s.cudnn_deterministic),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("allow_tf32", Family::Cuda, "Lets float32 convolutions use TF32; they do at first.", SwitchParams::LIST)
        .forms(&[Form::Of("cudnn")])
        .torch("torch.backends.cudnn.allow_tf32")
        .details("On a simulated GPU that changes the modelled time by the device's TF32 rate; values are computed in float32.")
        .example("cudnn::allow_tf32()", "true"),
        run: |call| switched(call, |s| &s.cudnn_tf32),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("allow_tf32", Family::Cuda, "Lets float32 products use TF32; they do not at first.", SwitchParams::LIST)
        .forms(&[Form::Of("matmul")])
        .torch("torch.backends.cuda.matmul.allow_tf32")
        .details("On a simulated GPU that changes the modelled time by the device's TF32 rate; values are computed in float32.")
        .example("matmul::allow_tf32()", "false"),
        run: |call| switched(call, |s| &s.matmul_tf32),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_float32_matmul_precision", Family::Cuda, "How float32 products are computed: in float32, or with what TF32 keeps of the numbers.", PrecisionParams::LIST)
        .errors(&["ValueError: there is no such precision"])
        .details("\"highest\" computes in float32; \"high\" and \"medium\" let devices use TF32.")
        .example("set_float32_matmul_precision(\"high\"); get_float32_matmul_precision()", "\"high\""),
        run: set_precision,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_float32_matmul_precision", Family::Cuda, "\"highest\" or \"high\": how float32 products are computed.", &[])
        .example("get_float32_matmul_precision()", "\"highest\""),
        run: |call| {
            let tf32 = call.machine().shared.settings.matmul_tf32.load(Ordering::Relaxed);
            Ok(if tf32 { "high" } else { "highest" }.into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("use_deterministic_algorithms", Family::Cuda, "Makes results on GPUs the same in every run, and what has no deterministic implementation there an error.", DeterminismParams::LIST)
        .errors(&["RuntimeError: an operation has no deterministic implementation, once it is called or its gradient is computed"])
        .details(
            "A GPU's threads add to one place in the order in which they come (atomics), and sums of floats depend on it: \
             index_add, scatter_add, scatter_reduce, the gradients of embedding, of indexing and gather, of \
             interpolation, and a convolution's by its weight give other last bits in every call. A simulated GPU takes \
             that order from a generator of its own, which manual_seed does not seed and `tensorlab run --seed` fixes, as \
             lessons do; on the CPU the order is always the same. With this on they add in one order, and take longer: \
             the places are sorted first, as PyTorch does it, and convolutions do without atomics.\n\nErrors are: \
             max_pool3d, avg_pool3d, adaptive_avg_pool2d, grid_sample, ctc_loss, embedding_bag with `max`, and pad with \
             `reflect`, when their gradient is computed, linear interpolation as well; nll_loss of more \
             than a vector for each row, histc, bincount with weights, median along a dimension, \
             scatter_reduce with `prod`, and put_ that accumulates, when they are called; on the CPU too max_unpool1d to \
             max_unpool3d and put_. With `warn_only` these warn. Memory that nothing was written to, as `empty` gives it, is \
             filled, with nan or the largest number of its dtype. Bilinear, bicubic and trilinear \
             interpolation and replicated borders are computed by other functions that have deterministic \
             gradients, cumsum in one order, as in PyTorch 2.15, whose documentation still lists them. PyTorch also wants \
             the variable CUBLAS_WORKSPACE_CONFIG to be set; products on a simulated GPU are the same in every run.",
        )
        .example("use_deterministic_algorithms(true); let on = are_deterministic_algorithms_enabled(); use_deterministic_algorithms(false); on", "true"),
        run: |call| {
            let given = DeterminismParams::of(&call.args)?;
            call.machine().shared.settings.set_determinism(match (given.mode, given.warn_only) {
                (false, _) => Determinism::Any,
                (true, true) => Determinism::Warn,
                (true, false) => Determinism::Required,
            });
            Ok(().into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("are_deterministic_algorithms_enabled", Family::Cuda, "Whether use_deterministic_algorithms is on.", &[])
        .example("are_deterministic_algorithms_enabled()", "false"),
        run: |call| Ok((call.machine().shared.settings.determinism() != Determinism::Any).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_deterministic_algorithms_warn_only_enabled", Family::Cuda, "Whether use_deterministic_algorithms is on and only warns.", &[])
        .example("is_deterministic_algorithms_warn_only_enabled()", "false"),
        run: |call| Ok((call.machine().shared.settings.determinism() == Determinism::Warn).into()),
        set: None,
    },
];

/// `name()` asks and `name(on)` sets; both give the state after it.
fn switched(call: &Call, of: fn(&Settings) -> &AtomicBool) -> Outcome {
    let switch = of(&call.machine().shared.settings);
    if let Some(on) = SwitchParams::of(&call.args)?.on {
        switch.store(on, Ordering::Relaxed);
    }
    Ok(switch.load(Ordering::Relaxed).into())
}

fn set_precision(call: &mut Call) -> Outcome {
    let name = PrecisionParams::of(&call.args)?.precision;
    let tf32 = match name {
        "highest" => false,
        "high" | "medium" => true,
        _ => {
            let text = format!("float32 matmul precision can't be '{name}'");
            let hint = "\"highest\" computes in float32; \"high\" and \"medium\" let devices use TF32";
            return Err(Error::value(text).with_hint(hint).into());
        }
    };
    call.machine().shared.settings.matmul_tf32.store(tf32, Ordering::Relaxed);
    Ok(().into())
}
