// What warpgroups multiply and how it comes to them, for GPUs of compute capability 9.0 alone (sm_90a). Four warps
// multiply 64 rows by tiles that lie in shared memory in panels of 64 halves a row, 1024 bytes aligned, whose chunks of 16
// bytes turn with the row (the 128 byte swizzle of tensor maps and of matrix descriptors alike).

typedef unsigned long long Word;

#define PANELS_IN_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]

// A tensor map as the driver encodes it.
struct __align__(128) Map {
    Word words[16];
};

// The matrix at an address. `leading`: bytes from one panel to the next, where rows lie along what is summed over.
__device__ inline Word matrix_of(unsigned at, int leading) {
    return Word(at >> 4) | Word(leading >> 4) << 16 | Word(1024 >> 4) << 32 | 1ull << 62;
}

#define R0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define R1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define R2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define R3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define R4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define FOUR(c, i, v) c(v[i]), c(v[i + 1]), c(v[i + 2]), c(v[i + 3])
#define V16(c, i, v) FOUR(c, i, v), FOUR(c, i + 4, v), FOUR(c, i + 8, v), FOUR(c, i + 12, v)
#define V32(c, v) V16(c, 0, v), V16(c, 16, v)
#define V48(c, v) V32(c, v), V16(c, 32, v)
#define V64(c, v) V48(c, v), V16(c, 48, v)
#define V80(c, v) V64(c, v), V16(c, 64, v)

// Begins c = a b or c += a b: `a` in shared memory and b's rows those that its rows meet, or `a` in registers and b's rows
// what is summed over. A product that overwrites says so by its outputs: an accumulator that is zeroed, or kept, in front of
// a loop makes ptxas wait for each product.
#define MULTIPLY_WIDE(type, name, columns, count, list, p0, p1, p2, p3, p4, p5)                                      \
    __device__ inline void multiply(type, float (&c)[count], Word a, Word b, int add) {                              \
        asm volatile("{ .reg .pred add; setp.ne.s32 add, " p2 ", 0; wgmma.mma_async.sync.aligned.m64n" columns       \
                     "k16.f32." name "." name " {" list "}, " p0 ", " p1 ", add, 1, 1, 0, 0; }"                      \
                     : V##count("+f", c)                                                                             \
                     : "l"(a), "l"(b), "r"(add));                                                                    \
    }                                                                                                                \
    __device__ inline void multiply_new(type, float (&c)[count], Word a, Word b) {                                   \
        asm volatile("{ .reg .pred add; setp.ne.s32 add, " p2 ", 0; wgmma.mma_async.sync.aligned.m64n" columns       \
                     "k16.f32." name "." name " {" list "}, " p0 ", " p1 ", add, 1, 1, 0, 0; }"                      \
                     : V##count("=f", c)                                                                             \
                     : "l"(a), "l"(b), "r"(0));                                                                      \
    }                                                                                                                \
    __device__ inline void multiply(type, float (&c)[count], const unsigned* a, Word b, int add) {                   \
        asm volatile("{ .reg .pred add; setp.ne.s32 add, " p5 ", 0; wgmma.mma_async.sync.aligned.m64n" columns       \
                     "k16.f32." name "." name " {" list "}, {" p0 ", " p1 ", " p2 ", " p3 "}, " p4                   \
                     ", add, 1, 1, 1; }"                                                                             \
                     : V##count("+f", c)                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                                \
    }
#define MULTIPLY_ALL(columns, count, list, p0, p1, p2, p3, p4, p5)                                                   \
    MULTIPLY_WIDE(float16, "f16", columns, count, list, p0, p1, p2, p3, p4, p5)                                      \
    MULTIPLY_WIDE(bfloat16, "bf16", columns, count, list, p0, p1, p2, p3, p4, p5)                                    \
    template <int PENDING> __device__ inline void wait_products(float (&c)[count]) {                                 \
        asm volatile("wgmma.wait_group.sync.aligned " p0 ";" : V##count("+f", c) : "n"(PENDING) : "memory");         \
    }
MULTIPLY_ALL("64", 32, R0 ", " R1, "%32", "%33", "%34", "%35", "%36", "%37")
MULTIPLY_ALL("96", 48, R0 ", " R1 ", " R2, "%48", "%49", "%50", "%51", "%52", "%53")
MULTIPLY_ALL("128", 64, R0 ", " R1 ", " R2 ", " R3, "%64", "%65", "%66", "%67", "%68", "%69")
MULTIPLY_ALL("160", 80, R0 ", " R1 ", " R2 ", " R3 ", " R4, "%80", "%81", "%82", "%83", "%84", "%85")

// What registers hold is what the products to come find, and what shared memory holds.
__device__ inline void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Registers that products have read may change from here on.
template <int N> __device__ inline void keep(unsigned (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(v[i])::"memory");
}
template <int N> __device__ inline void keep(float (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(v[i])::"memory");
}

// Barriers in shared memory: `arrivals` threads arrive, and as many bytes as were announced.
__device__ inline void prepare(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void prepared() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void announce(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void wait(unsigned barrier, int phase) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(barrier), "r"(phase) : "memory");
}
// A warpgroup leaves registers to others, or takes what they left.
template <int COUNT> __device__ inline void release_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ inline void claim_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
// Begins to copy a panel's rows.
__device__ inline void fetch_panel(unsigned to, const Map& from, int column, int row, const int (&at)[3], unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, "
                 "%6}], [%7];" ::"r"(to), "l"(&from), "r"(column), "r"(row), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier)
                 : "memory");
}
