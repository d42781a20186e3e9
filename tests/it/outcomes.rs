//! The exit status, the summary and every report agree, whatever the reason, and a command that fails costs nobody a
//! fixture.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    record::harness::Workspace,
    support::{
        command::{Ran, contrail, run_in},
        golden::{assert_line, assert_output},
        har,
        process::Running,
        reports::{FORMATS, unescaped},
        wire::{Origin, call},
    },
};

/// A script that sends GETs to the reverse listener.
const GET: &str = "a=${CONTRAIL_URL#http://}; get() { exec 3<>/dev/tcp/${a%:*}/${a#*:}; \
                   printf 'GET %s HTTP/1.1\\r\\nHost: p\\r\\nConnection: close\\r\\n\\r\\n' \"$1\" >&3; cat <&3 >/dev/null; }";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.har"), har::har(&[har::conforming()])).unwrap();
    folder
}

/// The options for a report in each format, in `out`.
fn reports(out: &str) -> Vec<String> {
    FORMATS.iter().flat_map(|kind| ["--report".to_owned(), format!("{kind}={out}.{kind}")]).collect()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Holds every report to the status, its reason, and what is shown of it.
fn assert_reports(folder: &Path, out: &str, status: i32, because: &str, shown: &str) {
    for kind in FORMATS {
        let report = unescaped(kind, &read(folder, &format!("{out}.{kind}")));
        assert!(report.contains(shown), "{}", report);
    }
    let json: Value = serde_json::from_str(&read(folder, &format!("{out}.json"))).unwrap();
    assert_eq!(json["exit"]["status"], status, "{json}");
    let reasons = json["exit"]["because"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason.as_str().unwrap().contains(because)), "{json}");
    let junit = read(folder, &format!("{out}.junit"));
    let head = junit.lines().nth(1).unwrap();
    let count = |name: &str| -> u32 {
        head.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert!(count("failures") + count("errors") > 0, "{junit}");
    assert_eq!(count("errors"), u32::try_from(junit.matches("<error ").count()).unwrap(), "{junit}");
}

/// A command that ends with a status that is not 0.
struct Case<'a> {
    arguments: Vec<&'a str>,
    status: i32,
    /// The reason for the status, or a part of it.
    because: &'a str,
    /// What each report shows of it.
    shown: &'a str,
}

/// A case in which the reports show the reason itself.
fn failed<'a, const N: usize>(arguments: [&'a str; N], status: i32, because: &'a str) -> Case<'a> {
    Case { arguments: arguments.into(), status, because, shown: because }
}

/// What the cases find in their folder.
fn prepare(folder: &Path) {
    let policy = "/api/v2/rate-limit-policies/rlp_1";
    let entry = |target: &str, body: &str| har::har(&[har::get(target, Some(&har::bearer()), 200, body)]);
    fs::write(folder.join("wrong.har"), entry(policy, &har::POLICY.replace("\"allow\"", "\"shrug\""))).unwrap();
    fs::write(folder.join("gap.har"), entry(&format!("{policy}?q=1"), har::POLICY)).unwrap();
    fs::write(folder.join("empty.har"), har::har(&[])).unwrap();
    let script = format!("{GET}; get {A}; get {A}");
    let trail = ["watch", "--upstream", "sandbox", "--trail", "trail", "--ca-dir", "ca", "--", "bash", "-c", &script];
    assert_eq!(run_in(folder, trail).status, 1);
    let segment = folder.join("trail/trail-00000001.journal");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(segment, text.replacen("n=1", "n=2", 1)).unwrap();
}

#[test]
fn every_reason_of_a_status_that_is_not_0_is_in_every_report() {
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let missed = format!("{GET}; get /api/v2/rate-limit-policies/rlp_2");
    let denied = "a=${HTTPS_PROXY#http://}; exec 3<>/dev/tcp/${a%:*}/${a#*:}; \
                  printf 'CONNECT elsewhere.invalid:443 HTTP/1.1\\r\\nHost: e\\r\\n\\r\\n' >&3; read line <&3";
    let got = format!("{GET}; get /x");
    let bash = |script| ["replay", "x.har", "--ca-dir", "ca", "--", "bash", "-c", script];
    let cases = [
        failed(bash("exit 7"), 7, "the command ended with status 7"),
        failed(
            bash("nosuchcommand"),
            127,
            "the command ended with status 127, as a shell does where it finds no such command",
        ),
        failed(bash("kill -9 $$"), 137, "the command was ended by signal 9 (SIGKILL)"),
        failed(["record", "--upstream", "sandbox", "--out", "new", "--", "true"], 2, "NOTHING RECORDED"),
        failed(["replay", "nosuch.har", "--", "true"], 2, "there is no recording `nosuch.har`"),
        failed(
            ["watch", "--upstream", "sandbox", "--jwks", "nosuch.json", "--", "true"],
            2,
            "cannot read the key set `nosuch.json`: No such file or directory",
        ),
        failed(["record", "--upstream", "sandbox", "--out", "x.har", "--", "true"], 2, "x.har exists already"),
        failed(["replay", "x.har", "--", "nosuchcommand"], 2, "cannot run `nosuchcommand`"),
        failed(["verify", "nosuch.har"], 2, "there is no recording `nosuch.har`"),
        failed(["verify", "empty.har"], 2, "there was no exchange to check"),
        Case {
            arguments: vec!["verify", "wrong.har"],
            status: 1,
            because: "response.body 1 (violation)",
            shown: "expected one of `allow`, `block`, `log`, `redirect`, saw `shrug`",
        },
        Case {
            arguments: vec!["verify", "--deny", "gaps", "gap.har"],
            status: 1,
            because: "query.undocumented 1 (gap, denied)",
            shown: "query.undocumented",
        },
        Case {
            arguments: vec!["verify", "--allow", "auth.missing", "trail"],
            status: 1,
            because: "ALTERED: the trail was altered at `trail/trail-00000001.journal`, line 2: this line was altered",
            shown: "the trail was altered at `trail/trail-00000001.journal`, line 2: this line was altered",
        },
        Case {
            arguments: bash(&missed).into(),
            status: 3,
            because: "1 replay miss",
            shown: "GET /api/v2/rate-limit-policies/rlp_2",
        },
        Case { arguments: bash(denied).into(), status: 3, because: "1 denied request", shown: "elsewhere.invalid:443" },
        Case {
            arguments: [&["watch", "--upstream", "sandbox", "--deny", "denied"], &bash(denied)[2..]].concat(),
            status: 3,
            because: "1 denied request",
            shown: "elsewhere.invalid:443",
        },
        Case {
            arguments: vec![
                "record",
                "--upstream",
                &upstream,
                "--out",
                "new.har",
                "--ca-dir",
                "ca",
                "--",
                "bash",
                "-c",
                &got,
            ],
            status: 1,
            because: "the fixture failed its proof",
            shown: "cannot be replayed",
        },
    ];
    for Case { arguments, status, because, shown } in cases {
        let folder = folder();
        prepare(folder.path());
        let odd: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Encoding: odd\r\nContent-Length: 2\r\n\r\n\xff\xfe";
        origin.will_answer(odd);
        for kind in FORMATS {
            fs::write(folder.path().join(format!("r.{kind}")), "yesterday's").unwrap();
        }
        let reports = reports("r");
        let mut all = vec![arguments[0]];
        all.extend(reports.iter().map(String::as_str));
        all.extend(&arguments[1..]);
        let ran = run_in(folder.path(), &all);
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        if arguments[0] != "verify" {
            let line = format!("exit status {status}: ");
            let line = ran.stderr.lines().find(|said| said.starts_with(&line));
            assert!(line.is_none_or(|line| line.contains(because)), "{}", ran.stderr);
        }
        assert_reports(folder.path(), "r", status, because, shown);
    }
}

#[test]
fn what_a_full_disk_kept_from_the_recording_is_in_every_report() {
    let folder = folder();
    let options = ["record", "--listen", "127.0.0.1:0", "--upstream", "sandbox", "--out", "new.har"];
    let options: Vec<String> = options.map(str::to_owned).into_iter().chain(reports("r")).collect();
    let running = Running::limited("ulimit -f 60", folder.path(), &options);
    for number in 0..60 {
        call(running.address, "GET", &format!("/api/v2/connection-profiles/templates?n={number}"), &[], b"");
    }
    let ran = running.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_line(&ran.stderr, "exit status 2: 18 exchanges NOT RECORDED; auth.missing 60 (violation)");
    assert_reports(folder.path(), "r", 2, "exchanges NOT RECORDED: File too large", "NOT RECORDED");
}

#[test]
fn a_disk_without_room_for_the_first_exchange_leaves_nothing_to_pack() {
    let workspace = Workspace::new();
    let options = "record --listen 127.0.0.1:0 --upstream sandbox --seed seed.json --out new.har".split(' ');
    let running = Running::limited("ulimit -f 0", workspace.path(), options);
    call(running.address, "GET", "/api/v2/connection-profiles/templates", &[], b"");
    assert_output("record/a_disk_without_room_for_the_first_exchange_leaves_nothing_to_pack", &running.finish());
}

#[test]
fn the_summary_and_the_commands_status_survive_what_the_command_removes() {
    for (script, status) in [("rm -rf rep; exit 7", 7), ("rm -rf rep; exit 0", 0), ("rm -rf rep x.har; exit 7", 7)] {
        let folder = folder();
        fs::create_dir(folder.path().join("rep")).unwrap();
        let reports = reports("rep/r");
        let mut arguments = vec!["replay", "x.har", "--allow", "unused"];
        arguments.extend(reports.iter().map(String::as_str));
        arguments.extend(["--", "sh", "-c", script]);
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.status, status, "{script}: {}", ran.stderr);
        assert_line(&ran.stderr, "0 live requests: 0 conform, 0 with gaps, 0 violate, 0 missed");
        if status == 0 {
            assert!(read(folder.path(), "rep/r.junit").contains("errors=\"0\""));
        } else {
            assert_line(&ran.stderr, "exit status 7: the command ended with status 7");
            let because = "the command ended with status 7";
            assert_reports(folder.path(), "rep/r", status, because, because);
        }
    }
}

#[test]
fn a_report_that_cannot_be_written_is_named_beside_the_summary_and_in_the_others() {
    for (end, status) in [("", 2), ("; exit 7", 7)] {
        let folder = folder();
        fs::create_dir(folder.path().join("rep")).unwrap();
        let script = format!("rm -rf rep; touch rep{end}");
        let arguments = ["replay", "x.har", "--report", "json=r.json", "--report", "junit=rep/j.xml"];
        let command = ["--allow", "unused", "--", "sh", "-c", &script];
        let ran = run_in(folder.path(), arguments.into_iter().chain(command));
        assert_eq!(ran.status, status, "{}", ran.stderr);
        let summary = format!("exit status {status}: ");
        let line =
            ran.stderr.lines().find(|line| line.starts_with(&summary)).unwrap_or_else(|| panic!("{}", ran.stderr));
        let ended = if status == 7 { "the command ended with status 7; " } else { "" };
        let said = "cannot write the report to rep/j.xml: Not a directory (os error 20)";
        assert_eq!(line, format!("{summary}{ended}{said}"));
        let json: Value = serde_json::from_str(&read(folder.path(), "r.json")).unwrap();
        assert_eq!(json["exit"]["status"], status, "{json}");
    }
}

/// Records `targets` with a command that ends so, over what is in `out`.
fn record(folder: &Path, out: &str, options: &[&str], targets: &[&str], end: &str) -> Ran {
    let calls: Vec<String> = targets.iter().map(|target| format!("get '{target}'")).collect();
    let script = format!("{GET}; {}; {end}", calls.join("; "));
    let authority = tempfile::tempdir().unwrap();
    let kept = authority.path().to_str().unwrap();
    let mut arguments =
        vec!["record", "--upstream", "sandbox", "--out", out, "--ca-dir", kept, "--allow", "auth.missing"];
    arguments.extend(options);
    arguments.extend(["--", "bash", "-c", &script]);
    run_in(folder, &arguments)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

const REPLACE: &[&str] = &["--replace", "getConnectionProfileTemplates"];
const A: &str = "/api/v2/connection-profiles/templates?n=1";
const B: &str = "/api/v2/connection-profiles/templates?n=2";

#[test]
fn a_command_that_fails_or_is_killed_replaces_nothing_under_overwrite_and_replace() {
    for (out, option) in
        [("fx", &["--overwrite"][..]), ("fx.har", &["--overwrite"]), ("fx", REPLACE), ("fx.har", REPLACE)]
    {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(record(at, out, &[], &[A, B], "true").status, 0);
        let before = files(at);
        for (end, status, kept) in [("exit 3", 3, "failed"), ("kill -9 $$", 137, "failed-2"), ("exit 3", 3, "failed-3")]
        {
            let kept = format!("{out}.{kept}.journal");
            let ran = record(at, out, option, &[A], end);
            assert_eq!(ran.status, status, "{}", ran.stderr);
            let ended = if status == 3 { "ended with status 3" } else { "was ended by signal 9 (SIGKILL)" };
            let said = format!("NOT RECORDED ANEW: the command {ended}, so {} replaced nothing", option[0]);
            assert_line(&ran.stderr, &said);
            assert_line(&ran.stderr, &format!("fixture: {out}, unchanged"));
            assert_line(&ran.stderr, &format!("the new recording is in: {kept}"));
            assert!(!at.join(format!("{out}.journal")).exists());
            let mut after = files(at);
            after.retain(|(name, _)| !name.ends_with(".journal"));
            assert_eq!(after, before, "{end}");
        }
        let all = [1, 2, 3].map(|number| if number == 1 { "failed".to_owned() } else { format!("failed-{number}") });
        let all = all.map(|word| format!("{out}.{word}.journal"));
        assert!(all.iter().all(|kept| fs::read_to_string(at.join(kept)).unwrap().contains("n=1")));
        // A whole recording names those that are still there.
        let ran = record(at, out, option, &[A, B], "true");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let said = format!("recordings of earlier runs that failed, to be removed: {}", all.join(" "));
        assert_line(&ran.stderr, &said);
        if option == REPLACE {
            continue;
        }
        // What the summary proposes takes it all the same.
        let ran = record(at, out, &["--overwrite"], &[A], "exit 3");
        let force =
            ran.stderr.lines().find_map(|line| line.strip_prefix("to replace the fixture all the same: contrail "));
        let force: Vec<&str> = force.unwrap().split(' ').collect();
        let forced = run_in(at, &force);
        assert_eq!(forced.status, 0, "{force:?}: {}", forced.stderr);
        assert_ne!(files(at), before);
        // The next recording that is whole replaces it.
        let ran = record(at, out, &["--overwrite"], &[A, B], "true");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
}

#[test]
fn a_stop_by_signal_while_the_command_runs_replaces_nothing_under_overwrite_and_replace() {
    for option in [&["--overwrite"][..], REPLACE] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(record(at, "fx.har", &[], &[A, B], "true").status, 0);
        let before = fs::read(at.join("fx.har")).unwrap();
        nix::unistd::mkfifo(&at.join("done"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        // It takes the signal for its regular end.
        let script = format!("trap 'exit 0' INT; {GET}; get '{A}'; echo x > done; while :; do sleep 0.1; done");
        let arguments = [&["record", "--upstream", "sandbox", "--out", "fx.har"], option, &["--ca-dir", "ca", "--"]];
        let arguments = arguments.concat();
        let running = Running::start(at, arguments.into_iter().chain(["bash", "-c", &script]));
        assert_eq!(fs::read_to_string(at.join("done")).unwrap(), "x\n");
        let ran = running.finish();
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let said = format!("contrail was stopped while the command ran, so {} replaced nothing", option[0]);
        assert_line(&ran.stderr, &format!("NOT RECORDED ANEW: {said}"));
        assert_eq!(fs::read(at.join("fx.har")).unwrap(), before);
    }
}

#[test]
fn a_folder_is_read_without_the_journals_of_runs_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(record(at, "d/fx.har", &[], &[A], "true").status, 0);
    let verified = run_in(at, ["verify", "d"]);
    assert_eq!(record(at, "d/fx.har", &["--overwrite"], &[A, B], "exit 3").status, 3);
    let kept = "d/fx.har.failed.journal";
    fs::copy(at.join(kept), at.join("d/fx.har.before.journal")).unwrap();
    let again = run_in(at, ["verify", "d"]);
    assert_eq!((again.status, again.stdout, again.stderr), (verified.status, verified.stdout, verified.stderr));
    let script = format!("{GET}; get '{B}'");
    let ran = run_in(at, ["replay", "d", "--", "bash", "-c", &script]);
    assert_eq!(ran.status, 3, "what only the failed run recorded is a miss: {}", ran.stderr);
    let ran = run_in(at, ["replay", "d", kept, "--", "bash", "-c", &script]);
    assert_eq!(ran.status, 0, "a journal that is named is served: {}", ran.stderr);
}

#[test]
fn an_overwrite_counts_the_entries_that_it_drops() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(record(folder.path(), "fx", &[], &[A, B, B], "true").status, 0);
    let ran = record(folder.path(), "fx", &["--overwrite"], &[B], "true");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_line(&ran.stderr, "entries of the old fixture that are not in this one: 2");
    let ran = record(folder.path(), "fx", &["--overwrite"], &[B, A], "true");
    assert_output("outcomes/an_overwrite_that_drops_no_entry", &ran);
}

#[test]
fn the_folder_in_which_contrail_runs_is_a_place_for_a_fixture() {
    for out in [".", "./", "../inner", "../inner/.", "../inner/", "../../PARENT/inner/../inner"] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("inner");
        fs::create_dir(&at).unwrap();
        let out = &out.replace("PARENT", &folder.path().file_name().unwrap().to_string_lossy());
        for options in [&[][..], &["--append"], &["--overwrite"], &["--overwrite"]] {
            let ran = record(&at, out, options, &[A], "true");
            assert_eq!(ran.status, 0, "{out} {options:?}: {}", ran.stderr);
        }
        assert!(at.join("inner.har").exists(), "{out}");
        let ran = record(&at, out, &["--overwrite"], &[A], "exit 3");
        assert_eq!(ran.status, 3, "{out}: {}", ran.stderr);
        assert!(folder.path().join("inner.failed.journal").exists(), "{out}: {}", ran.stderr);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name != "inner.journal"), "{out}: {names:?}");
    }
}

#[test]
fn lists_in_variables_are_split_at_commas() {
    let folder = folder();
    let ran = contrail()
        .current_dir(folder.path())
        .args(["verify", "x.har"])
        .env("CONTRAIL_REPORT", "json=a.json, html=b.html")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(read(folder.path(), "a.json").starts_with('{') && read(folder.path(), "b.html").starts_with("<!doctype"));
}

#[test]
fn no_message_about_an_address_shows_its_password_or_query() {
    let folder = folder();
    let secret = "hunter2-0123456789";
    let userinfo = format!("https://ci:{secret}@tenant.example");
    let query = format!("https://tenant.example/?key={secret}");
    let listen = format!("ci:{secret}@127.0.0.1");
    let watch = ["watch", "--upstream", "sandbox"].as_slice();
    let cases: [(&[&str], &str, &str); 9] = [
        (&["watch"], "upstream", &userinfo),
        (&["watch"], "upstream", &query),
        (watch, "listen", &listen),
        (watch, "tls-listen", &listen),
        (watch, "forward-listen", &userinfo),
        (watch, "intercept", &userinfo),
        (watch, "intercept", &query),
        (&["import", "x.har", "--out", "y.har"], "upstream", &userinfo),
        (&["ca"], "upstream", &query.replace("https", "ht tps")),
    ];
    for (command, option, value) in cases {
        let around: &[&str] = if command[0] == "watch" { &["--", "true"] } else { &[] };
        let flag = format!("--{option}={value}");
        let variable = format!("CONTRAIL_{}", option.to_ascii_uppercase().replace('-', "_"));
        let toml = format!("[{}]\n{option} = \"{value}\"\n", command[0]);
        for way in ["flag", "variable", "file"] {
            let mut run = contrail();
            run.current_dir(folder.path()).args(command);
            match way {
                "flag" => drop(run.arg(&flag)),
                "variable" => drop(run.env(&variable, value)),
                _ => fs::write(folder.path().join("contrail.toml"), &toml).unwrap(),
            }
            let overridden = way != "flag" && command.contains(&format!("--{option}").as_str());
            let ran = Ran::from(run.args(around).output().unwrap());
            let _ = fs::remove_file(folder.path().join("contrail.toml"));
            assert!(overridden || ran.status == 2, "{way} {option} {value}: {} {}", ran.status, ran.stderr);
            assert!(!ran.stderr.contains(secret), "{way} {option}: {}", ran.stderr);
            assert!(!ran.stdout.contains(secret), "{way} {option}: {}", ran.stdout);
        }
    }
}

#[test]
fn an_import_takes_every_spelling_of_the_tenants_origin_and_names_the_sites_that_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = |url: &str, number: u32| {
        let mut entry = har::conforming();
        entry["request"]["url"] = format!("{url}/api/v2/rate-limit-policies/rlp_{number}").into();
        entry
    };
    let entries = [
        at("https://tenant.example", 1),
        at("https://tenant.example:443", 2),
        at("HTTPS://Tenant.Example:443", 3),
        at("https://tenant.example:8443", 4),
        at("http://tenant.example:443", 5),
        at("https://other.example", 6),
    ];
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();
    for (out, upstream) in
        [("a.har", ""), ("b.har", "https://tenant.example:443/"), ("c.har", "HTTPS://TENANT.example")]
    {
        let mut arguments = vec!["import", "x.har", "--out", out];
        if !upstream.is_empty() {
            arguments.extend(["--upstream", upstream]);
        }
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_line(&ran.stderr, &format!("3 exchanges with https://tenant.example in {out}"));
        let sites = "3 with other sites left out (http://tenant.example:443 1, https://other.example 1, \
                     https://tenant.example:8443 1)";
        assert_line(&ran.stderr, sites);
        let fixture = read(folder.path(), out);
        assert_eq!(fixture.matches("\"url\": \"https://tenant.example/api").count(), 3, "{fixture}");
    }
}

#[test]
fn every_report_of_a_command_that_judges_nothing_names_what_it_could_not_do() {
    let folder = folder();
    fs::write(folder.path().join("empty.journal"), "").unwrap();
    fs::write(folder.path().join("torn.har"), r#"{"log":{"entries":["#).unwrap();
    let torn = "`torn.har` was not searched: it is a recording with a syntax error at byte 19";
    fs::write(folder.path().join("c.yaml"), "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths: {}\n").unwrap();
    for (command, because) in [
        (&["coverage", "empty.journal"][..], "there was no exchange to count"),
        (&["audit", "empty.journal"], "there was no exchange to audit"),
        (&["scan", "torn.har"], torn),
        (&["diff", "--contract", "c.yaml", "--contract", "c.yaml", "empty.journal"], "there was no exchange to judge"),
    ] {
        let ran = run_in(folder.path(), command.iter().map(|word| (*word).to_owned()).chain(reports(command[0])));
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        // Rows of CSV are what a command lists.
        for kind in FORMATS.into_iter().filter(|kind| *kind != "csv") {
            let report = unescaped(kind, &read(folder.path(), &format!("{}.{kind}", command[0])));
            let status = match kind {
                "json" => serde_json::from_str::<Value>(&report).unwrap()["exit"]["status"] == 2,
                "sarif" => report.contains("\"exitCode\": 2") || report.contains("\"exitCode\":2"),
                "text" | "html" | "markdown" => report.contains("Exit status 2"),
                _ => report.contains("error"),
            };
            assert!(report.contains(because) && status, "{command:?} {kind}: {report}");
        }
    }
}

#[test]
fn the_json_of_a_command_that_judges_nothing_has_its_exit_status() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("y.har"), har::har(&[har::get("/api/v2/x?token=zq81mxo2zq81mxo2", None, 200, "{}")])).unwrap();
    let exit = |arguments: &[&str]| {
        let ran = run_in(path, [arguments, &["--format", "json"]].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
        assert_eq!(report["exit"]["status"], ran.status, "{arguments:?}");
        report["exit"]["because"].clone()
    };
    let none = serde_json::json!([]);
    assert_eq!(exit(&["audit", "x.har"]), none);
    assert_eq!(
        exit(&["audit", "y.har", "--deny", "gaps"]),
        serde_json::json!(["operation.undocumented 1 (gap, denied)"])
    );
    assert_eq!(exit(&["coverage", "x.har"]), none);
    assert_eq!(exit(&["diff", "x.har", "x.har"]), none);
    assert_eq!(exit(&["diff", "x.har", "y.har"]).as_array().map(Vec::len), Some(1));
    assert_eq!(exit(&["scan", "y.har"]), serde_json::json!(["1 secret in 1 place of 1 file"]));
}
