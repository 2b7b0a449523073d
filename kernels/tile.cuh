// A product of matrices, `TILE` x `TILE` elements to a block of 256 threads, each of which keeps 4 x 4 of them.
// `Source` gives elements of both factors, 0 outside them; `Target` takes the sums.

#define TILE 64
#define DEEP 16

template <class Source, class Target>
__device__ inline void product(const Source& source, const Target& target, Index row0, Index column0, Index from,
                               Index depth) {
    __shared__ T left[DEEP][TILE + 1], right[DEEP][TILE + 1];
    T sums[4][4] = {};
    unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    for (Index k0 = from; k0 < depth; k0 += DEEP) {
#pragma unroll
        for (int part = 0; part < TILE * DEEP / 256; part++) {
            unsigned e = threadIdx.x + part * 256;
            // Neighbouring threads read neighbours: along the rows of the left factor, and of the right one.
            unsigned k = e % DEEP, m = e / DEEP;
            left[k][m] = k0 + k < depth ? source.left(row0 + m, k0 + k) : T(0);
            unsigned n = e % TILE, d = e / TILE;
            right[d][n] = k0 + d < depth ? source.right(k0 + d, column0 + n) : T(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            T a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i] = left[k][ty + 16 * i], b[i] = right[k][tx + 16 * i];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sums[i][j] = plus(sums[i][j], times(a[i], b[j]));
        }
        __syncthreads();
        if (depth - k0 <= DEEP) break;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) target.put(row0 + ty + 16 * i, column0 + tx + 16 * j, sums[i][j]);
}
