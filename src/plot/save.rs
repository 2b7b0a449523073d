//! Figures as files.

use std::io::{self, Write};
use std::path::Path;

use super::{Figure, PlotError, stop};
use crate::base::file;

/// Saves `figure` as PNG or SVG, by the extension of `path`. Readers of `path` see the old file or the whole new one.
///
/// # Errors
/// An extension other than `.png` and `.svg`, a folder that does not exist, a place that cannot be written, and those of
/// [`Figure::check`]. The old file is then as it was.
pub fn save(figure: &Figure, path: &Path) -> Result<(), PlotError> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = extension.map(str::to_ascii_lowercase).unwrap_or_default();
    if !matches!(&format[..], "png" | "svg") {
        return Err(PlotError::Format { path: path.to_path_buf() });
    }
    // Before the drawing, which takes longer than finding out.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(PlotError::Folder { path: path.to_path_buf(), folder: folder.to_path_buf() });
    }
    let bytes = if format == "png" { figure.to_png()? } else { figure.to_svg()?.into_bytes() };
    stop::check()?;
    file::replace(path, |out| out.write_all(&bytes))
        .map_err(|error: io::Error| PlotError::Write { path: path.to_path_buf(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tensorlab-plot-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn both_formats_are_written_whole_and_nothing_else_is_left() {
        let folder = folder("formats");
        let figure = Figure::default();
        fs::write(folder.join("a.png"), "old").unwrap();
        save(&figure, &folder.join("a.png")).unwrap();
        save(&figure, &folder.join("b.SVG")).unwrap();
        assert_eq!(fs::read(folder.join("a.png")).unwrap(), figure.to_png().unwrap());
        assert_eq!(fs::read_to_string(folder.join("b.SVG")).unwrap(), figure.to_svg().unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        for name in ["a.jpg", "a", "png", ".png"] {
            let error = save(&Figure::default(), Path::new(name)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(".png or .svg"), "{text}");
        }
    }

    #[test]
    fn places_that_cannot_be_written_say_so() {
        let folder = folder("places");
        let missing = save(&Figure::default(), &folder.join("no/such/a.png")).unwrap_err();
        assert!(matches!(missing, PlotError::Folder { .. }), "{missing}");
        fs::create_dir(folder.join("taken.png")).unwrap();
        let taken = save(&Figure::default(), &folder.join("taken.png")).unwrap_err();
        assert!(matches!(taken, PlotError::Write { .. }), "{taken}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file stays");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_figure_that_cannot_be_drawn_leaves_the_old_file() {
        let folder = folder("old");
        let path = folder.join("a.png");
        fs::write(&path, "old").unwrap();
        let figure = Figure { width: 0, ..Figure::default() };
        let error = save(&figure, &path).unwrap_err();
        assert!(matches!(error, PlotError::Size { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        fs::remove_dir_all(folder).unwrap();
    }
}
