//! What an answer repeats of its request.

use super::*;

fn echoing(rules: &[&str], entries: impl IntoIterator<Item = Entry>) -> Replay {
    let echo = rules.iter().map(|rule| Ignore::echo(rule).unwrap()).collect();
    replay_with(Settings { rules: MatchRules { echo, ..MatchRules::default() }, ..settings() }, entries)
}

#[test]
fn an_answer_has_the_id_of_the_live_request_where_it_had_that_of_the_recorded_one() {
    let call = |id: &str| json("/rpc", &format!(r#"{{"id":{id},"method":"m"}}"#));
    let recorded = || [says(call("1"), r#"{"id":1,"n":1,"result":{"id":1}}"#)];
    assert_eq!(body(&echoing(&["pointer:/id"], recorded()), &call("57")), r#"{"id":57,"n":1,"result":{"id":1}}"#);
    let text = body(&echoing(&["POST /rpc=pointer:/id"], recorded()), &call("\"a-b\""));
    assert_eq!(text, r#"{"id":"a-b","n":1,"result":{"id":1}}"#);
    assert_eq!(body(&echoing(&["GET /rpc=pointer:/id"], recorded()), &call("57")), "miss: unknown");
    // A batch, whose answers came in another order.
    let calls = |ids: [u8; 2]| json("/rpc", &format!(r#"[{{"id":{}}},{{"id":{}}}]"#, ids[0], ids[1]));
    let replay = echoing(&["pointer:/*/id"], [says(calls([1, 2]), r#"[{"id":2},{"id":1,"of":2}]"#)]);
    assert_eq!(body(&replay, &calls([8, 9])), r#"[{"id":9},{"id":8,"of":2}]"#);
}

#[test]
fn a_long_value_is_echoed_wherever_the_answer_has_it_whole_a_header_field_too() {
    let with = |id: &'static str| Request { headers: headers(&[("x-correlation-id", id)]), ..request("GET", "/x") };
    let text = r#"{"trace":"recorded-0815","text":"of recorded-0815","n":1}"#;
    let fields = [("x-correlation-id", "recorded-0815"), ("x-trace", "recorded-0815"), ("x-other", "recorded")];
    let replay = echoing(&["header:X-Correlation-Id"], [answers(with("recorded-0815"), 200, &fields, text)]);
    let served = ask(&replay, &with("live-4711")).unwrap();
    let field = |name: &str| served.answer.headers[name].to_str().unwrap().to_owned();
    assert_eq!(["x-correlation-id", "x-trace", "x-other"].map(field), ["live-4711", "live-4711", "recorded"]);
    let body = String::from_utf8(served.answer.body.clone().unwrap().to_vec()).unwrap();
    assert_eq!(body, r#"{"trace":"live-4711","text":"of recorded-0815","n":1}"#);
    assert!(!served.clean, "it may hold a secret now");
}
