//! Metadata documents of servers, and their URLs.

use askback_core::{
    auth::{AuthorizationServer, BadIdentifier, ProtectedResource, Scopes},
    json::document,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[test]
fn a_servers_document_is_at_its_path_or_at_the_root() {
    #[track_caller]
    fn check(server: &str, expected: &[&str]) {
        let places = ProtectedResource::well_known(server).expect(server);
        assert_eq!(places, expected, "{server}");
    }
    let root = "https://example.com/.well-known/oauth-protected-resource";
    check("https://example.com", &[root]);
    check("https://example.com/", &[root]);
    check(
        "https://example.com/public/mcp",
        &[&format!("{root}/public/mcp"), root],
    );
    check(
        "https://example.com/mcp/#x",
        &[&format!("{root}/mcp/"), root],
    );
    check(
        "https://example.com/?a=/b",
        &[&format!("{root}?a=/b"), root],
    );
    check(
        "http://localhost:8080/mcp?a=b",
        &[
            "http://localhost:8080/.well-known/oauth-protected-resource/mcp?a=b",
            "http://localhost:8080/.well-known/oauth-protected-resource",
        ],
    );
}

#[test]
fn an_issuers_document_is_at_one_of_a_few_urls() {
    #[track_caller]
    fn check(issuer: &str, expected: &[&str]) {
        let places = AuthorizationServer::well_known(issuer).expect(issuer);
        assert_eq!(places, expected, "{issuer}");
    }
    let root = [
        "https://auth.example.com/.well-known/oauth-authorization-server",
        "https://auth.example.com/.well-known/openid-configuration",
    ];
    check("https://auth.example.com", &root);
    check("https://auth.example.com/", &root);
    for issuer in [
        "https://auth.example.com/tenant1",
        "https://auth.example.com/tenant1/",
    ] {
        check(
            issuer,
            &[
                "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
                "https://auth.example.com/.well-known/openid-configuration/tenant1",
                "https://auth.example.com/tenant1/.well-known/openid-configuration",
            ],
        );
    }
}

#[test]
fn an_invalid_url_names_no_server_and_no_issuer() {
    for bad in [
        "",
        "example.com",
        "https:example.com",
        "https://",
        "https:///mcp",
        "javascript://example.com/",
        "file:///etc/passwd",
        "https://user@example.com/",
        "https://example.com/a b",
        "https://example.com/\u{200b}",
        "https://example.com\\@evil.com/",
        "https://example.com/\r\nx",
    ] {
        assert_eq!(
            ProtectedResource::well_known(bad),
            Err(BadIdentifier),
            "{bad:?}"
        );
        assert_eq!(
            AuthorizationServer::well_known(bad),
            Err(BadIdentifier),
            "{bad:?}"
        );
    }
    for bad in ["https://example.com?a", "https://example.com/#a"] {
        assert_eq!(
            AuthorizationServer::well_known(bad),
            Err(BadIdentifier),
            "{bad:?}"
        );
    }
}

#[test]
fn documents_are_read_and_written() {
    let written = json!({
        "resource": "https://mcp.example.com/mcp",
        "authorization_servers": ["https://auth.example.com"],
        "scopes_supported": ["b", "a"],
        "something_else": 1,
    });
    let read: ProtectedResource = serde_json::from_value(written).expect("a document");
    assert_eq!(read.authorization_servers, ["https://auth.example.com"]);
    assert_eq!(
        read.scopes(),
        Ok(Some(Scopes::parse("a b").expect("scopes")))
    );
    let bad: ProtectedResource =
        serde_json::from_value(json!({"resource": "", "scopes_supported": ["a b"]})).expect("read");
    assert!(bad.scopes().is_err());

    let own = ProtectedResource::new("https://mcp.example.com", vec!["https://a.com".into()]);
    assert_eq!(own.scopes(), Ok(None));
    assert_eq!(
        serde_json::to_value(&own).expect("JSON"),
        json!({
            "resource": "https://mcp.example.com",
            "authorization_servers": ["https://a.com"],
            "bearer_methods_supported": ["header"],
        })
    );
}

#[test]
fn an_issuer_announces_what_it_can() {
    #[track_caller]
    fn check(methods: serde_json::Value, expected: bool) {
        let written =
            json!({"issuer": "https://a.com", "code_challenge_methods_supported": methods});
        let read: AuthorizationServer = serde_json::from_value(written).expect("a document");
        assert_eq!(read.has_s256(), expected, "{methods}");
    }
    check(json!(null), false);
    check(json!([]), false);
    check(json!(["plain"]), false);
    check(json!(["s256"]), false);
    check(json!(["plain", "S256"]), true);

    let read: AuthorizationServer =
        serde_json::from_value(json!({"issuer": "https://a.com", "scopes_supported": ["openid"]}))
            .expect("a document");
    assert!(read.lists_scope("openid") && !read.lists_scope("offline_access"));
}

#[test]
fn the_earliest_servers_are_their_own_issuers() {
    let origin = AuthorizationServer::at_origin_of("https://api.example.com:8443/v1/mcp?x=1");
    assert_eq!(origin.as_deref(), Ok("https://api.example.com:8443"));
    let assumed = AuthorizationServer::assumed("https://api.example.com");
    assert!(assumed.has_s256());
    assert_eq!(
        [
            assumed.authorization_endpoint.as_deref(),
            assumed.token_endpoint.as_deref(),
            assumed.registration_endpoint.as_deref(),
        ],
        [
            Some("https://api.example.com/authorize"),
            Some("https://api.example.com/token"),
            Some("https://api.example.com/register"),
        ]
    );
}

/// In a document with all members, any optional member may be `null` or empty and counts as absent.
#[test]
fn optional_members_may_be_null_or_empty() {
    #[track_caller]
    fn check<T: DeserializeOwned + Serialize>(name: &str, whole: &Value) {
        let written = |json: Value| {
            let read: T = document(json).expect("a document");
            serde_json::to_value(read).expect("JSON")
        };
        assert_eq!(written(whole.clone()), *whole, "the test has every member");
        let members = whole.as_object().expect("an object").keys();
        for member in members.filter(|member| *member != name) {
            let mut without = whole.clone();
            without.as_object_mut().expect("an object").remove(member);
            for empty in [json!(null), json!("")] {
                let mut emptied = whole.clone();
                emptied[member] = empty;
                assert_eq!(written(emptied), without, "{member}");
            }
        }
    }
    check::<ProtectedResource>(
        "resource",
        &json!({
            "resource": "https://a.example",
            "authorization_servers": ["https://b.example"],
            "scopes_supported": ["a"],
            "bearer_methods_supported": ["header"],
            "resource_name": "A",
            "resource_documentation": "https://a.example/docs",
            "dpop_signing_alg_values_supported": ["ES256"],
            "dpop_bound_access_tokens_required": true,
        }),
    );
    check::<AuthorizationServer>(
        "issuer",
        &json!({
            "issuer": "https://b.example",
            "authorization_endpoint": "https://b.example/authorize",
            "token_endpoint": "https://b.example/token",
            "registration_endpoint": "https://b.example/register",
            "revocation_endpoint": "https://b.example/revoke",
            "introspection_endpoint": "https://b.example/introspect",
            "jwks_uri": "https://b.example/keys",
            "scopes_supported": ["a"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": true,
            "dpop_signing_alg_values_supported": ["ES256"],
        }),
    );
}
