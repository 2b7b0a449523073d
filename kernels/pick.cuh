// The first elements of lines in order: a block to a line. Each thread finds the two least keys of its part; as many of
// those as are wanted bound what is collected and then sorted. Where that is too much, as with many equal keys, the last key
// is found digit by digit, and of the elements that have it the first are taken.

#define PICKERS 512
#define ROOM 2048
// Elements that a thread has on the way at a time.
#define AHEAD 8

#if JOIN
typedef const Key* From;
__device__ inline Key key_at(From from, Index j, Step) { return from[j]; }
#else
typedef const S1* From;
__device__ inline Key key_at(From from, Index j, Step step) { return key(from + Step(j) * step); }
#endif

// Keys, and of equal ones their places, in order; `room` is a power of 2.
__device__ inline void arrange(Key* keys, unsigned* own, unsigned room) {
    for (unsigned size = 2; size <= room; size *= 2)
        for (unsigned apart = size / 2; apart > 0; apart /= 2) {
            for (unsigned i = threadIdx.x; i < room / 2; i += PICKERS) {
                unsigned a = 2 * i - (i & (apart - 1)), b = a + apart;
                bool over = keys[a] > keys[b] || keys[a] == keys[b] && own[a] > own[b];
                if (over == ((a & size) == 0)) {
                    Key k = keys[a];
                    unsigned p = own[a];
                    keys[a] = keys[b], own[a] = own[b];
                    keys[b] = k, own[b] = p;
                }
            }
            __syncthreads();
        }
}

// The key of the element that is number `wanted` in order, from 1; `wanted` becomes how many of its equals are needed.
__device__ inline Key last_key(From from, Index length, Step step, unsigned& wanted) {
    __shared__ unsigned counts[DIGITS], found[2];
    Key prefix = 0;
    for (int shift = int(sizeof(Key)) * 8 - 8; shift >= 0; shift -= 8) {
        for (unsigned d = threadIdx.x; d < DIGITS; d += PICKERS) counts[d] = 0;
        __syncthreads();
        for (Index j = threadIdx.x; j < length; j += PICKERS) {
            Key k = key_at(from, j, step);
            if ((k >> shift >> 8) == (prefix >> shift >> 8)) atomicAdd(&counts[unsigned(k >> shift) & (DIGITS - 1)], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned digit = 0, left = wanted;
            for (; digit < DIGITS - 1 && counts[digit] < left; digit++) left -= counts[digit];
            found[0] = digit, found[1] = left;
        }
        __syncthreads();
        prefix |= Key(found[0]) << shift;
        wanted = found[1];
        __syncthreads();
    }
    return prefix;
}

// Keys up to `last` and their places, in no order, and how many they are; of those that have it `equals` at most, the
// first in the line, where `exact`.
__device__ inline unsigned collect(From from, Index length, Step step, Key last, bool exact, unsigned equals, Key* keys,
                                   unsigned* own) {
    __shared__ unsigned count, warps[PICKERS / 32];
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (Index start = threadIdx.x; start < length; start += AHEAD * PICKERS) {
        Key some[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (start + i * PICKERS < length) some[i] = key_at(from, start + i * PICKERS, step);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (start + i * PICKERS >= length || some[i] > last || exact && some[i] == last) continue;
            unsigned slot = atomicAdd(&count, 1u);
            if (slot < ROOM) keys[slot] = some[i], own[slot] = unsigned(start + i * PICKERS);
        }
    }
    if (exact)
        for (Index start = 0; equals > 0 && start < length; start += PICKERS) {
            Index j = start + threadIdx.x;
            bool equal = j < length && key_at(from, j, step) == last;
            unsigned votes = __ballot_sync(0xffffffffu, equal), rank = __popc(votes & (1u << lane) - 1), all = 0;
            if (lane == 0) warps[warp] = __popc(votes);
            __syncthreads();
            for (unsigned w = 0; w < PICKERS / 32; w++) {
                if (w == warp) rank += all;
                all += warps[w];
            }
            if (equal && rank < equals) {
                unsigned slot = atomicAdd(&count, 1u);
                keys[slot] = last, own[slot] = unsigned(j);
            }
            equals -= all < equals ? all : equals;
            __syncthreads();
        }
    __syncthreads();
    unsigned all = count;
    __syncthreads();
    return all;
}

// The `kept` least of a line at the front of `keys` and `own`.
__device__ inline void pick(From from, Index length, Step step, unsigned kept, Key* keys, unsigned* own) {
    unsigned all = ROOM + 1;
    if (kept <= PICKERS / 2 * 3 && length > ROOM) {
        Key least = ~Key(0), second = ~Key(0);
        for (Index start = threadIdx.x; start < length; start += AHEAD * PICKERS)
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
                Key k = start + i * PICKERS < length ? key_at(from, start + i * PICKERS, step) : ~Key(0);
                Key larger = k < least ? least : k;
                least = k < least ? k : least;
                second = larger < second ? larger : second;
            }
        keys[2 * threadIdx.x] = least, own[2 * threadIdx.x] = 2 * threadIdx.x;
        keys[2 * threadIdx.x + 1] = second, own[2 * threadIdx.x + 1] = 2 * threadIdx.x + 1;
        __syncthreads();
        arrange(keys, own, 2 * PICKERS);
        Key bound = keys[kept - 1];
        __syncthreads();
        all = collect(from, length, step, bound, false, 0, keys, own);
    } else if (length <= ROOM) {
        all = collect(from, length, step, ~Key(0), false, 0, keys, own);
    }
    if (all > ROOM) {
        unsigned equals = kept;
        Key last = last_key(from, length, step, equals);
        all = collect(from, length, step, last, true, equals, keys, own);
    }
    unsigned room = 2;
    while (room < all) room *= 2;
    for (unsigned i = all + threadIdx.x; i < room; i += PICKERS) keys[i] = ~Key(0), own[i] = 0xffffffffu;
    __syncthreads();
    arrange(keys, own, room);
}

#if PIECES
// Of each piece of a line its first elements: their keys and places.
extern "C" __global__ void __launch_bounds__(PICKERS)
    ENTRY(Key* to_keys, unsigned* to_own, const S1* x, Index length, Index piece, unsigned kept, Step x_step, Walk walk) {
    __shared__ Key keys[ROOM];
    __shared__ unsigned own[ROOM];
    Index start = Index(blockIdx.y) * piece, count = length - start < piece ? length - start : piece;
    pick(x + places(walk, Index(blockIdx.x)).at[1] + Step(start) * x_step, count, x_step, kept, keys, own);
    size_t to = ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * kept;
    for (unsigned j = threadIdx.x; j < kept; j += PICKERS) {
        bool inside = j < count;
        to_keys[to + j] = inside ? keys[j] : ~Key(0);
        to_own[to + j] = inside ? unsigned(start) + own[j] : 0xffffffffu;
    }
}
#else
// Whole lines; or where pieces have given theirs to `from_keys` and `from_own`, of those.
extern "C" __global__ void __launch_bounds__(PICKERS)
    ENTRY(S0* values, const S1* x, S2* indices, const Key* from_keys, const unsigned* from_own, Index length,
          unsigned kept, Step value_step, Step x_step, Step index_step, Walk walk) {
    __shared__ Key keys[ROOM];
    __shared__ unsigned own[ROOM];
    Places place = places(walk, Index(blockIdx.x));
#if JOIN
    size_t first = (size_t)blockIdx.x * length;
    pick(from_keys + first, length, 1, kept, keys, own);
#else
    pick(x + place.at[1], length, x_step, kept, keys, own);
#endif
    for (unsigned j = threadIdx.x; j < kept; j += PICKERS) {
#if JOIN
        unsigned from = from_own[first + own[j]];
#else
        unsigned from = own[j];
#endif
        values[place.at[0] + Step(j) * value_step] = x[place.at[1] + Step(from) * x_step];
        store(indices + place.at[2] + Step(j) * index_step, (long long)from);
    }
}
#endif
