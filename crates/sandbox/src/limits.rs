//! Rate limits: so many requests per client in a window that starts with its first request.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::seed::RateLimit;

/// The open windows, by client.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<HashMap<String, Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    opened: SystemTime,
    used: u32,
}

impl Windows {
    /// Counts a request; `Err` with the instant at which the window ends if it is one too many.
    pub(super) fn count(&self, client: &str, limit: RateLimit, now: SystemTime) -> Result<(), SystemTime> {
        let length = Duration::from_secs(u64::from(limit.seconds));
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = match windows.get_mut(client) {
            Some(window) => window,
            None => windows.entry(client.to_owned()).or_insert(Window { opened: now, used: 0 }),
        };
        if now.duration_since(window.opened).is_ok_and(|open| open >= length) {
            *window = Window { opened: now, used: 0 };
        }
        if window.used >= limit.requests {
            return Err(window.opened + length);
        }
        window.used += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_so_many_seconds_after_its_first_request() {
        let windows = Windows::default();
        let limit = RateLimit { requests: 2, seconds: 10 };
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(windows.count("a", limit, at(100)), Ok(()));
        assert_eq!(windows.count("a", limit, at(105)), Ok(()));
        assert_eq!(windows.count("a", limit, at(109)), Err(at(110)));
        assert_eq!(windows.count("b", limit, at(109)), Ok(()), "another client has its own window");
        assert_eq!(windows.count("a", limit, at(110)), Ok(()));
    }
}
