//! Archives that mean harm: each refused for its reason, and nothing is left of it.

use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use tensorlab::lesson::pack::hash;
use tensorlab::lesson::pack::store::{Replace, Store};

use super::archive::{Entry, archive, entry, good, gzip, header, list, listed, tar};
use super::*;

/// Installs an archive, which must be refused with these words, into a place that must stay empty.
fn refused(name: &str, bytes: &[u8], words: &str) {
    let folder = Folder::new(&format!("hostile-{}", name.replace(' ', "-")));
    let file = folder.at("in/evil.tar.gz");
    std::fs::create_dir(folder.at("in")).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let before = files(&folder.0);
    let store = Store::at(&folder.at("data/tensorlab/packs"));
    let start = Instant::now();
    let error = store.install(&file, Replace::Any).map(|_| ()).expect_err(name).to_string();
    assert!(error.contains(words), "{name}: {words:?} is missing in: {error}");
    assert!(!error.contains('\u{1b}'), "{name}: {error:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
    assert_eq!(folder.installed(), Vec::<String>::new(), "{name}");
    std::fs::remove_dir_all(folder.at("data")).unwrap();
    assert_eq!(files(&folder.0), before, "{name} left something");
    assert!(store.ids().is_empty());
}

/// The good pack with another file, listed truly.
fn with(extra: Entry) -> Vec<u8> {
    archive(&[&[extra], good("1.0.0").as_slice()].concat())
}

#[test]
fn a_good_archive_made_by_hand_is_installed() {
    let folder = Folder::new("good");
    std::fs::write(folder.at("small.tar.gz"), archive(&good("1.0.0"))).unwrap();
    assert!(folder.says(&["pack", "install", "small.tar.gz"]).starts_with("installed small 1.0.0"));
    assert!(folder.says(&["lesson", "list"]).contains("small/one"));
}

#[test]
fn what_is_wrong_in_an_archive_is_told_by_its_path_in_it() {
    let folder = Folder::new("inside-archive");
    let mut entries = good("1.0.0");
    let lesson = entries.iter_mut().find(|entry| entry.path.ends_with(b".md")).unwrap();
    lesson.bytes = b"no lesson\n".to_vec();
    let name = String::from_utf8(lesson.path.clone()).unwrap();
    std::fs::write(folder.at("small.tar.gz"), archive(&entries)).unwrap();
    let told = folder.fails(&["pack", "install", "small.tar.gz"], 2);
    assert!(told.contains(&format!("small.tar.gz: {name}:1:1")) && !told.contains(".incoming"), "{told}");
    // Without its gzip layer, and where a folder is asked for.
    std::fs::write(folder.at("small.tar"), tar(&entries)).unwrap();
    assert!(folder.fails(&["pack", "install", "small.tar"], 2).contains("without the gzip layer"));
    for command in ["check", "preview"] {
        let told = folder.fails(&["pack", command, "small.tar.gz"], 2);
        assert!(told.contains("is a file") && told.contains("pack install FILE"), "{told}");
    }
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for (path, words) in [
        ("../evil", "leads out of the pack"),
        ("assets/../../../evil", "leads out of the pack"),
        ("..", "leads out of the pack"),
        ("/tmp/evil", "is absolute"),
        ("C:/evil", "a drive on some systems"),
        ("C:\\evil", "backslash"),
        ("..\\evil", "backslash"),
        ("assets//evil", "plain form"),
        ("./assets/evil", "plain form"),
        ("assets/.ssh", "hidden"),
        ("assets/e\u{1b}]0;evil\u{7}vil", "control character"),
        ("assets/line\nbreak", "control character"),
        ("assets/\u{202e}txt.exe", "a character other"),
        ("assets/CON", "no such name"),
        ("current", "no place for the file `current`"),
        ("run.sh", "no place for the file `run.sh`"),
        ("lessons/deep/one.md", "no place"),
        ("", "it is empty"),
    ] {
        refused(&format!("path {}", hash::of(path.as_bytes())), &with(entry(path, b"evil")), words);
        // The same in an entry behind those of the list.
        let files = good("1.0.0");
        let late = tar(&[&[listed(&files)], files.as_slice(), &[entry(path, b"evil")]].concat());
        let words = if words.contains("no place") { "its list lacks" } else { words };
        refused(&format!("late path {}", hash::of(path.as_bytes())), &gzip(&late), words);
    }
    refused("long", &with(entry(&format!("assets/{}", "a".repeat(93)), b"")), "");
    // A name in two parts, as tar has them for long ones.
    let mut block = header(&entry("evil", b""));
    block[345..348].copy_from_slice(b"../");
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, &b)| u32::from(if (148..156).contains(&at) { 32 } else { b }))
        .sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    refused(
        "prefix",
        &gzip(&[&tar(&[listed(&[])])[..1024], &block, &[0; 1024]].concat()),
        "leads out of the pack",
    );
    refused(
        "bytes",
        &gzip(&tar(&[Entry { path: b"\xff\xfe".into(), ..entry("", b"") }])),
        "a name that is no text",
    );
}

#[test]
fn what_is_no_regular_file_is_refused() {
    for (kind, link, words) in [
        (b'1', "pack.toml", "a hard link"),
        (b'2', "/etc/passwd", "a symbolic link"),
        (b'3', "", "a device"),
        (b'4', "", "a device"),
        (b'5', "", "a folder"),
        (b'6', "", "a pipe"),
        (b'7', "", "another kind"),
        (b'L', "", "another kind"),
        (b'x', "", "another kind"),
        (b'g', "", "another kind"),
        (b'S', "", "another kind"),
        (0, "", "another kind"),
        (b'0', "pack.toml", "the name of a link"),
    ] {
        let mut files = good("1.0.0");
        let list = listed(&files);
        files[0] = Entry { kind, link, ..files[0].clone() };
        let bytes = gzip(&tar(&[&[list], files.as_slice()].concat()));
        refused(&format!("kind {kind}"), &bytes, words);
        // Before the list, and in its place.
        let first = Entry { path: b"contents.json".into(), ..files[0].clone() };
        refused(&format!("first of kind {kind}"), &gzip(&tar(&[first])), words);
    }
}

#[test]
fn files_are_those_of_the_list_each_once_and_as_it_says() {
    let files = good("1.0.0");
    let listed_as = |files: &[Entry], entries: &[Entry]| gzip(&tar(&[&[listed(files)], entries].concat()));
    let mut twice = files.clone();
    twice.insert(0, files[0].clone());
    refused("twice", &archive(&twice), "has the file `assets/a.bin` twice");
    let mut cases = files.clone();
    cases.insert(0, entry("assets/A.bin", b"x"));
    refused("case", &archive(&cases), "upper and lower case being one");
    let mut folders = files.clone();
    folders.insert(0, entry("Assets/b.bin", b"x"));
    refused("case of a folder", &archive(&folders), "no place");
    refused("repeated", &listed_as(&files, &[files.clone(), files[2..].to_vec()].concat()), "twice");
    refused(
        "more",
        &listed_as(&files, &[files.clone(), vec![entry("assets/z", b"")]].concat()),
        "its list lacks: `assets/z`",
    );
    refused("undeclared", &listed_as(&files[1..], &files), "where its list has");
    refused("less", &listed_as(&files, &files[..2]), "lacks the file `pack.toml`");
    let swapped = [files[1].clone(), files[0].clone(), files[2].clone()];
    refused("order", &listed_as(&files, &swapped), "where its list has");
    refused("order of the list", &archive(&swapped), "not in order");
    let mut wrong = files.clone();
    wrong[0].bytes[10] ^= 1;
    refused("sum", &listed_as(&files, &wrong), "its SHA-256 is another");
    wrong[0].bytes.push(0);
    refused("longer", &listed_as(&files, &wrong), "has 701 bytes, 700 in the archive's list");
    refused("not listed at all", &gzip(&tar(&files)), "does not begin with a list");
    refused("empty", &gzip(&tar(&[])), "does not begin with a list");
    refused("nothing in the list", &archive(&[]), "pack.toml");
    let bad_sum = list(&[("pack.toml".into(), 1, "../x".into())]);
    refused("no sum", &gzip(&tar(&[bad_sum])), "no sum of");
    for (name, text) in [
        ("no json", "{"),
        ("other json", r#"{"format_version":1,"files":[{"path":"a","bytes":-1,"sha256":""}]}"#),
        ("unknown key", r#"{"format_version":1,"files":[],"run":"x"}"#),
        ("deep json", &"[".repeat(100_000)),
    ] {
        refused(name, &gzip(&tar(&[entry("contents.json", text.as_bytes())])), "list of files can't be read");
    }
    let later = entry("contents.json", br#"{"format_version":2,"files":[]}"#);
    refused("later format", &gzip(&tar(&[later])), "update tensorlab");
}

#[test]
fn a_pack_with_faults_or_anothers_id_is_refused_after_it_was_unpacked() {
    let changed = |from: &str, to: &str| {
        let mut files = good("1.0.0");
        let text = String::from_utf8(files[2].bytes.clone()).unwrap();
        assert!(text.contains(from));
        files[2].bytes = text.replace(from, to).into_bytes();
        archive(&files)
    };
    refused("course", &changed("\"small\"", "\"course\""), "built-in pack");
    refused("no manifest", &archive(&good("1.0.0")[..2]), "pack.toml");
    refused(
        "dataset",
        &changed("lessons =", "datasets = [{file = \"assets/b\", sha256 = \"\", license = \"\"}]\nlessons ="),
        "is empty",
    );
    refused("later", &changed("\"0.1.0\"", "\"9.1.0\""), "needs tensorlab 9.1.0");
    refused("stray", &with(entry("assets/0.bin", b"x")), "nothing in the pack names this file");
    refused("id", &changed("\"small\"", "\"../../evil\""), "can't be a pack's id");
}

#[test]
fn too_many_and_too_large_files_are_refused_from_the_list_alone() {
    let sum = || hash::of(b"");
    let many: Vec<_> = (0..1001).map(|n| (format!("assets/{n:05}"), 0, sum())).collect();
    refused("many", &gzip(&tar(&[list(&many)])), "1001 files");
    refused("large", &gzip(&tar(&[list(&[("assets/a".into(), (64 << 20) + 1, sum())])])), "too large");
    let sum_of_all: Vec<_> = (0..5).map(|n| (format!("assets/{n}"), 64 << 20, sum())).collect();
    refused("all too large", &gzip(&tar(&[list(&sum_of_all)])), "too large");
    let wide = list(&[("assets/a".into(), u64::MAX, sum()), ("assets/b".into(), u64::MAX, sum())]);
    refused("sums that overflow", &gzip(&tar(&[wide])), "too large");
    let files = good("1.0.0");
    let claim = Entry { claim: Some((1 << 33) - 1), ..files[0].clone() };
    refused("claim", &gzip(&tar(&[listed(&files), claim])), "8589934591 bytes, 700 in the archive's list");
    let long = Entry { claim: Some(1 << 30), ..entry("contents.json", b"") };
    refused("long list", &gzip(&tar(&[long])), "list of files has 1073741824 bytes");
}

/// A quarter of a gibibyte of zeros behind some bytes, as gzip: a quarter of a mebibyte.
fn bomb(start: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(start).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..256).for_each(|_| zip.write_all(&zeros).unwrap());
    zip.finish().unwrap()
}

#[test]
fn bombs_are_refused_at_their_first_byte_too_many() {
    refused("zeros", &bomb(&[]), "does not begin with a list");
    let files = good("1.0.0");
    let whole = tar(&[&[listed(&files)], files.as_slice()].concat());
    refused("zeros at the end", &bomb(&whole), "goes on after its end");
    let head = [listed(&files), Entry { claim: Some(1 << 28), ..entry("assets/a.bin", b"") }];
    let head = tar(&head);
    refused("zeros in a file", &bomb(&head[..head.len() - 1024]), "268435456 bytes");
    refused("a second stream", &[gzip(&whole), gzip(&whole)].concat(), "goes on after its end");
    refused("something behind", &[gzip(&whole), b"x".to_vec()].concat(), "goes on after its end");
}

/// With little more address space than the program itself takes, the bombs are refused for the same reasons.
#[cfg(target_os = "linux")]
#[test]
fn bombs_take_no_memory() {
    let folder = Folder::new("memory");
    let sum = hash::of(&vec![0; 20 << 20]);
    let listed: Vec<_> = (0..5).map(|n| (format!("assets/{n}"), 20 << 20, sum.clone())).collect();
    let first = tar(&[list(&listed), Entry { claim: Some(20 << 20), ..entry("assets/0", b"") }]);
    for (name, bytes, words) in [
        ("zeros", bomb(&[]), "does not begin with a list"),
        ("in bounds", bomb(&first[..first.len() - 1024]), "lacks the file `assets/1`"),
    ] {
        std::fs::write(folder.at("evil.tar.gz"), bytes).unwrap();
        let program = env!("CARGO_BIN_EXE_tensorlab");
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -v 85000; exec '{program}' pack install evil.tar.gz")])
            .current_dir(&folder.0)
            .env("XDG_DATA_HOME", folder.at("data"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert!(err(&output).contains(words), "{name}: {}", err(&output));
        assert!(folder.installed().is_empty());
    }
}

#[test]
fn what_is_no_file_is_not_opened() {
    let folder = Folder::new("devices");
    let mut sources = vec!["none.tar.gz".to_owned()];
    #[cfg(unix)]
    {
        let pipe = folder.at("pipe").display().to_string();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        sources.extend([pipe, "/dev/zero".into(), "/dev/null".into()]);
    }
    for source in sources {
        let start = Instant::now();
        let text = folder.fails(&["pack", "install", &source], 2);
        assert!(text.contains("no regular file") || text.contains("cannot read"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(10), "{source}");
        folder.fails(&["pack", "info", &source], 2);
    }
    assert!(folder.installed().is_empty());
}
