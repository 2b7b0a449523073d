// What is left to do once a library took matrices apart: a thread to each element.

#if TRIANGLE
// Zeros above the diagonals of matrices that were factored in place, and NaN from the column on that had no factor.
extern "C" __global__ void ENTRY(S0* y, const int* failed, Index count, Index n) {
    Index i = thread_number();
    if (i >= count) return;
    Index all = i / n, column = i - all * n, matrix = all / n, row = all - matrix * n;
    Index wrong = Index(failed[matrix]);
    if (column > row) {
        store(y + i, T(0));
    } else if (wrong && column + 1 >= wrong) {
        store(y + i, T(NAN));
    }
}
#elif WATCHED
// Which matrices hold what is infinite or NaN: a block to a matrix.
extern "C" __global__ void ENTRY(const S0* a, int* lost, Index each) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    const S0* matrix = a + Index(blockIdx.x) * each;
    for (Index i = threadIdx.x; i < each; i += blockDim.x) {
        T value = load<T>(matrix + i);
        if (!(value - value == T(0))) found = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) lost[blockIdx.x] = found;
}
#elif ROWS
// A step that chose no row leaves its own where it is.
extern "C" __global__ void ENTRY(int* chosen, Index count, Index n) {
    Index i = thread_number();
    if (i < count && (chosen[i] < 1 || Index(chosen[i]) > n)) chosen[i] = int(i % n) + 1;
}
#else
// The rows that eliminations chose, which may be none where a matrix holds NaN, as numbers, and the order that all rows come in by that: a block to a matrix.
extern "C" __global__ void ENTRY(S0* pivots, S1* order, const int* chosen, Index steps, Index rows) {
    Index matrix = blockIdx.x;
    pivots += matrix * steps, order += matrix * rows, chosen += matrix * steps;
#if KEPT
    __shared__ unsigned places[4096];
    for (Index i = threadIdx.x; i < rows; i += blockDim.x) places[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (Index i = 0; i < steps; i++) {
            Index other = Index(chosen[i]) - 1;
            if (other >= rows) continue;
            unsigned kept = places[i];
            places[i] = places[other], places[other] = kept;
        }
    }
    __syncthreads();
    for (Index i = threadIdx.x; i < rows; i += blockDim.x) store(order + i, T(places[i]));
#else
    for (Index i = threadIdx.x; i < rows; i += blockDim.x) store(order + i, T(i));
    __syncthreads();
    if (threadIdx.x == 0) {
        for (Index i = 0; i < steps; i++) {
            Index other = Index(chosen[i]) - 1;
            if (other >= rows) continue;
            S1 kept = order[i];
            order[i] = order[other], order[other] = kept;
        }
    }
#endif
    for (Index i = threadIdx.x; i < steps; i += blockDim.x) store(pivots + i, T(chosen[i]));
}
#endif
