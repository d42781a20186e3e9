//! The mix: 60 % small GETs (0.3 KB), 20 % GETs of 6 KB, 20 % POSTs of 1 KB each way; all of them conform.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::Method;

/// Which of the three.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Small,
    Large,
    Post,
}

/// Ten requests in the proportions of the mix, spread so that no kind comes in a burst.
pub const MIX: [Kind; 10] = {
    use Kind::{Large, Post, Small};
    [Small, Large, Small, Post, Small, Small, Large, Small, Post, Small]
};

/// One request of the mix.
pub struct Request {
    pub method: Method,
    pub path: String,
    pub body: Bytes,
}

/// The `n`-th request; ids vary so that nothing can be answered from one cached line.
pub fn request(kind: Kind, n: usize) -> Request {
    match kind {
        Kind::Small => Request {
            method: Method::GET,
            path: format!("/api/v2/rate-limit-policies/{}", policy_id(n)),
            body: Bytes::new(),
        },
        Kind::Large => Request {
            method: Method::GET,
            path: "/api/v2/connections/con_0123456789abcdef/directory-provisioning/synchronized-groups?take=100".into(),
            body: Bytes::new(),
        },
        Kind::Post => Request {
            method: Method::POST,
            path: format!("/api/v2/actions/actions/act_{:04}/test", n % 50),
            body: payload(),
        },
    }
}

/// The mix as it stands in a recording.
#[derive(Clone, Copy)]
pub struct Mix {
    /// How many requests there are before the first comes again.
    pub entries: usize,
    /// How many rounds of ten have ids of their own; with one, the ids are those of [`request`].
    pub identities: usize,
}

impl Mix {
    /// Without an end, and with few ids.
    pub const PLAIN: Self = Self { entries: usize::MAX, identities: 1 };

    /// The `n`-th request.
    pub fn nth(self, n: usize) -> Request {
        let n = n % self.entries;
        let mut request = request(MIX[n % MIX.len()], n);
        if self.identities < 2 {
            return request;
        }
        let id = n / MIX.len() % self.identities;
        let (path, query) = request.path.split_once('?').map_or((&*request.path, ""), |(path, query)| (path, query));
        let named: Vec<String> = path
            .split('/')
            .map(|segment| match segment.split_once('_') {
                Some((kind @ ("rlp" | "con" | "act"), rest)) => format!("{kind}_{id:06}{}", &rest[rest.len().min(6)..]),
                _ => segment.to_owned(),
            })
            .collect();
        let separator = if query.is_empty() { "" } else { "?" };
        request.path = format!("{}{separator}{query}", named.join("/"));
        request
    }
}

/// The answer to a path.
pub fn answer(method: &Method, path: &str) -> Bytes {
    if let Some(id) = path.strip_prefix("/api/v2/rate-limit-policies/") {
        let body = format!(
            r#"{{"id":"{id}","resource":"oauth_authentication_api","consumer":"client","consumer_selector":"client_id:abcdefghijklmnopqrstuvwxyz012345","configuration":{{"action":"redirect","limit":100,"redirect_uri":"https://busy.example/later"}},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z"}}"#
        );
        return body.into();
    }
    if method == Method::POST {
        return payload();
    }
    let groups: Vec<String> =
        (0..100).map(|n| format!(r#"{{"id":"grp_{n:04}_abcdefghijklmnopqrstuvwxyz0123456789abcdefgh"}}"#)).collect();
    format!(r#"{{"groups":[{}],"next":"grp_0100"}}"#, groups.join(",")).into()
}

fn policy_id(n: usize) -> String {
    format!("rlp_{:018}", n % 100)
}

fn payload() -> Bytes {
    let lines: Vec<String> = (0..12)
        .map(|n| format!(r#""attribute_{n:02}":"some text of moderate length, number {n:02}, and a bit""#))
        .collect();
    format!(r#"{{"payload":{{"user":{{"logins":7,"blocked":false}},{}}}}}"#, lines.join(",")).into()
}

/// One of a few bearer tokens (structure of a real one, signature of no key): valid until 2100, all scopes needed.
pub fn token(n: usize) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let header = part(r#"{"alg":"RS256","typ":"JWT","kid":"bench"}"#);
    let claims = part(&format!(
        r#"{{"iss":"https://tenant.example/","sub":"client{n}@clients","aud":"https://tenant.example/api/v2/","iat":1700000000,"exp":4102444800,"scope":"read:rate_limit_policies read:connections update:actions","gty":"client-credentials","azp":"client{n}"}}"#
    ));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature(n)))
}

/// As random as a real one (a multiplicative generator's bytes), so that no part of it comes twice.
fn signature(n: usize) -> [u8; 256] {
    let mut state = n as u64 + 1;
    [(); 256].map(|()| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}
