//! Which sessions are ended to make room, and the errors that their calls get.

use super::*;

/// The sessions of a principal, each with a running call.
struct Busy<'a> {
    guest: &'a Guest,
    sessions: Vec<String>,
    calls: Held,
}

impl<'a> Busy<'a> {
    async fn new(guest: &'a Guest, count: usize) -> Self {
        let (mut sessions, mut calls) = (Vec::new(), Held::default());
        for _ in 0..count {
            let session = guest.open().await.ok().unwrap();
            let params = json!({"name": "asks"});
            let response = guest.in_session(&session, 1, "tools/call", params).await;
            assert!(asked(response, &mut calls).await);
            sessions.push(session);
            sleep(MOMENT).await;
        }
        Self {
            guest,
            sessions,
            calls,
        }
    }

    async fn assert_untouched(&mut self, case: &str) {
        for (session, call) in self.sessions.iter().zip(&mut self.calls.responses) {
            let ping = self.guest.in_session(session, 9, "ping", json!({})).await;
            assert_eq!(ping.status, 200, "{case}");
            call.assert_quiet().await;
        }
    }
}

/// Takes as much as one principal may have, without a session.
async fn fill(guest: &Guest, kind: Kind, held: &mut Held) {
    let mut at = 0;
    while kind.one_more(guest, at, held).await {
        at += 1;
        assert!(at < TOO_OFTEN, "{kind:?}");
    }
    loop {
        let nothing = json!({"notifications": {}});
        let crumb = guest.call("subscriptions/listen", nothing).await;
        if !crumb.is_stream() {
            break;
        }
        held.responses.push(crumb);
    }
    loop {
        let (guest, body) = (guest.clone(), Unfinished(Some("{".to_owned())));
        let upload = tokio::spawn(async move { guest.send(&[], body).await });
        sleep(MOMENT).await;
        if upload.is_finished() {
            break;
        }
        held.uploads.push(upload);
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_its_share_but_no_session_ends_no_session_of_others() {
    for (kind, share) in [
        (Kind::Subscriptions, 8),
        (Kind::Bodies, 8),
        (Kind::Tasks, 8),
        // One principal may use all of it.
        (Kind::Subscriptions, 1),
    ] {
        let case = format!("{kind:?}, {share}");
        let mut limits = Limits::default();
        limits.server.kept_bytes = MOST / 4;
        limits.server.owner_share = share;
        for limit in [
            &mut limits.http.body_read,
            &mut limits.http.resume,
            &mut limits.asking.answer,
        ] {
            *limit = Duration::from_secs(24 * 60 * 60);
        }
        let server = builder(kind).limits(limits).build().unwrap();
        let service = server.http().service();
        let [eve, bob, joe, new] =
            ["eve", "bob", "joe", "new"].map(|name| Guest::new(&service, Some(name.into())));
        let mut bobs = Busy::new(&bob, 12).await;
        let mut joes = Busy::new(&joe, 1).await;
        let mut held = Held::default();
        fill(&eve, kind, &mut held).await;
        let full = match share {
            1 => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::TOO_MANY_REQUESTS,
        };
        for _ in 0..8 {
            let refused = eve.open().await.err();
            assert_eq!(refused.map(|refused| refused.status), Some(full), "{case}");
        }
        // The largest owner's memory cannot be freed, and no other owner's is taken for it.
        let refused = new.open().await.err().map(|refused| refused.status);
        assert_eq!(refused, (share == 1).then_some(full), "{case}");
        bobs.assert_untouched(&case).await;
        joes.assert_untouched(&case).await;
        held.uploads.iter().for_each(JoinHandle::abort);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_sessions_are_ended_than_are_in_the_way() {
    let mut limits = Limits::default();
    limits.http.sessions = 40;
    limits.server.owner_share = 1;
    let server = Stage::default().builder().limits(limits).build().unwrap();
    let service = server.http().service();
    let [many, new] = ["many", "new"].map(|name| Guest::new(&service, Some(name.into())));
    let mut sessions = Vec::new();
    for _ in 0..40 {
        sessions.push(many.open().await.ok().unwrap());
        sleep(MOMENT).await;
    }
    assert!(new.open().await.is_ok());
    let mut left = 0;
    for session in &sessions {
        let ping = many.in_session(session, 9, "ping", json!({})).await;
        left += usize::from(ping.status == 200);
    }
    assert_eq!(left, 39);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_session_that_makes_room_are_told_so() {
    let mut limits = Limits::default();
    limits.http.sessions = 2;
    limits.server.owner_share = 1;
    let server = Stage::default().builder().limits(limits).build().unwrap();
    let service = server.http().service();
    let [many, new] = ["many", "new"].map(|name| Guest::new(&service, Some(name.into())));
    let mut busy = Busy::new(&many, 2).await;
    assert!(new.open().await.is_ok());
    let told = busy.calls.responses[0].told().await;
    let told = told.expect("an answer").1;
    assert_eq!(told["id"], 1, "{told}");
    let why = told["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("needed the memory"), "{told}");
    busy.calls.responses[0].assert_ended().await;
    busy.calls.responses[1].assert_quiet().await;
    // The owner knows why its own session ends.
    let mut request = Request::delete("/mcp")
        .header("host", "localhost")
        .header("mcp-session-id", &*busy.sessions[1])
        .body(String::new())
        .unwrap();
    request
        .extensions_mut()
        .insert(many.principal.clone().unwrap());
    let deleted = Response::new(service.respond(request).await);
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    busy.calls.responses[1].assert_ended().await;
}
