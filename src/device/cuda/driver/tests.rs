//! Against libraries that are built here to answer as drivers do.
#![cfg(target_os = "linux")]

use std::process::Command;

use super::*;
use crate::device::cuda::testing::Scratch;

/// A driver with two devices. `stub` and `broken` start as such drivers do, `bare` has no device, and `old`
/// lacks a function.
const DRIVER: &str = r#"
fn put<T>(place: *mut T, value: T) -> i32 {
    unsafe { *place = value };
    0
}

fn text(place: *mut u8, room: i32, text: &str) -> i32 {
    for (i, byte) in text.bytes().take(room as usize - 1).chain([0]).enumerate() {
        unsafe { *place.add(i) = byte };
    }
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuInit(flags: u32) -> i32 {
    if flags != 0 { 1 } else if cfg!(stub) { 34 } else if cfg!(broken) { 4711 } else if cfg!(bare) { 100 } else { 0 }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDriverGetVersion(version: *mut i32) -> i32 {
    put(version, 12_080)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceGetCount(count: *mut i32) -> i32 {
    if cfg!(bare) { 100 } else { put(count, 2) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceGet(device: *mut i32, ordinal: i32) -> i32 {
    put(device, 70 + ordinal)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceGetName(name: *mut u8, room: i32, device: i32) -> i32 {
    text(name, room, if device == 70 { "Stand-in A\x1b[31m" } else { "Stand-in B" })
}

#[cfg(not(old))]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> i32 {
    put(bytes, (device as usize - 69) << 30)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceGetAttribute(value: *mut i32, which: i32, _device: i32) -> i32 {
    match which {
        75 => put(value, 8),
        76 => put(value, 6),
        16 => put(value, 40),
        _ => 1,
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuDeviceGetPCIBusId(place: *mut u8, room: i32, device: i32) -> i32 {
    text(place, room, &format!("0000:{device:02}:00.0"))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuGetErrorName(_code: i32, name: *mut *const u8) -> i32 {
    put(name, c"CUDA_ERROR_OF_TEST".as_ptr().cast())
}
"#;

/// What a driver built as `kind` says, where there is a compiler to build it.
fn surveyed(kind: &str) -> Option<Result<(Driver, Vec<FoundDevice>), Missing>> {
    let scratch = Scratch::new(kind);
    let source = scratch.write("driver.rs", DRIVER);
    let file = scratch.path().join("libcuda.so.1");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(compiler)
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "cuda", "--cap-lints", "allow"])
        .args(["--cfg", kind, "-o"])
        .args([&file, &source])
        .status();
    match built {
        Ok(status) => assert!(status.success(), "the stand-in driver does not compile"),
        Err(error) => {
            eprintln!("skipped: no compiler for a stand-in driver ({error})");
            return None;
        }
    }
    let folders = Folders { named: vec![scratch.path().to_owned()], ..Folders::default() };
    let loaded = load(&["cuda", "nvcuda"], &folders, &[]).unwrap();
    assert_eq!(loaded.path, file.display().to_string());
    Some(survey(&loaded))
}

#[test]
fn a_driver_shows_its_devices() {
    let Some(answer) = surveyed("whole") else { return };
    let (driver, devices) = answer.unwrap();
    assert_eq!(driver.cuda, (12, 8));
    let [first, second] = devices.as_slice() else { panic!("{devices:?}") };
    let expected = FoundDevice {
        ordinal: 0,
        name: "Stand-in A [31m".into(),
        memory: 1 << 30,
        capability: (8, 6),
        multiprocessors: 40,
        pci: "0000:70:00.0".into(),
    };
    assert_eq!(*first, expected);
    assert_eq!((second.ordinal, second.memory, second.pci.as_str()), (1, 2 << 30, "0000:71:00.0"));
}

#[test]
fn a_driver_without_devices_is_a_driver() {
    let Some(answer) = surveyed("bare") else { return };
    let (driver, devices) = answer.unwrap();
    assert_eq!((driver.cuda, devices.len()), ((12, 8), 0));
}

#[test]
fn a_stub_is_told_from_a_driver() {
    let Some(answer) = surveyed("stub") else { return };
    let missing = answer.unwrap_err();
    assert!(
        missing.reason.contains("cuInit gives 34 (CUDA_ERROR_OF_TEST): this library is a stub"),
        "{missing:?}"
    );
    assert!(missing.remedy.contains("stubs"), "{missing:?}");
}

#[test]
fn a_driver_that_does_not_start_gives_its_number() {
    let Some(answer) = surveyed("broken") else { return };
    let missing = answer.unwrap_err();
    assert!(
        missing.reason.ends_with("cuInit gives 4711 (CUDA_ERROR_OF_TEST): the driver does not start"),
        "{missing:?}"
    );
}

#[test]
fn a_function_that_is_absent_is_named() {
    let Some(answer) = surveyed("old") else { return };
    let missing = answer.unwrap_err();
    assert!(missing.reason.contains("has no cuDeviceTotalMem_v2"), "{missing:?}");
}
