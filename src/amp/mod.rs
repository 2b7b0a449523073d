//! Automatic mixed precision: regions of autocast, and scaling of gradients.

pub mod autocast;
pub mod scaler;

pub use autocast::Autocast;
pub use scaler::{GradScaler, ScalerOptions, Steps};
