//! Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011), and how CUDA's curand and PyTorch draw from it.

/// Random bits as a function of a place: no state but where one is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Philox {
    key: [u32; 2],
    /// Blocks of four numbers that earlier draws have used, in each thread.
    block: u64,
}

impl Philox {
    /// A generator of PyTorch's seed and offset; an offset counts single numbers and is a multiple of four.
    pub(crate) fn new(seed: u64, offset: u64) -> Philox {
        Philox { key: [seed as u32, (seed >> 32) as u32], block: offset / 4 }
    }

    /// What thread `thread` (curand's subsequence) gets in its call `call`.
    #[inline]
    pub(crate) fn draw(&self, thread: u64, call: u64) -> [u32; 4] {
        let block = self.block.wrapping_add(call);
        block_of([block as u32, (block >> 32) as u32, thread as u32, (thread >> 32) as u32], self.key)
    }

    /// The four numbers of the call that element `i` of a tensor belongs to, and which of them is its own.
    ///
    /// PyTorch's kernels run `threads` threads; each call of a thread serves the elements `threads` apart,
    /// `per_call` of them (four single numbers, or two double ones).
    #[inline]
    pub(crate) fn element(&self, i: u64, threads: u64, per_call: u64) -> ([u32; 4], usize) {
        let turn = i / threads;
        (self.draw(i % threads, turn / per_call), (turn % per_call) as usize)
    }
}

impl Philox {
    /// Numbers in `0 < x <= 1` without end for element `i` of a draw, where it is not known how many it takes: from
    /// subsequences that belong to this draw alone.
    pub(crate) fn endless(&self, i: u64) -> impl FnMut() -> f64 {
        let (own, thread) = (*self, i.wrapping_add(self.block.wrapping_add(1) << 32));
        let mut used = 0u64;
        move || {
            let [a, b, c, d] = own.draw(thread, used / 2);
            used += 1;
            if used % 2 == 1 { uniform_f64(a, b) } else { uniform_f64(c, d) }
        }
    }

    /// What thread `thread` gets one number at a time, as from `curand`.
    pub(crate) fn each(&self, thread: u64) -> impl FnMut() -> u32 {
        let own = *self;
        let (mut bits, mut used) = ([0; 4], 0u64);
        move || {
            if used.is_multiple_of(4) {
                bits = own.draw(thread, used / 4);
            }
            used += 1;
            bits.get((used - 1) as usize % 4).copied().unwrap_or(0)
        }
    }
}

/// Threads that PyTorch starts for `n` elements: blocks of 256, one thread to an element. On a device the
/// number of blocks is capped by its multiprocessors (`most`), and threads then serve several elements.
pub fn threads(n: u64, most: u64) -> u64 {
    n.div_ceil(THREADS_PER_BLOCK).clamp(1, (most / THREADS_PER_BLOCK).max(1)) * THREADS_PER_BLOCK
}

/// Threads of PyTorch's blocks that a device of so many multiprocessors runs at a time.
pub fn resident(multiprocessors: u32, threads_each: u32) -> u64 {
    let blocks = u64::from(multiprocessors) * (u64::from(threads_each) / THREADS_PER_BLOCK);
    blocks.max(1) * THREADS_PER_BLOCK
}

/// By how much a draw of `n` elements moves the generator: four numbers for each call that a thread makes.
pub fn used(n: u64, most: u64, per_call: u64) -> u64 {
    let served = threads(n, most).saturating_mul(per_call.max(1));
    (n.saturating_sub(1) / served + 1).saturating_mul(4)
}

const THREADS_PER_BLOCK: u64 = 256;

/// Rows that draws by row serve at a time: the most blocks that a grid has along its second dimension.
pub(crate) const MOST_ROWS: u64 = 65_535;

/// A float32 in `0 < x <= 1`, as `curand_uniform`.
#[inline]
pub(crate) fn uniform_f32(bits: u32) -> f32 {
    const SCALE: f32 = 1.0 / 4_294_967_296.0;
    bits as f32 * SCALE + SCALE / 2.0
}

/// A float64 in `0 < x <= 1`, as `curand_uniform2_double` makes of two numbers.
#[inline]
pub(crate) fn uniform_f64(low: u32, high: u32) -> f64 {
    const SCALE: f64 = 1.0 / 9_007_199_254_740_992.0;
    (u64::from(low) ^ (u64::from(high) << 21)) as f64 * SCALE + SCALE / 2.0
}

/// Four standard normal float32, as `curand_normal4`.
#[inline]
pub(crate) fn normal_f32([a, b, c, d]: [u32; 4]) -> [f32; 4] {
    let pair = |x: u32, y: u32| {
        const TURN: f32 = std::f32::consts::TAU / 4_294_967_296.0;
        let radius = (-2.0 * uniform_f32(x).ln()).sqrt();
        let (sin, cos) = (y as f32 * TURN + TURN / 2.0).sin_cos();
        [radius * sin, radius * cos]
    };
    let ([x, y], [z, w]) = (pair(a, b), pair(c, d));
    [x, y, z, w]
}

/// Two standard normal float64, as `curand_normal2_double`.
#[inline]
pub(crate) fn normal_f64([a, b, c, d]: [u32; 4]) -> [f64; 2] {
    let radius = (-2.0 * uniform_f64(a, b).ln()).sqrt();
    let (sin, cos) = (uniform_f64(c, d) * std::f64::consts::TAU).sin_cos();
    [radius * sin, radius * cos]
}

/// Ten rounds of the cipher.
#[inline]
fn block_of(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let (x, y) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        counter = [(y >> 32) as u32 ^ b ^ key[0], y as u32, (x >> 32) as u32 ^ d ^ key[1], x as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_answers_of_random123() {
        let kats = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, want) in kats {
            assert_eq!(block_of(counter, key), want);
        }
    }

    #[test]
    fn places_do_not_repeat() {
        let g = Philox::new(7, 0);
        assert_eq!(g.draw(3, 1), Philox::new(7, 4).draw(3, 0));
        assert_ne!(g.draw(3, 0), g.draw(4, 0));
        assert_ne!(g.draw(3, 0), Philox::new(8, 0).draw(3, 0));
        assert_ne!(g.draw(0, 0), Philox::new(7 << 32, 0).draw(0, 0));
        // 512 threads, four elements to a call: 512 is the second number of thread 0.
        assert_eq!(g.element(512, 512, 4), (g.draw(0, 0), 1));
        assert_eq!(g.element(5 * 512 + 2, 512, 4), (g.draw(2, 1), 1));
    }

    #[test]
    fn as_many_threads_as_elements_up_to_a_limit() {
        assert_eq!(threads(0, 1 << 20), 256);
        assert_eq!(threads(257, 1 << 20), 512);
        assert_eq!(threads(1 << 30, 80 * 2048), 80 * 2048);
        assert_eq!(resident(40, 1024), 40 * 1024);
        assert_eq!(resident(28, 1536), 28 * 1536, "six blocks of 256 each");
    }

    #[test]
    fn a_draw_moves_the_generator_by_what_its_busiest_thread_takes() {
        let t4 = resident(40, 1024);
        assert_eq!(used(1, t4, 4), 4);
        assert_eq!(used(4 * t4, t4, 4), 4);
        assert_eq!(used(4 * t4 + 1, t4, 4), 8);
        assert_eq!(used(4 * t4 + 1, resident(132, 2048), 4), 4, "more threads, fewer calls");
        assert_eq!(used(4 * t4, t4, 2), 8, "float64 takes twice as many");
    }

    #[test]
    fn numbers_one_at_a_time_are_those_of_the_blocks() {
        let g = Philox::new(5, 8);
        let mut next = g.each(77);
        let drawn: Vec<u32> = (0..9).map(|_| next()).collect();
        assert_eq!(drawn[..4], g.draw(77, 0));
        assert_eq!(drawn[4..8], g.draw(77, 1));
        assert_eq!(drawn[8], g.draw(77, 2)[0]);
    }

    #[test]
    fn numbers_lie_where_curand_has_them() {
        assert_eq!(uniform_f32(u32::MAX), 1.0);
        assert!(uniform_f32(0) > 0.0 && uniform_f64(0, 0) > 0.0);
        assert!(uniform_f64(u32::MAX, u32::MAX) <= 1.0);
        let g = Philox::new(1, 0);
        let n = 40_000;
        let values: Vec<f64> = (0..n).flat_map(|i| normal_f32(g.draw(i, 0)).map(f64::from)).collect();
        let doubles: Vec<f64> = (0..2 * n).flat_map(|i| normal_f64(g.draw(i, 1))).collect();
        for values in [values, doubles] {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
            assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        }
    }
}
