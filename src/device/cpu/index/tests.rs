use proptest::prelude::*;

use crate::base::{DType, Layout};
use crate::device::Cancel;
use crate::device::cpu::testing::{Sample, launch, layouts, output};
use crate::device::kernel::{Arg, Kernel, Launch, ScatterMode};

fn counted(dtype: DType, layout: Layout) -> Sample {
    Sample::laid_out(dtype, layout, (0..).map(|i| f64::from(i % 100)))
}

/// Whole numbers in `low..high`.
fn places(shape: &[usize], low: i64, high: i64, seed: u64) -> Sample {
    let mut state = seed;
    let values = std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (low + ((state >> 33) as i64) % (high - low)) as f64
    });
    Sample::new(DType::Int64, shape, values)
}

/// Every index of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &n| {
        all.iter().flat_map(|i| (0..n).map(move |j| [i.clone(), vec![j]].concat())).collect()
    })
}

fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (&i, &n)| at * n + i)
}

proptest! {
    #[test]
    fn rows_are_selected_and_added_back(
        layout in layouts(true), dim in 0usize..4, d in 0usize..9, k in 0usize..6, seed in any::<u64>(), copy in any::<bool>(),
    ) {
        prop_assume!(layout.rank() > 0);
        let dim = dim % layout.rank();
        let size = layout.shape()[dim];
        let k = if size == 0 { 0 } else { k };
        let layout = if copy { Layout::contiguous(layout.shape()).unwrap() } else { layout };
        let x = counted(DType::ALL[d], layout);
        let (shape, values) = (x.layout.shape().to_vec(), x.values());
        let index = places(&[k], -(size.max(1) as i64), size.max(1) as i64, seed);
        let mut to = shape.clone();
        to[dim] = k;
        let got = output(&Kernel::IndexSelect { dim, from_end: true }, &[x.arg(), index.arg()], x.dtype, &to);
        let chosen: Vec<usize> = index.values().iter().map(|&i| if i < 0.0 { (i + size as f64) as usize } else { i as usize }).collect();
        let mut sums = Sample::zeros(DType::Int64, &shape);
        let mut want_sums = vec![0.0; values.len()];
        for (n, i) in indices(&to).into_iter().enumerate() {
            let mut from = i.clone();
            from[dim] = chosen[i[dim]];
            prop_assert_eq!(got[n], values[flat(&from, &shape)]);
            want_sums[flat(&from, &shape)] += got[n];
        }
        sums.write(std::iter::repeat(0.0));
        let source = Sample::new(x.dtype, &to, got);
        launch(&Kernel::IndexAdd { dim }, &[index.arg(), source.arg()], &[sums.view()]).unwrap();
        prop_assert_eq!(sums.values(), want_sums);
    }

    #[test]
    fn gathered_elements_scatter_back(
        layout in layouts(true), dim in 0usize..4, d in 0usize..9, length in 0usize..5, less in 0usize..2,
        seed in any::<u64>(), add in any::<bool>(),
    ) {
        prop_assume!(layout.rank() > 0 && layout.numel() > 0);
        let dim = dim % layout.rank();
        let x = counted(DType::ALL[d], layout);
        let (shape, values) = (x.layout.shape().to_vec(), x.values());
        let mut small: Vec<usize> = shape.iter().map(|n| n.saturating_sub(less).max(1)).collect();
        small[dim] = length;
        let index = places(&small, 0, shape[dim] as i64, seed);
        let got = output(&Kernel::Gather { dim }, &[x.arg(), index.arg()], x.dtype, &small);
        let mode = if add { ScatterMode::Add } else { ScatterMode::Assign };
        let target = Sample::zeros(DType::Float64, &shape);
        let source = Sample::new(x.dtype, &small, got.clone());
        launch(&Kernel::Scatter { dim, mode }, &[index.arg(), source.arg()], &[target.view()]).unwrap();
        let mut want = vec![0.0; values.len()];
        for (n, i) in indices(&small).into_iter().enumerate() {
            let mut from = i.clone();
            from[dim] = index.values()[n] as usize;
            let at = flat(&from, &shape);
            prop_assert_eq!(got[n], values[at]);
            want[at] = if add { want[at] + got[n] } else { got[n] };
        }
        prop_assert_eq!(target.values(), want);
    }
}

#[test]
fn an_index_outside_names_itself_and_changes_nothing() {
    let x = Sample::new(DType::Float32, &[5, 2], (0..10).map(f64::from));
    let index = |i: f64| Sample::new(DType::Int64, &[2], [0.0, i]);
    let y = Sample::zeros(DType::Float32, &[2, 2]);
    let select = Kernel::IndexSelect { dim: 0, from_end: true };
    for (bad, text) in [(7.0, "index 7 is out of bounds"), (-6.0, "index -6 is out of bounds")] {
        let error = launch(&select, &[x.arg(), index(bad).arg()], &[y.view()]).unwrap_err();
        assert!(error.message().contains(text), "{error}");
        assert_eq!(error.to_string(), format!("IndexError: {text} for dimension 0 with size 5"));
        let source = Sample::new(DType::Float32, &[2, 2], [1.0; 4]);
        assert!(
            launch(&Kernel::IndexAdd { dim: 0 }, &[index(bad).arg(), source.arg()], &[x.view()]).is_err()
        );
        assert_eq!(x.values()[0], 0.0);
    }
    let negative = Sample::new(DType::Int64, &[1, 1], [-1.0]);
    let one = Sample::zeros(DType::Float32, &[1, 1]);
    assert!(launch(&Kernel::Gather { dim: 0 }, &[x.arg(), negative.arg()], &[one.view()]).is_err());
    let scatter = Kernel::Scatter { dim: 0, mode: ScatterMode::Assign };
    assert!(launch(&scatter, &[negative.arg(), one.arg()], &[x.view()]).is_err());
}

#[test]
fn numbers_scatter_and_scalars_have_one_place() {
    let index = Sample::new(DType::Int64, &[2, 1], [1.0, 0.0]);
    let y = Sample::zeros(DType::Int64, &[2, 3]);
    let kernel = Kernel::Scatter { dim: 1, mode: ScatterMode::Assign };
    launch(&kernel, &[index.arg(), Arg::Scalar(1i64.into())], &[y.view()]).unwrap();
    assert_eq!(y.values(), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    let x = Sample::new(DType::Float32, &[], [4.0]);
    let zero = Sample::new(DType::Int64, &[1], [0.0]);
    assert_eq!(
        output(&Kernel::IndexSelect { dim: 0, from_end: true }, &[x.arg(), zero.arg()], DType::Float32, &[]),
        [4.0]
    );
}

#[test]
fn a_tensor_selects_from_itself() {
    let x = Sample::new(DType::Float32, &[3], [1.0, 2.0, 3.0]);
    let index = Sample::new(DType::Int32, &[3], [2.0, 1.0, 0.0]);
    launch(&Kernel::IndexSelect { dim: 0, from_end: true }, &[x.arg(), index.arg()], &[x.view()]).unwrap();
    assert_eq!(x.values(), [3.0, 2.0, 1.0]);
}

/// Values whose sum depends on the order in which they are added.
fn rounding(n: usize) -> Vec<f32> {
    [1e8, 1.0, -1e8, 0.3, 7e7, -0.7, 3.0].into_iter().cycle().take(n).collect()
}

#[test]
fn sums_of_many_rows_follow_the_index() {
    for (rows, width, k) in
        [(7usize, 130usize, 5000usize), (300, 64, 4000), (5, 1, 3000), (2, 3, 1), (1, 40, 513)]
    {
        let index = places(&[k], -(rows as i64), rows as i64, 5);
        let values = rounding(k * width);
        let source = Sample::new(DType::Float32, &[k, width], values.iter().map(|&v| v.into()));
        let y = Sample::zeros(DType::Float32, &[rows, width]);
        launch(&Kernel::IndexAdd { dim: 0 }, &[index.arg(), source.arg()], &[y.view()]).unwrap();
        let mut want = vec![0f32; rows * width];
        for (&row, values) in index.values().iter().zip(values.chunks(width)) {
            let row = (row as i64).rem_euclid(rows as i64) as usize;
            want[row * width..][..width].iter_mut().zip(values).for_each(|(to, value)| *to += value);
        }
        assert_eq!(y.values(), want.into_iter().map(f64::from).collect::<Vec<_>>(), "{rows} x {width}");
    }
}

#[test]
fn scattered_values_are_combined_in_their_order() {
    for (rows, width, k) in [(7usize, 130usize, 900usize), (3, 1, 3000), (30, 1500, 4)] {
        let values = rounding(k * width);
        let source = Sample::new(DType::Float32, &[k, width], values.iter().map(|&v| v.into()));
        for (dim, size) in [(0, rows), (1, width)] {
            let index = places(&[k, width], 0, size as i64, 11);
            let shape = if dim == 0 { [rows, width] } else { [k, size] };
            for mode in [
                ScatterMode::Add,
                ScatterMode::Assign,
                ScatterMode::Multiply,
                ScatterMode::Maximum,
                ScatterMode::Minimum,
            ] {
                let y = Sample::new(DType::Float32, &shape, std::iter::repeat(0.5));
                launch(&Kernel::Scatter { dim, mode }, &[index.arg(), source.arg()], &[y.view()]).unwrap();
                let mut want = vec![0.5f32; shape[0] * shape[1]];
                for (at, (&place, value)) in index.values().iter().zip(&values).enumerate() {
                    let place = place as usize;
                    let to = if dim == 0 { place * width + at % width } else { at / width * size + place };
                    want[to] = match mode {
                        ScatterMode::Assign => *value,
                        ScatterMode::Add => want[to] + value,
                        ScatterMode::Multiply => want[to] * value,
                        ScatterMode::Maximum => want[to].max(*value),
                        ScatterMode::Minimum => want[to].min(*value),
                    };
                }
                let want: Vec<f64> = want.into_iter().map(f64::from).collect();
                assert_eq!(y.values(), want, "{rows} x {width} along {dim}");
            }
        }
    }
}

/// Every row is added once: whole numbers have one sum, floats another in another order.
#[test]
fn rows_are_added_in_the_order_of_a_chance() {
    let (rows, width, k) = (5usize, 130usize, 1300usize);
    let index = places(&[k], 0, rows as i64, 5);
    let added = |values: &[f32], chance| {
        let source = Sample::new(DType::Float32, &[k, width], values.iter().map(|&v| v.into()));
        let y = Sample::zeros(DType::Float32, &[rows, width]);
        let (inputs, outputs) = ([index.arg(), source.arg()], [y.view()]);
        let (kernel, cancel) = (Kernel::IndexAdd { dim: 0 }, Cancel::default());
        let (inputs, outputs) = (&inputs[..], &outputs[..]);
        let launch =
            Launch { op: "test", kernel: &kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
        super::rows::index_add(&launch, 0, chance).unwrap();
        y.values()
    };
    let whole: Vec<f32> = (0..k * width).map(|i| (i % 17) as f32).collect();
    assert_eq!(added(&whole, Some(7)), added(&whole, None));
    let rounded = rounding(k * width);
    assert_eq!(added(&rounded, Some(7)), added(&rounded, Some(7)));
    assert_ne!(added(&rounded, Some(7)), added(&rounded, None));
}
