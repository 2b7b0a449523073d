//! `pack install`, `update`, `list`, `remove` and `info`.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::figures::plural;
use crate::base::sorted;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::cli::output::say;
use crate::cli::pack::told::{Done, size, told};
use crate::cli::{exit, folders, packs};
use crate::lesson::pack::store::{Change, Installed, Replace, Store};
use crate::lesson::pack::{
    Contents, Manifest, Pack, PackError, PackId, Tree, Version, open_manifest, verify_archive,
};
use crate::lesson::{Entry, Key, ProgressLog, Record};

/// Installs a folder or an archive.
pub(super) fn install(source: &Path, force: bool) -> Done {
    let name = source.to_string_lossy();
    if name.starts_with("https://") || name.starts_with("http://") {
        return Err(format!(
            "error: `{name}` is an address, and packs are installed from files and folders\n\
             hint: download the archive with your browser or `curl -LO {name}`, then `tensorlab pack install FILE`"
        ));
    }
    let store = packs::store()?;
    let change = store.install(source, if force { Replace::Any } else { Replace::Later }).map_err(told)?;
    report(&store, &change);
    Ok(exit::FINE)
}

/// Says what an installation did, and begins anew the steps that the new version invalidates.
fn report(store: &Store, change: &Change) {
    let (id, now) = (&change.now.id, change.now.version);
    match change.before {
        _ if change.repaired => say!("repaired {id} {now}: files of it had been changed or were missing"),
        _ if change.same => say!("{id} {now} is installed, with these very files"),
        Some(before) if before == now => say!("installed {id} {now} in place of other files of this version"),
        Some(before) if before > now => say!("went back with {id} from {before} to {now}"),
        Some(before) => say!("updated {id} from {before} to {now}"),
        None => say!("installed {id} {now}"),
    }
    let manifest = store.manifest(id).ok();
    if let (Some(before), Some(manifest)) = (&change.authors_before, &manifest) {
        let [before, now] = [before, &manifest.authors].map(|names| names.join(", "));
        tell!(
            "note: it is by {}, and what was there before was by {}",
            strip_control(&now),
            strip_control(&before)
        );
    }
    let Some(manifest) = manifest else { return };
    match invalidate(&manifest) {
        Ok(steps) if steps.is_empty() => {}
        Ok(steps) => say!("to be done anew, as they have changed: {}", steps.join(", ")),
        Err(error) => tell!("note: progress is not kept: {error}"),
    }
    if change.before.is_none() {
        say!("`tensorlab lesson list` shows its lessons, `tensorlab lesson start {id}/LESSON` opens one");
    }
}

/// Records that steps are to be done anew which were last worked on in a version before they changed.
fn invalidate(manifest: &Manifest) -> std::io::Result<Vec<String>> {
    let file = folders::progress_file()?;
    if manifest.invalidates.is_empty() || !file.exists() {
        return Ok(Vec::new());
    }
    let (mut log, _) = ProgressLog::open(&file)?;
    let mut steps = Vec::new();
    for one in &manifest.invalidates {
        let key = Key { pack: manifest.id.to_string(), lesson: one.lesson.clone(), step: one.step.clone() };
        let earlier = log.progress().step(&key).and_then(|step| step.version.parse().ok());
        if earlier.is_some_and(|done| one.version > done) {
            let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
            let version = manifest.version.to_string();
            log.append(&Record { key, version, at_ms, entry: Entry::Reset })?;
            steps.push(format!("{}/{}", one.lesson, one.step));
        }
    }
    Ok(steps)
}

/// Looks again where packs were installed from.
pub(super) fn update(ids: &[String]) -> Done {
    let store = packs::store()?;
    let all = store.ids();
    if all.is_empty() && ids.is_empty() {
        say!("no pack is installed");
    }
    let mut status = exit::FINE;
    let wanted: Vec<Result<PackId, String>> = match ids {
        [] => all.into_iter().map(Ok).collect(),
        ids => ids.iter().map(|id| parsed(&store, id)).collect(),
    };
    for id in wanted {
        // A pack that is not there is a mistake of the command, as in `pack remove`.
        let mistaken = id.as_ref().map_or(true, |id| !store.ids().contains(id));
        if let Err(text) = id.and_then(|id| update_one(&store, &id)) {
            tell!("{text}");
            status = if mistaken && status != exit::SCRIPT { exit::USAGE } else { exit::SCRIPT };
        }
    }
    Ok(status)
}

fn update_one(store: &Store, id: &PackId) -> Result<(), String> {
    let installed = store.get(id).map_err(told)?;
    let later = later_beside(&installed);
    for archive in &later {
        match store.update(&installed, archive) {
            Ok(change) => {
                report(store, &change);
                return Ok(());
            }
            // An older one may be whole.
            Err(error) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                tell!(
                    "{} is passed over: {}",
                    archive.display(),
                    first.strip_prefix("error: ").unwrap_or(first)
                );
            }
        }
    }
    let source = &installed.source;
    if !source.exists() {
        return Err(format!(
            "error: {id} was installed from {}, which is not there any more\n\
             hint: `tensorlab pack install FILE` installs another version",
            source.display()
        ));
    }
    let change = store.update(&installed, source).map_err(|error| match error {
        // What is there now is said, not what could be done about it in another command.
        PackError::Refused { message, .. } => format!("{id} stays at {}: {message}", installed.version),
        other => told(other),
    })?;
    match change.same {
        true if !later.is_empty() => return Err(format!("{id} stays at {}", installed.version)),
        true if change.repaired => report(store, &change),
        true => {
            let beside =
                if source.is_file() { format!(" and for {id}-*.tar.gz beside it") } else { String::new() };
            say!("{id} {} is up to date; looked at {}{beside}", installed.version, source.display());
        }
        false => report(store, &change),
    }
    Ok(())
}

/// The archives of later versions that lie beside the one that a pack was installed from, named as `pack build` names
/// them, the latest first.
fn later_beside(installed: &Installed) -> Vec<PathBuf> {
    if installed.source.is_dir() {
        return Vec::new();
    }
    let version = |path: &Path| -> Option<Version> {
        let name = path.file_name()?.to_str()?.strip_prefix(installed.id.as_str())?;
        name.strip_prefix('-')?.strip_suffix(".tar.gz")?.parse().ok()
    };
    let entries = installed.source.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().flatten();
    let versions = entries.filter_map(|entry| Some((version(&entry.path())?, entry.path())));
    let mut later: Vec<_> = versions.filter(|(version, _)| *version > installed.version).collect();
    sorted::sort_by_key(&mut later, |(version, _)| std::cmp::Reverse(*version));
    later.into_iter().map(|(_, path)| path).collect()
}

/// Prints the installed packs.
pub(super) fn list(json: bool) -> Done {
    let store = packs::store()?;
    store.tidy();
    let mut all = Vec::new();
    let mut failed = false;
    for id in store.ids() {
        match store.manifest(&id) {
            Ok(manifest) if json => all.push(said(&manifest)),
            Ok(m) => {
                let lessons = plural(m.lessons.len() as u64, "lesson", "lessons");
                say!("{:<16} {:<8} {} ({lessons})", m.id, m.version, m.title);
            }
            Err(error) => {
                tell!("{error}");
                failed = true;
            }
        }
    }
    if json {
        say!("{}", serde_json::json!({ "packs": all }));
    } else if store.ids().is_empty() {
        say!("no pack is installed; `tensorlab pack install FILE` installs one");
    }
    Ok(if failed { exit::SCRIPT } else { exit::FINE })
}

/// Removes an installed pack.
pub(super) fn remove(id: &str) -> Done {
    if id == crate::lesson::pack::COURSE {
        return Err("error: the built-in pack can't be removed".into());
    }
    let store = packs::store()?;
    store.remove(&parsed(&store, id)?).map_err(told)?;
    say!("removed {id}; what was done in its lessons stays in the progress log");
    Ok(exit::FINE)
}

/// An argument as the id of a pack; nothing else is ever joined to a path.
fn parsed(store: &Store, id: &str) -> Result<PackId, String> {
    id.parse().map_err(|_| told(store.missing(id)))
}

fn said(m: &Manifest) -> serde_json::Value {
    let datasets: Vec<_> = m
        .datasets
        .iter()
        .map(|d| serde_json::json!({"file": d.file, "sha256": d.sha256, "license": d.license, "source": d.source}))
        .collect();
    let lessons: Vec<_> = m.lessons.iter().map(|listed| &listed.name).collect();
    serde_json::json!({"id": m.id, "version": m.version, "title": m.title, "summary": m.summary, "authors": m.authors,
        "license": m.license, "requires_tensorlab": m.requires, "lessons": lessons, "datasets": datasets})
}

/// Shows an installed pack, a folder or an archive.
pub(super) fn info(name: &str, json: bool) -> Done {
    let path = Path::new(name);
    let store = packs::store()?;
    if name == crate::lesson::pack::COURSE {
        let pack = Pack::built_in().map_err(told)?;
        return Ok(show(&pack.manifest, None, &["it is built in".into()], json));
    }
    if let Ok(id) = name.parse()
        && let Ok(installed) = store.get(&id)
    {
        let folder = store.folder(&installed);
        let manifest = open_manifest(&folder).map_err(told)?;
        let changed = installed.contents.changed(&folder);
        let mut notes = vec![
            format!("installed from {}", installed.source.display()),
            format!("its files are in {}", folder.display()),
        ];
        notes.extend(
            changed.iter().map(|path| format!("{path} is not what was installed; install the pack again")),
        );
        let status = show(&manifest, Some(&installed.contents), &notes, json);
        return Ok(if changed.is_empty() { status } else { exit::SCRIPT });
    }
    if path.is_dir() {
        let manifest = open_manifest(path).map_err(told)?;
        let contents = Tree::scan(path).and_then(|tree| tree.contents(path)).map_err(told)?;
        return Ok(show(&manifest, Some(&contents), &[], json));
    }
    if !path.exists() {
        return Err(told(store.missing(name)));
    }
    let contents = verify_archive(path).map_err(told)?;
    let manifest = crate::lesson::pack::manifest_of_archive(path).map_err(told)?;
    Ok(show(&manifest, Some(&contents), &["the archive is whole, and its sums are right".into()], json))
}

fn show(m: &Manifest, contents: Option<&Contents>, notes: &[String], json: bool) -> u8 {
    if json {
        let mut document = said(m);
        if let Some(all) = document.as_object_mut() {
            all.insert("files".into(), serde_json::json!(contents.map(|c| &c.files)));
            all.insert("notes".into(), serde_json::json!(notes));
        }
        say!("{document}");
        return exit::FINE;
    }
    say!("{} {}: {}", m.id, m.version, m.title);
    if !m.summary.is_empty() {
        say!("  {}", m.summary);
    }
    say!("  by {}", m.authors.join(", "));
    say!("  license {}, needs tensorlab {}", m.license, m.requires);
    for listed in &m.lessons {
        say!("  lesson {}", listed.name);
    }
    for data in &m.datasets {
        let source = data.source.as_ref().map(|s| format!(", from {s}")).unwrap_or_default();
        say!("  data {} ({}{source})", data.file, data.license);
    }
    if let Some(contents) = contents {
        let files = plural(contents.files.len() as u64, "file", "files");
        say!("  {files}, {}", size(contents.bytes()));
    }
    notes.iter().for_each(|note| say!("  {note}"));
    exit::FINE
}
