//! Schedules of learning rates, step by step as `torch.optim.lr_scheduler` computes them.

mod construct;
mod formula;
mod plateau;
mod rows;
mod scheduler;
mod state;

pub use rows::ROWS;
pub use scheduler::{Function, Functions, Scheduler};
