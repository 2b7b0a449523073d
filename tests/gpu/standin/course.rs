//! Lessons that may be taken on real GPUs, on the driver that runs kernels on the host: values, copies, waits, launches
//! and memory are as there, times are not.

use std::process::Command;

use super::libraries::{all_libraries, cache, has_compiler, kernels};

#[test]
#[ignore = "takes a quarter of an hour"]
fn lessons_that_name_cuda_hold() {
    if !has_compiler() {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/lessons/course/lessons");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = files.filter(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().find(|line| line.starts_with("devices = ")).is_some_and(|line| line.contains("\"cuda\""))
    });
    let mut verified = 0;
    for file in named {
        let output = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
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
