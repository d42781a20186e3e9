//! kill -9, a hundred times, at any moment: what a client has whole is in the fixture, once.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    process::Stdio,
    sync::mpsc::{Sender, channel},
    thread,
    time::Duration,
};

use super::harness::{TEMPLATES, Workspace, entries};
use crate::support::{command::contrail, process::Running, wire::read};

/// Asks on one connection until it breaks; tells the number of each request whose answer came whole.
fn ask(address: SocketAddr, numbers: impl Iterator<Item = usize>, whole: &Sender<usize>) {
    let Ok(stream) = TcpStream::connect(address) else { return };
    let mut answers = BufReader::new(&stream);
    for number in numbers {
        let request = format!("GET {TEMPLATES}?n={number} HTTP/1.1\r\nHost: p\r\n\r\n");
        if (&stream).write_all(request.as_bytes()).is_err() {
            return;
        }
        match read(&mut answers, false, false) {
            Ok(answer) if answer.status() == 401 && !answer.cut => {
                if whole.send(number).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// How many entries the fixture has for each number.
fn recorded(workspace: &Workspace) -> BTreeMap<usize, usize> {
    let mut recorded = BTreeMap::new();
    for entry in entries(&workspace.read("rec.har")) {
        let url = entry["request"]["url"].as_str().unwrap().to_owned();
        let (_, number) = url.split_once("?n=").unwrap();
        *recorded.entry(number.parse().unwrap()).or_default() += 1;
    }
    recorded
}

/// Kills a recording so many times, each time at another moment.
fn kills(times: usize, options: &[&str]) {
    let workspace = Workspace::new();
    let options = [&["--out", "rec.har", "--append"], options].concat();
    let mut had = BTreeSet::new();
    for run in 0..times {
        if run % 5 == 4 {
            // In the middle of its start, at which it folds what the one before left.
            let mut child = contrail()
                .current_dir(workspace.path())
                .args(["record", "--upstream", "sandbox", "--listen", "127.0.0.1:0"])
                .args(&options)
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let (_never, timer) = channel::<()>();
            let _ = timer.recv_timeout(Duration::from_millis((run * 7 % 60) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        let running = workspace.start("record", &options);
        let address = running.address;
        let (whole, answers) = channel();
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let whole = whole.clone();
                let numbers = (0..1000).map(move |nth| (run * 4 + client) * 1000 + nth);
                thread::spawn(move || ask(address, numbers, &whole))
            })
            .collect();
        drop(whole);
        had.extend(answers.iter().take(run * 5 % 11));
        drop::<Running>(running); // which kills it
        had.extend(answers.iter());
        for client in clients {
            client.join().unwrap();
        }
    }
    let ran = workspace.start("record", &options).finish();
    assert!(ran.status < 2, "{}", ran.stderr);
    assert!(!workspace.has("rec.har.journal"), "{}", ran.stderr);
    let recorded = recorded(&workspace);
    let lost: Vec<_> = had.iter().filter(|number| !recorded.contains_key(number)).collect();
    let twice: Vec<_> = recorded.iter().filter(|(_, count)| **count > 1).collect();
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, twice {twice:?}");
    assert!(had.len() > times, "only {} answers", had.len());
}

#[test]
fn a_hundred_kills_at_any_moment_lose_nothing_that_a_client_had_whole_and_duplicate_nothing() {
    let trail = ["--durable", "--trail", "trail", "--trail-segment", "3000"];
    thread::scope(|scope| {
        for options in [&[][..], &["--durable", "--workers", "3"], &trail[1..], &trail] {
            scope.spawn(move || kills(25, options));
        }
    });
}
