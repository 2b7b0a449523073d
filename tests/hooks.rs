//! Hooks on gradients and gradients that computed tensors keep, against what PyTorch does.

use crate::nn::Lab;

/// Where each script runs, and what places its first tensors there.
const PLACES: [(&str, &str); 2] = [("cpu", "cpu"), ("sim:t4", "cuda")];

fn everywhere(check: impl Fn(&mut Lab)) {
    for (devices, device) in PLACES {
        let mut lab = Lab::on(devices);
        lab.run(&format!(
            "fn leaf(values) {{ tensor(values, #{{device: \"{device}\", requires_grad: true}}) }}"
        ));
        check(&mut lab);
    }
}

#[test]
fn hooks_see_the_whole_gradient_in_their_order_and_may_change_it() {
    everywhere(|lab| {
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
    everywhere(|lab| {
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
    everywhere(|lab| {
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
    everywhere(|lab| {
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
    everywhere(|lab| {
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
    everywhere(|lab| {
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
    everywhere(|lab| {
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
