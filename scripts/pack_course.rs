//! Packs the course for the program: `pack.toml` and the lessons that it lists, one behind the other, compressed.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let course = Path::new("lessons/course");
    println!("cargo::rerun-if-changed=scripts/pack_course.rs");
    println!("cargo::rerun-if-changed={}", course.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?).join("course.gz");
    let mut packed = GzEncoder::new(fs::File::create(out)?, Compression::best());
    let mut put = |name: &str, path: &Path| -> Result<(), Box<dyn Error>> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(packed, "{name} {}", bytes.len())?;
        packed.write_all(&bytes)?;
        Ok(())
    };
    put("pack.toml", &course.join("pack.toml"))?;
    let mut lessons: Vec<PathBuf> = fs::read_dir(course.join("lessons"))?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    lessons.sort();
    for path in &lessons {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a lesson's name is no text")?;
        put(name, path)?;
    }
    packed.finish()?;
    Ok(())
}
