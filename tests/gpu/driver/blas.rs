//! cuBLAS: products of matrices that lie column by column, by three loops. What a call says is checked as cuBLAS checks
//! it, and that its matrices lie in memory of a device.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::memory::inside;
use crate::numbers::{Kind, tf32};
use crate::put;
use crate::streams::{self, Work};

const NOT_INITIALIZED: c_int = 1;
const INVALID_VALUE: c_int = 7;
const EXECUTION_FAILED: c_int = 13;
const NOT_SUPPORTED: c_int = 15;

const FAST_TF32: c_int = 77;

/// A handle: its stream.
type Handle = usize;

#[unsafe(no_mangle)]
pub extern "C" fn cublasGetProperty(which: c_int, value: *mut c_int) -> c_int {
    put(value, [12, 8, 0][which as usize])
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasCreate_v2(handle: *mut *mut Handle) -> c_int {
    // In these words libraries say that they found no memory, too.
    if !crate::starts() {
        return NOT_INITIALIZED;
    }
    put(handle, Box::into_raw(Box::new(0)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasDestroy_v2(handle: *mut Handle) -> c_int {
    drop(unsafe { Box::from_raw(handle) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetStream_v2(handle: *mut Handle, stream: usize) -> c_int {
    put(handle, stream)
}

/// Equally spaced matrices.
#[derive(Clone, Copy)]
struct Matrices {
    address: u64,
    kind: Kind,
    rows: i64,
    columns: i64,
    leading: i64,
    apart: i64,
}

impl Matrices {
    fn at(&self, matrix: i64, row: i64, column: i64) -> i64 {
        matrix * self.apart + row + column * self.leading
    }

    /// Whether all of them lie in a device's memory.
    fn are_inside(&self, count: i64) -> bool {
        if self.rows * self.columns * count == 0 {
            return true;
        }
        let far = self.apart * (count - 1);
        let (first, last) = (far.min(0), far.max(0) + self.at(0, self.rows - 1, self.columns - 1) + 1);
        let bytes = self.kind.bytes() as i64;
        inside(self.address.wrapping_add_signed(first * bytes), ((last - first) * bytes) as usize)
    }

    /// Whether results do not lie on each other: one behind the other, or columns between columns.
    fn lie_apart(&self, count: i64) -> bool {
        let apart = self.apart.abs();
        let behind = apart > self.at(0, self.rows - 1, self.columns - 1);
        let between = apart >= self.rows && self.leading >= apart * count;
        count < 2 || behind || between
    }

    /// The values of one, column by column.
    fn read(&self, matrix: i64, rounded: bool) -> Vec<f64> {
        let mut all = Vec::with_capacity((self.rows * self.columns) as usize);
        for column in 0..self.columns {
            for row in 0..self.rows {
                let value = self.kind.read(self.address, self.at(matrix, row, column));
                all.push(if rounded { tf32(value) } else { value });
            }
        }
        all
    }
}

struct Product {
    turned: [bool; 2],
    k: i64,
    count: i64,
    a: Matrices,
    b: Matrices,
    c: Matrices,
    alpha: f64,
    beta: f64,
    /// Of a number for each row, added before the sum is rounded; or 0.
    bias: u64,
    rounded: bool,
}

impl Product {
    fn run(&self) {
        for matrix in 0..self.count {
            self.one(matrix);
        }
    }

    fn one(&self, matrix: i64) {
        let (a, b) = (self.a.read(matrix, self.rounded), self.b.read(matrix, self.rounded));
        let (m, k) = (self.c.rows as usize, self.k as usize);
        let a = if self.turned[0] { turned(&a, k, m) } else { a };
        // Places in `b`, whose columns lie one behind the other now.
        let (b_column, b_step) = if self.turned[1] { (1, self.c.columns as usize) } else { (k, 1) };
        // A few columns at once, each element's sum in the order of `k`.
        let mut sums = vec![[0.0; WIDTH]; m];
        for first in (0..self.c.columns).step_by(WIDTH) {
            let columns = WIDTH.min((self.c.columns - first) as usize);
            sums.fill([0.0; WIDTH]);
            for (i, values) in a.chunks_exact(m.max(1)).take(k).enumerate() {
                let mut factors = [0.0; WIDTH];
                for (column, factor) in factors.iter_mut().enumerate().take(columns) {
                    *factor = b[(first as usize + column) * b_column + i * b_step];
                }
                for (sum, value) in sums.iter_mut().zip(values) {
                    for (sum, factor) in sum.iter_mut().zip(factors) {
                        *sum += value * factor;
                    }
                }
            }
            for column in 0..columns {
                for (row, sum) in sums.iter().enumerate() {
                    self.write(matrix, (row as i64, first + column as i64), sum[column]);
                }
            }
        }
    }

    fn write(&self, matrix: i64, (row, column): (i64, i64), sum: f64) {
        let at = self.c.at(matrix, row, column);
        // What is not added is not read: it may be NaN.
        let before = if self.beta == 0.0 { 0.0 } else { self.beta * self.c.kind.read(self.c.address, at) };
        let product = if self.alpha == 0.0 || self.k == 0 { 0.0 } else { self.alpha * sum };
        let bias = if self.bias == 0 { 0.0 } else { self.c.kind.read(self.bias, row) };
        self.c.kind.write(self.c.address, at, product + before + bias);
    }
}

/// Columns of a product that are computed at once.
const WIDTH: usize = 8;

/// The values of a matrix of so many rows, row by row.
fn turned(values: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows).flat_map(|row| (0..columns).map(move |column| values[column * rows + row])).collect()
}

fn kind(data: c_int, compute: c_int) -> Option<Kind> {
    match (data, compute) {
        (0, 68 | FAST_TF32) => Some(Kind::Float),
        (1, 70) => Some(Kind::Double),
        (2, 68) => Some(Kind::Half),
        (14, 68) => Some(Kind::BFloat),
        _ => None,
    }
}

fn scalar(from: *const c_void, kind: Kind) -> f64 {
    unsafe { if kind == Kind::Double { *from.cast::<f64>() } else { f64::from(*from.cast::<f32>()) } }
}

#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cublasGemmStridedBatchedEx(
    handle: *const Handle, turn_a: c_int, turn_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const c_void,
    a: u64, kind_a: c_int, lead_a: c_int, apart_a: i64,
    b: u64, kind_b: c_int, lead_b: c_int, apart_b: i64, beta: *const c_void,
    c: u64, kind_c: c_int, lead_c: c_int, apart_c: i64, count: c_int, compute: c_int, algorithm: c_int,
) -> c_int {
    if algorithm != -1 {
        return INVALID_VALUE;
    }
    let sizes = [m, n, k];
    let matrices = [(a, kind_a, i64::from(lead_a)), (b, kind_b, i64::from(lead_b)), (c, kind_c, i64::from(lead_c))];
    let batch = Batch { count, apart: [apart_a, apart_b, apart_c] };
    let turned = Turned([turn_a, turn_b]);
    multiply(unsafe { *handle }, turned, sizes, [alpha, beta], matrices, batch, compute, Bias(0))
}

/// Which of two factors lie the other way round.
pub struct Turned(pub [c_int; 2]);

/// The address of a number for each row, or 0.
pub struct Bias(pub u64);

struct Batch {
    count: c_int,
    apart: [i64; 3],
}

pub const GEMM_NOT_SUPPORTED: c_int = NOT_SUPPORTED;

/// One product of matrices given by address, type and leading size, and a bias for each of its rows.
pub fn gemm(
    stream: usize,
    turned: Turned,
    sizes: [c_int; 3],
    factors: [*const c_void; 2],
    matrices: [(u64, c_int, i64); 3],
    compute: c_int,
    bias: Bias,
) -> c_int {
    multiply(stream, turned, sizes, factors, matrices, Batch { count: 1, apart: [0; 3] }, compute, bias)
}

#[allow(clippy::too_many_arguments, reason = "as many as the library takes")]
fn multiply(
    stream: usize,
    Turned([turn_a, turn_b]): Turned,
    [m, n, k]: [c_int; 3],
    [alpha, beta]: [*const c_void; 2],
    [(a, kind_a, lead_a), (b, kind_b, lead_b), (c, kind_c, lead_c)]: [(u64, c_int, i64); 3],
    Batch { count, apart: [apart_a, apart_b, apart_c] }: Batch,
    compute: c_int,
    Bias(bias): Bias,
) -> c_int {
    let [turn_a, turn_b] = match (turn_a, turn_b) {
        (0 | 1, 0 | 1) => [turn_a == 1, turn_b == 1],
        _ => return INVALID_VALUE,
    };
    if m < 0 || n < 0 || k < 0 || count < 0 {
        return INVALID_VALUE;
    }
    let Some(kind) = kind(kind_c, compute).filter(|_| kind_a == kind_c && kind_b == kind_c) else {
        return NOT_SUPPORTED;
    };
    let matrices = |address, turned, (rows, columns): (c_int, c_int), leading: i64, apart| {
        let (rows, columns) = if turned { (columns, rows) } else { (rows, columns) };
        let (rows, columns) = (i64::from(rows), i64::from(columns));
        Matrices { address, kind, rows, columns, leading, apart }
    };
    let product = Product {
        turned: [turn_a, turn_b],
        k: i64::from(k),
        count: i64::from(count),
        a: matrices(a, turn_a, (m, k), lead_a, apart_a),
        b: matrices(b, turn_b, (k, n), lead_b, apart_b),
        c: matrices(c, false, (m, n), lead_c, apart_c),
        // Numbers are read at the call.
        alpha: scalar(alpha, kind),
        beta: scalar(beta, kind),
        bias,
        rounded: compute == FAST_TF32,
    };
    let all = [&product.a, &product.b, &product.c];
    if all.iter().any(|matrices| matrices.leading < matrices.rows.max(1)) {
        return INVALID_VALUE;
    }
    let bias_is_inside = bias == 0 || inside(bias, m as usize * kind.bytes());
    if !all.iter().all(|matrices| matrices.are_inside(product.count)) || !bias_is_inside {
        eprintln!("cuBLAS: matrices outside the memory of the devices");
        return EXECUTION_FAILED;
    }
    if !product.c.lie_apart(product.count) {
        return INVALID_VALUE;
    }
    let code = streams::lock().enqueue(stream, Work::Do(Arc::new(move || product.run())));
    if code == 0 { 0 } else { EXECUTION_FAILED }
}
