// Softmax, its logarithm, what a line of -inf alone has 0 for (`SAFE`), and their gradients, line by line. A line of up to `HELD` elements a thread stays in registers.

#if GRADIENT
// dx = y * (dy - sum(dy * y)), or dy - exp(y) * sum(dy)
__device__ inline T slope(T dy, T y, T sum) { return LOGARITHM ? dy - exp(y) * sum : y * (dy - sum); }

// Elements that a thread has on the way at a time.
#define EACH 4

extern "C" __global__ void __launch_bounds__(1024)
ENTRY(S0* dx, const S1* dy, const S2* y, Index length, Step dx_step, Step dy_step, Step y_step, Walk walk) {
    Index line = line_number();
    bool active = line < walk.count;
    Places place = {};
    Total<T> total = {T(0)};
    Index pace = lanes(), j = lane();
    if (active) {
        place = places(walk, line);
        for (; j < length && length - j > (EACH - 1) * pace; j += EACH * pace) {
            T slopes[EACH];
#pragma unroll
            for (int k = 0; k < EACH; k++) slopes[k] = load<T>(dy + place.at[1] + Step(j + k * pace) * dy_step);
#pragma unroll
            for (int k = 0; k < EACH; k++)
                total.sum += LOGARITHM ? slopes[k]
                                       : slopes[k] * load<T>(y + place.at[2] + Step(j + k * pace) * y_step);
        }
        for (; j < length; j += pace) {
            T slope = load<T>(dy + place.at[1] + Step(j) * dy_step);
            total.sum += LOGARITHM ? slope : slope * load<T>(y + place.at[2] + Step(j) * y_step);
        }
    }
    T sum = together(total).sum;
    if (!active) return;
    for (j = lane(); j < length && length - j > (EACH - 1) * pace; j += EACH * pace) {
        T slopes[EACH], values[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            slopes[k] = load<T>(dy + place.at[1] + Step(j + k * pace) * dy_step);
            values[k] = load<T>(y + place.at[2] + Step(j + k * pace) * y_step);
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            store(dx + place.at[0] + Step(j + k * pace) * dx_step, slope(slopes[k], values[k], sum));
    }
    for (; j < length; j += pace)
        store(dx + place.at[0] + Step(j) * dx_step,
              slope(load<T>(dy + place.at[1] + Step(j) * dy_step), load<T>(y + place.at[2] + Step(j) * y_step), sum));
}
#else
struct Largest {
    T value;
    __device__ void add(T x) { value = value != value || value > x ? value : x; }
    __device__ void join(const Largest& o) { add(o.value); }
};

__device__ inline T finish(T x, T largest, T scale) {
    return LOGARITHM ? x - largest - scale : exp(x - largest) * scale;
}

extern "C" __global__ void __launch_bounds__(1024)
ENTRY(S0* y, const S1* x, Index length, Step y_step, Step x_step, Walk walk) {
    Index line = line_number();
    bool active = line < walk.count;
    Places place = {};
    if (active) place = places(walk, line);
    const S1* from = x + place.at[1];
    T held[HELD], largest, scale;
    bool short_line = length <= HELD * lanes(), hidden = true;
    Total<T> total = {T(0)};
    if (short_line) {
        Largest best = {T(-INFINITY)};
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            Index j = lane() + k * lanes();
            if (active && j < length) best.add(held[k] = load<T>(from + Step(j) * x_step));
        }
        largest = together(best).value;
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (active && lane() + k * lanes() < length) total.sum += exp(held[k] - largest);
        total = together(total);
    } else {
        Exponentials<T> e = Exponentials<T>::none();
        if (active) {
            Index j = lane(), pace = lanes();
            for (; j < length && length - j > 3 * pace; j += 4 * pace) {
                T some[4];
#pragma unroll
                for (int k = 0; k < 4; k++) some[k] = load<T>(from + Step(j + k * pace) * x_step);
                e.add(some);
            }
            for (; j < length; j += pace) e.add(load<T>(from + Step(j) * x_step));
        }
        e = together(e);
        largest = e.largest;
        total.sum = isinf(largest) ? T(NAN) : e.sum;
        hidden = e.sum == T(0);
    }
    scale = LOGARITHM ? log(total.sum) : T(1) / total.sum;
    // A line of nothing but -inf, and not of NaN as well: exp(x) is 0 then.
    if (SAFE && hidden && largest == T(-INFINITY)) largest = scale = T(0);
    if (!active) return;
    S0* to = y + place.at[0];
    if (short_line) {
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            Index j = lane() + k * lanes();
            if (j < length) store(to + Step(j) * y_step, finish(held[k], largest, scale));
        }
    } else {
        Index j = lane(), pace = lanes();
        for (; j < length && length - j > 3 * pace; j += 4 * pace) {
            T some[4];
#pragma unroll
            for (int k = 0; k < 4; k++) some[k] = load<T>(from + Step(j + k * pace) * x_step);
#pragma unroll
            for (int k = 0; k < 4; k++) store(to + Step(j + k * pace) * y_step, finish(some[k], largest, scale));
        }
        for (; j < length; j += pace)
            store(to + Step(j) * y_step, finish(load<T>(from + Step(j) * x_step), largest, scale));
    }
}
#endif
