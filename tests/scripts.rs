//! The scripts that are shipped, and those in the README: each runs headless, on the CPU and on simulated GPUs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::feed;

const DEVICES: [&str; 2] = ["cpu", "sim:t4x2"];

/// A folder of its own to run in, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let folder = std::env::temp_dir().join(format!("tensorlab-scripts-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Runs the program here, with `input` as its standard input and no terminal.
    fn run(&self, args: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        feed::run(command.args(args).current_dir(&self.0).env_remove("TENSORLAB_DEVICES"), input)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts that a run went well, and gives its output.
fn fine(what: &str, output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}\n{err}", output.status);
    assert!(
        !out.contains('\u{1b}') && !err.contains('\u{1b}'),
        "{what}: escape codes in a pipe\n{out}\n{err}"
    );
    out
}

/// What a script printed, and its last value.
fn with_value(what: &str, output: &Output) -> (String, Value) {
    let out = fine(what, output);
    let (shown, last) = out.trim_end().rsplit_once('\n').unwrap_or(("", out.trim_end()));
    (shown.to_string(), serde_json::from_str(last).unwrap_or_else(|e| panic!("{what}: {e} in {last}")))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn script(name: &str) -> String {
    root().join("scripts").join(name).to_str().unwrap().to_string()
}

/// Arguments that make a script short, and what must be true of its last value on any device.
fn short(name: &str) -> (&'static [&'static str], fn(&Value)) {
    let falls = |v: &Value| {
        let losses = v["losses"].as_array().unwrap();
        let [first, last] = [losses.first(), losses.last()].map(|l| l.unwrap().as_f64().unwrap());
        assert!(last < 0.9 * first, "{losses:?}");
    };
    match name {
        "digits_cnn.rhai" => (&["2", "128", "picture.svg"], falls),
        "letters.rhai" => (&["4", "6", "picture.svg"], |v| {
            let losses = v["losses"].as_array().unwrap();
            // Guessing evenly among 26 kinds of letters loses their logarithm.
            assert!((2.9..3.9).contains(&losses[0].as_f64().unwrap()), "{losses:?}");
            assert!(losses[3].as_f64().unwrap() < losses[0].as_f64().unwrap(), "{losses:?}");
            assert_eq!(v["text"].as_str().unwrap().chars().count(), "a tensor ".len() + 6);
        }),
        "life.rhai" => (&["8", "picture.svg"], |v| {
            assert_eq!(v["glides"], true);
            let alive = v["alive"].as_array().unwrap();
            assert!(alive.len() == 9 && alive[8].as_i64().unwrap() < alive[0].as_i64().unwrap(), "{alive:?}");
        }),
        "kmeans.rhai" => (&["picture.svg"], |v| {
            assert!(v["error"].as_f64().unwrap() < 0.3, "{v}");
            let spread: Vec<f64> =
                v["spread"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
            assert!(spread.len() > 2 && spread.windows(2).all(|w| w[1] <= w[0] + 1e-6), "{spread:?}");
        }),
        "filters.rhai" => (&["picture.svg"], |v| {
            let of = |i: usize| v["contrast"][i].as_f64().unwrap();
            let (plain, blurred, sharp) = (of(0), of(1), of(2));
            assert!(blurred < plain && plain < sharp, "{v}");
        }),
        "queues.rhai" => (&["3", "256", "picture.svg"], |v| {
            if v.is_null() {
                return;
            }
            assert_eq!((v["same"].as_bool(), v["clock"].as_str()), (Some(true), Some("modelled")));
            let ms: Vec<f64> = v["ms"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
            assert!(ms[1] <= ms[0] && ms[2] < ms[1] && ms[3] < ms[2], "{ms:?}");
        }),
        _ => (&[], |_| {}),
    }
}

#[test]
fn every_script_runs_on_every_kind_of_device() {
    let mut names: Vec<String> = fs::read_dir(root().join("scripts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rhai"))
        .collect();
    names.sort();
    assert!(names.len() >= 9, "{names:?}");
    for name in &names {
        let (given, check) = short(name);
        for devices in DEVICES {
            let folder = Folder::new(&format!("{name} {devices}"));
            let what = format!("{name} on {devices}");
            let file = script(name);
            let mut args = vec!["run", "--json", "--devices", devices, &file];
            if !given.is_empty() {
                args.push("--");
                args.extend(given);
            }
            let (out, value) = with_value(&what, &folder.run(&args, ""));
            assert!(!out.trim().is_empty(), "{what} says nothing");
            check(&value);
            if given.last() == Some(&"picture.svg") && !value.is_null() {
                let picture = fs::read_to_string(folder.0.join("picture.svg")).unwrap();
                assert!(picture.contains("<svg") && picture.len() > 1000, "{what}: {} bytes", picture.len());
            }
            if devices == "cpu" {
                assert!(!out.contains("modelled"), "{what}: nothing is modelled there\n{out}");
            }
        }
    }
}

/// Trains on the digits and gives what was printed, with the last value.
fn trained(devices: &str) -> (String, Value) {
    let folder = Folder::new(&format!("trained on {devices}"));
    let file = script("digits.rhai");
    let args = ["run", "--json", "--devices", devices, &file, "--", "curve.png"];
    let (shown, value) = with_value(devices, &folder.run(&args, ""));
    let losses = value["losses"].as_array().unwrap();
    assert!((1..20).contains(&losses.len()), "{} epochs", losses.len());
    let accuracy = value["accuracy"].as_f64().unwrap();
    assert!(accuracy >= 0.96, "accuracy {accuracy} on {devices}");
    let picture = fs::read(folder.0.join("curve.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.len() > 2000, "{} bytes", picture.len());
    (shown, value)
}

#[test]
fn digits_are_learnt_to_the_same_bits_on_the_cpu_and_on_a_simulated_gpu() {
    let (on_cpu, cpu) = trained("cpu");
    let (on_gpu, gpu) = trained("sim:t4x2");
    assert_eq!(cpu["losses"], gpu["losses"]);
    assert_eq!(cpu["accuracy"], gpu["accuracy"]);
    let epochs = |shown: &str| -> Vec<String> {
        shown.lines().filter(|line| line.starts_with("epoch")).map(str::to_string).collect()
    };
    assert_eq!(epochs(&on_cpu), epochs(&on_gpu));
    assert_eq!((cpu["clock"].as_str(), gpu["clock"].as_str()), (Some("measured"), Some("modelled")));
    // 1,437 images in batches of 32 are 45 batches, each an image tensor and a label tensor, in 15 epochs.
    for words in ["(simulated)", "to the GPU: 1350 copies", "peak memory: ", " ms, modelled"] {
        assert!(on_gpu.contains(words), "no {words:?} in\n{on_gpu}");
    }
    let timed = on_gpu.lines().filter(|line| line.contains(" ms"));
    assert!(timed.clone().count() >= 3 && timed.clone().all(|line| line.contains("modelled")), "{on_gpu}");
}

#[test]
fn without_a_terminal_the_program_trains_on_the_digits() {
    let folder = Folder::new("bare");
    let out = fine("tensorlab", &folder.run(&[], ""));
    assert!(out.contains("accuracy on 360 unseen digits: 9"), "{out}");
    assert!(folder.0.join("digits-loss.png").exists());
}

#[test]
fn a_line_is_found_and_copies_are_told_apart() {
    let folder = Folder::new("values");
    let (_, line) =
        with_value("line", &folder.run(&["run", "--json", &script("linear_regression.rhai")], ""));
    let near = |key: &str, want: f64| (line[key].as_f64().unwrap() - want).abs() < 0.05;
    assert!(near("slope", 3.0) && near("offset", 2.0), "{line}");
    let args = ["run", "--json", "--devices", "sim:t4x2", &script("transfers.rhai")];
    let (_, copies) = with_value("transfers", &folder.run(&args, ""));
    let of = |way: &str, key: &str| copies[way][key].as_f64().unwrap();
    assert_eq!((of("pieces", "count"), of("whole", "count"), of("pinned", "count")), (256.0, 1.0, 1.0));
    assert_eq!((of("pieces", "bytes"), of("whole", "bytes")), (16_777_216.0, 16_777_216.0));
    assert_eq!((of("whole", "pinned"), of("pinned", "pinned")), (0.0, 1.0));
    assert!(of("pieces", "ms") > of("whole", "ms") && of("whole", "ms") > of("pinned", "ms"), "{copies}");
}

/// The fenced blocks of a language in a Markdown text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    text.split(&start).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The name in a script's first line, where it is that of a file.
fn named(code: &str) -> Option<&str> {
    code.lines().next()?.strip_prefix("// ").filter(|name| name.ends_with(".rhai"))
}

#[test]
fn the_scripts_in_the_readme_run() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let scripts = blocks(&readme, "rhai");
    assert!(scripts.len() >= 3);
    for code in scripts.iter().filter(|code| named(code) != Some("mistake.rhai")) {
        let folder = Folder::new(&format!("readme {}", code.len()));
        let out = fine(code, &folder.run(&["run", "--devices", "sim:t4x2", "-"], code));
        assert!(!out.trim().is_empty(), "it says nothing:\n{code}");
    }
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let folder = Folder::new("readme shows");
    for code in blocks(&readme, "rhai") {
        if let Some(name) = named(code) {
            fs::write(folder.0.join(name), code).unwrap();
        }
    }
    let sessions = blocks(&readme, "console");
    assert!(sessions.len() >= 3);
    for session in sessions {
        let (command, shown) = session.split_once('\n').unwrap();
        let args: Vec<&str> = command.strip_prefix("$ tensorlab ").unwrap().split(' ').collect();
        let output = folder.run(&args, "");
        let printed = text(&output.stdout) + text(&output.stderr).as_str();
        assert_eq!(printed.trim_end(), shown.trim_end(), "{command}");
    }
}
