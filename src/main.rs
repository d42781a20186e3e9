//! The `contrail` command: parse, run, print the error chain, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    contrail::cli::main()
}
