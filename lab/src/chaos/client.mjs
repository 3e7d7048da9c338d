// The clients of `@modelcontextprotocol/sdk` (argument 1) and `@modelcontextprotocol/client` (2), which are told as
// client.py is.
import readline from 'node:readline';

const PATIENCE = 120000;
const isFirst = process.argv[2] === '1';

const { Client, StreamableHTTPClientTransport, asked } = isFirst
    ? {
          ...(await import('@modelcontextprotocol/sdk/client/index.js')),
          ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
          asked: (await import('@modelcontextprotocol/sdk/types.js')).ElicitRequestSchema,
      }
    : { ...(await import('@modelcontextprotocol/client')), asked: 'elicitation/create' };

const say = (line) => console.log(JSON.stringify(line));

function content(schema, answers) {
    const filled = {};
    for (const [name, field] of Object.entries(schema.properties)) {
        if (name in answers) filled[name] = answers[name];
        else if ('default' in field) filled[name] = field.default;
    }
    return filled;
}

async function call({ url, token, era, do: what, name, arguments: given, answers }, mayAnswer) {
    const options = { capabilities: { elicitation: { form: {} } } };
    if (!isFirst) options.versionNegotiation = { mode: era === 'handshake' ? 'legacy' : 'auto' };
    const client = new Client({ name: 'chaos', version: '1' }, options);
    client.setRequestHandler(asked, async ({ params }) => {
        say({ token, asked: params.message });
        await mayAnswer();
        return { action: 'accept', content: content(params.requestedSchema, answers) };
    });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const timeout = { timeout: PATIENCE };
    try {
        switch (what) {
            case 'prompt':
                return (await client.getPrompt({ name }, timeout)).messages[0].content.text;
            case 'resource':
                return (await client.readResource({ uri: name }, timeout)).contents[0].text;
        }
        const params = { name, arguments: given };
        const result = await (isFirst
            ? client.callTool(params, undefined, timeout)
            : client.callTool(params, timeout));
        if (result.isError) throw new Error(result.content[0].text);
        return result.content[0].text;
    } finally {
        await client.close();
    }
}

const waiting = [];
let permits = 0;

function mayAnswer() {
    if (permits === 0) return new Promise((resolve) => waiting.push(resolve));
    permits -= 1;
}

async function run(order) {
    waiting.length = 0;
    permits = 0;
    try {
        say({ token: order.token, done: await call(order, mayAnswer) });
    } catch (error) {
        say({ token: order.token, failed: String(error) });
    }
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (text) => {
    const line = JSON.parse(text);
    if (line !== 'answer') run(line);
    else if (waiting.length) waiting.shift()();
    else permits += 1;
});
lines.on('close', () => process.exit(0));
// A broken stream is no end of this program.
process.on('unhandledRejection', (error) => console.error(error));
