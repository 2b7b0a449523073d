//! What learners do: install, see, update, remove; and what they have done stays.

use tensorlab::lesson::{Entry, Key, ProgressLog, Record};
use tensorlab::notebook::{Cell, Change, NotebookFile};

use super::*;

#[test]
fn a_pack_is_installed_listed_updated_and_removed() {
    let folder = Folder::new("life");
    let pack = folder.pack("p");
    folder.says(&["pack", "build", "p"]);
    let said = folder.says(&["pack", "install", "p-0.1.0.tar.gz"]);
    assert!(said.starts_with("installed p 0.1.0\n"), "{said}");
    assert!(folder.says(&["pack", "install", "p-0.1.0.tar.gz"]).contains("with these very files"));
    assert!(folder.says(&["pack", "list"]).contains("p                0.1.0    p (1 lesson)"));
    let lessons = folder.json(&["lesson", "list", "--json"]);
    let names: Vec<&str> =
        lessons["lessons"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"moving") && names.last() == Some(&"p/first"), "{names:?}");
    assert!(folder.says(&["lesson", "list"]).contains("p/first            A first lesson (5 min)"));
    assert!(folder.says(&["lesson", "verify", "p/first"]).starts_with("ok  first on sim:t4"));
    assert!(folder.fails(&["lesson", "start", "p/second"], 2).contains("lessons are p/first"));

    // The archive is as it was; then there is a later one.
    let told = folder.says(&["pack", "update"]);
    assert!(told.starts_with("p 0.1.0 is up to date; looked at /"), "{told}");
    assert!(told.ends_with("p-0.1.0.tar.gz and for p-*.tar.gz beside it\n"), "{told}");
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    edit(&pack.join("lessons/01-first.md"), "title = \"A first lesson\"", "title = \"A better lesson\"");
    folder.says(&["pack", "build", "p", "-o", "p-0.1.0.tar.gz"]);
    assert_eq!(folder.says(&["pack", "update", "p"]), "updated p from 0.1.0 to 0.2.0\n");
    assert!(folder.says(&["lesson", "list"]).contains("A better lesson"));
    let versions: Vec<String> =
        folder.installed().iter().filter(|f| f.ends_with("pack.toml")).cloned().collect();
    assert_eq!(versions.len(), 1, "{versions:?}");

    folder.says(&["pack", "remove", "p"]);
    assert!(folder.installed().is_empty(), "{:?}", folder.installed());
    assert!(folder.says(&["pack", "list"]).contains("no pack is installed"));
    assert!(!folder.says(&["lesson", "list"]).contains("p/first"));
    assert!(folder.fails(&["pack", "remove", "p"], 2).contains("no installed pack `p`"));
}

#[test]
fn a_lesson_that_two_packs_have_is_asked_for_by_its_pack() {
    let folder = Folder::new("ambiguous");
    for id in ["aaa", "bbb"] {
        folder.pack(id);
        folder.says(&["pack", "install", id]);
    }
    for command in [&["lesson", "start", "first", "--plain"][..], &["lesson", "reset", "first"]] {
        let told = folder.fails(command, 2);
        assert!(told.contains("several packs have a lesson 'first': aaa/first, bbb/first"), "{told}");
    }
    assert!(folder.says(&["lesson", "reset", "bbb/first"]).contains("nothing was done yet in bbb/first"));
    folder.says(&["pack", "remove", "aaa"]);
    folder.says(&["lesson", "reset", "first"]);
}

#[test]
fn a_lesson_says_what_it_builds_on_that_is_not_done() {
    let folder = Folder::new("builds-on");
    let pack = folder.pack("p");
    edit(
        &pack.join("lessons/01-first.md"),
        "minutes = 5\n",
        "minutes = 5\nprerequisites = [\"course/moving\"]\n",
    );
    folder.says(&["pack", "install", "p"]);
    let output = folder.run(&["lesson", "start", "p/first", "--plain"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("this lesson builds on moving, which is not done yet"), "{}", err(&output));
}

#[test]
fn nothing_but_an_id_is_removed_updated_or_looked_for() {
    let folder = Folder::new("no-ids");
    folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    let installed = folder.installed();
    let packs = folder.at("data/tensorlab/packs");
    for victim in [folder.at("victim"), packs.join("victim.d"), folder.at("data/tensorlab/victim")] {
        std::fs::create_dir_all(&victim).unwrap();
        std::fs::copy(packs.join("p/current"), victim.join("current")).unwrap();
        std::fs::write(victim.join("work"), "mine").unwrap();
    }
    let whole = folder.at("victim").display().to_string();
    let names = [
        &whole,
        "../victim",
        "../../../victim",
        "victim.d",
        "p/",
        "./p",
        "p/.",
        "p/../p",
        ".",
        "..",
        "",
        "P",
    ];
    for name in names {
        assert!(folder.fails(&["pack", "remove", name], 2).contains("no installed pack"), "{name}");
        folder.fails(&["pack", "update", name], 2);
    }
    for victim in [folder.at("victim"), packs.join("victim.d"), folder.at("data/tensorlab/victim")] {
        assert!(victim.join("work").exists() && victim.join("current").exists(), "{}", victim.display());
    }
    std::fs::remove_dir_all(packs.join("victim.d")).unwrap();
    assert_eq!(folder.installed(), installed);
    folder.says(&["pack", "remove", "p"]);
}

#[test]
fn a_record_with_a_path_of_its_own_is_damaged() {
    let folder = Folder::new("record");
    folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    let record = folder.at("data/tensorlab/packs/p/current");
    let whole = std::fs::read_to_string(&record).unwrap();
    for (from, to) in [
        ("\"id\":\"p\"", "\"id\":\"../p\""),
        ("\"folder\":\"0", "\"folder\":\"../0"),
        ("\"folder\":\"0", "\"folder\":\"/0"),
        ("\"path\":\"README.md\"", "\"path\":\"../README.md\""),
    ] {
        assert!(whole.contains(from), "{whole}");
        std::fs::write(&record, whole.replacen(from, to, 1)).unwrap();
        assert!(folder.fails(&["pack", "list"], 1).contains("is damaged"), "{to}");
        assert!(folder.fails(&["pack", "update"], 1).contains("is damaged"), "{to}");
    }
    std::fs::write(&record, whole).unwrap();
    folder.says(&["pack", "info", "p"]);
}

#[test]
fn a_folder_of_other_things_is_not_removed_whatever_its_name() {
    let folder = Folder::new("foreign");
    folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    let packs = folder.at("data/tensorlab/packs");
    let record = std::fs::read_to_string(packs.join("p/current")).unwrap();
    for (name, current) in [("notes", "my own"), ("other", record.as_str())] {
        let own = packs.join(name);
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("current"), current).unwrap();
        std::fs::write(own.join("work"), "work").unwrap();
        let told = folder.fails(&["pack", "remove", name], 2);
        assert!(told.contains("`work` is in it") && told.contains("by hand"), "{told}");
        assert_eq!(std::fs::read_to_string(own.join("work")).unwrap(), "work");
        assert_eq!(std::fs::read_to_string(own.join("current")).unwrap(), current);
    }
    // A record that is damaged is no reason to keep a pack.
    std::fs::write(packs.join("p/current"), "{").unwrap();
    folder.says(&["pack", "remove", "p"]);
    assert!(!packs.join("p").exists());
    folder.fails(&["pack", "update", "nowhere"], 2);
}

#[test]
fn an_id_is_a_folders_name_on_every_system() {
    let folder = Folder::new("devices");
    let pack = folder.pack("p");
    for id in ["con", "nul", "com1"] {
        assert!(folder.fails(&["pack", "new", id], 2).contains("a device on some systems"));
        let manifest = std::fs::read_to_string(pack.join("pack.toml")).unwrap();
        std::fs::write(pack.join("pack.toml"), manifest.replace("id = \"p\"", &format!("id = \"{id}\"")))
            .unwrap();
        assert!(folder.fails(&["pack", "install", "p"], 2).contains("a device on some systems"));
        std::fs::write(pack.join("pack.toml"), manifest).unwrap();
    }
    assert!(folder.installed().is_empty());
}

#[test]
fn an_earlier_version_or_other_files_of_the_same_need_force() {
    let folder = Folder::new("force");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    edit(&pack.join("README.md"), "A pack", "The pack");
    assert!(folder.fails(&["pack", "install", "p"], 2).contains("`p` 0.1.0 is installed, with other files"));
    assert!(folder.fails(&["pack", "update"], 1).contains("p stays at 0.1.0"));
    assert!(folder.says(&["pack", "install", "p", "--force"]).contains("in place of other files"));
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.0.9\"\ntitle");
    assert!(folder.fails(&["pack", "install", "p"], 2).contains("which is later than 0.0.9"));
    assert!(folder.says(&["pack", "info", "p"]).starts_with("p 0.1.0"));
    assert!(
        folder.says(&["pack", "install", "p", "--force"]).contains("went back with p from 0.1.0 to 0.0.9")
    );
    std::fs::remove_dir_all(&pack).unwrap();
    assert!(folder.fails(&["pack", "update"], 1).contains("is not there any more"));
    folder.says(&["pack", "list"]);
}

#[test]
fn an_update_finds_a_later_archive_beside_the_one_that_is_installed() {
    let folder = Folder::new("beside");
    let pack = folder.pack("p");
    folder.says(&["pack", "build", "p"]);
    folder.says(&["pack", "install", "p-0.1.0.tar.gz"]);
    for (before, version) in [("0.1.0", "0.2.0"), ("0.2.0", "0.10.0")] {
        let title = |version: &str| format!("version = \"{version}\"\ntitle");
        edit(&pack.join("pack.toml"), &title(before), &title(version));
        folder.says(&["pack", "build", "p"]);
    }
    std::fs::write(folder.at("p-more-9.0.0.tar.gz"), "another pack").unwrap();
    // The one that was installed may be gone.
    std::fs::remove_file(folder.at("p-0.1.0.tar.gz")).unwrap();
    assert_eq!(folder.says(&["pack", "update"]), "updated p from 0.1.0 to 0.10.0\n");
    assert!(folder.says(&["pack", "update"]).starts_with("p 0.10.0 is up to date"));
}

#[test]
fn other_authors_are_named_when_a_pack_takes_the_place_of_theirs() {
    let folder = Folder::new("authors");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    edit(&pack.join("pack.toml"), "[\"Your name\"]", "[\"Somebody else\"]");
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    let told = folder.run(&["pack", "install", "p"]);
    assert!(
        err(&told).contains("it is by Somebody else, and what was there before was by Your name"),
        "{told:?}"
    );
}

#[test]
fn another_pack_in_the_same_place_is_no_update() {
    let folder = Folder::new("changed-id");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    edit(&pack.join("pack.toml"), "id = \"p\"", "id = \"q\"");
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    assert!(folder.fails(&["pack", "update"], 1).contains("now holds the pack `q`"));
    assert!(folder.says(&["pack", "list"]).starts_with("p "));
}

#[test]
fn an_address_is_refused_with_what_to_do() {
    let folder = Folder::new("address");
    let text = folder.fails(&["pack", "install", "https://example.org/p.tar.gz"], 2);
    assert!(text.contains("download the archive"), "{text}");
}

#[test]
fn installed_files_are_read_only_and_a_change_is_seen() {
    let folder = Folder::new("changed");
    folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    let lesson = folder.installed().into_iter().find(|f| f.ends_with("01-first.md")).unwrap();
    let lesson = folder.at("data/tensorlab/packs").join(lesson);
    assert!(std::fs::metadata(&lesson).unwrap().permissions().readonly());
    let text = std::fs::read(&lesson).unwrap();
    std::fs::remove_file(&lesson).unwrap();
    std::fs::write(&lesson, [text.as_slice(), b"\nMore.\n"].concat()).unwrap();
    let said = folder.fails(&["pack", "info", "p"], 1);
    assert!(said.contains("lessons/01-first.md is not what was installed"), "{said}");
    assert!(folder.says(&["pack", "install", "p"]).starts_with("repaired p 0.1.0: "));
    assert!(folder.says(&["pack", "install", "p"]).contains("these very files"));
    folder.says(&["pack", "info", "p"]);
    std::fs::write(folder.at("data/tensorlab/packs/p/current"), "{").unwrap();
    assert!(folder.fails(&["pack", "list"], 1).contains("the record of the pack `p` is damaged"));
    assert!(folder.fails(&["lesson", "list"], 1).contains("damaged"));
    folder.says(&["pack", "install", "p"]);
    folder.says(&["pack", "info", "p"]);
}

/// Writes a log in which steps of the lesson `p/first` were done with version 0.1.0.
fn done(folder: &Folder, steps: &[&str]) {
    let (mut log, _) = ProgressLog::open(&folder.at("data/tensorlab/progress.jsonl")).unwrap();
    for (at, step) in steps.iter().enumerate() {
        let key = Key { pack: "p".into(), lesson: "first".into(), step: (*step).into() };
        let version = "0.1.0".into();
        log.append(&Record { key, version, at_ms: at as u64, entry: Entry::Ran { ok: true } }).unwrap();
    }
}

#[test]
fn an_update_keeps_what_was_done_but_for_what_it_invalidates() {
    let folder = Folder::new("invalidates");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    done(&folder, &["read", "move"]);
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    edit(&pack.join("pack.toml"), "invalidates = []", "invalidates = [\"first/move@0.2.0\"]");
    let said = folder.says(&["pack", "update"]);
    assert!(said.contains("to be done anew, as they have changed: first/move"), "{said}");
    let steps = folder.json(&["lesson", "progress", "--json"]);
    let names: Vec<&str> =
        steps["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["read"]);
    // What is done with the new version stays.
    let (mut log, _) = ProgressLog::open(&folder.at("data/tensorlab/progress.jsonl")).unwrap();
    let key = Key { pack: "p".into(), lesson: "first".into(), step: "move".into() };
    log.append(&Record { key, version: "0.2.0".into(), at_ms: 9, entry: Entry::Ran { ok: true } }).unwrap();
    drop(log);
    folder.says(&["pack", "install", "p"]);
    assert_eq!(folder.json(&["lesson", "progress", "--json"])["steps"].as_array().unwrap().len(), 2);
}

#[test]
fn steps_that_an_update_renames_are_listed_as_gone_and_the_new_ones_as_not_begun() {
    let folder = Folder::new("renamed");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    done(&folder, &["read", "move"]);
    edit(&pack.join("lessons/01-first.md"), "id=\"move\"", "id=\"copy\"");
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    folder.says(&["pack", "update"]);
    let told = folder.says(&["lesson", "progress"]);
    assert!(told.starts_with("p/first: 1 of 5 steps done\n"), "{told}");
    let line = |name: &str| told.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(line("copy").ends_with("not begun"), "{told}");
    assert!(line("move").ends_with("done, at a step that the lesson has no more"), "{told}");
}

#[test]
fn what_a_lab_of_the_earlier_version_writes_later_is_not_done_in_the_new_one() {
    let folder = Folder::new("outdated");
    let pack = folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    edit(&pack.join("pack.toml"), "version = \"0.1.0\"\ntitle", "version = \"0.2.0\"\ntitle");
    edit(&pack.join("pack.toml"), "invalidates = []", "invalidates = [\"first/move@0.2.0\"]");
    // Nothing was done yet, so that no record says that the step begins anew.
    folder.says(&["pack", "update"]);
    done(&folder, &["read", "move"]);
    let shown = |folder: &Folder| {
        let steps = folder.json(&["lesson", "progress", "--json"]);
        let steps = steps["steps"].as_array().unwrap().clone();
        steps.iter().map(|step| step["step"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&folder), ["read"]);
    assert!(folder.says(&["lesson", "list"]).contains("(5 min, 1 of 5 done)"));
    // Behind such a record it does not count either, and one of the new version does.
    let (mut log, _) = ProgressLog::open(&folder.at("data/tensorlab/progress.jsonl")).unwrap();
    let mut append = |version: &str, entry| {
        let key = Key { pack: "p".into(), lesson: "first".into(), step: "move".into() };
        log.append(&Record { key, version: version.into(), at_ms: 9, entry }).unwrap();
    };
    append("0.2.0", Entry::Reset);
    append("0.1.0", Entry::Ran { ok: true });
    assert_eq!(shown(&folder), ["read"]);
    append("0.2.0", Entry::Ran { ok: true });
    assert_eq!(shown(&folder), ["move", "read"]);
    // Every record is handed in as it was written.
    let exported = folder.json(&["progress", "export", "--json"]);
    assert_eq!(exported["records"].as_array().unwrap().len(), 5);
}

#[test]
fn a_log_that_another_program_wrote_is_told_of_and_left_as_it_is() {
    let folder = Folder::new("foreign-log");
    let log = folder.at("data/tensorlab/progress.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let utf16: Vec<u8> = "{\"pack\":\"p\"}\n{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [utf16, b"\x93\x01garbage".to_vec()] {
        std::fs::write(&log, &bytes).unwrap();
        let output = folder.run(&["progress"]);
        assert!(err(&output).contains("left out, and stay"), "{}", err(&output));
        assert!(err(&folder.run(&["lesson", "list"])).contains("left out, and stay"));
        drop(ProgressLog::open(&log).unwrap());
        assert_eq!(std::fs::read(&log).unwrap(), bytes);
        done(&folder, &["read"]);
        let after = std::fs::read(&log).unwrap();
        assert!(after.starts_with(&bytes));
        let steps = folder.json(&["lesson", "progress", "--json"]);
        assert_eq!(steps["steps"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn what_was_written_in_a_lesson_of_a_removed_pack_is_put_aside_by_a_reset() {
    let folder = Folder::new("gone");
    let work = folder.at("data/tensorlab/lessons/p");
    std::fs::create_dir_all(&work).unwrap();
    let path = work.join("first.ipynb");
    // A lab was killed before it saved for the first time: there is a journal alone.
    let mut opened = NotebookFile::open(&path).unwrap();
    let cell = Box::new(Cell::code("let mine = 1;"));
    opened.file.record(&Change::Insert { at: 0, cell }).unwrap();
    // As long as it is open, nothing is taken from under it.
    let told = folder.fails(&["lesson", "reset", "p/first"], 1);
    assert!(told.contains("open in another lab"), "{told}");
    drop(opened);
    assert!(!path.exists() && work.join(".first.ipynb.journal").exists());
    done(&folder, &["read"]);
    let told = folder.says(&["lesson", "reset", "p/first"]);
    assert!(told.contains("begins anew: read") && told.contains("first.before-1.ipynb"), "{told}");
    let aside = std::fs::read_to_string(work.join("first.before-1.ipynb")).unwrap();
    assert!(aside.contains("let mine = 1;"), "{aside}");
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 1, "nothing else is left");
    // A name is no path.
    std::fs::write(folder.at("data/tensorlab/x.ipynb"), aside).unwrap();
    folder.fails(&["lesson", "reset", "../x"], 2);
    assert!(folder.at("data/tensorlab/x.ipynb").exists());
}

#[test]
fn progress_is_shown_exported_and_reset() {
    let folder = Folder::new("progress");
    folder.pack("p");
    assert!(folder.says(&["progress"]).contains("nothing was done yet"));
    assert_eq!(folder.says(&["progress", "export", "--csv"]).lines().count(), 1);
    folder.says(&["pack", "install", "p"]);
    done(&folder, &["read", "move"]);
    let told = folder.says(&["lesson", "progress"]);
    assert!(told.starts_with("p/first: 2 of 5 steps done\n  ") && told.contains("\n  move "), "{told}");
    assert_eq!(told.matches("not begun").count(), 3, "{told}");
    assert!(folder.says(&["lesson", "list"]).contains("(5 min, 2 of 5 done)"));
    let exported = folder.json(&["progress", "export", "--json"]);
    assert_eq!(exported["records"].as_array().unwrap().len(), 2);
    assert_eq!(exported["steps"][0]["done"], true);
    assert!(exported["note"].as_str().unwrap().contains("no proof"));
    let table = folder.says(&["progress", "export", "--csv"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("at_ms,pack,version,lesson,step,what,ok,") && lines.len() == 3, "{table}");
    assert!(lines[1].starts_with("0,p,0.1.0,first,read,ran,true,"), "{table}");
    folder.fails(&["progress", "export"], 2);
    folder.fails(&["progress", "export", "--json", "--csv"], 2);
    assert_eq!(folder.says(&["lesson", "reset", "p/first", "move"]), "p/first begins anew: move\n");
    folder.says(&["pack", "remove", "p"]);
    assert_eq!(folder.says(&["lesson", "reset", "p/first"]), "p/first begins anew: read\n");
    assert!(folder.says(&["lesson", "reset", "p/first"]).contains("nothing was done yet"));
    // Nothing is taken from the log.
    assert_eq!(folder.json(&["progress", "export", "--json"])["records"].as_array().unwrap().len(), 4);
    assert!(folder.fails(&["lesson", "reset", "nothing"], 2).contains("no lesson 'nothing'"));
}
