//! Installed packs: `packs/ID/current` names the folder beside it that holds the pack.
//!
//! A pack is unpacked beside the others and synced, renamed into its place, and becomes current with the replacement of
//! one small file. Whatever interrupts that leaves the earlier version, and the next installation clears up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::lesson::text;

use super::error::PackError;
use super::manifest::Manifest;
use super::tree::Contents;
use super::version::Version;
use super::{Pack, archive, build, check, open_archive, open_manifest, sound};

/// Folders in the making begin with this.
const INCOMING: &str = ".incoming-";
const CURRENT: &str = "current";
const LOCK: &str = ".lock";

/// The folder of installed packs. It need not be there.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// What `current` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub id: String,
    pub version: Version,
    /// The folder's name beside `current`.
    folder: String,
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
    pub fn at(root: &Path) -> Store {
        Store { root: root.to_path_buf() }
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
    fn take(&self, source: &Path, replace: Replace, only: Option<&str>) -> Result<Change, PackError> {
        let source =
            fs::canonicalize(source).map_err(PackError::io(format_args!("read {}", source.display())))?;
        fs::create_dir_all(&self.root)
            .map_err(PackError::io(format_args!("make the folder {}", self.root.display())))?;
        let _lock = self.lock()?;
        self.clear_up();
        let stage = Stage::new(&self.root)?;
        let unpacked = stage.0.join("pack");
        let contents = self.unpack(&source, &stage.0, &unpacked)?;
        let (pack, found) = sound(&unpacked)?;
        if found != contents {
            return Err(PackError::refused("the files changed while they were installed"));
        }
        if only.is_some_and(|id| id != pack.manifest.id) {
            let message = format!("{} now holds the pack `{}`", source.display(), pack.manifest.id);
            return Err(PackError::refused(message));
        }
        self.allow(&pack.manifest, &contents, replace)?;
        self.settle(&pack.manifest, contents, source, &unpacked)
    }

    /// Installs again from where a pack was installed from, where a later version is there.
    ///
    /// # Errors
    /// As [`Store::install`]; the source now holds another pack.
    pub fn update(&self, installed: &Installed) -> Result<Change, PackError> {
        self.take(&installed.source, Replace::Later, Some(&installed.id))
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
                let at = to.join(&file.path);
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
    ) -> Result<Change, PackError> {
        let settling = || PackError::io(format_args!("install {}", manifest.id));
        let home = self.root.join(&manifest.id);
        let old = self.get(&manifest.id).ok();
        let same = old.as_ref().is_some_and(|old| old.contents == contents);
        fs::create_dir_all(&home).map_err(settling())?;
        let kept = old.as_ref().filter(|old| same && contents.changed(&self.folder(old)).is_empty());
        let folder = match kept {
            Some(old) => old.folder.clone(),
            None => free_name(
                &home,
                &format!("{}-{}", manifest.version, contents.sum().get(..16).unwrap_or_default()),
            ),
        };
        if kept.is_none() {
            sync_folders(unpacked).map_err(settling())?;
            fs::rename(unpacked, home.join(&folder)).map_err(settling())?;
            sync(&home).map_err(settling())?;
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
        sync(&self.root).map_err(settling())?;
        self.clear_up();
        Ok(Change { now, before: old.map(|old| old.version), same })
    }

    /// An installed pack.
    ///
    /// # Errors
    /// There is none of that id, or its record can't be read.
    pub fn get(&self, id: &str) -> Result<Installed, PackError> {
        let at = self.root.join(id).join(CURRENT);
        if !text::is_id(id) || !at.exists() {
            let ids = self.ids();
            let known: Vec<&str> = ids.iter().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => "none is; `tensorlab pack install FILE` installs one".to_owned(),
                known => text::suggestion(id, known, "installed are"),
            };
            return Err(PackError::hinted(format!("there is no installed pack `{}`", text::strip(id)), hint));
        }
        let bytes = fs::read(&at).map_err(PackError::io(format_args!("read {}", at.display())))?;
        let damaged =
            || PackError::hinted(format!("the record of the pack `{id}` is damaged"), "install it again");
        let found: Installed = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let plain = super::path::fault(&found.folder).is_none() && !found.folder.contains('/');
        if found.id == id && plain { Ok(found) } else { Err(damaged()) }
    }

    /// Ids of all installed packs, sorted.
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let names = entries.filter(|e| e.path().join(CURRENT).exists()).map(|e| e.file_name());
        let mut ids: Vec<String> =
            names.filter_map(|name| name.into_string().ok()).filter(|name| text::is_id(name)).collect();
        ids.sort();
        ids
    }

    /// Where an installed pack's files are.
    pub fn folder(&self, installed: &Installed) -> PathBuf {
        self.root.join(&installed.id).join(&installed.folder)
    }

    /// Reads an installed pack.
    ///
    /// # Errors
    /// As [`Store::get`] and [`Pack::open`].
    pub fn open(&self, id: &str) -> Result<Pack, PackError> {
        Pack::open(&self.folder(&self.get(id)?))
    }

    /// The manifest of an installed pack.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn manifest(&self, id: &str) -> Result<Manifest, PackError> {
        open_manifest(&self.folder(&self.get(id)?))
    }

    /// Removes an installed pack. What the learner did in it stays in the progress log.
    ///
    /// # Errors
    /// There is none; the file system's.
    pub fn remove(&self, id: &str) -> Result<(), PackError> {
        let removing = || PackError::io(format_args!("remove {id}"));
        if !self.root.join(id).join(CURRENT).exists() {
            self.get(id)?;
        }
        let _lock = self.lock()?;
        let home = self.root.join(id);
        // Without this it is no pack any more, whatever becomes of the rest.
        fs::remove_file(home.join(CURRENT)).map_err(removing())?;
        remove_all(&home).map_err(removing())?;
        sync(&self.root).map_err(removing())
    }

    /// Keeps other installations out until it is dropped.
    fn lock(&self) -> Result<File, PackError> {
        let at = self.root.join(LOCK);
        let locking = || PackError::io(format_args!("lock {}", at.display()));
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&at).map_err(locking())?;
        match file.lock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(locking()(error)),
            _ => Ok(file),
        }
    }

    /// Removes what interrupted installations have left, and what earlier versions were. Under the lock.
    fn clear_up(&self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(INCOMING) {
                // What can't be removed now is tried again the next time.
                let _ = remove_all(&entry.path());
            } else if text::is_id(&name) {
                self.clear_up_pack(&name, &entry.path());
            }
        }
    }

    fn clear_up_pack(&self, id: &str, home: &Path) {
        let current = self.get(id).ok().map(|installed| installed.folder);
        if current.is_none() && home.join(CURRENT).exists() {
            // A record that can't be read: the files may be all there is.
            return;
        }
        for entry in fs::read_dir(home).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entry.path().is_dir() && current.as_deref().is_none_or(|current| name != *current) {
                let _ = remove_all(&entry.path());
            } else if file::is_part(&name) {
                // Nobody writes here without the lock.
                let _ = fs::remove_file(entry.path());
            }
        }
        if current.is_none() {
            let _ = fs::remove_dir(home);
        }
    }
}

/// The name, or the first with a number behind it that nothing in the folder has.
fn free_name(folder: &Path, name: &str) -> String {
    let numbered = (2..).map(|n: u32| format!("{name}-{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !folder.join(name).exists()).unwrap_or_default()
}

/// A folder for what is being installed, removed at the end.
struct Stage(PathBuf);

impl Stage {
    fn new(root: &Path) -> Result<Stage, PackError> {
        let at = root.join(format!("{INCOMING}{}", std::process::id()));
        fs::create_dir(&at).map_err(PackError::io(format_args!("make the folder {}", at.display())))?;
        Ok(Stage(at))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = remove_all(&self.0);
    }
}

/// Removes a folder whose files are read-only.
fn remove_all(folder: &Path) -> io::Result<()> {
    if cfg!(windows) {
        make_writable(folder)?;
    }
    fs::remove_dir_all(folder)
}

/// On some systems a read-only file can't be removed.
fn make_writable(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
            continue;
        }
        let mut rights = entry.metadata()?.permissions();
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "only where that is an attribute of the file alone"
        )]
        rights.set_readonly(false);
        fs::set_permissions(entry.path(), rights)?;
    }
    Ok(())
}

fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync(folder)
}

/// A name lasts once its folder is on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
