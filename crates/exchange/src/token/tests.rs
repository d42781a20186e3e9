use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as B64};
use http::{HeaderValue, header::AUTHORIZATION};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};

use super::*;
use crate::{SignatureCheck, TokenTime};

const NOON: u64 = 1_800_000_000;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn headers(value: &str) -> Headers {
    [(AUTHORIZATION, HeaderValue::from_str(value).unwrap())].into_iter().collect()
}

fn jwt(header: &str, claims: &str) -> String {
    format!("{}.{}.{}", B64.encode(header), B64.encode(claims), B64.encode("signature"))
}

fn decode(value: &str) -> Credential {
    super::decode(&headers(value), Some(at(NOON)), Duration::ZERO, None)
}

fn claims(claims: &str) -> Credential {
    decode(&format!("Bearer {}", jwt(r#"{"alg":"RS256"}"#, claims)))
}

fn facts(text: &str) -> TokenFacts {
    claims(text).facts().unwrap_or_else(|| panic!("{text} is no token: {:?}", claims(text))).clone()
}

fn is_malformed(credential: &Credential) -> bool {
    matches!(credential, Credential::Malformed(_))
}

#[test]
fn a_request_without_the_header_has_no_credential() {
    assert_eq!(super::decode(&Headers::new(), None, Duration::ZERO, None), Credential::Missing);
}

#[test]
fn of_several_headers_nobody_can_say_which_one_counts() {
    let token = format!("Bearer {}", jwt(r#"{"alg":"RS256"}"#, "{}"));
    for other in [token.as_str(), "Bearer other", "Basic dXNlcjpwYXNz"] {
        let both: Headers =
            [&token, other].map(|value| (AUTHORIZATION, HeaderValue::from_str(value).unwrap())).into_iter().collect();
        assert_eq!(super::decode(&both, Some(at(NOON)), Duration::ZERO, None), Credential::Unknown, "{other}");
        assert_eq!(TokenCache::new(Duration::ZERO, None).credential(&both, at(NOON)), Credential::Unknown, "{other}");
    }
}

#[test]
fn another_scheme_is_named_only_if_it_is_a_registered_one() {
    assert_eq!(decode("basic dXNlcg=="), Credential::other_scheme("Basic"));
    assert_eq!(decode("s3cr3t-without-a-scheme"), Credential::other_scheme(""));
    assert_eq!(decode(""), Credential::other_scheme(""));
}

#[test]
fn a_basic_credential_with_a_password_names_its_user_by_a_digest() {
    let user = |header: &str| match decode(header) {
        Credential::OtherScheme { scheme, user } if scheme == "Basic" => user,
        other => panic!("{other:?}"),
    };
    assert_eq!(user("Basic YWxpY2U6b25l").as_deref(), Some("2bd806c9"), "alice:one");
    assert_eq!(user("basic YWxpY2U6dHdv").as_deref(), Some("2bd806c9"), "alice:two");
    assert_ne!(user("Basic Ym9iOm9uZQ==").as_deref(), Some("2bd806c9"), "bob:one");
    assert_eq!(user("Basic c2tfbGl2ZTo="), None, "a user without a password is the secret");
    assert_eq!(user("Basic !basic-1!"), None);
}

#[test]
fn the_scheme_is_read_in_any_case() {
    assert!(decode(&format!("bEARER  {}", jwt(r#"{"alg":"RS256"}"#, "{}"))).facts().is_some());
}

#[test]
fn the_reason_of_a_malformed_token_does_not_show_it() {
    for value in ["Bearer s3cr3t", "Bearer s3cr3t.s3cr3t.s3cr3t", "Bearer a.b.c.d.e", "Bearer"] {
        let Credential::Malformed(reason) = decode(value) else { panic!("{value} should be malformed") };
        assert!(!reason.contains("s3cr3t"), "{reason}");
    }
}

#[test]
fn each_part_of_a_token_has_to_be_what_the_rfc_says() {
    let good = jwt(r#"{"alg":"RS256"}"#, "{}");
    assert!(decode(&format!("Bearer {good}")).facts().is_some());
    let (head, body, tail) = (B64.encode(r#"{"alg":"RS256"}"#), B64.encode("{}"), B64.encode("s"));
    for bad in [
        jwt(r#"{"alg":"none"}"#, "{}"),
        jwt(r#"{"alg":"NONE"}"#, "{}"),
        jwt(r#"{"typ":"JWT"}"#, "{}"),
        jwt(r#"{"alg":1}"#, "{}"),
        jwt("[]", "{}"),
        jwt(r#"{"alg":"RS256"}"#, "[]"),
        jwt(r#"{"alg":"RS256"}"#, "nonsense"),
        format!("{head}.{body}."),
        format!("{head}.{body}"),
        format!("{head}..{tail}"),
        format!(".{body}.{tail}"),
        format!("{head}.{body}.{tail}."),
        format!("{head}.{body}.{tail}="),
        format!("{head}.{body}.a b"),
        format!("{head}.{body}.a+b/"),
    ] {
        assert!(is_malformed(&decode(&format!("Bearer {bad}"))), "{bad}");
    }
}

#[test]
fn a_token_of_five_parts_is_encrypted_only_if_its_header_says_so() {
    let head = B64.encode(r#"{"alg":"dir","enc":"A256GCM"}"#);
    let part = B64.encode("part");
    assert_eq!(decode(&format!("Bearer {head}..{part}.{part}.{part}")), Credential::Encrypted);
    assert!(is_malformed(&decode(&format!("Bearer {head}..{part}..{part}"))));
    let unsaid = B64.encode(r#"{"alg":"RS256"}"#);
    assert!(is_malformed(&decode(&format!("Bearer {unsaid}..{part}.{part}.{part}"))));
}

#[test]
fn scopes_come_from_every_claim_that_carries_some() {
    let scopes = |text| facts(text).scopes;
    let of = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(scopes(r#"{"scope":"b:x  a:x b:x"}"#), of(&["a:x", "b:x"]));
    assert_eq!(scopes(r#"{"scope":["b:x","a:x"]}"#), of(&["a:x", "b:x"]));
    assert_eq!(scopes(r#"{"scp":"a:x","permissions":["c:x"],"scope":"b:x"}"#), of(&["a:x", "b:x", "c:x"]));
    assert_eq!(scopes(r#"{"scope":""}"#), of(&[]));
    assert_eq!(scopes("{}"), None);
}

#[test]
fn the_client_is_azp_then_client_id_then_the_subject() {
    let client = |text| facts(text).client;
    assert_eq!(client(r#"{"sub":"c@clients","client_id":"b","azp":"a"}"#).as_deref(), Some("a"));
    assert_eq!(client(r#"{"sub":"c@clients","client_id":"b"}"#).as_deref(), Some("b"));
    assert_eq!(client(r#"{"sub":"c@clients"}"#).as_deref(), Some("c"));
    assert_eq!(client("{}"), None);
}

#[test]
fn a_subject_that_is_not_the_client_is_a_user_by_a_digest() {
    let user = |text| facts(text).user;
    assert_eq!(
        user(r#"{"sub":"alice","azp":"app"}"#).as_deref(),
        Some("2bd806c9"),
        "as the user of a Basic credential"
    );
    assert_ne!(user(r#"{"sub":"bob","azp":"app"}"#).as_deref(), Some("2bd806c9"));
    for client in [r#"{"sub":"app@clients","azp":"app"}"#, r#"{"sub":"app","client_id":"app"}"#, r#"{"sub":"alice"}"#] {
        assert_eq!(user(client), None, "{client}");
    }
    assert_eq!(user("{}"), None);
}

#[test]
fn issuer_audience_and_lifetime_are_public_facts() {
    let one = facts(r#"{"iss":"https://t/","aud":"https://t/api/v2/","iat":100,"exp":2000000000}"#);
    assert_eq!((one.issuer.as_deref(), one.audience), (Some("https://t/"), vec!["https://t/api/v2/".to_owned()]));
    assert_eq!((one.issued_at, one.expires_at, one.lifetime), (Some(100), Some(2_000_000_000), Some(1_999_999_900)));
    assert_eq!(facts(r#"{"aud":["a","b"]}"#).audience, ["a", "b"]);
}

#[test]
fn an_instant_may_have_a_fraction_and_must_be_a_number() {
    assert_eq!(facts(r#"{"exp":1800000000.5}"#).expires_at, Some(1_800_000_001));
    assert_eq!(facts(r#"{"exp":2e9}"#).expires_at, Some(2_000_000_000));
    assert_eq!(facts(r#"{"exp":1e400}"#).time, TokenTime::Valid);
    assert!(is_malformed(&claims(r#"{"exp":"1800000000"}"#)));
    assert!(is_malformed(&claims(r#"{"nbf":true}"#)));
}

#[test]
fn a_token_expires_at_exp_and_begins_at_nbf() {
    let facts = facts(r#"{"exp":1800000000,"nbf":1799999000}"#);
    let time = |seconds, skew| facts.time_at(at(seconds), Duration::from_secs(skew));
    assert_eq!(time(NOON - 1, 0), TokenTime::Valid);
    assert_eq!(time(NOON, 0), TokenTime::Expired);
    assert_eq!(time(NOON + 9, 10), TokenTime::Valid);
    assert_eq!(time(NOON + 10, 10), TokenTime::Expired);
    assert_eq!(time(1_799_999_000, 0), TokenTime::Valid);
    assert_eq!(time(1_799_998_999, 0), TokenTime::NotYet);
    assert_eq!(time(1_799_998_999, 1), TokenTime::Valid);
}

#[test]
fn a_cached_token_is_judged_anew_at_each_instant() {
    let cache = TokenCache::new(Duration::ZERO, None);
    let headers = headers(&format!("Bearer {}", jwt(r#"{"alg":"RS256"}"#, r#"{"exp":1800000000,"azp":"a"}"#)));
    for (seconds, time) in [(NOON - 1, TokenTime::Valid), (NOON, TokenTime::Expired), (NOON - 2, TokenTime::Valid)] {
        let credential = cache.credential(&headers, at(seconds));
        assert_eq!(credential, super::decode(&headers, Some(at(seconds)), Duration::ZERO, None));
        assert_eq!(credential.facts().unwrap().time, time);
    }
    let twice = [0, 1].map(|_| match cache.credential(&headers, at(NOON)) {
        Credential::Token(facts) => facts,
        other => panic!("{other:?}"),
    });
    assert!(Arc::ptr_eq(&twice[0], &twice[1]), "the same facts are shared, not made again");
}

#[test]
fn a_cache_that_is_full_keeps_giving_right_answers() {
    let cache = TokenCache::new(Duration::ZERO, None);
    for n in 0..(super::Recent::<()>::MAX_TEXTS * 2 + 5) {
        let headers = headers(&format!("Bearer {}", jwt(r#"{"alg":"RS256"}"#, &format!(r#"{{"azp":"{n}"}}"#))));
        assert_eq!(cache.credential(&headers, at(NOON)).facts().unwrap().client, Some(n.to_string()));
    }
}

fn key_set(keys: &str) -> Jwks {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!(r#"{{"keys":[{keys}]}}"#)).unwrap();
    Jwks::read(file.path()).unwrap()
}

fn signature(token: &str, keys: &Jwks) -> SignatureCheck {
    let headers = headers(&format!("Bearer {token}"));
    super::decode(&headers, None, Duration::ZERO, Some(keys)).facts().unwrap().signature
}

#[test]
fn a_signature_is_good_only_under_its_own_key() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref();
    let own = key_set(&format!(
        r#"{{"kty":"EC","crv":"P-256","kid":"k1","x":"{}","y":"{}"}}"#,
        B64.encode(&point[1..33]),
        B64.encode(&point[33..])
    ));
    let edwards = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let other =
        key_set(&format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, B64.encode(edwards.public_key().as_ref())));

    let signed = format!("{}.{}", B64.encode(r#"{"alg":"ES256","kid":"k1"}"#), B64.encode("{}"));
    let token = format!("{signed}.{}", B64.encode(pair.sign(&random, signed.as_bytes()).unwrap()));
    assert_eq!(signature(&token, &own), SignatureCheck::Good);
    let forged = token.replacen(&B64.encode("{}"), &B64.encode(r#"{"azp":"x"}"#), 1);
    assert_eq!(signature(&forged, &own), SignatureCheck::Bad);

    let signed = format!("{}.{}", B64.encode(r#"{"alg":"EdDSA","kid":"unknown"}"#), B64.encode("{}"));
    let token = format!("{signed}.{}", B64.encode(edwards.sign(signed.as_bytes())));
    assert_eq!(signature(&token, &other), SignatureCheck::Good);
    let forged = token.replacen(&B64.encode("{}"), &B64.encode(r#"{"azp":"x"}"#), 1);
    for (token, keys) in [(&token, &own), (&forged, &other)] {
        let headers = headers(&format!("Bearer {token}"));
        let credential = super::decode(&headers, None, Duration::ZERO, Some(keys));
        let facts = credential.facts().unwrap();
        assert_eq!((facts.signature, facts.unknown_key.as_deref()), (SignatureCheck::NotChecked, Some("unknown")));
    }
    let signed = format!("{}.{}", B64.encode(r#"{"alg":"EdDSA"}"#), B64.encode("{}"));
    let token = format!("{signed}.{}", B64.encode(edwards.sign(signed.as_bytes())));
    assert_eq!(signature(&token, &own), SignatureCheck::Bad, "it names no key that the set lacks");
}

/// The example of RFC 7515, appendix A.2.
#[test]
fn an_rsa_signature_of_the_rfc_is_good() {
    let keys = key_set(concat!(
        r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Q"#,
        "lL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7W",
        "TBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDT",
        r#"W9gb54h4FRWyuXpoQ","e":"AQAB"}"#
    ));
    let token = concat!(
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
        ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dn",
        "ZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC",
        "-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    );
    assert_eq!(signature(token, &keys), SignatureCheck::Good);
    let (head, rest) = token.split_once('.').unwrap();
    let forged = format!("{head}.{}.{}", B64.encode("{}"), rest.split_once('.').unwrap().1);
    assert_eq!(signature(&forged, &keys), SignatureCheck::Bad);
}

#[test]
fn a_key_set_without_a_usable_key_is_refused_with_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let shape = "is not a JSON Web Key Set: expected a JSON object with an array `keys`";
    let none = "holds no key that can check a signature: expected public RSA (2048 bits or more), P-256, P-384 or \
                Ed25519 keys";
    for (text, words) in [
        ("no json", shape),
        ("{}", shape),
        (r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#, none),
        (r#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","use":"enc"}]}"#, none),
    ] {
        std::fs::write(file.path(), text).unwrap();
        let message = Jwks::read(file.path()).unwrap_err().to_string();
        assert_eq!(message, format!("`{}` {words}", file.path().display()));
    }
}

#[test]
fn outcomes_survive_their_names() {
    for time in [TokenTime::Valid, TokenTime::Expired, TokenTime::NotYet] {
        assert_eq!(TokenTime::from_name(time.name()), Some(time));
    }
    for check in [SignatureCheck::NotChecked, SignatureCheck::Good, SignatureCheck::Bad] {
        assert_eq!(SignatureCheck::from_name(check.name()), Some(check));
    }
}
