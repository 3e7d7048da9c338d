//! A real browser: Chromium without a window, driven by `lab/connect/browser.mjs`. Persons in it share
//! nothing, and all that their pages request, are refused or complain of is seen.

mod install;
mod wire;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use self::wire::Wire;
use crate::install::Result;

/// A browser, which ends with this and its persons.
pub struct Browser {
    wire: Arc<Wire>,
    persons: Arc<AtomicU64>,
}

/// Somebody with a page of the browser, and cookies of their own.
///
/// Each act waits for what it needs, and fails with what is on the page instead if that does not come.
pub struct Person {
    name: String,
    /// Told from others of the same name by this.
    key: String,
    persons: Arc<AtomicU64>,
    wire: Arc<Wire>,
}

/// The means by which a person looks at pages. The default is a wide screen in light colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Means {
    /// The screen of a phone, and a finger.
    pub phone: bool,
    /// Dark colours are preferred.
    pub dark: bool,
    /// Pages may not run scripts.
    pub scriptless: bool,
}

/// The answer that led to the page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PageAnswer {
    /// Where it came from, after redirections.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: Vec<(String, String)>,
}

/// A cookie.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
    /// The host, or domain after a dot, that it is sent to.
    pub domain: String,
    /// The path below which it is sent.
    pub path: String,
    /// Whether scripts cannot read it.
    pub http_only: bool,
    /// Whether it is sent by TLS alone.
    pub secure: bool,
    /// `Strict`, `Lax` or `None`.
    pub same_site: String,
}

/// A request that a page made, or that led to it. Each redirection is one of its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PageRequest {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Such as `document`, `stylesheet`, `image` or `script`.
    pub kind: String,
    /// The header fields, without cookies.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status code of the answer, once it is there.
    pub status: Option<u16>,
    /// The header fields of the answer, with cookies.
    pub answered: Vec<(String, String)>,
    /// The content of the answer, where it is a text; a redirection has none, nor a page that was left at once.
    pub content: Option<String>,
}

/// A thing that a page wanted and its Content Security Policy did not let it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Violation {
    /// The directive.
    pub directive: String,
    /// The URL, or `inline`.
    pub blocked: String,
}

/// A thing that makes a page hard to use for some, as axe-core finds it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The rule, such as `color-contrast`.
    pub rule: String,
    /// The rule in words.
    pub help: String,
    /// The elements that break it.
    pub elements: Vec<String>,
}

/// An element that the keyboard reaches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Stop {
    /// The role, such as `button`.
    pub role: String,
    /// The name that is read out.
    pub name: String,
    /// Whether an outline or a shadow shows that it has the focus.
    pub visible: bool,
}

impl Browser {
    /// Starts a browser; nothing where there is none, or no npm for its driver, which is told on standard
    /// error. With `ASKBACK_BROWSER=required` in the environment that is an error.
    ///
    /// # Errors
    ///
    /// If it does not start, with the reason.
    pub async fn start() -> Result<Option<Self>> {
        let Some(command) = install::command()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            wire: Arc::new(Wire::start(command).await?),
            persons: Arc::default(),
        }))
    }

    /// Lets somebody in who has been nowhere yet.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn person(&self, name: &str) -> Result<Person> {
        self.person_with(name, Means::default()).await
    }

    /// Lets somebody in who looks at pages by these means.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn person_with(&self, name: &str, means: Means) -> Result<Person> {
        let person = Person::new(name, &self.persons, &self.wire);
        let Means {
            phone,
            dark,
            scriptless,
        } = means;
        let means = json!({"phone": phone, "dark": dark, "scripts": !scriptless});
        person.acts("enter", means).await?;
        Ok(person)
    }
}

impl Person {
    fn new(name: &str, persons: &Arc<AtomicU64>, wire: &Arc<Wire>) -> Self {
        let number = persons.fetch_add(1, Ordering::Relaxed);
        Self {
            name: name.to_owned(),
            key: format!("{name} {number}"),
            persons: Arc::clone(persons),
            wire: Arc::clone(wire),
        }
    }

    /// Opens another tab, in which the person has the same cookies.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn tab(&self) -> Result<Self> {
        let tab = Self::new(&self.name, &self.persons, &self.wire);
        tab.acts("tab", json!({"of": self.key})).await?;
        Ok(tab)
    }

    /// Keeps the tab from all pages whose URL begins so, also where others lead to them: it stays where it is.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn bar(&self, url: &str) -> Result<()> {
        self.acts("bar", json!({"url": url})).await
    }

    /// Waits until the tab was kept from a page, and gives the URL.
    ///
    /// # Errors
    ///
    /// If it goes to none that is barred.
    pub async fn barred(&self) -> Result<String> {
        self.tells("barred").await
    }

    /// Lets the tab go everywhere again.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn unbar(&self) -> Result<()> {
        self.acts("unbar", json!({})).await
    }

    /// Opens a page, and waits until it is loaded.
    ///
    /// # Errors
    ///
    /// If there is no answer; one that is an error has a page as well.
    pub async fn goto(&self, url: &str) -> Result<()> {
        self.acts("goto", json!({"url": url})).await
    }

    /// Loads the page again. What was sent to get it is sent again.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    pub async fn reload(&self) -> Result<()> {
        self.acts("reload", json!({})).await
    }

    /// Goes back to the page before.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    pub async fn back(&self) -> Result<()> {
        self.acts("back", json!({})).await
    }

    /// Fills in a field, by its label or the text that stands in it while it is empty.
    ///
    /// # Errors
    ///
    /// If there is no such field, or several.
    pub async fn fill(&self, field: &str, value: &str) -> Result<()> {
        self.acts("fill", json!({"name": field, "value": value}))
            .await
    }

    /// Clicks, by role and name: `click("button", "Allow")`. A page that this leads to is waited for.
    ///
    /// # Errors
    ///
    /// If there is no such element that can be clicked, or several.
    pub async fn click(&self, role: &str, name: &str) -> Result<()> {
        self.acts("click", json!({"role": role, "name": name}))
            .await
    }

    /// Presses a key: `Tab`, `Enter`, `Shift+Tab`. A page that this leads to may not be there yet
    /// ([`Self::arrives`]).
    ///
    /// # Errors
    ///
    /// If there is no such key.
    pub async fn press(&self, key: &str) -> Result<()> {
        self.acts("press", json!({"key": key})).await
    }

    /// Types into what has the focus.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn types(&self, text: &str) -> Result<()> {
        self.acts("type", json!({"value": text})).await
    }

    /// Waits until a text can be seen.
    ///
    /// # Errors
    ///
    /// If it does not come.
    pub async fn sees(&self, text: &str) -> Result<()> {
        self.acts("sees", json!({"text": text})).await
    }

    /// Waits until the URL of the page begins so.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub async fn arrives(&self, url: &str) -> Result<()> {
        self.acts("arrives", json!({"url": url})).await
    }

    /// The text of the page, as it can be seen.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn text(&self) -> Result<String> {
        self.tells("text").await
    }

    /// The HTML of the page, as it is now.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn source(&self) -> Result<String> {
        self.tells("source").await
    }

    /// The title of the page.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn title(&self) -> Result<String> {
        self.tells("title").await
    }

    /// The URL of the page, with its fragment.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn url(&self) -> Result<String> {
        self.tells("url").await
    }

    /// All cookies of the person, of all hosts.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn cookies(&self) -> Result<Vec<Cookie>> {
        self.tells("cookies").await
    }

    /// The status and header fields of the page.
    ///
    /// # Errors
    ///
    /// If no page was opened yet.
    pub async fn answer(&self) -> Result<PageAnswer> {
        self.tells("answer").await
    }

    /// All requests so far, oldest first. None leaves the machine: one that would has no answer.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn requests(&self) -> Result<Vec<PageRequest>> {
        self.tells("requests").await
    }

    /// The URLs of the pages that the person can go back to, and of this one, oldest first.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn history(&self) -> Result<Vec<String>> {
        self.tells("history").await
    }

    /// All violations of a Content Security Policy so far.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn violations(&self) -> Result<Vec<Violation>> {
        self.tells("violations").await
    }

    /// All errors so far that the console shows, those of scripts among them, and pages with an error as
    /// their status.
    ///
    /// # Errors
    ///
    /// If the browser does not answer.
    pub async fn errors(&self) -> Result<Vec<String>> {
        self.tells("errors").await
    }

    /// The faults that axe-core finds on the page. It runs where the page's own policy does not reach.
    ///
    /// # Errors
    ///
    /// If the person's pages may not run scripts.
    pub async fn faults(&self) -> Result<Vec<Fault>> {
        self.tells("faults").await
    }

    /// Every element that the Tab key reaches, from the top of the page.
    ///
    /// # Errors
    ///
    /// If it never comes back to the top.
    pub async fn walk(&self) -> Result<Vec<Stop>> {
        self.tells("walk").await
    }

    /// Draws the whole page into a file, as a PNG.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub async fn screenshot(&self, file: &Path) -> Result<()> {
        self.acts("screenshot", json!({"file": file})).await
    }

    async fn acts(&self, act: &str, what: Value) -> Result<()> {
        self.send(act, what).await.map(|_| ())
    }

    async fn tells<T: DeserializeOwned>(&self, what: &str) -> Result<T> {
        Ok(serde_json::from_value(self.send(what, json!({})).await?)?)
    }

    async fn send(&self, act: &str, what: Value) -> Result<Value> {
        let mut request: Map<String, Value> = serde_json::from_value(what)?;
        let told = format!(
            "{} was to {act} {}",
            self.name,
            Value::from(request.clone())
        );
        request.insert("act".to_owned(), act.into());
        request.insert("person".to_owned(), self.key.as_str().into());
        let done = self.wire.send(request).await;
        done.map_err(|error| format!("{told}: {error}").into())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.wire.forget(&self.key);
    }
}
