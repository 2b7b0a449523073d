//! The Rhai language layer.
