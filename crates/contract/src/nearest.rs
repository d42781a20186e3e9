//! The documented operation that a request of none probably means.

use contrail_exchange::suggest::nearest as nearest_name;

use super::{ContractDocument, route::takes};

/// Maximum operations, and base paths of a document, that are compared with a path.
const MAX_OPERATIONS: usize = 5_000;
const MAX_BASES: usize = 4;

/// Method and path of the nearest documented operation: a segment of its path is misspelt or lacks the text beside a
/// parameter, slashes are too many or too few, or its base path is missing. Of several, one with the method of the
/// request comes first.
pub(super) fn nearest<'a>(
    documents: impl IntoIterator<Item = &'a ContractDocument>,
    method: &str,
    path: &str,
) -> Option<String> {
    let path: Vec<&str> = segments(path).collect();
    let mut best: Option<(usize, String)> = None;
    for document in documents {
        for operation in document.model().operations.iter().take(MAX_OPERATIONS) {
            let own = &*operation.path;
            for base in document.base_paths().iter().take(MAX_BASES) {
                let whole = || segments(base).chain(segments(own));
                let is_without_base = || !base.is_empty() && differing(segments(own), 0, &path) == Some(0);
                let differing = if whole().count() == path.len() {
                    differing(whole(), segments(base).count(), &path)
                } else {
                    is_without_base().then_some(1)
                };
                let rank = differing.map(|differing| 2 * differing + usize::from(operation.method.as_str() != method));
                if let Some(rank) = rank.filter(|rank| best.as_ref().is_none_or(|(held, _)| rank < held)) {
                    best = Some((rank, format!("{} {base}{own}", operation.method)));
                }
            }
        }
    }
    best.map(|(_, text)| text)
}

/// The segments of a path that are not empty.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// In how many segments a path differs from a template, none or one; `None` where it is another path. The first segments
/// of the template are those of the base path.
fn differing<'t>(mut template: impl Iterator<Item = &'t str>, in_base: usize, path: &[&str]) -> Option<usize> {
    let (mut differing, mut equal, mut is_templated) = (0, 0, false);
    for (index, segment) in path.iter().enumerate() {
        let documented = template.next()?;
        if documented == *segment {
            equal += usize::from(index >= in_base);
            continue;
        }
        if documented.contains('{') {
            if !takes(documented, segment) {
                (differing, is_templated) = (differing + 1, true);
            }
        } else {
            nearest_name(segment, [documented])?;
            differing += 1;
        }
    }
    // What should stand beside a parameter shows little: some other segment has to be the same.
    let is_near = template.next().is_none() && differing <= 1 && (equal > 0 || !is_templated);
    is_near.then_some(differing)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Contract;

    #[test]
    fn a_path_that_differs_little_is_that_of_an_operation_and_another_one_is_of_none() {
        let document = |servers: Value, paths: Value| {
            Contract::from_document(json!({"openapi": "3.1.0", "info": {}, "servers": servers, "paths": paths}))
                .unwrap()
        };
        let contract = document(
            json!([{"url": "https://x.example/v1"}]),
            json!({"/customers": {"get": {}, "post": {}}, "/customers/{id}": {"get": {}},
                "/Messages/{Sid}.json": {"get": {}}, "/{any}.txt": {"get": {}}}),
        );
        let near = |method: &str, path: &str| nearest(contract.documents(), method, path);
        for (method, path, expected) in [
            ("GET", "/customers", Some("GET /v1/customers")),
            ("POST", "/customers", Some("POST /v1/customers")),
            ("PUT", "/customers", Some("GET /v1/customers")),
            ("GET", "/v1/customer", Some("GET /v1/customers")),
            ("GET", "/v1/customers/", Some("GET /v1/customers")),
            ("GET", "/v1//customers/5", Some("GET /v1/customers/{id}")),
            ("GET", "/v1/custmers/5", Some("GET /v1/customers/{id}")),
            ("GET", "/v2/customers/5", Some("GET /v1/customers/{id}")),
            ("GET", "/v1/Messages/SM1", Some("GET /v1/Messages/{Sid}.json")),
            ("GET", "/v2/custmers/5", None),
            ("GET", "/v1/customers/5/6", None),
            ("GET", "/favicon.ico", None),
            ("GET", "/v1/orders", None),
            ("GET", "/", None),
        ] {
            assert_eq!(near(method, path).as_deref(), expected, "{method} {path}");
        }
    }
}
