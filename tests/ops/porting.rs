//! Names that programs of PyTorch's bring along: limits of dtypes, parameters as a vector, tables that are there already,
//! groups with names. Numbers and sentences are those of PyTorch 2.15.

use crate::nn::Lab;

fn holds(rows: &[(&str, &str)]) {
    let mut lab = Lab::new();
    for (code, want) in rows {
        assert_eq!(lab.text(code), *want, "{code}");
    }
}

fn refuses(rows: &[(&str, &str)]) {
    let mut lab = Lab::new();
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
fn what_is_not_here_is_told_with_what_is() {
    let mut lab = Lab::new();
    for (code, told) in [
        ("nn::ParameterList([ones(2)])", "nn::module(#{w: nn::Parameter(ones(2))}"),
        ("F::max_pool2d_with_indices(ones([1, 1, 2, 2]), 2)", "return_indices: true"),
        ("vmap(|x| x)", "`stack(list(xs).map(|x| f.call(x)))`"),
        ("optim::swa_utils::AveragedModel(nn::ReLU())", "deepcopy(net)"),
        ("distributions::Normal(0.0, 1.0)", "`normal(mean, std)`"),
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
