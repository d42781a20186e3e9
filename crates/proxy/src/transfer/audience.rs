//! The `audience` of a token request.
//!
//! The tenant's SDKs ask for a token for the address that they were configured with. Pointed at a reverse proxy, that
//! is the proxy's own address, which the tenant does not know; only the proxy can correct it.

use bytes::Bytes;
use contrail_exchange::{
    TenantFacts,
    json::{self, Document},
    media,
};
use http::{HeaderMap, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::upstream::own::OwnAddresses;
use crate::{Audience, HostPort};

/// Characters that stand for themselves in a form (`application/x-www-form-urlencoded`).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// Rewrites audiences for one request.
#[derive(Debug)]
pub(crate) struct Rewriter<'a> {
    pub(crate) audience: &'a Audience,
    pub(crate) tenant: &'a dyn TenantFacts,
    /// The tenant's origin.
    pub(crate) origin: String,
    /// The Host that the client named.
    pub(crate) host: Option<String>,
    pub(crate) own: &'a OwnAddresses,
}

impl Rewriter<'_> {
    /// The body with the tenant's audience, and what stood there before; `None` if nothing is to change.
    pub(crate) fn rewrite(&self, headers: &HeaderMap, body: &Bytes) -> Option<(Bytes, String)> {
        if headers.contains_key(header::CONTENT_ENCODING) {
            return None;
        }
        let essence = media::essence(headers.get(header::CONTENT_TYPE)?.as_bytes());
        match &*essence {
            media::FORM => self.form(body),
            essence if media::is_json(essence) => self.json(body),
            _ => None,
        }
    }

    fn form(&self, body: &Bytes) -> Option<(Bytes, String)> {
        let mut original = None;
        let fields: Vec<Vec<u8>> = media::fields(body)
            .map(|field| {
                let (name, whole) = (&body[field.name.clone()], &body[field.name.start..field.value.end]);
                match decode(&body[field.value]) {
                    Some(value) if original.is_none() && decode(name).as_deref() == Some("audience") => {
                        let Some(new) = self.replacement(&value) else { return whole.to_vec() };
                        original = Some(value);
                        [name, b"=", utf8_percent_encode(&new, FORM).to_string().as_bytes()].concat()
                    }
                    _ => whole.to_vec(),
                }
            })
            .collect();
        Some((fields.join(&b'&').into(), original?))
    }

    fn json(&self, body: &Bytes) -> Option<(Bytes, String)> {
        let document = Document::parse(body.clone()).ok()?;
        let node = document.root().get("audience")?;
        let original = node.as_str()?.into_owned();
        let mut new = String::new();
        json::quote(&self.replacement(&original)?, &mut new);
        Some((json::splice(body, &[(node.span(), new.into_bytes())]).into(), original))
    }

    /// What this audience becomes; `None` if it stays.
    fn replacement(&self, audience: &str) -> Option<String> {
        let new = match self.audience {
            Audience::Keep => return None,
            Audience::Force(audience) => audience.clone(),
            Audience::Rewrite => {
                let (scheme, rest) = audience.split_once("://")?;
                let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
                if !self.is_ours(scheme, authority) {
                    return None;
                }
                let path = match path {
                    "" | "/" => path.to_owned(),
                    path => self.tenant.audience_path(path)?,
                };
                format!("{}{path}", self.origin)
            }
        };
        (new != audience).then_some(new)
    }

    fn is_ours(&self, scheme: &str, authority: &str) -> bool {
        let port = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
        let Ok(named) = HostPort::parse(authority, Some(port)) else { return false };
        let host = self.host.as_deref().and_then(|host| HostPort::parse(host, Some(port)).ok());
        host.as_ref() == Some(&named) || self.own.names(&named.host, named.port)
    }
}

fn decode(text: &[u8]) -> Option<String> {
    String::from_utf8(media::decoded(text).into_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Tenant;

    impl TenantFacts for Tenant {
        fn is_token_path(&self, _path: &str) -> bool {
            true
        }

        fn audience_path(&self, path: &str) -> Option<String> {
            (path.trim_end_matches('/') == "/api/v2").then(|| "/api/v2/".to_owned())
        }
    }

    fn rewritten(audience: &Audience, media_type: &str, body: &'static str) -> Option<(String, String)> {
        let own = OwnAddresses::default();
        own.add("127.0.0.1:8443".parse().unwrap());
        let rewriter = Rewriter {
            audience,
            tenant: &Tenant,
            origin: "https://tenant.example".into(),
            host: Some("proxy.test".into()),
            own: &own,
        };
        let headers = [(header::CONTENT_TYPE, media_type.parse().unwrap())].into_iter().collect();
        let (body, original) = rewriter.rewrite(&headers, &Bytes::from(body))?;
        Some((String::from_utf8(body.to_vec()).unwrap(), original))
    }

    const FORM_TYPE: &str = "application/x-www-form-urlencoded; charset=UTF-8";

    #[test]
    fn an_audience_that_names_contrail_in_any_way_becomes_the_tenants() {
        for named in [
            "localhost:8443/api/v2/",
            "localhost:8443/api/v2",
            "127.0.0.1:8443/api/v2/",
            "127.9.9.9:8443/api/v2/",
            "proxy.test/api/v2/",
            "PROXY.test:443/api/v2",
        ] {
            let json = format!(r#"{{ "a": 1.0, "audience": "https://{named}", "organization": null }}"#);
            let (body, original) = rewritten(&Audience::Rewrite, "application/json", json.leak()).unwrap();
            assert_eq!(body, r#"{ "a": 1.0, "audience": "https://tenant.example/api/v2/", "organization": null }"#);
            assert_eq!(original, format!("https://{named}"));
        }
    }

    #[test]
    fn only_the_audience_of_a_form_changes_and_the_rest_stays_as_it_was_written() {
        let (body, original) = rewritten(
            &Audience::Rewrite,
            FORM_TYPE,
            "client_id=a+b%2f&audience=https%3A%2F%2Flocalhost%3A8443%2Fapi%2Fv2%2F&x",
        )
        .unwrap();
        assert_eq!(body, "client_id=a+b%2f&audience=https%3A%2F%2Ftenant.example%2Fapi%2Fv2%2F&x");
        assert_eq!(original, "https://localhost:8443/api/v2/");
    }

    #[test]
    fn anothers_audience_stays_unless_it_is_forced() {
        for body in [
            "audience=https://other.example/api/v2/",
            "audience=/api/v2/",
            "audience=https://localhost:8443/elsewhere",
            "audience=https://localhost:9999/api/v2/",
            "audience=https://tenant.example/api/v2/",
            "client_id=1",
        ] {
            assert_eq!(rewritten(&Audience::Rewrite, FORM_TYPE, body), None, "{body}");
        }
        let force = Audience::Force("https://x/".into());
        assert_eq!(rewritten(&force, FORM_TYPE, "audience=y").unwrap().0, "audience=https%3A%2F%2Fx%2F");
        assert_eq!(rewritten(&Audience::Keep, FORM_TYPE, "audience=https://localhost:8443/api/v2/"), None);
    }
}
