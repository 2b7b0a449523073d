// What `kernels/tensor_core.cuh` has PTX for, by what it means.

#define DYNAMIC_SHARED(name) static __attribute__((aligned(128))) unsigned char name[1 << 18]

static const unsigned short* rows_of[32][32];
static void matrices_as(unsigned (&to)[4], const void* row, bool turned) {
    unsigned warp = current / 32, lane = current % 32, g = lane / 4, t = lane % 4 * 2;
    rows_of[warp][lane] = (const unsigned short*)row;
    wait_at(warps[warp], 32);
    for (unsigned m = 0; m < 4; m++) {
        const unsigned short** rows = rows_of[warp] + 8 * m;
        unsigned low = turned ? rows[t][g] : rows[g][t], high = turned ? rows[t + 1][g] : rows[g][t + 1];
        to[m] = high << 16 | low;
    }
    wait_at(warps[warp], 32);
}
static void matrices(unsigned (&to)[4], const void* row) { matrices_as(to, row, false); }
static void matrices_turned(unsigned (&to)[4], const void* row) { matrices_as(to, row, true); }

static unsigned operands_of[32][32][6];
template <class H> static float half_at(unsigned word, unsigned which) {
    H half;
    half.bits = (unsigned short)(word >> which % 2 * 16);
    return number(half);
}
template <class H> static void multiply(H, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    unsigned warp = current / 32, lane = current % 32;
    unsigned own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    memcpy(operands_of[warp][lane], own, sizeof(own));
    wait_at(warps[warp], 32);
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 16; k++) {
            unsigned left = operands_of[warp][row % 8 * 4 + k % 8 / 2][k / 8 * 2 + row / 8];
            unsigned right = operands_of[warp][column * 4 + k % 8 / 2][4 + k / 8];
            c[i] += half_at<H>(left, k) * half_at<H>(right, k);
        }
    }
    wait_at(warps[warp], 32);
}
template <class H> static unsigned pair(H, float low, float high) {
    return (unsigned)As<H>::of(high).bits << 16 | As<H>::of(low).bits;
}
static float power_of_two(float v) { return exp2f(v); }

static void begin_copy(void* to, const void* from, bool there) {
    if (there) memcpy(to, from, 16);
    else memset(to, 0, 16);
}
static void begin_copy(float* to, const float* from, bool there) { *to = there ? *from : 0.0f; }
static void end_copies() {}
