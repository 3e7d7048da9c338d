//! Accounts at the airline, and the agency's own page.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use askback::{
    Revision,
    client::{Client, Protocol},
    keys::{Key, KeyRing, KeySource},
    protocol::ElicitResult,
    transport,
};
use askback_connect::vault::{LocalKeys, SqliteVault, Vault, VaultSettings};
use askback_travel::{Accounts, Bookings, Itineraries};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};

/// The revisions in which a user can be asked to open a link.
const LINKS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

async fn accounts() -> Accounts {
    let keys = LocalKeys::new(KeyRing::new(Key::new(&[7; 32])));
    let vault = Vault::open(
        Arc::new(SqliteVault::in_memory().unwrap()),
        Arc::new(keys),
        VaultSettings::default(),
    );
    let vault = vault.await.unwrap();
    Accounts::on_this_machine(vault).await.unwrap()
}

struct Customer {
    client: Client,
    links: mpsc::UnboundedReceiver<String>,
}

impl Customer {
    async fn of(accounts: &Accounts, revision: Revision) -> Self {
        let agency = askback_travel::builder(Bookings::default(), Itineraries::Nowhere);
        let keys = KeySource::Ring(KeyRing::new(Key::new(&[7; 32])));
        let agency = accounts.offered_by(agency).keys(keys).check_replay(true);
        let agency = agency.build().unwrap();
        let (near, far) = transport::memory();
        tokio::spawn(async move { agency.serve(far).await });
        let (opened, links) = mpsc::unbounded_channel();
        let last = Mutex::new(None);
        let client = Client::builder("customer", "1").protocol(Protocol::Only(revision));
        let client = match LINKS.contains(&revision) {
            false => client,
            true => client.on_elicit_url(move |question| {
                let link = question.request.url.clone();
                // In 2026-07-28 the server asks for the same link again.
                if last.lock().unwrap().replace(link.clone()).as_ref() != Some(&link) {
                    opened.send(link).unwrap();
                }
                async { Ok(ElicitResult::agree()) }
            }),
        };
        let client = client.on_elicit(|question| {
            let asked = serde_json::to_value(&question.request).unwrap().to_string();
            let answer = match asked.contains("confirm_booking") {
                true => json!({"confirm_booking": true}),
                false => json!({"name": "Ada", "email": "ada@example.com"}),
            };
            async move {
                let Value::Object(answer) = answer else {
                    unreachable!()
                };
                Ok(ElicitResult::accept(answer))
            }
        });
        let client = client.connect(near).await.unwrap();
        Self { client, links }
    }

    async fn result(&self, tool: &str, arguments: Value) -> (bool, String) {
        let result = self.client.call_tool(tool, arguments).await.unwrap();
        let text = serde_json::to_value(&result.content[0]).unwrap()["text"].take();
        (
            result.is_error == Some(true),
            text.as_str().unwrap().to_owned(),
        )
    }

    async fn says(&self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.result(tool, arguments).await;
        assert!(!is_error, "{text}");
        text
    }

    async fn link(&mut self) -> String {
        self.links.recv().await.expect("a link is asked for")
    }

    async fn tools(&self) -> Vec<String> {
        let tools = self.client.tools().await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    async fn book(&self) -> String {
        let trip = json!({"destination": "Rome", "depart": "2036-06-15"});
        let text = self.says("book_holiday", trip).await;
        let (_, reference) = text.split_once("reference is ").unwrap();
        reference.split(';').next().unwrap().to_owned()
    }
}

#[derive(Default)]
struct Browser {
    cookies: BTreeMap<(String, String), String>,
}

struct Page {
    url: String,
    status: u16,
    text: String,
}

impl Browser {
    async fn open(&mut self, url: &str) -> Page {
        self.follow(url.to_owned(), None).await
    }

    /// Sends the form of a page, with one more field.
    async fn send(&mut self, page: &Page, name: &str, value: &str) -> Page {
        let hidden = page.text.split("<input type=\"hidden\" name=\"").skip(1);
        let hidden = hidden.filter_map(|field| {
            let (name, rest) = field.split_once("\" value=\"")?;
            Some(format!("{name}={}", rest.split('"').next()?))
        });
        // The values are letters, digits, `-` and `_`.
        let form: Vec<_> = hidden.chain([format!("{name}={value}")]).collect();
        self.follow(page.action(), Some(form.join("&"))).await
    }

    async fn follow(&mut self, mut url: String, mut form: Option<String>) -> Page {
        for _ in 0..9 {
            let (page, to) = self.request(&url, form.take()).await;
            match to {
                Some(to) if to.starts_with('/') => url = format!("{}{to}", origin(&url)),
                Some(to) => url = to,
                None => return page,
            }
        }
        panic!("it leads on and on to {url}")
    }

    async fn request(&mut self, url: &str, form: Option<String>) -> (Page, Option<String>) {
        let host = origin(url).strip_prefix("http://").unwrap().to_owned();
        let path = &url[origin(url).len()..];
        let cookies = self.cookies.iter().filter(|((site, _), _)| *site == host);
        let cookies: Vec<_> = cookies
            .map(|((_, name), it)| format!("{name}={it}"))
            .collect();
        let (method, form) = match form {
            Some(form) => ("POST", form),
            None => ("GET", String::new()),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nOrigin: {}\r\n\
             Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            cookies.join("; "),
            origin(url),
            form.len()
        );
        let mut stream = TcpStream::connect(&host).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let mut to = None;
        for line in head.lines().skip(1) {
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            match name {
                "set-cookie" => {
                    let (name, value) = value.split_once('=').unwrap();
                    let value = value.split(';').next().unwrap().to_owned();
                    self.cookies.insert((host.clone(), name.to_owned()), value);
                }
                "location" => to = Some(value.to_owned()),
                "refresh" => to = value.strip_prefix("0; url=").map(str::to_owned),
                _ => {}
            }
        }
        let page = Page {
            url: url.to_owned(),
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            text: text.to_owned(),
        };
        (page, to)
    }

    async fn connect(&mut self, link: &str) -> Page {
        let asked = self.open(link).await;
        asked.says(200, "Connect your Fake Airline account?");
        let airline = self.send(&asked, "answer", "yes").await;
        airline.says(200, "Fake Airline: let the travel agency read your miles?");
        self.send(&airline, "answer", "yes").await
    }
}

impl Page {
    fn action(&self) -> String {
        let (_, main) = self.text.split_once("<main>").unwrap();
        let (_, form) = main.split_once("<form ").unwrap();
        let form = form.split('>').next().unwrap();
        match form.split_once("action=\"") {
            Some((_, to)) => format!("{}{}", origin(&self.url), to.split('"').next().unwrap()),
            None => self.url.clone(),
        }
    }

    #[track_caller]
    fn says(&self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{} {}", self.url, self.text);
        assert!(self.text.contains(words), "{}", self.text);
    }
}

fn origin(url: &str) -> &str {
    let after = url.find("://").unwrap() + 3;
    let end = url[after..].find('/').map_or(url.len(), |at| after + at);
    &url[..end]
}

#[tokio::test]
async fn the_miles_are_read_once_the_airline_is_connected() {
    for revision in LINKS {
        let accounts = accounts().await;
        let mut customer = Customer::of(&accounts, revision).await;
        let call = async {
            let link = customer.links.recv().await.unwrap();
            assert!(link.starts_with(accounts.pages_url()), "{link}");
            let page = Browser::default().connect(&link).await;
            page.says(200, "Fake Airline is connected");
            page.says(200, "FA-190317");
        };
        let client = customer.client.clone();
        let (result, ()) = tokio::join!(client.call_tool("my_miles", json!({})), call);
        let text = serde_json::to_value(&result.unwrap().content[0]).unwrap()["text"].take();
        assert_eq!(text, "The account FA-190317 has 48210 miles.", "{revision}");
        // From now on the user is not asked.
        let text = customer.says("connect_airline", json!({})).await;
        assert_eq!(text, "Connected: the account FA-190317 at the airline.");
        assert!(customer.links.try_recv().is_err());
    }
}

#[tokio::test]
async fn declining_at_the_airline_counts_as_a_refusal() {
    let accounts = accounts().await;
    let mut customer = Customer::of(&accounts, Revision::V2026_07_28).await;
    let client = customer.client.clone();
    let call = tokio::spawn(async move { client.call_tool("my_miles", json!({})).await });
    let link = customer.link().await;
    let mut browser = Browser::default();
    let asked = browser.open(&link).await;
    let airline = browser.send(&asked, "answer", "yes").await;
    let back = browser.send(&airline, "answer", "no").await;
    back.says(403, "Fake Airline says that you declined.");
    // The link can be used again.
    browser.connect(&link).await.says(200, "is connected");
    assert_eq!(call.await.unwrap().unwrap().is_error, None);
}

#[tokio::test]
async fn flight_times_are_read_once_the_customer_has_entered_a_key() {
    for revision in LINKS {
        let accounts = accounts().await;
        let mut customer = Customer::of(&accounts, revision).await;
        let client = customer.client.clone();
        let call = tokio::spawn(async move { client.call_tool("flight_times", json!({})).await });
        let mut browser = Browser::default();
        let page = browser.open(&customer.link().await).await;
        let airline = accounts.airline_url();
        page.says(200, &format!("You get one at <a href=\"{airline}/key\""));
        let shown = browser.open(&format!("{airline}/key")).await;
        shown.says(200, "FA-KEY-5127");
        let wrong = browser.send(&page, "answer", "yes&secret=FA-KEY-1").await;
        wrong.says(422, "The provider does not take this key.");
        let saved = browser
            .send(&wrong, "answer", "yes&secret=FA-KEY-5127")
            .await;
        saved.says(200, "Saved");
        let text = call.await.unwrap().unwrap().text().unwrap();
        assert!(text.contains(r#""FA 12":"on time""#), "{revision}: {text}");
        // The key is stored, so the next call does not ask.
        customer.says("flight_times", json!({})).await;
        assert!(customer.links.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_deposit_is_paid_on_a_page_of_the_agency() {
    for revision in LINKS {
        let accounts = accounts().await;
        let mut customer = Customer::of(&accounts, revision).await;
        let reference = customer.book().await;
        let client = customer.client.clone();
        let booking = json!({"reference": reference});
        let arguments = booking.clone();
        let call = tokio::spawn(async move { client.call_tool("pay_deposit", arguments).await });
        let mut browser = Browser::default();
        let page = browser.open(&customer.link().await).await;
        page.says(200, &format!("Booking {reference}: "));
        page.says(200, "No money moves.");
        // A page of another site cannot send the form.
        let forged = browser
            .follow(page.action(), Some("token=x".to_owned()))
            .await;
        forged.says(403, "This page is not for you");
        browser
            .send(&page, "paid", "yes")
            .await
            .says(200, "The deposit is paid");
        browser
            .send(&page, "paid", "yes")
            .await
            .says(403, "not for you");
        let paid = call.await.unwrap().unwrap();
        let text = serde_json::to_value(&paid.content[0]).unwrap()["text"].take();
        let text = text.as_str().unwrap();
        assert!(
            text.starts_with("Paid: ") && text.ends_with(&format!("{reference}.")),
            "{text}"
        );
        let again = customer.says("pay_deposit", booking).await;
        assert_eq!(
            again,
            format!("The deposit of {reference} is paid already.")
        );
    }
}

#[tokio::test]
async fn a_client_that_opens_no_links_is_told_so() {
    for revision in Revision::ALL.into_iter().filter(|it| !LINKS.contains(it)) {
        let accounts = accounts().await;
        let customer = Customer::of(&accounts, revision).await;
        for (tool, needed) in [
            ("connect_airline", "Fake Airline account"),
            ("my_miles", "Fake Airline account"),
            ("flight_times", "Fake Airline flight times account"),
        ] {
            let (is_error, text) = customer.result(tool, json!({})).await;
            assert!(
                is_error && text.contains(&format!("it needs your {needed}")),
                "{text}"
            );
        }
        let (is_error, text) = customer
            .result("pay_deposit", json!({"reference": "TRV-0"}))
            .await;
        assert!(
            is_error && text.contains("there is no booking `TRV-0` of yours"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_agency_without_accounts_has_no_such_tools() {
    let accounts = accounts().await;
    let customer = Customer::of(&accounts, Revision::V2026_07_28).await;
    let with = customer.tools().await;
    let agency = askback_travel::server(askback_travel::Options::default()).unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { agency.serve(far).await });
    let client = Client::builder("customer", "1")
        .connect(near)
        .await
        .unwrap();
    let without = client.tools().await.unwrap();
    for tool in ["connect_airline", "my_miles", "flight_times", "pay_deposit"] {
        assert!(with.iter().any(|it| it == tool), "{with:?}");
        assert!(without.iter().all(|it| it.name != tool));
    }
}
