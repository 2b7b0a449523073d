//! What `cuda::` tells of memory.

use super::{mistakes, on};

#[test]
fn statistics_follow_tensors() {
    let code = "
        let x = ones([1024, 1024], #{device: \"cuda\"});
        let before = [cuda::memory_allocated(), cuda::memory_reserved(), cuda::mem_get_info()];
        drop(x);
        let after = [cuda::memory_allocated(), cuda::memory_reserved(), cuda::max_memory_allocated()];
        cuda::empty_cache();
        cuda::reset_peak_memory_stats();
        cuda::reset_accumulated_memory_stats();
        let s = cuda::memory_stats();
        [before, after, cuda::memory_reserved(), cuda::max_memory_allocated(), cuda::max_memory_reserved(),
         s[\"allocated_bytes.all.peak\"], s[\"allocated_bytes.all.allocated\"], s.num_ooms]";
    let total: u64 = 15_843_721_216;
    // The context has 78 MiB.
    let free = total - 20_971_520 - (78 << 20);
    assert_eq!(
        on("sim:t4", code),
        format!("[[4194304, 20971520, [{free}, {total}]], [0, 20971520, 4194304], 0, 0, 0, 0, 0, 0]")
    );
}

#[test]
fn a_summary_has_pytorchs_layout() {
    let golden = include_str!("../golden/memory_summary.txt");
    let code = "let x = ones([1000], #{device: \"cuda:1\"}); print(\"\"); cuda::memory_summary(1)";
    let shown = on("sim:t4x2", code).trim_matches('"').replace("\\n", "\n");
    let frame = |text: &str| -> Vec<String> {
        let blank = |c: char| if c.is_ascii_digit() { ' ' } else { c };
        let units =
            |word: &str| if matches!(word, "KiB" | "MiB") { "B".to_string() } else { word.to_string() };
        let line = |l: &str| {
            let text: String = l.chars().map(blank).collect();
            text.split_whitespace().map(units).collect::<Vec<_>>().join(" ")
        };
        text.trim_end().lines().map(line).collect()
    };
    assert_eq!(frame(&shown), frame(golden));
    assert!(shown.contains("device ID 1 "), "{shown}");
    assert!(shown.contains("| Allocated memory      |   4096 B   |"), "{shown}");
    let short = on("sim:t4", "cuda::memory_summary(0, #{abbreviated: true})").replace("\\n", "\n");
    assert!(short.contains("Allocated memory") && !short.contains("from large pool"), "{short}");
}

#[test]
fn a_snapshot_lists_segments_with_their_blocks() {
    let code = "
        let x = ones([100], #{device: \"cuda\"}); let y = ones([1 << 20], #{device: \"cuda:1\"});
        cuda::memory_snapshot().map(|s| [s.device, s.total_size, s.allocated_size, s.segment_type, s.stream,
            s.segment_pool_id, s.blocks.map(|b| [b.size, b.requested_size, b.state])])";
    assert_eq!(
        on("sim:t4x2", code),
        "[[0, 2097152, 512, \"small\", 0, [0, 0], [[512, 400, \"active_allocated\"], [2096640, 0, \"inactive\"]]], \
         [1, 20971520, 4194304, \"large\", 0, [0, 0], [[4194304, 4194304, \"active_allocated\"], \
         [16777216, 0, \"inactive\"]]]]"
    );
}

#[test]
fn a_fraction_bounds_what_tensors_may_have() {
    let code = "
        cuda::set_per_process_memory_fraction(0.25, 0);
        let kind = ();
        try { zeros([80 << 20], #{device: \"cuda\", dtype: uint8}) } catch (e) { kind = e.kind }
        [cuda::get_per_process_memory_fraction(), kind]";
    assert_eq!(on("sim:tiny", code), "[0.25, \"OutOfMemoryError\"]");
    mistakes(
        "sim:tiny",
        &[(
            "cuda::set_per_process_memory_fraction(1)",
            "TypeError",
            "Invalid type for fraction argument, must be `float`",
        )],
    );
    let wrong = crate::parallel::fault("sim:tiny", "cuda::set_per_process_memory_fraction(1.5)");
    assert_eq!(wrong.message, "Invalid fraction value: 1.5. Allowed range: 0~1");
}

/// Products work in memory of cuBLAS and cuBLASLt, which is in the peaks, and not in what stays.
#[test]
fn libraries_work_in_memory_that_comes_and_goes() {
    let peaks = |devices: &str, work: &str| {
        let code = format!(
            "let a = ones([64, 64], #{{device: \"cuda\"}}); let bias = ones([64], #{{device: \"cuda\"}});
             let before = cuda::memory_allocated(); cuda::reset_peak_memory_stats();
             let y = {work};
             [cuda::max_memory_allocated() - before - 16384, cuda::memory_allocated() - before - 16384]"
        );
        on(devices, &code)
    };
    let (hopper, before, lt) = ("[33554432, 0]", "[8519680, 0]", "[1048576, 0]");
    for work in ["a @ a", "a.mm(a)", "F::linear(a, a)", "a.addmm(a, a)"] {
        assert_eq!(peaks("sim:h100", work), hopper, "{work}");
        assert_eq!(peaks("sim:h200", work), hopper, "{work}");
        for devices in ["sim:t4", "sim:a100-40gb", "sim:rtx4090", "sim:tiny"] {
            assert_eq!(peaks(devices, work), before, "{work} on {devices}");
        }
    }
    for work in ["F::linear(a, a, bias)", "bias.addmm(a, a)"] {
        assert_eq!(peaks("sim:h100", work), lt, "{work}");
        assert_eq!(peaks("sim:t4", work), lt, "{work}");
    }
    assert_eq!(peaks("sim:h100", "a + a"), "[0, 0]");
}

#[test]
fn what_libraries_take_is_labelled_and_may_be_too_much() {
    let code = "
        let a = ones([64, 64], #{device: \"cuda\"});
        let path = \"unused\"; let y = a @ a;
        let segments = cuda::memory_snapshot();
        segments.len()";
    // A segment for small tensors and one for the workspace.
    assert_eq!(on("sim:t4", code), "2");
    let full = "
        let rest = zeros([249 * 262144], #{device: \"cuda\"});
        let a = ones([64, 64], #{device: \"cuda\"});
        let told = (); try { a @ a } catch (e) { told = e.kind; } told";
    assert_eq!(on("sim:tiny", full), "\"OutOfMemoryError\"");
}

#[test]
fn events_tell_of_a_librarys_memory() {
    use tensorlab::base::event::Body;
    let machine = crate::parallel::machine("sim:t4");
    let (events, subscription) = tensorlab::script::modules::telemetry::collect(&machine);
    let code = "let a = ones([64, 64], #{device: \"cuda\"}); let y = a @ a;";
    let _kept = crate::parallel::evaluate(&machine, code).unwrap();
    drop(subscription);
    let events = events.events();
    let taken: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Alloc { op, address, requested, .. } if *op == "cublas workspace" => {
                Some((*address, *requested))
            }
            _ => None,
        })
        .collect();
    let [(address, 8_519_680)] = taken[..] else { panic!("{taken:?}") };
    let freed = events.iter().any(|e| matches!(&e.body, Body::Free { address: at, .. } if *at == address));
    assert!(freed);
}
