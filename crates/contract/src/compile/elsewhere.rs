//! Lists unchecked parts of a document outside its operations, and in its schemas.

use contrail_exchange::{media, plural::plural};
use serde_json::Value;

use super::compiler::Compiler;
use crate::{
    refs,
    schema::{ASSERTED_FORMATS, Discriminators},
};

impl Compiler<'_> {
    /// What stands in the document beside its operations, or in its schemas, and is not checked.
    pub(super) fn elsewhere(&mut self) {
        if self.document.get("webhooks").is_some() {
            self.not_implemented("/webhooks", "webhooks are not checked");
        }
        let mut unread: Vec<(String, String)> = Vec::new();
        let (document, mut discriminators) = (self.document, None);
        refs::walk(document, &mut |at, object| {
            if !at.contains("/schema") && !at.contains("/itemSchema") {
                return;
            }
            if let Some(selector) = object.get("discriminator").filter(|held| held.get("defaultMapping").is_some()) {
                let discriminators = discriminators.get_or_insert_with(|| Discriminators::of(document));
                if selector.is_object() && discriminators.has_unread_default(at, object) {
                    let what = "`defaultMapping` leads to no branch: values under this discriminator are unchecked";
                    unread.push((format!("{at}/discriminator"), what.to_owned()));
                }
            }
            let mut list = |what: String| unread.push((at.to_owned(), what));
            let is_json =
                |named: &Value| named.as_str().is_some_and(|named| media::is_json(&media::essence(named.as_bytes())));
            let is_read =
                object.get("contentMediaType").is_some_and(is_json) && !object.contains_key("contentEncoding");
            if object.contains_key("contentSchema") && !is_read {
                list(
                    "`contentSchema` is not checked: contrail reads the content of a text only if that is JSON"
                        .to_owned(),
                );
            }
            let shown = |name: &Value| name.as_str() == Some("format-grammar");
            let silent = object.get("x-contrail-not-shown").and_then(Value::as_array).into_iter().flatten().any(shown);
            match object.get("format").and_then(Value::as_str) {
                Some(format) if !silent && !ASSERTED_FORMATS.contains(&format) => {
                    list(format!("the format `{format}` is not checked"));
                }
                _ => {}
            }
        });
        // A document may have thousands of such fields: one line for each thing, with its first place.
        let mut places: Vec<(String, String, usize)> = Vec::new();
        for (at, what) in unread {
            match places.iter_mut().find(|(_, held, _)| *held == what) {
                Some((_, _, count)) => *count += 1,
                None => places.push((at, what, 1)),
            }
        }
        for (at, what, count) in places {
            let more =
                if count > 1 { format!(" (here and at {})", plural(count - 1, "more place")) } else { String::new() };
            self.not_implemented(&at, &format!("{what}{more}"));
        }
    }
}
