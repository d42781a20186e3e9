//! Lists in messages.

/// About how many bytes of a list are shown: every finding of a body repeats it.
pub(super) const MAX_LIST: usize = 16 * 1024;

/// Joins what a message lists, up to [`MAX_LIST`].
pub(super) fn joined<T: AsRef<str>>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut list = String::new();
    for item in items {
        let item = item.as_ref();
        if !list.is_empty() {
            if list.len() + item.len() > MAX_LIST {
                list.push_str(", and others");
                break;
            }
            list.push_str(separator);
        }
        list.push_str(item);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_where_it_would_be_too_long() {
        assert_eq!(joined(["a", "b", "c"], " or "), "a or b or c");
        assert_eq!(joined(Vec::<String>::new(), ", "), "");
        let long = joined((0..100_000).map(|index| index.to_string()), ", ");
        assert!(long.starts_with("0, 1, 2, ") && long.ends_with(", and others"), "{long}");
        assert!((MAX_LIST - 16..MAX_LIST + 16).contains(&long.len()), "{}", long.len());
    }
}
