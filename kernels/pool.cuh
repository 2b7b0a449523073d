// Pooling over planes, a thread to an element of what is written: gradients gather, so they need no atomics.

struct Axis {
    int size, pooled, window, stride, padding, dilation;
};

// What an average divides: the window of output `at` inside the plane, and its length with padding.
struct Span {
    int from, to, whole;
};
__device__ inline Span span(const Axis& axis, int at) {
    int start = at * axis.stride - axis.padding;
    int end = min(start + axis.window, axis.size + axis.padding);
    return Span{min(max(start, 0), axis.size), min(max(end, 0), axis.size), end - start};
}
__device__ inline T share(T sum, const Span& rows, const Span& columns) {
    int count = COUNT_PADDING ? rows.whole * columns.whole : (rows.to - rows.from) * (columns.to - columns.from);
    return T(0) == T(0.5) && count == 0 ? T(0) : sum / T(count);
}

// A window's first place inside the plane.
__device__ inline int first_place(const Axis& axis, int at) {
    int start = at * axis.stride - axis.padding;
    return start >= 0 ? start : start + (-start + axis.dilation - 1) / axis.dilation * axis.dilation;
}

#define PLANE(step) (Step(image) * step[0] + Step(channel) * step[1])
#define AT(step, y, x) (PLANE(step) + Step(y) * step[2] + Step(x) * step[3])

struct Steps {
    Step step[OPERANDS][4];
};

// `count` elements of planes of `inner[0]` rows and `inner[1]` columns, `channels` to an image.
#define ELEMENT(rows, columns) \
    Index number = thread_number(); \
    if (number >= count) return; \
    int column = int(number % Index(columns)), row = int(number / Index(columns) % Index(rows)); \
    Index plane = number / Index(columns) / Index(rows), image = plane / channels, channel = plane % channels;

#if MAX_POOL
extern "C" __global__ void
ENTRY(S0* y, S1* indices, const S2* x, Index count, Index channels, Axis down, Axis over, Steps steps) {
    ELEMENT(down.pooled, over.pooled)
    T best = LEAST;
    long long place = (long long)first_place(down, row) * over.size + first_place(over, column);
    for (int i = 0; i < down.window; i++) {
        int r = row * down.stride + i * down.dilation - down.padding;
        if (r < 0 || r >= down.size) continue;
        for (int j = 0; j < over.window; j++) {
            int c = column * over.stride + j * over.dilation - over.padding;
            if (c < 0 || c >= over.size) continue;
            T value = load<T>(x + AT(steps.step[2], r, c));
            if (value > best || value != value) {
                best = value;
                place = (long long)r * over.size + c;
            }
        }
    }
    store(y + AT(steps.step[0], row, column), best);
    store(indices + AT(steps.step[1], row, column), place);
}
#elif MAX_POOL_GRAD
extern "C" __global__ void
ENTRY(S0* dx, const S1* dy, const S2* indices, Index count, Index channels, Axis down, Axis over, Steps steps) {
    ELEMENT(down.size, over.size)
    long long place = (long long)row * over.size + column;
    T sum = T(0);
    for (int i = down.window - 1; i >= 0; i--) {
        int r = row + down.padding - i * down.dilation;
        if (r < 0 || r % down.stride != 0 || (r /= down.stride) >= down.pooled) continue;
        for (int j = over.window - 1; j >= 0; j--) {
            int c = column + over.padding - j * over.dilation;
            if (c < 0 || c % over.stride != 0 || (c /= over.stride) >= over.pooled) continue;
            if (load<long long>(indices + AT(steps.step[2], r, c)) == place)
                sum = plus(sum, load<T>(dy + AT(steps.step[1], r, c)));
        }
    }
    store(dx + AT(steps.step[0], row, column), sum);
}
#elif AVERAGE_POOL
extern "C" __global__ void
ENTRY(S0* y, const S1* x, Index count, Index channels, Axis down, Axis over, Steps steps) {
    ELEMENT(down.pooled, over.pooled)
    Span rows = span(down, row), columns = span(over, column);
    T sum = T(0);
    for (int r = rows.from; r < rows.to; r++)
        for (int c = columns.from; c < columns.to; c++) sum = plus(sum, load<T>(x + AT(steps.step[1], r, c)));
    bool empty = rows.from >= rows.to || columns.from >= columns.to;
    store(y + AT(steps.step[0], row, column), empty ? T(0) : share(sum, rows, columns));
}
#else
extern "C" __global__ void
ENTRY(S0* dx, const S1* dy, Index count, Index channels, Axis down, Axis over, Steps steps) {
    ELEMENT(down.size, over.size)
    // Outputs whose window reaches here.
    int first_row = max(0, (row + down.padding - down.window) / down.stride);
    int first_column = max(0, (column + over.padding - over.window) / over.stride);
    T sum = T(0);
    for (int r = first_row; r < down.pooled && r * down.stride <= row + down.padding; r++) {
        Span rows = span(down, r);
        if (row < rows.from || row >= rows.to) continue;
        for (int c = first_column; c < over.pooled && c * over.stride <= column + over.padding; c++) {
            Span columns = span(over, c);
            if (column < columns.from || column >= columns.to) continue;
            sum = plus(sum, share(load<T>(dy + AT(steps.step[1], r, c)), rows, columns));
        }
    }
    store(dx + AT(steps.step[0], row, column), sum);
}
#endif
