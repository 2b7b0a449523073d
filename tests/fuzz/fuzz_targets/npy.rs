#![no_main]

#[path = "../../tests/files/targets.rs"]
#[allow(dead_code, reason = "each program runs one of them")]
mod targets;

use libfuzzer_sys::fuzz_target;
use tensorlab::data::files::Format;

fuzz_target!(|bytes: &[u8]| {
    targets::file(Format::Npy, bytes);
});
