//! How results lie in memory: as what they are made of, where PyTorch 2.15 has it so.

use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::device::sim::Selection;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

/// `t` is `x` with its dimensions turned, `s` every other element of its last one, `i` and `v` images and volumes with
/// their channels last.
const SET_UP: &str = "let x = arange(24.0).reshape([2, 3, 4]); let t = x.permute([2, 0, 1]); \
                      let s = x.unfold(2, 1, 2).select(3, 0); let row = ones([3]); let packed = t.contiguous(); \
                      let i = randn([2, 4, 8, 8]).to(#{memory_format: channels_last}); let p = i.contiguous(); \
                      let v = randn([2, 4, 5, 6, 7]).to(#{memory_format: channels_last_3d}); \
                      let w = randn([6, 4, 3, 3]); let up = randn([4, 6, 3, 3]); let w3 = randn([6, 4, 3, 3, 3]); \
                      let last = w.to(#{memory_format: channels_last});";

/// Code and the strides that PyTorch gives.
const STRIDES: &[(&str, &str)] = &[
    ("t + 1", "[1, 12, 4]"),
    ("t + t", "[1, 12, 4]"),
    ("t + packed", "[1, 12, 4]"),
    ("packed + t", "[6, 3, 1]"),
    ("t + row", "[1, 12, 4]"),
    ("row + t", "[1, 12, 4]"),
    ("t[1..3] + 1", "[1, 6, 2]"),
    ("s * 2", "[6, 2, 1]"),
    ("s.clone()", "[6, 2, 1]"),
    ("s.permute([2, 0, 1]).exp()", "[1, 6, 2]"),
    ("t.clone()", "[1, 12, 4]"),
    ("ones([3, 1]).expand([3, 4]).clone()", "[4, 1]"),
    ("ones([3, 1]).expand([3, 4]) + 1", "[4, 1]"),
    ("ones([1, 3]).expand([4, 3]).T.clone()", "[4, 1]"),
    ("t.to(float64)", "[1, 12, 4]"),
    ("t.half()", "[1, 12, 4]"),
    ("zeros_like(t)", "[1, 12, 4]"),
    ("empty_like(t)", "[1, 12, 4]"),
    ("ones_like(s.permute([2, 0, 1]))", "[1, 6, 2]"),
    ("where(t > 0, t, zeros([]))", "[1, 12, 4]"),
    ("t > 0", "[1, 12, 4]"),
    ("ones([3, 1]) + ones([1, 4])", "[4, 1]"),
    ("ones([1, 3]).T + ones([4, 1]).T", "[4, 1]"),
    ("t.softmax(-1)", "[6, 3, 1]"),
    ("t.cumsum(0)", "[6, 3, 1]"),
    ("relu(t)", "[1, 12, 4]"),
    ("F::dropout(t)", "[1, 12, 4]"),
    ("F::gelu(t)", "[1, 12, 4]"),
    ("t.sum(0)", "[3, 1]"),
    ("addcmul(t, t, t)", "[1, 12, 4]"),
    ("lerp(t, t, 0.5)", "[1, 12, 4]"),
    ("t.clamp(0, 1)", "[1, 12, 4]"),
    ("t.flip(0)", "[1, 12, 4]"),
    ("cat([t, t])", "[6, 3, 1]"),
    ("maximum(t, packed)", "[1, 12, 4]"),
    ("F::layer_norm(t, [3])", "[6, 3, 1]"),
    ("t.tril()", "[6, 3, 1]"),
    ("t ** 2", "[1, 12, 4]"),
    ("t.sort(0).values", "[1, 12, 4]"),
    ("t.sort(-1, true).indices", "[1, 12, 4]"),
    ("t.argsort(1)", "[1, 12, 4]"),
    ("t.msort()", "[1, 12, 4]"),
    ("s.sort(1).values", "[6, 2, 1]"),
    ("t.topk(2, 0).values", "[6, 3, 1]"),
    ("t.index_fill(1, tensor([1, 0]), 1.0)", "[1, 12, 4]"),
    ("t.index_put([tensor([1, 0])], tensor(1.0))", "[1, 12, 4]"),
    ("t.unique(#{dim: 0})", "[6, 3, 1]"),
    ("t.unique(#{dim: 1})", "[3, 12, 1]"),
    ("t.unique(#{dim: 2})", "[2, 1, 8]"),
    ("1 / (t + 1)", "[1, 12, 4]"),
    ("-t", "[1, 12, 4]"),
    ("t.cuda()", "[1, 12, 4]"),
    ("t.cuda().cpu()", "[1, 12, 4]"),
    ("s.permute([2, 0, 1]).cuda()", "[1, 6, 2]"),
    ("t.contiguous()", "[6, 3, 1]"),
    ("F::conv2d(i, w)", "[216, 1, 36, 6]"),
    ("F::conv2d(p, last)", "[216, 1, 36, 6]"),
    ("F::conv2d(p, w)", "[216, 36, 6, 1]"),
    ("F::conv2d(i.cuda(), w.cuda())", "[216, 1, 36, 6]"),
    ("F::conv2d(i, randn([4, 1, 3, 3]), #{groups: 4})", "[144, 1, 24, 4]"),
    ("F::conv_transpose2d(i, up)", "[600, 1, 60, 6]"),
    ("F::max_pool2d(i, 2)", "[64, 1, 16, 4]"),
    ("F::max_pool2d(i.cuda(), 2)", "[64, 1, 16, 4]"),
    ("F::avg_pool2d(i, 2)", "[64, 1, 16, 4]"),
    ("F::adaptive_avg_pool2d(i, 3)", "[36, 1, 12, 4]"),
    ("F::adaptive_avg_pool2d(i, 1)", "[4, 1, 4, 4]"),
    ("F::adaptive_max_pool2d(i, 3)", "[36, 1, 12, 4]"),
    ("F::interpolate(i, #{scale_factor: 2})", "[1024, 1, 64, 4]"),
    ("F::interpolate(i, #{scale_factor: 2, mode: \"bilinear\"})", "[1024, 1, 64, 4]"),
    ("F::interpolate(i, #{scale_factor: 2, mode: \"bicubic\"})", "[1024, 1, 64, 4]"),
    ("F::pixel_unshuffle(i, 2)", "[256, 1, 64, 16]"),
    ("F::batch_norm(i, (), (), #{training: true})", "[256, 1, 32, 4]"),
    ("F::group_norm(i, 2)", "[256, 1, 32, 4]"),
    ("F::pad(i, [1, 1, 1, 1])", "[400, 1, 40, 4]"),
    ("F::pad(i, [1, 1, 1, 1], #{mode: \"reflect\"})", "[400, 1, 40, 4]"),
    ("F::pad(i, [1, 1, 1, 1], #{mode: \"circular\"})", "[400, 100, 10, 1]"),
    ("cat([i, i], 1)", "[512, 1, 64, 8]"),
    ("cat([p, i], 1)", "[512, 64, 8, 1]"),
    ("F::conv3d(v, w3)", "[360, 1, 120, 30, 6]"),
    ("F::conv_transpose3d(v, randn([4, 6, 3, 3, 3]))", "[3024, 1, 432, 54, 6]"),
    ("F::max_pool3d(v, 2)", "[72, 1, 36, 12, 4]"),
    ("F::avg_pool3d(v, 2)", "[72, 18, 9, 3, 1]"),
    ("randn([2, 3]).t().requires_grad_().clone()", "[1, 3]"),
];

/// Code that gives a list of strides, PyTorch's.
const LISTS: &[(&str, &str)] = &[
    // A gradient lies as its leaf does, whatever comes back through the graph.
    (
        "let l = last.clone().requires_grad_(); F::conv2d(p, l).sum().backward(); [l.grad.stride()]",
        "[[36, 1, 12, 4]]",
    ),
    ("let l = randn([2, 3]).t().requires_grad_(); l.sum().backward(); [l.grad.stride()]", "[[1, 3]]"),
    (
        "let net = nn::Sequential(nn::Conv2d(3, 4, 3), nn::Linear(2, 2), nn::BatchNorm2d(3)).to(#{memory_format: \
         channels_last}); net.parameters().map(|p| p.stride())",
        "[[27, 1, 9, 3], [1], [2, 1], [1], [1], [1]]",
    ),
    (
        "let l = nn::Conv2d(3, 4, 3).to(float64, #{memory_format: channels_last}); let before = l.weight.stride(); \
         l.float(); let cast = l.weight.stride(); l.to(#{memory_format: contiguous_format}); [before, cast, \
         l.weight.stride()]",
        "[[27, 1, 9, 3], [27, 1, 9, 3], [27, 9, 3, 1]]",
    ),
    (
        "let l = nn::Conv2d(3, 4, 3); l.weight.data = l.weight.data.to(#{memory_format: channels_last}); \
         [l.weight.stride()]",
        "[[27, 1, 9, 3]]",
    ),
    ("[nn::Conv3d(3, 2, 3).to(#{memory_format: channels_last_3d}).weight.stride()]", "[[81, 1, 27, 9, 3]]"),
];

fn lab() -> Interpreter {
    let selection: Selection = "sim:t4".parse().unwrap();
    let machine = Machine::open(&selection, Use::Headless).unwrap().machine;
    let mut lab = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    run(&mut lab, SET_UP);
    lab
}

fn run(lab: &mut Interpreter, code: &str) -> String {
    let value = lab.evaluate(1, &Origin { name: "order", code, first_line: 1 });
    value.map(|v| v.to_string()).unwrap_or_else(|_| panic!("{code} gives an error"))
}

#[test]
fn results_lie_in_memory_as_what_they_are_made_of() {
    let mut lab = lab();
    let mut wrong = Vec::new();
    for (code, want) in STRIDES {
        let got = run(&mut lab, &format!("({code}).stride()"));
        if got != *want {
            wrong.push(format!("{code}: {got}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parameters_and_gradients_lie_as_they_are_told() {
    let mut lab = lab();
    for (code, want) in LISTS {
        assert_eq!(run(&mut lab, code), *want, "{code}");
    }
}

/// What looks at a parameter sees the same elements afterwards, and a network computes and learns the same.
#[test]
fn a_network_with_its_channels_last_is_the_same_network() {
    let mut lab = lab();
    run(
        &mut lab,
        "fn fit(net, x) {
             let o = optim::Adam(net.parameters(), 0.01);
             let l = ();
             for k in 0..5 {
                 o.zero_grad();
                 l = F::cross_entropy(net.forward(x), tensor([0, 1], #{device: x.device}));
                 l.backward();
                 o.step();
             }
             l.item()
         }
         fn net() {
             nn::Sequential(nn::Conv2d(4, 4, 3), nn::ReLU(), nn::BatchNorm2d(4), nn::MaxPool2d(2), nn::Conv2d(4, 5, 1),
                 nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(5, 2))
         }
         let a = net(); let b = net(); b.load_state_dict(a.state_dict()); b.to(#{memory_format: channels_last});
         let c = net(); c.load_state_dict(b.state_dict()); c.to(\"cuda\"); c.to(#{memory_format: channels_last});
         let want = fit(a, p);",
    );
    for code in [
        "abs(fit(b, i) - want) < 1e-5",
        "abs(fit(c, i.cuda()) - want) < 1e-5",
        "allclose(b[0].weight, a[0].weight, #{atol: 1e-4})",
        "a.load_state_dict(c.state_dict()); a[0].weight.equal(c[0].weight.cpu()) && a[0].weight.is_contiguous()",
        // A view keeps its parameter as it is.
        "let l = nn::Conv2d(2, 3, 3); let seen = l.weight.detach(); let before = seen.clone(); \
         l.to(#{memory_format: channels_last}); seen.equal(before) && l.weight.equal(before)",
        "let l = nn::Conv2d(2, 3, 3); let seen = l.weight.view(54); let q = l.weight.data.clone() * 2; \
         l.weight.data = q.to(#{memory_format: channels_last}); seen.equal(q.flatten()) && l.weight.equal(q)",
    ] {
        assert_eq!(run(&mut lab, code), "true", "{code}");
    }
}

#[test]
fn the_order_in_memory_changes_no_value() {
    let mut lab = lab();
    let same = [
        ("t + packed * 2", "packed + packed * 2"),
        ("t + row", "packed + row"),
        ("t - 2 > row", "packed - 2 > row"),
        ("t.half().float()", "packed"),
        ("t.flip([0, 2])", "packed.flip([0, 2])"),
        ("t.cuda().cpu()", "packed"),
        ("(t.cuda() * 2).cpu()", "packed * 2"),
        ("s.permute([2, 0, 1]).cuda().cpu()", "s.permute([2, 0, 1]).contiguous()"),
        ("(t + 1).view([4, 2, 3])", "packed + 1"),
        ("(t + 1).reshape([24])", "(packed + 1).reshape([24])"),
        ("F::conv2d(i, w)", "F::conv2d(p, w)"),
        ("F::conv2d(i.cuda(), w.cuda())", "F::conv2d(p.cuda(), w.cuda())"),
        ("F::conv_transpose2d(i, up)", "F::conv_transpose2d(p, up)"),
        ("F::conv3d(v, w3)", "F::conv3d(v.contiguous(), w3)"),
        ("F::max_pool2d(i, 3, 2)", "F::max_pool2d(p, 3, 2)"),
        ("F::avg_pool2d(i, 3, 2)", "F::avg_pool2d(p, 3, 2)"),
        (
            "F::interpolate(i, #{size: 5, mode: \"bilinear\"})",
            "F::interpolate(p, #{size: 5, mode: \"bilinear\"})",
        ),
        (
            "F::pad(i, [1, 2, 0, 1], #{mode: \"replicate\"})",
            "F::pad(p, [1, 2, 0, 1], #{mode: \"replicate\"})",
        ),
        ("F::pad(i, [1, 2, -1, 1], #{value: 3.0})", "F::pad(p, [1, 2, -1, 1], #{value: 3.0})"),
        ("cat([i, i], 1)", "cat([p, p], 1)"),
    ];
    for (a, b) in same {
        assert_eq!(run(&mut lab, &format!("({a}).equal({b})")), "true", "{a}");
    }
    // Gradients flow to where they belong.
    let grad = "let w = packed.clone().requires_grad_(true); ((w.permute([1, 2, 0]) * 2).exp() * x).sum().backward(); \
                allclose(w.grad, (packed * 2).exp() * 2 * packed)";
    assert_eq!(run(&mut lab, grad), "true");
}
