//! The built-in contract as data: what its document no longer says, the check no longer knows.

use std::sync::Arc;

use contrail_exchange::{
    Body, Credential, Exchange, Headers, Request, Response, Target, Timings, TokenFacts, Transport,
    finding::{Conclusion, Kind, Rule},
    json::push_pointer,
};
use http::HeaderValue;
use proptest::prelude::*;
use serde_json::Value;

use crate::{CheckOptions, Contract};

fn json_headers() -> Headers {
    [(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect()
}

fn exchange(method: http::Method, path: &str, sent: &str, came: &str) -> Exchange {
    let scopes = Some(vec!["read:rate_limit_policies".to_owned()]);
    let body = |text: &str| Body::whole(text.to_owned());
    Exchange {
        request: Request {
            method,
            target: Target::new("https", "tenant.example", format!("/api/v2{path}")),
            version: http::Version::HTTP_11,
            headers: json_headers(),
            body: body(sent),
            credential: Credential::Token(Arc::new(TokenFacts { scopes, ..TokenFacts::default() })),
        },
        response: Some(Response {
            status: 200,
            version: http::Version::HTTP_11,
            headers: json_headers(),
            body: body(came),
        }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

/// Exchanges that hold every documented property of every body at least once.
fn everything() -> Vec<Exchange> {
    let attributes = [
        "family_name",
        "given_name",
        "birth_date",
        "issue_date",
        "expiry_date",
        "issuing_country",
        "issuing_authority",
        "portrait",
        "driving_privileges",
        "resident_address",
        "portrait_capture_date",
        "age_in_years",
        "age_birth_year",
        "issuing_jurisdiction",
        "nationality",
        "resident_city",
        "resident_state",
        "resident_postal_code",
        "resident_country",
        "family_name_national_character",
        "given_name_national_character",
    ]
    .map(|name| format!("\"{name}\":true"))
    .join(",");
    let presentation = format!("{{\"org.iso.18013.5.1.mDL\":{{\"org.iso.18013.5.1\":{{{attributes}}}}}}}");
    let dates = r#""created_at":"2026-11-21T03:00:00Z","updated_at":"2026-11-21T03:00:00.5+01:00""#;
    let policy = |configuration: &str| {
        let came = format!(
            r#"{{"id":"rlp_1","resource":"oauth_authentication_api","consumer":"client",
                "consumer_selector":"client_id:abc","configuration":{configuration},{dates}}}"#
        );
        exchange(http::Method::GET, "/rate-limit-policies/rlp_1", "", &came)
    };
    let strategy = r#"{"enabled_features":["scim"],"connection_config":{"any":[1]}}"#;
    let templates = format!(
        r#"{{"connection_profile_templates":[{{"id":"t","display_name":"T","template":{{"name":"n",
            "organization":{{"show_as_button":"none","assign_membership_on_login":"none"}},
            "connection_name_prefix_template":"p","enabled_features":["scim"],"connection_config":{{"x":{{}}}},
            "strategy_overrides":{{"ad":{strategy},"adfs":{strategy},"waad":{strategy},"oidc":{strategy},"samlp":{strategy}}}}}}}]}}"#
    );
    let sent = format!(
        r#"{{"name":"n","type":"t","dialect":"simplified/1.0","presentation":{presentation},
            "well_known_trusted_issuers":"aamva","version":1}}"#
    );
    let came = format!(
        r#"{{"id":"vct_1","name":"n","type":"t","dialect":"simplified/1.0","presentation":{presentation},
            "custom_certificate_authority":"c","well_known_trusted_issuers":"aamva",{dates}}}"#
    );
    let groups = "/connections/con_1/directory-provisioning/synchronized-groups";
    let payload = r#"{"payload":{"free":{"form":[1e400]}}}"#;
    let get = |path, came: &str| exchange(http::Method::GET, path, "", came);
    vec![
        policy(r#"{"action":"allow"}"#),
        policy(r#"{"action":"block","limit":0}"#),
        policy(r#"{"action":"log","limit":10000}"#),
        policy(r#"{"action":"redirect","limit":5.0,"redirect_uri":"https://a.example/"}"#),
        get("/connection-profiles/templates", &templates),
        get(groups, r#"{"groups":[{"id":"g"}],"next":"n"}"#),
        exchange(http::Method::PATCH, "/verifiable-credentials/verification/templates/vct_1", &sent, &came),
        exchange(http::Method::POST, "/actions/actions/a/test", payload, payload),
    ]
}

/// Pointers to every member of every `properties` in a document, outside of the token endpoint.
fn properties(value: &Value, at: &str, found: &mut Vec<String>) {
    let below = |token: &str| {
        let mut at = at.to_owned();
        push_pointer(&mut at, token);
        at
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "/oauth/token/") {
                if at.ends_with("/properties") {
                    found.push(below(name));
                }
                properties(value, &below(name), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                properties(item, &below(&index.to_string()), found);
            }
        }
        _ => {}
    }
}

#[test]
fn deleting_any_property_from_the_yaml_turns_its_traffic_from_conforms_to_gap() {
    let document = Contract::built_in().document().clone();
    let exchanges = everything();
    let options = CheckOptions::default();
    for exchange in &exchanges {
        let verdict = Contract::built_in().check(exchange, &options);
        assert_eq!(verdict.conclusion(), Conclusion::Conforms, "{:?}", verdict.findings);
    }
    let mut pointers = Vec::new();
    properties(&document, "", &mut pointers);
    assert!(pointers.len() > 60, "{}", pointers.len());
    for pointer in pointers {
        let (object, name) = pointer.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/");
        let schema = object.strip_suffix("/properties").unwrap();
        let mut changed = document.clone();
        changed.pointer_mut(object).unwrap().as_object_mut().unwrap().shift_remove(&name).unwrap();
        let closed = changed.pointer(schema).unwrap().get("additionalProperties") == Some(&Value::Bool(false));
        let contract = Contract::from_document(changed).unwrap();
        let kinds: Vec<Kind> = exchanges
            .iter()
            .flat_map(|exchange| contract.check(exchange, &options).findings)
            .filter(|finding| {
                finding.at.ends_with(&format!("/{name}")) || finding.at.contains(&format!("/{name}/")) || closed
            })
            .map(|finding| finding.kind())
            .collect();
        // Where the document states that there are no further properties, one of them is a violation.
        let expected = if closed { Kind::Violation } else { Kind::Gap };
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == expected), "{pointer}: {kinds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever a peer sends, the check gives a verdict, the same one each time, and no finding at a redacted place.
    #[test]
    fn no_traffic_makes_the_check_panic(
        which in 0..8_usize,
        query in "[a-z=&%+\u{e4}0-9]{0,20}",
        form in any::<bool>(),
        status in 0..700_u16,
        sent in junk(),
        came in junk(),
    ) {
        let mut exchange = everything().swap_remove(which);
        let path_and_query = format!("{}?{query}", exchange.request.target.path());
        exchange.request.target.path_and_query = path_and_query.into();
        exchange.request.body = Body::whole(sent);
        if form {
            let value = HeaderValue::from_static("application/x-www-form-urlencoded");
            exchange.request.headers = [(http::header::CONTENT_TYPE, value)].into_iter().collect();
        }
        let response = exchange.response.as_mut().unwrap();
        response.status = status;
        response.body = Body::whole(came);
        let check = |exchange: &Exchange| Contract::built_in().check(exchange, &CheckOptions::default());
        let verdict = check(&exchange);
        prop_assert_eq!(&check(&exchange), &verdict);
        let inside = |rule: Rule| matches!(rule, Rule::ResponseBody | Rule::ResponseBodyUndocumented);
        if let Some(finding) = verdict.findings.iter().find(|finding| inside(finding.rule)) {
            exchange.response.as_mut().unwrap().body.redacted = vec![finding.at.clone()];
            let places = check(&exchange).findings;
            prop_assert!(!places.iter().any(|found| inside(found.rule) && found.at == finding.at));
        }
    }
}

/// Bodies that are nearly what the document shows: pieces of it, cut, doubled and mixed.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"id\"",
        "\"name\"",
        "\"payload\"",
        "\"version\"",
        "\"presentation\"",
        "\"configuration\"",
        "\"action\"",
        "\"block\"",
        "\"limit\"",
        "\"groups\"",
        "\"template\"",
        "1e400",
        "-0",
        "5.5",
        "null",
        "true",
        "\"\\ud800\"",
        "\"\u{1f600}\"",
        "\u{feff}",
        "&",
        "=",
        "%",
        "name=a",
        " ",
    ]);
    prop_oneof![
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..24),
        objects().prop_map(|value| value.to_string().into_bytes()),
    ]
}

fn objects() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "id",
        "name",
        "type",
        "payload",
        "version",
        "presentation",
        "configuration",
        "action",
        "limit",
        "groups",
        "template",
        "connection_profile_templates",
        "strategy_overrides",
        "org.iso.18013.5.1.mDL",
        "x",
        "a/b~c",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,30}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}
