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
__device__ inline double zeta_of(double s, double x) {
    double sum = 0.0;
    if (s == 1.0) return INFINITY;
    if (s < 1.0) return NAN;
    if (x <= 0.0 && x == floor(x)) return INFINITY;
    if (isinf(x) || x < -1e6 || (x < 0.0 && s != floor(s))) return NAN;
    if (isinf(s)) return pow(x, -s);
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
    return sum;
}
__device__ inline double polygamma_of(double x, double n) {
    if (n == 0.0) return digamma_of(x);
    if (n == 1.0 && isinf(x) && x > 0.0) return 0.0;
    double zeta = zeta_of(n + 1.0, x), sign = fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
    return isinf(zeta) ? sign * zeta : sign * tgamma(n + 1.0) * zeta;
}

// Rational approximations; see src/device/cpu/math/quantile.rs.
__device__ const double NDTRI_P0[5] = {-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125};
__device__ const double NDTRI_Q0[9] = {1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937, 200.26021238006066, -82.03722561683334, 15.90562251262117, -1.1833162112133};
__device__ const double NDTRI_P1[9] = {4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008, 14.684956192885803, 2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854};
__device__ const double NDTRI_Q1[9] = {1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075, 2.504649462083094, -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574};
__device__ const double NDTRI_P2[9] = {3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755, 0.20148538954917908, 0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09};
__device__ const double NDTRI_Q2[9] = {1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663, 0.013420400608854318, 0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09};
__device__ inline double terms_at(double x, const double* terms, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum = sum * x + terms[i];
    return sum;
}
__device__ inline double ndtri_of(double p) {
    const double edge = 0.1353352832366127;
    if (p == 0.0 || p == 1.0) return p == 0.0 ? -INFINITY : INFINITY;
    if (!(p > 0.0 && p < 1.0)) return NAN;
    bool upper = p > 1.0 - edge;
    double tail = upper ? 1.0 - p : p;
    if (tail > edge) {
        double y = tail - 0.5, square = y * y;
        return (y + y * (square * terms_at(square, NDTRI_P0, 5) / terms_at(square, NDTRI_Q0, 9))) * 2.5066282746310007;
    }
    double x = sqrt(-2.0 * log(tail)), z = 1.0 / x;
    double by = x < 8.0 ? terms_at(z, NDTRI_P1, 9) / terms_at(z, NDTRI_Q1, 9)
                        : terms_at(z, NDTRI_P2, 9) / terms_at(z, NDTRI_Q2, 9);
    double size = x - log(x) / x - z * by;
    return upper ? size : -size;
}
__device__ inline double mantissa_of(double x) {
    int power = 0;
    return isfinite(x) ? frexp(x, &power) : x;
}
__device__ inline double exponent_of(double x) {
    int power = 0;
    if (isfinite(x)) frexp(x, &power);
    return power;
}

// Series where they converge without cancelling, asymptotic ones beyond; see src/device/cpu/math/bessel.rs.
__device__ inline double bessel_series(double x, double order) {
    double quarter = 0.25 * x * x, term = 1.0, sum = 1.0, k = 1.0;
    for (; term > sum * 1e-17; k += 1.0) sum += term *= quarter / (k * (k + order));
    return x != x ? x : sum;
}
__device__ inline double bessel_beyond(double x, double mu) {
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < 30; k++) sum += term *= -(mu - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (k * 8.0 * x);
    return isinf(x) ? 0.0 : sum / sqrt(6.283185307179586 * x);
}
__device__ inline double i0e_of(double x) {
    double size = fabs(x);
    return size < 30.0 ? bessel_series(size, 0.0) * exp(-size) : bessel_beyond(size, 0.0);
}
__device__ inline double i0_of(double x) {
    double size = fabs(x);
    return size < 30.0 ? bessel_series(size, 0.0) : i0e_of(x) * exp(size);
}
__device__ inline double i1e_of(double x) {
    double size = fabs(x);
    return size < 30.0 ? 0.5 * x * bessel_series(size, 1.0) * exp(-size) : copysign(bessel_beyond(size, 4.0), x);
}
__device__ inline double i1_of(double x) {
    double size = fabs(x);
    return size < 30.0 ? 0.5 * x * bessel_series(size, 1.0) : i1e_of(x) * exp(size);
}
__device__ inline double grown(double x) {
    double square = x * x;
    return exp(square) * (1.0 + fma(x, x, -square));
}
__device__ inline double erfcx_of(double x) {
    double size = fabs(x), value;
    if (x < -27.0) return INFINITY;
    if (size < 6.5) {
        value = grown(size) * erfc(size);
    } else {
        double inverse = 0.5 / (x * x), term = 1.0, sum = 1.0;
        for (int k = 1; k < 30; k++) {
            double next = -term * (2 * k - 1) * inverse;
            if (fabs(next) >= fabs(term)) break;
            sum += term = next;
        }
        value = 0.5641895835477563 * sum / size;
    }
    return x != x ? x : x < 0.0 ? 2.0 * grown(x) - value : value;
}
__device__ inline double log_ndtr_of(double x) {
    double at = x * 0.7071067811865476;
    return x < -1.0 ? log(0.5 * erfcx_of(-at)) - at * at : log1p(-0.5 * erfc(at));
}
__device__ inline double gamma_fraction(double a, double x) {
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, value = d;
    for (int i = 1; i < 100000; i++) {
        double by = -double(i) * (i - a);
        b += 2.0;
        double below = by * d + b, above = b + by / c;
        d = 1.0 / (fabs(below) < 1e-300 ? 1e-300 : below);
        c = fabs(above) < 1e-300 ? 1e-300 : above;
        double step = d * c;
        value *= step;
        if (fabs(step - 1.0) < 1e-16) break;
    }
    return value;
}
// The lower share, or one minus the upper one; `upper` asks for that.
__device__ inline double gamma_share(double a, double x, bool upper) {
    double known = -1.0;
    if (a != a || x != x || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || (isinf(a) && isinf(x))) return NAN;
    if (x == 0.0 || isinf(a)) known = 0.0;
    else if (a == 0.0 || isinf(x)) known = 1.0;
    if (known >= 0.0) return upper ? 1.0 - known : known;
    if (a > 1e6) {
        double cube = expm1(log1p((x - a) / a) / 3.0);
        double share = 0.5 * erfc(3.0 * sqrt(0.5 * a) * (cube + 1.0 / (9.0 * a)));
        return upper ? share : 1.0 - share;
    }
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1.0) {
        double term = 1.0 / a, sum = term, n = a;
        for (int i = 0; i < 100000; i++) {
            n += 1.0;
            sum += term *= x / n;
            if (term <= sum * 1e-17) break;
        }
        return upper ? 1.0 - front * sum : front * sum;
    }
    double part = front * gamma_fraction(a, x);
    return upper ? part : 1.0 - part;
}
__device__ inline double gamma_below_of(double a, double x) { return gamma_share(a, x, false); }
__device__ inline double gamma_above_of(double a, double x) { return gamma_share(a, x, true); }

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
