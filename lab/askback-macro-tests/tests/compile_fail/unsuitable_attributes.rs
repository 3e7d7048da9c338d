use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
enum Seat {
    Window,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Wishes {
    #[form(min = 1)]
    agree: bool,
    #[form(max = 0.5)]
    nights: u8,
    #[form(min_length = 1)]
    age: Option<u8>,
    #[form(pattern = "^a")]
    insured: bool,
    #[form(max_items = 2)]
    name: String,
    #[form(enum_names)]
    email: String,
    #[form(format = "date")]
    seat: Seat,
    #[form(max_length = 10)]
    extras: Vec<Seat>,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct NeverNone {
    #[form(default = 7)]
    days: Option<u8>,
}

fn main() {}
