use askback_macros::{prompt, resource, tool};

#[tool]
fn book() -> Result<()> {}

struct Agency;

impl Agency {
    #[tool]
    async fn book_here(&self) -> Result<()> {}
}

#[prompt]
async fn plan<T>(plan: T) -> Result<String> {}

#[resource(uri = "travel://all")]
async fn all() -> Result<String>
where
    String: Clone,
{
}

#[tool]
async unsafe fn dare() -> Result<()> {}

#[tool]
async extern "C" fn call() -> Result<()> {}

#[tool]
async fn ask(a: A, b: B, c: C, d: D, e: E, f: F, g: G) -> Result<()> {}

#[tool]
async fn borrow(trip: &Trip) -> Result<()> {}

#[tool]
async fn imply(trip: impl Form) -> Result<()> {}

#[tool]
struct Nothing;

fn main() {}
