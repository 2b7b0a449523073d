//! The command line beyond its declaration: which subcommands compute, and what is meant by a file alone.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// Subcommands that compute on devices, and those that hold such: the others take no `--devices`.
const COMPUTE: &[&str] = &[
    "run",
    "plan",
    "lab",
    "repl",
    "devices",
    "bench",
    "session",
    "lesson",
    "lesson verify",
    "lesson start",
    "lesson export",
    "pack",
    "pack check",
    "pack preview",
    "notebook",
    "notebook open",
    "notebook run",
    "notebook verify",
];

/// The command line with `--devices` refused where nothing is computed.
pub(super) fn command(mut whole: Command) -> Command {
    let names: Vec<String> = whole.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        whole = whole.mut_subcommand(&name, |sub| restricted(sub, &name));
    }
    whole
}

fn restricted(mut command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let full = format!("{path} {name}");
        command = command.mut_subcommand(&name, |sub| restricted(sub, &full));
    }
    if COMPUTE.contains(&path) {
        return command;
    }
    let refused = |_: &str| -> Result<String, &'static str> {
        Err("nothing is computed here, so that it takes no devices and no host")
    };
    // An argument of the same name stands before the one that is global.
    let refusing = |name: &'static str| Arg::new(name).long(name).hide(true).value_parser(refused);
    command.arg(refusing("devices").value_name("DEVICES")).arg(refusing("host").value_name("HOST"))
}

/// What to say of `tensorlab script.rhai`: which subcommands take such a file.
pub(super) fn file_without_command(error: &clap::Error) -> Option<String> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(named))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let path = Path::new(named);
    let shown = if named.contains(' ') { format!("'{named}'") } else { named.clone() };
    let ways: Vec<(String, &str)> = match path.extension().and_then(|extension| extension.to_str()) {
        Some("rhai") => vec![
            (format!("tensorlab run {shown}"), "runs it as a script"),
            (format!("tensorlab lab {shown}"), "opens it in the lab, cell by cell"),
        ],
        Some("ipynb") => vec![
            (format!("tensorlab lab {shown}"), "opens it in the lab"),
            (format!("tensorlab notebook run {shown}"), "runs its cells and keeps what they give"),
        ],
        Some("md") => vec![
            (format!("tensorlab lab {shown}"), "opens it as a lesson"),
            (format!("tensorlab lesson verify {shown}"), "runs everything in it"),
        ],
        _ if path.is_dir() => vec![
            (format!("tensorlab pack preview {shown}"), "opens it as a pack of lessons"),
            (format!("tensorlab pack check {shown}"), "checks it as one"),
        ],
        _ if path.is_file() => vec![(format!("tensorlab run {shown}"), "runs it as a script")],
        _ => return None,
    };
    let width = ways.iter().map(|(way, _)| way.chars().count()).max().unwrap_or(0);
    let gone = if path.exists() { "" } else { ", and there is no such file" };
    let mut out = format!("error: '{named}' is no subcommand{gone}; what would be done with it?");
    for (way, what) in ways {
        out += &format!("\n  {way:<width$}  {what}");
    }
    Some(out)
}
