//! Which recorded request a live one is taken for.

use super::*;

fn same(recorded: Request, live: &Request) -> bool {
    ask(&replay([says(recorded, "{}")]), live).is_ok()
}

#[test]
fn paths_compare_raw_and_method_counts() {
    let recorded = || request("GET", "/a%7Cb");
    assert!(same(recorded(), &request("GET", "/a%7Cb")));
    assert!(!same(recorded(), &request("GET", "/a|b")));
    assert!(!same(recorded(), &request("GET", "/a%7cb")));
    assert!(!same(recorded(), &request("GET", "/a%7Cb/")));
    assert!(!same(recorded(), &request("POST", "/a%7Cb")));
    assert!(!same(recorded(), &request("HEAD", "/a%7Cb")));
}

#[test]
fn queries_compare_decoded_in_any_order_with_every_parameter() {
    let recorded = || request("GET", "/x?from=a%20b&take=5&tag=1&tag=2");
    assert!(same(recorded(), &request("GET", "/x?tag=1&take=5&from=a+b&tag=2")));
    assert!(!same(recorded(), &request("GET", "/x?take=5&tag=2&from=a+b&tag=1")), "one name's values are a list");
    assert!(same(recorded(), &request("GET", "/x?t%61ke=5&tag=1&from=a b&tag=2&")));
    assert!(!same(recorded(), &request("GET", "/x?from=a%2Bb&take=5&tag=1&tag=2")));
    assert!(!same(recorded(), &request("GET", "/x?from=a%20b&Take=5&tag=1&tag=2")));
    assert!(!same(recorded(), &request("GET", "/x?from=a%20b&take=5&tag=1")));
    assert!(!same(recorded(), &request("GET", "/x?from=a%20b&take=5&tag=1&tag=2&q=")));
    assert!(!same(recorded(), &request("GET", "/x?from=a%20b&take=5.0&tag=1&tag=2")));
    assert!(same(request("GET", "/x"), &request("GET", "/x?")));
    assert!(!same(request("GET", "/x?a=%FF"), &request("GET", "/x?a=%FE")));
}

#[test]
fn json_bodies_compare_by_value_with_exact_numbers() {
    let recorded = || json("/x", r#"{"a": [1, 1.0, -0, 1e2], "b": {"c": "é", "d": null}}"#);
    assert!(same(recorded(), &json("/x", r#"{"b":{"d":null,"c":"\u00e9"},"a":[1.0,1,0,100]}"#)));
    assert!(!same(recorded(), &json("/x", r#"{"a": [1, 1, 100, 0], "b": {"c": "é", "d": null}}"#)));
    assert!(!same(recorded(), &json("/x", r#"{"a": ["1", 1, 0, 100], "b": {"c": "é", "d": null}}"#)));
    assert!(!same(recorded(), &json("/x", r#"{"a": [1, 1, 0, 100], "b": {"c": "é"}}"#)));
    assert!(!same(json("/x", r#"{"n":12345678901234567890123}"#), &json("/x", r#"{"n":12345678901234567890124}"#)));
}

#[test]
fn a_repeated_request_does_not_match_those_that_differ_from_it_in_one_part() {
    let form = |body: &str| with_body("POST", "/x", "application/x-www-form-urlencoded", body);
    let replay = exhausting(
        Exhausted::Repeat,
        [
            says(json("/x", r#"{"a":1}"#), "json"),
            says(form("a=1&b=2"), "form"),
            says(with_body("POST", "/x", "text/plain", "b=2&a=1"), "text"),
            says(json("/x?q", r#"{"a":1}"#), "query"),
            says(request("POST", "/x"), "nothing"),
            says(request("DELETE", "/x"), "method"),
        ],
    );
    for _ in 0..3 {
        assert_eq!(body(&replay, &json("/x", r#"{"a":1}"#)), "json");
        assert_eq!(body(&replay, &json("/x", r#"{"a": 1.0}"#)), "json");
        assert_eq!(body(&replay, &json("/x", r#"{"a":2}"#)), "miss: unknown");
        assert_eq!(body(&replay, &form("b=2&a=1")), "form");
        assert_eq!(body(&replay, &with_body("POST", "/x", "text/plain", "b=2&a=1")), "text");
        assert_eq!(body(&replay, &json("/x?q", r#"{"a":1}"#)), "query");
        assert_eq!(body(&replay, &request("POST", "/x")), "nothing");
        assert_eq!(body(&replay, &request("DELETE", "/x")), "method");
        let mut unseen = request("POST", "/x");
        unseen.body = Body::withheld(Withheld::Undecodable, None);
        assert_eq!(body(&replay, &unseen), "miss: unknown");
    }
}

#[test]
fn headers_do_not_take_part_not_even_the_content_type() {
    let recorded = || json("/x", r#"{"a":1}"#);
    assert!(same(recorded(), &with_body("POST", "/x", "text/plain", r#"{"a":1}"#)));
    assert!(same(recorded(), &with_body("POST", "/x", "application/x-www-form-urlencoded", r#"{"a":1}"#)));
    assert!(same(recorded(), &with_body("POST", "/x", "", r#"{"a":1}"#)));
    let mut other = recorded();
    other.headers = headers(&[("x-request-id", "7"), ("content-type", "application/json"), ("accept", "*/*")]);
    assert!(same(recorded(), &other));
}

#[test]
fn forms_compare_by_field_and_json_in_a_field_by_value() {
    let form = |body: &str| with_body("PATCH", "/x", "application/x-www-form-urlencoded; charset=utf-8", body);
    let recorded = || form("name=a+b&payload=%7B%22a%22%3A1%2C%22b%22%3A2%7D");
    assert!(same(recorded(), &form("payload=%7B%22b%22:2.0,%22a%22:1%7D&name=a%20b")));
    assert!(!same(recorded(), &form("payload=%7B%22b%22:3,%22a%22:1%7D&name=a%20b")));
    assert!(!same(recorded(), &form("payload=%7B%22b%22:2,%22a%22:1%7D&name=a%2Bb")));
    assert!(!same(form("n=5"), &form("n=5.0")));
    assert!(same(form("s=Z&n=5&s=A"), &form("s=Z&s=A&n=5")));
    assert!(!same(form("s=Z&s=A"), &form("s=A&s=Z")));
    assert!(!same(form("n=5"), &json("/x", r#"{"n":"5"}"#)));
}

#[test]
fn multipart_bodies_compare_by_part_whatever_boundary_and_order() {
    let part = |name: &str, extra: &str, body: &str| {
        format!("Content-Disposition: form-data; name=\"{name}\"\r\n{extra}\r\n{body}\r\n")
    };
    let multipart = |boundary: &str, parts: &[String]| {
        let mut body: Vec<String> = parts.iter().map(|part| format!("--{boundary}\r\n{part}")).collect();
        body.push(format!("--{boundary}--\r\n"));
        let body = body.concat();
        with_body("POST", "/x", &format!("multipart/form-data; boundary=\"{boundary}\""), &body)
    };
    let typed = "Content-Type: application/json\r\n";
    let recorded =
        || multipart("AAA", &[part("meta", typed, r#"{"a":1,"b":[2]}"#), part("file", "", "line one\r\nline two")]);
    assert!(same(
        recorded(),
        &multipart("b-b:b", &[part("file", "", "line one\r\nline two"), part("meta", "", r#"{"b":[2.0],"a":1}"#)])
    ));
    assert!(!same(recorded(), &multipart("AAA", &[part("meta", typed, r#"{"a":1,"b":[2]}"#)])));
    assert!(!same(
        recorded(),
        &multipart("AAA", &[part("meta", typed, r#"{"a":1,"b":[2]}"#), part("file", "", "line one\nline two")])
    ));
    assert!(!same(
        recorded(),
        &multipart("AAA", &[part("meta", typed, r#"{"a":2,"b":[2]}"#), part("file", "", "line one\r\nline two")])
    ));
}

#[test]
fn parts_of_one_name_are_a_list_whose_order_counts() {
    let multipart = |parts: &[(&str, &str)]| {
        let part = |(name, value): &(&str, &str)| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = parts.iter().map(part).collect::<String>() + "--b--\r\n";
        with_body("POST", "/x", "multipart/form-data; boundary=b", &body)
    };
    let recorded = || multipart(&[("tag", "a"), ("tag", "b"), ("name", "n")]);
    assert!(same(recorded(), &multipart(&[("name", "n"), ("tag", "a"), ("tag", "b")])));
    assert!(!same(recorded(), &multipart(&[("tag", "b"), ("tag", "a"), ("name", "n")])));
}

#[test]
fn other_bodies_compare_byte_for_byte() {
    let text = |body: &str| with_body("POST", "/x", "text/plain", body);
    assert!(same(text("a=1&b=2"), &text("a=1&b=2")));
    assert!(!same(text("a=1&b=2"), &text("b=2&a=1")));
    assert!(!same(text("x"), &request("POST", "/x")));
    assert!(!same(request("POST", "/x"), &text("x")));
}

#[test]
fn a_redacted_place_matches_any_value_of_its_type_and_says_so() {
    let mut recorded = json("/x", r#"{"secret":"LABEL-1","pin":0,"name":"n"}"#);
    recorded.body.redacted = vec!["/secret".to_owned(), "/pin".to_owned()];
    let replay = replay([says(recorded, "{}")]);
    let served = ask(&replay, &json("/x", r#"{"name":"n","pin":4711,"secret":"other"}"#)).unwrap();
    assert_eq!(
        served.remarks,
        ["matches a.har entry 0 although `/pin` is redacted in the recording, `/secret` is redacted in the recording"]
    );
    let exhausted = ask(&replay, &json("/x", r#"{"name":"n","pin":1,"secret":"x"}"#)).unwrap_err();
    assert_eq!(exhausted.word(), "exhausted");
    for other in [
        r#"{"name":"n","pin":4711,"secret":5}"#,
        r#"{"name":"n","pin":"4711","secret":"other"}"#,
        r#"{"name":"m","pin":4711,"secret":"other"}"#,
        r#"{"name":"n","pin":4711}"#,
        r#"{"name":"n","pin":4711,"secret":null}"#,
    ] {
        assert_eq!(body(&replay, &json("/x", other)), "miss: unknown", "{other}");
    }
}

#[test]
fn a_redacted_form_field_query_parameter_or_path_segment_matches_any_text() {
    let form = |body: &str| with_body("POST", "/x", "application/x-www-form-urlencoded", body);
    let mut recorded = form("a=1&secret=LABEL-1");
    recorded.body.redacted = vec!["/secret".to_owned()];
    assert!(same(recorded.clone(), &form("secret=s3cr%65t&a=1")));
    assert!(!same(recorded.clone(), &form("secret=s3cr%65t&a=2")));
    assert!(!same(recorded, &form("a=1")));
    let recorded = || request("GET", "/t/LABEL-2/u?key=LABEL-1&a=1");
    assert!(same(recorded(), &request("GET", "/t/whatever/u?a=1&key=zzz")));
    assert!(!same(recorded(), &request("GET", "/t/whatever/u?a=2&key=zzz")));
    assert!(!same(recorded(), &request("GET", "/t/whatever/v?a=1&key=zzz")));
    assert!(!same(recorded(), &request("GET", "/t/whatever/u?a=1")));
}

#[test]
fn an_exact_match_comes_before_one_that_needs_a_redacted_place() {
    let mut redacted = json("/x", r#"{"a":"LABEL-1"}"#);
    redacted.body.redacted = vec!["/a".to_owned()];
    let mut withheld = json("/x", "");
    withheld.body = Body::withheld(Withheld::Unparsable, Some(9));
    let replay =
        replay([says(withheld, "any"), says(redacted, "redacted"), says(json("/x", r#"{"a":"plain"}"#), "exact")]);
    assert_eq!(body(&replay, &json("/x", r#"{"a":"plain"}"#)), "exact");
    assert_eq!(body(&replay, &json("/x", r#"{"a":"other"}"#)), "redacted");
    assert_eq!(body(&replay, &json("/x", r#"{"b":"other"}"#)), "any");
}

#[test]
fn a_withheld_or_truncated_request_body_matches_any_body_and_says_so() {
    for presence in [Presence::Withheld(Withheld::Unparsable), Presence::Truncated { kept: 2, total: Some(9) }] {
        let mut recorded = json("/x", r#"{""#);
        recorded.body.presence = presence;
        let replay = replay([says(recorded, "{}")]);
        let served = ask(&replay, &json("/x", r#"{"any":"thing"}"#)).unwrap();
        assert_eq!(
            served.remarks[0],
            "matches a.har entry 0 although its body is incomplete in the recording, so any body matches"
        );
    }
}

#[test]
fn ignored_places_do_not_count_there_or_not() {
    let recorded = || json("/actions/1?nonce=1&take=5", r#"{"at":1,"items":[{"id":"x","n":1}],"n":2}"#);
    let live = json("/actions/1?take=5", r#"{"items":[{"id":"y","n":1}],"n":2}"#);
    assert!(!same(recorded(), &live));
    let rules = ["query:nonce", "pointer:/at", "pointer:/items/*/id"];
    assert!(ask(&ignoring(&rules, [says(recorded(), "{}")]), &live).is_ok());
    let scoped = ["query:nonce", "testAction=pointer:/at", "testAction=pointer:/items/0/id"];
    assert!(ask(&ignoring(&scoped, [says(recorded(), "{}")]), &live).is_ok());
    let elsewhere = ["query:nonce", "redeliverEvent=pointer:/at", "pointer:/items/*/id"];
    assert!(ask(&ignoring(&elsewhere, [says(recorded(), "{}")]), &live).is_err());
    let other = json("/actions/1?take=5", r#"{"items":[{"id":"y","n":2}],"n":2}"#);
    assert!(ask(&ignoring(&rules, [says(recorded(), "{}")]), &other).is_err());
    assert!(ask(&ignoring(&["query:nonce", "body"], [says(recorded(), "{}")]), &other).is_ok());
    let lines = ["POST /actions/*=query:nonce", "POST /actions/1=pointer:/at", "pointer:/items/*/id"];
    assert!(ask(&ignoring(&lines, [says(recorded(), "{}")]), &live).is_ok());
    let lines = ["POST /actions/*=query:nonce", "GET /actions/1=pointer:/at", "pointer:/items/*/id"];
    assert!(ask(&ignoring(&lines, [says(recorded(), "{}")]), &live).is_err());
}

#[test]
fn a_segment_of_the_path_that_is_ignored_matches_any_and_its_own_entry_comes_first() {
    let thing = |id: &str| request("PUT", &format!("/things/{id}"));
    let entries = || [says(thing("a"), "one"), says(thing("b"), "two"), says(request("PUT", "/users/a"), "user")];
    let replay = ignoring(&["PUT /things/*=path:2"], entries());
    for (id, answer) in [("b", "two"), ("x", "one"), ("y", "miss: exhausted")] {
        assert_eq!(body(&replay, &thing(id)), answer);
    }
    assert_eq!(body(&replay, &request("PUT", "/users/b")), "miss: unknown");
    assert_eq!(body(&replay, &request("PUT", "/things/x/y")), "miss: unknown");
    // Beside a label in another segment.
    let of_user = |user: &str, id: &str| request("GET", &format!("/u/{user}/{id}"));
    let replay = ignoring(&["path:3"], [says(of_user("LABEL-1", "a"), "one"), says(of_user("LABEL-2", "b"), "two")]);
    assert_eq!(body(&replay, &of_user("LABEL-2", "x")), "two");
    assert_eq!(body(&replay, &of_user("LABEL-1", "y")), "one");
}

#[test]
fn a_part_answers_its_own_range_and_a_304_its_own_validator() {
    let with = |name: &str, value: &str| Request { headers: headers(&[(name, value)]), ..request("GET", "/f") };
    let part = |range: &str, text: &str| answers(with("range", range), 206, &[], text);
    let replay = replay([
        part("bytes=0-9", "first"),
        part("bytes=10-19", "second"),
        answers(with("if-none-match", "\"1\""), 304, &[], ""),
        answers(with("if-none-match", "\"2\""), 200, &[], "new"),
    ]);
    assert_eq!(body(&replay, &with("range", "bytes=10-19")), "second");
    assert_eq!(body(&replay, &with("range", "bytes=0-9")), "first");
    assert_eq!(ask(&replay, &with("if-none-match", "\"1\"")).unwrap().answer.status, 304);
    let miss = ask(&self::replay([part("bytes=0-9", "first")]), &with("range", "bytes=5-8")).unwrap_err();
    assert_eq!(
        miss.detail(),
        "`GET /f` matches a.har entry 0, but it is the 206 to a request with `range: bytes=0-9`, and this request has \
         `range: bytes=5-8`. Record this one, too, with `contrail record --append`."
    );
    let shown = &miss.nearest[0].differences[0];
    assert_eq!((shown.yours.as_deref(), shown.fixture.as_deref()), (Some("bytes=5-8"), Some("bytes=0-9")));
}
