//! Loops of the host whose length a script chooses: as kernels do, they look at the cancel flag.

use crate::base::{Result, memory};

use super::{Cancel, Machine};

/// The error to end with, where the session's work was interrupted.
pub fn check() -> Result<()> {
    Machine::current().shared.cancel.check()
}

/// Looks at the flag now and then: for a loop that calls it with the number of each step.
#[inline]
pub fn at(step: usize) -> Result<()> {
    if step % Cancel::OFTEN == Cancel::OFTEN - 1 { check() } else { Ok(()) }
}

/// The items of an iterator, up to the first error or an interrupt.
pub fn collected<T>(items: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    memory::try_collected(items.into_iter().enumerate().map(|(step, item)| at(step).and(item)))
}

/// The items of an iterator that can't fail, up to an interrupt.
pub fn listed<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    collected(items.into_iter().map(Ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_ends_a_list_in_the_making() {
        let machine = Machine::cpu_only();
        let _here = machine.enter();
        assert_eq!(listed(0..3000).unwrap().len(), 3000);
        let met = |i: usize| {
            if i == 100 {
                machine.shared.cancel.interrupt();
            }
            assert!(i < 2 * Cancel::OFTEN);
            i
        };
        assert!(listed((0..usize::MAX).map(met).filter(|i| i % 2 == 0)).unwrap_err().is_interrupt());
    }
}
