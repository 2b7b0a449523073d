//! Functions that Python has built in: `len`, `enumerate`, `zip`, `sum`, `sorted`, `assert` and so on.

use std::cmp::Ordering;

use rhai::{Array, Dynamic, FnPtr, INT, Map};

use crate::base::shape::broadcast;
use crate::base::sorted;
use crate::base::{Error, Kind};
use crate::op::def::FUNCTION;
use crate::op::params::kind::{Bool, Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, OpDef, Receiver};
use crate::script::bind::called_by_name;
use crate::script::call::kind::{Function, Given, Rest};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::direct;
use crate::script::fault::MOST;
use crate::script::missing::NOTHING;
use crate::script::nesting;
use crate::script::value::{scalar_to_dynamic, type_name};
use crate::tensor::Tensor;

use super::iterables::{Iteration, Pairs, array, measured, not_iterable};

params! {
    OneParams {
        value: Given, "what is asked about";
    }
}

params! {
    ItemsParams {
        items: Given, "an array, a range, a tensor, or what else a loop goes through";
    }
}

params! {
    EnumerateParams {
        items: Given, "an array, a range, a tensor, a loader, or what else a loop goes through";
        start: Int = 0, "the first count";
    }
}

params! {
    ZipParams {
        all: Rest, "what is gone through at the same time; the shortest ends it";
    }
}

params! {
    ShapesParams {
        shapes: Rest, "shapes, one after the other; a number stands for an array of one";
    }
}

params! {
    SumParams {
        items: Given, "numbers or tensors";
        start: Maybe<Given>, "what they are added to; 0 where it is not given";
    }
}

params! {
    LeastParams {
        items: Given, "an array or a range of numbers or texts, or the first of several of them";
        more: Rest, "the other ones, where there are several";
        key: Maybe<Function>, "what an item is compared by: a function of it";
    }
}

params! {
    SortedParams {
        items: Given, "numbers, texts or arrays of them";
        key: Maybe<Function>, "what an item is compared by: a function of it";
        reverse: Bool = false, "from the greatest on";
    }
}

params! {
    AssertParams {
        condition: Given, "what has to hold";
        message: Str = "", "what the error says";
    }
}

const fn built_in(name: &'static str, summary: &'static str, params: &'static [crate::op::Param]) -> OpDef {
    OpDef::script(name, Family::Language, summary, params).forms(FUNCTION).torch(name)
}

const NOT_ITERABLE: &str = "TypeError: nothing goes through the value";

/// The shape that tensors of several shapes have together.
fn broadcast_shapes(call: &mut Call) -> Outcome {
    let mut all: Vec<usize> = Vec::new();
    for given in ShapesParams::of(&call.args)?.shapes {
        let one = |size: &Dynamic| size.as_int().ok();
        let sizes: Option<Vec<INT>> = match given.read_lock::<Array>() {
            Some(sizes) => sizes.iter().map(one).collect(),
            None => one(&given).map(|size| vec![size]),
        };
        let sizes = sizes.ok_or_else(|| {
            if let Some(option) = given.read_lock::<Map>().and_then(|map| map.keys().next().cloned()) {
                return Error::type_error(format!("broadcast_shapes() got an unknown option '{option}'"))
                    .with_hint("it has none: `broadcast_shapes([2, 1], [3])`");
            }
            let text = format!("broadcast_shapes() takes arrays of sizes, not {}", type_name(&given));
            Error::type_error(text).with_hint("`broadcast_shapes([2, 1], [3])`")
        })?;
        if sizes.iter().any(|&size| size < 0) {
            return Err(Error::value("Attempting to broadcast a dimension with negative length!").into());
        }
        let sizes: Vec<usize> = sizes.into_iter().map(|size| size as usize).collect();
        all = broadcast(&all, &sizes)?.to_vec();
    }
    Ok(all.into_iter().map(|d| Dynamic::from(d as INT)).collect::<Array>().into())
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script("broadcast_shapes", Family::Movement, "The shape that tensors of several shapes have together.", ShapesParams::LIST)
            .errors(&["RuntimeError: the shapes do not go together", "ValueError: a size is negative"])
            .example("broadcast_shapes([2, 1], [3])", "[2, 3]"),
        broadcast_shapes,
    ),
    ScriptRow::of(
        built_in("len", "How many items, characters, batches or rows a value has.", OneParams::LIST)
            .errors(&["TypeError: the value has none, as a tensor without dimensions"])
            .example("len(ones(3, 2))", "3"),
        |call| len(&OneParams::of(&call.args)?.value),
    ),
    ScriptRow::of(
        built_in("list", "The items of what a loop goes through, as an array.", ItemsParams::LIST)
            .errors(&[NOT_ITERABLE, "RuntimeError: there are more than an array may hold"])
            .example("list(range(3))", "[0, 1, 2]"),
        |call| Ok(array(call, &ItemsParams::of(&call.args)?.items)?.into()),
    ),
    ScriptRow::of(
        built_in("iter", "Goes through items one by one, with `next`.", ItemsParams::LIST)
            .errors(&[NOT_ITERABLE])
            .example("let it = iter([5, 6]); next(it); next(it)", "6"),
        |call| {
            let items = ItemsParams::of(&call.args)?.items;
            Ok(Dynamic::from(Iteration::over(array(call, &items)?)))
        },
    ),
    ScriptRow::of(
        built_in("next", "The next item of what `iter` gave; of an array the first.", ItemsParams::LIST)
            .errors(&["StopIteration: there is none", "TypeError: it is no iterator"])
            .example("next(nn::Linear(2, 1).parameters()).shape", "[1, 2]"),
        next,
    ),
    ScriptRow::of(
        built_in("enumerate", "The items with their counts, as arrays of two.", EnumerateParams::LIST)
            .errors(&[NOT_ITERABLE])
            .details(
                "`for (i, x) in enumerate(xs) { … }` takes both apart. Without it a loop counts by itself, with the item \
                 first: `for (x, i) in xs { … }`.",
            )
            .example("enumerate([\"a\", \"b\"])", "[[0, \"a\"], [1, \"b\"]]"),
        |call| {
            let given = EnumerateParams::of(&call.args)?;
            paired(call, Pairs { start: Some(given.start), of: vec![given.items] })
        },
    ),
    ScriptRow::of(
        built_in("zip", "Items at the same place of several values, as arrays.", ZipParams::LIST)
            .errors(&[NOT_ITERABLE])
            .details("`for (x, y) in zip(xs, ys) { … }` takes both apart.")
            .example("zip([1, 2], [5, 6])", "[[1, 5], [2, 6]]"),
        |call| {
            let of = ZipParams::of(&call.args)?.all;
            paired(call, Pairs { start: None, of })
        },
    ),
    ScriptRow::of(
        built_in("sum", "The sum of numbers or tensors.", SumParams::LIST)
            .errors(&[NOT_ITERABLE, "TypeError: what stands there has no sum"])
            .example("sum([1, 2, 3.5])", "6.5"),
        sum,
    ),
    ScriptRow::of(
        built_in("min", "The least item of an array or of the arguments.", LeastParams::LIST)
            .errors(&["ValueError: there is no item", "TypeError: two items can't be compared"])
            .example("min([3, 1, 2])", "1"),
        |call| extreme(call, "min", Ordering::Less),
    ),
    ScriptRow::of(
        built_in("max", "The greatest item of an array or of the arguments.", LeastParams::LIST)
            .errors(&["ValueError: there is no item", "TypeError: two items can't be compared"])
            .example("max([3, 1, 2])", "3"),
        |call| extreme(call, "max", Ordering::Greater),
    ),
    ScriptRow::of(
        built_in("sorted", "The items in order, as a new array.", SortedParams::LIST)
            .errors(&[NOT_ITERABLE, "TypeError: two items can't be compared"])
            .example("sorted([3, 1, 2], #{reverse: true})", "[3, 2, 1]"),
        sorted,
    ),
    ScriptRow::of(
        built_in("reversed", "The items from the last to the first, as an array.", ItemsParams::LIST)
            .errors(&[NOT_ITERABLE])
            .example("reversed(range(3))", "[2, 1, 0]"),
        |call| {
            let items = ItemsParams::of(&call.args)?.items;
            let mut all = array(call, &items)?;
            all.reverse();
            Ok(all.into())
        },
    ),
    ScriptRow::of(
        built_in("assert", "An error where a condition does not hold.", AssertParams::LIST)
            .errors(&["AssertionError: it does not hold"])
            .example("assert(1 < 2, \"numbers are out of order\"); 1", "1"),
        |call| {
            let given = AssertParams::of(&call.args)?;
            if truth(call, &given.condition)? {
                return Ok(Dynamic::UNIT);
            }
            let text = if given.message.is_empty() { "the condition does not hold" } else { given.message };
            Err(Error::new(Kind::AssertionError, text).into())
        },
    ),
    ScriptRow::of(
        OpDef::script("next", Family::Language, "The next item of what `iter` gave.", &[])
            .on(Receiver::Iteration)
            .forms(FUNCTION)
            .torch("next")
            .errors(&["StopIteration: there is none"])
            .example("let it = iter([5, 6]); next(it); next(it)", "6"),
        |call| call.on::<Iteration>()?.next().ok_or_else(|| stop().into()),
    ),
];

fn stop() -> Error {
    Error::new(Kind::StopIteration, "there are no more items")
}

fn next(call: &mut Call) -> Outcome {
    let from = ItemsParams::of(&call.args)?.items;
    let first = from.read_lock::<Array>().map(|all| all.first().cloned());
    match first {
        Some(first) => first.ok_or_else(|| stop().into()),
        None => {
            let error = Error::type_error(format!("'{}' object is not an iterator", type_name(&from)));
            Err(error
                .with_hint("`iter(…)` makes one of what a loop goes through: `next(iter(loader))`")
                .into())
        }
    }
}

fn len(value: &Dynamic) -> Outcome {
    let text = match value.read_lock::<Tensor>() {
        Some(x) => match x.shape().first() {
            Some(rows) => return Ok((*rows as INT).into()),
            None => "len() of a 0-d tensor".to_owned(),
        },
        None => match measured(value) {
            Some(count) => return Ok((count as INT).into()),
            None => format!("object of type '{}' has no len()", type_name(value)),
        },
    };
    Err(Error::type_error(text).into())
}

/// Pairs as an array, or one by one where they come of what is read as it goes, such as a loader.
fn paired(call: &Call, pairs: Pairs) -> Outcome {
    if let Some(refused) = pairs.refused() {
        return Err(not_iterable(refused).into());
    }
    if !pairs.is_whole() {
        return Ok(Dynamic::from(pairs));
    }
    let pairs = Dynamic::from(pairs);
    // Each pair is an array, and they lie in one.
    if measured(&pairs).is_some_and(|count| count >= MOST as u64) {
        let text = format!("an array holds less than {MOST} pairs: one value holds no more arrays");
        return Err(Error::runtime(text).with_hint("a loop over `0..xs.len()` needs no array").into());
    }
    let all: Dynamic = array(call, &pairs)?.into();
    nesting::measured(&all, &call.machine().shared)?;
    Ok(all)
}

fn sum(call: &mut Call) -> Outcome {
    let given = SumParams::of(&call.args)?;
    if let Some(result) = given.items.read_lock::<Map>().and_then(|map| called_by_name("sum", &map)) {
        return Ok(result?);
    }
    let mut total = given.start.unwrap_or(Dynamic::from_int(0));
    for item in array(call, &given.items)? {
        let mut item = match item.as_bool() {
            Ok(counted) => Dynamic::from_int(counted.into()),
            Err(_) => item,
        };
        if item.is_string() || item.is_char() || item.is_array() || item.is_map() || item.is_unit() {
            let (a, b) = (type_name(&total), type_name(&item));
            let error = Error::type_error(format!("unsupported operand type(s) for +: '{a}' and '{b}'"));
            return Err(match (total.is::<Tensor>(), item.is_array(), item.is_unit()) {
                (true, true, _) => {
                    error.with_hint("values of several kinds have no sum: `xs[0]` is the first of them")
                }
                (.., true) => error.with_hint(NOTHING),
                _ => error,
            }
            .into());
        }
        total = call.context.call_native_fn_raw("+", false, &mut [&mut total, &mut item])?;
    }
    Ok(total)
}

fn extreme(call: &mut Call, name: &str, wanted: Ordering) -> Outcome {
    let given = LeastParams::of(&call.args)?;
    if let Some(result) = given.items.read_lock::<Map>().and_then(|map| called_by_name(name, &map)) {
        return Ok(result?);
    }
    let all = match given.more.is_empty() {
        true => array(call, &given.items)?,
        false => std::iter::once(given.items).chain(given.more).collect(),
    };
    let mut best: Option<(Dynamic, Dynamic)> = None;
    for item in all {
        let key = keyed(call, given.key.as_ref(), &item)?;
        let better = match &best {
            Some((known, _)) => compare(&key, known)? == wanted,
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    best.map(|(_, item)| item)
        .ok_or_else(|| Error::value(format!("{name}() arg is an empty sequence")).into())
}

fn sorted(call: &mut Call) -> Outcome {
    let given = SortedParams::of(&call.args)?;
    let mut all = Vec::new();
    for item in array(call, &given.items)? {
        all.push((keyed(call, given.key.as_ref(), &item)?, item));
    }
    let mut failed = None;
    sorted::sort_by(&mut all, |(a, _), (b, _)| match compare(a, b) {
        Ok(order) => {
            if given.reverse {
                order.reverse()
            } else {
                order
            }
        }
        Err(error) => {
            failed.get_or_insert(error);
            Ordering::Equal
        }
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(all.into_iter().map(|(_, item)| item).collect::<Array>().into()),
    }
}

fn keyed(call: &Call, key: Option<&FnPtr>, item: &Dynamic) -> Outcome {
    match key {
        Some(key) => call.run(key, (item.clone(),)),
        None => Ok(item.clone()),
    }
}

/// As Python's `<` has it; of numbers, texts and arrays of them.
fn compare(a: &Dynamic, b: &Dynamic) -> Result<Ordering, Error> {
    if let (Ok(a), Ok(b)) = (a.as_int(), b.as_int()) {
        return Ok(a.cmp(&b));
    }
    if let (Some(a), Some(b)) = (number(a)?, number(b)?) {
        return Ok(a.partial_cmp(&b).unwrap_or(Ordering::Equal));
    }
    if (a.is_string() || a.is_char()) && (b.is_string() || b.is_char()) {
        return Ok(a.to_string().cmp(&b.to_string()));
    }
    if let (Some(a), Some(b)) = (a.read_lock::<Array>(), b.read_lock::<Array>()) {
        for (a, b) in a.iter().zip(b.iter()) {
            let order = compare(a, b)?;
            if order != Ordering::Equal {
                return Ok(order);
            }
        }
        return Ok(a.len().cmp(&b.len()));
    }
    let (a, b) = (type_name(a), type_name(b));
    Err(Error::type_error(format!("'<' not supported between instances of '{a}' and '{b}'")))
}

/// A number, or what a tensor with one element holds.
fn number(value: &Dynamic) -> Result<Option<f64>, Error> {
    let value = match value.read_lock::<Tensor>() {
        Some(x) => scalar_to_dynamic(x.item()?),
        None => value.clone(),
    };
    let of_bool = || value.as_bool().ok().map(|b| f64::from(u8::from(b)));
    Ok(value.as_float().ok().or_else(|| value.as_int().ok().map(|n| n as f64)).or_else(of_bool))
}

/// As Python's `if` takes a value.
fn truth(call: &Call, value: &Dynamic) -> Outcome<bool> {
    let value = direct::truth(&call.machine().shared, value.clone(), call.context.call_position())?;
    Ok(match value.as_bool() {
        Ok(holds) => holds,
        Err(_) if value.is_unit() => false,
        Err(_) if value.is_map() => value.read_lock::<Map>().is_some_and(|map| !map.is_empty()),
        Err(_) => match number(&value)? {
            Some(number) => number != 0.0,
            None => measured(&value) != Some(0),
        },
    })
}
