//! The lab's screens and its behaviour, driven by scripted sessions.

mod aids;
mod behaviour;
mod editing;
mod fixture;
mod foreign;
mod home;
mod keys;
mod lesson;
mod machine;
mod notebook;
mod order;
mod pictures;
mod random;
mod shots;
