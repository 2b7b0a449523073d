//! Several devices: `parallel::` and `nn::DataParallel` on simulated GPUs.

use std::sync::Arc;

use rhai::Dynamic;
use tensorlab::base::event::{Body, Event, Page};
use tensorlab::device::{Machine, Use};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Fault, Interpreter, Limits, Origin, Silent};

pub fn machine(devices: &str) -> Arc<Machine> {
    Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine
}

pub fn evaluate(machine: &Arc<Machine>, code: &str) -> Result<(Interpreter, Dynamic), Box<Fault>> {
    let mut interpreter = Interpreter::new(Arc::clone(machine), Arc::new(Silent), &Limits::default());
    match interpreter.evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
        Ok(value) => Ok((interpreter, value)),
        Err(Stopped::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other:?}"),
    }
}

/// The printed form of a script's last value.
pub fn on(devices: &str, code: &str) -> String {
    let (interpreter, value) = evaluate(&machine(devices), code).unwrap_or_else(|f| panic!("{}", f.report));
    interpreter.show(&value).unwrap()
}

pub fn fault(devices: &str, code: &str) -> Box<Fault> {
    evaluate(&machine(devices), code).err().expect("nothing failed")
}

#[test]
fn every_example_of_this_layer_prints_what_it_says() {
    for def in tensorlab::parallel::table() {
        let (code, shown) = def.example;
        assert_eq!(on("sim:t4x2", code), shown, "{}", def.name);
    }
}

/// A step of training on `count` devices: the loss and all gradients.
fn step(devices: &str, parallel: bool) -> Vec<f64> {
    let wrap = if parallel { "nn::DataParallel(net)" } else { "net" };
    let code = format!(
        "manual_seed(3);
         let net = nn::Sequential(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 2)).cuda();
         let x = arange(28, #{{dtype: float32}}).reshape([7, 4]).sin().cuda();
         let y = arange(14, #{{dtype: float32}}).reshape([7, 2]).cos().cuda();
         let out = {wrap}.forward(x);
         let loss = F::mse_loss(out, y);
         loss.backward();
         let all = [loss.item()];
         for p in net.parameters() {{ all += p.grad.double().flatten().tolist(); }}
         all"
    );
    let shown = on(devices, &code);
    shown.trim_matches(['[', ']']).split(", ").map(|v| v.parse().unwrap()).collect()
}

#[test]
fn losses_and_gradients_are_those_of_one_device() {
    let one = step("sim:t4", false);
    for devices in ["sim:t4", "sim:t4x2", "sim:t4x3", "sim:t4,h100", "sim:t4x8"] {
        let many = step(devices, true);
        assert_eq!(many.len(), 1 + 8 * 4 + 8 + 2 * 8 + 2);
        for (a, b) in many.iter().zip(&one) {
            assert!((a - b).abs() <= 1e-6 * (0.1 + b.abs()), "{devices}: {a} instead of {b}");
        }
    }
}

#[test]
fn gradients_and_running_statistics_reach_the_original_on_the_first_device() {
    let code = "
        let net = nn::Sequential(nn::BatchNorm1d(3), nn::Linear(3, 1)).cuda();
        let before = net[0].running_mean.clone();
        let dp = nn::DataParallel(net);
        dp.forward(arange(12, #{dtype: float32}).reshape([4, 3])).sum().backward();
        [net[1].weight.grad.device.index, net[1].weight.is_leaf, net[0].running_mean.tolist(),
         dp.module[1].weight is net[1].weight, net[0].num_batches_tracked.item()]";
    // The first device saw the rows 0 and 1: a tenth of their mean.
    assert_eq!(on("sim:t4x2", code), "[0, true, [0.15000000596046448, 0.25, 0.3499999940395355], true, 1]");
}

#[test]
fn arrays_maps_and_numbers_go_in_and_out() {
    let code = "
        let net = nn::module(#{fc: nn::Linear(2, 3)}, |self, x, scale| {
            #{mean: self.fc.forward(x.a).mean(), pair: [x.b[0] * scale, cuda::current_device() + x.b[0] * 0]}
        }).cuda();
        let dp = nn::DataParallel(net, #{output_device: \"cuda:1\"});
        let out = dp.forward(#{a: ones([5, 2]), b: [arange(5)]}, 10);
        [out.mean.shape, out.mean.device.index, out.pair[0].tolist(), out.pair[1].tolist(), cuda::current_device()]";
    assert_eq!(on("sim:t4x2", code), "[[2], 1, [0, 10, 20, 30, 40], [0, 0, 0, 1, 1], 0]");
}

#[test]
fn a_small_batch_uses_fewer_devices() {
    let code = "
        let net = nn::DataParallel(nn::Linear(2, 1).cuda());
        let happened = telemetry::record(|| net.forward(ones([2, 2])));
        [parallel::scatter(ones([2, 2]), [0, 1, 2, 3]).len(), net.forward(ones([2, 2])).shape, net.device_ids]";
    assert_eq!(on("sim:t4x4", code), "[2, [2, 1], [0, 1, 2, 3]]");
}

#[test]
fn another_dimension_may_be_the_batch() {
    let code = "
        let net = nn::module(#{}, |self, x| x * 2);
        let x = arange(12).reshape([2, 6]).cuda();
        let y = nn::DataParallel(net, #{dim: 1}).forward(x);
        [y.equal(x * 2), parallel::scatter(x, [0, 1], 1).map(|p| p.shape)]";
    assert_eq!(on("sim:t4x2", code), "[true, [[2, 3], [2, 3]]]");
}

#[test]
fn without_gradients_nothing_is_recorded() {
    let code = "
        let net = nn::DataParallel(nn::Linear(2, 1).cuda());
        let y = (); with no_grad() { y = net.forward(ones([4, 2])); };
        [y.requires_grad, net.forward(ones([4, 2])).requires_grad]";
    assert_eq!(on("sim:t4x2", code), "[false, true]");
}

#[test]
fn a_wrapped_network_stands_in_others_and_keeps_its_names() {
    let code = "
        let inner = nn::DataParallel(nn::Linear(3, 3).cuda());
        let net = nn::Sequential(inner, nn::ReLU());
        [net.forward(ones([4, 3])).shape, net.state_dict().keys(), inner.eval().training]";
    assert_eq!(on("sim:t4x2", code), r#"[[4, 3], ["0.module.bias", "0.module.weight"], false]"#);
}

#[test]
fn without_gpus_the_module_runs_as_it_is() {
    let code =
        "let net = nn::DataParallel(nn::Linear(3, 2)); [net.forward(ones([4, 3])).shape, net.device_ids]";
    assert_eq!(on("cpu", code), "[[4, 2], []]");
}

#[test]
fn replicas_share_the_graph_unless_detached() {
    let code = "
        let net = nn::Linear(2, 1).cuda();
        let r = parallel::replicate(net, [0, 1]);
        let y = r[0].forward(ones([1, 2]).cuda(0)).cpu() + 3 * r[1].forward(ones([1, 2]).cuda(1)).cpu();
        y.sum().backward();
        let d = parallel::replicate(net, [0, 1], #{detach: true});
        [net.weight.grad.tolist(), r[1].weight.is_leaf, d[1].weight.requires_grad,
         r[0].weight.data_ptr() == net.weight.data_ptr()]";
    assert_eq!(on("sim:t4x2", code), "[[[4.0, 4.0]], false, false, true]");
}

#[test]
fn gathered_and_scattered_tensors_have_gradients() {
    let code = "
        let x = arange(5, #{dtype: float32}).requires_grad_(true);
        let parts = parallel::scatter(x, [0, 1]);
        let y = parallel::gather([parts[0] * 2, parts[1] * 3], \"cpu\");
        y.sum().backward();
        let n = parallel::gather([parts[0].sum(), parts[1].sum()], 1);
        [x.grad.tolist(), y.device.type, n.tolist(), n.device.index]";
    assert_eq!(on("sim:t4x2", code), r#"[[2.0, 2.0, 2.0, 3.0, 3.0], "cpu", [3.0, 7.0], 1]"#);
}

#[test]
fn a_tensor_that_is_there_is_not_copied() {
    let code = "
        let x = ones([4]).cuda(1);
        let all = parallel::broadcast(x, [0, 1]);
        [all[1] is x, parallel::reduce_add(all, 1).tolist(), parallel::reduce_add([x], 1) is x]";
    assert_eq!(on("sim:t4x2", code), "[true, [2.0, 2.0, 2.0, 2.0], true]");
}

/// (script, kind, the message's beginning)
const FAULTS: [(&str, &str, &str); 12] = [
    (
        "nn::DataParallel(nn::Linear(2, 2)).forward(ones([2, 2]))",
        "RuntimeError",
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on \
         device: cpu",
    ),
    (
        "nn::DataParallel(nn::Linear(2, 2).cuda(), [1, 0]).forward(ones([2, 2]))",
        "RuntimeError",
        "module must have its parameters and buffers on device cuda:1 (device_ids[0]) but found one of them on \
         device: cuda:0",
    ),
    ("nn::DataParallel(nn::Linear(2, 2), [0, 7])", "AssertionError", "Invalid device id"),
    ("nn::DataParallel(nn::Linear(2, 2), [])", "IndexError", "list index out of range"),
    (
        "nn::DataParallel(nn::Linear(2, 2), #{device_id: [0]})",
        "TypeError",
        "DataParallel() got an unknown option 'device_id'",
    ),
    ("nn::DataParallel(3)", "TypeError", "DataParallel() takes a module, not int"),
    (
        "nn::DataParallel(nn::Linear(3, 2).cuda()).forward(ones([4, 2]))",
        "RuntimeError",
        "Caught RuntimeError in replica 0 on device 0.\n",
    ),
    ("parallel::scatter(ones([2]), [\"cpu\"])", "ValueError", "Expected a cuda device, but got: cpu"),
    ("parallel::gather([ones([2])], 0)", "AssertionError", "Gather function not implemented for CPU tensors"),
    (
        "parallel::gather([ones([2, 2]).cuda(0), ones([2, 3]).cuda(1)], 0)",
        "RuntimeError",
        "Gather got an input of invalid size: got [2, 3], but expected [2, 2]",
    ),
    (
        "parallel::reduce_add([ones([2]).cuda(1), ones([2, 3]).cuda(1)], 1)",
        "ValueError",
        "input 1 has invalid size: got 2x3, but expected 2",
    ),
    (
        "parallel::reduce_add([ones([2]).cuda(1)], 0)",
        "RuntimeError",
        "reduce_add expects destination to be on the same GPU with one of the tensors",
    ),
];

#[test]
fn mistakes_have_pytorchs_texts() {
    for (code, kind, text) in FAULTS {
        let fault = fault("sim:t4x2", code);
        assert_eq!(fault.kind, kind, "{code}: {}", fault.report);
        assert!(fault.message.contains(text), "{code}: {}", fault.report);
    }
}

#[test]
fn a_script_written_module_keeps_the_place_of_its_error() {
    let code = "let net = nn::module(#{}, |self, x| {\n  let y = x.reshape([7]);\n  y });\nnn::DataParallel(net).forward(ones([4]))";
    let fault = fault("sim:t4x2", code);
    assert_eq!(fault.line, Some(2), "{}", fault.report);
    assert!(fault.message.contains("shape '[7]' is invalid for input of size 2"), "{}", fault.report);
}

/// The kernels of two devices overlap on the virtual clock.
#[test]
fn devices_work_at_the_same_time() {
    let machine = machine("sim:t4x2");
    let events: Arc<std::sync::Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&events);
    let code =
        "let net = nn::DataParallel(nn::Linear(512, 512).cuda()); net.forward(ones([4096, 512]).cuda());";
    let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
    let subscription = machine.bus().read(reader);
    assert!(evaluate(&machine, code).is_ok());
    drop(subscription);
    let products: Vec<(usize, u64, u64)> = events
        .lock()
        .unwrap()
        .iter()
        .filter_map(|e| match &e.body {
            Body::Launch { device, kernel, span, .. } if kernel == "matmul" => {
                Some((device.index(), span.start, span.end()))
            }
            _ => None,
        })
        .collect();
    let [(0, start, end), (1, other, _)] = products[..] else { panic!("{products:?}") };
    assert!(start <= other && other < end, "{products:?}");
}

#[test]
fn a_network_crosses_in_one_copy_a_bucket_and_trains_as_before() {
    let copies = |net: &str| {
        let code = format!(
            "let net = {net}.cuda();
            let copies = telemetry::record(|| {{ parallel::replicate(net, [0, 1]); }}).d2d;
            [copies.count, copies.bytes == sum(net.parameters().map(|p| p.nbytes))]"
        );
        on("sim:t4x2", &code)
    };
    let six = "nn::Sequential(nn::Linear(64, 64), nn::Linear(64, 64), nn::Linear(64, 64), nn::Linear(64, 64), nn::Linear(64, 64), nn::Linear(64, 64))";
    assert_eq!(copies(six), "[1, true]");
    // 16 MiB and 4 KiB, 16 MiB and 4 KiB.
    assert_eq!(copies("nn::Sequential(nn::Linear(2048, 2048), nn::Linear(2048, 2048))"), "[3, true]");
    // Running statistics are float32, their count is int64.
    let both = "let net = nn::Sequential(nn::Linear(4, 4), nn::BatchNorm1d(4)).cuda();
        telemetry::record(|| { parallel::replicate(net, [0, 1]); }).d2d.count";
    assert_eq!(on("sim:t4x2", both), "3");
    let gradients = |wrap: &str| {
        let code = format!(
            "manual_seed(3); let net = nn::Sequential(nn::Linear(6, 5), nn::Tanh(), nn::Linear(5, 3)).cuda();
            let x = rand([8, 6]).cuda();
            {wrap}.forward(x).pow(2).sum().backward();
            net.parameters().map(|p| round(p.grad.double().sum().item(), 4))"
        );
        on("sim:t4x2", &code)
    };
    assert_eq!(gradients("nn::DataParallel(net)"), gradients("net"));
}

#[test]
fn the_middle_step_can_be_made_by_itself() {
    let code = "manual_seed(1); let net = nn::Sequential(nn::Linear(4, 3), nn::ReLU()).cuda(); let x = rand([6, 4]).cuda();
        let nets = parallel::replicate(net, [0, 1]);
        let parts = parallel::scatter(x, [0, 1]);
        let seen = telemetry::record(|| { parts = parallel::parallel_apply(nets, parts); });
        [parts[1].device.index, seen.waits.len(), parallel::gather(parts, 0).equal(nn::DataParallel(net).forward(x)), \
         cuda::current_device()]";
    assert_eq!(on("sim:t4x2", code), "[1, 0, true, 0]");
    let both = "parallel::parallel_apply([nn::module(#{}, |self, a, b| a + b)], [[ones(1), ones(1)]])";
    assert_eq!(on("cpu", both), "[tensor([2.])]");
    let place = "let place = nn::module(#{}, |self, a| a + cuda::current_device());
        parallel::parallel_apply([place, place], [zeros(1).to(1), ones(1).to(1)], #{devices: [1, 0]})";
    assert_eq!(on("sim:t4x2", place), "[tensor([1.], device='cuda:1'), tensor([1.], device='cuda:1')]");
    for (code, text) in [
        ("parallel::parallel_apply([nn::ReLU()], [])", "there are 1 modules, and 0 inputs"),
        ("parallel::parallel_apply([3], [ones(1)])", "modules[0] is int"),
        ("parallel::parallel_apply(nn::ReLU(), [ones(1)])", "modules is an array"),
    ] {
        assert!(fault("cpu", code).message.contains(text), "{code}");
    }
}
