//! `tensorlab config`: the settings, where they are kept and where each one comes from.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::base::file;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::lab::Config;
use crate::lab::config::{SETTINGS, keys, template};

use super::exit;
use super::output::say;

/// Names another file of settings.
const VARIABLE: &str = "TENSORLAB_CONFIG";

#[derive(clap::Args)]
pub(crate) struct ConfigOptions {
    /// Write a file with every setting in comments, if there is none
    #[arg(long)]
    init: bool,
    /// Show the keys as well
    #[arg(long)]
    keys: bool,
}

/// The file of settings: that of `TENSORLAB_CONFIG`, or `$XDG_CONFIG_HOME/tensorlab/config.toml`.
fn path() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
        Some(path) => Some(PathBuf::from(path)),
        None => super::folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml")),
    }
}

/// The settings as they are. A file that can't be read hinders nothing: it is told, and the defaults hold.
pub(super) fn load() -> Config {
    let Some(path) = path() else { return Config::default() };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let config = Config::parse(&text);
            for problem in &config.problems {
                tell!("note: {}: {}", path.display(), strip_control(&problem.to_string()));
            }
            config
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Config::default(),
        Err(error) => {
            tell!("note: the settings are at their defaults: {}: {error}", path.display());
            Config::default()
        }
    }
}

/// Shows or writes the settings and gives the exit status.
pub(super) fn run(options: &ConfigOptions) -> u8 {
    let Some(path) = path() else {
        tell!("error: there is no home folder to keep settings in; {VARIABLE} can name a file");
        return exit::SCRIPT;
    };
    if options.init {
        return init(&path);
    }
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tell!("error: cannot read {}: {error}", path.display());
            return exit::SCRIPT;
        }
    };
    let config = Config::parse(text.as_deref().unwrap_or_default());
    show(&path, text.is_some(), &config, options.keys);
    for problem in &config.problems {
        tell!("error: {}: {}", path.display(), strip_control(&problem.to_string()));
    }
    if config.problems.is_empty() { exit::FINE } else { exit::USAGE }
}

fn init(path: &Path) -> u8 {
    if path.exists() {
        tell!("error: {} is there already; it stays as it is", path.display());
        return exit::USAGE;
    }
    let folder = path.parent().map_or(Ok(()), file::make_folder);
    let written = folder
        .and_then(|()| file::replace(path, |out| -> io::Result<()> { out.write_all(template().as_bytes()) }));
    match written {
        Ok(()) => {
            say!("wrote {}", path.display());
            exit::FINE
        }
        Err(error) => {
            tell!("error: cannot write {}: {error}", path.display());
            exit::SCRIPT
        }
    }
}

fn show(path: &Path, there: bool, config: &Config, with_keys: bool) {
    let state = if there { "" } else { " (not there; `tensorlab config --init` writes one)" };
    say!("file: {}{state}", path.display());
    say!("");
    for setting in SETTINGS {
        let (value, line) = config.shown(setting);
        let from = match line {
            Some(line) => format!("line {line}, default {}", setting.default),
            None => "default".to_owned(),
        };
        say!("{:<16} = {value:<8} {from:<26} {}", setting.name, setting.help);
    }
    for (place, action, keys, line) in &config.keys {
        say!("keys.{place}.{action} = {keys}  line {line}");
    }
    if with_keys {
        say!("");
        for (place, action, keys, help) in keys() {
            let set = config.keys.iter().find(|(p, a, ..)| *p == place && *a == action);
            let (shown, from) =
                set.map_or((keys, "default".to_owned()), |(.., k, line)| (k.clone(), format!("line {line}")));
            say!("keys.{:<28} = {shown:<28} {from:<10} {help}", format!("{place}.{action}"));
        }
    }
}
