//! `cudnn::`, `matmul::` and determinism.

use super::on;

#[test]
fn switches_have_pytorchs_defaults_and_keep_what_they_are_told() {
    let code = "
        let first = [cudnn::enabled(), cudnn::benchmark(), cudnn::deterministic(), cudnn::allow_tf32(),
                     matmul::allow_tf32(), get_float32_matmul_precision()];
        cudnn::benchmark(true); cudnn::deterministic(true); cudnn::enabled(false); matmul::allow_tf32(true);
        let then = [cudnn::enabled(), cudnn::benchmark(), cudnn::deterministic(), get_float32_matmul_precision()];
        set_float32_matmul_precision(\"highest\");
        [first, then, matmul::allow_tf32()]";
    assert_eq!(
        on("sim:t4", code),
        "[[true, false, false, true, false, \"highest\"], [false, true, true, \"high\"], false]"
    );
}

/// An A100 has TF32 units, a T4 has none: products in float32 take as long there either way.
#[test]
fn tf32_changes_modelled_times_and_no_values() {
    let code = "
        let a = rand([512, 512], #{device: \"cuda\"}); let b = rand([512, 512], #{device: \"cuda\"});
        let time = || timeit(|| a @ b, #{warmup: 1, repeat: 1}).median_ms;
        let plain = a @ b; let slow = time.call();
        matmul::allow_tf32(true);
        let quick = time.call();
        [plain.equal(a @ b), quick < slow, quick == slow]";
    assert_eq!(on("sim:a100-40gb", code), "[true, true, false]");
    assert_eq!(on("sim:t4", code), "[true, false, true]");
}

#[test]
fn convolutions_go_by_cudnns_switch() {
    let code = "
        let x = rand([8, 64, 32, 32], #{device: \"cuda\"}); let w = rand([64, 64, 3, 3], #{device: \"cuda\"});
        let time = || timeit(|| F::conv2d(x, w), #{warmup: 0, repeat: 1}).median_ms;
        let with_tf32 = time.call();
        cudnn::allow_tf32(false);
        let without = time.call();
        cudnn::allow_tf32(true); cudnn::enabled(false);
        let own = time.call();
        matmul::allow_tf32(true);
        [with_tf32 < without, own == without, time.call() == with_tf32]";
    assert_eq!(on("sim:a100-40gb", code), "[true, true, true]");
}

const TEXT: &str = " does not have a deterministic implementation, but you set \
    'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation";

#[test]
fn what_cannot_be_deterministic_is_an_error_on_a_gpu() {
    let cases = [
        ("F::adaptive_avg_pool2d(x, 2).sum().backward()", "adaptive_avg_pool2d_backward_cuda"),
        ("F::pad(x[0][0], [1, 1], \"reflect\").sum().backward()", "reflection_pad1d_backward_out_cuda"),
        ("F::pad(x, [1, 1, 1, 1], \"reflect\").sum().backward()", "reflection_pad2d_backward_cuda"),
        ("F::cross_entropy(x, zeros([1, 3, 4]).long().to(x.device))", "nll_loss2d_forward_out_cuda_template"),
    ];
    for (body, name) in cases {
        let shown = |device: &str, set: &str| {
            let code = format!(
                "let x = arange(24, #{{dtype: float32}}).reshape([1, 2, 3, 4]).to(\"{device}\").requires_grad_(true);
                 {set}
                 let text = \"fine\"; try {{ {body}; }} catch (e) {{ text = e.message; }} text"
            );
            on("sim:t4", &code)
        };
        let required = "use_deterministic_algorithms(true);";
        assert!(shown("cuda", required).contains(&format!("{name}{TEXT}")), "{}", shown("cuda", required));
        assert_eq!(shown("cuda", ""), "\"fine\"", "{body}");
        assert_eq!(shown("cpu", required), "\"fine\"", "{body}");
        let warn = "use_deterministic_algorithms(true, #{warn_only: true});";
        assert_eq!(shown("cuda", warn), "\"fine\"", "{body}");
    }
}

#[test]
fn determinism_is_asked_for_and_told() {
    let code = "
        let seen = [are_deterministic_algorithms_enabled()];
        use_deterministic_algorithms(true, #{warn_only: true});
        seen += are_deterministic_algorithms_enabled(); seen += is_deterministic_algorithms_warn_only_enabled();
        use_deterministic_algorithms(true);
        seen += is_deterministic_algorithms_warn_only_enabled();
        // A single part is a mean, which is deterministic.
        let x = rand([1, 2, 3, 4], #{device: \"cuda\"}).requires_grad_(true);
        F::adaptive_avg_pool2d(x, 1).sum().backward();
        use_deterministic_algorithms(false);
        seen += are_deterministic_algorithms_enabled();
        seen";
    assert_eq!(on("sim:t4", code), "[false, true, true, false, false]");
}
