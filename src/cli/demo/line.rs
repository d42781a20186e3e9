//! What the proxy and `verify` report about an exchange, in one form.

use contrail_exchange::finding::{Kind, Rule};
use serde_json::Value;

/// The line about an exchange, of the proxy or of `verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) status: u64,
    /// Rule ids, sorted.
    pub(super) rules: Vec<String>,
}

impl Line {
    /// The violations among the rules.
    pub(super) fn violations(&self) -> impl Iterator<Item = &str> {
        let violates = |id: &&str| id.parse::<Rule>().is_ok_and(|rule| rule.kind() == Kind::Violation);
        self.rules.iter().map(String::as_str).filter(violates)
    }

    /// Reads a line of the proxy or an exchange of `verify`; `None` if it is something else.
    pub(super) fn read(found: &Value) -> Option<Self> {
        let text = |name: &str| found.get(name).and_then(Value::as_str).map(str::to_owned);
        let url = text("url")?;
        let path = url.find("://").and_then(|at| url[at + 3..].find('/').map(|slash| at + 3 + slash));
        let mut rules: Vec<String> = found
            .get("findings")?
            .as_array()?
            .iter()
            .filter_map(|finding| finding.get("rule").and_then(Value::as_str).map(str::to_owned))
            .collect();
        rules.sort_unstable();
        Some(Self {
            method: text("method")?,
            target: url[path.unwrap_or(0)..].to_owned(),
            status: found.get("status").and_then(Value::as_u64).unwrap_or_default(),
            rules,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_read_without_its_origin_and_with_its_rules_in_order() {
        let found = json!({
            "method": "GET", "url": "https://tenant.example/api/v2/x?take=1", "status": 200,
            "findings": [{"rule": "query.parameter"}, {"rule": "auth.missing"}],
        });
        let line = Line::read(&found).unwrap();
        assert_eq!((line.target.as_str(), line.status), ("/api/v2/x?take=1", 200));
        assert_eq!(line.rules, ["auth.missing", "query.parameter"]);
        assert_eq!(Line::read(&json!({"summary": {}})), None);
    }
}
