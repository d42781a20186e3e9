//! Secrets where bytes can be read in two ways (under a wrong type, behind a quoted `;`, in names, in pieces of a form)
//! are in no file and no line of any command that sees them.

use std::{fmt::Write as _, fs, net::TcpStream, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{every_file, making::Dice, search::Search};
use crate::support::{
    command::run_in,
    process::Running,
    wire::{Origin, request, send},
};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const MULTIPART: &str = "multipart/form-data; boundary=b";

/// A message body: media type (none if empty) and text.
pub(super) type Content = (&'static str, String);

fn part(disposition: &str, secret: &str) -> String {
    format!("--b\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{secret}\r\n--b--\r\n")
}

/// Every body that two readers read in two ways, each with a secret of its own.
pub(super) fn bodies(mut secret: impl FnMut() -> String) -> Vec<Content> {
    let mut all: Vec<Content> = Vec::new();
    let token = |secret: &str| json!({"grant_type": "x", "client_secret": secret, "audience": "/api/v2/"}).to_string();
    for media in [FORM, "text/plain", "application/octet-stream", ""] {
        all.push((media, token(&secret())));
        all.push((media, token(&format!("{}==", secret()))));
        all.push((media, format!("[{}]", token(&format!("x={}&grant_type={}", secret(), secret())))));
        all.push((media, format!("<a><client_secret>{}</client_secret></a>", secret())));
        all.push((media, part("name=client_secret", &secret())));
        all.push((media, format!("a=1&client_secret={}", secret().replace('/', "%2F"))));
    }
    all.push((JSON, format!("a=1&client_secret={}", secret())));
    all.push((FORM, format!("client_secret: {}", secret())));
    let percent = |secret: String| secret.replace('/', "%2F").replace('+', "%2B");
    all.push((FORM, format!("name=password&value={}", percent(secret()))));
    for plain in [r#"{"password":"@"}"#, r#" [{"a":1,"token":"@"}]"#, "a=b&client_secret=@"] {
        let coded = BASE64_STANDARD.encode(plain.replace('@', &secret()));
        all.push((JSON, json!({ "state": coded }).to_string()));
    }
    all.push((JSON, json!({"cmd": format!("curl -u me:{} https://x", secret())}).to_string()));
    all.push((JSON, json!({"detail": [{"loc": ["body", "password"], "input": secret()}]}).to_string()));
    let coded = BASE64_STANDARD.encode(json!({"a": "x".repeat(90), "password": secret()}).to_string());
    let lines = coded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>();
    all.push((MULTIPART, part("name=f\r\nContent-Transfer-Encoding: base64", &lines.join("\r\n"))));
    all.push((FORM, format!("client_secret={}%zz", secret())));
    all.push((FORM, format!("password%3D{}=1", secret())));
    all.push((JSON, format!(r#"{{"password={}":{{"token":"x"}}}}"#, secret())));
    let name = secret();
    all.push((JSON, format!(r#"{{"x":{{"{name}":{{"password":"p"}}}},"client_secret":"{name}"}}"#)));
    all.push((JSON, format!(r#"{{"headers":[{{"key":"x-api-key","value":"{}"}}]}}"#, secret())));
    for disposition in [
        "filename=\"a; name=b\"; name=\"client_secret\"",
        "filename=\"a\\\"; name=b; x=\"; name=\"client_secret\"",
        "filename*=UTF-8''a%3B%20name%3Db; name=client_secret",
        "name=b; name=client_secret",
        "name*=UTF-8''client%5Fsecret",
        "name*0=client_; name*1=secret",
        "\r\n name=client_secret",
        "name=client_secret; filename*=UTF-8''%22%3B%20name%3Db",
    ] {
        all.push((MULTIPART, part(disposition, &secret())));
        all.push((MULTIPART, part(disposition, &secret()).replace("\r\n", "\n")));
    }
    all.push(("multipart/form-data; x=\"; boundary=c\"; boundary=\"b\"", part("name=client_secret", &secret())));
    let nested = part("name=client_secret", &secret()).replace("--b", "--in");
    all.push((MULTIPART, format!("--b\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n{nested}\r\n--b--")));
    all.push((MULTIPART, format!("client_secret={}&a=1\r\n{}", secret(), part("name=a", "1"))));
    all.push(("multipart/form-data", part("name=client_secret", &secret())));
    all
}

fn answer((media, text): &Content) -> String {
    let media = if media.is_empty() { String::new() } else { format!("Content-Type: {media}\r\n") };
    format!("HTTP/1.1 200 OK\r\n{media}Content-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
}

/// Sends every body as a request to the token endpoint and to a path of its own, and says what came back.
fn ask(running: &Running, path: &str, bodies: &[Content], secrets: &mut Vec<String>, dice: &mut Dice) -> String {
    let mut answers = String::new();
    for (at, (media, text)) in bodies.iter().enumerate() {
        for target in ["/oauth/token/", &format!("{path}/{at}")] {
            let secret = dice.secret();
            let mut headers = vec![("Api_Key", secret.as_str())];
            if !media.is_empty() {
                headers.push(("Content-Type", media));
            }
            let raw = request(running.address, "POST", target, &headers, text.as_bytes());
            let message = send(running.address, "POST", &raw).unwrap();
            let _ = writeln!(answers, "{}", String::from_utf8_lossy(&message.body));
            secrets.push(secret);
        }
    }
    answers
}

/// A browser's export with these bodies, asked and answered.
pub(super) fn export(bodies: &[Content]) -> String {
    let entries: Vec<serde_json::Value> = bodies
        .iter()
        .map(|(media, text)| {
            json!({"startedDateTime": "2026-11-21T08:00:00.000Z", "time": 1,
                "request": {"method": "POST", "url": "https://tenant.example/oauth/token/", "httpVersion": "HTTP/1.1",
                    "headers": [{"name": "Content-Type", "value": media}], "cookies": [], "queryString": [],
                    "postData": {"mimeType": media, "text": text}, "headersSize": -1, "bodySize": text.len()},
                "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                    "content": {"size": text.len(), "mimeType": media, "text": text}, "redirectURL": "",
                    "headersSize": -1, "bodySize": text.len()},
                "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0}})
        })
        .collect();
    json!({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": entries}}).to_string()
}

fn shows_none(folder: &Path, said: &[(String, String)], secrets: &[String]) {
    let search = Search::new(secrets);
    for (source, text) in said {
        assert_eq!(search.find(text), None, "in {source}");
    }
    for file in every_file(folder).into_iter().filter(|file| !file.ends_with("export.har")) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert_eq!(search.find(&text), None, "in {}", file.display());
    }
}

fn records(command: &str, format: &str, to: &str) {
    let mut dice = Dice(0x00A3_B16A);
    let mut secrets = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let all = bodies(|| {
        secrets.push(dice.secret());
        secrets[secrets.len() - 1].clone()
    });
    let origin = Origin::start();
    let answers = bodies(|| {
        secrets.push(dice.secret());
        secrets[secrets.len() - 1].clone()
    });
    for content in answers.iter().flat_map(|content| [content, content]) {
        // An answer that is withheld cannot be replayed.
        let is_withheld = content.0 == FORM && content.1.starts_with("client_secret: ");
        origin.will_answer(if is_withheld { answer(&("", String::new())) } else { answer(content) });
    }
    let url = format!("http://{}", origin.address);
    let reports =
        ["json=a.json", "html=a.html", "junit=a.xml", "text=a.txt"].map(|report| ["--report", report]).concat();
    let out: &[&str] = if command == "record" { &["--out", to, "--keep"] } else { &["--head-to", "heads"] };
    let common = ["--upstream", &url, "--listen", "127.0.0.1:0", "--trail", "trail", "--format", format];
    let proxy = Running::start(folder, [&[command], &common[..], out, &reports].concat());
    ask(&proxy, "/api/v2/rate-limit-policies", &all, &mut secrets, &mut dice);
    let ran = proxy.finish();
    assert!(ran.status < 2 && !ran.stderr.contains("FAILED"), "{}", ran.stderr);
    let mut said = vec![(command.to_owned(), ran.stdout + &ran.stderr)];
    if command == "record" {
        let replay = Running::start(folder, ["replay", to, "--listen", "127.0.0.1:0", "--format", format]);
        let misses = bodies(|| {
            secrets.push(dice.secret());
            secrets[secrets.len() - 1].clone()
        });
        let said_to_clients = ask(&replay, "/never", &misses, &mut secrets, &mut dice);
        assert!(said_to_clients.contains("No recorded exchange"), "{said_to_clients}");
        let ran = replay.finish();
        said.push(("a replay".to_owned(), ran.stdout + &ran.stderr));
        said.push(("answers of a replay".to_owned(), said_to_clients));
    }
    let commands: &[&[&str]] = if command == "record" {
        &[&["verify", to, "--format", "json"], &["verify", to], &["diff", to, "trail"], &["scan", to, "trail"]]
    } else {
        &[&["verify", "trail", "--format", "json"], &["audit", "trail"], &["scan", "trail"]]
    };
    for command in commands {
        let ran = run_in(folder, *command);
        assert!(ran.status < 2, "{command:?}: {}", ran.stderr);
        assert!(command[0] != "scan" || ran.stderr.contains("no secret in"), "{}{}", ran.stdout, ran.stderr);
        said.push((command.join(" "), ran.stdout + &ran.stderr));
    }
    shows_none(folder, &said, &secrets);
}

#[test]
fn no_secret_that_can_be_read_in_two_ways_is_in_a_recording_in_a_folder_nor_printed_by_any_command() {
    records("record", "text", "rec/");
}

#[test]
fn no_secret_that_can_be_read_in_two_ways_is_in_a_recording_in_one_file_nor_in_a_line_of_json() {
    records("record", "json", "rec.har");
}

#[test]
fn no_secret_that_can_be_read_in_two_ways_is_in_a_trail_or_its_heads() {
    records("watch", "text", "");
}

#[test]
fn no_secret_that_can_be_read_in_two_ways_is_left_in_another_tools_recording() {
    let mut dice = Dice(0x00A3_B16B);
    let mut secrets = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let all = bodies(|| {
        secrets.push(dice.secret());
        secrets[secrets.len() - 1].clone()
    });
    fs::write(folder.join("export.har"), export(&all)).unwrap();
    let mut said = Vec::new();
    for command in [
        &["scan", "export.har"][..],
        &["scan", "export.har", "--format", "json"],
        &["verify", "export.har", "--report", "html=a.html", "--report", "junit=a.xml", "--report", "json=a.json"],
        &["audit", "export.har"],
        &["redact", "export.har", "--out", "clean.har"],
        &["import", "export.har", "--out", "fixture/"],
        &["import", "export.har", "--out", "fixture.har"],
        &["scan", "clean.har", "fixture", "fixture.har"],
    ] {
        let ran = run_in(folder, command);
        assert!(ran.status < 2, "{command:?}: {}", ran.stderr);
        assert!(!command.contains(&"clean.har") || command[0] != "scan" || ran.status == 0, "{}", ran.stdout);
        said.push((command.join(" "), ran.stdout + &ran.stderr));
    }
    shows_none(folder, &said, &secrets);
}

#[test]
fn a_refused_request_shows_no_secret_in_the_problem_that_answers_it() {
    let mut dice = Dice(0x00A3_B16C);
    let secret = dice.secret();
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    let url = format!("http://{}", origin.address);
    let proxy = Running::start(folder.path(), ["watch", "--upstream", &url, "--listen", "127.0.0.1:0"]);
    let mut said = String::new();
    for raw in [
        format!("GET /?client_secret={secret} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {secret}\r\nApi_Key : {secret}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: {secret}\r\n\r\n"),
    ] {
        use std::io::{Read as _, Write as _};
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream.write_all(raw.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        said += &answer;
    }
    let ran = proxy.finish();
    let said = vec![("problems".to_owned(), said), ("watch".to_owned(), ran.stdout + &ran.stderr)];
    shows_none(folder.path(), &said, &[secret]);
}
