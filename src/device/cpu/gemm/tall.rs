//! Filters of one channel over several rows of a picture at once: each of its rows is read once for a column of the filter,
//! not once for each tap, since most reads cross two lines of the cache.

/// Rows of outputs that are summed together.
pub(crate) const TALL: usize = 4;

/// Rows of the filters that there are functions for.
pub(crate) const TALL_HEIGHTS: [usize; 3] = [3, 5, 7];

/// Rows of outputs: element `i, j` is `bias` plus the sum of `factors[y][x]` times what lies `offsets[x]` and `y` pitches
/// behind `from + i * pitch + j`. A row's last panel, and the last rows, may begin within those before: what both hold is
/// the same.
pub(crate) struct Tall<E> {
    /// Columns of the filter.
    pub across: usize,
    /// Row by row.
    pub factors: *const E,
    /// Of the filter's first row; as many as there are columns.
    pub offsets: *const isize,
    pub from: *const E,
    pub pitch: usize,
    /// At least [`TALL`].
    pub rows: usize,
    /// At least the function's width.
    pub columns: usize,
    pub to: *mut E,
    /// From one row of outputs to the next.
    pub width: usize,
    pub bias: E,
}

/// # Safety
/// All elements that it names must be readable, and those of `to` writable and the caller's alone.
pub(crate) type TallFn<E> = unsafe fn(&Tall<E>);

/// How many columns functions sum at once, and those for each of [`TALL_HEIGHTS`].
pub(super) type TallRow<E> = (usize, [TallFn<E>; 3]);
