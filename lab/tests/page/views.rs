//! Every kind of question on the page, with every means.

use lab::browser::{Browser, Means, Person};
use tokio::time::timeout;

use crate::{
    Result,
    stage::{PATIENCE, Stage},
};

const SERVER: &[&str] = &[env!("CARGO_BIN_EXE_page-server")];

const WIDE: Means = Means {
    phone: false,
    zoomed: false,
    dark: false,
    scriptless: false,
};

const MEANS: [(&str, Means); 5] = [
    ("wide", WIDE),
    ("dark", Means { dark: true, ..WIDE }),
    (
        "phone",
        Means {
            phone: true,
            ..WIDE
        },
    ),
    (
        "zoomed",
        Means {
            zoomed: true,
            ..WIDE
        },
    ),
    (
        "scriptless",
        Means {
            scriptless: true,
            ..WIDE
        },
    ),
];

#[tokio::test]
async fn a_long_form_is_corrected_reviewed_and_sent() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    for (name, means) in MEANS {
        let mut stage = Stage::open(&browser, means).await?;
        stage.person.sees("No question").await?;
        stage.look(&format!("{name}-idle")).await?;
        stage.enter("/call tailor_trip destination=Kyoto").await?;
        let question = "How would you like to travel to Kyoto?";
        stage.person.sees(question).await?;
        stage.person.usable("button", "review").await?;
        stage.look(&format!("{name}-form")).await?;
        let person = &stage.person;
        person.click("button", "review").await?;
        person.sees("4 fields are not ready yet").await?;
        stage.look(&format!("{name}-issues")).await?;
        person.fill("Email *", "ada@example.com").await?;
        person.fill("First day *", "2026-12-24").await?;
        person.click("radio", "No meals").await?;
        person.click("checkbox", "music").await?;
        person.click("button", "review").await?;
        person.sees("Ready to send").await?;
        stage.look(&format!("{name}-review")).await?;
        person.click("button", "Send").await?;
        person.sees("No question").await?;
        stage.prints("Sent to").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_link_a_request_for_a_model_and_folders_are_answered() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    for (name, means) in MEANS {
        let mut stage = Stage::open_server(&browser, means, SERVER, &[]).await?;
        stage
            .enter("/call pay url=https://login.example.com:8080/pay?to=https://shop.example/")
            .await?;
        stage.person.sees("Pay the fee.").await?;
        stage.person.usable("button", "Open").await?;
        stage.look(&format!("{name}-link")).await?;
        stage.person.click("button", "Open").await?;
        stage.person.sees("Sure?").await?;
        stage.look(&format!("{name}-link-sure")).await?;
        stage.person.click("button", "Open it anyway").await?;
        stage.person.usable("link", "Open the page").await?;
        stage.look(&format!("{name}-link-opened")).await?;
        stage.person.click("button", "I have finished").await?;
        stage.returns("Paid.").await?;

        stage.enter("/call poem").await?;
        stage.person.sees("Write a haiku about Kyoto.").await?;
        stage.person.fill("The text:", "Old pond").await?;
        stage.look(&format!("{name}-sampling")).await?;
        stage.person.click("button", "review").await?;
        stage.person.sees("Old pond").await?;
        stage.look(&format!("{name}-sampling-review")).await?;
        stage.person.click("button", "Send").await?;
        stage.returns("Old pond").await?;

        stage.enter("/call folders").await?;
        stage.person.usable("button", "decline…").await?;
        stage.look(&format!("{name}-folders")).await?;
        stage.person.click("button", "Allow it").await?;
        stage.returns("1 folders").await?;
    }
    Ok(())
}

#[tokio::test]
async fn tools_are_called_on_the_page() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    for (name, means) in MEANS {
        let mut stage = Stage::open_server(&browser, means, SERVER, &[]).await?;
        let person = &stage.person;
        person.usable("button", "/call add").await?;
        stage.look(&format!("{name}-bench")).await?;
        person.click("button", "/call add").await?;
        person.fill("a *", "2").await?;
        person.fill("b *", "3").await?;
        stage.look(&format!("{name}-arguments")).await?;
        person.click("button", "review").await?;
        person.click("button", "Call").await?;
        person.sees("Tool add").await?;
        person.usable("button", "/call picture").await?;
        person.click("button", "/call picture").await?;
        person.sees("A picture and a sound:").await?;
        person
            .usable("link", "result.bin, file 3 of result 4")
            .await?;
        person.usable("button", "Run").await?;
        person.fill("Command", "/wire").await?;
        person.click("button", "Run").await?;
        person.sees("tools/call").await?;
        person.fill("Command", "/nonsense").await?;
        person.click("button", "Run").await?;
        person.sees("no command `nonsense`").await?;
        stage.look(&format!("{name}-results")).await?;
        stage.returns("5").await?;
    }
    Ok(())
}

#[tokio::test]
async fn messages_and_a_restart_are_commands_of_the_page() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let stage = Stage::open_server(&browser, WIDE, SERVER, &[]).await?;
    let person = &stage.person;
    person.usable("button", "/call picture").await?;
    person.click("button", "/call picture").await?;
    for (command, shown) in [
        ("/wire", "tools/call"),
        ("/wire 1", "jsonrpc"),
        ("/restart", "It has the same as before."),
        ("/again", "Again:"),
    ] {
        person.usable("button", "Run").await?;
        person.fill("Command", command).await?;
        person.click("button", "Run").await?;
        person.sees(shown).await?;
    }
    stage.look("commands").await?;
    Ok(())
}

#[tokio::test]
async fn a_form_is_answered_with_the_keyboard_alone() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let mut stage = Stage::open_server(&browser, WIDE, SERVER, &[]).await?;
    stage.enter("/call seat").await?;
    let person = &stage.person;
    person.sees("Which seat?").await?;
    // Disabled buttons do not take the focus.
    person.usable("button", "review").await?;
    let stops = person.walk().await?;
    assert!(stops.iter().all(|stop| stop.visible), "{stops:#?}");
    person.tab_to("textbox", "Name *").await?;
    person.types("Ada").await?;
    person.tab_to("radio", "yes").await?;
    person.press("Space").await?;
    person.tab_to("button", "review").await?;
    person.press("Enter").await?;
    person.sees("Ready to send").await?;
    person.tab_to("button", "Send").await?;
    person.press("Enter").await?;
    person.sees("No question").await?;
    stage.returns("A window seat for Ada.").await?;
    Ok(())
}

#[tokio::test]
async fn the_messages_of_a_call_are_on_the_page() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    for (name, means) in MEANS {
        let stage = Stage::open_server(&browser, means, SERVER, &[]).await?;
        let person = &stage.person;
        person.usable("button", "/call picture").await?;
        person.click("button", "/call picture").await?;
        person.usable("link", "sent tools/call picture").await?;
        stage.look(&format!("{name}-wire")).await?;
        person.click("link", "sent tools/call picture").await?;
        person.sees("\"method\": \"tools/call\"").await?;
        person.sees("Messages of the same call").await?;
        stage.look(&format!("{name}-message")).await?;
        person.click("link", "Newest messages").await?;
        person.usable("link", "sent tools/call picture").await?;
        stage.look(&format!("{name}-messages")).await?;
        person.click("link", "sent tools/call picture").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_call_is_changed_stopped_and_its_server_started_again() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    for (name, means) in MEANS {
        let stage = Stage::open_server(&browser, means, SERVER, &[]).await?;
        let person = &stage.person;
        person.usable("button", "/call add").await?;
        person.click("button", "/call add").await?;
        person.fill("a *", "2").await?;
        person.fill("b *", "3").await?;
        person.click("button", "review").await?;
        person.click("button", "Call").await?;
        person.usable("button", "Change and call again").await?;
        person.click("button", "Change and call again").await?;
        person.fill("b *", "40").await?;
        person.click("button", "review").await?;
        person.click("button", "Call").await?;
        person.sees("42").await?;
        person.usable("button", "/call wait").await?;
        person.click("button", "/call wait").await?;
        person.sees("1 of 4").await?;
        stage.look(&format!("{name}-progress")).await?;
        person.click("button", "Stop the call").await?;
        person.usable("button", "Restart page-server").await?;
        person.click("button", "Restart page-server").await?;
        person.sees("It has the same as before.").await?;
        person.usable("button", "Ask for this level").await?;
        person.click("button", "Ask for this level").await?;
        person
            .sees("Log lines from debug on are asked for.")
            .await?;
        stage.look(&format!("{name}-bench-used")).await?;
    }
    Ok(())
}

/// Waits until the page contains some HTML.
async fn has_source(person: &Person, html: &str) -> Result<()> {
    while !person.source().await?.contains(html) {}
    Ok(())
}

#[tokio::test]
async fn a_prompt_and_a_template_are_filled_in_with_suggestions() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let stage = Stage::open(&browser, WIDE).await?;
    let person = &stage.person;
    person.usable("button", "/show_destination").await?;
    person.click("button", "/show_destination").await?;
    person.usable("button", "review").await?;
    person.fill("destination *", "Kyo").await?;
    timeout(PATIENCE, has_source(person, "<option value=\"Kyoto\">")).await??;
    stage.look("suggested").await?;
    person.fill("destination *", "Kyoto").await?;
    person.click("button", "review").await?;
    person.click("button", "Get").await?;
    person.sees("Prompt show_destination").await?;
    stage.look("prompt").await?;
    let template = "/read travel://destinations/{name}";
    person.usable("button", template).await?;
    person.click("button", template).await?;
    person.fill("name *", "Rome").await?;
    person.click("button", "review").await?;
    person.click("button", "Read").await?;
    person.sees("Resource travel://destinations/Rome").await?;
    stage.look("resource").await?;
    Ok(())
}

#[tokio::test]
async fn the_bench_is_used_with_the_keyboard_alone() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let stage = Stage::open_server(&browser, WIDE, SERVER, &[]).await?;
    let person = &stage.person;
    person.usable("button", "/call picture").await?;
    let stops = person.walk().await?;
    assert!(stops.iter().all(|stop| stop.visible), "{stops:#?}");
    person.tab_to("button", "/call picture").await?;
    person.press("Enter").await?;
    person.usable("link", "sent tools/call picture").await?;
    person.tab_to("link", "sent tools/call picture").await?;
    person.press("Enter").await?;
    person.sees("Messages of the same call").await?;
    let stops = person.walk().await?;
    assert!(stops.iter().all(|stop| stop.visible), "{stops:#?}");
    person.tab_to("link", "Back to the page").await?;
    person.press("Enter").await?;
    person.usable("button", "Call again").await?;
    Ok(())
}

/// Waits until a field holds a text.
async fn holds(person: &Person, field: &str, text: &str) -> Result<()> {
    while person.value(field).await? != text {}
    Ok(())
}

#[tokio::test]
async fn two_windows_keep_what_was_typed_in_each() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let mut stage = Stage::open(&browser, WIDE).await?;
    stage.enter("/call tailor_trip destination=Kyoto").await?;
    let one = &stage.person;
    one.usable("button", "review").await?;
    let two = one.tab().await?;
    two.goto(&one.url().await?).await?;
    two.usable("button", "review").await?;
    one.fill("Email *", "ada@example.com").await?;
    // The other window has nothing in that field, and takes it over.
    timeout(PATIENCE, holds(&two, "Email *", "ada@example.com")).await??;
    // Both write in the same field, and go on to another one.
    one.fill("Name of the trip", "Ada").await?;
    two.fill("Name of the trip", "Bob").await?;
    one.fill("Inspiration", "https://one.example/").await?;
    timeout(PATIENCE, holds(&two, "Inspiration", "https://one.example/")).await??;
    two.fill("Budget", "300").await?;
    timeout(PATIENCE, holds(one, "Budget", "300")).await??;
    assert_eq!(one.value("Name of the trip").await?, "Ada");
    assert_eq!(two.value("Name of the trip").await?, "Bob");
    // The same without a field that has the focus.
    one.click("heading", "What was said").await?;
    two.fill("Budget", "400").await?;
    timeout(PATIENCE, holds(one, "Budget", "400")).await??;
    assert_eq!(one.value("Name of the trip").await?, "Ada");
    // What a window shows is what it sends.
    one.fill("First day *", "2026-12-24").await?;
    one.click("radio", "No meals").await?;
    one.click("checkbox", "music").await?;
    one.click("button", "review").await?;
    one.sees("Ready to send").await?;
    one.sees("Ada").await?;
    Ok(())
}
