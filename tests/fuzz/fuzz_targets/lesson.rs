#![no_main]

#[path = "../../tests/files/targets.rs"]
#[allow(dead_code, reason = "each program runs one of them")]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    targets::lesson(bytes);
});
