//! One integration binary; each module speaks of one behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a failing test may panic; clippy's own exemption covers only test functions, not their helpers"
)]

mod allocator;
mod amp;
mod architecture;
mod blame;
mod checkpoint;
mod cli;
mod clocks;
mod conformance;
mod course;
mod cuda;
mod default_device;
mod edges;
mod examples;
mod exports;
mod feed;
mod figures;
mod files;
mod forged;
mod full_device;
mod given;
mod gpu;
mod guide;
mod habits;
mod hints;

mod distributions;
mod hollow;
mod hooks;
mod hostile;
mod interrupts;
mod judged;
mod lab_session;
mod lent;
mod lesson_format;
mod lessons;
mod lifetimes;
mod loader;
mod nesting;
mod nn;
mod notebook;
mod numerics;
mod one_kernel;
mod ops;
mod own_functions;
mod pack;
mod parallel;
mod phrases;
mod plot;
mod processes;
mod races;
mod ranks;
mod repl;
mod reports;
mod screens;
mod scripts;
mod semantics;
mod session;
mod simulator;
mod teaching;
mod telemetry;
mod terminal;
mod training;
mod training_memory;
mod vocabulary;
mod without_gpu;
