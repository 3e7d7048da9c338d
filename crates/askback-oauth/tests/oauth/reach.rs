use std::net::IpAddr;

use askback_oauth::Reach;
use url::Url;

fn reach(server: &str) -> Reach {
    Reach::of(&Url::parse(server).expect("a URL"), false)
}

// Shows BP-26, BP-27, BP-57, BP-58, BP-59, BP-65, BP-67.
#[test]
fn urls_are_taken_as_they_stand_or_not_at_all() {
    let outside = reach("https://mcp.example.com/mcp");
    for good in [
        "https://auth.example.com",
        "https://auth.example.com/",
        "https://auth.example.com/a/b?c=d",
        "https://auth.example.com:8443/a",
        "HTTPS://Auth.Example.com/a",
        "https://93.184.216.34/",
        "https://xn--fa-hia.de/",
    ] {
        assert!(outside.url(good).is_some(), "{good}");
    }
    for bad in [
        "",
        "--help",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "gopher://example.com/",
        "http://auth.example.com/",
        "https:evil.com",
        "https:///evil.com",
        "ht\ntps://ev\til.com/",
        "https://good.com@evil.com/x",
        "https://good.com\\@evil.com/",
        "https://user:password@example.com/",
        "https://example.com/#x",
        "https://example.com/\u{1b}[31m",
        "https://example.com/a b",
        "https://example.com/$(calc)`x`|\"",
        "https://exam\u{200b}ple.com",
        "https://\u{24d4}xample.com",
        "https://\u{430}pple.com",
        "https://fa\u{df}.de/",
        "https://example\u{3002}com",
        "https://example.com/a/../b",
        "https://example.com:443/",
        " https://example.com/",
    ] {
        assert!(outside.url(bad).is_none(), "{bad:?}");
    }
    assert!(
        outside
            .url(&format!("https://a.com/{}", "a".repeat(5000)))
            .is_none()
    );
}

// Shows BP-25, BP-29, BP-30, BP-31, BP-32.
#[test]
fn a_server_elsewhere_names_nothing_inside() {
    let outside = reach("https://mcp.example.com/mcp");
    for bad in [
        "https://127.0.0.1/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://017700000001/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00:ec2::254]/",
        "https://[fc00::1]/",
        "https://[fdff:ffff::1]/",
        "https://[fe80::1]/",
        "https://[febf::1]/",
        "https://[fec0::1]/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://192.0.0.192/",
        "https://[::]/",
        "https://255.255.255.255/",
        "https://[2002:7f00:1::]/",
        "https://localhost/",
        "https://localhost./",
        "https://auth.localhost/",
        "http://localhost/",
    ] {
        assert!(outside.url(bad).is_none(), "{bad}");
    }
}

// Shows BP-26, BP-27, BP-30.
#[test]
fn a_server_on_the_own_machine_may_name_it_and_nothing_else() {
    for server in [
        "http://localhost:8080/mcp",
        "http://127.0.0.1/mcp",
        "http://[::1]:1/",
    ] {
        let inside = reach(server);
        for good in [
            "http://127.0.0.1:9000/authorize",
            "http://localhost:1/",
            "http://[::1]:1/",
            "https://localhost/",
            "https://auth.example.com/",
        ] {
            assert!(inside.url(good).is_some(), "{server} {good}");
        }
        for bad in [
            "http://auth.example.com/",
            "https://10.0.0.1/",
            "http://169.254.169.254/",
        ] {
            assert!(inside.url(bad).is_none(), "{server} {bad}");
        }
    }
}

#[test]
fn addresses_are_judged_again_when_a_name_is_resolved() {
    #[track_caller]
    fn check(reach: Reach, address: &str, expected: bool) {
        let parsed: IpAddr = address.parse().expect("an address");
        assert_eq!(reach.address(parsed), expected, "{address}");
    }
    let outside = reach("https://mcp.example.com/");
    check(outside, "93.184.216.34", true);
    check(outside, "2606:2800:220:1::1", true);
    check(outside, "64:ff9b::5db8:d822", true);
    for bad in [
        "127.0.0.1",
        "::1",
        "10.1.1.1",
        "169.254.169.254",
        "::ffff:10.0.0.1",
        "fd00::1",
    ] {
        check(outside, bad, false);
    }
    let corporate = Reach::of(&Url::parse("https://mcp.corp/").expect("a URL"), true);
    check(corporate, "10.1.1.1", true);
    check(corporate, "fd00::1", true);
    check(corporate, "169.254.169.254", false);
    check(corporate, "127.0.0.1", false);
    check(reach("https://10.0.0.5/mcp"), "10.0.0.5", true);
    check(reach("https://10.0.0.5/mcp"), "10.0.0.6", false);
}
