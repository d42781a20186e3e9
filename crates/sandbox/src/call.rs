//! The six operations of the document's section 4, by method and raw path.

use http::Method;

use super::fields::unescape;

/// Where tokens are asked for: as documented, and as every SDK does.
pub(super) const TOKEN_PATHS: [&str; 2] = ["/oauth/token/", "/oauth/token"];

/// One documented operation, with the ids that its path holds (decoded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// 4.1
    GetPolicy { id: String },
    /// 4.2
    ListProfileTemplates,
    /// 4.3
    ListGroups { connection: String },
    /// 4.4
    Redeliver { stream: String, event: String },
    /// 4.5
    UpdateCredentialTemplate { id: String },
    /// 4.6
    TestAction { id: String },
}

impl Call {
    /// The operation that a method and a raw path name. An id that is no percent-encoded UTF-8 becomes one that nothing
    /// has.
    pub(super) fn route(method: &Method, path: &str) -> Option<Self> {
        let mut segments = path.strip_prefix("/api/v2/")?.split('/');
        let mut held = [""; 5];
        let mut count = 0;
        for segment in &mut segments {
            *held.get_mut(count)? = segment;
            count += 1;
        }
        if held[..count].iter().any(|segment| segment.is_empty()) {
            return None;
        }
        let id = |segment: &str| unescape(segment, false).unwrap_or_default();
        match (method.as_str(), &held[..count]) {
            ("GET", ["rate-limit-policies", policy]) => Some(Self::GetPolicy { id: id(policy) }),
            ("GET", ["connection-profiles", "templates"]) => Some(Self::ListProfileTemplates),
            ("GET", ["connections", connection, "directory-provisioning", "synchronized-groups"]) => {
                Some(Self::ListGroups { connection: id(connection) })
            }
            ("POST", ["event-streams", stream, "redeliver", event]) => {
                Some(Self::Redeliver { stream: id(stream), event: id(event) })
            }
            ("PATCH", ["verifiable-credentials", "verification", "templates", template]) => {
                Some(Self::UpdateCredentialTemplate { id: id(template) })
            }
            ("POST", ["actions", "actions", action, "test"]) => Some(Self::TestAction { id: id(action) }),
            _ => None,
        }
    }

    /// The scope that the sandbox asks for. Only that of 4.1 is documented.
    pub(super) fn scope(&self) -> &'static str {
        match self {
            Self::GetPolicy { .. } => "read:rate_limit_policies",
            Self::ListProfileTemplates => "read:connection_profiles",
            Self::ListGroups { .. } => "read:directory_provisionings",
            Self::Redeliver { .. } => "update:event_deliveries",
            Self::UpdateCredentialTemplate { .. } => "update:vdcs_templates",
            Self::TestAction { .. } => "create:actions",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_raw_segment_decoded_once() {
        let call = Call::route(&Method::POST, "/api/v2/actions/actions/act%7Cteam%2Fdeploy%201/test");
        assert_eq!(call, Some(Call::TestAction { id: "act|team/deploy 1".into() }));
        let call = Call::route(&Method::GET, "/api/v2/rate-limit-policies/a%252Fb");
        assert_eq!(call, Some(Call::GetPolicy { id: "a%2Fb".into() }));
    }

    #[test]
    fn a_trailing_or_doubled_slash_and_an_empty_id_name_no_operation() {
        for path in [
            "/api/v2/rate-limit-policies/",
            "/api/v2/rate-limit-policies/x/",
            "/api/v2//rate-limit-policies/x",
            "/api/v2/connection-profiles/templates/",
            "/api/v2/Connection-profiles/templates",
            "/v2/connection-profiles/templates",
            "/api/v2/a/b/c/d/e/f/g",
        ] {
            assert_eq!(Call::route(&Method::GET, path), None, "{path}");
        }
    }
}
