//! Without the feature for patterns, forms with a `pattern` are refused with an error, so that no answer is accepted
//! unchecked.

use askback::{
    Ctx, Form, Result, Server, ServerBuilder, Tool,
    testing::{self, Person},
};
use serde_json::json;

const WHY: &str =
    "`code`: has a pattern that cannot be checked: the feature `pattern` of askback is off";

#[derive(Form)]
struct Voucher {
    #[form(pattern = "^[A-Z]{3}$")]
    code: String,
}

#[test]
fn a_tool_whose_arguments_have_a_pattern_is_not_built() {
    let redeem = Tool::new("redeem", async |voucher: Voucher| -> Result<String> {
        Ok(voucher.code)
    });
    let refused = Server::new("shop", "1.0.0").tool(redeem).build().err();
    assert_eq!(
        refused.map(|error| error.to_string()),
        Some(format!("the arguments of `redeem`: {WHY}"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_form_with_a_pattern_is_not_asked() {
    async fn redeem(ctx: Ctx) -> Result<String> {
        let voucher: Voucher = ctx.elicit("Which voucher?").await?.accepted()?;
        Ok(voucher.code)
    }
    let server =
        || -> ServerBuilder { Server::new("shop", "1.0.0").tool(Tool::new("redeem", redeem)) };
    let person = Person::new().answer("voucher", json!({"code": "not one"}));
    let call = testing::call(server, "redeem", json!({})).with(person);
    let report = call.in_every_revision().await;
    let run = report.assert_same();
    assert_eq!(run.text(), format!("this form cannot be asked: {WHY}"));
    assert!(run.keys().is_empty());
}
