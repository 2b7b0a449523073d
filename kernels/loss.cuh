// The negative log likelihood of targets, and its gradient. A target outside the classes stops the device.

// The class of a sample, or -1 where it is ignored.
__device__ inline Step class_of(const TARGET* target, Step at, long long ignore, long long classes) {
    long long t = load<long long>(target + at);
    if (t == ignore) return -1;
    require(t >= 0 && t < classes, "target out of bounds");
    return Step(t);
}

#if GRADIENT
// A thread to each sample; all other classes are 0 already.
extern "C" __global__ void
ENTRY(S0* dlogp, const S1* dloss, const S2* target, const S3* weight, const S4* total, Index n, long long classes,
      long long ignore, Step row_step, Step class_step, Step loss_step, Step target_step, Step weight_step) {
    Index i = thread_number();
    if (i >= n) return;
    Step chosen = class_of(target, Step(i) * target_step, ignore, classes);
    if (chosen < 0) return;
    T w = weight ? load<T>(weight + chosen * weight_step) : T(1);
    T slope = -(w * load<T>(dloss + Step(i) * loss_step)) / (total ? load<T>(total) : T(1));
    store(dlogp + Step(i) * row_step + chosen * class_step, slope);
}
#else
struct Loss {
    double sum, weights;
    __device__ void join(const Loss& o) { sum += o.sum, weights += o.weights; }
};

// One block, so that the sum has one order. Each sample on its own where `EACH_SAMPLE`, by many blocks.
extern "C" __global__ void __launch_bounds__(1024)
    ENTRY(S0* loss, S1* total, const S2* logp, const S3* target, const S4* weight, Index n, long long classes,
          long long ignore, Step loss_step, Step row_step, Step class_step, Step target_step, Step weight_step,
          int mean) {
    Loss all = {0.0, 0.0};
    for (Index i = thread_number(); i < n; i += gridDim.x * blockDim.x) {
        Step chosen = class_of(target, Step(i) * target_step, ignore, classes);
        T value = T(0), w = T(0);
        if (chosen >= 0) {
            w = weight ? load<T>(weight + chosen * weight_step) : T(1);
            value = -(w * load<T>(logp + Step(i) * row_step + chosen * class_step));
        }
#if EACH_SAMPLE
        store(loss + Step(i) * loss_step, value);
#else
        all.join(Loss{double(value), double(w)});
#endif
    }
#if EACH_SAMPLE
    if (thread_number() == 0) store(total, T(0));
#else
    all = together(all);
    if (threadIdx.x != 0) return;
    store(loss, T(mean ? all.sum / all.weights : all.sum));
    store(total, T(all.weights));
#endif
}
#endif
