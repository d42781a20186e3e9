//! Which of several entries of one identity comes first.

use super::*;

fn asking(fields: &[(&str, &str)]) -> Request {
    Request { headers: headers(fields), ..request("GET", "/who") }
}

#[test]
fn the_entry_with_the_fields_of_the_request_comes_first_in_any_order() {
    for (name, one, other) in [
        ("accept", "text/csv", "application/json"),
        ("accept-language", "de", "en"),
        ("content-type", "application/json", "application/xml"),
        ("x-api-version", "2024-01-01", "2025-01-01"),
    ] {
        let asking = |value| asking(&[(name, value), ("user-agent", value), ("content-length", value)]);
        let replay = replay([says(asking(one), "one"), says(asking(other), "other")]);
        for (value, answer) in [(other, "other"), (one, "one"), (other, "other"), ("neither", "other")] {
            assert_eq!(body(&replay, &asking(value)), answer, "{name}: {value}");
        }
        assert!(replay.proof().is_empty());
    }
}

#[test]
fn a_field_of_the_client_counts_only_where_the_answer_varies_with_it() {
    let asking = |agent| asking(&[("user-agent", agent)]);
    for (vary, answer) in [("accept, User-Agent", "phone"), ("accept", "desk")] {
        let answers = |agent, body| answers(asking(agent), 200, &[("vary", vary)], body);
        let replay = replay([answers("desk/1", "desk"), answers("phone/1", "phone")]);
        assert_eq!(body(&replay, &asking("phone/1")), answer);
    }
}

#[test]
fn fields_never_make_a_miss() {
    let post = |kind| with_body("POST", "/x", kind, "a");
    let replay = replay([says(post("text/plain"), "plain"), says(post("text/csv"), "csv")]);
    for answer in ["csv", "plain", "miss: exhausted"] {
        assert_eq!(body(&replay, &post("text/csv")), answer);
    }
}

#[test]
fn a_new_boundary_is_no_other_media_type() {
    let upload = |boundary: &str, language: &str| {
        let text = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}--\r\n");
        let mut request = with_body("POST", "/x", "", &text);
        let kind = format!("multipart/form-data; boundary={boundary}");
        request.headers = headers(&[("content-type", &kind), ("accept-language", language)]);
        request
    };
    let replay = replay([says(upload("b", "en"), "one"), says(upload("c", "de"), "two")]);
    assert_eq!(body(&replay, &upload("c", "en")), "one");
}

fn numbered(number: &str) -> Request {
    json("/x", &format!(r#"{{"n":"{number}","job":1}}"#))
}

#[test]
fn a_request_that_is_recorded_as_it_came_gets_its_own_answer_though_a_part_is_ignored() {
    let replay = ignoring(&["pointer:/n"], ["a", "b", "c"].map(|number| says(numbered(number), number)));
    for (number, answer) in [("c", "c"), ("b", "b"), ("x", "a"), ("y", "miss: exhausted")] {
        assert_eq!(body(&replay, &numbered(number)), answer);
    }
    let get = |number: u8| request("GET", &format!("/x?n={number}"));
    let replay = ignoring(&["query:n"], [1, 2, 3].map(|number| says(get(number), &number.to_string())));
    for (number, answer) in [(2, "2"), (2, "2"), (7, "1"), (7, "3"), (7, "3")] {
        assert_eq!(body(&replay, &get(number)), answer);
    }
}

#[test]
fn a_header_field_that_is_ignored_decides_nothing() {
    let with = |value: &str| Request { headers: headers(&[("x-nonce", value)]), ..request("POST", "/x") };
    let entries = || [says(with("1"), "one"), says(with("LABEL-2"), "two")];
    assert_eq!(body(&replay(entries()), &with("LABEL-2")), "two");
    assert_eq!(body(&ignoring(&["header:X-Nonce"], entries()), &with("LABEL-2")), "one");
}

#[test]
fn entries_that_differ_in_an_ignored_part_come_in_the_order_that_the_recording_states() {
    let entry = |number: &str, order: u32| {
        let mut entry = says(numbered(number), &order.to_string());
        entry.note = Some(Note { order: Some(order), ..Note::default() });
        entry
    };
    let replay = ignoring(&["pointer:/n"], [entry("a", 3), entry("b", 1), entry("c", 2)]);
    for answer in ["1", "2", "3"] {
        assert_eq!(body(&replay, &numbered("new")), answer);
    }
}
