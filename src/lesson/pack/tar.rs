//! Headers of tar archives as POSIX has them (ustar): regular files only.

use std::io::{self, Read};

use super::error::PackError;

/// Tar counts in blocks of so many bytes.
pub(super) const BLOCK: usize = 512;

/// Places and lengths of a header's fields.
const NAME: (usize, usize) = (0, 100);
const SIZE: (usize, usize) = (124, 12);
const SUM: (usize, usize) = (148, 8);
const KIND: usize = 156;
const LINK: (usize, usize) = (157, 100);
const MAGIC: (usize, usize) = (257, 8);
const PREFIX: (usize, usize) = (345, 155);

/// What is said of a file before its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub path: String,
    pub bytes: u64,
}

type TarBlock = [u8; BLOCK];

impl Header {
    /// The header of a file that everyone may read, of no time and nobody.
    ///
    /// # Errors
    /// A path or a size that does not fit.
    pub(crate) fn to_block(&self) -> io::Result<TarBlock> {
        let mut block = [0; BLOCK];
        if self.path.len() > NAME.1 || self.bytes >= 1 << 33 {
            return Err(io::Error::other("its name or size does not fit"));
        }
        put(&mut block, 0, self.path.as_bytes());
        put(&mut block, 100, b"0000644\x000000000\x000000000\x00");
        put(&mut block, SIZE.0, format!("{:011o}\0", self.bytes).as_bytes());
        put(&mut block, 136, b"00000000000\0");
        put(&mut block, KIND, b"0");
        put(&mut block, MAGIC.0, b"ustar\x0000");
        let sum = format!("{:06o}\0 ", sum(&block));
        put(&mut block, SUM.0, sum.as_bytes());
        Ok(block)
    }

    /// Reads a header; none at the end of the archive.
    ///
    /// # Errors
    /// What is damaged, and every entry that is no regular file.
    pub(super) fn read(from: &mut impl Read) -> Result<Option<Header>, PackError> {
        let block = block(from)?;
        if block == [0; BLOCK] {
            // The end is two such blocks.
            return match self::block(from)? {
                second if second == [0; BLOCK] => Ok(None),
                _ => Err(PackError::refused("the archive goes on after its end")),
            };
        }
        if number(field(&block, SUM)) != Some(u64::from(sum(&block)))
            || field(&block, MAGIC) != b"ustar\x0000"
        {
            return Err(damaged("this is no tar archive (ustar), or it is damaged"));
        }
        let path = text(&block)?;
        regular(&block, &path)?;
        let Some(bytes) = number(field(&block, SIZE)) else {
            return Err(damaged(format!("the archive has no size for `{path}`")));
        };
        Ok(Some(Header { path, bytes }))
    }
}

/// Refuses what is no regular file, in words.
fn regular(block: &TarBlock, path: &str) -> Result<(), PackError> {
    let kind = match field(block, (KIND, 1)) {
        b"0" if field(block, LINK).iter().all(|&b| b == 0) => return Ok(()),
        b"0" => "a file with the name of a link",
        b"1" => "a hard link",
        b"2" => "a symbolic link",
        b"3" | b"4" => "a device",
        b"5" => "a folder of its own",
        b"6" => "a pipe",
        _ => "an entry of another kind",
    };
    Err(PackError::hinted(
        format!("the archive has {kind}, `{path}`: a pack has regular files only"),
        "`tensorlab pack build` makes such archives",
    ))
}

/// The whole name, prefix included.
fn text(block: &TarBlock) -> Result<String, PackError> {
    let part = |at| {
        let bytes = field(block, at);
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        let (name, rest) = bytes.split_at_checked(end).unwrap_or_default();
        rest.iter().all(|&b| b == 0).then_some(name).and_then(|name| std::str::from_utf8(name).ok())
    };
    match (part(PREFIX), part(NAME)) {
        (Some(""), Some(name)) => Ok(name.to_owned()),
        (Some(prefix), Some(name)) => Ok(format!("{prefix}/{name}")),
        _ => Err(damaged("the archive has a name that is no text")),
    }
}

/// Hands over so many bytes in pieces, and passes over what fills the last block.
pub(super) fn take(
    from: &mut impl Read,
    bytes: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), PackError> {
    let mut buffer = vec![0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let room = buffer.get_mut(..most).unwrap_or_default();
        from.read_exact(room).map_err(unread)?;
        each(room).map_err(PackError::io("write what the archive holds"))?;
        left -= most as u64;
    }
    let mut filled = [0; BLOCK];
    let rest = filled.get_mut(..padding(bytes).len()).unwrap_or_default();
    from.read_exact(rest).map_err(unread)?;
    match rest.iter().all(|&b| b == 0) {
        true => Ok(()),
        false => Err(damaged("the archive has something between two files")),
    }
}

/// What fills the last block of a file.
pub(super) fn padding(bytes: u64) -> &'static [u8] {
    const ZEROS: TarBlock = [0; BLOCK];
    let over = (bytes % BLOCK as u64) as usize;
    let missing = if over == 0 { 0 } else { BLOCK - over };
    ZEROS.get(..missing).unwrap_or_default()
}

/// Why the archive's bytes can't be had.
pub(super) fn unread(error: io::Error) -> PackError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("the archive ends early, or this is none"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            damaged(format!("this is no archive of a pack, or it is damaged: {error}"))
        }
        _ => PackError::Io { doing: "read the archive".into(), error },
    }
}

fn damaged(message: impl Into<String>) -> PackError {
    PackError::hinted(message, "get the archive again, or build it with `tensorlab pack build`")
}

fn block(from: &mut impl Read) -> Result<TarBlock, PackError> {
    let mut block = [0; BLOCK];
    from.read_exact(&mut block).map_err(unread)?;
    Ok(block)
}

fn field(block: &TarBlock, (start, length): (usize, usize)) -> &[u8] {
    block.get(start..start + length).unwrap_or_default()
}

fn put(block: &mut TarBlock, start: usize, bytes: &[u8]) {
    if let Some(place) = block.get_mut(start..start + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Octal digits, ended by zeros or spaces; nothing else, such as the binary numbers of other formats.
fn number(field: &[u8]) -> Option<u64> {
    let end = field.iter().position(|&b| b == 0 || b == b' ').unwrap_or(field.len());
    let (digits, rest) = field.split_at_checked(end)?;
    let plain = !digits.is_empty()
        && digits.iter().all(|b| (b'0'..=b'7').contains(b))
        && rest.iter().all(|&b| b == 0 || b == b' ');
    plain.then(|| digits.iter().fold(0u64, |n, &b| (n << 3) | u64::from(b - b'0')))
}

/// The sum of a header's bytes, its own field counted as spaces.
fn sum(block: &TarBlock) -> u32 {
    let own = SUM.0..SUM.0 + SUM.1;
    block.iter().enumerate().map(|(at, &b)| u32::from(if own.contains(&at) { b' ' } else { b })).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (path, bytes) in [("pack.toml", 0), (&*"a".repeat(100), (1 << 33) - 1)] {
            let header = Header { path: path.into(), bytes };
            let block = header.to_block().unwrap();
            assert_eq!(Header::read(&mut block.as_slice()).unwrap(), Some(header));
        }
        assert!(Header { path: "a".repeat(101), bytes: 0 }.to_block().is_err());
        assert!(Header { path: "a".into(), bytes: 1 << 33 }.to_block().is_err());
    }

    #[test]
    fn every_changed_byte_of_a_header_is_seen() {
        let block = Header { path: "assets/a".into(), bytes: 100 }.to_block().unwrap();
        for at in 0..BLOCK {
            let mut changed = block;
            changed[at] ^= 0x41;
            assert!(Header::read(&mut changed.as_slice()).is_err(), "{at}");
        }
        assert!(Header::read(&mut &block[..511]).is_err());
    }

    #[test]
    fn numbers_are_octal_alone() {
        assert_eq!(number(b"00000000144\0"), Some(100));
        assert_eq!(number(b"144 \0"), Some(100));
        for bad in [&b"\0"[..], b"", b"8\0", b"-1\0", b"1\x002", b"\x80\0\0\0\x01", b" 1\0"] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }
}
