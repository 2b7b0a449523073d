//! Layers over sequences by the kernels that take a step, beside the functions that a step is made of.

use super::Lab;

/// float64 goes step by step, so that it tells what float32 must give.
#[test]
fn an_lstm_by_its_kernels_is_the_one_that_goes_step_by_step() {
    let mut lab = Lab::new();
    lab.run(
        "fn far(a, b) { (a.to(float64) - b).abs().max().item() / (0.001 + b.abs().max().item()) }
         fn loss(out) { out[0].square().sum() + out[1][1].sum() * 3.0 + (out[1][0] * 2.0).sin().sum() }",
    );
    for (sizes, shape, options) in [
        ("3, 4", "[5, 2, 3]", "#{}"),
        ("3, 4", "[6, 3]", "#{bias: false}"),
        ("5, 33", "[7, 70, 5]", "#{num_layers: 2, bidirectional: true}"),
        ("5, 16", "[1, 9, 5]", "#{num_layers: 3, batch_first: true, bias: false}"),
    ] {
        lab.run(&format!(
            "manual_seed(3);
             let layer = nn::LSTM({sizes}, {options});
             let exact = nn::LSTM({sizes}, {options}); exact.load_state_dict(layer.state_dict()); exact.to(float64);
             let x = rand({shape}).requires_grad_();
             let y = x.detach().to(float64).requires_grad_();
             let count = layer.num_layers * if layer.bidirectional {{ 2 }} else {{ 1 }};
             let batch = if x.dim() == 2 {{ [] }} else {{ [if layer.batch_first {{ x.size(0) }} else {{ x.size(1) }}] }};
             let state = [rand([count] + batch + [layer.hidden_size]), rand([count] + batch + [layer.hidden_size])];
             for s in state {{ s.requires_grad_(); }}
             let states = [state[0].detach().to(float64).requires_grad_(), state[1].detach().to(float64).requires_grad_()];
             let out = layer.forward(x, state); let want = exact.forward(y, states);
             let least = [far(out[0], want[0]), far(out[1][0], want[1][0]), far(out[1][1], want[1][1])];
             loss(out).backward(); loss(want).backward();
             let all = [x, state[0], state[1]] + layer.parameters(); let alls = [y, states[0], states[1]] + exact.parameters();
             for i in 0..all.len() {{ least.push(far(all[i].grad, alls[i].grad)); all[i].grad = (); alls[i].grad = (); }}
             let options = #{{create_graph: true}};
             let out = layer.forward(x, state); let want = exact.forward(y, states);
             autograd::grad([loss(out)], [x], options)[0].square().sum().backward();
             autograd::grad([loss(want)], [y], options)[0].square().sum().backward();
             for i in 0..all.len() {{ least.push(far(all[i].grad, alls[i].grad)); }}"
        ));
        let most = lab.float("let most = 0.0; for one in least { most = max(most, one); } most");
        assert!(most < 2e-5, "{sizes} {shape} {options}: {most}");
        let ops = |layer: &str, x: &str| {
            format!("telemetry::record(|| {layer}.forward({x}.detach())).work.cpu.ops")
        };
        let fewer = format!("2 * {} < {}", ops("layer", "x"), ops("exact", "y"));
        assert!(lab.truth(&fewer), "{sizes} {shape} {options} goes step by step");
    }
}

#[test]
fn what_lies_behind_the_gradients_that_are_asked_for_is_not_computed() {
    let mut lab = Lab::new();
    lab.run("let x = rand(64).requires_grad_(); let y = x.exp().sin().cos(); let z = y * 2.0;");
    lab.run("let r = telemetry::record(|| autograd::grad([z], [y], #{grad_outputs: [ones(64)], retain_graph: true}));");
    lab.run("let all = telemetry::record(|| autograd::grad([z], [x], #{grad_outputs: [ones(64)], retain_graph: true}));");
    let ops = lab.text("[r.work.cpu.ops, all.work.cpu.ops]");
    assert_eq!(ops, "[1, 4]");
}
