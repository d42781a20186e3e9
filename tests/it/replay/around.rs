//! What would pass around contrail in silence: a command without requests, hosts of `NO_PROXY`, absolute links.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Workspace, ask, exchange, get, own, summary, text};
use crate::support::{
    command::{Ran, contrail},
    golden::{assert_line, assert_output},
    process::Running,
    wire::{Origin, send},
};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write_own("own.har", &[own(get("/count", "1"), json!({}))]);
    workspace
}

fn run(workspace: &Workspace, arguments: &[&str], no_proxy: &str) -> Ran {
    let mut command = contrail();
    command.current_dir(workspace.path()).env("XDG_DATA_HOME", workspace.path().join("data"));
    command.env("NO_PROXY", no_proxy).args(arguments).output().unwrap().into()
}

#[test]
fn a_command_that_requests_nothing_fails_the_replay() {
    let workspace = workspace();
    let ran = run(&workspace, &["replay", "own.har", "--", "true"], "");
    assert_output("replay/around/a_command_that_requests_nothing_fails_the_replay", &ran);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let ran = run(&workspace, &["replay", "own.har", "--format", "json", "--", "true"], "");
    assert!(summary(&ran)["NOTHING_REQUESTED"].as_str().unwrap().starts_with("CMD sent no request"), "{}", ran.stderr);
}

#[test]
fn a_command_that_requests_nothing_fails_the_watch() {
    let workspace = workspace();
    let ran = run(&workspace, &["watch", "--upstream", "sandbox", "--", "true"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_line(&ran.stderr, "exit status 2: NOTHING REQUESTED");
}

#[test]
fn a_command_may_request_nothing_where_that_is_allowed_or_where_nothing_is_recorded_and_its_own_status_comes_first() {
    let workspace = workspace();
    workspace.write("empty.har", &[]);
    for (arguments, status) in [
        (&["replay", "own.har", "--allow", "unused", "--", "true"][..], 0),
        (&["replay", "empty.har", "--", "true"], 0),
        (&["watch", "--upstream", "sandbox", "--allow", "unused", "--", "true"], 0),
        (&["replay", "own.har", "--", "sh", "-c", "exit 7"], 7),
        (&["replay", "own.har", "--allow", "unused", "--deny", "unused", "--", "true"], 0),
    ] {
        let ran = run(&workspace, arguments, "");
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
    }
    let ran = run(&workspace, &["verify", "own.har", "--allow", "unused"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--allow unused has no effect in verify"), "{}", ran.stderr);
}

#[test]
fn in_a_replay_the_commands_no_proxy_keeps_this_machine_and_the_hosts_of_direct() {
    let workspace = workspace();
    let options = ["replay", "own.har", "--allow", "unused", "--direct", "minio"];
    let ran =
        run(&workspace, &[&options[..], &["--", "sh", "-c", "echo $NO_PROXY $no_proxy"]].concat(), ".corp,[::1],minio");
    let list = "[::1],minio,localhost,127.0.0.1,::1";
    assert_eq!(ran.stdout.trim(), format!("{list} {list}"), "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        "CMD's NO_PROXY keeps this machine only; contrail dropped .corp (--direct HOST keeps one)",
    );
    let watch = ["watch", "--upstream", "sandbox", "--allow", "unused", "--", "sh", "-c", "echo $NO_PROXY"];
    assert_eq!(run(&workspace, &watch, ".corp").stdout.trim(), ".corp,localhost,127.0.0.1,::1");
}

#[test]
fn the_placeholder_in_an_answer_becomes_the_origin_that_the_client_used() {
    let mut first = get("/page", r#"{"next":"https:\/\/tenant.example\/page?cursor=2","mail":"a@tenant.example"}"#);
    first["response"]["headers"] = json!([
        {"name": "Content-Type", "value": "application/json"},
        {"name": "Link", "value": "<https://tenant.example/page?cursor=2>; rel=\"next\""},
    ]);
    let mut moved = exchange("GET", "/old", None, 302, "");
    moved["response"]["headers"] = json!([{"name": "Location", "value": "https://tenant.example/page"}]);
    let back = get("/go?to=https%3A%2F%2Ftenant.example%2Fpage", "3");
    let workspace = Workspace::new();
    workspace.write_own("own.har", &[first, moved, back].map(|entry| own(entry, json!({}))));
    let running = workspace.replay(&["own.har"]);
    let address = running.address;
    let page = ask(address, "/page");
    assert_eq!(text(&page), format!(r#"{{"next":"http:\/\/{address}\/page?cursor=2","mail":"a@tenant.example"}}"#));
    assert_eq!(page.header("link"), Some(&*format!("<http://{address}/page?cursor=2>; rel=\"next\"")));
    assert_eq!(ask(address, "/old").header("location"), Some(&*format!("http://{address}/page")));
    let named = send(address, "GET", b"GET /old HTTP/1.1\r\nHost: contrail:8080\r\n\r\n").unwrap();
    assert_eq!(named.header("location"), Some("http://contrail:8080/page"));
    let to = format!("/go?to=http%3A%2F%2F{}%2Fpage", address.to_string().replace(':', "%3A"));
    assert_eq!(text(&ask(address, &to)), "3", "what the client sends back is the placeholder again");
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_recording_counts_answers_whose_links_lead_past_contrail() {
    let workspace = workspace();
    let origin = Origin::start();
    let own = format!("http://{}", origin.address);
    for (headers, body) in [
        (format!("Location: {own}/x\r\n"), "{}".to_owned()),
        (String::new(), format!("{{\"next\":\"{own}/page?2\"}}")),
        (String::new(), format!("{{\"next\":\"{own}1/page?2\"}}")),
    ] {
        let length = body.len();
        origin.will_answer(format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}"));
    }
    let running =
        Running::start(workspace.path(), ["watch", "--upstream", &own, "--listen", "127.0.0.1:0", "--format", "json"]);
    for _ in 0..3 {
        ask(running.address, "/page");
    }
    assert_eq!(summary(&running.finish())["upstream_named"], 2);
}

#[test]
fn rewritten_links_keep_a_client_with_contrail_and_the_recording_has_the_upstreams() {
    let workspace = workspace();
    let origin = Origin::start();
    let own = format!("http://{}", origin.address);
    let body = format!("{{\"next\":\"{own}/page?2\",\"text\":\"see {own}/\"}}");
    let fields = format!("Content-Type: application/json\r\nLink: <{own}/page?2>; rel=\"next\"\r\n");
    for _ in 0..2 {
        origin.will_answer(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()));
    }
    origin.will_answer(format!("HTTP/1.1 302 Found\r\nLocation: {own}/page\r\nContent-Length: 0\r\n\r\n"));
    let running = Running::start(
        workspace.path(),
        [
            "record",
            "--upstream",
            &own,
            "--listen",
            "127.0.0.1:0",
            "--out",
            "f.har",
            "--rewrite-links",
            "--format",
            "json",
        ],
    );
    let address = running.address;
    let page = ask(address, "/page");
    assert_eq!(text(&page), body.replacen(&own, &format!("http://{address}"), 1));
    assert_eq!(page.header("link"), Some(&*format!("<http://{address}/page?2>; rel=\"next\"")));
    ask(address, "/page?2");
    assert_eq!(ask(address, "/old").header("location"), Some(&*format!("http://{address}/page")));
    let ran = running.finish();
    assert_eq!(summary(&ran)["upstream_named"], 0, "{}", ran.stderr);
    let fixture = fs::read_to_string(workspace.path().join("f.har")).unwrap();
    assert!(fixture.contains("https://tenant.example/page?2"), "{fixture}");
    assert!(!fixture.contains(&address.to_string()), "{fixture}");
}

#[test]
fn the_environment_file_is_there_while_contrail_listens_and_shells_read_what_stands_in_it() {
    let workspace = workspace();
    let file = workspace.path().join("client.env");
    let running = Running::start(workspace.path(), ["replay", "own.har", "--env-file", "client.env"]);
    let written = fs::read_to_string(&file).unwrap();
    let mut shell = Command::new("env");
    let read = shell.args(["-i", "sh", "-c", "set -a; . ./client.env; env"]).current_dir(workspace.path()).output();
    let read = String::from_utf8(read.unwrap().stdout).unwrap();
    let variables: Vec<&str> = written.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(variables.len() > 20, "{written}");
    for line in &variables {
        assert!(read.lines().any(|known| known == *line), "{line} is not in {read}");
    }
    let value = |name: &str| variables.iter().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap();
    assert_eq!(value("CONTRAIL_URL"), format!("http://{}", running.address));
    assert_eq!(value("CONTRAIL_PROXY"), value("HTTPS_PROXY"));
    let own = fs::read_to_string(value("CONTRAIL_CA")).unwrap();
    assert_eq!(own.matches("BEGIN CERTIFICATE").count(), 1, "contrail's authority alone");
    assert!(fs::read_to_string(value("PIP_CERT")).unwrap().contains(own.trim()));
    assert_eq!(text(&ask(running.address, "/count")), "1");
    assert_eq!(running.finish().status, 0);
    assert!(!file.exists(), "it names listeners that are gone");
}

#[test]
fn an_environment_file_replaces_what_a_killed_run_left_and_no_other_file() {
    let workspace = workspace();
    let left = "# The environment of contrail's clients, while it runs\nCONTRAIL_URL=http://127.0.0.1:1\n";
    fs::write(workspace.path().join("left.env"), left).unwrap();
    fs::write(workspace.path().join(".env"), "KEY=1\n").unwrap();
    let ran = run(&workspace, &["replay", "own.har", "--env-file", "left.env", "--", "cat", "left.env"], "");
    assert!(ran.stdout.contains("CONTRAIL_URL=") && !ran.stdout.contains("127.0.0.1:1\n"), "{}", ran.stdout);
    let ran = run(&workspace, &["replay", "own.har", "--env-file", ".env", "--", "true"], "");
    assert_eq!(ran.status, 2);
    assert_line(&ran.stderr, "contrail: --env-file: .env is not contrail's and would be replaced; name another file");
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_network_the_command_reaches_contrail_and_nothing_else() {
    let workspace = workspace();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let script = format!(
        "cat < /dev/null > /dev/tcp/127.0.0.1/{port} && echo LEAK; grep -c : /proc/net/dev
         at=${{CONTRAIL_URL#http://}}; exec 3<> /dev/tcp/127.0.0.1/${{at#*:}}
         printf 'GET /count HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; tail -n 1 <&3"
    );
    let ran = run(&workspace, &["replay", "own.har", "--no-network", "--", "bash", "-c", &script], "");
    if ran.status == 2 {
        // This machine allows no namespaces.
        assert!(ran.stderr.starts_with("contrail: --no-network: this system gives no"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1);
        return;
    }
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "1\n1"), "{}", ran.stderr);
    for (more, wrong) in [
        (&["--metrics", "127.0.0.1:0", "--", "true"][..], "--metrics needs the network that"),
        (&[], "--no-network has no effect without -- CMD"),
    ] {
        let ran = run(&workspace, &[&["replay", "own.har", "--no-network"][..], more].concat(), "");
        assert!(ran.status == 2 && ran.stderr.contains(wrong), "{}", ran.stderr);
    }
}

#[test]
fn an_answer_takes_the_recorded_time_the_given_one_or_none_and_then_asks_for_no_wait() {
    let mut slow = get("/slow", "1");
    slow["time"] = 300.into();
    slow["timings"] = json!({"send": 0, "wait": 300, "receive": 0});
    let mut poll = exchange("GET", "/poll", None, 202, "{}");
    poll["response"]["headers"] = json!([{"name": "Retry-After", "value": "30"}]);
    let workspace = Workspace::new();
    let mut timeless = own(get("/count", "1"), json!({}));
    timeless["time"] = 0.into();
    timeless["timings"] = json!({"send": 0, "wait": 0, "receive": 0});
    workspace.write("other.har", &[slow, poll]).write_own("own.har", &[timeless]);
    let import = ["import", "other.har", "--keep-timings", "--keep=all", "--contract", "none", "--out", "kept"];
    let ran = run(&workspace, &import, "");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let took = |latency: &str| {
        let recording = if latency == "recorded" { "kept" } else { "other.har" };
        let running = workspace.replay(&[recording, "--latency", latency]);
        let begun = Instant::now();
        ask(running.address, "/slow");
        let (took, poll) = (begun.elapsed(), ask(running.address, "/poll"));
        assert_eq!(running.finish().status, 0);
        (took.as_millis(), poll.header("retry-after").unwrap().to_owned())
    };
    assert!(took("recorded").0 >= 300);
    assert!(took("2x").0 >= 600);
    let (short, waits) = took("none");
    assert!(short < 300, "{short} ms");
    assert_eq!((waits.as_str(), took("100ms").1.as_str()), ("0", "30"));
    let ran = run(&workspace, &["replay", "own.har", "--latency", "recorded", "--", "true"], "");
    assert_eq!(ran.status, 2);
    assert_line(
        &ran.stderr,
        "contrail: --latency recorded: these recordings hold no times; record or import them with --keep-timings",
    );
}

#[test]
fn the_events_of_a_stream_come_in_the_recorded_rhythm_where_times_are_kept() {
    const PAUSE: Duration = Duration::from_millis(250);
    let workspace = Workspace::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    let (read, was_read) = mpsc::channel();
    let origin = thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines();
            head.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            stream.write_all(format!("{head}data: 1\n\n").as_bytes()).unwrap();
            was_read.recv().unwrap();
            thread::sleep(PAUSE);
            stream.write_all(b"data: 2\n\ndata: 3\n\n").unwrap();
        }
    });
    // How long after the first event the second one came.
    let rhythm = |address: SocketAddr, first: &dyn Fn()| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        lines.find(|line| line == "data: 1").unwrap();
        let begun = Instant::now();
        first();
        lines.find(|line| line == "data: 2").unwrap();
        let took = begun.elapsed();
        lines.find(|line| line == "data: 3").unwrap();
        took
    };
    for (kept, out) in [(&["--keep-timings"][..], "kept.har"), (&[], "plain.har")] {
        let record = ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none", "--out", out];
        let running = Running::start(workspace.path(), record.iter().chain(kept));
        rhythm(running.address, &|| read.send(()).unwrap());
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    origin.join().unwrap();
    let plain = fs::read_to_string(workspace.path().join("plain.har")).unwrap();
    assert!(!plain.contains("eventTimes"), "{plain}");
    let kept: Value = serde_json::from_slice(&fs::read(workspace.path().join("kept.har")).unwrap()).unwrap();
    let times: Vec<u64> = serde_json::from_value(kept["log"]["entries"][0]["_contrail"]["eventTimes"].clone()).unwrap();
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[1] >= times[0] + 250 && times[1] == times[2], "{times:?}");
    let replayed = |latency: &str| {
        let running = workspace.replay(&["kept.har", "--contract", "none", "--latency", latency]);
        let took = rhythm(running.address, &|| ());
        assert_eq!(running.finish().status, 0);
        took
    };
    assert!(replayed("recorded") >= Duration::from_millis(200));
    assert!(replayed("2x") >= Duration::from_millis(450));
    assert!(replayed("none") < Duration::from_millis(200));
}

/// Begins a request.
fn begin(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream
}

/// Answers the next request with a 204.
fn answer(listener: &TcpListener) -> TcpStream {
    let (mut origin, _) = listener.accept().unwrap();
    BufReader::new(&origin).lines().find(|line| line.as_ref().unwrap().is_empty()).unwrap().unwrap();
    origin.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
    origin
}

#[test]
fn a_request_that_its_client_gave_up_gets_no_answer_again() {
    let workspace = Workspace::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    let record = ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
    let running = Running::start(workspace.path(), record.iter().chain(&["--out", "left.har"]));
    // A recording without any answer is none.
    let mut answered = begin(running.address);
    let origin = answer(&listener);
    answered.read_exact(&mut [0]).unwrap();
    drop((answered, origin));
    let client = begin(running.address);
    let origin = listener.accept().unwrap();
    drop(client);
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    drop(origin);
    let running = workspace.replay(&["left.har", "--contract", "none"]);
    begin(running.address).read_exact(&mut [0]).unwrap();
    let mut silent = begin(running.address);
    silent.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert_ne!(silent.read(&mut [0]).map_err(|error| error.kind()), Ok(0), "the connection ended");
    drop(silent);
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let begun =
        "1 request of a client that gave up: no answer until the client leaves\n  left.har entry 1: GET /slow\n";
    assert!(ran.stderr.contains(begun) && ran.stderr.contains(", 0 missed"), "{}", ran.stderr);
}

#[test]
fn an_answer_that_came_after_its_client_closed_its_side_comes_after_that_again() {
    let workspace = Workspace::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    let record = ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
    let running = Running::start(workspace.path(), record.iter().chain(&["--out", "closed.har"]));
    let half_closed = |address: SocketAddr, then: &dyn Fn()| {
        let mut client = begin(address);
        client.shutdown(Shutdown::Write).unwrap();
        then();
        let mut first = [0; 12];
        client.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 204");
    };
    half_closed(running.address, &|| drop(answer(&listener)));
    assert_eq!(running.finish().status, 0);
    assert!(fs::read_to_string(workspace.path().join("closed.har")).unwrap().contains(r#""clientClosed""#));

    let running = workspace.replay(&["closed.har", "--contract", "none"]);
    let mut silent = begin(running.address);
    silent.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(silent.read(&mut [0]).is_err(), "it was answered before it closed its side");
    drop(silent);
    half_closed(running.address, &|| ());
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 request of a client that gave up: no answer until the client leaves\n"));
}

#[test]
fn an_entry_that_is_never_served_is_not_listed_as_one_whose_answer_waits_for_its_client() {
    let workspace = Workspace::new();
    let switched = own(exchange("GET", "/socket", None, 101, ""), json!({"clientClosed": true}));
    workspace.write_own("unfit.har", &[switched, exchange("GET", "/x", None, 204, "")]);
    let ran = workspace.replay(&["unfit.har", "--contract", "none", "--allow", "unused"]).finish();
    assert!(ran.stderr.contains("switched the protocol") && !ran.stderr.contains("gave up"), "{}", ran.stderr);
}
