//! Lints: things a server lists that are hard to use.

use std::collections::BTreeSet;

use askback_host::text::{PeerText, Words};
use serde_json::Value;

use super::{Warning, schemas};

/// The lists of a server.
#[derive(Debug, Default)]
pub struct Lists {
    /// The tools.
    pub tools: Vec<Value>,
    /// The prompts.
    pub prompts: Vec<Value>,
    /// The resources.
    pub resources: Vec<Value>,
    /// The resource templates.
    pub templates: Vec<Value>,
    /// The requests for those of which not all pages were read.
    pub unread: Vec<&'static str>,
}

/// The longest name of a tool that the APIs of models take.
const LONGEST: usize = 64;

/// One thing to look for: the places where it is, and what to say of them.
struct Lint {
    says: &'static str,
    advice: &'static str,
    places: Vec<String>,
}

/// Looks through the lists.
pub(super) fn warnings(lists: &Lists) -> Vec<Warning> {
    let Lists {
        tools,
        prompts,
        resources,
        templates,
        ..
    } = lists;
    let mut lints = vec![
        Lint {
            says: "tools that APIs of models refuse for their names",
            advice: "Use at most 64 letters, digits, `_` and `-`.",
            places: places(tools, |tool| !is_accepted(&tool["name"])),
        },
        Lint {
            says: "tools with the name of another",
            advice: "A call reaches one of them alone.",
            places: repeated(tools),
        },
        Lint {
            says: "tools without a description",
            advice: "A model chooses tools by their descriptions.",
            places: places(tools, |tool| is_blank(&tool["description"])),
        },
        Lint {
            says: "tools without a title",
            advice: "A person sees the name for programs instead.",
            places: places(tools, |tool| {
                is_blank(&tool["title"]) && is_blank(&tool["annotations"]["title"])
            }),
        },
        Lint {
            says: "tools that do not say whether they change something",
            advice: "Clients take them for destructive, and ask each time; set `readOnlyHint` or `destructiveHint`.",
            places: places(tools, |tool| {
                let hints = &tool["annotations"];
                hints["readOnlyHint"].is_null() && hints["destructiveHint"].is_null()
            }),
        },
        Lint {
            says: "members of a wrong type",
            advice: "Clients read the rest as if these were not there, or give up on the whole list.",
            places: [tools, prompts, resources, templates]
                .into_iter()
                .flatten()
                .flat_map(wrong_members)
                .collect(),
        },
        Lint {
            says: "prompts without a description",
            advice: "A person chooses prompts by their descriptions.",
            places: places(prompts, |prompt| is_blank(&prompt["description"])),
        },
        Lint {
            says: "arguments of prompts without a description",
            advice: "A person is asked for them by name alone.",
            places: prompt_arguments(prompts),
        },
        Lint {
            says: "resources without a media type",
            advice: "Clients guess what they are; set `mimeType`.",
            places: places(resources, |resource| is_blank(&resource["mimeType"])),
        },
        Lint {
            says: "resource templates without a description",
            advice: "Nobody knows what to put into them.",
            places: places(templates, |template| is_blank(&template["description"])),
        },
    ];
    for tool in tools {
        let name = name(tool);
        for (fault, place) in schemas::faults(&tool["inputSchema"]) {
            let place = match place.is_empty() {
                true => name.clone(),
                false => format!("{name}: {place}"),
            };
            let (says, advice) = fault.words();
            match lints.iter_mut().find(|lint| lint.says == says) {
                Some(lint) => lint.places.push(place),
                None => lints.push(Lint {
                    says,
                    advice,
                    places: vec![place],
                }),
            }
        }
    }
    let found = lints.into_iter().filter(|lint| !lint.places.is_empty());
    found
        .map(|lint| Warning {
            says: Words::from(lint.says),
            places: lint.places.into_iter().map(PeerText::from).collect(),
            advice: lint.advice.into(),
        })
        .collect()
}

fn places(items: &[Value], is: impl Fn(&Value) -> bool) -> Vec<String> {
    items.iter().filter(|item| is(item)).map(name).collect()
}

fn name(item: &Value) -> String {
    let mut names = ["name", "uri", "uriTemplate"].into_iter();
    let name = names.find_map(|member| item[member].as_str());
    name.unwrap_or("(no name)").to_owned()
}

/// Whether there is no text. What is no text is among the [`wrong_members`].
fn is_blank(text: &Value) -> bool {
    text.is_null() || text.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The members that only describe an entry, so that a client uses the entry without them if their type is wrong.
const DESCRIBING: [(&str, fn(&Value) -> bool); 13] = [
    ("title", Value::is_string),
    ("description", Value::is_string),
    ("icons", Value::is_array),
    ("_meta", Value::is_object),
    ("mimeType", Value::is_string),
    ("size", Value::is_number),
    ("outputSchema", Value::is_object),
    ("annotations", Value::is_object),
    ("annotations/title", Value::is_string),
    ("annotations/readOnlyHint", Value::is_boolean),
    ("annotations/destructiveHint", Value::is_boolean),
    ("annotations/idempotentHint", Value::is_boolean),
    ("annotations/openWorldHint", Value::is_boolean),
];

fn wrong_members(item: &Value) -> impl Iterator<Item = String> {
    let wrong = DESCRIBING.into_iter().filter(|(member, is_right)| {
        let member = item.pointer(&format!("/{member}"));
        member.is_some_and(|value| !value.is_null() && !is_right(value))
    });
    wrong.map(|(member, _)| format!("{}: {}", name(item), member.replace('/', ".")))
}

fn is_accepted(name: &Value) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = name.as_str().unwrap_or_default();
    (1..=LONGEST).contains(&name.chars().count()) && name.chars().all(allowed)
}

fn repeated(items: &[Value]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let names = items.iter().map(name);
    names.filter(|name| !known.insert(name.clone())).collect()
}

fn prompt_arguments(prompts: &[Value]) -> Vec<String> {
    let mut places = Vec::new();
    for prompt in prompts {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let blank = arguments.filter(|argument| is_blank(&argument["description"]));
        places.extend(blank.map(|argument| format!("{}: {}", name(prompt), name(argument))));
    }
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A tool with which nothing is wrong.
    fn tool() -> Value {
        json!({
            "name": "book", "title": "Book", "description": "Books.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {}},
        })
    }

    #[test]
    fn each_thing_is_found_where_it_is() {
        #[track_caller]
        fn check(lists: &Lists, says: &str, place: &str) {
            let found = warnings(lists);
            let found: Vec<_> = found
                .iter()
                .map(|warning| (warning.says.as_str(), warning.places[0].raw()))
                .collect();
            match says {
                "" => assert_eq!(found, []),
                _ => assert_eq!(found, [(says, place)]),
            }
        }
        let with = |member: &str, value: Value| {
            let mut tool = tool();
            tool[member] = value;
            Lists {
                tools: vec![tool],
                ..Lists::default()
            }
        };
        check(&with("x", json!(1)), "", "");
        let refused = "tools that APIs of models refuse for their names";
        check(&with("name", json!("a b")), refused, "a b");
        check(&with("name", json!("a.b")), refused, "a.b");
        let long = "a".repeat(65);
        check(&with("name", json!(long)), refused, &long);
        check(&with("name", json!("a".repeat(64))), "", "");
        check(
            &with("description", json!(" ")),
            "tools without a description",
            "book",
        );
        check(&with("title", json!(null)), "tools without a title", "book");
        check(
            &with(
                "annotations",
                json!({"title": "x", "destructiveHint": false}),
            ),
            "",
            "",
        );
        for (member, value, place) in [
            (
                "annotations",
                json!({"readOnlyHint": "yes"}),
                "book: annotations.readOnlyHint",
            ),
            ("title", json!(5), "book: title"),
            ("icons", json!("b.png"), "book: icons"),
        ] {
            check(&with(member, value), "members of a wrong type", place);
        }
        check(
            &with("annotations", json!({})),
            "tools that do not say whether they change something",
            "book",
        );
        let twice = Lists {
            tools: vec![tool(), tool()],
            ..Lists::default()
        };
        check(&twice, "tools with the name of another", "book");
        let prompt = |prompt: Value| Lists {
            prompts: vec![prompt],
            ..Lists::default()
        };
        check(
            &prompt(json!({"name": "p"})),
            "prompts without a description",
            "p",
        );
        check(
            &prompt(json!({"name": "p", "description": "d", "arguments": [{"name": "a"}]})),
            "arguments of prompts without a description",
            "p: a",
        );
        let resource = Lists {
            resources: vec![json!({"name": "r", "uri": "a://b"})],
            ..Lists::default()
        };
        check(&resource, "resources without a media type", "r");
        let template = Lists {
            templates: vec![json!({"uriTemplate": "a://{b}"})],
            ..Lists::default()
        };
        check(
            &template,
            "resource templates without a description",
            "a://{b}",
        );
    }
}
