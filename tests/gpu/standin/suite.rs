//! Tests of real GPUs, on the driver that runs kernels on the host: a sample always, all of them when asked.

use std::process::Command;

use tensorlab::base::DeviceSpec;

use super::libraries::{all_libraries, cache, has_compiler, kernels, libraries};
use crate::amp::check_rows;
use crate::conformance::{Laid, all_on, peer_samples_on, sample_on};
use crate::training::follow;

const GPU: DeviceSpec = DeviceSpec::Cuda(Some(0));

/// What cannot run here, and why.
const NOT_HERE: [(&str, &str); 6] = [
    ("a_fault_is_told_as_such_by_all_that_follows", "products of 4096 x 4096"),
    (
        "attention_and_its_gradients",
        "long sequences, a quarter of an hour; the recorded cases have short ones",
    ),
    ("an_interrupt_is_heard_behind_a_long_queue", "products of 8192 x 8192"),
    ("backward_runs_on_the_streams_of_its_forward", "products of 2048 x 2048; `computes` has it smaller"),
    ("events_and_streams_measure_and_order_work", "it measures a GPU's time"),
    ("more_elements_than_32_bits_count", "16 GiB"),
];

/// Tests of this program in a process whose CUDA is the stand-in.
fn again(arguments: &[&str], with_libraries: bool) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "--include-ignored"])
        .args(arguments)
        .env("TENSORLAB_CUDA_PATH", if with_libraries { all_libraries() } else { libraries() })
        .env("STANDIN_COMPUTES", kernels())
        .env("STANDIN_MEMORY", "2048")
        .env("XDG_CACHE_HOME", cache())
        .env_remove("CUDA_VISIBLE_DEVICES");
    command
}

/// Does `work` in a process of its own whose CUDA is the stand-in.
fn there<F: FnOnce()>(with_libraries: bool, work: F) {
    if std::env::var_os("STANDIN_COMPUTES").is_some() {
        return work();
    }
    if !has_compiler() {
        return;
    }
    let name = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let name = name.split_once("::").unwrap().1;
    let seed = std::env::var("STANDIN_SEED").unwrap_or_else(|_| drawn().to_string());
    let output = again(&[name], with_libraries).env("STANDIN_SEED", &seed).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "STANDIN_SEED={seed}: {}\n{out}{err}", output.status);
    assert!(out.contains("1 passed"), "{out}");
}

pub(super) fn drawn() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::from(time.subsec_nanos())
}

#[test]
fn a_sample_of_the_recorded_cases() {
    there(true, || sample_on("cuda", GPU, Laid::Contiguous, (0, 19)));
}

#[test]
fn a_sample_of_the_recorded_cases_without_libraries() {
    there(false, || sample_on("cuda", GPU, Laid::Transposed, (9, 19)));
}

#[test]
#[ignore = "takes minutes"]
fn all_recorded_cases_without_libraries() {
    there(false, || all_on("cuda", GPU, Laid::Contiguous));
}

#[test]
#[ignore = "takes minutes"]
fn samples_of_pytorchs_own_tests() {
    there(true, || peer_samples_on("cuda", GPU));
}

#[test]
#[ignore = "takes minutes"]
fn networks_lose_what_they_lose_in_pytorch() {
    there(true, || follow("cuda", "cuda", false));
}

#[test]
#[ignore = "takes minutes"]
fn result_dtypes_under_autocast_are_pytorchs() {
    there(true, || check_rows("cuda", "cuda", include_str!("../../golden/amp.json")));
}

/// Some minutes, most of them the compiler's; the compiled kernels are kept.
#[test]
#[ignore = "takes minutes"]
fn the_tests_of_a_real_gpu() {
    if !has_compiler() {
        return;
    }
    let only = std::env::var("STANDIN_ONLY").unwrap_or_default();
    let list = Command::new(std::env::current_exe().unwrap()).args(["--ignored", "--list"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<&str> =
        names.filter(|name| name.starts_with("gpu::real::") && name.contains(&only)).collect();
    let mut failed = Vec::new();
    for name in names {
        if let Some((_, why)) = NOT_HERE.iter().find(|(other, _)| name.ends_with(other)) {
            println!("{name}: not here: {why}");
            continue;
        }
        // Attention has kernels of its own on some.
        let capabilities = if name.contains("attention") { &["86", "90"][..] } else { &["86"] };
        for capability in capabilities {
            let (seed, start) = (drawn(), std::time::Instant::now());
            let output = again(&[name], true)
                .env("STANDIN_SEED", seed.to_string())
                .env("STANDIN_CAPABILITY", capability)
                // Draws are held to those of an H100.
                .env("STANDIN_MULTIPROCESSORS", if name.contains("draws_") { "132" } else { "2" })
                .output()
                .unwrap();
            let passed = output.status.success();
            println!("{name} on {capability}: {passed} in {:.1?}, STANDIN_SEED={seed}", start.elapsed());
            if !passed {
                println!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                failed.push(name);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
