// Where elements lie: up to 8 dimensions, the innermost first, merged where they lie alike in all operands.
// `Index` counts and `Step` measures distances, both in elements: 32 bits wide where that is enough.

struct Walk {
    Index count, rank;
    Index size[8];
    Step step[OPERANDS][8];
};

struct Places {
    Step at[OPERANDS];
};

__device__ inline Places places(const Walk& walk, Index i) {
    Places places = {};
#pragma unroll
    for (int d = 0; d < 8; d++) {
        Index rest = 0, here = i;
        bool last = d + 1 >= walk.rank;
        if (!last) {
            rest = i / walk.size[d];
            here = i - rest * walk.size[d];
        }
#pragma unroll
        for (int k = 0; k < OPERANDS; k++) places.at[k] += Step(here) * walk.step[k][d];
        i = rest;
        if (last) break;
    }
    return places;
}

__device__ inline Index thread_number() { return Index(blockIdx.x) * blockDim.x + threadIdx.x; }
