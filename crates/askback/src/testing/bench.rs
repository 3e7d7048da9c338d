use std::{sync::Arc, time::Duration};

use askback_core::{
    ask::{
        Principal,
        keys::{Key, KeyRing},
    },
    limits::Limits,
    revision::Revision,
};
use serde_json::Value;

use super::{
    CallEnd, ReceivedNotification, Run, TestClock, Trouble, Wire,
    crash::{Crash, CrashingStore},
    person::Person,
};
use crate::{
    keys::KeySource,
    server::{ServerBuilder, UNSAFE_REPLAY},
    store::{MemoryStore, Store},
};

pub(super) type ServerFactory = Box<dyn Fn() -> ServerBuilder + Send + Sync>;

pub(super) type EffectCounter = Box<dyn Fn() -> usize + Send + Sync>;

pub(super) struct Stage {
    pub(super) server: ServerFactory,
    pub(super) effects: Option<EffectCounter>,
}

pub(super) struct Bench {
    pub(super) server: ServerFactory,
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) person: Person,
    pub(super) principal: Option<Principal>,
    pub(super) clock: TestClock,
    /// Replaces the claims that a server stores in files.
    pub(super) claims: Arc<dyn Store>,
    pub(super) crash: Arc<Crash>,
}

impl Bench {
    pub(super) fn connect(&self) -> Wire {
        self.start(|given| given)
    }

    pub(super) fn restart(&self) -> Wire {
        self.start(|given| match given.outlives_process() {
            true => given,
            false => Arc::new(MemoryStore::default()),
        })
    }

    fn start(&self, given: fn(Arc<dyn Store>) -> Arc<dyn Store>) -> Wire {
        let ring = KeyRing::new(Key::new(&[0x5a; 32]));
        let claims = || Arc::clone(&self.claims);
        let server = (self.server)()
            .clock(self.clock)
            .keys(KeySource::Ring(ring))
            .map_store(|author| {
                let store = author.map_or_else(claims, given);
                Arc::new(CrashingStore::new(store, &self.crash))
            })
            .seed([0xa5; 32])
            .check_replay(true)
            .build();
        match server {
            Ok(server) => Wire::to(&server, self.principal.clone()),
            Err(error) => panic!("the server cannot be built: {error}"),
        }
    }

    pub(super) fn patience() -> Duration {
        Limits::default().asking.answer
    }
}

impl Run {
    pub(super) fn new(revision: Revision, trouble: Trouble) -> Self {
        Self {
            revision,
            trouble,
            questions: Vec::new(),
            rounds: 1,
            ended: CallEnd::Abandoned,
            notifications: Vec::new(),
            findings: Vec::new(),
            effects: None,
            has_crashed: false,
        }
    }

    pub(super) fn end(&mut self, response: &Value) {
        self.ended = CallEnd::from_response(response);
        if let CallEnd::Error { message, .. } = &self.ended
            && message.starts_with(UNSAFE_REPLAY)
        {
            self.findings.push(message.clone());
        }
    }

    pub(super) fn tell(&mut self, notification: &Value) {
        let params = &notification["params"];
        let told = match notification["method"].as_str() {
            Some("notifications/message") => ReceivedNotification::Log(
                params["level"].as_str().unwrap_or_default().to_owned(),
                params["data"].clone(),
            ),
            Some("notifications/progress") => ReceivedNotification::Progress(
                params["progress"].as_f64().unwrap_or_default(),
                params["message"].as_str().map(str::to_owned),
            ),
            _ => return,
        };
        self.notifications.push(told);
    }
}

impl CallEnd {
    pub(super) fn from_response(response: &Value) -> Self {
        let error = &response["error"];
        if error.is_null() {
            return Self::Result(response["result"].clone());
        }
        Self::Error {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        }
    }
}
