//! Generators: MT19937 as PyTorch's CPU generator has it.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard};

/// PyTorch's default seed of a fresh process (`c10::detail::getNonDeterministicRandom` is not used: runs repeat).
pub(crate) const DEFAULT_SEED: u64 = 67_280_421_310_721;

/// A generator that draws and the session share.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Mutex<Mt19937>>);

impl Shared {
    /// A generator with its seed.
    pub fn new(seed: u64) -> Shared {
        Shared(Arc::new(Mutex::new(Mt19937::new(seed))))
    }

    /// Another generator that stands where this one does.
    pub(crate) fn copied(&self) -> Shared {
        Shared(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// A number that tells generators apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The generator, while nobody else draws from it.
    pub fn lock(&self) -> MutexGuard<'_, Mt19937> {
        let state = self.0.lock().unwrap_or_else(|e| e.into_inner());
        DRAWN_FROM.with_borrow_mut(|drawn_from| match drawn_from {
            Some(all) if all.iter().all(|(other, _)| other != self) => {
                all.push((self.clone(), state.clone()))
            }
            _ => {}
        });
        state
    }
}

thread_local! {
    /// Generators that the thread draws from, and where they stood, while they are kept.
    static DRAWN_FROM: RefCell<Option<Vec<(Shared, Mt19937)>>> = const { RefCell::new(None) };
}

/// Puts all generators that this thread draws from meanwhile back to where they stood when it is dropped.
#[must_use = "generators are put back when it is dropped"]
pub(crate) struct KeptGenerators(Option<Vec<(Shared, Mt19937)>>);

impl KeptGenerators {
    pub(crate) fn begin() -> KeptGenerators {
        KeptGenerators(DRAWN_FROM.replace(Some(Vec::new())))
    }
}

impl Drop for KeptGenerators {
    fn drop(&mut self) {
        for (generator, state) in DRAWN_FROM.replace(self.0.take()).into_iter().flatten() {
            *generator.lock() = state;
        }
    }
}

/// A generator that a script holds: what is drawn with it depends on nothing else. Cloning gives the same one.
#[derive(Clone)]
pub struct Generator(pub Shared);

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The 32-bit Mersenne Twister (Matsumoto and Nishimura, 1998), seeded as `at::mt19937`.
#[derive(Clone, Debug)]
pub struct Mt19937 {
    state: [u32; N],
    next: usize,
    seed: u64,
    /// The second normal of a pair drawn for a small tensor.
    pub cached_normal: Option<f64>,
}

/// The bytes of a state: PyTorch's struct, with room behind it for a number that it never keeps there.
pub(crate) const STATE_BYTES: usize = 5056;

const N: usize = 624;
const M: usize = 397;

impl Mt19937 {
    /// Only the low 32 bits of the seed matter, as in PyTorch.
    pub fn new(seed: u64) -> Mt19937 {
        let mut state = [0u32; N];
        let mut last = seed as u32;
        for (i, slot) in state.iter_mut().enumerate() {
            if i > 0 {
                last = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
            }
            *slot = last;
        }
        Mt19937 { state, next: N, seed, cached_normal: None }
    }

    /// The seed that it was last given.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Where the generator stands, as the bytes of `torch.get_rng_state()`: `CPUGeneratorImplState` of
    /// `aten/src/ATen/CPUGeneratorImpl.cpp`, in the order of this machine's own integers.
    pub(crate) fn to_bytes(&self) -> [u8; STATE_BYTES] {
        // PyTorch counts how many numbers are left, and of a state that has only been seeded it says one.
        let is_seeded_only = self.next >= N && self.state.first() == Some(&(self.seed as u32));
        let next = if is_seeded_only { 0 } else { self.next };
        let left = if is_seeded_only { 1 } else { N + 1 - self.next };
        let numbers = self.state.iter().flat_map(|&number| u64::from(number).to_ne_bytes());
        let normal = self.cached_normal.unwrap_or(0.0);
        let is_cached = u32::from(self.cached_normal.is_some());
        let parts = self.seed.to_ne_bytes().into_iter();
        let parts = parts.chain((left as u32).to_ne_bytes()).chain(1u32.to_ne_bytes());
        let parts = parts.chain((next as u64).to_ne_bytes()).chain(numbers).chain(0f64.to_ne_bytes());
        let parts =
            parts.chain(normal.to_ne_bytes()).chain(0f64.to_ne_bytes()).chain(is_cached.to_ne_bytes());
        let mut bytes = [0; STATE_BYTES];
        bytes.iter_mut().zip(parts).for_each(|(to, byte)| *to = byte);
        bytes
    }

    /// A generator that stands where the bytes say; none where they are no state that PyTorch would take.
    pub(crate) fn from_bytes(bytes: &[u8; STATE_BYTES]) -> Option<Mt19937> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_ne_bytes(*word));
        let half = |at: usize| bytes.as_chunks::<4>().0.get(at).map_or(0, |half| u32::from_ne_bytes(*half));
        let (left, is_seeded, next) = (half(2) as i32, half(3), word(2));
        if is_seeded != 1 || !(1..=N as i32).contains(&left) || next > N as u64 {
            return None;
        }
        let mut state = [0; N];
        state.iter_mut().enumerate().for_each(|(at, number)| *number = word(3 + at) as u32);
        let next = if left == 1 { N } else { next as usize };
        let cached_normal = (half(2 * (N + 6)) != 0).then(|| f64::from_bits(word(N + 4)));
        Some(Mt19937 { state, next, seed: word(0), cached_normal })
    }

    /// 32 random bits.
    #[inline]
    pub(crate) fn next_u32(&mut self) -> u32 {
        if self.next >= N {
            self.refill();
        }
        let y = self.state.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        temper(y)
    }

    /// 64 random bits, the first draw in the high half.
    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        (high << 32) | u64::from(self.next_u32())
    }

    /// A float32 in `0..1` from 24 bits.
    #[inline]
    pub(crate) fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() & ((1 << 24) - 1)) as f32 * (1.0 / (1u32 << 24) as f32)
    }

    /// A float64 in `0..1` from 53 bits.
    #[inline]
    pub(crate) fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() & ((1 << 53) - 1)) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// As many draws of [`Mt19937::next_u32`] as there are places.
    pub fn fill(&mut self, mut to: &mut [u32]) {
        while !to.is_empty() {
            if self.next >= N {
                self.refill();
            }
            let ready = self.state.get(self.next..).unwrap_or(&[]);
            let n = ready.len().min(to.len());
            let (now, later) = to.split_at_mut(n);
            for (to, &y) in now.iter_mut().zip(ready) {
                *to = temper(y);
            }
            self.next += n;
            to = later;
        }
    }

    /// The next 624 numbers. Each stretch reads what lies ahead of it before that is overwritten.
    #[allow(clippy::indexing_slicing, reason = "indices stay below the state's length")]
    fn refill(&mut self) {
        let s = &mut self.state;
        for i in 0..N - M {
            s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
        }
        for i in N - M..N - 1 {
            s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
        }
        s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
        self.next = 0;
    }
}

#[inline(always)]
fn twist(high: u32, low: u32) -> u32 {
    let y = (high & 0x8000_0000) | (low & 0x7fff_ffff);
    (y >> 1) ^ ((low & 1).wrapping_neg() & 0x9908_b0df)
}

#[inline(always)]
fn temper(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c_5680;
    y ^= (y << 15) & 0xefc6_0000;
    y ^ (y >> 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_0_draws_what_pytorch_draws() {
        let mut g = Mt19937::new(0);
        let drawn: Vec<f32> = (0..5).map(|_| g.uniform_f32()).collect();
        assert_eq!(drawn, [0.496_256_6, 0.768_221_8, 0.088_477_43, 0.132_030_49, 0.307_422_82]);
        let mut g = Mt19937::new(0);
        assert_eq!(g.uniform_f64(), 0.970_053_001_806_553_1);
    }

    #[test]
    fn many_draws_at_once_are_the_same_draws() {
        let (mut one, mut many) = (Mt19937::new(5), Mt19937::new(5));
        for n in [1, 600, 0, 23, 2000, 624] {
            let mut drawn = vec![0; n];
            many.fill(&mut drawn);
            assert_eq!(drawn, (0..n).map(|_| one.next_u32()).collect::<Vec<_>>());
        }
        // The 10,000th number of the standard's generator with its default seed.
        let mut g = Mt19937::new(5489);
        assert_eq!((0..10_000).map(|_| g.next_u32()).last(), Some(4_123_659_995));
    }
}
