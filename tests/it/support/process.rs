//! A `contrail` that keeps running (record, watch, replay, sandbox), until it is told to end.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::command::{Ran, contrail};

/// What a test waits for at most; beyond it something hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `contrail` that listens.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    child: Option<Child>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts it in a folder and waits until it says `listening on`.
    pub fn start<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        let mut child = contrail()
            .current_dir(folder)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let (ready, listening) = mpsc::channel();
        let err = BufReader::new(child.stderr.take().unwrap());
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            for line in err.lines() {
                let line = line.unwrap();
                if let Some(address) = line.strip_prefix("listening on http://").and_then(|rest| rest.parse().ok()) {
                    let _: Result<(), _> = ready.send(address);
                }
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        let Ok(address) = listening.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("contrail never listened: {}", stderr.join().unwrap());
        };
        Self { address, child: Some(child), stdout: Some(stdout), stderr: Some(stderr) }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Interrupts it (as Ctrl-C does) and waits for its end.
    pub fn finish(self) -> Ran {
        kill(Pid::from_raw(self.id().cast_signed()), Signal::SIGINT).unwrap();
        self.wait()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ran {
        let mut child = self.child.take().unwrap();
        let status = child.wait().unwrap();
        Ran {
            status: status.code().unwrap_or_else(|| panic!("contrail ended by a signal: {status}")),
            stdout: self.stdout.take().unwrap().join().unwrap(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
