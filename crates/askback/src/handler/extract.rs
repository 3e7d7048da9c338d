use std::{any::TypeId, marker::PhantomData};

use askback_core::forms::{Content, Elicitable, Form, SharedForm};

use crate::{
    answer::Answer,
    ctx::{Arguments, Ask, Ctx, Parameters},
    error::{Error, Result},
    flow::BoxFuture,
};

/// A handler parameter that is extracted from the call.
///
/// | type | value |
/// |---|---|
/// | [`Ctx`] | the call's context, to ask and to report progress |
/// | a type with `#[derive(Form)]` | the arguments, described and checked by the form's schema |
/// | `Json<T>` | the arguments, read with serde, described and checked by the type's schema (feature `schemars`) |
/// | [`PlainJson<T>`](crate::PlainJson) | the arguments, read with serde; the tool sets their schema |
/// | [`Ask<T>`] | a form or one value that the user fills in before the handler runs |
/// | [`State<T>`](crate::State) | shared state of the server, such as a database |
/// | `Extension<T>` | a value that a layer inserted into the HTTP request (feature `http-server`) |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "not a parameter",
    note = "parameters are `Ctx`, a type with `#[derive(Form)]`, `Json<_>` of a type with \
            `Deserialize` and `JsonSchema`, `PlainJson<_>`, `Ask<_>`, or `State<_>` of a type that is `Clone`",
    note = "under `#[tool]`, `#[prompt]` and `#[resource]` also `String`, numbers, `bool` and other values; mark a choice with `#[arg]`"
)]
pub trait Extract: Sized + Send {
    /// Adds what the parameter needs, such as arguments.
    fn describe(parameters: &mut Parameters) {
        let _ = parameters;
    }

    /// Extracts the parameter.
    fn extract(ctx: &Ctx) -> Extraction<Self>;
}

/// The result of an extraction.
pub enum Extraction<T> {
    /// The parameter, or an error of the call.
    Ready(Result<T>),
    /// The user has to be asked for the parameter.
    Asking(BoxFuture<'static, Result<T>>),
}

/// A parameter that the user is asked for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    label = "`#[ask]` is for a parameter of type `Ask<_>`"
)]
pub trait Askable: Sized + Send + 'static {
    /// Returns the form to ask.
    fn form() -> SharedForm;

    /// Asks the user with this message.
    fn ask(ctx: &Ctx, message: &str) -> BoxFuture<'static, Result<Self>>;
}

/// The message of one parameter, as a type, because the parameters of a handler are only known by their types.
pub trait AskMessage: 'static {
    /// The message.
    const MESSAGE: &'static str;
}

/// A parameter with its own message: `#[ask("…")]` turns an [`Ask`] into this type.
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
    /// True for a form.
    pub const IS_FORM: bool = true;
}

/// The value for other types: an inherent constant takes precedence over a trait's.
pub trait NoForm {
    /// False.
    const IS_FORM: bool = false;
}

impl<T> NoForm for Probe<T> {}

/// Compiles if the type can be a handler parameter.
pub fn is_parameter<T: Extract>() {}

/// Compiles if the user can be asked for the type.
pub fn is_asked<T: Askable>() {}

/// Reads the arguments as a form: fills in defaults, checks the values, and reports all issues at once.
fn read_form<T: Form>(ctx: &Ctx) -> Result<T> {
    // Created once, when the handler was registered. A custom extractor may not have declared the form, so it is
    // created here.
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
