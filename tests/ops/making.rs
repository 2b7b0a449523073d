//! Making tensors: dtypes, sizes, the generator, and what cannot be made.

use tensorlab::base::{DType, DeviceSpec, Scalar};
use tensorlab::device::Machine;
use tensorlab::device::Use;
use tensorlab::device::sim::Selection;
use tensorlab::op::Value;
use tensorlab::op::create::filled::{Make, eye, from_nested, full, full_like, zeros};
use tensorlab::op::create::ranges::{arange, linspace};
use tensorlab::op::random::uniform_normal::{bernoulli, rand, rand_like, randint, randn, randperm, uniform_};
use tensorlab::tensor::Tensor;

use super::{f32s, failure, i64s, numbers, shown};

fn int(n: i64) -> Value {
    Value::Scalar(n.into())
}

fn float(n: f64) -> Value {
    Value::Scalar(n.into())
}

fn made(data: &Value) -> Tensor {
    from_nested(data, &Make::default()).unwrap()
}

fn of(dtype: DType) -> Make {
    Make { dtype: Some(dtype), ..Make::default() }
}

#[test]
fn nested_arrays_decide_shape_and_dtype() {
    let rows = Value::List(vec![Value::List(vec![int(1), int(2)]), Value::List(vec![int(3), int(4)])]);
    assert_eq!(shown(&made(&rows)), "tensor([[1, 2],\n        [3, 4]])");
    let mixed = Value::List(vec![Value::Scalar(true.into()), int(2), float(0.5)]);
    assert_eq!(shown(&made(&mixed)), "tensor([1.0000, 2.0000, 0.5000])");
    let bools = Value::List(vec![Value::Scalar(true.into()), Value::Scalar(false.into())]);
    assert_eq!(made(&bools).dtype(), DType::Bool);
    assert_eq!(shown(&made(&float(1.5))), "tensor(1.5000)");
    assert_eq!(shown(&made(&Value::List(vec![]))), "tensor([])");
    assert_eq!(made(&Value::List(vec![Value::List(vec![])])).shape(), [1, 0]);
    let tensors = Value::List(vec![Value::Tensor(f32s(&[1.0], &[])), Value::Tensor(i64s(&[2], &[1]))]);
    assert_eq!(shown(&made(&tensors)), "tensor([1., 2.])");
    let copy = made(&Value::Tensor(i64s(&[1, 2], &[2])));
    assert_eq!((copy.dtype(), copy.shape()), (DType::Int64, &[2][..]));
}

#[test]
fn arrays_that_make_no_tensor_are_refused() {
    let fails = |data: &Value, make: &Make| failure(from_nested(data, make));
    let plain = Make::default();
    let ragged = Value::List(vec![Value::List(vec![int(1), int(2)]), Value::List(vec![int(3)])]);
    assert_eq!(fails(&ragged, &plain), "ValueError: expected sequence of length 2 at dim 1 (got 1)");
    let number = Value::List(vec![Value::List(vec![int(1), int(2)]), int(3)]);
    assert_eq!(fails(&number, &plain), "ValueError: expected sequence of length 2 at dim 1 (got a number)");
    let deeper = Value::List(vec![int(1), Value::List(vec![int(3)])]);
    assert_eq!(fails(&deeper, &plain), "ValueError: expected a number at dim 1 (got an array)");
    assert!(fails(&Value::Str("a".into()), &plain).starts_with("TypeError: new(): invalid data type"));
    assert!(fails(&Value::List(vec![Value::None]), &plain).contains("Could not infer dtype"));
    let large = Value::List(vec![int(300)]);
    let text = "RuntimeError: value cannot be converted to type uint8_t without overflow";
    assert_eq!(fails(&large, &of(DType::UInt8)), text);
    assert!(fails(&Value::List(vec![float(f64::NAN)]), &of(DType::Int64)).contains("without overflow"));
    assert_eq!(numbers(&from_nested(&Value::List(vec![int(-1)]), &of(DType::UInt8)).unwrap()), [255.0]);
    let mut deep = int(1);
    for _ in 0..70 {
        deep = Value::List(vec![deep]);
    }
    assert!(fails(&deep, &plain).contains("too many dimensions"));
}

#[test]
fn ranges_count_as_pytorchs() {
    let range = |a: Scalar, b: Scalar, c: Scalar| arange(a, b, c, &Make::default());
    let (int, float) = (Scalar::Int, Scalar::Float);
    assert_eq!(shown(&range(int(1), int(5), int(2)).unwrap()), "tensor([1, 3])");
    assert_eq!(shown(&range(int(5), int(1), int(-1)).unwrap()), "tensor([5, 4, 3, 2])");
    assert_eq!(
        shown(&range(int(0), int(1), float(0.25)).unwrap()),
        "tensor([0.0000, 0.2500, 0.5000, 0.7500])"
    );
    assert_eq!(shown(&range(int(1), float(2.5), int(1)).unwrap()), "tensor([1., 2.])");
    assert_eq!(range(int(3), int(3), int(1)).unwrap().shape(), [0]);
    assert_eq!(failure(range(int(1), int(5), int(0))), "RuntimeError: step must be nonzero");
    let wrong_way = "RuntimeError: upper bound and lower bound inconsistent with step sign";
    assert_eq!(failure(range(int(5), int(1), int(1))), wrong_way);
    assert_eq!(
        failure(range(int(0), float(f64::INFINITY), int(1))),
        "RuntimeError: unsupported range: 0 -> inf"
    );
    assert!(failure(range(int(i64::MIN), int(i64::MAX), int(1))).starts_with("RuntimeError"));
    assert_eq!(
        shown(&linspace(0.0, 1.0, 5, &Make::default()).unwrap()),
        "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])"
    );
    assert_eq!(numbers(&linspace(0.0, 10.0, 5, &of(DType::Int64)).unwrap()), [0.0, 2.0, 5.0, 7.0, 10.0]);
    assert_eq!(numbers(&linspace(3.0, 10.0, 1, &Make::default()).unwrap()), [3.0]);
    let third = linspace(0.1, 0.7, 8, &of(DType::Float64)).unwrap();
    assert_eq!(numbers(&third).last(), Some(&0.7), "the end is met exactly");
}

#[test]
fn filled_tensors_have_the_dtype_of_their_value() {
    assert_eq!(full(&[2], 3.into(), &Make::default()).unwrap().dtype(), DType::Int64);
    assert_eq!(full(&[2], 3.5.into(), &of(DType::Int64)).unwrap().to_i64s("test").unwrap(), [3, 3]);
    assert_eq!(numbers(&full_like(&i64s(&[1, 2], &[2]), 3.5.into(), &Make::default()).unwrap()), [3.0, 3.0]);
    assert_eq!(
        shown(&eye(2, Some(3), &of(DType::Int32)).unwrap()),
        "tensor([[1, 0, 0],\n        [0, 1, 0]], dtype=torch.int32)"
    );
    let asked = Make { requires_grad: true, ..Make::default() };
    assert!(zeros(&[2], &asked).unwrap().requires_grad());
    let text = "RuntimeError: Only Tensors of floating point and complex dtype can require gradients";
    assert_eq!(failure(zeros(&[2], &Make { dtype: Some(DType::Int64), ..asked })), text);
}

#[test]
fn sizes_beyond_memory_are_errors() {
    let of_size = |shape: &[i64]| failure(zeros(shape, &Make::default()));
    let text = "RuntimeError: Storage size calculation overflowed with sizes=[4611686018427387904, 1048576]";
    assert_eq!(of_size(&[1 << 62, 1 << 20]), text);
    assert!(of_size(&[1_000_000_000_000_000_000]).contains("can't allocate memory: you tried to allocate"));
    assert_eq!(of_size(&[-1]), "RuntimeError: Trying to create tensor with negative dimension -1: [-1]");
}

#[test]
fn draws_are_pytorchs_for_the_same_seed() {
    let machine = Machine::cpu_only();
    let _here = machine.enter();
    let seeded = |seed| machine.manual_seed(seed);
    seeded(0);
    assert_eq!(
        shown(&rand(&[5], &Make::default()).unwrap()),
        "tensor([0.4963, 0.7682, 0.0885, 0.1320, 0.3074])"
    );
    seeded(0);
    assert_eq!(
        numbers(&randperm(10, &Make::default()).unwrap()),
        [4.0, 1.0, 7.0, 5.0, 3.0, 9.0, 0.0, 8.0, 6.0, 2.0]
    );
    seeded(42);
    assert_eq!(
        numbers(&randint(0, 10, &[8], &Make::default()).unwrap()),
        [2.0, 7.0, 6.0, 4.0, 6.0, 5.0, 0.0, 4.0]
    );
    seeded(0);
    let normal = numbers(&randn(&[20], &Make::default()).unwrap());
    let want = [-1.125_839_829_444_885_3, -1.152_360_200_881_958, -0.250_578_582_286_834_7];
    for (a, b) in normal.iter().zip(want) {
        assert!((a - b).abs() < 1e-6);
    }
    seeded(3);
    let certain = bernoulli(&f32s(&[0.0, 1.0, 1.0, 0.0], &[4])).unwrap();
    assert_eq!(numbers(&certain), [0.0, 1.0, 1.0, 0.0]);
    let x = f32s(&[0.0; 3], &[3]);
    uniform_(&x, 5.0, 6.0).unwrap();
    assert!(numbers(&x).iter().all(|v| (5.0..6.0).contains(v)) && x.version() == 1);
    let text = "RuntimeError: random_ expects 'from' to be less than 'to', but got from=5 >= to=5";
    assert_eq!(failure(randint(5, 5, &[2], &Make::default())), text);
    assert!(failure(rand_like(&i64s(&[1], &[1]), &Make::default())).contains("not implemented for 'Long'"));
}

#[test]
fn an_accelerator_draws_from_a_stream_of_its_own() {
    let selection: Selection = "sim:t4x2".parse().unwrap();
    let machine = Machine::open(&selection, Use::Headless).unwrap().machine;
    let _here = machine.enter();
    let on = |ordinal| Make { device: Some(DeviceSpec::Cuda(Some(ordinal))), ..Make::default() };
    let draw = |ordinal| numbers(&rand(&[4], &on(ordinal)).unwrap());
    machine.manual_seed(7);
    let (first, second, other) = (draw(0), draw(0), draw(1));
    assert_ne!(first, second);
    assert_eq!(first, other, "one seed, one stream for each device");
    machine.manual_seed(7);
    assert_eq!(draw(0), first);
    machine.seed_gpus(Some(1), 8);
    assert_ne!(draw(1), first);
}
