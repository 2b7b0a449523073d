// Rows less their mean, over the root of their variance, and the gradients of that.

#if FORWARD
#define HELD 8

extern "C" __global__ void __launch_bounds__(1024)
ENTRY(S0* y, S1* mean, S2* rstd, const S3* x, const S4* weight, const S5* bias, Index rows, Index n, Step y_row,
      Step y_step, Step mean_step, Step rstd_step, Step x_row, Step x_step, Step weight_step, Step bias_step, T eps) {
    Index row = line_number();
    bool active = row < rows;
    const S3* from = x + (active ? Step(row) * x_row : 0);
    T held[HELD];
    bool short_row = n <= HELD * lanes();
    Total<T> total = {T(0)};
    if (active) {
        if (short_row) {
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                Index j = lane() + k * lanes();
                if (j < n) total.sum += held[k] = load<T>(from + Step(j) * x_step);
            }
        } else {
            for (Index j = lane(); j < n; j += lanes()) total.sum += load<T>(from + Step(j) * x_step);
        }
    }
    T m = together(total).sum / T(n);
    total.sum = T(0);
    if (active) {
        if (short_row) {
#pragma unroll
            for (int k = 0; k < HELD; k++)
                if (lane() + k * lanes() < n) total.sum += (held[k] - m) * (held[k] - m);
        } else {
            for (Index j = lane(); j < n; j += lanes()) {
                T away = load<T>(from + Step(j) * x_step) - m;
                total.sum += away * away;
            }
        }
    }
    T r = T(1) / sqrt(together(total).sum / T(n) + eps);
    if (!active) return;
    if (lane() == 0) {
        store(mean + Step(row) * mean_step, m);
        store(rstd + Step(row) * rstd_step, r);
    }
#pragma unroll HELD
    for (Index j = lane(), k = 0; j < n; j += lanes(), k++) {
        T value = (load<T>(from + Step(j) * x_step) - m) * r;
        if (weight) value = value * load<T>(weight + Step(j) * weight_step);
        if (bias) value = value + load<T>(bias + Step(j) * bias_step);
        store(y + Step(row) * y_row + Step(j) * y_step, value);
    }
}
#elif BY_INPUT
extern "C" __global__ void __launch_bounds__(1024)
ENTRY(S0* dx, const S1* dy, const S2* x, const S3* mean, const S4* rstd, const S5* weight, Index rows, Index n,
      Step dx_row, Step dx_step, Step dy_row, Step dy_step, Step x_row, Step x_step, Step mean_step,
      Step rstd_step, Step weight_step) {
    Index row = line_number();
    bool active = row < rows;
    Step at = active ? Step(row) : 0;
    T m = load<T>(mean + at * mean_step), r = load<T>(rstd + at * rstd_step);
    const S1* slopes = dy + at * dy_row;
    const S2* from = x + at * x_row;
    Total<T> slope = {T(0)}, moved = {T(0)};
    if (active)
        for (Index j = lane(); j < n; j += lanes()) {
            T g = load<T>(slopes + Step(j) * dy_step);
            if (weight) g *= load<T>(weight + Step(j) * weight_step);
            slope.sum += g;
            moved.sum += g * ((load<T>(from + Step(j) * x_step) - m) * r);
        }
    T mean_g = together(slope).sum / T(n), mean_gx = together(moved).sum / T(n);
    if (!active) return;
    for (Index j = lane(); j < n; j += lanes()) {
        T g = load<T>(slopes + Step(j) * dy_step);
        if (weight) g *= load<T>(weight + Step(j) * weight_step);
        T normal = (load<T>(from + Step(j) * x_step) - m) * r;
        store(dx + at * dx_row + Step(j) * dx_step, r * (g - mean_g - normal * mean_gx));
    }
}
#elif BY_PARAMETERS
struct Slopes {
    T weight, bias;
    __device__ void join(const Slopes& o) { weight += o.weight, bias += o.bias; }
};

// Sums over the rows of a part, column by column, into `sums[part][column]`.
extern "C" __global__ void __launch_bounds__(1024)
ENTRY(const S0* dy, const S1* x, const S2* mean, const S3* rstd, Slopes* sums, Index rows, Index n, Index part,
      Step dy_row, Step dy_step, Step x_row, Step x_step, Step mean_step, Step rstd_step) {
    Index column = line_number();
    bool active = column < n;
    Slopes slopes = {T(0), T(0)};
    if (active) {
        Index start = Index(blockIdx.y) * part, end = rows - start < part ? rows : start + part;
        for (Index row = start + lane(); row < end; row += lanes()) {
            T g = load<T>(dy + Step(row) * dy_row + Step(column) * dy_step);
            T away = load<T>(x + Step(row) * x_row + Step(column) * x_step) - load<T>(mean + Step(row) * mean_step);
            slopes.weight += g * (away * load<T>(rstd + Step(row) * rstd_step));
            slopes.bias += g;
        }
    }
    slopes = together(slopes);
    if (active && lane() == 0) sums[(size_t)blockIdx.y * n + column] = slopes;
}
#else
struct Slopes {
    T weight, bias;
    __device__ void join(const Slopes& o) { weight += o.weight, bias += o.bias; }
};

extern "C" __global__ void __launch_bounds__(1024)
ENTRY(S0* dweight, S1* dbias, const Slopes* sums, Index n, Index parts, Step dweight_step, Step dbias_step) {
    Index column = line_number();
    bool active = column < n;
    Slopes slopes = {T(0), T(0)};
    if (active)
        for (Index part = lane(); part < parts; part += lanes()) slopes.join(sums[(size_t)part * n + column]);
    slopes = together(slopes);
    if (!active || lane() != 0) return;
    store(dweight + Step(column) * dweight_step, slopes.weight);
    if (dbias) store(dbias + Step(column) * dbias_step, slopes.bias);
}
#endif
