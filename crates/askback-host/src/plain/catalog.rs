//! A server's offers, as lists.

use askback::{
    forms::FormSchema,
    limits::Limits,
    protocol::{
        Prompt, Resource, ResourceTemplate, SKILLS_EXTENSION, ServerCapabilities, Skill, Tool,
    },
};

use crate::{
    model::Asker,
    page::{Page, Style},
    question,
    text::{Words, given},
    view, words,
};

const NAME: &str = "  ";
const ABOUT: &str = "      ";

/// Writes a server to the page: its name, its protocol revision and its capabilities.
pub fn identity(
    page: &mut Page,
    asker: &Asker,
    revision: &'static str,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) {
    page.say(Style::Strong, given(&asker.name).short());
    question::origin(page, &view::asker(asker));
    page.note(Style::Plain, words!("MCP {}", revision));
    let can = abilities(capabilities);
    page.note(Style::Plain, words!("Offers {}", can));
    if let Some(instructions) = instructions {
        page.quote_at(NAME, instructions);
    }
}

pub fn tools(page: &mut Page, tools: &[Tool]) {
    heading(page, "Tools", tools.len());
    for tool in tools {
        let hints = tool.annotations.as_ref();
        let title = tool
            .title
            .as_ref()
            .or(hints.and_then(|hints| hints.title.as_ref()));
        item(page, &tool.name, title, tool.description.as_ref());
        let hints = self::hints(tool);
        if !hints.as_str().is_empty() {
            page.item(ABOUT, Style::Dim, hints);
        }
        let schema = tool.input_schema.as_str().as_bytes();
        let limits = Limits::default();
        match FormSchema::parse_arguments(schema, &limits.forms) {
            Ok(schema) => question::fields(page, ABOUT, &schema),
            Err(_) => page.item(
                ABOUT,
                Style::Dim,
                "Its arguments cannot be listed: its schema is too large, or not that of an object.",
            ),
        }
    }
}

/// Returns the hints on what a tool does. Trust them only as far as the server.
pub fn hints(tool: &Tool) -> Words {
    let Some(hints) = &tool.annotations else {
        return Words::default();
    };
    let said = [
        (hints.read_only_hint, "read-only"),
        (hints.destructive_hint, "destructive"),
        (hints.idempotent_hint, "idempotent"),
    ];
    let said = said.into_iter().filter(|(hint, _)| *hint == Some(true));
    let said: Vec<_> = said.map(|(_, word)| word).collect();
    given(said.join(", "))
}

pub fn prompts(page: &mut Page, prompts: &[Prompt]) {
    heading(page, "Prompts", prompts.len());
    for prompt in prompts {
        let name = format!("/{}", prompt.name);
        item(
            page,
            &name,
            prompt.title.as_ref(),
            prompt.description.as_ref(),
        );
        for argument in prompt.arguments.iter().flatten() {
            let optional = if argument.required == Some(true) {
                ""
            } else {
                ", optional"
            };
            let about = argument.description.as_ref().or(argument.title.as_ref());
            let about = about.map_or_else(String::new, |about| format!(": {about}"));
            page.quote_line(ABOUT, format!("{}{about}{optional}", argument.name));
        }
    }
}

pub fn resources(page: &mut Page, resources: &[Resource], templates: &[ResourceTemplate]) {
    heading(
        page,
        "Resources",
        resources.len().saturating_add(templates.len()),
    );
    for resource in resources {
        let title = resource.title.as_ref().unwrap_or(&resource.name);
        item(
            page,
            &resource.uri,
            Some(title),
            resource.description.as_ref(),
        );
    }
    about_templates(page, templates);
}

pub fn templates(page: &mut Page, templates: &[ResourceTemplate]) {
    heading(page, "Resource templates", templates.len());
    about_templates(page, templates);
}

/// Writes a list of skills to the page, with the number and the size of their files.
pub fn skills(page: &mut Page, skills: &[Skill]) {
    heading(page, "Skills", skills.len());
    for skill in skills {
        let description = skill.description().to_owned();
        item(page, &skill.uri, None, Some(&description));
        let files = skill.resources.as_ref().map(|files| {
            let bytes = files
                .iter()
                .fold(0u64, |sum, it| sum.saturating_add(it.size));
            words!("Files: {}, bytes: {}", files.len(), bytes)
        });
        let files = files.unwrap_or_else(|| "Its files are generated.".into());
        page.item(ABOUT, Style::Dim, files);
        if let Err(why) = skill.check() {
            page.item(
                ABOUT,
                Style::Warning,
                words!("It cannot be used: {}.", given(why)),
            );
        }
    }
}

fn about_templates(page: &mut Page, templates: &[ResourceTemplate]) {
    for template in templates {
        let title = template.title.as_ref().unwrap_or(&template.name);
        item(
            page,
            &template.uri_template,
            Some(title),
            template.description.as_ref(),
        );
    }
}

fn heading(page: &mut Page, what: &'static str, count: usize) {
    page.blank();
    match count {
        0 => page.say(Style::Strong, words!("{}: none", what)),
        _ => page.say(Style::Strong, what),
    }
}

fn item(page: &mut Page, name: &str, title: Option<&String>, description: Option<&String>) {
    let title = title.filter(|title| *title != name);
    let title = title.map_or_else(String::new, |title| format!(" ({title})"));
    page.quote_line(NAME, format!("{name}{title}"));
    if let Some(description) = description {
        page.quote_at(ABOUT, description);
    }
}

fn abilities(capabilities: &ServerCapabilities) -> Words {
    let flag = |what: &'static str, flags: &[(Option<bool>, &'static str)]| {
        let on = flags.iter().filter(|(on, _)| *on == Some(true));
        let on = Words::join(on.map(|(_, name)| Words::from(*name)), ", ");
        match on.is_empty() {
            true => what.into(),
            false => words!("{} ({})", what, on),
        }
    };
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    let can = [
        tools.map(|it| flag("tools", &[(it.list_changed, "changing")])),
        prompts.map(|it| flag("prompts", &[(it.list_changed, "changing")])),
        resources.map(|it| {
            flag(
                "resources",
                &[(it.list_changed, "changing"), (it.subscribe, "watched")],
            )
        }),
        capabilities
            .completions
            .as_ref()
            .map(|_| "completions".into()),
        capabilities.logging.as_ref().map(|_| "logging".into()),
        capabilities.tasks.as_ref().map(|_| "tasks".into()),
        capabilities
            .extension(SKILLS_EXTENSION)
            .map(|_| "skills".into()),
    ];
    let can = Words::join(can.into_iter().flatten(), ", ");
    match can.is_empty() {
        true => "nothing it declares".into(),
        false => can,
    }
}
