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
    let notes = notes(matrix);
    let titles = matrix.clients.iter().map(|client| client.title());
    let first = titles.map(columns).max().unwrap_or(0).max("asked".len());
    let widths: Vec<_> = matrix
        .tools
        .iter()
        .map(|tool| width(tool, &notes))
        .collect();
    let room = page.look().columns.saturating_sub(first);
    let mut rest = 0..matrix.tools.len();
    while !rest.is_empty() {
        let mut used = 0_usize;
        let fitting = widths[rest.clone()].iter().take_while(|width| {
            used = used.saturating_add(GAP).saturating_add(**width);
            used <= room
        });
        // A table has at least one tool, even if it is too wide.
        let end = rest.start.saturating_add(fitting.count().max(1));
        table(page, matrix, &notes, first, (rest.start..end, &widths));
        page.blank();
        rest = end..rest.end;
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

fn notes(matrix: &Matrix) -> Vec<Note<'_>> {
    let mut notes: Vec<Note<'_>> = Vec::new();
    for tool in &matrix.tools {
        for (client, cell) in matrix.clients.iter().zip(&tool.cells) {
            let Some(cell) = cell.as_ref().filter(|cell| !cell.reasons.is_empty()) else {
                continue;
            };
            let same = notes.iter_mut().find(|note| {
                note.tool == tool.name
                    && note.cell.reasons == cell.reasons
                    && note.cell.ended == cell.ended
            });
            match same {
                Some(note) => note.clients.push(client.title()),
                None => notes.push(Note {
                    tool: &tool.name,
                    cell,
                    clients: vec![client.title()],
                }),
            }
        }
    }
    notes
}

fn tool_name(tool: &ToolRow) -> Words {
    let name = given(&tool.name).short();
    let words = Words::from(name);
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

fn cell_words(tool: &ToolRow, cell: Option<&Cell>, notes: &[Note<'_>], client: &str) -> Words {
    let Some(cell) = cell else {
        return "-".into();
    };
    let is_meant = |note: &Note<'_>| note.tool == tool.name && note.clients.contains(&client);
    match (1_usize..).zip(notes).find(|(_, note)| is_meant(note)) {
        Some((number, _)) => words!("{} {}", cell.verdict.as_str(), number),
        None => cell.verdict.as_str().into(),
    }
}

/// The columns of a tool in the table.
fn width(tool: &ToolRow, notes: &[Note<'_>]) -> usize {
    let number = columns(words!("{}", notes.len()).as_str());
    let cells = tool.cells.iter().flatten();
    let cells = cells.map(|cell| {
        cell.verdict
            .as_str()
            .len()
            .saturating_add(1)
            .saturating_add(number)
    });
    let asked = counted(tool.asked.iter().copied());
    let head = columns(tool_name(tool).as_str()).max(columns(asked.as_str()));
    cells.max().unwrap_or(0).max(head)
}

fn table(
    page: &mut Page,
    matrix: &Matrix,
    notes: &[Note<'_>],
    first: usize,
    (range, widths): (std::ops::Range<usize>, &[usize]),
) {
    let tools = || {
        matrix.tools[range.clone()]
            .iter()
            .zip(&widths[range.clone()])
    };
    let row = |head: Words, cells: Vec<Words>| {
        let mut words = head.padded(first);
        for (cell, (_, width)) in cells.into_iter().zip(tools()) {
            words = words!("{}  {}", words, cell.padded(*width));
        }
        // The last column needs no blanks behind it.
        Words::from(given(words.as_str().trim_end()))
    };
    let names = tools().map(|(tool, _)| tool_name(tool));
    page.line(row(Words::default(), names.collect()));
    let asked = tools().map(|(tool, _)| counted(tool.asked.iter().copied()));
    page.line(row("asked".into(), asked.collect()));
    for (index, client) in matrix.clients.iter().enumerate() {
        let cells = tools().map(|(tool, _)| {
            let cell = tool.cells.get(index).and_then(Option::as_ref);
            cell_words(tool, cell, notes, client.title())
        });
        page.line(row(client.title().into(), cells.collect()));
    }
}

fn put_note(page: &mut Page, number: usize, note: &Note<'_>, with_fixes: bool) {
    let clients = note.clients.iter().map(|client| (*client).into());
    let head = words!(
        "{}, {}: {}",
        given(note.tool),
        Words::join(clients, ", "),
        note.cell.verdict.as_str()
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
        if cells().any(|cell| cell.verdict == verdict) {
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
    let mut json = json!({"client": client.name, "verdict": cell.verdict});
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
            let judgements = questions
                .iter()
                .map(|question| judge::judge(question, client));
            let reasons: Vec<_> = judgements.flat_map(|judgement| judgement.reasons).collect();
            let judgement = judge::Judgement::of(reasons);
            let ended = (judgement.verdict == Verdict::Unreachable).then(|| BriefEnd {
                failed: true,
                text: "this client cannot be asked".into(),
            });
            (!questions.is_empty()).then(|| Cell::of(judgement, ended, Vec::new()))
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
