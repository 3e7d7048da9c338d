// A server of `@modelcontextprotocol/server`: `server-2.mjs stdio` or `server-2.mjs http`.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import {
    NodeStreamableHTTPServerTransport,
    toNodeHandler,
    toWebRequest,
} from '@modelcontextprotocol/node';
import {
    McpServer,
    completable,
    createMcpHandler,
    inputRequired,
    inputResponse,
    isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
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

/** The answer to a question of this round, or of one before: those travel in the state. */
function answers(ctx) {
    return { ...JSON.parse(ctx.mcpReq.requestState() ?? '{}'), ...ctx.mcpReq.inputResponses };
}

function ask(key, question, known) {
    const requestState = JSON.stringify(known);
    return inputRequired({ inputRequests: { [key]: question }, requestState });
}

function server() {
    const server = new McpServer({ name: 'typescript-2', version: '1.0.0' });
    const tool = (name, inputSchema, run) =>
        server.registerTool(name, { description: `Does ${name}`, inputSchema }, run);
    const none = z.object({});

    tool('form', z.object({ which: z.string() }), ({ which }, ctx) => {
        const known = answers(ctx);
        const requestedSchema = forms[which];
        if (!known.form) {
            const message = 'Please fill this in.';
            return ask('form', inputRequired.elicit({ message, requestedSchema }), known);
        }
        return text(JSON.stringify(known.form));
    });
    tool('two', none, (_, ctx) => {
        const known = answers(ctx);
        if (!known.place) {
            const message = 'Where to?';
            return ask('place', inputRequired.elicit({ message, requestedSchema: place }), known);
        }
        const where = inputResponse(known, 'place');
        if (where.action !== 'accept') return text(`no place: ${where.action}`);
        if (!known.month) {
            const message = `When to ${where.content.place}?`;
            return ask('month', inputRequired.elicit({ message, requestedSchema: month }), known);
        }
        const when = inputResponse(known, 'month');
        if (when.action !== 'accept') return text(`no month: ${when.action}`);
        return text(`${where.content.place} in ${when.content.month}`);
    });
    tool('link', none, (_, ctx) => {
        const known = answers(ctx);
        if (!known.link) {
            const page = { message: 'Please pay.', url: 'https://example.com/pay' };
            return ask('link', inputRequired.elicitUrl(page), known);
        }
        return text(`the link: ${known.link.action}`);
    });
    tool('sampling', none, (_, ctx) => {
        const known = answers(ctx);
        if (!known.model) {
            const content = { type: 'text', text: 'What is best?' };
            const messages = [{ role: 'user', content }];
            const question = inputRequired.createMessage({ messages, maxTokens: 100 });
            return ask('model', question, known);
        }
        const { content } = known.model;
        return text(`the model said: ${[content].flat()[0].text}`);
    });
    tool('roots', none, (_, ctx) => {
        const known = answers(ctx);
        if (!known.roots) return ask('roots', inputRequired.listRoots(), known);
        return text(known.roots.roots.map((root) => root.uri).join('\n'));
    });
    tool('progress', none, async (_, ctx) => {
        for (const progress of [1, 2, 3]) await tell(ctx, progress);
        return text('done');
    });
    tool('slow', none, async (_, ctx) => {
        await tell(ctx, 1);
        await new Promise((resolve) => {
            const timer = setTimeout(resolve, 60_000);
            ctx.mcpReq.signal.addEventListener('abort', () => {
                stopped += 1;
                clearTimeout(timer);
                resolve();
            });
        });
        return text('it was slow');
    });
    tool('stopped', none, async () => {
        for (let waited = 0; stopped === 0 && waited < 100; waited += 1) await pause(50);
        return text(String(stopped));
    });
    tool('crash', none, async (_, ctx) => {
        await tell(ctx, 1);
        await pause(100);
        process.kill(process.pid, 'SIGKILL');
        return text('still there');
    });
    const names = ['Ada', 'Adele', 'Grace'];
    const name = completable(z.string(), (typed) => names.filter((it) => it.startsWith(typed)));
    server.registerPrompt('greeting', { argsSchema: z.object({ name }) }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
    }));
    return server;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function tell(ctx, progress) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    const params = { progressToken, progress, total: 3, message: `step ${progress}` };
    await ctx.mcpReq.notify({ method: 'notifications/progress', params });
}

/** The handshake revisions have sessions here, so that the server can ask. */
function sessions() {
    const open = new Map();
    return async (request, response, body) => {
        const id = request.headers['mcp-session-id'];
        let transport = id && open.get(id);
        if (!transport) {
            transport = new NodeStreamableHTTPServerTransport({
                sessionIdGenerator: () => randomUUID(),
                onsessioninitialized: (id) => open.set(id, transport),
            });
            await server().connect(transport);
        }
        await transport.handleRequest(request, response, body);
    };
}

if (process.argv[2] === 'stdio') {
    serveStdio(server);
} else {
    const modern = toNodeHandler(createMcpHandler(server, { legacy: 'reject' }));
    const legacy = sessions();
    const http = createServer(async (request, response) => {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined;
        const isLegacy = await isLegacyRequest(await toWebRequest(request, body));
        await (isLegacy ? legacy : modern)(request, response, body);
    });
    http.listen(0, '127.0.0.1', () => {
        console.log(`http://127.0.0.1:${http.address().port}/mcp`);
    });
}
