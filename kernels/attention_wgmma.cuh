// Attention on warpgroups, after Shah and others' FlashAttention-3. A warpgroup has 64 rows of one operand; tensor maps
// bring those of the other in tiles, through rings of `STAGES` in shared memory. Forward, rows of 64 halves leave room
// for two blocks on a multiprocessor, which overlap by themselves; of 128, one warpgroup more copies, and products are
// under way while exponentials are taken. Gradients recompute probabilities, as in `attention.cuh`.

typedef S0 Half;
#define LOG2E 1.44269504f
#define GROUPS 2
#define ROWS (GROUPS * 64)
#define ROW_BYTES (ROWS * WIDTH * 2)
#define TILE_BYTES (TILE * WIDTH * 2)

// A stage of a ring, and the phase of its barriers.
struct Slot {
    int at = 0, phase = 0;
    __device__ void next() { at = at + 1 == STAGES ? 0 : at + 1, phase ^= at == 0; }
};

// Begins c = rows tileᵀ.
__device__ inline void products(float (&c)[TILE / 2], Word rows, unsigned tile) {
    Word b = matrix_of(tile, 1);
    before_products();
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++) {
        Word left = rows + ((k / 4 * ROWS * 128 + k % 4 * 32) >> 4), right = b + ((k / 4 * TILE * 128 + k % 4 * 32) >> 4);
        if (k == 0) multiply_new(Half(), c, left, right);
        else multiply(Half(), c, left, right, 1);
    }
    end_group();
}

// Begins c += p tile, or c = p tile.
__device__ inline void add_products(float (&c)[WIDTH / 2], const unsigned (&p)[TILE / 4], unsigned tile, bool add) {
    Word b = matrix_of(tile, TILE * 128);
    before_products();
#pragma unroll
    for (int k = 0; k < TILE / 16; k++) multiply(Half(), c, &p[k * 4], b + (k * 2048 >> 4), k > 0 || add);
    end_group();
}

__device__ inline void halve(unsigned (&p)[TILE / 4], const float (&s)[TILE / 2]) {
#pragma unroll
    for (int i = 0; i < TILE / 4; i++) p[i] = pair(Half(), s[2 * i], s[2 * i + 1]);
}

// Where a matrix of the batch lies, by the three dimensions that tensor maps have besides its own. Only who copies finds
// it: registers are few.
struct Matrix {
    int at[3];
    __device__ void find(const Walk& walk, Index rest) {
#pragma unroll
        for (int d = 0; d < 3; d++) {
            Index size = walk.size[d];
            at[d] = int(rest % size), rest /= size;
        }
    }
};

// Begins to copy `COUNT` rows from `first` on.
template <int COUNT>
__device__ inline void fetch(unsigned to, const Map& map, int first, const Matrix& matrix, unsigned there) {
#pragma unroll
    for (int p = 0; p < WIDTH / 64; p++) fetch_panel(to + p * COUNT * 128, map, p * 64, first, matrix.at, there);
}

// The warp of a thread, the same for all of its lanes, which the compiler then knows.
__device__ inline int own_warp() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }

// Writes a thread's two rows, each times its factor.
__device__ inline void write(Half* to, Step step, int row, int rows, const float (&c)[WIDTH / 2],
                             const float (&factor)[2]) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int own = row + h * 8;
        if (own >= rows) continue;
#pragma unroll
        for (int n = 0; n < WIDTH / 8; n++)
            *reinterpret_cast<unsigned*>(to + own * step + n * 8 + threadIdx.x % 4 * 2) =
                pair(Half(), c[n * 4 + h * 2] * factor[h], c[n * 4 + h * 2 + 1] * factor[h]);
    }
}

#if FORWARD
#define OVERLAP (WIDTH == 128)
#define THREADS (GROUPS * 128 + (OVERLAP ? 128 : 0))

template <class V> __device__ inline V of_quad(V v, V (*join)(V, V)) {
    v = join(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return join(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline float sum_of(float a, float b) { return a + b; }

// What a thread has of its two rows: the largest score, the sum of exponentials, and what sums so far are multiplied
// with.
struct Rows {
    float largest[2], total[2], past[2];
};

// The exponentials of scores in their place.
__device__ inline void exponentials(float (&s)[TILE / 2], Rows& rows, float unit) {
    float centre[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float best = rows.largest[h];
#pragma unroll
        for (int n = 0; n < TILE / 8; n++) best = fmaxf(best, fmaxf(s[n * 4 + h * 2], s[n * 4 + h * 2 + 1]));
        best = of_quad(best, larger);
        centre[h] = best == -INFINITY ? 0 : best * unit;
        rows.past[h] = power_of_two(rows.largest[h] * unit - centre[h]);
        rows.largest[h] = best;
        rows.total[h] *= rows.past[h];
    }
#pragma unroll
    for (int n = 0; n < TILE / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float& value = s[n * 4 + i];
            value = power_of_two(value * unit - centre[i / 2]);
            rows.total[i / 2] += value;
        }
}

__device__ inline void rescale(float (&o)[WIDTH / 2], const Rows& rows) {
#pragma unroll
    for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) o[n * 4 + i] *= rows.past[i / 2];
}

// Scores of keys that a row does not see.
__device__ inline void mask(float (&s)[TILE / 2], int at, int keys, int own, bool causal) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int most = causal && own + h * 8 + 1 < keys ? own + h * 8 + 1 : keys, left = most - at - lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (n * 8 + i >= left) s[n * 4 + h * 2 + i] = -INFINITY;
    }
}

// Tiles of keys and of values in shared memory behind the queries, and the barriers behind those: queries are there; a
// stage's keys or values are there, or nobody needs them any more.
struct Room {
    unsigned q, k, v, q_there, k_there, v_there, k_done, v_done;
    __device__ explicit Room(unsigned start) {
        q = start, k = q + ROW_BYTES, v = k + STAGES * TILE_BYTES, q_there = v + STAGES * TILE_BYTES;
        k_there = q_there + 8, v_there = k_there + 8 * STAGES;
        k_done = v_there + 8 * STAGES, v_done = k_done + 8 * STAGES;
    }
    __device__ void begin() const {
        if (threadIdx.x == 0) {
            prepare(q_there, 1);
            for (int i = 0; i < STAGES; i++) {
                prepare(k_there + 8 * i, 1), prepare(v_there + 8 * i, 1);
                prepare(k_done + 8 * i, GROUPS * 4), prepare(v_done + 8 * i, GROUPS * 4);
            }
            prepared();
        }
        __syncthreads();
    }
    __device__ void free_keys(int slot) const {
        if (threadIdx.x % 32 == 0) arrive(k_done + 8 * slot);
    }
    __device__ void free_values(int slot) const {
        if (threadIdx.x % 32 == 0) arrive(v_done + 8 * slot);
    }
    __device__ void fetch_queries(const Map& map, int first, const Matrix& matrix) const {
        announce(q_there, ROW_BYTES);
        fetch<ROWS>(q, map, first, matrix, q_there);
    }
    __device__ void fetch_keys(const Map& map, int slot, int tile, const Matrix& matrix) const {
        announce(k_there + 8 * slot, TILE_BYTES);
        fetch<TILE>(k + slot * TILE_BYTES, map, tile * TILE, matrix, k_there + 8 * slot);
    }
    __device__ void fetch_values(const Map& map, int slot, int tile, const Matrix& matrix) const {
        announce(v_there + 8 * slot, TILE_BYTES);
        fetch<TILE>(v + slot * TILE_BYTES, map, tile * TILE, matrix, v_there + 8 * slot);
    }
};

// One thread copies the queries, and tiles as soon as there is room for them.
__device__ inline void bring(const Room& room, const Matrix& matrix, int first, int tiles, const Map& q_map,
                             const Map& k_map, const Map& v_map) {
    room.fetch_queries(q_map, first, matrix);
    Slot slot;
    for (int j = 0; j < tiles; j++) {
        if (j >= STAGES) wait(room.k_done + 8 * slot.at, slot.phase ^ 1);
        room.fetch_keys(k_map, slot.at, j, matrix);
        if (j >= STAGES) wait(room.v_done + 8 * slot.at, slot.phase ^ 1);
        room.fetch_values(v_map, slot.at, j, matrix);
        slot.next();
    }
}

// In place of tiles that the round before round `j` was the last to need: keys of tile j - 1, and values of tile j - 2.
__device__ inline void bring_next(const Room& room, const Matrix& matrix, int j, int tiles, Slot& k_old, Slot& v_old,
                                  const Map& k_map, const Map& v_map) {
    if (j >= 1 && j - 1 + STAGES < tiles) {
        wait(room.k_done + 8 * k_old.at, k_old.phase);
        room.fetch_keys(k_map, k_old.at, j - 1 + STAGES, matrix);
        k_old.next();
    }
    if (j >= 2 && j - 2 + STAGES < tiles) {
        wait(room.v_done + 8 * v_old.at, v_old.phase);
        room.fetch_values(v_map, v_old.at, j - 2 + STAGES, matrix);
        v_old.next();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, OVERLAP ? 1 : 2)
    ENTRY(Half* y, float* lse, int queries, int keys, int causal, float scale, Step y_row, Walk walk,
          const __grid_constant__ Map q_map, const __grid_constant__ Map k_map, const __grid_constant__ Map v_map) {
    PANELS_IN_SHARED(shared);
    const Room room(shared_address(shared));
    int blocks = (queries + ROWS - 1) / ROWS, batch = blockIdx.x / blocks, lane = threadIdx.x % 32, warp = own_warp();
    // Where a query sees the keys before it alone, those that see most come first.
    int first = (blocks - 1 - int(blockIdx.x % blocks)) * ROWS, end = causal && first + ROWS < keys ? first + ROWS : keys;
    int tiles = (end + TILE - 1) / TILE;
    room.begin();
    Matrix matrix;
#if OVERLAP
    // One thread copies; its warpgroup leaves registers to the others.
    if (warp >= GROUPS * 4) {
        release_registers<24>();
        if (threadIdx.x > GROUPS * 128) return;
        matrix.find(walk, Index(batch));
        bring(room, matrix, first, tiles, q_map, k_map, v_map);
        return;
    }
    claim_registers<240>();
#else
    if (threadIdx.x == 0) {
        matrix.find(walk, Index(batch));
        room.fetch_queries(q_map, first, matrix);
        for (int j = 0; j < STAGES && j < tiles; j++) {
            room.fetch_keys(k_map, j, j, matrix);
            room.fetch_values(v_map, j, j, matrix);
        }
    }
    Slot k_old, v_old;
    auto refill = [&](int j) {
        if (threadIdx.x == 0) bring_next(room, matrix, j, tiles, k_old, v_old, k_map, v_map);
        __syncwarp();
    };
#endif
    // Of this warpgroup, and of this thread.
    int own = first + warp / 4 * 64, row = own + warp % 4 * 16 + lane / 4;
    int own_end = causal && own + 64 < end ? own + 64 : end, own_tiles = (own_end + TILE - 1) / TILE;
    float s[TILE / 2], o[WIDTH / 2] = {}, unit = scale * LOG2E;
    unsigned p[TILE / 4];
    Rows rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    // Stages of a tile's keys, and of the values of the tile before where products overlap.
    Slot k_slot, v_slot;
    wait(room.q_there, 0);
    const Word q = matrix_of(room.q + warp / 4 * 64 * 128, 1);
    auto begin_scores = [&] {
        wait(room.k_there + 8 * k_slot.at, k_slot.phase);
        products(s, q, room.k + k_slot.at * TILE_BYTES);
    };
    auto add_values = [&] {
        wait(room.v_there + 8 * v_slot.at, v_slot.phase);
        add_products(o, p, room.v + v_slot.at * TILE_BYTES, true);
    };
    auto probabilities = [&](int j) {
        if ((j + 1) * TILE > keys || causal && (j + 1) * TILE > own + 1) mask(s, j * TILE, keys, row, causal);
        exponentials(s, rows, unit);
    };
#if OVERLAP
    begin_scores();
    wait_products<0>(s);
    room.free_keys(k_slot.at);
    probabilities(0);
    halve(p, s);
    keep(p);
    k_slot.next();
    for (int j = 1; j < own_tiles; j++) {
        begin_scores();
        add_values();
        wait_products<1>(s);
        room.free_keys(k_slot.at);
        probabilities(j);
        wait_products<0>(o);
        keep(p);
        room.free_values(v_slot.at);
        rescale(o, rows);
        keep(o);
        halve(p, s);
        keep(p);
        k_slot.next(), v_slot.next();
    }
    add_values();
    wait_products<0>(o);
    keep(p);
    room.free_values(v_slot.at);
    v_slot.next();
#else
    for (int j = 0; j < own_tiles; j++) {
        begin_scores();
        refill(j);
        wait_products<0>(s);
        room.free_keys(k_slot.at);
        probabilities(j);
        rescale(o, rows);
        keep(o);
        halve(p, s);
        keep(p);
        add_values();
        wait_products<0>(o);
        keep(p);
        room.free_values(v_slot.at);
        k_slot.next(), v_slot.next();
    }
    refill(own_tiles);
#endif
    // Tiles that other warpgroups see: nothing comes after the block has ended.
#pragma unroll 1
    for (int j = own_tiles; j < tiles; j++) {
        wait(room.k_there + 8 * k_slot.at, k_slot.phase);
        room.free_keys(k_slot.at);
        wait(room.v_there + 8 * v_slot.at, v_slot.phase);
        room.free_values(v_slot.at);
#if !OVERLAP
        refill(j + 1);
#endif
        k_slot.next(), v_slot.next();
    }
    float factor[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float all = of_quad(rows.total[h], sum_of);
        int mine = row + h * 8;
        factor[h] = 1 / all;
        if (lane % 4 == 0 && mine < queries)
            lse[(size_t)batch * queries + mine] = rows.largest[h] * scale + logf(all);
    }
    write(y + places(walk, Index(batch)).at[3], y_row, row, queries, o, factor);
}
#else
#define THREADS (GROUPS * 128 + 128)
// The next tile's products begin before this one's have ended, where there are registers for it.
#define AHEAD (WIDTH == 64)

// Rows of both operands in shared memory, rings of tiles of both others and, `BY_KEYS`, of two numbers for each row of a
// tile; and the barriers behind those: rows are there; a stage's tiles are there, or nobody needs them any more.
struct Room {
    unsigned a, b, c, d, rows_there, there, done;
    float* numbers;
    __device__ explicit Room(unsigned char* start) {
        a = shared_address(start), b = a + ROW_BYTES, c = b + ROW_BYTES, d = c + STAGES * TILE_BYTES;
        numbers = reinterpret_cast<float*>(start + (2 * ROW_BYTES + 2 * STAGES * TILE_BYTES));
        rows_there = d + STAGES * TILE_BYTES + STAGES * TILE * 8, there = rows_there + 8, done = there + 8 * STAGES;
    }
    __device__ void begin() const {
        if (threadIdx.x == 0) {
            prepare(rows_there, 1);
            // Where numbers are needed, all lanes of the warp that brings them arrive too.
            for (int i = 0; i < STAGES; i++) prepare(there + 8 * i, BY_KEYS ? 33 : 1), prepare(done + 8 * i, GROUPS * 4);
            prepared();
        }
        __syncthreads();
    }
    __device__ void free(int slot) const {
        // Lanes read numbers of their own from the slot.
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(done + 8 * slot);
    }
};

// One thread copies what products are of.
__device__ inline void bring_tiles(const Room& room, const Matrix& matrix, int first, int start, int tiles,
                                   const Map& a_map, const Map& b_map, const Map& c_map, const Map& d_map) {
    announce(room.rows_there, 2 * ROW_BYTES);
    fetch<ROWS>(room.a, a_map, first, matrix, room.rows_there);
    fetch<ROWS>(room.b, b_map, first, matrix, room.rows_there);
    Slot slot;
    for (int j = start; j < tiles; j++) {
        unsigned there = room.there + 8 * slot.at;
        if (j >= start + STAGES) wait(room.done + 8 * slot.at, slot.phase ^ 1);
        announce(there, 2 * TILE_BYTES);
        fetch<TILE>(room.c + slot.at * TILE_BYTES, c_map, j * TILE, matrix, there);
        fetch<TILE>(room.d + slot.at * TILE_BYTES, d_map, j * TILE, matrix, there);
        slot.next();
    }
}

// A warp brings two numbers for each query of a tile.
__device__ inline void bring_numbers(const Room& room, const float* lse, const float* deltas, int queries, int start,
                                     int tiles) {
    Slot slot;
    for (int j = start; j < tiles; j++) {
        float* to = room.numbers + slot.at * 2 * TILE;
        if (j >= start + STAGES) wait(room.done + 8 * slot.at, slot.phase ^ 1);
        for (int i = threadIdx.x % 32; i < TILE; i += 32) {
            int query = j * TILE + i;
            to[i] = query < queries ? lse[query] * LOG2E : 0;
            to[TILE + i] = query < queries ? deltas[query] : 0;
        }
        arrive(room.there + 8 * slot.at);
        slot.next();
    }
}

// `BY_KEYS`: rows are keys, in tiles come queries and their gradients, and two gradients are summed; else rows are
// queries, keys and values come in tiles, and one is. Maps: of both operands that have rows, and of both that come in
// tiles.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    ENTRY(Half* dk, Half* dv, const float* lse, const float* deltas, int queries, int keys, int causal, float scale,
          Walk walk, const __grid_constant__ Map a_map, const __grid_constant__ Map b_map,
          const __grid_constant__ Map c_map, const __grid_constant__ Map d_map) {
    PANELS_IN_SHARED(shared);
    const Room room(shared);
    int count = BY_KEYS ? keys : queries, all = BY_KEYS ? queries : keys, blocks = (count + ROWS - 1) / ROWS;
    int batch = blockIdx.x / blocks, turn = blockIdx.x % blocks, first = (BY_KEYS ? turn : blocks - 1 - turn) * ROWS;
    int lane = threadIdx.x % 32, warp = own_warp(), start = BY_KEYS && causal ? first / TILE : 0;
    int end = !BY_KEYS && causal && first + ROWS < all ? first + ROWS : all, tiles = (end + TILE - 1) / TILE;
    room.begin();
    lse += (size_t)batch * queries, deltas += (size_t)batch * queries;
    if (warp >= GROUPS * 4) {
        release_registers<24>();
        if (threadIdx.x == GROUPS * 128) {
            Matrix matrix;
            matrix.find(walk, Index(batch));
            bring_tiles(room, matrix, first, start, tiles, a_map, b_map, c_map, d_map);
        }
        if (BY_KEYS && warp == GROUPS * 4 + 1) bring_numbers(room, lse, deltas, queries, start, tiles);
        return;
    }
    claim_registers<240>();
    int row = warp / 4 * 64 + warp % 4 * 16 + lane / 4;
    float s[TILE / 2], ds[TILE / 2], da[WIDTH / 2], unit = scale * LOG2E, own_lse[2] = {}, own_delta[2] = {};
    unsigned p[TILE / 4], dp[TILE / 4];
#if BY_KEYS
    float db[WIDTH / 2];
#else
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int own = first + row + h * 8;
        own_lse[h] = own < queries ? lse[own] * LOG2E : 0, own_delta[h] = own < queries ? deltas[own] : 0;
    }
#endif
    Word a = matrix_of(room.a + warp / 4 * 64 * 128, 1), b = matrix_of(room.b + warp / 4 * 64 * 128, 1);
    wait(room.rows_there, 0);
    Slot slot;
    int back = 0;
    // The products that were begun last have ended.
    auto settle = [&] {
#if BY_KEYS
        keep(db), keep(p);
#endif
        keep(dp);
    };
    for (int j = start; j < tiles; j++) {
        unsigned c_tile = room.c + slot.at * TILE_BYTES, d_tile = room.d + slot.at * TILE_BYTES;
        const float* of_columns = room.numbers + slot.at * 2 * TILE;
        wait(room.there + 8 * slot.at, slot.phase);
        products(s, a, c_tile);
        products(ds, b, d_tile);
#if AHEAD
        wait_products<2>(da);
        settle();
        if (j > start) room.free(back);
#endif
        wait_products<1>(s);
        bool whole = BY_KEYS ? first + warp / 4 * 64 + 64 <= keys && !(causal && j * TILE < first + warp / 4 * 64 + 63)
                             : (j + 1) * TILE <= keys && !(causal && (j + 1) * TILE > first + warp / 4 * 64 + 1);
        if (!whole)
#pragma unroll
            for (int i = 0; i < TILE / 2; i++) {
                int column = j * TILE + i / 4 * 8 + lane % 4 * 2 + i % 2, mine = first + row + i / 2 % 2 * 8;
                int query = BY_KEYS ? column : mine, key = BY_KEYS ? mine : column;
                if (key >= keys || causal && key > query) s[i] = -INFINITY;
            }
#pragma unroll
        for (int i = 0; i < TILE / 2; i++) {
            float log = BY_KEYS ? of_columns[i / 4 * 8 + lane % 4 * 2 + i % 2] : own_lse[i / 2 % 2];
            s[i] = power_of_two(s[i] * unit - log);
        }
#if BY_KEYS
        halve(p, s);
        keep(p);
        add_products(db, p, d_tile, j > start);
        wait_products<1>(ds);
#else
        wait_products<0>(ds);
#endif
#pragma unroll
        for (int i = 0; i < TILE / 2; i++) {
            float delta = BY_KEYS ? of_columns[TILE + i / 4 * 8 + lane % 4 * 2 + i % 2] : own_delta[i / 2 % 2];
            ds[i] = s[i] * (ds[i] - delta);
        }
        halve(dp, ds);
        keep(dp);
        add_products(da, dp, c_tile, j > start);
#if !AHEAD
        wait_products<0>(da);
        settle();
        room.free(slot.at);
#endif
        back = slot.at;
        slot.next();
    }
    wait_products<0>(da);
#if BY_KEYS
    keep(db);
#endif
    // Keys that no query sees.
    if (start >= tiles)
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) {
            da[i] = 0;
#if BY_KEYS
            db[i] = 0;
#endif
        }
    size_t to = (size_t)batch * count * WIDTH;
    const float scales[2] = {scale, scale};
    write(dk + to, WIDTH, first + row, count, da, scales);
#if BY_KEYS
    const float ones[2] = {1, 1};
    write(dv + to, WIDTH, first + row, count, db, ones);
#endif
}
#endif
