//! What `/proc` says of a running process.

use std::{process::Child, time::Duration};

use crate::{Error, measure};

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Default)]
pub struct Memory {
    /// Resident now.
    pub now: u64,
    /// The most that was resident.
    pub peak: u64,
}

impl Memory {
    pub fn of(child: &Child) -> Result<Self, Error> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let figure = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
        };
        Ok(Self { now: figure("VmRSS:").ok_or("no memory")?, peak: figure("VmHWM:").ok_or("no memory")? })
    }
}

/// Bytes as MB.
pub fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Waits until the process has nothing to do (it used less than 2 % of a core for a while).
pub async fn idle(child: &Child) -> Result<(), Error> {
    const WHILE: Duration = Duration::from_millis(200);
    loop {
        let before = measure::cpu_time(child)?;
        tokio::time::sleep(WHILE).await;
        if measure::cpu_time(child)?.saturating_sub(before) < WHILE / 50 {
            return Ok(());
        }
    }
}

/// Ends the process as a user would, waits for it, and says how much memory it ever took.
pub async fn end(child: &mut Child) -> Result<u64, Error> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id())?);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM)?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        if let Ok(memory) = Memory::of(child) {
            peak = peak.max(memory.peak);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(peak)
}
