use proptest::prelude::*;

use super::*;

fn all() -> Vec<Profile> {
    builtin_ids().map(|id| Profile::builtin(id).unwrap()).collect()
}

fn tiny_text() -> &'static str {
    embedded(&BUILTIN, &TEXTS, "tiny").unwrap()
}

/// The error of `tiny` with one line (counted where `from` stands) changed.
fn fault(from: &str, to: &str) -> String {
    assert_eq!(tiny_text().matches(from).count(), 1, "{from}");
    Profile::parse(&tiny_text().replace(from, to), "my.toml").unwrap_err().to_string()
}

/// How many of the figures that need not be there are.
fn left_out_elsewhere(profile: &Profile) -> usize {
    let Profile { device, efficiency, launch, power, .. } = profile;
    let alone = [device.context > 0, device.l2_bandwidth.is_some(), power.is_some(), power.is_some()];
    alone.iter().filter(|&&there| there).count()
        + efficiency.finer.len()
        + efficiency.matmul_by_rate.len()
        + efficiency.convolution_by_rate.len()
        + launch.latency_by_class.len()
}

#[test]
fn a_measured_profile_has_what_others_leave_out() {
    let h100 = Profile::builtin("h100").unwrap();
    assert_eq!(h100.device.context, 518 << 20);
    assert_eq!(h100.efficiency.of(KernelClass::Convolution, Rate::Fp32), 0.73);
    assert_eq!(h100.launch.latency_of(KernelClass::Reduction), 4_910);
    let t4 = Profile::builtin("t4").unwrap();
    assert_eq!(t4.device.l2_bandwidth, None);
    assert_eq!(t4.launch.latency_of(KernelClass::Reduction), t4.launch.latency);
}

#[test]
fn what_is_the_hosts_is_refused_by_name_and_line() {
    let figure = r#"{ value = 1, unit = "us", source = "assumed" }"#;
    for (section, key) in [("[launch]", "host"), ("[link]", "pageable_h2d"), ("[link]", "staged")] {
        let old = tiny_text().replace(section, &format!("{section}\n{key} = {figure}"));
        let error = Profile::parse(&old, "my.toml").unwrap_err();
        let line = 2 + tiny_text().lines().position(|line| line == section).unwrap();
        assert_eq!(error.line, Some(line), "{key}");
        let text = error.to_string();
        assert!(text.contains(&format!(".{key}` is the host's")) && text.contains("--host FILE"), "{text}");
    }
    for section in ["host", "driver", "script", "cpu", "dispatch"] {
        let old = format!("{}\n[{section}]\ncall = {figure}\n", tiny_text());
        let text = Profile::parse(&old, "my.toml").unwrap_err().to_string();
        assert!(
            text.contains(&format!("`{section}` is the host's")) && text.contains("--host FILE"),
            "{text}"
        );
    }
}

#[test]
fn a_finer_class_has_the_figures_of_its_part_where_it_has_none() {
    let h100 = Profile::builtin("h100").unwrap();
    let whole: String = tiny_text()
        .lines()
        .filter(|line| {
            let finer = KernelClass::ALL.into_iter().filter(|class| class.part_of().is_some());
            !finer.into_iter().any(|class| line.starts_with(class.key()))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let mut plain = Profile::parse(&whole, "my.toml").unwrap();
    assert!(plain.efficiency.finer.is_empty() && plain.launch.latency_by_class.is_empty());
    plain.launch.latency_by_class = vec![(KernelClass::Reduction, 9_000)];
    for class in KernelClass::ALL {
        let Some(part) = class.part_of() else { continue };
        assert_eq!(plain.efficiency.of(class, Rate::Fp32), plain.efficiency.of(part, Rate::Fp32));
        assert_eq!(plain.launch.latency_of(class), plain.launch.latency_of(part));
        assert_ne!(h100.efficiency.of(class, Rate::Fp32), h100.efficiency.of(part, Rate::Fp32), "{class:?}");
    }
    assert_eq!(plain.launch.latency_of(KernelClass::SplitReduction), 9_000);
    assert_eq!(h100.launch.latency_of(KernelClass::SplitReduction), 9_180);
    assert_eq!(h100.launch.latency_of(KernelClass::Transpose), h100.launch.latency_of(KernelClass::Copy));
}

#[test]
fn every_builtin_profile_is_whole_and_every_figure_has_a_source() {
    for (profile, id) in all().iter().zip(builtin_ids()) {
        assert_eq!(profile.id, id);
        assert!(profile.name.ends_with(" (simulated)") && profile.name.len() > 14, "{}", profile.name);
        assert_eq!(profile.figures.len(), 36 + left_out_elsewhere(profile), "{id}");
        for figure in &profile.figures {
            assert!(!figure.source.trim().is_empty() && !figure.value.is_empty(), "{id}: {figure:?}");
            assert_ne!(figure.source.trim(), "assumed", "{id}: no reason stands beside {figure:?}");
        }
        let cited = profile.figures.iter().filter(|f| !f.is_assumed()).count();
        assert!(if id == "tiny" { cited == 0 } else { cited >= 13 }, "{id}: {cited}");
        assert_eq!(profile.faults, Faults::default());
    }
}

#[test]
fn figures_are_the_vendors() {
    let known = [
        ("t4", 14.7, 320e9, 8.1e12, 65e12, 40, (7, 5)),
        ("rtx3060", 11.7, 360e9, 12.7e12, 25.5e12, 28, (8, 6)),
        ("rtx4090", 23.6, 1008e9, 82.6e12, 165.2e12, 128, (8, 9)),
        ("a100-40gb", 39.3, 1555e9, 19.5e12, 312e12, 108, (8, 0)),
        ("a100-80gb", 79.1, 2039e9, 19.5e12, 312e12, 108, (8, 0)),
        ("h100", 79.1, 3350e9, 66.9e12, 989.4e12, 132, (9, 0)),
        ("h200", 139.8, 4800e9, 66.9e12, 989.4e12, 132, (9, 0)),
    ];
    for (id, gib, bandwidth, fp32, fp16, sms, capability) in known {
        let profile = Profile::builtin(id).unwrap();
        let found = profile.device.memory as f64 / f64::from(1 << 30);
        assert!((found - gib).abs() < 0.1, "{id}: {found} GiB");
        assert_eq!(profile.device.memory_bandwidth, bandwidth, "{id}");
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        assert!(close(profile.peak.fp32, fp32) && close(profile.peak.fp16, fp16), "{id}");
        assert_eq!((profile.device.sm_count, profile.device.compute_capability), (sms, capability), "{id}");
    }
    assert_eq!(Profile::builtin("tiny").unwrap().device.memory, 264 << 20);
}

#[test]
fn units_become_bytes_seconds_and_nanoseconds() {
    let t4 = Profile::builtin("t4").unwrap();
    assert_eq!(t4.device.memory, 15_843_721_216);
    assert_eq!((t4.launch.latency, t4.launch.queue_depth), (3_500, 1_000));
    assert_eq!(t4.link.pinned_h2d, 12.2e9);
    assert_eq!(t4.efficiency.of(KernelClass::Matmul, Rate::Fp32), 0.53);
    assert_eq!(t4.efficiency.of(KernelClass::Matmul, Rate::Fp16), 0.65);
    assert_eq!(t4.efficiency.of(KernelClass::Copy, Rate::Fp32), 0.8);
    let figure = t4.figures.iter().find(|f| f.key == "device.memory_bandwidth").unwrap();
    assert_eq!((figure.value.as_str(), figure.source.as_str()), ("320 GB/s", "NVIDIA T4 datasheet"));
    let written = tiny_text().replace(r#"value = 264, unit = "MiB""#, r#"value = 0.5, unit = "GiB""#);
    assert_eq!(Profile::parse(&written, "my.toml").unwrap().device.memory, 512 << 20);
}

/// The H100's context was measured; the others' are its by resident threads.
#[test]
fn a_context_takes_memory_on_every_device() {
    let h100 = Profile::builtin("h100").unwrap().device;
    let threads = |device: &DeviceFigures| f64::from(device.sm_count) * f64::from(device.threads_per_sm);
    for profile in all() {
        let device = &profile.device;
        let share = threads(device) / threads(&h100) * h100.context as f64;
        let expected = if profile.id == "tiny" { 8 } else { (share / f64::from(1 << 20)).round() as u64 };
        assert_eq!(device.context, expected << 20, "{}", profile.id);
    }
    let crowded = fault("context = { value = 8,", "context = { value = 263,");
    assert_eq!(crowded, "my.toml:9: `device.context` must be less than `memory` by 2 MiB or more");
}

#[test]
fn power_is_between_that_without_work_and_a_limit() {
    for profile in all() {
        assert_eq!(profile.power.is_some(), profile.id != "tiny", "{}", profile.id);
        assert!(profile.power.is_none_or(|power| power.idle < power.limit / 5.0));
    }
    let with = |idle: &str| {
        let figure =
            |key, value| format!("{key} = {{ value = {value}, unit = \"W\", source = \"assumed\" }}");
        let text = format!("{}\n[power]\n{}\n{}\n", tiny_text(), figure("idle", idle), figure("limit", "70"));
        Profile::parse(&text, "my.toml").map(|profile| profile.power).map_err(|error| error.to_string())
    };
    assert_eq!(with("70").unwrap(), Some(Power { idle: 70.0, limit: 70.0 }));
    assert!(with("71").unwrap_err().contains("`power.idle` must be no more than `power.limit`"));
    assert!(with("-1").unwrap_err().contains("above 0 and at most a million watts"));
}

#[test]
fn a_misspelt_id_gets_the_nearest() {
    let error = Profile::builtin("a100-80b").unwrap_err();
    assert!(
        error.to_string().starts_with(
            "there is no device profile `a100-80b`; did you mean `a100-80gb`? the profiles are t4, "
        ),
        "{error}"
    );
    assert!(!Profile::builtin("banana").unwrap_err().to_string().contains("did you mean"));
}

#[test]
fn numbers_that_are_no_figures_are_refused() {
    let bandwidth = |value: &str| fault("value = 40, unit", &format!("value = {value}, unit"));
    for value in ["0", "-3", "nan", "-nan", "inf", "-inf", "1e400", "-1e400", "0.0", "-0.0", "1e308", "1e-20"]
    {
        let expected = format!(
            "my.toml:10: `device.memory_bandwidth` is {value}, and must be from 1 MB/s to 1,000,000 TB/s"
        );
        assert_eq!(bandwidth(value), expected);
    }
    assert_eq!(
        fault("value = 5, source", "value = 5.5, source"),
        "my.toml:11: `device.sm_count` is 5.5, and must be a whole number from 1 to 1024"
    );
    assert_eq!(
        fault("value = 5, source", "value = 99999999999999999999999, source"),
        "my.toml:11: `device.sm_count` is 99999999999999999999999, and must be a whole number from 1 to 1024"
    );
    assert!(fault(r#"value = 264, unit = "MiB""#, r#"value = 1, unit = "MiB""#).contains("from 2 MiB"));
    assert!(fault(r#"value = 264, unit = "MiB""#, r#"value = 1e30, unit = "GB""#).contains("to 1 PiB"));
    assert!(fault("copy = { value = 0.8", "copy = { value = 1.01").contains("from 0.000001 to 1"));
    assert!(fault("value = 3.5, unit", "value = 1.1e9, unit").contains("at most a second"));
    assert!(fault(r#""7.5""#, r#""7""#).contains("two numbers with a point between them"));
    assert!(fault(r#""7.5""#, r#""+7.5""#).contains("two numbers with a point between them"));
}

#[test]
fn keys_are_checked_with_their_line() {
    assert_eq!(
        fault("sm_count", "sm_cout"),
        "my.toml:11: unknown key `device.sm_cout`; did you mean `sm_count`? known here: compute_capability, \
             memory, context, memory_bandwidth, sm_count, threads_per_sm, l2_cache, l2_bandwidth, copy_engines"
    );
    assert_eq!(
        fault("sm_count = { value = 5, source = \"assumed: an eighth of a T4\" }\n", ""),
        "my.toml:6: `device.sm_count` is missing; write { value = 40, source = \"assumed: why\" }"
    );
    assert!(fault("[launch]", "[lunch]").contains("unknown key `lunch`; did you mean `launch`?"));
    assert!(fault("id = \"tiny\"", "").contains("`id` is missing"));
    assert_eq!(
        fault(r#"{ value = 1, unit = "TOP/s", source = "assumed: an eighth of a T4" }"#, "8.1"),
        "my.toml:22: `peak.int` can't be of type float; \
             write { value = 4.1, unit = \"TOP/s\", source = \"assumed: why\" }"
    );
    assert_eq!(
        fault("\"TOP/s\"", "\"TFLOP/s\""),
        "my.toml:22: `peak.int` has the unit `TFLOP/s`; write one of GOP/s, TOP/s, POP/s"
    );
    assert!(
        fault("value = 5, source", "value = 5, unit = \"SMs\", source").contains("`device.sm_count.unit`")
    );
    assert!(fault("value = 5, source", "value = \"5\", source").contains("can't be of type string"));
    assert!(
        fault("value = 1, source = \"assumed: one,", "value = 1, sauce = \"assumed: one,").contains("source")
    );
    assert!(fault("\"assumed: PCIe 3 x8\" }\npinned_d2h", "\" \" }\npinned_d2h").contains("something in it"));
    let pin = "[memory]\npin = { value = 1, unit = \"GB/s\", source = \"assumed: so\" }\n\n[link]";
    assert!(fault("[link]", pin).contains("`memory` is the host's, and not a device's"));
    assert_eq!(fault("[link]", "[link]\nlatency = 1"), "my.toml:58: this is not TOML: duplicate key");
}

#[test]
fn texts_can_not_reach_the_terminal_with_controls() {
    for name in ["\\u001b[31mred", "two\\nlines", "\\u202eright to left"] {
        let error = fault("name = \"Tiny GPU\"", &format!("name = \"{name}\""));
        assert_eq!(error, "my.toml:3: `name` must be one line without control characters");
    }
    assert!(
        fault("name = \"Tiny GPU\"", &format!("name = {:?}", "x".repeat(61))).contains("must be shorter")
    );
    assert!(fault("id = \"tiny\"", "id = \"Tiny\"").contains("lower-case letters"));
    for text in ["\"a\\u001b\" = 1", "\u{1b} = 1", "a = \"\u{1b}[2J\""] {
        let error = Profile::parse(text, "my.toml").unwrap_err().to_string();
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn faults_are_wishes_within_reason() {
    let wish = |text: &str| {
        Profile::parse(&format!("{}\n[faults]\n{text}", tiny_text()), "my.toml").map(|p| p.faults)
    };
    let faults = wish("memory_fraction = 0.5\nfail_at_launch = 100\nslow_link = 4").unwrap();
    let expected = Faults { memory_fraction: Some(0.5), fail_at_launch: Some(100), slow_link: Some(4.0) };
    assert_eq!(faults, expected);
    for bad in [
        "memory_fraction = 0",
        "memory_fraction = 1.5",
        "memory_fraction = nan",
        "fail_at_launch = 0",
        "fail_at_launch = 1.5",
        "slow_link = 0.5",
        "slow_link = inf",
        "slow_link = \"4\"",
        "slow_lnk = 4",
    ] {
        assert!(wish(bad).is_err(), "{bad}");
    }
}

#[test]
fn files_are_read_with_care() {
    let folder = std::env::temp_dir().join(format!("tensorlab-profiles-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.toml");
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Profile::load(&path).map_err(|e| e.fault)
    };
    assert_eq!(load(tiny_text().as_bytes()), Profile::builtin("tiny").map_err(|e| e.fault));
    assert_eq!(
        load(&vec![b'#'; LONGEST_FILE as usize + 1]),
        Err(ProfileFault::TooLarge { limit: LONGEST_FILE })
    );
    let unreadable = |reason: &str| ProfileFault::Unreadable { reason: reason.to_owned() };
    assert_eq!(load(&[0xff, 0xfe]), Err(unreadable("it is not UTF-8 text")));
    assert_eq!(Profile::load(&folder).unwrap_err().fault, unreadable("it is not a regular file"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(Profile::load(&path).unwrap_err().fault, ProfileFault::Unreadable { .. }));
}

#[test]
fn deep_and_long_texts_are_refused() {
    for text in ["[".repeat(60_000), "a = [".repeat(10_000), "a.".repeat(30_000), "#".repeat(70_000)] {
        let error = Profile::parse(&text, "my.toml").unwrap_err().to_string();
        assert!(error.len() < 300, "{error}");
    }
}

proptest! {
    /// A damaged profile is refused or is still sensible; it is never a panic.
    #[test]
    fn damage_is_never_a_panic(at in 0..4000_usize, length in 0..40_usize, put in "[-a-z0-9{}=\", .\\[\\]\n]{0,12}") {
        let mut text: Vec<char> = tiny_text().chars().collect();
        let start = at.min(text.len());
        let end = (at + length).min(text.len());
        text.splice(start..end, put.chars());
        if let Ok(profile) = Profile::parse(&text.into_iter().collect::<String>(), "my.toml") {
            prop_assert!(profile.device.memory >= 2 << 20);
            for rate in Rate::ALL {
                let peak = profile.peak.of(rate);
                prop_assert!(peak.is_finite() && peak > 0.0);
            }
            prop_assert!(profile.figures.len() >= 29);
        }
    }
}
