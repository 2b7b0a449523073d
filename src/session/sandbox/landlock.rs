//! Landlock: what files a process and its later threads may open, kept by the Linux kernel.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Rights to files, as the kernel numbers them.
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_FILE: u64 = 1 << 8;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;

/// Reads files and lists folders.
pub(crate) const READ: u64 = READ_FILE | READ_DIR;
/// Reads files and writes those that are there, such as devices.
pub(crate) const USE: u64 = READ | WRITE_FILE | TRUNCATE;

/// Makes, writes, renames and takes away files and folders.
pub(crate) const CHANGE: u64 = USE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_FILE | REFER;

/// The kernel's `landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

/// The kernel's `landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    rights: u64,
    folder: i32,
}

/// The version of Landlock that the kernel has.
///
/// # Errors
/// It has none, or it is switched off.
pub(super) fn version() -> io::Result<u32> {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: asked for its version, the call takes no structure and changes nothing.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0usize, ASK_VERSION)
    };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Forbids this thread, and those that it starts from now on, every file but those under the paths, to start other
/// programs, to use TCP (version 4), and to signal processes outside (version 6). Paths that are not there are left
/// out. Needs "no new privileges".
///
/// # Errors
/// The kernel has no Landlock, or refuses.
pub(crate) fn confine(allowed: &[(&Path, u64)]) -> io::Result<()> {
    let version = version()?;
    let handled = match version {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        _ => (1 << 15) - 1,
    };
    // Versions that know a field less are told a smaller size.
    let size: usize = match version {
        0..4 => 8,
        4..6 => 16,
        _ => 24,
    };
    let wanted = Ruleset { files: handled, network: 0b11, scoped: 0b11 };
    // SAFETY: `wanted` outlives the call and is at least `size` bytes long.
    let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &wanted, size, 0) };
    let made = i32::try_from(made).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the call has just given this descriptor, and nobody else has it.
    let rules = unsafe { OwnedFd::from_raw_fd(made) };
    for (path, rights) in allowed {
        allow(&rules, path, rights & handled)?;
    }
    // SAFETY: the descriptor is open; the call takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })
}

/// Adds what may be done beneath a path.
fn allow(rules: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
    const BENEATH: libc::c_int = 1;
    let opened =
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path);
    let Ok(opened) = opened else { return Ok(()) };
    let rights = if is_folder(&opened)? { rights } else { rights & !READ_DIR };
    let rule = Beneath { rights, folder: opened.as_raw_fd() };
    // SAFETY: both descriptors are open, and `rule` is whole and outlives the call.
    check(unsafe { libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), BENEATH, &rule, 0) })
}

fn is_folder(opened: &File) -> io::Result<bool> {
    Ok(opened.metadata()?.is_dir())
}

fn check(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
