//! The session of a request: its client names one, and contrail answers or records it apart from all others.
//!
//! A header field names it, or the start of the path on a reverse listener (`/~NAME/`), or the user name for the proxy
//! on a forward listener. The upstream sees neither.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header, request::Parts, uri::PathAndQuery};

use crate::upstream::Problem;

/// The header field that names a session.
const SESSION: HeaderName = HeaderName::from_static("contrail-session");

/// The session of requests that name none.
pub const UNNAMED: &str = "-";

/// Maximum bytes of a name.
const MAX_NAME: usize = 100;

/// Keeps the sessions of a run.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// A request of the session of this name is here; the name is [one](is_name).
    ///
    /// # Errors
    ///
    /// The answer that the client gets instead.
    fn request(&self, name: &str) -> Result<Arc<str>, Problem>;
}

/// Whether this names a session. A session's fixture has its name, so neither `.` nor the names of files are any.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_file = |ending: &str| name.len() >= ending.len() && name.ends_with(ending);
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(is_plain)
        && !matches!(name, "." | "..")
        && ![".har", ".journal"].into_iter().any(is_file)
}

/// The answer to a request whose session has no usable name.
#[must_use]
pub fn bad_name() -> Problem {
    let detail =
        "a session's name has 1 to 100 letters, digits, `.`, `_` and `-`, and does not end in .har or .journal";
    Problem::new(StatusCode::BAD_REQUEST, "bad-session", detail)
}

/// The user name that a client of a forward proxy shows, if it shows one.
pub(crate) fn proxy_user(headers: &HeaderMap) -> Option<Arc<str>> {
    let decoded = basic(headers)?;
    let text = String::from_utf8_lossy(&decoded);
    let user = text.split_once(':').map_or(&*text, |(user, _)| user);
    (!user.is_empty()).then(|| user.into())
}

/// User name and password for the proxy, decoded.
pub(crate) fn basic(headers: &HeaderMap) -> Option<Vec<u8>> {
    let (scheme, encoded) = headers.get(header::PROXY_AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))
}

/// The name of a request's session, and whether it stood in the path.
pub(crate) struct Named {
    pub(crate) name: Arc<str>,
    pub(crate) in_path: bool,
}

/// Takes what names a session out of a request's head. `user` is who the connection is for; on a reverse listener the
/// path may name one.
pub(crate) fn take(
    head: &mut Parts,
    user: Option<Arc<str>>,
    is_reverse: bool,
    sessions: &dyn Sessions,
) -> Result<Named, Problem> {
    let mut fields = head.headers.get_all(SESSION).iter();
    let (field, further) = (fields.next().cloned(), fields.next().is_some());
    if field.is_some() {
        head.headers.remove(SESSION);
    }
    let in_path = if is_reverse { of_path(&mut head.uri)? } else { None };
    let by_path = in_path.is_some();
    let named = match &field {
        Some(field) => Some(field.to_str().map_err(|_| bad_name())?.into()),
        None => in_path.or(user),
    };
    let name: &str = named.as_deref().unwrap_or(UNNAMED);
    if further || !is_name(name) {
        return Err(bad_name());
    }
    Ok(Named { name: sessions.request(name)?, in_path: by_path })
}

/// The session that a path names, which is taken out of it: `/~a/x?y` becomes `/x?y`.
fn of_path(uri: &mut Uri) -> Result<Option<Arc<str>>, Problem> {
    let Some(rest) = uri.path_and_query().and_then(|target| target.as_str().strip_prefix("/~")) else {
        return Ok(None);
    };
    let (name, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let name: Arc<str> = name.into();
    let rest = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    let mut parts = std::mem::take(uri).into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(rest).map_err(|_| bad_name())?);
    *uri = Uri::from_parts(parts).map_err(|_| bad_name())?;
    Ok(Some(name))
}

/// Leads a client whose path names its session back into it: a `Location` that begins with a path keeps the name.
pub(crate) fn keep_in_path(headers: &mut HeaderMap, name: &str) {
    let Some(location) = headers.get_mut(header::LOCATION) else { return };
    let is_path = location.as_bytes().starts_with(b"/") && !location.as_bytes().starts_with(b"//");
    let within = [b"/~", name.as_bytes(), location.as_bytes()].concat();
    if is_path && let Ok(within) = HeaderValue::from_maybe_shared(bytes::Bytes::from(within)) {
        *location = within;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Any;

    impl Sessions for Any {
        fn request(&self, name: &str) -> Result<Arc<str>, Problem> {
            Ok(name.into())
        }
    }

    /// The session of a request to `target` with this field, and what is left of it.
    fn taken(target: &str, field: Option<&str>, user: Option<&str>, is_reverse: bool) -> String {
        let mut request = http::Request::get(target);
        if let Some(field) = field {
            request = request.header("Contrail-Session", field);
        }
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        match take(&mut head, user.map(Arc::from), is_reverse, &Any) {
            Ok(named) => {
                assert!(!head.headers.contains_key(SESSION));
                format!("{} {}", named.name, head.uri)
            }
            Err(problem) => problem.status.as_str().to_owned(),
        }
    }

    #[test]
    fn the_header_names_the_session_before_the_path_and_the_path_before_the_user() {
        assert_eq!(taken("/x", None, None, true), "- /x");
        assert_eq!(taken("/~a/x?y=~b/", None, Some("u"), true), "a /x?y=~b/");
        assert_eq!(taken("/~a/x", Some("h"), None, true), "h /x");
        assert_eq!(taken("/~a", None, None, true), "a /");
        assert_eq!(taken("/~a?y", None, None, true), "a /?y");
        assert_eq!(taken("http://h.example/~a/x", None, Some("u"), false), "u http://h.example/~a/x");
        assert_eq!(taken("http://127.0.0.1:1/~a/x", None, None, true), "a http://127.0.0.1:1/x");
    }

    #[test]
    fn a_name_that_could_lead_out_of_the_folder_is_refused() {
        let long = "n".repeat(MAX_NAME + 1);
        for name in ["", ".", "..", "a%2fb", "a b", "ä", "a.har", "a.journal", ".har", &long] {
            assert!(!is_name(name), "{name}");
            assert_eq!(taken("/x", Some(name), None, true), "400", "{name}");
        }
        assert_eq!(taken("/~/x", None, None, true), "400");
        assert_eq!(taken("/~a%2f/x", None, None, true), "400");
        assert!(["a", "-", "...", "a.b_c-D9", &long[1..]].into_iter().all(is_name));
    }

    #[test]
    fn a_redirect_to_a_path_stays_in_the_session_of_the_path() {
        let kept = |location: &'static str| {
            let mut headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_static(location))]);
            keep_in_path(&mut headers, "a");
            headers[header::LOCATION].to_str().unwrap().to_owned()
        };
        assert_eq!(kept("/next"), "/~a/next");
        assert_eq!(kept("//other.example/next"), "//other.example/next");
        assert_eq!(kept("https://other.example/next"), "https://other.example/next");
        assert_eq!(kept("next"), "next");
    }
}
