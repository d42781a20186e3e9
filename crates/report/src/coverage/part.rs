//! The kinds of parts, and the coverage that a command asks for.

use std::str::FromStr;

use contrail_exchange::suggest::nearest;
use serde::Serialize;

/// A kind of part of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Operations.
    Operations,
    /// Statuses of an operation's responses, as the document lists them: `200`, `4XX`, `default`.
    Statuses,
    /// Parameters of an operation.
    Parameters,
    /// Media types of a request body or of a response.
    MediaTypes,
    /// Fields of objects.
    Fields,
    /// Values of enumerations, constants, and known values.
    EnumValues,
    /// Branches of `oneOf` and `anyOf`.
    Variants,
}

impl Part {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Operations,
        Self::Statuses,
        Self::Parameters,
        Self::MediaTypes,
        Self::Fields,
        Self::EnumValues,
        Self::Variants,
    ];

    /// The word in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Statuses => "statuses",
            Self::Parameters => "parameters",
            Self::MediaTypes => "media-types",
            Self::Fields => "fields",
            Self::EnumValues => "enum-values",
            Self::Variants => "variants",
        }
    }

    /// The same for a sentence: `media types`.
    #[must_use]
    pub fn words(self) -> String {
        self.name().replace('-', " ")
    }
}

/// How many parts of one kind were touched, of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Those that were.
    pub touched: usize,
    /// All of them.
    pub of: usize,
}

/// The least share of the parts of one kind that has to be touched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Minimum {
    /// Which kind.
    pub part: Part,
    /// From 0 to 1.
    pub share: f64,
}

impl Minimum {
    /// Whether these counts reach it. Where the document has no such part, they do.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // no document has 2^52 parts
    pub fn is_met(&self, counts: Counts) -> bool {
        counts.touched as f64 >= self.share * counts.of as f64
    }
}

impl FromStr for Minimum {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let Some((name, share)) = word.split_once('=') else {
            return Err("expected PART=SHARE, such as operations=0.8".to_owned());
        };
        let Some(part) = Part::ALL.into_iter().find(|part| part.name() == name) else {
            let names = Part::ALL.map(Part::name);
            return Err(match nearest(name, names) {
                Some(part) => format!("`{name}` is not a part of a contract; did you mean `{part}`?"),
                None => format!("`{name}` is not a part of a contract; there are {}", names.join(", ")),
            });
        };
        let number = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        number.map(|share| Self { part, share }).ok_or_else(|| format!("expected a share from 0 to 1, not `{share}`"))
    }
}
