//! `Reduce` and `ArgReduce`.

use crate::base::DType;
use crate::device::kernel::{Launch, ReduceOp, View};

use super::args::{Args, compute_size};
use super::cases::{Cases, all, is_its_compute};
use super::compute::Compute;
use super::form::{Field, forms};
use super::key::Key;
use super::operands::{address, blocks, input, is_apart, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, GROUP, ON, RecipeParts, WALK, ending, flag, row};
use super::walk::{Order, Walk};

const REDUCE: RecipeParts = &[WALK, GROUP, "reduce"];

forms! {
    /// Lines that are folded into one value each. `across` forms work where neighbouring lines are nearer than
    /// neighbours on a line.
    ReduceForm(types) {
        Line { fold: Fold in Fold::ALL, across: bool in BOTH } =>
            row(ending(&fold.entry(), "_across", across), 3, REDUCE, fold.defines(across)),
            fold.cases().and_wide(|d| !across && is_its_compute(d));
        /// Joins what parts of lines were folded into.
        Join { fold: Fold in Fold::ALL } =>
            row(ending(&fold.entry(), "_join", true), 3, REDUCE, fold.defines(false)).and("JOIN", ON),
            fold.cases();
    }
}

/// How values are folded into one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Fold {
    Sum,
    Prod,
    Max,
    Min,
    All,
    Any,
    Norm,
    Var,
    LogSumExp,
    ArgMax,
    ArgMin,
}

impl Field for Fold {
    fn code(self) -> u8 {
        self as u8
    }

    fn of(code: u8) -> Fold {
        Fold::ALL.get(usize::from(code)).copied().unwrap_or(Fold::Sum)
    }
}

impl Fold {
    const ALL: [Fold; 11] = {
        use Fold::*;
        [Sum, Prod, Max, Min, All, Any, Norm, Var, LogSumExp, ArgMax, ArgMin]
    };

    /// Its name in that of the kernel, and what the text calls it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Fold::Sum => ("sum", "FOLD_SUM"),
            Fold::Prod => ("prod", "FOLD_PROD"),
            Fold::Max => ("max", "FOLD_MAX"),
            Fold::Min => ("min", "FOLD_MIN"),
            Fold::All => ("all", "FOLD_ALL"),
            Fold::Any => ("any", "FOLD_ANY"),
            Fold::Norm => ("norm", "FOLD_NORM"),
            Fold::Var => ("var", "FOLD_VAR"),
            Fold::LogSumExp => ("logsumexp", "FOLD_LOG_SUM_EXP"),
            Fold::ArgMax => ("argmax", "FOLD_ARG"),
            Fold::ArgMin => ("argmin", "FOLD_ARG"),
        }
    }

    fn entry(self) -> String {
        format!("reduce_{}", self.names().0)
    }

    fn defines(self, across: bool) -> [(&'static str, &'static str); 3] {
        [(self.names().1, ON), ("ARG_MAX", flag(self == Fold::ArgMax)), ("ACROSS", flag(across))]
    }

    /// Dtypes of what is folded and of what it becomes.
    fn cases(self) -> Cases {
        let cases = all(|d| match self {
            Fold::ArgMax | Fold::ArgMin => vec![d, d, DType::Int64],
            Fold::All | Fold::Any => vec![d, DType::Bool],
            Fold::Sum | Fold::Prod if !d.is_float() => vec![d, DType::Int64],
            _ => vec![d, d],
        });
        cases.only(|d| d.is_float() || self.has_integer_form())
    }

    fn has_integer_form(self) -> bool {
        !matches!(self, Fold::Norm | Fold::Var | Fold::LogSumExp)
    }

    /// Bytes of what a part of a line is folded into.
    fn size(self, compute: Compute) -> usize {
        let t = compute_size(compute);
        match self {
            Fold::All | Fold::Any => 4,
            Fold::Var => 3 * t,
            Fold::LogSumExp => 2 * t,
            Fold::ArgMax | Fold::ArgMin => t + 8,
            _ => t,
        }
    }
}

/// What is folded, and two numbers that make the result of it.
#[derive(Clone, Copy)]
pub(crate) struct ReduceJob {
    fold: Fold,
    op: Option<ReduceOp>,
}

impl ReduceJob {
    pub(super) fn of(op: ReduceOp) -> ReduceJob {
        let fold = match op {
            ReduceOp::Sum { .. } => Fold::Sum,
            ReduceOp::Prod => Fold::Prod,
            ReduceOp::Max => Fold::Max,
            ReduceOp::Min => Fold::Min,
            ReduceOp::All => Fold::All,
            ReduceOp::Any => Fold::Any,
            ReduceOp::Norm2 => Fold::Norm,
            ReduceOp::Var { .. } => Fold::Var,
            ReduceOp::LogSumExp => Fold::LogSumExp,
        };
        ReduceJob { fold, op: Some(op) }
    }

    /// The place of the largest or smallest.
    pub(super) fn place(max: bool) -> ReduceJob {
        ReduceJob { fold: if max { Fold::ArgMax } else { Fold::ArgMin }, op: None }
    }

    /// What the largest of nothing is, nobody knows.
    fn needs_values(self) -> bool {
        matches!(self.fold, Fold::Max | Fold::Min | Fold::ArgMax | Fold::ArgMin)
    }

    /// The compute type: whether values are true is asked of the input, before a conversion could make them 0.
    fn compute(self, x: &View, y: &View) -> Compute {
        match self.fold {
            Fold::All | Fold::Any | Fold::ArgMax | Fold::ArgMin => Compute::of(x.dtype),
            _ => Compute::of(y.dtype),
        }
    }

    fn parameters(self, count: usize) -> [f64; 2] {
        match self.op {
            Some(ReduceOp::Sum { scale }) => [scale, 0.0],
            Some(ReduceOp::Var { correction, root }) => {
                [(count as f64 - correction).max(0.0), f64::from(u8::from(root))]
            }
            _ => [0.0; 2],
        }
    }
}

pub(crate) fn scratch_bytes(launch: &Launch, gpu: &Gpu, job: ReduceJob, dims: u64) -> usize {
    let (Some(shape), Some(x), Some(y)) =
        (ReduceShape::new(launch, gpu, dims, job), input(launch, 0), output(launch, 0))
    else {
        return 0;
    };
    if shape.parts == 1 { 0 } else { shape.kept.count() * shape.parts * job.fold.size(job.compute(&x, &y)) }
}

pub(crate) fn plan(launch: &Launch, gpu: &Gpu, scratch: u64, job: ReduceJob, dims: u64) -> Option<Plan> {
    let (x, y) = (input(launch, 0)?, output(launch, 0)?);
    let compute = job.compute(&x, &y);
    let shape = ReduceShape::new(launch, gpu, dims, job)?;
    if compute == Compute::I64 && !job.fold.has_integer_form()
        || job.needs_values() && shape.reduced.count() == 0
        || !is_apart(launch, false)
    {
        return None;
    }
    let wide = shape.kept.is_wide() || shape.reduced.is_wide();
    let [p, q] = job.parameters(shape.reduced.count());
    let name = |form: ReduceForm| -> Key {
        match output(launch, 1) {
            Some(i) if job.op.is_none() => key(form, compute, [x.dtype, y.dtype, i.dtype], wide),
            _ => key(form, compute, [x.dtype, y.dtype], wide),
        }
    };
    let to = |args: &mut Args| -> Option<()> {
        args.word(address(&y));
        if job.op.is_none() {
            args.word(address(&output(launch, 1)?));
        }
        Some(())
    };
    let mut args = Args::new(wide);
    args.word(address(&x));
    to(&mut args)?;
    args.word(scratch).index(shape.part).double(p).double(q).walk(&shape.kept).walk(&shape.reduced);
    let key = name(ReduceForm::Line { fold: job.fold, across: shape.across });
    let grid = [blocks(shape.kept.count(), shape.lines)?, u32::try_from(shape.parts).ok()?, 1];
    let mut plan = Plan::of(Step { key, grid, block: shape.block, shared: 0, args })?;
    if shape.parts > 1 {
        let mut args = Args::new(wide);
        to(&mut args)?;
        args.word(scratch).index(shape.parts).double(p).double(q).walk(&shape.kept);
        let key = name(ReduceForm::Join { fold: job.fold });
        let (block, lines) = along(shape.parts, 1);
        let grid = [blocks(shape.kept.count(), lines)?, 1, 1];
        plan.steps.push(Step { key, grid, block, shared: 0, args });
    }
    Some(plan)
}

/// How a reduction's work is cut: by the sizes and the device alone, so that sums come out alike each time.
struct ReduceShape {
    kept: Walk<3>,
    reduced: Walk<1>,
    across: bool,
    block: [u32; 3],
    /// Outputs of a block.
    lines: usize,
    /// Values of a part of a line, and how many parts there are.
    part: usize,
    parts: usize,
}

impl ReduceShape {
    fn new(launch: &Launch, gpu: &Gpu, dims: u64, job: ReduceJob) -> Option<ReduceShape> {
        let (x, y) = (input(launch, 0)?, output(launch, 0)?);
        let shape = x.layout.shape();
        let reduced = |d: usize| d < 64 && dims >> d & 1 == 1;
        let fits = |v: &View| {
            let sizes = v.layout.shape();
            let alike = |(d, (&n, &m)): (usize, (&usize, &usize))| m == if reduced(d) { 1 } else { n };
            sizes.len() == shape.len() && shape.iter().zip(sizes).enumerate().all(alike)
        };
        if !launch.outputs.iter().all(fits) {
            return None;
        }
        let places = output(launch, 1);
        let step =
            |v: Option<&View>, d: usize| v.and_then(|v| v.layout.strides().get(d)).copied().unwrap_or(0);
        let all = || shape.iter().enumerate();
        let kept = all().filter(|&(d, _)| !reduced(d));
        let kept = kept.map(|(d, &n)| (n, [step(Some(&x), d), step(Some(&y), d), step(places.as_ref(), d)]));
        let kept = Walk::new(kept, Order::Memory)?;
        let gone = all().filter(|&(d, _)| reduced(d)).map(|(d, &n)| (n, [step(Some(&x), d)]));
        let reduced = Walk::new(gone, Order::Memory)?;
        Some(ReduceShape::cut(kept, reduced, gpu, job))
    }

    fn cut(kept: Walk<3>, reduced: Walk<1>, gpu: &Gpu, job: ReduceJob) -> ReduceShape {
        let (count, n) = (kept.count(), reduced.count());
        let near = kept.step(0, 0).unsigned_abs();
        let across =
            kept.rank() > 0 && reduced.rank() > 0 && near != 0 && near < reduced.step(0, 0).unsigned_abs();
        let (block, lines) = if across { self::across(gpu, count, n) } else { along(n, 4) };
        // Where lines are many, joining their lanes costs more than a few more values to each.
        let (block, lines) =
            if !across && job.op.is_none() && count >= gpu.multiprocessors as usize * 16 && block[0] > 128 {
                ([128, 2, 1], 2)
            } else {
                (block, lines)
            };
        let lanes = block.get(usize::from(across)).map_or(1, |&l| l as usize);
        // Enough that the slowest multiprocessor keeps nobody waiting.
        let wanted = gpu.multiprocessors as usize * 16;
        let most = (n / (lanes * 8)).clamp(1, 4096);
        let parts = (wanted / count.div_ceil(lines).max(1)).clamp(1, most);
        // Parts begin where 16 bytes do, if lines do.
        let part = if parts > 1 { n.div_ceil(parts).next_multiple_of(16) } else { n.max(1) };
        ReduceShape { parts: n.div_ceil(part).max(1), kept, reduced, across, block, lines, part }
    }
}

/// Blocks whose threads work along lines of `n` elements, about `each` to a thread, and the lines of a block.
pub(super) fn along(n: usize, each: usize) -> ([u32; 3], usize) {
    let lanes = n.div_ceil(each).next_power_of_two().clamp(32, if each > 4 { 1024 } else { 512 });
    let lines = (256 / lanes).max(1);
    ([lanes as u32, lines as u32, 1], lines)
}

/// Blocks for lines side by side: 32 lines, and as many threads to a line as fill the device.
pub(super) fn across(gpu: &Gpu, lines: usize, n: usize) -> ([u32; 3], usize) {
    let threads = gpu.multiprocessors as usize * gpu.threads_per_multiprocessor as usize;
    let wanted = (threads / lines.max(1)).max(4).next_power_of_two();
    let most = n.div_ceil(4).next_power_of_two().min(32);
    ([32, wanted.min(most) as u32, 1], 32)
}
