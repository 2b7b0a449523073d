//! Datasets, loaders, and tensors in files.

pub mod collate;
pub mod csv;
pub mod dataset;
pub mod digits;
pub(crate) mod draws;
pub(crate) mod fetch;
pub mod files;
pub mod loader;
pub mod rows;
pub mod sampler;
pub(crate) mod text;
pub mod tree;
pub mod workers;

pub use crate::data::fetch::LoaderOptions;
pub use dataset::{Data, Dataset, TensorDataset};
pub use loader::DataLoader;
pub use rows::table;
