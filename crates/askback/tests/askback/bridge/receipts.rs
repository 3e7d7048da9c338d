//! Receipts through a bridge: the front end that asks instead of the client signs them. The server
//! notices every change.

use std::sync::{Arc, Mutex};

use askback::{
    BoxFuture, Error, Result, Revision, Server, Tool,
    bridge::{Answers, Bridge},
    client::{Client, HostQuestion},
    protocol::{
        ClientCapabilities, ElicitParams, ElicitResult, HasMeta, InputRequest, InputResponse,
    },
    witness::{Receipt, ReceiptSecret, ReceiptSigner, Renderer, ShownQuestion},
};
use serde_json::json;

use super::{ASKING, Standby, connect, reserve, serve, sign_in, soon, to, twice, willing};
use crate::client::builder;

const NO_WITNESS: &str = "no valid receipt";

/// Draws questions and signs receipts. The messages are changed between this front end and the
/// server.
#[derive(Clone)]
struct FrontEnd {
    key: &'static str,
    renderer: Renderer,
    receipts: Arc<Mutex<Vec<Receipt>>>,
    /// Changes a question before it is drawn.
    draws: fn(&mut ElicitParams),
    /// Changes an answer after it was signed. It gets all receipts so far.
    passes: fn(&mut ElicitResult, &[Receipt]),
}

impl FrontEnd {
    fn new() -> Self {
        Self {
            key: "bank",
            renderer: Renderer::Terminal,
            receipts: Arc::default(),
            draws: |_| (),
            passes: |_, _| (),
        }
    }

    fn passing(passes: fn(&mut ElicitResult, &[Receipt])) -> Self {
        Self {
            passes,
            ..Self::new()
        }
    }

    fn drawing(draws: fn(&mut ElicitParams)) -> Self {
        Self {
            draws,
            ..Self::new()
        }
    }
}

fn signer(server: &str) -> ReceiptSigner {
    let secret = ReceiptSecret::from_text(&"A".repeat(43)).expect("it is a secret");
    ReceiptSigner::new(&secret, server)
}

impl Answers for FrontEnd {
    fn capabilities(&self) -> ClientCapabilities {
        Standby::default().capabilities()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        Box::pin(async move {
            let InputRequest::Elicit(mut question) = question.request else {
                return Err(Error::not_done("not asked"));
            };
            (self.draws)(&mut question);
            let mut answer = match &question {
                ElicitParams::Form(_) => ElicitResult::accept([("window", json!(true))]),
                ElicitParams::Url(_) => ElicitResult::agree(),
            };
            let mut receipts = self.receipts.lock().unwrap();
            let shown = ShownQuestion {
                question: &question,
                answer: &answer,
                shown_at: 1000,
                answered_at: 3000,
                renderer: self.renderer,
            };
            let receipt = signer(self.key).sign(shown, receipts.last());
            answer.meta_mut().set_receipt(receipt.as_ref());
            receipts.extend(receipt);
            (self.passes)(&mut answer, &receipts);
            Ok(InputResponse::Elicit(answer))
        })
    }
}

fn bank(up: Revision) -> Bridge {
    let trusted = signer("bank").key();
    let server = Server::new("bank", "1")
        .tool(Tool::new("pay", reserve).requires_witness())
        .tool(Tool::new("pay_twice", twice).requires_witness())
        .tool(Tool::new("agree", sign_in).requires_witness())
        .trust_witness(move |key, _| *key == trusted)
        .revisions([up])
        .build();
    to(server.expect("it is whole"))
}

/// The client's and the server's revision. Before 2025-11-25 the server's forms are rewritten.
fn cells() -> impl Iterator<Item = [Revision; 2]> {
    let servers = [Revision::V2025_11_25, Revision::V2026_07_28];
    ASKING
        .into_iter()
        .flat_map(move |down| servers.map(|up| [down, up]))
}

async fn text(client: &Client, tool: &str) -> String {
    let result = soon(client.call_tool(tool, ())).await.expect("it answers");
    result.raw.get().to_owned()
}

async fn mute(bridge: &Bridge, down: Revision) -> Client {
    let (near, _) = serve(bridge);
    let client = builder(Some(down)).connect(near).await;
    client.expect("it is a server")
}

fn flip(text: &mut String) {
    let first = if text.starts_with('A') { "B" } else { "A" };
    text.replace_range(..1, first);
}

#[tokio::test]
async fn a_receipt_passes_through_a_bridge_and_a_change_is_noticed() {
    async fn check(tool: &str, front_end: FrontEnd, expected: &str) {
        for [down, up] in cells() {
            let front_end = FrontEnd {
                receipts: Arc::default(),
                ..front_end.clone()
            };
            let client = mute(&bank(up).answers(front_end), down).await;
            let said = text(&client, tool).await;
            assert!(said.contains(expected), "{down} {up} {tool}: {said}");
        }
    }
    let change = |change: fn(&mut ElicitResult, &[Receipt])| FrontEnd::passing(change);
    check("pay", FrontEnd::new(), "window: true").await;
    check("pay_twice", FrontEnd::new(), "true true").await;
    check("agree", FrontEnd::new(), "signed in").await;
    // A file of rules answered.
    let script = FrontEnd {
        renderer: Renderer::Script,
        ..FrontEnd::new()
    };
    check("pay", script, NO_WITNESS).await;
    // Another user's key, or a key for another server.
    let stranger = FrontEnd {
        key: "shop",
        ..FrontEnd::new()
    };
    check("pay", stranger, NO_WITNESS).await;
    // The receipt is missing, or its signature is cut short.
    check("pay", change(|answer, _| answer.meta = None), NO_WITNESS).await;
    let cut = change(|answer, receipts| {
        let mut receipt = receipts.last().cloned();
        receipt.iter_mut().for_each(|it| {
            it.signature.truncate(40);
        });
        answer.meta_mut().set_receipt(receipt.as_ref());
    });
    check("pay", cut, NO_WITNESS).await;
    // Forged: one of its texts is different.
    for member in [
        |it: &mut Receipt| flip(&mut it.signature),
        |it| flip(&mut it.question),
        |it| flip(&mut it.challenge),
        |it| it.key = signer("shop").key().to_string(),
        |it| it.renderer = "page".to_owned(),
        |it| it.answered_at += 1,
    ] as [fn(&mut Receipt); 6]
    {
        for [down, up] in cells() {
            let front_end = FrontEnd::new();
            let forging = Forging {
                front_end,
                change: member,
            };
            let client = mute(&bank(up).answers(forging), down).await;
            let said = text(&client, "pay").await;
            assert!(said.contains(NO_WITNESS), "{down} {up}: {said}");
        }
    }
    // Swapped: a no becomes a yes, or a value changes.
    let swapped = change(|answer, _| {
        let content = answer.content.as_mut().expect("it is a form");
        content.insert("window".to_owned(), json!(false));
    });
    check("pay", swapped, NO_WITNESS).await;
    // The person saw another text, other fields, or another link.
    let other_text = FrontEnd::drawing(|question| {
        if let ElicitParams::Form(form) = question {
            form.message = "Just a small question".to_owned();
        }
    });
    check("pay", other_text, NO_WITNESS).await;
    let other_fields = FrontEnd::drawing(|question| {
        let drawn = json!({"message": "Which seat?", "requestedSchema": {"type": "object", "properties": {
            "window": {"type": "boolean", "title": "Nothing happens if you say yes"},
        }}});
        let drawn = serde_json::from_value(drawn).expect("it is a form");
        if let (ElicitParams::Form(form), ElicitParams::Form(drawn)) = (question, drawn) {
            form.requested_schema = drawn.requested_schema;
        }
    });
    check("pay", other_fields, NO_WITNESS).await;
    let other_link = FrontEnd::drawing(|question| {
        if let ElicitParams::Url(link) = question {
            link.url = "https://b.test/in".to_owned();
        }
    });
    check("agree", other_link, NO_WITNESS).await;
    // The receipt of the first question comes with the second one, which has the same fields.
    let replayed = change(|answer, receipts| answer.meta_mut().set_receipt(receipts.first()));
    check("pay", replayed.clone(), "window: true").await;
    check("pay_twice", replayed, NO_WITNESS).await;
}

/// Changes each receipt after it was signed.
struct Forging {
    front_end: FrontEnd,
    change: fn(&mut Receipt),
}

impl Answers for Forging {
    fn capabilities(&self) -> ClientCapabilities {
        self.front_end.capabilities()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        Box::pin(async move {
            let mut response = self.front_end.answer(question).await?;
            if let InputResponse::Elicit(answer) = &mut response {
                let mut receipt = answer.meta_mut().receipt().expect("it was signed");
                (self.change)(&mut receipt);
                answer.meta_mut().set_receipt(Some(&receipt));
            }
            Ok(response)
        })
    }
}

#[tokio::test]
async fn a_receipt_of_another_call_is_noticed() {
    for [down, up] in cells() {
        let first =
            FrontEnd::passing(|answer, receipts| answer.meta_mut().set_receipt(receipts.first()));
        let client = mute(&bank(up).answers(first), down).await;
        let said = text(&client, "pay").await;
        assert!(said.contains("window: true"), "{down} {up}: {said}");
        let said = text(&client, "pay").await;
        assert!(said.contains(NO_WITNESS), "{down} {up}: {said}");
    }
}

#[tokio::test]
async fn a_client_that_answers_by_itself_gets_no_receipt() {
    for [down, up] in cells() {
        let front_end = FrontEnd::new();
        let receipts = Arc::clone(&front_end.receipts);
        let client = connect(&bank(up).answers(front_end), down, willing()).await;
        let said = text(&client, "pay").await;
        assert!(said.contains(NO_WITNESS), "{down} {up}: {said}");
        assert_eq!(*receipts.lock().unwrap(), [], "{down} {up}");
    }
}
