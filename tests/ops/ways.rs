//! Operations that take another way on a CPU than on a GPU, of many elements than of few, or of what holds NaN than of
//! what does not: the values are the same.

use crate::nn::Lab;

#[test]
fn running_extremes_are_found_where_they_were_last_reached() {
    let mut lab = Lab::on("sim:t4");
    for place in ["cpu", "cuda"] {
        lab.run(&format!("let p = #{{device: \"{place}\"}}; let nan = 0.0 / 0.0; let inf = 1.0 / 0.0;"));
        lab.run("let x = tensor([[1.0, 3.0, 3.0, 2.0], [-inf, nan, 5.0, nan], [-0.0, 0.0, -inf, inf]], p);");
        for (code, want) in [
            (
                "x.cummax(1).values.tolist()",
                "[[1.0, 3.0, 3.0, 3.0], [-inf, nan, nan, nan], [-0.0, 0.0, 0.0, inf]]",
            ),
            ("x.cummax(1).indices.tolist()", "[[0, 1, 2, 2], [0, 1, 1, 3], [0, 1, 1, 3]]"),
            ("x.cummin(-1).indices.tolist()", "[[0, 0, 0, 0], [0, 1, 1, 3], [0, 1, 2, 2]]"),
            ("x.cummax(0).indices.tolist()", "[[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1]]"),
            ("x.cummin(0).indices.tolist()", "[[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 2, 1]]"),
            ("x.t().cummin(0).indices.t().equal(x.cummin(1).indices)", "true"),
            ("x.half().cummax(1).indices.equal(x.cummax(1).indices)", "true"),
            ("x.double().cummax(1).indices.equal(x.cummax(1).indices)", "true"),
            ("tensor([3, -5, 7, -5], p).cummin(0).indices.tolist()", "[0, 1, 1, 3]"),
            ("tensor([-9223372036854775807, 2, 2, 1], p).cummax(0).indices.tolist()", "[0, 1, 2, 2]"),
            ("tensor([false, true, false], p).cummax(0).values.tolist()", "[false, true, true]"),
            ("tensor(2.0, p).cummax(0).indices.tolist()", "0"),
            ("zeros(2, 0, p).cummax(1).values.shape", "[2, 0]"),
        ] {
            assert_eq!(lab.text(code), want, "{code} on {place}");
        }
        lab.run("let y = x.nan_to_num().requires_grad_(); y.cummax(1).values.sum().backward();");
        assert_eq!(lab.text("y.grad[0].tolist()"), "[1.0, 1.0, 2.0, 0.0]", "{place}");
    }
    // Longer than what one thread walks at a time.
    lab.run("let x = (arange(100000) * 7919) % 100003;");
    assert_eq!(lab.text("x.cummax(0).values.equal(x.to(\"cuda\").cummax(0).values.cpu())"), "true");
    assert_eq!(lab.text("x.cummax(0).indices.equal(x.to(\"cuda\").cummax(0).indices.cpu())"), "true");
}

#[test]
fn sums_leave_nan_out_and_nothing_else() {
    let mut lab = Lab::on("sim:t4");
    for place in ["cpu", "cuda"] {
        lab.run(&format!("let p = #{{device: \"{place}\"}}; let nan = 0.0 / 0.0; let inf = 1.0 / 0.0;"));
        lab.run("let x = arange(20.0, p).reshape(2, 10); let y = x.clone(); y[0][3] = nan; y[1][9] = nan;");
        lab.run("let high = x.clone(); high[1][2] = inf; let both = high.clone(); both[1][3] = -inf;");
        for (code, want) in [
            ("x.nansum().item()", "190.0"),
            ("y.nansum().item()", "168.0"),
            ("y.nansum(1).tolist()", "[42.0, 126.0]"),
            ("y.nansum(0, true).shape", "[1, 10]"),
            ("y.nansum(0).tolist()", "[10.0, 12.0, 14.0, 13.0, 18.0, 20.0, 22.0, 24.0, 26.0, 9.0]"),
            ("high.nansum(1).tolist()", "[45.0, inf]"),
            ("both.nansum(1).tolist()", "[45.0, nan]"),
            ("y.nansum(1, #{dtype: int64}).tolist()", "[42, 126]"),
            ("y.half().nansum(1).tolist()", "[42.0, 126.0]"),
            ("y.nanmean(1).tolist()[1]", "14.0"),
            ("zeros(0, p).nansum().item()", "0.0"),
            ("(y * nan).nansum().item()", "0.0"),
            ("tensor([1, 2], p).nansum().item()", "3"),
        ] {
            assert_eq!(lab.text(code), want, "{code} on {place}");
        }
        for (of, want) in [("x", "[2.0, 2.0, 2.0, 2.0]"), ("y", "[2.0, 2.0, 2.0, 0.0]")] {
            lab.run(&format!("let z = {of}.clone().requires_grad_(); (z.nansum(1) * 2).sum().backward();"));
            assert_eq!(lab.text("z.grad[0][0..4].tolist()"), want, "{of} on {place}");
        }
        assert!(lab.text("y.requires_grad_().nansum()").contains("grad_fn=<NansumBackward0>"), "{place}");
    }
}

#[test]
fn distances_of_many_rows_are_those_of_few() {
    let mut lab = Lab::on("cpu");
    lab.run("manual_seed(1); let x = randn(70, 1000); let x = x.double(); let at = triu_indices(70, 70, 1);");
    for p in ["2", "1", "3", "0", "1.0 / 0.0"] {
        lab.run(&format!("let p = {p}; let far = F::pdist(x, p); let w = x.clone().requires_grad_();"));
        assert_eq!(lab.text("far.shape"), "[2415]");
        let apart = "allclose(far, (x[at[0]] - x[at[1]]).norm(p, -1), 1e-12)";
        assert_eq!(lab.text(apart), "true", "norm {p}");
        assert_eq!(
            lab.text("allclose(F::pdist(w, p).detach(), far, 1e-12)"),
            "true",
            "norm {p} with a graph"
        );
    }
    assert_eq!(lab.text("F::pdist(x[0..1]).shape"), "[0]");
    assert_eq!(lab.text("F::pdist(zeros(1, 100000)).shape"), "[0]");
}
