//! Receipts: proof that a person saw a question.

use std::sync::Mutex;

use askback::{
    Ctx, Form, Result, Revision, Server, Tool,
    protocol::{ElicitParams, ElicitResult},
    transport,
    witness::{
        Receipt, ReceiptSecret, ReceiptSigner, Renderer, ShownQuestion, verify_chain,
        verify_chain_from,
    },
};
use serde_json::{Value, json};

use crate::client::builder;

#[derive(Form, Debug, Clone, Copy)]
struct Payment {
    amount: u32,
    #[form(default = false)]
    express: bool,
}

async fn pay(ctx: Ctx) -> Result<String> {
    let payment: Payment = ctx.elicit("Pay?").await?.accepted()?;
    Ok(format!("paid {}", payment.amount))
}

async fn pay_twice(ctx: Ctx) -> Result<String> {
    let first: Payment = ctx.elicit("Pay?").await?.accepted()?;
    let second: Payment = ctx.elicit("Pay?").await?.accepted()?;
    Ok(format!("paid {}", first.amount + second.amount))
}

async fn look(ctx: Ctx) -> Result<String> {
    let answer = ctx.elicit::<Payment>("Pay?").witnessed().await?;
    let witness = answer.witness();
    let told = witness.map(|it| {
        format!(
            "{} to {}, person: {}",
            it.shown_at(),
            it.answered_at(),
            it.is_person()
        )
    });
    Ok(told.unwrap_or_else(|| "no witness".to_owned()))
}

fn signer(server: &str) -> ReceiptSigner {
    let secret = ReceiptSecret::from_text(&"A".repeat(43)).unwrap();
    ReceiptSigner::new(&secret, server)
}

/// A host: what it answers, and the receipts that it has signed.
struct Host {
    signer: ReceiptSigner,
    renderer: Renderer,
    receipts: Mutex<Vec<Receipt>>,
    change: fn(&mut ElicitResult, &[Receipt]),
}

impl Host {
    fn new(change: fn(&mut ElicitResult, &[Receipt])) -> Self {
        Self {
            signer: signer("bank"),
            renderer: Renderer::Terminal,
            receipts: Mutex::default(),
            change,
        }
    }

    fn answer(&self, question: &ElicitParams, content: Value) -> ElicitResult {
        let Value::Object(content) = content else {
            panic!("content is an object")
        };
        let mut answer = ElicitResult::accept(content);
        let mut receipts = self.receipts.lock().unwrap();
        let shown = ShownQuestion {
            question,
            answer: &answer,
            shown_at: 1000,
            answered_at: 3000,
            renderer: self.renderer,
        };
        let receipt = self.signer.sign(shown, receipts.last());
        answer
            .meta
            .get_or_insert_default()
            .set_receipt(receipt.as_ref());
        receipts.extend(receipt);
        (self.change)(&mut answer, &receipts);
        answer
    }
}

/// The result of calling the tool `name`, as a client of a revision.
async fn call(revision: Revision, name: &str, host: Host) -> (String, Vec<Receipt>) {
    let trusted = signer("bank").key();
    let server = Server::new("bank", "1")
        .tool(Tool::new("pay", pay).requires_witness())
        .tool(Tool::new("pay_twice", pay_twice).requires_witness())
        .tool(Tool::new("look", look))
        .trust_witness(move |key, _| *key == trusted)
        .build()
        .unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let host = std::sync::Arc::new(host);
    let answering = std::sync::Arc::clone(&host);
    let client = builder(Some(revision))
        .on_elicit(move |question| {
            let question = ElicitParams::Form(question.request);
            let answer = answering.answer(&question, json!({"amount": 7}));
            async move { Ok(answer) }
        })
        .connect(near)
        .await
        .unwrap();
    let result = client.call_tool(name, json!({})).await.unwrap();
    let receipts = host.receipts.lock().unwrap().clone();
    (
        serde_json::to_value(&*result).unwrap()["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned(),
        receipts,
    )
}

/// The revisions in which forms are sent unchanged.
const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

const NO_WITNESS: &str = "no valid receipt";

#[tokio::test(start_paused = true)]
async fn a_yes_counts_only_with_the_receipt_of_a_trusted_person() {
    async fn check(name: &str, host: fn() -> Host, expected: &str) {
        for revision in REVISIONS {
            let (text, _) = call(revision, name, host()).await;
            assert!(text.contains(expected), "{revision}, {name}: {text}");
        }
    }
    check("pay", || Host::new(|_, _| ()), "paid 7").await;
    check("pay_twice", || Host::new(|_, _| ()), "paid 14").await;
    check(
        "look",
        || Host::new(|_, _| ()),
        "1000 to 3000, person: true",
    )
    .await;
    // Without a receipt.
    let none = || Host::new(|answer, _| answer.meta = None);
    check("pay", none, NO_WITNESS).await;
    check("look", none, "no witness").await;
    // Signed with a key that the server does not trust.
    let stranger = || Host {
        signer: signer("shop"),
        ..Host::new(|_, _| ())
    };
    check("pay", stranger, NO_WITNESS).await;
    check("look", stranger, "person: true").await;
    // Signed by a script.
    let script = || Host {
        renderer: Renderer::Script,
        ..Host::new(|_, _| ())
    };
    check("pay", script, NO_WITNESS).await;
    check("look", script, "person: false").await;
    // A value was changed after it was signed, in a field without or with a default.
    let swapped = || {
        Host::new(|answer, _| {
            let content = answer.content.as_mut().unwrap();
            content.insert("amount".to_owned(), json!(70));
        })
    };
    check("pay", swapped, NO_WITNESS).await;
    check("look", swapped, "no witness").await;
    let added = || {
        Host::new(|answer, _| {
            let content = answer.content.as_mut().unwrap();
            content.insert("express".to_owned(), json!(true));
        })
    };
    check("pay", added, NO_WITNESS).await;
    // The default may be omitted or sent.
    let written = || {
        Host::new(|answer, _| {
            let content = answer.content.as_mut().unwrap();
            content.insert("express".to_owned(), json!(false));
        })
    };
    check("pay", written, "paid 7").await;
    // The first question's receipt is sent with the second question, which has the same text.
    let replayed = || {
        Host::new(|answer, receipts| {
            answer
                .meta
                .get_or_insert_default()
                .set_receipt(receipts.first());
        })
    };
    check("pay", replayed, "paid 7").await;
    check("pay_twice", replayed, NO_WITNESS).await;
}

#[tokio::test(start_paused = true)]
async fn a_receipt_of_another_call_does_not_count() {
    for revision in REVISIONS {
        let (_, receipts) = call(revision, "pay", Host::new(|_, _| ())).await;
        let old = Host {
            receipts: Mutex::new(receipts),
            ..Host::new(|answer, receipts| {
                answer
                    .meta
                    .get_or_insert_default()
                    .set_receipt(receipts.first());
            })
        };
        let (text, _) = call(revision, "pay", old).await;
        assert!(text.contains(NO_WITNESS), "{revision}: {text}");
    }
}

#[test]
fn each_member_of_a_receipt_is_signed() {
    let question: ElicitParams = serde_json::from_value(json!({
        "message": "Pay?", "requestedSchema": {"type": "object", "properties": {}},
        "_meta": {"dev.askback/challenge": "c"},
    }))
    .unwrap();
    let host = Host::new(|_, _| ());
    for _ in 0..2 {
        host.answer(&question, json!({}));
    }
    let receipt = serde_json::to_value(&host.receipts.lock().unwrap()[1]).unwrap();
    let valid = |value: Value| {
        let receipt: Receipt = serde_json::from_value(value).unwrap();
        askback::witness::Witness::verify(receipt).is_some()
    };
    assert!(valid(receipt.clone()));
    for (name, value) in receipt.as_object().unwrap() {
        let mut changed = receipt.clone();
        changed[name] = match value {
            Value::String(text) => {
                let first = if text.starts_with('A') { "B" } else { "A" };
                json!(format!("{first}{}", &text[1..]))
            }
            number => json!(number.as_u64().unwrap() + 1),
        };
        assert!(!valid(changed), "{name} can be changed");
    }
}

#[test]
fn a_challenge_that_is_too_long_is_not_signed() {
    let host = Host::new(|_, _| ());
    for (bytes, receipts) in [(128, 1), (129, 1), (1 << 20, 1)] {
        let question: ElicitParams = serde_json::from_value(json!({
            "message": "Pay?", "requestedSchema": {"type": "object", "properties": {}},
            "_meta": {"dev.askback/challenge": "c".repeat(bytes)},
        }))
        .unwrap();
        host.answer(&question, json!({}));
        assert_eq!(host.receipts.lock().unwrap().len(), receipts, "{bytes}");
    }
}

#[test]
fn a_list_of_receipts_shows_what_is_missing() {
    let question: ElicitParams = serde_json::from_value(json!({
        "message": "Pay?", "requestedSchema": {"type": "object", "properties": {}},
        "_meta": {"dev.askback/challenge": "c"},
    }))
    .unwrap();
    let host = Host::new(|_, _| ());
    for _ in 0..4 {
        host.answer(&question, json!({}));
    }
    let all = host.receipts.into_inner().unwrap();
    let check_from = |first, order: &[usize], expected: Option<u64>| {
        let receipts: Vec<_> = order.iter().map(|at| all[*at].clone()).collect();
        let checked = verify_chain_from(first, &receipts);
        assert_eq!(
            checked.err().map(|error| error.number),
            expected,
            "{order:?}"
        );
    };
    let check = |order: &[usize], expected| check_from(1, order, expected);
    check(&[], None);
    check(&[0, 1, 2, 3], None);
    check(&[1, 2, 3], Some(1));
    check(&[0, 2, 3], Some(2));
    check(&[0, 1, 3], Some(3));
    check(&[0, 2, 1, 3], Some(2));
    check(&[0, 0], Some(2));
    // The first two were dropped.
    check_from(3, &[2, 3], None);
    check_from(3, &[3], Some(3));
    check_from(3, &[1, 2, 3], Some(3));
    check_from(3, &[0], Some(3));
    check_from(1, &[2, 3], Some(1));
    // No receipt can have a higher number.
    check_from(u64::MAX, &[3], Some(u64::MAX));
    let mut changed = all;
    changed[1].answered_at += 1;
    assert_eq!(verify_chain(&changed).unwrap_err().number, 2);
}

#[test]
fn a_tool_that_requires_a_witness_needs_trusted_keys() {
    let server = Server::new("bank", "1").tool(Tool::new("pay", pay).requires_witness());
    let error = server.build().err().unwrap().to_string();
    assert!(error.contains("`pay` requires a witness"), "{error}");
}
