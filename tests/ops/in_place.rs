//! Writing in place: versions, views, and what the graph makes of it.

use tensorlab::base::{DType, Scalar};
use tensorlab::op::core::convert;
use tensorlab::op::core::fill;
use tensorlab::op::def::Operand;
use tensorlab::op::elementwise::arithmetic;
use tensorlab::op::elementwise::choose;
use tensorlab::op::elementwise::clamp;
use tensorlab::op::elementwise::unary;
use tensorlab::op::index::brackets::{index, index_put_};
use tensorlab::op::index::indices::Index;
use tensorlab::op::reduce::sums::sum;
use tensorlab::op::shape::part;
use tensorlab::op::shape::view;
use tensorlab::tensor::Tensor;
use tensorlab::tensor::autograd::set_grad_mode;
use tensorlab::tensor::backward::Pass;

use crate::nn::Lab;

use super::{f32s, f64s, failure, i64s, leaf, mask, numbers};

fn scaled(x: &Tensor, by: f64) {
    arithmetic::specs::Mul.apply_in_place(x, Operand::Scalar(by.into()), [0.0; 2]).unwrap();
}

fn back(y: &Tensor) {
    sum(y, None, false).unwrap().backward(None, Pass::default()).unwrap();
}

#[test]
fn a_row_written_in_place_reaches_the_graph_of_its_base() {
    let x = leaf(f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]));
    let y = arithmetic::mul(&x, &x).unwrap();
    let row = index(&y, &[Index::At(0)]).unwrap();
    scaled(&row, 5.0);
    assert_eq!(numbers(&y), [5.0, 20.0, 9.0, 16.0]);
    assert_eq!(y.node().unwrap().rule.name(), "CopySlices");
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [10.0, 20.0, 6.0, 8.0]);
}

#[test]
fn writing_to_a_base_reaches_the_views_made_before() {
    let x = leaf(f64s(&[1.0, 2.0], &[2]));
    let y = arithmetic::mul(&x, 3.0).unwrap();
    let view = view::reshape(&y, &[2, 1]).unwrap();
    scaled(&y, 2.0);
    assert_eq!(numbers(&view), [6.0, 12.0]);
    back(&view);
    assert_eq!(numbers(&x.grad().unwrap()), [6.0, 6.0]);
}

#[test]
fn a_saved_value_that_was_overwritten_is_noticed() {
    let x = leaf(f32s(&[1.0, 2.0], &[2]));
    let y = unary::exp(&x).unwrap();
    scaled(&y, 2.0);
    let text = failure(sum(&y, None, false).unwrap().backward(None, Pass::default()));
    let want = "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace \
                operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected version 0 instead.";
    assert!(text.starts_with(want), "{text}");
}

#[test]
fn functions_in_place_keep_the_value_their_gradient_needs() {
    let x = leaf(f64s(&[0.3, -0.4, 0.9], &[3]));
    let y = convert::cloned(&x).unwrap();
    unary_in_place(&y, "sin");
    back(&y);
    let want: Vec<f64> = [0.3f64, -0.4, 0.9].iter().map(|v| v.cos()).collect();
    super::gradients::assert_near("sin_", &numbers(&x.grad().unwrap()), &want, 1e-12);

    let (x, w) = (leaf(f64s(&[2.0, 3.0], &[2])), leaf(f64s(&[5.0, 7.0], &[2])));
    let y = convert::cloned(&x).unwrap();
    arithmetic::specs::Mul.apply_in_place(&y, (&w).into(), [0.0; 2]).unwrap();
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [5.0, 7.0]);
    assert_eq!(numbers(&w.grad().unwrap()), [2.0, 3.0]);

    let x = leaf(f64s(&[-1.0, 0.5, 2.0], &[3]));
    let y = convert::cloned(&x).unwrap();
    clamp::clamp_(&y, Some(0.0.into()), Some(1.0.into())).unwrap();
    assert_eq!(numbers(&y), [0.0, 0.5, 1.0]);
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [0.0, 1.0, 0.0]);
}

fn unary_in_place(x: &Tensor, name: &str) {
    match tensorlab::op::find(name).unwrap().forward {
        tensorlab::op::Forward::Unary(spec) => drop(spec.apply_in_place(x, [0.0; 2]).unwrap()),
        _ => panic!("{name} is no map"),
    }
}

#[test]
fn leaves_and_stretched_tensors_may_not_be_written() {
    let x = leaf(f32s(&[1.0, 2.0], &[2]));
    let leaf_text =
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.";
    assert_eq!(failure(fill::zero_(&x)), leaf_text);
    let row = index(&x, &[Index::At(0)]).unwrap();
    assert!(failure(fill::zero_(&row)).contains("a view of a leaf Variable that requires grad"));
    {
        let _off = set_grad_mode(false);
        fill::zero_(&x).unwrap();
    }
    assert_eq!(numbers(&x), [0.0, 0.0]);
    let wide = view::expand_to(&f32s(&[1.0], &[1]), &[3]).unwrap();
    let three = f32s(&[1.0, 2.0, 3.0], &[3]);
    assert!(
        failure(fill::copy_(&wide, &three, false)).contains("more than one element of the written-to tensor")
    );
    // One value for all can be written, as in PyTorch.
    fill::zero_(&wide).unwrap();
    assert_eq!(numbers(&wide), [0.0, 0.0, 0.0]);
}

#[test]
fn a_view_made_without_grad_does_not_smuggle_a_change_into_a_graph() {
    let view = |x: &Tensor| {
        let _off = set_grad_mode(false);
        view::reshape(x, &[2]).unwrap()
    };
    let want = "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad mode enabled.";
    let of_leaf = view(&leaf(f32s(&[1.0, 2.0], &[2])));
    assert!(!of_leaf.requires_grad());
    let plain = f32s(&[1.0, 2.0], &[2]);
    let (of_plain, w) = (view(&plain), leaf(f32s(&[1.0, 2.0], &[2])));
    let text = failure(arithmetic::specs::Mul.apply_in_place(&of_plain, (&w).into(), [0.0; 2]));
    assert!(text.starts_with(want), "{text}");
    scaled(&of_plain, 2.0);
    assert_eq!(numbers(&plain), [2.0, 4.0]);
}

#[test]
fn filling_copying_and_masking_pass_gradients_as_they_should() {
    let (x, s) = (leaf(f64s(&[1.0, 2.0, 3.0], &[3])), leaf(f64s(&[7.0], &[1])));
    let y = convert::cloned(&x).unwrap();
    fill::copy_(&part::narrow(&y, 0, 1, 2).unwrap(), &s, false).unwrap();
    assert_eq!(numbers(&y), [1.0, 7.0, 7.0]);
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [1.0, 0.0, 0.0]);
    assert_eq!(numbers(&s.grad().unwrap()), [2.0]);

    let x = leaf(f64s(&[1.0, 2.0, 3.0], &[3]));
    let y = convert::cloned(&x).unwrap();
    choose::masked_fill_(&y, &mask(&[1, 0, 0], &[3]), Scalar::Int(9)).unwrap();
    fill::fill_(&index(&y, &[Index::At(1)]).unwrap(), Operand::Scalar(4.into())).unwrap();
    assert_eq!(numbers(&y), [9.0, 4.0, 3.0]);
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [0.0, 0.0, 1.0]);
}

#[test]
fn written_places_take_their_gradient_to_the_value() {
    let (x, v) = (leaf(f64s(&[1.0; 6], &[3, 2])), leaf(f64s(&[5.0, 6.0], &[2])));
    let y = convert::cloned(&x).unwrap();
    index_put_(&y, &[Index::Tensor(i64s(&[0, -1], &[2]))], (&v).into(), false).unwrap();
    assert_eq!(numbers(&y), [5.0, 6.0, 1.0, 1.0, 5.0, 6.0]);
    back(&y);
    assert_eq!(numbers(&x.grad().unwrap()), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(numbers(&v.grad().unwrap()), [2.0, 2.0]);
}

#[test]
fn results_are_cast_down_only_within_a_category() {
    let whole = i64s(&[1, 2], &[2]);
    let text = failure(arithmetic::specs::Add.apply_in_place(&whole, 1.5.into(), [1.0, 0.0]));
    assert_eq!(text, "RuntimeError: result type Float can't be cast to the desired output type Long");
    let half = f32s(&[1.0], &[1]).copied(DType::Float16, "to").unwrap();
    arithmetic::specs::Add.apply_in_place(&half, (&f32s(&[0.5], &[1])).into(), [1.0, 0.0]).unwrap();
    assert_eq!((half.dtype(), numbers(&half)), (DType::Float16, vec![1.5]));
}

/// The shape of a tensor that is changed in place is that of every handle, and of the graph behind it.
#[test]
fn shapes_change_in_place() {
    let mut lab = Lab::on("cpu");
    lab.run("let x = arange(6.0).reshape([2, 3]); let same = x; x.t_();");
    assert_eq!(lab.text("[x.shape, same.shape, x.stride()]"), "[[3, 2], [3, 2], [1, 3]]");
    lab.run("x.unsqueeze_(0).squeeze_().transpose_(0, 1).swapaxes_(-1, 0).swapdims_(0, 1);");
    assert_eq!(lab.text("x"), "tensor([[0., 1., 2.],\n        [3., 4., 5.]])");
    lab.run("for i in 0..1000 { x.t_(); x.unsqueeze_(1); x.squeeze_(1); }");
    assert_eq!(lab.text("x.as_strided_([2], [3], 1)"), "tensor([1., 4.])");
    // What looks at it keeps its own shape.
    lab.run("let b = zeros(2, 3); let row = b[0]; b.t_(); row.fill_(1); row.unsqueeze_(0);");
    assert_eq!(lab.text("[b.tolist(), row.shape]"), "[[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [1, 3]]");
}

#[test]
fn a_graph_follows_a_shape_that_changes_in_place() {
    let mut lab = Lab::on("cpu");
    lab.run("let x = arange(6.0).reshape([2, 3]).requires_grad_(); let w = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);");
    lab.run("let y = x * 2; y.t_(); (y * w).sum().backward();");
    assert_eq!(lab.text("x.grad.tolist()"), "[[2.0, 6.0, 10.0], [4.0, 8.0, 12.0]]");
    // A view of what changed, written to and read afterwards.
    lab.run("x.grad = (); let y = x * 2; let row = y[0]; y.t_(); row *= 3; (y * w).sum().backward();");
    assert_eq!(lab.text("x.grad.tolist()"), "[[6.0, 18.0, 30.0], [4.0, 8.0, 12.0]]");
    lab.run("x.grad = (); let y = x * 2; let row = y[0]; y.t_(); y *= w; row.sum().backward();");
    assert_eq!(lab.text("x.grad.tolist()"), "[[2.0, 6.0, 10.0], [0.0, 0.0, 0.0]]");
    // A view that changes, of what is not row-major.
    lab.run("x.grad = (); let y = x.t() * 2; let part = y[1]; part.unsqueeze_(0); part *= 5; (y * w).sum().backward();");
    assert_eq!(lab.text("x.grad.tolist()"), "[[2.0, 30.0, 10.0], [4.0, 40.0, 12.0]]");
    for (code, want) in [
        ("x.t_()", "a leaf Variable that requires grad is being used in an in-place operation."),
        ("let part = x[0]; part.unsqueeze_(0)", "a view of a leaf Variable that requires grad"),
        ("with no_grad() { x.t_() }", "is not changed in place"),
        ("let z = x * x; let s = (z * z).sum(); z.t_(); s.backward()", "modified by an inplace operation"),
        ("zeros(2, 2, 2).t_()", "<= 2 dimensions"),
    ] {
        let told = lab.error(code);
        assert!(format!("{told:?}").contains(want), "{code}: {told:?}");
    }
}
