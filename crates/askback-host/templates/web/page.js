// The page works without this. It shows changes as they come, and keeps what is being written.
"use strict";

const html = window.trustedTypes
    ? trustedTypes.createPolicy("askback", { createHTML: (text) => text })
    : { createHTML: (text) => text };
const settle = 600;
const pause = 150;
let waiting;

const token = (region) => region.querySelector("form")?.dataset.question;

// Posts what is written so far, without pressing a button. Asks for suggestions for a field that has them.
function keep(form, field) {
    clearTimeout(waiting);
    const body = new URLSearchParams(new FormData(form));
    // A secret leaves the page when it is submitted, and not while it is typed.
    for (const secret of form.querySelectorAll("input[type=password]")) body.delete(secret.name);
    body.set("act", "draft");
    if (field?.list) body.set("suggest", field.name.slice(1));
    return fetch(form.action, { method: "POST", body }).catch(() => {});
}

document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (form?.dataset.question) {
        clearTimeout(waiting);
        waiting = setTimeout(() => keep(form, event.target), pause);
    }
});

document.addEventListener("focusin", (event) => {
    const { form, list } = event.target;
    if (list && form?.dataset.question) keep(form, event.target);
});

document.addEventListener("submit", (event) => {
    clearTimeout(waiting);
    // The second press of a double click is meant for nothing.
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
});

function put(region, patch) {
    const focused = region.contains(document.activeElement) ? document.activeElement : null;
    const isWriting = focused?.matches("input, textarea, select");
    const isQuestion = region.id === "question";
    const fresh = document.createElement("div");
    fresh.innerHTML = html.createHTML(patch.html);
    if (isQuestion && isWriting && token(region) === token(fresh)) {
        for (const issue of fresh.querySelectorAll("[data-issue]")) {
            const known = document.getElementById(issue.id);
            if (known) known.textContent = issue.textContent;
        }
        for (const list of fresh.querySelectorAll("datalist")) {
            document.getElementById(list.id)?.replaceChildren(...list.childNodes);
        }
        return;
    }
    const isNew = isQuestion && token(region) !== token(fresh);
    // What the user opened, closed or wrote outside of questions stays.
    for (const known of region.querySelectorAll("details[id]")) {
        const now = fresh.querySelector(`#${known.id}`);
        if (now) now.open = known.open;
    }
    const fields = isQuestion ? [] : region.querySelectorAll("input[id], select[id]");
    for (const known of fields) {
        const now = fresh.querySelector(`#${known.id}`);
        if (now) now.value = known.value;
    }
    const caret = isWriting && !isQuestion ? focused.selectionStart : null;
    region.replaceChildren(...fresh.childNodes);
    const again = focused?.id ? document.getElementById(focused.id) : null;
    again?.focus({ preventScroll: true });
    if (again && typeof caret === "number") again.setSelectionRange(caret, caret);
    if (!isNew) return;
    const buttons = region.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    setTimeout(() => buttons.forEach((button) => { button.disabled = false; }), settle);
}

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
