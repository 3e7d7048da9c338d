use askback_macros::Form;

struct Traveller;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Trip {
    travellers: Vec<Traveller>,
}

fn main() {}
