//! Which hosts are this machine, and which addresses are on the internet.

use askback_core::address::{AddressKind, is_loopback_host};

#[test]
fn hosts_of_this_machine_are_recognized() {
    for host in [
        "localhost",
        "LocalHost",
        "localhost.",
        "app.localhost",
        "127.0.0.1",
        "127.1.2.3",
        "[::1]",
        "[0:0::1]",
    ] {
        assert!(is_loopback_host(host), "{host}");
    }
    for host in [
        "",
        ".",
        "example.com",
        "localhost.example.com",
        "notlocalhost",
        "127.0.0.1.example.com",
        "127.1",
        "0.0.0.0",
        "10.0.0.1",
        "::1",
        "[::1",
        "[127.0.0.1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[fe80::1]",
    ] {
        assert!(!is_loopback_host(host), "{host}");
    }
}

#[test]
fn an_embedded_address_counts_as_that_address() {
    #[track_caller]
    fn check(address: &str, kind: AddressKind) {
        let parsed = address.parse().expect("an address");
        assert_eq!(AddressKind::of(parsed), kind, "{address}");
    }
    check("93.184.216.34", AddressKind::Global);
    check("::ffff:93.184.216.34", AddressKind::Global);
    check("::ffff:127.0.0.1", AddressKind::Loopback);
    check("64:ff9b::7f00:1", AddressKind::Loopback);
    check("64:ff9b::a00:1", AddressKind::Private);
    check("::ffff:169.254.169.254", AddressKind::Special);
    check("2002:7f00:1::", AddressKind::Special);
    check("2606:2800:220:1::1", AddressKind::Global);
}
