//! Macros for askback. Everything they generate can be written by hand.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod attribute;
mod case;
mod doc;
mod form;
mod meta;

/// Makes a struct a form, or an enum a choice.
///
/// A struct with named fields becomes a form: its fields are asked in order, with their names, and with their doc
/// comments as descriptions. A field is a `String`, a number, a `bool`, a `Date`, a `Timestamp`, an enum that derives
/// `Form`, or a `Vec` of such an enum. `Option` fields are optional, and so are fields with a default, which is then
/// the value. All others are required.
///
/// An enum without fields becomes a choice. Its variants are the options, with their names in snake case as values. It
/// can be a field of a form, or a question of its own: `ctx.elicit::<Room>(..)`.
///
/// # Attributes
///
/// All are written inside `#[form(...)]`.
///
/// | on | attribute | meaning |
/// |---|---|---|
/// | struct, enum | `key = "contact"` | the key of the question; default: the type's name in snake case |
/// | struct, enum | `message = "Who is travelling?"` | the question, unless the code sets another one, as an `Ask` parameter can; default: the type's doc comment |
/// | struct, enum | `rename_all = "camelCase"` | the case of names |
/// | struct, enum | `crate = "my_askback"` | the path of askback, if it is renamed |
/// | enum, field | `enum_names` | writes titles as `enumNames` |
/// | text, number | `not_secret` | allows a field whose words look like a secret; it does not compile otherwise |
/// | field, variant | `title = "Full name"` | the display name |
/// | field, variant | `rename = "fullName"` | the name, or the value |
/// | field | `description = "…"` | replaces the doc comment |
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

/// Makes an async function a tool.
///
/// Pass it to the server by its name, `Server::new(..).tool(book_holiday)`. The macro replaces the function with one
/// that returns the tool: `book_holiday()` is a `Tool` that you can configure further. The doc comment is the tool's
/// description. The original function is available in its module, for tests, as `book_holiday::call(..)`.
///
/// A parameter of a plain type (`String`, a number, `bool`, `Date`, `Timestamp`, `Option`, `Vec`) is an argument with
/// its name: a field of the arguments' form. `#[arg(...)]` takes the same attributes as `#[form(...)]` for a field
/// ([`macro@Form`]), and the doc comment is the description. Either one also makes a type that the macro does not know
/// an argument, such as a choice: `#[arg] seat: Seat`.
///
/// With the feature `schemars`, a list, a map, a set, a tuple or a `PathBuf` is also an argument of a tool, and so is
/// any type with `Deserialize` and `JsonSchema` that is marked `#[arg(json)]`.
///
/// A parameter of type `Ask<_>` can have its own message, which replaces the form's message: `#[ask("Who is
/// travelling?")]`.
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
/// | `name = "book"` | the name; default: the function's name |
/// | `title = "Book a holiday"` | the display name |
/// | `description = "…"` | replaces the doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints about its effects; each can be negated: `destructive = false` |
/// | `input_schema = expression`, `output_schema = expression` | a `Schema` for arguments of type `PlainJson<_>`; a `Schema` for the structured result |
/// | `unchecked` | does not check arguments and results against their schemas: `Tool::unchecked` |
/// | `task = "optional"`, `may_become_task = "optional"` | a call becomes a task, at once or when the handler decides; `"required"` refuses clients without tasks |
/// | `durable` | in a fleet, another process continues a task if its process dies |
/// | `requires_witness` | a yes counts only with the receipt of a person (feature `witness`) |
/// | `crate = "my_askback"` | the path of askback, if it is renamed |
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut read = attribute::Tool::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    parse_macro_input!(arguments with parser);
    let item = parse_macro_input!(item as attribute::ItemFn);
    finish(attribute::tool(&read, item))
}

/// Makes an async function a prompt, as [`macro@tool`] does for tools.
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
/// | `complete(destination = function, …)` | async functions that complete arguments as they are typed: `Fn(CompletionRequest) -> Result<Vec<String>>` |
#[proc_macro_attribute]
pub fn prompt(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut read = attribute::Prompt::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    parse_macro_input!(arguments with parser);
    let item = parse_macro_input!(item as attribute::ItemFn);
    finish(attribute::prompt(&read, item))
}

/// Makes an async function a resource, as [`macro@tool`] does for tools; or a resource template, if its URI has
/// variables: `travel://destinations/{name}`.
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
/// | `uri = "travel://destinations"` | the URI |
/// | `name`, `title`, `description`, `crate` | as for a tool |
/// | `mime_type = "text/markdown"` | the media type of the content |
/// | `complete(name = function, …)` | completes variables, as for a prompt |
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
