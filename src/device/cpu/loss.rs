//! Written on branch kern3 (worktree /work/wt/kern3) by another worker: do not write this file, merge kern3 instead. Go on with random, convolution, pooling.
