//! Bounds that redaction's labels have to fit, read from the contract's document.

use std::{fmt, sync::Arc};

use contrail_contract::{Contract, below, follow, refs::at, schemas_at};
use contrail_exchange::{json::pointer_tokens, label::Bounds};
use contrail_redact::Shapes;
use serde_json::{Map, Value};

/// The length bounds of a contract's schemas. Alternatives are taken together: a label fits all of them where it can.
pub struct ContractShapes(Arc<Contract>);

impl ContractShapes {
    /// Of this contract.
    #[must_use]
    pub fn new(contract: Arc<Contract>) -> Self {
        Self(contract)
    }
}

impl fmt::Debug for ContractShapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContractShapes")
    }
}

impl Shapes for ContractShapes {
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds {
        let mut bounds = Bounds::default();
        for document in self.0.documents() {
            let operations = document.model().operations.iter().filter(|one| *one.id == *operation);
            let places =
                operations.flat_map(|operation| schemas(document.document(), &operation.at, response, pointer));
            for schema in places.filter_map(|place| at(document.document(), &place)) {
                let length =
                    |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
                bounds.min = bounds.min.max(length("minLength"));
                bounds.max = match (bounds.max, length("maxLength")) {
                    (Some(held), Some(new)) => Some(held.min(new)),
                    (held, new) => held.or(new),
                };
            }
        }
        bounds
    }
}

/// JSON pointers of the schemas of a place in an operation's bodies, with all that they are composed of.
fn schemas(document: &Value, operation: &str, response: bool, pointer: &str) -> Vec<String> {
    let names = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect()
    };
    let messages = if response {
        let responses = below(operation, &["responses"]);
        names(at(document, &responses)).iter().map(|key| below(&responses, &[key])).collect()
    } else {
        vec![below(operation, &["requestBody"])]
    };
    let mut schemas = Vec::new();
    for message in messages {
        let found = at(document, &message).and_then(|found| follow(document, &message, found).ok());
        let Some((place, found)) = found else { continue };
        schemas.extend(names(found.get("content")).iter().map(|name| below(&place, &["content", name, "schema"])));
    }
    for token in pointer_tokens(pointer) {
        schemas = schemas_at::of_member(document, &schemas_at::composed(document, schemas), &token);
    }
    schemas_at::composed(document, schemas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_learns_the_bounds_of_its_field() {
        let shapes = ContractShapes::new(Contract::built_in());
        let bounds = |response, pointer| shapes.bounds("updateVerifiableCredentialTemplate", response, pointer);
        assert_eq!(bounds(false, "/name"), Bounds { min: Some(1), max: Some(255) });
        assert_eq!(bounds(true, "/custom_certificate_authority"), Bounds { min: Some(1), max: Some(4096) });
        assert_eq!(bounds(true, "/nothing"), Bounds::default());
        assert_eq!(shapes.bounds("getRateLimitPolicy", true, "/id").max, Some(26));
    }
}
