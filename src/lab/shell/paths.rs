//! Completing the path of a notebook.

use std::path::Path;

use crate::base::sorted;
use crate::lab::model::screens::home::Completed;
use crate::lab::model::text;

/// Entries of a folder that are looked at.
const MOST: usize = 10_000;

/// What a typed path may become: folders and notebooks that begin so. `~` is the home folder.
pub(super) fn complete(typed: &str) -> Completed {
    let home = std::env::var("HOME").unwrap_or_default();
    let typed = match typed.strip_prefix("~/") {
        Some(rest) if !home.is_empty() => format!("{}/{rest}", home.trim_end_matches('/')),
        _ => typed.to_owned(),
    };
    let cut = typed.rfind('/').map_or(0, |at| at + 1);
    let (folder, begun) = typed.split_at_checked(cut).unwrap_or_default();
    let mut names = fitting(Path::new(if folder.is_empty() { "." } else { folder }), begun);
    sorted::sort(&mut names);
    let shared = names.iter().skip(1).fold(names.first().cloned().unwrap_or_default(), |shared, name| {
        shared.chars().zip(name.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    });
    let text = if names.is_empty() { typed.clone() } else { format!("{folder}{shared}") };
    Completed { text, names }
}

/// Folders, with a slash, and notebooks whose names begin so; hidden ones where a point was typed.
fn fitting(folder: &Path, begun: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let hidden = name.starts_with('.') && !begun.starts_with('.');
        if !name.starts_with(begun) || hidden || !name.chars().all(text::printable) {
            return None;
        }
        let is_notebook = Path::new(&name).extension().is_some_and(|e| e == "rhai" || e == "ipynb");
        match entry.path().is_dir() {
            true => Some(format!("{name}/")),
            false => is_notebook.then_some(name),
        }
    };
    entries.take(MOST).filter_map(Result::ok).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_notebooks_complete_a_path() {
        let folder = std::env::temp_dir().join(format!("tensorlab-paths-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("work")).unwrap();
        for name in ["first.rhai", "fir.ipynb", "first.txt", ".hidden.rhai", "work/only.rhai"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let at = |typed: &str| {
            let whole = format!("{}/{typed}", folder.display());
            let found = complete(&whole);
            let text = found.text.strip_prefix(&format!("{}/", folder.display())).unwrap().to_owned();
            (text, found.names)
        };
        assert_eq!(at("f"), ("fir".into(), vec!["fir.ipynb".to_owned(), "first.rhai".into()]));
        assert_eq!(at("firs"), ("first.rhai".into(), vec!["first.rhai".to_owned()]));
        assert_eq!(at("w"), ("work/".into(), vec!["work/".to_owned()]));
        assert_eq!(at("work/"), ("work/only.rhai".into(), vec!["only.rhai".to_owned()]));
        assert_eq!(at(".h"), (".hidden.rhai".into(), vec![".hidden.rhai".to_owned()]));
        assert_eq!(at("x"), ("x".into(), vec![]));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
