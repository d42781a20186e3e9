//! A macro that forwards the rest of an IO trait to the wrapped IO.

/// Methods of [`tokio::io::AsyncRead`] and [`tokio::io::AsyncWrite`] that only pass on to a field:
/// `pass_on!(io: poll_flush, poll_shutdown);`
macro_rules! pass_on {
    ($io:ident: $($method:ident),+) => {
        $($crate::io::pass_on::pass_on!(@$method $io);)+
    };
    (@poll_read $io:ident) => {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            buf: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::pin::Pin::new(&mut self.$io).poll_read(cx, buf)
        }
    };
    (@poll_write $io:ident) => {
        fn poll_write(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::pin::Pin::new(&mut self.$io).poll_write(cx, buf)
        }
    };
    (@poll_write_vectored $io:ident) => {
        fn poll_write_vectored(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            bufs: &[std::io::IoSlice<'_>],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::pin::Pin::new(&mut self.$io).poll_write_vectored(cx, bufs)
        }
    };
    (@is_write_vectored $io:ident) => {
        fn is_write_vectored(&self) -> bool {
            self.$io.is_write_vectored()
        }
    };
    (@$poll:ident $io:ident) => {
        fn $poll(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::pin::Pin::new(&mut self.$io).$poll(cx)
        }
    };
}

pub(crate) use pass_on;
