//! What kernels, streams and copies come to.
