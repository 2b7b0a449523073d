//! Names that programs of PyTorch's bring along: limits of dtypes, parameters as a vector, tables that are there already,
//! groups with names. Numbers and sentences are those of PyTorch 2.15.

use crate::nn::Lab;

fn holds(rows: &[(&str, &str)]) {
    holds_on("cpu", rows);
}

fn holds_on(devices: &str, rows: &[(&str, &str)]) {
    let mut lab = Lab::on(devices);
    for (code, want) in rows {
        assert_eq!(lab.text(code), *want, "{code}");
    }
}

fn refuses(rows: &[(&str, &str)]) {
    refuses_on("cpu", rows);
}

fn refuses_on(devices: &str, rows: &[(&str, &str)]) {
    let mut lab = Lab::on(devices);
    for (code, said) in rows {
        let (text, _) = lab.error(code);
        assert!(text.contains(said), "{code}: {text}");
    }
}

#[test]
fn dtypes_tell_their_limits() {
    holds(&[
        ("let f = finfo(float16); [f.bits, f.max, f.min, f.dtype]", "[16, 65504.0, -65504.0, \"float16\"]"),
        ("finfo(bfloat16).max == 3.3895313892515355e38", "true"),
        ("finfo(bfloat16).eps", "0.0078125"),
        ("finfo().eps == 1.1920928955078125e-7 && finfo().tiny == 1.1754943508222875e-38", "true"),
        ("finfo(float32).max == 3.4028234663852886e38 && finfo(float32).resolution == 1e-6", "true"),
        (
            "finfo(float64).max == 1.7976931348623157e308 && finfo(float64).smallest_normal == 2.2250738585072014e-308",
            "true",
        ),
        ("[iinfo(uint8).min, iinfo(uint8).max, iinfo(int8).min, iinfo(int16).max]", "[0, 255, -128, 32767]"),
        ("[iinfo(int64).min, iinfo(int32).max, iinfo(int32).bits]", "[-9223372036854775808, 2147483647, 32]"),
        ("[inf > 1e308, -inf < -1e308, nan == nan, full([1], -inf).item()]", "[true, true, false, -inf]"),
        ("[promote_types(uint8, int8), promote_types(int64, float16)]", "[torch.int16, torch.float16]"),
        (
            "[result_type(tensor([1, 2]), 1.5), result_type(tensor([1], #{dtype: uint8}), 3)]",
            "[torch.float32, torch.uint8]",
        ),
        (
            "[is_tensor(ones(1)), is_tensor(3), is_nonzero(tensor([[2.0]])), is_nonzero(tensor(0))]",
            "[true, false, true, false]",
        ),
        (
            "let x = ones(2); let y = as_tensor(x); y.fill_(3.0); [x.tolist(), as_tensor([1, 2], #{dtype: float32}).dtype]",
            "[[3.0, 3.0], torch.float32]",
        ),
        ("as_tensor(x, #{dtype: float64}).data_ptr() == x.data_ptr()", "false"),
        (
            "[tensor([0.5]).arcsinh().item() == tensor([0.5]).asinh().item(), arctanh(tensor([0.0])).item()]",
            "[true, 0.0]",
        ),
    ]);
    refuses(&[
        ("finfo(int32)", "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"),
        ("iinfo(float32)", "torch.iinfo() requires an integer input type. Use torch.finfo to handle"),
        ("is_nonzero(ones(2))", "Boolean value of Tensor with more than one value is ambiguous"),
    ]);
}

#[test]
fn a_tensor_is_taken_out_of_the_graph_in_its_place() {
    holds(&[
        (
            "let x = ones(2, #{requires_grad: true}); let y = x * 2; let z = y * 3; y.detach_(); [y.requires_grad, y.is_leaf]",
            "[false, true]",
        ),
        // What was computed of it before leads on to where it came from.
        ("z.sum().backward(); x.grad.tolist()", "[6.0, 6.0]"),
        ("(y * x).sum().backward(); x.grad.tolist()", "[8.0, 8.0]"),
        ("let w = ones(1, #{requires_grad: true}); w.detach_(); w.requires_grad", "false"),
    ]);
    refuses(&[(
        "let x = ones(4, #{requires_grad: true}) * 1; x[0..2].detach_()",
        "Can't detach views in-place. Use detach() instead.",
    )]);
}

#[test]
fn parameters_are_one_vector() {
    holds(&[
        (
            "let net = nn::Linear(2, 1); let v = nn::utils::parameters_to_vector(net.parameters()); [v.shape, v.requires_grad]",
            "[[3], true]",
        ),
        (
            "nn::utils::vector_to_parameters(tensor([1.0, 2.0, 3.0]), net.parameters()); [net.weight.tolist(), net.bias.tolist()]",
            "[[[1.0, 2.0]], [3.0]]",
        ),
        (
            "v = nn::utils::parameters_to_vector(net.parameters()); (v * v).sum().backward(); [net.weight.grad.tolist(), net.bias.grad.tolist()]",
            "[[[2.0, 4.0]], [6.0]]",
        ),
        ("net.zero_grad(false); net.weight.grad.tolist()", "[[0.0, 0.0]]"),
        ("net.zero_grad(); net.weight.grad == ()", "true"),
    ]);
    refuses(&[(
        "nn::utils::vector_to_parameters(ones(2), nn::Linear(2, 1).parameters())",
        "the parameters have 3 elements",
    )]);
}

#[test]
fn weights_begin_as_they_are_told() {
    holds(&[
        ("nn::init::eye_(empty([3, 2])).tolist()", "[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]"),
        (
            "let w = nn::init::dirac_(empty([4, 2, 3, 3]), 2); [w.sum().item(), w[0][0][1][1].item(), w[1][1][1][1].item(), w[2][0][1][1].item(), w[3][1][1][1].item()]",
            "[4.0, 1.0, 1.0, 1.0, 1.0]",
        ),
        (
            "let x = randn([1, 2, 5]); F::conv1d(x, nn::init::dirac_(empty([3, 2, 3])), #{padding: 1})[0][0..2].equal(x[0])",
            "true",
        ),
        (
            "[nn::init::calculate_gain(\"leaky_relu\", 0.2), nn::init::calculate_gain(\"relu\")]",
            "[1.3867504905630728, 1.4142135623730951]",
        ),
    ]);
    refuses(&[
        ("nn::init::dirac_(empty([3, 2, 3]), 2)", "dim 0 must be divisible by groups"),
        ("nn::init::dirac_(empty([3, 2]))", "Only tensors with 3, 4, or 5 dimensions are supported"),
        ("nn::init::eye_(empty(3))", "Only tensors with 2 dimensions are supported"),
    ]);
}

#[test]
fn tables_and_resizers_under_their_other_names() {
    holds(&[
        (
            "let e = nn::Embedding::from_pretrained(eye(3)); `${e} ${e.weight.requires_grad} ${e.num_embeddings}`",
            "Embedding(3, 3) false 3",
        ),
        ("e.forward(tensor([2, 0])).tolist()", "[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]"),
        (
            "let t = nn::Embedding::from_pretrained(eye(2), #{freeze: false, padding_idx: 0}); t.forward(tensor([0, 1])).sum().backward(); t.weight.grad.tolist()",
            "[[0.0, 0.0], [1.0, 1.0]]",
        ),
        (
            "nn::UpsamplingNearest2d(#{scale_factor: 2}).forward(tensor([[[[1.0]]]])).tolist()",
            "[[[[1.0, 1.0], [1.0, 1.0]]]]",
        ),
        (
            "nn::UpsamplingBilinear2d(#{size: [1, 3]}).forward(tensor([[[[0.0, 1.0]]]])).tolist()",
            "[[[[0.0, 0.5, 1.0]]]]",
        ),
    ]);
    refuses(&[
        ("nn::Embedding::from_pretrained(ones(3))", "Embeddings parameter is expected to be 2-dimensional"),
        // As PyTorch's, the layer can be made; it is its first call that misses something.
        (
            "let bare = nn::UpsamplingNearest2d(); bare.forward(ones([1, 1, 2, 2]))",
            "either size or scale_factor should be defined",
        ),
    ]);
}

#[test]
fn groups_of_an_optimiser_carry_names() {
    holds(&[
        (
            "let net = nn::Linear(2, 1); let o = optim::SGD([#{params: net.parameters(), name: \"decay\", lr_scale: 0.5}], 0.1); let g = o.param_groups[0]; [g.name, g.lr_scale, g.lr]",
            "[\"decay\", 0.5, 0.1]",
        ),
        (
            "g.name = \"bias\"; g.layer = 3; [o.param_groups[0].name, o.param_groups[0].layer, \"name\" in o.param_groups[0].keys()]",
            "[\"bias\", 3, true]",
        ),
        (
            "let o2 = optim::SGD([#{params: net.parameters()}], 0.1); o2.load_state_dict(o.state_dict()); o2.param_groups[0].name",
            "bias",
        ),
    ]);
    // Any other word is an option misspelt.
    refuses(&[(
        "let net = nn::Linear(2, 1); optim::SGD([#{params: net.parameters(), wieght_decay: 0.1}], 0.1)",
        "SGD has no option 'wieght_decay'",
    )]);
}

#[test]
fn all_derivatives_of_a_function_come_at_once() {
    holds(&[
        (
            "autograd::functional::jacobian(|x| x.pow(3), tensor([1.0, 2.0])).tolist()",
            "[[3.0, 0.0], [0.0, 12.0]]",
        ),
        (
            "autograd::functional::jacobian(|a, b| a * b, [tensor([1.0, 2.0]), tensor([3.0, 4.0])]).map(|j| j.tolist())",
            "[[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]]",
        ),
        (
            "autograd::functional::jacobian(|x| [x.sum(), x * 2], tensor([1.0, 2.0])).map(|j| j.tolist())",
            "[[1.0, 1.0], [[2.0, 0.0], [0.0, 2.0]]]",
        ),
        ("autograd::functional::jacobian(|x| ones(2), tensor([1.0])).tolist()", "[[0.0], [0.0]]"),
        ("autograd::functional::jacobian(|x| x.reshape([0, 2]), zeros([2, 0])).shape", "[0, 2, 2, 0]"),
        ("with no_grad() { autograd::functional::jacobian(|x| x * 3, ones(1)) }", "tensor([[3.]])"),
        (
            "autograd::functional::hessian(|x| x.pow(3).sum(), tensor([1.0, 2.0])).tolist()",
            "[[6.0, 0.0], [0.0, 12.0]]",
        ),
        (
            "autograd::functional::hessian(|x, y| (x * y).sum(), [tensor([1.0]), tensor([2.0])]).map(|r| r.map(|h| h.item()))",
            "[[0.0, 1.0], [1.0, 0.0]]",
        ),
        // A derivative of derivatives, and none that is left behind.
        (
            "let x = tensor([2.0], #{requires_grad: true}); let j = autograd::functional::jacobian(|x| x.pow(3), x, #{create_graph: true}); j.sum().backward(); [j.item(), x.grad.item()]",
            "[12.0, 12.0]",
        ),
        (
            "let x = ones(2, #{requires_grad: true}); let j = autograd::functional::jacobian(|x| x * 2, x); [j.requires_grad, x.grad == ()]",
            "[false, true]",
        ),
    ]);
    refuses(&[
        (
            "autograd::functional::hessian(|x| x, ones(2))",
            "The Tensor returned by the function given to hessian should contain a single element",
        ),
        (
            "autograd::functional::hessian(|x| [x], ones(1))",
            "The function given to hessian should return a single Tensor",
        ),
        (
            "autograd::functional::jacobian(|x| 3, ones(2))",
            "must be a Tensor or an array of tensors, not int",
        ),
        (
            "autograd::functional::jacobian(|x| x, tensor([1]))",
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
    ]);
}

#[test]
fn derivatives_are_multiplied_with_vectors() {
    holds(&[
        (
            "autograd::functional::vjp(|x| x * x, tensor([1.0, 3.0]), tensor([1.0, 10.0])).map(|t| t.tolist())",
            "[[1.0, 9.0], [2.0, 60.0]]",
        ),
        // v @ J and J @ v of a matrix that is not symmetric.
        (
            "let w = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]); autograd::functional::vjp(|x| w.mv(x), ones(3), tensor([1.0, 10.0])).map(|t| t.tolist())",
            "[[6.0, 15.0], [41.0, 52.0, 63.0]]",
        ),
        (
            "autograd::functional::jvp(|x| w.mv(x), ones(3), tensor([1.0, 0.0, 10.0])).map(|t| t.tolist())",
            "[[6.0, 15.0], [31.0, 64.0]]",
        ),
        (
            "autograd::functional::vjp(|x| (x * x).sum(), tensor([1.0, 2.0])).map(|t| t.tolist())",
            "[5.0, [2.0, 4.0]]",
        ),
        ("autograd::functional::jvp(|x| x * x, tensor(3.0)).map(|t| t.item())", "[9.0, 6.0]"),
        (
            "let x = tensor([1.0, 2.0]); autograd::functional::jvp(|a, b| [a * b, a + b], [x, x], [ones(2), ones(2)])[1].map(|t| t.tolist())",
            "[[2.0, 4.0], [2.0, 2.0]]",
        ),
        (
            "autograd::functional::vjp(|a, b| [a * b, a + b], [x, x], [ones(2), ones(2)])[1].map(|t| t.tolist())",
            "[[2.0, 3.0], [2.0, 3.0]]",
        ),
        // Of what does not depend on an input the product is 0.
        ("autograd::functional::jvp(|x| ones(2), x, ones(2))[1].tolist()", "[0.0, 0.0]"),
        (
            "let p = tensor([1.0, 2.0], #{requires_grad: true}); autograd::functional::jvp(|x| x.pow(3), p, ones(2), #{create_graph: true})[1].sum().backward(); p.grad.tolist()",
            "[6.0, 12.0]",
        ),
        // Also where nothing is recorded around it.
        (
            "p.grad = (); let q = with no_grad() { autograd::functional::vjp(|x| x.pow(3), p, ones(2), #{create_graph: true})[1] }; q.sum().backward(); [q.tolist(), p.grad.tolist()]",
            "[[3.0, 12.0], [6.0, 12.0]]",
        ),
        (
            "p.grad = (); let j = with no_grad() { autograd::functional::hessian(|x| x.pow(3).sum(), p, #{create_graph: true}) }; j.sum().backward(); [j.tolist(), p.grad.tolist()]",
            "[[[6.0, 0.0], [0.0, 12.0]], [6.0, 6.0]]",
        ),
        (
            "let found = autograd::functional::vjp(|x| x.pow(3), p, ones(2)); [found[0].requires_grad, found[1].requires_grad]",
            "[false, false]",
        ),
    ]);
    refuses(&[
        (
            "autograd::functional::vjp(|x| x, ones(2))",
            "The vector v can only be None if the user-provided function returns a single Tensor with a single element.",
        ),
        (
            "autograd::functional::jvp(|x| x, ones(2))",
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
        ),
        (
            "autograd::functional::vjp(|x| x, ones(2), ones(3))",
            "v has invalid size: should be torch.Size([2]) but got torch.Size([3]).",
        ),
        (
            "autograd::functional::jvp(|a, b| a, [ones(2), ones(2)], ones(2))",
            "v is a tuple of invalid length: should be 2 but got 1.",
        ),
    ]);
}

#[test]
fn what_is_not_here_is_told_with_what_is() {
    let mut lab = Lab::new();
    for (code, told) in [
        ("nn::ParameterList([ones(2)])", "nn::module(#{w: nn::Parameter(ones(2))}"),
        ("F::max_pool2d_with_indices(ones([1, 1, 2, 2]), 2)", "return_indices: true"),
        ("vmap(|x| x)", "`stack(list(xs).map(|x| f.call(x)))`"),
        ("optim::swa_utils::AveragedModel(nn::ReLU())", "deepcopy(net)"),
        ("distributions::Beta(0.5, 1.0)", "`distributions::Normal`, `Categorical` and `Bernoulli` are there"),
        ("Normal(0.0, 1.0)", "`distributions::Normal(0.0, 1.0)`"),
    ] {
        let (_, hint) = lab.error(code);
        assert!(hint.contains(told), "{code}: {hint}");
    }
    // A function of one's own may bear a module's name.
    for code in ["func(3)", "distributions(3)"] {
        let (_, hint) = lab.error(code);
        assert!(!hint.contains("autograd") && !hint.contains("normal"), "{code}: {hint}");
    }
    // And that is so.
    holds(&[
        ("stack(list(eye(2)).map(|x| x * 2)).equal(eye(2) * 2)", "true"),
        ("F::max_pool2d(ones([1, 1, 2, 2]), 2, #{return_indices: true}).len()", "2"),
        ("linalg::solve_triangular(eye(2), eye(2), #{upper: true}).equal(eye(2))", "true"),
        (
            "let net = nn::Linear(1, 1); let mean = deepcopy(net); with no_grad() { mean.weight.lerp_(net.weight * 3, 0.5); } mean.weight.allclose(net.weight * 2)",
            "true",
        ),
        ("\"weight\" in net.state_dict().keys()", "true"),
    ]);
}

#[test]
fn generators_go_on_from_where_they_stood() {
    // Each byte of a state counts by its place: the sums are those of PyTorch's states.
    holds_on(
        "sim:t4",
        &[
            (
                "let w = arange(5056) % 251 + 1; fn sum_of(state, w) { (state.long() * w).sum().item() } manual_seed(7); sum_of(get_rng_state(), w)",
                "40329192",
            ),
            ("rand(5); sum_of(get_rng_state(), w)", "40691363"),
            // The second number of a pair of normal ones is kept.
            ("randn(3); sum_of(get_rng_state(), w)", "40703422"),
            ("rand(616); sum_of(get_rng_state(), w)", "40104919"),
            ("rand(1); sum_of(get_rng_state(), w)", "40104927"),
            ("manual_seed(1099511627781); rand(624); sum_of(get_rng_state(), w)", "41252670"),
            (
                "randn(1); let at = get_rng_state(); let a = randn(5); set_rng_state(at); a.equal(randn(5))",
                "true",
            ),
            ("manual_seed(7); set_rng_state(get_rng_state()); sum_of(get_rng_state(), w)", "40329192"),
            ("initial_seed()", "7"),
            // A generator of one's own, and the session's.
            (
                "let g = Generator(); g.set_state(get_rng_state()); rand(3, #{generator: g}).equal(rand(3))",
                "true",
            ),
            // A GPU's: its seed, and how far it has come.
            (
                "cuda::manual_seed(7); rand(3, #{device: \"cuda\"}); cuda::get_rng_state().tolist()",
                "[7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]",
            ),
            (
                "let all = cuda::get_rng_state_all(); let b = rand(3, #{device: \"cuda\"}); cuda::set_rng_state_all(all); b.equal(rand(3, #{device: \"cuda\"}))",
                "true",
            ),
            // What is drawn in a block changes nothing outside, on an error too.
            (
                "manual_seed(1); let c = [rand(2), rand(2, #{device: \"cuda\"})]; manual_seed(1); try { with fork_rng() { rand(5); rand(5, #{device: \"cuda\"}); throw \"no\" } } catch { }; c[0].equal(rand(2)) && c[1].equal(rand(2, #{device: \"cuda\"}))",
                "true",
            ),
            (
                "manual_seed(1); with fork_rng([]) { rand(5); rand(5, #{device: \"cuda\"}); }; [c[0].equal(rand(2)), c[1].equal(rand(2, #{device: \"cuda\"}))]",
                "[true, false]",
            ),
            ("manual_seed(1); with fork_rng(#{enabled: false}) { rand(5); }; c[0].equal(rand(2))", "false"),
        ],
    );
    refuses_on(
        "sim:t4",
        &[
            (
                "set_rng_state(zeros(10, #{dtype: uint8}))",
                "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 10",
            ),
            ("set_rng_state(zeros(5056))", "RNG state must be a torch.ByteTensor"),
            ("set_rng_state(get_rng_state().cuda())", "RNG state must be a torch.ByteTensor"),
            ("set_rng_state(zeros(5056, #{dtype: uint8}))", "Invalid mt19937 state"),
            ("cuda::set_rng_state(get_rng_state())", "RNG state is wrong size"),
            ("cuda::set_rng_state(cuda::get_rng_state() + 1)", "offset must be a multiple of 4"),
            ("Generator().set_state(ones(3))", "RNG state must be a torch.ByteTensor"),
        ],
    );
}

#[test]
fn parts_of_datasets_know_where_they_are_from() {
    holds(&[
        (
            "let d = data::TensorDataset(arange(6).view(3, 2), arange(3)); data::Subset(d, [2, -3]).indices",
            "[2, 0]",
        ),
        ("data::Subset(d, [2, 0]).dataset[1][1].item()", "1"),
        (
            "let parts = data::random_split(d, [2, 1]); sorted(parts[0].indices + parts[1].indices)",
            "[0, 1, 2]",
        ),
        ("d[0..2].map(|t| t.tolist())", "[[[0, 1], [2, 3]], [0, 1]]"),
        ("d[-1..9].map(|t| t.tolist())", "[[[4, 5]], [2]]"),
        ("d[1..=1].map(|t| t.tolist())", "[[[2, 3]], [1]]"),
        ("data::default_collate([d[0], d[2]]).map(|t| t.tolist())", "[[[0, 1], [4, 5]], [0, 2]]"),
    ]);
    refuses(&[
        ("data::TensorDataset(ones(2)).indices", "a TensorDataset has no indices"),
        ("data::Subset(arange(3), [0])[0..1]", "of a Subset samples are taken one by one"),
        ("data::default_collate(3)", "argument 'batch' must be an array, not int"),
    ]);
}

#[test]
fn targets_of_probabilities_are_floats() {
    refuses(&[
        (
            "F::binary_cross_entropy_with_logits(ones(3), ones(3).long())",
            "RuntimeError: result type Float can't be cast to the desired output type Long",
        ),
        (
            "nn::BCEWithLogitsLoss().forward(ones(3), ones(3).bool())",
            "NotImplementedError: Subtraction, the `-` operator, with two bool tensors is not supported.",
        ),
        (
            "F::binary_cross_entropy(ones(3), ones(3).long())",
            "RuntimeError: Found dtype Long but expected Float",
        ),
        (
            "F::binary_cross_entropy(ones(3), ones(3).double())",
            "RuntimeError: Found dtype Double but expected Float",
        ),
    ]);
    holds(&[
        ("F::binary_cross_entropy_with_logits(ones(3), ones(3).double()).dtype", "torch.float64"),
        // What autocast makes of both is asked, not what they were.
        (
            "with autocast(\"cpu\") { F::binary_cross_entropy(nn::Linear(2, 1).forward(ones(3, 2)).sigmoid(), ones(3, 1)).dtype }",
            "torch.float32",
        ),
    ]);
    refuses_on(
        "sim:t4",
        &[(
            "with autocast(\"cuda\") { F::binary_cross_entropy(ones(3).cuda().half(), ones(3).cuda()) }",
            "unsafe to autocast",
        )],
    );
}

#[test]
fn slips_of_training_are_told_as_what_they_are() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let net = nn::Linear(2, 2); let opt = optim::Adam(net.parameters(), 0.1);");
    lab.run("net.forward(ones(1, 2)).sum().backward(); opt.step(); net.cuda();");
    for (code, hint) in [
        (
            "net.forward(ones(1, 2).cuda()).sum().backward(); opt.step()",
            "move the network first, then make its optimiser",
        ),
        ("opt.lr = 0.01", "`opt.param_groups[0].lr`"),
        ("optim::SGD(net.parameters(), #{learning_rate: 0.1})", "did you mean `lr`?"),
        ("optim::AdamW(net.parameters(), #{capturable: true})", "leave it out"),
        ("optim::Adam(net.parameters(), 0.1, 0.9)", "`#{betas: [0.9, 0.999]}`"),
        (
            "optim::SGD(net.parameters().filter(|p| !p.requires_grad), 0.1)",
            "one at least must have `requires_grad`",
        ),
        ("net.load_state_dict(nn::Linear(3, 2).state_dict())", "with other sizes"),
        ("net.load_state_dict(#{})", "`#{strict: false}`"),
        (
            "net.load_state_dict(nn::DataParallel(nn::Linear(2, 2)).state_dict())",
            "`wrapped.module.state_dict()`",
        ),
        ("nn::module(#{fc: net}, |x| self.fc.forward(x)).forward(ones(2))", "`|self, x|"),
        ("let f = F::relu;", "`|x| F::relu(x)`"),
        // A size that differs says more than a name beside it.
        ("net.load_state_dict(#{weight: ones(3, 3), other: ones(2)}, #{strict: false})", "with other sizes"),
        ("nn::utils::clip_grad_norm_(net.parameters(), 1.0, #{foreach: true})", "leave it out"),
        ("sum([ones(2), ()])", "a function whose last line has none"),
        ("net.call(ones(2))", "a module is called by `net.forward(x)`"),
        ("max(ones(2, 2), 1)[0]", "`.values` and `.indices`"),
        ("().sum()", "a function whose last line has none"),
        ("nn::LSTM(2, 3).forward(ones(1, 1, 2)).sum()", "`xs[0]` is the first of them"),
    ] {
        let (text, told) = lab.error(code);
        assert!(told.contains(hint), "{code}: {text}: {told}");
    }
    // A number that is trained is a parameter as well.
    lab.run("let one = nn::module(#{w: nn::Parameter(tensor(1.0))}, |self, x| self.w * x); let opt = optim::Adam(one.parameters());");
    lab.run("one.forward(2.0).backward(); opt.step(); one.cuda();");
    let (_, told) = lab.error("one.forward(2.0).backward(); opt.step()");
    assert!(told.contains("move the network first"), "{told}");
    // A closure that takes one is offered for what takes one alone.
    let (_, told) = lab.error("let f = F::mse_loss;");
    assert!(!told.contains("|x|"), "{told}");
    // It may be set, here alone and not in the children.
    assert_eq!(
        lab.text("let net = nn::Sequential(nn::Dropout(0.5)); net.training = false; [net.training, net[0].training]"),
        "[false, true]"
    );
}

#[test]
fn inference_records_nothing_unless_it_is_off() {
    holds(&[
        ("let x = ones(2, #{requires_grad: true}); with inference_mode() { (x * 2).requires_grad }", "false"),
        ("with no_grad() { with inference_mode(false) { (x * 2).requires_grad } }", "true"),
        ("(x * 2).requires_grad", "true"),
    ]);
}

/// To the last bit what PyTorch gives on the CPU: in networks that start from such numbers, losses are the same.
#[test]
fn numbers_between_two_are_pytorchs_to_the_last_bit() {
    holds(&[
        ("linspace(-2, 2, 16)[3].item()", "-1.1999999284744263"),
        ("linspace(0, 10, 4, #{dtype: float16})[2].item()", "6.66796875"),
        ("linspace(-5.241, -7.392, 100, #{dtype: bfloat16})[28].item()", "-5.875"),
        ("linspace(-2, 2, 16)[12].item()", "1.1999999284744263"),
        ("linspace(-5.241, -7.392, 100, #{dtype: float64})[13].item()", "-5.523454545454546"),
        (
            "[linspace(3, 4, 1).item(), linspace(3, 4, 2).tolist(), linspace(0, 1, 0).shape]",
            "[3.0, [3.0, 4.0], [0]]",
        ),
    ]);
}

/// The factor of what is kept is rounded to the dtype on the CPU, in both directions.
#[test]
fn dropout_of_halves_scales_as_pytorch_does() {
    let mut lab = Lab::on("cpu");
    for (dtype, value, grad) in
        [("bfloat16", "-0.302734375", "1.109375"), ("float16", "-0.303955078125", "1.111328125")]
    {
        lab.run(&format!(
            "manual_seed(0); let x = full([64], -0.2734375).to({dtype}).requires_grad_(); let y = F::dropout(x, 0.1); y.sum().backward();"
        ));
        assert_eq!(lab.text("y.double().min().item()"), value);
        assert_eq!(lab.text("x.grad.double().max().item()"), grad);
    }
}
