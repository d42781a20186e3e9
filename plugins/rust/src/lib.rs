//! Gives a test recorded answers of an API: recorded once, replayed from then on. A request that is not recorded fails
//! the test that made it, with the nearest recordings.
//!
//! ```no_run
//! #[test]
//! fn an_order_is_paid() {
//!     let api = contrail::Replay::open("tests/contrail/order").upstream("https://api.example").start().unwrap();
//!     let client = MyClient::new(api.url());
//! # struct MyClient; impl MyClient { fn new(_: &str) {} }
//! }
//! ```
//!
//! `CONTRAIL_MODE` is `replay` (default), `record`, `missing` (what has no fixture is recorded) or `off`; `CONTRAIL`
//! names the program. `docs/ci.md` of contrail says more.

use std::{
    env,
    ffi::OsString,
    fs::{self, DirBuilder},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, JoinHandle},
};

/// A fixture to answer from, and how it is recorded. Tests that run beside each other need one each.
#[derive(Debug, Clone)]
pub struct Replay {
    fixture: PathBuf,
    upstreams: Vec<String>,
    arguments: Vec<OsString>,
}

impl Replay {
    /// Answers from this fixture, a folder.
    pub fn open(fixture: impl Into<PathBuf>) -> Self {
        Self { fixture: fixture.into(), upstreams: Vec::new(), arguments: Vec::new() }
    }

    /// The origin of the API, or `NAME=ORIGIN` of one of several, as `--upstream` takes it. Recording needs it.
    #[must_use]
    pub fn upstream(mut self, origin: impl Into<String>) -> Self {
        self.upstreams.push(origin.into());
        self
    }

    /// A further argument of contrail.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts contrail, which listens when this returns.
    ///
    /// # Errors
    ///
    /// `contrail` is not installed, or what it prints when it does not start, such as a fixture that is not there.
    pub fn start(&self) -> io::Result<Running> {
        let mode = env::var("CONTRAIL_MODE").unwrap_or_default();
        let records = match &*mode {
            "off" => {
                let url = self.upstreams.first().cloned().unwrap_or_default();
                return Ok(Running { variables: vec![("CONTRAIL_URL".into(), url)], process: None });
            }
            "" | "replay" => false,
            "record" => true,
            "missing" => !self.fixture.exists(),
            _ => return Err(wrong(format!("CONTRAIL_MODE is replay, record, missing or off, not {mode}"))),
        };
        if records && self.upstreams.is_empty() {
            return Err(wrong(format!("CONTRAIL_MODE={mode} needs the API's origin: Replay::upstream")));
        }
        let mut command = Command::new(env::var_os("CONTRAIL").unwrap_or("contrail".into()));
        if records {
            command.args(["record", "--overwrite", "--out"]).arg(&self.fixture);
        } else {
            command.arg("replay").arg(&self.fixture);
        }
        // By their names replay knows the hosts of several APIs.
        if records || self.upstreams.len() > 1 {
            self.upstreams.iter().for_each(|origin| _ = command.args(["--upstream", origin]));
        }
        let scratch = scratch()?;
        let file = scratch.join("environment");
        // The proxy ends with this command, and the command with its input, however the test ends.
        command.args(&self.arguments).arg("--env-file").arg(&file).args(["--", "cat"]);
        let started = Process::start(&mut command);
        let variables = fs::read_to_string(&file).unwrap_or_default();
        fs::remove_dir_all(scratch)?;
        let variables = variables.lines().filter_map(|line| line.split_once('='));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Running { variables, process: Some(started?) })
    }
}

/// A contrail that listens until this is dropped. A test that made a request without a recording, or whose recording
/// failed, panics then.
#[derive(Debug)]
pub struct Running {
    variables: Vec<(String, String)>,
    process: Option<Process>,
}

impl Running {
    /// The origin that a client uses instead of the API's, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        self.variable("CONTRAIL_URL").unwrap_or_default()
    }

    /// A variable of [`Running::env`], such as `CONTRAIL_URL_BILLING`.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    /// The environment of a program that is to use contrail: addresses, proxies and certificate bundles, for
    /// `Command::envs`.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        &self.variables
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some((is_success, printed)) = self.process.take().and_then(Process::end) else { return };
        // The summary stands behind the line of each request.
        let summary = printed.split_once("\n\n").map_or(&*printed, |(_, summary)| summary);
        match (is_success, thread::panicking()) {
            (true, _) => eprint!("{summary}"),
            (false, true) => eprint!("contrail: {printed}"),
            (false, false) => panic!("contrail: {printed}"),
        }
    }
}

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: ChildStdin,
    stderr: JoinHandle<String>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Process {
    /// Returns once the command inside runs, which answers each line with that line.
    fn start(command: &mut Command) -> io::Result<Self> {
        let missing = |error: io::Error| {
            io::Error::new(error.kind(), format!("{error}; install contrail, or name it with CONTRAIL=PATH"))
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(missing)?;
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three are pipes")
        };
        let stderr = thread::spawn(move || {
            let mut printed = Vec::new();
            let _ = stderr.read_to_end(&mut printed);
            String::from_utf8_lossy(&printed).into_owned()
        });
        let mut stdout = BufReader::new(stdout);
        // It ends without reading if it cannot start.
        let _ = stdin.write_all(b"\n");
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let process = Self { child, stdin, stderr, stdout };
        if line.is_empty() {
            return Err(wrong(process.end().map(|(_, printed)| printed).unwrap_or_default()));
        }
        Ok(process)
    }

    /// Whether it succeeded, and what it printed.
    fn end(self) -> Option<(bool, String)> {
        let Self { mut child, stdin, stderr, mut stdout } = self;
        drop(stdin);
        let mut rest = Vec::new();
        let _ = stdout.read_to_end(&mut rest);
        let ended = child.wait().ok()?;
        Some((ended.success(), stderr.join().ok()?))
    }
}

/// A folder that nobody else reads.
fn scratch() -> io::Result<PathBuf> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("contrail-rust-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
}

fn wrong(text: String) -> io::Error {
    io::Error::other(text)
}
