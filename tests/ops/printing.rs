//! Printed forms, to the character.

use tensorlab::base::{DType, Scalar};
use tensorlab::device::Machine;
use tensorlab::device::Use;
use tensorlab::device::sim::Selection;
use tensorlab::op::core::convert;
use tensorlab::op::create::filled::{Make, full, ones, zeros};
use tensorlab::op::create::ranges::arange;
use tensorlab::op::elementwise::arithmetic;
use tensorlab::op::shape::permute;
use tensorlab::op::shape::view;
use tensorlab::tensor::Tensor;

use super::{f32s, f64s, leaf, mask, shown};

fn golden(name: &str) -> String {
    let text = include_str!("../golden/semantics.json");
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["semantics"][name].as_str().unwrap().to_string()
}

fn range(n: i64, float: bool) -> Tensor {
    let end = if float { Scalar::Float(n as f64) } else { Scalar::Int(n) };
    arange(Scalar::Int(0), end, Scalar::Int(1), &Make::default()).unwrap()
}

fn of(dtype: DType) -> Tensor {
    zeros(&[2], &Make { dtype: Some(dtype), ..Make::default() }).unwrap()
}

#[test]
fn the_golden_forms() {
    let forms: Vec<(&str, Tensor)> = vec![
        ("repr(c)", f32s(&[0.0; 6], &[2, 3])),
        ("repr float mix", f32s(&[1.5, 200.25, 0.001, -3.0], &[2, 2])),
        ("repr sci", f32s(&[1e-8, 1e9], &[2])),
        ("repr half", of(DType::Float16)),
        ("repr bf16", of(DType::BFloat16)),
        ("repr int", range(3, false)),
        ("repr bool", mask(&[1, 0], &[2])),
        ("repr scalar", f32s(&[1.5], &[])),
        ("repr grad", leaf(f32s(&[1.0, 1.0], &[2]))),
        ("repr gradfn", arithmetic::mul(&leaf(f32s(&[1.0, 1.0], &[2])), 2.0).unwrap()),
        ("repr empty", f32s(&[], &[0])),
        ("repr big", range(2000, true)),
        ("repr big2d", view::view(&range(40_000, true), &[200, 200]).unwrap()),
        ("repr 3d", view::view(&range(8, true), &[2, 2, 2]).unwrap()),
        ("repr nan inf", f32s(&[f64::NAN, f64::INFINITY, 1.0], &[3])),
        ("repr f64", f64s(&[1.5], &[1])),
        ("repr wide", range(30, false)),
        ("repr neg", f32s(&[-1.5, 2.0], &[2])),
    ];
    for (name, tensor) in forms {
        assert_eq!(shown(&tensor), golden(name), "{name}");
    }
}

#[test]
fn empty_tensors_say_their_size() {
    assert_eq!(shown(&f32s(&[], &[0, 3])), "tensor([], size=(0, 3))");
    let whole = zeros(&[0], &Make { dtype: Some(DType::Int64), ..Make::default() }).unwrap();
    assert_eq!(shown(&whole), "tensor([], dtype=torch.int64)");
}

#[test]
fn suffixes_that_do_not_fit_start_a_line() {
    let x = leaf(f64s(&[0.25; 9], &[9]));
    let want = "tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500],\n       \
                dtype=torch.float64, requires_grad=True)";
    assert_eq!(shown(&x), want);
    assert_eq!(shown(&f32s(&[0.0, -0.0, 2.0], &[3])), "tensor([0., -0., 2.])");
}

#[test]
fn long_dimensions_show_their_ends_however_they_lie() {
    let x = view::view(&range(1200, false), &[400, 3]).unwrap();
    let text = shown(&permute::reversed(&x).unwrap());
    let want = "tensor([[   0,    3,    6,  ..., 1191, 1194, 1197],\n        [   1,    4,    7,  ..., 1192, 1195, 1198],\n        \
                [   2,    5,    8,  ..., 1193, 1196, 1199]])";
    assert_eq!(text, want);
}

#[test]
fn a_tensor_on_an_accelerator_names_it_and_only_its_ends_travel() {
    let selection: Selection = "sim:t4".parse().unwrap();
    let machine = Machine::open(&selection, Use::Headless).unwrap().machine;
    let _here = machine.enter();
    let gpu = convert::Target { device: Some("cuda".parse().unwrap()), dtype: None };
    let x = convert::to(&ones(&[2], &Make::default()).unwrap(), gpu, false, false).unwrap();
    assert_eq!(shown(&x), "tensor([1., 1.], device='cuda:0')");
    let large = Make { device: Some("cuda".parse().unwrap()), ..Make::default() };
    let large = full(&[1_000_000], 7.into(), &large).unwrap();
    let before = machine.gpus()[0].memory().0;
    assert_eq!(shown(&large), "tensor([7, 7, 7,  ..., 7, 7, 7], device='cuda:0')");
    assert_eq!(machine.gpus()[0].memory().0, before, "printing leaves no memory behind");
}
