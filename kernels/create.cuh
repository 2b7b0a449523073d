// Tensors made from the numbers of their elements, counted in row-major order.

#if ARANGE
// Floats are computed in double and rounded once: those of double precision by a product that is fused with the sum.
typedef EXACT Exact;
__device__ inline double placed(double start, double step, Index i) {
    return sizeof(S0) == 8 ? fma(step, double(i), start) : plus(start, times(step, double(i)));
}
__device__ inline long long placed(long long start, long long step, Index i) {
    return plus(start, times(step, (long long)i));
}
extern "C" __global__ void ENTRY(S0* y, Exact start, Exact step, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    store(y + places(walk, i).at[0], placed(start, step, i));
}
#elif EYE
extern "C" __global__ void ENTRY(S0* y, long long rows, long long columns, long long diagonal, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    Index row = i / Index(columns), column = i - row * Index(columns);
    long long off = (long long)column - (long long)(row % Index(rows));
    store(y + places(walk, i).at[0], T(off == diagonal));
}
#else
extern "C" __global__ void
ENTRY(S0* y, const S1* x, long long rows, long long columns, long long diagonal, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    Index row = i / Index(columns), column = i - row * Index(columns);
    long long off = (long long)column - (long long)(row % Index(rows));
    bool keep = UPPER ? off >= diagonal : off <= diagonal;
    Places place = places(walk, i);
    store(y + place.at[0], keep ? load<T>(x + place.at[1]) : T(0));
}
#endif
