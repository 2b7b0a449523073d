//! Faults, full memory, interrupts, and work of several streams and threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tensorlab::script::{Interpreter, Limits, Origin, Silent};

use super::{devices, on_gpu};
use crate::parallel::machine;

/// The process's context is lost: this test is alone in its process.
#[test]
#[ignore = "needs a GPU"]
fn a_fault_is_told_as_such_by_all_that_follows() {
    let code = "
        let x = rand([4096, 4096], #{device: \"cuda\"});
        x.matmul(x);
        let said = [];
        let attempt = |work| try { work.call(); said.push(\"nothing\"); } catch (e) { said.push(`${e.kind}: ${e.message.split(\"\\n\")[0]}`); };
        attempt.call(|| { x.index_select(0, tensor([1 << 40]).cuda()); cuda::synchronize(); });
        attempt.call(|| zeros([1 << 28], #{device: \"cuda\"}));
        attempt.call(|| x.matmul(x));
        attempt.call(|| F::conv2d(x.view([1, 1, 4096, 4096]), x[0][0..9].view([1, 1, 3, 3])));
        attempt.call(|| x.sum().item());
        said";
    let said = on_gpu(code);
    println!("{said}");
    let told = said.split_once("DeviceError: CUDA error: ").and_then(|(_, rest)| rest.split_once('"'));
    let (told, _) = told.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(said.matches(told).count(), 5, "{said}");
}

#[test]
#[ignore = "needs a GPU"]
fn memory_that_the_cache_keeps_makes_room_for_what_libraries_need() {
    let code = "
        let keep = [];
        let fill = |bytes| { try { loop { keep.push(empty([bytes], #{dtype: uint8, device: \"cuda\"})); } } catch {} };
        fill.call(4 << 30); fill.call(256 << 20); fill.call(32 << 20); fill.call(2 << 20);
        let held = keep.len();
        keep = ();
        let said = [];
        let attempt = |work| try { said.push(work.call()); } catch (e) { said.push(e.message); };
        attempt.call(|| ones([1 << 20], #{device: \"cuda\"}).sum().item());
        attempt.call(|| { let s = cuda::Stream(); with cuda::stream(s) { ones([1 << 20], #{device: \"cuda\"}).sum().item() } });
        attempt.call(|| ones([64, 64], #{device: \"cuda\"}).matmul(ones([64, 64], #{device: \"cuda\"})).sum().item());
        attempt.call(|| F::conv2d(ones([4, 8, 32, 32], #{device: \"cuda\"}), ones([8, 8, 3, 3], #{device: \"cuda\"})).max().item());
        [held > 10, said]";
    assert_eq!(on_gpu(code), "[true, [1048576.0, 1048576.0, 262144.0, 72.0]]");
}

#[test]
#[ignore = "needs a GPU"]
fn an_interrupt_is_heard_behind_a_long_queue() {
    let machine = machine(&devices());
    let mut lab = Interpreter::new(Arc::clone(&machine), Arc::new(Silent), &Limits::default());
    let start = "let a = rand([8192, 8192], #{device: \"cuda\"}); matmul::allow_tf32(false); a.matmul(a); cuda::synchronize();";
    assert!(lab.evaluate(1, &Origin { name: "test", code: start, first_line: 1 }).is_ok());
    let interrupter = std::thread::spawn(move || {
        // The anchor of the device's clock is old by then.
        std::thread::sleep(Duration::from_millis(2600));
        machine.shared.cancel.interrupt();
        Instant::now()
    });
    let code = "for i in 0..200 { for j in 0..4 { a.matmul(a); } } cuda::synchronize();";
    let ended = lab.evaluate(2, &Origin { name: "test", code, first_line: 1 });
    let end = Instant::now();
    let asked = interrupter.join().unwrap();
    assert!(ended.is_err(), "the queue was over too soon");
    let late = end.saturating_duration_since(asked);
    println!("the interrupt took {late:?}");
    assert!(late < Duration::from_millis(300), "{late:?}");
}

#[test]
#[ignore = "needs a GPU"]
fn backward_runs_on_the_streams_of_its_forward() {
    let code = "
        manual_seed(1);
        let x = rand([2048, 2048], #{device: \"cuda\"});
        let work = |x| { let y = x; for i in 0..6 { y = (y.matmul(x) / 1024.0).tanh(); } y.exp().square().mean() };
        let plain = x.clone().requires_grad_();
        work.call(plain).backward();
        let right = true;
        for i in 0..10 {
            let s = cuda::Stream();
            let leaf = x.clone().requires_grad_();
            s.wait_stream(cuda::current_stream());
            let loss = ();
            with cuda::stream(s) { loss = work.call(leaf); }
            loss.backward();
            right = right && allclose(leaf.grad, plain.grad, #{rtol: 1e-3, atol: 1e-6});
            loss = ();
            with cuda::stream(s) { for j in 0..4 { rand([2048, 2048], #{device: \"cuda\"}); } }
        }
        right";
    assert_eq!(on_gpu(code), "true");
}

#[test]
#[ignore = "needs a GPU"]
fn loaders_feed_the_device_from_their_own_threads() {
    let code = "
        let set = data::Dataset(4000, |i| full([64], i.to_float()));
        let loader = data::DataLoader(set, #{batch_size: 40, num_workers: 4, pin_memory: true});
        let sum = zeros([], #{device: \"cuda\", dtype: float64});
        for b in loader { sum += b.to(\"cuda\", #{non_blocking: true}).double().sum(); }
        sum.item()";
    assert_eq!(on_gpu(code), "511872000.0");
}

#[test]
#[ignore = "needs a GPU"]
fn a_graph_of_a_training_step_is_the_step() {
    let code = "
        manual_seed(7);
        let made = || nn::Sequential(nn::Linear(32, 64), nn::ReLU(), nn::Linear(64, 8)).cuda();
        let nets = [made.call(), made.call()];
        nets[1].load_state_dict(nets[0].state_dict());
        let x = rand([128, 32]).cuda();
        let y = randint(0, 8, [128], #{device: \"cuda\"});
        let opts = nets.map(|net| optim::SGD(net.parameters(), #{lr: 0.1}));
        let step = |i| {
            let loss = F::cross_entropy(nets[i].forward(x), y);
            opts[i].zero_grad(#{set_to_none: false});
            loss.backward();
            opts[i].step();
            loss
        };
        for i in 0..2 { for k in 0..3 { step.call(i); } }
        let graph = cuda::graph(|| step.call(1));
        for k in 0..200 { step.call(0); graph.replay(); }
        let close = true;
        let want = nets[0].parameters();
        let got = nets[1].parameters();
        for i in 0..want.len() { close = close && allclose(got[i], want[i], #{rtol: 1e-4, atol: 1e-5}); }
        close";
    assert_eq!(on_gpu(code), "true");
}
