//! Captured graphs.

use super::{fault, mistakes, on};

const NET: &str = "
    fn net() { nn::Sequential(nn::Linear(16, 32), nn::Tanh(), nn::Linear(32, 4)).cuda() }
    fn step(net, opt, x, t) { let l = F::cross_entropy(net.forward(x), t); l.backward(); opt.step(); l }
    manual_seed(0);
    let a = net(); let b = net(); b.load_state_dict(a.state_dict());
    let oa = optim::SGD(a.parameters(), #{lr: 0.3}); let ob = optim::SGD(b.parameters(), #{lr: 0.3});
    let x = randn([8, 16]).cuda(); let t = randint(0, 4, [8]).cuda();
    for i in 0..2 { oa.zero_grad(); step(a, oa, x, t); ob.zero_grad(); step(b, ob, x, t); }
    oa.zero_grad();
";

#[test]
fn a_replayed_training_step_is_the_step() {
    let code = format!(
        "{NET}
        let g = cuda::graph(|| step(a, oa, x, t));
        let losses = [];
        for i in 0..4 {{
            x.copy_(randn([8, 16]).cuda());
            g.replay();
            ob.zero_grad();
            losses += g.result.item() == step(b, ob, x, t).item();
        }}
        [losses, a[0].weight.equal(b[0].weight), g.len() > 10]"
    );
    assert_eq!(on("sim:t4", &code), "[[true, true, true, true], true, true]");
}

#[test]
fn nothing_runs_while_a_graph_is_captured() {
    let code = "
        let x = zeros([4], #{device: \"cuda\"});
        let launches = 0; let g = ();
        let t = telemetry::record(|| { g = cuda::graph(|| { for i in 0..5 { x += 1.0; } }); });
        let before = x.tolist();
        g.replay(); g.replay();
        [t.launches, before, x.tolist(), g.len(), `${g}`]";
    assert_eq!(
        on("sim:t4", code),
        "[0, [0.0, 0.0, 0.0, 0.0], [10.0, 10.0, 10.0, 10.0], 5, \"CUDAGraph(5 launches on cuda:0)\"]"
    );
}

/// The host pays 5 us for a launch, and a little for each step of the script; a graph is one launch.
#[test]
fn a_replay_costs_the_host_one_launch() {
    let code = "
        let x = zeros([4], #{device: \"cuda\"});
        let g = cuda::graph(|| { for i in 0..100 { x += 1.0; } });
        let s = cuda::Stream();
        let host = |f| {
            cuda::synchronize();
            let a = cuda::Event(true); let b = cuda::Event(true);
            // An idle stream reaches its events when the host records them.
            a.record(s); f.call(); b.record(s); cuda::synchronize();
            a.elapsed_time(b)
        };
        let eager = host.call(|| { for i in 0..100 { x += 1.0; } });
        let replayed = host.call(|| g.replay());
        [(eager * 1000.0).round(), (replayed * 1000.0).round()]";
    // Besides the launches one call, the second record, and the steps of the loop.
    assert_eq!(on("sim:t4", code), "[526.0, 7.0]");
}

#[test]
fn every_kernel_of_a_replay_is_an_event() {
    let code = "
        let x = zeros([1024], #{device: \"cuda\"});
        let g = cuda::graph(|| { x += 1.0; x *= 2.0; });
        let t = telemetry::record(|| { g.replay(); g.replay(); });
        [t.launches, t.allocations, x[0].item()]";
    assert_eq!(on("sim:t4", code), "[4, 0, 6.0]");
}

/// Freed blocks serve later requests of the capture, and nobody else while the graph lives.
#[test]
fn a_graph_has_memory_of_its_own() {
    let code = "
        let x = ones([1 << 18], #{device: \"cuda\"});
        let before = cuda::memory_allocated();
        let y = ();
        let g = cuda::graph(|| { y = x; for i in 0..10 { y = y + 1.0; } });
        let held = cuda::memory_allocated() - before;
        let pool = cuda::memory_snapshot().filter(|s| s.segment_pool_id[1] != 0).map(|s| s.total_size);
        y = ();
        cuda::empty_cache();
        let kept = cuda::memory_snapshot().filter(|s| s.segment_pool_id[1] != 0).len();
        let z = zeros([1 << 18], #{device: \"cuda\"});
        g.replay();
        let untouched = z.sum().item();
        g.reset();
        cuda::empty_cache();
        [held, pool, kept, untouched, cuda::memory_snapshot().filter(|s| s.segment_pool_id[1] != 0).len()]";
    // One result of 1 MiB is held, and a second block was used in turn: both fit into one segment of 2 MiB.
    assert_eq!(on("sim:t4", code), "[1048576, [2097152], 1, 0.0, 0]");
}

#[test]
fn a_replay_draws_new_numbers_as_the_program_would() {
    let code = "
        let g = cuda::graph(|| rand([3], #{device: \"cuda\"}) + rand([3], #{device: \"cuda\"}));
        manual_seed(5);
        g.replay(); let one = g.result.clone();
        g.replay(); let two = g.result.clone();
        manual_seed(5);
        let draw = || rand([3], #{device: \"cuda\"}) + rand([3], #{device: \"cuda\"});
        [one.equal(draw.call()), two.equal(draw.call()), one.equal(two)]";
    assert_eq!(on("sim:t4", code), "[true, true, false]");
}

#[test]
fn pinned_copies_are_part_of_a_graph() {
    let code = "
        let host = ones([4]).pin_memory(); let x = zeros([4], #{device: \"cuda\"});
        let g = cuda::graph(|| { x.copy_(host, true); x *= 3.0; });
        g.replay(); let first = x.tolist();
        host.fill_(2.0);
        g.replay();
        [first, x.tolist(), g.len()]";
    assert_eq!(on("sim:t4", code), "[[3.0, 3.0, 3.0, 3.0], [6.0, 6.0, 6.0, 6.0], 2]");
}

#[test]
fn what_needs_the_device_at_once_is_refused() {
    const TEXT: &str = "CUDA error: operation not permitted when stream is capturing\n";
    for body in [
        "x.sum().item()",
        "x.tolist()",
        "x.cpu()",
        "x.copy_(ones([4]))",
        "cuda::synchronize()",
        "cuda::current_stream().synchronize()",
        "let e = cuda::Event(); e.record(); e.query()",
        "cuda::graph(|| x + 1)",
    ] {
        let fault = fault("sim:t4", &format!("let x = ones([4]).cuda();\ncuda::graph(|| {{ {body} }})"));
        assert_eq!(fault.kind, "DeviceError", "{body}: {}", fault.report);
        assert!(fault.message.starts_with(TEXT), "{body}: {}", fault.report);
        assert!(fault.hint.is_some_and(|h| h.contains("before the capture")), "{body}");
    }
    mistakes(
        "sim:t4",
        &[
            (
                "let x = ones([4]).cuda(); cuda::graph(|| { try { x.cpu() } catch (e) { }; x + 1 })",
                "DeviceError",
                "CUDA error: operation failed due to a previous error during capture\n",
            ),
            (
                "let g = cuda::graph(|| ones([4], #{device: \"cuda\"})); g.reset(); g.replay()",
                "RuntimeError",
                "Called CUDAGraph::replay without a preceding successful capture.",
            ),
            (
                "let p = ones([4]).cuda().requires_grad_(true); let o = optim::Adam([p]); p.sum().backward();
                 cuda::graph(|| o.step())",
                "RuntimeError",
                "Attempting CUDA graph capture of step() for an instance of Adam but param_groups' capturable is False.",
            ),
        ],
    );
}

#[test]
fn after_a_failed_capture_work_runs_again() {
    let code = "
        let x = ones([4]).cuda();
        try { cuda::graph(|| { let y = x + 1; y.sum().item() }) } catch (e) { }
        cuda::empty_cache();
        [cuda::is_current_stream_capturing(), (x + 1).tolist(), cuda::memory_reserved()]";
    assert_eq!(on("sim:t4", code), "[false, [2.0, 2.0, 2.0, 2.0], 2097152]");
}

#[test]
fn what_shows_a_tensor_during_a_capture_fails_where_it_does() {
    for shows in [
        "print(a);",
        "debug(a);",
        "print(`a is ${a}`);",
        "let t = `${[a]}`;",
        "let t = \"\" + a;",
        "let t = a + \"\";",
        "let t = \"\"; t += a;",
        "let t = \"\"; t += [a];",
        "let t = \"\" + #{a: a};",
        "print([a]);",
        "print(#{a: a});",
        "let t = a.to_string();",
        "let t = to_debug([[a]]);",
        "display(a);",
    ] {
        let code = format!(
            "let x = rand([4], #{{device: \"cuda\"}});\nlet g = cuda::graph(|| {{\n    let a = x + 1.0;\n    {shows}\n    a.add_(1.0);\n}});"
        );
        let fault = fault("sim:t4", &code);
        assert!(
            fault.message.contains("operation not permitted when stream is capturing"),
            "{shows}: {}",
            fault.report
        );
        assert_eq!(fault.line, Some(4), "{shows}: {}", fault.report);
        assert!(fault.report.contains("do it before the capture"), "{shows}: {}", fault.report);
    }
    let fine = "let x = ones(2, #{device: \"cuda\"}); let c = ones(1);
                let g = cuda::graph(|| { print(c); let t = `${c} ${[c]} ${1} ${\"a\"} ${|x| x} ${x.shape}`; x.add_(1.0); });
                g.replay(); x.cpu()";
    assert_eq!(on("sim:t4", fine), "tensor([2., 2.])");
}

#[test]
fn a_stream_that_joins_a_capture_has_to_be_joined_back() {
    let capture = |body: &str| {
        format!(
            "let x = rand([4, 4], #{{device: \"cuda\"}}); let s = cuda::Stream(); let t = cuda::Stream();
             let m = cuda::current_stream(); with cuda::stream(s) {{ x + 1.0; }}
             let g = cuda::graph(|| {{ let y = x @ x; {body} }}); g.replay(); cuda::synchronize(); \"fine\""
        )
    };
    for open in [
        "s.wait_stream(m); with cuda::stream(s) { y + 1.0; }",
        "s.wait_stream(m); with cuda::stream(s) { y + 1.0; } m.wait_stream(s); with cuda::stream(s) { y + 2.0; }",
        "s.wait_stream(m); t.wait_stream(s); with cuda::stream(t) { y + 1.0; } m.wait_stream(s);",
        "let e = m.record_event(); s.wait_event(e); with cuda::stream(s) { y + 1.0; }",
    ] {
        let fault = fault("sim:t4", &capture(open));
        assert!(fault.message.contains("capturing stream has unjoined work"), "{open}: {}", fault.report);
        assert!(fault.report.contains("wait_stream"), "{open}: {}", fault.report);
    }
    for joined in [
        "y + 1.0;",
        "s.wait_stream(m); with cuda::stream(s) { y + 1.0; } m.wait_stream(s);",
        "s.wait_stream(m);",
        "s.wait_stream(m); t.wait_stream(s); with cuda::stream(t) { y + 1.0; } s.wait_stream(t); m.wait_stream(s);",
        "s.wait_stream(m); with cuda::stream(s) { y + 1.0; } let e = s.record_event(); m.wait_event(e);",
    ] {
        assert_eq!(on("sim:t4", &capture(joined)), "\"fine\"", "{joined}");
    }
}
