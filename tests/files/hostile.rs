//! Files that lie: cut off, with false sizes, twice the same, too deep, or leading elsewhere.

use std::io::{Cursor, Write};

use tensorlab::data::files::{Format, read};

use super::Folder;

/// The error of some bytes.
fn error(format: Format, bytes: &[u8]) -> String {
    match read(format, Cursor::new(bytes), bytes.len() as u64, "evil") {
        Ok(value) => panic!("taken: {value:?}"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("ValueError: evil: "), "{text}");
            text
        }
    }
}

fn refused(format: Format, bytes: &[u8], words: &str) {
    let text = error(format, bytes);
    assert!(text.contains(words), "{words:?} is not in {text}");
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn npy_of(shape: &str, data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn npy_headers_that_lie() {
    let f = Format::Npy;
    refused(f, b"", "ends before");
    refused(f, b"NUMPY\x01\x00\x00\x00\x00\x00\x00", "does not start as a .npy file");
    refused(
        f,
        &npy_of("(1000000000000000000,)", &[0; 8]),
        "takes 4000000000000000000 bytes, and 8 are there",
    );
    refused(f, &npy_of("(5000000000000000000,)", &[0; 8]), "more than any memory holds");
    refused(f, &npy_of("(250000000000,)", &[0; 8]), "takes 1000000000000 bytes, and 8 are there");
    refused(f, &npy_of("(4294967296, 4294967296, 4294967296)", &[]), "more than any memory holds");
    refused(f, &npy_of("(99999999999999999999999,)", &[]), "a size is expected");
    refused(f, &npy_of("(-1,)", &[]), "a size is expected");
    refused(f, &npy_of("(1,)", &[0; 5]), "1 byte follows the array");
    refused(f, &npy_of(&format!("({})", "1,".repeat(65)), &[0; 4]), "more than 64 dimensions");
    refused(f, &npy_of(&"(".repeat(9000), &[]), "a size is expected");
    refused(f, &npy("{'descr': '<f4', 'descr': '<f4', 'shape': (), }", &[]), "'descr' twice");
    refused(f, &npy("{'descr': '<f4', 'order': 'C'}", &[]), "unknown key 'order'");
    refused(f, &npy("{'descr': '<f4'}", &[]), "lacks");
    refused(f, &npy("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", &[]), "True or False");
    refused(
        f,
        &npy("{'descr': '!f4', 'fortran_order': True, 'shape': ()}", &[0; 4]),
        "that tensors do not have",
    );
    refused(
        f,
        &npy("{'descr': '<f4', 'fortran_order': True, 'shape': ()} + x", &[0; 4]),
        "its end is expected",
    );
    let mut wide = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    wide.extend([b' '; 64]);
    refused(f, &wide, "its header claims 4294967295 bytes");
    refused(f, b"\x93NUMPY\x04\x00\x00\x00", "version 4.0");
    let mut letters = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", &[0; 4]);
    letters[20] = 0xff;
    refused(f, &letters, "its header is no text");
}

#[test]
fn safetensors_headers_that_lie() {
    let f = Format::Safetensors;
    let one = |offsets: &str, shape: &str| {
        format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    for size in [u64::MAX, 1_000_000_000_000_000_000, 1 << 40, 100_000_001] {
        let mut bytes = size.to_le_bytes().to_vec();
        bytes.extend(b"{}");
        refused(f, &bytes, &format!("its header claims {size} bytes"));
    }
    refused(f, &[1, 2, 3], "ends before");
    refused(f, &safetensors("[]", &[]), "does not start with '{'");
    refused(f, &safetensors("{\"a\"", &[]), "its header: EOF");
    refused(f, &safetensors(&one("[0,4]", "[1]"), &[0; 5]), "1 byte belongs to no tensor");
    refused(f, &safetensors(&one("[0,8]", "[2]"), &[0; 4]), "lie outside");
    refused(f, &safetensors(&one("[4,8]", "[1]"), &[0; 8]), "leave a gap");
    refused(f, &safetensors(&one("[4,0]", "[1]"), &[0; 4]), "overlap");
    refused(f, &safetensors(&one("[0,4]", "[2]"), &[0; 4]), "takes 8 bytes and has 4");
    refused(f, &safetensors(&one("[0,4]", "[4294967296,4294967296]"), &[0; 4]), "more than any memory holds");
    refused(f, &safetensors(&one("[0,4]", "[-1]"), &[0; 4]), "its header: invalid value");
    refused(f, &safetensors(&one("[0,99999999999999999999]", "[1]"), &[0; 4]), "its header: ");
    let many = format!("[{}1]", "1,".repeat(64));
    refused(f, &safetensors(&one("[0,4]", &many), &[0; 4]), "at most 64 sizes");
    let twice = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    refused(f, &safetensors(twice, &[0; 2]), "'a' stands there twice");
    let overlap = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    refused(f, &safetensors(overlap, &[0; 3]), "overlap");
    refused(f, &safetensors(&"{\"a\":".repeat(100_000), &[]), "its header: ");
    let deep =
        format!(r#"{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":{}}}}}"#, "[".repeat(100_000));
    refused(f, &safetensors(&deep, &[]), "its header: ");
    refused(f, &safetensors(r#"{"__metadata__":{"a":1}}"#, &[]), "its header: ");
    refused(f, &safetensors(r#"{"__metadata__":{"a":"1","a":"2"}}"#, &[]), "'a' stands there twice");
    let structure =
        |s: &str| safetensors(&format!(r#"{{"__metadata__":{{"tensorlab.structure":{s:?}}}}}"#), &[]);
    refused(f, &structure("{\"tensor\":\"x\"}"), "the tensor 'x', which is not there");
    refused(f, &structure("{\"what\":1}"), "names something unknown");
    refused(f, &structure(&"[".repeat(500)), "its structure: ");
    let mut letters = safetensors("{\"abc\":1}", &[]);
    letters[11] = 0xff;
    refused(f, &letters, "its header is no UTF-8");
}

/// One entry of an archive in the making; every field says what it says, whether true or not.
struct Raw<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    size: u32,
    crc: u32,
    data: Vec<u8>,
}

impl<'a> Raw<'a> {
    fn stored(name: &'a [u8], data: &[u8]) -> Raw<'a> {
        Raw {
            name,
            flags: 0,
            method: 0,
            size: data.len() as u32,
            crc: crc32fast::hash(data),
            data: data.to_vec(),
        }
    }

    fn deflated(name: &'a [u8], data: &[u8]) -> Raw<'a> {
        let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(data).unwrap();
        Raw { method: 8, data: out.finish().unwrap(), ..Raw::stored(name, data) }
    }

    fn common(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [20, self.flags, self.method, 0, 0] {
            bytes.extend(u16::to_le_bytes(field));
        }
        for field in [self.crc, self.data.len() as u32, self.size] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes
    }
}

/// An archive whose directory has each entry at the place that `place` makes of the true one.
fn zip(entries: &[Raw], place: impl Fn(usize, u32) -> u32) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (i, entry) in entries.iter().enumerate() {
        let at = place(i, bytes.len() as u32);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(entry.common());
        bytes.extend([0; 2]);
        bytes.extend(entry.name);
        bytes.extend(&entry.data);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(entry.common());
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(entry.name);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
    for _ in 0..2 {
        bytes.extend((entries.len() as u16).to_le_bytes());
    }
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn plain(entries: &[Raw]) -> Vec<u8> {
    zip(entries, |_, at| at)
}

#[test]
fn archives_that_lie() {
    let f = Format::Npz;
    let array = npy_of("(4,)", &[1; 16]);
    let good = |name| Raw::stored(name, &array);
    let whole = plain(&[good(b"a.npy"), Raw::deflated(b"b.npy", &array)]);
    assert!(read(f, Cursor::new(&whole), whole.len() as u64, "good").is_ok());

    refused(f, b"", "no zip archive");
    refused(f, &[b'x'; 100_000], "no zip archive");
    refused(f, &[&whole[..], b"more"].concat(), "bytes are missing at its end, or follow it");
    refused(f, &plain(&[good(b"a.npy"), good(b"a.npy")]), "the entry 'a.npy' twice");
    refused(f, &zip(&[good(b"a.npy"), good(b"b.npy")], |_, _| 0), "lies over others");
    refused(f, &zip(&[good(b"a.npy")], |_, _| 1 << 30), "lies over others or outside");
    refused(f, &zip(&[good(b"a.npy")], |_, _| 3), "lies over others or outside");
    refused(f, &plain(&[Raw { flags: 1, ..good(b"a.npy") }]), "is encrypted");
    refused(f, &plain(&[Raw { method: 12, ..good(b"a.npy") }]), "another way than deflate");
    refused(f, &plain(&[Raw { crc: 1, ..good(b"a.npy") }]), "checksum");
    refused(f, &plain(&[Raw { size: 17, ..good(b"a.npy") }]), "which cannot be");
    refused(f, &plain(&[Raw { size: u32::MAX - 1, ..Raw::deflated(b"a.npy", &array) }]), "which cannot be");
    refused(f, &plain(&[Raw { size: 500, ..Raw::deflated(b"a.npy", &array) }]), "bytes follow the array");
    refused(
        f,
        &plain(&[Raw::deflated(b"a.npy", &npy_of("(5,)", &[1; 16]))]),
        "takes 20 bytes, and 16 are there",
    );
    let mut torn = Raw::deflated(b"a.npy", &array);
    torn.data.truncate(20);
    error(f, &plain(&[torn]));
    refused(f, &plain(&[good(b"a.txt")]), "does not end in .npy");
}

#[test]
fn names_that_lead_elsewhere() {
    let array = npy_of("(4,)", &[1; 16]);
    for (name, words) in [
        (&b"../a.npy"[..], "leads out of its folder"),
        (b"a/../../b.npy", "leads out of its folder"),
        (b"a//b.npy", "leads out of its folder"),
        (b"/etc/a.npy", "is no relative path"),
        (b"a\\..\\b.npy", "is no relative path"),
        (b"C:a.npy", "is no relative path"),
        (b".npy", "is empty"),
        (b"a\x00b.npy", "control characters"),
        (b"a\x1b[31m.npy", "control characters"),
        (b"\xff\xfe.npy", "is no UTF-8"),
    ] {
        refused(Format::Npz, &plain(&[Raw::stored(name, &array)]), words);
    }
}

#[test]
fn zip_bombs_are_refused_before_they_are_unpacked() {
    let bomb = |packed: usize, size: u32| Raw { size, data: vec![0; packed], ..Raw::deflated(b"a.npy", b"") };
    let start = std::time::Instant::now();
    refused(Format::Npz, &plain(&[bomb(4 << 20, 4_000_000_000)]), "more than 100 times as many");
    let names: Vec<String> = (0..1100).map(|i| format!("{i}.npy")).collect();
    let many: Vec<Raw> = names.iter().map(|n| Raw { name: n.as_bytes(), ..bomb(1000, 1_000_000) }).collect();
    refused(Format::Npz, &plain(&many), "more than 100 times as many");
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn files_that_are_cut_off_anywhere() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/files");
    for (format, name) in [
        (Format::Npy, "float32.npy"),
        (Format::Npy, "big_endian_fortran.npy"),
        (Format::Npz, "deflated.npz"),
        (Format::Npz, "unnamed.npz"),
        (Format::Safetensors, "all.safetensors"),
    ] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        for end in 0..bytes.len() {
            error(format, &bytes[..end]);
        }
    }
}

/// Each lying file from a script, in a process that may not have more than 3 GiB of address space.
#[cfg(target_os = "linux")]
#[test]
fn lies_take_no_memory() {
    let here = Folder::new("memory");
    let array = npy_of("(4,)", &[1; 16]);
    let bomb = Raw { size: 1 << 30, data: vec![0; 2 << 20], ..Raw::deflated(b"a.npy", b"") };
    let files = [
        ("a.npy", npy_of("(100000000000000,)", &array)),
        ("b.npz", plain(&[bomb])),
        ("c.safetensors", {
            let mut bytes = 1_000_000_000_000_000_000u64.to_le_bytes().to_vec();
            bytes.extend(b"{}");
            bytes
        }),
        ("d.safetensors", {
            let header = r#"{"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,100000000000]}}"#;
            safetensors(header, &[0; 64])
        }),
    ];
    let mut script = String::from("let n = 0;\n");
    for (name, bytes) in &files {
        std::fs::write(here.path(name), bytes).unwrap();
        script += &format!(
            "try {{ load(\"{name}\") }} catch (e) {{ if e.kind == \"ValueError\" {{ n += 1; }} else {{ print(e) }} }}\n"
        );
    }
    std::fs::write(here.path("s.rhai"), script + "print(n)").unwrap();
    let out = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 3000000; exec \"$0\" run s.rhai", env!("CARGO_BIN_EXE_tensorlab")])
        .current_dir(&here.0)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(text.trim(), "4", "{}", String::from_utf8_lossy(&out.stderr));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let mut lab = crate::nn::Lab::new();
    let here = Folder::new("pipes");
    std::fs::create_dir(here.path("folder.npy")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", here.path("zero.npy")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(here.path("pipe.npz")).status().unwrap();
    assert!(pipe.success());
    for (name, words) in
        [("folder.npy", "a folder"), ("zero.npy", "no regular file"), ("pipe.npz", "no regular file")]
    {
        let (text, _) = lab.error(&format!("load(\"{}\")", here.text(name)));
        assert!(text.contains(words), "{text}");
        let (text, _) = lab.error(&format!("save([ones(1)][0], \"{}\")", here.text(name)));
        assert!(text.contains("no regular file") || text.contains("cannot write"), "{text}");
    }
}
