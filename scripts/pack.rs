//! Packs what the program carries as text, each pack its files one behind the other, compressed: the course (`pack.toml`
//! and the lessons beside it), the sources of CUDA kernels, and the profiles of simulated devices and hosts.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=scripts/pack.rs");
    let course = Path::new("lessons/course");
    let mut files = vec![course.join("pack.toml")];
    files.extend(listed(&course.join("lessons"))?);
    pack("course", &files)?;
    println!("cargo::rerun-if-changed={}", course.display());
    let kernels = listed(Path::new("kernels"))?;
    pack(
        "kernels",
        &kernels.into_iter().filter(|path| path.extension().is_some_and(|e| e == "cuh")).collect::<Vec<_>>(),
    )
}

/// The files of a folder, by name.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

/// Writes a pack: of each file a line with its name and length, and its bytes behind that.
fn pack(name: &str, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let out =
        PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?).join(format!("{name}.gz"));
    let mut packed = GzEncoder::new(fs::File::create(out)?, Compression::best());
    for path in files {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file's name is no text")?;
        writeln!(packed, "{name} {}", bytes.len())?;
        packed.write_all(&bytes)?;
    }
    packed.finish()?;
    Ok(())
}
