use askback::Result;

fn in_words() -> Result<()> {
    Err("the plane is full")?
}

fn boxed() -> Result<()> {
    let full: Box<dyn std::error::Error + Send + Sync> = "the plane is full".into();
    Err(full)?
}

fn main() {
    let _ = (in_words(), boxed());
}
