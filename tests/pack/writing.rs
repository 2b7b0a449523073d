//! What authors do: a pack made anew, its faults, its archive.

use super::*;

#[test]
fn a_new_pack_passes_its_check_and_builds_to_the_same_bytes_each_time() {
    let folder = Folder::new("new");
    let made = folder.says(&["pack", "new", "My Pack", "--title", "A \"pack\""]);
    assert!(made.contains("made the pack `my-pack`") && made.contains("pack check 'My Pack'`"), "{made}");
    let checked = folder.json(&["pack", "check", "My Pack", "--json"]);
    assert_eq!((&checked["ok"], &checked["pack"]), (&true.into(), &"my-pack".into()));
    let report = &checked["reports"][0];
    assert_eq!(report["devices"], "sim:t4");
    let steps = report["steps"].as_array().unwrap();
    assert!(steps.len() >= 5 && steps.iter().all(|step| step["milliseconds"].as_f64().unwrap() >= 0.0));
    assert!(steps.iter().any(|step| step["runs"].as_u64() > Some(15)), "{report}");
    let said = folder.says(&["pack", "build", "My Pack"]);
    assert!(said.starts_with("my-pack-0.1.0.tar.gz: my-pack 0.1.0, 4 files, "), "{said}");
    // Times and rights of the files do not matter, nor where the folder is.
    std::fs::rename(folder.at("My Pack"), folder.at("other")).unwrap();
    let lesson = folder.at("other/lessons/01-first.md");
    let text = std::fs::read(&lesson).unwrap();
    std::fs::remove_file(&lesson).unwrap();
    std::fs::write(&lesson, text).unwrap();
    std::fs::write(folder.at("other/.hidden"), "no part of it").unwrap();
    folder.says(&["pack", "build", "other", "-o", "again.tar.gz"]);
    let [first, again] =
        ["my-pack-0.1.0.tar.gz", "again.tar.gz"].map(|f| std::fs::read(folder.at(f)).unwrap());
    assert_eq!(first, again);
    let info = folder.json(&["pack", "info", "again.tar.gz", "--json"]);
    assert_eq!(info["title"], "A \"pack\"");
    let paths: Vec<&str> =
        info["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["README.md", "assets/points.csv", "lessons/01-first.md", "pack.toml"]);
}

#[test]
fn a_check_runs_on_every_set_of_devices_that_is_named() {
    let folder = Folder::new("sets");
    folder.pack("p");
    let checked =
        folder.json(&["pack", "check", "p", "--devices", "sim:t4", "--devices", "sim:t4x2", "--json"]);
    let sets: Vec<&str> =
        checked["reports"].as_array().unwrap().iter().map(|r| r["devices"].as_str().unwrap()).collect();
    assert_eq!(sets, ["sim:t4", "sim:t4x2"]);
    let before = folder.json(&["--devices", "sim:tiny", "pack", "check", "p", "--json"]);
    assert_eq!(before["reports"][0]["devices"], "sim:tiny");
    let output =
        folder.program().args(["pack", "check", "p"]).env("TENSORLAB_DEVICES", "sim:tiny").output().unwrap();
    assert!(out(&output).contains("ok  first on sim:tiny"), "{}", out(&output));
    assert!(err(&output).contains("TENSORLAB_DEVICES names sim:tiny"), "{}", err(&output));
    let text = folder.fails(&["pack", "check", "p", "--devices", "cpu"], 4);
    assert!(
        text.contains("skipped  first on cpu")
            && text.contains("the lesson needs 1 GPU, and this machine has none"),
        "{text}"
    );
}

#[test]
fn a_pack_is_built_from_its_own_folder_as_its_page_says() {
    let folder = Folder::new("inside");
    folder.pack("p");
    assert!(std::fs::read_to_string(folder.at("p/README.md")).unwrap().contains("tensorlab pack build . "));
    let built = folder.program().current_dir(folder.at("p")).args(["pack", "build", "."]).output().unwrap();
    assert_eq!(built.status.code(), Some(0), "{}", err(&built));
    assert!(out(&built).contains("p-0.1.0.tar.gz: p 0.1.0, 4 files") && folder.at("p-0.1.0.tar.gz").exists());
    // The same files are no other archive; others of the same version are.
    folder.says(&["pack", "build", "p"]);
    edit(&folder.at("p/README.md"), "A pack", "The pack");
    let before = std::fs::read(folder.at("p-0.1.0.tar.gz")).unwrap();
    let told = folder.fails(&["pack", "build", "p"], 2);
    assert!(
        told.contains("is p 0.1.0 already, with other files") && told.contains("raise `version`"),
        "{told}"
    );
    assert_eq!(std::fs::read(folder.at("p-0.1.0.tar.gz")).unwrap(), before);
    folder.says(&["pack", "build", "p", "--force"]);
    assert_ne!(std::fs::read(folder.at("p-0.1.0.tar.gz")).unwrap(), before);
}

#[test]
fn a_pack_is_not_made_over_something_else() {
    let folder = Folder::new("over");
    folder.pack("p");
    assert!(folder.fails(&["pack", "new", "p"], 2).contains("already and not empty"));
    assert!(folder.fails(&["pack", "new", "course"], 2).contains("built-in pack"));
    assert!(folder.fails(&["pack", "new", "x", "--id", "A b"], 2).contains("can't be a pack's id"));
    assert!(!folder.at("x").exists());
    assert!(
        folder.fails(&["pack", "new", "数据"], 2).contains("no id of a pack can be made of the name `数据`")
    );
    std::fs::create_dir(folder.at("empty")).unwrap();
    std::fs::write(folder.at("empty/pack.toml"), "\n").unwrap();
    let told = folder.fails(&["pack", "check", "empty"], 2);
    assert!(told.contains("the file is empty") && told.contains("format_version = 1"), "{told}");
    assert!(folder.fails(&["pack", "check", "none"], 2).contains("pack new"));
    assert!(folder.fails(&["pack", "build", "p", "-o", "p/assets/p.tar.gz"], 2).contains("would be part"));
}

/// Breaks the pack of the template in one way, and looks for words in what the check says. Nothing is run then.
fn broken(name: &str, words: &[&str], breaking: impl FnOnce(&Path)) {
    let folder = Folder::new(&format!("broken-{name}"));
    breaking(&folder.pack("p"));
    let output = folder.run(&["pack", "check", "p"]);
    let text = format!("{}{}", out(&output), err(&output));
    assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {text}");
    for word in words {
        assert!(text.contains(word), "{name}: {word:?} is missing in:\n{text}");
    }
    assert!(!text.contains("ok  first") && !text.contains("panicked"), "{text}");
    // What has faults is neither built nor installed.
    let built = folder.fails(&["pack", "build", "p", "-o", "p.tar.gz"], 2);
    assert!(words.iter().all(|word| built.contains(word)), "{name}: {built}");
    folder.fails(&["pack", "install", "p"], 2);
    assert!(!folder.at("p.tar.gz").exists() && folder.installed().is_empty(), "{:?}", folder.installed());
}

#[test]
fn faults_are_named_with_their_file_and_line_before_anything_runs() {
    broken("key", &["unknown key `lisense`", "pack.toml:7:1", "did you mean `license`?"], |p| {
        edit(&p.join("pack.toml"), "license = \"CC-BY-4.0\"", "lisense = \"CC-BY-4.0\"");
    });
    broken("sum", &["assets/points.csv is another file", "write sha256 = \""], |p| {
        edit(&p.join("assets/points.csv"), "x,y", "x,z");
    });
    broken(
        "link",
        &["01-first.md:20:10", "there is no file assets/point.csv", "did you mean `assets/points.csv`?"],
        |p| {
            edit(&p.join("lessons/01-first.md"), "(assets/points.csv)", "(assets/point.csv)");
        },
    );
    broken("stray", &["p/run.sh:1:1", "a pack has no place for this file"], |p| {
        std::fs::write(p.join("run.sh"), "echo").unwrap();
    });
    broken("unused", &["assets/more.bin:1:1", "nothing in the pack names this file"], |p| {
        std::fs::write(p.join("assets/more.bin"), "x").unwrap();
    });
    broken("unlisted", &["lessons/02-more.md:1:1", "the manifest does not list this lesson"], |p| {
        std::fs::copy(p.join("lessons/01-first.md"), p.join("lessons/02-more.md")).unwrap();
    });
    broken("missing", &["there is no file lessons/02-more.md", "pack.toml:11:27"], |p| {
        edit(&p.join("pack.toml"), "[\"01-first.md\"]", "[\"01-first.md\", \"02-more.md\"]");
    });
    broken("twice", &["02-more.md:2:1", "the id `first` is that of p/lessons/01-first.md, too"], |p| {
        std::fs::copy(p.join("lessons/01-first.md"), p.join("lessons/02-more.md")).unwrap();
        edit(&p.join("pack.toml"), "[\"01-first.md\"]", "[\"01-first.md\", \"02-more.md\"]");
    });
    broken(
        "later",
        &["01-first.md:7:1", "`second` and this lesson are each the other's prerequisite"],
        |p| {
            std::fs::copy(p.join("lessons/01-first.md"), p.join("lessons/02-more.md")).unwrap();
            edit(&p.join("pack.toml"), "[\"01-first.md\"]", "[\"01-first.md\", \"02-more.md\"]");
            let minutes = "minutes = 5\n";
            let first = format!("{minutes}prerequisites = [\"second\"]\n");
            edit(&p.join("lessons/01-first.md"), minutes, &first);
            edit(&p.join("lessons/02-more.md"), minutes, &format!("{minutes}prerequisites = [\"first\"]\n"));
            edit(&p.join("lessons/02-more.md"), "id = \"first\"", "id = \"second\"");
        },
    );
    broken("hints", &["the exercise `column-means` has no hint"], |p| {
        edit(&p.join("lessons/01-first.md"), "```hint", "```text");
    });
    broken("step", &["there is no step `first/none`"], |p| {
        edit(&p.join("pack.toml"), "invalidates = []", "invalidates = [\"first/none@0.1.0\"]");
    });
    broken("later", &["needs tensorlab 99.0.0", "update tensorlab"], |p| {
        edit(&p.join("pack.toml"), "requires_tensorlab = \"0.1.0\"", "requires_tensorlab = \"99.0.0\"");
    });
    broken("name", &["this can't be part of a pack", "character other than"], |p| {
        std::fs::write(p.join("assets/a b.bin"), "x").unwrap();
    });
    #[cfg(unix)]
    broken("symlink", &["assets/link.csv", "it is a link"], |p| {
        std::os::unix::fs::symlink("/etc/passwd", p.join("assets/link.csv")).unwrap();
    });
    #[cfg(unix)]
    broken("case", &["differs from it in upper and lower case alone"], |p| {
        std::fs::copy(p.join("assets/points.csv"), p.join("assets/Points.csv")).unwrap();
    });
}

#[test]
fn a_lesson_that_fails_when_it_runs_fails_the_check_and_says_where() {
    let folder = Folder::new("fails");
    let pack = folder.pack("p");
    edit(
        &pack.join("lessons/01-first.md"),
        "points.to(\"cuda\").mean(0);\n```\n\n```rhai wrong",
        "points.mean(1);\n```\n\n```rhai wrong",
    );
    let text = folder.fails(&["pack", "check", "p"], 1);
    assert!(text.contains("[column-means] the solution does not pass"), "{text}");
    assert!(text.contains("p 0.1.0: 1 problem\n"), "{text}");
    assert!(folder.says(&["pack", "check", "p", "--no-run"]).contains("nothing was run"));
}

#[test]
fn a_preview_without_a_terminal_prints_the_steps_and_installs_nothing() {
    let folder = Folder::new("preview");
    folder.pack("p");
    let text = folder.says(&["pack", "preview", "p"]);
    for piece in ["p 0.1.0: p", "A first lesson (5 min)", "column-means", "exercise", "quiz", "predict"] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    assert!(folder.installed().is_empty());
    assert!(folder.fails(&["pack", "preview", "p", "--lesson", "x"], 2).contains("its lessons are first"));
}

#[test]
fn the_built_in_course_is_a_pack_without_faults() {
    let folder = Folder::new("course");
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons/course");
    let course = course.to_str().unwrap();
    let checked = folder.json(&["pack", "check", course, "--no-run", "--json"]);
    assert_eq!((&checked["ok"], &checked["version"]), (&true.into(), &env!("CARGO_PKG_VERSION").into()));
    let info = folder.json(&["pack", "info", "course", "--json"]);
    let names: Vec<&str> = tensorlab::lesson::built_in().iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(info["lessons"], serde_json::json!(names));
    assert!(folder.fails(&["pack", "install", course], 2).contains("built-in pack"));
    assert!(folder.fails(&["pack", "remove", "course"], 2).contains("can't be removed"));
}

#[test]
fn the_id_that_a_pack_is_given_is_explained_where_it_is_not_its_name() {
    let folder = Folder::new("named");
    let made = folder.says(&["pack", "new", "k\u{fc}rs"]);
    assert!(made.contains("`k-rs`") && made.contains("its id is not `k\u{fc}rs`"), "{made}");
    let made = folder.says(&["pack", "new", "plain"]);
    assert!(!made.contains("its id is not"), "{made}");
    let made = folder.says(&["pack", "new", "Other", "--id", "mine"]);
    assert!(!made.contains("its id is not"), "{made}");
}

#[test]
fn what_no_archive_and_no_shelf_would_take_is_told_by_the_check() {
    broken("built-in", &["pack.toml:2", "the id `course` is that of the built-in pack"], |pack| {
        edit(&pack.join("pack.toml"), "id = \"p\"", "id = \"course\"");
    });
    broken("giant", &["assets/giant.bin", "a file of a pack has at most 64 MiB"], |pack| {
        let file = std::fs::File::create(pack.join("assets/giant.bin")).unwrap();
        file.set_len((64 << 20) + 1).unwrap();
        edit(
            &pack.join("lessons/01-first.md"),
            "# A first lesson",
            "# A first lesson\n\n[x](assets/giant.bin)",
        );
    });
    broken("anchors", &["01-first.md has no heading `#there`"], |pack| {
        edit(
            &pack.join("lessons/01-first.md"),
            "# A first lesson",
            "# A first lesson\n\n[x](01-first.md#there)",
        );
    });
}

#[test]
fn a_check_that_compares_an_answer_with_itself_is_found() {
    let folder = Folder::new("itself");
    let pack = folder.pack("p");
    edit(
        &pack.join("lessons/01-first.md"),
        "expect_close(means.cpu(), points.mean(0));",
        "expect_close(means, means);",
    );
    let text = folder.fails(&["pack", "check", "p"], 1);
    assert!(text.contains("another number in place of the answer must fail, but passes"), "{text}");
}

#[test]
fn pictures_of_a_pack_are_in_what_is_exported() {
    let folder = Folder::new("pictures");
    let pack = folder.pack("p");
    edit(
        &pack.join("lessons/01-first.md"),
        "# A first lesson",
        "# A first lesson\n\n![A picture](assets/pic.png)",
    );
    std::fs::write(pack.join("assets/pic.png"), "foo").unwrap();
    folder.says(&["pack", "install", "p"]);
    folder.says(&["lesson", "export", "p/first", "--html", "--ipynb"]);
    let page = std::fs::read_to_string(folder.at("first.html")).unwrap();
    assert!(page.contains("<img alt=\"A picture\" src=\"data:image/png;base64,Zm9v\">"), "{page}");
    assert!(page.contains("points.csv (the file <code>assets/points.csv</code> of the lesson)"), "{page}");
    let book = std::fs::read_to_string(folder.at("first.ipynb")).unwrap();
    assert!(book.contains("attachment:assets-pic.png") && book.contains("\"image/png\": \"Zm9v\""), "{book}");
    let text = folder.fails(&["lesson", "export", "p/first", "--py"], 2);
    assert!(text.contains("`tensorlab lesson start p/first`"), "{text}");
}
