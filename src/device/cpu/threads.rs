//! Threads that are started while a script runs, when memory may be short.

use std::io;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

/// Bytes of stack of a thread that computes.
pub(crate) const STACK: usize = 2 << 20;

/// What a thread maps besides its stack before its own work begins: its stack for signals, its thread-locals. The
/// standard library ends the process where it gets none of that.
const BEGINNING: usize = 1 << 20;

/// What glibc maps for the first block that a new thread asks for, where there is room (`HEAP_MAX_SIZE`): before the
/// thread has its stack for signals.
const HEAP: usize = 64 << 20;

/// Starts a thread, and returns once it runs.
///
/// # Errors
/// The system starts none, or there is too little memory for one to begin.
pub fn start<T: Send + 'static>(
    name: String,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    // What the allocator takes from the system for the few things below, it takes before the look at what is left:
    // for a small block it may map 64 MiB.
    let (kept, free) = (heap_block()?, heap_block()?);
    let needed = stack.saturating_add(BEGINNING);
    let heap_fits = can_map(stack.saturating_add(HEAP));
    if !can_map(needed) || heap_fits && !can_map(needed.saturating_add(HEAP)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    drop(free);
    let (begins, begun) = channel();
    let handle = Builder::new().name(name).stack_size(stack).spawn(move || {
        let _ = begins.send(());
        work()
    })?;
    let _ = begun.recv();
    drop(kept);
    Ok(handle)
}

/// A block large enough for what starting a thread allocates, and too small to be mapped by itself.
fn heap_block() -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    block.try_reserve_exact(32 << 10).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Ok(std::hint::black_box(block))
}

/// Whether the system maps so many bytes. What the allocator still has of its own does not help a thread's stack.
#[cfg(unix)]
fn can_map(bytes: usize) -> bool {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a fresh mapping that nobody else knows, given back at once.
    unsafe {
        let block = libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0);
        block != libc::MAP_FAILED && libc::munmap(block, bytes) == 0
    }
}

#[cfg(not(unix))]
fn can_map(_: usize) -> bool {
    true
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::Command;

    const ROOM: &str = "TENSORLAB_TEST_ROOM";

    /// Lets this process map no more than it has and `room` bytes.
    fn confine(room: u64) {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        // SAFETY: the limit is a whole value on this stack.
        unsafe {
            let limit = pages * libc::sysconf(libc::_SC_PAGESIZE) as u64 + room;
            let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
            assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
        }
    }

    #[test]
    fn a_thread_that_finds_no_memory_to_begin_with_is_an_error() {
        if let Some(room) = std::env::var(ROOM).ok().and_then(|room| room.parse::<u64>().ok()) {
            confine(room << 10);
            let sum = start("one".into(), STACK, || 1 + 1).map(|thread| thread.join().unwrap());
            std::process::exit(if sum.is_ok_and(|sum| sum == 2) { 10 } else { 11 });
        }
        let name = std::thread::current().name().unwrap().to_string();
        let with = |room: usize| {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &name, "--nocapture"])
                .env(ROOM, room.to_string())
                .output()
                .unwrap();
            (child.status.code(), String::from_utf8_lossy(&child.stderr).into_owned())
        };
        for room in (STACK / 1024..STACK / 1024 + 64).step_by(2) {
            assert_eq!(with(room), (Some(11), String::new()), "{room} KiB");
        }
        // Where a heap of the new thread's own would just fit, it may not take what the thread begins with.
        for room in (0..1024).step_by(4).map(|more| (STACK + HEAP) / 1024 + more) {
            assert_eq!(with(room).1, "", "{room} KiB");
        }
        assert_eq!(with(400 << 10).0, Some(10));
    }
}
