//! Packs: lessons with a manifest, assets and data, as a folder, one archive, or built in.
//!
//! Reading, checking, building and installing a pack runs nothing of it; [`check::run`] does, in sessions.

mod archive;
pub mod check;
mod error;
pub mod hash;
mod id;
mod manifest;
mod outdated;
pub mod path;
mod read;
mod stage;
pub mod store;
mod tar;
pub mod template;
mod tree;
mod version;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

pub(crate) use archive::LARGEST_ARCHIVE;
pub(crate) use check::ASSETS;
pub use error::PackError;
pub(crate) use id::COURSE;
pub use id::{NoId, PackId};
pub use manifest::{Dataset, Invalidated, Listed, Manifest};
pub use outdated::Outdated;
pub use read::Pack;
pub(crate) use read::open_manifest;
pub use tree::{Contents, Listing, Tree};
pub use version::Version;

use super::source::MAX_FILE_BYTES;

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

/// What is in an asset of the pack in a folder.
///
/// # Errors
/// Those of the file system; what can't be a file of a pack.
pub(crate) fn read_asset(folder: &Path, asset: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tree::open(folder, asset)?.take(tree::LARGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
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
