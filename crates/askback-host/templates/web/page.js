// The page works without this. It shows changes as they come, and keeps what is being written.
"use strict";

const html = window.trustedTypes
    ? trustedTypes.createPolicy("askback", { createHTML: (text) => text })
    : { createHTML: (text) => text };
const settle = 600;
const pause = 150;
let waiting;
// The names of the fields that were changed and not posted yet.
const edited = new Set();
// The names of the fields of each post without an answer.
const posts = new Set();
// The names of the fields that were changed in this window, until the question has another step.
const own = new Set();

const token = (region) => region.querySelector("form")?.dataset.question;

// Posts what was changed, without pressing a button. Other fields may have changed elsewhere. Asks for suggestions for a
// field that has them.
function keep(form, field, options = {}) {
    clearTimeout(waiting);
    const data = new FormData(form);
    // A secret leaves the page when it is submitted, and not while it is typed.
    for (const secret of form.querySelectorAll("input[type=password]")) data.delete(secret.name);
    const body = new URLSearchParams({ token: data.get("token"), act: "draft" });
    for (const [name, value] of data) {
        if (edited.has(name.replace(/^k/, "f"))) body.append(name, value);
    }
    if (field?.list) body.set("suggest", field.name.slice(1));
    const post = [...edited];
    edited.clear();
    posts.add(post);
    fetch(form.action, { method: "POST", body, ...options }).catch(() => {}).finally(() => posts.delete(post));
}

document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (form?.dataset.question) {
        edited.add(event.target.name);
        own.add(event.target.name);
        clearTimeout(waiting);
        waiting = setTimeout(() => keep(form, event.target), pause);
    }
});

// The tab may be closed before the pause is over.
function leave() {
    const form = document.querySelector("#question form");
    if (form && edited.size) keep(form, null, { keepalive: true });
}

addEventListener("pagehide", leave);
document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); });

document.addEventListener("focusin", (event) => {
    const { form, list } = event.target;
    if (list && form?.dataset.question) keep(form, event.target);
});

document.addEventListener("submit", (event) => {
    clearTimeout(waiting);
    edited.clear();
    // The second press of a double click is meant for nothing.
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
});

// Whether a change elsewhere leaves a field as it is: the person uses this window and has written there, or the text
// was not posted yet. A window that the person left shows what was written last.
function stays({ name, type }) {
    const isUnsaved = edited.has(name) || [...posts].some((post) => post.includes(name));
    return type === "password" || isUnsaved || own.has(name) && document.hasFocus();
}

function copy(from, to) {
    if (to.matches("[type=checkbox], [type=radio]")) to.checked = from.checked;
    else if (to.value !== from.value) to.value = from.value;
}

// Takes over what was changed elsewhere.
function sync(fresh) {
    for (const now of fresh.querySelectorAll("input[id], textarea[id]")) {
        const known = document.getElementById(now.id);
        if (known && !stays(known)) copy(now, known);
    }
}

function put(region, patch) {
    const focused = region.contains(document.activeElement) ? document.activeElement : null;
    const isWriting = focused?.matches("input, textarea, select");
    const isQuestion = region.id === "question";
    const fresh = document.createElement("div");
    fresh.innerHTML = html.createHTML(patch.html);
    const isSame = token(region) === token(fresh);
    if (isQuestion && isWriting && isSame) {
        sync(fresh);
        for (const issue of fresh.querySelectorAll("[data-issue]")) {
            const known = document.getElementById(issue.id);
            if (known) known.textContent = issue.textContent;
        }
        for (const list of fresh.querySelectorAll("datalist")) {
            document.getElementById(list.id)?.replaceChildren(...list.childNodes);
        }
        return;
    }
    const isNew = isQuestion && !isSame;
    if (isNew) own.clear();
    // What the user opened, closed or wrote stays.
    for (const known of region.querySelectorAll("details[id]")) {
        const now = fresh.querySelector(`#${known.id}`);
        if (now) now.open = known.open;
    }
    for (const known of region.querySelectorAll("input[id], textarea[id], select[id]")) {
        const now = fresh.querySelector(`#${known.id}`);
        if (now && (!isQuestion || isSame && stays(known))) copy(known, now);
    }
    const caret = isWriting && !isQuestion ? focused.selectionStart : null;
    region.replaceChildren(...fresh.childNodes);
    const again = focused?.id ? document.getElementById(focused.id) : null;
    // After a change of a list, another button may have the id.
    const isOther = focused?.matches("button") && again?.value !== focused.value;
    if (!isOther) again?.focus({ preventScroll: true });
    if (again && typeof caret === "number") again.setSelectionRange(caret, caret);
    if (isNew) rest(region);
}

// A press in the first moment may be meant for what stood there before. The server rejects it too.
function rest(region) {
    const buttons = region.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    setTimeout(() => buttons.forEach((button) => { button.disabled = false; }), settle);
}

// The page may be loaded with a question that is new.
const loaded = document.querySelector("#question form[data-news]");
if (loaded) rest(loaded);

const live = new EventSource(document.body.dataset.live);
live.addEventListener("patch", (event) => {
    const patch = JSON.parse(event.data);
    document.title = patch.title;
    const region = document.getElementById(patch.region);
    if (!region || region.dataset.version === String(patch.version)) return;
    region.dataset.version = patch.version;
    put(region, patch);
});
live.addEventListener("open", () => { document.getElementById("gone").textContent = ""; });
live.addEventListener("error", () => {
    document.getElementById("gone").textContent = "askback does not answer: it has ended, or is stopped.";
});
