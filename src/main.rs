//! `tensorlab`: arguments -> mode -> exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tensorlab::cli::main()
}
