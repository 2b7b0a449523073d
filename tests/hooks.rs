//! Hooks on gradients and gradients that computed tensors keep, against what PyTorch does.

use crate::nn::Lab;

#[test]
fn hooks_see_the_whole_gradient_in_their_order_and_may_change_it() {
    Lab::everywhere(|lab| {
        lab.run(
            "let x = leaf([1.0, 2.0]); let y = x * 2; let seen = []; y.retain_grad();
             y.register_hook(|g| seen.push(g.tolist())); y.register_hook(|g| g * 10);
             (y * 3).sum().backward();",
        );
        assert_eq!(lab.text("seen"), "[[3.0, 3.0]]");
        assert_eq!(lab.numbers("y.grad"), [30.0, 30.0]);
        assert_eq!(lab.numbers("x.grad"), [60.0, 60.0]);
        assert!(lab.truth("y.retains_grad && !x.retains_grad"));
        // A leaf's hook runs once, with the sum over all ways to it.
        lab.run("let x = leaf([1.0, 2.0]); let seen = []; x.register_hook(|g| seen.push(g.tolist()));");
        lab.run("(x * 2 + x * 3).sum().backward();");
        assert_eq!(lab.text("seen"), "[[5.0, 5.0]]");
        assert_eq!(lab.numbers("x.grad"), [5.0, 5.0]);
    });
}

#[test]
fn hooks_run_as_soon_as_their_gradient_is_whole() {
    Lab::everywhere(|lab| {
        lab.run(
            "let w1 = leaf([1.0]); let w2 = leaf([1.0]); let seen = [];
             w1.register_hook(|g| seen.push(\"w1\")); w2.register_hook(|g| seen.push(\"w2\"));
             let a = w1 * 1; a.register_hook(|g| seen.push(\"a\"));
             let b = a * w2; b.register_hook(|g| seen.push(\"b\")); b.backward();",
        );
        assert_eq!(lab.text("seen"), "[\"b\", \"w2\", \"a\", \"w1\"]");
    });
}

#[test]
fn a_removed_hook_is_gone_and_one_that_gives_nothing_changes_nothing() {
    Lab::everywhere(|lab| {
        lab.run("let x = leaf([1.0]); let h = x.register_hook(|g| g * 2); h.remove(); h.remove();");
        lab.run("x.register_hook(|g| { }); (x * 3).backward();");
        assert_eq!(lab.numbers("x.grad"), [3.0]);
        lab.run("let x = leaf([1.0]); let h = x.register_hook(|g| g * 2); (x * 3).backward(); h.remove();");
        lab.run("(x * 3).backward();");
        assert_eq!(lab.numbers("x.grad"), [9.0]);
    });
}

#[test]
fn gradients_asked_for_pass_through_hooks_as_in_pytorch() {
    Lab::everywhere(|lab| {
        lab.run(
            "let x = leaf([1.0, 2.0]); x.register_hook(|g| g * 5); let y = x * 2; y.register_hook(|g| g * 7);
             y.retain_grad(); let both = autograd::grad(y.sum(), [x, y], #{retain_graph: true});",
        );
        assert_eq!(lab.numbers("both[0]"), [70.0, 70.0]);
        // What goes on to `x` is noted before the hooks of `y`, and behind them where it ends at `y`.
        assert_eq!(lab.numbers("both[1]"), [1.0, 1.0]);
        assert_eq!(lab.numbers("y.grad"), [7.0, 7.0]);
        assert!(lab.truth("x.grad == ()"));
        assert_eq!(lab.numbers("autograd::grad(y.sum(), [y], #{retain_graph: true})[0]"), [7.0, 7.0]);
        assert_eq!(lab.numbers("y.grad"), [14.0, 14.0]);
        // A hook beside the way to what is asked for does not run.
        lab.run(
            "let seen = []; let a = leaf([1.0]); let b = leaf([1.0]); b.register_hook(|g| seen.push(1));",
        );
        lab.run("let c = b * 2; c.register_hook(|g| seen.push(2)); autograd::grad(a * c, [a]);");
        assert_eq!(lab.text("seen"), "[]");
    });
}

#[test]
fn hooks_belong_to_the_value_they_were_registered_for() {
    Lab::everywhere(|lab| {
        lab.run(
            "let x = leaf([1.0, 2.0]); let y = x * 2; let seen = []; y.retain_grad();
             y.register_hook(|g| seen.push(g.tolist())); y.mul_(3);
             y.register_hook(|g| seen.push(g.tolist())); y.sum().backward();",
        );
        assert_eq!(lab.text("seen"), "[[1.0, 1.0], [3.0, 3.0]]");
        assert_eq!(lab.numbers("y.grad"), [1.0, 1.0]);
        // Writing to a part renews the whole.
        lab.run(
            "let x = leaf([1.0, 2.0]); let y = x * 2; y.retain_grad(); y[0] *= 4; (y * y).sum().backward();",
        );
        assert_eq!(lab.numbers("y.grad"), [16.0, 8.0]);
        assert_eq!(lab.numbers("x.grad"), [128.0, 16.0]);
    });
}

#[test]
fn what_a_hook_gives_must_fit_and_its_errors_reach_the_script() {
    Lab::everywhere(|lab| {
        for (hook, want) in [
            ("|g| g[0..1]", "RuntimeError: hook '<lambda>' has changed the size of value"),
            ("|g| 1.0", "TypeError: expected Variable, but hook returned 'float'"),
            ("|g| throw \"stop\"", "stop"),
        ] {
            lab.run(&format!("let x = leaf([1.0, 2.0]); x.register_hook({hook});"));
            let (text, _) = lab.error("(x * 2).sum().backward()");
            assert!(text.contains(want), "{hook}: {text}");
            assert!(lab.truth("x.grad == ()"), "{hook}");
        }
        lab.run("let x = leaf([1.0]); x.register_hook(|g| g.double());");
        let (text, _) = lab.error("(x * 2).backward()");
        assert!(
            text.starts_with("RuntimeError: hook '<lambda>' has changed the type of value (was torch."),
            "{text}"
        );
    });
}

#[test]
fn kept_gradients_add_up_and_can_be_derived_again() {
    Lab::everywhere(|lab| {
        lab.run("let x = leaf([1.0]); let y = x * 2; y.retain_grad(); y.backward(#{retain_graph: true}); y.backward();");
        assert_eq!(lab.numbers("y.grad"), [2.0]);
        lab.run(
            "let x = leaf([3.0]); let y = x * x; y.retain_grad(); (y * y).backward(#{create_graph: true});",
        );
        assert_eq!(lab.numbers("y.grad"), [18.0]);
        assert_eq!(lab.numbers("autograd::grad(y.grad, [x])[0]"), [12.0]);
        lab.run("let x = leaf([3.0]); x.register_hook(|g| g * x); (x * x).backward(#{create_graph: true});");
        assert_eq!(lab.numbers("x.grad"), [18.0]);
    });
}

/// Which hooks run, in which order, with what, and what they change: as `torch.nn.Module.__call__`.
#[test]
fn hooks_of_modules_see_and_change_what_goes_through() {
    Lab::everywhere(|lab| {
        lab.run(
            "let net = nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1)).to(leaf([1.0]).device);
             let x = ones([4, 2], #{device: leaf([1.0]).device});
             let seen = [];
             let note = |name| |m, inputs, out| { seen.push([name, m._get_name(), inputs.len(), out.shape]); () };
             for i in 0..3 { net[i].register_forward_hook(note.call(i)); }
             let whole = net.register_forward_hook(note.call(\"net\"));
             net.register_forward_hook(note.call(\"first\"), #{prepend: true});
             net.register_forward_pre_hook(|m, inputs| { seen.push(inputs[0].shape); () });
             net.forward(x);",
        );
        assert_eq!(
            lab.text("seen"),
            "[[4, 2], [0, \"Linear\", 1, [4, 3]], [1, \"ReLU\", 1, [4, 3]], [2, \"Linear\", 1, [4, 1]], \
             [\"first\", \"Sequential\", 1, [4, 1]], [\"net\", \"Sequential\", 1, [4, 1]]]"
        );
        lab.run("seen = []; whole.remove(); whole.remove(); net.forward(x);");
        assert_eq!(lab.text("seen.map(|s| s[0])"), "[4, 0, 1, 2, \"first\"]");
        // In the middle of a network, and with gradients through what was put there.
        lab.run(
            "let act = nn::Sequential(nn::ReLU(), nn::Identity()); let w = leaf([2.0]);
             let before = act[0].register_forward_pre_hook(|m, inputs| inputs[0] - 1);
             act[0].register_forward_hook(|m, inputs, out| out * w + inputs[0]);
             act.forward(leaf([3.0])).backward();",
        );
        assert_eq!(lab.numbers("act.forward(leaf([3.0]))"), [6.0]);
        assert_eq!(lab.numbers("w.grad"), [2.0]);
        lab.run("before.remove();");
        assert_eq!(lab.numbers("act.forward(leaf([3.0]))"), [9.0]);
        // The gradient of what a layer gave, as pictures of what a network looks at are made.
        lab.run(
            "let g = (); net[1].register_forward_hook(|m, i, out| { out.register_hook(|d| { g = d.shape; }); () });
             net.forward(x).sum().backward();",
        );
        assert_eq!(lab.text("g"), "[4, 3]");
    });
}

#[test]
fn hooks_of_modules_with_several_values_get_them_all() {
    let mut lab = Lab::new();
    lab.run(
        "let own = nn::module(#{fc: nn::Linear(2, 2)}, |self, x, k| [self.fc.forward(x), k]);
         own.register_forward_pre_hook(|m, inputs| [inputs[0] * 0, inputs[1] + 1]);
         own.register_forward_hook(|m, inputs, out| out[1]);
         let rnn = nn::LSTM(2, 3); let told = ();
         rnn.register_forward_hook(|m, inputs, out| { told = [inputs.len(), out[0].shape, out[1].len()]; });
         rnn.forward(ones([5, 1, 2]));",
    );
    assert_eq!(lab.text("own.forward(ones([1, 2]), 5)"), "6");
    assert_eq!(lab.text("told"), "[1, [5, 1, 3], 2]");
}

#[test]
fn a_copy_of_a_network_has_its_hooks() {
    let mut lab = Lab::on("sim:t4x2");
    lab.run(
        "let net = nn::Sequential(nn::Linear(2, 2), nn::ReLU());
         let n = 0; net[1].register_forward_hook(|m, i, o| { n += 1; o * 0 + 7 });
         let twin = deepcopy(net);",
    );
    assert_eq!(lab.numbers("twin.forward(ones([1, 2]))"), [7.0, 7.0]);
    assert_eq!(lab.text("n"), "1");
    lab.run("let many = nn::DataParallel(net.cuda()); let out = many.forward(ones([4, 2]).cuda());");
    assert_eq!(lab.text("[n, out.sum().item()]"), "[3, 56.0]");
}

#[test]
fn a_hook_of_a_module_that_gives_nonsense_is_told_of() {
    let mut lab = Lab::new();
    let net =
        |hook: &str| format!("let net = nn::Sequential(nn::ReLU()); net[0].{hook}; net.forward(ones(2))");
    for (hook, want) in [
        (
            "register_forward_hook(|m, i, o| \"text\")",
            "TypeError: a hook of ReLU gave string as its output, which must be a Tensor",
        ),
        (
            "register_forward_pre_hook(|m, i| [1])",
            "TypeError: a hook of ReLU gave int as its input, which must be a Tensor",
        ),
        ("register_forward_pre_hook(|m, i| [])", "TypeError: ReLU.forward() takes 1 input, not 0"),
        ("register_forward_hook(|m, i| ())", "TypeError: `|m, i|` takes 2 arguments, and is given 3"),
        (
            "register_forward_hook(|m, i, o| ones(2) + ones(3))",
            "RuntimeError: The size of tensor a (2) must match",
        ),
        (
            "register_forward_hook(|m, i, o| { o.clone().requires_grad_().register_hook(|g| g); })",
            "TypeError: a hook of ReLU gave Handle",
        ),
    ] {
        let (text, _) = lab.error(&net(hook));
        assert!(text.starts_with(want), "{hook}: {text}");
    }
    // A network that calls itself ends as a function that does.
    let (text, _) = lab.error(
        "let net = nn::ReLU(); net.register_forward_hook(|m, i, o| m.forward(o)); net.forward(ones(1))",
    );
    assert!(text.starts_with("RecursionError") || text.contains("recursion"), "{text}");
    // Hooks that hold modules with hooks are let go one after the other.
    lab.run(
        "let net = nn::ReLU(); for i in 0..50000 { let next = nn::ReLU(); let held = net; \
         next.register_forward_hook(|m, i, o| { held.training; () }); net = next; } net = ();",
    );
}

#[test]
fn modules_show_the_gradients_of_their_inputs_and_outputs() {
    Lab::everywhere(|lab| {
        lab.run(
            "let net = nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1));
             let x = leaf([[1.0, 2.0]]); net.to(x.device); let seen = []; let names = [];
             with no_grad() { for p in net.parameters() { p.fill_(0.5); } }
             let look = |m, grads, outs| { names.push(m.to_string().split('(')[0]); seen.push([grads.map(|g| if g == () { () } else { g.tolist() }), outs[0].tolist()]); () };
             let handles = []; for m in net.children() { handles.push(m.register_full_backward_hook(look)); }
             net.forward(x).sum().backward();",
        );
        assert_eq!(
            lab.text("seen"),
            "[[[[[0.5, 0.5, 0.5]]], [[1.0]]], [[[[0.5, 0.5, 0.5]]], [[0.5, 0.5, 0.5]]], [[[[0.75, 0.75]]], [[0.5, 0.5, 0.5]]]]"
        );
        assert_eq!(lab.text("names"), "[\"Linear\", \"ReLU\", \"Linear\"]");
        assert_eq!(lab.numbers("x.grad"), [0.75, 0.75]);
        // Where no input has a gradient, those of the outputs are seen all the same.
        lab.run("seen.clear(); net.forward(x.detach()).sum().backward();");
        assert_eq!(lab.text("[seen.len(), seen[2][0]]"), "[3, [()]]");
        lab.run("for h in handles { h.remove(); } seen.clear(); net.forward(x).sum().backward();");
        assert_eq!(lab.text("seen"), "[]");
    });
}

#[test]
fn what_a_backward_hook_gives_goes_on() {
    Lab::everywhere(|lab| {
        lab.run(
            "let net = nn::Bilinear(2, 3, 1); let a = leaf([[1.0, 2.0]]); let b = leaf([[1.0, 2.0, 3.0]]); net.to(a.device);
             net.forward(a, b).sum().backward(); let plain = [a.grad.tolist(), b.grad.tolist(), net.bias.grad.tolist()];
             a.grad = (); b.grad = (); net.zero_grad(); let order = [];
             net.register_full_backward_pre_hook(|m, outs| { order.push(1); outs[0] * 2 });
             net.register_full_backward_hook(|m, grads, outs| { order.push([outs[0].item(), grads.len()]); [grads[0] * 10, ()] });
             net.forward(a, b).sum().backward();",
        );
        assert_eq!(lab.text("order"), "[1, [2.0, 2]]");
        assert!(lab.truth("allclose(a.grad, tensor(plain[0]).to(a.device) * 20) && b.grad == ()"));
        assert_eq!(lab.numbers("net.bias.grad"), [2.0]);
        lab.run("let other = leaf([[1.0, 2.0]]);");
        // An input that has no part in the output has no gradient.
        lab.run(
            "let first = nn::module(#{}, |self, x, y| x * 3); let seen = [];
             first.register_full_backward_hook(|m, grads, outs| { seen.push([grads[0].tolist(), grads[1]]); () });
             first.forward(a, b).sum().backward();",
        );
        assert_eq!(lab.text("seen"), "[[[[3.0, 3.0]], ()]]");
        lab.run("net.register_full_backward_hook(|m, grads, outs| [grads[0]]);");
        let (text, _) = lab.error("net.forward(a, b).sum().backward()");
        assert!(
            text.contains("Backward hook returned an invalid number of grad_input, got 1, but expected 2"),
            "{text}"
        );
    });
}

#[test]
fn a_backward_hook_sees_each_pass_through_a_module_and_its_recorded_gradients() {
    Lab::everywhere(|lab| {
        lab.run(
            "let f = nn::Tanh(); let x = leaf([0.5]); let seen = [];
             f.register_full_backward_hook(|m, grads, outs| { seen.push(grads[0]); grads[0] * 2 });
             let y = f.forward(f.forward(x)); y.backward(#{retain_graph: true}); y.backward();",
        );
        assert_eq!(lab.text("seen.len()"), "4");
        lab.run("let twice = autograd::grad(f.forward(x), x, #{create_graph: true})[0]; let more = autograd::grad(twice, x)[0];");
        lab.run("let z = x.detach().requires_grad_(); let g = autograd::grad(z.tanh(), z, #{create_graph: true})[0];");
        assert!(lab.truth("allclose(twice, g * 2) && allclose(more, autograd::grad(g, z)[0] * 2 * 2)"));
    });
}

#[test]
fn what_a_pass_has_noted_goes_with_it() {
    Lab::everywhere(|lab| {
        // One that ends before the inputs leaves nothing to the next.
        lab.run(
            "let x = leaf([1.0]); let net = nn::module(#{w: nn::Parameter(leaf([1.0]).detach())}, |self, x| [x * 2 * self.w, x * 3 * self.w]);
             let seen = []; net.register_full_backward_hook(|m, grads, outs| { seen.push(outs); () }); let out = net.forward(x);
             autograd::grad(out[0].sum(), net.w, #{retain_graph: true});",
        );
        assert_eq!(lab.numbers("autograd::grad(out[1].sum(), x)[0]"), [3.0]);
        assert_eq!(lab.text("[seen.len(), seen[0][0], seen[0][1].item()]"), "[1, (), 1.0]");
        // One that a hook has ended as well.
        lab.run(
            "let net = nn::Linear(2, 2, #{bias: false}); let x = leaf([[1.0, 1.0]]); net.to(x.device);
             with no_grad() { net.weight.fill_(1.0); } let count = [0];
             net.register_full_backward_hook(|m, grads, outs| { count[0] += 1; if count[0] == 1 { throw \"boo\" } () });
             let y = net.forward(x).sum(); try { y.backward(#{retain_graph: true}) } catch (e) { }
             x.grad = (); net.zero_grad(); y.backward(#{retain_graph: true}); y.backward();",
        );
        assert_eq!(lab.numbers("x.grad"), [4.0, 4.0]);
        assert_eq!(lab.numbers("net.weight.grad"), [2.0; 4]);
        assert_eq!(lab.text("count[0]"), "3");
    });
    // Recorded gradients lead back to their graph, which nothing may keep.
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "let before = cuda::memory_allocated();
         for i in 0..3 {
             let net = nn::Linear(8, 8).cuda(); net.register_full_backward_hook(|m, grads, outs| ());
             let x = ones([4, 8], #{device: \"cuda\", requires_grad: true});
             autograd::grad((net.forward(x) ** 2).sum(), net.weight, #{create_graph: true});
         }",
    );
    assert!(lab.truth("cuda::memory_allocated() == before"));
}

#[test]
fn backward_hooks_see_tensors_among_other_values_and_on_several_gpus() {
    let mut lab = Lab::on("sim:t4x2");
    lab.run(
        "let seen = []; let see = |m, grads, outs| { seen.push([grads, outs]); () };
         let net = nn::module(#{w: nn::Parameter(ones(1))}, |self, x| [x * self.w, 5]); net.register_full_backward_hook(see);
         net.forward(ones(1))[0].backward();",
    );
    assert_eq!(lab.text("[seen[0][0], seen[0][1][0].item(), seen[0][1][1]]"), "[[()], 1.0, ()]");
    lab.run(
        "let net = nn::module(#{}, |self, x, z| x + z.to(\"cuda:0\")); net.register_full_backward_hook(see);
         let a = ones(2, #{device: \"cuda:0\", requires_grad: true}); let b = ones(2, #{device: \"cuda:1\", requires_grad: true});
         net.forward(a, b).sum().backward();",
    );
    assert_eq!(lab.text("seen[1][0].map(|g| g.device.index)"), "[0, 1]");
    assert!(lab.truth("a.grad.device.index == 0 && b.grad.device.index == 1"));
    lab.run("let x = tensor(2.0, #{requires_grad: true}); let same = nn::Identity(); same.register_full_backward_hook(|m, g, o| ());");
    lab.run("let y = x * 1;");
    for code in ["same.forward(x).mul_(3)", "same.forward(y).mul_(3)"] {
        let (text, _) = lab.error(code);
        assert!(text.contains("is being modified inplace"), "{code}: {text}");
    }
}

#[test]
fn grad_takes_the_options_of_pytorch_s() {
    let mut lab = Lab::new();
    lab.run(
        "let x = ones(2, #{requires_grad: true}); let unused = ones(3, #{requires_grad: true});
         let by_name = autograd::grad(#{outputs: (x * x).sum(), inputs: x, create_graph: true, only_inputs: true})[0];
         let all = autograd::grad((x * x).sum(), [x, unused], #{materialize_grads: true});
         let some = autograd::grad((x * x).sum(), [x, unused], #{allow_unused: true});",
    );
    assert_eq!(lab.numbers("by_name.detach()"), [2.0, 2.0]);
    assert_eq!(lab.numbers("all[1]"), [0.0; 3]);
    assert!(lab.value("some[1]").is_unit());
    let (text, _) = lab.error("autograd::grad((x * x).sum(), [x, unused])");
    assert!(text.contains("appears to not have been used in the graph"), "{text}");
    let (text, _) =
        lab.error("autograd::grad(x.sum(), [x], #{allow_unused: false, materialize_grads: true})");
    assert!(
        text.contains("Expected allow_unused to be True or not passed when materialize_grads=True"),
        "{text}"
    );
}
