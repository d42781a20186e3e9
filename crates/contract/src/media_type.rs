//! Documented media types: which messages each is for, and which is the most specific.
//!
//! OpenAPI 3.1.1, section 4.8.14: "For responses that match multiple keys, only the most specific key is applicable."

use std::{cmp::Reverse, fmt};

use contrail_exchange::media;

/// A media type or a range of them, with its parameters.
#[derive(Debug)]
pub struct MediaRange {
    /// As the document writes it.
    pub name: Box<str>,
    /// Type and subtype, lower case; `*` stands for anything (`text/*`, `*/*`, `application/*+json`).
    essence: Box<str>,
    /// Names in lower case, and values.
    parameters: Box<[(Box<str>, Box<str>)]>,
}

impl fmt::Display for MediaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl MediaRange {
    /// `None` for a text that is no media type.
    pub fn parse(text: &str) -> Option<Self> {
        let essence = media::essence(text.as_bytes());
        let (kind, subtype) = essence.split_once('/')?;
        if kind.is_empty() || subtype.is_empty() {
            return None;
        }
        let parameters = media::parameters(text.as_bytes()).filter(|(name, _)| !name.is_empty() && !is_free(name));
        let parameters = parameters.map(|(name, value)| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(name).to_ascii_lowercase().into(), text(&value).into())
        });
        // Without parameters it is named by its essence, as most documents write it.
        let parameters: Box<[_]> = parameters.collect();
        let name = if parameters.is_empty() { &*essence } else { text.trim() };
        Some(Self { name: name.into(), essence: (*essence).into(), parameters })
    }

    /// Any media type.
    pub fn any() -> Self {
        Self { name: "*/*".into(), essence: "*/*".into(), parameters: Box::default() }
    }

    /// Type and subtype, without parameters.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// Whether it has parameters that distinguish it from its essence.
    pub fn has_parameters(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// How specific it is for a media type; `None` if it does not cover it. `value` is the whole `Content-Type`. With
    /// `suffixes`, `application/json` also covers any `+json` type, as the least specific.
    pub fn rank(&self, media_type: &str, value: &[u8], suffixes: bool) -> Option<usize> {
        let by_suffix = || suffixes && *self.essence == *media::JSON && media::has_json_suffix(media_type);
        self.rank_alone(media_type, value).or_else(|| by_suffix().then_some(0))
    }

    fn rank_alone(&self, media_type: &str, value: &[u8]) -> Option<usize> {
        let essence = if *self.essence == *media_type {
            3
        } else {
            let (before, after) = self.essence.split_once('*')?;
            match after {
                "/*" if !media_type.is_empty() => 0,
                "/*" => return None,
                _ if media_type.len() > before.len() + after.len()
                    && media_type.starts_with(before)
                    && media_type.ends_with(after) =>
                {
                    if after.is_empty() {
                        1
                    } else {
                        2
                    }
                }
                _ => return None,
            }
        };
        let holds = |(name, wanted): &(Box<str>, Box<str>)| {
            media::parameter(value, name).is_some_and(|held| held.eq_ignore_ascii_case(wanted.as_bytes()))
        };
        self.parameters.iter().all(holds).then_some(essence << 8 | self.parameters.len())
    }
}

/// What belongs to the most specific range for a media type, as [`MediaRange::rank`] has it; of two that are as specific,
/// to the first.
pub fn most_specific<'r, T>(
    ranges: impl Iterator<Item = (&'r MediaRange, T)>,
    media_type: &str,
    value: &[u8],
    suffixes: bool,
) -> Option<T> {
    let ranked = ranges.filter_map(|(range, of)| Some((range.rank(media_type, value, suffixes)?, of)));
    ranked.min_by_key(|(rank, _)| Reverse(*rank)).map(|(_, of)| of)
}

/// Parameters that do not select the format: the charset of a text, the boundary of a multipart body.
fn is_free(name: &[u8]) -> bool {
    ["charset", "boundary", "q"].iter().any(|free| name.eq_ignore_ascii_case(free.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(range: &str, value: &str) -> Option<usize> {
        MediaRange::parse(range).unwrap().rank(&media::essence(value.as_bytes()), value.as_bytes(), false)
    }

    #[test]
    fn a_range_covers_its_media_types_and_no_others() {
        for (range, value, covered) in [
            ("application/json", "application/json; charset=utf-8", true),
            ("application/json; charset=utf-8", "application/json", true),
            ("Application/JSON", "application/json", true),
            ("application/json", "application/problem+json", false),
            ("application/*+json", "application/problem+json", true),
            ("application/*+json", "application/+json", false),
            ("application/*", "application/json", true),
            ("text/*", "application/json", false),
            ("*/*", "text/plain", true),
            ("*/*", "", false),
            ("application/json;stream=watch", "application/json", false),
            ("application/json;stream=watch", "application/json; Stream=\"watch\"", true),
            ("application/json;stream=watch", "application/json; stream=list", false),
            ("application/json; profile=\"a;b=c\"", "application/json; profile=\"a;b=c\"", true),
            ("application/json; profile=\"a;b=c\"", "application/json; profile=a", false),
        ] {
            assert_eq!(rank(range, value).is_some(), covered, "{range} for {value}");
        }
        for text in ["", "json", "application/", "/json"] {
            assert!(MediaRange::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_more_specific_of_two_ranges_ranks_higher() {
        let value = "application/vnd.a+json;v=1";
        let ranges =
            ["*/*", "application/*", "application/*+json", "application/vnd.a+json", "application/vnd.a+json;v=1"];
        let ranks: Vec<_> = ranges.iter().map(|range| rank(range, value).unwrap()).collect();
        assert!(ranks.is_sorted_by(|one, other| one < other), "{ranks:?}");
    }
}
