//! The URLs and base paths of a document's servers.

use serde_json::Value;

/// Bound on the URLs that one server stands for.
const MAX_URLS: usize = 1024;

/// Bound on the bytes of all of them.
const MAX_LENGTH: usize = 1 << 20;

/// The URLs that a server stands for: every value of the `enum` of its variables, else their defaults (OpenAPI 3.1.1,
/// section 4.8.6: an `enum` is for substitutions "from a limited set"). `None` where a variable has neither, and where
/// they are too long.
pub(in crate::contract) fn urls(server: &Value) -> Option<Vec<String>> {
    let mut urls = vec![String::new()];
    let variables = server.get("variables");
    let mut rest = server.get("url")?.as_str()?;
    while let Some((before, after)) = rest.split_once('{') {
        let named = after.split_once('}').and_then(|(name, after)| Some((variables?.get(name)?, after)));
        // What is no variable stays as it is.
        let (text, values, next) = match named {
            None => (&rest[..=before.len()], vec![""], after),
            Some((variable, next)) => {
                let listed = variable.get("enum").and_then(Value::as_array).into_iter().flatten();
                let mut values: Vec<&str> = listed.filter_map(Value::as_str).collect();
                if values.is_empty() || urls.len() * values.len() > MAX_URLS {
                    values = vec![variable.get("default").and_then(Value::as_str)?];
                }
                (before, values, next)
            }
        };
        urls = urls.iter().flat_map(|url| values.iter().map(move |value| [url, text, value].concat())).collect();
        if urls.iter().map(String::len).sum::<usize>() > MAX_LENGTH {
            return None;
        }
        rest = next;
    }
    Some(urls.into_iter().map(|url| url + rest).collect())
}

/// The path of a server's URL: what precedes every path of the document.
pub(in crate::contract) fn base_path(url: &str) -> String {
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
}
