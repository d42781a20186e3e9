//! What looks like a secret and is none: answers in the manner of well-known APIs.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::*;

const ANSWERS: [&str; 4] = [
    r#"{"id":"ch_3MmlLrLkdIwHu7ix0snN0B15","object":"charge","amount":1099,"code":"card_declined",
    "decline_code":"insufficient_funds","balance_transaction":"txn_3MmlLrLkdIwHu7ix0uke3Ezy","fingerprint":"mToisGZ01V71BCos",
    "payment_method":"card_1MmlLrLkdIwHu7ixIJwEWSNR","network_transaction_id":"756604615120145","livemode":false,
    "receipt_url":"https://pay.example/receipts/payment/CAcaFwoVYWNjdF8xTTJKVGtMa2RJd0h1N2l4","cvc_check":"pass",
    "idempotency_key":"0f8fad5b-d9cb-469f-a165-70867728950e","postal_code":"94107","country_code":"US","promo_code":"SAVE20NOW",
    "client_reference_id":"order-1a2b3c4d5e6f7","statement_descriptor":"TASK-FORCE","version":"2026-01-28.acacia"}"#,
    r#"{"key":"PROJ-123","id":"10002","self":"https://jira.example/rest/api/2/issue/10002","primary_key":"a1b2c3d4e5f6a7",
    "sort_key":"user#1a2b3c4d5e6f","cache_key":"page:9f8e7d6c5b4a","signature":"Best regards","author":"Ann","compass":"n",
    "passenger":"Bob","secretary":"Cleo","tokenizer":"cl100k_base","bypass":"none","auth_time":1700000000,"sid":"main",
    "session_id":"spring","session_duration":3600,"cookies_enabled":true,"token_type":"Bearer","auth_method":"none",
    "password_policy":"good","password_strength":"fair","has_password":true,"pinned":"top","codec":"h264","zip_code":"12345"}"#,
    r#"{"kind":"calendar#events","etag":"\"p33f8o3a1b2c3d4e\"","nextPageToken":"CigKGjBpNDd2Nmp2Zml2cXRwYjBpOXA",
    "nextSyncToken":"CPDAlvWDx70CEPDAlvWDx70CGAU=","prompt_tokens":12,"completion_tokens":30,"total_tokens":42,
    "cursor":"eGFiY2RlZmdoaWprbG1ub3BxcnN0","public_key":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1a2b3c4d5e6f","kid":"NjVBRjY5MDlCMUIw",
    "n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc","e":"AQAB",
    "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "md5":"d41d8cd98f00b204e9800998ecf8427e","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","time_zone":"Asia/Ho_Chi_Minh"}"#,
    r#"{"authorization_endpoint":"https://tenant.example/authorize","token_endpoint":"https://tenant.example/oauth/token",
    "token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"],"grant_type":"password",
    "cookie_policy":"https://tenant.example/cookies","style":"sk-folding-cube-and-other-spinners","mac":"0A:AA:12:34:56:78",
    "next":"https://tenant.example/services/internal/T1/items?page_token=CigKGjBpNDd2Nmp2Zml2cXRw","path":"/webhooks/wh_1a2b3c4d5e6f7g",
    "branch":"hf_refactor_re_export_of_everything","reset":"2026-01-02T03:04:05Z","verified":"yes","magic":"8","card":"visa",
    "error":{"code":"RESOURCE_NOT_FOUND_42"},"errors":[{"code":"INVALID_REQUEST_9"}]}"#,
];

/// An image: no text, with runs of equal bytes.
fn image() -> String {
    let mut state = 1_u32;
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0\x1f\xf3\xffa".to_vec();
    for at in 0..6000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.push(if at % 97 < 12 { 0 } else { state.to_be_bytes()[0] });
    }
    BASE64_STANDARD.encode(bytes)
}

#[test]
fn ids_hashes_cursors_and_words_of_a_language_are_no_secrets() {
    let prose = BASE64_STANDARD.encode("The quick brown fox jumps over the lazy dog. ".repeat(20));
    let mut answers: Vec<String> = ANSWERS.iter().map(|answer| (*answer).to_owned()).collect();
    answers.push(format!(r#"{{"image":"data:image/png;base64,{}","content":"{prose}"}}"#, image()));
    for answer in answers {
        let fields = [
            JSON,
            ("etag", "W/\"5f3a-1a2b3c4d5e6f7a8b\""),
            ("x-request-id", "req_1a2b3c4d5e6f7g8h"),
            ("surrogate-key", "product-1a2b3c4d5e6f"),
            ("x-cache-key", "/a/1a2b3c4d5e6f7a8b"),
            ("x-ratelimit-key", "1a2b3c4d5e6f7a8b"),
            ("cf-ray", "7d1a2b3c4d5e6f7a-FRA"),
            ("link", "</items?page_token=CigKGjBpNDd2Nmp2Zml2cXRw>; rel=\"next\""),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ];
        let asked = [
            ("idempotency-key", "0f8fad5b-d9cb-469f-a165-70867728950e"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("if-none-match", "\"33a64df551425fcc55e4d42a148795d9f25f89d4\""),
        ];
        let before =
            exchange("/v1/things/ch_3MmlLrLkdIwHu7ix0snN0B15?expand=customer", (&asked, ""), (&fields, &answer));
        let redacted = redact(before.clone());
        let now = redacted.exchange.response.as_ref().unwrap();
        assert_eq!(String::from_utf8_lossy(&now.body.content), answer);
        assert_eq!(format!("{:?}", redacted.exchange), format!("{before:?}"));
    }
}

#[test]
fn settings_labels_and_code_are_no_secrets_under_the_names_of_some() {
    for (media, text) in [
        (
            "application/json",
            r#"{"authorization":"approved","cookie":"accepted","bearer":"alice","csrf":"enabled","token_type":"bearer",
            "permissions":{"secrets":"read","organization_secrets":"write"},"credentials":"same-origin",
            "password_policy":"strong","existingSecret":"my-secret-1a2b3c4d5e6f","bypass":"never","compass":"north"}"#,
        ),
        (
            "application/json",
            r#"{"logprobs":{"content":[{"token":"Hello","logprob":-0.3,"top_logprobs":[{"token":"Hi","logprob":-1}]}]}}"#,
        ),
        (
            "application/json",
            r#"{"password":"Passwort eingeben","login.password":"Password, please","errors.token":"Token has expired!",
            "secret":"Secret Santa list","api_key":"Your API key","note":"Your password is wrong"}"#,
        ),
        (
            "application/json",
            r#"{"kind":"ConfigMap","data":{"a":"b"},"type":"opaque","value":"x","sensitive":false,"attributes":{"id":"a"}}"#,
        ),
        ("application/yaml", "auth:\n  existingSecret: my-secret-1a2b3c4d5e6f\n  secretName: a\n"),
        (
            "application/javascript",
            "const token = getToken(); headers[\"Authorization\"] = \"Bearer \" + token;\n\
            let password=this.form.password.value, secret = process.env.SECRET;\n\
            const texts={password:\"Your password\",token:\"API token\",secret:\"Client secret\"};\n\
            if(t.token===e.token)return a.password=void 0;",
        ),
        (
            "text/html",
            "<script>var token = null; if(token === undefined){password = document.getElementById(\"password\").value}\
            </script><input type=\"password\" name=\"password\" placeholder=\"Your password\">",
        ),
        ("text/x-shellscript", "PASSWORD=$DB_PASSWORD\ntoken=$(cat token)\nPWD=${PWD}\n"),
    ] {
        let redacted = redact(exchange("/x", (&[("content-type", media)], text), (&[], "")));
        assert_eq!(String::from_utf8_lossy(&redacted.exchange.request.body.content), text);
    }
    // One word under the name of a password is one, whatever it says.
    assert_eq!(body(r#"{"password":"Password","pin":"none","pass":"correct horse battery"}"#).matches('!').count(), 6);
}
