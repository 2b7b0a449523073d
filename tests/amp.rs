//! Mixed precision against PyTorch: result dtypes under autocast, the cache of casts, gradients, and the scaler.

mod calls;

use std::sync::Arc;

use rhai::{Array, Dynamic};
use serde_json::Value;
use tensorlab::base::DType;
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::core::autocast::{Policy, TABLE};
use tensorlab::script::engine::Stopped;
use tensorlab::script::host::Host;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::tensor::Tensor;

fn interpreter(devices: &str) -> Interpreter {
    let machine = Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine;
    Interpreter::new(machine, Arc::new(Silent), &Limits::default())
}

fn eval(interpreter: &mut Interpreter, code: &str) -> Result<Dynamic, String> {
    interpreter.evaluate(1, &Origin { name: "test", code, first_line: 1 }).map_err(|stopped| match stopped {
        Stopped::Fault(fault) => format!("{}: {}", fault.kind, fault.message),
        Stopped::Cancelled(error) => error.to_string(),
    })
}

/// Evaluates code that must succeed on one simulated GPU.
fn value(code: &str) -> Dynamic {
    eval(&mut interpreter("sim:t4"), code).unwrap_or_else(|e| panic!("{code}: {e}"))
}

fn fault(code: &str) -> String {
    match eval(&mut interpreter("sim:t4"), code) {
        Ok(value) => panic!("{code} gives {value}"),
        Err(text) => text,
    }
}

/// What a golden row calls; `a` and `b` are in the input's dtype, `f` in float32.
fn call(row: &str) -> String {
    let code = match row {
        "matmul" => "a @ b",
        "mm" => "a.mm(b)",
        "bmm" => "c.bmm(e)",
        "linear" => "F::linear(a, b)",
        "addmm" => "addmm(a, a, b)",
        "baddbmm" => "baddbmm(c, c, e)",
        "conv2d" => "F::conv2d(img, k)",
        "conv1d" => "F::conv1d(c, e)",
        "conv_transpose1d" => "F::conv_transpose1d(c, e.transpose(0, 1))",
        "conv_transpose2d" => "F::conv_transpose2d(img, k)",
        "instance_norm" => "F::instance_norm(c)",
        "mv" => "a.mv(b[0])",
        "dist" => "a.dist(b)",
        "dot" => "a[0].dot(b[0])",
        "outer" => "a[0].outer(b[0])",
        "add" => "a + b",
        "mul" => "a * b",
        "div" => "a / b",
        "add float32" => "a + f",
        "mul float32" => "a * f",
        "cat float32" => "cat([a, f])",
        "stack float32" => "stack([a, f])",
        "cat" => "cat([a, b])",
        "stack" => "stack([a, b])",
        "addcmul float32" => "addcmul(a, b, f)",
        "addcdiv" => "addcdiv(a, a, b)",
        "atan2" => "a.atan2(b)",
        "pow" => "a ** 2",
        "cumsum" | "cumprod" | "logsumexp" => return format!("a.{row}(0)"),
        "softmax" | "log_softmax" => return format!("a.{row}(-1)"),
        "layer_norm" => "F::layer_norm(a, [4])",
        "group_norm" => "F::group_norm(a, 2)",
        "batch_norm" => "F::batch_norm(a, (), (), #{training: true})",
        "tensordot" => "tensordot(a, b, 1)",
        "adaptive_avg_pool2d" => "F::adaptive_avg_pool2d(img, 3)",
        "gelu" | "silu" | "softplus" | "logsigmoid" => return format!("F::{row}(a)"),
        "mse_loss"
        | "l1_loss"
        | "smooth_l1_loss"
        | "huber_loss"
        | "kl_div"
        | "binary_cross_entropy"
        | "binary_cross_entropy_with_logits" => return format!("F::{row}(a, b)"),
        "cosine_similarity" => "F::cosine_similarity(a, b)",
        "cross_entropy" | "nll_loss" => return format!("F::{row}(a, t)"),
        "max_pool2d" | "avg_pool2d" => return format!("F::{row}(img, 2)"),
        "dropout" => "F::dropout(a, 0.5)",
        "embedding" => "F::embedding(t, a)",
        "scaled_dot_product_attention" => "F::scaled_dot_product_attention(c, e, c)",
        "einsum" => "einsum(\"ij,jk->ik\", [a, b])",
        "prelu" => "F::prelu(a, tensor([0.1], of))",
        "clamp" => "a.clamp(0.1, 0.9)",
        "transpose" => "a.transpose(0, 1)",
        "add_ in place" => "a.add_(b)",
        "sum dtype float64" => "a.sum(#{dtype: float64})",
        "gather" => "a.gather(1, i)",
        "scatter_add" => "a.scatter_add(1, i, b)",
        "float64 matmul" => "a.double() @ b.double()",
        "conv3d" => "F::conv3d(img.unsqueeze(0), k.unsqueeze(0))",
        "bilinear" => "F::bilinear(a, b, a.reshape([1, 4, 4]))",
        "grid_sample" => "F::grid_sample(img, img.reshape([1, 2, 4, 2]))",
        "renorm" => "a.renorm(2, 0, 1)",
        "max_pool3d" => "F::max_pool3d(img.unsqueeze(0), [1, 2, 2])",
        "avg_pool3d" => "F::avg_pool3d(img.unsqueeze(0), [1, 2, 2])",
        "ctc_loss" => "F::ctc_loss(c, tensor([[1], [2], [3], [1]]), [1, 1, 1, 1], [1, 1, 1, 1])",
        "cond" => "linalg::cond(a)",
        "unfold" => "F::unfold(img, 2)",
        "affine_grid" => "F::affine_grid(a.at([0..2, 0..3]).reshape([1, 2, 3]), [1, 1, 2, 2])",
        "embedding_bag" => "F::embedding_bag(i, a)",
        "interpolate" => "F::interpolate(img, #{scale_factor: 2, mode: \"bilinear\"})",
        "interpolate area" => "F::interpolate(img, [2, 2], #{mode: \"area\"})",
        "hinge_embedding_loss" | "poisson_nll_loss" | "soft_margin_loss" | "multilabel_soft_margin_loss" => {
            return format!("F::{row}(a, b)");
        }
        "margin_ranking_loss" => "F::margin_ranking_loss(a, b, a.sign())",
        "triplet_margin_loss" => "F::triplet_margin_loss(a, b, a)",
        "cosine_embedding_loss" => "F::cosine_embedding_loss(a, b, a[0].sign())",
        "pdist" => "F::pdist(a)",
        "cross float32" => "a.at([(), 0..3]).cross(f.at([(), 0..3]), 1)",
        "pad" => "F::pad(img, [1, 1, 1, 1])",
        "pad reflect" => "F::pad(img, [1, 1, 1, 1], \"reflect\")",
        "pad replicate" => "F::pad(img, [1, 1, 1, 1], \"replicate\")",
        name => return format!("a.{name}()"),
    };
    code.into()
}

/// The result dtype of a row under autocast, or its error's first line.
fn result(interpreter: &mut Interpreter, device: &str, lower: &str, input: &str, row: &str) -> String {
    interpreter.reset();
    let code = format!(
        "let of = #{{device: \"{device}\"}}; let a = (rand([4, 4], of) * 0.6 + 0.2).to({input}); \
         let b = (rand([4, 4], of) * 0.6 + 0.2).to({input}); let f = rand([4, 4], of); \
         let t = tensor([0, 1, 2, 3], of); let i = zeros([4, 4], #{{dtype: int64, device: \"{device}\"}}); \
         let c = a.reshape([1, 4, 4]); let e = b.reshape([1, 4, 4]); let img = a.reshape([1, 1, 4, 4]); \
         let k = b.at([0..2, 0..2]).reshape([1, 1, 2, 2]); \
         with autocast(\"{device}\", #{{dtype: {lower}}}) {{ {} }}",
        call(row)
    );
    match eval(interpreter, &code) {
        Ok(value) => value.read_lock::<Tensor>().map_or(value.to_string(), |t| t.dtype().to_string()),
        Err(text) => text.lines().next().unwrap_or_default().to_string(),
    }
}

/// The table that PyTorch 2.11 had on a real H100.
#[test]
fn a_real_gpu_gives_the_same_dtypes() {
    let recorded: Value = serde_json::from_str(include_str!("../docs/gpu/h100/semantics.json")).unwrap();
    let (mut interpreter, mut wrong, mut count) = (interpreter("sim:h100"), Vec::new(), 0);
    for lower in ["float16", "bfloat16"] {
        for (row, want) in recorded[&format!("autocast torch.{lower}")].as_object().unwrap() {
            let name = match row.as_str() {
                "bce_logits" => "binary_cross_entropy_with_logits".into(),
                "bce" => "binary_cross_entropy".into(),
                "smooth_l1" => "smooth_l1_loss".into(),
                "max_pool" | "avg_pool" => format!("{row}2d"),
                "sdpa" => "scaled_dot_product_attention".into(),
                other => other.replace("mixed", "float32"),
            };
            for (input, want) in ["float32", lower].into_iter().zip(want.as_array().unwrap()) {
                let got = result(&mut interpreter, "cuda", lower, input, &name);
                let want = want.as_str().unwrap().trim_start_matches("torch.").lines().next().unwrap();
                if got != want {
                    wrong.push(format!("{row} of {input} to {lower}: {got}, not {want}"));
                }
                count += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 230);
}

#[test]
fn the_scaler_moves_as_on_a_real_gpu() {
    let recorded: Value = serde_json::from_str(include_str!("../docs/gpu/h100/semantics.json")).unwrap();
    let code = "let p = nn::Parameter(ones(2, #{device: \"cuda\"}));
        let o = optim::SGD([p], #{lr: 0.1}); let s = amp::GradScaler(#{growth_interval: 3}); let seen = [];
        for i in 0..14 {
            o.zero_grad();
            let factor = if i == 2 || i == 7 || i == 8 { 1.0 / 0.0 } else { 1.0 };
            s.scale((p * factor).sum()).backward(); s.step(o); s.update();
            seen.push([s.get_scale(), p.tolist()]);
        }
        json(seen)";
    let code = code.replace("json(seen)", "seen.map(|row| `${row[0]} ${row[1][0]} ${row[1][1]}`)");
    let seen = eval(&mut interpreter("sim:h100"), &code).unwrap_or_else(|e| panic!("{e}"));
    let rows = recorded["gradscaler interval3 inf@2,7,8"].as_array().unwrap();
    let seen = seen.read_lock::<Array>().unwrap();
    assert_eq!(seen.len(), rows.len());
    for (got, want) in seen.iter().zip(rows) {
        let got: Vec<f64> = got.to_string().split(' ').map(|n| n.parse().unwrap()).collect();
        let want = [&want[0], &want[1][0], &want[1][1]].map(|n| n.as_f64().unwrap());
        assert!(got.iter().zip(want).all(|(a, b)| *a as f32 == b as f32), "{got:?}, not {want:?}");
    }
}

pub fn check_rows(device: &str, devices: &str, golden: &str) {
    let golden: Value = serde_json::from_str(golden).unwrap();
    let (mut interpreter, mut wrong, mut count) = (interpreter(devices), Vec::new(), 0);
    for lower in ["float16", "bfloat16"] {
        for (row, want) in golden[lower].as_object().unwrap() {
            for (input, want) in ["float32", lower].into_iter().zip(want.as_array().unwrap()) {
                let got = result(&mut interpreter, device, lower, input, row);
                count += 1;
                if got != want.as_str().unwrap() {
                    wrong.push(format!("{row} of {input} in {lower}: {got}, not {want}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong on {device}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 300);
}

#[test]
fn result_dtypes_under_cuda_autocast_are_pytorchs() {
    // A T4 computes bfloat16 too, only slowly.
    check_rows("cuda", "sim:a100-40gb", include_str!("golden/amp.json"));
}

#[test]
fn result_dtypes_under_cpu_autocast_are_pytorchs() {
    check_rows("cpu", "cpu", include_str!("golden/amp_cpu.json"));
}

#[test]
fn every_operation_of_the_policy_table_is_tried_by_a_row() {
    let golden: Value = serde_json::from_str(include_str!("golden/amp.json")).unwrap();
    let cpu: Value = serde_json::from_str(include_str!("golden/amp_cpu.json")).unwrap();
    let mut missing = Vec::new();
    for row in TABLE {
        let tried =
            |golden: &Value| golden["float16"].as_object().unwrap().keys().any(|k| k.starts_with(row.name));
        if !(tried(&golden)
            || tried(&cpu)
            || calls::tries(row.name)
            || OUTSIDE.iter().chain(OUTSIDE_CPU).any(|r| r.0 == row.name))
        {
            missing.push(row.name);
        }
    }
    assert!(missing.is_empty(), "no row tries {missing:?}");
    assert!(TABLE.iter().any(|r| r.cuda == Policy::Banned));
}

/// The rows that the recorded CUDA results leave out, with the results' dtypes for float32 and float16 input, by
/// PyTorch's lists of operations ("CUDA Ops that can autocast"); the last are in none of them.
const OUTSIDE: &[(&str, &str, &str)] = &[
    ("mv", "float16", "float16"),
    ("conv1d", "float16", "float16"),
    ("conv_transpose1d", "float16", "float16"),
    ("conv_transpose2d", "float16", "float16"),
    ("instance_norm", "float32", "float16"),
    ("prod", "float32", "float32"),
    ("cumprod", "float32", "float32"),
    ("logsumexp", "float32", "float32"),
    ("log10", "float32", "float32"),
    ("addcdiv", "float32", "float16"),
    ("atan2", "float32", "float16"),
    ("dist", "float32", "float32"),
    ("dot", "float32", "float16"),
    ("scatter_add", "float32", "float16"),
    ("cat", "float32", "float16"),
    ("tensordot", "float32", "float16"),
    ("erfinv", "float32", "float32"),
    ("logit", "float32", "float16"),
    ("logsigmoid", "float32", "float16"),
    ("adaptive_avg_pool2d", "float32", "float16"),
    ("conv3d", "float16", "float16"),
    ("bilinear", "float32", "float16"),
    ("grid_sample", "float32", "float16"),
    ("renorm", "float32", "float32"),
    ("max_pool3d", "float32", "float16"),
    ("avg_pool3d", "float32", "float16"),
    ("interpolate", "float32", "float32"),
    ("interpolate area", "float32", "float16"),
    ("hinge_embedding_loss", "float32", "float32"),
    ("margin_ranking_loss", "float32", "float32"),
    ("multilabel_soft_margin_loss", "float32", "float32"),
    ("pdist", "float32", "float32"),
    ("cross float32", "float32", "float32"),
    ("pad reflect", "float32", "float16"),
];

/// The rows that the recorded CPU results leave out, with the dtypes that PyTorch gives there for float32 and bfloat16
/// input in bfloat16.
const OUTSIDE_CPU: &[(&str, &str, &str)] = &[
    ("conv3d", "bfloat16", "bfloat16"),
    ("bilinear", "float32", "bfloat16"),
    ("grid_sample", "float32", "float32"),
    ("renorm", "float32", "bfloat16"),
    ("max_pool3d", "float32", "float32"),
    ("avg_pool3d", "float32", "float32"),
    ("ctc_loss", "float32", "float32"),
    ("cond", "float32", "float32"),
    ("unfold", "float32", "bfloat16"),
    ("affine_grid", "bfloat16", "bfloat16"),
    ("embedding_bag", "float32", "bfloat16"),
    ("matrix_exp", "float32", "bfloat16"),
    ("interpolate", "float32", "bfloat16"),
    ("hinge_embedding_loss", "float32", "float32"),
    ("margin_ranking_loss", "float32", "float32"),
    ("triplet_margin_loss", "float32", "float32"),
    ("cosine_embedding_loss", "float32", "float32"),
    ("poisson_nll_loss", "float32", "float32"),
    ("soft_margin_loss", "float32", "float32"),
    ("multilabel_soft_margin_loss", "float32", "bfloat16"),
    ("dist", "float32", "bfloat16"),
    ("pad", "float32", "bfloat16"),
    ("pad reflect", "float32", "float32"),
    ("pad replicate", "float32", "float32"),
];

#[test]
fn operations_outside_the_recorded_rows_follow_their_policies_on_the_cpu() {
    let mut interpreter = interpreter("cpu");
    for &(row, from_f32, from_bf16) in OUTSIDE_CPU {
        for (input, want) in [("float32", from_f32), ("bfloat16", from_bf16)] {
            assert_eq!(result(&mut interpreter, "cpu", "bfloat16", input, row), want, "{row} of {input}");
        }
    }
}

#[test]
fn operations_outside_the_recorded_rows_follow_their_policies_on_cuda() {
    let mut interpreter = interpreter("sim:t4");
    for &(row, from_f32, from_f16) in OUTSIDE {
        for (input, want) in [("float32", from_f32), ("float16", from_f16)] {
            assert_eq!(result(&mut interpreter, "cuda", "float16", input, row), want, "{row} of {input}");
        }
    }
}

#[test]
fn recurrent_layers_compute_in_the_precision_of_pytorchs() {
    // On the CPU as PyTorch gives it; on CUDA the kernels of whole layers and of cells take the lower precision.
    for (layer, part, cuda, cpu) in [
        ("nn::LSTM(3, 4)", "[0]", "float16", "bfloat16"),
        ("nn::LSTM(3, 4)", "[1][1]", "float16", "bfloat16"),
        ("nn::GRU(3, 4)", "[0]", "float16", "float32"),
        ("nn::RNN(3, 4)", "[0]", "float16", "bfloat16"),
        ("nn::LSTMCell(3, 4)", "[1]", "float16", "float32"),
        ("nn::GRUCell(3, 4)", "", "float16", "float32"),
        ("nn::RNNCell(3, 4)", "", "float16", "bfloat16"),
        ("nn::ConvTranspose1d(3, 4, 2)", "", "float16", "bfloat16"),
    ] {
        let shape = match () {
            () if layer.contains("Conv") => "[1, 3, 5]",
            () if layer.contains("Cell") => "[2, 3]",
            () => "[5, 1, 3]",
        };
        for (device, want) in [("cuda", cuda), ("cpu", cpu)] {
            let code = format!(
                "let net = {layer}.to(\"{device}\"); let x = ones({shape}, #{{device: \"{device}\"}});\n\
                 let y = with autocast(\"{device}\") {{ net.forward(x){part} }}; y.float().sum().backward();\n\
                 y.dtype.to_string() + \" \" + net.parameters()[0].grad.dtype.to_string()"
            );
            let text = value(&code).to_string();
            assert_eq!(text, format!("torch.{want} torch.float32"), "{layer}{part} on {device}");
        }
    }
}

#[test]
fn regions_nest_and_end_with_an_error_too() {
    let code = "let x = ones([2, 2], #{device: \"cuda\"}); let seen = []; let note = |s, t| { s.push(t.dtype.to_string()); s };\n\
        with autocast(\"cuda\") { seen = note.call(seen, x @ x);\n\
          with autocast(\"cuda\", #{enabled: false}) { seen = note.call(seen, x @ x); }\n\
          with autocast(\"cuda\", #{dtype: bfloat16}) { seen = note.call(seen, x @ x);\n\
            with autocast(\"cuda\") { seen = note.call(seen, x @ x); } }\n\
          with autocast(\"cpu\") { seen = note.call(seen, x @ x); seen = note.call(seen, x.cpu() @ x.cpu()); }\n\
          seen = note.call(seen, x.cpu() @ x.cpu()); seen = note.call(seen, x @ x); }\n\
        try { with autocast(\"cuda\") { throw \"out\"; } } catch { }\n\
        seen = note.call(seen, x @ x); seen.push(is_autocast_enabled(\"cuda\")); seen";
    let seen = value(code);
    let seen: Vec<String> = seen.read_lock::<Array>().unwrap().iter().map(ToString::to_string).collect();
    let short = |s: &String| s.trim_start_matches("torch.").to_string();
    assert_eq!(
        seen.iter().map(short).collect::<Vec<_>>(),
        [
            "float16", "float32", "bfloat16", "bfloat16", "float16", "bfloat16", "float32", "float16",
            "float32", "false"
        ]
    );
}

#[test]
fn casts_of_parameters_are_kept_until_the_outermost_region_ends() {
    // Copies of the weight, 128 bytes in float16, count as launches of `to`.
    let casts = |code: &str| -> i64 {
        let whole = format!(
            "let w = ones([8, 8], #{{device: \"cuda\", requires_grad: true}}); \
             let x = ones([8, 8], #{{device: \"cuda\"}}).half(); cuda::reset_peak_memory_stats(); \
             let r = telemetry::record(|| {{ {code} }}); r.allocations"
        );
        value(&whole).as_int().unwrap()
    };
    // A product takes memory for its result and for cuBLAS.
    let product = "x @ w;";
    let once = casts(&format!("with autocast(\"cuda\") {{ {product} }}"));
    assert_eq!(casts(&format!("with autocast(\"cuda\") {{ {product} {product} }}")), once + 2);
    let without = "with autocast(\"cuda\", #{cache_enabled: false})";
    assert_eq!(casts(&format!("{without} {{ {product} {product} }}")), 2 * once);
    assert_eq!(
        casts(&format!("with autocast(\"cuda\") {{ with autocast(\"cuda\") {{ {product} }} {product} }}")),
        once + 2
    );
    let region = format!("with autocast(\"cuda\") {{ {product} }}");
    assert_eq!(casts(&format!("{region} {region}")), 2 * once);
    // A cast made under no_grad serves gradients later in the region.
    let code = "let w = ones([2, 2], #{device: \"cuda\", requires_grad: true}); let x = ones([2, 2], #{device: \"cuda\"});\n\
        let y = with autocast(\"cuda\") { with no_grad() { x @ w; } x @ w };\n\
        y.float().sum().backward(); w.grad.dtype.to_string() + \" \" + cuda::memory_allocated()";
    assert_eq!(value(code).to_string().trim_start_matches("torch."), "float32 2048");
}

#[test]
fn gradients_flow_through_the_casts_in_the_weights_dtype() {
    let code = "let w = tensor([[0.5, 1.5], [2.5, -1.0]], #{device: \"cuda\", requires_grad: true});\n\
        let x = tensor([[1.0, 2.0], [3.0, 4.0]], #{device: \"cuda\"});\n\
        let y = with autocast(\"cuda\") { x @ w };\n\
        y.float().pow(2).sum().backward(); [y.dtype.to_string(), w.grad.dtype.to_string(), w.grad.tolist()]";
    // 2 xᵀ (x w), exact in float16.
    assert!(value(code).to_string().ends_with("[[80.0, 2.0], [114.0, 2.0]]]"), "{}", value(code));
}

#[test]
fn modules_train_under_autocast_with_a_scaler() {
    let code = "manual_seed(0); let net = nn::Sequential(nn::Linear(4, 8), nn::LayerNorm(8), nn::GELU(), nn::Linear(8, 3)).cuda();\n\
        let x = randn([16, 4], #{device: \"cuda\"}); let y = randint(0, 3, [16], #{device: \"cuda\"});\n\
        let opt = optim::SGD(net.parameters(), #{lr: 0.3}); let scaler = amp::GradScaler(); let losses = [];\n\
        for i in 0..25 { opt.zero_grad(); let loss = with autocast(\"cuda\") { F::cross_entropy(net.forward(x), y) };\n\
          scaler.scale(loss).backward(); scaler.unscale_(opt); nn::utils::clip_grad_norm_(net.parameters(), 5.0);\n\
          scaler.step(opt); scaler.update(); losses.push(loss.item()); }\n\
        [losses[0], losses[24], net[0].weight.dtype.to_string()]";
    let out = value(code);
    let out = out.read_lock::<Array>().unwrap();
    let (first, last) = (out[0].as_float().unwrap(), out[1].as_float().unwrap());
    assert!(last < 0.7 * first, "{first} {last}");
    assert!(out[2].to_string().ends_with("float32"));
}

#[test]
fn the_scaler_follows_pytorch_through_overflow() {
    let golden: Value = serde_json::from_str(include_str!("golden/amp.json")).unwrap();
    let want = golden["GradScaler growth_interval=3, inf at 2 7 8, SGD lr 0.125"].as_array().unwrap();
    for bad in ["1.0 / 0.0", "-1.0 / 0.0", "0.0 / 0.0"] {
        let code = format!(
            "let w = ones(2, #{{device: \"cuda\", requires_grad: true}}); let opt = optim::SGD([w], #{{lr: 0.125}}); \
             let s = amp::GradScaler(#{{growth_interval: 3}}); let rows = []; \
             for i in 0..14 {{ opt.zero_grad(); s.scale(w.sum()).backward(); \
             if i in [2, 7, 8] {{ w.grad[1] = {bad}; }} s.step(opt); s.update(); \
             rows.push([s.get_scale(), w.tolist()]); }} rows"
        );
        let rows = value(&code);
        let rows = rows.read_lock::<Array>().unwrap();
        assert_eq!(rows.len(), want.len());
        for (i, (row, want)) in rows.iter().zip(want).enumerate() {
            let row = row.read_lock::<Array>().unwrap();
            let w: Vec<f64> =
                row[1].read_lock::<Array>().unwrap().iter().map(|v| v.as_float().unwrap()).collect();
            let expected: Vec<f64> =
                want[1].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            assert_eq!(
                (row[0].as_float().unwrap(), w),
                (want[0].as_f64().unwrap(), expected),
                "{bad}, iteration {i}"
            );
        }
    }
}

#[test]
fn the_scaler_has_pytorchs_defaults_and_state() {
    let golden: Value = serde_json::from_str(include_str!("golden/amp.json")).unwrap();
    let state = value("amp::GradScaler().state_dict()");
    let state = state.read_lock::<rhai::Map>().unwrap();
    let want = golden["GradScaler defaults"].as_object().unwrap();
    assert_eq!(state.len(), want.len());
    for (key, want) in want {
        let got = &state[key.as_str()];
        let number = got.as_float().or_else(|_| got.as_int().map(|n| n as f64)).unwrap();
        assert_eq!(number, want.as_f64().unwrap(), "{key}");
    }
    let code = "let s = amp::GradScaler(#{init_scale: 8.0, growth_interval: 2});\n\
        let w = ones(2, #{device: \"cuda\", requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.5});\n\
        s.scale(w.sum()).backward(); s.step(opt); s.update(); let kept = s.state_dict();\n\
        let t = amp::GradScaler(); t.load_state_dict(kept); w.grad = ();\n\
        t.scale(w.sum()).backward(); t.step(opt); t.update(); t.get_scale()";
    assert_eq!(value(code).as_float().unwrap(), 16.0);
    assert_eq!(value("amp::GradScaler(#{enabled: false}).state_dict().len()").as_int().unwrap(), 0);
    assert_eq!(value("amp::GradScaler(#{enabled: false}).get_scale()").as_float().unwrap(), 1.0);
    // Disabled, it is not there: the loss is itself and the optimiser steps.
    let code = "let s = amp::GradScaler(#{enabled: false}); let w = ones(2, #{requires_grad: true});\n\
        let opt = optim::SGD([w], #{lr: 0.5}); let l = w.sum(); l.backward(); let same = s.scale(l) is l;\n\
        s.unscale_(opt); s.step(opt); s.update(); [same, w.tolist()]";
    assert_eq!(value(code).to_string(), "[true, [0.5, 0.5]]");
    assert_eq!(
        value("amp::GradScaler(#{init_scale: 4.0}).scale([ones(1), [ones(1) * 2]])[1][0].item()").to_string(),
        "8.0"
    );
}

#[test]
fn wrong_use_is_told_in_pytorchs_words() {
    let golden: Value = serde_json::from_str(include_str!("golden/amp.json")).unwrap();
    let ready = "let w = ones(2, #{device: \"cuda\", requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.1}); \
                 let s = amp::GradScaler(); s.scale(w.sum()).backward();";
    let recorded = |name: &str| golden["errors"][name].as_str().unwrap().to_string();
    for (code, name) in [
        ("s.unscale_(opt); s.unscale_(opt);", "unscale_ twice"),
        ("s.step(opt); s.unscale_(opt);", "unscale_ after step"),
        ("s.step(opt); s.step(opt);", "step twice"),
    ] {
        assert_eq!(fault(&format!("{ready} {code}")), recorded(name));
    }
    let made = "let w = ones(2, #{device: \"cuda\", requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.1}); \
                let s = amp::GradScaler();";
    for (code, want) in [
        (
            "s.step(opt)",
            "AssertionError: Attempted step but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.",
        ),
        (
            "s.unscale_(opt)",
            "AssertionError: Attempted unscale_ but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.",
        ),
        (
            "s.update()",
            "AssertionError: Attempted update but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.",
        ),
        ("s.scale(w.sum()); s.step(opt)", "AssertionError: No inf checks were recorded for this optimizer."),
        ("s.scale(w.sum()); s.update()", "AssertionError: No inf checks were recorded prior to update."),
        ("s.scale(3)", "ValueError: outputs must be a Tensor or an iterable of Tensors"),
        (
            "s.load_state_dict(#{})",
            "RuntimeError: The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
        ),
        (
            "let h = ones(2, #{device: \"cuda\", dtype: float16, requires_grad: true}); s.scale(h.sum()).backward(); s.step(optim::SGD([h], #{lr: 0.1}))",
            "ValueError: Attempting to unscale FP16 gradients.",
        ),
        ("amp::GradScaler(#{growth_factor: 1.0})", "AssertionError: The growth factor must be > 1.0."),
        ("amp::GradScaler(#{backoff_factor: 1.0})", "AssertionError: The backoff factor must be < 1.0."),
        ("amp::GradScaler(#{init_scal: 1.0})", "TypeError: GradScaler() got an unknown option 'init_scal'"),
        ("autocast(\"xpu\")", "RuntimeError: User specified an unsupported autocast device_type 'xpu'"),
        ("autocast(\"cuda\", #{dtyp: float16})", "TypeError: autocast() got an unknown option 'dtyp'"),
        ("with autocast(\"cuda\") { ones([2, 3], #{device: \"cuda\"}) @ w.double() }", "RuntimeError: "),
    ] {
        let text = fault(&format!("{made} {code}"));
        assert!(text.starts_with(want), "{code}: {text}");
    }
    assert!(fault("autocast(\"gpu\")").starts_with("RuntimeError: Expected one of cpu, cuda,"));
    let text = fault(
        "let x = rand([2, 2], #{device: \"cuda\"}); with autocast(\"cuda\") { F::binary_cross_entropy(x, x) }",
    );
    assert!(text.ends_with("safe to autocast."), "{text}");
}

/// Keeps what a script is warned of.
#[derive(Default)]
struct Warned(std::sync::Mutex<Vec<String>>);

impl Host for Warned {
    fn print(&self, _: &str) {}
    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
    fn figure(&self, _: &tensorlab::plot::Figure, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

#[test]
fn what_cannot_be_done_here_is_warned_of_and_left_out() {
    let host = Arc::new(Warned::default());
    let mut interpreter =
        Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
    let code = "let x = ones([2, 2]); let a = with autocast(\"cpu\", #{dtype: float32}) { x @ x };\n\
        let b = with autocast(\"cuda\") { x @ x }; let s = amp::GradScaler(); [a.dtype, b.dtype, s.is_enabled()]";
    let out = eval(&mut interpreter, code).unwrap();
    let out = out.read_lock::<Array>().unwrap();
    assert!(out.iter().take(2).all(|d| d.clone().cast::<DType>() == DType::Float32));
    assert!(!out[2].as_bool().unwrap());
    assert_eq!(
        *host.0.lock().unwrap(),
        [
            "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports \
             dtypes of torch.bfloat16, torch.float16 currently.",
            "CUDA is not available or torch_xla is imported. Disabling autocast.",
            "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
        ]
    );
}

#[test]
fn a_line_warns_once_of_what_cannot_be_done_here() {
    let host = Arc::new(Warned::default());
    let mut interpreter =
        Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
    let code = "for i in 0..3 { with autocast(\"cuda\") { i } }\n\
        for i in 0..3 { amp::GradScaler(); }\nwith autocast(\"cuda\") { 1 }";
    let _ = eval(&mut interpreter, code).unwrap();
    let told = host.0.lock().unwrap();
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn a_scaler_serves_gradients_on_several_devices() {
    let code = "let a = ones(2, #{device: \"cuda:0\", requires_grad: true}); let b = ones(2, #{device: \"cuda:1\", requires_grad: true});\n\
        let opt = optim::SGD([a, b], #{lr: 0.5}); let s = amp::GradScaler(#{init_scale: 4.0});\n\
        let step = |bad| { opt.zero_grad(); s.scale((a.sum() + b.sum().to(\"cuda:0\"))).backward();\n\
          if bad { b.grad[0] = 1.0 / 0.0; } s.step(opt); s.update(); };\n\
        step.call(false); step.call(true); [a.tolist(), b.tolist(), s.get_scale()]";
    let out = eval(&mut interpreter("sim:t4x2"), code).unwrap();
    assert_eq!(out.to_string(), "[[0.5, 0.5], [0.5, 0.5], 2.0]");
}
