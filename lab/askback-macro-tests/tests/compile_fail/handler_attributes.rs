use askback_macros::{prompt, resource, tool};

#[tool(readonly)]
async fn tool_unknown() -> Result<()> {}

#[prompt(read_only)]
async fn prompt_unknown() -> Result<()> {}

#[resource(uri = "a://b", url = "a://b")]
async fn resource_unknown() -> Result<()> {}

#[tool(title = "A", title = "B")]
async fn twice() -> Result<()> {}

#[tool(idempotent = "yes")]
async fn hint() -> Result<()> {}

#[tool(name = "book a holiday")]
async fn words() -> Result<()> {}

#[tool]
async fn größe() -> Result<()> {}

#[prompt(name = "")]
async fn unnamed() -> Result<()> {}

#[prompt(complete(month = months, month = months))]
async fn completes_twice() -> Result<()> {}

#[prompt(complete(month))]
async fn completes_with_nothing() -> Result<()> {}

#[resource(title = "Everywhere")]
async fn nowhere() -> Result<()> {}

#[resource(uri = "a://{name}", complete(title = titles))]
async fn other_variable() -> Result<()> {}

#[tool]
async fn asks_nothing(#[ask] contact: Ask<Contact>) -> Result<()> {}

#[tool]
async fn asks_twice(#[ask("Who?")] #[ask("You?")] contact: Ask<Contact>) -> Result<()> {}

#[tool(task = "always")]
async fn always() -> Result<()> {}

fn main() {}
