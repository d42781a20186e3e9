//! Texts that many exchanges share, each held once.

use std::{collections::HashMap, sync::Arc};

/// The number of a text in [`Names`]; 0 stands for none.
pub(crate) type Name = u32;

/// Texts by number.
#[derive(Debug)]
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Name>,
    /// Tags of operations.
    tags: HashMap<Name, Vec<String>>,
}

impl Names {
    /// Maximum texts. Clients choose some of them, so they are bounded; a further one is [`Self::OTHER`].
    const MAX: usize = 1 << 20;
    /// What stands for texts beyond the bound.
    const OTHER: &str = "…";

    pub(crate) fn number(&mut self, text: &str) -> Name {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text = if self.texts.len() < Self::MAX { text } else { Self::OTHER };
        let number = Name::try_from(self.texts.len()).unwrap_or(Name::MAX);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        *self.numbers.entry(text).or_insert(number)
    }

    /// Notes the tags of an operation.
    pub(crate) fn tag(&mut self, operation: &str, tags: Vec<String>) {
        let number = self.number(operation);
        self.tags.insert(number, tags);
    }

    /// The tags of an operation.
    pub(crate) fn tags(&self, operation: Name) -> &[String] {
        self.tags.get(&operation).map_or(&[], Vec::as_slice)
    }

    /// The number of a text, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// The number of a text that may be absent.
    pub(crate) fn number_of(&mut self, text: Option<&str>) -> Name {
        text.map_or(0, |text| self.number(text))
    }

    /// The text of a number; none of 0.
    pub(crate) fn text(&self, number: Name) -> Option<&Arc<str>> {
        (number != 0).then(|| self.texts.get(number as usize)).flatten()
    }
}

impl Default for Names {
    fn default() -> Self {
        Self { texts: vec!["".into()], numbers: HashMap::from([("".into(), 0)]), tags: HashMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_none_is_no_text() {
        let mut names = Names::default();
        let (a, b) = (names.number("a"), names.number("b"));
        assert_eq!((names.number("a"), a == b), (a, false));
        assert_eq!(names.text(b).map(|text| &**text), Some("b"));
        assert_eq!((names.number_of(None), names.number(""), names.text(0)), (0, 0, None));
    }
}
