//! `contrail import` of other tools' cassettes: each answers in replay as it did in its own tool.

use std::{fs, path::Path};

use crate::support::{
    command::{Ran, run_in},
    process::Running,
    wire,
};

/// The same traffic as each tool writes it: a list twice, the second time with another answer, whose body is plain though
/// it came compressed; bytes that are no text; and a POST.
#[expect(clippy::too_many_lines, reason = "they are texts")]
fn cassettes() -> [(&'static str, String); 7] {
    let go_vcr = r#"---
version: 2
interactions:
    - id: 0
      request: {body: "", form: {}, headers: {}, url: 'https://api.shop.example/items?a=1&b=2', method: GET}
      response:
        proto: HTTP/2.0
        uncompressed: true
        body: '{"n":1}'
        headers:
            Content-Type:
                - application/json
        status: 200 OK
        code: 200
        duration: 120.5ms
    - id: 1
      request: {body: "", form: {}, headers: {}, url: 'https://api.shop.example/items?a=1&b=2', method: GET}
      response: {body: '{"n":2}', headers: {Content-Type: [application/json]}, status: 200 OK, code: 200, duration: 0s}
    - id: 2
      request: {body: "", form: {}, headers: {}, url: 'https://api.shop.example/raw', method: GET}
      response: {body: !!binary AP/+, headers: {Content-Type: [application/octet-stream]}, status: 200 OK, code: 200}
    - id: 3
      request: {body: '{"x":1}', form: {}, headers: {Content-Type: [application/json]}, url: 'https://api.shop.example/items', method: POST}
      response: {body: '{"made":true}', headers: {Content-Type: [application/json]}, status: 201 Created, code: 201}
"#;
    let vcrpy = r#"interactions:
- request:
    body: null
    headers:
      User-Agent: [python-requests/2.34.2]
    method: GET
    uri: https://api.shop.example/items?a=1&b=2
  response:
    body:
      string: '{"n":1}'
    headers:
      Content-Encoding: [gzip]
      Content-Length: ['33']
      Content-Type: [application/json]
    status: {code: 200, message: OK}
- request: {body: null, headers: {}, method: GET, uri: 'https://api.shop.example/items?a=1&b=2'}
  response:
    body: {string: !!binary H4sIAAAAAAACA6tWylOyMqoFAL1oZv8HAAAA}
    headers: {Content-Encoding: [gzip], Content-Type: [application/json]}
    status: {code: 200, message: OK}
- request: {body: null, headers: {}, method: GET, uri: 'https://api.shop.example/raw'}
  response: {body: {string: !!binary AP/+}, headers: {Content-Type: [application/octet-stream]}, status: {code: 200, message: OK}}
- request: {body: '{"x": 1}', headers: {Content-Type: [application/json]}, method: POST, uri: 'https://api.shop.example/items'}
  response: {body: {string: '{"made":true}'}, headers: {Content-Type: [application/json]}, status: {code: 201, message: Created}}
version: 1
"#;
    let ruby = r#"---
http_interactions:
- request: {method: get, uri: 'https://api.shop.example/items?a=1&b=2', body: {encoding: US-ASCII, string: ''}, headers: {}}
  response:
    status: {code: 200, message: OK}
    headers: {Content-Type: [application/json]}
    body: {encoding: UTF-8, string: '{"n":1}'}
    http_version:
  recorded_at: Sat, 28 Nov 2026 22:49:57 GMT
- request: {method: get, uri: 'https://api.shop.example/items?a=1&b=2', body: {encoding: US-ASCII, string: ''}, headers: {}}
  response:
    status: {code: 200, message: OK}
    headers: {Content-Type: [application/json]}
    body: {encoding: UTF-8, base64_string: 'eyJuIjoyfQ==

        '}
- request: {method: get, uri: 'https://api.shop.example/raw', body: {encoding: US-ASCII, string: ''}, headers: {}}
  response:
    status: {code: 200, message: OK}
    headers: {Content-Type: [application/octet-stream]}
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        AP/+
- request: {method: post, uri: 'https://api.shop.example/items', body: {encoding: UTF-8, string: '{"x":1}'}, headers: {Content-Type: [application/json]}}
  response:
    status: {code: 201, message: Created}
    headers: {Content-Type: [application/json]}
    body: {encoding: UTF-8, string: '{"made":true}'}
recorded_with: VCR 6.3.1
"#;
    let polly = r#"{"log": {"_recordingName": "shop", "creator": {"name": "Polly.JS", "version": "6.0.6"}, "entries": [
      {"_id": "1", "_order": 0, "request": {"method": "GET", "url": "https://api.shop.example/items?a=1&b=2", "headers": [], "bodySize": 0},
       "response": {"status": 200, "headers": [{"name": "content-type", "value": "application/json"}], "content": {"mimeType": "application/json", "size": 7, "text": "{\"n\":1}"}}},
      {"_id": "1", "_order": 1, "request": {"method": "GET", "url": "https://api.shop.example/items?a=1&b=2", "headers": [], "bodySize": 0},
       "response": {"status": 200, "headers": [{"name": "content-type", "value": "application/json"}, {"name": "content-encoding", "value": "gzip"}],
        "content": {"mimeType": "application/json", "encoding": "base64", "size": 27, "text": "[\"H4sIAAAAAAACA6tW\",\"ylOyMqoFAL1oZv8HAAAA\"]"}}},
      {"_id": "2", "_order": 0, "request": {"method": "GET", "url": "https://api.shop.example/raw", "headers": [], "bodySize": 0},
       "response": {"status": 200, "headers": [{"name": "content-type", "value": "application/octet-stream"}], "content": {"encoding": "base64", "size": 3, "text": "AP/+"}}},
      {"_id": "3", "_order": 0, "request": {"method": "POST", "url": "https://api.shop.example/items", "headers": [{"name": "content-type", "value": "application/json"}], "bodySize": 7, "postData": {"mimeType": "application/json", "text": "{\"x\":1}"}},
       "response": {"status": 201, "headers": [{"name": "content-type", "value": "application/json"}], "content": {"text": "{\"made\":true}"}}}
    ]}}"#;
    let nock = r#"[
      {"scope": "https://api.shop.example:443", "method": "GET", "path": "/items?a=1&b=2", "body": "", "status": 200, "response": {"n": 1}, "rawHeaders": ["Content-Type", "application/json"], "responseIsBinary": false},
      {"scope": "https://api.shop.example:443", "method": "GET", "path": "/items?a=1&b=2", "body": "", "status": 200,
       "response": ["1f8b0800000000000203ab56ca53b2", "32aa0500bd6866ff07000000"], "rawHeaders": ["Content-Type", "application/json", "Content-Encoding", "gzip"], "responseIsBinary": false},
      {"scope": "https://api.shop.example:443", "method": "GET", "path": "/raw", "body": "", "status": 200, "response": "00fffe", "rawHeaders": ["Content-Type", "application/octet-stream"], "responseIsBinary": true},
      {"scope": "https://api.shop.example:443", "method": "POST", "path": "/items", "body": {"x": 1}, "status": 201, "response": {"made": true}, "rawHeaders": ["Content-Type", "application/json"], "responseIsBinary": false}
    ]"#;
    let hoverfly = r#"{"data": {"pairs": [PAIRS], "globalActions": {"delays": [], "delaysLogNormal": []}}, "meta": {"schemaVersion": "v5.2"}}"#;
    let pair = |method: &str, path: &str, query: &str, sent: &str, answer: &str| {
        format!(
            r#"{{"request": {{"scheme": [{{"matcher": "exact", "value": "https"}}], "destination": [{{"matcher": "exact", "value": "api.shop.example"}}],
              "method": [{{"matcher": "exact", "value": "{method}"}}], "path": [{{"matcher": "exact", "value": "{path}"}}], "query": {{{query}}},
              "body": [{{"matcher": "{}", "value": {sent}}}]}}, "response": {answer}}}"#,
            if sent == "\"\"" { "exact" } else { "json" }
        )
    };
    let query = r#""a": [{"matcher": "exact", "value": "1"}], "b": [{"matcher": "exact", "value": "2"}]"#;
    let json = |status: u16, body: &str, encoded: bool| {
        format!(
            r#"{{"status": {status}, "body": "{body}", "encodedBody": {encoded}, "headers": {{"Content-Type": ["application/json"]}}, "templated": false}}"#
        )
    };
    let pairs = [
        pair("GET", "/items", query, "\"\"", &json(200, r#"{\"n\":1}"#, false)),
        pair("GET", "/items", query, "\"\"", &json(200, "eyJuIjoyfQ==", true)),
        pair(
            "GET",
            "/raw",
            "",
            "\"\"",
            r#"{"status": 200, "body": "AP/+", "encodedBody": true, "headers": {"Content-Type": ["application/octet-stream"]}}"#,
        ),
        pair("POST", "/items", "", r#""{\"x\":1}""#, &json(201, r#"{\"made\":true}"#, false)),
    ];
    [
        ("go-vcr.yaml", go_vcr.to_owned()),
        ("vcrpy.yaml", vcrpy.to_owned()),
        ("ruby.yml", ruby.to_owned()),
        ("polly/shop_1/recording.har", polly.to_owned()),
        ("nock.json", nock.to_owned()),
        ("hoverfly.json", hoverfly.replace("PAIRS", &pairs.join(","))),
        ("wiremock/mappings/1.json", wiremock()),
    ]
}

fn wiremock() -> String {
    let items = |index: u8, state: &str, body: &str| {
        format!(
            r#"{{"scenarioName": "items", {state}, "insertionIndex": {index},
              "request": {{"urlPath": "/items", "method": "GET", "queryParameters": {{"a": {{"hasExactly": [{{"equalTo": "1"}}]}}, "b": {{"equalTo": "2"}}}}}},
              "response": {{"status": 200, {body}, "headers": {{"Content-Type": "application/json"}}}}}}"#
        )
    };
    // As the page of all mappings has them: the last one first.
    let mappings = [
        items(4, r#""requiredScenarioState": "items-2""#, r#""jsonBody": {"n": 2}"#),
        items(3, r#""requiredScenarioState": "Started", "newScenarioState": "items-2""#, r#""body": "{\"n\":1}""#),
        r#"{"request": {"url": "/raw", "method": "GET"}, "response": {"status": 200, "bodyFileName": "raw.bin", "headers": {"Content-Type": "application/octet-stream"}}}"#.to_owned(),
        r#"{"request": {"url": "/items", "method": "POST", "bodyPatterns": [{"equalToJson": "{\"x\":1}"}]}, "response": {"status": 201, "jsonBody": {"made": true}, "headers": {"Content-Type": "application/json"}}}"#.to_owned(),
        r#"{"request": {"urlPattern": "/any/.*", "method": "GET"}, "response": {"status": 200, "fixedDelayMilliseconds": 5}}"#.to_owned(),
    ];
    format!(r#"{{"mappings": [{}]}}"#, mappings.join(","))
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn import(folder: &Path, arguments: &[&str]) -> Ran {
    run_in(folder, ["import"].iter().chain(arguments))
}

/// What a client gets that sends the traffic of [`cassettes`]: status, media type, body.
fn answers(folder: &Path, fixture: &str) -> Vec<(u16, String, Vec<u8>)> {
    let replay = Running::start(folder, ["replay", "--listen", "127.0.0.1:0", fixture]);
    let json = [("Content-Type", "application/json")];
    let asked: [(&str, &str, &[_], &[u8]); 4] = [
        ("GET", "/items?a=1&b=2", &[], b""),
        ("GET", "/items?a=1&b=2", &[], b""),
        ("GET", "/raw", &[], b""),
        ("POST", "/items", &json, br#"{ "x": 1 }"#),
    ];
    let answers = asked.map(|(method, target, headers, body)| {
        let answer = wire::call(replay.address, method, target, headers, body);
        assert_eq!(answer.header("content-encoding"), None, "{fixture}");
        (answer.status(), answer.header("content-type").unwrap_or_default().to_owned(), answer.body)
    });
    let ended = replay.finish();
    assert_eq!(ended.status, 0, "{fixture}: {}", ended.stderr);
    answers.to_vec()
}

#[test]
fn the_cassettes_of_every_tool_replay_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = |status, body: &str| (status, "application/json".to_owned(), body.as_bytes().to_vec());
    let expected = vec![
        json(200, r#"{"n":1}"#),
        json(200, r#"{"n":2}"#),
        (200, "application/octet-stream".to_owned(), vec![0, 0xff, 0xfe]),
        json(201, r#"{"made":true}"#),
    ];
    write(folder, "wiremock/__files/raw.bin", [0, 0xff, 0xfe]);
    for (name, text) in cassettes() {
        write(folder, name, text);
        let named = name.split('/').next().unwrap();
        let (source, fixture) =
            if named == "polly" { (name, "fx/polly".to_owned()) } else { (named, format!("fx/{named}.d")) };
        let ran = import(folder, &[source, "--out", &fixture]);
        let last = match named {
            "go-vcr.yaml" => "4 exchanges from 1 go-vcr cassette; not carried over: 1 duration",
            "wiremock" => {
                "4 exchanges from 1 WireMock recording; not carried over: 1 exchange (1 with a pattern as URL)"
            }
            _ => "; not carried over: nothing",
        };
        assert!(ran.stderr.lines().any(|line| line.ends_with(last)), "{name}: {}", ran.stderr);
        assert_eq!(ran.status, i32::from(named == "wiremock"), "{name}: {}", ran.stderr);
        assert_eq!(answers(folder, &fixture), expected, "{name}");
    }
}

#[test]
fn each_cassette_of_a_folder_becomes_a_fixture_of_its_own_with_the_name_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cassettes = cassettes();
    for (name, from) in
        [("c/a.yaml", 1), ("c/sub/a b.yaml", 0), ("c/sub/export.json.yml", 2), ("c/shop_1/recording.har", 3)]
    {
        write(folder, name, &cassettes[from].1);
    }
    write(folder, "c/notes.md", "# interactions:\n");
    write(folder, "c/broken.yaml", "interactions:\n- request: 'x\n");
    write(folder, "c/none.yaml", "interactions: []\nversion: 1\n");
    let ran = import(folder, &["c", "--out", "c/fx"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], "16 exchanges in 4 fixtures below c/fx; the tenant is https://api.shop.example");
    for line in [
        "next: contrail verify c/fx, contrail replay --sessions c/fx",
        "left out: `c/broken.yaml` cannot be read as a recording of vcrpy (invalid indentation in multiline quoted scalar at line 3 column 1)",
        "1 recording without an exchange, so without a fixture",
        "16 exchanges from 1 go-vcr cassette, 2 vcrpy cassettes, 1 VCR cassette, 1 Polly recording; not carried over: 1 duration",
    ] {
        assert!(lines.contains(&line), "{line}: {}", ran.stderr);
    }
    let mut names: Vec<String> = fs::read_dir(folder.join("c/fx"))
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a", "shop_1", "sub-export-json", "sub.a-b"]);
    // What was imported is no cassette of the next time.
    let ran = import(folder, &["c", "--out", "c/fx", "--overwrite"]);
    assert!(ran.stderr.starts_with("16 exchanges in 4 fixtures below c/fx"), "{}", ran.stderr);
}

#[test]
fn a_cassette_keeps_its_failures_and_its_other_sites() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |url: &str, status: u16| {
        format!(
            r#"{{"request":{{"method":"GET","uri":"{url}","body":null,"headers":{{}}}},"response":{{"status":{{"code":{status}}},"headers":{{}},"body":{{"string":"x"}}}}}}"#
        )
    };
    let entries = [
        entry("https://a.example/1", 503),
        entry("https://a.example/1", 200),
        entry("https://b.example/", 429),
        entry("<HOST>/2", 200),
    ];
    write(folder.path(), "c.json", format!(r#"{{"version":1,"interactions":[{}]}}"#, entries.join(",")));
    let ran = import(folder.path(), &["c.json", "--out", "fx.har", "--upstream", "https://a.example"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("1 of them with other sites, which stay as they are (https://b.example 1)"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("not carried over: 1 host placeholder"), "{}", ran.stderr);
    let fixture = fs::read_to_string(folder.path().join("fx.har")).unwrap();
    let log: serde_json::Value = serde_json::from_str(&fixture).unwrap();
    let kept = log["log"]["entries"].as_array().unwrap().iter();
    let kept: Vec<_> = kept
        .map(|entry| (entry["request"]["url"].as_str().unwrap(), entry["response"]["status"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        kept,
        [
            ("https://b.example/", 429),
            ("https://tenant.example/1", 503),
            ("https://tenant.example/1", 200),
            ("https://tenant.example/2", 200)
        ]
    );
}

#[test]
fn a_file_of_another_tool_is_named_with_the_way_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    for (text, way) in [
        ("interactions:\n- request:\n", "it is a vcrpy cassette; `contrail import` makes a fixture of it"),
        (
            "1905:9:websocket;0:~8:response;",
            "it holds flows of mitmproxy; `mitmdump -nr FILE --set hardump=x.har` makes a HAR file of them",
        ),
        (
            r#"{"info":{"_postman_id":"x"},"item":[]}"#,
            "it is a collection of Postman, which holds requests; record while it runs",
        ),
    ] {
        write(folder.path(), "x", text);
        let ran = run_in(folder.path(), ["verify", "x"]);
        assert_eq!(ran.status, 2);
        assert_eq!(ran.stderr.trim_end(), format!("contrail: `x` is neither a HAR file nor a journal: {way}"));
    }
    write(folder.path(), "c/a.yaml", "interactions: []\nversion: 1\n");
    let ran = run_in(folder.path(), ["replay", "c"]);
    let way = "holds no recording (no file that ends in .har or .journal), but vcrpy cassettes: `contrail import` makes fixtures of them";
    assert_eq!((ran.status, ran.stderr.trim_end()), (2, &*format!("contrail: the folder `c` {way}")));
}
