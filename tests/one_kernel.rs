//! Operations that are one kernel on a GPU and several here: a simulated one shows the one, with the memory that it keeps for
//! the backward pass, and the same values as the CPU.

/// A call of tensors of 64 x 1024 numbers and the like, and what is held after it beside its inputs: the result, and what
/// the graph keeps. Counted in PyTorch 2.15 by `saved_tensors_hooks`, each storage once and rounded as by the allocator.
/// Statistics of rows, which kernels of a GPU keep alone, are added.
const KEPT: [(&str, &str, u64); 33] = [
    ("x", "F::hardswish(x)", 262_144),
    ("x", "F::hardsigmoid(x)", 262_144),
    ("x", "F::celu(x, 0.5)", 262_144),
    ("x", "F::selu(x)", 262_144),
    ("x", "F::glu(x, 1)", 131_072),
    ("x", "F::logsigmoid(x)", 262_144),
    ("x", "F::softshrink(x)", 262_144),
    ("x", "F::hardshrink(x)", 262_144),
    ("x", "F::threshold(x, 0.5, 2.0)", 262_144),
    ("image, channels", "F::prelu(image, channels)", 262_144),
    ("x, w", "F::rms_norm(x, [1024], w)", 262_144 + 512),
    ("x", "F::rms_norm(x, [1024])", 262_144 + 512),
    ("image", "F::group_norm(image, 4)", 262_144 + 2 * 512),
    ("image, channels, offsets", "F::group_norm(image, 4, channels, offsets)", 262_144 + 2 * 512),
    ("x, t", "F::l1_loss(x, t)", 262_144 + 512),
    ("x, t", "F::l1_loss(x, t, #{reduction: \"none\"})", 2 * 262_144),
    ("x, t", "F::binary_cross_entropy_with_logits(x, t, #{pos_weight: w})", 512),
    ("x, t", "F::binary_cross_entropy_with_logits(x, t, w)", 512),
    ("x, t", "F::soft_margin_loss(x, t, #{reduction: \"none\"})", 262_144),
    ("x, classes", "F::multi_margin_loss(x, classes)", 512),
    ("few", "F::multilabel_margin_loss(few, many)", 16_384 + 512),
    ("image", "F::interpolate(image, #{scale_factor: 2.0})", 4 * 262_144),
    ("image", "F::interpolate(image, #{scale_factor: 2.0, mode: \"bilinear\"})", 4 * 262_144),
    ("image", "F::interpolate(image, #{scale_factor: 2.0, mode: \"bicubic\"})", 4 * 262_144),
    ("image, grid", "F::grid_sample(image, grid, #{align_corners: false})", 262_144),
    ("x", "x.logcumsumexp(1)", 262_144),
    ("x", "x.cummax(1).values", 3 * 262_144),
    ("x", "searchsorted(w.detach(), x.detach())", 2 * 262_144),
    ("q, k, v", "F::scaled_dot_product_attention(q, k, v)", 262_144 + 4096),
    ("q, k, v", "F::scaled_dot_product_attention(q, k, v, #{is_causal: true})", 262_144 + 4096),
    ("q, k, v", "F::scaled_dot_product_attention(q, k, v, #{dropout_p: 0.5})", 262_144 + 4096),
    ("q", "F::scaled_dot_product_attention(q, k, v, #{attn_mask: mask})", 262_144 + 4096),
    ("l", "F::ctc_loss(l, labels, full([16], 50), full([16], 30), #{reduction: \"none\"})", 195_584 + 512),
];

const INPUTS: &str = "manual_seed(0);
    let on = |t| t.to(\"cuda\").requires_grad_(true);
    let x = on.call(randn([64, 1024]));
    let w = on.call(rand([1024]).sort().values);
    let t = rand([64, 1024]).to(\"cuda\");
    let image = on.call(randn([4, 16, 32, 32]));
    let channels = on.call(randn([16]));
    let grid = on.call(rand([4, 32, 32, 2]));
    let classes = (arange(64) % 7).to(\"cuda\");
    let few = on.call(randn([64, 64]));
    let many = (arange(4096) % 9 - 1).reshape([64, 64]).to(\"cuda\");
    let q = on.call(randn([1, 4, 256, 64]));
    let k = on.call(randn([1, 4, 256, 64]));
    let v = on.call(randn([1, 4, 256, 64]));
    let mask = randn([256, 256]).to(\"cuda\");
    let offsets = on.call(randn([16]));
    let l = on.call(randn([50, 16, 20]));
    let labels = (arange(480).reshape([16, 30]) % 19 + 1).to(\"cuda\");
";

/// What a script says of each call, a line each, on a machine with the inputs.
fn told_of_each(of_one: &str, skip: &[&str]) -> Vec<String> {
    let calls = KEPT.iter().filter(|(_, call, _)| !skip.iter().any(|name| call.contains(name)));
    let blocks = calls.map(|(inputs, call, _)| {
        format!("{{ {} }}\n", of_one.replace("CALL", call).replace("INPUTS", inputs))
    });
    let code = format!("{INPUTS} let told = []; {} told", blocks.collect::<String>());
    let shown = crate::parallel::on("sim:t4", &code);
    let lines = shown.trim_matches(['[', ']']).split(", ").map(|line| line.trim_matches('"').to_string());
    lines.collect()
}

#[test]
fn the_graph_keeps_what_pytorchs_keeps() {
    let of_one =
        "let before = cuda::memory_allocated(); let y = CALL; told.push(cuda::memory_allocated() - before);";
    let kept = told_of_each(of_one, &[]);
    assert_eq!(kept.len(), KEPT.len());
    let pairs = KEPT.iter().zip(&kept).filter(|((.., want), kept)| want.to_string() != **kept);
    let wrong: Vec<String> =
        pairs.map(|((_, call, want), kept)| format!("{call}: {kept}, not {want}")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn one_kernel_runs_and_one_for_the_gradient() {
    let of_one = "let y = (); let f = telemetry::record(|| { y = CALL; }).launches; let b = 1;
        if y.requires_grad {
            let of = [INPUTS].filter(|t| t.requires_grad);
            let g = ones_like(y);
            b = telemetry::record(|| { autograd::grad([y], of, [g]); }).launches;
        }
        told.push(`${f} and ${b}`);";
    // PyTorch composes the first, and adds the gradients of the other by a scatter.
    let skip = ["l1_loss", "cummax"];
    let launches = told_of_each(of_one, &skip);
    let calls: Vec<&str> = KEPT
        .iter()
        .map(|(_, call, _)| *call)
        .filter(|call| !skip.iter().any(|name| call.contains(name)))
        .collect();
    assert_eq!(launches.len(), calls.len());
    let wrong: Vec<_> = calls.iter().zip(&launches).filter(|(_, told)| *told != "1 and 1").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn values_and_gradients_are_the_cpus() {
    let of_one = "let y = CALL; told.push(y.detach().double().cpu());
        if y.requires_grad {
            let of = [INPUTS].filter(|t| t.requires_grad);
            for g in autograd::grad([y], of, [cos(y.detach() + 1)]) { told.push(g.double().cpu()); }
        }";
    let blocks: String = KEPT
        .iter()
        .filter(|(_, call, _)| !call.contains("dropout"))
        .map(|(inputs, call, _)| {
            format!("{{ {} }}\n", of_one.replace("CALL", call).replace("INPUTS", inputs))
        })
        .collect();
    let gpu = format!("{INPUTS} let told = []; {blocks}");
    let code = format!(
        "let a = []; let b = []; {{ {gpu} a = told; }} {{ {} b = told; }}
         range(0, a.len()).to_array().filter(|i| !allclose(a[i], b[i], #{{rtol: 1e-4, atol: 1e-5}}))",
        gpu.replace("\"cuda\"", "\"cpu\"")
    );
    assert_eq!(crate::parallel::on("sim:t4", &code), "[]");
}

#[test]
fn second_derivatives_are_the_cpus() {
    let mut wrong = String::new();
    for call in [
        "F::hardswish(x)",
        "F::celu(x)",
        "F::glu(x, 1)",
        "F::rms_norm(x, [8])",
        "F::group_norm(x, 2)",
        "F::interpolate(x.reshape([1, 4, 8]), 16, #{mode: \"linear\"})",
        "x.logcumsumexp(1)",
        "x.cummax(1).values",
        "F::scaled_dot_product_attention(x.reshape([1, 1, 4, 8]), x.reshape([1, 1, 4, 8]), x.reshape([1, 1, 4, 8]))",
        // Given twice, and made of one another.
        "{ let q = x.reshape([1, 1, 4, 8]); F::scaled_dot_product_attention(q, q, q * 2) }",
        "F::rms_norm(x, [4, 8], x)",
        "F::rms_norm(x, [8], x[0] * 2)",
        "{ let y = x * 1; y.register_hook(|g| g * 10); F::celu(y) }",
    ] {
        let code = format!(
            "manual_seed(1); let x = randn([4, 8]).to(\"cuda\").requires_grad_(true);
             let g = autograd::grad([{call}.pow(2).sum()], [x], #{{create_graph: true}})[0];
             cat([g.detach(), autograd::grad([g.pow(2).sum()], [x])[0]]).cpu()"
        );
        let both = format!(
            "allclose({{ {code} }}, {{ {} }}, #{{rtol: 1e-3, atol: 1e-4}})",
            code.replace("\"cuda\"", "\"cpu\"")
        );
        let same = crate::parallel::on("sim:t4", &both);
        if same != "true" {
            wrong += &format!("{call}: {same}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The values between are on no device: neither the peak nor the events know of them.
#[test]
fn nothing_between_lies_in_the_devices_memory() {
    let code = format!(
        "{INPUTS} cuda::reset_peak_memory_stats(); let before = cuda::memory_allocated();
         let r = telemetry::record(|| F::hardswish(x));
         [cuda::max_memory_allocated() - before, r.allocations]"
    );
    assert_eq!(crate::parallel::on("sim:t4", &code), "[262144, 1]");
}

/// A graph is replayed kernel by kernel, and computes the same.
#[test]
fn a_captured_graph_computes_the_same() {
    let code = format!(
        "{INPUTS} let from = x.detach(); let y = F::hardswish(from);
         let g = cuda::graph(|| {{ y = F::hardswish(from); }});
         from.copy_(from * 2); g.replay(); allclose(y, F::hardswish(from))"
    );
    assert_eq!(crate::parallel::on("sim:t4", &code), "true");
}

/// From compute capability 8.0 on halves have PyTorch's flash kernel; without a kernel that takes them the scores are kept.
#[test]
fn attention_has_the_kernel_that_pytorch_chooses() {
    for (device, make, want) in [
        ("sim:a100", "randn([1, 2, 32, 64])", "ScaledDotProductEfficientAttentionBackward0"),
        ("sim:a100", "randn([1, 2, 32, 64]).half()", "ScaledDotProductFlashAttentionBackward0"),
        ("sim:t4", "randn([1, 2, 32, 64]).half()", "ScaledDotProductEfficientAttentionBackward0"),
        ("sim:a100", "randn([1, 2, 32, 6])", "UnsafeViewBackward0"),
        ("sim:t4", "randn([2, 32, 64])", "UnsafeViewBackward0"),
        ("sim:t4", "randn([1, 2, 32, 64]).double()", "UnsafeViewBackward0"),
    ] {
        let code = format!(
            "let q = {make}.to(\"cuda\").requires_grad_(true); \
             `${{F::scaled_dot_product_attention(q, q, q).grad_fn}}`"
        );
        let found = crate::parallel::on(device, &code);
        assert!(found.contains(want), "{device} {make}: {found}");
    }
}
