// One scalar function of up to three inputs that lie in memory like the output, one element after another:
// a thread moves up to 16 bytes of each at a time.

template <class S> struct __align__(sizeof(S) * WIDTH) Pack {
    S at[WIDTH];
};

__device__ inline void read(const Number& v, long long, T* to) {
#pragma unroll
    for (int k = 0; k < WIDTH; k++) to[k] = v.value;
}
template <class S> __device__ inline void read(const S* from, long long i, T* to) {
    Pack<S> pack = *reinterpret_cast<const Pack<S>*>(from + i);
#pragma unroll
    for (int k = 0; k < WIDTH; k++) to[k] = load<T>(&pack.at[k]);
}
__device__ inline T read_one(const Number& v, long long) { return v.value; }
template <class S> __device__ inline T read_one(const S* from, long long i) { return load<T>(from + i); }

__device__ inline T apply(T a, T b, T c, T p, T q) { return EXPRESSION; }

extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* y, In1 x1, In2 x2, In3 x3, T p, T q, long long count) {
    long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * WIDTH;
    if (i + WIDTH <= count) {
        T a[WIDTH], b[WIDTH], c[WIDTH];
        read(x1, i, a);
        read(x2, i, b);
        read(x3, i, c);
        Pack<S0> pack;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) store(&pack.at[k], apply(a[k], b[k], c[k], p, q));
        *reinterpret_cast<Pack<S0>*>(y + i) = pack;
    } else {
        for (; i < count; i++) store(y + i, apply(read_one(x1, i), read_one(x2, i), read_one(x3, i), p, q));
    }
}
