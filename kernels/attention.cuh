// Attention whose scores stay on the chip, after Dao's FlashAttention-2: a block has some rows, and goes through all that
// they meet tile by tile; the probabilities of a tile are the halves of a product's left operand as they are computed.
// Gradients recompute them from the rows' log-sum-exp, in one pass by queries and one by keys, so that nothing is added
// out of order. Rows lie 16 bytes aligned; `WIDTH` halves are made of them, those behind `width` 0.

typedef S0 Half;
#define THREADS (WARPS * 32)
#define LOG2E 1.44269504f

// Where a chunk of eight halves of a tile's row lies: rows turn, so that eight of them meet no bank twice.
__device__ inline Half* chunk_of(Half* tile, int row, int chunk) { return tile + row * WIDTH + (chunk ^ row & 7) * 8; }

// Begins to copy `ROWS` of the rows from `first` on.
template <int ROWS>
__device__ inline void fetch(Half* tile, const Half* from, Step step, int first, int rows, int width) {
#pragma unroll
    for (int i = 0; i < ROWS * WIDTH / 8 / THREADS; i++) {
        int at = i * THREADS + threadIdx.x, row = at / (WIDTH / 8), chunk = at % (WIDTH / 8);
        bool there = first + row < rows && chunk * 8 < width;
        begin_copy((void*)chunk_of(tile, row, chunk), there ? from + (first + row) * step + chunk * 8 : from, there);
    }
}

// Rows of a tile from `row` on, 16 for each of `M`, as left operands; `HOLD` keeps them in registers.
template <int M> struct Left {
    Half* tile;
    int row;
    unsigned held[HOLD ? M : 1][HOLD ? WIDTH / 16 : 1][4];
    __device__ void read(int m, int k, unsigned (&to)[4]) const {
        int lane = threadIdx.x % 32;
        matrices(to, chunk_of(tile, row + m * 16 + lane % 16, k * 2 + lane / 16));
    }
    __device__ void hold() {
        if (HOLD)
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < WIDTH / 16; k++) read(m, k, held[HOLD ? m : 0][HOLD ? k : 0]);
    }
};

// c = left tileᵀ, N columns of it
template <int M, int N> __device__ inline void product(float (&c)[M][N / 8][4], const Left<M>& left, Half* tile) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) c[m][n][i] = 0;
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++) {
        unsigned a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
            if (HOLD)
#pragma unroll
                for (int i = 0; i < 4; i++) a[m][i] = left.held[HOLD ? m : 0][HOLD ? k : 0][i];
            else left.read(m, k, a[m]);
#pragma unroll
        for (int n = 0; n < N / 16; n++) {
            unsigned b[4];
            matrices(b, chunk_of(tile, n * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply(Half(), c[m][2 * n], a[m], b[0], b[1]);
                multiply(Half(), c[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

// c += p tile, of whose rows there are K
template <int M, int K>
__device__ inline void add_product(float (&c)[M][WIDTH / 8][4], const float (&p)[M][K / 8][4], Half* tile) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < K / 16; k++) {
        unsigned a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float(&from)[4] = p[m][2 * k + i / 2];
                a[m][i] = pair(Half(), from[i % 2 * 2], from[i % 2 * 2 + 1]);
            }
#pragma unroll
        for (int n = 0; n < WIDTH / 16; n++) {
            unsigned b[4];
            matrices_turned(b, chunk_of(tile, k * 16 + lane % 16, n * 2 + lane / 16));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply(Half(), c[m][2 * n], a[m], b[0], b[1]);
                multiply(Half(), c[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

// Writes rows from `row` on, each times its factor.
template <int M>
__device__ inline void write(Half* to, Step step, int row, int rows, int width, const float (&c)[M][WIDTH / 8][4],
                             const float (&factor)[M][2]) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int own = row + m * 16 + h * 8 + lane / 4;
            if (own >= rows) continue;
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++)
                if (n * 8 < width)
                    *reinterpret_cast<unsigned*>(to + own * step + n * 8 + lane % 4 * 2) =
                        pair(Half(), c[m][n][h * 2] * factor[m][h], c[m][n][h * 2 + 1] * factor[m][h]);
        }
}

template <class V> __device__ inline V of_quad(V v, V (*join)(V, V)) {
    v = join(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return join(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline float sum_of(float a, float b) { return a + b; }

#if FORWARD
#define M 2
#define ROWS (WARPS * 16 * M)
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(Half* y, float* lse, const Half* q, const Half* k, const Half* v, int queries, int keys, int width, int causal,
          float scale, Step y_row, Step q_row, Step k_row, Step v_row, Walk walk) {
    DYNAMIC_SHARED(room);
    Half *q_tile = reinterpret_cast<Half*>(room), *tiles = q_tile + ROWS * WIDTH;
    int blocks = (queries + ROWS - 1) / ROWS, batch = blockIdx.x / blocks;
    // Where a query sees the keys before it alone, those that see most come first.
    int first = (blocks - 1 - int(blockIdx.x % blocks)) * ROWS, lane = threadIdx.x % 32;
    int row = threadIdx.x / 32 * 16 * M, end = causal && first + ROWS < keys ? first + ROWS : keys;
    Places place = places(walk, Index(batch));
    q += place.at[0], k += place.at[1], v += place.at[2], y += place.at[3];
    fetch<ROWS>(q_tile, q, q_row, first, queries, width);
    fetch<TILE>(tiles, k, k_row, 0, keys, width);
    fetch<TILE>(tiles + TILE * WIDTH, v, v_row, 0, keys, width);
    Left<M> left = {q_tile, row};
    float o[M][WIDTH / 8][4] = {}, largest[M][2], total[M][2], unit = scale * LOG2E;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) largest[m][h] = -INFINITY, total[m][h] = 0;
    for (int at = 0; at < end; at += TILE) {
        Half* tile = tiles + at / TILE % 2 * (2 * TILE * WIDTH);
        end_copies();
        __syncthreads();
        if (at == 0) left.hold();
        if (at + TILE < end) {
            Half* next = tiles + (at / TILE + 1) % 2 * (2 * TILE * WIDTH);
            fetch<TILE>(next, k, k_row, at + TILE, keys, width);
            fetch<TILE>(next + TILE * WIDTH, v, v_row, at + TILE, keys, width);
        }
        float s[M][TILE / 8][4];
        product<M, TILE>(s, left, tile);
        bool whole = at + TILE <= keys && !(causal && at + TILE > first + 1);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int own = first + row + m * 16 + h * 8 + lane / 4;
                float best = largest[m][h], sum = 0;
#pragma unroll
                for (int n = 0; n < TILE / 8; n++)
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        float& value = s[m][n][h * 2 + i];
                        int key = at + n * 8 + lane % 4 * 2 + i;
                        if (!whole && (key >= keys || causal && key > own)) value = -INFINITY;
                        best = fmaxf(best, value);
                    }
                best = of_quad(best, larger);
                float centre = best == -INFINITY ? 0 : best * unit, past = power_of_two(largest[m][h] * unit - centre);
                largest[m][h] = best;
#pragma unroll
                for (int n = 0; n < TILE / 8; n++)
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        float& value = s[m][n][h * 2 + i];
                        value = power_of_two(value * unit - centre);
                        sum += value;
                    }
                total[m][h] = total[m][h] * past + sum;
#pragma unroll
                for (int n = 0; n < WIDTH / 8; n++) o[m][n][h * 2] *= past, o[m][n][h * 2 + 1] *= past;
            }
        add_product<M, TILE>(o, s, tile + TILE * WIDTH);
    }
    float factor[M][2];
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float all = of_quad(total[m][h], sum_of);
            int own = first + row + m * 16 + h * 8 + lane / 4;
            factor[m][h] = 1 / all;
            if (lane % 4 == 0 && own < queries) lse[(size_t)batch * queries + own] = largest[m][h] * scale + logf(all);
        }
    write<M>(y, y_row, first + row, queries, width, o, factor);
}
#elif DELTAS
// The product of each row of the output with its gradient: a warp to a row.
extern "C" __global__ void __launch_bounds__(256)
    ENTRY(float* deltas, const Half* dy, const Half* y, int queries, int width, Index rows, Step dy_row, Walk walk) {
    Index own = Index(blockIdx.x) * 8 + threadIdx.x / 32, batch = own / queries;
    if (own >= rows) return;
    dy += places(walk, batch).at[3] + Step(own - batch * queries) * dy_row;
    y += own * width;
    float sum = 0;
    for (int i = threadIdx.x % 32; i < width; i += 32) sum += number(dy[i]) * number(y[i]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (threadIdx.x % 32 == 0) deltas[own] = sum;
}
#else
#define ROWS (WARPS * 16)
// `BY_KEYS`: rows are keys, in tiles come queries and their gradients, and two gradients are summed; else rows are
// queries, keys and values come in tiles, and one is.
extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(Half* dk, Half* dv, const Half* dy, const Half* q, const Half* k, const Half* v, const float* lse,
          const float* deltas, int queries, int keys, int width, int causal, float scale, Step dy_row, Step q_row,
          Step k_row, Step v_row, Walk walk) {
    DYNAMIC_SHARED(room);
    int count = BY_KEYS ? keys : queries, blocks = (count + ROWS - 1) / ROWS, batch = blockIdx.x / blocks;
    int turn = int(blockIdx.x % blocks), first = (BY_KEYS ? turn : blocks - 1 - turn) * ROWS;
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
    Half *a_rows = reinterpret_cast<Half*>(room), *b_rows = a_rows + ROWS * WIDTH, *tiles = b_rows + ROWS * WIDTH;
    float* numbers = reinterpret_cast<float*>(tiles + 4 * TILE * WIDTH);
    Places place = places(walk, Index(batch));
    q += place.at[0], k += place.at[1], v += place.at[2], dy += place.at[3];
    lse += (size_t)batch * queries, deltas += (size_t)batch * queries;
    // Rows of the products of queries with keys, and of gradients with values; and what comes in tiles.
    const Half *a = BY_KEYS ? k : q, *b = BY_KEYS ? v : dy, *c = BY_KEYS ? q : k, *d = BY_KEYS ? dy : v;
    Step a_step = BY_KEYS ? k_row : q_row, b_step = BY_KEYS ? v_row : dy_row;
    Step c_step = BY_KEYS ? q_row : k_row, d_step = BY_KEYS ? dy_row : v_row;
    int all = BY_KEYS ? queries : keys, start = BY_KEYS && causal ? first / TILE * TILE : 0;
    int end = !BY_KEYS && causal && first + ROWS < all ? first + ROWS : all;
    auto next = [&](int at) {
        Half* tile = tiles + at / TILE % 2 * (2 * TILE * WIDTH);
        fetch<TILE>(tile, c, c_step, at, all, width);
        fetch<TILE>(tile + TILE * WIDTH, d, d_step, at, all, width);
        if (BY_KEYS && threadIdx.x < 2 * TILE) {
            int i = at + threadIdx.x % TILE;
            const float* from = threadIdx.x < TILE ? lse : deltas;
            begin_copy(numbers + at / TILE % 2 * (2 * TILE) + threadIdx.x, i < all ? from + i : from, i < all);
        }
    };
    fetch<ROWS>(a_rows, a, a_step, first, count, width);
    fetch<ROWS>(b_rows, b, b_step, first, count, width);
    if (start < end) next(start);
    Left<1> left = {a_rows, row}, right = {b_rows, row};
    float da[1][WIDTH / 8][4] = {}, unit = scale * LOG2E, own_lse[2], own_delta[2];
#if BY_KEYS
    float db[1][WIDTH / 8][4] = {};
#else
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int own = first + row + h * 8 + lane / 4;
        own_lse[h] = own < queries ? lse[own] * LOG2E : 0, own_delta[h] = own < queries ? deltas[own] : 0;
    }
#endif
    for (int at = start; at < end; at += TILE) {
        Half* tile = tiles + at / TILE % 2 * (2 * TILE * WIDTH);
        const float* own = numbers + at / TILE % 2 * (2 * TILE);
        end_copies();
        __syncthreads();
        if (at == start) left.hold(), right.hold();
        if (at + TILE < end) next(at + TILE);
        float p[1][TILE / 8][4], dp[1][TILE / 8][4];
        product<1, TILE>(p, left, tile);
        product<1, TILE>(dp, right, tile + TILE * WIDTH);
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int column = n * 8 + lane % 4 * 2 + i % 2, mine = first + row + i / 2 * 8 + lane / 4;
                int query = BY_KEYS ? at + column : mine, key = BY_KEYS ? mine : at + column;
                float log = BY_KEYS ? own[column] * LOG2E : own_lse[i / 2];
                float delta = BY_KEYS ? own[TILE + column] : own_delta[i / 2];
                float& value = p[0][n][i];
                value = key >= keys || causal && key > query ? 0 : power_of_two(value * unit - log);
                dp[0][n][i] = value * (dp[0][n][i] - delta);
            }
#if BY_KEYS
        add_product<1, TILE>(db, p, tile + TILE * WIDTH);
#endif
        add_product<1, TILE>(da, dp, tile);
    }
    end_copies();
    size_t to = (size_t)batch * count * width;
    float scales[1][2] = {{scale, scale}};
    write<1>(dk + to, width, first + row, count, width, da, scales);
#if BY_KEYS
    float ones[1][2] = {{1, 1}};
    write<1>(dv + to, width, first + row, count, width, db, ones);
#endif
}
#endif
