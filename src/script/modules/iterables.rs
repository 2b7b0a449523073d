//! What a loop goes through: tensors row by row, numbers with a step, pairs.

use std::any::TypeId;
use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex};

use rhai::{
    Array, Dynamic, Engine, EvalAltResult, FnPtr, INT, ImmutableString, Map, Module, NativeCallContext,
};

use crate::base::chain::Link;
use crate::base::event::Clock;
use crate::base::python;
use crate::base::{Error, figures};
use crate::data::sampler::Sampler;
use crate::data::{Data, DataLoader};
use crate::device::Shared;
use crate::nn::Module as Layers;
use crate::op::shape::split::unbind;
use crate::script::bind::FnCallArgs;
use crate::script::call::Call;
use crate::script::carry;
use crate::script::fault::{RhaiResult, raise};
use crate::script::host::Host;
use crate::script::missing::NOTHING;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::data::Batches;

pub(super) type Items = Box<dyn Iterator<Item = RhaiResult<Dynamic>>>;

/// What `iter` gives: cloning gives the same one.
#[derive(Clone)]
pub(super) struct Iteration(Arc<Mutex<VecDeque<Dynamic>>>);

impl Iteration {
    pub(super) fn over(items: Array) -> Iteration {
        Iteration(Arc::new(Mutex::new(items.into())))
    }

    pub(super) fn next(&self) -> Option<Dynamic> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).pop_front()
    }
}

impl IntoIterator for Iteration {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    fn into_iter(self) -> Items {
        Box::new(std::iter::from_fn(move || self.next().map(Ok)))
    }
}

/// Items of several values at the same place, or of one with a count before each.
#[derive(Clone)]
pub(super) struct Pairs {
    pub start: Option<INT>,
    pub of: Vec<Dynamic>,
}

impl Pairs {
    /// Whether nothing is read or counted on the way.
    pub(super) fn is_whole(&self) -> bool {
        !self.of.iter().any(is_lazy)
    }

    /// The first value that nothing goes through. A loader is not begun for that: it would draw an order.
    pub(super) fn refused(&self) -> Option<&Dynamic> {
        self.of.iter().find(|of| !is_lazy(of) && items(of).is_none())
    }
}

/// Whether a value's items are read or counted on the way.
fn is_lazy(of: &Dynamic) -> bool {
    of.is::<DataLoader>() || of.is::<Batches>() || of.is::<Progress>() || of.is::<Data>() || of.is::<Pairs>()
}

impl IntoIterator for Pairs {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    fn into_iter(self) -> Items {
        let mut all: Vec<Items> = self.of.iter().filter_map(items).collect();
        let mut count = self.start;
        Box::new(std::iter::from_fn(move || {
            let mut pair = Array::new();
            if let Some(count) = &mut count {
                pair.push((*count).into());
                *count = count.saturating_add(1);
            }
            if all.is_empty() {
                return None;
            }
            for one in &mut all {
                match one.next()? {
                    Ok(item) => pair.push(item),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(pair.into()))
        }))
    }
}

/// Numbers with a step between them.
#[derive(Clone)]
struct NumberSteps {
    from: INT,
    to: INT,
    step: INT,
}

impl NumberSteps {
    fn count(&self) -> u64 {
        let (from, to) = if self.step > 0 { (self.from, self.to) } else { (self.to, self.from) };
        if from >= to { 0 } else { to.abs_diff(from).div_ceil(self.step.unsigned_abs()) }
    }

    fn contains(&self, number: INT) -> bool {
        let (from, to) = if self.step > 0 { (self.from, number) } else { (number, self.from) };
        let steps = from.abs_diff(to) / self.step.unsigned_abs();
        from <= to && from.abs_diff(to).is_multiple_of(self.step.unsigned_abs()) && steps < self.count()
    }
}

impl IntoIterator for NumberSteps {
    type Item = INT;
    type IntoIter = Box<dyn Iterator<Item = INT>>;

    fn into_iter(self) -> Self::IntoIter {
        let at = move |i: u64| self.from.wrapping_add((i as INT).wrapping_mul(self.step));
        Box::new((0..self.clone().count()).map(at))
    }
}

/// Goes through a range, an array or a loader and shows how far it is.
#[derive(Clone)]
pub struct Progress {
    items: Link<Arc<dyn Fn() -> Items + Send + Sync>>,
    pub total: u64,
    label: String,
    host: Arc<dyn Host>,
    shared: Arc<Shared>,
}

impl Progress {
    /// None where nothing goes through the value, or nobody knows how often.
    pub(super) fn over(
        value: &Dynamic,
        label: &str,
        host: Arc<dyn Host>,
        shared: Arc<Shared>,
    ) -> Option<Progress> {
        let total = measured(value).filter(|_| !value.is_string() && !value.is_map())?;
        let value = value.clone();
        let all = move || items(&value).unwrap_or_else(|| Box::new(std::iter::empty()));
        Some(Progress { items: Link::new(Arc::new(all)), total, label: label.into(), host, shared })
    }
}

/// A running [`Progress`].
struct ProgressIter {
    inner: Items,
    done: u64,
    /// When it began, on a modelled host's clock.
    began: Option<u64>,
    of: Progress,
}

impl Iterator for ProgressIter {
    type Item = RhaiResult<Dynamic>;

    fn next(&mut self) -> Option<RhaiResult<Dynamic>> {
        let next = self.inner.next();
        let (done, total) = (self.done.min(self.of.total), self.of.total);
        self.of.host.progress(&self.of.label, done, Some(total), &self.took());
        self.done += 1;
        next
    }
}

impl ProgressIter {
    /// What all of it took, where time is modelled.
    fn took(&self) -> String {
        let Progress { shared, total, .. } = &self.of;
        let time = shared.host_time().filter(|_| self.done >= *total);
        let took = time.zip(self.began).map(|(time, began)| time.now().saturating_sub(began));
        took.map(|nanos| figures::timed(nanos, Clock::Modelled)).unwrap_or_default()
    }
}

impl IntoIterator for Progress {
    type Item = RhaiResult<Dynamic>;
    type IntoIter = Items;

    fn into_iter(self) -> Items {
        let began = self.shared.host_time().map(|time| time.now());
        Box::new(ProgressIter { inner: (self.items)(), done: 0, began, of: self })
    }
}

/// How many items there are, where that is known before they come.
pub(super) fn measured(value: &Dynamic) -> Option<u64> {
    if let Some(range) = value.read_lock::<Range<INT>>() {
        return Some(range.end.saturating_sub(range.start).max(0) as u64);
    }
    if let Some(range) = value.read_lock::<RangeInclusive<INT>>() {
        return Some(range.end().saturating_sub(*range.start()).saturating_add(1).max(0) as u64);
    }
    if let Some(steps) = value.read_lock::<NumberSteps>() {
        return Some(steps.count());
    }
    if let Some(pairs) = value.read_lock::<Pairs>() {
        return pairs.of.iter().map(measured).min().flatten();
    }
    let array = value.read_lock::<Array>().map(|all| all.len());
    let text = || value.read_lock::<ImmutableString>().map(|text| text.chars().count());
    let map = || value.read_lock::<Map>().map(|map| map.len());
    let loader = || value.read_lock::<DataLoader>().map(|loader| loader.len());
    array.or_else(text).or_else(map).or_else(loader).map(|count| count as u64)
}

/// The error for what has no items.
pub(super) fn not_iterable(value: &Dynamic) -> Error {
    let error = Error::type_error(format!("'{}' object is not iterable", type_name(value)));
    if value.is_unit() {
        return error.with_hint(NOTHING);
    }
    if value.is_int() { error.with_hint(format!("`0..{value}` counts up to it")) } else { error }
}

/// What goes through a value, if anything does.
pub(super) fn items(value: &Dynamic) -> Option<Items> {
    fn of<T: IntoIterator + Clone + 'static>(value: &Dynamic) -> Option<T::IntoIter> {
        value.read_lock::<T>().map(|items| items.clone().into_iter())
    }
    fn plain<T: Into<Dynamic> + 'static>(all: impl Iterator<Item = T> + 'static) -> Items {
        Box::new(all.map(|item| Ok(item.into())))
    }
    if let Some(all) = of::<Range<INT>>(value) {
        return Some(plain(all));
    }
    if let Some(all) = of::<RangeInclusive<INT>>(value) {
        return Some(plain(all));
    }
    if let Some(all) = of::<NumberSteps>(value) {
        return Some(plain(all));
    }
    if let Some(all) = of::<Array>(value) {
        return Some(plain(all));
    }
    if let Some(x) = value.read_lock::<Tensor>() {
        return Some(rows(&x));
    }
    if let Some(map) = value.read_lock::<Map>() {
        let keys: Vec<Dynamic> = map.keys().map(|key| key.as_str().into()).collect();
        return Some(plain(keys.into_iter()));
    }
    if let Some(text) = value.read_lock::<ImmutableString>() {
        let all: Vec<char> = text.chars().collect();
        return Some(plain(all.into_iter()));
    }
    if value.read_lock::<Layers>().is_some_and(|module| module.is_list()) {
        return of::<Layers>(value).map(plain);
    }
    let drawn = of::<DataLoader>(value).or_else(|| of::<Batches>(value)).or_else(|| of::<Data>(value));
    let drawn = drawn.or_else(|| of::<Sampler>(value)).or_else(|| of::<Progress>(value));
    drawn.or_else(|| of::<Iteration>(value)).or_else(|| of::<Pairs>(value))
}

/// The items as an array.
pub(super) fn array(call: &Call, value: &Dynamic) -> RhaiResult<Array> {
    collected(call.context, value)
}

/// Teaches the engine to go through these values, and to call methods of arrays on ranges.
pub(super) fn register(engine: &mut Engine) {
    let mut module = Module::new();
    module.set_iter_result(TypeId::of::<Tensor>(), |value: Dynamic| {
        let clocks = carry::clocks(&value);
        match value.read_lock::<Tensor>() {
            Some(x) => Box::new(rows(&x).map(move |row| row.map(|row| carry::marked(row, clocks)))),
            None => Box::new(std::iter::empty()),
        }
    });
    engine.register_global_module(module.into());
    engine.register_type_with_name::<Iteration>("iterator");
    engine.register_iterator_result::<Iteration, Dynamic>();
    engine.register_type_with_name::<Pairs>("pairs");
    engine.register_iterator_result::<Pairs, Dynamic>();
    engine.register_type_with_name::<NumberSteps>("range");
    engine.register_iterator::<NumberSteps>();
    for name in ["to_string", "to_debug"] {
        engine.register_fn(name, |steps: &mut NumberSteps| {
            format!("range({}, {}, {})", steps.from, steps.to, steps.step)
        });
    }
    engine.register_fn("items", |map: &mut Map| {
        let pair = |(key, value): (&_, &Dynamic)| {
            Dynamic::from_array([Dynamic::from(ImmutableString::from(key)), value.clone()].into())
        };
        map.iter().map(pair).collect::<Array>()
    });
    engine.register_fn("range", |to: INT| 0..to);
    engine.register_fn("range", |from: INT, to: INT, step: INT| match step {
        0 => Err(raise(Error::value("range() arg 3 must not be zero"))),
        step => Ok(NumberSteps { from, to, step }),
    });
    engine.register_fn("round", |value: f64| value.round_ties_even());
    engine.register_fn("round", |value: INT| value);
    engine.register_fn("round", python::round);
    engine.register_fn("round", |ctx: NativeCallContext, x: Tensor, digits: INT| {
        let unit = Dynamic::from_float(10f64.powi(digits.clamp(-300, 300) as i32));
        let mut x = Dynamic::from(x);
        for (name, operand) in [("*", Some(unit.clone())), ("round", None), ("/", Some(unit))] {
            let mut operand = operand;
            let mut args: Vec<&mut Dynamic> = std::iter::once(&mut x).chain(&mut operand).collect();
            x = ctx.call_native_fn_raw(name, false, &mut args)?;
        }
        Ok::<_, Box<EvalAltResult>>(x)
    });
    engine.register_fn("round", |value: INT, digits: INT| match digits {
        0.. => value,
        digits => python::round(value as f64, digits) as INT,
    });
    of_ranges::<Range<INT>>(engine);
    of_ranges::<RangeInclusive<INT>>(engine);
    of_ranges::<NumberSteps>(engine);
    engine.register_fn("contains", |range: &mut NumberSteps, number: INT| range.contains(number));
    of_items::<Tensor>(engine);
    of_items::<ImmutableString>(engine);
}

/// Methods of arrays, on the array that the range stands for.
fn of_ranges<T: Clone + Send + Sync + 'static>(engine: &mut Engine) {
    for name in ["to_array", "collect"] {
        engine.register_raw_fn(name, [TypeId::of::<T>()], |ctx: NativeCallContext, args: &mut FnCallArgs| {
            let Some(range) = args.first() else { return Ok(Dynamic::UNIT) };
            collected(&ctx, range).map(Dynamic::from)
        });
    }
    of_items::<T>(engine);
}

/// What arrays do with a function, on the items that a loop goes through; those of a text are texts.
fn of_items<T: Clone + Send + Sync + 'static>(engine: &mut Engine) {
    for name in ["map", "filter", "reduce", "some", "all", "find"] {
        let types = [TypeId::of::<T>(), TypeId::of::<FnPtr>(), TypeId::of::<Dynamic>()];
        for count in 2..=types.len() {
            let types = types.iter().take(count).copied().collect::<Vec<_>>();
            engine.register_raw_fn(name, types, move |ctx: NativeCallContext, args: &mut FnCallArgs| {
                let Some((of, rest)) = args.split_first_mut() else { return Ok(Dynamic::UNIT) };
                let text = of.read_lock::<ImmutableString>().map(|text| text.clone());
                let letters = |text: ImmutableString| text.chars().map(|c| c.to_string().into()).collect();
                let mut all = Dynamic::from_array(match text {
                    Some(text) => letters(text),
                    None => collected(&ctx, of)?,
                });
                let mut args: Vec<&mut Dynamic> =
                    std::iter::once(&mut all).chain(rest.iter_mut().map(|a| &mut **a)).collect();
                ctx.call_native_fn_raw(name, true, &mut args)
            });
        }
    }
}

/// As far as an array may reach.
fn collected(ctx: &NativeCallContext, value: &Dynamic) -> RhaiResult<Array> {
    let most = ctx.engine().max_array_size();
    let too_large = || {
        let error = Error::runtime(format!("an array holds at most {most} items"));
        raise(error.with_hint("a tensor has no such limit, and a loop needs no array"))
    };
    if measured(value).is_some_and(|count| count > most as u64) {
        return Err(too_large());
    }
    let all = items(value).ok_or_else(|| raise(not_iterable(value)))?;
    let mut out = Array::new();
    for item in all {
        if out.len() >= most {
            return Err(too_large());
        }
        out.push(item?);
    }
    Ok(out)
}

/// A tensor's rows.
fn rows(x: &Tensor) -> Items {
    if x.rank() == 0 {
        return Box::new(std::iter::once(Err(raise(Error::type_error("iteration over a 0-d tensor")))));
    }
    match unbind(x, 0) {
        Ok(rows) => Box::new(rows.into_iter().map(|row| Ok(Dynamic::from(row)))),
        Err(error) => Box::new(std::iter::once(Err(raise(error)))),
    }
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn what_a_loop_goes_through_has_the_methods_of_arrays_that_take_functions() {
        for (code, want) in [
            ("tensor([[1, 2], [3, 4]]).map(|r| r.sum().item())", "[3, 7]"),
            ("tensor([1, 2, 3]).filter(|x| x.item() > 1)", "[tensor(2), tensor(3)]"),
            (
                "[ones(3).all(|x| x.item() == 1.0), tensor([1, 5]).some(|x| x == 5), ones(2).all()]",
                "[true, true, tensor(True)]",
            ),
            ("tensor([1, 2]).reduce(|all, x| all + x.item(), 0)", "3"),
            ("let at = #{a: 1, b: 2}; \"abba\".map(|c| at[c])", "[1, 2, 2, 1]"),
            ("\"a-b\".filter(|c| c != \"-\")", "[\"a\", \"b\"]"),
            ("[(3 > 2).to_int(), false.to_float()]", "[1, 0.0]"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
        assert!(shown(&["tensor(1).map(|x| x)"]).contains("iteration over a 0-d tensor"));
    }

    #[test]
    fn numbers_with_a_step_tell_what_is_among_them() {
        let code = "[3 in range(0, 10, 3), 9 in range(0, 10, 3), 10 in range(0, 10, 3), 4 in range(0, 10, 3), -3 in range(0, 10, 3), \
                    10 in range(10, 0, -5), 5 in range(10, 0, -5), 0 in range(10, 0, -5), 12 in range(0, 12, 3), 1 in range(5, 1, 2)]";
        assert_eq!(shown(&[code]), "[true, true, false, false, false, true, true, false, false, false]");
    }
}
