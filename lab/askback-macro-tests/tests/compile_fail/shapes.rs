use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Tuple(String, u8);

#[derive(Form)]
#[form(crate = "askback_core")]
struct Generic<T> {
    value: T,
}

#[derive(Form)]
#[form(crate = "askback_core")]
union Union {
    a: u8,
}

#[derive(Form)]
#[form(crate = "askback_core")]
enum Empty {}

#[derive(Form)]
#[form(crate = "askback_core")]
enum WithFields {
    Window,
    Row(u8),
}

#[derive(Form)]
#[form(crate = "askback_core")]
enum SameValue {
    Window,
    #[form(rename = "window")]
    Other,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct SameName {
    a: String,
    #[form(rename = "a")]
    b: String,
}

fn main() {}
