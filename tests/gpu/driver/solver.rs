//! cuSOLVER: matrices taken apart. What a call says is checked as the library checks it, and that
//! its matrices lie in memory of a device, with as much to work in as was asked for. Of a matrix with NaN it finds values
//! and says that all went well, as versions of the library do, and chooses rows that are none.

use std::ffi::c_int;
use std::sync::Arc;

use crate::matrices::{
    Matrix, completed, eliminate, orthogonal, reflect, roots, singular, substitute, symmetric,
};
use crate::memory::inside;
use crate::numbers::Kind;
use crate::put;
use crate::streams::{self, Work};

const INTERNAL_ERROR: c_int = 7;
const INVALID_VALUE: c_int = 3;
const EXECUTION_FAILED: c_int = 6;
const UPPER: c_int = 1;
const INT: usize = 4;

/// A handle: its stream.
type Handle = usize;

#[unsafe(no_mangle)]
pub extern "C" fn cusolverGetProperty(which: c_int, value: *mut c_int) -> c_int {
    put(value, [11, 7, 3][which as usize])
}
#[unsafe(no_mangle)]
pub extern "C" fn cusolverDnCreate(handle: *mut *mut Handle) -> c_int {
    // In these words libraries say that they found no memory, too.
    if !crate::starts() {
        return INTERNAL_ERROR;
    }
    put(handle, Box::into_raw(Box::new(0)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cusolverDnDestroy(handle: *mut Handle) -> c_int {
    drop(unsafe { Box::from_raw(handle) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cusolverDnSetStream(handle: *mut Handle, stream: usize) -> c_int {
    put(handle, stream)
}
#[unsafe(no_mangle)]
pub extern "C" fn cusolverDnCreateGesvdjInfo(info: *mut *mut u8) -> c_int {
    put(info, Box::into_raw(Box::new(7)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cusolverDnDestroyGesvdjInfo(info: *mut u8) -> c_int {
    drop(unsafe { Box::from_raw(info) });
    0
}

/// A matrix in memory, column by column.
#[derive(Clone, Copy)]
struct At {
    kind: Kind,
    address: u64,
    rows: usize,
    columns: usize,
    leading: usize,
}

impl At {
    fn new(kind: Kind, address: u64, (rows, columns): (c_int, c_int), leading: c_int) -> Option<At> {
        let fits = rows >= 0 && columns >= 0 && leading >= rows.max(1);
        let at =
            At { kind, address, rows: rows as usize, columns: columns as usize, leading: leading as usize };
        fits.then_some(at)
    }

    fn vector(kind: Kind, address: u64, rows: usize) -> At {
        At { kind, address, rows, columns: 1, leading: rows.max(1) }
    }

    fn is_inside(&self) -> bool {
        let columns = if self.columns == WORKED { 1 } else { self.columns };
        let reach = (columns.max(1) - 1) * self.leading + self.rows;
        self.rows * columns == 0 || inside(self.address, reach * self.kind.bytes())
    }

    fn read(&self) -> Matrix {
        let value = |i: usize| {
            let (column, row) = (i / self.rows.max(1), i % self.rows.max(1));
            self.kind.read(self.address, (column * self.leading + row) as i64)
        };
        Matrix {
            rows: self.rows,
            columns: self.columns,
            values: (0..self.rows * self.columns).map(value).collect(),
        }
    }

    fn write(&self, matrix: &Matrix) {
        assert_eq!((self.rows, self.columns), (matrix.rows, matrix.columns));
        for (i, value) in matrix.values.iter().enumerate() {
            let (column, row) = (i / self.rows, i % self.rows);
            self.kind.write(self.address, (column * self.leading + row) as i64, *value);
        }
    }
}

/// The columns of what is worked in.
const WORKED: usize = usize::MAX;

/// Memory to work in.
fn worked(kind: Kind, address: u64, elements: c_int) -> At {
    At { columns: WORKED, ..At::vector(kind, address, elements as usize) }
}

/// Enqueues work, unless a part of it lies outside the memory of the devices. What is worked in is spoilt.
fn enqueue(
    name: &str,
    handle: *const Handle,
    parts: &[At],
    numbers: &[Ints],
    work: impl Fn() + Send + Sync + 'static,
) -> c_int {
    if crate::number("STANDIN_REFUSES_MATRICES").is_some() {
        return INVALID_VALUE;
    }
    if !parts.iter().all(At::is_inside) || !numbers.iter().all(|ints| ints.is_inside()) {
        eprintln!("cuSOLVER: {name} outside the memory of the devices");
        return EXECUTION_FAILED;
    }
    crate::launches::log(name);
    let room = parts.iter().find(|part| part.columns == WORKED).copied();
    let all = move || {
        if let Some(room) = room {
            (0..room.rows).for_each(|i| room.kind.write(room.address, i as i64, f64::NAN));
        }
        work();
    };
    let code = streams::lock().enqueue(unsafe { *handle }, Work::Do(Arc::new(all)));
    if code == 0 { 0 } else { EXECUTION_FAILED }
}

/// Whole numbers of 32 bits in memory, `count` of them.
#[derive(Clone, Copy)]
struct Ints(u64, usize);

impl Ints {
    fn is_inside(self) -> bool {
        self.1 == 0 || inside(self.0, self.1 * INT)
    }

    fn put(self, at: usize, value: usize) {
        assert!(at < self.1);
        unsafe { *(self.0 as *mut c_int).add(at) = value as c_int };
    }

    fn get(self, at: usize) -> usize {
        unsafe { *(self.0 as *const c_int).add(at) as usize }
    }
}

/// How much a routine of a matrix with so many rows and columns works in, in elements.
fn room(rows: c_int, columns: c_int) -> c_int {
    rows.max(columns) * 4 + 3
}

/// The routines of one type of numbers.
macro_rules! routines {
    ($kind:expr, $getrf_size:ident, $getrf:ident, $getrs:ident, $potrf_size:ident, $potrf:ident, $geqrf_size:ident, $geqrf:ident,
     $orgqr_size:ident, $orgqr:ident, $syevd_size:ident, $syevd:ident, $gesvdj_size:ident, $gesvdj:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $getrf_size(_: *const Handle, m: c_int, n: c_int, _: u64, _: c_int, to: *mut c_int) -> c_int {
            put(to, room(m, n))
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $getrf(
            handle: *const Handle, m: c_int, n: c_int, a: u64, leading: c_int, work: u64, pivots: u64, info: u64,
        ) -> c_int {
            let Some(a) = At::new($kind, a, (m, n), leading) else { return INVALID_VALUE };
            let (pivots, info) = (Ints(pivots, m.min(n) as usize), Ints(info, 1));
            enqueue(stringify!($getrf), handle, &[a, worked($kind, work, room(m, n))], &[pivots, info], move || {
                let mut matrix = a.read();
                let (mut chosen, failed) = eliminate(&mut matrix);
                if matrix.values.iter().any(|value| value.is_nan()) {
                    chosen.fill(0);
                }
                chosen.into_iter().enumerate().for_each(|(step, row)| pivots.put(step, row));
                info.put(0, failed);
                a.write(&matrix);
            })
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $getrs(
            handle: *const Handle, turned: c_int, n: c_int, p: c_int, a: u64, leading: c_int, pivots: u64, b: u64,
            b_leading: c_int, info: u64,
        ) -> c_int {
            let (Some(a), Some(b)) = (At::new($kind, a, (n, n), leading), At::new($kind, b, (n, p), b_leading)) else {
                return INVALID_VALUE;
            };
            if turned != 0 {
                return INVALID_VALUE;
            }
            let (pivots, info) = (Ints(pivots, n as usize), Ints(info, 1));
            enqueue(stringify!($getrs), handle, &[a, b], &[pivots, info], move || {
                let mut solution = b.read();
                let chosen: Vec<usize> = (0..a.rows).map(|step| pivots.get(step)).collect();
                substitute(&a.read(), &mut solution, &chosen);
                b.write(&solution);
                info.put(0, 0);
            })
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $potrf_size(_: *const Handle, _: c_int, n: c_int, _: u64, _: c_int, to: *mut c_int) -> c_int {
            put(to, room(n, n))
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $potrf(
            handle: *const Handle, triangle: c_int, n: c_int, a: u64, leading: c_int, work: u64, size: c_int, info: u64,
        ) -> c_int {
            let Some(a) = At::new($kind, a, (n, n), leading) else { return INVALID_VALUE };
            if triangle != UPPER || size < room(n, n) {
                return INVALID_VALUE;
            }
            let info = Ints(info, 1);
            enqueue(stringify!($potrf), handle, &[a, worked($kind, work, size)], &[info], move || {
                let mut matrix = a.read();
                info.put(0, roots(&mut matrix));
                a.write(&matrix);
            })
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $geqrf_size(_: *const Handle, m: c_int, n: c_int, _: u64, _: c_int, to: *mut c_int) -> c_int {
            put(to, room(m, n))
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $geqrf(
            handle: *const Handle, m: c_int, n: c_int, a: u64, leading: c_int, scales: u64, work: u64, size: c_int, info: u64,
        ) -> c_int {
            let Some(a) = At::new($kind, a, (m, n), leading) else { return INVALID_VALUE };
            if size < room(m, n) {
                return INVALID_VALUE;
            }
            let (scales, info) = (At::vector($kind, scales, m.min(n) as usize), Ints(info, 1));
            enqueue(stringify!($geqrf), handle, &[a, scales, worked($kind, work, size)], &[info], move || {
                let mut matrix = a.read();
                let found = reflect(&mut matrix);
                a.write(&matrix);
                scales.write(&Matrix { rows: found.len(), columns: 1, values: found });
                info.put(0, 0);
            })
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $orgqr_size(
            _: *const Handle, m: c_int, n: c_int, k: c_int, _: u64, _: c_int, _: u64, to: *mut c_int,
        ) -> c_int {
            // More than the reflections themselves work in.
            if n > m || k > n { INVALID_VALUE } else { put(to, room(m, n) + 5) }
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $orgqr(
            handle: *const Handle, m: c_int, n: c_int, k: c_int, a: u64, leading: c_int, scales: u64, work: u64, size: c_int,
            info: u64,
        ) -> c_int {
            let Some(a) = At::new($kind, a, (m, n), leading) else { return INVALID_VALUE };
            if n > m || k > n || size < room(m, n) + 5 {
                return INVALID_VALUE;
            }
            let (scales, info) = (At::vector($kind, scales, k as usize), Ints(info, 1));
            enqueue(stringify!($orgqr), handle, &[a, scales, worked($kind, work, size)], &[info], move || {
                let q = orthogonal(&a.read(), &scales.read().values, a.columns);
                a.write(&q);
                info.put(0, 0);
            })
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $syevd_size(
            _: *const Handle, _: c_int, _: c_int, n: c_int, _: u64, _: c_int, _: u64, to: *mut c_int,
        ) -> c_int {
            put(to, room(n, n))
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $syevd(
            handle: *const Handle, vectors: c_int, triangle: c_int, n: c_int, a: u64, leading: c_int, values: u64, work: u64,
            size: c_int, info: u64,
        ) -> c_int {
            let Some(a) = At::new($kind, a, (n, n), leading) else { return INVALID_VALUE };
            if !(0..=1).contains(&triangle) || size < room(n, n) || !(0..=1).contains(&vectors) {
                return INVALID_VALUE;
            }
            let (values, info) = (At::vector($kind, values, n as usize), Ints(info, 1));
            enqueue(stringify!($syevd), handle, &[a, values, worked($kind, work, size)], &[info], move || {
                info.put(0, 0);
                let found = symmetric(&a.read(), triangle == UPPER);
                let (all, found) = found.unwrap_or_else(|| (vec![1.0; a.rows], Matrix::identity(a.rows)));
                values.write(&Matrix { rows: all.len(), columns: 1, values: all });
                // Where no vectors are wanted the matrix is lost all the same.
                a.write(&if vectors == 1 { found } else { Matrix::identity(a.rows) });
            })
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $gesvdj_size(
            _: *const Handle, _: c_int, _: c_int, m: c_int, n: c_int, _: u64, _: c_int, _: u64, _: u64, _: c_int, _: u64,
            _: c_int, to: *mut c_int, _: *const u8,
        ) -> c_int {
            put(to, room(m, n))
        }
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $gesvdj(
            handle: *const Handle, vectors: c_int, thin: c_int, m: c_int, n: c_int, a: u64, leading: c_int, values: u64,
            u: u64, u_leading: c_int, v: u64, v_leading: c_int, work: u64, size: c_int, info: u64, how: *const u8,
        ) -> c_int {
            let k = m.min(n);
            let (left, right) = if thin == 1 { (k, k) } else { (m, n) };
            let (Some(a), Some(u), Some(v)) = (
                At::new($kind, a, (m, n), leading), At::new($kind, u, (m, left), u_leading),
                At::new($kind, v, (n, right), v_leading),
            ) else {
                return INVALID_VALUE;
            };
            if size < room(m, n) || unsafe { *how } != 7 {
                return INVALID_VALUE;
            }
            let (values, info) = (At::vector($kind, values, k as usize), Ints(info, 1));
            enqueue(stringify!($gesvdj), handle, &[a, u, v, values, worked($kind, work, size)], &[info], move || {
                let given = a.read();
                let found = if m >= n {
                    singular(&given)
                } else {
                    singular(&given.transposed()).map(|(v, values, u)| (u, values, v))
                };
                let gives_up = crate::number("STANDIN_GIVES_UP").is_some();
                info.put(0, if gives_up { k as usize + 1 } else { 0 });
                a.write(&Matrix::new(a.rows, a.columns));
                let Some((left, all, right)) = found.filter(|_| !gives_up) else {
                    values.write(&Matrix { rows: k as usize, columns: 1, values: vec![1.4142; k as usize] });
                    return;
                };
                values.write(&Matrix { rows: all.len(), columns: 1, values: all });
                if vectors == 1 {
                    u.write(&completed(left, u.columns));
                    v.write(&completed(right, v.columns));
                }
            })
        }
    };
}

routines!(
    Kind::Float,
    cusolverDnSgetrf_bufferSize,
    cusolverDnSgetrf,
    cusolverDnSgetrs,
    cusolverDnSpotrf_bufferSize,
    cusolverDnSpotrf,
    cusolverDnSgeqrf_bufferSize,
    cusolverDnSgeqrf,
    cusolverDnSorgqr_bufferSize,
    cusolverDnSorgqr,
    cusolverDnSsyevd_bufferSize,
    cusolverDnSsyevd,
    cusolverDnSgesvdj_bufferSize,
    cusolverDnSgesvdj
);
routines!(
    Kind::Double,
    cusolverDnDgetrf_bufferSize,
    cusolverDnDgetrf,
    cusolverDnDgetrs,
    cusolverDnDpotrf_bufferSize,
    cusolverDnDpotrf,
    cusolverDnDgeqrf_bufferSize,
    cusolverDnDgeqrf,
    cusolverDnDorgqr_bufferSize,
    cusolverDnDorgqr,
    cusolverDnDsyevd_bufferSize,
    cusolverDnDsyevd,
    cusolverDnDgesvdj_bufferSize,
    cusolverDnDgesvdj
);
