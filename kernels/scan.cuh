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
// Blocks of up to 256 threads; the grid is lines by pieces of lines. Long lines take three launches: what each piece
// comes to, what comes before each piece, and the running sums from there. The order of additions is the sizes' alone.
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

#if PIECES
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(A* ends, const S1* x, Index length, Step x_step, Index piece, Walk walk) {
    const S1* from = x + places(walk, Index(blockIdx.x)).at[1];
    Index j = Index(blockIdx.y) * piece, end = length - j < piece ? length : j + piece;
    A own = (A)(START), all;
    Index pace = blockDim.x;
    for (j += threadIdx.x; j < end && end - j > (EACH - 1) * pace; j += EACH * pace) {
        T some[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) some[k] = load<T>(from + Step(j + k * pace) * x_step);
#pragma unroll
        for (int k = 0; k < EACH; k++) own = next(own, A(some[k]));
    }
    for (; j < end; j += pace) own = next(own, A(load<T>(from + Step(j) * x_step)));
    before(own, all);
    if (threadIdx.x == 0) ends[(size_t)blockIdx.x * gridDim.y + blockIdx.y] = all;
}
#elif STARTS
extern "C" __global__ void __launch_bounds__(THREADS) ENTRY(A* ends, Index pieces) {
    A* own = ends + (size_t)blockIdx.x * pieces;
    A carried = (A)(START), all;
    for (Index start = 0; start < pieces; start += blockDim.x) {
        Index j = start + threadIdx.x;
        A value = j < pieces ? own[j] : (A)(START);
        A earlier = before(value, all);
        if (j < pieces) own[j] = next(carried, earlier);
        carried = next(carried, all);
    }
}
#else
// `starts` is what comes before each piece; none where a line is one.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(S0* y, const S1* x, const A* starts, Index length, Step y_step, Step x_step, Index piece, Walk walk) {
    // Elements come and go side by side, and lie here for threads that each sum neighbours.
    __shared__ A room[THREADS * EACH + THREADS];
    Places place = places(walk, Index(blockIdx.x));
    Index start = Index(blockIdx.y) * piece, end = length - start < piece ? length : start + piece;
    A carried = starts ? starts[(size_t)blockIdx.x * gridDim.y + blockIdx.y] : (A)(START), all;
    unsigned tile = blockDim.x * EACH;
    while (true) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            unsigned i = k * blockDim.x + threadIdx.x;
            bool inside = i < end - start;
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
            if (i < end - start) store(y + place.at[0] + Step(start + i) * y_step, room[i + i / EACH]);
        }
        if (end - start <= tile) break;
        start += tile;
        __syncthreads();
    }
}
#endif
#endif
