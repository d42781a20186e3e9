//! What hostile traffic does, through the real proxy: secrets planted at random in every place and coding that an
//! exchange has are in no file, no line and no answer of the live page, whatever the command and the way in.

mod agreement;
mod ambiguous;
mod making;
mod page;
mod search;

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use self::{
    making::{Dice, Exchange, plant},
    search::Search,
};
use crate::{
    hostile::frames::{DATA, END_STREAM, block, frame, greeting, headers},
    inspecting::TOKEN,
    support::{
        command::run_in,
        process::Running,
        wire::{Origin, request, send},
    },
};

/// Exchanges of one run.
const EXCHANGES: usize = 60;

/// How a client reaches contrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Reverse,
    Http2,
    Absolute,
    Tunnel,
}

/// A client of a running contrail.
struct Client {
    way: Way,
    to: SocketAddr,
    /// What a forward listener takes for the upstream.
    upstream: String,
}

impl Client {
    fn of(running: &Running, way: Way, upstream: &str) -> Self {
        let to = match way {
            Way::Reverse | Way::Http2 => running.addresses[0],
            Way::Absolute | Way::Tunnel => running.addresses[1],
        };
        Self { way, to, upstream: upstream.to_owned() }
    }

    /// A connection, its tunnel opened.
    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        if self.way == Way::Tunnel {
            write!(stream, "CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", self.upstream).unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
        }
        stream
    }

    /// What a request line names.
    fn target(&self, target: &str) -> String {
        if self.way == Way::Absolute { format!("http://{}{target}", self.upstream) } else { target.to_owned() }
    }

    /// Sends an exchange's request; whatever comes back.
    fn ask(&self, exchange: &Exchange, dice: &mut Dice) -> Vec<u8> {
        if self.way == Way::Http2 {
            return self.ask_over_http2(exchange, dice);
        }
        let target = self.target(&exchange.target);
        let mut raw =
            format!("POST {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.upstream).into_bytes();
        raw.extend(exchange.request.bytes(dice));
        self.send(&raw)
    }

    fn send(&self, raw: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        let _ = stream.write_all(raw);
        let mut answer = Vec::new();
        // A connection that was refused may end in a reset.
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn ask_over_http2(&self, exchange: &Exchange, dice: &mut Dice) -> Vec<u8> {
        let mut fields = format!(":method=POST|:scheme=http|:path={}|:authority=a", exchange.target);
        for (name, value) in &exchange.request.headers {
            // The table of fields has this mark between them.
            let (name, value) = (name.to_lowercase(), value.replace('|', "/"));
            let _ = write!(fields, "|{name}={value}");
        }
        let mut sent = greeting();
        match &exchange.request.body {
            None => sent.extend(headers(1, true, &block(&fields))),
            Some((media, text)) => {
                sent.extend(headers(1, false, &block(&format!("{fields}|content-type={media}"))));
                let (first, rest) = text.as_bytes().split_at(dice.roll(text.len()));
                sent.extend(frame(DATA, 0, 1, first));
                sent.extend(frame(DATA, END_STREAM, 1, rest));
            }
        }
        let mut stream = self.connect();
        stream.write_all(&sent).unwrap();
        let mut answer = Vec::new();
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).unwrap();
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            stream.read_exact(&mut payload).unwrap();
            let (kind, flags, on_stream) = (head[3], head[4], head[8] == 1);
            if kind == DATA {
                answer.extend(payload);
            }
            // Ended, or reset.
            if on_stream && (kind <= 1 && flags & END_STREAM != 0 || kind == 3) {
                return answer;
            }
        }
    }

    /// A request that contrail refuses by itself, and an upload that is given up: with the secret in them all the same.
    fn misbehave(&self, secret: &str, dice: &mut Dice) {
        let percent = dice.percent(secret);
        let target = |target: String| self.target(&target);
        for raw in [
            format!(
                "GET {} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Api-Key: {secret}\r\n\r\n",
                target(format!("/a?access_token={percent}"))
            ),
            format!(
                "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\nTransfer-Encoding: chunked\r\n\
                 Content-Length: 5\r\n\r\n0\r\n\r\n",
                target(format!("/oauth/token/?client_secret={percent}"))
            ),
            format!("GET /{percent} {secret} HTTP/1.1\r\nHost: a\r\nCookie: sid={secret}\r\n\r\n"),
            format!("GET http://{secret}@a/ HTTP/1.1\r\nHost: {secret}\r\n\r\n"),
            format!("GET http://{percent}.example/?token={secret} HTTP/1.1\r\nHost: a\r\n\r\n"),
            format!("CONNECT {secret}:443 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Bearer {secret}\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: {secret}\r\nX-Long: {}\r\n\r\n", "x".repeat(80_000)),
        ] {
            self.send(raw.as_bytes());
        }
        let mut upload = self.connect();
        let head = format!("POST {} HTTP/1.1\r\nHost: a\r\n", target("/oauth/token/".to_owned()));
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        write!(upload, "{head}{form}Content-Length: 900\r\n\r\ngrant_type=x&client_secret={secret}&half=").unwrap();
    }
}

fn every_file(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in fs::read_dir(root).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() { found.extend(every_file(&path)) } else { found.push(path) }
    }
    found
}

const LISTENERS: [&str; 8] =
    ["--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0", "--ca-dir", "ca"];

/// The page's token comes from the environment.
const PAGE: &[(&str, &str)] = &[("CONTRAIL_INSPECT_TOKEN", TOKEN)];

/// What was said, and by whom.
type Said = Vec<(String, String)>;

/// Runs `record` or `watch` in front of a tenant that the secrets come from, too.
fn run(folder: &Path, command: &str, format: &str, way: Way, dice: &mut Dice, secrets: &mut Vec<String>) -> Said {
    let origin = Origin::start();
    let upstream = origin.address.to_string();
    let url = format!("http://{upstream}");
    let reports = ["--report", "json=live.json", "--report", "html=live.html", "--report", "junit=live.xml"];
    let record = if command == "record" { &["--out", "rec/", "--keep"][..] } else { &[] };
    let options = ["--upstream", &url, "--trail", "trail", "--format", format, "--report", "text=live.txt"];
    let all = [&[command], &LISTENERS[..], &options, &reports, record].concat();
    let proxy = Running::start_with(folder, all, PAGE);
    let client = Client::of(&proxy, way, &upstream);
    for _ in 0..EXCHANGES {
        let secret = dice.secret();
        let exchange = plant(&secret, dice);
        secrets.push(secret);
        let mut answer = format!("HTTP/1.1 {} Played\r\nConnection: close\r\n", exchange.status).into_bytes();
        answer.extend(exchange.response.bytes(dice));
        origin.will_answer(answer);
        client.ask(&exchange, dice);
    }
    let journal = fs::read_to_string(folder.join("trail/trail-00000001.journal")).unwrap();
    let recorded = journal.lines().filter(|line| line.starts_with("{\"startedDateTime\"")).count();
    assert_eq!(recorded, EXCHANGES, "every exchange is in the journal");
    for _ in 0..4 {
        let secret = dice.secret();
        if way != Way::Http2 {
            client.misbehave(&secret, dice);
        }
        secrets.push(secret);
    }
    // One more exchange, after what was given up.
    origin.will_answer("HTTP/1.1 204 Played\r\nConnection: close\r\n\r\n");
    let _ = send(proxy.address, "GET", &request(proxy.address, "GET", "/last", &[], b""));
    let mut said = page::answers(proxy.addresses[2], EXCHANGES as u64);
    let ran = proxy.finish();
    assert!(ran.status < 2, "{}", ran.stderr);
    said.push((command.to_owned(), ran.stdout + &ran.stderr));
    said
}

/// Replays the fixture to clients with new secrets, hits and misses.
fn replayed(folder: &Path, format: &str, way: Way, dice: &mut Dice, secrets: &mut Vec<String>) -> Said {
    let reports = ["--report", "json=replay.json", "--report", "html=replay.html", "--report", "junit=replay.xml"];
    let all = [&["replay", "rec/", "--format", format, "--keep-audience"], &LISTENERS[..], &reports].concat();
    let replay = Running::start_with(folder, all, PAGE);
    let client = Client::of(&replay, way, "tenant.example:443");
    let mut answers = Vec::new();
    for _ in 0..EXCHANGES / 2 {
        let secret = dice.secret();
        let exchange = plant(&secret, dice);
        // No response of the tenant's tells of the others.
        if !exchange.told {
            continue;
        }
        secrets.push(secret);
        answers.extend(client.ask(&exchange, dice));
        answers.push(b'\n');
    }
    let secret = dice.secret();
    if way != Way::Http2 {
        client.misbehave(&secret, dice);
    }
    secrets.push(secret);
    let mut said = page::answers(replay.addresses[2], 1);
    let ran = replay.finish();
    assert!(ran.status != 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("miss"), "{}", ran.stderr);
    said.push(("replay".to_owned(), ran.stdout + &ran.stderr));
    said.push(("answers of a replay".to_owned(), String::from_utf8_lossy(&answers).into_owned()));
    said
}

fn holds(command: &str, format: &str, way: Way, seed: u64) {
    let mut dice = Dice(seed);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut secrets = Vec::new();
    let mut said = run(folder, command, format, way, &mut dice, &mut secrets);
    let of_trail: &[&[&str]] = &[
        &["verify", "trail", "--format", "json"],
        &["audit", "trail"],
        &["audit", "trail", "--format", "json"],
        &["scan", "trail"],
    ];
    let of_fixture: &[&[&str]] = &[
        &["pack", "rec/", "--out", "one.har"],
        &["verify", "rec/", "--report", "html=rec.html", "--report", "junit=rec.xml"],
        &["diff", "rec/", "trail"],
        &["diff", "one.har", "trail", "--format", "json"],
        &["scan", "trail", "rec", "one.har"],
    ];
    let recorded = command == "record";
    if recorded {
        said.extend(replayed(folder, format, way, &mut dice, &mut secrets));
    }
    for command in of_trail.iter().chain(of_fixture.iter().filter(|_| recorded)) {
        let ran = run_in(folder, *command);
        assert!(ran.status < 2, "{command:?}: {}", ran.stderr);
        let scanned =
            command[0] != "scan" || ran.stderr.contains("no secret in") || ran.stdout.contains("no secret in");
        assert!(scanned, "{}{}", ran.stdout, ran.stderr);
        said.push((command.join(" "), ran.stdout + &ran.stderr));
    }
    let files = every_file(folder).into_iter().filter(|file| !file.starts_with(folder.join("ca")));
    let mut many = 0;
    for file in files {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{} can be read by others", file.display());
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        said.push((file.display().to_string(), text));
        many += 1;
    }
    assert!(many > if recorded { 20 } else { 4 }, "{many} files");
    let search = Search::new(&secrets);
    for (place, text) in &said {
        assert_eq!(search.find(text), None, "in {place}");
    }
}

#[test]
fn no_planted_secret_is_in_a_line_for_people_or_in_any_file() {
    holds("record", "text", Way::Reverse, 0x5EC2_E701);
}

#[test]
fn no_planted_secret_is_in_a_line_of_json_or_in_any_file() {
    holds("record", "json", Way::Reverse, 0x5EC2_E702);
}

#[test]
fn no_secret_that_came_over_http2_is_in_any_line_or_file() {
    holds("record", "text", Way::Http2, 0x5EC2_E703);
}

#[test]
fn no_secret_that_came_through_a_forward_proxy_is_in_any_line_or_file() {
    holds("record", "json", Way::Absolute, 0x5EC2_E704);
}

#[test]
fn no_secret_that_came_through_a_tunnel_is_in_any_line_or_file_of_a_watch() {
    holds("watch", "text", Way::Tunnel, 0x5EC2_E705);
}

#[test]
fn a_secret_that_comes_first_in_an_interim_answer_is_in_no_recording() {
    const SECRET: &str = "ea7ly-h1nted-session-value";
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    origin.will_answer(format!(
        "HTTP/1.1 103 Early Hints\r\nSet-Cookie: session={SECRET}; Secure\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\nhello {SECRET}",
        6 + SECRET.len()
    ));
    let upstream = format!("http://{}", origin.address);
    let running = Running::start(
        folder.path(),
        ["record", "--upstream", &upstream, "--out", "out.har", "--listen", "127.0.0.1:0"],
    );
    let mut client = TcpStream::connect(running.addresses[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"GET /api/v2/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert!(got.starts_with("HTTP/1.1 103 ") && got.ends_with(&format!("hello {SECRET}")), "{got}");
    let ran = running.finish();
    let recorded = fs::read_to_string(folder.path().join("out.har")).unwrap();
    assert!(recorded.contains("hello !cookie-") && !recorded.contains(SECRET), "{recorded} {}", ran.stderr);
}
