//! Arguments, modes, exit codes.
