//! Sizes at which kernels take their other ways: long lines, many blocks, 64-bit indices. The CPU engine is the reference.

use super::on_gpu;

/// Runs `body`, which calls `check(label, got, want, rtol, atol)` and `equal(label, got, want)`, and prints what is wrong.
pub(super) fn compared(body: &str) {
    let code = format!(
        "let d = #{{device: \"cuda\"}};
         let wrong = [];
         fn check(wrong, label, got, want, rtol, atol) {{
             if got.dtype.to_string() != want.dtype.to_string() || !allclose(got.cpu().double(), want.double(), #{{rtol: rtol, atol: atol}}) {{
                 let off = (got.cpu().double() - want.double()).abs().max().item();
                 wrong.push(`${{label}}: off by ${{off}}`);
             }}
         }}
         fn equal(wrong, label, got, want) {{
             if got != want {{ wrong.push(`${{label}}: ${{got}}, not ${{want}}`); }}
         }}
         {body}
         wrong"
    );
    assert_eq!(on_gpu(&code), "[]");
}

const TOLERANCE: &str = "
    fn rtol(dtype) { switch dtype.to_string() { \"torch.float64\" => 1e-10, \"torch.float32\" => 3e-5, _ => 4e-3 } }";

#[test]
#[ignore = "needs a GPU"]
fn long_lines() {
    compared(&format!(
        "{TOLERANCE}
        manual_seed(1);
        for dtype in [float64, float32, float16] {{
            for shape in [[5, 4097], [3, 8193], [2, 100003], [4097, 5], [8193, 40], [100003, 33]] {{
                let x = randn(shape).to(dtype);
                let g = x.cuda();
                for dim in 0..2 {{
                    let ops = #{{
                        softmax: |x| x.softmax(dim), log_softmax: |x| x.log_softmax(dim),
                        sum: |x| x.sum(dim), mean: |x| x.mean(dim), logsumexp: |x| x.logsumexp(dim),
                        cumsum: |x| x.cumsum(dim), amax: |x| x.amax(dim), argmax: |x| x.argmax(dim), norm: |x| x.norm(2, dim),
                        var: |x| x.var(dim), softmax_grad: |x| {{
                            let y = x.clone().requires_grad_();
                            (y.softmax(dim) * x.cos()).sum().backward();
                            y.grad
                        }},
                    }};
                    for name in ops.keys() {{
                        let op = ops[name];
                        let atol = if name == \"cumsum\" || name == \"sum\" {{ 40.0 * rtol(dtype) }} else {{ 2.0 * rtol(dtype) }};
                        check(wrong, `${{name}} ${{dim}} of ${{shape}} ${{dtype}}`, op.call(g), op.call(x), rtol(dtype), atol);
                    }}
                }}
            }}
        }}"
    ));
}

#[test]
#[ignore = "needs a GPU"]
fn layer_norm_of_long_rows() {
    compared(&format!(
        "{TOLERANCE}
        manual_seed(2);
        for dtype in [float64, float32, float16] {{
            for shape in [[300, 1000], [7, 4097], [3, 8193], [2, 100003]] {{
                let all = [randn(shape), randn([shape[1]]), randn([shape[1]])].map(|t| t.to(dtype));
                let grads = |all| {{
                    let leaves = all.map(|t| t.clone().requires_grad_());
                    let y = F::layer_norm(leaves[0], [shape[1]], leaves[1], leaves[2]);
                    (y * y.detach().cos()).sum().backward();
                    [y.detach()] + leaves.map(|t| t.grad)
                }};
                let want = grads.call(all);
                let got = grads.call(all.map(|t| t.cuda()));
                for i in 0..4 {{
                    check(wrong, `output ${{i}} of ${{shape}} ${{dtype}}`, got[i], want[i], 4.0 * rtol(dtype), 30.0 * rtol(dtype));
                }}
            }}
        }}"
    ));
}

#[test]
#[ignore = "needs a GPU"]
fn running_sums_and_what_is_made_of_them() {
    compared(
        "manual_seed(3);
        for n in [1, 31, 2047, 2048, 2049, 65_537, 3_000_001] {
            let x = randint(-9, 10, [n]);
            let g = x.cuda();
            check(wrong, `cumsum of ${n}`, g.cumsum(0), x.cumsum(0), 0.0, 0.0);
            check(wrong, `nonzero of ${n}`, g.nonzero(), x.nonzero(), 0.0, 0.0);
            check(wrong, `mask of ${n}`, g[g > 3], x[x > 3], 0.0, 0.0);
            check(wrong, `in float32 of ${n}`, g.float().cumsum(0), x.float().cumsum(0), 1e-6, 1e-6);
            let y = (1.0 + x.double() / 1e5);
            check(wrong, `cumprod of ${n}`, y.cuda().cumprod(0), y.cumprod(0), 1e-11, 0.0);
        }
        let x = randn([100_003, 3]);
        check(wrong, \"down three columns\", x.cuda().cumsum(0), x.cumsum(0), 1e-5, 1e-3);
        check(wrong, \"along transposed rows\", x.cuda().T.cumsum(1), x.T.cumsum(1), 1e-5, 1e-3);",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn sorts_and_what_is_made_of_them() {
    compared(
        "manual_seed(6);
        for dtype in [float32, float64, float16, bfloat16, int64, int32, uint8] {
            for shape in [[5], [40, 1000], [2048], [2049], [100_003], [3, 70_000], [30_000, 3]] {
                // Many equal ones.
                let x = (randn(shape) * 50.0).round().abs().to(dtype);
                let g = x.cuda();
                for descending in [false, true] {
                    for dim in 0..shape.len() {
                        let got = g.sort(dim, descending);
                        let want = x.sort(dim, descending);
                        check(wrong, `sort ${dim} ${shape} ${dtype}`, got.values, want.values, 0.0, 0.0);
                        check(wrong, `places ${dim} ${shape} ${dtype}`, got.indices, want.indices, 0.0, 0.0);
                    }
                }
                let k = min(5, shape[shape.len() - 1]);
                check(wrong, `topk ${shape} ${dtype}`, g.topk(k).values, x.topk(k).values, 0.0, 0.0);
                check(wrong, `unique ${shape} ${dtype}`, g.unique(), x.unique(), 0.0, 0.0);
            }
        }
        let x = randn([1_000_000]);
        x[[5]] = 0.0 / 0.0;
        x[[6]] = -0.0;
        check(wrong, \"not a number\", x.cuda().sort().indices, x.sort().indices, 0.0, 0.0);
        check(wrong, \"median\", x[7..].cuda().median(), x[7..].median(), 0.0, 0.0);
        let table = randn([5000, 256]);
        let index = randint(0, 5000, [3000]);
        for dtype in [float32, float16, uint8] {
            let t = table.to(dtype);
            check(wrong, `rows in ${dtype}`, t.cuda().index_select(0, index.cuda()), t.index_select(0, index), 0.0, 0.0);
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn products_of_views() {
    compared(
        "manual_seed(4);
        matmul::allow_tf32(false);
        let x = randn([3, 50, 8, 64]);
        let heads = |x| x.transpose(1, 2);
        for dtype in [float32, bfloat16] {
            let bounds = if dtype.to_string() == \"torch.float32\" { [1e-4, 1e-4] } else { [2e-2, 2e-1] };
            let both = [x.to(dtype), x.to(dtype).cuda()];
            let ops = #{
                scores: |x| heads.call(x).matmul(heads.call(x).transpose(-2, -1)),
                broadcast: |x| heads.call(x).matmul(x[0][0].T),
                repeated: |x| x[[0]].matmul(x.transpose(-2, -1)),
                attention: |x| F::scaled_dot_product_attention(heads.call(x), heads.call(x), heads.call(x)),
                gradient: |x| {
                    let y = x.clone().requires_grad_();
                    F::scaled_dot_product_attention(heads.call(y), heads.call(y), heads.call(y)).square().sum().backward();
                    y.grad
                },
            };
            for name in ops.keys() {
                let op = ops[name];
                check(wrong, `${name} in ${dtype}`, op.call(both[1]), op.call(both[0]), bounds[0], bounds[1]);
            }
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn convolutions_keep_to_float32_and_follow_their_switches() {
    compared(
        "manual_seed(5);
        cudnn::allow_tf32(false);
        let x = randn([8, 32, 30, 30]);
        let all = [
            [x, randn([64, 32, 3, 3]), #{padding: 1}], [x, randn([64, 32, 1, 1]), #{}], [x, randn([32, 1, 5, 5]), #{groups: 32, padding: 2}],
            [x, randn([16, 32, 3, 3]), #{stride: 2, dilation: 2}],
        ];
        for way in 0..3 {
            cudnn::benchmark(way == 1);
            cudnn::deterministic(way == 2);
            for i in 0..all.len() {
                let made = |x, w| {
                    let leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()];
                    let y = F::conv2d(leaves[0], leaves[1], all[i][2]);
                    (y * y.detach().cos()).sum().backward();
                    [y.detach(), leaves[0].grad, leaves[1].grad]
                };
                let want = made.call(all[i][0], all[i][1]);
                let got = made.call(all[i][0].cuda(), all[i][1].cuda());
                for k in 0..3 {
                    check(wrong, `convolution ${i}, way ${way}, output ${k}`, got[k], want[k], 1e-4, 1e-3);
                }
            }
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn gradients_of_embeddings_in_half_precision() {
    compared(
        "for dtype in [float16, bfloat16] {
            let w = zeros([3, 40], #{dtype: dtype, device: \"cuda\"}).requires_grad_();
            let index = zeros([5000], #{dtype: int64, device: \"cuda\"});
            F::embedding(index, w).sum().backward();
            check(wrong, `5000 equal indices in ${dtype}`, w.grad[0], full([40], 5000.0).to(dtype), 0.0, 0.0);
        }",
    );
}

/// Memory for some 40 GB.
#[test]
#[ignore = "needs a GPU"]
fn more_elements_than_32_bits_count() {
    compared(
        "for n in [(1 << 31) + 3, (1 << 32) + 5] {
            let x = ones([n], #{dtype: uint8, device: \"cuda\"});
            equal(wrong, `sum of ${n}`, x.sum().item(), n);
            x[n - 1] = 7;
            equal(wrong, `argmax of ${n}`, x.argmax().item(), n - 1);
            let y = x + x;
            equal(wrong, `last sum of ${n}`, y[n - 1].item(), 14);
            equal(wrong, `sum of sums of ${n}`, y.sum().item(), 2 * n + 12);
            y = ();
            let c = x.clone();
            equal(wrong, `copy of ${n}`, [c[n - 1].item(), c.sum().item()], [7, n + 6]);
            c = ();
            let index = tensor([n - 1, 0, n - 2]).cuda();
            equal(wrong, `index_select of ${n}`, x.index_select(0, index).cpu().tolist(), [7, 1, 1]);
            equal(wrong, `gather of ${n}`, x.gather(0, index).cpu().tolist(), [7, 1, 1]);
            x = ();
            let h = full([n], 0.5, #{dtype: float16, device: \"cuda\"});
            equal(wrong, `float16 of ${n}`, [(h * 2.0).sum(#{dtype: float32}).item() / n, h.cumsum(0, #{dtype: float64})[n - 1].item()], [1.0, n * 0.5]);
            h = ();
            cuda::empty_cache();
        }
        let n = (1 << 31) + 3;
        let a = arange(n, d);
        equal(wrong, \"arange\", [a[0].item(), a[n - 1].item(), a[1 << 31].item()], [0, n - 1, 1 << 31]);
        let row = zeros([2, n / 2], #{dtype: uint8, device: \"cuda\"});
        row[1] = 1;
        equal(wrong, \"rows\", row.sum(1).cpu().tolist(), [0, n / 2]);
        equal(wrong, \"columns\", row.sum(0).max().item(), 1);",
    );
}
