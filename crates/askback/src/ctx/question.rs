use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use askback_core::{
    ask::{AskError, CheckedAnswer},
    engine::server::ClientLocation,
    forms::{ChoiceField, Content, Issues, Opt},
    protocol::{AnswerSource, CreateMessageResult, ElicitAction, ElicitResult},
};

#[cfg(doc)]
use super::Ctx;
#[cfg(feature = "witness")]
use crate::witness::{Witness, WitnessedAnswer};
use crate::{
    answer::Answer,
    error::Error,
    flow::{Page, QuestionFuture},
    roots::Roots,
};
#[cfg(doc)]
use askback_core::forms::Elicitable;

/// A pending question with a form: see [`Ctx::elicit`], [`Ctx::choose`] and [`Ctx::elicit_form`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Elicit<T> {
    asking: QuestionFuture,
    read: Option<Read<T>>,
    fault: Option<AskError>,
}

type Read<T> = Box<dyn FnOnce(&Content) -> Result<T, Issues> + Send>;

/// A form whose answer should come with a receipt: see [`Elicit::witnessed`].
#[cfg(feature = "witness")]
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct WitnessedElicit<T>(Elicit<T>);

/// A pending yes-or-no question: see [`Ctx::confirm`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Confirm(pub(super) Elicit<bool>);

/// A pending question with a link: see [`Ctx::elicit_url`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct ElicitUrl(pub(super) QuestionFuture);

/// A pending question with a link that completes when the user is done with the page: see [`ElicitUrl::until`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct LinkCompletion(Page);

/// A pending completion by the client's model: see [`Ctx::sample`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Sample(pub(super) QuestionFuture);

/// A pending request for the client's roots: see [`Ctx::roots`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct ListRoots {
    pub(super) asking: QuestionFuture,
    pub(super) place: ClientLocation,
}

/// Several questions of one round: a tuple of [`Elicit`]s, [`Confirm`]s and the like.
pub trait Questions: Send {
    /// A tuple of the answers.
    type Answers;

    /// Asks all questions, and waits until all are answered.
    fn ask(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send;
}

/// A parameter that the user is asked for before the handler's body runs: the declarative form of [`Ctx::elicit`].
///
/// All such parameters are asked in one round, with the message of the form ([`Elicitable::MESSAGE`]). If the user
/// declines or cancels, the call ends as with [`Answer::accepted`]. With `Ask<Answer<T>>`, the body decides instead.
#[derive(Debug, Clone)]
pub struct Ask<T>(pub T);

impl<T> Elicit<T> {
    pub(super) fn new(
        asking: QuestionFuture,
        read: impl FnOnce(&Content) -> Result<T, Issues> + Send + 'static,
    ) -> Self {
        Self {
            asking,
            read: Some(Box::new(read)),
            fault: None,
        }
    }

    /// Sets the key of the question, which clients and answer files use.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.asking.rename(key.into());
        self
    }

    /// Sets the options of a field at run time: the user chooses one of them instead of typing a text. The field must
    /// be a `String`. If its default is one of the options, it is preselected.
    ///
    /// The options are part of the question: an answer to a question with other options is not accepted, and a replay
    /// must use the same options. So read them in [`Ctx::run`].
    ///
    /// ```
    /// use askback::{Ctx, Form, Result};
    ///
    /// #[derive(Form)]
    /// struct Target {
    ///     /// Where to deploy to.
    ///     environment: String,
    ///     #[form(default = false)]
    ///     dry_run: bool,
    /// }
    ///
    /// async fn deploy(ctx: Ctx) -> Result<String> {
    ///     let environments = ctx.run("environments", async || Ok(vec!["staging", "production"]
    ///         .into_iter().map(str::to_owned).collect::<Vec<_>>())).await?;
    ///     let question = ctx.elicit::<Target>("Deploy?").options("environment", environments);
    ///     let target = question.await?.accepted()?;
    ///     Ok(format!("Deployed to {}.", target.environment))
    /// }
    /// ```
    ///
    /// The question fails if the form has no such field, if the field is not a text, or if there are no options.
    pub fn options(
        mut self,
        field: &str,
        options: impl IntoIterator<Item = impl Into<Opt>>,
    ) -> Self {
        let choice = ChoiceField::new(options);
        self.fault = self.fault.or(self.asking.offer(field, choice).err());
        self
    }

    /// Asks, or uses the answer from `otherwise` if the client cannot be asked.
    ///
    /// # Errors
    ///
    /// Any other reason why there is no answer.
    pub async fn or_if_unsupported(
        self,
        otherwise: impl FnOnce() -> T,
    ) -> Result<Answer<T>, AskError> {
        match self.await {
            Err(AskError::Unsupported(_)) => Ok(Answer::Accepted(otherwise())),
            answer => answer,
        }
    }
}

impl<T> Elicit<T> {
    /// Asks for a receipt with the answer: see [`witness`](crate::witness). A client that cannot give one answers without it.
    #[cfg(feature = "witness")]
    pub fn witnessed(mut self) -> WitnessedElicit<T> {
        self.asking.challenge();
        WitnessedElicit(self)
    }

    fn poll_checked(&mut self, cx: &mut Context<'_>) -> Poll<Result<CheckedAnswer, AskError>> {
        match self.fault.take() {
            Some(fault) => Poll::Ready(Err(fault)),
            None => Pin::new(&mut self.asking).poll(cx),
        }
    }

    fn read(&mut self, checked: CheckedAnswer) -> Result<Answer<T>, AskError> {
        match self.read.take() {
            Some(read) => read_form(checked, read),
            None => Err(wrong_kind()),
        }
    }
}

impl<T> Future for Elicit<T> {
    type Output = Result<Answer<T>, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let checked = ready!(self.poll_checked(cx))?;
        Poll::Ready(self.read(checked))
    }
}

#[cfg(feature = "witness")]
impl<T> Future for WitnessedElicit<T> {
    type Output = Result<WitnessedAnswer<T>, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let checked = ready!(self.0.poll_checked(cx))?;
        let witness = match &checked {
            CheckedAnswer::Elicit(result) => Witness::of(result),
            _ => None,
        };
        let answer = self.0.read(checked);
        Poll::Ready(answer.map(|answer| WitnessedAnswer::new(answer, witness)))
    }
}

impl Confirm {
    /// Sets the key of the question, which clients and answer files use.
    pub fn key(self, key: impl Into<Cow<'static, str>>) -> Self {
        Self(self.0.key(key))
    }

    /// Asks, or uses the value from `otherwise` if the client cannot be asked.
    ///
    /// # Errors
    ///
    /// Any other reason why there is no answer.
    pub async fn or_if_unsupported(
        self,
        otherwise: impl FnOnce() -> bool,
    ) -> Result<bool, AskError> {
        Ok(is_yes(self.0.or_if_unsupported(otherwise).await?))
    }
}

impl Future for Confirm {
    type Output = Result<bool, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.0).poll(cx))?;
        Poll::Ready(Ok(is_yes(answer)))
    }
}

impl ElicitUrl {
    /// Sets the elicitation id, for a [`CompletionNotice`](super::CompletionNotice). If a revision requires an id, the
    /// default is a random one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.name_link(id.into());
        self
    }

    /// Sets the key of the question, which clients and answer files use.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.rename(key.into());
        self
    }

    /// Continues when the user is done with the link's page, instead of when they agree to open it.
    ///
    /// After the user agrees, `wait` is called with its time limit, and returns whether the user is done. In 2026-07-28
    /// it runs in each retry, for up to [`limits.asking.page`](crate::limits::AskingLimits::page). If the user is not
    /// done by then, the client gets the link again, under the same key, up to
    /// [`limits.asking.link_rounds`](crate::limits::AskingLimits::link_rounds) times. In earlier revisions, and in a
    /// task, it runs once, for up to [`limits.asking.answer`](crate::limits::AskingLimits::answer).
    ///
    /// `wait` reads the actual state, such as a row of a database, and changes nothing: it may run again, and may be
    /// dropped at any time. It must not ask questions. After it has returned true, it does not run again for this
    /// question.
    ///
    /// ```
    /// use std::time::Duration;
    /// use askback::{Ctx, Result};
    /// # async fn paid(order: u64, wait: Duration) -> Result<bool> { Ok(true) }
    ///
    /// async fn pay(ctx: Ctx) -> Result<String> {
    ///     let order = ctx.random();
    ///     let link = ctx.elicit_url("Pay the deposit.", format!("https://pay.example/{order:x}"));
    ///     link.until(move |wait| paid(order, wait)).await?.accepted()?;
    ///     Ok("Thank you.".into())
    /// }
    /// ```
    pub fn until<F, Fut>(self, mut wait: F) -> LinkCompletion
    where
        F: FnMut(Duration) -> Fut + Send + 'static,
        Fut: Future<Output = Result<bool, Error>> + Send + 'static,
    {
        LinkCompletion(Page::new(
            self.0,
            Box::new(move |longest| Box::pin(wait(longest))),
        ))
    }
}

impl Future for LinkCompletion {
    type Output = Result<Answer<()>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let checked = ready!(Pin::new(&mut self.0).poll(cx))?;
        let answer = elicited(checked).map(|result| by_action(result).map(|_| ()));
        Poll::Ready(answer.map_err(Into::into))
    }
}

impl Future for ElicitUrl {
    type Output = Result<Answer<()>, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let checked = ready!(Pin::new(&mut self.0).poll(cx))?;
        Poll::Ready(elicited(checked).map(|result| by_action(result).map(|_| ())))
    }
}

impl Sample {
    /// Sets the key of the question, which clients and answer files use.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.rename(key.into());
        self
    }
}

impl Future for Sample {
    type Output = Result<CreateMessageResult, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx))? {
            CheckedAnswer::Sample(result) => Ok(*result),
            _ => Err(wrong_kind()),
        })
    }
}

impl ListRoots {
    /// Sets the key of the question, which clients and answer files use.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.asking.rename(key.into());
        self
    }
}

impl Future for ListRoots {
    type Output = Result<Roots, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.asking).poll(cx))? {
            CheckedAnswer::Roots(listed) => Ok(Roots::new(listed, self.place)),
            _ => Err(wrong_kind()),
        })
    }
}

macro_rules! questions {
    ($(($question:ident, $answer:ident, $asked:ident, $answered:ident)),+) => {
        impl<$($question, $answer),+> Questions for ($($question,)+)
        where
            $($question: Future<Output = Result<$answer, AskError>> + Send + Unpin,
            $answer: Send),+
        {
            type Answers = ($($answer,)+);

            async fn ask(self) -> Result<Self::Answers, AskError> {
                let ($(mut $asked,)+) = self;
                $(let mut $answered = None;)+
                std::future::poll_fn(|cx| {
                    let mut all = true;
                    $(if $answered.is_none() {
                        match Pin::new(&mut $asked).poll(cx) {
                            Poll::Ready(Ok(answer)) => $answered = Some(answer),
                            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                            Poll::Pending => all = false,
                        }
                    })+
                    if !all {
                        return Poll::Pending;
                    }
                    match ($($answered.take(),)+) {
                        ($(Some($answered),)+) => Poll::Ready(Ok(($($answered,)+))),
                        _ => Poll::Pending,
                    }
                })
                .await
            }
        }
    };
}

questions!((A, AnswerA, a, answer_a));
questions!((A, AnswerA, a, answer_a), (B, AnswerB, b, answer_b));
questions!(
    (A, AnswerA, a, answer_a),
    (B, AnswerB, b, answer_b),
    (C, AnswerC, c, answer_c)
);
questions!(
    (A, AnswerA, a, answer_a),
    (B, AnswerB, b, answer_b),
    (C, AnswerC, c, answer_c),
    (D, AnswerD, d, answer_d)
);

/// Whether the box is ticked; no answer is a no.
fn is_yes(answer: Answer<bool>) -> bool {
    answer.ok().unwrap_or(false)
}

fn read_form<T>(checked: CheckedAnswer, read: Read<T>) -> Result<Answer<T>, AskError> {
    let answer = by_action(elicited(checked)?).try_map(|content| read(&content));
    answer.map_err(|issues| AskError::Refused(issues.to_string()))
}

pub(crate) fn by_action(result: ElicitResult) -> Answer<Content> {
    let by = result.meta.as_ref().and_then(|meta| meta.answered_by());
    let reason = result.meta.as_ref().and_then(|meta| meta.reason());
    let reason = reason.map(str::to_owned);
    match result.action {
        ElicitAction::Decline | ElicitAction::Cancel if by == Some(AnswerSource::Client) => {
            Answer::DeclinedByClient { reason }
        }
        ElicitAction::Accept => Answer::Accepted(result.content.unwrap_or_default()),
        ElicitAction::Decline => Answer::Declined { reason },
        ElicitAction::Cancel => Answer::Cancelled,
    }
}

fn elicited(checked: CheckedAnswer) -> Result<ElicitResult, AskError> {
    match checked {
        CheckedAnswer::Elicit(result) => Ok(result),
        _ => Err(wrong_kind()),
    }
}

/// An answer is checked against its question before it is delivered, so it has the question's kind.
fn wrong_kind() -> AskError {
    AskError::BadRequest("an answer of another kind".to_owned())
}
