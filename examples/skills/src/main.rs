use askback::{Ctx, Result, RunError, Server, Skill, tool};

#[tool(description = "Refunds an order, if a person agrees.")]
async fn refund(ctx: Ctx, order: u32) -> Result<String> {
    if !ctx.confirm(format!("Refund order {order}?")).await? {
        return Ok("Nothing was refunded.".to_owned());
    }
    Ok(format!("Order {order} was refunded."))
}

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let skill = Skill::new(include_str!("../refunds/SKILL.md"));
    let skill = skill.file("rules.md", include_str!("../refunds/rules.md"));
    Server::new("shop", "1.0")
        .tool(refund)
        .skill(skill)
        .run_stdio()
        .await
}
