//! A pack in one file: a gzip'd tar archive (POSIX ustar) that begins with the list of all its files and their sums.
//!
//! The same files make the same bytes: entries are sorted, and have no time, owner or mode of their own. What is read
//! is held to the list before a byte of it is kept: regular files alone, each in its turn, none more, none larger.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::error::PackError;
use super::hash::{self, Sum};
use super::path;
use super::tar::{self, BLOCK, Header};
use super::tree::{self, Contents, FORMAT, LARGEST_FILE, LARGEST_PACK, Listing, MOST_FILES};

/// The entry that all begins with.
const LIST: &str = "contents.json";
/// Its largest size, in bytes.
const LARGEST_LIST: u64 = 1 << 20;
/// Largest archive, in bytes.
pub(crate) const LARGEST_ARCHIVE: u64 = LARGEST_PACK + (LARGEST_PACK >> 6);

/// Writes the files of a folder as an archive.
///
/// # Errors
/// A file that can't be read, that has changed since it was listed, or that can't be written.
pub(super) fn write(out: impl Write, root: &Path, contents: &Contents) -> Result<(), PackError> {
    let writing = || PackError::io("write the archive");
    // 255: of no particular system.
    let mut zip = GzBuilder::new().mtime(0).operating_system(255).write(out, Compression::best());
    let mut list = serde_json::to_vec_pretty(contents).map_err(|e| writing()(e.into()))?;
    list.push(b'\n');
    entry(&mut zip, LIST, list.len() as u64, &mut list.as_slice()).map_err(writing())?;
    for file in &contents.files {
        let reading = PackError::io(format_args!("read {}", file.path));
        let mut from = Summed { from: tree::open(root, &file.path).map_err(reading)?, sum: Sum::default() };
        entry(&mut zip, &file.path, file.bytes, &mut from)
            .map_err(PackError::io(format_args!("pack {}", file.path)))?;
        let mut more = [0];
        let longer =
            from.from.read(&mut more).map_err(PackError::io(format_args!("read {}", file.path)))? > 0;
        if longer || from.sum.hex() != file.sha256 {
            return Err(PackError::refused(format!("`{}` changed while it was packed", file.path)));
        }
    }
    zip.write_all(&[0; 2 * BLOCK]).map_err(writing())?;
    zip.finish().and_then(|mut out| out.flush()).map_err(writing())
}

fn entry(out: &mut impl Write, path: &str, bytes: u64, from: &mut impl Read) -> io::Result<()> {
    out.write_all(&Header { path: path.into(), bytes }.to_block()?)?;
    let copied = io::copy(&mut from.take(bytes), out)?;
    if copied < bytes {
        return Err(io::Error::other("it became shorter"));
    }
    out.write_all(tar::padding(bytes))
}

/// A reader that keeps the sum of what it has read.
struct Summed<R> {
    from: R,
    sum: Sum,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.sum.write_all(into.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}

/// Reads an archive to its end. `keep` is asked where each file goes, once the list has been found in order; what it
/// gives gets the bytes before their sum is known. Memory is bounded whatever the archive holds.
///
/// # Errors
/// The first thing that is not as it must be.
pub(super) fn read<W: Write>(
    from: impl Read,
    mut keep: impl FnMut(&Listing) -> io::Result<W>,
    mut kept: impl FnMut(W) -> io::Result<()>,
) -> Result<Contents, PackError> {
    let mut from = BufReader::new(from.take(LARGEST_ARCHIVE + 1));
    if from.fill_buf().is_ok_and(|begin| begin.get(257..262) == Some(b"ustar")) {
        return Err(PackError::hinted(
            "this is a tar archive without the gzip layer around it",
            "a browser may have unpacked it: `gzip FILE` puts it back, `tensorlab pack build` makes another",
        ));
    }
    let mut zip = GzDecoder::new(from);
    let contents = list(&mut zip)?;
    let mut seen = BTreeSet::new();
    for file in &contents.files {
        let Some(header) = Header::read(&mut zip)? else {
            return Err(PackError::refused(format!(
                "the archive lacks the file `{}` of its list",
                file.path
            )));
        };
        expect(&header, file, &mut seen)?;
        let into = keep(file).map_err(PackError::io(format_args!("write {}", file.path)))?;
        let into = copy(&mut zip, file, into)?;
        kept(into).map_err(PackError::io(format_args!("write {}", file.path)))?;
    }
    if let Some(header) = Header::read(&mut zip)? {
        // Why it can't be there says more than that it is one too many.
        named(&header, &mut seen)?;
        return Err(PackError::refused(format!(
            "the archive has a file that its list lacks: `{}`",
            header.path
        )));
    }
    nothing_more(zip)?;
    Ok(contents)
}

/// The list of files, in order and within all bounds.
fn list(zip: &mut impl Read) -> Result<Contents, PackError> {
    let foreign = || {
        PackError::hinted(
            "this is no archive of a pack: it does not begin with a list of its files",
            "`tensorlab pack build` makes them",
        )
    };
    let header = Header::read(zip)?.ok_or_else(foreign)?;
    if header.path != LIST {
        named(&header, &mut BTreeSet::new())?;
        return Err(foreign());
    }
    if header.bytes > LARGEST_LIST {
        return Err(PackError::refused(format!("the archive's list of files has {} bytes", header.bytes)));
    }
    let mut bytes = Vec::new();
    tar::take(zip, header.bytes, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    let contents: Contents = serde_json::from_slice(&bytes).map_err(|error| {
        PackError::hinted(
            format!("the archive's list of files can't be read: {error}"),
            "a later tensorlab may have made it",
        )
    })?;
    if contents.format_version != FORMAT {
        let message =
            format!("the archive has format {}, and this program reads {FORMAT}", contents.format_version);
        return Err(PackError::hinted(message, "update tensorlab"));
    }
    check(&contents)?;
    Ok(contents)
}

/// Holds a list of files against all bounds.
pub(super) fn check(contents: &Contents) -> Result<(), PackError> {
    let files = &contents.files;
    if files.len() > MOST_FILES {
        return Err(PackError::refused(format!(
            "the archive has {} files, a pack at most {MOST_FILES}",
            files.len()
        )));
    }
    let mut seen = BTreeSet::new();
    let mut total = 0u64;
    for file in files {
        let header = Header { path: file.path.clone(), bytes: file.bytes };
        named(&header, &mut seen)?;
        total = total.saturating_add(file.bytes);
        if file.bytes > LARGEST_FILE || total > LARGEST_PACK {
            return Err(tree::too_large(&file.path));
        }
        if !hash::is_sum(&file.sha256) {
            return Err(PackError::refused(format!("the archive's list has no sum of `{}`", file.path)));
        }
        if path::place(&file.path).is_none() {
            let message = format!("a pack has no place for the file `{}`", file.path);
            return Err(PackError::hinted(
                message,
                "it has pack.toml, README, LICENSE, lessons/NAME.md and assets/",
            ));
        }
    }
    if files.windows(2).any(|pair| matches!(pair, [a, b] if a.path >= b.path)) {
        return Err(PackError::refused("the archive's list of files is not in order"));
    }
    Ok(())
}

/// Refuses names that can't be, and those that were there.
fn named(header: &Header, seen: &mut BTreeSet<String>) -> Result<(), PackError> {
    if let Some(why) = path::fault(&header.path) {
        return Err(PackError::refused(format!("the archive has the path `{}`: {why}", header.path)));
    }
    if !seen.insert(header.path.to_ascii_lowercase()) {
        let message =
            format!("the archive has the file `{}` twice, upper and lower case being one", header.path);
        return Err(PackError::refused(message));
    }
    Ok(())
}

/// Holds an entry against its place in the list.
fn expect(header: &Header, file: &Listing, seen: &mut BTreeSet<String>) -> Result<(), PackError> {
    named(header, seen)?;
    if header.path != file.path {
        return Err(PackError::refused(format!(
            "the archive has the file `{}` where its list has `{}`",
            header.path, file.path
        )));
    }
    if header.bytes != file.bytes {
        return Err(PackError::refused(format!(
            "the file `{}` has {} bytes, {} in the archive's list",
            file.path, header.bytes, file.bytes
        )));
    }
    Ok(())
}

/// Copies a file and compares its sum.
fn copy<W: Write>(zip: &mut impl Read, file: &Listing, mut into: W) -> Result<W, PackError> {
    let mut sum = Sum::default();
    tar::take(zip, file.bytes, |piece| {
        sum.write_all(piece)?;
        into.write_all(piece)
    })?;
    if sum.hex() != file.sha256 {
        let message =
            format!("the file `{}` is not what the archive's list says: its SHA-256 is another", file.path);
        return Err(PackError::hinted(message, "the archive is damaged or was changed; get it again"));
    }
    Ok(into)
}

/// The end of the archive is the end of the file.
fn nothing_more<R: BufRead>(mut zip: GzDecoder<R>) -> Result<(), PackError> {
    let mut byte = [0];
    // Reading on also compares gzip's own sum.
    let inside = zip.read(&mut byte).map_err(tar::unread)?;
    let after = zip.into_inner().read(&mut byte).map_err(tar::unread)?;
    match inside + after {
        0 => Ok(()),
        _ => Err(PackError::refused("the archive goes on after its end")),
    }
}
