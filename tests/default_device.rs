//! Where new tensors lie: the default device of a session or a block, and the device that a module is made on.

use crate::nn::Lab;

#[test]
fn a_block_and_a_session_have_new_tensors_lie_elsewhere() {
    let mut lab = Lab::on("sim:t4x2");
    let devices = "let all = [ones(2).device, tensor([1]).device, arange(3).device, rand(2).device, eye(2).device, \
                   nn::Linear(2, 2).weight.device, randperm(3).device].map(|d| `${d}`); all.dedup(); all.to_string()";
    assert_eq!(lab.text(devices), r#"["cpu"]"#);
    assert_eq!(lab.text(&format!("with device(\"cuda:1\") {{ {devices} }}")), r#"["cuda:1"]"#);
    assert_eq!(lab.text(devices), r#"["cpu"]"#);
    lab.run("try { with device(\"cuda\") { throw 1 } } catch (e) { }");
    assert_eq!(lab.text(devices), r#"["cpu"]"#, "an error leaves the block as well");
    lab.run("set_default_device(\"cuda\");");
    assert_eq!(lab.text(devices), r#"["cuda:0"]"#);
    assert_eq!(
        lab.text("with cuda::device(1) { `${[ones(2).device, get_default_device()]}` }"),
        "[device(type='cuda', index=1), device(type='cuda', index=1)]"
    );
    // What is told where, or is made like another tensor, goes there.
    let told = "[ones(2, #{device: \"cpu\"}).device, zeros_like(ones(2, #{device: \"cpu\"})).device].map(|d| `${d}`).to_string()";
    assert_eq!(lab.text(told), r#"["cpu", "cpu"]"#);
    lab.run("set_default_device(\"cpu\");");
    assert_eq!(lab.text(devices), r#"["cpu"]"#);
}

/// As PyTorch does: by that device's generator, and without a copy.
#[test]
fn modules_are_made_where_they_are_to_lie() {
    for made in [
        "nn::Linear(3, 2, OPTIONS)",
        "nn::Bilinear(2, 3, 4, OPTIONS)",
        "nn::Conv2d(3, 4, 3, OPTIONS)",
        "nn::ConvTranspose2d(3, 4, 3, OPTIONS)",
        "nn::BatchNorm2d(3, OPTIONS)",
        "nn::LayerNorm([4], OPTIONS)",
        "nn::GroupNorm(2, 4, OPTIONS)",
        "nn::InstanceNorm2d(3, OPTIONS)",
        "nn::RMSNorm([4], OPTIONS)",
        "nn::PReLU(OPTIONS)",
        "nn::Embedding(5, 3, OPTIONS)",
        "nn::EmbeddingBag(5, 3, OPTIONS)",
        "nn::LSTM(3, 4, OPTIONS)",
        "nn::GRUCell(3, 4, OPTIONS)",
        "nn::MultiheadAttention(4, 2, OPTIONS)",
        "nn::TransformerEncoderLayer(4, 2, OPTIONS)",
        "nn::TransformerDecoderLayer(4, 2, OPTIONS)",
    ] {
        let mut lab = Lab::on("sim:t4x2");
        let made = made.replace("OPTIONS", "#{device: \"cuda:1\"}");
        lab.run(&format!("let net = (); let run = telemetry::record(|| {{ net = {made}; }});"));
        assert_eq!(lab.text("run.h2d.count + run.d2d.count"), "0", "{made}");
        let places = "net.state_dict().values().filter(|t| `${t.device}` != \"cuda:1\").len()";
        assert_eq!(lab.text(places), "0", "{made}");
    }
    let mut lab = Lab::on("sim:t4");
    lab.run("cuda::manual_seed(3); let net = nn::Linear(3, 2, #{device: \"cuda\"});");
    lab.run("cuda::manual_seed(3); let w = empty([2, 3], #{device: \"cuda\"}); nn::init::kaiming_uniform_(w, 5.0 ** 0.5);");
    assert!(lab.truth("net.weight.equal(w)"));
    let (text, _) = lab.error("nn::Linear(3, 2, #{device: \"cuda:9\"})");
    assert!(text.contains("invalid device ordinal"), "{text}");
    assert_eq!(lab.text("`${nn::Linear(2, 2).weight.device}`"), "cpu");
}
