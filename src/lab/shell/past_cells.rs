//! Cells run before, in a file that grows: a line of JSON for each, so that what a crash leaves torn is passed over.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::base::file;

/// A file longer than this is read from its end.
const LARGEST: u64 = 16 << 20;
/// No cell kept is longer; who types that much has a file.
const LONGEST: usize = 1 << 16;

/// The file, and what it holds.
#[derive(Debug)]
pub(crate) struct Past {
    path: PathBuf,
    most: usize,
    /// Lines in the file.
    lines: usize,
}

impl Past {
    /// Opens the history, keeping the newest `most` cells. Gives them with the newest last. Lines that are no JSON
    /// string, such as a torn one at the end, are passed over.
    pub(crate) fn open(path: &Path, most: usize) -> io::Result<(Past, Vec<String>)> {
        if let Some(folder) = path.parent() {
            file::make_folder(folder)?;
        }
        let (mut cells, mut lines) = (Vec::new(), 0);
        let mut torn = false;
        match File::open(path) {
            Ok(file) => {
                let length = file.metadata()?.len();
                let mut reader = BufReader::new(file);
                io::copy(&mut reader.by_ref().take(length.saturating_sub(LARGEST)), &mut io::sink())?;
                let mut line = Vec::new();
                while reader.read_until(b'\n', &mut line)? > 0 {
                    torn = !line.ends_with(b"\n");
                    lines += 1;
                    cells.extend(serde_json::from_slice::<String>(&line).ok());
                    line.clear();
                }
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let drop = cells.len().saturating_sub(most);
        cells.drain(..drop);
        let past = Past { path: path.to_path_buf(), most, lines };
        // What grew to twice its size, or ends torn, is written anew.
        if torn || lines > most.saturating_mul(2) {
            past.rewrite(&cells)?;
        }
        let lines = cells.len();
        Ok((Past { lines, ..past }, cells))
    }

    /// Appends a cell.
    pub(crate) fn push(&mut self, code: &str) -> io::Result<()> {
        if self.most == 0 || code.len() > LONGEST {
            return Ok(());
        }
        let mut line = serde_json::to_string(code)?;
        line.push('\n');
        // One write, so that the lines of two labs do not mix.
        file::append(&self.path, private)?.write_all(line.as_bytes())?;
        self.lines += 1;
        Ok(())
    }

    fn rewrite(&self, cells: &[String]) -> io::Result<()> {
        file::replace(&self.path, |out| -> io::Result<()> {
            for cell in cells {
                serde_json::to_writer(&mut *out, cell)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_appended_is_read_and_a_torn_tail_is_not() {
        let folder = std::env::temp_dir().join(format!("tensorlab-past-{}", std::process::id()));
        let path = folder.join("state/history.jsonl");
        let (mut past, cells) = Past::open(&path, 3).unwrap();
        assert_eq!(cells, Vec::<String>::new());
        for code in ["a", "b\n\"c\"", "d", "e"] {
            past.push(code).unwrap();
        }
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\"torn").unwrap();
        let (mut past, cells) = Past::open(&path, 3).unwrap();
        assert_eq!(cells, ["b\n\"c\"", "d", "e"]);
        past.push("f").unwrap();
        assert_eq!(Past::open(&path, 3).unwrap().1, ["d", "e", "f"], "nothing is joined to the torn line");
        for i in 0..10 {
            past.push(&i.to_string()).unwrap();
        }
        assert_eq!(Past::open(&path, 3).unwrap().1, ["7", "8", "9"]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3, "it is bounded");
        fs::remove_dir_all(folder).unwrap();
    }
}
