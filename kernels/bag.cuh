// The rows of a table that each bag names, combined in their order: a thread to a column of a bag.

extern "C" __global__ void
ENTRY(S0* y, long long* places, const S1* table, const S2* index, const S3* starts, const S4* weight, Index count,
      Index bags, Index width, long long rows, long long total, long long padding, Step row_step, Step column_step,
      Step index_step, Step start_step, Step weight_step, int mean) {
    Index i = thread_number();
    if (i >= count) return;
    Index bag = i / width, column = i - bag * width;
    // As in PyTorch the first bag begins with the first index.
    long long first = bag > 0 ? load<long long>(starts + Step(bag) * start_step) : 0;
    long long end = bag + 1 < bags ? load<long long>(starts + Step(bag + 1) * start_step) : total;
    require(first >= 0 && end >= first && end <= total, "the offsets of bags decrease");
    T value = T(0);
    long long chosen = -1, terms = 0;
    for (long long k = first; k < end; k++) {
        long long row = load<long long>(index + Step(k) * index_step);
        require(row >= 0 && row < rows, "index out of bounds");
        if (row == padding) continue;
        T next = load<T>(table + Step(row) * row_step + Step(column) * column_step);
#if LARGEST
        if (chosen < 0 || next > value) value = next, chosen = row;
#else
        value = plus(value, weight ? next * load<T>(weight + Step(k) * weight_step) : next);
        terms++;
#endif
    }
#if LARGEST
    places[i] = chosen;
#else
    if (mean && terms > 1) value = value / T(terms);
#endif
    store(y + i, value);
}
