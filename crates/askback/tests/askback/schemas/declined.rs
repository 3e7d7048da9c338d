//! A user's refusal of a tool whose clients expect a value.

use askback::{
    Ctx, Json, Prompt, Result, Revision, Server, Tool, handler::JsonWithText,
    protocol::CallToolResult,
};
use serde_json::json;

use super::{Seat, Total, ask, call, server, text};

async fn refuses(ctx: Ctx) -> Result<JsonWithText<Json<Total>>> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
    Ok(nothing())
}

async fn gives_nothing(ctx: Ctx) -> Result<Json<Total>> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted_or(nothing())?;
    Ok(Json(Total {
        total: 1.0,
        by: Vec::new(),
    }))
}

async fn gives_another_type(ctx: Ctx) -> Result<JsonWithText<Json<Total>>> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted_or("Nothing.")?;
    Ok(nothing())
}

async fn in_words(ctx: Ctx) -> Result<String> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
    Ok("Booked.".to_owned())
}

fn nothing() -> JsonWithText<Json<Total>> {
    let total = Total {
        total: 0.0,
        by: Vec::new(),
    };
    Json(total).with_text("Nothing was booked.")
}

const ASKING: [Revision; 3] = [
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::LATEST,
];

#[tokio::test]
async fn a_refusal_without_a_value_is_a_failure_if_the_output_has_a_schema() {
    for revision in ASKING {
        let no = call(&server(Tool::new("seat", refuses)), revision, json!({})).await;
        assert_eq!(no["isError"], true, "{revision}: {no}");
        assert_eq!(text(&no), "Nothing was done: the person declined.");
        assert!(no["structuredContent"].is_null());
        // Without a schema, a refusal is a result like any other.
        let no = call(&server(Tool::new("seat", in_words)), revision, json!({})).await;
        assert_ne!(no["isError"], true, "{revision}: {no}");
        assert_eq!(text(&no), "Nothing was done: the person declined.");
    }
}

#[tokio::test]
async fn a_no_is_the_value_its_author_gives() {
    for revision in ASKING {
        let server = server(Tool::new("seat", gives_nothing));
        let no = call(&server, revision, json!({})).await;
        assert_ne!(no["isError"], true, "{revision}: {no}");
        assert_eq!(no["structuredContent"], json!({"total": 0.0, "by": []}));
        assert_eq!(text(&no), "Nothing was booked.");
    }
    // The value must match the schema like any other.
    let server = server(Tool::new("seat", gives_another_type));
    let no = call(&server, Revision::LATEST, json!({})).await;
    assert_eq!(no["isError"], true, "{no}");
    assert!(text(&no).contains("it has no structured content"), "{no}");
}

#[tokio::test]
async fn a_no_with_a_value_is_a_no_in_words_outside_of_tools() {
    let prompt = Prompt::new("seat", async |ctx: Ctx| -> Result<String> {
        let answer = ctx.elicit::<Seat>("A seat?").await?;
        let Err(no) = answer.accepted_or(nothing()) else {
            panic!("the person declines");
        };
        assert!(no.is_not_done());
        Ok(no.message().to_owned())
    });
    let server = Server::new("desk", "1").prompt(prompt).build().unwrap();
    for revision in ASKING {
        let got = ask(&server, revision, "prompts/get", &json!({"name": "seat"})).await;
        let said = &got["messages"][0]["content"]["text"];
        assert_eq!(said, "Nothing was done: the person declined.", "{revision}");
    }
}

#[tokio::test]
async fn a_no_is_marked() {
    for revision in ASKING {
        for tool in [
            Tool::new("seat", refuses),
            Tool::new("seat", in_words),
            Tool::new("seat", gives_nothing),
        ] {
            let no = call(&server(tool), revision, json!({})).await;
            assert_eq!(no["_meta"]["dev.askback/declined"], true, "{no}");
            let no: CallToolResult = serde_json::from_value(no).unwrap();
            assert!(no.declined());
        }
    }
    assert!(!CallToolResult::new("Nothing was done: the person declined.").declined());
}
