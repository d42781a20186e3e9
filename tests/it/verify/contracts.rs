//! Other contracts, overlays, and what cannot be checked.

use super::*;
use crate::support::golden::assert_output;

#[test]
fn an_overlay_adds_what_the_document_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.yaml"), "overlay: 1.0.0\n").unwrap();
    fs::write(folder.path().join("x.har"), har::har(&[conforming()])).unwrap();
    let ran = run_in(folder.path(), ["verify", "--overlay", "bad.yaml", "x.har"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "an overlay that is none is refused");
    assert_output("verify/contracts/an_overlay_adds_what_the_document_does_not_show", &ran);
    let ran = run(["verify", "--contract", "no-such.yaml", "-"]);
    assert_eq!(ran.status, 2);
    assert_output("verify/contracts/an_overlay_adds_what_the_document_does_not_show-2", &ran);
}

#[test]
fn an_overlay_that_adds_a_required_scope_is_checked_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let overlay = "overlay: 1.0.0
info: {title: ours, version: '1'}
actions:
  - target: $.paths['/connection-profiles/templates'].get
    update:
      security: [{bearerAuth: ['read:connection_profiles']}]
";
    fs::write(folder.path().join("ours.yaml"), overlay).unwrap();
    let body = r#"{"connection_profile_templates":[]}"#;
    let entries = [get("/api/v2/connection-profiles/templates", Some(&bearer()), 200, body)];
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();
    assert_eq!(run_in(folder.path(), ["verify", "x.har"]).status, 0);
    let ran = run_in(folder.path(), ["verify", "--overlay", "ours.yaml", "--format", "json", "x.har"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.status, rules(&report, 0)), (1, vec!["auth.scope", "auth.unenforced"]));
}

#[test]
fn of_several_contracts_the_one_whose_servers_name_the_host_judges_whatever_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for (name, host) in [("alpha", "https://api.alpha.test"), ("beta", "http://api.beta.test:7402"), ("any", "")] {
        let document = format!(
            "openapi: 3.1.0\ninfo: {{title: {name}, version: '1'}}\nservers: [{{url: '{host}/v1'}}]\npaths:\n  /target: {{get: \
             {{operationId: {name}, responses: {{'200': {{description: x, content: {{application/json: {{schema: {{const: \
             {name}}}}}}}}}}}}}}}\n"
        );
        fs::write(folder.path().join(format!("{name}.yaml")), document).unwrap();
    }
    let at = |origin: &str, body: &str| {
        let mut entry = get("/v1/target", None, 200, body);
        entry["request"]["url"] = format!("{origin}/v1/target").into();
        entry
    };
    let entries = [
        at("https://api.alpha.test", r#""alpha""#),
        at("http://API.alpha.test:80", r#""alpha""#),
        at("http://api.beta.test:7402", r#""beta""#),
    ];
    fs::write(folder.path().join("both.har"), har::har(&entries)).unwrap();
    fs::write(folder.path().join("other.har"), har::har(&[at("https://other.test", r#""any""#)])).unwrap();
    for order in [["alpha", "beta", "any"], ["beta", "alpha", "any"]] {
        let contracts: Vec<String> = order.iter().map(|name| format!("--contract={name}.yaml")).collect();
        let ran = run_in(folder.path(), ["verify", "both.har"].into_iter().chain(contracts.iter().map(String::as_str)));
        assert_eq!(ran.status, 0, "{order:?}: {}", ran.stdout);
    }
    // No document names the host, so the first judges.
    let ran = run_in(folder.path(), ["verify", "other.har", "--contract=any.yaml", "--contract=beta.yaml"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    let ran = run_in(folder.path(), ["verify", "other.har", "--contract=beta.yaml", "--contract=any.yaml"]);
    assert_eq!(ran.status, 1, "{}", ran.stdout);
}

#[test]
fn parameters_of_every_style_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let document = r"
openapi: 3.0.3
info: {title: Shelves, version: '1'}
paths:
  /shelves/{at}:
    get:
      operationId: getShelf
      parameters:
        - {name: at, in: path, required: true, schema: {type: object, properties: {row: {type: integer}}}}
        - {name: deep, in: query, required: true, style: deepObject, schema: {type: object, properties: {a: {type: integer}}}}
        - {name: flat, in: query, required: true, schema: {$ref: '#/components/schemas/Flat'}}
        - {name: packed, in: query, explode: false, schema: {type: object, properties: {k: {type: integer}}}}
        - {name: piped, in: query, style: pipeDelimited, schema: {type: array, items: {type: integer}}}
      responses: {'200': {description: A shelf}}
components:
  schemas:
    Flat: {type: object, properties: {size: {type: integer}, tone: {type: string}}}
";
    fs::write(folder.path().join("shelves.yaml"), document).unwrap();
    let query = "deep[a]=1&size=1&tone=x&packed=k,1&piped=1|2";
    let entries = [
        get(&format!("/shelves/row,1?{query}"), None, 200, ""),
        get(&format!("/shelves/row,1?{query}&deeper[a]=1"), None, 200, ""),
        get("/shelves/row,x?deep[a]=x&size=x&packed=k,x&piped=x", None, 200, ""),
    ];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let ran = run_in(folder.path(), ["verify", "a.har", "--contract", "shelves.yaml", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rules(&report, 0), [""; 0]);
    assert_eq!(rules(&report, 1), ["query.undocumented"]);
    let broken = ["path.parameter", "query.parameter", "query.parameter", "query.parameter", "query.parameter"];
    assert_eq!(rules(&report, 2), broken);
}

#[test]
fn json_that_nests_deeper_than_max_depth_is_unchecked_and_neither_conforms_nor_violates() {
    let deep = format!("{{\"id\":{}1{}}}", "[".repeat(20), "]".repeat(20));
    let entry = get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, &deep);
    let (status, report) = verify_json(std::slice::from_ref(&entry), &[]);
    assert_eq!((status, rules(&report, 0).contains(&"response.body")), (1, true), "{report}");
    let (status, report) = verify_json(&[entry], &["--max-depth", "10"]);
    assert_eq!((status, rules(&report, 0).len()), (0, 0), "{report}");
    assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"response-body".into()), "{report}");
}

#[test]
fn a_decoded_body_is_judged_under_its_coding_and_one_that_the_file_mangled_is_unchecked() {
    let with = |text: &str| {
        let mut entry = conforming();
        entry["response"]["content"]["text"] = text.into();
        let coding = json!({"name": "Content-Encoding", "value": "gzip"});
        entry["response"]["headers"].as_array_mut().unwrap().push(coding);
        let (status, mut report) = verify_json(&[entry], &[]);
        (status, rules(&report, 0).join(" "), report["exchanges"][0]["unchecked"].take())
    };
    assert_eq!(with(POLICY), (0, String::new(), json!(["signature"])));
    assert_eq!(with("{}{"), (1, "response.body.malformed".to_owned(), json!(["signature"])));
    let mangled = (0, String::new(), json!(["response-body", "signature"]));
    assert_eq!(with("\u{1f}\u{fffd}\u{8}\0\0\u{fffd}VJT\u{fffd}"), mangled);
    assert_eq!(with("\u{1f}\u{8b}\u{8}\0\0«VJT²"), mangled);
}

#[test]
fn a_response_body_that_the_file_does_not_hold_is_unchecked() {
    let with = |content: Value, length: &[&str]| {
        let mut entry = conforming();
        entry["response"]["content"] = content;
        entry["response"]["bodySize"] = json!(-1);
        for length in length {
            let field = json!({"name": "Content-Length", "value": length});
            entry["response"]["headers"].as_array_mut().unwrap().push(field);
        }
        let (_, mut report) = verify_json(&[entry], &[]);
        let found = rules(&report, 0).join(" ");
        (found, report["exchanges"][0]["unchecked"].take())
    };
    let unchecked = (String::new(), json!(["response-body", "signature"]));
    let absent = ("response.body".to_owned(), json!(["signature"]));
    assert_eq!(with(json!({}), &[]), unchecked);
    assert_eq!(with(json!({"mimeType": ""}), &[]), unchecked);
    assert_eq!(with(json!({"size": -1, "mimeType": "x-unknown"}), &[]), unchecked);
    assert_eq!(with(json!({"size": 0}), &["0", "9"]), unchecked);
    assert_eq!(with(json!({}), &["0"]), absent);
    assert_eq!(with(json!({"size": 0}), &[]), absent);
}
