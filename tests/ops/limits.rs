//! Values, gradients and refusals at the limits of what functions are defined for, as PyTorch 2.15 has them.

use crate::nn::Lab;

/// Each code prints what is beside it, on the CPU and on a simulated GPU alike where it says `PLACE`.
fn told(lab: &mut Lab, all: &[(&str, &str)]) {
    for (code, want) in all {
        for place in ["cpu", "cuda"].iter().take(if code.contains("PLACE") { 2 } else { 1 }) {
            let code = code.replace("PLACE", &format!("\"{place}\""));
            assert_eq!(lab.text(&code), *want, "{code}");
        }
    }
}

/// Each code fails with what is beside it.
fn refused(lab: &mut Lab, all: &[(&str, &str)]) {
    for (code, want) in all {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}: {error}");
    }
}

/// A function `slopes(x, f)`: the gradient of the sum of `f` and that of the sum of its squares.
fn with_slopes() -> Lab {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "fn slope(x, f) { let x = x.requires_grad_(); autograd::grad(f.call(x).sum(), x)[0] }
         fn second(x, f) {
             let x = x.requires_grad_();
             let g = autograd::grad(f.call(x).sum(), x, #{create_graph: true})[0];
             autograd::grad((g * g).sum(), x)[0]
         }",
    );
    lab
}

#[test]
fn singular_matrices_have_cofactors() {
    let mut lab = with_slopes();
    told(
        &mut lab,
        &[
            (
                "slope(tensor([[1.0, 2.0], [2.0, 4.0]], #{device: PLACE}), |x| det(x)).tolist()",
                "[[4.0, -2.0], [-2.0, 1.0]]",
            ),
            ("slope(zeros(3, 3), |x| x.det()).abs().sum().item()", "0.0"),
            ("slope(zeros(1, 1), |x| linalg::det(x)).item()", "1.0"),
            (
                "slope(tensor([[[3.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 3.0]]], #{device: PLACE}), |x| det(x)).tolist()",
                "[[[2.0, 0.0], [0.0, 3.0]], [[3.0, -0.0], [-1.0, 0.0]]]",
            ),
            (
                "second(arange(1.0, 10.0, #{dtype: float64, device: PLACE}).reshape([3, 3]), |x| det(x)).round().int().tolist()",
                "[[-414, -36, 342], [-108, 0, 108], [198, 36, -126]]",
            ),
            // One direction of many is flat: singular values say what the others make of it.
            ("slope(ones(70).index_fill(0, tensor([3]), 0).diag(), |x| det(x)).sum().item()", "1.0"),
            ("slope(zeros(0, 3, 3), |x| det(x)).shape", "[0, 3, 3]"),
        ],
    );
    let sentence = "torch.linalg.solve: The solver failed because the input matrix is singular.";
    refused(
        &mut lab,
        &[
            ("slope(ones(2, 2), |x| logdet(x))", sentence),
            ("slope(ones(2, 2), |x| x.slogdet().logabsdet)", sentence),
        ],
    );
}

#[test]
fn probabilities_are_between_0_and_1() {
    let mut lab = with_slopes();
    told(
        &mut lab,
        &[(
            "F::binary_cross_entropy(tensor([0.0, 1.0], #{device: PLACE}), tensor([0.0, 1.0], #{device: PLACE})).item()",
            "0.0",
        )],
    );
    let input = "RuntimeError: all elements of input should be between 0 and 1";
    refused(
        &mut lab,
        &[
            ("F::binary_cross_entropy(tensor([1.5]), tensor([1.0]))", input),
            (
                "F::binary_cross_entropy(tensor([0.5, -0.5]), tensor([1.0, 0.0]), #{reduction: \"none\"})",
                input,
            ),
            (
                "F::binary_cross_entropy(tensor([0.5, 0.0 / 0.0]), tensor([1.0, 0.0]), #{weight: ones(2)})",
                input,
            ),
            ("nn::BCELoss().forward(tensor([-0.5]), tensor([1.0]))", input),
            (
                "F::binary_cross_entropy(tensor([0.5]), tensor([1.5]))",
                "all elements of target should be between 0 and 1",
            ),
        ],
    );
}

/// Beside narrow integers a number is first what they hold of it.
#[test]
fn numbers_wrap_around_in_narrow_integers() {
    let mut lab = with_slopes();
    lab.run("let u = tensor([1, 2, 3], #{dtype: uint8}); let c = tensor([1, 2, 3], #{dtype: int8}); let t = tensor([true, false]);");
    told(
        &mut lab,
        &[
            ("(u.to(PLACE) > -1).tolist()", "[false, false, false]"),
            ("(u.to(PLACE) > tensor(-1)).tolist()", "[false, false, false]"),
            ("(u.to(PLACE) > tensor(-1, #{device: PLACE})).tolist()", "[false, false, false]"),
            ("(u.to(PLACE) % -1).tolist()", "[1, 2, 3]"),
            ("fmod(u.to(PLACE), -1).tolist()", "[1, 2, 3]"),
            ("remainder(u.to(PLACE), 300).tolist()", "[1, 2, 3]"),
            ("floor_divide(u.to(PLACE), -1).tolist()", "[0, 0, 0]"),
            ("(u.to(PLACE) << -1).tolist()", "[0, 0, 0]"),
            ("u.clone().remainder_(-1).tolist()", "[1, 2, 3]"),
            ("(c.to(PLACE) < 300).tolist()", "[true, true, true]"),
            ("(c.to(PLACE) > 200).tolist()", "[true, true, true]"),
            ("(c.to(PLACE).short() > 40000).tolist()", "[true, true, true]"),
            ("(c.to(PLACE).int() > 40000).tolist()", "[false, false, false]"),
            ("bucketize(-1, u.to(PLACE)).item()", "3"),
            ("searchsorted(c.to(PLACE), 200).item()", "0"),
            ("add(t.to(PLACE), t.to(PLACE), #{alpha: -1}).tolist()", "[true, false]"),
            ("add(!t, t, #{alpha: 0}).tolist()", "[false, true]"),
            ("u.clamp(-1).tolist()", "[1, 2, 3]"),
        ],
    );
    let byte = "value cannot be converted to type uint8_t without overflow";
    refused(
        &mut lab,
        &[
            ("F::pad(u, [1, 0], #{value: -1})", byte),
            ("u ** 300", byte),
            ("add(u, u, #{alpha: 300})", byte),
            ("u.addcmul(u, u, #{value: 300})", byte),
            ("u.fill_(300)", byte),
            ("u[0] = 300", byte),
            ("u.masked_fill(u > 1, 300)", byte),
            ("where(u > 1, u, 300)", byte),
            ("scatter(u, 0, tensor([0]), 300)", byte),
            ("full_like(u, -2.5)", byte),
            ("c.fill_(200)", "value cannot be converted to type int8_t without overflow"),
            ("c.int().fill_(1099511627776)", "value cannot be converted to type int without overflow"),
            ("u.clamp(300)", "Clamp min value 300 is outside the representable range of Byte"),
            ("u.clamp_max(-1)", "Clamp max value -1 is outside the representable range of Byte"),
        ],
    );
}

#[test]
fn second_derivatives_at_kinks_are_pytorch_s() {
    let mut lab = with_slopes();
    lab.run(
        "fn bend(x, f) {
             let x = x.requires_grad_();
             let g = autograd::grad(f.call(x).sum(), x, #{create_graph: true})[0];
             autograd::grad(g.sum(), x)[0].tolist()
         }
         let w = tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_();
         let y = F::embedding(tensor([0, 0, 1]), w, #{scale_grad_by_freq: true});
         let g = autograd::grad((y * y).sum(), w, #{create_graph: true})[0];",
    );
    told(
        &mut lab,
        &[
            ("bend(zeros([1], #{device: PLACE}), |x| special::i1(x))", "[0.0]"),
            ("bend(zeros([1], #{device: PLACE}), |x| special::i1e(x))", "[0.0]"),
            ("bend(tensor([0.5, 0.7], #{device: PLACE}), |x| F::softplus(x, 2.0, 1.0))", "[0.0, 0.0]"),
            (
                "bend(tensor([1.0, -1.0, 0.5, 2.0], #{device: PLACE}), |x| F::huber_loss(x, zeros_like(x), #{reduction: \"sum\"}))",
                "[0.0, 0.0, 1.0, 0.0]",
            ),
            ("bend(tensor([0.0, 2.0], #{device: PLACE}), |x| x.copysign(-1.0))", "[nan, 0.0]"),
            ("slope(tensor([0.0, 2.0]), |x| x.copysign(-1.0)).abs().tolist()", "[0.0, 1.0]"),
            ("g.tolist()", "[[2.0, 4.0], [6.0, 8.0]]"),
            ("autograd::grad((g * g).sum(), w)[0].tolist()", "[[8.0, 16.0], [24.0, 32.0]]"),
        ],
    );
}

#[test]
fn what_is_not_a_number_has_pytorch_s_gradient() {
    let mut lab = with_slopes();
    lab.run(
        "let hole = tensor([1.0, 0.0 / 0.0, 3.0, 0.0 / 0.0]); let endless = tensor([1.0 / 0.0, -1.0 / 0.0]);
         fn of_scatter(x, name, own) {
             let s = tensor([1.0, 2.0, 2.0], #{device: x.device}).requires_grad_();
             let v = tensor([0.0 / 0.0, 3.0, 1.0, 2.0, 0.0 / 0.0], #{device: x.device}).requires_grad_();
             let y = s.scatter_reduce(0, tensor([0, 1, 1, 2, 0], #{device: x.device}), v, name, #{include_self: own});
             autograd::grad(y.sum(), [s, v]).map(|g| g.tolist())
         }",
    );
    told(
        &mut lab,
        &[
            ("slope(hole.to(PLACE), |x| x.max()).tolist()", "[0.0, 0.5, 0.0, 0.5]"),
            ("slope(hole.to(PLACE)[..3], |x| x.min()).tolist()", "[0.0, 1.0, 0.0]"),
            ("slope(hole.to(PLACE), |x| x.amax()).tolist()", "[nan, nan, nan, nan]"),
            ("slope(tensor([1.0, 3.0, 3.0]), |x| x.max()).tolist()", "[0.0, 0.5, 0.5]"),
            ("polygamma(1, endless.to(PLACE)[0]).item()", "0.0"),
            ("polygamma(2, endless.to(PLACE)[0]).item()", "nan"),
            (
                "of_scatter(ones([1], #{device: PLACE}), \"amax\", true)",
                "[[nan, 0.0, 0.5], [nan, 1.0, 0.0, 0.5, nan]]",
            ),
            ("of_scatter(ones(1), \"amin\", false)", "[[0.0, 0.0, 0.0], [nan, 0.0, 1.0, 0.5, nan]]"),
            (
                "of_scatter(ones([1], #{device: PLACE}), \"prod\", true)",
                "[[nan, 3.0, 2.0], [nan, 2.0, 6.0, 2.0, nan]]",
            ),
            // All equals share, however many there are.
            (
                "slope(tensor([2.0, 2.0, 2.0, 1.0]), |v| zeros(1).scatter_reduce(0, zeros([3], #{dtype: int64}), v, \"amax\") * 3).tolist()",
                "[1.0, 1.0, 1.0, 0.0]",
            ),
            ("F::kl_div(zeros(0, 3), zeros(0, 3), #{reduction: \"batchmean\"}).item()", "nan"),
        ],
    );
}

#[test]
fn factors_and_inverses_that_fail_tell_how_far_they_came() {
    let mut lab = with_slopes();
    lab.run("let late = tensor([[4.0, 2.0, 1.0], [2.0, 10.0, 1.0], [1.0, 1.0, 0.25]]); let a = tensor([[2.0, 5.0], [1.0, 4.0]], #{dtype: float64});");
    told(
        &mut lab,
        &[
            (
                "linalg::cholesky_ex(tensor([[4.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 5.0]], #{device: PLACE})).L.tolist()",
                "[[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1.0, 5.0]]",
            ),
            (
                "linalg::cholesky_ex(tensor([[4.0, 2.0, 1.0], [2.0, -1.0, 1.0], [1.0, 1.0, 5.0]]), true).L.tolist()",
                "[[2.0, 1.0, 0.5], [0.0, -2.0, 1.0], [0.0, 0.0, 5.0]]",
            ),
            ("linalg::cholesky_ex(late).L[2][2].item() < 0.0", "true"),
            ("linalg::cholesky_ex(late).info.item()", "3"),
            (
                "linalg::inv_ex(tensor([[1.0, 2.0], [2.0, 4.0]], #{device: PLACE})).inverse.tolist()",
                "[[-inf, inf], [inf, -inf]]",
            ),
            ("linalg::inv_ex(zeros(2, 2)).inverse.tolist()", "[[nan, nan], [nan, inf]]"),
            (
                "linalg::solve_ex(stack([eye(2), ones(2, 2)]), tensor([[2.0], [3.0]])).result.tolist()",
                "[[[2.0], [3.0]], [[-inf], [inf]]]",
            ),
            ("slope(eye(2), |x| cholesky_inverse(x)).tolist()", "[[-2.0, -2.0], [-2.0, -2.0]]"),
            ("slope(eye(2), |x| cholesky_inverse(x, true)).tolist()", "[[-2.0, -2.0], [-2.0, -2.0]]"),
        ],
    );
    refused(
        &mut lab,
        &[
            (
                "cholesky_inverse(diag(tensor([1.0, 0.0])))",
                "cholesky_inverse: The diagonal element 2 is zero, the inversion could not be completed",
            ),
            (
                "cholesky_inverse(zeros(2, 3, 3))",
                "cholesky_inverse: (Batch element 0): The diagonal element 1 is zero",
            ),
        ],
    );
}

/// What stood in a tensor before it was written over has a gradient of zeros.
#[test]
fn what_is_written_over_has_zeros() {
    let mut lab = with_slopes();
    lab.run("fn before(f) { let w = ones(3).requires_grad_(); let x = w * 2; f.call(x); x.sum().backward(); w.grad.tolist() }");
    for f in [
        "x.zero_()",
        "x.fill_(3.0)",
        "x.fill_(tensor(3.0))",
        "x.copy_(tensor([1.0, 2.0, 3.0]))",
        "x.eq_(1.0)",
        "x.gt_(1.0)",
        "x.logical_not_()",
        "x.logical_and_(tensor([1, 0, 1]))",
    ] {
        assert_eq!(lab.text(&format!("before(|x| {f})")), "[0.0, 0.0, 0.0]", "{f}");
    }
    lab.run("let w = ones(3).requires_grad_(); let x = w * 2; x.zero_();");
    assert_eq!(lab.text("autograd::grad(x.sum(), w)[0].tolist()"), "[0.0, 0.0, 0.0]");
}

#[test]
fn what_pytorch_refuses_is_refused() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let d = ones([2, 3], #{dtype: float64}); let i = tensor([[1, 2], [3, 4]]); let f = ones(2, 3);");
    let apart = "RuntimeError: expected scalar type Float but found Double";
    refused(
        &mut lab,
        &[
            ("cdist(f, f, -1)", "cdist only supports non-negative p values"),
            ("cdist(i, i)", "cdist only supports floating-point dtypes, X1 got: Long"),
            ("cdist(f, ones(2, 3).int())", "cdist only supports floating-point dtypes, X2 got: Int"),
            ("cdist(f, d)", apart),
            ("cross(f, d)", apart),
            ("linalg::cross(f, d)", apart),
            ("heaviside(f, d)", "heaviside is not yet implemented for tensors with different dtypes."),
            (
                "f.clone().heaviside_(tensor(1))",
                "heaviside is not yet implemented for tensors with different dtypes.",
            ),
            (
                "F::adaptive_avg_pool2d(ones([1, 1, 0, 2]), 2)",
                "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes \
                 [1, 1, 0, 2] with dimension 2 being empty",
            ),
            ("F::adaptive_avg_pool1d(ones([1, 1, 0]), 2)", "[1, 1, 1, 0] with dimension 3 being empty"),
            (
                "linalg::vector_norm(zeros([0, 3]), -1)",
                "linalg.vector_norm cannot compute the -1 norm on an empty tensor because",
            ),
            (
                "linalg::vector_norm(zeros([0, 3]), -2.5, #{dim: 0})",
                "the -2.5 norm on the dimension 0because this dimension is empty and the operation does not",
            ),
            ("dist(zeros(0), zeros(0), 1.0 / 0.0)", "cannot compute the inf norm on an empty tensor"),
            ("F::hardsigmoid(i)", "\"hardsigmoid_cpu\" not implemented for 'Long'"),
            ("F::softshrink(i.byte())", "\"softshrink_check\" not implemented for 'Byte'"),
            ("F::hardshrink(i)", "\"hardshrink_cpu\" not implemented for 'Long'"),
            ("F::celu(i)", "\"elu_cpu\" not implemented for 'Long'"),
            ("F::glu(i)", "\"glu_cpu\" not implemented for 'Long'"),
            ("F::logsigmoid(i)", "\"log_sigmoid_cpu\" not implemented for 'Long'"),
            ("F::threshold(i.bool(), 0, 0)", "\"threshold_cpu\" not implemented for 'Bool'"),
            ("F::relu6(i.bool())", "Bool inputs not supported for hardtanh"),
            ("F::prelu(i, tensor([1]))", "\"prelu_cpu\" not implemented for 'Long'"),
            ("F::prelu(i, tensor([0.5]))", "prelu: Type promoting not supported. Got Long and Float"),
            ("F::kl_div(i, i)", "kl_div: Integral inputs not supported."),
            ("F::kl_div(ones(2, 2), i)", "kl_div: Integral inputs not supported."),
            ("F::soft_margin_loss(i, i)", "result type Float can't be cast to the desired output type Long"),
            (
                "F::gaussian_nll_loss(i, i, i)",
                "result type Float can't be cast to the desired output type long int",
            ),
            ("gradient(tensor([3, 1, 2], #{dtype: uint8}))", "torch.gradient does not support uint8 input."),
            ("cov(i.bool())", "cov(): bool dtype is not supported for input"),
        ],
    );
    told(
        &mut lab,
        &[
            ("F::adaptive_avg_pool2d(ones([1, 1, 0, 2]), 1).tolist()", "[[[[nan]]]]"),
            ("F::adaptive_avg_pool2d(ones([0, 1, 2, 2]), 2).shape", "[0, 1, 2, 2]"),
            ("linalg::vector_norm(zeros([0, 3]), -1, #{dim: 1}).shape", "[0]"),
            ("F::soft_margin_loss(ones(2, 2), i).shape", "[]"),
        ],
    );
}

#[test]
fn what_pytorch_computes_is_computed() {
    let mut lab = Lab::on("cpu");
    lab.run("let t = tensor([true, false]); let i = tensor([[1, 2], [3, 4]]);");
    told(
        &mut lab,
        &[
            ("F::l1_loss(tensor([1, -5, 3]), tensor([4, 5, 3]), #{reduction: \"sum\"})", "tensor(13)"),
            ("F::l1_loss(i.int(), i.int() + 1, #{reduction: \"none\"}).dtype", "torch.int32"),
            ("einsum(\"i,j->ij\", [t, !t]).tolist()", "[[false, true], [false, false]]"),
            ("einsum(\"i,j->ij\", [tensor([2, 3]), tensor([4, 5])]).tolist()", "[[8, 10], [12, 15]]"),
            ("(t ** true).tolist()", "[true, false]"),
            ("(t ** false).tolist()", "[true, true]"),
            ("F::pairwise_distance(tensor(1.0), tensor(3.0))", "tensor(2.0000)"),
            ("linalg::norm(zeros([0, 0]), 2).item()", "0.0"),
            ("linalg::norm(zeros([3, 0]), 2).item()", "0.0"),
            ("linalg::matrix_norm(zeros([3, 0]), 1).item()", "0.0"),
            ("linalg::matrix_norm(zeros([0, 3]), 1.0 / 0.0).item()", "0.0"),
            (
                "F::conv1d(tensor([[[1, 2, 3]]]).int(), tensor([[[1, 100]]]).int())",
                "tensor([[[201, 302]]], dtype=torch.int32)",
            ),
            (
                "F::conv1d(tensor([[[1, 2, 3]]]).byte(), tensor([[[1, 100]]]).byte())",
                "tensor([[[201,  46]]], dtype=torch.uint8)",
            ),
            (
                "F::conv2d(tensor([[[[1, 2, 3]]]]).char(), tensor([[[[1, 100]]]]).char()).tolist()",
                "[[[[-55, 46]]]]",
            ),
            (
                "F::conv3d(tensor([[[[[1, 2, 3]]]]]).short(), tensor([[[[[1, 100]]]]]).short()).tolist()",
                "[[[[[201, 302]]]]]",
            ),
            ("F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{stride: 9223372036854775807}).tolist()", "[[[2.0]]]"),
            (
                "F::conv3d(ones(1, 1, 2, 2, 2), ones(1, 1, 2, 2, 2), #{stride: 4294967296}).tolist()",
                "[[[[[8.0]]]]]",
            ),
        ],
    );
}

#[test]
fn sentences_name_what_pytorch_names() {
    let mut lab = Lab::on("cpu");
    lab.run("let a = ones(2, 3); let b = ones(3, 2); let q = ones(1, 1, 2, 4); let k = ones(1, 1, 3, 4);");
    let last = "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1";
    refused(
        &mut lab,
        &[
            ("ones(1) << 1", "\"lshift_cpu\" not implemented for 'Float'"),
            ("tensor([1]) >> 1.5", "\"rshift_cpu\" not implemented for 'Float'"),
            ("tensor([true]) << tensor([true])", "\"lshift_cpu\" not implemented for 'Bool'"),
            ("quantile(ones(3), 1.5)", "RuntimeError: quantile() q must be in the range [0, 1] but got 1.5"),
            (
                "nanquantile(ones(3), tensor([0.5, 1.5]))",
                "RuntimeError: quantile() q values must be in the range [0, 1]",
            ),
            (
                "quantile(ones(3), tensor(1.5))",
                "RuntimeError: quantile() q values must be in the range [0, 1]",
            ),
            (
                "dist(tensor([1]), tensor([2]))",
                "norm(): input dtype should be either floating point or complex. Got Long",
            ),
            (
                "logdet(ones(2, 3))",
                "RuntimeError: logdet: A must be batches of square matrices, but they are 2 by 3",
            ),
            ("logdet(ones(2, 2).half())", "logdet: Low precision dtypes not supported. Got Half"),
            ("a + b", last),
            ("F::mse_loss(a, b)", last),
            ("a.expand(3, 2)", "(2) must match the existing size (3) at non-singleton dimension 1"),
            (
                "F::scaled_dot_product_attention(q, k, k, #{attn_mask: b > 0})",
                "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 3",
            ),
            (
                "F::scaled_dot_product_attention(q, k, k, #{attn_mask: ones(5, 2, 3)})",
                "output with shape [1, 1, 2, 3] doesn't match the broadcast shape [1, 5, 2, 3]",
            ),
            (
                "F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{padding: 9223372036854775807})",
                "Given padding=9223372036854775807 at dimension 0 , expected padding to be at most 4611686018427387903",
            ),
            ("F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{padding: 1099511627776})", "can't allocate memory"),
            ("F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{padding: -1})", "negative padding is not supported"),
            ("F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{stride: 0})", "non-positive stride is not supported"),
            (
                "F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{dilation: 1099511627776})",
                "Kernel size can't be greater than",
            ),
        ],
    );
}

/// Layers that no memory holds are refused before a part of them is made.
#[test]
fn endless_recurrent_layers_are_refused_at_once() {
    let mut lab = Lab::on("cpu");
    refused(
        &mut lab,
        &[
            ("nn::GRU(3, 2, #{num_layers: 9223372036854775807})", "can't allocate memory"),
            ("nn::LSTM(3, 2, #{num_layers: 1099511627776})", "can't allocate memory"),
        ],
    );
}

#[test]
fn weights_without_elements_are_made_whatever_their_other_sizes() {
    let mut lab = Lab::new();
    told(
        &mut lab,
        &[
            ("nn::Conv3d(9, 0, [9223372036854775807]).weight.shape[4]", "9223372036854775807"),
            ("nn::init::orthogonal_(empty(0, 9223372036854775807, 9223372036854775807)).numel()", "0"),
        ],
    );
}
