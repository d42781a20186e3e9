//! `-- CMD…`: runs a command with the proxy around it.
//!
//! The command keeps its own standard streams. It finds the proxy through its
//! environment (see `environment`). Signals that contrail gets are
//! passed on to it, and its exit status becomes contrail's.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IsTerminal as _},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::process::{Child, Command};

use super::{Failure, environment::Environment, outcome::CommandStatus, signals::Signals};

/// Runs the command to its end.
pub(super) async fn run(
    program: &OsStr,
    arguments: &[OsString],
    environment: Option<&Environment>,
    signals: &mut Signals,
) -> Result<CommandStatus, Failure> {
    let mut child = Command::new(program)
        .args(arguments)
        .envs(
            environment
                .iter()
                .flat_map(|environment| environment.variables.iter().map(|(name, value)| (&**name, value))),
        )
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| cannot_run(program, &error))?;
    let mut interrupted = false;
    loop {
        tokio::select! {
            ended = child.wait() => {
                let ended = ended?;
                let signal = ended.signal().and_then(|signal| Signal::try_from(signal).ok());
                return Ok(CommandStatus { status: status(ended), signal, interrupted });
            }
            signal = signals.next() => {
                interrupted = true;
                pass_on(&child, signal);
            }
        }
    }
}

fn cannot_run(program: &OsStr, error: &io::Error) -> String {
    let program = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("cannot run `{program}`: there is no such command; check its spelling and PATH")
        }
        io::ErrorKind::PermissionDenied => format!("cannot run `{program}`: it is not executable"),
        _ => format!("cannot run `{program}`: {error}"),
    }
}

fn pass_on(child: &Child, signal: Signal) {
    // A terminal sends its interrupt to everything in the foreground, the command included.
    if signal == Signal::SIGINT && io::stdin().is_terminal() {
        return;
    }
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        let _ = kill(Pid::from_raw(id), signal);
    }
}

fn status(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal)).unwrap_or(255);
    u8::try_from(code & 0xff).unwrap_or(255)
}
