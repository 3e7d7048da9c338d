// A browser that is told what to do: Chromium without a window, driven by playwright-core.
//
// It reads one request a line, `{id, act, person, …}`, and writes one answer a line, `{id, done}` or
// `{id, failed}`, in whatever order they are done. Its first line is `{ready}` or `{failed}`. It lives
// as long as its standard input. Each person has a context of their own, so that no two share cookies.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

/** The longest wait for anything on a page, in milliseconds. */
const PATIENCE = 45_000;

/** The most elements that a walk through a page stops at. */
const STOPS = 200;

/** How often a page may leave for another before it is waited for no longer. */
const MOST_LEAVES = 20;

/** The rules of axe-core: WCAG 2.2 A and AA, and what its authors advise beyond. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Nothing leaves the machine. A request that would is seen, and fails. */
const LOOPBACK = 'MAP * ~NOTFOUND, EXCLUDE 127.*, EXCLUDE localhost, EXCLUDE *.localhost';

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const DESK = { viewport: { width: 1280, height: 800 } };
/** The same window at 200 %. */
const ZOOMED = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 };

const [executablePath] = process.argv.slice(2);
const persons = new Map();

/** A page, and all that was seen on it. */
class Person {
  requests = [];
  violations = [];
  errors = [];
  barred = [];
  contents = [];
  open = new Set();

  static async enter(browser, { phone, zoomed, dark, scripts }) {
    const context = await browser.newContext({
      ...(phone ? PHONE : zoomed ? ZOOMED : DESK),
      colorScheme: dark ? 'dark' : 'light',
      javaScriptEnabled: scripts,
    });
    context.setDefaultTimeout(PATIENCE);
    return await Person.look(context, scripts);
  }

  /** Opens a page in a context, which others may look at as well. */
  static async look(context, scripts) {
    const person = new Person();
    person.scripts = scripts;
    person.context = context;
    person.page = await context.newPage();
    person.devtools = await context.newCDPSession(person.page);
    await person.listen();
    return person;
  }

  async listen() {
    const { page, devtools } = this;
    page.on('request', (request) => {
      const seen = {
        method: request.method(),
        url: request.url(),
        kind: request.resourceType(),
        headers: Object.entries(request.headers()),
        body: request.postData() ?? '',
        answered: [],
        content: null,
      };
      this.requests.push(seen);
      this.open.add(request);
      const isPage = request.isNavigationRequest() && request.frame() === page.mainFrame();
      request.seen = { seen, isPage };
    });
    const ended = (request) => this.open.delete(request);
    page.on('requestfinished', ended);
    page.on('requestfailed', ended);
    page.on('response', (response) => {
      const { seen, isPage } = response.request().seen ?? {};
      if (seen) {
        seen.status = response.status();
        this.contents.push(this.keep(seen, response));
      }
      if (isPage) this.answer = response;
    });
    devtools.on('Audits.issueAdded', ({ issue }) => {
      const found = issue.details.contentSecurityPolicyIssueDetails;
      if (!found) return;
      this.violations.push({ directive: found.violatedDirective, blocked: found.blockedURL ?? 'inline' });
    });
    await devtools.send('Audits.enable');
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
    page.on('pageerror', (error) => this.errors.push(String(error)));
    devtools.on('Fetch.requestPaused', async ({ requestId, request }) => {
      this.barred.push(request.url);
      this.stopped?.();
      await devtools.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' });
    });
  }

  /** Keeps what an answer holds. A redirection has no content, and nor has a page that was left before it was read. */
  async keep(seen, response) {
    const headers = await response.headersArray().catch(() => []);
    seen.answered = headers.map(({ name, value }) => [name, value]);
    seen.content = await response.text().catch(() => null);
  }

  /** Waits until the browser has told all that it knows of the page: of the one it leads to, where it leaves by itself. */
  async settle() {
    for (let left = MOST_LEAVES; ; left -= 1) {
      await this.page.waitForLoadState();
      try {
        await this.devtools.send('Runtime.evaluate', { expression: '0' });
        return;
      } catch (error) {
        const isLeaving = !this.page.isClosed() && /navigated|context/i.test(error.message);
        if (!isLeaving || left === 0) throw error;
      }
    }
  }

  /** The object under an expression, evaluated where the page's own scripts and policy do not reach. */
  async evaluate(expression, context) {
    const { result, exceptionDetails } = await this.devtools.send('Runtime.evaluate', {
      expression,
      ...(context && { contextId: context, awaitPromise: true, returnByValue: true }),
    });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result;
  }

  /** The element that has the focus, as the accessibility tree has it; nothing if that is the page. */
  async focused() {
    const { objectId } = await this.evaluate('document.activeElement ?? document.body');
    const { node } = await this.devtools.send('DOM.describeNode', { objectId });
    if (['BODY', 'HTML'].includes(node.nodeName)) return undefined;
    const tree = { objectId, fetchRelatives: false };
    const { nodes: [found] } = await this.devtools.send('Accessibility.getPartialAXTree', tree);
    const { result } = await this.devtools.send('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: `function () {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(this);
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
      }`,
      returnByValue: true,
    });
    return {
      node: node.backendNodeId,
      role: found.role?.value ?? '',
      name: found.name?.value ?? '',
      visible: result.value,
    };
  }
}

/** A field by its label, or by what stands in it while it is empty. */
function field(page, name) {
  const exact = { exact: true };
  return page.getByLabel(name, exact).or(page.getByPlaceholder(name, exact));
}

/** The acts, by name. */
const acts = {
  async enter(browser, { person, ...look }) {
    persons.set(person, await Person.enter(browser, look));
  },

  async goto({ page }, { url }) {
    await page.goto(url);
  },

  async tab(browser, { person, of }) {
    const { context, scripts } = persons.get(of);
    persons.set(person, await Person.look(context, scripts));
  },

  async bar({ devtools }, { url }) {
    await devtools.send('Fetch.enable', { patterns: [{ urlPattern: `${url}*` }] });
  },

  async unbar({ devtools }) {
    await devtools.send('Fetch.disable');
  },

  async barred(person) {
    let timer;
    const stopped = new Promise((done, fail) => {
      person.stopped = done;
      timer = setTimeout(() => fail(new Error('no page that is barred was gone to')), PATIENCE);
    });
    if (person.barred.length === 0) await stopped;
    clearTimeout(timer);
    return person.barred.pop();
  },

  async reload({ page }) {
    await page.reload();
  },

  async back({ page }) {
    await page.goBack();
  },

  async fill({ page }, { name, value }) {
    await field(page, name).fill(value);
  },

  async value({ page }, { name }) {
    return await field(page, name).inputValue();
  },

  async click(person, { role, name }) {
    await person.page.getByRole(role, { name, exact: true }).click();
    await person.settle();
  },

  async press(person, { key }) {
    await person.page.keyboard.press(key);
    await person.settle();
  },

  async type({ page }, { value }) {
    await page.keyboard.type(value);
  },

  async usable({ page }, { role, name }) {
    // Before its script has run, a page cannot say that a button is to rest.
    await page.waitForLoadState("load");
    await page.getByRole(role, { name, exact: true, disabled: false }).waitFor();
  },

  async focused(person) {
    return (await person.focused()) ?? null;
  },

  async overflow(person) {
    const width = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    return (await person.evaluate(width)).value;
  },

  async sees({ page }, { text }) {
    await page.getByText(text).first().waitFor();
  },

  async arrives({ page }, { url }) {
    await page.waitForURL((at) => at.href.startsWith(url));
  },

  async text({ page }) {
    return await page.locator('body').innerText();
  },

  async source({ page }) {
    return await page.content();
  },

  async title({ page }) {
    return await page.title();
  },

  async url({ page }) {
    return page.url();
  },

  async cookies({ context }) {
    return await context.cookies();
  },

  async answer({ answer }) {
    if (!answer) throw new Error('no page was opened yet');
    const headers = (await answer.headersArray()).map(({ name, value }) => [name, value]);
    return { url: answer.url(), status: answer.status(), headers };
  },

  async requests(person) {
    await person.settle();
    await Promise.all(person.contents);
    return person.requests;
  },

  async history({ devtools }) {
    const { entries } = await devtools.send('Page.getNavigationHistory');
    return entries.map(({ url }) => url);
  },

  async violations(person) {
    await person.settle();
    return person.violations;
  },

  async errors(person) {
    await person.settle();
    return person.errors;
  },

  async screenshot({ page }, { file }) {
    await page.screenshot({ path: file, fullPage: true });
  },

  async faults(person) {
    if (!person.scripts) throw new Error('axe-core needs a person whose browser runs scripts');
    const { frameTree } = await person.devtools.send('Page.getFrameTree');
    const world = { frameId: frameTree.frame.id, worldName: 'axe' };
    const { executionContextId } = await person.devtools.send('Page.createIsolatedWorld', world);
    await person.evaluate(`${AXE}; 0`, executionContextId);
    const run = `axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`;
    const { value } = await person.evaluate(`${run}.then(({ violations }) => violations.map((found) => ({
      rule: found.id,
      help: found.help,
      elements: found.nodes.map((node) => node.html),
    })))`, executionContextId);
    return value;
  },

  async walk(person) {
    await person.evaluate(`{
      document.activeElement?.blur();
      getSelection().collapse(document.body, 0);
    }`);
    const stops = [];
    const seen = new Set();
    while (stops.length < STOPS) {
      await person.page.keyboard.press('Tab');
      const stop = await person.focused();
      if (!stop || seen.has(stop.node)) return stops;
      seen.add(stop.node);
      stops.push(stop);
    }
    throw new Error(`the keyboard does not come back after ${STOPS} elements`);
  },

  async leave({ context, page }, { person }) {
    persons.delete(person);
    await page.close();
    if (context.pages().length === 0) await context.close();
  },
};

/** What a person who was told to do something that they cannot do has before them instead. */
async function shown(person) {
  const { page } = person;
  const tree = await page.locator('body').ariaSnapshot({ timeout: 1000 }).catch(() => '');
  return `at ${page.url()}, which shows:\n${tree}`;
}

async function act(browser, request) {
  const { id, act: name, person, ...rest } = request;
  const who = ['enter', 'tab'].includes(name) ? browser : persons.get(person);
  try {
    if (!who) throw new Error(`there is nobody called ${person}`);
    const done = await acts[name](who, { person, ...rest });
    return { id, done: done ?? null };
  } catch (error) {
    // The rest are steps of the driver.
    const [reason] = String(error?.message ?? error).split('\n');
    const where = who instanceof Person ? `, ${await shown(who)}` : '';
    return { id, failed: `${reason.replace(/\.$/, '')}${where}` };
  }
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

try {
  const browser = await chromium.launch({
    executablePath,
    // Its sandbox needs rights that root and many containers have not. All pages are our own.
    chromiumSandbox: false,
    args: [`--host-resolver-rules=${LOOPBACK}`],
  });
  say({ ready: browser.version() });
  const lines = createInterface({ input: process.stdin });
  lines.on('line', async (line) => say(await act(browser, JSON.parse(line))));
  lines.on('close', async () => {
    await browser.close();
    process.exit();
  });
} catch (error) {
  say({ failed: String(error?.message ?? error) });
  process.exit(1);
}
