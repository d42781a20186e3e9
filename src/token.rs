//! Bearer tokens as seen from outside: what a JWT says of itself (RFC 7519), never the token.
//!
//! A live token is decoded once per distinct token; a fixture keeps only its public facts. Both give the same
//! [`Credential`], so authentication is judged by one piece of code.

/// What the `Authorization` header of a request says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Credential {
    /// No header, an empty one, or another scheme than Bearer; the text names which (never the value).
    #[default]
    Missing,
    /// There is a header of another scheme than Bearer, or an empty one; the scheme's name if it has a sane one.
    OtherScheme(String),
    /// A bearer token that is no JWT, with a reason without the token's text.
    Malformed(String),
    /// An encrypted token (JWE): nobody can read its scopes.
    Encrypted,
    /// A JWT.
    Token(std::sync::Arc<TokenFacts>),
    /// The file's producer strips the header, so nobody can say.
    Unknown,
}

/// A token's public facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// `azp`, `client_id`, or `sub` without `@clients`.
    pub client: Option<String>,
    /// From `scope` (string or array), `scp` and `permissions`, sorted, without repeats; `None` if it has none of them.
    pub scopes: Option<Vec<String>>,
    /// `iss`.
    pub issuer: Option<String>,
    /// `aud`.
    pub audience: Vec<String>,
    /// `iat`, seconds since the epoch.
    pub issued_at: Option<i64>,
    /// `nbf`, seconds since the epoch.
    pub not_before: Option<i64>,
    /// `exp`, seconds since the epoch.
    pub expires_at: Option<i64>,
    /// `exp` − `iat` in seconds; what a fixture keeps of the three.
    pub lifetime: Option<i64>,
    /// Whether it was inside its time at the instant of the exchange.
    pub time: TokenTime,
    /// Whether its signature was checked.
    pub signature: SignatureCheck,
}

/// Whether a token was inside its time (`nbf` to `exp`) at the instant of its exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenTime {
    /// Inside, or the token states no bounds.
    #[default]
    Valid,
    /// After `exp`.
    Expired,
    /// Before `nbf`.
    NotYet,
}

/// What is known of a token's signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignatureCheck {
    /// No keys were given.
    #[default]
    NotChecked,
    /// A key verifies it.
    Good,
    /// No key verifies it.
    Bad,
}
