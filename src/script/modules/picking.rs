//! `xs.filter(f)` and the other methods of arrays that ask a function: what it answers is true or false, as a condition's
//! value is. Rhai's own take anything else for false, a tensor too.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, INT, NativeCallContext, Position};

use crate::base::Error;
use crate::device::Shared;
use crate::script::direct::truth;
use crate::script::fault::{RhaiResult, raise};
use crate::script::value::type_name;

/// Teaches the engine what Rhai's package of arrays leaves to chance.
pub(super) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("filter", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
        Picker::new(&ctx, &here, "filter", &f).picked(all)
    });
    let here = Arc::clone(shared);
    engine.register_fn("some", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
        Picker::new(&ctx, &here, "some", &f).first(all, 0, true).map(|at| at.is_some())
    });
    let here = Arc::clone(shared);
    engine.register_fn("all", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
        Picker::new(&ctx, &here, "all", &f).first(all, 0, false).map(|at| at.is_none())
    });
    let here = Arc::clone(shared);
    engine.register_fn("find", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
        let at = Picker::new(&ctx, &here, "find", &f).first(all, 0, true)?;
        Ok::<_, Box<EvalAltResult>>(at.and_then(|at| all.get(at)).cloned().unwrap_or_default())
    });
    let here = Arc::clone(shared);
    engine.register_fn("find", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr, start: INT| {
        let at = Picker::new(&ctx, &here, "find", &f).first(all, place(all, start), true)?;
        Ok::<_, Box<EvalAltResult>>(at.and_then(|at| all.get(at)).cloned().unwrap_or_default())
    });
    let here = Arc::clone(shared);
    engine.register_fn("index_of", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
        Picker::new(&ctx, &here, "index_of", &f).first(all, 0, true).map(number)
    });
    let here = Arc::clone(shared);
    engine.register_fn("index_of", move |ctx: NativeCallContext, all: &mut Array, f: FnPtr, start: INT| {
        Picker::new(&ctx, &here, "index_of", &f).first(all, place(all, start), true).map(number)
    });
    for (name, takes) in [("drain", true), ("retain", false)] {
        let here = Arc::clone(shared);
        engine.register_fn(name, move |ctx: NativeCallContext, all: &mut Array, f: FnPtr| {
            Picker::new(&ctx, &here, name, &f).taken(all, takes)
        });
    }
}

/// Where a search begins: numbers below 0 count from the end.
fn place(all: &Array, start: INT) -> usize {
    match usize::try_from(start) {
        Ok(start) => start,
        Err(_) => all.len().saturating_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX)),
    }
}

fn number(at: Option<usize>) -> INT {
    at.map_or(-1, |at| at as INT)
}

/// How a function takes an item: as `this`, as its argument, or with the item's place behind it.
#[derive(Clone, Copy)]
enum Takes {
    This,
    Item,
    ItemAndPlace,
}

/// A function that says which items are meant.
struct Picker<'a, 'c> {
    context: &'a NativeCallContext<'c>,
    shared: &'a Shared,
    name: &'static str,
    function: &'a FnPtr,
    /// Known behind the first item.
    takes: Option<Takes>,
}

impl<'a, 'c> Picker<'a, 'c> {
    fn new(
        context: &'a NativeCallContext<'c>,
        shared: &'a Shared,
        name: &'static str,
        function: &'a FnPtr,
    ) -> Picker<'a, 'c> {
        Picker { context, shared, name, function, takes: None }
    }

    fn picked(mut self, all: &mut Array) -> RhaiResult<Array> {
        let mut picked = Array::new();
        for (at, item) in all.iter_mut().enumerate() {
            if self.asks(item, at)? {
                picked.push(item.clone());
            }
        }
        Ok(picked)
    }

    /// The place of the first item from `start` on of which the function says this.
    fn first(mut self, all: &mut Array, start: usize, wanted: bool) -> RhaiResult<Option<usize>> {
        for (at, item) in all.iter_mut().enumerate().skip(start) {
            if self.asks(item, at)? == wanted {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Takes the items of which the function says this out of the array, and gives them.
    fn taken(mut self, all: &mut Array, wanted: bool) -> RhaiResult<Array> {
        let (mut taken, mut kept) = (Array::new(), Array::new());
        let mut verdicts = Vec::new();
        for (at, item) in all.iter_mut().enumerate() {
            verdicts.push(self.asks(item, at)?);
        }
        for (item, said) in std::mem::take(all).into_iter().zip(verdicts) {
            if said == wanted { taken.push(item) } else { kept.push(item) }
        }
        *all = kept;
        Ok(taken)
    }

    /// Whether the function picks an item.
    fn asks(&mut self, item: &mut Dynamic, at: usize) -> RhaiResult<bool> {
        let answer = self.called(item, at).map_err(|error| {
            let source = self.context.call_source().unwrap_or("").to_owned();
            EvalAltResult::ErrorInFunctionCall(self.name.into(), source, error, Position::NONE)
        })?;
        let answer = truth(self.shared, answer.flatten(), self.context.call_position())?;
        answer.as_bool().map_err(|_| {
            let shown = type_name(&answer);
            let text =
                format!("the function that {}() asks gives {shown}, and true or false is wanted", self.name);
            raise(Error::type_error(text).with_hint("a comparison gives true or false: `x != 0`"))
        })
    }

    fn called(&mut self, item: &mut Dynamic, at: usize) -> RhaiResult<Dynamic> {
        let tried = [Takes::This, Takes::Item, Takes::ItemAndPlace];
        let known = self.takes;
        let mut ways = tried.into_iter().filter(|way| known.is_none_or(|known| known as u8 == *way as u8));
        let mut way = ways.next().unwrap_or(Takes::Item);
        let mut refused = None;
        loop {
            let result = match way {
                Takes::This => self.function.call_raw(self.context, Some(&mut *item), []),
                Takes::Item => self.function.call_raw(self.context, None, [item.clone()]),
                Takes::ItemAndPlace => {
                    self.function.call_raw(self.context, None, [item.clone(), (at as INT).into()])
                }
            };
            match result {
                Err(error) if self.is_of_others(&error) => {
                    // What a function of one argument was refused with says most.
                    if refused.is_none() || matches!(way, Takes::Item) {
                        refused = Some(error);
                    }
                    match (ways.next(), refused.take()) {
                        (Some(next), kept) => (way, refused) = (next, kept),
                        (None, Some(error)) => return Err(error),
                        (None, None) => return Ok(Dynamic::UNIT),
                    }
                }
                result => {
                    self.takes = Some(way);
                    return result;
                }
            }
        }
    }

    /// Whether an error says that the function takes another number of arguments.
    fn is_of_others(&self, error: &EvalAltResult) -> bool {
        matches!(error, EvalAltResult::ErrorFunctionNotFound(called, _) if called.starts_with(self.function.fn_name()))
    }
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::{failed, shown};

    #[test]
    fn tensors_answer_as_in_a_condition() {
        let xs = "let xs = [tensor(1), tensor(5), tensor(3)]; let f = |x| x > 2;";
        for (code, want) in [
            ("xs.filter(|x| x > 2).len()", "2"),
            (
                "[xs.some(f), xs.all(f), xs.index_of(f), xs.find(f), xs.find(f, 2), xs.index_of(f, -1)]",
                "[true, false, 1, tensor(5), tensor(3), 2]",
            ),
            ("let taken = xs.drain(f); [taken.len(), xs]", "[2, [tensor(1)]]"),
            ("let taken = xs.retain(f); [taken, xs.len()]", "[[tensor(1)], 2]"),
            (
                "[[1, 2, 3].filter(|x, i| x * i > 1), [1, 2, 3].filter(|| this > 1), [].all(|x| x), [].some(|x| 1)]",
                "[[2, 3], [2, 3], true, false]",
            ),
            (
                "let n = 2; [[1, 2, 3].find(|x| x > 7), [1, 2, 3].index_of(|x| x > n), (0..5).filter(|i| tensor(i) > n).len()]",
                "[(), 2, 2]",
            ),
        ] {
            assert_eq!(shown(&[xs, code]), want, "{code}");
        }
    }

    #[test]
    fn what_is_neither_true_nor_false_is_told_of() {
        for (code, told) in [
            ("[1, 2].filter(|x| x)", "filter() asks gives int"),
            ("[1, 2].some(|x| ())", "some() asks gives ()"),
            ("[ones(2)].all(|x| x > 0)", "ambiguous"),
        ] {
            let fault = failed(&[code], &Limits::default());
            assert!(fault.message.contains(told), "{code}: {fault:?}");
        }
        let fault = failed(&["[1].filter(|x| no_such(x))"], &Limits::default());
        assert!(fault.message.contains("no_such"), "{fault:?}");
    }
}
