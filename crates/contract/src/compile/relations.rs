//! Rules across messages: `x-contrail-relations`.

use serde_json::Value;

use super::members::{child, strings, text};
use crate::{ContractError, error::invalid, model::Relation};

/// Those of an operation with these parameters.
pub(super) fn relations(
    operation: &Value,
    at: &str,
    parameters: &[(String, &Value)],
) -> Result<Vec<Relation>, ContractError> {
    let Some(relations) = operation.get("x-contrail-relations") else { return Ok(Vec::new()) };
    let at = child(at, "x-contrail-relations");
    let Some(relations) = relations.as_array() else { return Err(invalid(&at, "it has to be a list")) };
    let mut compiled = Vec::new();
    for (index, relation) in relations.iter().enumerate() {
        let at = format!("{at}/{index}");
        let parameter = |place: &str| {
            let name = text(relation, &at, "parameter")?;
            let found = parameters.iter().find(|(_, parameter)| {
                parameter.get("name").and_then(Value::as_str) == Some(name)
                    && parameter.get("in").and_then(Value::as_str) == Some(place)
            });
            match found {
                Some((_, parameter)) => Ok((name, *parameter)),
                None => Err(invalid(&at, format!("the operation documents no {place} parameter `{name}`"))),
            }
        };
        let pointer = |value: &str| {
            if value.is_empty() || value.starts_with('/') {
                Ok(value.into())
            } else {
                Err(invalid(&at, format!("`{value}` is not a JSON pointer")))
            }
        };
        compiled.push(match text(relation, &at, "kind")? {
            "identity" => Relation::Identity {
                parameter: parameter("path")?.0.into(),
                response: pointer(text(relation, &at, "response")?)?,
            },
            "page-size" => {
                let (name, parameter) = parameter("query")?;
                Relation::PageSize {
                    parameter: name.into(),
                    default: parameter.pointer("/schema/default").and_then(Value::as_u64),
                    response: pointer(text(relation, &at, "response")?)?,
                }
            }
            "echo" => {
                let fields = relation.get("fields").ok_or_else(|| invalid(&at, "an echo needs `fields`"))?;
                let fields = strings(fields, &child(&at, "fields"))?;
                Relation::Echo { fields: fields.into_iter().map(pointer).collect::<Result<_, _>>()? }
            }
            other => {
                return Err(invalid(
                    &at,
                    format!("`{other}` is not a relation; there are identity, page-size and echo"),
                ));
            }
        });
    }
    Ok(compiled)
}
