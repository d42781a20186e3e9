//! Verdicts of a replay.

use super::*;
use crate::support::golden::assert_output;

#[test]
fn violations_of_recorded_exchanges_count_whether_or_not_they_are_requested() {
    let workspace = Workspace::new();
    let wrong = har::POLICY.replace("\"allow\"", "\"shrug\"");
    workspace.write("a.har", &[get("/api/v2/rate-limit-policies/rlp_1", &wrong), get("/api/v2/x", "1")]);
    let replay = workspace.replay(&["a.har", "--format", "json"]);
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let said: Vec<Value> = ran
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line.get("recorded").cloned())
        .collect();
    assert_eq!(said.len(), 1, "{}", ran.stderr);
    assert_eq!(said[0]["findings"][0]["rule"], "response.body");
    assert_eq!((said[0]["source"].clone(), said[0]["entry"].clone()), ("a.har".into(), 0.into()));
    assert_eq!(summary(&ran)["unused"].as_array().unwrap().len(), 2);

    let replay = workspace.replay(&["a.har"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "once, not once per request");
    assert_output("replay/judged/violations_of_recorded_exchanges_count_whether_or_not_they_are_requested", &ran);

    let replay = workspace.replay(&["a.har"]);
    assert_eq!(ask(replay.address, "/api/v2/nothing").status(), 421);
    assert_eq!(replay.finish().status, 3, "misses come before violations");
}

#[test]
fn live_requests_are_judged_and_their_authentication_only_under_check_auth() {
    let workspace = Workspace::new();
    let target = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=500";
    workspace.write("a.har", &[get("/api/v2/rate-limit-policies/rlp_1", har::POLICY)]);
    let replay = workspace.replay(&["a.har", "--format", "json"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    ask(replay.address, target);
    let ran = replay.finish();
    let said = lines(&ran);
    assert_eq!(said[0]["verdict"], "conforms", "{}", ran.stderr);
    assert!(said[0]["unchecked"].as_array().unwrap().contains(&"auth".into()), "{}", said[0]);
    assert_eq!(said[1]["findings"][0]["rule"], "query.parameter", "{}", said[1]);

    let replay = workspace.replay(&["a.har", "--format", "json", "--check-auth"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    let ran = replay.finish();
    assert_eq!(lines(&ran)[0]["findings"][0]["rule"], "auth.missing", "{}", ran.stderr);
    assert_eq!(ran.status, 1);
}

#[test]
fn auth_violations_of_recorded_exchanges_count_only_under_check_auth() {
    let workspace = Workspace::new();
    let scopes = json!({"token": {"client": "c", "scopes": ["read:users"], "outcome": "valid"}});
    workspace.write_own("a.har", &[own(get("/api/v2/rate-limit-policies/rlp_1", har::POLICY), scopes)]);
    assert_eq!(workspace.replay(&["a.har"]).finish().status, 0);
    let ran = workspace.replay(&["a.har", "--check-auth"]).finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_output("replay/judged/auth_violations_of_recorded_exchanges_count_only_under_check_auth", &ran);
}
