//! The server of the conformance suite, in every revision.

mod asking;
mod changes;
mod content;
mod prompts;
mod resources;
mod rounds;
mod schemas;
mod skills;
mod streams;
mod tasks;
mod telling;

use std::time::Duration;

use askback::{
    Server, ServerBuilder,
    protocol::{CacheScope, TaskSupport},
};

use self::{
    asking::*, changes::*, content::*, prompts::*, resources::*, rounds::*, schemas::*, skills::*,
    streams::*, tasks::*, telling::*,
};

/// Returns a builder with everything that the suite tests. The keys are missing.
pub fn server() -> ServerBuilder {
    let server = Server::new("askback-conformance", env!("CARGO_PKG_VERSION"))
        .title("askback under test")
        .logging()
        .changing_tools()
        .changing_prompts()
        .cache(Duration::from_secs(60), CacheScope::Public);
    resources(prompts(tools(server)))
}

fn tools(server: ServerBuilder) -> ServerBuilder {
    server
        // The suite calls the first tool without arguments and expects a result.
        .tool(test_simple_text)
        .tool(test_image_content)
        .tool(test_audio_content)
        .tool(test_embedded_resource)
        .tool(test_multiple_content_types)
        .tool(test_error_handling)
        .tool(test_tool_with_logging)
        .tool(test_tool_with_progress)
        .tool(test_logging_tool)
        .tool(test_reconnection)
        .tool(test_sampling)
        .tool(test_elicitation)
        .tool(test_elicitation_sep1034_defaults)
        .tool(test_elicitation_sep1330_enums)
        .tool(test_missing_capability)
        .tool(test_streaming_elicitation)
        .tool(test_input_required_result_elicitation)
        .tool(test_input_required_result_sampling)
        .tool(test_input_required_result_list_roots)
        .tool(test_input_required_result_request_state)
        .tool(test_input_required_result_multiple_inputs)
        .tool(test_input_required_result_multi_round)
        .tool(test_input_required_result_tampered_state)
        .tool(test_input_required_result_capabilities)
        .tool(test_trigger_tool_change)
        .tool(test_trigger_prompt_change)
        .tool(json_schema_2020_12_tool)
        .tool(test_custom_header)
        .tool(greet)
        .tool(slow_compute().task(TaskSupport::Optional))
        .tool(failing_job().task(TaskSupport::Required))
        .tool(protocol_error_job().task(TaskSupport::Optional))
        .tool(confirm_delete().task(TaskSupport::Optional))
        .tool(multi_input().task(TaskSupport::Optional))
        .tool(test_tool_with_task().may_become_task(TaskSupport::Required))
}

fn prompts(server: ServerBuilder) -> ServerBuilder {
    server
        .prompt(test_simple_prompt)
        .prompt(test_prompt_with_arguments)
        .prompt(test_prompt_with_embedded_resource)
        .prompt(test_prompt_with_image)
        .prompt(test_input_required_result_prompt)
}

fn resources(server: ServerBuilder) -> ServerBuilder {
    server
        .resource(static_text)
        .resource(static_binary)
        .resource(watched_resource)
        .resource_template(template_data)
        .skill(pirate())
}
