//! Runs the built binary, in an environment of its own.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

/// What a run of `contrail` gave.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// What went to standard output.
    pub stdout: String,
    /// What went to standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("contrail was killed by a signal"),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

/// The binary, without any `CONTRAIL_*` variable or `contrail.toml` of the machine that runs the tests.
pub fn contrail() -> Command {
    alone(env!("CARGO_BIN_EXE_contrail"))
}

/// The same under limits that a shell sets: `ulimit -n 200`.
pub fn limited(limits: &str) -> Command {
    let mut shell = alone("bash");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_contrail")]);
    shell
}

fn alone(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CONTRAIL_") {
            command.env_remove(name);
        }
    }
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GITHUB_ACTIONS", "GITLAB_CI"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs `contrail` with these arguments, to its end.
pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    contrail().args(arguments).output().unwrap().into()
}

/// The same in a folder.
pub fn run_in<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Ran {
    contrail().current_dir(folder).args(arguments).output().unwrap().into()
}

/// The same with this on standard input.
pub fn run_with_input<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Ran {
    let mut child =
        contrail().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A command that fails early does not read its input.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}
