// The client of `@modelcontextprotocol/sdk`.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { drive, follow } from './driver.mjs';

await drive(async ({ command, url, sse, mute }, desk) => {
    const client = new Client(
        { name: 'interop', version: '1.0.0' },
        { capabilities: mute ? {} : { elicitation: { form: {} }, sampling: {}, roots: {} } },
    );
    if (!mute) {
        client.setRequestHandler(ElicitRequestSchema, (request) => desk.form(request.params));
        client.setRequestHandler(CreateMessageRequestSchema, (request) => desk.sample(request.params));
        client.setRequestHandler(ListRootsRequestSchema, () => desk.roots());
    }
    const Http = sse ? SSEClientTransport : StreamableHTTPClientTransport;
    const transport = url
        ? new Http(new URL(url))
        : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' });
    let revision;
    // The client tells its transport, and nobody else.
    const told = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
        revision = version;
        told?.(version);
    };
    await client.connect(transport);
    return {
        client,
        revision: () => revision,
        pages: (method, field) => follow(client, method, field),
        callTool: (params, options) => client.callTool(params, undefined, options),
    };
});
