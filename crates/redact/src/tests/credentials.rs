//! Secrets in header fields, paths, queries and forms.

use contrail_exchange::TenantFacts;

use super::*;

#[test]
fn the_label_of_an_authorization_is_kept_for_the_next_request() {
    let redactor = Redactor::default();
    let value = "Bearer zq0-7580-k3VbT9wXr2";
    let exchange = exchange("/x", (&[("authorization", value)], ""), (&[], ""));
    let _ = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
    assert!(redactor.memory().authorizations.get(value.as_bytes()).is_some());
}

#[test]
fn every_header_that_carries_a_credential_is_replaced_and_its_scheme_stays() {
    let redacted = redact(exchange(
        "/x",
        (
            &[
                ("authorization", "Bearer abc.def.ghi"),
                ("proxy-authorization", "Basic dXNlcjpodW50ZXIyMg=="),
                ("cookie", "session=s3cr3t-one; theme=\"dark-mode-9\"; bare"),
                ("x-api-key", "s3cr3t-two"),
                ("x-plain", "hunter22 and dXNlcjpodW50ZXIyMg=="),
                ("accept", "*/*"),
            ],
            "",
        ),
        (&[("set-cookie", "session=s3cr3t-three; Path=/; HttpOnly")], ""),
    ));
    assert_eq!(
        sent(&redacted),
        "authorization: Bearer !token-1!\nproxy-authorization: Basic !basic-3!\ncookie: session=!cookie-4!; \
         theme=\"!cookie-5!\"; !cookie-6!\nx-api-key: !api-key-7!\nx-plain: !password-2! and !basic-3!\naccept: */*\n"
    );
    let response = redacted.exchange.response.as_ref().unwrap();
    assert_eq!(response.headers.get_str("set-cookie"), Some("session=!cookie-8!; Path=/; HttpOnly"));
    assert_eq!(redacted.touched, Touched { authorization: true, elsewhere: true });
}

#[test]
fn a_user_before_a_constant_password_is_a_secret_wherever_it_comes() {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let token = "9f8e7d6c5b4a39281706abcd";
    for password in ["x-oauth-basic", "x", ""] {
        let coded = BASE64_STANDARD.encode(format!("{token}:{password}"));
        for fields in [
            [("authorization", format!("Basic {coded}")), ("x-note", format!("is {token}"))],
            [("x-note", format!("is {token}")), ("x-remote", format!("https://{token}:{password}@git.example/x.git"))],
        ] {
            let fields = fields.each_ref().map(|(name, value)| (*name, &**value));
            let redacted = sent(&redact(exchange("/x", (&fields, ""), (&[], ""))));
            assert!(!redacted.contains(token) && !redacted.contains(&coded[..30]), "{redacted}");
        }
    }
    // The user of a client is its public name.
    let coded = BASE64_STANDARD.encode("client0123456789:hunter22");
    let fields = [("authorization", &*format!("Basic {coded}")), ("x-note", "client0123456789")];
    assert!(sent(&redact(exchange("/x", (&fields, ""), (&[], "")))).contains("x-note: client0123456789"));
}

#[test]
fn the_api_keys_of_a_contract_are_replaced_by_their_fields() {
    let plan = Plan::default().with_api_keys(["X-Acme", "Authorization", "Cookie"], ["k"]);
    let made = exchange(
        "/x?k=s3cr3t-one&kk=plain-value-9",
        (&[("x-acme", "s3cr3t-two"), ("referer", "https://a.example/x?k=s3cr3t-three"), ("x-acme-id", "plain")], ""),
        (&[], ""),
    );
    let redacted = Redactor::new(plan).redact(JudgedExchange::new(made, Verdict::default()));
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/x?k=!api-key-1!&kk=plain-value-9");
    assert_eq!(sent(&redacted), "x-acme: !api-key-2!\nreferer: https://a.example/x?k=!api-key-3!\nx-acme-id: plain\n");
}

#[test]
fn an_api_key_in_the_address_of_a_file_is_replaced_though_no_list_of_parameters_names_it() {
    let redactor = Redactor::new(Plan::default().with_api_keys([""; 0], ["appid"]));
    let file = |key: &str, token: &str| {
        format!(
            r#"{{"log":{{"entries":[{{"request":{{"method":"GET","url":"https://a.example/x?appid={key}&access_token={token}"}}}}]}}}}"#
        )
    };
    let secret = file("s3cr3t-one", "abcdefgh-12345-xyz");
    let cleaned = redactor.file(&bytes::Bytes::from(secret));
    assert_eq!(&*cleaned.content, file("!api-key-2!", "!token-1!").as_bytes());
}

#[derive(Debug)]
struct ListsGone;

impl TenantFacts for ListsGone {
    fn is_token_path(&self, path: &str) -> bool {
        path == "/oauth/token"
    }

    fn audience_path(&self, _path: &str) -> Option<String> {
        None
    }

    fn lists_code(&self, value: &str) -> bool {
        value == "gone"
    }
}

#[test]
fn a_code_that_the_contract_lists_is_no_secret_and_every_other_one_is() {
    let redacted = |body: &str| {
        let redactor = Redactor::new(Plan::default().with_tenant(Arc::new(ListsGone)));
        let exchange = exchange("/oauth/token?code=gone", (&[FORM], body), (&[], ""));
        redactor.redact(JudgedExchange::new(exchange, Verdict::default()))
    };
    for (body, expected) in [
        ("code=gone&state=1", "code=gone&state=1"),
        ("code=SplxlOBeZQQYbYS6WxSbIA&state=gone", "code=!code-1!&state=gone"),
        ("code=expired", "code=!code-1!"),
        ("code=gone&password=gone", "code=gone&password=!password-1!"),
    ] {
        assert_eq!(redacted(body).exchange.request.body.content, expected);
    }
    assert_eq!(&*redacted("code=gone").exchange.request.target.path_and_query, "/oauth/token?code=gone");
}

#[test]
fn a_token_that_comes_again_has_its_label_again_whatever_comes_with_it() {
    let redactor = Redactor::default();
    let (one, other) = ("Bearer k3y-of-the-kingdom-1", "Bearer k3y-of-the-kingdom-2");
    let redacted = |fields: &[(&str, &str)], text: &str| {
        let redacted =
            redactor.redact(JudgedExchange::new(exchange("/x", (fields, text), (&[], "")), Verdict::default()));
        (sent(&redacted), redacted.touched)
    };
    let plain = Touched { authorization: true, elsewhere: false };
    let also = Touched { authorization: true, elsewhere: true };
    for _ in 0..3 {
        let label = || "authorization: Bearer !token-1!".to_owned();
        assert_eq!(redacted(&[("authorization", one)], ""), (label() + "\n", plain));
        let sent =
            redacted(&[("x-a", "b"), ("authorization", one), ("cookie", "a=s3cr3t-value")], "k3y-of-the-kingdom-1");
        assert_eq!(sent, (format!("x-a: b\n{}\ncookie: a=!cookie-2!\n!token-1!", label()), also));
        let sent = redacted(&[("authorization", one), ("x-b", "of k3y-of-the-kingdom-1")], "");
        assert_eq!(sent, (label() + "\nx-b: of !token-1!\n", also));
        let sent =
            redacted(&[("authorization", one), ("authorization", other), ("x-api-key", "k3y-of-the-kingdom-1")], "");
        assert_eq!(sent.0, label() + "\nauthorization: Bearer !token-3!\nx-api-key: !token-1!\n");
        let sent = redacted(&[("authorization", other), ("authorization", one)], "");
        assert_eq!(sent.0, format!("authorization: Bearer !token-3!\n{}\n", label()));
    }
}

#[test]
fn a_credential_without_a_known_scheme_is_replaced_whole() {
    for value in ["s3cr3t", "s3cr3t s3cr3t", "Bearer: s3cr3t", "  s3cr3t"] {
        let redacted = redact(exchange("/x", (&[("authorization", value)], ""), (&[], "")));
        assert!(!sent(&redacted).contains("s3cr3t"), "{value} became {}", sent(&redacted));
        assert_eq!(redacted.touched, Touched { authorization: true, elsewhere: false });
    }
    for value in ["", "Bearer", "Bearer "] {
        let redacted = redact(exchange("/x", (&[("authorization", value)], ""), (&[], "")));
        assert_eq!(redacted.touched, Touched::default(), "{value}");
    }
}

#[test]
fn each_word_of_a_credential_is_known_when_it_comes_again_by_itself() {
    for value in ["Bearer  k3y-of-the-kingdom k3y-of-the-kingdom", "Session k3y-of-the-kingdom", "k3y-of-the-kingdom,x"]
    {
        let text = r#"{"note":"k3y-of-the-kingdom was sent in a session"}"#;
        let redacted = redact(exchange("/x", (&[("authorization", value), JSON], text), (&[], "")));
        let sent = sent(&redacted);
        assert!(!sent.contains("kingdom") && sent.contains("was sent in a session"), "{sent}");
    }
    // Parameters name what is no secret, too.
    let digest =
        r#"Digest username="Mufasa", uri="/api/v2/x1/index.html", response="6629fae49393a05397450978507c4ef1""#;
    let redacted = redact(exchange("/api/v2/x1/index.html", (&[("authorization", digest)], ""), (&[], "")));
    assert_eq!(redacted.exchange.request.target.path(), "/api/v2/x1/index.html");
    assert!(!sent(&redacted).contains("6629fae4"));
}

#[test]
fn forms_and_queries_are_redacted_by_field() {
    let redacted = redact(exchange(
        "/authorize?client_id=app&code=xyz&state=st&access_token=a%2Db",
        (
            &[FORM, ("content-length", "99")],
            "grant_type=x&client_id=app&client_secret=s%33cr3t&user%5Bpassword%5D=p+q&payload=%7B%22token%22%3A%22abc%22%7D",
        ),
        (&[], ""),
    ));
    let request = &redacted.exchange.request;
    assert_eq!(
        &*request.target.path_and_query,
        "/authorize?client_id=app&code=!code-1!&state=st&access_token=!token-2!"
    );
    assert_eq!(
        request.body.content,
        "grant_type=x&client_id=app&client_secret=!client-secret-3!&user%5Bpassword%5D=!password-4!&payload=%7B%22token%22%3A%22!token-5!%22%7D"
    );
    assert_eq!(request.body.redacted, ["/client_secret", "/user[password]", "/payload"]);
    let length = request.body.content.len();
    assert_eq!(request.headers.get_str("content-length"), Some(&*length.to_string()));
    assert_eq!(request.body.wire_size, Some(length as u64));
}

#[test]
fn a_querys_only_field_is_known_by_its_name_in_any_spelling() {
    for name in ["auth", "key", "sig", "s_e_c_r_e_t", "user[auth]", "x.code", "pin.", "client+secret", "e_mail"] {
        for value in ["a1b2c3d4e5f6g7h8", "+491711234567", ""] {
            let rules = ["personal"];
            let redact = |redactor: Redactor| {
                let exchange = exchange(&format!("/x?{name}={value}"), (&[], ""), (&[], ""));
                let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
                (redacted.exchange.request.target.to_string(), redactor.counters())
            };
            let redactor = || Redactor::new(Plan::new(&rules).unwrap());
            let (quick, thorough) = (redact(redactor()), thoroughly(|| redact(redactor())));
            assert_eq!(quick, thorough, "{name}={value}");
            assert!(!value.starts_with('a') || quick.0.contains('!'), "{}", quick.0);
        }
    }
    assert_eq!(
        &*redact(exchange("/x?take=100", (&[], ""), (&[], ""))).exchange.request.target.path_and_query,
        "/x?take=100"
    );
}

#[test]
fn multipart_fields_are_redacted_by_name_and_by_value() {
    let text = "--b\r\nContent-Disposition: form-data; name=\"client_secret\"\r\n\r\ns3cr3t-value\r\n--b\r\nContent-Disposition: \
                form-data; name=\"file\"; filename=\"s3cr3t-value.txt\"\r\n\r\n{\"password\":\"pw-0123\"}\r\n--b--\r\n";
    let redacted = redact(exchange("/x", (&[("content-type", "multipart/form-data; boundary=b")], text), (&[], "")));
    let request = &redacted.exchange.request;
    let now = String::from_utf8_lossy(&request.body.content);
    assert_eq!(now, text.replace("s3cr3t-value", "!client-secret-1!").replace("pw-0123", "!password-2!"));
    assert_eq!(request.body.redacted, ["/client_secret", "/file"]);
}

#[test]
fn a_path_that_is_a_secret_whole_keeps_its_slash() {
    let redacted = redact(exchange("/back/to/where?x=1", (&[("cookie", "return=/back/to/where")], ""), (&[], "")));
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/!cookie-1!?x=1");
}

#[test]
fn a_client_secret_that_is_known_beforehand_counts_once_a_message_holds_it() {
    let redactor = Redactor::default();
    redactor.remember_client_secret("a-secret-of-a-client");
    assert!(redactor.counters().secrets.is_empty());
    let body = "client_id=x&client_secret=a-secret-of-a-client";
    let _ =
        redactor.redact(JudgedExchange::new(exchange("/oauth/token", (&[FORM], body), (&[], "")), Verdict::default()));
    assert_eq!(redactor.counters().secrets.into_iter().collect::<Vec<_>>(), [("client-secret", 1)]);
}
