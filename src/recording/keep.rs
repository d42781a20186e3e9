//! Transient answers: those that a client is expected to ask again for.
//!
//! 429, and 408 or 5xx followed in the same recording by a request of the same identity with another outcome, stay in the
//! journal and out of the fixture, unless they are to be kept.

use std::{collections::HashMap, fmt, str::FromStr};

use super::identity::Identity;

/// Which transient answers a fixture keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of them.
    All,
    /// Those of one status.
    Status(u16),
    /// Those of 500 to 599.
    ServerErrors,
}

impl Keep {
    /// Whether `status` is kept by any of `list`.
    fn any(list: &[Self], status: u16) -> bool {
        list.iter().any(|keep| match keep {
            Self::All => true,
            Self::Status(kept) => *kept == status,
            Self::ServerErrors => (500..600).contains(&status),
        })
    }
}

/// A word that is no `--keep` value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKeep(String);

impl fmt::Display for UnknownKeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no kind of transient answer; write `all`, `429`, `408`, `5xx` or one status of it", self.0)
    }
}

impl std::error::Error for UnknownKeep {}

impl FromStr for Keep {
    type Err = UnknownKeep;

    fn from_str(text: &str) -> Result<Self, UnknownKeep> {
        match text {
            "all" => Ok(Self::All),
            "5xx" => Ok(Self::ServerErrors),
            _ => match text.parse::<u16>() {
                Ok(status @ (408 | 429 | 500..=599)) => Ok(Self::Status(status)),
                _ => Err(UnknownKeep(text.to_owned())),
            },
        }
    }
}

/// For each answer of one recording, in order, whether it is transient and left out.
pub(super) fn left_out<'a>(
    answers: impl DoubleEndedIterator<Item = (&'a Identity, u16)> + ExactSizeIterator,
    keep: &[Keep],
) -> Vec<bool> {
    // What comes later under the same identity: one outcome, or more than one.
    let mut later: HashMap<&Identity, Option<u16>> = HashMap::new();
    let mut out = vec![false; answers.len()];
    for (index, (identity, status)) in answers.enumerate().rev() {
        let followed = later.get(identity).is_some_and(|outcome| *outcome != Some(status));
        let transient = match status {
            429 => true,
            408 | 500..=599 => followed,
            _ => false,
        };
        out[index] = transient && !Keep::any(keep, status);
        later.entry(identity).and_modify(|held| *held = held.filter(|held| *held == status)).or_insert(Some(status));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        exchange::{Body, Headers, Request, Target},
        token::Credential,
    };

    fn identity(path: &str) -> Identity {
        Identity::of(&Request {
            method: http::Method::GET,
            target: Target::new("https", "a.example", path),
            version: http::Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
            credential: Credential::Missing,
        })
    }

    fn kept(answers: &[(&str, u16)], keep: &[Keep]) -> Vec<u16> {
        let answers: Vec<_> = answers.iter().map(|(path, status)| (identity(path), *status)).collect();
        let out = left_out(answers.iter().map(|(identity, status)| (identity, *status)), keep);
        answers.iter().zip(out).filter(|(_, out)| !out).map(|((_, status), _)| *status).collect()
    }

    #[test]
    fn a_429_is_left_out_wherever_it_stands() {
        assert_eq!(kept(&[("/a", 429), ("/a", 200), ("/b", 429)], &[]), [200]);
    }

    #[test]
    fn a_server_error_is_left_out_only_if_another_outcome_follows() {
        assert_eq!(kept(&[("/a", 503), ("/a", 200)], &[]), [200]);
        assert_eq!(kept(&[("/a", 503), ("/a", 500), ("/a", 408), ("/a", 200)], &[]), [200]);
        assert_eq!(kept(&[("/a", 503), ("/b", 200)], &[]), [503, 200]);
        assert_eq!(kept(&[("/a", 503), ("/a", 503)], &[]), [503, 503]);
        assert_eq!(kept(&[("/a", 503), ("/a", 503), ("/a", 200)], &[]), [200]);
        assert_eq!(kept(&[("/a", 200), ("/a", 503)], &[]), [200, 503]);
        assert_eq!(kept(&[("/a", 503), ("/a", 200), ("/a", 503)], &[]), [200, 503]);
    }

    #[test]
    fn every_other_refusal_is_kept() {
        let refusals = [("/a", 401), ("/a", 403), ("/a", 404), ("/a", 200)];
        assert_eq!(kept(&refusals, &[]), [401, 403, 404, 200]);
    }

    #[test]
    fn what_is_asked_for_is_kept() {
        let answers = [("/a", 429), ("/a", 503), ("/a", 408), ("/a", 200)];
        assert_eq!(kept(&answers, &["429".parse().unwrap()]), [429, 200]);
        assert_eq!(kept(&answers, &["5xx".parse().unwrap()]), [503, 200]);
        assert_eq!(kept(&answers, &["408".parse().unwrap(), "503".parse().unwrap()]), [503, 408, 200]);
        assert_eq!(kept(&answers, &[Keep::All]), [429, 503, 408, 200]);
        assert!("404".parse::<Keep>().is_err());
    }
}
