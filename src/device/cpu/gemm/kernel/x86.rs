//! The tiles of x86 processors.

use std::arch::x86_64::*;
use std::mem::transmute;

use crate::device::cpu::gemm::tall::Tall;
use crate::device::cpu::gemm::tiles::*;

use super::tall::tall;

vector!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_mul_ps);
vector!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_mul_pd);
vector!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_mul_ps);
vector!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_mul_pd);

tables!(
    avx512_f32,
    __m512,
    f32,
    transpose_16,
    [1 2 3 4 5 6 7 8 9 10 11 12 13 14],
    [__m512: 2 __m512: 1 __m256: 1],
    "avx512f"
);
tables!(
    avx512_f64,
    __m512d,
    f64,
    transpose::<f64, 8>,
    [1 2 3 4 5 6 7 8 9 10 11 12 13 14],
    [__m512d: 2 __m512d: 1 __m256d: 1],
    "avx512f"
);
pairs!(avx512_pairs, Pairs, transpose_16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], "avx512f,avx512bf16");
tables!(avx2_f32, __m256, f32, transpose::<f32, 8>, [1 2 3 4 5 6], [__m256: 2 __m256: 1], "avx2,fma");
tables!(avx2_f64, __m256d, f64, transpose::<f64, 4>, [1 2 3 4 5 6], [__m256d: 2 __m256d: 1], "avx2,fma");

/// Sixteen pairs of bfloat16, in memory that is handled as float32.
#[derive(Clone, Copy)]
struct Pairs(__m512);

impl Vector for Pairs {
    type E = f32;
    const LANES: usize = 16;
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: only code compiled for the instruction set gets here.
        Pairs(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as above, and the caller's promise.
        Pairs(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        Pairs(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        Pairs(unsafe { _mm512_mul_ps(self.0, b.0) })
    }
    /// Both products of each pair, summed in float32.
    #[inline(always)]
    unsafe fn product(self, b: Self, c: Self) -> Self {
        // SAFETY: as above; the types have the same 64 bytes.
        Pairs(unsafe {
            _mm512_dpbf16_ps(c.0, transmute::<__m512, __m512bh>(self.0), transmute::<__m512, __m512bh>(b.0))
        })
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // SAFETY: a prefetch of any address has no effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}

/// Whole vectors are stored in the order of the columns, so that where a column is narrower than a vector
/// the next one overwrites the excess.
#[target_feature(enable = "avx512f")]
unsafe fn transpose_16(from: *const f32, stride: isize, rows: usize, to: *mut f32, width: usize) {
    let last = rows.saturating_sub(1);
    let mut r = [_mm512_setzero_ps(); 16];
    for (i, r) in r.iter_mut().enumerate() {
        // SAFETY: row `rows - 1` stands in for those past it; rows have 16 readable elements.
        *r = unsafe { _mm512_loadu_ps(from.offset(i.min(last) as isize * stride)) };
    }
    let mut columns = [_mm512_setzero_ps(); 16];
    let quads: [[__m512; 4]; 4] =
        std::array::from_fn(|q| quad([r[4 * q], r[4 * q + 1], r[4 * q + 2], r[4 * q + 3]]));
    for c in 0..4 {
        let (a, b, d, e) = (quads[0][c], quads[1][c], quads[2][c], quads[3][c]);
        let (even, odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
        let (even2, odd2) = (_mm512_shuffle_f32x4::<0x88>(d, e), _mm512_shuffle_f32x4::<0xdd>(d, e));
        columns[c] = _mm512_shuffle_f32x4::<0x88>(even, even2);
        columns[8 + c] = _mm512_shuffle_f32x4::<0xdd>(even, even2);
        columns[4 + c] = _mm512_shuffle_f32x4::<0x88>(odd, odd2);
        columns[12 + c] = _mm512_shuffle_f32x4::<0xdd>(odd, odd2);
    }
    for (p, &column) in columns.iter().enumerate() {
        // SAFETY: 16 elements from the start of each column are writable.
        unsafe { _mm512_storeu_ps(to.add(p * width), column) };
    }
}

/// Lane `l` of vector `c` holds column `4 l + c` of four rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn quad([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    let low = |x, y| _mm512_castps_pd(_mm512_unpacklo_ps(x, y));
    let high = |x, y| _mm512_castps_pd(_mm512_unpackhi_ps(x, y));
    let (ab0, ab1, cd0, cd1) = (low(a, b), high(a, b), low(c, d), high(c, d));
    [
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab0, cd0)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab0, cd0)),
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab1, cd1)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab1, cd1)),
    ]
}
