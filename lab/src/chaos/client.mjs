// Calls a tool with the SDK for TypeScript: as client.py does.
import readline from 'node:readline';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const line = async () => (await lines.next()).value ?? '';
const say = (word, text) => console.log(word, JSON.stringify(String(text)));

function content(schema, email) {
  const filled = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    if (name === 'email') filled[name] = email;
    else if (name === 'name') filled[name] = 'Ada';
    else if (name === 'confirm_booking') filled[name] = true;
    else if ('default' in field) filled[name] = field.default;
  }
  return filled;
}

async function call(url, email) {
  let asked = 0;
  const client = new Client({ name: 'chaos', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked += 1;
    say('asked', asked);
    await line();
    return { action: 'accept', content: content(request.params.requestedSchema, email) };
  });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const trip = { destination: 'Lisbon', depart: '2027-05-01' };
  const call = { name: 'book_holiday', arguments: trip };
  const result = await client.callTool(call, undefined, { timeout: 90000 });
  say(result.isError ? 'failed' : 'done', result.content[0].text);
  await client.close();
}

for (let words = await line(); words; words = await line()) {
  try {
    await call(...words.split(' '));
  } catch (error) {
    say('failed', error);
  }
}
process.exit(0);
