//! `Conv2d` and its gradients without a library: products whose factors are read where they lie.

use crate::device::kernel::{Conv, Launch, View};

use super::args::{Args, compute_size};
use super::cases::{floats, is_float32};
use super::compute::Compute;
use super::form::forms;
use super::matmul::{GRID, THREADS, TILE};
use super::operands::{address, blocks, float, input, is_apart, is_far, key, output, per_element};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{self, ON, RecipeParts, WALK, row};
use super::walk::{Order, Walk};

const CONV: RecipeParts = &[WALK, recipe::TILE, "conv"];

forms! {
    /// Convolutions of planes.
    ConvForm(types) {
        Forward =>
            row("conv2d", 3, CONV, [("FORWARD", ON), ("XTYPE", "S1")]),
            floats(|d| [d; 4]).and_wide(is_float32);
        ByInput =>
            row("conv2d_grad_input", 3, CONV, [("BY_INPUT", ON), ("XTYPE", "S0")]),
            floats(|d| [d; 3]);
        ByWeight =>
            row("conv2d_grad_weight", 3, CONV, [("BY_WEIGHT", ON), ("XTYPE", "S1")]),
            floats(|d| [d; 2]);
        /// Adds the parts of a gradient by the weight.
        Join => row("conv2d_grad_weight_join", 1, CONV, [("XTYPE", "S0")]), floats(|d| [d]);
    }
}

/// A convolution's operands: the larger images, the filters, the smaller images.
struct ConvolutionJob<'a> {
    x: View<'a>,
    w: View<'a>,
    y: View<'a>,
    groups: usize,
    wide: bool,
    /// Channels and filters of a group, and elements of a filter's plane.
    inputs: usize,
    outputs: usize,
    taps: usize,
}

impl<'a> ConvolutionJob<'a> {
    fn new(launch: &Launch, conv: &Conv, [x, w, y]: [View<'a>; 3]) -> Option<ConvolutionJob<'a>> {
        let (&[n, c, h, wide], &[o, inputs, kh, kw], &[n2, o2, oh, ow]) =
            (x.layout.shape(), w.layout.shape(), y.layout.shape())
        else {
            return None;
        };
        let groups = conv.groups.max(1);
        let fits = n == n2 && o == o2 && c == inputs * groups && o.is_multiple_of(groups);
        let far = |pooled: usize, filter: usize, axis: usize| -> Option<usize> {
            let of = |pair: &[usize; 2]| pair.get(axis).copied();
            let reach = pooled.checked_mul(of(&conv.stride)?)?;
            reach.checked_add(filter.checked_mul(of(&conv.dilation)?)?)?.checked_add(of(&conv.padding)?)
        };
        let small = |reach: usize| reach < i32::MAX as usize / 2;
        let near = small(far(oh, kh, 0)?) && small(far(ow, kw, 1)?) && small(h) && small(wide);
        if !fits
            || !near
            || conv.stride.contains(&0)
            || conv.dilation.contains(&0)
            || !is_apart(launch, false)
        {
            return None;
        }
        let wide = is_far(&[x.layout, w.layout, y.layout]);
        Some(ConvolutionJob { x, w, y, groups, wide, inputs, outputs: o / groups, taps: kh * kw })
    }

    /// `struct Conv` of `kernels/conv.cuh`.
    fn put(&self, conv: &Conv, bias: isize, args: &mut Args) -> Option<()> {
        let images = *self.x.layout.shape().first()?;
        args.structure();
        for size in [images, self.groups, self.inputs, self.outputs] {
            args.member(size as u64);
        }
        let plane = |view: &View| match *view.layout.shape() {
            [_, _, rows, columns] => Some([rows, columns]),
            _ => None,
        };
        let pairs =
            [plane(&self.x)?, plane(&self.y)?, plane(&self.w)?, conv.stride, conv.padding, conv.dilation];
        for value in pairs.as_flattened() {
            args.member_int(i32::try_from(*value).ok()?);
        }
        for view in [&self.x, &self.w, &self.y] {
            for &stride in view.layout.strides() {
                args.member(stride as u64);
            }
        }
        args.member(bias as u64).member(0);
        Some(())
    }

    /// Elements of all planes of one channel.
    fn pixels(view: &View) -> usize {
        match *view.layout.shape() {
            [n, _, rows, columns] => n * rows * columns,
            _ => 0,
        }
    }

    fn grid(rows: usize, columns: usize, planes: usize) -> Option<[u32; 3]> {
        let rows = blocks(rows, TILE).filter(|&r| r as usize <= GRID)?;
        Some([blocks(columns, TILE)?, rows, u32::try_from(planes).ok()?])
    }
}

pub(super) fn forward(launch: &Launch, conv: &Conv) -> Option<Plan> {
    let (x, w, y) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let bias = input(launch, 2);
    let compute = float(y.dtype)?;
    let job = ConvolutionJob::new(launch, conv, [x, w, y])?;
    let (bias_at, bias_step) = match &bias {
        None => (0, 0),
        Some(view) if view.layout.shape() == [job.outputs * job.groups] => {
            (address(view), view.layout.strides().first().copied()?)
        }
        Some(_) => return None,
    };
    let mut args = Args::new(job.wide);
    args.word(address(&y)).word(address(&x)).word(address(&w)).word(bias_at);
    job.put(conv, bias_step, &mut args)?;
    let dtypes = [y.dtype, x.dtype, w.dtype, bias.map_or(w.dtype, |b| b.dtype)];
    let key = key(ConvForm::Forward, compute, dtypes, job.wide);
    let grid = ConvolutionJob::grid(job.outputs, ConvolutionJob::pixels(&y), job.groups.min(GRID))?;
    Plan::of(Step { key, grid, block: [THREADS, 1, 1], shared: 0, args })
}

pub(crate) fn by_input(launch: &Launch, conv: &Conv) -> Option<Plan> {
    let (dy, w, dx) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let compute = float(dx.dtype)?;
    let job = ConvolutionJob::new(launch, conv, [dx, w, dy])?;
    let mut args = Args::new(job.wide);
    args.word(address(&dx)).word(address(&dy)).word(address(&w));
    job.put(conv, 0, &mut args)?;
    let key = key(ConvForm::ByInput, compute, [dx.dtype, dy.dtype, w.dtype], job.wide);
    let grid = ConvolutionJob::grid(job.inputs, ConvolutionJob::pixels(&dx), job.groups.min(GRID))?;
    Plan::of(Step { key, grid, block: [THREADS, 1, 1], shared: 0, args })
}

/// The sum over all images in parts, so that a small filter keeps a whole device busy; parts are added in order.
pub(crate) fn by_weight(launch: &Launch, gpu: &Gpu, scratch: u64, conv: &Conv) -> Option<Plan> {
    let (dy, x, dw) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let compute = float(dw.dtype)?;
    let job = ConvolutionJob::new(launch, conv, [x, dw, dy])?;
    let (part, parts) = parts(gpu, &job);
    if parts * job.groups > GRID {
        return None;
    }
    let mut args = Args::new(job.wide);
    args.word(address(&dy)).word(address(&x)).word(scratch).index(part);
    job.put(conv, 0, &mut args)?;
    let grid = ConvolutionJob::grid(job.outputs, job.inputs * job.taps, parts * job.groups)?;
    let first = key(ConvForm::ByWeight, compute, [dy.dtype, x.dtype], job.wide);
    let mut plan = Plan::of(Step { key: first, grid, block: [THREADS, 1, 1], shared: 0, args })?;
    let walk = Walk::of([Some(dw.layout)], Order::Rows)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&dw)).word(scratch).index(parts).walk(&walk);
    let join = per_element(key(ConvForm::Join, compute, [dw.dtype], wide), walk.count(), args)?;
    plan.steps.extend(join.steps);
    Some(plan)
}

pub(crate) fn scratch_bytes(launch: &Launch, gpu: &Gpu, conv: &Conv) -> usize {
    let job = || -> Option<usize> {
        let (dy, x, dw) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
        let job = ConvolutionJob::new(launch, conv, [x, dw, dy])?;
        let (_, parts) = parts(gpu, &job);
        Some(parts * dw.layout.numel() * compute_size(Compute::of(dw.dtype)))
    };
    job().unwrap_or(0)
}

/// Places of the output that are summed together, and how many parts there are.
fn parts(gpu: &Gpu, job: &ConvolutionJob) -> (usize, usize) {
    let tiles = job.outputs.div_ceil(TILE) * (job.inputs * job.taps).div_ceil(TILE) * job.groups;
    let wanted = (gpu.multiprocessors as usize * 2).div_ceil(tiles.max(1));
    let pixels = ConvolutionJob::pixels(&job.y);
    let parts = wanted.min(pixels / 256).clamp(1, 64.min(GRID / job.groups.max(1)).max(1));
    let part = pixels.div_ceil(parts).max(1);
    (part, pixels.div_ceil(part).max(1))
}
