//! Values that PyTorch gives where it is easy to go wrong: ties, NaN, empty sets, mixed dtypes, scalars.

use tensorlab::base::{DType, Scalar};
use tensorlab::op::core::convert::{Target, to};
use tensorlab::op::elementwise::choose;
use tensorlab::op::elementwise::clamp;
use tensorlab::op::elementwise::fused;
use tensorlab::op::gather::along_dim;
use tensorlab::op::inspect::compare::{Closeness, allclose, assert_close, equal};
use tensorlab::op::linalg::added;
use tensorlab::op::linalg::einsum;
use tensorlab::op::linalg::matmul;
use tensorlab::op::reduce::norms;
use tensorlab::op::reduce::products;
use tensorlab::op::reduce::scan;
use tensorlab::op::reduce::softmax;
use tensorlab::op::reduce::spread;
use tensorlab::op::reduce::sums;
use tensorlab::op::shape::join;
use tensorlab::op::shape::part;
use tensorlab::op::shape::repeat;
use tensorlab::op::shape::split;
use tensorlab::op::sorting::extremum;
use tensorlab::op::sorting::sort;

use crate::nn::Lab;

use super::{f32s, f64s, failure, i64s, laid, leaf, mask, numbers, shown};

const NAN: f64 = f64::NAN;

#[test]
fn sums_of_integers_are_int64_and_means_of_them_an_error() {
    let bytes = to(&i64s(&[200; 300], &[300]), Target::dtype(DType::UInt8), false, false).unwrap();
    assert_eq!(shown(&sums::sum(&bytes, None, false).unwrap()), "tensor(60000)");
    assert_eq!(shown(&sums::sum(&mask(&[1, 1, 0], &[3]), None, false).unwrap()), "tensor(2)");
    assert_eq!(shown(&products::prod(&i64s(&[2, 3], &[2]), None, false, None).unwrap()), "tensor(6)");
    let text = failure(sums::mean(&i64s(&[1, 2], &[2]), None, false));
    assert_eq!(
        text,
        "NotImplementedError: mean(): could not infer output dtype. Input dtype must be either a floating point or \
         complex dtype. Got: Long"
    );
    let as_float = sums::mean_as(&i64s(&[1, 2], &[2]), None, false, Some(DType::Float32)).unwrap();
    assert_eq!(shown(&as_float), "tensor(1.5000)");
    assert_eq!(shown(&scan::cumsum(&mask(&[1, 0, 1], &[3]), 0, None).unwrap()), "tensor([1, 1, 2])");
}

#[test]
fn reductions_of_nothing() {
    let none = f32s(&[], &[0]);
    assert_eq!(numbers(&sums::sum(&none, None, false).unwrap()), [0.0]);
    assert_eq!(numbers(&products::prod(&none, None, false, None).unwrap()), [1.0]);
    assert!(numbers(&sums::mean(&none, None, false).unwrap())[0].is_nan());
    assert!(numbers(&spread::var(&f32s(&[1.0], &[1]), None, 1.0, false).unwrap())[0].is_nan());
    assert_eq!(numbers(&sums::sum(&f32s(&[], &[0, 3]), Some(&[0]), false).unwrap()), [0.0; 3]);
    assert_eq!(sums::amax(&f32s(&[], &[0, 3]), Some(&[1]), false).unwrap().shape(), [0]);
    assert_eq!(
        failure(sums::max_all(&none)),
        "RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim \
         with the 'dim' argument."
    );
    assert_eq!(
        failure(extremum::max_dim(&f32s(&[], &[0, 3]), 0, false)),
        "IndexError: max(): Expected reduction dim 0 to have non-zero size."
    );
    assert!(failure(extremum::argmax(&none, None, false)).starts_with("IndexError: argmax()"));
}

#[test]
fn scalars_reduce_as_vectors_of_one() {
    let x = f32s(&[-3.0], &[]);
    let one = |t: tensorlab::base::Result<tensorlab::tensor::Tensor>| {
        let t = t.unwrap();
        assert_eq!(t.rank(), 0);
        numbers(&t)[0]
    };
    assert_eq!(one(sums::sum(&x, Some(&[0]), false)), -3.0);
    assert_eq!(one(norms::norm(&x, 2.0, None, false)), 3.0);
    assert_eq!(one(spread::var(&x, None, 0.0, false)), 0.0);
    assert_eq!(one(sums::logsumexp(&x, &[0], false)), -3.0);
    assert_eq!(one(softmax::softmax(&x, -1, None)), 1.0);
    assert_eq!(one(scan::cumsum(&x, 0, None)), -3.0);
    assert_eq!(one(extremum::max_dim(&x, 0, false).map(|(v, _)| v)), -3.0);
    assert_eq!(one(extremum::argmax(&x, None, false)), 0.0);
    assert_eq!(one(sort::sort(&x, 0, false).map(|(v, _)| v)), -3.0);
    assert_eq!(one(along_dim::gather(&x, 0, &i64s(&[0], &[]))), -3.0);
    let y = leaf(f32s(&[2.0], &[]));
    spread::std(&y, None, 0.0, false).unwrap().backward(None, Default::default()).unwrap();
    softmax::log_softmax(&y, 0, None).unwrap().backward(None, Default::default()).unwrap();
    assert_eq!(numbers(&y.grad().unwrap()), [0.0]);
}

#[test]
fn the_first_of_equals_wins_and_nan_wins_over_numbers() {
    let x = f32s(&[1.0, 3.0, 3.0, NAN, 2.0, NAN], &[2, 3]);
    let (values, indices) = extremum::max_dim(&x, 1, false).unwrap();
    assert_eq!(shown(&values), "tensor([3., nan])");
    assert_eq!(numbers(&indices), [1.0, 0.0]);
    assert_eq!(numbers(&extremum::argmin(&x, Some(1), true).unwrap()), [0.0, 0.0]);
    assert!(numbers(&sums::amax(&x, None, false).unwrap())[0].is_nan());
    assert!(
        failure(extremum::argmax(&mask(&[1, 0], &[2]), None, false)).contains("does not support bool input")
    );
    let tied = leaf(f32s(&[2.0, 5.0, 5.0], &[3]));
    sums::max_all(&tied).unwrap().backward(None, Default::default()).unwrap();
    assert_eq!(numbers(&tied.grad().unwrap()), [0.0, 0.5, 0.5]);
    let tied = leaf(f32s(&[2.0, 5.0, 5.0], &[3]));
    extremum::max_dim(&tied, 0, false).unwrap().0.backward(None, Default::default()).unwrap();
    assert_eq!(numbers(&tied.grad().unwrap()), [0.0, 1.0, 0.0]);
}

#[test]
fn sorting_is_stable_with_nan_last() {
    let x = f32s(&[2.0, NAN, 1.0, 2.0, -1.0], &[5]);
    let (values, indices) = sort::sort(&x, 0, false).unwrap();
    assert_eq!(shown(&values), "tensor([-1.,  1.,  2.,  2., nan])");
    assert_eq!(numbers(&indices), [4.0, 2.0, 0.0, 3.0, 1.0]);
    let (values, indices) = sort::topk(&x, 2, 0, true).unwrap();
    assert_eq!((shown(&values).as_str(), numbers(&indices)), ("tensor([nan, 2.])", vec![1.0, 0.0]));
    assert_eq!(numbers(&sort::topk(&x, 2, 0, false).unwrap().0), [-1.0, 1.0]);
}

#[test]
fn clamps_promote_and_an_inverted_pair_gives_the_upper_bound() {
    let x = i64s(&[0, 1, 5], &[3]);
    let clamp = |low: Option<Scalar>, high: Option<Scalar>| clamp::clamp(&x, low, high);
    assert_eq!(shown(&clamp(Some(1.into()), Some(2.into())).unwrap()), "tensor([1, 1, 2])");
    assert_eq!(shown(&clamp(Some(0.5.into()), None).unwrap()), "tensor([0.5000, 1.0000, 5.0000])");
    assert_eq!(shown(&clamp(None, Some(2.into())).unwrap()), "tensor([0, 1, 2])");
    assert_eq!(numbers(&clamp(Some(4.into()), Some(1.into())).unwrap()), [1.0; 3]);
    assert!(failure(clamp(None, None)).contains("At least one of 'min' or 'max' must not be None"));
    assert!(numbers(&clamp::clamp(&f32s(&[NAN], &[1]), Some(0.into()), None).unwrap())[0].is_nan());
    assert_eq!(
        clamp::clamp(&mask(&[1], &[1]), Some(0.into()), Some(1.into())).unwrap().dtype(),
        DType::Int64
    );
}

#[test]
fn choosing_casts_and_checks() {
    let m = mask(&[1, 0], &[2]);
    assert_eq!(shown(&choose::where_(&m, 1.into(), 2.5.into()).unwrap()), "tensor([1.0000, 2.5000])");
    assert_eq!(shown(&choose::masked_fill(&i64s(&[7, 8], &[2]), &m, 2.5.into()).unwrap()), "tensor([2, 8])");
    let number = i64s(&[1, 0], &[2]);
    assert!(
        failure(choose::where_(&number, 1.into(), 2.into()))
            .contains("boolean tensor, but got a tensor with dtype Long")
    );
    assert!(failure(choose::masked_fill(&number, &number, 1.into())).contains("mask with dtype long int"));
    assert!(
        failure(fused::lerp(&f32s(&[1.0], &[1]), &f64s(&[1.0], &[1]), 0.5.into()))
            .contains("expected dtype float for `end`")
    );
    assert!(
        failure(fused::addcdiv(&number, &number, &number, 1.0)).contains("Integer division with addcdiv")
    );
}

#[test]
fn products_read_operands_as_they_lie() {
    let base = f64s(&(0..24).map(f64::from).collect::<Vec<_>>(), &[24]);
    let a = laid(&base, &[2, 3], &[1, 5], 2);
    let b = laid(&base, &[3, 2], &[0, 3], 1);
    // a = [[2, 7, 12], [3, 8, 13]], b = three rows of [1, 4]
    assert_eq!(numbers(&matmul::matmul(&a, &b).unwrap()), [21.0, 84.0, 24.0, 96.0]);
    let batch = laid(&base, &[2, 2, 2], &[0, 2, 1], 0);
    assert_eq!(numbers(&matmul::matmul(&batch, &batch).unwrap()), [2.0, 3.0, 6.0, 11.0, 2.0, 3.0, 6.0, 11.0]);
    assert_eq!(matmul::matmul(&f32s(&[], &[3, 0]), &f32s(&[], &[0, 2])).unwrap().shape(), [3, 2]);
    assert_eq!(numbers(&matmul::matmul(&f32s(&[], &[3, 0]), &f32s(&[], &[0, 2])).unwrap()), [0.0; 6]);
    assert_eq!(numbers(&matmul::dot(&i64s(&[1, 2], &[2]), &i64s(&[3, 4], &[2])).unwrap()), [11.0]);
    let ignored = f32s(&[NAN], &[1]);
    let plain = added::addmm(&ignored, &f32s(&[2.0], &[1, 1]), &f32s(&[3.0], &[1, 1]), 0.0, 1.0).unwrap();
    assert_eq!(numbers(&plain), [6.0], "a zero beta leaves the input unread");
}

#[test]
fn products_name_what_does_not_fit() {
    let f = |shape: &[usize]| f32s(&vec![1.0; shape.iter().product()], shape);
    let fails = |a: &[usize], b: &[usize]| failure(matmul::matmul(&f(a), &f(b)));
    assert_eq!(fails(&[2, 3], &[2]), "RuntimeError: size mismatch, got input (2), mat (2x3), vec (2)");
    assert_eq!(
        fails(&[3], &[2, 3]),
        "RuntimeError: mm: mat1 and mat2 shapes cannot be multiplied (1x3 and 2x3)"
    );
    assert_eq!(
        fails(&[2, 3, 4], &[5, 6]),
        "RuntimeError: mm: mat1 and mat2 shapes cannot be multiplied (6x4 and 5x6)"
    );
    assert_eq!(
        fails(&[2, 3, 4], &[2, 5, 6]),
        "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."
    );
    assert_eq!(
        fails(&[2, 3, 4], &[3, 4, 6]),
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    );
    assert_eq!(
        fails(&[2, 3], &[]),
        "RuntimeError: both arguments to matmul need to be at least 1D, but they are 2D and 0D"
    );
    let wide = added::addmm(&f(&[5]), &f(&[2, 3]), &f(&[3, 4]), 1.0, 1.0);
    assert!(
        failure(wide).starts_with(
            "RuntimeError: The expanded size of the tensor (4) must match the existing size (5)"
        )
    );
}

#[test]
fn equations_mean_what_they_say() {
    let (a, b) = (f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), f64s(&[5.0, 6.0], &[2]));
    let sum =
        |equation: &str, all: &[&tensorlab::tensor::Tensor]| numbers(&einsum::einsum(equation, all).unwrap());
    assert_eq!(sum("ij->ji", &[&a]), [1.0, 3.0, 2.0, 4.0]);
    assert_eq!(sum("ii", &[&a]), [5.0]);
    assert_eq!(sum("ij,j", &[&a, &b]), [17.0, 39.0]);
    assert_eq!(sum(" i , j -> j i ", &[&b, &b]), [25.0, 30.0, 30.0, 36.0]);
    assert_eq!(sum("ij,jk,k->i", &[&a, &a, &b]), [95.0, 207.0]);
    assert_eq!(sum("...i->...", &[&a]), [3.0, 7.0]);
    assert_eq!(sum("ba", &[&a]), [1.0, 3.0, 2.0, 4.0]);
    let fails = |equation: &str, all: &[&tensorlab::tensor::Tensor]| failure(einsum::einsum(equation, all));
    assert_eq!(
        fails("ij,j", &[&a, &f64s(&[1.0; 3], &[3])]),
        "RuntimeError: einsum(): subscript j has size 3 for operand 1 which does not broadcast with previously seen size 2"
    );
    assert_eq!(
        fails("ij->iz", &[&a]),
        "RuntimeError: einsum(): output subscript z does not appear in the equation for any input operand"
    );
    assert_eq!(
        fails("i1->i", &[&a]),
        "RuntimeError: einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]"
    );
    assert_eq!(
        fails("ij,jk", &[&a]),
        "RuntimeError: einsum(): fewer operands were provided than specified in the equation"
    );
    assert!(fails("ijk", &[&a]).contains("does not match the number of dimensions (2) for operand 0"));
}

#[test]
fn joins_promote_skip_empty_vectors_and_check() {
    let joined = join::cat(&[&i64s(&[1], &[1]), &f32s(&[], &[0]), &f32s(&[2.5], &[1])], 0).unwrap();
    assert_eq!(shown(&joined), "tensor([1.0000, 2.5000])");
    assert_eq!(failure(join::cat(&[], 0)), "ValueError: torch.cat(): expected a non-empty list of Tensors");
    assert_eq!(
        failure(join::cat(&[&f32s(&[1.0], &[1]), &f32s(&[1.0], &[])], 0)),
        "RuntimeError: zero-dimensional tensor (at position 1) cannot be concatenated"
    );
    let x = f32s(&[0.0; 6], &[2, 3]);
    assert_eq!(
        failure(split::split_sizes(&x, &[1, 1], 1)),
        "RuntimeError: split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 1), but \
         got split_sizes=[1, 1]"
    );
    assert_eq!(split::chunk(&f32s(&[0.0; 5], &[5]), 4, 0).unwrap().len(), 3);
    assert_eq!(
        failure(repeat::flip(&x, &[0, 0])),
        "RuntimeError: dim 0 appears multiple times in the list of dims"
    );
    assert_eq!(numbers(&repeat::roll(&i64s(&[1, 2, 3], &[3]), &[-1], &[]).unwrap()), [2.0, 3.0, 1.0]);
    assert_eq!(
        failure(part::narrow(&x, 1, 2, 3)),
        "RuntimeError: start (2) + length (3) exceeds dimension size (3)."
    );
    assert_eq!(
        failure(part::select(&x, 0, 3)),
        "IndexError: select(): index 3 out of range for tensor of size [2, 3] at dimension 0"
    );
}

/// In float64 the same whole numbers are multiplied by other code.
#[test]
fn batches_of_integers_multiply_as_floats_do() {
    let dims: [&[usize]; 6] = [&[2], &[1, 2], &[2, 2], &[3, 1], &[2, 3, 1], &[]];
    for (left, right) in dims.iter().flat_map(|a| dims.iter().map(move |b| (a, b))) {
        let of = |batch: &[usize], matrix: [usize; 2], from: i64| {
            let shape = [batch, &matrix[..]].concat();
            let n: usize = shape.iter().product();
            i64s(&(0..n as i64).map(|i| from - i * i % 23).collect::<Vec<_>>(), &shape)
        };
        let (a, b) = (of(left, [3, 4], 9), of(right, [4, 2], 5));
        let double = |t| to(t, Target::dtype(DType::Float64), false, false).unwrap();
        match (matmul::matmul(&a, &b), matmul::matmul(&double(&a), &double(&b))) {
            (Ok(whole), Ok(real)) => {
                assert_eq!(whole.shape(), real.shape());
                assert_eq!(numbers(&whole), numbers(&real), "{left:?} and {right:?}");
            }
            (whole, real) => assert_eq!(failure(whole), failure(real)),
        }
    }
}

#[test]
fn every_element_is_rolled_to_its_place() {
    for shape in [&[17][..], &[1], &[3, 20], &[20, 3], &[2, 17, 5], &[40, 1, 2], &[0, 8], &[2, 0, 9]] {
        let n: usize = shape.iter().product();
        // Behind five others, and along its last dimension in steps of two.
        let numbered = i64s(&(-5..2 * n as i64).collect::<Vec<_>>(), &[2 * n + 5]);
        let strides: Vec<isize> =
            (1..=shape.len()).map(|d| shape[d..].iter().product::<usize>() as isize).collect();
        let twice: Vec<isize> = strides.iter().map(|s| 2 * s).collect();
        let whole = laid(&numbered, shape, &strides, 5);
        let apart = laid(&numbered, shape, &twice, 5);
        for (dim, &size) in shape.iter().enumerate() {
            let inner: usize = shape[dim + 1..].iter().product();
            for shift in -(size as i64) - 1..=size as i64 + 1 {
                let from = |at: usize| {
                    let own = (at / inner % size) as i64;
                    let source = (own - shift).rem_euclid(size as i64) as usize;
                    (at / inner / size * size + source) * inner + at % inner
                };
                let want: Vec<f64> = (0..n).map(|at| from(at) as f64).collect();
                for (x, step) in [(&whole, 1.0), (&apart, 2.0)] {
                    let rolled = numbers(&repeat::roll(x, &[shift], &[dim as i64]).unwrap());
                    let want: Vec<f64> = want.iter().map(|v| v * step).collect();
                    assert_eq!(rolled, want, "{shape:?} by {shift} along {dim}, steps of {step}");
                }
            }
        }
    }
}

#[test]
fn closeness_is_measured_as_pytorch_measures_it() {
    let (a, b) = (f32s(&[1.0, 2.0], &[2]), f32s(&[1.0, 2.000_001], &[2]));
    assert!(!equal(&a, &b).unwrap() && allclose(&a, &b, 1e-5, 1e-8, false).unwrap());
    assert!(!equal(&a, &f32s(&[1.0], &[1])).unwrap());
    let nan = f32s(&[NAN], &[1]);
    assert!(
        !allclose(&nan, &nan, 1e-5, 1e-8, false).unwrap() && allclose(&nan, &nan, 1e-5, 1e-8, true).unwrap()
    );
    assert_eq!(
        failure(allclose(&a, &f64s(&[1.0, 2.0], &[2]), 1e-5, 1e-8, false)),
        "RuntimeError: Float did not match Double"
    );
    assert!(assert_close(&a, &b, Closeness::default()).is_ok());
    let text = failure(assert_close(
        &f32s(&[1.0, 2.0, 3.0], &[3]),
        &f32s(&[1.0, 2.0, 4.0], &[3]),
        Closeness::default(),
    ));
    assert_eq!(
        text,
        "AssertionError: Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\nGreatest absolute difference: \
         1.0 at index (2,) (up to 1e-05 allowed)\nGreatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)"
    );
}

/// Bessel's functions, tails of the normal distribution and shares of the gamma distribution, as PyTorch 2.15 has them in
/// float64, on both sides of where their series change.
#[test]
fn special_functions_are_pytorch_s() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = tensor([-31.0, -1.5, 0.0, 0.3, 7.0, 50.0], #{dtype: float64});");
    lab.run("let y = tensor([-2.0, 0.0, 0.3, 7.0, 50.0], #{dtype: float64});");
    lab.run("let a = tensor([0.1, 2.5, 2.5, 40.0, 100.0], #{dtype: float64});");
    lab.run("let b = tensor([0.5, 0.1, 9.0, 45.0, 60.0], #{dtype: float64});");
    for (code, want) in [
        (
            "special::i0(x)",
            vec![
                2089962966491.9038,
                1.6467231897728907,
                1.0,
                1.0226268793515967,
                168.59390851028968,
                2.9325537838493355e20,
            ],
        ),
        (
            "special::i0e(x)",
            vec![
                0.07194649669698383,
                0.36743360905415834,
                1.0,
                0.7575806251825477,
                0.15373774467288123,
                0.056561626647454184,
            ],
        ),
        (
            "special::i1(x)",
            vec![
                -2055972795294.565,
                -0.9816664285779075,
                0.0,
                0.15169384000359282,
                156.03909286995534,
                2.9030785901035566e20,
            ],
        ),
        (
            "special::i1e(x)",
            vec![
                -0.07077639283438569,
                -0.21903938742092566,
                0.0,
                0.11237756063983881,
                0.1422892347095986,
                0.055993123892895395,
            ],
        ),
        (
            "special::log_ndtr(x)",
            vec![
                -484.8539636271794,
                -2.7059444008238898,
                -std::f64::consts::LN_2,
                -0.48141016158848127,
                -1.2798125438866539e-12,
                0.0,
            ],
        ),
        (
            "special::ndtr(x[1..])",
            vec![0.06680720126885803, 0.5, 0.6179114221889527, 0.9999999999987201, 1.0],
        ),
        (
            "special::erfcx(y)",
            vec![108.94090438997797, 1.0, 0.7345993345676554, 0.07980005432915295, 0.011281536265323772],
        ),
        ("special::entr(y[1..])", vec![0.0, 0.3611918412977808, -13.621371043387192, -195.6011502714073]),
        (
            "special::gammainc(a, b)",
            vec![
                0.9414024458901339,
                0.0008861387888124438,
                0.9970535954121197,
                0.7916181797546208,
                1.4815276326460494e-06,
            ],
        ),
        (
            "a.igammac(b)",
            vec![
                0.05859755410986646,
                0.9991138612111875,
                0.0029464045878802923,
                0.2083818200325928,
                0.9999985184723673,
            ],
        ),
        (
            "special::xlog1py(y[1..3], tensor([-1.0, 1.0], #{dtype: float64}))",
            vec![0.0, 0.3 * std::f64::consts::LN_2],
        ),
    ] {
        for place in ["cpu", "cuda"] {
            lab.run(&format!("let p = \"{place}\"; x = x.to(p); y = y.to(p); a = a.to(p); b = b.to(p);"));
            let got = lab.numbers(&code.replace("dtype: float64}", "dtype: float64, device: p}"));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
            assert!(
                got.len() == want.len() && got.iter().zip(&want).all(near),
                "{code}: {got:?}, not {want:?}"
            );
        }
    }
    assert_eq!(lab.text("special::entr(tensor([-1.0, 0.0 / 0.0]))"), "tensor([-inf, nan])");
    assert_eq!(
        lab.text(
            "special::gammainc(tensor([0.0, 1.0, 0.0, 1.0, -1.0]), tensor([1.0, 0.0, 0.0, 1.0 / 0.0, 1.0]))"
        ),
        "tensor([1., 0., nan, 1., nan])"
    );
    assert_eq!(lab.text("special::gammainc(tensor(1e20), tensor(1e20)).item()"), "0.5");
    // What torch.special has, a number first, and nothing in place.
    assert_eq!(lab.text("special::xlog1py(2.0, tensor([1.0]))"), "tensor([1.3863])");
    assert_eq!(lab.text("special::erfinv(special::erf(tensor([0.5])))"), "tensor([0.5000])");
    for absent in ["special::asinh(tensor([1.0]))", "special::lgamma(tensor([1.0]))", "tensor([1.0]).i0e_()"]
    {
        assert!(lab.error(absent).0.contains("there is no function"), "{absent}");
    }
    // A long series, and where it gives way to the normal distribution of the cube root; SciPy's values.
    lab.run("let shapes = tensor([9.9e5, 2e6, 1e8], #{dtype: float64});");
    let got =
        lab.numbers("special::gammainc(shapes, tensor([9.9e5, 2001000.0, 99990000.0], #{dtype: float64}))");
    let want = [0.5001336507, 0.7602865609, 0.1586552535];
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-8), "{got:?}");
    let (error, _) = lab.error("tensor([1.0], #{requires_grad: true}).igamma(tensor([1.0])).backward()");
    assert!(error.contains("derivative for aten::igamma: input is not implemented"), "{error}");
}

#[test]
fn a_histogram_counts_between_edges() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = tensor([1.0, 2.0, 1.0, 5.5, -3.0, 2.5]); let edges = tensor([0.0, 1.0, 2.0, 6.0]);");
    for (code, want) in [
        ("x.histogram(4, #{range: [0, 3]})", "[[0, 2, 1, 1], [0, 0.75, 1.5, 2.25, 3]]"),
        ("histogram(x, 5)[0]", "[1, 0, 3, 1, 1]"),
        ("histogram(x.cuda(), edges.cuda(), #{density: true})[0].cpu()", "[0, 0.4, 0.15]"),
        ("histogram(x, #{bins: 3, weight: arange(1.0, 7.0)})[0]", "[5, 12, 4]"),
        ("histogram(ones(3), 2)", "[[0, 3], [0.5, 1, 1.5]]"),
        ("histogram(zeros(0), 2)", "[[0, 0], [0, 0.5, 1]]"),
    ] {
        let got = lab.text(&format!("{{ let got = {code}; let got = if type_of(got) == \"array\" {{ got.map(|t| t.double().tolist()) }} else {{ got.double().tolist() }}; #{{got: got}}.to_json() }}"));
        let near = |a: &serde_json::Value, b: &serde_json::Value| {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-6
        };
        let flat = |v: &serde_json::Value| -> Vec<serde_json::Value> {
            v.as_array()
                .unwrap()
                .iter()
                .flat_map(|v| v.as_array().cloned().unwrap_or_else(|| vec![v.clone()]))
                .collect()
        };
        let got: serde_json::Value = serde_json::from_str(&got).unwrap();
        let (got, want) = (flat(&got["got"]), flat(&serde_json::from_str(want).unwrap()));
        assert!(got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| near(a, b)), "{code}: {got:?}");
    }
    for (code, text) in [
        ("histogram(x, 0)", "bins must be > 0"),
        ("histogram(x, 3, #{range: [3, 1]})", "min should not exceed max"),
        ("histogram(x, \"a\")", "must be int or Tensor, not"),
        ("histogram(x, 2, #{weight: ones(2)})", "the same shape"),
        ("histogram(x, 9223372036854775807)", ""),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(text), "{code}: {error}");
    }
}
