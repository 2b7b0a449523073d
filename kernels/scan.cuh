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
// A block to a line, as many elements at a time as it has threads.
extern "C" __global__ void __launch_bounds__(1024)
    ENTRY(S0* y, const S1* x, Index length, Step y_step, Step x_step, Walk walk) {
    __shared__ A ends[32];
    Places place = places(walk, Index(blockIdx.x));
    unsigned warp = threadIdx.x / 32, within = threadIdx.x % 32, warps = blockDim.x / 32;
    A carried = (A)(START);
    for (Index start = 0; start < length; start += blockDim.x) {
        Index j = start + threadIdx.x;
        A value = j < length ? (A)(load<T>(x + place.at[1] + Step(j) * x_step)) : (A)(START);
#pragma unroll
        for (int off = 1; off < 32; off *= 2) {
            A before = __shfl_up_sync(0xffffffffu, value, off);
            if (within >= off) value = next(before, value);
        }
        if (within == 31) ends[warp] = value;
        __syncthreads();
        A before = carried;
        for (unsigned w = 0; w < warp; w++) before = next(before, ends[w]);
        value = next(before, value);
        for (unsigned w = 0; w < warps; w++) carried = next(carried, ends[w]);
        if (j < length) store(y + place.at[0] + Step(j) * y_step, value);
        __syncthreads();
        if (length - start <= blockDim.x) break;
    }
}
#endif
