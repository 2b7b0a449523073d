//! The backend of real GPUs: on a GPU where there is one, and everywhere over a driver that is built here.

mod real;
mod standin;
