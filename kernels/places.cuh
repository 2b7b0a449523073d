// Where a mask is true, in order: a block counts the true elements of each tile, `scan.cuh` sums the counts up, and each
// tile's places follow those before.

#define THREADS 256
#define EACH 16
#define TILE (THREADS * EACH)

struct __align__(16) Sixteen {
    unsigned words[4];
};

// Which of a thread's sixteen neighbours are true, from the lowest bit on.
__device__ inline unsigned seen(const S1* mask, Index start, Index length) {
    unsigned bits = 0;
    if (start + EACH <= length && (reinterpret_cast<size_t>(mask + start) & 15) == 0) {
        Sixteen all = *reinterpret_cast<const Sixteen*>(mask + start);
#pragma unroll
        for (int k = 0; k < EACH; k++) bits |= unsigned((all.words[k / 4] >> k % 4 * 8 & 0xffu) != 0) << k;
    } else {
        for (int k = 0; k < EACH; k++)
            if (start + k < length && mask[start + k].bits) bits |= 1u << k;
    }
    return bits;
}

// How many the threads before this one have, and all.
__device__ inline unsigned before(unsigned own, unsigned& all) {
    __shared__ unsigned ends[THREADS / 32];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, until = own;
#pragma unroll
    for (int off = 1; off < 32; off *= 2) {
        unsigned earlier = __shfl_up_sync(0xffffffffu, until, off);
        if (lane >= off) until += earlier;
    }
    if (lane == 31) ends[warp] = until;
    __syncthreads();
    unsigned sum = all = 0;
    for (unsigned w = 0; w < THREADS / 32; w++) {
        if (w == warp) sum = all;
        all += ends[w];
    }
    return sum + until - own;
}

// `counts` is a zero and then each tile's count, which become what comes before each.
#if COUNT
extern "C" __global__ void __launch_bounds__(THREADS) ENTRY(long long* counts, const S1* mask, Index length) {
    unsigned all;
    before(__popc(seen(mask, Index(blockIdx.x) * TILE + threadIdx.x * EACH, length)), all);
    if (threadIdx.x == 0) counts[1 + blockIdx.x] = all;
    if (threadIdx.x == 0 && blockIdx.x == 0) counts[0] = 0;
}
#else
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(S0* y, const S1* mask, const long long* counts, Index length, long long room) {
    __shared__ unsigned short found[TILE];
    Index start = Index(blockIdx.x) * TILE;
    unsigned bits = seen(mask, start + threadIdx.x * EACH, length), all;
    unsigned at = before(__popc(bits), all);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (bits >> k & 1) found[at++] = threadIdx.x * EACH + k;
    __syncthreads();
    long long first = counts[blockIdx.x];
    for (unsigned i = threadIdx.x; i < all && first + i < room; i += THREADS) y[first + i] = S0(start) + found[i];
}
#endif
