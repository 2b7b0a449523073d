//! Where packs are, and which lesson a name means.

use std::path::{Path, PathBuf};

use crate::cli::folders::data_folder;
use crate::lesson::pack::store::Store;
use crate::lesson::pack::{COURSE, Pack, PackError, open_manifest, path};
use crate::lesson::{Key, Lesson, LessonError, LessonMemory, Record, load};

/// A lesson and the pack that it belongs to.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub lesson: Lesson,
    pub pack: String,
    /// The pack's version.
    pub version: String,
    /// Where the pack's files are, or a file of its own, for lessons that were not built in: the session is confined to
    /// it.
    pub folder: Option<PathBuf>,
}

/// The pack of a file that belongs to none.
const NO_PACK: &str = "file";

impl Chosen {
    fn of(pack: &Pack, lesson: &Lesson) -> Chosen {
        Chosen {
            lesson: lesson.clone(),
            pack: pack.manifest.id.to_string(),
            version: pack.manifest.version.to_string(),
            folder: pack.folder.clone(),
        }
    }

    /// What finds it on the command line.
    pub(super) fn name(&self) -> String {
        if self.pack == NO_PACK { self.lesson.file().into() } else { name(&self.pack, &self.lesson.front.id) }
    }

    /// What these records say of it. A file that is in no pack may be another one each time.
    pub(super) fn memory(&self, records: &[Record]) -> LessonMemory {
        let version = if self.pack == NO_PACK { "" } else { &self.version };
        LessonMemory::in_version(records, (&self.pack, &self.lesson.front.id), version)
    }

    /// What the progress of a step is kept under.
    pub(super) fn key(&self, step: &str) -> Key {
        Key { pack: self.pack.clone(), lesson: self.lesson.front.id.clone(), step: step.into() }
    }
}

/// The installed packs: `packs` beside the learner's progress.
pub(super) fn store() -> Result<Store, String> {
    let folder = data_folder().ok_or("error: there is no home folder, and XDG_DATA_HOME is not set")?;
    Ok(Store::at(&folder.join("packs")))
}

/// The built-in pack and all installed ones, and what is wrong with those that can't be read.
pub(super) fn all() -> (Vec<Pack>, Vec<String>) {
    let mut packs = Vec::new();
    let mut notes = Vec::new();
    let mut take = |read: Result<Pack, PackError>| match read {
        Ok(pack) => packs.push(pack),
        Err(error) => notes.push(error.to_string()),
    };
    take(Pack::built_in());
    if let Ok(store) = store() {
        store.tidy();
        store.ids().iter().for_each(|id| take(store.open(id)));
    }
    (packs, notes)
}

/// The built-in lessons.
pub(super) fn built_in() -> Result<Vec<Chosen>, String> {
    let pack = Pack::built_in().map_err(|error| error.to_string())?;
    Ok(pack.lessons.iter().map(|lesson| Chosen::of(&pack, lesson)).collect())
}

/// What a lesson is called on the command line.
pub(super) fn name(pack: &str, lesson: &str) -> String {
    if pack == COURSE { lesson.to_owned() } else { format!("{pack}/{lesson}") }
}

/// The lesson of an id or `pack/id`, or of a file. The built-in pack goes before the others.
pub(super) fn find(name: &str) -> Result<Chosen, String> {
    // A file that is there is meant, whatever the built-in lessons' files are called.
    if name.ends_with(".md") && Path::new(name).is_file() {
        return from_file(Path::new(name));
    }
    let (packs, notes) = all();
    let in_pack = |pack: &Pack, id: &str| {
        let named = |l: &&Lesson| l.front.id == id || pack.folder.is_none() && l.file() == id;
        pack.lessons.iter().find(named).map(|lesson| Chosen::of(pack, lesson))
    };
    if let Some((pack, id)) = name.split_once('/')
        && let Some(pack) = packs.iter().find(|known| known.manifest.id == pack)
    {
        match in_pack(pack, id) {
            Some(found) => return Ok(found),
            None if !Path::new(name).exists() => {
                return Err(unknown(name, std::slice::from_ref(pack), &notes));
            }
            None => {}
        }
    }
    let mut found: Vec<Chosen> = packs.iter().filter_map(|pack| in_pack(pack, name)).collect();
    // The built-in lessons have no other names; of the others none is meant more than another.
    if found.len() > 1 && found.iter().all(|chosen| chosen.pack != COURSE) {
        let names: Vec<String> = found.iter().map(Chosen::name).collect();
        let first = names.first().map(String::as_str).unwrap_or_default();
        let names = names.join(", ");
        return Err(format!(
            "error: several packs have a lesson '{name}': {names}\nhint: name its pack, as {first}"
        ));
    }
    if !found.is_empty() {
        return Ok(found.swap_remove(0));
    }
    match Path::new(name).exists() {
        true => from_file(Path::new(name)),
        false => Err(unknown(name, &packs, &notes)),
    }
}

/// The lesson of a pack that a screen has listed. A file of that name is not meant.
pub(crate) fn find_in(pack: &str, id: &str) -> Result<Chosen, String> {
    let (packs, notes) = all();
    let found = packs.iter().find(|known| known.manifest.id == pack);
    let lesson = found.and_then(|pack| Some(Chosen::of(pack, pack.lesson(id)?)));
    lesson.ok_or_else(|| unknown(&format!("{pack}/{id}"), &packs, &notes))
}

/// A lesson's file; the pack is that whose folder it is in.
fn from_file(path: &Path) -> Result<Chosen, String> {
    let lesson = load(path).map_err(|e| rendered(&e))?;
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = full.parent().filter(|folder| folder.ends_with("lessons")).and_then(Path::parent);
    let manifest = folder.filter(|f| f.join(path::MANIFEST).exists()).and_then(|f| open_manifest(f).ok());
    Ok(match (manifest, folder) {
        (Some(manifest), Some(folder)) => Chosen {
            lesson,
            pack: manifest.id.into(),
            version: manifest.version.to_string(),
            folder: Some(folder.to_path_buf()),
        },
        // It came from somewhere as a pack did, and is confined to its own folder.
        _ => {
            let folder = full.parent().map(Path::to_path_buf);
            Chosen { lesson, pack: NO_PACK.into(), version: "0.0.0".into(), folder }
        }
    })
}

fn unknown(name: &str, packs: &[Pack], notes: &[String]) -> String {
    let named = |pack: &Pack| {
        let id = &pack.manifest.id;
        pack.lessons.iter().map(|lesson| self::name(id, &lesson.front.id)).collect::<Vec<_>>()
    };
    let ids = packs.iter().flat_map(named).collect::<Vec<_>>().join(", ");
    let mut text = format!("error: there is no lesson '{name}', and no such file\nhint: lessons are {ids}\n");
    for note in notes {
        text.push_str(&format!("note: a pack can't be read: {}\n", note.lines().next().unwrap_or_default()));
    }
    text
}

/// The faults of a lesson, one below the other.
pub(super) fn rendered(errors: &[LessonError]) -> String {
    errors.iter().map(LessonError::render).collect::<Vec<_>>().join("\n")
}
