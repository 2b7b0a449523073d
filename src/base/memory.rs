//! Host memory whose size a script or a file chooses: what the system refuses is an error that says how many bytes
//! were asked for, never the end of the process.
//!
//! The collections' own functions that ask for memory by number are refused by `clippy.toml`.

use super::{DeviceCause, Error, Result};

/// An empty vector with room for `n` elements.
pub(crate) fn with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(n).map_err(|_| refused::<T>(n))?;
    Ok(all)
}

/// `n` times a value.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut all = with_capacity(n)?;
    all.resize(n, value);
    Ok(all)
}

/// A copy of `values`.
pub fn copied<T: Clone>(values: &[T]) -> Result<Vec<T>> {
    let mut all = with_capacity(values.len())?;
    all.extend_from_slice(values);
    Ok(all)
}

/// The items of an iterator. What knows its length takes its memory at once.
pub fn collected<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let (least, most) = items.size_hint();
    let mut all = with_capacity(least)?;
    if most == Some(least) {
        all.extend(items);
        return Ok(all);
    }
    for item in items {
        push(&mut all, item)?;
    }
    Ok(all)
}

/// The items of an iterator whose items may fail, up to the first error.
pub(crate) fn try_collected<T>(items: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut all = match items.size_hint() {
        (least, Some(most)) if least == most => with_capacity(least)?,
        _ => Vec::new(),
    };
    for item in items {
        push(&mut all, item?)?;
    }
    Ok(all)
}

/// Appends a value, with room for more where a vector grows.
#[inline]
pub fn push<T>(to: &mut Vec<T>, value: T) -> Result<()> {
    if to.len() == to.capacity() {
        reserve(to, 1)?;
    }
    to.push(value);
    Ok(())
}

/// Makes room for `more` elements.
pub(crate) fn reserve<T>(to: &mut Vec<T>, more: usize) -> Result<()> {
    to.try_reserve(more).map_err(|_| refused::<T>(to.len().saturating_add(more)))
}

/// Appends copies of `values`.
pub fn append<T: Clone>(to: &mut Vec<T>, values: &[T]) -> Result<()> {
    reserve(to, values.len())?;
    to.extend_from_slice(values);
    Ok(())
}

/// `sizes` multiplied, for memory of so many elements of `T`.
pub fn count<T>(sizes: &[usize]) -> Result<usize> {
    let all = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
    all.ok_or_else(|| refused::<T>(usize::MAX))
}

/// The error of `n` elements for which there is no memory.
#[cold]
pub fn refused<T>(n: usize) -> Error {
    DeviceCause::HostMemory { bytes: n.saturating_mul(size_of::<T>()) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_memory_is_an_error() {
        let full = |error: Error| {
            matches!(error.cause(), crate::base::Cause::Device(DeviceCause::HostMemory { .. }))
        };
        assert!(full(with_capacity::<u64>(usize::MAX).unwrap_err()));
        assert!(full(with_capacity::<u8>(usize::MAX / 4).unwrap_err()));
        assert!(full(filled(usize::MAX, 'a').unwrap_err()));
        assert!(full(collected(0..usize::MAX).unwrap_err()));
        assert!(full(try_collected((0..usize::MAX).map(Ok)).unwrap_err()));
        assert!(full(count::<u8>(&[1 << 32, 1 << 32]).unwrap_err()));
        assert_eq!(refused::<u64>(3).message(), Error::from(DeviceCause::HostMemory { bytes: 24 }).message());
    }

    #[test]
    fn items_come_in_order_whether_their_number_is_known_or_not() {
        assert_eq!(collected(0..3).unwrap(), [0, 1, 2]);
        assert_eq!(collected((0..9).filter(|n| n % 2 == 0)).unwrap(), [0, 2, 4, 6, 8]);
        assert_eq!(try_collected((0..3).map(Ok)).unwrap(), [0, 1, 2]);
        let stopped = try_collected((0..3).map(|n| if n < 2 { Ok(n) } else { Err(Error::value("no")) }));
        assert_eq!(stopped.unwrap_err().message(), "no");
        let mut all = copied(&[1, 2]).unwrap();
        append(&mut all, &[3]).unwrap();
        push(&mut all, 4).unwrap();
        assert_eq!(all, [1, 2, 3, 4]);
        assert_eq!(filled(2, 'a').unwrap(), ['a', 'a']);
        assert_eq!(count::<u8>(&[2, 3]).unwrap(), 6);
    }
}
