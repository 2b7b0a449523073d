// Lines in order, with the places that their elements came from: equal elements keep their order, NaN is the largest.
// Short lines are sorted in shared memory by Batcher's network; long ones digit by digit of their keys, the lowest
// first. All digits are counted at once; then for each one every tile puts its elements in order, learns from the tiles
// before it where they belong, and moves them there.

#define DIGITS 256
#define THREADS 512

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

#if COUNT || MOVE
// A line's row of `work`, in words: for each pass the number of the next tile, and what `plan_passes` says; for each
// pass and value of its digit how many there are; and for each pass, tile and value what the tile tells.
#define COUNTS (2 * PASSES)
#define ROW(tiles) (size_t(PASSES) * (2 + DIGITS + DIGITS * size_t(tiles)))

// The digit of a pass. Elements differ from digit `LOWEST` on.
__device__ inline unsigned digit(Key key, unsigned pass) { return unsigned(key >> 8 * (LOWEST + pass)) & (DIGITS - 1); }
#endif

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
#elif COUNT
// Copies of the counts in shared memory, so that fewer lanes meet at one, and elements that a thread has on the way.
#define COPIES 4
#define AHEAD 8

// `work` begins with a row for each line; its counts, one to each value of each digit, are 0 before.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(const S1* x, Step x_step, Walk walk, unsigned* work, Index length, unsigned tiles, unsigned pieces,
          Index piece) {
    __shared__ unsigned own[PASSES * DIGITS * COPIES];
    Index line = Index(blockIdx.x / pieces), start = Index(blockIdx.x % pieces) * piece;
    const S1* from = x + places(walk, line).at[1];
    unsigned* counts = work + ROW(tiles) * line + COUNTS;
    for (unsigned i = threadIdx.x; i < PASSES * DIGITS * COPIES; i += THREADS) own[i] = 0;
    __syncthreads();
    Index end = length - start < piece ? length : start + piece;
    for (Index j = start + threadIdx.x; j < end; j += AHEAD * THREADS) {
        Key held[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            held[k] = k * THREADS < end - j ? key(from + Step(j + k * THREADS) * x_step) : Key(0);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int p = 0; p < PASSES; p++)
                if (k * THREADS < end - j)
                    atomicAdd(&own[(p * DIGITS + digit(held[k], p)) * COPIES + threadIdx.x % COPIES], 1u);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < PASSES * DIGITS; i += THREADS) {
        unsigned all = 0;
        for (int c = 0; c < COPIES; c++) all += own[i * COPIES + c];
        if (all) atomicAdd(&counts[i], all);
    }
}
#elif MOVE
// A thread has as many bytes of keys whatever their size; two blocks find room on a multiprocessor.
#define EACH (64 / int(sizeof(Key)))
#define TILE (THREADS * EACH)
#define WARPS (THREADS / 32)

// What the threads before this one have, of the first `DIGITS`.
__device__ inline unsigned before(unsigned own) {
    __shared__ unsigned ends[DIGITS / 32];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, until = own, sum = 0;
#pragma unroll
    for (int off = 1; off < 32; off *= 2) {
        unsigned earlier = __shfl_up_sync(0xffffffffu, until, off);
        if (lane >= off) until += earlier;
    }
    if (lane == 31 && warp < DIGITS / 32) ends[warp] = until;
    __syncthreads();
    for (unsigned w = 0; w < DIGITS / 32; w++) sum += w < warp ? ends[w] : 0;
    __syncthreads();
    return sum + until - own;
}

// What a tile tells of a digit is a word: one more than it has of it; and once that is known, with the highest bit,
// where those of the next tile begin. The tiles before all run or have run, as they took their numbers earlier.
#define KNOWN 0x80000000u
#define AHEAD 4

// Where a tile's first element of a digit belongs, by what the tiles before tell of that digit.
__device__ inline unsigned look_back(const volatile unsigned* told, unsigned tile) {
    unsigned sum = 0;
    for (;;) {
        unsigned words[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) words[j] = j < tile ? told[(size_t)(tile - 1 - j) * DIGITS] : 0;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            if (words[j] == 0) break;
            if (words[j] & KNOWN) return sum + (words[j] & ~KNOWN);
            sum += words[j] - 1;
            tile--;
        }
    }
}

// Before each pass but the first: where the keys lie, and whether all have the same digit, so that nothing moves. The
// last pass puts the elements out and is never left out.
__device__ inline void plan_passes(unsigned* row, Key any, Index length) {
    unsigned second = 0;
#pragma unroll
    for (int p = 1; p < PASSES; p++) {
        bool same = p + 1 < PASSES && row[COUNTS + p * DIGITS + digit(any, p)] == length;
        row[PASSES + p] = second | unsigned(same) << 1;
        second ^= !same;
    }
}

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

// The first pass makes the keys, and then places are those that the elements lie at.
#if FIRST
#define SOURCE const S1* x, Step x_step, Walk walk
#else
#define SOURCE Key* keys, Key* other_keys, unsigned* from, unsigned* other_from
#endif
#if LAST
// The first `kept` of each line.
#define RESULT , S0* values, Step value_step, S2* indices, Step index_step, Index kept
#else
#define RESULT
#endif
#if LAST && !FIRST
#define ELEMENTS , const S1* x, Step x_step, Walk walk
#elif FIRST && !LAST
#define ELEMENTS , Key* keys, unsigned* from
#else
#define ELEMENTS
#endif

// Each warp goes through a part of the tile in order: an element's place is that of its digit's first, and how many of
// its digit came before it. The tile is put in order in shared memory, so that neighbours are written together.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    ENTRY(SOURCE RESULT ELEMENTS, unsigned* work, Index length, unsigned tiles, unsigned pass) {
    __shared__ unsigned short seen[WARPS][DIGITS];
    __shared__ unsigned apart[DIGITS], ticket, same_pass;
    __shared__ Key room[TILE];
    // Which lanes of a warp have an element of each digit, before the room is needed.
    unsigned(*alike)[DIGITS] = reinterpret_cast<unsigned(*)[DIGITS]>(room);
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Index line = Index(blockIdx.x / tiles);
    unsigned* row = work + ROW(tiles) * line;
    size_t base = (size_t)line * length;
#if !FIRST
    unsigned turn = row[PASSES + pass];
    if (turn & 2) return;
    Key* to_keys = (turn & 1 ? keys : other_keys) + base;
    unsigned* to_from = (turn & 1 ? from : other_from) + base;
#elif !LAST
    Key* to_keys = keys + base;
    unsigned* to_from = from + base;
#endif
    if (threadIdx.x == 0) ticket = atomicAdd(row + pass, 1u), same_pass = pass;
    for (unsigned d = lane; d < DIGITS; d += 32) seen[warp][d] = alike[warp][d] = 0;
#if FIRST || LAST
    Places place = places(walk, line);
#endif
    __syncthreads();
    unsigned tile = ticket;
    Index start = Index(tile) * TILE;
    unsigned inside = length - start < TILE ? unsigned(length - start) : unsigned(TILE);
    unsigned mine = warp * (32 * EACH) + lane, to[EACH];
    int left = int(inside) - int(mine);
#if FIRST
    const S1* source = x + place.at[1] + Step(start + mine) * x_step;
#define KEY_AT(i) key(source + Step(i) * x_step)
#define PLACE_AT(i) unsigned(start) + mine + i
#else
    const Key* source = (turn & 1 ? other_keys : keys) + base + start + mine;
    const unsigned* source_from = (turn & 1 ? other_from : from) + base + start + mine;
#define KEY_AT(i) source[i]
#define PLACE_AT(i) source_from[i]
#endif
    Key held[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) held[k] = k * 32 < left ? KEY_AT(k * 32) : Key(0);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        bool is = k * 32 < left;
        unsigned d = digit(held[k], pass);
        if (is) atomicOr(&alike[warp][d], 1u << lane);
        __syncwarp();
        unsigned lanes = alike[warp][d], earlier = __popc(lanes & (1u << lane) - 1);
        to[k] = seen[warp][d] + earlier;
        __syncwarp();
        if (is && earlier == 0) {
            seen[warp][d] += __popc(lanes);
            alike[warp][d] = 0;
        }
        __syncwarp();
    }
    __syncthreads();
    // A thread to each digit: where the tile's first of it lies in the tile, and how far from there in the line.
    unsigned* told = row + COUNTS + DIGITS * (PASSES + pass * (size_t)tiles) + threadIdx.x;
    unsigned own = 0, earlier = 0;
    bool tells = threadIdx.x < DIGITS;
    if (tells) {
        for (unsigned w = 0; w < WARPS; w++) own += seen[w][threadIdx.x];
        if (tile > 0) *(volatile unsigned*)(told + (size_t)tile * DIGITS) = own + 1;
    }
    unsigned first = before(own);
    if (tile == 0) earlier = before(tells ? row[COUNTS + pass * DIGITS + threadIdx.x] : 0);
    if (tells)
        for (unsigned w = 0, at = first; w < WARPS; w++) {
            unsigned count = seen[w][threadIdx.x];
            seen[w][threadIdx.x] = at;
            at += count;
        }
    __syncthreads();
    // As far as the compiler knows another one: what it has computed of the digits would fill the registers till here.
    pass = same_pass;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        to[k] += seen[warp][digit(held[k], pass)];
        if (k * 32 < left) room[to[k]] = held[k];
    }
    if (tells) {
        if (tile > 0) earlier = look_back(told, tile);
        *(volatile unsigned*)(told + (size_t)tile * DIGITS) = KNOWN | earlier + own;
        apart[threadIdx.x] = earlier - first;
    }
    __syncthreads();
    // Digits take less room than where their elements go.
    unsigned digits[EACH / 4] = {};
#if LAST
    unsigned odd = 0;
#endif
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i >= inside) continue;
        Key moved = room[i];
        unsigned d = digit(moved, pass), target = apart[d] + i;
        digits[k / 4] |= d << k % 4 * 8;
#if LAST
        T value;
        undo(DESCENDING ? Key(~moved) : moved, value);
        if (!is_one(value)) odd |= 1u << k;
        else if (target < kept) store(values + place.at[0] + Step(target) * value_step, value);
#else
        to_keys[target] = moved;
#endif
    }
    __syncthreads();
    unsigned* sources = reinterpret_cast<unsigned*>(room);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (k * 32 < left) sources[to[k]] = PLACE_AT(k * 32);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned i = k * THREADS + threadIdx.x;
        if (i >= inside) continue;
        unsigned came = sources[i], target = apart[digits[k / 4] >> k % 4 * 8 & DIGITS - 1] + i;
#if LAST
        if (target >= kept) continue;
        if (odd >> k & 1)
            values[place.at[0] + Step(target) * value_step] = x[place.at[1] + Step(came) * x_step];
        store(indices + place.at[2] + Step(target) * index_step, (long long)came);
#else
        to_from[target] = came;
#endif
    }
#if FIRST && !LAST
    if (tile == 0 && threadIdx.x == 0) plan_passes(row, KEY_AT(0), length);
#endif
}
#endif
