//! Writing an archive.

use std::io::{Seek, SeekFrom, Write};

use crc32fast::Hasher;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::super::fault::Outcome;
use super::format::{CENTRAL, DEFLATED, END, END_64, ESCAPE, EXTRA_64, LOCAL, LOCATOR_64, STORED, UTF_8};

/// From this size on an entry's sizes stand in 64-bit fields: deflate may make it a little longer.
const WIDE: u64 = 0xfff0_0000;
/// 1980-01-01, the first day that the format knows: the same values give the same bytes.
const DATE: u16 = 0x21;

/// Writes entries one after the other, and the directory at the end.
pub(crate) struct ZipWriter<W> {
    out: W,
    written: Vec<Written>,
}

struct Written {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    header: u64,
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(crate) fn new(out: W) -> ZipWriter<W> {
        ZipWriter { out, written: Vec::new() }
    }

    /// Adds an entry of `size` bytes, which `fill` writes.
    pub(crate) fn entry(
        &mut self,
        name: &str,
        size: u64,
        deflate: bool,
        fill: impl FnOnce(&mut dyn Write) -> Outcome<()>,
    ) -> Outcome<()> {
        let header = self.out.stream_position()?;
        let method = if deflate { DEFLATED } else { STORED };
        let mut entry = Written { name: name.into(), method, crc: 0, packed: size, size, header };
        self.out.write_all(&entry.local())?;
        let start = self.out.stream_position()?;
        entry.crc = if deflate {
            let mut packed = DeflateEncoder::new(&mut self.out, Compression::default());
            let crc = filled(&mut packed, fill)?;
            packed.finish()?;
            crc
        } else {
            filled(&mut self.out, fill)?
        };
        let end = self.out.stream_position()?;
        entry.packed = end - start;
        // The header again, now that everything is known.
        self.out.seek(SeekFrom::Start(header))?;
        self.out.write_all(&entry.local())?;
        self.out.seek(SeekFrom::Start(end))?;
        self.written.push(entry);
        Ok(())
    }

    /// Writes the directory.
    pub(crate) fn finish(mut self) -> Outcome<()> {
        let start = self.out.stream_position()?;
        for entry in &self.written {
            self.out.write_all(&entry.central())?;
        }
        let end = self.out.stream_position()?;
        let (bytes, count) = (end - start, self.written.len() as u64);
        let mut tail = Vec::new();
        if count >= u64::from(u16::MAX) || start >= u64::from(ESCAPE) || bytes >= u64::from(ESCAPE) {
            tail.extend(END_64.to_le_bytes());
            tail.extend(44u64.to_le_bytes());
            tail.extend([45, 0, 45, 0]);
            tail.extend([0; 8]);
            for number in [count, count, bytes, start] {
                tail.extend(number.to_le_bytes());
            }
            tail.extend(LOCATOR_64.to_le_bytes());
            tail.extend([0; 4]);
            tail.extend(end.to_le_bytes());
            tail.extend(1u32.to_le_bytes());
        }
        tail.extend(END.to_le_bytes());
        tail.extend([0; 4]);
        for _ in 0..2 {
            tail.extend((count.min(u16::MAX.into()) as u16).to_le_bytes());
        }
        tail.extend(narrow(bytes).to_le_bytes());
        tail.extend(narrow(start).to_le_bytes());
        tail.extend([0; 2]);
        self.out.write_all(&tail)?;
        Ok(())
    }
}

/// Lets `fill` write to `out` and gives the checksum of what it wrote.
fn filled(out: &mut dyn Write, fill: impl FnOnce(&mut dyn Write) -> Outcome<()>) -> Outcome<u32> {
    let mut summed = Summed { out, sum: Hasher::new() };
    fill(&mut summed)?;
    Ok(summed.sum.finalize())
}

impl Written {
    fn is_wide(&self) -> bool {
        self.size >= WIDE
    }

    /// What both headers have in common, from the version needed to the length of the name.
    fn common(&self, bytes: &mut Vec<u8>) {
        let wide = self.is_wide() || self.header >= u64::from(ESCAPE);
        let flags = if self.name.is_ascii() { 0 } else { UTF_8 };
        for field in [if wide { 45 } else { 20 }, flags, self.method, 0, DATE] {
            bytes.extend(u16::to_le_bytes(field));
        }
        bytes.extend(self.crc.to_le_bytes());
        for size in [self.packed, self.size] {
            bytes.extend(if self.is_wide() { ESCAPE } else { narrow(size) }.to_le_bytes());
        }
        bytes.extend((self.name.len() as u16).to_le_bytes());
    }

    fn local(&self) -> Vec<u8> {
        let mut bytes = LOCAL.to_le_bytes().to_vec();
        self.common(&mut bytes);
        let extra = if self.is_wide() { extra(&[self.size, self.packed]) } else { Vec::new() };
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(extra);
        bytes
    }

    fn central(&self) -> Vec<u8> {
        let mut bytes = CENTRAL.to_le_bytes().to_vec();
        bytes.extend([45, 0]);
        self.common(&mut bytes);
        let mut numbers = if self.is_wide() { vec![self.size, self.packed] } else { Vec::new() };
        if self.header >= u64::from(ESCAPE) {
            numbers.push(self.header);
        }
        let extra = if numbers.is_empty() { Vec::new() } else { extra(&numbers) };
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend([0; 10]);
        bytes.extend(narrow(self.header).to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(extra);
        bytes
    }
}

fn extra(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = EXTRA_64.to_le_bytes().to_vec();
    bytes.extend((8 * numbers.len() as u16).to_le_bytes());
    bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    bytes
}

/// A 32-bit field, or the mark of a number that stands elsewhere.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(ESCAPE)
}

struct Summed<'a> {
    out: &'a mut dyn Write,
    sum: Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sum.update(bytes.get(..n).unwrap_or_default());
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
