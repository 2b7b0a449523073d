// Many values folded into one, over any dimensions. Where there are few outputs, blocks fold parts of a line
// into `parts` in scratch memory, and a second launch joins them in order.

#if FOLD_SUM
struct Fold {
    T sum;
    __device__ static Fold none() { return Fold{T(0)}; }
    __device__ void add(T x, Index) { sum = plus(sum, x); }
    __device__ void join(const Fold& o) { sum = plus(sum, o.sum); }
    __device__ void put(S1* y, double p, double) { p == 1.0 ? store(y, sum) : store(y, double(sum) * p); }
};
#elif FOLD_PROD
struct Fold {
    T product;
    __device__ static Fold none() { return Fold{T(1)}; }
    __device__ void add(T x, Index) { product = times(product, x); }
    __device__ void join(const Fold& o) { product = times(product, o.product); }
    __device__ void put(S1* y, double, double) { store(y, product); }
};
#elif FOLD_MAX || FOLD_MIN
#if FOLD_MAX
#define BEYOND >
#define FIRST(T) (T(0) == T(0.5) ? T(-0x7fffffffffffffffll - 1) : T(-INFINITY))
#else
#define BEYOND <
#define FIRST(T) (T(0) == T(0.5) ? T(0x7fffffffffffffffll) : T(INFINITY))
#endif
struct Fold {
    T best;
    __device__ static Fold none() { return Fold{FIRST(T)}; }
    __device__ void add(T x, Index) { best = best != best || best BEYOND x ? best : x; }
    __device__ void join(const Fold& o) { add(o.best, 0); }
    __device__ void put(S1* y, double, double) { store(y, best); }
};
#elif FOLD_ALL
struct Fold {
    int all;
    __device__ static Fold none() { return Fold{1}; }
    __device__ void add(T x, Index) { all &= x != T(0); }
    __device__ void join(const Fold& o) { all &= o.all; }
    __device__ void put(S1* y, double, double) { store(y, all); }
};
#elif FOLD_ANY
struct Fold {
    int any;
    __device__ static Fold none() { return Fold{0}; }
    __device__ void add(T x, Index) { any |= x != T(0); }
    __device__ void join(const Fold& o) { any |= o.any; }
    __device__ void put(S1* y, double, double) { store(y, any); }
};
#elif FOLD_NORM
struct Fold {
    T squares;
    __device__ static Fold none() { return Fold{T(0)}; }
    __device__ void add(T x, Index) { squares += x * x; }
    __device__ void join(const Fold& o) { squares += o.squares; }
    __device__ void put(S1* y, double, double) { store(y, sqrt(squares)); }
};
#elif FOLD_VAR
// Running mean and squared distances to it (Welford), joined as Chan, Golub and LeVeque do.
struct Fold {
    T mean, spread, count;
    __device__ static Fold none() { return Fold{T(0), T(0), T(0)}; }
    __device__ void add(T x, Index) {
        count += T(1);
        T away = x - mean;
        mean += away / count;
        spread += away * (x - mean);
    }
    __device__ void join(const Fold& o) {
        if (o.count == T(0)) return;
        // A large mean, squared, would be infinite times 0.
        if (count == T(0)) {
            *this = o;
            return;
        }
        T both = count + o.count, away = o.mean - mean;
        mean += away * (o.count / both);
        spread += o.spread + away * away * (count * (o.count / both));
        count = both;
    }
    // Four at once, with one quotient.
    __device__ void add(const T (&some)[4]) {
        T middle = ((some[0] + some[1]) + (some[2] + some[3])) * T(0.25), squares = T(0);
#pragma unroll
        for (int k = 0; k < 4; k++) squares += (some[k] - middle) * (some[k] - middle);
        join(Fold{middle, squares, T(4)});
    }
    // p = degrees of freedom, q = 1 for the root
    __device__ void put(S1* y, double p, double q) {
        double variance = double(spread) / p;
        store(y, q == 1.0 ? sqrt(variance) : variance);
    }
};
#elif FOLD_LOG_SUM_EXP
struct Fold {
    Exponentials<T> e;
    __device__ static Fold none() { return Fold{Exponentials<T>::none()}; }
    __device__ void add(T x, Index) { e.add(x); }
    __device__ void join(const Fold& o) { e.join(o.e); }
    __device__ void put(S1* y, double, double) { store(y, log(e.sum) + Exponentials<T>::centre(e.largest)); }
};
#else
// The place of the largest or smallest, the first of equals; NaN wins over numbers.
struct Fold {
    T best;
    unsigned first[2];
    __device__ unsigned long long place() const { return (unsigned long long)first[1] << 32 | first[0]; }
    __device__ static Fold none() { return Fold{T(0), {0xffffffffu, 0xffffffffu}}; }
    __device__ static Fold of(T x, unsigned long long i) { return Fold{x, {(unsigned)i, (unsigned)(i >> 32)}}; }
    __device__ void join(const Fold& o) {
        if (o.place() == ~0ull) return;
        bool mine = best != best, theirs = o.best != o.best;
        bool equal = mine && theirs || best == o.best;
        bool wins = mine != theirs ? theirs : equal ? o.place() < place() : ARG_MAX ? o.best > best : o.best < best;
        if (place() == ~0ull || wins) *this = o;
    }
    // Places come in order.
    __device__ void add(T x, Index i) {
        if (best == best && (x != x || (ARG_MAX ? x > best : x < best)) || first[1] == 0xffffffffu) *this = of(x, i);
    }
};
#endif

#if FOLD_ARG
#define OUTPUT S1 *y, S2 *indices
#define PUT(fold, place) store(y + place.at[1], fold.best), store(indices + place.at[2], (long long)fold.place())
#else
#define OUTPUT S1* y
#define PUT(fold, place) fold.put(y + place.at[1], p, q)
#endif

#if JOIN
extern "C" __global__ void __launch_bounds__(1024) ENTRY(OUTPUT, const Fold* folds, Index parts, double p, double q, Walk kept) {
    Index line = line_number();
    bool active = line < kept.count;
    Fold fold = Fold::none();
    if (active)
        for (Index j = lane(); j < parts; j += lanes()) fold.join(folds[(size_t)line * parts + j]);
    fold = together(fold);
    if (active && lane() == 0) {
        Places place = places(kept, line);
        PUT(fold, place);
    }
}
#else
// Where the value number `i` of a line lies.
struct Along {
    Index count, rank;
    Index size[8];
    Step step[1][8];
};
__device__ inline Step along(const Along& walk, Index i) {
    if (walk.rank <= 1) return Step(i) * walk.step[0][0];
    Step at = 0;
#pragma unroll
    for (int d = 0; d < 8; d++) {
        if (d + 1 >= walk.rank) return at + Step(i) * walk.step[0][d];
        Index rest = i / walk.size[d];
        at += Step(i - rest * walk.size[d]) * walk.step[0][d];
        i = rest;
    }
    return at;
}

// Values that a thread has on the way at a time, each with a fold of its own.
#define EACH 4

#if !ACROSS
// As many neighbours as are read at once, and how often before the first is needed.
#define PACK int(16 / sizeof(S0))
#define PACKS 2
struct __align__(16) Pack {
    S0 at[PACK];
};

__device__ inline void add(Fold (&fold)[EACH], int which, const Pack& pack, Index first) {
#if FOLD_VAR
    if (PACK % 4 == 0) {
#pragma unroll
        for (int k = 0; k < PACK; k += 4) {
            T some[4];
#pragma unroll
            for (int m = 0; m < 4; m++) some[m] = load<T>(&pack.at[(k + m) % PACK]);
            fold[(which + k / 4) % EACH].add(some);
        }
        return;
    }
#endif
#pragma unroll
    for (int k = 0; k < PACK; k++) fold[(which * PACK + k) % EACH].add(load<T>(&pack.at[k]), first + k);
}

// Whether all packs of a line lie at bounds of 16 bytes, and the first of them at `x`.
__device__ inline bool is_packed(const Along& walk, const S0* x, Index first) {
    bool whole = walk.step[0][0] == 1 && (reinterpret_cast<size_t>(x) & 15) == 0 && first % PACK == 0;
    if (walk.rank <= 1) return whole && walk.rank == 1;
    whole = whole && walk.size[0] % PACK == 0;
    for (int d = 1; d < 8; d++)
        if (d < walk.rank) whole = whole && walk.step[0][d] % PACK == 0;
    return whole;
}

// Folds the whole packs among `count` values of a line from `first` on; gives how many values they are.
__device__ inline Index packed(Fold (&fold)[EACH], const S0* x, const Along& walk, Index first, Index count) {
    Index packs = count / PACK, pace = lanes(), p = lane();
    for (; p < packs && packs - p > (PACKS - 1) * pace; p += PACKS * pace) {
        Pack some[PACKS];
#pragma unroll
        for (int u = 0; u < PACKS; u++)
            some[u] = *reinterpret_cast<const Pack*>(x + along(walk, first + (p + u * pace) * PACK));
#pragma unroll
        for (int u = 0; u < PACKS; u++) add(fold, u, some[u], first + (p + u * pace) * PACK);
    }
    for (; p < packs; p += pace)
        add(fold, 0, *reinterpret_cast<const Pack*>(x + along(walk, first + p * PACK)), first + p * PACK);
    return packs * PACK;
}
#endif

extern "C" __global__ void __launch_bounds__(1024)
ENTRY(const S0* x, OUTPUT, Fold* folds, Index part, double p, double q, Walk kept, Along reduced) {
    Index line = line_number();
    bool active = line < kept.count;
    Places place = {};
    Fold fold[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) fold[k] = Fold::none();
    if (active) {
        place = places(kept, line);
        const S0* from = x + place.at[0];
        Index j = Index(blockIdx.y) * part + lane(), pace = lanes();
        Index end = reduced.count - Index(blockIdx.y) * part;
        end = Index(blockIdx.y) * part + (end < part ? end : part);
#if !ACROSS
        Index begin = Index(blockIdx.y) * part;
        if (is_packed(reduced, from, begin)) j += packed(fold, from, reduced, begin, end - begin);
#endif
        for (; j < end && end - j > (EACH - 1) * pace; j += EACH * pace) {
            T values[EACH];
#pragma unroll
            for (int k = 0; k < EACH; k++) values[k] = load<T>(from + along(reduced, j + k * pace));
#pragma unroll
            for (int k = 0; k < EACH; k++) fold[k].add(values[k], j + k * pace);
        }
        for (; j < end; j += pace) fold[0].add(load<T>(from + along(reduced, j)), j);
    }
#pragma unroll
    for (int k = 1; k < EACH; k++) fold[0].join(fold[k]);
    Fold all = together(fold[0]);
    if (!active || lane() != 0) return;
    if (gridDim.y > 1) folds[(size_t)line * gridDim.y + blockIdx.y] = all;
    else PUT(all, place);
}
#endif
