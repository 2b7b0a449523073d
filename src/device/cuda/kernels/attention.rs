//! `Attention` and its gradient.

mod shape;
mod wgmma;

use smallvec::smallvec;

use crate::base::DType;
use crate::device::kernel::{Launch, View};

use super::args::Args;
use super::cases::{Cases, floats};
use super::compute::Compute;
use super::form::forms;
use super::operands::{address, blocks, input, is_apart, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, OFF, ON, Recipe, RecipeParts, WALK, flag, row};
use shape::{AttentionShape, is_half, row_step};

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
        WgmmaForward { large: bool in BOTH } => wgmma::forward_recipe(large), halves();
        WgmmaByKeys { large: bool in BOTH } => wgmma::backward_recipe(large, true), halves();
        WgmmaByQueries { large: bool in BOTH } => wgmma::backward_recipe(large, false), halves();
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

fn attending(name: &str, large: bool, [warps, _, tile]: TileCut) -> Recipe {
    let name = format!("{name}{}", if large { "_128" } else { "" });
    row(name, 4, ATTENTION, [("WIDTH", if large { "128" } else { "64" }), ("HOLD", flag(!large))])
        .number("WARPS", warps as u8)
        .number("TILE", tile as u8)
}

impl AttentionShape<'_> {
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

pub(super) fn forward(launch: &Launch, gpu: &Gpu, causal: bool, scale: f64) -> Option<Plan> {
    let (q, k, v) = (input(launch, 0)?, input(launch, 1)?, input(launch, 2)?);
    let (y, lse) = (output(launch, 0)?, output(launch, 1)?);
    let shape = AttentionShape::new([q, k, v, y])?;
    if !is_numbers(&lse, &shape) || !is_apart(launch, false) {
        return None;
    }
    if wgmma::serves(gpu, &shape)
        && let Some(step) = wgmma::forward(
            AttentionForm::WgmmaForward { large: shape.large() },
            &shape,
            [&y, &lse],
            causal,
            scale,
        )
    {
        return Plan::of(step);
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

pub(super) fn backward(launch: &Launch, gpu: &Gpu, scratch: u64, causal: bool, scale: f64) -> Option<Plan> {
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
    let grads = [[address(&dk), address(&dv)], [address(&dq), 0]];
    if wgmma::serves(gpu, &shape) {
        let known = [address(&lse), scratch];
        let pass = |form, by_keys, to| wgmma::backward(form, &shape, by_keys, to, known, causal, scale);
        let by_keys = pass(AttentionForm::WgmmaByKeys { large }, true, grads[0]);
        let by_queries = pass(AttentionForm::WgmmaByQueries { large }, false, grads[1]);
        if let (Some(by_keys), Some(by_queries)) = (by_keys, by_queries) {
            return Some(Plan { steps: smallvec![deltas, by_keys, by_queries] });
        }
    }
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
    plan.steps.push(pass(AttentionForm::ByKeys { large }, grads[0], shape.keys)?);
    plan.steps.push(pass(AttentionForm::ByQueries { large }, grads[1], shape.queries)?);
    Some(plan)
}
