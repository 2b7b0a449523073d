//! Lists of tensors and of numbers whose length a script chooses.

use crate::base::{Error, Result, memory};
use crate::device::poll;
use crate::tensor::Tensor;

/// Fails where a list of `n` items, such as "numbers", is longer than an array of a script may be.
pub fn check(n: usize, items: &str) -> Result<()> {
    if n <= MOST {
        return Ok(());
    }
    Err(Error::runtime(format!("{n} {items} are too many for one list"))
        .with_hint(format!("an array holds at most {MOST}; a tensor has no such limit")))
}

/// `n` tensors, by their numbers. Too many are refused before the first is made.
pub fn tensors(n: usize, make: impl FnMut(usize) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    check(n, "tensors")?;
    if n > SEVERAL {
        drop(memory::with_capacity::<[u8; EACH]>(n)?);
    }
    poll::collected((0..n).map(make))
}

/// The same of tensors with memory of their own, each as large as `of`.
pub fn copies(n: usize, of: &Tensor, make: impl FnMut(usize) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    if n > SEVERAL {
        let each = of.nbytes().saturating_add(OWN);
        drop(memory::with_capacity::<u8>(n.saturating_mul(each))?);
    }
    tensors(n, make)
}

/// A CPU tensor of `count` integers, in the order in which they come.
pub fn integers(numbers: impl IntoIterator<Item = i64>, count: usize) -> Result<Tensor> {
    let mut all = memory::with_capacity(count)?;
    for (step, number) in numbers.into_iter().take(count).enumerate() {
        poll::at(step)?;
        memory::push(&mut all, number)?;
    }
    Tensor::from_i64(&all, &[all.len()])
}

/// The most tensors of one list: an array of a script holds no more.
const MOST: usize = 1 << 20;

/// What a tensor takes beside its place in the list, about.
const EACH: usize = 256;

/// What a tensor's memory takes beside its elements, about: what an allocator keeps of it, and what its events tell.
const OWN: usize = 1024;

/// From so many tensors on, memory for all of them is asked for before the first is made.
const SEVERAL: usize = 4096;
