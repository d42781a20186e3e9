//! `scan` and `redact` search what `verify` reads, with the body files that belong to it; they say what they cannot search,
//! and no writer replaces what it was not asked to replace.

use std::{fs, path::Path};

use crate::support::{
    command::{Ran, run_in, run_with_input},
    golden::{assert_error, assert_line, assert_reported},
    har::body_file,
};

const SECRETS: [&str; 3] = ["Zq7cookieval0001Kx", "Zq7apikeyval0002Kx", "Zq7setcookie0003Kx"];

/// A HAR file with a secret in three header fields; `body` is what its response has as `content`.
fn har(body: &[u8]) -> Vec<u8> {
    let start = format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"x","version":"1"}},"entries":[{{"startedDateTime":"2026-11-21T08:00:00.000Z",
"time":1,"request":{{"method":"GET","url":"https://tenant.example/api/v2/clients","httpVersion":"HTTP/1.1","headers":[
{{"name":"cookie","value":"sid={}"}},{{"name":"x-api-key","value":"{}"}}],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":0}},
"response":{{"status":200,"statusText":"","httpVersion":"HTTP/1.1","headers":[{{"name":"set-cookie","value":"sid={}"}}],
"cookies":[],"content":"#,
        SECRETS[0], SECRETS[1], SECRETS[2]
    );
    let end = br#","redirectURL":"","headersSize":-1,"bodySize":-1},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}]}}"#;
    [start.as_bytes(), body, end].concat()
}

const TEXT: &[u8] = br#"{"size":4,"mimeType":"text/plain","text":"good"}"#;

fn shows_none(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn the_built_in_contract_holds_no_secret_where_it_is_exported_as_yaml() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run_in(folder.path(), ["contract", "--export", "contract.yaml"]).status, 0);
    let ran = run_in(folder.path(), ["scan", "contract.yaml"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "no secret in 1 file\n"));
}

#[test]
fn a_har_that_is_read_leniently_is_searched_by_its_structure() {
    for (fault, body) in [
        ("half of a surrogate pair", &br#"{"size":9,"mimeType":"text/plain","text":"\"cut \ud83d\""}"#[..]),
        ("Latin-1", b"{\"size\":5,\"mimeType\":\"text/plain\",\"text\":\"caf\xe9\"}"),
        ("a control character", b"{\"size\":5,\"mimeType\":\"text/plain\",\"text\":\"a\x01b\"}"),
        ("a name twice", br#"{"size":4,"_odd":1,"_odd":2,"mimeType":"text/plain","text":"good"}"#),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("a.har"), har(body)).unwrap();
        let scan = run_in(folder, ["scan", "a.har"]);
        assert_eq!(scan.status, 1, "{fault}: {}", scan.stderr);
        assert_line(&scan.stdout, "a.har: /log/entries/0/request/headers/1/value: api-key (!api-key-2!)");
        assert_eq!(run_in(folder, ["redact", "--check", "a.har"]).status, 1, "{fault}");
        let ran = run_in(folder, ["redact", "a.har", "--out", "b.har"]);
        assert_eq!(ran.status, 0, "{fault}: {}", ran.stderr);
        let clean = read(folder, "b.har");
        shows_none(&clean);
        // All else is the same, the byte that JSON does not allow included.
        assert!(memchr::memmem::find(&clean, body).is_some(), "{fault}: {}", clean.escape_ascii());
        let ran = run_in(folder, ["redact", "--in-place", "a.har"]);
        assert_eq!((ran.status, read(folder, "a.har")), (0, clean), "{fault}: {}", ran.stderr);
        assert_eq!(run_in(folder, ["scan", "a.har"]).status, 0, "{fault}");
    }
}

#[test]
fn what_the_contract_names_as_an_api_key_is_a_secret_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (header, parameter) = ("Zq7headerkey0004Kx", "Zq7querykey0005Kx");
    let document = serde_json::json!({"openapi": "3.1.0", "info": {"title": "a", "version": "1"},
        "servers": [{"url": "https://a.example/v1"}], "security": [{"header": [], "query": []}],
        "paths": {"/a": {"get": {"responses": {"default": {"description": "a"}}}}},
        "components": {"securitySchemes": {"header": {"$ref": "#/components/securitySchemes/held"},
            "held": {"type": "apiKey", "in": "header", "name": "X-Acme"},
            "query": {"type": "apiKey", "in": "query", "name": "k"}}}});
    fs::write(folder.join("api.json"), document.to_string()).unwrap();
    let (key, value) = ("name", "value");
    let entry = serde_json::json!({"startedDateTime": "2026-11-21T08:00:00.000Z", "time": 1, "cache": {},
        "timings": {"send": 0, "wait": 1, "receive": 0},
        "request": {"method": "GET", "url": format!("https://a.example/v1/a?k={parameter}&page=Zq7opaquepage6Kx"),
            "httpVersion": "HTTP/1.1", "headers": [{key: "x-acme", value: header}], "cookies": [],
            "queryString": [{key: "k", value: parameter}], "headersSize": -1, "bodySize": 0},
        "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
            "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": 0}});
    let har =
        serde_json::json!({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}});
    fs::write(folder.join("a.har"), har.to_string()).unwrap();

    let contract = ["--contract", "api.json"];
    let ran = |arguments: &[&str]| run_in(folder, arguments.iter().chain(&contract));
    let scan = ran(&["scan", "a.har"]);
    assert_eq!((scan.status, run_in(folder, ["scan", "a.har"]).status), (1, 0), "{}", scan.stderr);
    for place in [
        "a.har: /log/entries/0/request/headers/0/value: api-key (!api-key-2!)",
        "a.har: /log/entries/0/request/queryString/0/value: api-key (!api-key-1!)",
    ] {
        assert_line(&scan.stdout, place);
    }
    assert_eq!(ran(&["redact", "a.har", "--out", "b.har"]).status, 0);
    assert_eq!(ran(&["import", "a.har", "--out", "c.har"]).status, 0);
    assert_eq!(ran(&["scan", "c.har"]).status, 0);
    let verified = ran(&["verify", "a.har", "--report", "json=d.json"]);
    fs::write(folder.join("e.txt"), verified.stdout + &verified.stderr).unwrap();
    for name in ["b.har", "c.har", "d.json", "e.txt"] {
        let text = String::from_utf8(read(folder, name)).unwrap();
        assert!(!text.contains(header) && !text.contains(parameter), "{name}: {text}");
    }
    assert!(String::from_utf8(read(folder, "b.har")).unwrap().contains("Zq7opaquepage6Kx"));
}

#[test]
fn a_recording_that_cannot_be_searched_is_never_called_free_of_secrets() {
    let whole = har(TEXT);
    let utf16: Vec<u8> = String::from_utf8_lossy(&whole).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf32: Vec<u8> = String::from_utf8_lossy(&whole).chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    for (name, content, hint) in [
        ("cut.har", whole[..whole.len() - 40].to_vec(), "it is a recording with a syntax error at byte 672"),
        ("twice.har", [whole.clone(), whole.clone()].concat(), "it is a recording with a syntax error at byte 712"),
        ("cut.json", whole[..whole.len() - 40].to_vec(), "it is a recording with a syntax error at byte 672"),
        ("lead.har", [b"callback(", &whole[..]].concat(), "it is a recording with a syntax error at byte 0"),
        ("bad.journal", b"{\"startedDateTime\":rubbish\n".to_vec(), "line 1 has a syntax error at byte 19"),
        ("wide.har", utf16.clone(), "it is UTF-16, and HAR is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)"),
        (
            "marked.log",
            [b"\xff\xfe", &utf16[..]].concat(),
            "it is UTF-16, and HAR is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)",
        ),
        ("wider.har", utf32, "it is UTF-32, and HAR is UTF-8; convert it first (iconv -f UTF-32 -t UTF-8)"),
        ("a.har.gz", b"\x1f\x8b\x08\0\0\0\0\0".to_vec(), "it is compressed with gzip; unpack it first (gunzip)"),
        ("a.zip", b"PK\x03\x04\0\0".to_vec(), "it is a ZIP archive; unpack it first (unzip)"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join(name), &content).unwrap();
        let scan = run_in(folder, ["scan", name]);
        assert_eq!(scan.status, 2, "{name}: {}", scan.stderr);
        assert_line(&scan.stderr, &format!("contrail: `{name}` was not searched: {hint}"));
        for arguments in
            [&["redact", name, "--out", "out"][..], &["redact", "--in-place", name], &["redact", "--check", name]]
        {
            let ran = run_in(folder, arguments);
            assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
            let said = match name {
                "bad.journal" if arguments[1] != "--check" => {
                    let pack = "contrail pack bad.journal --out PACKED.har";
                    format!(
                        "contrail: `bad.journal` is a journal, and only fixtures are redacted; make one of it with \
                         `{pack}`, and redact that"
                    )
                }
                _ => format!("contrail: `{name}` cannot be searched for secrets, so nothing was written: {hint}"),
            };
            assert_line(&ran.stderr, &said);
        }
        assert_eq!(read(folder, name), content);
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn a_recording_whose_body_file_cannot_be_read_is_never_called_free_of_secrets() {
    let text = String::from_utf8(har(TEXT)).unwrap();
    for (file, why) in [
        ("gone.json", "it is missing; copy it beside the HAR file"),
        ("../gone.json", "it is refused: it lies outside the recording's folder"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let named = format!("\"content\":{{\"_file\":\"{file}\",");
        let named = text.replacen("\"content\":{", &named, 1);
        assert_ne!(named, text);
        fs::write(folder.join("a.har"), &named).unwrap();
        let why = why.strip_prefix("it ").unwrap();
        let scan = run_in(folder, ["scan", "a.har"]);
        assert_eq!(scan.status, 2, "{}", scan.stderr);
        assert!(scan.stderr.contains(&format!("{file}` was not searched: it {why}")), "{}", scan.stderr);
        let check = run_in(folder, ["redact", "--check", "a.har"]);
        assert_eq!(check.status, 2, "{}", check.stderr);
        assert!(check.stderr.contains(why), "{}", check.stderr);
    }
}

#[test]
fn a_body_file_in_a_compressed_form_is_no_fault_of_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let content = br#"{"size":6,"mimeType":"application/zip","_file":"body.zip"}"#;
    let clean = String::from_utf8(har(content)).unwrap();
    let clean = SECRETS.iter().fold(clean, |text, secret| text.replace(secret, "!cookie-1!"));
    fs::write(folder.join("a.har"), clean).unwrap();
    fs::write(folder.join("body.zip"), b"PK\x03\x04\0\0").unwrap();
    for named in ["a.har", "."] {
        let scan = run_in(folder, ["scan", named]);
        assert_eq!((scan.status, scan.stderr.trim()), (0, "no secret in 2 files"), "{named}");
    }
}

#[test]
fn the_body_files_of_a_har_file_that_is_named_are_searched_and_redacted_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let content = br#"{"size":40,"mimeType":"text/plain","_file":"body.txt"}"#;
    fs::write(folder.join("a.har"), har(content)).unwrap();
    let body = "client_secret=S3cret-0123456789abcdef";
    fs::write(folder.join("body.txt"), body).unwrap();
    let scan = run_in(folder, ["scan", "a.har"]);
    assert_line(&scan.stdout, "body.txt:1: client-secret (!client-secret-4!)");
    for arguments in [&["redact", "a.har", "--out", "b.har"][..], &["redact", "a.har"]] {
        let ran = run_in(folder, arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert_line(
            &ran.stderr,
            "contrail: `a.har` keeps bodies in 1 file beside it, which belong to the copy; redact its folder, \
             `contrail redact . --out FOLDER`, or give `--in-place`",
        );
    }
    assert!(!folder.join("b.har").exists());
    let ran = run_in(folder, ["redact", "--in-place", "a.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    shows_none(&read(folder, "a.har"));
    assert_eq!(read(folder, "body.txt"), b"client_secret=!client-secret-4!");
}

fn imported(folder: &Path) -> Vec<u8> {
    fs::write(folder.join("a.har"), har(TEXT)).unwrap();
    let ran = run_in(folder, ["import", "a.har", "--out", "fx", "--upstream", "https://tenant.example"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    read(folder, "fx/fx.har")
}

#[test]
fn a_fixture_that_is_named_by_its_har_file_is_searched_and_redacted_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    imported(folder);
    let body = body_file(&folder.join("fx"), "get-api-v2-clients-#-response.txt");
    fs::write(&body, "client_secret=S3cret-0123456789abcdef").unwrap();
    let scan = run_in(folder, ["scan", "fx/fx.har"]);
    let name = body.file_name().unwrap().to_str().unwrap();
    assert_reported(&scan, 1, &format!("fx/{name}:1: client-secret (!client-secret-4!)"));
    let ran = run_in(folder, ["redact", "--in-place", "fx/fx.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_line(&ran.stderr, "removed 1 secret in 1 place of 1 file: client-secret 1");
    assert_eq!(run_in(folder, ["scan", "fx/fx.har"]).status, 0);
    assert_eq!(run_in(folder, ["verify", "fx"]).status, 0);
    // One file of a fixture is a whole copy: packed.
    let ran = run_in(folder, ["redact", "fx/fx.har", "--out", "packed.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(run_in(folder, ["verify", "packed.har"]).status, 0);
}

#[test]
fn redact_replaces_nothing_at_its_output_path_without_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fixture = imported(folder);
    fs::write(folder.join("notes.txt"), "keep me").unwrap();
    fs::create_dir(folder.join("some")).unwrap();
    fs::write(folder.join("some/a.har"), har(TEXT)).unwrap();
    let refused = |ran: Ran, out: &str| {
        let said = format!("contrail: `{out}` exists already; add --overwrite to replace it\n");
        assert_eq!((ran.status, ran.stderr), (2, said), "{out}");
    };
    refused(run_in(folder, ["redact", "a.har", "--out", "notes.txt"]), "notes.txt");
    refused(run_in(folder, ["redact", "some", "--out", "fx"]), "fx");
    assert_eq!(run_in(folder, ["redact", "fx", "--out", "other"]).status, 0);
    refused(run_in(folder, ["redact", "other", "--out", "fx"]), "fx");
    assert_eq!((read(folder, "notes.txt"), read(folder, "fx/fx.har")), (b"keep me".to_vec(), fixture));
    let ran = run_in(folder, ["redact", "a.har", "--out", "notes.txt", "--overwrite"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    shows_none(&read(folder, "notes.txt"));
    assert_eq!(run_in(folder, ["redact", "fx", "--out", "other", "--overwrite"]).status, 0);
    // An empty folder has nothing to lose.
    fs::create_dir(folder.join("empty")).unwrap();
    assert_eq!(run_in(folder, ["redact", "fx", "--out", "empty"]).status, 0);
}

#[test]
fn import_leaves_a_recording_of_another_tool_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    imported(folder);
    fs::write(folder.join("b.har"), har(TEXT)).unwrap();
    for (out, how, said) in [
        (
            "b.har",
            "--append",
            "contrail: --append: `b.har` is another tool's recording, not a fixture; name a fixture of contrail, or \
             a new path",
        ),
        (
            "a.har",
            "--overwrite",
            "contrail: --overwrite: `a.har` is the recording to import, and would be lost; name another path for the \
             fixture",
        ),
    ] {
        let ran = run_in(folder, ["import", "a.har", "--out", out, how, "--upstream", "https://tenant.example"]);
        assert_error(&ran, 2, said);
        assert_eq!(read(folder, out), har(TEXT));
    }
    // A fixture is added to, and another file is replaced, as before.
    for (out, how) in [("fx", "--append"), ("b.har", "--overwrite")] {
        let ran = run_in(folder, ["import", "a.har", "--out", out, how, "--upstream", "https://tenant.example"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
}

#[test]
fn no_writer_puts_a_second_har_file_into_the_folder_of_a_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    imported(folder);
    for arguments in [
        &["pack", "fx", "--out", "fx/p.har"][..],
        &["redact", "fx", "--out", "fx/p.har"],
        &["import", "a.har", "--out", "fx/p.har", "--upstream", "https://tenant.example"],
        &["record", "--upstream", "sandbox", "--out", "fx/p.har", "--", "true"],
    ] {
        let ran = run_in(folder, arguments);
        let said = "contrail: `fx/p.har`: it is inside the folder of the fixture `fx/fx.har`; name another\n";
        assert_eq!((ran.status, ran.stderr.as_str()), (2, said), "{arguments:?}");
        assert!(!folder.join("fx/p.har").exists());
    }
    assert_eq!(run_in(folder, ["pack", "fx", "--out", "p.har"]).status, 0);
}

/// One exchange without any body.
const BARE: &str = r#"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[
    {"startedDateTime":"2026-01-01T00:00:00Z","time":1,
     "request":{"method":"GET","url":"https://tenant.example/api/v2/x","httpVersion":"HTTP/1.1","headers":[]},
     "response":{"status":204,"httpVersion":"HTTP/1.1","headers":[],"content":{"size":0},"bodySize":0}}]}}"#;

#[test]
fn no_writer_puts_a_fixture_anywhere_below_the_folder_of_another_with_bodies_or_without() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    imported(folder);
    fs::create_dir(folder.join("fx/there")).unwrap();
    fs::write(folder.join("bare.har"), BARE).unwrap();
    let ran = run_in(folder, ["import", "bare.har", "--out", "bare", "--upstream", "https://tenant.example"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::read_dir(folder.join("bare")).unwrap().count(), 1);
    for (arguments, out, fixture) in [
        (&["pack", "fx"][..], "fx/sub/p.har", "fx/fx.har"),
        (&["unpack", "fx"], "fx/sub", "fx/fx.har"),
        (&["unpack", "fx"], "fx/there", "fx/fx.har"),
        (&["redact", "a.har"], "fx/there/p.har", "fx/fx.har"),
        (&["import", "a.har", "--upstream", "https://tenant.example"], "fx/sub/deep", "fx/fx.har"),
        (&["pack", "fx"], "bare/p.har", "bare/bare.har"),
        (&["unpack", "fx"], "bare/sub", "bare/bare.har"),
    ] {
        let ran = run_in(folder, [arguments, &["--out", out]].concat());
        let or = if fixture.starts_with("bare") { ", or rename that file" } else { "" };
        let said = format!("contrail: `{out}`: it is inside the folder of the fixture `{fixture}`; name another{or}\n");
        assert_eq!((ran.status, ran.stderr), (2, said), "{arguments:?}");
    }
    fs::rename(folder.join("bare/bare.har"), folder.join("bare/first.har")).unwrap();
    assert_eq!(run_in(folder, ["pack", "fx", "--out", "bare/p.har"]).status, 0);
    fs::remove_file(folder.join("bare/p.har")).unwrap();
    assert_eq!(run_in(folder, ["unpack", "fx", "--out", "fx", "--overwrite"]).status, 0);
    assert_eq!(run_in(folder, ["unpack", "bare", "--out", "bare", "--overwrite"]).status, 0);
    assert_eq!(run_in(folder, ["unpack", "fx", "--out", "other"]).status, 0);
}

#[test]
fn a_copy_does_not_replace_a_fixture_whose_journal_is_left_over() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    imported(folder);
    assert_eq!(run_in(folder, ["unpack", "fx", "--out", "other"]).status, 0);
    let entry = "{\"startedDateTime\":\"2026-01-01T00:00:00Z\",\"time\":1,\"request\":{\"method\":\"GET\",\
                 \"url\":\"https://tenant.example/\",\"headers\":[]},\"response\":{\"status\":200,\"headers\":[]}}\n";
    fs::write(folder.join("other.journal"), entry).unwrap();
    let before = read(folder, "other/other.har");
    let ran = run_in(folder, ["redact", "fx", "--out", "other", "--overwrite"]);
    assert_error(
        &ran,
        2,
        "contrail: `other.journal` holds exchanges of a recording that did not end, and the next recording would add \
         them to `other`; keep them with `contrail pack other.journal --out ANOTHER.har`, then remove the journal",
    );
    assert_eq!(read(folder, "other/other.har"), before);
}

#[test]
fn what_is_read_more_than_once_is_no_pipe() {
    for (command, out) in [("pack", "p.har"), ("unpack", "p"), ("import", "p")] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(out);
        for (named, shown) in [("-", "standard input"), ("/dev/stdin", "`/dev/stdin`")] {
            let ran = run_with_input([command, named, "--out", out.to_str().unwrap()], &har(TEXT));
            let said =
                format!("contrail: a recording is read more than once, and {shown} comes only once; name a file\n");
            assert_eq!((ran.status, ran.stderr), (2, said));
            assert!(!out.exists());
        }
    }
}

#[test]
fn a_folder_with_nothing_but_a_failed_run_names_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("f")).unwrap();
    fs::write(folder.path().join("f/a.failed.journal"), "").unwrap();
    let ran = run_in(folder.path(), ["verify", "f"]);
    let said = "contrail: the folder `f` holds only recordings of failed runs; to read one, name it: \
                `f/a.failed.journal`\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (2, said));
}

#[test]
fn a_report_that_cannot_be_written_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), BARE).unwrap();
    let ran = run_in(folder.path(), ["verify", "a.har", "--report", "json=/dev/full"]);
    assert_eq!(
        (ran.status, ran.stderr.matches("cannot write the report to /dev/full").count()),
        (2, 1),
        "{}",
        ran.stderr
    );
}
