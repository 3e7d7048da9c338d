use std::collections::{BTreeSet, HashMap};

use askback_macros::Form;

#[derive(Form)]
#[form(crate = "askback_core")]
struct Maps {
    tags: HashMap<String, String>,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Sets {
    tags: Option<BTreeSet<String>>,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Lists {
    tags: Vec<String>,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Tuples {
    place: (f64, f64),
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Arrays {
    place: [f64; 2],
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct References {
    name: &'static str,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Sizes {
    count: usize,
}

#[derive(Form)]
#[form(crate = "askback_core")]
struct Letters {
    letter: char,
}

fn main() {}
