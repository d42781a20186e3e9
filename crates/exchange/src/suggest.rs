//! The known name that a misspelt one probably means.

/// Maximum length of a name that is compared, in bytes.
const MAX_NAME: usize = 100;

/// The known name nearest to `name`, if at most a third of the shorter name differs (swapped neighbours count once).
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let (distance, known) = known
        .into_iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .min_by_key(|(distance, _)| *distance)?;
    let shorter = name.len().min(known.len());
    (distance <= (shorter / 3).max(1) && distance < shorter).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_suggests_the_nearest_name_and_another_word_none() {
        let known = ["request.body", "auth.scope", "query.parameter", "required-scope", "pool", "watch"];
        for (slip, expected) in [
            ("request.bdy", Some("request.body")),
            ("auth.scopes", Some("auth.scope")),
            ("query.paramater", Some("query.parameter")),
            ("required-scopes", Some("required-scope")),
            ("wacth", Some("watch")),
            ("poool", Some("pool")),
            ("foo", None),
            ("kubernetes", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, known), expected, "{slip}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
