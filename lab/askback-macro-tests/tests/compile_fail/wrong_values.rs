use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Defaults {
    #[form(default = "seven")]
    nights: u8,
    #[form(default = 7)]
    share: f64,
    #[form(min = "1")]
    days: u8,
}

fn main() {}
