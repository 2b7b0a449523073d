//! What `tensorlab plan` says of a script.

use std::path::PathBuf;

use serde_json::Value;

use super::{err, fails, out, program};
use crate::feed;

/// A folder with a script in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, code: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tensorlab-plan-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("s.rhai"), code).unwrap();
        Folder(folder)
    }

    fn plan(&self, arguments: &[&str]) -> std::process::Output {
        feed::run(program().current_dir(&self.0).args(["plan", "s.rhai"]).args(arguments), "")
    }

    fn document(&self, arguments: &[&str]) -> Vec<Value> {
        let o = self.plan(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out(&o)).unwrap_or_else(|e| panic!("{e}: {}{}", out(&o), err(&o)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Three tensors of 100 MiB and one of 4 KiB.
const HOLDS: &str =
    "let held = []; for i in 0..3 { held.push(zeros([25, 1024, 1024], #{device: \"cuda\"})); }
print(`at work for ${ARGS}`); held.push(ones([1024], #{device: \"cuda\"}));";

#[test]
fn a_script_fits_or_the_plan_says_what_would_make_it_fit() {
    let folder = Folder::new("fits", HOLDS);
    let all = folder.document(&["--devices", "tiny,sim:t4x2"]);
    let of = |i: usize, key: &str| all[i][key].clone();
    assert_eq!((of(0, "devices"), of(1, "devices")), ("tiny".into(), "t4x2".into()));
    assert_eq!((of(0, "fits"), of(1, "fits")), (false.into(), true.into()));
    // What does not fit is known as well as what does.
    let peak = 3 * 100 * 1024 * 1024 + 4096;
    assert_eq!((of(0, "peak_bytes"), of(1, "peak_bytes")), (peak.into(), peak.into()));
    assert_eq!(of(0, "time_ms"), Value::Null);
    assert!(of(1, "time_ms").as_f64().unwrap() > 0.0);
    assert_eq!(of(0, "error")["line"], 1);
    assert!(of(0, "advice")[0].as_str().is_some_and(|way| way.contains("MiB")), "{all:#?}");
    let parts = ["kernels", "copies", "host"].map(|part| of(1, part).as_f64().unwrap());
    assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{parts:?}");
    let o = folder.plan(&["--devices", "tiny,t4", "--", "me"]);
    let text = out(&o);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(!text.contains("at work"), "{text}");
    assert!(text.contains("tiny is full in line 1; its tensors need 300.0 MiB."), "{text}");
    assert!(text.contains("Would have let it through:") && text.contains("It fits on t4."), "{text}");
    let text = out(&folder.plan(&["--devices", "tiny"]));
    assert!(text.contains("The smallest of the devices at hand that could hold it is"), "{text}");
}

/// What one request needs is no help where the next one needs more, and a hundredth of a request is none either.
#[test]
fn advice_is_of_use_when_it_is_followed() {
    let code = "let x = ones([5000,10000], #{device:\"cuda\"}); let y = x + 1; let z = y + 1;";
    let folder = Folder::new("whole", code);
    let text = out(&folder.plan(&["--devices", "tiny"]));
    let need = text.split("use a device with ").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(need.starts_with("584.0 MiB of memory, where the whole script fits"), "{text}");
    assert!(!text.contains("0% of the"), "{text}");
    let all = folder.document(&["--devices", "tiny"]);
    assert!(all[0]["advice"].to_string().contains("where the whole script fits"), "{all:#?}");
}

/// Not only tensors take room: a device that was full is no larger one.
#[test]
fn a_device_that_was_full_is_not_named_as_one_that_could_hold_it() {
    let split = "let keep = [];
for i in 0..10 {
    let big = rand([5, 1024, 1024], #{device: \"cuda\"});
    big = ();
    keep.push(rand([3, 1024, 1024], #{device: \"cuda\"}));
}
let z = rand([30, 1024, 1024], #{device: \"cuda\"});";
    let folder = Folder::new("plan-split", split);
    let text = out(&folder.plan(&["--devices", "tiny"]));
    assert!(text.contains("could hold it is") && !text.contains("could hold it is tiny"), "{text}");
}

/// The memory is that of the run itself, and so is the time.
#[test]
fn a_plan_has_the_figures_of_the_run() {
    let code =
        "let net = nn::Sequential([nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)]).to(\"cuda\");
let opt = optim::Adam(net.parameters());
for i in 0..5 { opt.zero_grad(); net.forward(rand([32, 64]).to(\"cuda\")).sum().backward(); opt.step(); }
#{peak: cuda::max_memory_allocated()}";
    let folder = Folder::new("run", code);
    let planned = folder.document(&["--devices", "t4"]);
    let o = feed::run(program().args(["run", "--devices", "sim:t4", "--json", "-"]), code);
    let ran: Value = serde_json::from_str(out(&o).trim()).unwrap();
    assert_eq!(planned[0]["peak_bytes"], ran["peak"]);
    // On a slower host everything takes longer.
    let with =
        |host: &str| folder.document(&["--devices", "t4", "--host", host])[0]["time_ms"].as_f64().unwrap();
    assert!(with("notebook") > with("workstation"));
}

#[test]
fn a_plan_keeps_nothing_that_the_script_writes() {
    let code = "let net = nn::Linear(4, 4).to(\"cuda\"); save(net.state_dict(), \"w.safetensors\");
let state = load(\"w.safetensors\"); net.load_state_dict(state);
plot::line([1.0, 2.0]); plot::save(\"a.png\"); save(zeros(2), \"new.npy\"); print(load(\"new.npy\"));";
    let folder = Folder::new("writes", code);
    std::fs::write(folder.0.join("w.safetensors"), "mine").unwrap();
    let o = folder.plan(&["--devices", "t4,tiny"]);
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    assert_eq!(std::fs::read_to_string(folder.0.join("w.safetensors")).unwrap(), "mine");
    let mut left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["s.rhai", "w.safetensors"]);
}

#[test]
fn what_makes_no_plan_is_told() {
    let folder = Folder::new("bad", "let x = ones(3, #{device: \"cuda\"});\nif x.sum() > 2.0 { print(1); }");
    let o = folder.plan(&["--devices", "t4"]);
    fails(&o, 1, &["this run has no values", "s.rhai:2"]);
    assert!(
        out(&o).contains("On t4 the script stops in line 2: RuntimeError: this run has no values"),
        "{}",
        out(&o)
    );
    let o = folder.plan(&["--devices", "t4,a100"]);
    assert_eq!(err(&o).matches("s.rhai:2").count(), 1, "{}", err(&o));
    assert!(out(&o).contains("On t4, a100 the script stops"), "{}", out(&o));
    for (devices, why) in [
        ("cuda", "a plan is for simulated devices, not `cuda`"),
        ("t4,cpu", "a plan is for simulated devices, not `cpu`"),
        ("t4,foo", "there is no device profile `foo`"),
        ("t4,", "a device is missing"),
        ("t4@measured", "`--host measured` has none"),
    ] {
        fails(&folder.plan(&["--devices", devices]), 2, &[why]);
    }
    let endless = Folder::new("endless", "while true { }");
    fails(&endless.plan(&["--devices", "t4", "--timeout", "0.3"]), 124, &["timed out"]);
    // It ends where there is memory without end alone.
    let later = Folder::new("later", &format!("{HOLDS}\nwhile true {{ }}"));
    fails(&later.plan(&["--devices", "tiny", "--timeout", "0.3"]), 124, &["timed out"]);
    fails(&feed::run(program().args(["plan", "nowhere.rhai"]), ""), 2, &["cannot read nowhere.rhai"]);
}
