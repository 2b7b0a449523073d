//! Channels of batches, dropout and copies that turn dimensions about one another, at sizes of one block and of many.

use super::large::compared;

#[test]
#[ignore = "needs a GPU"]
fn batch_norms_and_their_gradients() {
    compared(
        "
        let limits = #{\"torch.float64\": 1e-9, \"torch.float32\": 3e-4, \"torch.float16\": 5e-3, \"torch.bfloat16\": 4e-2};
        for dtype in [float64, float32, float16, bfloat16] {
            for shape in [[16, 256, 28, 28], [3, 40, 7], [300, 70], [8, 1, 100, 100], [4, 1000, 3, 5], [128, 4096]] {
                for turn in [false, true] {
                    manual_seed(1);
                    let x = (randn(shape) * 2.0 + 3.0).to(dtype);
                    if turn {
                        if shape.len() < 3 { continue; }
                        x = x.transpose(0, 2).contiguous().transpose(0, 2);
                    }
                    let kept = if dtype == float64 { float64 } else { float32 };
                    let c = [shape[1]];
                    let w = randn(c).to(kept);
                    let b = randn(c).to(kept);
                    let g = randn(shape).to(dtype);
                    let of = |device| {
                        let own = |t| t.to(device).detach().requires_grad_();
                        let x = own.call(x);
                        let w = own.call(w);
                        let b = own.call(b);
                        let mean = zeros(c, #{dtype: kept, device: device});
                        let variance = ones(c, #{dtype: kept, device: device});
                        let y = F::batch_norm(x, mean, variance, w, b, true);
                        y.backward(g.to(device));
                        [y.detach(), mean, variance, x.grad, w.grad, b.grad]
                    };
                    let want = of.call(\"cpu\");
                    let got = of.call(\"cuda\");
                    let limit = limits[dtype.to_string()];
                    for i in 0..want.len() {
                        let most = limit * want[i].double().abs().max().item();
                        check(wrong, `output ${i} of ${shape} ${dtype} ${turn}`, got[i], want[i], 0.0, most);
                    }
                }
            }
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn copies_that_turn_dimensions() {
    compared(
        "
        for dtype in [float32, float64, float16, uint8] {
            for turn in [
                [[5000, 3001], [1, 0]], [[3, 700, 170], [0, 2, 1]], [[400, 3, 660], [2, 1, 0]], [[65, 50, 160], [1, 2, 0]],
                [[2, 3, 100, 17, 64], [4, 2, 0, 1, 3]],
            ] {
                let x = (rand(turn[0]) * 200.0).to(dtype);
                let want = x.permute(turn[1]).contiguous();
                let g = x.cuda();
                check(wrong, `${turn} ${dtype}`, g.permute(turn[1]).contiguous(), want, 0.0, 0.0);
                let into = zeros(want.shape, #{dtype: dtype, device: \"cuda\"});
                into.copy_(g.permute(turn[1]));
                check(wrong, `into ${turn} ${dtype}`, into, want, 0.0, 0.0);
            }
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn dropout_keeps_its_share_and_scales_it() {
    compared(
        "
        for dtype in [float32, float64, float16, bfloat16] {
            for n in [1000003, 4096 * 257, 77] {
                for apart in [false, true] {
                    let x = (rand([n, 2]) + 1.0).to(dtype).cuda();
                    x = if apart { x.select(1, 0) } else { x.select(1, 0).contiguous() };
                    let y = F::dropout(x, 0.25, true);
                    let kept = (y != 0.0).double();
                    let limit = if dtype == bfloat16 { 2e-2 } else if dtype == float16 { 2e-3 } else { 1e-6 };
                    check(wrong, `${dtype} of ${n}, ${apart}`, y.double(), (x.double() * kept / 0.75).cpu(), limit, 0.0);
                    if n > 1000 && abs(kept.mean().item() - 0.75) > 0.003 { wrong.push(`a share of ${kept.mean().item()}`); }
                }
            }
        }",
    );
}
