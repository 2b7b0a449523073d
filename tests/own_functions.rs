//! Functions with a gradient of their own, against what a subclass of `torch.autograd.Function` does.

use crate::nn::Lab;

const SQUARE: &str = "let square = autograd::Function(#{name: \"Square\",
    forward: |ctx, x| { ctx.save_for_backward(x); x * x },
    backward: |ctx, g| 2 * ctx.saved_tensors[0] * g});";

#[test]
fn the_gradient_is_what_backward_gives() {
    Lab::everywhere(|lab| {
        lab.run(SQUARE);
        lab.run("let x = leaf([1.0, 2.0, 3.0]); let y = square.apply(x * 1.0); y.sum().backward();");
        assert_eq!(lab.numbers("x.grad"), [2.0, 4.0, 6.0]);
        assert_eq!(lab.text("y.grad_fn"), "SquareBackward");
        // Not the derivative of what `forward` does: a gradient that goes back reversed.
        lab.run("let turn = autograd::Function(|ctx, x| x, |ctx, g| -g); x.grad = (); (turn.apply(x) * 3).sum().backward();");
        assert_eq!(lab.numbers("x.grad"), [-3.0, -3.0, -3.0]);
        // Straight through a step that has none.
        lab.run("let step = autograd::Function(|ctx, x| (x > 1.5).to(float32), |ctx, g| g); x.grad = ();");
        lab.run("step.apply(x).dot(leaf([1.0, 2.0, 4.0])).backward();");
        assert_eq!(lab.numbers("x.grad"), [1.0, 2.0, 4.0]);
    });
}

#[test]
fn gradients_of_gradients_go_through_backward() {
    Lab::everywhere(|lab| {
        lab.run(SQUARE);
        lab.run("let x = leaf([1.0, 2.0]); let cube = square.apply(x) * x;");
        lab.run("let g = autograd::grad(cube.sum(), x, #{create_graph: true})[0];");
        assert_eq!(lab.numbers("g"), [3.0, 12.0]);
        assert_eq!(lab.numbers("autograd::grad(g.sum(), x)[0]"), [6.0, 12.0]);
        // A saved output stands in the graph as well.
        lab.run(
            "let exp = autograd::Function(|ctx, x| { let y = x.exp(); ctx.save_for_backward(y); y }, |ctx, g| g * ctx.saved_tensors[0]);
             let x = leaf([0.0]); let g = autograd::grad(exp.apply(x * 2).sum(), x, #{create_graph: true})[0];",
        );
        assert_eq!(lab.numbers("g"), [2.0]);
        assert_eq!(lab.numbers("autograd::grad(g.sum(), x)[0]"), [4.0]);
    });
}

#[test]
fn inputs_that_are_no_tensors_and_those_that_need_nothing_have_no_gradient() {
    Lab::everywhere(|lab| {
        lab.run(
            "let asked = []; let f = autograd::Function(
                 |ctx, x, k, y, names| { ctx.k = k; ctx.names = names; ctx.save_for_backward(x, (), y); x * k + y },
                 |ctx, g| { asked.push(ctx.needs_input_grad); asked.push(ctx.saved_tensors[1]); asked.push(ctx.names.a);
                            [g * ctx.k, (), (), ()] });
             let x = leaf([1.0]); let y = leaf([5.0]).detach(); f.apply(x, 4, y, #{a: 7}).backward();",
        );
        assert_eq!(lab.numbers("x.grad"), [4.0]);
        assert_eq!(lab.text("asked[0]"), "[true, false, false, false]");
        assert_eq!(lab.text("[asked[1] == (), asked[2]]"), "[true, 7]");
        // More than is asked for is taken where it is nothing.
        lab.run("let f = autograd::Function(|ctx, x| x * 2, |ctx, g| [g, (), ()]); f.apply(x).backward();");
        assert_eq!(lab.numbers("x.grad"), [5.0]);
        assert!(!lab.truth("f.apply(y).requires_grad"));
        assert!(!lab.truth("let v = (); with no_grad() { v = f.apply(x); } v.requires_grad"));
        lab.run("let f = autograd::Function(|ctx, x| { let y = x.sign(); ctx.mark_non_differentiable(y); y }, |ctx, g| g);");
        assert!(!lab.truth("f.apply(x).requires_grad"));
        lab.run("let f = autograd::Function(|ctx, x| x.argsort(), |ctx, g| g);");
        assert!(!lab.truth("f.apply(x).requires_grad"));
    });
}

#[test]
fn nothing_in_forward_is_recorded_and_backward_has_the_mode_of_the_pass() {
    Lab::everywhere(|lab| {
        lab.run(
            "let modes = []; let f = autograd::Function(|ctx, x| { modes.push(is_grad_enabled()); x * 2 },
                 |ctx, g| { modes.push(is_grad_enabled()); g * 2 });
             let x = leaf([1.0]); f.apply(x).backward(); autograd::grad(f.apply(x), x, #{create_graph: true});",
        );
        assert_eq!(lab.text("modes"), "[false, false, false, true]");
        assert!(lab.truth("is_grad_enabled()"));
        lab.error("autograd::Function(|ctx, x| throw 1, |ctx, g| g).apply(x)");
        assert!(lab.truth("is_grad_enabled()"));
    });
}

#[test]
fn it_is_computed_again_in_a_checkpoint_and_kept_for_a_second_pass() {
    Lab::everywhere(|lab| {
        lab.run(SQUARE);
        lab.run("let x = leaf([1.0, 2.0]); checkpoint(|x| square.apply(x).exp().sum(), x).backward(); let again = x.grad.tolist();");
        lab.run("x.grad = (); square.apply(x).exp().sum().backward();");
        assert!(lab.truth("again == x.grad.tolist()"));
        lab.run(
            "let y = square.apply(x).sum(); x.grad = (); y.backward(#{retain_graph: true}); y.backward();",
        );
        assert_eq!(lab.numbers("x.grad"), [4.0, 8.0]);
        let (text, _) = lab.error("y.backward()");
        assert!(text.contains("Trying to backward through the graph a second time"), "{text}");
    });
}

#[test]
fn what_is_wrong_is_told_as_pytorch_tells_it() {
    Lab::everywhere(|lab| {
        lab.run(SQUARE);
        lab.run("let x = leaf([1.0, 2.0]); let make = |b| autograd::Function(|ctx, x, k| x * k, b);");
        for (code, want) in [
            (
                "make.call(|ctx, g| g).apply(x, 2).sum().backward()",
                "function FunctionBackward returned an incorrect number of gradients (expected 2, got 1)",
            ),
            (
                "make.call(|ctx, g| [g, g]).apply(x, 2).sum().backward()",
                "function FunctionBackward returned a gradient different from None at position 2, but the corresponding \
                 forward input was not a Variable",
            ),
            (
                "make.call(|ctx, g| [g.sum(), ()]).apply(x, 2).sum().backward()",
                "Function FunctionBackward returned an invalid gradient at index 0 - got [] but expected shape compatible \
                 with [2]",
            ),
            (
                "make.call(|ctx, g| [1, ()]).apply(x, 2).sum().backward()",
                "expected Variable or None (got int)",
            ),
            (
                "make.call(|ctx, g| ctx.k * g).apply(x, 2).sum().backward()",
                "'FunctionCtx' object has no attribute 'k'",
            ),
            (
                "make.call(|ctx, g| g @ leaf([1.0]).detach()).apply(leaf([1.0, 2.0]), 2).sum().backward()",
                "inconsistent tensor size",
            ),
            (
                "autograd::Function(|ctx, x| 3, |ctx, g| g).apply(x)",
                "forward of Function must give a Tensor, not int",
            ),
            (
                "autograd::Function(|ctx, x| { ctx.save_for_backward(1); x }, |ctx, g| g).apply(x)",
                "save_for_backward can only save variables, but argument is of type int",
            ),
            (
                "let y = x * 1; let z = square.apply(y); y.mul_(2); z.sum().backward()",
                "one of the variables needed for gradient computation has been modified by an inplace operation",
            ),
            ("square.apply(x).add_(1); square.apply(x).exp().sum().backward(); throw \"fine\"", "fine"),
        ] {
            let (text, _) = lab.error(code);
            assert!(text.contains(want), "{code}: {text}");
        }
    });
}

#[test]
fn a_context_is_there_while_its_call_needs_it() {
    let mut lab = Lab::on("cpu");
    lab.run("let held = []; let f = autograd::Function(|ctx, x| { held.push(ctx); ctx.save_for_backward(x); held.push(ctx.saved_tensors.len()); x * 2 }, |ctx, g| g);");
    lab.run("let x = tensor([1.0], #{requires_grad: true}); let y = f.apply(x);");
    assert_eq!(lab.text("held[1]"), "1");
    for code in ["held[0].saved_tensors", "held[0].save_for_backward(x)"] {
        let (text, _) = lab.error(code);
        assert!(text.contains("forward"), "{code}: {text}");
    }
}

#[test]
fn what_a_context_has_by_itself_is_not_replaced_without_a_word() {
    Lab::everywhere(|lab| {
        lab.run("fn twice(ctx, g) { 2 * g } let x = leaf([1.0]);");
        for set in
            ["ctx.saved_tensors = [x + 1]", "ctx.saved_tensors.push(x)", "ctx.needs_input_grad = [false]"]
        {
            let code = format!(
                "autograd::Function(|ctx, x| {{ ctx.save_for_backward(x); {set}; x * 2 }}, twice).apply(x)"
            );
            let (text, hint) = lab.error(&code);
            assert!(text.contains("is not writable") && !hint.is_empty(), "{set}: {text}");
        }
        // What a method hands back is what was there.
        lab.run("autograd::Function(|ctx, x| { ctx.save_for_backward(x); ctx.saved_tensors.len(); ctx.saved_tensors[0].sum(); x * 2 }, twice).apply(x);");
    });
}

#[test]
fn a_long_chain_that_contexts_hold_is_dropped_whole() {
    let mut lab = Lab::on("cpu");
    lab.run(
        "let x = tensor([1.0], #{requires_grad: true}); let y = x;
         for i in 0..20000 { let kept = y; y = autograd::Function(|ctx, a| { ctx.kept = kept; a + 1 }, |ctx, g| g).apply(y); }
         y.backward();",
    );
    assert_eq!(lab.numbers("x.grad"), [1.0]);
    lab.run("y = ();");
}

#[test]
fn a_module_holds_one_and_a_copy_of_it_is_its_own() {
    Lab::everywhere(|lab| {
        lab.run(SQUARE);
        lab.run("let net = nn::module(#{act: square}, |self, x| self.act.apply(x)); let x = leaf([3.0]);");
        lab.run("deepcopy(net).forward(x).sum().backward();");
        assert_eq!(lab.numbers("x.grad"), [6.0]);
        assert_eq!(lab.text("square"), "autograd::Function(Square)");
    });
}

#[test]
fn what_lies_on_an_input_is_not_changed_in_place_unseen() {
    Lab::everywhere(|lab| {
        lab.run("let x = leaf([2.0]); let w = x * 1;");
        for forward in ["x", "x.view([1, 1]).view([-1])", "x.detach()"] {
            lab.run(&format!("let f = autograd::Function(|ctx, x| {forward}, |ctx, g| g);"));
            for code in ["f.apply(x).mul_(3)", "f.apply(w).mul_(3)"] {
                let (text, _) = lab.error(code);
                assert!(text.contains("is being modified inplace"), "{forward}: {text}");
            }
            let (text, _) = lab.error("let w = x * 1; let y = f.apply(w); w.mul_(3); y.sum().backward()");
            assert!(text.contains("has been modified by an inplace operation"), "{forward}: {text}");
            lab.run("x.grad = (); let y = f.apply(x * 1); (y * 5).sum().backward();");
            assert_eq!(lab.numbers("x.grad"), [5.0]);
        }
        assert_eq!(lab.numbers("x"), [2.0]);
        lab.run("let f = autograd::Function(|ctx, x| { ctx.mark_non_differentiable(x); x }, |ctx, g| g);");
        assert!(!lab.truth("f.apply(x).requires_grad"));
    });
}

#[test]
fn a_gradient_lies_where_its_input_lies() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = ones(2, #{device: \"cuda\", requires_grad: true});");
    let (text, _) =
        lab.error("autograd::Function(|ctx, x| x * 2, |ctx, g| g.cpu()).apply(x).sum().backward()");
    assert!(text.contains("expected device cuda:0 but got cpu"), "{text}");
}
