//! Archives written by hand, good and bad.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tensorlab::lesson::pack::hash;

/// An entry as it is to be written, true or not.
#[derive(Clone)]
pub struct Entry {
    pub path: Vec<u8>,
    pub bytes: Vec<u8>,
    pub kind: u8,
    /// The size to claim; the bytes' own where none is given.
    pub claim: Option<u64>,
    pub link: &'static str,
}

pub fn entry(path: &str, bytes: &[u8]) -> Entry {
    Entry { path: path.into(), bytes: bytes.into(), kind: b'0', claim: None, link: "" }
}

/// The header of an entry, with the right sum.
pub fn header(entry: &Entry) -> [u8; 512] {
    let mut block = [0; 512];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &entry.path);
    put(100, b"0000644\x000000000\x000000000\x00");
    put(124, format!("{:011o}\0", entry.claim.unwrap_or(entry.bytes.len() as u64)).as_bytes());
    put(136, b"00000000000\0        ");
    put(156, &[entry.kind]);
    put(157, entry.link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Entries as tar has them, the end included.
pub fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        out.extend_from_slice(&header(entry));
        out.extend_from_slice(&entry.bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap()
}

/// The list of files that an archive begins with: path, bytes, sum.
pub fn list(files: &[(String, u64, String)]) -> Entry {
    let files: Vec<_> = files
        .iter()
        .map(|(path, bytes, sum)| serde_json::json!({"path": path, "bytes": bytes, "sha256": sum}))
        .collect();
    let text = serde_json::json!({"format_version": 1, "files": files}).to_string();
    entry("contents.json", text.as_bytes())
}

/// The true list of entries.
pub fn listed(entries: &[Entry]) -> Entry {
    let one = |entry: &Entry| {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        (path, entry.bytes.len() as u64, hash::of(&entry.bytes))
    };
    list(&entries.iter().map(one).collect::<Vec<_>>())
}

/// The files of a small pack that is fine, sorted.
pub fn good(version: &str) -> Vec<Entry> {
    let lesson = "+++\nid = \"one\"\ntitle = \"One\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
        devices = [\"cpu\"]\n+++\n\n# One\n\n[data](assets/a.bin)\n\n```rhai run id=\"a\"\nlet a = 1;\n```\n";
    let manifest = format!(
        "format_version = 1\nid = \"small\"\nversion = \"{version}\"\ntitle = \"Small\"\nauthors = [\"A\"]\n\
         license = \"MIT\"\nrequires_tensorlab = \"0.1.0\"\nlessons = [\"one.md\"]\n"
    );
    vec![
        entry("assets/a.bin", &[7; 700]),
        entry("lessons/one.md", lesson.as_bytes()),
        entry("pack.toml", manifest.as_bytes()),
    ]
}

/// The archive of files with a true list.
pub fn archive(files: &[Entry]) -> Vec<u8> {
    gzip(&tar(&[&[listed(files)], files].concat()))
}
