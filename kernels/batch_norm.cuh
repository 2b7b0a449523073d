// Channels of a batch less their mean, over the root of their variance, and the gradients of that. A channel is cut into
// parts, of which blocks work on one each; what the parts come to is joined, in order, by all that need it.

// As many neighbours as are read at once.
#define PACK int(16 / sizeof(S0))
template <int N> struct __align__(sizeof(S0) * N) Pack {
    S0 at[N];
};

// Where the values of all channels lie: `size` of a channel are `inner` apart, and the next as many `outer` from there.
struct Channels {
    Step outer, channel, inner;
    template <class S> __device__ S* at(S* x, Index number, Index size, Index line) const {
        Index i = number / size;
        return x + Step(line) * channel + Step(i) * outer + Step(number - i * size) * inner;
    }
    __device__ bool is_packed(const S0* x, Index size) const {
        return inner == 1 && size % PACK == 0 && outer % PACK == 0 && channel % PACK == 0 &&
               (reinterpret_cast<size_t>(x) & 15) == 0;
    }
};

// A part of a channel: its values from `first` to `end`.
struct Part {
    Index line, first, end;
    bool active;
    __device__ Part(Index channels, Index count, Index part) : line(line_number()), first(Index(blockIdx.y) * part) {
        end = count - first < part ? count : first + part;
        active = line < channels;
        if (!active) line = 0;
    }
};

#if STATISTICS || NORMALISE
// Mean and squared distances to it, joined as Chan, Golub and LeVeque do.
struct Sums {
    T mean, spread, count;
    __device__ static Sums none() { return Sums{T(0), T(0), T(0)}; }
    __device__ void join(const Sums& o) {
        if (o.count == T(0)) return;
        // A large mean, squared, would be infinite times 0.
        if (count == T(0)) {
            *this = o;
            return;
        }
        T both = count + o.count, away = o.mean - mean, share = o.count / both;
        mean += away * share;
        spread += o.spread + away * away * (count * share);
        count = both;
    }
};
#else
// Of the gradient, and of its products with distances to the mean.
struct Sums {
    T total, dot;
    __device__ static Sums none() { return Sums{T(0), T(0)}; }
    __device__ void join(const Sums& o) { total += o.total, dot += o.dot; }
};
#endif

#if STATISTICS
template <int N> __device__ inline Sums sums(const S0* x, const Channels& on_x, Index size, const Part& part) {
    Sums all = Sums::none();
    for (Index j = part.first + lane() * N; j < part.end; j += lanes() * N) {
        Pack<N> pack = *reinterpret_cast<const Pack<N>*>(on_x.at(x, j, size, part.line));
        T values[N], middle = T(0), spread = T(0);
#pragma unroll
        for (int k = 0; k < N; k++) middle += values[k] = load<T>(pack.at + k);
        middle *= T(1) / T(N);
#pragma unroll
        for (int k = 0; k < N; k++) spread += (values[k] - middle) * (values[k] - middle);
        all.join(Sums{middle, N == 1 ? T(0) : spread, T(N)});
    }
    return all;
}

extern "C" __global__ void __launch_bounds__(512)
ENTRY(Sums* parts, const S0* x, Index channels, Index count, Index size, Index each, Channels on_x) {
    Part part(channels, count, each);
    Sums all = Sums::none();
    if (part.active)
        all = on_x.is_packed(x, size) ? sums<PACK>(x, on_x, size, part) : sums<1>(x, on_x, size, part);
    all = together(all);
    if (part.active && lane() == 0) parts[(size_t)blockIdx.y * channels + part.line] = all;
}
#elif SLOPES
template <int N>
__device__ inline Sums sums(const S0* dy, const S0* x, const Channels& on_dy, const Channels& on_x, T mean, Index size,
                            const Part& part) {
    Sums all = Sums::none();
    for (Index j = part.first + lane() * N; j < part.end; j += lanes() * N) {
        Pack<N> slopes = *reinterpret_cast<const Pack<N>*>(on_dy.at(dy, j, size, part.line));
        Pack<N> pack = *reinterpret_cast<const Pack<N>*>(on_x.at(x, j, size, part.line));
#pragma unroll
        for (int k = 0; k < N; k++) {
            T g = load<T>(slopes.at + k);
            all.join(Sums{g, g * (load<T>(pack.at + k) - mean)});
        }
    }
    return all;
}

extern "C" __global__ void __launch_bounds__(512)
ENTRY(Sums* parts, const S0* dy, const S0* x, const T* mean, Index channels, Index count, Index size, Index each,
      Channels on_dy, Channels on_x) {
    Part part(channels, count, each);
    Sums all = Sums::none();
    if (part.active) {
        bool packed = on_dy.is_packed(dy, size) && on_x.is_packed(x, size);
        all = packed ? sums<PACK>(dy, x, on_dy, on_x, mean[part.line], size, part)
                     : sums<1>(dy, x, on_dy, on_x, mean[part.line], size, part);
    }
    all = together(all);
    if (part.active && lane() == 0) parts[(size_t)blockIdx.y * channels + part.line] = all;
}
#endif

// What all parts of a channel come to; all threads of the block must come here.
__device__ inline Sums joined(const Sums* parts, Index pieces, Index channels, const Part& part) {
    Sums all = Sums::none();
    for (Index p = lane(); p < pieces; p += lanes()) all.join(parts[(size_t)p * channels + part.line]);
    return together(all);
}

#if NORMALISE
template <int N>
__device__ inline void normalise(S0* y, const S0* x, const Channels& on_y, const Channels& on_x, T mean, T factor, T shift,
                                 Index size, const Part& part) {
    for (Index j = part.first + lane() * N; j < part.end; j += lanes() * N) {
        Pack<N> pack = *reinterpret_cast<const Pack<N>*>(on_x.at(x, j, size, part.line));
#pragma unroll
        for (int k = 0; k < N; k++) store(pack.at + k, (load<T>(pack.at + k) - mean) * factor + shift);
        *reinterpret_cast<Pack<N>*>(on_y.at(y, j, size, part.line)) = pack;
    }
}

extern "C" __global__ void __launch_bounds__(512)
ENTRY(S0* y, const S0* x, const Sums* parts, T* mean, T* rstd, const S1* weight, const S2* bias, S3* running_mean,
      S4* running_var, Index channels, Index count, Index size, Index each, Index pieces, Step weight_step,
      Step bias_step, Step running_mean_step, Step running_var_step, T eps, T momentum, Channels on_y, Channels on_x) {
    Part part(channels, count, each);
    Sums all = joined(parts, pieces, channels, part);
    if (!part.active) return;
    T variance = all.spread / T(count), r = T(1) / sqrt(variance + eps);
    if (blockIdx.y == 0 && lane() == 0) {
        mean[part.line] = all.mean;
        rstd[part.line] = r;
        if (running_mean) {
            S3* to = running_mean + Step(part.line) * running_mean_step;
            store(to, load<T>(to) * (T(1) - momentum) + momentum * all.mean);
        }
        if (running_var) {
            S4* to = running_var + Step(part.line) * running_var_step;
            store(to, load<T>(to) * (T(1) - momentum) + momentum * (all.spread / T(count - 1)));
        }
    }
    T factor = weight ? r * load<T>(weight + Step(part.line) * weight_step) : r;
    T shift = bias ? load<T>(bias + Step(part.line) * bias_step) : T(0);
    if (on_y.is_packed(y, size) && on_x.is_packed(x, size))
        normalise<PACK>(y, x, on_y, on_x, all.mean, factor, shift, size, part);
    else
        normalise<1>(y, x, on_y, on_x, all.mean, factor, shift, size, part);
}
#elif BY_INPUT
template <int N>
__device__ inline void slope(S0* dx, const S0* dy, const S0* x, const Channels& on_dx, const Channels& on_dy,
                             const Channels& on_x, T mean, T factor, T level, T tilt, Index size, const Part& part) {
    for (Index j = part.first + lane() * N; j < part.end; j += lanes() * N) {
        Pack<N> slopes = *reinterpret_cast<const Pack<N>*>(on_dy.at(dy, j, size, part.line));
        Pack<N> pack = *reinterpret_cast<const Pack<N>*>(on_x.at(x, j, size, part.line));
#pragma unroll
        for (int k = 0; k < N; k++) {
            T away = load<T>(pack.at + k) - mean;
            store(slopes.at + k, factor * (load<T>(slopes.at + k) - level - away * tilt));
        }
        *reinterpret_cast<Pack<N>*>(on_dx.at(dx, j, size, part.line)) = slopes;
    }
}

extern "C" __global__ void __launch_bounds__(512)
ENTRY(S0* dx, S1* dweight, S1* dbias, const S0* dy, const S0* x, const Sums* parts, const T* mean, const T* rstd,
      const S1* weight, Index channels, Index count, Index size, Index each, Index pieces, Step weight_step,
      Step dweight_step, Step dbias_step, T training, Channels on_dx, Channels on_dy, Channels on_x) {
    Part part(channels, count, each);
    Sums all = joined(parts, pieces, channels, part);
    if (!part.active) return;
    T r = rstd[part.line];
    if (blockIdx.y == 0 && lane() == 0) {
        if (dweight) store(dweight + Step(part.line) * dweight_step, all.dot * r);
        if (dbias) store(dbias + Step(part.line) * dbias_step, all.total);
    }
    T factor = weight ? r * load<T>(weight + Step(part.line) * weight_step) : r;
    // Statistics that were given do not follow the input.
    T share = training / T(count), level = all.total * share, tilt = all.dot * share * r * r;
    if (on_dx.is_packed(dx, size) && on_dy.is_packed(dy, size) && on_x.is_packed(x, size))
        slope<PACK>(dx, dy, x, on_dx, on_dy, on_x, mean[part.line], factor, level, tilt, size, part);
    else
        slope<1>(dx, dy, x, on_dx, on_dy, on_x, mean[part.line], factor, level, tilt, size, part);
}
#endif
