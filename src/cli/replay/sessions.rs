//! Sessions in replay: each is answered from its own fixture and then from the shared ones, and counts apart.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use contrail_exchange as exchange;
use contrail_proxy::{
    sessions::{self, UNNAMED},
    side::Serving,
    upstream::{
        self, Answer, AnswerFuture, ClientOrigin, Denied, Failure as Unanswered, FailureKind, Problem, Upstream,
    },
};
use contrail_recording as recording;
use contrail_replay::Replay;
use contrail_report::Unused;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Args, load::Loader};
use crate::cli::{
    Failure,
    control::{self, Control, Controlled, Ended, Listed},
    messages::error_chain,
    options::{
        limits::ProxyArgs,
        sessions::{fixture_of, recorded},
    },
};

/// Maximum sessions of a run: each holds its recordings.
const MAX_SESSIONS: usize = 10_000;

/// Maximum misses of a session that its end shows.
const MAX_MISSES: usize = 100;

/// Makes what answers a session of this name from recordings.
type Answering = Box<dyn Fn(&Arc<Replay>, Arc<str>) -> Arc<dyn Upstream> + Send + Sync>;

/// A recorded exchange: its place and its request.
type Place = (String, String);

/// The sessions of a replay.
pub(super) struct Sessions {
    folder: PathBuf,
    shared: Vec<PathBuf>,
    loader: Loader,
    control: Mutex<Option<Control>>,
    answering: OnceLock<Answering>,
    unused_fails: bool,
    denied_fails: bool,
    held: Mutex<BTreeMap<Arc<str>, Arc<Session>>>,
}

/// A session; its recordings are read at its first request.
struct Session {
    name: Arc<str>,
    answers: OnceLock<Result<Answers, Problem>>,
    count: Mutex<Count>,
}

/// What answers a session's requests.
struct Answers {
    replay: Arc<Replay>,
    upstream: Arc<dyn Upstream>,
    /// The recordings of its own fixture.
    own: HashSet<String>,
}

/// What became of a session.
#[derive(Default)]
struct Count {
    /// It was started, or had a request, and was not ended.
    is_open: bool,
    /// Since it was started.
    requests: usize,
    misses: Vec<Value>,
    missed: usize,
    /// In the whole run.
    all_requests: usize,
    /// What no request used before it was started last; `None` if it was started once.
    never: Option<BTreeSet<Place>>,
}

impl Sessions {
    /// Those that the options name; `loader` makes what reads recordings.
    pub(super) fn of(args: &Args, loader: impl FnOnce() -> Loader) -> Result<Option<Arc<Self>>, Failure> {
        let Some(folder) = &args.sessions.sessions else { return Ok(None) };
        if !folder.is_dir() {
            let shown = folder.display();
            return Err(format!(
                "--sessions {shown}: there is no such folder; `contrail record --sessions {shown}` makes it"
            )
            .into());
        }
        Ok(Some(Arc::new(Self {
            folder: folder.clone(),
            shared: args.fixtures.clone(),
            loader: loader(),
            control: Mutex::new(Control::bind(&args.sessions)?),
            answering: OnceLock::new(),
            unused_fails: args.judge.policy.fails_on_unused(),
            denied_fails: args.judge.policy.fails_on_denied(),
            held: Mutex::default(),
        })))
    }

    /// Takes the requests of a proxy, and orders to start and end sessions until what this gives is dropped. `replay`
    /// answers those without a session; `answering` makes what answers from recordings.
    pub(super) fn begin(
        self: &Arc<Self>,
        proxy: &mut ProxyArgs,
        replay: &Arc<Replay>,
        answering: impl Fn(&Arc<Replay>, Arc<str>) -> Arc<dyn Upstream> + Send + Sync + 'static,
    ) -> Result<Option<Serving>, Failure> {
        let _ = self.answering.set(Box::new(answering));
        let answers = self.made(UNNAMED, Arc::clone(replay))?;
        let session = self.session(UNNAMED).map_err(|problem| problem.detail)?;
        let _ = session.answers.set(Ok(answers));
        control::begin(self, &self.control, proxy)
    }

    /// The recordings of a session.
    pub(super) fn load(&self, name: &str) -> Result<Replay, Failure> {
        let fixtures: Vec<PathBuf> =
            fixture_of(&self.folder, name).into_iter().chain(self.shared.iter().cloned()).collect();
        self.loader.load(&fixtures)
    }

    fn made(&self, name: &str, replay: Arc<Replay>) -> Result<Answers, Failure> {
        let own = fixture_of(&self.folder, name).map(|path| recording::sources(&path)).transpose()?.unwrap_or_default();
        let answering = self.answering.get().ok_or("the replay has not begun")?;
        let upstream = answering(&replay, name.into());
        Ok(Answers { replay, upstream, own: own.iter().map(|path| path.display().to_string()).collect() })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Session>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, name: &str) -> Result<Arc<Session>, Problem> {
        let mut held = self.held();
        if let Some(session) = held.get(name) {
            return Ok(Arc::clone(session));
        }
        if held.len() >= MAX_SESSIONS {
            let detail = format!("contrail keeps {MAX_SESSIONS} sessions, and this would be one more");
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-sessions", detail));
        }
        let name: Arc<str> = name.into();
        let session = Session { name: Arc::clone(&name), answers: OnceLock::new(), count: Mutex::default() };
        let session = Arc::new(session);
        held.insert(name, Arc::clone(&session));
        Ok(session)
    }

    fn answers<'a>(&self, session: &'a Session) -> Result<&'a Answers, Problem> {
        let made = session.answers.get_or_init(|| {
            let made = self.load(&session.name).and_then(|replay| self.made(&session.name, Arc::new(replay)));
            made.map_err(|failure| {
                let why = error_chain(&*failure);
                let detail = format!("the recordings of session `{}` cannot be read: {why}", session.name);
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable-session", detail)
            })
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// The session of a request, which had to be there for the request to come here.
    fn session_of(&self, target: &exchange::Target) -> Option<Arc<Session>> {
        self.held().get(target.session.as_deref().unwrap_or(UNNAMED)).cloned()
    }

    /// Notes an answer that is none.
    fn note(&self, session: &Session, answer: &Answer) {
        let shown = match (&answer.meta.miss, &answer.meta.denied) {
            (Some(miss), _) => serde_json::from_str(&miss.problem().body()).unwrap_or_default(),
            (None, Some(denied)) if self.denied_fails => {
                let Denied { status, reason, host, advice } = &**denied;
                json!({"status": status, "reason": reason, "host": host, "detail": advice, "session": &*session.name})
            }
            _ => return,
        };
        let mut count = session.count();
        count.missed += 1;
        if count.misses.len() < MAX_MISSES {
            count.misses.push(shown);
        }
    }

    /// All sessions whose recordings were read.
    fn each(&self) -> Vec<Arc<Session>> {
        self.held().values().cloned().collect()
    }

    /// The recordings that were read for requests with a session, and which of them are its own.
    pub(super) fn named(&self) -> Vec<(Arc<Replay>, HashSet<String>)> {
        let sessions = self.each();
        let named = sessions.iter().filter(|session| &*session.name != UNNAMED);
        let read = named.filter_map(|session| session.answers.get()?.as_ref().ok());
        read.map(|answers| (Arc::clone(&answers.replay), answers.own.clone())).collect()
    }

    /// The sessions that had requests, and how many.
    pub(super) fn counts(&self) -> Vec<(String, usize)> {
        let sessions = self.each();
        let counts = sessions.iter().map(|session| (session.name.to_string(), session.count().all_requests));
        counts.filter(|(_, requests)| *requests > 0).collect()
    }

    /// Why the recordings of sessions could not be read.
    pub(super) fn unreadable(&self) -> Vec<String> {
        let sessions = self.each();
        sessions.iter().filter_map(|session| Some(session.answers.get()?.as_ref().err()?.detail.clone())).collect()
    }

    /// How many sessions are recorded.
    pub(super) fn recorded(&self) -> usize {
        recorded(&self.folder).len()
    }

    /// The recorded sessions that had no request, each with its fixture.
    pub(super) fn idle(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let mut idle = recorded(&self.folder);
        for session in self.each().iter().filter(|session| session.count().all_requests > 0) {
            idle.remove(&*session.name);
        }
        idle.into_iter().filter_map(|name| {
            let fixture = fixture_of(&self.folder, &name)?;
            Some((name, fixture))
        })
    }

    /// What was never requested: of each session, its own; of what is shared, what no session requested. A recorded
    /// session that had no request is one, where that fails the run.
    pub(super) fn unused(&self) -> Vec<Unused> {
        let (mut unused, mut shared): (Vec<Unused>, Option<BTreeSet<Place>>) = (Vec::new(), None);
        for session in self.each() {
            let Some(Ok(answers)) = session.answers.get() else { continue };
            session.settle(answers);
            let (never, requests) = {
                let mut count = session.count();
                (count.never.take().unwrap_or_default(), count.all_requests)
            };
            let (own, others): (BTreeSet<Place>, BTreeSet<Place>) =
                never.into_iter().partition(|place| answers.is_own(place));
            shared = Some(shared.map_or_else(|| others.clone(), |shared| &shared & &others));
            if requests > 0 {
                unused.extend(own.into_iter().map(|place| of_session(&session.name, place)));
            }
        }
        if self.unused_fails {
            unused.extend(self.idle().map(|(name, fixture)| {
                of_session(&name, (fixture.display().to_string(), "every request of the session".to_owned()))
            }));
        }
        let shared = shared.unwrap_or_default().into_iter();
        unused.extend(shared.map(Unused::from));
        unused
    }
}

fn of_session(name: &str, (entry, request): Place) -> Unused {
    Unused { entry, request, session: Some(name.to_owned()) }
}

impl Session {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was not used so far, and begins again.
    fn settle(&self, answers: &Answers) {
        let unused: BTreeSet<Place> = answers.replay.unused().into_iter().collect();
        answers.replay.restart();
        let mut count = self.count();
        let never = count.never.take();
        let never = never.map_or_else(|| unused.clone(), |never| &never & &unused);
        *count = Count { all_requests: count.all_requests, never: Some(never), ..Count::default() };
    }
}

impl Answers {
    fn is_own(&self, (entry, _): &Place) -> bool {
        entry.rsplit_once(" entry ").is_some_and(|(source, _)| self.own.contains(source))
    }
}

impl sessions::Sessions for Sessions {
    fn request(&self, name: &str) -> Result<Arc<str>, Problem> {
        let session = self.session(name)?;
        self.answers(&session)?;
        let mut count = session.count();
        count.is_open = true;
        count.requests += 1;
        count.all_requests += 1;
        drop(count);
        Ok(Arc::clone(&session.name))
    }
}

impl Controlled for Sessions {
    fn start(&self, name: &str) -> Result<(), Problem> {
        let session = self.session(name)?;
        if let Some(Ok(answers)) = session.answers.get() {
            session.settle(answers);
        }
        session.count().is_open = true;
        Ok(())
    }

    fn end(&self, name: &str, _failed: bool) -> Result<Ended, Problem> {
        let session = self.session(name)?;
        let answers = self.answers(&session)?;
        let unused = answers.replay.unused().into_iter().filter(|place| answers.is_own(place));
        let unused: Vec<Unused> = unused.map(|place| of_session(name, place)).collect();
        let (requests, misses, missed) = {
            let mut count = session.count();
            (count.requests, std::mem::take(&mut count.misses), count.missed)
        };
        session.settle(answers);
        let fails = missed > 0 || self.unused_fails && !unused.is_empty();
        Ok(Ended { requests, misses, unused, fails })
    }

    fn list(&self) -> Vec<Listed> {
        let sessions = self.each();
        let open = sessions.iter().filter_map(|session| {
            let Count { is_open, requests, missed, .. } = *session.count();
            is_open.then(|| Listed { name: Arc::clone(&session.name), requests, misses: missed })
        });
        open.collect()
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Answers each request from the recordings of its session.
#[derive(Debug)]
pub(super) struct BySession(pub(super) Arc<Sessions>);

impl Upstream for BySession {
    fn answer(&self, request: upstream::Request) -> AnswerFuture<'_> {
        Box::pin(async move {
            let session = self.0.session_of(&request.target);
            let Some((session, answers)) =
                session.as_ref().and_then(|session| Some((session, session.answers.get()?.as_ref().ok()?)))
            else {
                return Err(Unanswered::new(FailureKind::Unreachable, "the session is not there"));
            };
            let answer = answers.upstream.answer(request).await?;
            self.0.note(session, &answer);
            Ok(answer)
        })
    }

    fn answer_from_memory(&self, request: &mut exchange::Request, called: Option<&ClientOrigin>) -> Option<Answer> {
        let session = self.0.session_of(&request.target)?;
        let answers = session.answers.get()?.as_ref().ok()?;
        let answer = answers.upstream.answer_from_memory(request, called)?;
        self.0.note(&session, &answer);
        Some(answer)
    }

    fn kind(&self) -> upstream::UpstreamKind {
        upstream::UpstreamKind::Memory
    }
}
