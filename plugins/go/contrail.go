// Package contrail gives each test a session of contrail: recorded once, replayed from then on. A request that is not
// recorded fails the test that made it, with the nearest recordings.
//
//	func TestMain(m *testing.M) { contrail.Main(m, contrail.Options{Upstream: "https://api.example"}) }
//
//	func TestItems(t *testing.T) {
//		t.Parallel()
//		session := contrail.Start(t)
//		answer, err := session.Client.Get(session.URL + "/v1/items")
//
// See docs/ci.md of contrail.
package contrail

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// How long contrail may take until it listens.
const startTime = 30 * time.Second

// Options are the same for all tests of a package.
type Options struct {
	// Folder of the sessions' fixtures; by default testdata/contrail.
	Folder string
	// Upstream is the origin of the API, which CONTRAIL_MODE=record and missing need.
	Upstream string
	// Arguments are further arguments of contrail.
	Arguments []string
}

// A Session is what one test makes its requests with.
type Session struct {
	// Name of the session, and of its fixture.
	Name string
	// URL takes the place of the API's origin. With CONTRAIL_MODE=off it is Options.Upstream.
	URL string
	// Client reaches the API by its own address, too.
	Client *http.Client
	server *server
}

// A contrail that listens.
type server struct {
	variables map[string]string
	roots     *x509.CertPool
	process   *exec.Cmd
	log       string
	ended     chan error
}

var (
	options            Options
	replayer, recorder *server
	// The sessions that were recorded before.
	known = map[string]bool{}
	// The first session starts contrail: what is looked at before the tests run does not count for go test's cache.
	begin sync.Once
	begun = errors.New("func TestMain(m *testing.M) { contrail.Main(m, contrail.Options{}) } is missing")
)

// Main runs the tests of a package, ends contrail, and exits. CONTRAIL_MODE is `replay` (default), `record`, `missing`
// (what has no session is recorded) or `off`; CONTRAIL names the program. Record with `go test -count=1`: a result from
// the cache makes no request.
func Main(m *testing.M, given Options) {
	options, begun = given, nil
	if options.Folder == "" {
		options.Folder = filepath.Join("testdata", "contrail")
	}
	status := m.Run()
	var err error
	for _, one := range []*server{replayer, recorder} {
		if one != nil {
			err = one.stop(err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "contrail:", err)
		status = 1
	}
	os.Exit(status)
}

func start(mode string) (err error) {
	switch mode {
	case "off":
		return nil
	case "record", "missing":
		if options.Upstream == "" {
			return fmt.Errorf("CONTRAIL_MODE=%s needs the API's origin: Options.Upstream", mode)
		}
	case "", "replay":
	default:
		return fmt.Errorf("CONTRAIL_MODE is replay, record, missing or off, not %s", mode)
	}
	if err := os.MkdirAll(options.Folder, 0o777); err != nil {
		return err
	}
	// go test takes no result from its cache if what is looked at here has changed.
	err = filepath.WalkDir(options.Folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Dir(path) == filepath.Clean(options.Folder) {
			known[strings.TrimSuffix(entry.Name(), ".har")] = true
		}
		_, _ = os.Stat(path)
		return err
	})
	if err != nil {
		return err
	}
	if mode != "record" {
		if replayer, err = launch("replay", "--sessions", options.Folder); err != nil || mode != "missing" {
			return err
		}
	}
	existing := []string{"--overwrite"}
	if mode == "missing" {
		existing = []string{"--append", "--allow", "unused"} // nothing may be missing
	}
	recorder, err = launch(append([]string{"record", "--sessions", options.Folder, "--upstream", options.Upstream}, existing...)...)
	return err
}

func launch(arguments ...string) (*server, error) {
	program := os.Getenv("CONTRAIL")
	if program == "" {
		program = "contrail"
	}
	scratch, err := os.MkdirTemp("", "contrail-go-")
	if err != nil {
		return nil, err
	}
	file, log := filepath.Join(scratch, "environment"), filepath.Join(scratch, "log")
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	arguments = append(append(arguments, options.Arguments...), "--control", "127.0.0.1:0", "--env-file", file)
	one := &server{process: exec.Command(program, arguments...), log: log, ended: make(chan error, 1)}
	one.process.Stdout, one.process.Stderr = out, out
	if err := one.process.Start(); err != nil {
		return nil, fmt.Errorf("%w; install contrail, or name it with CONTRAIL=PATH", err)
	}
	go func() { one.ended <- one.process.Wait() }()
	for deadline := time.Now().Add(startTime); one.variables == nil; {
		text, _ := os.ReadFile(file)
		select {
		case <-one.ended:
			printed, _ := os.ReadFile(log)
			return nil, errors.New(strings.TrimSpace(string(printed)))
		case <-time.After(5 * time.Millisecond):
			if time.Now().After(deadline) {
				_ = one.process.Process.Kill()
				return nil, fmt.Errorf("it does not listen after %v", startTime)
			}
		}
		if strings.Contains(string(text), "CONTRAIL_CONTROL=") {
			one.variables = map[string]string{}
			for _, line := range strings.Split(string(text), "\n") {
				if name, value, ok := strings.Cut(line, "="); ok {
					one.variables[name] = value
				}
			}
		}
	}
	if one.roots, err = x509.SystemCertPool(); err != nil {
		one.roots = x509.NewCertPool()
	}
	own, _ := os.ReadFile(one.variables["CONTRAIL_CA"])
	one.roots.AppendCertsFromPEM(own)
	return one, nil
}

// Ends it, and prints its summary; the first failure.
func (one *server) stop(failed error) error {
	_ = one.process.Process.Signal(syscall.SIGTERM)
	ended := <-one.ended
	printed, _ := os.ReadFile(one.log)
	_ = os.RemoveAll(filepath.Dir(one.log))
	text := strings.TrimSpace(string(printed))
	if ended != nil && failed == nil {
		return fmt.Errorf("%w\n%s", ended, text)
	}
	// Behind the line of each request.
	fmt.Fprintln(os.Stderr, text[strings.LastIndex(text, "\n\n")+1:])
	return failed
}

// Start begins the session of a test, or of a part of it (t.Run), and ends it with the test.
func Start(t *testing.T) *Session {
	t.Helper()
	begin.Do(func() {
		if begun == nil {
			begun = start(os.Getenv("CONTRAIL_MODE"))
		}
	})
	if begun != nil {
		t.Fatal("contrail: ", begun)
	}
	session := &Session{Name: named(t.Name()), URL: options.Upstream, Client: http.DefaultClient, server: replayer}
	if recorder != nil && (replayer == nil || !known[session.Name]) {
		session.server = recorder
	}
	if session.server == nil {
		return session
	}
	session.URL = session.Getenv("CONTRAIL_URL")
	proxy, err := url.Parse(session.Getenv("CONTRAIL_PROXY"))
	if err != nil {
		t.Fatal(err)
	}
	direct := strings.Split(session.Getenv("NO_PROXY"), ",")
	transport := &http.Transport{
		Proxy: func(request *http.Request) (*url.URL, error) {
			for _, host := range direct {
				if host == request.URL.Hostname() {
					return nil, nil
				}
			}
			return proxy, nil
		},
		TLSClientConfig:   &tls.Config{RootCAs: session.server.roots},
		ForceAttemptHTTP2: true,
	}
	session.Client = &http.Client{Transport: transport}
	session.control(t, http.MethodPut, "")
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		query := ""
		if t.Failed() {
			query = "?failed" // what it sent replaces no fixture
		}
		if misses := session.control(t, http.MethodDelete, query).Misses; len(misses) > 0 {
			t.Errorf("not recorded in session %s:\n%s", session.Name, inWords(misses))
		}
	})
	return session
}

// Getenv gives a variable as a program that contrail starts finds it, such as CONTRAIL_URL_BILLING, for this session.
func (session *Session) Getenv(name string) string {
	if session.server == nil {
		return os.Getenv(name)
	}
	value := session.server.variables[name]
	switch {
	case value != "" && strings.HasPrefix(name, "CONTRAIL_URL"):
		return value + "/~" + session.Name
	case strings.HasSuffix(strings.ToUpper(name), "_PROXY"):
		return strings.Replace(value, "://", "://"+session.Name+":x@", 1)
	}
	return value
}

// What became of a session.
type ended struct {
	Misses []miss
	Detail string
}

type miss struct {
	Detail  string
	Nearest []struct {
		Entry, Request string
		Differences    []struct {
			Place, Fixture, Option string
			Asked                  string `json:"your request"`
		}
	}
}

func (session *Session) control(t *testing.T, method, query string) (answer ended) {
	t.Helper()
	address := session.server.variables["CONTRAIL_CONTROL"] + "/sessions/" + session.Name + query
	request, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("contrail: %v", err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatalf("contrail: %v", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
		t.Fatalf("contrail: %s", answer.Detail)
	}
	return answer
}

func inWords(misses []miss) string {
	var text []string
	for _, miss := range misses {
		text = append(text, miss.Detail)
		for _, near := range miss.Nearest {
			text = append(text, fmt.Sprintf("  nearest: %s: %s", near.Entry, near.Request))
			for _, one := range near.Differences {
				option := ""
				if one.Option != "" {
					option = "   (" + one.Option + ")"
				}
				text = append(text, fmt.Sprintf("    %s: %s → %s%s", one.Place, one.Asked, one.Fixture, option))
			}
		}
	}
	return strings.Join(text, "\n")
}

var others = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// The name of a session: at most 100 letters, digits, `.`, `_` and `-`.
func named(test string) string {
	name := strings.Trim(others.ReplaceAllString(strings.ReplaceAll(test, "/", "."), "-"), "-")
	if len(name) <= 100 && name != "" {
		return name
	}
	hash := sha256.Sum256([]byte(test))
	return fmt.Sprintf("%.83s-%x", name, hash[:8])
}
