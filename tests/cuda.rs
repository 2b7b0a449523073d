//! `cuda::` from scripts: what it tells, streams and events, graphs, determinism, `smi()`.

use crate::parallel::{fault, on};

mod backward;
mod chance;
mod graphs;
mod host;
mod memory;
mod streams;
mod switches;
mod threads;

/// (script, kind, the message's beginning)
pub type Mistake = (&'static str, &'static str, &'static str);

pub fn mistakes(devices: &str, all: &[Mistake]) {
    for (code, kind, text) in all {
        let fault = fault(devices, code);
        assert_eq!(fault.kind, *kind, "{code}: {}", fault.report);
        assert!(fault.message.starts_with(text), "{code}: {}", fault.report);
        assert!(fault.hint.is_some(), "{code} has no hint: {}", fault.report);
    }
}

#[test]
fn a_device_tells_what_it_is() {
    let code = "
        let p = cuda::get_device_properties(1);
        [p.name, p.major, p.minor, p.multi_processor_count, p.max_threads_per_multi_processor, p.warp_size,
         p.L2_cache_size, p.total_memory, p.simulated, cuda::get_device_capability(1), cuda::is_simulated(),
         cuda::get_device_name(), cuda::device_count(), cuda::is_available()]";
    assert_eq!(
        on("sim:t4,h200", code),
        "[\"NVIDIA H200 (simulated)\", 9, 0, 132, 2048, 32, 62914560, 150109945856, true, [9, 0], true, \
         \"Tesla T4 (simulated)\", 2, true]"
    );
    assert_eq!(on("cpu", "[cuda::is_available(), cuda::device_count()]"), "[false, 0]");
}

#[test]
fn the_current_device_is_what_cuda_means() {
    let code = "
        let seen = [cuda::current_device()];
        with cuda::device(1) { seen += cuda::current_device(); seen += ones([1], #{device: \"cuda\"}).device.index; };
        seen += cuda::current_device();
        try { with cuda::device(\"cuda:1\") { throw 1; } } catch (e) { seen += cuda::current_device(); };
        cuda::set_device(1);
        seen += cuda::current_device();
        seen";
    assert_eq!(on("sim:t4x2", code), "[0, 1, 1, 0, 0, 1]");
}

#[test]
fn peers_are_those_with_a_link() {
    let code = "[cuda::can_device_access_peer(0, 1), cuda::can_device_access_peer(0, 0), \
                cuda::can_device_access_peer(0, 2), cuda::can_device_access_peer(2, 1)]";
    assert_eq!(on("sim:t4x2,tiny", code), "[true, false, false, false]");
}

#[test]
fn mistakes_with_devices_have_pytorchs_texts() {
    mistakes(
        "sim:t4x2",
        &[
            ("cuda::get_device_name(9)", "AssertionError", "Invalid device id"),
            ("cuda::can_device_access_peer(7, 0)", "AssertionError", "Invalid device id"),
            ("cuda::can_device_access_peer(0, 7)", "AssertionError", "Invalid peer device id"),
            ("cuda::set_device(9)", "DeviceError", "CUDA error: invalid device ordinal"),
            ("cuda::memory_allocated(9)", "RuntimeError", "Invalid device argument 9: did you call init?"),
            ("cuda::synchronize(\"cpu\")", "ValueError", "Expected a cuda device, but got: cpu"),
        ],
    );
    mistakes("cpu", &[("cuda::current_device()", "RuntimeError", "Found no NVIDIA driver on your system. ")]);
}

/// The numbers that PyTorch prints for these seeds on every GPU.
#[test]
fn seeds_give_the_numbers_of_a_gpu() {
    let code = "
        manual_seed(0); let a = rand([2, 3], #{device: \"cuda\"});
        cuda::manual_seed(0); let b = randn([2, 3], #{device: \"cuda\"});
        cuda::manual_seed_all(0); let c = rand([2, 3], #{device: \"cuda:1\"});
        [a, b, c.cpu().equal(a.cpu()), cuda::initial_seed()].map(|v| `${v}`).reduce(|all, v| `${all ?? \"\"}${v}\\n`)";
    let shown = on("sim:t4x2", code);
    for row in [
        "[[0.3990, 0.5167, 0.0249],",
        "[0.9401, 0.9459, 0.7967]]",
        "[[-0.9247, -0.4253, -2.6438],",
        "[ 0.1452, -0.1209, -0.5797]]",
        "true",
    ] {
        assert!(shown.contains(row), "{row} is missing in\n{shown}");
    }
}

#[test]
fn seeding_the_gpus_leaves_the_cpu_alone() {
    let code = "manual_seed(1); let a = rand([4]); manual_seed(1); cuda::manual_seed(5); rand([4]).equal(a)";
    assert_eq!(on("sim:t4", code), "true");
    let other = "
        cuda::manual_seed_all(3); let a = rand([2], #{device: \"cuda:1\"});
        cuda::manual_seed_all(3); cuda::manual_seed(9); rand([2], #{device: \"cuda:1\"}).equal(a)";
    assert_eq!(on("sim:t4x2", other), "true");
}

/// `b = b + 1` makes another tensor; `b += 1` writes into the one that `a` shares.
#[test]
fn an_assignment_is_not_an_operation_in_place() {
    let code =
        "let a = ones([2]); let b = a; b = b + 1.0; let c = a; c += 1.0; [a.tolist(), b.tolist(), c is a]";
    assert_eq!(on("cpu", code), "[[2.0, 2.0], [2.0, 2.0], true]");
    let plain = "let a = ones([2]); let b = a; b = b + 1.0; [a.tolist(), b.tolist()]";
    assert_eq!(on("sim:t4", plain), "[[1.0, 1.0], [2.0, 2.0]]");
}

/// A draw larger than the device has threads uses several numbers of each: which, the multiprocessors decide.
#[test]
fn large_draws_depend_on_the_multiprocessors() {
    let code = |n: u32| {
        format!(
            "manual_seed(0); let a = rand([{n}], #{{device: \"cuda:0\"}}); let b = rand([{n}], #{{device: \"cuda:1\"}});
             let next = [rand([1], #{{device: \"cuda:0\"}}).cpu(), rand([1], #{{device: \"cuda:1\"}}).cpu()];
             [a.cpu().equal(b.cpu()), a.cpu()[0..40960].equal(b.cpu()[0..40960]), next[0].equal(next[1])]"
        )
    };
    // 40 multiprocessors of 1024 threads each, against 132 of 2048.
    assert_eq!(on("sim:t4,h100", &code(40 * 1024)), "[true, true, true]");
    assert_eq!(on("sim:t4,h100", &code(40 * 1024 + 1)), "[false, true, true]");
    assert_eq!(on("sim:t4,h100", &code(4 * 40 * 1024 + 1)), "[false, true, false]");
    assert_eq!(on("sim:t4,t4", &code(4 * 40 * 1024 + 1)), "[true, true, true]");
}

/// What a script prints, line by line.
fn printed(devices: &str, code: &str) -> Vec<String> {
    let shown = on(devices, code);
    let shown = shown.trim_matches('"').replace("\\n", "\n");
    shown.lines().map(str::to_owned).collect()
}

#[test]
fn smi_prints_what_nvidia_smi_shows() {
    let lines =
        printed("sim:t4,a100-40gb", "let x = zeros([1024, 1024], #{device: \"cuda:1\"}); smi().to_string()");
    assert!(lines.iter().all(|line| line.chars().count() <= 79), "{lines:#?}");
    let table = |line: &&String| line.starts_with('|') || line.starts_with('+');
    assert!(lines.iter().filter(table).all(|line| line.chars().count() == 79), "{lines:#?}");
    let at =
        |text: &str| lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}"));
    assert!(lines[1].contains("Driver Version: simulated") && lines[1].contains("CUDA Version: simulated"));
    let t4 = at("Tesla T4 ");
    assert_eq!(lines[t4], "|   0  Tesla T4            N/A  | SIM              N/A |                  N/A |");
    assert_eq!(
        lines[t4 + 1],
        "| N/A  N/A  N/A     10W /   70W |     78MiB / 15109MiB |     0%           N/A |"
    );
    assert!(lines[t4 + 2].starts_with("|      (simulated) "), "{lines:#?}");
    let a100 = at("NVIDIA A100-SXM4...");
    assert!(lines[a100 + 1].contains(" 444MiB / "), "a context and a segment of 20 MiB: {lines:#?}");
    assert!(lines[1].ends_with(" |"), "{lines:#?}");
    let process = lines.iter().rposition(|line| line.contains("tensorlab ")).unwrap();
    assert!(lines[process].starts_with("|    1   N/A  N/A       N/A      C   tensorlab "), "{lines:#?}");
    assert!(lines[process].ends_with(" 444MiB |"), "{lines:#?}");
    assert!(lines.last().unwrap().contains("simulated clock"));
    assert!(on("cpu", "smi().to_string()").contains("No devices were found"));
    assert_eq!(on("cpu", "let s = smi(); [s.gpus, s.processes, s.driver_version]"), "[[], [], ()]");
}

#[test]
fn smi_tells_allocated_reserved_and_used_apart() {
    let code = "let x = zeros([1024, 1024], #{device: \"cuda\"}); let s = smi(); let g = s.gpus[0];
                [g.memory_allocated, g.memory_reserved, g.memory_used, s.processes[0].memory, g.temperature]";
    let (held, taken) = (4 << 20, 20 << 20);
    let used = taken + (78 << 20);
    assert_eq!(on("sim:t4", code), format!("[{held}, {taken}, {used}, {used}, ()]"));
    let tiny = "let g = smi().gpus[0]; [g.memory_used, g.memory_total, g.power_draw]";
    assert_eq!(on("sim:tiny", tiny), format!("[{}, {}, ()]", 8 << 20, 264 << 20));
}

/// The part of the last modelled second in which a kernel ran, and the power with it.
#[test]
fn smi_tells_how_busy_a_device_was() {
    let code = "let x = zeros([4096, 4096], #{device: \"cuda\"});
                for i in 0..40 { x.add_(1.0); }
                cuda::synchronize();
                let g = smi().gpus[0];
                let idle = smi().gpus[1];
                [g.utilisation > 80.0, g.utilisation <= 100.0, g.power_draw > 10.0 && g.power_draw <= 70.0,
                 g.power_draw - (10.0 + 60.0 * g.utilisation / 100.0) < 0.001, idle.utilisation, idle.power_draw]";
    assert_eq!(on("sim:t4x2", code), "[true, true, true, true, 0.0, 10.0]");
    let waiting = "let x = zeros(4, #{device: \"cuda\"}); for i in 0..100 { x.sum().item(); } smi().gpus[0].utilisation < 70.0";
    assert_eq!(on("sim:t4", waiting), "true", "a device that waits for the host is not busy");
}

#[test]
fn every_row_is_on_the_page_of_its_name() {
    use tensorlab::op::Family;
    use tensorlab::op::args::signature;
    use tensorlab::script::help::{page, rows};
    for def in rows() {
        let shown = page(def.name).unwrap();
        // A function of the same name comes before a module.
        let space = Family::Space;
        let hidden =
            def.family == space && rows().any(|other| other.name == def.name && other.family != space);
        assert!(hidden || shown.contains(&signature(def)), "{}: {shown}", def.name);
    }
    assert!(page("cuda::memory_stats").unwrap().contains("allocated_bytes.all.peak"));
    assert!(page("parallel::scatter").unwrap().contains("target_gpus"));
}
