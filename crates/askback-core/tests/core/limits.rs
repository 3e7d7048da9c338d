//! Limits in a configuration file.

use std::time::Duration;

use askback_core::limits::Limits;

#[test]
fn a_time_is_a_number_of_seconds() {
    #[track_caller]
    fn check(group: &str, limit: &str, read: fn(&Limits) -> Duration) {
        let json = format!(r#"{{"{group}": {{"{limit}": 1.5}}}}"#);
        let limits = serde_json::from_str(&json).expect(&json);
        assert_eq!(read(&limits), Duration::from_millis(1500), "{json}");
    }
    check("asking", "run", |limits| limits.asking.run);
    check("asking", "progress_interval", |limits| {
        limits.asking.progress_interval
    });
    check("asking", "person_reaction", |limits| {
        limits.asking.person_reaction
    });
    check("wire", "request", |limits| limits.wire.request);
    for wrong in ["-1", "1e30", r#""1""#] {
        let json = format!(r#"{{"asking": {{"run": {wrong}}}}}"#);
        assert!(serde_json::from_str::<Limits>(&json).is_err(), "{json}");
    }
}
