//! The lab's screens and its behaviour, driven by scripted sessions.

mod behaviour;
mod fixture;
mod home;
mod machine;
mod pictures;
mod random;
mod shots;
