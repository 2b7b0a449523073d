//! The layout of a tensor, which `squeeze_` and its like change in place.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::Layout;

/// The layouts that a tensor has had, of which one counts. Those before stay where they are, for whoever looks at one of
/// them while it changes.
pub(super) struct Layouts {
    first: Layout,
    later: OnceLock<Box<Layouts>>,
    /// How far from the first the one is that counts.
    now: AtomicUsize,
}

impl Layouts {
    pub(super) fn of(first: Layout) -> Layouts {
        Layouts { first, later: OnceLock::new(), now: AtomicUsize::new(0) }
    }

    pub(super) fn first(&self) -> &Layout {
        &self.first
    }

    #[inline]
    pub(super) fn now(&self) -> &Layout {
        match self.now.load(Ordering::Acquire) {
            0 => &self.first,
            place => self.at(place),
        }
    }

    fn at(&self, place: usize) -> &Layout {
        let mut here = self;
        for _ in 0..place {
            match here.later.get() {
                Some(next) => here = next,
                None => break,
            }
        }
        &here.first
    }

    /// Has `layout` count from now on: one that counted before is found again, so that a loop adds none.
    pub(super) fn set(&self, layout: Layout) {
        let (mut here, mut place) = (self, 0);
        while here.first != layout {
            here = here.later.get_or_init(|| Box::new(Layouts::of(layout.clone())));
            place += 1;
        }
        self.now.store(place, Ordering::Release);
    }
}

/// One after the other: a long row of them would end the stack.
impl Drop for Layouts {
    fn drop(&mut self) {
        let mut next = self.later.take();
        while let Some(mut one) = next {
            next = one.later.take();
        }
    }
}
