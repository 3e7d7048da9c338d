//! `askback check --quick` with a server that starts slowly.

use crate::run::{Ran, Run};

/// A server of both eras that does not read until both eras have sent a request, like a server that is still starting.
/// It rejects the handshake after a request of 2026-07-28.
const STARTING: &str = r#"
discovered=
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    case $line in
    *server/discover*) discovered=$id ;;
    *'"initialize"'*)
        case $discovered in
        '') printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
        *)
            printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}\n' "$discovered"
            printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no handshake any more"}}\n' "$id" ;;
        esac ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    esac
done
"#;

fn doctor(name: &str, server: &str) -> Ran {
    let run = Run::new(
        &format!("slow-{name}"),
        &["check", "--quick", "--timeout", "1"],
    );
    run.and(&["--", "sh", "-c", server]).run()
}

#[test]
fn a_slow_start_does_not_change_the_era_of_a_server() {
    doctor("both", STARTING)
        .expect(0)
        .prints("protocol       ok, each request by itself, in 2026-07-28");
    let old = STARTING.replace("discovered=$id", ":");
    doctor("old", &old)
        .expect(0)
        .prints("with a handshake, in 2025-11-25");
}
