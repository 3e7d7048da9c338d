use askback_core::forms::Form;

struct Wishes;

fn ask<F: Form>() {}

fn main() {
    ask::<Wishes>();
}
