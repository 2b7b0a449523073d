//! A machine without a GPU answers as PyTorch does on one: code that runs with and without a GPU can ask for memory, and
//! what needs a device says that there is none.

use std::process::{Command, Output};

use crate::feed;

fn run(devices: &str, visible: Option<&str>, code: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    command.args(["run", "--devices", devices, "-"]).env_remove("CUDA_VISIBLE_DEVICES");
    if let Some(visible) = visible {
        command.env("CUDA_VISIBLE_DEVICES", visible);
    }
    feed::run(&mut command, code)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// What PyTorch 2.15's wheel for CUDA gives on a machine without a driver.
const ANSWERS: &[(&str, &str)] = &[
    ("cuda::is_available()", "false"),
    ("cuda::device_count()", "0"),
    ("cuda::memory_allocated()", "0"),
    ("cuda::memory_allocated(1)", "0"),
    ("cuda::memory_reserved()", "0"),
    ("cuda::max_memory_allocated()", "0"),
    ("cuda::max_memory_reserved()", "0"),
    ("cuda::memory_stats().len()", "0"),
    ("cuda::memory_snapshot().len()", "0"),
    ("cuda::is_bf16_supported()", "false"),
    ("cuda::is_built()", "true"),
    ("cuda::empty_cache(); 1", "1"),
    ("cuda::manual_seed(0); cuda::manual_seed_all(0); 1", "1"),
    ("device(\"cuda\")", "cuda"),
    ("nn::DataParallel(nn::Linear(2, 2)).forward(ones([4, 2])).shape", "[4, 2]"),
];

/// What raises "Found no NVIDIA driver" there.
const REFUSED: &[&str] = &[
    "ones(2).to(\"cuda\")",
    "ones(2).to(\"cuda:1\")",
    "ones(2).cuda()",
    "ones(2, #{device: \"cuda\"})",
    "ones(2).pin_memory()",
    "nn::Linear(2, 2).to(\"cuda\")",
    "cuda::synchronize()",
    "cuda::current_device()",
    "cuda::set_device(0)",
    "cuda::current_stream()",
    "cuda::get_device_name(0)",
    "cuda::get_device_capability()",
    "cuda::get_device_properties(0)",
    "cuda::mem_get_info()",
    "cuda::can_device_access_peer(0, 1)",
    "cuda::set_per_process_memory_fraction(0.5)",
    "cuda::Event().record()",
    "with cuda::device(0) { 1 }",
];

const NO_DRIVER: &str = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed \
                         a driver from http://www.nvidia.com/Download/index.aspx";

#[test]
fn what_asks_has_the_answers_of_pytorch() {
    let code: String =
        ANSWERS.iter().map(|(ask, _)| format!("let given = {{ {ask} }}; print(`${{given}}`);\n")).collect();
    let given = printed(&run("cpu", None, &code));
    let given: Vec<&str> = given.lines().collect();
    for ((ask, wanted), given) in ANSWERS.iter().zip(&given) {
        assert_eq!(given, wanted, "{ask}");
    }
    assert_eq!(given.len(), ANSWERS.len());
}

#[test]
fn what_needs_a_gpu_says_that_there_is_no_driver() {
    for code in REFUSED {
        let caught =
            format!("try {{ {code}; }} catch (e) {{ print(e.kind + \": \" + e.message); print(e.hint); }}");
        let text = printed(&run("cpu", None, &caught));
        let (said, hint) = text.split_once('\n').unwrap_or((&text, ""));
        assert_eq!(said, format!("RuntimeError: {NO_DRIVER}"), "{code}");
        assert!(hint.contains("--devices sim:t4"), "{code}: {hint}");
    }
}

#[test]
fn the_exit_status_is_that_of_a_missing_device() {
    let output = run("cpu", None, "ones(2).to(\"cuda\")");
    assert_eq!(output.status.code(), Some(4));
    // An error of the same kind that is none of a device's.
    assert_eq!(run("cpu", None, "ones(2) + ones(3)").status.code(), Some(1));
    let mut prompt = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    prompt.args(["repl", "--devices", "cpu"]).env_remove("CUDA_VISIBLE_DEVICES");
    assert_eq!(feed::run(&mut prompt, "ones(2).to(\"cuda\")\n").status.code(), Some(4));
}

#[test]
fn a_loader_warns_once_that_nothing_is_pinned() {
    let code = "let loader = data::DataLoader(arange(4), #{batch_size: 2, pin_memory: true});
        for epoch in 0..3 { for batch in loader { print(batch.is_pinned()) } }";
    let output = run("cpu", None, code);
    assert_eq!(printed(&output), ["false"; 6].join("\n"));
    let told = String::from_utf8_lossy(&output.stderr);
    let warning = "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.";
    assert_eq!(told.matches(warning).count(), 1, "{told}");
}

#[test]
fn simulated_gpus_are_hidden_as_real_ones_are() {
    let code =
        "print(cuda::device_count()); for i in 0..cuda::device_count() { print(cuda::get_device_name(i)) }";
    let devices = "sim:t4,rtx4090,tiny";
    let names =
        |visible| printed(&run(devices, Some(visible), code)).lines().map(String::from).collect::<Vec<_>>();
    assert_eq!(names("2,0"), ["2", "Tiny GPU (simulated)", "Tesla T4 (simulated)"]);
    assert_eq!(names("1,5,0"), ["1", "NVIDIA GeForce RTX 4090 (simulated)"]);
    assert_eq!(names("-1"), ["0"]);
    let output = run(devices, Some(""), "ones(2).cuda()");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4));
    assert!(told.contains("RuntimeError: No CUDA GPUs are available"), "{told}");
    assert!(told.contains("hides 3 of 3 simulated GPUs"), "{told}");
    // The host is the simulated one all the same: times do not turn into this computer's.
    let clock = "print(timeit(|| ones([64, 64]).matmul(ones([64, 64]))).clock)";
    assert_eq!(printed(&run(devices, Some(""), clock)), "modelled");
}

#[test]
fn a_cell_can_ask_for_what_a_gpu_needs() {
    let code =
        "print(version::cuda); print(cuda::driver_version()); print(doctor().libraries.map(|l| l.name))";
    let text = printed(&run("sim:t4", None, code));
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["12.8", "simulated", "[\"NVRTC\", \"cuBLAS\", \"cuBLASLt\", \"cuSOLVER\", \"cuDNN\", \"NCCL\"]"]
    );
    assert_eq!(
        printed(&run("sim:t4", None, "print([cuda::is_bf16_supported(), cuda::is_bf16_supported(false)])")),
        "[true, false]"
    );
}
