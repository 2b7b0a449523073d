//! What was measured, as a script prints it.

use crate::parallel::{fault, on};

fn printed(code: &str) -> String {
    on("sim:t4x2", &format!("({code}).to_string()"))
}

#[test]
fn a_timing_is_rounded_and_in_the_order_in_which_it_is_read() {
    let text = printed("time(|| ones([512, 512], #{device: \"cuda\"}) * 3.0)");
    assert!(text.contains("#{median_ms: ") && text.ends_with("runs: 1, clock: modelled}\""), "{text}");
    let median = text.split("median_ms: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    assert!(median.len() <= 7, "{text}");
    // The field itself has all digits.
    let exact = on("sim:t4x2", "time(|| ones([512, 512], #{device: \"cuda\"}) * 3.0).median_ms");
    assert!(
        (exact.parse::<f64>().unwrap() - median.parse::<f64>().unwrap()).abs() < 1e-4,
        "{exact} {median}"
    );
}

#[test]
fn a_record_has_a_line_for_each_figure() {
    let text = printed("telemetry::record(|| ones(4).cuda())").replace("\\n", "\n");
    let lines: Vec<&str> = text.trim_matches('"').lines().collect();
    assert!(lines[0].starts_with("h2d                  #{count: 1, bytes: 16, ms: "), "{text}");
    assert_eq!(lines[1], "d2h                  none");
    for time in ["waited_ms            0.0", "busy_ms ", "idle_ms "] {
        assert!(lines.iter().any(|line| line.starts_with(time) && line.ends_with(" modelled")), "{text}");
    }
    assert!(lines.contains(&"races                none"), "{text}");
}

#[test]
fn properties_are_printed_as_pytorch_prints_them() {
    assert_eq!(
        printed("cuda::get_device_properties(0)").trim_matches('"'),
        "_CudaDeviceProperties(name='Tesla T4 (simulated)', major=7, minor=5, total_memory=15109MB, \
         multi_processor_count=40, L2_cache_size=4MB)"
    );
}

#[test]
fn maps_of_a_scripts_own_are_printed_as_rhai_does() {
    assert_eq!(printed("#{ms: 0.123456789, clock: 3}"), r##""#{\"clock\": 3, \"ms\": 0.123456789}""##);
    assert!(printed("#{ms: ones(1), clock: \"mine\"}").contains("tensor([1.])"));
}

#[test]
fn live_tensors_are_told_with_what_made_them() {
    let code = "let x = ones([3, 4], #{device: \"cuda\"});\nlet y = zeros(1000, #{device: \"cuda:1\"});\nlet z = x.t();\n";
    let on = |last: &str| on("sim:t4x2", &format!("{code}{last}"));
    assert_eq!(on("telemetry::live_tensors().map(|t| [t.op, t.shape, t.line, t.bytes])"), {
        r#"[["zeros", [1000], 2, 4096], ["ones", [3, 4], 1, 512]]"#
    });
    let table = on("`${telemetry::live_tensors()}`");
    let lines: Vec<&str> = table.trim_matches('"').split("\\n").collect();
    assert!(lines[0].starts_with("device  address"), "{table}");
    assert!(lines[1].starts_with("cuda:1  0x") && lines.len() == 3 && !table.contains("#{"), "{table}");
    assert!(lines.iter().all(|line| line.len() < 90), "{table}");
    assert_eq!(on("telemetry::live_tensors(0).map(|t| t.op)"), r#"["ones"]"#);
    assert_eq!(on("drop(y); telemetry::live_tensors(\"cuda:1\").len()"), "0");
    assert_eq!(fault("sim:t4", "telemetry::live_tensors(3)").kind, "DeviceError");
}

#[test]
fn words_that_are_kept_are_explained() {
    let fault = fault("cpu", "let shared = 1;");
    assert_eq!(fault.message, "'shared' is a reserved keyword");
    assert!(
        fault.report.contains("words that Rhai keeps for itself are no names: `let shared_ = 1;`"),
        "{}",
        fault.report
    );
}
