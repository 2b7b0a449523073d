//! Packs: lessons with a manifest, assets and data, as a folder, one archive, or built in.
//!
//! Reading, checking, building and installing a pack runs nothing of it; [`check::run`] does, in sessions.

mod archive;
pub mod check;
mod error;
pub mod hash;
mod id;
mod manifest;
pub mod path;
mod stage;
pub mod store;
mod tar;
pub mod template;
mod tree;
mod version;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use archive::LARGEST_ARCHIVE;
pub use error::PackError;
pub use id::{NoId, PackId};
pub use manifest::{Dataset, Invalidated, Listed, Manifest};
pub use tree::{Contents, Listing, Tree};
pub use version::Version;

use super::error::LessonError;
use super::format::Lesson;
use super::source::{MAX_FILE_BYTES, Source};
use super::{BUILT_IN, BUILT_IN_MANIFEST, load, parse};

/// The id of the built-in pack.
pub(crate) const COURSE: &str = "course";

/// A pack that was read: its manifest and its lessons in their order.
#[derive(Clone, Debug)]
pub struct Pack {
    pub manifest: Manifest,
    pub lessons: Vec<Lesson>,
    /// Where its files are; none for the built-in one.
    pub folder: Option<PathBuf>,
}

impl Pack {
    /// The pack that is part of the program.
    ///
    /// # Errors
    /// As [`Pack::open`].
    pub fn built_in() -> Result<Pack, PackError> {
        let manifest =
            Manifest::parse(path::MANIFEST, BUILT_IN_MANIFEST.as_bytes()).map_err(PackError::Faults)?;
        let text = |name: &str| BUILT_IN.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
        let lessons = read_lessons(&manifest, |listed| match text(&listed.name) {
            Some(text) => parse(&listed.name, text.as_bytes()),
            None => Err(vec![missing(&manifest, listed)]),
        })?;
        Ok(Pack { manifest, lessons, folder: None })
    }

    /// Reads the pack in a folder.
    ///
    /// # Errors
    /// All faults of the manifest, or of the lessons that it lists; a pack made for a later program.
    pub fn open(folder: &Path) -> Result<Pack, PackError> {
        let manifest = open_manifest(folder)?;
        let lessons = read_lessons(&manifest, |listed| {
            let at = folder.join("lessons").join(&listed.name);
            if at.exists() { load(&at) } else { Err(vec![missing(&manifest, listed)]) }
        })?;
        Ok(Pack { manifest, lessons, folder: Some(folder.to_path_buf()) })
    }

    /// The lesson of that id.
    pub fn lesson(&self, id: &str) -> Option<&Lesson> {
        self.lessons.iter().find(|lesson| lesson.front.id == id)
    }
}

/// Reads the manifest in a pack's folder.
///
/// # Errors
/// Its faults; a folder without one; a pack made for a later program.
pub(crate) fn open_manifest(folder: &Path) -> Result<Manifest, PackError> {
    let at = folder.join(path::MANIFEST);
    let shown = at.display().to_string();
    if !folder.is_dir() {
        let message = format!("{} is no folder", folder.display());
        return Err(PackError::hinted(message, "`tensorlab pack new DIR` makes a pack to begin with"));
    }
    if !at.exists() {
        let message = format!("there is no {} in {}", path::MANIFEST, folder.display());
        return Err(PackError::hinted(message, "`tensorlab pack new DIR` makes a pack to begin with"));
    }
    let mut bytes = Vec::new();
    tree::open(folder, path::MANIFEST)
        .and_then(|file| file.take(2 * MAX_FILE_BYTES as u64).read_to_end(&mut bytes))
        .map_err(PackError::io(format_args!("read {shown}")))?;
    let manifest = Manifest::parse(&shown, &bytes).map_err(PackError::Faults)?;
    let own = Version::of_program();
    if manifest.requires > own {
        let message =
            format!("the pack `{}` needs tensorlab {}, this is {own}", manifest.id, manifest.requires);
        return Err(PackError::hinted(message, "update tensorlab"));
    }
    Ok(manifest)
}

/// Reads all lessons, or gives the faults of all.
fn read_lessons(
    manifest: &Manifest,
    read: impl Fn(&Listed) -> Result<Lesson, Vec<LessonError>>,
) -> Result<Vec<Lesson>, PackError> {
    let (mut lessons, mut faults) = (Vec::new(), Vec::new());
    for listed in &manifest.lessons {
        match read(listed) {
            Ok(lesson) => lessons.push(lesson),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(lessons) } else { Err(PackError::Faults(faults)) }
}

fn missing(manifest: &Manifest, listed: &Listed) -> LessonError {
    let message = format!("there is no file lessons/{}", listed.name);
    manifest.error((listed.line, listed.column), message, "write it, or take it off the list")
}

/// A fault of a file as a whole.
fn fault_of(file: &Path, message: &str, hint: &str) -> LessonError {
    Source::decode(&file.display().to_string(), b"").source.error(1, 1, message, hint)
}

/// Builds the archive of a pack, having checked all that shows without running it. The same files make the same bytes.
///
/// # Errors
/// The pack's faults; a file that can't be read or written.
pub fn build(folder: &Path, out: impl Write) -> Result<(Manifest, Contents), PackError> {
    let (pack, contents) = sound(folder)?;
    archive::write(out, folder, &contents)?;
    Ok((pack.manifest, contents))
}

/// Reads a pack in a folder and its files, where it has no fault that shows without running it.
fn sound(folder: &Path) -> Result<(Pack, Contents), PackError> {
    let pack = Pack::open(folder)?;
    let tree = Tree::scan(folder)?;
    let found = check::inspect(&pack, &tree)?;
    if !found.faults.is_empty() {
        return Err(PackError::Faults(found.faults));
    }
    let contents = tree.contents(folder)?;
    archive::check(&contents)?;
    Ok((pack, contents))
}

/// Looks through an archive and gives the list of its files; nothing is written.
///
/// # Errors
/// The first thing that is not as it must be.
pub fn verify_archive(file: &Path) -> Result<Contents, PackError> {
    archive::read(open_archive(file)?, |_| Ok(std::io::sink()), |_| Ok(()))
}

/// The manifest in an archive; nothing is written.
///
/// # Errors
/// As [`verify_archive`], and the faults of the manifest.
pub(crate) fn manifest_of_archive(file: &Path) -> Result<Manifest, PackError> {
    let mut bytes = Vec::new();
    let most = 2 * MAX_FILE_BYTES as u64;
    let is_wanted = |listed: &Listing| listed.path == path::MANIFEST && listed.bytes <= most;
    archive::read(
        open_archive(file)?,
        |listed| Ok(KeptBytes(is_wanted(listed).then(Vec::new))),
        |kept| {
            bytes.extend(kept.0.unwrap_or_default());
            Ok(())
        },
    )?;
    Manifest::parse(&format!("{}: {}", file.display(), path::MANIFEST), &bytes).map_err(PackError::Faults)
}

/// Keeps what is written to it, or nothing.
struct KeptBytes(Option<Vec<u8>>);

impl Write for KeptBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(kept) = &mut self.0 {
            kept.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn open_archive(file: &Path) -> Result<File, PackError> {
    let reading = || format!("read {}", file.display());
    let found = std::fs::metadata(file).map_err(PackError::io(reading()))?;
    if !found.is_file() {
        return Err(PackError::refused(format!("{} is no regular file", file.display())));
    }
    if found.len() > LARGEST_ARCHIVE {
        let message =
            format!("{} has {} bytes; no archive of a pack is that large", file.display(), found.len());
        return Err(PackError::refused(message));
    }
    File::open(file).map_err(PackError::io(reading()))
}
