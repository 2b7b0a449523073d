//! What gives memory of its own, also where its arguments leave nothing to do: who writes to it changes nothing else.

use crate::nn::Lab;

/// Calls that PyTorch answers with copies, on `x` of shape `[1, 4, 2, 2]`.
const CALLS: &[&str] = &[
    "x.repeat_interleave(1)",
    "x.repeat_interleave(3, 0)",
    "x.repeat_interleave(1, 1)",
    "x.sum(3, true).repeat_interleave(2, 3)",
    "x.logcumsumexp(0)",
    "linalg::matrix_power(x, 1)",
    "x.matrix_power(1)",
    "F::interpolate(x, #{size: [2, 2]})",
    "F::interpolate(x, #{size: [2, 2], mode: \"bilinear\"})",
    "F::interpolate(x, #{size: [2, 2], mode: \"area\"})",
    "F::interpolate(x, #{size: [2, 2], mode: \"bicubic\"})",
    "nn::Upsample(#{scale_factor: 1}).forward(x)",
    "F::channel_shuffle(x, 1)",
    "F::channel_shuffle(x, 4)",
    "F::pixel_shuffle(x, 1)",
    "F::pixel_unshuffle(x, 1)",
    "F::pad(x, [0, 0, 0, 0])",
    "F::pad(x, [0, 0, 0, 0], #{mode: \"reflect\"})",
    "F::pad(x, [0, 0, 0, 0], #{mode: \"replicate\"})",
    "F::pad(x, [0, 0, 0, 0], #{mode: \"circular\"})",
    "F::max_pool2d(x, 1)",
    "F::avg_pool2d(x, 1)",
    "F::adaptive_avg_pool2d(x, [2, 2])",
    "F::unfold(x, 1)",
    "x.roll(0, 0)",
    "x.flip([0])",
    "x.rot90(0, [2, 3])",
    "x.tile([1])",
    "x.sum(0)",
    "x.cumsum(0)",
    "x.mean(0)",
    "x.amax(0)",
    "cat([x])",
    "stack([x])",
    "x.clamp(-100, 100)",
    "x.tril(9)",
    "x.pow(1)",
    "x.diff(#{n: 0}) + 0",
];

#[test]
fn what_copies_never_shares() {
    for devices in ["cpu", "sim:tiny"] {
        let mut lab = Lab::on(devices);
        let place = if devices == "cpu" { "cpu" } else { "cuda" };
        for call in CALLS {
            lab.run(&format!(
                "let x = arange(16).float().reshape([1, 4, 2, 2]).to(\"{place}\"); let before = x.clone();
                 let y = {call}; y.fill_(77.0); y.add_(1.0);"
            ));
            assert!(
                lab.value("x.equal(before)").as_bool().unwrap(),
                "{call} on {devices} shares the memory of x"
            );
        }
    }
}

#[test]
fn rows_that_are_repeated_take_memory() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = ones([1, 1 << 18]).cuda(); let before = cuda::memory_allocated(); let y = x.repeat_interleave(128, 0);");
    assert_eq!(lab.value("cuda::memory_allocated() - before").as_int().unwrap(), 128 << 20);
}

#[test]
fn a_gpu_looks_up_no_row_before_the_first() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let w = arange(6).float().reshape([3, 2]).cuda(); let at = tensor([-1]).cuda();");
    for call in ["F::embedding(at, w)", "w.index_select(0, at)", "nn::Embedding(3, 2).cuda().forward(at)"] {
        let (text, _) = lab.error(call);
        assert!(text.contains("index out of range in self"), "{call}: {text}");
    }
    // In brackets they count from the end.
    assert_eq!(lab.numbers("w.at([at])"), [4.0, 5.0]);
}
