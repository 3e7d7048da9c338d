//! Small questions: yes or no, a choice, one value, and forms that are made at run time.

use std::{fmt, time::Duration};

use askback::{
    Answer, Ask, Ctx, Form, Result, Revision,
    forms::{
        BooleanField, ChoiceField, ChoicesField, Date, Field, FormSchema, NumberField, TextField,
        Timestamp,
    },
    handler::{Handler, IntoToolResult},
    protocol::CreateMessageParams,
    testing::{self, Person},
};
use serde_json::{Value, json};

use super::{everywhere, serving};

/// Checks the handler's result in every revision and with every disturbance. It asks one question,
/// which has this key.
async fn check<M: 'static, H>(handler: H, key: &str, person: Person, said: &str)
where
    H: Handler<M>,
    H::Output: IntoToolResult,
{
    let run = everywhere(handler, person).await;
    assert_eq!(run.text(), said);
    assert_eq!(run.keys(), [key]);
}

fn answering(key: &str, content: Value) -> Person {
    Person::new().answer(key, content)
}

async fn delete(ctx: Ctx) -> Result<String> {
    Ok(ctx.confirm("Delete it?").await?.to_string())
}

#[tokio::test(start_paused = true)]
async fn only_a_ticked_box_is_a_yes() {
    let ticked = answering("confirm", json!({"confirm": true}));
    check(delete, "confirm", ticked, "true").await;
    for no in [json!({"confirm": false}), json!({})] {
        check(delete, "confirm", answering("confirm", no), "false").await;
    }
    let person = Person::new();
    check(
        delete,
        "confirm",
        person.clone().decline("confirm"),
        "false",
    )
    .await;
    check(delete, "confirm", person.cancel("confirm"), "false").await;
}

#[tokio::test(start_paused = true)]
async fn a_yes_or_no_has_a_fallback_if_the_client_cannot_ask() {
    let keep = async |ctx: Ctx| -> Result<String> {
        let keep = ctx.confirm("Keep it?").or_if_unsupported(|| true).await?;
        Ok(keep.to_string())
    };
    let person = Person::new().decline("confirm");
    let trial = testing::call(serving(keep), "tool", json!({})).with(person);
    for (revision, said) in [
        (Revision::V2024_11_05, "true"),
        (Revision::V2025_03_26, "true"),
        (Revision::V2025_06_18, "false"),
        (Revision::LATEST, "false"),
    ] {
        assert_eq!(trial.in_revision(revision).await.text(), said, "{revision}");
    }
}

async fn pack(ctx: Ctx) -> Result<String> {
    let wanted = CreateMessageParams::new("What is it like?", 50);
    let questions = (
        ctx.elicit::<u8>("How many nights?"),
        ctx.confirm("Pack it?"),
        ctx.choose("Which bag?", ["a trunk", "a rucksack"]),
        ctx.sample(wanted),
    );
    let (nights, pack, bag, words) = ctx.elicit_all(questions).await?;
    let (nights, bag, words) = (nights.accepted()?, bag.accepted()?, words.content.text());
    Ok(format!("{nights} {pack} {bag} {words}"))
}

#[tokio::test(start_paused = true)]
async fn questions_of_any_kind_are_asked_in_one_round() {
    let person = Person::new()
        .answer("number", json!({"answer": 3}))
        .answer("choice", json!({"answer": "a rucksack"}))
        .reply("sample", "warm");
    for (person, said) in [
        (
            person.clone().answer("confirm", json!({"confirm": true})),
            "true",
        ),
        (person.decline("confirm"), "false"),
    ] {
        let run = everywhere(pack, person).await;
        assert_eq!(run.text(), format!("3 {said} a rucksack warm"));
        let mut keys = run.keys();
        keys.sort_unstable();
        assert_eq!(keys, ["choice", "confirm", "number", "sample"]);
        assert_eq!(run.rounds, 2);
    }
}

/// A type of the author's own with a `Display`.
struct Flight(u16);

impl fmt::Display for Flight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flight {}", self.0)
    }
}

async fn fly(ctx: Ctx) -> Result<String> {
    let flights = [Flight(7), Flight(12)];
    Ok(match ctx.choose("Which one?", flights).await? {
        Answer::Accepted(Flight(number)) => number.to_string(),
        no => format!("{:?}", no.map(|_| ())),
    })
}

#[tokio::test(start_paused = true)]
async fn a_choice_gives_the_thing_that_was_chosen() {
    let chosen = answering("choice", json!({"answer": "Flight 12"}));
    check(fly, "choice", chosen, "12").await;
    let declined = Person::new().decline_because("choice", "I walk");
    let said = r#"Declined { reason: Some("I walk") }"#;
    check(fly, "choice", declined, said).await;
}

async fn choose_nothing(ctx: Ctx) -> Result<String> {
    Ok(ctx
        .choose("Which one?", [""; 0])
        .await?
        .accepted()?
        .to_owned())
}

async fn choose_twins(ctx: Ctx) -> Result<String> {
    Ok(ctx
        .choose("Which one?", ["a", "a"])
        .await?
        .accepted()?
        .to_owned())
}

async fn ask_for_a_secret(ctx: Ctx) -> Result<String> {
    ctx.elicit("What is your password?").await?.accepted()
}

#[tokio::test(start_paused = true)]
async fn a_question_that_cannot_be_asked_says_why() {
    async fn check<M: 'static, H>(handler: H, why: &str)
    where
        H: Handler<M>,
        H::Output: IntoToolResult,
    {
        let trial = testing::call(serving(handler), "tool", json!({}));
        for revision in [Revision::V2025_06_18, Revision::LATEST] {
            let run = trial.in_revision(revision).await;
            assert!(run.text().contains(why), "{revision}: {}", run.text());
        }
    }
    check(choose_nothing, "`answer`: has no options").await;
    check(choose_twins, "`answer`: has the option `a` twice").await;
    check(ask_for_a_secret, "looks like a secret").await;
}

/// How do you like it?
#[derive(Form, Debug)]
enum Room {
    #[form(title = "The sea")]
    Sea,
    City,
}

macro_rules! asks_for {
    ($type:ty, $key:literal, $answer:expr, $value:literal) => {{
        let ask = async |ctx: Ctx| -> Result<String> {
            let value: $type = ctx.elicit("Well?").await?.accepted()?;
            Ok(format!("{value:?}"))
        };
        check(ask, $key, answering($key, json!({"answer": $answer})), $value).await;
        let ask = async |Ask(value): Ask<$type>| -> Result<String> { Ok(format!("{value:?}")) };
        check(ask, $key, answering($key, json!({"answer": $answer})), $value).await;
    }};
}

#[tokio::test(start_paused = true)]
async fn one_value_of_any_type_that_a_field_has() {
    asks_for!(String, "text", "Rome", r#""Rome""#);
    asks_for!(bool, "yes_or_no", false, "false");
    asks_for!(u32, "number", 7, "7");
    asks_for!(i8, "number", -7, "-7");
    asks_for!(f64, "number", 0.5, "0.5");
    asks_for!(Date, "date", "2026-06-15", "2026-06-15");
    asks_for!(
        Timestamp,
        "time",
        "2026-06-15T09:30:00Z",
        "2026-06-15T09:30:00Z"
    );
    asks_for!(Room, "room", "sea", "Sea");
    asks_for!(Vec<Room>, "room", ["sea", "city"], "[Sea, City]");
    asks_for!(Option<u32>, "number", 7, "Some(7)");
    asks_for!(Option<u32>, "number", Value::Null, "None");
}

async fn how_many(ctx: Ctx) -> Result<String> {
    let number: u8 = ctx.elicit("How many?").await?.accepted()?;
    Ok(number.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_value_that_does_not_fit_is_asked_for_again() {
    let person = answering("number", json!({"answer": 300})).answer("number", json!({"answer": 3}));
    let run = everywhere(how_many, person).await;
    assert_eq!(run.text(), "3");
    let again = run
        .questions
        .last()
        .map(|asked| asked.params["message"].clone());
    let told = "How many? \n\nThe last answer could not be used: Answer: must be at most 255";
    assert_eq!(again, Some(told.into()));
}

async fn keyed(ctx: Ctx) -> Result<String> {
    let first = ctx.confirm("Sure?").await?;
    let second = ctx.confirm("Really?").await?;
    let third = ctx.confirm("Not lying?").key("truth").await?;
    Ok(format!("{first} {second} {third}"))
}

#[tokio::test(start_paused = true)]
async fn small_questions_have_keys_like_any_other() {
    let tick = json!({"confirm": true});
    let person = answering("confirm", tick.clone())
        .decline("confirm-2")
        .answer("truth", tick);
    let run = everywhere(keyed, person).await;
    assert_eq!(run.text(), "true false true");
    assert_eq!(run.keys(), ["confirm", "confirm-2", "truth"]);
}

async fn order(ctx: Ctx) -> Result<String> {
    let form = FormSchema::new([
        Field::new("name", TextField::default().min_length(1)).title("Full name"),
        Field::new(
            "nights",
            NumberField::integer().min(1).max(30).with_default(7),
        ),
        Field::new(
            "room",
            ChoiceField::new([("sea", "The sea"), ("city", "The city")]),
        ),
        Field::new(
            "extras",
            ChoicesField::new(["breakfast", "parking"]).max_items(1),
        )
        .optional(),
        Field::new("insured", BooleanField::default().with_default(false)),
        Field::new("phone", TextField::default()).optional(),
    ]);
    let order = ctx.elicit_form("How would you like to stay?", form);
    let order = order.await?.accepted()?;
    Ok(format!(
        "{} {} {} {:?} {} {:?}",
        order.get::<String>("name")?,
        order.get::<u8>("nights")?,
        order.get::<Room>("room").map(|room| format!("{room:?}"))?,
        order.chosen("extras")?,
        order.get::<bool>("insured")?,
        order.get::<Option<String>>("phone")?,
    ))
}

#[tokio::test(start_paused = true)]
async fn a_form_made_at_run_time_is_answered_by_name() {
    let least = json!({"name": "Ada", "room": "city"});
    check(
        order,
        "form",
        answering("form", least),
        "Ada 7 City [] false None",
    )
    .await;
    let most = json!({
        "name": "Ada", "nights": 3, "room": "sea", "extras": ["parking"], "insured": true,
        "phone": "1",
    });
    let said = r#"Ada 3 Sea ["parking"] true Some("1")"#;
    check(order, "form", answering("form", most), said).await;
}

async fn misread(ctx: Ctx) -> Result<u8> {
    let form = FormSchema::new([Field::new("name", TextField::default())]);
    let values = ctx.elicit_form("Who?", form).await?.accepted()?;
    Ok(values.get("name")?)
}

#[tokio::test(start_paused = true)]
async fn a_value_read_as_another_type_names_its_field() {
    let handler = async |ctx: Ctx| -> Result<String> { Ok(misread(ctx).await?.to_string()) };
    let person = answering("form", json!({"name": "Ada"}));
    check(handler, "form", person, "`name`: must be a whole number").await;
}

#[derive(Form)]
struct Target {
    /// Where to deploy to.
    #[form(default = "staging")]
    environment: String,
    #[form(default = false)]
    dry_run: bool,
}

async fn deploy(ctx: Ctx) -> Result<String> {
    let known = ["staging", "production"];
    let known = ctx.run("environments", async || {
        Ok(known.map(str::to_owned).to_vec())
    });
    let question = ctx.elicit::<Target>("Deploy?");
    let question = question.options("environment", known.await?);
    let target = question.await?.accepted()?;
    Ok(format!("{} {}", target.environment, target.dry_run))
}

#[tokio::test(start_paused = true)]
async fn options_that_are_known_at_run_time_go_into_a_form() {
    let person = answering("target", json!({"environment": "production"}));
    let run = everywhere(deploy, person).await;
    assert_eq!(run.text(), "production false");
    let asked = &run.questions[0].params["requestedSchema"]["properties"]["environment"];
    assert_eq!(asked["enum"], json!(["staging", "production"]));
    assert_eq!(asked["default"], "staging");
    assert_eq!(asked["description"], "Where to deploy to.");

    // An unknown option is not an answer.
    let person = answering("target", json!({"environment": "moon"}));
    let person = person.answer("target", json!({"environment": "staging"}));
    let run = everywhere(deploy, person).await;
    assert_eq!(
        (run.text().as_str(), run.questions.len()),
        ("staging false", 2)
    );
}

#[tokio::test(start_paused = true)]
async fn options_of_no_text_are_the_authors_mistake() {
    for (field, options, said) in [
        ("dry_run", vec!["a"], "the form has no text of that name"),
        ("moon", vec!["a"], "the form has no text of that name"),
        ("environment", vec![], "environment"),
    ] {
        let ask = move |ctx: Ctx| {
            let options = options.clone();
            async move {
                let question = ctx.elicit::<Target>("Deploy?").options(field, options);
                question.await?.accepted()?;
                Ok("deployed")
            }
        };
        let trial = testing::call(serving(ask), "tool", json!({})).with(Person::new());
        let run = trial.in_revision(Revision::LATEST).await;
        assert!(
            run.is_error() && run.text().contains(said),
            "{field}: {run:?}"
        );
    }
}

async fn slow(ctx: Ctx) -> Result<String> {
    let minutes = |minutes: u64| async move {
        tokio::time::sleep(Duration::from_secs(60 * minutes)).await;
        Ok(minutes)
    };
    let two = Duration::from_secs(120);
    let read = ctx.run("read", || minutes(1)).limit(two).await;
    ctx.confirm("Go on?").await?;
    let done = ctx.commit("write", move || minutes(1)).limit(two).await;
    let late = ctx.run("late", || minutes(3)).limit(two).await;
    Ok(format!("{read:?} {done:?} {late:?}"))
}

#[tokio::test(start_paused = true)]
async fn a_step_may_take_longer_than_others() {
    let person = answering("confirm", json!({"confirm": true}));
    let trial = testing::call(serving(slow), "tool", json!({})).with(person);
    for revision in [Revision::V2025_06_18, Revision::LATEST] {
        let run = trial.in_revision(revision).await;
        let late = "the step `late` did not end within 120 seconds: its outcome is unknown";
        assert_eq!(run.text(), format!("Ok(1) Ok(1) Err({late})"), "{revision}");
    }
}

async fn borrows(ctx: Ctx) -> Result<String> {
    let path = "notes.txt".to_owned();
    let length = ctx.run("length", async || Ok(path.len())).await?;
    ctx.confirm("Go on?").await?;
    Ok(format!("{path} {length}"))
}

#[tokio::test(start_paused = true)]
async fn a_run_borrows_from_its_handler() {
    check(
        borrows,
        "confirm",
        answering("confirm", json!({"confirm": true})),
        "notes.txt 9",
    )
    .await;
}
