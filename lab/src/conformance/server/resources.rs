use askback::{Form, Result, protocol::ResourceContents, resource};
use serde_json::json;

use super::content::PNG;

#[derive(Form)]
pub(super) struct Item {
    /// Which item.
    id: String,
}

/// A text.
#[resource(uri = "test://static-text", mime_type = "text/plain")]
pub(super) async fn static_text() -> Result<String> {
    Ok("This is the content of the static text resource.".to_owned())
}

/// A picture.
#[resource(uri = "test://static-binary", mime_type = "image/png")]
pub(super) async fn static_binary() -> Result<ResourceContents> {
    // Filled in with the URI of the resource.
    Ok(ResourceContents::blob("", PNG))
}

/// A text to be told of when it changes.
#[resource(uri = "test://watched-resource", mime_type = "text/plain")]
pub(super) async fn watched_resource() -> Result<String> {
    Ok("This is the content of the watched resource.".to_owned())
}

/// The data of an item.
#[resource(uri = "test://template/{id}/data", mime_type = "application/json")]
pub(super) async fn template_data(item: Item) -> Result<String> {
    let Item { id } = item;
    let data = format!("Data for ID: {id}");
    Ok(json!({"id": id, "templateTest": true, "data": data}).to_string())
}
