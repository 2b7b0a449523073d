//! Folders of a test's own.

use std::fs;
use std::path::{Path, PathBuf};

/// An empty folder that goes with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// `name` is the test's own.
    pub(super) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tensorlab-cuda-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
