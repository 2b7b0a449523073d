//! What a process ends with.

/// Each status once: its name here, its number, what it says. The help shows this table, and so does the README.
macro_rules! statuses {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: u8 = $number;)*

        /// All statuses and what they say.
        pub const ALL: &[(u8, &str)] = &[$(($number, $meaning)),*];
    };
}

statuses! {
    FINE = 0, "fine";
    SCRIPT = 1, "a script, cell, lesson or pack failed, outputs differ, or a file or the output can't be written";
    USAGE = 2, "arguments, settings or a file make no sense; nothing was run";
    OUT_OF_MEMORY = 3, "out of memory";
    NO_DEVICE = 4, "a device is not there or has failed, or a session did not start";
    DEFECT = 101, "a defect of tensorlab, told on standard error";
    TIMEOUT = 124, "ended by `--timeout`";
    INTERRUPTED = 130, "interrupted; ended by another signal, 128 and its number";
}

/// The status of a process that a signal ended, as a shell tells it.
pub fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(INTERRUPTED)
}

/// The table for the end of a help text.
pub fn help() -> String {
    let lines = ALL.iter().map(|(number, meaning)| format!("\n  {number:>3}  {meaning}"));
    format!("Exit status:{}\n  Of a script that ends by `exit(n)` it is n.", lines.collect::<String>())
}
