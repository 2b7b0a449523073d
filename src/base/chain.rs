//! Values that lead on to more of their kind: a gradient with a gradient, a closure that captured a closure. Dropping a
//! long chain of them by recursion would take a stack as long; here the rest of it waits and is dropped link by link.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};

/// Links that are dropped within each other before the rest waits.
const NESTED: usize = 8;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// A value that may lead on to more of its kind, dropped with [`drop_linked`].
#[derive(Clone, Debug)]
pub struct Link<T: 'static>(Option<T>);

impl<T> Link<T> {
    /// Holds `value` alone, with nothing behind it.
    pub fn new(value: T) -> Link<T> {
        Link(Some(value))
    }
}

impl<T: Default> Default for Link<T> {
    fn default() -> Link<T> {
        Link::new(T::default())
    }
}

impl<T> Deref for Link<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("taken out only while it is dropped"),
        }
    }
}

impl<T> DerefMut for Link<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(value) => value,
            None => unreachable!("taken out only while it is dropped"),
        }
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            drop_linked(value);
        }
    }
}

/// Drops a value: at once, or, a few links deep inside of another that is being dropped, after that one and before the
/// outermost drop ends.
pub(crate) fn drop_linked<T: 'static>(value: T) {
    let depth = DEPTH.try_with(Cell::get).unwrap_or(0);
    if depth >= NESTED {
        let mut value = Some(value);
        let waits = WAITING.try_with(|all| {
            if let (Some(value), Ok(mut all)) = (value.take(), all.try_borrow_mut()) {
                all.push(Box::new(value));
            }
        });
        // A thread that ends has no list any more.
        drop(waits.is_err().then_some(value));
        return;
    }
    let _depth = Depth::enter(depth);
    drop(value);
    if depth == 0 {
        while let Ok(Some(next)) = WAITING.try_with(|all| all.borrow_mut().pop()) {
            drop(next);
        }
    }
}

/// One more level, until it is dropped.
struct Depth(usize);

impl Depth {
    fn enter(depth: usize) -> Depth {
        let _ = DEPTH.try_with(|at| at.set(depth + 1));
        Depth(depth)
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|at| at.set(self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted {
        count: Arc<AtomicUsize>,
        _rest: Option<Link<Box<Counted>>>,
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_chain_longer_than_the_stack_is_dropped_whole_and_at_once() {
        let count = Arc::<AtomicUsize>::default();
        let mut chain = None;
        for _ in 0..1_000_000 {
            chain = Some(Link::new(Box::new(Counted { count: Arc::clone(&count), _rest: chain })));
        }
        drop(chain);
        assert_eq!(count.load(Ordering::Relaxed), 1_000_000);
    }
}
