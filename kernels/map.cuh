// One scalar function of up to three inputs, element by element.

__device__ inline T read(const Number& v, Step) { return v.value; }
template <class S> __device__ inline T read(const S* from, Step at) { return load<T>(from + at); }

__device__ inline T apply(T a, T b, T c, T p, T q) { return EXPRESSION; }

// Elements that a thread computes, a block's width apart.
#define EACH 4

extern "C" __global__ void __launch_bounds__(256) ENTRY(S0* y, In1 x1, In2 x2, In3 x3, T p, T q, Walk walk) {
    T a[EACH], b[EACH], c[EACH];
    Step to[EACH];
    Index first = Index(blockIdx.x) * (256 * EACH) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        Index i = first + k * 256;
        if (i < walk.count) {
            Places place = places(walk, i);
            to[k] = place.at[0];
            a[k] = read(x1, place.at[1 % OPERANDS]);
            b[k] = read(x2, place.at[2 % OPERANDS]);
            c[k] = read(x3, place.at[3 % OPERANDS]);
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k * 256 < walk.count) store(y + to[k], apply(a[k], b[k], c[k], p, q));
}
