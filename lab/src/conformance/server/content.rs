//! Tools that return every kind of content, and one that fails.

use askback::{
    Error, Result,
    protocol::{ContentBlock, ResourceContents},
    tool,
};

/// A one-pixel image, in base64.
pub(super) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A one-sample sound, in base64.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

/// Says something.
#[tool(read_only)]
pub(super) async fn test_simple_text() -> Result<&'static str> {
    Ok("This is a simple text response for testing.")
}

/// Shows a picture.
#[tool(read_only)]
pub(super) async fn test_image_content() -> Result<ContentBlock> {
    Ok(ContentBlock::image(PNG, "image/png"))
}

/// Plays a sound.
#[tool(read_only)]
pub(super) async fn test_audio_content() -> Result<ContentBlock> {
    Ok(ContentBlock::audio(WAV, "audio/wav"))
}

/// Brings a resource along.
#[tool(read_only)]
pub(super) async fn test_embedded_resource() -> Result<ContentBlock> {
    let text = "This is an embedded resource content.";
    let resource = ResourceContents::text("test://embedded-resource", text);
    Ok(ContentBlock::resource(
        resource.with_mime_type("text/plain"),
    ))
}

/// Says, shows and brings something.
#[tool(read_only)]
pub(super) async fn test_multiple_content_types() -> Result<Vec<ContentBlock>> {
    let data = r#"{"test":"data","value":123}"#;
    let resource = ResourceContents::text("test://mixed-content-resource", data);
    Ok(vec![
        "Multiple content types test:".into(),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(resource.with_mime_type("application/json")),
    ])
}

/// Fails.
#[tool(read_only)]
pub(super) async fn test_error_handling() -> Result<()> {
    Err(Error::new(
        "This tool intentionally returns an error for testing",
    ))
}
