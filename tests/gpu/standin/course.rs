//! Lessons that may be taken on real GPUs, on the driver that runs kernels on the host: values, copies, waits, launches
//! and memory are as there, times are not.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::libraries::{all_libraries, cache, has_compiler, kernels};

#[test]
#[ignore = "takes an hour"]
fn lessons_that_name_cuda_hold() {
    if !has_compiler() {
        return;
    }
    let course = unhurried_course();
    let files = std::fs::read_dir(course.join("lessons")).unwrap().map(|entry| entry.unwrap().path());
    let named = files.filter(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().find(|line| line.starts_with("devices = ")).is_some_and(|line| line.contains("\"cuda\""))
    });
    let mut verified = 0;
    for file in named {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        // SAFETY: between fork and exec, it makes two system calls and takes no memory.
        unsafe { command.pre_exec(without_landlock) };
        let output = command
            .args(["lesson", "verify", "--devices", "cuda"])
            .arg(&file)
            .env("TENSORLAB_CUDA_PATH", all_libraries())
            .env("STANDIN_COMPUTES", kernels())
            .env("STANDIN_MEMORY", "8192")
            .env("XDG_CACHE_HOME", cache())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.starts_with("ok"), "{}: {text}", file.display());
        verified += 1;
    }
    assert!(verified > 5, "{verified} lessons name cuda");
}

/// A copy of the course whose lessons have ten times as long: the stand-in's kernels take as much longer than a GPU's.
fn unhurried_course() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons/course");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unhurried-course");
    std::fs::create_dir_all(copy.join("lessons")).unwrap();
    std::fs::copy(source.join("pack.toml"), copy.join("pack.toml")).unwrap();
    for entry in std::fs::read_dir(source.join("lessons")).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let longer = text.replacen("\ntime = \"20 s\"\n", "\ntime = \"200 s\"\n", 1);
        assert_ne!(text, longer, "{} has another limit", file.display());
        std::fs::write(copy.join("lessons").join(file.file_name().unwrap()), longer).unwrap();
    }
    copy
}

/// Has the kernel say that it knows no Landlock: the stand-in driver starts a compiler, which a lesson's process may not.
fn without_landlock() -> io::Result<()> {
    let statement = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let refused = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    // The call's number is the first field of what the filter sees.
    let mut filter = [
        statement(0x20, 0, 0, 0),
        statement(0x15, 0, 1, u32::try_from(libc::SYS_landlock_create_ruleset).map_err(io::Error::other)?),
        statement(0x06, 0, 0, refused),
        statement(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: the first call takes numbers only; for the second, `program` and its statements outlive it.
    let refusal = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    if refusal == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
