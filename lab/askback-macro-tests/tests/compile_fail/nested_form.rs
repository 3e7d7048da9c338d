use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Address {
    street: String,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Contact {
    address: Option<Address>,
}

fn main() {}
