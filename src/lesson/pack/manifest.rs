//! `pack.toml`: what a pack says of itself.

use crate::lesson::course;
use crate::lesson::error::LessonError;
use crate::lesson::errors::Errors;
use crate::lesson::fields::{Fields, Located, Origin};
use crate::lesson::source::{MANIFEST, Source};
use crate::lesson::text;

use super::id::{NoId, PackId};
use super::version::Version;
use super::{hash, path};

/// The format that this program reads and writes.
const FORMAT: u32 = 1;

/// Most lessons of a pack.
const MOST_LESSONS: usize = 100;

/// What a pack says of itself.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub id: PackId,
    pub version: Version,
    pub title: String,
    pub summary: String,
    pub authors: Vec<String>,
    pub license: String,
    /// The oldest version of this program that the pack works with.
    pub requires: Version,
    /// File names under `lessons/`, in the order in which they are taken.
    pub lessons: Vec<Listed>,
    pub datasets: Vec<Dataset>,
    pub invalidates: Vec<Invalidated>,
    pub(super) source: Source,
}

/// A name in the manifest and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub line: usize,
    pub column: usize,
}

/// Data that a lesson reads, which may have a licence of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// A path under `assets/`.
    pub file: String,
    /// As in [`hash`].
    pub sha256: String,
    pub license: String,
    /// Where it comes from.
    pub source: Option<String>,
    pub line: usize,
    pub column: usize,
}

/// A step that is to be done anew by those who did it before a version: `lesson/step@version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalidated {
    pub lesson: String,
    pub step: String,
    pub version: Version,
    pub line: usize,
    pub column: usize,
}

impl Manifest {
    /// That of the pack that is part of the program.
    pub fn built_in() -> Option<Manifest> {
        Manifest::parse(path::MANIFEST, course::manifest().as_bytes()).ok()
    }

    /// Reads a manifest. `file` is the name that errors show.
    ///
    /// # Errors
    /// All faults in the order of the lines.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Manifest, Vec<LessonError>> {
        let decoded = Source::decode_as(&MANIFEST, file, bytes);
        let source = decoded.source;
        let mut errors = Errors::new(&source);
        errors.extend(decoded.errors, decoded.hidden);
        if decoded.fatal {
            return Err(errors.into_sorted());
        }
        let text: String = source.lines_from(1).flat_map(|(_, line)| [line, "\n"]).collect();
        let mut fields = Fields::parse(Origin::new(&text, 1), "the manifest", (1, 1), &mut errors);
        let manifest = read(&mut fields);
        match manifest {
            Ok(mut manifest) => {
                fields.finish();
                let faults = errors.into_sorted();
                manifest.source = source;
                if faults.is_empty() { Ok(manifest) } else { Err(faults) }
            }
            // Nothing else is known of another format.
            Err(found) => {
                let message = format!("the pack has format {}, and this program reads {FORMAT}", found.value);
                Err(vec![source.error(found.line, found.column, message, "update tensorlab")])
            }
        }
    }

    /// An error at a key.
    pub(super) fn error_at(&self, key: &str, message: impl Into<String>, hint: &str) -> LessonError {
        let is_key = |line: &str| line.split('=').next().is_some_and(|name| name.trim() == key);
        let line = self.source.lines_from(1).find(|(_, line)| is_key(line)).map_or(1, |(number, _)| number);
        self.error((line, 1), message, hint)
    }

    /// An error at a place of the manifest.
    pub(super) fn error(&self, at: (usize, usize), message: impl Into<String>, hint: &str) -> LessonError {
        self.source.error(at.0, at.1, message, hint)
    }
}

fn read(fields: &mut Fields<'_, '_, '_>) -> Result<Manifest, Located<u32>> {
    let format = fields.optional_integer("format_version", 1..u32::MAX);
    let format = fields.require("format_version", format);
    if let Some(found) = format.filter(|found| found.value != FORMAT) {
        return Err(found);
    }
    let id = id(fields);
    let version = version_of(fields, "version", "a version is three numbers, such as version = \"1.0.0\"");
    let title = fields.text("title");
    let title = one_line(fields, title).unwrap_or_default();
    let summary = fields.optional_text("summary");
    let summary = one_line(fields, summary).unwrap_or_default();
    let authors = fields.optional_texts("authors");
    let authors = fields.require("authors", authors).unwrap_or_default();
    let authors = authors.into_iter().filter_map(|found| one_line(fields, Some(found))).collect();
    let license = fields.text("license");
    let license = one_line(fields, license).unwrap_or_default();
    let requires =
        version_of(fields, "requires_tensorlab", "name the oldest version it works with, such as \"0.1.0\"");
    let lessons = lessons(fields);
    let invalidates = invalidates(fields);
    let datasets = datasets(fields);
    let source = Source::decode("", b"").source;
    Ok(Manifest {
        id,
        version,
        title,
        summary,
        authors,
        license,
        requires,
        lessons,
        datasets,
        invalidates,
        source,
    })
}

/// Text that is shown in one line.
fn one_line(fields: &mut Fields<'_, '_, '_>, found: Option<Located<String>>) -> Option<String> {
    let found = found?;
    if found.value.contains('\n') {
        fields.fault(found.line, found.column, "this text has a line break".into(), "write it in one line");
    }
    Some(found.value)
}

/// Where there is none, any: a manifest with a fault is handed to nobody.
fn id(fields: &mut Fields<'_, '_, '_>) -> PackId {
    let Some(found) = fields.text("id") else { return PackId::built_in() };
    found.value.parse().unwrap_or_else(|no: NoId| {
        let message = format!("`{}` can't be a pack's id", found.value);
        fields.fault(found.line, found.column, message, no.why);
        PackId::built_in()
    })
}

fn version_of(fields: &mut Fields<'_, '_, '_>, key: &'static str, hint: &str) -> Version {
    let Some(found) = fields.text(key) else { return Version::default() };
    found.value.parse().unwrap_or_else(|message| {
        fields.fault(found.line, found.column, message, hint);
        Version::default()
    })
}

fn lessons(fields: &mut Fields<'_, '_, '_>) -> Vec<Listed> {
    let listed = fields.optional_texts("lessons");
    let mut out: Vec<Listed> = Vec::new();
    for Located { value: name, line, column } in fields.require("lessons", listed).unwrap_or_default() {
        let full = format!("lessons/{name}");
        if let Some(why) = path::fault(&full) {
            fields.fault(
                line,
                column,
                format!("`{name}` can't be a lesson's file: {why}"),
                "such as 01-first.md",
            );
        } else if path::place(&full) != Some(path::Place::Lesson) {
            let hint = "name files in the folder lessons, without the folder, such as 01-first.md";
            fields.fault(line, column, format!("`{name}` can't be a lesson's file"), hint);
        } else if out.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            fields.fault(line, column, format!("the lesson `{name}` is listed twice"), "keep one of them");
        } else {
            out.push(Listed { name, line, column });
        }
    }
    if let Some(first) = out.get(MOST_LESSONS) {
        let (line, column) = (first.line, first.column);
        fields.fault(
            line,
            column,
            format!("a pack has at most {MOST_LESSONS} lessons"),
            "make two packs of it",
        );
    }
    out
}

fn invalidates(fields: &mut Fields<'_, '_, '_>) -> Vec<Invalidated> {
    let mut out = Vec::new();
    for found in fields.optional_texts("invalidates").unwrap_or_default() {
        let Located { value, line, column } = found;
        let parts = value.split_once('@').and_then(|(step, version)| {
            let (lesson, step) = step.split_once('/')?;
            let known = text::is_id(lesson) && !step.is_empty();
            known.then(|| Some((lesson.to_owned(), step.to_owned(), version.parse().ok()?))).flatten()
        });
        match parts {
            Some((lesson, step, version)) => out.push(Invalidated { lesson, step, version, line, column }),
            None => {
                let hint = "name the step and the version that changed it, such as \"moving/one-copy@1.1.0\"";
                fields.fault(line, column, format!("`{value}` names no step and version"), hint);
            }
        }
    }
    out
}

fn datasets(fields: &mut Fields<'_, '_, '_>) -> Vec<Dataset> {
    let mut out: Vec<Dataset> = Vec::new();
    for table in fields.optional_tables("datasets").unwrap_or_default() {
        let (line, column) = (table.line, table.column);
        let mut one = fields.child(table, "the dataset");
        let file = one.text("file");
        let sha256 = one.text("sha256");
        let license = one.text("license");
        let license = one_line(&mut one, license);
        let source = one.optional_text("source");
        let source = one_line(&mut one, source);
        if let Some(found) = &file {
            let stray = path::fault(&found.value).or_else(|| {
                (path::place(&found.value) != Some(path::Place::Asset)).then_some("it is not under assets/")
            });
            if let Some(why) = stray {
                let message = format!("`{}` can't be a dataset's file: {why}", found.value);
                one.fault(found.line, found.column, message, "such as assets/points.csv");
            }
            if out.iter().any(|other| other.file == found.value) {
                let message = format!("the dataset `{}` is there twice", found.value);
                one.fault(found.line, found.column, message, "keep one of them");
            }
        }
        if let Some(found) = sha256.as_ref().filter(|found| !hash::is_sum(&found.value)) {
            let message = format!("`{}` is not a SHA-256 sum", found.value);
            one.fault(
                found.line,
                found.column,
                message,
                "it has 64 digits of 0-9 and a-f, as sha256sum prints them",
            );
        }
        one.finish();
        if let (Some(file), Some(sha256), Some(license)) = (file, sha256, license) {
            out.push(Dataset { file: file.value, sha256: sha256.value, license, source, line, column });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "format_version = 1\nid = \"p\"\nversion = \"1.2.3\"\ntitle = \"P\"\nauthors = [\"A\"]\n\
        license = \"CC0-1.0\"\nrequires_tensorlab = \"0.1.0\"\nlessons = [\"a.md\"]\n";

    fn faults(text: &str) -> Vec<LessonError> {
        Manifest::parse("pack.toml", text.as_bytes()).unwrap_err()
    }

    /// Asserts that there is one fault, at this line and with these words in message or hint.
    fn only(text: &str, line: usize, words: &str) {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, line, "{}", found[0].render());
        assert!(found[0].render().contains(words), "{}", found[0].render());
    }

    #[test]
    fn a_manifest_is_read_with_all_it_has() {
        let more = format!(
            "invalidates = [\"moving/one-copy@1.1.0\"]\n[[datasets]]\nfile = \"assets/x.csv\"\n\
             license = \"MIT\"\nsource = \"https://example.org\"\nsha256 = \"{}\"\n",
            "ab".repeat(32)
        );
        let manifest = Manifest::parse("pack.toml", format!("{GOOD}{more}").as_bytes()).unwrap();
        assert_eq!((manifest.id.as_str(), manifest.version.to_string().as_str()), ("p", "1.2.3"));
        assert_eq!(manifest.lessons[0].name, "a.md");
        assert_eq!((manifest.lessons[0].line, manifest.lessons[0].column), (8, 12));
        assert_eq!(manifest.datasets[0].license, "MIT");
        assert_eq!(manifest.invalidates[0].step, "one-copy");
    }

    #[test]
    fn every_fault_has_its_line_and_what_to_do() {
        only(&format!("{GOOD}lessens = []\n"), 9, "did you mean `lessons`?");
        only(&GOOD.replace("\"1.2.3\"", "\"1.2\""), 3, "three numbers");
        only(&GOOD.replace("\"p\"", "\"A pack\""), 2, "can't be a pack's id");
        only(&GOOD.replace("title = \"P\"\n", ""), 1, "has no `title`");
        only(&GOOD.replace("a.md", "../a.md"), 8, "leads out of the pack");
        only(&GOOD.replace("a.md", "lessons/a.md"), 8, "without the folder");
        only(&GOOD.replace("\"a.md\"", "\"a.md\", \"A.md\""), 8, "listed twice");
        only(&GOOD.replace("version = 1", "version = 2"), 1, "update tensorlab");
        only(&GOOD.replace("\"P\"", "\"P\\nok\""), 4, "in one line");
        let many: Vec<String> = (0..=MOST_LESSONS).map(|n| format!("\"{n}.md\"")).collect();
        only(&GOOD.replace("\"a.md\"", &many.join(", ")), 8, "at most 100 lessons");
        only(&format!("{GOOD}invalidates = [\"x\"]\n"), 9, "names no step and version");
        let data = format!("{GOOD}[[datasets]]\nfile = \"pack.toml\"\nlicence = \"x\"\nsha256 = \"1\"\n");
        let found = faults(&data);
        let seen: Vec<_> = found.iter().map(|e| e.line).collect();
        assert_eq!(seen, [9, 10, 11, 12], "{found:?}");
        assert!(found[2].render().contains("did you mean `license`?"));
        assert!(!faults("x = [").is_empty() && !faults("").is_empty() && !faults("\0").is_empty());
    }
}
