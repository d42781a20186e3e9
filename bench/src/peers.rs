//! Other proxies in the same table, where they are installed: each in front of the same origin, in one process.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    Error,
    measure::{Running, pid, pin},
};

/// What can be asked for. Prism validates, mitmproxy writes flows; the others only pass on.
pub const ALL: [&str; 5] = ["nginx", "haproxy", "mitmproxy", "prism", "wiremock"];

/// Starts one on a free port of its own, and waits until it takes connections.
pub fn start(name: &str, origin: SocketAddr, scratch: &Path, core: usize) -> Result<Running, Error> {
    // Free a moment ago; none of them takes port 0 and says which one it got.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = command(name, address.port(), origin, scratch)?;
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {name} ({error}); is it installed?"))?;
    pin(pid(&child), core)?;
    wait(Running { child, address }, &command)
}

/// Waits until a process takes connections.
pub fn wait(mut running: Running, command: &Command) -> Result<Running, Error> {
    let started = Instant::now();
    while TcpStream::connect(running.address).is_err() {
        if let Some(status) = running.child.try_wait()? {
            return Err(format!("it ended before it was ready ({status}): {command:?}").into());
        }
        if started.elapsed() > Duration::from_secs(60) {
            return Err(format!("it did not listen within a minute: {command:?}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(running)
}

fn command(name: &str, port: u16, origin: SocketAddr, scratch: &Path) -> Result<Command, Error> {
    let folder = scratch.join(name);
    std::fs::create_dir_all(&folder)?;
    let config = |text: String| -> Result<_, Error> {
        let file = folder.join("config");
        std::fs::write(&file, text)?;
        Ok(file)
    };
    let mut command;
    match name {
        "nginx" => {
            let file = config(format!(
                "daemon off; master_process off; pid {folder}/pid; error_log stderr crit;\n\
                 events {{ worker_connections 1024; }}\n\
                 http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
                 fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
                 upstream origin {{ server {origin}; keepalive 64; }}\n\
                 server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000;\n\
                 location / {{ proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n",
                folder = folder.display()
            ))?;
            command = Command::new("nginx");
            command.arg("-c").arg(file).arg("-p").arg(&folder);
        }
        "haproxy" => {
            let file = config(format!(
                "global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
                 \x20 http-reuse always\nfrontend f\n  bind 127.0.0.1:{port}\n  default_backend b\nbackend b\n  server s {origin}\n"
            ))?;
            command = Command::new("haproxy");
            command.arg("-db").arg("-f").arg(file);
        }
        "mitmproxy" => {
            command = Command::new("mitmdump");
            command
                .args(["--mode", &format!("reverse:http://{origin}"), "--listen-host", "127.0.0.1", "--listen-port"])
                .args([&port.to_string(), "-q", "-w"])
                .arg(folder.join("flows"));
        }
        "prism" => {
            let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contracts/tenant-management.yaml");
            // Prism finds no operation of a request whose path begins with that of the server.
            let file = config(std::fs::read_to_string(contract)?.replace("\n  /", "\n  /api/v2/"))?;
            let yaml = file.with_extension("yaml");
            std::fs::rename(file, &yaml)?;
            command = Command::new("prism");
            command
                .args(["proxy", "-h", "127.0.0.1", "-p", &port.to_string()])
                .arg(yaml)
                .arg(format!("http://{origin}"));
        }
        "wiremock" => {
            command = Command::new("wiremock");
            command
                .args(["--bind-address", "127.0.0.1", "--port", &port.to_string(), "--no-request-journal"])
                .args(["--proxy-all", &format!("http://{origin}"), "--root-dir"])
                .arg(&folder);
        }
        other => return Err(format!("`{other}` is no peer; expected {}", ALL.join(", ")).into()),
    }
    Ok(command)
}
