// The client of `@modelcontextprotocol/client`.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { drive } from './driver.mjs';

await drive(async ({ command, url, sse, mute }, desk) => {
    const client = new Client(
        { name: 'interop', version: '1.0.0' },
        {
            capabilities: mute ? {} : { elicitation: { form: {} }, sampling: {}, roots: {} },
            versionNegotiation: { mode: sse ? 'legacy' : 'auto' },
        },
    );
    if (!mute) {
        client.setRequestHandler('elicitation/create', (request) => desk.form(request.params));
        client.setRequestHandler('sampling/createMessage', (request) => desk.sample(request.params));
        client.setRequestHandler('roots/list', () => desk.roots());
    }
    const Http = sse ? SSEClientTransport : StreamableHTTPClientTransport;
    const transport = url
        ? new Http(new URL(url))
        : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' });
    await client.connect(transport);
    return {
        client,
        revision: () => client.getNegotiatedProtocolVersion(),
        // It follows the cursors by itself.
        pages: async (method, field) => (await client[method]())[field],
        callTool: (params, options) => client.callTool(params, options),
    };
});
