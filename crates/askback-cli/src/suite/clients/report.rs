//! The matrix as a table with notes, and as JSON.

use askback_host::{
    page::{Page, Style},
    text::{Words, columns, given},
    words,
};
use serde_json::{Value, json};

use super::{
    Cell, Matrix, ToolRow, Verdict,
    judge::{Flaw, Reason, counted},
};
use crate::known_clients::{HeadlessAnswer, KnownClient};

/// The columns between two columns of the table.
const GAP: usize = 2;

/// The widest name of a tool that is not shortened, in columns.
const TOOL_COLUMNS: usize = 24;

/// The cells that have the same reason, and the number of their note.
struct Note<'a> {
    tool: &'a str,
    cell: &'a Cell,
    clients: Vec<&'static str>,
}

/// Adds the table, its notes and the facts behind it to the page.
pub fn lines(page: &mut Page, matrix: &Matrix, with_fixes: bool) {
    let mut notes = Vec::new();
    let tools = matrix.tools.iter();
    let tools = tools.map(|tool| tool_column(tool, &matrix.clients, &mut notes));
    let tools: Vec<_> = tools.collect();
    let mut first = vec![Words::default(), "asked".into()];
    first.extend(matrix.clients.iter().map(|client| client.title().into()));
    let room = page.look().columns.saturating_sub(width(&first));
    let mut rest = &tools[..];
    while !rest.is_empty() {
        let mut used = 0_usize;
        let fitting = rest.iter().take_while(|column| {
            used = used.saturating_add(GAP).saturating_add(width(column));
            used <= room
        });
        // A table has at least one tool, even if it is too wide.
        let (shown, later) = rest.split_at(fitting.count().max(1));
        table(page, &first, shown);
        page.blank();
        rest = later;
    }
    for (number, note) in (1_usize..).zip(&notes) {
        put_note(page, number, note, with_fixes);
    }
    for tool in matrix.tools.iter().filter(|tool| tool.is_incomplete) {
        let words = words!(
            "{} may ask more: the suite has no rule that answers one of its questions.",
            given(&tool.name)
        );
        page.say(Style::Warning, words);
    }
    if !notes.is_empty() {
        if !with_fixes {
            page.say(Style::Dim, "--fix says what to change in the server.");
        }
        page.blank();
    }
    legend(page, matrix);
}

/// The cells of a tool, with the numbers of their notes. Adds these notes.
fn tool_column<'a>(
    tool: &'a ToolRow,
    clients: &[&'static KnownClient],
    notes: &mut Vec<Note<'a>>,
) -> Vec<Words> {
    let mut column = vec![tool_name(tool), counted(tool.asked.iter().copied())];
    for (client, cell) in clients.iter().zip(&tool.cells) {
        let Some(cell) = cell else {
            column.push("-".into());
            continue;
        };
        if cell.reasons.is_empty() {
            column.push(cell.verdict().as_str().into());
            continue;
        }
        let is_same = |note: &Note<'_>| {
            let (one, other) = (note.cell, cell);
            note.tool == tool.name && one.reasons == other.reasons && one.ended == other.ended
        };
        let at = notes.iter().position(is_same).unwrap_or(notes.len());
        match notes.get_mut(at) {
            Some(note) => note.clients.push(client.title()),
            None => notes.push(Note {
                tool: &tool.name,
                cell,
                clients: vec![client.title()],
            }),
        }
        let number = at.saturating_add(1);
        column.push(words!("{} {}", cell.verdict().as_str(), number));
    }
    column
}

/// In columns of the screen.
fn width(column: &[Words]) -> usize {
    let cells = column.iter().map(|words| columns(words.as_str()));
    cells.max().unwrap_or(0)
}

fn tool_name(tool: &ToolRow) -> Words {
    let words = given(&tool.name).short();
    match columns(words.as_str()) <= TOOL_COLUMNS {
        true => words,
        false => {
            let head: String = tool
                .name
                .chars()
                .take(TOOL_COLUMNS.saturating_sub(1))
                .collect();
            words!("{}…", given(head))
        }
    }
}

fn table(page: &mut Page, first: &[Words], tools: &[Vec<Words>]) {
    for (row, head) in first.iter().enumerate() {
        let mut words = head.clone().padded(width(first));
        for column in tools {
            let cell = column.get(row).cloned().unwrap_or_default();
            words = words!("{}  {}", words, cell.padded(width(column)));
        }
        // The last column needs no blanks behind it.
        page.line(given(words.as_str().trim_end()));
    }
}

fn put_note(page: &mut Page, number: usize, note: &Note<'_>, with_fixes: bool) {
    let clients = note.clients.iter().map(|client| (*client).into());
    let head = words!(
        "{}, {}: {}",
        given(note.tool),
        Words::join(clients, ", "),
        note.cell.verdict().as_str()
    );
    page.item(words!("{}  ", number), Style::Strong, head);
    let has = |is: fn(Flaw) -> bool| note.cell.reasons.iter().any(|reason| is(reason.flaw));
    let works = note.cell.ended.as_ref().is_some_and(|it| !it.failed);
    let mut shown = !has(Flaw::hides_fields);
    for reason in &note.cell.reasons {
        if !shown && reason.flaw.is_of_shown_fields() {
            page.item("   ", Style::Plain, "When it shows the fields:");
            shown = true;
        }
        let is_mended = works && reason.flaw == Flaw::SamplingUndeclared;
        put_reason(page, reason, with_fixes && !is_mended);
    }
    if let Some(ended) = &note.cell.ended {
        let words = match ended.failed {
            true => "The tool then fails:",
            false => "The tool then works without the answer:",
        };
        page.item("   ", Style::Plain, words);
        page.quote_line("   ", ended.text.clone());
    }
    if !with_fixes && has(Flaw::is_wrapped) {
        page.item(
            "   ",
            Style::Dim,
            "`askback wrap -- SERVER` asks the user instead.",
        );
    }
}

fn put_reason(page: &mut Page, reason: &Reason, with_fixes: bool) {
    page.item("   ", Style::Plain, reason.flaw.words());
    for field in &reason.fields {
        page.quote_line("   ", field);
    }
    if with_fixes {
        page.item("   Fix: ", Style::Strong, reason.flaw.fix());
    }
}

fn legend(page: &mut Page, matrix: &Matrix) {
    let cells = || {
        matrix
            .tools
            .iter()
            .flat_map(|tool| tool.cells.iter().flatten())
    };
    for verdict in [
        Verdict::Drawn,
        Verdict::Degraded,
        Verdict::Unseen,
        Verdict::Unreachable,
    ] {
        if cells().any(|cell| cell.verdict() == verdict) {
            page.entry(verdict.as_str(), "unreachable".len(), verdict.meaning());
        }
    }
    page.blank();
    page.say(Style::Plain, "Known from:");
    for client in &matrix.clients {
        page.note(Style::Dim, fact(client));
    }
    let unknown = KnownClient::all().iter();
    let unknown = unknown.filter(|client| client.newest().is_none());
    let unknown = Words::join(unknown.map(|client| client.title().into()), ", ");
    if !unknown.is_empty() && matrix.clients.len() > 1 {
        page.note(Style::Dim, words!("Not known: {}", unknown));
    }
}

/// The version and date of a client's known facts, and the facts that matter for all questions.
pub(super) fn fact(client: &KnownClient) -> Words {
    let mut words = words!(
        "{} {}, {}: speaks {}",
        client.title(),
        client.version.unwrap_or("of an unknown version"),
        client.seen.unwrap_or("on an unknown date"),
        client.revision.unwrap_or("an unknown revision")
    );
    if let Some(seconds) = client.gives_up_after() {
        words = words!("{}, gives a silent call up after {} s", words, seconds);
    }
    if let Some(headless) = client.headless {
        let answer = match headless.answer {
            HeadlessAnswer::Cancels => "cancels",
            HeadlessAnswer::Declines => "declines",
        };
        words = words!("{}; {} {} every form", words, headless.run, answer);
    }
    words
}

pub fn json(suite: &str, matrix: &Matrix) -> String {
    let tools = matrix.tools.iter().map(|tool| {
        let cells = matrix.clients.iter().zip(&tool.cells);
        let cells = cells.filter_map(|(client, cell)| Some(cell_json(client, cell.as_ref()?)));
        json!({
            "name": tool.name,
            "asked": tool.asked,
            "incomplete": tool.is_incomplete,
            "clients": cells.collect::<Value>(),
        })
    });
    let clients = matrix.clients.iter().map(|client| {
        json!({
            "name": client.name,
            "version": client.version,
            "seen": client.seen,
            "revision": client.revision,
            "givesUpAfterSeconds": client.gives_up_after(),
        })
    });
    let (tools, clients) = (tools.collect::<Value>(), clients.collect::<Value>());
    json!({"suite": suite, "tools": tools, "clients": clients}).to_string()
}

fn cell_json(client: &KnownClient, cell: &Cell) -> Value {
    let mut json = json!({"client": client.name, "verdict": cell.verdict()});
    if !cell.reasons.is_empty() {
        let reasons = cell.reasons.iter().map(|reason| {
            let (means, fix) = (reason.flaw.words(), reason.flaw.fix());
            let mut json = json!({"flaw": reason.flaw, "means": means, "fix": fix});
            if !reason.fields.is_empty() {
                json["fields"] = reason.fields.clone().into();
            }
            json
        });
        json["reasons"] = reasons.collect();
    }
    if let Some(ended) = &cell.ended {
        json["ended"] = json!({"failed": ended.failed, "text": ended.text.raw()});
    }
    json
}

#[cfg(test)]
mod tests {
    use askback::forms::FormSchema;
    use askback_host::page::{Look, Rows};

    use super::*;
    use crate::suite::{
        clients::{QuestionMode, QuestionRequest, judge},
        observe::BriefEnd,
    };

    /// A tool that asks these questions of every client.
    fn tool(
        name: &str,
        questions: &[QuestionRequest],
        clients: &[&'static KnownClient],
    ) -> ToolRow {
        let cells = clients.iter().map(|client| {
            let reasons = questions
                .iter()
                .flat_map(|question| judge::judge(question, client));
            let mut cell = Cell {
                reasons: reasons.collect(),
                ended: None,
                forms: Vec::new(),
            };
            cell.ended = (cell.verdict() == Verdict::Unreachable).then(|| BriefEnd {
                failed: true,
                text: "this client cannot be asked".into(),
            });
            (!questions.is_empty()).then_some(cell)
        });
        let asked: Vec<QuestionMode> = questions.iter().map(QuestionRequest::mode).collect();
        ToolRow {
            name: name.to_owned(),
            asked,
            is_incomplete: name == "open_account",
            cells: cells.collect(),
        }
    }

    fn screen(columns: usize, with_fixes: bool) -> Rows {
        let form = |properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            let form: FormSchema = serde_json::from_value(schema).expect("a form");
            QuestionRequest::Form(form)
        };
        let clients = [
            "claude-code",
            "codex",
            "copilot-cli",
            "fast-agent",
            "gemini-cli",
        ];
        let clients: Vec<_> = clients.into_iter().filter_map(KnownClient::named).collect();
        let nights =
            form(json!({"nights": {"type": "integer"}, "note\u{1b}[2J": {"type": "number"}}));
        let room = form(json!({"room": {"type": "string", "enum": ["sea", "city"]}}));
        let link = QuestionRequest::Link("https://a.test/".to_owned());
        let sampling = QuestionRequest::Sampling {
            has_preferences: true,
        };
        let matrix = Matrix {
            tools: vec![
                tool("book_holiday", &[room, nights], &clients),
                tool("open_account", &[link], &clients),
                tool(
                    "find_the_best_flight_of_the_whole_year",
                    &[sampling],
                    &clients,
                ),
                tool("weather", &[], &clients),
            ],
            clients,
        };
        let look = Look {
            columns,
            styled: false,
        };
        let mut page = Page::new(look);
        lines(&mut page, &matrix, with_fixes);
        page.take()
    }

    #[test]
    fn the_table_fits_the_screen() {
        for (columns, with_fixes) in [(40, false), (80, false), (120, true)] {
            let rows = screen(columns, with_fixes).to_string();
            let widest = rows.lines().map(columns_of).max().unwrap_or(0);
            assert!(widest <= columns, "{widest} of {columns}:\n{rows}");
            insta::assert_snapshot!(format!("clients_{columns}"), rows);
        }
    }

    fn columns_of(row: &str) -> usize {
        askback_host::text::columns(row)
    }
}
