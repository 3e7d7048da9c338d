//! The extraction of a handler's parameters.

use std::{any::TypeId, marker::PhantomData};

use askback_core::forms::{Content, Elicitable, Form, SharedForm};

use crate::{
    answer::Answer,
    ctx::{Arguments, Ask, Ctx, Parameters},
    error::{Error, Result},
    flow::BoxFuture,
};

/// A parameter of a handler: made from the call.
///
/// | type | is |
/// |---|---|
/// | [`Ctx`] | the way back to the caller |
/// | a type with `#[derive(Form)]` | the arguments, described by its schema and checked by it |
/// | `Json<T>` | the arguments, read with serde, described and checked by the schema of their type (feature `schemars`) |
/// | [`PlainJson<T>`](crate::PlainJson) | the arguments, read with serde; the tool gives their schema itself |
/// | [`Ask<T>`] | a form the person fills in before the handler runs, or one value |
/// | [`State<T>`](crate::State) | something of the server's own, such as a database |
/// | `Extension<T>` | something that a layer in front of the endpoint inserted into the HTTP request (feature `http-server`) |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "not a parameter",
    note = "parameters are `Ctx`, a type with `#[derive(Form)]`, `Json<_>` of a type with \
            `Deserialize` and `JsonSchema`, `PlainJson<_>`, `Ask<_>`, or `State<_>` of a type that is `Clone`",
    note = "under `#[tool]`, `#[prompt]` and `#[resource]` also `String`, numbers, `bool` and other values; mark a choice with `#[arg]`"
)]
pub trait Extract: Sized + Send {
    /// Says what it wants of a call.
    fn describe(parameters: &mut Parameters) {
        let _ = parameters;
    }

    /// Makes the parameter.
    fn extract(ctx: &Ctx) -> Extraction<Self>;
}

/// A parameter, or the question that leads to it.
pub enum Extraction<T> {
    /// The parameter, or what is wrong with the call.
    Ready(Result<T>),
    /// The parameter is asked for.
    Asking(BoxFuture<'static, Result<T>>),
}

/// A parameter that the person is asked for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    label = "`#[ask]` is for a parameter of type `Ask<_>`"
)]
pub trait Askable: Sized + Send + 'static {
    /// The form it is asked with.
    fn form() -> SharedForm;

    /// Asks for it, with this message.
    fn ask(ctx: &Ctx, message: &str) -> BoxFuture<'static, Result<Self>>;
}

/// The message of one parameter, as a type: the parameters of a handler are known by their types
/// alone.
pub trait AskMessage: 'static {
    /// The message.
    const MESSAGE: &'static str;
}

/// A parameter that is asked for with words of its own: what `#[ask("…")]` makes of an [`Ask`].
pub struct AskWithMessage<W, A> {
    /// The parameter.
    pub parameter: A,
    words: PhantomData<fn() -> W>,
}

#[diagnostic::do_not_recommend]
impl Extract for Ctx {
    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(Ok(ctx.clone()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Form> Extract for T {
    fn describe(parameters: &mut Parameters) {
        parameters.describe_by_form::<T>();
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(read_form(ctx))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elicitable> Extract for Ask<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.ask(Self::form(), T::MESSAGE);
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Asking(Self::ask(ctx, T::MESSAGE))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elicitable> Extract for Ask<Answer<T>> {
    fn describe(parameters: &mut Parameters) {
        parameters.ask(Self::form(), T::MESSAGE);
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Asking(Self::ask(ctx, T::MESSAGE))
    }
}

#[diagnostic::do_not_recommend]
impl<W: AskMessage, A: Askable> Extract for AskWithMessage<W, A> {
    fn describe(parameters: &mut Parameters) {
        parameters.ask(A::form(), W::MESSAGE);
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        let asking = A::ask(ctx, W::MESSAGE);
        Extraction::Asking(Box::pin(async move {
            Ok(Self {
                parameter: asking.await?,
                words: PhantomData,
            })
        }))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elicitable> Askable for Ask<T> {
    fn form() -> SharedForm {
        T::schema()
    }

    fn ask(ctx: &Ctx, message: &str) -> BoxFuture<'static, Result<Self>> {
        let asking = ctx.elicit::<T>(message);
        Box::pin(async move { Ok(Self(asking.await?.accepted()?)) })
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elicitable> Askable for Ask<Answer<T>> {
    fn form() -> SharedForm {
        T::schema()
    }

    fn ask(ctx: &Ctx, message: &str) -> BoxFuture<'static, Result<Self>> {
        let asking = ctx.elicit::<T>(message);
        Box::pin(async move { Ok(Self(asking.await?)) })
    }
}

/// Tells at compile time whether a type is a form: `Probe::<T>::IS_FORM`, with [`NoForm`] in scope.
pub struct Probe<T>(PhantomData<T>);

impl<T: Form> Probe<T> {
    /// It is one.
    pub const IS_FORM: bool = true;
}

/// The value for a type that is no form: a constant of the type itself goes before that of a trait.
pub trait NoForm {
    /// It is none.
    const IS_FORM: bool = false;
}

impl<T> NoForm for Probe<T> {}

/// Compiles for what can be a parameter of a handler.
pub fn is_parameter<T: Extract>() {}

/// Compiles for what a person can be asked for.
pub fn is_asked<T: Askable>() {}

/// Reads the arguments by their form: what is missing is filled in from the defaults, what is
/// there is checked, and every issue is named at once.
fn read_form<T: Form>(ctx: &Ctx) -> Result<T> {
    // Made once, when the handler was registered; anew where an extractor of somebody's own does
    // not say that it reads this form.
    let schema = match ctx.parameters() {
        Parameters {
            form: Some(form),
            form_of,
            ..
        } if *form_of == Some(TypeId::of::<T>()) => form.clone(),
        _ => T::schema(),
    };
    let content: Content = match ctx.incoming().arguments() {
        Arguments::Object(object) => object.decode().map_err(|error| {
            let error = askback_core::json::explain(&error);
            Error::invalid_params(format!("the arguments cannot be read: {error}"))
        })?,
        Arguments::Texts(texts) => {
            let texts = texts
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str()));
            schema.parse_strings(texts, &ctx.limits().forms)?
        }
    };
    read_content(ctx, &schema, content)
}

pub(super) fn read_content<T: Form>(ctx: &Ctx, schema: &SharedForm, content: Content) -> Result<T> {
    let content = schema.with_defaults(content);
    schema.check(&content, &ctx.limits().forms)?;
    Ok(T::read(&content)?)
}
