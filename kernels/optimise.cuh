// Steps of optimisers and of gradient scaling, in place. The order of operations is that of `torch.optim`'s
// single-tensor steps.

#if SGD
// keep = 1 where the momentum buffer holds something
extern "C" __global__ void
ENTRY(S0* parameter, const S1* grad, S2* buffer, T rate, T momentum, T fresh, T decay, T sign, int options, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    bool decays = options & 1, nesterov = options & 2, first = options & 4;
    Places place = places(walk, i);
    T p = load<T>(parameter + place.at[0]);
    T g = sign * load<T>(grad + place.at[1]);
    if (decays) g = p * decay + g;
    if (buffer) {
        T moved = first ? g : g * fresh + load<T>(buffer + place.at[2]) * momentum;
        store(buffer + place.at[2], moved);
        g = nesterov ? moved * momentum + g : moved;
    }
    store(parameter + place.at[0], g * rate + p);
}
#elif ADAM
extern "C" __global__ void
ENTRY(S0* parameter, const S1* grad, S2* mean, S3* square, T size, T root, T keep, T decay, T sign, T weight, T beta2,
      T fresh, T eps, int options, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    bool plain = options & 1, near = options & 2;
    Places place = places(walk, i);
    T old = load<T>(parameter + place.at[0]) * keep;
    T g = sign * load<T>(grad + place.at[1]);
    if (!plain) g = old * decay + g;
    T start = load<T>(mean + place.at[2]), away = g - start;
    T moved = near ? weight * away + start : (weight - T(1)) * away + g;
    T spread = load<T>(square + place.at[3]) * beta2 + fresh * g * g;
    store(mean + place.at[2], moved);
    store(square + place.at[3], spread);
    store(parameter + place.at[0], old + size * moved / (sqrt(spread) / root + eps));
}
#elif UNSCALE
extern "C" __global__ void ENTRY(S0* grad, S1* found, const S2* factor, Walk walk) {
    Index i = thread_number();
    if (i >= walk.count) return;
    S0* at = grad + places(walk, i).at[0];
    T value = load<T>(at);
    if (!isfinite(value)) store(found, 1.0f);
    store(at, value * load<T>(factor));
}
#else
extern "C" __global__ void
ENTRY(S0* scale, S1* tracker, const S2* found, double growth, double backoff, long long interval) {
    float old = load<float>(scale);
    long long steps = load<long long>(tracker);
    if (load<float>(found) != 0.0f) {
        store(scale, float(double(old) * backoff));
        steps = 0;
    } else if (steps + 1 == interval) {
        float grown = float(double(old) * growth);
        if (isfinite(grown)) store(scale, grown);
        steps = 0;
    } else {
        steps++;
    }
    store(tracker, steps);
}
#endif
