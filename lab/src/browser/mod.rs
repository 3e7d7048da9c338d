//! A real browser: headless Chromium, driven by `lab/connect/browser.mjs`. Its persons share nothing, and every
//! request, refusal and error of their pages is recorded.

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

/// How many times [`Person::tab_to`] presses Tab.
const MOST_STOPS: usize = 100;

/// A browser, which ends on drop together with its persons.
pub struct Browser {
    wire: Arc<Wire>,
    persons: Arc<AtomicU64>,
}

/// A user with a page in the browser and their own cookies.
///
/// Each action waits for what it needs, and otherwise fails with the content of the page.
pub struct Person {
    name: String,
    /// Unique, even if names are not.
    key: String,
    persons: Arc<AtomicU64>,
    wire: Arc<Wire>,
}

/// The device and settings of a person. The default is a wide screen with light colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Means {
    /// A phone's screen with touch, 360 pixels wide.
    pub phone: bool,
    /// The wide screen at 200 %.
    pub zoomed: bool,
    /// Prefers dark colours.
    pub dark: bool,
    /// Scripts are disabled.
    pub scriptless: bool,
}

/// The response that led to the page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PageAnswer {
    /// The URL after redirects.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The headers.
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
    /// The host or, with a leading dot, the domain that it is sent to.
    pub domain: String,
    /// The path that it is sent to.
    pub path: String,
    /// Whether scripts cannot read it.
    pub http_only: bool,
    /// Whether it is only sent over TLS.
    pub secure: bool,
    /// `Strict`, `Lax` or `None`.
    pub same_site: String,
}

/// A request that a page made, or that led to it. Each redirect is a separate request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PageRequest {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// For example `document`, `stylesheet`, `image` or `script`.
    pub kind: String,
    /// The headers, without cookies.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status code of the response, once it has arrived.
    pub status: Option<u16>,
    /// The headers of the response, with cookies.
    pub answered: Vec<(String, String)>,
    /// The response's text, if it has one. Redirects and pages left at once have none.
    pub content: Option<String>,
}

/// A violation of a page's Content Security Policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Violation {
    /// The directive.
    pub directive: String,
    /// The URL, or `inline`.
    pub blocked: String,
}

/// An accessibility problem that axe-core found on a page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The rule, such as `color-contrast`.
    pub rule: String,
    /// The description of the rule.
    pub help: String,
    /// The elements that violate the rule.
    pub elements: Vec<String>,
}

/// An element that the keyboard reaches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Stop {
    /// The role, such as `button`.
    pub role: String,
    /// The accessible name.
    pub name: String,
    /// Whether an outline or a shadow shows the focus.
    pub visible: bool,
}

impl Browser {
    /// Starts a browser; `None` if there is no browser, or no npm for its driver, with a note on stderr. With
    /// `ASKBACK_BROWSER=required` in the environment, that is an error instead.
    ///
    /// # Errors
    ///
    /// If the browser does not start.
    pub async fn start() -> Result<Option<Self>> {
        let Some(command) = install::command()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            wire: Arc::new(Wire::start(command).await?),
            persons: Arc::default(),
        }))
    }

    /// Adds a person with an empty browser profile.
    pub async fn person(&self, name: &str) -> Result<Person> {
        self.person_with(name, Means::default()).await
    }

    /// Adds a person with this device and settings.
    pub async fn person_with(&self, name: &str, means: Means) -> Result<Person> {
        let person = Person::new(name, &self.persons, &self.wire);
        let Means {
            phone,
            zoomed,
            dark,
            scriptless,
        } = means;
        let means = json!({"phone": phone, "zoomed": zoomed, "dark": dark, "scripts": !scriptless});
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

    /// Opens another tab with the same cookies.
    pub async fn tab(&self) -> Result<Self> {
        let tab = Self::new(&self.name, &self.persons, &self.wire);
        tab.acts("tab", json!({"of": self.key})).await?;
        Ok(tab)
    }

    /// Blocks all pages whose URL begins with `url`: the tab stays on its page, even if it is redirected to a blocked one.
    pub async fn bar(&self, url: &str) -> Result<()> {
        self.acts("bar", json!({"url": url})).await
    }

    /// Waits until a page was blocked, and returns its URL.
    pub async fn barred(&self) -> Result<String> {
        self.tells("barred").await
    }

    /// Allows all pages again.
    pub async fn unbar(&self) -> Result<()> {
        self.acts("unbar", json!({})).await
    }

    /// Opens a page, and waits until it is loaded. An error status is not an error.
    pub async fn goto(&self, url: &str) -> Result<()> {
        self.acts("goto", json!({"url": url})).await
    }

    /// Reloads the page, and repeats the request that led to it.
    pub async fn reload(&self) -> Result<()> {
        self.acts("reload", json!({})).await
    }

    /// Goes back to the previous page.
    pub async fn back(&self) -> Result<()> {
        self.acts("back", json!({})).await
    }

    /// Fills in a field by its label or placeholder.
    ///
    /// # Errors
    ///
    /// If there is no such field, or more than one.
    pub async fn fill(&self, field: &str, value: &str) -> Result<()> {
        self.acts("fill", json!({"name": field, "value": value}))
            .await
    }

    /// Returns the text in a field.
    ///
    /// # Errors
    ///
    /// If there is no such field, or more than one.
    pub async fn value(&self, field: &str) -> Result<String> {
        Ok(serde_json::from_value(
            self.send("value", json!({"name": field})).await?,
        )?)
    }

    /// Clicks on an element by role and name: `click("button", "Allow")`. Waits for the page that this leads to.
    ///
    /// # Errors
    ///
    /// If there is no such element that can be clicked, or more than one.
    pub async fn click(&self, role: &str, name: &str) -> Result<()> {
        self.acts("click", json!({"role": role, "name": name}))
            .await
    }

    /// Presses a key: `Tab`, `Enter`, `Shift+Tab`. Does not wait for a page that this leads to; see [`Self::arrives`].
    pub async fn press(&self, key: &str) -> Result<()> {
        self.acts("press", json!({"key": key})).await
    }

    /// Types into the focused element.
    pub async fn types(&self, text: &str) -> Result<()> {
        self.acts("type", json!({"value": text})).await
    }

    /// Waits until an element with this role and name is enabled.
    pub async fn usable(&self, role: &str, name: &str) -> Result<()> {
        self.acts("usable", json!({"role": role, "name": name}))
            .await
    }

    /// Presses Tab until an element with this role and name has the focus, ignoring case: styles may change the case.
    ///
    /// # Errors
    ///
    /// If the focus does not reach it.
    pub async fn tab_to(&self, role: &str, name: &str) -> Result<()> {
        let mut stops = Vec::new();
        for _ in 0..MOST_STOPS {
            self.press("Tab").await?;
            let focused: Option<Stop> = self.tells("focused").await?;
            let Some(stop) = focused else { continue };
            if stop.role == role && stop.name.eq_ignore_ascii_case(name) {
                return Ok(());
            }
            stops.push(format!("{} {}", stop.role, stop.name));
        }
        let name = format!("{role} {name:?}");
        Err(format!(
            "{} does not reach the {name} with Tab: {stops:?}",
            self.name
        )
        .into())
    }

    /// Returns by how many pixels the page is wider than the window.
    pub async fn overflow(&self) -> Result<u32> {
        self.tells("overflow").await
    }

    /// Waits until a text is visible.
    pub async fn sees(&self, text: &str) -> Result<()> {
        self.acts("sees", json!({"text": text})).await
    }

    /// Waits until the URL of the page begins with `url`.
    pub async fn arrives(&self, url: &str) -> Result<()> {
        self.acts("arrives", json!({"url": url})).await
    }

    /// Returns the visible text of the page.
    pub async fn text(&self) -> Result<String> {
        self.tells("text").await
    }

    /// Returns the current HTML of the page.
    pub async fn source(&self) -> Result<String> {
        self.tells("source").await
    }

    /// Returns the title of the page.
    pub async fn title(&self) -> Result<String> {
        self.tells("title").await
    }

    /// Returns the URL of the page, with its fragment.
    pub async fn url(&self) -> Result<String> {
        self.tells("url").await
    }

    /// Returns all cookies of the person, for all hosts.
    pub async fn cookies(&self) -> Result<Vec<Cookie>> {
        self.tells("cookies").await
    }

    /// Returns the status and headers of the page.
    pub async fn answer(&self) -> Result<PageAnswer> {
        self.tells("answer").await
    }

    /// Returns all requests so far, oldest first. Requests to other machines are blocked and have no response.
    pub async fn requests(&self) -> Result<Vec<PageRequest>> {
        self.tells("requests").await
    }

    /// Returns the URLs of the history up to this page, oldest first.
    pub async fn history(&self) -> Result<Vec<String>> {
        self.tells("history").await
    }

    /// Returns all violations of a Content Security Policy so far.
    pub async fn violations(&self) -> Result<Vec<Violation>> {
        self.tells("violations").await
    }

    /// Returns all errors in the console so far, including scripts' errors and pages with an error status.
    pub async fn errors(&self) -> Result<Vec<String>> {
        self.tells("errors").await
    }

    /// Returns the problems that axe-core finds on the page. It runs outside the page's own policy.
    ///
    /// # Errors
    ///
    /// If scripts are disabled.
    pub async fn faults(&self) -> Result<Vec<Fault>> {
        self.tells("faults").await
    }

    /// Returns every element that the Tab key reaches, from the top of the page.
    ///
    /// # Errors
    ///
    /// If the focus never returns to the top.
    pub async fn walk(&self) -> Result<Vec<Stop>> {
        self.tells("walk").await
    }

    /// Saves a screenshot of the whole page as a PNG.
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
