//! The flag that ends running work.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::base::{Cause, Error, Result};

/// A flag that ends running work; polled between chunks and between script operations.
#[derive(Default, Debug)]
pub struct Cancel {
    state: AtomicU8,
    timeout: AtomicU64,
}

const RUN: u8 = 0;

const INTERRUPTED: u8 = 1;

const TIMED_OUT: u8 = 2;

impl Cancel {
    /// Steps of a loop between two looks.
    pub(crate) const OFTEN: usize = 1024;

    /// Asks what is running to stop, at its next look.
    pub fn interrupt(&self) {
        self.state.store(INTERRUPTED, Ordering::Relaxed);
    }

    /// Ends the work because `seconds` have passed.
    pub(crate) fn time_out(&self, seconds: f64) {
        self.timeout.store(seconds.to_bits(), Ordering::Relaxed);
        self.state.store(TIMED_OUT, Ordering::Relaxed);
    }

    /// Takes an interrupt back, before the next run.
    pub fn clear(&self) {
        self.state.store(RUN, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.state.load(Ordering::Relaxed) != RUN
    }

    /// The error to end with, once the flag is set.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(self.error()) } else { Ok(()) }
    }

    /// [`check`](Cancel::check) now and then: for a loop that calls it with the number of each step.
    #[inline]
    pub(crate) fn check_at(&self, step: usize) -> Result<()> {
        if step % Cancel::OFTEN == Cancel::OFTEN - 1 { self.check() } else { Ok(()) }
    }

    /// The error with which an interrupted run ends.
    #[cold]
    pub fn error(&self) -> Error {
        match self.state.load(Ordering::Relaxed) {
            TIMED_OUT => {
                Cause::Timeout { seconds: f64::from_bits(self.timeout.load(Ordering::Relaxed)) }.into()
            }
            _ => Cause::Interrupted.into(),
        }
    }
}
