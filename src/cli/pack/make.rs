//! `pack new` and `pack build`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::base::figures::plural;
use crate::base::file;
use crate::cli::exit;
use crate::cli::output::say;
use crate::cli::pack::told::{Done, size, told};
use crate::lesson::pack::{self, PackError, hash, open_manifest, template};

/// Makes a pack of the template.
pub(super) fn new(dir: &Path, id: Option<&str>, title: Option<&str>) -> Done {
    let named = id.is_some();
    let id = template::write(dir, id, title).map_err(told)?;
    let shown = dir.display();
    say!("made the pack `{id}` in {shown}");
    let name = dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy();
    if !named && !dir.ends_with(".") && name != *id {
        say!(
            "its id is not `{name}`, for an id has the letters a to z, digits and hyphens alone: --id gives another"
        );
    }
    let typed = as_typed(&shown.to_string());
    say!("next: `tensorlab pack check {typed}` runs it, `tensorlab pack preview {typed}` opens it");
    Ok(exit::FINE)
}

/// A path as it is typed in a shell: in quotes where it has to be.
fn as_typed(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// What stops an archive from being written.
enum Failed {
    Pack(PackError),
    Io(std::io::Error),
    /// Its version was built before, of other files.
    Same,
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed::Io(error)
    }
}

/// Writes a pack's archive, whole or not at all.
pub(super) fn build(dir: &Path, output: Option<&Path>, force: bool) -> Done {
    let manifest = open_manifest(dir).map_err(told)?;
    let out = match output {
        Some(out) => out.to_path_buf(),
        None => beside(dir, format!("{}-{}.tar.gz", manifest.id, manifest.version)),
    };
    if inside(&out, dir) {
        return Err(format!(
            "error: {} would be part of the pack\nhint: name a file outside of {}: -o FILE",
            out.display(),
            dir.display()
        ));
    }
    // The same version with other files: those who have the one would never get the other.
    let before = pack::manifest_of_archive(&out).and_then(|old| Ok((old, pack::verify_archive(&out)?)));
    let before = before.ok().filter(|(old, _)| old.id == manifest.id && old.version == manifest.version);
    let mut built = None;
    let write = |to: &mut BufWriter<File>| {
        let (manifest, contents) = pack::build(dir, to).map_err(Failed::Pack)?;
        match before {
            Some((_, old)) if !force && old != contents => return Err(Failed::Same),
            _ => built = Some((manifest, contents)),
        }
        Ok(())
    };
    file::replace(&out, write).map_err(|failed| match failed {
        Failed::Pack(error) => told(error),
        Failed::Io(error) => format!("error: cannot write {}: {error}", out.display()),
        Failed::Same => format!(
            "error: {} is {} {} already, with other files\n\
             hint: raise `version` in pack.toml, so that those who have it get this one; --force replaces it",
            out.display(),
            manifest.id,
            manifest.version
        ),
    })?;
    let (manifest, contents) = built.ok_or("error: nothing was built")?;
    let read = || -> std::io::Result<(String, u64)> { hash::of_reader(File::open(&out)?) };
    let (sum, bytes) = read().map_err(|error| format!("error: cannot read {}: {error}", out.display()))?;
    say!(
        "{}: {} {}, {}, {}",
        out.display(),
        manifest.id,
        manifest.version,
        plural(contents.files.len() as u64, "file", "files"),
        size(bytes)
    );
    say!("sha256 {sum}");
    Ok(exit::FINE)
}

/// Where an archive is written that nobody named: here, or beside the pack's folder for whoever is in it.
fn beside(dir: &Path, name: String) -> PathBuf {
    let here = PathBuf::from(&name);
    let folder = dir.canonicalize().ok().filter(|_| inside(&here, dir));
    folder.as_deref().and_then(Path::parent).map_or(here, |parent| parent.join(name))
}

/// Whether a file to be made would lie in a pack's folder.
fn inside(out: &Path, dir: &Path) -> bool {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), dir.canonicalize()) {
        (Ok(folder), Ok(dir)) => folder.starts_with(dir),
        _ => false,
    }
}
