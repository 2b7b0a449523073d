// Elements at places that another tensor names. An index outside the dimension stops the device.

__device__ inline Step checked(long long i, long long size) {
    if (FROM_END && i < 0) i += size;
    require(i >= 0 && i < size, "index out of bounds");
    return Step(i);
}

#if GATHER
// y[..i..] = x[..index..]; a thread reads the indices of some elements before it needs the first.
#define EACH 4

extern "C" __global__ void __launch_bounds__(256)
    ENTRY(S0* y, const S1* x, const S2* index, long long size, Step x_step, Walk walk) {
    Index first = Index(blockIdx.x) * (256 * EACH) + threadIdx.x;
    Places place[EACH];
    long long named[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        Index i = first + k * 256;
        named[k] = 0;
        if (i < walk.count) place[k] = places(walk, i), named[k] = load<long long>(index + place[k].at[2]);
    }
    T held[EACH];
    Step from[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k * 256 < walk.count) from[k] = place[k].at[1] + checked(named[k], size) * x_step;
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k * 256 < walk.count) held[k] = load<T>(x + from[k]);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k * 256 < walk.count) store(y + place[k].at[0], held[k]);
}
#elif TARGETS
// Where each element of a source goes, in elements from y on.
extern "C" __global__ void ENTRY(S0* target, const S1* index, long long size, Step y_step, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    Places place = places(walk, i);
    target[i] = place.at[0] + checked(load<long long>(index + place.at[2]), size) * y_step;
}
#elif IN_ORDER
__device__ inline T read(const Number& v, Step) { return v.value; }
template <class S> __device__ inline T read(const S* from, Step at) { return load<T>(from + at); }

// y[target] += source, where targets and their elements' numbers are sorted: the first of a target adds all of its
// elements, in their order, and rounds once, as on the CPU.
extern "C" __global__ void ENTRY(S0* y, In1 source, const S2* target, const S2* order, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    long long at = target[i];
    if (i > 0 && target[i - 1] == at) return;
    T sum = load<T>(y + at);
    do {
        Places place = places(walk, Index(order[i]));
        sum = plus(sum, read(source, place.at[1]));
        i++;
    } while (i < walk.count && target[i] == at);
    store(y + at, sum);
}
#else
#ifdef COMBINE
// Two elements as one; NaN stays.
template <class N> __device__ inline N larger(N a, N b) { return a != a || a > b ? a : b; }
template <class N> __device__ inline N smaller(N a, N b) { return a != a || a < b ? a : b; }
#elif ADD
#define COMBINE plus
__device__ inline void put(float* y, T v) { atomicAdd(y, float(v)); }
__device__ inline void put(double* y, T v) { atomicAdd(y, double(v)); }
__device__ inline void put(int* y, T v) { atomicAdd(y, int(whole(v))); }
__device__ inline void put(long long* y, T v) {
    atomicAdd(reinterpret_cast<unsigned long long*>(y), (unsigned long long)whole(v));
}
__device__ inline void put(float16* y, T v) {
    asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(y), "h"(As<float16>::of(v).bits) : "memory");
}
#endif
#ifdef COMBINE
template <int BYTES> struct WordOf { using Type = unsigned; };
template <> struct WordOf<8> { using Type = unsigned long long; };

// Any element, through the word that it lies in.
template <class S> __device__ inline void put(S* y, T v) {
    using Word = typename WordOf<sizeof(S)>::Type;
    size_t address = reinterpret_cast<size_t>(y), within = address % sizeof(Word);
    Word* word = reinterpret_cast<Word*>(address - within);
    unsigned shift = unsigned(within) * 8;
    Word mask = (~Word(0) >> 8 * (sizeof(Word) - sizeof(S))) << shift;
    Word seen = *word, expected;
    do {
        expected = seen;
        Word bits = (expected & mask) >> shift;
        S old;
        memcpy(&old, &bits, sizeof(S));
        S both = As<S>::of(COMBINE(As<T>::of(number(old)), v));
        bits = 0;
        memcpy(&bits, &both, sizeof(S));
        seen = atomicCAS(word, expected, (expected & ~mask) | bits << shift);
    } while (seen != expected);
}
#else
__device__ inline void put(S0* y, T v) { store(y, v); }
#endif

__device__ inline T read(const Number& v, Step) { return v.value; }
template <class S> __device__ inline T read(const S* from, Step at) { return load<T>(from + at); }

// y[..index..] = source[..i..], or combined with it
extern "C" __global__ void ENTRY(S0* y, In1 source, const S2* index, long long size, Step y_step, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    Places place = places(walk, i);
    Step picked = checked(load<long long>(index + place.at[2]), size) * y_step;
    put(y + place.at[0] + picked, read(source, place.at[1]));
}
#endif
