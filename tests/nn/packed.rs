//! Packed sequences: what PyTorch gives for the same, in both directions and with gradients.

use serde_json::Value;

use super::Lab;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn near(lab: &mut Lab, code: &str, want: &Value) {
    let (got, want) = (lab.numbers(code), numbers(want));
    assert_eq!(got.len(), want.len(), "{code}");
    for (a, b) in got.iter().zip(&want) {
        assert!((a - b).abs() <= 2e-6 * (1.0 + b.abs()), "{code}: {a}, not {b}");
    }
}

#[test]
fn recurrent_layers_go_over_packed_sequences_as_pytorch_s_do() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../golden/packed.json")).unwrap();
    for case in &cases {
        let mut lab = Lab::new();
        let (layer, lstm) = (case["layer"].as_str().unwrap(), case["last"].as_array().unwrap().len() == 2);
        let start = match &case["hx"] {
            Value::Null => "()".to_string(),
            shape => {
                let h = format!("cos(arange({shape}.reduce(|a, b| a * b, 1)).float()).reshape({shape})");
                lab.run(&format!("let h = {h}.requires_grad_(true);"));
                let count = &shape[0];
                let c = format!("sin(arange({count} * 12).float()).reshape([{count}, 3, 4])");
                if lstm { format!("[h, {c}]") } else { "h".into() }
            }
        };
        lab.run(&format!(
            "manual_seed(1); let layer = {layer};
             let x = sin(arange(36).float()).reshape({}).requires_grad_(true);
             let packed = nn::utils::rnn::pack_padded_sequence(x, tensor({}), {}, {});
             let out = layer.forward(packed, {start}); let last = out[1];
             let back = nn::utils::rnn::pad_packed_sequence(out[0], {}, -1.0, 5);
             let padded = back[0]; let parts = if type_of(last) == \"array\" {{ last }} else {{ [last] }};
             let loss = (padded * cos(arange(padded.numel()).float()).reshape(padded.shape)).sum();
             for p in parts {{ loss = loss + (p * p).sum(); }}
             loss.backward();",
            case["shape"], case["lengths"], case["batch_first"], case["enforce_sorted"], case["batch_first"]
        ));
        near(&mut lab, "padded.flatten()", &case["padded"]);
        near(&mut lab, "back[1]", &case["back"]);
        for (i, want) in case["last"].as_array().unwrap().iter().enumerate() {
            near(&mut lab, &format!("parts[{i}].flatten()"), want);
        }
        for (i, want) in case["grads"].as_array().unwrap().iter().enumerate() {
            near(&mut lab, &format!("layer.parameters()[{i}].grad.flatten()"), want);
        }
        near(&mut lab, "x.grad.flatten()", &case["x_grad"]);
        if !case["hx_grad"].is_null() {
            near(&mut lab, "h.grad.flatten()", &case["hx_grad"]);
        }
    }
}

#[test]
fn sequences_are_padded_packed_and_taken_out_again() {
    let mut lab = Lab::new();
    lab.run("let a = [tensor([1.0, 2.0, 3.0]), tensor([4.0, 5.0]), tensor([6.0])];");
    assert_eq!(
        lab.text("nn::utils::rnn::pad_sequence(a, #{padding_value: -1.0, padding_side: \"left\"}).tolist()"),
        "[[1.0, -1.0, -1.0], [2.0, 4.0, -1.0], [3.0, 5.0, 6.0]]"
    );
    assert_eq!(
        lab.text("nn::utils::rnn::pack_sequence([a[1], a[0], a[2]], false)"),
        "PackedSequence(data=tensor([1., 4., 6., 2., 5., 3.]), batch_sizes=tensor([3, 2, 1]), \
         sorted_indices=tensor([1, 0, 2]), unsorted_indices=tensor([1, 0, 2]))"
    );
    assert_eq!(
        lab.text("nn::utils::rnn::pack_sequence(a)"),
        "PackedSequence(data=tensor([1., 4., 6., 2., 5., 3.]), batch_sizes=tensor([3, 2, 1]), sorted_indices=None, \
         unsorted_indices=None)"
    );
    lab.run("let q = nn::utils::rnn::pack_sequence([a[1], a[0], a[2]], false);");
    assert_eq!(
        lab.text("nn::utils::rnn::unpack_sequence(q).map(|t| t.tolist())"),
        "[[4.0, 5.0], [1.0, 2.0, 3.0], [6.0]]"
    );
    assert_eq!(lab.text("nn::utils::rnn::pad_packed_sequence(q)[1].tolist()"), "[2, 3, 1]");
}

#[test]
fn what_cannot_be_packed_is_told_in_pytorch_s_words() {
    let mut lab = Lab::new();
    for (code, want) in [
        ("pack_sequence([ones(2), ones(3)])", "`lengths` array must be sorted in decreasing order"),
        ("pack_padded_sequence(zeros(3, 2), [3, 0])", "Length of all samples has to be greater than 0"),
        (
            "pack_padded_sequence(zeros(3, 2), [3])",
            "Expected `len(lengths)` to be equal to batch_size, but got 1 (batch_size=2)",
        ),
        ("pack_padded_sequence(zeros(3, 2), [4, 1])", "a length is 4, and the sequences are 3 long"),
        ("pack_padded_sequence(zeros(0, 2), [0, 0])", "Cannot pack empty tensors."),
        ("pad_sequence([])", "received an empty list of sequences"),
        ("pad_packed_sequence(zeros(2))", "must be a PackedSequence, not Tensor"),
        (
            "pad_packed_sequence(nn::utils::rnn::pack_sequence([ones(3)]), #{total_length: 2})",
            "Expected total_length to be at least the length of the longest sequence",
        ),
    ] {
        let (error, _) = lab.error(&format!("nn::utils::rnn::{code}"));
        assert!(error.contains(want), "{code}\n{error}");
    }
    lab.run("let x = nn::utils::rnn::pack_padded_sequence(zeros([3, 2, 2]), [3, 1]);");
    let error = lab.error("nn::GRU(2, 3).forward(x, zeros([1, 3, 3]))").0;
    assert!(error.contains("Expected hidden size (1, 2, 3), got [1, 3, 3]"), "{error}");
    let error = lab.error("nn::GRU(4, 3).forward(x)").0;
    assert!(error.contains("input.size(-1) must be equal to input_size. Expected 4, got 2"), "{error}");
    let error = lab.error("nn::GRU(4, 3).forward(\"x\")").0;
    assert!(error.contains("must be a Tensor or a PackedSequence, not string"), "{error}");
}
