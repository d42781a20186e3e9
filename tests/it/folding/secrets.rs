//! Secrets in what is folded.

use super::*;

/// A token request: a form with a secret, answered with a token.
fn token(client: &str, secret: &str, issued: &str, at: u64) -> Exchange {
    let form = format!("grant_type=client_credentials&client_id={client}&client_secret={secret}");
    let mut exchange = post("/oauth/token/", &form, 200, &format!(r#"{{"access_token":"{issued}"}}"#), at);
    exchange.request.headers = headers(&[("content-type", "application/x-www-form-urlencoded")]);
    exchange.request.credential = Credential::Missing;
    exchange
}

fn with_bearer(mut exchange: Exchange, bearer: &str) -> Exchange {
    let value = HeaderValue::from_str(&format!("Bearer {bearer}")).unwrap();
    exchange.request.headers.append(http::header::AUTHORIZATION, value);
    exchange
}

#[test]
fn a_fixture_does_not_depend_on_the_order_in_which_secrets_were_met() {
    let session = |client: &str, at| {
        let (secret, issued) = (format!("{client}-s3cr3t-0123456789"), format!("{client}-0p4que-t0ken-987654"));
        [token(client, &secret, &issued, at), with_bearer(get(&format!("/{client}"), 200, "{}", at), &issued)]
    };
    let mut fixtures = Vec::new();
    for order in [["one", "two", "three"], ["three", "one", "two"]] {
        let bench = Bench::new();
        let exchanges: Vec<_> = (0..).zip(order).flat_map(|(at, client)| session(client, at)).collect();
        let journal = bench.journal("x.journal", &exchanges);
        bench.fold(&[&journal], "x.har");
        let text = files(&bench.path("x.har")).remove("").unwrap();
        assert!(!text.contains("s3cr3t") && !text.contains("0p4que"), "{text}");
        assert!(text.contains("!token-"), "{text}");
        fixtures.push(text);
    }
    assert_eq!(fixtures[0], fixtures[1]);
}

#[test]
fn a_secret_that_is_recognised_late_is_taken_out_of_what_came_before() {
    let bench = Bench::new();
    let early = get("/early", 200, r#"{"note":"late-s3cr3t-0123456789 leaked"}"#, 1);
    let journal = bench.journal("x.journal", &[early, token("c", "late-s3cr3t-0123456789", "t0ken-abcdefgh-1234", 2)]);
    assert!(fs::read_to_string(&journal).unwrap().contains("late-s3cr3t"), "the journal's line was written before");
    let folded = bench.fold(&[&journal], "x.har");
    assert_eq!(folded.entries, 2);
    let text = files(&bench.path("x.har")).remove("").unwrap();
    assert!(!text.contains("late-s3cr3t"), "{text}");
    // The same secret has the same label in both places.
    let label = |text: &str| {
        let start = text.find("!client-secret-").or_else(|| text.find("!secret-")).unwrap_or_else(|| panic!("{text}"));
        text[start..].split_inclusive('!').take(2).collect::<String>()
    };
    let entries = entries(&bench.path("x.har"));
    let body = entries[0]["response"]["content"]["text"].as_str().unwrap();
    let form = entries[1]["request"]["postData"]["text"].as_str().unwrap();
    assert_eq!(label(body), label(form));
}

#[test]
fn labels_of_two_recordings_are_kept_apart_and_numbered_anew() {
    let one = Bench::new();
    let first = one.journal("1.journal", &[with_bearer(get("/b", 200, "{}", 1), "first-0p4que-t0ken-1")]);
    one.fold(&[&first], "x.har");
    let two = Bench::new();
    let second = two.journal("2.journal", &[with_bearer(get("/a", 200, "{}", 2), "second-0p4que-t0ken-2")]);
    two.fold(&[&one.path("x.har"), &second], "x.har");
    let bearers: Vec<_> = entries(&two.path("x.har"))
        .iter()
        .flat_map(|entry| entry["request"]["headers"].as_array().unwrap().clone())
        .filter(|field| field["name"] == "authorization")
        .map(|field| field["value"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(bearers, ["Bearer !token-1!", "Bearer !token-2!"]);
}
