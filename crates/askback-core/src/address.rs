//! Classifies hosts and addresses: loopback, private, or on the internet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    Global,
    Loopback,
    Private,
    /// Any other special address: link-local, multicast, documentation, reserved.
    Special,
}

impl AddressKind {
    /// Classifies an address. An IPv6 address that embeds an IPv4 address has the kind of the IPv4
    /// address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    /// IANA, IPv4 Special-Purpose Address Registry.
    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => Self::Private,
            [0, ..]
            | [169, 254, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [224..=255, ..] => Self::Special,
            _ => Self::Global,
        }
    }

    /// All of IPv6 is special, except one block.
    fn of_v6(address: Ipv6Addr) -> Self {
        if let Some(mapped) = address.to_ipv4_mapped() {
            return Self::of_v4(mapped);
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // An embedded IPv4 address counts as that address (RFC 6052).
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                Self::of_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            [0xfc00..=0xfdff, ..] => Self::Private,
            [0x2001, 0..=0x1ff, ..]
            | [0x2001, 0xdb8, ..]
            | [0x2002, ..]
            | [0x3fff, 0..=0xfff, ..] => Self::Special,
            [0x2000..=0x3fff, ..] => Self::Global,
            _ => Self::Special,
        }
    }
}

/// Whether a host is this machine: a loopback address, or a name reserved for it (RFC 6761, 6.3).
/// The host is written as in a URL, without its port.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').map(str::parse::<Ipv6Addr>);
        return matches!(address, Some(Ok(address)) if address.is_loopback());
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return address.is_loopback();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}
