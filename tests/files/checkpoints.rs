//! Checkpoints from scripts: state dicts of modules and optimizers, nested values, GPUs, and what goes wrong.

use crate::nn::Lab;

use super::Folder;

#[test]
fn training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped() {
    let here = Folder::new("checkpoint");
    for devices in ["cpu", "sim:t4x2"] {
        for optimizer in
            ["Adam(net.parameters(), #{lr: 0.01})", "SGD(net.parameters(), #{lr: 0.1, momentum: 0.9})"]
        {
            let mut lab = Lab::on(devices);
            let to = if devices == "cpu" { "cpu" } else { "cuda:1" };
            lab.run(&format!(
                "manual_seed(0);
                 let make = || nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 1)).to(\"{to}\");
                 let net = make.call(); let opt = optim::{optimizer};
                 let x = randn(16, 4).to(\"{to}\"); let y = randn(16, 1).to(\"{to}\");
                 fn train(net, opt, x, y, steps) {{
                     for i in 0..steps {{
                         opt.zero_grad(); F::mse_loss(net.forward(x), y).backward(); opt.step();
                     }}
                     F::mse_loss(net.forward(x), y).item()
                 }}
                 train(net, opt, x, y, 3);
                 save(#{{net: net.state_dict(), opt: opt.state_dict(), epoch: 3}}, \"{path}\");
                 let on = train(net, opt, x, y, 3);
                 let saved = load(\"{path}\");
                 net = make.call(); opt = optim::{optimizer};
                 let matched = net.load_state_dict(saved.net).to_string();
                 opt.load_state_dict(saved.opt);
                 let again = train(net, opt, x, y, 3);",
                path = here.text("run.safetensors"),
            ));
            assert_eq!(lab.text("matched"), "<All keys matched successfully>");
            assert_eq!(lab.text("saved.epoch.to_string()"), "3");
            assert_eq!(lab.float("on"), lab.float("again"), "{optimizer} on {devices}");
        }
    }
}

#[test]
fn nested_values_come_back_as_they_were() {
    let here = Folder::new("nested");
    let mut lab = Lab::new();
    lab.run(&format!(
        "let value = #{{a: #{{b: [1, 2.0, -0.5, true, (), \"text\", ones(2)], \"x.y\": tensor(1)}}, \"a.x.y\": tensor(2),
             big: 9007199254740993, none: [], empty: #{{}}, odd: [0.0/0.0, 1.0/0.0]}};
         save(value, \"{0}\"); let back = load(\"{0}\");",
        here.text("v.safetensors")
    ));
    assert_eq!(lab.text("back.to_string()"), lab.text("value.to_string()"));
    assert!(lab.truth("type_of(back.a.b[1]) == \"f64\" && back.big == 9007199254740993"));
    let one = format!(
        "save([ones(2), 3], \"{0}\"); load(\"{0}\")[1] + load(\"{0}\")[0].numel()",
        here.text("w.safetensors")
    );
    assert_eq!(lab.value(&one).as_int().unwrap(), 5);
    let alone = format!("save(arange(3), \"{0}\"); load(\"{0}\")", here.text("x.safetensors"));
    assert_eq!(lab.numbers(&alone), [0.0, 1.0, 2.0]);
}

#[test]
fn gpu_tensors_are_copied_and_loaded_where_asked() {
    let here = Folder::new("gpu");
    let path = here.text("g.safetensors");
    let mut lab = Lab::on("sim:t4x2");
    lab.run(&format!(
        "let x = arange(6).to(\"cuda\"); let w = ones([2, 3]).cuda(1);
         let out = telemetry::record(|| save(#{{x: x, w: w.T}}, \"{path}\"));
         let back = telemetry::record(|| load(\"{path}\", \"cuda:1\"));
         let here = load(\"{path}\"); let there = load(\"{path}\", #{{device: \"cuda\", dtype: float16}});"
    ));
    assert_eq!(lab.text("[out.d2h.count, out.d2h.bytes, out.h2d.count].to_string()"), "[2, 72, 0]");
    assert_eq!(lab.text("[back.h2d.count, back.h2d.bytes, back.d2h.count].to_string()"), "[2, 72, 0]");
    assert!(
        lab.truth("here.x.device == \"cpu\" && there.x.device == \"cuda:0\" && there.w.dtype == float16")
    );
    assert!(lab.truth("there.x.dtype == int64 && here.w.equal(w.T.cpu())"));
    let (text, _) = lab.error(&format!("load(\"{path}\", \"cuda:7\")"));
    assert!(text.starts_with("DeviceError: CUDA error: invalid device ordinal"), "{text}");
}

#[test]
fn mistakes_are_named() {
    let here = Folder::new("mistakes");
    let mut lab = Lab::new();
    let file = |name: &str| here.text(name);
    for (code, words, hint) in [
        (format!("load(\"{}\")", file("none.npy")), "ValueError: cannot read", ""),
        (
            format!("load(\"{}\")", file("net.pt")),
            "does not end in .safetensors, .npy or .npz",
            "PyTorch's own files",
        ),
        (format!("load(\"{}\")", file("t.csv")), "does not end in", "data::csv"),
        (
            format!("load(\"{}\", #{{devise: \"cpu\"}})", file("a.npy")),
            "unknown option 'devise'",
            "did you mean `device`?",
        ),
        (format!("load(\"{}\", #{{dtype: int64}})", file("a.npy")), "int64 is none", ".to(dtype)"),
        (
            format!("load(\"{}\", #{{device: \"cpu\", map_location: \"cpu\"}})", file("a.npy")),
            "mean the same",
            "",
        ),
        (format!("save(#{{x: ones(1)}}, \"{}\")", file("a.npy")), "TypeError", "tensor(…)"),
        (format!("save(ones(1).bfloat16(), \"{}\")", file("a.npy")), "NumPy has no bfloat16", "x.float()"),
        (
            format!("save(#{{x: [1]}}, \"{}\")", file("a.npz")),
            "'x' must be a Tensor or a number",
            ".safetensors",
        ),
        (format!("save(#{{\"../x\": ones(1)}}, \"{}\")", file("a.npz")), "leads out of its folder", ""),
        (
            format!("save(#{{net: nn::Linear(1, 1)}}, \"{}\")", file("a.safetensors")),
            "a Module cannot be saved (at 'net')",
            "state_dict()",
        ),
        (
            format!("save(#{{\"__metadata__\": ones(1)}}, \"{}\")", file("a.safetensors")),
            "'__metadata__' cannot be the name",
            "",
        ),
        (
            format!("save(ones(1), \"{}\", #{{compres: true}})", file("a.npz")),
            "unknown option",
            "did you mean `compress`?",
        ),
        (
            format!("save(ones(1), \"{}\", #{{metadata: #{{a: 1}}}})", file("a.safetensors")),
            "'a' of metadata must be a string",
            "",
        ),
        (format!("save(ones(1), \"{}\")", file("no/such/a.npy")), "ValueError: cannot write", ""),
    ] {
        let (text, help) = lab.error(&code);
        assert!(text.contains(words) && help.contains(hint), "{code}\n{text}\n{help}");
    }
    assert!(here.names().is_empty(), "{:?}", here.names());
}

#[test]
fn metadata_is_kept_apart_from_tensors() {
    let here = Folder::new("metadata");
    let mut lab = Lab::new();
    let path = here.text("m.safetensors");
    lab.run(&format!(
        "save(#{{w: ones(1), n: 3}}, \"{path}\", #{{metadata: #{{author: \"Ada\", note: \"größe\"}}}});"
    ));
    assert_eq!(
        lab.text(&format!("load_metadata(\"{path}\").to_string()")),
        "#{\"author\": \"Ada\", \"note\": \"größe\"}"
    );
    assert_eq!(lab.text(&format!("load(\"{path}\").keys().to_string()")), "[\"n\", \"w\"]");
}

/// Runs a script in the folder under a limit of 64 KiB per file, which a write meets as it meets a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let here = Folder::new("full");
    let script =
        "save(ones(10), \"a.npy\"); save(#{w: ones(10)}, \"a.safetensors\"); save([ones(10)], \"a.npz\");
        for name in [\"a.npy\", \"a.safetensors\", \"a.npz\"] {
            try { save(ones(100000), name); throw \"it was written\" } catch (e) { print(e.message) }
            let v = load(name); print(v);
        }";
    std::fs::write(here.path("s.rhai"), script).unwrap();
    let out = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" run s.rhai", env!("CARGO_BIN_EXE_tensorlab")])
        .current_dir(&here.0)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(text.matches("cannot write a.").count(), 3, "{text}");
    assert_eq!(text.matches("tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])").count(), 3, "{text}");
    assert_eq!(here.names(), ["a.npy", "a.npz", "a.safetensors", "s.rhai"]);
}

#[test]
fn the_examples_of_files_and_data_print_what_the_reference_says() {
    let here = Folder::new("examples");
    let mut ran = 0;
    for def in tensorlab::data::table() {
        let (code, shown) = def.example;
        let script = format!("let value = {{ {code} }};\nprint(to_debug(value))");
        std::fs::write(here.path("e.rhai"), script).unwrap();
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_tensorlab"))
            .args(["run", "e.rhai"])
            .current_dir(&here.0)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert_eq!(text.trim_end(), shown, "{}: {}", def.name, String::from_utf8_lossy(&out.stderr));
        ran += 1;
    }
    assert!(ran >= 9);
}
