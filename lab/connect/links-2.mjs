// The same as `links_1.py` with `@modelcontextprotocol/client`.
import process from 'node:process';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const client = new Client(
  { name: 'links', version: '1.0.0' },
  { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
);
client.setRequestHandler('elicitation/create', ({ params }) => {
  say({ link: params.url });
  return { action: 'accept' };
});
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
const call = { name: 'my_miles', arguments: {} };
const { content } = await client.callTool(call, { timeout: 120_000 });
say({ revision: client.getNegotiatedProtocolVersion(), said: content[0].text });
await client.close();
