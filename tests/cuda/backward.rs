//! Streams of the backward pass: PyTorch's "Stream semantics of backward passes".

use std::sync::{Arc, Mutex};

use tensorlab::base::event::{Body, Page};

use super::on;
use crate::parallel::{evaluate, machine};
use crate::races::{none, races};

/// The operations and streams of the launches in a line.
fn launches(code: &str, line: u32) -> Vec<(String, u32)> {
    let machine = machine("sim:t4x2");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let subscription = machine.bus().read(Arc::new(move |page: &Page| {
        let launches = page.iter().filter_map(|event| match &event.body {
            Body::Launch { op, stream, .. } if event.source.line == line => Some((op.to_string(), *stream)),
            _ => None,
        });
        sink.lock().unwrap().extend(launches);
    }));
    let _keeps = evaluate(&machine, code).unwrap_or_else(|f| panic!("{}", f.report));
    drop(subscription);
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn each_rule_runs_on_the_stream_of_its_operation() {
    let code = "let s = cuda::Stream(); let c = cuda::current_stream(); let w = ones([8, 8], #{device: \"cuda\", requires_grad: true});
s.wait_stream(c);
let h = w.sin();
s.wait_stream(c);
let y = with cuda::stream(s) { h.exp() };
c.wait_stream(s);
let loss = y.sum();
loss.backward();";
    let ran = launches(code, 8);
    let of = |op: &str| ran.iter().find(|(name, _)| name == op).map(|(_, stream)| *stream);
    assert_eq!((of("ones_like"), of("mul"), of("grad_sin")), (Some(0), Some(1), Some(0)), "{ran:?}");
}

/// Values are those of one stream; what joins the branches waits for both.
#[test]
fn branches_on_streams_of_their_own() {
    let code = |streams: bool| {
        let on = |i: usize, code: &str| match streams {
            true => format!("(with cuda::stream(all[{i}]) {{ {code} }})"),
            false => format!("({code})"),
        };
        let (a, b) = (on(0, "(x @ w).tanh()"), on(1, "(x * w).exp() * v"));
        format!(
            "manual_seed(0); let all = [cuda::Stream(), cuda::Stream()]; let c = cuda::current_stream();
             let x = rand([8, 8], #{{device: \"cuda\"}}); let v = rand([8, 8], #{{device: \"cuda\", requires_grad: true}});
             let w = rand([8, 8], #{{device: \"cuda\", requires_grad: true}});
             for i in 0..3 {{
                 for s in all {{ s.wait_stream(c); }}
                 let a = {a}; let b = {b};
                 for s in all {{ c.wait_stream(s); }}
                 let loss = (a + b).sum(); loss.backward(#{{retain_graph: true}});
                 let both = autograd::grad((a * 2.0).sum(), w);
             }}
             [w.grad.double().sum().item(), v.grad.double().sum().item()]"
        )
    };
    assert_eq!(on("sim:t4", &code(true)), on("sim:t4", &code(false)));
    none(&code(true));
}

/// The forms that PyTorch's notes call safe, and those they call unsafe.
#[test]
fn the_callers_stream_is_ordered_behind_the_pass() {
    let with = |body: &str| {
        format!(
            "let w = ones([8, 8], #{{device: \"cuda\", requires_grad: true}}); s.wait_stream(c);
             let loss = with cuda::stream(s) {{ (w * w).sum() }};\n{body}\ncuda::synchronize();"
        )
    };
    for safe in [
        "loss.backward(); w.grad.add_(1.0);",
        "with cuda::stream(s) { loss.backward(); w.grad.add_(1.0); }",
        "with cuda::stream(s) { loss.backward(); } c.wait_stream(s); w.grad.add_(1.0);",
        "with cuda::stream(s) { loss.backward(ones_like(loss)); }",
        "let g = ones([], #{device: \"cuda\"}); s.wait_stream(c); with cuda::stream(s) { loss.backward(g); }",
        "let g = ones([], #{device: \"cuda\"}); loss.backward(g); w.grad.sum().item();",
        "let g = autograd::grad(loss, w)[0]; g.add_(1.0);",
        "let other = cuda::Stream(); with cuda::stream(other) { loss.backward(); w.grad.add_(1.0); }",
        "w.register_hook(|g| g * 2.0); loss.backward(); w.grad.add_(1.0);",
    ] {
        none(&with(safe));
    }
    for unsafe_one in [
        "with cuda::stream(s) { loss.backward(); } w.grad.add_(1.0);",
        "let g = ones([], #{device: \"cuda\"}); with cuda::stream(s) { loss.backward(g); }",
    ] {
        assert!(!races(&with(unsafe_one)).is_empty(), "{unsafe_one}");
    }
}

#[test]
fn every_kind_of_pass_orders_its_streams() {
    let begin = "let w = rand([8, 8], #{device: \"cuda\", requires_grad: true}); let v = rand([8, 8], #{device: \"cuda\", requires_grad: true}); s.wait_stream(c);";
    for pass in [
        // A leaf that two streams use.
        "let a = (w * v).sin(); let b = with cuda::stream(s) { (w * v).cos() }; c.wait_stream(s); (a + b).sum().backward(); w.grad.add_(1.0);",
        "let b = with cuda::stream(s) { (w * v).cos() }; let a = (w * v).sin(); c.wait_stream(s); w.register_hook(|g| g + g); (a + b).sum().backward(); w.grad.add_(1.0);",
        // Kept gradients, second derivatives, a graph that is used twice.
        "let a = w * v; a.retain_grad(); s.wait_stream(c); let b = with cuda::stream(s) { let b = a.cos(); b.retain_grad(); b }; c.wait_stream(s); b.sum().backward(); a.grad.add_(1.0); b.grad.add_(1.0);",
        "let b = with cuda::stream(s) { (w * v).cos().sum() }; c.wait_stream(s); let g = autograd::grad(b, w, #{create_graph: true})[0]; g.sum().backward(); w.grad.add_(1.0);",
        "let b = with cuda::stream(s) { (w * v).cos().sum() }; c.wait_stream(s); b.backward(#{retain_graph: true}); b.backward(); w.grad.add_(1.0);",
        // Computed again.
        "let b = with cuda::stream(s) { checkpoint(|x| (x * v).cos(), w) }; c.wait_stream(s); b.sum().backward(); w.grad.add_(1.0);",
        // Over two devices.
        "let b = with cuda::stream(s) { (w * v).cos() }; c.wait_stream(s); let far = b.to(\"cuda:1\"); let t = cuda::Stream(1); t.wait_stream(cuda::current_stream(1));
         let d = with cuda::stream(t) { far.exp() }; cuda::current_stream(1).wait_stream(t); d.to(\"cuda:0\").sum().backward(); w.grad.add_(1.0);",
        "let b = with cuda::stream(s) { (w * v).cos() }; c.wait_stream(s); b.cpu().sum().backward(); w.grad.add_(1.0);",
    ] {
        none(&format!("{begin} {pass} cuda::synchronize();"));
    }
}

/// What a rule saved goes once it has run: its memory, of another stream, is not given out before that stream is past it.
#[test]
fn saved_memory_of_another_stream_is_not_freed_too_early() {
    let code = |stream: &str| {
        format!(
            "let s = cuda::Stream(); let c = cuda::current_stream();
             let w = ones([1 << 20], #{{device: \"cuda\", requires_grad: true}});
             let h = w * 1.0; let at = h.data_ptr(); s.wait_stream(c);
             let big = zeros([8 << 20], #{{device: \"cuda\"}}); cuda::synchronize();
             let y = with cuda::stream({stream}) {{ h * h }};
             c.wait_stream(s);
             let loss = y.sum(); drop(y); drop(h);
             cuda::synchronize();
             with cuda::stream({stream}) {{ big.add_(1.0); }}
             loss.backward();
             let four = || [1, 2, 3, 4].map(|i| ones([1 << 20], #{{device: \"cuda\"}}));
             let early = four.call(); early = w.grad.data_ptr() == at || early.some(|t| t.data_ptr() == at);
             cuda::synchronize();
             [early, early || four.call().some(|t| t.data_ptr() == at)]"
        )
    };
    assert_eq!(on("sim:t4", &code("c")), "[true, true]");
    assert_eq!(on("sim:t4", &code("s")), "[false, true]");
    let kept = "let w = ones([64, 64], #{device: \"cuda\", requires_grad: true}); let h = w * 1.0; s.wait_stream(c);
        let y = with cuda::stream(s) { h * h }; drop(h); c.wait_stream(s); let loss = y.sum(); loss.backward();
        let z = ones([64, 64], #{device: \"cuda\"}); cuda::synchronize();";
    none(kept);
}

/// Training where the forward pass runs on a side stream, and the optimiser on the current one.
#[test]
fn a_training_loop_on_a_side_stream_is_told_of_nothing() {
    none("let net = nn::Sequential(nn::Linear(64, 16), nn::ReLU(), nn::Linear(16, 4)).cuda(); let opt = optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.9});
        for i in 0..4 {
            s.wait_stream(c);
            let loss = with cuda::stream(s) { net.forward(x).square().sum() };
            c.wait_stream(s);
            loss.backward();
            opt.step(); opt.zero_grad();
        }");
}
