//! Installed packs: `packs/ID/current` names the folder beside it that holds the pack.
//!
//! A pack is unpacked beside the others and synced, renamed into its place, and becomes current with the replacement of
//! one small file. Whatever interrupts that leaves the earlier version, and the next installation clears up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::base::{file, near, sorted};
use crate::lesson::pack::read::{Pack, open_manifest};
use crate::lesson::text;

use super::error::PackError;
use super::id::{FolderName, PackId, Root};
use super::manifest::Manifest;
use super::stage::{self, Lock, Stage, remove_all, sync_folders};
use super::tree::Contents;
use super::version::Version;
use super::{archive, build, check, open_archive, path, sound};

const CURRENT: &str = "current";

/// The folder of installed packs. It need not be there.
#[derive(Clone, Debug)]
pub struct Store {
    root: Root,
}

/// What `current` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub id: PackId,
    pub version: Version,
    /// The folder's name beside `current`.
    folder: FolderName,
    /// What it was installed from: a folder or an archive.
    pub source: PathBuf,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    pub contents: Contents,
}

/// What an installation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub now: Installed,
    /// The version that was there.
    pub before: Option<Version>,
    /// The same files were there already.
    pub same: bool,
    /// They had been changed since, and are as they were.
    pub repaired: bool,
    /// The authors of what was there, where they were others.
    pub authors_before: Option<Vec<String>>,
}

/// When something is put in the place of an installed pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// A later version, or the same files.
    Later,
    /// Anything.
    Any,
}

impl Store {
    /// The packs below a folder, which need not be there yet.
    pub fn at(root: &Path) -> Store {
        Store { root: Root::at(root) }
    }

    /// Installs a folder or an archive. Nothing of it is run.
    ///
    /// # Errors
    /// What is wrong with the pack; an earlier version than the one there, or the same with other files, unless any
    /// may be replaced; the file system's. The pack that was there then still is.
    pub fn install(&self, source: &Path, replace: Replace) -> Result<Change, PackError> {
        self.take(source, replace, None)
    }

    /// `only` is the id that the pack must have.
    fn take(&self, source: &Path, replace: Replace, only: Option<&PackId>) -> Result<Change, PackError> {
        let source =
            fs::canonicalize(source).map_err(PackError::io(format_args!("read {}", source.display())))?;
        let root = self.root.path();
        file::make_folder(root).map_err(PackError::io(format_args!("make the folder {}", root.display())))?;
        let lock = Lock::wait(self.root.path())?;
        self.clear_up(&lock);
        let stage = Stage::new(root)?;
        let unpacked = stage.0.join("pack");
        let contents = self.unpack(&source, &stage.0, &unpacked)?;
        let (pack, found) = sound(&unpacked).map_err(|error| error.with_path(&unpacked, &source))?;
        if found != contents {
            return Err(PackError::refused("the files changed while they were installed"));
        }
        if only.is_some_and(|id| *id != pack.manifest.id) {
            let message = format!("{} now holds the pack `{}`", source.display(), pack.manifest.id);
            return Err(PackError::refused(message));
        }
        self.allow(&pack.manifest, &contents, replace)?;
        self.settle(&pack.manifest, contents, source, &unpacked, &lock)
    }

    /// Installs a pack again where `from` has a later version of it.
    ///
    /// # Errors
    /// As [`Store::install`]; the source now holds another pack.
    pub fn update(&self, installed: &Installed, from: &Path) -> Result<Change, PackError> {
        self.take(from, Replace::Later, Some(&installed.id))
    }

    /// Unpacks an archive, or what is built of a folder, having looked through all of it.
    fn unpack(&self, source: &Path, stage: &Path, to: &Path) -> Result<Contents, PackError> {
        let mut from = if source.is_dir() {
            let built = stage.join("pack.tar.gz");
            let out = File::create_new(&built).map_err(PackError::io("write the archive"))?;
            build(source, BufWriter::new(out))?;
            open_archive(&built)?
        } else {
            open_archive(source)?
        };
        let listed = archive::read(&from, |_| Ok(io::sink()), |_| Ok(()))?;
        io::Seek::rewind(&mut from).map_err(PackError::io("read the archive"))?;
        fs::create_dir(to).map_err(PackError::io("make a folder"))?;
        let contents = archive::read(
            &from,
            |file| {
                let at = path::below(to, &file.path)?;
                if let Some(folder) = at.parent() {
                    fs::create_dir_all(folder)?;
                }
                OpenOptions::new().write(true).create_new(true).open(at)
            },
            |file| {
                let mut rights = file.metadata()?.permissions();
                rights.set_readonly(true);
                file.set_permissions(rights)?;
                file.sync_all()
            },
        )?;
        match contents == listed {
            true => Ok(contents),
            false => Err(PackError::refused("the archive changed while it was read")),
        }
    }

    /// Whether this pack may take the place of what is there.
    fn allow(&self, new: &Manifest, contents: &Contents, replace: Replace) -> Result<(), PackError> {
        if !check::is_free(&new.id) {
            let message = format!("the id `{}` is that of the built-in pack", new.id);
            return Err(PackError::hinted(message, "give the pack another id in its pack.toml"));
        }
        let Ok(old) = self.get(&new.id) else { return Ok(()) };
        if replace == Replace::Any || new.version > old.version || old.contents == *contents {
            return Ok(());
        }
        let message = match new.version < old.version {
            true => format!("`{}` {} is installed, which is later than {}", new.id, old.version, new.version),
            false => format!("`{}` {} is installed, with other files", new.id, old.version),
        };
        Err(PackError::hinted(message, "--force installs it in place of the other"))
    }

    /// Makes an unpacked pack the current one.
    fn settle(
        &self,
        manifest: &Manifest,
        contents: Contents,
        source: PathBuf,
        unpacked: &Path,
        lock: &Lock,
    ) -> Result<Change, PackError> {
        let settling = || PackError::io(format_args!("install {}", manifest.id));
        let home = self.root.home(&manifest.id);
        let old = self.get(&manifest.id).ok();
        let same = old.as_ref().is_some_and(|old| old.contents == contents);
        file::make_folder(&home).map_err(settling())?;
        let authors_before = old.as_ref().and_then(|old| open_manifest(&self.folder(old)).ok());
        let authors_before = authors_before.map(|old| old.authors).filter(|old| *old != manifest.authors);
        let kept = old.as_ref().filter(|old| same && contents.changed(&self.folder(old)).is_empty());
        let folder = match kept {
            Some(old) => old.folder.clone(),
            None => self.free_name(
                &manifest.id,
                &format!("{}-{}", manifest.version, contents.sum().get(..16).unwrap_or_default()),
            )?,
        };
        let repaired = same && kept.is_none();
        if kept.is_none() {
            sync_folders(unpacked).map_err(settling())?;
            fs::rename(unpacked, self.root.folder(&manifest.id, &folder)).map_err(settling())?;
            file::sync(&home).map_err(settling())?;
        }
        let now = Installed {
            id: manifest.id.clone(),
            version: manifest.version,
            folder,
            source,
            at_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64),
            contents,
        };
        let write = |out: &mut BufWriter<File>| serde_json::to_writer(out, &now).map_err(io::Error::from);
        file::replace(&home.join(CURRENT), write).map_err(settling())?;
        file::sync(self.root.path()).map_err(settling())?;
        self.clear_up(lock);
        let before = old.map(|old| old.version);
        Ok(Change { now, before, same, repaired, authors_before })
    }

    /// An installed pack.
    ///
    /// # Errors
    /// There is none of that id, or its record can't be read.
    pub fn get(&self, id: &PackId) -> Result<Installed, PackError> {
        let at = self.root.home(id).join(CURRENT);
        if !at.exists() {
            return Err(self.missing(id));
        }
        let bytes = fs::read(&at).map_err(PackError::io(format_args!("read {}", at.display())))?;
        let damaged =
            || PackError::hinted(format!("the record of the pack `{id}` is damaged"), "install it again");
        let found: Installed = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        // The paths of its files are joined to the folder, too.
        let whole = found.id == *id && archive::check(&found.contents).is_ok();
        if whole { Ok(found) } else { Err(damaged()) }
    }

    /// What a command says that was given an id, or what can't be one, of which no pack is installed.
    pub fn missing(&self, id: &str) -> PackError {
        let ids = self.ids();
        let known: Vec<&str> = ids.iter().map(PackId::as_str).collect();
        let hint = match known.as_slice() {
            [] => "none is; `tensorlab pack install FILE` installs one".to_owned(),
            known => near::suggestion(id, known, "installed are"),
        };
        PackError::hinted(format!("there is no installed pack `{}`", text::strip(id)), hint)
    }

    /// Ids of all installed packs, sorted.
    pub fn ids(&self) -> Vec<PackId> {
        let entries = fs::read_dir(self.root.path()).into_iter().flatten().flatten();
        let names = entries.filter(|e| e.path().join(CURRENT).exists()).map(|e| e.file_name());
        let mut ids: Vec<PackId> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        sorted::sort(&mut ids);
        ids
    }

    /// Where an installed pack's files are.
    pub fn folder(&self, installed: &Installed) -> PathBuf {
        self.root.folder(&installed.id, &installed.folder)
    }

    /// Reads an installed pack.
    ///
    /// # Errors
    /// As [`Store::get`] and [`Pack::open`].
    pub fn open(&self, id: &PackId) -> Result<Pack, PackError> {
        Pack::open(&self.folder(&self.get(id)?))
    }

    /// The manifest of an installed pack.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn manifest(&self, id: &PackId) -> Result<Manifest, PackError> {
        open_manifest(&self.folder(&self.get(id)?))
    }

    /// Removes an installed pack. What the learner did in it stays in the progress log.
    ///
    /// # Errors
    /// There is none; the file system's.
    pub fn remove(&self, id: &PackId) -> Result<(), PackError> {
        let removing = || PackError::io(format_args!("remove {id}"));
        let home = self.root.home(id);
        // A record that can't be read is no reason to keep a pack.
        if !home.join(CURRENT).exists() {
            return Err(self.missing(id));
        }
        let lock = Lock::wait(self.root.path())?;
        if let Some(other) = foreign(&home) {
            let message = format!("{} is no pack's: `{}` is in it", home.display(), text::strip(&other));
            return Err(PackError::hinted(
                message,
                "no installation put that there; look at it and remove it by hand",
            ));
        }
        // Without this it is no pack any more, whatever becomes of the rest.
        fs::remove_file(home.join(CURRENT)).map_err(removing())?;
        remove_all(&home).map_err(removing())?;
        file::sync(self.root.path()).map_err(removing())?;
        lock.clear_stages(self.root.path());
        Ok(())
    }

    /// Removes what interrupted installations have left, unless one is at work. Nothing comes of what can't be removed.
    pub(crate) fn tidy(&self) {
        stage::tidy(self.root.path());
    }

    /// The name, or the first with a number behind it that nothing in the pack's folder has.
    fn free_name(&self, id: &PackId, name: &str) -> Result<FolderName, PackError> {
        let numbered = (2..).map(|n: u32| format!("{name}-{n}"));
        let names = std::iter::once(name.to_owned()).chain(numbered);
        let mut parsed = names.map_while(|name| name.parse().ok());
        let free = parsed.find(|name| !self.root.folder(id, name).exists());
        free.ok_or_else(|| PackError::refused(format!("there is no name for the folder `{name}`")))
    }

    /// Removes what interrupted installations have left, and what earlier versions were.
    fn clear_up(&self, lock: &Lock) {
        lock.clear_stages(self.root.path());
        for entry in fs::read_dir(self.root.path()).into_iter().flatten().flatten() {
            if let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                self.clear_up_pack(&id);
            }
        }
    }

    fn clear_up_pack(&self, id: &PackId) {
        let home = self.root.home(id);
        let current = self.get(id).ok().map(|installed| installed.folder);
        if current.is_none() && home.join(CURRENT).exists() {
            // A record that can't be read: the files may be all there is.
            return;
        }
        for entry in fs::read_dir(&home).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entry.path().is_dir() && current.as_ref().is_none_or(|current| name != *current.to_string()) {
                let _ = remove_all(&entry.path());
            } else if file::is_part(&name) {
                // Nobody writes here without the lock.
                let _ = fs::remove_file(entry.path());
            }
        }
        if current.is_none() {
            let _ = fs::remove_dir(&home);
        }
    }
}

/// What lies in a pack's folder that no installation puts there.
fn foreign(home: &Path) -> Option<String> {
    let is_version =
        |name: &str| name.split_once('-').is_some_and(|(version, _)| version.parse::<Version>().is_ok());
    let is_ours = |entry: &fs::DirEntry, name: &str| {
        name == CURRENT || file::is_part(&entry.file_name()) || (entry.path().is_dir() && is_version(name))
    };
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let mut named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry));
    named.find(|(name, entry)| !is_ours(entry, name)).map(|(name, _)| name)
}
