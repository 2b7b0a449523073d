//! `tensorlab pack`: make, check, build, install and remove packs of lessons.

mod check;
mod installed;
mod make;
pub(crate) mod told;

use std::path::PathBuf;

use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::device::sim::host_choice::{split_host, with_host};

use super::{exit, lab};

#[derive(clap::Args)]
pub(crate) struct PackOptions {
    #[command(subcommand)]
    command: PackAction,
}

impl PackOptions {
    /// How the lab looks that it opens; none where it opens none.
    pub(super) fn look_mut(&mut self) -> Option<&mut lab::LookOptions> {
        match &mut self.command {
            PackAction::Preview { look, .. } => Some(look),
            _ => None,
        }
    }
}

#[derive(clap::Subcommand)]
enum PackAction {
    /// Make a pack to begin with, with one lesson
    New {
        /// A folder that is not there yet
        dir: PathBuf,
        /// The pack's id, lower-case words joined by hyphens; made of the folder's name where none is given
        #[arg(long)]
        id: Option<String>,
        /// The pack's title
        #[arg(long)]
        title: Option<String>,
    },
    /// Check a pack: its files, and everything in its lessons by running it
    ///
    /// On each set of devices, every solution passes, every starter fails, every wrong answer fails for its own reason,
    /// every cell runs, and every prediction has an answer. Ids are unique, links and assets are there, datasets are
    /// what their sums say, and no file belongs to nothing.
    Check {
        dir: PathBuf,
        /// A set of devices to run on, several times for several; those that a lesson names where none is given
        #[arg(long, value_name = "DEVICES")]
        devices: Vec<String>,
        /// Look at the files alone, and run nothing
        #[arg(long)]
        no_run: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Open a pack in the lab without installing it; where there is no terminal, print what is in it
    ///
    /// Nothing runs until you run it, and no progress is kept.
    Preview {
        dir: PathBuf,
        /// The id of the lesson to open; the first one where none is named
        #[arg(long)]
        lesson: Option<String>,
        #[command(flatten)]
        look: lab::LookOptions,
    },
    /// Make one file of a pack, to give to others
    ///
    /// The archive (.tar.gz) begins with a list of its files and their SHA-256 sums. The same files make the same bytes.
    /// Nothing is run; `pack check` does that.
    Build {
        dir: PathBuf,
        /// The archive; ID-VERSION.tar.gz where none is named, here or, for whoever is in the pack's folder, beside that
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace an archive of the same version that was built of other files
        #[arg(long)]
        force: bool,
    },
    /// Install a pack from its folder or its archive
    ///
    /// All of it is looked through before anything is unpacked, and nothing in it is run. Addresses are not taken:
    /// download the archive first.
    Install {
        /// A folder with a pack.toml, or an archive of `pack build`
        source: PathBuf,
        /// Install it in place of a later version, or of the same version with other files
        #[arg(long)]
        force: bool,
    },
    /// Install later versions from where packs were installed from
    Update {
        /// Ids of packs; all installed ones where none is named
        ids: Vec<String>,
    },
    /// List the installed packs
    List {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Remove an installed pack; what was done in its lessons stays recorded
    Remove { id: String },
    /// Show what a pack says of itself: an installed one, a folder, or an archive
    Info {
        /// The id of an installed pack, a folder, or an archive
        pack: String,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs a subcommand and gives the exit status.
pub(super) fn run(options: &PackOptions, devices: &str) -> u8 {
    let done = match &options.command {
        PackAction::New { dir, id, title } => make::new(dir, id.as_deref(), title.as_deref()),
        PackAction::Check { dir, devices: sets, no_run, json } => {
            // One that the environment names is the whole command's.
            let (named, host) = split_host(devices);
            let sets = match sets.as_slice() {
                [] if named != "auto" => vec![devices.to_owned()],
                [only] if only == "auto" => Vec::new(),
                sets => sets.iter().map(|set| with_host(set, host)).collect(),
            };
            if let Some(note) = of_variable(&sets) {
                tell!("note: {note}");
            }
            check::check(dir, &sets, host, *no_run, *json)
        }
        PackAction::Preview { dir, lesson, look } => check::preview(dir, lesson.as_deref(), look, devices),
        PackAction::Build { dir, output, force } => make::build(dir, output.as_deref(), *force),
        PackAction::Install { source, force } => installed::install(source, *force),
        PackAction::Update { ids } => installed::update(ids),
        PackAction::List { json } => installed::list(*json),
        PackAction::Remove { id } => installed::remove(id),
        PackAction::Info { pack, json } => installed::info(pack, *json),
    };
    done.unwrap_or_else(|text| {
        tell!("{}", text.trim_end());
        exit::USAGE
    })
}

/// What is said where a variable has named the devices of a check, which nobody sees in the command.
fn of_variable(sets: &[String]) -> Option<String> {
    let variable = std::env::var("TENSORLAB_DEVICES").ok().filter(|named| !named.is_empty())?;
    let typed = std::env::args().any(|word| word == "--devices" || word.starts_with("--devices="));
    let taken = !typed && !sets.is_empty();
    let text = format!(
        "TENSORLAB_DEVICES names {variable}, which is checked in place of the devices of the lessons"
    );
    taken.then(|| strip_control(&text).into_owned())
}
