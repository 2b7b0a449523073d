// A copy whose neighbours in one operand are far apart in the other. A block moves a tile of both dimensions through
// shared memory, so that neighbours are read together, and written together.

#define TILE 64
#define ROWS 8

extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* y, const S1* x, Index width, Index height, Step y_step, Step x_step, Index across, Index down, Walk rest) {
    // One more than a tile is wide: neighbours in a column are in different banks.
    __shared__ S0 room[TILE][TILE + 1];
    Index block = blockIdx.x, tile = block / across, which = tile / down;
    Index column = (block - tile * across) * TILE, row = (tile - which * down) * TILE;
    Places place = places(rest, which);
    unsigned lane = threadIdx.x % 32, first = threadIdx.x / 32;
    Index wide = width - column < TILE ? width - column : Index(TILE), high = height - row < TILE ? height - row : Index(TILE);
    const S1* from = x + place.at[1] + Step(column) * x_step + Step(row);
    S0* to = y + place.at[0] + Step(row) * y_step + Step(column);
    S0 held[2 * TILE / ROWS];
#pragma unroll
    for (int k = 0; k < TILE / ROWS; k++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned i = first + k * ROWS, j = lane + half * 32;
            if (i < wide && j < high) held[2 * k + half] = from[Step(i) * x_step + Step(j)];
        }
#pragma unroll
    for (int k = 0; k < TILE / ROWS; k++)
#pragma unroll
        for (int half = 0; half < 2; half++) room[first + k * ROWS][lane + half * 32] = held[2 * k + half];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE / ROWS; k++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned i = first + k * ROWS, j = lane + half * 32;
            if (i < high && j < wide) to[Step(i) * y_step + Step(j)] = room[j][i];
        }
}
