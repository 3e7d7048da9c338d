//! Log lines a server sends to its client.

use alloc::string::String;

use serde::Deserialize;

use super::{LoggingLevel, RawJson, messages::messages};

messages! {
    /// The parameters of `logging/setLevel` (handshake revisions).
    #[derive(Deserialize)]
    struct SetLevelParams {
        /// The least level to send from now on.
        level: LoggingLevel;
        meta;
    }

    /// The parameters of `notifications/message`.
    #[derive(Deserialize)]
    struct LoggingMessageParams {
        /// How grave it is.
        level: LoggingLevel;
        /// Which part of the server says it.
        logger?: String;
        /// The content: any JSON.
        data: RawJson;
        meta;
    }
}
