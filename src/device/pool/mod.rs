//! The caching allocator that the simulated and the real GPU share.
