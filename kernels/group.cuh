// Threads that work on one line together: along x where a line's elements are neighbours (a whole number of
// warps), along y where the elements of neighbouring lines are (`ACROSS`).

#if ACROSS
__device__ inline unsigned lane() { return threadIdx.y; }
__device__ inline unsigned lanes() { return blockDim.y; }
__device__ inline Index line_number() { return Index(blockIdx.x) * blockDim.x + threadIdx.x; }
#else
__device__ inline unsigned lane() { return threadIdx.x; }
__device__ inline unsigned lanes() { return blockDim.x; }
__device__ inline Index line_number() { return Index(blockIdx.x) * blockDim.y + threadIdx.y; }
#endif

template <class V> __device__ inline V of_lane(V v, int mask) {
    V other;
#pragma unroll
    for (int w = 0; w < int(sizeof(V) / 4); w++)
        reinterpret_cast<unsigned*>(&other)[w] =
            __shfl_xor_sync(0xffffffffu, reinterpret_cast<unsigned*>(&v)[w], mask);
    return other;
}

// Joins one value of each lane, in an order that the block's shape alone decides; each lane gets the result.
// `V` is a plain struct of whole words with a function `join`. All threads of the block must come here.
template <class V> __device__ inline V together(V v) {
    __shared__ __align__(16) unsigned char room[sizeof(V) * (ACROSS ? 1024 : 32)];
    V* held = reinterpret_cast<V*>(room);
#if ACROSS
    unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
    held[own] = v;
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) {
            v.join(held[own + half * blockDim.x]);
            held[own] = v;
        }
    }
    __syncthreads();
    V result = held[threadIdx.x];
    __syncthreads();
    return result;
#else
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) v.join(of_lane(v, mask));
    unsigned warps = blockDim.x / 32, first = threadIdx.y * warps;
    if (threadIdx.x % 32 == 0) held[first + threadIdx.x / 32] = v;
    __syncthreads();
    V result = held[first];
    for (unsigned w = 1; w < warps; w++) result.join(held[first + w]);
    __syncthreads();
    return result;
#endif
}

// A sum.
template <class N> struct Total {
    N sum;
    __device__ void join(const Total& other) { sum = plus(sum, other.sum); }
};

// The largest value seen, and the sum of exponentials of distances to it.
template <class N> struct Exponentials {
    N largest, sum;
    __device__ static N centre(N v) { return isinf(v) ? N(0) : v; }
    __device__ static Exponentials none() { return Exponentials{N(-INFINITY), N(0)}; }
    __device__ void join(const Exponentials& other) {
        N next = largest != largest || largest > other.largest ? largest : other.largest;
        N c = centre(next);
        N mine = sum == N(0) ? N(0) : sum * exp(centre(largest) - c);
        N others = other.sum == N(0) ? N(0) : other.sum * exp(centre(other.largest) - c);
        largest = next;
        sum = mine + others;
    }
    // Makes room for numbers up to `x`.
    __device__ void reach(N x) {
        if (x <= largest) return;
        N c = x != x ? x : centre(x);
        sum = sum == N(0) ? N(0) : sum * exp(centre(largest) - c);
        largest = x;
    }
    __device__ void add(N x) {
        reach(x);
        sum += exp(x - centre(largest));
    }
    __device__ void add(const N (&some)[4]) {
        N best = some[0];
#pragma unroll
        for (int k = 1; k < 4; k++) best = best != best || best > some[k] ? best : some[k];
        reach(best);
        N c = centre(largest);
        sum += (exp(some[0] - c) + exp(some[1] - c)) + (exp(some[2] - c) + exp(some[3] - c));
    }
};
