//! Questions on their way to whoever is asked.

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

/// A form for the person, on its way: see [`Ctx::elicit`], [`Ctx::choose`] and [`Ctx::elicit_form`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Elicit<T> {
    asking: QuestionFuture,
    /// Reads the answer; taken when it has come.
    read: Option<Read<T>>,
    fault: Option<AskError>,
}

/// Reads an answer that was checked by its form.
type Read<T> = Box<dyn FnOnce(&Content) -> Result<T, Issues> + Send>;

/// A form whose answer should come with a receipt: see [`Elicit::witnessed`].
#[cfg(feature = "witness")]
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct WitnessedElicit<T>(Elicit<T>);

/// A yes or no, on its way: see [`Ctx::confirm`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Confirm(pub(super) Elicit<bool>);

/// A link for the person, on its way: see [`Ctx::elicit_url`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct ElicitUrl(pub(super) QuestionFuture);

/// A link for the person and what is behind it, on its way: see [`ElicitUrl::until`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct LinkCompletion(Page);

/// A completion by the client's model, on its way: see [`Ctx::sample`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct Sample(pub(super) QuestionFuture);

/// The client's roots, on their way: see [`Ctx::roots`].
#[must_use = "nothing is asked until it is awaited: add `.await?`"]
pub struct ListRoots {
    pub(super) asking: QuestionFuture,
    pub(super) place: ClientLocation,
}

/// Several questions of one round: a tuple of [`Elicit`]s, [`Confirm`]s and the like.
pub trait Questions: Send {
    /// Their answers.
    type Answers;

    /// Asks all, and is ready when all are answered.
    fn ask(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send;
}

/// A parameter that is asked for before the handler's body runs: the declarative form of
/// [`Ctx::elicit`].
///
/// All parameters of this kind are asked in one round. The message is the form's own
/// ([`Elicitable::MESSAGE`]). Where the person declines or cancels, the call ends as with
/// [`Answer::accepted`]; `Ask<Answer<T>>` hands that decision to the body.
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

    /// Chooses the key of the question, under which clients and answer files know it.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.asking.rename(key.into());
        self
    }

    /// Sets the options of a field that are known only now: the person chooses one of them, instead of writing a
    /// text. The field is a `String` of the form; its default, if it has one and it is among the options, is
    /// chosen beforehand.
    ///
    /// The options belong to the question: an answer to a question with other options is not accepted, and the
    /// handler must give the same when it is run again. So read them in [`Ctx::run`].
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
    /// The question ends with an error if the form has no such field, if the field is no text, or if there are no
    /// options.
    pub fn options(
        mut self,
        field: &str,
        options: impl IntoIterator<Item = impl Into<Opt>>,
    ) -> Self {
        let choice = ChoiceField::new(options);
        self.fault = self.fault.or(self.asking.offer(field, choice).err());
        self
    }

    /// Asks, or takes the answer that `otherwise` gives if this client cannot be asked.
    ///
    /// # Errors
    ///
    /// Every other reason for which there is no answer.
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

    /// Waits for the answer, which fits the form.
    fn poll_checked(&mut self, cx: &mut Context<'_>) -> Poll<Result<CheckedAnswer, AskError>> {
        match self.fault.take() {
            Some(fault) => Poll::Ready(Err(fault)),
            None => Pin::new(&mut self.asking).poll(cx),
        }
    }

    /// Reads the answer that [`Elicit::poll_checked`] returned.
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
    /// Chooses the key of the question, under which clients and answer files know it.
    pub fn key(self, key: impl Into<Cow<'static, str>>) -> Self {
        Self(self.0.key(key))
    }

    /// Asks, or takes what `otherwise` gives if this client cannot be asked.
    ///
    /// # Errors
    ///
    /// Every other reason for which there is no answer.
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
    /// Names this elicitation, so that its end can be told with a
    /// [`CompletionNotice`](super::CompletionNotice). One is made
    /// up where a revision needs it.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.name_link(id.into());
        self
    }

    /// Chooses the key of the question, under which clients and answer files know it.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.rename(key.into());
        self
    }

    /// Goes on once what is behind the link is done, and not when the person agrees to open it.
    ///
    /// After that, `wait` is given the time it may take, and says whether it is done. In 2026-07-28
    /// it runs in each retry, for up to [`limits.asking.page`](crate::limits::AskingLimits::page); if
    /// it is not done by then, the link is the answer again, under the same key, up to
    /// [`limits.asking.link_rounds`](crate::limits::AskingLimits::link_rounds) times. In the revisions before, and
    /// in a task, it runs once, for up to
    /// [`limits.asking.answer`](crate::limits::AskingLimits::answer).
    ///
    /// `wait` reads the real state, such as a row of a database, and changes nothing: it may run
    /// again, and may be dropped at any time. It may not ask. Once it said that all is done, it does
    /// not run again for this question.
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
    /// Chooses the key of the question, under which clients and answer files know it.
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
    /// Chooses the key of the question, under which clients and answer files know it.
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

/// Whether a box was ticked: not answering is a no.
fn is_yes(answer: Answer<bool>) -> bool {
    answer.ok().unwrap_or(false)
}

fn read_form<T>(checked: CheckedAnswer, read: Read<T>) -> Result<Answer<T>, AskError> {
    let answer = by_action(elicited(checked)?).try_map(|content| read(&content));
    answer.map_err(|issues| AskError::Refused(issues.to_string()))
}

pub(crate) fn by_action(result: ElicitResult) -> Answer<Content> {
    let by = result.meta.as_ref().and_then(|meta| meta.answered_by());
    match result.action {
        ElicitAction::Decline | ElicitAction::Cancel if by == Some(AnswerSource::Client) => {
            Answer::DeclinedByClient
        }
        ElicitAction::Accept => Answer::Accepted(result.content.unwrap_or_default()),
        ElicitAction::Decline => {
            let reason = result.meta.as_ref().and_then(|meta| meta.reason());
            Answer::Declined {
                reason: reason.map(str::to_owned),
            }
        }
        ElicitAction::Cancel => Answer::Cancelled,
    }
}

fn elicited(checked: CheckedAnswer) -> Result<ElicitResult, AskError> {
    match checked {
        CheckedAnswer::Elicit(result) => Ok(result),
        _ => Err(wrong_kind()),
    }
}

/// A question's answer is checked against that question before it is delivered, so its kind is the
/// question's.
fn wrong_kind() -> AskError {
    AskError::BadRequest("an answer of another kind".to_owned())
}
