// What the scalar functions of src/device/scalar.rs need beyond CUDA's own: overloads for the compute
// types float, double and long long.

#define EACH_REAL(DEFINE) DEFINE(float) DEFINE(double)

#define ORDER(T) \
    __device__ inline T sign_of(T a) { return T(T(0) < a) - T(a < T(0)); } \
    __device__ inline T larger(T a, T b) { return a != a || a > b ? a : b; } \
    __device__ inline T smaller(T a, T b) { return a != a || a < b ? a : b; } \
    __device__ inline T bounded(T a, T low, T high) { \
        a = a < low || low != low ? low : a; \
        return a > high || high != high ? high : a; \
    }
typedef long long Whole;
EACH_REAL(ORDER) ORDER(Whole)

// Asymptotic series from 12 on, reached by recurrence; see src/device/cpu/math/special.rs.
__device__ const double BERNOULLI[8] = {
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0};
__device__ inline double digamma_of(double x) {
    double sum = 0.0;
    if (x == 0.0) return copysign(INFINITY, -x);
    if (x < 0.0) {
        if (x == floor(x)) return NAN;
        sum = -3.141592653589793 / tan(3.141592653589793 * (x - rint(x)));
        x = 1.0 - x;
    }
    for (; x < 12.0; x += 1.0) sum -= 1.0 / x;
    double inverse = 1.0 / (x * x), power = 1.0;
    sum += log(x) - 0.5 / x;
    for (int k = 1; k <= 8; k++) sum -= BERNOULLI[k - 1] / (2 * k) * (power *= inverse);
    return sum;
}
__device__ inline double polygamma_of(double x, double n) {
    if (n == 0.0) return digamma_of(x);
    double s = n + 1.0, sum = 0.0;
    if (x <= 0.0 && x == floor(x)) return fmod(n, 2.0) == 0.0 ? -INFINITY : INFINITY;
    if (x < -1e6) return NAN;
    for (; x < 12.0; x += 1.0) sum += pow(x, -s);
    double factor = pow(x, -s), rising = s, factorial = 1.0;
    sum += factor * x / (s - 1.0) + 0.5 * factor;
    for (int k = 1; k <= 8; k++) {
        factor /= x;
        factorial *= (2 * k) * (2 * k - 1);
        sum += BERNOULLI[k - 1] * rising * factor / factorial;
        rising *= (s + 2 * k - 1.0) * (s + 2 * k);
        factor /= x;
    }
    return (fmod(n, 2.0) == 0.0 ? -1.0 : 1.0) * tgamma(s) * sum;
}

// float16 and bfloat16 are computed in float: their grids are even below 2^-14, or float's with fewer bits.
__device__ inline float neighbour_half(float size, bool grows) {
    const float tiny = 5.9604644775390625e-08f, normal = 6.103515625e-05f;
    if (isinf(size)) return 65504.0f;
    if (grows ? size < normal : size <= normal) return grows ? size + tiny : size - tiny;
    if (grows && size >= 65504.0f) return INFINITY;
    return __int_as_float(__float_as_int(size) + (grows ? 0x2000 : -0x2000));
}
__device__ inline float neighbour(float a, float b, float p) {
    if (p == 0.0f || a != a || b != b || a == b) return nextafterf(a, b);
    if (a == 0.0f) return copysignf(p == 1.0f ? 5.9604644775390625e-08f : __int_as_float(0x10000), b);
    bool grows = (b > a) == (a > 0.0f);
    float size = fabsf(a);
    float next = p == 1.0f ? neighbour_half(size, grows)
                           : __int_as_float(__float_as_int(size) + (grows ? 0x10000 : -0x10000));
    return copysignf(next, a);
}
__device__ inline double neighbour(double a, double b, double p) { return nextafter(a, b); }

#define REAL(T) \
    __device__ inline T absolute(T a) { return fabs(a); } \
    __device__ inline T sigmoid(T a) { \
        T e = exp(-fabs(a)); \
        return a != a ? a : (a < T(0) ? e : T(1)) / (T(1) + e); \
    } \
    __device__ inline T bell(T a) { return T(0.3989422804014327) * exp(T(-0.5) * a * a); } \
    __device__ inline T bell_below(T a) { return T(0.5) * (T(1) + erf(a * T(0.7071067811865476))); } \
    __device__ inline T gelu_inner(T a) { \
        return T(0.7978845608028654) * (a + T(0.044715) * a * a * a); \
    } \
    __device__ inline T gelu_tanh_grad(T a) { \
        T t = tanh(gelu_inner(a)); \
        T slope = T(0.7978845608028654) * (T(1) + T(0.134145) * a * a); \
        return T(0.5) * (T(1) + t) + T(0.5) * a * (T(1) - t * t) * slope; \
    } \
    __device__ inline T tanh_softplus(T a) { \
        T e = exp(a); \
        T n = e * (e + T(2)); \
        return a > T(20) ? T(1) : n / (n + T(2)); \
    } \
    __device__ inline T mish_grad(T a) { \
        T t = tanh_softplus(a); \
        return t + a * sigmoid(a) * (T(1) - t * t); \
    } \
    __device__ inline T remainder_of(T a, T b) { \
        T r = fmod(a, b); \
        return r != T(0) && (b < T(0)) != (r < T(0)) ? r + b : r; \
    } \
    __device__ inline T fmod_of(T a, T b) { return fmod(a, b); } \
    __device__ inline T trunc_divide(T a, T b) { return trunc(a / b); } \
    __device__ inline T floor_divide(T a, T b) { \
        if (b == T(0)) return a / b; \
        T r = fmod(a, b); \
        T q = (a - r) / b; \
        if (r != T(0) && (b < T(0)) != (r < T(0))) q -= T(1); \
        if (q == T(0)) return copysign(T(0), a / b); \
        T f = floor(q); \
        return q - f > T(0.5) ? f + T(1) : f; \
    } \
    __device__ inline T power(T a, T b) { return pow(a, b); } \
    __device__ inline T sinc(T a) { \
        T angle = a * T(3.141592653589793); \
        return a == T(0) ? T(1) : sin(angle) / angle; \
    } \
    __device__ inline T xlogy(T a, T b) { return b != b ? b : a == T(0) ? T(0) : a * log(b); } \
    __device__ inline T logaddexp(T a, T b) { \
        return a == b && isinf(a) ? a : larger(a, b) + log1p(exp(-fabs(a - b))); \
    } \
    __device__ inline T digamma(T a) { return T(digamma_of(double(a))); } \
    __device__ inline T polygamma(T a, T n) { return T(polygamma_of(double(a), double(n))); } \
    __device__ inline T log_floor(T a) { T l = log(a); return l < T(-100) ? T(-100) : l; } \
    __device__ inline T log1p_floor(T a) { T l = log1p(a); return l < T(-100) ? T(-100) : l; }
EACH_REAL(REAL)

// Integers are whole already.
__device__ inline long long ceil(long long a) { return a; }
__device__ inline long long floor(long long a) { return a; }
__device__ inline long long rint(long long a) { return a; }
__device__ inline long long trunc(long long a) { return a; }

// Integers wrap; a divisor of zero is found before the launch.
__device__ inline long long absolute(long long a) { return a < 0 ? (long long)(0ull - a) : a; }
__device__ inline long long fmod_of(long long a, long long b) { return b == 0 || b == -1 ? 0 : a % b; }
__device__ inline long long remainder_of(long long a, long long b) {
    long long r = fmod_of(a, b);
    return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
__device__ inline long long trunc_divide(long long a, long long b) {
    return b == 0 ? 0 : b == -1 ? (long long)(0ull - a) : a / b;
}
__device__ inline long long floor_divide(long long a, long long b) {
    return trunc_divide(a, b) - (long long)(fmod_of(a, b) != 0 && (a < 0) != (b < 0));
}
__device__ inline long long common_divisor(long long a, long long b) {
    a = absolute(a), b = absolute(b);
    while (a != 0) {
        long long rest = fmod_of(b, a);
        b = a;
        a = rest;
    }
    return b;
}
__device__ inline long long common_multiple(long long a, long long b) {
    long long divisor = common_divisor(a, b);
    return divisor == 0 ? 0 : absolute((long long)((unsigned long long)trunc_divide(a, divisor) * (unsigned long long)b));
}
__device__ inline long long shift_left(long long a, long long b) { return b < 0 || b > 63 ? 0 : a << b; }
__device__ inline long long power(long long a, long long b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    unsigned long long y = 1, x = a;
    for (; b > 0; b >>= 1, x *= x)
        if (b & 1) y *= x;
    return (long long)y;
}
