//! contrail's own addresses, so that no tunnel and no target ever leads back to them, however it is spelt; and the one
//! place where names of other hosts are looked up.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    sync::{Arc, PoisonError, RwLock},
};

/// The addresses of all listeners of this process.
#[derive(Debug, Clone, Default)]
pub struct OwnAddresses {
    addresses: Arc<RwLock<Vec<SocketAddr>>>,
    names: Names,
}

/// Looks a name and a port up.
type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Who looks names up.
#[derive(Clone, Default)]
enum Names {
    /// The system.
    #[default]
    System,
    /// This function.
    Given(Arc<LookUp>),
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given",
        })
    }
}

impl OwnAddresses {
    /// Of a process that looks no name up: only addresses resolve.
    #[must_use]
    pub fn without_names() -> Self {
        Self::with_names(|host, _| {
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("`{host}` is a name, and replay looks none up")))
        })
    }

    /// Of a process in which `look_up` replaces the system's resolver.
    #[must_use]
    pub fn with_names(look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self { addresses: Arc::default(), names: Names::Given(Arc::new(look_up)) }
    }

    /// Adds a listener's address.
    pub fn add(&self, address: SocketAddr) {
        self.addresses.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether a connection to this address could end at one of the listeners.
    #[must_use]
    pub fn contains(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        let own = self.addresses.read().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|own| own.port() == address.port() && (own.ip().to_canonical() == ip || is_this_machine(ip)))
    }

    /// Whether a host, as a client may call it, and a port name one of the listeners. Looks no name up: it knows
    /// addresses in every spelling, and `localhost`.
    #[must_use]
    pub fn names(&self, host: &str, port: u16) -> bool {
        match address(host) {
            Some(ip) => self.contains(SocketAddr::new(ip, port)),
            None => host.eq_ignore_ascii_case("localhost") && self.contains(SocketAddr::from(([127, 0, 0, 1], port))),
        }
    }

    /// The addresses of a host; a name is looked up.
    ///
    /// # Errors
    ///
    /// [`Resolved::Own`] where one of them is ours, [`Resolved::Unknown`] where there is none.
    #[expect(clippy::disallowed_methods, reason = "this is the place where names are looked up")]
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Resolved> {
        let addresses = match (address(host), &self.names) {
            (Some(ip), _) => vec![SocketAddr::new(ip, port)],
            (None, Names::Given(look_up)) => look_up(host, port).map_err(Resolved::Unknown)?,
            (None, Names::System) => tokio::net::lookup_host((host, port)).await.map_err(Resolved::Unknown)?.collect(),
        };
        if addresses.iter().any(|address| self.contains(*address)) {
            return Err(Resolved::Own);
        }
        if addresses.is_empty() {
            return Err(Resolved::Unknown(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        Ok(addresses)
    }
}

/// The address that a host is, if it is no name; in the spellings of `inet_aton` too, as system resolvers take them
/// (`127.1`, `0x7f000001`, `017700000001`).
fn address(host: &str) -> Option<IpAddr> {
    if let Ok(ip) = host.parse() {
        return Some(ip);
    }
    let number = |part: &str| {
        let (digits, radix) = match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None if part.len() > 1 && part.starts_with('0') => (&part[1..], 8),
            None => (part, 10),
        };
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
    };
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    // The last part stands for all bytes that are left.
    let left = 32_u32.checked_sub(8 * u32::try_from(first.len()).ok()?).filter(|left| *left > 0)?;
    if first.iter().any(|part| *part > 255) || u64::from(*last) >= 1 << left {
        return None;
    }
    let high = first.iter().zip([24, 16, 8]).fold(0, |all, (part, shift)| all | part << shift);
    Some(IpAddr::from(Ipv4Addr::from(high | last)))
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

    const SPELLINGS: [&str; 11] = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.8.9.1",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
    ];

    #[tokio::test]
    async fn no_spelling_of_an_own_address_gets_through() {
        let own = OwnAddresses::default();
        own.add("127.0.0.1:8080".parse().unwrap());
        for host in SPELLINGS {
            assert!(matches!(own.resolve(host, 8080).await, Err(Resolved::Own)), "{host}");
        }
        assert!(own.resolve("127.0.0.1", 8081).await.is_ok());
        assert!(!own.contains("192.0.2.1:8080".parse().unwrap()));
    }

    #[tokio::test]
    async fn an_own_address_is_known_in_every_spelling_without_a_look_up() {
        let own = OwnAddresses::with_names(|host, _| panic!("{host} is looked up"));
        own.add("127.0.0.1:8080".parse().unwrap());
        for host in SPELLINGS {
            assert!(own.names(host, 8080), "{host}");
            assert!(!own.names(host, 8081), "{host}");
        }
        assert!(!own.names("tenant.example", 8080));
        assert_eq!(own.resolve("192.0.513", 80).await.unwrap(), ["192.0.2.1:80".parse().unwrap()]);
    }

    #[tokio::test]
    async fn a_process_without_names_resolves_addresses_only() {
        let own = OwnAddresses::without_names();
        assert!(own.resolve("192.0.2.1", 443).await.is_ok());
        let Err(Resolved::Unknown(error)) = own.resolve("localhost", 443).await else { panic!("it was looked up") };
        assert_eq!(error.to_string(), "`localhost` is a name, and replay looks none up");
    }

    #[test]
    fn what_only_looks_like_an_address_is_a_name() {
        for host in ["", "1.2.3.4.5", "256.1", "1..2", "0x", "08", "1.2.3.256", "4294967296", "a", "+1", "1.2.3.4x"] {
            assert_eq!(address(host), None, "{host}");
        }
    }
}
