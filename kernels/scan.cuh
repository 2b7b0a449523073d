// Running sums or products along a line. `A` accumulates: double for floats of 32 bits and more.

typedef ACCUMULATOR A;
__device__ inline A next(A a, A b) { return RUN(a, b); }

#if ACROSS
// A thread to a line: neighbouring lines are neighbours in memory.
extern "C" __global__ void ENTRY(S0* y, const S1* x, Index length, Step y_step, Step x_step, Walk walk) {
    Index line = thread_number();
    if (line >= walk.count) return;
    Places place = places(walk, line);
    A running = (A)(START);
    for (Index j = 0; j < length; j++) {
        running = next(running, A(load<T>(x + place.at[1] + Step(j) * x_step)));
        store(y + place.at[0] + Step(j) * y_step, running);
    }
}
#else
// Blocks of up to 256 threads: one to a line, or one to each tile of few long lines. All is read once, and the order of
// additions is the sizes' alone.
#define THREADS 256
#define EACH 8

// What the threads before this one come to, and what all do.
__device__ inline A before(A own, A& all) {
    __shared__ A ends[THREADS / 32];
    unsigned warp = threadIdx.x / 32, within = threadIdx.x % 32, warps = blockDim.x / 32;
    A until = own;
#pragma unroll
    for (int off = 1; off < 32; off *= 2) {
        A earlier = __shfl_up_sync(0xffffffffu, until, off);
        if (within >= off) until = next(earlier, until);
    }
    if (within == 31) ends[warp] = until;
    A earlier = __shfl_up_sync(0xffffffffu, until, 1);
    if (within == 0) earlier = (A)(START);
    __syncthreads();
    A sum = (A)(START);
    all = (A)(START);
    for (unsigned w = 0; w < warps; w++) {
        if (w == warp) sum = all;
        all = next(all, ends[w]);
    }
    __syncthreads();
    return next(sum, earlier);
}

#if TILES
#define NEIGHBOURS 16
#define TILE (THREADS * NEIGHBOURS)

typedef unsigned long long Word;

__device__ inline Word bits(float v) { return __float_as_uint(v); }
__device__ inline Word bits(double v) { return (Word)__double_as_longlong(v); }
__device__ inline Word bits(long long v) { return (Word)v; }
__device__ inline void of_bits(Word bits, float& v) { v = __uint_as_float(unsigned(bits)); }
__device__ inline void of_bits(Word bits, double& v) { v = __longlong_as_double((long long)bits); }
__device__ inline void of_bits(Word bits, long long& v) { v = (long long)bits; }

// What is told lies in two words, half of the value in each beside what it is: whoever finds the same beside both
// halves has read one value, without any order between words.
#define OWN 1u
#define UNTIL 2u

__device__ inline void tell(Word* slot, A value, unsigned what) {
    volatile Word* words = slot;
    words[0] = bits(value) << 32 | what;
    words[1] = bits(value) >> 32 << 32 | what;
}

// What is told here, or 0 where nothing is yet.
__device__ inline unsigned told(const Word* slot, A& value) {
    const volatile Word* words = slot;
    Word low = words[0], high = words[1];
    if (unsigned(low) != unsigned(high)) return 0;
    of_bits(low >> 32 | high >> 32 << 32, value);
    return unsigned(low);
}

// What the groups of 32 tiles before this one come to: from the nearest that tells it, group by group, so that it is
// the same wherever that is.
__device__ inline A groups_before(const Word* groups, Index group) {
    unsigned lane = threadIdx.x % 32, known = 0, own = 0;
    A value = (A)(START);
    while (known == 0 || ~own & 0xffffffffu << 31 - __clz(known)) {
        // The nearest group has the highest lane; before the first there is nothing.
        unsigned what = group + lane < 32 ? UNTIL : told(groups + 2 * (group + lane - 32), value);
        known = __ballot_sync(0xffffffffu, what == UNTIL);
        own = __ballot_sync(0xffffffffu, what != 0);
    }
    unsigned nearest = 31 - __clz(known);
    A sum = __shfl_sync(0xffffffffu, value, nearest);
    for (unsigned l = nearest + 1; l < 32; l++) sum = next(sum, __shfl_sync(0xffffffffu, value, l));
    return sum;
}

// What comes before a tile that comes to `own`, for a warp. All tiles before it run or have run, as they took their
// numbers earlier, and none waits before it tells what it comes to. The last of a group tells for the group.
__device__ inline A tiles_before(Word* tiles, Word* groups, Index tile, A own) {
    unsigned lane = threadIdx.x % 32, within = tile % 32;
    Index group = tile / 32;
    A value = (A)(START);
    if (lane == within) tell(tiles + 2 * tile, value = own, OWN);
    if (lane < within)
        while (!told(tiles + 2 * (tile - within + lane), value)) {}
    __syncwarp();
    A until = value;
#pragma unroll
    for (int off = 1; off < 32; off *= 2) {
        A earlier = __shfl_up_sync(0xffffffffu, until, off);
        if (lane >= off) until = next(earlier, until);
    }
    if (lane == 31 && within == 31) tell(groups + 2 * group, until, OWN);
    A sum = groups_before(groups, group);
    if (lane == 31 && within == 31) tell(groups + 2 * group, next(sum, until), UNTIL);
    A earlier = __shfl_sync(0xffffffffu, until, within > 0 ? within - 1 : 0);
    return within > 0 ? next(sum, earlier) : sum;
}

// `work` has a row for each line: the number of the next tile, what each tile tells, and what each group does; 0 before.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(S0* y, const S1* x, Word* work, Index length, Step y_step, Step x_step, Index tiles, Walk walk) {
    // Elements come and go side by side, and lie here for threads that each sum neighbours.
    __shared__ T room[THREADS * (NEIGHBOURS + 1)];
    __shared__ A carried;
    __shared__ unsigned ticket;
    Index line = Index(blockIdx.x) / tiles;
    Word* row = work + 2 * (1 + size_t(tiles) + (size_t(tiles) + 31) / 32) * line;
    if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<unsigned*>(row), 1u);
    Places place = places(walk, line);
    __syncthreads();
    Index tile = ticket, start = tile * TILE;
    unsigned inside = length - start < TILE ? unsigned(length - start) : unsigned(TILE);
    const S1* from = x + place.at[1] + Step(start) * x_step;
    S0* to = y + place.at[0] + Step(start) * y_step;
    T held[NEIGHBOURS];
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        held[k] = i < inside ? load<T>(from + Step(i) * x_step) : T(START);
    }
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        room[i + i / NEIGHBOURS] = held[k];
    }
    __syncthreads();
    A sums[NEIGHBOURS], own = (A)(START), all;
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++)
        sums[k] = own = next(own, A(room[threadIdx.x * (NEIGHBOURS + 1) + k]));
    A earlier = before(own, all);
    if (threadIdx.x < 32) {
        A sum = tiles_before(row + 2, row + 2 + 2 * tiles, tile, all);
        if (threadIdx.x == 0) carried = sum;
    }
    __syncthreads();
    earlier = next(carried, earlier);
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++)
        room[threadIdx.x * (NEIGHBOURS + 1) + k] = As<T>::of(next(earlier, sums[k]));
    __syncthreads();
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i < inside) store(to + Step(i) * y_step, room[i + i / NEIGHBOURS]);
    }
}
#else
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(S0* y, const S1* x, Index length, Step y_step, Step x_step, Walk walk) {
    // Elements come and go side by side, and lie here for threads that each sum neighbours.
    __shared__ A room[THREADS * EACH + THREADS];
    Places place = places(walk, Index(blockIdx.x));
    A carried = (A)(START), all;
    unsigned tile = blockDim.x * EACH;
    for (Index start = 0;; start += tile) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            unsigned i = k * blockDim.x + threadIdx.x;
            bool inside = i < length - start;
            A value = inside ? A(load<T>(x + place.at[1] + Step(start + i) * x_step)) : (A)(START);
            room[i + i / EACH] = value;
        }
        __syncthreads();
        A sums[EACH], own = (A)(START);
#pragma unroll
        for (int k = 0; k < EACH; k++) sums[k] = own = next(own, room[threadIdx.x * (EACH + 1) + k]);
        A earlier = next(carried, before(own, all));
        carried = next(carried, all);
#pragma unroll
        for (int k = 0; k < EACH; k++) room[threadIdx.x * (EACH + 1) + k] = next(earlier, sums[k]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            unsigned i = k * blockDim.x + threadIdx.x;
            if (i < length - start) store(y + place.at[0] + Step(start + i) * y_step, room[i + i / EACH]);
        }
        if (length - start <= tile) break;
        __syncthreads();
    }
}
#endif
#endif
