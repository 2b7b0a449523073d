//! On a real GPU. Each test needs one, and the libraries that `tensorlab doctor` lists: `scripts/gpu_check.py` runs them.

mod attention;
mod batches;
mod chosen;
mod factors;
mod large;
mod recurrent;
mod trouble;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tensorlab::base::DeviceSpec;
use tensorlab::base::event::{Body, Clock, Event, Page};
use tensorlab::device::Machine;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

use crate::conformance::{Laid, all_on, stretched_on};
use crate::ops::ON_GPU;
use crate::ops::device_draws::{draws_as_recorded, draws_of_any_size};
use crate::ops::gradients::check_all;
use crate::parallel::{fault, machine, on};

const GPU: DeviceSpec = DeviceSpec::Cuda(Some(0));

/// `cuda`, or what `TENSORLAB_GPU` names: these tests can be tried on a simulated device first.
fn devices() -> String {
    std::env::var("TENSORLAB_GPU").unwrap_or_else(|_| "cuda".to_owned())
}

/// The printed form of a script's last value on the GPU.
fn on_gpu(code: &str) -> String {
    on(&devices(), code)
}

#[test]
#[ignore = "needs a GPU"]
fn conformance_contiguous() {
    all_on(&devices(), GPU, Laid::Contiguous);
}

#[test]
#[ignore = "needs a GPU"]
fn conformance_transposed() {
    all_on(&devices(), GPU, Laid::Transposed);
}

#[test]
#[ignore = "needs a GPU"]
fn conformance_sliced() {
    all_on(&devices(), GPU, Laid::Sliced);
}

#[test]
#[ignore = "needs a GPU"]
fn conformance_stretched() {
    stretched_on(&devices(), GPU);
}

#[test]
#[ignore = "needs a GPU"]
fn gradients_are_what_finite_differences_say() {
    let machine = machine("cuda");
    let _here = machine.enter();
    ON_GPU.set(true);
    check_all();
    ON_GPU.set(false);
}

/// What a script's events are, without addresses and times; launches in the order of their streams. What libraries work
/// in is left out, and with it what is reserved: on a real GPU they have memory of their own.
fn events(devices: &str, code: &str) -> Vec<String> {
    let machine: Arc<Machine> = machine(devices);
    let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&heard);
    let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
    let subscription = machine.bus().read(reader);
    let mut lab = Interpreter::new(Arc::clone(&machine), Arc::new(Silent), &Limits::default());
    let ran = lab.evaluate(1, &Origin { name: "events", code, first_line: 1 });
    assert!(ran.is_ok(), "{:?}", ran.err());
    drop(lab);
    subscription.turn_page();
    let told = |event: &Event| match &event.body {
        Body::Launch { device, op, kernel, dtype, bytes, flops, span, .. } if device.is_cuda() => {
            assert_eq!(span.clock == Clock::Measured, devices == "cuda");
            Some(format!("{}: {op} {kernel} {dtype} {bytes} {flops}", event.source.line))
        }
        _ => None,
    };
    let mut lent = HashSet::new();
    let memory = |event: &Event| match &event.body {
        Body::Alloc { op, address, .. } if op.ends_with(" workspace") => {
            lent.insert(*address);
            None
        }
        Body::Free { address, .. } if lent.remove(address) => None,
        Body::Alloc { device, bytes, requested, allocated, op, .. } if device.is_cuda() => {
            Some(format!("{}: {op} takes {bytes} {requested}: {allocated}", event.source.line))
        }
        Body::Free { device, bytes, allocated, .. } if device.is_cuda() => {
            Some(format!("{}: gives {bytes}: {allocated}", event.source.line))
        }
        Body::Copy { from, to, bytes, pinned, .. } => {
            Some(format!("{}: {from} to {to}: {bytes} {pinned}", event.source.line))
        }
        _ => None,
    };
    let all = heard.lock().unwrap();
    all.iter().filter_map(told).chain(all.iter().filter_map(memory)).collect()
}

#[test]
#[ignore = "needs a GPU"]
fn its_events_are_those_of_the_simulated_one() {
    let code = include_str!("../../scripts/transfers.rhai");
    let training = "
        manual_seed(1);
        let net = nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)).cuda();
        let opt = optim::Adam(net.parameters());
        for i in 0..3 {
            let x = rand([128, 64]).cuda();
            let y = randint(0, 10, [128], #{device: \"cuda\"});
            let loss = F::cross_entropy(net.forward(x), y);
            opt.zero_grad();
            loss.backward();
            opt.step();
            print(loss.item());
        }";
    for code in [training, code] {
        let (real, simulated) = (events("cuda", code), events("sim:h100", code));
        let differ = real.iter().zip(&simulated).find(|(a, b)| a != b);
        assert_eq!(differ, None);
        assert_eq!(real.len(), simulated.len());
        assert!(real.len() > 20);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn draws_are_those_of_the_simulated_one() {
    let code = "manual_seed(3);
        let d = #{device: \"cuda\"};
        [rand(100000, d).double().sum(), randint(0, 1000, [70000], d).sum(), rand(3_000_000, d)[[2_999_999]],
         bernoulli(zeros(9, d) + 0.3), F::dropout(ones(300000, d), 0.3).double().sum(), rand(7, d)]";
    assert_eq!(on("cuda", code), on("sim:h100", code));
}

#[test]
#[ignore = "needs a GPU"]
fn draws_are_pytorchs_on_such_a_device() {
    draws_as_recorded(&devices());
    draws_of_any_size(&devices());
}

#[test]
#[ignore = "needs a GPU"]
fn a_pinned_copy_under_way_keeps_its_memory() {
    let code = "
        let all = [];
        for i in 0..40 {
            let block = full([1 << 20], i.to_float()).pin_memory();
            all.push(block.to(\"cuda\", #{non_blocking: true}));
            block = ();
        }
        let right = true;
        for i in 0..40 { right = right && (all[i] == i.to_float()).all().item(); }
        right";
    assert_eq!(on("cuda", code), "true");
}

#[test]
#[ignore = "needs a GPU"]
fn events_and_streams_measure_and_order_work() {
    let code = "
        let a = rand([4096, 4096], #{device: \"cuda\"});
        let start = cuda::Event(#{enable_timing: true});
        let end = cuda::Event(#{enable_timing: true});
        a.matmul(a);
        cuda::synchronize();
        start.record();
        let b = a.matmul(a);
        end.record();
        end.synchronize();
        let alone = start.elapsed_time(end);
        let side = cuda::Stream();
        let done = cuda::Event();
        let c = ();
        side.wait_stream(cuda::current_stream());
        with cuda::stream(side) { c = a.matmul(a); done.record(); }
        cuda::current_stream().wait_event(done);
        [alone > 0.5, alone < 50.0, allclose(b, c), end.query()]";
    assert_eq!(on("cuda", code), "[true, true, true, true]");
}

#[test]
#[ignore = "needs a GPU"]
fn out_of_memory_is_an_error_that_leaves_the_device_usable() {
    let fault = fault("cuda", "let x = empty([1 << 45], #{dtype: uint8, device: \"cuda\"});");
    assert_eq!(fault.kind, "OutOfMemoryError");
    assert!(
        fault.message.starts_with("CUDA out of memory. Tried to allocate 32768.00 GiB. GPU 0"),
        "{}",
        fault.message
    );
    let code = "
        let said = \"\";
        try { empty([1 << 45], #{dtype: uint8, device: \"cuda\"}); } catch (e) { said = e.kind; }
        [said, ones(3, #{device: \"cuda\"}).sum().item()]";
    assert_eq!(on("cuda", code), "[\"OutOfMemoryError\", 3.0]");
}

#[test]
#[ignore = "needs a GPU"]
fn training_follows_the_cpu() {
    let code = |device: &str| {
        format!(
            "manual_seed(5);
             let net = nn::Sequential(nn::Linear(20, 32), nn::ReLU(), nn::LayerNorm(32), nn::Linear(32, 5));
             net.to(\"{device}\");
             let opt = optim::AdamW(net.parameters(), #{{lr: 0.01}});
             let x = randn([64, 20]).to(\"{device}\");
             let y = randint(0, 5, [64]).to(\"{device}\");
             let all = [];
             for i in 0..20 {{
                 let loss = F::cross_entropy(net.forward(x), y);
                 opt.zero_grad();
                 loss.backward();
                 opt.step();
                 all.push(loss.item());
             }}
             all"
        )
    };
    let losses = |device: &str| -> Vec<f64> {
        let shown = on(if device == "cpu" { "cpu" } else { "cuda" }, &code(device));
        shown.trim_matches(['[', ']']).split(", ").map(|v| v.parse().unwrap()).collect()
    };
    for (real, cpu) in losses("cuda").iter().zip(losses("cpu")) {
        assert!((real - cpu).abs() <= 1e-4 * cpu.abs(), "{real} {cpu}");
    }
}
