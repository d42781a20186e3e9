//! Counts in words, for people.

use std::fmt::Display;

/// `1 exchange`, `2 exchanges`; `1 entry`, `2 entries`; `1 miss`, `2 misses`. `one` is one of them.
pub fn plural<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) {
        return format!("1 {one}");
    }
    match one.strip_suffix('y').filter(|stem| !stem.ends_with('a')) {
        Some(stem) => format!("{count} {stem}ies"),
        None if one.ends_with('s') => format!("{count} {one}es"),
        None => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn one_of_a_thing_is_in_the_singular() {
        assert_eq!(plural(1_u64, "exchange"), "1 exchange");
        assert_eq!(plural(0_u64, "exchange"), "0 exchanges");
        assert_eq!(plural(1_usize, "entry"), "1 entry");
        assert_eq!(plural(2_usize, "body"), "2 bodies");
        assert_eq!(plural(2_u64, "day"), "2 days");
        assert_eq!(plural(3_u64, "replay miss"), "3 replay misses");
    }
}
