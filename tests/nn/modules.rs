//! What modules print, draw and refuse; their state; moving them.

use super::{Lab, pairs, recorded};

const NET: &str =
    "let net = nn::Sequential(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::ReLU(), nn::Linear(4, 2));";

#[test]
fn modules_print_as_pytorch_prints_them() {
    let mut lab = Lab::new();
    let record = recorded();
    for (code, want) in pairs(&record, "printed") {
        assert_eq!(lab.text(code), want.as_str().unwrap(), "{code}");
    }
}

#[test]
fn each_constructor_has_a_true_example() {
    let mut lab = Lab::new();
    for def in tensorlab::nn::table().chain(tensorlab::optim::table()) {
        lab.reset();
        let (code, shown) = def.example;
        assert_eq!(lab.text(code), shown, "{}: {code}", def.name);
        assert!(def.summary.ends_with('.'), "{}", def.name);
    }
}

#[test]
fn initial_values_and_masks_are_drawn_as_pytorch_draws_them() {
    let mut lab = Lab::new();
    let record = recorded();
    for (code, want) in pairs(&record, "drawn") {
        lab.run("manual_seed(0)");
        let t = lab.tensor(code);
        let shape: Vec<usize> =
            want["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as usize).collect();
        assert_eq!(t.shape(), shape, "{code}");
        assert_eq!(t.dtype().name(), want["dtype"].as_str().unwrap(), "{code}");
        let got = t.to_f64s("test").unwrap();
        // Uniform draws and masks agree bit for bit; normal ones go through logarithms and cosines.
        let exact = !code.contains("normal") && !code.contains("Embedding");
        for (a, b) in got.iter().zip(want["data"].as_array().unwrap()) {
            let b = b.as_f64().unwrap();
            let near = if exact { 0.0 } else { 1e-6 };
            assert!((a - b).abs() <= near, "{code}: {a}, not {b}");
        }
    }
}

#[test]
fn attention_gives_what_pytorchs_gives() {
    let mut lab = Lab::new();
    lab.run(
        "let x = linspace(-1, 1, 80).reshape([2, 5, 8]); let k = linspace(0, 1, 36).reshape([3, 2, 6]);
         let v = ones([3, 2, 4]); let causal = nn::Transformer::generate_square_subsequent_mask(5);
         let hidden = tensor([[false, false, false, false, true], [false, true, true, false, false]]);",
    );
    let record = recorded();
    let mut count = 0;
    for (code, want) in pairs(&record, "called") {
        lab.run("manual_seed(0)");
        let t = lab.tensor(code);
        let want_shape: Vec<u64> =
            want["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
        assert!(
            t.shape().iter().map(|d| *d as u64).eq(want_shape.iter().copied()),
            "{code}: {:?}",
            t.shape()
        );
        for (a, b) in t.to_f64s("test").unwrap().iter().zip(want["data"].as_array().unwrap()) {
            let b = b.as_f64().unwrap();
            assert!((a - b).abs() <= 1e-5 + 1e-5 * b.abs(), "{code}: {a}, not {b}");
        }
        count += 1;
    }
    assert!(count >= 12, "{count}");
    // The copies of an encoder are trained apart.
    lab.run("let e = nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, 16), 2);");
    assert!(lab.truth("!(e.layers[0].linear1.weight is e.layers[1].linear1.weight)"));
    assert!(lab.truth("e.layers[0].linear1.weight.equal(e.layers[1].linear1.weight)"));
    assert_eq!(lab.text("e.parameters().len()"), "24");
    let (text, hint) = lab.error("e.forward(x, #{maks: causal})");
    assert!(text.contains("unknown option 'maks'") && hint.contains("`mask`"), "{text} {hint}");
}

#[test]
fn errors_say_what_pytorch_says() {
    let mut lab = Lab::new();
    lab.run(
        "let w = ones([4, 3, 3, 3]); let p = [ones(2).requires_grad_(true)]; let l = nn::Linear(3, 2);
         let m = nn::MultiheadAttention(4, 2);",
    );
    let record = recorded();
    let mut wrong = Vec::new();
    for (code, want) in pairs(&record, "errors") {
        let want = want.as_str().unwrap().trim_end();
        let got = match lab.try_run(code) {
            Ok(value) => format!("{value:?}"),
            Err((text, _)) => text,
        };
        if got != want {
            wrong.push(format!("{code}\n  {got}\n  {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn misspelt_names_and_options_are_errors_with_the_nearest_name() {
    let mut lab = Lab::new();
    lab.run(NET);
    for (code, near) in [
        ("nn::Linear(3, 2, #{bais: false})", "bias"),
        ("nn::Conv2d(1, 2, 3, #{paddign: 1})", "padding"),
        ("optim::SGD(net.parameters(), #{momentun: 0.9})", "momentum"),
        ("net[0].wieght", "weight"),
        ("net.to(#{devise: \"cpu\"})", "device"),
        ("nn::Lineer(3, 2)", "Linear"),
        ("ones(2).shpe", "shape"),
        ("let x = ones(2); x.grd = x", "grad"),
        ("optim::SGD(net.parameters(), #{lr: 0.1}).stp()", "step"),
        ("Generator().initial_sed()", "initial_seed"),
    ] {
        let (_, hint) = lab.error(code);
        assert_eq!(hint, format!("did you mean `{near}`?"), "{code}");
    }
    let (text, hint) = lab.error("nn::module(#{layers: [nn::ReLU()]}, |self, x| x)");
    assert!(text.contains("'layers' would not be found") && hint.contains("ModuleList"), "{text} {hint}");
}

#[test]
fn a_state_dict_round_trip_gives_the_same_outputs() {
    let mut lab = Lab::new();
    lab.run(NET);
    lab.run("let x = rand([5, 3]); net.forward(x); let state = net.state_dict();");
    assert_eq!(
        lab.text("state.keys()"),
        "[\"0.bias\", \"0.weight\", \"1.bias\", \"1.num_batches_tracked\", \"1.running_mean\", \"1.running_var\", \
         \"1.weight\", \"3.bias\", \"3.weight\"]"
    );
    lab.run(&NET.replace("net", "twin"));
    assert_eq!(lab.text("twin.load_state_dict(state)"), "<All keys matched successfully>");
    assert!(lab.truth("net.eval(); twin.eval(); net.forward(x).equal(twin.forward(x))"));
    assert!(lab.truth("twin[1].num_batches_tracked.item() == 1"));
    // The state shares the network's memory and stands outside its graph.
    assert!(lab.truth("state[\"0.weight\"].requires_grad == false"));
    lab.run("with no_grad() { net[0].weight.zero_() }");
    assert_eq!(lab.float("state[\"0.weight\"].abs().sum().item()"), 0.0);
    let before = lab.numbers("twin[0].bias");
    let (text, _) = lab.error("twin.load_state_dict(#{\"0.bias\": ones(4), \"0.weight\": ones([2, 2])})");
    assert!(text.contains("size mismatch for 0.weight"), "{text}");
    assert_eq!(lab.numbers("twin[0].bias"), before, "a refused state changes nothing");
    let report = lab.text(
        "twin.load_state_dict(#{\"0.bias\": ones(4), other: ones(1)}, #{strict: false}).unexpected_keys",
    );
    assert_eq!(report, "[\"other\"]");
    assert_eq!(lab.numbers("twin[0].bias"), [1.0; 4]);
}

#[test]
fn moving_keeps_identity_and_takes_gradients_along() {
    let mut lab = Lab::on("sim:t4x2");
    lab.run(NET);
    lab.run(
        "let w = net[0].weight; let running = net[1].running_mean; net.forward(rand([5, 3])).sum().backward();
         let opt = optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.9});",
    );
    let before = lab.numbers("w");
    let grad = lab.numbers("w.grad");
    assert!(lab.truth("net.to(\"cuda:1\") is net"));
    assert!(lab.truth("w is net[0].weight"));
    for name in ["w", "w.grad", "running", "net[1].num_batches_tracked", "net[3].bias"] {
        assert!(lab.truth(&format!("{name}.device == \"cuda:1\"")), "{name}");
    }
    assert!(lab.truth("net[0].weight.device == \"cuda:1\""));
    assert_eq!(lab.numbers("w"), before);
    assert_eq!(lab.numbers("w.grad"), grad);
    lab.run("opt.step()");
    let after = lab.numbers("w");
    for ((a, b), g) in after.iter().zip(&before).zip(&grad) {
        assert!(
            (a - (b - 0.1 * g)).abs() < 1e-6,
            "an optimiser made before the move changes the moved weight"
        );
    }
    assert!(lab.truth("w.is_leaf && w.requires_grad"));
    lab.run("net.half()");
    assert_eq!(lab.text("w.dtype"), "torch.float16");
    assert_eq!(lab.text("net[1].num_batches_tracked.dtype"), "torch.int64");
    lab.run("net.to(\"cpu\", float64)");
    assert_eq!(lab.text("running.dtype"), "torch.float64");
    assert!(lab.truth("w.device == \"cpu\""));
    lab.run("net.cuda(); net.to(#{device: \"cpu\"}); net.cuda(0).float()");
    assert!(lab.truth("w.device == \"cuda:0\""));
    let (text, _) = lab.error("net.cuda(7)");
    assert!(text.starts_with("DeviceError: CUDA error: invalid device ordinal"), "{text}");
    assert!(lab.truth("w.device == \"cuda:0\""), "a refused move moves nothing");
    let (text, _) = lab.error("net.forward(ones([2, 3]))");
    assert!(text.contains("Expected all tensors to be on the same device, but got mat1 is on cpu"), "{text}");
}

#[test]
fn training_mode_reaches_every_module() {
    let mut lab = Lab::new();
    lab.run("let net = nn::Sequential(nn::Sequential(nn::Dropout(0.5)), nn::BatchNorm1d(3)); let x = ones([4, 3]);");
    assert!(lab.truth("net.training && net[0][0].training"));
    assert!(lab.truth("net.eval() is net"));
    assert!(lab.truth("!net[0][0].training && !net[1].training"));
    assert!(lab.truth("net[0].forward(x) is x"), "dropout is off");
    let mean = lab.numbers("net.forward(x); net[1].running_mean");
    assert_eq!(mean, [0.0; 3], "evaluation leaves the running statistics");
    lab.run("net.train(); net.forward(x)");
    assert_eq!(lab.float("net[1].num_batches_tracked.item().to_float()"), 1.0);
    lab.run("net.train(false)");
    assert!(lab.truth("!net[1].training"));
}

#[test]
fn own_modules_hold_parameters_buffers_children_and_values() {
    let mut lab = Lab::new();
    lab.run(
        "let own = nn::module(\"Net\", #{
             fc: nn::Linear(3, 2), scale: nn::Parameter(tensor([2.0])), offset: tensor([1.0]), times: 0,
         }, |self, x| { self.times += 1; self.fc.forward(x) * self.scale + self.offset });
         let x = ones([1, 3]);
         let want = own.fc.forward(x) * 2 + 1;",
    );
    assert_eq!(lab.text("own"), "Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n)");
    assert!(lab.truth("own.forward(x).equal(want)"));
    assert!(lab.truth("nn::Sequential(nn::Identity(), own).forward(x).equal(want)"));
    assert_eq!(lab.text("own.times"), "2");
    assert_eq!(lab.text("own.named_parameters().map(|p| p[0])"), "[\"scale\", \"fc.weight\", \"fc.bias\"]");
    assert_eq!(lab.text("own.named_buffers().map(|p| p[0])"), "[\"offset\"]");
    lab.run("own.forward(x).sum().backward()");
    assert!(lab.truth("type_of(own.scale.grad) == \"Tensor\""));
    lab.run("own.zero_grad()");
    assert!(lab.truth("own.scale.grad == ()"));
    // An error inside keeps its own place and text, through containers too.
    lab.run("let bad = nn::Sequential(nn::module(#{}, |self, x| x.reshape([7])));");
    let (text, _) = lab.error("bad.forward(x)");
    assert_eq!(text, "RuntimeError: shape '[7]' is invalid for input of size 3");
    // A row hands on whatever a part of it gives, and a layer says what it takes.
    let (text, _) = lab.error("nn::Sequential(nn::module(#{}, |self, x| 3), nn::ReLU()).forward(x)");
    assert_eq!(text, "TypeError: a module's input must be a Tensor, not int");
    assert_eq!(lab.text("nn::Sequential(nn::module(#{}, |self, x| 3)).forward(x)"), "3");
    let (text, hint) = lab.error("nn::Sequential(nn::LSTM(2, 3), nn::Linear(3, 1)).forward(ones([4, 2]))");
    assert_eq!(text, "TypeError: a module's input must be a Tensor, not array");
    assert!(hint.contains("`out[0]` is the output of an LSTM"), "{hint}");
    assert_eq!(lab.text("nn::Sequential(nn::LSTM(2, 3)).forward(ones([4, 2])).len()"), "2");
    lab.run("let take = nn::module(#{}, |self, out| out[0]); let row = nn::Sequential(nn::LSTM(2, 3), take, nn::Linear(3, 1));");
    assert_eq!(lab.text("row.forward(ones([4, 2])).shape"), "[4, 1]");
    // Its own hooks see what goes through it, and what comes out.
    lab.run("let seen = []; row.register_forward_hook(|m, inputs, out| { seen.push([inputs[0].shape, out.shape]); () });");
    lab.run("nn::Sequential(row).forward(ones([4, 2]));");
    assert_eq!(lab.text("seen"), "[[[4, 2], [4, 1]]]");
    for inside in ["nn::Linear(2, 2), nn::ReLU()", ""] {
        lab.run(&format!("let seen = []; let row = nn::Sequential([{inside}]);"));
        lab.run("row.register_forward_hook(|m, inputs, out| { seen.push(out.shape); () });");
        lab.run("row.forward(ones([4, 2])); nn::Sequential(row, nn::ReLU()).forward(ones([4, 2]));");
        assert_eq!(lab.text("seen"), "[[4, 2], [4, 2]]", "{inside}");
    }
    // A module of several inputs that gives several outputs.
    assert_eq!(lab.text("nn::module(#{}, |self, a, b| [a, b]).forward(1, 2)"), "[1, 2]");
}

#[test]
fn containers_are_indexed_sliced_and_walked() {
    let mut lab = Lab::new();
    lab.run(NET);
    assert_eq!(lab.text("net.len()"), "4");
    assert!(lab.truth("net[-1] is net[3]"));
    assert_eq!(lab.text("net[1..3].len()"), "2");
    assert!(lab.truth("net[2..4][1] is net[3]"));
    assert!(lab.truth("let seen = []; for m in net { seen.push(m) } seen.len() == 4 && seen[3] is net[3]"));
    assert_eq!(lab.text("let n = 0; net.apply(|m| n += 1); n"), "5");
    assert_eq!(lab.text("net.named_modules().map(|p| p[0])"), "[\"\", \"0\", \"1\", \"2\", \"3\"]");
    lab.run("net[0].weight.requires_grad = false");
    assert!(lab.truth("!net[0].weight.requires_grad && net[0].bias.requires_grad"));
    lab.run("net.requires_grad_(false)");
    assert!(lab.truth("!net[3].bias.requires_grad"));
    // One weight in two layers is one parameter with two names.
    lab.run("let a = nn::Linear(2, 2); let b = nn::Linear(2, 2); b.weight = a.weight; let tied = nn::Sequential(a, b);");
    assert_eq!(lab.text("tied.parameters().len()"), "3");
    assert_eq!(lab.text("tied.state_dict().len()"), "4");
    let (text, _) = lab.error("a[0] = nn::ReLU()");
    assert!(text.contains("IndexError: index 0 is out of range"), "{text}");
    let (text, hint) = lab.error("let d = nn::ModuleDict(#{act: nn::ReLU()}); d[0] = nn::Tanh()");
    assert!(
        text.contains("does not support item assignment") && hint.contains("Sequential"),
        "{text} {hint}"
    );
    let (text, _) = lab.error("let m = nn::ReLU(); for i in 0..200 { m = nn::Sequential(m); }");
    assert!(text.contains("nested more than"), "{text}");
}

#[test]
fn batch_norm_follows_its_batches() {
    let mut lab = Lab::new();
    lab.run("let bn = nn::BatchNorm1d(2, #{momentum: ()}); let x = tensor([[1.0, 2.0], [3.0, 6.0]]);");
    lab.run("bn.forward(x); bn.forward(x * 3);");
    // The cumulative mean of (2, 4) and (6, 12), and of the unbiased variances (2, 8) and (18, 72) from 1.
    assert_eq!(lab.numbers("bn.running_mean"), [4.0, 8.0]);
    assert_eq!(lab.numbers("bn.running_var"), [10.0, 40.0]);
    lab.run("bn.eval()");
    let y = lab.numbers("bn.forward(tensor([[4.0, 8.0]]))");
    assert!(y.iter().all(|v| v.abs() < 1e-6), "{y:?}");
}

#[test]
fn embedding_rows_for_padding_get_no_gradient() {
    let mut lab = Lab::new();
    lab.run(
        "let e = nn::Embedding(4, 2, #{padding_idx: 1}); e.forward(tensor([[0, 1, 1, 3]])).sum().backward();",
    );
    assert_eq!(lab.numbers("e.weight.grad"), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(lab.numbers("e.weight[1]"), [0.0, 0.0]);
}

/// What is one thing has one copy, and what is changed in a copy is not changed in what it was made of.
#[test]
fn a_deep_copy_is_another_with_the_same_ties() {
    let mut lab = Lab::on("sim:t4");
    lab.run(NET);
    lab.run(
        "let opt = optim::SGD(net.parameters(), 0.5); let l = nn::Linear(2, 2); let tied = nn::Sequential(l, l); let x = ones([2, 3]);",
    );
    for (code, want) in [
        (
            "let twin = deepcopy(net); twin[0].weight.data.fill_(7.0); twin[0].weight.equal(net[0].weight)",
            "false",
        ),
        ("[twin[0].weight.requires_grad, twin[1].running_mean.equal(net[1].running_mean)]", "[true, true]"),
        (
            "let t = deepcopy(tied); [t[0].weight.data_ptr() == t[1].weight.data_ptr(), t.parameters().len()]",
            "[true, 2]",
        ),
        ("t[0].weight.data_ptr() == l.weight.data_ptr()", "false"),
        (
            "let before = net[0].weight.clone(); let both = deepcopy([net, opt]); both[0].forward(x).sum().backward(); \
             both[1].step(); [net[0].weight.equal(before), both[0][3].bias.equal(net[3].bias), net[0].weight.grad == ()]",
            "[true, false, true]",
        ),
        (
            "let state = deepcopy(net.state_dict()); net[0].weight.data.zero_(); state[\"0.weight\"].equal(before)",
            "true",
        ),
        (
            "let w = ones(2, #{requires_grad: true}); w.sum().backward(); let c = deepcopy(w); [c.grad.tolist(), c.is_leaf]",
            "[[1.0, 1.0], true]",
        ),
        (
            "let base = zeros(4); let parts = deepcopy([base, base[1..3]]); parts[0].fill_(1.0); [parts[1].sum().item(), base.sum().item()]",
            "[2.0, 0.0]",
        ),
        ("deepcopy(ones(2).cuda()).device", "device(type='cuda', index=0)"),
        ("let n = 1; let f = |x| x + n; let g = deepcopy(f); n = 5; g.call(1)", "6"),
        ("deepcopy([1, [\"a\", ()], #{b: 2.5}])", "[1, [\"a\", ()], #{\"b\": 2.5}]"),
        (
            "let own = nn::module(#{fc: nn::Linear(3, 2), scale: 2}, |self, x| self.fc.forward(x) * self.scale); \
             let other = deepcopy(own); other.scale = 3; [own.scale, other.forward(x).allclose(own.forward(x) * 1.5)]",
            "[2, true]",
        ),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    let (text, hint) = lab.error("deepcopy(net.forward(x))");
    assert!(text.contains("Only Tensors created explicitly by the user"), "{text}");
    assert!(hint.contains("x.detach().clone()"), "{hint}");
}

#[test]
fn parts_may_be_given_as_pairs_in_whose_order_they_stand() {
    let mut lab = Lab::on("cpu");
    lab.run("let net = nn::Sequential([[\"second\", nn::Linear(2, 3)], [\"first\", nn::ReLU()]]);");
    assert_eq!(lab.text("net.named_children().map(|pair| pair[0])"), "[\"second\", \"first\"]");
    assert_eq!(lab.text("net.forward(ones(1, 2)).shape"), "[1, 3]");
    assert_eq!(
        lab.text("nn::ModuleDict([[\"z\", nn::ReLU()], [\"a\", nn::ReLU()]]).keys()"),
        "[\"z\", \"a\"]"
    );
    assert_eq!(
        lab.text(
            "nn::Sequential([[\"a\", nn::Linear(1, 1)], [\"a\", nn::Linear(1, 2)]]).forward(ones(1)).shape"
        ),
        "[2]"
    );
    let (text, _) = lab.error("nn::Sequential([[\"a.b\", nn::ReLU()]])");
    assert!(text.contains("name can't contain"), "{text}");
    let (text, hint) = lab.error("nn::Sequential([[\"second\", 3]])");
    assert!(
        text.contains("is not a Module subclass") && hint.contains("[\"name\", module]"),
        "{text} {hint}"
    );
    let (_, hint) = lab.error("nn::ModuleDict([nn::ReLU()])");
    assert!(hint.contains("an array of pairs"), "{hint}");
}

/// PyTorch 2.15 skips padded places where nothing is learned: `torch.nn.TransformerEncoder`, `enable_nested_tensor`.
#[test]
fn what_is_padded_is_zero_where_an_encoder_is_only_evaluated() {
    let mut lab = Lab::new();
    lab.run(
        "let layer = |o| nn::TransformerEncoderLayer(8, 2, 16, o); let x = randn(2, 4, 8); \
         let ends = tensor([[false, false, true, true], [false, false, false, false]]); \
         let begins = tensor([[true, false, false, false], [false, false, false, false]]); \
         let zeros_of = |net, mask| { net.eval(); let out = (); with no_grad() { out = net.forward(x, #{src_key_padding_mask: mask}); } \
         (out == 0).all(2).sum().item() };",
    );
    for (net, mask, zeros) in [
        ("nn::TransformerEncoder(layer.call(#{batch_first: true}), 2)", "ends", 2.0),
        ("nn::TransformerEncoder(layer.call(#{batch_first: true}), 2)", "begins", 0.0),
        ("nn::TransformerEncoder(layer.call(#{batch_first: true}), 2, #{mask_check: false})", "begins", 1.0),
        (
            "nn::TransformerEncoder(layer.call(#{batch_first: true}), 2, #{enable_nested_tensor: false})",
            "ends",
            0.0,
        ),
        ("nn::TransformerEncoder(layer.call(#{batch_first: true, norm_first: true}), 2)", "ends", 0.0),
        (
            "nn::TransformerEncoder(layer.call(#{batch_first: true}), 2)",
            "ends.float().masked_fill(ends, -1.0 / 0.0)",
            2.0,
        ),
        // The norm comes behind: what is 0 becomes its bias.
        (
            "nn::TransformerEncoder(layer.call(#{batch_first: true}), 2, #{norm: nn::LayerNorm(8)})",
            "ends",
            2.0,
        ),
    ] {
        assert_eq!(lab.float(&format!("zeros_of.call({net}, {mask}).to_float()")), zeros, "{net}, {mask}");
    }
    let both = "let net = nn::TransformerEncoder(layer.call(#{batch_first: true}), 1); net.eval(); let out = (); \
                with no_grad() { out = net.forward(x, #{mask: ones(4, 4).triu(1).bool(), src_key_padding_mask: ends}); } (out == 0).any().item()";
    assert!(!lab.truth(both), "with a mask beside the padding all places are computed");
    let learned = "let net = nn::TransformerEncoder(layer.call(#{batch_first: true}), 1); net.eval(); \
                   (net.forward(x, #{src_key_padding_mask: ends}) == 0).any().item()";
    assert!(!lab.truth(learned), "with gradients all places are computed");
}

#[test]
fn tensors_are_those_of_the_module_alone_where_so_asked() {
    let mut lab = Lab::new();
    lab.run("let net = nn::Sequential(nn::Linear(2, 2), nn::BatchNorm1d(2)); let own = nn::BatchNorm1d(2);");
    for (code, want) in [
        (
            "[net.parameters().len(), net.parameters(#{recurse: false}).len(), own.parameters(false).len()]",
            "[4, 0, 2]",
        ),
        (
            "[net.buffers().len(), net.buffers(#{recurse: false}).len(), own.buffers(#{recurse: false}).len()]",
            "[3, 0, 3]",
        ),
        ("own.named_parameters(\"bn\").map(|pair| pair[0])", "[\"bn.weight\", \"bn.bias\"]"),
        ("own.named_buffers(#{prefix: \"a.b\", recurse: false})[0][0]", "a.b.running_mean"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    lab.run(
        "let x = tensor([1.0, 0.0 / 0.0]); testing::assert_close(x, x, #{equal_nan: true}); \
             testing::assert_close(x.double(), x, #{equal_nan: true, check_dtype: false});",
    );
    assert!(lab.error("testing::assert_close(x, x)").0.contains("not close"));
    assert!(lab.error("testing::assert_close(ones(1), ones(1).double())").0.contains("'dtype' do not match"));
}
