//! `distributed::`: ranks, and what they give each other.

use std::time::Duration;

use rhai::{Array, Dynamic, Engine, INT};

use crate::base::error::Exit;
use crate::base::{Error, Result};
use crate::device::examine::examining;
use crate::device::shared::ASIDE;
use crate::distributed::ranks::{MOST, RankFunction, spawn};
use crate::distributed::{self, CollectiveKind, PendingWork, Reduction, Wish};
use crate::op::params::kind::{self as plain, Bool, Float, Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Copies, Family, Form, OpDef, Param, Receiver, Value};
use crate::script::aside::AsideFunction;
use crate::script::call::kind::{Function, Given};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::lender::Lender;
use crate::script::value::{Held, given};
use crate::tensor::Tensor;

params! {
    SpawnParams {
        function: Function, "what every rank runs, with its number and how many there are: |rank, world| …";
        nprocs: Maybe<Int>, "how many ranks; without it one for each GPU, or one where there are none";
        args: Given = (), "an array: what the function takes behind its rank, in place of the number of ranks; copies of it";
        timeout: Float = 1800.0, "seconds that a rank waits for others, on this computer's clock or the modelled one";
    }
}

params! {
    InitParams {
        backend: Maybe<Str>, "\"nccl\", for GPUs, or \"gloo\"; without it the one that goes with the tensors' devices";
        rank: Maybe<Int>, "the number of the calling rank, where the environment does not say it";
        world_size: Maybe<Int>, "how many ranks there are, where the environment does not say it";
        timeout: Maybe<Float>, "seconds that a process waits for the other ranks, 1800 without it";
    }
}

params! {
    LocalParams {
        fallback_rank: Maybe<Int>, "the number where none is known";
    }
}

params! {
    AllReduceParams {
        tensor: plain::Tensor, "this rank's part, which becomes the result";
        op: Str = "sum", "how parts come together: \"sum\", \"avg\", \"product\", \"min\" or \"max\"";
        async_op: Bool = false, "gives a handle at once, whose `wait()` waits for the others";
    }
}

params! {
    BroadcastParams {
        tensor: plain::Tensor, "what is given, on the rank `src`; becomes it on the others";
        src: Int, "the rank that gives";
        async_op: Bool = false, "gives a handle at once, whose `wait()` waits for the others";
    }
}

params! {
    ReduceParams {
        tensor: plain::Tensor, "this rank's part; on the rank `dst` it becomes the result";
        dst: Int, "the rank that has the result";
        op: Str = "sum", "how parts come together: \"sum\", \"avg\", \"product\", \"min\" or \"max\"";
        async_op: Bool = false, "gives a handle at once, whose `wait()` waits for the others";
    }
}

params! {
    AllGatherParams {
        tensor: plain::Tensor, "this rank's part, of one shape on all";
        async_op: Bool = false, "gives a handle at once, whose `wait()` gives the tensors";
    }
}

params! {
    GatherParams {
        tensor: plain::Tensor, "this rank's part, of one shape on all";
        dst: Int = 0, "the rank that has all parts";
        async_op: Bool = false, "gives a handle at once, whose `wait()` gives the tensors";
    }
}

params! {
    ScatterParams {
        scatter_list: Maybe<plain::Tensors>, "a tensor for each rank, on the rank `src`; () on the others";
        src: Int = 0, "the rank that gives";
        async_op: Bool = false, "gives a handle at once, whose `wait()` gives the tensor";
    }
}

params! {
    ReduceScatterParams {
        input_list: plain::Tensors, "a tensor for each rank: this rank's part of what that one gets";
        op: Str = "sum", "how parts come together: \"sum\", \"avg\", \"product\", \"min\" or \"max\"";
        async_op: Bool = false, "gives a handle at once, whose `wait()` gives the tensor";
    }
}

params! {
    SendParams {
        tensor: plain::Tensor, "what is given";
        dst: Int, "the rank that receives it";
        async_op: Bool = false, "gives a handle at once, whose `wait()` waits for that rank";
    }
}

params! {
    RecvParams {
        like: plain::Tensor, "a tensor of the shape, dtype and device of what comes";
        src: Int, "the rank that sends";
        async_op: Bool = false, "gives a handle at once, whose `wait()` gives the tensor";
    }
}

params! {
    BarrierParams {
        async_op: Bool = false, "gives a handle at once, whose `wait()` waits for the others";
    }
}

const DISTRIBUTED: &[Form] = &[Form::Of("distributed")];

const FAILS: &[&str] = &[
    "ValueError: there is no group: outside of `distributed::spawn`, or after it was destroyed",
    "RuntimeError: ranks do not do the same, or one has failed or ended",
];

const FAILS_OF_RANK: &[&str] = &[
    "ValueError: there is no group, or no such rank in it",
    "RuntimeError: ranks do not do the same, or one has failed or ended",
];

/// A function of `distributed::`.
const fn row(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Parallel, summary, params).forms(DISTRIBUTED)
}

/// A method of what `async_op` gives.
const fn of_work(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Parallel, summary, &[]).on(Receiver::Work)
}

macro_rules! on_two {
    ($body:literal) => {
        concat!("distributed::spawn(|rank, world| { ", $body, " }, #{nprocs: 2})")
    };
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        row("spawn", "Starts ranks that run a function each, and gives what they return, by rank.", SpawnParams::LIST)
            .torch("torch.multiprocessing.spawn")
            .details(
                "Each rank is what a process is in PyTorch: outer variables are copies, the generators begin at their \
                 default seed, the first GPU is the current one until `cuda::set_device(rank)`, and so are switches its \
                 own. The script's functions are there, and the group stands. Ranks run one at a time, so that a run \
                 repeats; on simulated devices their times run side by side. `exit()` ends the rank alone, whose result is (); \
                 with another status than 0 it is that rank's error.",
            )
            .errors(&[
                "Error: whatever the first rank fails with, with its number and line",
                "RuntimeError: no rank can go on, because each waits for another or for one that has ended",
                "RuntimeError: a rank waited for the others longer than timeout, with what each rank did",
                "RuntimeError: a rank starts ranks, or a loader's worker does",
                "ValueError: timeout is no number of seconds above 0",
                "ValueError: nprocs is less than 1 or more than 64",
            ])
            .example(on_two!("rank * 10 + world"), "[2, 12]"),
        start,
    ),
    ScriptRow::of(
        row("get_rank", "The number of the calling rank, from 0.", &[])
            .errors(&["ValueError: there is no group"])
            .example(on_two!("distributed::get_rank()"), "[0, 1]"),
        |_| Ok((distributed::current()?.rank() as INT).into()),
    ),
    ScriptRow::of(
        row("get_world_size", "How many ranks the group has.", &[])
            .errors(&["ValueError: there is no group"])
            .example(on_two!("distributed::get_world_size()"), "[2, 2]"),
        |_| Ok((distributed::current()?.world() as INT).into()),
    ),
    ScriptRow::of(
        row("get_node_local_rank", "The number of the calling rank among those of this computer, from 0.", LocalParams::LIST)
            .details("It is what LOCAL_RANK says, as torchrun sets it; ranks that `spawn` starts are all of this computer.")
            .errors(&["RuntimeError: LOCAL_RANK is not set, and fallback_rank is not given"])
            .example(on_two!("distributed::get_node_local_rank()"), "[0, 1]"),
        |call| {
            let fallback = LocalParams::of(&call.args)?.fallback_rank;
            let known = distributed::spawned_rank().or_else(distributed::local_rank);
            let rank = known.and_then(|rank| INT::try_from(rank).ok()).or(fallback);
            let missing = "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow \
                           `get_node_local_rank` to work, assuming you are not running in a multi-device context and want \
                           the code to run locally instead.";
            Ok(rank.ok_or_else(|| Error::runtime(missing))?.into())
        },
    ),
    ScriptRow::of(
        row("is_available", "Whether there can be ranks: always.", &[]).example("distributed::is_available()", "true"),
        |_| Ok(true.into()),
    ),
    ScriptRow::of(
        row("is_initialized", "Whether the calling rank's group stands.", &[])
            .example("distributed::is_initialized()", "false"),
        |_| Ok(distributed::is_initialised().into()),
    ),
    ScriptRow::of(
        row("init_process_group", "Says by which backend the group exchanges tensors; it stands without that.", InitParams::LIST)
            .details(
                "\"nccl\" takes no two ranks of one GPU; \"gloo\" does, and goes through the host's memory. In a process that \
                 was started as a rank, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them, it joins \
                 the others over a socket of this computer, in the process of rank 0, and waits until all have come: \
                 `for r in 0 1; do RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 tensorlab run ddp.rhai & done`. \
                 Each process has the whole machine of `--devices` to itself.",
            )
            .errors(&[
                "ValueError: no rank is named, it is called a second time, there is no such backend, or rank and world_size \
                 are not the calling rank's",
                "RuntimeError: rank 0 can't be reached, or not all ranks came in time",
            ])
            .example(on_two!("distributed::init_process_group(\"gloo\"); distributed::is_initialized()"), "[true, true]"),
        |call| {
            let given = InitParams::of(&call.args)?;
            let wish = Wish { rank: given.rank, world: given.world_size, timeout: given.timeout };
            distributed::initialise(given.backend, wish)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        row("destroy_process_group", "Ends the group for the calling rank.", &[])
            .errors(&["ValueError: there is no group"])
            .example(on_two!("distributed::destroy_process_group(); distributed::is_initialized()"), "[false, false]"),
        |_| {
            distributed::destroy()?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        row("all_reduce", "Puts the tensors of all ranks together, in place on each.", AllReduceParams::LIST)
            .details("The result is the same to the last bit on all ranks. As a ring it takes 2 (n - 1) / n of the bytes over each link.")
            .shapes("one shape on all ranks -> the same")
            .errors(FAILS)
            .example(on_two!("let x = tensor([rank + 1.0]); distributed::all_reduce(x); x.item()"), "[3.0, 3.0]"),
        |call| {
            let given = AllReduceParams::of(&call.args)?;
            finish(distributed::all_reduce(given.tensor, Reduction::named(given.op)?)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("broadcast", "Gives a rank's tensor to all others, in place.", BroadcastParams::LIST)
            .shapes("one shape on all ranks -> the same")
            .errors(FAILS_OF_RANK)
            .example(on_two!("let x = tensor([rank]); distributed::broadcast(x, 1); x.item()"), "[1, 1]"),
        |call| {
            let given = BroadcastParams::of(&call.args)?;
            finish(distributed::broadcast(vec![given.tensor.clone()], given.src)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("reduce", "Puts the tensors of all ranks together, in place on one of them.", ReduceParams::LIST)
            .details("On the other ranks the tensors stay as they are.")
            .shapes("one shape on all ranks -> the same")
            .errors(FAILS_OF_RANK)
            .example(
                on_two!("let x = tensor([rank + 2]); distributed::reduce(x, 0, #{op: \"product\"}); x.item()"),
                "[6, 3]",
            ),
        |call| {
            let given = ReduceParams::of(&call.args)?;
            finish(distributed::reduce(given.tensor, given.dst, Reduction::named(given.op)?)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("all_gather", "The tensors of all ranks, by rank, on each.", AllGatherParams::LIST)
            .details("PyTorch writes them into a list that it is given.")
            .shapes("one shape on all ranks -> as many of it as there are ranks")
            .errors(FAILS)
            .example(on_two!("cat(distributed::all_gather(tensor([rank]))).tolist()"), "[[0, 1], [0, 1]]"),
        |call| {
            let given = AllGatherParams::of(&call.args)?;
            finish(distributed::all_gather(given.tensor)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("gather", "The tensors of all ranks, by rank, on one of them; () on the others.", GatherParams::LIST)
            .details("PyTorch writes them into a list that it is given.")
            .shapes("one shape on all ranks -> as many of it as there are ranks")
            .errors(FAILS_OF_RANK)
            .example(on_two!("distributed::gather(tensor([rank]), 1) == ()"), "[true, false]"),
        |call| {
            let given = GatherParams::of(&call.args)?;
            finish(distributed::gather(given.tensor, given.dst)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("scatter", "Gives each rank its own of the tensors that one rank has.", ScatterParams::LIST)
            .details("On a GPU it comes to lie on the rank's current one.")
            .shapes("as many of one shape as there are ranks -> that shape")
            .errors(FAILS_OF_RANK)
            .example(
                on_two!("distributed::scatter(if rank == 0 { [tensor(5), tensor(7)] } else { () }, 0).item()"),
                "[5, 7]",
            ),
        |call| {
            let given = ScatterParams::of(&call.args)?;
            finish(distributed::scatter(given.scatter_list.map(owned), given.src)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("reduce_scatter", "Puts lists of all ranks together; each rank has its own entry of the result.", ReduceScatterParams::LIST)
            .shapes("as many of one shape as there are ranks -> that shape")
            .errors(FAILS)
            .example(on_two!("distributed::reduce_scatter([tensor(rank), tensor(10)]).item()"), "[1, 20]"),
        |call| {
            let given = ReduceScatterParams::of(&call.args)?;
            let op = Reduction::named(given.op)?;
            finish(distributed::reduce_scatter(owned(given.input_list), op)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("send", "Gives a tensor to a rank, and waits until that one receives it.", SendParams::LIST)
            .details("PyTorch's `isend` is `async_op: true`.")
            .shapes("any -> nothing")
            .errors(FAILS_OF_RANK)
            .example(
                on_two!("if rank == 0 { distributed::send(tensor([4]), 1); 0 } else { distributed::recv(zeros_like(tensor([0])), 0).item() }"),
                "[0, 4]",
            ),
        |call| {
            let given = SendParams::of(&call.args)?;
            finish(distributed::send(given.tensor, given.dst)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("recv", "Waits for a tensor that a rank sends, and gives it.", RecvParams::LIST)
            .details("PyTorch writes it into a tensor that it is given; its `irecv` is `async_op: true`.")
            .shapes("any -> the same")
            .errors(FAILS_OF_RANK)
            .example(
                on_two!("if rank == 1 { distributed::send(ones(2), 0); () } else { distributed::recv(zeros(2), 1) }"),
                "[tensor([1., 1.]), ()]",
            ),
        |call| {
            let given = RecvParams::of(&call.args)?;
            finish(distributed::receive(given.like, given.src)?, given.async_op)
        },
    ),
    ScriptRow::of(
        row("barrier", "Waits until all ranks have come here.", BarrierParams::LIST)
            .errors(FAILS)
            .example(on_two!("distributed::barrier(); rank"), "[0, 1]"),
        |call| finish(distributed::barrier()?, BarrierParams::of(&call.args)?.async_op),
    ),
    ScriptRow::of(
        of_work("wait", "Waits for the other ranks, and gives what the call would have given.")
            .torch("torch.distributed.Work.wait")
            .details("What works in place has its result in its tensor, which must not be used before.")
            .errors(&["RuntimeError: a rank has failed or ended"])
            .example(
                on_two!("let x = tensor([rank]); let work = distributed::all_reduce(x, #{async_op: true}); work.wait(); x.item()"),
                "[1, 1]",
            ),
        |call| result(&call.on::<PendingWork>()?),
    ),
    ScriptRow::of(
        of_work("is_completed", "Whether all ranks have handed in their parts.")
            .torch("torch.distributed.Work.is_completed")
            .example(on_two!("distributed::barrier(#{async_op: true}).is_completed()"), "[false, true]"),
        |call| Ok(call.on::<PendingWork>()?.is_completed().into()),
    ),
];

/// The type of handles.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<PendingWork>("Work");
    engine.register_fn("to_string", |work: &mut PendingWork| format!("Work({})", work.kind));
    engine.register_fn("to_debug", |work: &mut PendingWork| format!("Work({})", work.kind));
}

fn owned(tensors: Vec<&Tensor>) -> Vec<Tensor> {
    tensors.into_iter().cloned().collect()
}

/// A handle, or what comes of it.
fn finish(work: PendingWork, later: bool) -> Outcome {
    if later { Ok(Dynamic::from(work)) } else { result(&work) }
}

fn result(work: &PendingWork) -> Outcome {
    let tensors = work.wait()?;
    let one = |tensors: Vec<Tensor>| tensors.into_iter().next().map_or(Dynamic::UNIT, Dynamic::from);
    Ok(match work.kind {
        CollectiveKind::AllGather => tensors.into_iter().map(Dynamic::from).collect::<Array>().into(),
        CollectiveKind::Gather { dst } if distributed::current()?.rank() == dst => {
            tensors.into_iter().map(Dynamic::from).collect::<Array>().into()
        }
        CollectiveKind::Scatter { .. } | CollectiveKind::ReduceScatter(_) | CollectiveKind::Recv { .. } => {
            one(tensors)
        }
        _ => Dynamic::UNIT,
    })
}

fn start(call: &mut Call) -> Outcome {
    let given_args = SpawnParams::of(&call.args)?;
    let machine = call.machine();
    let wanted = given_args.nprocs.unwrap_or(machine.gpus().len().max(1) as i64);
    let count = usize::try_from(wanted).ok().filter(|n| (1..=MOST).contains(n)).ok_or_else(|| {
        Error::value(format!("nprocs is a number of ranks from 1 to {MOST}, and got {wanted}"))
    })?;
    let timeout = Duration::try_from_secs_f64(given_args.timeout).ok().filter(|timeout| !timeout.is_zero());
    let timeout = timeout.ok_or_else(|| {
        Error::value(format!("timeout is a number of seconds above 0, and got {}", given_args.timeout))
    })?;
    if ASIDE.get() > 0 || examining() {
        let who = if examining() { "a check" } else { "a loader's worker" };
        return Err(Error::runtime(format!("{who} can't start ranks")).into());
    }
    let more = match given_args.args.read_lock::<Array>() {
        Some(all) => Some(all.clone()),
        None if given_args.args.is_unit() => None,
        None => {
            return Err(
                Error::type_error("args is an array of what the function takes behind its rank").into()
            );
        }
    };
    let function = call.here.aside.function(call.context, given_args.function);
    let mut functions: Vec<RankFunction> = Vec::new();
    for rank in 0..count {
        let aside = function.0.as_any().downcast_ref::<AsideFunction>();
        let aside = aside.ok_or_else(|| Error::type_error("spawn() takes a closure or a function"))?;
        let mut lender = Lender::for_rank(&machine.generator);
        let own = aside.copy(&mut lender)?;
        let copy = |value: &Dynamic| lender.value(&Held(value.clone()).into_value());
        let more = more.as_ref().map(|all| all.iter().map(copy).collect::<Result<Vec<_>>>()).transpose()?;
        let shared = std::sync::Arc::clone(&machine.shared);
        functions.push(Box::new(move || {
            let behind = match &more {
                Some(all) => all.iter().map(given).collect(),
                None => vec![(count as INT).into()],
            };
            let taken = std::iter::once((rank as INT).into()).chain(behind).collect();
            let result = own.called(taken);
            match result {
                Ok(value) => Ok(Held(value.flatten()).into_value()),
                Err((error, _)) if error.exit().is_some_and(Exit::is_fine) => Ok(Value::None),
                Err((error, line)) => {
                    let known = line.and_then(|line| u32::try_from(line).ok());
                    let line = known.map_or(shared.source().line, |line| shared.in_file(line));
                    Err((error, Some(line).filter(|line| *line > 0)))
                }
            }
        }));
    }
    let results: Result<Vec<_>> = spawn(machine, functions, timeout);
    Ok(results?.iter().map(given).collect::<Array>().into())
}
