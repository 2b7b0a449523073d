//! The lab's screens and its behaviour, driven by scripted sessions.

mod behaviour;
mod fixture;
mod home;
mod machine;
mod random;
mod shots;
