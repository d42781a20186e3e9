//! Which operation a method and a raw path belong to.
//!
//! Exact, case-sensitive, on raw (percent-encoded) segments: a trailing or doubled slash and an empty parameter are other
//! paths. An unreserved character of literal text equals its percent-encoding. Any host and scheme may serve a base path.
//! Literal segments come before templated ones, as OpenAPI says, and of those, the ones with more literal text:
//! `{name}.json` before `{name}`.

mod servers;
mod template;
mod tree;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

pub use self::template::{encoded_path, has_no_request};
pub(super) use self::{
    servers::{base_path, hosts, open_bases, urls},
    template::{Divided, divided, shape, takes},
};
use self::{
    template::Segment,
    tree::{Step, Tree},
};

/// Every path template of a contract with its methods; `T` is what a route leads to.
///
/// Base paths and path templates are trees of their own, so that a document takes as much as it states, not the product
/// of its servers and paths.
#[derive(Debug)]
pub(super) struct Router<T> {
    /// Which groups are served below a base path.
    bases: Tree<Vec<Mount>>,
    /// The same with variables that take any value. They serve what no other base path does.
    open: Tree<Vec<Mount>>,
    groups: Vec<Tree<Vec<Method<T>>>>,
    by_bases: HashMap<[Vec<String>; 2], Group>,
}

/// Paths that have their base paths in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Group(usize);

#[derive(Debug)]
struct Mount {
    group: Group,
    /// Names of the parameters in the base path.
    names: Box<[Box<str>]>,
}

#[derive(Debug)]
struct Method<T> {
    name: http::Method,
    to: T,
    /// Names of the parameters of the template.
    names: Box<[Box<str>]>,
}

/// Path parameters: each name with its raw value.
type Raw<'r, 'p> = Vec<(&'r str, &'p str)>;

/// A path that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route<'r, 'p, T> {
    /// What it leads to.
    pub(super) to: T,
    /// Raw values of the path parameters, in the order of the template.
    pub(super) raw: Raw<'r, 'p>,
}

/// Why a path template cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadTemplate(pub(super) String);

/// Why a path template has no route.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoute<T> {
    Bad(BadTemplate),
    /// It has the same requests as the route to this.
    Taken(T),
}

impl<T> From<BadTemplate> for NoRoute<T> {
    fn from(bad: BadTemplate) -> Self {
        Self::Bad(bad)
    }
}

impl<T: Copy> Router<T> {
    pub(super) fn new() -> Self {
        Self { bases: Tree::new(), open: Tree::new(), groups: Vec::new(), by_bases: HashMap::new() }
    }

    /// The group of the paths that are served below all of these base paths, and below those that are
    /// [open](open_bases). Each of them [can be read](check_template).
    pub(super) fn group(&mut self, bases: &[String], open: &[String]) -> Group {
        let key = [bases, open].map(<[String]>::to_vec);
        if let Some(group) = self.by_bases.get(&key) {
            return *group;
        }
        let group = Group(self.groups.len());
        for (tree, bases) in [(&mut self.bases, bases), (&mut self.open, open)] {
            for spelling in bases.iter().flat_map(|base| spellings(base)) {
                let mut names = Vec::new();
                if let Ok(mounts) = tree.leaf(&spelling, &mut names) {
                    mounts.push(Mount { group, names: names.into() });
                }
            }
        }
        self.groups.push(Tree::new());
        self.by_bases.insert(key, group);
        group
    }

    /// Adds a route. What a path holds in percent-encoding only (RFC 3986, section 3.3) is found in it, too.
    pub(super) fn add(&mut self, group: Group, method: &http::Method, template: &str, to: T) -> Result<(), NoRoute<T>> {
        if !template.starts_with('/') {
            return Err(BadTemplate("it does not start with a slash".to_owned()).into());
        }
        for spelling in spellings(template) {
            let mut names = Vec::new();
            let methods = self.groups[group.0].leaf(&spelling, &mut names)?;
            if let Some(held) = methods.iter().find(|held| held.name == *method) {
                return Err(NoRoute::Taken(held.to));
            }
            methods.push(Method { name: method.clone(), to, names: names.into() });
        }
        Ok(())
    }

    /// Puts the templates that fit a segment in the order in which they are tried, once all are added.
    pub(super) fn sort(&mut self) {
        self.bases.sort();
        self.open.sort();
        self.groups.iter_mut().for_each(Tree::sort);
    }

    /// Finds what a method and a raw path (without query) lead to.
    pub(super) fn find<'r, 'p>(&'r self, method: &str, path: &'p str) -> Option<Route<'r, 'p, T>> {
        self.find_below(&self.bases, method, path).or_else(|| self.find_below(&self.open, method, path))
    }

    fn find_below<'r, 'p>(
        &'r self,
        bases: &'r Tree<Vec<Mount>>,
        method: &str,
        path: &'p str,
    ) -> Option<Route<'r, 'p, T>> {
        let mut best: Option<(u64, Route<'r, 'p, T>)> = None;
        below_bases(bases, path, &mut |mount, step, raw| {
            let in_base = raw.len();
            let found = self.groups[mount.group.0].walk(step, raw, &mut |methods, step, _| {
                let is_end = step.rest.is_none();
                let held = methods.iter().find(|held| is_end && held.name.as_str() == method)?;
                Some((step.literals, held))
            });
            let Some((literals, held)) = found else { return };
            if best.as_ref().is_none_or(|(best, _)| literals >= *best) {
                for (value, name) in raw.iter_mut().zip(mount.names.iter().chain(&held.names)) {
                    value.0 = name;
                }
                let raw = if in_base == 0 { std::mem::take(raw) } else { raw.clone() };
                best = Some((literals, Route { to: held.to, raw }));
            }
        });
        best.map(|(_, route)| route)
    }

    /// Whether a raw path leads somewhere with any method.
    pub(super) fn knows(&self, path: &str) -> bool {
        !self.methods(path).is_empty()
    }

    /// The methods with which a raw path leads somewhere.
    pub(super) fn methods(&self, path: &str) -> Vec<http::Method> {
        let mut methods = Vec::new();
        for bases in [&self.bases, &self.open] {
            below_bases(bases, path, &mut |mount, step, raw| {
                self.groups[mount.group.0].walk(step, raw, &mut |held, step, _| {
                    for Method { name, .. } in held.iter().filter(|_| step.rest.is_none()) {
                        if !methods.contains(name) {
                            methods.push(name.clone());
                        }
                    }
                    None::<()>
                });
            });
        }
        methods
    }
}

/// Visits the groups below each base path that the path starts with: of two that serve it alike, the longer base path
/// comes last, and of two with the same one, the first of the document.
fn below_bases<'r, 'p>(
    bases: &'r Tree<Vec<Mount>>,
    path: &'p str,
    visit: &mut impl FnMut(&'r Mount, Step<'p>, &mut Raw<'r, 'p>),
) {
    let Some(path) = path.strip_prefix('/') else { return };
    // Of base paths of one length that lead to a group, the first has its literal segments first.
    let (mut first, mut others) = (None, HashSet::new());
    bases.walk(Step { rest: Some(path), literals: 0 }, &mut Vec::new(), &mut |mounts, step, raw| {
        let rest = step.rest?;
        for mount in mounts.iter().rev() {
            let this = (mount.group, rest.len());
            let is_new = first.is_none_or(|first| first != this && others.insert(this));
            if !is_new {
                continue;
            }
            first.get_or_insert(this);
            let in_base = raw.len();
            visit(mount, step, raw);
            raw.truncate(in_base);
        }
        None::<()>
    });
}

/// Whether a template can be read.
pub(super) fn check_template(template: &str) -> Result<(), BadTemplate> {
    template.split('/').try_for_each(|segment| Segment::parse(segment, &mut Vec::new()).map(drop))
}

/// A template, and with it how a path spells it that has to be percent-encoded.
fn spellings(template: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let encoded = Some(template::encoded(template)).filter(|encoded| encoded != template);
    encoded.map(Cow::Owned).into_iter().chain([Cow::Borrowed(template)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn router(templates: &[&str]) -> Router<usize> {
        let mut router = Router::new();
        let group = router.group(&[String::new()], &[]);
        for (index, template) in templates.iter().enumerate() {
            router.add(group, &Method::GET, template, index).unwrap();
        }
        router.sort();
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
    fn an_unreserved_character_of_a_literal_segment_equals_its_percent_encoding() {
        let router = router(&["/v1/~me/sub-items", "/v1/{id}/sub-items", "/v1/a%2Fb"]);
        for path in ["/v1/%7Eme/sub-items", "/%761/~me/sub%2ditems"] {
            assert_eq!(found(&router, path), Some((0, vec![])), "{path}");
        }
        assert_eq!(found(&router, "/v1/%7e/sub-items"), Some((1, vec!["id=%7e".to_owned()])));
        assert_eq!(found(&router, "/v1/%61%2Fb"), Some((2, vec![])));
        for path in ["/v1/a%252Fb", "/v1/a%2", "/v1/%ä%2Fb", "/v1/~me%2Fsub-items"] {
            assert_eq!(found(&router, path), None, "{path}");
        }
    }

    #[test]
    fn an_unreserved_character_beside_a_parameter_equals_its_percent_encoding() {
        let router = router(&["/files/{id}.json", "/r/{from}-{to}", "/v%31/{id}%2Fx", "/%7Eme", "/users/@{id}"]);
        let of = |path| found(&router, path).map(|(index, values)| format!("{index} {}", values.join(" ")));
        for path in ["/files/1.json", "/files/1%2Ejson", "/files/1%2e%6Ason"] {
            assert_eq!(of(path).as_deref(), Some("0 id=1"), "{path}");
        }
        assert_eq!(of("/files/a%2Fb%2E.json").as_deref(), Some("0 id=a%2Fb%2E"));
        assert_eq!(of("/r/1%2D2%2D3").as_deref(), Some("1 from=1 to=2%2D3"));
        assert_eq!(of("/v1/7%2Fx").as_deref(), Some("2 id=7"));
        assert_eq!(of("/~me").as_deref(), Some("3 "));
        for path in ["/files/%2Ejson", "/files/1%252Ejson", "/files/é%2", "/v1/7/x", "/users/%40me"] {
            assert_eq!(of(path), None, "{path}");
        }
        assert_eq!(divided("/r/{from}-{to}", "/r/1%2D2-3")[0].ways.len(), 2);
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
            "/api/v2/thing%2573/a/parts/c",
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
        let router = router(&["/f/{name}", "/f/{name}.json", "/r/{from}-{to}", "/v{version}/x"]);
        assert_eq!(found(&router, "/f/a.b.json"), Some((1, vec!["name=a.b".to_owned()])));
        assert_eq!(found(&router, "/f/.json"), Some((0, vec!["name=.json".to_owned()])));
        assert_eq!(found(&router, "/f/"), None);
        assert_eq!(found(&router, "/r/1-2-3"), Some((2, vec!["from=1".to_owned(), "to=2-3".to_owned()])));
        assert_eq!(found(&router, "/r/-2"), None);
        assert_eq!(found(&router, "/v2/x"), Some((3, vec!["version=2".to_owned()])));
    }

    #[test]
    fn base_paths_and_templates_that_fit_in_many_ways_are_tried_once_each() {
        // Every way through one, for each way through the other, took a minute.
        let ways = |count: usize| {
            let segment = |way: usize, place: usize| if way >> place & 1 == 1 { "/a" } else { "/{x}" };
            (0..1_usize << count).map(move |way| (0..count).map(|place| segment(way, place)).collect::<String>())
        };
        let mut router = Router::new();
        let group = router.group(&ways(10).collect::<Vec<_>>(), &[]);
        for (index, template) in ways(10).enumerate() {
            router.add(group, &Method::GET, &format!("{template}/end"), index).unwrap();
        }
        router.sort();
        assert_eq!(found(&router, &"/a".repeat(24)), None);
        assert_eq!(found(&router, &format!("{}/end", "/a".repeat(20))), Some((1023, vec![])));
    }

    #[test]
    fn an_open_base_path_serves_what_no_other_base_path_does() {
        let mut router = Router::new();
        let group = router.group(&[String::new()], &["/{v}".to_owned()]);
        for (index, template) in ["/{bucket}/{key}", "/{bucket}", "/info", "/a/{v}"].iter().enumerate() {
            router.add(group, &Method::GET, template, index).unwrap();
        }
        router.sort();
        assert_eq!(found(&router, "/b/info"), Some((0, vec!["bucket=b".to_owned(), "key=info".to_owned()])));
        assert_eq!(
            found(&router, "/x/b/k"),
            Some((0, vec!["v=x".to_owned(), "bucket=b".to_owned(), "key=k".to_owned()]))
        );
        assert_eq!(found(&router, "/x/a/k"), Some((3, vec!["v=x".to_owned(), "v=k".to_owned()])));
        assert_eq!(found(&router, "/x/y/b/k"), None);
        assert_eq!(router.methods("/x/b/k"), [Method::GET]);
    }

    #[test]
    fn a_broken_template_or_one_that_stands_there_twice_is_refused() {
        let mut router = router(&["/a/{id}"]);
        let group = router.group(&[String::new()], &[]);
        for template in ["a", "/a/{id", "/a/id}", "/a/{}", "/a/{{id}}"] {
            assert!(matches!(router.add(group, &Method::GET, template, 9), Err(NoRoute::Bad(_))), "{template}");
        }
        for template in ["/a/{id}", "/a/{name}"] {
            assert_eq!(router.add(group, &Method::GET, template, 9), Err(NoRoute::Taken(0)), "{template}");
        }
        assert_eq!(router.add(group, &Method::PUT, "/a/{name}", 9), Ok(()));
        assert_eq!(router.find("PUT", "/a/x").unwrap().raw, [("name", "x")]);
    }

    #[test]
    fn literal_segments_come_first_across_base_paths_and_the_names_of_both_stand_by_their_values() {
        let mut router = Router::new();
        let one = router.group(&["/a".to_owned(), "/{tenant}/v1".to_owned()], &[]);
        let other = router.group(&[String::new()], &[]);
        router.add(one, &Method::GET, "/{x}", 1).unwrap();
        router.add(one, &Method::GET, "/{x}/y", 2).unwrap();
        router.add(other, &Method::GET, "/a/b", 3).unwrap();
        router.add(other, &Method::GET, "/{z}/v1/{x}", 4).unwrap();
        assert_eq!(found(&router, "/a/b"), Some((3, vec![])));
        assert_eq!(found(&router, "/a/c"), Some((1, vec!["x=c".to_owned()])));
        assert_eq!(found(&router, "/t/v1/c/y"), Some((2, vec!["tenant=t".to_owned(), "x=c".to_owned()])));
        assert!(matches!(found(&router, "/t/v1/c"), Some((1 | 4, _))));
        assert_eq!(found(&router, "/a"), None);
        assert_eq!(router.methods("/a/b"), [Method::GET]);
    }
}
