//! `nn::parallel::DistributedDataParallel`, and the sampler that goes with it.

use rhai::Dynamic;

use crate::base::{Error, Result};
use crate::data::Data;
use crate::data::sampler::{Sampler, Share};
use crate::distributed::{self, DdpOptions, DistributedDataParallel};
use crate::nn::Module;
use crate::op::params::kind::{Bool, Int};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver, Value};
use crate::parallel::accelerators;
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::modules::hook::context;
use crate::script::value::from_dynamic;

params! {
    DdpParams {
        module: Given, "the rank's network; its parameters and buffers become those of rank 0";
        device_ids: Given = (), "the GPU that the network is on, such as [rank]: inputs are moved there";
        bucket_cap_mb: Maybe<Int>, "MiB after which a bucket is full; without it the first at 1 and the others at 25";
        find_unused_parameters: Bool = false, "lets parameters go without a gradient, which is looked for in each forward pass";
    }
}

params! {
    SamplerParams {
        dataset: Given, "what the indices are for, or how many samples it has";
        num_replicas: Maybe<Int>, "among how many ranks the samples are shared out; without it those of the group";
        rank: Maybe<Int>, "whose share it is; without it the calling rank's";
        shuffle: Bool = true, "puts the samples in an order that depends on `seed` and the epoch alone";
        seed: Int = 0, "must be the same on all ranks";
        drop_last: Bool = false, "leaves out what does not come out even; else the first samples come again";
    }
}

params! {
    EpochParams {
        epoch: Int, "the epoch that begins, the same on all ranks";
    }
}

macro_rules! on_two {
    ($body:literal) => {
        concat!("distributed::spawn(|rank, world| { ", $body, " }, #{nprocs: 2})")
    };
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "DistributedDataParallel",
            Family::Parallel,
            "A network on every rank, whose gradients are averaged during the backward pass.",
            DdpParams::LIST,
        )
        .forms(&[Form::Of("nn::parallel")])
        .torch("torch.nn.parallel.DistributedDataParallel")
        .details(
            "Each rank computes with its own share of the data. Gradients go into buckets; a bucket is reduced over the \
             ranks as soon as it and those before it are full, on a stream of its own, while the backward pass goes on. The \
             first pass has one bucket; then they are made anew in the order in which gradients came. Buffers, such as \
             running statistics, are those of rank 0 in each forward pass. The gradients are those of one device with the \
             whole batch where each rank has a share of one size, the loss is a mean, and the network has neither batch \
             norm nor dropout. With unequal shares the mean over the ranks weighs a small share as much as a large one; a \
             loss that is a sum comes out divided by the number of ranks; batch norm takes the statistics of each rank's \
             share alone; dropout drops with each rank's own generator. Last bits differ as the order of additions does.",
        )
        .errors(&[
            "ValueError: there is no group, device_ids names several GPUs, or the network is not on the one",
            "RuntimeError: the network has no parameter that requires a gradient",
            "RuntimeError, in the next call: parameters got no gradient, and `find_unused_parameters` is false",
        ])
        .shapes("what the network takes and gives")
        .example(
            on_two!(
                "let net = nn::parallel::DistributedDataParallel(nn::Linear(1, 1)); \
                 net.forward(tensor([[rank + 1.0]])).sum().backward(); net.module.weight.grad.item()"
            ),
            "[1.5, 1.5]",
        ),
        wrap,
    ),
    ScriptRow::of(
        OpDef::script("no_sync", Family::Parallel, "A region in which gradients stay with their ranks: `with net.no_sync() { … }`.", &[])
            .on(Receiver::Module)
            .torch("torch.nn.parallel.DistributedDataParallel.no_sync")
            .details("For adding up gradients of several batches: all but the last forward and backward pass stand in it.")
            .errors(&["TypeError: the module is no DistributedDataParallel"])
            .example(
                on_two!(
                    "let net = nn::parallel::DistributedDataParallel(nn::Linear(1, 1)); \
                     with net.no_sync() { net.forward(tensor([[rank + 1.0]])).sum().backward(); } \
                     net.module.weight.grad.item()"
                ),
                "[1.0, 2.0]",
            ),
        |call| {
            let module = call.on::<Module>()?;
            if DistributedDataParallel::of(&module).is_none() {
                let text = format!("a {} has no no_sync(): a DistributedDataParallel has", module.name());
                return Err(Error::type_error(text).into());
            }
            let none = || Error::type_error("no_sync() is a DistributedDataParallel's");
            context("no_sync", move || DistributedDataParallel::of(&module).map(|d| d.no_sync()).ok_or_else(none))
        },
    ),
    ScriptRow::of(
        OpDef::script("DistributedSampler", Family::Data, "The indices of a dataset that are one rank's share.", SamplerParams::LIST)
            .forms(&[Form::Of("data")])
            .torch("torch.utils.data.distributed.DistributedSampler")
            .details(
                "Goes into a loader as `sampler`. Each epoch has the same order until `set_epoch` says which one it is.",
            )
            .errors(&["ValueError: there is no group and no number of ranks, or no such rank"])
            .example(
                "let all = []; for i in data::DistributedSampler(5, #{num_replicas: 2, rank: 1, shuffle: false}) { all.push(i) } all",
                "[1, 3, 0]",
            ),
        |call| Ok(Dynamic::from(Sampler::distributed(share(&SamplerParams::of(&call.args)?)?)?)),
    ),
    ScriptRow::of(
        OpDef::script("set_epoch", Family::Data, "Says which epoch begins, so that each has an order of its own.", EpochParams::LIST)
            .changing()
            .on(Receiver::Sampler)
            .torch("torch.utils.data.distributed.DistributedSampler.set_epoch")
            .errors(&["TypeError: the sampler is no DistributedSampler"])
            .example(
                "let s = data::DistributedSampler(7, #{num_replicas: 2, rank: 0}); s.set_epoch(3); let all = []; for i in s { all.push(i) } all",
                "[5, 4, 0, 1]",
            ),
        |call| {
            call.on::<Sampler>()?.set_epoch(EpochParams::of(&call.args)?.epoch)?;
            Ok(Dynamic::UNIT)
        },
    ),
];

/// Whose rank and how many: what is given, or the group's.
fn share(given: &SamplerParams) -> Result<Share> {
    let number = |name: &str, n: i64| {
        let text = format!("{name} is the number of a rank, and got {n}");
        usize::try_from(n).map_err(|_| Error::value(text))
    };
    let group = || distributed::current();
    let replicas = given.num_replicas.map_or_else(|| Ok(group()?.world()), |n| number("num_replicas", n))?;
    let rank = given.rank.map_or_else(|| Ok(group()?.rank()), |n| number("rank", n))?;
    let of = match given.dataset.as_int() {
        Ok(n) => number("dataset", n)?,
        Err(_) => Data::of(&from_dynamic(&given.dataset)?)?.0.len(),
    };
    let shuffle = given.shuffle.then_some(given.seed);
    Ok(Share { of, replicas, rank, shuffle, drop_last: given.drop_last })
}

fn wrap(call: &mut Call) -> Outcome {
    let given = DdpParams::of(&call.args)?;
    let module = given.module.read_lock::<Module>().map(|m| m.clone());
    let module = module.ok_or_else(|| Error::type_error("DistributedDataParallel() takes a module"))?;
    let devices = match from_dynamic(&given.device_ids)? {
        Value::None => None,
        ids => Some(accelerators(&ids)?),
    };
    let bucket_cap_mb = given.bucket_cap_mb.map(|mib| {
        let text = format!("bucket_cap_mb is a number of MiB above 0, and got {mib}");
        usize::try_from(mib).ok().filter(|mib| *mib > 0).ok_or_else(|| Error::value(text))
    });
    let options = DdpOptions {
        bucket_cap_mb: bucket_cap_mb.transpose()?,
        find_unused_parameters: given.find_unused_parameters,
    };
    Ok(Dynamic::from(DistributedDataParallel::wrap(&module, devices, &options)?))
}
