//! Attention in half precision, whose scores stay on the chip, against the same of float32 numbers, which is made of
//! products and a softmax.

use super::large::compared;

const BOTH_WAYS: &str = "
    fn made(b, h, rows, e, dtype, views) {
        let d = #{device: \"cuda\"};
        if views { randn([b, rows, h, e], d).to(dtype).transpose(1, 2) } else { randn([b, h, rows, e], d).to(dtype) }
    }
    fn attended(all, g, options) {
        let leaves = all.map(|t| t.detach().requires_grad_());
        let y = F::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
        y.backward(g);
        [y.detach()] + leaves.map(|t| t.grad)
    }
    fn both(wrong, label, all, g, options) {
        let bounds = if all[0].dtype.to_string() == \"torch.bfloat16\" { [2e-2, 3e-2] } else { [5e-3, 5e-3] };
        let got = attended(all, g, options);
        let want = attended(all.map(|t| t.float()), g.float(), options);
        for i in 0..4 {
            check(wrong, `${label}, output ${i}`, got[i].float(), want[i].cpu(), bounds[0], bounds[1]);
        }
        got
    }";

#[test]
#[ignore = "needs a GPU"]
fn attention_and_its_gradients() {
    compared(&format!(
        "{BOTH_WAYS}
        manual_seed(9);
        matmul::allow_tf32(false);
        for dtype in [bfloat16, float16] {{
            for sizes in [
                [2, 3, 257, 257, 64], [1, 2, 1000, 777, 64], [2, 1, 64, 4099, 40], [1, 2, 513, 300, 128], [1, 1, 33, 1000, 72],
                [4, 2, 1, 129, 8], [1, 2, 2048, 2048, 64], [1, 2, 1024, 1024, 128], [3, 5, 127, 1, 64],
            ] {{
                let b = sizes[0];
                let h = sizes[1];
                let e = sizes[4];
                for causal in [false, true] {{
                    for views in [false, true] {{
                        let all = [sizes[2], sizes[3], sizes[3]].map(|rows| made(b, h, rows, e, dtype, views));
                        let g = made(b, h, sizes[2], e, dtype, views);
                        both(wrong, `${{sizes}} ${{dtype}} causal ${{causal}} views ${{views}}`, all, g, #{{is_causal: causal}});
                    }}
                }}
            }}
        }}"
    ));
}

#[test]
#[ignore = "needs a GPU"]
fn attention_of_all_kinds_of_operands() {
    compared(&format!(
        "{BOTH_WAYS}
        manual_seed(10);
        matmul::allow_tf32(false);
        let dtype = bfloat16;
        let made = |rows| made(2, 2, rows, 64, dtype, false);
        let all = [made.call(300), made.call(400), made.call(400)];
        let g = made.call(300);
        let once = both(wrong, \"a scale\", all, g, #{{scale: 0.3}});
        let again = both(wrong, \"a scale\", all, g, #{{scale: 0.3}});
        for i in 0..4 {{ check(wrong, `the same again, output ${{i}}`, once[i], again[i].cpu(), 0.0, 0.0); }}
        both(wrong, \"a gradient that is one number\", all, ones([1, 1, 1, 1], #{{device: \"cuda\", dtype: dtype}}).expand([2, 2, 300, 64]), #{{}});
        // Rows that are not aligned, rows with gaps, and repeated ones.
        let wide = all.map(|t| F::pad(t, [1, 7]));
        both(wrong, \"off by one\", wide.map(|t| t.narrow(-1, 1, 64)), g, #{{}});
        both(wrong, \"with gaps\", wide.map(|t| t.narrow(-1, 8, 64)), g, #{{is_causal: true}});
        both(wrong, \"repeated\", [all[0], all[1].narrow(1, 0, 1).expand([2, 2, 400, 64]), all[2]], g, #{{}});
        both(wrong, \"masked\", all, g, #{{attn_mask: rand([300, 400], #{{device: \"cuda\"}}) > 0.01}});
        both(wrong, \"narrow values\", [all[0], all[1], all[2].narrow(-1, 0, 24)], g.narrow(-1, 0, 24), #{{}});
        let flat = all.map(|t| t[0][0]);
        both(wrong, \"two dimensions\", flat, g[0][0], #{{is_causal: true}});
        both(wrong, \"large scores\", all.map(|t| t * 8.0), g, #{{is_causal: true}});
        let twice = |all| {{
            let leaves = all.map(|t| t.detach().requires_grad_());
            let y = F::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2]);
            let first = autograd::grad(y.square().sum(), leaves[0], #{{create_graph: true}});
            first[0].square().sum().backward();
            leaves.map(|t| t.grad)
        }};
        let small = all.map(|t| t.narrow(-2, 0, 40) * 0.5);
        let got = twice.call(small);
        let want = twice.call(small.map(|t| t.float()));
        for i in 0..3 {{ check(wrong, `twice, output ${{i}}`, got[i].float(), want[i].cpu(), 5e-2, 0.2); }}
        let hidden = all.map(|t| t.clone());
        hidden[0][0][0][5] = 0.0 / 0.0;
        let y = F::scaled_dot_product_attention(hidden[0], hidden[1], hidden[2]);
        equal(wrong, \"rows that are not a number\", y.isnan().any(-1).sum().item(), 1);"
    ));
}

/// The widths that warpgroups multiply where the device has them: lengths around those of blocks and tiles, heads as
/// projections leave them, and what tensor maps have no form for.
#[test]
#[ignore = "needs a GPU"]
fn attention_by_warpgroups() {
    compared(&format!(
        "{BOTH_WAYS}
        manual_seed(11);
        matmul::allow_tf32(false);
        for dtype in [bfloat16, float16] {{
            for e in [64, 128] {{
                for sizes in [[1, 1], [128, 161], [130, 64], [193, 400], [7, 320], [300, 65]] {{
                    for causal in [false, true] {{
                        let all = [sizes[0], sizes[1], sizes[1]].map(|rows| made(1, 2, rows, e, dtype, causal));
                        let g = made(1, 2, sizes[0], e, dtype, !causal);
                        both(wrong, `${{sizes}} of ${{e}}, ${{dtype}}, causal ${{causal}}`, all, g, #{{is_causal: causal}});
                    }}
                }}
            }}
            let d = #{{device: \"cuda\"}};
            for e in [64, 128] {{
                let packed = randn([2, 150, 3, 2, e], d).to(dtype);
                let all = [0, 1, 2].map(|i| packed.select(2, i).transpose(1, 2));
                let g = randn([2, 150, 2, e], d).to(dtype).transpose(1, 2);
                both(wrong, `packed, ${{e}}`, all, g, #{{is_causal: true}});
                both(wrong, `every other row, ${{e}}`, all.map(|t| t.unflatten(2, [75, 2]).select(3, 0)), g.unflatten(2, [75, 2]).select(3, 0), #{{}});
                let one = all[1].narrow(0, 0, 1).expand([2, 2, 150, e]);
                both(wrong, `repeated, ${{e}}`, [all[0], one, all[2]], g, #{{}});
                let deep = [0, 1, 2, 3].map(|i| randn([2, 3, 2, 3, 20, e], d).to(dtype));
                let three = deep.map(|t| t.select(3, 1).permute([2, 1, 0, 3, 4]));
                both(wrong, `three dimensions, ${{e}}`, three.extract(0, 3), three[3], #{{is_causal: true}});
                let four = deep.map(|t| t.permute([3, 2, 1, 0, 4, 5]));
                both(wrong, `four dimensions, ${{e}}`, four.extract(0, 3), four[3], #{{}});
                let fixed = all.map(|t| t.clone());
                let got = fixed[0].clone();
                let graph = cuda::graph(|| got.copy_(F::scaled_dot_product_attention(fixed[0], fixed[1], fixed[2])));
                for i in 0..3 {{
                    fixed[0].copy_(all[i]);
                    graph.replay();
                    let want = F::scaled_dot_product_attention(all[i], fixed[1], fixed[2]);
                    check(wrong, `replay ${{i}} of ${{e}}`, got, want.cpu(), 0.0, 0.0);
                }}
            }}
        }}"
    ));
}
