// Element types as they lie in memory, and conversions between them and the compute types float, double and
// long long. Nothing is included: a machine with a driver and a compiler is enough.

struct float16 {
    unsigned short bits;
};
struct bfloat16 {
    unsigned short bits;
};
struct boolean {
    unsigned char bits;
};

__device__ inline float number(float16 v) {
    float to;
    asm("cvt.f32.f16 %0, %1;" : "=f"(to) : "h"(v.bits));
    return to;
}
__device__ inline float number(bfloat16 v) { return __uint_as_float((unsigned)v.bits << 16); }
__device__ inline int number(boolean v) { return v.bits; }
template <class S> __device__ inline S number(S v) { return v; }

// Truncates; what is too large becomes the last integer, and NaN 0.
__device__ inline long long whole(float v) { return v != v ? 0 : __float2ll_rz(v); }
__device__ inline long long whole(double v) { return v != v ? 0 : __double2ll_rz(v); }
template <class N> __device__ inline long long whole(N v) { return (long long)v; }

// A number as `S` stores it, rounded once to the nearest, ties to even; integers wrap.
template <class S> struct As {
    template <class N> __device__ static S of(N v) { return S(whole(v)); }
};
template <> struct As<float> {
    template <class N> __device__ static float of(N v) { return float(v); }
};
template <> struct As<double> {
    template <class N> __device__ static double of(N v) { return double(v); }
};
template <> struct As<float16> {
    template <class N> __device__ static float16 of(N v) {
        float16 to;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(float(v)));
        return to;
    }
};
template <> struct As<bfloat16> {
    template <class N> __device__ static bfloat16 of(N v) {
        float from = float(v);
        unsigned bits = __float_as_uint(from);
        unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        return bfloat16{(unsigned short)(from != from ? bits >> 16 | 0x40u : rounded)};
    }
};
template <> struct As<boolean> {
    template <class N> __device__ static boolean of(N v) { return boolean{(unsigned char)(v != N(0))}; }
};

// An element as a number of the compute type `T`.
template <class T, class S> __device__ inline T load(const S* from) { return As<T>::of(number(*from)); }
template <class S, class N> __device__ inline void store(S* to, N v) { *to = As<S>::of(v); }

// Sums and products; integers wrap.
__device__ inline float plus(float a, float b) { return a + b; }
__device__ inline double plus(double a, double b) { return a + b; }
__device__ inline long long plus(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
__device__ inline float times(float a, float b) { return a * b; }
__device__ inline double times(double a, double b) { return a * b; }
__device__ inline long long times(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)

// The device stops with an assertion, as PyTorch's kernels do.
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
__device__ inline void require(bool holds, const char* what) {
    if (!holds) __assertfail(what, "kernel", 0, "tensorlab", 1);
}
