//! What the tenant holds when it starts: the built-in data (`seed.json`) or a file of the same shape.
//!
//! The clock and every id come from here, so that two runs from one seed give the same answers, byte for byte. Only
//! tokens (their key is made at start) and, unless the seed says otherwise, the reset of a rate limit belong to the
//! run.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The built-in seed, as text.
pub const BUILT_IN: &str = include_str!("seed.json");

/// Everything that a tenant holds. See `docs/sandbox.md` for the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// The tenant's own host name; its tokens say `https://<tenant>/` as issuer.
    pub tenant: String,
    /// The instant that the first change carries; the n-th change of a resource is n − 1 seconds later.
    #[serde(deserialize_with = "instant")]
    pub clock: Timestamp,
    /// Which clock `X-RateLimit-Reset` uses.
    #[serde(default)]
    pub rate_limit_reset: ResetClock,
    /// Who may ask for tokens.
    pub clients: Vec<Client>,
    /// Answered as they stand here (4.1).
    #[serde(default)]
    pub rate_limit_policies: Vec<Resource>,
    /// Answered as they stand here (4.2).
    #[serde(default)]
    pub connection_profile_templates: Vec<Resource>,
    /// Connections and their synchronized groups (4.3).
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Event streams and their failed events (4.4).
    #[serde(default)]
    pub event_streams: Vec<EventStream>,
    /// Answered and changed (4.5).
    #[serde(default)]
    pub verifiable_credential_templates: Vec<Resource>,
    /// Actions and what they do to a payload (4.6).
    #[serde(default)]
    pub actions: Vec<Action>,
}

/// Which clock `X-RateLimit-Reset` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResetClock {
    /// The wall's: epoch seconds at which the window really ends.
    #[default]
    Wall,
    /// The seed's `clock` plus the window, the same in every run, for recordings that must not change.
    Seed,
}

/// A client of the tenant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// `client_secret`; made at start where the seed holds none.
    #[serde(default)]
    pub secret: Option<String>,
    /// The sandbox generated the secret, so it may be printed; a seed's never is.
    #[serde(skip)]
    pub generated: bool,
    /// What its tokens carry.
    pub scopes: Vec<String>,
    /// Whether it is a global client (section 7: others get 401).
    #[serde(default = "yes")]
    pub global: bool,
    /// Seconds until its tokens expire; 0 gives tokens that are expired when they come.
    #[serde(default = "one_day")]
    pub token_lifetime: u32,
    /// How many requests it may send; as many as it likes if absent.
    #[serde(default)]
    pub rate_limit: Option<RateLimit>,
}

/// So many requests in a window that starts with the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Requests per window.
    pub requests: u32,
    /// Length of the window.
    pub seconds: u32,
}

/// An object with an id; the rest is the seed's own business (it may even break the document).
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Resource {
    /// Its `id`.
    pub id: String,
    /// All of it.
    pub body: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for Resource {
    type Error = &'static str;

    fn try_from(body: Map<String, Value>) -> Result<Self, Self::Error> {
        match body.get("id") {
            Some(Value::String(id)) => Ok(Self { id: id.clone(), body }),
            _ => Err("a resource needs an `id`, a string"),
        }
    }
}

/// A connection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Its id.
    pub id: String,
    /// Its synchronized groups.
    pub groups: Groups,
}

/// Ids of groups: a list, or how many to make up.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub struct Groups(pub Vec<String>);

impl TryFrom<Value> for Groups {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        const SHAPE: &str = "`groups` is a list of ids or a number, at most 100000";
        match value {
            Value::Number(count) => match count.as_u64() {
                Some(count @ 0..=100_000) => Ok(Self((1..=count).map(|n| format!("grp_{n:06}")).collect())),
                _ => Err(SHAPE),
            },
            Value::Array(ids) => ids
                .into_iter()
                .map(|id| match id {
                    Value::String(id) => Ok(id),
                    _ => Err(SHAPE),
                })
                .collect::<Result<_, _>>()
                .map(Self),
            _ => Err(SHAPE),
        }
    }
}

/// An event stream.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStream {
    /// Its id.
    pub id: String,
    /// Events that failed.
    #[serde(default)]
    pub failed_events: Vec<FailedEvent>,
}

/// An event that failed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedEvent {
    /// Its id.
    pub id: String,
    /// The redelivery at which it arrives, and is no failed event any more; it fails for ever if absent.
    #[serde(default)]
    pub redeliveries: Option<u32>,
}

/// An action.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its id.
    pub id: String,
    /// Members that a run sets in the payload.
    #[serde(default)]
    pub sets: Map<String, Value>,
}

/// RFC 3339, as in `2026-01-15T09:30:00Z`.
fn instant<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

const fn yes() -> bool {
    true
}

const fn one_day() -> u32 {
    86_400
}

/// Why a file is no seed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SeedError {
    /// It cannot be read.
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// It is not JSON of a seed's shape.
    Shape {
        /// Which file; `None` for the built-in data.
        file: Option<PathBuf>,
        /// Where, and what was expected.
        source: serde_json::Error,
    },
    /// It names something twice, or lacks what a tenant cannot do without.
    Senseless {
        /// Which file; `None` for the built-in data.
        file: Option<PathBuf>,
        /// What is wrong, and where.
        what: String,
    },
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |file: &Option<PathBuf>| {
            file.as_ref().map_or("the built-in seed".into(), |file| format!("`{}`", file.display()))
        };
        match self {
            Self::Unreadable { file, .. } => write!(f, "cannot read the seed `{}`", file.display()),
            Self::Shape { file, .. } => {
                write!(f, "{} is not a seed for the sandbox (`--print-seed` shows one that is)", name(file))
            }
            Self::Senseless { file, what } => write!(f, "{}: {what}", name(file)),
        }
    }
}

impl std::error::Error for SeedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::Shape { source, .. } => Some(source),
            Self::Senseless { .. } => None,
        }
    }
}

impl Seed {
    /// The built-in data.
    ///
    /// # Errors
    ///
    /// None in a build that passed its tests, which parse it.
    pub fn built_in() -> Result<Self, SeedError> {
        Self::parse(BUILT_IN.as_bytes(), None)
    }

    /// Reads a seed from a file.
    ///
    /// # Errors
    ///
    /// [`SeedError`], naming the file and the line.
    pub fn load(file: &Path) -> Result<Self, SeedError> {
        let text = std::fs::read(file).map_err(|source| SeedError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(&text, Some(file))
    }

    fn parse(text: &[u8], file: Option<&Path>) -> Result<Self, SeedError> {
        let file = || file.map(Path::to_owned);
        let seed: Self = serde_json::from_slice(text).map_err(|source| SeedError::Shape { file: file(), source })?;
        match seed.senseless() {
            Some(what) => Err(SeedError::Senseless { file: file(), what }),
            None => Ok(seed),
        }
    }

    fn senseless(&self) -> Option<String> {
        if self.clients.is_empty() {
            return Some("`clients` is empty, so no client could get a token".to_owned());
        }
        if http::uri::Authority::try_from(self.tenant.as_str()).is_err() {
            return Some("`tenant` is not a host name".to_owned());
        }
        if let Some(client) =
            self.clients.iter().find(|client| client.rate_limit.is_some_and(|limit| limit.seconds == 0))
        {
            return Some(format!("the `rate_limit` of client `{}` has a window of 0 seconds", client.id));
        }
        let lists: [(&str, Vec<&str>); 6] = [
            ("clients", self.clients.iter().map(|held| held.id.as_str()).collect()),
            ("rate_limit_policies", self.rate_limit_policies.iter().map(|held| held.id.as_str()).collect()),
            ("connections", self.connections.iter().map(|held| held.id.as_str()).collect()),
            ("event_streams", self.event_streams.iter().map(|held| held.id.as_str()).collect()),
            (
                "verifiable_credential_templates",
                self.verifiable_credential_templates.iter().map(|held| held.id.as_str()).collect(),
            ),
            ("actions", self.actions.iter().map(|held| held.id.as_str()).collect()),
        ];
        lists.into_iter().find_map(|(list, mut ids)| {
            ids.sort_unstable();
            let twice = ids.windows(2).find(|pair| pair[0] == pair[1])?;
            Some(format!("`{list}` holds the id `{}` twice", twice[0]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let error = Seed::parse(text.as_bytes(), Some(Path::new("mine.json"))).unwrap_err();
        std::error::Error::source(&error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
    }

    #[test]
    fn the_built_in_seed_is_a_seed() {
        let seed = Seed::built_in().unwrap();
        assert!(seed.connections[0].groups.0.len() > 200);
        assert!(!seed.clients[1].scopes.contains(&"read:rate_limit_policies".to_owned()));
    }

    #[test]
    fn a_misspelt_member_is_refused_with_its_line() {
        let message = fault("{\"tenant\": \"t.example\", \"clock\": \"2026-01-01T00:00:00Z\",\n \"cliants\": []}");
        assert_eq!(
            message,
            "`mine.json` is not a seed for the sandbox (`--print-seed` shows one that is): unknown field `cliants`, \
             expected one of `tenant`, `clock`, `rate_limit_reset`, `clients`, `rate_limit_policies`, \
             `connection_profile_templates`, `connections`, `event_streams`, `verifiable_credential_templates`, \
             `actions` at line 2 column 10"
        );
    }

    #[test]
    fn a_repeated_id_is_refused() {
        let message = fault(
            r#"{"tenant": "t.example", "clock": "2026-01-01T00:00:00Z", "clients": [{"id": "a", "scopes": []}],
                "actions": [{"id": "x"}, {"id": "x"}]}"#,
        );
        assert_eq!(message, "`mine.json`: `actions` holds the id `x` twice");
    }

    #[test]
    fn a_seed_without_clients_is_refused() {
        let message = fault(r#"{"tenant": "t.example", "clock": "2026-01-01T00:00:00Z", "clients": []}"#);
        assert_eq!(message, "`mine.json`: `clients` is empty, so no client could get a token");
    }
}
