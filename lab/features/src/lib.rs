//! Checks that each feature of askback gates code: an item exists only with its feature. Otherwise this does not
//! compile, with any set of features.

#![allow(unused_imports)] // That something can be imported is the check.

#[cfg(all(test, feature = "testing", not(feature = "pattern")))]
mod without_pattern;

/// Generates a module for each row: the item must exist if the condition holds, and only then. If two glob imports
/// bring the same name, it cannot be used, so a stand-in is usable only if askback does not have the item.
macro_rules! gated {
    ($($(#[$given:meta])? $row:ident: $item:ident in $home:path, with $with:meta;)*) => {$(
        $(#[$given])?
        mod $row {
            #[cfg($with)]
            use $home::{$item as _};

            #[cfg(not($with))]
            mod without {
                /// A module, a macro and a function with the item's name.
                mod stand_in {
                    pub(super) use std::{mem::drop as $item, vec as $item};
                }
                use stand_in::*;
                use $home::*;
                use $item as _;
            }
        }
    )*};
}

gated! {
    client: client in askback, with feature = "client";
    bridge: bridge in askback, with feature = "bridge";
    dates: Date in askback::forms, with feature = "dates";
    http_client: Http in askback::transport, with feature = "http-client";
    http_server: http in askback, with feature = "http-server";
    macros: tool in askback, with feature = "macros";
    oauth: authorization in askback, with any(feature = "oauth-client", feature = "oauth-server");
    #[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
    oauth_client: client in askback::authorization, with feature = "oauth-client";
    #[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
    oauth_server: server in askback::authorization, with feature = "oauth-server";
    schemars: schemars in askback, with feature = "schemars";
    json: Json in askback, with all(feature = "schemars", feature = "server");
    server: server in askback, with feature = "server";
    skills: Skill in askback, with all(feature = "skills", feature = "server");
    #[cfg(feature = "client")]
    skill_files: check_skill_file in askback::client, with feature = "skills";
    handlers: Ctx in askback, with feature = "server";
    #[cfg(feature = "server")]
    sqlite: rusqlite in askback::store, with feature = "sqlite";
    stdio: stdio in askback::transport, with feature = "stdio";
    child: Child in askback::transport, with all(feature = "stdio", feature = "client");
    testing: testing in askback, with feature = "testing";
    witness: witness in askback, with feature = "witness";
}
