//! `--sessions`: tests that run beside each other share one contrail, and each sees what was recorded for it.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    command::{Ran, run_in},
    process::Running,
    wire::{self, Message, call},
};

/// A vendor that answers no two requests alike: each answer holds how many came before it.
fn vendor() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), Arc::clone(&count));
            thread::spawn(move || {
                while let Ok(request) = wire::read(&mut BufReader::new(&stream), false, false) {
                    let path = request.start.split(' ').nth(1).unwrap_or_default();
                    let saw = request.header("contrail-session").is_some() || path.contains('~');
                    if path == "/never" {
                        let _ = stream.read(&mut [0]);
                        return;
                    }
                    let body = format!("{{\"n\":{},\"saw\":{saw}}}", count.fetch_add(1, Ordering::SeqCst));
                    let moved = if path == "/moved" { "Location: /next\r\n" } else { "" };
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{moved}");
                    let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    address
}

/// The ways in which a client names its session.
#[derive(Debug, Clone, Copy)]
enum Way {
    Header,
    Path,
    User,
    Tunnel,
}

/// A client of one session.
struct Client<'a> {
    contrail: &'a Contrail,
    name: &'a str,
    way: Way,
}

impl Client<'_> {
    fn ask(&self, method: &str, path: &str, body: &str) -> Message {
        let &Contrail { reverse, forward, .. } = self.contrail;
        let user = format!("Basic {}", base64(&format!("{}:x", self.name)));
        match self.way {
            Way::Header => call(reverse, method, path, &[("Contrail-Session", self.name)], body.as_bytes()),
            Way::Path => call(reverse, method, &format!("/~{}{path}", self.name), &[], body.as_bytes()),
            Way::User => {
                let target = format!("http://{}{path}", self.contrail.vendor);
                call(forward, method, &target, &[("Proxy-Authorization", &user)], body.as_bytes())
            }
            Way::Tunnel => {
                let mut stream = TcpStream::connect(forward).unwrap();
                let connect =
                    format!("CONNECT {} HTTP/1.1\r\nProxy-Authorization: {user}\r\n\r\n", self.contrail.vendor);
                stream.write_all(connect.as_bytes()).unwrap();
                assert_eq!(wire::read(&mut BufReader::new(&stream), true, true).unwrap().status(), 200);
                stream.write_all(&wire::request(self.contrail.vendor, method, path, &[], body.as_bytes())).unwrap();
                wire::read(&mut BufReader::new(&stream), false, true).unwrap()
            }
        }
    }

    /// What a test sees: a job that it starts and polls. Each answer is another one.
    fn run(&self) -> Vec<String> {
        let polls = (0..3).map(|_| self.ask("GET", "/jobs/1", ""));
        let answers = [self.ask("POST", "/jobs", "{\"job\":1}")].into_iter().chain(polls);
        answers.map(|answer| String::from_utf8(answer.body).unwrap()).collect()
    }
}

fn base64(text: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}

/// A contrail with a control listener, a reverse one and a forward one.
struct Contrail {
    running: Running,
    control: SocketAddr,
    reverse: SocketAddr,
    forward: SocketAddr,
    vendor: SocketAddr,
}

impl Contrail {
    /// Starts a command in front of a vendor.
    fn start(folder: &Path, command: &[&str], vendor: SocketAddr) -> Self {
        let upstream = format!("http://{vendor}");
        let any = "127.0.0.1:0";
        let common =
            ["--listen", any, "--forward-listen", any, "--ca-dir", "ca", "--contract", "none", "--control", any];
        let all = command.iter().chain(&common).copied().chain(["--upstream", &upstream]);
        let running = Running::start(folder, all);
        let [control, reverse, forward] = running.addresses[..] else { panic!("{:?}", running.addresses) };
        Self { running, control, reverse, forward, vendor }
    }

    fn client<'a>(&'a self, name: &'a str, way: Way) -> Client<'a> {
        Client { contrail: self, name, way }
    }

    fn again(&self, session: &str) -> u16 {
        call(self.control, "PUT", &format!("/sessions/{session}"), &[], b"").status()
    }

    fn end(&self, session: &str) -> Message {
        call(self.control, "DELETE", &format!("/sessions/{session}"), &[], b"")
    }

    fn finish(self) -> Ran {
        self.running.finish()
    }
}

fn json(ran: &Ran, member: &str) -> Value {
    let lines = ran.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line.get(member).cloned()).next_back().unwrap_or_else(|| panic!("{}", ran.stderr))
}

/// Works of this list are done by eight threads.
fn in_parallel<T: Send>(list: Vec<T>, work: impl Fn(T) + Sync) {
    let list = Mutex::new(list);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(one) = { list.lock().unwrap().pop() } {
                    work(one);
                }
            });
        }
    });
}

#[test]
fn forty_sessions_in_eight_threads_and_any_order_see_what_was_recorded_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let names: Vec<String> = (0..40).map(|number| format!("test_{number}.py")).collect();
    let way = |at: usize| [Way::Header, Way::Path, Way::User, Way::Tunnel][at % 4];
    let seen: Mutex<BTreeMap<&str, Vec<String>>> = Mutex::default();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    in_parallel(names.iter().enumerate().collect(), |(at, name)| {
        let saw = contrail.client(name, way(at)).run();
        seen.lock().unwrap().insert(name, saw);
    });
    let ran = contrail.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("\nsessions: 40\n160 entries, written\n"), "{}", ran.stderr);
    let seen = seen.into_inner().unwrap();
    assert!(seen.values().flatten().all(|body| body.contains("\"saw\":false")), "{seen:?}");

    let replay = ["replay", "--sessions", "fx", "--deny", "unused"];
    let contrail = Contrail::start(folder.path(), &replay, vendor);
    for round in 0..3 {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|at| (at + 1) * 7919 * (round + 3) % 41);
        in_parallel(order, |at| {
            let name = &*names[at];
            let client = contrail.client(name, way(at + round));
            assert_eq!(contrail.again(name), 200);
            assert_eq!(client.run(), seen[name], "{name} by {:?} in round {round}", client.way);
            let ended = contrail.end(name);
            assert_eq!((ended.status(), &ended.json()["requests"]), (200, &4.into()), "{ended:?}");
        });
    }
    let ran = contrail.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_miss_in_one_session_disturbs_no_other_and_every_report_names_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    let a = contrail.client("a", Way::Header).ask("GET", "/count", "").body;
    let b = contrail.client("b", Way::Header).ask("GET", "/count", "").body;
    contrail.client("b", Way::Header).ask("GET", "/other", "");
    let unnamed = call(contrail.reverse, "GET", "/count", &[], b"").body;
    assert_eq!(contrail.finish().status, 0);
    // What several tests need is recorded once, and is no session's own.
    let upstream = format!("http://{vendor}");
    let record =
        ["record", "--out", "shared", "--listen", "127.0.0.1:0", "--contract", "none", "--upstream", &upstream];
    let recorder = Running::start(folder.path(), record);
    let shared = call(recorder.address, "GET", "/shared", &[], b"").body;
    assert_eq!(recorder.finish().status, 0);

    let replay = ["replay", "shared", "--sessions", "fx", "--exhausted", "miss", "--deny", "unused"];
    let contrail = Contrail::start(folder.path(), &[&replay[..], &["--report", "junit=junit.xml"]].concat(), vendor);
    let ask = |name, path: &str| contrail.client(name, Way::Header).ask("GET", path, "");
    let missed = ask("a", "/other");
    assert_eq!((missed.status(), &missed.json()["session"]), (421, &"a".into()));
    assert_eq!(ask("b", "/count").body, b);
    assert_eq!(ask("a", "/count").body, a);
    assert_eq!(call(contrail.reverse, "GET", "/count", &[], b"").body, unnamed);
    for name in ["a", "b", "new"] {
        assert_eq!(ask(name, "/shared").body, shared, "a sequence of its own over what is shared");
    }
    assert_eq!(ask("a", "/count").status(), 421, "it has none of another's answers");
    let list = call(contrail.control, "GET", "/sessions", &[], b"").json();
    assert_eq!(list["sessions"][1].to_string(), r#"{"session":"a","requests":4,"misses":2}"#);
    let ended = contrail.end("a");
    assert_eq!((ended.status(), &ended.json()["requests"]), (409, &4.into()));
    assert_eq!(ended.json()["misses"][0], missed.json());
    assert_eq!(ended.json()["unused"].as_array().unwrap().len(), 0, "what is shared is not its own");
    let ended = contrail.end("b");
    assert_eq!((ended.status(), ended.json()["misses"].to_string()), (409, "[]".to_owned()), "--deny unused");
    assert_eq!(ended.json()["unused"][0]["request"], "GET /other");
    assert_eq!(contrail.end("new").status(), 200);
    let ran = contrail.finish();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains(" ms [a]; answered by contrail: replay-miss"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 recorded exchange was never requested:\n  fx/b/b.har entry 1: GET /other"));
    let junit = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    for (name, failures) in [("-", 0), ("a", 2), ("b", 1), ("new", 0)] {
        let suite = junit.lines().find(|line| line.contains(&format!("<testsuite name=\"session {name}\"")));
        let suite = suite.unwrap_or_else(|| panic!("{junit}"));
        assert!(suite.contains(&format!(" failures=\"{failures}\"")), "{suite}");
    }
}

#[test]
fn a_session_that_is_started_again_begins_at_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    let kept = contrail.client("a", Way::Path).run();
    contrail.client("b", Way::Path).run();
    assert_eq!(contrail.again("b"), 200);
    let second = contrail.client("b", Way::Path).run();
    let ran = contrail.finish();
    assert!(
        ran.stderr.contains("\nsessions: 2\n8 entries, written\n"),
        "the first attempt is forgotten: {}",
        ran.stderr
    );

    let contrail = Contrail::start(folder.path(), &["replay", "--sessions", "fx", "--exhausted", "miss"], vendor);
    for _ in 0..2 {
        assert_eq!((contrail.again("b"), contrail.client("b", Way::Path).run()), (200, second.clone()));
    }
    assert_eq!(contrail.client("a", Way::Path).run(), kept);
    assert_eq!(contrail.finish().status, 0);
}

#[test]
fn the_session_of_a_test_that_failed_keeps_the_fixture_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let fixture = |name: &str| fs::read(folder.path().join(format!("fx/{name}/{name}.har"))).ok();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    for name in ["a", "b"] {
        contrail.client(name, Way::Header).run();
    }
    assert_eq!(contrail.finish().status, 0);
    let before = ["a", "b"].map(fixture);

    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx", "--overwrite"], vendor);
    let asks = |name| contrail.client(name, Way::Header).ask("GET", "/count", "").status();
    assert_eq!(["a", "b", "new", "again"].map(asks), [200; 4]);
    let fail = |name| call(contrail.control, "DELETE", &format!("/sessions/{name}?failed"), &[], b"").status();
    assert_eq!((contrail.end("a").status(), contrail.end("b").status()), (200, 200));
    assert_eq!(["b", "new", "again"].map(fail), [200; 3]);
    asks("b");
    assert_eq!(contrail.again("again"), 200, "a retry");
    asks("again");
    let wrong = call(contrail.control, "DELETE", "/sessions/a?failde", &[], b"");
    assert_eq!(wrong.status(), 400, "{wrong:?}");
    let ran = contrail.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("\nnot recorded, because their tests failed: b, new\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nsessions: 2\n"), "{}", ran.stderr);
    assert_ne!(fixture("a"), before[0]);
    assert_eq!(fixture("b"), before[1]);
    assert!(fixture("again").is_some() && !folder.path().join("fx/new").exists());
}

#[test]
fn each_session_counts_the_requests_of_a_fault_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    for name in ["a", "b"] {
        contrail.client(name, Way::Header).ask("GET", "/count", "");
    }
    assert_eq!(contrail.finish().status, 0);

    let replay = ["replay", "--sessions", "fx", "--fault", "GET /count=503:nth=2"];
    let contrail = Contrail::start(folder.path(), &replay, vendor);
    let asks = |name| contrail.client(name, Way::Header).ask("GET", "/count", "").status();
    assert_eq!([asks("a"), asks("b"), asks("a"), asks("b"), asks("b")], [200, 200, 503, 503, 200]);
    assert_eq!((contrail.again("a"), asks("a"), asks("a")), (200, 200, 503));
    assert_eq!(contrail.finish().status, 0);
}

#[test]
fn each_session_is_added_to_or_replaced_by_itself_and_a_killed_run_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let record = |more: &[&str], sessions: &[&str]| {
        let contrail = Contrail::start(folder.path(), &[&["record", "--sessions", "fx"], more].concat(), vendor);
        let ask = |name: &&str| contrail.client(name, Way::Header).ask("GET", "/count", "");
        (sessions.iter().map(|name| ask(name).body).collect::<Vec<_>>(), contrail)
    };
    let entries = |name: &str| {
        let text = fs::read_to_string(folder.path().join(format!("fx/{name}/{name}.har"))).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["log"]["entries"].as_array().unwrap().len()
    };
    record(&[], &["a", "b"]).1.finish();
    let b = fs::read(folder.path().join("fx/b/b.har")).unwrap();
    let refused = run_in(folder.path(), ["record", "--sessions", "fx", "--upstream", "http://127.0.0.1:9"]);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("fx holds recorded sessions (a, for one); --append adds to them"),
        "{}",
        refused.stderr
    );
    let (_, contrail) = record(&["--append", "--format", "json"], &["a", "c"]);
    let ran = contrail.finish();
    assert_eq!((ran.status, entries("a"), entries("c")), (0, 1, 1), "{}", ran.stderr);
    assert_eq!(json(&ran, "summary")["sessions"], 2);
    assert_eq!(json(&ran, "recorded_session"), "c");
    record(&["--overwrite"], &["a"]).1.finish();
    assert_eq!((entries("a"), entries("c")), (1, 1), "--overwrite replaces what is recorded again");
    assert_eq!(fs::read(folder.path().join("fx/b/b.har")).unwrap(), b);
    // Killed: the journal holds all sessions, and the next start folds each.
    drop(record(&["--append"], &["a", "d"]).1);
    let (_, contrail) = record(&["--append"], &["e"]);
    let ran = contrail.finish();
    assert_eq!((ran.status, entries("a"), entries("d"), entries("e")), (0, 1, 1, 1), "{}", ran.stderr);
    assert!(!folder.path().join("fx.journal").exists() && !folder.path().join("fx/a.journal").exists());
}

#[test]
fn a_session_whose_client_gave_up_is_recorded_beside_one_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let gives_up = |contrail: &Contrail| {
        let mut client = TcpStream::connect(contrail.reverse).unwrap();
        client.write_all(b"GET /~slow/never HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert_ne!(client.read(&mut [0]).map_err(|error| error.kind()), Ok(0), "the connection ended");
    };
    for (answered, status) in [(false, 2), (true, 0)] {
        let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx", "--append"], vendor);
        gives_up(&contrail);
        if answered {
            contrail.client("quick", Way::Header).ask("GET", "/count", "");
        }
        let ran = contrail.finish();
        assert_eq!((ran.status, folder.path().join("fx/slow").exists()), (status, answered), "{}", ran.stderr);
    }
    let contrail = Contrail::start(folder.path(), &["replay", "--sessions", "fx"], vendor);
    gives_up(&contrail);
    assert_eq!(contrail.finish().status, 0);
}

#[test]
fn a_client_whose_path_names_its_session_is_led_back_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let vendor = vendor();
    let contrail = Contrail::start(folder.path(), &["record", "--sessions", "fx"], vendor);
    assert_eq!(contrail.client("a", Way::Path).ask("GET", "/moved", "").header("location"), Some("/~a/next"));
    assert_eq!(contrail.finish().status, 0);
    let contrail = Contrail::start(folder.path(), &["replay", "--sessions", "fx"], vendor);
    assert_eq!(contrail.client("a", Way::Path).ask("GET", "/moved", "").header("location"), Some("/~a/next"));
    for bad in ["/~../x", "/~a%2fb/x", "/~/x"] {
        assert_eq!(call(contrail.reverse, "GET", bad, &[], b"").status(), 400, "{bad}");
    }
    assert_eq!(contrail.finish().status, 0);
}

#[test]
fn options_of_sessions_that_cannot_work_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("fx")).unwrap();
    let upstream = ["--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0"];
    for (arguments, why) in [
        (&["replay", "--sessions", "none"][..], "there is no such folder; `contrail record --sessions none` makes it"),
        (&["replay", "--sessions", "fx", "--control", "0.0.0.0:0"], "is open to other machines"),
        (&["replay", "x.har", "--control", "127.0.0.1:0"], "--control has no effect without --sessions DIR"),
        (&["record", "--out", "y", "--control", "127.0.0.1:0"], "--control has no effect without --sessions DIR"),
        (&["replay", "--sessions", "fx", "--record-missing"], "--record-missing adds to one fixture"),
        (&["record", "--sessions", "fx", "--out", "y"], "--sessions DIR and --out PATH both name where to record"),
        (&["record", "--sessions", "fx", "--trail", "t"], "--trail keeps one fixture's exchanges"),
    ] {
        let ran = run_in(folder.path(), arguments.iter().chain(&upstream));
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{arguments:?}: {}", ran.stderr);
    }
}
