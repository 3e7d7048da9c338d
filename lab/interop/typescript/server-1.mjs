// A server of `@modelcontextprotocol/sdk`: `server-1.mjs stdio`, `http` or `sse`.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CreateMessageResultSchema, ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';

const forms = JSON.parse(readFileSync(new URL('forms.json', import.meta.url)));
const place = {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
};
const month = {
    type: 'object',
    properties: { month: { type: 'string', enum: ['June', 'July'] } },
    required: ['month'],
};

let stopped = 0;

const text = (text) => ({ content: [{ type: 'text', text }] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A question that belongs to the call, so that it goes where the answer to the call will go. */
function ask(extra, message, requestedSchema) {
    const params = { message, requestedSchema };
    return extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
}

async function tell(extra, progress) {
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) return;
    const params = { progressToken, progress, total: 3, message: `step ${progress}` };
    await extra.sendNotification({ method: 'notifications/progress', params });
}

function server() {
    const server = new McpServer({ name: 'typescript-1', version: '1.0.0' });
    const tool = (name, inputSchema, run) =>
        server.registerTool(name, { description: `Does ${name}`, inputSchema }, run);

    tool('form', { which: z.string() }, async ({ which }, extra) =>
        text(JSON.stringify(await ask(extra, 'Please fill this in.', forms[which]))),
    );
    tool('two', {}, async (_, extra) => {
        const where = await ask(extra, 'Where to?', place);
        if (where.action !== 'accept') return text(`no place: ${where.action}`);
        const when = await ask(extra, `When to ${where.content.place}?`, month);
        if (when.action !== 'accept') return text(`no month: ${when.action}`);
        return text(`${where.content.place} in ${when.content.month}`);
    });
    tool('sampling', {}, async (_, extra) => {
        const content = { type: 'text', text: 'What is best?' };
        const params = { messages: [{ role: 'user', content }], maxTokens: 100 };
        const method = 'sampling/createMessage';
        const answer = await extra.sendRequest({ method, params }, CreateMessageResultSchema);
        return text(`the model said: ${answer.content.text}`);
    });
    tool('roots', {}, async (_, extra) => {
        const listed = await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema);
        return text(listed.roots.map((root) => root.uri).join('\n'));
    });
    tool('progress', {}, async (_, extra) => {
        for (const progress of [1, 2, 3]) await tell(extra, progress);
        return text('done');
    });
    tool('slow', {}, async (_, extra) => {
        await tell(extra, 1);
        await new Promise((resolve) => {
            const timer = setTimeout(resolve, 60_000);
            extra.signal.addEventListener('abort', () => {
                stopped += 1;
                clearTimeout(timer);
                resolve();
            });
        });
        return text('it was slow');
    });
    tool('stopped', {}, async () => {
        for (let waited = 0; stopped === 0 && waited < 100; waited += 1) await pause(50);
        return text(String(stopped));
    });
    tool('crash', {}, async (_, extra) => {
        await tell(extra, 1);
        await pause(100);
        process.kill(process.pid, 'SIGKILL');
        return text('still there');
    });
    const names = ['Ada', 'Adele', 'Grace'];
    const name = completable(z.string(), (typed) => names.filter((it) => it.startsWith(typed)));
    server.registerPrompt('greeting', { argsSchema: { name } }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
    }));
    return server;
}

/** Sessions of Streamable HTTP. */
function streamable() {
    const open = new Map();
    return async (request, response) => {
        const id = request.headers['mcp-session-id'];
        let transport = id && open.get(id);
        if (!transport) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: () => randomUUID(),
                onsessioninitialized: (id) => open.set(id, transport),
            });
            await server().connect(transport);
        }
        await transport.handleRequest(request, response);
    };
}

/** Sessions of the older pair of a stream and a second address. */
function sse() {
    const open = new Map();
    return async (request, response) => {
        const id = new URL(request.url, 'http://localhost').searchParams.get('sessionId');
        if (request.method === 'GET') {
            const transport = new SSEServerTransport('/messages', response);
            open.set(transport.sessionId, transport);
            await server().connect(transport);
        } else if (open.has(id)) {
            await open.get(id).handlePostMessage(request, response);
        } else {
            response.writeHead(405).end();
        }
    };
}

if (process.argv[2] === 'stdio') {
    await server().connect(new StdioServerTransport());
} else {
    const [path, serve] = process.argv[2] === 'sse' ? ['sse', sse()] : ['mcp', streamable()];
    const http = createServer(serve);
    http.listen(0, '127.0.0.1', () => {
        console.log(`http://127.0.0.1:${http.address().port}/${path}`);
    });
}
