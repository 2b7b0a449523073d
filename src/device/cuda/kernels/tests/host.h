// Enough of CUDA for a C++ compiler to run a kernel on the host: block by block, each thread a fiber, so that
// barriers and shuffles work.

#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::copysign;
using std::exp;
using std::fabs;
using std::floor;
using std::fmod;
using std::isfinite;
using std::isinf;
using std::log;
using std::log1p;
using std::max;
using std::min;
using std::pow;
using std::rint;
using std::signbit;
using std::sqrt;
using std::tanh;
using std::trunc;
using std::sin;
using std::cos;
using std::tan;
using std::asin;
using std::acos;
using std::atan;
using std::sinh;
using std::cosh;
using std::asinh;
using std::acosh;
using std::atanh;
using std::expm1;
using std::log2;
using std::log10;
using std::exp2;
using std::erf;
using std::erfc;
using std::ceil;
using std::atan2;
using std::hypot;
using std::lgamma;
// By Newton's steps from a start that is near enough, with what is left to 1 where that says more.
static double erfinv(double v) {
    double size = fabs(v), left = 1.0 - size;
    if (!(left > 0.0)) return left == 0.0 ? copysign((double)INFINITY, v) : (double)NAN;
    double spread = log(left * (1.0 + size)), half = 4.330746750799873 + spread / 2.0;
    double x = sqrt(sqrt(half * half - spread / 0.147) - half);
    for (int i = 0; i < 4; i++) {
        double off = size < 0.5 ? erf(x) - size : left - erfc(x);
        x -= off / (1.1283791670955126 * exp(-x * x) - x * off);
    }
    return copysign(x, v);
}

template <class To, class From> static To bits_as(From from) {
    To to;
    static_assert(sizeof(To) == sizeof(From));
    memcpy(&to, &from, sizeof(To));
    return to;
}
static float __uint_as_float(unsigned v) { return bits_as<float>(v); }
static float __int_as_float(int v) { return bits_as<float>(v); }
static unsigned __float_as_uint(float v) { return bits_as<unsigned>(v); }
static int __float_as_int(float v) { return bits_as<int>(v); }
template <class F> static long long truncated(F v) {
    return v >= F(9223372036854775808.0) ? 0x7fffffffffffffffll
           : v < F(-9223372036854775808.0) ? -0x7fffffffffffffffll - 1
                                           : (long long)v;
}
static long long __double_as_longlong(double v) { return bits_as<long long>(v); }
static double __longlong_as_double(long long v) { return bits_as<double>(v); }
static long long __float2ll_rz(float v) { return truncated(v); }
static long long __double2ll_rz(double v) { return truncated(v); }
static float __uint2float_rn(unsigned v) { return (float)v; }
static float __double2float_ru(double v) {
    float to = (float)v;
    return to < v ? nextafterf(to, INFINITY) : to;
}
#define __sincosf sincosf
static float __fadd_rn(float a, float b) { return a + b; }
static float __fmul_rn(float a, float b) { return a * b; }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static unsigned short half_of(float v) { return bits_as<unsigned short>((_Float16)v); }
static float of_half(unsigned short v) { return (float)bits_as<_Float16>(v); }

template <class T> static T atomicAdd(T* at, T v) {
    T old = *at;
    *at = old + v;
    return old;
}
static unsigned atomicOr(unsigned* at, unsigned v) {
    unsigned old = *at;
    *at = old | v;
    return old;
}
template <class T> static T atomicCAS(T* at, T expected, T v) {
    T old = *at;
    if (old == expected) *at = v;
    return old;
}
struct Three {
    unsigned x, y, z;
};
static Three threadIdx, blockIdx, blockDim, gridDim;

// What runs threads, one after the other; where one has to wait, the next begins in another fiber. A fiber that began
// goes on by a jump, which asks nothing of the system.
struct Fiber {
    jmp_buf at;
    char* stack;
    bool begun;
};
static Fiber fibers[1024];
// Fibers that run no thread of this block, the last first.
static unsigned idle[1024], idles;
enum State : unsigned char { TO_BEGIN, BEGUN, DONE };
static State states[1024];
// The fiber of each thread that began.
static unsigned fiber_of[1024];
static jmp_buf scheduler;
static unsigned current, alive, threads, to_begin;

struct Barrier {
    unsigned arrived, turn;
};
static Barrier whole_block, warps[32];

static void give_way() {
    if (!_setjmp(fibers[fiber_of[current]].at)) _longjmp(scheduler, 1);
}
// The assertion that failed: the whole grid stops, as a device does.
static const char* failed;
extern "C" __attribute__((visibility("hidden"))) void __assertfail(const char* what, const char*, unsigned, const char*, size_t) {
    failed = what;
    for (;;) give_way();
}
static void wait_at(Barrier& barrier, unsigned all) {
    unsigned turn = barrier.turn;
    if (++barrier.arrived == all) {
        barrier.arrived = 0;
        barrier.turn++;
        return;
    }
    while (barrier.turn == turn) give_way();
}
static void __syncthreads() { wait_at(whole_block, alive); }

static unsigned long long exchanged[32][32];
template <class V> static V from_lane(V v, unsigned lane) {
    unsigned warp = current / 32;
    memcpy(&exchanged[warp][current % 32], &v, sizeof(V));
    wait_at(warps[warp], 32);
    V other;
    memcpy(&other, &exchanged[warp][lane], sizeof(V));
    wait_at(warps[warp], 32);
    return other;
}
template <class V> static V __shfl_xor_sync(unsigned, V v, int mask) { return from_lane(v, current % 32 ^ mask); }
template <class V> static V __shfl_up_sync(unsigned, V v, int off) {
    unsigned lane = current % 32;
    return from_lane(v, lane >= (unsigned)off ? lane - off : lane);
}
template <class V> static V __shfl_sync(unsigned, V v, unsigned lane) { return from_lane(v, lane); }

static unsigned __ballot_sync(unsigned, int vote) {
    unsigned all = 0;
    unsigned warp = current / 32;
    exchanged[warp][current % 32] = vote != 0;
    wait_at(warps[warp], 32);
    for (unsigned lane = 0; lane < 32; lane++) all |= unsigned(exchanged[warp][lane]) << lane;
    wait_at(warps[warp], 32);
    return all;
}
static void __syncwarp() { wait_at(warps[current / 32], 32); }
static unsigned __popc(unsigned v) { return __builtin_popcount(v); }
static int __clz(int v) { return v ? __builtin_clz(v) : 32; }

template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
    kernel(*reinterpret_cast<std::remove_reference_t<A>*>(args[I])...);
}
template <class... A> static void start(void (*kernel)(A...), void** args) {
    call(kernel, args, std::index_sequence_for<A...>());
}
template <class... A> static size_t sizes_of(void (*)(A...), size_t* to) {
    size_t all[] = {sizeof(std::remove_reference_t<A>)...};
    memcpy(to, all, sizeof(all));
    return sizeof...(A);
}
static void (*work)(void**);
static void** work_args;
static void turn_to(unsigned thread) {
    current = thread;
    threadIdx = Three{thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}
// The next thread that has not begun begins in a fiber.
static void begin(unsigned fiber) {
    turn_to(to_begin++);
    states[current] = BEGUN;
    fiber_of[current] = fiber;
}
// A fiber's life.
static void enter() {
    for (;;) {
        work(work_args);
        states[current] = DONE;
        alive--;
        if (whole_block.arrived > 0 && whole_block.arrived == alive) {
            whole_block.arrived = 0;
            whole_block.turn++;
        }
        unsigned fiber = fiber_of[current];
        if (to_begin < threads) {
            begin(fiber);
            continue;
        }
        idle[idles++] = fiber;
        give_way();
    }
}

// Lets a fiber run until it gives way.
static void resume(Fiber& fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.begun) _longjmp(fiber.at, 1);
    fiber.begun = true;
    fiber.stack = (char*)malloc(1 << 16);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack;
    context.uc_stack.ss_size = 1 << 16;
    makecontext(&context, enter, 0);
    setcontext(&context);
}

static void run_block() {
    threads = alive = blockDim.x * blockDim.y * blockDim.z;
    to_begin = 0;
    memset(states, TO_BEGIN, threads);
    whole_block = Barrier{};
    memset(warps, 0, sizeof(warps));
    while (alive > 0 && !failed)
        for (unsigned i = 0; i < threads && !failed; i++) {
            if (states[i] == DONE) continue;
            // Threads begin in their order, so that this one is the next.
            if (states[i] == TO_BEGIN) begin(idle[--idles]);
            else turn_to(i);
            resume(fibers[fiber_of[i]]);
        }
}

// Gives the stacks back but for those of so many fibers.
static void forget_fibers(unsigned kept) {
    for (unsigned i = kept; i < 1024; i++) {
        free(fibers[i].stack);
        fibers[i] = Fiber{};
    }
}

static const char* run_grid(const unsigned* grid, const unsigned* block, void** args) {
    gridDim = Three{grid[0], grid[1], grid[2]}, blockDim = Three{block[0], block[1], block[2]};
    work_args = args;
    failed = nullptr;
    for (idles = 0; idles < 1024; idles++) idle[idles] = 1023 - idles;
    for (unsigned z = 0; z < grid[2] && !failed; z++)
        for (unsigned y = 0; y < grid[1] && !failed; y++)
            for (unsigned x = 0; x < grid[0] && !failed; x++) {
                blockIdx = Three{x, y, z};
                run_block();
            }
    // Where an assertion failed, fibers stand in the middle of their threads.
    forget_fibers(failed ? 0 : 256);
    return failed;
}
