//! A `contrail` that keeps running (record, watch, replay, sandbox), until a signal ends it.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::command::{Ran, contrail, limited};

/// What a test waits for at most; beyond it something hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `contrail` that listens.
#[derive(Debug)]
pub struct Running {
    /// Where it listens: the first listener that it says.
    pub address: SocketAddr,
    /// Where each of its listeners listens, in the order in which it says them (control, plain, TLS, forward, metrics).
    pub addresses: Vec<SocketAddr>,
    child: Option<Child>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts it in a folder and waits until it says `listening on`.
    pub fn start<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        Self::launch(contrail(), folder, arguments, None)
    }

    /// The same for one with so many listeners that the arguments do not show.
    pub fn start_several<A: AsRef<OsStr>>(
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        listeners: usize,
    ) -> Self {
        Self::launch(contrail(), folder, arguments, Some(listeners))
    }

    /// The same with these variables.
    pub fn start_with<A: AsRef<OsStr>>(
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = contrail();
        command.envs(variables.iter().copied());
        Self::launch(command, folder, arguments, None)
    }

    /// The same under limits that a shell sets.
    pub fn limited<A: AsRef<OsStr>>(limits: &str, folder: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        Self::launch(limited(limits), folder, arguments, None)
    }

    fn launch<A: AsRef<OsStr>>(
        mut command: Command,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        listeners: Option<usize>,
    ) -> Self {
        let arguments: Vec<A> = arguments.into_iter().collect();
        let asked = |argument: &&A| {
            let argument = argument.as_ref().to_string_lossy();
            argument.ends_with("listen") || ["--metrics", "--inspect", "--control"].contains(&&*argument)
        };
        let listeners = listeners.unwrap_or_else(|| arguments.iter().filter(asked).count().max(1));
        command.current_dir(folder).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let (ready, said) = mpsc::channel();
        let err = BufReader::new(child.stderr.take().unwrap());
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            for line in err.lines() {
                let line = line.unwrap();
                if let Some(address) = listening(&line) {
                    let _: Result<(), _> = ready.send(address);
                }
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        let mut addresses = Vec::new();
        while addresses.len() < listeners {
            let Ok(address) = said.recv_timeout(PATIENCE) else {
                let _ = child.kill();
                let _ = child.wait();
                panic!("contrail never listened: {}", stderr.join().unwrap());
            };
            addresses.push(address);
        }
        Self { address: addresses[0], addresses, child: Some(child), stdout: Some(stdout), stderr: Some(stderr) }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Kilobytes of memory that it has, now (`VmRSS`) or at most so far (`VmHWM`).
    #[cfg(target_os = "linux")]
    pub fn memory(&self, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
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

/// The address in a line that says where contrail listens.
pub fn listening(line: &str) -> Option<SocketAddr> {
    let said = ["listening on ", "inspector on ", "control on "].into_iter().find_map(|said| line.split_once(said));
    let (_, at) = said?.1.split_once("://")?;
    at.split([' ', '"', '/']).next()?.parse().ok()
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
