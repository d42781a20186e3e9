//! A body as numbered lines of tokens, made here so that the page never parses what was recorded.
//!
//! JSON is laid out one value per line, with its numbers, strings and duplicate names as they were sent. Anything else
//! is its own lines. What a finding is about is marked by its bytes; what is missing has a line where it is missing.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use contrail_exchange::{
    json::{Document, Entries, Items, Kind, Node, push_pointer},
    label,
    visible::visible,
};
use serde_json::{Value, json};

/// Maximum bytes of one string that a line shows.
const MAX_STRING: usize = 64 << 10;

/// A body, laid out.
#[derive(Debug)]
pub(crate) struct Lines {
    content: Bytes,
    document: Option<Arc<Document>>,
    marked: Marked,
    all: Vec<Line>,
}

/// What is marked in a body, by finding.
pub(crate) type Marked = BTreeMap<usize, What>;

/// What a finding marks in a body.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// These bytes.
    Bytes(Range<usize>),
    /// Something that the value at this place lacks, and the line that the page shows for it.
    Missing { at: String, sentence: String },
}

#[derive(Debug, Clone)]
struct Line {
    kind: LineKind,
    depth: u16,
    /// Numbers count lines of the body, not those about what is missing.
    number: u32,
    /// Bytes of the value or text; of a bracket, the bracket.
    span: Range<u32>,
    /// The member's name, quotes included.
    name: Option<Range<u32>>,
    /// The line that opens what it stands in.
    parent: u32,
    /// Its place there.
    index: u32,
    /// A comma follows.
    comma: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// A scalar, or an empty container.
    Value,
    /// A bracket that the line of this number closes.
    Open(u32),
    Close,
    /// A line of text.
    Text,
    /// What is missing here, by this finding.
    Missing(usize),
}

const NONE: u32 = u32::MAX;

fn span(range: Range<usize>) -> Range<u32> {
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    short(range.start)..short(range.end)
}

fn range(span: &Range<u32>) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// What is left of a container that is being laid out.
enum Rest<'a> {
    Object(Entries<'a>),
    Array(Items<'a>),
}

struct Open<'a> {
    rest: Rest<'a>,
    line: u32,
    node: Node<'a>,
    next: u32,
    left: usize,
}

impl Lines {
    /// Lays a body out; `document` is what it is as JSON, if it is.
    pub(crate) fn new(content: Bytes, document: Option<Arc<Document>>, marked: Marked) -> Self {
        let mut all = Vec::new();
        match (&document, std::str::from_utf8(&content)) {
            (Some(document), _) => json_lines(document, &marked, &mut all),
            (None, Ok(text)) => text_lines(text, &mut all),
            (None, Err(_)) => {}
        }
        Self { content, document, marked, all }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// What a finding marks.
    pub(crate) fn what(&self, finding: usize) -> Option<&What> {
        self.marked.get(&finding)
    }

    /// The first line that a finding marks.
    pub(crate) fn line_of(&self, finding: usize) -> Option<usize> {
        match self.what(finding)? {
            What::Missing { .. } => self.all.iter().position(|line| line.kind == LineKind::Missing(finding)),
            What::Bytes(bytes) => {
                // Lines about what is missing have no bytes; all others are in the order of theirs.
                let starts = |line: &Line| line.name.as_ref().map_or(line.span.start, |name| name.start) as usize;
                let found = self
                    .all
                    .iter()
                    .enumerate()
                    .filter(|(_, line)| !matches!(line.kind, LineKind::Missing(_)))
                    .take_while(|(_, line)| starts(line) <= bytes.start)
                    .last();
                found.map(|(index, _)| index)
            }
        }
    }

    /// The lines of a range; `shown` is the finding that is shown.
    pub(crate) fn page(&self, from: usize, count: usize, shown: Option<usize>) -> Vec<Value> {
        let to = from.saturating_add(count).min(self.all.len());
        (from.min(to)..to).map(|index| self.line(index, shown)).collect()
    }

    fn line(&self, index: usize, shown: Option<usize>) -> Value {
        let line = &self.all[index];
        let bytes = shown.and_then(|finding| match self.what(finding)? {
            What::Bytes(bytes) if !bytes.is_empty() => Some(bytes.clone()),
            _ => None,
        });
        let mut tokens: Vec<[String; 2]> = Vec::new();
        let mut push = |kind: &str, text: String| tokens.push([kind.to_owned(), text]);
        if let LineKind::Missing(finding) = line.kind {
            if let Some(What::Missing { sentence, .. }) = self.what(finding) {
                push("mark", sentence.clone());
            }
            return json!({"number": null, "indent": line.depth, "at": null, "closes": null, "tokens": tokens,
                          "marked": shown == Some(finding), "finding": finding});
        }
        if let Some(name) = &line.name {
            push("key", self.text(&range(name)));
            push("punctuation", ": ".to_owned());
        }
        let at = range(&line.span);
        let is_within = bytes.as_ref().is_some_and(|bytes| bytes.start <= at.start && at.end <= bytes.end);
        match line.kind {
            LineKind::Text => self.text_tokens(&at, bytes.as_ref(), &mut push),
            LineKind::Value if is_within => push("mark", self.text(&at)),
            LineKind::Value => push(self.kind(&at), self.text(&at)),
            // Of a container that is marked, its brackets.
            _ if is_within || bytes.as_ref().is_some_and(|bytes| bytes.start == at.start || bytes.end == at.end) => {
                push("mark", self.text(&at));
            }
            _ => push("punctuation", self.text(&at)),
        }
        if line.comma {
            push("punctuation", ",".to_owned());
        }
        let overlaps = bytes.as_ref().is_some_and(|bytes| at.start < bytes.end && bytes.start < at.end);
        let closes = if let LineKind::Open(closes) = line.kind { Some(closes) } else { None };
        json!({"number": line.number, "indent": line.depth, "at": self.document.is_some().then(|| self.pointer(index)),
               "closes": closes, "tokens": tokens, "marked": overlaps})
    }

    /// What a scalar is: by its first byte, since the document is well-formed.
    fn kind(&self, at: &Range<usize>) -> &'static str {
        match self.content.get(at.start) {
            Some(b'"') => {
                let inner = self.content.get(at.start + 1..at.end.saturating_sub(1)).unwrap_or_default();
                if label::is_label_bytes(inner) { "label" } else { "string" }
            }
            Some(b't' | b'f' | b'n') => "literal",
            Some(b'{' | b'[') => "punctuation",
            _ => "number",
        }
    }

    /// Text of the body, cut and visible.
    fn text(&self, at: &Range<usize>) -> String {
        let bytes = self.content.get(at.clone()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_STRING)]);
        let cut = if bytes.len() > MAX_STRING { "…" } else { "" };
        format!("{}{cut}", visible(&text))
    }

    /// A line of text in up to three parts: before, within and behind the mark.
    fn text_tokens(&self, at: &Range<usize>, marked: Option<&Range<usize>>, push: &mut impl FnMut(&str, String)) {
        let within = |place: usize| place.clamp(at.start, at.end);
        let (start, end) = marked.map_or((at.start, at.start), |marked| (within(marked.start), within(marked.end)));
        for (kind, part) in [("text", at.start..start), ("mark", start..end), ("text", end..at.end)] {
            // Labels stand by themselves in a text that is not marked.
            let (mut from, bytes) = (part.start, self.content.get(part.clone()).unwrap_or_default());
            for (label, _) in label::find(bytes).filter(|_| kind == "text") {
                let label = part.start + label.start..part.start + label.end;
                if from < label.start {
                    push(kind, self.text(&(from..label.start)));
                }
                push("label", self.text(&label));
                from = label.end;
            }
            if from < part.end {
                push(kind, self.text(&(from..part.end)));
            }
        }
    }

    /// The JSON pointer of a line (RFC 6901).
    fn pointer(&self, index: usize) -> String {
        let mut steps = Vec::new();
        let mut line = &self.all[index];
        // The bracket that closes stands for what it closes.
        if line.kind == LineKind::Close {
            line = &self.all[line.parent as usize];
        }
        while line.parent != NONE {
            steps.push(line);
            line = &self.all[line.parent as usize];
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            match &step.name {
                Some(name) => {
                    let raw = self.content.get(range(name)).unwrap_or_default();
                    let name: String = serde_json::from_slice(raw).unwrap_or_default();
                    push_pointer(&mut pointer, &name);
                }
                None => push_pointer(&mut pointer, &step.index.to_string()),
            }
        }
        pointer
    }
}

/// The lines of a document, without recursion.
fn json_lines(document: &Document, marked: &Marked, lines: &mut Vec<Line>) {
    // The findings about what each container lacks.
    let mut missing: HashMap<(usize, u32), Vec<usize>> = HashMap::new();
    for (finding, what) in marked {
        if let What::Missing { at, .. } = what
            && let Some(node) = document.pointer(at)
        {
            missing.entry(node.identity()).or_default().push(*finding);
        }
    }
    let mut number = 0;
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some((None, document.root(), 0_u32, false));
    loop {
        let parent = open.last().map_or(NONE, |held| held.line);
        let depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
        if let Some((name, node, index, comma)) = next.take() {
            let at = span(node.span());
            let here = u32::try_from(lines.len()).unwrap_or(u32::MAX);
            number += 1;
            let is_container = matches!(node.kind(), Kind::Object | Kind::Array);
            let opens = is_container && (!node.is_empty() || missing.contains_key(&node.identity()));
            let kind = if opens { LineKind::Open(NONE) } else { LineKind::Value };
            let shown = if opens { at.start..at.start + 1 } else { at };
            // The comma behind a container stands behind its last bracket.
            lines.push(Line { kind, depth, number, span: shown, name, parent, index, comma: comma && !opens });
            if opens {
                let rest = match node.kind() {
                    Kind::Object => Rest::Object(node.entries()),
                    _ => Rest::Array(node.items()),
                };
                open.push(Open { rest, line: here, node, next: 0, left: node.len() });
            }
        }
        let Some(held) = open.last_mut() else { return };
        let (index, left) = (held.next, held.left);
        let following = match &mut held.rest {
            Rest::Object(entries) => entries.next().map(|(name, node)| (Some(span(name.span())), node)),
            Rest::Array(items) => items.next().map(|node| (None, node)),
        };
        if let Some((name, node)) = following {
            held.next += 1;
            held.left = left.saturating_sub(1);
            next = Some((name, node, index, left > 1));
            continue;
        }
        let (line, node) = (held.line, held.node);
        let depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
        open.pop();
        let end = span(node.span()).end;
        for finding in missing.get(&node.identity()).into_iter().flatten() {
            let kind = LineKind::Missing(*finding);
            let nothing = end..end;
            lines.push(Line { kind, depth, number, span: nothing, name: None, parent: line, index: 0, comma: false });
        }
        number += 1;
        let closes = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        lines[line as usize].kind = LineKind::Open(closes);
        let comma = open.last().is_some_and(|outer| outer.left > 0);
        lines.push(Line {
            kind: LineKind::Close,
            depth: depth - 1,
            number,
            span: end - 1..end,
            name: None,
            parent: line,
            index: 0,
            comma,
        });
    }
}

/// The lines of a text.
fn text_lines(text: &str, lines: &mut Vec<Line>) {
    /// A longer line goes on in the next.
    const MAX_LINE: usize = 4 << 10;
    let mut start = 0;
    let mut number = 0;
    while start < text.len() {
        let rest = &text[start..];
        let newline = memchr::memchr(b'\n', &rest.as_bytes()[..rest.len().min(MAX_LINE + 1)]);
        let end = newline.unwrap_or_else(|| rest.floor_char_boundary(MAX_LINE));
        let shown =
            if newline.is_some() { rest[..end].strip_suffix('\r').unwrap_or(&rest[..end]) } else { &rest[..end] };
        number += 1;
        lines.push(Line {
            kind: LineKind::Text,
            depth: 0,
            number,
            span: span(start..start + shown.len()),
            name: None,
            parent: NONE,
            index: 0,
            comma: false,
        });
        start += end + usize::from(newline.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out<const N: usize>(text: &str, marked: [(usize, What); N]) -> Lines {
        let content = Bytes::from(text.to_owned());
        let document = Document::parse(content.clone()).ok().map(Arc::new);
        Lines::new(content, document, Marked::from(marked))
    }

    fn shown(lines: &Lines, finding: Option<usize>) -> Vec<String> {
        let line = |line: Value| {
            let tokens = line["tokens"].as_array().unwrap().iter().map(|token| {
                let text = token[1].as_str().unwrap();
                if token[0] == "mark" { format!("<{text}>") } else { text.to_owned() }
            });
            let number = line["number"].as_u64().map_or("-".to_owned(), |number| number.to_string());
            let indent = "  ".repeat(usize::try_from(line["indent"].as_u64().unwrap()).unwrap());
            format!("{number} {indent}{}", tokens.collect::<String>())
        };
        lines.page(0, 100, finding).into_iter().map(line).collect()
    }

    #[test]
    fn json_is_laid_out_with_every_byte_of_a_value_as_it_was_sent() {
        let lines = laid_out(r#"{"id":822106502566256641,"a":[1e400,{},"\u0041"],"b":{"c":null}}"#, []);
        assert_eq!(
            shown(&lines, None),
            [
                "1 {",
                "2   \"id\": 822106502566256641,",
                "3   \"a\": [",
                "4     1e400,",
                "5     {},",
                "6     \"\\u0041\"",
                "7   ],",
                "8   \"b\": {",
                "9     \"c\": null",
                "10   }",
                "11 }",
            ]
        );
        let pointers: Vec<String> =
            lines.page(0, 100, None).iter().map(|line| line["at"].as_str().unwrap().to_owned()).collect();
        assert_eq!(pointers, ["", "/id", "/a", "/a/0", "/a/1", "/a/2", "/a", "/b", "/b/c", "/b", ""]);
        assert_eq!(lines.page(2, 1, None)[0]["closes"], 6);
        assert_eq!(lines.page(0, 1, None)[0]["closes"], 10);
    }

    #[test]
    fn what_is_marked_and_what_is_missing_stand_at_their_place() {
        let text = r#"{"a":{"limit":10001},"b":{}}"#;
        let marks = [
            (0, What::Bytes(14..19)),
            (1, What::Missing { at: "/b".to_owned(), sentence: "`c` is missing".to_owned() }),
        ];
        let lines = laid_out(text, marks);
        assert_eq!(
            shown(&lines, Some(0)),
            [
                "1 {",
                "2   \"a\": {",
                "3     \"limit\": <10001>",
                "4   },",
                "5   \"b\": {",
                "-     <`c` is missing>",
                "6   }",
                "7 }",
            ]
        );
        assert_eq!([lines.line_of(0), lines.line_of(1)], [Some(2), Some(5)]);
    }

    #[test]
    fn deep_nesting_is_no_recursion() {
        let text = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(laid_out(&text, []).count(), 1999);
    }

    #[test]
    fn a_text_is_its_lines_and_a_mark_divides_them() {
        let lines = laid_out("ab\r\ncd\u{202e}\n", [(0, What::Bytes(2..6))]);
        assert_eq!(shown(&lines, Some(0)), ["1 ab", "2 <cd>\\u{202e}"]);
        assert_eq!(laid_out("", []).count(), 0);
        let long = "ä".repeat(5000);
        let lines = laid_out(&long, []);
        let joined: String =
            shown(&lines, None).iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
        assert_eq!(joined, long);
    }
}
