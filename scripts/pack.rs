//! Packs what the program carries as text, each pack its files one behind the other, compressed: the course (`pack.toml`
//! and its lessons), the sources of CUDA kernels, and the profiles of simulated devices and hosts. Also finds out what
//! the linker can do.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
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
    let mut kernels = listed(Path::new("kernels"))?;
    kernels.retain(|path| path.extension().is_some_and(|ending| ending == "cuh"));
    pack("kernels", &kernels)?;
    pack("profiles", &listed(Path::new("src/device/sim/profiles"))?)?;
    pack("hosts", &listed(Path::new("src/device/sim/hosts"))?)?;
    if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        LINKS
            .iter()
            .filter(|link| runs_with(link))
            .for_each(|link| println!("cargo::rustc-link-arg-bins={link}"));
    }
    Ok(())
}

/// What makes the program smaller, where the linker and the system can do it: one of the functions that came out alike
/// is kept (0.3 MB), and addresses that are filled in at the start are listed as runs (1.1 MB; glibc 2.36).
const LINKS: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

/// Whether a small program that is linked so runs here.
fn runs_with(link: &str) -> bool {
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let (Some(rustc), Some(out)) = (env::var_os("RUSTC"), out) else { return false };
    if env::var_os("HOST") != env::var_os("TARGET") || fs::write(out.join("probe.rs"), PROBE).is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command.args(["--crate-type=bin", "-C", &format!("link-arg={link}"), "-o"]).arg(out.join("probe"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty())).arg(out.join("probe.rs"));
    let succeeds = |command: &mut Command| command.output().is_ok_and(|told| told.status.success());
    succeeds(&mut command) && succeeds(&mut Command::new(out.join("probe")))
}

/// A program with addresses to fill in.
const PROBE: &str = r#"static WORDS: [&str; 2] = ["a", "b"];
fn main() { println!("{}", WORDS[std::env::args().count() % 2]); }"#;

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
