//! A child process with what it used: CPU time, wall time, peak memory.
//!
//! The kernel tells the peak of the largest child only, so every command runs under a process of its own (this program,
//! as `used`), which has no other child.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::resource::{UsageWho, getrusage};

use crate::Error;

/// What a command used.
#[derive(Clone, Copy)]
pub struct Used {
    /// User and system time of all its threads.
    pub cpu: Duration,
    pub wall: Duration,
    /// The most memory that was resident, in bytes.
    pub peak: u64,
    /// Its exit status; -1 if a signal ended it.
    pub status: i32,
}

/// Runs a command to its end, its output thrown away (run it by hand to see what it says). `note` is a file for the
/// figures.
pub fn run(note: &Path, command: &[&std::ffi::OsStr]) -> Result<Used, Error> {
    let status = Command::new(std::env::current_exe()?)
        .arg("used")
        .arg(note)
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("could not run {command:?}").into());
    }
    let text = std::fs::read_to_string(note)?;
    let mut figures = text.split_whitespace().map(str::parse::<i64>);
    let mut next = || -> Result<u64, Error> { Ok(u64::try_from(figures.next().ok_or("figures are missing")??)?) };
    let (cpu, wall, peak, status) = (next()?, next()?, next()?, next()?);
    Ok(Used {
        cpu: Duration::from_micros(cpu),
        wall: Duration::from_micros(wall),
        peak,
        status: i32::try_from(status)?,
    })
}

/// `used NOTE COMMAND…`: runs the command and writes what it used.
pub fn used(note: &str, command: &[String]) -> Result<(), Error> {
    let (program, args) = command.split_first().ok_or("used NOTE COMMAND…")?;
    let started = Instant::now();
    let status = Command::new(program).args(args).status()?;
    let wall = started.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    let cpu = micros(usage.user_time()) + micros(usage.system_time());
    let status = status.code().ok_or("a signal ended it")?;
    std::fs::write(note, format!("{cpu} {} {} {status}", wall.as_micros(), usage.max_rss() * 1024))?;
    Ok(())
}
