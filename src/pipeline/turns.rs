//! Whose turn it is to write.

use std::{
    sync::Arc,
    thread::{self, ThreadId},
};

use tokio::sync::Notify;

/// Who writes at the end of a turn, by the thread of its event loop: an exchange waits for no other thread than its own.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<(ThreadId, Arc<Notify>)>);

impl Turns {
    /// From now on this thread's event loop has somebody who writes.
    pub(super) fn begin(&mut self) -> Arc<Notify> {
        let turn = Arc::new(Notify::new());
        // For what came before there was anybody.
        turn.notify_one();
        self.0.retain(|(thread, _)| *thread != thread::current().id());
        self.0.push((thread::current().id(), Arc::clone(&turn)));
        turn
    }

    /// There is something to write.
    pub(super) fn wake(&self) {
        let here = thread::current().id();
        let own = self.0.iter().find(|(thread, _)| *thread == here);
        if let Some((_, turn)) = own.or(self.0.first()) {
            turn.notify_one();
        }
    }
}
