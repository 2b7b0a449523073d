//! Profiles: those in the binary, those of a file, and what is wrong with one.

use std::path::PathBuf;
use std::process::Command;

use super::*;
use tensorlab::device::sim::builtin_ids;

/// What is stated of each: memory in GB (rounded), bandwidth in GB/s, fp32, tf32 and fp16 in TFLOP/s, multiprocessors.
const STATED: [(&str, f64, f64, f64, f64, f64, u32); 7] = [
    ("t4", 16.0, 320.0, 8.1, 8.1, 65.0, 40),
    ("rtx3060", 12.0, 360.0, 12.7, 12.7, 25.5, 28),
    ("rtx4090", 24.0, 1008.0, 82.6, 82.6, 165.0, 128),
    ("a100-40gb", 40.0, 1555.0, 19.5, 156.0, 312.0, 108),
    ("a100-80gb", 80.0, 2039.0, 19.5, 156.0, 312.0, 108),
    ("h100", 80.0, 3350.0, 66.9, 495.0, 989.0, 132),
    ("h200", 141.0, 4800.0, 66.9, 495.0, 989.0, 132),
];

#[test]
fn every_profile_has_its_vendors_figures() {
    for (id, memory, bandwidth, fp32, tf32, fp16, multiprocessors) in STATED {
        let profile = Profile::builtin(id).unwrap();
        let near = |what: &str, has: f64, states: f64| {
            assert!((has / states - 1.0).abs() < 0.02, "{id}: {what} is {has}, and {states} is stated");
        };
        // Makers count GB or GiB, less what is kept for ECC and firmware.
        let bytes = profile.device.memory as f64;
        assert!(bytes > memory * 0.95e9 && bytes < memory * 1.08e9, "{id}: {bytes} bytes of {memory} GB");
        near("the memory's bandwidth", profile.device.memory_bandwidth, bandwidth * 1e9);
        near("fp32", profile.peak.fp32, fp32 * 1e12);
        near("tf32", profile.peak.tf32, tf32 * 1e12);
        near("fp16", profile.peak.fp16, fp16 * 1e12);
        assert_eq!(profile.device.sm_count, multiprocessors, "{id}");
        assert!(profile.name.ends_with("(simulated)"));
    }
    let tiny = Profile::builtin("tiny").unwrap();
    assert_eq!((tiny.device.memory, tiny.device.context), (264 * MIB, 8 * MIB));
    let known: Vec<&str> = STATED.iter().map(|s| s.0).chain(["tiny"]).collect();
    assert_eq!(builtin_ids().collect::<Vec<_>>(), known);
}

#[test]
fn every_figure_names_its_source_or_says_that_it_is_assumed() {
    for id in builtin_ids() {
        let profile = Profile::builtin(id).unwrap();
        assert!(profile.figures.len() > 25, "{id}");
        assert!(profile.figures.iter().all(|f| f.source.len() > 6), "{id}: {:?}", profile.figures);
        let vouched = profile.figures.iter().filter(|f| !f.is_assumed()).count();
        assert!(id == "tiny" || vouched >= 9, "{id}: {vouched} figures have a source");
    }
}

/// A folder with a profile of one's own, removed afterwards.
struct Own(PathBuf);

impl Own {
    fn new(name: &str, change: impl Fn(&str) -> String) -> Own {
        let folder = std::env::temp_dir().join(format!("tensorlab-profile-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device/sim/profiles/tiny.toml");
        std::fs::write(folder.join("my.toml"), change(&std::fs::read_to_string(path).unwrap())).unwrap();
        Own(folder)
    }

    /// Runs a script there on these devices.
    fn run(&self, devices: &str, code: &str) -> (i32, String, String) {
        std::fs::write(self.0.join("script.rhai"), code).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
            .args(["run", "--devices", devices, "script.rhai"])
            .current_dir(&self.0)
            .env_remove("TENSORLAB_DEVICES")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_profile_of_ones_own_makes_devices() {
    let own =
        Own::new("own", |text| text.replace("Tiny GPU", "My GPU").replace("value = 264,", "value = 64,"));
    for devices in ["sim:./my.tomlx2", "sim:./my.toml x2", "sim:my.toml,my.toml"] {
        let code = "print(`${cuda::device_count()} ${cuda::get_device_name()} ${cuda::mem_get_info()[1]}`)";
        let (status, out, err) = own.run(devices, code);
        assert_eq!((status, out.as_str()), (0, "2 My GPU (simulated) 67108864\n"), "{devices}: {err}");
    }
}

#[test]
fn faults_of_a_profile_reach_a_script() {
    let own = Own::new("faults", |text| format!("{text}\n[faults]\nfail_at_launch = 2\n"));
    let code = "
        let x = ones([4], #{device: \"cuda\"});
        x.add_(1.0);
        let seen = [];
        for i in 0..2 { try { x.cpu() } catch (e) { seen += e.kind; } }
        print(seen);
        x.add_(1.0);";
    let (status, out, err) = own.run("sim:my.toml", code);
    assert_eq!((status, out.as_str()), (4, "[\"DeviceError\", \"DeviceError\"]\n"), "{err}");
    assert!(err.contains("illegal memory access") && err.contains("until the session restarts"), "{err}");
}

#[test]
fn a_wrong_profile_gives_place_and_reason() {
    let cases: [(&str, &str, &str, &[&str]); 5] = [
        (
            "unit",
            "unit = \"GB/s\", source = \"assumed: an eighth of a T4\" }\nsm_count",
            "unit = \"GB\", source = \"assumed\" }\nsm_count",
            &["my.toml:10", "`device.memory_bandwidth` has the unit `GB`", "GB/s"],
        ),
        (
            "key",
            "sm_count",
            "sm_counts",
            &["my.toml:11", "unknown key `device.sm_counts`", "did you mean `sm_count`"],
        ),
        (
            "range",
            "value = 5, source = \"assumed: an eighth of a T4\" }\nthreads",
            "value = 0, source = \"assumed\" }\nthreads",
            &["my.toml:11", "`device.sm_count` is 0", "from 1 to 1024"],
        ),
        ("syntax", "[peak]", "[peak", &["my.toml:", "this is not TOML"]),
        (
            "missing",
            "copy_engines = { value = 1, source = \"assumed: one, so that both directions share it\" }",
            "",
            &["`device.copy_engines` is missing", "write "],
        ),
    ];
    for (name, from, to, pieces) in cases {
        let own = Own::new(name, |text| {
            assert!(text.contains(from), "{name}: {from}");
            text.replacen(from, to, 1)
        });
        let (status, out, err) = own.run("sim:./my.toml", "print(1)");
        assert_eq!((status, out.as_str()), (2, ""), "{name}: {err}");
        for piece in pieces {
            assert!(err.contains(piece), "{name}: {piece:?} is missing in\n{err}");
        }
    }
    let own = Own::new("absent", str::to_string);
    let (status, _, err) = own.run("sim:./other.toml", "print(1)");
    assert!(status == 2 && err.contains("other.toml: the profile can't be read"), "{err}");
}
