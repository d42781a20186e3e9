//! The `contrail` command: parse, run, print the error chain, exit.

use std::process::ExitCode;

/// A proxy allocates much and in many sizes; this takes less time for it than most systems' allocators, and less
/// memory.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    contrail::cli::main()
}
