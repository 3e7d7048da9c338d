//! Authors' mistakes that are found when the server is built.

use askback::{
    Answer, Ask, Form, Json, Limits, PlainJson, Prompt, Resource, ResourceTemplate, Result, Server,
    ServerBuilder, Tool, prompt, server::BuildError, tool,
};
use serde_json::{Value, json};

use super::{Schema, gives, schema, structured};

fn builder() -> ServerBuilder {
    Server::new("desk", "1")
}

fn wrong(builder: ServerBuilder) -> String {
    match builder.build() {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn takes_any() -> Tool {
    Tool::new("takes", async |_: PlainJson<Value>| -> Result<()> {
        Ok(())
    })
}

// Shows BA-31, BA-32, BA-34, BA-70, TO-10.
#[test]
fn a_schema_that_cannot_be_used_is_the_authors_mistake() {
    let input = |input: &Value| builder().tool(takes_any().input_schema(schema(input)));
    let output = |output: &Value| {
        let tool = gives(structured(&json!({"total": 1})));
        builder().tool(tool.output_schema(schema(output)))
    };
    let object = |more: Value| {
        let mut schema = json!({"type": "object"});
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        schema
    };
    for (builder, expected) in [
        (
            builder().tool(takes_any()),
            "the arguments of `takes` have no schema: take `Json<_>` instead of `PlainJson<_>`, or set one \
             with `Tool::input_schema`",
        ),
        (input(&json!({"type": "object"})), "nothing"),
        (
            input(&json!({"properties": {}})),
            "the arguments of `takes`: they are an object, so their schema says `\"type\": \"object\"`",
        ),
        (
            builder().tool(Tool::new("list", async |_: Json<Vec<u8>>| -> Result<()> {
                Ok(())
            })),
            "the arguments of `list`: they are an object, so their schema says `\"type\": \"object\"`",
        ),
        (
            input(&object(
                json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            )),
            "the input schema of `takes` cannot be checked: its dialect is \
             `http://json-schema.org/draft-04/schema#`, and 2020-12 and draft-07 are interpreted, or \
             say `Tool::unchecked`",
        ),
        (
            output(&json!({"$ref": "https://example.com/total.json"})),
            "the output schema of `gives` cannot be checked: it refers to `https://example.com/total.json`, which is not in it and is not fetched, or say \
             `Tool::unchecked`",
        ),
        (
            output(&json!({"type": "number", "minimum": "0"})),
            "the output schema of `gives` cannot be checked: it is not valid: minimum: expected a \
             number, or say `Tool::unchecked`",
        ),
        (
            output(&object(json!({"pattern": "^(?!secret)"}))),
            "the output schema of `gives` cannot be checked: it is not valid: pattern: it is not a \
             \"regex\", or say `Tool::unchecked`",
        ),
    ] {
        assert_eq!(wrong(builder), expected);
    }
    let unchecked = takes_any().input_schema(schema(&object(json!({"$ref": "other.json"}))));
    assert_eq!(wrong(builder().tool(unchecked.unchecked())), "nothing");
    assert_eq!(wrong(builder().tool(takes_unchecked)), "nothing");
    let checked = takes_unchecked_not();
    assert!(wrong(builder().tool(checked)).contains("cannot be checked"));
}

/// A schema with a reference that is not fetched.
fn elsewhere() -> Schema {
    schema(&json!({"type": "object", "$ref": "other.json"}))
}

#[tool(input_schema = elsewhere(), unchecked)]
async fn takes_unchecked(_: PlainJson<Value>) -> Result<()> {
    Ok(())
}

#[tool(input_schema = elsewhere(), unchecked = false)]
async fn takes_unchecked_not(_: PlainJson<Value>) -> Result<()> {
    Ok(())
}

#[test]
fn the_limits_of_the_server_bound_its_schemas() {
    let mut limits = Limits::default();
    limits.forms.schema_bytes = 64;
    let long = json!({"type": "object", "description": "x".repeat(64)});
    let tool = takes_any().input_schema(schema(&long));
    assert_eq!(wrong(builder().tool(tool.clone())), "nothing");
    let expected = "the input schema of `takes` cannot be checked: it is longer than the 64 bytes that \
                    are read of a schema, or say `Tool::unchecked`";
    assert_eq!(wrong(builder().tool(tool).limits(limits)), expected);
}

#[test]
fn arguments_are_described_once() {
    #[derive(Form)]
    struct Place {
        name: String,
    }
    let twice = async |place: Place, _: Json<Value>| -> Result<String> { Ok(place.name) };
    let tool = Tool::new("twice", twice);
    let error = builder().tool(tool).build().err();
    assert_eq!(error, Some(BuildError::Parameters("twice".to_owned())));
    // A prompt has no schema that could describe them to its clients.
    let reads = async |_: Json<Value>| -> Result<String> { Ok(String::new()) };
    let expected = "the arguments of `reads`: clients are told of those of a form alone: take a struct \
                    that derives `Form`";
    assert_eq!(
        wrong(builder().prompt(Prompt::new("reads", reads))),
        expected
    );
    // A parameter that only reads the arguments publishes no schema.
    let beside = async |place: Place, _: PlainJson<Value>| -> Result<String> { Ok(place.name) };
    assert_eq!(
        wrong(builder().tool(Tool::new("beside", beside))),
        "nothing"
    );
}

#[test]
fn a_forbidden_form_is_found_when_the_server_is_built() {
    #[derive(Form)]
    struct Login {
        user: String,
        // The macro does not know other letters that look like Latin ones.
        #[form(title = "Passw\u{43e}rd")]
        second: String,
    }
    #[derive(Form)]
    struct Cleared {
        #[form(not_secret)]
        token: String,
    }
    let secret = "what `login` asks for: `second`: looks like a secret, which a form must not ask for; ask for it behind a link, or mark it with `not_secret`";
    let asks = async |Ask(login): Ask<Login>| -> Result<String> { Ok(login.user + &login.second) };
    assert_eq!(wrong(builder().tool(Tool::new("login", asks))), secret);
    let answered = async |_: Ask<Answer<Login>>| -> Result<String> { Ok(String::new()) };
    assert_eq!(wrong(builder().tool(Tool::new("login", answered))), secret);
    let prompt = Prompt::new("login", asks);
    assert_eq!(wrong(builder().prompt(prompt)), secret);
    let cleared = async |Ask(cleared): Ask<Cleared>| -> Result<String> { Ok(cleared.token) };
    assert_eq!(
        wrong(builder().tool(Tool::new("login", cleared))),
        "nothing"
    );
}

#[test]
fn a_value_whose_message_asks_for_a_secret_is_found_before_the_user_is_asked() {
    #[tool]
    async fn login(#[ask("What is your password?")] Ask(password): Ask<String>) -> Result<String> {
        Ok(password)
    }
    #[prompt]
    async fn greet(#[ask("What is your name?")] Ask(name): Ask<String>) -> Result<String> {
        Ok(name)
    }
    let secret = "what `login` asks for: `answer`: looks like a secret, which a form must not ask for; ask for it behind a link, or mark it with `not_secret`";
    assert_eq!(wrong(builder().tool(login)), secret);
    assert_eq!(wrong(builder().prompt(greet)), "nothing");
}

/// Why an item cannot be added to a running server.
fn refused<T>(
    offers: impl Fn(&Server) -> Result<askback::server::Offers<T>, BuildError>,
    add: impl Fn(&askback::server::Offers<T>) -> Result<(), BuildError>,
) -> String {
    let mut limits = Limits::default();
    limits.forms.schema_bytes = 64;
    let builder = builder().limits(limits).changing_tools().changing_prompts();
    let server = builder.changing_resources().build().unwrap();
    let added = add(&offers(&server).unwrap());
    added.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
}

#[test]
fn what_is_added_later_is_checked_as_what_was_there_before() {
    #[derive(Form)]
    struct Place {
        name: String,
    }
    #[tool]
    async fn login(#[ask("What is your password?")] Ask(password): Ask<String>) -> Result<String> {
        Ok(password)
    }
    let long = json!({"type": "object", "description": "x".repeat(64)});
    let wrong_schema = schema(&json!({"type": "object", "required": 1}));
    for (tool, expected) in [
        (takes_any().input_schema(Schema::default()), "nothing"),
        (takes_any(), "the arguments of `takes` have no schema"),
        (
            takes_any().input_schema(wrong_schema),
            "the input schema of `takes` cannot be checked: it is not valid",
        ),
        (
            takes_any().input_schema(schema(&long)),
            "the input schema of `takes` cannot be checked: it is longer than the 64 bytes",
        ),
        (login(), "what `login` asks for: `answer`: looks like"),
    ] {
        let refused = refused(Server::tools, |tools| tools.add(tool.clone()));
        assert!(refused.starts_with(expected), "{refused}");
    }
    let reads = async |_: PlainJson<Value>| -> Result<String> { Ok(String::new()) };
    let prompt = Prompt::new("reads", reads);
    let refused_prompt = refused(Server::prompts, |prompts| prompts.add(prompt.clone()));
    assert!(refused_prompt.starts_with("the arguments of `reads`: clients are told"));
    let note = Resource::new("notes", "notes", async || Ok(String::new()));
    let refused_note = refused(Server::resources, |resources| resources.add(note.clone()));
    assert!(refused_note.starts_with("`notes` is not a URI"));
    let read = async |place: Place| -> Result<String> { Ok(place.name) };
    let template = ResourceTemplate::new("notes://{id}", "notes", read);
    let refused_template = refused(Server::resource_templates, |all| all.add(template.clone()));
    assert!(refused_template.starts_with("the handler of `notes://{id}` reads `name`"));
}

#[test]
fn what_a_mounted_server_offers_is_checked_by_its_own_limits() {
    let mut limits = Limits::default();
    limits.forms.schema_bytes = 64;
    let long = json!({"type": "object", "description": "x".repeat(64)});
    let tool = || takes_any().input_schema(schema(&long));
    let inner = |limits: Limits| builder().limits(limits).tool(tool());
    let outer = || builder().limits(limits.clone());
    assert_eq!(
        wrong(outer().mount("a", inner(Limits::default()))),
        "nothing"
    );
    let expected = "the input schema of `a_takes` cannot be checked: it is longer than the 64 bytes that \
                    are read of a schema, or say `Tool::unchecked`";
    assert_eq!(wrong(builder().mount("a", inner(limits.clone()))), expected);
}

#[test]
fn a_resource_is_at_a_uri() {
    let resource = |uri: &str| {
        builder().resource(Resource::new(uri, "notes", async || {
            Ok("A note.".to_owned())
        }))
    };
    let template = |uri: &str| {
        let read = async || Ok("A note.".to_owned());
        builder().resource_template(ResourceTemplate::new(uri, "notes", read))
    };
    for uri in ["notes:all", "notes://a/b", "file:///tmp/a%20b", "ui://app"] {
        assert_eq!(wrong(resource(uri)), "nothing", "{uri}");
    }
    for uri in ["notes", "/notes", "", "notes://a b", "notes://ä", "1://a"] {
        let expected = Some(BuildError::Uri(uri.to_owned()));
        assert_eq!(resource(uri).build().err(), expected, "{uri}");
    }
    for uri in ["notes://{name}", "notes:///{+path}", "notes:{a}/{b}"] {
        assert_eq!(wrong(template(uri)), "nothing", "{uri}");
    }
    for uri in ["{name}", "notes/{name}"] {
        let expected = Some(BuildError::Uri(uri.to_owned()));
        assert_eq!(template(uri).build().err(), expected, "{uri}");
    }
    for uri in ["notes://a b/{name}", "notes://ä/{name}"] {
        let expected = Some(BuildError::Template(uri.to_owned()));
        assert_eq!(template(uri).build().err(), expected, "{uri}");
    }
}

#[test]
fn a_template_has_the_variables_its_handler_reads() {
    #[derive(Form)]
    struct Place {
        name: String,
        page: Option<u8>,
    }
    let at = |uri: &str| {
        let read = async |place: Place| -> Result<String> {
            Ok(format!("{} {:?}", place.name, place.page))
        };
        builder().resource_template(ResourceTemplate::new(uri, "places", read))
    };
    for uri in ["places://{name}/{page}", "places://{name}/{page}/{+rest}"] {
        assert_eq!(wrong(at(uri)), "nothing", "{uri}");
    }
    for (uri, variable) in [
        ("places://{name}", "page"),
        ("places://{nam}/{page}", "name"),
    ] {
        let expected = format!(
            "the handler of `{uri}` reads `{variable}`, and the template has no such variable"
        );
        assert_eq!(wrong(at(uri)), expected);
    }
}
