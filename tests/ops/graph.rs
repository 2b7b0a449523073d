//! The graph: accumulation, grad mode, graphs used twice, deep graphs.

use tensorlab::op::elementwise::arithmetic::{add, mul};
use tensorlab::op::elementwise::unary::exp;
use tensorlab::op::linalg::linear;
use tensorlab::op::linalg::matmul;
use tensorlab::op::reduce::sums::sum;
use tensorlab::op::shape::part;
use tensorlab::op::shape::permute;
use tensorlab::op::shape::view;
use tensorlab::tensor::Tensor;
use tensorlab::tensor::autograd::set_grad_mode;
use tensorlab::tensor::backward::Pass;

use super::{f32s, f64s, failure, leaf, numbers};

fn total(t: &Tensor) -> Tensor {
    sum(t, None, false).unwrap()
}

#[test]
fn gradients_add_up_over_passes_and_uses() {
    let x = leaf(f64s(&[1.0, 2.0], &[2]));
    total(&add(&mul(&x, &x).unwrap(), &x).unwrap()).backward(None, Pass::default()).unwrap();
    assert_eq!(numbers(&x.grad().unwrap()), [3.0, 5.0]);
    total(&mul(&x, 10.0).unwrap()).backward(None, Pass::default()).unwrap();
    assert_eq!(numbers(&x.grad().unwrap()), [13.0, 15.0]);
}

#[test]
fn a_gradient_is_not_shared_with_another_tensor() {
    let (x, y) = (leaf(f64s(&[1.0, 2.0], &[2])), leaf(f64s(&[1.0, 2.0], &[2])));
    total(&add(&x, &y).unwrap()).backward(None, Pass::default()).unwrap();
    let (gx, gy) = (x.grad().unwrap(), y.grad().unwrap());
    assert!(!gx.shares_storage(&gy));
    assert!(gx.is_contiguous(), "an expanded gradient is copied");
}

#[test]
fn nothing_is_recorded_without_grad_mode() {
    let x = leaf(f64s(&[1.0], &[1]));
    let y = {
        let _off = set_grad_mode(false);
        mul(&x, 2.0).unwrap()
    };
    assert!(!y.requires_grad() && y.is_leaf());
    assert!(mul(&x, 2.0).unwrap().requires_grad());
    assert!(!x.detach().requires_grad());
}

#[test]
fn a_graph_serves_twice_only_when_it_is_kept() {
    let x = leaf(f64s(&[1.0], &[1]));
    let y = exp(&x).unwrap();
    y.backward(None, Pass { retain_graph: true, ..Pass::default() }).unwrap();
    y.backward(None, Pass::default()).unwrap();
    let text = failure(y.backward(None, Pass::default()));
    assert!(text.starts_with("RuntimeError: Trying to backward through the graph a second time"), "{text}");
}

#[test]
fn gradients_of_chosen_inputs_leave_the_leaves_alone() {
    let x = leaf(f64s(&[2.0], &[1]));
    let middle = mul(&x, &x).unwrap();
    let y = mul(&middle, 3.0).unwrap();
    let grads = Tensor::grads_of(&[&y], &[&middle, &x], &[], Pass::default()).unwrap();
    assert_eq!(numbers(grads[0].as_ref().unwrap()), [3.0]);
    assert_eq!(numbers(grads[1].as_ref().unwrap()), [12.0]);
    assert!(x.grad().is_none());
}

#[test]
fn the_third_derivative_of_a_cube() {
    let x = leaf(f64s(&[2.0], &[1]));
    let pass = Pass { create_graph: true, ..Pass::default() };
    let mut y = mul(&mul(&x, &x).unwrap(), &x).unwrap();
    for want in [12.0, 12.0, 6.0] {
        y = Tensor::grads_of(&[&y], &[&x], &[], pass).unwrap().remove(0).unwrap();
        assert_eq!(numbers(&y), [want]);
    }
}

#[test]
fn a_graph_of_a_hundred_thousand_nodes_runs_back_and_is_dropped() {
    let x = leaf(f32s(&[1.0, 1.0], &[2]));
    let mut y = x.clone();
    for _ in 0..50_000 {
        y = view::reshape(&mul(&y, 1.0).unwrap(), &[2]).unwrap();
    }
    let dropped_unused = mul(&y, 2.0).unwrap();
    drop(dropped_unused);
    total(&y).backward(None, Pass::default()).unwrap();
    assert_eq!(numbers(&x.grad().unwrap()), [1.0, 1.0]);
    drop(y);
    let mut chain = x.clone();
    for _ in 0..100_000 {
        chain = mul(&chain, &chain).unwrap();
    }
    drop(chain);
}

#[test]
fn a_transposed_weight_gets_its_gradient_without_a_copy() {
    let (x, w) = (f32s(&[1.0; 6], &[2, 3]), leaf(f32s(&[1.0; 12], &[4, 3])));
    let y = matmul::matmul(&x, &permute::t(&w).unwrap()).unwrap();
    total(&y).backward(None, Pass::default()).unwrap();
    let grad = w.grad().unwrap();
    assert!(grad.is_contiguous() && grad.shape() == [4, 3]);
    assert_eq!(numbers(&grad), [2.0; 12]);
}

#[test]
fn only_what_a_gradient_needs_is_kept() {
    let x = f32s(&[1.0; 4], &[4]);
    let w = leaf(f32s(&[1.0; 4], &[4]));
    let y = mul(&x, &w).unwrap();
    let held = w.version();
    // The product keeps `x` for w's gradient, and not `w`, since x wants none: w may change.
    {
        let _off = set_grad_mode(false);
        tensorlab::op::core::fill::zero_(&w).unwrap();
    }
    assert_ne!(w.version(), held);
    total(&y).backward(None, Pass::default()).unwrap();
    assert_eq!(numbers(&w.grad().unwrap()), [1.0; 4]);
}

#[test]
fn the_names_of_what_made_a_tensor_are_pytorchs() {
    let x = leaf(f32s(&[1.0; 6], &[2, 3]));
    let (w, b) = (leaf(f32s(&[1.0; 12], &[4, 3])), f32s(&[1.0; 4], &[4]));
    let name = |t: &Tensor| t.node().unwrap().rule.name();
    assert_eq!(name(&sum(&x, None, false).unwrap()), "SumBackward0");
    assert_eq!(name(&sum(&x, Some(&[0]), false).unwrap()), "SumBackward1");
    assert_eq!(name(&linear::linear(&x, &w, Some(&b)).unwrap()), "AddmmBackward0");
    assert_eq!(name(&linear::linear(&x, &w, None).unwrap()), "MmBackward0");
    assert_eq!(name(&permute::t(&x).unwrap()), "TBackward0");
    assert_eq!(name(&permute::reversed(&x).unwrap()), "PermuteBackward0");
    assert_eq!(name(&part::select(&x, 0, 0).unwrap()), "SelectBackward0");
}
