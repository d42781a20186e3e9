//! Media types, and the grammars of header fields and bodies that they name: parameters (RFC 9110, section 5.6.6), form
//! fields, multipart parts (RFC 2046, section 5.1; RFC 7578). One reader of each, for all that read a message.
//!
//! Fields and parts are ranges of the text that they stand in. Readers of other makes disagree about odd messages (a
//! quote inside a quote, a name given twice, a bare line feed): [`parameter`] and [`multipart()`] read as the standard
//! says, [`every_parameter`] and [`LineEnds`] give what else a reader may see there.

mod form;
mod kinds;
mod multipart;
mod parameters;

pub use form::{Field, decoded, fields};
pub use kinds::{
    EVENT_STREAM, FORM, JSON, MULTIPART_FORM, essence, event_ends, has_json_suffix, is_json, is_sequence, is_text,
    means_json, whole_items,
};
pub use multipart::{LineEnds, Part, multipart, part_fields};
pub use parameters::{cookies, every_parameter, joined, list, parameter, parameters};
