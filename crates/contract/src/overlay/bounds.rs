//! Bounds on what overlays do: no expression searches, and no action copies, without end.

use std::collections::HashSet;

use serde_json::Value;

/// Bound on the length of a `JSONPath` expression, in bytes.
const MAX_EXPRESSION: usize = 64 << 10;

/// Bound on the brackets and parentheses inside one another: the parser's time doubles with each.
const MAX_NESTING: usize = 12;

/// Bound on the nesting of the document that actions make.
const MAX_DEPTH: usize = 256;

/// What the actions of an overlay may still do.
pub(super) struct Budget {
    /// Values that expressions may visit.
    visits: u64,
    /// Memory that actions may add to the document, in bytes.
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { visits: 50_000_000, bytes: 64 << 20 }
    }
}

/// Refuses an expression that would take the parser long.
pub(super) fn readable(text: &str) -> Result<(), String> {
    if text.len() > MAX_EXPRESSION {
        return Err(format!("it is longer than {MAX_EXPRESSION} bytes"));
    }
    let (mut depth, mut deepest) = (0_usize, 0);
    for symbol in symbols(text) {
        match symbol {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > MAX_NESTING { Err(format!("more than {MAX_NESTING} brackets are inside one another")) } else { Ok(()) }
}

impl Budget {
    /// Pays for the search of a document by an expression.
    pub(super) fn search(&mut self, text: &str, document: &Value) -> Result<(), String> {
        let cost = visits(text, document);
        let left = self.visits.checked_sub(cost);
        self.visits = left.ok_or("it and the expressions before it visit too many values; name members on the way")?;
        Ok(())
    }

    /// Pays for merging `change` into these places.
    pub(super) fn add(&mut self, change: &Value, places: &[String]) -> Result<(), String> {
        let bytes = size(change).saturating_mul(places.len() as u64);
        self.bytes = self.bytes.checked_sub(bytes).ok_or("it and the actions before it add more than 64 MiB")?;
        let deepest = places.iter().map(|place| place.matches('/').count()).max().unwrap_or_default();
        if deepest + depth(change) > MAX_DEPTH {
            return Err(format!("it nests more than {MAX_DEPTH} values"));
        }
        Ok(())
    }
}

/// About how many values an expression visits, at most. Each descendant segment after the first may reach a value from
/// each that is around it, and a query of the whole document inside a filter runs for each candidate.
fn visits(text: &str, document: &Value) -> u64 {
    let (mut steps, mut descendants, mut wide, mut absolute) = (1_usize, 0_u32, false, 0_u32);
    let mut before = ' ';
    for (index, symbol) in symbols(text).enumerate() {
        match symbol {
            '.' if before == '.' => descendants += 1,
            '.' | '[' => steps += 1,
            '*' | ':' | '?' => wide = true,
            '$' if index > 0 => absolute += 1,
            _ => {}
        }
        before = symbol;
    }
    let levels = match (descendants, wide) {
        (0, false) => 0,
        (0, true) => steps - 1,
        _ => usize::MAX,
    };
    let values = count(document, levels);
    let around = depth(document) as u64;
    let again = (1..descendants).map(|_| around).chain((0..absolute).map(|_| values));
    let visits = again.fold(values.max(steps as u64), u64::saturating_mul);
    visits.saturating_mul(overlaps(text))
}

/// How often the selectors of segments may select one value.
fn overlaps(text: &str) -> u64 {
    struct Segment<'t> {
        start: usize,
        selectors: Vec<&'t str>,
        parentheses: usize,
    }
    let (mut open, mut overlaps): (Vec<Segment<'_>>, u64) = (Vec::new(), 1);
    for (at, symbol) in symbol_places(text) {
        match (symbol, open.last_mut()) {
            ('[', _) => open.push(Segment { start: at + 1, selectors: Vec::new(), parentheses: 0 }),
            ('(', Some(segment)) => segment.parentheses += 1,
            (')', Some(segment)) => segment.parentheses = segment.parentheses.saturating_sub(1),
            (',', Some(segment)) if segment.parentheses == 0 => {
                segment.selectors.push(text[segment.start..at].trim());
                segment.start = at + 1;
            }
            (']', Some(_)) => {
                let Some(Segment { start, mut selectors, .. }) = open.pop() else { continue };
                selectors.push(text[start..at].trim());
                let names: HashSet<&str> =
                    selectors.iter().filter(|one| one.starts_with(['\'', '"'])).copied().collect();
                // Names that differ select values that differ.
                if names.len() < selectors.len() {
                    overlaps = overlaps.saturating_mul(selectors.len() as u64);
                }
            }
            _ => {}
        }
    }
    overlaps
}

/// The characters of an expression outside of its string literals.
fn symbols(text: &str) -> impl Iterator<Item = char> {
    symbol_places(text).map(|(_, symbol)| symbol)
}

/// The same with their places.
fn symbol_places(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut escaped) = (None, false);
    text.char_indices().filter(move |(_, symbol)| {
        let inside = quote.is_some();
        match (quote, *symbol) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (None, open @ ('\'' | '"')) => quote = Some(open),
            _ => {}
        }
        !inside && quote.is_none()
    })
}

/// The values down to a level.
fn count(value: &Value, levels: usize) -> u64 {
    if levels == 0 {
        return 1;
    }
    1 + children(value).map(|child| count(child, levels - 1)).sum::<u64>()
}

fn depth(value: &Value) -> usize {
    1 + children(value).map(depth).max().unwrap_or_default()
}

/// About the memory of a value, in bytes.
fn size(value: &Value) -> u64 {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Object(members) => members.keys().map(String::len).sum(),
        _ => 0,
    };
    (size_of::<Value>() + own) as u64 + children(value).map(size).sum::<u64>()
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values()),
        Value::Array(items) => Box::new(items.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_visits_of_an_expression_grow_with_what_it_may_reach() {
        // 1 + 2 + 4 values, three levels.
        let document = json!({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}});
        for (text, expected) in [
            ("$.a.x", 3),
            ("$['a, b', 'c*'][\"it's [?\"]", 3),
            ("$.*", 3),
            ("$.*.x", 7),
            ("$..x", 7),
            ("$..*..x", 7 * 3),
            ("$[?@.x == $.a.x]", 7 * 7),
            ("$[?match(@.x, 'a') && length(@.y) > 1]", 7),
            ("$[*, *][*, 'a', 'b']", 7 * 6),
            ("$['a', 'a']['x', \"y\"]", 3 * 2),
        ] {
            assert_eq!(visits(text, &document), expected, "{text}");
        }
    }
}
