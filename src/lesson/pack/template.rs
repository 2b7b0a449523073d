//! A pack to begin with: one lesson that has one of each, and a dataset.

use std::path::Path;
use std::{fs, io};

use crate::lesson::text;

use super::error::PackError;
use super::{NoId, PackId, Version, check, hash};

const LESSON: &str = include_str!("template/01-first.md");
const DATA: &str = include_str!("template/points.csv");
const README: &str = include_str!("template/README.md");

/// Makes a pack in a new folder. Its id is made of the folder's name where none is given.
///
/// # Errors
/// The folder is there and not empty; an id that can't be; the file system's.
pub fn write(folder: &Path, id: Option<&str>, title: Option<&str>) -> Result<PackId, PackError> {
    let id = match id {
        Some(id) => id.to_owned(),
        None => id_of(folder),
    };
    if id.is_empty() {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        let message = format!("no id of a pack can be made of the name `{}`", text::strip(&name));
        return Err(PackError::hinted(
            message,
            "give one, of the letters a to z, digits and hyphens: --id first-steps",
        ));
    }
    let id: PackId = id.parse().map_err(|no: NoId| {
        let message = format!("`{}` can't be a pack's id: {no}", text::strip(&id));
        PackError::hinted(message, "give another one: --id first-steps")
    })?;
    if !check::is_free(&id) {
        let message = format!("the id `{id}` is that of the built-in pack");
        return Err(PackError::hinted(message, "give another one: --id first-steps"));
    }
    let making = || PackError::io(format_args!("make a pack in {}", folder.display()));
    if folder.exists() && fs::read_dir(folder).map_err(making())?.next().is_some() {
        let message = format!("{} is there already and not empty", folder.display());
        return Err(PackError::hinted(message, "name a folder that is not there yet"));
    }
    let title = text::strip(title.unwrap_or(&id)).replace('\n', " ");
    let files = [
        ("pack.toml", manifest(&id, &title)),
        ("README.md", README.replace("{title}", &title).replace("{id}", &id)),
        ("lessons/01-first.md", LESSON.to_owned()),
        ("assets/points.csv", DATA.to_owned()),
    ];
    for (path, content) in files {
        put(&folder.join(path), &content).map_err(making())?;
    }
    Ok(id)
}

fn put(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::create_new(path)?;
    io::Write::write_all(&mut file, content.as_bytes())
}

fn manifest(id: &str, title: &str) -> String {
    let title = toml::Value::String(title.to_owned());
    format!(
        "format_version = 1\nid = \"{id}\"\nversion = \"0.1.0\"\ntitle = {title}\n\
         summary = \"What one learns here, in a sentence.\"\nauthors = [\"Your name\"]\nlicense = \"CC-BY-4.0\"\n\
         # The oldest version of tensorlab that the pack works with.\nrequires_tensorlab = \"{}\"\n\
         # Files of the folder lessons, in the order in which they are taken.\nlessons = [\"01-first.md\"]\n\
         # Steps that learners have to do anew after an update: \"lesson/step@version\".\ninvalidates = []\n\n\
         # Data that lessons read, each with the licence it has and its SHA-256.\n[[datasets]]\n\
         file = \"assets/points.csv\"\nsha256 = \"{}\"\nlicense = \"CC0-1.0\"\n",
        Version::of_program(),
        hash::of(DATA.as_bytes())
    )
}

/// The folder's name as an id.
fn id_of(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let name = folder.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}
