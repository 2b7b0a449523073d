//! Scripts on a driver that the tests build. Here it computes nothing: what is allocated, copied and launched, and what
//! its errors become. Copies are carried out, so values that only move are right; kernels leave their outputs as they
//! were. In `computes` and `suite` kernels run on the host.
#![cfg(target_os = "linux")]

mod computes;
mod confined;
mod course;
mod libraries;
mod suite;
mod waits;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libraries::libraries;

struct Run {
    command: Command,
    scratch: PathBuf,
}

impl Run {
    fn new(test: &str, script: &str) -> Run {
        let scratch =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standin-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).unwrap();
        std::fs::write(scratch.join("script.rhai"), script).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command
            .current_dir(&scratch)
            .args(["run", "--devices", "cuda", "script.rhai"])
            .env("TENSORLAB_CUDA_PATH", libraries())
            .env("XDG_CACHE_HOME", scratch.join("cache"))
            .env("STANDIN_LOG", scratch.join("launches"))
            .env_remove("CUDA_VISIBLE_DEVICES");
        Run { command, scratch }
    }

    fn with(mut self, name: &str, value: &str) -> Run {
        self.command.env(name, value);
        self
    }

    fn output(&mut self) -> Output {
        self.command.output().unwrap()
    }

    fn printed(&mut self) -> String {
        let output = self.output();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// Lines of name, blocks, threads, and whether the first argument is device memory.
    fn launches(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.scratch.join("launches")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

#[test]
fn values_come_back_as_they_went() {
    let script = "
        let x = arange(300_000);
        let pinned = x.pin_memory();
        print((x.cuda().cpu() == x).all());
        print((pinned.to(\"cuda:1\", #{non_blocking: true}).cpu() == x).all());
        print((x.cuda().to(\"cuda:1\").to(\"cuda:0\").cpu() == x).all());
        let back = x.cuda().to(\"cpu\", #{non_blocking: true});
        cuda::synchronize();
        print([(back == x).all(), back.is_pinned()]);
        print(x[[7]].cuda().item());
        print(cuda::get_device_properties(0).simulated);";
    let printed = Run::new("values", script).printed();
    let right = "tensor(True)\ntensor(True)\ntensor(True)\n[tensor(True), true]\n7\nfalse\n";
    assert_eq!(printed, right);
}

#[test]
fn memory_is_counted_as_on_a_simulated_device() {
    let script = "
        let a = zeros([1000, 1000]).cuda();
        let b = zeros(100).cuda();
        print([cuda::memory_allocated(), cuda::memory_reserved()]);
        a = ();
        cuda::empty_cache();
        print([cuda::memory_allocated(), cuda::memory_reserved(), cuda::max_memory_allocated()]);";
    let printed = Run::new("memory", script).printed();
    assert_eq!(printed, "[4000768, 23068672]\n[512, 2097152, 4000768]\n");
}

#[test]
fn a_full_device_says_so_and_goes_on() {
    let script = "
        let keep = zeros([8 << 20]).cuda();
        try { zeros([9 << 20]).cuda(); } catch (e) { print(e.message); }
        keep = ();
        print(zeros([9 << 20]).cuda().shape);";
    let printed = Run::new("full", script).printed();
    let mut lines = printed.lines();
    let message = lines.next().unwrap();
    assert!(
        message.starts_with(
            "CUDA out of memory. Tried to allocate 36.00 MiB. GPU 0 has a total capacity of 64.00 MiB"
        ),
        "{message}"
    );
    assert_eq!(lines.next(), Some("[9437184]"));
}

#[test]
fn each_op_is_one_launch_of_a_kernel_for_its_dtypes() {
    let script = "
        let x = zeros([1000]).cuda();
        let y = zeros([1000], #{dtype: float16}).cuda();
        let z = x + y;
        let h = y.exp();
        h += 1;
        x.sum();
        zeros([64, 32]).cuda().softmax(-1);";
    let mut run = Run::new("launches", script);
    run.printed();
    let launches = run.launches();
    let names: Vec<&str> = launches.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names.len(), 5, "{launches:?}");
    for (name, part) in names.iter().zip(["add", "exp", "add", "sum", "softmax"]) {
        assert!(name.contains(part), "{names:?}");
    }
}

#[test]
fn compiled_kernels_are_kept_for_the_next_run() {
    let script = "zeros([1000]).cuda().exp();";
    let mut run = Run::new("kept", script);
    run.printed();
    let kept = || -> Vec<_> {
        let folder = run.scratch.join("cache/tensorlab/kernels");
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let first = kept();
    assert!(!first.is_empty());
    // Without a compiler the second run would have nothing to launch.
    run.printed();
    assert_eq!(run.launches().len(), 2);
}

#[test]
fn a_device_that_fails_is_an_error_with_its_line_and_stays_failed() {
    let script = "let x = zeros([1000]).cuda();
let y = x.exp();
cuda::synchronize();
print(\"never\");";
    let mut run = Run::new("fails", script);
    let output = run.command.env("STANDIN_FAIL_AT", "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out, "");
    assert!(err.contains("CUDA error: an illegal memory access was encountered"), "{err}");
    assert!(err.contains("script.rhai:3:"), "{err}");
}

/// A device that failed gives no memory either, which is no full device.
#[test]
fn a_device_that_failed_is_not_called_full() {
    let script = "let x = zeros([1000]).cuda();
x.exp();
for work in [|| zeros([8 << 20], #{device: \"cuda\"}), || x.sum().item(), || x + x] {
    try { work.call(); } catch (e) { print(`${e.kind}: ${e.message.split(\"(\")[0]}`); }
}";
    let printed = Run::new("failed", script).with("STANDIN_FAIL_AT", "1").printed();
    assert_eq!(printed, "DeviceError: CUDA error: an illegal memory access was encountered \n".repeat(3));
}

/// What a stream's sums are kept in, and what libraries need, is memory beside the pool.
#[test]
fn memory_that_the_pool_keeps_makes_room_for_scratch() {
    let script = "
        let keep = [];
        for size in [4 << 20, 512 << 10, 256 << 10] {
            try { loop { keep.push(empty([size], #{device: \"cuda\"})); } } catch {}
        }
        keep = ();
        ones([1 << 20], #{device: \"cuda\"}).sum();
        print(cuda::memory_reserved() < (60 << 20));";
    assert_eq!(Run::new("scratch", script).printed(), "true\n");
}

#[test]
fn a_device_newer_than_the_compiler_gets_what_its_driver_compiles() {
    let script = "let x = zeros([1000]).cuda(); x.exp(); print(cuda::get_device_capability());";
    let mut run = Run::new("newer", script).with("STANDIN_CAPABILITY", "120");
    assert_eq!(run.printed(), "[12, 0]\n");
    assert_eq!(run.launches().len(), 1);
}

/// The second run has no compiler to ask.
#[test]
fn what_was_compiled_runs_without_a_compiler() {
    let mut run = Run::new("kept-alone", "zeros([1000]).cuda().exp();");
    run.printed();
    let alone = run.scratch.join("driver-alone");
    std::fs::create_dir_all(&alone).unwrap();
    std::fs::copy(libraries().join("libcuda.so.1"), alone.join("libcuda.so.1")).unwrap();
    run.command.env("TENSORLAB_CUDA_PATH", &alone).env_remove("LD_LIBRARY_PATH");
    run.command.env_remove("CUDA_HOME").env_remove("CUDA_PATH");
    run.printed();
    assert_eq!(run.launches().len(), 2);
}

#[test]
fn a_lack_of_a_compiler_is_told_with_a_remedy() {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standin-driver-alone-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(libraries().join("libcuda.so.1"), folder.join("libcuda.so.1")).unwrap();
    let mut run = Run::new("bare", "print(1);");
    let output = run
        .command
        .env("TENSORLAB_CUDA_PATH", &folder)
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    // A computer with a toolkit has a compiler after all.
    if !output.status.success() {
        assert!(err.contains("libnvrtc.so") && err.contains("tensorlab doctor"), "{err}");
    }
}

/// Parts are launched one by one the first time, and then as one, in the order of the capture.
#[test]
fn a_graph_is_one_launch_from_its_second_replay_on() {
    let script = "
        let x = zeros([1000]).cuda();
        let graph = cuda::graph(|| x.exp() + x);
        for i in 0..3 { graph.replay(); }
        print(telemetry::record(|| graph.replay()).launches);";
    let mut run = Run::new("graph", script);
    assert_eq!(run.printed(), "2\n");
    let launches = run.launches();
    let name = |line: &str| line.trim_start_matches("map_").split(['_', ' ']).next().unwrap().to_owned();
    let names: Vec<String> = launches.iter().map(|line| name(line)).collect();
    let parts = ["exp", "add"];
    let whole = ["graph", "exp", "add"];
    assert_eq!(names, [&parts[..], &whole, &whole, &parts].concat(), "{launches:?}");
}

#[test]
fn a_graph_that_draws_numbers_stays_in_parts() {
    let script = "
        let graph = cuda::graph(|| rand([1000], #{device: \"cuda\"}) + 1);
        for i in 0..4 { graph.replay(); }";
    let mut run = Run::new("graph-draws", script);
    run.printed();
    let launches = run.launches();
    assert_eq!(launches.len(), 8, "{launches:?}");
}
