use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, LazyLock},
};

use askback_core::{
    ask::AskError,
    forms::{
        ANSWER, BooleanField, ChoiceField, Content, Elicitable, Field, FormSchema, FormValues,
        Issue, Issues, SharedForm,
    },
    protocol::{CreateMessageParams, ElicitParams, InputRequest, RequestParams},
};

use super::{
    CompletionNotice, Confirm, Ctx, Elicit, ElicitUrl, ListRoots, Questions, Sample, elicitation_id,
};
use crate::{error::Result, flow::QuestionFuture};

/// The key of a yes-or-no question, and the name of its only field.
const CONFIRM: &str = "confirm";

impl Ctx {
    /// Asks the user to fill in a form, or to enter one value of a type that a form field can have.
    ///
    /// The question's key is the type's name in snake case, with `-2`, `-3`, … if it is repeated; [`Elicit::key`] sets
    /// another one. Plain values have the keys `text`, `number`, `yes_or_no`, `date` and `time`.
    ///
    /// ```
    /// # use askback::{Ctx, Form, Result};
    /// #[derive(Form)]
    /// enum Room {
    ///     Sea,
    ///     City,
    /// }
    ///
    /// async fn stay(ctx: Ctx) -> Result<String> {
    ///     let nights = ctx.elicit::<u8>("How many nights?").await?.accepted()?;
    ///     let room = match ctx.elicit::<Room>("Which room?").await?.accepted()? {
    ///         Room::Sea => "by the sea",
    ///         Room::City => "in the city",
    ///     };
    ///     Ok(format!("{nights} nights {room}"))
    /// }
    /// ```
    pub fn elicit<T: Elicitable>(&self, message: impl Into<String>) -> Elicit<T> {
        self.form(T::KEY, message, T::schema(), T::read)
    }

    /// Asks the user for a yes or no. Only a ticked box is a yes: an unticked box, declining and cancelling are a no.
    /// To distinguish them, use [`Ctx::elicit`] with a `bool`.
    ///
    /// The key of the question is `confirm`.
    ///
    /// ```
    /// # use askback::{Ctx, Result};
    /// async fn delete(ctx: Ctx) -> Result<&'static str> {
    ///     if !ctx.confirm("Delete it?").await? {
    ///         return Ok("Nothing was deleted.");
    ///     }
    ///     ctx.commit("delete", async || Ok(())).await?;
    ///     Ok("Deleted.")
    /// }
    /// ```
    pub fn confirm(&self, message: impl Into<String>) -> Confirm {
        static FORM: LazyLock<SharedForm> = LazyLock::new(|| {
            // Some clients omit an unticked box.
            let kind = BooleanField::default().with_default(false);
            SharedForm::written(FormSchema::new(
                [Field::new(CONFIRM, kind).title("Confirm")],
            ))
        });
        let ticked = |content: &Content| Ok(content.get(CONFIRM) == Some(&true.into()));
        Confirm(self.form(CONFIRM, message, FORM.clone(), ticked))
    }

    /// Asks the user to choose one of several options, shown with their `Display` text, and returns the chosen option.
    /// If the options are known in advance, derive `Form` for an enum and use [`Ctx::elicit`].
    ///
    /// The texts must differ from each other, and must be the same on each replay. The key of the question is `choice`.
    ///
    /// ```
    /// # use askback::{Ctx, Result};
    /// async fn reserve(ctx: Ctx) -> Result<String> {
    ///     let free = vec!["12A", "12C", "14F"];
    ///     let seat = ctx.choose("Which seat?", free).await?.accepted()?;
    ///     Ok(format!("{seat} is yours."))
    /// }
    /// ```
    pub fn choose<T>(
        &self,
        message: impl Into<String>,
        options: impl IntoIterator<Item = T>,
    ) -> Elicit<T>
    where
        T: fmt::Display + Send + 'static,
    {
        let mut options: Vec<_> = options
            .into_iter()
            .map(|option| (option.to_string(), option))
            .collect();
        let kind = ChoiceField::new(options.iter().map(|(text, _)| text.as_str()));
        let schema = FormSchema::new([Field::new(ANSWER, kind).title("Answer")]);
        let chosen = move |content: &Content| {
            let chosen = FormValues::new(content.clone()).get::<String>(ANSWER)?;
            let at = options.iter().position(|(text, _)| *text == chosen);
            let at = at.ok_or_else(|| Issue::new(ANSWER, "must be one of the options"))?;
            Ok(options.swap_remove(at).1)
        };
        self.form("choice", message, schema, chosen)
    }

    /// Asks the user to fill in a form whose fields are only known at run time. The answer has the values by field
    /// name.
    ///
    /// The key of the question is `form`.
    ///
    /// ```
    /// use askback::{
    ///     Ctx, Result,
    ///     forms::{Field, FormSchema, NumberField, TextField},
    /// };
    ///
    /// async fn order(ctx: Ctx) -> Result<String> {
    ///     let extras = ["breakfast", "parking"].map(|name| {
    ///         Field::new(name, NumberField::integer().min(0).max(9).with_default(0))
    ///     });
    ///     let name = Field::new("name", TextField::default().max_length(100));
    ///     let form = FormSchema::new(extras.into_iter().chain([name]));
    ///     let order = ctx.elicit_form("What would you like?", form).await?.accepted()?;
    ///     let (name, parking) = (order.get::<String>("name")?, order.get::<u8>("parking")?);
    ///     Ok(format!("{parking} parking lots for {name}"))
    /// }
    /// ```
    pub fn elicit_form(&self, message: impl Into<String>, form: FormSchema) -> Elicit<FormValues> {
        let values = |content: &Content| Ok(FormValues::new(content.clone()));
        self.form("form", message, form, values)
    }

    /// Asks the user to open a link, for data that must not pass through the client, such as credentials or a payment.
    ///
    /// `Accepted` means that the user agreed to open the link, not that they are done with the page. Read the actual
    /// state afterwards, and again on each replay. The link must not contain credentials or personal data.
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> ElicitUrl {
        let mut link = ElicitParams::url(message, url);
        if let ElicitParams::Url(link) = &mut link {
            link.elicitation_id = elicitation_id();
        }
        let request = InputRequest::Elicit(link);
        ElicitUrl(self.asking("link", request))
    }

    /// Returns a notice that tells the client that the user is done with a link's page. It can outlive the call.
    #[must_use]
    pub fn completion_notice(&self, elicitation_id: impl Into<String>) -> CompletionNotice {
        CompletionNotice {
            peer: Arc::clone(&self.0.peer),
            elicitation_id: elicitation_id.into(),
        }
    }

    /// Asks the client's model for a completion.
    ///
    /// Requests with tools or with the context of other servers are only sent to clients that declared support. If
    /// tools were used, each use must have a matching result (2025-11-25, client/sampling, Message Content
    /// Constraints).
    pub fn sample(&self, params: CreateMessageParams) -> Sample {
        Sample(self.asking("sample", InputRequest::Sample(Box::new(params))))
    }

    /// Asks which folders the server may work in.
    ///
    /// The folders are on the client's machine. [`Roots::local`](crate::ctx::Roots::local) only opens them if that is
    /// also the server's machine.
    pub fn roots(&self) -> ListRoots {
        let request = InputRequest::Roots(RequestParams::default());
        ListRoots {
            asking: self.asking("roots", request),
            place: self.incoming().origin.place,
        }
    }

    /// Asks up to four questions of any kind in one round, as a tuple. The answers come together, in the same order.
    ///
    /// ```
    /// # use askback::{Ctx, Result};
    /// async fn stay(ctx: Ctx) -> Result<String> {
    ///     let questions = (ctx.elicit::<u8>("How many nights?"), ctx.confirm("With breakfast?"));
    ///     let (nights, breakfast) = ctx.elicit_all(questions).await?;
    ///     Ok(format!("{} nights, breakfast: {breakfast}", nights.accepted()?))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of the questions.
    pub async fn elicit_all<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, AskError> {
        questions.ask().await
    }

    fn form<T>(
        &self,
        key: &'static str,
        message: impl Into<String>,
        schema: impl Into<SharedForm>,
        read: impl FnOnce(&Content) -> Result<T, Issues> + Send + 'static,
    ) -> Elicit<T> {
        let request = InputRequest::Elicit(ElicitParams::form(message, schema));
        Elicit::new(self.asking(key, request), read)
    }

    fn asking(&self, key: &'static str, request: InputRequest) -> QuestionFuture {
        let missing = self.incoming().missing_for(&request);
        QuestionFuture::new(&self.0.cell, Cow::Borrowed(key), request, missing)
    }
}
