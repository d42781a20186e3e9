//! What a misspelt name was probably meant to be.

/// Longest name that is compared, in bytes.
const MAX_NAME: usize = 100;

/// The known name nearest to `name`, if few characters differ (Levenshtein): two, and one more for each three of its own.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let (distance, known) = known
        .into_iter()
        .map(|known| (strsim::levenshtein(name, known), known))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 + known.len() / 3 && distance < known.len()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_suggests_the_nearest_name_and_another_word_none() {
        let known = ["request.body", "auth.scope", "query.parameter", "required-scope"];
        for (slip, expected) in [
            ("request.bdy", Some("request.body")),
            ("auth.scopes", Some("auth.scope")),
            ("query.paramater", Some("query.parameter")),
            ("required-scopes", Some("required-scope")),
            ("kubernetes", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, known), expected, "{slip}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
