//! `tensorlab session --stdio`: the session protocol on standard input and output.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::stderr::tell;
use crate::device::open::Use;
use crate::device::sim::{Selection, SelectionError};
use crate::device::{Machine, cuda};
use crate::script::Limits;
use crate::session::evaluator::ScriptEvaluator;
use crate::session::limits::RunLimits;
use crate::session::scratch::Scratch;
use crate::session::{host, sandbox};

use super::exit;

/// What each evaluation may take, as [`RunLimits`] has it.
#[derive(clap::Args, Clone)]
pub(crate) struct LimitOptions {
    /// End an evaluation after so many milliseconds
    #[arg(long, value_name = "MS")]
    time_limit: Option<u64>,
    /// End an evaluation that prints and shows more than so many bytes of text
    #[arg(long, value_name = "BYTES")]
    output_limit: Option<u64>,
    /// End an evaluation that shows more figures
    #[arg(long, value_name = "N")]
    figure_limit: Option<u32>,
    /// Bytes that the session's tensors may hold in main memory
    #[arg(long, value_name = "BYTES")]
    host_memory_limit: Option<u64>,
    /// Bytes that the session may take from each accelerator
    #[arg(long, value_name = "BYTES")]
    device_memory_limit: Option<u64>,
}

impl LimitOptions {
    fn limits(&self) -> RunLimits {
        RunLimits {
            time: self.time_limit.map(Duration::from_millis),
            output: self.output_limit,
            figures: self.figure_limit,
            host_memory: self.host_memory_limit,
            device_memory: self.device_memory_limit,
        }
    }
}

#[derive(clap::Args, Clone)]
pub(crate) struct SessionArguments {
    /// Use standard input and output
    #[arg(long, required = true)]
    stdio: bool,
    /// Keep the last value as `_`
    #[arg(long)]
    last_value: bool,
    /// Let a figure go on from cell to cell, as at a prompt
    #[arg(long)]
    keep_figure: bool,
    /// Let a simulated GPU's atomics add in another order whenever the session begins
    #[arg(long)]
    chance: bool,
    /// Work in the folder of a pack, confined to it
    #[arg(long, value_name = "FOLDER")]
    pack: Option<PathBuf>,
    /// A folder in which the session makes one of its own, which code knows as SCRATCH and may write to. That one is
    /// emptied at resets and taken away at the end
    #[arg(long, value_name = "FOLDER", requires = "scratch_limit")]
    scratch: Option<PathBuf>,
    /// Bytes that may be written to it
    #[arg(long, value_name = "BYTES")]
    scratch_limit: Option<u64>,
    #[command(flatten)]
    limits: LimitOptions,
    /// What scripts know as ARGS
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Serves one front end and gives the exit status. With a folder, it works there and is confined to it.
pub(super) fn run(devices: &str, options: &SessionArguments) -> u8 {
    let SessionArguments { last_value, keep_figure, pack, scratch, arguments, .. } = options.clone();
    let chance = options.chance;
    let limits = options.limits.limits();
    let selection = devices.parse().map(Selection::anchored).map_err(|e: SelectionError| e.to_string());
    // The driver of a real GPU opens files and devices of its own when it is first used.
    let drives = !matches!(selection, Ok((Selection::Cpu | Selection::Sim(_), _)));
    let mut readable: Vec<PathBuf> = selection.iter().flat_map(|(_, files)| files.clone()).collect();
    let scratch = match scratch.map(|folder| Scratch::make(&folder, options.scratch_limit.unwrap_or(0))) {
        None => None,
        Some(Ok(scratch)) => Some(scratch),
        Some(Err(error)) => {
            tell!("error: {error}");
            return exit::SCRIPT;
        }
    };
    let mut writable: Vec<PathBuf> = scratch.iter().map(|scratch| scratch.folder().to_path_buf()).collect();
    if pack.is_some() && drives {
        let needed = cuda::folders::needed();
        readable.extend(needed.readable);
        writable.extend(needed.kept);
    }
    let own = scratch.clone();
    let file_bytes = scratch.as_ref().map(Scratch::limit);
    let confined = pack.map(|folder| sandbox::Confined { folder, readable, writable, drives });
    let lesson = confined.is_some();
    let make = move || {
        // A lesson runs on the devices that it names, whatever the environment hides.
        let opened = match lesson {
            true => Machine::open_visible(&selection?.0, Use::Interactive, None),
            false => Machine::open(&selection?.0, Use::Interactive),
        };
        let opened = opened.map_err(|e| e.message())?;
        opened.machine.limit_memory(limits.host_memory, limits.device_memory);
        if chance {
            opened.machine.leave_to_chance();
        }
        let mut evaluator = ScriptEvaluator::new(opened.machine, &Limits::default());
        evaluator.set_arguments(&arguments);
        if let Some(scratch) = scratch {
            evaluator.set_scratch(scratch);
        }
        if last_value {
            evaluator.keep_last();
        }
        if keep_figure {
            evaluator.keep_figure();
        }
        Ok(evaluator)
    };
    match host::serve_stdio(
        &sandbox::Limits { confined, file_bytes, ..sandbox::Limits::default() },
        limits,
        make,
    ) {
        // A native loop that ignores an interrupt is left behind by exiting.
        Ok(ending) => {
            if let Some(own) = own {
                own.remove();
            }
            std::process::exit(ending.code())
        }
        Err(error) => {
            tell!("error: {error}");
            exit::SCRIPT
        }
    }
}
