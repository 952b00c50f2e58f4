//! Every function of klog.h, called from C: with success; with each pointer null; with each struct of a wrong size, of an older
//! and a newer header; with each handle null, closed, of another kind and made up; on what was left of a closed manager; and in
//! a forked child (c-abi.md 6.4). The calls are made of the header's own text: a function that is added is tested, and one
//! whose comment does not say which pointers may be null is told.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/native.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod native;
#[path = "support/skip.rs"]
mod skip;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use native::{Linking, ROOT, SANITIZERS, compile_c, data_dir, printed, scratch};

/// A function of the header.
struct Function {
    name: String,
    comment: String,
    parameters: Vec<Parameter>,
}

#[derive(Clone)]
struct Parameter {
    /// As it is declared, without the name.
    of: String,
    name: String,
}

const HANDLES: [&str; 9] = [
    "klog_config",
    "klog_manager",
    "klog_log",
    "klog_appender",
    "klog_cursor",
    "klog_view",
    "klog_cancel",
    "klog_waiter",
    "klog_events",
];

/// Structs that grow, which have a size field.
fn growable(of: &str) -> Option<&str> {
    let name = of.trim_start_matches("const ").strip_suffix(" *")?;
    let fixed = [
        "klog_record",
        "klog_header",
        "klog_aborted_txn",
        "klog_record_error",
        "klog_append_item",
        "klog_packed_item",
        "klog_ready",
    ];
    (name.starts_with("klog_")
        && !HANDLES.contains(&name)
        && !fixed.contains(&name)
        && name != "klog_status")
        .then_some(name)
}

impl Parameter {
    fn is_pointer(&self) -> bool {
        self.of.ends_with('*')
    }

    fn is_handle(&self) -> bool {
        HANDLES.contains(&self.of.as_str())
    }

    fn is_input(&self) -> bool {
        self.of.starts_with("const ")
    }
}

impl Function {
    fn is_close(&self) -> bool {
        self.name.ends_with("_close")
    }

    /// Whether it is a handle that may be null: what a call is limited to, or can be ended by.
    fn takes_null(&self, handle: &Parameter) -> bool {
        self.parameters.len() > 2 && ["only", "cancel"].contains(&handle.name.as_str())
    }

    fn handles(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| p.is_handle())
    }

    /// Whether the comment says that this pointer may be null; `None` if it says nothing.
    fn is_nullable(&self, parameter: &Parameter) -> Option<bool> {
        let names = [
            parameter.name.as_str(),
            parameter.name.trim_end_matches("_name"),
        ];
        let (_, contract) = self.comment.split_once("Thread class")?;
        contract
            .split([';', '.'])
            .filter(|clause| {
                clause
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .any(|word| names.contains(&word))
            })
            .find_map(|clause| {
                let may = clause.contains("nullable")
                    || clause.contains("may be null") && !clause.contains("with cap 0");
                let must = clause.contains("required") || clause.contains("with cap 0");
                (may || must).then_some(!must)
            })
    }
}

fn functions() -> Vec<Function> {
    let header = std::fs::read_to_string(format!("{ROOT}/include/klog.h")).unwrap();
    let mut found = Vec::new();
    for piece in header.split("/**\n").skip(1) {
        let Some((comment, code)) = piece.split_once("*/") else {
            continue;
        };
        let declaration = code.trim_start().trim_start_matches("KLOG_NODISCARD\n");
        let Some((head, rest)) = declaration.split_once('(') else {
            continue;
        };
        let words: Vec<&str> = head.split_whitespace().collect();
        let ["klog_status", name] = words[..] else {
            continue;
        };
        let (parameters, _) = rest.split_once(");").unwrap();
        found.push(Function {
            name: name.to_owned(),
            comment: comment.replace("\n *", " "),
            parameters: parameters.split(',').map(parameter).collect(),
        });
    }
    assert!(found.len() >= 78, "{}", found.len());
    found
}

fn parameter(text: &str) -> Parameter {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = text.rfind([' ', '*']).unwrap() + 1;
    Parameter {
        of: text[..at].trim().to_owned(),
        name: text[at..].to_owned(),
    }
}

/// Functions that answer something else than KLOG_OK when all is well with their arguments.
const ANSWERS: [(&str, &str); 7] = [
    ("klog_manager_open_progress", "KLOG_ERR_END"),
    ("klog_events_poll", "KLOG_ERR_TIMED_OUT"),
    ("klog_waiter_poll", "KLOG_ERR_TIMED_OUT"),
    ("klog_manager_resolve", "KLOG_ERR_INVALID_ARGUMENT"),
    ("klog_log_promote", "KLOG_ERR_INVALID_ARGUMENT"),
    // Nothing was paused.
    ("klog_clean_resume", "KLOG_ERR_INVALID_ARGUMENT"),
    // No cleaner runs.
    ("klog_clean_await", "KLOG_ERR_TIMED_OUT"),
];

/// Functions that answer something else than KLOG_ERR_CLOSED after the close of the manager: what is known stays known.
const ANSWERS_AFTER_CLOSE: [(&str, &str); 2] = [
    ("klog_appender_wait", "KLOG_OK"),
    ("klog_appender_flush", "KLOG_OK"),
];

fn answer(function: &Function) -> &'static str {
    let known = ANSWERS.iter().find(|(name, _)| *name == function.name);
    known.map_or("KLOG_OK", |(_, answer)| answer)
}

/// An argument that is in order: by function and name, by name, by type.
#[allow(
    clippy::match_same_arms,
    reason = "a table, in the order of the functions"
)]
fn argument(function: &Function, parameter: &Parameter) -> String {
    let (name, of) = (parameter.name.as_str(), parameter.of.as_str());
    let own = format!("{}.{name}", function.name.trim_start_matches("klog_"));
    let by_place = match own.as_str() {
        "abi_check.abi" => "KLOG_ABI",
        "abi_check.layout_hash_of_header" => "KLOG_LAYOUT_HASH",
        "config_set_topic.key" => "\"retention.ms\"",
        "config_load.properties" => "\"log.retention.ms=5\\n\"",
        "config_load.len" => "KLOG_NTS",
        "manager_set_config.changes" => "broker_changes",
        "log_set_config.overrides" => "topic_overrides",
        "events_poll.cancel" => "(klog_cancel){0}",
        "manager_open_progress.dir" => "second_path",
        "append_one.key" | "append_one.value" => "\"value\"",
        "append_one.key_len" | "append_one.value_len" => "5",
        "append_one.timestamp_ms" => "KLOG_TIMESTAMP_NOW",
        "append.count" | "encode.count" | "appender_add.count" => "2",
        "append_many.count" | "append_many_packed.count" => "1",
        "append_many.items" => "&item",
        "append_many_packed.items" => "&packed_item",
        "appender_wait.ticket" => "ticket",
        "cursor_next.cap" | "decode.cap" => "4",
        "aborted_txns.upto" => "2",
        "epoch_assign.start_offset" | "epoch_assign.epoch" => "2",
        "high_watermark_set.hw" | "append_marker.producer_id" => "1",
        "flush.upto_offset" | "truncate_fully.log_start_offset" | "tick.now_ms" => "-1",
        "manager_close.timeout_ms" | "log_move.timeout_ms" => "-1",
        "append_packed.len" | "appender_add_packed.len" | "encode_packed.len" => "packed_len",
        "append_batches.len" | "decode.len" | "decode_packed.len" => "batches_len",
        "meta_create.directory_id" => "(const uint8_t *)\"0123456789abcdef\"",
        "metrics_read.cap" => "512",
        "metrics_text.cap" => "65536",
        _ => "",
    };
    if !by_place.is_empty() {
        return by_place.to_owned();
    }
    match (name, of) {
        (_, "klog_manager_options *" | "const klog_manager_options *") => {
            "&manager_options".to_owned()
        }
        ("topic_name", _) => "\"t\"".to_owned(),
        ("key", _) => "\"log.retention.ms\"".to_owned(),
        ("value", _) => "\"5\"".to_owned(),
        ("cluster_id", _) => "\"cluster\"".to_owned(),
        ("topic_len" | "key_len" | "value_len" | "cluster_id_len" | "dir_len", _) => {
            "KLOG_NTS".to_owned()
        }
        ("records", _) => "records".to_owned(),
        ("packed", _) => "packed".to_owned(),
        ("batches", _) => "batches".to_owned(),
        ("values", _) => "(uint64_t *)large".to_owned(),
        ("buf", "klog_ready *") => "(klog_ready *)large".to_owned(),
        ("buf", "klog_aborted_txn *") => "(klog_aborted_txn *)large".to_owned(),
        ("buf", "char *") => "large".to_owned(),
        ("buf", _) => "buf".to_owned(),
        ("cap", _) if function.name == "klog_aborted_txns" => "16".to_owned(),
        ("cap", _) if function.name == "klog_waiter_poll" => "4".to_owned(),
        ("cap" | "buf_cap", _) => "sizeof buf".to_owned(),
        (_, "klog_log") => "opened_log".to_owned(),
        (_, of) if HANDLES.contains(&of) => of.trim_start_matches("klog_").to_owned(),
        ("err", _) => "&err".to_owned(),
        (_, of) if growable(of).is_some() => format!(
            "&{}",
            of.trim_start_matches("const ")
                .trim_start_matches("klog_")
                .trim_end_matches(" *")
        ),
        (_, of) if of.ends_with('*') => format!("({of})scratch"),
        _ => "0".to_owned(),
    }
}

/// The call with one argument in place of that which is in order.
fn call(function: &Function, instead: Option<(&str, &str)>) -> String {
    let arguments: Vec<String> = function
        .parameters
        .iter()
        .map(|parameter| match instead {
            Some((name, argument)) if name == parameter.name => argument.to_owned(),
            _ => argument(function, parameter),
        })
        .collect();
    format!("{}({})", function.name, arguments.join(", "))
}

/// Calls that each have everything anew.
struct Program {
    body: String,
    steps: usize,
}

impl Program {
    fn step(&mut self, setup: &str, expectation: &str) {
        let _ = writeln!(
            self.body,
            "static void step_{}(void) {{ begin(); {{ STRUCTS {setup} {expectation} }} end(); }}",
            self.steps
        );
        self.steps += 1;
    }

    fn expect(&mut self, setup: &str, call: &str, wanted: &str, what: &str) {
        self.step(setup, &format!("expect({call}, {wanted}, \"{what}\");"));
    }
}

fn program() -> String {
    let functions = functions();
    let mut structs: Vec<String> = functions
        .iter()
        .flat_map(|f| &f.parameters)
        .filter_map(|p| Some(growable(&p.of)?.trim_start_matches("klog_").to_owned()))
        .filter(|name| name != "error")
        .collect();
    structs.sort();
    structs.dedup();
    // One of each, with its size and all else zero; the manager's options lead to a directory of its own.
    let structs = structs.iter().fold(String::new(), |text, name| {
        text + &format!("klog_{name} {name} = KLOG_INIT(klog_{name}); ")
            + &format!("(void){name}; ")
    });
    let mut program = Program {
        body: String::new(),
        steps: 0,
    };
    for function in &functions {
        good(&mut program, function);
        pointers(&mut program, function);
        sizes(&mut program, function);
        handles(&mut program, function);
        after_the_manager(&mut program, function);
    }
    in_a_child(&mut program, &functions);
    let calls = (0..program.steps).fold(String::new(), |text, n| {
        text + &format!("    step_{n}();\n")
    });
    format!(
        "#include \"matrix.h\"\nstatic char large[65536];\n#define STRUCTS {structs} manager_options.dirs = second_dirs; \
         manager_options.dir_count = 1; manager_options.flags = KLOG_OPEN_CREATE_DIRS;\n{}\nint main(int argc, char **argv) {{\n    \
         if (argc != 2) {{ return 2; }}\n    root = argv[1];\n    (void)large; (void)scratch; (void)buf;\n{calls}    \
         printf(\"%d checks\\n\", checks);\n    return wrong == 0 ? 0 : 1;\n}}\n",
        program.body
    )
}

fn good(program: &mut Program, function: &Function) {
    let wanted = answer(function);
    program.expect(
        "",
        &call(function, None),
        wanted,
        &format!("{}, all in order", function.name),
    );
}

fn pointers(program: &mut Program, function: &Function) {
    for parameter in function.parameters.iter().filter(|p| p.is_pointer()) {
        let name = &parameter.name;
        let what = format!("{}, null {name}", function.name);
        let call = call(function, Some((name, "NULL")));
        match function.is_nullable(parameter) {
            None => panic!(
                "the comment of {} does not say whether {name} may be null",
                function.name
            ),
            Some(true) => program.step(
                "",
                &format!("expect_not({call}, KLOG_ERR_NULL_ARGUMENT, \"{what}\");"),
            ),
            Some(false) => program.expect("", &call, "KLOG_ERR_NULL_ARGUMENT", &what),
        }
    }
}

fn sizes(program: &mut Program, function: &Function) {
    for parameter in &function.parameters {
        let Some(of) = growable(&parameter.of) else {
            continue;
        };
        let field = of.trim_start_matches("klog_");
        let local = if of == "klog_error" { "own" } else { field };
        let setup = if of == "klog_error" {
            "klog_error own = KLOG_INIT(klog_error);"
        } else {
            ""
        };
        let name = &parameter.name;
        for size in ["0", "7", &format!("sizeof(klog_{field}) - 4")] {
            let setup = format!("{setup} {local}.struct_size = (uint32_t)({size});");
            let what = format!("{}, {name} of size {size}", function.name);
            let call = call(function, Some((name, &format!("&{local}"))));
            program.expect(&setup, &call, "KLOG_ERR_STRUCT_SIZE", &what);
        }
        for (more, is_good) in [("0", true), ("1", !parameter.is_input())] {
            let source = if of == "klog_error" { "err" } else { field };
            let setup = format!(
                "NEWER({of}) newer; newer.known = {source}; newer.known.struct_size = (uint32_t)sizeof newer; newer.more = {more};"
            );
            let wanted = if is_good {
                answer(function)
            } else {
                "KLOG_ERR_STRUCT_SIZE"
            };
            let what = format!(
                "{}, {name} of a newer header, {more} behind it",
                function.name
            );
            program.expect(
                &setup,
                &call(function, Some((name, "&newer.known"))),
                wanted,
                &what,
            );
        }
    }
}

fn handles(program: &mut Program, function: &Function) {
    for parameter in function.handles() {
        let Parameter { of, name } = parameter;
        if function.name == "klog_events_poll" && name == "cancel" {
            continue;
        }
        let mut with = |handle: &str, wanted: &str, what: &str| {
            let call = call(function, Some((name, handle)));
            program.expect(
                "",
                &call,
                wanted,
                &format!("{}, {what} {name}", function.name),
            );
        };
        let kind = |n: u64| format!("({of}){{UINT64_C({:#x})}}", n << 56 | 0x00ff_0001_0000_0001);
        if function.takes_null(parameter) {
            with(&format!("({of}){{0}}"), answer(function), "null");
        } else {
            with(&format!("({of}){{0}}"), "KLOG_ERR_NULL_HANDLE", "null");
        }
        with(&kind(0x7f), "KLOG_ERR_WRONG_KIND", "made up");
        let other = if of == "klog_view" {
            "cursor.id"
        } else {
            "view.id"
        };
        with(
            &format!("({of}){{{other}}}"),
            "KLOG_ERR_WRONG_KIND",
            "another kind of",
        );
        let own = argument(function, parameter);
        let stale = format!("({of}){{{own}.id + (UINT64_C(1) << 32)}}");
        with(&stale, "KLOG_ERR_STALE_HANDLE", "an older");
        let close = match of.as_str() {
            "klog_manager" => {
                "klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, NULL)".to_owned()
            }
            "klog_appender" => "klog_appender_close(appender, 0, &err)".to_owned(),
            other => format!("{other}_close({own})"),
        };
        program.expect(
            &format!("MUST({close});"),
            &call(function, None),
            "KLOG_ERR_STALE_HANDLE",
            &format!("{}, closed {name}", function.name),
        );
    }
}

/// What is left of a closed manager answers CLOSED, but for its close and for what needs no manager.
fn after_the_manager(program: &mut Program, function: &Function) {
    let needs_manager = function
        .handles()
        .any(|p| !["klog_config", "klog_view", "klog_cancel"].contains(&p.of.as_str()));
    if !needs_manager {
        return;
    }
    let wanted = if function.handles().any(|p| p.of == "klog_manager") {
        "KLOG_ERR_STALE_HANDLE"
    } else if function.is_close() {
        "KLOG_OK"
    } else {
        let own = ANSWERS_AFTER_CLOSE
            .iter()
            .find(|(name, _)| *name == function.name);
        own.map_or("KLOG_ERR_CLOSED", |(_, answer)| answer)
    };
    let is_of_both = function.handles().any(|p| p.of == "klog_manager")
        && function.handles().any(|p| p.of == "klog_log");
    let setup = "MUST(klog_manager_close(manager, 0, -1, &err));";
    let what = format!("{}, after the close of the manager", function.name);
    if is_of_both {
        // Whichever of both is looked at first.
        let call = call(function, None);
        program.step(setup, &format!("expect_not({call}, KLOG_OK, \"{what}\");"));
    } else {
        program.expect(setup, &call(function, None), wanted, &what);
    }
}

/// In a forked child an inherited handle answers FORKED, and can be closed.
fn in_a_child(program: &mut Program, functions: &[Function]) {
    let mut calls = String::new();
    let of_handles = |f: &&Function| f.handles().any(|p| !f.takes_null(p));
    for function in functions
        .iter()
        .filter(of_handles)
        .filter(|f| !f.is_close())
    {
        let _ = write!(
            calls,
            "expect({}, KLOG_ERR_FORKED, \"{}, in a child\"); ",
            call(function, None),
            function.name
        );
    }
    let closes = functions.iter().filter(of_handles).filter(|f| f.is_close());
    for function in closes {
        let _ = write!(
            calls,
            "expect({}, KLOG_OK, \"{}, in a child\"); ",
            call(function, None),
            function.name
        );
    }
    program.step(
        "pid_t child = fork();",
        &format!(
            "if (child == 0) {{ wrong = 0; {calls} _exit(wrong == 0 ? 0 : 1); }} reap(child);"
        ),
    );
}

fn compiled(scratch: &Path, linking: Linking, flags: &[&str]) -> PathBuf {
    let source = scratch.join("matrix.c");
    std::fs::write(&source, program()).unwrap();
    let include = format!("-I{ROOT}/tests/c");
    let mut all = vec![include.as_str(), "-O0"];
    all.extend(flags);
    compile_c(scratch, &source, "matrix", linking, &all)
}

#[test]
fn every_function_keeps_its_contract_with_good_and_bad_arguments() {
    let scratch = scratch();
    let flags: &[&str] = if skip::is_skipped("sanitizers") {
        &[]
    } else {
        &SANITIZERS
    };
    let program = compiled(scratch.path(), Linking::Static, flags);
    let said = printed(Command::new(program).arg(data_dir(scratch.path(), "data")));
    let checks: u32 = said.split_whitespace().next().unwrap().parse().unwrap();
    assert!(checks > 800, "{said}");
}

/// C's sizes and offsets are those that the library has, and a handle by value is passed as its number (c-abi.md 1.2.4).
#[test]
fn structs_lie_in_c_as_they_lie_in_the_library() {
    let mut lines = String::new();
    let mut expected = String::new();
    for place in klog::ffi::layout::LAYOUT {
        let (of, field) = (place.of, place.field);
        let measured = match field {
            "" => format!("sizeof({of})"),
            field => format!("offsetof({of}, {field})"),
        };
        let _ = writeln!(lines, "    printf(\"{of}.{field} %zu\\n\", {measured});");
        let _ = writeln!(expected, "{of}.{field} {}", place.bytes);
    }
    let source = format!(
        "#include <stdio.h>\n#include \"klog.h\"\n\
         typedef klog_status (*by_number)(uint64_t, int64_t *);\n\
         int main(void) {{\n    int64_t end = 0;\n    klog_status (*by_struct)(klog_log, int64_t *) = klog_log_end_offset;\n    \
         by_number call = (by_number)(void (*)(void))by_struct;\n    klog_log made_up = {{UINT64_C(0x0300000100ffffff)}};\n\
         {lines}    return call(made_up.id, &end) == by_struct(made_up, &end) && call(0, &end) == KLOG_ERR_NULL_HANDLE ? 0 : 1;\n}}\n"
    );
    let scratch = scratch();
    let path = scratch.path().join("layout.c");
    std::fs::write(&path, source).unwrap();
    let program = compile_c(scratch.path(), &path, "layout", Linking::Shared, &[]);
    assert_eq!(printed(&mut Command::new(program)), expected);
}

/// docs/c-abi.md says of every status what to do, and by which flags its errors are marked.
#[test]
fn every_status_has_its_line_in_the_table() {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/c-abi.md")).unwrap();
    let header = std::fs::read_to_string(format!("{ROOT}/include/klog.h")).unwrap();
    let statuses: Vec<(&str, i32)> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .filter(|(name, _)| name.starts_with("KLOG_ERR_"))
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect();
    assert!(statuses.len() > 50);
    for (name, status) in statuses {
        let quoted = format!("`{name}`");
        let cell = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
            .find(|cell| cell.contains(&quoted));
        let cell = cell.unwrap_or_else(|| panic!("{name} is not in the table"));
        let says = |letter: &str| cell.split(' ').any(|word| word == letter);
        let kind = klog::ErrorKind::from_status(status).unwrap();
        assert_eq!(says("R"), kind.is_retriable(), "{name}");
        assert_eq!(says("C"), kind.is_caller_bug(), "{name}");
        assert_eq!(says("F"), kind.is_fatal(), "{name}");
    }
}
