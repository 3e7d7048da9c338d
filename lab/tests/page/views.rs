//! Every kind of question on the page, with every means.

use lab::browser::{Browser, Means};

use crate::{Result, stage::Stage};

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
        person.sees("4 fields need attention").await?;
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
