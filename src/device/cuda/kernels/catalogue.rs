//! Every kernel that there is, so that a machine with a compiler alone can say whether all of them compile.

use crate::base::DType;
use crate::device::scalar::{MapOp, Writes};

use super::key::{Compute, Draw, Fold, Form, Key, SLOTS, Slot};
use super::map::is_defined;

const FLOATS: [DType; 4] = [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16];

impl Key {
    /// Each function, fold and form, for each dtype that has it; of mixtures of dtypes one of each kind.
    pub fn every() -> impl Iterator<Item = Key> {
        maps().chain(casts()).chain(created()).chain(folded()).chain(for_floats()).chain(for_all())
    }
}

/// A key whose operands are memory of these dtypes.
fn of(form: Form, compute: Compute, dtypes: &[DType], wide: bool) -> Key {
    let mut slots = [Slot::Empty; SLOTS];
    for (slot, dtype) in slots.iter_mut().zip(dtypes) {
        *slot = Slot::Of(*dtype);
    }
    Key { form, compute, slots, wide }
}

/// Scalar functions: strided, of vectors, with a number in the second place, and of many elements.
fn maps() -> impl Iterator<Item = Key> {
    let pairs = MapOp::ALL.iter().flat_map(|&op| DType::ALL.map(|dtype| (op, dtype)));
    let defined = pairs.filter(|&(op, dtype)| is_defined(op, Compute::of(dtype)));
    defined.flat_map(|(op, dtype)| {
        let to = if op.writes() == Writes::Bool { DType::Bool } else { dtype };
        let (mut dtypes, compute) = (vec![to], Compute::of(dtype));
        dtypes.extend(std::iter::repeat_n(dtype, op.arity()));
        let width = (16 / dtype.size()) as u8;
        let mut keys = vec![
            of(Form::Map(op), compute, &dtypes, false),
            of(Form::MapVector(op, width), compute, &dtypes, false),
        ];
        if dtype == compute.dtype() {
            keys.push(of(Form::Map(op), compute, &dtypes, true));
            if op.arity() > 1 {
                let mut with_number = of(Form::MapVector(op, width), compute, &dtypes, false);
                if let Some(slot) = with_number.slots.get_mut(2) {
                    *slot = Slot::Number;
                }
                keys.push(with_number);
            }
        }
        keys
    })
}

/// Copies between each two dtypes, and fills.
fn casts() -> impl Iterator<Item = Key> {
    let pairs = DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)));
    let casts = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| of(Form::Map(MapOp::Identity), Compute::of(from), &[to, from], false));
    let fills = DType::ALL.into_iter().map(|to| {
        let mut key =
            of(Form::MapVector(MapOp::Identity, (16 / to.size()) as u8), Compute::of(to), &[to], false);
        if let Some(slot) = key.slots.get_mut(1) {
            *slot = Slot::Number;
        }
        key
    });
    casts.chain(fills)
}

/// What is made from numbers of elements.
fn created() -> impl Iterator<Item = Key> {
    DType::ALL.into_iter().flat_map(|dtype| {
        let compute = Compute::of(dtype);
        let mut keys: Vec<Key> =
            [Form::Arange, Form::Eye].map(|form| of(form, compute, &[dtype], false)).into();
        keys.extend([true, false].map(|upper| of(Form::Triangle { upper }, compute, &[dtype; 2], false)));
        let per_call = if dtype == DType::Float64 { 2 } else { 4 };
        let of_floats = [Draw::Uniform, Draw::Normal, Draw::LogNormal, Draw::Exponential, Draw::Cauchy];
        for draw in of_floats.into_iter().chain([Draw::Geometric, Draw::Bernoulli]) {
            if dtype.is_float() || matches!(draw, Draw::Geometric | Draw::Bernoulli) {
                keys.push(of(Form::Random { draw, per_call }, compute, &[dtype], false));
            }
        }
        if dtype == DType::Bool {
            keys.push(of(Form::Random { draw: Draw::Keep, per_call: 4 }, compute, &[dtype], false));
        }
        keys.extend(
            [2, 4].map(|per_call| {
                of(Form::Random { draw: Draw::Integers, per_call }, compute, &[dtype], false)
            }),
        );
        keys
    })
}

/// Reductions along memory and across it, and the joining of parts.
fn folded() -> impl Iterator<Item = Key> {
    use Fold::*;
    let folds = [Sum, Prod, Max, Min, All, Any, Norm, Var, LogSumExp, ArgMax, ArgMin];
    let pairs = folds.into_iter().flat_map(|fold| DType::ALL.map(|dtype| (fold, dtype)));
    let defined = pairs.filter(|(fold, dtype)| dtype.is_float() || !matches!(fold, Norm | Var | LogSumExp));
    defined.flat_map(|(fold, dtype)| {
        let dtypes: &[DType] = match fold {
            ArgMax | ArgMin => &[dtype, dtype, DType::Int64],
            All | Any => &[dtype, DType::Bool],
            Sum | Prod if !dtype.is_float() => &[dtype, DType::Int64],
            _ => &[dtype, dtype],
        };
        let compute = Compute::of(dtype);
        let mut keys: Vec<Key> =
            [true, false].map(|across| of(Form::Reduce { fold, across }, compute, dtypes, false)).into();
        keys.push(of(Form::ReduceJoin { fold }, compute, dtypes, false));
        if dtype == compute.dtype() {
            keys.push(of(Form::Reduce { fold, across: false }, compute, dtypes, true));
        }
        keys
    })
}

/// What only floats have.
fn for_floats() -> impl Iterator<Item = Key> {
    FLOATS.into_iter().flat_map(|dtype| {
        let compute = Compute::of(dtype);
        let (one, long) = (dtype, DType::Int64);
        let mut keys = Vec::new();
        let both = [false, true];
        for (log, across) in both.into_iter().flat_map(|log| both.map(|across| (log, across))) {
            keys.push(of(
                Form::Softmax { log, across },
                compute,
                &[one; 2],
                across && dtype == DType::Float32,
            ));
            keys.push(of(Form::Softmax { log, across }, compute, &[one; 2], false));
            keys.push(of(Form::SoftmaxGrad { log, across }, compute, &[one; 3], false));
        }
        for (form, operands) in [
            (Form::LayerNorm, 6),
            (Form::LayerNormByInput, 6),
            (Form::LayerNormByParameters, 4),
            (Form::LayerNormJoin, 2),
            (Form::Sgd, 3),
            (Form::Adam, 4),
            (Form::Conv, 4),
            (Form::ConvByInput, 3),
            (Form::ConvByWeight, 2),
            (Form::ConvJoin, 1),
        ] {
            keys.extend([one; SLOTS].get(..operands).map(|dtypes| of(form, compute, dtypes, false)));
        }
        keys.extend(both.map(|each| of(Form::NllLoss { each }, compute, &[one, one, one, long, one], false)));
        keys.push(of(Form::NllLossGrad, compute, &[one, one, long, one, one], false));
        keys.push(of(Form::Unscale, compute, &[one, DType::Float32, DType::Float32], false));
        if dtype == DType::Float32 {
            keys.push(of(Form::UpdateScale, compute, &[one, DType::Int32, one], false));
            keys.push(of(Form::Conv, compute, &[one; 4], true));
            keys.push(of(Form::Adam, compute, &[one; 4], true));
        }
        keys
    })
}

/// What every dtype has.
fn for_all() -> impl Iterator<Item = Key> {
    DType::ALL.into_iter().flat_map(|dtype| {
        let compute = Compute::of(dtype);
        let long = DType::Int64;
        let both = [false, true];
        let mut keys = Vec::new();
        for (a, b) in both.into_iter().flat_map(|a| both.map(|b| (a, b))) {
            keys.push(of(Form::Scan { product: a, across: b }, compute, &[dtype; 2], false));
            keys.push(of(Form::Scatter { from_end: a, add: b }, compute, &[dtype, dtype, long], false));
        }
        for from_end in both {
            keys.push(of(Form::Gather { from_end }, compute, &[dtype, dtype, long], from_end));
        }
        for padding in both {
            keys.push(of(Form::AveragePool { padding }, compute, &[dtype; 2], false));
            keys.push(of(Form::AveragePoolGrad { padding }, compute, &[dtype; 2], false));
        }
        keys.push(of(Form::MaxPool, compute, &[dtype, long, dtype], false));
        keys.push(of(Form::MaxPoolGrad, compute, &[dtype, dtype, long], false));
        keys.push(of(Form::Matmul, compute, &[dtype; 4], false));
        let mut alone = of(Form::Matmul, compute, &[dtype; 3], dtype == DType::Float32);
        if let Some(slot) = alone.slots.get_mut(3) {
            *slot = Slot::Number;
        }
        keys.push(alone);
        keys
    })
}
