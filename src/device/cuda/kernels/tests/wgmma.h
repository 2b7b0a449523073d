// What `wgmma.cuh` has PTX for, by what it means: products at the latest when they are waited for, copies at once, and
// descriptors and swizzles as the PTX ISA tells of them ("canonical layouts").

typedef unsigned long long Word;
// In place of what a driver encodes: address, five sizes, four strides in bytes, and the rows that are copied at once.
struct Map {
    Word words[16];
};
static unsigned char* shared_base;
#define PANELS_IN_SHARED(name)                                                \
    static __attribute__((aligned(1024))) unsigned char name[1 << 18];        \
    shared_base = name
#define __grid_constant__
static unsigned shared_address(const void* at) { return (const unsigned char*)at - shared_base; }
static Word matrix_of(unsigned at, int leading) {
    return Word(at >> 4) | Word(leading >> 4) << 16 | Word(1024 >> 4) << 32 | 1ull << 62;
}
template <class V> static V __shfl_sync(unsigned, V v, int lane) { return from_lane(v, lane); }

static unsigned swizzled(unsigned at) { return at ^ (at >> 7 & 7) << 4; }
template <class H> static float half_in(Word matrix, bool turned, unsigned row, unsigned k) {
    unsigned start = (matrix & 0x3fff) << 4, leading = (matrix >> 16 & 0x3fff) << 4, stride = (matrix >> 32 & 0x3fff) << 4;
    unsigned at = turned ? row % 64 * 2 + row / 64 * leading + k % 8 * 128 + k / 8 * stride
                         : row % 8 * 128 + row / 8 * stride + k * 2;
    H half;
    memcpy(&half, shared_base + swizzled(start + at), 2);
    return number(half);
}
struct Product {
    float* c;
    Word a, b;
    const unsigned* held;
    int add, columns, group;
};
static Product begun_products[1024][96];
static int product_count[1024], group_count[1024];
static Barrier groups_of_warps[8];
template <class H, int C> static void begin(H, float (&c)[C], Word a, const unsigned* held, Word b, int add) {
    begun_products[current][product_count[current]++] = {c, a, b, held, add, C * 2, group_count[current]};
}
template <class H, int C> static void multiply(H h, float (&c)[C], Word a, Word b, int add) { begin(h, c, a, nullptr, b, add); }
template <class H, int C> static void multiply(H h, float (&c)[C], const unsigned* a, Word b, int add) { begin(h, c, 0, a, b, add); }
template <class H, int C> static void multiply_new(H h, float (&c)[C], Word a, Word b) { begin(h, c, a, nullptr, b, 0); }
static void end_group() { group_count[current]++; }
static void before_products() {}
template <int N> static void keep(unsigned (&)[N]) {}
template <int N> static void keep(float (&)[N]) {}
template <int PENDING, int C> static void wait_products(float (&)[C]) {
    unsigned mine = current, warp = mine / 32 % 4, lane = mine % 32, group = mine / 128;
    wait_at(groups_of_warps[group], 128);
    int ready = 0, count = product_count[mine];
    for (; ready < count && begun_products[mine][ready].group < group_count[mine] - PENDING; ready++) {
        Product& p = begun_products[mine][ready];
        for (int i = 0; i < p.columns / 2; i++) {
            unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            float sum = p.add ? p.c[i] : 0;
            for (unsigned k = 0; k < 16; k++) {
                float a;
                if (p.held) {
                    // Lane (row, k) of this warp has it.
                    unsigned other = mine / 32 * 32 + row % 8 * 4 + k % 8 / 2;
                    unsigned word = begun_products[other][ready].held[k / 8 * 2 + row / 8 % 2];
                    a = half_at<S0>(word, k);
                } else a = half_in<S0>(p.a, false, row, k);
                sum += a * half_in<S0>(p.b, p.held != nullptr, column, k);
            }
            p.c[i] = sum;
        }
    }
    wait_at(groups_of_warps[group], 128);
    for (int i = ready; i < count; i++) begun_products[mine][i - ready] = begun_products[mine][i];
    product_count[mine] -= ready;
    wait_at(groups_of_warps[group], 128);
}

struct Counter {
    int expected, pending, bytes, phase;
};
static Counter counters[1 << 15];
static void settle(Counter& c) {
    if (c.pending < 0) abort();
    if (c.pending == 0 && c.bytes == 0) c.pending = c.expected, c.phase ^= 1;
}
static void prepare(unsigned at, int arrivals) { counters[at / 8] = {arrivals, arrivals, 0, 0}; }
static void prepared() {}
static void arrive(unsigned at) { counters[at / 8].pending--, settle(counters[at / 8]); }
static void announce(unsigned at, int bytes) {
    counters[at / 8].pending--, counters[at / 8].bytes += bytes;
}
static void wait(unsigned at, int phase) {
    for (long turns = 0; counters[at / 8].phase == phase; turns++) {
        if (turns > 10000000) abort(); // Nobody will arrive.
        give_way();
    }
}
template <int COUNT> static void release_registers() {}
template <int COUNT> static void claim_registers() {}
static void fetch_panel(unsigned to, const Map& from, int column, int row, const int (&at)[3], unsigned barrier) {
    const Word* w = from.words;
    for (int r = 0; r < (int)w[10]; r++)
        for (int c = 0; c < 64; c++) {
            bool there = row + r < (int)w[2] && column + c < (int)w[1];
            const unsigned char* place = (const unsigned char*)w[0] + (row + r) * w[6] + (column + c) * 2;
            for (int d = 0; d < 3; d++) place += at[d] * w[7 + d];
            unsigned short half = 0;
            if (there) memcpy(&half, place, 2);
            memcpy(shared_base + swizzled(to + r * 128 + c * 2), &half, 2);
        }
    counters[barrier / 8].bytes -= (int)w[10] * 128;
    settle(counters[barrier / 8]);
}
