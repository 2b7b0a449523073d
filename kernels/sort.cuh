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
#elif COUNT || MOVE
// A digit of a tile's keys: of the elements themselves where `FIRST`, and then their places are those they lie at.

// Which lanes' elements have the same digit.
__device__ inline unsigned alike(unsigned digit, bool inside) {
    unsigned lanes = __ballot_sync(0xffffffffu, inside);
    if (!inside) lanes = ~lanes;
#pragma unroll
    for (int b = 0; b < 8; b++) {
        unsigned with = __ballot_sync(0xffffffffu, digit >> b & 1);
        lanes &= digit >> b & 1 ? with : ~with;
    }
    return lanes;
}

#if FIRST
#define KEYS const S1* x, Step x_step, Walk walk
#define KEY_AT(i) key(x + from_line + Step(i) * x_step)
#else
#define KEYS const Key* keys
#define KEY_AT(i) keys[base + (i)]
#endif

#if COUNT
// `counts` has a row for each line: a zero, then the tiles' counts of each digit.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(KEYS, int* counts, Index length, unsigned tiles, unsigned shift) {
    __shared__ unsigned own[DIGITS];
    Index line = Index(blockIdx.x / tiles), start = Index(blockIdx.x % tiles) * TILE;
    own[threadIdx.x] = 0;
#if FIRST
    Step from_line = places(walk, line).at[1];
#else
    size_t base = (size_t)line * length;
#endif
    Key held[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        held[k] = i < length - start ? KEY_AT(start + i) : Key(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        bool inside = k * THREADS + threadIdx.x < length - start;
        unsigned digit = unsigned(held[k] >> shift) & (DIGITS - 1), lanes = alike(digit, inside);
        if (inside && (lanes & (1u << threadIdx.x % 32) - 1) == 0) atomicAdd(&own[digit], unsigned(__popc(lanes)));
    }
    __syncthreads();
    int* row = counts + (size_t)line * (DIGITS * (size_t)tiles + 1);
    row[1 + (size_t)threadIdx.x * tiles + blockIdx.x % tiles] = int(own[threadIdx.x]);
    if (blockIdx.x % tiles == 0 && threadIdx.x == 0) row[0] = 0;
}
#else
// An element that a key was made of; zeros and NaN are more than one key tells apart.
__device__ inline bool is_one(float v) { return v == v && v != 0.0f; }
__device__ inline bool is_one(double v) { return v == v && v != 0.0; }
__device__ inline bool is_one(long long) { return true; }
__device__ inline void undo(unsigned key, float& v) {
    v = __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}
__device__ inline void undo(unsigned long long key, double& v) {
    v = __longlong_as_double((long long)(key >> 63 ? key & ~(1ull << 63) : ~key));
}
__device__ inline void undo(unsigned key, long long& v) { v = int(key ^ 1u << 31); }
__device__ inline void undo(unsigned long long key, long long& v) { v = (long long)(key ^ 1ull << 63); }

#if FIRST
#define PLACE_AT(i) unsigned(i)
#define PLACES
#else
#define PLACE_AT(i) from[base + (i)]
#define PLACES const unsigned* from,
#endif
#if LAST
// The first `kept` of each line.
#if FIRST
#define TARGET S0* values, Step value_step, S2* indices, Step index_step, Index kept
#else
#define TARGET S0* values, Step value_step, S2* indices, Step index_step, Index kept, const S1* x, Step x_step, Walk walk
#endif
#else
#define TARGET Key* to_keys, unsigned* to_from
#endif

// Each warp goes through a part of the tile in order: an element's place is that of its digit's first, and how many of
// its digit came before it. The tile is put in order in shared memory, so that neighbours are written together.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(KEYS, PLACES TARGET, const int* counts, Index length, unsigned tiles, unsigned shift) {
    __shared__ unsigned seen[THREADS / 32][DIGITS], apart[DIGITS], ends[THREADS / 32];
    __shared__ Key room[TILE];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = blockIdx.x % tiles;
    Index line = Index(blockIdx.x / tiles), start = Index(tile) * TILE;
    unsigned inside = length - start < TILE ? unsigned(length - start) : unsigned(TILE);
    size_t base = (size_t)line * length;
#if FIRST || LAST
    Places place = places(walk, line);
    Step from_line = place.at[1];
#endif
    for (unsigned d = lane; d < DIGITS; d += 32) seen[warp][d] = 0;
    Key held[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = warp * (32 * EACH) + k * 32 + lane;
        held[k] = i < inside ? KEY_AT(start + i) : Key(0);
    }
    __syncthreads();
    unsigned to[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        bool is = warp * (32 * EACH) + k * 32 + lane < inside;
        unsigned digit = unsigned(held[k] >> shift) & (DIGITS - 1), lanes = alike(digit, is);
        unsigned earlier = __popc(lanes & (1u << lane) - 1);
        to[k] = seen[warp][digit] + earlier;
        __syncwarp();
        if (is && earlier == 0) seen[warp][digit] += __popc(lanes);
        __syncwarp();
    }
    __syncthreads();
    // A thread to each digit: where the tile's first of it lies in the tile, and how far from there in the line.
    const int* row = counts + (size_t)line * (DIGITS * (size_t)tiles + 1);
    unsigned own = 0;
    for (unsigned w = 0; w < THREADS / 32; w++) own += seen[w][threadIdx.x];
    unsigned until = own;
#pragma unroll
    for (int off = 1; off < 32; off *= 2) {
        unsigned earlier = __shfl_up_sync(0xffffffffu, until, off);
        if (lane >= off) until += earlier;
    }
    if (lane == 31) ends[warp] = until;
    __syncthreads();
    unsigned first = until - own;
    for (unsigned w = 0; w < warp; w++) first += ends[w];
    apart[threadIdx.x] = unsigned(row[(size_t)threadIdx.x * tiles + tile]) - first;
    for (unsigned w = 0; w < THREADS / 32; w++) {
        unsigned count = seen[w][threadIdx.x];
        seen[w][threadIdx.x] = first;
        first += count;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        to[k] += seen[warp][unsigned(held[k] >> shift) & (DIGITS - 1)];
        if (warp * (32 * EACH) + k * 32 + lane < inside) room[to[k]] = held[k];
    }
    __syncthreads();
    unsigned target[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i >= inside) continue;
        held[k] = room[i];
        target[k] = apart[unsigned(held[k] >> shift) & (DIGITS - 1)] + i;
#if !LAST
        to_keys[base + target[k]] = held[k];
#endif
    }
    __syncthreads();
    unsigned* sources = reinterpret_cast<unsigned*>(room);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = warp * (32 * EACH) + k * 32 + lane;
        if (i < inside) sources[to[k]] = PLACE_AT(start + i);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i >= inside) continue;
        unsigned source = sources[i];
#if LAST
        Index at = target[k];
        if (at >= kept) continue;
        T value;
        undo(DESCENDING ? Key(~held[k]) : held[k], value);
        S0* y = values + place.at[0] + Step(at) * value_step;
        if (is_one(value)) store(y, value);
        else *y = x[from_line + Step(source) * x_step];
        store(indices + place.at[2] + Step(at) * index_step, (long long)source);
#else
        to_from[base + target[k]] = source;
#endif
    }
}
#endif
#endif
