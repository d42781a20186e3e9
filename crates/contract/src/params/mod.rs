//! Parameters, response headers and forms: texts that were percent-encoded, and what they stand for.
//!
//! A text is decoded once, for judging only; what goes on the wire is never built from it. Lengths count Unicode scalar
//! values after decoding.

mod decode;
mod form;
mod judge;
mod judgement;
mod style;
#[cfg(test)]
mod tests;
mod value;

pub(super) use self::{
    decode::{BadEncoding, Pair, decode_plain, pairs},
    form::{Documented, Form, form, multipart},
    judge::{Text, judge_fields, judge_header, judge_items, judge_plain, judge_text, judge_texts},
    judgement::Judgement,
};
pub(crate) use style::Style;
pub(super) use style::is_bracketed;
