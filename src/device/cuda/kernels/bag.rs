//! `EmbeddingBag`.

use crate::base::DType;
use crate::device::kernel::{Bag, Launch, View};

use super::args::Args;
use super::cases::floats;
use super::form::forms;
use super::operands::{address, float, input, is_apart, is_far, key, output, per_element};
use super::plan::Plan;
use super::recipe::{BOTH, RecipeParts, WALK, ending, flag, row};

const BAG: RecipeParts = &[WALK, "bag"];

forms! {
    /// Rows of a table combined, and which of them is the largest.
    BagForm(types) {
        Rows { largest: bool in BOTH } =>
            row(ending("embedding_bag", "_max", largest), 5, BAG, [("LARGEST", flag(largest))]),
            floats(|d| [d, d, DType::Int64, DType::Int64, d]);
    }
}

pub(super) fn plan(launch: &Launch, mode: Bag, padding: i64) -> Option<Plan> {
    let (y, table, index, starts) =
        (output(launch, 0)?, input(launch, 0)?, input(launch, 1)?, input(launch, 2)?);
    let (compute, weight, places) = (float(y.dtype)?, input(launch, 3), output(launch, 1));
    let (&[rows, width], &[row_step, column_step]) = (table.layout.shape(), table.layout.strides()) else {
        return None;
    };
    let ((total, index_step), (slots, start_step)) = (vector(&index)?, vector(&starts)?);
    let (weights, weight_step) = weight.as_ref().map_or(Some((total, 0)), vector)?;
    let bags = y.layout.shape().first().copied()?;
    let plain = |view: &View| view.layout.shape() == [bags, width] && view.layout.is_contiguous();
    let fits = plain(&y) && places.as_ref().is_none_or(plain) && bags <= slots && weights == total;
    if !fits || !is_apart(launch, false) || places.is_some() != (mode == Bag::Max) {
        return None;
    }
    let layouts = [table.layout, index.layout, starts.layout, y.layout];
    let wide = is_far(&layouts) || weight.as_ref().is_some_and(|w| is_far(&[w.layout]));
    let mut args = Args::new(wide);
    args.word(address(&y)).word(places.as_ref().map_or(0, address));
    args.word(address(&table)).word(address(&index)).word(address(&starts));
    args.word(weight.as_ref().map_or(0, address));
    args.index(bags * width).index(slots).index(width);
    args.long(rows as i64).long(total as i64).long(padding);
    [row_step, column_step, index_step, start_step, weight_step].into_iter().for_each(|step| {
        args.step(step);
    });
    args.int(i32::from(mode == Bag::Mean));
    let types = [y.dtype, table.dtype, index.dtype, starts.dtype, weight.map_or(table.dtype, |w| w.dtype)];
    let form = BagForm::Rows { largest: mode == Bag::Max };
    per_element(key(form, compute, types, wide), bags * width, args)
}

/// How many elements a vector has, and the step between them.
fn vector(view: &View) -> Option<(usize, isize)> {
    match (view.layout.shape(), view.layout.strides()) {
        (&[size], &[step]) => Some((size, step)),
        _ => None,
    }
}
