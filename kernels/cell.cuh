// One step of an LSTM, a thread to an element of its state. Gates come in the order input, forget, cell, output, each
// `hidden` wide; what they are is kept for the gradient.

__device__ inline T squashed(T v) { return T(1) / (T(1) + exp(-v)); }

#if FORWARD
extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* h, S0* c, S0* gates, const S0* x, const S0* from, const S0* before, const S0* bias, Index count,
          Index hidden) {
    Index i = Index(blockIdx.x) * 256 + threadIdx.x, row = i / hidden, j = i - row * hidden, first = row * 4 * hidden + j;
    if (i >= count) return;
    T gate[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        gate[k] = load<T>(x + first + k * hidden) + load<T>(from + first + k * hidden);
        if (bias) gate[k] += load<T>(bias + k * hidden + j);
        gate[k] = k == 2 ? tanh(gate[k]) : squashed(gate[k]);
        store(gates + first + k * hidden, gate[k]);
    }
    T memory = gate[1] * load<T>(before + i) + gate[0] * gate[2];
    store(c + i, memory);
    store(h + i, gate[3] * tanh(memory));
}
#else
extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* dgates, S0* dbefore, const S0* dh, const S0* more, const S0* dc, const S0* gates, const S0* before,
          const S0* c, Index count, Index hidden) {
    Index i = Index(blockIdx.x) * 256 + threadIdx.x, row = i / hidden, j = i - row * hidden, first = row * 4 * hidden + j;
    if (i >= count) return;
    T gate[4];
#pragma unroll
    for (int k = 0; k < 4; k++) gate[k] = load<T>(gates + first + k * hidden);
    T by_h = load<T>(dh + i) + load<T>(more + i), level = tanh(load<T>(c + i));
    T by_c = load<T>(dc + i) + by_h * gate[3] * (T(1) - level * level);
    T by[4] = {by_c * gate[2], by_c * load<T>(before + i), by_c * gate[0], by_h * level};
#pragma unroll
    for (int k = 0; k < 4; k++)
        store(dgates + first + k * hidden, by[k] * (k == 2 ? T(1) - gate[k] * gate[k] : gate[k] * (T(1) - gate[k])));
    store(dbefore + i, by_c * gate[1]);
}
#endif
