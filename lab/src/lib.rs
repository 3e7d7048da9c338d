//! Tests and tools for the whole of askback. `tests/tidy` checks its structure; the code in the documents is compiled
//! and run from here. [`conformance`] is for the official suite, [`interop`] for other implementations, [`install`]
//! installs them, [`mod@bench`] measures, and [`kept`] compares with earlier measurements.
//!
//! The connect kit is tested with a [`browser`], third-party [`issuers`] and an [`airline`], all on the loopback
//! interface ([`loopback`]). [`fleet`] is for processes that share an account; [`mod@chaos`] kills processes of a
//! fleet.

pub mod airline;
pub mod bench;
pub mod browser;
pub mod chaos;
pub mod conformance;
pub mod fleet;
pub mod install;
pub mod interop;
pub mod issuers;
pub mod kept;
pub mod loopback;

#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../docs/guide/asking.md")]
    mod asking {}
    #[doc = include_str!("../../docs/guide/authorization-client.md")]
    mod authorization_client {}
    #[doc = include_str!("../../docs/guide/authorization-server.md")]
    mod authorization_server {}
    #[doc = include_str!("../../docs/guide/beside-claude-code.md")]
    mod beside_claude_code {}
    #[doc = include_str!("../../docs/guide/client.md")]
    mod client {}
    #[doc = include_str!("../../docs/guide/connections.md")]
    mod connections {}
    #[doc = include_str!("../../docs/guide/deployment.md")]
    mod deployment {}
    #[doc = include_str!("../../docs/guide/effects.md")]
    mod effects {}
    #[doc = include_str!("../../docs/guide/extending.md")]
    mod extending {}
    #[doc = include_str!("../../docs/guide/fleet.md")]
    mod fleet {}
    #[doc = include_str!("../../docs/guide/forms.md")]
    mod forms {}
    #[doc = include_str!("../../docs/guide/from-fastmcp.md")]
    mod from_fastmcp {}
    #[doc = include_str!("../../docs/guide/from-rmcp.md")]
    mod from_rmcp {}
    #[doc = include_str!("../../docs/guide/README.md")]
    mod guide {}
    #[doc = include_str!("../../docs/guide/http.md")]
    mod http {}
    #[doc = include_str!("../../docs/guide/limits.md")]
    mod limits {}
    #[doc = include_str!("../../docs/guide/limits-server.md")]
    mod limits_server {}
    #[doc = include_str!("../../docs/guide/observability.md")]
    mod observability {}
    #[doc = include_str!("../../docs/guide/operating.md")]
    mod operating {}
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/guide/resources.md")]
    mod resources {}
    #[doc = include_str!("../../docs/guide/skills.md")]
    mod skills {}
    #[doc = include_str!("../../docs/guide/tasks.md")]
    mod tasks {}
    #[doc = include_str!("../../docs/guide/testing.md")]
    mod testing {}
    #[doc = include_str!("../../docs/guide/tools.md")]
    mod tools {}
    #[doc = include_str!("../../docs/guide/tutorial.md")]
    mod tutorial {}
    #[doc = include_str!("../../docs/guide/wrap.md")]
    mod wrap {}
}
