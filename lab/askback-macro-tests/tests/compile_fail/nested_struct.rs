use askback_macros::Form;

struct Address {
    _street: String,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Contact {
    name: String,
    address: Address,
}

fn main() {}
