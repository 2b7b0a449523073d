//! What maps compute, whatever their operands are.

use super::*;
use crate::base::Scalar;
use crate::base::dtype::Element;
use crate::device::cpu::isa;
use crate::device::cpu::isa::Careful;
use crate::device::cpu::math::Lane;
use crate::device::cpu::testing::{Sample, assert_close, launch, layouts, output};
use crate::device::kernel::Kernel;
use crate::device::scalar::{ScalarFunction, Visitor, Writes};
use crate::with_element;
use proptest::prelude::*;

fn kernel(op: MapOp, params: [f64; 2], compute: DType) -> Kernel {
    Kernel::Map { op, params, compute }
}

/// A function over f64 numbers, computed one by one and rounded to the output's dtype.
struct Naive<'a> {
    compute: DType,
    to: DType,
    params: [f64; 2],
    inputs: &'a [Vec<f64>],
}

impl Visitor for Naive<'_> {
    type Output = Option<Vec<f64>>;

    fn visit<F: ScalarFunction>(self) -> Option<Vec<f64>> {
        let [p, q] = self.params;
        let at = |i: usize| [0, 1, 2].map(|k| self.inputs.get(k).map_or(0.0, |v| v[i]));
        let lane = Lane::<f64, Careful>::new;
        let float = |i| {
            let [a, b, c] = at(i).map(lane);
            let y = F::float(a, b, c, lane(p), lane(q)).0;
            with_element!(self.to, T => T::from_f64(y).to_f64())
        };
        let whole = |i| {
            let [a, b, c] = at(i).map(|v| v as i64);
            let y = F::whole(a, b, c, p as i64, q as i64);
            with_element!(self.to, T => T::from_i64(y).to_f64())
        };
        let (defined, f): (bool, &dyn Fn(usize) -> f64) =
            if self.compute.is_float() { (F::FLOAT, &float) } else { (F::WHOLE, &whole) };
        defined.then(|| (0..self.inputs[0].len()).map(f).collect())
    }
}

/// Numbers on a grid that half types hold exactly; `k` keeps inputs apart, and none is 0.
fn numbers(k: usize, integers: bool) -> impl Iterator<Item = f64> {
    let scale = if integers { 1.0 } else { 0.25 };
    (0..).map(move |i| f64::from((i * (7 + 4 * k as i32) + 3) % 23 + 1) * scale)
}

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Float64 => 1e-12,
        DType::Float32 => 1e-5,
        DType::Float16 => 2e-3,
        _ => 1e-2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn functions_agree_with_one_by_one(
        layout in layouts(true), o in 0..MapOp::ALL.len(), d in 0usize..10, number in any::<bool>(),
    ) {
        let (op, dtype) = (MapOp::ALL[o], DType::ALL[d]);
        // Its parameter names a type, whose numbers `math::neighbour` goes through one by one.
        prop_assume!(op != MapOp::NextAfter);
        let integers = !dtype.is_float();
        let params = if integers { [2.0, 9.0] } else { [0.5, 1.5] };
        let inputs: Vec<Sample> = (0..op.arity())
            .map(|k| Sample::laid_out(dtype, layout.clone(), numbers(k, integers)))
            .collect();
        let shape = layout.shape();
        let mut values: Vec<Vec<f64>> = inputs.iter().map(Sample::values).collect();
        let mut args: Vec<Arg> = inputs.iter().map(Sample::arg).collect();
        if number && op.arity() > 1 {
            args[1] = Arg::Scalar(Scalar::Float(3.0));
            values[1].fill(3.0);
        }
        let to = if op.writes() == Writes::Bool { DType::Bool } else { dtype };
        let want = op.visit(Naive { compute: dtype, to, params, inputs: &values });
        let out = Sample::zeros(to, shape);
        let result = launch(&kernel(op, params, dtype), &args, &[out.view()]);
        let Some(want) = want else {
            prop_assert!(op == MapOp::Identity || result.is_err());
            return Ok(());
        };
        prop_assert!(result.is_ok(), "{op:?}: {result:?}");
        assert_close(&out.values(), &want, tolerance(dtype), tolerance(dtype) * 1e-2);
    }
}

#[test]
fn each_instruction_set_gives_the_same() {
    let x = Sample::new(DType::Float32, &[1000], numbers(0, false));
    for op in [MapOp::Exp, MapOp::Gelu, MapOp::Tanh, MapOp::Add, MapOp::Round, MapOp::Pow] {
        let mut all = Vec::new();
        isa::on_each(|_| {
            let args = [x.arg(), x.arg()];
            all.push(output(&kernel(op, [1.0; 2], DType::Float32), &args, DType::Float32, &[1000]));
        });
        for values in &all {
            assert_close(values, &all[0], 1e-6, 0.0);
        }
    }
}

#[test]
fn in_place_and_overlapping_operands_are_read_before_they_are_written() {
    let n = 3000;
    let x = Sample::new(DType::Float32, &[n], (0..).map(f64::from));
    let add = kernel(MapOp::Add, [1.0; 2], DType::Float32);
    launch(&add, &[x.arg(), x.arg()], &[x.view()]).unwrap();
    let doubled: Vec<f64> = (0..n).map(|i| 2.0 * i as f64).collect();
    assert_eq!(x.values(), doubled);

    let head = x.layout.slice(0, 0, n - 1, 1).unwrap();
    let tail = x.layout.slice(0, 1, n - 1, 1).unwrap();
    let (head, tail) = (
        Arg::View(crate::device::View { layout: &head, ..x.view() }),
        crate::device::View { layout: &tail, ..x.view() },
    );
    launch(&add, &[head, Arg::View(tail)], &[tail]).unwrap();
    let want: Vec<f64> = (0..n).map(|i| if i == 0 { 0.0 } else { doubled[i] + doubled[i - 1] }).collect();
    assert_eq!(x.values(), want);
}

proptest! {
    /// Rows long enough to be read where they lie, of each operand some, one number each, or one number in all.
    #[test]
    fn operands_repeat_along_any_dimensions(
        outer in (1usize..4, 1usize..16),
        row in prop_oneof![60usize..70, 250usize..520, 1000usize..1100, 2040usize..2060],
        repeated in prop::collection::vec(any::<[bool; 3]>(), 2), d in 0usize..3, in_place in any::<bool>(),
        takes_numbers in any::<bool>(),
    ) {
        let dtype = [DType::Float32, DType::Float64, DType::Int64][d];
        let shape = [outer.0, outer.1, row];
        let inputs: Vec<Sample> = repeated.iter().enumerate().map(|(k, repeats)| {
            let whole = in_place && k == 0;
            let own: Vec<usize> =
                shape.iter().zip(repeats).map(|(&n, &one)| if one && !whole { 1 } else { n }).collect();
            let layout = Layout::contiguous(&own).unwrap().expand(&shape).unwrap();
            Sample::laid_out(dtype, layout, numbers(k, true))
        }).collect();
        let values: Vec<Vec<f64>> = inputs.iter().map(Sample::values).collect();
        let op = if takes_numbers { MapOp::Sub } else { MapOp::Maximum };
        let naive = |(a, b): (&f64, &f64)| if takes_numbers { a - b } else { a.max(*b) };
        let want: Vec<f64> = values[0].iter().zip(&values[1]).map(naive).collect();
        let apart = Sample::zeros(dtype, &shape);
        let out = if in_place { &inputs[0] } else { &apart };
        launch(&kernel(op, [1.0; 2], dtype), &[inputs[0].arg(), inputs[1].arg()], &[out.view()]).unwrap();
        prop_assert_eq!(out.values(), want);
    }
}

/// Pieces of the work end within rows, several of which are read at once.
#[test]
fn short_rows_repeat_over_large_outputs() {
    let shape = [700, 101];
    let whole = Sample::new(DType::Float32, &shape, numbers(0, true));
    for own in [[1, 101], [700, 1], [1, 1]] {
        let layout = Layout::contiguous(&own).unwrap().expand(&shape).unwrap();
        let spread = Sample::laid_out(DType::Float32, layout, numbers(1, true));
        let out = Sample::zeros(DType::Float32, &shape);
        let sub = kernel(MapOp::Sub, [1.0; 2], DType::Float32);
        launch(&sub, &[whole.arg(), spread.arg()], &[out.view()]).unwrap();
        let each = whole.values().into_iter().zip(spread.values());
        assert_eq!(out.values(), each.map(|(a, b)| a - b).collect::<Vec<_>>(), "{own:?}");
    }
    let number = Arg::Scalar(Scalar::Float(3.5));
    for (a, b) in [(whole.arg(), number), (number, whole.arg())] {
        let out = output(&kernel(MapOp::Sub, [1.0; 2], DType::Float32), &[a, b], DType::Float32, &shape);
        let sign = if matches!(a, Arg::Scalar(_)) { -1.0 } else { 1.0 };
        assert_eq!(out, whole.values().iter().map(|v| sign * (v - 3.5)).collect::<Vec<_>>());
    }
}

/// One row beside a number for each of its copies, more of them than there is room for at once.
#[test]
fn numbers_meet_a_row() {
    let spread = |own: &[usize], shape: &[usize], dtype, k| {
        let layout = Layout::contiguous(own).unwrap().expand(shape).unwrap();
        Sample::laid_out(dtype, layout, numbers(k, true))
    };
    for shape in [[1, 700, 101], [3, 130, 70], [2, 5, 2000], [1, 1300, 1030]] {
        let [outer, rows, columns] = shape;
        for (a, b) in [
            ([1, rows, 1], [1, 1, columns]),
            ([outer, rows, 1], [outer, 1, columns]),
            ([outer, 1, columns], [1, rows, 1]),
            ([1, 1, 1], [outer, 1, columns]),
            ([outer, rows, 1], [outer, rows, 1]),
        ] {
            let dtypes = [DType::Float32, DType::Float64, DType::Int64];
            for dtype in dtypes.into_iter().take(if rows > 1000 { 1 } else { 3 }) {
                let (x, y) = (spread(&a, &shape, dtype, 0), spread(&b, &shape, dtype, 1));
                let sub = kernel(MapOp::Sub, [1.0; 2], dtype);
                let got = output(&sub, &[x.arg(), y.arg()], dtype, &shape);
                let want = x.values().into_iter().zip(y.values()).map(|(a, b)| a - b);
                assert!(got.into_iter().eq(want), "{a:?} - {b:?} {dtype:?}");
            }
        }
        let row = spread(&[1, 1, columns], &shape, DType::Float32, 1);
        let sub = kernel(MapOp::Sub, [1.0; 2], DType::Float32);
        let got = output(&sub, &[Arg::Scalar(Scalar::Float(3.5)), row.arg()], DType::Float32, &shape);
        assert!(got.into_iter().eq(row.values().into_iter().map(|v| 3.5 - v)));
    }
}

#[test]
fn integers_cannot_be_divided_by_zero() {
    for op in [MapOp::FloorDiv, MapOp::TruncDiv, MapOp::Remainder, MapOp::Fmod] {
        let a = Sample::new(DType::Int32, &[3], [7.0, -7.0, 7.0]);
        let b = Sample::new(DType::Int32, &[3], [2.0, 0.0, 2.0]);
        let out = Sample::zeros(DType::Int32, &[3]);
        let divide = kernel(op, [0.0; 2], DType::Int32);
        let error = launch(&divide, &[a.arg(), b.arg()], &[out.view()]).unwrap_err();
        assert_eq!(error.message(), "ZeroDivisionError");
        let floats = kernel(op, [0.0; 2], DType::Float32);
        launch(&floats, &[a.arg(), b.arg()], &[out.view()]).unwrap();
    }
}

#[test]
fn integers_wrap_and_stay_exact() {
    let big = (1i64 << 62) + 1;
    let x = Arg::Scalar(Scalar::Int(big));
    let out = Sample::zeros(DType::Int64, &[1]);
    launch(&kernel(MapOp::Add, [1.0; 2], DType::Int64), &[x, x], &[out.view()]).unwrap();
    assert_eq!(out.values(), [(big.wrapping_add(big)) as f64]);
    let bytes = Sample::new(DType::UInt8, &[2], [200.0, 3.0]);
    let add = kernel(MapOp::Add, [1.0; 2], DType::UInt8);
    assert_eq!(output(&add, &[bytes.arg(), bytes.arg()], DType::UInt8, &[2]), [144.0, 6.0]);
}

#[test]
fn large_angles_and_quotients_take_the_careful_way() {
    let x = Sample::new(DType::Float32, &[4], [1e10, 3.0, f64::INFINITY, -2e7]);
    let sin = output(&kernel(MapOp::Sin, [0.0; 2], DType::Float32), &[x.arg()], DType::Float32, &[4]);
    let exact = [1e10f64.sin(), 3f64.sin(), f64::NAN, (-2e7f64).sin()];
    assert_close(&sin, &exact, 1e-6, 0.0);
    let y = Sample::new(DType::Float32, &[4], [0.3, 0.5, 2.0, 1e-3]);
    let rest =
        output(&kernel(MapOp::Fmod, [0.0; 2], DType::Float32), &[x.arg(), y.arg()], DType::Float32, &[4]);
    let (big, small) = (1e10f32 % 0.3, -2e7f32 % 1e-3);
    assert_close(&rest, &[f64::from(big), 0.0, f64::NAN, f64::from(small)], 0.0, 0.0);
}

#[test]
fn across_layouts_meet_in_tiles() {
    let turned = Layout::contiguous(&[70, 90]).unwrap().transpose(0, 1).unwrap();
    let a = Sample::laid_out(DType::Float32, turned, (0..).map(f64::from));
    let b = Sample::new(DType::Int64, &[90, 70], (0..).map(f64::from));
    let add = kernel(MapOp::Add, [2.0; 2], DType::Float32);
    let got = output(&add, &[a.arg(), b.arg()], DType::Float32, &[90, 70]);
    let want: Vec<f64> = a.values().iter().zip(b.values()).map(|(a, b)| a + 2.0 * b).collect();
    assert_eq!(got, want);
}

#[test]
fn a_function_without_a_meaning_is_an_error() {
    let x = Sample::zeros(DType::Float32, &[2]);
    let and = kernel(MapOp::BitAnd, [0.0; 2], DType::Float32);
    let error = launch(&and, &[x.arg(), x.arg()], &[x.view()]).unwrap_err();
    assert_eq!(error.message(), "\"test_cpu\" not implemented for 'Float'");
    assert!(launch(&and, &[x.arg()], &[x.view()]).is_err());
}

proptest! {
    /// Few elements in place, beside numbers and beside views of all kinds.
    #[test]
    fn few_elements_are_as_right_in_place(
        n in 0usize..300, d in 0usize..10, number in any::<bool>(), kind in 0usize..4, o in 0usize..3,
    ) {
        let dtype = DType::ALL[d];
        let op = [MapOp::Add, MapOp::Maximum, MapOp::Mul][o];
        let x = Sample::new(dtype, &[n], numbers(0, true));
        let wide = Layout::contiguous(&[n.max(1), 2]).unwrap();
        let beside = match kind {
            0 => Sample::new(dtype, &[n], numbers(1, true)),
            1 => Sample::laid_out(dtype, wide.select(1, 1).unwrap().slice(0, 0, n, 1).unwrap(), numbers(1, true)),
            2 => Sample::laid_out(dtype, Layout::contiguous(&[1]).unwrap().expand(&[n]).unwrap(), numbers(1, true)),
            _ => Sample::new(DType::ALL[(d + 1) % 10], &[n], numbers(1, true)),
        };
        let second = if number { Arg::Scalar(Scalar::Int(3)) } else { beside.arg() };
        let values = if number { vec![3.0; n] } else { beside.values() };
        let rounded = |v: f64| with_element!(dtype, T => T::from_f64(v).to_f64());
        let want: Vec<f64> = x.values().iter().zip(&values).map(|(a, b)| match op {
            MapOp::Add => rounded(a + b),
            MapOp::Maximum => rounded(a.max(*b)),
            _ => rounded(a * b),
        }).collect();
        // Sums of bytes wrap, and masks are no numbers.
        prop_assume!(dtype != DType::Bool && !matches!(dtype, DType::UInt8 | DType::Int8));
        launch(&kernel(op, [1.0; 2], dtype), &[x.arg(), second], &[x.view()]).unwrap();
        prop_assert_eq!(x.values(), want);
    }
}
