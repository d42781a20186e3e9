//! Short texts that are compared often: by their length and their ends, which needs no call and mostly no look at the text.

/// How long a text is, and its first and last eight bytes. Texts of up to sixteen bytes are the same where these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ends {
    length: usize,
    first: u64,
    last: u64,
}

impl Ends {
    /// So many bytes are told by the ends alone.
    const TOLD: usize = 16;

    #[inline]
    fn of(text: &[u8]) -> Self {
        let (first, last) = match (text.first_chunk(), text.last_chunk(), text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last), ..) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            (.., Some(first), Some(last)) => (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()),
            _ => match *text {
                [one, two, three] => (u32::from_le_bytes([one, two, three, 0]).into(), 0),
                [one, two] => (u16::from_le_bytes([one, two]).into(), 0),
                [one] => (one.into(), 0),
                _ => (0, 0),
            },
        };
        Self { length: text.len(), first, last }
    }
}

/// A text that came, to be compared with several.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    ends: Ends,
    text: &'a [u8],
}

impl<'a> Given<'a> {
    #[inline]
    pub(crate) fn of(text: &'a [u8]) -> Self {
        Self { ends: Ends::of(text), text }
    }
}

/// A text that stays. Shorter ones come first; of the same length, the order is none that means something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Literal {
    ends: Ends,
    text: Box<str>,
}

impl Literal {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this is the text that came.
    #[inline]
    pub(crate) fn is(&self, given: Given<'_>) -> bool {
        let words = |text| <[u8]>::as_chunks::<8>(text).0;
        self.ends == given.ends
            && (self.ends.length <= Ends::TOLD || words(self.text.as_bytes()).iter().eq(words(given.text)))
    }

    /// Where the text that came stands among things that are sorted by their literals, or where it would.
    pub(crate) fn find<T>(sorted: &[T], literal: impl Fn(&T) -> &Self, given: Given<'_>) -> Result<usize, usize> {
        let start = sorted.partition_point(|held| literal(held).ends < given.ends);
        let same = sorted[start..].iter().take_while(|held| literal(held).ends == given.ends);
        for (after, held) in same.enumerate() {
            if literal(held).is(given) {
                return Ok(start + after);
            }
        }
        Err(start)
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self { ends: Ends::of(text.as_bytes()), text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_literal_is_its_own_text_and_no_other(left in "[ab]{0,40}", at in any::<prop::sample::Index>(), length in 0_usize..40) {
            let literal = Literal::from(&*left);
            prop_assert!(literal.is(Given::of(left.as_bytes())));
            let mut other = left.clone().into_bytes();
            if let Some(byte) = at.index(40).checked_rem(left.len()).and_then(|at| other.get_mut(at)) {
                *byte ^= 1;
                prop_assert!(!literal.is(Given::of(&other)));
            }
            let cut = &left[..length.min(left.len())];
            prop_assert_eq!(literal.is(Given::of(cut.as_bytes())), cut == left);
        }

        #[test]
        fn each_of_many_literals_is_found_and_what_is_none_of_them_is_not(texts in prop::collection::vec("[ab]{0,3}|[ab]{8}c{0,9}[ab]d{8}", 0..40), other in "[ab]{8}[cb]{0,9}[ab]d{8}") {
            let mut literals: Vec<Literal> = texts.iter().map(|text| Literal::from(&**text)).collect();
            literals.sort();
            let find = |text: &str| Literal::find(&literals, |literal| literal, Given::of(text.as_bytes()));
            for text in &texts {
                prop_assert_eq!(literals[find(text).unwrap()].as_str(), text);
            }
            match find(&other) {
                Ok(at) => prop_assert_eq!(literals[at].as_str(), other),
                Err(at) => {
                    prop_assert!(!texts.contains(&other));
                    literals.insert(at, Literal::from(&*other));
                    prop_assert!(literals.is_sorted_by_key(|literal| literal.ends));
                }
            }
        }
    }
}
