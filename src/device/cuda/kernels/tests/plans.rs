//! Which kernels carry out what, and where they find their elements.

use proptest::prelude::*;

use crate::base::{DType, Dims, Layout, Scalar, Strides};
use crate::device::cpu::testing::layouts;
use crate::device::kernel::*;
use crate::device::scalar::MapOp;
use crate::device::{Buffer, Cancel};

use super::super::map::MapForm;
use super::super::turn::TurnForm;
use super::super::walk::{Order, Walk};
use super::super::{Gpu, Plan, plan, scratch_bytes};

const F32: DType = DType::Float32;
const GPU: Gpu = Gpu { multiprocessors: 80, threads_per_multiprocessor: 2048, wgmma: false, in_order: false };
const COPY: Kernel = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: F32 };
const ADD: Kernel = Kernel::Map { op: MapOp::Add, params: [1.0, 0.0], compute: F32 };

fn memory(address: u64) -> Buffer {
    Buffer::new(address, 1 << 40, None, false)
}

fn planned(kernel: &Kernel, inputs: &[Arg], outputs: &[View]) -> Option<Plan> {
    let cancel = Cancel::default();
    let launch = Launch { op: "test", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
    plan(&launch, &GPU, 0)
}

fn rows(shape: &[usize]) -> Layout {
    Layout::contiguous(shape).unwrap()
}

/// What `places` of `kernels/walk.cuh` computes.
fn places<const N: usize>(walk: &Walk<N>, number: usize) -> [isize; N] {
    let (mut at, mut left) = ([0isize; N], number);
    for d in 0..8 {
        let last = d + 1 >= walk.rank();
        let here = if last { left } else { left % walk.size(d) };
        for (k, at) in at.iter_mut().enumerate() {
            *at += here as isize * walk.step(d, k);
        }
        if last {
            break;
        }
        left /= walk.size(d);
    }
    at
}

proptest! {
    #[test]
    fn walks_visit_the_elements_of_both_operands_together(layout in layouts(true), turn in any::<bool>()) {
        let other = rows(layout.shape());
        for order in [Order::Rows, Order::Memory] {
            let (a, b) = if turn { (&layout, &other) } else { (&other, &layout) };
            let walk = Walk::of([Some(a), Some(b)], order).unwrap();
            prop_assert_eq!(walk.count(), layout.numel());
            let mut got: Vec<_> = (0..walk.count()).map(|i| places(&walk, i)).collect();
            let first = |l: &Layout| l.offset() as isize;
            let mut want: Vec<[isize; 2]> = a.offsets().zip(b.offsets())
                .map(|(x, y)| [x as isize - first(a), y as isize - first(b)]).collect();
            if order == Order::Memory {
                got.sort_unstable();
                want.sort_unstable();
            }
            prop_assert_eq!(got, want);
        }
    }
}

#[test]
fn tiles_are_for_copies_whose_neighbours_are_apart() {
    let (a, b) = (memory(1 << 20), memory(3 << 20));
    let tiles = |x: &Layout, dtypes: [DType; 2]| {
        let y = rows(x.shape());
        let input = Arg::View(View { buffer: &a, dtype: dtypes[0], layout: x });
        let plan = planned(&COPY, &[input], &[View { buffer: &b, dtype: dtypes[1], layout: &y }]).unwrap();
        plan.steps[0].key.form == TurnForm::Tiles.into()
    };
    let turned = |shape: &[usize], order: &[usize]| rows(shape).permute(order).unwrap();
    for (shape, order) in [
        (vec![64, 70], vec![1, 0]),
        (vec![3, 70, 17], vec![0, 2, 1]),
        (vec![40, 3, 66], vec![2, 1, 0]),
        (vec![65, 5, 16], vec![1, 2, 0]),
    ] {
        assert!(tiles(&turned(&shape, &order), [F32, F32]), "{shape:?} {order:?}");
    }
    // Narrow, with whole rows that move, converted.
    assert!(!tiles(&turned(&[100, 15], &[1, 0]), [F32, F32]));
    assert!(!tiles(&turned(&[20, 30, 64], &[1, 0, 2]), [F32, F32]));
    assert!(!tiles(&turned(&[64, 70], &[1, 0]), [F32, DType::Float16]));
}

#[test]
fn vectors_are_for_memory_that_is_aligned_and_in_order() {
    let (a, c) = (memory(1 << 20), memory(3 << 20));
    let form = |x: &Layout, y: &Layout, at: u64| {
        let odd = memory((2 << 20) + at);
        let inputs = [
            Arg::View(View { buffer: &a, dtype: F32, layout: x }),
            Arg::View(View { buffer: &odd, dtype: F32, layout: x }),
        ];
        let plan = planned(&ADD, &inputs, &[View { buffer: &c, dtype: F32, layout: y }]).unwrap();
        (plan.steps[0].key.form, plan.steps[0].grid[0])
    };
    let vector = MapForm::Vector { op: MapOp::Add, width: 4 }.into();
    let strided = MapForm::Strided { op: MapOp::Add }.into();
    let plain = rows(&[64, 33]);
    let turned = rows(&[33, 64]).transpose(0, 1).unwrap();
    assert_eq!(form(&plain, &plain, 0), (vector, 3), "2112 elements, 1024 to a block");
    assert_eq!(form(&turned, &turned, 0), (vector, 3), "as dense as the other");
    assert_eq!(form(&plain, &plain, 4), (strided, 3), "an input 4 bytes off");
    assert_eq!(form(&turned, &plain, 0).0, strided);
    let cut = rows(&[64, 64]).slice(1, 0, 33, 1).unwrap();
    assert_eq!(form(&cut, &plain, 0).0, strided);
    let later = rows(&[65, 33]).slice(0, 1, 64, 1).unwrap();
    assert_eq!(form(&later, &plain, 0).0, strided, "33 elements off");
}

#[test]
fn widths_follow_the_widest_operand() {
    let (a, b) = (memory(1 << 20), memory(2 << 20));
    let layout = rows(&[1000]);
    for (from, to, width) in
        [(DType::UInt8, DType::UInt8, 16), (DType::Float16, F32, 4), (DType::Int8, DType::Float64, 2)]
    {
        let x = Arg::View(View { buffer: &a, dtype: from, layout: &layout });
        let plan = planned(&COPY, &[x], &[View { buffer: &b, dtype: to, layout: &layout }]).unwrap();
        assert_eq!(plan.steps[0].key.form, MapForm::Vector { op: MapOp::Identity, width }.into());
        assert!(u64::from(plan.steps[0].grid[0]) * 256 * u64::from(width) >= 1000);
    }
}

#[test]
fn arguments_lie_as_the_kernel_declares_them() {
    let (a, b) = (memory(1 << 20), memory(2 << 20));
    let (x, y) = (rows(&[5, 7]).transpose(0, 1).unwrap(), rows(&[7, 5]));
    let input = Arg::View(View { buffer: &a, dtype: F32, layout: &x });
    let inputs = [input, Arg::Scalar(Scalar::Int(3))];
    let plan = planned(&ADD, &inputs, &[View { buffer: &b, dtype: F32, layout: &y }]).unwrap();
    let mut step = plan.steps.into_iter().next().unwrap();
    assert_eq!((step.args.count(), step.key.entry().as_str()), (7, "map_add_f32_f32_f32_number"));
    assert_eq!([step.args.get(0), step.args.get(1)], [2 << 20, 1 << 20]);
    assert_eq!(step.args.get(2), u64::from(3f32.to_bits()));
    assert_eq!(step.args.get(4), u64::from(1f32.to_bits()), "p");
    let walk: Vec<i32> =
        step.args.bytes(6).chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(walk.len(), 2 + 8 + 8 * 3);
    assert_eq!((walk[0], walk[1], &walk[2..4]), (35, 2, &[5, 7][..]));
    assert_eq!((&walk[10..12], &walk[18..20], &walk[26..28]), (&[1, 5][..], &[7, 1][..], &[0, 0][..]));
    let pointers = step.args.pointers();
    // SAFETY: the pointers lead to words of the arguments, which are alive.
    assert_eq!(unsafe { *pointers[1].cast::<u64>() }, 1 << 20);
}

#[test]
fn large_tensors_are_counted_in_64_bits() {
    let (a, b) = (memory(1 << 20), memory(1 << 41));
    let wide = |kernel: &Kernel, each: usize, shape: &[usize]| {
        let x = rows(shape).transpose(0, 1).unwrap();
        let y = rows(x.shape());
        let input = Arg::View(View { buffer: &a, dtype: F32, layout: &x });
        let plan = planned(kernel, &[input], &[View { buffer: &b, dtype: F32, layout: &y }]).unwrap();
        let step = &plan.steps[0];
        assert!(step.grid[0] as usize * each >= x.numel());
        (step.key.types.wide, step.key.entry())
    };
    let negate = Kernel::Map { op: MapOp::Neg, params: [0.0; 2], compute: F32 };
    for (kernel, each, name) in [(&negate, 1024, "map_neg_f32"), (&COPY, 64 * 64, "turn_i32")] {
        assert_eq!(wide(kernel, each, &[1 << 15, 1 << 15]), (false, name.into()));
        assert_eq!(wide(kernel, each, &[1 << 16, 1 << 15]), (true, format!("{name}_wide")));
    }
}

#[test]
fn memory_that_is_written_is_not_read_elsewhere() {
    let a = memory(1 << 20);
    let all = rows(&[10, 10]);
    let possible = |x: &Layout, y: &Layout| {
        let input = Arg::View(View { buffer: &a, dtype: F32, layout: x });
        planned(&ADD, &[input, input], &[View { buffer: &a, dtype: F32, layout: y }]).is_some()
    };
    assert!(possible(&all, &all), "in place");
    assert!(!possible(&all, &all.transpose(0, 1).unwrap()));
    let half = |start| all.slice(0, start, 5, 1).unwrap();
    assert!(possible(&half(0), &half(5)) && !possible(&half(0), &half(4)));
    let columns = |start, n| all.slice(1, start, n, 1).unwrap();
    assert!(possible(&columns(0, 4), &columns(4, 4)) && !possible(&columns(0, 4), &columns(3, 4)));
    assert!(possible(&columns(6, 4), &columns(0, 4)) && possible(&columns(5, 5), &columns(0, 5)));
    let even = all.slice(1, 0, 5, 2).unwrap();
    let odd = all.slice(1, 1, 5, 2).unwrap();
    assert!(!possible(&even, &odd) || possible(&odd, &even), "either way round alike");
    let reduce = Kernel::Reduce { op: ReduceOp::Prod, dims: 1 };
    let (x, y) = (rows(&[4, 10]), rows(&[1, 10]));
    let input = Arg::View(View { buffer: &a, dtype: F32, layout: &x });
    assert!(planned(&reduce, &[input], &[View { buffer: &a, dtype: F32, layout: &y }]).is_none());
}

#[test]
fn few_outputs_are_cut_into_parts_with_room_for_each() {
    let (a, b) = (memory(1 << 30), memory(1 << 41));
    let cancel = Cancel::default();
    for (shape, dims, cut) in [
        (vec![1 << 22], 1u64, true),
        (vec![1 << 16, 8], 1, true),
        (vec![4096, 4096], 2, false),
        (vec![100], 1, false),
        (vec![3, 1 << 20, 2], 0b010, true),
    ] {
        let to: Vec<usize> =
            shape.iter().enumerate().map(|(d, &n)| if dims >> d & 1 == 1 { 1 } else { n }).collect();
        let (x, y) = (rows(&shape), rows(&to));
        let inputs = [Arg::View(View { buffer: &a, dtype: F32, layout: &x })];
        let outputs = [View { buffer: &b, dtype: F32, layout: &y }];
        let kernel = Kernel::Reduce { op: ReduceOp::Var { correction: 1.0, root: false }, dims };
        let launch = Launch {
            op: "test",
            kernel: &kernel,
            inputs: &inputs,
            outputs: &outputs,
            stream: 0,
            cancel: &cancel,
            timed: false,
        };
        let (steps, bytes) = (plan(&launch, &GPU, 0).unwrap().steps, scratch_bytes(&launch, &GPU));
        assert_eq!((steps.len() == 2, bytes > 0), (cut, cut), "{shape:?}");
        let parts = steps[0].grid[1] as usize;
        assert_eq!(bytes, if cut { y.numel() * parts * 12 } else { 0 }, "three floats to a part");
        let part = steps[0].args.get(3) as usize;
        let reduced = x.numel() / y.numel();
        assert!(part * parts >= reduced && part * (parts - 1) < reduced, "{part} {parts}");
    }
}

#[test]
fn what_has_no_kernel_is_left_to_the_host() {
    let (a, b, c) = (memory(1 << 20), memory(2 << 20), memory(3 << 20));
    let x = rows(&[8]);
    let view = |buffer, dtype| View { buffer, dtype, layout: &x };
    let input = Arg::View(view(&a, F32));
    let outputs = [view(&b, F32), view(&c, DType::Int64)];
    assert!(planned(&Kernel::Factor(Factor::Qr), &[input], &outputs).is_none());
    let bits = Kernel::Map { op: MapOp::BitNot, params: [0.0; 2], compute: F32 };
    assert!(planned(&bits, &[input], &outputs[..1]).is_none());
    let empty = Layout::new(Dims::from(&[0][..]), Strides::from(&[1][..]), 0).unwrap();
    let nothing = View { buffer: &a, dtype: F32, layout: &empty };
    let one = rows(&[1]);
    let to = [View { buffer: &b, dtype: F32, layout: &one }];
    let largest = Kernel::Reduce { op: ReduceOp::Max, dims: 1 };
    assert!(planned(&largest, &[Arg::View(nothing)], &to).is_none(), "an error that the host words");
    assert!(planned(&COPY, &[Arg::View(nothing)], &[nothing]).unwrap().steps.is_empty());
}
