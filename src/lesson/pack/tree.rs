//! The files of a pack: found in a folder, listed with their sums.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::base::sorted;

use serde::{Deserialize, Serialize};

use super::error::PackError;
use super::{hash, path};

/// Most files of a pack.
pub(crate) const MOST_FILES: usize = 1000;
/// Largest file, in bytes.
pub(crate) const LARGEST_FILE: u64 = 64 << 20;
/// Largest pack, in bytes of all its files.
pub(crate) const LARGEST_PACK: u64 = 256 << 20;

/// A file of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    pub path: String,
    pub bytes: u64,
    /// As in [`hash`].
    pub sha256: String,
}

/// All files of a pack, sorted by path: what an archive begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    pub format_version: u32,
    pub files: Vec<Listing>,
}

/// The version of the list and of the archive around it.
pub(crate) const FORMAT: u32 = 1;

/// What was found in a pack's folder.
#[derive(Debug, Default)]
pub struct Tree {
    /// Paths in the pack, sorted.
    pub files: Vec<String>,
    /// What can't be in a pack, each with the reason.
    pub refused: Vec<(String, String)>,
}

impl Tree {
    /// Looks through a folder, without following links. Names that begin with a dot, such as `.git`, are no part of
    /// the pack and are passed over.
    ///
    /// # Errors
    /// A folder that can't be read.
    pub fn scan(root: &Path) -> Result<Tree, PackError> {
        let mut tree = Tree::default();
        let mut folders = vec![(root.to_path_buf(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let reading = || format!("read {}", folder.display());
            for entry in fs::read_dir(&folder).map_err(PackError::io(reading()))? {
                let entry = entry.map_err(PackError::io(reading()))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with('.') {
                    continue;
                }
                let kind = entry.file_type().map_err(PackError::io(reading()))?;
                tree.take(format!("{prefix}{name}"), kind, entry.path(), &mut folders);
            }
            if tree.files.len() + tree.refused.len() > MOST_FILES {
                tree.refused.push((prefix, format!("a pack has at most {MOST_FILES} files")));
                break;
            }
        }
        sorted::sort(&mut tree.files);
        sorted::sort(&mut tree.refused);
        tree.without_doubles();
        tree.without_giants(root);
        Ok(tree)
    }

    fn take(&mut self, path: String, kind: fs::FileType, at: PathBuf, folders: &mut Vec<(PathBuf, String)>) {
        if let Some(why) = path::fault(&path) {
            self.refused.push((path, why.into()));
        } else if kind.is_symlink() {
            self.refused.push((path, "it is a link; put the file itself there".into()));
        } else if kind.is_dir() {
            folders.push((at, format!("{path}/")));
        } else if kind.is_file() {
            self.files.push(path);
        } else {
            self.refused.push((path, "it is neither a file nor a folder".into()));
        }
    }

    /// Names that differ in their case alone are one file on some systems.
    fn without_doubles(&mut self) {
        let mut seen: BTreeMap<String, &String> = BTreeMap::new();
        for path in &self.files {
            if let Some(other) = seen.insert(path.to_ascii_lowercase(), path) {
                let why = format!("`{other}` differs from it in upper and lower case alone");
                self.refused.push((path.clone(), why));
            }
        }
    }

    /// Files that no archive takes. Their sizes are asked of the folder alone; what can't be read is told where it is read.
    fn without_giants(&mut self, root: &Path) {
        let mut total = 0u64;
        for path in &self.files {
            let bytes = fs::symlink_metadata(root.join(path)).map_or(0, |data| data.len());
            let before = total;
            total = total.saturating_add(bytes);
            if bytes > LARGEST_FILE || (before <= LARGEST_PACK && total > LARGEST_PACK) {
                self.refused.push((path.clone(), size_rule()));
            }
        }
    }

    /// Whether the pack has a file of that path.
    pub fn has(&self, path: &str) -> bool {
        self.files.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
    }

    /// The files with their sizes and sums.
    ///
    /// # Errors
    /// A file that can't be read, or is too large.
    pub fn contents(&self, root: &Path) -> Result<Contents, PackError> {
        let mut files = Vec::with_capacity(self.files.len());
        let mut total = 0u64;
        for path in &self.files {
            let file = open(root, path).map_err(PackError::io(format_args!("read {path}")))?;
            let (sha256, bytes) = hash::of_reader(file.take(LARGEST_FILE + 1))
                .map_err(PackError::io(format_args!("read {path}")))?;
            total = total.saturating_add(bytes);
            if bytes > LARGEST_FILE || total > LARGEST_PACK {
                return Err(too_large(path));
            }
            files.push(Listing { path: path.clone(), bytes, sha256 });
        }
        Ok(Contents { format_version: FORMAT, files })
    }
}

/// The refusal of a file that is too large, or makes the pack so.
pub(super) fn too_large(path: &str) -> PackError {
    PackError::refused(format!("`{path}` is too large: {}", size_rule()))
}

fn size_rule() -> String {
    let (file, pack) = (LARGEST_FILE >> 20, LARGEST_PACK >> 20);
    format!("a file of a pack has at most {file} MiB, all of them {pack} MiB")
}

/// Opens a file of a pack to read it. A link in its place is refused.
pub(super) fn open(root: &Path, path: &str) -> io::Result<File> {
    let at = path::below(root, path)?;
    // Before opening: to open a pipe is to wait for its writer.
    if !fs::symlink_metadata(&at)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(at)
}

impl Contents {
    /// What identifies these files, whatever carries them.
    pub fn sum(&self) -> String {
        let lines: String =
            self.files.iter().map(|f| format!("{} {} {}\n", f.sha256, f.bytes, f.path)).collect();
        hash::of(lines.as_bytes())
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// Paths of files that are missing in a folder, or are not what they were.
    pub fn changed(&self, root: &Path) -> Vec<String> {
        let holds = |file: &&Listing| {
            let read = open(root, &file.path).and_then(|at| hash::of_reader(at.take(LARGEST_FILE + 1)));
            !read.is_ok_and(|(sum, bytes)| sum == file.sha256 && bytes == file.bytes)
        };
        self.files.iter().filter(holds).map(|file| file.path.clone()).collect()
    }
}
