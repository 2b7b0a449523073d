//! What a GPU needs to be used: driver, build, libraries.

use rhai::Dynamic;

use crate::device::Machine;
use crate::device::cpu::isa;
use crate::device::cuda::probe::Probe;
use crate::op::params::kind::Bool;
use crate::op::params::params;
use crate::op::{Family, Form, OpDef};
use crate::script::call::{ScriptRow, Spaces};
use crate::script::json;
use crate::script::modules::cuda::smi::Smi;

params! {
    BfloatParams {
        including_emulation: Bool = true, "whether kernels that compute in float32 count";
    }
}

/// Compute capability from which bfloat16 is the hardware's own.
const AMPERE: u32 = 8;

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("cuda", Family::Cuda, "The CUDA version that the program was built for; a driver supports it or newer ones.", &[])
        .forms(&[Form::ValueOf("version")])
        .torch("torch.version.cuda")
        .example("version::cuda", "\"12.8\""),
        run: |_| Ok(CUDA.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_built", Family::Cuda, "Whether the program was built for CUDA: it always is.", &[])
        .forms(&[Form::Of("cuda")])
        .torch("torch.backends.cuda.is_built")
        .details("What the program loads of CUDA where it runs is in doctor().")
        .example("cuda::is_built()", "true"),
        run: |_| Ok(true.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("driver_version", Family::Cuda, "The version of the GPUs' driver; \"simulated\" for simulated ones, and () where there is none.", &[])
        .forms(&[Form::Of("cuda")])
        .own()
        .details("smi() has the newest CUDA that it supports as well, and doctor() what this computer has, whatever is simulated.")
        .example("cuda::driver_version()", "\"simulated\""),
        run: |call| Ok(Smi::driver(call.machine()).map_or(Dynamic::UNIT, Dynamic::from)),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_bf16_supported", Family::Cuda, "Whether the current GPU computes in bfloat16.", BfloatParams::LIST)
        .forms(&[Form::Of("cuda")])
        .details("From compute capability 8.0 on it does so itself; before, kernels compute in float32 and round. Without a GPU it is false.")
        .example("cuda::is_bf16_supported(false)", "false"),
        run: |call| {
            let given = BfloatParams::of(&call.args)?;
            Ok(bfloat(call.machine(), given.including_emulation).into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("doctor", Family::Cuda, "What this computer has of CUDA, and what is missing, as `tensorlab doctor` finds it.", &[])
        .own()
        .details(
            "A map: driver, devices, libraries and cards, and processor. What was found is under `Ok`, what was not under \
             `Err`, with `reason` and `remedy`. It speaks of real devices, whatever the session simulates.",
        )
        .example("doctor().libraries.len()", "6"),
        run: |_| Ok(doctor()),
        set: None,
    },
];

pub(super) fn register(spaces: &mut Spaces) {
    spaces.of("version").set_var("cuda", CUDA);
}

/// That of the driver's interface which is spoken here.
const CUDA: &str = "12.8";

fn bfloat(machine: &Machine, emulated: bool) -> bool {
    let gpu = machine.gpus().get(machine.current_gpu());
    gpu.is_some_and(|gpu| emulated || gpu.backend.properties().capability.0 >= AMPERE)
}

fn doctor() -> Dynamic {
    let mut found = serde_json::to_value(Probe::run()).unwrap_or_default();
    if let Some(fields) = found.as_object_mut() {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let processor = format!("{cores} cores {} {}", std::env::consts::ARCH, isa::name());
        fields.insert("processor".into(), processor.into());
    }
    json::dynamic(found)
}
