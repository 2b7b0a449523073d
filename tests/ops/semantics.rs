//! PyTorch's sentences for what goes wrong, recorded from PyTorch, and what stays the same tensor.

use std::sync::Arc;

use tensorlab::base::{DType, DeviceSpec, Result};
use tensorlab::device::sim::Selection;
use tensorlab::device::{Machine, Use};
use tensorlab::op::core::convert::{Target, pin_memory, requires_grad_, to};
use tensorlab::op::core::fill;
use tensorlab::op::create::filled::{Make, ones};
use tensorlab::op::def::Operand;
use tensorlab::op::elementwise::arithmetic;
use tensorlab::op::elementwise::choose;
use tensorlab::op::elementwise::unary;
use tensorlab::op::gather::{along_dim, select};
use tensorlab::op::index::brackets::index;
use tensorlab::op::index::indices::Index;
use tensorlab::op::linalg::linear;
use tensorlab::op::linalg::matmul;
use tensorlab::op::shape::join;
use tensorlab::op::shape::permute;
use tensorlab::op::shape::view;
use tensorlab::tensor::Tensor;
use tensorlab::tensor::backward::Pass;

use super::{f32s, f64s, failure, i64s, leaf, mask, numbers};

fn golden() -> serde_json::Value {
    serde_json::from_str(include_str!("../golden/semantics.json")).unwrap()
}

fn two_gpus() -> Arc<Machine> {
    let selection: Selection = "sim:t4x2".parse().unwrap();
    Machine::open(&selection, Use::Headless).unwrap().machine
}

fn gpu(x: &Tensor, ordinal: u16) -> Tensor {
    let device = Some(DeviceSpec::Cuda(Some(ordinal)));
    to(x, Target { device, dtype: None }, false, false).unwrap()
}

fn full(shape: &[usize]) -> Tensor {
    f32s(&vec![1.0; shape.iter().product()], shape)
}

/// The message must be the recorded one; a device error has another class here.
fn assert_says<T>(name: &str, result: Result<T>) {
    let want =
        golden()["errors"][name].as_str().unwrap_or_else(|| panic!("no golden error {name}")).to_string();
    let want = want.replacen("AcceleratorError", "DeviceError", 1);
    assert_eq!(failure(result), want, "{name}");
}

#[test]
fn operands_on_two_devices() {
    let machine = two_gpus();
    let _here = machine.enter();
    let c = full(&[2, 3]);
    let (g, g1) = (gpu(&c, 0), gpu(&c, 1));
    let t = |x: &Tensor| permute::t(x).unwrap();
    assert_says("c + g", arithmetic::add(&c, &g));
    assert_says("g + c", arithmetic::add(&g, &c));
    assert_says("g + g1", arithmetic::add(&g, &g1));
    assert_says("g1 * g", arithmetic::mul(&g1, &g));
    assert_says("c @ g.t()", matmul::matmul(&c, &t(&g)));
    assert_says("g @ c.t()", matmul::matmul(&g, &t(&c)));
    assert_says("g @ g1.t()", matmul::matmul(&g, &t(&g1)));
    let two = f32s(&[2.0], &[]);
    assert_eq!(arithmetic::mul(&g, &two).unwrap().device(), g.device());
    assert_says("g * tensor(2.0).cuda(1) [0-dim other gpu]", arithmetic::mul(&g, &gpu(&two, 1)));
    assert_says("cat", join::cat(&[&c, &g], 0));
    assert_says("stack", join::stack(&[&g, &c], 0));
    let condition = mask(&[1, 0, 1, 0, 1, 0], &[2, 3]);
    assert_says("where", choose::where_(&condition, (&g).into(), (&g).into()));
    let (weight, bias) = (full(&[4, 3]), full(&[4]));
    assert_says("cpu Linear, cuda input", linear::linear(&g, &weight, Some(&bias)));
    assert_says("cuda Linear, cpu input", linear::linear(&c, &gpu(&weight, 0), Some(&gpu(&bias, 0))));
    let places = i64s(&[0, 1, 0], &[1, 3]);
    assert_says("gather idx cpu", along_dim::gather(&g, 0, &places));
    assert_says("index_select idx cpu", select::index_select(&g, 0, &i64s(&[0], &[1])));
    let at = Index::Tensor(i64s(&[0], &[1]));
    assert_eq!(index(&g, &[at]).unwrap().device(), g.device());
    assert_says("c[cuda idx]", index(&c, &[Index::Tensor(gpu(&i64s(&[0], &[1]), 0))]));
    assert_eq!(fill::copy_(&c, &g, false).unwrap().device(), c.device());
    let written = arithmetic::specs::Add.apply_in_place(&c, Operand::Tensor(&g), [1.0, 0.0]);
    assert_says("c += g", written);
}

#[test]
fn devices_that_are_not_there() {
    let machine = two_gpus();
    let _here = machine.enter();
    let at = |i| Make { device: Some(DeviceSpec::Cuda(Some(i))), ..Make::default() };
    assert_says("ones on cuda:7", ones(&[1], &at(7)));
    assert_says(
        "cuda(5)",
        to(&full(&[1]), Target { device: Some(DeviceSpec::Cuda(Some(5))), dtype: None }, false, false),
    );
    assert_says("set_device(9)", machine.set_current_gpu(9));
    for name in ["cuba", "cuda:x", "cuda:-1"] {
        assert_says(&format!("device('{name}')"), name.parse::<DeviceSpec>());
    }
}

#[test]
fn a_move_that_changes_nothing_gives_the_same_tensor() {
    let machine = two_gpus();
    let _here = machine.enter();
    let c = full(&[2]);
    let (g, g1) = (gpu(&c, 0), gpu(&c, 1));
    let moved = |x: &Tensor, device: &str, copy| {
        to(x, Target { device: Some(device.parse().unwrap()), dtype: None }, false, copy).unwrap()
    };
    assert!(moved(&g, "cuda", false).is(&g));
    assert!(moved(&g, "cuda:0", false).is(&g));
    assert!(moved(&g1, "cuda:1", false).is(&g1));
    assert!(!moved(&g1, "cuda", false).is(&g1));
    assert!(moved(&c, "cpu", false).is(&c));
    assert!(!moved(&g, "cuda", true).is(&g));
    assert!(to(&c, Target::dtype(DType::Float32), false, false).unwrap().is(&c));
    machine.set_current_gpu(1).unwrap();
    assert_eq!(moved(&c, "cuda", false).device().to_string(), "cuda:1");
    assert_eq!(arithmetic::add(&g, &g).unwrap().device().to_string(), "cuda:0");
}

#[test]
fn gradients_travel_back_between_devices_and_dtypes() {
    let machine = two_gpus();
    let _here = machine.enter();
    let x = leaf(f32s(&[1.0, 2.0], &[2]));
    let target = Target { device: Some("cuda:1".parse().unwrap()), dtype: Some(DType::Float64) };
    let y = to(&x, target, false, false).unwrap();
    assert_eq!((y.device().to_string().as_str(), y.dtype()), ("cuda:1", DType::Float64));
    arithmetic::mul(&y, &y)
        .unwrap()
        .backward(Some(&gpu(&f64s(&[1.0, 1.0], &[2]), 1)), Pass::default())
        .unwrap();
    let grad = x.grad().unwrap();
    assert_eq!((grad.device(), grad.dtype(), numbers(&grad)), (x.device(), DType::Float32, vec![2.0, 4.0]));
    let pinned = pin_memory(&full(&[3])).unwrap();
    assert!(pinned.is_pinned() && pin_memory(&pinned).unwrap().is(&pinned));
}

#[test]
fn shapes_that_do_not_fit() {
    let (a, b) = (full(&[2, 3]), full(&[2, 3]));
    assert_says("shape add", arithmetic::add(&a, &full(&[2, 4])));
    assert_says("shape add 2", arithmetic::add(&a, &full(&[2])));
    assert_says("mm shape", matmul::matmul(&a, &b));
    assert_says("matmul vec", matmul::matmul(&full(&[3]), &full(&[4])));
    assert_says("bmm shape", matmul::bmm(&full(&[2, 3, 4]), &full(&[3, 4, 5])));
    assert_says("mm dtype", matmul::matmul(&a, &f64s(&[1.0; 6], &[3, 2])));
    assert_says("linear shape", linear::linear(&a, &full(&[4, 5]), None));
    assert_says("index out of range", index(&a, &[Index::At(5)]));
    assert_says("dim out of range", tensorlab::op::reduce::sums::sum(&a, Some(&[3]), false));
    assert_says("reshape bad", view::reshape(&a, &[4, 4]));
    assert_says("view noncontig", view::view(&permute::t(&a).unwrap(), &[6]));
    assert_says("cat shape", join::cat(&[&a, &full(&[2, 2])], 0));
    assert_says("expand bad", view::expand_to(&a, &[4, 3]));
    assert_says("permute", permute::permute(&a, &[0, 0]));
    assert_says("negative dim size", ones(&[-1], &Make::default()));
    assert_says("huge", ones(&[1 << 62, 1 << 20], &Make::default()));
    assert_says("item many", a.item());
    assert_eq!(view::squeeze(&a, Some(&[0])).unwrap().shape(), [2, 3]);
}

#[test]
fn what_autograd_refuses() {
    let x = leaf(f32s(&[1.0, 2.0], &[2]));
    assert_says("inplace leaf", arithmetic::specs::Add.apply_in_place(&x, 1.0.into(), [1.0, 0.0]));
    assert_says("backward no grad", full(&[1]).backward(None, Pass::default()));
    assert_says("backward non-scalar", arithmetic::mul(&x, 2.0).unwrap().backward(None, Pass::default()));
    assert_says("requires_grad int", i64s(&[1], &[1]).set_requires_grad(true).map(|()| 0));
    assert!(failure(requires_grad_(&i64s(&[1], &[1]), true)).contains("floating point dtype"));
    let twice = unary::exp(&leaf(f32s(&[1.0], &[1]))).unwrap();
    twice.backward(None, Pass::default()).unwrap();
    assert_says("backward twice", twice.backward(None, Pass::default()));
    let y = unary::exp(&x).unwrap();
    let z = tensorlab::op::reduce::sums::sum(&y, None, false).unwrap();
    arithmetic::specs::Add.apply_in_place(&y, 1.0.into(), [1.0, 0.0]).unwrap();
    assert_says("modified in place", z.backward(None, Pass::default()));
}

#[test]
fn errors_name_the_op_and_its_operands_and_say_what_to_do() {
    let error = matmul::matmul(&full(&[2, 3]), &full(&[2, 3])).unwrap_err();
    assert_eq!(error.op(), Some("matmul"));
    let shapes: Vec<&[usize]> = error.operands().iter().map(|o| o.shape.as_slice()).collect();
    assert_eq!(shapes, [[2, 3], [2, 3]]);
    assert!(error.hint().unwrap().contains(".t()"));
}
