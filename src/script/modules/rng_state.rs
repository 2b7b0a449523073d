//! Where generators stand, as tensors: to go on later from there, in this program or in PyTorch.

use std::sync::Arc;

use rhai::{Array, Dynamic, INT};

use crate::base::{DType, Device, DeviceSpec, Error, Result};
use crate::data::sampler::Generator;
use crate::device::Machine;
use crate::device::random::{Mt19937, STATE_BYTES, Shared};
use crate::op::params::kind::{Bool, Device as AnyDevice, Tensor as AnyTensor};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::kind::Given;
use crate::script::call::{Outcome, ScriptRow};
use crate::script::modules::cuda::device::{DeviceParams, NOT_CPU, WORKED_ERRORS, gpu, worked_on};
use crate::script::modules::hook::context;
use crate::script::value::{device, type_name};
use crate::tensor::Tensor;

params! {
    SetParams {
        new_state: AnyTensor, "a tensor that the getter gave";
    }
}

params! {
    SetOnGpuParams {
        new_state: AnyTensor, "a tensor that `cuda::get_rng_state` gave";
        device: Maybe<AnyDevice>, "the GPU, or the current one";
    }
}

params! {
    SetAllParams {
        new_states: Given, "an array with a state for each GPU";
    }
}

params! {
    ForkParams {
        devices: Given = (), "an array of the GPUs whose generators go back as well, or () for all";
        enabled: Bool = true, "false leaves them where the block took them";
    }
}

const NO_STATE: &[&str] = &[
    "TypeError: the state is no uint8 tensor in main memory",
    "RuntimeError: it has another size, or is no state of a generator",
];

const ON_GPUS: &[&str] = &[
    "TypeError: the state is no uint8 tensor in main memory",
    "RuntimeError: it has another size, or is no state of a generator",
    "DeviceError: there is no such GPU",
    NOT_CPU,
];

const GPUS: &[Form] = &[Form::Of("cuda")];

/// A seed and an offset, of 8 bytes each.
const PHILOX_BYTES: usize = 16;

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script("get_rng_state", Family::Random, "Where the CPU's generator stands, as a tensor of bytes.", &[])
            .shapes("[5056], uint8")
            .details(
                "The bytes are those of PyTorch: a state that is saved by one goes on in the other. GPUs have generators of \
                 their own, `cuda::get_rng_state_all()`.",
            )
            .example("let at = get_rng_state(); let a = rand(2); set_rng_state(at); a.equal(rand(2))", "true"),
        |call| told(&call.machine().generator.lock()),
    ),
    ScriptRow::of(
        OpDef::script(
            "set_rng_state",
            Family::Random,
            "Takes the CPU's generator to where one stood.",
            SetParams::LIST,
        )
        .shapes("`new_state` is [5056], uint8")
        .errors(NO_STATE)
        .example("let at = get_rng_state(); let a = randn(3); set_rng_state(at); a.equal(randn(3))", "true"),
        |call| taken(&call.machine().generator, SetParams::of(&call.args)?.new_state),
    ),
    ScriptRow::of(
        OpDef::script("initial_seed", Family::Random, "The seed that the CPU's generator was last given.", &[])
            .example("manual_seed(7); initial_seed()", "7"),
        |call| Ok((call.machine().generator.lock().seed() as INT).into()),
    ),
    ScriptRow::of(
        OpDef::script(
            "fork_rng",
            Family::Random,
            "Takes all generators back, after the block, to where they stood before it.",
            ForkParams::LIST,
        )
        .forms(&[Form::Function, Form::With("")])
        .torch("torch.random.fork_rng")
        .errors(&["TypeError: `devices` is no array", "DeviceError: there is no such GPU", NOT_CPU])
        .details("What is drawn inside changes nothing outside, on an error too.")
        .example(
            "manual_seed(0); with fork_rng() { manual_seed(5); rand(9); } rand(2)",
            "tensor([0.4963, 0.7682])",
        ),
        |call| {
            let given = ForkParams::of(&call.args)?;
            let machine = Arc::clone(call.machine());
            let (devices, is_enabled) = (forked(&machine, &given.devices)?, given.enabled);
            context("fork_rng", move || Ok(is_enabled.then(|| Forked::of(&machine, &devices))))
        },
    ),
    ScriptRow::of(
        OpDef::script("get_state", Family::Random, "Where a generator stands, as a tensor of bytes.", &[])
            .on(Receiver::Generator)
            .torch("torch.Generator.get_state")
            .shapes("[5056], uint8")
            .example("Generator().get_state().shape", "[5056]"),
        |call| told(&call.on::<Generator>()?.0.lock()),
    ),
    ScriptRow::of(
        OpDef::script("set_state", Family::Random, "Takes a generator to where one stood.", SetParams::LIST)
            .changing()
            .on(Receiver::Generator)
            .torch("torch.Generator.set_state")
            .shapes("`new_state` is [5056], uint8")
            .errors(NO_STATE)
            .example(
                "let g = Generator(); let at = g.get_state(); let a = rand(2, #{generator: g}); g.set_state(at); \
                 a.equal(rand(2, #{generator: g}))",
                "true",
            ),
        |call| taken(&call.on::<Generator>()?.0, SetParams::of(&call.args)?.new_state),
    ),
    ScriptRow::of(
        OpDef::script(
            "get_rng_state",
            Family::Cuda,
            "Where a GPU's generator stands: its seed and how far it has come, as bytes in main memory.",
            DeviceParams::LIST,
        )
        .forms(GPUS)
        .shapes("[16], uint8")
        .errors(WORKED_ERRORS)
        .example("cuda::manual_seed(7); cuda::get_rng_state()[0].item()", "7"),
        |call| Ok(Dynamic::from(philox(call.machine(), worked_on(call)?.device)?)),
    ),
    ScriptRow::of(
        OpDef::script(
            "get_rng_state_all",
            Family::Cuda,
            "Where the generators of all GPUs stand.",
            &[],
        )
        .forms(GPUS)
        .shapes("an array with [16], uint8, for each GPU")
        .example("cuda::get_rng_state_all().len()", "2"),
        |call| {
            let machine = call.machine();
            let states = machine.gpus().iter().map(|gpu| philox(machine, gpu.device).map(Dynamic::from));
            Ok(Dynamic::from_array(states.collect::<Result<Array>>()?))
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "set_rng_state",
            Family::Cuda,
            "Takes a GPU's generator to where one stood.",
            SetOnGpuParams::LIST,
        )
        .forms(GPUS)
        .shapes("`new_state` is [16], uint8")
        .errors(ON_GPUS)
        .example(
            "let at = cuda::get_rng_state(); let a = rand(2, #{device: \"cuda\"}); cuda::set_rng_state(at); \
             a.equal(rand(2, #{device: \"cuda\"}))",
            "true",
        ),
        |call| {
            let given = SetOnGpuParams::of(&call.args)?;
            let place = gpu(call.machine(), given.device)?.device;
            Ok(set_philox(call.machine(), place, given.new_state)?.into())
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "set_rng_state_all",
            Family::Cuda,
            "Takes the generators of all GPUs to where they stood.",
            SetAllParams::LIST,
        )
        .forms(GPUS)
        .errors(ON_GPUS)
        .example("cuda::set_rng_state_all(cuda::get_rng_state_all())", "()"),
        |call| {
            let states = states(&SetAllParams::of(&call.args)?.new_states)?;
            for (ordinal, state) in states.iter().enumerate() {
                let device = gpu(call.machine(), Some(DeviceSpec::Cuda(Some(ordinal as u16))))?.device;
                set_philox(call.machine(), device, state)?;
            }
            Ok(Dynamic::UNIT)
        },
    ),
];

/// Takes generators back when it is dropped.
struct Forked {
    machine: Arc<Machine>,
    host: Mt19937,
    gpus: Vec<(Device, (u64, u64))>,
}

impl Forked {
    fn of(machine: &Arc<Machine>, devices: &[Device]) -> Forked {
        let gpus = devices.iter().filter_map(|&device| Some((device, machine.generator_state(device)?)));
        let host = machine.generator.lock().clone();
        Forked { machine: Arc::clone(machine), host, gpus: gpus.collect() }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        *self.machine.generator.lock() = self.host.clone();
        self.gpus.iter().for_each(|&(device, state)| self.machine.set_generator_state(device, state));
    }
}

fn told(generator: &Mt19937) -> Outcome {
    Ok(Dynamic::from(Tensor::from_bytes(&generator.to_bytes(), &[STATE_BYTES], DType::UInt8)?))
}

fn taken(generator: &Shared, state: &Tensor) -> Outcome {
    let bytes = bytes(state)?;
    let Ok(all) = <&[u8; STATE_BYTES]>::try_from(bytes.as_slice()) else {
        let text = format!(
            "Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {}",
            bytes.len()
        );
        let hint = match bytes.len() {
            PHILOX_BYTES => "a state of 16 bytes is a GPU's: `cuda::set_rng_state(state)`",
            _ => "`get_rng_state()` gives such a state",
        };
        return Err(Error::runtime(text).with_hint(hint).into());
    };
    let state = Mt19937::from_bytes(all).ok_or_else(|| {
        Error::runtime("Invalid mt19937 state").with_hint("`get_rng_state()` gives a valid one")
    })?;
    *generator.lock() = state;
    Ok(Dynamic::UNIT)
}

fn philox(machine: &Machine, device: Device) -> Result<Tensor> {
    let (seed, offset) = machine.generator_state(device).unwrap_or_default();
    let bytes: Vec<u8> = seed.to_ne_bytes().into_iter().chain(offset.to_ne_bytes()).collect();
    Tensor::from_bytes(&bytes, &[PHILOX_BYTES], DType::UInt8)
}

fn set_philox(machine: &Machine, device: Device, state: &Tensor) -> Result<()> {
    let bytes = bytes(state)?;
    let (&[seed, offset], []) = bytes.as_chunks::<8>() else {
        let hint = match bytes.len() {
            STATE_BYTES => "a state of 5056 bytes is the CPU's: `set_rng_state(state)`",
            _ => "`cuda::get_rng_state()` gives a state of 16 bytes",
        };
        return Err(Error::runtime("RNG state is wrong size").with_hint(hint));
    };
    let offset = u64::from_ne_bytes(offset);
    if offset % 4 != 0 {
        return Err(Error::runtime("offset must be a multiple of 4")
            .with_hint("`cuda::get_rng_state()` gives a state"));
    }
    machine.set_generator_state(device, (u64::from_ne_bytes(seed), offset));
    Ok(())
}

/// The bytes of a state.
fn bytes(state: &Tensor) -> Result<Vec<u8>> {
    if state.dtype() != DType::UInt8 || state.device() != Device::Cpu {
        let hint = match state.device() {
            Device::Cpu => format!("it is a tensor of {}: states are of uint8", state.dtype()),
            place => {
                format!("states lie in main memory, and this tensor is on {place}: `.cpu()` brings it there")
            }
        };
        return Err(Error::type_error("RNG state must be a torch.ByteTensor").with_hint(hint));
    }
    state.host_bytes("set_rng_state")
}

fn states(given: &Dynamic) -> Result<Vec<Tensor>> {
    let no = |what: &Dynamic| {
        Error::type_error(format!(
            "set_rng_state_all(): an array of tensors is wanted, not {}",
            type_name(what)
        ))
        .with_hint("`cuda::get_rng_state_all()` gives one")
    };
    let items = given.read_lock::<Array>().ok_or_else(|| no(given))?;
    items.iter().map(|item| item.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| no(item))).collect()
}

/// The GPUs whose generators go back.
fn forked(machine: &Machine, given: &Dynamic) -> Result<Vec<Device>> {
    if given.is_unit() {
        return Ok(machine.gpus().iter().map(|gpu| gpu.device).collect());
    }
    let Some(items) = given.read_lock::<Array>() else {
        let text = format!("fork_rng(): argument 'devices' must be an array, not {}", type_name(given));
        return Err(
            Error::type_error(text).with_hint("`fork_rng([0])` names the first GPU, `fork_rng([])` none")
        );
    };
    items.iter().map(|item| Ok(gpu(machine, Some(device(item)?))?.device)).collect()
}
