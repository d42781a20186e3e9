//! Bodies: how they match, and how they go out.

use super::*;
use crate::support::golden::assert_output;

#[test]
fn an_answer_that_can_have_no_body_is_whole_without_one() {
    let workspace = Workspace::new();
    let mut gone = get("/api/v2/x", "{}");
    gone["response"]["status"] = json!(204);
    workspace.write("a.har", &[gone]);
    let replay = workspace.replay(&["a.har", "--format", "json"]);
    assert_eq!(wire::call(replay.address, "HEAD", "/api/v2/y", &[], b"").status(), 421);
    assert_eq!(wire::call(replay.address, "GET", "/api/v2/x", &[], b"").status(), 204);
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
    let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["incomplete"], 0, "{}", ran.stderr);
}

#[test]
fn a_status_without_a_phrase_goes_out_without_one() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[exchange("GET", "/api/v2/x", None, 299, "{}")]);
    let replay = workspace.replay(&["a.har"]);
    assert_eq!(ask(replay.address, "/api/v2/x").start, "HTTP/1.1 299 ");
    replay.finish();
}

#[test]
fn bodies_that_were_laid_out_go_out_compact_and_another_tools_as_recorded() {
    let workspace = Workspace::new();
    let pretty = "{\n  \"a\": [\n    1.0,\n    \"x  y\"\n  ]\n}";
    workspace.write_own(
        "own.har",
        &[
            own(get("/api/v2/laid-out", pretty), json!({"laidOut": ["response"]})),
            own(get("/api/v2/as-it-came", pretty), json!({})),
        ],
    );
    workspace.write("other.har", &[get("/api/v2/other", pretty)]);
    let replay = workspace.replay(&["own.har", "other.har"]);
    let laid_out = ask(replay.address, "/api/v2/laid-out");
    assert_eq!(text(&laid_out), r#"{"a":[1.0,"x  y"]}"#);
    assert_eq!(laid_out.header("content-length"), Some("18"));
    assert_eq!(text(&ask(replay.address, "/api/v2/as-it-came")), pretty);
    assert_eq!(text(&ask(replay.address, "/api/v2/other")), pretty);
}

#[test]
fn an_event_stream_goes_out_without_a_length_unless_it_came_with_one() {
    let workspace = Workspace::new();
    let stream = |target: &str, mut headers: Value| {
        let mut entry = get(target, "data: 1\n\ndata: 2\n\n");
        headers
            .as_array_mut()
            .unwrap()
            .push(json!({"name": "Content-Type", "value": "text/event-stream; charset=utf-8"}));
        entry["response"]["headers"] = headers;
        entry
    };
    workspace.write(
        "a.har",
        &[stream("/open", json!([])), stream("/known", json!([{"name": "content-length", "value": "20"}]))],
    );
    let replay = workspace.replay(&["a.har", "--contract", "none"]);
    let (open, known) = (ask(replay.address, "/open"), ask(replay.address, "/known"));
    replay.finish();
    assert_eq!((open.header("content-length"), open.header("transfer-encoding")), (None, Some("chunked")));
    assert_eq!((known.header("content-length"), known.header("transfer-encoding")), (Some("18"), None));
    assert_eq!((text(&open), text(&known)), ("data: 1\n\ndata: 2\n\n".into(), text(&open)));
}

#[test]
fn redacted_places_match_any_value_of_their_type_and_a_withheld_body_any_body_with_a_remark() {
    let workspace = Workspace::new();
    let redacted = post("/api/v2/x", r#"{"secret":"!password-1!","a":1}"#, "1");
    let withheld = exchange("POST", "/api/v2/y", Some(("application/json", "")), 200, "1");
    workspace.write_own(
        "a.har",
        &[
            own(redacted, json!({"request": {"redacted": ["/secret"]}})),
            own(withheld, json!({"request": {"withheld": "unparsable"}})),
        ],
    );
    let replay = workspace.replay(&["a.har"]);
    assert_eq!(send(replay.address, "/api/v2/x", r#"{"a":1,"secret":5}"#).status(), 421);
    assert_eq!(send(replay.address, "/api/v2/x", r#"{"a":1.0,"secret":"anything"}"#).status(), 200);
    assert_eq!(send(replay.address, "/api/v2/y", r#"{"any":"thing"}"#).status(), 200);
    let ran = replay.finish();
    assert_output(
        "replay/bodies/redacted_places_match_any_value_of_their_type_and_a_withheld_body_any_body_with_a_remark",
        &ran,
    );
}

#[test]
fn multipart_forms_and_compressed_bodies_match_by_value() {
    let workspace = Workspace::new();
    let multipart = |boundary: &str, parts: [&str; 2]| {
        format!("--{boundary}\r\n{}\r\n--{boundary}\r\n{}\r\n--{boundary}--\r\n", parts[0], parts[1])
    };
    let one =
        "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1,\"b\":2}";
    let same = "Content-Disposition: form-data; name=\"meta\"\r\n\r\n{\"b\": 2.0, \"a\": 1}";
    let file = "Content-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\nhello";
    workspace.write(
        "a.har",
        &[
            exchange(
                "POST",
                "/api/v2/upload",
                Some(("multipart/form-data; boundary=one", &multipart("one", [one, file]))),
                200,
                "1",
            ),
            exchange(
                "POST",
                "/api/v2/form",
                Some(("application/x-www-form-urlencoded", "a=1+2&p=%7B%22x%22%3A1%7D")),
                200,
                "1",
            ),
            post("/api/v2/json", r#"{"a":1}"#, "1"),
        ],
    );
    let replay = workspace.replay(&["a.har"]);
    let call = |target: &str, headers: &[(&str, &str)], body: &[u8]| {
        wire::call(replay.address, "POST", target, headers, body).status()
    };
    let body = multipart("two-2", [file, same]);
    let media_type = [("Content-Type", "multipart/form-data; boundary=\"two-2\"")];
    assert_eq!(call("/api/v2/upload", &media_type, body.as_bytes()), 200);
    let media_type = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(call("/api/v2/form", &media_type, b"p=%7B%20%22x%22:1.0%7D&a=1%202"), 200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(br#"{ "a" : 1.0 }"#).unwrap();
    let gzip = gzip.finish().unwrap();
    let coded = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    assert_eq!(call("/api/v2/json", &coded, &gzip), 200);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn what_was_recorded_in_part_is_never_served_as_whole() {
    let workspace = Workspace::new();
    let truncated = json!({"response": {"truncated": {"kept": 2, "total": 10}}});
    workspace.write_own(
        "a.har",
        &[
            own(get("/api/v2/cut", "{}"), truncated),
            own(get("/api/v2/withheld", ""), json!({"response": {"withheld": "unparsable"}})),
            own(exchange("GET", "/api/v2/zero", None, 0, ""), json!({"incomplete": "the upstream closed early"})),
        ],
    );
    let replay = workspace.replay(&["a.har"]);
    let mut details = Vec::new();
    for target in ["cut", "withheld", "zero"] {
        let answer = ask(replay.address, &format!("/api/v2/{target}"));
        assert_eq!((answer.status(), answer.json()["reason"].clone()), (421, "unfit".into()));
        details.push(answer.json()["detail"].as_str().unwrap().to_owned());
    }
    let ran = replay.finish();
    let lines = ran.stderr.lines().filter_map(|line| line.split_once("answered by contrail: replay-miss; "));
    assert_eq!(lines.map(|(_, detail)| detail).collect::<Vec<_>>(), details);
    assert_output("replay/bodies/what_was_recorded_in_part_is_never_served_as_whole", &ran);
}

#[test]
fn head_and_bodiless_answers_keep_their_framing_on_one_connection() {
    let workspace = Workspace::new();
    let mut head = exchange("HEAD", "/api/v2/x", None, 200, "");
    head["response"]["headers"] = json!([{"name": "Content-Length", "value": "42"}]);
    workspace.write("a.har", &[head, exchange("DELETE", "/api/v2/x", None, 204, ""), get("/api/v2/x", "\"last\"")]);
    let replay = workspace.replay(&["a.har"]);
    let mut stream = std::net::TcpStream::connect(replay.address).unwrap();
    let request = |method: &str| format!("{method} /api/v2/x HTTP/1.1\r\nHost: h\r\n\r\n");
    let all = format!(
        "{}{}{}",
        request("HEAD"),
        request("DELETE"),
        request("GET").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    );
    stream.write_all(all.as_bytes()).unwrap();
    let mut raw = String::new();
    stream.read_to_string(&mut raw).unwrap();
    let heads: Vec<&str> = raw.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(heads.len(), 3, "{raw}");
    assert!(heads[0].starts_with("200") && heads[0].to_lowercase().contains("content-length: 42\r\n"), "{raw}");
    assert!(heads[1].starts_with("204") && !heads[1].to_lowercase().contains("content-length"), "{raw}");
    assert!(heads[2].ends_with("\"last\""), "{raw}");
}

#[test]
fn a_type_that_is_only_declared_reads_the_body_and_is_never_sent_as_a_header() {
    let workspace = Workspace::new();
    let mut entry =
        exchange("POST", "/api/v2/form", Some(("application/x-www-form-urlencoded", "a=x y&b=1")), 200, "{}");
    entry["request"]["headers"] = json!([{"name": "Accept", "value": "*/*"}]);
    entry["response"]["headers"] = json!([{"name": "Cache-Control", "value": "no-store"}]);
    workspace.write("a.har", &[entry]);
    let replay = workspace.replay(&["a.har"]);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = wire::call(replay.address, "POST", "/api/v2/form", &form, b"b=1&a=x+y");
    assert_eq!(
        (answer.status(), answer.header("cache-control"), answer.header("content-type")),
        (200, Some("no-store"), None)
    );
    assert_eq!(replay.finish().status, 0);
}
