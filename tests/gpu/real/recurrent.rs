//! LSTMs, whose steps are a product and a kernel each. The CPU engine is the reference.

use super::large::compared;

#[test]
#[ignore = "needs a GPU"]
fn sequences_through_lstms() {
    compared(
        "manual_seed(11);
        matmul::allow_tf32(false);
        let pass = |net, x, state, all| {
            let leaves = [x] + state;
            let leaves = leaves.map(|t| t.detach().requires_grad_());
            let out = net.forward(leaves[0], [leaves[1], leaves[2]]);
            let loss = out[0].sin().sum() + out[1][1].cos().sum();
            if all { loss += out[1][0].square().sum(); }
            net.zero_grad();
            loss.backward();
            [out[0].detach(), out[1][0].detach(), out[1][1].detach()] + leaves.map(|t| t.grad) + net.parameters().map(|p| p.grad)
        };
        for dtype in [float64, float32, bfloat16] {
            let bound = switch dtype.to_string() { \"torch.float64\" => 1e-10, \"torch.float32\" => 2e-4, _ => 1e-1 };
            for options in [#{}, #{num_layers: 2, bidirectional: true}, #{bias: false}, #{batch_first: true, num_layers: 2}] {
                for sizes in [[1, 1, 3, 5], [7, 4, 16, 33], [20, 3, 8, 64]] {
                    let net = nn::LSTM(sizes[2], sizes[3], options).to(dtype);
                    let there = nn::LSTM(sizes[2], sizes[3], options).to(dtype).cuda();
                    there.load_state_dict(net.state_dict());
                    let x = randn([sizes[0], sizes[1], sizes[2]]);
                    if \"batch_first\" in options { x = x.transpose(0, 1); }
                    let count = (options.num_layers ?? 1) * (if \"bidirectional\" in options { 2 } else { 1 });
                    let state = [randn([count, sizes[1], sizes[3]]), randn([count, sizes[1], sizes[3]])];
                    for all in [true, false] {
                        let want = pass.call(net, x.to(dtype), state.map(|t| t.to(dtype)), all);
                        for enabled in [true, false] {
                            cudnn::enabled(enabled);
                            let got = pass.call(there, x.to(dtype).cuda(), state.map(|t| t.to(dtype).cuda()), all);
                            for i in 0..want.len() {
                                check(wrong, `${sizes} ${options} ${dtype} ${enabled}, output ${i}`, got[i], want[i], bound, bound);
                            }
                        }
                    }
                }
            }
        }
        cudnn::enabled(true);",
    );
}
