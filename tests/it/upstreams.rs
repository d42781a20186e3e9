//! Several upstreams by name: each is recorded, judged and replayed as itself, whatever paths they share.

use std::{
    fs,
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::support::{
    command::run_in,
    golden::assert_transcripts,
    har::{body_file, unhashed},
    process::Running,
    wire::{self, Message, call},
};

const ANY: &str = "127.0.0.1:0";

/// A vendor, and how many requests it had.
struct Vendor {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Vendor {
    /// Its answers name it, the path, where the next page is, and the vendor before it.
    fn start(name: &'static str, other: Option<&Self>) -> Self {
        let listener = TcpListener::bind(ANY).unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let (count, other) = (Arc::clone(&requests), other.map_or(address, |other| other.address));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, count) = (stream.unwrap(), Arc::clone(&count));
                thread::spawn(move || {
                    while let Ok(request) = wire::read(&mut BufReader::new(&stream), false, false) {
                        count.fetch_add(1, Ordering::SeqCst);
                        let path = request.start.split(' ').nth(1).unwrap_or_default();
                        let body = format!(
                            "{{\"who\":\"{name}\",\"path\":\"{path}\",\"next\":\"http://{address}/next\",\"other\":\"http://{other}/\"}}"
                        );
                        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
                        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                        let _ = stream.write_all(answer.as_bytes());
                    }
                });
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn named(&self, name: &str) -> [String; 2] {
        ["--upstream".to_owned(), format!("{name}=http://{}", self.address)]
    }
}

fn two() -> (Vendor, Vendor) {
    let billing = Vendor::start("billing", None);
    let crm = Vendor::start("crm", Some(&billing));
    (billing, crm)
}

/// A contrail with a reverse listener for each of two upstreams and a forward one.
fn start(folder: &Path, command: &[&str], more: impl IntoIterator<Item = String>) -> Running {
    let common = ["--listen", ANY, "--forward-listen", ANY, "--ca-dir", "ca"];
    let all = command.iter().chain(&common).map(|&word| word.to_owned());
    Running::start_several(folder, all.chain(more), 3)
}

fn get(to: SocketAddr, target: &str) -> Message {
    call(to, "GET", target, &[], b"")
}

fn who(answer: &Message) -> String {
    assert_eq!(answer.status(), 200, "{answer:?}");
    answer.json()["who"].as_str().unwrap().to_owned()
}

/// Records the same paths of both vendors, by each kind of listener.
fn record(folder: &Path, billing: &Vendor, crm: &Vendor, more: &[&str]) {
    let upstreams = billing.named("billing").into_iter().chain(crm.named("crm"));
    let recorder = start(folder, &[&["record", "--out", "fx"], more].concat(), upstreams);
    let [of_billing, of_crm, forward] = recorder.addresses[..] else { panic!("{:?}", recorder.addresses) };
    for (vendor, reverse, name) in [(billing, of_billing, "billing"), (crm, of_crm, "crm")] {
        assert_eq!(who(&get(reverse, "/v1/items")), name);
        assert_eq!(who(&get(forward, &format!("http://{}/v1/proxied", vendor.address))), name);
    }
    let ran = recorder.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let lines = [format!("listening on http://{of_billing} (billing)"), format!("listening on http://{of_crm} (crm)")];
    assert!(ran.stderr.starts_with(&lines.join("\n")), "{}", ran.stderr);
    assert!(ran.stderr.contains("200 GET crm /v1/items - unjudged"), "{}", ran.stderr);
    let next = format!("replay fx --upstream billing=http://{} --upstream crm=http://{}", billing.address, crm.address);
    assert!(ran.stderr.contains(&next), "{}", ran.stderr);
}

#[test]
fn two_vendors_with_the_same_paths_are_recorded_apart_and_replayed_in_any_order_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    record(folder.path(), &billing, &crm, &["--contract", "none"]);
    let requests = [billing.requests(), crm.requests()];
    let upstreams = crm.named("crm").into_iter().chain(billing.named("billing"));
    let replay = start(folder.path(), &["replay", "fx", "--contract", "none", "--deny", "unused"], upstreams);
    let [of_billing, of_crm, forward] = replay.addresses[..] else { panic!("{:?}", replay.addresses) };
    for (vendor, reverse, name) in [(&crm, of_crm, "crm"), (&billing, of_billing, "billing")] {
        let proxied = get(forward, &format!("http://{}/v1/proxied", vendor.address));
        assert_eq!(who(&proxied), name);
        assert_eq!(proxied.json()["next"], format!("http://{}/next", vendor.address), "the host that the client uses");
        assert_eq!(proxied.json()["other"], format!("http://{}/", billing.address));
        let answer = get(reverse, "/v1/items");
        assert_eq!((who(&answer), &answer.json()["next"]), (name.to_owned(), &format!("http://{reverse}/next").into()));
    }
    let ran = replay.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!([billing.requests(), crm.requests()], requests, "replay sends the vendors no request");
    // Without --upstream the fixture names the upstreams.
    let replay = start(folder.path(), &["replay", "fx", "--contract", "none"], []);
    assert_eq!(who(&get(replay.addresses[1], "/v1/items")), "crm");
    assert_eq!(who(&get(replay.addresses[0], "/v1/items")), "billing");
    assert_eq!(get(replay.addresses[0], "/next").status(), 421);
    let denied = get(replay.addresses[2], &format!("http://{}/v1/items", crm.address));
    assert_eq!(denied.status(), 403, "both upstreams could have this host");
    let ran = replay.finish();
    assert!(ran.stderr.contains("421 GET billing /next - miss"), "{}", ran.stderr);
}

#[test]
fn a_link_to_another_upstream_leads_to_its_listener_in_a_recording_that_rewrites_links_and_in_its_replay() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    let upstreams = billing.named("billing").into_iter().chain(crm.named("crm"));
    let record = ["record", "--out", "fx", "--contract", "none", "--rewrite-links"];
    let links = |contrail: &Running| {
        let [of_billing, of_crm, _] = contrail.addresses[..] else { panic!("{:?}", contrail.addresses) };
        let answer = get(of_crm, "/v1/items").json();
        assert_eq!(answer["next"], format!("http://{of_crm}/next"));
        assert_eq!(answer["other"], format!("http://{of_billing}/"));
        assert_eq!(who(&get(of_billing, "/")), "billing");
    };
    let recorder = start(folder.path(), &record, upstreams);
    links(&recorder);
    let ran = recorder.finish();
    assert_eq!(ran.status, 0);
    assert!(!ran.stderr.contains("passes around contrail"), "{}", ran.stderr);
    let replay = start(folder.path(), &["replay", "fx", "--contract", "none", "--deny", "unused"], []);
    links(&replay);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn a_miss_names_its_upstream_and_its_own_recordings_before_those_of_another_one_with_the_same_path() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    let upstreams = billing.named("billing").into_iter().chain(crm.named("crm"));
    let recorder = start(folder.path(), &["record", "--out", "fx", "--contract", "none"], upstreams);
    get(recorder.addresses[0], "/v1/invoices");
    get(recorder.addresses[1], "/v1/contacts");
    assert_eq!(recorder.finish().status, 0);
    let replay = start(folder.path(), &["replay", "fx", "--contract", "none"], []);
    let miss = get(replay.addresses[0], "/v1/contacts").json();
    assert_eq!(replay.finish().status, 3);
    assert_eq!(
        miss["detail"],
        "`GET billing /v1/contacts` was not recorded. The nearest is fx/fx.har entry 1 (`GET billing /v1/invoices`). \
         Record this request with `contrail record --append`, or replay with `--record-missing --upstream billing=URL`."
    );
    assert_eq!(miss["nearest"][1]["request"], "GET crm /v1/contacts");
    assert_eq!(miss["nearest"][1]["differences"][0]["place"], "host");
}

#[test]
fn a_fixture_holds_each_upstream_by_its_name_and_recording_again_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    record(folder.path(), &billing, &crm, &["--contract", "none"]);
    let read = || -> Vec<(String, String)> {
        let files = fs::read_dir(folder.path().join("fx")).unwrap().map(|file| file.unwrap());
        let mut files: Vec<_> = files
            .map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    let first = read();
    let names: Vec<String> = first.iter().map(|(name, _)| unhashed(name)).collect();
    assert_eq!(
        names,
        [
            "billing-get-v1-items-#-response.json",
            "billing-get-v1-proxied-#-response.json",
            "crm-get-v1-items-#-response.json",
            "crm-get-v1-proxied-#-response.json",
            "fx.har"
        ]
    );
    assert_eq!(
        first[2].1,
        "{\n  \"who\": \"crm\",\n  \"path\": \"/v1/items\",\n  \"next\": \"https://crm.example/next\",\n  \
         \"other\": \"https://billing.example/\"\n}\n"
    );
    let har: Value = serde_json::from_str(&first[4].1).unwrap();
    assert_eq!(har["log"]["_contrail"]["upstreams"], serde_json::json!(["billing", "crm"]));
    let entries = har["log"]["entries"].as_array().unwrap();
    let urls: Vec<&str> = entries.iter().map(|entry| entry["request"]["url"].as_str().unwrap()).collect();
    let of = |path: &str| ["billing", "crm"].map(|name| format!("https://{name}.example{path}"));
    assert_eq!(urls, [of("/v1/items"), of("/v1/proxied")].concat());
    assert!(!first.iter().any(|(_, text)| text.contains("127.0.0.1")), "an address is in the fixture");
    // Elsewhere, and in another order of the options.
    let (billing, crm) = two();
    record(folder.path(), &billing, &crm, &["--contract", "none", "--overwrite"]);
    assert_eq!(read(), first);
}

/// A contract of each: the same path, another operation.
fn contracts(folder: &Path) {
    for name in ["billing", "crm"] {
        let document = format!(
            "openapi: 3.1.0\ninfo: {{title: {name}, version: '1'}}\npaths:\n  /v1/items:\n    get:\n      operationId: \
             {name}Items\n      responses:\n        '200':\n          description: all\n          content:\n            \
             application/json:\n              schema:\n                properties:\n                  who: {{const: \
             {name}}}\n                additionalProperties: true\n"
        );
        fs::write(folder.join(format!("{name}.yaml")), document).unwrap();
    }
}

#[test]
fn each_upstream_is_judged_by_its_own_contract_and_one_without_by_none() {
    let folder = tempfile::tempdir().unwrap();
    contracts(folder.path());
    let (billing, crm) = two();
    let judged = |out: &str, contracts: &[&str]| {
        let upstreams = billing.named("billing").into_iter().chain(crm.named("crm"));
        let contracts = contracts.iter().flat_map(|contract| ["--contract".to_owned(), (*contract).to_owned()]);
        let recorder = start(folder.path(), &["record", "--out", out], upstreams.chain(contracts));
        let answers = recorder.addresses[..2].iter().map(|address| who(&get(*address, "/v1/items")));
        assert_eq!(answers.collect::<Vec<_>>(), ["billing", "crm"]);
        recorder.finish().stderr
    };
    let own = ["billing=billing.yaml", "crm=crm.yaml"];
    let lines = judged("own", &own);
    assert!(lines.contains("200 GET billing /v1/items billingItems conforms"), "{lines}");
    assert!(lines.contains("200 GET crm /v1/items crmItems conforms"), "{lines}");
    body_file(&folder.path().join("own"), "crm-crmItems-#-response.json");
    let lines = judged("swapped", &["billing=crm.yaml", "crm=billing.yaml"]);
    assert!(lines.contains("\n2 exchanges: 0 conform, 0 with gaps, 2 violate\n"), "{lines}");
    let lines = judged("none", &["billing.yaml", "crm=none"]);
    assert!(lines.contains("200 GET billing /v1/items billingItems conforms"), "{lines}");
    assert!(lines.contains("200 GET crm /v1/items - unjudged"), "{lines}");
    let lines = judged("one", &["crm=crm.yaml"]);
    assert!(lines.contains("200 GET billing /v1/items - unjudged"), "{lines}");
    // The recording is judged as the traffic was.
    let verify = |contracts: [&str; 2]| {
        run_in(folder.path(), ["verify", "own", "--contract", contracts[0], "--contract", contracts[1]]).status
    };
    assert_eq!((verify(own), verify(["billing=crm.yaml", "crm=billing.yaml"])), (0, 1));
}

#[test]
fn a_rule_or_fault_of_an_operation_holds_for_the_upstream_whose_contract_has_it() {
    let folder = tempfile::tempdir().unwrap();
    contracts(folder.path());
    let (billing, crm) = two();
    let upstreams = billing.named("billing").into_iter().chain(crm.named("crm"));
    let contracts = ["--contract", "billing=billing.yaml", "--contract", "crm=crm.yaml"];
    let record = ["record", "--out", "fx", "--ignore", "crmItems=query:at"];
    let recorder = start(folder.path(), &[&record[..], &contracts].concat(), upstreams);
    for address in &recorder.addresses[..2] {
        get(*address, "/v1/items?at=1");
    }
    let ran = recorder.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let fault = ["replay", "fx", "--fault", "crmItems=503:nth=2"];
    let replay = start(folder.path(), &[&fault[..], &contracts].concat(), []);
    let [of_billing, of_crm, _] = replay.addresses[..] else { panic!("{:?}", replay.addresses) };
    let statuses = [of_billing, of_billing, of_crm, of_crm].map(|to| get(to, "/v1/items?at=2").status());
    assert_eq!(statuses, [421, 421, 200, 503]);
    replay.finish();
}

#[test]
fn what_is_missing_is_asked_of_the_upstream_of_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    record(folder.path(), &billing, &crm, &["--contract", "none"]);
    let had = [billing.requests(), crm.requests()];
    let missing = ["replay", "fx", "--record-missing", "--force", "--contract", "none"];
    let both = || billing.named("billing").into_iter().chain(crm.named("crm"));
    let replay = start(folder.path(), &missing, both());
    let [of_billing, of_crm, forward] = replay.addresses[..] else { panic!("{:?}", replay.addresses) };
    assert_eq!(who(&get(of_crm, "/v1/items")), "crm", "recorded");
    assert_eq!(who(&get(of_crm, "/v1/more")), "crm");
    assert_eq!(who(&get(of_billing, "/v1/items")), "billing", "recorded");
    assert_eq!(who(&get(forward, &format!("http://{}/v1/more", billing.address))), "billing");
    let ran = replay.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!([billing.requests(), crm.requests()], had.map(|had| had + 1), "{}", ran.stderr);
    let har = fs::read_to_string(folder.path().join("fx/fx.har")).unwrap();
    for url in ["https://billing.example/v1/more", "https://crm.example/v1/more"] {
        assert_eq!(har.matches(&format!("\"{url}\"")).count(), 1, "{url}");
    }
    let one = missing.iter().map(|&word| word.to_owned()).chain(billing.named("billing"));
    let ran = run_in(folder.path(), one);
    assert_eq!(
        (ran.status, &*ran.stderr),
        (
            2,
            "contrail: --record-missing: the fixture has the upstream crm, too; say where it is with --upstream crm=URL\n"
        )
    );
}

#[test]
fn sessions_are_recorded_with_several_upstreams_and_replayed_without_naming_them() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    let both = billing.named("billing").into_iter().chain(crm.named("crm"));
    let recorder = start(folder.path(), &["record", "--sessions", "fx", "--contract", "none"], both);
    let paths = [("a", 0, "/~a/v1/items"), ("a", 1, "/~a/v1/items"), ("b", 1, "/~b/v1/items")];
    let names = ["billing", "crm"];
    for (_, upstream, path) in paths {
        assert_eq!(who(&get(recorder.addresses[upstream], path)), names[upstream]);
    }
    assert_eq!(recorder.finish().status, 0);
    let replay = start(folder.path(), &["replay", "--sessions", "fx", "--contract", "none", "--deny", "unused"], []);
    for (_, upstream, path) in paths.into_iter().rev() {
        assert_eq!(who(&get(replay.addresses[upstream], path)), names[upstream]);
    }
    assert_eq!(get(replay.addresses[0], "/~b/v1/items").status(), 421, "b asked only the other one");
    assert_eq!(replay.finish().status, 3);
}

#[test]
fn the_environment_names_each_upstream_and_the_first_is_the_one_without_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let (billing, crm) = two();
    fs::write(
        folder.path().join("contrail.toml"),
        format!(
            "upstream = [\"http://{}\", \"my-crm=http://{}\"]\ncontract = \"none\"\n",
            billing.address, crm.address
        ),
    )
    .unwrap();
    let variables = |command: &[&str]| {
        let contrail = start(folder.path(), &[command, &["--env-file", "env"]].concat(), []);
        let [tenant, of_crm, _] = contrail.addresses[..] else { panic!("{:?}", contrail.addresses) };
        let text = fs::read_to_string(folder.path().join("env")).unwrap();
        for (name, address) in [("", tenant), ("_TENANT", tenant), ("_MY_CRM", of_crm)] {
            let line = format!("\nCONTRAIL_URL{name}=http://localhost:{}\n", address.port());
            assert!(text.contains(&line), "{line} is not in {text}");
        }
        assert_eq!([who(&get(tenant, "/x")), who(&get(of_crm, "/x"))], ["billing", "crm"]);
        let ran = contrail.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stderr
    };
    let lines = variables(&["record", "--out", "fx"]);
    assert!(lines.contains("200 GET /x - unjudged") && lines.contains("200 GET my-crm /x - unjudged"), "{lines}");
    let har = fs::read_to_string(folder.path().join("fx/fx.har")).unwrap();
    assert!(har.contains("\"https://tenant.example/x\"") && har.contains("\"https://my-crm.example/x\""), "{har}");
    variables(&["replay", "fx"]);
    variables(&["watch"]);
}

#[test]
fn a_name_that_is_wrong_or_comes_twice_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    assert_transcripts(
        "upstreams/a_name_that_is_wrong_or_comes_twice_is_refused_in_one_sentence",
        folder.path(),
        &[
            "record --out fx --upstream Billing=https://a.test",
            "record --out fx --upstream 1a=https://a.test",
            "record --out fx --upstream =https://a.test",
            "record --out fx --upstream a=sandbox",
            "record --out fx --upstream a=a.test",
            "record --out fx --upstream a=https://a.test --upstream a=https://b.test",
            "record --out fx --upstream https://a.test --upstream tenant=https://b.test",
            "watch --upstream a=https://a.test --upstream b=https://A.test:443/",
            "watch --upstream a=https://a.test --upstream-ca b=ca.pem",
            "watch --upstream a=https://a.test --contract b=api.yaml",
            "record --out fx --upstream a=https://a.test --keep-host",
        ],
    );
}
