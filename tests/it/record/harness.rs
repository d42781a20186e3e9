//! A folder to record in, and the sandbox's secrets made known.

use std::{fs, net::SocketAddr, path::Path};

use serde_json::Value;

use crate::support::{
    command::{Ran, run_in},
    process::Running,
    wire::{Message, call},
};

/// The client with every scope, and its secret in [`Workspace`]'s seed.
pub const CLIENT: &str = "sandbox-full";
pub const SECRET: &str = "known-s3cr3t-0123456789";

/// A folder with a seed for `--upstream sandbox` in it.
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut seed: Value = serde_json::from_str(contrail_sandbox::BUILT_IN_SEED).unwrap();
        for client in seed["clients"].as_array_mut().unwrap() {
            client["secret"] = SECRET.into();
        }
        fs::write(folder.path().join("seed.json"), seed.to_string()).unwrap();
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Starts `record` or `watch` in front of the sandbox.
    pub fn start(&self, command: &str, options: &[&str]) -> Running {
        let all = [command, "--listen", "127.0.0.1:0", "--upstream", "sandbox", "--seed", "seed.json"];
        Running::start(self.path(), all.iter().chain(options))
    }

    /// The same in front of another upstream.
    pub fn start_at(&self, upstream: SocketAddr, command: &str, options: &[&str]) -> Running {
        let upstream = format!("http://{upstream}");
        Running::start(self.path(), [command, "--listen", "127.0.0.1:0", "--upstream", &upstream].iter().chain(options))
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        run_in(self.path(), arguments)
    }
}

/// A token of the client with every scope.
pub fn token(proxy: SocketAddr) -> String {
    let form =
        format!("grant_type=client_credentials&client_id={CLIENT}&client_secret={SECRET}&audience=%2Fapi%2Fv2%2F");
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = call(proxy, "POST", "/oauth/token/", &headers, form.as_bytes());
    answer.json()["access_token"].as_str().unwrap().to_owned()
}

pub const TEMPLATES: &str = "/api/v2/connection-profiles/templates";

/// A GET with a token.
pub fn get(proxy: SocketAddr, target: &str, token: &str) -> Message {
    call(proxy, "GET", target, &[("Authorization", &format!("Bearer {token}"))], b"")
}

/// The objects among the lines on standard error that have this member.
pub fn objects(ran: &Ran, member: &str) -> Vec<Value> {
    ran.stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line.get(member).is_some())
        .collect()
}

/// The entries of a fixture.
pub fn entries(har: &str) -> Vec<Value> {
    serde_json::from_str::<Value>(har).unwrap()["log"]["entries"].as_array().unwrap().clone()
}
