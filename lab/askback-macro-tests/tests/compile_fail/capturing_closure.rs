use askback::Tool;

fn main() {
    let name = String::from("Ada");
    let _ = Tool::new("captures", async move || Ok(name.clone()));
}
