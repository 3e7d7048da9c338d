//! Log messages from a server to its client.

use alloc::string::String;

use serde::Deserialize;

use super::{LoggingLevel, RawJson, messages::messages};

messages! {
    /// The parameters of `logging/setLevel` (handshake revisions).
    #[derive(Deserialize)]
    struct SetLevelParams {
        /// The minimum level from now on.
        level: LoggingLevel;
        meta;
    }

    /// The parameters of `notifications/message`.
    #[derive(Deserialize)]
    struct LoggingMessageParams {
        /// The severity.
        level: LoggingLevel;
        /// The part of the server that logs.
        logger?: String;
        /// The content, as any JSON.
        data: RawJson;
        meta;
    }
}
