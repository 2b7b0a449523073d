//! Elements and rows that go to one place, combined: values, gradients and refusals of PyTorch 2.15.

use crate::nn::Lab;

/// How, whether with what stood there, the result, and the gradients of `(result * [1, 2, 3]).sum()`.
const REDUCED: &[(&str, bool, &str, &str)] = &[
    (
        "sum",
        true,
        "[[7.0, 7.0, 0.0], [3.0, -1.0, 3.5], [nan, 5.0, 8.0]]",
        "[[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]]",
    ),
    (
        "sum",
        false,
        "[[6.0, 5.0, 0.0], [3.0, 0.0, 1.5], [nan, 1.0, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]]",
    ),
    (
        "prod",
        true,
        "[[0.0, 10.0, 0.0], [3.0, -0.0, -6.0], [nan, 0.0, 7.0]]",
        "[[[0.0, 10.0, 3.0], [1.0, 0.0, -9.0], [nan, 0.0, 21.0]], [[0.0, 8.0, -6.0], [8.0, 4.0, 9.0], [nan, 0.0, 3.0], [0.0, -2.0, -36.0]]]",
    ),
    (
        "prod",
        false,
        "[[0.0, 5.0, 0.0], [3.0, 0.0, -3.0], [nan, 0.0, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 2.0, -3.0], [8.0, 2.0, 4.5], [nan, 0.0, 3.0], [0.0, 2.0, -18.0]]]",
    ),
    (
        "mean",
        true,
        "[[1.75, 3.5, 0.0], [3.0, -0.5, 0.875], [nan, 1.6667, 4.0]]",
        "[[[0.25, 1.0, 3.0], [1.0, 1.0, 0.75], [0.5, 0.6667, 1.5]], [[0.25, 0.6667, 0.75], [0.25, 1.0, 0.75], [0.5, 0.6667, 1.5], [0.25, 1.0, 0.75]]]",
    ),
    (
        "mean",
        false,
        "[[2.0, 5.0, 0.0], [3.0, 0.0, 0.5], [nan, 0.5, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.3333, 1.0, 1.0], [0.3333, 2.0, 1.0], [1.0, 1.0, 3.0], [0.3333, 2.0, 1.0]]]",
    ),
    (
        "amax",
        true,
        "[[4.0, 5.0, 0.0], [3.0, 0.0, 3.0], [nan, 4.0, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [nan, 2.0, 0.0]], [[0.0, 0.0, 3.0], [0.0, 2.0, 0.0], [nan, 0.0, 3.0], [1.0, 2.0, 0.0]]]",
    ),
    (
        "amax",
        false,
        "[[4.0, 5.0, 0.0], [3.0, 0.0, 3.0], [nan, 1.0, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 3.0], [0.0, 2.0, 0.0], [nan, 2.0, 3.0], [1.0, 2.0, 0.0]]]",
    ),
    (
        "amin",
        true,
        "[[0.0, 2.0, 0.0], [3.0, -1.0, -2.0], [nan, 0.0, 1.0]]",
        "[[[0.0, 2.0, 3.0], [1.0, 2.0, 0.0], [nan, 0.0, 3.0]], [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [nan, 0.0, 0.0], [0.0, 0.0, 0.0]]]",
    ),
    (
        "amin",
        false,
        "[[0.0, 5.0, 0.0], [3.0, 0.0, -2.0], [nan, 0.0, 7.0]]",
        "[[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 2.0, 0.0], [1.0, 2.0, 3.0], [nan, 0.0, 3.0], [0.0, 2.0, 0.0]]]",
    ),
];

const SENT: &str = "let x = tensor([[1.0, 2.0, 0.0], [3.0, -1.0, 2.0], [0.5, 4.0, 1.0]]).to(PLACE);
    let i = tensor([[0, 2, 1], [0, 0, 1], [2, 2, 2], [0, 1, 1]]).to(PLACE);
    let v = tensor([[2.0, 0.0, 3.0], [0.0, 5.0, -2.0], [0.0 / 0.0, 1.0, 7.0], [4.0, 0.0, 0.5]]).to(PLACE);
    let w = tensor([1.0, 2.0, 3.0]).to(PLACE);
    fn shown(all) { all.map(|t| (t.double() * 10000).round() / 10000).map(|t| t.tolist()) }";

fn on_both(mut f: impl FnMut(&mut Lab, &str)) {
    let mut lab = Lab::on("sim:t4");
    for place in ["cpu", "cuda"] {
        lab.run(&SENT.replace("PLACE", &format!("\"{place}\"")));
        f(&mut lab, place);
    }
}

#[test]
fn elements_of_one_place_are_reduced() {
    on_both(|lab, place| {
        for (how, own, value, gradients) in REDUCED {
            lab.run(&format!(
                "let a = x.clone().requires_grad_(); let b = v.clone().requires_grad_();
                 let y = a.scatter_reduce(0, i, b, \"{how}\", #{{include_self: {own}}});
                 let g = autograd::grad((y * w).sum(), [a, b], #{{retain_graph: true}});
                 let h = autograd::grad((y * w).sum(), [a, b], #{{create_graph: true}});
                 let kept = x.clone(); kept.scatter_reduce_(0, i, v, \"{how}\", #{{include_self: {own}}});"
            ));
            assert_eq!(lab.text("shown([y])[0]"), *value, "{how} {own} on {place}");
            assert_eq!(lab.text("shown([kept])[0]"), *value, "{how} {own} in place on {place}");
            assert_eq!(lab.text("shown(g)"), *gradients, "{how} {own} on {place}");
            // A recorded product leaves its NaN to what is beside it.
            if *how != "prod" {
                assert_eq!(lab.text("shown(h)"), *gradients, "{how} {own}, recorded, on {place}");
            }
        }
    });
}

/// Second derivatives along a direction, where factors are 0, one or several at a place: central differences of the
/// gradient are exact but for rounding, as products are linear in each factor.
#[test]
fn products_have_second_derivatives_at_zeros() {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "let at = tensor([0, 0, 1, 1, 1, 2]); let s = tensor([0.0, 3.0, 0.0, 0.0, 5.0, 2.0], #{dtype: float64});
         let x = tensor([2.0, 0.0, 7.0], #{dtype: float64}); let w = tensor([1.0, 2.0, 3.0], #{dtype: float64});
         let s_to = tensor([0.3, -0.1, 0.7, 0.2, -0.5, 0.9], #{dtype: float64}); let x_to = tensor([0.4, -0.8, 0.6], #{dtype: float64});
         fn first(x, s, at, w, own, graph) {
             let x = x.requires_grad_(); let s = s.requires_grad_();
             let y = x.scatter_reduce(0, at, s, \"prod\", #{include_self: own});
             [x, s, autograd::grad((y * w).sum(), [x, s], #{create_graph: graph})]
         }
         fn differ(x, s, x_to, s_to, at, w, own) {
             let all = first(x.clone(), s.clone(), at, w, own, true);
             let along = (all[2][0] * x_to).sum() + (all[2][1] * s_to).sum();
             let second = autograd::grad(along, [all[0], all[1]], #{allow_unused: true});
             let h = 1e-4;
             let up = first(x + h * x_to, s + h * s_to, at, w, own, false)[2];
             let down = first(x - h * x_to, s - h * s_to, at, w, own, false)[2];
             let worst = 0.0;
             for i in 0..2 {
                 if second[i] == () { continue; }
                 let difference = (up[i] - down[i]) / (2.0 * h);
                 worst = max(worst, (difference - second[i]).abs().max().item());
             }
             [worst, second[1].abs().max().item()]
         }",
    );
    for own in ["true", "false"] {
        let shown =
            lab.text(&format!("let d = differ(x, s, x_to, s_to, at, w, {own}); [d[0] < 1e-6, d[1] > 1.0]"));
        assert_eq!(shown, "[true, true]", "include_self {own}");
    }
}

#[test]
fn whole_numbers_and_halves_are_reduced() {
    on_both(|lab, place| {
        for (how, with, alone) in [
            ("sum", "[10, 150, 0, 6]", "[9, 50, 0, 3]"),
            ("prod", "[14, 0, 0, 9]", "[14, 0, 0, 3]"),
            ("amax", "[7, 100, 0, 3]", "[7, 50, 0, 3]"),
            ("amin", "[1, 0, 0, 3]", "[2, 0, 0, 3]"),
        ] {
            for dtype in ["int16", "int32", "int64", "uint8", "float16", "bfloat16", "float64"] {
                lab.run(&format!(
                    "let t = tensor([1, 100, 0, 3], #{{dtype: {dtype}}}).to(\"{place}\");
                     let s = tensor([2, 50, 0, 7, 3], #{{dtype: {dtype}}}).to(\"{place}\");
                     let j = tensor([0, 1, 1, 0, 3]).to(\"{place}\");"
                ));
                for (own, want) in [(true, with), (false, alone)] {
                    let code = format!("t.scatter_reduce(0, j, s, \"{how}\", #{{include_self: {own}}})");
                    assert_eq!(lab.text(&format!("{code}.dtype")), format!("torch.{dtype}"));
                    assert_eq!(
                        lab.text(&format!("{code}.long().tolist()")),
                        want,
                        "{how} {own} {dtype} on {place}"
                    );
                    if how != "sum" {
                        let code = code.replace("scatter_reduce", "index_reduce");
                        assert_eq!(
                            lab.text(&format!("{code}.long().tolist()")),
                            want,
                            "{code} {dtype} on {place}"
                        );
                    }
                }
            }
            let flags = "tensor([true, true, false, true]).scatter_reduce(0, j.cpu(), s.cpu().bool(), ";
            let last = if how == "sum" || how == "amax" { "true" } else { "false" };
            assert_eq!(
                lab.text(&format!("{flags}\"{how}\").tolist()")),
                format!("[true, {last}, false, true]"),
                "{how}"
            );
        }
    });
}

/// An index that is the same for a whole row goes another way than one that is written out.
#[test]
fn an_index_of_whole_rows_is_that_of_its_elements() {
    let mut lab = Lab::on("cpu");
    lab.run(
        "manual_seed(3); let x = randn([7, 5, 33]); let at = randint(0, 7, [40]); let v = randn([40, 5, 33]);
         let wide = at.reshape([40, 1, 1]).expand([40, 5, 33]); let whole = wide.contiguous();
         let turned = v.transpose(0, 2).contiguous().transpose(0, 2);",
    );
    for call in [
        "x.scatter_add(0, AT, v)",
        "x.scatter_add(0, AT, turned)",
        "x.scatter(0, AT, v)",
        "x.scatter(0, AT, 2.5)",
        "x.scatter_reduce(0, AT, v, \"amax\")",
        "x.scatter_reduce(0, AT, v, \"amin\", #{include_self: false})",
        "x.scatter_reduce(0, AT, v, \"prod\")",
        "x.scatter_reduce(0, AT, v, \"mean\")",
        "x.transpose(0, 1).scatter_add(1, AT.transpose(0, 1), v.transpose(0, 1))",
        "x.half().scatter_reduce(0, AT, v.half(), \"prod\")",
        // Along the last dimension, and where a result lies in another order.
        "x.permute([1, 2, 0]).scatter_add(2, AT.permute([1, 2, 0]), v.permute([1, 2, 0]))",
        "x.permute([1, 2, 0]).clone().scatter_(2, AT.permute([1, 2, 0]), v.permute([1, 2, 0]))",
        "x.permute([2, 0, 1]).clone().scatter_add_(1, AT.permute([2, 0, 1]), v.permute([2, 0, 1]))",
    ] {
        let with = |at: &str| call.replace("AT", at);
        assert_eq!(lab.text(&format!("{}.equal({})", with("wide"), with("whole"))), "true", "{call}");
    }
    let (error, _) = lab.error("x.scatter_add(0, tensor([7]).reshape([1, 1, 1]).expand([40, 5, 33]), v)");
    assert!(error.contains("index 7 is out of bounds for dimension 0 with size 7"), "{error}");
}

#[test]
fn nothing_that_is_sent_has_a_gradient_of_nothing() {
    on_both(|lab, place| {
        for how in ["sum", "prod", "mean", "amax", "amin"] {
            lab.run(&format!(
                "let a = ones([3], #{{device: \"{place}\"}}).requires_grad_();
                 let b = zeros([0], #{{device: \"{place}\"}}).requires_grad_();
                 let none = zeros([0], #{{dtype: int64, device: \"{place}\"}});"
            ));
            let calls = [("scatter_reduce", true), ("index_reduce", how != "sum")];
            for (name, _) in calls.iter().filter(|(_, there)| *there) {
                let code = format!(
                    "autograd::grad(a.{name}(0, none, b, \"{how}\").sum(), [a, b]).map(|g| g.tolist())"
                );
                assert_eq!(lab.text(&code), "[[1.0, 1.0, 1.0], []]", "{name} {how} on {place}");
            }
        }
        // An index of nothing may be of any dtype, as in PyTorch.
        assert_eq!(lab.text("ones(3).scatter(0, zeros(0), ones(3)).tolist()"), "[1.0, 1.0, 1.0]");
    });
}

#[test]
fn what_pytorch_does_not_combine_is_refused() {
    let mut lab = Lab::on("cpu");
    lab.run("let t = ones([3], #{dtype: bool}); let i = tensor([0, 2, 1]); let f = ones(3);");
    for (code, want) in [
        (
            "t.scatter_reduce(0, i, t, \"mean\")",
            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'",
        ),
        ("t.index_reduce(0, i, t, \"amax\")", "\"index_func_\" not implemented for 'Bool'"),
        ("f.take_along_dim(i.int(), 0)", "dtype of indices should be Long but got Int"),
        (
            "f.index_put_([i], tensor(1))",
            "Index put requires the source and destination dtypes match, got Float for the destination and Long for the \
             source.",
        ),
        ("f[i] = tensor(1.0, #{dtype: float64})", "got Float for the destination and Double for the source"),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}: {error}");
    }
    for (code, want) in [
        ("zeros(4, 4).addmv(ones(4, 4), ones(4))", "vector + matrix @ vector expected, got 2, 2, 1"),
        (
            "zeros(2, 2).scatter_reduce(0, ones([3, 3], #{dtype: int64}), ones(3, 3), \"amin\", #{include_self: false})",
            "Expected index [3, 3] to be no larger than self [2, 2] apart from dimension 0",
        ),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}: {error}");
    }
    assert_eq!(
        lab.text("ones(2).scatter_reduce(0, tensor([0, 0]), ones(2) * 3, \"max\").tolist()"),
        "[3.0, 1.0]"
    );
    // The factor of a row that does not count has no gradient, whatever stands in the row.
    let padded = "let p = ones(2).requires_grad_(); let t = tensor([[0.0 / 0.0], [1.0]]);
        let y = F::embedding_bag(tensor([0, 1]), t, tensor([0]), #{mode: \"sum\", per_sample_weights: p, padding_idx: 0});
        autograd::grad(y.sum(), p)[0].tolist()";
    assert_eq!(lab.text(padded), "[0.0, 1.0]");
    lab.run("f[f > 0] = tensor(2); let n = tensor([10, 20, 30]);");
    assert_eq!(lab.text("f.tolist()"), "[2.0, 2.0, 2.0]");
    // The factor of whole numbers loses its fraction.
    assert_eq!(
        lab.text("zeros([3], #{dtype: int64}).index_add(0, i, n, #{alpha: 1.5}).tolist()"),
        "[10, 30, 20]"
    );
    assert_eq!(
        lab.text("zeros([3], #{dtype: int64}).index_add(0, i, n, #{alpha: 0.5}).tolist()"),
        "[0, 0, 0]"
    );
}

/// Bags of every size and width, in each way to give them, against rows that are looked up and reduced one by one.
#[test]
fn bags_are_their_rows_reduced() {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "fn check(width, how, padding, dtype, place) {
             manual_seed(width);
             let w = randn([9, width], #{dtype: dtype}).to(place).requires_grad_();
             let ids = randint(0, 9, [31]).to(place); let starts = [0, 4, 4, 17, 31];
             let s = randn([31], #{dtype: dtype}).to(place).requires_grad_();
             let options = #{mode: how, include_last_offset: true};
             if padding >= 0 { options.padding_idx = padding; }
             if how == \"sum\" { options.per_sample_weights = s; }
             let y = F::embedding_bag(ids, w, tensor(starts).to(place), options);
             let bags = [];
             for b in 0..4 {
                 let kept = arange(starts[b], starts[b + 1]).to(place);
                 kept = kept[ids[kept] != padding];
                 let rows = w[ids[kept]];
                 let none = w[0] * 0;
                 bags.push(if kept.numel() == 0 { none }
                     else if how == \"sum\" { (rows * s[kept].unsqueeze(1)).sum(0) }
                     else if how == \"mean\" { rows.mean(0) } else { rows.amax(0) });
             }
             let want = stack(bags);
             let g = randn_like(y);
             let inputs = if how == \"sum\" { [w, s] } else { [w] };
             let a = autograd::grad(y, inputs, #{grad_outputs: g}); let b = autograd::grad(want, inputs, #{grad_outputs: g});
             let tolerance = if dtype == float64 { 1e-12 } else { 1e-5 };
             let near = |x, y| allclose(x.double(), y.double(), #{rtol: tolerance, atol: tolerance});
             let same = near.call(y, want) && near.call(a[0], b[0]);
             if how == \"sum\" { same = same && near.call(a[1], b[1]); }
             same && y.dtype == dtype && `${y.grad_fn}`.contains(\"EmbeddingBagBackward0\")
         }",
    );
    for place in ["cpu", "cuda"] {
        for how in ["sum", "mean", "max"] {
            for width in [1, 3, 16, 17, 64, 70, 147] {
                for (padding, dtype) in [(-1, "float32"), (4, "float64")] {
                    let call = format!("check({width}, \"{how}\", {padding}, {dtype}, \"{place}\")");
                    assert_eq!(lab.text(&call), "true", "{call}");
                }
            }
        }
    }
    lab.run("let w = randn([9, 70]).t().contiguous().t(); let ids = randint(0, 9, [4, 5]);");
    for how in ["sum", "mean", "max"] {
        let of = |w: &str| format!("F::embedding_bag(ids, {w}, #{{mode: \"{how}\"}})");
        let rows = if how == "max" { "amax(1)".into() } else { format!("{how}(1)") };
        for w in ["w", "w.contiguous()", "w.bfloat16()", "w.half()", "w.double()"] {
            let code =
                format!("allclose({}.float(), {w}[ids].float().{rows}, #{{rtol: 1e-2, atol: 1e-2}})", of(w));
            assert_eq!(lab.text(&code), "true", "{code}");
        }
        // Whichever way the table lies, to the bit.
        assert_eq!(lab.text(&format!("{}.equal({})", of("w"), of("w.contiguous()"))), "true", "{how}");
    }
}

#[test]
fn bags_that_pytorch_refuses_are_refused() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let w = ones(5, 3); let i = tensor([0, 2, 1]); let o = tensor([0, 2]);");
    for (code, want) in [
        (
            "F::embedding_bag(i, ones([5, 3]).long(), o)",
            "Half, BFloat16, Float, Double; but got torch.LongTensor instead",
        ),
        ("F::embedding_bag(i, ones(5), o)", "weight has to be a 2D Tensor, but got Tensor of dimension 1"),
        (
            "F::embedding_bag(i, w, o, #{mode: \"max\", scale_grad_by_freq: true})",
            "max mode does not support scaling the gradient by the frequency",
        ),
        (
            "F::embedding_bag(i, w, o, #{mode: \"sum\", per_sample_weights: ones(3).double()})",
            "type torch.FloatTensor does not equal torch.DoubleTensor",
        ),
        (
            "F::embedding_bag(tensor([0, 5]), w, tensor([0]))",
            "Index 1 of input takes value 5 which is not in the valid",
        ),
        ("F::embedding_bag(i, w, tensor([1, 2]))", "offsets[0] has to be 0"),
        ("F::embedding_bag(i, w, tensor([0, 4]))", "offsets[-1] can not be greater than input's length 3"),
        ("F::embedding_bag(i, w, tensor([0, 2, 1]))", "the offsets of bags must not decrease"),
        ("F::embedding_bag(i, w.cuda(), o)", "cpu"),
        ("F::embedding_bag(tensor([0, 7]).cuda(), w.cuda(), tensor([0]).cuda())", "7"),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}: {error}");
    }
    // On a GPU nobody looks at the offsets: the first bag begins with the first index.
    assert_eq!(
        lab.text(
            "let v = arange(5.0).unsqueeze(1).cuda().requires_grad_();
             let y = F::embedding_bag(tensor([0, 1, 2, 3]).cuda(), v, tensor([2, 3]).cuda(), #{mode: \"sum\"});
             [y.tolist(), autograd::grad((y * tensor([[1.0], [5.0]]).cuda()).sum(), v)[0].view(5).tolist()]"
        ),
        "[[[3.0], [3.0]], [1.0, 1.0, 1.0, 5.0, 0.0]]"
    );
    // No bags at all.
    for how in ["sum", "mean", "max"] {
        let code = format!(
            "let v = ones(5, 3).requires_grad_(); let y = F::embedding_bag(i, v, tensor([]).long(), #{{mode: \"{how}\"}});
             [y.shape, autograd::grad(y.sum(), v)[0].abs().sum().item()]"
        );
        assert_eq!(lab.text(&code), "[[0, 3], 0.0]", "{how}");
    }
    let (error, _) = lab.error("F::embedding_bag(i, w, tensor([]).long(), #{include_last_offset: true})");
    assert!(error.contains("include_last_offset: number of offset should be at least 1"), "{error}");
    lab.run("let none = zeros([0], #{dtype: int64});");
    for how in ["sum", "mean", "max"] {
        let code = format!("F::embedding_bag(none, w.requires_grad_(), tensor([0]), #{{mode: \"{how}\"}})");
        assert_eq!(lab.text(&format!("{code}.tolist()")), "[[0.0, 0.0, 0.0]]");
        assert!(lab.text(&format!("{code}.grad_fn")).contains("EmbeddingBagBackward0"), "{how}");
    }
}
