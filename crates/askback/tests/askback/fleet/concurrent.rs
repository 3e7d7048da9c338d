//! Questions beside one another, beside timers and beside work: an answer that was taken counts, and is not asked for again.

use std::{sync::atomic::Ordering, time::Duration};

use askback::{Ctx, Result, State, Tool};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Shared, Who, accept, at, line::JournalLine};
use crate::http::client::{Client, Response, Session};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("unrecorded", unrecorded),
        Tool::new("hurry", hurry),
        Tool::new("busy", busy),
    ]
}

/// The answer to a question.
async fn name(ctx: &Ctx, key: &'static str) -> Result<String> {
    let who: Who = ctx.elicit(key).key(key).await?.accepted()?;
    Ok(who.name)
}

/// Waits for something before the first question: not in its first run, but in all others.
async fn unrecorded(ctx: Ctx, State(shared): State<Shared>) -> Result<String> {
    let runs = shared.prices.fetch_add(1, Ordering::Relaxed);
    let first = async {
        if runs > 0 {
            sleep(Duration::from_secs(5)).await;
        }
        name(&ctx, "first").await
    };
    let others = async {
        let second = name(&ctx, "second").await?;
        let third = name(&ctx, "third").await?;
        Result::<_>::Ok(format!("{second}, {third}"))
    };
    let (first, others) = tokio::join!(first, others);
    Ok(format!("{}, {}", first?, others?))
}

/// Waits a minute for the answer.
async fn hurry(ctx: Ctx) -> Result<String> {
    let minute = Duration::from_secs(60);
    match ctx.timeout(minute, name(&ctx, "quick")).await {
        Ok(name) => name,
        Err(_) => Ok("too late".to_owned()),
    }
}

/// Works after the first question, and asks the second one meanwhile.
async fn busy(ctx: Ctx) -> Result<String> {
    let working = async {
        let first = name(&ctx, "first").await?;
        let work = || async {
            sleep(Duration::from_secs(20)).await;
            Ok(first)
        };
        ctx.run::<String, _, _>("work", work).await
    };
    let (first, second) = tokio::join!(working, name(&ctx, "second"));
    Ok(format!("{}, {}", first?, second?))
}

/// A call, whose client expects each message that comes.
struct Call {
    shared: Shared,
    session: Session,
    stream: Response,
}

impl Call {
    async fn begin(tool: &str) -> Self {
        let shared = Shared::new();
        let session = shared.session().await;
        let call = json!({"name": tool});
        let stream = session.call(1, "tools/call", call).await;
        Self {
            shared,
            session,
            stream,
        }
    }

    /// The next message asks this.
    async fn question(&mut self, about: &str) -> Value {
        let question = self.stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["message"], about, "{question}");
        question
    }

    /// The next message is the result.
    async fn result(mut self) -> String {
        let result = self.stream.message().await;
        let text = result["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// Answers at another process.
    async fn answer(&self, question: &Value, name: &str) {
        answer_at(&self.shared.node(), &self.session, question, name).await;
    }

    /// Answers at a process that learns a second later that it has the call.
    fn answer_slowly(
        &self,
        question: &Value,
        name: &'static str,
    ) -> (JournalLine, tokio::task::JoinHandle<()>) {
        let (node, line) = self.shared.node_on_a_line();
        let (session, question) = (at(&self.session, &node), question.clone());
        let answering = tokio::spawn({
            let line = line.clone();
            async move {
                // The session is known.
                session.listen().await;
                line.delay(Duration::from_secs(1));
                answer_at(&node, &session, &question, name).await;
                line.delay(Duration::ZERO);
            }
        });
        (line, answering)
    }
}

async fn answer_at(node: &Client, session: &Session, question: &Value, name: &str) {
    let session = at(session, node);
    session
        .answer(question, accept(json!({"name": name})))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_stays_open_until_its_handler_comes_to_it_again() {
    for order in ["meanwhile", "before the third", "last"] {
        let mut call = Call::begin("unrecorded").await;
        let first = call.question("first").await;
        let second = call.question("second").await;
        if order == "meanwhile" {
            let (_, answering) = call.answer_slowly(&second, "Grace");
            sleep(Duration::from_millis(500)).await;
            call.answer(&first, "Ada").await;
            answering.await.expect("an answer");
        } else {
            call.answer(&second, "Grace").await;
        }
        let third = call.question("third").await;
        if order == "before the third" {
            call.answer(&first, "Ada").await;
        }
        call.answer(&third, "Joan").await;
        if order == "last" {
            sleep(Duration::from_secs(10)).await;
            call.answer(&first, "Ada").await;
        }
        assert_eq!(call.result().await, "Ada, Grace, Joan", "{order}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_in_time_whatever_its_process_does() {
    for dies in [false, true] {
        let mut call = Call::begin("hurry").await;
        let question = call.question("quick").await;
        sleep(Duration::from_millis(59_500)).await;
        let (line, answering) = call.answer_slowly(&question, "Ada");
        sleep(Duration::from_millis(250)).await;
        if dies {
            line.cut();
        }
        answering.await.expect("an answer");
        let _other = call.shared.node();
        assert_eq!(call.result().await, "Ada", "dies: {dies}");
    }
    let mut call = Call::begin("hurry").await;
    call.question("quick").await;
    sleep(Duration::from_secs(61)).await;
    let withdrawn = call.stream.message().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(call.result().await, "too late");
}

#[tokio::test(start_paused = true)]
async fn an_answer_beside_work_is_not_asked_for_again() {
    for dies in [false, true] {
        let mut call = Call::begin("busy").await;
        let first = call.question("first").await;
        let second = call.question("second").await;
        let (line, answering) = call.answer_slowly(&first, "Ada");
        answering.await.expect("an answer");
        sleep(Duration::from_secs(5)).await;
        call.answer(&second, "Grace").await;
        if dies {
            line.cut();
        }
        let _other = call.shared.node();
        assert_eq!(call.result().await, "Ada, Grace", "dies: {dies}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_one_round_are_kept_though_a_process_dies() {
    let mut call = Call::begin("both").await;
    let first = call.question("The first?").await;
    let second = call.question("The second?").await;
    let (line, answering) = call.answer_slowly(&first, "Ada");
    sleep(Duration::from_millis(500)).await;
    line.cut();
    answering.await.expect("an answer");
    call.answer(&second, "Grace").await;
    assert_eq!(call.result().await, "Ada and Grace");
}
