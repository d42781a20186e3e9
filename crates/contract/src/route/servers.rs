//! The URLs and base paths of a document's servers.

use std::borrow::Cow;

use contrail_exchange::Target;
use serde_json::Value;

/// Bound on the URLs that one server stands for.
const MAX_URLS: usize = 1024;

/// Bound on the bytes of all of them.
const MAX_LENGTH: usize = 1 << 18;

/// Bound on the variables of a URL: each copies what precedes it.
const MAX_VARIABLES: usize = 100;

/// A URL that is longer has its path within this.
const MAX_AUTHORITY: usize = 4 << 10;

/// The URLs that a server stands for: every value of the `enum` of its variables, else their defaults (OpenAPI 3.1.1,
/// section 4.8.6: an `enum` is for substitutions "from a limited set"). `None` where a variable has neither, and where
/// they are too long or the variables too many.
pub(crate) fn urls(server: &Value) -> Option<Vec<String>> {
    substituted(server, |_, _, _, default| default.to_owned())
}

/// The base paths of a server in which variables without an `enum` take any value: a parameter in braces stands for each
/// segment of their default. What is before the path of a URL has its default.
pub(crate) fn open_bases(server: &Value) -> impl Iterator<Item = String> {
    let open = |url: &str, before: &str, name: &str, default: &str| {
        let is_start = url.len() < MAX_AUTHORITY
            && (url.len() + before.len() == 0 || base_path(&[url, before, "x"].concat()).is_empty());
        let in_path = !is_start || (default.starts_with('/') && !default.starts_with("//"));
        if !in_path || name.contains('/') || default.contains(['{', '}']) {
            return default.to_owned();
        }
        let segment = |segment: &str| if segment.is_empty() { String::new() } else { format!("{{{name}}}") };
        let segments: Vec<String> = default.split('/').map(segment).collect();
        if segments.iter().all(String::is_empty) { format!("{default}{{{name}}}") } else { segments.join("/") }
    };
    let known: Vec<String> = urls(server).unwrap_or_default();
    let bases = substituted(server, open).unwrap_or_default().into_iter().filter(move |url| !known.contains(url));
    bases.map(|url| base_path(&url))
}

/// The URLs of a server. `open` gives what a variable without an `enum` stands for, of what precedes it in the URL up to
/// the last variable, and since, its name and its default.
fn substituted(server: &Value, open: impl Fn(&str, &str, &str, &str) -> String) -> Option<Vec<String>> {
    let mut urls = vec![String::new()];
    let variables = server.get("variables");
    let mut rest = server.get("url")?.as_str()?;
    if rest.split('{').nth(MAX_VARIABLES + 1).is_some() {
        return None;
    }
    while let Some((before, after)) = rest.split_once('{') {
        let named = after.split_once('}').and_then(|(name, after)| Some((name, variables?.get(name)?, after)));
        // What is no variable stays as it is.
        let (text, values, next) = match named {
            None => (&rest[..=before.len()], vec![Cow::Borrowed("")], after),
            Some((name, variable, next)) => {
                let listed = variable.get("enum").and_then(Value::as_array).into_iter().flatten();
                let mut values: Vec<_> = listed.filter_map(Value::as_str).map(Cow::Borrowed).collect();
                if values.is_empty() || urls.len() * values.len() > MAX_URLS {
                    let default = variable.get("default").and_then(Value::as_str)?;
                    let url = urls.first().filter(|_| values.is_empty());
                    values = vec![url.map_or(Cow::Borrowed(default), |url| open(url, before, name, default).into())];
                }
                (before, values, next)
            }
        };
        urls = urls.iter().flat_map(|url| values.iter().map(move |value| [&**url, text, value].concat())).collect();
        if urls.iter().map(String::len).sum::<usize>() > MAX_LENGTH {
            return None;
        }
        rest = next;
    }
    Some(urls.into_iter().map(|url| url + rest).collect())
}

/// The hosts that a server's URL names, as [`Target::normal_host`] spells them. A variable that takes any value names
/// none.
pub(crate) fn hosts(server: &Value) -> Vec<String> {
    let authority = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
        Some(Target::new(scheme, authority, "").normal_host())
    };
    let listed = |name: &str| server.pointer(&format!("/variables/{name}/enum")).is_some();
    let written = server.get("url").and_then(Value::as_str).and_then(authority).unwrap_or_default();
    if !written.split('{').skip(1).filter_map(|rest| rest.split('}').next()).all(listed) {
        return Vec::new();
    }
    urls(server).unwrap_or_default().iter().filter_map(|url| authority(url)).collect()
}

/// The path of a server's URL: what precedes every path of the document.
pub(crate) fn base_path(url: &str) -> String {
    // A relative URL may begin with its host (RFC 3986, section 4.2).
    let path = match url.strip_prefix("//").or_else(|| url.split_once("://").map(|(_, rest)| rest)) {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => url,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    // A relative URL may have dot segments (RFC 3986, section 5.2.4).
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    let path = segments.join("/");
    let path = path.trim_end_matches('/');
    if path.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_base_path_is_what_follows_host_and_scheme_in_a_server_url() {
        for (server, expected) in [
            (json!({"url": "https://{t}/api/v2", "variables": {"t": {"default": "x.example"}}}), &["/api/v2"][..]),
            (
                json!({"url": "https://{t}/{v}/", "variables": {"t": {"default": "x"}, "v": {"default": "v3"}}}),
                &["/v3"],
            ),
            (json!({"url": "/{v}", "variables": {"v": {"default": "a", "enum": ["a", "b"]}}}), &["/a", "/b"]),
            (json!({"url": "/{v}", "variables": {"v": {"enum": ["a"]}}}), &["/a"]),
            (json!({"url": "https://x.example"}), &[""]),
            (json!({"url": "/"}), &[""]),
            (json!({"url": "/v1/"}), &["/v1"]),
            (json!({"url": "https://x.example/a?b#c"}), &["/a"]),
            (json!({"url": "//x.example/v1"}), &["/v1"]),
            (json!({"url": "//x.example"}), &[""]),
            (json!({"url": "."}), &[""]),
            (json!({"url": "./test"}), &["/test"]),
            (json!({"url": "../a/./b/../c/"}), &["/a/c"]),
            (
                json!({"url": "/{a}{b}/{c}", "variables": {"a": {"default": "{b}"}, "b": {"enum": ["x", "y"]}}}),
                &["/{b}x/{c}", "/{b}y/{c}"],
            ),
            (json!({"url": "/{a", "variables": {"a": {"default": "x"}}}), &["/{a"]),
        ] {
            let paths: Vec<_> = urls(&server).unwrap().iter().map(|url| base_path(url)).collect();
            assert_eq!(paths, expected, "{server}");
        }
        assert_eq!(urls(&json!({"url": "/{v}", "variables": {"v": {}}})), None);
    }

    #[test]
    fn a_server_names_the_hosts_of_its_absolute_urls_where_no_variable_takes_any_value() {
        let listed = json!({"default": "eu", "enum": ["eu", "us"]});
        for (url, expected) in [
            ("https://API.x.example/v1", &["api.x.example"][..]),
            ("http://x.example:80", &["x.example"]),
            ("https://x.example:8443/{any}", &["x.example:8443"]),
            ("https://{l}.x.example/", &["eu.x.example", "us.x.example"]),
            ("https://{any}.x.example/", &[]),
            ("https://{unknown}/", &[]),
            ("/v1", &[]),
            ("//x.example/v1", &[]),
        ] {
            let server = json!({"url": url, "variables": {"any": {"default": "a"}, "l": listed}});
            assert_eq!(hosts(&server), expected, "{url}");
        }
    }

    #[test]
    fn a_url_of_more_variables_than_the_bound_stands_for_nothing() {
        let server = |count: usize| json!({"url": "/{v}".repeat(count), "variables": {"v": {"default": "x"}}});
        assert_eq!(urls(&server(MAX_VARIABLES)).unwrap(), ["/x".repeat(MAX_VARIABLES)]);
        assert_eq!(open_bases(&server(MAX_VARIABLES)).collect::<Vec<_>>(), ["/{v}".repeat(MAX_VARIABLES)]);
        assert_eq!((urls(&server(MAX_VARIABLES + 1)), open_bases(&server(101)).next()), (None, None));
    }

    #[test]
    fn a_variable_without_an_enum_stands_for_any_value_in_the_path_of_a_server_url() {
        let of = |url: &str, default: &str| {
            let listed = json!({"default": "a", "enum": ["a", "b"]});
            let server = json!({"url": url, "variables": {"v": {"default": default}, "l": listed}});
            open_bases(&server).collect::<Vec<_>>()
        };
        for (url, default, expected) in [
            ("https://x.example/{v}", "v1", &["/{v}"][..]),
            ("https://x.example/{v}/", "", &["/{v}"]),
            ("https://x.example/api/v{v}/{l}", "2", &["/api/v{v}/a", "/api/v{v}/b"]),
            ("https://x.example/{v}/x", "a/b", &["/{v}/{v}/x"]),
            ("https://x.example{v}", "/a/b", &["/{v}/{v}"]),
            ("https://{v}/x", "x.example", &[]),
            ("https://x.example:{v}/x", "80", &[]),
            ("//{v}/x", "x.example", &[]),
            ("{v}/x", "https://x.example/api", &[]),
            ("{v}/x", "/api", &["/{v}/x"]),
            ("/{v}", "{l}", &[]),
            ("/{l}", "", &[]),
        ] {
            assert_eq!(of(url, default), expected, "{url} {default}");
        }
    }
}
