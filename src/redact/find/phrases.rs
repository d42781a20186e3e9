//! Secrets that words of a notation announce: SQL, netrc, arguments of commands, serialised PHP.

use super::{
    emit::Emit,
    names::{self, FieldContext},
};
use crate::redact::{
    kind::{self, Kind},
    label,
};

expression!(
    SQL,
    concat!(
        r#"(?i-u)\b(?:identified\s{1,9}(?:with\s{1,9}['"`]?[a-z0-9_]{1,40}['"`]?\s{1,9})?(?:by|as)(?:\s{1,9}password)?\s{1,9}"#,
        r#"(?:'([^'\n]{1,200})'|"([^"\n]{1,200})")|password\s{1,9}[ne]?'([^'\s]{1,200})')"#
    )
);
expression!(
    NETRC,
    concat!(
        r"(?i-u)\b(?:(?:machine\s{1,9}\S{1,255}|default)\s{1,9}(?:(?:login|account)\s{1,9}\S{1,255}\s{1,9}){1,2}",
        r#"password\s{1,9}(?:"([^"\n]{1,200})"|([^\s"]\S{0,200}))"#,
        r"|machine\s{1,9}\S{1,255}\s{1,9}password\s{1,9}(\S{1,200})\s{1,9}login\b)"
    )
);
// An option's name shows it; its value has to look random, since a manual writes `--password VALUE`.
expression!(OPTION, r#"(?-u)(?:\A|[\s"'])--?([A-Za-z][A-Za-z0-9_-]{1,60})[ \t]{1,9}["']?([^\s"'-][^\s"']{5,200})"#);
// curl's user and password.
expression!(
    USER,
    r#"(?-u)\s(?:-[A-Za-z]{0,6}[uU][ \t]{0,9}|--(?:proxy-)?user[ \t=]{1,9})["']?[^\s:"']{1,100}:([^\s"'$<{][^\s"']{0,200})"#
);
expression!(
    SERIALIZED,
    r#"(?-u)\bs:[0-9]{1,4}:\\?"([A-Za-z][A-Za-z0-9_.-]{1,60})\\?";s:[0-9]{1,6}:\\?"([^"\\]{1,4096})"#
);

/// Secrets behind the words of a notation.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    for (expression, kind) in [(&*SQL, Kind::Password), (&*NETRC, Kind::Password)] {
        let Some(expression) = expression else { continue };
        for hit in expression.captures_iter(text) {
            let value = hit.get(1).or_else(|| hit.get(2)).or_else(|| hit.get(3));
            if let Some(value) = value.filter(|value| !label::holds(value.as_bytes())) {
                emit(value.range(), kind);
            }
        }
    }
    for (expression, is_typed) in [(&*OPTION, false), (&*SERIALIZED, true)] {
        let Some(expression) = expression else { continue };
        for hit in expression.captures_iter(text) {
            let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
            let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
            if let Some(kind) = names::by_name(name, FieldContext::Text)
                && (is_typed || kind::is_opaque(value.as_bytes()))
                && !label::holds(value.as_bytes())
            {
                emit(value.range(), kind);
            }
        }
    }
    if memchr::memmem::find(text, b"curl").is_none() {
        return;
    }
    let Some(user) = &*USER else { return };
    for value in user.captures_iter(text).filter_map(|hit| hit.get(1)) {
        // A container's user and group are numbers.
        if !value.as_bytes().iter().all(u8::is_ascii_digit) && !label::holds(value.as_bytes()) {
            emit(value.range(), Kind::Password);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        super::super::emit::found(text, find)
    }

    #[test]
    fn every_expression_compiles() {
        assert!([&SQL, &NETRC, &OPTION, &USER, &SERIALIZED].iter().all(|expression| expression.is_some()));
    }

    #[test]
    fn a_password_in_a_statement_of_sql_is_a_secret() {
        for text in [
            "ALTER USER x WITH PASSWORD 'hunter2';",
            "CREATE USER x IDENTIFIED BY 'hunter2';",
            "create user 'x'@'%' identified with mysql_native_password by 'hunter2'",
            "GRANT ALL ON x TO y IDENTIFIED BY PASSWORD \"hunter2\"",
            "ALTER ROLE x PASSWORD E'hunter2'",
        ] {
            assert_eq!(found(text), ["hunter2"], "{text}");
        }
        for text in ["identified by its name", "password 'must not be empty'", "SELECT password FROM users"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_password_in_a_netrc_file_is_a_secret() {
        for text in [
            "machine h login me password hunter2\n",
            "machine h\n  login me\n  account a\n  password hunter2\n",
            "default login me password \"hunter2\"",
            "machine h password hunter2 login me",
        ] {
            assert_eq!(found(text), ["hunter2"], "{text}");
        }
        for text in ["the default password is wrong", "machine learning password is", "login me password please"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_secret_among_the_arguments_of_a_command_is_one() {
        for text in [
            "curl -u me:Q1w2e3r4t5y6 https://x",
            "curl -su 'me:Q1w2e3r4t5y6' https://x",
            "curl --user=me:Q1w2e3r4t5y6 https://x",
            "login --password Q1w2e3r4t5y6",
            "cli --api-key 'Q1w2e3r4t5y6' x",
            "--client-secret Q1w2e3r4t5y6",
        ] {
            assert_eq!(found(text), ["Q1w2e3r4t5y6"], "{text}");
        }
        for text in [
            "docker run -u 1000:1000 curlimages/curl",
            "curl -u $USER:$PASSWORD x",
            "login --password VALUE",
            "--password must be set",
            "sort -u me:you",
            "--token --verbose0123456",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn a_secret_in_serialised_php_is_one() {
        assert_eq!(found(r#"a:1:{s:8:"password";s:7:"hunter2";}"#), ["hunter2"]);
        assert!(found(r#"a:1:{s:4:"name";s:7:"hunter2";}"#).is_empty());
    }

    #[test]
    fn a_value_that_holds_a_label_was_read_before() {
        for text in ["WITH PASSWORD '!password-1!'", "curl -u me:!password-1! x", "--password !password-1!x0123456"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}
