//! A hostile server in a CI job: its text never becomes a command to the CI service.

use askback_host::text::without_ci_commands;

use crate::run::{Ran, Run};

/// A server that puts commands to CI services into every text it sends.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
evil='::error::x\n \t::set-env name=a::b\n::add-mask::c ##[group]d\n##vso[task.complete]e ##teamcity[f]'
printf '::error::x\n ::debug::y ##[group]\n##vso[task]\n' >&2
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"instructions":"'"$evil"'","serverInfo":{"name":"s","title":"'"$evil"'","version":"'"$evil"'"}}}' ;;
    *'"tools/list"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"t","title":"'"$evil"'","description":"'"$evil"'","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"'"$evil"'"}}}}]}}' ;;
    *'"tools/call"'*)
        say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"'"$evil"'"}}'
        printf '::error::z\n##[group]\n' >&2
        case $line in
        *fails*) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32000,"message":"'"$evil"'"}}' ;;
        *) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'"$evil"'"}]}}' ;;
        esac ;;
    *'"id":'*) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"'"$evil"'"}}' ;;
    esac
done"#;

fn run(name: &str, words: &[&str], variables: &[(&'static str, &'static str)]) -> Ran {
    let mut run = Run::new(&format!("ci-{name}"), words);
    // The tests themselves may run in a CI job.
    for name in ["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"] {
        let value = variables.iter().find(|(set, _)| *set == name);
        run = run.set(name, value.map_or("", |(_, value)| value));
    }
    run.scratch.file(
        "suite.yaml",
        "cases:\n  - {name: one, call: t, expect: {text: no}}\n",
    );
    let revision: &[&str] = match words[0] {
        "doctor" => &[],
        "test" => &["--revision", "2025-11-25"],
        _ => &["--protocol", "2025-11-25"],
    };
    run.and(revision).and(&["--", "sh", "-c", SERVER]).run()
}

/// Whether a text contains no command.
fn is_inert(text: &str) -> bool {
    without_ci_commands(text) == text
}

#[test]
fn no_command_prints_what_a_ci_service_obeys() {
    for (at, words) in [
        &["call", "t"][..],
        &["call", "t", "--json"],
        &["call", "t", "a=fails"],
        &["call", "t", "a=fails", "--json"],
        &["list"],
        &["list", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["test", "suite.yaml"],
        &["test", "suite.yaml", "--format", "junit"],
        &["test", "suite.yaml", "--format", "json"],
    ]
    .into_iter()
    .enumerate()
    {
        for variable in [
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("TF_BUILD", "True"),
            ("TEAMCITY_VERSION", "2026.1"),
        ] {
            let ran = run(&format!("{at}-{}", variable.0), words, &[variable]);
            for text in [&ran.stdout, &ran.stderr] {
                assert!(is_inert(text), "{words:?}:\n{text}");
            }
            let all = [ran.stdout, ran.stderr].concat();
            assert!(
                all.contains("<U+0023>#") || all.contains("u0023#"),
                "{words:?}: {all}"
            );
        }
    }
}

#[test]
fn json_stays_the_same_and_text_is_broken_in_ci_alone() {
    let ci = ("CI", "true");
    let text = |variables: &[_]| run("text", &["call", "t"], variables).expect(0).stdout;
    let plain = text(&[]);
    assert!(plain.starts_with("::error::x\n") && plain.contains("\n##vso[task.complete]e"));
    assert_eq!(text(&[("CI", "false")]), plain);
    let broken = text(&[ci]);
    assert!(broken.starts_with("<U+003A>:error::x\n"), "{broken}");
    assert!(
        broken.contains("\n<U+0023>#vso[task.complete]e"),
        "{broken}"
    );
    let json = |variables: &[_]| run("json", &["call", "t", "--json"], variables).json();
    assert_eq!(json(&[ci]), json(&[]));
}

#[test]
fn a_report_holds_no_command_for_the_program_that_prints_it() {
    let words = [
        "test",
        "suite.yaml",
        "--format",
        "junit",
        "--output",
        "report.xml",
    ];
    let ran = run("report", &words, &[("CI", "true")]);
    let xml = std::fs::read_to_string(ran.scratch.path("report.xml")).expect("it was written");
    let document = roxmltree::Document::parse(&xml).expect("it is XML");
    let mut texts = 0;
    for node in document.descendants() {
        let attributes = node.attributes().map(|it| it.value());
        for text in attributes.chain(node.text()) {
            assert!(is_inert(text), "{text}");
            texts += usize::from(text.contains("<U+0023>#vso["));
        }
    }
    assert!(texts > 0, "{xml}");
}
