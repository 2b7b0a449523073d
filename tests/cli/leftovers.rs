//! What killed writers leave beside a file is swept by whoever writes there next.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A folder with a home of its own, gone when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file in the making that was left a minute ago.
fn leave(folder: &Path, name: &str) -> std::fs::File {
    std::fs::create_dir_all(folder).unwrap();
    let file = std::fs::File::create(folder.join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    file
}

#[test]
fn every_writer_sweeps_the_folder_it_writes_to() {
    let path = std::env::temp_dir().join(format!("tensorlab-leftovers-{}", std::process::id()));
    let folder = Folder(path);
    let work = folder.0.join("work");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("n.rhai"), "// %%\n1 + 1\n").unwrap();
    std::fs::write(work.join("one.rhai"), "let x = ones([2]);").unwrap();
    for (name, code) in
        [("tensor", "save(ones([2]), \"x.npy\")"), ("figure", "plot::line(ones([4])).save(\"x.svg\")")]
    {
        std::fs::write(work.join(format!("{name}.rhai")), code).unwrap();
    }
    let commands: &[(&[&str], &str)] = &[
        (&["run", "tensor.rhai"], "work"),
        (&["run", "figure.rhai"], "work"),
        (&["run", "--trace", "t.json", "one.rhai"], "work"),
        (&["run", "--telemetry-lines", "t.jsonl", "one.rhai"], "work"),
        (&["run", "--devices", "sim:tiny", "--memory-snapshot", "t.pickle", "one.rhai"], "work"),
        (&["notebook", "run", "n.rhai"], "work"),
        (&["notebook", "convert", "n.rhai", "n.ipynb"], "work"),
        (&["notebook", "export", "--html", "n.html", "n.rhai"], "work"),
        (&["notebook", "new", "m.rhai"], "work"),
        (&["pack", "new", "p"], "none"),
        (&["pack", "build", "p"], "work"),
        (&["config", "--init"], "config/tensorlab"),
    ];
    for (arguments, at) in commands {
        let at = folder.0.join(at);
        let old = [".tensorlab-4000000-0.tmp", ".tensorlab-4000000-0-0123456789abcdef.tmp"];
        let own = format!(".tensorlab-{}-0.tmp", std::process::id());
        old.iter().for_each(|name| drop(leave(&at, name)));
        let lives = leave(&at, &own);
        lives.lock().unwrap();
        lives.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        for (name, place) in [("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")] {
            command.env(name, folder.0.join(place));
        }
        command.env_remove("TENSORLAB_DEVICES").env_remove("TENSORLAB_CONFIG").current_dir(&work);
        let output = command.args(*arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(at.join(own).exists(), "{arguments:?} swept what is written");
        let left: Vec<_> = old.iter().filter(|name| at.join(name).exists()).collect();
        assert_eq!(left.is_empty(), !at.ends_with("none"), "{arguments:?}: {left:?}");
    }
}
