//! The real GPU: what of it is there. Its backend will stand here, and its kernels' templates in `kernels/`.

pub mod kernels;
pub mod probe;

mod driver;
mod folders;
mod library;

#[cfg(test)]
mod testing;
