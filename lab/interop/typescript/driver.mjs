// What both clients of TypeScript share: they are told as JSON what to do, and print a line of JSON
// for each scenario.

/**
 * Runs `{connections: [{command, url, sse, mute, scenarios}]}` from the first argument. A mute client declares that
 * it cannot be asked.
 *
 * `open` gives `{client, revision}` for a connection; the client answers with what `answers` says
 * at that moment.
 */
export async function drive(open) {
    const job = JSON.parse(process.argv[2]);
    for (const connection of job.connections) {
        let opened;
        const desk = new Desk();
        for (const scenario of connection.scenarios) {
            try {
                opened ??= await open(connection, desk);
                desk.scenario = scenario;
                const seen = await run(opened, scenario, desk);
                say({ scenario: scenario.name, revision: opened.revision(), seen });
            } catch (error) {
                say({ scenario: scenario.name, error: String(error?.message ?? error) });
            }
        }
        await opened?.client.close();
    }
    process.exit(0);
}

/** Who answers: by the scenario that is being run. */
class Desk {
    scenario = {};
    asked = [];

    form(params) {
        this.asked.push(Object.keys(params.requestedSchema?.properties ?? {}));
        if (this.scenario.die) process.kill(process.pid, 'SIGKILL');
        const answers = this.scenario.answers ?? [];
        const answer = answers.find((answer) => params.message.includes(answer.message));
        if (!answer) throw new Error(`nobody answers: ${params.message}`);
        const { action, content } = answer;
        return content === undefined ? { action } : { action, content };
    }

    sample(params) {
        if (this.scenario.die) process.kill(process.pid, 'SIGKILL');
        this.asked.push([params.messages[0].role]);
        const content = { type: 'text', text: this.scenario.sample };
        return { role: 'assistant', content, model: 'interop', stopReason: 'endTurn' };
    }

    roots() {
        return { roots: this.scenario.roots.map((uri) => ({ uri, name: 'interop' })) };
    }
}

async function run(opened, scenario, desk) {
    const { client, pages, complete } = opened;
    desk.asked = [];
    switch (scenario.do) {
        case 'list':
            return {
                tools: (await pages('listTools', 'tools')).map((it) => it.name),
                prompts: (await pages('listPrompts', 'prompts')).map((it) => it.name),
                resources: (await pages('listResources', 'resources')).map((it) => it.uri),
                templates: (await pages('listResourceTemplates', 'resourceTemplates')).map(
                    (it) => it.uriTemplate,
                ),
            };
        case 'complete': {
            const { prompt, argument, value } = scenario;
            const ref = { type: 'ref/prompt', name: prompt };
            return (await client.complete({ ref, argument: { name: argument, value } })).completion
                .values;
        }
        case 'prompt': {
            const { prompt, arguments: given } = scenario;
            const { messages } = await client.getPrompt({ name: prompt, arguments: given });
            return messages.map((message) => message.content.text);
        }
        case 'call':
            return outcome(await call(opened, scenario), desk);
        case 'progress': {
            let heard;
            // What is read together with the response is lost: `_onresponse` forgets who listens at
            // once, `_onnotification` tells them a moment later. On a busy machine that happens.
            for (let tries = 0; tries < 3; tries += 1) {
                heard = [];
                await call(opened, scenario, { onprogress: (it) => heard.push(it.progress) });
                if (heard.length === 3) break;
            }
            return heard;
        }
        case 'cancel': {
            const stop = new AbortController();
            const onprogress = () => stop.abort('enough');
            try {
                await call(opened, scenario, { onprogress, signal: stop.signal });
                return 'it ended by itself';
            } catch {
                return 'cancelled';
            }
        }
        default:
            throw new Error(`unknown: ${scenario.do}`);
    }
}

function call({ callTool }, { tool, arguments: given }, options) {
    return callTool({ name: tool, arguments: given ?? {} }, options);
}

function outcome(result, desk) {
    return {
        asked: desk.asked,
        failed: result.isError ?? false,
        text: result.content.map((block) => block.text ?? '').join('\n'),
        structured: result.structuredContent ?? null,
    };
}

function say(line) {
    process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Follows the cursors of a list by hand. */
export async function follow(client, method, field) {
    const items = [];
    let cursor;
    do {
        const page = await client[method](cursor === undefined ? undefined : { cursor });
        items.push(...page[field]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
}
