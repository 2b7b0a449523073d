//! Lessons on a real GPU work in their folder alone. Its driver, libraries and kept machine code lie elsewhere.

use super::{Run, libraries};

const LESSON: &str = r#"+++
id = "sum"
title = "Sum"
summary = "Adding."
concepts = ["sum"]
minutes = 1
devices = ["cuda"]
+++

# Sum

```rhai exercise id="there"
```

```rhai check
expect_device(x, "cuda:0");
```

```rhai solution
let x = ones([3], #{device: "cuda"}) * 2.0;
```

```rhai wrong because="on cpu"
let x = ones([3]) * 2.0;
```

```hint
`device`
```
"#;

#[test]
fn a_lesson_finds_the_users_libraries_and_keeps_its_machine_code() {
    let folder = libraries::libraries();
    for variable in ["TENSORLAB_CUDA_PATH", "LD_LIBRARY_PATH"] {
        let mut run = Run::new(&format!("confined-{variable}"), "");
        std::fs::write(run.scratch.join("sum.md"), LESSON).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command
            .current_dir(&run.scratch)
            .args(["lesson", "verify", "sum.md"])
            .env("XDG_CACHE_HOME", run.scratch.join("cache"))
            .env_remove("TENSORLAB_CUDA_PATH")
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env(variable, &folder);
        run.command = command;
        let text = run.printed();
        assert!(text.starts_with("ok"), "{variable}: {text}");
        let kept = std::fs::read_dir(run.scratch.join("cache/tensorlab/kernels")).unwrap().count();
        assert!(kept > 0, "{variable}: no machine code was kept");
    }
}
