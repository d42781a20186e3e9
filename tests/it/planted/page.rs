//! The live page beside a proxy: every byte of every answer that it gives.

use std::net::SocketAddr;

use super::Said;
use crate::{inspecting::bearer, support::wire::call};

/// Every answer that a page can ask for, of at least so many exchanges.
pub fn answers(page: SocketAddr, exchanges: u64) -> Said {
    let bearer = bearer();
    let mut said = Said::new();
    let mut ask = |path: &str| {
        let answer = call(page, "GET", &format!("/api/{path}"), &[("authorization", &bearer)], b"");
        // Not every message has every view, nor every exchange its bytes.
        assert!(matches!(answer.status(), 200 | 400 | 404), "{path}: {}", answer.status());
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        said.push((format!("the page's {path}"), text));
        (answer.status() == 200).then(|| answer.json())
    };
    let n = ask("run").unwrap()["n"].as_u64().unwrap();
    assert!(n >= exchanges, "{n} exchanges");
    for path in ["exchanges?count=500", "findings", "misses", "operations", "callers", "timeline"] {
        assert!(ask(path).is_some(), "{path}");
    }
    assert!(
        ask("exchanges?count=100&columns=authorization,cookie,set-cookie,x-api-key,location,content-type").is_some()
    );
    for by in ["operation", "client", "path"] {
        assert!(ask(&format!("groups?by={by}")).is_some(), "{by}");
    }
    for key in ["caller", "client", "host", "is", "method", "op", "rule", "scheme", "status", "type"] {
        ask(&format!("values?key={key}"));
    }
    let mut bodies = 0;
    for n in 0..n {
        for path in [format!("exchanges/{n}"), format!("curl?n={n}"), format!("har?n={n}")] {
            assert!(ask(&path).is_some(), "{path}");
        }
        ask(&format!("compare?a={n}"));
        for side in ["request", "response"] {
            for view in ["lines", "raw", "hex", "events", "form", "parts", "image"] {
                bodies += usize::from(ask(&format!("exchanges/{n}/{side}/{view}?count=2000")).is_some());
            }
        }
    }
    assert!(bodies as u64 > 3 * exchanges, "{bodies} views of bodies");
    said
}
