//! contrail's own addresses, so that no tunnel and no target ever leads back to them, however it is spelt.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{Arc, PoisonError, RwLock},
};

/// The addresses of all listeners of this process.
#[derive(Debug, Clone, Default)]
pub struct OwnAddresses(Arc<RwLock<Vec<SocketAddr>>>);

impl OwnAddresses {
    /// Adds a listener's address.
    pub fn add(&self, address: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether a connection to this address could end at one of the listeners.
    #[must_use]
    pub fn contains(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        let own = self.0.read().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|own| own.port() == address.port() && (own.ip().to_canonical() == ip || is_this_machine(ip)))
    }

    /// Whether a host, as a client may call it, and a port name one of the listeners. Resolves nothing.
    #[must_use]
    pub fn names(&self, host: &str, port: u16) -> bool {
        match host.parse::<IpAddr>() {
            Ok(ip) => self.contains(SocketAddr::new(ip, port)),
            Err(_) => host.eq_ignore_ascii_case("localhost") && self.contains(SocketAddr::from(([127, 0, 0, 1], port))),
        }
    }

    /// Resolves a host by the system's own rules (which know `127.1` and `0x7f000001` too) and gives its addresses.
    ///
    /// # Errors
    ///
    /// [`Resolved::Own`] where one of them is ours, [`Resolved::Unknown`] where there is none.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Resolved> {
        let addresses: Vec<SocketAddr> =
            tokio::net::lookup_host((host, port)).await.map_err(Resolved::Unknown)?.collect();
        if addresses.iter().any(|address| self.contains(*address)) {
            return Err(Resolved::Own);
        }
        if addresses.is_empty() {
            return Err(Resolved::Unknown(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        Ok(addresses)
    }
}

/// Why a host leads nowhere.
#[derive(Debug)]
pub enum Resolved {
    /// It is one of contrail's own listeners.
    Own,
    /// It has no address.
    Unknown(io::Error),
}

fn is_this_machine(ip: IpAddr) -> bool {
    // Only an address of this machine can be bound.
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_spelling_of_an_own_address_gets_through() {
        let own = OwnAddresses::default();
        own.add("127.0.0.1:8080".parse().unwrap());
        for host in [
            "127.0.0.1",
            "localhost",
            "127.1",
            "2130706433",
            "0x7f.1",
            "127.8.9.1",
            "0.0.0.0",
            "::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(matches!(own.resolve(host, 8080).await, Err(Resolved::Own)), "{host}");
        }
        assert!(own.resolve("127.0.0.1", 8081).await.is_ok());
        assert!(!own.contains("192.0.2.1:8080".parse().unwrap()));
    }
}
