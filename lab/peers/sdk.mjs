// The server of `bench-server` with the TypeScript SDK. It serves HTTP, answers with JSON, and prints its address.

import { createServer } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import * as z from 'zod';

function server() {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    const inputSchema = z.object({ message: z.string() });
    server.registerTool('echo', { description: 'Says it back', inputSchema }, ({ message }) => ({
        content: [{ type: 'text', text: message }],
    }));
    return server;
}

const http = createServer(toNodeHandler(createMcpHandler(server)));
http.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${http.address().port}`));
