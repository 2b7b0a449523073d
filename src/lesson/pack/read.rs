//! A pack that was read.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::lesson::error::LessonError;
use crate::lesson::format::Lesson;
use crate::lesson::pack::error::PackError;
use crate::lesson::pack::manifest::{Listed, Manifest};
use crate::lesson::pack::version::Version;
use crate::lesson::source::{MAX_FILE_BYTES, Source};
use crate::lesson::{course, load, parse};

use super::{path, tree};

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
            Manifest::parse(path::MANIFEST, course::manifest().as_bytes()).map_err(PackError::Faults)?;
        let text =
            |name: &str| course::built_in().iter().find(|(file, _)| file == name).map(|(_, text)| text);
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
    if folder.is_file() {
        let message = format!("{} is a file, and what is asked for is a pack's folder", folder.display());
        let hint = "of an archive `tensorlab pack info FILE` shows what is in it, and `tensorlab pack install FILE` installs it";
        return Err(PackError::hinted(message, hint));
    }
    if !folder.is_dir() {
        let message = format!("{} is no folder", folder.display());
        return Err(PackError::hinted(message, "`tensorlab pack new DIR` makes a pack to begin with"));
    }
    if !at.exists() {
        let message = format!("there is no {} in {}", path::MANIFEST, folder.display());
        return Err(PackError::hinted(message, "`tensorlab pack new DIR` makes a pack to begin with"));
    }
    let mut bytes = Vec::new();
    let most = 2 * MAX_FILE_BYTES as u64;
    let size = tree::open(folder, path::MANIFEST)
        .and_then(|file| {
            let size = file.metadata()?.len();
            file.take(most).read_to_end(&mut bytes).map(|_| size)
        })
        .map_err(PackError::io(format_args!("read {shown}")))?;
    if size > most {
        let message = format!("{shown} has {size} bytes, a manifest at most {MAX_FILE_BYTES}");
        return Err(PackError::refused(message));
    }
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
pub(crate) fn read_lessons(
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

pub(crate) fn missing(manifest: &Manifest, listed: &Listed) -> LessonError {
    let message = format!("there is no file lessons/{}", listed.name);
    manifest.error((listed.line, listed.column), message, "write it, or take it off the list")
}

/// A fault of a file as a whole.
pub(crate) fn fault_of(file: &Path, message: &str, hint: &str) -> LessonError {
    Source::decode(&file.display().to_string(), b"").source.error(1, 1, message, hint)
}
