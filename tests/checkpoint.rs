//! Activation checkpointing: the same gradients from less memory, and what happens when a part does not repeat.

use std::sync::Arc;

use rhai::{Array, Dynamic};
use tensorlab::base::DType;
use tensorlab::checkpoint::{Options, checkpoint_native, segments};
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::elementwise::unary::sin;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::tensor::Tensor;
use tensorlab::tensor::backward::Pass;

fn eval(code: &str) -> Result<Dynamic, String> {
    let machine = Machine::open(&"sim:t4".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    interpreter.evaluate(1, &Origin { name: "test", code, first_line: 1 }).map_err(|stopped| match stopped {
        Stopped::Fault(fault) => format!("{}: {}", fault.kind, fault.message),
        Stopped::Cancelled(error) => error.to_string(),
    })
}

fn value(code: &str) -> Dynamic {
    eval(code).unwrap_or_else(|e| panic!("{code}: {e}"))
}

/// A network on the GPU, its input, and a function that gives its gradients after `forward`.
const NET: &str = "manual_seed(3); let net = nn::Sequential(nn::Linear(8, 16), nn::GELU(), nn::Dropout(0.5), \
    nn::Linear(16, 16), nn::LayerNorm(16), nn::Tanh(), nn::Linear(16, 4), nn::Softmax(-1)).cuda(); \
    let x = randn([32, 8], #{device: \"cuda\", requires_grad: true}); \
    let weigh = randn([32, 4], #{device: \"cuda\"}); \
    let grads = |forward| { manual_seed(7); net.zero_grad(); x.grad = (); (forward.call() * weigh).sum().backward(); \
    let out = [x.grad.tolist()]; for p in net.parameters() { out.push(p.grad.tolist()); } out.to_string() }; ";

#[test]
fn gradients_are_the_same_with_and_without_checkpoints() {
    for forward in [
        "|| checkpoint(|x| net.forward(x), x)",
        "|| checkpoint(net, x)",
        "|| checkpoint_sequential(net, 1, x)",
        "|| checkpoint_sequential(net, 3, x)",
        "|| checkpoint_sequential(net, 8, x)",
        "|| checkpoint(|y| checkpoint(|z| net[3..8].forward(z), net[0..3].forward(y)), x)",
        "|| { let h = checkpoint(|y| checkpoint_sequential(net[0..6], 2, y), x); net[6..8].forward(h) }",
        "|| checkpoint(|y, factor, s| net.forward(y * factor) * s, x, ones(1, #{device: \"cuda\"}), 1.0)",
    ] {
        let code = format!("{NET} [grads.call(|| net.forward(x)), grads.call({forward})]");
        let both = value(&code);
        let both = both.read_lock::<Array>().unwrap();
        assert_eq!(both[0].to_string(), both[1].to_string(), "{forward}");
    }
}

#[test]
fn random_numbers_are_drawn_again_and_the_generator_goes_on_where_it_was() {
    // The output shows the mask of the forward pass, the gradient that of the backward pass.
    let code = "let on = #{device: \"cuda\"}; let x = ones(64, on).requires_grad_(true);\n\
        manual_seed(1); F::dropout(x, 0.5); let next = rand(1, on).item();\n\
        let run = |options| { manual_seed(1); x.grad = ();\n\
          let y = checkpoint(|x| F::dropout(x, 0.5).sin(), x, options); y.sum().backward();\n\
          [(y.detach() != 0).equal(x.grad != 0), rand(1, on).item() == next] };\n\
        [run.call(#{}), run.call(#{preserve_rng_state: false})]";
    assert_eq!(value(code).to_string(), "[[true, true], [false, false]]");
}

#[test]
fn autocast_is_what_it_was_in_the_forward_pass() {
    let code = "let w = randn([4, 4], #{device: \"cuda\", requires_grad: true}); let x = randn([4, 4], #{device: \"cuda\"});\n\
        let seen = []; let f = |x| { let y = x @ w; seen.push(y.dtype.to_string()); y.sin() };\n\
        let y = with autocast(\"cuda\") { checkpoint(f, x) }; y.float().sum().backward();\n\
        let a = w.grad.tolist(); w.grad = (); let z = with autocast(\"cuda\") { (x @ w).sin() }; z.float().sum().backward();\n\
        [seen, a == w.grad.tolist(), is_autocast_enabled(\"cuda\")]";
    let text = value(code).to_string().replace("torch.", "");
    assert_eq!(text, "[[\"float16\", \"float16\"], true, false]");
}

#[test]
fn a_part_keeps_nothing_but_its_inputs() {
    let code = "let x = ones([64, 64], #{device: \"cuda\", requires_grad: true}); let now = || cuda::memory_allocated();\n\
        let f = |x| x.sin().exp().cos().tanh().sin(); let a = now.call();\n\
        let y = f.call(x); let plain = now.call() - a; drop(y); let b = now.call();\n\
        let y = checkpoint(f, x); let kept = now.call() - b; y.sum().backward(); x.grad = ();\n\
        let after = now.call() - b; [plain, kept, after]";
    assert_eq!(value(code).to_string(), "[49152, 16384, 16384]");
}

#[test]
fn a_graph_may_be_gone_through_again_and_recorded_itself() {
    let code = "let x = tensor([0.3, 0.7], #{requires_grad: true}); let runs = 0; let f = |x| { runs += 1; x.sin().exp() };\n\
        let y = checkpoint(f, x).sum(); y.backward(#{retain_graph: true}); y.backward(); let first = x.grad.tolist();\n\
        let failed = \"\"; try { y.backward(); } catch (e) { failed = e.message; }\n\
        let g = autograd::grad(checkpoint(f, x).sum(), [x], #{create_graph: true})[0]; x.grad = ();\n\
        g.sum().backward(); let second = x.grad.tolist(); x.grad = ();\n\
        let h = autograd::grad(x.sin().exp().sum(), [x], #{create_graph: true})[0]; h.sum().backward();\n\
        [runs, failed.sub_string(0, 33), second == x.grad.tolist()]";
    let text = value(code).to_string();
    assert_eq!(text, "[6, \"Trying to backward through the gr\", true]");
}

#[test]
fn nothing_is_kept_or_run_again_where_no_gradient_is_wanted() {
    let code = "let x = ones(4, #{requires_grad: true}); let runs = 0; let f = |x| { runs += 1; x.sin() };\n\
        let y = with no_grad() { checkpoint(f, x) }; let z = checkpoint(f, ones(4)); [y.requires_grad, z.requires_grad, runs]";
    assert_eq!(value(code).to_string(), "[false, false, 2]");
}

#[test]
fn writing_to_a_part_of_a_tensor_in_place_is_recomputed_too() {
    let code = "let x = tensor([1.0, 2.0, 3.0], #{requires_grad: true}); let w = tensor(2.0, #{requires_grad: true});\n\
        let f = |x| { let y = x * 2.0; y[1] *= w; y[0..1].sin_(); y * y };\n\
        let grads = |y| { x.grad = (); w.grad = (); y.sum().backward(); [x.grad.tolist(), w.grad.item()].to_string() };\n\
        [grads.call(f.call(x)), grads.call(checkpoint(f, x))]";
    let both = value(code);
    let both = both.read_lock::<Array>().unwrap();
    assert_eq!(both[0].to_string(), both[1].to_string());
}

#[test]
fn a_part_that_does_not_repeat_is_told_apart() {
    let start = "let x = ones([4, 4], #{requires_grad: true}); let runs = 0;";
    for (function, want) in [
        (
            "|x| { runs += 1; if runs == 1 { x.exp().sin() } else { x.exp() } }",
            "RuntimeError: torch.utils.checkpoint: A different number of tensors was saved during the original forward \
             and recomputation.\nNumber of tensors saved during forward: 2\nNumber of tensors saved during \
             recomputation: 1.",
        ),
        (
            "|x| { runs += 1; if runs == 1 { x.exp() } else { x.exp().sin() } }",
            "RuntimeError: torch.utils.checkpoint: trying to save more tensors during recomputation than during the \
             original forward pass.",
        ),
        (
            "|x| { runs += 1; if runs == 1 { x.exp() } else { x.narrow(0, 0, 2).exp() } }",
            "RuntimeError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata \
             than during the forward pass.\ntensor at position 0:\nsaved metadata: {'shape': torch.Size([4, 4]), \
             'dtype': torch.float32, 'device': device(type='cpu')}\nrecomputed metadata: {'shape': torch.Size([2, 4]), \
             'dtype': torch.float32, 'device': device(type='cpu')}\n.",
        ),
        ("|x| { runs += 1; if runs == 2 { throw \"again\"; } x.exp() }", "RuntimeError: again"),
    ] {
        // A recomputation that stops early never comes to save more.
        let call = format!("checkpoint({function}, x, #{{early_stop: false}}).sum().backward()");
        let error = eval(&format!("{start} {call}")).unwrap_err();
        assert!(error.starts_with(want) || error.contains("again"), "{function}: {error}");
    }
    let error = eval(
        "let a = ones(3, #{requires_grad: true}); let b = a * 2; let y = checkpoint(|x| x.exp(), b); b.add_(1); y.sum().backward()",
    );
    assert!(error.as_ref().unwrap_err().contains("modified by an inplace operation"), "{error:?}");
}

#[test]
fn a_recomputation_ends_with_the_last_tensor_that_is_asked_for() {
    // Of the second run, the sum and what stands behind it are of no use to the backward pass.
    let code = "let x = ones([4, 4], #{device: \"cuda\", requires_grad: true}); let ends = 0;\n\
        let f = |x| { let y = x.exp().sin(); let z = y.sum() + y.mean(); ends += 1; z };\n\
        let count = |run| telemetry::record(run).launches;\n\
        let early = checkpoint(f, x); let late = checkpoint(f, x, #{early_stop: false});\n\
        let also = with set_checkpoint_early_stop(false) { checkpoint(f, x) };\n\
        let plain = f.call(x); ends = 0;\n\
        let grads = []; let counts = []; let seen = [];\n\
        for y in [early, late, also, plain] { x.grad = (); counts.push(count.call(|| y.backward())); \n\
          grads.push(x.grad.tolist()); seen.push(ends); }\n\
        [grads[0] == grads[3] && grads[1] == grads[3] && grads[2] == grads[3], seen,\n\
         counts[0] - counts[3], counts[1] - counts[0], counts[2] - counts[1]]";
    assert_eq!(value(code).to_string(), "[true, [0, 1, 2, 2], 2, 3, 0]");
    // More tensors in the second run go unseen, as in PyTorch; fewer do not.
    let start = "let x = ones([4, 4], #{requires_grad: true}); let runs = 0;";
    let more = "|x| { runs += 1; if runs == 1 { x.exp() } else { x.exp().sin() } }";
    assert!(eval(&format!("{start} checkpoint({more}, x).sum().backward()")).is_ok());
    let fewer = "|x| { runs += 1; if runs == 1 { x.exp().sin() } else { x.exp() } }";
    let error = eval(&format!("{start} checkpoint({fewer}, x).sum().backward()")).unwrap_err();
    assert!(error.contains("A different number of tensors was saved"), "{error}");
    // Operations outside go on as before, and an error of a later run keeps its text.
    let after = "let a = ones(3, #{requires_grad: true}); checkpoint(|x| x.exp() + 1, a).sum().backward(); \
                 let b = ones(3) + a.grad; let n = 0; \
                 let y = checkpoint(|x| { n += 1; if n == 2 { throw \"again\"; } x.exp() }, a); \
                 let text = \"\"; try { y.sum().backward(); } catch (e) { text = e; } text";
    assert!(value(after).to_string().contains("again"));
}

#[test]
fn wrong_arguments_are_errors() {
    for (code, want) in [
        ("checkpoint(3, ones(2))", "TypeError: checkpoint(): a function is a closure or a module, not "),
        (
            "checkpoint(|x| x, ones(2), #{preserve_rng: true})",
            "TypeError: checkpoint() got an unknown option 'preserve_rng'",
        ),
        (
            "checkpoint(|x| x, ones(2), #{use_reentrant: true})",
            "ValueError: checkpoint(): only use_reentrant: false",
        ),
        (
            "checkpoint_sequential(nn::Sequential(nn::ReLU()), 2, ones(2))",
            "ValueError: checkpoint_sequential(): segments must be",
        ),
        (
            "checkpoint_sequential(nn::Sequential(nn::ReLU()), 1)",
            "TypeError: checkpoint_sequential() missing required argument 'input'",
        ),
        ("checkpoint_sequential(3, 1, ones(2))", "TypeError: checkpoint_sequential(): functions must be"),
    ] {
        let error = eval(code).unwrap_err();
        assert!(error.starts_with(want), "{code}: {error}");
    }
}

#[test]
fn segments_are_pytorchs() {
    assert_eq!(segments(16, 4), [0..4, 4..8, 8..12, 12..16]);
    assert_eq!(segments(7, 3), [0..2, 2..4, 4..7]);
    assert_eq!(segments(3, 1), std::slice::from_ref(&(0..3)));
}

#[test]
fn functions_without_a_script_are_checkpointed_in_long_chains() {
    let x = Tensor::full(&[2], 0.5.into(), DType::Float64, Machine::cpu_only().cpu(), "test").unwrap();
    x.set_requires_grad(true).unwrap();
    let (mut y, mut want) = (x.clone(), (0.5f64, 1.0f64));
    for _ in 0..3000 {
        y = checkpoint_native(|inputs| sin(&sin(&inputs[0])?), &[y], Options::default()).unwrap();
        for _ in 0..2 {
            want = (want.0.sin(), want.1 * want.0.cos());
        }
    }
    y.backward(
        Some(&Tensor::full(&[2], 1.0.into(), DType::Float64, &y.context(), "test").unwrap()),
        Pass::default(),
    )
    .unwrap();
    let grad = x.grad().unwrap().to_f64s("test").unwrap();
    assert!((grad[0] - want.1).abs() < 1e-12 * want.1.abs(), "{grad:?} {want:?}");
    // One that is never gone through is dropped without running out of stack.
    let mut z = x.clone();
    for _ in 0..20_000 {
        z = checkpoint_native(|inputs| sin(&inputs[0]), &[z], Options::default()).unwrap();
    }
    drop(z);
}
