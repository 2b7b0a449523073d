// Convolution and its gradients as products of matrices whose factors are read where they lie: no copy is unrolled.
// One group per blockIdx.z, or one part of the sum for the gradient by the weight.

struct Conv {
    Index images, groups, inputs, outputs;
    int size[2], pooled[2], filter[2], stride[2], padding[2], dilation[2];
    Step x[4], w[4], y[4], bias, unused;
};

struct Place {
    Index image;
    int row, column;
};
// Element number `n` of the images, plane by plane.
__device__ inline Place place_of(Index n, const int* size) {
    Index line = n / Index(size[1]);
    return Place{line / Index(size[0]), int(line % Index(size[0])), int(n % Index(size[1]))};
}

struct Tap {
    Index channel;
    int row, column;
};
__device__ inline Tap tap_of(const Conv& conv, Index k) {
    Index line = k / Index(conv.filter[1]);
    return Tap{line / Index(conv.filter[0]), int(line % Index(conv.filter[0])), int(k % Index(conv.filter[1]))};
}

// An element of the input as an output's tap sees it: 0 in the padding.
__device__ inline T seen(const Conv& conv, const XTYPE* x, Index group, const Place& to, const Tap& tap) {
    int row = to.row * conv.stride[0] + tap.row * conv.dilation[0] - conv.padding[0];
    int column = to.column * conv.stride[1] + tap.column * conv.dilation[1] - conv.padding[1];
    if (row < 0 || row >= conv.size[0] || column < 0 || column >= conv.size[1]) return T(0);
    return load<T>(x + Step(to.image) * conv.x[0] + Step(group * conv.inputs + tap.channel) * conv.x[1] +
                   Step(row) * conv.x[2] + Step(column) * conv.x[3]);
}

#if FORWARD
struct Source {
    const Conv& conv;
    const S1* x;
    const S2* w;
    Index group, count;
    __device__ T left(Index o, Index k) const {
        if (o >= conv.outputs) return T(0);
        Tap tap = tap_of(conv, k);
        return load<T>(w + Step(group * conv.outputs + o) * conv.w[0] + Step(tap.channel) * conv.w[1] +
                       Step(tap.row) * conv.w[2] + Step(tap.column) * conv.w[3]);
    }
    __device__ T right(Index k, Index n) const {
        return n < count ? seen(conv, x, group, place_of(n, conv.pooled), tap_of(conv, k)) : T(0);
    }
};
struct Target {
    const Conv& conv;
    S0* y;
    const S3* bias;
    Index group, count;
    __device__ void put(Index o, Index n, T sum) const {
        if (o >= conv.outputs || n >= count) return;
        Index channel = group * conv.outputs + o;
        if (bias) sum = sum + load<T>(bias + Step(channel) * conv.bias);
        Place to = place_of(n, conv.pooled);
        store(y + Step(to.image) * conv.y[0] + Step(channel) * conv.y[1] + Step(to.row) * conv.y[2] +
                  Step(to.column) * conv.y[3],
              sum);
    }
};
extern "C" __global__ void __launch_bounds__(256) ENTRY(S0* y, const S1* x, const S2* w, const S3* bias, Conv conv) {
    Index count = conv.images * conv.pooled[0] * conv.pooled[1];
    Index depth = conv.inputs * conv.filter[0] * conv.filter[1];
    for (Index group = blockIdx.z; group < conv.groups; group += gridDim.z) {
        Source source = {conv, x, w, group, count};
        Target target = {conv, y, bias, group, count};
        product(source, target, Index(blockIdx.y) * TILE, Index(blockIdx.x) * TILE, 0, depth);
    }
}
#elif BY_INPUT
struct Source {
    const Conv& conv;
    const S1* dy;
    const S2* w;
    Index group, count;
    __device__ T left(Index c, Index k) const {
        if (c >= conv.inputs) return T(0);
        Tap tap = tap_of(conv, k);
        return load<T>(w + Step(group * conv.outputs + tap.channel) * conv.w[0] + Step(c) * conv.w[1] +
                       Step(tap.row) * conv.w[2] + Step(tap.column) * conv.w[3]);
    }
    __device__ T right(Index k, Index n) const {
        if (n >= count) return T(0);
        Place at = place_of(n, conv.size);
        Tap tap = tap_of(conv, k);
        int row = at.row + conv.padding[0] - tap.row * conv.dilation[0];
        int column = at.column + conv.padding[1] - tap.column * conv.dilation[1];
        if (row < 0 || row % conv.stride[0] || column < 0 || column % conv.stride[1]) return T(0);
        row /= conv.stride[0], column /= conv.stride[1];
        if (row >= conv.pooled[0] || column >= conv.pooled[1]) return T(0);
        return load<T>(dy + Step(at.image) * conv.y[0] + Step(group * conv.outputs + tap.channel) * conv.y[1] +
                       Step(row) * conv.y[2] + Step(column) * conv.y[3]);
    }
};
struct Target {
    const Conv& conv;
    S0* dx;
    Index group, count;
    __device__ void put(Index c, Index n, T sum) const {
        if (c >= conv.inputs || n >= count) return;
        Place at = place_of(n, conv.size);
        store(dx + Step(at.image) * conv.x[0] + Step(group * conv.inputs + c) * conv.x[1] + Step(at.row) * conv.x[2] +
                  Step(at.column) * conv.x[3],
              sum);
    }
};
extern "C" __global__ void __launch_bounds__(256) ENTRY(S0* dx, const S1* dy, const S2* w, Conv conv) {
    Index count = conv.images * conv.size[0] * conv.size[1];
    Index depth = conv.outputs * conv.filter[0] * conv.filter[1];
    for (Index group = blockIdx.z; group < conv.groups; group += gridDim.z) {
        Source source = {conv, dy, w, group, count};
        Target target = {conv, dx, group, count};
        product(source, target, Index(blockIdx.y) * TILE, Index(blockIdx.x) * TILE, 0, depth);
    }
}
#elif BY_WEIGHT
struct Source {
    const Conv& conv;
    const S0* dy;
    const S1* x;
    Index group, taps;
    __device__ T left(Index o, Index k) const {
        if (o >= conv.outputs) return T(0);
        Place to = place_of(k, conv.pooled);
        return load<T>(dy + Step(to.image) * conv.y[0] + Step(group * conv.outputs + o) * conv.y[1] +
                       Step(to.row) * conv.y[2] + Step(to.column) * conv.y[3]);
    }
    __device__ T right(Index k, Index n) const {
        return n < taps ? seen(conv, x, group, place_of(k, conv.pooled), tap_of(conv, n)) : T(0);
    }
};
struct Target {
    const Conv& conv;
    T* sums;
    Index taps;
    __device__ void put(Index o, Index n, T sum) const {
        if (o < conv.outputs && n < taps) sums[(size_t)o * taps + n] = sum;
    }
};
// Sums over part number `blockIdx.z / groups` of the outputs' places, into `sums[part][filter][tap]`.
extern "C" __global__ void __launch_bounds__(256) ENTRY(const S0* dy, const S1* x, T* sums, Index part, Conv conv) {
    Index taps = conv.inputs * conv.filter[0] * conv.filter[1];
    Index group = blockIdx.z % conv.groups, number = blockIdx.z / conv.groups;
    Index count = conv.images * conv.pooled[0] * conv.pooled[1];
    Index start = number * part, end = count - start < part ? count : start + part;
    Source source = {conv, dy, x, group, taps};
    Target target = {conv, sums + (size_t)blockIdx.z * conv.outputs * taps, taps};
    product(source, target, Index(blockIdx.y) * TILE, Index(blockIdx.x) * TILE, start, end);
}
#else
extern "C" __global__ void ENTRY(S0* dw, const T* sums, Index parts, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    T sum = T(0);
    for (Index part = 0; part < parts; part++) sum += sums[(size_t)part * walk.count + i];
    store(dw + places(walk, i).at[0], sum);
}
#endif
