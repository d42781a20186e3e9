//! Secrets under their names in the notations that APIs, tools and pages use, each once and nowhere else.

use contrail_exchange::finding::Verdict;

use super::*;

/// A secret that no other text of a case holds.
const SECRET: &str = "S3cr3tValue7QxK4mZ";

fn message(fields: &[(&str, &str)], text: &str) -> String {
    let redacted = Redactor::default()
        .redact(JudgedExchange::new(exchange("/x", (fields, text), (&[], "")), Verdict::default()))
        .into_inner();
    let request = &redacted.exchange.request;
    let fields: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    format!("{}\n{}", fields.join("\n"), String::from_utf8_lossy(&request.body.content))
}

#[test]
fn a_secret_is_masked_in_a_body_of_any_notation_that_names_it() {
    let coded_plain = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, text.replace('@', SECRET));
    let coded = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, text.replace('@', SECRET));
    let bodies = [
        ("application/json", r#"{"Operations":[{"op":"replace","path":"password","value":"@"}]}"#.to_owned()),
        ("application/json-patch+json", r#"[{"op":"add","path":"/user/client_secret","value":"@"}]"#.to_owned()),
        ("application/json", r#"[{"path":"urn:ietf:params:scim:User:password","value":{"value":"@"}}]"#.to_owned()),
        ("application/json", r#"{"Name":"client_secret","Value":"@"}"#.to_owned()),
        ("application/json", r#"{"attribute":"password","values":["@"]}"#.to_owned()),
        ("application/json", r#"{"k":"api_key","v":"@"}"#.to_owned()),
        ("application/json", r#"{"headers":[["X-Api-Key","@"],["accept","*/*"]]}"#.to_owned()),
        ("application/json", r#"{"recovery_codes":["@"],"passwords":[]}"#.to_owned()),
        ("application/json", r#"{"passwords":["@"]}"#.to_owned()),
        ("application/json", r#"{"SecretString":"@"}"#.to_owned()),
        ("application/json", r#"{"ticket":"https://tenant.example/lo/reset?ticket=@#"}"#.to_owned()),
        ("application/json", r#"{"url":"https://tenant.example/invite?invitation=@"}"#.to_owned()),
        ("application/json", r#"{"url":"https://@@tenant.example/x"}"#.replacen("@@", &format!("{SECRET}@"), 1)),
        ("application/json", r#"{"raw":"Authorization: ApiKey @"}"#.to_owned()),
        ("application/json", format!(r#"{{"auths":{{"registry":{{"auth":"{}"}}}}}}"#, coded("me:@"))),
        ("application/json", format!(r#"{{"f":"data:application/json;base64,{}"}}"#, coded(r#"{"password":"@"}"#))),
        ("application/json", format!(r#"{{"state":"{}"}}"#, coded(r#"[{"password":"@"}]"#))),
        ("application/json", format!(r#"{{"state":"{}"}}"#, coded(r#"  {"a":1,"password":"@"}"#))),
        ("application/json", format!(r#"{{"state":"{}"}}"#, coded("client_secret=@&a=b"))),
        ("application/json", format!(r#"{{"state":"{}"}}"#, coded(&coded_plain(r#"{"password":"@"}"#)))),
        ("application/json", format!(r#"{{"kind":"Secret","data":{{"x":"{}"}}}}"#, coded("@"))),
        ("application/json", r#"{"kind":"Secret","stringData":{"x":"@"}}"#.to_owned()),
        ("application/json", r#"{"kind":"SecretList","items":[{"type":"Opaque","data":{"x":"@"}}]}"#.to_owned()),
        (
            "application/json",
            r#"{"a":"{\"items\":[{\"type\":\"kubernetes.io\\/tls\",\"data\":{\"x\":\"@\"}}]}"}"#.to_owned(),
        ),
        ("application/json", r#"{"a":"env:\n- name: DB_PASSWORD\n  value: @\n"}"#.to_owned()),
        ("application/json", r#"{"outputs":{"dsn":{"value":{"x":["@"]},"sensitive":true}}}"#.to_owned()),
        ("application/json", r#"{"Parameter":{"Name":"a","Type":"SecureString","Value":"@"}}"#.to_owned()),
        ("application/json", r#"{"SECRET_KEY_BASE":"@"}"#.to_owned()),
        ("application/json", r#"{"smtpPass":"@"}"#.to_owned()),
        ("application/json", r#"{"_csrf":"@"}"#.to_owned()),
        ("application/json", r#"{"connect.sid":"@"}"#.to_owned()),
        ("application/json", r#"{"a":"Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey=@="}"#.to_owned()),
        ("text/plain", "REDIS_PASS=@\nPHPSESSID=@\n".to_owned()),
        ("text/html", r#"<input type="hidden" name="_csrf" value="@">"#.to_owned()),
        ("application/json", r#"{"detail":[{"loc":["body","password"],"input":"@","type":"x"}]}"#.to_owned()),
        ("application/json", r#"{"cmd":"curl -u me:@ https://x"}"#.to_owned()),
        ("application/json", r#"{"cmd":"curl -H 'Authorization: Bearer @' -H \"X-Api-Key: @\" https://x"}"#.to_owned()),
        ("application/json", r#"{"cmd":"login --password @"}"#.to_owned()),
        ("application/json", r#"{"dsn":"postgres://u:ab/@@tenant/v"}"#.to_owned()),
        ("application/json", r#"{"env":"A=1\nDB_PASSWORD=@\nB=2"}"#.to_owned()),
        ("application/json", r#"{"url":"https://tenant.example/reset/@"}"#.to_owned()),
        ("application/json", r#"{"log":"GET /access_token/@ 200"}"#.to_owned()),
        ("application/x-www-form-urlencoded", "name=password&value=@".to_owned()),
        ("text/event-stream", "data: {\"a\":1,\ndata: \"access_token\": \"@\"}\n\n".to_owned()),
        ("text/plain", "Your password is @\n".to_owned()),
        ("text/plain", "Your new password is: @\n".to_owned()),
        ("text/plain", "[a]\nclient_secret = ab;@\n".to_owned()),
        ("text/html", r#"<form><input type="hidden" name="SAMLResponse" value="@"></form>"#.to_owned()),
        ("text/html", r"<form><input value='@' type=hidden name=code></form>".to_owned()),
        ("text/html", r#"<meta name="csrf-token" content="@">"#.to_owned()),
        ("application/xml", r#"<add key="client_secret" value="@"/>"#.to_owned()),
        ("application/xml", r#"<property name="password">@</property>"#.to_owned()),
        ("application/xml", "<dict><key>password</key><string>@</string></dict>".to_owned()),
        ("application/xml", "<client_secret><![CDATA[@]]></client_secret>".to_owned()),
        ("application/xml", "<password>\n  <value>@</value></password>".to_owned()),
        ("application/xml", "<password><!-- new -->@</password>".to_owned()),
        ("application/xml", "<r><password>correct @ battery<!-- old --></password></r>".to_owned()),
        ("application/xml", "<client_secret>correct @ <b>battery</b></client_secret>".to_owned()),
        ("application/xml", "<averyveryverylongprefix:password>@</averyveryverylongprefix:password>".to_owned()),
        ("application/yaml", "- name: DB_PASSWORD\n  value: @\n".to_owned()),
        ("application/yaml", "client_secret: |\n  @\n".to_owned()),
        ("application/yaml", "client_secret: >-\n  @\n".to_owned()),
        ("application/yaml", "client_secret: !!str @\n".to_owned()),
        ("application/yaml", "client_secret: &anchor @\n".to_owned()),
        ("application/yaml", "tokens:\n  - @\n".to_owned()),
        ("application/toml", "client_secret = \"\"\"@\"\"\"\n".to_owned()),
        ("application/graphql", "mutation { login(password: \"\"\"@\"\"\") { id } }".to_owned()),
        ("text/plain", "client_secret          =          @\n".to_owned()),
        ("text/plain", "password := \"@\"".to_owned()),
        ("text/plain", "{:password=>\"@\"}".to_owned()),
        ("text/plain", "['password'] => '@'".to_owned()),
        ("text/plain", "{'password': b'@'} of python".to_owned()),
    ];
    for (media, body) in bodies {
        let body = body.replace('@', SECRET).replace(&format!("{SECRET}{SECRET}tenant"), &format!("{SECRET}@tenant"));
        let kept = message(&[("content-type", media)], &body);
        assert!(!kept.contains(SECRET), "{media}\n{body}\nis kept as\n{kept}");
        let hidden = coded("@");
        assert!(!kept.contains(&hidden[..20]), "{media}\n{body}\nis kept as\n{kept}");
    }
}

#[test]
fn a_secret_is_masked_in_a_header_field_that_names_it() {
    for (name, value) in [
        ("set-cookie", "a=\"x;@\"; Path=/"),
        ("set-cookie", "a=b; Path=/, session=@; HttpOnly"),
        ("set-cookie", "a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT, sid=@; Path=/"),
        ("set-cookie", "a=b; Path=/cb?access_token=@"),
        ("cookie", "a=\"x;@\"; b=1"),
        ("location", "https://a.example/cb?code=G9eh6Yo4@&state=1"),
        ("location", "/cb#id_token=@"),
        ("location", "https://@%40a.example/cb"),
        ("x-original-url", "/cb?state=1&ticket=@"),
        ("x-csrf", "@"),
        ("x-xsrf", "@"),
        ("x-jwt", "@"),
        ("x-amzn-oidc-assertion", "@"),
        ("x-otp", "@"),
        ("x-pin", "@"),
        ("x-pass", "@"),
        ("x-pwd", "@"),
        ("sec-websocket-protocol", "bearer, @"),
        ("sec-websocket-protocol", "v1.x, access_token,@"),
        ("www-authenticate", "Negotiate @"),
        ("x-ctx", "v1 eyJwYXNzd29yZCI6IlMzY3IzdFZhbHVlN1F4SzRtWiJ9"),
    ] {
        let value = value.replace('@', SECRET).replace("%40", "@");
        let kept = message(&[(name, &value)], "");
        assert!(!kept.contains(SECRET), "{name}: {value}\nis kept as\n{kept}");
    }
    let short = message(&[("location", "https://a.example/cb?code=G9eh6Yo4&state=1")], "");
    assert_eq!(short, "location: https://a.example/cb?code=!code-1!&state=1\n");
    let kept =
        message(&[("set-cookie", "a=b0b0b0; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, sid=c0c0c0; Secure")], "");
    assert_eq!(
        kept,
        "set-cookie: a=!cookie-1!; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, sid=!cookie-2!; Secure\n"
    );
}

#[test]
fn what_only_looks_like_the_name_of_a_secret_stays() {
    for (media, body) in [
        ("application/json", r#"[{"op":"replace","path":"/display_name","value":"Alice"}]"#),
        ("application/json", r#"[["name","value"],["take","5"]]"#),
        ("application/json", r#"{"name":"token_lifetime","value":7200}"#),
        ("application/json", r#"{"auth":"required","field":"password","code":"too_short"}"#),
        ("text/html", r#"<input type="password" name="password"> Forgot your password?"#),
        ("text/html", "<button name=\"token\">Send</button>"),
        ("text/plain", "https://tenant.example:8080/a@b and ssh://git@host/x"),
        ("application/yaml", "password: |\n  change me soon\n"),
        ("application/json", r#"{"kind":"Role","data":{"x":"a1b2c3d4e5f6"}}"#),
        ("application/json", r#"{"name":"password","input":"text"}"#),
        ("application/json", r#"{"loc":["body","take"],"input":"a1b2c3d4e5f6"}"#),
        ("application/json", r#"{"url":"https://tenant.example/api/v2/tokens/a1b2c3d4e5f6"}"#),
        ("application/json", r#"{"state":"eyJ0b2tlbl90eXBlIjoieCJ9"}"#),
        ("application/x-www-form-urlencoded", "name=take&value=a1b2c3d4e5f6"),
        ("text/plain", "The password is too short, and the token was 'not valid'."),
        ("text/plain", "usage: login --password PASSWORD --token <token>"),
        ("text/plain", "send `Bearer <ACCESS_TOKEN>`, which is a JWT, with a scope `<verb>:<resource>`"),
    ] {
        let kept = message(&[("content-type", media)], body);
        assert_eq!(kept, format!("content-type: {media}\n{body}"));
    }
    // What the page calls no secret.
    let long = "Zk3xQ91bTr77pLm2";
    for (media, body) in [
        ("application/json", format!(r#"{{"id":"{long}","next":"{long}","page_token":"{long}"}}"#)),
        (
            "application/json",
            r#"{"refresh_token":{"rotation_type":"rotating"},"password":null,"secret":true}"#.to_owned(),
        ),
        ("application/x-www-form-urlencoded", format!("SAMLRequest={long}&page_token={long}&next={long}")),
    ] {
        assert_eq!(message(&[("content-type", media)], &body), format!("content-type: {media}\n{body}"));
    }
    let fields = [("x-hub-signature", "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6"), ("authentication-info", long)];
    let kept = fields.map(|(name, value)| format!("{name}: {value}")).join("\n");
    assert_eq!(message(&fields, ""), format!("{kept}\n"));
    let protocols = message(&[("sec-websocket-protocol", "graphql-transport-ws, v12.stomp")], "");
    assert_eq!(protocols, "sec-websocket-protocol: graphql-transport-ws, v12.stomp\n");
    assert!(
        headers(&[("x-pinned", "a")])
            .iter()
            .all(|(name, _)| crate::find::header_names::by_header(name.as_str()).is_none())
    );
}

#[test]
fn redacting_every_notation_twice_is_redacting_it_once() {
    let redactor = Redactor::default();
    for text in ["<key>password</key><string>@</string>", "password: |\n @", "['token'] => '@'", "https://@/?ticket=@"]
    {
        let once = redactor.text(&text.replace('@', SECRET)).into_inner();
        assert_eq!(*Redactor::default().text(&once), once);
    }
}
