package contrail;

import java.io.File;
import java.io.IOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Gives each test a session of contrail: recorded once, replayed from then on. A request that is not recorded fails the
 * test that made it, with the nearest recordings.
 *
 * <pre>{@code
 * @ExtendWith(Contrail.class)
 * class ItemsTest {
 *     @Test
 *     void itemsAreRead(Contrail.Session contrail) throws Exception {
 *         var request = HttpRequest.newBuilder(URI.create(contrail.url() + "/v1/items")).build();
 *         contrail.http().send(request, BodyHandlers.ofString());
 * }</pre>
 *
 * <p>CONTRAIL_MODE is {@code replay} (default), {@code record}, {@code missing} (what has no session is recorded) or
 * {@code off}; CONTRAIL names the program. Configuration parameters of JUnit (junit-platform.properties): {@code
 * contrail.upstream}, the origin of the API, which {@code record} and {@code missing} need; {@code contrail.folder} of the
 * sessions' fixtures, by default {@code src/test/contrail}; {@code contrail.arguments}, further ones of contrail. See
 * docs/ci.md of contrail.
 */
public final class Contrail implements BeforeEachCallback, AfterEachCallback, ParameterResolver {
    /** How long contrail may take until it listens. */
    private static final Duration START = Duration.ofSeconds(30);

    private static final Namespace OURS = Namespace.create(Contrail.class);

    @Override
    public void beforeEach(ExtensionContext test) throws Exception {
        var servers = test.getRoot().getStore(OURS).getOrComputeIfAbsent("servers", key -> Servers.start(test), Servers.class);
        var name = named(test);
        var session = new Session(name, servers.of(name), servers.upstream);
        if (session.server != null) session.server.control("PUT", name);
        test.getStore(OURS).put(Session.class, session);
    }

    @Override
    public void afterEach(ExtensionContext test) throws Exception {
        var session = test.getStore(OURS).remove(Session.class, Session.class);
        if (session == null || session.server == null) return;
        // What a failing test sent replaces no fixture; one that was aborted did not fail.
        var failed = test.getExecutionException().filter(error -> !(error instanceof TestAbortedException)).isPresent();
        var ended = session.server.control("DELETE", session.name() + (failed ? "?failed" : ""));
        if (ended.statusCode() == 409) {
            throw new AssertionFailedError("not as recorded in session " + session.name() + ": " + ended.body());
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext test) {
        return parameter.getParameter().getType() == Session.class;
    }

    @Override
    public Session resolveParameter(ParameterContext parameter, ExtensionContext test) {
        return test.getStore(OURS).get(Session.class, Session.class);
    }

    /** The name of a test's session: at most 100 letters, digits, {@code .}, {@code _} and {@code -}. */
    private static String named(ExtensionContext test) {
        var method = test.getRequiredTestMethod().getName();
        var methods = Arrays.stream(test.getRequiredTestClass().getDeclaredMethods());
        var place = new StringBuilder();
        for (var part : test.getUniqueId().split("/(?=\\[)")) {
            var value = part.substring(part.indexOf(':') + 1, part.length() - 1);
            if (!part.startsWith("[engine:")) place.append('.').append(value);
        }
        var id = place.toString();
        // The types of the parameters tell methods of one name apart.
        if (methods.filter(other -> other.getName().equals(method)).count() == 1) id = id.replaceAll("\\([^)]*\\)", "");
        var name = id.replaceAll("[^A-Za-z0-9._-]+", "-").replaceAll("^[.-]+|-+$", "");
        return name.length() <= 100 ? name : name.substring(0, 90) + "-" + Integer.toHexString(id.hashCode());
    }

    /** What one test makes its requests with. */
    public static final class Session {
        private final String name;
        private final Server server;
        private final String upstream;

        private Session(String name, Server server, String upstream) {
            this.name = name;
            this.server = server;
            this.upstream = upstream;
        }

        /** The name of the session, and of its fixture. */
        public String name() {
            return name;
        }

        /** What takes the place of the API's origin; with CONTRAIL_MODE=off, the origin. */
        public String url() {
            return server == null ? upstream : env("CONTRAIL_URL");
        }

        /** A variable as a program that contrail starts finds it, such as CONTRAIL_URL_BILLING, for this session. */
        public String env(String variable) {
            if (server == null) return System.getenv(variable);
            var value = server.variables.get(variable);
            return value != null && variable.startsWith("CONTRAIL_URL") ? value + "/~" + name : value;
        }

        /** A client that reaches the API by its own address, too. */
        public HttpClient http() {
            return server == null ? HttpClient.newHttpClient() : new Client(server.http, name);
        }
    }

    /** The contrails of a run: one, or with {@code missing} two, or none. */
    private static final class Servers implements CloseableResource {
        private final String upstream;
        private final Set<String> known = new HashSet<>();
        private Server replayer;
        private Server recorder;

        private Servers(String upstream) {
            this.upstream = upstream;
        }

        static Servers start(ExtensionContext test) {
            var servers = new Servers(test.getConfigurationParameter("contrail.upstream").orElse(null));
            try {
                servers.launch(test);
                return servers;
            } catch (IOException | InterruptedException | GeneralSecurityException error) {
                if (servers.replayer != null) servers.replayer.process.destroy();
                throw new ExtensionConfigurationException("contrail: " + error.getMessage(), error);
            }
        }

        private void launch(ExtensionContext test) throws IOException, InterruptedException, GeneralSecurityException {
            var mode = Optional.ofNullable(System.getenv("CONTRAIL_MODE")).orElse("replay");
            if (mode.equals("off")) return;
            if (!List.of("replay", "record", "missing").contains(mode)) {
                throw new IOException("CONTRAIL_MODE is replay, record, missing or off, not " + mode);
            }
            if (!mode.equals("replay") && upstream == null) {
                throw new IOException("CONTRAIL_MODE=" + mode + " needs the API's origin: contrail.upstream in junit-platform.properties");
            }
            var folder = Path.of(test.getConfigurationParameter("contrail.folder").orElse("src/test/contrail"));
            var more = test.getConfigurationParameter("contrail.arguments").map(text -> List.of(text.trim().split(" +"))).orElse(List.of());
            for (var path : Files.createDirectories(folder).toFile().list()) known.add(path.replaceAll("\\.har$", ""));
            if (!mode.equals("record")) replayer = new Server(List.of("replay", "--sessions", folder.toString()), more);
            if (mode.equals("replay")) return;
            // Nothing may be missing.
            var existing = mode.equals("record") ? List.of("--overwrite") : List.of("--append", "--allow", "unused");
            var record = new ArrayList<>(List.of("record", "--sessions", folder.toString(), "--upstream", upstream));
            record.addAll(existing);
            recorder = new Server(record, more);
        }

        /** The one that serves a session. */
        Server of(String session) {
            return replayer != null && (recorder == null || known.contains(session)) ? replayer : recorder;
        }

        @Override
        public void close() throws Exception {
            var failures = new ArrayList<String>();
            for (var server : new Server[] {replayer, recorder}) {
                if (server == null) continue;
                var printed = server.stop();
                if (server.process.exitValue() != 0) failures.add(printed);
                // Behind the line of each request.
                else System.err.println(printed.substring(printed.lastIndexOf("\n\n") + 1).trim());
            }
            if (!failures.isEmpty()) throw new IllegalStateException("contrail failed: " + String.join("\n", failures));
        }
    }

    /** A contrail that listens. */
    private static final class Server {
        private final Map<String, String> variables = new TreeMap<>();
        private final HttpClient direct = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();
        private final Path log = Files.createTempFile("contrail-junit-", ".log");
        private final Process process;
        private final HttpClient http;

        Server(List<String> command, List<String> more) throws IOException, InterruptedException, GeneralSecurityException {
            var file = Path.of(log + ".environment");
            var all = new ArrayList<String>(List.of(Optional.ofNullable(System.getenv("CONTRAIL")).orElse("contrail")));
            all.addAll(command);
            all.addAll(more);
            all.addAll(List.of("--control", "127.0.0.1:0", "--env-file", file.toString()));
            process = new ProcessBuilder(all).redirectErrorStream(true).redirectOutput(log.toFile()).start();
            var deadline = System.nanoTime() + START.toNanos();
            while (!(Files.exists(file) && Files.readString(file).contains("CONTRAIL_CONTROL="))) {
                if (!process.isAlive()) throw new IOException(Files.readString(log).trim());
                if (System.nanoTime() > deadline) {
                    process.destroyForcibly();
                    throw new IOException("it does not listen after " + START.toSeconds() + " s");
                }
                Thread.sleep(5);
            }
            for (var line : Files.readAllLines(file)) {
                var at = line.indexOf('=');
                if (at > 0) variables.put(line.substring(0, at), line.substring(at + 1));
            }
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(KeyStore.getInstance(new File(variables.get("CONTRAIL_TRUSTSTORE")), "any".toCharArray()));
            var tls = SSLContext.getInstance("TLS");
            tls.init(null, trust.getTrustManagers(), null);
            http = HttpClient.newBuilder().proxy(proxy()).sslContext(tls).build();
        }

        /** The forward listener, but for what is on this machine. */
        private ProxySelector proxy() {
            var address = URI.create(variables.get("CONTRAIL_PROXY"));
            var through = new Proxy(Proxy.Type.HTTP, new InetSocketAddress(address.getHost(), address.getPort()));
            var near = List.of(variables.get("NO_PROXY").split(","));
            return new ProxySelector() {
                @Override
                public List<Proxy> select(URI to) {
                    return List.of(near.contains(to.getHost()) ? Proxy.NO_PROXY : through);
                }

                @Override
                public void connectFailed(URI to, SocketAddress proxy, IOException error) {}
            };
        }

        HttpResponse<String> control(String method, String session) throws IOException, InterruptedException {
            var address = URI.create(variables.get("CONTRAIL_CONTROL") + "/sessions/" + session);
            var request = HttpRequest.newBuilder(address).method(method, HttpRequest.BodyPublishers.noBody()).build();
            var answer = direct.send(request, BodyHandlers.ofString());
            if (answer.statusCode() != 200 && answer.statusCode() != 409) throw new IOException("contrail: " + answer.body());
            return answer;
        }

        /** Ends it; what it printed. */
        String stop() throws IOException, InterruptedException {
            process.destroy();
            process.waitFor();
            var printed = Files.readString(log);
            Files.delete(log);
            return printed;
        }
    }

    /** A client whose requests name their session. */
    private static final class Client extends HttpClient {
        private final HttpClient inner;
        private final String session;

        Client(HttpClient inner, String session) {
            this.inner = inner;
            this.session = session;
        }

        private HttpRequest named(HttpRequest request) {
            return HttpRequest.newBuilder(request, (name, value) -> true).setHeader("Contrail-Session", session).build();
        }

        @Override
        public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler) throws IOException, InterruptedException {
            return inner.send(named(request), handler);
        }

        @Override
        public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler) {
            return inner.sendAsync(named(request), handler);
        }

        @Override
        public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler, PushPromiseHandler<T> pushed) {
            return inner.sendAsync(named(request), handler, pushed);
        }

        @Override
        public Optional<CookieHandler> cookieHandler() {
            return inner.cookieHandler();
        }

        @Override
        public Optional<Duration> connectTimeout() {
            return inner.connectTimeout();
        }

        @Override
        public Redirect followRedirects() {
            return inner.followRedirects();
        }

        @Override
        public Optional<ProxySelector> proxy() {
            return inner.proxy();
        }

        @Override
        public SSLContext sslContext() {
            return inner.sslContext();
        }

        @Override
        public SSLParameters sslParameters() {
            return inner.sslParameters();
        }

        @Override
        public Optional<Authenticator> authenticator() {
            return inner.authenticator();
        }

        @Override
        public Version version() {
            return inner.version();
        }

        @Override
        public Optional<Executor> executor() {
            return inner.executor();
        }
    }
}
