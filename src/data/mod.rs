//! Datasets, loaders, and tensors in files.

pub mod collate;
pub mod csv;
pub mod dataset;
pub mod digits;
pub mod files;
pub mod loader;
pub mod rows;
pub mod sampler;
pub mod tree;
pub mod workers;

pub use dataset::{Data, Dataset, TensorDataset};
pub use loader::{DataLoader, LoaderOptions};
pub use rows::table;
