//! Damage by chance: archives cut or changed anywhere, noise, and installations that are killed.

use std::time::Duration;

use proptest::prelude::*;
use tensorlab::lesson::pack::store::{Replace, Store};
use tensorlab::lesson::pack::{Manifest, verify_archive};

use super::archive::{archive, entry, good, gzip};
use super::*;

#[test]
fn an_archive_cut_anywhere_is_refused_and_the_earlier_version_stays() {
    let folder = Folder::new("cut");
    let store = Store::at(&folder.at("data/tensorlab/packs"));
    let file = folder.at("small.tar.gz");
    std::fs::write(&file, archive(&good("1.0.0"))).unwrap();
    store.install(&file, Replace::Later).unwrap();
    let before = folder.installed();
    let whole = archive(&good("2.0.0"));
    let cuts = (0..whole.len()).step_by(64).chain(whole.len() - 9..whole.len());
    for cut in cuts {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let error = store.install(&file, Replace::Any).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("ends early") || error.contains("damaged"), "{cut}: {error}");
        assert_eq!(folder.installed(), before, "{cut}");
        assert_eq!(store.get(&"small".parse().unwrap()).unwrap().version.to_string(), "1.0.0");
    }
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(store.install(&file, Replace::Later).unwrap().now.version.to_string(), "2.0.0");
}

#[test]
fn a_changed_byte_anywhere_is_seen() {
    let folder = Folder::new("byte");
    let file = folder.at("a.tar.gz");
    let whole = archive(&good("1.0.0"));
    let contents = {
        std::fs::write(&file, &whole).unwrap();
        verify_archive(&file).unwrap()
    };
    for at in 0..whole.len() {
        for flip in [1, 0x80] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            std::fs::write(&file, &changed).unwrap();
            // The head of gzip has a time and the name of a system, and some bits of its codes are of no use.
            match verify_archive(&file) {
                Ok(found) => assert_eq!(found, contents, "byte {at}"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000), zipped in any::<bool>()) {
        let folder = Folder::new("noise");
        let bytes = if zipped { gzip(&bytes) } else { bytes };
        std::fs::write(folder.at("noise.tar.gz"), bytes).unwrap();
        let store = Store::at(&folder.at("packs"));
        prop_assert!(store.install(&folder.at("noise.tar.gz"), Replace::Any).is_err());
        prop_assert_eq!(files(&folder.at("packs")), [".lock"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Pieces of manifests in any order: read, or refused with places inside the file.
    #[test]
    fn any_mixture_of_pieces_is_a_manifest_or_is_refused(pieces in prop::collection::vec(prop::sample::select(vec![
        "format_version = 1\n", "id = \"p\"\n", "version = \"1.0.0\"\n", "title = \"é\"\n", "authors = [\"A\"]\n",
        "license = \"x\"\n", "requires_tensorlab = \"0.1.0\"\n", "lessons = [\"a.md\"]\n", "[[datasets]]\n",
        "file = \"assets/x\"\n", "[datasets]\n", "= ", "\"", "[", "]\n", "1", "\u{1b}", "\0", "invalidates = [\"a/b@1.0.0\"]\n",
    ]), 0..20)) {
        let text = pieces.concat();
        let lines = text.lines().count().max(1);
        if let Err(faults) = Manifest::parse("pack.toml", text.as_bytes()) {
            prop_assert!(!faults.is_empty() && faults.iter().all(|fault| fault.line <= lines + 1));
        }
    }
}

/// The small pack with assets that do not compress, large enough for an installation that takes a while.
fn large(version: &str) -> Vec<u8> {
    let mut files = good(version);
    let mut state = version.len() as u64 + 88_172_645_463_325_252;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let text = String::from_utf8(files[1].bytes.clone()).unwrap();
    let names: Vec<String> = (0..30).map(|n| format!("assets/n{n:02}.bin")).collect();
    files[1].bytes = format!("{text}\n{}\n", names.join("\n")).into_bytes();
    let more = names.iter().map(|name| entry(name, &(0..20_000).map(|_| noise()).collect::<Vec<u8>>()));
    files.splice(1..1, more);
    archive(&files)
}

#[test]
fn an_installation_that_is_killed_leaves_one_version_whole() {
    let folder = Folder::new("killed");
    std::fs::write(folder.at("one.tar.gz"), large("1.0.0")).unwrap();
    std::fs::write(folder.at("two.tar.gz"), large("2.0.0")).unwrap();
    folder.says(&["pack", "install", "one.tar.gz"]);
    let start = std::time::Instant::now();
    folder.says(&["pack", "install", "two.tar.gz"]);
    let takes = start.elapsed();
    let mut seen = std::collections::BTreeSet::new();
    for turn in 0..14u32 {
        folder.says(&["pack", "install", "one.tar.gz", "--force"]);
        let mut child = folder
            .program()
            .args(["pack", "install", "two.tar.gz"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(takes.mul_f64(f64::from(turn) / 12.0).max(Duration::from_millis(1)));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
        let info = folder.json(&["pack", "info", "small", "--json"]);
        assert_eq!(info["files"].as_array().unwrap().len(), 33);
        seen.insert(info["version"].as_str().unwrap().to_owned());
        assert!(folder.says(&["lesson", "list"]).contains("small/one"));
    }
    assert!(seen.contains("1.0.0"), "{seen:?}");
    // The next installation clears up.
    folder.says(&["pack", "install", "two.tar.gz"]);
    let left = folder.installed();
    assert_eq!(left.len(), 34, "{left:?}");
    assert!(left.iter().all(|f| f == "small/current" || f.starts_with("small/2.0.0-")), "{left:?}");
}

#[test]
fn what_a_killed_installation_left_goes_with_the_next_look_unless_one_is_at_work() {
    let folder = Folder::new("stages");
    std::fs::write(folder.at("one.tar.gz"), archive(&good("1.0.0"))).unwrap();
    folder.says(&["pack", "install", "one.tar.gz"]);
    let packs = folder.at("data/tensorlab/packs");
    let whole = folder.installed();
    let names = [".incoming-4000000", ".incoming-4000000-0123456789abcdef"];
    let leave =
        || names.iter().for_each(|name| std::fs::create_dir_all(packs.join(name).join("pack")).unwrap());
    for look in [&["pack", "list"][..], &["lesson", "list"], &["pack", "install", "one.tar.gz"]] {
        leave();
        folder.says(look);
        assert_eq!(folder.installed(), whole, "{look:?}");
    }
    leave();
    let lock = std::fs::OpenOptions::new().write(true).open(packs.join(".lock")).unwrap();
    lock.lock().unwrap();
    folder.says(&["pack", "list"]);
    assert!(names.iter().all(|name| packs.join(name).exists()));
    drop(lock);
    folder.says(&["pack", "remove", "small"]);
    assert!(folder.installed().is_empty(), "{:?}", folder.installed());
}

#[test]
fn installations_at_the_same_time_wait_for_each_other() {
    let folder = Folder::new("same-time");
    std::fs::write(folder.at("one.tar.gz"), large("1.0.0")).unwrap();
    let install = || {
        folder
            .program()
            .args(["pack", "install", "one.tar.gz"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| install()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    folder.says(&["pack", "info", "small"]);
    assert_eq!(folder.installed().len(), 34);
}
