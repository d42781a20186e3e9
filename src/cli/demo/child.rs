//! A `contrail` that the demo runs beside itself: the same program, in a process of its own.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::Write as _,
    path::Path,
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStderr, Command},
};

use super::line::Line;
use crate::cli::{Failure, printer::private_file};

/// The name of the fixture in the demo's folder.
pub(super) const FIXTURE: &str = "tenant";

/// How long a child may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same program, without what the user's surroundings would make of it.
fn command(folder: &Path) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find contrail itself: {error}"))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CONTRAIL_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// The command that these arguments name.
fn name(arguments: &[impl AsRef<OsStr>]) -> String {
    arguments.first().map(|name| name.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs `contrail verify` on the fixture: its report, which is kept in a file, too, and its exit status.
pub(super) async fn verify(folder: &Path, options: &[OsString]) -> Result<(Value, Option<i32>), Failure> {
    let output = command(folder)?.args(["verify", FIXTURE, "--format", "json"]).args(options).output();
    let output = tokio::time::timeout(PATIENCE, output).await.map_err(|_| "`contrail verify` did not end")??;
    private_file(&folder.join("verify.json"), true)?.write_all(&output.stdout)?;
    let report = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("`contrail verify` gave no report ({error}): {}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok((report, output.status.code()))
}

/// A server that runs until it is stopped. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    log: File,
    /// Where it listens, as in `127.0.0.1:4711`.
    pub(super) address: String,
}

impl Server {
    /// Starts `contrail` and waits until it listens. What it says goes to `log` as well.
    pub(super) async fn start(folder: &Path, arguments: &[impl AsRef<OsStr>], log: &Path) -> Result<Self, Failure> {
        let name = name(arguments);
        let mut child = command(folder)?.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("a child without standard error")?;
        let log = private_file(log, true)?;
        let mut server = Self { child, lines: BufReader::new(stderr).lines(), log, address: String::new() };
        let mut lines = Vec::new();
        loop {
            match server.line().await? {
                Some(line) => match line.split_once("listening on http://") {
                    Some((_, address)) => {
                        address.trim_end_matches(['"', '}']).clone_into(&mut server.address);
                        return Ok(server);
                    }
                    None => lines.push(line),
                },
                None => return Err(format!("`contrail {name}` did not start: {}", lines.join("; ")).into()),
            }
        }
    }

    /// The next line that it says; `None` once it has ended.
    pub(super) async fn line(&mut self) -> Result<Option<String>, Failure> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line())
            .await
            .map_err(|_| "a contrail process that the demo started no longer writes anything")??;
        if let Some(line) = &line {
            writeln!(self.log, "{line}")?;
        }
        Ok(line)
    }

    /// Asks it to stop; gives the rest of its output, and its exit status.
    pub(super) async fn stop(mut self) -> Result<(Vec<String>, Option<i32>), Failure> {
        if let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            kill(Pid::from_raw(pid), Signal::SIGTERM)?;
        }
        let mut rest = Vec::new();
        while let Some(line) = self.line().await? {
            rest.push(line);
        }
        let status = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .map_err(|_| "a contrail that the demo has started does not stop")??;
        Ok((rest, status.code()))
    }
}

/// The proxy's line about the exchange that has just ended.
pub(super) async fn next_exchange(proxy: &mut Server) -> Result<Line, Failure> {
    while let Some(line) = proxy.line().await? {
        if let Some(line) = serde_json::from_str(&line).ok().as_ref().and_then(Line::read) {
            return Ok(line);
        }
    }
    Err("the proxy ended in the middle of the demo".into())
}

/// An exit status in words.
pub(super) fn shown(status: Option<i32>) -> String {
    status.map_or("none (a signal)".to_owned(), |status| status.to_string())
}
