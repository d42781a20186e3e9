//! What goes wrong with a store, in words: what, where, what now; never with a credential. The answers of stores quote
//! keys and signatures, so only their error codes are shown.

use std::error::Error as _;

use object_store::Error;

use crate::{FleetError, RemoteUrl, Scheme};

/// The error in words.
pub(super) fn said(url: &RemoteUrl, doing: &str, error: &Error) -> FleetError {
    FleetError(format!("cannot {doing} {url}: {}", cause(url, error)))
}

/// The error of settings that the library refuses. It quotes values, so only names of variables are shown: the value of
/// one that names a file may be the key itself.
pub(super) fn unusable(url: &RemoteUrl, error: &Error) -> FleetError {
    if is_without_credentials(&error.to_string()) {
        return said(url, "use", error);
    }
    FleetError(format!("cannot use {url}: its variables hold no usable settings; check {}", variables(url)))
}

/// The variables that hold credentials for a store.
fn variables(url: &RemoteUrl) -> &'static str {
    match url.scheme() {
        Scheme::S3 => "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION",
        Scheme::Gs => "GOOGLE_SERVICE_ACCOUNT",
        Scheme::Az => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        Scheme::File | Scheme::Nats => "its permissions",
    }
}

/// Whether a later attempt may succeed without somebody's help.
pub(super) fn is_passing(error: &Error) -> bool {
    let code = code(&error.to_string());
    matches!(error, Error::Generic { .. } | Error::JoinError { .. })
        && !code
            .as_deref()
            .is_some_and(|code| code.contains("NoSuchBucket") || code.contains("Invalid") || is_of_credentials(code))
        && !is_without_credentials(&error.to_string())
}

pub(super) fn cause(url: &RemoteUrl, error: &Error) -> String {
    let text = error.to_string();
    let code = code(&text);
    let shown = code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let variables = variables(url);
    let kind = if url.scheme() == Scheme::Az { "container" } else { "bucket" };
    let is = |name: &str| code.as_deref() == Some(name);
    let refused =
        || format!("the store refuses these credentials{shown}; check {variables}, and what they may do in the {kind}");
    match error {
        _ if is("NoSuchBucket") || is("ContainerNotFound") => {
            format!("there is no such {kind}{shown}; create it, or correct its name")
        }
        Error::Unauthenticated { .. } | Error::PermissionDenied { .. } if url.scheme() != Scheme::File => refused(),
        _ if code.as_deref().is_some_and(is_of_credentials) => refused(),
        _ if is_without_credentials(&text) => format!("no credentials were found; set {variables}"),
        _ if text.contains("incorrectly configured region") || is("PermanentRedirect") => {
            format!("the {kind} is in another region; set AWS_REGION to it")
        }
        Error::NotFound { .. } => "there is nothing of this name".to_owned(),
        _ if code.is_some() => format!("the store answers{shown}"),
        _ => root(error),
    }
}

/// Whether a code is about who asks. The library has a kind of its own for some of them, but for no listing.
fn is_of_credentials(code: &str) -> bool {
    const S3: [&str; 5] =
        ["AccessDenied", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"];
    const AZURE: [&str; 2] = ["AuthenticationFailed", "AuthorizationFailure"];
    S3.contains(&code) || AZURE.contains(&code)
}

/// Whether the library found no credentials: the last place is the service of a cloud's machine.
fn is_without_credentials(text: &str) -> bool {
    ["169.254.169.254", "metadata.google.internal", "MissingAccount", "Account must be specified"]
        .into_iter()
        .any(|sign| text.contains(sign))
}

/// The code in the XML of a store's answer.
fn code(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    (code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| code.to_owned())
}

/// The innermost cause, which names no request.
fn root(error: &Error) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
    // The library quotes the whole answer after these words.
    if let Some((_, answer)) = text.split_once("non-2xx status code: ") {
        return format!("the store answers {}", answer.split(':').next().unwrap_or_default());
    }
    if text.contains("Server returned error response") {
        return "the store answers with an error".to_owned();
    }
    let text = text.split(": <").next().unwrap_or_default().split(": {").next().unwrap_or_default();
    text.trim_end_matches([':', ' ']).chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(body: &str) -> Error {
        Error::PermissionDenied { path: "x".into(), source: body.to_owned().into() }
    }

    #[test]
    fn an_answer_that_quotes_a_key_is_shown_by_its_code_alone() {
        let url: RemoteUrl = "s3://audit/eu".parse().unwrap();
        let body = "403: <Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIAX</AWSAccessKeyId></Error>";
        let said = said(&url, "write to", &denied(body)).to_string();
        assert!(said.contains("refuses these credentials (InvalidAccessKeyId); check AWS_ACCESS_KEY_ID"), "{said}");
        assert!(!said.contains("AKIAX"), "{said}");
    }

    #[test]
    fn settings_that_the_library_refuses_are_not_quoted() {
        let error = Error::Generic { store: "GCS", source: "cannot open hunter2".into() };
        let said = unusable(&"gs://audit/eu".parse().unwrap(), &error).to_string();
        let expected = "cannot use gs://audit/eu: its variables hold no usable settings; check GOOGLE_SERVICE_ACCOUNT";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_code_about_who_asks_is_no_passing_failure_but_one_of_credentials() {
        let url: RemoteUrl = "s3://audit/eu".parse().unwrap();
        for code in ["ExpiredToken", "InvalidToken", "SignatureDoesNotMatch"] {
            let source = format!("400 Bad Request: <Error><Code>{code}</Code></Error>").into();
            let error = Error::Generic { store: "S3", source };
            let said = cause(&url, &error);
            assert!(said.starts_with(&format!("the store refuses these credentials ({code}); check AWS_")), "{said}");
            assert!(said.contains("AWS_SESSION_TOKEN") && !is_passing(&error), "{said}");
        }
    }

    #[test]
    fn a_missing_bucket_is_named_as_such() {
        let url: RemoteUrl = "s3://audit/eu".parse().unwrap();
        let body = "404: <Error><Code>NoSuchBucket</Code></Error>".to_owned();
        let error = Error::NotFound { path: "x".into(), source: body.into() };
        assert!(cause(&url, &error).starts_with("there is no such bucket (NoSuchBucket)"));
    }

    #[test]
    fn an_answer_without_a_code_is_shown_by_its_status_alone() {
        let url: RemoteUrl = "s3://audit/eu".parse().unwrap();
        for body in ["<html>secret</html>", "secret", "{\"key\":\"secret\"}", ""] {
            let source = format!("Server returned non-2xx status code: 503 Service Unavailable: {body}");
            let error = Error::Generic { store: "S3", source: source.into() };
            assert_eq!(cause(&url, &error), "the store answers 503 Service Unavailable");
            assert!(is_passing(&error));
        }
        let error = Error::Generic { store: "S3", source: "Server returned error response: secret".into() };
        assert_eq!(cause(&url, &error), "the store answers with an error");
    }
}
