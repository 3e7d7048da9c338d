// The page works without this. It shows changes as they come, and keeps what is being written.
"use strict";

const html = window.trustedTypes
    ? trustedTypes.createPolicy("askback", { createHTML: (text) => text })
    : { createHTML: (text) => text };
const settle = 600;
const pause = 150;
let waiting;

const token = (region) => region.querySelector("form")?.dataset.question;

// Posts what is written so far, without pressing a button.
function keep(form) {
    clearTimeout(waiting);
    const body = new URLSearchParams(new FormData(form));
    // A secret leaves the page when it is submitted, and not while it is typed.
    for (const secret of form.querySelectorAll("input[type=password]")) body.delete(secret.name);
    body.set("act", "draft");
    return fetch(form.action, { method: "POST", body }).catch(() => {});
}

document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (form?.dataset.question) {
        clearTimeout(waiting);
        waiting = setTimeout(() => keep(form), pause);
    }
});

document.addEventListener("submit", (event) => {
    clearTimeout(waiting);
    // The second press of a double click is meant for nothing.
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
});

function put(region, patch) {
    const focused = document.activeElement;
    const isWriting = region.contains(focused) && focused.matches("input, textarea");
    const fresh = document.createElement("div");
    fresh.innerHTML = html.createHTML(patch.html);
    if (isWriting && token(region) === token(fresh)) {
        for (const issue of fresh.querySelectorAll("[data-issue]")) {
            const known = document.getElementById(issue.id);
            if (known) known.textContent = issue.textContent;
        }
        return;
    }
    const isNew = region.id === "question" && token(region) !== token(fresh);
    region.replaceChildren(...fresh.childNodes);
    if (isWriting) document.getElementById(focused.id)?.focus();
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
