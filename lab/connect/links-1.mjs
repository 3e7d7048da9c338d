// The same as `links_1.py` with `@modelcontextprotocol/sdk`.
import process from 'node:process';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [url, token] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const capabilities = { elicitation: { url: {} } };
const client = new Client({ name: 'links', version: '1.0.0' }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  say({ link: params.url });
  return { action: 'accept' };
});
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
let revision;
// The client tells its transport, and nobody else.
const told = transport.setProtocolVersion.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  told(version);
};
await client.connect(transport);
const call = { name: 'my_miles', arguments: {} };
const { content } = await client.callTool(call, undefined, { timeout: 120_000 });
say({ revision, said: content[0].text });
await client.close();
