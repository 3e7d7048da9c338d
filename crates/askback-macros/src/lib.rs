//! Macros of askback: sugar over what can be written by hand.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod attribute;
mod case;
mod doc;
mod form;
mod meta;

/// Makes a form of a struct, or a choice of an enum.
///
/// A struct with named fields becomes a form: its fields are asked in order, under their names,
/// with their doc comments as descriptions. A field is a `String`, a number, a `bool`, a `Date`, a
/// `Timestamp`, an enum that derives `Form`, or a `Vec` of such an enum. An `Option` may be left
/// out, and so may a field with a default, which is then read as that; all others are required.
///
/// An enum without fields becomes a choice: its variants are the options, their names in snake
/// case the values. It is a field of a form, or asked for by itself: `ctx.elicit::<Room>(..)`.
///
/// # Attributes
///
/// All are written in `#[form(...)]`.
///
/// | on | attribute | meaning |
/// |---|---|---|
/// | struct, enum | `key = "contact"` | the key under which the form is asked; else the type's name in snake case |
/// | struct, enum | `message = "Who is travelling?"` | what is asked where nothing else is said, by an `Ask` parameter; else the type's doc comment |
/// | struct, enum | `rename_all = "camelCase"` | how names are written |
/// | struct, enum | `crate = "my_askback"` | where askback is, if it goes by another name |
/// | enum, field | `enum_names` | titles are written as `enumNames` |
/// | text, number | `not_secret` | no secret is asked for, although the words look like it; without it, such a field does not compile |
/// | field, variant | `title = "Full name"` | what a person reads instead of the name |
/// | field, variant | `rename = "fullName"` | the name, or the value |
/// | field | `description = "…"` | instead of the doc comment |
/// | field | `default = 7` | an expression of the field's type |
/// | number | `min = 1`, `max = 30` | bounds |
/// | text | `min_length = 1`, `max_length = 100` | bounds in characters |
/// | text | `pattern = "^[A-Z]+$"` | a regular expression (ECMA-262) |
/// | text | `format = "email"` | one of `email`, `uri`, `date`, `date-time` |
/// | list | `min_items = 1`, `max_items = 2` | bounds |
#[proc_macro_derive(Form, attributes(form))]
pub fn derive_form(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    finish(form::derive(&input, form::FormFiller::Person))
}

/// Makes a tool of an async function.
///
/// A server takes it by its name, `Server::new(..).tool(book_holiday)`, since that is now a
/// function that gives the tool: `book_holiday()` is a `Tool` to say more of. The doc comment is
/// the tool's description. Within its module the function itself is still
/// there, for tests, as `book_holiday::call(..)`.
///
/// A parameter of a plain type (`String`, a number, `bool`, `Date`, `Timestamp`, `Option`, `Vec`) is an
/// argument of that name: a field of the form that describes the arguments. `#[arg(...)]` says of it what
/// `#[form(...)]` says of a field ([`macro@Form`]), and its doc comment is its description; both also
/// make an argument of a type that the macro does not know, such as a choice: `#[arg] seat: Seat`.
///
/// With the feature `schemars`, a list, a map, a set, a tuple or a `PathBuf` is an argument of a tool, too, and so is any
/// type with `Deserialize` and `JsonSchema` that is marked `#[arg(json)]`.
///
/// A parameter of type `Ask<_>` may be marked `#[ask("Who is travelling?")]`: that is then what
/// the person is asked, instead of the form's own message.
///
/// ```
/// use askback::{Ask, Ctx, Form, Result, Server, server::BuildError, tool};
///
/// #[derive(Form)]
/// struct Contact {
///     #[form(format = "email")]
///     email: String,
/// }
///
/// /// Books a holiday.
/// #[tool(title = "Book a holiday", destructive = false)]
/// async fn book_holiday(
///     ctx: Ctx,
///     /// Where to.
///     destination: String,
///     #[arg(min = 1, max = 30, default = 7)] nights: u8,
///     #[ask("Who is travelling?")] Ask(contact): Ask<Contact>,
/// ) -> Result<String> {
///     if !ctx.confirm(format!("{nights} nights in {destination}?")).await? {
///         return Ok("Nothing was booked.".to_owned());
///     }
///     Ok(format!("The tickets go to {}.", contact.email))
/// }
///
/// fn server() -> Result<Server, BuildError> {
///     Server::new("agency", "1.0.0").tool(book_holiday).build()
/// }
/// # server().unwrap();
/// ```
///
/// # Attributes
///
/// | attribute | meaning |
/// |---|---|
/// | `name = "book"` | the name; else that of the function |
/// | `title = "Book a holiday"` | what people read instead of the name |
/// | `description = "…"` | instead of the doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints about what it does; each may also be denied: `destructive = false` |
/// | `input_schema = expression`, `output_schema = expression` | a `Schema` of the arguments, where they are `PlainJson<_>`; one of the structured result |
/// | `unchecked` | arguments and results are not checked by their schemas: `Tool::unchecked` |
/// | `task = "optional"`, `may_become_task = "optional"` | a call becomes a task, at once or when the handler says so; `"required"` refuses it where the client takes no tasks |
/// | `durable` | in a fleet, another process goes on with a task whose process dies |
/// | `requires_witness` | a yes counts only with the receipt of a person (feature `witness`) |
/// | `crate = "my_askback"` | where askback is, if it goes by another name |
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut read = attribute::Tool::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    parse_macro_input!(arguments with parser);
    let item = parse_macro_input!(item as attribute::ItemFn);
    finish(attribute::tool(&read, item))
}

/// Makes a prompt of an async function, as [`macro@tool`] does a tool.
///
/// ```
/// use askback::{Result, Server, prompt, server::CompletionRequest};
///
/// /// Plans a vacation.
/// #[prompt(complete(destination = cities))]
/// async fn plan_vacation(destination: String, #[arg(min = 1)] days: u8) -> Result<String> {
///     Ok(format!("Plan {days} days in {destination}."))
/// }
///
/// async fn cities(typed: CompletionRequest) -> Result<Vec<String>> {
///     let cities = ["Barcelona", "Rome"].into_iter();
///     Ok(cities.filter(|city| city.starts_with(&typed.value)).map(str::to_owned).collect())
/// }
///
/// # Server::new("agency", "1.0.0").prompt(plan_vacation).build().unwrap();
/// ```
///
/// # Attributes
///
/// | attribute | meaning |
/// |---|---|
/// | `name`, `title`, `description`, `crate` | as for a tool |
/// | `complete(destination = function, …)` | async functions that complete arguments while they are typed: `Fn(CompletionRequest) -> Result<Vec<String>>` |
#[proc_macro_attribute]
pub fn prompt(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut read = attribute::Prompt::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    parse_macro_input!(arguments with parser);
    let item = parse_macro_input!(item as attribute::ItemFn);
    finish(attribute::prompt(&read, item))
}

/// Makes a resource of an async function, as [`macro@tool`] does a tool; or a family of
/// resources, where the URI has variables: `travel://destinations/{name}`.
///
/// ```
/// use askback::{Result, Server, resource};
///
/// /// All destinations.
/// #[resource(uri = "travel://destinations", mime_type = "text/plain")]
/// async fn destinations() -> Result<String> {
///     Ok("Barcelona, Rome".to_owned())
/// }
///
/// /// A destination.
/// #[resource(uri = "travel://destinations/{name}")]
/// async fn destination(name: String) -> Result<String> {
///     Ok(format!("{name} is nice."))
/// }
///
/// let server = Server::new("agency", "1.0.0");
/// server.resource(destinations).resource_template(destination).build().unwrap();
/// ```
///
/// # Attributes
///
/// | attribute | meaning |
/// |---|---|
/// | `uri = "travel://destinations"` | where it is |
/// | `name`, `title`, `description`, `crate` | as for a tool |
/// | `mime_type = "text/markdown"` | the media type of what it holds |
/// | `complete(name = function, …)` | as for a prompt: completes variables |
#[proc_macro_attribute]
pub fn resource(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut read = attribute::Resource::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    parse_macro_input!(arguments with parser);
    let item = parse_macro_input!(item as attribute::ItemFn);
    finish(attribute::resource(&read, item))
}

fn finish(made: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    made.unwrap_or_else(syn::Error::into_compile_error).into()
}
