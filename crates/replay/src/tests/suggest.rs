//! Rules from two recordings.

use super::*;

fn suggested(a: &[Request], b: &[Request]) -> (Vec<String>, [usize; 2]) {
    let asked = |requests: &[Request]| -> Vec<Asked> {
        let asked = |request: &Request| Asked {
            operation: request.target.path().starts_with("/actions").then(|| "testAction".to_owned()),
            request: request.clone(),
            order: None,
        };
        requests.iter().map(asked).collect()
    };
    let Suggested { rules, alone } = suggest(asked(a), asked(b));
    (rules.iter().map(ToString::to_string).collect(), alone)
}

const UUIDS: [&str; 2] = ["6f3d2f4e-1c55-4c1a-8a55-0d4b8f3a9e01", "2d1b9a77-91f0-4a35-9b53-c6b2a1f4d702"];

#[test]
fn places_that_differ_and_look_drawn_are_suggested_for_requests_like_them_only() {
    let run = |at: usize| {
        let (uuid, other, time) = (UUIDS[at], UUIDS[1 - at], ["1763822000", "1763822977"][at]);
        let nonce = Request { headers: headers(&[("x-nonce", uuid)]), ..request("GET", "/n?page=1") };
        [
            json("/actions", &format!(r#"{{"id":"{uuid}","name":"a"}}"#)),
            json("/actions", &format!(r#"{{"id":"{other}","name":"b"}}"#)),
            json("/rpc", &format!(r#"[{{"id":{at},"to":1}},{{"id":{},"to":2}}]"#, at + 7)),
            request("PUT", &format!("/v1/things/{uuid}/x?t={time}&page=2")),
            nonce,
            with_body("POST", "/form", "application/x-www-form-urlencoded", &format!("id={uuid}&a=1")),
        ]
    };
    let (rules, alone) = suggested(&run(0), &run(1));
    let mut sorted = rules.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "GET /n=header:x-nonce",
            "POST /form=pointer:/id",
            "POST /rpc=pointer:/*/id",
            "PUT /v1/things/*/x=path:3",
            "PUT /v1/things/*/x=query:t",
            "testAction=pointer:/id",
        ]
    );
    assert_eq!(alone, [0, 0]);
    assert_eq!(suggested(&run(0), &run(0)), (Vec::new(), [0, 0]));
}

#[test]
fn what_people_wrote_is_never_suggested_and_is_counted() {
    let a = [json("/x", r#"{"name":"a"}"#), request("GET", "/y")];
    let b = [json("/x", r#"{"name":"b"}"#)];
    assert_eq!(suggested(&a, &b), (Vec::new(), [2, 1]));
}
