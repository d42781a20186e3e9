//! Where the bytes of a message belong in their trail: the id by which the broker drops duplicates.

use std::fmt;

/// Bytes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The id of the trail; 32 hexadecimal digits.
    pub(super) trail: String,
    /// The number of the segment.
    pub(super) segment: u64,
    /// The first byte in the segment.
    pub(super) offset: u64,
    /// How many bytes.
    pub(super) length: u64,
}

/// Digits of a trail's id.
const DIGITS: usize = 32;

impl Place {
    /// The place that a message id names; `None` for an id that contrail does not make. The trail's id becomes the name
    /// of a folder, and anybody may write to a stream.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let mut parts = id.split('-');
        let trail = parts.next().filter(|trail| is_trail(trail))?.to_owned();
        let mut number = || parts.next()?.parse().ok();
        let place = Self { trail, segment: number()?, offset: number()?, length: number()? };
        place.offset.checked_add(place.length)?;
        // One id for one place, so that "+1" and "01" are none.
        (place.to_string() == id).then_some(place)
    }

    /// The byte behind it.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.length
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}", self.trail, self.segment, self.offset, self.length)
    }
}

/// Whether a text has the form of a trail's id.
pub(super) fn is_trail(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_place_and_no_other_text_names_any() {
        let trail = "0123456789abcdef".repeat(2);
        let id = format!("{trail}-3-4096-17");
        let place = Place::parse(&id).unwrap();
        assert_eq!((place.segment, place.offset, place.end()), (3, 4096, 4113));
        assert_eq!(place.to_string(), id);
        let max = u64::MAX;
        for other in [
            String::new(),
            trail.clone(),
            format!("{trail}-3-4096"),
            format!("{trail}-3-4096-17-1"),
            format!("{trail}-03-4096-17"),
            format!("{trail}-+3-4096-17"),
            format!("{trail}-3-{max}-1"),
            format!("{}-3-4096-17", trail.to_uppercase()),
            format!("{}-3-4096-17", &trail[1..]),
            "../../../../../../../../etc/passwd-3-4096-17".to_owned(),
        ] {
            assert_eq!(Place::parse(&other), None, "{other}");
        }
    }
}
