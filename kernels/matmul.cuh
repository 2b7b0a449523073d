// alpha * a @ b + beta * c, in any strides, batch by batch.

struct Sizes {
    Index rows, columns, depth, unused;
    Step y[2], a[2], b[2], c[2];
};

struct Source {
    const Sizes& sizes;
    const S1* a;
    const S2* b;
    __device__ T left(Index m, Index k) const {
        return m < sizes.rows ? load<T>(a + Step(m) * sizes.a[0] + Step(k) * sizes.a[1]) : T(0);
    }
    __device__ T right(Index k, Index n) const {
        return n < sizes.columns ? load<T>(b + Step(k) * sizes.b[0] + Step(n) * sizes.b[1]) : T(0);
    }
};

struct Target {
    const Sizes& sizes;
    S0* y;
    In3 c;
    Step c_at;
    T alpha, beta;
    bool added;
    __device__ T addend(const Number& v, Step) const { return v.value; }
    template <class S> __device__ T addend(const S* from, Step at) const { return load<T>(from + at); }
    __device__ void put(Index m, Index n, T sum) const {
        if (m >= sizes.rows || n >= sizes.columns) return;
        T value = times(alpha, sum);
        if (added) value = plus(value, times(beta, addend(c, c_at + Step(m) * sizes.c[0] + Step(n) * sizes.c[1])));
        store(y + Step(m) * sizes.y[0] + Step(n) * sizes.y[1], value);
    }
};

extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* y, const S1* a, const S2* b, In3 c, T alpha, T beta, int added, Sizes sizes, Walk batches) {
    for (Index batch = blockIdx.z; batch < batches.count; batch += gridDim.z) {
        Places place = places(batches, batch);
        Source source = {sizes, a + place.at[1], b + place.at[2]};
        Target target = {sizes, y + place.at[0], c, place.at[3], alpha, beta, added != 0};
        product(source, target, Index(blockIdx.y) * TILE, Index(blockIdx.x) * TILE, 0, sizes.depth);
    }
}
