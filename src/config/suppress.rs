//! The suppressions of `contrail.toml`.

use std::path::Path;

use contrail_exchange::{finding::Rule, suggest::nearest};
use contrail_report::Suppression;
use jiff::civil::Date;
use toml::{Table, Value};

use super::{ConfigError, error::at_line};

/// The name of the array of tables.
pub(super) const SUPPRESS: &str = "suppress";

const KEYS: [&str; 5] = ["rule", "operation", "at", "reason", "until"];

/// Reads the array; `line` gives the line of the table with this index.
pub(super) fn suppressions(
    path: &Path,
    value: &Value,
    line: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<Suppression>, ConfigError> {
    let wrong = |line, message: String| ConfigError::Suppression { path: path.to_owned(), line, message };
    let Some(tables) = value.as_array().filter(|items| items.iter().all(Value::is_table)) else {
        return Err(wrong(None, format!("write each suppression as a table below `[[{SUPPRESS}]]`")));
    };
    let one = |(index, table): (usize, &Table)| {
        let line = line(index);
        suppression(table, at_line(path, line)).map_err(|message| wrong(line, message))
    };
    tables.iter().filter_map(Value::as_table).enumerate().map(one).collect()
}

fn suppression(table: &Table, source: String) -> Result<Suppression, String> {
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = nearest(key, KEYS).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        return Err(format!("a suppression has no key `{key}`{hint}"));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be a text")),
    };
    let needed = |key: &str, what: &str| text(key)?.ok_or_else(|| format!("a suppression needs `{key}`: {what}"));
    let rule = needed("rule", "the rule of the findings")?;
    let rule: Rule = rule.parse().map_err(|unknown| format!("{unknown}"))?;
    let reason = needed("reason", "why the findings are accepted")?;
    let until: Option<Date> = match table.get("until") {
        Some(Value::Datetime(date)) => date.to_string().parse().ok().filter(|_| date.time.is_none()),
        Some(Value::String(date)) => date.parse().ok(),
        Some(_) => None,
        None => {
            return Err("a suppression needs `until`: the last day on which it holds, such as 2027-01-31".to_owned());
        }
    };
    let until = until.ok_or("`until` must be a date, such as 2027-01-31")?;
    Ok(Suppression { rule, operation: text("operation")?, at: text("at")?, reason, until, source })
}
