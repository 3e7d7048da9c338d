//! Fields that seem to ask for a secret.

use askback_core::forms::{ANSWER, Field, FormSchema, SharedForm, TextField, TextFormat};
use serde_json::{Value, json};

use super::{field, form_of};

fn looks_secret(name: &str, schema: Value) -> bool {
    Field {
        name: name.into(),
        ..field(schema)
    }
    .looks_secret()
}

#[test]
fn secrets_are_seen_in_names() {
    for name in [
        "password",
        "Password",
        "user_password",
        "dbPassword",
        "new-password",
        "PASSWD",
        "passphrase",
        "passcode",
        "token",
        "access_token",
        "accessToken",
        "API_KEY",
        "apiKey",
        "APIKey",
        "api-key",
        "secret",
        "client_secret",
        "privateKey",
        "card_number",
        "creditCard",
        "CVV",
        "cvc",
        "pin",
        "PIN",
        "ssn",
        "otp",
        "one-time code",
        "seed phrase",
        "密码",
        "您的密码",
        "Passwort",
        "contraseña",
    ] {
        assert!(looks_secret(name, json!({"type": "string"})), "{name}");
        assert!(
            looks_secret("value", json!({"type": "string", "title": name})),
            "{name}"
        );
    }
}

#[test]
fn secrets_are_seen_as_a_person_reads_them() {
    for title in [
        "pаssword",
        "Pass\u{ad}word",
        "pass\u{200b}word",
        "ｐａｓｓｗｏｒｄ",
        "РАSSWОRD",
    ] {
        let schema = json!({"type": "string", "title": title});
        assert!(looks_secret("a", schema), "{title}");
    }
}

#[test]
fn secrets_are_seen_in_descriptions() {
    for description in [
        "Your GitHub password.",
        "Paste the API key here",
        "The 3 digits (CVV) on the back",
        "Enter your PIN",
        "a personal access token",
        "Credit card, 16 digits",
        "请输入您的密码",
    ] {
        let schema = json!({"type": "string", "description": description});
        assert!(looks_secret("value", schema), "{description}");
    }
}

#[test]
fn secret_numbers_are_seen() {
    for name in ["pin", "cvv", "card_number", "otp", "security code"] {
        assert!(looks_secret(name, json!({"type": "integer"})), "{name}");
    }
}

#[test]
fn other_fields_are_left_alone() {
    for name in [
        "seat preference",
        "tokenizer",
        "keyboard",
        "key",
        "spinning",
        "pinned",
        "opinion",
        "shipping",
        "secretary",
        "passport_name",
        "passenger",
        "compass",
        "boarding pass",
        "cardinal",
        "postcard",
        "discard",
        "name",
        "email",
        "username",
        "monkey",
        "primary_key_column",
        "hotkey",
        "code",
        "postal code",
        "country code",
        "licence",
        "address",
        "tokens",
        "passwordless_hint_shown",
    ] {
        assert!(!looks_secret(name, json!({"type": "string"})), "{name}");
    }
    for description in [
        "Pin the map here",
        "A secret santa gift",
        "Keep it secret from Bob",
    ] {
        let schema = json!({"type": "string", "description": description});
        assert!(!looks_secret("value", schema), "{description}");
    }
}

#[test]
fn only_what_is_typed_freely_can_be_a_secret() {
    for schema in [
        json!({"type": "boolean"}),
        json!({"type": "string", "enum": ["password", "token"]}),
        json!({"type": "array", "items": {"enum": ["a"]}}),
    ] {
        assert!(!looks_secret("password", schema.clone()), "{schema}");
    }
    assert!(!looks_secret("token_limit", json!({"type": "integer"})));
}

#[test]
fn a_text_with_a_format_is_a_secret_by_its_own_name_alone() {
    for format in TextFormat::ALL.iter().map(|format| format.name()) {
        let text = || json!({"type": "string", "format": format});
        for name in [
            "password",
            "webhook_secret",
            "apiKey",
            "Your PIN",
            "您的密码",
        ] {
            assert!(looks_secret(name, text()), "{format} {name}");
            let mut titled = text();
            titled["title"] = json!(name);
            assert!(looks_secret("value", titled), "{format} {name}");
        }
        for name in [
            "token_url",
            "password_changed",
            "email",
            "secretary",
            "密码网址",
        ] {
            assert!(!looks_secret(name, text()), "{format} {name}");
        }
        let mut described = text();
        described["description"] = json!("Where the password is reset");
        assert!(!looks_secret("page", described), "{format}");
    }
}

#[test]
fn a_value_by_itself_is_judged_by_what_it_is_asked_with() {
    let is_secret = |name: &str, message: &str| {
        let form = form_of([Field::new(name, TextField::default())]);
        let judged = form.secret_fields(message).next().is_some();
        for form in [SharedForm::written(form.clone()), form.into()] {
            assert_eq!(form.secret_field(message), judged.then_some(name));
        }
        judged
    };
    assert!(is_secret(ANSWER, "What is your password?"));
    assert!(is_secret("Value", "Type your password."));
    assert!(is_secret("password", "Well?"));
    assert!(!is_secret(ANSWER, "Where to?"));
    assert!(!is_secret("city", "Your password was changed. Where to?"));
}

#[test]
fn a_secret_is_seen_within_what_is_written_as_json() {
    let secret = |property: &str| {
        let schema = json!({"type": "object", "properties": {
            "login": {"type": "object", "properties": {property: {"type": "string"}}},
        }});
        let form: FormSchema = serde_json::from_value(schema).unwrap();
        form.secret_fields("").next().is_some()
    };
    assert!(secret("password"));
    assert!(secret("apiKey"));
    assert!(!secret("street"));
}
