//! Reading recordings: HAR files of every producer, hostile ones, journals, folders.

mod bodies;
mod browsers;

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use contrail_exchange::{Body, Credential, Presence};
use contrail_recording::{self as recording, Entry, Head, ReadError, Recording};
use tempfile::TempDir;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/har").join(name)
}

/// Reads a file whole, with what it said of itself.
fn read(path: &Path) -> Result<(Vec<Entry>, Recording), ReadError> {
    let mut recording = recording::open(path)?;
    let entries = recording.by_ref().collect::<Result<_, _>>()?;
    Ok((entries, recording))
}

fn read_text(har: &str) -> Result<(Vec<Entry>, Recording), ReadError> {
    let mut recording = Recording::new("x.har".into(), Box::new(io::Cursor::new(har.as_bytes().to_vec())), None)?;
    let entries = recording.by_ref().collect::<Result<_, _>>()?;
    Ok((entries, recording))
}

/// A HAR file with this one entry.
fn har(entry: &str) -> String {
    format!(r#"{{"log":{{"version":"1.2","creator":{{"name":"x","version":"1"}},"entries":[{entry}]}}}}"#)
}

fn one(entry: &str) -> Entry {
    read_text(&har(entry)).unwrap().0.remove(0)
}

fn refusal(har: &str) -> String {
    read_text(har).map(|(entries, _)| entries.len()).unwrap_err().to_string()
}

fn body(body: &Body) -> String {
    match &body.presence {
        _ if body.is_absent() => "none".to_owned(),
        Presence::Whole => format!("{} bytes", body.content.len()),
        Presence::Truncated { kept, total } => format!("{kept} of {total:?} bytes"),
        Presence::Withheld(reason) => reason.name().to_owned(),
    }
}

/// One line per entry.
fn listing(path: &Path) -> String {
    let (entries, recording) = read(path).unwrap();
    let mut out = String::new();
    let mut carries_authorization = false;
    for Entry { index, exchange, .. } in &entries {
        carries_authorization |= exchange.request.headers.contains("authorization");
        let request = &exchange.request;
        let auth = match &request.credential {
            Credential::Missing => "no auth".to_owned(),
            Credential::Token(facts) => format!("token of {:?} ({})", facts.client, facts.time.name()),
            other => format!("{other:?}"),
        };
        write!(out, "{index} {} {} {auth}; ", request.method, request.target).unwrap();
        write!(out, "{} headers, body {}", request.headers.len(), body(&request.body)).unwrap();
        match &exchange.response {
            None => write!(out, " -> no answer").unwrap(),
            Some(response) => write!(
                out,
                " -> {:?} {}; {} headers, body {}",
                response.version,
                response.status,
                response.headers.len(),
                body(&response.body)
            )
            .unwrap(),
        }
        if let Some(reason) = &exchange.transport.incomplete {
            write!(out, " incomplete: {reason}").unwrap();
        }
        writeln!(out).unwrap();
    }
    writeln!(out, "{} left out, authorization: {}", recording.skipped(), carries_authorization).unwrap();
    out
}

#[test]
fn har_files_of_every_producer_read_as_their_listing_says() {
    let files = recording::sources(&data("")).unwrap();
    assert!(files.len() >= 8);
    for file in files {
        let expected = file.with_extension("listing");
        let found = listing(&file);
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        assert_eq!(found, fs::read_to_string(&expected).unwrap(), "{}", file.display());
    }
}

#[test]
fn entries_keep_their_index_and_what_is_not_http_is_left_out_and_counted() {
    let entry = |url: &str| format!(r#"{{"request":{{"method":"GET","url":"{url}"}},"response":{{"status":200}}}}"#);
    let urls =
        ["data:text/plain,x", "https://a.example/1", "blob:https://a.example/x", "wss://a.example/s", "ws://a/s"];
    let more = ["chrome-extension://abc/x.js", "about:blank", "HTTP://b.example", "file:///etc/passwd"];
    let entries: Vec<String> = urls.iter().chain(&more).map(|url| entry(url)).collect();
    let (entries, recording) = read_text(&har(&entries.join(","))).unwrap();
    let found: Vec<_> = entries.iter().map(|entry| (entry.index, entry.exchange.request.target.to_string())).collect();
    assert_eq!(found, [(1, "https://a.example/1".to_owned()), (7, "http://b.example/".to_owned())]);
    assert_eq!(recording.skipped(), 7);
}

#[test]
fn targets_stay_as_they_are_but_for_user_and_fragment() {
    let target = |url: &str| {
        let entry = format!(r#"{{"request":{{"method":"GET","url":"{url}"}},"response":{{"status":200}}}}"#);
        one(&entry).exchange.request.target.to_string()
    };
    assert_eq!(
        target("https://u:p@a.example:8/x%2Fy|z/../?q=%2B+a&b#frag"),
        "https://a.example:8/x%2Fy|z/../?q=%2B+a&b"
    );
    assert_eq!(target("https://a.example?x=1"), "https://a.example/?x=1");
}

#[test]
fn an_entry_without_a_host_is_refused_and_named() {
    for url in ["/api/v2/x", "", "https:///api", "http://:80/", "x", "//a.example/x", "https:x"] {
        let entry = format!(r#"{{"request":{{"method":"GET","url":"{url}"}},"response":{{"status":200}}}}"#);
        let said = refusal(&har(&entry));
        assert!(said.starts_with("`x.har`, entry 0: its URL names no host"), "{url}: {said}");
    }
}

#[test]
fn an_error_never_quotes_the_url_or_a_body() {
    let said = refusal(&har(r#"{"request":{"method":"GET","url":"/cb?code=s3cret"},"response":{"status":200}}"#));
    assert!(!said.contains("s3cret"));
    let said = refusal(&har(r#"{"request":{"method":"GET","url":{"s3cret":1}}}"#));
    assert_eq!(said, "`x.har`, entry 0: it cannot be read (`request.url` is an object, and a string in HAR 1.2)");
    for (entry, member) in [
        ("[1]", "it is an array, and an object in HAR 1.2"),
        (r#"{"startedDateTime":1700000000000}"#, "`startedDateTime` is a number, and a string in HAR 1.2"),
        (r#"{"request":{"headers":{"Accept":"s3cret"}}}"#, "`request.headers` is an object, and an array in HAR 1.2"),
        (r#"{"request":{"headers":["Accept: s3cret"]}}"#, "`request.headers.*` is a string, and an object in HAR 1.2"),
        (
            r#"{"response":{"content":{"text":{"a":1}}}}"#,
            "`response.content.text` is an object, and a string in HAR 1.2",
        ),
    ] {
        assert_eq!(refusal(&har(entry)), format!("`x.har`, entry 0: it cannot be read ({member})"));
    }
}

#[test]
fn a_file_that_is_no_har_is_refused_in_one_line() {
    for (text, reason) in [
        ("", "it is empty; record or export it again"),
        ("   \n", "it is empty; record or export it again"),
        ("hello", "it does not begin with a JSON object; name a HAR file, or export it as one"),
        ("[1,2]", "it does not begin with a JSON object; name a HAR file, or export it as one"),
        ("{}", "it has no array `log.entries`; name a HAR file, or export it as one"),
        (r#"{"log":{}}"#, "it has no array `log.entries`; name a HAR file, or export it as one"),
        (r#"{"log":[]}"#, "it has no array `log.entries`; name a HAR file, or export it as one"),
        (r#"{"log":{"entries":{}}}"#, "it has no array `log.entries`; name a HAR file, or export it as one"),
        (r#"{"other":"3.1.0"}"#, "it has no array `log.entries`; name a HAR file, or export it as one"),
        (r#"{"log":"#, "it ends before `log.entries` begins; export or copy it again"),
        (r#"{"log" 1}"#, "expected a colon at byte 7; export or copy it again"),
        (
            r#"{"log":{"entries":[]}} x"#,
            "something else follows its JSON object at byte 23; `head -c 23` keeps what comes before",
        ),
        (
            "{\"log\":{\"entries\":[]}}\n\u{1a}",
            "padding (NUL or ^Z) follows its JSON object at byte 23; `head -c 23` keeps what comes before",
        ),
        (
            "{\"log\":{\"entries\":[]}}\0\0\0",
            "padding (NUL or ^Z) follows its JSON object at byte 22; `head -c 22` keeps what comes before",
        ),
        ("\0\0\0\0", "it begins with NUL, like a file whose content was lost; copy it again"),
    ] {
        assert_eq!(refusal(text), format!("`x.har` is neither a HAR file nor a journal: {reason}"), "{text}");
    }
    assert_eq!(
        refusal(r#"{"log":{"entries":[{"request":{"#),
        "`x.har` ends in the middle, after 0 whole entries; export or copy it again"
    );
}

#[test]
fn a_merge_conflict_of_git_is_named_with_its_line_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.har");
    let entry = r#"{"request":{"method":"GET","url":"https://a.example/"},"response":{"status":204}}"#;
    let sides = |ours: &str, theirs: &str| format!("\n<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> other\n");
    for (text, line) in [
        (sides(&har(entry), &har("")).trim_start().to_owned(), 1),
        (har(&sides(&format!("{entry},"), &format!("{entry},{entry},"))), 2),
        (har(&format!("{entry},{{{}{}", sides(r#""time":1,"#, r#""time":2,"#), &entry[1..])), 2),
        (har(entry).replace(r#""creator""#, &format!("{}\"creator\"", sides(r#""a":1,"#, r#""b":2,"#))), 2),
        (har(entry).replace(r#""1"},"#, &format!("\"1\"}}{}", sides(",", r#","_contrail":{"version":1},"#))), 2),
    ] {
        fs::write(&path, &text).unwrap();
        let refused = read(&path).map(|(entries, _)| entries.len()).unwrap_err().to_string();
        let expected = format!("`{}`, line {line}: git left a merge conflict there; ", path.display());
        assert!(refused.starts_with(&expected), "{refused}\n{text}");
    }
    // Marks in a text are none of git's.
    let quoted = entry.replace("204", r#"204,"content":{"text":"\n<<<<<<< a\n=======\n>>>>>>> b\n"}"#);
    fs::write(&path, har(&quoted)).unwrap();
    assert_eq!(read(&path).unwrap().0.len(), 1);
}

#[test]
fn the_message_names_how_to_unpack_or_convert_a_file_first() {
    let utf16 = |first: &[u8], bytes: fn(u16) -> [u8; 2]| {
        [first.to_vec(), har("").encode_utf16().flat_map(bytes).collect()].concat()
    };
    for (bytes, reason) in [
        (b"\x1f\x8b\x08\x00".to_vec(), "it is compressed with gzip; unpack it first (gunzip)"),
        (b"\x28\xb5\x2f\xfd".to_vec(), "it is compressed with zstd; unpack it first (unzstd)"),
        (b"BZh91AY&SY".to_vec(), "it is compressed with bzip2; unpack it first (bunzip2)"),
        (b"\xfd7zXZ\0".to_vec(), "it is compressed with xz; unpack it first (unxz)"),
        (b"PK\x03\x04".to_vec(), "it is a ZIP archive; unpack it first (unzip)"),
        (
            utf16(b"\xff\xfe", u16::to_le_bytes),
            "it is UTF-16, and HAR is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)",
        ),
        (utf16(b"", u16::to_be_bytes), "it is UTF-16, and HAR is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)"),
        (
            br#"{"openapi":"3.1.0","paths":{}}"#.to_vec(),
            "it is an OpenAPI document; name a recording, and the document by `--contract`",
        ),
    ] {
        let opened = Recording::new("x.har".into(), Box::new(io::Cursor::new(bytes)), None);
        assert_eq!(opened.unwrap_err().to_string(), format!("`x.har` is neither a HAR file nor a journal: {reason}"));
    }
}

#[test]
fn an_empty_recording_is_no_error_and_members_may_come_in_any_order() {
    let (entries, recording) = read_text(
        r#"{"_x":[{"log":1}],"log":{"pages":[{}],"entries":[],"creator":{"name":"contrail","version":"1"},
        "_contrail":{"version":1,"recorded":"2026-11-21","unproven":true}},"y":"}"}"#,
    )
    .unwrap();
    assert!(entries.is_empty());
    let recorded = Some("2026-11-21".to_owned());
    assert_eq!(*recording.head(), Head { by_contrail: true, recorded, unproven: true, ..Head::default() });
}

#[test]
fn a_version_that_is_newer_or_no_number_is_refused() {
    for version in ["2", "\"1\"", "null", "1.5", "true", "[]", "0"] {
        for text in [
            format!(r#"{{"log":{{"_contrail":{{"version":{version}}},"entries":[]}}}}"#),
            format!(r#"{{"log":{{"entries":[],"_contrail":{{"version":{version}}}}}}}"#),
        ] {
            let found = refusal(&text);
            let advice = match version {
                "2" | "1.5" => "read it with a newer contrail",
                _ => "restore the file from a copy",
            };
            let version = if version == "null" { "missing" } else { version };
            let said =
                format!("`x.har`: `_contrail.version` is {version}, and this contrail reads version 1 only; {advice}");
            assert_eq!(found, said);
        }
    }
    assert!(read_text(r#"{"log":{"_contrail":{"version":1},"entries":[]}}"#).is_ok());
    let none = refusal(r#"{"log":{"_contrail":{},"entries":[]}}"#);
    assert_eq!(
        none,
        "`x.har`: `_contrail.version` is missing, and this contrail reads version 1 only; restore the file from a copy"
    );
}

#[test]
fn fields_that_only_http2_has_are_dropped_and_joined_ones_come_apart() {
    let entry = one(
        r#"{"request":{"method":"GET","url":"https://a/","httpVersion":"h2","headers":[{"name":":path","value":"/"},
        {"name":"Accept","value":"*/*"},{"name":"bad name","value":"x"},{"name":"accept","value":"a"},{"name":"n"}]},
        "response":{"status":200,"headers":[{"name":"set-cookie","value":"a=1; Path=/\nb=2"}]}}"#,
    );
    let fields = |headers: &contrail_exchange::Headers| -> Vec<String> {
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    };
    assert_eq!(entry.exchange.request.version, http::Version::HTTP_2);
    assert_eq!(fields(&entry.exchange.request.headers), ["accept: */*", "accept: a", "n: "]);
    assert_eq!(fields(&entry.exchange.response.unwrap().headers), ["set-cookie: a=1; Path=/", "set-cookie: b=2"]);
}

/// An entry with this request and response (their members after the first).
fn entry(request: &str, response: &str) -> String {
    format!(
        r#"{{"request":{{"method":"POST","url":"https://a.example/"{request}}},"response":{{"status":200{response}}}}}"#
    )
}

#[test]
fn a_mask_repeats_one_sign_and_dots_are_a_malformed_token() {
    let credential = |value: &str| {
        let headers = format!(r#","headers":[{{"name":"authorization","value":"{value}"}}]"#);
        one(&entry(&headers, "")).exchange.request.credential
    };
    for mask in ["Bearer ***", "***", "Bearer [redacted]", "Bearer ---"] {
        assert_eq!(credential(mask), Credential::Unknown, "{mask}");
    }
    assert!(matches!(credential("Bearer .."), Credential::Malformed(_)));
}

/// A folder with `x.har`, whose only entry's body is in the file `name`.
fn with_body_file(name: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("rec");
    fs::create_dir(&inside).unwrap();
    fs::write(folder.path().join("outside.json"), "{}").unwrap();
    fs::write(inside.join("body.json"), r#"{"a":1}"#).unwrap();
    fs::create_dir(inside.join("sub")).unwrap();
    fs::write(inside.join("sub/body.json"), r#"{"b":1}"#).unwrap();
    let path = inside.join("x.har");
    let name = serde_json::to_string(name).unwrap();
    fs::write(&path, har(&entry("", &format!(r#","content":{{"_file":{name}}}"#)))).unwrap();
    (folder, path)
}

#[test]
fn body_files_beside_the_har_file_and_below_are_read() {
    for name in ["body.json", "./body.json", "sub/body.json"] {
        let (_folder, path) = with_body_file(name);
        let entry = read(&path).unwrap().0.remove(0);
        assert_eq!(entry.exchange.response.unwrap().body.content.len(), 7, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn body_files_that_are_absolute_or_elsewhere_or_links_or_no_files_are_refused() {
    let outside = std::env::temp_dir().join("x.json");
    for name in [
        outside.to_str().unwrap(),
        "../outside.json",
        "sub/../../outside.json",
        "sub/../body.json",
        "link.json",
        "linked/outside.json",
        "sub",
        ".",
        "missing.json",
        "..\\outside.json",
        "C:/x.json",
        "pipe",
    ] {
        let (folder, path) = with_body_file(name);
        let inside = path.parent().unwrap();
        std::os::unix::fs::symlink(inside.join("body.json"), inside.join("link.json")).unwrap();
        std::os::unix::fs::symlink(folder.path(), inside.join("linked")).unwrap();
        std::os::unix::net::UnixListener::bind(inside.join("pipe")).unwrap();
        let said = read(&path).map(|(entries, _)| entries.len()).unwrap_err().to_string();
        let start = format!("`{}`, entry 0: the body file `{}` is ", path.display(), name.escape_debug());
        assert!(said.starts_with(&start), "{name}: {said}");
    }
}

#[test]
fn a_folder_is_all_the_recordings_in_it_in_the_order_of_their_names() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("b")).unwrap();
    for name in ["b/x.har", "a.har", "c.journal", "notes.txt", "b/body.json"] {
        fs::write(path(name), "").unwrap();
    }
    let found = recording::sources(folder.path()).unwrap();
    assert_eq!(found, [path("a.har"), path("b/x.har"), path("c.journal")]);
    let empty = TempDir::new().unwrap();
    let said = recording::sources(empty.path()).unwrap_err().to_string();
    assert!(said.ends_with("holds no recording (no file that ends in .har or .journal)"), "{said}");
    let said = recording::sources(&path("nothing.har")).unwrap_err().to_string();
    assert!(said.starts_with("there is no recording `"), "{said}");
}

#[test]
fn what_contrail_wrote_of_an_entry_is_named_where_it_cannot_be_read_and_another_tools_member_is_not() {
    let entry = |own: &str| {
        let request = r#""request":{"method":"GET","url":"https://tenant.example/x"}"#;
        har(&format!(r#"{{{request},"response":{{"status":200}},"_contrail":{own}}}"#))
    };
    let advice = "restore the file from a copy, or read it with a newer contrail";
    for (own, why) in [
        (r#"{"retried":"yes"}"#, "`_contrail.retried` is a string, and contrail writes a boolean there"),
        (r#"{"findings":[5]}"#, "`_contrail.findings.*` is a number, and contrail writes an object there"),
        (r#"{"attested":{}}"#, "`_contrail.attested` lacks a member, or has one of another type than contrail writes"),
        (r#"{"upstream":"a","upstream":"b"}"#, "`_contrail` has two members `upstream`"),
        (r#"{"token":{"client":5}}"#, "`_contrail.token.client` is a number, and contrail writes a string there"),
        (r#"{"token":5}"#, "`_contrail.token` is a number, and contrail writes an object there"),
    ] {
        assert_eq!(refusal(&entry(own)), format!("`x.har`, entry 0: {why}; {advice}"));
    }
    let newer = refusal(&entry(r#"{"version":2,"retried":"yes"}"#));
    assert!(newer.ends_with("this contrail reads version 1 only; read it with a newer contrail"), "{newer}");
    assert_eq!(read_text(&entry(r#"{"upstream":"\ud800"}"#)).unwrap().0.len(), 1);
    for foreign in ["null", "7", "\"text\"", "[{\"retried\":\"yes\"}]"] {
        assert_eq!(read_text(&entry(foreign)).unwrap().0.len(), 1, "{foreign}");
    }
}

#[test]
fn a_token_whose_outcome_is_none_that_contrail_writes_leaves_the_caller_unknown() {
    let credential = |outcome: &str| {
        let request = r#""request":{"method":"GET","url":"https://tenant.example/x"}"#;
        let token = format!(r#"{{"client":"c","scopes":[]{outcome}}}"#);
        one(&format!(r#"{{{request},"response":{{"status":200}},"_contrail":{{"version":1,"token":{token}}}}}"#))
            .exchange
            .request
            .credential
    };
    for outcome in ["valid", "expired", "not-yet"] {
        let found = credential(&format!(r#","outcome":"{outcome}""#));
        assert_eq!(found.facts().map(|facts| facts.time.name()), Some(outcome));
    }
    for outcome in [r#","outcome":"weird""#, r#","outcome":"Valid""#, r#","outcome":null"#, ""] {
        assert_eq!(credential(outcome), Credential::Unknown, "{outcome}");
    }
}

#[test]
fn a_journal_is_read_with_its_members_in_any_order_and_behind_a_byte_order_mark() {
    let request = r#""request":{"method":"GET","url":"https://tenant.example/x"}"#;
    let response = r#""response":{"status":200}"#;
    let started = r#""startedDateTime":"2026-11-21T12:00:00Z""#;
    let own = r#""_contrail":{"version":1,"token":{"unknown":true}}"#;
    let usual = format!("{{{started},{request},{response},{own}}}\n");
    let sorted = format!("{{{own},\"cache\":{{}},{request},{response},{started}}}\n");
    let late = format!("{{{request},{response},\"comment\":\"{}\",{started}}}\n", "x".repeat(500_000));
    let marked = format!("\u{feff}{usual}");
    for text in [&usual, &sorted, &late, &marked] {
        let (entries, recording) = read_text(&format!("{text}{usual}")).unwrap();
        assert!(recording.head().journal);
        let lines: Vec<_> = entries.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [Some(1), Some(2)]);
    }
}

#[test]
fn an_entry_that_is_broken_into_lines_is_refused_by_the_rule_that_it_breaks() {
    for text in [
        "{\n  \"startedDateTime\": \"2026-11-21T12:00:00Z\",\n  \"request\": {}\n}\n",
        "{\n  \"_contrail\": {},\n  \"cache\": {},\n  \"request\": {}\n}\n",
    ] {
        assert_eq!(
            refusal(text),
            "`x.har`, line 1: it cannot be read (it ends in the middle; a journal has one entry per line)"
        );
    }
}
