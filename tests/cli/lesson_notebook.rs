//! A lesson that was written as a notebook runs where the lesson does.

use super::*;

const LESSON: &str = r#"+++
id = "kept"
title = "Kept"
summary = "A file."
concepts = ["save"]
minutes = 1
devices = ["sim:t4"]

[limits]
scratch = "64 KiB"
+++

# Kept

```rhai run id="there"
let x = ones([4]).to("cuda");
save(#{x: x.cpu()}, SCRATCH + "/x.safetensors");
```

```rhai exercise id="back"
// Read it.
```

```rhai check
expect_close(back, ones(4));
```

```rhai solution
let back = load(SCRATCH + "/x.safetensors").x;
```

```rhai run id="use"
back.sum().item()
```

```rhai exercise id="last"
```

```rhai check
expect_equal(z, 1);
```

```rhai solution
let z = 1;
```
"#;

#[test]
fn a_lessons_notebook_has_its_devices_and_its_folder_and_names_what_is_used_further_down() {
    let folder = std::env::temp_dir().join(format!("tensorlab-lesson-notebook-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kept.md"), LESSON).unwrap();
    let says = |arguments: &[&str]| {
        let mut program = program();
        program.current_dir(&folder).env("HOME", &folder);
        for name in ["XDG_DATA_HOME", "XDG_STATE_HOME", "TENSORLAB_DEVICES"] {
            program.env_remove(name);
        }
        program.args(arguments).output().unwrap()
    };
    let o = says(&["lesson", "export", "kept.md", "--ipynb"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let path = folder.join("kept.ipynb");
    let text = std::fs::read_to_string(&path).unwrap();
    for piece in ["`--devices sim:t4`", "`back`, 1 point; cells below use its `back`", "`last`, 1 point\""] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    // The exercise is open: what uses its result is the first to stop.
    fails(&says(&["notebook", "run", "kept.ipynb"]), 1, &["'back' is not defined"]);
    let solved = text.replace("// Read it.", "let back = load(SCRATCH + \\\"/x.safetensors\\\").x;");
    assert_ne!(solved, text);
    std::fs::write(&path, &solved).unwrap();
    let o = says(&["notebook", "run", "kept.ipynb"]);
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    let o = says(&["notebook", "verify", "kept.ipynb"]);
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    // Devices that are named come before those of the notebook.
    fails(&says(&["notebook", "verify", "kept.ipynb", "--devices", "cpu"]), 1, &[]);
    std::fs::write(&path, solved.replace("\"sim:t4\"", "\"sim:nope\"")).unwrap();
    fails(
        &says(&["notebook", "run", "kept.ipynb"]),
        2,
        &["the notebook asks for sim:nope", "no device profile `nope`"],
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
