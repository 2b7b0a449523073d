//! Reading an archive.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use crc32fast::Hasher;
use flate2::read::DeflateDecoder;

use crate::base::memory;
use crate::base::sorted;

use super::super::fault::{Fault, Outcome};
use super::format::{CENTRAL, DEFLATED, ENCRYPTED, END, END_64, ESCAPE, EXTRA_64, LOCAL, LOCATOR_64, STORED};

/// The end record and the longest comment behind it.
const TAIL: u64 = 22 + 0xffff;
/// Bytes of a central directory that are read, at most: room for half a million entries.
const LARGEST_DIRECTORY: u64 = 64 << 20;
/// Deflate makes at most about 1,032 bytes of one: who claims more lies.
const MOST_EXPANSION: u64 = 1032;
/// What an archive may unpack to whatever its size, in bytes; beyond that, [`USUAL_EXPANSION`] times its size.
const FREELY_UNPACKED: u64 = 1 << 30;
const USUAL_EXPANSION: u64 = 100;

/// One file of an archive.
#[derive(Clone, Debug)]
pub(crate) struct ZipEntry {
    pub name: String,
    /// Bytes once unpacked.
    pub size: u64,
    packed: u64,
    method: u16,
    crc: u32,
    header: u64,
}

/// An archive and what it says it holds.
pub(crate) struct Archive<R> {
    inner: R,
    pub entries: Vec<ZipEntry>,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the central directory of a file of `length` bytes and checks that its entries can be true: they lie
    /// in the file, beside each other, under names of their own, and unpack to a size that fits theirs.
    pub(crate) fn open(mut inner: R, length: u64) -> Outcome<Archive<R>> {
        let directory = Directory::find(&mut inner, length)?;
        if directory.bytes > LARGEST_DIRECTORY {
            return Err(Fault::invalid(format!("its directory claims {} bytes", directory.bytes)));
        }
        inner.seek(SeekFrom::Start(directory.start))?;
        let mut bytes = memory::filled(directory.bytes as usize, 0u8)?;
        inner.read_exact(&mut bytes)?;
        let mut rest = ZipFields(&bytes);
        let mut entries = Vec::new();
        let mut names = HashSet::new();
        for _ in 0..directory.entries {
            let entry = ZipEntry::parse(&mut rest)?;
            if !names.insert(entry.name.clone()) {
                return Err(Fault::invalid(format!("it has the entry '{}' twice", entry.name)));
            }
            entries.push(entry);
        }
        if !rest.0.is_empty() {
            return Err(Fault::invalid("its directory holds more than its entries"));
        }
        check(&entries, directory.start, length)?;
        Ok(Archive { inner, entries })
    }

    /// Reads an entry with `read`, which gets its unpacked bytes; the checksum is compared at the end.
    pub(crate) fn entry<T>(
        &mut self,
        entry: &ZipEntry,
        read: impl FnOnce(&mut dyn Read) -> Outcome<T>,
    ) -> Outcome<T> {
        let start = self.data_of(entry)?;
        self.inner.seek(SeekFrom::Start(start))?;
        let packed = (&mut self.inner).take(entry.packed);
        let unpacked: Box<dyn Read + '_> = match entry.method {
            STORED => Box::new(packed),
            _ => Box::new(DeflateDecoder::new(packed)),
        };
        let mut checked = Checked { inner: unpacked, sum: Hasher::new(), bytes: 0 };
        let value = read(&mut checked)?;
        // What was left unread, if anything, and whether there is more than was said.
        let mut end = [0u8; 1];
        if checked.bytes != entry.size || checked.read(&mut end)? != 0 {
            return Err(Fault::invalid("it does not unpack to the size that the archive says"));
        }
        if checked.sum.finalize() != entry.crc {
            return Err(Fault::invalid("its checksum does not fit its contents: the file is damaged"));
        }
        Ok(value)
    }

    /// Where an entry's bytes start, behind its local header.
    fn data_of(&mut self, entry: &ZipEntry) -> Outcome<u64> {
        self.inner.seek(SeekFrom::Start(entry.header))?;
        let mut bytes = [0u8; 30];
        self.inner.read_exact(&mut bytes)?;
        let mut fields = ZipFields(&bytes);
        if fields.u32()? != LOCAL {
            return Err(Fault::invalid("the archive's directory points at no entry"));
        }
        fields.skip(22)?;
        let (name, extra) = (fields.u16()?, fields.u16()?);
        let mut own = vec![0u8; usize::from(name)];
        self.inner.read_exact(&mut own)?;
        if own != entry.name.as_bytes() {
            return Err(Fault::invalid("the archive's directory gives it another name than its own header"));
        }
        Ok(entry.header + 30 + u64::from(name) + u64::from(extra))
    }
}

/// Entries must lie before the directory, one behind the other, and unpack to what their size allows.
fn check(entries: &[ZipEntry], directory: u64, length: u64) -> Outcome<()> {
    let mut places: Vec<&ZipEntry> = entries.iter().collect();
    sorted::sort_by_key(&mut places, |e| e.header);
    let mut free = 0u64;
    for entry in places {
        let least = 30 + entry.name.len() as u64;
        let end = entry.header.checked_add(least).and_then(|e| e.checked_add(entry.packed));
        match end.filter(|&end| entry.header >= free && end <= directory) {
            Some(end) => free = end,
            None => {
                return Err(Fault::invalid(format!(
                    "the entry '{}' lies over others or outside",
                    entry.name
                )));
            }
        }
        let most = match entry.method {
            STORED => entry.packed,
            _ => entry.packed.saturating_mul(MOST_EXPANSION),
        };
        if entry.size > most || (entry.method == STORED && entry.size != entry.packed) {
            let (name, packed, size) = (&entry.name, entry.packed, entry.size);
            return Err(Fault::invalid(format!(
                "the entry '{name}' claims to unpack {packed} bytes to {size}, which cannot be"
            )));
        }
    }
    let total = entries.iter().fold(0u64, |sum, e| sum.saturating_add(e.size));
    if total > FREELY_UNPACKED.max(length.saturating_mul(USUAL_EXPANSION)) {
        let text = format!(
            "its {length} bytes would unpack to {total}, more than {USUAL_EXPANSION} times as many; if that is meant, \
             store the arrays without compression"
        );
        return Err(Fault::invalid(text));
    }
    Ok(())
}

impl ZipEntry {
    fn parse(fields: &mut ZipFields) -> Outcome<ZipEntry> {
        if fields.u32()? != CENTRAL {
            return Err(Fault::invalid("its directory is damaged"));
        }
        fields.skip(4)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.skip(4)?;
        let crc = fields.u32()?;
        let (packed, size) = (fields.u32()?, fields.u32()?);
        let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        fields.skip(6)?;
        let header = fields.u32()?;
        let name = fields.take(usize::from(name))?;
        let name = std::str::from_utf8(name)
            .map_err(|_| Fault::invalid(format!("the name of an entry is no UTF-8: {}", shown(name))))?;
        let mut wide = ZipFields(extra_64(fields.take(usize::from(extra))?)?);
        fields.skip(usize::from(comment))?;
        let mut full = |value: u32| if value == ESCAPE { wide.u64() } else { Ok(u64::from(value)) };
        let (size, packed, header) = (full(size)?, full(packed)?, full(header)?);
        let reason = match method {
            _ if flags & ENCRYPTED != 0 => "is encrypted",
            _ if disk != 0 && disk != u16::MAX => "lies in another file of a split archive",
            STORED | DEFLATED => {
                return Ok(ZipEntry { name: name.into(), size, packed, method, crc, header });
            }
            _ => "is compressed in another way than deflate",
        };
        Err(Fault::invalid(format!("the entry '{}' {reason}", shown(name.as_bytes()))))
    }
}

/// The 64-bit field among extra fields; empty where there is none.
fn extra_64(extra: &[u8]) -> Outcome<&[u8]> {
    let mut fields = ZipFields(extra);
    while fields.0.len() >= 4 {
        let (id, length) = (fields.u16()?, fields.u16()?);
        let content = fields.take(usize::from(length))?;
        if id == EXTRA_64 {
            return Ok(content);
        }
    }
    Ok(&[])
}

/// Where the central directory lies.
struct Directory {
    start: u64,
    bytes: u64,
    entries: u64,
}

impl Directory {
    fn find<R: Read + Seek>(inner: &mut R, length: u64) -> Outcome<Directory> {
        let tail_at = length.saturating_sub(TAIL);
        inner.seek(SeekFrom::Start(tail_at))?;
        let mut tail = Vec::new();
        inner.take(TAIL).read_to_end(&mut tail)?;
        let starts = tail.windows(4).rposition(|w| w == END.to_le_bytes());
        let at = starts.ok_or_else(|| Fault::invalid("it is no zip archive, or it was cut off"))?;
        let mut end = ZipFields(tail.get(at + 4..).unwrap_or_default());
        end.skip(4)?;
        let entries = end.u32()? >> 16;
        let (bytes, start, comment) = (end.u32()?, end.u32()?, end.u16()?);
        let end_at = tail_at + at as u64;
        if end_at + 22 + u64::from(comment) != length {
            return Err(Fault::invalid("bytes are missing at its end, or follow it"));
        }
        let wide = bytes == ESCAPE || start == ESCAPE || entries == u32::from(u16::MAX);
        let directory = match wide {
            true => Directory::wide(inner, end_at)?,
            false => Directory { start: start.into(), bytes: bytes.into(), entries: entries.into() },
        };
        if directory.start.checked_add(directory.bytes).is_none_or(|e| e > end_at) {
            return Err(Fault::invalid("its directory lies outside the file"));
        }
        if directory.entries.saturating_mul(46) > directory.bytes {
            return Err(Fault::invalid("its directory has no room for the entries it claims"));
        }
        Ok(directory)
    }

    /// From the 64-bit end record, which a locator in front of the end record points at.
    fn wide<R: Read + Seek>(inner: &mut R, end_at: u64) -> Outcome<Directory> {
        let damaged = || Fault::invalid("its 64-bit directory is damaged");
        inner.seek(SeekFrom::Start(end_at.checked_sub(20).ok_or_else(damaged)?))?;
        let mut bytes = [0u8; 20];
        inner.read_exact(&mut bytes)?;
        let mut locator = ZipFields(&bytes);
        if locator.u32()? != LOCATOR_64 {
            return Err(damaged());
        }
        locator.skip(4)?;
        inner.seek(SeekFrom::Start(locator.u64()?.min(end_at)))?;
        let mut bytes = [0u8; 56];
        inner.read_exact(&mut bytes)?;
        let mut end = ZipFields(&bytes);
        if end.u32()? != END_64 {
            return Err(damaged());
        }
        end.skip(28)?;
        let (entries, bytes, start) = (end.u64()?, end.u64()?, end.u64()?);
        Ok(Directory { start, bytes, entries })
    }
}

/// Little-endian numbers, one after the other.
struct ZipFields<'a>(&'a [u8]);

impl<'a> ZipFields<'a> {
    fn take(&mut self, n: usize) -> Outcome<&'a [u8]> {
        let (now, later) =
            self.0.split_at_checked(n).ok_or_else(|| Fault::invalid("its directory is cut off"))?;
        self.0 = later;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        Ok(self.take(N)?.try_into().unwrap_or([0; N]))
    }

    fn skip(&mut self, n: usize) -> Outcome<()> {
        self.take(n).map(|_| ())
    }

    fn u16(&mut self) -> Outcome<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Outcome<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Outcome<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Counts and sums what passes.
struct Checked<'a> {
    inner: Box<dyn Read + 'a>,
    sum: Hasher,
    bytes: u64,
}

impl Read for Checked<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(to)?;
        self.sum.update(to.get(..n).unwrap_or_default());
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The start of a name, for an error.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(60).collect()
}
