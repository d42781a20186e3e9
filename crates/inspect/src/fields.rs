//! Header fields as columns of the list.

use serde_json::{Map, Value};

use super::{inspector::Inspector, store::Store, summary::Summary};

/// Maximum characters of a cell.
const MAX_TEXT: usize = 200;

/// The values of fields of an exchange, those of its request first.
pub(crate) fn of(inspector: &Inspector, store: &Store, summary: &Summary, names: &[&str]) -> Map<String, Value> {
    let Ok((judged, _)) = store.held(summary) else { return Map::new() };
    let (request, response) = (&judged.exchange.request, &judged.exchange.response);
    let cell = |name: &&str| {
        let ofs = [Some(&request.headers), response.as_ref().map(|response| &response.headers)];
        let values = ofs.into_iter().flatten().flat_map(|headers| headers.get_all(name));
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        // Cut after secrets are out: half of one is not recognised.
        let text: String = inspector.clean(&values.join(", ")).chars().take(MAX_TEXT).collect();
        (!values.is_empty()).then(|| ((*name).to_owned(), text.into()))
    };
    names.iter().filter_map(cell).collect()
}
