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

/// `exchange` as this client's.
fn by(client: &str, mut exchange: Exchange) -> Exchange {
    let facts = TokenFacts { client: Some(client.into()), ..TokenFacts::default() };
    exchange.request.credential = Credential::Token(Arc::new(facts));
    exchange
}

fn with_bearer(mut exchange: Exchange, bearer: &str) -> Exchange {
    let value = HeaderValue::from_str(&format!("Bearer {bearer}")).unwrap();
    exchange.request.headers.append(http::header::AUTHORIZATION, value);
    exchange
}

#[test]
fn a_fixture_does_not_depend_on_the_order_in_which_secrets_came() {
    let session = |client: &str, at| {
        let (secret, issued) = (format!("{client}-s3cr3t-0123456789"), format!("{client}-0p4que-t0ken-987654"));
        [
            token(client, &secret, &issued, at),
            by(client, with_bearer(get(&format!("/{client}"), 200, "{}", at), &issued)),
        ]
    };
    let mut fixtures = Vec::new();
    for order in [["one", "two", "three"], ["three", "one", "two"]] {
        let workspace = Workspace::new();
        let exchanges: Vec<_> = (0..).zip(order).flat_map(|(at, client)| session(client, at)).collect();
        let journal = workspace.journal("x.journal", &exchanges);
        workspace.fold(&[&journal], "x.har");
        let text = files(&workspace.path("x.har")).remove("").unwrap();
        assert!(!text.contains("s3cr3t") && !text.contains("0p4que"), "{text}");
        assert!(text.contains("!token-"), "{}", text);
        fixtures.push(text);
    }
    assert_eq!(fixtures[0], fixtures[1]);
}

#[test]
fn a_secret_that_is_recognised_late_is_taken_out_of_what_came_before() {
    let workspace = Workspace::new();
    let early = get("/early", 200, r#"{"note":"late-s3cr3t-0123456789 leaked"}"#, 1);
    let journal =
        workspace.journal("x.journal", &[early, token("c", "late-s3cr3t-0123456789", "t0ken-abcdefgh-1234", 2)]);
    assert!(fs::read_to_string(&journal).unwrap().contains("late-s3cr3t"));
    let folded = workspace.fold(&[&journal], "x.har");
    assert_eq!(folded.entries, 2);
    let text = files(&workspace.path("x.har")).remove("").unwrap();
    assert!(!text.contains("late-s3cr3t"), "{text}");
    // The same secret has the same label in both places.
    let label = |text: &str| {
        let start = text.find("!client-secret-").or_else(|| text.find("!secret-")).unwrap_or_else(|| panic!("{text}"));
        text[start..].split_inclusive('!').take(2).collect::<String>()
    };
    let entries = entries(&workspace.path("x.har"));
    let body = entries[0]["response"]["content"]["text"].as_str().unwrap();
    let form = entries[1]["request"]["postData"]["text"].as_str().unwrap();
    assert_eq!(label(body), label(form));
}

#[test]
fn labels_of_two_recordings_are_kept_apart_and_those_of_the_first_keep_their_numbers() {
    let one = Workspace::new();
    let first = one.journal("1.journal", &[by("one", with_bearer(get("/b", 200, "{}", 1), "first-0p4que-t0ken-1"))]);
    one.fold(&[&first], "x.har");
    let two = Workspace::new();
    let second = two.journal("2.journal", &[by("two", with_bearer(get("/a", 200, "{}", 2), "second-0p4que-t0ken-2"))]);
    two.fold(&[&one.path("x.har"), &second], "x.har");
    let bearers: Vec<_> = entries(&two.path("x.har"))
        .iter()
        .flat_map(|entry| entry["request"]["headers"].as_array().unwrap().clone())
        .filter(|field| field["name"] == "authorization")
        .map(|field| field["value"].as_str().unwrap().to_owned())
        .collect();
    let [new, old] = &bearers[..] else { panic!("{bearers:?}") };
    assert_eq!(old, "Bearer !token-1!");
    // Four digits of the identity: another branch that adds another request takes others.
    assert_eq!((new.len(), new == old), ("Bearer !token-1234!".len(), false), "{new}");
}

/// The labels of tokens in a fixture, in its order, each once.
fn token_labels(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(recording::FixturePath::find(path).unwrap().har()).unwrap();
    let mut labels = Vec::new();
    for part in text.split("!token-").skip(1) {
        let label = format!("!token-{}!", part.split('!').next().unwrap());
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

#[test]
fn one_token_more_of_the_same_client_renames_no_label() {
    let workspace = Workspace::new();
    let ask = |issued: &str, at| token("svc", "svc-s3cr3t-0123456789", issued, at);
    let call = |path: &str, issued: &str, at| with_bearer(get(path, 200, "{}", at), issued);
    let session = {
        let mut exchange = get("/z", 200, "{}", 9);
        exchange.request.headers.append(http::header::COOKIE, HeaderValue::from_static("sid=c00kie-0123456789"));
        exchange
    };
    let (one, two) = ("first-0p4que-t0ken-1", "second-0p4que-t0ken-2");
    let alone = [ask(one, 1), call("/a", one, 2), call("/b", one, 3), session.clone()];
    let workers = [ask(one, 1), ask(two, 1), call("/b", two, 2), call("/a", one, 3), session];
    let [alone, workers] = [("alone", &alone[..]), ("workers", &workers)].map(|(name, exchanges)| {
        let journal = workspace.journal(&format!("{name}.journal"), exchanges);
        workspace.fold(&[&journal], &format!("{name}.har"));
        workspace.path(&format!("{name}.har"))
    });
    let mut left = entries(&workers);
    let token_request = |entry: &Value| entry["request"]["url"].as_str().unwrap().ends_with("/oauth/token/");
    let again = left.iter().position(token_request).unwrap();
    left.remove(again);
    assert_eq!(left, entries(&alone), "the second worker adds its token request and changes nothing else");
    // The journal keeps them apart.
    let journal = fs::read_to_string(workspace.path("workers.journal")).unwrap();
    assert!(journal.contains("!token-2!") && journal.contains("!token-4!"), "{journal}");
}

#[test]
fn tokens_of_two_recordings_share_a_label_where_their_facts_are_equal_and_only_there() {
    let workspace = Workspace::new();
    let call = |client: &str, path: &str, issued: &str| by(client, with_bearer(get(path, 200, "{}", 1), issued));
    let first = workspace.journal("1.journal", &[call("one", "/a", "first-0p4que-t0ken-1")]);
    workspace.fold(&[&first], "x.har");
    let other = Workspace::new();
    let second = other
        .journal("2.journal", &[call("one", "/a", "second-0p4que-t0ken-2"), call("two", "/b", "third-0p4que-t0ken-3")]);
    other.fold(&[&workspace.path("x.har"), &second], "x.har");
    let labels = token_labels(&other.path("x.har"));
    assert_eq!((labels.len(), &*labels[0]), (2, "!token-1!"), "{labels:?}");
}

#[test]
fn tokens_without_public_facts_share_a_label_where_equal_requests_got_equal_answers() {
    let workspace = Workspace::new();
    let opaque = |issued: &str, path: &str, at| {
        let mut exchange = with_bearer(get(path, 200, "{}", at), issued);
        exchange.request.credential = Credential::Malformed("a bearer token that is not a JWT".into());
        exchange
    };
    let journal = workspace.journal(
        "x.journal",
        &[
            token("svc", "svc-s3cr3t-0123456789", "first-0p4que-t0ken-1", 1),
            token("svc", "svc-s3cr3t-0123456789", "second-0p4que-t0ken-2", 2),
            token("svc", "other-s3cr3t-0123456789", "third-0p4que-t0ken-3", 3),
            opaque("first-0p4que-t0ken-1", "/a", 4),
            opaque("second-0p4que-t0ken-2", "/b", 5),
            opaque("third-0p4que-t0ken-3", "/c", 6),
        ],
    );
    workspace.fold(&[&journal], "x.har");
    assert_eq!(token_labels(&workspace.path("x.har")), ["!token-1!", "!token-2!"]);
}
