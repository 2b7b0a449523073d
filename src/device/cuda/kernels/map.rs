//! `Map`: a scalar function element by element.

use crate::base::{DType, Dims, Layout, Scalar, Strides};
use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Launch, View};
use crate::device::scalar::{CUDA_HELPERS, MapOp, ScalarFunction, Visitor, Writes};

use super::args::Args;
use super::cases::{Cases, all, is_its_compute};
use super::compute::{Compute, SLOTS, Slot, Types};
use super::form::{Field, forms};
use super::key::Key;
use super::operands::{Meeting, address, blocks, is_apart, meeting, output};
use super::plan::{Plan, Step};
use super::recipe::{RecipeParts, WALK, row};
use super::turn;
use super::walk::{Order, Walk};

const MAP: RecipeParts = &[WALK, "map"];
const MAP_VECTOR: RecipeParts = &["map_vector"];

forms! {
    /// A scalar function of elements.
    MapForm(types) {
        Strided { op: MapOp in MapOp::ALL.iter().copied() } =>
            row(op.kernel_name(), op.arity() + 1, MAP, [("EXPRESSION", op.cuda())]).after(CUDA_HELPERS),
            defined(op).and_wide(is_its_compute).and(casts(op));
        /// So many elements to a thread, side by side.
        Vector { op: MapOp in MapOp::ALL.iter().copied(), width: u8 in [2, 4, 8, 16] } =>
            row(format!("{}_vector", op.kernel_name()), op.arity() + 1, MAP_VECTOR, [
                ("EXPRESSION", op.cuda()),
            ])
            .number("WIDTH", width)
            .after(CUDA_HELPERS),
            defined(op).and(with_number(op)).only(|d| 16 / d.size() == usize::from(width));
    }
}

impl Field for MapOp {
    fn code(self) -> u8 {
        self as u8
    }

    fn of(code: u8) -> MapOp {
        MapOp::ALL.get(usize::from(code)).copied().unwrap_or(MapOp::Identity)
    }
}

/// The function for each dtype that has it.
fn defined(op: MapOp) -> Cases {
    let cases = all(|d| {
        let mut operands = vec![d; op.arity() + 1];
        if let (Writes::Bool, Some(to)) = (op.writes(), operands.first_mut()) {
            *to = DType::Bool;
        }
        operands
    });
    cases.only(|d| is_defined(op, Compute::of(d)))
}

/// The function with a number in the second place; fills.
fn with_number(op: MapOp) -> Cases {
    match op {
        MapOp::Identity => defined(op).number(1),
        _ => defined(op).only(|d| op.arity() > 1 && is_its_compute(d)).number(2),
    }
}

/// Copies between each two dtypes.
fn casts(op: MapOp) -> Cases {
    let to_each = DType::ALL.into_iter().filter(|_| op == MapOp::Identity);
    to_each.fold(Cases::default(), |cases, to| cases.and(all(|from| [to, from]).only(|from| from != to)))
}

/// Elements of a block of the strided form: 256 threads, four elements each.
const BLOCK: usize = 1024;

pub(crate) fn plan(launch: &Launch, op: MapOp, params: [f64; 2], compute: DType) -> Option<Plan> {
    let op = op.simplest(launch.inputs, compute);
    let inputs = launch.inputs.get(..op.arity())?;
    let output = launch.outputs.first()?;
    if op == MapOp::Identity {
        return copy(output, inputs.first()?);
    }
    let compute = Compute::of(compute);
    if !is_defined(op, compute) || !is_apart(launch, true) {
        return None;
    }
    MapJob { op, params, compute, inputs, output: *output }.plan()
}

/// Zeros in so many words of 32 bits.
pub(super) fn zeros(address: u64, words: usize) -> Option<Plan> {
    let layout = Layout::contiguous(&[words]).ok()?;
    let buffer = Buffer::new(address, words * 4, None, false);
    let to = View { buffer: &buffer, dtype: DType::Int32, layout: &layout };
    copy(&to, &Arg::Scalar(Scalar::Int(0)))
}

/// The inputs one after another along `dim`.
pub(super) fn join(launch: &Launch, dim: usize) -> Option<Plan> {
    let to = output(launch, 0)?;
    if !is_apart(launch, false) {
        return None;
    }
    let mut plan = Plan::default();
    for piece in launch.joined(dim) {
        let (from, layout) = piece.ok()?;
        if from.layout.numel() > 0 {
            plan.steps.extend(copy(&View { layout: &layout, ..to }, &Arg::View(from))?.steps);
        }
    }
    Some(plan)
}

/// Whether a function has a form for a compute type.
pub(crate) fn is_defined(op: MapOp, compute: Compute) -> bool {
    struct Defined(Compute);
    impl Visitor for Defined {
        type Output = bool;
        fn visit<F: ScalarFunction>(self) -> bool {
            if self.0 == Compute::I64 { F::WHOLE } else { F::FLOAT }
        }
    }
    op.visit(Defined(compute))
}

/// A copy, a cast or a fill: computed in the input's own type, and elements of one dtype move unchanged.
fn copy(output: &View, input: &Arg) -> Option<Plan> {
    let (mut input, mut output) = (*input, *output);
    let compute = match &mut input {
        Arg::Scalar(value) => {
            *value = match (*value, output.dtype) {
                (Scalar::Float(v), DType::Bool) => Scalar::Bool(v != 0.0),
                (value, _) => value,
            };
            Compute::of(output.dtype)
        }
        Arg::View(view) => {
            match meeting(view, &output) {
                Meeting::Same => return Some(Plan::default()),
                Meeting::Mixed => return None,
                Meeting::Apart => {}
            }
            if view.dtype == output.dtype {
                if let Some(plan) = rows_in_words(view, &output).or_else(|| turn::plan(view, &output)) {
                    return Some(plan);
                }
                if view.dtype.size() == 2 {
                    (view.dtype, output.dtype) = (DType::Int16, DType::Int16);
                }
            }
            Compute::of(view.dtype)
        }
    };
    MapJob { op: MapOp::Identity, params: [0.0; 2], compute, inputs: &[input], output }.plan()
}

/// A copy of rows that begin and end at whole words of eight bytes, as a copy of such words: of a bias over all rows, or
/// of columns side by side. None where elements lie otherwise, or one after another all along, which goes 16 bytes at a
/// time as it is.
fn rows_in_words(input: &View, output: &View) -> Option<Plan> {
    let (shape, each) = (output.layout.shape(), 8 / output.dtype.size());
    let is_one_run = |view: &View| view.layout.is_contiguous();
    if each < 2 || input.layout.shape() != shape || is_one_run(input) && is_one_run(output) {
        return None;
    }
    let row = shape.len().checked_sub(1)?;
    let words = |view: &View| -> Option<Layout> {
        let step = |(d, &stride): (usize, &isize)| match (d == row, stride) {
            (true, 1) => Some(1),
            (true, _) => None,
            (false, stride) => (stride % each as isize == 0).then_some(stride / each as isize),
        };
        let strides: Option<Strides> = view.layout.strides().iter().enumerate().map(step).collect();
        let size = |(d, &n): (usize, &usize)| match d == row {
            true => n.is_multiple_of(each).then_some(n / each),
            false => Some(n),
        };
        let sizes: Option<Dims> = shape.iter().enumerate().map(size).collect();
        let whole = address(view).is_multiple_of(8) && view.layout.offset().is_multiple_of(each);
        whole.then(|| Layout::new(sizes?, strides?, view.layout.offset() / each).ok())?
    };
    let (from, to) = (words(input)?, words(output)?);
    let input = Arg::View(View { dtype: DType::Int64, layout: &from, ..*input });
    let output = View { dtype: DType::Int64, layout: &to, ..*output };
    MapJob { op: MapOp::Identity, params: [0.0; 2], compute: Compute::I64, inputs: &[input], output }.plan()
}

struct MapJob<'a> {
    op: MapOp,
    params: [f64; 2],
    compute: Compute,
    inputs: &'a [Arg<'a>],
    output: View<'a>,
}

impl MapJob<'_> {
    fn plan(&self) -> Option<Plan> {
        let shape = self.output.layout.shape();
        let fits = |arg: &Arg| if let Arg::View(v) = arg { v.layout.shape() == shape } else { true };
        if !self.inputs.iter().all(fits) {
            return None;
        }
        let dense = |arg: &Arg| if let Arg::View(v) = arg { v.layout.is_contiguous() } else { true };
        if self.output.layout.is_contiguous() && self.inputs.iter().all(dense) && self.is_aligned() {
            return self.vector();
        }
        match self.inputs.len() {
            1 => self.strided::<2>(),
            2 => self.strided::<3>(),
            _ => self.strided::<4>(),
        }
    }

    fn strided<const N: usize>(&self) -> Option<Plan> {
        let mut layouts: [Option<&Layout>; N] = [None; N];
        let views = self.inputs.iter().map(|arg| if let Arg::View(v) = arg { Some(v.layout) } else { None });
        for (slot, layout) in layouts.iter_mut().zip(std::iter::once(Some(self.output.layout)).chain(views)) {
            *slot = layout;
        }
        let walk = Walk::of(layouts, Order::Memory)?;
        let moves = |k: usize| layouts.get(k).is_some_and(Option::is_some);
        let run = walk.rank() <= 1 && (0..N).all(|k| !moves(k) || walk.rank() == 0 || walk.step(0, k) == 1);
        if run && self.is_aligned() {
            return self.vector();
        }
        let wide = walk.is_wide();
        let mut args = self.args(wide);
        args.walk(&walk);
        self.step(MapForm::Strided { op: self.op }, wide, blocks(walk.count(), BLOCK)?, args)
    }

    fn vector(&self) -> Option<Plan> {
        let (count, width) = (self.output.layout.numel(), self.width());
        let mut args = self.args(false);
        args.index(count);
        let form = MapForm::Vector { op: self.op, width: u8::try_from(width).ok()? };
        self.step(form, false, blocks(count, 256 * width)?, args)
    }

    fn step(&self, form: MapForm, wide: bool, blocks: u32, args: Args) -> Option<Plan> {
        let mut slots = [Slot::Empty; SLOTS];
        let inputs = self.inputs.iter().map(|arg| match arg {
            Arg::View(view) => Slot::Of(view.dtype),
            Arg::Scalar(_) => Slot::Number,
        });
        for (slot, what) in slots.iter_mut().zip(std::iter::once(Slot::Of(self.output.dtype)).chain(inputs)) {
            *slot = what;
        }
        let key = Key { form: form.into(), types: Types { compute: self.compute, slots, wide } };
        Plan::of(Step { key, grid: [blocks, 1, 1], block: [256, 1, 1], shared: 0, args })
    }

    fn args(&self, wide: bool) -> Args {
        let mut args = Args::new(wide);
        args.word(address(&self.output));
        for i in 0..3 {
            match self.inputs.get(i) {
                Some(Arg::View(view)) => args.word(address(view)),
                Some(Arg::Scalar(value)) => args.number(self.compute, *value),
                None => args.word(0),
            };
        }
        let [p, q] = self.params;
        args.parameter(self.compute, p).parameter(self.compute, q);
        args
    }

    /// Elements that a thread of the vector form moves at a time: 16 bytes of the widest.
    fn width(&self) -> usize {
        16 / self.views().map(|v| v.dtype.size()).max().unwrap_or(8)
    }

    fn is_aligned(&self) -> bool {
        let width = self.width();
        self.views().all(|v| address(v).is_multiple_of((v.dtype.size() * width) as u64))
    }

    fn views(&self) -> impl Iterator<Item = &View<'_>> {
        let inputs = self.inputs.iter().filter_map(|arg| if let Arg::View(v) = arg { Some(v) } else { None });
        std::iter::once(&self.output).chain(inputs)
    }
}
