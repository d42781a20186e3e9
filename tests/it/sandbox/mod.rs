//! The sandbox tenant over real sockets: every operation, every status, every misbehaviour.

mod command;
mod contract;
mod mock;
mod operations;

/// A policy of the built-in seed.
const POLICY: &str = "/rate-limit-policies/rlp_Default000000000000000";
/// Its profile templates.
const TEMPLATES: &str = "/connection-profiles/templates";
/// The groups of its large connection.
const GROUPS: &str = "/connections/con_Directory/directory-provisioning/synchronized-groups";
/// An event that fails for ever.
const EVENT: &str = "/event-streams/est_Orders0000000000000000/redeliver/evt_EndpointStaysDown00000";
/// A credential template.
const CREDENTIAL: &str = "/verifiable-credentials/verification/templates/vct_DrivingLicence00000000";
/// An action.
const ACTION: &str = "/actions/actions/act_Enrich/test";
