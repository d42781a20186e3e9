//! Hostile and broken traffic, byte by byte: tables of what is sent and what comes of it. And hostile documents.

mod answers;
mod answers_http2;
mod broken;
mod crowd;
mod documents;
mod expecting;
pub mod frames;
mod large;
mod leaving;
mod limits;
mod matrix;
mod requests;
mod stalls;
mod streams;
mod switching;
mod ways;

/// Text with repetitions written as `<<a*70000>>`.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<<") {
        let (inner, behind) = after.split_once(">>").unwrap();
        let (piece, times) = inner.rsplit_once('*').unwrap();
        out.push_str(before);
        out.push_str(&piece.repeat(times.parse().unwrap()));
        rest = behind;
    }
    out + rest
}
