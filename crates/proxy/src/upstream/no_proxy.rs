//! `NO_PROXY`: which hosts are reached without a proxy.

use std::net::IpAddr;

/// Whether an entry of the list covers a target, by the most generous of the readings that clients have: `*`, a network
/// (`10.0.0.0/8`), a name with all below it, with a port or without.
pub fn covers(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let (Some((network, bits)), Ok(ip)) = (entry.split_once('/'), host.parse::<IpAddr>()) {
        return in_network(network, bits, ip);
    }
    let entry = entry.to_ascii_lowercase();
    let name = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') => match digits.parse::<u16>() {
            Ok(named) if named == port => name,
            _ => return false,
        },
        _ => entry.trim_matches(['[', ']']),
    };
    let domain = name.trim_start_matches("*.").trim_start_matches('.').trim_end_matches('.');
    !domain.is_empty() && (host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

fn in_network(network: &str, bits: &str, ip: IpAddr) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    match (network, ip) {
        (IpAddr::V4(network), IpAddr::V4(ip)) if bits <= 32 => {
            bits == 0 || (u32::from(network) ^ u32::from(ip)) >> (32 - bits) == 0
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) if bits <= 128 => {
            bits == 0 || (u128::from(network) ^ u128::from(ip)) >> (128 - bits) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_covers_a_name_with_all_below_it_or_a_network() {
        for entry in ["*", "tenant.example", ".example", "*.example", "TENANT.example.", "tenant.example:443"] {
            assert!(covers(entry, "tenant.example", 443), "{entry}");
        }
        for entry in ["", "ant.example", "tenant.example:80", "tenant.example:x", "10.0.0.0/8"] {
            assert!(!covers(entry, "tenant.example", 443), "{entry}");
        }
        assert!(covers("10.0.0.0/8", "10.1.2.3", 443) && covers("0.0.0.0/0", "10.1.2.3", 443));
        assert!(covers("fd00::/8", "fd12::1", 443) && covers("[fd12::1]", "fd12::1", 443));
        assert!(!covers("10.0.0.0/8", "11.1.2.3", 443) && !covers("10.0.0.0/33", "10.1.2.3", 443));
    }
}
