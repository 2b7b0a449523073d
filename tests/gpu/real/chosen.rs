//! What is chosen by value: places of masks, the first of an order. The CPU engine is the reference.

use super::large::compared;

#[test]
#[ignore = "needs a GPU"]
fn places_of_masks_of_any_size() {
    compared(
        "manual_seed(7);
        for n in [1, 15, 4096, 4097, 100_003, 6_000_001] {
            let x = randn([n + 3]);
            let g = x.cuda();
            let masks = #{
                some: |x| x > 0.1, none: |x| x > 1e9, all: |x| x < 1e9, last: |x| arange(x.shape[0], #{device: x.device}) == x.shape[0] - 1,
            };
            for name in masks.keys() {
                let of = masks[name];
                for first in [0, 3] {
                    let a = x[first..n + first];
                    let b = g[first..n + first];
                    check(wrong, `${name} of ${n} from ${first}`, b[of.call(b)], a[of.call(a)], 0.0, 0.0);
                    check(wrong, `places, ${name} of ${n}`, of.call(b).nonzero(), of.call(a).nonzero(), 0.0, 0.0);
                }
            }
        }
        let x = randn([300, 7, 41]);
        x[[0, 0]] = 0.0 / 0.0;
        let g = x.cuda();
        check(wrong, \"three columns, not a number counts\", (g * (g.abs() > 0.5)).nonzero(), (x * (x.abs() > 0.5)).nonzero(), 0.0, 0.0);
        let t = |x| x.transpose(0, 2);
        check(wrong, \"turned\", t.call(g).masked_select(t.call(g) > 0), t.call(x).masked_select(t.call(x) > 0), 0.0, 0.0);
        check(wrong, \"broadcast\", g.masked_select(g[0] > 0), x.masked_select(x[0] > 0), 0.0, 0.0);
        check(wrong, \"a column\", g[(g.sum(2) > 0).select(1, 3)], x[(x.sum(2) > 0).select(1, 3)], 0.0, 0.0);
        let grads = |x| {
            let y = x.clone().requires_grad_();
            (y[x > 0].square()).sum().backward();
            y.grad
        };
        check(wrong, \"gradient\", grads.call(g[1..]), grads.call(x[1..]), 0.0, 0.0);",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn what_goes_to_one_place_is_added_in_one_order_where_that_is_asked_for() {
    compared(
        "manual_seed(9);
        use_deterministic_algorithms(true);
        for n in [300, 20_000, 1_000_003] {
            for dtype in [float32, float64, float16, bfloat16] {
                let to = randint(0, 40, [n]);
                let x = rand([n]).to(dtype);
                let adds = |to, x| zeros([40], #{dtype: dtype, device: x.device}).index_add(0, to, x);
                let scatters = |to, x| zeros([40], #{dtype: dtype, device: x.device}).scatter_add(0, to, x);
                for name in [\"add\", \"scatter\"] {
                    let f = if name == \"add\" { adds } else { scatters };
                    let first = f.call(to.cuda(), x.cuda());
                    for again in 0..5 {
                        check(wrong, `${name} ${n} ${dtype}, again`, f.call(to.cuda(), x.cuda()), first.cpu(), 0.0, 0.0);
                    }
                    check(wrong, `${name} ${n} ${dtype}`, first, f.call(to, x), 0.0, 0.0);
                }
            }
        }
        use_deterministic_algorithms(false);",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn the_first_of_long_lines() {
    compared(
        "manual_seed(8);
        for dtype in [float32, float64, float16, bfloat16, int64, int32, uint8] {
            for shape in [[2049], [100_003], [1_000_003], [600, 3000], [3, 70_000], [30_000, 3]] {
                // Many equal ones in some, few in others.
                for spread in [3.0, 1e6] {
                    let x = (randn(shape) * spread).round().abs().clamp(0.0, 200.0 * spread).to(dtype);
                    let g = x.cuda();
                    for k in [1, 10, 257, 1000, 1500] {
                        for dim in 0..shape.len() {
                            if k > shape[dim] { continue; }
                            for largest in [true, false] {
                                let got = g.topk(k, dim, largest);
                                let want = x.topk(k, dim, largest);
                                check(wrong, `${k} of ${shape} ${dtype} ${dim} ${largest}`, got.values, want.values, 0.0, 0.0);
                                check(wrong, `places, ${k} of ${shape} ${dtype} ${dim} ${largest}`, got.indices, want.indices, 0.0, 0.0);
                            }
                        }
                    }
                }
            }
        }
        let x = randn([100, 5000]);
        x[0] = 1.0;
        x[1] = 0.0 / 0.0;
        x[2] = -1.0 / 0.0;
        x[3][4000] = 0.0 / 0.0;
        x[3][7] = -0.0;
        for largest in [true, false] {
            check(wrong, `odd ones ${largest}`, x.cuda().topk(20, 1, largest).indices, x.topk(20, 1, largest).indices, 0.0, 0.0);
            let t = x.T;
            check(wrong, `turned ${largest}`, t.cuda().T.contiguous().T.topk(20, 0, largest).indices, t.topk(20, 0, largest).indices, 0.0, 0.0);
        }
        let grads = |x| {
            let y = x.clone().requires_grad_();
            y.topk(20).values.square().sum().backward();
            y.grad
        };
        check(wrong, \"gradient\", grads.call(x[4..].cuda()), grads.call(x[4..]), 0.0, 0.0);",
    );
}
