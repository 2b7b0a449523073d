//! The lab's screens and its behaviour, driven by scripted sessions.

mod aids;
mod behaviour;
mod editing;
mod fixture;
mod random;
mod shots;
