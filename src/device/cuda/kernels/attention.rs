//! `Attention` and its gradient.

use crate::base::DType;
use crate::device::kernel::{Launch, View};

use super::args::Args;
use super::cases::{Cases, floats};
use super::compute::Compute;
use super::form::forms;
use super::operands::{address, blocks, input, is_apart, key, output};
use super::plan::{Plan, Step};
use super::recipe::{BOTH, OFF, ON, Recipe, RecipeParts, WALK, flag, row};
use super::walk::{Order, Walk};

const ATTENTION: RecipeParts = &[WALK, "tensor_core", "attention"];

forms! {
    /// Attention whose scores stay on the chip. `large`: rows of 128 halves, else of 64.
    AttentionForm(types) {
        Forward { large: bool in BOTH } => attending("attention", large, FORWARD).and("FORWARD", ON), halves();
        Deltas => attending("attention_deltas", false, BACKWARD).and("DELTAS", ON), halves();
        ByKeys { large: bool in BOTH } =>
            attending("attention_grad_keys", large, cut_back(large)).and("BY_KEYS", ON), halves();
        ByQueries { large: bool in BOTH } =>
            attending("attention_grad_queries", large, cut_back(large)).and("BY_KEYS", OFF), halves();
    }
}

/// Warps of a block, rows that they have together, and rows of a tile.
type TileCut = [usize; 3];
const FORWARD: TileCut = [4, 128, 64];
const BACKWARD: TileCut = [8, 128, 64];

fn cut_back(large: bool) -> TileCut {
    let [warps, rows, tile] = BACKWARD;
    [warps, rows, if large { tile / 2 } else { tile }]
}

fn halves() -> Cases {
    floats(|d| [d]).only(is_half).wide(|_| true)
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}

fn attending(name: &str, large: bool, [warps, _, tile]: TileCut) -> Recipe {
    let name = format!("{name}{}", if large { "_128" } else { "" });
    row(name, 4, ATTENTION, [("WIDTH", if large { "128" } else { "64" }), ("HOLD", flag(!large))])
        .number("WARPS", warps as u8)
        .number("TILE", tile as u8)
}

/// What all launches of an attention share.
struct AttentionShape<'a> {
    queries: usize,
    keys: usize,
    width: usize,
    batch: usize,
    /// Of queries, keys, values and the output or its gradient.
    views: [View<'a>; 4],
    walk: Walk<4>,
}

impl<'a> AttentionShape<'a> {
    fn new(views: [View<'a>; 4]) -> Option<AttentionShape<'a>> {
        let [q, k, v, y] = &views;
        let sizes = |view: &View<'a>| match view.layout.shape() {
            [others @ .., rows, width] => Some((others.to_vec(), *rows, *width)),
            _ => None,
        };
        let ((others, queries, width), (b, keys, e)) = (sizes(q)?, sizes(k)?);
        if (&b, e) != (&others, width)
            || sizes(v)? != (b, keys, width)
            || sizes(y)? != (others.clone(), queries, width)
            || width > 128
            || !views.iter().all(|view| view.dtype == q.dtype && in_chunks(view))
        {
            return None;
        }
        let steps = |d: usize| {
            std::array::from_fn(|i| {
                views.get(i).map_or(0, |v| v.layout.strides().get(d).copied().unwrap_or(0))
            })
        };
        let walk = Walk::new(others.iter().enumerate().map(|(d, &n)| (n, steps(d))), Order::Rows)?;
        let fits = [queries, keys].iter().all(|&n| n > 0 && n < i32::MAX as usize / 2);
        (fits && is_half(q.dtype)).then_some(AttentionShape {
            queries,
            keys,
            width,
            batch: others.iter().product(),
            views,
            walk,
        })
    }

    fn large(&self) -> bool {
        self.width > 64
    }

    /// Puts the sizes.
    fn sizes(&self, args: &mut Args, causal: bool, scale: f64) {
        args.int(self.queries as i32).int(self.keys as i32).int(self.width as i32).int(i32::from(causal));
        args.parameter(Compute::F32, scale);
    }

    /// Puts the steps from row to row, and the walk.
    fn steps(&self, args: &mut Args, order: [usize; 4]) {
        for i in order {
            args.step(self.views.get(i).map_or(0, row_step));
        }
        args.walk(&self.walk);
    }

    fn step(
        &self,
        form: AttentionForm,
        rows: usize,
        [warps, each, tile]: TileCut,
        held: usize,
        args: Args,
    ) -> Option<Step> {
        let dtype = self.views.first()?.dtype;
        let width = if self.large() { 128 } else { 64 };
        // `held` matrices of the rows, and two of a tile twice, with two numbers for each of its rows.
        let shared = (held * each + 4 * tile) * width * 2 + (held - 1) * 4 * tile * 4;
        Some(Step {
            key: key(form, Compute::F32, [dtype], true),
            grid: [blocks(rows.div_ceil(each).checked_mul(self.batch)?, 1)?, 1, 1],
            block: [warps as u32 * 32, 1, 1],
            shared: shared as u32,
            args,
        })
    }
}

fn row_step(view: &View) -> isize {
    view.layout.strides().iter().rev().nth(1).copied().unwrap_or(0)
}

/// Rows are in memory in a row, 16 bytes aligned each.
fn in_chunks(view: &View) -> bool {
    let shape = view.layout.shape();
    let (last, others) = match view.layout.strides() {
        [others @ .., last] => (*last, others),
        _ => return false,
    };
    let whole = others.iter().zip(shape).all(|(step, &n)| n == 1 || step % 8 == 0);
    last == 1 && whole && shape.last().is_some_and(|n| n % 8 == 0) && address(view).is_multiple_of(16)
}

pub(super) fn forward(launch: &Launch, causal: bool, scale: f64) -> Option<Plan> {
    let (q, k, v) = (input(launch, 0)?, input(launch, 1)?, input(launch, 2)?);
    let (y, lse) = (output(launch, 0)?, output(launch, 1)?);
    let shape = AttentionShape::new([q, k, v, y])?;
    if !is_numbers(&lse, &shape) || !is_apart(launch, false) {
        return None;
    }
    let mut args = Args::new(true);
    args.word(address(&y)).word(address(&lse)).word(address(&q)).word(address(&k)).word(address(&v));
    shape.sizes(&mut args, causal, scale);
    shape.steps(&mut args, [3, 0, 1, 2]);
    Plan::of(shape.step(AttentionForm::Forward { large: shape.large() }, shape.queries, FORWARD, 1, args)?)
}

/// A float32 for each query, in order.
fn is_numbers(view: &View, shape: &AttentionShape) -> bool {
    let whole = view.layout.is_contiguous() && view.layout.numel() == shape.batch * shape.queries;
    view.dtype == DType::Float32 && whole
}

/// Bytes of the rows' products with their gradients.
pub(super) fn scratch_bytes(launch: &Launch) -> usize {
    input(launch, 5).map_or(0, |lse| lse.layout.numel() * 4)
}

pub(super) fn backward(launch: &Launch, scratch: u64, causal: bool, scale: f64) -> Option<Plan> {
    let [dy, q, k, v, y, lse] = [0, 1, 2, 3, 4, 5].map(|i| input(launch, i));
    let (dy, q, k, v, y, lse) = (dy?, q?, k?, v?, y?, lse?);
    let [dq, dk, dv] = [0, 1, 2].map(|i| output(launch, i));
    let (dq, dk, dv) = (dq?, dk?, dv?);
    let shape = AttentionShape::new([q, k, v, dy])?;
    let plain = |view: &View, like: &View| {
        view.dtype == like.dtype && view.layout.is_contiguous() && view.layout.shape() == like.layout.shape()
    };
    let all_plain = plain(&dq, &q) && plain(&dk, &k) && plain(&dv, &v) && plain(&y, &q);
    if !all_plain || !is_numbers(&lse, &shape) || !is_apart(launch, false) {
        return None;
    }
    let (rows, large) = (shape.batch * shape.queries, shape.large());
    let mut args = Args::new(true);
    args.word(scratch).word(address(&dy)).word(address(&y)).int(shape.queries as i32).int(shape.width as i32);
    args.index(rows).step(row_step(&dy)).walk(&shape.walk);
    let deltas = Step {
        key: key(AttentionForm::Deltas, Compute::F32, [q.dtype], true),
        grid: [blocks(rows, 8)?, 1, 1],
        block: [256, 1, 1],
        shared: 0,
        args,
    };
    let pass = |form, to: [u64; 2], rows| {
        let mut args = Args::new(true);
        args.word(to[0]).word(to[1]);
        for view in [&dy, &q, &k, &v, &lse] {
            args.word(address(view));
        }
        args.word(scratch);
        shape.sizes(&mut args, causal, scale);
        shape.steps(&mut args, [3, 0, 1, 2]);
        shape.step(form, rows, cut_back(large), 2, args)
    };
    let mut plan = Plan::of(deltas)?;
    plan.steps.push(pass(AttentionForm::ByKeys { large }, [address(&dk), address(&dv)], shape.keys)?);
    plan.steps.push(pass(AttentionForm::ByQueries { large }, [address(&dq), 0], shape.queries)?);
    Some(plan)
}
