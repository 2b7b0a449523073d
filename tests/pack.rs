//! Packs as authors and learners meet them: made, checked, built, installed, updated, removed.

mod archive;
mod damage;
mod hostile;
mod large;
mod running;
mod shelf;
mod versions;
mod writing;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this test's own, gone when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-pack-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The program, in this folder, with its data in `data`.
    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.current_dir(&self.0).env("XDG_DATA_HOME", self.at("data")).env("NO_COLOR", "1");
        command.env_remove("TENSORLAB_DEVICES");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.program().args(arguments).output().unwrap()
    }

    /// What the program prints that must succeed.
    pub fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", out(&output), err(&output));
        out(&output)
    }

    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.says(arguments)).unwrap()
    }

    /// What the program says of something it must refuse with this status.
    pub fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let text = format!("{}{}", err(&output), out(&output));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
        text
    }

    /// Everything under the folder of installed packs, but its lock.
    fn installed(&self) -> Vec<String> {
        files(&self.at("data/tensorlab/packs")).into_iter().filter(|name| name != ".lock").collect()
    }

    /// A pack of the template with this id.
    fn pack(&self, id: &str) -> PathBuf {
        self.says(&["pack", "new", id]);
        self.at(id)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

/// All files and empty folders under a folder, by their paths from it, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let entries: Vec<_> = std::fs::read_dir(&next).into_iter().flatten().flatten().collect();
        if entries.is_empty() && next != folder && next.exists() {
            all.push(next.strip_prefix(folder).unwrap().display().to_string() + "/");
        }
        for entry in entries {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => all.push(entry.path().strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    all.sort();
    all
}

/// Replaces a text in a file, which must hold it.
pub fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from:?}", file.display());
    std::fs::write(file, text.replace(from, to)).unwrap();
}
