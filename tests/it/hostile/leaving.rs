//! How a connection over HTTP/2 ends that is idle, too slow, or open when contrail stops: its client gets GOAWAY.

use std::time::Duration;

use contrail_proxy::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{GET, GOAWAY, HEADERS, block, frame, headers, opened};
use crate::proxy::harness::{Harness, Setup, Wire, within};

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;

/// The next frame: type, flags, stream, payload; `None` at the end of the connection.
async fn next(client: &mut Wire) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    within(client.0.read_exact(&mut head)).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    within(client.0.read_exact(&mut payload)).await.ok()?;
    Some((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}

/// Reads to the end of the connection; the last stream and the error of each GOAWAY.
async fn goodbyes(client: &mut Wire, answers_pings: bool) -> Vec<(u32, u32)> {
    let mut said = Vec::new();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    while let Some((kind, flags, _, payload)) = next(client).await {
        match kind {
            GOAWAY => said.push((number(&payload[..4]), number(&payload[4..8]))),
            PING if flags & ACK == 0 && answers_pings => {
                let _ = client.0.write_all(&frame(PING, ACK, 0, &payload)).await;
            }
            _ => {}
        }
    }
    said
}

async fn harness(change: impl FnOnce(&mut Settings) + 'static) -> Harness {
    Harness::with(Setup { settings: Box::new(change), ..Setup::default() }).await
}

async fn exchanged(harness: &mut Harness, client: &mut Wire) {
    client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    while !matches!(next(client).await.unwrap(), (HEADERS, ..)) {}
    harness.ended().await;
}

#[tokio::test]
async fn an_idle_client_of_http2_gets_goaway_before_its_connection_is_closed() {
    for answers_pings in [true, false] {
        let mut harness = harness(|settings| settings.keep_alive = Duration::from_millis(100)).await;
        let mut client = opened(&harness).await;
        exchanged(&mut harness, &mut client).await;
        let said = goodbyes(&mut client, answers_pings).await;
        assert_eq!(said.first(), Some(&(0x7fff_ffff, 0)), "{said:?}");
        assert!(!answers_pings || said.last() == Some(&(1, 0)), "{said:?}");
        assert!(harness.seen.turned_away.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_client_of_http2_that_sends_no_request_or_never_ends_its_head_gets_goaway_before_it_is_cut() {
    for begin in [Vec::new(), frame(HEADERS, 0, 1, &block(GET))] {
        let mut harness = harness(|settings| settings.header_timeout = Duration::from_millis(100)).await;
        let mut client = opened(&harness).await;
        client.0.write_all(&begin).await.unwrap();
        let said = goodbyes(&mut client, false).await;
        assert_eq!(said.first().map(|(_, error)| *error), Some(0), "{said:?}");
        assert!(harness.nothing_ended());
        assert_eq!(harness.seen.turned_away.lock().unwrap().len(), usize::from(!begin.is_empty()));
    }
}

#[tokio::test]
async fn a_request_that_crosses_the_goodbye_is_answered() {
    let mut harness = harness(|settings| settings.keep_alive = Duration::from_millis(100)).await;
    let mut client = opened(&harness).await;
    exchanged(&mut harness, &mut client).await;
    while !matches!(next(&mut client).await.unwrap(), (GOAWAY, ..)) {}
    client.0.write_all(&headers(3, true, &block(GET))).await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    while !matches!(next(&mut client).await.unwrap(), (HEADERS, _, 3, _)) {}
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

#[tokio::test]
async fn a_client_of_http2_that_ignores_the_end_does_not_hold_it_for_the_drain() {
    for answers_pings in [true, false] {
        let mut harness = harness(|settings| settings.drain = Duration::from_mins(1)).await;
        let mut client = opened(&harness).await;
        exchanged(&mut harness, &mut client).await;
        harness.stop();
        assert_eq!(goodbyes(&mut client, answers_pings).await.first(), Some(&(0x7fff_ffff, 0)));
        within(harness.server).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_of_http2_that_reads_nothing_or_sent_half_a_preface_does_not_hold_the_end_for_the_drain() {
    for begin in [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n"] {
        let harness = harness(|settings| settings.drain = Duration::from_mins(1)).await;
        let mut client = harness.client().await;
        client.0.write_all(begin).await.unwrap();
        // It has been taken up once the server's own preface is here; half a preface gets none.
        if begin.len() == 24 {
            assert_eq!(next(&mut client).await.unwrap().0, SETTINGS);
        }
        harness.stop();
        within(harness.server).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_in_progress_over_http2_when_contrail_stops_goes_on() {
    let mut harness = harness(|settings| settings.drain = Duration::from_mins(1)).await;
    let mut client = opened(&harness).await;
    client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    let mut idle = opened(&harness).await;
    harness.stop();
    while next(&mut client).await.unwrap().0 != GOAWAY {}
    // The other connection is cut for its silence meanwhile.
    goodbyes(&mut idle, false).await;
    tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    while !matches!(next(&mut client).await.unwrap(), (HEADERS, _, 1, _)) {}
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}
