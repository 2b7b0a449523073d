// Lines in order, with the places that their elements came from: equal elements keep their order, NaN is the largest.
// Short lines are sorted in shared memory by Batcher's network; long ones digit by digit of their keys, the lowest
// first: count the digits of each tile, sum the counts up (`scan.cuh`), and move every element to its place.

#define DIGITS 256
#define THREADS 256
#define EACH 16
#define TILE (THREADS * EACH)

typedef KEY Key;

// A number whose order as an unsigned one is that of the elements.
__device__ inline Key ordered(float v) {
    unsigned bits = __float_as_uint(v + 0.0f);
    return v != v ? Key(0xffffffffu) : Key(bits >> 31 ? ~bits : bits | 0x80000000u);
}
__device__ inline Key ordered(double v) {
    unsigned long long bits = (unsigned long long)__double_as_longlong(v + 0.0);
    return v != v ? Key(~0ull) : Key(bits >> 63 ? ~bits : bits | 1ull << 63);
}
__device__ inline Key ordered(long long v) { return Key(v) ^ Key(1) << (sizeof(Key) * 8 - 1); }
__device__ inline Key key(const S1* x) {
    Key key = ordered(load<T>(x));
    return DESCENDING ? Key(~key) : key;
}

#if SHORT
// A line to each row of the block, whose threads each compare two elements at a time; `room` is a power of 2 up to 2048.
extern "C" __global__ void __launch_bounds__(1024)
    ENTRY(S0* values, const S1* x, S2* indices, Index length, unsigned kept, Step value_step, Step x_step,
          Step index_step, unsigned room, Walk walk) {
    __shared__ Key all_keys[2048];
    __shared__ unsigned short all_places[2048];
    Key* keys = all_keys + threadIdx.y * room;
    unsigned short* own = all_places + threadIdx.y * room;
    Index line = Index(blockIdx.x) * blockDim.y + threadIdx.y;
    bool active = line < walk.count;
    Places place = {};
    if (active) place = places(walk, line);
    for (unsigned j = threadIdx.x; j < room; j += blockDim.x) {
        keys[j] = active && j < length ? key(x + place.at[1] + Step(j) * x_step) : ~Key(0);
        own[j] = j;
    }
    __syncthreads();
    for (unsigned size = 2; size <= room; size *= 2)
        for (unsigned apart = size / 2; apart > 0; apart /= 2) {
            for (unsigned i = threadIdx.x; i < room / 2; i += blockDim.x) {
                unsigned a = 2 * i - (i & (apart - 1)), b = a + apart;
                // Places tell equal keys apart, so that all differ and what fills up stays behind.
                bool over = keys[a] > keys[b] || keys[a] == keys[b] && own[a] > own[b];
                if (over == ((a & size) == 0)) {
                    Key k = keys[a];
                    unsigned short p = own[a];
                    keys[a] = keys[b], own[a] = own[b];
                    keys[b] = k, own[b] = p;
                }
            }
            __syncthreads();
        }
    if (!active) return;
    for (unsigned j = threadIdx.x; j < kept; j += blockDim.x) {
        unsigned from = own[j];
        values[place.at[0] + Step(j) * value_step] = x[place.at[1] + Step(from) * x_step];
        store(indices + place.at[2] + Step(j) * index_step, (long long)from);
    }
}
#elif BEGIN
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(Key* keys, unsigned* from, const S1* x, Index total, Index length, Step x_step, Walk walk) {
    Index i = thread_number();
    if (i >= total) return;
    Index line = i / length, j = i - line * length;
    keys[i] = key(x + places(walk, line).at[1] + Step(j) * x_step);
    from[i] = unsigned(j);
}
#elif COUNT
// `counts` has a row for each line: a zero, then the tiles' counts of each digit.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(const Key* keys, int* counts, Index length, unsigned tiles, unsigned shift) {
    __shared__ unsigned own[DIGITS];
    Index line = Index(blockIdx.x / tiles), start = Index(blockIdx.x % tiles) * TILE;
    own[threadIdx.x] = 0;
    __syncthreads();
    const Key* from = keys + (size_t)line * length + start;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i < length - start) atomicAdd(&own[unsigned(from[i] >> shift) & (DIGITS - 1)], 1u);
    }
    __syncthreads();
    int* row = counts + (size_t)line * (DIGITS * (size_t)tiles + 1);
    row[1 + (size_t)threadIdx.x * tiles + blockIdx.x % tiles] = int(own[threadIdx.x]);
    if (blockIdx.x % tiles == 0 && threadIdx.x == 0) row[0] = 0;
}
#elif MOVE
// Each warp goes through a part of the tile in order: an element's place is that of its digit's first, and how many of
// its digit came before it.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(const Key* keys, const unsigned* from, Key* to_keys, unsigned* to_from, const int* counts, Index length,
          unsigned tiles, unsigned shift) {
    __shared__ unsigned seen[THREADS / 32][DIGITS];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = blockIdx.x % tiles;
    Index line = Index(blockIdx.x / tiles), start = Index(tile) * TILE;
    size_t base = (size_t)line * length;
    for (unsigned d = lane; d < DIGITS; d += 32) seen[warp][d] = 0;
    __syncthreads();
    Key held[EACH];
    unsigned before[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        Index i = start + warp * (32 * EACH) + k * 32 + lane;
        bool inside = i < length;
        held[k] = inside ? keys[base + i] : Key(0);
        unsigned digit = unsigned(held[k] >> shift) & (DIGITS - 1);
        unsigned alike = __ballot_sync(0xffffffffu, inside);
        if (!inside) alike = ~alike;
#pragma unroll
        for (int b = 0; b < 8; b++) {
            unsigned with = __ballot_sync(0xffffffffu, digit >> b & 1);
            alike &= digit >> b & 1 ? with : ~with;
        }
        unsigned earlier = __popc(alike & (1u << lane) - 1);
        before[k] = seen[warp][digit] + earlier;
        __syncwarp();
        if (inside && earlier == 0) seen[warp][digit] += __popc(alike);
        __syncwarp();
    }
    __syncthreads();
    const int* row = counts + (size_t)line * (DIGITS * (size_t)tiles + 1);
    unsigned first = unsigned(row[(size_t)threadIdx.x * tiles + tile]);
    for (unsigned w = 0; w < THREADS / 32; w++) {
        unsigned count = seen[w][threadIdx.x];
        seen[w][threadIdx.x] = first;
        first += count;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        Index i = start + warp * (32 * EACH) + k * 32 + lane;
        if (i >= length) continue;
        size_t to = base + seen[warp][unsigned(held[k] >> shift) & (DIGITS - 1)] + before[k];
        to_keys[to] = held[k];
        to_from[to] = from[base + i];
    }
}
#elif END
// The first `kept` of each line, `total` of all.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(S0* values, const S1* x, S2* indices, const unsigned* from, Index total, Index length, Index kept,
          Step value_step, Step x_step, Step index_step, Walk walk) {
    Index i = thread_number();
    if (i >= total) return;
    Index line = i / kept, j = i - line * kept;
    Places place = places(walk, line);
    unsigned source = from[(size_t)line * length + j];
    values[place.at[0] + Step(j) * value_step] = x[place.at[1] + Step(source) * x_step];
    store(indices + place.at[2] + Step(j) * index_step, (long long)source);
}
#endif
