//! Datasets and loaders.

pub mod csv;
pub mod dataset;
pub mod digits;
pub mod loader;

pub use dataset::{Batch, Dataset, TensorDataset};
pub use loader::{DataLoader, Options};
