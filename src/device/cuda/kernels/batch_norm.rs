//! `BatchNorm` and its gradient.

use crate::device::kernel::{Launch, View};

use super::args::{Args, compute_size};
use super::cases::floats;
use super::compute::Compute;
use super::form::forms;
use super::operands::{address, blocks, float, input, is_apart, is_far, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, GROUP, ON, RecipeParts, ending, flag, row};

const BATCH_NORM: RecipeParts = &[GROUP, "batch_norm"];

forms! {
    /// What is done with channels. `across` forms work where neighbouring channels are nearer than a channel's values.
    BatchNormForm(types) {
        /// What the values of parts come to.
        Statistics { across: bool in BOTH } =>
            row(ending("batch_norm_statistics", "_across", across), 1, BATCH_NORM, [
                ("STATISTICS", ON),
                ("ACROSS", flag(across)),
            ]),
            floats(|d| [d]);
        Normalise { across: bool in BOTH } =>
            row(ending("batch_norm", "_across", across), 5, BATCH_NORM, [
                ("NORMALISE", ON),
                ("ACROSS", flag(across)),
            ]),
            floats(|d| [d; 5]);
        /// What the gradients of parts come to.
        Slopes { across: bool in BOTH } =>
            row(ending("batch_norm_slopes", "_across", across), 1, BATCH_NORM, [
                ("SLOPES", ON),
                ("ACROSS", flag(across)),
            ]),
            floats(|d| [d]);
        ByInput { across: bool in BOTH } =>
            row(ending("batch_norm_grad", "_across", across), 2, BATCH_NORM, [
                ("BY_INPUT", ON),
                ("ACROSS", flag(across)),
            ]),
            floats(|d| [d; 2]);
    }
}

/// Threads of a block.
const THREADS: usize = 512;

/// Each channel less its mean, over the root of its variance plus `eps`, times its weight, plus its bias. The running
/// statistics, where they are among the outputs, follow by `momentum`.
pub(super) fn forward(launch: &Launch, gpu: &Gpu, scratch: u64, eps: f64, momentum: f64) -> Option<Plan> {
    let (y, x) = (output(launch, 0)?, input(launch, 0)?);
    let compute = float(y.dtype)?;
    let cut = ChannelParts::of(&x, gpu)?;
    if x.dtype != y.dtype || x.layout.shape() != y.layout.shape() || !is_apart(launch, true) {
        return None;
    }
    let (mean, rstd) = (output(launch, 1), output(launch, 2));
    let (mean, rstd) = (statistic(mean, compute, &cut)?, statistic(rstd, compute, &cut)?);
    let parameters = [input(launch, 1), input(launch, 2), output(launch, 3), output(launch, 4)];
    let wide = is_far(&[x.layout, y.layout]);

    let mut args = Args::new(wide);
    args.word(scratch).word(address(&x));
    cut.counts(&mut args);
    channels(&x, &mut args)?;
    let first = cut.step(BatchNormForm::Statistics { across: cut.across }, compute, [x.dtype], wide, args)?;

    let mut args = Args::new(wide);
    args.word(address(&y)).word(address(&x)).word(scratch).word(mean).word(rstd);
    let mut steps = [0; 4];
    let mut dtypes = [x.dtype; 5];
    for ((parameter, step), dtype) in parameters.iter().zip(&mut steps).zip(dtypes.iter_mut().skip(1)) {
        let (at, apart) = vector(parameter.as_ref(), &cut)?;
        args.word(at);
        *step = apart;
        *dtype = parameter.as_ref().map_or(x.dtype, |v| v.dtype);
    }
    cut.counts(&mut args);
    args.index(cut.pieces);
    steps.into_iter().for_each(|step| {
        args.step(step);
    });
    args.parameter(compute, eps).parameter(compute, momentum);
    channels(&y, &mut args)?;
    channels(&x, &mut args)?;
    let second = cut.step(BatchNormForm::Normalise { across: cut.across }, compute, dtypes, wide, args)?;
    Some(Plan { steps: [first, second].into_iter().collect() })
}

/// The gradients of [`forward`] by its input and, where asked for, its weight and bias.
pub(super) fn backward(launch: &Launch, gpu: &Gpu, scratch: u64, training: bool) -> Option<Plan> {
    let (dx, dy, x) = (output(launch, 0)?, input(launch, 0)?, input(launch, 1)?);
    let compute = float(dx.dtype)?;
    let cut = ChannelParts::of(&x, gpu)?;
    let alike = |v: &View| v.dtype == x.dtype && v.layout.shape() == x.layout.shape();
    if !alike(&dx) || !alike(&dy) || !is_apart(launch, true) {
        return None;
    }
    let (mean, rstd) = (input(launch, 2), input(launch, 3));
    let (mean, rstd) = (statistic(mean, compute, &cut)?, statistic(rstd, compute, &cut)?);
    let (weight, dweight, dbias) = (input(launch, 4), output(launch, 1), output(launch, 2));
    let parameter = weight.or(dweight).map_or(x.dtype, |v| v.dtype);
    if [dweight, dbias].iter().flatten().any(|v| v.dtype != parameter) {
        return None;
    }
    let wide = is_far(&[x.layout, dy.layout, dx.layout]);

    let mut args = Args::new(wide);
    args.word(scratch).word(address(&dy)).word(address(&x)).word(mean);
    cut.counts(&mut args);
    channels(&dy, &mut args)?;
    channels(&x, &mut args)?;
    let first = cut.step(BatchNormForm::Slopes { across: cut.across }, compute, [x.dtype], wide, args)?;

    let [weight, dweight, dbias] = [weight, dweight, dbias].map(|v| vector(v.as_ref(), &cut));
    let (weight, dweight, dbias) = (weight?, dweight?, dbias?);
    let mut args = Args::new(wide);
    args.word(address(&dx)).word(dweight.0).word(dbias.0).word(address(&dy)).word(address(&x));
    args.word(scratch).word(mean).word(rstd).word(weight.0);
    cut.counts(&mut args);
    args.index(cut.pieces).step(weight.1).step(dweight.1).step(dbias.1);
    args.parameter(compute, f64::from(u8::from(training)));
    for view in [&dx, &dy, &x] {
        channels(view, &mut args)?;
    }
    let dtypes = [x.dtype, parameter];
    let second = cut.step(BatchNormForm::ByInput { across: cut.across }, compute, dtypes, wide, args)?;
    Some(Plan { steps: [first, second].into_iter().collect() })
}

/// Of what the parts of all channels come to, in batches like input `of`.
pub(crate) fn scratch_bytes(launch: &Launch, gpu: &Gpu, of: usize) -> usize {
    let Some((x, cut)) = input(launch, of).and_then(|x| Some((x, ChannelParts::of(&x, gpu)?))) else {
        return 0;
    };
    3 * cut.pieces * cut.channels * compute_size(Compute::of(x.dtype))
}

/// How channels are cut into parts.
struct ChannelParts {
    channels: usize,
    /// Values of a channel, of which `size` follow one another.
    count: usize,
    size: usize,
    /// Values of a part, and parts of a channel.
    each: usize,
    pieces: usize,
    across: bool,
}

impl ChannelParts {
    fn of(x: &View, gpu: &Gpu) -> Option<ChannelParts> {
        let (&[n, channels, size], &[outer, channel, inner]) = (x.layout.shape(), x.layout.strides()) else {
            return None;
        };
        let count = n.checked_mul(size)?;
        let along = if size > 1 { inner } else { outer };
        let across = channels > 1 && channel.unsigned_abs() < along.unsigned_abs();
        // Blocks beside one another, and how many the device runs at a time.
        let lines = if across { channels.div_ceil(32) } else { channels }.max(1);
        let room = (gpu.multiprocessors * gpu.threads_per_multiprocessor) as usize / THREADS;
        let fitting = room / lines;
        // A rest of the device that stays idle is small beside it, or beside many rounds.
        let wanted = if fitting * lines * 8 >= room * 7 { fitting } else { (4 * room).div_ceil(lines) };
        // Every thread has some values to work on, and whole packs of them.
        let values = if across { THREADS / 32 } else { THREADS } * 8;
        let pieces = wanted.clamp(1, count.div_ceil(values).clamp(1, 1024));
        let each = count.div_ceil(pieces).next_multiple_of(16);
        Some(ChannelParts { channels, count, size, each, pieces: count.div_ceil(each).max(1), across })
    }

    fn counts(&self, args: &mut Args) {
        args.index(self.channels).index(self.count).index(self.size).index(self.each);
    }

    fn step<const N: usize>(
        &self,
        form: BatchNormForm,
        compute: Compute,
        dtypes: [crate::base::DType; N],
        wide: bool,
        args: Args,
    ) -> Option<Step> {
        let (block, each) = if self.across {
            ([32, (THREADS / 32) as u32, 1], 32)
        } else {
            ([self.each.div_ceil(4).next_power_of_two().clamp(32, THREADS) as u32, 1, 1], 1)
        };
        let grid = [blocks(self.channels, each)?, u32::try_from(self.pieces).ok()?, 1];
        Some(Step { key: key(form, compute, dtypes, wide), grid, block, shared: 0, args })
    }
}

/// Where the values of a batch's channels lie, as a struct.
fn channels(view: &View, args: &mut Args) -> Option<()> {
    let &[outer, channel, inner] = view.layout.strides() else { return None };
    args.structure();
    for step in [outer, channel, inner] {
        args.member(step as u64);
    }
    Some(())
}

/// The address of statistics of all channels, which lie one after another.
fn statistic(view: Option<View>, compute: Compute, cut: &ChannelParts) -> Option<u64> {
    let view = view?;
    let packed = view.layout.shape() == [cut.channels] && view.layout.is_contiguous();
    (packed && view.dtype == compute.dtype()).then(|| address(&view))
}

/// A number for each channel: the address of the first and the step to the next; of none 0.
fn vector(view: Option<&View>, cut: &ChannelParts) -> Option<(u64, isize)> {
    let Some(view) = view else { return Some((0, 0)) };
    match (view.layout.shape(), view.layout.strides()) {
        (&[size], &[step]) if size == cut.channels => Some((address(view), step)),
        _ => None,
    }
}
