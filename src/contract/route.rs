//! Which operation a method and a raw path belong to.
//!
//! Exact, case-sensitive, on raw (percent-encoded) segments: a trailing or doubled slash, an empty parameter and
//! another spelling of a literal segment are other paths. Any host and scheme may serve the base path. Literal segments
//! come before templated ones, as OpenAPI says.

use percent_encoding::{AsciiSet, CONTROLS, PercentEncode, utf8_percent_encode};

/// Every path template of a contract with its methods; `T` is what a route leads to.
#[derive(Debug, Clone)]
pub(super) struct Router<T> {
    nodes: Vec<Node<T>>,
}

/// A path that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route<'r, 'p, T> {
    /// What it leads to.
    pub(super) to: T,
    /// Raw values of the path parameters, in the order of the template.
    pub(super) raw: Vec<(&'r str, &'p str)>,
}

/// Why a path template cannot be routed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadTemplate(pub(super) String);

#[derive(Debug, Clone)]
struct Node<T> {
    /// In the order of the texts.
    literal: Vec<(Box<str>, usize)>,
    templated: Vec<(Segment, usize)>,
    methods: Vec<(http::Method, T)>,
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self { literal: Vec::new(), templated: Vec::new(), methods: Vec::new() }
    }
}

/// A segment with at least one parameter: `{id}`, `{id}.json`, `{from}-{to}`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    prefix: Box<str>,
    /// Each parameter with the literal text that follows it.
    parameters: Vec<(Box<str>, Box<str>)>,
}

impl<T> Node<T> {
    /// The node below that a segment without parameters leads to.
    fn literal(&self, segment: &str) -> Option<usize> {
        self.find(segment).ok().map(|place| self.literal[place].1)
    }

    fn find(&self, segment: &str) -> Result<usize, usize> {
        self.literal.binary_search_by(|(held, _)| (**held).cmp(segment))
    }
}

/// A path with percent-encoding of what it cannot hold otherwise (RFC 3986, section 3.3); `%` and delimiters stay.
pub(crate) fn encoded_path(text: &str) -> PercentEncode<'_> {
    const NEEDED: &AsciiSet =
        &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'|');
    utf8_percent_encode(text, NEEDED)
}

/// A template whose literal text has no character that needs percent-encoding.
fn encoded(template: &str) -> String {
    let mut out = String::new();
    for piece in template.split_inclusive('}') {
        let (text, parameter) = piece.split_at(piece.find('{').unwrap_or(piece.len()));
        out.extend(encoded_path(text));
        out.push_str(parameter);
    }
    out
}

/// A template with `{}` for each parameter.
pub(super) fn shape(template: &str) -> String {
    let mut out = String::new();
    for piece in template.split_inclusive('}') {
        match piece.split_once('{') {
            Some((text, _)) => out.extend([text, "{}"]),
            None => out.push_str(piece),
        }
    }
    out
}

impl<T: Copy> Router<T> {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    /// Adds a route. `template` is the whole path, base path included, starting with a slash. What a path holds in
    /// percent-encoding only (RFC 3986, section 3.3) is found in it, too.
    pub(super) fn add(&mut self, method: http::Method, template: &str, to: T) -> Result<(), BadTemplate> {
        let encoded = encoded(template);
        if encoded != template {
            self.insert(method.clone(), &encoded, to)?;
        }
        self.insert(method, template, to)
    }

    fn insert(&mut self, method: http::Method, template: &str, to: T) -> Result<(), BadTemplate> {
        let Some(path) = template.strip_prefix('/') else {
            return Err(BadTemplate("it does not start with a slash".to_owned()));
        };
        let mut at = 0;
        for segment in path.split('/') {
            let templated = Segment::parse(segment)?;
            let node = &self.nodes[at];
            let known = match &templated {
                None => node.literal(segment),
                Some(templated) => node.templated.iter().find(|(held, _)| held == templated).map(|(_, next)| *next),
            };
            at = known.unwrap_or_else(|| {
                let next = self.nodes.len();
                match templated {
                    None => {
                        let node = &mut self.nodes[at];
                        let (Ok(place) | Err(place)) = node.find(segment);
                        node.literal.insert(place, (segment.into(), next));
                    }
                    Some(templated) => self.nodes[at].templated.push((templated, next)),
                }
                self.nodes.push(Node::default());
                next
            });
        }
        let methods = &mut self.nodes[at].methods;
        if methods.iter().any(|(held, _)| *held == method) {
            return Err(BadTemplate(format!("the document has {method} of this path twice")));
        }
        methods.push((method, to));
        Ok(())
    }

    /// Finds what a method and a raw path (without query) lead to.
    pub(super) fn find<'r, 'p>(&'r self, method: &str, path: &'p str) -> Option<Route<'r, 'p, T>> {
        let path = path.strip_prefix('/')?;
        let mut raw = Vec::new();
        let to = self.descend(0, Some(path), &mut raw, &mut |node| {
            node.methods.iter().find(|(held, _)| held.as_str() == method).map(|(_, to)| *to)
        })?;
        Some(Route { to, raw })
    }

    /// Whether a raw path leads somewhere with any method.
    pub(super) fn knows(&self, path: &str) -> bool {
        !self.methods(path).is_empty()
    }

    /// The methods with which a raw path leads somewhere.
    pub(super) fn methods(&self, path: &str) -> Vec<http::Method> {
        let mut methods = Vec::new();
        let Some(path) = path.strip_prefix('/') else { return methods };
        self.descend(0, Some(path), &mut Vec::new(), &mut |node| {
            for (method, _) in &node.methods {
                if !methods.contains(method) {
                    methods.push(method.clone());
                }
            }
            None::<()>
        });
        methods
    }

    /// Walks the nodes that the path leads to, literal segments first, until `visit` takes one.
    fn descend<'r, 'p, R>(
        &'r self,
        at: usize,
        rest: Option<&'p str>,
        raw: &mut Vec<(&'r str, &'p str)>,
        visit: &mut impl FnMut(&Node<T>) -> Option<R>,
    ) -> Option<R> {
        let node = &self.nodes[at];
        let Some(path) = rest else { return visit(node) };
        let (segment, rest) = match memchr::memchr(b'/', path.as_bytes()) {
            Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
            None => (path, None),
        };
        if let Some(next) = node.literal(segment)
            && let Some(found) = self.descend(next, rest, raw, visit)
        {
            return Some(found);
        }
        node.templated.iter().find_map(|(templated, next)| {
            let held = raw.len();
            let found = templated.take(segment, raw).then(|| self.descend(*next, rest, raw, visit)).flatten();
            if found.is_none() {
                raw.truncate(held);
            }
            found
        })
    }
}

impl Segment {
    /// `None` for a segment without a parameter.
    fn parse(text: &str) -> Result<Option<Self>, BadTemplate> {
        let bad = || BadTemplate(format!("the segment `{text}` has a brace without its other half"));
        let Some((prefix, mut rest)) = text.split_once('{') else {
            return if text.contains('}') { Err(bad()) } else { Ok(None) };
        };
        let mut parameters = Vec::new();
        loop {
            let (name, after) = rest.split_once('}').ok_or_else(bad)?;
            let (literal, next) = match after.split_once('{') {
                Some((literal, next)) => (literal, Some(next)),
                None => (after, None),
            };
            if name.is_empty() || name.contains('{') || literal.contains('}') || prefix.contains('}') {
                return Err(bad());
            }
            parameters.push((name.into(), literal.into()));
            match next {
                Some(next) => rest = next,
                None => return Ok(Some(Self { prefix: prefix.into(), parameters })),
            }
        }
    }

    /// Takes the parameters out of a raw segment; none of them may be empty. Earlier ones are as short as possible.
    fn take<'r, 'p>(&'r self, segment: &'p str, raw: &mut Vec<(&'r str, &'p str)>) -> bool {
        let Some(mut rest) = segment.strip_prefix(&*self.prefix) else { return false };
        let last = self.parameters.len() - 1;
        for (index, (name, literal)) in self.parameters.iter().enumerate() {
            let end = if index == last {
                rest.strip_suffix(&**literal).map(str::len)
            } else {
                // At least one character belongs to the parameter.
                rest.char_indices().skip(1).map(|(at, _)| at).find(|at| rest[*at..].starts_with(&**literal))
            };
            let Some(end) = end.filter(|end| *end > 0) else { return false };
            raw.push((name, &rest[..end]));
            rest = &rest[end + literal.len()..];
        }
        true
    }
}

/// Bound on the URLs that one server stands for.
const MAX_URLS: usize = 1024;

/// The URLs that a server stands for: every value of the `enum` of its variables, else their defaults (OpenAPI 3.1.1,
/// section 4.8.6: an `enum` is for substitutions "from a limited set"). `None` where a variable has neither.
pub(super) fn urls(server: &serde_json::Value) -> Option<Vec<String>> {
    let mut urls = vec![server.get("url")?.as_str()?.to_owned()];
    if let Some(variables) = server.get("variables").and_then(serde_json::Value::as_object) {
        for (name, variable) in variables {
            let name = format!("{{{name}}}");
            let listed = variable.get("enum").and_then(serde_json::Value::as_array).into_iter().flatten();
            let mut values: Vec<&str> = listed.filter_map(serde_json::Value::as_str).collect();
            if values.is_empty() || urls.len() * values.len() > MAX_URLS {
                values = vec![variable.get("default").and_then(serde_json::Value::as_str)?];
            }
            urls = urls.iter().flat_map(|url| values.iter().map(|value| url.replace(&name, value))).collect();
        }
    }
    Some(urls)
}

/// The path of a server's URL: what precedes every path of the document.
pub(super) fn base_path(url: &str) -> String {
    // A relative URL may begin with its host (RFC 3986, section 4.2).
    let path = match url.strip_prefix("//").or_else(|| url.split_once("://").map(|(_, rest)| rest)) {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => url,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if path.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;

    fn router(templates: &[&str]) -> Router<usize> {
        let mut router = Router::new();
        for (index, template) in templates.iter().enumerate() {
            router.add(Method::GET, template, index).unwrap();
        }
        router
    }

    fn found(router: &Router<usize>, path: &str) -> Option<(usize, Vec<String>)> {
        let route = router.find("GET", path)?;
        Some((route.to, route.raw.iter().map(|(name, value)| format!("{name}={value}")).collect()))
    }

    #[test]
    fn literal_text_that_a_path_cannot_hold_is_found_in_percent_encoding() {
        let router = router(&["/a b/{the id}-é", "/plain"]);
        for path in ["/a%20b/1-%C3%A9", "/a b/1-é"] {
            assert_eq!(found(&router, path), Some((0, vec!["the id=1".to_owned()])), "{path}");
        }
        assert_eq!(found(&router, "/a+b/1-%C3%A9"), None);
        assert_eq!(router.methods("/a%20b/1-%C3%A9"), [Method::GET]);
    }

    #[test]
    fn a_path_parameter_is_one_raw_segment_and_never_empty() {
        let router = router(&["/api/v2/things/{id}/parts/{part}"]);
        let ids = |path| found(&router, path).map(|(_, values)| values.join(" "));
        assert_eq!(ids("/api/v2/things/a%2Fb/parts/c|d"), Some("id=a%2Fb part=c|d".to_owned()));
        for path in [
            "/api/v2/things//parts/c",
            "/api/v2/things/a/parts/",
            "/api/v2/things/a/parts/c/",
            "/api/v2//things/a/parts/c",
            "/api/v2/Things/a/parts/c",
            "/api/v2/thing%73/a/parts/c",
            "/things/a/parts/c",
            "/api/v2/things/a/parts",
            "",
            "*",
        ] {
            assert_eq!(ids(path), None, "{path}");
        }
    }

    #[test]
    fn a_literal_segment_comes_before_a_templated_one_whatever_their_order() {
        let router = router(&["/a/{id}", "/a/mine", "/a/{id}/x", "/a/mine/y"]);
        assert_eq!(found(&router, "/a/mine"), Some((1, vec![])));
        assert_eq!(found(&router, "/a/yours"), Some((0, vec!["id=yours".to_owned()])));
        assert_eq!(found(&router, "/a/mine/x"), Some((2, vec!["id=mine".to_owned()])));
    }

    #[test]
    fn a_path_documented_with_a_trailing_slash_is_found_only_with_it() {
        let router = router(&["/oauth/token/"]);
        assert_eq!(found(&router, "/oauth/token/"), Some((0, vec![])));
        assert_eq!(found(&router, "/oauth/token"), None);
    }

    #[test]
    fn methods_are_case_sensitive_and_only_the_documented_ones_match() {
        let router = router(&["/a"]);
        assert!(router.find("GET", "/a").is_some());
        for method in ["get", "HEAD", "OPTIONS", "POST"] {
            assert!(router.find(method, "/a").is_none(), "{method}");
        }
    }

    #[test]
    fn a_segment_can_hold_literal_text_beside_its_parameters() {
        let router = router(&["/f/{name}.json", "/r/{from}-{to}", "/v{version}/x"]);
        assert_eq!(found(&router, "/f/a.b.json"), Some((0, vec!["name=a.b".to_owned()])));
        assert_eq!(found(&router, "/f/.json"), None);
        assert_eq!(found(&router, "/r/1-2-3"), Some((1, vec!["from=1".to_owned(), "to=2-3".to_owned()])));
        assert_eq!(found(&router, "/r/-2"), None);
        assert_eq!(found(&router, "/v2/x"), Some((2, vec!["version=2".to_owned()])));
    }

    #[test]
    fn a_broken_template_or_one_that_stands_there_twice_is_refused() {
        let mut router = router(&["/a/{id}"]);
        for template in ["a", "/a/{id", "/a/id}", "/a/{}", "/a/{{id}}", "/a/{id}"] {
            assert!(router.add(Method::GET, template, 9).is_err(), "{template}");
        }
    }

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
        ] {
            let paths: Vec<_> = urls(&server).unwrap().iter().map(|url| base_path(url)).collect();
            assert_eq!(paths, expected, "{server}");
        }
        assert_eq!(urls(&json!({"url": "/{v}", "variables": {"v": {}}})), None);
    }
}
