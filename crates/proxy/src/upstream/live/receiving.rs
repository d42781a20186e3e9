//! Response bodies on their way in, with the upstream's silence measured and the connection given back at the end.

use std::{
    error::Error as _,
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;

use super::{
    pool::Lease,
    retry::{http2, is_reset, reason_name},
};
use crate::upstream::BodyError;

/// A response body on its way in; gives its connection back at the end.
pub(super) struct Receiving {
    pub(super) inner: Incoming,
    pub(super) lease: Option<Lease>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
}

impl Receiving {
    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Body for Receiving {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let Some(lease) = &this.lease else { return Poll::Pending };
            let silence = lease.silence();
            let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence)));
            ready!(timer.as_mut().poll(cx));
            this.lease = None;
            let reason =
                format!("the upstream fell silent for {} s in the middle of its response", silence.as_secs_f32());
            return Poll::Ready(Some(Err(BodyError(reason))));
        };
        this.timer = None;
        Poll::Ready(match frame {
            None => {
                this.end();
                None
            }
            Some(Ok(frame)) => {
                if this.inner.is_end_stream() {
                    this.end();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                this.lease = None;
                let invalid = error.source().and_then(|source| source.downcast_ref::<io::Error>());
                let invalid = invalid.filter(|error| error.kind() == io::ErrorKind::InvalidInput);
                let code = http2(&error).and_then(h2::Error::reason).map(reason_name);
                let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
                let what = match invalid {
                    Some(fault) => format!("sent a chunk that cannot be read ({fault})"),
                    None if is_reset(&error) => format!("ended the stream{code}"),
                    None => format!("closed the connection{code}"),
                };
                Some(Err(BodyError(format!("the upstream {what} in the middle of its response"))))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
