//! Memory of the devices, page-locked memory, and copies.
//!
//! A copy from page-locked memory reads it when the copy runs, any other at the call; a copy to memory that is not
//! page-locked is over when the call returns. So it is with CUDA.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex};

use crate::streams::{self, Work};
use crate::{INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, capacity, current, put, state, wrong};

/// What lies in memory that was taken just now: NaN in every floating type, and no valid index.
const NEW: u8 = 0xff;
/// What lies in memory that was given back.
const GONE: u8 = 0xab;

/// Bytes and device of each block.
static MEMORY: Mutex<BTreeMap<u64, (usize, usize)>> = Mutex::new(BTreeMap::new());
/// Bytes of each page-locked range.
static LOCKED: Mutex<BTreeMap<u64, usize>> = Mutex::new(BTreeMap::new());

fn used(device: usize) -> usize {
    MEMORY.lock().unwrap().values().filter(|(_, of)| *of == device).map(|(bytes, _)| bytes).sum()
}

pub fn free(device: usize) -> usize {
    capacity() - used(device)
}

/// Whether a range lies inside a block.
pub fn inside(address: u64, bytes: usize) -> bool {
    let all = MEMORY.lock().unwrap();
    all.range(..=address)
        .next_back()
        .is_some_and(|(at, (size, _))| address + bytes as u64 <= at + *size as u64)
}

fn is_locked(address: u64, bytes: usize) -> bool {
    let all = LOCKED.lock().unwrap();
    all.range(..=address).next_back().is_some_and(|(at, size)| address + bytes as u64 <= at + *size as u64)
}

fn layout(bytes: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(bytes, 512).unwrap()
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    let Some(device) = current() else { return INVALID_CONTEXT };
    put(free, self::free(device));
    put(total, capacity());
    state()
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int {
    let Some(device) = current() else { return INVALID_CONTEXT };
    if state() != 0 {
        return state();
    }
    if bytes == 0 {
        return INVALID_VALUE;
    }
    if bytes > capacity() || used(device) + bytes > capacity() {
        return OUT_OF_MEMORY;
    }
    let block = unsafe { std::alloc::alloc(layout(bytes)) };
    unsafe { std::ptr::write_bytes(block, NEW, bytes) };
    MEMORY.lock().unwrap().insert(block as u64, (bytes, device));
    put(address, block as u64)
}
/// Waits for the device, as CUDA's does.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    let known = MEMORY.lock().unwrap().get(&address).copied();
    let Some((bytes, device)) = known else { return INVALID_VALUE };
    streams::lock().drain_device(device);
    MEMORY.lock().unwrap().remove(&address);
    unsafe {
        std::ptr::write_bytes(address as *mut u8, GONE, bytes);
        std::alloc::dealloc(address as *mut u8, layout(bytes));
    }
    state()
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(at: u64, bytes: usize, _: c_uint) -> c_int {
    if at % 4096 != 0 || bytes % 4096 != 0 {
        return INVALID_VALUE;
    }
    LOCKED.lock().unwrap().insert(at, bytes);
    state()
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(at: u64) -> c_int {
    if LOCKED.lock().unwrap().remove(&at).is_some() { state() } else { INVALID_VALUE }
}

/// The bytes of a range, moved when it runs.
fn copy(to: u64, from: u64, bytes: usize) -> Work {
    Work::Do(Arc::new(move || unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) }))
}

/// The same, of which one end is page-locked memory of the host.
fn copy_locked(to: u64, from: u64, bytes: usize, host: u64) -> Work {
    Work::Do(Arc::new(move || {
        if !is_locked(host, bytes) {
            wrong("page-locked memory was given back while a copy of it was under way");
        }
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> c_int {
    if !inside(to, bytes) {
        return INVALID_VALUE;
    }
    let work = if is_locked(from, bytes) {
        copy_locked(to, from, bytes, from)
    } else {
        let read = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) }.to_vec();
        Work::Do(Arc::new(move || unsafe { std::ptr::copy(read.as_ptr(), to as *mut u8, bytes) }))
    };
    streams::lock().enqueue(stream, work)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> c_int {
    if !inside(from, bytes) {
        return INVALID_VALUE;
    }
    let mut streams = streams::lock();
    if is_locked(to, bytes) {
        return streams.enqueue(stream, copy_locked(to, from, bytes, to));
    }
    match streams.enqueue(stream, copy(to, from, bytes)) {
        0 => streams.synchronize(stream),
        code => code,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> c_int {
    if !inside(to, bytes) || !inside(from, bytes) {
        return INVALID_VALUE;
    }
    streams::lock().enqueue(stream, copy(to, from, bytes))
}
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    there: usize,
    from: u64,
    here: usize,
    bytes: usize,
    stream: usize,
) -> c_int {
    if there == here || !inside(to, bytes) || !inside(from, bytes) {
        return INVALID_VALUE;
    }
    streams::lock().enqueue(stream, copy(to, from, bytes))
}
