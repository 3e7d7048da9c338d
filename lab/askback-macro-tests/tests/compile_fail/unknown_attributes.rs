use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core", name = "x")]
struct OnStruct {}

#[derive(Form)]
#[form(crate = "askback_core")]
struct OnField {
    #[form(minimum = 1)]
    nights: u8,
}

#[derive(Form)]
#[form(crate = "askback_core")]
enum OnVariant {
    #[form(description = "x")]
    A,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Format {
    #[form(format = "uuid")]
    id: String,
}

#[derive(Form)]
#[form(crate = "askback_core", rename_all = "Title Case")]
struct Cases {
    id: String,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Twice {
    #[form(title = "a", title = "b")]
    a: String,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct ConstraintTwice {
    #[form(min = 1)]
    #[form(min = 2)]
    a: u8,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Empty {
    #[form(rename = "")]
    a: String,
}

#[derive(Form)]
#[form(crate = "askback_core", enum_names)]
struct EnumNames {}

fn main() {}
