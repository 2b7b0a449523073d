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
        ("F::max_pool3d(x, 2).sum().backward()", "max_pool3d_with_indices_backward_cuda"),
        ("F::avg_pool3d(x, 2).sum().backward()", "avg_pool3d_backward_cuda"),
        (
            "F::interpolate(x[0], #{size: [8], mode: \"linear\"}).sum().backward()",
            "upsample_linear1d_backward_out_cuda",
        ),
        (
            "F::grid_sample(x, zeros([1, 2, 2, 2], #{device: x.device})).sum().backward()",
            "grid_sampler_2d_backward_cuda",
        ),
        (
            "F::grid_sample(x.reshape([1, 1, 2, 3, 4]), zeros([1, 1, 2, 2, 3], #{device: x.device})).sum().backward()",
            "grid_sampler_3d_backward_cuda",
        ),
        (
            "F::ctc_loss(x.reshape([6, 1, 4]).log_softmax(-1), tensor([[1, 2]]), [6], [2]).backward()",
            "ctc_loss_backward_gpu",
        ),
        (
            "F::embedding_bag(tensor([[0, 1]]).to(x.device), x.reshape([6, 4]), #{mode: \"max\"}).sum().backward()",
            "embedding_bag_backward_cuda_max",
        ),
        ("x.detach().histc(4)", "_histc_cuda with floating point input"),
        ("tensor([0, 1, 1]).to(x.device).bincount(ones([3], #{device: x.device}))", "_bincount_cuda"),
        ("x.median(0)", "median CUDA with indices output"),
        ("x.nanmedian(0)", "median CUDA with indices output"),
        (
            "x.reshape([24]).scatter_reduce(0, zeros([24], #{dtype: int64, device: x.device}), x.reshape([24]), \"prod\")",
            "scatter_reduce_cuda_prod_",
        ),
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

/// What PyTorch computes by other functions once determinism is asked for, or always in one order.
#[test]
fn what_can_be_deterministic_is_no_error() {
    let fixed = [
        "F::interpolate(x, #{size: [6, 8], mode: \"bilinear\"}).sum().backward()",
        "F::interpolate(x.reshape([1, 1, 2, 3, 4]), #{size: [4, 6, 8], mode: \"trilinear\"}).sum().backward()",
        "F::interpolate(x, #{scale_factor: 2.0}).sum().backward()",
        "F::pad(x, [1, 1, 1, 1], \"replicate\").sum().backward()",
        "F::pad(x.reshape([1, 1, 2, 3, 4]), [1, 1, 0, 0, 0, 0], \"replicate\").sum().backward()",
        "nn::ReplicationPad3d(1).forward(x.reshape([1, 1, 2, 3, 4])).sum().backward()",
        "F::interpolate(x, #{size: [6, 8], mode: \"bicubic\"}).sum().backward()",
        "F::pad(x, [1, 1, 1, 1], \"circular\").sum().backward()",
        "x.cumsum(0).sum().backward()",
        "x.median()",
        "x.kthvalue(1)",
        "F::pad(x[0], [1, 1], \"replicate\").sum().backward()",
        "tensor([0, 1, 1]).to(x.device).bincount()",
        "F::embedding_bag(tensor([[0, 1]]).to(x.device), x.reshape([6, 4])).sum().backward()",
        "x.reshape([24]).scatter_reduce(0, zeros([24], #{dtype: int64, device: x.device}), x.reshape([24]), \"sum\")",
    ];
    for body in fixed {
        let code = format!(
            "let x = arange(24, #{{dtype: float32}}).reshape([1, 2, 3, 4]).cuda().requires_grad_(true);
             use_deterministic_algorithms(true);
             let text = \"fine\"; try {{ {body}; }} catch (e) {{ text = e.message; }} text"
        );
        assert_eq!(on("sim:t4", &code), "\"fine\"", "{body}");
    }
    // Asked for too late, the gradient of what was computed otherwise is an error.
    for (body, name) in [
        ("F::interpolate(x, #{size: [6, 8], mode: \"bilinear\"})", "upsample_bilinear2d_backward_out_cuda"),
        ("F::pad(x, [1, 1, 1, 1], \"replicate\")", "replication_pad2d_backward_cuda"),
        (
            "F::pad(x.reshape([1, 1, 2, 3, 4]), [1, 1, 0, 0, 0, 0], \"replicate\")",
            "replication_pad3d_backward_cuda",
        ),
    ] {
        let code = format!(
            "let x = arange(24, #{{dtype: float32}}).reshape([1, 2, 3, 4]).cuda().requires_grad_(true);
             let y = {body};
             use_deterministic_algorithms(true);
             let text = \"fine\"; try {{ y.sum().backward(); }} catch (e) {{ text = e.message; }} text"
        );
        assert!(on("sim:t4", &code).contains(&format!("{name}{TEXT}")), "{}", on("sim:t4", &code));
    }
}

/// As on PyTorch 2.15's CPU: of what is written to one place, which one stays is not fixed anywhere.
#[test]
fn what_writes_to_places_is_an_error_on_the_cpu_too() {
    let pool = |dims: usize| {
        let shape = format!("1, 1{}", ", 4".repeat(dims));
        format!("let p = F::max_pool{dims}d(rand([{shape}]).to(at), 2, #{{return_indices: true}});")
    };
    let mut cases = vec![
        ("zeros(4).to(at).put_(tensor([1]).to(at), ones(1).to(at))".to_owned(), "put_", true),
        ("zeros(4).to(at).put_(tensor([1]).to(at), ones(1).to(at), true)".to_owned(), "put_", false),
    ];
    for dims in 1..=3 {
        for call in [
            format!("F::max_unpool{dims}d(p[0], p[1], 2)"),
            format!("nn::MaxUnpool{dims}d(2).forward(p[0], p[1])"),
        ] {
            cases.push((
                format!("{} {call}", pool(dims)),
                if dims == 3 { "max_unpooling3d_forward_out" } else { "max_unpooling2d_forward_out" },
                true,
            ));
        }
    }
    for (body, name, on_cpu) in cases {
        for device in ["cpu", "cuda"] {
            let code = format!(
                "let at = \"{device}\"; use_deterministic_algorithms(true);
                 let text = \"fine\"; try {{ {body}; }} catch (e) {{ text = e.message; }} text"
            );
            let told = on("sim:t4", &code);
            let refused = told.contains(&format!("\"{name}{TEXT}"));
            assert!(refused == (on_cpu || device == "cuda"), "{body} on {device}: {told}");
            let code = code.replace("(true)", "(true, #{warn_only: true})");
            assert_eq!(on("sim:t4", &code), "\"fine\"", "{body}");
        }
    }
}

/// `torch.utils.deterministic.fill_uninitialized_memory`, which is on.
#[test]
fn memory_that_nothing_was_written_to_is_filled_where_determinism_is_asked_for() {
    for (call, want) in [
        ("empty(2)", "[nan, nan]"),
        ("empty([1, 1], #{dtype: float16})", "[[nan]]"),
        ("empty(1, #{dtype: bfloat16})", "[nan]"),
        ("empty(1, #{dtype: float64})", "[nan]"),
        ("empty(1, #{dtype: int8})", "[127]"),
        ("empty(1, #{dtype: uint8})", "[255]"),
        ("empty(1, #{dtype: int16})", "[32767]"),
        ("empty(1, #{dtype: int32})", "[2147483647]"),
        ("empty(1, #{dtype: int64})", "[9223372036854775807]"),
        ("empty(1, #{dtype: bool})", "[true]"),
        ("empty(0)", "[]"),
        ("empty_like(ones(2))", "[nan, nan]"),
        ("empty_like(ones([2, 2]).t())", "[[nan, nan], [nan, nan]]"),
        ("ones(2).new_empty(1)", "[nan]"),
        ("tensor([1]).new_empty([1])", "[9223372036854775807]"),
    ] {
        for device in ["cpu", "cuda"] {
            let code = format!(
                "set_default_device(\"{device}\"); use_deterministic_algorithms(true); let x = {call}; x.tolist()"
            );
            assert_eq!(on("sim:t4", &code).to_lowercase(), want, "{call} on {device}");
        }
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
