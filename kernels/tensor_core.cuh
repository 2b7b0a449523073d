// What tensor cores multiply and how it comes to them, for GPUs from sm_80 on. A warp multiplies 16 x 16 by 16 x 8 halves.

#define DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

__device__ inline unsigned shared_address(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }

// Four matrices of 8 x 8 halves whose rows the lanes name, eight lanes to a matrix; or their transposes. A lane has of
// each the neighbours 2 (lane % 4) and the next of row lane / 4.
__device__ inline void matrices(unsigned (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}
__device__ inline void matrices_turned(unsigned (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}

// c += a b
#define MULTIPLY(type, name)                                                                                        \
    __device__ inline void multiply(type, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {        \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                                                  \
            ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                  \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                        \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                        \
    }                                                                                                               \
    __device__ inline unsigned pair(type, float low, float high) {                                                  \
        unsigned to;                                                                                                \
        asm("cvt.rn." name "x2.f32 %0, %1, %2;" : "=r"(to) : "f"(high), "f"(low));                                  \
        return to;                                                                                                  \
    }
MULTIPLY(float16, "f16")
MULTIPLY(bfloat16, "bf16")

__device__ inline float power_of_two(float v) {
    float to;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(to) : "f"(v));
    return to;
}

// Begins to copy from memory to shared memory: 16 bytes or 4, or zeros where there is nothing.
__device__ inline void begin_copy(void* to, const void* from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0));
}
__device__ inline void begin_copy(float* to, const float* from, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 4 : 0));
}
// What this thread began to copy is there.
__device__ inline void end_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
