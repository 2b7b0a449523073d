// Draws from Philox 4x32-10: the numbers, and which element gets which, are those of src/device/philox.rs.
// Products and sums are rounded one by one, or together, as they are there.

struct Bits {
    unsigned at[4];
};

__device__ inline Bits draw(unsigned long long seed, unsigned long long block, unsigned long long thread) {
    unsigned c[4] = {(unsigned)block, (unsigned)(block >> 32), (unsigned)thread, (unsigned)(thread >> 32)};
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned x0 = c[0] * 0xd2511f53u, x1 = __umulhi(c[0], 0xd2511f53u);
        unsigned y0 = c[2] * 0xcd9e8d57u, y1 = __umulhi(c[2], 0xcd9e8d57u);
        c[0] = y1 ^ c[1] ^ k0;
        c[1] = y0;
        c[2] = x1 ^ c[3] ^ k1;
        c[3] = x0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return Bits{{c[0], c[1], c[2], c[3]}};
}

// In 0 < x <= 1.
__device__ inline float unit(unsigned bits) {
    return __fadd_rn(__fmul_rn(__uint2float_rn(bits), 2.3283064365386963e-10f), 1.1641532182693481e-10f);
}
__device__ inline double unit(unsigned low, unsigned high) {
    unsigned long long bits = (unsigned long long)low ^ ((unsigned long long)high << 21);
    return __dadd_rn(__dmul_rn((double)bits, 1.1102230246251565e-16), 5.551115123125783e-17);
}
__device__ inline float line(float x, float slope, float start) { return __fadd_rn(__fmul_rn(x, slope), start); }
__device__ inline double line(double x, double slope, double start) {
    return __dadd_rn(__dmul_rn(x, slope), start);
}

__device__ inline float along(float x, float slope, float start) { return fmaf(x, slope, start); }
__device__ inline double along(double x, double slope, double start) { return fma(x, slope, start); }

// Standard normal numbers: four single ones, or two double ones.
__device__ inline void normal(const Bits& bits, float (&to)[4]) {
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
        float radius = sqrtf(__fmul_rn(-2.0f, logf(unit(bits.at[k])))), s, c;
        __sincosf(line(__uint2float_rn(bits.at[k + 1]), 1.4629180792671596e-09f, 7.314590396335798e-10f), &s, &c);
        to[k] = __fmul_rn(radius, s), to[k + 1] = __fmul_rn(radius, c);
    }
}
__device__ inline void normal(const Bits& bits, double (&to)[2]) {
    double radius = sqrt(__dmul_rn(-2.0, log(unit(bits.at[0], bits.at[1])))), s, c;
    sincos(__dmul_rn(unit(bits.at[2], bits.at[3]), 6.283185307179586), &s, &c);
    to[0] = __dmul_rn(radius, s), to[1] = __dmul_rn(radius, c);
}
__device__ inline float uniform(const Bits& bits, int which, float) { return unit(bits.at[which]); }
__device__ inline double uniform(const Bits& bits, int which, double) {
    return which == 0 ? unit(bits.at[0], bits.at[1]) : unit(bits.at[2], bits.at[3]);
}
// 32 bits, or 64 where a call serves two elements.
__device__ inline unsigned long long integer(const Bits& bits, int which) {
    if (PER_CALL == 4) return bits.at[which];
    return which == 0 ? (unsigned long long)bits.at[0] << 32 | bits.at[1]
                      : (unsigned long long)bits.at[2] << 32 | bits.at[3];
}

#if PER_CALL == 4
typedef float Real;
#else
typedef double Real;
#endif

#if UNIFORM
// p = low, q = high - low, r = high, which numbers can reach and which becomes the lower bound.
__device__ inline Real value(const Bits& bits, int which, double p, double q, double r) {
    Real drawn = As<Real>::of(number(As<STORED>::of(along(uniform(bits, which, Real()), Real(q), Real(p)))));
    return drawn == Real(r) ? Real(p) : drawn;
}
#elif NORMAL || LOG_NORMAL
// p = mean, q = std
__device__ inline void values(const Bits& bits, double p, double q, double, Real (&to)[PER_CALL]) {
    normal(bits, to);
#pragma unroll
    for (int k = 0; k < PER_CALL; k++) {
        to[k] = along(to[k], Real(q), Real(p));
#if LOG_NORMAL
        to[k] = exp(to[k]);
#endif
    }
}
#elif EXPONENTIAL
// p = -1 / rate, q = half of the distance from 1 to the next number: no waiting time is zero.
__device__ inline Real value(const Bits& bits, int which, double p, double q, double) {
    Real u = uniform(bits, which, Real());
    return Real(p) * (u >= Real(1) - Real(q) ? -Real(q) : log(u));
}
#elif CAUCHY
// p = median, q = sigma, r = what single numbers keep off 0 and 1.
__device__ inline Real value(const Bits& bits, int which, double p, double q, double r) {
    Real u = uniform(bits, which, Real());
    if (PER_CALL == 4) u = fmin(fmax(u, Real(r)), Real(1) - Real(r));
    return along(tan(Real(3.14159265358979323846) * (u - Real(0.5))), Real(q), Real(p));
}
#elif GEOMETRIC
// p = log(1 - p)
__device__ inline Real value(const Bits& bits, int which, double p, double, double) {
    return ceil(log(uniform(bits, which, Real())) / Real(p));
}
#elif BERNOULLI
__device__ inline T value(const Bits& bits, int which, double p, double, double) {
    return (T)(double(uniform(bits, which, Real())) < p);
}
#elif KEEP
// Less than p, or than the next single number above it, is the same.
__device__ inline T value(const Bits& bits, int which, float above) { return T(unit(bits.at[which]) < above); }
#else
// low + bits % span
__device__ inline T value(const Bits& bits, int which, long long low, unsigned long long span, double) {
    return As<T>::of(plus(low, (long long)(integer(bits, which) % span)));
}
#endif

#if DROP
// What is kept of `x`, and by how much it grows.
#define KEPT S0 *kept, S1 *y, const S2 *x
__device__ inline void drop(S1* y, const S2* x, bool on, double scale) {
    auto value = number(*x);
    store(y, decltype(value)(0) + decltype(value)(scale) * (value * decltype(value)(on)));
}
#define PUT(place, on)                                                    \
    do {                                                                  \
        Places at = place;                                                \
        bool is = (on) != 0;                                              \
        store(kept + at.at[0], is);                                       \
        drop(y + at.at[1 % OPERANDS], x + at.at[2 % OPERANDS], is, scale); \
    } while (0)
#else
#define KEPT S0* kept
#define PUT(place, on) store(kept + (place).at[0], on)
#endif

#if KEEP
// Whether elements in memory order lie four by four at a bound that a thread can move them by.
template <class S> __device__ inline bool in_fours(const Walk& walk, int operand, const S* at) {
    return walk.rank <= 1 && walk.step[operand % OPERANDS][0] == 1 && (reinterpret_cast<size_t>(at) & (4 * sizeof(S) - 1)) == 0;
}
#if DROP
template <class S> struct __align__(4 * sizeof(S)) Four {
    S at[4];
};
#endif

// A thread keeps or drops q neighbours, four by one call.
extern "C" __global__ void __launch_bounds__(256)
    ENTRY(KEPT, P p, Q q, double scale, unsigned long long seed, unsigned long long block,
          unsigned long long threads, unsigned long long work, Walk walk) {
    unsigned long long thread = (unsigned long long)blockIdx.x * 256 + threadIdx.x, call = block;
    int vector = int(q);
    float above = __double2float_ru(p);
    bool packed = vector % 4 == 0 && in_fours(walk, 0, kept);
#if DROP
    packed = packed && in_fours(walk, 1, y) && in_fours(walk, 2, x);
#endif
    for (unsigned long long i = thread; i < work; i += threads, call += (vector + 3) / 4) {
        Bits bits;
        if (packed && (i + 1) * vector <= walk.count) {
            for (int which = 0; which < vector; which += 4) {
                bits = draw(seed, call + which / 4, thread);
                unsigned long long first = i * vector + which;
                unsigned four = 0;
#pragma unroll
                for (int k = 0; k < 4; k++) four |= unsigned(value(bits, k, above)) << 8 * k;
                *reinterpret_cast<unsigned*>(kept + first) = four;
#if DROP
                Four<S2> from = *reinterpret_cast<const Four<S2>*>(x + first);
                Four<S1> to;
#pragma unroll
                for (int k = 0; k < 4; k++) drop(&to.at[k], &from.at[k], four >> 8 * k & 1, scale);
                *reinterpret_cast<Four<S1>*>(y + first) = to;
#endif
            }
            continue;
        }
        for (int which = 0; which < vector; which++) {
            if (which % 4 == 0) bits = draw(seed, call + which / 4, thread);
            unsigned long long element = i * vector + which;
            if (element < walk.count) PUT(places(walk, Index(element)), value(bits, which % 4, above));
        }
    }
}
#else
// The `threads` that PyTorch runs, each with its calls one after another; one serves elements `threads` apart.
extern "C" __global__ void __launch_bounds__(256)
    ENTRY(KEPT, P p, Q q, double r, unsigned long long seed, unsigned long long block,
          unsigned long long threads, unsigned long long work, Walk walk) {
    unsigned long long thread = (unsigned long long)blockIdx.x * 256 + threadIdx.x;
#if DROP
    double scale = r;
#endif
    Index element = Index(thread), pace = Index(threads);
    for (unsigned long long done = thread; done < work; done += threads, block++) {
        Bits bits = draw(seed, block, thread);
#if NORMAL || LOG_NORMAL
        Real drawn[PER_CALL];
        values(bits, p, q, r, drawn);
#define DRAWN(which) drawn[which]
#else
#define DRAWN(which) value(bits, which, p, q, r)
#endif
#pragma unroll
        for (int which = 0; which < PER_CALL; which++, element += pace)
            if (element < walk.count) PUT(places(walk, element), DRAWN(which));
    }
}
#endif
