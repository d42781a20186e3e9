//! Starts the systems, measures them in turns, prints the table.

use std::{
    io::{BufRead as _, BufReader},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::Pid,
};

use crate::{
    Error,
    front::Front,
    load::{self, Traffic},
    peers, process,
    recordings::{self, Form, Until},
    traffic::{self, Mix},
    vendor,
};

struct Options {
    contrail: PathBuf,
    rounds: usize,
    requests: usize,
    connections: usize,
    front: String,
    /// A mix, or `all`.
    mix: String,
    /// What the mix `vendor` is made of.
    contract: Option<PathBuf>,
    tokens: usize,
    console: Console,
    systems: Vec<String>,
}

/// Where the lines about exchanges go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Console {
    /// To a file, as users run it.
    File,
    /// To `/dev/null`.
    Null,
}

/// A running process, ended when dropped, with those that it started.
pub struct Running {
    pub child: Child,
    pub address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        for process in processes(&self.child) {
            let process = Pid::from_raw(i32::try_from(process).unwrap_or(i32::MAX));
            let _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

/// A system and its samples: at its highest load, at half of that, and with one connection.
struct System {
    name: String,
    running: Running,
    full: Vec<Sample>,
    half: Vec<Sample>,
    single: Vec<Sample>,
}

struct Sample {
    cpu_per_request: f64,
    throughput: f64,
    p50: Duration,
    p99: Duration,
}

/// How many clients there are where nothing else is asked for.
pub const TOKENS: usize = 8;

const ALL: [&str; 4] = ["bare", "watch", "record", "enforce"];

/// Measured against each other: a hyper server that answers from memory, and contrail that answers from a recording.
const ANSWERING: [&str; 2] = ["answer", "replay"];

/// `watch` with a trail in a folder. A URL is `watch` with a trail there.
pub const TRAIL: &str = "trail";

/// Behind the name of a system: with a live page that nobody looks at.
pub const PAGE: &str = "+page";

/// Bytes of a trail's segment: a burst has several, each of which goes to a store as a whole.
const SEGMENT: &str = "4MiB";

/// Measures and prints.
pub async fn run(args: &[String]) -> Result<(), Error> {
    let options = parse(args)?;
    pin(Pid::from_raw(0), 1)?;
    let scratch = std::env::temp_dir().join(format!("contrail-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let front = Front::named(&options.front, &scratch)?;
    let mixes = if options.mix == "all" {
        [vec![traffic::DEFAULT.to_owned()], Mix::all()?].concat()
    } else {
        vec![options.mix.clone()]
    };
    println!(
        "{} rounds of {} requests over {} connections, {} tokens, console to {}; medians; CPU of the whole process",
        options.rounds,
        options.requests,
        options.connections,
        options.tokens,
        if options.console == Console::Null { "/dev/null" } else { "a file" }
    );
    for mix in mixes {
        match &options.contract {
            Some(contract) => {
                let file = vendor::make(&options.contrail, contract, &scratch).await?;
                mix_of(&options, Mix::of(&file)?, Some(&file), &front, &scratch).await?;
            }
            None => mix_of(&options, Mix::named(&mix)?, None, &front, &scratch).await?,
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    Ok(())
}

/// Measures one mix; its file, if it is none of the bench's.
async fn mix_of(options: &Options, mix: Mix, file: Option<&Path>, front: &Front, scratch: &Path) -> Result<(), Error> {
    let traffic = Traffic::of(mix, options.tokens)?;
    let origin = start(Command::new(std::env::current_exe()?).arg("origin").args(file), Some(1), "")?;
    let mut systems = Vec::new();
    for name in &options.systems {
        let running = if peers::ALL.contains(&name.as_str()) {
            peers::start(name, origin.address, scratch, 0)?
        } else {
            let (system, workers) = match name.rsplit_once('@') {
                Some((system, workers)) => (system, workers.parse()?),
                None => (name.as_str(), 1),
            };
            let own = scratch.join(as_file(name));
            std::fs::create_dir_all(&own)?;
            let mut command = command(system, &options.contrail, &traffic.mix, origin.address, &own, front)?;
            if workers > 1 {
                command.args(["--workers", &workers.to_string()]);
            }
            let running = match marker(system, front) {
                "" => start(&mut command, Some(0), "")?,
                _ if options.console == Console::Null => start_silent(&command, 0)?,
                marker => start_logging(&mut command, 0, marker, &scratch.join(format!("{}.log", as_file(name))))?,
            };
            if workers > 1 {
                unpin(&running.child, workers)?;
            }
            running
        };
        systems.push(System { name: name.clone(), running, full: Vec::new(), half: Vec::new(), single: Vec::new() });
    }
    for round in 0..=options.rounds {
        for System { name, running, full, half, single } in &mut systems {
            let (burst, is_trail) = (options.requests, is_trail(name));
            let highest = sample(&traffic, running, front, options.connections, burst, None, is_trail).await?;
            let rate = Some(highest.throughput / 2.0);
            let at_half = sample(&traffic, running, front, options.connections, burst / 2, rate, is_trail).await?;
            let alone = sample(&traffic, running, front, 1, burst / 8, None, is_trail).await?;
            if round > 0 {
                full.push(highest);
                half.push(at_half);
                single.push(alone);
            } // the first round warms up
        }
    }
    print_table(&traffic.mix, &systems);
    Ok(())
}

/// What answers all mixes.
pub fn origin(core: Option<usize>) -> Result<Running, Error> {
    start(Command::new(std::env::current_exe()?).arg("origin"), core, "")
}

/// The command that starts a system; what it writes goes to `scratch`.
pub fn command(
    name: &str,
    contrail: &Path,
    mix: &Mix,
    origin: SocketAddr,
    scratch: &Path,
    front: &Front,
) -> Result<Command, Error> {
    if let Some(name) = name.strip_suffix(PAGE) {
        let mut command = command(name, contrail, mix, origin, scratch, front)?;
        command.args(["--inspect", "127.0.0.1:0"]);
        return Ok(command);
    }
    let own = matches!(name, "bare" | "answer");
    let mut command = Command::new(if own { std::env::current_exe()? } else { contrail.to_owned() });
    let (subcommand, enforces) = match name {
        "answer" => {
            command.arg("origin");
            return Ok(command);
        }
        "replay" => {
            if mix.name != traffic::RECORDED {
                return Err(format!("`replay` answers the mix `{}` only", traffic::RECORDED).into());
            }
            let recording = scratch.join("replay.journal");
            recordings::write(&recording, Form::Journal, Until::Entries(1000), &Mix::named(traffic::RECORDED)?)?;
            command.arg("replay").arg(recording).args(["--exhausted", "repeat", "--listen", "127.0.0.1:0"]);
            return Ok(command);
        }
        "bare" => {
            command.arg("bare").arg(origin.to_string()).args(front.arguments());
            return Ok(command);
        }
        "watch" => ("watch", false),
        place if is_trail(place) => ("watch", false),
        "record" => ("record", false),
        "enforce" => ("record", true),
        other => {
            return Err(format!(
                "`{other}` is no system; expected {}, or the URL of a trail",
                [&ALL[..], &ANSWERING, &[TRAIL], &peers::ALL].concat().join(", ")
            )
            .into());
        }
    };
    command.args([subcommand, "--upstream", &format!("http://{origin}")]);
    match front {
        Front::Http1 | Front::Http2 => command.args(["--listen", "127.0.0.1:0"]),
        Front::Tls(files) => command.args(["--tls-listen", "127.0.0.1:0", "--cert", &files.cert, "--key", &files.key]),
    };
    for contract in &mix.contracts {
        command.arg("--contract").arg(contract);
    }
    if is_trail(name) {
        let folder = scratch.join(format!("{}-{}", as_file(name), mix.name));
        command.args(["--trail-segment", SEGMENT, "--trail"]);
        match name {
            TRAIL => command.arg(folder),
            url => command.args([url, "--trail-buffer"]).arg(folder),
        };
    }
    if subcommand == "record" {
        command.arg("--out").arg(scratch.join(format!("{name}-{}.har", mix.name)));
    }
    if enforces {
        command.args(["--enforce", "all"]);
    }
    Ok(command)
}

/// Whether a system keeps a trail, in a folder or elsewhere.
pub fn is_trail(name: &str) -> bool {
    name == TRAIL || name.contains("://")
}

/// A system's name as that of a file.
pub fn as_file(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// What stands before a system's address in what it prints.
pub fn marker(name: &str, front: &Front) -> &'static str {
    match (name, front) {
        ("bare" | "answer", _) => "",
        (_, Front::Tls(_)) => "listening on https://",
        _ => "listening on http://",
    }
}

fn print_table(mix: &Mix, systems: &[System]) {
    println!("\n{}: {}", mix.name, mix.summary);
    println!(
        "{:<24} {:>10} {:>8} {:>10} {:>8} {:>9} {:>9} {:>11} {:>8} {:>12}",
        "", "µs CPU/req", "ratio", "req/s", "ratio", "p50 µs", "p99 µs", "p99 µs (½)", "ratio", "p50 µs (1)"
    );
    let micros = |samples: &[Sample], of: fn(&Sample) -> Duration| median(samples, |s| of(s).as_secs_f64() * 1e6);
    let Some(base) = systems.first() else { return };
    for System { name, full, half, single, .. } in systems {
        let (cpu, throughput) = (median(full, |s| s.cpu_per_request), median(full, |s| s.throughput));
        let at_half = micros(half, |s| s.p99);
        println!(
            "{name:<24} {cpu:>10.1} {:>8.2} {throughput:>10.0} {:>8.2} {:>9.0} {:>9.0} {at_half:>11.0} {:>8.2} {:>12.1}",
            cpu / median(&base.full, |s| s.cpu_per_request),
            throughput / median(&base.full, |s| s.throughput),
            micros(full, |s| s.p50),
            micros(full, |s| s.p99),
            at_half / micros(&base.half, |s| s.p99),
            micros(single, |s| s.p50),
        );
    }
}

/// One burst: as fast as it goes, or at a rate of so many requests per second.
async fn sample(
    traffic: &Traffic,
    running: &Running,
    front: &Front,
    connections: usize,
    requests: usize,
    rate: Option<f64>,
    is_trail: bool,
) -> Result<Sample, Error> {
    let before = cpu_time(&running.child)?;
    let burst = match rate {
        Some(rate) => load::steady(traffic, running.address, front, connections, requests, rate).await?,
        None => load::burst(traffic, running.address, front, connections, requests).await?,
    };
    if is_trail {
        process::idle(&running.child).await?; // what is sent elsewhere is sent beside the traffic
    }
    let used = cpu_time(&running.child)? - before;
    let at = |share: f64| burst.latencies[((burst.latencies.len() - 1) as f64 * share) as usize];
    Ok(Sample {
        cpu_per_request: used.as_secs_f64() * 1e6 / burst.requests as f64,
        throughput: burst.requests as f64 / burst.took.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
    })
}

/// User and system time of all threads, by the scheduler's nanosecond clock, and of the processes that they started (a
/// launcher's is not what it launches).
pub fn cpu_time(child: &Child) -> Result<Duration, Error> {
    let mut nanos = 0;
    for process in processes(child) {
        for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            nanos += text.split(' ').next().ok_or("an empty schedstat")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// A process and those below it.
fn processes(child: &Child) -> Vec<u32> {
    let mut found = vec![child.id()];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let children = children.collect::<String>();
        found.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    found
}

/// Starts a process, on one core if so asked; its address is the first line that holds `marker` (on stdout, else on
/// stderr).
pub fn start(command: &mut Command, core: Option<usize>, marker: &str) -> Result<Running, Error> {
    let on_stdout = marker.is_empty();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(if on_stdout { Stdio::piped() } else { Stdio::null() })
        .stderr(if on_stdout { Stdio::inherit() } else { Stdio::piped() })
        .spawn()?;
    if let Some(core) = core {
        pin(pid(&child), core)?;
    }
    let reader: Box<dyn std::io::Read + Send> = match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), _) => Box::new(stdout),
        (None, Some(stderr)) => Box::new(stderr),
        (None, None) => return Err("the process has no output".into()),
    };
    let mut lines = BufReader::new(reader).lines();
    let address = loop {
        let line = lines.next().ok_or_else(|| format!("{command:?} ended before it was ready"))??;
        if let Some((_, address)) = line.split_once(marker) {
            break address.trim().parse()?;
        }
    };
    // Its lines are read away as a terminal would, on a thread that shares the load generator's core.
    std::thread::spawn(move || lines.for_each(drop));
    Ok(Running { child, address })
}

/// Starts a process that writes to a file.
fn start_logging(command: &mut Command, core: usize, marker: &str, log: &Path) -> Result<Running, Error> {
    let file = std::fs::File::create(log)?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    pin(pid(&child), core)?;
    loop {
        let text = std::fs::read_to_string(log)?;
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        if let Some((_, address)) = whole.lines().find_map(|line| line.split_once(marker)) {
            return Ok(Running { child, address: address.trim().parse()? });
        }
        if let Some(status) = child.try_wait()? {
            return Err(format!("{command:?} ended before it was ready ({status}): {text}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a process that writes nowhere, so that its address is one that was free a moment ago.
fn start_silent(command: &Command, core: usize) -> Result<Running, Error> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let arguments = command.get_args().map(|argument| match argument.to_str() {
        Some("127.0.0.1:0") => address.to_string().into(),
        _ => argument.to_owned(),
    });
    let mut silent = Command::new(command.get_program());
    silent.args(arguments);
    let child = silent.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    pin(pid(&child), core)?;
    peers::wait(Running { child, address }, &silent)
}

pub fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(0))
}

pub fn pin(pid: Pid, core: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(pid, &set)?)
}

/// Gives all threads of a process the first cores; the load generator shares one of them where there are no more.
fn unpin(child: &Child, cores: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    (0..cores).try_for_each(|core| set.set(core))?;
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id()))? {
        let task: i32 = task?.file_name().to_string_lossy().parse()?;
        sched_setaffinity(Pid::from_raw(task), &set)?;
    }
    Ok(())
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn parse(args: &[String]) -> Result<Options, Error> {
    let mut options = Options {
        contrail: "contrail".into(),
        rounds: 7,
        requests: 20_000,
        connections: 32,
        front: "http1".into(),
        mix: traffic::DEFAULT.into(),
        contract: None,
        tokens: TOKENS,
        console: Console::File,
        systems: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--contrail" => options.contrail = value()?.into(),
            "--rounds" => options.rounds = value()?.parse()?,
            "--requests" => options.requests = value()?.parse()?,
            "--connections" => options.connections = value()?.parse()?,
            "--front" => options.front = value()?.clone(),
            "--mix" => options.mix = value()?.clone(),
            "--contract" => options.contract = Some(value()?.into()),
            "--tokens" => options.tokens = value()?.parse()?,
            "--console" => {
                options.console = match value()?.as_str() {
                    "file" => Console::File,
                    "null" => Console::Null,
                    other => return Err(format!("`{other}` is no console; expected file or null").into()),
                }
            }
            flag if flag.starts_with("--") => return Err(format!("`{flag}` is no option").into()),
            system => options.systems.push(system.to_owned()),
        }
    }
    if options.systems.is_empty() {
        options.systems = ALL.map(str::to_owned).to_vec();
    }
    if options.contract.is_some() != (options.mix == traffic::VENDOR) {
        return Err(format!(
            "`--mix {0}` and `--contract FILE` go together: {0} is the mix of a contract",
            traffic::VENDOR
        )
        .into());
    }
    if options.systems.iter().any(|system| system == "replay") {
        options.mix = traffic::RECORDED.into();
    }
    Ok(options)
}
