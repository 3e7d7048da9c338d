//! Hosts and origins.

use askback_core::http::guard::{BadName, Guard, GuardRefusal};

#[track_caller]
fn check(guard: &Guard, host: &str, origin: Option<&str>, expected: Result<(), GuardRefusal>) {
    let outcome = guard.check(Some(host.as_bytes()), origin.map(str::as_bytes));
    assert_eq!(outcome, expected, "{host:?} {origin:?}");
}

#[test]
fn a_local_server_is_reached_by_loopback_names() {
    let guard = Guard::default();
    for host in [
        "localhost",
        "localhost:8080",
        "LocalHost:1",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:3000",
    ] {
        check(&guard, host, None, Ok(()));
    }
    for host in [
        "",
        " localhost",
        "localhost ",
        "localhost.",
        "localhost.:80",
        "localhost.evil.com",
        "evil.com",
        "localhost:80.evil.com",
        "localhost@evil.com",
        "evil.com@localhost",
        "localhost:",
        "localhost:0",
        "localhost:080",
        "localhost:+80",
        "localhost:65536",
        "localhost:99999999999999999999",
        "localhost:80:80",
        "localhost:x",
        "localhost/",
        "localhost\\",
        "localhost,evil.com",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "::1",
        "::1:80",
        "[::1",
        "[::1]80",
        "[::1]x:80",
        "[::1%25lo]",
        "[::1%lo]:80",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "ｌocalhost",
        "localhost\0",
        "http://localhost",
    ] {
        check(&guard, host, None, Err(GuardRefusal::Host));
    }
    assert_eq!(guard.check(None, None), Err(GuardRefusal::HostMissing));
    assert_eq!(guard.check(Some(b"\xff"), None), Err(GuardRefusal::Host));
}

// Shows HT-02.
#[test]
fn pages_of_other_origins_are_refused() {
    let guard = Guard::default();
    for origin in [
        "http://localhost",
        "http://localhost:5173",
        "https://localhost",
        "http://127.0.0.1:6274",
        "http://[::1]:80",
    ] {
        check(&guard, "localhost:80", Some(origin), Ok(()));
        check(&guard, "evil.com", Some(origin), Err(GuardRefusal::Host));
    }
    for origin in [
        "null",
        "",
        "localhost",
        "http://",
        "HTTP://localhost",
        "http://LOCALHOST",
        "http://localhost/",
        "http://localhost:80/",
        "http://localhost.",
        "http://localhost.evil.com",
        "http://evil.com",
        "http://user@localhost",
        "http://localhost@evil.com",
        "http://localhost:80@evil.com",
        "http://localhost#@evil.com",
        "http://localhost:",
        "http://localhost:0",
        "http://[::1%25lo]",
        "http://http://localhost",
        "ws://localhost",
        "file://localhost",
        "http://localhost, http://evil.com",
        "http://localhost http://localhost",
    ] {
        check(
            &guard,
            "localhost:80",
            Some(origin),
            Err(GuardRefusal::Origin),
        );
    }
    assert_eq!(
        guard.check(Some(b"localhost"), Some(b"\xff")),
        Err(GuardRefusal::Origin)
    );
}

#[test]
fn hosts_and_origins_are_listed() {
    let guard = Guard::none()
        .allow_host("MCP.example.com")
        .and_then(|guard| guard.allow_host("other.example.com:8443"))
        .and_then(|guard| guard.allow_host("[2001:db8::1]"))
        .and_then(|guard| guard.allow_origin("https://app.example.com"))
        .and_then(|guard| guard.allow_origin("vscode-webview://0a1b"))
        .expect("good names");
    for host in [
        "mcp.example.com",
        "mcp.EXAMPLE.com:443",
        "other.example.com:8443",
        "[2001:db8::1]:9",
    ] {
        check(&guard, host, None, Ok(()));
    }
    for host in [
        "other.example.com",
        "other.example.com:443",
        "mcp.example.com.",
        "a.mcp.example.com",
        "xmcp.example.com",
        "localhost",
        "[::1]",
    ] {
        check(&guard, host, None, Err(GuardRefusal::Host));
    }
    let host = "mcp.example.com";
    for origin in ["https://app.example.com", "vscode-webview://0a1b"] {
        check(&guard, host, Some(origin), Ok(()));
    }
    for origin in [
        "http://app.example.com",
        "https://app.example.com:443",
        "https://app.example.com/",
        "https://APP.example.com",
        "https://mcp.example.com",
        "http://localhost",
        "null",
    ] {
        check(&guard, host, Some(origin), Err(GuardRefusal::Origin));
    }
}

#[test]
fn any_host_is_let_through_only_when_asked_for() {
    let guard = Guard::default().dangerously_allow_any_host();
    check(&guard, "evil.com", None, Ok(()));
    check(
        &guard,
        "evil.com",
        Some("http://evil.com"),
        Err(GuardRefusal::Origin),
    );
    check(&guard, "evil.com", Some("null"), Err(GuardRefusal::Origin));
    assert_eq!(guard.check(None, None), Ok(()));
    let guard = guard
        .allow_host("a.example")
        .and_then(|guard| guard.allow_host("b.example"));
    check(&guard.expect("good names"), "c.example", None, Ok(()));
}

#[test]
fn names_that_can_never_match_are_refused() {
    for host in [
        "",
        "*",
        "*.example.com",
        "https://example.com",
        "example.com/mcp",
        "example.com.",
        ".example.com",
        "example..com",
        "example.com:",
        "example.com:0",
        "user@example.com",
        "exämple.com",
        "a b",
        "::1",
        "[::1%25lo]",
        "[::1]:x",
    ] {
        let refused = Err(BadName::Host(host.into()));
        assert_eq!(Guard::none().allow_host(host), refused, "{host:?}");
    }
    for origin in [
        "",
        "*",
        "null",
        "example.com",
        "https://",
        "://example.com",
        "https://*.example.com",
        "https://example.com/",
        "https://example.com/a",
        "https://Example.com",
        "HTTPS://example.com",
        "https://user@example.com",
        "https://example.com?x",
        "https://a.com,https://b.com",
        "https://exämple.com",
        "https://example.com ",
    ] {
        let refused = Err(BadName::Origin(origin.into()));
        assert_eq!(Guard::none().allow_origin(origin), refused, "{origin:?}");
    }
}

#[test]
fn all_that_a_request_names_must_be_right() {
    let guard = Guard::default()
        .allow_host("a.example")
        .and_then(|guard| guard.allow_origin("https://a.example"))
        .expect("good names");
    #[track_caller]
    fn check(
        guard: &Guard,
        hosts: &[&str],
        authority: Option<&str>,
        origins: &[&str],
        expected: Result<(), GuardRefusal>,
    ) {
        let checked = guard.check_request(
            hosts.iter().map(|it| it.as_bytes()),
            authority.map(str::as_bytes),
            origins.iter().map(|it| it.as_bytes()),
        );
        assert_eq!(checked, expected, "{hosts:?} {authority:?} {origins:?}");
    }
    let (good, evil) = ("a.example", "evil.example");
    let page = "https://a.example";
    check(&guard, &[good], None, &[], Ok(()));
    check(&guard, &[], Some(good), &[page], Ok(()));
    check(&guard, &[good], Some(good), &[page], Ok(()));
    check(&guard, &[], None, &[], Err(GuardRefusal::HostMissing));
    for (hosts, authority) in [
        (&[good, evil][..], None),
        (&[evil, good], None),
        (&[good, good], None),
        (&[good, good], Some(good)),
        (&[evil], Some(good)),
        (&[good], Some(evil)),
        (&[], Some(evil)),
    ] {
        check(&guard, hosts, authority, &[], Err(GuardRefusal::Host));
    }
    for origins in [[page, page], [page, "https://evil.example"]] {
        check(&guard, &[good], None, &origins, Err(GuardRefusal::Origin));
    }
    // If every host is allowed, a repeated header is still refused.
    let any = guard.dangerously_allow_any_host();
    check(&any, &[evil], None, &[], Ok(()));
    check(&any, &[evil, good], None, &[], Err(GuardRefusal::Host));
}
