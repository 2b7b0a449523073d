//! One integration binary; each module speaks of one behaviour.
mod screens;
