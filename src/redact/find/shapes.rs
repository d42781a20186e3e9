//! What a secret looks like wherever it stands: tokens, keys, credentials of well-known issuers. The expressions run
//! only where [`super::hints`] says that a text can hold any.

use std::{ops::Range, sync::LazyLock};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use regex::bytes::Regex;

use super::kind::{self, Kind, Place};
use crate::redact::{apply::label, known::memory};

macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

expression!(JWT, r"(?-u)e[yw][A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)+");
expression!(
    PEM,
    r"(?-u)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)"
);
expression!(SCHEME, r"(?i-u)\b(bearer|basic|dpop|token)[ \t]+([A-Za-z0-9._~+/!-]{8,}=*)");
// Up to the last `@` before the path, as the URL standard reads it; a lone part is a user, or a token in its place.
expression!(USERINFO, r#"(?i-u)[a-z0-9+.-]://(?:[^/\s:@"'<>]{0,100}:([^/\s"'<>]{1,200})|([^/\s:@"'<>]{12,200}))@"#);
expression!(
    AUTHORIZATION,
    r#"(?i-u)authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?[a-z][a-z0-9-]{1,30}[ \t]+([a-z0-9._~+/=-]{8,})"#
);
expression!(
    VENDOR,
    concat!(
        r"(?-u)\b(?:(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{10,}|whsec_[0-9A-Za-z+/=]{16,}|gh[pousr]_[0-9A-Za-z]{20,}",
        r"|github_pat_[0-9A-Za-z_]{20,}|glpat-[0-9A-Za-z_-]{16,}|xox[abeoprs]-[0-9A-Za-z-]{10,}|xapp-[0-9A-Za-z-]{20,}",
        r"|A(?:KIA|SIA)[0-9A-Z]{16}\b|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}",
        r"|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}|npm_[0-9A-Za-z]{30,}|pypi-[0-9A-Za-z_-]{50,}",
        r"|sk-(?:ant-|proj-)?[0-9A-Za-z_-]{20,}|dop_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        r"|hvs\.[0-9A-Za-z_-]{20,}|AccountKey=[0-9A-Za-z+/]{40,}={0,2})"
    )
);
expression!(FIELD, r#"(?-u)([A-Za-z][A-Za-z0-9_.-]{1,60})(?:\\?["'])?\]?\s{0,20}(=>|:=|={1,3}|:)"#);
// Searched only after the name of a secret: a value may reach to the end of the text.
expression!(
    VALUE,
    concat!(
        r"\A(?-u)\s{0,20}",
        // What YAML writes before a value: a block's sign, a tag, an anchor, an item's dash.
        r"(?:(?:[|>][0-9+-]{0,2}|[!&][A-Za-z!]{1,40}|-)\s{1,20})?",
        r#"(?:"""((?s:.*?))"""|[bBrRuU]{0,2}\\?"((?:[^"\\]|\\[^"])*)\\?"|[bBrRuU]{0,2}'([^']*)'|([^\s"'&;,<>(){}\\]+))"#
    )
);
expression!(
    ELEMENT,
    concat!(
        r"(?-u)<(?:[A-Za-z0-9_.-]{1,60}:)?([A-Za-z][A-Za-z0-9_.-]{1,60})(?:\s[^<>]*)?>",
        r"\s*(?:<!--[^<>]*-->\s*|<value>\s*)?(?:<!\[CDATA\[([^\]]{1,4096})\]\]>|([^<>]+)<)"
    )
);
expression!(TAG, r"(?-u)<(?:[A-Za-z0-9_.-]{1,60}:)?([A-Za-z][A-Za-z0-9_.-]{0,60})\s([^<>]+)>([^<>]*)");
expression!(ENTRY, r"(?-u)<key>([^<>]{1,200})</key>\s*<[a-z]{1,20}>([^<>]*)</");
expression!(ATTRIBUTE, r#"(?-u)([A-Za-z_:-]{1,60})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"#);
expression!(EMAIL, r"(?-u)[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63})+");
expression!(PHONE, r"\A(?-u)\+[0-9][0-9 ().-]{6,18}[0-9]\z");

/// Secrets in a text by their shape, as it stands (no coding undone).
///
/// Where only the text around a value says that it is one, a value that holds a label was read before: the label took
/// what was secret of it, and maybe the place where it ended.
pub(in crate::redact) fn find(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    if let Some(jwt) = &*JWT {
        let mut from = 0;
        while let Some(hit) = jwt.find_at(text, from) {
            let token = hit.as_bytes();
            let end = hit.start() + token.len() - token.iter().rev().take_while(|byte| **byte == b'.').count();
            if is_jwt_header(token) && end > hit.start() {
                emit(hit.start()..end, Kind::Token);
                from = hit.end();
            } else {
                from = hit.start() + 1;
            }
        }
    }
    if let Some(pem) = &*PEM {
        pem.find_iter(text).for_each(|hit| emit(hit.range(), Kind::PrivateKey));
    }
    if let Some(vendor) = &*VENDOR {
        vendor.find_iter(text).for_each(|hit| emit(hit.range(), Kind::ApiKey));
    }
    if let Some(scheme) = &*SCHEME {
        for hit in scheme.captures_iter(text) {
            let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
            if name.as_bytes().eq_ignore_ascii_case(b"basic") {
                if memory::basic(value.as_bytes()).is_some_and(|(_, password)| !password.is_empty()) {
                    emit(value.range(), Kind::Basic);
                }
            } else if kind::is_opaque(value.as_bytes()) && !label::holds(value.as_bytes()) {
                emit(value.range(), Kind::Token);
            }
        }
    }
    if let Some(userinfo) = &*USERINFO {
        for hit in userinfo.captures_iter(text) {
            let (password, user) = (hit.get(1), hit.get(2).filter(|user| kind::is_opaque(user.as_bytes())));
            if let Some(secret) = password.or(user).filter(|secret| !label::holds(secret.as_bytes())) {
                emit(secret.range(), if password.is_some() { Kind::Password } else { Kind::Token });
            }
        }
    }
}

/// Whether the first part is the header of a JWT, so that `eyebrow.example.com` is none.
fn is_jwt_header(token: &[u8]) -> bool {
    let header = token.split(|byte| *byte == b'.').next().unwrap_or_default();
    BASE64_URL_SAFE_NO_PAD
        .decode(header)
        .is_ok_and(|text| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&text).is_ok())
}

/// Secrets in a text by the name before them: `name=value`, `"name": "value"`, `<name>value</name>`.
pub(in crate::redact) fn find_fields(text: &[u8], emit: &mut dyn FnMut(Range<usize>, Kind)) {
    if let Some(authorization) = &*AUTHORIZATION {
        let values = authorization.captures_iter(text).filter_map(|hit| hit.get(1));
        for value in values.filter(|value| kind::is_opaque(value.as_bytes()) && !label::holds(value.as_bytes())) {
            emit(value.range(), Kind::Credential);
        }
    }
    find_assigned(text, emit);
    if let Some(element) = &*ELEMENT {
        let mut from = 0;
        while let Some(hit) = element.captures_at(text, from) {
            let (Some(name), Some(value)) = (hit.get(1), hit.get(2).or_else(|| hit.get(3))) else { break };
            // What is inside of it may be an element, too.
            from = name.end();
            let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
            if let Some(kind) = kind::by_name(name, Place::Text)
                && !value.as_bytes().trim_ascii().is_empty()
                && !label::holds(value.as_bytes())
            {
                emit(value.range(), kind);
            }
        }
    }
    find_in_tags(text, emit);
}

/// Values after a name and a sign: `name=value`, `"name": "value"`.
fn find_assigned(text: &[u8], emit: &mut dyn FnMut(Range<usize>, Kind)) {
    /// Longest that stands before a value in YAML.
    const MAX_PREFIX: usize = 64;
    let (Some(field), Some(expression)) = (&*FIELD, &*VALUE) else { return };
    let mut from = 0;
    // The end of an unquoted value that is not opaque. No part of it up to this end is opaque either.
    let mut plain_until = 0;
    while let Some(hit) = field.captures_at(text, from) {
        let (Some(name), Some(sign)) = (hit.get(1), hit.get(2)) else { break };
        from = sign.end();
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        // `.` joins names in properties files (`app.client.secret=`); the last one tells.
        let last = name.rsplit('.').next().unwrap_or_default();
        let assigned = sign.as_bytes() == b"=";
        let place = if assigned { Place::Parameter } else { Place::Text };
        let Some(kind) = kind::by_name(last, place).or_else(|| kind::by_name(name, place)) else { continue };
        let bare = kind == Kind::Code && last.eq_ignore_ascii_case("code") || kind == Kind::ApiKey && last == "key";
        if (bare || !assigned) && from + MAX_PREFIX < plain_until {
            continue;
        }
        let Some(hit) = expression.captures(&text[from..]) else { continue };
        let quoted = hit.get(1).or_else(|| hit.get(2)).or_else(|| hit.get(3));
        let Some(value) = quoted.or_else(|| hit.get(4)) else { continue };
        let range = from + value.start()..from + value.end();
        let telling = kind::is_opaque(value.as_bytes());
        if value.is_empty() || (bare && !telling) || (!assigned && quoted.is_none() && !telling) {
            if quoted.is_none() {
                plain_until = range.end;
            }
            continue;
        }
        if !label::holds(value.as_bytes()) {
            emit(range.clone(), kind);
        }
        from = range.end;
    }
}

/// Elements whose attribute `name` names their content; a button's does not.
const NAMED: &[&[u8]] = &[b"property", b"entry", b"string", b"param", b"parameter", b"field", b"item", b"setting"];

/// Values that a tag names: `<input name="id_token" value="…">`, `<add key="password" value="…"/>`,
/// `<property name="password">…</property>`, `<key>password</key><string>…</string>`.
fn find_in_tags(text: &[u8], emit: &mut dyn FnMut(Range<usize>, Kind)) {
    let (Some(tag), Some(attribute), Some(entry)) = (&*TAG, &*ATTRIBUTE, &*ENTRY) else { return };
    if memchr::memchr(b'<', text).is_none() {
        return;
    }
    let kind_of = |name: &[u8]| {
        let name = std::str::from_utf8(name).ok()?;
        kind::by_listed_name(name).or_else(|| kind::by_name(name, Place::Parameter))
    };
    let mut found = |range: Range<usize>, kind: Kind| {
        let value = &text[range.clone()];
        if !value.trim_ascii().is_empty() && !label::holds(value) {
            emit(range, kind);
        }
    };
    for hit in tag.captures_iter(text) {
        let (Some(tag), Some(attributes), Some(inside)) = (hit.get(1), hit.get(2), hit.get(3)) else { continue };
        let (mut kind, mut value) = (None, None);
        for hit in attribute.captures_iter(attributes.as_bytes()) {
            let (Some(name), Some(held)) = (hit.get(1), hit.get(2).or_else(|| hit.get(3)).or_else(|| hit.get(4)))
            else {
                continue;
            };
            match name.as_bytes() {
                b"name" | b"key" => kind = kind_of(held.as_bytes()).or(kind),
                b"value" | b"content" => value = Some(held.range()),
                _ => {}
            }
        }
        match (kind, value) {
            (Some(kind), Some(value)) => found(attributes.start() + value.start..attributes.start() + value.end, kind),
            (Some(kind), None) if NAMED.contains(&tag.as_bytes()) => found(inside.range(), kind),
            _ => {}
        }
    }
    for hit in entry.captures_iter(text) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
        if let Some(kind) = kind_of(name.as_bytes()) {
            found(value.range(), kind);
        }
    }
}

/// Personal data in a text by its shape.
pub(in crate::redact) fn find_personal(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    if let Some(email) = &*EMAIL {
        email.find_iter(text).for_each(|hit| emit(hit.range(), Kind::Email));
    }
    if PHONE.as_ref().is_some_and(|phone| phone.is_match(text)) {
        emit(0..text.len(), Kind::Phone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::find::hints::hints;

    fn all(text: &str) -> Vec<(String, Kind)> {
        let mut out = Vec::new();
        find(text.as_bytes(), |range, kind| out.push((text[range].to_owned(), kind)));
        assert!(out.is_empty() || hints(text.as_bytes()).shape, "the quick look missed {text}");
        out
    }

    fn fields(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        find_fields(text.as_bytes(), &mut |range, _| out.push(text[range].to_owned()));
        assert!(out.is_empty() || hints(text.as_bytes()).field, "the quick look missed {text}");
        out
    }

    #[test]
    fn every_expression_compiles() {
        for expression in [
            &JWT,
            &PEM,
            &SCHEME,
            &USERINFO,
            &AUTHORIZATION,
            &VENDOR,
            &FIELD,
            &VALUE,
            &ELEMENT,
            &TAG,
            &ATTRIBUTE,
            &ENTRY,
            &EMAIL,
            &PHONE,
        ] {
            assert!(expression.is_some());
        }
    }

    #[test]
    fn a_jwt_is_known_anywhere_and_a_host_name_is_none() {
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256"}"#);
        for header in [header, BASE64_URL_SAFE_NO_PAD.encode("{\n \"alg\":\"RS256\"}")] {
            let token = format!("{header}.e30.c2ln");
            assert_eq!(all(&format!("got x{token}. Sorry")), [(token, Kind::Token)]);
        }
        assert!(all("eyebrow-model.example.com").is_empty());
    }

    #[test]
    fn private_keys_are_secrets_and_certificates_are_not() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        assert_eq!(all(&format!("a {key} b")), [(key.to_owned(), Kind::PrivateKey)]);
        assert_eq!(all("-----BEGIN PRIVATE KEY-----\nMIIEcut")[0].0.len(), 35);
        assert!(all("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----").is_empty());
    }

    #[test]
    fn credentials_in_prose_are_found_and_prose_is_not() {
        assert_eq!(all("Bearer abcdef0123456789")[0].0, "abcdef0123456789");
        assert_eq!(all("basic dXNlcjpwYXNzd29yZA==")[0], ("dXNlcjpwYXNzd29yZA==".to_owned(), Kind::Basic));
        assert_eq!(all("postgres://app:hunter2@db/x")[0].0, "hunter2");
        // A scheme that something else touches.
        assert_eq!(all("abcdefghijklmnopqrstuvwxyz1https://me:hunter2@h/x")[0].0, "hunter2");
        assert_eq!(all("key ghp_0123456789abcdefghijABCDEFGHIJ012345!")[0].1, Kind::ApiKey);
        for prose in ["Bearer authentication is required", "basic knowledge", "https://tenant.example/a:b", "a sk-8"] {
            assert!(all(prose).is_empty(), "{prose}");
        }
    }

    #[test]
    fn a_named_value_in_a_text_is_a_secret() {
        assert_eq!(fields("client_secret=abc&x=1"), ["abc"]);
        assert_eq!(fields("https://x/cb?code=SplxlOBeZQQYbYS6WxSbIA&state=1"), ["SplxlOBeZQQYbYS6WxSbIA"]);
        assert_eq!(fields(r#"no access: "password": "a b c""#), ["a b c"]);
        assert_eq!(fields(r#"{\"password\":\"a b c\"}"#), ["a b c"]);
        assert_eq!(fields("<client_secret>abc</client_secret>"), ["abc"]);
        assert_eq!(fields("db.password=abc"), ["abc"]);
        for prose in ["password: must not be empty", "code=invalid_token", "token: missing", "no secret here"] {
            assert!(fields(prose).is_empty(), "{prose}");
        }
    }

    #[test]
    fn a_hostile_text_is_read_in_time_that_grows_with_it_and_no_faster() {
        for piece in
            ["a://token", "code=", "token:", "key:", "token: ", "ab:\"token", "code=\"code:", "token:\"\"\"", "<token>"]
        {
            let text = piece.repeat((256 << 10) / piece.len());
            let began = std::time::Instant::now();
            find_fields(text.as_bytes(), &mut |_, _| {});
            let took = began.elapsed();
            assert!(took < std::time::Duration::from_secs(20), "{piece} took {took:?}");
        }
        let late = format!("{}code=G9eh6Yo4aBcD {}", "token:".repeat(100), "token:x token=abc");
        assert_eq!(fields(&late).last().map(String::as_str), Some("abc"));
        assert!(fields(&late).iter().any(|value| value.ends_with("G9eh6Yo4aBcD")));
    }

    #[test]
    fn what_a_label_was_put_into_was_read_before() {
        for text in ["Bearer abcde!private-key-1!", "https://me:za55&client_secret=!password-2!@h/x"] {
            assert!(all(text).is_empty(), "{text}");
        }
        for text in ["client_secret=!custom-1!a%40b.example", "<secret>!token-1!x</secret>", "password: 'a !token-1!'"]
        {
            assert!(fields(text).is_empty(), "{text}");
        }
    }
}
