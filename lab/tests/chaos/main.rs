//! A short run of the chaos program (`lab/src/bin/chaos.rs`), with the clients that are available.

use std::{error::Error, fs, path::Path};

use lab::chaos::{self, Settings};

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_when_processes_die() -> Result<(), Box<dyn Error + Send + Sync>> {
    lab::bench::open_many_files();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chaos");
    let _ = fs::remove_dir_all(&folder);
    let settings = Settings {
        calls: 4,
        at_once: 4,
        nodes: 3,
        program: env!("CARGO_BIN_EXE_chaos").into(),
        folder,
        // Without Python 1.30, which does not report that it gives up a call, so the test would wait for it in vain.
        clients: ["askback", "Python 2", "TypeScript", "rmcp"]
            .map(str::to_owned)
            .into(),
        seed: 1,
    };
    let tally = chaos::run(&settings).await?;
    assert!(tally.holds(), "{tally}; see {}", settings.folder.display());
    Ok(())
}
