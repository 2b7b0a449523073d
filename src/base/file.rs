//! Files that are written whole or not at all.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::quota;

/// As [`replace`], of what a run tells of itself: never over a script or a notebook, which a slip of a name would lose.
///
/// # Errors
/// Those of [`replace`], and a file there that has code.
pub fn export<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    check_no_code(path)?;
    replace(path, write)
}

/// Whether [`export`] could write there now, asked before the work that it tells of. Nothing is left there.
///
/// # Errors
/// Those that [`export`] would have.
pub(crate) fn check_export(path: &Path) -> io::Result<()> {
    check_no_code(path)?;
    check_replace(path)
}

/// The same of [`replace`].
///
/// # Errors
/// Those that [`replace`] would have.
pub(crate) fn check_replace(path: &Path) -> io::Result<()> {
    let target = target(path)?;
    let folder = folder_of(&target);
    if !folder.is_dir() {
        let text = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    PartFile::beside(folder).map(drop)
}

/// Refuses a path that has code.
fn check_no_code(path: &Path) -> io::Result<()> {
    const CODE: [&str; 2] = ["rhai", "ipynb"];
    let there = fs::canonicalize(path).ok();
    let ends = |path: &Path| {
        path.extension().is_some_and(|end| CODE.iter().any(|code| end.eq_ignore_ascii_case(code)))
    };
    if there.is_some_and(|there| ends(&there) || ends(path)) {
        let text = "there is a script or a notebook of that name, which it would replace";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    Ok(())
}

/// The file that is written for a path.
fn target(path: &Path) -> io::Result<PathBuf> {
    let target = aside(path).unwrap_or_else(|| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
    match fs::metadata(&target) {
        Ok(old) if old.is_dir() => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a folder")),
        Ok(old) if !old.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
        }
        _ if target.as_os_str().to_string_lossy().ends_with('/') => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it names a folder"))
        }
        _ => Ok(target),
    }
}

/// Where that file lies.
fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes `path` through a file beside it that takes its place once everything is on the disk: readers see the old
/// file or the whole new one, and where `write` fails, or the disk is full, the old one stays.
///
/// A symbolic link is followed, and the permissions of a file that is replaced are kept.
///
/// # Errors
/// Those of `write` and of the file system, and a path that is no regular file.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let target = target(path)?;
    let old = fs::metadata(&target).ok();
    let folder = folder_of(&target);
    sweep_once(folder);
    let (part, file) = PartFile::beside(folder)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    // What ended the writing may be that the folder takes no more.
    quota::check(&target)?;
    written?;
    let file = out.get_ref();
    if let Some(old) = old {
        // Some file systems keep no permissions; the values are what counts.
        let _ = file.set_permissions(old.permissions());
    }
    file.sync_all()?;
    fs::rename(&part.0, &target)?;
    // The file is whole in either case; this makes its name last, where folders can be synced.
    let _ = sync(folder);
    Ok(())
}

/// Where files are written in place of their own paths, while a script only runs to see what it would take.
static ASIDE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Files are written into a folder of their own, in place of their own paths, until it is dropped: then they are gone.
#[must_use = "files are written aside while it lives"]
pub(crate) struct WritesAside(PathBuf);

impl WritesAside {
    /// # Errors
    /// There is no folder to be made for them.
    pub(crate) fn begin() -> io::Result<WritesAside> {
        let folder = std::env::temp_dir().join(format!("tensorlab-aside-{}", random_name()));
        fs::create_dir(&folder)?;
        *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.clone());
        Ok(WritesAside(folder))
    }
}

impl Drop for WritesAside {
    fn drop(&mut self) {
        *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // What is left of it lies where the system clears up.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where a file is written in place of its own path.
fn aside(path: &Path) -> Option<PathBuf> {
    let folder = ASIDE.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
    let name: String = whole(path)
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '.' })
        .collect();
    // A name has an end on every file system; the ends of paths differ.
    let tail: Vec<char> = name.chars().rev().take(100).collect();
    Some(folder.join(tail.into_iter().rev().collect::<String>()))
}

/// Whether files are written aside.
pub(crate) fn is_aside() -> bool {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Where a file is read from: it may have been written in another place than its own.
pub(crate) fn to_read(path: &Path) -> PathBuf {
    aside(path).filter(|aside| aside.exists()).unwrap_or_else(|| path.to_path_buf())
}

/// A path with `~` as the home folder.
pub(crate) fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_path_buf(),
    }
}

/// Where a file is, or will be: from the root, and without links where it is there.
pub(crate) fn whole(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

/// Waits until the names in a folder are on the disk: a new file lasts once its folder does.
///
/// # Errors
/// Those of the file system.
pub fn sync(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Makes a folder and those above it that are not there, so that they last.
///
/// # Errors
/// Those of the file system.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make_folder(above)?;
    match fs::create_dir(folder) {
        // Somebody else was faster.
        Err(_) if folder.is_dir() => return Ok(()),
        made => made?,
    }
    // Some file systems sync no folders; what is written there is told when it fails itself.
    let _ = sync(above);
    Ok(())
}

/// Opens a file to append to, making it where it is not there: then it lasts, empty as it is. `more` sets what else
/// it is opened with.
///
/// # Errors
/// Those of the file system.
pub fn append(path: &Path, more: impl FnOnce(&mut OpenOptions)) -> io::Result<File> {
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    more(&mut options);
    let file = options.open(path)?;
    if is_new {
        let _ = sync(path.parent().unwrap_or(Path::new("")));
    }
    Ok(file)
}

/// A file in the making is left alone for so long, in which it is locked.
const FRESH: Duration = Duration::from_secs(2);

/// Removes the files that processes left in a folder when they were killed while they wrote. Those that someone still
/// writes are locked. Nothing comes of what can't be read or removed.
pub(crate) fn sweep(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if is_part(&entry.file_name()) && is_left(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Sweeps a folder before this process writes to it for the first time.
fn sweep_once(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    // Who writes to more folders than that, has seen enough of them.
    if swept.len() < MOST_SWEPT && swept.insert(folder.to_path_buf()) {
        drop(swept);
        sweep(folder);
    }
}

/// Whether a file has the name of one in the making: `.tensorlab-PID-COUNT-RANDOM.tmp`, or without the random part, as
/// earlier versions had it.
pub(crate) fn is_part(name: &OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_random = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    inner.is_some_and(|inner| match inner.split('-').collect::<Vec<_>>().as_slice() {
        [pid, count] => is_number(pid) && is_number(count),
        [pid, count, random] => is_number(pid) && is_number(count) && is_random(random),
        _ => false,
    })
}

/// Sixteen hexadecimal digits that no other process comes to: numbers of processes are the same in two containers
/// that share a folder.
pub(crate) fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Whether nobody writes the file any more.
fn is_left(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    let modified = file.metadata().and_then(|found| found.modified()).ok();
    let age = modified.and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age > FRESH) && file.try_lock().is_ok()
}

/// Folders that one process sweeps.
const MOST_SWEPT: usize = 1000;

const PREFIX: &str = ".tensorlab-";
const SUFFIX: &str = ".tmp";

/// A file in the making, removed when dropped: once it has its final name there is none to remove.
struct PartFile(PathBuf);

impl PartFile {
    /// A new file of its own, locked: who sweeps the folder sees by the lock that somebody is at it. Where there are no
    /// locks, nobody sweeps.
    fn beside(folder: &Path) -> io::Result<(PartFile, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{count}-{}{SUFFIX}", std::process::id(), random_name());
        let path = folder.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let _ = file.try_lock();
        Ok((PartFile(path), file))
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tensorlab-file-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = folder("failure");
        let path = folder.join("a.bin");
        replace::<io::Error>(&path, |out| out.write_all(b"old")).unwrap();
        let full = replace::<io::Error>(&path, |out| {
            out.write_all(&[7; 1 << 20])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replace::<io::Error>(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder), ["a.bin"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_killed_processes_left_is_swept_and_nothing_else() {
        let folder = folder("sweep");
        let make = |name: &str, age: u64| {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
            file
        };
        make(".tensorlab-4000000-0.tmp", 60);
        make(".tensorlab-4000000-7-0123456789abcdef.tmp", 60);
        let other = [
            ".tensorlab-1-0-0123456789abcde.tmp",
            ".tensorlab-1-0-0-0123456789abcdef.tmp",
            ".tensorlab-x-0.tmp",
            ".tensorlab-1-.tmp",
            "tensorlab-1-0.tmp",
            ".tensorlab-1-0.tmp.bak",
        ];
        other.iter().for_each(|name| drop(make(name, 60)));
        make(".tensorlab-4000000-1.tmp", 0);
        let written = make(".tensorlab-4000000-2.tmp", 60);
        written.lock().unwrap();
        sweep(&folder);
        let mut left: Vec<&str> = other.to_vec();
        left.extend([".tensorlab-4000000-1.tmp", ".tensorlab-4000000-2.tmp"]);
        left.sort_unstable();
        assert_eq!(names(&folder), left, "what is fresh, locked or another's stays");
        drop(written);
        // While a file is written it is locked.
        replace::<io::Error>(&folder.join("a"), |out| {
            let part =
                names(&folder).into_iter().find(|name| name.contains(&format!("-{}-", std::process::id())));
            assert!(File::open(folder.join(part.unwrap())).unwrap().try_lock().is_err());
            out.write_all(b"x")
        })
        .unwrap();
        sweep(&folder.join("no/such"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_first_file_that_a_process_writes_sweeps_its_folder() {
        let folder = folder("first");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        let left = folder.join(".tensorlab-4000000-0-0123456789abcdef.tmp");
        File::create(&left).unwrap().set_modified(old).unwrap();
        // A living process of the same number, in another container.
        let lives = folder.join(format!(".tensorlab-{}-0.tmp", std::process::id()));
        let held = File::create(&lives).unwrap();
        held.lock().unwrap();
        held.set_modified(old).unwrap();
        replace::<io::Error>(&folder.join("a"), |out| out.write_all(b"x")).unwrap();
        assert!(!left.exists() && lives.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_are_made_and_files_appended_to() {
        let folder = folder("made");
        let deep = folder.join("a/b/c");
        make_folder(&deep).unwrap();
        make_folder(&deep).unwrap();
        for _ in 0..2 {
            append(&deep.join("x"), |_| {}).unwrap().write_all(b"1").unwrap();
        }
        assert_eq!(fs::read(deep.join("x")).unwrap(), b"11");
        assert!(make_folder(&deep.join("x/y")).is_err());
        assert_ne!(random_name(), random_name());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let folder = folder("refused");
        assert!(replace::<io::Error>(&folder, |out| out.write_all(b"x")).is_err());
        let missing = folder.join("no/such/a.bin");
        assert_eq!(replace::<io::Error>(&missing, |_| Ok(())).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(names(&folder).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("links");
        let (path, link) = (folder.join("a.bin"), folder.join("b.bin"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace::<io::Error>(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(folder).unwrap();
    }
}
