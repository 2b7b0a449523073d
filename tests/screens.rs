//! The lab's screens and its behaviour, driven by scripted sessions.

mod aids;
mod behaviour;
mod editing;
mod fixture;
mod home;
mod keys;
mod machine;
mod notebook;
mod pictures;
mod random;
mod shots;
