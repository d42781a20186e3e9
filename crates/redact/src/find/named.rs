//! Secrets in a text by the name before them, in whatever notation.

use std::ops::Range;

use super::{assigned, paths, tags};
use crate::kind::Kind;

/// Takes a secret's place, and what its name states about it.
pub(super) type Emit<'e> = dyn FnMut(Range<usize>, Kind) + 'e;

/// Secrets by the name before them: `name=value`, `"name": "value"`, `<name>value</name>`, `/name/value`, and more.
pub(crate) fn find(text: &[u8], emit: &mut Emit<'_>) {
    // A lone word is no name before a value: every notation has a blank or a sign between the two.
    if !text.iter().any(|byte| matches!(byte, b'=' | b':' | b'<' | b'/' | b'\t'..=b'\r' | b' ')) {
        return;
    }
    assigned::find(text, emit);
    tags::find(text, emit);
    assigned::find_curl(text, emit);
    paths::find(text, emit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find::hints::hints, tests::steps::holds_linear};

    fn fields(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        find(text.as_bytes(), &mut |range, _| out.push(text[range].to_owned()));
        assert!(out.is_empty() || hints(text.as_bytes()).unwrap().field, "the quick look missed {text}");
        out
    }

    #[test]
    fn a_named_value_in_a_text_is_a_secret() {
        assert_eq!(fields("client_secret=abc&x=1"), ["abc"]);
        assert_eq!(fields("https://x/cb?code=SplxlOBeZQQYbYS6WxSbIA&state=1"), ["SplxlOBeZQQYbYS6WxSbIA"]);
        assert_eq!(fields(r#"no access: "password": "a b c""#), ["a b c"]);
        assert_eq!(fields(r#"{\"password\":\"a b c\"}"#), ["a b c"]);
        assert_eq!(fields("<client_secret>abc</client_secret>"), ["abc"]);
        assert_eq!(fields("db.password=abc"), ["abc"]);
        assert_eq!(fields("Your new password is: Q1w2e3r4t5y6."), ["Q1w2e3r4t5y6"]);
        assert_eq!(fields("the token was `Q1w2e3r4t5y6`!"), ["Q1w2e3r4t5y6"]);
        assert_eq!(fields("[a]\nsecret = ab;Q1w2e3r4t5y6\n"), ["ab", "ab;Q1w2e3r4t5y6"]);
        assert_eq!(fields("the password is Tr0ub4dor&3xyz9kQ."), ["Tr0ub4dor&3xyz9kQ"]);
        assert_eq!(fields("password: Tr0ub4&dor&3xyz9kQ"), ["Tr0ub4", "Tr0ub4&dor&3xyz9kQ"]);
        let halves = ["Abc123Def456", "Abc123Def456&ghi789JKL"];
        assert_eq!(fields("login failed for password=Abc123Def456&ghi789JKL"), halves);
        assert_eq!(fields("token: Abc123Def456&ghi789JKL&user=me"), halves);
        assert_eq!(fields("password=Abc123Def456&verbose&x=1"), ["Abc123Def456", "Abc123Def456&verbose"]);
        assert_eq!(fields("token: Abc123Def456&quot;"), ["Abc123Def456"]);
        assert_eq!(fields("Server=x;Password=ab;Database=db1"), ["ab"]);
        for text in
            ["- name: pin\n  value: 12\n", "{name: pin, value: 12}", "name=pin&value=12", "name = pin; value = 12"]
        {
            assert_eq!(fields(text), ["12"], "{text}");
        }
        for prose in [
            "password: must not be empty",
            "code=invalid_token",
            "token: missing",
            "no secret here",
            "the password is too short",
            "your token was \"not valid\" here",
            "this is a1b2c3d4e5f6g7",
        ] {
            assert!(fields(prose).is_empty(), "{prose}");
        }
    }

    #[test]
    fn a_hostile_text_is_read_in_time_that_grows_with_it_and_no_faster() {
        for piece in [
            "a://token",
            "code=",
            "token:",
            "key:",
            "token: ",
            "ab:\"token",
            "code=\"code:",
            "token:\"\"\"",
            "token:'",
            "token is ",
            "token=a;",
            "token=a&",
            "token:a&",
            "token=a1b2c3d4e&token:",
            "<token>",
            "<token ",
            "<input name=\"token\" ",
            "<key>token</key>",
            "<token><![CDATA[",
            "/token",
            "curl -u a:",
            "kind: Secret\n",
            "- kind: Secret\n  data:\n",
            "cookie: a=b; ",
            "cookie: ",
            "name: token ",
            "name: token\nvalue: ",
            "\"token\", \"",
            "TOKEN ",
            "login a password ",
            "--token ",
        ] {
            holds_linear(piece, |text| find(text, &mut |_, _| {}));
        }
        let late = format!("{}code=G9eh6Yo4aBcD {}", "token:".repeat(100), "token:x token=abc");
        assert_eq!(fields(&late).last().map(String::as_str), Some("abc"));
        assert!(fields(&late).iter().any(|value| value.ends_with("G9eh6Yo4aBcD")));
    }

    #[test]
    fn what_a_label_was_put_into_was_read_before() {
        for text in ["client_secret=!custom-1!a%40b.example", "<secret>!token-1!x</secret>", "password: 'a !token-1!'"]
        {
            assert!(fields(text).is_empty(), "{text}");
        }
    }
}
