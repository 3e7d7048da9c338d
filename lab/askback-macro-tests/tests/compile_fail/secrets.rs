use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Login {
    user: String,
    password: String,
    #[form(rename = "apiKey")]
    key: String,
    #[form(title = "Your access token")]
    access: String,
    /// The verification code from the mail.
    code: u32,
    pin: u16,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Harmless {
    tokens_used: u32,
    passwordless: bool,
    #[form(not_secret)]
    page_token: String,
    #[form(format = "uri")]
    token_url: String,
    shipping: String,
    spin: u8,
}

fn main() {}
